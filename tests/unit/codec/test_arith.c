/* Tests of KV.SUM, MIN, MAX, APPEND and PREPEND on stored bytes. */
#include "codec_test.h"

#include "codec/arith.h"
#include "codec/value.h"

static struct buf operand, stored, low, high, out, text;
static struct error e;

static struct slice pack(struct buf *b, const char *json)
{
    b->len = 0;
    if (value_from_json(slice_str(json), NULL, b, &e) != OK) fail_msg("%s: %s", json, e.text);
    return buf_slice(b);
}

/* The result as JSON, or the error. `old` NULL = absent; the bounds NULL = none. */
static const char *apply(struct arith a, const char *old, const char *by, const char *lo,
                         const char *hi)
{
    struct slice was = {0};
    a.operand = pack(&operand, by);
    if (old != NULL) was = pack(&stored, old);
    if (lo != NULL) a.lo = pack(&low, lo);
    if (hi != NULL) a.hi = pack(&high, hi);
    out.len = text.len = 0;
    if (arith_apply(&a, old != NULL ? &was : NULL, &out, &e) != OK) {
        assert_int_equal(0, out.len);
        return e.text;
    }
    assert_int_equal(OK, value_check(buf_slice(&out), &e));
    value_to_json(buf_slice(&out), &text);
    return text_of(&text);
}

static const char *sum(const char *old, const char *by)
{
    return apply((struct arith){.op = ARITH_SUM}, old, by, NULL, NULL);
}

static const char *clamp(const char *old, const char *by, const char *lo, const char *hi)
{
    return apply((struct arith){.op = ARITH_SUM, .bound = ARITH_CLAMP}, old, by, lo, hi);
}

static const char *range(const char *old, const char *by, const char *lo, const char *hi)
{
    return apply((struct arith){.op = ARITH_SUM, .bound = ARITH_RANGE}, old, by, lo, hi);
}

static const char *min(const char *old, const char *by)
{
    return apply((struct arith){.op = ARITH_MIN}, old, by, NULL, NULL);
}

static const char *max(const char *old, const char *by)
{
    return apply((struct arith){.op = ARITH_MAX}, old, by, NULL, NULL);
}

static void a_sum_with_nothing_is_the_operand(void **state)
{
    assert_string_equal("5", sum(NULL, "5"));
    assert_string_equal("0.5", sum(NULL, "0.5"));
    assert_string_equal("{\"$bigint\":\"5\"}", sum(NULL, "{\"$bigint\":\"5\"}"));
    assert_string_equal("{\"$u64\":\"5\"}", sum(NULL, "{\"$u64\":\"5\"}"));
}

static void integers_stay_exact_integers(void **state)
{
    assert_string_equal("42", sum("40", "2"));
    assert_int_equal(1, out.len);
    assert_string_equal("9007199254740991", sum("9007199254740990", "1"));
    assert_string_equal("the sum is beyond +-(2^53-1), use a bigint: {\"$bigint\":\"1\"}",
                        sum("9007199254740991", "1"));
    assert_int_equal(ERR_OVERFLOW, e.code);
    assert_string_equal("the sum is beyond +-(2^53-1), use a bigint: {\"$bigint\":\"1\"}",
                        sum("-9007199254740991", "-1"));
}

static void floats_add_as_floats(void **state)
{
    assert_string_equal("1.5", sum("1", "0.5"));
    assert_string_equal("1", sum("0.5", "0.5"));
    assert_int_equal(0xca, out.data[0]); /* a float that happens to be whole stays a float */
    assert_string_equal("0.30000000000000004", sum("0.1", "0.2"));
    assert_string_equal("{\"$number\":\"Infinity\"}", sum("1", "{\"$number\":\"Infinity\"}"));
    assert_string_equal("the sum is beyond the range of a double, use a bigint",
                        sum("1.7e308", "1.7e308"));
}

static void bigints_are_exact(void **state)
{
    assert_string_equal("{\"$bigint\":\"9007199254740993\"}",
                        sum("9007199254740992", "{\"$bigint\":\"1\"}"));
    assert_string_equal("{\"$bigint\":\"18446744073709551616\"}",
                        sum("18446744073709551615", "{\"$bigint\":\"1\"}"));
    assert_string_equal("{\"$bigint\":\"0\"}",
                        sum("18446744073709551615", "-18446744073709551615"));
    assert_string_equal("{\"$bigint\":\"-1\"}",
                        sum("{\"$bigint\":\"255\"}", "{\"$bigint\":\"-256\"}"));
    assert_string_equal("{\"$bigint\":\"1\"}",
                        sum("{\"$bigint\":\"256\"}", "{\"$bigint\":\"-255\"}"));
}

static void bigints_agree_with_128_bit_arithmetic(void **state)
{
    char a[64], b[64], want[64];
    for (int round = 0; round < 20000; round++) {
        int64_t x = (int64_t)random_u64() >> random_below(63),
                y = (int64_t)random_u64() >> random_below(63);
        snprintf(a, sizeof a, "{\"$bigint\":\"%lld\"}", (long long)x);
        snprintf(b, sizeof b, "{\"$bigint\":\"%lld\"}", (long long)y);
        __int128 z = (__int128)x + y;
        char digits[48];
        size_t at = sizeof digits;
        digits[--at] = '\0';
        unsigned __int128 m = z < 0 ? (unsigned __int128)-z : (unsigned __int128)z;
        do {
            digits[--at] = (char)('0' + (int)(m % 10));
            m /= 10;
        } while (m > 0);
        if (z < 0) digits[--at] = '-';
        snprintf(want, sizeof want, "{\"$bigint\":\"%s\"}", digits + at);
        assert_string_equal(want, sum(a, b));
        assert_string_equal(x <= y ? a : b, min(a, b));
        assert_string_equal(x >= y ? a : b, max(a, b));
    }
}

static void bigints_stop_at_255_bytes(void **state)
{
    char most[600], more[600];
    memset(most, 0, sizeof most);
    strcpy(most, "{\"$bigint\":\"0x");
    for (int i = 0; i < 255; i++) strcat(most, "ff");
    strcpy(more, most);
    strcat(most, "\"}");
    strcat(more, "ff\"}");
    assert_string_equal("a bigint of more than 255 bytes", sum(most, "{\"$bigint\":\"1\"}"));
    assert_string_equal("{\"$bigint\":\"0\"}", sum("{\"$bigint\":\"-1\"}", "{\"$bigint\":\"1\"}"));
    assert_string_equal("a bigint of more than 255 bytes", sum("{\"$bigint\":\"1\"}", more));
    assert_string_equal("a bigint of more than 255 bytes", sum(more, "{\"$bigint\":\"1\"}"));
}

static void u64_wraps(void **state)
{
    assert_string_equal("{\"$u64\":\"1\"}",
                        sum("{\"$u64\":\"18446744073709551615\"}", "{\"$u64\":\"2\"}"));
    assert_string_equal("{\"$u64\":\"2\"}",
                        min("{\"$u64\":\"18446744073709551615\"}", "{\"$u64\":\"2\"}"));
    assert_string_equal("operand is a u64, which wraps and has no bounds",
                        clamp(NULL, "{\"$u64\":\"2\"}", "{\"$u64\":\"0\"}", "{\"$u64\":\"9\"}"));
    assert_int_equal(ERR_TYPE, e.code);
}

static void clamp_stops_at_the_bounds(void **state)
{
    assert_string_equal("10", clamp("9", "5", "0", "10"));
    assert_string_equal("0", clamp("9", "-50", "0", "10"));
    assert_string_equal("7", clamp("9", "-2", "0", "10"));
    assert_string_equal("10", clamp(NULL, "50", "0", "10"));
    assert_string_equal("9007199254740991",
                        clamp("9007199254740991", "5", "0", "9007199254740991"));
    assert_string_equal("{\"$bigint\":\"3\"}", clamp("{\"$bigint\":\"2\"}", "{\"$bigint\":\"2\"}",
                                                     "{\"$bigint\":\"0\"}", "{\"$bigint\":\"3\"}"));
}

static void range_refuses_to_leave_the_bounds(void **state)
{
    assert_string_equal("10", range("9", "1", "0", "10"));
    assert_string_equal("the sum is above the upper bound", range("9", "2", "0", "10"));
    assert_int_equal(ERR_RANGE, e.code);
    assert_string_equal("the sum is below the lower bound", range("9", "-10", "0", "10"));
    assert_string_equal("the sum is NaN, which is outside the bounds",
                        range("9", "{\"$number\":\"NaN\"}", "0", "10"));
    assert_string_equal("the lower bound is above the upper bound", range("9", "1", "10", "0"));
    assert_int_equal(ERR_VALUE, e.code);
    assert_string_equal("bound is a bigint, operand is a number",
                        range("9", "1", "{\"$bigint\":\"0\"}", "10"));
    assert_int_equal(ERR_TYPE, e.code);
    assert_string_equal("a bound is not a number", range("9", "1", "{\"$number\":\"NaN\"}", "10"));
}

static void min_and_max_keep_the_bytes_of_the_winner(void **state)
{
    struct arith a = {.op = ARITH_MAX};
    hex_to("cd0005", &operand); /* 5, not in the smallest encoding */
    a.operand = buf_slice(&operand);
    struct slice was = pack(&stored, "3");
    out.len = 0;
    assert_int_equal(OK, arith_apply(&a, &was, &out, &e));
    assert_string_equal("cd0005", to_hex(buf_slice(&out)));
    a.op = ARITH_MIN;
    out.len = 0;
    assert_int_equal(OK, arith_apply(&a, &was, &out, &e));
    assert_string_equal("03", to_hex(buf_slice(&out)));
    assert_string_equal("1.5", min("2", "1.5"));
    assert_string_equal("2", max("2", "1.5"));
    assert_string_equal("{\"$number\":\"-0\"}", min("0", "-0"));
    assert_string_equal("{\"$number\":\"NaN\"}", max("{\"$number\":\"NaN\"}", "1"));
    assert_string_equal("{\"$number\":\"NaN\"}", min("1", "{\"$number\":\"NaN\"}"));
    assert_string_equal("7", min(NULL, "7"));
}

static void mixed_types_are_refused_naming_both(void **state)
{
    assert_string_equal("stored value is a string, operand is a number", sum("\"x\"", "1"));
    assert_int_equal(ERR_TYPE, e.code);
    assert_string_equal("stored value is a bigint, operand is a number",
                        sum("{\"$bigint\":\"1\"}", "1"));
    assert_string_equal("stored value is a number, operand is a u64", max("1", "{\"$u64\":\"1\"}"));
    assert_string_equal("stored value is an object, operand is a number", min("{}", "1"));
    assert_string_equal("stored value is null, operand is a number", sum("null", "1"));
    assert_string_equal("operand is a string, not a number, bigint or u64", sum("1", "\"x\""));
    assert_string_equal("operand is an array, not a number, bigint or u64", sum(NULL, "[1]"));
}

static const char *join(const char *items, const char *old, bool is_prepend, uint64_t want)
{
    struct slice was = {0};
    uint64_t count = 0;
    if (old != NULL) was = pack(&stored, old);
    struct slice added = pack(&operand, items);
    out.len = text.len = 0;
    if (arith_join(added, old != NULL ? &was : NULL, is_prepend, &out, &count, &e) != OK) {
        assert_int_equal(0, out.len);
        return e.text;
    }
    assert_int_equal(want, count);
    assert_int_equal(OK, value_check(buf_slice(&out), &e));
    value_to_json(buf_slice(&out), &text);
    return text_of(&text);
}

static void arrays_are_joined_at_either_end(void **state)
{
    assert_string_equal("[1,2,3]", join("[3]", "[1,2]", false, 3));
    assert_string_equal("[3,1,2]", join("[3]", "[1,2]", true, 3));
    assert_string_equal("[3]", join("[3]", NULL, true, 1));
    assert_string_equal("[]", join("[]", NULL, false, 0));
    assert_string_equal("[1]", join("[]", "[1]", false, 1));
    assert_string_equal(
        "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,{\"a\":[]},\"I\"]",
        join("[{\"a\":[]},\"I\"]", "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]", false, 17));
    assert_string_equal("stored value is an object, operand is an array",
                        join("[1]", "{}", false, 0));
    assert_int_equal(ERR_TYPE, e.code);
    assert_string_equal("operand is a number, not an array", join("1", "[1]", false, 0));
    assert_string_equal("invalid value: id used twice at offset 10",
                        join("[{\"$id\":1,\"value\":[]}]", "[{\"$id\":1,\"value\":[]}]", false, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_with_nothing_is_the_operand),
        cmocka_unit_test(integers_stay_exact_integers),
        cmocka_unit_test(floats_add_as_floats),
        cmocka_unit_test(bigints_are_exact),
        cmocka_unit_test(bigints_agree_with_128_bit_arithmetic),
        cmocka_unit_test(bigints_stop_at_255_bytes),
        cmocka_unit_test(u64_wraps),
        cmocka_unit_test(clamp_stops_at_the_bounds),
        cmocka_unit_test(range_refuses_to_leave_the_bounds),
        cmocka_unit_test(min_and_max_keep_the_bytes_of_the_winner),
        cmocka_unit_test(mixed_types_are_refused_naming_both),
        cmocka_unit_test(arrays_are_joined_at_either_end),
    };
    random_seed();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    struct buf *all[] = {&operand, &stored, &low, &high, &out, &text};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) buf_fini(all[i]);
    return failed;
}
