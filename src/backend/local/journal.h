/* journal: what makes a commit durable. Transactions are appended to the batch being filled; when
 * the journal thread is free the batch is sealed and handed over: written, synced, acknowledged,
 * while the next one fills (group commit without a timer).
 *
 *   append -> filling -> sealed -> [journal thread: checksum, write, fdatasync] -> acknowledged
 *
 * Space: every segment is reserved and written with zeros before its first use, so that a sync
 * changes no metadata and a full disk is met before a write is accepted, never after. One spare is
 * kept ahead.
 *
 *   SEGMENT_PREPARING --zeros synced--> SEGMENT_SPARE --current one is full--> SEGMENT_CURRENT
 *       --no room for a record--> SEGMENT_FULL --applied, not retained--> removed
 *
 * Loop thread, but for the jobs inside. A failed write or sync of reserved space is reported to
 * on_fatal and nothing is acknowledged any more.
 */
#ifndef BACKEND_LOCAL_JOURNAL_H
#define BACKEND_LOCAL_JOURNAL_H

#include "backend/local/journal_format.h"
#include "backend/local/worker.h"

enum durability { DURABILITY_ALWAYS, DURABILITY_INTERVAL, DURABILITY_NEVER };

struct journal_options {
    const char *dir; /* borrowed for the journal's life */
    uint8_t database_id[DATABASE_ID_BYTES];
    uint64_t segment_bytes;
    enum durability durability;
    unsigned interval_ms;      /* DURABILITY_INTERVAL */
    int64_t retention_ms;      /* segments younger than this are kept ... */
    uint64_t retention_bytes;  /* ... as long as together they are smaller than this */
    struct worker *writer;     /* one thread, this journal's own; borrowed */
    struct worker *background; /* prepares and removes segments; borrowed */
    void (*on_fatal)(void *arg, const struct error *e);
    void (*on_room)(void *arg); /* a segment became ready: who got ERR_WAIT may try again */
    void *arg;
};

struct journal;

/* A segment that recovery found, oldest first. */
struct journal_old_segment {
    uint64_t number;
    uint64_t version_before;
    uint64_t last_version;
    int64_t last_time_ms;
    uint64_t bytes;
};

/* New segments are numbered from `next_number`; `last_version` is the newest one in the journal.
 * The first segment is prepared before this returns, unless the disk is full. *out is NULL on
 * error. */
ERR_MUST_USE enum err journal_open(const struct journal_options *options, uint64_t next_number,
                                   uint64_t last_version, struct journal **out, struct error *e);
void journal_add_old(struct journal *j, const struct journal_old_segment *old);
/* Waits for the sync of all appended. Frees. */
void journal_close(struct journal *j);
/* No more segments are prepared: before the background worker ends. */
void journal_stop_preparing(struct journal *j);
/* Frees without waiting for anything but a job under way: tests of recovery. */
void journal_abandon(struct journal *j);

/* Room for a transaction of `bytes` (txn_bytes)? OK, ERR_WAIT (on_room comes), ERR_DISK_FULL, or
 * ERR_LIMIT when no segment could ever hold it. */
ERR_MUST_USE enum err journal_room(struct journal *j, size_t bytes, struct error *e);
/* Room has been asked for and was OK. `version` is above all before. */
void journal_append(struct journal *j, uint64_t version, const struct batch *batch);
/* Hands the filled batch over if the thread is free. */
void journal_submit(struct journal *j);
/* All versions up to this one may be acknowledged under the durability chosen. */
uint64_t journal_acknowledged(const struct journal *j);
/* All versions up to this one are synced. */
uint64_t journal_synced(const struct journal *j);
/* The store needs versions synced that DURABILITY_NEVER or INTERVAL left unsynced. */
void journal_want_sync(struct journal *j);
/* Durability, its interval and retention of these options apply from now on; others are ignored.
 * Going to DURABILITY_ALWAYS, what was acknowledged before is synced as soon as the thread can;
 * until journal_acknowledged is no more than journal_synced it may still be lost. */
void journal_set_options(struct journal *j, const struct journal_options *options);
/* Segments whose versions are all <= applied and that retention lets go are removed. */
void journal_release(struct journal *j, uint64_t applied, int64_t now_ms);
/* Every 10 ms or so; `time_ms` is transaction time. */
void journal_tick(struct journal *j, int64_t time_ms);
/* The segment that is written to: its open file, and its name within the directory; -1 = none. */
int journal_current(const struct journal *j, char *name, size_t name_bytes);
bool journal_is_disk_full(const struct journal *j);
/* A write or sync failed: nothing will be acknowledged any more. */
bool journal_is_failed(const struct journal *j);

/* ---- history: the retained segments and the current one, read by others ---- */

/* A segment that somebody reads: until journal_unpin it is neither removed nor used again. */
struct journal_pin {
    struct segment *segment; /* NULL = none */
    struct segment_id id;
    uint64_t bytes;
    uint64_t version_before;
    uint64_t last_version; /* UINT64_MAX while it is still written to */
};

/* The oldest version after which no commit is missing in the journal. */
uint64_t journal_oldest(const struct journal *j);
/* The segment that holds what comes right after `after`, at least journal_oldest. False: there is
 * none yet. */
bool journal_pin(struct journal *j, uint64_t after, struct journal_pin *pin);
/* `is_damaged`: it could not be read to its end, and history now begins after it. */
void journal_unpin(struct journal_pin *pin, bool is_damaged);

struct journal_stats {
    uint64_t bytes, segments, syncs, sync_us, batches;
};
void journal_stats(const struct journal *j, struct journal_stats *out);

/* dir/journal-<number>.log; the inverse gives false for other names. */
void journal_path(struct buf *out, const char *dir, uint64_t number);
bool journal_number(const char *name, uint64_t *number);

#endif
