/* store_own: what becomes of a copy of a database, in a file that is not in use: an identity of its
 * own, another timeline, less than the original had.
 */
#include <stdio.h>

#include "backend/local/store_int.h"
#include "backend/local/vfs.h"
#include "backend/memtable.h"

#define CACHE_BYTES (4u << 20)

static enum err own_run(sqlite3 *db, const char *sql, struct slice blob, bool is_text,
                        struct error *e)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK && is_text) {
        rc = sqlite3_bind_text(stmt, 1, (const char *)blob.data, (int)blob.len, SQLITE_STATIC);
    } else if (rc == SQLITE_OK) {
        rc = sqlite3_bind_blob(stmt, 1, blob.data, (int)blob.len, SQLITE_STATIC);
    }
    if (rc == SQLITE_OK) rc = sqlite3_step(stmt);
    enum err r = store_error(e, db, rc, "give the copy its identity");
    sqlite3_finalize(stmt);
    return r;
}

enum err store_identify(sqlite3 *db, const uint8_t *id, const struct lineage *l, struct error *e)
{
    struct buf text;
    buf_init(&text);
    enum err r = own_run(db, "UPDATE meta SET value=?1 WHERE name='database_id'",
                         slice_of(id, DATABASE_ID_BYTES), false, e);
    if (r == OK && l != NULL) {
        lineage_format(l, &text);
        buf_require(&text);
        r = own_run(db, "INSERT OR REPLACE INTO meta VALUES('timeline', ?1)", buf_slice(&text),
                    true, e);
    }
    if (r == OK) {
        int rc = sqlite3_exec(db, "UPDATE meta SET value=max(value,1) WHERE name='applied'", NULL,
                              NULL, NULL);
        r = store_error(e, db, rc, "give the copy its identity");
    }
    buf_fini(&text);
    return r;
}

/* A connection for one thing, at the end of which there is one file again, synced. */
static enum err with_file(const char *path,
                          enum err (*work)(sqlite3 *db, const void *arg, struct error *e),
                          const void *arg, struct error *e)
{
    sqlite3 *db = NULL;
    struct vfs *vfs = vfs_open(e);
    if (vfs == NULL) return ERR_IO;
    enum err r = store_connect(vfs, path, CACHE_BYTES, true, &db, e);
    if (r == OK) r = work(db, arg, e);
    if (r == OK) {
        int rc = sqlite3_exec(db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
        r = store_error(e, db, rc, "finish the copy");
    }
    int closed = sqlite3_close(db);
    if (r == OK) r = store_error(e, NULL, closed, "close the copy");
    if (closed == SQLITE_OK) vfs_close(vfs);
    return r;
}

struct identity {
    const uint8_t *id;
    const struct lineage *lineage;
};

static enum err identify(sqlite3 *db, const void *arg, struct error *e)
{
    const struct identity *x = arg;
    enum err r = store_error(e, db, sqlite3_exec(db, "PRAGMA synchronous=FULL", NULL, NULL, NULL),
                             "set up the copy");
    return r == OK ? store_identify(db, x->id, x->lineage, e) : r;
}

enum err sqlite_own(const char *path, const uint8_t *id, const struct lineage *l, struct error *e)
{
    struct identity x = {.id = id, .lineage = l};
    return with_file(path, identify, &x, e);
}

/* As FLUSHDB of each, and what that leaves for the background. */
static enum err flush(struct store *store, const uint16_t *databases, size_t count, struct error *e)
{
    struct store_progress progress = {0};
    struct memtable *m = memtable_new(0);
    bool has_more = true;
    store->ops->state(store, &progress);
    for (size_t i = 0; i < count; i++) memtable_flush(m, databases[i], progress.applied);
    memtable_move(m, MEM_FROZEN);
    memtable_move(m, MEM_APPLYING);
    store_progress_fini(&progress);
    enum err r = store_apply(store, m, &progress, e);
    store_progress_fini(&progress);
    while (r == OK && has_more) {
        r = store_clean(store, &progress, &has_more, e);
        store_progress_fini(&progress);
    }
    memtable_free(m);
    return r;
}

/* Else what was removed would still be in free pages. */
static enum err vacuum(sqlite3 *db, const void *arg, struct error *e)
{
    (void)arg;
    return store_error(e, db, sqlite3_exec(db, "VACUUM", NULL, NULL, NULL), "shrink the copy");
}

enum err sqlite_omit(const char *path, const uint16_t *databases, size_t count,
                     const struct text_ops *text_ops, struct error *e)
{
    struct store *store = NULL;
    struct sqlite_options options = {.path = path,
                                     .cache_bytes = CACHE_BYTES,
                                     .reader_cache_bytes = CACHE_BYTES,
                                     .text_ops = text_ops};
    enum err r = sqlite_open(&options, &store, e);
    if (r != OK) return r;
    r = flush(store, databases, count, e);
    store_close(store);
    return r == OK ? with_file(path, vacuum, NULL, e) : r;
}
