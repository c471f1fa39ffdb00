/* io_threads: each item is run once, what was done can be seen, and no caller waits for helpers
 * that have nothing. tsan: yes */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "net/io_threads.h"

#define ITEMS 64

struct item {
    unsigned runs; /* not atomic: one thread at a time has it */
    pthread_t by;
    unsigned sleep_us;
};

static void run(void *arg)
{
    struct item *item = arg;
    item->runs++;
    item->by = pthread_self();
    if (item->sleep_us > 0) {
        nanosleep(&(struct timespec){.tv_nsec = (long)item->sleep_us * 1000}, NULL);
    }
}

static void each_item_is_run_once(void **state)
{
    static struct item items[ITEMS];
    void *list[ITEMS];
    (void)state;
    for (size_t i = 0; i < ITEMS; i++) list[i] = &items[i];
    for (unsigned threads = 1; threads <= 5; threads += 2) {
        struct io_threads *t = io_threads_new(threads);
        assert_non_null(t);
        memset(items, 0, sizeof items);
        for (unsigned round = 1; round <= 500; round++) {
            size_t count = (size_t)round % (ITEMS + 1);
            unsigned before[ITEMS];
            for (size_t i = 0; i < ITEMS; i++) before[i] = items[i].runs;
            io_threads_run(t, run, list, count, IO_ITEMS_EACH);
            for (size_t i = 0; i < ITEMS; i++)
                assert_int_equal(items[i].runs, before[i] + (i < count));
        }
        io_threads_free(t);
    }
}

/* As many as there are threads are run at once: each is waited for. */
static void helpers_take_their_share(void **state)
{
    static struct item items[ITEMS];
    void *list[ITEMS];
    uint64_t by_others = 0;
    (void)state;
    struct io_threads *t = io_threads_new(4);
    assert_non_null(t);
    for (size_t i = 0; i < ITEMS; i++) {
        items[i].sleep_us = 1000;
        list[i] = &items[i];
    }
    io_threads_run(t, run, list, ITEMS, IO_ITEMS_EACH);
    for (size_t i = 0; i < ITEMS; i++) by_others += !pthread_equal(items[i].by, pthread_self());
    assert_true(by_others > 0);
    assert_int_equal(io_threads_helped(t), by_others);
    io_threads_free(t);
}

static void few_items_are_the_callers(void **state)
{
    struct item items[IO_ITEMS_MIN - 1];
    void *list[IO_ITEMS_MIN - 1];
    (void)state;
    memset(items, 0, sizeof items);
    struct io_threads *t = io_threads_new(3);
    assert_non_null(t);
    for (size_t i = 0; i < IO_ITEMS_MIN - 1; i++) list[i] = &items[i];
    io_threads_run(t, run, list, IO_ITEMS_MIN - 1, IO_ITEMS_EACH);
    for (size_t i = 0; i < IO_ITEMS_MIN - 1; i++) {
        assert_int_equal(items[i].runs, 1);
        assert_true(pthread_equal(items[i].by, pthread_self()));
    }
    assert_int_equal(io_threads_helped(t), 0);
    io_threads_free(t);
}

static void of_long_items_few_are_shared_too(void **state)
{
    struct item items[2];
    void *list[2] = {&items[0], &items[1]};
    (void)state;
    memset(items, 0, sizeof items);
    items[0].sleep_us = items[1].sleep_us = 200000; /* longer than a helper needs to wake */
    struct io_threads *t = io_threads_new(3);
    assert_non_null(t);
    io_threads_run(t, run, list, 2, 1);
    assert_int_equal(items[0].runs, 1);
    assert_int_equal(items[1].runs, 1);
    uint64_t helped = io_threads_helped(t);
    assert_in_range(helped, 1, 2); /* two may be quicker than the caller */
    io_threads_run(t, run, list, 1, 1);
    assert_int_equal(io_threads_helped(t), helped);
    io_threads_free(t);
}

static void without_threads_the_caller_does_all(void **state)
{
    static struct item items[ITEMS];
    void *list[ITEMS];
    (void)state;
    for (size_t i = 0; i < ITEMS; i++) list[i] = &items[i];
    io_threads_run(NULL, run, list, ITEMS, IO_ITEMS_EACH);
    for (size_t i = 0; i < ITEMS; i++) assert_int_equal(items[i].runs, 1);
    assert_int_equal(io_threads_helped(NULL), 0);
    io_threads_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_item_is_run_once),
        cmocka_unit_test(of_long_items_few_are_shared_too),
        cmocka_unit_test(helpers_take_their_share),
        cmocka_unit_test(few_items_are_the_callers),
        cmocka_unit_test(without_threads_the_caller_does_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
