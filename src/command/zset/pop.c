/* pop: ZPOPMIN, ZPOPMAX, ZMPOP: taking the members with the lowest or highest scores. */
#include "command/zset/pop.h"

enum err zset_pops_change(struct request *rq, struct view *v, void *arg)
{
    struct zset_pops *a = arg;
    enum err r = OK;
    a->key = slice_of(NULL, 0);
    a->popped = 0;
    for (size_t i = 0; i < a->key_count && r == OK; i++) {
        struct collection c;
        r = zset_open(rq, v, a->keys[i], &c);
        if (r != OK) return r;
        if (!c.exists) continue;
        a->key = a->keys[i];
        uint64_t count = a->count < c.head.count ? a->count : c.head.count;
        if (count == 0) return OK;
        struct sorted_range range = {
            .by = BY_RANK, .is_reverse = a->is_max, .stop = (int64_t)count - 1, .limit = -1};
        r = sorted_gather(&c, &range, &a->items, &a->popped, &rq->error);
        for (size_t k = 0; k < a->popped && r == OK; k++) {
            bool was_there = false;
            r = collection_remove(&c, a->items[k].name, &was_there, NULL, &rq->error);
        }
        return r == OK ? elements_save_as(rq, &c, a->is_max ? "zpopmax" : "zpopmin") : r;
    }
    return r;
}

struct zpop {
    struct slice key;
    int64_t count; /* -1 = not given */
};
ARGUMENTS(zpop_arguments, struct zpop, "key [count]", ARG_KEY(struct zpop, key, "key", 0),
          ARG_INTEGER_OR(struct zpop, count, "count", 0, INT64_MAX, -1,
                         "value is out of range, must be positive"));

static enum err zpop(struct request *rq, bool is_max)
{
    const struct zpop *a = rq->bound;
    bool is_one = a->count < 0;
    struct zset_pops p = {.keys = &a->key,
                          .key_count = 1,
                          .is_max = is_max,
                          .count = is_one ? 1 : (uint64_t)a->count};
    enum err r = elements_commit(rq, zset_pops_change, &p);
    if (r != OK) return r;
    if (!is_one || p.popped == 0) {
        zset_reply(rq->w, p.items, p.popped, true);
    } else {
        resp_array(rq->w, 2);
        resp_bulk(rq->w, p.items[0].name);
        reply_score(rq->w, p.items[0].score);
    }
    return OK;
}

static enum err zpopmin_run(struct request *rq)
{
    return zpop(rq, false);
}
ZSET_COMMAND(zpopmin, CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_DELETE,
             "Removes and returns the members with the lowest scores.", zpop_arguments,
             "The members, each with its score.", zpopmin_run);

static enum err zpopmax_run(struct request *rq)
{
    return zpop(rq, true);
}
ZSET_COMMAND(zpopmax, CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_DELETE,
             "Removes and returns the members with the highest scores.", zpop_arguments,
             "The members, each with its score.", zpopmax_run);
