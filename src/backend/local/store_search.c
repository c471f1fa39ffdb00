/* store_search: a text search on what a pinned reader sees. FTS5 gives the rows that match, of
 * which the best are kept (ranking.h); each of them is looked up in kv, where expired entries and
 * those that the filter refuses drop out, before OFFSET and LIMIT count. Where too many drop out,
 * more of the best are asked for. Only for the hits that are shown are texts made.
 *
 * The expression was written by search/query.c; numbers are all that gets into the SQL here.
 */
#include <stdio.h>
#include <stdlib.h>

#include "backend/local/ranking.h"
#include "backend/local/store_int.h"
#include "backend/text.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/give_way.h"

#define PROGRESS_STEPS 500 /* of SQLite's machine, some tens of us: see worker.h */
#define MARK_OPEN "\x01"

/* The rows that are kept at first: those that are asked for, and some in place of those that have
 * expired or that the filter refuses. Then so many times as many. */
#define SPARE 16
#define SPARE_FILTERED 1000
#define KEEP_TIMES 16

/* A hit by its row. */
struct wanted {
    sqlite3_int64 row;
    size_t at; /* in the hits */
};

struct search {
    struct sqlite_reader *reader;
    struct text_request *q;
    int64_t deadline_us;
    sqlite3 *db;
    sqlite3_stmt *hits, *doc, *texts;
    struct ranking ranking; /* of all that match */
    size_t looked;          /* at the first of its rows */
    sqlite3_int64 *rows;    /* of the hits that are shown */
    struct wanted *wanted;  /* they, by row */
    uint64_t passed;        /* hits before the first that is shown */
    struct arena looking;   /* of the hit that is being looked at */
    long long number;       /* of the index's tables */
    size_t cap, bytes;
};

static int on_progress(void *arg)
{
    const struct search *x = arg;
    give_way();
    return __atomic_load_n(&x->q->is_cancelled, __ATOMIC_RELAXED) ||
           clock_mono_us() > x->deadline_us;
}

static enum err search_error(struct search *x, int rc)
{
    if ((rc & 0xff) == SQLITE_INTERRUPT) {
        return error_set(&x->q->error, ERR_LIMIT, "the search took longer than scan-timeout");
    }
    return store_error(&x->q->error, x->db, rc, "search");
}

static enum err prepare(struct search *x, sqlite3_stmt **stmt, const char *sql)
{
    return search_error(x, sqlite3_prepare_v2(x->db, sql, -1, stmt, NULL));
}

/* ERR_INDEXING until the index is complete. */
static enum err check_state(struct search *x)
{
    struct text_request *q = x->q;
    sqlite3_stmt *stmt = NULL;
    bool is_complete = false;
    sqlite3_int64 filled = 0;
    sqlite3_int64 entries = 0;
    int rc = sqlite3_prepare_v2(
        x->db,
        "SELECT is_complete, filled, coalesce((SELECT value FROM meta WHERE name='" STORE_ENTRIES
        "'||?1), (SELECT entries FROM counts WHERE d=?1)), n"
        " FROM text WHERE d=?1 AND i=?2",
        -1, &stmt, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int(stmt, 1, q->database);
        sqlite3_bind_int64(stmt, 2, q->id);
        rc = sqlite3_step(stmt);
    }
    if (rc == SQLITE_ROW) {
        is_complete = sqlite3_column_int(stmt, 0) != 0;
        filled = sqlite3_column_int64(stmt, 1);
        entries = sqlite3_column_int64(stmt, 2);
        x->number = sqlite3_column_int64(stmt, 3);
    }
    enum err r = search_error(x, rc);
    sqlite3_finalize(stmt);
    q->percent = is_complete ? 100 : 0;
    if (!is_complete && entries > 0) {
        q->percent = filled < entries ? (unsigned)(filled * 100 / entries) : 99;
    }
    if (r == OK && !is_complete) r = error_set(&q->error, ERR_INDEXING, "%u", q->percent);
    return r;
}

/* ---- hits ---- */

static bool has_expired(const struct search *x, const struct entry *entry)
{
    return entry->expiry_ms != 0 && entry->expiry_ms <= x->q->now_ms;
}

static enum err add_hit(struct search *x, const struct ranked *at, struct slice key,
                        struct entry *entry)
{
    struct text_request *q = x->q;
    size_t cap = x->cap;
    enum err r = sqlite_copy_value(&q->arena, entry, &q->error);
    if (r != OK) return r;
    q->hits = arena_grow(&q->arena, q->hits, q->count, &cap, sizeof *q->hits);
    x->rows = arena_grow(&q->arena, x->rows, q->count, &x->cap, sizeof *x->rows);
    x->rows[q->count] = at->row;
    q->hits[q->count] = (struct text_hit){.key = arena_copy(&q->arena, key),
                                          .value = entry->value,
                                          .version = entry->version,
                                          .score = at->score};
    q->count++;
    x->bytes += key.len + entry->value.len;
    return OK;
}

/* Rows that the filter asks for, as the reader sees them. */
static enum err rows_of_reader(const struct row_source *from, const struct slice *keys,
                               size_t count, struct entry *out, struct error *e)
{
    struct search *x = from->arg;
    enum err r = sqlite_get_many(&x->reader->base, keys, count, from->arena, out, e);
    for (size_t i = 0; i < count && r == OK; i++) {
        if (has_expired(x, &out[i])) out[i].exists = false;
    }
    return r;
}

/* The entry's value is borrowed from the reader, and gone when rows are asked for. */
static enum err filter_hit(struct search *x, struct slice key, struct entry *entry, bool *is_hit)
{
    struct text_request *q = x->q;
    struct row_source from = {
        .arena = &x->looking, .work_max = ROW_WORK_MAX, .get = rows_of_reader, .arg = x};
    if (row_filter_asks(q->filter, entry->value)) {
        enum err r = sqlite_copy_value(&x->looking, entry, &q->error);
        if (r != OK) return r;
        sqlite_get_end(&x->reader->base);
    }
    enum err r = row_filter_check(q->filter, entry->value, ROW_WORK_MAX, &q->error);
    if (r != OK) return r;
    return row_filter_decide(q->filter, key, entry->value, &from, is_hit, &q->error);
}

/* The key of the entry: of an index of hashes doc_n has that of its texts (text.h). */
static struct slice entry_key(struct search *x, struct slice key)
{
    size_t before = KEY_HEAD_BYTES + sizeof x->q->id;
    if (key_space(key) != BACKEND_SPACE_HASH_TEXT || key.len < before) return key;
    uint8_t *p = arena_alloc(&x->looking, KEY_HEAD_BYTES + key.len - before);
    uint8_t *tuple = key_head_write(p, x->q->database, STORE_SPACE_COUNTED);
    bytes_copy(tuple, key.data + before, key.len - before);
    return slice_of(p, KEY_HEAD_BYTES + key.len - before);
}

/* The row, if its entry is one to be shown. */
static enum err look_at(struct search *x, const struct ranked *at)
{
    struct text_request *q = x->q;
    struct entry entry;
    sqlite3_bind_int64(x->doc, 1, at->row);
    int rc = sqlite3_step(x->doc);
    enum err r = search_error(x, rc);
    if (r == OK && rc == SQLITE_ROW) {
        struct slice doc = slice_of(sqlite3_column_blob(x->doc, 0),
                                    (size_t)sqlite3_column_bytes(x->doc, 0));
        struct slice key = entry_key(x, doc);
        r = sqlite_get(&x->reader->base, key, true, &entry, &q->error);
        bool is_hit = r == OK && entry.exists && !has_expired(x, &entry);
        if (is_hit && q->filter != NULL) r = filter_hit(x, key, &entry, &is_hit);
        is_hit = is_hit && r == OK;
        if (is_hit && x->passed++ >= q->offset) r = add_hit(x, at, key, &entry);
        sqlite_get_end(&x->reader->base);
        arena_reset(&x->looking);
    }
    sqlite3_reset(x->doc);
    return r;
}

static enum err prepare_hits(struct search *x)
{
    struct text_request *q = x->q;
    char sql[160];
    snprintf(sql, sizeof sql,
             "SELECT ranking_row(text_%lld, ?2) FROM text_%lld WHERE text_%lld MATCH ?1", x->number,
             x->number, x->number);
    enum err r = prepare(x, &x->hits, sql);
    snprintf(sql, sizeof sql, "SELECT k FROM doc_%lld WHERE id=?1", x->number);
    if (r == OK) r = prepare(x, &x->doc, sql);
    if (r != OK) return r;
    int rc = sqlite3_bind_text64(x->hits, 1, (const char *)q->expression.data, q->expression.len,
                                 SQLITE_STATIC, SQLITE_UTF8);
    return search_error(x, rc);
}

/* The best `keep` of all that match, in order. */
static enum err rank(struct search *x, uint64_t keep)
{
    ranking_fini(&x->ranking);
    ranking_init(&x->ranking, keep);
    int rc = ranking_bind(x->hits, 2, &x->ranking);
    if (rc == SQLITE_OK) {
        do {
            rc = sqlite3_step(x->hits);
        } while (rc == SQLITE_ROW);
    }
    enum err r = search_error(x, rc);
    sqlite3_reset(x->hits);
    ranking_sort(&x->ranking);
    return r;
}

static bool has_enough(const struct search *x)
{
    return x->q->count >= x->q->limit || x->bytes >= x->q->bytes_max;
}

/* The best of few are the first of the best of more: what was looked at is not looked at again. */
static enum err find_hits(struct search *x)
{
    struct text_request *q = x->q;
    uint64_t spare = q->filter != NULL ? SPARE_FILTERED : SPARE;
    uint64_t keep = q->offset + q->limit + spare; /* OFFSET is at most half of what fits */
    enum err r = prepare_hits(x);
    do {
        if (r == OK) r = rank(x, keep);
        while (r == OK && x->looked < x->ranking.count && !has_enough(x)) {
            r = look_at(x, &x->ranking.best[x->looked++]);
        }
        keep = keep < UINT64_MAX / KEEP_TIMES ? keep * KEEP_TIMES : UINT64_MAX;
    } while (r == OK && !has_enough(x) && x->looked < x->ranking.matches);
    return r;
}

/* ---- texts ---- */

/* Of each column: whether anything was found in it (marking it makes it longer), and its text with
 * marks; for the wanted rows of a range. */
static void texts_sql(const struct search *x, struct buf *sql)
{
    char table[48];
    const struct text_request *q = x->q;
    snprintf(table, sizeof table, "text_%lld", x->number);
    buf_append_str(sql, "SELECT rowid");
    for (size_t i = 0; i < q->column_count; i++) {
        buf_printf(sql, ",length(c%zu)<>length(highlight(%s,%zu,'" MARK_OPEN "',''))", i, table, i);
        if (q->snippet_words > 0) {
            buf_printf(sql, ",snippet(%s,%zu,?4,?5,'...',%u)", table, i, q->snippet_words);
        } else {
            buf_printf(sql, ",highlight(%s,%zu,?4,?5)", table, i);
        }
    }
    buf_printf(sql, " FROM %s WHERE %s MATCH ?1 AND rowid BETWEEN ?2 AND ?3 AND wanted(rowid)",
               table, table);
    buf_append_byte(sql, '\0');
    buf_require(sql);
}

static int compare_wanted(const void *a, const void *b)
{
    const struct wanted *x = a;
    const struct wanted *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

static struct wanted *find_wanted(const struct search *x, sqlite3_int64 row)
{
    struct wanted key = {.row = row};
    return bsearch(&key, x->wanted, x->q->count, sizeof key, compare_wanted);
}

/* wanted(rowid): is it a hit whose texts are still to be made? */
static void is_wanted(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    const struct search *x = sqlite3_user_data(ctx);
    const struct wanted *w = find_wanted(x, sqlite3_value_int64(argv[0]));
    (void)argc;
    sqlite3_result_int(ctx, w != NULL && x->q->hits[w->at].texts == NULL);
}

static enum err prepare_texts(struct search *x)
{
    struct text_request *q = x->q;
    struct buf sql;
    x->wanted = arena_alloc(&q->arena, q->count * sizeof *x->wanted);
    for (size_t i = 0; i < q->count; i++) {
        x->wanted[i] = (struct wanted){.row = x->rows[i], .at = i};
    }
    qsort(x->wanted, q->count, sizeof *x->wanted, compare_wanted);
    int rc = sqlite3_create_function_v2(x->db, "wanted", 1, SQLITE_UTF8, x, is_wanted, NULL, NULL,
                                        NULL);
    if (rc != SQLITE_OK) return search_error(x, rc);
    buf_init(&sql);
    texts_sql(x, &sql);
    enum err r = prepare(x, &x->texts, (const char *)sql.data);
    buf_fini(&sql);
    if (r != OK) return r;
    sqlite3_bind_text64(x->texts, 1, (const char *)q->expression.data, q->expression.len,
                        SQLITE_STATIC, SQLITE_UTF8);
    sqlite3_bind_text64(x->texts, 4, (const char *)q->open.data, q->open.len, SQLITE_STATIC,
                        SQLITE_UTF8);
    sqlite3_bind_text64(x->texts, 5, (const char *)q->close.data, q->close.len, SQLITE_STATIC,
                        SQLITE_UTF8);
    return OK;
}

/* The columns of the row that x->texts is at. */
static enum err take_texts(struct search *x, struct text_hit *hit)
{
    struct text_request *q = x->q;
    const struct text_ops *ops = x->reader->store->text_ops;
    hit->texts = arena_alloc(&q->arena, q->column_count * sizeof *hit->texts);
    for (size_t i = 0; i < q->column_count; i++) {
        int column = (int)(2 * i) + 1;
        struct buf text;
        hit->texts[i] = slice_of(NULL, 0);
        if (sqlite3_column_int(x->texts, column) == 0) continue;
        buf_init(&text);
        buf_append(&text, sqlite3_column_text(x->texts, column + 1),
                   (size_t)sqlite3_column_bytes(x->texts, column + 1));
        ops->show(&text);
        uint8_t *copy = arena_alloc_try(&q->arena, text.len + 1);
        bool is_failed = copy == NULL || text.is_failed;
        if (!is_failed) {
            bytes_copy(copy, text.data, text.len);
            hit->texts[i] = slice_of(copy, text.len);
            x->bytes += text.len;
        }
        buf_fini(&text);
        if (is_failed) return error_set(&q->error, ERR_NOMEM, "out of memory for a text");
    }
    return OK;
}

/* The texts of wanted rows in [first, last], until there are enough bytes. */
static enum err texts_between(struct search *x, sqlite3_int64 first, sqlite3_int64 last)
{
    int rc = SQLITE_ROW;
    enum err r = OK;
    sqlite3_bind_int64(x->texts, 2, first);
    sqlite3_bind_int64(x->texts, 3, last);
    while (r == OK && x->bytes < x->q->bytes_max) {
        if (on_progress(x)) {
            r = search_error(x, SQLITE_INTERRUPT);
            break;
        }
        rc = sqlite3_step(x->texts);
        r = search_error(x, rc);
        if (rc != SQLITE_ROW) break;
        const struct wanted *w = find_wanted(x, sqlite3_column_int64(x->texts, 0));
        r = take_texts(x, &x->q->hits[w->at]);
    }
    sqlite3_reset(x->texts);
    return r;
}

/* FTS5 goes to a row of a word at once, but merges all words with a beginning before it knows their
 * first row: with a beginning in the expression one pass makes all texts. */
static bool has_beginning(struct slice expression)
{
    return memmem(expression.data, expression.len, "\" *", 3) != NULL;
}

static enum err make_texts(struct search *x)
{
    struct text_request *q = x->q;
    size_t each = has_beginning(q->expression) ? 1 : q->count;
    enum err r = prepare_texts(x);
    for (size_t i = 0; i < each && r == OK; i++) r = texts_between(x, x->rows[i], x->rows[i]);
    if (r == OK && each < q->count) {
        r = texts_between(x, x->wanted[0].row, x->wanted[q->count - 1].row);
    }
    /* The answer ends where the bytes did. */
    for (size_t i = 0; i < q->count && r == OK; i++) {
        if (q->hits[i].texts == NULL) q->count = i;
    }
    return r;
}

void sqlite_search(struct store_reader *reader, struct text_request *q, int64_t deadline_us)
{
    struct sqlite_reader *r = sqlite_reader_of(reader);
    struct search x = {.reader = r, .q = q, .deadline_us = deadline_us, .db = r->db};
    q->count = 0;
    arena_init(&x.looking, 4096);
    sqlite3_progress_handler(x.db, PROGRESS_STEPS, on_progress, &x);
    q->result = check_state(&x);
    if (q->result == OK && q->expression.len > 0) q->result = find_hits(&x);
    if (q->result == OK && q->with_texts && q->count > 0) q->result = make_texts(&x);
    sqlite3_finalize(x.hits);
    ranking_fini(&x.ranking);
    sqlite3_finalize(x.doc);
    sqlite3_finalize(x.texts);
    sqlite3_create_function_v2(x.db, "wanted", 1, SQLITE_UTF8, NULL, NULL, NULL, NULL, NULL);
    sqlite3_progress_handler(x.db, 0, NULL, NULL);
    arena_fini(&x.looking);
}
