/* buf: growth, numbers, sticky errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/fault.h"

static void expect(const struct buf *b, const char *text)
{
    assert_false(b->is_failed);
    assert_int_equal(b->len, strlen(text));
    assert_memory_equal(b->data, text, b->len);
}

static void appends_follow_each_other(void **state)
{
    struct buf b;
    buf_init(&b);
    buf_append(&b, "", 0);
    assert_int_equal(b.len, 0);
    buf_append_str(&b, "one ");
    buf_append_byte(&b, '2');
    buf_append(&b, " three", 6);
    buf_printf(&b, " %s%d", "fo", 4);
    buf_append_str(&b, "");
    expect(&b, "one 2 three fo4");
    assert_true(slice_eq(buf_slice(&b), slice_str("one 2 three fo4")));
    buf_fini(&b);
}

static void it_grows_to_any_length(void **state)
{
    struct buf b;
    buf_init(&b);
    for (unsigned i = 0; i < 3000000; i++) buf_append_byte(&b, (uint8_t)(i * 7));
    assert_int_equal(b.len, 3000000);
    for (unsigned i = 0; i < 3000000; i++) assert_true(b.data[i] == (uint8_t)(i * 7));
    buf_fini(&b);
}

static void numbers_are_decimal(void **state)
{
    static const uint64_t edges[] = {0,
                                     9,
                                     10,
                                     99,
                                     100,
                                     101,
                                     999,
                                     1000,
                                     12345,
                                     UINT64_MAX,
                                     UINT64_MAX - 1,
                                     10000000000000000000u,
                                     INT64_MAX};
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        char want[64];
        struct buf b;
        buf_init(&b);
        buf_append_u64(&b, edges[i]);
        buf_append_byte(&b, ' ');
        buf_append_i64(&b, (int64_t)edges[i]);
        snprintf(want, sizeof want, "%llu %lld", (unsigned long long)edges[i], (long long)edges[i]);
        expect(&b, want);
        buf_fini(&b);
    }
    for (unsigned i = 0; i < 20000; i++) {
        char want[24];
        char got[24] = "";
        snprintf(want, sizeof want, "%u", i * 7);
        assert_int_equal(u64_format(i * 7, got), strlen(want));
        assert_string_equal(got, want);
    }
    struct buf b;
    buf_init(&b);
    buf_append_i64(&b, INT64_MIN);
    expect(&b, "-9223372036854775808");
    buf_fini(&b);
}

static void a_shift_removes_the_first_bytes(void **state)
{
    struct buf b;
    buf_init(&b);
    buf_append_str(&b, "abcdef");
    buf_shift(&b, 0);
    expect(&b, "abcdef");
    buf_shift(&b, 2);
    expect(&b, "cdef");
    buf_shift(&b, 4);
    expect(&b, "");
    buf_fini(&b);
}

static void a_reservation_has_the_room_and_is_not_counted(void **state)
{
    struct buf b;
    buf_init(&b);
    uint8_t *p = buf_reserve(&b, 1000);
    assert_non_null(p);
    memset(p, 'x', 1000);
    assert_int_equal(b.len, 0);
    assert_true(b.cap >= 1000);
    buf_fini(&b);
}

static void a_clear_keeps_small_memory_and_gives_back_large(void **state)
{
    struct buf b;
    buf_init(&b);
    buf_append_str(&b, "abc");
    const uint8_t *data = b.data;
    buf_clear(&b, 1000);
    assert_int_equal(b.len, 0);
    assert_ptr_equal(b.data, data);
    (void)buf_reserve(&b, 5000);
    buf_clear(&b, 1000);
    assert_null(b.data);
    assert_int_equal(b.cap, 0);
    buf_fini(&b);
}

static void an_error_sticks_until_it_is_cleared(void **state)
{
    struct buf b;
    buf_init(&b);
    buf_append_str(&b, "kept");
    fault_arm("mem.try", 1, false);
    for (unsigned i = 0; i < 100; i++) buf_append_str(&b, "much more than fits");
    assert_true(fault_was_hit());
    fault_arm("", 0, false);
    assert_true(b.is_failed);
    size_t len = b.len;
    assert_null(buf_reserve(&b, 1));
    assert_null(buf_reserve(&b, 0));
    buf_append_byte(&b, 'x');
    buf_append_u64(&b, 1);
    buf_append_i64(&b, -1);
    buf_printf(&b, "%d", 1);
    assert_int_equal(b.len, len);
    assert_memory_equal(b.data, "kept", 4);
    buf_clear(&b, SIZE_MAX);
    buf_append_str(&b, "again");
    expect(&b, "again");
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appends_follow_each_other),
        cmocka_unit_test(it_grows_to_any_length),
        cmocka_unit_test(numbers_are_decimal),
        cmocka_unit_test(a_shift_removes_the_first_bytes),
        cmocka_unit_test(a_reservation_has_the_room_and_is_not_counted),
        cmocka_unit_test(a_clear_keeps_small_memory_and_gives_back_large),
        cmocka_unit_test(an_error_sticks_until_it_is_cleared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
