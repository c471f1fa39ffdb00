/* many_keys: commands that read any number of keys: as of one moment, and, when they are many, in
 * slices, so that other clients are served in between. Then the keys are read through a scan, which
 * keeps what it sees while others write.
 */
#ifndef REQUEST_MANY_KEYS_H
#define REQUEST_MANY_KEYS_H

#include "request/arguments.h"

struct many_keys {
    struct slices words; /* the keys, as they came */
    bool counts_hits;    /* in keyspace_hits and keyspace_misses */
    /* Appends what is said of one to rq->w; NULL: they are only counted. */
    void (*tell)(struct request *rq, const struct entry *entry);
};

/* Of all of them, in order. *found: how many there are; one that is named twice counts twice.
 * ERR_WAIT: to be called again, as engine_get. */
ERR_MUST_USE enum err many_keys_read(struct request *rq, const struct many_keys *m,
                                     uint64_t *found);
/* Of the loop's tick. */
void many_keys_tick(struct env *env);

#endif
