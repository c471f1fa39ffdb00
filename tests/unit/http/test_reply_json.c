/* reply_json: replies of commands as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "http/reply_json.h"

#define S(text) slice_of(text, sizeof(text) - 1)

static void expect_bytes(struct slice reply, bool is_base64, const char *wanted)
{
    struct buf out;
    struct error e = {.text = ""};
    buf_init(&out);
    buf_append_str(&out, "before ");
    if (reply_to_json(reply, is_base64, &out, &e) != OK) fail_msg("%s", e.text);
    buf_append_byte(&out, '\0');
    assert_string_equal((char *)out.data + 7, wanted);
    buf_fini(&out);
}

static void expect(const char *reply, const char *wanted)
{
    expect_bytes(slice_str(reply), false, wanted);
}

static void expect_refused(struct slice reply, const char *text)
{
    struct buf out;
    struct error e = {.text = ""};
    buf_init(&out);
    buf_append_str(&out, "before");
    assert_int_equal(reply_to_json(reply, false, &out, &e), ERR_VALUE);
    assert_non_null(strstr(e.text, text));
    assert_true(slice_eq(buf_slice(&out), S("before")));
    buf_fini(&out);
}

static void scalars_have_their_form(void **state)
{
    expect("+OK\r\n", "\"OK\"");
    expect("$0\r\n\r\n", "\"\"");
    expect("$3\r\na\"b\r\n", "\"a\\\"b\"");
    expect_bytes(S("$3\r\na\0b\r\n"), false, "\"a\\u0000b\"");
    expect(":-42\r\n", "-42");
    expect(":9223372036854775807\r\n", "9223372036854775807");
    expect("$-1\r\n", "null");
    expect("*-1\r\n", "null");
    expect("_\r\n", "null");
    expect("#t\r\n", "true");
    expect("#f\r\n", "false");
    expect(",1.5e3\r\n", "1.5e3");
    expect(",inf\r\n", "\"inf\"");
    expect(",-inf\r\n", "\"-inf\"");
    expect(",nan\r\n", "\"nan\"");
    expect("=7\r\ntxt:abc\r\n", "\"abc\"");
}

static void aggregates_nest(void **state)
{
    expect("*0\r\n", "[]");
    expect("*2\r\n*0\r\n*0\r\n", "[[],[]]");
    expect("*3\r\n:1\r\n*2\r\n$-1\r\n$1\r\na\r\n*0\r\n", "[1,[null,\"a\"],[]]");
    expect("~1\r\n:1\r\n", "[1]");
    expect(">2\r\n+a\r\n:1\r\n", "[\"a\",1]");
    expect("%0\r\n", "{}");
    expect("%2\r\n+a\r\n:1\r\n$1\r\nb\r\n%1\r\n+c\r\n*1\r\n:2\r\n", "{\"a\":1,\"b\":{\"c\":[2]}}");
    expect("*2\r\n%1\r\n+a\r\n:1\r\n:2\r\n", "[{\"a\":1},2]");
}

static void only_one_reply_is_taken(void **state)
{
    expect(":1\r\n:2\r\n", "1");
}

static void texts_are_base64_when_asked(void **state)
{
    expect_bytes(S("$2\r\nOK\r\n"), true, "\"T0s=\"");
    expect_bytes(S("+OK\r\n"), true, "\"OK\"");
    expect_bytes(S("+QUEUED\r\n"), true, "\"UVVFVUVE\"");
    expect_bytes(S("*4\r\n$2\r\n\xff\x00\r\n:1\r\n$-1\r\n$0\r\n\r\n"), true,
                 "[\"/wA=\",1,null,\"\"]");
}

static void what_is_no_utf8_is_refused(void **state)
{
    expect_refused(S("$1\r\n\xff\r\n"), "Upstash-Encoding: base64");
    expect_refused(S("*2\r\n$1\r\na\r\n$1\r\n\x80\r\n"), "UTF-8");
    expect_refused(S("$2\r\n\xc0\x80\r\n"), "UTF-8");
}

static void what_is_not_whole_is_refused(void **state)
{
    expect_refused(S(""), "incomplete");
    expect_refused(S("*2\r\n:1\r\n"), "incomplete");
    expect_refused(S("$5\r\nab\r\n"), "incomplete");
}

static void nesting_is_bounded(void **state)
{
    struct buf b;
    buf_init(&b);
    for (int deep = 31; deep <= 32; deep++) {
        struct buf out;
        struct error e;
        buf_init(&out);
        buf_clear(&b, SIZE_MAX);
        for (int i = 0; i < deep; i++) buf_append_str(&b, "*1\r\n");
        buf_append_str(&b, ":1\r\n");
        assert_int_equal(reply_to_json(buf_slice(&b), false, &out, &e) == OK, deep == 31);
        buf_fini(&out);
    }
    buf_fini(&b);
}

static void expect_shape(const char *shape, const char *reply, const char *wanted)
{
    struct buf out;
    struct slice rest = slice_str(reply);
    buf_init(&out);
    shape_write(shape, &rest, &out);
    buf_append_byte(&out, '\0');
    assert_string_equal((char *)out.data, wanted);
    assert_int_equal(rest.len, 0);
    buf_fini(&out);
}

static void a_shape_names_what_a_reply_has_in_order(void **state)
{
    expect_shape("{key! value! versionstamp}", "*3\r\n$5\r\n[\"k\"]\r\n$1\r\n7\r\n$2\r\nvs\r\n",
                 "{\"key\":[\"k\"],\"value\":7,\"versionstamp\":\"vs\"}");
    expect_shape("{id n s?}", "*3\r\n$-1\r\n:5\r\n:0\r\n", "{\"id\":null,\"n\":5,\"s\":false}");
    expect_shape("{a b}", "*1\r\n:1\r\n", "{\"a\":1}");
    expect_shape("{a}", "*3\r\n:1\r\n*2\r\n:2\r\n:3\r\n:4\r\n", "{\"a\":1}");
    expect_shape("names:[$]", "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "{\"names\":[\"a\",\"b\"]}");
    expect_shape("count:#", ":7\r\n", "{\"count\":7}");
    expect_shape("score:#", "$3\r\n1.5\r\n", "{\"score\":1.5}");
    expect_shape("[[$]]", "*2\r\n*0\r\n*1\r\n$1\r\na\r\n", "[[],[\"a\"]]");
    expect_shape("[!]", "*0\r\n", "[]");
    expect_shape("x:.", "*2\r\n*1\r\n:1\r\n$1\r\nb\r\n", "{\"x\":[[1],\"b\"]}");
}

static void a_group_is_an_object_of_items_of_the_same_array(void **state)
{
    expect_shape(
        "hits:[{entry:(key! value!) score# texts:%}]",
        "*1\r\n*4\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n*2\r\n$1\r\nt\r\n$1\r\nx\r\n",
        "{\"hits\":[{\"entry\":{\"key\":1,\"value\":2},\"score\":3,\"texts\":{\"t\":\"x\"}}]}");
    expect_shape("{a:(b c:(d e)) f}", "*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n",
                 "{\"a\":{\"b\":1,\"c\":{\"d\":2,\"e\":3}},\"f\":4}");
    expect_shape("{a:(b c)}", "*1\r\n:1\r\n", "{\"a\":{\"b\":1}}");
}

static void a_cursor_comes_last_and_says_whether_there_is_more(void **state)
{
    expect_shape("{~ keys:[!]}", "*2\r\n$1\r\n0\r\n*1\r\n$1\r\n1\r\n",
                 "{\"keys\":[1],\"cursor\":null,\"hasMore\":false}");
    expect_shape("{~ keys:[!]}", "*2\r\n$2\r\nAb\r\n*0\r\n",
                 "{\"keys\":[],\"cursor\":\"Ab\",\"hasMore\":true}");
}

static void names_and_values_in_turn_are_an_object(void **state)
{
    expect_shape(
        "%{prefix! unique?}",
        "*8\r\n$6\r\nprefix\r\n$3\r\n[1]\r\n$6\r\nunique\r\n:1\r\n$9\r\noldest-ms\r\n:4\r\n"
        "$5\r\npaths\r\n*1\r\n$1\r\na\r\n",
        "{\"prefix\":[1],\"unique\":true,\"oldestMs\":4,\"paths\":[\"a\"]}");
    expect_shape("%", "%1\r\n+a\r\n:1\r\n", "{\"a\":1}");
}

static void errors_and_texts_are_known(void **state)
{
    struct slice text;
    assert_true(reply_is_error(S("-ERR why\r\n"), &text));
    assert_true(slice_eq(text, S("ERR why")));
    assert_false(reply_is_error(S("+OK\r\n"), &text));
    assert_false(reply_is_error(S(""), &text));
    assert_false(reply_is_error(S("$4\r\n-ERR\r\n"), &text));
    assert_true(slice_eq(reply_text(S("$2\r\nab\r\n")), S("ab")));
    assert_true(slice_eq(reply_text(S("+ab\r\n")), S("ab")));
    assert_true(slice_eq(reply_text(S("=6\r\ntxt:ab\r\n")), S("ab")));
    assert_null(reply_text(S("$-1\r\n")).data);
    assert_null(reply_text(S(":1\r\n")).data);
    assert_null(reply_text(S("*0\r\n")).data);
    assert_null(reply_text(S("")).data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_have_their_form),
        cmocka_unit_test(aggregates_nest),
        cmocka_unit_test(only_one_reply_is_taken),
        cmocka_unit_test(texts_are_base64_when_asked),
        cmocka_unit_test(what_is_no_utf8_is_refused),
        cmocka_unit_test(what_is_not_whole_is_refused),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(a_shape_names_what_a_reply_has_in_order),
        cmocka_unit_test(a_group_is_an_object_of_items_of_the_same_array),
        cmocka_unit_test(a_cursor_comes_last_and_says_whether_there_is_more),
        cmocka_unit_test(names_and_values_in_turn_are_an_object),
        cmocka_unit_test(errors_and_texts_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
