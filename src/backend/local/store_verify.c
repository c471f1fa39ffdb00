/* store_verify: reads all of tupled.db as a pinned reader sees it: every page of every tree, those
 * of large values and of text indexes too. Pages are checked as they are read (vfs.h); that the
 * trees hang together is SQLite's own check.
 *
 * What the reader has in its cache would be looked at there and not on the disk: it goes first. Of
 * all pages a pinned reader holds only the first one, so that one is read beside SQLite.
 */
#include <stdio.h>

#include "backend/local/page_sum.h"
#include "backend/local/store_int.h"
#include "base/give_way.h"

#define STEPS 20000 /* of SQLite's virtual machine between two looks at is_stopping */
#define MESSAGES_MAX "1000"
#define FIRST_PAGE_TRIES 4

struct looking {
    const bool *is_stopping; /* atomic */
};

static int look(void *arg)
{
    const struct looking *k = arg;
    give_way();
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

/* A checkpoint may be writing it: only what is wrong each time is wrong. */
static void read_first_page(sqlite3 *db, struct vfs_collected *to)
{
    uint8_t page[PAGE_BYTES];
    sqlite3_file *file = NULL;
    int rc = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    for (int tries = FIRST_PAGE_TRIES; rc == SQLITE_OK && tries > 0; tries--) {
        if (tries == 1) vfs_collect(to);
        if (file->pMethods->xRead(file, page, PAGE_BYTES, 0) == SQLITE_OK) break;
    }
    vfs_collect(NULL);
}

enum err sqlite_verify(struct store_reader *reader, struct store_found *out,
                       const bool *is_stopping, struct error *e)
{
    sqlite3_stmt *stmt = NULL;
    sqlite3 *db = sqlite_reader_of(reader)->db;
    struct vfs_collected collected = {.found = out};
    struct error found = {.code = OK};
    struct looking looking = {.is_stopping = is_stopping};
    (void)sqlite3_db_release_memory(db);
    read_first_page(db, &collected);
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
    if (result == OK && out->damaged > 0) result = ERR_CORRUPT;
    if (__atomic_load_n(is_stopping, __ATOMIC_RELAXED)) {
        return error_set(e, ERR_IO, "the verification was stopped");
    }
    if (result != OK || found.code == OK) return result;
    /* Damaged pages are named by their places; what else is wrong, in SQLite's words. */
    return out->damaged > 0 ? ERR_CORRUPT : error_set(e, ERR_CORRUPT, "%s", found.text);
}
