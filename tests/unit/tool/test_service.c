/* service: the times that services of KV Connect write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tool/kv_connect.h"

static void is_time(const char *text, int64_t wanted)
{
    int64_t ms = 0;
    assert_true(service_time(slice_str(text), &ms));
    assert_int_equal(ms, wanted);
}

static void is_none(const char *text)
{
    int64_t ms = 0;
    assert_false(service_time(slice_str(text), &ms));
}

static void a_time_has_fractions_or_none(void **state)
{
    is_time("1970-01-01T00:00:01Z", 1000);
    is_time("2026-11-21T08:23:32.849Z", 1795249412000);
    is_time("2026-11-21T08:23:32.849123456Z", 1795249412000);
    is_time("2026-11-21T08:23:32z", 1795249412000);
}

static void a_time_has_an_offset(void **state)
{
    is_time("2026-11-21T10:23:32.849123+02:00", 1795249412000);
    is_time("2026-11-21T02:53:32-05:30", 1795249412000);
    is_time("2026-11-21T08:23:32+00:00", 1795249412000);
}

static void what_is_no_time(void **state)
{
    is_none("");
    is_none("2026-11-21");
    is_none("2026-11-21T08:23:32");
    is_none("2026-11-21T08:23:32.");
    is_none("2026-11-21T08:23:32.1Z1");
    is_none("2026-11-21T08:23:32+0000");
    is_none("2026-11-21T08:23:32+0x:00");
    is_none("2026-11-21T08:23:32+02:0");
    is_none("2026-13-21T08:23:32Z");
    is_none("2026-11-21 08:23:32Zxxxxxxxxxxxxxxxxxxxxxxxxx");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_has_fractions_or_none),
        cmocka_unit_test(a_time_has_an_offset),
        cmocka_unit_test(what_is_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
