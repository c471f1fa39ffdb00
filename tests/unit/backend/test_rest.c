/* rest: a store that has had nothing to do for a while holds no pages in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "backend/local/store_int.h"
#include "base/clock.h"
#include "unit/backend/local_help.h"

#define START_MS 1700000000000
#define KEEP_MS 5000
#define ROWS 2000

static void advance(int64_t by_ms)
{
    clock_set_fake_ms(clock_wall_ms() + by_ms);
}

static int store_pages(const struct rig *r)
{
    int bytes = 0;
    int ignored = 0;
    sqlite3 *db = ((struct sqlite_store *)pipeline_of(r->b)->stored.store)->db;
    sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_USED, &bytes, &ignored, 0);
    return bytes;
}

static long log_bytes(const struct rig *r)
{
    char path[100];
    struct stat s;
    snprintf(path, sizeof path, "%s/tupled.db-wal", r->dir);
    assert_int_equal(stat(path, &s), 0);
    return (long)s.st_size;
}

static void write_rows(struct rig *r, const char *value)
{
    for (unsigned i = 0; i < ROWS; i++) rig_set(r, key_of(0, "k%u", i), slice_str(value));
    rig_apply(r);
}

static void open_rig(struct rig *r, int64_t keep_ms)
{
    rig_init(r);
    clock_set_fake_ms(START_MS);
    r->options.store_keep_ms = keep_ms;
    rig_open(r);
}

static void close_rig(struct rig *r)
{
    rig_close(r);
    rig_fini(r);
    clock_set_fake_ms(0);
}

static void pages_are_given_back_after_a_while(void **state)
{
    struct rig r;
    open_rig(&r, KEEP_MS);
    write_rows(&r, "a value of some bytes");
    for (int i = 0; i < 100; i++) rig_step(&r);
    int full = store_pages(&r);
    assert_true(full > ROWS * 20);
    advance(KEEP_MS - 100);
    for (int i = 0; i < 100; i++) rig_step(&r);
    assert_int_equal(store_pages(&r), full);
    assert_true(log_bytes(&r) > 0);
    advance(200);
    for (int i = 0; i < 100; i++) rig_step(&r);
    assert_true(store_pages(&r) < full / 10);
    assert_int_equal(log_bytes(&r), 0);
    /* What comes then is written and read as before, and given back as before. */
    write_rows(&r, "another value");
    assert_true(store_pages(&r) > full / 10);
    advance(KEEP_MS + 100);
    for (int i = 0; i < 100; i++) rig_step(&r);
    assert_true(store_pages(&r) < full / 10);
    close_rig(&r);
}

/* A reader has the log's rows: its file stays, and nothing waits for it. */
static void a_reader_keeps_the_log(void **state)
{
    struct rig r;
    struct error e;
    struct store_reader *reader = NULL;
    open_rig(&r, KEEP_MS);
    write_rows(&r, "a value of some bytes");
    assert_int_equal(store_reader_open(pipeline_of(r.b)->stored.store, &reader, &e), OK);
    assert_int_equal(store_pin(reader, &e), OK);
    write_rows(&r, "another value");
    int full = store_pages(&r);
    advance(KEEP_MS + 100);
    for (int i = 0; i < 100; i++) rig_step(&r);
    assert_true(log_bytes(&r) > 0);
    assert_true(store_pages(&r) < full / 10);
    store_unpin(reader);
    store_reader_close(reader);
    close_rig(&r);
}

static void a_store_that_is_used_keeps_them(void **state)
{
    struct rig r;
    open_rig(&r, KEEP_MS);
    write_rows(&r, "a value of some bytes");
    for (int i = 0; i < 10; i++) {
        advance(KEEP_MS * 3 / 5);
        rig_set(&r, key_of(0, "k1"), slice_str("again"));
        rig_apply(&r);
        assert_true(store_pages(&r) > ROWS * 20);
    }
    close_rig(&r);
}

static void it_keeps_them_where_memory_is_not_all_its_own(void **state)
{
    struct rig r;
    open_rig(&r, 0);
    write_rows(&r, "a value of some bytes");
    advance(1000 * KEEP_MS);
    for (int i = 0; i < 100; i++) rig_step(&r);
    assert_true(store_pages(&r) > ROWS * 20);
    close_rig(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_given_back_after_a_while),
        cmocka_unit_test(a_reader_keeps_the_log),
        cmocka_unit_test(a_store_that_is_used_keeps_them),
        cmocka_unit_test(it_keeps_them_where_memory_is_not_all_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
