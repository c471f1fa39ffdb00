/* backend: the seam between the engine and what keeps the data. The code above it does not know
 * SQLite, files or threads; the code below it does not know commands, users or queues.
 *
 * A transaction passes it in three steps, all on the loop thread:
 *
 *   load       the entries that it may touch. ERR_WAIT = they are being fetched; ask again when the
 *              waiter is woken. What was loaded stays good until the end of the turn.
 *   evaluate   (the engine) from loaded entries only, no I/O.
 *   commit     the resulting mutations: the newest state has them at once, `version` names them,
 *              and on_durable is called when nothing can take them back.
 *
 * Keys here are internal keys: the database's number (2 bytes, big-endian), space byte, tuple
 * bytes; order is memcmp. Values are opaque. Expiry is a number kept with the entry: the engine
 * decides what it means.
 *
 * Invariants: versions only grow and are never given twice, whatever was lost; `depends` of a read
 * is the newest version not yet durable that was examined for it (0 = none): no answer made from it
 * may leave the process before on_durable reaches it. Callbacks never run inside a call that may
 * fail.
 */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/histogram.h"

/* A caller that waits for the backend; embedded in the waiting object, in at most one list. What is
 * fetched while it waits is kept for it until it has run (backend_run_over): it finds it when
 * it asks again, however slow the store is and whatever others fetch. */
struct waiter {
    struct waiter *next, *prev; /* of the list that holds it; NULL = in none */
    uint64_t keep_id;           /* the backend's: what is kept for it; 0 = nothing */
    struct waiter *keep_for;    /* what this one fetches is kept for that one; NULL = for itself */
    /* On the loop thread: ask again, in a later turn or step; not from inside this call. */
    void (*ready)(struct waiter *waiter);
};

struct waiter_list {
    struct waiter head; /* circular */
};

void waiter_list_init(struct waiter_list *l);
void waiter_add(struct waiter_list *l, struct waiter *w);
/* No longer waiting; harmless when it is in no list. */
void waiter_cancel(struct waiter *w);
/* Takes every waiter out and wakes it; those added meanwhile stay. */
void waiter_wake_all(struct waiter_list *l);
/* As wake_all for at most n, the oldest first. */
void waiter_wake(struct waiter_list *l, size_t n);
/* Takes every waiter out and wakes none. */
void waiter_drop_all(struct waiter_list *l);

#define KEY_HEAD_BYTES 3
#define DATABASES_MAX 65536
/* The head of a key, for an array's initializer. Space 0 is none: of keys that name a database. */
#define KEY_HEAD(database, space)                                                                  \
    (uint8_t)((unsigned)(database) >> 8), (uint8_t)(database), (uint8_t)(space)

static inline uint16_t key_database(struct slice key)
{
    return (uint16_t)(key.data[0] << 8 | key.data[1]);
}

static inline uint8_t key_space(struct slice key)
{
    return key.data[2];
}

/* Writes the head; what follows it goes to the result. */
static inline uint8_t *key_head_write(uint8_t *out, uint16_t database, uint8_t space)
{
    out[0] = (uint8_t)(database >> 8);
    out[1] = (uint8_t)database;
    out[2] = space;
    return out + KEY_HEAD_BYTES;
}

struct entry {
    bool exists;
    uint64_t version;   /* of the last write; 0 when unknown (absent in the store) */
    int64_t expiry_ms;  /* wall clock; 0 = never */
    struct slice value; /* borrowed until the end of the turn */
    uint64_t depends;
};

/* What is answered depends on this version too. */
static inline void depends_raise(uint64_t *depends, uint64_t version)
{
    if (version > *depends) *depends = version;
}

enum mutation_kind {
    MUTATION_SET = 1,
    MUTATION_DELETE = 2,
    MUTATION_FLUSH = 3,  /* everything written before to one database: key is its head with space 0;
                         * of the same batch, only what follows it may name that database */
    MUTATION_FORGET = 4, /* all keys in [key, value), of one database and of no counted space, are
                          * never read or written again: they go from the disk in the background.
                          * Until then a scan may still meet them. */
    MUTATION_PATCH = 5,  /* a SET whose value is a patch (patch.h): in journals alone */
};

struct mutation {
    enum mutation_kind kind;
    uint16_t cause; /* what it was made for (engine/engine.h), set by its maker; not kept */
    struct slice key;
    struct slice value;
    int64_t expiry_ms;
};

struct batch {
    const struct mutation *items; /* applied in order */
    size_t count;
    const struct entry **before; /* what each replaces; NULL, or NULL of one: not known, then counts
                                  * may be off until it is in the store */
    int64_t time_ms;             /* transaction time */
};

/* Where rows that are asked for by their keys come from. */
struct row_source {
    struct arena *arena; /* of the keys */
    uint64_t work_max;   /* of a look at what was found; more is refused */
    /* OK, ERR_WAIT: ask again for the same, or another error. */
    enum err (*get)(const struct row_source *from, const struct slice *keys, size_t count,
                    struct entry *out, struct error *e);
    void *arg;
};

/* Which rows a scan returns, judged by their values. Embedded in its owner; the scan keeps a
 * reference as long as any thread may look. */
struct row_filter {
    size_t passes; /* over a value that a look at it takes, at most */
    /* Any thread, several at once. */
    bool (*matches)(const struct row_filter *f, struct slice value);
    /* Of a value that does not say it all (asks: a hash with rows of its own) `matches` says yes,
     * and `judge` what it is, by rows that it asks `from` for. A scan of the backend returns it,
     * and has to be with values; the engine's decides. NULL: there is no such value. OK, ERR_WAIT,
     * ERR_LIMIT, ERR_CORRUPT. */
    bool (*asks)(struct slice value);
    enum err (*judge)(const struct row_filter *f, struct slice key, struct slice value,
                      const struct row_source *from, bool *matches, struct error *e);
    void (*ref)(struct row_filter *f); /* loop thread */
    void (*unref)(struct row_filter *f);
};

static inline bool row_filter_asks(const struct row_filter *f, struct slice value)
{
    return f->judge != NULL && f->asks(value);
}

/* Does the entry match? As `judge`. */
static inline enum err row_filter_decide(const struct row_filter *f, struct slice key,
                                         struct slice value, const struct row_source *from,
                                         bool *matches, struct error *e)
{
    if (!row_filter_asks(f, value)) {
        *matches = f->matches(f, value);
        return OK;
    }
    return f->judge(f, key, value, from, matches, e);
}

/* The work of a look at a value: bytes that are passed over, some 250 in a microsecond. */
static inline uint64_t row_filter_work(const struct row_filter *f, struct slice value)
{
    return f->passes * (64 + (uint64_t)value.len);
}

/* At most this much work is one look; more is refused. On the loop thread at most
 * ROW_LOOP_WORK_MAX: more is done by a thread, or refused where that cannot be. */
#define ROW_WORK_MAX (256u << 20)
#define ROW_LOOP_WORK_MAX (16u << 20)
/* row_filter.c: the error when it is too much, `max` being one of the two. */
ERR_MUST_USE enum err row_filter_check(const struct row_filter *f, struct slice value, uint64_t max,
                                       struct error *e);

#define SCAN_WORK_ROW 8
#define SCAN_WORK_GONE 1

struct scan_range {
    struct slice start; /* inclusive */
    struct slice end;   /* exclusive; same database as start */
    bool is_reverse;
    bool with_values;
    bool is_undivided; /* ends within its turn or not at all: never yields, only waits for the disk
                        */
    bool is_new;       /* nothing of it is stored: there is what the transaction wrote (engine) */
    size_t rows_hint;  /* rows the caller expects to want; 0 = many */
    struct row_filter *filter; /* NULL = every row; values are read for it, also without with_values
                                */
    /* What the caller's scans may still pass, all of them together: each row that is passed and not
     * returned takes SCAN_WORK_ROW off, or SCAN_WORK_GONE when memory alone knows it, as deleted.
     * ERR_LIMIT when none is left. NULL = any number. Borrowed until the scan is closed. */
    size_t *work_left;
};

struct scan; /* a pass over a range at one version */

struct backend_count {
    uint64_t entries;
    uint64_t expiring;     /* those of them that have an expiry */
    uint64_t bytes;        /* of keys, without heads, and values, of all spaces */
    uint64_t stored_bytes; /* of these, what the store has */
    uint64_t stored_entries, stored_expiring;
};

/* Figures for INFO and metrics. Bytes unless named otherwise. */
struct backend_stats {
    uint64_t version, durable, applied;
    uint64_t journal_bytes, journal_segments, journal_syncs, journal_sync_us, journal_batches,
        journal_ahead, journal_own_syncs, journal_direct_syncs;
    uint64_t journal_written_bytes, journal_unsynced_bytes; /* as struct journal_stats has them */
    const struct histogram *journal_sync_times;             /* likewise */
    uint64_t memtable_bytes, memtable_entries, frozen_memtables, applies, apply_us, apply_rows;
    uint64_t memtable_bytes_max; /* at which writers are stopped */
    /* What the store has of all databases together, as struct backend_count. */
    uint64_t stored_entries, stored_expiring, stored_bytes;
    uint64_t cache_bytes, cache_entries, cache_hits, cache_misses;
    uint64_t keys_expected; /* that were fetched from memory ahead */
    uint64_t store_reads, store_waits, throttled, scans_open;
    uint64_t store_queries;   /* that the reads which waited have taken: several at once are one */
    const char *absent_state; /* of the filter of absent keys (absent.h) */
    uint64_t absent_bytes, absent_answers; /* its memory; keys that it said are not there */
    uint64_t damaged_reads;                /* reads of the store that failed */
    const char *damage;                    /* what the last of them said; borrowed for the turn */
    uint64_t aside_entries; /* that the store cannot take for damage, kept beside it */
    int64_t time_ahead_ms;  /* transaction time, of the system's clock; 0 = they agree */
    bool is_store_failing, is_store_full; /* full: for want of space on the disk */
    bool is_disk_full;
    bool is_text_filling; /* some text index is not filled in yet */
    bool has_garbage;     /* what was forgotten or flushed is still to be removed */
};

/* Of a verification, the last one: KV.VERIFY. */
#define VERIFY_PLACES_MAX 16
enum verify_state {
    VERIFY_NEVER,
    VERIFY_RUNNING,
    VERIFY_GOOD,
    VERIFY_DAMAGED,
    VERIFY_STOPPED,
    VERIFY_FAILED, /* it could not be made */
};

struct verify_figures {
    enum verify_state state;
    uint64_t pages, pages_total; /* read; to be read, about */
    uint64_t damaged;            /* pages, and segments of the journal */
    int64_t took_ms;
    size_t place_count;
    const char *places[VERIFY_PLACES_MAX + 1]; /* what is wrong; borrowed until the next start */
};

struct backend;

/* A consistent copy of everything, made in the background. Owned by the caller until done(). */
struct backup_request {
    const char *path; /* of the file to make; its directory is made if it is missing */
    void (*done)(struct backup_request *q); /* on the loop thread, never inside the call */
    void *arg;
    uint64_t version; /* result: the newest commit in it */
    int64_t time_ms;  /* result: no commit in it is later */
    enum err result;
    struct error error;
};

/* One mutation of a commit, as it was committed. */
struct changes_row {
    uint64_t version;
    int64_t time_ms; /* of the transaction */
    struct mutation mutation;
};

/* A part of the history: what was committed after a version, oldest first, whole commits, durable
 * ones only. Read in the background. Owned by the caller until done(), which always comes. */
struct changes_request {
    uint64_t after;          /* commits after this version ... */
    uint64_t until;          /* ... once this one, of a commit or 0, is durable */
    struct slice start, end; /* keys in [start, end), and flushes of start's database; borrowed */
    /* Of commits that have such a row, keys in [with_start, with_end) too; borrowed, data NULL =
     * none. */
    struct slice with_start, with_end;
    size_t rows_max;  /* ends after the commit with which there are this many rows ... */
    size_t bytes_max; /* ... or so many bytes of keys and values, or earlier */
    void (*done)(struct changes_request *q); /* on the loop thread, never inside the call */
    void *arg;
    struct arena arena; /* of the rows; the caller's to init, reset and free */
    /* results */
    struct changes_row *rows;
    size_t count;
    uint64_t next; /* up to here, `after` included, every row is in this answer: go on from here */
    bool is_end;   /* nothing after `next` was durable when the reading began */
    uint64_t oldest; /* with ERR_STALE: the oldest `after` that is good now */
    bool is_damaged; /* with ERR_STALE: that is why; the error says where */
    enum err result; /* ERR_STALE: what followed `after` is not there, or never was: no gap is
                      * passed over. ERR_IO, ERR_NOMEM: ask again. */
    struct error error;
};

struct text_request; /* backend/text.h */

#define BACKEND_EXPECT_MAX 32 /* keys at once */

struct txn_view;

struct backend {
    /* Memory has more entries than are found in a processor's caches, or the store is remote. */
    bool is_far;
    /* Set by the owner before a turn ends: the turn may sync a batch of so many transactions by
     * itself, if that is short, as the clients that have asked for a while wait for just that;
     * 0 = a thread has to. */
    uint32_t own_sync_txns;
    /* Set by the owner. on_durable: versions up to `version` are acknowledged. */
    void (*on_durable)(void *arg, uint64_t version);
    void *on_durable_arg;
    /* Of one that follows (pipeline_options.is_following): a commit of another process is part of
     * the newest state now. An error, and it follows no longer. */
    enum err (*on_followed)(void *arg, const struct txn_view *txn, struct error *e);
    void *on_followed_arg;
};

/* ---- what it does: pipeline.c and the files beside it ---- */

/* The newest state of one key. ERR_WAIT: `w` will be woken. */
enum err backend_load(struct backend *b, struct slice key, struct entry *out, struct waiter *w,
                      struct error *e);
/* These keys will be asked for in this turn: what memory has of them is fetched from there all
 * at once, instead of being missed one after the other; and of a remote store what it does not
 * have. Worth it while b->is_far. */
void backend_expect(struct backend *b, const struct slice *keys, size_t count);
/* Asked before a write is evaluated: OK; ERR_WAIT (back-pressure: `w` will be woken);
 * ERR_DISK_FULL. */
enum err backend_admit(struct backend *b, struct waiter *w, struct error *e);
/* As admit, before each of the many transactions of bulk work: it waits sooner, while others
 * still write freely, so that they are not slowed down for its sake. */
enum err backend_admit_bulk(struct backend *b, struct waiter *w, struct error *e);
/* All of it or nothing: OK with *version; ERR_WAIT (`w` will be woken), ERR_DISK_FULL,
 * ERR_LIMIT. */
enum err backend_commit(struct backend *b, const struct batch *batch, uint64_t *version,
                        struct waiter *w, struct error *e);
/* A scan sees the newest state at its opening, however long it takes. Bounds are copied. */
enum err backend_scan_open(struct backend *b, const struct scan_range *range, struct scan **out,
                           struct error *e);
/* The next live row: *key and *out (borrowed until the next call on the scan or the end of the
 * turn). OK with key->len 0 at the end; ERR_WAIT: `w` will be woken; ERR_LIMIT: open too long.
 */
enum err backend_scan_next(struct scan *s, struct slice *key, struct entry *out, struct waiter *w,
                           struct error *e);
/* The entries of these keys as the scan sees them, borrowed as its rows are. All of them, or
 * ERR_WAIT: `w` will be woken, ask again for the same. */
enum err backend_scan_load(struct scan *s, const struct slice *keys, size_t count,
                           struct entry *out, struct waiter *w, struct error *e);
/* The same of rows that a filter wants of an entry which was loaded, or returned. */
enum err backend_scan_load_rows(struct scan *s, const struct slice *keys, size_t count,
                                struct entry *out, struct waiter *w, struct error *e);
/* The last key that it has passed, whether it was returned or not; len 0 = none. Borrowed as a row
 * is. */
struct slice backend_scan_place(const struct scan *s);
/* Newest version not yet durable among all that the scan has passed so far. */
uint64_t backend_scan_depends(const struct scan *s);
/* To be called before the turn ends and before a commit is made while the scan is open: the
 * scan keeps its place and what it sees. ERR_TRYAGAIN when too many are open. */
enum err backend_scan_pause(struct scan *s, struct error *e);
void backend_scan_close(struct scan *s);
/* The entries of a database in the data space. Exact for what the store has applied; before
 * that an overwrite or delete of a key that is not in memory is counted as if the key were new.
 */
void backend_count(struct backend *b, uint16_t database, struct backend_count *out);
/* Is all that was written up to `version` in the store? Then it is counted exactly. ERR_WAIT:
 * it soon will be, and `w` be woken. ERR_IO, ERR_DISK_FULL: the store cannot be written now. */
enum err backend_settle(struct backend *b, uint64_t version, struct waiter *w, struct error *e);
/* The first database from `from` on that may hold something, also what only layers know of.
 * False: there is none. */
bool backend_database_next(struct backend *b, uint32_t from, uint16_t *out);
uint64_t backend_version_durable(struct backend *b);
uint64_t backend_version_newest(struct backend *b);
/* That of the next commit: the evaluator may put it into what it commits. */
uint64_t backend_version_next(struct backend *b);
/* Transaction time: the wall clock, but never less than before or than the newest journaled
 * time; then it goes on by elapsed time (base/steady.h). */
int64_t backend_time_ms(struct backend *b);
/* After the wake callback: collect what threads finished; runs callbacks and waiters. */
void backend_poll(struct backend *b);
/* What `w` waits for has run to its end, or never will: what was kept for it goes. A commit
 * with this waiter ends what has answered it. Need be called only while keep_id is not 0; if it
 * is not called, what is kept goes after a minute without use. */
void backend_run_over(struct backend *b, struct waiter *w);
/* End of a loop turn: hand what was committed to the journal, free what was kept for the turn.
 */
void backend_turn_end(struct backend *b);
/* Wakes `w` in the next turn: its owner pauses so that others run. */
void backend_yield(struct backend *b, struct waiter *w);
/* Every 10 ms or so. */
void backend_tick(struct backend *b);
void backend_stats(struct backend *b, struct backend_stats *out);
/* Holds at least what is committed now. ERR_SYNTAX when one is being made. */
enum err backend_backup(struct backend *b, struct backup_request *q, struct error *e);
/* Reads everything that is stored, in the background. ERR_SYNTAX when that is being done. */
enum err backend_verify_start(struct backend *b, struct error *e);
/* Ends it early; false when none is running. */
bool backend_verify_stop(struct backend *b);
void backend_verify_figures(struct backend *b, struct verify_figures *out);
/* Reads what was committed: calls q->done() later, whatever the result. */
void backend_changes(struct backend *b, struct changes_request *q);
/* Calls q->done() later, whatever the result. */
void backend_search(struct backend *b, struct text_request *q);
/* Stops cleanly: all is applied and synced. Frees b. */
enum err backend_close(struct backend *b, struct error *e);

#endif
