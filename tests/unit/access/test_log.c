/* Tests of access/log: what was refused, newest first, the same as one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "access/access_log.h"
#include "base/clock.h"

static void refuse(struct access_log *log, enum access_log_reason reason, const char *object,
                   const char *user)
{
    const struct access_log_entry entry = {.reason = reason,
                                           .object = slice_str(object),
                                           .user = slice_str(user),
                                           .client = slice_str("id=1")};
    access_log_add(log, &entry);
}

static void expect_at(const struct access_log *log, size_t i, const char *object, uint64_t count)
{
    const struct access_log_entry *x = access_log_at(log, i);
    assert_non_null(x);
    assert_true(slice_eq(x->object, slice_str(object)));
    assert_int_equal(x->count, count);
}

static void the_newest_is_first(void **state)
{
    struct access_log *log = access_log_new();
    refuse(log, ACCESS_LOG_KEY, "a", "bob");
    refuse(log, ACCESS_LOG_KEY, "b", "bob");
    expect_at(log, 0, "b", 1);
    expect_at(log, 1, "a", 1);
    assert_null(access_log_at(log, 2));
    assert_int_equal(access_log_count(log), 2);
    access_log_free(log);
}

static void the_same_is_one_for_a_minute(void **state)
{
    clock_set_fake_ms(1000000);
    struct access_log *log = access_log_new();
    refuse(log, ACCESS_LOG_KEY, "a", "bob");
    refuse(log, ACCESS_LOG_KEY, "b", "bob");
    clock_set_fake_ms(1030000);
    refuse(log, ACCESS_LOG_KEY, "a", "bob");
    expect_at(log, 0, "a", 2); /* it is the newest now */
    assert_int_equal(access_log_at(log, 0)->created_ms, 1000000);
    assert_int_equal(access_log_at(log, 0)->updated_ms, 1030000);
    refuse(log, ACCESS_LOG_KEY, "a", "eve");
    refuse(log, ACCESS_LOG_COMMAND, "a", "bob");
    assert_int_equal(access_log_count(log), 4);
    clock_set_fake_ms(1060000);
    refuse(log, ACCESS_LOG_KEY, "a", "bob");
    expect_at(log, 0, "a", 1); /* another one */
    assert_int_equal(access_log_count(log), 5);
    assert_int_equal(access_log_total(log, ACCESS_LOG_KEY), 5);
    assert_int_equal(access_log_total(log, ACCESS_LOG_COMMAND), 1);
    access_log_free(log);
    clock_set_fake_ms(0);
}

static void it_holds_so_many(void **state)
{
    struct access_log *log = access_log_new();
    char name[16];
    access_log_set_max(log, 3);
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "k%d", i);
        refuse(log, ACCESS_LOG_KEY, name, "bob");
    }
    assert_int_equal(access_log_count(log), 3);
    expect_at(log, 2, "k2", 1);
    access_log_set_max(log, 1);
    expect_at(log, 0, "k4", 1);
    assert_int_equal(access_log_count(log), 1);
    access_log_set_max(log, 0);
    refuse(log, ACCESS_LOG_KEY, "a", "bob");
    assert_int_equal(access_log_count(log), 0);
    assert_int_equal(access_log_total(log, ACCESS_LOG_KEY), 6);
    access_log_set_max(log, 2);
    refuse(log, ACCESS_LOG_KEY, "a", "bob");
    access_log_reset(log);
    assert_int_equal(access_log_count(log), 0);
    access_log_free(log);
}

static void long_texts_are_cut(void **state)
{
    static char name[2001];
    struct access_log *log = access_log_new();
    memset(name, 'x', sizeof name - 1);
    refuse(log, ACCESS_LOG_KEY, name, "bob");
    name[1500] = 'y'; /* beyond what is kept */
    refuse(log, ACCESS_LOG_KEY, name, "bob");
    assert_int_equal(access_log_count(log), 1);
    assert_int_equal(access_log_at(log, 0)->object.len, 512);
    access_log_free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_is_first),
        cmocka_unit_test(the_same_is_one_for_a_minute),
        cmocka_unit_test(it_holds_so_many),
        cmocka_unit_test(long_texts_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
