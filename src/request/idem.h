/* idem: IDEM, and what the placeholders of a command mean. */
#ifndef REQUEST_IDEM_H
#define REQUEST_IDEM_H

#include "request/command.h"

struct uuid_table *uuid_table_new(struct arena *arena);
struct placeholders request_placeholders(struct request *rq);
/* ERR_SYNTAX when rq->idem is no id. */
ERR_MUST_USE enum err idem_check(struct request *rq);
/* Takes IDEM and its id off the arguments into rq->idem, which has KV.DO's id or none. False:
 * rq->error says what is wrong. */
bool idem_take(struct request *rq);
ERR_MUST_USE enum err idem_run(struct request *rq);

#endif
