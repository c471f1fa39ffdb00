/* slice: order, equality, words, strict numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/slice.h"

static void order_is_memcmp_and_the_shorter_first(void **state)
{
    static const struct {
        struct slice a, b;
        int sign;
    } cases[] = {
        {{NULL, 0}, {NULL, 0}, 0},
        {{NULL, 0}, {(const uint8_t *)"", 1}, -1},
        {{(const uint8_t *)"a", 1}, {(const uint8_t *)"a", 1}, 0},
        {{(const uint8_t *)"a", 1}, {(const uint8_t *)"ab", 2}, -1},
        {{(const uint8_t *)"b", 1}, {(const uint8_t *)"ab", 2}, 1},
        {{(const uint8_t *)"a\0", 2}, {(const uint8_t *)"a", 1}, 1},
        {{(const uint8_t *)"\xff", 1}, {(const uint8_t *)"\x01\x01", 2}, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int c = slice_cmp(cases[i].a, cases[i].b);
        int back = slice_cmp(cases[i].b, cases[i].a);
        assert_int_equal((c > 0) - (c < 0), cases[i].sign);
        assert_int_equal((back > 0) - (back < 0), -cases[i].sign);
        assert_int_equal(slice_eq(cases[i].a, cases[i].b), cases[i].sign == 0);
    }
}

static void a_prefix_is_one_up_to_the_whole(void **state)
{
    struct slice s = slice_str("abc");
    assert_true(slice_has_prefix(s, slice_of(NULL, 0)));
    assert_true(slice_has_prefix(s, slice_str("ab")));
    assert_true(slice_has_prefix(s, slice_str("abc")));
    assert_false(slice_has_prefix(s, slice_str("abcd")));
    assert_false(slice_has_prefix(s, slice_str("b")));
    assert_false(slice_has_prefix(slice_of(NULL, 0), slice_str("a")));
}

static void words_match_in_any_case_and_whole(void **state)
{
    assert_true(slice_is_word(slice_str("GET"), "GET"));
    assert_true(slice_is_word(slice_str("gEt"), "GET"));
    assert_true(slice_is_word(slice_str("kv.set"), "KV.SET"));
    assert_true(slice_is_word(slice_of(NULL, 0), ""));
    assert_false(slice_is_word(slice_str("ge"), "GET"));
    assert_false(slice_is_word(slice_str("gets"), "GET"));
    assert_false(slice_is_word(slice_of("get\0", 4), "GET"));
    assert_false(slice_is_word(slice_str("{et"), "[ET"));
}

static void good_integers_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {{"0", 0},
                 {"1", 1},
                 {"-1", -1},
                 {"10", 10},
                 {"9223372036854775807", INT64_MAX},
                 {"-9223372036854775808", INT64_MIN}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t v = 99;
        assert_true(slice_to_i64(slice_str(cases[i].text), &v));
        assert_true(v == cases[i].value);
    }
    uint64_t u = 0;
    assert_true(slice_to_u64(slice_str("18446744073709551615"), &u));
    assert_true(u == UINT64_MAX);
}

static void all_else_is_no_integer(void **state)
{
    static const char *const cases[] = {"",
                                        "-",
                                        "+1",
                                        " 1",
                                        "1 ",
                                        "01",
                                        "-0",
                                        "-01",
                                        "00",
                                        "1.0",
                                        "1e3",
                                        "0x1",
                                        "--1",
                                        "a",
                                        "1a",
                                        "9223372036854775808",
                                        "-9223372036854775809",
                                        "99999999999999999999",
                                        "18446744073709551616",
                                        "111111111111111111111"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t v = 99;
        assert_false(slice_to_i64(slice_str(cases[i]), &v));
        assert_true(v == 99);
    }
    uint64_t u = 99;
    assert_false(slice_to_u64(slice_str("18446744073709551616"), &u));
    assert_false(slice_to_u64(slice_str("-1"), &u));
    assert_false(slice_to_u64(slice_of("1\0", 2), &u));
    assert_true(u == 99);
}

static void sizes_have_units(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {
        {"0", 0},          {"7", 7},           {"7b", 7},
        {"2k", 2000},      {"2kb", 2048},      {"3M", 3000000},
        {"3mB", 3u << 20}, {"1g", 1000000000}, {"16gb", UINT64_C(16) << 30},
    };
    static const char *const bad[] = {"", "mb", "1 mb", "-1", "1x", "1mbb", "01", "20000000000gb"};
    uint64_t n = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(slice_to_bytes(slice_str(cases[i].text), &n));
        assert_int_equal(n, cases[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(slice_to_bytes(slice_str(bad[i]), &n));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_memcmp_and_the_shorter_first),
        cmocka_unit_test(sizes_have_units),
        cmocka_unit_test(a_prefix_is_one_up_to_the_whole),
        cmocka_unit_test(words_match_in_any_case_and_whole),
        cmocka_unit_test(good_integers_are_read),
        cmocka_unit_test(all_else_is_no_integer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
