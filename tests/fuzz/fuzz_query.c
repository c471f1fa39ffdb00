/* Whatever is typed as a query: FTS5 accepts what query_to_fts5 makes of it, with every tokenizer;
 * what is refused leaves the output as it was and says why. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/local/fts5_extend.h"
#include "search/query.h"
#include "search/text.h"

#define TOKENIZER_COUNT 4
#define PATH_COUNT 5

static const char *const names[PATH_COUNT] = {"name", "a.b", "$", "\"x :\".y", "a"};

static void check(bool holds)
{
    if (!holds) abort();
}

/* A table with a few rows that is asked by its expression; it stays open. */
static sqlite3_stmt *open_search(enum text_tokenizer tokenizer)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *search = NULL;
    char text[200];
    check(sqlite3_open(":memory:", &db) == SQLITE_OK);
    check(fts5_extend(db) == SQLITE_OK);
    snprintf(text, sizeof text, "CREATE VIRTUAL TABLE t USING fts5(c0,c1,c2,c3,c4,tokenize='%s')",
             text_tokenizer_option(tokenizer));
    check(sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK);
    check(sqlite3_exec(db, "INSERT INTO t VALUES('a b c', 'foo bar', 'NEAR AND', 'x', 'one two')",
                       NULL, NULL, NULL) == SQLITE_OK);
    check(sqlite3_exec(db, "INSERT INTO t VALUES('b a', 'foo-bar', '1.5 a', NULL, 'two a b one')",
                       NULL, NULL, NULL) == SQLITE_OK);
    check(sqlite3_prepare_v2(db, "SELECT rowid FROM t WHERE t MATCH ?", -1, &search, NULL) ==
          SQLITE_OK);
    return search;
}

static void run(sqlite3_stmt *search, struct slice expression)
{
    int code = SQLITE_ROW;
    sqlite3_bind_text(search, 1, (const char *)expression.data, (int)expression.len, SQLITE_STATIC);
    while (code == SQLITE_ROW) code = sqlite3_step(search);
    if (code != SQLITE_DONE) {
        fprintf(stderr, "%s: %.*s\n", sqlite3_errmsg(sqlite3_db_handle(search)),
                (int)expression.len, (const char *)expression.data);
    }
    check(code == SQLITE_DONE);
    sqlite3_reset(search);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static sqlite3_stmt *searches[TOKENIZER_COUNT];
    struct slice paths[PATH_COUNT];
    struct error e = {0};
    struct buf out;
    for (unsigned i = 0; i < TOKENIZER_COUNT && searches[i] == NULL; i++) {
        searches[i] = open_search((enum text_tokenizer)i);
    }
    for (size_t i = 0; i < PATH_COUNT; i++) paths[i] = slice_str(names[i]);
    buf_init(&out);
    buf_append_byte(&out, '!'); /* what was there before must stay */
    enum err err = query_to_fts5(slice_of(data, size), paths, PATH_COUNT, &out, &e);
    check(out.len >= 1 && out.data[0] == '!');
    if (err == OK) {
        struct slice expression = slice_of(out.data + 1, out.len - 1);
        check(expression.len > 0 && memchr(expression.data, 0, expression.len) == NULL);
        for (unsigned i = 0; i < TOKENIZER_COUNT; i++) run(searches[i], expression);
    } else {
        check(out.len == 1 && e.code == err && strncmp(e.text, "query: ", 7) == 0);
    }
    buf_fini(&out);
    return 0;
}
