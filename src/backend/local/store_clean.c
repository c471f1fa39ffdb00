/* store_clean: what is forgotten is removed in slices, each a transaction: ranges of kv, then
 * tables of text indexes (store_dropped.c). Ranges are noted with the memtable that says so, or
 * with a flush. One is struck off the list when no row of it is left (store_place.c). Of a
 * damaged one the rest stays, which is harmless, and so does its place on the list, until the next
 * start: the file may have been put back as it was.
 */
#include "backend/local/store_int.h"
#include "base/log.h"

#define SLICE_ROWS 5000
#define SLICE_BYTES (8u << 20)

enum err store_forget(struct sqlite_store *s, const struct memtable *m, struct error *e)
{
    sqlite3_stmt *stmt = NULL;
    if (m->forgotten == NULL) return OK;
    int rc = sqlite3_prepare_v2(s->db, "INSERT OR REPLACE INTO forgotten VALUES(?1,?2,0)", -1,
                                &stmt, NULL);
    enum err r = store_error(e, s->db, rc, "record a dropped range");
    for (const struct mem_range *f = m->forgotten; r == OK && f != NULL; f = f->next) {
        struct slice placed = store_place(s, f->start);
        sqlite3_bind_blob(stmt, 1, placed.data, (int)placed.len, SQLITE_TRANSIENT);
        placed = store_place(s, f->end);
        sqlite3_bind_blob(stmt, 2, placed.data, (int)placed.len, SQLITE_STATIC);
        r = store_run(s, stmt, "record a dropped range", e);
    }
    sqlite3_finalize(stmt);
    return r;
}

/* A cleaning under way: a slice, which is a transaction. */
struct cleaning {
    struct sqlite_store *store;
    sqlite3_stmt *first, *rows, *remove, *remove_aside, *end, *damaged; /* owned */
    struct buf start, last; /* of the range: its key in `forgotten`; the last row to be removed */
    unsigned count;         /* of rows that were removed, and of ranges */
    uint64_t bytes;         /* of those rows */
};

static enum err cleaning_prepare(struct cleaning *c, struct error *e)
{
    const struct {
        sqlite3_stmt **stmt;
        const char *sql;
    } all[] = {
        {&c->first, "SELECT start, end FROM forgotten WHERE NOT is_damaged LIMIT 1"},
        {&c->rows, "SELECT k," STORE_ROW_BYTES " FROM kv WHERE k>=?1 AND k<?2 ORDER BY k"},
        {&c->remove, STORE_DELETE("k>=?1 AND k<=?2")},
        {&c->remove_aside, "DELETE FROM aside WHERE k>=?1 AND k<?2"},
        {&c->end, "DELETE FROM forgotten WHERE start=?1"},
        {&c->damaged, "UPDATE forgotten SET is_damaged=1 WHERE start=?1"},
    };
    enum err r = OK;
    for (size_t i = 0; i < sizeof all / sizeof all[0] && r == OK; i++) {
        int rc = sqlite3_prepare_v2(c->store->db, all[i].sql, -1, all[i].stmt, NULL);
        r = store_error(e, c->store->db, rc, "clean up");
    }
    return r;
}

static void cleaning_fini(struct cleaning *c)
{
    sqlite3_stmt *all[] = {c->first, c->rows, c->remove, c->remove_aside, c->end, c->damaged};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) sqlite3_finalize(all[i]);
    buf_fini(&c->start);
    buf_fini(&c->last);
}

static struct slice column(sqlite3_stmt *row, int at)
{
    return slice_of(sqlite3_column_blob(row, at), (size_t)sqlite3_column_bytes(row, at));
}

static void keep(struct buf *b, struct slice bytes)
{
    buf_clear(b, SIZE_MAX);
    buf_append(b, bytes.data, bytes.len);
    buf_require(b);
}

static void bind_key(sqlite3_stmt *stmt, int at, struct slice bytes)
{
    sqlite3_bind_blob(stmt, at, bytes.data, (int)bytes.len, SQLITE_STATIC);
}

/* c->last: as many rows of the range as the slice has room for end with it; empty = there is none.
 * *is_all: the range ends with them. */
static enum err find_last(struct cleaning *c, bool *is_all, struct error *e)
{
    enum err r = OK;
    unsigned count = 0;
    buf_clear(&c->last, SIZE_MAX);
    *is_all = false;
    sqlite3_bind_value(c->rows, 1, sqlite3_column_value(c->first, 0));
    sqlite3_bind_value(c->rows, 2, sqlite3_column_value(c->first, 1));
    while (r == OK && c->count + count < SLICE_ROWS && c->bytes < SLICE_BYTES) {
        int rc = sqlite3_step(c->rows);
        r = store_error(e, c->store->db, rc, "clean up");
        *is_all = rc == SQLITE_DONE;
        if (rc != SQLITE_ROW) break;
        keep(&c->last, column(c->rows, 0));
        c->bytes += (uint64_t)sqlite3_column_int64(c->rows, 1);
        count++;
    }
    sqlite3_reset(c->rows);
    return r;
}

/* Removes rows of the range that c->first is at. *bytes: as they are counted. */
static enum err remove_rows(struct cleaning *c, bool *is_all, int64_t *bytes, struct error *e)
{
    int removed = 0;
    *bytes = 0;
    enum err r = find_last(c, is_all, e);
    if (r != OK || c->last.len == 0) return r;
    bind_key(c->remove, 1, buf_slice(&c->start));
    bind_key(c->remove, 2, buf_slice(&c->last));
    r = store_delete_rows(c->store, c->remove, "clean up", &removed, bytes, e);
    c->count += (unsigned)removed;
    return r;
}

/* Those of a range whose end is `end`; in aside keys have no generation. */
static enum err remove_aside(struct cleaning *c, struct slice end, struct error *e)
{
    struct buf bounds[2] = {{0}, {0}};
    struct slice placed[2] = {buf_slice(&c->start), end};
    for (int i = 0; i < 2; i++) {
        if (buf_reserve(&bounds[i], placed[i].len) == NULL) buf_require(&bounds[i]);
        store_unplace(bounds[i].data, placed[i]);
        bounds[i].len = placed[i].len - 1;
        bind_key(c->remove_aside, i + 1, buf_slice(&bounds[i]));
    }
    enum err r = store_run(c->store, c->remove_aside, "clean up", e);
    buf_fini(&bounds[0]);
    buf_fini(&bounds[1]);
    return r;
}

/* In a transaction: a part of the range that c->first is at, or all of it. What lies in another
 * generation than the database's own is not counted any more, and nothing of it is aside. */
static enum err clean_range(struct cleaning *c, struct error *e)
{
    struct sqlite_store *s = c->store;
    struct error why;
    struct store_change change = {0};
    bool is_all = false;
    keep(&c->start, column(c->first, 0));
    uint16_t database = key_database(buf_slice(&c->start));
    bool is_own = store_generation_of(buf_slice(&c->start)) == s->generations[database];
    enum err r = store_run(s, s->savepoint, "set a savepoint", e);
    if (r != OK) return r;
    r = remove_rows(c, &is_all, &change.bytes, &why);
    bool is_damaged = r == ERR_CORRUPT;
    if (is_damaged) {
        change.bytes = 0;
        r = store_run(s, s->rollback_to, "roll back to a savepoint", &why);
    }
    if (r == OK && is_own) r = remove_aside(c, column(c->first, 1), &why);
    sqlite3_stmt *end = is_damaged ? c->damaged : is_all ? c->end : NULL;
    if (end != NULL) bind_key(end, 1, buf_slice(&c->start));
    if (r == OK && end != NULL) r = store_run(s, end, "clean up", &why);
    if (r == OK) r = store_run(s, s->release, "release a savepoint", &why);
    if (r != OK && e != NULL) *e = why;
    change.bytes = -change.bytes;
    if (r == OK && is_own && change.bytes != 0) store_change_add(&s->slice, database, &change);
    c->count++;
    return r;
}

static enum err clean_slice(struct cleaning *c, bool *has_more, struct error *e)
{
    enum err r = OK;
    *has_more = true;
    while (r == OK && *has_more && c->count < SLICE_ROWS && c->bytes < SLICE_BYTES) {
        int rc = sqlite3_step(c->first);
        r = store_error(e, c->store->db, rc, "clean up");
        *has_more = rc == SQLITE_ROW;
        if (r == OK && *has_more) r = clean_range(c, e);
        sqlite3_reset(c->first);
    }
    return r;
}

enum err sqlite_clean(struct store *store, struct store_progress *progress, bool *has_more,
                      struct error *e)
{
    struct sqlite_store *s = sqlite_of(store);
    struct cleaning c = {.store = s};
    *progress = (struct store_progress){.applied = s->applied};
    enum err r = cleaning_prepare(&c, e);
    if (r == OK) r = store_run(s, s->begin, "begin", e);
    if (r == OK) r = clean_slice(&c, has_more, e);
    if (r == OK && c.count == 0) {
        r = store_dropped_clean(s, has_more, e);
    } else {
        *has_more = true; /* the next slice will tell */
    }
    cleaning_fini(&c);
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

void store_clean_again(struct sqlite_store *s)
{
    static const char *const all[] = {"UPDATE forgotten SET is_damaged=0 WHERE is_damaged",
                                      "UPDATE dropped SET is_damaged=0 WHERE is_damaged"};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct error why;
        int rc = sqlite3_exec(s->db, all[i], NULL, NULL, NULL);
        if (store_error(&why, s->db, rc, "clean up") != OK) log_warning("store: %s", why.text);
    }
}

bool store_has_garbage(const struct sqlite_store *s)
{
    sqlite3_stmt *stmt = NULL;
    bool has_garbage = false;
    const char *sql = "SELECT EXISTS(SELECT 1 FROM forgotten WHERE NOT is_damaged)"
                      "OR EXISTS(SELECT 1 FROM dropped WHERE NOT is_damaged)";
    if (sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL) == SQLITE_OK) {
        has_garbage = sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_int(stmt, 0) != 0;
    }
    sqlite3_finalize(stmt);
    return has_garbage;
}
