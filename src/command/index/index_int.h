/* index: what the commands about indexes share (kv_index.c, kv_find.c, kv_search.c). */
#ifndef COMMAND_INDEX_INDEX_INT_H
#define COMMAND_INDEX_INDEX_INT_H

#include "index/index.h"
#include "request/command.h"

/* The index of that name and kind. ERR_WAIT: the definitions are being read. ERR_SYNTAX: there is
 * none, or one of the other kind. */
ERR_MUST_USE enum err arg_index(struct request *rq, struct slice name, enum index_kind kind,
                                const struct index **out);
/* Of commands whose first argument is an index: all it is of. */
enum err index_read_subjects(struct request *rq, struct subjects *out);
/* ERR_INDEXING "<percent>", ERR_SYNTAX with why it failed; OK when it is complete. */
ERR_MUST_USE enum err index_complete(struct request *rq, const struct index *x);
/* kv_search.c: how much of a text index is filled in, 0..100. ERR_WAIT the first time. */
ERR_MUST_USE enum err text_state(struct request *rq, const struct index *x, unsigned *percent);

#endif
