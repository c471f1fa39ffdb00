/* cache: what the store said about single keys, absence included, bounded in bytes. Second-chance
 * (CLOCK) replacement. Loop thread only.
 *
 * Invariant: an entry equals what the store would answer, for a key that no memtable in the list
 * knows. A flush of a database outdates its entries by raising the database's generation.
 *
 * What is outdated, or is never asked for again (cache_forget_range), is no use to the cache: it is
 * swept out, some entries in each turn, once around the ring after each such event.
 */
#ifndef BACKEND_CACHE_H
#define BACKEND_CACHE_H

#include "backend/memtable.h"
#include "base/arena.h"

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

/* Rows that are never asked for again. */
struct cache_range {
    struct slice start, end;
};

struct cache_ranges {
    struct arena arena;
    struct cache_range *items; /* in the arena */
    size_t count, cap;
};

struct cache_sweep {
    struct cache_entry *at;        /* the entry to be looked at next */
    size_t left;                   /* entries that are to be looked at; 0 = no sweep is under way */
    struct cache_ranges now, next; /* of this sweep, by start; of the one after it */
    bool is_wanted;                /* something is outdated since this one began */
    size_t bytes;                  /* that went; the user sets it to 0 */
};

struct cache {
    struct htab points;
    struct cache_entry *hand;  /* NULL = empty */
    struct cache_entry *dying; /* evicted in this turn; readers may still hold their values */
    size_t bytes;
    size_t bytes_max;
    struct sparse generations; /* of databases that were flushed: uint32_t, owned */
    struct cache_sweep sweep;
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
/* As put, but only if the key is there already or the cache has room without evicting. Of what is
 * gone, absence is remembered only for an entry of user data that was asked for. */
void cache_refresh(struct cache *c, uint64_t hash, struct slice key, const struct entry *value);
void cache_forget_database(struct cache *c, uint16_t database);
/* Rows of no counted space in [start, end) are never asked for again. */
void cache_forget_range(struct cache *c, struct slice start, struct slice end);
/* Goes on with the sweep, if there is one. True: there is more to be looked at. */
bool cache_sweep(struct cache *c);
/* Frees what was evicted since the last call, and evicts a part of what is too much. */
void cache_turn_end(struct cache *c);

#endif
