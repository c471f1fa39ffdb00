/* algebra: several sorted sets at once, plain sets among them: ZUNION, ZINTER, ZDIFF, what they
 * store, ZINTERCARD. */
#include "command/zset/zset_int.h"
#include "request/elements_merge.h"

static enum err check_algebra(struct request *rq, void *bound)
{
    const struct elements_merge *a = bound;
    if (a->weights.count == 0 || a->weights.count == a->keys.count) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "syntax error");
}

#define ARG_NUMKEYS                                                                                \
    ARG_COUNT_OR("numkeys", 1, INT64_MAX, "at least 1 input key is needed for '{}' command",       \
                 "syntax error")
#define ARG_SOURCES ARG_KEYS(struct elements_merge, keys, "key", KEY_RO | KEY_ACCESS)
#define ARG_DESTINATION ARG_KEY(struct elements_merge, to, "destination", KEY_OW | KEY_UPDATE)
#define ARG_WEIGHTS                                                                                \
    {                                                                                              \
        ARG_MANY(struct elements_merge, weights, double, "WEIGHTS", arg_kind_score),               \
            .wrong = "weight value is not a float"                                                 \
    }
#define ARG_AGGREGATE                                                                              \
    ARG_CHOICE(struct elements_merge, aggregate, {"SUM", SCORES_SUM}, {"MIN", SCORES_MIN},         \
               {"MAX", SCORES_MAX})
#define ARG_SCORES ARG_FLAG(struct elements_merge, with_scores, "WITHSCORES")
#define ALGEBRA_ARGUMENTS(id, what, text, ...)                                                     \
    ARGUMENTS_WITH(id, struct elements_merge, text, WITH(.check = check_algebra), __VA_ARGS__,     \
                   ARG_NUMKEYS, ARG_SOURCES, ARG_FIXED(struct elements_merge, kind, what))
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
                  ARG_INTEGER_OR(struct elements_merge, max, "LIMIT", 0, INT64_MAX, 0,
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

static const struct elements_merge_of sorted_sets = {
    .kind = COLLECTION_ZSET, .open = open_source, .order = by_score};

static enum err algebra_run(struct request *rq)
{
    const struct elements_merge *a = rq->bound;
    enum err r = elements_merge_read(rq, &sorted_sets);
    if (r == OK) zset_reply(rq->w, a->merge.items, a->merge.item_count, a->with_scores);
    return r;
}
#define ALGEBRA_COMMAND(id, text)                                                                  \
    ZSET_COMMAND(id, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS, text, id##_arguments,           \
                 "The members, ordered by score; with `WITHSCORES` each with its score.",          \
                 algebra_run)
ALGEBRA_COMMAND(zunion, "Returns the members that are in any of several sorted sets.");
ALGEBRA_COMMAND(zinter, "Returns the members that are in all of several sorted sets.");
ALGEBRA_COMMAND(zdiff, "Returns the members of the first sorted set that are in no other.");

static enum err zintercard_run(struct request *rq)
{
    return elements_merge_count(rq, &sorted_sets);
}
ZSET_COMMAND(zintercard, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Returns the number of members that are in all of several sorted sets.",
             zintercard_arguments, "The number, at most `LIMIT` if that is not 0.", zintercard_run);

/* ---- stored ---- */

static enum err store_run(struct request *rq)
{
    return elements_merge_store(rq, &sorted_sets);
}
ZSET_COMMAND(zunionstore, CMD_WRITE, 0,
             "Stores the result of ZUNION in a key and replaces its value.", zunionstore_arguments,
             "The number of members stored.", store_run);
ZSET_COMMAND(zinterstore, CMD_WRITE, 0,
             "Stores the result of ZINTER in a key and replaces its value.", zinterstore_arguments,
             "The number of members stored.", store_run);
ZSET_COMMAND(zdiffstore, CMD_WRITE, 0,
             "Stores the result of ZDIFF in a key and replaces its value.", zdiffstore_arguments,
             "The number of members stored.", store_run);
