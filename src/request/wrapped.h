/* wrapped: KV.DO, which makes a write that has no IDEM of its own safe to send twice. */
#ifndef REQUEST_WRAPPED_H
#define REQUEST_WRAPPED_H

#include "request/command.h"

extern const struct command kv_do;

/* The command of rq's words, as command_of_words finds it. Of KV.DO [IDEM id] command ... it is
 * the one that it wraps: rq->argv and rq->argc become its words, rq->idem the id; without an id,
 * and of any other command, rq->idem is empty. NULL without an error: there is no such command.
 * An error: rq->error says why KV.DO cannot run it; *out is KV.DO then. */
ERR_MUST_USE enum err wrapped_find(struct request *rq, const struct command **out,
                                   const struct command **parent);

#endif
