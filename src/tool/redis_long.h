/* redis_long: one key of a Redis or Valkey server, page by page: what is too large for one command,
 * or turned out to be another type than it was a moment ago.
 *
 *   WATCH key -> TYPE, expiry -> pages ... -> MULTI, EXEC: it did not change -> whole
 *                     ^                              | it changed
 *                     '------------------------------' up to REDIS_LONG_TRIES times
 *
 * SCAN and its family promise only the elements that were there all the time, and pages of a list
 * shift when something is pushed at its head; with WATCH the pages are of one state. A key that
 * changes whenever it is read is given as it was read the last time (is_torn).
 *
 * Deliveries and acknowledgements are no changes for WATCH: groups are as they were when they were
 * read.
 */
#ifndef TOOL_REDIS_LONG_H
#define TOOL_REDIS_LONG_H

#include "tool/redis_read.h"

#define REDIS_LONG_TRIES 5

struct redis_long {
    struct redis_reader *r;
    struct slice name; /* the caller's */
    enum redis_kind kind;
    char type[32];
    int64_t expires_ms; /* 0 = never */
    bool is_over;       /* there are no more pages, and they are of one state unless is_torn */
    bool is_torn;
    bool has_groups;
    uint64_t told;             /* elements of the pages before the newest; 0 = it is the first */
    struct redis_elements new; /* the newest page; of no string */
    struct buf bytes;          /* of a string */
    /* of the reading */
    int tries, tries_max;
    size_t count;       /* of the next page */
    struct buf at;      /* cursor, or the newest id */
    int stage;          /* of a stream */
    redisReply *groups; /* owned: of XINFO GROUPS */
    size_t group;
};

/* `name` must stay until redis_long_end. */
void redis_long_begin(struct redis_long *l, struct redis_reader *r, struct slice name);
void redis_long_end(struct redis_long *l);
/* The next page. The first one has told 0, also when everything is read anew: what was given
 * before counts no longer. A string has one page. A page may be empty: so are all of REDIS_NONE
 * and REDIS_OTHER. What goes wrong is said. */
ERR_MUST_USE enum tool_status redis_long_next(struct redis_long *l);

#endif
