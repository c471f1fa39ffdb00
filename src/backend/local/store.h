/* store: the bulk of the data in one SQLite database, tupled.db. Written only by the store thread,
 * from frozen memtables, after the journal; read by readers, each a connection of its own.
 *
 *   kv(k BLOB PRIMARY KEY, ver INTEGER, exp INTEGER, v) WITHOUT ROWID
 *   large(id INTEGER PRIMARY KEY, v BLOB): values that are too long for kv (store_large.c)
 *   meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID: 'database_id', 'applied'
 *   counts(d INTEGER PRIMARY KEY, entries, expiring, bytes): store_counts.h
 *   aside(k, ver, exp, v) as kv; v NULL = removed: entries that belong into a part of kv that is
 *     damaged and can therefore not be written. They are newer than what kv may have of them.
 *   forgotten(start BLOB PRIMARY KEY, end BLOB): ranges of kv that nobody reads any more
 *
 * `k` is an internal key (database, space, tuple bytes), `ver` the commit version, `exp` wall-clock
 * ms or 0, `v` the value, or an integer, the id of a large one. application_id is "tupl",
 * user_version the format. Every page has a checksum (page_sum.h).
 *
 * Applying a memtable is several transactions (slices), each durable at its COMMIT; the last one
 * moves 'applied'. A crash in between leaves a mixture that the journal's replay makes whole again,
 * because replay is idempotent; and while the server runs the memtable stays in front of the
 * mixture.
 */
#ifndef BACKEND_LOCAL_STORE_H
#define BACKEND_LOCAL_STORE_H

#include "backend/backend.h"
#include "backend/local/journal_format.h"
#include "backend/local/memtable.h"
#include "backend/local/store_counts.h"
#include "base/arena.h"

#define STORE_FORMAT 4
#define STORE_SPACE_COUNTED 1 /* the space byte of the entries that are counted: user data */

struct store;
struct text_ops;
struct text_request;

struct store_options {
    const char *path;
    uint64_t cache_bytes; /* page cache of the writer; a reader gets reader_cache_bytes */
    uint64_t reader_cache_bytes;
    const struct text_ops *text_ops; /* NULL = text indexes are not kept; backend/text.h */
};

/* Opens or creates. ERR_FORMAT when it is newer than this program or no database of ours. */
ERR_MUST_USE enum err store_open(const struct store_options *options, struct store **out,
                                 struct error *e);
/* All readers must be closed. */
void store_close(struct store *s);
const uint8_t *store_database_id(const struct store *s);
/* State that the last whole apply left; loop thread, while no apply runs. */
uint64_t store_applied(const struct store *s);
struct store_counts store_count(const struct store *s, uint16_t database);
/* The first database from *at on that has figures, which *at then is. */
bool store_database_next(const struct store *s, uint32_t *at);

/* Entries of a memtable that were put aside: they last, but only memory finds them. */
struct store_aside {
    const struct mem_entry **entries; /* owned */
    size_t count, cap;
};

struct store_progress {
    uint64_t applied;
    struct sparse counts;     /* struct store_counts of the databases that changed; owned */
    struct sparse slice;      /* struct store_change of the slice under way; owned */
    uint64_t rows;            /* written by this apply */
    bool is_filling;          /* a text index is not filled in yet */
    struct store_aside aside; /* of this apply */
    struct error damage;      /* met by this apply; OK = none */
};

/* Store thread: writes what m holds. On an error the database is as some
 * earlier slice left it, and *progress is that state. */
ERR_MUST_USE enum err store_apply(struct store *s, const struct memtable *m,
                                  struct store_progress *progress, struct error *e);
/* Store thread: removes the next slice of what is forgotten; *has_more: there is more to remove. On
 * an error nothing was removed. */
ERR_MUST_USE enum err store_clean(struct store *s, struct store_progress *progress, bool *has_more,
                                  struct error *e);
/* The database file, open for reading. */
int store_fd(const struct store *s);
/* Loop thread, while no job of the store runs: is there something to remove? */
bool store_has_garbage(struct store *s);
/* Loop thread: calls `each` for what was put aside before this start. */
ERR_MUST_USE enum err store_aside_read(struct store *s,
                                       void (*each)(void *arg, const struct mutation *mu,
                                                    uint64_t version),
                                       void *arg, struct error *e);
/* Loop thread, after an apply or a clean: what it reported becomes the state, and is freed. */
void store_applied_set(struct store *s, struct store_progress *progress);
/* Store thread: fills in the next slice of a text index; *is_filling: there is more to do. */
ERR_MUST_USE enum err store_fill(struct store *s, bool *is_filling, struct error *e);
/* Loop thread, while no job of the store runs. */
bool store_is_filling(const struct store *s);
/* Store thread: moves the write-ahead log into the database file as far as readers allow. */
void store_checkpoint(struct store *s);

/* ---- readers: one thread at a time ---- */

struct store_reader;
struct vfs_collected; /* vfs.h */

/* store_verify.c: reads everything that a pinned reader sees. ERR_CORRUPT: something is damaged:
 * the pages that are, in *out, which counts all that were read; or *e why not. Any thread; takes as
 * long as it takes: *is_stopping (atomic) ends it early. */
ERR_MUST_USE enum err store_verify(struct store_reader *r, struct vfs_collected *out,
                                   const bool *is_stopping, struct error *e);
uint64_t store_pages(struct store_reader *r);

/* store_backup.c: what a pinned reader sees becomes the file `path`, which is replaced. Any thread;
 * takes as long as it takes: *is_stopping (atomic) ends it early. On an error the file may be
 * there, half made. */
ERR_MUST_USE enum err store_backup(struct store_reader *r, const char *path,
                                   const bool *is_stopping, struct error *e);

ERR_MUST_USE enum err store_reader_open(struct store *s, struct store_reader **out,
                                        struct error *e);
void store_reader_close(struct store_reader *r);
/* With may_wait false, ERR_WAIT instead of waiting for the disk. */
ERR_MUST_USE enum err store_get(struct store_reader *r, struct slice key, bool may_wait,
                                struct entry *out, struct error *e);
/* Ends the borrowing of what store_get gave. */
void store_get_end(struct store_reader *r);
/* Fixes what this reader sees until store_unpin. */
ERR_MUST_USE enum err store_pin(struct store_reader *r, struct error *e);
void store_unpin(struct store_reader *r);

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

struct store_fetch {
    struct slice start; /* inclusive */
    struct slice end;   /* exclusive */
    bool is_reverse;
    bool with_values;
    bool may_wait;
    size_t rows_max;
    const struct row_filter *filter; /* NULL = every row */
    size_t looks_max;                /* with a filter: ends after so many rows, matching or not */
};

/* Fills `out`, which is empty. At most rows_max rows or about a megabyte. */
ERR_MUST_USE enum err store_fetch(struct store_reader *r, const struct store_fetch *f,
                                  struct store_chunk *out, struct error *e);
/* store_search.c: runs it on what a pinned reader sees. Ends early when it is cancelled or after
 * deadline_us (monotonic). The result is in q. */
void store_search(struct store_reader *r, struct text_request *q, int64_t deadline_us);
void store_chunk_init(struct store_chunk *c);
void store_chunk_fini(struct store_chunk *c);

#endif
