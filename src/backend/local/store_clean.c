/* store_clean: ranges that are forgotten: noted with the memtable that says so, removed later. */
#include "backend/local/store_int.h"

#define SLICE_ROWS 5000

enum err store_forget(struct sqlite_store *s, const struct memtable *m, struct error *e)
{
    sqlite3_stmt *stmt = NULL;
    if (m->forgotten == NULL) return OK;
    int rc = sqlite3_prepare_v2(s->db, "INSERT OR REPLACE INTO forgotten VALUES(?1,?2)", -1, &stmt,
                                NULL);
    enum err r = store_error(e, s->db, rc, "note a forgotten range");
    for (const struct mem_range *f = m->forgotten; r == OK && f != NULL; f = f->next) {
        sqlite3_bind_blob(stmt, 1, f->start.data, (int)f->start.len, SQLITE_STATIC);
        sqlite3_bind_blob(stmt, 2, f->end.data, (int)f->end.len, SQLITE_STATIC);
        r = store_run(s, stmt, "note a forgotten range", e);
    }
    sqlite3_finalize(stmt);
    return r;
}

static enum err prepare(struct sqlite_store *s, sqlite3_stmt **stmt, const char *sql,
                        struct error *e)
{
    return store_error(e, s->db, sqlite3_prepare_v2(s->db, sql, -1, stmt, NULL), "clean up");
}

/* Binds the range that `row` holds. */
static void bind_range(sqlite3_stmt *stmt, sqlite3_stmt *row)
{
    sqlite3_bind_value(stmt, 1, sqlite3_column_value(row, 0));
    if (sqlite3_bind_parameter_count(stmt) < 2) return;
    sqlite3_bind_value(stmt, 2, sqlite3_column_value(row, 1));
    if (sqlite3_bind_parameter_count(stmt) < 3) return;
    sqlite3_bind_int(stmt, 3, SLICE_ROWS);
}

struct cleaning {
    sqlite3_stmt *first, *remove, *remove_aside, *end;
};

/* In a transaction. *rows counts what was removed. Of a damaged range the rest stays, which harms
 * nobody. */
static enum err clean_range(struct sqlite_store *s, struct cleaning *c, int *rows, struct error *e)
{
    struct error why;
    uint16_t database = key_database(
        slice_of(sqlite3_column_blob(c->first, 0), (size_t)sqlite3_column_bytes(c->first, 0)));
    bind_range(c->remove, c->first);
    bind_range(c->remove_aside, c->first);
    enum err r = store_run(s, s->savepoint, "set a savepoint", e);
    if (r != OK) return r;
    int removed = 0;
    struct store_change change = {0};
    r = store_delete_rows(s, c->remove, "clean up", &removed, &change.bytes, &why);
    if (r != OK) removed = 0;
    bool is_damaged = r == ERR_CORRUPT;
    if (is_damaged) r = store_run(s, s->rollback_to, "go back to a savepoint", &why);
    if (r == OK) r = store_run(s, c->remove_aside, "clean up", &why);
    bind_range(c->end, c->first);
    if (r == OK && (is_damaged || removed < SLICE_ROWS)) r = store_run(s, c->end, "clean up", &why);
    if (r == OK) r = store_run(s, s->release, "release a savepoint", &why);
    if (r != OK && e != NULL) *e = why;
    if (r == OK && removed > 0) {
        change.bytes = -change.bytes;
        store_change_add(&s->slice, database, &change);
    }
    *rows += removed + 1;
    return r;
}

static enum err clean_slice(struct sqlite_store *s, struct cleaning *c, bool *has_more,
                            struct error *e)
{
    enum err r = OK;
    int rows = 0;
    *has_more = true;
    while (r == OK && rows < SLICE_ROWS) {
        int rc = sqlite3_step(c->first);
        r = store_error(e, s->db, rc, "clean up");
        *has_more = rc == SQLITE_ROW;
        if (r == OK && *has_more) r = clean_range(s, c, &rows, e);
        sqlite3_reset(c->first);
        if (!*has_more) break;
    }
    return r;
}

enum err sqlite_clean(struct store *store, struct store_progress *progress, bool *has_more,
                      struct error *e)
{
    struct sqlite_store *s = sqlite_of(store);
    struct cleaning c = {0};
    *progress = (struct store_progress){.applied = s->applied};
    enum err r = prepare(s, &c.first, "SELECT start, end FROM forgotten LIMIT 1", e);
    if (r == OK) {
        r = prepare(s, &c.remove,
                    "DELETE FROM kv WHERE k IN (SELECT k FROM kv WHERE k>=?1 AND k<?2 LIMIT ?3)"
                    " RETURNING " STORE_LARGE_ID ", " STORE_ROW_BYTES(""),
                    e);
    }
    if (r == OK) r = prepare(s, &c.remove_aside, "DELETE FROM aside WHERE k>=?1 AND k<?2", e);
    if (r == OK) r = prepare(s, &c.end, "DELETE FROM forgotten WHERE start=?1", e);
    if (r == OK) r = store_run(s, s->begin, "begin", e);
    if (r == OK) r = clean_slice(s, &c, has_more, e);
    sqlite3_finalize(c.first);
    sqlite3_finalize(c.remove);
    sqlite3_finalize(c.remove_aside);
    sqlite3_finalize(c.end);
    if (r == OK) r = store_commit(s, progress, e);
    if (r == OK) {
        store_counts_merge(&s->counts, &progress->counts);
        store_checkpoint(s);
        return OK;
    }
    store_counts_fini(&s->slice);
    store_progress_fini(progress);
    *progress = (struct store_progress){.applied = s->applied};
    if (!sqlite3_get_autocommit(s->db)) {
        sqlite3_step(s->rollback);
        sqlite3_reset(s->rollback);
    }
    return r;
}

bool store_has_garbage(const struct sqlite_store *s)
{
    sqlite3_stmt *stmt = NULL;
    bool has_garbage = false;
    if (sqlite3_prepare_v2(s->db, "SELECT 1 FROM forgotten LIMIT 1", -1, &stmt, NULL) ==
        SQLITE_OK) {
        has_garbage = sqlite3_step(stmt) == SQLITE_ROW;
    }
    sqlite3_finalize(stmt);
    return has_garbage;
}
