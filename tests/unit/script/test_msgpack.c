/* Tests of script/msgpack: which values of Lua become which bytes, and what is read of bytes that
 * are whole, cut off, or none of Lua's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "unit/script/script_help.h"

static void numbers_take_the_fewest_bytes(void **state)
{
    script_is(*state, "hex(cmsgpack.pack(0, 127, 128, 255, 256))", "007fcc80ccffcd0100");
    script_is(*state, "hex(cmsgpack.pack(65535, 65536, 2^32 - 1, 2^32))",
              "cdffffce00010000ceffffffffcf0000000100000000");
    script_is(*state, "hex(cmsgpack.pack(-1, -32, -33, -128, -129))", "ffe0d0dfd080d1ff7f");
    script_is(*state, "hex(cmsgpack.pack(1.5, 0.1))", "ca3fc00000cb3fb999999999999a");
}

static void other_values_have_their_own_bytes(void **state)
{
    script_is(*state, "hex(cmsgpack.pack(nil, true, false))", "c0c3c2");
    script_is(*state, "hex(cmsgpack.pack('', 'ab', 'a\\0'))", "a0a26162a26100");
    script_is(*state,
              "hex(cmsgpack.pack(('x'):rep(31)):sub(1, 1))"
              ", hex(cmsgpack.pack(('x'):rep(32)):sub(1, 2))",
              "bf d920");
    script_is(*state, "hex(cmsgpack.pack(coroutine.create(function() end), function() end))",
              "c0c0");
    script_fails(*state, "cmsgpack.pack()", "MessagePack pack needs input.");
}

static void a_table_of_1_to_n_is_an_array(void **state)
{
    script_is(*state, "hex(cmsgpack.pack({})), hex(cmsgpack.pack({5, 6}))", "90 920506");
    script_is(*state, "hex(cmsgpack.pack({a = 1}))", "81a16101");
    script_is(*state, "hex(cmsgpack.pack({[2] = 1}))", "810201"); /* a hole */
    script_is(*state, "hex(cmsgpack.pack({[1] = 7, [2] = 8}))", "920708");
    script_is(*state, "hex(cmsgpack.pack({[0] = 1})), hex(cmsgpack.pack({[1.5] = 1}))",
              "810001 81ca3fc0000001");
    script_is(*state, "hex(cmsgpack.pack({['1'] = 1}))", "81a13101"); /* a text is no number */
    script_is(*state, "#cmsgpack.pack({1, 2, x = 3})", "8");          /* a map of three */
}

static void what_is_nested_deeper_than_16_is_nil(void **state)
{
    static const char nest[] =
        "(function(n) local t = {} for i = 2, n do t = {t} end return t end)";
    char text[256];
    (void)snprintf(text, sizeof text, "hex(cmsgpack.pack(%s(16)))", nest);
    script_is(*state, text, "91919191919191919191919191919190");
    (void)snprintf(text, sizeof text, "hex(cmsgpack.pack(%s(17)))", nest);
    script_is(*state, text,
              "919191919191919191919191919191"
              "91c0");
    script_is(*state, "(function() local t = {} t[1] = t return #cmsgpack.pack(t) end)()", "17");
}

static void all_values_are_read_in_order(void **state)
{
    script_is(*state, "cmsgpack.unpack('\\1\\195\\161a')", "1 true a");
    script_is(*state, "select('#', cmsgpack.unpack(''))", "0");
    script_is(*state, "select('#', cmsgpack.unpack('\\192\\192'))", "2");
    script_is(*state, "unpack(cmsgpack.unpack('\\147\\1\\2\\3'))", "1 2 3");
    script_is(*state, "cmsgpack.unpack('\\129\\161a\\146\\5\\6').a[2]", "6");
    script_is(*state, "cmsgpack.unpack('\\196\\2\\0\\1') == '\\0\\1'", "true"); /* bin */
    script_is(*state, "cmsgpack.unpack('\\208\\128'), cmsgpack.unpack('\\202\\63\\192\\0\\0')",
              "-128 1.5");
}

static void one_or_some_are_read_from_an_offset(void **state)
{
    script_is(*state, "cmsgpack.unpack_one('\\1\\2\\3')", "1 1");
    script_is(*state, "nil, cmsgpack.unpack_one('\\1\\2\\3', 1)", "nil 2 2");
    script_is(*state, "cmsgpack.unpack_one('\\1\\2\\3', 2)", "-1 3");
    script_is(*state, "cmsgpack.unpack_one('\\1', 1)", "-1");
    script_is(*state, "cmsgpack.unpack_limit('\\1\\2\\3', 2)", "2 1 2");
    script_is(*state, "cmsgpack.unpack_limit('\\1\\2\\3', 0)", "0");
    script_is(*state, "cmsgpack.unpack_limit('\\1\\2\\3', 9, 1)", "-1 2 3");
    script_fails(*state, "cmsgpack.unpack_one('\\1', 2)",
                 "Start offset 2 greater than input length 1.");
    script_fails(*state, "cmsgpack.unpack_one('\\1', -1)",
                 "Invalid request to unpack with offset of -1 and limit of 1.");
    script_fails(*state, "cmsgpack.unpack_limit('\\1', -2)",
                 "Invalid request to unpack with offset of 0 and limit of -2.");
    script_fails(*state, "cmsgpack.unpack_limit('\\1', 0/0)", "Invalid request to unpack");
}

static void bytes_that_are_no_values_are_refused(void **state)
{
    script_fails(*state, "cmsgpack.unpack('\\162a')", "Missing bytes in input.");
    script_fails(*state, "cmsgpack.unpack('\\146\\1')", "Missing bytes in input.");
    script_fails(*state, "cmsgpack.unpack('\\129\\1')", "Missing bytes in input.");
    script_fails(*state, "cmsgpack.unpack('\\205\\1')", "Missing bytes in input.");
    script_fails(*state, "cmsgpack.unpack('\\193')", "Bad data format in input.");
    script_fails(*state, "cmsgpack.unpack('\\212\\1\\1')", "Bad data format in input."); /* ext */
    script_fails(*state, "cmsgpack.unpack('\\129\\192\\1')", "Bad data format in input.");
    script_fails(*state, "cmsgpack.unpack('\\129\\202\\127\\192\\0\\0\\1')",
                 "Bad data format in input."); /* no number is no key */
    script_fails(*state, "cmsgpack.unpack('\\221\\255\\255\\255\\255')", "Missing bytes in input.");
}

static void what_is_read_is_nested_200_deep_at_most(void **state)
{
    script_is(*state, "type(cmsgpack.unpack(('\\145'):rep(200) .. '\\1'))", "table");
    script_fails(*state, "cmsgpack.unpack(('\\145'):rep(201) .. '\\1')",
                 "the input is nested too deeply");
}

static void what_is_packed_may_not_be_more_than_the_memory(void **state)
{
    struct scripts *t = *state;
    enum sandbox_end end = script_run(t, "local s = ('x'):rep(1000000) local t = {} "
                                         "for i = 1, 20 do t[i] = s end "
                                         "return pcall(cmsgpack.pack, t)");
    assert_int_equal(end, SANDBOX_MEMORY);
    assert_int_equal(t->out.len, 0);
    assert_true(sandbox_is_spent(t->s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, scripts_enter, scripts_leave)
        T(numbers_take_the_fewest_bytes),
        T(other_values_have_their_own_bytes),
        T(a_table_of_1_to_n_is_an_array),
        T(what_is_nested_deeper_than_16_is_nil),
        T(all_values_are_read_in_order),
        T(one_or_some_are_read_from_an_offset),
        T(bytes_that_are_no_values_are_refused),
        T(what_is_read_is_nested_200_deep_at_most),
        T(what_is_packed_may_not_be_more_than_the_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
