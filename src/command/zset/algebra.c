/* algebra: several sorted sets at once, plain sets among them: ZUNION, ZINTER, ZDIFF, what they
 * store, ZINTERCARD. */
#include <stdlib.h>

#include "collection/merge.h"
#include "command/zset/zset_int.h"

struct algebra {
    struct slice to; /* of those that store */
    struct slices keys;
    struct {
        double *items;
        size_t count;
    } weights;
    int64_t max;   /* of ZINTERCARD; 0 = any */
    int aggregate; /* enum merge_scores */
    bool with_scores;
    enum merge_kind kind;
    struct merge merge; /* the result */
};

static enum err check_algebra(struct request *rq, void *bound)
{
    const struct algebra *a = bound;
    if (a->weights.count == 0 || a->weights.count == a->keys.count) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "syntax error");
}

#define ARG_NUMKEYS                                                                                \
    ARG_COUNT_OR("numkeys", 1, INT64_MAX, "at least 1 input key is needed for '{}' command",       \
                 "syntax error")
#define ARG_SOURCES ARG_KEYS(struct algebra, keys, "key", KEY_RO | KEY_ACCESS)
#define ARG_DESTINATION ARG_KEY(struct algebra, to, "destination", KEY_OW | KEY_UPDATE)
#define ARG_WEIGHTS                                                                                \
    {                                                                                              \
        ARG_MANY(struct algebra, weights, double, "WEIGHTS", arg_kind_score),                      \
            .wrong = "weight value is not a float"                                                 \
    }
#define ARG_AGGREGATE                                                                              \
    ARG_CHOICE(struct algebra, aggregate, {"SUM", SCORES_SUM}, {"MIN", SCORES_MIN},                \
               {"MAX", SCORES_MAX})
#define ARG_SCORES ARG_FLAG(struct algebra, with_scores, "WITHSCORES")
#define ALGEBRA_ARGUMENTS(id, what, text, ...)                                                     \
    ARGUMENTS_WITH(id, struct algebra, text, WITH(.check = check_algebra), __VA_ARGS__,            \
                   ARG_NUMKEYS, ARG_SOURCES, ARG_FIXED(struct algebra, kind, what))
#define WEIGHTED "numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX>]"

ALGEBRA_ARGUMENTS(zunion_arguments, MERGE_UNION, WEIGHTED " [WITHSCORES]", ARG_WEIGHTS,
                  ARG_AGGREGATE, ARG_SCORES);
ALGEBRA_ARGUMENTS(zinter_arguments, MERGE_INTER, WEIGHTED " [WITHSCORES]", ARG_WEIGHTS,
                  ARG_AGGREGATE, ARG_SCORES);
ALGEBRA_ARGUMENTS(zdiff_arguments, MERGE_DIFF, "numkeys key [key ...] [WITHSCORES]", ARG_SCORES);
ALGEBRA_ARGUMENTS(zunionstore_arguments, MERGE_UNION, "destination " WEIGHTED, ARG_DESTINATION,
                  ARG_WEIGHTS, ARG_AGGREGATE);
ALGEBRA_ARGUMENTS(zinterstore_arguments, MERGE_INTER, "destination " WEIGHTED, ARG_DESTINATION,
                  ARG_WEIGHTS, ARG_AGGREGATE);
ALGEBRA_ARGUMENTS(zdiffstore_arguments, MERGE_DIFF, "destination numkeys key [key ...]",
                  ARG_DESTINATION);
ALGEBRA_ARGUMENTS(zintercard_arguments, MERGE_INTER, "numkeys key [key ...] [LIMIT limit]",
                  ARG_INTEGER_OR(struct algebra, max, "LIMIT", 0, INT64_MAX, 0,
                                 "LIMIT can't be negative"));

/* A sorted set, or a set, in which every member has the score 1. */
static enum err open_source(struct request *rq, struct view *v, struct slice key,
                            struct collection *c)
{
    bool is_one = false;
    struct entry entry;
    enum err r = collection_look(rq->env->db->collections, v, key, c, &is_one, &rq->error);
    if (r != OK) return r;
    bool is_good = is_one && (c->head.kind == COLLECTION_ZSET || c->head.kind == COLLECTION_SET);
    if (is_good) return OK;
    collection_begin(rq->env->db->collections, v, key, COLLECTION_ZSET, c);
    r = view_get(v, key, &entry, &rq->error);
    return r == OK && entry.exists ? string_wrong_type(&rq->error) : r;
}

static int by_score(const void *a, const void *b)
{
    const struct element *x = a;
    const struct element *y = b;
    if (x->score != y->score) return x->score < y->score ? -1 : 1;
    return name_order(x->name, y->name);
}

static enum err merge_sets(struct request *rq, struct view *v, struct algebra *a)
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
        r = open_source(rq, v, a->keys.items[i], &m->sources[i]);
    }
    if (r == OK) r = merge_run(m, &rq->error);
    if (r == OK && m->item_count > 1) qsort(m->items, m->item_count, sizeof *m->items, by_score);
    return r;
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
    if (r == OK) zset_reply(rq->w, a->merge.items, a->merge.item_count, a->with_scores);
    return r;
}
#define ALGEBRA_COMMAND(id, text)                                                                  \
    ZSET_COMMAND(id, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS, text, id##_arguments,           \
                 "The members, by score; with `WITHSCORES` each with its score.", algebra_run)
ALGEBRA_COMMAND(zunion, "The members that any of several sorted sets has.");
ALGEBRA_COMMAND(zinter, "The members that all of several sorted sets have.");
ALGEBRA_COMMAND(zdiff, "The members of the first sorted set that no other has.");

static enum err zintercard_run(struct request *rq)
{
    struct algebra *a = rq->bound;
    enum err r = read_merged(rq, a);
    if (r == OK) resp_int(rq->w, (int64_t)a->merge.item_count);
    return r;
}
ZSET_COMMAND(zintercard, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "How many members all of several sorted sets have.", zintercard_arguments,
             "The number, at most that of `LIMIT` if it is not 0.", zintercard_run);

/* ---- stored ---- */

static enum err store_change(struct request *rq, struct view *v, void *arg)
{
    struct algebra *a = arg;
    struct collection to;
    enum err r = merge_sets(rq, v, a);
    if (r != OK) return r;
    collection_begin(rq->env->db->collections, v, a->to, COLLECTION_ZSET, &to);
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
ZSET_COMMAND(zunionstore, CMD_WRITE, 0,
             "Stores what ZUNION tells at a key, in place of whatever is there.",
             zunionstore_arguments, "How many members are stored.", store_run);
ZSET_COMMAND(zinterstore, CMD_WRITE, 0,
             "Stores what ZINTER tells at a key, in place of whatever is there.",
             zinterstore_arguments, "How many members are stored.", store_run);
ZSET_COMMAND(zdiffstore, CMD_WRITE, 0,
             "Stores what ZDIFF tells at a key, in place of whatever is there.",
             zdiffstore_arguments, "How many members are stored.", store_run);
