/* algebra: several sets at once: SINTER, SUNION, SDIFF, what they store, SINTERCARD. */
#include "command/set/set_int.h"
#include "request/elements_merge.h"

#define ALGEBRA_ARGUMENTS(id, what)                                                                \
    ARGUMENTS(id##_arguments, struct elements_merge, "key [key ...]",                              \
              ARG_KEYS(struct elements_merge, keys, "key", KEY_RO | KEY_ACCESS),                   \
              ARG_FIXED(struct elements_merge, kind, what));                                       \
    ARGUMENTS(id##store_arguments, struct elements_merge, "destination key [key ...]",             \
              ARG_KEY(struct elements_merge, to, "destination", KEY_OW | KEY_UPDATE),              \
              ARG_KEYS(struct elements_merge, keys, "key", KEY_RO | KEY_ACCESS),                   \
              ARG_FIXED(struct elements_merge, kind, what))
ALGEBRA_ARGUMENTS(sinter, MERGE_INTER);
ALGEBRA_ARGUMENTS(sunion, MERGE_UNION);
ALGEBRA_ARGUMENTS(sdiff, MERGE_DIFF);
ARGUMENTS(sintercard_arguments, struct elements_merge, "numkeys key [key ...] [LIMIT limit]",
          ARG_COUNT_ALWAYS("numkeys", 1, INT64_MAX, "numkeys should be greater than 0",
                           "Number of keys can't be greater than number of args"),
          ARG_KEYS(struct elements_merge, keys, "key", KEY_RO | KEY_ACCESS),
          ARG_INTEGER_OR(struct elements_merge, max, "LIMIT", 0, INT64_MAX, 0,
                         "LIMIT can't be negative"),
          ARG_FIXED(struct elements_merge, kind, MERGE_INTER));

static const struct elements_merge_of sets = {.kind = COLLECTION_SET, .open = set_open};

static enum err algebra_run(struct request *rq)
{
    const struct elements_merge *a = rq->bound;
    enum err r = elements_merge_read(rq, &sets);
    if (r != OK) return r;
    resp_set(rq->w, a->merge.item_count);
    for (size_t i = 0; i < a->merge.item_count; i++) resp_bulk(rq->w, a->merge.items[i].name);
    return OK;
}
SET_COMMAND(sinter, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
            "Returns the members that are in all of several sets.", sinter_arguments,
            "The members; in RESP3 a set.", algebra_run);
SET_COMMAND(sunion, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
            "Returns the members that are in any of several sets.", sunion_arguments,
            "The members; in RESP3 a set.", algebra_run);
SET_COMMAND(sdiff, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
            "Returns the members of the first set that are in no other.", sdiff_arguments,
            "The members; in RESP3 a set.", algebra_run);

static enum err sintercard_run(struct request *rq)
{
    return elements_merge_count(rq, &sets);
}
SET_COMMAND(sintercard, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
            "Returns the number of members that are in all of several sets.", sintercard_arguments,
            "The number, at most `LIMIT` if that is not 0.", sintercard_run);

/* ---- stored ---- */

static enum err store_run(struct request *rq)
{
    return elements_merge_store(rq, &sets);
}
SET_COMMAND(sinterstore, CMD_WRITE, 0,
            "Stores the result of SINTER in a key and replaces its value.", sinterstore_arguments,
            "The number of members stored.", store_run);
SET_COMMAND(sunionstore, CMD_WRITE, 0,
            "Stores the result of SUNION in a key and replaces its value.", sunionstore_arguments,
            "The number of members stored.", store_run);
SET_COMMAND(sdiffstore, CMD_WRITE, 0, "Stores the result of SDIFF in a key and replaces its value.",
            sdiffstore_arguments, "The number of members stored.", store_run);
