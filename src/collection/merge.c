/* merge: see merge.h. A walk over each source; the least name of all that they stand at is the next
 * result, or none. An intersection with a small source looks its members up in the others instead,
 * and so does a difference whose first source is small. */
#include "collection/merge.h"

#include <math.h>

#define PROBE_PART 16 /* members are looked up when there are so many times more in the others */

struct cursor {
    struct element_walk walk;
    struct element at;
    bool is_end;
};

static double add_scores(enum merge_scores how, double a, double b)
{
    switch (how) {
    case SCORES_MIN: return b < a ? b : a;
    case SCORES_MAX: return b > a ? b : a;
    case SCORES_SUM: break;
    }
    double sum = a + b;
    return isnan(sum) ? 0 : sum; /* infinities of both signs, as in Redis */
}

static double score_in(const struct merge *m, size_t source, const struct element *x)
{
    double score = m->sources[source].head.kind == COLLECTION_ZSET ? x->score : 1;
    return m->weights == NULL ? score : score * m->weights[source];
}

/* The score so far, with that of the source. As in Redis, what is no number (0 times an infinity)
 * is 0 in each source of a union, but in an intersection only in the first one. */
static double with_source(const struct merge *m, size_t source, const struct element *x,
                          bool is_first, double so_far)
{
    double score = score_in(m, source, x);
    if (isnan(score) && (is_first || m->kind == MERGE_UNION)) score = 0;
    return is_first ? score : add_scores(m->scores, so_far, score);
}

static void add(struct merge *m, size_t *cap, struct slice name, double score)
{
    struct arena *arena = m->sources[0].view->arena;
    m->items = arena_grow(arena, m->items, m->item_count, cap, sizeof *m->items);
    m->items[m->item_count++] = (struct element){.name = arena_copy(arena, name), .score = score};
}

static bool is_full(const struct merge *m)
{
    return m->max != 0 && m->item_count >= m->max;
}

/* ---- looking up ---- */

/* The members of one source, each looked up in all others. */
static enum err probe(struct merge *m, size_t from, size_t *cap, struct error *e)
{
    struct walk_range range = {.by_name = true};
    struct element_walk w;
    enum err r = element_walk_begin(&w, &m->sources[from], &range, e);
    while (r == OK && !is_full(m)) {
        struct element x;
        bool is_end = false;
        bool is_kept = true;
        r = element_walk_next(&w, &x, &is_end, e);
        if (r != OK || is_end) break;
        double score = 0;
        for (size_t k = 0; k < m->count && r == OK && is_kept; k++) {
            size_t i = m->order[k];
            struct element other = x;
            bool found = true;
            if (i != from) r = collection_find(&m->sources[i], x.name, &found, &other, e);
            if (m->kind == MERGE_DIFF) {
                is_kept = i == from || !found;
                if (i == from) score = score_in(m, i, &x);
            } else {
                is_kept = found;
                if (found) score = with_source(m, i, &other, k == 0, score);
            }
        }
        if (r == OK && is_kept) add(m, cap, x.name, score);
    }
    element_walk_end(&w);
    return r;
}

/* ---- merging ---- */

static enum err step(struct cursor *c, struct error *e)
{
    return element_walk_next(&c->walk, &c->at, &c->is_end, e);
}

/* The least name that a cursor stands at; NULL: all are at their end. */
static const struct element *least(const struct cursor *cursors, size_t count)
{
    const struct element *x = NULL;
    for (size_t i = 0; i < count; i++) {
        if (cursors[i].is_end) continue;
        if (x == NULL || name_order(cursors[i].at.name, x->name) < 0) x = &cursors[i].at;
    }
    return x;
}

/* One name: what it comes to, and the cursors that stand at it go on. */
static enum err take(struct merge *m, struct cursor *cursors, size_t *cap, struct slice name,
                     struct error *e)
{
    size_t in = 0;
    bool is_in_first = false;
    double score = 0;
    enum err r = OK;
    for (size_t k = 0; k < m->count && r == OK; k++) {
        size_t i = m->order[k];
        struct cursor *c = &cursors[i];
        if (c->is_end || !slice_eq(c->at.name, name)) continue;
        score = with_source(m, i, &c->at, in == 0, score);
        is_in_first = is_in_first || i == 0;
        in++;
        r = step(c, e);
    }
    bool is_kept = m->kind == MERGE_UNION || (m->kind == MERGE_INTER && in == m->count) ||
                   (m->kind == MERGE_DIFF && is_in_first && in == 1);
    if (r == OK && is_kept) add(m, cap, name, score);
    return r;
}

static bool is_over(const struct merge *m, const struct cursor *cursors)
{
    if (is_full(m)) return true;
    if (m->kind == MERGE_DIFF) return cursors[0].is_end;
    for (size_t i = 0; i < m->count && m->kind == MERGE_INTER; i++) {
        if (cursors[i].is_end) return true;
    }
    return false;
}

static enum err walk_all(struct merge *m, size_t *cap, struct error *e)
{
    struct arena *arena = m->sources[0].view->arena;
    struct cursor *cursors = arena_alloc(arena, m->count * sizeof *cursors);
    struct walk_range range = {.by_name = true};
    enum err r = OK;
    memset(cursors, 0, m->count * sizeof *cursors);
    for (size_t i = 0; i < m->count && r == OK; i++) {
        r = element_walk_begin(&cursors[i].walk, &m->sources[i], &range, e);
        if (r == OK) r = step(&cursors[i], e);
    }
    while (r == OK && !is_over(m, cursors)) {
        const struct element *x = least(cursors, m->count);
        if (x == NULL) break;
        r = take(m, cursors, cap, arena_copy(arena, x->name), e);
    }
    for (size_t i = 0; i < m->count; i++) element_walk_end(&cursors[i].walk);
    return r;
}

/* Scores are added from the smallest source on, as in Redis: of fractions the order matters. */
static void order_sources(struct merge *m)
{
    m->order = arena_alloc(m->sources[0].view->arena, m->count * sizeof *m->order);
    for (size_t i = 0; i < m->count; i++) {
        size_t at = i;
        for (; at > 0 && m->kind != MERGE_DIFF; at--) {
            if (m->sources[m->order[at - 1]].head.count <= m->sources[i].head.count) break;
            m->order[at] = m->order[at - 1];
        }
        m->order[at] = i;
    }
}

enum err merge_run(struct merge *m, struct error *e)
{
    uint64_t sum = 0;
    size_t smallest = 0;
    size_t cap = 0;
    m->items = NULL;
    m->item_count = 0;
    order_sources(m);
    for (size_t i = 0; i < m->count; i++) {
        sum += m->sources[i].head.count;
        if (m->sources[i].head.count < m->sources[smallest].head.count) smallest = i;
    }
    if (m->kind == MERGE_DIFF) smallest = 0;
    uint64_t few = m->sources[smallest].head.count;
    if (m->kind != MERGE_UNION && few == 0) return OK;
    bool is_probed = m->kind != MERGE_UNION && few * PROBE_PART * m->count < sum;
    if ((is_probed ? few * m->count : sum) > COLLECTION_ROWS_MAX) {
        return error_set(e, ERR_LIMIT,
                         "the keys together have more elements (%llu) than one command may read "
                         "(%d)",
                         (unsigned long long)sum, COLLECTION_ROWS_MAX);
    }
    return is_probed ? probe(m, smallest, &cap, e) : walk_all(m, &cap, e);
}
