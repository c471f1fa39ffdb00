/* absent: knows of most keys that the store does not have, without asking it: for a caller that
 * looks before it writes something new, as each write below an index does, SET NX, or a check of a
 * key that must not be there. A Bloom filter of the keys of all databases (base/bloom.h).
 *
 *   OFF --the store was asked for many keys that it does not have--> GATHERING
 *   GATHERING --all keys of the memtables there were are in the filter--> FILLING
 *   FILLING --all keys of the store are in the filter--> ON
 *   ON --there are far more keys than it was made for--> GATHERING, of a larger one
 *   OFF, FILLING, ON --too many keys for the memory that it may have, or damage--> NEVER
 *
 * It never says that a key is absent which the store has: from GATHERING on each key that is
 * committed goes into it; what was committed before is in a memtable that is gathered, or was
 * applied from there to the store before that is read. While a larger one is made the old one
 * answers. What is removed stays in it. Nothing else may write into the store. Loop thread; the
 * store is read on a thread.
 */
#ifndef BACKEND_ABSENT_H
#define BACKEND_ABSENT_H

#include "base/bloom.h"
#include "base/buf.h"

/* Reads of keys that are not there until it is worth reading all keys; and at least one for so many
 * entries. */
#define ABSENT_READS_MIN 10000
#define ABSENT_ENTRIES_EACH 50
/* Of the bytes of the entry cache, as much again as one part in so many may be the filter's; while
 * a larger one is made, it is there besides. */
#define ABSENT_CACHE_SHARE 8

#define ABSENT_MEMTABLES_MAX 16 /* there are hardly ever more than two or three */

struct pipeline;
struct memtable;

enum absent_state { ABSENT_OFF, ABSENT_GATHERING, ABSENT_FILLING, ABSENT_ON, ABSENT_NEVER };

struct absent {
    enum absent_state state;
    struct bloom bloom; /* that answers; without words there is none */
    uint64_t room;      /* keys that it was made for */
    struct bloom made;  /* that is being made, and is to take its place */
    uint64_t made_room;
    uint64_t seen; /* reads of keys that the store does not have, since it is off */
    struct memtable *gathered[ABSENT_MEMTABLES_MAX]; /* held; the last one is being read */
    size_t gathered_count;
    uint32_t database; /* FILLING: which is read */
    struct buf next;   /* owned; the key that reading goes on from; empty = the first */
    bool is_reading;   /* a job does */
    uint64_t answers;  /* keys that it said were absent */
    uint64_t mistaken; /* keys that it did not know to be absent */
};

/* The key of this hash is not in the store. */
static inline bool absent_is(const struct absent *a, uint64_t hash)
{
    return a->bloom.words != NULL && !bloom_has(&a->bloom, hash);
}

/* A key is committed. */
static inline void absent_add(struct absent *a, uint64_t hash)
{
    if (a->bloom.words != NULL) bloom_add(&a->bloom, hash);
    if (a->made.words != NULL) bloom_add(&a->made, hash);
}

/* It will be asked of this hash, or be told of it. */
static inline void absent_prefetch(const struct absent *a, uint64_t hash)
{
    if (a->bloom.words != NULL) __builtin_prefetch(bloom_block(&a->bloom, hash));
    if (a->made.words != NULL) __builtin_prefetch(bloom_block(&a->made, hash));
}

/* The store was asked, and did not have the key. */
void pipeline_absent_seen(struct pipeline *p);
/* Goes on with what can be done now. Every 10 ms or so. */
void pipeline_absent_try(struct pipeline *p);
const char *absent_state_name(const struct absent *a);
size_t absent_bytes(const struct absent *a);
void absent_fini(struct absent *a);

#endif
