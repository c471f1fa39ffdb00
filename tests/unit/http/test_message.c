/* message: headers, lists, targets, percent-encoding, parameters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "http/message.h"

#define S(text) slice_of(text, sizeof(text) - 1)
#define assert_slice(s, text) assert_slice_at((s), slice_str(text), __LINE__)

static void assert_slice_at(struct slice s, struct slice wanted, int line)
{
    if (s.data != NULL && slice_eq(s, wanted)) return;
    fail_msg("line %d: '%.*s', not '%.*s'", line, (int)s.len, (const char *)s.data, (int)wanted.len,
             (const char *)wanted.data);
}

static void methods_are_upper_case(void **state)
{
    assert_int_equal(http_method_of(S("GET")), HTTP_GET);
    assert_int_equal(http_method_of(S("HEAD")), HTTP_HEAD);
    assert_int_equal(http_method_of(S("POST")), HTTP_POST);
    assert_int_equal(http_method_of(S("PUT")), HTTP_PUT);
    assert_int_equal(http_method_of(S("DELETE")), HTTP_DELETE);
    assert_int_equal(http_method_of(S("OPTIONS")), HTTP_OPTIONS);
    assert_int_equal(http_method_of(S("get")), HTTP_OTHER);
    assert_int_equal(http_method_of(S("GETX")), HTTP_OTHER);
    assert_int_equal(http_method_of(S("")), HTTP_OTHER);
}

static void a_header_is_found_in_any_case(void **state)
{
    static struct http_message m;
    m.headers[0] = (struct http_header){S("AcCept"), S("a")};
    m.headers[1] = (struct http_header){S("accept"), S("b")};
    m.headers[2] = (struct http_header){S("X"), S("")};
    m.header_count = 3;
    assert_slice(http_header(&m, "accept"), "a");
    assert_slice(http_header(&m, "x"), "");
    assert_null(http_header(&m, "accep").data);
    assert_null(http_header(&m, "y").data);
}

static void a_list_has_words(void **state)
{
    assert_true(http_list_has(S("gzip"), "gzip"));
    assert_true(http_list_has(S("br, GZIP;q=0.5 ,x"), "gzip"));
    assert_true(http_list_has(S(",, gzip"), "gzip"));
    assert_false(http_list_has(S(""), "gzip"));
    assert_false(http_list_has(slice_of(NULL, 0), "gzip"));
    assert_false(http_list_has(S("xgzip, gzipx, g zip"), "gzip"));
}

/* "gzip;q=0" says that it must not be. */
static void a_word_of_weight_nothing_is_not_there(void **state)
{
    assert_false(http_list_has(S("gzip;q=0"), "gzip"));
    assert_false(http_list_has(S("br, gzip ; Q=0.000, x"), "gzip"));
    assert_false(http_list_has(S("gzip;q=0."), "gzip"));
    assert_true(http_list_has(S("gzip;q=0.001"), "gzip"));
    assert_true(http_list_has(S("gzip;q=1"), "gzip"));
    assert_true(http_list_has(S("gzip;x=0"), "gzip"));
    assert_true(http_list_has(S("gzip;q=0, gzip"), "gzip"));
    assert_int_equal(http_list_weight(S("a;q=0.25, b;x=1; Q=0.5"), "a"), 250);
    assert_int_equal(http_list_weight(S("a;q=0.25, b;x=1; Q=0.5"), "b"), 500);
    assert_int_equal(http_list_weight(S("a;q=0.25, a"), "a"), 1000);
    assert_int_equal(http_list_weight(S("a;q=x"), "a"), 1000);
    assert_int_equal(http_list_weight(S("a"), "b"), -1);
}

static void blanks_around_are_taken_off(void **state)
{
    assert_slice(http_trim(S(" \t a b\t ")), "a b");
    assert_slice(http_trim(S("a")), "a");
    assert_int_equal(http_trim(S(" \t")).len, 0);
    assert_int_equal(http_trim(slice_of(NULL, 0)).len, 0);
}

static void tokens_and_values_have_their_bytes(void **state)
{
    assert_true(http_is_token(S("aZ09!#$%&'*+-.^_`|~")));
    assert_false(http_is_token(S("")));
    for (int c = 0; c < 256; c++) {
        char text[] = {'a', (char)c, 'b'};
        bool is_word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       (c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL);
        assert_int_equal(http_is_token(slice_of(text, 3)), is_word);
        assert_int_equal(http_is_value(slice_of(text, 3)), (c >= 0x20 && c != 0x7f) || c == '\t');
    }
}

static void a_target_is_path_and_query(void **state)
{
    struct http_message m = {0};
    assert_true(http_split_target(S("/a/b%2F"), &m));
    assert_slice(m.path, "/a/b%2F");
    assert_null(m.query.data);
    assert_true(http_split_target(S("/a?b=c?d"), &m));
    assert_slice(m.path, "/a");
    assert_slice(m.query, "b=c?d");
    assert_true(http_split_target(S("/?"), &m));
    assert_slice(m.path, "/");
    assert_slice(m.query, "");
    static const char *const bad[] = {"", "a", "?", "*", "/a b", "/a#b", "/\x7f", "/\xc3\xa9"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(http_split_target(slice_str(bad[i]), &m));
    }
}

static void percent_is_decoded(void **state)
{
    struct arena arena;
    struct slice out;
    arena_init(&arena, 1024);
    assert_true(http_decode(S("a%20b%2fC%C3%a9+"), false, &arena, &out));
    assert_slice(out, "a b/C\xc3\xa9+");
    assert_true(http_decode(S("a+b%2B"), true, &arena, &out));
    assert_slice(out, "a b+");
    assert_true(http_decode(S(""), false, &arena, &out));
    assert_int_equal(out.len, 0);
    assert_true(http_decode(S("%25%32%30"), false, &arena, &out));
    assert_slice(out, "%20");
    static const char *const bad[] = {"%",   "a%2", "%zz",    "%2g", "% 2",    "%00",      "a%00b",
                                      "%ff", "%c3", "%c0%80", "%%2", "%c3%28", "%ed%a0%80"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (http_decode(slice_str(bad[i]), true, &arena, &out)) fail_msg("%s is decoded", bad[i]);
    }
    arena_fini(&arena);
}

static void a_path_has_parts(void **state)
{
    struct slice rest = S("/a//b%2Fc/");
    assert_slice(http_path_part(&rest), "a");
    assert_slice(rest, "//b%2Fc/");
    assert_int_equal(http_path_part(&rest).len, 0);
    assert_slice(http_path_part(&rest), "b%2Fc");
    assert_slice(rest, "/");
    assert_int_equal(http_path_part(&rest).len, 0);
    assert_int_equal(rest.len, 0);
}

static void parameters_come_in_order(void **state)
{
    struct slice rest = S("&a=1&&b&c=&=d&a=x=y&");
    struct slice name;
    struct slice value;
    static const char *const wanted[][2] = {
        {"a", "1"}, {"b", NULL}, {"c", ""}, {"", "d"}, {"a", "x=y"}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        assert_true(http_query_next(&rest, &name, &value));
        assert_slice(name, wanted[i][0]);
        if (wanted[i][1] == NULL) {
            assert_null(value.data);
        } else {
            assert_slice(value, wanted[i][1]);
        }
    }
    assert_false(http_query_next(&rest, &name, &value));
    rest = slice_of(NULL, 0);
    assert_false(http_query_next(&rest, &name, &value));
}

static void the_first_parameter_of_a_name_counts(void **state)
{
    struct arena arena;
    struct slice out;
    arena_init(&arena, 1024);
    assert_int_equal(http_query_value(S("x=1&a=b+c%21&a=2"), "a", &arena, &out), 1);
    assert_slice(out, "b c!");
    assert_int_equal(http_query_value(S("ab=1&A=2"), "a", &arena, &out), 0);
    assert_int_equal(http_query_value(S("a=%"), "a", &arena, &out), -1);
    assert_int_equal(http_query_value(S("a"), "a", &arena, &out), 1);
    assert_int_equal(out.len, 0);
    assert_int_equal(http_query_value(slice_of(NULL, 0), "a", &arena, &out), 0);
    arena_fini(&arena);
}

static void each_status_has_its_reason(void **state)
{
    static const int used[] = {200, 204, 301, 304, 400, 401, 403, 404, 405, 413,
                               417, 421, 429, 431, 500, 501, 503, 505, 507};
    for (size_t i = 0; i < sizeof used / sizeof used[0]; i++) {
        assert_true(http_reason(used[i])[0] != '\0');
    }
    assert_string_equal(http_reason(404), "Not Found");
    assert_string_equal(http_reason(299), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_are_upper_case),
        cmocka_unit_test(a_header_is_found_in_any_case),
        cmocka_unit_test(a_list_has_words),
        cmocka_unit_test(a_word_of_weight_nothing_is_not_there),
        cmocka_unit_test(blanks_around_are_taken_off),
        cmocka_unit_test(tokens_and_values_have_their_bytes),
        cmocka_unit_test(a_target_is_path_and_query),
        cmocka_unit_test(percent_is_decoded),
        cmocka_unit_test(a_path_has_parts),
        cmocka_unit_test(parameters_come_in_order),
        cmocka_unit_test(the_first_parameter_of_a_name_counts),
        cmocka_unit_test(each_status_has_its_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
