/* cache: what the store said about single keys, absence included, bounded in bytes. Second-chance
 * (CLOCK) replacement. Loop thread only.
 *
 * Invariant: an entry equals what the store would answer, for a key that no memtable in the list
 * knows. A flush of a database outdates its entries by raising the database's generation.
 */
#ifndef BACKEND_CACHE_H
#define BACKEND_CACHE_H

#include "backend/memtable.h"

struct cache_entry {
    struct slice key; /* first: the table looks here */
    uint64_t hash;
    struct cache_entry *next, *prev; /* the clock's ring */
    uint64_t version;
    int64_t expiry_ms;
    size_t value_len;
    uint32_t generation;
    bool exists;
    bool is_used;    /* since the hand last passed */
    uint8_t bytes[]; /* key, then value */
};

struct cache {
    struct htab points;
    struct cache_entry *hand;  /* NULL = empty */
    struct cache_entry *dying; /* evicted in this turn; readers may still hold their values */
    size_t bytes;
    size_t bytes_max;
    struct sparse generations; /* of databases that were flushed: uint32_t, owned */
    uint64_t hits, misses;
};

void cache_init(struct cache *c, size_t bytes_max);
void cache_fini(struct cache *c);
/* What is too much then goes bit by bit, at the ends of turns and with later puts. */
void cache_resize(struct cache *c, size_t bytes_max);
/* The entry, or NULL. Counts a hit or a miss. */
const struct cache_entry *cache_get(struct cache *c, uint64_t hash, struct slice key);
/* As get, without a trace in the figures or the replacement. */
const struct cache_entry *cache_peek(const struct cache *c, uint64_t hash, struct slice key);
/* Remember; replaces. Returns the entry (good until the end of the turn even when it does not fit).
 */
const struct cache_entry *cache_put(struct cache *c, uint64_t hash, struct slice key,
                                    const struct entry *value);
/* As put, but only if the key is there already or the cache has room without evicting. */
void cache_refresh(struct cache *c, uint64_t hash, struct slice key, const struct entry *value);
void cache_forget_database(struct cache *c, uint16_t database);
/* Frees what was evicted since the last call, and evicts a part of what is too much. */
void cache_turn_end(struct cache *c);

#endif
