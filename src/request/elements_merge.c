/* elements_merge: see elements_merge.h. */
#include "request/elements_merge.h"

#include <stdlib.h>

static enum err merge_sources(struct request *rq, struct view *v, struct elements_merge *a)
{
    struct merge *m = &a->merge;
    enum err r = OK;
    *m = (struct merge){.kind = a->kind,
                        .count = a->keys.count,
                        .weights = a->weights.count > 0 ? a->weights.items : NULL,
                        .scores = (enum merge_scores)a->aggregate,
                        .max = (uint64_t)a->max};
    m->sources = arena_alloc(rq->arena, m->count * sizeof *m->sources);
    for (size_t i = 0; i < m->count && r == OK; i++) {
        r = a->of->open(rq, v, a->keys.items[i], &m->sources[i]);
    }
    if (r == OK) r = merge_run(m, &rq->error);
    if (r == OK && a->of->order != NULL && m->item_count > 1) {
        qsort(m->items, m->item_count, sizeof *m->items, a->of->order);
    }
    return r;
}

enum err elements_merge_read(struct request *rq, const struct elements_merge_of *of)
{
    struct elements_merge *a = rq->bound;
    struct view *v = elements_view(rq);
    a->of = of;
    enum err r = merge_sources(rq, v, a);
    elements_read(rq, v);
    if (r == OK) rq->env->stats.reads++;
    return r;
}

enum err elements_merge_count(struct request *rq, const struct elements_merge_of *of)
{
    const struct elements_merge *a = rq->bound;
    enum err r = elements_merge_read(rq, of);
    if (r == OK) resp_int(rq->w, (int64_t)a->merge.item_count);
    return r;
}

static enum err store_change(struct request *rq, struct view *v, void *arg)
{
    struct elements_merge *a = arg;
    struct collection to;
    enum err r = merge_sources(rq, v, a);
    if (r != OK) return r;
    collection_begin(rq->env->db->collections, v, a->to, a->of->kind, &to);
    for (size_t i = 0; i < a->merge.item_count && r == OK; i++) {
        bool was_there = false;
        r = collection_put(&to, &a->merge.items[i], &was_there, NULL, &rq->error);
    }
    return r == OK ? collection_replace(&to, &rq->error) : r;
}

enum err elements_merge_store(struct request *rq, const struct elements_merge_of *of)
{
    struct elements_merge *a = rq->bound;
    a->of = of;
    enum err r = elements_commit(rq, store_change, a);
    if (r == OK) resp_int(rq->w, (int64_t)a->merge.item_count);
    return r;
}
