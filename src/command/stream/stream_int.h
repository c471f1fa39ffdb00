/* stream_int: what the files of the stream commands share. */
#ifndef COMMAND_STREAM_STREAM_INT_H
#define COMMAND_STREAM_STREAM_INT_H

#include "collection/group.h"
#include "collection/stream.h"
#include "request/args.h"
#include "request/elements.h"
#include "request/keys.h"
#include "request/shapes.h"
#include "request/table.h"

#define STREAM_COMMAND(...) TYPE_COMMAND("stream", __VA_ARGS__)

/* ---- words ---- */

/* An id, or -, or +, or ( and an id: the first or the last of a range, whose id it becomes. */
extern const struct argument_kind arg_kind_stream_start, arg_kind_stream_end;
#define ARG_STREAM_START(in, member, label)                                                        \
    {                                                                                              \
        ARG_ONE(in, member, struct stream_id, label, arg_kind_stream_start)                        \
    }
#define ARG_STREAM_END(in, member, label)                                                          \
    {                                                                                              \
        ARG_ONE(in, member, struct stream_id, label, arg_kind_stream_end)                          \
    }

struct stream_ids {
    struct stream_id *items;
    size_t count;
};

/* ---- replies ---- */

/* The error of a group that is not there: in the words of commands that do not say whether the key
 * is, and of those that know it is. */
ERR_MUST_USE enum err stream_no_group(struct request *rq, struct slice key, struct slice group);
ERR_MUST_USE enum err stream_no_such_group(struct request *rq, struct slice key,
                                           struct slice group);
/* The name of a key, as the client sees it. */
void stream_reply_key(struct request *rq, struct slice key);

/* ---- in a transaction ---- */

ERR_MUST_USE enum err stream_open(struct request *rq, struct view *v, struct slice key,
                                  struct collection *c);
/* ERR_NOGROUP: there is no such key, or no such group. */
ERR_MUST_USE enum err stream_open_group(struct request *rq, struct view *v, struct slice key,
                                        struct slice name, struct collection *c,
                                        struct stream_group *g);
/* One that is pending is so no longer, and ++*count; the group is to be saved. */
ERR_MUST_USE enum err stream_acknowledge(struct request *rq, struct collection *c,
                                         struct stream_group *g, struct stream_id id,
                                         int64_t *count);
/* Some entries, in the order of their ids. */
struct stream_entry {
    struct stream_id id;
    struct slice fields;
};
struct stream_page {
    struct stream_id from, to; /* both included */
    uint64_t max;              /* 0 = any number */
    /* results, in the arena */
    struct stream_entry *items;
    size_t count;
};
/* ERR_LIMIT: more than are read in one turn. */
ERR_MUST_USE enum err stream_read(struct request *rq, struct collection *c, struct stream_page *p);

#endif
