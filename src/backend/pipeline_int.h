/* pipeline_int: what the files of the pipeline share. Each room has a struct of its own:
 *
 *   log        the journal, versions, time          loading    reads of single keys under way
 *   newest     memtables, caches, what is absent    apply      memtables to the store
 *   stored     the store, its readers, its counts   clean      what is forgotten, from the store
 *   workers    threads                              admission  back-pressure
 *
 * A commit goes from `log` to `newest`; an apply from `newest` to `stored`; a read looks into
 * `newest`, then through `loading` into `stored`. pipeline.c composes them: commit, turns, opening
 * and closing.
 */
#ifndef BACKEND_PIPELINE_INT_H
#define BACKEND_PIPELINE_INT_H

#include "backend/absent.h"
#include "backend/cache.h"
#include "backend/damage.h"
#include "backend/kept.h"
#include "backend/pipeline.h"
#include "backend/range_cache.h"
#include "backend/worker.h"
#include "base/steady.h"

#define READERS_MAX 32 /* beside the loop's own: pinned scans and loads under way */

struct pooled_reader {
    struct pooled_reader *next; /* in the list of idle ones */
    struct store_reader *reader;
};

struct pipeline;
struct load_job;        /* load.c */
struct pipeline_backup; /* backup.c */
struct changes;         /* changes.c */
struct searches;        /* search.c */
struct verification;    /* verify.c */

/* ---- the rooms: each is changed by the files that are named, and read by the others ---- */

struct workers {
    struct worker *store; /* one thread, which writes the store */
    struct worker *query; /* reads of single keys and pages */
    struct worker *slow;  /* likewise, of what takes long: filtered scans, search */
};

/* What was committed, and when: pipeline.c, replay.c. */
struct log {
    struct journal *journal;    /* owned */
    uint64_t version_newest;    /* of the last commit */
    uint64_t version_next;      /* to be given; a start skips what was reserved */
    uint64_t version_told;      /* last on_durable */
    struct steady time;         /* transaction time */
    int64_t time_ahead_told_ms; /* in the log; 0 = it is not ahead */
    bool is_started;            /* the journal takes appends */
};

/* What the store has: pipeline.c, apply.c; its readers: readers.c. */
struct stored {
    struct store *store;            /* owned */
    uint64_t applied;               /* up to this version, as the last apply said ... */
    struct sparse counts;           /* ... struct store_counts; owned */
    struct store_counts counts_sum; /* of all of these */
    struct store_reader *reader;    /* the loop's own; never waits, never pinned */
    struct pooled_reader *idle_readers;
    unsigned readers_open;
    struct damage damage;
    bool text_is_filling; /* it has a text index that is not filled in yet */
};

/* The newest state as far as memory has it: remember.c, apply.c, load.c. */
struct newest {
    struct memtable *active;  /* head of the list, newest first */
    struct memtable *aside;   /* its end: entries that the store can not take (store_aside.c) */
    uint64_t unapplied_bytes; /* of frozen memtables; the active one is asked */
    unsigned frozen_count;
    struct memtable *retiring;  /* applied, its entries going into the cache; oldest of the list */
    uint64_t retire_generation; /* changes when a retirement begins or ends */
    struct cache cache;
    struct range_cache range_cache;
    struct absent absent;
    struct kept kept;
};

/* load.c: what is being read of the store for commands. */
struct loading {
    struct load_job *gathering; /* keys that this turn wants; NULL = none */
    double value_bytes;         /* of a value that was read from there, as of late */
    uint64_t keys_expected;     /* backend_expect */
    uint64_t reads, waits;
    uint64_t queries; /* for `waits`, as struct backend_stats has it */
};

struct apply_job {
    struct job job; /* first */
    struct pipeline *pipeline;
    struct memtable *memtable;
    struct store_progress progress;
    int64_t spent_us;
    enum err result;
    struct error error;
};

/* apply.c: memtables go to the store. */
struct apply {
    struct apply_job job;
    bool is_running;
    int64_t retry_us; /* not before; 0 = at once */
    unsigned failures;
    struct error error;
    struct waiter_list waiters; /* for the next one */
    uint64_t count, spent_us, rows;
};

/* clean.c: what is forgotten goes from the store. */
struct clean_job {
    struct job job; /* first */
    struct pipeline *pipeline;
    struct store_progress progress;
    bool has_more;
    int64_t spent_us;
    enum err result;
    struct error error;
};

struct clean {
    struct clean_job job;
    bool has_garbage, is_running;
    int64_t again_us; /* not before */
};

/* How fast the store follows. */
struct pace {
    double rate;      /* memtable bytes a second, of the applies that are over; 0 = of none yet */
    int64_t begin_us; /* of the apply that runs */
    int64_t rows_us;  /* that its rows took; 0 = not yet */
    double whole;     /* times the time of its rows is all of it; 0 = not known yet */
};

/* admission.c: writers wait while the store cannot follow. */
struct admission {
    struct pace pace;
    double budget; /* bytes that throttled writers may still write */
    int64_t budget_us;
    int64_t bulk_us; /* bulk work was last admitted although writers are throttled */
    struct waiter_list room_waiters, throttled, throttled_bulk;
    uint64_t count; /* of those that had to wait */
};

/* sweep.c */
struct trim_job {
    struct job job; /* first */
    bool is_running;
};

/* rest.c: memory of a store that has nothing to do. */
struct rest_job {
    struct job job; /* first */
    struct pipeline *pipeline;
};

struct rest {
    struct rest_job job;
    bool is_running;
    int64_t due_us; /* 0 = there is nothing to give back */
};

/* Puts the rooms together. */
struct pipeline {
    struct backend base; /* first */
    struct pipeline_options options;
    struct workers workers;
    struct log log;
    struct stored stored;
    struct newest newest;
    struct loading loading;
    struct apply apply;
    struct clean clean;
    struct trim_job trim;
    struct rest rest;
    struct admission admission;
    struct waiter_list yielded;
    struct pipeline_backup *backup;    /* under way; NULL = none is */
    struct changes *changes;           /* owned */
    struct searches *searches;         /* owned */
    struct verification *verification; /* the last one; NULL = there was none */
    unsigned scans_open;
    bool is_closing;
};

static inline struct pipeline *pipeline_of(struct backend *b)
{
    return (struct pipeline *)b;
}

static inline uint64_t pipeline_unapplied_bytes(const struct pipeline *p)
{
    return p->newest.unapplied_bytes + memtable_bytes(p->newest.active);
}

/* pipeline.c: the invariants of pipeline.h. Before and after a state is moved. */
void pipeline_check(const struct pipeline *p);

/* remember.c: mutations become part of the newest state; the time of the batch is not looked at. */
void pipeline_remember(struct pipeline *p, const struct batch *batch, uint64_t version);

/* load.c */
/* As load, but it begins no read: on ERR_WAIT there is no waiter. */
enum err pipeline_load_now(struct pipeline *p, struct slice key, struct entry *out,
                           struct error *e);
/* The end of a turn: what it wants of the store is read. */
void pipeline_load_post(struct pipeline *p);
/* The newest state of a key as far as memory knows it, cache included; without a trace there. */
bool pipeline_peek(const struct pipeline *p, uint64_t hash, struct slice key, struct entry *out);

/* rest.c: the store did something; and in each tick. */
void pipeline_rest_later(struct pipeline *p);
void pipeline_rest_try(struct pipeline *p);
/* sweep.c: at the end of a turn. */
void pipeline_sweep(struct pipeline *p);

/* apply.c */
void pipeline_freeze(struct pipeline *p);
/* The last reference gone, a query thread frees it. */
void pipeline_unref_memtable(struct pipeline *p, struct memtable *m);
void pipeline_freeze_if_due(struct pipeline *p);
void pipeline_apply_next(struct pipeline *p);
void pipeline_retire_slice(struct pipeline *p, size_t entries_max);
/* Blocks until no memtable holds anything unapplied: start and stop only. */
ERR_MUST_USE enum err pipeline_apply_all(struct pipeline *p, struct error *e);

/* admission.c */
void pipeline_budget_tick(struct pipeline *p);
/* An apply begins; one that took so long is over. */
void pipeline_pace_begin(struct pipeline *p);
void pipeline_pace_applied(struct pipeline *p, const struct memtable *m, int64_t spent_us);
/* OK, unless nothing is committed here. */
enum err pipeline_may_commit(const struct pipeline *p, struct error *e);
/* Why the store cannot be written: for a caller that must wait for that. */
enum err pipeline_store_error(const struct pipeline *p, struct error *e);

/* As waiter_wake_all, but when everything ends: then they are let go. */
static inline void pipeline_wake(const struct pipeline *p, struct waiter_list *waiters)
{
    if (p->is_closing) {
        waiter_drop_all(waiters);
    } else {
        waiter_wake_all(waiters);
    }
}

/* readers.c; loop thread */
ERR_MUST_USE enum err reader_take(struct pipeline *p, struct pooled_reader **out, struct error *e);
void reader_give(struct pipeline *p, struct pooled_reader *r);
void readers_close(struct pipeline *p);

/* backup.c */
/* Goes on if what it waits for is there. */
void pipeline_backup_try(struct pipeline *p);
void pipeline_backup_stop(struct pipeline *p);

/* changes.c */
struct changes *changes_new(void);
void changes_free(struct changes *c);
/* Begins those that waited for a version. */
void pipeline_changes_try(struct pipeline *p);
/* Those that still wait learn that the server stops. */
void pipeline_changes_stop(struct pipeline *p);

/* search.c */
struct searches *searches_new(void);
void searches_free(struct searches *s);
/* Begins those whose barrier was reached. */
void pipeline_searches_try(struct pipeline *p);
/* Those that still wait learn that the server stops. */
void pipeline_searches_stop(struct pipeline *p);
/* The next slice of a text index that is being filled, if there is one. */
void pipeline_fill_try(struct pipeline *p);

/* clean.c: removes the next slice of what is forgotten, if there is something. */
void pipeline_clean_try(struct pipeline *p);

/* verify.c */
void pipeline_verify_free(struct pipeline *p);

/* replay.c: at a start, what the journal holds beyond the store; *version_next: the first that may
 * be given. */
ERR_MUST_USE enum err pipeline_replay(struct pipeline *p, struct error *e);
/* struct journal_owner. */
enum err pipeline_followed(struct journal *j, struct txn_view *txn, struct error *e);

#endif
