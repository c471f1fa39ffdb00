/* Tests of the bytes of rows: what is written is what is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "queue/rows.h"

static struct arena arena;

static int enter(void **state)
{
    arena_init(&arena, 4096);
    return 0;
}

static int leave(void **state)
{
    arena_fini(&arena);
    return 0;
}

/* Numbers that take one byte and those that take two. */
static void a_message_comes_back_with_all_it_has(void **state)
{
    static const size_t counts[] = {0, 1, 255, 256, 1000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        size_t n = counts[i];
        uint8_t backoff[4 * 1000];
        uint8_t keys[3 * 1000];
        for (size_t k = 0; k < n; k++) {
            put_u32(backoff + 4 * k, (uint32_t)(70000 * k));
            memcpy(keys + 3 * k, "\0\1k", 3);
        }
        struct message in = {.backoff_count = n,
                             .backoff = backoff,
                             .undelivered_count = n,
                             .undelivered = keys,
                             .undelivered_bytes = 3 * n,
                             .value = slice_str("value")};
        struct message out;
        struct error e;
        assert_int_equal(message_read(message_row(&arena, &in), &out, &e), OK);
        assert_int_equal(out.backoff_count, n);
        assert_int_equal(out.undelivered_count, n);
        assert_int_equal(out.undelivered_bytes, 3 * n);
        for (size_t k = 0; k < n; k++) assert_int_equal(message_backoff(&out, k), 70000 * k);
        if (n > 0) assert_memory_equal(out.undelivered, keys, 3 * n);
        assert_true(slice_eq(out.value, slice_str("value")));
    }
}

static void a_state_comes_back_with_all_it_has(void **state)
{
    struct state in = {.kind = STATE_LEASED,
                       .time_ms = 1700000000001,
                       .version = 0x123456789abcdef0,
                       .attempt = 70000,
                       .due_ms = 1700000000002,
                       .last_error = slice_str("why")};
    struct state out;
    struct error e;
    struct slice row = state_row(&arena, &in);
    assert_int_equal(state_read(row, &out, &e), OK);
    assert_int_equal(out.kind, in.kind);
    assert_int_equal(out.time_ms, in.time_ms);
    assert_true(out.version == in.version);
    assert_int_equal(out.attempt, in.attempt);
    assert_int_equal(out.due_ms, in.due_ms);
    assert_true(slice_eq(out.last_error, in.last_error));
    row.len = row.len - in.last_error.len - 1;
    assert_int_equal(state_read(row, &out, &e), ERR_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_message_comes_back_with_all_it_has, enter, leave),
        cmocka_unit_test_setup_teardown(a_state_comes_back_with_all_it_has, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
