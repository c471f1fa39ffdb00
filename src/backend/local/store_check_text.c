/* store_check_text: text indexes against the entries: each entry with text has its row of doc_n and
 * its texts, as a write would make them now; and there are no other rows.
 *
 * What an index that is still being filled has of entries after its position is not asked for.
 */
#include <stdio.h>

#include "backend/local/store_check_int.h"
#include "base/bytes.h"
#include "codec/key.h"
#include "codec/value.h"

#define PART "indexes"
#define NAME_BYTES 40
#define SQL_BYTES 200

struct text_check {
    struct store_check *k;
    struct sqlite_store *s;
    struct text_table *t;
    sqlite3_stmt *get; /* of text_n, by rowid */
    char doc[NAME_BYTES], text[NAME_BYTES];
};

static struct slice none(void)
{
    return slice_of(NULL, 0);
}

/* Is what is in the row what a write would put there? */
static void texts_compare(struct text_check *x, struct slice key, const struct buf *texts)
{
    for (size_t i = 0; i < x->t->definition.column_count; i++) {
        struct slice is = slice_of(sqlite3_column_text(x->get, (int)i),
                                   (size_t)sqlite3_column_bytes(x->get, (int)i));
        if (slice_eq(is, buf_slice(&texts[i]))) continue;
        store_check_say(x->k, PART, x->text, key,
                        "column %zu has a text of %zu bytes instead of %zu", i, is.len,
                        texts[i].len);
    }
}

static enum err doc_find(struct text_check *x, struct slice key, int64_t *id, struct error *e)
{
    sqlite3_stmt *find = x->t->stmts[STMT_DOC_FIND];
    bool has = false;
    sqlite3_bind_blob64(find, 1, key.data, key.len, SQLITE_STATIC);
    enum err r = store_check_step(x->k, find, &has, e);
    *id = has ? sqlite3_column_int64(find, 0) : 0;
    sqlite3_reset(find);
    sqlite3_clear_bindings(find);
    return r;
}

static enum err entry_check(struct text_check *x, struct slice key, struct slice value,
                            struct error *e)
{
    struct buf texts[TEXT_COLUMNS_MAX];
    int64_t id = 0;
    bool has_row = false;
    bool has_text = store_text_of(x->s, x->t, value, texts);
    enum err r = doc_find(x, key, &id, e);
    if (r == OK && id != 0) {
        sqlite3_bind_int64(x->get, 1, id);
        r = store_check_step(x->k, x->get, &has_row, e);
    }
    if (r == OK && id == 0 && has_text) {
        store_check_say(x->k, PART, x->doc, key, "the entry has text, but no row in the index");
    } else if (r == OK && id != 0 && !has_text) {
        store_check_say(x->k, PART, x->doc, key, "the entry has a row in the index, but no text");
    } else if (r == OK && id != 0 && !has_row) {
        store_check_say(x->k, PART, x->text, key, "its texts, row %lld, are missing",
                        (long long)id);
    } else if (has_row) {
        texts_compare(x, key, texts);
    }
    sqlite3_reset(x->get);
    for (size_t i = 0; i < x->t->definition.column_count; i++) buf_fini(&texts[i]);
    return r;
}

/* Rows of kv below the index's prefix, up to where it is filled. */
static enum err entries_bind(const struct text_check *x, sqlite3_stmt *stmt, struct buf *bounds)
{
    const struct text_table *t = x->t;
    uint8_t head[] = {STORE_HEAD(t->database, x->s->generations[t->database], t->space)};
    for (int i = 0; i < 2; i++) {
        buf_append(&bounds[i], head, sizeof head);
        buf_append(&bounds[i], t->prefix.data, t->prefix.len);
        buf_append_byte(&bounds[i], i == 0 ? 0 : 0xff);
    }
    if (!t->is_complete) {
        struct slice placed = t->position.len > 0 ? store_place(x->s, buf_slice(&t->position))
                                                  : buf_slice(&bounds[0]);
        buf_clear(&bounds[1], SIZE_MAX);
        buf_append(&bounds[1], placed.data, placed.len);
        if (t->position.len > 0) buf_append_byte(&bounds[1], 0);
    }
    for (int i = 0; i < 2; i++) {
        buf_require(&bounds[i]);
        sqlite3_bind_blob64(stmt, i + 1, bounds[i].data, bounds[i].len, SQLITE_STATIC);
    }
    return OK;
}

static enum err row_entry(struct text_check *x, sqlite3_stmt *row, struct buf *key, struct error *e)
{
    struct slice placed = store_check_blob(row, 0);
    struct slice value = {0};
    enum err r = OK;
    buf_clear(key, SIZE_MAX);
    if (buf_reserve(key, placed.len) == NULL) buf_require(key);
    store_unplace(key->data, placed);
    key->len = placed.len - 1;
    bool is_large = sqlite3_column_type(row, 1) == SQLITE_INTEGER;
    r = is_large ? store_large_get(x->s->large_get, row, 1, &value, e)
                 : store_value(row, 1, &value, e);
    /* Values that cannot be read, or are none, are told of where entries are. */
    struct error ignored;
    if (r == OK && value_check(value, &ignored) == OK) r = entry_check(x, buf_slice(key), value, e);
    sqlite3_reset(x->s->large_get);
    return r == ERR_CORRUPT && is_large ? OK : r;
}

static enum err entries_check(struct text_check *x, struct error *e)
{
    struct buf bounds[2];
    struct buf key;
    sqlite3_stmt *rows = NULL;
    bool has = true;
    buf_init(&bounds[0]);
    buf_init(&bounds[1]);
    buf_init(&key);
    enum err r = store_check_prepare(x->k, &rows,
                                     "SELECT k,v FROM kv WHERE k>=?1 AND k<?2 ORDER BY k", e);
    if (r == OK) r = entries_bind(x, rows, bounds);
    while (r == OK && has) {
        r = store_check_step(x->k, rows, &has, e);
        if (r == OK && has) r = row_entry(x, rows, &key, e);
    }
    sqlite3_finalize(rows);
    buf_fini(&bounds[0]);
    buf_fini(&bounds[1]);
    buf_fini(&key);
    return r;
}

/* Rows of doc_n whose entry is not there, or not of the index. */
static enum err docs_check(struct text_check *x, struct error *e)
{
    char sql[SQL_BYTES];
    sqlite3_stmt *docs = NULL;
    sqlite3_stmt *find = NULL;
    bool has = true;
    snprintf(sql, sizeof sql, "SELECT k, id FROM %s", x->doc);
    enum err r = store_check_prepare(x->k, &docs, sql, e);
    if (r == OK) r = store_check_prepare(x->k, &find, "SELECT 1 FROM kv WHERE k=?1", e);
    while (r == OK && has) {
        bool is_there = false;
        r = store_check_step(x->k, docs, &has, e);
        if (r != OK || !has) break;
        struct slice key = store_check_blob(docs, 0);
        if (key.len > KEY_HEAD_BYTES && store_text_covers(x->t, key)) {
            struct slice placed = store_place(x->s, key);
            sqlite3_bind_blob64(find, 1, placed.data, placed.len, SQLITE_STATIC);
            r = store_check_step(x->k, find, &is_there, e);
            sqlite3_reset(find);
        }
        if (r == OK && !is_there) {
            store_check_say(x->k, PART, x->doc, key.len >= KEY_HEAD_BYTES ? key : none(),
                            "row %lld belongs to a missing entry",
                            (long long)sqlite3_column_int64(docs, 1));
        }
    }
    sqlite3_finalize(docs);
    sqlite3_finalize(find);
    return r;
}

/* Texts that no row of doc_n names. */
static enum err orphans_check(struct text_check *x, struct error *e)
{
    char sql[SQL_BYTES];
    int64_t id = 0;
    snprintf(sql, sizeof sql, "SELECT id FROM %s_content WHERE id NOT IN (SELECT id FROM %s)",
             x->text, x->doc);
    enum err r = store_check_number(x->k, sql, &id, e);
    if (r == OK && id != 0) {
        store_check_say(x->k, PART, x->text, none(), "row %lld has texts of a missing entry",
                        (long long)id);
    }
    return r;
}

/* Its words against its texts. */
static enum err words_check(struct text_check *x, struct error *e)
{
    char sql[SQL_BYTES];
    struct error why;
    snprintf(sql, sizeof sql, "INSERT INTO %s(%s) VALUES('integrity-check')", x->text, x->text);
    int rc = sqlite3_exec(x->s->db, sql, NULL, NULL, NULL);
    enum err r = store_error(&why, x->s->db, rc, "look up words");
    if (r == OK) return OK;
    if (r != ERR_CORRUPT) {
        *e = why;
        return r;
    }
    store_check_say(x->k, PART, x->text, none(), "its indexed words differ from its texts");
    return OK;
}

/* The definition, as the entries of BACKEND_SPACE_TEXT have it. */
static enum err spec_check(struct text_check *x, struct error *e)
{
    uint8_t key[KEY_HEAD_BYTES + sizeof(uint32_t)] = {KEY_HEAD(x->t->database, BACKEND_SPACE_TEXT)};
    sqlite3_stmt *find = NULL;
    bool has = false;
    put_u32(key + KEY_HEAD_BYTES, x->t->id);
    enum err r = store_check_prepare(
        x->k, &find,
        "SELECT coalesce(large.v, kv.v) FROM kv LEFT JOIN large ON large.id=kv.v "
        "AND typeof(kv.v)='integer' WHERE k=?1",
        e);
    if (r == OK) {
        struct slice placed = store_place(x->s, slice_of(key, sizeof key));
        sqlite3_bind_blob64(find, 1, placed.data, placed.len, SQLITE_TRANSIENT);
        r = store_check_step(x->k, find, &has, e);
    }
    if (r == OK && !has) {
        store_check_say(x->k, PART, "text", slice_of(key, sizeof key),
                        "there is an index without a definition");
    } else if (r == OK && !slice_eq(store_check_blob(find, 0), x->t->spec)) {
        store_check_say(x->k, PART, "text", slice_of(key, sizeof key),
                        "its specification differs from its definition");
    }
    sqlite3_finalize(find);
    return r;
}

static enum err table_check(struct store_check *k, struct text_table *t, struct error *e)
{
    struct text_check x = {.k = k, .s = sqlite_of(k->store), .t = t};
    char sql[SQL_BYTES];
    snprintf(x.doc, sizeof x.doc, "doc_%lld", t->number);
    snprintf(x.text, sizeof x.text, "text_%lld", t->number);
    snprintf(sql, sizeof sql, "SELECT * FROM %s WHERE rowid=?1", x.text);
    enum err r = store_check_prepare(k, &x.get, sql, e);
    if (r == OK) r = spec_check(&x, e);
    if (r == OK) r = entries_check(&x, e);
    if (r == OK) r = docs_check(&x, e);
    if (r == OK) r = orphans_check(&x, e);
    if (r == OK) r = words_check(&x, e);
    sqlite3_finalize(x.get);
    return store_check_unreadable(k, PART, x.text, r, e) ? OK : r;
}

enum err store_check_texts(struct store_check *k, struct error *e)
{
    enum err r = OK;
    for (struct text_table *t = sqlite_of(k->store)->texts; t != NULL && r == OK; t = t->next) {
        r = table_check(k, t, e);
    }
    return r;
}
