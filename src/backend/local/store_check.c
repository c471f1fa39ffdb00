/* store_check: the entries in one ordered walk, against the ranges that are forgotten, the large
 * values and the counts; the small tables by statements each row of which is something wrong. Text
 * indexes are checked last, and only when all entries could be read. */
#include "backend/local/store_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/local/store_check_int.h"
#include "base/mem.h"

#define ENTRIES "entries"
#define TELL_ROWS 1024
#define TREE_HEAD "*** in database main ***\n" /* a line of its own, before what follows */

/* ---- what all parts use ---- */

void store_check_say(struct store_check *k, const char *part, const char *table, struct slice key,
                     const char *format, ...)
{
    char text[ERROR_TEXT_BYTES];
    struct store_check_line line = {
        .is_damage = true, .part = part, .table = table, .key = key, .text = text};
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    k->found(k->arg, &line);
}

bool store_check_unreadable(struct store_check *k, const char *part, const char *table, enum err r,
                            const struct error *e)
{
    char text[ERROR_TEXT_BYTES];
    struct store_check_line line = {.part = part, .table = table, .text = text};
    if (r != ERR_CORRUPT) return false;
    snprintf(text, sizeof text, "cannot read all of it: %.200s", e->text);
    k->found(k->arg, &line);
    return true;
}

enum err store_check_prepare(struct store_check *k, sqlite3_stmt **stmt, const char *sql,
                             struct error *e)
{
    sqlite3 *db = sqlite_of(k->store)->db;
    return store_error(e, db, sqlite3_prepare_v2(db, sql, -1, stmt, NULL), "examine the database");
}

enum err store_check_step(struct store_check *k, sqlite3_stmt *stmt, bool *has, struct error *e)
{
    int rc = sqlite3_step(stmt);
    *has = rc == SQLITE_ROW;
    return store_error(e, sqlite_of(k->store)->db, rc, "examine the database");
}

struct slice store_check_blob(sqlite3_stmt *stmt, int column)
{
    const void *data = sqlite3_column_blob(stmt, column);
    return slice_of(data, (size_t)sqlite3_column_bytes(stmt, column));
}

enum err store_check_number(struct store_check *k, const char *sql, int64_t *out, struct error *e)
{
    sqlite3_stmt *stmt = NULL;
    bool has = false;
    *out = 0;
    enum err r = store_check_prepare(k, &stmt, sql, e);
    if (r == OK) r = store_check_step(k, stmt, &has, e);
    if (has) *out = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return r;
}

/* Says so for each row of the statement, in the words of its first column. */
static enum err say_rows(struct store_check *k, const char *part, const char *table,
                         const char *sql, struct error *e)
{
    sqlite3_stmt *stmt = NULL;
    bool has = true;
    enum err r = store_check_prepare(k, &stmt, sql, e);
    while (r == OK && has) {
        r = store_check_step(k, stmt, &has, e);
        if (r != OK || !has) break;
        const char *text = (const char *)sqlite3_column_text(stmt, 0);
        if (text == NULL || strcmp(text, "ok") == 0) continue;
        if (strncmp(text, TREE_HEAD, strlen(TREE_HEAD)) == 0) text += strlen(TREE_HEAD);
        store_check_say(k, part, table, slice_of(NULL, 0), "%.200s", text);
    }
    sqlite3_finalize(stmt);
    if (store_check_unreadable(k, part, table, r, e)) r = OK;
    return r;
}

/* ---- entries ---- */

struct range {
    struct slice start, end; /* of kv */
};

struct walk {
    struct store_check *k;
    struct sqlite_store *s;
    struct arena arena; /* of the ranges */
    struct range *forgotten;
    size_t forgotten_count, forgotten_at;
    int64_t *larges; /* owned; ids that kv has */
    size_t large_count, large_cap;
    struct sparse counts; /* struct store_counts, as counted; owned */
    struct buf key;       /* internal */
    uint64_t rows, total;
};

static enum err forgotten_read(struct walk *w, struct error *e)
{
    sqlite3_stmt *stmt = NULL;
    int64_t total = 0;
    bool has = true;
    enum err r = store_check_number(w->k, "SELECT count(*) FROM forgotten", &total, e);
    if (r != OK) return r;
    w->forgotten = arena_alloc(&w->arena, ((size_t)total + 1) * sizeof *w->forgotten);
    r = store_check_prepare(w->k, &stmt, "SELECT start, end FROM forgotten ORDER BY start", e);
    while (r == OK && has) {
        r = store_check_step(w->k, stmt, &has, e);
        if (r != OK || !has) break;
        struct range *f = &w->forgotten[w->forgotten_count];
        f->start = arena_copy(&w->arena, store_check_blob(stmt, 0));
        f->end = arena_copy(&w->arena, store_check_blob(stmt, 1));
        bool is_good = f->start.len >= STORE_HEAD_BYTES && f->end.len >= STORE_HEAD_BYTES &&
                       slice_cmp(f->start, f->end) < 0 &&
                       key_database(f->start) == key_database(f->end) &&
                       store_generation_of(f->start) == store_generation_of(f->end);
        if (is_good) {
            w->forgotten_count++;
        } else {
            store_check_say(w->k, ENTRIES, "forgotten", slice_of(NULL, 0),
                            "a range of %zu and %zu bytes is not within one database", f->start.len,
                            f->end.len);
        }
    }
    sqlite3_finalize(stmt);
    return r;
}

/* Rows come in order, and so do ranges, but these may overlap: one begins within another. */
static bool is_forgotten(struct walk *w, struct slice placed)
{
    while (w->forgotten_at < w->forgotten_count &&
           slice_cmp(w->forgotten[w->forgotten_at].end, placed) <= 0) {
        w->forgotten_at++;
    }
    for (size_t i = w->forgotten_at; i < w->forgotten_count; i++) {
        const struct range *f = &w->forgotten[i];
        if (slice_cmp(f->start, placed) > 0) return false;
        if (slice_cmp(f->end, placed) > 0) return true;
    }
    return false;
}

static void note_large(struct walk *w, int64_t id)
{
    if (w->large_count == w->large_cap) {
        w->large_cap = w->large_cap == 0 ? 1024 : 2 * w->large_cap;
        w->larges = mem_resize(w->larges, w->large_cap * sizeof *w->larges);
    }
    w->larges[w->large_count++] = id;
}

/* The value of the row, which is in `large` or not. False: there is none. */
static bool row_value(struct walk *w, sqlite3_stmt *row, struct slice key, struct slice *value,
                      enum err *r, struct error *e)
{
    sqlite3_stmt *get = w->s->large_get;
    bool has = false;
    if (sqlite3_column_type(row, 3) == SQLITE_BLOB) {
        *value = store_check_blob(row, 3);
        if (value->len <= STORE_INLINE_MAX) return true;
        store_check_say(w->k, ENTRIES, "kv", key,
                        "a value of %zu bytes is in the row instead of in large", value->len);
        return true;
    }
    if (sqlite3_column_type(row, 3) != SQLITE_INTEGER) {
        store_check_say(w->k, ENTRIES, "kv", key, "its value has an invalid storage class");
        return false;
    }
    int64_t id = sqlite3_column_int64(row, 3);
    note_large(w, id);
    sqlite3_bind_int64(get, 1, id);
    *r = store_check_step(w->k, get, &has, e);
    if (*r == OK && !has) {
        store_check_say(w->k, ENTRIES, "kv", key, "its value, number %lld of large, is missing",
                        (long long)id);
    }
    if (has) *value = store_check_blob(get, 0);
    return has;
}

static bool row_head_is_good(struct walk *w, sqlite3_stmt *row, struct slice key)
{
    int64_t version = sqlite3_column_int64(row, 1);
    bool are_numbers = sqlite3_column_type(row, 1) == SQLITE_INTEGER &&
                       sqlite3_column_type(row, 2) == SQLITE_INTEGER;
    if (!are_numbers) {
        store_check_say(w->k, ENTRIES, "kv", key, "its version or expiry is not a number");
        return false;
    }
    if (version < 1 || (uint64_t)version > w->k->applied) {
        store_check_say(w->k, ENTRIES, "kv", key, "its version is %lld, but the newest is %llu",
                        (long long)version, (unsigned long long)w->k->applied);
    }
    return true;
}

static void row_count(struct walk *w, const struct store_row *row)
{
    struct store_counts c = store_counts_get(&w->counts, key_database(row->key));
    bool is_counted = key_space(row->key) == STORE_SPACE_COUNTED;
    c.entries += is_counted;
    c.expiring += is_counted && row->expiry_ms != 0;
    c.bytes += row->key.len - KEY_HEAD_BYTES + row->value.len;
    store_counts_put(&w->counts, key_database(row->key), &c);
}

static enum err row_check(struct walk *w, sqlite3_stmt *row, struct error *e)
{
    struct slice placed = store_check_blob(row, 0);
    struct slice value = {0};
    enum err r = OK;
    if (sqlite3_column_type(row, 0) != SQLITE_BLOB || placed.len < STORE_HEAD_BYTES) {
        store_check_say(w->k, ENTRIES, "kv", slice_of(NULL, 0),
                        "a key of %zu bytes has no database and space", placed.len);
        return OK;
    }
    buf_clear(&w->key, SIZE_MAX);
    uint8_t *bytes = buf_reserve(&w->key, placed.len);
    buf_require(&w->key);
    INVARIANT(bytes != NULL);
    store_unplace(bytes, placed);
    struct slice key = slice_of(bytes, placed.len - 1);
    bool is_forgotten_row = is_forgotten(w, placed);
    bool is_own = store_generation_of(placed) == w->s->generations[key_database(key)];
    if (!is_own && !is_forgotten_row) {
        store_check_say(w->k, ENTRIES, "kv", key,
                        "it is in generation %u of its database, which is not in use",
                        store_generation_of(placed));
    }
    bool is_good = row_value(w, row, key, &value, &r, e);
    is_good = is_good && row_head_is_good(w, row, key);
    struct store_row out = {.key = key,
                            .value = value,
                            .version = (uint64_t)sqlite3_column_int64(row, 1),
                            .expiry_ms = sqlite3_column_int64(row, 2)};
    if (r == OK && is_own) row_count(w, &out);
    if (r == OK && is_good && is_own && !is_forgotten_row) w->k->entry(w->k->arg, &out);
    sqlite3_reset(w->s->large_get);
    return r;
}

static enum err rows_check(struct walk *w, struct error *e)
{
    sqlite3_stmt *stmt = NULL;
    bool has = true;
    enum err r = store_check_prepare(w->k, &stmt, "SELECT k,ver,exp,v FROM kv ORDER BY k", e);
    while (r == OK && has) {
        r = store_check_step(w->k, stmt, &has, e);
        if (r != OK || !has) break;
        r = row_check(w, stmt, e);
        if (++w->rows % TELL_ROWS == 0) w->k->progress(w->k->arg, w->rows, w->total);
    }
    sqlite3_finalize(stmt);
    return r;
}

static int by_id(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Each large value belongs to one row. That none is missing, row_value has seen. */
static enum err larges_check(struct walk *w, struct error *e)
{
    sqlite3_stmt *stmt = NULL;
    bool has = true;
    size_t at = 0;
    if (w->large_count > 1) qsort(w->larges, w->large_count, sizeof *w->larges, by_id);
    for (size_t i = 1; i < w->large_count; i++) {
        if (w->larges[i] != w->larges[i - 1]) continue;
        store_check_say(w->k, ENTRIES, "large", slice_of(NULL, 0),
                        "value %lld belongs to two entries", (long long)w->larges[i]);
    }
    enum err r = store_check_prepare(w->k, &stmt, "SELECT id, typeof(v) FROM large ORDER BY id", e);
    while (r == OK && has) {
        r = store_check_step(w->k, stmt, &has, e);
        if (r != OK || !has) break;
        int64_t id = sqlite3_column_int64(stmt, 0);
        while (at < w->large_count && w->larges[at] < id) at++;
        if (at < w->large_count && w->larges[at] == id) continue;
        store_check_say(w->k, ENTRIES, "large", slice_of(NULL, 0), "value %lld belongs to no entry",
                        (long long)id);
    }
    sqlite3_finalize(stmt);
    return r;
}

static void count_check(struct walk *w, uint16_t database, const char *what, uint64_t is,
                        uint64_t said)
{
    if (is == said) return;
    store_check_say(w->k, ENTRIES, "counts", slice_of(NULL, 0),
                    "database %u: recorded are %llu %s, but there are %llu", database,
                    (unsigned long long)said, what, (unsigned long long)is);
}

static void counts_check(struct walk *w)
{
    for (uint32_t i = 0; i < DATABASES_MAX; i++) {
        struct store_counts is = store_counts_get(&w->counts, (uint16_t)i);
        struct store_counts said = store_counts_get(&w->s->counts, (uint16_t)i);
        count_check(w, (uint16_t)i, "entries", is.entries, said.entries);
        count_check(w, (uint16_t)i, "entries with an expiry", is.expiring, said.expiring);
        count_check(w, (uint16_t)i, "bytes", is.bytes, said.bytes);
    }
}

static enum err walk_all(struct walk *w, struct error *e)
{
    int64_t total = 0;
    enum err r = store_check_number(w->k, "SELECT count(*) FROM kv", &total, e);
    w->total = (uint64_t)total;
    if (r == OK) r = forgotten_read(w, e);
    if (r == OK) r = rows_check(w, e);
    if (r == OK) counts_check(w);
    if (r == OK) r = larges_check(w, e);
    if (!store_check_unreadable(w->k, ENTRIES, "kv", r, e)) return r;
    w->k->is_cut = true;
    return OK;
}

static enum err entries_check(struct store_check *k, struct error *e)
{
    struct walk w = {.k = k, .s = sqlite_of(k->store)};
    arena_init(&w.arena, 4096);
    buf_init(&w.key);
    enum err r = walk_all(&w, e);
    mem_free(w.larges);
    store_counts_fini(&w.counts);
    buf_fini(&w.key);
    arena_fini(&w.arena);
    return r;
}

/* ---- small tables ---- */

/* What is written in them, and by whom: sqlite_store.h, store_text.h. Each row of these is wrong.
 */
static const struct {
    const char *part, *table, *sql;
} wrong_rows[] = {
    {"sqlite", "sqlite", "PRAGMA integrity_check(100)"},
    {ENTRIES, "meta",
     "SELECT 'it has ' || name || ', which is never read' FROM meta "
     "WHERE name NOT IN ('database_id','applied','timeline')"},
    {ENTRIES, "meta",
     "SELECT 'applied is no version: ' || coalesce(value,'NULL') FROM meta WHERE name='applied' "
     "AND (typeof(value)<>'integer' OR value<0)"},
    {ENTRIES, "meta",
     "SELECT n || ' is missing' FROM (SELECT 'database_id' AS n UNION SELECT 'applied') "
     "WHERE n NOT IN (SELECT name FROM meta)"},
    {ENTRIES, "counts",
     "SELECT 'database ' || d || ': figures below zero, or of no database' FROM counts "
     "WHERE d<0 OR d>65535 OR entries<0 OR expiring<0 OR bytes<0 OR typeof(entries)<>'integer' "
     "OR typeof(expiring)<>'integer' OR typeof(bytes)<>'integer'"},
    {ENTRIES, "places",
     "SELECT 'database ' || d || ' lies in generation ' || g || ', which cannot be' FROM places "
     "WHERE d<0 OR d>65535 OR typeof(g)<>'integer' OR g<0 OR g>255"},
    {ENTRIES, "large",
     "SELECT 'value ' || id || ' is no bytes' FROM large WHERE typeof(v)<>'blob'"},
    {ENTRIES, "aside",
     "SELECT 'a row of ' || hex(substr(k,1,40)) || ' is none of an entry' FROM aside "
     "WHERE typeof(k)<>'blob' OR length(k)<3 OR typeof(ver)<>'integer' OR ver<1 "
     "OR ver>(SELECT value FROM meta WHERE name='applied') OR typeof(exp)<>'integer' "
     "OR (v IS NOT NULL AND typeof(v)<>'blob')"},
    {"indexes", "dropped",
     "SELECT 'text index ' || n || ' is there and dropped' FROM dropped "
     "WHERE n IN (SELECT n FROM text)"},
    {"indexes", "dropped",
     "SELECT 'the tables of ' || n || ' are not there' FROM dropped WHERE NOT EXISTS "
     "(SELECT 1 FROM sqlite_master WHERE name='text_' || n)"},
    {"indexes", "text",
     "SELECT 'the tables of ' || n || ' are not there' FROM text WHERE NOT EXISTS "
     "(SELECT 1 FROM sqlite_master WHERE name='text_' || n) OR NOT EXISTS "
     "(SELECT 1 FROM sqlite_master WHERE name='doc_' || n)"},
    {"indexes", "text",
     "SELECT 'two text indexes have tables ' || n FROM text GROUP BY n HAVING count(*)>1"},
    {"sqlite", "sqlite",
     "SELECT 'there is a ' || m.type || ' ' || m.name || ', which is none of ours' "
     "FROM sqlite_master m WHERE m.name NOT IN ('kv','large','meta','counts','aside','forgotten',"
     "'places','dropped','text') AND m.name NOT LIKE 'sqlite_autoindex_%' AND NOT EXISTS "
     "(SELECT 1 FROM (SELECT n FROM text UNION SELECT n FROM dropped) x WHERE m.name IN ('doc_' "
     "|| x.n, 'text_' || x.n, 'text_' || x.n || '_data', 'text_' || x.n || '_idx', 'text_' || x.n "
     "|| '_content', 'text_' || x.n || '_docsize', 'text_' || x.n || '_config'))"},
};

enum err store_check_run(struct store_check *k, struct error *e)
{
    struct store_progress state = {0};
    k->store->ops->state(k->store, &state);
    k->applied = state.applied;
    store_progress_fini(&state);
    enum err r = OK;
    for (size_t i = 0; i < sizeof wrong_rows / sizeof wrong_rows[0] && r == OK; i++) {
        r = say_rows(k, wrong_rows[i].part, wrong_rows[i].table, wrong_rows[i].sql, e);
    }
    if (r == OK) r = entries_check(k, e);
    if (r == OK && !k->is_cut) r = store_check_texts(k, e);
    return r;
}
