/* redis_options: what INFO says; and which letters notify-keyspace-events lacks (redis_follow). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tool/redis_source.h"

static void databases_with_keys_are_found(void **state)
{
    size_t count = 0;
    uint64_t keys = 0;
    (void)state;
    uint32_t *all = redis_databases(
        slice_str("# Keyspace\r\ndb0:keys=12,expires=0\r\ndb3:keys=0,expires=0\r\n"
                  "dbx:keys=1\r\ndb15:keys=30,expires=1"),
        &count, &keys);
    assert_int_equal(count, 2);
    assert_int_equal(keys, 42);
    assert_int_equal(all[0], 0);
    assert_int_equal(all[1], 15);
    mem_free(all);
    assert_null(redis_databases(slice_str("# Keyspace\r\n"), &count, &keys));
    assert_int_equal(count, 0);
}

static void a_member_of_info_is_found_by_its_whole_name(void **state)
{
    struct slice info = slice_str("a:1\r\nrun_id_x:2\r\nrun_id:abc\r\nend:");
    (void)state;
    assert_true(slice_eq(redis_info_get(info, "run_id"), slice_str("abc")));
    assert_true(slice_eq(redis_info_get(info, "a"), slice_str("1")));
    assert_int_equal(redis_info_get(info, "run").len, 0);
    assert_int_equal(redis_info_get(slice_of("", 0), "run").len, 0);
}

static void events_are_added_to_those_that_are_told(void **state)
{
    static const char *const table[][2] = {
        {"", "EA"},    {"KEA", ""},        {"AE", ""},
        {"K", "KEA"},  {"xK", "xKEA"},     {"Ex", "ExA"},
        {"KA", "KAE"}, {"Eg$lshzxet", ""}, {"Eg$lshzxe", "Eg$lshzxeA"},
    };
    char out[REDIS_EVENTS_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        redis_events_needed(table[i][0], out);
        assert_string_equal(out, table[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(databases_with_keys_are_found),
        cmocka_unit_test(a_member_of_info_is_found_by_its_whole_name),
        cmocka_unit_test(events_are_added_to_those_that_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
