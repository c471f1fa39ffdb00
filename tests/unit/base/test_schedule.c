/* schedule: what can be written, and when it is next. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/schedule.h"

#define DAY INT64_C(86400000)
#define HOUR INT64_C(3600000)
#define MINUTE INT64_C(60000)

static struct schedule read(const char *text)
{
    struct schedule s;
    struct error e;
    if (schedule_parse(slice_str(text), &s, &e) != OK) fail_msg("%s: %s", text, e.text);
    return s;
}

static void refuse(const char *text)
{
    struct schedule s;
    struct error e;
    if (schedule_parse(slice_str(text), &s, &e) != ERR_SYNTAX) fail_msg("%s is taken", text);
}

static void times_of_the_day(void **state)
{
    struct schedule s = read("03:30 18:00");
    assert_int_equal(schedule_next(&s, 20000 * DAY), 20000 * DAY + 3 * HOUR + 30 * MINUTE);
    assert_int_equal(schedule_next(&s, 20000 * DAY + 3 * HOUR + 30 * MINUTE),
                     20000 * DAY + 18 * HOUR);
    assert_int_equal(schedule_next(&s, 20000 * DAY + 18 * HOUR - 1), 20000 * DAY + 18 * HOUR);
    assert_int_equal(schedule_next(&s, 20000 * DAY + 20 * HOUR),
                     20001 * DAY + 3 * HOUR + 30 * MINUTE);
    s = read("00:00");
    assert_int_equal(schedule_next(&s, 5 * DAY), 6 * DAY);
    s = read(" 23:59  ");
    assert_int_equal(schedule_next(&s, 5 * DAY), 5 * DAY + 23 * HOUR + 59 * MINUTE);
}

static void every_so_often(void **state)
{
    struct schedule s = read("every 6h");
    assert_int_equal(schedule_next(&s, 100 * DAY), 100 * DAY + 6 * HOUR);
    assert_int_equal(schedule_next(&s, 100 * DAY + 6 * HOUR - 1), 100 * DAY + 6 * HOUR);
    s = read("every 15m");
    assert_int_equal(schedule_next(&s, 100 * DAY + 1), 100 * DAY + 15 * MINUTE);
    s = read("every 2d");
    assert_int_equal(schedule_next(&s, 100 * DAY), 102 * DAY);
}

static void never(void **state)
{
    struct schedule s = read("");
    assert_int_equal(schedule_next(&s, 100 * DAY), 0);
}

static void what_it_is_not(void **state)
{
    static const char *const bad[] = {
        "24:00",     "3:30",         "03:60",          "03:30,",  "03.30",    "every",
        "every ",    "every 6",      "every 0h",       "every h", "every 5s", "every 6h ",
        "every -1h", "every 99999d", "03:30 every 6h", "daily",   "03:3a"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) refuse(bad[i]);
    char many[6 * 26] = "";
    for (int i = 0; i < 24; i++) strcat(many, "01:00 ");
    (void)read(many);
    strcat(many, "01:00");
    refuse(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_of_the_day),
        cmocka_unit_test(every_so_often),
        cmocka_unit_test(never),
        cmocka_unit_test(what_it_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
