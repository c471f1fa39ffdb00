/* Tests of base/give_way: what the kernel says of a thread is read as it is meant. tsan: yes */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/give_way.h"
#include "base/host.h"

#define CALLS 3000

/* "1234 (name) S 1 ...", with the processor in its place. */
static const char *stat_of(const char *name, char state, int processor)
{
    static char text[512];
    int len = snprintf(text, sizeof text, "1234 (%s) %c", name, state);
    for (int field = 4; field < 39; field++) {
        len += snprintf(text + len, sizeof text - (size_t)len, " %d", field);
    }
    snprintf(text + len, sizeof text - (size_t)len, " %d 0 0 17 18", processor);
    return text;
}

static void only_one_that_is_runnable_there_is_awaited(void **state)
{
    assert_true(give_way_is_runnable(stat_of("tupled", 'R', 1), 1));
    assert_false(give_way_is_runnable(stat_of("tupled", 'R', 1), 0));
    assert_false(give_way_is_runnable(stat_of("tupled", 'S', 1), 1));
    assert_false(give_way_is_runnable(stat_of("tupled", 'D', 0), 0));
}

static void a_name_may_be_anything(void **state)
{
    assert_true(give_way_is_runnable(stat_of("a) S 1 (b", 'R', 7), 7));
    assert_false(give_way_is_runnable(stat_of(") R 1", 'S', 7), 7));
    assert_false(give_way_is_runnable(") R ", 7));
    assert_false(give_way_is_runnable("", 0));
}

/* The form is the kernel's: the thread that asks runs, on some processor. */
static void the_kernel_speaks_so(void **state)
{
    char text[512] = "";
    FILE *f = fopen("/proc/thread-self/stat", "re");
    if (f == NULL) skip();
    assert_true(fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    int found = 0;
    for (int processor = 0; processor < 4096; processor++) {
        found += give_way_is_runnable(text, processor);
    }
    assert_int_equal(found, 1);
}

static void *work(void *arg)
{
    (void)host_use(arg);
    for (int i = 0; i < CALLS; i++) give_way();
    return NULL;
}

/* Threads look while another one becomes the loop. */
static void threads_may_ask_at_any_time(void **state)
{
    struct host h;
    pthread_t threads[4];
    host_init(&h);
    struct host *before = host_use(&h);
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, work, &h), 0);
    give_way_to_me();
    assert_true(h.loop_stat > 0);
    give_way();
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    (void)host_use(before);
    host_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_one_that_is_runnable_there_is_awaited),
        cmocka_unit_test(a_name_may_be_anything),
        cmocka_unit_test(the_kernel_speaks_so),
        cmocka_unit_test(threads_may_ask_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
