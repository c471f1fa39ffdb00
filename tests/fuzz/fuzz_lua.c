/* Programs in Lua, made of the input's bytes: each byte chooses what comes next, so that nearly all of
 * them compile and do something with errors, coroutines, metatables, callbacks and the libraries in C.
 * A program must end within the steps that it is given, wherever it is when these are over: it is asked
 * once and never again, and calls no command after that. Its memory stays within the limit, what it
 * replies is no more than that, and a script that runs after it finds everything as it was. What is
 * not asked at all and goes on is found by libFuzzer's time limit.
 */
#include <stdlib.h>

#include "script/sandbox.h"

#define MEMORY_BYTES (4u << 20)
#define STEPS 200 /* times 200 instructions, or 10,000 steps in C */
#define CODE_BYTES_MAX 6000
#define DEPTH_MAX 7

static void check(bool holds)
{
    if (!holds) abort();
}

/* ---- a program ------------------------------------------------------------------------------- */

struct making {
    const uint8_t *at, *end;
    struct buf code;
};

static size_t take(struct making *m, size_t below)
{
    return m->at < m->end ? *m->at++ % below : 0;
}

/* In these, E is an expression, F a function, B a block, S a string, N a number; a backslash before one
 * of them leaves the letter as it is. The first of each kind has none of these: so it ends. */
static const char *const expressions[] = {
    "nil",
    "a",
    "b",
    "c",
    "d",
    "x",
    "N",
    "S",
    "F",
    "{}",
    "{E, E, E}",
    "{S = E, k = E}",
    "E .. E",
    "E == E",
    "E < E",
    "E + E",
    "#E",
    "-E",
    "not E",
    "(E and E)",
    "(E or E)",
    "a[E]",
    "(E)(E)",
    "pcall(F, E)",
    "select(\\\"#\\\", xpcall(F, F))",
    "xpcall(F, F)",
    "select(2, xpcall(F, F))",
    "select(2, pcall(F, E))",
    "coroutine.create(F)",
    "coroutine.wrap(F)",
    "coroutine.wrap(F)(E)",
    "select(2, coroutine.resume(coroutine.create(F), E))",
    "coroutine.yield(E)",
    "coroutine.running()",
    "coroutine.status(coroutine.create(F))",
    "setmetatable({}, {__index = F, __newindex = F})",
    "setmetatable({}, {__eq = F, __lt = F, __le = F, __concat = F})",
    "setmetatable({E, E}, {__call = F, __tostring = F, __len = F, __unm = F, __add = F})",
    "setmetatable({E}, {__mode = 'k', __gc = F, __metatable = E})",
    "getmetatable(E)",
    "error(E)",
    "error({err = E}, 0)",
    "error(setmetatable({}, {__tostring = F}))",
    "assert(E, E)",
    "tostring(E)",
    "tonumber(E)",
    "tonumber(E, 16)",
    "type(E)",
    "rawget(a, E)",
    "rawset(a, E, E)",
    "next(a)",
    "unpack(a, 1, N)",
    "unpack({E, E})",
    "string.rep(S, N)",
    "string.rep(E, E)",
    "string.format('%s %5.2\\f %q %d', S, N, S, N)",
    "string.format(S, E, E)",
    "string.find(S, S)",
    "string.match(S, S, N)",
    "string.gsub(S, S, F)",
    "string.gsub(S, S, S)",
    "string.gsub(S, '.', F)",
    "string.gsub(string.rep(S, N), S, F)",
    "string.gmatch(S, S)()",
    "string.byte(S, 1, N)",
    "string.char(N % 256)",
    "string.reverse(S)",
    "string.upper(E)",
    "string.sub(S, N, -N)",
    "string.len(S)",
    "table.concat(a, S)",
    "table.concat({S, N, S}, S, 1, N)",
    "table.sort(a, F)",
    "table.sort({N, N, N, N}, F)",
    "table.sort({S, S, S})",
    "table.insert(a, E)",
    "table.insert(a, 1, E)",
    "table.remove(a)",
    "table.foreach(a, F)",
    "table.foreachi(a, F)",
    "table.maxn(a)",
    "loadstring(S)",
    "loadstring('return ' .. E)",
    "load(F)",
    "load(coroutine.wrap(F))",
    "cjson.encode(E)",
    "cjson.encode({[N] = E, k = a})",
    "cjson.decode(E)",
    "cjson.decode('[[1,{\"a\":[]}],' .. N .. ']')",
    "cjson.encode_sparse_array(true, N % 3, N)",
    "cjson.decode(cjson.encode(E))",
    "cmsgpack.pack(E, E)",
    "cmsgpack.unpack(E)",
    "cmsgpack.unpack(cmsgpack.pack(E))",
    "cmsgpack.unpack_limit(E, N, N)",
    "struct.pack(S, E, E)",
    "struct.pack('>I4bs', N, N, S)",
    "struct.unpack(S, E)",
    "struct.unpack('>I2Bc0', S)",
    "struct.size(S)",
    "bit.band(N, E)",
    "bit.tohex(N, N)",
    "bit.lshift(E, N)",
    "redis.call('get', E)",
    "redis.pcall('set', S, E)",
    "redis.call(unpack(a))",
    "redis.sha1hex(E)",
    "redis.error_reply(S)",
    "redis.status_reply(E)",
    "redis.setresp(3)",
    "redis.log(2, E)",
    "redis.acl_check_cmd(S)",
    "math.random(N)",
    "math.floor(E)",
    "KEYS[N]",
    "ARGV[1]",
    "collectgarbage()",
    "collectgarbage('count')",
    "{map = E}",
    "{verbatim_string = {format = 'txt', string = E}}",
};

static const char *const statements[] = {
    "x = E",
    "a = E",
    "b = E",
    "c = E",
    "d = F",
    "a[E] = E",
    "local x = E B",
    "if E then B else B end",
    "while E do B end",
    "while true do B end",
    "repeat B until E",
    "for i = 1, N do B end",
    "for i = E, E, E do B end",
    "for k, v in pairs(a) do x = v B end",
    "for k, v in ipairs({E, E}) do B end",
    "for w in string.gmatch(S, S) do x = w B end",
    "for i = 1, N do a[i] = E end",
    "local v = E",
    "pcall(F)",
    "pcall(function() B end)",
    "pcall(function() while true do B end end)",
    "xpcall(F, F)",
    "xpcall(function() B end, function(x) B end)",
    "xpcall(error, function(x) while true do B end end)",
    "coroutine.wrap(function(x) B end)(E)",
    "while true do pcall(coroutine.wrap(F), E) end",
    "d = coroutine.wrap(F) for i = 1, N do d(i) end",
    "for i = 1, 9 do coroutine.wrap(d)(x) end",
    "error(E)",
    "do B end",
    "b = b .. b",
    "a = {a, a}",
    "table.sort(a, F)",
    "string.gsub(b, '.', F)",
    "redis.call('set', S, E)",
    "return E",
    "return {E, E}",
    "do return E, E end",
    "load(F)",
    "d(E)",
};

static const char *const texts[] = {
    "''",
    "'x'",
    "'abc'",
    "'%d+'",
    "'(.)'",
    "'%1%1'",
    "'[a-z]*'",
    "'%b()'",
    "'^(a-)$'",
    "'%f[%w]%w+'",
    "'((a*)*)*b'",
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaa'",
    "'1e5'",
    "'{\\\"k\\\":[1,null]}'",
    "'[[[[]]]]'",
    "'>I2 !8 d s c0'",
    "'bbbb'",
    "'i8l'",
    "'%99.99\\f'",
    "'%s%s%q'",
    "'x = 1'",
    "'return 1'",
    "'while true do end'",
    "'\\\\0\\\\255\\\\200'",
    "'\\\\147\\\\1\\\\2\\\\3'",
    "'\\\\221\\\\255\\\\255'",
    "b",
    "('x'):rep(5000)",
    "'err'",
    "'__index'",
};

static const char *const numbers[] = {"1",           "0",    "2",   "3",     "7",     "10",
                                      "100",         "1000", "1e5", "1e6",   "1e9",   "2147483647",
                                      "-2147483648", "-1",   "0.5", "1e300", "(0/0)", "(1/0)"};

static const char *const functions[] = {
    "type",
    "d",
    "error",
    "pcall",
    "tostring",
    "function(x) return x end",
    "function(...) B end",
    "function(x) B return E end",
    "function(x) error(E) end",
    "function(x) while true do end end",
    "function(x) return d(x) end",
    "function(x, y) return x < y end",
    "function() coroutine.yield(E) B end",
    "function(x) while true do coroutine.yield(x) end end",
    "coroutine.yield",
    "coroutine.wrap(F)",
    "redis.call",
    "redis.pcall",
    "rawequal",
    "string.rep",
    "cjson.encode",
    "cjson.decode",
    "setmetatable",
};

#define COUNT_OF(list) (sizeof(list) / sizeof(list)[0])

static void make(struct making *m, const char *form, int depth);

static void choose(struct making *m, const char *const *list, size_t count, int depth)
{
    bool is_over = depth >= DEPTH_MAX || m->code.len > CODE_BYTES_MAX;
    make(m, list[is_over ? 0 : take(m, count)], depth + 1);
}

/* A statement after `return` would not compile: each is a block of its own. */
static void make_block(struct making *m, int depth)
{
    size_t count = depth < DEPTH_MAX ? take(m, 4) : 0;
    for (size_t i = 0; i < count && m->code.len <= CODE_BYTES_MAX; i++) {
        buf_append_str(&m->code, "do ");
        choose(m, statements, COUNT_OF(statements), depth);
        buf_append_str(&m->code, " end ");
    }
}

/* The letter is none of a word. */
static bool stands_alone(const char *form, const char *at)
{
    bool is_after = at > form && (at[-1] == '_' || (at[-1] >= 'A' && at[-1] <= 'z'));
    return !is_after && !((at[1] >= 'A' && at[1] <= 'z') || at[1] == '_');
}

static void make(struct making *m, const char *form, int depth)
{
    for (const char *at = form; *at != '\0'; at++) {
        if (*at == '\\' && at[1] != '\0') {
            buf_append_byte(&m->code, (uint8_t) * ++at);
        } else if (!stands_alone(form, at)) {
            buf_append_byte(&m->code, (uint8_t)*at);
        } else if (*at == 'E') {
            choose(m, expressions, COUNT_OF(expressions), depth);
        } else if (*at == 'F') {
            choose(m, functions, COUNT_OF(functions), depth);
        } else if (*at == 'S') {
            choose(m, texts, COUNT_OF(texts), depth);
        } else if (*at == 'N') {
            choose(m, numbers, COUNT_OF(numbers), depth);
        } else if (*at == 'B') {
            make_block(m, depth);
        } else {
            buf_append_byte(&m->code, (uint8_t)*at);
        }
    }
}

/* ---- running it ------------------------------------------------------------------------------ */

struct world {
    struct buf reply;
    size_t steps, calls;
    bool is_over; /* it was told to end */
};

static bool on_call(void *arg, struct slice *argv, size_t argc, int proto, struct slice *reply)
{
    static const char *const replies[] = {"$1\r\nx\r\n", "$-1\r\n",     ":7\r\n",
                                          "+OK\r\n",     "-ERR no\r\n", "*2\r\n:1\r\n$2\r\nab\r\n"};
    struct world *w = arg;
    (void)proto;
    check(!w->is_over);
    check(argc > 0 && (argv[0].len == 0 || argv[0].data != NULL));
    *reply = slice_str(replies[w->calls++ % COUNT_OF(replies)]);
    w->is_over = w->calls >= 500;
    return !w->is_over;
}

static bool on_may(void *arg, struct slice *argv, size_t argc, bool *is_known)
{
    const struct world *w = arg;
    check(!w->is_over);
    *is_known = argc > 1;
    return argv[0].len > 3;
}

static void on_log(void *arg, int level, struct slice text)
{
    const struct world *w = arg;
    check(!w->is_over && level >= 0 && text.len <= MEMORY_BYTES);
}

static bool on_goes_on(void *arg, size_t bytes)
{
    struct world *w = arg;
    check(!w->is_over);
    w->is_over = bytes >= MEMORY_BYTES || ++w->steps > STEPS;
    return !w->is_over;
}

static const struct sandbox_ops ops = {
    .call = on_call, .may = on_may, .log = on_log, .goes_on = on_goes_on};

static enum sandbox_end run(struct sandbox *s, struct slice code, struct buf *out)
{
    struct slice words[] = {slice_str("k1"), slice_str("5")};
    struct world w = {0};
    struct buf line = {0};
    struct error e;
    bool is_error = false;
    int ref = 0;
    if (sandbox_compile(s, code, NULL, NULL, &ref, &e) != OK) return SANDBOX_FAILED;
    struct sandbox_call call = {.ref = ref,
                                .name = "sha",
                                .keys = words,
                                .key_count = 2,
                                .args = words,
                                .arg_count = 2,
                                .ops = &ops,
                                .arg = &w,
                                .proto = 3};
    enum sandbox_end end = sandbox_run(s, &call, out, &is_error, &line);
    check(end == SANDBOX_DONE ? out->len > 0 : out->len == 0);
    check((end == SANDBOX_FAILED) == (line.len > 0));
    check(!w.is_over || end == SANDBOX_STOPPED);
    check(sandbox_bytes(s) <= MEMORY_BYTES);
    check(out->len <= 3 * MEMORY_BYTES);
    sandbox_release(s, ref);
    buf_fini(&line);
    buf_fini(&w.reply);
    return end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char begin[] = "local a, b, c, d = {3, 1, 2}, 'abc', 7, function(x) return x end "
                                "local x = 1 ";
    struct making m = {.at = data, .end = data + size};
    struct sandbox *s = sandbox_new(MEMORY_BYTES);
    struct buf out = {0};
    check(s != NULL);
    buf_append_str(&m.code, begin);
    while (m.at < m.end && m.code.len <= CODE_BYTES_MAX) make_block(&m, 0);
    (void)run(s, buf_slice(&m.code), &out);
    out.len = 0;
    if (!sandbox_is_spent(s)) {
        const char *after = "return {type(redis.call), #KEYS, cjson.encode({1})}";
        const char *wanted = "*3\r\n$8\r\nfunction\r\n:2\r\n$3\r\n[1]\r\n";
        enum sandbox_end end = run(s, slice_str(after), &out);
        /* Lua may not have given back yet what the program had. */
        check(end == SANDBOX_DONE || end == SANDBOX_MEMORY || end == SANDBOX_FAILED);
        if (end == SANDBOX_DONE) check(slice_eq(buf_slice(&out), slice_str(wanted)));
    }
    buf_fini(&out);
    buf_fini(&m.code);
    sandbox_free(s);
    return 0;
}
