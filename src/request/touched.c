/* touched: see touched.h. Only sets of data keys are noted, one after the other in one buffer,
 * twice if they are written twice. */
#include "request/touched.h"

#include "base/list.h"
#include "base/mem.h"

struct touched_ranges {
    struct touched head; /* circular */
};

static void note(struct touched *range, struct slice key)
{
    uint16_t len = (uint16_t)key.len;
    if (slice_cmp(key, range->start) < 0 || slice_cmp(key, range->end) >= 0) return;
    if (range->count == TOUCHED_MAX) {
        range->is_lost = true;
        return;
    }
    buf_append(&range->keys, &len, sizeof len);
    buf_append(&range->keys, key.data, key.len);
    range->count++;
    range->is_lost = range->is_lost || range->keys.is_failed;
}

static void on_commit(void *arg, uint64_t version, const struct write_set *ws)
{
    struct touched_ranges *t = arg;
    (void)version;
    for (struct touched *range = t->head.next; range != &t->head; range = range->next) {
        for (size_t i = 0; i < ws->count; i++) {
            const struct mutation *mu = &ws->items[i];
            /* What a flush removed is gone when the walk ends; what matters is written after it. */
            if (mu->kind == MUTATION_SET && key_space(mu->key) == SPACE_DATA) note(range, mu->key);
        }
    }
}

struct touched_ranges *touched_new(void)
{
    struct touched_ranges *t = mem_new(sizeof *t);
    RING_INIT(&t->head, next, prev);
    return t;
}

void touched_of_engine(struct touched_ranges *t, struct engine *g)
{
    struct layer layer = {.kinds = LAYER_SPACE(SPACE_DATA), .on_commit = on_commit, .arg = t};
    engine_add_layer(g, &layer);
}

void touched_free(struct touched_ranges *t)
{
    mem_free(t);
}

void touched_begin(struct touched_ranges *t, struct touched *range, struct slice start,
                   struct slice end)
{
    touched_end(range);
    range->start = start;
    range->end = end;
    RING_INSERT(&t->head, range, next, prev);
}

void touched_end(struct touched *range)
{
    buf_fini(&range->keys);
    if (range->next != NULL) RING_UNLINK(range, next, prev);
    *range = (struct touched){0};
}

bool touched_next(const struct touched *range, size_t *at, struct slice *key)
{
    uint16_t len = 0;
    if (*at >= range->keys.len) return false;
    memcpy(&len, range->keys.data + *at, sizeof len);
    *key = slice_of(range->keys.data + *at + sizeof len, len);
    *at += sizeof len + len;
    return true;
}
