/* store_read: readers: one key, many, ranges, snapshots. The subtle part is where a database lies
 * (store_place.c): it may be moved between reading that and reading the row. A serial number that
 * the writer makes odd while it moves one, and SQLite's data version, tell; then it is read again.
 */

#include "backend/local/store_int.h"
#include "backend/local/vfs.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/give_way.h"
#include "base/mem.h"

#define CHUNK_BYTES_MAX (1u << 20)
#define FETCH_WORK (64u << 20) /* of a filter, in one job: others want the thread too */
#define STORE_RANGE "k>=" STORE_PLACE("?1", "?3") " AND k<" STORE_PLACE("?2", "?3")
#define YIELD_ROWS 64 /* read on a query thread, some 20 us: see base/give_way.h */

static enum err reader_prepare(struct sqlite_reader *r, sqlite3_stmt **stmt, const char *sql,
                               struct error *e)
{
    int rc = sqlite3_prepare_v3(r->db, sql, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL);
    return store_error(e, r->db, rc, "prepare a statement");
}

enum err sqlite_reader_open(struct store *store, struct store_reader **out, struct error *e)
{
    struct sqlite_store *s = sqlite_of(store);
    struct sqlite_reader *r = mem_new(sizeof *r);
    *out = NULL;
    r->base.ops = store->ops;
    r->store = s;
    r->next = s->readers;
    s->readers = r;
    enum err rc = store_connect(s->vfs, s->path, s->reader_cache_bytes, false, &r->db, e);
    if (rc == OK) r->file = vfs_file_of(r->db);
    if (rc == OK) rc = store_place_register(r->db, e);
    if (rc == OK) rc = reader_prepare(r, &r->get, "SELECT ver,exp,v FROM kv WHERE k=?1", e);
    if (rc == OK) rc = reader_prepare(r, &r->place, "SELECT g FROM places WHERE d=?1", e);
    if (rc == OK) rc = reader_prepare(r, &r->large, STORE_LARGE_SQL, e);
    if (rc == OK) {
        rc = reader_prepare(r, &r->forward,
                            "SELECT k,ver,exp,v FROM kv WHERE " STORE_RANGE " ORDER BY k", e);
    }
    if (rc == OK) {
        rc = reader_prepare(r, &r->backward,
                            "SELECT k,ver,exp,v FROM kv WHERE " STORE_RANGE " ORDER BY k DESC", e);
    }
    if (rc == OK) rc = reader_prepare(r, &r->begin, "BEGIN", e);
    if (rc == OK) rc = reader_prepare(r, &r->commit, "COMMIT", e);
    if (rc == OK)
        rc = reader_prepare(r, &r->touch, "SELECT value FROM meta WHERE name='applied'", e);
    if (rc != OK) {
        sqlite_reader_close(&r->base);
        return rc;
    }
    *out = &r->base;
    return OK;
}

void sqlite_reader_close(struct store_reader *reader)
{
    struct sqlite_reader *r = sqlite_reader_of(reader);
    struct sqlite_reader **at = &r->store->readers;
    while (*at != r) at = &(*at)->next;
    *at = r->next;
    sqlite3_finalize(r->get);
    sqlite3_finalize(r->place);
    buf_fini(&r->placed);
    sqlite3_finalize(r->large);
    sqlite3_finalize(r->forward);
    sqlite3_finalize(r->backward);
    sqlite3_finalize(r->begin);
    sqlite3_finalize(r->commit);
    sqlite3_finalize(r->touch);
    sqlite3_close(r->db);
    mem_free(r);
}

/* One step; a read that was refused because it would wait is ERR_WAIT. */
static enum err reader_step(struct sqlite_reader *r, sqlite3_stmt *stmt, bool may_wait, int *rc,
                            struct error *e)
{
    if (may_wait) {
        *rc = sqlite3_step(stmt);
        return store_error(e, r->db, *rc, "read");
    }
    vfs_nowait_begin(r->file, r->store->nowait_file.fd);
    *rc = sqlite3_step(stmt);
    bool was_refused = vfs_nowait_end(r->file);
    if (was_refused && *rc != SQLITE_ROW && *rc != SQLITE_DONE) {
        return error_set(e, ERR_WAIT, "the data is being read from disk");
    }
    return store_error(e, r->db, *rc, "read");
}

/* The value in this column of the row, itself or the large one that it names: borrowed until the
 * row goes and large_end. */
static enum err reader_value(struct sqlite_reader *r, sqlite3_stmt *row, int column, bool may_wait,
                             struct slice *value, struct error *e)
{
    if (sqlite3_column_type(row, column) != SQLITE_INTEGER) {
        return store_value(row, column, value, e);
    }
    if (may_wait) return store_large_get(r->large, row, column, value, e);
    vfs_nowait_begin(r->file, r->store->nowait_file.fd);
    enum err result = store_large_get(r->large, row, column, value, e);
    if (vfs_nowait_end(r->file) && result != OK) {
        return error_set(e, ERR_WAIT, "the data is being read from disk");
    }
    return result;
}

static void large_end(struct sqlite_reader *r)
{
    sqlite3_reset(r->large);
}

static void bind_slice(sqlite3_stmt *stmt, int at, struct slice s)
{
    sqlite3_bind_blob(stmt, at, s.len > 0 ? s.data : (const uint8_t *)"", (int)s.len,
                      SQLITE_STATIC);
}

/* Odd while a database may be moved. Adding nothing, so that what was read before is read before:
 * a load alone does not promise that. */
static uint64_t places_serial(const struct sqlite_reader *r)
{
    return __atomic_fetch_add(&r->store->places_serial, 0, __ATOMIC_SEQ_CST);
}

/* Of the last snapshot that was read: as long as it stays the same, nothing was committed. */
static unsigned data_version(struct sqlite_reader *r)
{
    unsigned version = 0;
    sqlite3_file_control(r->db, NULL, SQLITE_FCNTL_DATA_VERSION, &version);
    return version;
}

static enum err read_generation(struct sqlite_reader *r, uint16_t database, bool may_wait,
                                uint8_t *out, struct error *e)
{
    int rc = SQLITE_OK;
    sqlite3_bind_int(r->place, 1, database);
    enum err result = reader_step(r, r->place, may_wait, &rc, e);
    *out = rc == SQLITE_ROW ? (uint8_t)sqlite3_column_int(r->place, 0) : 0;
    sqlite3_reset(r->place);
    return result;
}

static enum err step_in(struct sqlite_reader *r, struct slice key, uint8_t generation,
                        bool may_wait, int *rc, struct error *e)
{
    bind_slice(r->get, 1, store_place_in(&r->placed, key, generation));
    return reader_step(r, r->get, may_wait, rc, e);
}

/* Reads where the database lies, then the row. When something was committed in between, both are
 * from different snapshots: again. That takes as long as commits come faster than look-ups, which
 * they never do. */
static enum err find_step(struct sqlite_reader *r, struct slice key, bool may_wait, int *rc,
                          struct error *e)
{
    uint16_t database = key_database(key);
    struct reader_place *p = &r->places[database % READER_PLACES];
    for (;;) {
        uint8_t generation = 0;
        uint64_t serial = places_serial(r);
        enum err result = read_generation(r, database, may_wait, &generation, e);
        unsigned before = data_version(r);
        if (result == OK) result = step_in(r, key, generation, may_wait, rc, e);
        bool is_one = data_version(r) == before;
        /* It may be kept if it lay there all the time. */
        *p = (struct reader_place){.is_known = result == OK && !r->is_pinned && serial % 2 == 0 &&
                                               places_serial(r) == serial,
                                   .database = database,
                                   .generation = generation,
                                   .serial = serial};
        if (result != OK || is_one) return result;
        sqlite3_reset(r->get);
    }
}

/* The first step of r->get. Where the database lies is known, as a rule; whether it still lay there
 * is looked at afterwards. */
static enum err get_step(struct sqlite_reader *r, struct slice key, bool may_wait, int *rc,
                         struct error *e)
{
    uint16_t database = key_database(key);
    const struct reader_place *p = &r->places[database % READER_PLACES];
    bool is_known = p->is_known && p->database == database && !r->is_pinned &&
                    places_serial(r) == p->serial;
    if (!is_known) return find_step(r, key, may_wait, rc, e);
    enum err result = step_in(r, key, p->generation, may_wait, rc, e);
    if (result != OK || places_serial(r) == p->serial) return result;
    sqlite3_reset(r->get);
    return find_step(r, key, may_wait, rc, e);
}

enum err sqlite_get(struct store_reader *reader, struct slice key, bool may_wait, struct entry *out,
                    struct error *e)
{
    struct sqlite_reader *r = sqlite_reader_of(reader);
    int rc = SQLITE_OK;
    unsigned delay_ms = fault_read_delay_ms();
    *out = (struct entry){0};
    if (store_is_given_up(r->store)) return store_given_up(e);
    if (delay_ms > 0 && !may_wait) return error_set(e, ERR_WAIT, "the disk is slow");
    if (delay_ms > 0) clock_sleep_us((int64_t)delay_ms * 1000);
    enum err result = get_step(r, key, may_wait, &rc, e);
    if (result == OK && rc == SQLITE_ROW) {
        out->exists = true;
        out->version = (uint64_t)sqlite3_column_int64(r->get, 0);
        out->expiry_ms = sqlite3_column_int64(r->get, 1);
        result = reader_value(r, r->get, 2, may_wait, &out->value, e);
    }
    if (result != OK || rc != SQLITE_ROW) sqlite_get_end(reader);
    return result;
}

void sqlite_get_end(struct store_reader *reader)
{
    struct sqlite_reader *r = sqlite_reader_of(reader);
    sqlite3_reset(r->get);
    large_end(r);
}

enum err sqlite_copy_value(struct arena *arena, struct entry *entry, struct error *e)
{
    uint8_t *copy = arena_alloc_try(arena, entry->value.len + 1);
    if (copy == NULL) return error_set(e, ERR_NOMEM, "out of memory for a value");
    bytes_copy(copy, entry->value.data, entry->value.len);
    entry->value.data = copy;
    return OK;
}

enum err sqlite_get_many(struct store_reader *reader, const struct slice *keys, size_t count,
                         struct arena *arena, struct entry *out, struct error *e)
{
    enum err r = OK;
    for (size_t i = 0; i < count && r == OK; i++) {
        r = sqlite_get(reader, keys[i], true, &out[i], e);
        if (r == OK && out[i].exists) r = sqlite_copy_value(arena, &out[i], e);
        sqlite_get_end(reader);
    }
    return r;
}

/* BEGIN alone fixes nothing: the snapshot is taken by the first read. */
enum err sqlite_pin(struct store_reader *reader, struct error *e)
{
    struct sqlite_reader *r = sqlite_reader_of(reader);
    INVARIANT(!r->is_pinned);
    int rc = sqlite3_step(r->begin);
    sqlite3_reset(r->begin);
    if (rc == SQLITE_DONE) {
        rc = sqlite3_step(r->touch);
        sqlite3_reset(r->touch);
    }
    enum err result = store_error(e, r->db, rc, "pin a snapshot");
    r->is_pinned = true;
    if (result != OK) sqlite_unpin(reader);
    return result;
}

void sqlite_unpin(struct store_reader *reader)
{
    struct sqlite_reader *r = sqlite_reader_of(reader);
    if (!r->is_pinned) return;
    sqlite3_step(r->commit);
    sqlite3_reset(r->commit);
    r->is_pinned = false;
}

static struct slice column_slice(sqlite3_stmt *stmt, int at)
{
    const void *data = sqlite3_column_blob(stmt, at);
    return slice_of(data, (size_t)sqlite3_column_bytes(stmt, at));
}

/* What a fetch has done. */
struct fetched {
    size_t bytes, looks;
    uint64_t work; /* of its filter */
};

/* Copies the statement's row with this value; false when there is no memory. */
static bool chunk_add(struct store_chunk *c, sqlite3_stmt *stmt, struct slice value, size_t *bytes)
{
    struct store_row *row = &c->rows[c->count];
    struct slice placed = column_slice(stmt, 0);
    uint8_t *key = arena_alloc(&c->arena, placed.len - 1);
    store_unplace(key, placed);
    row->key = slice_of(key, placed.len - 1);
    row->version = (uint64_t)sqlite3_column_int64(stmt, 1);
    row->expiry_ms = sqlite3_column_int64(stmt, 2);
    uint8_t *copy = arena_alloc_try(&c->arena, value.len > 0 ? value.len : 1);
    if (copy == NULL) return false;
    if (value.len > 0) memcpy(copy, value.data, value.len);
    row->value = slice_of(copy, value.len);
    *bytes += row->key.len + row->value.len;
    c->count++;
    return true;
}

/* Notes that the row with this key in kv was looked at; does its value match? */
static enum err chunk_look(struct store_chunk *c, const struct row_filter *filter,
                           struct slice placed, struct slice value, bool *matches, struct error *e)
{
    enum err r = row_filter_check(filter, value, ROW_WORK_MAX, e);
    if (r != OK) return r;
    buf_clear(&c->last, SIZE_MAX);
    uint8_t *last = buf_reserve(&c->last, placed.len);
    if (last != NULL) {
        store_unplace(last, placed);
        c->last.len = placed.len - 1;
    }
    *matches = filter->matches(filter, value);
    return OK;
}

/* The statement's row, if it is wanted. */
static enum err fetch_row(struct sqlite_reader *r, const struct store_fetch *f, sqlite3_stmt *stmt,
                          struct store_chunk *out, struct fetched *n, struct error *e)
{
    struct slice value = {0};
    bool is_kept = true;
    enum err result = OK;
    if (f->with_values || f->filter != NULL) {
        result = reader_value(r, stmt, 3, f->may_wait, &value, e);
    }
    if (result == OK && f->filter != NULL) {
        n->work += row_filter_work(f->filter, value);
        result = chunk_look(out, f->filter, column_slice(stmt, 0), value, &is_kept, e);
    }
    if (!f->with_values) value = slice_of(NULL, 0);
    bool has_memory = !out->last.is_failed;
    if (result == OK && is_kept && has_memory) has_memory = chunk_add(out, stmt, value, &n->bytes);
    large_end(r);
    if (result == OK && !has_memory) return error_set(e, ERR_NOMEM, "out of memory for a page");
    return result;
}

enum err sqlite_fetch(struct store_reader *reader, const struct store_fetch *f,
                      struct store_chunk *out, struct error *e)
{
    struct sqlite_reader *r = sqlite_reader_of(reader);
    sqlite3_stmt *stmt = f->is_reverse ? r->backward : r->forward;
    enum err result = store_is_given_up(r->store) ? store_given_up(e) : OK;
    struct fetched n = {0};
    arena_reset(&out->arena);
    buf_clear(&out->last, SIZE_MAX);
    out->count = 0;
    out->is_last = false;
    out->is_filtered = f->filter != NULL;
    out->rows = arena_alloc(&out->arena, f->rows_max * sizeof *out->rows);
    bind_slice(stmt, 1, f->start);
    bind_slice(stmt, 2, f->end);
    sqlite3_bind_int(stmt, 3, key_database(f->start));
    while (result == OK && out->count < f->rows_max && n.bytes < CHUNK_BYTES_MAX) {
        if (f->filter != NULL && (n.looks == f->looks_max || n.work >= FETCH_WORK)) break;
        if (++n.looks % YIELD_ROWS == 0 && f->may_wait) give_way();
        int rc = SQLITE_OK;
        result = reader_step(r, stmt, f->may_wait, &rc, e);
        if (rc == SQLITE_DONE) {
            out->is_last = true;
            break;
        }
        if (result == OK) result = fetch_row(r, f, stmt, out, &n, e);
    }
    /* What was read before a refused read is good; the next fetch will be refused at once. */
    if (result == ERR_WAIT && (out->count > 0 || out->last.len > 0)) result = OK;
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    return result;
}
