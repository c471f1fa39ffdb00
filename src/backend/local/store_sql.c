/* store_sql: what all parts of the store do with SQLite: errors, connections, running a statement,
 * committing.
 */
#include <stdio.h>

#include "backend/local/fts5_extend.h"
#include "backend/local/page_sum.h"
#include "backend/local/store_int.h"
#include "backend/local/vfs.h"
#include "base/log.h"

#define BUSY_MS 5000

enum err store_error(struct error *e, sqlite3 *db, int rc, const char *what)
{
    int base = rc & 0xff;
    if (base == SQLITE_OK || base == SQLITE_ROW || base == SQLITE_DONE) return OK;
    const char *text = db != NULL ? sqlite3_errmsg(db) : sqlite3_errstr(rc);
    switch (base) {
    case SQLITE_FULL: return error_set(e, ERR_DISK_FULL, "disk full: cannot %s: %s", what, text);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        if (base == SQLITE_NOTADB && vfs_damage() != NULL) text = vfs_damage();
        (void)error_set(e, ERR_CORRUPT, "cannot %s: %s", what, text);
        vfs_damage_forget();
        return ERR_CORRUPT;
    case SQLITE_NOMEM: return error_set(e, ERR_NOMEM, "cannot %s: %s", what, text);
    default: return error_set(e, ERR_IO, "cannot %s: %s (%d)", what, text, rc);
    }
}

enum err store_given_up(struct error *e)
{
    return error_set(e, ERR_IO, "the database is being abandoned");
}

enum err store_connect(const struct vfs *v, const char *path, uint64_t cache_bytes, bool is_writer,
                       sqlite3 **out, struct error *e)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    if (is_writer) flags |= SQLITE_OPEN_CREATE;
    int rc = sqlite3_open_v2(path, out, flags, vfs_name(v));
    if (rc != SQLITE_OK) {
        enum err r = store_error(e, *out, rc, "open the database");
        sqlite3_close(*out);
        *out = NULL;
        return r;
    }
    char sql[200];
    uint64_t cache_kb = cache_bytes / 1024 + 1;
    int reserved = PAGE_SUM_BYTES;
    unsigned allowed = is_writer ? VFS_BLANK_PAGES | VFS_OWN_FRAMES : 0;
    sqlite3_file_control(*out, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
    sqlite3_file_control(*out, "main", VFS_CONTROL_ALLOWED, &allowed);
    snprintf(sql, sizeof sql,
             "PRAGMA page_size=%d; PRAGMA cache_size=-%llu; PRAGMA wal_autocheckpoint=0;"
             "PRAGMA secure_delete=OFF; PRAGMA temp_store=MEMORY;",
             PAGE_BYTES, (unsigned long long)cache_kb);
    sqlite3_busy_timeout(*out, BUSY_MS);
    rc = sqlite3_exec(*out, sql, NULL, NULL, NULL);
    if (rc == SQLITE_OK) rc = fts5_extend(*out);
    return store_error(e, *out, rc, "set up the database");
}

enum err store_run(struct sqlite_store *s, sqlite3_stmt *stmt, const char *what, struct error *e)
{
    if (store_is_given_up(s)) return store_given_up(e);
    int rc = sqlite3_step(stmt);
    enum err r = store_error(e, s->db, rc, what);
    sqlite3_reset(stmt);
    return r;
}

enum err store_prepare(struct sqlite_store *s, sqlite3_stmt **stmt, const char *sql,
                       struct error *e)
{
    int rc = sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL);
    return store_error(e, s->db, rc, "prepare a statement");
}

static enum err read_counts(struct sqlite_store *s, struct sparse *counts, struct error *e)
{
    sqlite3_stmt *stmt = NULL;
    int rc = SQLITE_OK;
    enum err r = store_prepare(s, &stmt, "SELECT d, entries, expiring, bytes FROM counts", e);
    if (r != OK) return r;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct store_counts c = {.entries = (uint64_t)sqlite3_column_int64(stmt, 1),
                                 .expiring = (uint64_t)sqlite3_column_int64(stmt, 2),
                                 .bytes = (uint64_t)sqlite3_column_int64(stmt, 3)};
        sqlite3_int64 database = sqlite3_column_int64(stmt, 0);
        if (database < 0 || database >= DATABASES_MAX) continue;
        store_counts_put(counts, (uint16_t)database, &c);
    }
    r = store_error(e, s->db, rc, "read the counts");
    sqlite3_finalize(stmt);
    return r;
}

static bool read_lineage(struct sqlite_store *s, sqlite3_stmt *stmt)
{
    const void *text = sqlite3_column_text(stmt, 1);
    size_t len = (size_t)sqlite3_column_bytes(stmt, 1);
    lineage_fini(&s->lineage);
    return lineage_read(slice_of(text, len), &s->lineage);
}

enum err store_read_meta(struct sqlite_store *s, struct store_progress *p, struct error *e)
{
    sqlite3_stmt *stmt = NULL;
    enum err r = store_prepare(s, &stmt, "SELECT name, value FROM meta", e);
    if (r != OK) return r;
    bool has_id = false;
    bool has_lineage = true;
    int rc = SQLITE_OK;
    struct store_progress state = {0};
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        if (strcmp(name, "applied") == 0) {
            state.applied = (uint64_t)sqlite3_column_int64(stmt, 1);
        } else if (strcmp(name, "database_id") == 0) {
            has_id = sqlite3_column_bytes(stmt, 1) == DATABASE_ID_BYTES;
            if (has_id) memcpy(s->database_id, sqlite3_column_blob(stmt, 1), DATABASE_ID_BYTES);
        } else if (strcmp(name, "timeline") == 0) {
            has_lineage = read_lineage(s, stmt);
        }
    }
    r = store_error(e, s->db, rc, "read the database's state");
    sqlite3_finalize(stmt);
    if (r == OK && !has_id) r = error_set(e, ERR_CORRUPT, "%s has lost its id", s->path);
    if (r == OK && !has_lineage) {
        r = error_set(e, ERR_CORRUPT, "%s: the record of its timeline is damaged", s->path);
    }
    if (r == OK) r = read_counts(s, &state.counts, e);
    if (r == OK) {
        *p = state;
    } else {
        store_progress_fini(&state);
    }
    return r;
}

struct store_counts store_counts_now(const struct sqlite_store *s, const struct store_progress *p,
                                     uint16_t database)
{
    const struct sparse *from = sparse_get(&p->counts, database) != NULL ? &p->counts : &s->counts;
    return store_counts_get(from, database);
}

static enum err put_counts(struct sqlite_store *s, uint16_t database, const struct store_counts *c,
                           struct error *e)
{
    bool is_empty = c->entries == 0 && c->expiring == 0 && c->bytes == 0;
    sqlite3_stmt *stmt = is_empty ? s->counts_del : s->counts_put;
    sqlite3_bind_int(stmt, 1, database);
    if (!is_empty) {
        sqlite3_bind_int64(stmt, 2, (sqlite3_int64)c->entries);
        sqlite3_bind_int64(stmt, 3, (sqlite3_int64)c->expiring);
        sqlite3_bind_int64(stmt, 4, (sqlite3_int64)c->bytes);
    }
    return store_run(s, stmt, "record the counts", e);
}

enum err store_commit(struct sqlite_store *s, struct store_progress *p, struct error *e)
{
    enum err r = OK;
    const struct store_change *d;
    for (uint32_t i = 0; r == OK && (d = sparse_next(&s->slice, &i)) != NULL; i++) {
        struct store_counts c = store_counts_now(s, p, (uint16_t)i);
        c.entries += (uint64_t)d->entries;
        c.expiring += (uint64_t)d->expiring;
        c.bytes += (uint64_t)d->bytes;
        store_counts_put(&p->counts, (uint16_t)i, &c);
        r = put_counts(s, (uint16_t)i, &c, e);
    }
    store_counts_fini(&s->slice);
    if (r == OK) r = store_run(s, s->commit, "commit", e);
    return r;
}

static void checkpoint(struct sqlite_store *s, int mode)
{
    int rc = sqlite3_wal_checkpoint_v2(s->db, NULL, mode, NULL, NULL);
    if (rc != SQLITE_OK && rc != SQLITE_BUSY) {
        log_warning("store: checkpoint: %s", sqlite3_errstr(rc));
    }
}

void store_checkpoint(struct sqlite_store *s)
{
    checkpoint(s, SQLITE_CHECKPOINT_PASSIVE);
}

void store_rest(struct sqlite_store *s)
{
    sqlite3_busy_timeout(s->db, 0);
    checkpoint(s, SQLITE_CHECKPOINT_TRUNCATE);
    sqlite3_busy_timeout(s->db, BUSY_MS);
    (void)sqlite3_db_release_memory(s->db);
}
