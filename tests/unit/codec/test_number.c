/* number: the shortest digits of doubles, and doubles of digits, against printf and strtod. */
#include "codec_test.h"

#include <math.h>
#include <string.h>

#include "codec/double_parse.h"
#include "codec/json_lex.h"
#include "codec/number.h"
#include "codec/value.h"
#include "number_oracle.h"

/* ---- printing ---- */

static void check_print(double d)
{
    char text[NUMBER_TEXT_BYTES + 1], expected[ORACLE_BYTES];
    if (!isfinite(d) || (d == 0 && signbit(d))) return;
    text[number_format(d, text)] = '\0';
    oracle_format(d, expected);
    assert_string_equal(expected, text);
}

/* With its neighbours, some to each side, and their negatives. */
static void check_print_around(double d, int neighbours)
{
    double up = d, down = d;
    for (int i = 0; i <= neighbours; i++) {
        check_print(up);
        check_print(down);
        check_print(-up);
        up = nextafter(up, (double)INFINITY);
        down = nextafter(down, 0);
    }
}

static void doubles_are_laid_out_as_javascript_does(void **state)
{
    static const struct {
        double d;
        const char *text;
    } cases[] = {
        {0, "0"},
        {5e-324, "5e-324"},
        {-5e-324, "-5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {2.225073858507201e-308, "2.225073858507201e-308"},
        {0.1, "0.1"},
        {-17.25, "-17.25"},
        {1.0 / 3, "0.3333333333333333"},
        {2.0 / 3, "0.6666666666666666"},
        {0.1 + 0.2, "0.30000000000000004"},
        {123456789.125, "123456789.125"},
        {1e-6, "0.000001"},
        {1.5e-6, "0.0000015"},
        {1.2345678901234567e-6, "0.0000012345678901234567"},
        {1e-7, "1e-7"},
        {1.5e-7, "1.5e-7"},
        {1e20, "100000000000000000000.0"},
        {123456789012345680000.0, "123456789012345680000.0"},
        {1e21, "1e+21"},
        {1.5e21, "1.5e+21"},
        {1e22, "1e+22"},
        {1e23, "1e+23"},
        {9007199254740991.0, "9007199254740991"},
        {9007199254740992.0, "9007199254740992.0"},
        {-9007199254740994.0, "-9007199254740994.0"},
        {2251799813685249.5, "2251799813685249.5"},
        /* two of 17 digits are as near: the even one */
        {1125899906842624.25, "1125899906842624.2"},
        {1125899906842624.75, "1125899906842624.8"},
        /* powers of two: the nearest of 16 digits is too far below, the next one is not */
        {0x1p-24, "5.960464477539063e-8"},
        {0x1p-44, "5.684341886080802e-14"},
        {0x1p89, "6.189700196426902e+26"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[NUMBER_TEXT_BYTES + 1];
        text[number_format(cases[i].d, text)] = '\0';
        assert_string_equal(cases[i].text, text);
        check_print(cases[i].d);
    }
}

static void powers_of_two_and_their_neighbours_print_the_shortest(void **state)
{
    for (int e = -1074; e < 1024; e++) check_print_around(ldexp(1, e), 3);
    for (uint64_t c = 1; c < 3000; c++) check_print(oracle_double(c));
}

static void powers_of_ten_and_their_neighbours_print_the_shortest(void **state)
{
    for (int e = -323; e <= 308; e++) {
        char text[16];
        snprintf(text, sizeof text, "1e%d", e);
        check_print_around(strtod(text, NULL), 5);
    }
}

/* Bits that begin and end with ones or zeros are where a carry goes a long way. */
static void doubles_of_every_exponent_print_the_shortest(void **state)
{
    for (uint64_t e = 0; e < 0x7ff; e++) {
        for (unsigned i = 0; i < 40; i++) {
            uint64_t c = random_u64() >> 12;
            if (i % 4 == 1) c = c >> random_below(52);
            if (i % 4 == 2) c = (UINT64_C(1) << 52) - 1 - (c >> random_below(52));
            if (i % 4 == 3) c = c >> random_below(52) << random_below(52);
            check_print(oracle_double(e << 52 | (c & ((UINT64_C(1) << 52) - 1))));
        }
    }
}

static void integers_and_halves_about_the_safe_range_print_the_shortest(void **state)
{
    for (int e = 44; e < 70; e++) check_print_around(ldexp(1, e), 100);
    for (unsigned i = 0; i < 20000; i++) {
        double d = (double)(random_u64() >> random_below(64));
        check_print(d);
        check_print(-d / 2);
        check_print(d / 4);
        check_print(d / 1000000);
    }
}

static void decimals_of_few_digits_print_as_they_are(void **state)
{
    static const double powers[] = {1, 10, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
    for (unsigned i = 0; i < 40000; i++) {
        check_print((double)random_below(100000000) / powers[random_below(9)]);
    }
}

/* A stride of all; `bench_numbers floats` takes every one. */
static void floats_as_doubles_print_the_shortest(void **state)
{
    for (uint64_t bits = random_below(39989); bits < UINT64_C(1) << 32; bits += 39989) {
        uint32_t half = (uint32_t)bits;
        float f;
        memcpy(&f, &half, sizeof f);
        check_print((double)f);
    }
}

/* ---- parsing ---- */

static double parse(const char *text)
{
    struct json j = {.code = ERR_VALUE, .subject = "invalid number"};
    struct json_number n;
    j.start = j.at = (const uint8_t *)text;
    j.end = j.start + strlen(text);
    assert_true(json_number_scan(&j, &n));
    assert_ptr_equal(j.end, j.at);
    return json_number_double(&n);
}

/* As a number of JSON, and as a stored value, where a short one goes another way. */
static void check_parse(const char *text)
{
    double expected = strtod(text, NULL);
    assert_true(parse(text) == expected);
    if (isinf(expected) || strpbrk(text, ".eE") == NULL || strlen(text) > 1000) return;
    struct buf packed, printed;
    char normal[ORACLE_BYTES];
    buf_init(&packed);
    buf_init(&printed);
    struct error e;
    assert_int_equal(OK, value_from_json(slice_str(text), NULL, &packed, &e));
    value_to_json(buf_slice(&packed), &printed);
    oracle_format(expected, normal);
    if (expected != 0) assert_string_equal(normal, text_of(&printed));
    buf_fini(&packed);
    buf_fini(&printed);
}

static void texts_of_all_lengths_and_exponents_parse_as_strtod_says(void **state)
{
    for (unsigned i = 0; i < 60000; i++) {
        char text[80];
        size_t n = 1 + random_below(i % 3 == 0 ? 40 : 20), at = 0;
        size_t point = 1 + random_below(n);
        bool is_small = point > 1 || random_below(3) > 0;
        text[at++] = (char)((is_small ? '1' : '0') + (is_small ? random_below(9) : 0));
        for (size_t k = 1; k < n && (is_small || point == 1); k++) {
            if (k == point) text[at++] = '.';
            text[at++] = (char)('0' + random_below(10));
        }
        int exponent = (int)random_below(700) - 350;
        if (i % 4 == 0) exponent = (int)random_below(60) - 40;
        text[at] = '\0';
        if (i % 5 > 0) snprintf(text + at, sizeof text - at, "e%d", exponent);
        if (strlen(text) > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9') continue;
        check_parse(text);
    }
}

static void what_is_printed_parses_as_the_same_double(void **state)
{
    for (unsigned i = 0; i < 60000; i++) {
        char text[ORACLE_BYTES];
        double d = oracle_double(random_u64() >> 1);
        if (!isfinite(d)) continue;
        snprintf(text, sizeof text, "%.*e", 14 + (int)random_below(8), d);
        check_parse(text);
    }
}

/* The middle between two doubles, exactly; what is one less or more in its last place; and what
 * has begun as the middle does, and ends somewhere. */
static void check_parse_middle(double d)
{
    char text[1300], cut[1300];
    long double middle = (long double)d + ((long double)nextafter(d, (double)INFINITY) - d) / 2;
    int len = snprintf(text, sizeof text - 2, "%.1080Le", middle);
    assert_true(len > 0 && len < 1200);
    char *e = strchr(text, 'e'), *last = e;
    while (last[-1] == '0') last--;
    memmove(last, e, strlen(e) + 1);
    if (last[-1] == '.') return;
    check_parse(text);
    for (int step = -1; step <= 1; step += 2) {
        last[-1] = (char)(last[-1] + step);
        if (last[-1] <= '9') check_parse(text);
        last[-1] = (char)(last[-1] - step);
    }
    for (int digits = 15; digits < 24; digits++) {
        if (last - text <= digits + 2) break;
        snprintf(cut, sizeof cut, "%.*s%s", digits + 1, text, last);
        check_parse(cut);
    }
}

static void the_middle_between_two_doubles_goes_to_the_even_one(void **state)
{
    for (unsigned i = 0; i < 3000; i++) {
        double d = oracle_double(random_u64() >> 1);
        if (isfinite(d) && d < 1.7e308) check_parse_middle(d);
        check_parse_middle(ldexp((double)(random_u64() >> 11), (int)random_below(70) - 60));
        check_parse_middle(oracle_double(random_u64() >> (12 + random_below(50)))); /* denormal */
    }
}

/* 9007199254740993.0 and the like: of at most 19 digits, with zeros after them or not. */
static void a_middle_of_few_digits_is_told_without_the_slow_way(void **state)
{
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t odd = (UINT64_C(1) << 53) + 2 * random_below(1u << 20) + 1;
        unsigned places = (unsigned)random_below(3); /* in units of 2^-places, exact */
        uint64_t digits = odd;
        double d = 0;
        for (unsigned k = 0; k < places; k++) digits *= 5;
        assert_true(double_from_decimal(digits, -(int64_t)places, false, &d));
        char text[40];
        snprintf(text, sizeof text, "%llue-%u", (unsigned long long)digits, places);
        assert_true(d == strtod(text, NULL));
        if (digits > UINT64_MAX / 100) continue;
        assert_true(double_from_decimal(digits * 100, -(int64_t)places - 2, false, &d));
        assert_true(d == strtod(text, NULL));
    }
}

static void numbers_beyond_the_range_are_zero_or_infinite(void **state)
{
    static const char *const texts[] = {
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.797693134862315807e308",
        "1.7976931348623159e308",
        "1.7976931348623158079372897e308",
        "179769313486231580793e289",
        "1e309",
        "1e400",
        "1e999999",
        "1e99999999999999999999",
        "0.0000001e315",
        "0.0000001e316",
        "5e-324",
        "2.5e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "2.470328229206232720e-324",
        "2.47032822920623272089e-324",
        "2e-324",
        "1e-324",
        "1e-340",
        "9999999999999999999e-343",
        "18446744073709551615e-343",
        "9999999999999999999e-342",
        "1e-400",
        "1e-99999999999999999999",
        "0e400",
        "0.0e-400",
        "2.2250738585072011e-308",
        "2.2250738585072012e-308",
        "2.2250738585072014e-308",
        "2.225073858507201136057409796709131975934819546351645648e-308",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) check_parse(texts[i]);
}

/* "0.", zeros, a one, an exponent. */
static double parse_far(size_t zeros, const char *rest)
{
    struct buf text;
    buf_init(&text);
    buf_append_str(&text, "0.");
    for (size_t i = 0; i < zeros; i++) buf_append_byte(&text, '0');
    buf_append_str(&text, rest);
    double d = parse(text_of(&text));
    buf_fini(&text);
    return d;
}

static void an_exponent_of_many_digits_counts_in_full(void **state)
{
    assert_true(parse_far(1000000, "1e1000001") == 1);
    assert_true(parse_far(1000000, "1e10000010") == (double)INFINITY);
    assert_true(parse_far(1000000, "12345678901234567890123e1000001") == 1.2345678901234567890123);
    assert_true(parse_far(1000000, "1e-10000010") == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_are_laid_out_as_javascript_does),
        cmocka_unit_test(powers_of_two_and_their_neighbours_print_the_shortest),
        cmocka_unit_test(powers_of_ten_and_their_neighbours_print_the_shortest),
        cmocka_unit_test(doubles_of_every_exponent_print_the_shortest),
        cmocka_unit_test(integers_and_halves_about_the_safe_range_print_the_shortest),
        cmocka_unit_test(decimals_of_few_digits_print_as_they_are),
        cmocka_unit_test(floats_as_doubles_print_the_shortest),
        cmocka_unit_test(texts_of_all_lengths_and_exponents_parse_as_strtod_says),
        cmocka_unit_test(what_is_printed_parses_as_the_same_double),
        cmocka_unit_test(the_middle_between_two_doubles_goes_to_the_even_one),
        cmocka_unit_test(a_middle_of_few_digits_is_told_without_the_slow_way),
        cmocka_unit_test(numbers_beyond_the_range_are_zero_or_infinite),
        cmocka_unit_test(an_exponent_of_many_digits_counts_in_full),
    };
    random_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
