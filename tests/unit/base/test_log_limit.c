/* log_limit: so many lines a second, and a count of what was left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log_limit.h"

#define NOW_MS 1700000000000LL
#define PER_SECOND 100

static struct log_limit limit;

static int enter(void **state)
{
    clock_set_fake_ms(NOW_MS);
    log_limit_init(&limit, PER_SECOND);
    return 0;
}

static int leave(void **state)
{
    log_limit_fini(&limit);
    clock_set_fake_ms(0);
    return 0;
}

/* How many of so many lines are written; each must come without a count. */
static size_t written(size_t count)
{
    size_t written = 0;
    size_t left_out = 0;
    for (size_t i = 0; i < count; i++) {
        written += log_limit_take(&limit, &left_out);
        assert_int_equal(left_out, 0);
    }
    return written;
}

static void so_many_lines_are_written_in_a_second(void **state)
{
    size_t left_out = 0;
    assert_int_equal(written(PER_SECOND), PER_SECOND);
    assert_int_equal(written(50), 0);
    clock_set_fake_ms(NOW_MS + 999);
    assert_int_equal(written(50), 0);
    clock_set_fake_ms(NOW_MS + 1000);
    assert_true(log_limit_take(&limit, &left_out));
    assert_int_equal(left_out, 100);
    assert_int_equal(written(PER_SECOND), PER_SECOND - 1);
}

static void what_was_left_out_is_told_once_and_without_another_line(void **state)
{
    assert_int_equal(log_limit_tell(&limit), 0);
    assert_int_equal(written(PER_SECOND + 7), PER_SECOND);
    assert_int_equal(log_limit_tell(&limit), 0);
    clock_set_fake_ms(NOW_MS + 500);
    assert_int_equal(log_limit_tell(&limit), 0);
    clock_set_fake_ms(NOW_MS + 1000);
    assert_int_equal(log_limit_tell(&limit), 7);
    assert_int_equal(log_limit_tell(&limit), 0);
    assert_int_equal(written(1), 1);
}

static void lines_that_come_slowly_are_all_written(void **state)
{
    for (int i = 1; i <= 1000; i++) {
        clock_set_fake_ms(NOW_MS + i * 10);
        assert_int_equal(written(1), 1);
    }
    assert_int_equal(log_limit_tell(&limit), 0);
}

static void a_long_pause_saves_no_more_than_a_second(void **state)
{
    clock_set_fake_ms(NOW_MS + 3600000);
    assert_int_equal(written(3 * PER_SECOND), PER_SECOND);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(so_many_lines_are_written_in_a_second),
        TEST(what_was_left_out_is_told_once_and_without_another_line),
        TEST(lines_that_come_slowly_are_all_written),
        TEST(a_long_pause_saves_no_more_than_a_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
