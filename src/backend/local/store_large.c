/* store_large: values that are too long for a row of kv. SQLite reads a row that does not fit into
 * its page from end to end, value and all, to compare its key with another: a look-up that only
 * passes a value of 16 MB on its way would read all of it. And where rows are long, a page of kv
 * has few of them, so that the way to each is long.
 *
 * Such a value is a row of large; kv.v is then its id, an integer. Both change in one transaction.
 */
#include "backend/local/store_int.h"
#include "base/mem.h"

enum err store_large_put(struct sqlite_store *s, struct slice value, int64_t *id, struct error *e)
{
    sqlite3_bind_blob64(s->large_put, 1, value.data, value.len, SQLITE_STATIC);
    enum err r = store_run(s, s->large_put, "write a value", e);
    sqlite3_clear_bindings(s->large_put);
    *id = sqlite3_last_insert_rowid(s->db);
    return r;
}

enum err store_large_delete(struct sqlite_store *s, int64_t id, struct error *e)
{
    sqlite3_bind_int64(s->large_del, 1, id);
    return store_run(s, s->large_del, "remove a value", e);
}

enum err store_large_get(sqlite3_stmt *get, sqlite3_stmt *row, int column, struct slice *value,
                         struct error *e)
{
    sqlite3 *db = sqlite3_db_handle(get);
    sqlite3_bind_int64(get, 1, sqlite3_column_int64(row, column));
    int rc = sqlite3_step(get);
    if (rc == SQLITE_DONE) return error_set(e, ERR_CORRUPT, "tupled.db: a value is missing");
    if (rc != SQLITE_ROW) return store_error(e, db, rc, "read");
    return store_value(get, 0, value, e);
}

enum err store_value(sqlite3_stmt *row, int column, struct slice *value, struct error *e)
{
    const void *data = sqlite3_column_blob(row, column);
    *value = slice_of(data, (size_t)sqlite3_column_bytes(row, column));
    if (data == NULL && sqlite3_errcode(sqlite3_db_handle(row)) == SQLITE_NOMEM) {
        return error_set(e, ERR_NOMEM, "out of memory for a value");
    }
    return OK;
}

enum err store_delete_rows(struct sqlite_store *s, sqlite3_stmt *stmt, const char *what,
                           int *removed, int64_t *bytes, struct error *e)
{
    int64_t *ids = NULL;
    size_t count = 0;
    size_t cap = 0;
    int rc;
    *removed = 0;
    *bytes = 0;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        ++*removed;
        *bytes += sqlite3_column_int64(stmt, 1) - STORE_HEAD_BYTES;
        if (sqlite3_column_type(stmt, 0) != SQLITE_INTEGER) continue;
        if (count == cap) {
            cap = cap == 0 ? 64 : 2 * cap;
            ids = mem_resize(ids, cap * sizeof *ids);
        }
        ids[count++] = sqlite3_column_int64(stmt, 0);
    }
    enum err r = store_error(e, s->db, rc, what);
    sqlite3_reset(stmt);
    for (size_t i = 0; i < count && r == OK; i++) r = store_large_delete(s, ids[i], e);
    mem_free(ids);
    return r;
}
