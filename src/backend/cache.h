/* cache: what the store said about single keys, absence included, bounded in bytes. Loop thread
 * only.
 *
 * Replacement is second chance (CLOCK), but the hand goes over the slots of the hash table instead
 * of a ring in the order of insertion: an entry needs no links, and as what is new is met anywhere
 * on the way, keys that are asked for once go sooner, so more of what is asked for is there.
 *
 * Invariant: an entry equals what the store would answer, for a key that no memtable in the list
 * knows. A flush of a database outdates its entries by raising the database's generation.
 *
 * What is outdated, or is never asked for again (cache_forget_range), is no use to the cache: it is
 * swept out, some slots in each turn, once over the table after each such event.
 */
#ifndef BACKEND_CACHE_H
#define BACKEND_CACHE_H

#include "backend/memtable.h"
#include "base/arena.h"

/* Tens of millions of them: none has a member that it can do without. */
struct cache_entry {
    uint64_t version;
    uint32_t key_len, value_len;
    uint32_t generation;
    bool exists;
    bool is_used;    /* since the hand last passed */
    bool expires;    /* int64_t milliseconds of wall clock come first in `bytes` */
    uint8_t bytes[]; /* key, then value */
};

static inline size_t cache_key_at(const struct cache_entry *entry)
{
    return entry->expires ? sizeof(int64_t) : 0;
}

static inline struct slice cache_key(const struct cache_entry *entry)
{
    return slice_of(entry->bytes + cache_key_at(entry), entry->key_len);
}

static inline struct slice cache_value(const struct cache_entry *entry)
{
    return slice_of(entry->bytes + cache_key_at(entry) + entry->key_len, entry->value_len);
}

/* 0 = never. */
static inline int64_t cache_expiry_ms(const struct cache_entry *entry)
{
    int64_t ms = 0;
    if (entry->expires) memcpy(&ms, entry->bytes, sizeof ms);
    return ms;
}

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
    size_t left, until; /* slots below `left`, down to `until`; left 0 = no sweep is under way */
    size_t slots;       /* of the table that it goes over */
    struct cache_ranges now, next; /* of this sweep, by start; of the one after it */
    bool is_wanted;                /* something is outdated since this one began */
    size_t bytes;                  /* that went; the user sets it to 0 */
};

/* Evicted in this turn; readers may still hold their values. */
struct cache_dying {
    struct arena arena;
    struct cache_entry **items; /* owned; the list is in the arena */
    size_t count, cap;
};

struct cache {
    struct htab points; /* found by htab_same */
    size_t hand;        /* slots below it are looked at before it begins again at the last */
    struct cache_dying dying;
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
