/* store: where the bulk of the data lasts: the lower of the two things that a pipeline stands on
 * (the other is journal.h). What memtables held is applied to it, after the journal; what no
 * memtable knows is read from it. backend/local keeps one in SQLite.
 *
 * Threads: one job at a time writes (apply, clean, fill: "store thread"); readers are many, each
 * used by one thread at a time, beside the writer. Calls block for as long as it takes, and so come
 * from worker threads only; but for those that are said to belong to the loop thread, and for reads
 * with may_wait false, which answer ERR_WAIT instead of waiting for anything. That such a read was
 * answered once says nothing about the next one: no caller may rely on it.
 *
 * Errors: ERR_WAIT as above; ERR_CORRUPT, what is stored cannot be true (damage: asking again is of
 * no use); ERR_DISK_FULL; ERR_IO and all others may be gone when asked again. A write that failed
 * may have been done in part: it is repeated until it succeeds, with the same memtable.
 *
 * Ownership: who opens a reader closes it, before the store. What a read gives is borrowed or in
 * the caller's arena, as said there.
 */
#ifndef BACKEND_STORE_H
#define BACKEND_STORE_H

#include "backend/backend.h"
#include "backend/memtable.h"
#include "backend/store_counts.h"
#include "base/arena.h"

#define STORE_SPACE_COUNTED 1 /* the space byte of the entries that are counted: user data */

struct text_request;

/* Entries of a memtable that were put aside: they last, but only memory finds them. */
struct store_aside {
    const struct mem_entry **entries; /* owned */
    size_t count, cap;
};

/* What the store holds, and what the last apply did. */
struct store_progress {
    uint64_t applied;         /* all versions up to this one, and none above it */
    struct sparse counts;     /* struct store_counts of the databases that changed; owned */
    uint64_t rows;            /* written by this apply */
    bool is_filling;          /* a text index is not filled in yet */
    bool has_garbage;         /* what was forgotten or flushed is not removed yet */
    struct store_aside aside; /* of this apply; owned */
    struct error damage;      /* met by this apply; OK = none */
};

void store_progress_fini(struct store_progress *p);

struct store_row {
    struct slice key;
    struct slice value;
    uint64_t version;
    int64_t expiry_ms;
};

/* Some rows of a range, in the order of the scan. */
struct store_chunk {
    struct arena arena; /* holds rows and what they point to */
    struct store_row *rows;
    size_t count;
    bool is_last;     /* the range ends with these */
    bool is_filtered; /* by the fetch's filter */
    struct buf last;  /* with a filter: the last key that was looked at, returned or not */
};

void store_chunk_init(struct store_chunk *c);
void store_chunk_fini(struct store_chunk *c);

struct store_fetch {
    struct slice start; /* inclusive */
    struct slice end;   /* exclusive; of another database: the end of start's */
    bool is_reverse;
    bool with_values;
    bool may_wait;
    size_t rows_max;
    const struct row_filter *filter; /* NULL = every row */
    size_t looks_max;                /* with a filter: ends after so many rows, matching or not */
};

/* What a verification found so far. The thread that reads counts, atomically. */
#define STORE_PLACES_MAX 16
#define STORE_PLACE_BYTES 160
struct store_found {
    uint64_t pages, damaged;
    char places[STORE_PLACES_MAX][STORE_PLACE_BYTES]; /* of the first that are damaged */
};

struct store {
    const struct store_ops *ops;
    uint64_t rows_done; /* atomic: of the memtable that is being applied, about */
    bool is_remote;     /* to read many keys takes hardly longer than one: they are gathered */
};

/* What it reads is the newest state, or the pinned one: the state between two slices of an apply,
 * which a scan puts right with the memtable that is applied. */
struct store_reader {
    const struct store_ops *ops;
};

struct store_ops {
    /* Loop thread, while no job of the store runs. Its counts are those of all databases. */
    void (*state)(struct store *s, struct store_progress *out);
    /* Likewise: calls `each` for what was put aside before this start. */
    enum err (*aside_read)(struct store *s,
                           void (*each)(void *arg, const struct mutation *mu, uint64_t version),
                           void *arg, struct error *e);

    /* Store thread: writes what m holds, which is frozen, in slices, sorted by key, and moves the
     * applied version to its last one with the last slice. On an error the store is as some earlier
     * slice left it, and *progress is that state; else *progress is the new one. */
    enum err (*apply)(struct store *s, const struct memtable *m, struct store_progress *progress,
                      struct error *e);
    /* Store thread: removes the next slice of what is forgotten, by memtables, or by the store when
     * it flushed a database or dropped an index; *has_more: there is more, or may be. Of
     * *progress, which the caller ends in any case, only the counts mean something. */
    enum err (*clean)(struct store *s, struct store_progress *progress, bool *has_more,
                      struct error *e);
    /* Store thread: fills in the next slice of a text index; *is_filling: there is more to do. */
    enum err (*fill)(struct store *s, bool *is_filling, struct error *e);

    /* Store thread: nothing is to be done for a while: gives back what only saves time, memory
     * and room on the disk. NULL: there is none. */
    void (*rest)(struct store *s);

    /* Loop thread; waits for nothing that a busy disk or a network delays. */
    enum err (*reader_open)(struct store *s, struct store_reader **out, struct error *e);
    void (*reader_close)(struct store_reader *r);
    /* One key; out->value is borrowed until get_end. With may_wait false, on any thread. */
    enum err (*get)(struct store_reader *r, struct slice key, bool may_wait, struct entry *out,
                    struct error *e);
    void (*get_end)(struct store_reader *r);
    /* All of these keys, in any order of reading; values in the arena. Waits. */
    enum err (*get_many)(struct store_reader *r, const struct slice *keys, size_t count,
                         struct arena *arena, struct entry *out, struct error *e);
    /* Fixes what this reader sees until unpin. The loop thread calls it: it may not be delayed
     * either. It sees the applied version that the last apply which was collected reported, or the
     * slices of the one that runs. */
    enum err (*pin)(struct store_reader *r, struct error *e);
    void (*unpin)(struct store_reader *r);
    /* Fills `out`, which is empty or used up. At most rows_max rows or about a megabyte. Without a
     * filter there is a row, or the range ends, or it is an error. */
    enum err (*fetch)(struct store_reader *r, const struct store_fetch *f, struct store_chunk *out,
                      struct error *e);

    /* These read what a pinned reader sees and take as long as it takes; *is_stopping (atomic) ends
     * them early. */

    /* Everything. ERR_CORRUPT: something is damaged: the pages that are, in *out, or *e why not. */
    enum err (*verify)(struct store_reader *r, struct store_found *out, const bool *is_stopping,
                       struct error *e);
    /* How many pages that will be, about. */
    uint64_t (*pages)(struct store_reader *r);
    /* A file of its own, a database that can be started: `path` is replaced when it is complete. */
    enum err (*copy)(struct store_reader *r, const char *path, const bool *is_stopping,
                     struct error *e);
    /* Ends early when it is cancelled or after deadline_us (monotonic). The result is in q. */
    void (*search)(struct store_reader *r, struct text_request *q, int64_t deadline_us);

    /* Loop thread: calls that run and those to come fail soon, whatever they wait for: what they
     * would have done is not wanted any more. Then readers and store are closed. */
    void (*give_up)(struct store *s);
    /* Loop thread: no call runs, all readers are closed. Frees. */
    void (*close)(struct store *s);
};

/* ---- the same, to be read as calls ---- */

ERR_MUST_USE static inline enum err store_apply(struct store *s, const struct memtable *m,
                                                struct store_progress *progress, struct error *e)
{
    return s->ops->apply(s, m, progress, e);
}

ERR_MUST_USE static inline enum err store_clean(struct store *s, struct store_progress *progress,
                                                bool *has_more, struct error *e)
{
    return s->ops->clean(s, progress, has_more, e);
}

ERR_MUST_USE static inline enum err store_fill(struct store *s, bool *is_filling, struct error *e)
{
    return s->ops->fill(s, is_filling, e);
}

ERR_MUST_USE static inline enum err store_reader_open(struct store *s, struct store_reader **out,
                                                      struct error *e)
{
    return s->ops->reader_open(s, out, e);
}

/* NULL is none. */
static inline void store_reader_close(struct store_reader *r)
{
    if (r != NULL) r->ops->reader_close(r);
}

ERR_MUST_USE static inline enum err store_get(struct store_reader *r, struct slice key,
                                              bool may_wait, struct entry *out, struct error *e)
{
    return r->ops->get(r, key, may_wait, out, e);
}

static inline void store_get_end(struct store_reader *r)
{
    r->ops->get_end(r);
}

ERR_MUST_USE static inline enum err store_get_many(struct store_reader *r, const struct slice *keys,
                                                   size_t count, struct arena *arena,
                                                   struct entry *out, struct error *e)
{
    return r->ops->get_many(r, keys, count, arena, out, e);
}

ERR_MUST_USE static inline enum err store_pin(struct store_reader *r, struct error *e)
{
    return r->ops->pin(r, e);
}

static inline void store_unpin(struct store_reader *r)
{
    r->ops->unpin(r);
}

ERR_MUST_USE static inline enum err store_fetch(struct store_reader *r, const struct store_fetch *f,
                                                struct store_chunk *out, struct error *e)
{
    return r->ops->fetch(r, f, out, e);
}

/* NULL is none. */
static inline void store_close(struct store *s)
{
    if (s != NULL) s->ops->close(s);
}

#endif
