/* Tests of script/sandbox and step: when a script ends, and that nothing in it prevents that; its
 * memory; what one script leaves for the next; libraries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "unit/script/script_help.h"

static void a_script_has_its_keys_and_arguments(void **state)
{
    struct scripts *t = *state;
    script_replies(t, "return {KEYS[1], #KEYS, ARGV[1], ARGV[2], #ARGV}",
                   "*5\r\n$1\r\nk\r\n:1\r\n$1\r\na\r\n$1\r\nb\r\n:2\r\n");
    t->is_function = true;
    script_replies(t, "local keys, args = ... return {keys[1], args[2], select('#', ...)}",
                   "*3\r\n$1\r\nk\r\n$1\r\nb\r\n:2\r\n");
    assert_int_equal(script_run(t, "return KEYS"), SANDBOX_FAILED); /* also after a script */
    assert_non_null(strstr((const char *)t->error.data, "global variable 'KEYS'"));
}

static void an_error_has_one_line_with_its_place(void **state)
{
    struct scripts *t = *state;
    assert_int_equal(script_run(t, "\nlocal x = nil + 1"), SANDBOX_FAILED);
    assert_string_equal(t->error.data, "ERR user_script:2: attempt to perform arithmetic on a nil "
                                       "value script: sha, on @user_script:2.");
    assert_int_equal(script_run(t, "error({err = 'CODE text'})"), SANDBOX_FAILED);
    assert_string_equal(t->error.data, "CODE text script: sha, on @user_script:1.");
    assert_int_equal(script_run(t, "error({})"), SANDBOX_FAILED);
    assert_non_null(strstr((const char *)t->error.data, "ERR unknown error script: sha"));
    t->reply = "-WRONG kind\r\n";
    assert_int_equal(script_run(t, "return redis.call('get', 1.5, 7)"), SANDBOX_FAILED);
    assert_string_equal(t->words, "get 1.5 7");
    assert_string_equal(t->error.data, "WRONG kind script: sha, on @user_script:1.");
}

static void a_script_that_does_not_end_is_ended(void **state)
{
    static const char *const codes[] = {
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "while true do xpcall(function() while true do end end, function() return 1 end) end",
        "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
        "local w = coroutine.wrap(function() while true do coroutine.yield() end end) "
        "while true do w() end",
        "while true do pcall(coroutine.wrap(function() error('x') end)) end",
        "local s = ('x'):rep(100000) while true do s:upper() end",
        "local s = ('x'):rep(100000) while true do s:find('y', 1, true) end",
        "while true do redis.pcall('ping') end",
    };
    struct scripts *t = *state;
    t->asks_max = 500;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (script_run(t, codes[i]) != SANDBOX_STOPPED) fail_msg("not stopped: %s", codes[i]);
        assert_int_equal(t->asks, 501); /* after the no it is not asked again */
        assert_int_equal(t->out.len + t->error.len, 0);
        /* One that heard it in an allocation, as 64 of them took long, is not used again. */
        if (sandbox_is_spent(t->s)) {
            sandbox_free(t->s);
            t->s = sandbox_new(SCRIPT_MEMORY);
        }
    }
    t->asks_max = SIZE_MAX;
    script_is(t, "1", "1");
}

static void every_200_instructions_it_is_asked(void **state)
{
    struct scripts *t = *state;
    script_replies(t, "for i = 1, 2000 do end return 1", ":1\r\n"); /* one instruction each */
    assert_in_range(t->asks, 2000 / SANDBOX_STEPS, 2000 / SANDBOX_STEPS + 1);
    script_replies(t, "return 1", ":1\r\n");
    assert_int_equal(t->asks, 0);
}

static void long_strings_are_asked_about_before(void **state)
{
    struct scripts *t = *state;
    script_replies(t, "return #(('x'):rep(50000))", ":50000\r\n");
    assert_int_equal(t->bytes, 50000);
    script_replies(t, "local s = ('x'):rep(20000) s:lower() return #s:sub(2)", ":19999\r\n");
    assert_int_equal(t->bytes, 20000 + 20000 + 19998);
    /* Short ones are counted as steps. */
    script_replies(t, "local s = ('x'):rep(64) for i = 1, 10 do s:lower() end return 1", ":1\r\n");
    assert_int_equal(t->bytes, 64);
}

static void a_script_has_so_much_memory(void **state)
{
    struct scripts *t = *state;
    size_t before = sandbox_bytes(t->s);
    assert_int_equal(script_run(t, "local t = {} for i = 1, 1e7 do t[i] = 'x' .. i end return 1"),
                     SANDBOX_MEMORY);
    assert_true(sandbox_is_spent(t->s)); /* Lua was left where it was */
    assert_true(sandbox_bytes(t->s) <= SCRIPT_MEMORY);
    sandbox_collect(t->s);
    assert_true(sandbox_bytes(t->s) <
                before + SCRIPT_MEMORY / 4); /* a table of strings shrinks late */
}

static void memory_that_is_wanted_at_once_is_refused_before(void **state)
{
    struct scripts *t = *state;
    script_replies(t, "return #(('x'):rep(3 * 2 ^ 20))", ":3145728\r\n");
    assert_int_equal(script_run(t, "return pcall(string.rep, 'x', 5 * 2 ^ 20)"), SANDBOX_MEMORY);
    assert_int_equal(script_run(t, "return pcall(string.rep, 'xy', 2 ^ 33)"), SANDBOX_DONE);
    script_fails(t, "('x'):rep(2 ^ 33)", "resulting string too large");
    script_is(t, "(''):rep(2 ^ 40), ('x'):rep(-1), ('x'):rep(0/0), ('ab'):rep(1), ('ab'):rep(3)",
              "   ab ababab");
}

static void its_limit_may_change(void **state)
{
    struct scripts *t = *state;
    sandbox_set_memory(t->s, sandbox_bytes(t->s) + 100000);
    assert_int_equal(script_run(t, "return #(('x'):rep(100000))"), SANDBOX_MEMORY);
    sandbox_set_memory(t->s, SCRIPT_MEMORY);
    script_replies(t, "return #(('x'):rep(100000))", ":100000\r\n");
}

static void one_script_leaves_nothing_for_the_next(void **state)
{
    struct scripts *t = *state;
    script_fails(t, "(function() leak = 1 end)()", "readonly table");
    script_fails(t, "(function() string.rep = nil end)()", "readonly table");
    script_fails(t, "(function() redis.call = nil end)()", "readonly table");
    script_fails(t, "(function() rawset(_G, 'leak', 1) end)()", "");
    script_fails(t, "(function() setmetatable(_G, {}) end)()", "");
    script_fails(t, "(function() getmetatable('').__index = nil end)()", "");
    script_fails(t, "leak", "nonexistent global variable 'leak'");
    script_is(t, "rawget(_G, 'leak'), ('x'):rep(2)", "nil xx");
    /* What it has asked for is of its own run. */
    script_replies(t, "redis.setresp(3) return redis.call('x')", "+OK\r\n");
    assert_int_equal(t->call_proto, 3);
    script_replies(t, "return redis.call('x')", "+OK\r\n");
    assert_int_equal(t->call_proto, 2);
}

static void what_could_do_harm_is_not_there(void **state)
{
    static const char *const names[] = {"io",      "debug",      "package",    "require", "dofile",
                                        "print",   "loadfile",   "newproxy",   "module",  "getfenv",
                                        "setfenv", "os.execute", "string.dump"};
    char text[128];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(text, sizeof text, "(loadstring('return %s ~= nil')())", names[i]);
        if (strchr(names[i], '.') != NULL) {
            script_is(*state, text, "false");
        } else {
            script_fails(*state, text, "nonexistent global variable");
        }
    }
    script_is(*state, "loadstring('\\27Lua')", "nil bytecode is refused");
    script_is(*state,
              "(function() local n = 0 return load(function() n = n + 1 "
              "if n < 3 then return ('\\27Lua'):sub(n, n) end end) end)()",
              "nil bytecode is refused");
}

static void a_script_that_is_no_lua_is_not_compiled(void **state)
{
    struct scripts *t = *state;
    struct error e;
    int ref = 0;
    assert_int_equal(sandbox_compile(t->s, slice_str("return +"), NULL, NULL, &ref, &e),
                     ERR_SYNTAX);
    assert_non_null(strstr(e.text, "Error compiling script (new function): user_script:1:"));
    assert_int_equal(sandbox_compile(t->s, slice_of("\033Lua", 4), NULL, NULL, &ref, &e),
                     ERR_SYNTAX);
    assert_non_null(strstr(e.text, "bytecode is refused"));
    assert_int_equal(sandbox_compile(t->s, slice_of("x\0y", 3), NULL, NULL, &ref, &e), ERR_SYNTAX);
    assert_int_equal(sandbox_compile(t->s, slice_of(NULL, 0), NULL, NULL, &ref, &e), OK);
    sandbox_release(t->s, ref);
    sandbox_set_memory(t->s, 0);
    char code[9000];
    size_t len = (size_t)snprintf(code, sizeof code, "return '");
    memset(code + len, 'x', 8000);
    memcpy(code + len + 8000, "'", 2);
    assert_int_equal(sandbox_compile(t->s, slice_str(code), NULL, NULL, &ref, &e), ERR_LIMIT);
}

#define WORDS 100000

/* The same word again and again takes no memory: only its steps are counted, one at least. */
static void each_word_that_lua_gets_is_a_step(void **state)
{
    static struct slice args[WORDS];
    struct scripts *t = *state;
    struct buf reply = {0};
    struct buf json = {0};
    struct buf packed = {0};
    buf_append_str(&reply, "*100000\r\n");
    buf_append_str(&json, "[");
    buf_append(&packed, "\xdd\0\1\x86\xa0", 5); /* an array of so many */
    for (unsigned i = 0; i < WORDS; i++) {
        args[i] = slice_str("a");
        buf_append_str(&reply, "$1\r\na\r\n");
        buf_append_str(&json, i > 0 ? ",\"a\"" : "\"a\"");
        buf_append_str(&packed, "\xa1"
                                "a");
    }
    buf_append_byte(&reply, '\0');
    buf_append_str(&json, "]");
    assert_false(reply.is_failed || json.is_failed || packed.is_failed);
    struct slice texts[] = {buf_slice(&json), buf_slice(&packed)};
    t->reply = (const char *)reply.data;
    static const char *const codes[] = {"return #redis.call('LRANGE')",
                                        "return #cjson.decode(ARGV[1])",
                                        "return #cmsgpack.unpack(ARGV[2])", "return #ARGV"};
    for (size_t i = 0; i < 4; i++) {
        t->args = i < 3 ? texts : args;
        t->arg_count = i < 3 ? 2 : WORDS;
        script_replies(t, codes[i], ":100000\r\n");
        if (t->asks < WORDS / 10000 - 1) fail_msg("%s: it is asked %zu times", codes[i], t->asks);
    }
    buf_fini(&reply);
    buf_fini(&json);
    buf_fini(&packed);
}

static void write_collisions(struct buf *out, unsigned count, const char *before, const char *after)
{
    char text[COLLISION_BYTES + 1];
    for (unsigned i = 0; i < count; i++) {
        script_collision(i, text);
        buf_printf(out, "%s%s%s", before, text, after);
    }
    assert_false(out->is_failed);
}

/* Two or three times for the steps, more than a hundred times for the 30 million comparisons. */
static void strings_that_lua_does_not_tell_apart_are_asked_about(void **state)
{
    struct scripts *t = *state;
    struct buf json = {0};
    write_collisions(&json, 8192, "\"", "\",");
    json.data[json.len - 1] = ']';
    struct slice args[] = {slice_str("["), buf_slice(&json)};
    t->args = args;
    t->arg_count = 2;
    script_replies(t, "return #cjson.decode(ARGV[1] .. ARGV[2])", ":8192\r\n");
    assert_in_range(t->asks, 20, 1000000);
    buf_fini(&json);
}

static void write_table(struct buf *code, unsigned count)
{
    buf_append_str(code, "return {");
    write_collisions(code, count, "'", "',");
    buf_append_str(code, "}");
}

static bool asked(void *arg, size_t bytes)
{
    unsigned *asks = arg;
    (void)bytes;
    return ++*asks < 100;
}

/* Some 300 million comparisons. */
static void a_script_that_takes_long_to_compile_is_not(void **state)
{
    static const struct sandbox_ops ops = {.goes_on = asked};
    struct scripts *t = *state;
    struct buf code = {0};
    struct error e;
    int ref = 0;
    unsigned asks = 0;
    write_table(&code, 28000);
    assert_true(code.len <= SANDBOX_CODE_BYTES_MAX);
    assert_int_equal(sandbox_compile(t->s, buf_slice(&code), NULL, NULL, &ref, &e), ERR_LIMIT);
    assert_string_equal(e.text, "Error compiling script (new function): it takes too long");
    assert_true(sandbox_is_spent(t->s));
    sandbox_free(t->s);
    t->s = sandbox_new(SCRIPT_MEMORY);
    assert_int_equal(sandbox_compile(t->s, buf_slice(&code), &ops, &asks, &ref, &e), ERR_LIMIT);
    assert_int_equal(asks, 100);
    sandbox_free(t->s);
    t->s = sandbox_new(SCRIPT_MEMORY);
    buf_clear(&code, SIZE_MAX);
    write_table(&code, 1000);
    assert_int_equal(sandbox_compile(t->s, buf_slice(&code), NULL, NULL, &ref, &e), OK);
    sandbox_release(t->s, ref);
    buf_fini(&code);
}

/* ---- libraries ---- */

struct found {
    char names[128]; /* "a:1 b:0": with their flags */
    const char *refuse;
};

static enum err on_found(void *arg, const struct sandbox_function *f, struct error *e)
{
    struct found *x = arg;
    size_t len = strlen(x->names);
    if (x->refuse != NULL) return error_set(e, ERR_SYNTAX, "%s", x->refuse);
    (void)snprintf(x->names + len, sizeof x->names - len, "%s%.*s:%u%s", len > 0 ? " " : "",
                   (int)f->name.len, (const char *)f->name.data, f->flags,
                   f->description.data != NULL ? "+" : "");
    return OK;
}

static enum err load(struct scripts *t, const char *code, struct found *x, struct error *e)
{
    return sandbox_load(t->s, slice_str(code), on_found, x, e);
}

static void not_loaded(struct scripts *t, const char *code, enum err code_wanted, const char *part)
{
    struct found x = {.names = ""};
    struct error e = {.text = ""};
    enum err r = load(t, code, &x, &e);
    if (r != code_wanted) fail_msg("%s: %s", code, e.text);
    if (strstr(e.text, part) == NULL) fail_msg("%s: %s", code, e.text);
}

static void a_library_tells_its_functions(void **state)
{
    struct found x = {.names = ""};
    struct error e = {.text = ""};
    assert_int_equal(load(*state,
                          "redis.register_function('b', function() end) "
                          "redis.register_function{function_name = 'a', callback = function() end, "
                          "flags = {'no-writes', 'allow-stale'}, description = 'd'}",
                          &x, &e),
                     OK);
    assert_string_equal(x.names, "b:0 a:5+");
    x.names[0] = '\0';
    assert_int_equal(load(*state, "", &x, &e), OK);
    assert_string_equal(x.names, "");
    /* What is loaded is over: a script cannot register. */
    script_fails(*state, "redis.register_function('f', function() end)",
                 "can only be called on FUNCTION LOAD command");
}

static void a_library_that_is_wrong_is_not_loaded(void **state)
{
    struct found x = {.refuse = "ERR there is one"};
    struct error e = {.text = ""};
    assert_int_equal(load(*state, "redis.register_function('b', function() end)", &x, &e),
                     ERR_SYNTAX);
    assert_string_equal(e.text, "Error registering functions: ERR there is one");
    not_loaded(*state, "redis.", ERR_SYNTAX, "Error compiling function: user_function:1:");
    not_loaded(*state, "redis.register_function()", ERR_SYNTAX, "wrong number of arguments");
    not_loaded(*state, "redis.register_function('f')", ERR_SYNTAX, "single argument");
    not_loaded(*state, "redis.register_function('f', 1)", ERR_SYNTAX, "must be a function");
    not_loaded(*state, "redis.register_function(1, function() end)", ERR_SYNTAX,
               "must be a string");
    not_loaded(*state, "redis.register_function{callback = function() end}", ERR_SYNTAX,
               "must get a function name argument");
    not_loaded(*state, "redis.register_function{function_name = 'f'}", ERR_SYNTAX,
               "must get a callback argument");
    not_loaded(*state, "redis.register_function{function_name = 'f', flag = {}}", ERR_SYNTAX,
               "unknown argument");
    not_loaded(*state,
               "redis.register_function{function_name = 'f', flags = {'x'}, "
               "callback = function() end}",
               ERR_SYNTAX, "unknown flag given");
    not_loaded(*state, "redis.call('get', 'x')", ERR_SYNTAX, "inside a script invocation");
    not_loaded(*state, "while true do end", ERR_LIMIT, "too long or too much memory");
    not_loaded(*state, "pcall(function() while true do end end)", ERR_LIMIT, "too long");
    script_is(*state, "1", "1");
}

static void a_sha_is_forty_digits(void **state)
{
    char sha[SANDBOX_SHA_CHARS];
    script_sha(slice_str("return 1"), sha);
    assert_memory_equal(sha, "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", sizeof sha);
    script_sha(slice_of("", 0), sha);
    assert_memory_equal(sha, "da39a3ee5e6b4b0d3255bfef95601890afd80709", sizeof sha);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, scripts_enter, scripts_leave)
        T(a_script_has_its_keys_and_arguments),
        T(an_error_has_one_line_with_its_place),
        T(a_script_that_does_not_end_is_ended),
        T(every_200_instructions_it_is_asked),
        T(long_strings_are_asked_about_before),
        T(a_script_has_so_much_memory),
        T(memory_that_is_wanted_at_once_is_refused_before),
        T(its_limit_may_change),
        T(one_script_leaves_nothing_for_the_next),
        T(what_could_do_harm_is_not_there),
        T(a_script_that_is_no_lua_is_not_compiled),
        T(each_word_that_lua_gets_is_a_step),
        T(strings_that_lua_does_not_tell_apart_are_asked_about),
        T(a_script_that_takes_long_to_compile_is_not),
        T(a_library_tells_its_functions),
        T(a_library_that_is_wrong_is_not_loaded),
        T(a_sha_is_forty_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
