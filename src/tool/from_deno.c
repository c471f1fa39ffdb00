/* from_deno: a file that Deno's own KV keeps: SQLite, as Deno.openKv("file") makes it. All of it is
 * read in one transaction, so it is one state, also while Deno has it open.
 *
 *   kv             k blob (the key), v, v_encoding, version, expiration_ms (-1 = never)
 *   queue          ts (when it is due), id, data (V8), backoff_schedule, keys_if_undelivered (JSON)
 *   queue_running  messages that a program was handling: the same with deadline for ts
 *   data_version   version, which every commit raises
 *
 * Older files lack some columns and tables. A place is the table's letter and what the newest row
 * was: k:<hex of the key>, q:<ts>:<hex of the id>, r:<deadline>:<hex of the id>.
 */
#include <sqlite3.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "tool/deno_record.h"

#define FILE_MAGIC "SQLite format 3"
#define FILE_BUSY_MS 5000

enum deno_table { TABLE_KV, TABLE_QUEUE, TABLE_RUNNING, TABLE_END };

static const char table_letters[] = "kqr";

struct deno_file {
    const char *path;
    sqlite3 *db;
    sqlite3_stmt *rows; /* of `table`; NULL = not begun */
    enum deno_table table;
    bool has_expiry, has_table[TABLE_END];
    bool is_part; /* entries below a prefix only: no messages */
    struct deno_record made;
    uint64_t number, bytes;
    /* The newest row, after which it goes on. */
    struct buf key, id;
    int64_t time_ms;
    struct buf start, end; /* keys that are wanted */
};

static enum tool_status deno_file_bad(const struct deno_file *d)
{
    return tool_fail(TOOL_NO, "%s: %s", d->path, sqlite3_errmsg(d->db));
}

/* ---- opening --------------------------------------------------------------------------------- */

static enum tool_status deno_file_look(const struct deno_file *d)
{
    char head[sizeof FILE_MAGIC] = "";
    struct file f;
    struct error e;
    uint64_t size = 0;
    enum err r = file_open(&f, d->path, FILE_READ, &e);
    if (r == OK) r = file_size(&f, &size, &e);
    if (r == OK && size >= sizeof head) r = file_read_at(&f, 0, head, sizeof head, &e);
    file_close(&f);
    if (r != OK) return tool_fail(TOOL_NO, "%s", e.text);
    if (memcmp(head, FILE_MAGIC, sizeof head) == 0) return TOOL_DONE;
    return tool_fail(TOOL_NO,
                     "%s is not an SQLite file; --from deno reads the file of "
                     "Deno.openKv(\"file\")",
                     d->path);
}

/* A file in a directory where nothing may be written, and with nothing beside it: it cannot change,
 * and SQLite need not write what it would write beside it. */
static bool deno_file_is_still(const struct deno_file *d)
{
    struct file f;
    struct error ignored;
    uint64_t size = 0;
    struct buf name;
    buf_init(&name);
    buf_printf(&name, "%s-wal%c", d->path, '\0');
    buf_require(&name);
    bool is_there = file_open(&f, (const char *)name.data, FILE_READ, &ignored) == OK;
    bool is_still = !is_there || (file_size(&f, &size, &ignored) == OK && size == 0);
    file_close(&f);
    buf_fini(&name);
    return is_still;
}

static int deno_file_open_still(struct deno_file *d)
{
    struct buf uri;
    buf_init(&uri);
    buf_append_str(&uri, "file:");
    for (const char *p = d->path; *p != '\0'; p++) {
        if (*p == '?' || *p == '#' || *p == '%') {
            buf_printf(&uri, "%%%02x", (unsigned)(unsigned char)*p);
        } else {
            buf_append_byte(&uri, (uint8_t)*p);
        }
    }
    buf_printf(&uri, "?immutable=1%c", '\0');
    buf_require(&uri);
    sqlite3_close(d->db);
    d->db = NULL;
    int r = sqlite3_open_v2((const char *)uri.data, &d->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
                            NULL);
    buf_fini(&uri);
    return r;
}

/* Its transaction begins with the first thing that is read. */
static int deno_file_try(struct deno_file *d)
{
    sqlite3_busy_timeout(d->db, FILE_BUSY_MS);
    int r = sqlite3_exec(d->db, "begin", NULL, NULL, NULL);
    if (r == SQLITE_OK) r = sqlite3_exec(d->db, "select * from sqlite_schema", NULL, NULL, NULL);
    return r;
}

static enum tool_status deno_file_connect(struct deno_file *d)
{
    int r = sqlite3_open_v2(d->path, &d->db, SQLITE_OPEN_READONLY, NULL);
    if (r == SQLITE_OK) r = deno_file_try(d);
    bool may_not_write = r == SQLITE_CANTOPEN || r == SQLITE_READONLY;
    if (may_not_write && deno_file_is_still(d)) {
        r = deno_file_open_still(d);
        if (r == SQLITE_OK) r = deno_file_try(d);
    }
    if (r == SQLITE_OK) return TOOL_DONE;
    if (may_not_write) {
        return tool_fail(TOOL_NO,
                         "%s has a -wal file beside it, and SQLite needs write permission in its "
                         "directory to read both; copy the file and its -wal to another directory",
                         d->path);
    }
    return deno_file_bad(d);
}

/* How many of the columns it has. */
static int deno_file_columns(struct deno_file *d, const char *table, const char *names)
{
    sqlite3_stmt *st = NULL;
    int count = -1;
    int r = sqlite3_prepare_v2(d->db,
                               "select count(*) from pragma_table_info(?1) "
                               "where instr(' ' || ?2 || ' ', ' ' || name || ' ') > 0",
                               -1, &st, NULL);
    if (r == SQLITE_OK) {
        sqlite3_bind_text(st, 1, table, -1, SQLITE_STATIC);
        sqlite3_bind_text(st, 2, names, -1, SQLITE_STATIC);
        if (sqlite3_step(st) == SQLITE_ROW) count = sqlite3_column_int(st, 0);
    }
    sqlite3_finalize(st);
    return count;
}

static enum tool_status deno_file_tables(struct deno_file *d)
{
    static const char *const queue = "id data backoff_schedule keys_if_undelivered";
    int columns = deno_file_columns(d, "kv", "k v v_encoding version");
    if (columns < 0) return deno_file_bad(d);
    if (columns != 4) {
        return tool_fail(
            TOOL_NO,
            "%s is an SQLite file, but not of Deno KV: it has no table kv with k, v, v_encoding "
            "and version",
            d->path);
    }
    d->has_table[TABLE_KV] = true;
    d->has_expiry = deno_file_columns(d, "kv", "expiration_ms") == 1;
    d->has_table[TABLE_QUEUE] = deno_file_columns(d, "queue", queue) == 4 &&
                                deno_file_columns(d, "queue", "ts") == 1;
    d->has_table[TABLE_RUNNING] = deno_file_columns(d, "queue_running", queue) == 4 &&
                                  deno_file_columns(d, "queue_running", "deadline") == 1;
    return TOOL_DONE;
}

static enum tool_status deno_file_open(struct source *s, const char *from)
{
    struct deno_file *d = mem_new(sizeof *d);
    s->state = d;
    d->path = from;
    d->is_part = s->prefix.len > 0;
    deno_record_range(s->prefix, &d->start, &d->end);
    if (strcmp(from, "-") == 0) {
        return tool_fail(TOOL_WORDS, "--from deno cannot read standard input; give a file");
    }
    enum tool_status status = deno_file_look(d);
    if (status == TOOL_DONE) status = deno_file_connect(d);
    if (status == TOOL_DONE) status = deno_file_tables(d);
    return status;
}

static void deno_file_close(struct source *s)
{
    struct deno_file *d = s->state;
    if (d == NULL) return;
    sqlite3_finalize(d->rows);
    sqlite3_close(d->db);
    deno_record_fini(&d->made);
    buf_fini(&d->key);
    buf_fini(&d->id);
    buf_fini(&d->start);
    buf_fini(&d->end);
    mem_free(d);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static struct slice deno_file_blob(sqlite3_stmt *st, int column)
{
    const void *data = sqlite3_column_blob(st, column);
    return slice_of(data == NULL ? "" : data, (size_t)sqlite3_column_bytes(st, column));
}

static void deno_file_keep(struct buf *b, struct slice bytes)
{
    buf_clear(b, 1 << 20);
    buf_append(b, bytes.data, bytes.len);
    buf_require(b);
}

static int deno_file_bind(sqlite3_stmt *st, int at, const struct buf *b)
{
    return sqlite3_bind_blob64(st, at, b->len == 0 ? "" : (const char *)b->data, b->len,
                               SQLITE_TRANSIENT);
}

/* Those of the table after the newest row. */
static enum tool_status deno_file_begin(struct deno_file *d)
{
    static const char *const queries[] = {
        "select k, v, v_encoding, version, expiration_ms from kv "
        "where k > ?1 and k >= ?2 and k < ?3 order by k",
        "select id, data, ts, backoff_schedule, keys_if_undelivered from queue "
        "where (ts, id) > (?1, ?2) order by ts, id",
        "select id, data, deadline, backoff_schedule, keys_if_undelivered from queue_running "
        "where (deadline, id) > (?1, ?2) order by deadline, id"};
    static const char without_expiry[] = "select k, v, v_encoding, version, -1 from kv "
                                         "where k > ?1 and k >= ?2 and k < ?3 order by k";
    bool is_kv = d->table == TABLE_KV;
    const char *query = is_kv && !d->has_expiry ? without_expiry : queries[d->table];
    int r = sqlite3_prepare_v2(d->db, query, -1, &d->rows, NULL);
    if (r == SQLITE_OK && is_kv) r = deno_file_bind(d->rows, 1, &d->key);
    if (r == SQLITE_OK && is_kv) r = deno_file_bind(d->rows, 2, &d->start);
    if (r == SQLITE_OK && is_kv) r = deno_file_bind(d->rows, 3, &d->end);
    if (r == SQLITE_OK && !is_kv) r = sqlite3_bind_int64(d->rows, 1, d->time_ms);
    if (r == SQLITE_OK && !is_kv) {
        r = sqlite3_bind_text(d->rows, 2, d->id.len == 0 ? "" : (const char *)d->id.data,
                              (int)d->id.len, SQLITE_TRANSIENT);
    }
    return r == SQLITE_OK ? TOOL_DONE : deno_file_bad(d);
}

static enum tool_status deno_file_entry(struct deno_file *d, struct record *out)
{
    sqlite3_stmt *st = d->rows;
    struct deno_entry x = {.where = d->path,
                           .key = deno_file_blob(st, 0),
                           .data = deno_file_blob(st, 1),
                           .encoding = sqlite3_column_int64(st, 2),
                           .expires_ms = sqlite3_column_int64(st, 4)};
    put_u64(x.stamp, (uint64_t)sqlite3_column_int64(st, 3));
    deno_file_keep(&d->key, x.key);
    d->bytes += x.key.len + x.data.len;
    return deno_record_entry(&d->made, &x, out);
}

/* One that is being handled has been tried once when its deadline is over. */
static enum tool_status deno_file_message(struct deno_file *d, struct record *out)
{
    sqlite3_stmt *st = d->rows;
    struct deno_message x = {.where = d->path,
                             .id = deno_file_blob(st, 0),
                             .data = deno_file_blob(st, 1),
                             .due_ms = sqlite3_column_int64(st, 2),
                             .attempts = d->table == TABLE_RUNNING,
                             .backoff = deno_file_blob(st, 3),
                             .undelivered = deno_file_blob(st, 4)};
    deno_file_keep(&d->id, x.id);
    d->time_ms = x.due_ms;
    d->bytes += x.data.len;
    return deno_record_message(&d->made, &x, out);
}

static void deno_file_table_next(struct deno_file *d)
{
    sqlite3_finalize(d->rows);
    d->rows = NULL;
    d->table = d->is_part ? TABLE_END : d->table + 1;
    d->time_ms = INT64_MIN;
    buf_clear(&d->id, 1 << 20);
}

static enum tool_status deno_file_next(struct source *s, struct record *out)
{
    struct deno_file *d = s->state;
    *out = (struct record){.kind = RECORD_NONE};
    while (d->table != TABLE_END) {
        enum tool_status status = TOOL_DONE;
        if (!d->has_table[d->table]) {
            deno_file_table_next(d);
            continue;
        }
        if (d->rows == NULL) status = deno_file_begin(d);
        if (status != TOOL_DONE) return status;
        int r = sqlite3_step(d->rows);
        if (r == SQLITE_ROW) {
            out->number = ++d->number;
            return d->table == TABLE_KV ? deno_file_entry(d, out) : deno_file_message(d, out);
        }
        if (r != SQLITE_DONE) return deno_file_bad(d);
        deno_file_table_next(d);
    }
    return TOOL_DONE;
}

/* ---- where it is ----------------------------------------------------------------------------- */

static void deno_file_place(const struct source *s, char out[SOURCE_PLACE_BYTES])
{
    const struct deno_file *d = s->state;
    struct buf text;
    buf_init(&text);
    if (d->table == TABLE_END) {
        buf_append_str(&text, "end");
    } else if (d->table == TABLE_KV) {
        buf_append_str(&text, "k:");
        deno_record_hex(buf_slice(&d->key), &text);
    } else {
        buf_printf(&text, "%c:%lld:", table_letters[d->table], (long long)d->time_ms);
        deno_record_hex(buf_slice(&d->id), &text);
    }
    buf_require(&text);
    snprintf(out, SOURCE_PLACE_BYTES, "%.*s", (int)text.len, (const char *)text.data);
    buf_fini(&text);
}

static bool deno_file_go(struct deno_file *d, const char *place)
{
    const char *letter = strchr(table_letters, place[0]);
    if (strcmp(place, "end") == 0) {
        d->table = TABLE_END;
        return true;
    }
    if (place[0] == '\0' || letter == NULL || place[1] != ':') return false;
    d->table = (enum deno_table)(letter - table_letters);
    if (d->table == TABLE_KV) return deno_record_unhex(slice_str(place + 2), &d->key);
    const char *id = strchr(place + 2, ':');
    return id != NULL && slice_to_i64(slice_of(place + 2, (size_t)(id - place - 2)), &d->time_ms) &&
           deno_record_unhex(slice_str(id + 1), &d->id);
}

static enum tool_status deno_file_seek(struct source *s, const char *place)
{
    if (deno_file_go(s->state, place)) return TOOL_DONE;
    return tool_fail(TOOL_NO, "invalid position \"%s\"", place);
}

/* The number of one row, 0 when there is none. */
static int64_t deno_file_number(struct deno_file *d, const char *query)
{
    sqlite3_stmt *st = NULL;
    int64_t n = 0;
    if (sqlite3_prepare_v2(d->db, query, -1, &st, NULL) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW) {
        n = sqlite3_column_int64(st, 0);
    }
    sqlite3_finalize(st);
    return n;
}

/* Every commit of Deno raises its version. Two files may be at the same one: they hardly have the
 * same versions at their first and last keys then. */
static void deno_file_identity(const struct source *s, char out[SOURCE_PLACE_BYTES])
{
    struct deno_file *d = s->state;
    snprintf(out, SOURCE_PLACE_BYTES, "version=%lld,first=%lld,last=%lld,prefix=%016llx",
             (long long)deno_file_number(d, "select version from data_version"),
             (long long)deno_file_number(d, "select version from kv order by k limit 1"),
             (long long)deno_file_number(d, "select version from kv order by k desc limit 1"),
             (unsigned long long)checksum_bytes(s->prefix));
}

static void deno_file_share(const struct source *s, uint64_t *done, uint64_t *all)
{
    const struct deno_file *d = s->state;
    *done = d->bytes;
    *all = 0;
}

const struct source_kind source_deno = {
    .name = "deno",
    .what = "the file of Deno.openKv(\"file\")",
    .open = deno_file_open,
    .next = deno_file_next,
    .place = deno_file_place,
    .seek = deno_file_seek,
    .identity = deno_file_identity,
    .share = deno_file_share,
    .close = deno_file_close,
};
