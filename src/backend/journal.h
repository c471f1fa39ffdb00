/* journal: what makes a commit last: the upper of the two things that a pipeline stands on (the
 * other is store.h). Batches of transactions are appended to it, it says in order up to which
 * version they are durable, and gives them back: at a start what the store does not have yet, later
 * as history. backend/local keeps one in files.
 *
 *   filling -> sealed -> [written, made durable] -> acknowledged, synced
 *
 * The owner appends transactions to the batch that is being filled, as long as there is `room` for
 * them: no call is made for that. journal_submit seals it and hands it over if the journal is not
 * busy with the one before: what arrives meanwhile fills the next (group commit without a timer).
 *
 * Threads: all calls come from one thread, the loop, and do not block, but for those that are said
 * to. What takes time is done by threads of the journal's own; it calls `wake` from there when
 * `poll` has something to collect. It calls the owner's other functions, and changes the members
 * that the owner reads, from within calls of the loop thread alone.
 *
 * Order: versions become durable as they were appended, without a gap. What a failed append would
 * have held is never acknowledged, nor anything after it.
 *
 * Errors: a failure after which nothing can be acknowledged any more is told once, by on_fatal (the
 * journal itself failed) or on_lost (it belongs to another process now: what was evaluated but not
 * acknowledged never becomes durable, and what is in memory is not true any more). Both may come
 * from within any call: the owner remembers it, and later closes or abandons.
 */
#ifndef BACKEND_JOURNAL_H
#define BACKEND_JOURNAL_H

#include "backend/txn.h"

struct journal;

struct journal_batch {
    uint64_t first_version; /* 0 = nothing was appended yet */
    uint64_t last_version;
    int64_t time_ms; /* of the last transaction */
    uint32_t transactions;
    size_t head_bytes; /* of `bytes`, in front: the journal's own */
    struct buf bytes;  /* then transactions (txn.h) */
};

/* Set by the owner before `start`. */
struct journal_owner {
    bool is_inline;          /* no threads: `poll` does the work, one step a call */
    void (*wake)(void *arg); /* any thread: poll is wanted */
    void *wake_arg;
    void (*on_room)(struct journal *j); /* who got ERR_WAIT may try again */
    void (*on_fatal)(struct journal *j, const struct error *e);
    void (*on_lost)(struct journal *j, const struct error *e);
    /* Of a journal that follows what another process appends: the next commit, in order, which is
     * durable. An error ends it: on_lost. */
    enum err (*on_followed)(struct journal *j, struct txn_view *txn, struct error *e);
    void *arg;
};

/* What `start` finds. */
struct journal_replay {
    uint64_t after; /* transactions with versions above it are given to `take`, in order */
    /* May take long, and may end the start with an error. */
    enum err (*take)(struct journal_replay *r, struct txn_view *txn, struct error *e);
    /* One that take will get soon: time to ask the processor for the memory that it will need. */
    void (*announce)(struct journal_replay *r, const struct txn_view *txn);
    void *arg;
    struct patch_values values; /* the owner's, for the journal: whole values of what `take` gets as
                                 * patches */
    uint64_t transactions;      /* counted by `take` */
    /* results */
    int64_t time_ms;       /* the newest in the journal; 0 = none */
    uint64_t version_next; /* the first that may be given */
};

/* A part of the history, read by a worker thread. */
struct journal_read {
    uint64_t after; /* commits after this version ... */
    uint64_t until; /* ... up to this one, which is durable */
    /* On the thread that reads: a commit, in order, each once. Sets *is_full, and takes nothing,
     * when there is enough. */
    enum err (*take)(struct journal_read *r, struct txn_view *txn, bool *is_full, struct error *e);
    /* The journal's, for `take`: what the patch has made of the value, borrowed until the next
     * call. NULL: it has no patches. */
    enum err (*whole)(struct journal_read *r, uint64_t version, const struct mutation *patch,
                      struct slice *value, struct error *e);
    void *arg;
    void *reading; /* the journal's own, from read_begin to read_end */
    /* results, after read_end */
    uint64_t next;   /* up to here everything was given to `take`, before an error too */
    bool is_damaged; /* with ERR_STALE: what follows cannot be read, and history begins after it */
    enum err result; /* ERR_STALE: what followed `after` is not there, or never was. ERR_IO,
                      * ERR_NOMEM: may be gone when asked again. */
    struct error error;
};

struct journal_stats {
    uint64_t bytes, segments, syncs, sync_us, batches;
    uint64_t own_syncs;      /* that `submit` did itself */
    uint64_t direct_syncs;   /* past the page cache */
    uint64_t ahead;          /* appends that were sent before the one before them was done */
    uint64_t written_bytes;  /* of transactions, since the start */
    uint64_t unsynced_bytes; /* of transactions that were appended and are not synced yet */
    const struct histogram *sync_times; /* of each sync, with the writes before it; borrowed; NULL =
                                         * not known */
};

struct journal_ops {
    /* Blocks. Replays, makes ready for appends. ERR_CORRUPT, ERR_FORMAT, ERR_IO, ERR_DISK_FULL;
     * a full disk alone is no error: reads need no room. */
    enum err (*start)(struct journal *j, struct journal_replay *r, struct error *e);
    /* Called when `room` is too little for a transaction of `bytes`. OK: there is room now, perhaps
     * in a new batch; ERR_WAIT: on_room comes; ERR_DISK_FULL; ERR_LIMIT: there can never be. */
    enum err (*reserve)(struct journal *j, size_t bytes, struct error *e);
    /* When not busy: seals what was filled and hands it over; while something is under way it may
     * be left to be filled further. */
    void (*submit)(struct journal *j); /* with own_txns it may return with all of it done */
    /* What was appended is to become safe although a weak durability would let it wait. */
    void (*want_sync)(struct journal *j);
    /* Blocks until all that was appended is synced or the journal failed: stop only. */
    void (*settle)(struct journal *j);
    /* Collects what its threads did. True when an append ended. */
    bool (*poll)(struct journal *j);
    /* Every 10 ms or so; `time_ms` is transaction time. */
    void (*tick)(struct journal *j, int64_t time_ms);
    /* The store has all versions up to `applied`: what is only kept for it may go. */
    void (*release)(struct journal *j, uint64_t applied, int64_t time_ms);
    /* Called before a commit from versions_low on. OK: `next` may be given; ERR_WAIT: on_room
     * comes; ERR_DISK_FULL, ERR_IO. No version is given twice, whatever is lost. */
    enum err (*versions_reserve)(struct journal *j, uint64_t next, struct error *e);
    /* The oldest version after which no commit is missing. */
    uint64_t (*oldest)(const struct journal *j);
    /* Prepares a read of what comes right after r->after, which is at least `oldest`. False:
     * there is nothing yet. What is being read is not let go until read_end. */
    bool (*read_begin)(struct journal *j, struct journal_read *r);
    /* Any thread, blocks: a bounded part; several reads at once. */
    void (*read_run)(struct journal *j, struct journal_read *r);
    void (*read_end)(struct journal *j, struct journal_read *r);
    void (*stats)(const struct journal *j, struct journal_stats *out);
    /* Of a journal that other processes wait for, in place of `close`: blocks until all that was
     * appended is durable, then one of them may go on at once, and reads here what the store does
     * not have. `version_next` as for close. `abandon` follows, also after an error. NULL = none
     * waits. */
    enum err (*hand_over)(struct journal *j, uint64_t version_next, struct error *e);
    /* Blocks until all that was appended is durable. `version_next` is given back for the next
     * start; 0 = none is. No read is under way. Frees, also on an error. NULL where there is
     * hand_over. */
    enum err (*close)(struct journal *j, uint64_t version_next, struct error *e);
    /* As the end of the process would: waits for no I/O that may take long. Frees. */
    void (*abandon)(struct journal *j);
};

struct journal {
    const struct journal_ops *ops;
    struct journal_owner owner;
    /* What follows is the journal's; the owner reads it, and appends by journal_append. */
    struct journal_batch *filling; /* from `start` on never NULL */
    size_t room;                   /* bytes of transactions that `filling` may have */
    struct patch_log *patches; /* of the segment that is written to; NULL = all is written whole */
    uint64_t place;            /* of `filling` in the segment */
    uint64_t version_last;     /* appended */
    uint64_t acknowledged;     /* versions up to this one may be told, under its durability */
    uint64_t synced;           /* versions up to this one cannot be lost: the store may have them;
                                    * in `start`: those given to `take` */
    uint64_t versions_low;     /* see versions_reserve */
    bool is_always;            /* what is acknowledged is synced first */
    uint32_t own_txns;         /* the owner's: `submit` may append so many itself, when that is
                                    * short; 0 = it must not block */
    bool is_busy;              /* submit would do nothing */
    bool is_failed;            /* nothing will be acknowledged any more */
    bool is_disk_full;         /* there is no room for want of space */
};

static inline size_t journal_filled(const struct journal *j)
{
    return j->filling->bytes.len - j->filling->head_bytes;
}

/* Room for a transaction of `bytes` (txn_bytes)? As `reserve`. */
ERR_MUST_USE static inline enum err journal_room(struct journal *j, size_t bytes, struct error *e)
{
    return journal_filled(j) + bytes <= j->room ? OK : j->ops->reserve(j, bytes, e);
}

/* journal.c: room has been asked for and was OK. `version` is above all before. */
void journal_append(struct journal *j, uint64_t version, const struct batch *batch,
                    const struct txn_patches *patches);
/* A long value that is about to be appended with `version`, in place of `base` (NULL: not known).
 * True: as a patch. */
bool journal_patch(struct journal *j, uint64_t version, const struct mutation *mu,
                   const struct entry *base, struct patch *out);

/* journal.c, for journals: the transactions of a batch go to r->take, and into j->synced. At the
 * beginning of a segment r->values are cleared. ERR_CORRUPT: the bytes do not decode. */
ERR_MUST_USE enum err journal_replay_batch(struct journal *j, struct journal_replay *r,
                                           struct slice transactions, struct error *e);
static inline void journal_submit(struct journal *j)
{
    if (!j->is_busy) j->ops->submit(j);
}

#endif
