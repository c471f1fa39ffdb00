/* metrics: the exposition as a whole: the families in their order, with the figures of the list in
 * src/command/observe/figures.h. Families that are no plain figures are written by
 * metrics_server.c and metrics_names.c. */
#include "http/metrics.h"

#include "http/metrics_int.h"

#define ARENA_BYTES (16 * 1024)

const char *metrics_type(bool is_openmetrics)
{
    return is_openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                          : "text/plain; version=0.0.4; charset=utf-8";
}

const struct metric *metrics_at(enum metric_id id)
{
    size_t i = 0;
    while (i < figure_list_count && (figure_list[i].id != id || figure_list[i].metric.name == NULL))
        i++;
    INVARIANT(i < figure_list_count);
    return &figure_list[i].metric;
}

void metrics_family(struct metrics *m, enum metric_id id)
{
    metrics_begin(&m->out, metrics_at(id));
}

void metrics_figure(struct metrics *m, enum metric_id id, uint64_t value)
{
    metrics_one(&m->out, metrics_at(id), value);
}

static void write_sample(struct metrics *m, const struct figure *x)
{
    struct metrics_label label = {x->label, slice_str(x->label != NULL ? x->word : "")};
    size_t count = x->label != NULL;
    int64_t value = figure_number(&m->figures, x->place);
    uint64_t size = value > 0 ? (uint64_t)value : 0;
    switch (x->form) {
    case SHOWN_MS: metrics_milli(&m->out, &label, count, value); break;
    case SHOWN_US:
    case SHOWN_CPU: metrics_micro(&m->out, &label, count, size); break;
    default: metrics_u64(&m->out, &label, count, size); break;
    }
}

/* The rows of the family, of which the first has its name. */
static void write_figures(struct metrics *m, enum metric_id id)
{
    for (size_t i = 0; i < figure_list_count; i++) {
        const struct figure *x = &figure_list[i];
        if (x->id != id) continue;
        if (x->metric.name != NULL) metrics_begin(&m->out, &x->metric);
        if (x->place.kind == FIGURE_NONE || !figure_is_shown(&m->figures, x)) continue;
        write_sample(m, x);
    }
}

/* Each writes its family, and perhaps those that follow. */
static void (*const special[M_COUNT])(struct metrics *m) = {
    [M_BUILD] = metrics_build,           [M_LEADS] = metrics_nodes,
    [M_COMMANDS] = metrics_commands,     [M_SYNC_DURATION] = metrics_syncs,
    [M_QUEUE_MESSAGES] = metrics_queues, [M_INDEX_STATE] = metrics_indexes,
    [M_DATABASES] = metrics_databases,
};

void metrics_write(struct env *env, struct client *c, const struct metrics_options *o,
                   struct buf *out)
{
    struct metrics m = {.env = env,
                        .client = c,
                        .options = o,
                        .out = {.buf = out, .is_openmetrics = o->is_openmetrics}};
    figures_see(&m.figures, env);
    arena_init(&m.arena, ARENA_BYTES);
    arena_init(&m.scratch, ARENA_BYTES);
    for (enum metric_id id = M_NONE + 1; id < M_COUNT; id++) {
        if (special[id] != NULL) {
            special[id](&m);
        } else {
            write_figures(&m, id);
        }
    }
    if (o->more != NULL) o->more->write(o->more->arg, &m.out);
    metrics_end(&m.out);
    arena_fini(&m.arena);
    arena_fini(&m.scratch);
}
