/* file_journal: the journal of this machine, in segment files. backend/journal.h has the contract.
 * When the journal thread is free the batch that was filled is sealed and handed over: written,
 * synced, acknowledged, while the next one fills. Where syncs take long a second thread has the
 * next one meanwhile (file_journal.c).
 *
 *   append -> filling -> sealed -> [journal thread: checksum, write, sync] -> acknowledged
 *
 * Write and sync are one system call where the file system takes writes past the page cache
 * (direct.h) and no reader of history follows closely; else a write and an fdatasync.
 *
 * While syncs are short, and the owner says that it may block, the loop does the part of the thread
 * itself: the two wake-ups are most of what such a write costs.
 *
 * Space: every segment is reserved and written with zeros before its first use, so that a sync
 * changes no metadata and a full disk is met before a write is accepted, never after. Two spares
 * are kept ahead.
 *
 *   SEGMENT_PREPARING --zeros synced--> SEGMENT_SPARE --current one is full--> SEGMENT_CURRENT
 *       --no room for a record--> SEGMENT_FULL --applied, not retained--> removed
 *
 * Loop thread, but for the jobs inside. A failed write or sync of reserved space is reported to
 * on_fatal and nothing is acknowledged any more. It never loses its place to another process:
 * on_lost is not called.
 */
#ifndef BACKEND_LOCAL_FILE_JOURNAL_H
#define BACKEND_LOCAL_FILE_JOURNAL_H

#include "backend/journal.h"
#include "backend/local/journal_format.h"

enum durability { DURABILITY_ALWAYS, DURABILITY_INTERVAL, DURABILITY_NEVER };

struct archive;

struct file_journal_options {
    const char *dir; /* copied */
    int lock_fd;     /* of dir/LOCK; the journal's now: unlocked when it ends */
    int store_fd;    /* of dir/tupled.db, to be guarded (guard.c); good until the journal ends */
    uint8_t database_id[DATABASE_ID_BYTES];
    uint64_t segment_bytes;
    enum durability durability;
    unsigned interval_ms;     /* DURABILITY_INTERVAL */
    bool is_buffered;         /* nothing is written past the page cache (direct.h) */
    int64_t short_sync_us;    /* no longer is one that the loop can do; 0 = as usual */
    int64_t long_sync_us;     /* after one that took so long two are under way; 0 = as usual */
    int64_t retention_ms;     /* segments younger than this are kept ... */
    uint64_t retention_bytes; /* ... as long as together they are smaller than this */
    struct archive *archive;  /* the journal's now; NULL = there is none */
    uint32_t timeline;
    int64_t archive_ms; /* with an archive: a segment in which something is becomes full then */
};

/* Nothing is read or written before `start`. */
struct journal *file_journal_new(const struct file_journal_options *options);
/* Durability, its interval, retention and archive_ms of these options apply from now on; others
 * are ignored. Going to DURABILITY_ALWAYS, what was acknowledged before is synced as soon as the
 * thread can; until `acknowledged` is no more than `synced` it may still be lost. */
void file_journal_set_options(struct journal *j, const struct file_journal_options *options);

/* NULL = there is none. */
struct archive *file_journal_archive(const struct journal *j);

/* Is something in the journal's past missing in the archive for good, so that no moment after it
 * can be restored without a new base? */
bool file_journal_archive_gap(const struct journal *j);

/* versions.c: says in a directory that is not in use that versions below `end` were given. */
ERR_MUST_USE enum err versions_file_write(const char *dir, const uint8_t *database_id, uint64_t end,
                                          struct error *e);

/* dir/journal-<number>.log; the inverse gives false for other names. */
void journal_path(struct buf *out, const char *dir, uint64_t number);
bool journal_number(const char *name, uint64_t *number);

#endif
