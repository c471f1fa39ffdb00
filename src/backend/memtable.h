/* memtable: the newest state of what is not yet in the store, in memory, hashed for points and
 * ordered for ranges. Only grows; a key's versions form a chain, newest first, so that a scan
 * pinned at a version reads on while others write. When it is big or old it is frozen, applied to
 * the store, and dropped whole.
 *
 *   MEM_ACTIVE --freeze--> MEM_FROZEN --store thread starts--> MEM_APPLYING --> MEM_APPLIED
 *       --no reader is left--> freed
 *
 * MEM_ASIDE all their life are the oldest of the list, which the loop fills with entries that the
 * store cannot take; and those that bring rows of one store into another (nearby.h), which belong
 * to one thread. Their versions come in any order.
 *
 * Invariants: within a chain versions strictly fall; a memtable's versions are all greater than
 * those of an older memtable. MEM_ACTIVE belongs to the loop thread; from MEM_FROZEN on any thread
 * may read.
 */
#ifndef BACKEND_MEMTABLE_H
#define BACKEND_MEMTABLE_H

#include "backend/backend.h"
#include "base/arena.h"
#include "base/htab.h"
#include "base/omap.h"
#include "base/sparse.h"

enum mem_state { MEM_ACTIVE, MEM_FROZEN, MEM_APPLYING, MEM_APPLIED, MEM_ASIDE };

struct mem_version {
    struct mem_version *older;
    uint64_t version;
    int64_t expiry_ms;
    size_t value_len;
    bool is_tombstone;
    uint8_t value[];
};

struct mem_entry {
    struct slice key; /* first: the tables look here */
    uint64_t hash;
    struct mem_version *newest;
};

/* What a memtable's writes did to a database, as far as it is known; since its flush here. */
struct mem_database {
    uint64_t flushed; /* version of the last flush of it here; 0 = none */
    int64_t entries, expiring;
    int64_t bytes; /* of all spaces; keys without heads, and values */
};

/* MUTATION_FORGET. */
struct mem_range {
    struct mem_range *next;
    struct slice start, end;
};

struct memtable {
    struct memtable *older; /* next in the list of the backend, newest first */
    enum mem_state state;
    unsigned refs; /* the list, and every pinned scan */
    struct arena arena;
    struct htab points;
    struct omap order;
    uint64_t version_first; /* 0 = empty */
    uint64_t version_last;
    struct mem_range *forgotten; /* in no order; in the arena */
    struct sparse databases;     /* struct mem_database of those it names; in the arena */
    bool has_flush;              /* of some database */
    int64_t born_us;             /* monotonic time of the first write */
    struct omap_iter retire_at;  /* loop thread: how far its entries went into the cache */
};

/* `entries_hint`: as many entries as are likely; 0 = unknown. */
struct memtable *memtable_new(size_t entries_hint);
struct memtable *memtable_new_aside(void);
void memtable_ref(struct memtable *m);
/* True when that was the last reference: the caller frees it. */
ERR_MUST_USE bool memtable_unref(struct memtable *m);
/* Any thread: giving back so much memory takes milliseconds. */
void memtable_free(struct memtable *m);
/* Moves to the next state; asserts that it is the next. */
void memtable_move(struct memtable *m, enum mem_state to);
void memtable_put(struct memtable *m, uint64_t hash, const struct mutation *mu, uint64_t version);
void memtable_flush(struct memtable *m, uint16_t database, uint64_t version);
/* That of the database, made if need be. */
struct mem_database *memtable_database(struct memtable *m, uint16_t database);
static inline uint64_t memtable_flushed(const struct memtable *m, uint16_t database)
{
    if (!m->has_flush) return 0;
    const struct mem_database *d = sparse_get(&m->databases, database);
    return d == NULL ? 0 : d->flushed;
}
void memtable_forget(struct memtable *m, struct slice start, struct slice end, uint64_t version);
/* The entry's newest version, or NULL when the memtable knows nothing of the key. Flushes are the
 * caller's business. */
const struct mem_version *memtable_get(const struct memtable *m, uint64_t hash, struct slice key);
/* The version of a chain that a reader at `version` sees, or NULL. */
const struct mem_version *mem_version_at(const struct mem_version *newest, uint64_t version);
/* Memory it holds, bytes. */
size_t memtable_bytes(const struct memtable *m);
bool memtable_is_empty(const struct memtable *m);

#endif
