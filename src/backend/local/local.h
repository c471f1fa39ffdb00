/* local: what a database on this machine stands on: a directory with a journal of segment files and
 * a store in SQLite.
 *
 * Files in the directory: LOCK, versions (the reserved block), tupled.db (+ -wal, -shm),
 * journal-<number>.log. What the journal lets go may be kept in another directory, the archive.
 */
#ifndef BACKEND_LOCAL_LOCAL_H
#define BACKEND_LOCAL_LOCAL_H

#include "backend/local/file_journal.h"
#include "backend/store.h"

struct archive;
struct lineage;
struct nearby;
struct text_ops;

struct local_options {
    const char *dir; /* created when missing; copied */
    enum durability durability;
    unsigned interval_ms;
    uint64_t segment_bytes;
    int64_t retention_ms;
    uint64_t retention_bytes;
    uint64_t store_cache_bytes;      /* SQLite page caches together */
    const struct text_ops *text_ops; /* backend/text.h; NULL = there are no text indexes */
    uint64_t flush_rows;             /* sqlite_store.h; 0 = as usual */
    const char *archive_dir;         /* archive.h; copied; NULL or "" = there is none */
    int64_t archive_ms;              /* no commit waits longer for its place in the archive */
    bool is_journal_buffered;        /* file_journal.h: is_buffered */
    int64_t short_sync_us;           /* file_journal.h; 0 = as usual */
    int64_t long_sync_us;            /* likewise */
};

/* Both or none. ERR_LOCKED, ERR_CORRUPT, ERR_FORMAT, ERR_IO, ERR_DISK_FULL. The journal unlocks the
 * directory: it is closed after the store. */
ERR_MUST_USE enum err local_open(const struct local_options *options, struct journal **journal,
                                 struct store **store, struct error *e);

/* Takes the options that may change while it is open: durability, interval_ms, retention_*,
 * archive_ms; others are ignored. Going to DURABILITY_ALWAYS, see pipeline_set_options, which is
 * called next. */
void local_set_options(struct journal *journal, const struct local_options *options);

/* Of a server: what SQLite allocates is counted (base/mem.h). Before it is used. */
void local_count_heap(void);

/* For a store that is elsewhere. */
extern const struct nearby local_nearby;

/* NULL = there is none. The journal's. */
struct archive *local_archive(const struct journal *journal);
/* Does it need a new base, because something before what comes next is missing? */
bool local_archive_has_gap(const struct journal *journal);
/* Borrowed, as long as the store is open. */
const struct lineage *local_lineage(const struct store *store);

#endif
