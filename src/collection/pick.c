/* pick: see pick.h. Of a spread collection the keys of the rows are found first, by the counted
 * index or a walk, without values; a key says the name but for long ones. What it does not say is
 * read from the row. Each element is read once, however often it was drawn.
 */
#include "collection/pick.h"

#include <stdlib.h>

#include "base/random.h"
#include "collection/rank.h"

#define AHEAD_MAX 256 /* reads that are begun at a time */
/* Work to find an element, another one near to it, and what is near (engine_take_steps). */
#define SEEK_STEPS 6000
#define PICK_STEPS 1500
#define NEAR_ROWS 50

/* What is picked, and how much of it there is. */
struct picking {
    struct collection *c;
    bool with_values;
    uint64_t bytes; /* of what was picked so far */
};

/* It is one more of what was picked. */
static enum err take(struct picking *p, const struct element *x, struct error *e)
{
    uint64_t max = engine_limits(p->c->view->engine)->txn_bytes_max;
    p->bytes += x->name.len + (p->with_values ? x->value.len : 0);
    if (p->bytes <= max) return OK;
    return error_set(e, ERR_LIMIT, "more than %llu bytes in one reply (max-transaction-size)",
                     (unsigned long long)max);
}

/* ---- by the keys of rows ---- */

/* False: the row has to be read. */
static bool says_key(const struct picking *p, struct slice key, struct element *out)
{
    static const struct entry nothing = {.exists = true};
    if (!row_read(p->c->head.kind, key, &nothing, out)) return false;
    switch (row_tag_of(key)) {
    case ROW_FIELD: return !p->with_values;
    case ROW_SCORE: return !p->with_values || out->score != 0; /* which may be -0 */
    case ROW_MEMBER: return true;
    default: return false;
    }
}

static enum err of_key(struct picking *p, struct slice key, struct element *out, struct error *e)
{
    struct entry row;
    if (says_key(p, key, out)) return OK;
    enum err r = collection_row(p->c, key, &row, e);
    if (r != OK) return r;
    bool is_good = row.exists && row_read(p->c->head.kind, key, &row, out);
    return is_good ? OK : collection_damaged(p->c, e);
}

static void ignore_ready(struct waiter *w)
{
    (void)w;
}

/* So that one that waits need not wait for each of those after it in turn. */
static size_t begin_read(struct collection *c, struct slice key)
{
    struct waiter w = {.ready = ignore_ready, .keep_for = c->view->waiter};
    struct entry row;
    struct error e;
    enum err r = engine_get(c->view->engine, c->view->overlay, key, &row, &w, &e);
    waiter_cancel(&w);
    return r == ERR_WAIT;
}

static void begin_reads(const struct picking *p, const struct slice *keys, size_t count)
{
    struct element x;
    size_t begun = 0;
    for (size_t i = 0; i < count && begun < AHEAD_MAX; i++) {
        if (!says_key(p, keys[i], &x)) begun += begin_read(p->c, keys[i]);
    }
}

static bool is_same(struct slice a, struct slice b)
{
    return a.data == b.data && a.len == b.len;
}

/* The same key follows itself. */
static enum err of_keys(struct picking *p, const struct slice *keys, size_t count,
                        struct element *out, struct error *e)
{
    enum err r = OK;
    for (size_t i = 0; i < count && r == OK; i++) {
        if (i > 0 && is_same(keys[i], keys[i - 1])) {
            out[i] = out[i - 1];
        } else {
            r = of_key(p, keys[i], &out[i], e);
        }
        if (r == ERR_WAIT) begin_reads(p, &keys[i], count - i);
        if (r == OK) r = take(p, &out[i], e);
    }
    return r;
}

/* ---- by rank ---- */

static enum err of_items(struct picking *p, bool by_name, const uint64_t *ranks, size_t count,
                         struct element *out, struct error *e)
{
    struct walk_range range = {.by_name = by_name};
    struct element_walk w;
    struct element x = {.score = 0};
    uint64_t at = 0; /* the rank of the next one */
    enum err r = element_walk_begin(&w, p->c, &range, e);
    for (size_t i = 0; i < count && r == OK; i++) {
        bool is_end = false;
        for (; at <= ranks[i] && r == OK; at++) r = element_walk_next(&w, &x, &is_end, e);
        if (r == OK && is_end) r = collection_damaged(p->c, e);
        out[i] = x;
        if (r == OK) r = take(p, &x, e);
    }
    element_walk_end(&w);
    return r;
}

static enum err of_ranks(struct picking *p, bool by_name, const uint64_t *ranks, size_t count,
                         struct element *out, struct error *e)
{
    struct arena *arena = p->c->view->arena;
    if (!p->c->head.is_spread) return of_items(p, by_name, ranks, count, out, e);
    struct slice *keys = arena_alloc(arena, count * sizeof *keys);
    enum err r = rank_seek_all(p->c, by_name, ranks, count, keys, e);
    return r == OK ? of_keys(p, keys, count, out, e) : r;
}

enum err pick_ranks(struct collection *c, bool by_name, const uint64_t *ranks, size_t count,
                    struct element *out, struct error *e)
{
    struct picking p = {.c = c, .with_values = true};
    return of_ranks(&p, by_name, ranks, count, out, e);
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

/* The rows of a hash whose fields expire: of those that have not. No index knows them. */
static enum err living(struct picking *p, struct slice **out, uint64_t *count, struct error *e)
{
    struct collection *c = p->c;
    struct element_rows rows = collection_rows(c);
    struct arena *arena = c->view->arena;
    struct scan_range range = {.start = rows_start(arena, &rows, ROW_FIELD),
                               .end = rows_end(arena, &rows, ROW_FIELD),
                               .is_undivided = true};
    struct engine_scan *scan = NULL;
    *count = 0;
    if (c->head.count > COLLECTION_ROWS_MAX) {
        return error_set(e, ERR_LIMIT, "more than %d fields with an expiry", COLLECTION_ROWS_MAX);
    }
    *out = arena_alloc(arena, (size_t)(c->head.count + 1) * sizeof **out);
    enum err r = engine_scan_open(c->view->engine, c->view->overlay, &range, &scan, e);
    while (r == OK && *count < c->head.count) {
        struct slice key;
        struct entry row;
        struct element x = {.name = {0}};
        r = engine_scan_next(scan, &key, &row, c->view->waiter, e);
        if (r != OK || key.len == 0) break;
        x.name = (*out)[(*count)++] = arena_copy(arena, key);
        r = take(p, &x, e);
    }
    if (scan != NULL) depends_raise(&c->view->depends, engine_scan_depends(scan));
    engine_scan_close(scan);
    p->bytes = 0;
    return r;
}

static enum err of_living(struct picking *p, const struct slice *all, const uint64_t *ranks,
                          size_t count, struct element *out, struct error *e)
{
    struct slice *keys = arena_alloc(p->c->view->arena, count * sizeof *keys);
    for (size_t i = 0; i < count; i++) keys[i] = all[ranks[i]];
    return of_keys(p, keys, count, out, e);
}

/* A row is sought for each; but for the first of those near to one another, that costs little. */
static enum err take_steps(struct collection *c, uint64_t count, uint64_t n, struct error *e)
{
    uint64_t sought = count < n / NEAR_ROWS ? count : n / NEAR_ROWS;
    if (!c->head.is_spread) return OK;
    return engine_take_steps(c->view->overlay, sought * SEEK_STEPS + count * PICK_STEPS, e);
}

enum err pick_random(struct collection *c, struct pick *k, struct error *e)
{
    struct picking p = {.c = c, .with_values = k->with_values};
    struct slice *all = NULL;
    struct rng g;
    uint64_t n = c->head.count;
    uint64_t count = k->count;
    enum err r = OK;
    rng_init(&g, k->seed);
    k->items = NULL;
    k->picked = 0;
    if (c->head.is_spread && c->head.expiring > 0) r = living(&p, &all, &n, e);
    if (r != OK || n == 0 || count == 0) return r;
    if (!k->repeats && count > n) count = n;
    if (count > COLLECTION_ROWS_MAX) {
        return error_set(e, ERR_LIMIT, "more than %d elements in one reply", COLLECTION_ROWS_MAX);
    }
    r = take_steps(c, count, n, e);
    if (r != OK) return r;
    uint64_t *ranks = arena_alloc(c->view->arena, (size_t)count * sizeof *ranks);
    k->items = arena_alloc(c->view->arena, (size_t)count * sizeof *k->items);
    draw(&g, ranks, (size_t)count, n, k->repeats);
    r = all != NULL
            ? of_living(&p, all, ranks, (size_t)count, k->items, e)
            : of_ranks(&p, c->head.kind != COLLECTION_ZSET, ranks, (size_t)count, k->items, e);
    k->picked = r == OK ? (size_t)count : 0;
    if (r == OK) shuffle(&g, k->items, k->picked);
    return r;
}

void pick_begin_reads(struct collection *c, const struct element *items, size_t count)
{
    struct element_rows rows = collection_rows(c);
    enum row_tag tag = element_walk_tag(c, true);
    size_t begun = 0;
    for (size_t i = 0; i < count && begun < AHEAD_MAX && c->head.is_spread; i++) {
        begun += begin_read(c, row_of_name(c->view->arena, &rows, tag, items[i].name));
    }
}
