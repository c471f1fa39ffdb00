/* writer: the exact bytes of every shape, in both protocols. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fault.h"
#include "resp/writer.h"

static struct buf out;
static struct resp_writer w2 = {.out = &out, .proto = 2};
static struct resp_writer w3 = {.out = &out, .proto = 3};

static void expect(const char *text)
{
    assert_false(out.is_failed);
    buf_append_byte(&out, '\0');
    assert_string_equal((char *)out.data, text);
    buf_fini(&out);
}

/* What differs not. */
static void scalars_are_the_same_in_both_protocols(void **state)
{
    struct resp_writer *writers[] = {&w2, &w3};
    for (int i = 0; i < 2; i++) {
        struct resp_writer *w = writers[i];
        resp_simple(w, "OK");
        expect("+OK\r\n");
        resp_int(w, 0);
        resp_int(w, -5);
        resp_int(w, INT64_MAX);
        resp_int(w, INT64_MIN);
        expect(":0\r\n:-5\r\n:9223372036854775807\r\n:-9223372036854775808\r\n");
        resp_bulk(w, slice_str("hello"));
        resp_bulk(w, slice_of(NULL, 0));
        resp_bulk(w, slice_str("a\r\nb"));
        resp_bulk_str(w, "text");
        expect("$5\r\nhello\r\n$0\r\n\r\n$4\r\na\r\nb\r\n$4\r\ntext\r\n");
        resp_bulk_u64(w, 0);
        resp_bulk_u64(w, UINT64_MAX);
        expect("$1\r\n0\r\n$20\r\n18446744073709551615\r\n");
        resp_array(w, 0);
        resp_array(w, 12);
        expect("*0\r\n*12\r\n");
    }
}

static void numbers_with_a_point_and_truths_differ(void **state)
{
    resp_double(&w2, 3.141);
    resp_double(&w2, -0.1);
    resp_double(&w2, 1e300);
    resp_double(&w2, 1.0 / 3);
    resp_bool(&w2, true);
    resp_bool(&w2, false);
    expect("$5\r\n3.141\r\n$4\r\n-0.1\r\n$6\r\n1e+300\r\n$19\r\n0.33333333333333331\r\n"
           ":1\r\n:0\r\n");
    resp_double(&w3, 3.141);
    resp_double(&w3, 10);
    resp_double(&w3, INFINITY);
    resp_double(&w3, -INFINITY);
    resp_double(&w3, NAN);
    resp_bool(&w3, true);
    resp_bool(&w3, false);
    expect(",3.141\r\n,10\r\n,inf\r\n,-inf\r\n,nan\r\n#t\r\n#f\r\n");
}

static void pushes_are_arrays_in_resp2(void **state)
{
    resp_push(&w2, 3);
    expect("*3\r\n");
    resp_push(&w3, 3);
    expect(">3\r\n");
}

static void missing_values_differ(void **state)
{
    resp_nil(&w2);
    resp_nil_array(&w2);
    expect("$-1\r\n*-1\r\n");
    resp_nil(&w3);
    resp_nil_array(&w3);
    expect("_\r\n_\r\n");
}

static void maps_sets_and_text_differ(void **state)
{
    resp_map(&w2, 3);
    resp_set(&w2, 3);
    resp_text(&w2, slice_str("for people"));
    expect("*6\r\n*3\r\n$10\r\nfor people\r\n");
    resp_map(&w3, 3);
    resp_set(&w3, 3);
    resp_text(&w3, slice_str("for people"));
    resp_text(&w3, slice_str(""));
    expect("%3\r\n~3\r\n=14\r\ntxt:for people\r\n=4\r\ntxt:\r\n");
}

static void an_error_has_its_prefix_and_stays_on_one_line(void **state)
{
    struct error e;
    (void)error_set(&e, ERR_TYPE, "wrong %s\r\n+OK", "type");
    resp_error(&w2, &e);
    expect("-WRONGTYPE wrong type  +OK\r\n");
    (void)error_set(&e, ERR_SYNTAX, "no");
    resp_error(&w3, &e);
    expect("-ERR no\r\n");
    resp_error_line(&w2, "NOAUTH a\r\nb\tc");
    expect("-NOAUTH a  b c\r\n");
}

static void a_bulk_of_unknown_length_gets_the_right_header(void **state)
{
    static const size_t lengths[] = {0, 1, 9, 10, 99, 100, 101, 999, 1000, 9999, 10000, 100000};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char header[32];
        buf_append_str(&out, "before");
        struct resp_mark mark = resp_bulk_begin(&w2, 100);
        for (size_t k = 0; k < lengths[i]; k++) buf_append_byte(&out, (uint8_t)('a' + k % 26));
        resp_bulk_end(&w2, mark);
        resp_simple(&w2, "after");
        int n = snprintf(header, sizeof header, "before$%zu\r\n", lengths[i]);
        assert_int_equal(out.len, (size_t)n + lengths[i] + 2 + 8);
        assert_memory_equal(out.data, header, n);
        for (size_t k = 0; k < lengths[i]; k++) assert_true(out.data[n + k] == 'a' + k % 26);
        assert_memory_equal(out.data + n + lengths[i], "\r\n+after\r\n", 10);
        buf_fini(&out);
    }
}

static void bulks_of_unknown_length_follow_each_other(void **state)
{
    for (int i = 0; i < 3; i++) {
        struct resp_mark mark = resp_bulk_begin(&w3, 100);
        for (int k = 0; k < i; k++) buf_append_str(&out, "0123456789");
        resp_bulk_end(&w3, mark);
    }
    expect("$0\r\n\r\n$10\r\n0123456789\r\n$20\r\n01234567890123456789\r\n");
}

static void write_all(struct resp_writer *w)
{
    struct error e;
    static uint8_t big[5000];
    (void)error_set(&e, ERR_IO, "text");
    resp_map(w, 2);
    resp_simple(w, "OK");
    resp_error(w, &e);
    resp_error_line(w, "ERR x");
    resp_int(w, -1);
    resp_text(w, slice_of(big, sizeof big));
    struct resp_mark mark = resp_bulk_begin(w, 100);
    buf_append(w->out, big, 300);
    resp_bulk_end(w, mark);
    mark = resp_bulk_begin(w, 1000);
    buf_append(w->out, big, sizeof big);
    resp_bulk_end(w, mark);
    resp_bulk(w, slice_of(big, sizeof big));
    resp_set(w, 1);
    resp_nil(w);
    resp_nil_array(w);
}

/* A reply that was kept in RESP2 is told in the protocol of who asks now. */
static void a_kept_reply_is_told_in_either_protocol(void **state)
{
    struct slice kept = slice_str("*4\r\n$-1\r\n*-1\r\n$5\r\n$-1\r\n\r\n:-1\r\n");
    resp_replay(&w2, kept);
    expect("*4\r\n$-1\r\n*-1\r\n$5\r\n$-1\r\n\r\n:-1\r\n");
    resp_replay(&w3, kept);
    expect("*4\r\n_\r\n_\r\n$5\r\n$-1\r\n\r\n:-1\r\n");
}

static void lost_memory_sticks_to_the_end(void **state)
{
    unsigned failures = 0;
    bool was_hit = true;
    for (unsigned nth = 1; was_hit; nth++) {
        fault_arm("mem.try", nth, false);
        write_all(nth % 2 == 0 ? &w2 : &w3);
        was_hit = fault_was_hit();
        fault_arm("", 0, false);
        assert_int_equal(out.is_failed, was_hit);
        failures += was_hit;
        buf_fini(&out);
    }
    assert_true(failures > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_are_the_same_in_both_protocols),
        cmocka_unit_test(numbers_with_a_point_and_truths_differ),
        cmocka_unit_test(pushes_are_arrays_in_resp2),
        cmocka_unit_test(missing_values_differ),
        cmocka_unit_test(maps_sets_and_text_differ),
        cmocka_unit_test(an_error_has_its_prefix_and_stays_on_one_line),
        cmocka_unit_test(a_bulk_of_unknown_length_gets_the_right_header),
        cmocka_unit_test(bulks_of_unknown_length_follow_each_other),
        cmocka_unit_test(a_kept_reply_is_told_in_either_protocol),
        cmocka_unit_test(lost_memory_sticks_to_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
