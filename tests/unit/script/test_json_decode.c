/* Tests of script/json_decode: what lua-cjson reads it reads, and fails as that fails, for texts
 * that are nearly JSON; and it can be ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include <lua5.1/lauxlib.h>
#include <lua5.1/lua.h>
#include <lua5.1/lualib.h>

/* It needs lua.h before it. */
#include <lua5.1/lua-cjson.h>

#include "unit/script/script_help.h"

/* ---- beside lua-cjson ---- */

#define TEXTS 6000
#define TEXT_MAX 400

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33) % below;
}

/* Shows a value with all that tells it from another. */
static const char show[] = "local function show(v) "
                           "  if v == cjson.null then return 'null' end "
                           "  if type(v) == 'number' then return string.format('%.17g', v) end "
                           "  if type(v) == 'string' then return string.format('%q', v) end "
                           "  if type(v) ~= 'table' then return tostring(v) end "
                           "  local t = {} "
                           "  for k, x in pairs(v) do t[#t + 1] = show(k) .. '=' .. show(x) end "
                           "  return '{' .. table.concat(t, ' ') .. '}' "
                           "end ";

/* A part of a text: mostly JSON. */
static void add_value(struct buf *out, uint64_t *seed, int depth)
{
    static const char *const words[] = {
        "0",
        "-1",
        "1.5e3",
        "007",
        "0x1F",
        "-0x8",
        "+1",
        "-",
        "1e400",
        "-1e-400",
        "inf",
        "-Infinity",
        "NaN",
        "nan(7)",
        ".5",
        "5.",
        "12345678901234567890",
        "0.1",
        "true",
        "false",
        "null",
        "nul",
        "True",
        "\"\"",
        "\"a\"",
        "\"k\"",
        "\"\\n\\t\\b\\f\\r\\/\\\\\\\"\"",
        "\"\\u0041\\u00e9\"",
        "\"\\uD83D\\uDE00\"",
        "\"\\ud83d\"",
        "\"\\ude00\"",
        "\"\\ude00\\ude00\"",
        "\"ab\\ncd\\u0041e\"",
        "\"\\ud83d\\u0041\"",
        "\"\\u00g0\"",
        "\"\\x\"",
        "\"\\u0000\"",
        "\"ab\\",
        "\"open",
        "\"\x01\x7f\xff\"",
        "",
        "}",
        "]",
    };
    uint32_t kind = draw(seed, depth < 4 ? 4 : 2);
    uint32_t count = draw(seed, 4);
    if (kind < 2) {
        /* The first ones are often enough right. */
        uint32_t few = draw(seed, 3) > 0 ? 3 : sizeof words / sizeof words[0];
        buf_append_str(out, words[draw(seed, few)]);
        return;
    }
    buf_append_byte(out, kind == 2 ? '[' : '{');
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) buf_append_str(out, draw(seed, 40) > 0 ? "," : " ,,");
        if (kind == 3) {
            if (draw(seed, 30) > 0) buf_printf(out, "\"%c%u\"", 'a' + (int)i, draw(seed, 3));
            buf_append_str(out, draw(seed, 40) > 0 ? ": " : " ");
        }
        add_value(out, seed, depth + 1);
        if (draw(seed, 8) == 0) buf_append_byte(out, " \t\n\r"[draw(seed, 4)]);
    }
    if (draw(seed, 40) > 0) buf_append_byte(out, kind == 2 ? ']' : '}');
}

static void spoil(struct buf *out, uint64_t *seed)
{
    static const char bytes[] = "\0[]{}:,\"\\u0x-eE+ tfn1";
    if (out->len == 0 || draw(seed, 2) > 0) return;
    size_t at = draw(seed, (uint32_t)out->len);
    if (draw(seed, 2) == 0) {
        out->len = at;
    } else {
        out->data[at] = (uint8_t)bytes[draw(seed, sizeof bytes - 1)];
    }
}

/* A script that decodes the text. */
static void write_code(struct buf *code, const struct buf *text, bool takes_all_numbers)
{
    buf_clear(code, SIZE_MAX);
    buf_append_str(code, show);
    if (!takes_all_numbers) buf_append_str(code, "cjson.decode_invalid_numbers(false) ");
    buf_append_str(code, "return show(cjson.decode('");
    for (size_t i = 0; i < text->len; i++) buf_printf(code, "\\%03u", text->data[i]);
    buf_append_str(code, "'))");
    buf_append_byte(code, '\0');
    assert_false(code->is_failed);
}

static lua_State *open_reference(void)
{
    lua_State *lua = luaL_newstate();
    assert_non_null(lua);
    luaL_openlibs(lua);
    lua_pushcfunction(lua, luaopen_cjson);
    lua_call(lua, 0, 1);
    lua_setglobal(lua, "cjson");
    return lua;
}

/* What the script comes to there is what it comes to here. */
static void compare(struct scripts *t, lua_State *lua, const char *code)
{
    assert_int_equal(luaL_loadbuffer(lua, code, strlen(code), "@user_script"), 0);
    bool is_good = lua_pcall(lua, 0, 1, 0) == 0;
    size_t len = 0;
    const char *wanted = lua_tolstring(lua, -1, &len);
    enum sandbox_end end = script_run(t, code);
    const char *had = end == SANDBOX_DONE ? strstr((const char *)t->out.data, "\r\n") + 2
                                          : (const char *)t->error.data + strlen("ERR ");
    bool is_same = (end == SANDBOX_DONE) == is_good && memcmp(had, wanted, len) == 0 &&
                   strncmp(had + len, is_good ? "\r\n" : " script: ", 2) == 0;
    if (!is_same) fail_msg("%s\nis %s\nand not %s", code + sizeof show - 1, had, wanted);
    lua_settop(lua, 0);
}

static void it_reads_what_lua_cjson_reads(void **state)
{
    struct buf text = {0};
    struct buf code = {0};
    uint64_t seed = 1;
    unsigned good = 0;
    for (int i = 0; i < TEXTS; i++) {
        bool takes_all_numbers = draw(&seed, 4) > 0;
        lua_State *lua = open_reference();
        buf_clear(&text, SIZE_MAX);
        add_value(&text, &seed, 0);
        if (draw(&seed, 10) == 0) add_value(&text, &seed, 4);
        spoil(&text, &seed);
        if (text.len > TEXT_MAX) text.len = TEXT_MAX;
        write_code(&code, &text, takes_all_numbers);
        compare(*state, lua, (const char *)code.data);
        good += ((struct scripts *)*state)->end == SANDBOX_DONE;
        lua_close(lua);
        if (takes_all_numbers) continue;
        sandbox_free(((struct scripts *)*state)->s); /* that setting stays */
        ((struct scripts *)*state)->s = sandbox_new(SCRIPT_MEMORY);
    }
    assert_in_range(good, TEXTS / 5, TEXTS * 4 / 5); /* both kinds are tried */
    buf_fini(&text);
    buf_fini(&code);
}

static void what_is_nested_has_a_bound(void **state)
{
    lua_State *lua = open_reference();
    for (int depth = 999; depth <= 1001; depth++) {
        struct buf text = {0};
        struct buf code = {0};
        for (int i = 0; i < depth; i++) buf_append_str(&text, i % 2 == 0 ? "[" : "{\"a\":");
        buf_append_str(&text, "1");
        for (int i = depth; i-- > 0;) buf_append_byte(&text, i % 2 == 0 ? ']' : '}');
        write_code(&code, &text, true);
        /* The value is not shown: that would be nested too deeply itself. */
        char *shown = strstr((char *)code.data, "return show(");
        memcpy(shown, "return type(", strlen("return type("));
        compare(*state, lua, (const char *)code.data);
        assert_int_equal(((struct scripts *)*state)->end,
                         depth <= 1000 ? SANDBOX_DONE : SANDBOX_FAILED);
        buf_fini(&text);
        buf_fini(&code);
    }
    lua_close(lua);
}

static void it_has_one_argument(void **state)
{
    script_fails(*state, "cjson.decode()", "bad argument #1 to 'decode' (expected 1 argument)");
    script_fails(*state, "cjson.decode('1', 2)", "expected 1 argument");
    script_fails(*state, "cjson.decode({})", "string expected, got table");
    script_is(*state, "cjson.decode(12)", "12");
    script_fails(*state, "cjson.decode('[\\0')", "does not support UTF-16 or UTF-32");
}

static void a_script_sets_how_deep_it_reads(void **state)
{
    script_is(*state, "cjson.decode_max_depth()", "1000");
    script_is(*state, "cjson.decode_max_depth(2) .. #cjson.decode('[[1]]')", "21");
    script_fails(*state, "cjson.decode_max_depth(2) and cjson.decode('[[[1]]]')",
                 "Found too many nested data structures (3) at character 3");
    script_fails(*state, "cjson.decode_max_depth(1001)", "expected integer between 1 and 1000");
    script_fails(*state, "cjson.decode_max_depth(0)", "expected integer between 1 and 1000");
    script_fails(*state, "cjson.decode_max_depth({})", "number expected, got table");
    script_is(*state, "cjson.encode_max_depth(2) .. cjson.encode({{1}})", "2[[1]]");
    script_fails(*state, "cjson.encode_max_depth(2) and cjson.encode({{{1}}})",
                 "Cannot serialise, excessive nesting (3)");
    script_fails(*state, "cjson.encode_max_depth(1e9)", "expected integer between 1 and 1000");
}

/* ---- its end ---- */

static void a_long_text_is_asked_about(void **state)
{
    struct scripts *t = *state;
    script_is(t, "#cjson.decode('[' .. ('1,'):rep(50000) .. '1]')", "50001");
    assert_in_range(t->asks, 5, 1000000);
    t->asks_max = 3;
    assert_int_equal(script_run(t, "return #cjson.decode('[' .. ('1,'):rep(50000) .. '1]')"),
                     SANDBOX_STOPPED);
}

static void it_takes_no_more_memory_than_there_is(void **state)
{
    struct scripts *t = *state;
    assert_int_equal(script_run(t, "return cjson.decode(('['):rep(900) .. ('[],'):rep(400000))"),
                     SANDBOX_MEMORY);
    sandbox_free(t->s);
    t->s = sandbox_new(SCRIPT_MEMORY);
    script_is(t, "#cjson.decode('\"\\\\n' .. ('x'):rep(100000) .. '\"')", "100001");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_reads_what_lua_cjson_reads, scripts_enter,
                                        scripts_leave),
        cmocka_unit_test_setup_teardown(what_is_nested_has_a_bound, scripts_enter, scripts_leave),
        cmocka_unit_test_setup_teardown(it_has_one_argument, scripts_enter, scripts_leave),
        cmocka_unit_test_setup_teardown(a_script_sets_how_deep_it_reads, scripts_enter,
                                        scripts_leave),
        cmocka_unit_test_setup_teardown(a_long_text_is_asked_about, scripts_enter, scripts_leave),
        cmocka_unit_test_setup_teardown(it_takes_no_more_memory_than_there_is, scripts_enter,
                                        scripts_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
