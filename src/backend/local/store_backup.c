/* store_backup: a copy of the database as one moment left it, in one file, while it is in use. It
 * is written under another name, synced, and renamed.
 *
 * The copy is made page by page with SQLite's online backup from a connection that holds a read
 * transaction (store_pin): it sees the moment of the pin, whatever is applied meanwhile. VACUUM
 * INTO would make a smaller file, but it cannot run inside a transaction, and an apply is several
 * transactions: only a pin between two applies is a moment of the data.
 *
 * The copy gets an identity of its own, so that a journal of the original, or its file `versions`,
 * is refused beside it instead of being mixed with it; and a version, even of an empty database, so
 * that a start with it is known for one with a backup (versions.c).
 */
#include <stdio.h>

#include "backend/local/store_int.h"
#include "backend/local/vfs.h"
#include "base/give_way.h"
#include "base/random.h"

#define STEP_PAGES 32

static enum err copy_pages(sqlite3 *to, sqlite3 *from, const bool *is_stopping, struct error *e)
{
    /* Free ones are copied too, and what was damaged into a page of zeros gets no sum. */
    unsigned seen = VFS_BLANK_PAGES;
    unsigned written = VFS_BLANK_PAGES | VFS_OWN_FRAMES | VFS_COPIED_PAGES;
    unsigned nothing = 0;
    sqlite3_backup *copy = sqlite3_backup_init(to, "main", from, "main");
    if (copy == NULL) return store_error(e, to, sqlite3_errcode(to), "begin the backup");
    int rc = SQLITE_OK;
    sqlite3_file_control(from, "main", VFS_CONTROL_ALLOWED, &seen);
    sqlite3_file_control(to, "main", VFS_CONTROL_ALLOWED, &written);
    while (rc == SQLITE_OK) {
        if (__atomic_load_n(is_stopping, __ATOMIC_RELAXED)) break;
        rc = sqlite3_backup_step(copy, STEP_PAGES);
        give_way();
    }
    sqlite3_file_control(from, "main", VFS_CONTROL_ALLOWED, &nothing);
    bool is_stopped = rc == SQLITE_OK;
    int finished = sqlite3_backup_finish(copy);
    if (is_stopped) return error_set(e, ERR_IO, "the server is stopping");
    return store_error(e, to, rc == SQLITE_DONE ? finished : rc, "copy the database");
}

static enum err make_own(sqlite3 *db, struct error *e)
{
    uint8_t id[DATABASE_ID_BYTES];
    random_system(id, sizeof id);
    enum err r = store_identify(db, id, NULL, e);
    if (r != OK) return r;
    /* One file: not even an empty write-ahead log stays beside it. */
    int rc = sqlite3_exec(db, "PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL;", NULL, NULL,
                          NULL);
    return store_error(e, db, rc, "finish the backup");
}

static enum err copy_to(struct sqlite_reader *r, const char *part, const bool *is_stopping,
                        struct error *e)
{
    sqlite3 *to = NULL;
    enum err result = store_connect(r->store->vfs, part, 1 << 20, true, &to, e);
    if (result != OK) return result;
    result = copy_pages(to, r->db, is_stopping, e);
    if (result == OK) result = make_own(to, e);
    sqlite3_close(to);
    return result;
}

static void directory_of(const char *path, struct buf *out)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        buf_append_str(out, ".");
    } else {
        buf_append(out, path, slash == path ? 1 : (size_t)(slash - path));
    }
    buf_append_byte(out, '\0');
    buf_require(out);
}

void store_backup_part(const char *path, struct buf *part)
{
    buf_printf(part, "%s.part", path);
    buf_append_byte(part, '\0');
    buf_require(part);
}

enum err store_backup_remove(const char *file, struct error *e)
{
    static const char *const endings[] = {"-journal", "-wal", "-shm", ""};
    enum err r = OK;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0] && r == OK; i++) {
        struct buf path;
        buf_init(&path);
        buf_printf(&path, "%s%s", file, endings[i]);
        buf_append_byte(&path, '\0');
        buf_require(&path);
        if (file_exists((char *)path.data)) r = file_remove((char *)path.data, e);
        buf_fini(&path);
    }
    return r;
}

enum err store_backup_begin(const char *path, struct buf *part, struct error *e)
{
    struct buf dir;
    buf_init(&dir);
    store_backup_part(path, part);
    directory_of(path, &dir);
    enum err r = dir_make((char *)dir.data, e);
    if (r == OK) r = store_backup_remove((char *)part->data, e);
    buf_fini(&dir);
    return r;
}

/* Synced, renamed, and that is synced too. */
static enum err into_place(const char *part, const char *path, struct error *e)
{
    struct file f = {.fd = -1};
    enum err r = file_open(&f, part, FILE_WRITE_OLD, e);
    if (r == OK) r = file_sync(&f, e);
    file_close(&f);
    return r == OK ? file_rename_synced(part, path, e) : r;
}

enum err store_backup_end(const char *part, const char *path, enum err result, struct error *e)
{
    struct error ignored;
    if (result == OK) result = into_place(part, path, e);
    if (result != OK) (void)!store_backup_remove(part, &ignored);
    return result;
}

enum err sqlite_copy(struct store_reader *reader, const char *path, const bool *is_stopping,
                     struct error *e)
{
    struct buf part;
    buf_init(&part);
    enum err r = store_backup_begin(path, &part, e);
    const char *part_path = (char *)part.data;
    if (r == OK) r = copy_to(sqlite_reader_of(reader), part_path, is_stopping, e);
    r = store_backup_end(part_path, path, r, e);
    buf_fini(&part);
    return r;
}
