/* absent: knows of most keys that the store does not have, without asking it: for whoever looks
 * before he writes something new, as each write below an index does, SET NX, or a check of a key
 * that must not be there. A Bloom filter of the keys of all databases (base/bloom.h).
 *
 *   OFF --the store was asked for many keys that it does not have--> WAITING
 *   WAITING --all that was committed before is in the store--> FILLING
 *   FILLING --all keys of the store are in the filter--> ON
 *   ON --there are far more keys than it was made for--> OFF
 *   WAITING, FILLING --too many keys for the memory that it may have, or damage--> NEVER
 *
 * It never says that a key is absent which the store has: from WAITING on each key that is
 * committed goes into it, and what was committed before is read from the store. What is removed
 * stays in it. Nobody else may write into the store. Loop thread; the store is read on a thread.
 */
#ifndef BACKEND_ABSENT_H
#define BACKEND_ABSENT_H

#include "base/bloom.h"
#include "base/buf.h"

/* Reads of keys that are not there until it is worth reading all keys; and at least one for so many
 * entries. */
#define ABSENT_READS_MIN 10000
#define ABSENT_ENTRIES_EACH 50
/* Of the bytes of the entry cache, as much again as one part in so many may be the filter's. */
#define ABSENT_CACHE_SHARE 8

struct pipeline;

enum absent_state { ABSENT_OFF, ABSENT_WAITING, ABSENT_FILLING, ABSENT_ON, ABSENT_NEVER };

struct absent {
    enum absent_state state;
    struct bloom bloom;
    uint64_t room;     /* keys that it was made for */
    uint64_t seen;     /* reads of keys that the store does not have, since it is off */
    uint64_t barrier;  /* WAITING: the version that the store must have applied */
    uint32_t database; /* FILLING: which is read, and from which key on */
    struct buf next;   /* owned; empty = from its beginning */
    bool is_reading;   /* a job does */
    uint64_t answers;  /* keys that it said were absent */
    uint64_t mistaken; /* keys that it did not know to be absent */
};

/* The key of this hash is not in the store. */
static inline bool absent_is(const struct absent *a, uint64_t hash)
{
    return a->state == ABSENT_ON && !bloom_has(&a->bloom, hash);
}

/* A key is committed. */
static inline void absent_add(struct absent *a, uint64_t hash)
{
    if (a->bloom.words != NULL) bloom_add(&a->bloom, hash);
}

/* The store was asked, and did not have the key. */
void pipeline_absent_seen(struct pipeline *p);
/* Goes on with what can be done now. Every 10 ms or so. */
void pipeline_absent_try(struct pipeline *p);
const char *absent_state_name(const struct absent *a);
size_t absent_bytes(const struct absent *a);
void absent_fini(struct absent *a);

#endif
