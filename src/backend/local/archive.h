/* archive: a directory that keeps what the journal lets go: its segments once they are full, and
 * whole copies of the database (bases) to begin from, so that the state of any commit can be built
 * again (docs/archive.md). archive_manifest.h says what is in it.
 *
 *   LOCK               held while the manifest is changed: by servers and by restores
 *   manifest
 *   <timeline>-<number>.log     a segment of the journal, without what is unused at its end
 *   <timeline>-<version>.db     a base
 *
 * A segment is copied, not linked: the journal uses its files again, and a copy on another disk is
 * what an archive is for. Each batch is checked on the way. A file is there, synced, before the
 * manifest names it, and no longer named before it is removed.
 *
 * Loop thread, but for the jobs, which a thread of its own runs one after the other.
 */
#ifndef BACKEND_LOCAL_ARCHIVE_H
#define BACKEND_LOCAL_ARCHIVE_H

#include "backend/local/archive_manifest.h"
#include "backend/worker.h"

struct archive;
struct lineage;
struct text_ops;

struct archive_options {
    const char *dir; /* copied; made when it is missing */
    const uint8_t *database_id;
    const struct lineage *lineage;
};

/* Reads the manifest, or makes one. ERR_CORRUPT: damaged, or it is the archive of another database;
 * ERR_FORMAT, ERR_IO, ERR_DISK_FULL. */
ERR_MUST_USE enum err archive_open(const struct archive_options *options, struct archive **out,
                                   struct error *e);
/* Begins to run jobs; as worker_new. */
ERR_MUST_USE enum err archive_start(struct archive *a, const struct worker_options *options,
                                    struct error *e);
/* Before archive_start: has it this segment of this timeline? */
bool archive_has(const struct archive *a, uint64_t number);
/* Before archive_start: up to which version it has everything. */
uint64_t archive_reach(const struct archive *a);
bool archive_poll(struct archive *a);
/* Waits until no job is left; bases that are being taken end early, with an error. */
void archive_drain(struct archive *a);
/* Waits for the jobs. Frees; NULL is none. */
void archive_close(struct archive *a);

/* Copies a segment. The caller's until done(). */
struct archive_segment {
    struct job job; /* first */
    struct archive *archive;
    const char *source; /* path of the file */
    struct segment_id id;
    struct manifest_segment about; /* number, before, last; the rest is a result */
    bool is_damaged;               /* result: the file is not what the journal says */
    enum err result;
    struct error error;
    void (*done)(struct archive_segment *k); /* loop thread */
    void *arg;
};

void archive_segment(struct archive *a, struct archive_segment *k);
/* The same now, in the caller's thread, when no job runs. */
ERR_MUST_USE enum err archive_segment_now(struct archive *a, struct archive_segment *k);

/* Takes a copy of the database that was made at archive_base_path, gives it its own name, and lets
 * what is too old go: bases, and segments that no base needs that stays. The caller's until
 * done(). */
struct archive_base {
    struct job job; /* first */
    struct archive *archive;
    const char *path;           /* of the copy: it is gone afterwards, also on an error */
    struct manifest_base about; /* version, time_ms, without, whose data are taken out of the copy;
                                 * the rest is a result */
    const struct text_ops *text_ops; /* backend/text.h; for `without` */
    int64_t retention_ms; /* any moment that is not further back stays; 0 = of all time */
    unsigned keep;        /* at least so many bases stay */
    enum err result;
    struct error error;
    void (*done)(struct archive_base *k); /* loop thread */
    void *arg;
};

void archive_base(struct archive *a, struct archive_base *k);

struct archive_stats {
    uint64_t segments, bases, bytes; /* that it has, of all timelines */
    uint64_t version;                /* of this timeline: up to here all commits are in it */
    int64_t time_ms;                 /* of the newest of them */
    uint64_t base_version;           /* of the newest base of this timeline; 0 = there is none */
    int64_t base_ms;
    uint64_t failures;
    bool is_failing; /* the last job failed */
    char error[ERROR_TEXT_BYTES];
};

void archive_stats(struct archive *a, struct archive_stats *out);
/* False, with ERR_IO: its directory is not what it was, perhaps a disk that is not mounted. */
ERR_MUST_USE bool archive_is_there(const struct archive *a, struct error *e);
/* Where a copy of the database is to be made that archive_base then takes; NUL-ended. */
void archive_base_path(const struct archive *a, struct buf *out);

/* ---- for restores too ---- */

/* Takes the lock, waiting a little; ERR_LOCKED: it is held for longer. file_unlock ends it. */
ERR_MUST_USE enum err archive_lock(const char *dir, int *fd, struct error *e);

/* A segment in memory: its batches, up to the one that ends with version `last`. ERR_CORRUPT: it
 * is not that segment, or damaged. `end`: offset after the last batch; `last_ms`: of the newest
 * commit. */
struct segment_walk {
    struct segment_id id;
    uint64_t before, last;
    /* Called with each transaction, in order; NULL = they are not wanted. */
    enum err (*take)(struct segment_walk *w, struct txn_view *txn, struct error *e);
    void *arg;
    bool is_over; /* set by `take`: what follows is not wanted, and not looked at */
    /* results, also on an error: what could be read */
    uint64_t version;
    size_t end;
    int64_t last_ms;
};

ERR_MUST_USE enum err segment_walk(struct segment_walk *w, struct slice bytes, struct error *e);

/* XXH3 of a whole file, and its length; *is_stopping (atomic; NULL = never) ends it early. */
ERR_MUST_USE enum err archive_sum(const char *path, const bool *is_stopping, uint64_t *bytes,
                                  uint64_t *sum, struct error *e);

#endif
