/* local: the backend on this machine: journal + memtables + SQLite.
 *
 *   commit -> journal (durable) -+-> memtable (newest state) -> frozen -> store (SQLite) -> dropped
 *   load   <- memtable, frozen memtables, entry cache, SQLite
 *
 * Files in the directory: LOCK, versions (the reserved block), tupled.db (+ -wal, -shm),
 * journal-<number>.log.
 */
#ifndef BACKEND_LOCAL_LOCAL_H
#define BACKEND_LOCAL_LOCAL_H

#include "backend/backend.h"
#include "backend/local/journal.h"

struct text_ops;

struct local_options {
    const char *dir; /* created when missing; copied */
    enum durability durability;
    unsigned interval_ms;
    uint64_t segment_bytes;
    int64_t retention_ms;
    uint64_t retention_bytes;
    uint64_t memtable_bytes;     /* frozen when it holds this much ... */
    int64_t memtable_age_ms;     /* ... or is this old */
    uint64_t write_buffer_bytes; /* unapplied data at which writers stop; slowed from half of it */
    uint64_t cache_bytes;        /* entry cache */
    uint64_t store_cache_bytes;  /* SQLite page caches together */
    unsigned query_threads;
    int64_t scan_ms_max;             /* a scan may be open this long */
    const struct text_ops *text_ops; /* backend/text.h; NULL = there are no text indexes */
    bool is_inline;                  /* no threads: simulation; see worker.h */
    void (*wake)(void *arg);         /* any thread: poll is wanted */
    void (*on_fatal)(void *arg, const struct error *e); /* the journal failed: stop the process */
    void *arg;
};

/* Opens and recovers. Errors: ERR_LOCKED, ERR_CORRUPT (file and offset), ERR_FORMAT, ERR_IO,
 * ERR_DISK_FULL. */
ERR_MUST_USE enum err local_open(const struct local_options *options, struct backend **out,
                                 struct error *e);

/* Takes the options that may change while it is open: durability, interval_ms, retention_*,
 * memtable_*, write_buffer_bytes, cache_bytes, scan_ms_max; others are ignored. All of them are
 * read by the loop thread alone, which calls this, so they apply at once. ERR_WAIT: they do, but
 * what an earlier, weaker durability acknowledged is still being synced, and the waiter will be
 * told; call again. OK: under DURABILITY_ALWAYS all that was ever acknowledged is synced. */
ERR_MUST_USE enum err local_set_options(struct backend *b, const struct local_options *options,
                                        struct waiter *w, struct error *e);

/* As the end of the process would: nothing is applied or synced any more. Tests of recovery. */
void local_abandon(struct backend *b);

#endif
