/* engine: its parts put together (start.c, expiry.c, idem.c), ranges of data keys, and what a tick
 * does for which kind of engine. Transactions are evaluate.c's and commit.c's. */
#include "engine/engine.h"

#include "base/mem.h"
#include "engine/overlay.h"

struct engine *engine_new(const struct engine_options *options)
{
    struct engine *g = mem_new(sizeof *g);
    g->options = *options;
    g->backend = options->backend;
    start_init(&g->start, g);
    expiry_init(&g->expiry, g);
    if (!options->is_following) idem_init(&g->idem, g);
    return g;
}

void engine_free(struct engine *g)
{
    if (g == NULL) return;
    if (!g->options.is_following) idem_fini(&g->idem);
    expiry_fini(&g->expiry);
    start_fini(&g->start);
    buf_fini(&g->scratch);
    mem_free(g);
}

struct backend *engine_backend(struct engine *g)
{
    return g->backend;
}

const struct engine_options *engine_limits(const struct engine *g)
{
    return &g->options;
}

void engine_set_limits(struct engine *g, const struct engine_options *limits)
{
    g->options.value_bytes_max = limits->value_bytes_max;
    g->options.txn_bytes_max = limits->txn_bytes_max;
    g->options.ops_max = limits->ops_max;
    g->options.expire_batch = limits->expire_batch;
    g->options.idem_window_ms = limits->idem_window_ms;
    g->options.idem_entries_max = limits->idem_entries_max;
}

void engine_key_begin(struct buf *out, uint16_t database)
{
    uint8_t head[KEY_HEAD_BYTES] = {KEY_HEAD(database, SPACE_DATA)};
    buf_append(out, head, sizeof head);
}

static struct slice data_bound(struct arena *arena, uint16_t database, struct slice tuple,
                               uint8_t last)
{
    uint8_t *p = arena_alloc(arena, KEY_HEAD_BYTES + tuple.len + 1);
    key_head_write(p, database, SPACE_DATA);
    bytes_copy(p + KEY_HEAD_BYTES, tuple.data, tuple.len);
    p[KEY_HEAD_BYTES + tuple.len] = last;
    return slice_of(p, KEY_HEAD_BYTES + tuple.len + 1);
}

/* Below a tuple lie the keys that begin with its bytes and go on with a part; a part's first byte
 * is between 00 and ff, exclusively, so [P 00, P ff) holds them all and nothing else. */
void engine_range_below(struct arena *arena, uint16_t database, struct slice tuple,
                        struct slice *start, struct slice *end)
{
    *start = data_bound(arena, database, tuple, 0x00);
    *end = data_bound(arena, database, tuple, 0xff);
}

bool engine_database_next(struct engine *g, const struct overlay *o, uint32_t from, uint16_t *out)
{
    bool is_found = backend_database_next(g->backend, from, out);
    for (size_t i = 0; o != NULL && i < o->count; i++) {
        uint16_t database = key_database(o->items[i]->key);
        if (database < from || (is_found && database >= *out)) continue;
        *out = database;
        is_found = true;
    }
    return is_found;
}

void engine_tick(struct engine *g)
{
    start_tick(&g->start);
    if (g->options.is_frozen || g->options.is_following) return; /* time brings nothing */
    expiry_sweep(&g->expiry);
    idem_tick(&g->idem);
}

int64_t engine_rest_ms(struct engine *g)
{
    if (!engine_is_started(g) || g->start.failures != NULL) return 0;
    if (g->options.is_frozen || g->options.is_following || g->expiry.is_off) return INT64_MAX;
    if (!g->expiry.has_begun) return 0;
    return g->expiry.next_due_ms == INT64_MAX ? INT64_MAX
                                              : g->expiry.next_due_ms - engine_time_ms(g);
}

bool engine_idle(struct engine *g)
{
    if (g->options.is_frozen || g->options.is_following || g->expiry.is_off) return false;
    return engine_is_started(g) && expiry_go_on(&g->expiry);
}

void engine_set_active_expire(struct engine *g, bool is_on)
{
    g->expiry.is_off = !is_on;
}

uint64_t engine_expired_count(const struct engine *g)
{
    return g->expiry.expired;
}

uint64_t engine_idem_count(const struct engine *g)
{
    return g->idem.ids.count;
}
