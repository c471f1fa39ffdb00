/* events: the text of server-sent events (HTML, 9.2). */
#ifndef HTTP_EVENTS_H
#define HTTP_EVENTS_H

#include "base/buf.h"

#define EVENT_KEEP_BYTES (64 * 1024) /* of the buffer in which they are made */

/* Appends "data: " and the text, each of its lines as one of the event's. */
void event_data(struct buf *out, struct slice text);

#endif
