/* search: the members of a geo set in a circle or a box: finding them, their order, replies,
 * storing them. All of it happens in one turn of the loop, at one moment, so a search looks at
 * COLLECTION_ROWS_MAX members at most: those of the cells around its area (codec/geo.h), also where
 * they are outside of it. With COUNT and ANY it ends when there are enough.
 */
#include <stdlib.h>

#include "command/geo/geo_int.h"

/* ---- finding ---- */

struct finding {
    struct request *rq;
    struct geo_search *a;
    struct geo_area area;
    size_t cap;      /* of a->items */
    uint64_t passed; /* members that were looked at */
    uint64_t bytes;  /* of those that were found */
    size_t work;     /* what may be passed that is gone, as struct walk_range has it */
};

static bool is_enough(const struct geo_search *a)
{
    return a->is_any && a->found == (uint64_t)a->count;
}

static enum err count_passed(struct finding *x)
{
    if (x->passed++ < COLLECTION_ROWS_MAX) return OK;
    return error_set(
        &x->rq->error, ERR_LIMIT,
        "the cells around the area have more than %d members; search a smaller area, or "
        "with COUNT and ANY",
        COLLECTION_ROWS_MAX);
}

static enum err keep(struct finding *x, const struct element *e, double distance,
                     struct geo_point at)
{
    struct geo_search *a = x->a;
    struct arena *arena = x->rq->arena;
    uint64_t bytes_max = engine_limits(x->rq->env->db->engine)->txn_bytes_max;
    x->bytes += e->name.len;
    if (x->bytes > bytes_max) {
        return error_set(&x->rq->error, ERR_LIMIT,
                         "the members together exceed max-transaction-size (%llu)",
                         (unsigned long long)bytes_max);
    }
    a->items = arena_grow(arena, a->items, a->found, &x->cap, sizeof *a->items);
    a->items[a->found] = (struct geo_found){.member = arena_copy(arena, e->name),
                                            .score = e->score,
                                            .distance = distance,
                                            .at = at,
                                            .place = a->found};
    a->found++;
    return OK;
}

static enum err find_in(struct finding *x, struct collection *c, const struct geo_range *range)
{
    struct sorted_range scores = {
        .by = BY_SCORE, .min = range->min, .max = range->max, .max_is_open = true, .limit = -1};
    struct walk_range rows = {.work_left = &x->work};
    struct element_walk walk = {0};
    struct error *error = &x->rq->error;
    enum err r = sorted_walk(c, &scores, &rows, error);
    bool is_end = rows.is_empty;
    if (r == OK && !is_end) r = element_walk_begin(&walk, c, &rows, error);
    while (r == OK && !is_end && !is_enough(x->a)) {
        struct element e;
        double distance = 0;
        r = element_walk_next(&walk, &e, &is_end, error);
        if (r == OK && !is_end) r = count_passed(x);
        if (r != OK || is_end) break;
        struct geo_point at = geo_point_of(e.score);
        if (geo_area_has(&x->area, at, &distance)) r = keep(x, &e, distance, at);
    }
    element_walk_end(&walk);
    return r;
}

static enum err find_center(struct request *rq, const struct geo_search *a, struct collection *c,
                            struct geo_point *center)
{
    struct element x = {.score = 0};
    bool found = false;
    *center = a->point;
    if (a->member.data == NULL) return OK;
    enum err r = collection_find(c, a->member, &found, &x, &rq->error);
    if (r == OK && !found) {
        return error_set(&rq->error, ERR_SYNTAX, "could not decode requested zset member");
    }
    *center = geo_point_of(x.score);
    return r;
}

/* ---- order ---- */

static int by_distance(const void *one, const void *other)
{
    const struct geo_found *a = one;
    const struct geo_found *b = other;
    if (a->distance != b->distance) return a->distance < b->distance ? -1 : 1;
    return a->place < b->place ? -1 : 1;
}

static int by_distance_down(const void *one, const void *other)
{
    const struct geo_found *a = one;
    const struct geo_found *b = other;
    if (a->distance != b->distance) return a->distance < b->distance ? 1 : -1;
    return a->place < b->place ? -1 : 1;
}

/* Of COUNT alone the nearest are meant. */
static void put_in_order(struct geo_search *a)
{
    bool is_nearest = a->count > 0 && !a->is_any;
    int order = a->order == ORDER_NONE && is_nearest ? ORDER_NEAREST : a->order;
    if (order != ORDER_NONE && a->found > 1) {
        qsort(a->items, a->found, sizeof *a->items,
              order == ORDER_NEAREST ? by_distance : by_distance_down);
    }
    if (a->count > 0 && (uint64_t)a->count < a->found) a->found = (size_t)a->count;
}

static enum err search(struct request *rq, struct view *v, struct geo_search *a)
{
    struct finding x = {.rq = rq, .a = a, .area = a->area, .work = ELEMENTS_WORK_MAX};
    struct collection c;
    struct geo_range ranges[GEO_RANGES_MAX];
    a->items = NULL;
    a->found = 0;
    enum err r = collection_open(rq->env->db->collections, v, a->key, COLLECTION_ZSET, &c,
                                 &rq->error);
    if (r != OK || !c.exists) return r;
    r = find_center(rq, a, &c, &x.area.center);
    if (r != OK) return r;
    size_t count = geo_area_ranges(&x.area, ranges);
    for (size_t i = 0; i < count && r == OK && !is_enough(a); i++) r = find_in(&x, &c, &ranges[i]);
    if (r == OK) put_in_order(a);
    return r;
}

/* ---- replies ---- */

static void reply_found(struct resp_writer *w, const struct geo_search *a,
                        const struct geo_found *x)
{
    size_t more = (size_t)a->with_distance + (size_t)a->with_hash + (size_t)a->with_coordinates;
    if (more > 0) resp_array(w, 1 + more);
    resp_bulk(w, x->member);
    if (a->with_distance) geo_reply_distance(w, x->distance / a->area.unit);
    if (a->with_hash) resp_int(w, (int64_t)x->score);
    if (a->with_coordinates) geo_reply_point(w, x->at);
}

enum err geo_search_run(struct request *rq)
{
    struct geo_search *a = rq->bound;
    struct view *v = elements_view(rq);
    enum err r = search(rq, v, a);
    elements_read(rq, v);
    if (r != OK) return r;
    rq->env->stats.reads++;
    resp_array(rq->w, a->found);
    for (size_t i = 0; i < a->found; i++) reply_found(rq->w, a, &a->items[i]);
    return OK;
}

/* ---- stored ---- */

static enum err store_change(struct request *rq, struct view *v, void *arg)
{
    struct geo_search *a = arg;
    struct collection to;
    bool is_by_distance = a->is_by_distance || a->to_distances.data != NULL;
    struct slice key = a->to.data != NULL ? a->to : a->to_distances;
    enum err r = search(rq, v, a);
    if (r != OK) return r;
    collection_begin(rq->env->db->collections, v, key, COLLECTION_ZSET, &to);
    for (size_t i = 0; i < a->found && r == OK; i++) {
        const struct geo_found *f = &a->items[i];
        struct element x = {.name = f->member,
                            .score = is_by_distance ? f->distance / a->area.unit : f->score};
        bool was_there = false;
        r = collection_put(&to, &x, &was_there, NULL, &rq->error);
    }
    return r == OK ? collection_replace(&to, &rq->error) : r;
}

enum err geo_search_or_store_run(struct request *rq)
{
    struct geo_search *a = rq->bound;
    if (a->to.data == NULL && a->to_distances.data == NULL) return geo_search_run(rq);
    enum err r = elements_commit(rq, store_change, a);
    if (r == OK) resp_int(rq->w, (int64_t)a->found);
    return r;
}
