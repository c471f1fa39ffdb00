/* file_journal_int: what file_journal.c (batches and jobs), journal_write.c, segments.c (files:
 * prepared ahead, retained, used again), recover.c (the start), history.c (reading what was
 * committed), versions.c (the reserved block) and guard.c share.
 */
#ifndef BACKEND_LOCAL_FILE_JOURNAL_INT_H
#define BACKEND_LOCAL_FILE_JOURNAL_INT_H

#include "backend/local/archive.h"
#include "backend/local/direct.h"
#include "backend/local/file_journal.h"
#include "backend/worker.h"
#include "base/file.h"
#include "base/histogram.h"

enum segment_state { SEGMENT_PREPARING, SEGMENT_SPARE, SEGMENT_CURRENT, SEGMENT_FULL };

struct file_journal;
struct places; /* history.c */

struct segment {
    struct job job; /* first: preparing and removing */
    struct file_journal *journal;
    struct segment *next; /* retained ones, oldest first */
    enum segment_state state;
    struct segment_id id;
    struct file file;
    uint64_t bytes;
    uint64_t used;          /* bytes sealed or written */
    uint64_t reused_number; /* of the segment whose file it gets */
    uint64_t version_before;
    uint64_t last_version;
    int64_t last_time_ms;
    int64_t current_us;         /* monotonic: when it became the current one */
    unsigned pins;              /* readers of history: the file must stay as it is */
    bool is_damaged;            /* a reader found it so */
    bool is_archived;           /* or there is nothing in it */
    unsigned batches_in_flight; /* sealed, not yet collected: the file must stay open */
    enum err result;            /* of the job */
    struct error error;
};

/* A segment that recovery found, oldest first. */
struct old_segment {
    uint64_t number;
    uint64_t version_before;
    uint64_t last_version;
    int64_t last_time_ms;
    uint64_t bytes;
};

struct sealed_batch {
    struct journal_batch base; /* first */
    struct sealed_batch *next;
    struct segment *segment;
    uint64_t offset;
    size_t header_at; /* in bytes: after the segment header when the batch is a segment's first */
    struct batch_header header;
};

#define JOURNAL_JOBS 2 /* under way at a time */

struct write_job {
    struct job job; /* first */
    struct file_journal *journal;
    struct sealed_batch *batches;
    struct segment *unsynced; /* written to since its last sync; at most one, see write_batches */
    bool wants_sync;
    bool may_be_direct; /* past the page cache */
    bool was_direct;
    bool is_ahead;         /* posted before the one before it was done */
    bool is_done;          /* collected; the one before it may not be */
    struct direct *direct; /* owned; NULL = writes go through the page cache */
    struct worker *writer; /* its thread; NULL before `start` */
    int64_t sync_us;
    enum err result;
    struct error error;
};

/* versions.c */
struct versions_job {
    struct job job; /* first */
    struct file_journal *journal;
    uint64_t reserve; /* new end of the block */
    enum err result;
    struct error error;
};

struct file_journal {
    struct journal base; /* first */
    struct file_journal_options options;
    char *dir;                 /* owned */
    struct worker *background; /* one thread: prepares and removes segments, reserves versions */
    struct segment *current;   /* NULL when the disk was full at the start */
    struct segment *spares;    /* prepared ones; SPARES_WANTED of them when there was time */
    unsigned spare_count;
    struct segment *retained; /* full ones, oldest first */
    struct segment **retained_end;
    uint64_t retained_bytes;
    uint64_t retained_count;
    uint64_t next_number;
    uint64_t new_bytes;          /* size of segments prepared from now on; see segments.c */
    uint64_t applied;            /* as the last release said ... */
    int64_t released_ms;         /* ... and when */
    struct sealed_batch *sealed; /* waiting for a thread, oldest first */
    struct sealed_batch **sealed_end;
    struct sealed_batch *unused;
    struct write_job jobs[JOURNAL_JOBS];
    unsigned under_way;       /* jobs; the newest is ... */
    unsigned newest;          /* ... this one, or was, when none is */
    unsigned told;            /* transactions of the job that was collected last */
    int64_t sync_us_last;     /* of that job */
    int64_t current_read_us;  /* monotonic: history was read in the current segment; 0 = never */
    struct segment *unsynced; /* of the job that was collected last */
    uint64_t version_written; /* in the file, synced or not */
    uint64_t version_marked;  /* highest durable version that a batch on disk names */
    int64_t sealed_us;        /* monotonic: the first tick after a batch was sealed; 0 = none yet */
    int64_t synced_us;
    int64_t prepare_failed_us; /* 0 = it did not */
    bool is_preparing;
    bool is_closing;
    bool is_closed_clean; /* all is synced */
    bool wants_sync;
    struct error prepare_error;
    uint64_t syncs, sync_us, batches;
    uint64_t own_syncs;    /* that the loop did */
    uint64_t direct_syncs; /* past the page cache */
    unsigned polls;
    uint64_t ahead;       /* jobs that were posted before the one before them was done */
    unsigned short_syncs; /* in a row */
    /* Bytes of transactions since the start. */
    uint64_t sealed_bytes, written_bytes, synced_bytes;
    struct histogram sync_times;
    struct places *places;     /* owned */
    uint64_t version_reserved; /* versions below this one may be given */
    struct versions_job versions;
    int64_t versions_failed_us; /* 0 = the last reservation succeeded */
    bool is_reserving;
    struct archive_segment archiving; /* journal_archive.c: the segment that is being copied ... */
    struct segment *archived;         /* ... which is this one; NULL = none is */
    struct buf archive_source;        /* its path */
    int64_t archive_failed_us;        /* 0 = the last copy was made */
    int64_t guarded_us;               /* guard.c looked then */
    bool is_guarded;                  /* it found something */
};

static inline struct file_journal *file_journal_of(struct journal *j)
{
    return (struct file_journal *)j;
}

/* journal_write.c: the run of a write_job; on its thread, or on the loop's. */
void journal_write_run(struct job *job);

/* segments.c */
/* Makes the first segment, in the caller's thread; on a full disk there is none yet. */
ERR_MUST_USE enum err segment_first(struct file_journal *j, struct error *e);
void segment_add_old(struct file_journal *j, const struct old_segment *old);
/* Sees to it that spares are prepared, in the background. */
void journal_prepare(struct file_journal *j);
void journal_release(struct journal *journal, uint64_t applied, int64_t time_ms);
/* Does the next spare hold a transaction that needs so many bytes of a segment? If not, it goes,
 * and larger ones are prepared. */
bool segment_spare_fits(struct file_journal *j, uint64_t bytes);
/* The current segment is full: the next spare, of which there is one, takes its place. */
void segment_advance(struct file_journal *j);
/* Full for the archive's sake; the next ones are smaller when little of it was used. */
void segment_advance_early(struct file_journal *j);
/* Gives back what is unused at the end of a full segment, in the background. */
void segment_shrink(struct file_journal *j, struct segment *s);
void segments_close(struct file_journal *j);
/* Of the current one and the spares. */
uint64_t segments_bytes(const struct file_journal *j);
/* The segment that is written to: its open file, and its name within the directory; -1 = none. */
int journal_current(const struct file_journal *j, char *name, size_t name_bytes);

/* A segment that is being read: until segment_unpin it is neither removed nor used again. */
struct segment_pin {
    struct segment *segment; /* NULL = none */
    struct segment_id id;
    uint64_t bytes;
    uint64_t version_before;
    uint64_t last_version; /* UINT64_MAX while it is still written to */
};

uint64_t journal_oldest(const struct journal *journal);
/* The segment that holds what comes right after `after`, at least journal_oldest. False: there is
 * none yet. */
bool segment_pin(struct file_journal *j, uint64_t after, struct segment_pin *pin);
/* `is_damaged`: it could not be read to its end, and history now begins after it. */
void segment_unpin(struct segment_pin *pin, bool is_damaged);

/* recover.c: replays what the segments hold; sets up the list of old ones, and next_number. The
 * newest version, which may be r->after. */
ERR_MUST_USE enum err journal_recover(struct file_journal *j, struct journal_replay *r,
                                      uint64_t *last_version, struct error *e);

/* history.c */
struct places *places_new(void);
void places_free(struct places *c);
bool history_begin(struct journal *journal, struct journal_read *r);
void history_run(struct journal *journal, struct journal_read *r);
void history_end(struct journal *journal, struct journal_read *r);

/* versions.c: see there. */
ERR_MUST_USE enum err versions_open(struct file_journal *j, uint64_t last_version, uint64_t *next,
                                    struct error *e);
ERR_MUST_USE enum err versions_reserve(struct journal *journal, uint64_t next, struct error *e);
/* Gives back what is left of the block. */
ERR_MUST_USE enum err versions_close(struct file_journal *j, uint64_t next, struct error *e);

/* journal_archive.c: does nothing without an archive. */
ERR_MUST_USE enum err journal_archive_start(struct file_journal *j, struct error *e);
/* Copies the oldest full segment that the archive does not have, if none is being copied. */
void journal_archive_try(struct file_journal *j);
/* Must the current segment be left although it is not full? */
bool journal_archive_is_due(const struct file_journal *j, int64_t now_us);
/* At the end: all is synced and no job runs any more but the archive's. What the archive does not
 * have yet is copied now. */
void journal_archive_end(struct file_journal *j);

/* guard.c: at every tick. */
void guard_tick(struct file_journal *j);

#endif
