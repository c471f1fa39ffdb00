/* store_int: what store.c and store_read.c share. */
#ifndef BACKEND_LOCAL_STORE_INT_H
#define BACKEND_LOCAL_STORE_INT_H

#include <sqlite3.h>

#include "backend/local/store.h"
#include "base/file.h"

struct text_table; /* store_text.c */

struct store {
    sqlite3 *db; /* the writer's connection */
    sqlite3_stmt *put, *del, *begin, *commit, *rollback, *meta_put, *del_range;
    char *path; /* owned */
    uint64_t reader_cache_bytes;
    struct file nowait_file; /* the database file, for vfs_nowait_begin; outlives all connections */
    uint8_t database_id[DATABASE_ID_BYTES];
    struct store_progress state; /* of the last whole apply */
    /* Rows that `put` found there, and those of them with an expiry: counted by the SQL function
     * `replacing`. */
    uint64_t replaced, replaced_expiring;
    const struct text_ops *text_ops; /* NULL = text indexes are not kept */
    struct text_table *texts;        /* owned; store thread */
    bool has_lost_texts;             /* `texts` could not be read again: nothing is applied */
};

/* Translates a SQLite result code; OK for SQLITE_OK, _ROW and _DONE. */
enum err store_error(struct error *e, sqlite3 *db, int rc, const char *what);
sqlite3 *store_reader_db(struct store_reader *r);
const struct text_ops *store_reader_text_ops(const struct store_reader *r);
ERR_MUST_USE enum err store_connect(const char *path, uint64_t cache_bytes, bool is_writer,
                                    sqlite3 **out, struct error *e);

#endif
