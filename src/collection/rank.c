/* rank: see rank.h. From a place whose rank is known the rows are counted one by one, as the
 * transaction sees them: from the first of all when they are few, else from the beginning of a
 * block of the counted index. That knows what is committed; how many rows the transaction itself
 * has added before the place, and taken away, it says itself.
 *
 * Rows that are passed from the beginning of a block are few for each rank that is asked for, and
 * not part of what a transaction may read; those that are passed without an index are.
 */
#include "collection/rank.h"

#include "base/mem.h"
#include "collection/collection_int.h"
#include "collection/index.h"

#define FEW (4 * COUNTED_BLOCK)             /* rows that are counted without an index */
#define BLOCK_MAX (2 * COUNTED_BLOCK)       /* rows of one that is not long */
#define ROWS_MAX (10 * COLLECTION_ROWS_MAX) /* that one question passes with an index */
#define SUM_STEPS 5                         /* for each row of the transaction (engine.h) */
#define AHEAD_MAX 8                         /* reads that are begun at a time */

/* A row's key with so many rows before it, as the transaction sees them. */
struct place {
    struct slice key; /* where to begin; in the arena */
    uint64_t before;
    size_t count; /* committed rows in its block; 0: it is none of the index */
};

struct ranking {
    struct collection *c;
    enum row_tag tag;
    struct slice start, end; /* all its rows */
    struct counted *index;   /* NULL = by walking */
    struct view_causes own;  /* rows of the transaction, by key */
    int64_t *sums;           /* what the first 0, 1, .. of them add to the rows; owned */
    size_t passed;
};

static void sum_own(struct ranking *k)
{
    k->sums = mem_alloc((k->own.count + 1) * sizeof *k->sums);
    k->sums[0] = 0;
    for (size_t i = 0; i < k->own.count; i++) {
        struct view_cause own = view_cause(&k->own, i);
        k->sums[i + 1] = k->sums[i] + own.exists - (own.cause == ROW_WAS_THERE);
    }
}

static enum err begin(struct ranking *k, struct collection *c, bool by_name, struct error *e)
{
    struct element_rows rows = collection_rows(c);
    struct arena *arena = c->view->arena;
    *k = (struct ranking){.c = c, .tag = element_walk_tag(c, by_name)};
    k->start = rows_start(arena, &rows, k->tag);
    k->end = rows_end(arena, &rows, k->tag);
    if (c->head.count <= FEW || collection_is_new(c)) return OK;
    enum err r = counted_indexes_get(c->all->indexes, &rows, k->tag, c->view->waiter, &k->index, e);
    if (r != OK || k->index == NULL) return r;
    k->own = view_causes(c->view, k->start, k->end);
    r = engine_take_steps(c->view->overlay, k->own.count * SUM_STEPS, e);
    if (r == OK) sum_own(k);
    return r;
}

static void end(struct ranking *k)
{
    mem_free(k->sums);
}

static struct slice rest_of(const struct ranking *k, struct slice key)
{
    return slice_of(key.data + k->start.len, key.len - k->start.len);
}

/* ---- places ---- */

/* As the transaction sees it. */
static uint64_t before_of(const struct ranking *k, const struct counted_place *p)
{
    size_t low = 0;
    size_t high = k->own.count;
    while (low < high) { /* the first of its own rows that is not before the place */
        size_t middle = low + (high - low) / 2;
        if (slice_cmp(rest_of(k, view_cause(&k->own, middle).key), p->first) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (uint64_t)((int64_t)p->before + k->sums[low]);
}

static struct place place_of(const struct ranking *k, const struct counted_place *p)
{
    struct arena *arena = k->c->view->arena;
    uint8_t *key = arena_alloc(arena, k->start.len + p->first.len);
    memcpy(key, k->start.data, k->start.len);
    bytes_copy(key + k->start.len, p->first.data, p->first.len);
    return (struct place){.key = slice_of(key, k->start.len + p->first.len),
                          .before = before_of(k, p),
                          .count = p->count};
}

/* The last block that does not begin after the rank. */
static struct place place_of_rank(const struct ranking *k, uint64_t rank)
{
    struct counted_place best = {.count = 0};
    uint64_t low = 0;
    uint64_t high = k->index == NULL ? 0 : counted_total(k->index);
    if (high > 0 && k->own.count == 0) {
        best = counted_of_rank(k->index, rank);
        return place_of(k, &best);
    }
    while (low < high) {
        struct counted_place p = counted_of_rank(k->index, low + (high - low) / 2);
        if (before_of(k, &p) <= rank) {
            best = p;
            low = p.before + p.count;
        } else {
            high = p.before;
        }
    }
    return best.count > 0 ? place_of(k, &best) : (struct place){.key = k->start};
}

/* ---- passing over rows ---- */

struct passing {
    struct engine_scan *scan;
    uint64_t at;  /* rank of the next row */
    size_t block; /* committed rows in the block, when it is to be cut; else 0 */
    size_t in_block;
};

static enum err passing_open(struct ranking *k, const struct place *from, struct slice end_key,
                             struct passing *p, struct error *e)
{
    struct view *v = k->c->view;
    struct scan_range range = {.start = from->key,
                               .end = end_key,
                               .is_undivided = true,
                               .rows_hint = k->index != NULL ? COUNTED_BLOCK : 0};
    *p = (struct passing){.at = from->before};
    if (k->own.count == 0 && counted_is_long(from->count)) p->block = from->count;
    return engine_scan_open(v->engine, v->overlay, &range, &p->scan, e);
}

static void passing_close(struct ranking *k, struct passing *p)
{
    if (p->scan != NULL) depends_raise(&k->c->view->depends, engine_scan_depends(p->scan));
    engine_scan_close(p->scan);
    p->scan = NULL;
}

/* A long block is cut on the way. */
static void cut(struct ranking *k, struct passing *p, struct slice key)
{
    if (p->in_block == COUNTED_BLOCK) {
        counted_cut(k->index, rest_of(k, key), COUNTED_BLOCK);
        p->block -= COUNTED_BLOCK;
        p->in_block = 0;
        if (!counted_is_long(p->block)) p->block = 0;
    }
    p->in_block++;
}

/* Its key, until the next call; empty at the end. */
static enum err passing_next(struct ranking *k, struct passing *p, struct slice *key,
                             struct error *e)
{
    struct entry row;
    int max = k->index != NULL ? ROWS_MAX : COLLECTION_ROWS_MAX;
    enum err r = engine_scan_next(p->scan, key, &row, k->c->view->waiter, e);
    if (r != OK || key->len == 0) return r;
    if (p->block > 0) cut(k, p, *key);
    p->at++;
    if (++k->passed <= (size_t)max) return OK;
    return error_set(e, ERR_LIMIT, "more than %d elements to skip", max);
}

/* ---- reads ahead ---- */

static void ignore_ready(struct waiter *w)
{
    (void)w;
}

/* Of these ranks, the first of which waits: so it need not wait for each of the others in turn. */
static void begin_reads(struct ranking *k, const uint64_t *ranks, size_t count)
{
    struct place last = place_of_rank(k, ranks[0]);
    size_t begun = 0;
    for (size_t i = 1; i < count && begun < AHEAD_MAX && k->index != NULL; i++) {
        struct passing p;
        struct slice key;
        struct entry row;
        struct error e;
        struct waiter w = {.ready = ignore_ready, .keep_for = k->c->view->waiter};
        struct place from = place_of_rank(k, ranks[i]);
        if (from.before == last.before) continue;
        last = from;
        if (passing_open(k, &from, k->end, &p, &e) != OK) return;
        if (engine_scan_next(p.scan, &key, &row, &w, &e) == ERR_WAIT) begun++;
        waiter_cancel(&w);
        passing_close(k, &p);
    }
}

/* ---- questions ---- */

/* The next row is the one with the rank, or one before it in its block. */
static enum err approach(struct ranking *k, struct passing *p, uint64_t rank, struct error *e)
{
    struct place from = place_of_rank(k, rank);
    if (p->scan != NULL && from.before <= p->at) return OK;
    passing_close(k, p);
    return passing_open(k, &from, k->end, p, e);
}

static struct view_loan lend(struct ranking *k, size_t count)
{
    return view_lend(k->c->view, k->index != NULL ? count * BLOCK_MAX + k->own.count : 0);
}

static enum err seek_all(struct ranking *k, const uint64_t *ranks, size_t count, struct slice *keys,
                         struct error *e)
{
    struct passing p = {.scan = NULL};
    struct view_loan loan = lend(k, count);
    size_t i = 0;
    enum err r = OK;
    for (; i < count && r == OK; i++) {
        struct slice key = {0};
        if (i > 0 && ranks[i] == ranks[i - 1]) {
            keys[i] = keys[i - 1];
            continue;
        }
        r = approach(k, &p, ranks[i], e);
        while (r == OK && p.at <= ranks[i]) {
            r = passing_next(k, &p, &key, e);
            if (r == OK && key.len == 0) r = collection_damaged(k->c, e);
        }
        if (r == OK) keys[i] = arena_copy(k->c->view->arena, key);
    }
    passing_close(k, &p);
    view_lend_end(k->c->view, &loan);
    if (r == ERR_WAIT) begin_reads(k, &ranks[i - 1], count - i + 1);
    return r;
}

enum err rank_seek_all(struct collection *c, bool by_name, const uint64_t *ranks, size_t count,
                       struct slice *keys, struct error *e)
{
    struct ranking k;
    enum err r = begin(&k, c, by_name, e);
    if (r == OK) r = seek_all(&k, ranks, count, keys, e);
    end(&k);
    return r;
}

enum err rank_seek(struct collection *c, bool by_name, uint64_t rank, struct slice *key,
                   struct error *e)
{
    return rank_seek_all(c, by_name, &rank, 1, key, e);
}

static enum err count_before(struct ranking *k, struct slice key, uint64_t *rank, struct error *e)
{
    struct passing p = {.scan = NULL};
    struct place from = {.key = k->start};
    struct slice passed = k->start;
    if (slice_cmp(key, k->end) > 0) key = k->end;
    if (k->index != NULL && slice_cmp(key, k->start) > 0) {
        struct slice rest = slice_cmp(key, k->end) < 0 ? rest_of(k, key)
                                                       : slice_str("\xff\xff\xff");
        struct counted_place at = counted_of_key(k->index, rest);
        from = place_of(k, &at);
    }
    *rank = from.before;
    if (slice_cmp(from.key, key) >= 0) return OK;
    struct view_loan loan = lend(k, 1);
    enum err r = passing_open(k, &from, key, &p, e);
    while (r == OK && passed.len > 0) r = passing_next(k, &p, &passed, e);
    *rank = p.at;
    passing_close(k, &p);
    view_lend_end(k->c->view, &loan);
    return r;
}

enum err rank_of(struct collection *c, bool by_name, struct slice key, uint64_t *rank,
                 struct error *e)
{
    struct ranking k;
    *rank = 0;
    enum err r = begin(&k, c, by_name, e);
    if (r == OK) r = count_before(&k, key, rank, e);
    end(&k);
    return r;
}
