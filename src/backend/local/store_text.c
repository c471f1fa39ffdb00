/* store_text: see store_text.h. A list in memory mirrors the table `text`; changes of it happen
 * within transactions of the store, so after a rollback the list is read again. Filling takes a
 * slice of entries and saves its position in the same transaction. */
#include "backend/local/store_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/give_way.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/key.h"

#define FILL_ROWS 1000
#define FILL_BYTES (4u << 20)
#define SPEC_ARENA_BYTES 1024

/* ---- statements ---- */

static enum err run_sql(struct sqlite_store *s, const char *sql, struct error *e)
{
    return store_error(e, s->db, sqlite3_exec(s->db, sql, NULL, NULL, NULL), "change a text index");
}

static enum err stmt_end(struct sqlite_store *s, sqlite3_stmt *stmt, struct error *e)
{
    int rc = sqlite3_step(stmt);
    enum err r = store_error(e, s->db, rc, "write a text index");
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    return r;
}

static void bind_blob(sqlite3_stmt *stmt, int at, struct slice bytes)
{
    sqlite3_bind_blob64(stmt, at, bytes.len > 0 ? bytes.data : (const uint8_t *)"", bytes.len,
                        SQLITE_STATIC);
}

/* Columns c0, c1, ... or as many question marks, with commas before them. */
static void add_columns(const struct text_table *t, bool are_names, struct buf *sql)
{
    for (size_t i = 0; i < t->definition.column_count; i++) {
        if (are_names) {
            buf_printf(sql, ",c%zu", i);
        } else {
            buf_append_str(sql, ",?");
        }
    }
}

static void stmt_sql(const struct text_table *t, enum text_stmt which, struct buf *sql)
{
    long long n = t->number;
    switch (which) {
    case STMT_DOC_FIND: buf_printf(sql, "SELECT id FROM doc_%lld WHERE k=?1", n); break;
    case STMT_DOC_ADD: buf_printf(sql, "INSERT INTO doc_%lld(k) VALUES(?1)", n); break;
    case STMT_DOC_DELETE: buf_printf(sql, "DELETE FROM doc_%lld WHERE id=?1", n); break;
    case STMT_TEXT_DELETE: buf_printf(sql, "DELETE FROM text_%lld WHERE rowid=?1", n); break;
    case STMT_TEXT_ADD:
        buf_printf(sql, "INSERT INTO text_%lld(rowid", n);
        add_columns(t, true, sql);
        buf_append_str(sql, ") VALUES(?");
        add_columns(t, false, sql);
        buf_append_str(sql, ")");
        break;
    case STMT_COUNT: break;
    }
    buf_append_byte(sql, '\0');
    buf_require(sql);
}

static enum err prepare_one(struct sqlite_store *s, struct text_table *t, enum text_stmt which,
                            struct error *e)
{
    struct buf sql;
    buf_init(&sql);
    stmt_sql(t, which, &sql);
    int rc = sqlite3_prepare_v3(s->db, (const char *)sql.data, -1, SQLITE_PREPARE_PERSISTENT,
                                &t->stmts[which], NULL);
    buf_fini(&sql);
    return store_error(e, s->db, rc, "open a text index");
}

static enum err table_prepare(struct sqlite_store *s, struct text_table *t, struct error *e)
{
    enum err r = OK;
    for (int i = 0; i < STMT_COUNT && r == OK; i++) r = prepare_one(s, t, (enum text_stmt)i, e);
    return r;
}

static void table_free(struct text_table *t)
{
    for (int i = 0; i < STMT_COUNT; i++) sqlite3_finalize(t->stmts[i]);
    buf_fini(&t->position);
    arena_fini(&t->arena);
    mem_free(t);
}

/* ---- which there are ---- */

static enum err table_new(struct sqlite_store *s, uint16_t database, uint32_t id, struct slice spec,
                          struct text_table **out, struct error *e)
{
    struct text_table *t = mem_new(sizeof *t);
    t->database = database;
    t->id = id;
    t->version = s->text_ops->version;
    arena_init(&t->arena, SPEC_ARENA_BYTES);
    t->spec = arena_copy(&t->arena, spec);
    enum err r = s->text_ops->read(t->spec, &t->arena, &t->definition, e);
    if (r != OK) {
        table_free(t);
        return r;
    }
    t->space = STORE_SPACE_COUNTED;
    t->prefix = t->definition.prefix;
    if (t->definition.is_of_hashes) {
        uint8_t *bytes = arena_alloc(&t->arena, sizeof id);
        put_u32(bytes, id);
        t->space = BACKEND_SPACE_HASH_TEXT;
        t->prefix = slice_of(bytes, sizeof id);
    }
    *out = t;
    return OK;
}

static void table_link(struct sqlite_store *s, struct text_table *t)
{
    t->next = s->texts;
    s->texts = t;
}

static struct text_table **table_find(struct sqlite_store *s, uint16_t database, uint32_t id)
{
    struct text_table **at = &s->texts;
    while (*at != NULL && ((*at)->database != database || (*at)->id != id)) at = &(*at)->next;
    return at;
}

static enum err table_load(struct sqlite_store *s, sqlite3_stmt *stmt, struct error *e)
{
    struct text_table *t = NULL;
    struct slice spec = slice_of(sqlite3_column_blob(stmt, 3),
                                 (size_t)sqlite3_column_bytes(stmt, 3));
    enum err r = table_new(s, (uint16_t)sqlite3_column_int(stmt, 0),
                           (uint32_t)sqlite3_column_int64(stmt, 1), spec, &t, e);
    if (r != OK) return r;
    t->number = sqlite3_column_int64(stmt, 2);
    buf_append(&t->position, sqlite3_column_blob(stmt, 4), (size_t)sqlite3_column_bytes(stmt, 4));
    t->filled = (uint64_t)sqlite3_column_int64(stmt, 5);
    t->is_complete = sqlite3_column_int(stmt, 6) != 0;
    t->version = (unsigned)sqlite3_column_int(stmt, 7);
    table_link(s, t);
    return table_prepare(s, t, e);
}

/* The table of before had no version. */
static enum err table_of_tables(struct sqlite_store *s, struct error *e)
{
    sqlite3_stmt *stmt = NULL;
    bool has_version = false;
    enum err r = run_sql(
        s,
        "CREATE TABLE IF NOT EXISTS text(d INTEGER NOT NULL, i INTEGER NOT NULL,"
        " n INTEGER NOT NULL, spec BLOB NOT NULL, position BLOB NOT NULL, filled INTEGER NOT NULL,"
        " is_complete INTEGER NOT NULL, version INTEGER NOT NULL DEFAULT 1,"
        " PRIMARY KEY(d, i)) WITHOUT ROWID",
        e);
    if (r != OK) return r;
    int rc = sqlite3_prepare_v2(
        s->db, "SELECT 1 FROM pragma_table_info('text') WHERE name='version'", -1, &stmt, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_step(stmt);
    has_version = rc == SQLITE_ROW;
    r = store_error(e, s->db, rc, "read the text indexes");
    sqlite3_finalize(stmt);
    if (r != OK || has_version) return r;
    return run_sql(s, "ALTER TABLE text ADD COLUMN version INTEGER NOT NULL DEFAULT 1", e);
}

static enum err tables_load(struct sqlite_store *s, struct error *e)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(
        s->db, "SELECT d,i,n,spec,position,filled,is_complete,version FROM text", -1, &stmt, NULL);
    enum err r = store_error(e, s->db, rc, "read the text indexes");
    while (r == OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) r = table_load(s, stmt, e);
    if (r == OK) r = store_error(e, s->db, rc, "read the text indexes");
    sqlite3_finalize(stmt);
    return r;
}

void store_text_close(struct sqlite_store *s)
{
    while (s->texts != NULL) {
        struct text_table *t = s->texts;
        s->texts = t->next;
        table_free(t);
    }
}

/* How far the filling is. */
static enum err table_save(struct sqlite_store *s, const struct text_table *t, struct error *e)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(
        s->db, "INSERT OR REPLACE INTO text VALUES(?1,?2,?3,?4,?5,?6,?7,?8)", -1, &stmt, NULL);
    enum err r = store_error(e, s->db, rc, "write a text index");
    if (r != OK) return r;
    sqlite3_bind_int(stmt, 1, t->database);
    sqlite3_bind_int64(stmt, 2, t->id);
    sqlite3_bind_int64(stmt, 3, t->number);
    bind_blob(stmt, 4, t->spec);
    bind_blob(stmt, 5, buf_slice(&t->position));
    sqlite3_bind_int64(stmt, 6, (sqlite3_int64)t->filled);
    sqlite3_bind_int(stmt, 7, t->is_complete);
    sqlite3_bind_int64(stmt, 8, t->version);
    r = stmt_end(s, stmt, e);
    sqlite3_finalize(stmt);
    return r;
}

/* One that no table has, nor any that is to be removed. */
static enum err number_new(struct sqlite_store *s, long long *number, struct error *e)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(s->db,
                                "SELECT 1+max(coalesce((SELECT max(n) FROM text),0),"
                                "coalesce((SELECT max(n) FROM dropped),0))",
                                -1, &stmt, NULL);
    if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        *number = sqlite3_column_int64(stmt, 0);
    }
    enum err r = store_error(e, s->db, rc, "create a text index");
    sqlite3_finalize(stmt);
    return r;
}

static enum err table_create(struct sqlite_store *s, struct text_table *t, struct error *e)
{
    struct buf sql;
    enum err made = number_new(s, &t->number, e);
    if (made != OK) return made;
    buf_init(&sql);
    buf_printf(&sql, "CREATE TABLE doc_%lld(id INTEGER PRIMARY KEY, k BLOB NOT NULL UNIQUE);",
               t->number);
    buf_printf(&sql, "CREATE VIRTUAL TABLE text_%lld USING fts5(", t->number);
    for (size_t i = 0; i < t->definition.column_count; i++) buf_printf(&sql, "c%zu,", i);
    buf_printf(&sql, "tokenize='%s');", t->definition.tokenize);
    buf_append_byte(&sql, '\0');
    buf_require(&sql);
    enum err r = run_sql(s, (const char *)sql.data, e);
    buf_fini(&sql);
    if (r == OK) r = table_save(s, t, e);
    if (r == OK) r = table_prepare(s, t, e);
    return r;
}

/* Its tables are removed later. */
static enum err table_drop(struct sqlite_store *s, struct text_table **at, struct error *e)
{
    struct text_table *t = *at;
    char sql[256];
    snprintf(sql, sizeof sql,
             "DELETE FROM text WHERE d=%u AND i=%u; INSERT INTO dropped VALUES(%lld,0);",
             t->database, t->id, t->number);
    *at = t->next;
    table_free(t);
    return run_sql(s, sql, e);
}

static struct text_table **first_of_another_version(struct sqlite_store *s)
{
    struct text_table **at = &s->texts;
    while (*at != NULL && (*at)->version == s->text_ops->version) at = &(*at)->next;
    return at;
}

/* In a transaction. */
static enum err tables_renew(struct sqlite_store *s, struct error *e)
{
    enum err r = OK;
    for (struct text_table **at; r == OK && *(at = first_of_another_version(s)) != NULL;) {
        struct text_table *anew = NULL;
        uint16_t database = (*at)->database;
        uint32_t id = (*at)->id;
        r = table_new(s, database, id, (*at)->spec, &anew, e);
        if (r == OK) r = table_drop(s, at, e);
        if (anew == NULL) return r;
        table_link(s, anew);
        if (r == OK) r = table_create(s, anew, e);
        if (r == OK) {
            log_notice("text index %" PRIu32 " of database %u is being rebuilt, because this "
                       "version finds more words in texts",
                       id, database);
        }
    }
    return r;
}

enum err store_text_open(struct sqlite_store *s, struct error *e)
{
    if (s->text_ops == NULL) return OK;
    enum err r = table_of_tables(s, e);
    if (r == OK) r = tables_load(s, e);
    if (r != OK || *first_of_another_version(s) == NULL) return r;
    r = run_sql(s, "BEGIN IMMEDIATE", e);
    if (r == OK) r = tables_renew(s, e);
    if (r == OK) r = run_sql(s, "COMMIT", e);
    if (r != OK && !sqlite3_get_autocommit(s->db)) {
        struct error ignored;
        (void)run_sql(s, "ROLLBACK", &ignored);
    }
    return r;
}

enum err store_text_flush(struct sqlite_store *s, uint16_t database, struct error *e)
{
    enum err r = OK;
    for (struct text_table **at = &s->texts; *at != NULL && r == OK;) {
        if ((*at)->database == database) {
            r = table_drop(s, at, e);
        } else {
            at = &(*at)->next;
        }
    }
    return r;
}

enum err store_text_define(struct sqlite_store *s, struct slice key, const struct slice *spec,
                           struct error *e)
{
    struct text_table *t = NULL;
    if (s->text_ops == NULL || key.len != KEY_HEAD_BYTES + sizeof(uint32_t)) return OK;
    uint32_t id = get_u32(key.data + KEY_HEAD_BYTES);
    struct text_table **at = table_find(s, key_database(key), id);
    enum err r = OK;
    /* A replay brings what is known already. */
    if (*at != NULL && spec != NULL && slice_eq((*at)->spec, *spec)) return OK;
    if (*at != NULL) r = table_drop(s, at, e);
    if (r != OK || spec == NULL) return r;
    r = table_new(s, key_database(key), id, *spec, &t, e);
    if (r != OK) return r;
    table_link(s, t);
    return table_create(s, t, e);
}

/* ---- entries ---- */

bool store_text_covers(const struct text_table *t, struct slice key)
{
    struct slice rest = slice_of(key.data + KEY_HEAD_BYTES, key.len - KEY_HEAD_BYTES);
    if (key_database(key) != t->database || key_space(key) != t->space) return false;
    return t->definition.is_of_hashes ? slice_has_prefix(rest, t->prefix)
                                      : key_is_below(rest, t->prefix);
}

bool store_text_wants(const struct sqlite_store *s, struct slice key)
{
    if (s->source.fetch == NULL) return true;
    const struct text_table *t = s->texts;
    while (t != NULL && !store_text_covers(t, key)) t = t->next;
    return t != NULL;
}

/* *id 0 = it has no row. */
static enum err doc_find(struct sqlite_store *s, struct text_table *t, struct slice key,
                         sqlite3_int64 *id, struct error *e)
{
    sqlite3_stmt *stmt = t->stmts[STMT_DOC_FIND];
    *id = 0;
    bind_blob(stmt, 1, key);
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) *id = sqlite3_column_int64(stmt, 0);
    enum err r = store_error(e, s->db, rc, "read a text index");
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    return r;
}

static enum err delete_id(struct sqlite_store *s, struct text_table *t, enum text_stmt which,
                          sqlite3_int64 id, struct error *e)
{
    sqlite3_bind_int64(t->stmts[which], 1, id);
    return stmt_end(s, t->stmts[which], e);
}

bool store_text_of(const struct sqlite_store *s, const struct text_table *t, struct slice value,
                   struct buf texts[TEXT_COLUMNS_MAX])
{
    bool has_text = false;
    for (size_t i = 0; i < t->definition.column_count; i++) {
        buf_init(&texts[i]);
        has_text = s->text_ops->column(&t->definition, i, value, &texts[i]) || has_text;
    }
    return has_text;
}

static enum err doc_add(struct sqlite_store *s, struct text_table *t, struct slice key,
                        sqlite3_int64 id, const struct buf texts[TEXT_COLUMNS_MAX], struct error *e)
{
    enum err r = OK;
    if (id == 0) {
        bind_blob(t->stmts[STMT_DOC_ADD], 1, key);
        r = stmt_end(s, t->stmts[STMT_DOC_ADD], e);
        id = sqlite3_last_insert_rowid(s->db);
    }
    if (r != OK) return r;
    sqlite3_stmt *stmt = t->stmts[STMT_TEXT_ADD];
    sqlite3_bind_int64(stmt, 1, id);
    for (size_t i = 0; i < t->definition.column_count; i++) {
        if (texts[i].is_failed) return error_set(e, ERR_NOMEM, "out of memory for a text");
        sqlite3_bind_text64(stmt, (int)i + 2, (const char *)texts[i].data, texts[i].len,
                            SQLITE_STATIC, SQLITE_UTF8);
    }
    return stmt_end(s, stmt, e);
}

static enum err table_entry(struct sqlite_store *s, struct text_table *t, struct slice key,
                            const struct slice *value, struct error *e)
{
    struct buf texts[TEXT_COLUMNS_MAX];
    sqlite3_int64 id = 0;
    bool has_text = false;
    enum err r = doc_find(s, t, key, &id, e);
    if (r == OK && id != 0) r = delete_id(s, t, STMT_TEXT_DELETE, id, e);
    if (r != OK) return r;
    if (value != NULL) {
        has_text = store_text_of(s, t, *value, texts);
        if (has_text) r = doc_add(s, t, key, id, texts, e);
        for (size_t i = 0; i < t->definition.column_count; i++) buf_fini(&texts[i]);
    }
    if (r == OK && !has_text && id != 0) r = delete_id(s, t, STMT_DOC_DELETE, id, e);
    return r;
}

enum err store_text_entry(struct sqlite_store *s, struct slice key, const struct slice *value,
                          struct error *e)
{
    enum err r = OK;
    for (struct text_table *t = s->texts; t != NULL && r == OK; t = t->next) {
        if (store_text_covers(t, key)) r = table_entry(s, t, key, value, e);
    }
    return r;
}

/* ---- filling ---- */

static struct text_table *first_filling(const struct sqlite_store *s)
{
    struct text_table *t = s->texts;
    while (t != NULL && t->is_complete) t = t->next;
    return t;
}

bool store_text_is_filling(const struct sqlite_store *s)
{
    return first_filling(s) != NULL;
}

/* *bytes grows by those of its value. */
static enum err fill_row(struct sqlite_store *s, struct text_table *t, sqlite3_stmt *rows,
                         size_t *bytes, struct error *e)
{
    sqlite3_int64 id = 0;
    struct slice placed = slice_of(sqlite3_column_blob(rows, 0),
                                   (size_t)sqlite3_column_bytes(rows, 0));
    struct slice value;
    buf_clear(&t->position, SIZE_MAX);
    if (buf_reserve(&t->position, placed.len) == NULL) buf_require(&t->position);
    store_unplace(t->position.data, placed);
    t->position.len = placed.len - 1;
    struct slice key = buf_slice(&t->position);
    bool is_large = sqlite3_column_type(rows, 1) == SQLITE_INTEGER;
    enum err r = is_large ? store_large_get(s->large_get, rows, 1, &value, e)
                          : store_value(rows, 1, &value, e);
    if (r == OK) *bytes += value.len;
    if (r == OK) r = doc_find(s, t, key, &id, e);
    if (r == OK && id == 0) r = table_entry(s, t, key, &value, e);
    sqlite3_reset(s->large_get);
    t->filled++;
    give_way();
    return r;
}

void store_text_bounds(const struct text_table *t, struct buf *start, struct buf *end)
{
    uint8_t head[] = {KEY_HEAD(t->database, t->space)};
    struct slice prefix = t->prefix;
    if (t->position.len > 0) {
        buf_append(start, t->position.data, t->position.len);
    } else {
        buf_append(start, head, sizeof head);
        buf_append(start, prefix.data, prefix.len);
    }
    buf_append_byte(start, 0);
    buf_append(end, head, sizeof head);
    buf_append(end, prefix.data, prefix.len);
    buf_append_byte(end, 0xff);
    buf_require(start);
    buf_require(end);
}

/* The same where they are in kv. */
static void fill_bounds(struct sqlite_store *s, const struct text_table *t, struct buf *start,
                        struct buf *end)
{
    uint8_t generation = s->generations[t->database];
    struct buf first;
    struct buf last;
    buf_init(&first);
    buf_init(&last);
    store_text_bounds(t, &first, &last);
    (void)store_place_in(start, buf_slice(&first), generation);
    start->len = first.len + 1;
    (void)store_place_in(end, buf_slice(&last), generation);
    end->len = last.len + 1;
    buf_fini(&first);
    buf_fini(&last);
}

static enum err fill_slice(struct sqlite_store *s, struct text_table *t, struct error *e)
{
    struct buf start;
    struct buf end;
    sqlite3_stmt *rows = NULL;
    size_t bytes = 0;
    unsigned count = 0;
    buf_init(&start);
    buf_init(&end);
    fill_bounds(s, t, &start, &end);
    int rc = sqlite3_prepare_v2(s->db, "SELECT k,v FROM kv WHERE k>=?1 AND k<?2 ORDER BY k", -1,
                                &rows, NULL);
    enum err r = store_error(e, s->db, rc, "fill a text index");
    if (r == OK) {
        bind_blob(rows, 1, buf_slice(&start));
        bind_blob(rows, 2, buf_slice(&end));
    }
    while (r == OK && count < FILL_ROWS && bytes < FILL_BYTES) {
        rc = sqlite3_step(rows);
        r = store_error(e, s->db, rc, "fill a text index");
        if (rc != SQLITE_ROW) break;
        count++;
        r = fill_row(s, t, rows, &bytes, e);
    }
    if (r == OK && rc == SQLITE_DONE) t->is_complete = true;
    sqlite3_finalize(rows);
    buf_fini(&start);
    buf_fini(&end);
    return r;
}

enum err store_text_fill(struct sqlite_store *s, struct error *e)
{
    struct text_table *t = first_filling(s);
    struct store_progress p = {.applied = s->applied};
    if (t == NULL) return OK;
    enum err r = OK;
    if (s->source.fetch != NULL) {
        r = s->fill_from(s, t, &p, e);
    } else {
        r = run_sql(s, "BEGIN IMMEDIATE", e);
        if (r == OK) r = fill_slice(s, t, e);
    }
    if (r == OK) r = table_save(s, t, e);
    if (r == OK) r = store_commit(s, &p, e);
    store_counts_fini(&s->slice);
    if (r == OK) store_counts_merge(&s->counts, &p.counts);
    if (r != OK) store_text_rollback(s);
    store_progress_fini(&p);
    return r;
}

/* What memory says of the indexes is read again: a transaction that was taken back may have made or
 * dropped some. */
void store_text_rollback(struct sqlite_store *s)
{
    struct error ignored;
    store_text_close(s);
    if (!sqlite3_get_autocommit(s->db)) (void)run_sql(s, "ROLLBACK", &ignored);
    s->has_lost_texts = true;
    if (store_text_found(s, &ignored) != OK) log_warning("store: %s", ignored.text);
}

enum err store_text_found(struct sqlite_store *s, struct error *e)
{
    if (!s->has_lost_texts) return OK;
    store_text_close(s);
    enum err r = store_text_open(s, e);
    s->has_lost_texts = r != OK;
    return r;
}
