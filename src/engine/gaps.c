/* gaps: see gaps.h. They are few: one for each end of a collection that is being emptied. */
#include "engine/gaps.h"

static bool is_in(const struct gap *x, struct slice key)
{
    return slice_cmp(x->start, key) <= 0 && slice_cmp(key, x->end) < 0;
}

void gaps_add(struct gaps *g, uint64_t version, struct slice start, struct slice end)
{
    if (g->version != version) g->count = 0;
    g->version = version;
    for (size_t i = 0; i < g->count; i++) { /* one that has grown */
        struct gap *x = &g->items[i];
        if (!slice_eq(x->start, start) && !slice_eq(x->end, end)) continue;
        *x = (struct gap){start, end};
        return;
    }
    size_t at = g->count < GAPS_MAX ? g->count++ : g->oldest++ % GAPS_MAX;
    g->items[at] = (struct gap){start, end};
}

void gaps_touch(struct gaps *g, struct slice key)
{
    for (size_t i = 0; i < g->count;) {
        if (is_in(&g->items[i], key)) {
            g->items[i] = g->items[--g->count];
        } else {
            i++;
        }
    }
}

void gaps_narrow(const struct gaps *g, uint64_t version, struct slice *start, struct slice *end)
{
    if (g->version != version) return;
    for (size_t i = 0; i < g->count; i++) {
        const struct gap *x = &g->items[i];
        if (is_in(x, *start)) *start = slice_cmp(x->end, *end) < 0 ? x->end : *end;
        bool ends_in = slice_cmp(x->start, *end) < 0 && slice_cmp(*end, x->end) <= 0;
        if (ends_in) *end = slice_cmp(x->start, *start) > 0 ? x->start : *start;
    }
}
