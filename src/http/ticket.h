/* ticket: a parameter of a URL in place of an Authorization header, for EventSource, which can set
 * none: for one path, user and database, to be opened within a minute, and again by the reconnects
 * of that stream.
 */
#ifndef HTTP_TICKET_H
#define HTTP_TICKET_H

#include "http/http_int.h"

struct tickets *tickets_new(void);
void tickets_free(struct tickets *t);
/* POST /ticket */
void ticket_run(struct exchange *x);
/* Does x have a ticket that is good? Then its client is the user of it. A wrong one is answered. */
bool ticket_opens(struct exchange *x);

#endif
