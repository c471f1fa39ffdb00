/* json_body: a text is checked as a whole, then its parts are found as they were written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/random.h"
#include "http/json_body.h"

#define S(text) slice_of(text, sizeof(text) - 1)

static struct json_part checked(const char *text)
{
    struct json_part p = {0};
    struct error e = {.text = ""};
    if (json_check(slice_str(text), &p, &e) != OK) fail_msg("%s: %s", text, e.text);
    return p;
}

static void assert_slice(struct slice s, const char *wanted)
{
    if (s.data == NULL || !slice_eq(s, slice_str(wanted))) {
        fail_msg("'%.*s', not '%s'", (int)s.len, (const char *)s.data, wanted);
    }
}

static void a_text_is_one_value(void **state)
{
    static const struct {
        const char *text, *raw;
        enum json_kind kind;
    } good[] = {{"null", "null", JSON_NULL},
                {" true\n", "true", JSON_BOOL},
                {"false", "false", JSON_BOOL},
                {"\t-0.5e+7 ", "-0.5e+7", JSON_NUMBER},
                {"12", "12", JSON_NUMBER},
                {"\"\"", "\"\"", JSON_STRING},
                {" \"a\\\"]b\" ", "\"a\\\"]b\"", JSON_STRING},
                {"[]", "[]", JSON_ARRAY},
                {" [ 1 , [ ] ] ", "[ 1 , [ ] ]", JSON_ARRAY},
                {"{}", "{}", JSON_OBJECT},
                {"{\"a\":{\"}\":[1]}}\r\n", "{\"a\":{\"}\":[1]}}", JSON_OBJECT}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct json_part p = checked(good[i].text);
        assert_int_equal(p.kind, good[i].kind);
        assert_slice(p.raw, good[i].raw);
    }
}

static void what_is_no_json_is_refused_with_the_place(void **state)
{
    static const char *const bad[] = {
        "",         " ",           "a",       "nul",         "True",     "1 2",
        "[1",       "[1,]",        "[,1]",    "[1 2]",       "{",        "{\"a\"}",
        "{\"a\":}", "{\"a\":1,}",  "{a:1}",   "{1:2}",       "]",        "[}",
        "{]",       "\"",          "\"\\x\"", "\"\\u12\"",   "\"a\nb\"", "01",
        "1.",       "+1",          ".5",      "1e",          "[1]]",     "[[1]",
        "\"\xff\"", "\"\\ud800\"", "NaN",     "{\"a\":1}{}", "'a'",      "[1,\"a\":2]"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct json_part p;
        struct error e = {.text = ""};
        if (json_check(slice_str(bad[i]), &p, &e) == OK) fail_msg("%s is good", bad[i]);
        assert_int_equal(e.code, ERR_SYNTAX);
        if (strncmp(e.text, "invalid JSON: ", 14) != 0) fail_msg("%s: %s", bad[i], e.text);
    }
    struct json_part p;
    struct error e;
    assert_int_equal(json_check(S("[1,x]"), &p, &e), ERR_SYNTAX);
    assert_non_null(strstr(e.text, "at offset 3"));
    assert_int_equal(json_check(S("[1]\0"), &p, &e), ERR_SYNTAX);
}

static void nesting_is_bounded(void **state)
{
    char text[2 * JSON_DEPTH_MAX + 3];
    for (int deep = JSON_DEPTH_MAX; deep <= JSON_DEPTH_MAX + 1; deep++) {
        struct json_part p;
        struct error e;
        memset(text, '[', (size_t)deep);
        memset(text + deep, ']', (size_t)deep);
        enum err r = json_check(slice_of(text, 2 * (size_t)deep), &p, &e);
        assert_int_equal(r == OK, deep == JSON_DEPTH_MAX);
        if (r == OK) assert_int_equal(p.raw.len, 2 * (size_t)deep);
    }
}

static void items_come_in_order(void **state)
{
    struct json_part p = checked(" [ 1 ,\"a,]\\\"\" , [2,[\"]\"]] ,{\"x\":\"}\"} , null,-1e5\n] ");
    static const char *const wanted[] = {"1",    "\"a,]\\\"\"", "[2,[\"]\"]]", "{\"x\":\"}\"}",
                                         "null", "-1e5"};
    struct slice rest = json_inside(&p);
    struct json_part item;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        assert_true(json_next_item(&rest, &item));
        assert_slice(item.raw, wanted[i]);
    }
    assert_false(json_next_item(&rest, &item));
    p = checked("[ ]");
    rest = json_inside(&p);
    assert_false(json_next_item(&rest, &item));
}

static void members_come_in_order(void **state)
{
    struct json_part p = checked("{ \"a\" : 1 , \"b:\":{\"c\":2},\"\":[ ] }");
    struct slice rest = json_inside(&p);
    static const char *const wanted[][2] = {
        {"\"a\"", "1"}, {"\"b:\"", "{\"c\":2}"}, {"\"\"", "[ ]"}};
    struct json_part name;
    struct json_part value;
    for (size_t i = 0; i < 3; i++) {
        assert_true(json_next_member(&rest, &name, &value));
        assert_slice(name.raw, wanted[i][0]);
        assert_slice(value.raw, wanted[i][1]);
    }
    assert_false(json_next_member(&rest, &name, &value));
}

static void texts_are_unescaped(void **state)
{
    struct arena arena;
    arena_init(&arena, 1024);
    struct json_part p = checked("\"a\\n\\\"\\u00e9\\ud83d\\ude00\\/\"");
    assert_slice(json_text(&p, &arena), "a\n\"\xc3\xa9\xf0\x9f\x98\x80/");
    p = checked("\"plain\"");
    struct slice text = json_text(&p, &arena);
    assert_slice(text, "plain");
    assert_ptr_equal(text.data, p.raw.data + 1);
    p = checked("\"\"");
    assert_int_equal(json_text(&p, &arena).len, 0);
    p = checked("\"a\\u0000b\"");
    assert_true(slice_eq(json_text(&p, &arena), S("a\0b")));
    arena_fini(&arena);
}

static void members_are_found_by_name(void **state)
{
    static const char *const names[] = {"a", "b", "c", NULL};
    struct json_part parts[3];
    struct error e;
    struct json_part p = checked("{\"c\":3,\"a\":{\"b\":1}}");
    assert_int_equal(json_members(&p, names, parts, true, "the body", &e), OK);
    assert_slice(parts[0].raw, "{\"b\":1}");
    assert_null(parts[1].raw.data);
    assert_slice(parts[2].raw, "3");
    p = checked("{\"d\":3,\"a\":1}");
    assert_int_equal(json_members(&p, names, parts, false, "the body", &e), OK);
    assert_slice(parts[0].raw, "1");
    assert_int_equal(json_members(&p, names, parts, true, "the body", &e), ERR_SYNTAX);
    assert_string_equal(e.text, "the body has an unknown member \"d\"");
    p = checked("{\"\\u0061\":1}");
    assert_int_equal(json_members(&p, names, parts, true, "the body", &e), OK);
    assert_slice(parts[0].raw, "1");
    p = checked("{\"a\":1,\"\\u0061\":2}");
    assert_int_equal(json_members(&p, names, parts, false, "the body", &e), ERR_SYNTAX);
    p = checked("{\"a\":1,\"a\":1}");
    assert_int_equal(json_members(&p, names, parts, false, "the body", &e), ERR_SYNTAX);
    assert_string_equal(e.text, "the body has a duplicate \"a\"");
    p = checked("[1]");
    assert_int_equal(json_members(&p, names, parts, false, "the body", &e), ERR_SYNTAX);
    assert_string_equal(e.text, "the body must be an object");
}

static void numbers_and_words_are_read(void **state)
{
    int64_t n = 0;
    struct json_part p = checked("-9223372036854775808");
    assert_true(json_part_integer(&p, &n));
    assert_true(n == INT64_MIN);
    static const char *const no[] = {"9223372036854775808", "1.0", "1e2", "\"1\"", "true"};
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
        p = checked(no[i]);
        assert_false(json_part_integer(&p, &n));
    }
    p = checked("true");
    assert_true(json_is_true(&p));
    p = checked("false");
    assert_false(json_is_true(&p));
    p = checked("\"true\"");
    assert_false(json_is_true(&p));
}

/* ---- any text -------------------------------------------------------------------------------- */

/* Appends a value; the count of values in it. */
static size_t put_random(struct rng *rng, struct buf *b, int deep)
{
    static const char *const scalars[] = {"1",    "-2.5e3", "\"a\"",        "\"\\\"]}\"",
                                          "true", "null",   "\"\\u00e9,\"", "0"};
    uint64_t what = rng_below(rng, deep > 3 ? 6 : 10);
    size_t count = 1;
    if (what < 6) {
        buf_append_str(b, scalars[rng_below(rng, 8)]);
        return 1;
    }
    bool is_array = what < 8;
    uint64_t n = rng_below(rng, 4);
    buf_append_str(b, is_array ? "[ " : "{\n");
    for (uint64_t i = 0; i < n; i++) {
        if (i > 0) buf_append_str(b, rng_below(rng, 2) == 0 ? "," : " , ");
        if (!is_array) buf_printf(b, "\"n%d\" : ", (int)i);
        count += put_random(rng, b, deep + 1);
    }
    buf_append_str(b, is_array ? "]" : "\t}");
    return count;
}

/* The count of values in p, each of which is one by itself. */
static size_t count_parts(const struct json_part *p)
{
    struct json_part item;
    struct json_part name;
    struct json_part again;
    struct error e;
    size_t n = 1;
    assert_int_equal(json_check(p->raw, &again, &e), OK);
    assert_int_equal(again.kind, p->kind);
    assert_int_equal(again.raw.len, p->raw.len);
    if (p->kind == JSON_ARRAY) {
        for (struct slice rest = json_inside(p); json_next_item(&rest, &item);) {
            n += count_parts(&item);
        }
    }
    if (p->kind == JSON_OBJECT) {
        for (struct slice rest = json_inside(p); json_next_member(&rest, &name, &item);) {
            assert_int_equal(name.kind, JSON_STRING);
            n += count_parts(&item);
        }
    }
    return n;
}

static void every_part_of_a_good_text_is_found(void **state)
{
    struct rng rng;
    struct buf b;
    rng_init(&rng, 5);
    buf_init(&b);
    for (int i = 0; i < 5000; i++) {
        struct json_part p;
        struct error e = {.text = ""};
        buf_clear(&b, SIZE_MAX);
        size_t count = put_random(&rng, &b, 0);
        if (json_check(buf_slice(&b), &p, &e) != OK) fail_msg("%s", e.text);
        assert_int_equal(count_parts(&p), count);
    }
    buf_fini(&b);
}

/* Checked in parts it is what it is as a whole. */
static void a_text_may_be_checked_in_parts(void **state)
{
    struct rng rng;
    struct buf b;
    size_t waits = 0;
    rng_init(&rng, 7);
    buf_init(&b);
    for (int i = 0; i < 10000; i++) {
        struct json_part whole = {0};
        struct json_part part = {0};
        struct error e = {.text = ""};
        struct error f = {.text = ""};
        struct json_checker w;
        buf_clear(&b, SIZE_MAX);
        (void)put_random(&rng, &b, 0);
        buf_append_byte(&b, ' ');
        if (i % 2 == 0)
            b.data[rng_below(&rng, b.len)] = (uint8_t) " ,:]}[{\"\\1"[rng_below(&rng, 10)];
        enum err wanted = json_check(buf_slice(&b), &whole, &e);
        enum err r;
        json_checker_begin(&w, buf_slice(&b));
        while ((r = json_checker_go_on(&w, 1 + rng_below(&rng, 5), &part, &f)) == ERR_WAIT) waits++;
        assert_int_equal(r, wanted);
        assert_string_equal(e.text, f.text);
        assert_ptr_equal(part.raw.data, whole.raw.data);
        assert_int_equal(part.raw.len, whole.raw.len);
    }
    assert_true(waits > 3000);
    buf_fini(&b);
}

static void a_broken_text_is_refused_or_another_good_one(void **state)
{
    struct rng rng;
    struct buf b;
    size_t good = 0;
    rng_init(&rng, 6);
    buf_init(&b);
    for (int i = 0; i < 20000; i++) {
        struct json_part p;
        struct error e;
        buf_clear(&b, SIZE_MAX);
        (void)put_random(&rng, &b, 0);
        b.data[rng_below(&rng, b.len)] = (uint8_t) " ,:]}[{\"\\1"[rng_below(&rng, 10)];
        /* A copy of its own, so that a byte too far is seen. */
        uint8_t *copy = malloc(b.len);
        memcpy(copy, b.data, b.len);
        if (json_check(slice_of(copy, b.len), &p, &e) == OK) {
            good++;
            (void)count_parts(&p);
        }
        free(copy);
    }
    assert_true(good > 500 && good < 19000);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_one_value),
        cmocka_unit_test(what_is_no_json_is_refused_with_the_place),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(items_come_in_order),
        cmocka_unit_test(members_come_in_order),
        cmocka_unit_test(texts_are_unescaped),
        cmocka_unit_test(members_are_found_by_name),
        cmocka_unit_test(numbers_and_words_are_read),
        cmocka_unit_test(every_part_of_a_good_text_is_found),
        cmocka_unit_test(a_text_may_be_checked_in_parts),
        cmocka_unit_test(a_broken_text_is_refused_or_another_good_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
