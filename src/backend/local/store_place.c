/* store_place: where the rows of a database lie in kv. Their keys there begin with
 *
 *   database (2 bytes, big-endian), generation (1 byte), space (1 byte); then as everywhere
 *
 * Each database has one generation that is read and written, 0 where the table `places` names none.
 * A flush gives it another one (store_flush.c): what lay in the old one is then a forgotten range,
 * which store_clean.c removes in its time.
 *
 * Invariants: who reads learns the generation from `places` with the same statement, or sees
 * afterwards that it was not changed meanwhile (store_read.c): so it is the one of the snapshot
 * that the rows are from, old or new. A generation is given to a database
 * only when no forgotten range lies in it, and a range is struck off the list only when no row of
 * it is left: so it is empty.
 */
#include "backend/local/store_int.h"
#include "base/mem.h"

#define SPACE_END 0xff /* after all spaces */

static void place_key(uint8_t *out, struct slice key, uint8_t generation)
{
    memcpy(out, key.data, 2);
    out[2] = generation;
    memcpy(out + 3, key.data + 2, key.len - 2);
}

/* place(key, database, generation or NULL): the key in kv. Of a key of another database, which is
 * the end of a range, it is the end of this one. */
static void place(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    struct slice key = slice_of(sqlite3_value_blob(argv[0]), (size_t)sqlite3_value_bytes(argv[0]));
    uint16_t database = (uint16_t)sqlite3_value_int(argv[1]);
    uint8_t generation = (uint8_t)sqlite3_value_int(argv[2]);
    const uint8_t last[] = {STORE_HEAD(database, generation, SPACE_END)};
    (void)argc;
    if (key.len < 2 || key_database(key) != database) {
        sqlite3_result_blob(ctx, last, sizeof last, SQLITE_TRANSIENT);
        return;
    }
    uint8_t *out = sqlite3_malloc64(key.len + 1);
    if (out == NULL) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    place_key(out, key, generation);
    sqlite3_result_blob64(ctx, out, key.len + 1, sqlite3_free);
}

enum err store_place_register(sqlite3 *db, struct error *e)
{
    int rc = sqlite3_create_function_v2(db, "place", 3, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                        place, NULL, NULL, NULL);
    return store_error(e, db, rc, "register a function");
}

struct slice store_place_in(struct buf *out, struct slice key, uint8_t generation)
{
    size_t len = key.len + 1;
    if (out->cap < len) {
        buf_clear(out, 0);
        buf_reserve(out, len);
        buf_require(out);
    }
    place_key(out->data, key, generation);
    return slice_of(out->data, len);
}

struct slice store_place(struct sqlite_store *s, struct slice key)
{
    return store_place_in(&s->placed, key, s->generations[key_database(key)]);
}

void store_unplace(uint8_t *out, struct slice placed)
{
    INVARIANT(placed.len >= STORE_HEAD_BYTES);
    memcpy(out, placed.data, 2);
    memcpy(out + 2, placed.data + 3, placed.len - 3);
}

enum err store_places_read(struct sqlite_store *s, struct error *e)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(s->db, "SELECT d, g FROM places", -1, &stmt, NULL);
    enum err r = store_error(e, s->db, rc, "read the places of databases");
    if (r != OK) return r;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        sqlite3_int64 database = sqlite3_column_int64(stmt, 0);
        sqlite3_int64 generation = sqlite3_column_int64(stmt, 1);
        if (database < 0 || database >= DATABASES_MAX || generation < 0 || generation > UINT8_MAX) {
            continue;
        }
        s->generations[database] = (uint8_t)generation;
    }
    r = store_error(e, s->db, rc, "read the places of databases");
    sqlite3_finalize(stmt);
    return r;
}

void store_generation_bounds(uint16_t database, uint8_t generation, uint8_t start[STORE_HEAD_BYTES],
                             uint8_t end[STORE_HEAD_BYTES])
{
    const uint8_t first[] = {STORE_HEAD(database, generation, 0)};
    const uint8_t last[] = {STORE_HEAD(database, generation, SPACE_END)};
    memcpy(start, first, sizeof first);
    memcpy(end, last, sizeof last);
}

static enum err run_bounds(struct sqlite_store *s, sqlite3_stmt *stmt, uint16_t database,
                           uint8_t generation, bool *is_row, struct error *e)
{
    uint8_t start[STORE_HEAD_BYTES];
    uint8_t end[STORE_HEAD_BYTES];
    if (store_is_given_up(s)) return store_given_up(e);
    store_generation_bounds(database, generation, start, end);
    sqlite3_bind_blob(stmt, 1, start, sizeof start, SQLITE_STATIC);
    sqlite3_bind_blob(stmt, 2, end, sizeof end, SQLITE_STATIC);
    int rc = sqlite3_step(stmt);
    *is_row = rc == SQLITE_ROW;
    enum err r = store_error(e, s->db, rc, "move a database");
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    return r;
}

/* The next generation in which nothing lies. */
static enum err find_free(struct sqlite_store *s, struct store_moving *m, uint16_t database,
                          uint8_t *generation, bool *is_found, struct error *e)
{
    uint8_t now = s->generations[database];
    enum err r = OK;
    bool is_taken = true;
    *generation = now;
    while (r == OK && is_taken && ++*generation != now) {
        r = run_bounds(s, m->is_taken, database, *generation, &is_taken, e);
    }
    *is_found = !is_taken;
    return r;
}

enum err store_move(struct sqlite_store *s, struct store_moving *m, uint16_t database,
                    bool *is_moved, struct error *e)
{
    uint8_t generation = 0;
    bool is_row = false;
    enum err r = find_free(s, m, database, &generation, is_moved, e);
    if (r != OK || !*is_moved) return r;
    /* What was forgotten within it is a part of what is forgotten now. */
    uint8_t now = s->generations[database];
    r = run_bounds(s, m->merge, database, now, &is_row, e);
    if (r == OK) r = run_bounds(s, m->forget, database, now, &is_row, e);
    if (r != OK) return r;
    sqlite3_bind_int(m->put, 1, database);
    sqlite3_bind_int(m->put, 2, generation);
    r = store_run(s, m->put, "move a database", e);
    if (r != OK) return r;
    if (m->count == m->cap) {
        m->cap = m->cap == 0 ? 16 : 2 * m->cap;
        m->moved = mem_resize(m->moved, m->cap * sizeof *m->moved);
    }
    m->moved[m->count++] = (struct store_moved){.database = database, .generation = generation};
    return OK;
}

/* A reader that finds the same even number before and after has seen no change. */
static void places_change(struct sqlite_store *s)
{
    __atomic_add_fetch(&s->places_serial, 1, __ATOMIC_SEQ_CST);
}

void store_moving_end(struct sqlite_store *s, struct store_moving *m, bool is_committed)
{
    places_change(s);
    for (size_t i = 0; is_committed && i < m->count; i++) {
        s->generations[m->moved[i].database] = m->moved[i].generation;
    }
    sqlite3_finalize(m->is_taken);
    sqlite3_finalize(m->merge);
    sqlite3_finalize(m->forget);
    sqlite3_finalize(m->put);
    mem_free(m->moved);
}

enum err store_moving_begin(struct sqlite_store *s, struct store_moving *m, struct error *e)
{
    const struct {
        sqlite3_stmt **stmt;
        const char *sql;
    } all[] = {
        {&m->is_taken, "SELECT 1 FROM forgotten WHERE start>=?1 AND start<?2 LIMIT 1"},
        {&m->merge, "DELETE FROM forgotten WHERE start>=?1 AND start<?2"},
        {&m->forget, "INSERT INTO forgotten VALUES(?1,?2,0)"},
        {&m->put, "INSERT OR REPLACE INTO places VALUES(?1,?2)"},
    };
    enum err r = OK;
    *m = (struct store_moving){0};
    places_change(s); /* odd: until store_moving_end */
    for (size_t i = 0; i < sizeof all / sizeof all[0] && r == OK; i++) {
        int rc = sqlite3_prepare_v2(s->db, all[i].sql, -1, all[i].stmt, NULL);
        r = store_error(e, s->db, rc, "move a database");
    }
    return r;
}
