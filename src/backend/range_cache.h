/* range_cache: chunks of rows that scans read from the store lately, whole and in order, so that a
 * page that is listed again and again is read once. Loop thread only.
 *
 * A chunk says what the store held when it was read. It stays true for a scan as long as every
 * memtable that was not in the store then is still in front of it: so all chunks die when a
 * memtable leaves the read path (range_cache_forget).
 */
#ifndef BACKEND_RANGE_CACHE_H
#define BACKEND_RANGE_CACHE_H

#include "backend/store.h"

#define RANGE_CACHE_CHUNKS 32

/* Shared by the cache and the scans that walk it. */
struct shared_chunk {
    struct store_chunk chunk;
    unsigned refs;
};

struct range_entry {
    struct shared_chunk *shared; /* referenced; NULL = free */
    struct buf start, end;
    bool is_reverse, with_values;
    size_t rows_max;
    uint64_t used; /* by the clock of uses */
};

struct range_cache {
    struct range_entry entries[RANGE_CACHE_CHUNKS];
    size_t bytes;
    size_t bytes_max;
    uint64_t uses;
};

struct shared_chunk *shared_chunk_new(void);
void shared_chunk_unref(struct shared_chunk *c);

void range_cache_init(struct range_cache *rc, size_t bytes_max);
void range_cache_fini(struct range_cache *rc);
/* Drops the oldest that are too much then. */
void range_cache_resize(struct range_cache *rc, size_t bytes_max);
/* The chunk that this fetch gave before, with a reference for the caller; or NULL. */
struct shared_chunk *range_cache_get(struct range_cache *rc, const struct store_fetch *f);
/* Remembers; takes a reference of its own. */
void range_cache_put(struct range_cache *rc, const struct store_fetch *f, struct shared_chunk *c);
void range_cache_forget(struct range_cache *rc);

#endif
