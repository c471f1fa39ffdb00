/* index: what the commands about indexes share (kv_index.c, kv_find.c, kv_search.c). */
#ifndef COMMAND_INDEX_INDEX_INT_H
#define COMMAND_INDEX_INDEX_INT_H

#include "access/ask.h"
#include "index/index.h"
#include "request/arguments.h"

/* The index of that name and kind. ERR_WAIT: the definitions are being read. ERR_SYNTAX: there is
 * none, or one of the other kind. */
ERR_MUST_USE enum err arg_index(struct request *rq, struct slice name, enum index_kind kind,
                                const struct index **out);
/* The name of an index; permission is asked for all that it is of. `needs`: enum access_need. */
extern const struct argument_kind arg_kind_index;
#define ARG_INDEX(in, member, label, needs)                                                        \
    {                                                                                              \
        ARG_ONE(in, member, struct slice, label, arg_kind_index), .flags = (needs)                 \
    }
/* ERR_INDEXING "<percent>", ERR_SYNTAX with why it failed; OK when it is complete. */
ERR_MUST_USE enum err index_complete(struct request *rq, const struct index *x);
/* kv_search.c: how much of a text index is filled in, 0..100. ERR_WAIT the first time. */
ERR_MUST_USE enum err text_state(struct request *rq, const struct index *x, unsigned *percent);

#endif
