/* bigint: decimal text both ways, against arithmetic of one digit at a time. */
#include "codec_test.h"

#include <string.h>

#include "codec/bigint.h"

#define DIGITS_ROOM (BIGINT_DECIMAL_DIGITS + 10)

/* Big-endian bytes -> digits, the slow way. */
static void decimal_of(struct slice magnitude, char *out)
{
    uint8_t digits[DIGITS_ROOM] = {0}; /* little-endian */
    size_t count = 1;
    for (size_t i = 0; i < magnitude.len; i++) {
        unsigned carry = magnitude.data[i];
        for (size_t k = 0; k < count || carry > 0; k++) {
            carry += digits[k] * 256u;
            digits[k] = (uint8_t)(carry % 10);
            carry /= 10;
            if (k >= count) count = k + 1;
        }
    }
    for (size_t i = 0; i < count; i++) out[i] = (char)('0' + digits[count - 1 - i]);
    out[count] = '\0';
}

static void check(struct slice magnitude)
{
    char expected[DIGITS_ROOM + 1], text[DIGITS_ROOM + 1];
    uint8_t back[BIGINT_DECIMAL_BYTES];
    size_t len = 0;
    decimal_of(magnitude, expected);
    text[bigint_to_decimal(magnitude, text)] = '\0';
    assert_string_equal(expected, text);
    assert_true(bigint_from_decimal(slice_str(text), back, &len));
    while (magnitude.len > 0 && magnitude.data[0] == 0) {
        magnitude = slice_of(magnitude.data + 1, magnitude.len - 1);
    }
    assert_int_equal(magnitude.len, len);
    if (len > 0) assert_memory_equal(magnitude.data, back, len);
}

static void integers_of_every_length_have_their_digits(void **state)
{
    uint8_t bytes[BIGINT_DECIMAL_BYTES];
    for (size_t len = 0; len <= sizeof bytes; len += len < 200 ? 1 : 13) {
        for (size_t i = 0; i < len; i++) bytes[i] = (uint8_t)random_u64();
        check(slice_of(bytes, len));
        memset(bytes, 0xff, sizeof bytes);
        check(slice_of(bytes, len));
        memset(bytes, 0, sizeof bytes);
        if (len > 0) bytes[0] = 1;
        check(slice_of(bytes, len));
        if (len > 0) bytes[len - 1] |= 1;
        check(slice_of(bytes, len));
    }
}

/* 10^n - 1, 10^n, 10^n + 1: where a group of digits is full, or begins with zeros. */
static void powers_of_ten_and_their_neighbours_have_their_digits(void **state)
{
    for (size_t n = 1; n < BIGINT_DECIMAL_DIGITS - 1; n += n < 200 ? 1 : 7) {
        for (int step = -1; step <= 1; step++) {
            char text[DIGITS_ROOM + 1], again[DIGITS_ROOM + 1];
            uint8_t bytes[BIGINT_DECIMAL_BYTES];
            size_t len = 0;
            memset(text, step < 0 ? '9' : '0', n + 1);
            if (step >= 0) text[0] = '1';
            if (step == 1) text[n] = '1';
            text[step < 0 ? n : n + 1] = '\0';
            assert_true(bigint_from_decimal(slice_str(text), bytes, &len));
            decimal_of(slice_of(bytes, len), again);
            assert_string_equal(text, again);
            again[bigint_to_decimal(slice_of(bytes, len), again)] = '\0';
            assert_string_equal(text, again);
        }
    }
}

static void the_largest_has_8192_bits(void **state)
{
    uint8_t bytes[BIGINT_DECIMAL_BYTES];
    char text[DIGITS_ROOM + 1], zeros[DIGITS_ROOM * 2];
    size_t len = 0;
    memset(bytes, 0xff, sizeof bytes);
    decimal_of(slice_of(bytes, sizeof bytes), text);
    assert_int_equal(BIGINT_DECIMAL_DIGITS, strlen(text));
    assert_true(bigint_from_decimal(slice_str(text), bytes, &len));
    assert_int_equal(sizeof bytes, len);
    snprintf(zeros, sizeof zeros, "000000000000000000000000%s", text);
    assert_true(bigint_from_decimal(slice_str(zeros), bytes, &len));
    assert_int_equal(sizeof bytes, len);
    size_t last = strlen(text) - 1; /* 2^8192 - 1 ends with 5 */
    text[last]++;
    assert_false(bigint_from_decimal(slice_str(text), bytes, &len));
    memset(text, '9', BIGINT_DECIMAL_DIGITS);
    assert_false(bigint_from_decimal(slice_str(text), bytes, &len));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_of_every_length_have_their_digits),
        cmocka_unit_test(powers_of_ten_and_their_neighbours_have_their_digits),
        cmocka_unit_test(the_largest_has_8192_bits),
    };
    random_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
