/* The best of the rows that match: which they are and their scores, beside all rows in the order of
 * FTS5's own bm25(); and that few of them are measured for that. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "backend/local/fts5_extend.h"
#include "backend/local/ranking.h"
#include "base/fault.h"
#include "base/random.h"

#define ROWS 3000
#define SEEDS 4
#define QUERIES 120

static void run(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql, const char *expression)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    sqlite3_bind_text(stmt, 1, expression, -1, SQLITE_TRANSIENT);
    return stmt;
}

/* Words w0, w1 ...: w0 is in most texts, the next ones in fewer. */
static unsigned random_word(struct rng *r)
{
    unsigned k = 0;
    while (k < 40 && rng_below(r, 5) != 0) k++;
    return k;
}

static void random_text(struct rng *r, char *out, size_t cap)
{
    size_t len = 0;
    size_t words = rng_below(r, 8) == 0 ? rng_below(r, 120) : rng_below(r, 20);
    out[0] = '\0';
    for (size_t i = 0; i < words && len + 8 < cap; i++) {
        len += (size_t)snprintf(out + len, cap - len, "w%u ", random_word(r));
    }
}

static sqlite3 *open_rows(uint64_t seed, size_t rows)
{
    struct rng r;
    sqlite3 *db = NULL;
    rng_init(&r, seed);
    assert_int_equal(SQLITE_OK, sqlite3_open(":memory:", &db));
    assert_int_equal(SQLITE_OK, fts5_extend(db));
    run(db, "CREATE VIRTUAL TABLE t USING fts5(c0, c1, tokenize='folded unicode61')");
    run(db, "BEGIN");
    sqlite3_stmt *add = prepare(db, "INSERT INTO t(c0, c1) VALUES(?1, ?2)", "");
    for (size_t i = 0; i < rows; i++) {
        char texts[2][1024];
        for (int c = 0; c < 2; c++) {
            random_text(&r, texts[c], sizeof texts[c]);
            sqlite3_bind_text(add, c + 1, texts[c], -1, SQLITE_STATIC);
        }
        assert_int_equal(SQLITE_DONE, sqlite3_step(add));
        sqlite3_reset(add);
    }
    sqlite3_finalize(add);
    run(db, "COMMIT");
    return db;
}

static const char *random_expression(struct rng *r)
{
    static char text[160];
    unsigned a = random_word(r);
    unsigned b = random_word(r);
    unsigned c = random_word(r);
    switch (rng_below(r, 8)) {
    case 0: snprintf(text, sizeof text, "w%u", a); break;
    case 1: snprintf(text, sizeof text, "w%u w%u", a, b); break;
    case 2: snprintf(text, sizeof text, "w%u OR w%u OR w%u", a, b, c); break;
    case 3: snprintf(text, sizeof text, "w%u NOT w%u", a, b); break;
    case 4: snprintf(text, sizeof text, "\"w%u w%u\" OR w%u", a, b, c); break;
    case 5: snprintf(text, sizeof text, "c1:w%u OR w%u*", a, b % 4); break;
    case 6: snprintf(text, sizeof text, "NEAR(w%u w%u, 3) OR c0:w%u", a, b, c); break;
    default: snprintf(text, sizeof text, "w%u OR w%u", a, a); break;
    }
    return text;
}

static int compare_all(const void *pa, const void *pb)
{
    const struct ranked *a = pa;
    const struct ranked *b = pb;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* All of them, as FTS5 has them; the best first. */
static size_t all_of(sqlite3 *db, const char *expression, struct ranked *out)
{
    size_t count = 0;
    sqlite3_stmt *stmt = prepare(db, "SELECT rowid, -bm25(t) FROM t WHERE t MATCH ?1", expression);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        assert_true(count < ROWS);
        out[count++] = (struct ranked){.row = sqlite3_column_int64(stmt, 0),
                                       .score = sqlite3_column_double(stmt, 1)};
    }
    sqlite3_finalize(stmt);
    qsort(out, count, sizeof *out, compare_all);
    return count;
}

static int rank(sqlite3 *db, const char *expression, struct ranking *x)
{
    int rc = SQLITE_ROW;
    sqlite3_stmt *stmt = prepare(db, "SELECT ranking_row(t, ?2) FROM t WHERE t MATCH ?1",
                                 expression);
    assert_int_equal(SQLITE_OK, ranking_bind(stmt, 2, x));
    while (rc == SQLITE_ROW) rc = sqlite3_step(stmt);
    sqlite3_finalize(stmt);
    ranking_sort(x);
    return rc;
}

static void expect_best(sqlite3 *db, const char *expression, uint64_t keep)
{
    static struct ranked all[ROWS];
    struct ranking x;
    size_t count = all_of(db, expression, all);
    size_t wanted = count < keep ? count : keep;
    ranking_init(&x, keep);
    assert_int_equal(SQLITE_DONE, rank(db, expression, &x));
    assert_int_equal(count, x.matches);
    assert_int_equal(wanted, x.count);
    for (size_t i = 0; i < wanted; i++) {
        if (x.best[i].row != all[i].row || x.best[i].score != all[i].score) {
            fail_msg("%s, the best %zu, at %zu: row %lld with %.17g, not %lld with %.17g",
                     expression, (size_t)keep, i, (long long)x.best[i].row, x.best[i].score,
                     (long long)all[i].row, all[i].score);
        }
    }
    ranking_fini(&x);
}

static void the_best_are_those_of_bm25(void **state)
{
    static const uint64_t keeps[] = {1, 2, 10, 100, ROWS - 1, UINT64_MAX};
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        sqlite3 *db = open_rows(seed, ROWS);
        struct rng r;
        rng_init(&r, seed + 100);
        for (size_t i = 0; i < QUERIES; i++) {
            expect_best(db, random_expression(&r), keeps[rng_below(&r, 6)]);
        }
        sqlite3_close(db);
    }
}

/* Texts of the same words have the same score. */
static void of_equal_scores_the_first_row_is_better(void **state)
{
    (void)state;
    sqlite3 *db = open_rows(1, 0);
    run(db,
        "INSERT INTO t(rowid, c0) VALUES(9,'a b'),(3,'a c'),(5,'b a'),(7,'a d'),(1,'a'),(8,'e')");
    for (uint64_t keep = 1; keep <= 6; keep++) {
        struct ranking x;
        static const sqlite3_int64 rows[] = {1, 3, 5, 7, 9};
        ranking_init(&x, keep);
        assert_int_equal(SQLITE_DONE, rank(db, "a", &x));
        for (size_t i = 0; i < x.count; i++) assert_int_equal(rows[i], x.best[i].row);
        assert_int_equal(keep < 5 ? keep : 5, x.count);
        ranking_fini(&x);
    }
    sqlite3_close(db);
}

/* Its weight would be 0, and less in more rows. */
static void a_word_in_half_of_the_rows_counts_a_little(void **state)
{
    (void)state;
    sqlite3 *db = open_rows(1, 0);
    run(db, "INSERT INTO t(c0) VALUES('a b c'),('a'),('c c c'),('c d e f')");
    expect_best(db, "a", 10); /* in 2 of 4 */
    expect_best(db, "c", 10); /* in 3 */
    expect_best(db, "a OR c OR d", 10);
    sqlite3_close(db);
}

/* 500 texts of 60 words: in the first 50, or the last, the word is twelve times. */
static sqlite3 *open_blocks(bool is_best_first)
{
    sqlite3 *db = open_rows(1, 0);
    sqlite3_stmt *add = prepare(db, "INSERT INTO t(c0, c1) VALUES('', ?1)", "");
    for (int i = 0; i < 500; i++) {
        char text[400];
        size_t len = 0;
        int times = (is_best_first ? i < 50 : i >= 450) ? 12 : 1;
        for (int k = 0; k < 60; k++) {
            len += (size_t)snprintf(text + len, sizeof text - len, k < times ? "x " : "y%d ", k);
        }
        sqlite3_bind_text(add, 1, text, -1, SQLITE_STATIC);
        assert_int_equal(SQLITE_DONE, sqlite3_step(add));
        sqlite3_reset(add);
    }
    sqlite3_finalize(add);
    return db;
}

static void rows_that_cannot_be_among_the_best_are_not_measured(void **state)
{
    (void)state;
    for (int is_best_first = 0; is_best_first < 2; is_best_first++) {
        struct ranking x;
        sqlite3 *db = open_blocks(is_best_first);
        ranking_init(&x, 10);
        assert_int_equal(SQLITE_DONE, rank(db, "x", &x));
        assert_int_equal(500, x.matches);
        assert_int_equal(is_best_first ? 50 : 500, x.measured);
        ranking_fini(&x);
        sqlite3_close(db);
    }
}

static void what_goes_wrong_is_an_error(void **state)
{
    struct ranking x;
    (void)state;
    sqlite3 *db = open_rows(7, 300);
    assert_int_equal(
        SQLITE_MISUSE,
        sqlite3_exec(db, "SELECT ranking_row(t, 1) FROM t WHERE t MATCH 'w0'", NULL, NULL, NULL));
    assert_int_equal(
        SQLITE_MISUSE,
        sqlite3_exec(db, "SELECT ranking_row(t) FROM t WHERE t MATCH 'w0'", NULL, NULL, NULL));
    for (unsigned at = 1; at <= 2; at++) {
        ranking_init(&x, UINT64_MAX);
        fault_arm("mem.try", at, false);
        assert_int_equal(SQLITE_NOMEM, rank(db, "w0", &x));
        fault_arm("mem.try", 0, false);
        ranking_fini(&x);
    }
    expect_best(db, "w0", 10);
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_are_those_of_bm25),
        cmocka_unit_test(of_equal_scores_the_first_row_is_better),
        cmocka_unit_test(a_word_in_half_of_the_rows_counts_a_little),
        cmocka_unit_test(rows_that_cannot_be_among_the_best_are_not_measured),
        cmocka_unit_test(what_goes_wrong_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
