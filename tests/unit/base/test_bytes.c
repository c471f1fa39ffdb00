/* Tests of numbers in bytes. */
#include "base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* At an odd place: nothing may ask for alignment. */
static const uint8_t nine[] = {0, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};

static void big_endian_begins_with_the_highest(void **state)
{
    assert_int_equal(get_u32(nine + 1), 0x01234567);
    assert_int_equal(get_u64(nine + 1), UINT64_C(0x0123456789abcdef));
    uint8_t out[9] = {0};
    put_u64(out + 1, UINT64_C(0x0123456789abcdef));
    assert_memory_equal(out, nine, 9);
    put_u32(out + 5, 0x89abcdef);
    assert_memory_equal(out, nine, 9);
    put_u32(out + 1, 0x45670000);
    assert_memory_equal(out + 5, nine + 5, 4);
    assert_int_equal(out[1], 0x45);
}

static void little_endian_begins_with_the_lowest(void **state)
{
    assert_int_equal(get_u32_little(nine + 1), 0x67452301);
    assert_int_equal(get_u64_little(nine + 1), UINT64_C(0xefcdab8967452301));
    uint8_t out[9] = {0};
    put_u64_little(out + 1, UINT64_C(0xefcdab8967452301));
    assert_memory_equal(out, nine, 9);
    put_u32_little(out + 5, 0xefcdab89);
    assert_memory_equal(out, nine, 9);
    put_u32_little(out + 1, 0x4567);
    assert_memory_equal(out + 5, nine + 5, 4);
    assert_int_equal(out[1], 0x67);
}

static void numbers_have_any_width_up_to_eight(void **state)
{
    assert_int_equal(get_uint(nine + 1, 0), 0);
    assert_int_equal(get_uint(nine + 1, 1), 0x01);
    assert_int_equal(get_uint(nine + 1, 3), 0x012345);
    assert_int_equal(get_uint(nine + 6, 3), 0xabcdef);
    assert_int_equal(get_uint(nine + 1, 8), UINT64_C(0x0123456789abcdef));
    assert_int_equal(get_uint(NULL, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(big_endian_begins_with_the_highest),
        cmocka_unit_test(little_endian_begins_with_the_lowest),
        cmocka_unit_test(numbers_have_any_width_up_to_eight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
