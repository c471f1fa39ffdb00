/* rank: see rank.h. From a place whose rank is known the rows are counted one by one, as the
 * transaction sees them: from the first of all when they are few, else from the beginning of a
 * block of the counted index. That knows what is committed; how many rows the transaction itself
 * has added before the place, and taken away, it says itself. */
#include "collection/rank.h"

#include "collection/collection_int.h"
#include "collection/index.h"

#define FEW 512 /* rows that are counted without an index */

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
    struct view_cause *own;  /* rows of the transaction, by key */
    size_t own_count;
};

/* Is anything committed of it that an index would know? */
static bool is_committed(const struct collection *c)
{
    struct element_rows rows = collection_rows(c);
    struct entry owner;
    if (c->view->overlay == NULL) return true;
    if (view_is_flushed(c->view)) return false;
    struct slice key = row_of_owner(c->view->arena, &rows, engine_key_tuple(c->key));
    return !view_own(c->view, key, &owner);
}

static enum err begin(struct ranking *k, struct collection *c, bool by_name, struct error *e)
{
    struct element_rows rows = collection_rows(c);
    struct arena *arena = c->view->arena;
    *k = (struct ranking){.c = c, .tag = element_walk_tag(c, by_name)};
    k->start = rows_start(arena, &rows, k->tag);
    k->end = rows_end(arena, &rows, k->tag);
    if (c->head.count <= FEW || !is_committed(c)) return OK;
    k->own_count = view_causes(c->view, k->start, k->end, &k->own);
    return counted_indexes_get(c->all->indexes, &rows, k->tag, c->view->waiter, &k->index, e);
}

/* What the transaction adds to the rows before the key. */
static int64_t own_before(const struct ranking *k, struct slice key)
{
    int64_t sum = 0;
    for (size_t i = 0; i < k->own_count && slice_cmp(k->own[i].key, key) < 0; i++) {
        sum += (int64_t)k->own[i].exists - (k->own[i].cause == ROW_WAS_THERE);
    }
    return sum;
}

static struct place place_of(const struct ranking *k, const struct counted_place *p)
{
    struct arena *arena = k->c->view->arena;
    uint8_t *key = arena_alloc(arena, k->start.len + p->first.len);
    memcpy(key, k->start.data, k->start.len);
    bytes_copy(key + k->start.len, p->first.data, p->first.len);
    struct place out = {.key = slice_of(key, k->start.len + p->first.len), .count = p->count};
    out.before = (uint64_t)((int64_t)p->before + own_before(k, out.key));
    return out;
}

static struct slice rest_of(const struct ranking *k, struct slice key)
{
    return slice_of(key.data + k->start.len, key.len - k->start.len);
}

/* Rows that were passed over, and the key of the last one: empty at the end. */
struct passed {
    uint64_t count;
    struct slice last;
};

/* Passes over `max` rows from the place on, or all before `end`. A long block of the index is
 * cut on the way. */
static enum err pass(struct ranking *k, const struct place *from, struct slice end, uint64_t max,
                     struct passed *out, struct error *e)
{
    struct view *v = k->c->view;
    struct scan_range range = {.start = from->key, .end = end, .is_undivided = true};
    struct engine_scan *scan = NULL;
    bool is_cut = k->index == NULL || !counted_is_long(from->count) || k->own_count > 0;
    *out = (struct passed){0};
    struct slice *last = &out->last;
    if (max == 0 || slice_cmp(from->key, end) >= 0) return OK;
    enum err r = engine_scan_open(v->engine, v->overlay, &range, &scan, e);
    while (r == OK && out->count < max) {
        struct entry row;
        r = engine_scan_next(scan, last, &row, v->waiter, e);
        if (r != OK || last->len == 0) break;
        if (!is_cut && out->count == COUNTED_BLOCK) {
            counted_cut(k->index, rest_of(k, *last), COUNTED_BLOCK);
            is_cut = true;
        }
        if (++out->count > COLLECTION_ROWS_MAX) {
            r = error_set(e, ERR_LIMIT, "more than %d elements to be passed over",
                          COLLECTION_ROWS_MAX);
        }
    }
    if (r == OK && last->len > 0) *last = arena_copy(v->arena, *last);
    if (scan != NULL) depends_raise(&v->depends, engine_scan_depends(scan));
    engine_scan_close(scan);
    return r;
}

enum err rank_seek(struct collection *c, bool by_name, uint64_t rank, struct slice *key,
                   struct error *e)
{
    struct ranking k;
    struct passed passed = {0};
    enum err r = begin(&k, c, by_name, e);
    struct place from = {.key = k.start};
    if (r == OK && k.index != NULL) {
        /* Far enough before it, whatever the transaction has changed. */
        uint64_t least = rank > k.own_count ? rank - k.own_count : 0;
        struct counted_place p = counted_of_rank(k.index, least);
        from = place_of(&k, &p);
    }
    if (r == OK && from.before > rank) from = (struct place){.key = k.start};
    if (r == OK) r = pass(&k, &from, k.end, rank - from.before + 1, &passed, e);
    *key = passed.last;
    if (r == OK && key->len == 0) r = collection_damaged(c, e);
    return r;
}

enum err rank_of(struct collection *c, bool by_name, struct slice key, uint64_t *rank,
                 struct error *e)
{
    struct ranking k;
    struct passed passed = {0};
    enum err r = begin(&k, c, by_name, e);
    struct place from = {.key = k.start};
    if (slice_cmp(key, k.end) > 0) key = k.end;
    if (r == OK && k.index != NULL && slice_cmp(key, k.start) > 0) {
        struct slice rest = slice_cmp(key, k.end) < 0 ? rest_of(&k, key)
                                                      : slice_str("\xff\xff\xff");
        struct counted_place p = counted_of_key(k.index, rest);
        from = place_of(&k, &p);
    }
    if (r == OK) r = pass(&k, &from, key, UINT64_MAX, &passed, e);
    *rank = from.before + passed.count;
    return r;
}
