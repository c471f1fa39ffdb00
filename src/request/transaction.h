/* transaction: MULTI and EXEC: the queue of a connection's commands. */
#ifndef REQUEST_TRANSACTION_H
#define REQUEST_TRANSACTION_H

#include "request/command.h"

bool multi_queues(const struct request *rq);
ERR_MUST_USE enum err multi_queue(struct request *rq);
void multi_abort(struct multi *m);
/* Does a queued command write, or publish? m may be NULL. */
bool multi_may_write(const struct multi *m);
size_t multi_count(const struct multi *m);
size_t multi_bytes(const struct multi *m);
size_t client_watched_count(const struct client *c);
/* As DISCARD; harmless when there is none. */
void client_end_transaction(struct client *c);

#endif
