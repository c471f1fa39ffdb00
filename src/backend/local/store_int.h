/* store_int: what the files of the SQLite store share. */
#ifndef BACKEND_LOCAL_STORE_INT_H
#define BACKEND_LOCAL_STORE_INT_H

#include <sqlite3.h>

#include "backend/local/lineage.h"
#include "backend/local/sqlite_store.h"
#include "backend/local/vfs.h"
#include "backend/nearby.h"
#include "base/file.h"

struct text_table; /* store_text.c */

struct sqlite_store {
    struct store base; /* first */
    struct vfs *vfs;   /* owned; of all connections */
    sqlite3 *db;       /* the writer's connection */
    sqlite3_stmt *put, *del, *begin, *commit, *rollback, *meta_put, *del_range;
    struct buf placed;                  /* see store_place */
    uint8_t generations[DATABASES_MAX]; /* of each database; store thread: store_place.c */
    uint64_t places_serial;             /* atomic; odd while places may change: store_place.c */
    uint64_t flush_rows;                /* sqlite_options */
    sqlite3_stmt *counts_put, *counts_del, *savepoint, *rollback_to, *release, *aside_put, *probe;
    sqlite3_stmt *large_put, *large_del, *large_get;
    bool is_given_up;              /* atomic */
    char *path;                    /* owned */
    struct sqlite_reader *readers; /* open ones; loop thread */
    uint64_t reader_cache_bytes;
    struct file nowait_file; /* the database file, for vfs_nowait_begin; outlives all connections */
    uint8_t database_id[DATABASE_ID_BYTES];
    struct lineage lineage; /* owned */
    uint64_t applied;       /* as the last whole apply left it ... */
    struct sparse counts;   /* ... struct store_counts; owned; store thread */
    struct sparse slice;    /* struct store_change of the slice under way; owned; store thread */
    /* The row that `put` found there: noted by the SQL function `replacing`. */
    struct store_change replaced;
    int64_t replaced_large;          /* id of the large value that went with it; 0 = none */
    const struct text_ops *text_ops; /* NULL = text indexes are not kept */
    struct text_table *texts;        /* owned; store thread */
    /* Of a file whose source is elsewhere: nearby.c sets it. fetch NULL = everything is here. */
    struct nearby_source source;
    /* The next slice of an index; begins the transaction, and does not end it. */
    enum err (*fill_from)(struct sqlite_store *s, struct text_table *t, struct store_progress *p,
                          struct error *e);
    int lock_fd;         /* owned; -1 = the journal has the lock */
    bool has_lost_texts; /* `texts` could not be read again: nothing is applied */
    struct htab aside;   /* of struct aside_key: what was put aside, ever */
    uint64_t aside_bytes;
};

/* Translates a SQLite result code; OK for SQLITE_OK, _ROW and _DONE. */
enum err store_error(struct error *e, sqlite3 *db, int rc, const char *what);
/* Where a database lies as long as places_serial stays the same. */
#define READER_PLACES 16
struct reader_place {
    bool is_known;
    uint16_t database;
    uint8_t generation;
    uint64_t serial;
};

struct sqlite_reader {
    struct store_reader base;   /* first */
    struct sqlite_store *store; /* borrowed */
    struct sqlite_reader *next; /* of the store's open ones; see sqlite_give_up */
    sqlite3 *db;
    struct vfs_file *file; /* its main database file */
    sqlite3_stmt *get, *place, *forward, *backward, *large, *begin, *commit, *touch;
    bool is_pinned;
    struct reader_place places[READER_PLACES]; /* by database, modulo their number */
    struct buf placed;                         /* owned: the key of `get` as it is in kv */
};

static inline struct sqlite_store *sqlite_of(struct store *s)
{
    return (struct sqlite_store *)s;
}

static inline struct sqlite_reader *sqlite_reader_of(struct store_reader *r)
{
    return (struct sqlite_reader *)r;
}

/* What a store can do (backend/store.h), by the files that do it. */
ERR_MUST_USE enum err sqlite_apply(struct store *store, const struct memtable *m,
                                   struct store_progress *progress, struct error *e);
ERR_MUST_USE enum err sqlite_fill(struct store *store, bool *is_filling, struct error *e);
ERR_MUST_USE enum err sqlite_clean(struct store *store, struct store_progress *progress,
                                   bool *has_more, struct error *e);
ERR_MUST_USE enum err sqlite_aside_read(struct store *store,
                                        void (*each)(void *arg, const struct mutation *mu,
                                                     uint64_t version),
                                        void *arg, struct error *e);
ERR_MUST_USE enum err sqlite_reader_open(struct store *store, struct store_reader **out,
                                         struct error *e);
void sqlite_reader_close(struct store_reader *reader);
ERR_MUST_USE enum err sqlite_get(struct store_reader *reader, struct slice key, bool may_wait,
                                 struct entry *out, struct error *e);
void sqlite_get_end(struct store_reader *reader);
/* The value, borrowed from the reader, becomes a copy in the arena. ERR_NOMEM. */
ERR_MUST_USE enum err sqlite_copy_value(struct arena *arena, struct entry *entry, struct error *e);
ERR_MUST_USE enum err sqlite_get_many(struct store_reader *reader, const struct slice *keys,
                                      size_t count, struct arena *arena, struct entry *out,
                                      struct error *e);
ERR_MUST_USE enum err sqlite_pin(struct store_reader *reader, struct error *e);
void sqlite_unpin(struct store_reader *reader);
ERR_MUST_USE enum err sqlite_fetch(struct store_reader *reader, const struct store_fetch *f,
                                   struct store_chunk *out, struct error *e);
ERR_MUST_USE enum err sqlite_verify(struct store_reader *reader, struct store_found *out,
                                    const bool *is_stopping, struct error *e);
uint64_t sqlite_pages(struct store_reader *reader);
ERR_MUST_USE enum err sqlite_copy(struct store_reader *reader, const char *path,
                                  const bool *is_stopping, struct error *e);
void sqlite_search(struct store_reader *reader, struct text_request *q, int64_t deadline_us);

/* store_backup.c: files that become what is at `path` when they are complete. `part`: appends the
 * name until then, and a 0. begin: that, and makes the directory, in which nothing of an earlier
 * one is left; end: with `result` OK it goes into place, synced; else, and on an error, it is
 * removed. The result is the first error. */
void store_backup_part(const char *path, struct buf *part);
/* The file and what SQLite has beside it, if they are there: what is beside one must never be
 * opened with another. */
ERR_MUST_USE enum err store_backup_remove(const char *file, struct error *e);
ERR_MUST_USE enum err store_backup_begin(const char *path, struct buf *part, struct error *e);
ERR_MUST_USE enum err store_backup_end(const char *part, const char *path, enum err result,
                                       struct error *e);

/* store_own.c: the database gets this identity, and this lineage (NULL = it keeps its own); and a
 * version, even when it is empty, so that a start with it is known for one with a backup
 * (versions.c). */
ERR_MUST_USE enum err store_identify(sqlite3 *db, const uint8_t *id, const struct lineage *l,
                                     struct error *e);

/* store_sql.c */
enum err store_prepare(struct sqlite_store *s, sqlite3_stmt **stmt, const char *sql,
                       struct error *e);
ERR_MUST_USE enum err store_connect(const struct vfs *v, const char *path, uint64_t cache_bytes,
                                    bool is_writer, sqlite3 **out, struct error *e);

/* Runs a statement without rows. */
ERR_MUST_USE enum err store_run(struct sqlite_store *s, sqlite3_stmt *stmt, const char *what,
                                struct error *e);
/* The state as the database has it; on an error *p is as it was. */
ERR_MUST_USE enum err store_read_meta(struct sqlite_store *s, struct store_progress *p,
                                      struct error *e);

/* store_large.c: values longer than this are kept in a table of their own. */
#define STORE_INLINE_MAX 900
#define STORE_LARGE_SQL "SELECT v FROM large WHERE id=?1"
/* What kv.v is in terms of that table: its id, or NULL. */
#define STORE_LARGE_ID "CASE typeof(v) WHEN 'integer' THEN v END"
/* Bytes of the row's key and value, as they are counted, and STORE_HEAD_BYTES. Columns have their
 * table's name: within the SELECT a bare v is that of `large`. */
#define STORE_ROW_BYTES                                                                            \
    "length(kv.k)+CASE typeof(kv.v) WHEN 'integer' THEN "                                          \
    "(SELECT length(large.v) FROM large WHERE large.id=kv.v) ELSE length(kv.v) END"
/* In the transaction under way. */
ERR_MUST_USE enum err store_large_put(struct sqlite_store *s, struct slice value, int64_t *id,
                                      struct error *e);
ERR_MUST_USE enum err store_large_delete(struct sqlite_store *s, int64_t id, struct error *e);
/* The value whose id is in this column of `row`, by a statement of STORE_LARGE_SQL: borrowed until
 * that is reset, by the caller, also on error. */
ERR_MUST_USE enum err store_large_get(sqlite3_stmt *get, sqlite3_stmt *row, int column,
                                      struct slice *value, struct error *e);
/* A value in a column: borrowed until the next step. */
ERR_MUST_USE enum err store_value(sqlite3_stmt *row, int column, struct slice *value,
                                  struct error *e);
#define STORE_DELETE(where)                                                                        \
    "DELETE FROM kv WHERE " where " RETURNING " STORE_LARGE_ID ", " STORE_ROW_BYTES
/* Runs a STORE_DELETE, and removes the large values too. *bytes: of keys and values, as they are
 * counted. */
ERR_MUST_USE enum err store_delete_rows(struct sqlite_store *s, sqlite3_stmt *stmt,
                                        const char *what, int *removed, int64_t *bytes,
                                        struct error *e);

/* store_place.c: keys as they are in kv. */
#define STORE_HEAD_BYTES 4
#define STORE_HEAD(database, generation, space)                                                    \
    (uint8_t)((unsigned)(database) >> 8), (uint8_t)(database), (uint8_t)(generation),              \
        (uint8_t)(space)
/* The place of a key for a reader's statement: parameters that are the key, and its database. */
#define STORE_PLACE(key, database)                                                                 \
    "place(" key "," database ",(SELECT g FROM places WHERE d=" database "))"
/* Makes `place` known to a connection. */
ERR_MUST_USE enum err store_place_register(sqlite3 *db, struct error *e);
/* For the writer: good until the next call. Store thread. */
struct slice store_place(struct sqlite_store *s, struct slice key);
/* The place of a key in a generation; good as long as `out` is. */
struct slice store_place_in(struct buf *out, struct slice key, uint8_t generation);
/* The other way: writes the key, of one byte less. */
void store_unplace(uint8_t *out, struct slice placed);
static inline uint8_t store_generation_of(struct slice placed)
{
    return placed.data[2];
}
void store_generation_bounds(uint16_t database, uint8_t generation, uint8_t start[STORE_HEAD_BYTES],
                             uint8_t end[STORE_HEAD_BYTES]);
/* At a start: into s->generations. */
ERR_MUST_USE enum err store_places_read(struct sqlite_store *s, struct error *e);

/* Databases that get another generation, within one transaction. */
struct store_moved {
    uint16_t database;
    uint8_t generation;
};
struct store_moving {
    sqlite3_stmt *is_taken, *merge, *forget, *put; /* owned */
    struct store_moved *moved;                     /* owned */
    size_t count, cap;
};
/* To be ended, also after an error. */
ERR_MUST_USE enum err store_moving_begin(struct sqlite_store *s, struct store_moving *m,
                                         struct error *e);
/* Forgets what lies in the database's generation. *is_moved false: no other one is free, and
 * nothing was done. The writer goes on with the old one until the end. */
ERR_MUST_USE enum err store_move(struct sqlite_store *s, struct store_moving *m, uint16_t database,
                                 bool *is_moved, struct error *e);
/* After the transaction: is it committed? */
void store_moving_end(struct sqlite_store *s, struct store_moving *m, bool is_committed);

/* store_flush.c: what the memtable flushes, in transactions of its own. */
ERR_MUST_USE enum err store_flush(struct sqlite_store *s, const struct memtable *m,
                                  struct store_progress *p, struct error *e);

/* store_apply.c: one entry into the transaction under way: *change is what it does to the counts of
 * its database, which the caller adds to s->slice when the entry is to stay. */
ERR_MUST_USE enum err store_apply_entry(struct sqlite_store *s, const struct mem_entry *entry,
                                        struct store_change *change, struct error *e);
/* What the store and the slices of this apply have of a database. */
struct store_counts store_counts_now(const struct sqlite_store *s, const struct store_progress *p,
                                     uint16_t database);
/* Ends the transaction. The counts go with it, so that they are right after a crash at any point:
 * s->slice becomes part of p->counts. */
ERR_MUST_USE enum err store_commit(struct sqlite_store *s, struct store_progress *p,
                                   struct error *e);

/* store_clean.c: the ranges that the memtable forgets; in the transaction under way. */
ERR_MUST_USE enum err store_forget(struct sqlite_store *s, const struct memtable *m,
                                   struct error *e);

/* In meta, of a file whose source is elsewhere; the name goes on with the number of a database: so
 * many entries it had there when an index was last filled in (nearby.c). */
#define STORE_ENTRIES "entries "

/* store_aside.c: entries whose place in the table is damaged. Store thread, or opening. */
ERR_MUST_USE enum err store_aside_open(struct sqlite_store *s, struct error *e);
void store_aside_close(struct sqlite_store *s);
bool store_aside_has(const struct sqlite_store *s, struct slice key);
/* In the transaction under way. ERR_CORRUPT: there is too much already. */
ERR_MUST_USE enum err store_aside_put(struct sqlite_store *s, const struct mem_entry *entry,
                                      struct store_progress *p, struct error *e);
/* Can the key be looked up? An entry in an inner page of the tree can be replaced without its
 * neighbours, but not found without them. */
ERR_MUST_USE enum err store_probe(struct sqlite_store *s, struct slice key, struct error *e);
/* The database is flushed; in the transaction under way. */
ERR_MUST_USE enum err store_aside_flush(struct sqlite_store *s, uint16_t database, struct error *e);
/* Moves the write-ahead log into the database file as far as readers allow. */
void store_checkpoint(struct sqlite_store *s);
/* The same, and gives back the log's file, unless a reader needs it, and the memory of pages. */
void store_rest(struct sqlite_store *s);

static inline bool store_is_given_up(const struct sqlite_store *s)
{
    return __atomic_load_n(&s->is_given_up, __ATOMIC_RELAXED);
}
enum err store_given_up(struct error *e);

/* store_dropped.c: removes some of the tables of text indexes that are gone, in the transaction
 * under way; *has_more: there is more. */
ERR_MUST_USE enum err store_dropped_clean(struct sqlite_store *s, bool *has_more, struct error *e);

/* store_clean.c: is there anything forgotten that can be removed? */
bool store_has_garbage(const struct sqlite_store *s);
/* At a start: what was damaged is to be tried again.
 * Where not even that can be noted, it is not. */
void store_clean_again(struct sqlite_store *s);

#endif
