/* journal_int: what journal.c (batches and the journal thread) and segments.c (files: prepared
 * ahead, retained, used again) share.
 */
#ifndef BACKEND_LOCAL_JOURNAL_INT_H
#define BACKEND_LOCAL_JOURNAL_INT_H

#include "backend/local/journal.h"
#include "base/file.h"

enum segment_state { SEGMENT_PREPARING, SEGMENT_SPARE, SEGMENT_CURRENT, SEGMENT_FULL };

struct segment {
    struct job job; /* first: preparing and removing */
    struct journal *journal;
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
    unsigned batches_in_flight; /* sealed, not yet collected: the file must stay open */
    enum err result;            /* of the job */
    struct error error;
};

struct sealed_batch {
    struct sealed_batch *next;
    struct segment *segment;
    uint64_t offset;
    size_t header_at; /* in bytes: after the segment header when the batch is a segment's first */
    struct batch_header header;
    struct buf bytes;
};

struct write_job {
    struct job job; /* first */
    struct journal *journal;
    struct sealed_batch *batches;
    struct segment *unsynced; /* written to since its last sync; at most one, see write_batches */
    bool wants_sync;
    int64_t sync_us;
    enum err result;
    struct error error;
};

struct journal {
    struct journal_options options;
    struct segment *current; /* NULL when the disk was full at the start */
    struct segment *spares;  /* prepared ones; SPARES_WANTED of them when there was time */
    unsigned spare_count;
    struct segment *retained; /* full ones, oldest first */
    struct segment **retained_end;
    uint64_t retained_bytes;
    uint64_t retained_count;
    uint64_t next_number;
    uint64_t new_bytes;           /* size of segments prepared from now on; see segments.c */
    uint64_t applied;             /* as journal_release last said ... */
    int64_t released_ms;          /* ... and when */
    struct sealed_batch *filling; /* never NULL; payload grows after the headers' room */
    struct sealed_batch *sealed;  /* waiting for the thread, oldest first */
    struct sealed_batch **sealed_end;
    struct sealed_batch *unused;
    struct write_job job;
    struct segment *unsynced; /* job.unsynced when the last job ended: the loop's copy */
    uint64_t version_last;    /* appended */
    uint64_t version_written; /* in the file, synced or not */
    uint64_t version_acknowledged;
    uint64_t version_synced;
    uint64_t version_marked; /* highest durable version that a batch on disk names */
    int64_t appended_us;     /* monotonic */
    int64_t synced_us;
    int64_t prepare_failed_us; /* 0 = it did not */
    bool is_preparing;
    bool is_closing;
    bool is_closed_clean; /* all is synced */
    bool is_writing;
    bool is_failed;
    bool wants_sync;
    struct error prepare_error;
    uint64_t syncs, sync_us, batches;
};

/* segments.c */
struct segment *segment_new(struct journal *j);
void segment_free(struct segment *s);
void segment_move(struct segment *s, enum segment_state to);
/* Makes the first segment, in the caller's thread; on a full disk there is none yet. */
ERR_MUST_USE enum err segment_first(struct journal *j, struct error *e);
/* Sees to it that spares are prepared, in the background. */
void journal_prepare(struct journal *j);
/* Does the next spare hold a transaction that needs so many bytes of a segment? If not, it goes,
 * and larger ones are prepared. */
bool segment_spare_fits(struct journal *j, uint64_t bytes);
/* The current segment is full: the next spare, of which there is one, takes its place. */
void segment_advance(struct journal *j);
void segments_close(struct journal *j);
/* Of the current one and the spares. */
uint64_t segments_bytes(const struct journal *j);

#endif
