/* redis_follow: which keys of a Redis or Valkey server change, by its keyspace events, over a
 * connection of its own. An event names a key and what was done; the key is read again whole, so
 * what was done does not matter, and a key that changes often is read once for many events.
 *
 * Some changes have no events: FLUSHDB, FLUSHALL and SWAPDB; and in a stream deliveries and
 * acknowledgements. Streams that have groups are noted (redis_follow_groups), and at the end each
 * is read once more.
 *
 * While other connections are waited for, events are taken (wire_attend): a server ends a
 * connection that does not take them.
 */
#ifndef TOOL_REDIS_FOLLOW_H
#define TOOL_REDIS_FOLLOW_H

#include "tool/redis_names.h"
#include "tool/redis_read.h"

struct redis_follow {
    struct wire *w; /* owned; NULL = it was lost */
    const struct wire_options *options;
    char pattern[64];          /* of its channels */
    struct wire_also also;     /* for the other connections */
    struct redis_names dirty;  /* changed, and not read since */
    struct redis_names groups; /* streams that have groups */
    uint64_t events;
    uint64_t pongs, pings;
    int stop_fd;      /* of SIGINT and SIGTERM; owned */
    bool is_stopping; /* there was one */
    bool is_lost;     /* what was told since then is not known */
    char why[WIRE_WHY_BYTES];
    char *former; /* of notify-keyspace-events, to be put back; owned, NULL = it was not changed */
};

/* Events of one database, or of all: -1. Checks that the server tells them; `sets`: makes it.
 * What goes wrong is said. */
ERR_MUST_USE enum tool_status redis_follow_open(struct redis_follow *f, struct redis_reader *r,
                                                const struct wire_options *o, int64_t database,
                                                bool sets);
/* Puts the setting back over `r`, whose connection may have broken. */
void redis_follow_close(struct redis_follow *f, struct redis_reader *r);
/* After it was lost: once more. */
ERR_MUST_USE enum tool_status redis_follow_again(struct redis_follow *f);
/* Takes what has come, and waits for it up to so long when there is nothing. */
void redis_follow_wait(struct redis_follow *f, int64_t ms);
/* Everything that the server has told until now is on its way and ends with an answer to this. */
void redis_follow_ping(struct redis_follow *f);
bool redis_follow_is_answered(const struct redis_follow *f);

/* The letters that notify-keyspace-events needs, added to those it has: "" when it has them. */
#define REDIS_EVENTS_BYTES 64
void redis_events_needed(const char *has, char out[REDIS_EVENTS_BYTES]);

#endif
