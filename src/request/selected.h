/* selected: the database that a client has selected. */
#ifndef REQUEST_SELECTED_H
#define REQUEST_SELECTED_H

#include "request/command.h"

void client_select(struct client *c, const struct database *d);
/* Is the selected database still there? ERR_NODB, ERR_WAIT. */
ERR_MUST_USE enum err request_database(struct request *rq);
/* Before a command that reads or writes it runs for the first time: also waits for its rate. */
ERR_MUST_USE enum err request_enter(struct request *rq);
/* Whether a client has selected the database of this number. */
bool client_uses(void *env, uint16_t number);
/* It was dropped: who waits for something in it is run again, and told so. */
void clients_leave(struct env *env, uint16_t number);

#endif
