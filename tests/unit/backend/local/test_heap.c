/* store_heap: what SQLite allocates is counted, and by base/mem.h alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "backend/local/local.h"
#include "base/mem.h"

#define MB (1 << 20)

static void run(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
}

static void what_sqlite_holds_is_counted(void **state)
{
    sqlite3 *db = NULL;
    (void)state;
    local_count_heap(); /* before SQLite is used for the first time */
    assert_int_equal(sqlite3_initialize(), SQLITE_OK);
    uint64_t before = mem_used();
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    run(db, "CREATE TABLE t(v); INSERT INTO t VALUES(zeroblob(10000000))");
    assert_true(mem_used() - before > 9 * MB);
    assert_int_equal(sqlite3_memory_used(), 0);
    void *p = sqlite3_malloc64(1000);
    assert_true(sqlite3_msize(p) >= 1000);
    p = sqlite3_realloc64(p, 2 * MB);
    assert_true(sqlite3_msize(p) >= 2 * MB);
    sqlite3_free(p);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_true(mem_used() < before + MB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_sqlite_holds_is_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
