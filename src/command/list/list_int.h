/* list_int: what the files of the list commands share. */
#ifndef COMMAND_LIST_LIST_INT_H
#define COMMAND_LIST_LIST_INT_H

#include "collection/list.h"
#include "request/args.h"
#include "request/elements.h"
#include "request/keys.h"
#include "request/shapes.h"
#include "request/table.h"

#define LIST_COMMAND(...) TYPE_COMMAND("list", __VA_ARGS__)

enum list_end { LIST_LEFT, LIST_RIGHT };

/* LEFT or RIGHT. */
extern const struct argument_kind arg_kind_list_end;
#define ARG_LIST_END(in, member, label)                                                            \
    {                                                                                              \
        ARG_ONE(in, member, enum list_end, label, arg_kind_list_end)                               \
    }

/* In a transaction. */
ERR_MUST_USE enum err list_open(struct request *rq, struct view *v, struct slice key,
                                struct collection *c);

/* Takes an element off the one list and puts it on the other, or on the other end of the same one;
 * data NULL: the first is empty. */
struct list_move {
    struct slice from, to;
    enum list_end take, put;
    struct slice moved; /* the result; in the arena */
};
ERR_MUST_USE enum err list_move_change(struct request *rq, struct view *v, void *arg);

/* Takes up to `count` elements off the first of the lists that has any. */
struct list_pops {
    const struct slice *keys;
    size_t key_count;
    enum list_end end;
    uint64_t count;
    /* results */
    struct slice key; /* data NULL = all are empty */
    struct slice *values;
    uint64_t popped;
};
ERR_MUST_USE enum err list_pops_change(struct request *rq, struct view *v, void *arg);

#endif
