/* store_dropped: the tables of text indexes that are gone are removed in the background: row by row
 * first, so that no transaction is long, and then they themselves, when little is left of them.
 */
#include <stdio.h>

#include "backend/local/store_int.h"

#define SLICE_PAGES 2000 /* that a slice gives free, about */
#define SLICE_STEPS 500
#define STEP_ROWS "50"
#define LAST_KEPT "10" /* the last id of FTS5's own rows of text_n_data: words have higher ones */

/* The tables that grow. FTS5 does not look at words any more when it drops its tables, but after a
 * start it reads the first rows of text_n_data, of which it makes the table's description. */
static const struct {
    const char *begin, *end;
} parts[] = {{"text", "_content"}, {"text", "_data"}, {"text", "_docsize"}, {"doc", ""}};
#define PARTS (sizeof parts / sizeof parts[0])

static enum err query(struct sqlite_store *s, const char *sql, sqlite3_int64 *out, bool *is_row,
                      struct error *e)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_step(stmt);
    *is_row = rc == SQLITE_ROW;
    if (*is_row) *out = sqlite3_column_int64(stmt, 0);
    enum err r = store_error(e, s->db, rc, "clean up");
    sqlite3_finalize(stmt);
    return r;
}

static enum err run(struct sqlite_store *s, const char *sql, struct error *e)
{
    if (store_is_given_up(s)) return store_given_up(e);
    return store_error(e, s->db, sqlite3_exec(s->db, sql, NULL, NULL, NULL), "clean up");
}

static enum err free_pages(struct sqlite_store *s, sqlite3_int64 *pages, struct error *e)
{
    bool is_row = false;
    *pages = 0;
    return query(s, "PRAGMA freelist_count", pages, &is_row, e);
}

/* Removes rows of a table; *is_empty: only a few are left. */
static enum err empty_part(struct sqlite_store *s, const char table[48], unsigned *steps,
                           sqlite3_int64 pages_max, bool *is_empty, struct error *e)
{
    char sql[200];
    enum err r = OK;
    snprintf(sql, sizeof sql,
             "DELETE FROM %s WHERE rowid IN (SELECT rowid FROM %s WHERE rowid>" LAST_KEPT
             " LIMIT " STEP_ROWS ")",
             table, table);
    *is_empty = false;
    while (r == OK && !*is_empty && *steps > 0) {
        sqlite3_int64 pages = 0;
        r = run(s, sql, e);
        *is_empty = sqlite3_changes(s->db) == 0;
        --*steps;
        if (r == OK) r = free_pages(s, &pages, e);
        if (pages >= pages_max) *steps = 0;
    }
    return r;
}

static enum err remove_some(struct sqlite_store *s, long long number, struct error *e)
{
    char table[48];
    char sql[160];
    unsigned steps = SLICE_STEPS;
    bool is_empty = true;
    sqlite3_int64 pages = 0;
    enum err r = free_pages(s, &pages, e);
    for (size_t i = 0; i < PARTS && r == OK && is_empty; i++) {
        snprintf(table, sizeof table, "%s_%lld%s", parts[i].begin, number, parts[i].end);
        r = empty_part(s, table, &steps, pages + SLICE_PAGES, &is_empty, e);
    }
    if (r != OK || !is_empty) return r;
    snprintf(sql, sizeof sql,
             "DROP TABLE text_%lld; DROP TABLE doc_%lld; DELETE FROM dropped WHERE n=%lld;", number,
             number, number);
    return run(s, sql, e);
}

enum err store_dropped_clean(struct sqlite_store *s, bool *has_more, struct error *e)
{
    char sql[100];
    sqlite3_int64 number = 0;
    struct error why;
    enum err r = query(s, "SELECT n FROM dropped WHERE NOT is_damaged LIMIT 1", &number, has_more,
                       e);
    if (r != OK || !*has_more) return r;
    r = store_run(s, s->savepoint, "set a savepoint", e);
    if (r != OK) return r;
    r = remove_some(s, number, &why);
    if (r == ERR_CORRUPT) {
        snprintf(sql, sizeof sql, "UPDATE dropped SET is_damaged=1 WHERE n=%lld", number);
        r = store_run(s, s->rollback_to, "roll back to a savepoint", &why);
        if (r == OK) r = run(s, sql, &why);
    }
    if (r == OK) r = store_run(s, s->release, "release a savepoint", &why);
    if (r != OK && e != NULL) *e = why;
    return r;
}
