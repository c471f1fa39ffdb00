/* events: the text of server-sent events (HTML, 9.2). */
#ifndef HTTP_EVENTS_H
#define HTTP_EVENTS_H

#include "http/http_int.h"

#define EVENT_KEEP_BYTES (64 * 1024) /* of the buffer in which they are made */

/* Appends "data: " and the text, each of its lines as one of the event's. */
void event_data(struct buf *out, struct slice text);

/* A whole event; id empty = it has none. */
void event_write(struct buf *out, const char *name, struct slice id, struct slice data);
void event_send(struct exchange *x, const char *name, struct slice id, struct slice data,
                uint64_t version);
/* What keeps a stream of REST open. */
#define EVENT_PING "event: ping\ndata: \n\n"

#endif
