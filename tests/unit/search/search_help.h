/* search_help: what the tests of search share: FTS5 tables in memory, one for each tokenizer, and
 * what a query finds in them. */
#ifndef SEARCH_HELP_H
#define SEARCH_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/local/fts5_extend.h"
#include "search/query.h"
#include "search/text.h"

#define TOKENIZER_COUNT 4

__attribute__((unused)) static void sql(sqlite3 *db, const char *text)
{
    char *message = NULL;
    if (sqlite3_exec(db, text, NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s: %s", text, message);
    }
}

/* An index in memory: table t, columns c0, c1, c2. */
__attribute__((unused)) static sqlite3 *table_open(enum text_tokenizer tokenizer)
{
    sqlite3 *db = NULL;
    char text[200];
    assert_int_equal(SQLITE_OK, sqlite3_open(":memory:", &db));
    assert_int_equal(SQLITE_OK, fts5_extend(db));
    snprintf(text, sizeof text, "CREATE VIRTUAL TABLE t USING fts5(c0, c1, c2, tokenize='%s')",
             text_tokenizer_option(tokenizer));
    sql(db, text);
    return db;
}

/* Adds a row; a column may be NULL. */
__attribute__((unused)) static void table_add(sqlite3 *db, int id, const char *c0, const char *c1,
                                              const char *c2)
{
    const char *columns[] = {c0, c1, c2};
    sqlite3_stmt *insert = NULL;
    assert_int_equal(SQLITE_OK,
                     sqlite3_prepare_v2(db, "INSERT INTO t(rowid, c0, c1, c2) VALUES(?,?,?,?)", -1,
                                        &insert, NULL));
    sqlite3_bind_int(insert, 1, id);
    for (int i = 0; i < 3; i++) sqlite3_bind_text(insert, i + 2, columns[i], -1, SQLITE_STATIC);
    assert_int_equal(SQLITE_DONE, sqlite3_step(insert));
    sqlite3_finalize(insert);
}

/* "1 4 7": the ids that match the FTS5 expression; SQLite's error if it has one. Good until the
 * next call. */
__attribute__((unused)) static const char *table_match(sqlite3 *db, struct slice expression)
{
    static char found[512];
    size_t len = 0;
    sqlite3_stmt *select = NULL;
    assert_int_equal(SQLITE_OK,
                     sqlite3_prepare_v2(db, "SELECT rowid FROM t WHERE t MATCH ? ORDER BY rowid",
                                        -1, &select, NULL));
    sqlite3_bind_text(select, 1, (const char *)expression.data, (int)expression.len, SQLITE_STATIC);
    found[0] = '\0';
    int code = 0;
    while ((code = sqlite3_step(select)) == SQLITE_ROW) {
        len += (size_t)snprintf(found + len, sizeof found - len, len > 0 ? " %d" : "%d",
                                sqlite3_column_int(select, 0));
    }
    if (code != SQLITE_DONE) {
        snprintf(found, sizeof found, "SQLite: %s", sqlite3_errmsg(db));
    }
    sqlite3_finalize(select);
    return found;
}

#endif
