/* watched: the keys of WATCH, and what they were then. */
#ifndef REQUEST_WATCHED_H
#define REQUEST_WATCHED_H

#include "request/command.h"

/* Forgets all. */
void watches_drop(struct client *c);
/* Are all as they were? */
ERR_MUST_USE enum err watches_hold(struct request *rq, bool *hold);
/* Of EXEC: the keys, as WATCH asked for them. */
void watched_subjects(struct subjects *s, const void *bound);
size_t client_watched_count(const struct client *c);

#endif
