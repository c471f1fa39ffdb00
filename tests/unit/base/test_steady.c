/* steady: time that neither goes back nor stands still. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/steady.h"

#define NOW_MS 1700000000000LL
#define YEAR_MS (366LL * 86400 * 1000)

static int leave(void **state)
{
    clock_set_fake_ms(0);
    return 0;
}

/* Both clocks of the machine pass this much. */
static void pass_ms(int64_t *now_ms, int64_t ms)
{
    *now_ms += ms;
    clock_set_fake_ms(*now_ms);
}

static void it_follows_the_clock_that_is_right(void **state)
{
    struct steady s = {0};
    int64_t now_ms = NOW_MS;
    for (int i = 0; i < 100; i++) {
        pass_ms(&now_ms, i * 7);
        assert_int_equal(steady_now_ms(&s), now_ms);
        assert_int_equal(steady_ahead_ms(&s), 0);
    }
}

static void after_a_clock_is_set_back_time_goes_on_and_never_back(void **state)
{
    struct steady s = {0};
    int64_t now_ms = NOW_MS;
    pass_ms(&now_ms, 0);
    assert_int_equal(steady_now_ms(&s), NOW_MS);
    clock_step_wall_ms(-YEAR_MS);
    int64_t last_ms = steady_now_ms(&s);
    assert_int_equal(last_ms, NOW_MS);
    for (int i = 0; i < 1000; i++) {
        pass_ms(&now_ms, 100);
        int64_t ms = steady_now_ms(&s);
        assert_true(ms > last_ms);
        last_ms = ms;
    }
    /* 100 s passed, less one in a hundred. */
    assert_int_equal(last_ms, NOW_MS + 99000);
    assert_int_equal(steady_ahead_ms(&s), YEAR_MS - 1000);
    clock_step_wall_ms(YEAR_MS);
    assert_int_equal(steady_now_ms(&s), now_ms);
    assert_int_equal(steady_ahead_ms(&s), 0);
}

static void time_from_a_journal_goes_on_too(void **state)
{
    struct steady s = {0};
    int64_t now_ms = NOW_MS;
    pass_ms(&now_ms, 0);
    steady_at_least(&s, NOW_MS + YEAR_MS);
    assert_int_equal(steady_now_ms(&s), NOW_MS + YEAR_MS);
    pass_ms(&now_ms, 10000);
    assert_int_equal(steady_now_ms(&s), NOW_MS + YEAR_MS + 9900);
    /* A commit at a time that was told changes nothing about it. */
    steady_at_least(&s, NOW_MS + YEAR_MS + 9900);
    pass_ms(&now_ms, 10000);
    assert_int_equal(steady_now_ms(&s), NOW_MS + YEAR_MS + 19800);
}

static void what_is_told_while_it_is_ahead_is_where_it_goes_on(void **state)
{
    struct steady s = {0};
    int64_t now_ms = NOW_MS;
    pass_ms(&now_ms, 0);
    steady_at_least(&s, NOW_MS + YEAR_MS);
    assert_int_equal(steady_now_ms(&s), NOW_MS + YEAR_MS);
    pass_ms(&now_ms, 10000);
    assert_int_equal(steady_now_ms(&s), NOW_MS + YEAR_MS + 9900);
    steady_at_least(&s, NOW_MS + 2 * YEAR_MS);
    assert_int_equal(steady_now_ms(&s), NOW_MS + 2 * YEAR_MS);
    pass_ms(&now_ms, 10000);
    assert_int_equal(steady_now_ms(&s), NOW_MS + 2 * YEAR_MS + 9900);
}

static void a_small_step_back_is_made_up_for(void **state)
{
    struct steady s = {0};
    int64_t now_ms = NOW_MS;
    pass_ms(&now_ms, 0);
    (void)steady_now_ms(&s);
    clock_step_wall_ms(-100);
    assert_int_equal(steady_now_ms(&s), NOW_MS);
    for (int i = 0; i < 99; i++) {
        pass_ms(&now_ms, 100);
        assert_true(steady_now_ms(&s) > now_ms - 100);
    }
    pass_ms(&now_ms, 200);
    assert_int_equal(steady_now_ms(&s), now_ms - 100);
    assert_int_equal(steady_ahead_ms(&s), 0);
    clock_step_wall_ms(100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(it_follows_the_clock_that_is_right, leave),
        cmocka_unit_test_teardown(after_a_clock_is_set_back_time_goes_on_and_never_back, leave),
        cmocka_unit_test_teardown(time_from_a_journal_goes_on_too, leave),
        cmocka_unit_test_teardown(what_is_told_while_it_is_ahead_is_where_it_goes_on, leave),
        cmocka_unit_test_teardown(a_small_step_back_is_made_up_for, leave),
    };
    return cmocka_run_group_tests_name("steady", tests, NULL, NULL);
}
