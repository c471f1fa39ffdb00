/* tracked: which keys have been read by those who want to know when they change (CLIENT TRACKING).
 * It knows no clients and no messages: a reader is a struct tracker inside its owner.
 *
 *   read --> tracked, by key --> due, in order --> told to each who has read it, and forgotten
 *     tracked_add          tracked_change      tracked_tell
 *                          tracked_bound
 *
 * A change costs one look into a table. Telling it takes as many turns as it needs; who reads the
 * key meanwhile is tracked anew, and told of both. What a flush ends is not told key by key.
 *
 * Invariants: a key that is here has at least one reader; a pair of key and reader is here once,
 * but for keys that are due. Loop thread.
 */
#ifndef TRACKING_TRACKED_H
#define TRACKING_TRACKED_H

#include "base/htab.h"

struct tracked;
struct tracked_pair;

/* Zeroed by its owner; tracked_drop before its memory goes. */
struct tracker {
    struct tracked_pair *first; /* the newest first */
    size_t count;               /* keys that it has read, those that are due too */
    size_t bytes;               /* that they take, about */
};

struct tracked *tracked_new(void);
/* Every tracker must have been dropped. */
void tracked_free(struct tracked *t);
/* `key` is internal (engine/engine.h), and copied. False: it was so already. */
bool tracked_add(struct tracked *t, struct tracker *who, struct slice key);
/* It has a new state as of that version. `keeps` (may be NULL) is not told, and stays its reader,
 * if it was one. */
void tracked_change(struct tracked *t, struct slice key, uint64_t version, struct tracker *keeps);
/* Forgets all keys of the database, without telling their readers. */
void tracked_flush(struct tracked *t, uint16_t database);
/* While there are more than `max` keys: the oldest, first of that database, become due with version
 * 0, at most *work of them. */
void tracked_bound(struct tracked *t, uint16_t database, size_t max, size_t *work);

/* Must not change anything here. `key` is good for the call. */
typedef void tracked_teller(void *arg, struct tracker *who, struct slice key, uint64_t version);
/* Tells what is due, each *work down by one. True when nothing is left. */
bool tracked_tell(struct tracked *t, size_t *work, tracked_teller *tell, void *arg);
/* Forgets at most *work of what it has read, and counts it down. True when nothing is left. */
bool tracked_drop(struct tracked *t, struct tracker *who, size_t *work);

/* Keys that are tracked; keys times readers. */
size_t tracked_keys(const struct tracked *t);
size_t tracked_items(const struct tracked *t);

#endif
