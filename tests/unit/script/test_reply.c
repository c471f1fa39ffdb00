/* Tests of script/reply: what replies of commands are in Lua, and which replies values of Lua are,
 * in RESP2 and RESP3. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "unit/script/script_help.h"

/* In Lua, a reply of a command is what the expression says, which has it as `r`. */
static void in_lua(struct scripts *t, const char *reply, const char *expression, const char *wanted)
{
    struct buf text = {0};
    t->reply = reply;
    buf_printf(&text, "(function(r) return %s end)(redis.pcall('x'))", expression);
    buf_append_byte(&text, '\0');
    script_is(t, (const char *)text.data, wanted);
    buf_fini(&text);
}

static void replies_become_values(void **state)
{
    in_lua(*state, "+OK\r\n", "r.ok", "OK");
    in_lua(*state, "-ERR no\r\n", "r.err", "ERR no");
    in_lua(*state, ":-7\r\n", "r + 1", "-6");
    in_lua(*state, "$3\r\na\r\n\r\n", "#r, r == 'a\\r\\n'", "3 true");
    in_lua(*state, "$0\r\n\r\n", "#r", "0");
    in_lua(*state, "$-1\r\n", "r", "false");
    in_lua(*state, "*-1\r\n", "r", "false");
    in_lua(*state, "*0\r\n", "#r, next(r)", "0 nil");
    in_lua(*state, "*3\r\n:1\r\n$-1\r\n*1\r\n+in\r\n", "#r, r[1], r[2], r[3][1].ok",
           "3 1 false in");
}

static void replies_of_resp3_become_values(void **state)
{
    in_lua(*state, "_\r\n", "r", "nil");
    in_lua(*state, "#t\r\n", "r", "true");
    in_lua(*state, "#f\r\n", "r", "false");
    in_lua(*state, ",1.5\r\n", "r.double", "1.5");
    in_lua(*state, ",-inf\r\n", "r.double == -1/0", "true");
    in_lua(*state, "(123456789012345678901234567890\r\n", "r.big_number",
           "123456789012345678901234567890");
    in_lua(*state, "=7\r\ntxt:abc\r\n", "r.verbatim_string.format, r.verbatim_string.string",
           "txt abc");
    in_lua(*state, "=4\r\nmkd:\r\n", "#r.verbatim_string.string", "0");
    in_lua(*state, "%2\r\n+a\r\n:1\r\n$1\r\nb\r\n:2\r\n", "r.map.b", "2");
    in_lua(*state, "~2\r\n$1\r\na\r\n$1\r\na\r\n", "r.set.a, r.set.b", "true nil");
    in_lua(*state, ">1\r\n:5\r\n", "r[1]", "5");
}

static void numbers_are_cut(void **state)
{
    struct scripts *t = *state;
    script_replies(t, "return 3.99", ":3\r\n");
    script_replies(t, "return -3.99", ":-3\r\n");
    script_replies(t, "return 2 ^ 62", ":4611686018427387904\r\n");
    script_replies(t, "return 2 ^ 63", ":-9223372036854775808\r\n"); /* as Redis on x86 */
    script_replies(t, "return 0 / 0", ":-9223372036854775808\r\n");
    script_replies(t, "return '3.99'", "$4\r\n3.99\r\n");
}

static void truth_is_1_and_what_is_not_is_nil(void **state)
{
    struct scripts *t = *state;
    script_replies(t, "return true", ":1\r\n");
    script_replies(t, "return false", "$-1\r\n");
    script_replies(t, "return nil", "$-1\r\n");
    script_replies(t, "", "$-1\r\n");
    script_replies(t, "redis.setresp(3) return true", ":1\r\n"); /* of a client with RESP2 */
    t->proto = 3;
    script_replies(t, "return true", ":1\r\n");
    script_replies(t, "return false", "_\r\n");
    script_replies(t, "redis.setresp(3) return {true, false}", "*2\r\n#t\r\n#f\r\n");
}

static void an_array_ends_at_the_first_nil(void **state)
{
    struct scripts *t = *state;
    script_replies(t, "return {1, 2, nil, 4}", "*2\r\n:1\r\n:2\r\n");
    script_replies(t, "return {[2] = 1}", "*0\r\n");
    script_replies(t, "return {1, x = 2}", "*1\r\n:1\r\n");
    script_replies(t, "return {1, {'a'}, false}", "*3\r\n:1\r\n*1\r\n$1\r\na\r\n$-1\r\n");
    script_replies(t, "return {function() end}", "*1\r\n$-1\r\n");
}

static void tables_with_a_kind_are_that(void **state)
{
    struct scripts *t = *state;
    script_replies(t, "return {ok = 'fine'}", "+fine\r\n");
    script_replies(t, "return {err = 'ERR no', ok = 'yes'}", "-ERR no\r\n");
    assert_true(t->is_error);
    script_replies(t, "return {{err = 'ERR no'}}", "*1\r\n-ERR no\r\n");
    assert_false(t->is_error); /* an array is none */
    script_replies(t, "return {ok = 5}", "*0\r\n");
    script_replies(t, "return {ok = 'a\\r\\nb\\n'}", "+a  b \r\n");
    script_replies(t, "return {double = 1.5}", "$3\r\n1.5\r\n");
    script_replies(t, "return {big_number = '12'}", "$2\r\n12\r\n");
    script_replies(t, "return {map = {a = 1}}", "*2\r\n$1\r\na\r\n:1\r\n");
    script_replies(t, "return {set = {a = true}}", "*1\r\n$1\r\na\r\n");
    script_replies(t, "return {verbatim_string = {format = 'txt', string = 'ab'}}", "$2\r\nab\r\n");
    script_replies(t, "return {verbatim_string = {string = 'ab'}}", "*0\r\n");
}

static void tables_with_a_kind_are_that_in_resp3(void **state)
{
    struct scripts *t = *state;
    t->proto = 3;
    script_replies(t, "return {double = 1.5}", ",1.5\r\n");
    script_replies(t, "return {big_number = '12'}", "(12\r\n");
    script_replies(t, "return {map = {a = {map = {}}}}", "%1\r\n$1\r\na\r\n%0\r\n");
    script_replies(t, "return {set = {a = false}}", "~1\r\n$1\r\na\r\n");
    script_replies(t, "return {verbatim_string = {format = 'txt', string = 'ab'}}",
                   "=6\r\ntxt:ab\r\n");
    script_replies(t, "return {verbatim_string = {format = 'text', string = 'ab'}}",
                   "$2\r\nab\r\n");
}

static void error_replies_get_a_code(void **state)
{
    struct scripts *t = *state;
    script_replies(t, "return redis.error_reply('no')", "-ERR no\r\n");
    script_replies(t, "return redis.error_reply('CODE text')", "-CODE text\r\n");
    script_replies(t, "return redis.error_reply('-CODE text')", "-CODE text\r\n");
    script_replies(t, "return redis.error_reply('-word')", "-ERR word\r\n");
    script_replies(t, "return redis.error_reply('')", "-ERR \r\n");
    script_replies(t, "return redis.error_reply()", "-ERR wrong number or type of arguments\r\n");
    script_replies(t, "return redis.status_reply('fine')", "+fine\r\n");
    script_replies(t, "return redis.status_reply(1)", "-ERR wrong number or type of arguments\r\n");
}

#define NEST "local t = {} for i = 1, %d do t = {t} end return t"

static void what_is_nested_deeper_than_200_is_an_error(void **state)
{
    struct scripts *t = *state;
    char code[128];
    (void)snprintf(code, sizeof code, NEST, 200);
    assert_int_equal(script_run(t, code), SANDBOX_DONE);
    assert_int_equal(t->out.len, 201 * 4); /* "*1\r\n" and, inside of all, "*0\r\n" */
    (void)snprintf(code, sizeof code, NEST, 201);
    assert_int_equal(script_run(t, code), SANDBOX_FAILED);
    assert_string_equal(t->error.data, "ERR reached lua stack limit");
    assert_int_equal(t->out.len, 0); /* nothing of it stays */
    assert_int_equal(script_run(t, "local t = {} t[1] = t return t"), SANDBOX_FAILED);
    assert_int_equal(script_run(t, "local t = {} t.map = {a = t} return t"), SANDBOX_FAILED);
    assert_false(sandbox_is_spent(t->s));
}

static void words_of_a_command_are_texts_and_numbers(void **state)
{
    struct scripts *t = *state;
    script_replies(t, "return redis.call('set', 'k', 10, -0.5, 2 ^ 53, 1e17)", "+OK\r\n");
    assert_string_equal(t->words, "set k 10 -0.5 9007199254740992 100000000000000000");
    script_replies(t, "return redis.call('x', 0.1, 1e18)", "+OK\r\n");
    assert_string_equal(t->words, "x 0.10000000000000001 1e+18");
    script_replies(t, "return redis.pcall()",
                   "-ERR Please specify at least one argument for this redis lib call\r\n");
    script_replies(t, "return redis.pcall('x', true)",
                   "-ERR Lua redis lib command arguments must be strings or integers\r\n");
    assert_int_equal(t->calls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, scripts_enter, scripts_leave)
        T(replies_become_values),
        T(replies_of_resp3_become_values),
        T(numbers_are_cut),
        T(truth_is_1_and_what_is_not_is_nil),
        T(an_array_ends_at_the_first_nil),
        T(tables_with_a_kind_are_that),
        T(tables_with_a_kind_are_that_in_resp3),
        T(error_replies_get_a_code),
        T(what_is_nested_deeper_than_200_is_an_error),
        T(words_of_a_command_are_texts_and_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
