/* set_int: what the files of the set commands share. */
#ifndef COMMAND_SET_SET_INT_H
#define COMMAND_SET_SET_INT_H

#include "request/args.h"
#include "request/elements.h"
#include "request/keys.h"
#include "request/shapes.h"
#include "request/table.h"

#define SET_COMMAND(...) TYPE_COMMAND("set", __VA_ARGS__)

struct key_members {
    struct slice key;
    struct slices members;
    int64_t count; /* a result */
};

/* In a transaction. */
ERR_MUST_USE enum err set_open(struct request *rq, struct view *v, struct slice key,
                               struct collection *c);

#endif
