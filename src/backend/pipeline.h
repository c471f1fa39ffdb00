/* pipeline: the backend (backend.h) over a journal and a store, whatever these are. It knows no
 * files and no SQL: what lasts is behind journal.h and store.h.
 *
 *   commit -> journal (durable) -+-> memtable (newest state) -> frozen -> store -> dropped
 *   load   <- memtable, frozen memtables, entry cache, store
 *
 * What becomes of a transaction, and what moves it. The journal has it on the left, a memtable on
 * the right, both at once; it is let go by the journal only when the store has it:
 *
 *   evaluated
 *      |  backend_commit
 *      v
 *   committed: version_newest; every read sees it
 *      |  journal_append                                    |  pipeline_remember
 *      v                                                    v
 *   in the batch that is filled                          MEM_ACTIVE
 *      |  journal_submit: backend_turn_end, and             |  pipeline_freeze: backend_turn_end,
 *      |  backend_poll when the one before ended            |  backend_tick, backend_settle
 *      v                                                    v
 *   being written by the journal's threads               MEM_FROZEN <----------------------.
 *      |  ops->poll: backend_poll                           |  pipeline_apply_next,        |
 *      v                                                    |  when it is synced           |
 *   acknowledged, and told: version_told, on_durable        v                              |
 *      |  at once or, under a weak durability, later     MEM_APPLYING --- apply_done: it failed
 *      v                                                    |  apply_done
 *   synced                                                  v
 *      |  ops->release: apply_done, backend_tick         MEM_APPLIED: stored.applied
 *      v                                                    |  pipeline_retire_slice
 *   gone, or history (changes.c)                            v
 *                                                        in caches and in the store
 *
 * A start goes in at `committed` with what the journal has beyond the store (replay.c), and so does
 * what another process commits (pipeline_followed): both are synced already.
 *
 * Invariants, which pipeline_check looks at:
 *   1. version_told <= version_newest < version_next: what was not committed is not told, and no
 *      version is given twice.
 *   2. Of the journal, acknowledged and synced <= version_last <= version_newest.
 *   3. The store never has what the journal may lose: a memtable is applied when all its versions
 *      are synced, and stored.applied is the last of them. While applies fail it is what is found
 *      in the store, which another leader may have written.
 *   4. The list of memtables is MEM_ACTIVE, then frozen ones, which are older in their versions
 *      too, then MEM_ASIDE. unapplied_bytes are those of frozen_count of them.
 *   5. One memtable at most is applied at a time, the oldest, or else is being retired.
 */
#ifndef BACKEND_PIPELINE_H
#define BACKEND_PIPELINE_H

#include "backend/journal.h"
#include "backend/store.h"

struct pipeline_options {
    uint64_t memtable_bytes;     /* frozen when it holds this much ... */
    int64_t memtable_age_ms;     /* ... or is this old */
    uint64_t write_buffer_bytes; /* unapplied data at which writers stop; slowed from half of it */
    uint64_t cache_bytes;        /* entry cache */
    unsigned query_threads;
    int64_t scan_ms_max;   /* a scan may be open this long */
    int64_t store_keep_ms; /* so long after what it did last the store keeps what only saves time,
                            * of a process that is all the server's; 0 = always */
    bool trims;            /* memory that was much and is not needed goes back to the system: of a
                          * process that is all the server's */
    /* Tests: so many reads of keys that are not there, and the filter of absent keys is made,
     * however small the data (absent.h); 0 = ABSENT_READS_MIN. */
    uint64_t absent_reads_min;
    int64_t frozen_ms; /* it is always this time (Unix, ms), and nothing is committed; 0 = not so */
    bool is_following; /* another process commits, and the journal brings it; nothing is committed
                        * here */
    bool is_inline;    /* no threads: simulation; see worker.h ... */
    unsigned (*pick)(void *arg, unsigned count); /* ... too; NULL = the first */
    void *pick_arg;
    void (*wake)(void *arg); /* any thread: poll is wanted */
    /* Within pipeline_open, on its thread, again and again while the journal is replayed: so many
     * transactions so far. NULL = it is not called. */
    void (*on_replay)(void *arg, uint64_t transactions);
    /* The journal failed: stop the process. */
    void (*on_fatal)(void *arg, const struct error *e);
    /* The journal belongs to another process now: what was not acknowledged is lost. Nothing is
     * acknowledged any more; pipeline_abandon, but not from within this call. NULL = as on_fatal.
     */
    void (*on_lost)(void *arg, const struct error *e);
    void *arg;
};

/* Takes both, which are new, also on an error; starts them, recovers. Errors: those of the start of
 * the journal, of reading the store. */
ERR_MUST_USE enum err pipeline_open(const struct pipeline_options *options, struct journal *journal,
                                    struct store *store, struct backend **out, struct error *e);

/* Takes the options that may change while it is open: memtable_*, write_buffer_bytes, cache_bytes,
 * scan_ms_max; others are ignored. They are read by the loop thread alone, which calls this, so
 * they apply at once. ERR_WAIT: they do, but what an earlier, weaker durability of the journal
 * acknowledged is still being synced, and the waiter will be told; call again. OK: under the
 * strongest durability all that was ever acknowledged is synced. */
ERR_MUST_USE enum err pipeline_set_options(struct backend *b,
                                           const struct pipeline_options *options, struct waiter *w,
                                           struct error *e);

/* Whether nothing is under way, so that ticks (ops->tick) may be a tenth of a second apart. */
bool pipeline_is_at_rest(const struct backend *b);

/* At any moment: as the end of the process would, nothing is applied or synced any more. Waits for
 * no I/O that the journal or the store can give up. Scans must be closed; waiters are let go and
 * not woken; requests (backup, changes, search) end with an error. Frees. */
void pipeline_abandon(struct backend *b);

#endif
