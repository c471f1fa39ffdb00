/* store_verify: reads all of tupled.db as a pinned reader sees it: every page of every tree, those
 * of large values and of text indexes too. Pages are checked as they are read (vfs.h); that the
 * trees hang together is SQLite's own check.
 */
#include <sched.h>
#include <stdio.h>

#include "backend/local/store_int.h"

#define STEPS 20000 /* of SQLite's virtual machine between two looks at is_stopping */
#define MESSAGES_MAX "1000"

struct looking {
    const bool *is_stopping; /* atomic */
};

static int look(void *arg)
{
    const struct looking *k = arg;
    sched_yield();
    return __atomic_load_n(k->is_stopping, __ATOMIC_RELAXED);
}

uint64_t sqlite_pages(struct store_reader *reader)
{
    struct sqlite_reader *r = sqlite_reader_of(reader);
    sqlite3_stmt *stmt = NULL;
    uint64_t pages = 0;
    int rc = sqlite3_prepare_v2(r->db, "PRAGMA page_count", -1, &stmt, NULL);
    if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) {
        pages = (uint64_t)sqlite3_column_int64(stmt, 0);
    }
    sqlite3_finalize(stmt);
    return pages;
}

enum err sqlite_verify(struct store_reader *reader, struct store_found *out,
                       const bool *is_stopping, struct error *e)
{
    sqlite3_stmt *stmt = NULL;
    sqlite3 *db = sqlite_reader_of(reader)->db;
    struct vfs_collected collected = {.found = out};
    struct error found = {.code = OK};
    struct looking looking = {.is_stopping = is_stopping};
    int rc = sqlite3_prepare_v2(db, "PRAGMA quick_check(" MESSAGES_MAX ")", -1, &stmt, NULL);
    sqlite3_progress_handler(db, STEPS, look, &looking);
    vfs_collect(&collected);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(stmt);
        const char *text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
        if (text == NULL || strcmp(text, "ok") == 0 || found.code != OK) continue;
        (void)error_set(&found, ERR_CORRUPT, "tupled.db: %s", text);
    }
    vfs_collect(NULL);
    vfs_damage_forget();
    sqlite3_progress_handler(db, 0, NULL, NULL);
    enum err result = store_error(e, db, rc, "verify the database");
    sqlite3_finalize(stmt);
    if (__atomic_load_n(is_stopping, __ATOMIC_RELAXED)) {
        return error_set(e, ERR_IO, "the verification was stopped");
    }
    if (result != OK || found.code == OK) return result;
    /* Damaged pages are named by their places; what else is wrong, in SQLite's words. */
    return out->damaged > 0 ? ERR_CORRUPT : error_set(e, ERR_CORRUPT, "%s", found.text);
}
