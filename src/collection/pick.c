/* pick: see pick.h. */
#include "collection/pick.h"

#include <stdlib.h>

#include "base/random.h"
#include "collection/rank.h"

#define WALKED_PART 64 /* of the elements: for more, all are walked */

static struct element copy_of(struct arena *arena, const struct element *x)
{
    struct element copy = *x;
    copy.name = arena_copy(arena, x->name);
    copy.value = arena_copy(arena, x->value);
    return copy;
}

/* One walk over all. */
static enum err walk_ranks(struct collection *c, bool by_name, const uint64_t *ranks, size_t count,
                           struct element *out, struct error *e)
{
    struct walk_range range = {.by_name = by_name};
    struct element_walk w;
    uint64_t at = 0;
    size_t i = 0;
    enum err r = element_walk_begin(&w, c, &range, e);
    for (; r == OK && i < count; at++) {
        struct element x;
        bool is_end = false;
        r = element_walk_next(&w, &x, &is_end, e);
        if (r == OK && is_end) r = collection_damaged(c, e);
        for (; r == OK && i < count && ranks[i] == at; i++) out[i] = copy_of(c->view->arena, &x);
    }
    element_walk_end(&w);
    return r;
}

static enum err pick_one(struct collection *c, bool by_name, uint64_t rank, struct element *out,
                         struct error *e)
{
    struct walk_range range = {.by_name = by_name, .hint = 1};
    struct element_walk w;
    bool is_end = false;
    enum err r = rank_seek(c, by_name, rank, &range.start, e);
    if (r == OK) r = element_walk_begin(&w, c, &range, e);
    if (r != OK) return r;
    r = element_walk_next(&w, out, &is_end, e);
    if (r == OK && is_end) r = collection_damaged(c, e);
    if (r == OK) *out = copy_of(c->view->arena, out);
    element_walk_end(&w);
    return r;
}

enum err pick_ranks(struct collection *c, bool by_name, const uint64_t *ranks, size_t count,
                    struct element *out, struct error *e)
{
    enum err r = OK;
    bool is_walked = !c->head.is_spread || count > c->head.count / WALKED_PART;
    if (is_walked) return walk_ranks(c, by_name, ranks, count, out, e);
    for (size_t i = 0; i < count && r == OK; i++) {
        if (i > 0 && ranks[i] == ranks[i - 1]) {
            out[i] = out[i - 1];
        } else {
            r = pick_one(c, by_name, ranks[i], &out[i], e);
        }
    }
    return r;
}

/* ---- random ---- */

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Selection sampling (Knuth, The Art of Computer Programming, vol. 2, 3.4.2, algorithm S). */
static void select_ranks(struct rng *g, uint64_t *ranks, size_t count, uint64_t n)
{
    size_t chosen = 0;
    for (uint64_t i = 0; chosen < count; i++) {
        if (rng_below(g, n - i) < count - chosen) ranks[chosen++] = i;
    }
}

/* Ascending: any ones with repeats, else `count` different ones below n. */
static void draw(struct rng *g, uint64_t *ranks, size_t count, uint64_t n, bool repeats)
{
    size_t drawn = 0;
    if (!repeats && count > n / 2) {
        select_ranks(g, ranks, count, n);
        return;
    }
    while (drawn < count) {
        for (size_t i = drawn; i < count; i++) ranks[i] = rng_below(g, n);
        qsort(ranks, count, sizeof *ranks, compare);
        if (repeats) return;
        drawn = 0;
        for (size_t i = 0; i < count; i++) {
            if (drawn == 0 || ranks[drawn - 1] != ranks[i]) ranks[drawn++] = ranks[i];
        }
    }
}

static void shuffle(struct rng *g, struct element *items, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t k = (size_t)rng_below(g, i);
        struct element x = items[i - 1];
        items[i - 1] = items[k];
        items[k] = x;
    }
}

/* Of a hash whose fields expire: those that have not. */
static enum err living(struct collection *c, struct element **out, uint64_t *count, struct error *e)
{
    struct walk_range range = {.by_name = true};
    struct element_walk w;
    *count = 0;
    *out = arena_alloc(c->view->arena, (size_t)(c->head.count + 1) * sizeof **out);
    enum err r = element_walk_begin(&w, c, &range, e);
    while (r == OK && *count < c->head.count) {
        struct element x;
        bool is_end = false;
        r = element_walk_next(&w, &x, &is_end, e);
        if (r != OK || is_end) break;
        (*out)[(*count)++] = copy_of(c->view->arena, &x);
    }
    element_walk_end(&w);
    return r;
}

enum err pick_random(struct collection *c, uint64_t count, bool repeats, struct element **out,
                     size_t *picked, struct error *e)
{
    struct element *all = NULL;
    struct rng g;
    uint64_t seed = 0;
    uint64_t n = c->head.count;
    enum err r = OK;
    random_system(&seed, sizeof seed);
    rng_init(&g, seed);
    *out = NULL;
    *picked = 0;
    if (c->head.expiring > 0) r = living(c, &all, &n, e);
    if (r != OK || n == 0 || count == 0) return r;
    if (!repeats && count > n) count = n;
    if (count > COLLECTION_ROWS_MAX) {
        return error_set(e, ERR_LIMIT, "more than %d elements in one reply", COLLECTION_ROWS_MAX);
    }
    uint64_t *ranks = arena_alloc(c->view->arena, (size_t)count * sizeof *ranks);
    *out = arena_alloc(c->view->arena, (size_t)count * sizeof **out);
    draw(&g, ranks, (size_t)count, n, repeats);
    if (all == NULL) {
        r = pick_ranks(c, true, ranks, (size_t)count, *out, e);
    } else {
        for (size_t i = 0; i < count; i++) (*out)[i] = all[ranks[i]];
    }
    *picked = (size_t)count;
    if (r == OK) shuffle(&g, *out, *picked);
    return r;
}
