/* direct: what is written past the page cache is what was added, whichever way what came before it
 * was written; a file system that takes none is asked once; faults are told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/local/direct.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/random.h"

#define FILE_BYTES ((size_t)4 << 20)
#define NUMBER 7

static char dir[64], path[96];
static struct file file;
static struct direct *d;
static uint8_t *model, *found;

static int begin(void **state)
{
    struct error e;
    (void)state;
    snprintf(dir, sizeof dir, "test_direct.XXXXXX"); /* not on a file system in memory */
    if (mkdtemp(dir) == NULL) return -1;
    snprintf(path, sizeof path, "%s/segment", dir);
    model = mem_new(FILE_BYTES);
    found = mem_new(FILE_BYTES);
    memset(model, 0xee, FILE_BYTES); /* a segment that is used again holds something old */
    d = direct_new();
    if (file_open(&file, path, FILE_WRITE_NEW, &e) != OK) return -1;
    if (file_write_at(&file, 0, slice_of(model, FILE_BYTES), &e) != OK) return -1;
    return file_sync(&file, &e) == OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    fault_arm("", 0, false);
    direct_free(d);
    file_close(&file);
    remove(path);
    remove(dir);
    mem_free(model);
    mem_free(found);
    return 0;
}

static bool is_direct_here(void)
{
    struct file again;
    bool is = file_open_direct(&again, path);
    file_close(&again);
    return is;
}

static void expect_file(uint64_t used)
{
    struct error e;
    assert_int_equal(file_read_at(&file, 0, found, FILE_BYTES, &e), OK);
    assert_memory_equal(found, model, used);
}

static enum err write_both(uint64_t offset, struct slice a, struct slice b, bool *is_done)
{
    struct error e;
    *is_done = false;
    if (!direct_begin(d, &file, NUMBER, offset, a.len + b.len, FILE_BYTES)) return OK;
    direct_add(d, a);
    direct_add(d, b);
    return direct_end(d, is_done, &e);
}

static void write_otherwise(uint64_t offset, struct slice bytes)
{
    struct error e;
    assert_int_equal(file_write_at(&file, offset, bytes, &e), OK);
    assert_int_equal(file_sync(&file, &e), OK);
}

/* Batches of all sizes, one or two at a time, some of them written as before. */
static void what_is_added_is_in_the_file(void **state)
{
    struct rng g;
    uint64_t used = 0;
    unsigned direct = 0;
    (void)state;
    rng_init(&g, 1);
    while (used < FILE_BYTES - 300000) {
        size_t scale = (size_t)1 << (6 + rng_below(&g, 12));
        size_t first = 1 + (size_t)rng_below(&g, scale);
        size_t second = (size_t)rng_below(&g, scale);
        bool is_done = false;
        for (size_t i = 0; i < first + second; i++) model[used + i] = (uint8_t)rng_next(&g);
        struct slice a = slice_of(model + used, first);
        struct slice b = slice_of(model + used + first, second);
        if (rng_below(&g, 4) > 0) assert_int_equal(write_both(used, a, b, &is_done), OK);
        if (!is_done) write_otherwise(used, slice_of(model + used, first + second));
        direct += is_done;
        used += first + second;
        expect_file(used);
    }
    assert_true(direct > 100 || !is_direct_here());
}

/* The rest of the block is not what an old segment had there. */
static void zeros_follow_the_last_batch(void **state)
{
    bool is_done = false;
    (void)state;
    if (!is_direct_here()) skip();
    assert_int_equal(write_both(0, slice_str("a batch"), slice_str(""), &is_done), OK);
    assert_true(is_done);
    memset(model, 0, FILE_BLOCK_BYTES);
    memcpy(model, "a batch", 7);
    expect_file(FILE_BYTES);
}

static void what_does_not_fit_is_written_otherwise(void **state)
{
    (void)state;
    if (!is_direct_here()) skip();
    assert_false(direct_begin(d, &file, NUMBER, 0, DIRECT_BYTES_MAX + 1, FILE_BYTES));
    assert_false(direct_begin(d, &file, NUMBER, FILE_BYTES - 100, 101, FILE_BYTES));
    assert_false(direct_begin(d, &file, NUMBER, 0, 10, FILE_BLOCK_BYTES - 1));
    assert_true(direct_begin(d, &file, NUMBER, FILE_BYTES - 100, 100, FILE_BYTES));
}

static void a_file_system_that_takes_none_is_asked_once(void **state)
{
    struct file gone = {.fd = -1, .path = (char[]){"test_direct.none"}};
    (void)state;
    assert_false(direct_begin(d, &gone, 1, 0, 10, FILE_BYTES));
    assert_false(direct_begin(d, &file, 2, 0, 10, FILE_BYTES));
}

static void another_segment_begins_anew(void **state)
{
    bool is_done = false;
    (void)state;
    if (!is_direct_here()) skip();
    assert_int_equal(write_both(0, slice_str("old"), slice_str(""), &is_done), OK);
    write_otherwise(0, slice_str("new"));
    memcpy(model, "newest", 6);
    assert_true(direct_begin(d, &file, NUMBER + 1, 3, 3, FILE_BYTES));
    direct_add(d, slice_str("est"));
    struct error e;
    assert_int_equal(direct_end(d, &is_done, &e), OK);
    assert_true(is_done);
    expect_file(6);
}

static void a_fault_is_an_error(void **state)
{
    static const char *const points[] = {"file.write", "file.sync"};
    bool is_done = true;
    (void)state;
    if (!is_direct_here()) skip();
    for (size_t i = 0; i < 2; i++) {
        fault_arm(points[i], 1, false);
        assert_int_equal(write_both(0, slice_str("x"), slice_str(""), &is_done), ERR_IO);
        assert_false(is_done);
        fault_arm("", 0, false);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(what_is_added_is_in_the_file),
        TEST(zeros_follow_the_last_batch),
        TEST(what_does_not_fit_is_written_otherwise),
        TEST(a_file_system_that_takes_none_is_asked_once),
        TEST(another_segment_begins_anew),
        TEST(a_fault_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
