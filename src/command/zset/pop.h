/* pop: taking members off the ends of sorted sets, for commands that wait for them too. */
#ifndef COMMAND_ZSET_POP_H
#define COMMAND_ZSET_POP_H

#include "command/zset/zset_int.h"

/* Takes up to `count` members off the first of the sets that has any. */
struct zset_pops {
    const struct slice *keys;
    size_t key_count;
    bool is_max;
    uint64_t count;
    /* results */
    struct slice key; /* data NULL = all are empty */
    struct element *items;
    size_t popped;
};
ERR_MUST_USE enum err zset_pops_change(struct request *rq, struct view *v, void *arg);

#endif
