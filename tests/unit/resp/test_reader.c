/* reader: the rules and texts of Redis, and that it does not matter how bytes arrive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fault.h"
#include "base/random.h"
#include "resp/reader.h"
#include "unit/resp/resp_help.h"

#define BULK_MAX 100000

/* What comes out is `want`, however `input` is cut. */
static void expect_bytes(struct slice input, const char *want)
{
    struct buf out;
    buf_init(&out);
    for (unsigned way = 0; way < 12; way++) {
        size_t piece = way == 0 ? input.len : way <= 3 ? way : 0;
        buf_clear(&out, SIZE_MAX);
        resp_transcript(input, piece, way, BULK_MAX, &out);
        buf_append_byte(&out, '\0');
        assert_string_equal((char *)out.data, want);
    }
    buf_fini(&out);
}

static void expect(const char *input, const char *want)
{
    expect_bytes(slice_str(input), want);
}

static void expect_broken(const char *input, const char *text)
{
    char want[128];
    snprintf(want, sizeof want, "(4:PING)\n!Protocol error: %s\n", text);
    struct buf b;
    buf_init(&b);
    buf_append_str(&b, "*1\r\n$4\r\nPING\r\n");
    buf_append_str(&b, input);
    expect_bytes(buf_slice(&b), want);
    /* Nothing that follows is executed. */
    buf_append_str(&b, "\r\n*1\r\n$4\r\nPING\r\n");
    expect_bytes(buf_slice(&b), want);
    buf_fini(&b);
}

static void commands_are_arrays_of_bulks(void **state)
{
    expect("*1\r\n$4\r\nPING\r\n", "(4:PING)\n");
    expect("*3\r\n$3\r\nSET\r\n$0\r\n\r\n$5\r\na\r\nb\n\r\n", "(3:SET)(0:)(5:a\r\nb\n)\n");
    expect("*2\r\n$3\r\nGET\r\n$12\r\n*1\r\n$4\r\nPI\r\n\r\n", "(3:GET)(12:*1\r\n$4\r\nPI\r\n)\n");
    expect_bytes(slice_of("*1\r\n$3\r\na\0b\r\n", 13), "(3:a");
}

static void empty_lines_and_empty_arrays_are_skipped(void **state)
{
    expect("\r\n\n\r\n*0\r\n*-1\r\n*-10\r\nPING\r\n", "(4:PING)\n");
    expect("   \r\n\t\r\nPING\r\n", "(4:PING)\n");
    expect("*0\r\n", "");
    expect("", "");
}

static void nothing_is_kept_of_an_empty_array(void **state)
{
    static const char *const empty[] = {"*0\r\n", "*-1\r\n", "*0\r\n*0\r\n"};
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        struct resp_reader r;
        struct slice *argv = NULL;
        struct error e;
        size_t room = 0;
        size_t argc = 0;
        resp_reader_init(&r, BULK_MAX);
        uint8_t *p = resp_reader_room(&r, 100, &room);
        memcpy(p, empty[i], strlen(empty[i]));
        resp_reader_fed(&r, strlen(empty[i]));
        assert_int_equal(resp_reader_next(&r, &argv, &argc, &e), RESP_MORE);
        assert_int_equal(resp_reader_buffered(&r), 0);
        resp_reader_fini(&r);
    }
}

static void pipelined_commands_come_one_by_one(void **state)
{
    expect("*1\r\n$1\r\na\r\n*2\r\n$1\r\nb\r\n$1\r\nc\r\ninline d\r\n*1\r\n$1\r\ne\r\n",
           "(1:a)\n(1:b)(1:c)\n(6:inline)(1:d)\n(1:e)\n");
}

static void an_incomplete_command_waits(void **state)
{
    const char *whole = "*2\r\n$4\r\nPING\r\n$2\r\nxy\r\n";
    for (size_t len = 0; len < strlen(whole); len++) expect_bytes(slice_of(whole, len), "");
    expect(whole, "(4:PING)(2:xy)\n");
}

static void inline_commands_are_split_like_a_shell(void **state)
{
    expect("set a b\r\n", "(3:set)(1:a)(1:b)\n");
    expect("set a b\n", "(3:set)(1:a)(1:b)\n");
    expect("  set\t a  b  \r\n", "(3:set)(1:a)(1:b)\n");
    expect("echo \"hello world\"\r\n", "(4:echo)(11:hello world)\n");
    expect("echo \"\" ''\r\n", "(4:echo)(0:)(0:)\n");
    expect("echo 'a b' \"c d\"\r\n", "(4:echo)(3:a b)(3:c d)\n");
    expect("echo pre\"fix a\"\r\n", "(4:echo)(8:prefix a)\n");
}

static void double_quotes_know_escapes_and_single_ones_only_their_own(void **state)
{
    expect("e \"\\n\\r\\t\\b\\a\"\r\n", "(1:e)(5:\n\r\t\b\a)\n");
    expect("e \"\\x41\\x7a\\\"\\\\\\q\"\r\n", "(1:e)(5:Az\"\\q)\n");
    expect("e \"\\x41\"\r\n", "(1:e)(1:A)\n");
    expect("e \"\\xZZ\\x4\"\r\n", "(1:e)(5:xZZx4)\n");
    expect("e '\\n\\'\\x41\"'\r\n", "(1:e)(8:\\n'\\x41\")\n");
    expect("e a\\n\r\n", "(1:e)(3:a\\n)\n");
}

static void unbalanced_quotes_end_the_connection(void **state)
{
    expect_broken("e \"abc\r\n", "unbalanced quotes in request");
    expect_broken("e 'abc\r\n", "unbalanced quotes in request");
    expect_broken("e \"abc\"d\r\n", "unbalanced quotes in request");
    expect_broken("e 'abc'd\r\n", "unbalanced quotes in request");
    expect_broken("e \"abc\\\"\r\n", "unbalanced quotes in request");
    expect_broken("e 'abc\\'\r\n", "unbalanced quotes in request");
}

static void bad_counts_end_the_connection(void **state)
{
    static const char *const counts[] = {
        "*abc\r\n", "*\r\n",   "* 1\r\n",      "*+1\r\n",         "*01\r\n",
        "*1 \r\n",  "*1x\r\n", "*-\r\n",       "*--1\r\n",        "*1.0\r\n",
        "*00\r\n",  "*-0\r\n", "*1048577\r\n", "*2147483648\r\n", "*99999999999999999999999\r\n"};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        expect_broken(counts[i], "invalid multibulk length");
    }
}

static void bad_bulk_lengths_end_the_connection(void **state)
{
    static const char *const lengths[] = {
        "$-1\r\n", "$abc\r\n", "$\r\n",       "$ 1\r\n",         "$+1\r\n",
        "$01\r\n", "$-0\r\n",  "$100001\r\n", "$9999999999\r\n", "$99999999999999999999\r\n"};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char input[64];
        snprintf(input, sizeof input, "*2\r\n$1\r\na\r\n%s", lengths[i]);
        expect_broken(input, "invalid bulk length");
    }
}

static enum resp_result limited(const char *input, const char **text)
{
    static struct error e;
    struct resp_reader r;
    struct slice *argv;
    size_t argc;
    size_t len;
    resp_reader_init(&r, 1 << 20);
    r.is_limited = true;
    uint8_t *room = resp_reader_room(&r, strlen(input), &len);
    memcpy(room, input, strlen(input));
    resp_reader_fed(&r, strlen(input));
    enum resp_result result = resp_reader_next(&r, &argv, &argc, &e);
    resp_reader_fini(&r);
    *text = e.text;
    return result;
}

static void who_is_nobody_yet_has_few_and_small_words(void **state)
{
    static char line[RESP_LIMITED_BULK_BYTES_MAX + 10];
    const char *text;
    assert_int_equal(limited("*10\r\n$1\r\na\r\n", &text), RESP_MORE);
    assert_int_equal(limited("*11\r\n", &text), RESP_BROKEN);
    assert_non_null(strstr(text, "unauthenticated multibulk length"));
    assert_int_equal(limited("*1\r\n$16384\r\n", &text), RESP_MORE);
    assert_int_equal(limited("*1\r\n$16385\r\n", &text), RESP_BROKEN);
    assert_non_null(strstr(text, "unauthenticated bulk length"));
    assert_int_equal(limited("1 2 3 4 5 6 7 8 9 10\r\n", &text), RESP_COMMAND);
    assert_int_equal(limited("1 2 3 4 5 6 7 8 9 10 11\r\n", &text), RESP_BROKEN);
    memset(line, 'a', sizeof line - 3);
    memcpy(line + sizeof line - 3, "\r\n", 3);
    assert_int_equal(limited(line, &text), RESP_BROKEN);
    assert_non_null(strstr(text, "unauthenticated bulk length"));
}

static void a_missing_dollar_is_named(void **state)
{
    expect_broken("*1\r\nfoo\r\n", "expected '$', got 'f'");
    expect_broken("*2\r\n$1\r\na\r\n*1\r\n", "expected '$', got '*'");
    expect_broken("*1\r\n\r\n", "expected '$', got ' '");
    expect_broken("*1\r\n\x80\r\n", "expected '$', got ' '");
}

static void what_follows_a_bulk_must_be_a_line_end(void **state)
{
    expect_broken("*1\r\n$1\r\nabc", "expected CRLF after bulk");
    expect_broken("*1\r\n$1\r\na\n\n", "expected CRLF after bulk");
}

static struct slice many(struct buf *b, const char *before, char c, size_t count,
                         const char *behind)
{
    buf_clear(b, SIZE_MAX);
    buf_append_str(b, before);
    for (size_t i = 0; i < count; i++) buf_append_byte(b, (uint8_t)c);
    buf_append_str(b, behind);
    return buf_slice(b);
}

/* Fed whole and byte by byte only: long lines are slow. */
static void expect_long(struct slice input, const char *want)
{
    struct buf out;
    buf_init(&out);
    for (unsigned way = 0; way < 3; way++) {
        buf_clear(&out, SIZE_MAX);
        resp_transcript(input, way == 0 ? input.len : way == 1 ? 1 : 0, 5, BULK_MAX, &out);
        buf_append_byte(&out, '\0');
        assert_int_equal(strncmp((char *)out.data, want, strlen(want)), 0);
    }
    buf_fini(&out);
}

static void lines_without_an_end_are_bounded(void **state)
{
    struct buf b;
    buf_init(&b);
    expect_long(many(&b, "", 'x', RESP_INLINE_BYTES_MAX + 3, ""),
                "!Protocol error: too big inline request\n");
    expect_long(many(&b, "*", '1', RESP_INLINE_BYTES_MAX + 3, ""),
                "!Protocol error: too big mbulk count string\n");
    expect_long(many(&b, "*1\r\n$", '1', RESP_INLINE_BYTES_MAX + 3, ""),
                "!Protocol error: too big bulk count string\n");
    expect_long(many(&b, "", 'x', RESP_INLINE_BYTES_MAX + 1, "\r\n"),
                "!Protocol error: too big inline request\n");
    expect_long(many(&b, "", 'x', RESP_INLINE_BYTES_MAX + 1, "\n"),
                "!Protocol error: too big inline request\n");
    buf_fini(&b);
}

static void the_longest_inline_line_is_read_however_it_arrives(void **state)
{
    struct buf b;
    buf_init(&b);
    expect_long(many(&b, "", 'x', RESP_INLINE_BYTES_MAX, "\r\n"), "(65536:xxxx");
    expect_long(many(&b, "", 'x', RESP_INLINE_BYTES_MAX, "\n"), "(65536:xxxx");
    buf_fini(&b);
}

static void the_largest_bulk_is_read(void **state)
{
    struct buf b;
    buf_init(&b);
    expect_long(many(&b, "*1\r\n$100000\r\n", 'x', BULK_MAX, "\r\n"), "(100000:xxxx");
    buf_fini(&b);
}

/* A header that announces much allocates nothing. */
static void announced_counts_cost_no_memory(void **state)
{
    struct resp_reader r;
    struct slice *argv = NULL;
    size_t argc = 0;
    size_t room = 0;
    struct error e;
    resp_reader_init(&r, 1u << 29);
    const char *input = "*1048576\r\n$536870912\r\nabc";
    memcpy(resp_reader_room(&r, strlen(input), &room), input, strlen(input));
    resp_reader_fed(&r, strlen(input));
    assert_int_equal(resp_reader_next(&r, &argv, &argc, &e), RESP_MORE);
    assert_true(r.in.cap < 100000);
    assert_true(r.args_cap < 1000);
    assert_int_equal(resp_reader_missing(&r), 536870912 + 2 - 3);
    assert_int_equal(resp_reader_buffered(&r), strlen(input));
    resp_reader_fini(&r);
}

static void feed(struct resp_reader *r, const char *text)
{
    size_t room = 0;
    uint8_t *p = resp_reader_room(r, strlen(text), &room);
    assert_true(p != NULL && room >= strlen(text));
    memcpy(p, text, strlen(text));
    resp_reader_fed(r, strlen(text));
}

static void what_a_bulk_still_needs_is_known(void **state)
{
    struct resp_reader r;
    struct slice *argv = NULL;
    size_t argc = 0;
    struct error e;
    resp_reader_init(&r, BULK_MAX);
    assert_int_equal(resp_reader_missing(&r), 0);
    feed(&r, "*1\r\n$10\r\n");
    assert_int_equal(resp_reader_next(&r, &argv, &argc, &e), RESP_MORE);
    assert_int_equal(resp_reader_missing(&r), 12);
    feed(&r, "0123456789");
    assert_int_equal(resp_reader_missing(&r), 2);
    feed(&r, "\r\n");
    assert_int_equal(resp_reader_missing(&r), 0);
    assert_int_equal(resp_reader_next(&r, &argv, &argc, &e), RESP_COMMAND);
    resp_reader_fini(&r);
}

/* Inputs made of likely pieces, cut anywhere. */
static void random_input_gives_the_same_commands_however_it_is_cut(void **state)
{
    static const char *const pieces[] = {"*1\r\n",
                                         "*2\r\n",
                                         "*3\r\n",
                                         "$1\r\na\r\n",
                                         "$3\r\nabc\r\n",
                                         "$0\r\n\r\n",
                                         "\r\n",
                                         "\n",
                                         "PING\r\n",
                                         "a \"b\\x41\" 'c'\r\n",
                                         "*0\r\n",
                                         "*-1\r\n",
                                         "$",
                                         "*",
                                         "12",
                                         "\r",
                                         " ",
                                         "\"",
                                         "$10\r\n0123456789\r\n",
                                         "set k v\n",
                                         "*1\n$1\na\r\n",
                                         "*12\r\n",
                                         "x"};
    struct buf input;
    struct buf whole;
    struct buf cut;
    struct rng rng;
    buf_init(&input);
    buf_init(&whole);
    buf_init(&cut);
    rng_init(&rng, 1);
    size_t commands = 0;
    for (unsigned i = 0; i < 20000; i++) {
        buf_clear(&input, SIZE_MAX);
        buf_clear(&whole, SIZE_MAX);
        size_t count = 1 + rng_below(&rng, 12);
        while (count-- > 0) {
            buf_append_str(&input, pieces[rng_below(&rng, sizeof pieces / sizeof pieces[0])]);
        }
        resp_transcript(buf_slice(&input), input.len, 0, 1000, &whole);
        commands += whole.len > 0 && whole.data[0] == '(';
        for (size_t piece = 0; piece < 3; piece++) {
            buf_clear(&cut, SIZE_MAX);
            resp_transcript(buf_slice(&input), piece, i, 1000, &cut);
            assert_true(slice_eq(buf_slice(&whole), buf_slice(&cut)));
        }
    }
    assert_true(commands > 1000);
    buf_fini(&input);
    buf_fini(&whole);
    buf_fini(&cut);
}

/* Without memory there is no room or an error, never a command that was not sent. */
static void lost_memory_never_makes_another_command(void **state)
{
    struct buf b;
    buf_init(&b);
    (void)many(&b, "echo ", 'x', 3000, " end\r\n");
    bool was_hit = true;
    for (unsigned nth = 1; was_hit; nth++) {
        struct resp_reader r;
        struct slice *argv = NULL;
        size_t argc = 0;
        size_t room = 0;
        struct error e;
        enum resp_result result = RESP_BROKEN;
        resp_reader_init(&r, BULK_MAX);
        fault_arm("mem.try", nth, false);
        uint8_t *p = resp_reader_room(&r, b.len, &room);
        if (p != NULL) {
            memcpy(p, b.data, b.len);
            resp_reader_fed(&r, b.len);
            result = resp_reader_next(&r, &argv, &argc, &e);
        }
        was_hit = fault_was_hit();
        fault_arm("", 0, false);
        assert_int_equal(result, was_hit ? RESP_BROKEN : RESP_COMMAND);
        if (!was_hit) assert_int_equal(argc == 3 ? argv[1].len : 0, 3000);
        resp_reader_fini(&r);
    }
    buf_fini(&b);
}

static struct resp_reader reader_of(const char *input)
{
    struct resp_reader r;
    size_t room = 0;
    resp_reader_init(&r, BULK_MAX);
    uint8_t *p = resp_reader_room(&r, strlen(input), &room);
    memcpy(p, input, strlen(input));
    resp_reader_fed(&r, strlen(input));
    return r;
}

/* That the words are those of the command is checked with every transcript. */
static void whole_commands_can_be_looked_at_without_taking_them(void **state)
{
    struct slice words[2];
    struct slice *argv = NULL;
    struct error e;
    size_t argc = 0;
    size_t at = 0;
    struct resp_reader r = reader_of("*1\r\n$4\r\nPING\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n"
                                     "vv\r\n*2\r\n$3\r\nGET\r\n$5\r\nk");
    assert_int_equal(resp_reader_peek(&r, &at, words, 2), 1);
    assert_true(slice_eq(words[0], slice_str("PING")));
    assert_int_equal(at, 14);
    assert_int_equal(resp_reader_peek(&r, &at, words, 2), 2);
    assert_true(slice_eq(words[0], slice_str("SET")) && slice_eq(words[1], slice_str("k")));
    size_t end = at;
    assert_int_equal(resp_reader_peek(&r, &at, words, 2), 0); /* it is not whole */
    assert_int_equal(at, end);
    assert_int_equal(resp_reader_next(&r, &argv, &argc, &e), RESP_COMMAND);
    at = 0;
    assert_int_equal(resp_reader_peek(&r, &at, words, 2), 2); /* counted from what is left */
    assert_true(slice_eq(words[0], slice_str("SET")));
    resp_reader_fini(&r);
}

static void take_all(struct resp_reader *r, size_t commands)
{
    struct slice *argv = NULL;
    struct error e;
    size_t argc = 0;
    for (size_t i = 0; i < commands; i++) {
        assert_int_equal(resp_reader_next(r, &argv, &argc, &e), RESP_COMMAND);
    }
    assert_int_equal(resp_reader_next(r, &argv, &argc, &e), RESP_MORE);
}

/* What is read is compared by every transcript, half of which give the buffers away. */
static void a_reader_without_a_command_needs_no_buffers(void **state)
{
    struct resp_spares spares = {.count = 0};
    struct resp_reader readers[RESP_SPARES + 3];
    size_t count = sizeof readers / sizeof readers[0];
    for (size_t i = 0; i < count; i++) {
        readers[i] = reader_of("*1\r\n$4\r\nPING\r\nGET \"a\"\r\n");
        take_all(&readers[i], 2);
    }
    for (size_t i = 0; i < count; i++) {
        resp_reader_give(&readers[i], &spares);
        assert_int_equal(resp_reader_held(&readers[i]), 0);
    }
    assert_int_equal(spares.count, RESP_SPARES);
    for (size_t i = 0; i < count; i++) {
        resp_reader_take(&readers[i], &spares);
        assert_int_equal(resp_reader_held(&readers[i]) > 0, i < RESP_SPARES);
    }
    for (size_t i = 0; i < count; i++) {
        resp_reader_give(&readers[i], &spares);
        resp_reader_fini(&readers[i]);
    }
    assert_int_equal(spares.count, RESP_SPARES);
    resp_spares_fini(&spares);
}

static void buffers_that_are_needed_or_large_are_not_given(void **state)
{
    struct resp_spares spares = {.count = 0};
    struct buf b;
    struct resp_reader r = reader_of("*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPI");
    take_all(&r, 1);
    resp_reader_give(&r, &spares);
    assert_int_equal(spares.count, 0);
    assert_int_equal(resp_reader_buffered(&r), 10);
    resp_reader_fini(&r);
    buf_init(&b);
    buf_append_str(&b, "*1\r\n$50000\r\n");
    for (int i = 0; i < 50000; i++) buf_append_byte(&b, 'x');
    buf_append_str(&b, "\r\n");
    buf_append_byte(&b, '\0');
    r = reader_of((const char *)b.data);
    take_all(&r, 1);
    resp_reader_give(&r, &spares);
    assert_int_equal(resp_reader_held(&r), 0);
    assert_int_equal(spares.count, 0);
    resp_reader_fini(&r);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_commands_can_be_looked_at_without_taking_them),
        cmocka_unit_test(a_reader_without_a_command_needs_no_buffers),
        cmocka_unit_test(buffers_that_are_needed_or_large_are_not_given),
        cmocka_unit_test(commands_are_arrays_of_bulks),
        cmocka_unit_test(empty_lines_and_empty_arrays_are_skipped),
        cmocka_unit_test(nothing_is_kept_of_an_empty_array),
        cmocka_unit_test(pipelined_commands_come_one_by_one),
        cmocka_unit_test(an_incomplete_command_waits),
        cmocka_unit_test(inline_commands_are_split_like_a_shell),
        cmocka_unit_test(double_quotes_know_escapes_and_single_ones_only_their_own),
        cmocka_unit_test(unbalanced_quotes_end_the_connection),
        cmocka_unit_test(bad_counts_end_the_connection),
        cmocka_unit_test(bad_bulk_lengths_end_the_connection),
        cmocka_unit_test(who_is_nobody_yet_has_few_and_small_words),
        cmocka_unit_test(a_missing_dollar_is_named),
        cmocka_unit_test(what_follows_a_bulk_must_be_a_line_end),
        cmocka_unit_test(lines_without_an_end_are_bounded),
        cmocka_unit_test(the_longest_inline_line_is_read_however_it_arrives),
        cmocka_unit_test(the_largest_bulk_is_read),
        cmocka_unit_test(announced_counts_cost_no_memory),
        cmocka_unit_test(what_a_bulk_still_needs_is_known),
        cmocka_unit_test(random_input_gives_the_same_commands_however_it_is_cut),
        cmocka_unit_test(lost_memory_never_makes_another_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
