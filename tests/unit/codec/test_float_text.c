/* float_text: numbers as Redis 7.2 and later write them, and what is read as one. */
#include "codec_test.h"

#include <errno.h>
#include <float.h>
#include <math.h>

#include "codec/float_text.h"

static const char *written(double n)
{
    static char room[FLOAT_TEXT_BYTES + 1];
    size_t len = float_text_write(n, room);
    assert_true(len <= FLOAT_TEXT_BYTES);
    room[len] = '\0';
    return room;
}

/* ---- writing ---- */

static void a_score_is_written_as_redis_does(void **state)
{
    static const struct {
        double n;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {3.0, "3"},
        {-3, "-3"},
        {0.1, "0.1"},
        {-0.1, "-0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.5, "1.5"},
        {1234.5678, "1234.5678"},
        {123456.7, "123456.7"},
        {17179869184, "17179869184"},
        {4503599627370495, "4503599627370495"}, /* 2^52 - 1 */
        {4503599627370496, "4503599627370496"},
        {9007199254740992, "9007199254740992"}, /* 2^53 */
        {9007199254740994, "9007199254740994"},
        {-9007199254740992, "-9007199254740992"},
        {9223372036854775807.0, "9223372036854776000"},
        {1e15, "1000000000000000"},
        {1e16, "1e+16"},
        {1e17, "1e+17"},
        {12e17, "1.2e+18"},
        {1e20, "1e+20"},
        {1e21, "1e+21"},
        {1e100, "1e+100"},
        {1.5e300, "1.5e+300"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {0.0001, "0.0001"},
        {0.000001, "0.000001"},
        {1e-7, "1e-7"},
        {1.5e-7, "1.5e-7"},
        {0.0012345678, "0.0012345678"},
        {0.00001234567, "1.234567e-5"},
        {1234.56789012, "1234.56789012"},
        {12345.678901234, "1.2345678901234e+4"},
        {5e-324, "5e-324"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {3.141592653589793, "3.141592653589793"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {NAN, "nan"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(written(cases[i].n), cases[i].text);
    }
}

static void what_is_written_reads_back_as_the_same_bits(void **state)
{
    (void)state;
    random_seed();
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = random_u64();
        double n = 0;
        double back = 0;
        memcpy(&n, &bits, sizeof n);
        if (i % 3 == 0) n = (double)(int64_t)bits;
        if (i % 3 == 1) n = (double)(int64_t)(bits >> 24) / (double)(1 + bits % 10000);
        const char *text = written(n);
        if (isnan(n)) {
            assert_string_equal(text, "nan");
            continue;
        }
        assert_true(float_text_read(slice_str(text), &back));
        assert_memory_equal(&n, &back, sizeof n);
    }
}

static void a_sum_has_17_digits_after_the_point_and_no_zeros_at_its_end(void **state)
{
    static const struct {
        long double n;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0L, "0"},
        {-1e-20L, "0"},
        {10.6L, "10.6"},
        {-10.6L, "-10.6"},
        {5200, "5200"},
        {100, "100"},
        {0.1L, "0.1"},
        {1e-17L, "0.00000000000000001"},
        {9223372036854775807.0L, "9223372036854775807"},
        {18446744073709551615.0L, "18446744073709551615"},
        {1e21L, "1000000000000000000000"},
    };
    struct arena arena;
    (void)state;
    arena_init(&arena, 4096);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct slice s = float_text_write_long(&arena, cases[i].n);
        if (!slice_eq(s, slice_str(cases[i].text))) {
            fail_msg("%.*s, not %s", (int)s.len, (const char *)s.data, cases[i].text);
        }
    }
    assert_int_equal(float_text_write_long(&arena, LDBL_MAX).len, 4933);
    arena_fini(&arena);
}

/* ---- reading ---- */

static void numbers_are_read(void **state)
{
    static const struct {
        const char *text;
        double n;
    } cases[] = {
        {"0", 0},
        {"1", 1},
        {"+1", 1},
        {"-1.5", -1.5},
        {".5", 0.5},
        {"5.", 5},
        {"1e3", 1000},
        {"1E-3", 0.001},
        {"0x10", 16},
        {"0x1p4", 16},
        {"inf", INFINITY},
        {"+inf", INFINITY},
        {"-INF", -INFINITY},
        {"Infinity", INFINITY},
        {"5e-324", 5e-324},
        {"9007199254740993", 9007199254740992},
        {"00000000000000000000000000000000000000001", 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double n = 0;
        long double m = 0;
        if (!float_text_read(slice_str(cases[i].text), &n)) fail_msg("%s", cases[i].text);
        assert_true(n == cases[i].n);
        assert_true(float_text_read_long(slice_str(cases[i].text), &m));
        if (i != 15) assert_true((double)m == cases[i].n);
    }
    long double m = 0;
    assert_true(float_text_read_long(slice_str("9007199254740993"), &m));
    assert_true(m == 9007199254740993.0L);
    assert_true(float_text_read_long(slice_str("1e4000"), &m));
    double minus = 1;
    assert_true(float_text_read(slice_str("-0"), &minus));
    assert_true(minus == 0 && signbit(minus));
}

/* Most texts are read without strtod, to the same bits. */
static void digits_are_read_as_strtod_does(void **state)
{
    static const char chars[] = "0123456789012345678901234567890123456789..-+e";
    (void)state;
    random_seed();
    for (int i = 0; i < 300000; i++) {
        char text[32];
        char *end = NULL;
        double n = 0;
        size_t len = 1 + random_below(24);
        size_t kinds = i % 4 == 0 ? sizeof chars - 1 : i % 4 == 1 ? 42 : 40;
        for (size_t at = 0; at < len; at++) text[at] = chars[random_below(kinds)];
        if (i % 8 > 3 && len > 1) text[0] = '-';
        text[len] = '\0';
        errno = 0;
        double wanted = strtod(text, &end);
        bool is_beyond = errno == ERANGE && (isinf(wanted) || fpclassify(wanted) == FP_ZERO);
        bool is_number = end == text + len && !is_beyond;
        if (float_text_read(slice_str(text), &n) != is_number) fail_msg("%s", text);
        if (is_number && memcmp(&n, &wanted, sizeof n) != 0) fail_msg("%s: %.17g", text, n);
    }
}

static void what_is_no_number_is_refused(void **state)
{
    static const char *const refused[] = {
        "",     " 1",     "1 ",   "\t1", "\n1",     "1\n",      "1x",       "x",  "nan",
        "-nan", "nan(1)", "--1",  "+-1", "1e",      "1e400x",   ".",        "e1", "0x",
        "1,5",  "1_000",  "inf1", "in",  "1e99999", "-1e99999", "1e-99999",
    };
    double n = 0;
    long double m = 0;
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (float_text_read(slice_str(refused[i]), &n)) fail_msg("%s is read", refused[i]);
        if (float_text_read_long(slice_str(refused[i]), &m)) fail_msg("%s is read", refused[i]);
    }
    assert_false(float_text_read(slice_str("1e400"), &n));
    assert_false(float_text_read(slice_str("1e-400"), &n));
    assert_false(float_text_read(slice_of("1\0", 2), &n));
    assert_false(float_text_read(slice_of("1\0x", 3), &n));
    assert_false(float_text_read_long(slice_of("1\0", 2), &m));
}

/* Bounds of ranges have no end where doubles do. */
static void a_bound_may_be_beyond_all_doubles(void **state)
{
    static const struct {
        const char *text;
        double n;
    } read[] = {{"1e400", INFINITY},
                {"-1e99999", -INFINITY},
                {" 5", 5},
                {"1e-400", 0},
                {"\t-inf", -INFINITY}};
    static const char *const refused[] = {"", " ", "5 ", "nan", "x", "1e400x"};
    double n = 0;
    (void)state;
    for (size_t i = 0; i < sizeof read / sizeof read[0]; i++) {
        assert_true(float_text_read_bound(slice_str(read[i].text), &n));
        assert_true(n >= read[i].n && n <= read[i].n);
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        assert_false(float_text_read_bound(slice_str(refused[i]), &n));
    }
}

static void a_text_of_more_than_5_kb_is_no_number(void **state)
{
    static uint8_t digits[5 * 1024];
    double n = 0;
    long double m = 0;
    (void)state;
    memset(digits, '0', sizeof digits);
    digits[0] = '1';
    assert_false(float_text_read(slice_of(digits, sizeof digits), &n));
    assert_false(float_text_read_long(slice_of(digits, sizeof digits), &m));
    digits[1] = '.';
    assert_true(float_text_read(slice_of(digits, sizeof digits - 1), &n));
    assert_true(float_text_read_long(slice_of(digits, sizeof digits - 1), &m));
    assert_true(n == 1 && m == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_score_is_written_as_redis_does),
        cmocka_unit_test(what_is_written_reads_back_as_the_same_bits),
        cmocka_unit_test(a_sum_has_17_digits_after_the_point_and_no_zeros_at_its_end),
        cmocka_unit_test(numbers_are_read),
        cmocka_unit_test(digits_are_read_as_strtod_does),
        cmocka_unit_test(what_is_no_number_is_refused),
        cmocka_unit_test(a_bound_may_be_beyond_all_doubles),
        cmocka_unit_test(a_text_of_more_than_5_kb_is_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
