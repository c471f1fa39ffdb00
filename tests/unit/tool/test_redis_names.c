/* redis_names: names of keys that changed, each once, by database, oldest first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tool/redis_names.h"

static struct redis_names names;

static int setup(void **state)
{
    (void)state;
    names = (struct redis_names){.all = NULL};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    redis_names_fini(&names);
    return 0;
}

static void add(uint32_t database, const char *name, int64_t at_us)
{
    redis_names_add(&names, database, slice_str(name), at_us);
}

static void is_first(uint32_t database, const char *wanted, uint32_t wanted_database)
{
    const struct redis_name *n = redis_names_first(&names, &database);
    assert_non_null(n);
    assert_true(slice_eq(n->key, slice_str(wanted)));
    assert_int_equal(database, wanted_database);
}

static void a_name_is_there_once_and_keeps_its_place(void **state)
{
    (void)state;
    add(0, "a", 1);
    add(0, "b", 2);
    add(0, "a", 3);
    assert_int_equal(names.count, 2);
    is_first(0, "a", 0);
    redis_names_forget(&names, 0, slice_str("a"));
    is_first(0, "b", 0);
    add(0, "a", 4);
    is_first(0, "b", 0);
    assert_int_equal(redis_names_since_us(&names), 2);
}

static void names_of_one_database_come_first_then_those_of_others(void **state)
{
    (void)state;
    add(3, "a", 1);
    add(7, "a", 2);
    is_first(7, "a", 7);
    redis_names_forget(&names, 7, slice_str("a"));
    assert_false(redis_names_has(&names, 7, slice_str("a")));
    assert_true(redis_names_has(&names, 3, slice_str("a")));
    is_first(7, "a", 3);
    redis_names_forget(&names, 3, slice_str("a"));
    uint32_t database = 3;
    assert_null(redis_names_first(&names, &database));
    assert_int_equal(redis_names_since_us(&names), 0);
}

static void what_is_not_there_is_forgotten_without_harm(void **state)
{
    (void)state;
    redis_names_forget(&names, 1, slice_str("a"));
    add(1, "", 1);
    redis_names_forget(&names, 1, slice_str("a"));
    assert_int_equal(names.count, 1);
    is_first(1, "", 1);
}

static void many_are_joined(void **state)
{
    struct redis_names more = {.all = NULL};
    char text[16];
    (void)state;
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "n%d", i % 500);
        redis_names_add(&more, (uint32_t)(i % 3), slice_str(text), i);
    }
    add(0, "n0", 5);
    redis_names_join(&names, &more, 9);
    assert_int_equal(names.count, more.count);
    is_first(0, "n0", 0);
    redis_names_fini(&more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_name_is_there_once_and_keeps_its_place, setup, teardown),
        cmocka_unit_test_setup_teardown(names_of_one_database_come_first_then_those_of_others,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_there_is_forgotten_without_harm, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(many_are_joined, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
