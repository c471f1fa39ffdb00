/* Sums, minima and maxima as Deno computes them, and its words for what cannot be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "codec/value.h"
#include "command/connect/connect_int.h"

struct row {
    enum arith_op op;
    const char *old; /* typed JSON; NULL = absent */
    const char *operand;
    const char *min, *max; /* NULL = none */
    bool is_clamped;
    const char *wanted; /* typed JSON, or the error after ! */
};

#define NO_U64 "!Failed to perform 'sum' mutation on a non-U64 value in the database"
#define BEYOND "!The result of a Sum operation would exceed its range limit"

static const struct row rows[] = {
    /* absent: the operand, whatever the bounds */
    {ARITH_SUM, NULL, "{\"$bigint\":\"1\"}", NULL, NULL, false, "{\"$bigint\":\"1\"}"},
    {ARITH_SUM, NULL, "1.5", NULL, NULL, false, "1.5"},
    {ARITH_SUM, NULL, "7", "1", "5", false, "7"},
    {ARITH_MIN, NULL, "{\"$u64\":\"7\"}", NULL, NULL, false, "{\"$u64\":\"7\"}"},
    /* of a kind */
    {ARITH_SUM, "1", "2", NULL, NULL, false, "3"},
    {ARITH_SUM, "3", "0.5", NULL, NULL, false, "3.5"},
    {ARITH_SUM, "9007199254740991", "2", NULL, NULL, false, "9007199254740992.0"},
    {ARITH_SUM, "{\"$bigint\":\"42\"}", "{\"$bigint\":\"-100\"}", NULL, NULL, false,
     "{\"$bigint\":\"-58\"}"},
    {ARITH_SUM, "{\"$u64\":\"18446744073709551615\"}", "{\"$u64\":\"10\"}", NULL, NULL, false,
     "{\"$u64\":\"9\"}"},
    {ARITH_MIN, "{\"$u64\":\"5\"}", "{\"$u64\":\"9\"}", NULL, NULL, false, "{\"$u64\":\"5\"}"},
    {ARITH_MAX, "{\"$u64\":\"5\"}", "{\"$u64\":\"9\"}", NULL, NULL, false, "{\"$u64\":\"9\"}"},
    /* a counter and a bigint */
    {ARITH_SUM, "{\"$u64\":\"5\"}", "{\"$bigint\":\"2\"}", NULL, NULL, false, "{\"$u64\":\"7\"}"},
    {ARITH_SUM, "{\"$u64\":\"18446744073709551615\"}", "{\"$bigint\":\"10\"}", NULL, NULL, false,
     "{\"$u64\":\"9\"}"},
    {ARITH_SUM, "{\"$u64\":\"1\"}", "{\"$bigint\":\"18446744073709551615\"}", NULL, NULL, false,
     "{\"$u64\":\"0\"}"},
    {ARITH_SUM, "{\"$u64\":\"7\"}", "{\"$bigint\":\"-1\"}", NULL, NULL, false,
     "!Cannot sum KvU64 with BigInt"},
    {ARITH_SUM, "{\"$u64\":\"7\"}", "{\"$bigint\":\"18446744073709551616\"}", NULL, NULL, false,
     "!Cannot sum KvU64 with BigInt"},
    {ARITH_SUM, "{\"$u64\":\"7\"}", "1", NULL, NULL, false, "!Cannot sum KvU64 with Number"},
    {ARITH_SUM, "{\"$u64\":\"7\"}", "{\"$bigint\":\"1\"}", "{\"$bigint\":\"0\"}", NULL, false,
     "!Cannot sum KvU64 with BigInt"},
    /* of different kinds */
    {ARITH_SUM, "{\"$bigint\":\"0\"}", "1", NULL, NULL, false, "!Cannot sum BigInt with Number"},
    {ARITH_SUM, "4", "{\"$bigint\":\"1\"}", NULL, NULL, false, "!Cannot sum Number with BigInt"},
    {ARITH_SUM, "4", "{\"$u64\":\"1\"}", NULL, NULL, false, NO_U64},
    {ARITH_MIN, "\"s\"", "{\"$u64\":\"1\"}", NULL, NULL, false,
     "!Failed to perform 'min' mutation on a non-U64 value in the database"},
    {ARITH_SUM, "\"s\"", "{\"$bigint\":\"1\"}", NULL, NULL, false, "!unsupported value type"},
    {ARITH_SUM, "{\"a\":1}", "1", NULL, NULL, false, "!unsupported value type"},
    {ARITH_SUM, "{\"$bytes\":\"AQ==\"}", "1", NULL, NULL, false, "!unsupported value type"},
    /* operands and bounds that cannot be */
    {ARITH_SUM, NULL, "\"x\"", NULL, NULL, false,
     "!Some of the parameters are not valid V8 values"},
    {ARITH_MIN, NULL, "1", NULL, NULL, false,
     "!Failed to perform 'min' mutation on a non-U64 operand"},
    {ARITH_MAX, "1", "{\"$bigint\":\"1\"}", NULL, NULL, false,
     "!Failed to perform 'max' mutation on a non-U64 operand"},
    {ARITH_SUM, NULL, "1", "{\"$bigint\":\"1\"}", NULL, false,
     "!Min/max parameters have different types than the operand"},
    {ARITH_SUM, NULL, "{\"$u64\":\"1\"}", NULL, "{\"$bigint\":\"1\"}", false,
     "!Cannot use min/max parameters with KvU64 operands"},
    /* bounds */
    {ARITH_SUM, "5", "3", NULL, "8", false, "8"},
    {ARITH_SUM, "5", "3.0", NULL, "8", false, "8.0"},
    {ARITH_SUM, "5", "4", NULL, "8", false, BEYOND},
    {ARITH_SUM, "5", "4", NULL, "8", true, "8"},
    {ARITH_SUM, "5", "-4", "1", NULL, false, "1"},
    {ARITH_SUM, "5", "-5", "1", NULL, false, BEYOND},
    {ARITH_SUM, "5", "-5", "1", "9", true, "1"},
    {ARITH_SUM, "{\"$bigint\":\"5\"}", "{\"$bigint\":\"5\"}", NULL, "{\"$bigint\":\"9\"}", false,
     BEYOND},
};

static struct slice packed(struct buf *b, const char *json)
{
    struct error e;
    buf_init(b);
    if (json == NULL) return slice_of(NULL, 0);
    assert_int_equal(value_from_json(slice_str(json), NULL, b, &e), OK);
    return buf_slice(b);
}

static void check_row(const struct row *row)
{
    struct buf bufs[4];
    struct buf out;
    struct buf text;
    struct error e = {0};
    struct slice old = packed(&bufs[0], row->old);
    struct connect_sum s = {.op = row->op,
                            .operand = packed(&bufs[1], row->operand),
                            .min = packed(&bufs[2], row->min),
                            .max = packed(&bufs[3], row->max),
                            .is_clamped = row->is_clamped};
    buf_init(&out);
    buf_init(&text);
    buf_append_str(&out, "before");
    enum err r = connect_sum_check(&s, &e);
    if (r == OK) r = connect_sum_apply(&s, row->old == NULL ? NULL : &old, &out, &e);
    if (row->wanted[0] == '!') {
        if (r == OK) fail_msg("%s + %s is no error", row->old, row->operand);
        assert_string_equal(e.text, row->wanted + 1);
    } else {
        if (r != OK) fail_msg("%s + %s: %s", row->old, row->operand, e.text);
        assert_memory_equal(out.data, "before", 6);
        value_to_json(slice_of(out.data + 6, out.len - 6), &text);
        struct buf wanted;
        struct buf json;
        buf_init(&json);
        value_to_json(packed(&wanted, row->wanted), &json);
        if (!slice_eq(buf_slice(&text), buf_slice(&json))) {
            fail_msg("%s + %s: %.*s, not %s", row->old, row->operand, (int)text.len,
                     (const char *)text.data, row->wanted);
        }
        buf_fini(&wanted);
        buf_fini(&json);
    }
    for (size_t i = 0; i < 4; i++) buf_fini(&bufs[i]);
    buf_fini(&out);
    buf_fini(&text);
}

static void sums_are_as_deno_computes_them(void **state)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) check_row(&rows[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_as_deno_computes_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
