/* sqlite_store: opening, creating and closing, the statements of the writer, and the table of
 * functions. The header is checked before SQLite opens the file: a file that is not ours, or is of
 * another format, must not be touched. Reads are store_read.c's. */
#include <stdio.h>

#include "backend/local/page_sum.h"
#include "backend/local/store_text.h"
#include "backend/local/vfs.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"

#define APPLICATION_ID 0x7475706c /* "tupl" */
#define FLUSH_ROWS 200            /* see sqlite_options */

static enum err store_exec(struct sqlite_store *s, const char *sql, const char *what,
                           struct error *e)
{
    return store_error(e, s->db, sqlite3_exec(s->db, sql, NULL, NULL, NULL), what);
}

/* replacing(x, expiry, large, bytes): x, and notes that the UPSERT found a row, with that expiry,
 * that large value and so many bytes. It is how one statement writes and shows what it replaced. */
static void replacing(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    struct sqlite_store *s = sqlite3_user_data(ctx);
    (void)argc;
    s->replaced = (struct store_change){.entries = 1,
                                        .expiring = sqlite3_value_int64(argv[1]) != 0,
                                        .bytes = sqlite3_value_int64(argv[3]) - STORE_HEAD_BYTES};
    s->replaced_large = sqlite3_value_int64(argv[2]);
    sqlite3_result_value(ctx, argv[0]);
}

/* Of SQLite's file format. */
#define HEADER_MAGIC "SQLite format 3"
#define HEADER_PAGE_BYTES_AT 16
#define HEADER_RESERVED_AT 20
#define HEADER_FORMAT_AT 60 /* PRAGMA user_version */
#define HEADER_APPLICATION_AT 68

static enum err header_check(const char *path, const uint8_t *h, struct error *e)
{
    uint32_t format = get_u32(h + HEADER_FORMAT_AT);
    bool has_sum = h[HEADER_RESERVED_AT] == PAGE_SUM_BYTES;
    if (has_sum && page_sum_check(h, 1) != PAGE_GOOD) {
        return error_set(e, ERR_CORRUPT, "%s: the first page is damaged: checksum mismatch", path);
    }
    if (memcmp(h, HEADER_MAGIC, sizeof HEADER_MAGIC) != 0) {
        return error_set(e, ERR_CORRUPT, "%s is not a database: its header is damaged", path);
    }
    if (get_u32(h + HEADER_APPLICATION_AT) != APPLICATION_ID) {
        return error_set(e, ERR_FORMAT, "%s is an SQLite database, but not one of tupled", path);
    }
    if (format > STORE_FORMAT) {
        return error_set(e, ERR_FORMAT,
                         "%s has format %u, but this program supports formats up to %d; use a "
                         "newer version of tupled",
                         path, format, STORE_FORMAT);
    }
    if (format < STORE_FORMAT) {
        return error_set(e, ERR_FORMAT,
                         "%s has format %u, which is that of a development version; this program "
                         "supports format %d. Use the version that wrote it",
                         path, format, STORE_FORMAT);
    }
    unsigned page_bytes = (unsigned)h[HEADER_PAGE_BYTES_AT] << 8 | h[HEADER_PAGE_BYTES_AT + 1];
    if (page_bytes != PAGE_BYTES || !has_sum) {
        return error_set(e, ERR_CORRUPT, "%s: the first page is damaged", path);
    }
    return OK;
}

/* Whether the file is one of ours, from its own bytes and before SQLite may touch it. The header is
 * there as soon as the file has any: it is written before the write-ahead log is used. A creation
 * that was interrupted (a rollback journal is there) is SQLite's to take back. */
static enum err store_check_format(const char *path, struct error *e)
{
    struct file f;
    uint8_t page[PAGE_BYTES];
    uint64_t bytes = 0;
    struct buf journal;
    buf_init(&journal);
    buf_printf(&journal, "%s-journal", path);
    buf_append_byte(&journal, '\0');
    buf_require(&journal);
    bool is_half_made = file_exists((char *)journal.data);
    buf_fini(&journal);
    if (!file_exists(path) || is_half_made) return OK;
    enum err r = file_open(&f, path, FILE_READ, e);
    if (r != OK) return r;
    r = file_size(&f, &bytes, e);
    if (r == OK && bytes > 0 && bytes < sizeof page) {
        r = error_set(e, ERR_CORRUPT, "%s is not a database: its size is %llu bytes", path,
                      (unsigned long long)bytes);
    }
    if (r == OK && bytes > 0) r = file_read_at(&f, 0, page, sizeof page, e);
    if (r == OK && bytes > 0) r = header_check(path, page, e);
    file_close(&f);
    return r;
}

static enum err store_create(struct sqlite_store *s, struct error *e)
{
    char sql[1600];
    uint8_t id[DATABASE_ID_BYTES];
    char hex[DATABASE_ID_TEXT];
    random_system(id, sizeof id);
    database_id_format(id, hex);
    snprintf(sql, sizeof sql,
             "BEGIN IMMEDIATE;"
             "CREATE TABLE IF NOT EXISTS kv(k BLOB PRIMARY KEY, ver INTEGER NOT NULL,"
             " exp INTEGER NOT NULL, v NOT NULL) WITHOUT ROWID;"
             "CREATE TABLE IF NOT EXISTS large(id INTEGER PRIMARY KEY, v BLOB NOT NULL);"
             "CREATE TABLE IF NOT EXISTS meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
             "CREATE TABLE IF NOT EXISTS counts(d INTEGER PRIMARY KEY, entries INTEGER NOT NULL,"
             " expiring INTEGER NOT NULL, bytes INTEGER NOT NULL);"
             "CREATE TABLE IF NOT EXISTS aside(k BLOB PRIMARY KEY, ver INTEGER NOT NULL,"
             " exp INTEGER NOT NULL, v BLOB) WITHOUT ROWID;"
             "CREATE TABLE IF NOT EXISTS forgotten(start BLOB PRIMARY KEY, end BLOB NOT NULL,"
             " is_damaged INTEGER NOT NULL) WITHOUT ROWID;"
             "CREATE TABLE IF NOT EXISTS places(d INTEGER PRIMARY KEY, g INTEGER NOT NULL);"
             "CREATE TABLE IF NOT EXISTS dropped(n INTEGER PRIMARY KEY,"
             " is_damaged INTEGER NOT NULL);"
             "INSERT OR IGNORE INTO meta VALUES('database_id', x'%s'), ('applied', 0);"
             "PRAGMA application_id=%d; PRAGMA user_version=%d;"
             "COMMIT;",
             hex, APPLICATION_ID, STORE_FORMAT);
    return store_exec(s, sql, "set up the tables", e);
}

static enum err store_prepare_all(struct sqlite_store *s, struct error *e)
{
    int rc = sqlite3_create_function_v2(s->db, "replacing", 4, SQLITE_UTF8, s, replacing, NULL,
                                        NULL, NULL);
    enum err r = store_error(e, s->db, rc, "register a function");
    if (r == OK) {
        r = store_prepare(s, &s->put,
                          "INSERT INTO kv VALUES(?1,?2,?3,?4) ON CONFLICT(k) DO UPDATE SET "
                          "ver=replacing(excluded.ver, kv.exp, CASE typeof(kv.v) WHEN 'integer' "
                          "THEN kv.v END, " STORE_ROW_BYTES "), exp=excluded.exp, "
                          "v=excluded.v",
                          e);
    }
    if (r == OK)
        r = store_prepare(
            s, &s->del,
            "DELETE FROM kv WHERE k=?1 RETURNING exp, " STORE_LARGE_ID ", " STORE_ROW_BYTES, e);
    if (r == OK) {
        r = store_prepare(s, &s->del_range,
                          STORE_DELETE("k IN (SELECT k FROM kv WHERE k>=?1 AND k<?2 LIMIT ?3)"), e);
    }
    if (r == OK) r = store_prepare(s, &s->large_put, "INSERT INTO large(v) VALUES(?1)", e);
    if (r == OK) r = store_prepare(s, &s->large_get, STORE_LARGE_SQL, e);
    if (r == OK) r = store_prepare(s, &s->large_del, "DELETE FROM large WHERE id=?1", e);
    if (r == OK) r = store_prepare(s, &s->begin, "BEGIN IMMEDIATE", e);
    if (r == OK) r = store_prepare(s, &s->commit, "COMMIT", e);
    if (r == OK) r = store_prepare(s, &s->rollback, "ROLLBACK", e);
    if (r == OK) r = store_prepare(s, &s->savepoint, "SAVEPOINT entry", e);
    if (r == OK) r = store_prepare(s, &s->rollback_to, "ROLLBACK TO entry", e);
    if (r == OK) r = store_prepare(s, &s->release, "RELEASE entry", e);
    if (r == OK) r = store_prepare(s, &s->probe, "SELECT ver FROM kv WHERE k=?1", e);
    if (r == OK) {
        r = store_prepare(s, &s->aside_put, "INSERT OR REPLACE INTO aside VALUES(?1,?2,?3,?4)", e);
    }
    if (r == OK) {
        r = store_prepare(s, &s->meta_put, "INSERT OR REPLACE INTO meta VALUES(?1,?2)", e);
    }
    if (r == OK) {
        r = store_prepare(s, &s->counts_put, "INSERT OR REPLACE INTO counts VALUES(?1,?2,?3,?4)",
                          e);
    }
    if (r == OK) r = store_prepare(s, &s->counts_del, "DELETE FROM counts WHERE d=?1", e);
    return r;
}

static enum err state_read(struct sqlite_store *s, struct error *e)
{
    struct store_progress p;
    enum err r = store_read_meta(s, &p, e);
    if (r != OK) return r;
    s->applied = p.applied;
    store_counts_merge(&s->counts, &p.counts);
    store_progress_fini(&p);
    return store_places_read(s, e);
}

/* ---- what a store can do ---- */

static void sqlite_state(struct store *store, struct store_progress *out)
{
    const struct sqlite_store *s = sqlite_of(store);
    *out = (struct store_progress){.applied = s->applied};
    store_counts_merge(&out->counts, &s->counts);
    out->is_filling = store_text_is_filling(s);
    out->has_garbage = store_has_garbage(s);
}

static void sqlite_give_up(struct store *store)
{
    struct sqlite_store *s = sqlite_of(store);
    __atomic_store_n(&s->is_given_up, true, __ATOMIC_RELAXED);
    sqlite3_interrupt(s->db);
    for (struct sqlite_reader *r = s->readers; r != NULL; r = r->next) sqlite3_interrupt(r->db);
}

static void sqlite_close(struct store *store)
{
    struct sqlite_store *s = sqlite_of(store);
    INVARIANT(s->readers == NULL);
    store_text_close(s);
    store_aside_close(s);
    sqlite3_stmt *stmts[] = {
        s->put,       s->del,       s->begin,     s->commit,      s->rollback,  s->meta_put,
        s->del_range, s->savepoint, s->release,   s->rollback_to, s->aside_put, s->probe,
        s->large_put, s->large_del, s->large_get, s->counts_put,  s->counts_del};
    for (size_t i = 0; i < sizeof stmts / sizeof stmts[0]; i++) sqlite3_finalize(stmts[i]);
    int rc = sqlite3_close(s->db);
    if (rc != SQLITE_OK) {
        log_warning("store: closing: %s", sqlite3_errstr(rc));
        s->vfs = NULL; /* as long as there is a connection */
    }
    file_close(&s->nowait_file);
    if (s->lock_fd >= 0) file_unlock(s->lock_fd);
    vfs_close(s->vfs);
    store_counts_fini(&s->counts);
    lineage_fini(&s->lineage);
    buf_fini(&s->placed);
    mem_free(s->path);
    mem_free(s);
}

static void sqlite_rest(struct store *store)
{
    store_rest((struct sqlite_store *)store);
}

static const struct store_ops sqlite_ops = {
    .state = sqlite_state,
    .aside_read = sqlite_aside_read,
    .apply = sqlite_apply,
    .clean = sqlite_clean,
    .fill = sqlite_fill,
    .rest = sqlite_rest,
    .reader_open = sqlite_reader_open,
    .reader_close = sqlite_reader_close,
    .get = sqlite_get,
    .get_end = sqlite_get_end,
    .get_many = sqlite_get_many,
    .pin = sqlite_pin,
    .unpin = sqlite_unpin,
    .fetch = sqlite_fetch,
    .verify = sqlite_verify,
    .pages = sqlite_pages,
    .copy = sqlite_copy,
    .search = sqlite_search,
    .give_up = sqlite_give_up,
    .close = sqlite_close,
};

enum err sqlite_open(const struct sqlite_options *options, struct store **out, struct error *e)
{
    struct sqlite_store *s = mem_new(sizeof *s);
    *out = NULL;
    s->base.ops = &sqlite_ops;
    s->nowait_file.fd = -1;
    s->lock_fd = -1;
    lineage_init(&s->lineage);
    size_t len = strlen(options->path) + 1;
    s->path = memcpy(mem_alloc(len), options->path, len);
    s->reader_cache_bytes = options->reader_cache_bytes;
    s->text_ops = options->text_ops;
    s->flush_rows = options->flush_rows == 0 ? FLUSH_ROWS : options->flush_rows;
    enum err r = store_check_format(s->path, e);
    if (r == OK && (s->vfs = vfs_open(e)) == NULL) r = ERR_IO;
    if (r == OK) r = store_connect(s->vfs, s->path, options->cache_bytes, true, &s->db, e);
    if (r == OK) r = store_exec(s, "PRAGMA synchronous=FULL", "set up the database", e);
    if (r == OK) r = store_create(s, e);
    if (r == OK) r = store_exec(s, "PRAGMA journal_mode=WAL", "set up the database", e);
    if (r == OK) r = state_read(s, e);
    if (r == OK) store_clean_again(s);
    if (r == OK) r = store_prepare_all(s, e);
    if (r == OK) r = store_text_open(s, e);
    if (r == OK) r = store_aside_open(s, e);
    if (r == OK) r = file_open(&s->nowait_file, s->path, FILE_READ, e);
    if (r == OK) {
        sqlite3_file_control(s->db, "main", VFS_CONTROL_SPREAD, &s->nowait_file);
    }
    if (r != OK) {
        sqlite_close(&s->base);
        return r;
    }
    *out = &s->base;
    return OK;
}

const uint8_t *sqlite_database_id(const struct store *s)
{
    return ((const struct sqlite_store *)s)->database_id;
}

const struct lineage *sqlite_lineage(const struct store *s)
{
    return &((const struct sqlite_store *)s)->lineage;
}

int sqlite_fd(const struct store *s)
{
    return ((const struct sqlite_store *)s)->nowait_file.fd;
}
