/* sorted: see sorted.h. A range is rows between two keys of a spread set, items between two places
 * of a packed one. */
#include "collection/sorted.h"

#include "collection/collection_int.h"
#include "collection/rank.h"

#define SKIP_ROWS 128 /* that are walked over: more are left out by the counted index */

/* The least key above this one. */
static struct slice after_key(struct arena *arena, struct slice key)
{
    uint8_t *p = arena_alloc(arena, key.len + 1);
    memcpy(p, key.data, key.len);
    p[key.len] = 0;
    return slice_of(p, key.len + 1);
}

/* ---- by rank ---- */

/* [*from, *upto) of ranks from the lowest score. */
static void ranks_of(const struct sorted_range *r, uint64_t count, uint64_t *from, uint64_t *upto)
{
    int64_t n = (int64_t)count;
    int64_t start = r->start;
    int64_t stop = r->stop;
    *from = *upto = 0;
    if (start < 0) start = start + n < 0 ? 0 : start + n;
    if (stop < 0) stop += n;
    if (stop >= n) stop = n - 1;
    if (stop < 0 || start > stop || start >= n) return;
    *from = (uint64_t)(r->is_reverse ? n - 1 - stop : start);
    *upto = (uint64_t)(r->is_reverse ? n - start : stop + 1);
}

static enum err walk_by_rank(struct collection *c, const struct sorted_range *r,
                             struct walk_range *out, struct error *e)
{
    uint64_t from = 0;
    uint64_t upto = 0;
    ranks_of(r, c->head.count, &from, &upto);
    out->is_empty = from == upto;
    out->max = out->hint = upto - from;
    if (out->is_empty) return OK;
    if (!c->head.is_spread) {
        out->from = from;
        out->upto = upto;
        return OK;
    }
    if (!r->is_reverse && from > 0) return rank_seek(c, false, from, &out->start, e);
    if (r->is_reverse && upto < c->head.count) return rank_seek(c, false, upto, &out->end, e);
    return OK;
}

/* ---- by score ---- */

static bool is_above_min(const struct sorted_range *r, double score)
{
    return r->min_is_open ? score > r->min : score >= r->min;
}

static bool is_below_max(const struct sorted_range *r, double score)
{
    return r->max_is_open ? score < r->max : score <= r->max;
}

static void rows_by_score(struct collection *c, const struct sorted_range *r, struct slice *start,
                          struct slice *end)
{
    struct element_rows rows = collection_rows(c);
    struct arena *arena = c->view->arena;
    *start = r->min_is_open ? rows_after_score(arena, &rows, r->min)
                            : rows_from_score(arena, &rows, r->min);
    *end = r->max_is_open ? rows_from_score(arena, &rows, r->max)
                          : rows_after_score(arena, &rows, r->max);
}

/* ---- by member ---- */

static bool is_after_first(const struct sorted_range *r, struct slice member)
{
    if (r->first.infinite != 0) return r->first.infinite < 0;
    int order = name_order(member, r->first.member);
    return r->first.is_open ? order > 0 : order >= 0;
}

static bool is_before_last(const struct sorted_range *r, struct slice member)
{
    if (r->last.infinite != 0) return r->last.infinite > 0;
    int order = name_order(member, r->last.member);
    return r->last.is_open ? order < 0 : order <= 0;
}

/* The score of all: that of the first. */
static enum err first_score(struct collection *c, double *score, struct error *e)
{
    struct walk_range range = {.hint = 1};
    struct element_walk w;
    struct element x = {.score = 0};
    bool is_end = false;
    enum err r = element_walk_begin(&w, c, &range, e);
    if (r == OK) r = element_walk_next(&w, &x, &is_end, e);
    element_walk_end(&w);
    *score = x.score;
    return r;
}

static struct slice row_at_bound(struct collection *c, double score, const struct lex_bound *b,
                                 bool is_after)
{
    struct element_rows rows = collection_rows(c);
    struct arena *arena = c->view->arena;
    if (b->infinite < 0) return rows_from_score(arena, &rows, score);
    if (b->infinite > 0) return rows_after_score(arena, &rows, score);
    struct slice key = row_of_score(arena, &rows, score, b->member);
    return is_after ? after_key(arena, key) : key;
}

static enum err rows_by_lex(struct collection *c, const struct sorted_range *r, struct slice *start,
                            struct slice *end, struct error *e)
{
    double score = 0;
    enum err x = first_score(c, &score, e);
    if (x != OK) return x;
    *start = row_at_bound(c, score, &r->first, r->first.is_open);
    *end = row_at_bound(c, score, &r->last, !r->last.is_open);
    return OK;
}

/* ---- either ---- */

static bool is_inside(const struct sorted_range *r, const struct element *x)
{
    if (r->by == BY_SCORE) return is_above_min(r, x->score) && is_below_max(r, x->score);
    return is_after_first(r, x->name) && is_before_last(r, x->name);
}

/* Of a packed one: [*from, *upto) of its items. */
static void places_inside(const struct collection *c, const struct sorted_range *r, size_t *from,
                          size_t *upto)
{
    size_t count = (size_t)c->head.count;
    *from = 0;
    while (*from < count && !is_inside(r, &c->items[*from])) ++*from;
    *upto = *from;
    while (*upto < count && is_inside(r, &c->items[*upto])) ++*upto;
}

static enum err rows_inside(struct collection *c, const struct sorted_range *r, struct slice *start,
                            struct slice *end, struct error *e)
{
    if (r->by == BY_LEX) return rows_by_lex(c, r, start, end, e);
    rows_by_score(c, r, start, end);
    return OK;
}

/* The walk begins where its offset ends. */
static enum err skip_by_rank(struct collection *c, struct walk_range *out, struct error *e)
{
    uint64_t first = 0;
    uint64_t last = 0;
    enum err x = rank_of(c, false, out->start, &first, e);
    if (x == OK) x = rank_of(c, false, out->end, &last, e);
    if (x != OK) return x;
    out->is_empty = out->skip >= last - first;
    if (out->is_empty) return OK;
    uint64_t rank = out->is_reverse ? last - out->skip : first + out->skip;
    x = rank_seek(c, false, rank, out->is_reverse ? &out->end : &out->start, e);
    if (x == OK) out->skip = 0;
    return x;
}

enum err sorted_walk(struct collection *c, const struct sorted_range *r, struct walk_range *out,
                     struct error *e)
{
    enum err x = OK;
    out->skip = out->max = 0;
    out->is_reverse = r->is_reverse;
    out->is_empty = c->head.count == 0;
    if (out->is_empty) return OK;
    if (r->by == BY_RANK) return walk_by_rank(c, r, out, e);
    if (!c->head.is_spread) {
        places_inside(c, r, &out->from, &out->upto);
        out->is_empty = out->from == out->upto;
    } else {
        x = rows_inside(c, r, &out->start, &out->end, e);
        out->is_empty = x == OK && slice_cmp(out->start, out->end) >= 0;
    }
    out->skip = r->offset > 0 ? (uint64_t)r->offset : 0;
    if (r->limit >= 0) out->max = (uint64_t)r->limit;
    if (r->limit == 0 || r->offset < 0) out->is_empty = true;
    bool is_counted = c->head.is_spread && !c->all->options.is_following;
    if (x == OK && is_counted && !out->is_empty && out->skip > SKIP_ROWS) {
        x = skip_by_rank(c, out, e);
        if (x == ERR_LIMIT) x = OK; /* there is no index, and what is before is long */
    }
    out->hint = out->max > 0 ? out->skip + out->max : 0;
    return x;
}

enum err sorted_count(struct collection *c, const struct sorted_range *r, uint64_t *out,
                      struct error *e)
{
    size_t from = 0;
    size_t upto = 0;
    uint64_t before = 0;
    struct slice start;
    struct slice end;
    *out = 0;
    if (c->head.count == 0) return OK;
    if (!c->head.is_spread) {
        places_inside(c, r, &from, &upto);
        *out = upto - from;
        return OK;
    }
    enum err x = rows_inside(c, r, &start, &end, e);
    if (x != OK || slice_cmp(start, end) >= 0) return x;
    x = rank_of(c, false, start, &before, e);
    if (x == OK) x = rank_of(c, false, end, out, e);
    *out -= before;
    return x;
}

enum err sorted_gather(struct collection *c, const struct sorted_range *r, struct element **out,
                       size_t *count, struct error *e)
{
    struct walk_range range = {.is_reverse = false};
    struct element_walk w = {0};
    struct arena *arena = c->view->arena;
    size_t cap = 0;
    *count = 0;
    *out = NULL;
    enum err x = sorted_walk(c, r, &range, e);
    bool is_end = range.is_empty;
    uint64_t skip = range.skip;
    if (x == OK && !is_end) x = element_walk_begin(&w, c, &range, e);
    while (x == OK && !is_end && (range.max == 0 || *count < range.max)) {
        struct element item;
        x = element_walk_next(&w, &item, &is_end, e);
        if (x != OK || is_end) break;
        if (skip > 0) {
            skip--;
            continue;
        }
        if (*count == COLLECTION_ROWS_MAX) {
            x = error_set(e, ERR_LIMIT, "more than %d elements in one transaction",
                          COLLECTION_ROWS_MAX);
            break;
        }
        *out = arena_grow(arena, *out, *count, &cap, sizeof **out);
        item.name = arena_copy(arena, item.name);
        (*out)[(*count)++] = item;
    }
    element_walk_end(&w);
    return x;
}

enum err sorted_rank(struct collection *c, struct slice member, bool *found, uint64_t *rank,
                     double *score, struct error *e)
{
    struct element x = {.score = 0};
    enum err r = collection_find(c, member, found, &x, e);
    *rank = 0;
    *score = x.score;
    if (r != OK || !*found) return r;
    if (c->head.is_spread) {
        struct element_rows rows = collection_rows(c);
        return rank_of(c, false, row_of_score(c->view->arena, &rows, x.score, member), rank, e);
    }
    while (!slice_eq(c->items[*rank].name, member)) ++*rank;
    return OK;
}
