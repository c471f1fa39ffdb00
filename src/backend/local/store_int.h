/* store_int: what store.c and store_read.c share. */
#ifndef BACKEND_LOCAL_STORE_INT_H
#define BACKEND_LOCAL_STORE_INT_H

#include <sqlite3.h>

#include "backend/local/store.h"
#include "backend/local/vfs.h"
#include "base/file.h"

struct text_table; /* store_text.c */

struct store {
    sqlite3 *db; /* the writer's connection */
    sqlite3_stmt *put, *del, *begin, *commit, *rollback, *meta_put, *del_range;
    sqlite3_stmt *counts_put, *counts_del, *savepoint, *rollback_to, *release, *aside_put, *probe;
    sqlite3_stmt *large_put, *large_del, *large_get;
    char *path; /* owned */
    uint64_t reader_cache_bytes;
    struct file nowait_file; /* the database file, for vfs_nowait_begin; outlives all connections */
    uint8_t database_id[DATABASE_ID_BYTES];
    uint64_t applied;     /* as the last whole apply left it ... */
    struct sparse counts; /* ... struct store_counts; owned */
    /* The row that `put` found there: noted by the SQL function `replacing`. */
    struct store_change replaced;
    int64_t replaced_large;          /* id of the large value that went with it; 0 = none */
    const struct text_ops *text_ops; /* NULL = text indexes are not kept */
    struct text_table *texts;        /* owned; store thread */
    bool has_lost_texts;             /* `texts` could not be read again: nothing is applied */
    struct htab aside;               /* of struct aside_key: what was put aside, ever */
    uint64_t aside_bytes;
};

/* Translates a SQLite result code; OK for SQLITE_OK, _ROW and _DONE. */
enum err store_error(struct error *e, sqlite3 *db, int rc, const char *what);
sqlite3 *store_reader_db(struct store_reader *r);
const struct text_ops *store_reader_text_ops(const struct store_reader *r);
ERR_MUST_USE enum err store_connect(const char *path, uint64_t cache_bytes, bool is_writer,
                                    sqlite3 **out, struct error *e);

/* Runs a statement without rows. */
ERR_MUST_USE enum err store_run(struct store *s, sqlite3_stmt *stmt, const char *what,
                                struct error *e);
/* The state as the database has it; on an error *p is as it was. */
ERR_MUST_USE enum err store_read_meta(struct store *s, struct store_progress *p, struct error *e);
void store_progress_fini(struct store_progress *p);

/* store_large.c: values longer than this are kept in a table of their own. */
#define STORE_INLINE_MAX 900
#define STORE_LARGE_SQL "SELECT v FROM large WHERE id=?1"
/* What kv.v is in terms of that table: its id, or NULL. */
#define STORE_LARGE_ID "CASE typeof(v) WHEN 'integer' THEN v END"
/* Bytes of the row's key and value, as they are counted, and the head. */
#define STORE_ROW_BYTES(kv)                                                                        \
    "length(" kv "k)+CASE typeof(" kv "v) WHEN 'integer' THEN "                                    \
    "(SELECT length(v) FROM large WHERE id=" kv "v) ELSE length(" kv "v) END"
/* In the transaction under way. */
ERR_MUST_USE enum err store_large_put(struct store *s, struct slice value, int64_t *id,
                                      struct error *e);
ERR_MUST_USE enum err store_large_delete(struct store *s, int64_t id, struct error *e);
/* The value whose id is in this column of `row`, by a statement of STORE_LARGE_SQL: borrowed until
 * that is reset, by the caller, also on error. */
ERR_MUST_USE enum err store_large_get(sqlite3_stmt *get, sqlite3_stmt *row, int column,
                                      struct slice *value, struct error *e);
/* A value in a column: borrowed until the next step. */
ERR_MUST_USE enum err store_value(sqlite3_stmt *row, int column, struct slice *value,
                                  struct error *e);
/* Runs DELETE FROM kv ... RETURNING STORE_LARGE_ID, STORE_ROW_BYTES, and removes the large values
 * too. *bytes: of keys and values, as they are counted. */
ERR_MUST_USE enum err store_delete_rows(struct store *s, sqlite3_stmt *stmt, const char *what,
                                        int *removed, int64_t *bytes, struct error *e);

/* store_apply.c: one entry into the transaction under way: *change is what it does to the counts of
 * its database, which the caller adds to p->slice when the entry is to stay. */
ERR_MUST_USE enum err store_apply_entry(struct store *s, const struct mem_entry *entry,
                                        struct store_change *change, struct error *e);
/* Ends the transaction. The counts go with it, so that they are right after a crash at any point:
 * p->slice becomes part of p->counts. */
ERR_MUST_USE enum err store_commit(struct store *s, struct store_progress *p, struct error *e);

/* store_clean.c: the ranges that the memtable forgets; in the transaction under way. */
ERR_MUST_USE enum err store_forget(struct store *s, const struct memtable *m, struct error *e);

/* store_aside.c: entries whose place in the table is damaged. Store thread, or opening. */
ERR_MUST_USE enum err store_aside_open(struct store *s, struct error *e);
void store_aside_close(struct store *s);
bool store_aside_has(const struct store *s, struct slice key);
/* In the transaction under way. ERR_CORRUPT: there is too much already. */
ERR_MUST_USE enum err store_aside_put(struct store *s, const struct mem_entry *entry,
                                      struct store_progress *p, struct error *e);
/* Can the key be looked up? An entry in an inner page of the tree can be replaced without its
 * neighbours, but not found without them. */
ERR_MUST_USE enum err store_probe(struct store *s, struct slice key, struct error *e);
/* The database is flushed; in the transaction under way. */
ERR_MUST_USE enum err store_aside_flush(struct store *s, uint16_t database, struct error *e);
void store_aside_fini(struct store_aside *a);

#endif
