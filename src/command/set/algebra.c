/* algebra: several sets at once: SINTER, SUNION, SDIFF, what they store, SINTERCARD. */
#include "collection/merge.h"
#include "command/set/set_int.h"

struct algebra {
    struct slice to; /* of those that store */
    struct slices keys;
    int64_t max; /* of SINTERCARD; 0 = any */
    enum merge_kind kind;
    struct merge merge; /* the result */
};
#define ALGEBRA_ARGUMENTS(id, what)                                                                \
    ARGUMENTS(id##_arguments, struct algebra, "key [key ...]",                                     \
              ARG_KEYS(struct algebra, keys, "key", KEY_RO | KEY_ACCESS),                          \
              ARG_FIXED(struct algebra, kind, what));                                              \
    ARGUMENTS(id##store_arguments, struct algebra, "destination key [key ...]",                    \
              ARG_KEY(struct algebra, to, "destination", KEY_OW | KEY_UPDATE),                     \
              ARG_KEYS(struct algebra, keys, "key", KEY_RO | KEY_ACCESS),                          \
              ARG_FIXED(struct algebra, kind, what))
ALGEBRA_ARGUMENTS(sinter, MERGE_INTER);
ALGEBRA_ARGUMENTS(sunion, MERGE_UNION);
ALGEBRA_ARGUMENTS(sdiff, MERGE_DIFF);
ARGUMENTS(sintercard_arguments, struct algebra, "numkeys key [key ...] [LIMIT limit]",
          ARG_COUNT_ALWAYS("numkeys", 1, INT64_MAX, "numkeys should be greater than 0",
                           "Number of keys can't be greater than number of args"),
          ARG_KEYS(struct algebra, keys, "key", KEY_RO | KEY_ACCESS),
          ARG_INTEGER_OR(struct algebra, max, "LIMIT", 0, INT64_MAX, 0, "LIMIT can't be negative"),
          ARG_FIXED(struct algebra, kind, MERGE_INTER));

static enum err merge_sets(struct request *rq, struct view *v, struct algebra *a)
{
    struct merge *m = &a->merge;
    enum err r = OK;
    *m = (struct merge){.kind = a->kind, .count = a->keys.count, .max = (uint64_t)a->max};
    m->sources = arena_alloc(rq->arena, m->count * sizeof *m->sources);
    for (size_t i = 0; i < m->count && r == OK; i++) {
        r = set_open(rq, v, a->keys.items[i], &m->sources[i]);
    }
    return r == OK ? merge_run(m, &rq->error) : r;
}

static enum err read_merged(struct request *rq, struct algebra *a)
{
    struct view *v = elements_view(rq);
    enum err r = merge_sets(rq, v, a);
    elements_read(rq, v);
    if (r == OK) rq->env->stats.reads++;
    return r;
}

static enum err algebra_run(struct request *rq)
{
    struct algebra *a = rq->bound;
    enum err r = read_merged(rq, a);
    if (r != OK) return r;
    resp_set(rq->w, a->merge.item_count);
    for (size_t i = 0; i < a->merge.item_count; i++) resp_bulk(rq->w, a->merge.items[i].name);
    return OK;
}
SET_COMMAND(sinter, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
            "The members that all of several sets have.", sinter_arguments,
            "The members; in RESP3 a set.", algebra_run);
SET_COMMAND(sunion, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
            "The members that any of several sets has.", sunion_arguments,
            "The members; in RESP3 a set.", algebra_run);
SET_COMMAND(sdiff, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
            "The members of the first set that no other has.", sdiff_arguments,
            "The members; in RESP3 a set.", algebra_run);

static enum err sintercard_run(struct request *rq)
{
    struct algebra *a = rq->bound;
    enum err r = read_merged(rq, a);
    if (r == OK) resp_int(rq->w, (int64_t)a->merge.item_count);
    return r;
}
SET_COMMAND(sintercard, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
            "How many members all of several sets have.", sintercard_arguments,
            "The number, at most that of `LIMIT` if it is not 0.", sintercard_run);

/* ---- stored ---- */

static enum err store_change(struct request *rq, struct view *v, void *arg)
{
    struct algebra *a = arg;
    struct collection to;
    enum err r = merge_sets(rq, v, a);
    if (r != OK) return r;
    collection_begin(rq->env->db->collections, v, a->to, COLLECTION_SET, &to);
    for (size_t i = 0; i < a->merge.item_count && r == OK; i++) {
        bool was_there = false;
        r = collection_put(&to, &a->merge.items[i], &was_there, NULL, &rq->error);
    }
    return r == OK ? collection_replace(&to, &rq->error) : r;
}

static enum err store_run(struct request *rq)
{
    struct algebra *a = rq->bound;
    enum err r = elements_commit(rq, store_change, a);
    if (r == OK) resp_int(rq->w, (int64_t)a->merge.item_count);
    return r;
}
SET_COMMAND(sinterstore, CMD_WRITE, 0,
            "Stores what SINTER tells at a key, in place of whatever is there.",
            sinterstore_arguments, "How many members are stored.", store_run);
SET_COMMAND(sunionstore, CMD_WRITE, 0,
            "Stores what SUNION tells at a key, in place of whatever is there.",
            sunionstore_arguments, "How many members are stored.", store_run);
SET_COMMAND(sdiffstore, CMD_WRITE, 0,
            "Stores what SDIFF tells at a key, in place of whatever is there.",
            sdiffstore_arguments, "How many members are stored.", store_run);
