/* pg_store_int: what pg_store.c (open, close), pg_state.c (what is stored of the whole),
 * pg_apply.c (memtables), pg_clean.c (what is not there any more), pg_read.c (reads), pg_copy.c
 * (copies), pg_texts.c (text indexes) and pg_behind.c (where another node writes) share.
 */
#ifndef BACKEND_POSTGRES_PG_STORE_INT_H
#define BACKEND_POSTGRES_PG_STORE_INT_H

#include <pthread.h>

#include "backend/postgres/pg_store.h"

/* pg_texts.c: the text indexes, in a file of this machine (backend/nearby.h).
 *
 *   PG_TEXTS_NONE --the first index--> PG_TEXTS_GOOD --it fails--> PG_TEXTS_FAILED
 *                                            ^-- begun anew, by `fill` --'
 */
enum pg_texts_state { PG_TEXTS_NONE, PG_TEXTS_GOOD, PG_TEXTS_FAILED };

struct pg_texts {
    char *path;         /* owned; NULL = there are none */
    struct store *file; /* atomic; owned; NULL = none yet; what it is once it stays until the end */
    int state;          /* atomic, enum pg_texts_state; the store thread moves it */
    struct error why;   /* of PG_TEXTS_FAILED; guarded by the store's lock */
    bool is_damaged;    /* atomic: a search has met damage */
    char *identity;     /* owned; of what is in PostgreSQL: the origin without the epoch */
    bool is_filling;    /* store thread, as these: an index is not filled in, or the file failed */
    bool has_garbage;   /* of the file */
    bool is_torn;       /* the last apply to PostgreSQL was not done, or not wholly */
    struct store_reader *source; /* owned: reads what is filled in */
};

struct pg_reader {
    struct store_reader base; /* first */
    struct pg_store *store;
    struct pg_reader *next; /* of the store's open ones; guarded by its lock */
    unsigned refs;          /* likewise: the owner, and the store thread */
    uint64_t wanted;        /* atomic: number of the pin; 0 = not pinned */
    pthread_mutex_t lock;   /* guards the rest: held while a statement runs */
    struct pg *pg;
    uint64_t held;   /* the pin whose snapshot the open transaction is; 0 = there is none */
    uint64_t lost;   /* the pin whose snapshot is gone ... */
    enum err why;    /* ... ERR_BEHIND: it was newer than `pinned`; ERR_IO: its connection ended */
    uint64_t pinned; /* of a store that follows; atomic: what had been brought at the pin */
    /* Of the file of text indexes; loop thread opens and pins, the reader's thread searches. */
    struct store_reader *texts; /* owned; NULL = not opened yet */
    bool has_texts_pin;
    enum pg_texts_state texts_state; /* when it was pinned */
    struct error texts_error;
};

struct pg_store {
    struct store base; /* first */
    struct term *term;
    size_t slice_bytes;
    const struct nearby *nearby; /* pg_store_options */
    const struct text_ops *text_ops;
    struct pg *pg; /* store thread */
    uint64_t applied;
    int64_t step; /* of the last write (pg_apply.c) */
    bool is_loaded;
    struct sparse counts; /* struct store_counts; owned; store thread */
    bool has_garbage;
    pthread_mutex_t lock;
    struct pg_reader *readers; /* guarded by lock */
    uint64_t pins;             /* loop thread: the last number given */
    bool is_following;
    uint64_t brought; /* atomic; of one that follows */
    bool is_given_up; /* atomic */
    struct pg_texts texts;
};

static inline struct pg_store *pg_store_of(struct store *s)
{
    return (struct pg_store *)s;
}

static inline struct pg_reader *pg_reader_of(struct store_reader *r)
{
    return (struct pg_reader *)r;
}

/* Rows of tupled_entry e that are there: not hidden by a flush. $1 is the engine. */
#define PG_IS_THERE                                                                                \
    "NOT EXISTS (SELECT 1 FROM tupled_garbage g WHERE g.id = $1 AND g.hides = 1 "                  \
    "AND g.database = get_byte(e.key, 0) * 256 + get_byte(e.key, 1) "                              \
    "AND g.version >= e.version)"

/* pg_state.c. The checksum is over key, version, expiry and value. */
int64_t pg_entry_checksum(struct slice key, uint64_t version, int64_t expiry_ms,
                          struct slice value);

/* applied, step, counts and has_garbage as they are stored, also after a write without an answer.
 * ERR_IO: or PostgreSQL does not have what was there before it. */
ERR_MUST_USE enum err pg_store_load(struct pg_store *s, struct error *e);
/* A write was not done: term_lost, with ERR_IO. */
ERR_MUST_USE enum err pg_fenced_off(struct pg_store *s, const char *missing, struct error *e);
/* A write was answered, whose first column is 1 if it was done: then the step is moved. ERR_IO:
 * another node leads, or PostgreSQL has lost a write. */
ERR_MUST_USE enum err pg_stepped(struct pg_store *s, struct error *e);

/* pg_apply.c, pg_clean.c */
ERR_MUST_USE enum err pg_apply(struct store *store, const struct memtable *m,
                               struct store_progress *progress, struct error *e);
ERR_MUST_USE enum err pg_clean(struct store *store, struct store_progress *progress, bool *has_more,
                               struct error *e);
/* The databases that m flushes; and, at the end of an apply, the ranges that it forgets. */
ERR_MUST_USE enum err pg_flush(struct pg_store *s, const struct memtable *m, struct error *e);
ERR_MUST_USE enum err pg_forget(struct pg_store *s, const struct memtable *m, struct error *e);

/* pg_behind.c: of a store that follows */
ERR_MUST_USE enum err pg_follow_apply(struct store *store, const struct memtable *m,
                                      struct store_progress *progress, struct error *e);
/* Waits until what the reads of this connection have seen was brought. ERR_BEHIND. */
ERR_MUST_USE enum err pg_behind_wait(const struct pg_store *s, struct pg *c, struct error *e);
/* Is what the connection's snapshot has no newer than `version`? ERR_BEHIND. */
ERR_MUST_USE enum err pg_behind_check(const struct pg_store *s, struct pg *c, uint64_t version,
                                      struct error *e);

/* pg_read.c */
/* Makes the snapshots that are wanted and ends those that are not any more; store thread. */
void pg_readers_settle(struct pg_store *s);
ERR_MUST_USE enum err pg_reader_open(struct store *store, struct store_reader **out,
                                     struct error *e);
void pg_reader_close(struct store_reader *reader);
ERR_MUST_USE enum err pg_get(struct store_reader *reader, struct slice key, bool may_wait,
                             struct entry *out, struct error *e);
void pg_get_end(struct store_reader *reader);
ERR_MUST_USE enum err pg_get_many(struct store_reader *reader, const struct slice *keys,
                                  size_t count, struct arena *arena, struct entry *out,
                                  struct error *e);
ERR_MUST_USE enum err pg_pin(struct store_reader *reader, struct error *e);
void pg_unpin(struct store_reader *reader);
ERR_MUST_USE enum err pg_fetch(struct store_reader *reader, const struct store_fetch *f,
                               struct store_chunk *out, struct error *e);
ERR_MUST_USE enum err pg_verify(struct store_reader *reader, struct store_found *out,
                                const bool *is_stopping, struct error *e);
uint64_t pg_pages(struct store_reader *reader);
/* With the reader's lock. OK: the connection sees what it must. */
ERR_MUST_USE enum err pg_reader_ready(struct pg_reader *r, struct error *e);
/* Runs a statement where it sees that. An error is the end of a snapshot. */
ERR_MUST_USE enum err pg_reader_run(struct pg_reader *r, const char *sql, struct error *e);
/* ERR_CORRUPT: the entry's checksum is wrong. */
ERR_MUST_USE enum err pg_damaged(struct slice key, struct error *e);

/* pg_texts.c. At the opening, after pg_store_load: is the file that is there what is in PostgreSQL?
 * Else it is begun anew. An error is one of PostgreSQL; what is wrong with the file is logged. */
ERR_MUST_USE enum err pg_texts_open(struct pg_store *s, const char *path, struct error *e);
/* All readers are closed, but its own. */
void pg_texts_close(struct pg_store *s);
void pg_texts_give_up(struct pg_store *s);
/* Store thread: before and after m is applied to PostgreSQL, with what became of that. */
void pg_texts_apply(struct pg_store *s, const struct memtable *m);
void pg_texts_applied(struct pg_store *s, enum err result);
ERR_MUST_USE enum err pg_texts_fill(struct pg_store *s, bool *is_filling, struct error *e);
/* A slice of what is not there any more in the file; *has_more: or there is more. */
void pg_texts_clean(struct pg_store *s, bool *has_more);
/* Loop thread. */
void pg_texts_pin(struct pg_reader *r);
void pg_texts_unpin(struct pg_reader *r);
void pg_texts_reader_close(struct pg_reader *r);
void pg_texts_search(struct pg_reader *r, struct text_request *q, int64_t deadline_us);

/* pg_copy.c */
ERR_MUST_USE enum err pg_copy(struct store_reader *reader, const char *path,
                              const bool *is_stopping, struct error *e);

#endif
