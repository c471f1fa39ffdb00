/* mem: what is handed out is counted, of all threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/fault.h"
#include "base/mem.h"

#define MB (1 << 20)

static uint64_t before;

static int begin(void **state)
{
    (void)state;
    before = mem_used();
    return 0;
}

/* More than that, and what the allocator rounds up. */
static void expect_used(uint64_t bytes)
{
    assert_in_range(mem_used() - before, bytes, bytes + bytes / 8);
}

static void blocks_are_counted_until_they_are_freed(void **state)
{
    (void)state;
    void *a = mem_new(MB);
    void *b = mem_alloc(MB);
    void *c = mem_new_try(MB);
    void *d = mem_alloc_try(MB);
    void *e = mem_library_alloc(MB);
    void *f = mem_library_new(1024, 1024);
    expect_used(6 * MB);
    assert_in_range(mem_library_size(e), MB, MB + MB / 8);
    a = mem_resize(a, 3 * MB);
    b = mem_resize_try(b, MB / 2);
    e = mem_library_resize(e, 2 * MB);
    expect_used(8 * MB + MB / 2);
    mem_free(a);
    mem_free(b);
    mem_free(c);
    expect_used(4 * MB);
    mem_free(d);
    mem_free(e);
    mem_free(f);
    mem_free(NULL);
    expect_used(0);
}

static void a_resize_that_fails_counts_nothing(void **state)
{
    (void)state;
    void *p = mem_alloc(MB);
    fault_arm("mem.try", 1, true);
    assert_null(mem_resize_try(p, 2 * MB));
    assert_null(mem_alloc_try(MB));
    assert_null(mem_new_try(MB));
    fault_arm("", 0, false);
    expect_used(MB);
    mem_free(p);
    expect_used(0);
}

static void small_blocks_count_too(void **state)
{
    enum { COUNT = 100000, BYTES = 48 };
    static void *blocks[COUNT];
    (void)state;
    for (int i = 0; i < COUNT; i++) blocks[i] = mem_alloc(BYTES);
    assert_in_range(mem_used() - before, COUNT * BYTES, COUNT * BYTES * 2);
    for (int i = 0; i < COUNT; i++) mem_free(blocks[i]); /* thousands at once: they are sorted */
    expect_used(0);
}

#define BLOCKS 10

static void *allocate(void *arg)
{
    void **blocks = arg;
    for (int i = 0; i < BLOCKS; i++) blocks[i] = mem_new(MB);
    mem_free(mem_new(64)); /* less than is told at once */
    return NULL;
}

static void what_a_thread_allocates_another_may_free(void **state)
{
    void *blocks[BLOCKS];
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, allocate, blocks), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_in_range(mem_used() - before, BLOCKS * MB - MEM_UNCOUNTED_BYTES, BLOCKS * MB * 9 / 8);
    for (int i = 0; i < BLOCKS; i++) mem_free(blocks[i]);
    assert_in_range(mem_used() - before + MEM_UNCOUNTED_BYTES, 0, 2 * MEM_UNCOUNTED_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(blocks_are_counted_until_they_are_freed, begin),
        cmocka_unit_test_setup(a_resize_that_fails_counts_nothing, begin),
        cmocka_unit_test_setup(small_blocks_count_too, begin),
        cmocka_unit_test_setup(what_a_thread_allocates_another_may_free, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
