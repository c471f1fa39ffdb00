/* metrics: the exposition as a whole: the order of its parts, which metrics_server.c,
 * metrics_data.c and metrics_names.c write. */
#include "http/metrics.h"

#include "http/metrics_int.h"

#define ARENA_BYTES (16 * 1024)

const char *metrics_type(bool is_openmetrics)
{
    return is_openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                          : "text/plain; version=0.0.4; charset=utf-8";
}

void metrics_write(struct env *env, struct client *c, const struct metrics_options *o,
                   struct buf *out)
{
    struct backend *b = engine_backend(env->db->engine);
    struct metrics m = {.env = env,
                        .client = c,
                        .options = o,
                        .out = {.buf = out, .is_openmetrics = o->is_openmetrics}};
    backend_stats(b, &m.stats);
    arena_init(&m.arena, ARENA_BYTES);
    arena_init(&m.scratch, ARENA_BYTES);
    metrics_server(&m);
    metrics_clients(&m);
    metrics_commands(&m);
    metrics_journal(&m);
    metrics_store(&m);
    metrics_queues(&m);
    metrics_indexes(&m);
    metrics_databases(&m);
    if (o->more != NULL) o->more->write(o->more->arg, &m.out);
    metrics_end(&m.out);
    arena_fini(&m.arena);
    arena_fini(&m.scratch);
}
