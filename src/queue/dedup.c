/* dedup: the ids given with DEDUP, for as long as their window lasts (as engine/idem.c keeps
 * request ids): rows in a space of their own, and the ids in memory (engine/id_window.h).
 *
 * Invariant: once read, an id is in memory exactly when its row is in the newest state.
 */
#include "queue/queue_int.h"

#define SWEEP_ROWS 1000
#define FREE_ENTRIES 5000

enum err dedup_use(struct touch *t, struct slice id, bool *is_repeat, struct error *e)
{
    struct queues *qs = t->queues;
    struct view *v = t->view;
    struct entry own;
    struct slice key = touch_key(t, SPACE_DEDUP, id.data, id.len);
    int64_t window_ms = qs->options.dedup_window_ms;
    *is_repeat = false;
    if (view_own(v, key, &own)) {
        *is_repeat = own.exists;
    } else {
        const struct id_entry *x = id_window_find(&qs->dedup, key);
        *is_repeat = x != NULL && id_window_counts(x, v->now_ms, window_ms);
    }
    if (*is_repeat) return OK;
    /* Those that the transaction adds count too. One that takes the place of an expired row counts
     * twice until the tick removes that row. */
    if (qs->dedup.count + view_keys(v, SPACE_DEDUP) >= qs->options.dedup_entries_max) {
        return error_set(e, ERR_TRYAGAIN,
                         "%llu dedup ids are remembered (dedup-max-entries); nothing was changed",
                         (unsigned long long)qs->options.dedup_entries_max);
    }
    uint8_t *time = arena_alloc(v->arena, 8);
    put_u64(time, (uint64_t)v->now_ms);
    view_set(v, key, slice_of(time, 8));
    return OK;
}

/* ---- removing what left the window ---- */

struct sweep {
    struct layer_op base;
    struct queues *queues;
    uint16_t database;
};

static enum err sweep_apply(struct layer_op *base, struct view *v, bool *is_met, struct error *e)
{
    struct sweep *s = (struct sweep *)base;
    int64_t window_ms = s->queues->options.dedup_window_ms;
    const struct id_entry *x = id_window_oldest(&s->queues->dedup, s->database);
    (void)e;
    for (size_t n = 0; x != NULL && n < SWEEP_ROWS; n++) {
        if (id_window_counts(x, v->now_ms, window_ms)) break;
        view_delete(v, arena_copy(v->arena, x->key));
        x = x->next;
    }
    *is_met = true;
    return OK;
}

void dedup_tick(struct queues *qs, int64_t now_ms)
{
    id_window_free_dropped(&qs->dedup, FREE_ENTRIES);
    for (uint32_t i = 0; id_window_next(&qs->dedup, &i); i++) {
        const struct id_entry *oldest = id_window_oldest(&qs->dedup, (uint16_t)i);
        if (id_window_counts(oldest, now_ms, qs->options.dedup_window_ms)) continue;
        struct sweep s = {.base = {.apply = sweep_apply}, .queues = qs, .database = (uint16_t)i};
        struct op op = {.kind = OP_LAYER, .layer = &s.base};
        struct txn t = {.database = (uint16_t)i, .ops = &op, .count = 1, .arena = &qs->arena};
        struct error e;
        if (qs->waiter.next != NULL) return;
        enum err r = engine_commit(qs->engine, &t, &qs->waiter, &e);
        /* Not now: the next tick tries again. */
        (void)r;
        arena_reset(&qs->arena);
    }
}

/* ---- after a start ---- */

enum err dedup_row(void *arg, struct slice key, const struct entry *entry, struct error *e)
{
    struct queues *qs = arg;
    (void)e;
    if (entry->value.len >= 8) {
        /* By the wall clock alone: a message that is taken for a repeat is lost. */
        id_window_read(&qs->dedup, key, (int64_t)get_u64(entry->value.data), false);
    }
    return OK;
}

void dedup_read(void *arg, uint16_t database, bool is_good)
{
    struct queues *qs = arg;
    if (is_good) id_window_sort(&qs->dedup, database);
}
