/* lines: clients that wait for a list or a sorted set to have an element: BLPOP and its like. At
 * each key they stand in a line; who came first is served first, right after the command that put
 * the element there, before any other command of any client is run.
 *
 *   lines_run: it finds something -----------------------------> its reply
 *      |
 *      | nothing is there
 *      v
 *   WAITING --a commit leaves such a collection there--> due
 *      |                                                  |
 *      |                                                  `--lines_serve--> SERVED --> its reply
 *      |                                                                 (when it is run again)
 *      `--its time is over, CLIENT UNBLOCK, the client goes--> it leaves its lines
 *
 * What is taken for a waiting client is committed in its name by lines_serve; its reply is kept
 * until its command is run again, and depends on that commit. If the client is gone by then the
 * element is lost, as in Redis: KV.DEQUEUE is what loses none.
 *
 * Within MULTI, and in scripts, such a command does not wait: it answers that there is nothing.
 */
#ifndef REQUEST_LINES_H
#define REQUEST_LINES_H

#include "codec/collection.h"
#include "request/arguments.h"

struct line_command {
    /* Takes what the command is for from the first of the keys that has something, in a
     * transaction, and writes the reply. *is_done false: nothing is there, and nothing was
     * written. */
    enum err (*attempt)(struct request *rq, const struct line_command *x, bool *is_done);
    struct slices keys;        /* internal: it waits for these */
    enum collection_kind kind; /* to be one that has elements */
    struct slice to;           /* of `attempt`: the key that it puts the element at; may be empty */
    unsigned how[2];           /* of `attempt`: whatever it means there */
    uint64_t count;            /* likewise */
    struct slices with; /* of `attempt`: what belongs to each of the keys; none: nothing does */
    struct slices more; /* likewise: words of any meaning */
    bool ends_with_key; /* it is attempted also when the key is gone, or holds something else */
    int64_t timeout_ms; /* 0 = for ever */
    bool is_one;        /* its reply is one element: so is its nil, where it cannot wait */
};

/* Attempts, and waits. ERR_WAIT: to be called again. The reply when its time is over: nil. */
ERR_MUST_USE enum err lines_run(struct request *rq, const struct line_command *x);
/* Those for whom something came. After each command, and at the end of a turn. */
void lines_serve(struct env *env);
/* Are there some left for whom something may have come? They are served before others' commands. */
bool lines_are_due(const struct env *env);
/* For INFO: clients in a line, keys that there is a line at, and those of them where a wait ends
 * with the key. */
struct lines_counts {
    uint64_t clients, keys, keys_that_end;
};
struct lines_counts lines_counts(const struct env *env);

/* Seconds to wait, which may have a fraction; 0 = for ever. The member is in ms. */
extern const struct argument_kind arg_kind_seconds;
#define ARG_SECONDS(in, member, label)                                                             \
    {                                                                                              \
        ARG_ONE(in, member, int64_t, label, arg_kind_seconds)                                      \
    }

#endif
