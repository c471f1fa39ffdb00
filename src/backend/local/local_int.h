/* local_int: the local backend's own parts: local.c (load, commit), apply.c (memtables to the
 * store, back-pressure), scan.c (ranges), recover.c (start), backup.c, versions.c (the reserved
 * block).
 */
#ifndef BACKEND_LOCAL_LOCAL_INT_H
#define BACKEND_LOCAL_LOCAL_INT_H

#include "backend/local/cache.h"
#include "backend/local/damage.h"
#include "backend/local/journal.h"
#include "backend/local/local.h"
#include "backend/local/memtable.h"
#include "backend/local/range_cache.h"
#include "backend/local/store.h"
#include "backend/local/worker.h"
#include "base/steady.h"

#define READERS_MAX 32 /* beside the loop's own: pinned scans and loads under way */

struct pooled_reader {
    struct pooled_reader *next; /* in the list of idle ones */
    struct store_reader *reader;
};

struct local;
struct local_backup; /* backup.c */
struct changes;      /* changes.c */
struct searches;     /* search.c */

struct apply_job {
    struct job job; /* first */
    struct local *local;
    struct memtable *memtable;
    struct store_progress progress;
    int64_t spent_us;
    enum err result;
    struct error error;
};

/* clean.c */
struct clean_job {
    struct job job; /* first */
    struct local *local;
    struct store_progress progress;
    bool has_more;
    enum err result;
    struct error error;
};

struct versions_job {
    struct job job; /* first */
    struct local *local;
    uint64_t reserve; /* new end of the block */
    enum err result;
    struct error error;
};

struct local {
    struct backend base; /* first */
    struct local_options options;
    char *dir; /* owned */
    int lock_fd;
    struct worker *journal_worker, *store_worker, *query_worker;
    struct worker *long_worker; /* as query_worker, for what takes long: filtered scans, search */
    struct journal *journal;
    struct store *store;
    struct store_reader *reader; /* the loop's own; never waits, never pinned */
    struct pooled_reader *idle_readers;
    unsigned readers_open;
    struct cache cache;
    struct range_cache range_cache;
    struct memtable *active;  /* head of the list, newest first */
    struct memtable *aside;   /* its end: entries that the store can not take (store_aside.c) */
    uint64_t unapplied_bytes; /* of frozen memtables; the active one is asked */
    unsigned frozen_count;
    struct memtable *retiring;   /* applied, its entries going into the cache; oldest of the list */
    uint64_t retire_generation;  /* changes when a retirement begins or ends */
    uint64_t version_newest;     /* of the last commit */
    uint64_t version_next;       /* to be given; a start skips what was reserved */
    uint64_t version_told;       /* last on_durable */
    uint64_t version_reserved;   /* versions below this one may be given */
    struct steady time;          /* transaction time */
    int64_t time_ahead_told_ms;  /* in the log; 0 = it is not ahead */
    struct local_backup *backup; /* under way; NULL = none is */
    struct changes *changes;     /* owned */
    struct searches *searches;   /* owned */
    bool text_is_filling;        /* the store has a text index that is not filled in yet */
    struct apply_job apply;
    struct clean_job clean;
    bool has_garbage, is_cleaning; /* of forgotten ranges */
    int64_t clean_again_us;        /* not before; after an error */
    int64_t guarded_us;            /* guard.c looked then */
    bool is_guarded;               /* it found something */
    struct versions_job versions;
    int64_t versions_failed_us; /* 0 = the last reservation succeeded */
    bool is_applying, is_reserving, is_closing;
    int64_t apply_retry_us; /* not before; 0 = at once */
    unsigned apply_failures;
    struct error apply_error;
    double apply_rate;   /* memtable bytes a second that the store follows */
    double write_budget; /* bytes that throttled writers may still write; see apply.c */
    int64_t budget_us;
    int64_t bulk_us; /* bulk work was last admitted although writers are throttled */
    struct waiter_list settle_waiters; /* for the next apply */
    struct waiter_list room_waiters, throttled, throttled_bulk, yielded;
    struct damage damage;
    struct verification *verification; /* the last one; NULL = there was none */
    uint64_t applies, apply_us, apply_rows, store_reads, store_waits, throttles;
    unsigned scans_open;
};

static inline struct local *local_of(struct backend *b)
{
    return (struct local *)b;
}

/* local.c: a mutation becomes part of the newest state. */
void local_remember(struct local *l, const struct mutation *mu, const struct entry *before,
                    uint64_t version);

enum err local_load(struct backend *b, struct slice key, struct entry *out, struct waiter *w,
                    struct error *e);

/* apply.c */
void local_freeze(struct local *l);
/* The last reference gone, a query thread frees it. */
void local_unref_memtable(struct local *l, struct memtable *m);
void local_freeze_if_due(struct local *l);
void local_apply_next(struct local *l);
void local_retire_slice(struct local *l, size_t entries_max);
enum err local_admit(struct backend *b, struct waiter *w, struct error *e);
enum err local_admit_bulk(struct backend *b, struct waiter *w, struct error *e);
void local_budget_tick(struct local *l);
/* Blocks until no memtable holds anything unapplied: start and stop only. */
ERR_MUST_USE enum err local_apply_all(struct local *l, struct error *e);
uint64_t local_unapplied_bytes(const struct local *l);

/* readers; loop thread */
ERR_MUST_USE enum err reader_take(struct local *l, struct pooled_reader **out, struct error *e);
void reader_give(struct local *l, struct pooled_reader *r);

/* backup.c */
ERR_MUST_USE enum err local_backup(struct backend *b, struct backup_request *q, struct error *e);
/* Goes on if what it waits for is there. */
void local_backup_try(struct local *l);
void local_backup_stop(struct local *l);

/* changes.c */
struct changes *changes_new(void);
void changes_free(struct changes *c);
void local_changes(struct backend *b, struct changes_request *q);
/* Begins those that waited for a version. */
void local_changes_try(struct local *l);
/* Those that still wait learn that the server stops. */
void local_changes_stop(struct local *l);

/* search.c */
struct searches *searches_new(void);
void searches_free(struct searches *s);
void local_search(struct backend *b, struct text_request *q);
/* Begins those whose barrier was reached. */
void local_searches_try(struct local *l);
/* Those that still wait learn that the server stops. */
void local_searches_stop(struct local *l);
/* The next slice of a text index that is being filled, if there is one. */
void local_fill_try(struct local *l);

/* clean.c: removes the next slice of what is forgotten, if there is something. */
void local_clean_try(struct local *l);

/* guard.c: at every tick. */
void local_guard_tick(struct local *l);

/* verify.c */
struct verification;
ERR_MUST_USE enum err local_verify_start(struct backend *b, struct error *e);
bool local_verify_stop(struct backend *b);
void local_verify_figures(struct backend *b, struct verify_figures *out);
void local_verify_free(struct local *l);

/* scan.c */
enum err local_scan_open(struct backend *b, const struct scan_range *range, struct scan **out,
                         struct error *e);
enum err local_scan_next(struct scan *s, struct slice *key, struct entry *out, struct waiter *w,
                         struct error *e);
enum err local_scan_load(struct scan *s, const struct slice *keys, size_t count, struct entry *out,
                         struct waiter *w, struct error *e);
uint64_t local_scan_depends(const struct scan *s);
enum err local_scan_pause(struct scan *s, struct error *e);
void local_scan_close(struct scan *s);

/* versions.c: see there. */
ERR_MUST_USE enum err versions_open(struct local *l, uint64_t last_version, struct error *e);
/* May the next version be given? OK; ERR_WAIT (room_waiters are woken); ERR_DISK_FULL, ERR_IO. */
ERR_MUST_USE enum err versions_ready(struct local *l, struct error *e);
ERR_MUST_USE enum err versions_close(struct local *l, struct error *e);

/* recover.c: replays the journal into memtables and the store; *next_number is for the new segment.
 */
struct recovered {
    uint64_t next_number;
    uint64_t last_version;
    struct journal_old_segment *segments; /* owned by the caller; oldest first */
    size_t segment_count;
};
ERR_MUST_USE enum err local_recover(struct local *l, struct recovered *out, struct error *e);

#endif
