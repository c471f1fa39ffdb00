/* The input as a script in a sandbox whose commands echo, and as a library. Whatever it is: no crash, no
 * leak, an end within the steps that it is given, memory within its limit; a reply is whole RESP; and the
 * script that runs after it finds everything as it was.
 */
#include <stdio.h>
#include <stdlib.h>

#include "script/sandbox.h"

#define MEMORY_BYTES (4u << 20)
#define STEPS 300 /* times 200 instructions, or 10,000 steps in C */

struct world {
    struct buf reply;
    size_t steps;
    size_t calls;
};

static void check(bool holds)
{
    if (!holds) abort();
}

/* An array of its words, or, now and then, something else. */
static bool on_call(void *arg, struct slice *argv, size_t argc, int proto, struct slice *reply)
{
    static const char *const others[] = {"$-1\r\n",    "*-1\r\n",           ":-5\r\n",
                                         "+OK\r\n",    "-ERR no\r\n",       "*0\r\n",
                                         "$0\r\n\r\n", "*1\r\n*1\r\n:1\r\n"};
    static const char *const newer[] = {"_\r\n",
                                        "#t\r\n",
                                        ",1.5\r\n",
                                        "(123\r\n",
                                        "=7\r\ntxt:abc\r\n",
                                        "%1\r\n+a\r\n:1\r\n",
                                        "~1\r\n:1\r\n",
                                        ">1\r\n+x\r\n"};
    struct world *w = arg;
    w->reply.len = 0;
    w->calls++;
    if (w->calls % 3 == 0) {
        buf_append_str(&w->reply, (proto == 3 ? newer : others)[w->calls % 8]);
    } else {
        buf_printf(&w->reply, "*%zu\r\n", argc);
        for (size_t i = 0; i < argc; i++) {
            buf_printf(&w->reply, "$%zu\r\n", argv[i].len);
            buf_append(&w->reply, argv[i].data, argv[i].len);
            buf_append_str(&w->reply, "\r\n");
        }
    }
    *reply = buf_slice(&w->reply);
    return w->calls < 1000;
}

static bool on_may(void *arg, struct slice *argv, size_t argc, bool *is_known)
{
    (void)arg;
    *is_known = argc > 1;
    return argv[0].len > 3;
}

static bool on_goes_on(void *arg, size_t bytes)
{
    struct world *w = arg;
    return bytes < MEMORY_BYTES && w->steps++ < STEPS;
}

static const struct sandbox_ops ops = {.call = on_call, .may = on_may, .goes_on = on_goes_on};

/* One value from `at` on; where it ends. */
static size_t skip_value(struct slice s, size_t at)
{
    const uint8_t *end = at < s.len ? memchr(s.data + at, '\n', s.len - at) : NULL;
    check(end != NULL && end > s.data + at && end[-1] == '\r');
    size_t next = (size_t)(end - s.data) + 1;
    long n = strtol((const char *)s.data + at + 1, NULL, 10);
    switch (s.data[at]) {
    case '+':
    case '-':
    case ':':
    case '_':
    case '#':
    case ',':
    case '(': return next;
    case '$':
    case '=':
        if (n < 0) return next;
        check(next + (size_t)n + 2 <= s.len);
        check(memcmp(s.data + next + n, "\r\n", 2) == 0);
        return next + (size_t)n + 2;
    case '%': n *= 2; break;
    case '*':
    case '~': break;
    default: check(false);
    }
    for (; n > 0; n--) next = skip_value(s, next);
    return next;
}

static enum sandbox_end run(struct sandbox *s, int ref, int proto, struct buf *out)
{
    struct slice keys[] = {slice_str("k1"), slice_str("k2")};
    struct slice args[] = {slice_str("a1"), slice_str(""), slice_str("3")};
    struct world w = {0};
    struct buf line = {0};
    struct sandbox_call call = {.ref = ref,
                                .name = "sha",
                                .keys = keys,
                                .key_count = 2,
                                .args = args,
                                .arg_count = 3,
                                .ops = &ops,
                                .arg = &w,
                                .proto = proto};
    bool is_error = false;
    enum sandbox_end end = sandbox_run(s, &call, out, &is_error, &line);
    if (end == SANDBOX_DONE) {
        buf_append_byte(out, 0);
        out->len--;
        check(skip_value(buf_slice(out), 0) == out->len);
        check(is_error == (out->data[0] == '-'));
    } else {
        check(out->len == 0);
    }
    check((end == SANDBOX_FAILED) == (line.len > 0));
    check(sandbox_bytes(s) <= MEMORY_BYTES);
    buf_fini(&line);
    buf_fini(&w.reply);
    return end;
}

/* What a script finds that comes after others. */
static void all_is_there(struct sandbox *s)
{
    static const char code[] =
        "local t = {3, 1, 2} table.sort(t) "
        "return {type(redis.call), type(cjson.encode), type(string.rep), type(_G.pcall), #KEYS, "
        "t[1], ('x'):upper(), type(rawget(_G, 'io')), tostring(pcall(error))}";
    static const char wanted[] =
        "*9\r\n$8\r\nfunction\r\n$8\r\nfunction\r\n$8\r\nfunction\r\n$8\r\nfunction\r\n:2\r\n:1\r\n"
        "$1\r\nX\r\n$3\r\nnil\r\n$5\r\nfalse\r\n";
    struct buf out = {0};
    struct error e;
    int ref = 0;
    if (sandbox_is_spent(s)) return;
    if (sandbox_compile(s, slice_str(code), NULL, NULL, &ref, &e) ==
        OK) { /* there may be no memory left */
        enum sandbox_end end = run(s, ref, 2, &out);
        check(end == SANDBOX_DONE || end == SANDBOX_MEMORY);
        if (end == SANDBOX_DONE) check(slice_eq(buf_slice(&out), slice_str(wanted)));
    }
    buf_fini(&out);
}

static enum err found(void *arg, const struct sandbox_function *f, struct error *e)
{
    size_t *count = arg;
    (void)e;
    check(f->name.data != NULL);
    return ++*count < 100 ? OK : ERR_LIMIT;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice code = slice_of(data, size);
    struct sandbox *s = sandbox_new(MEMORY_BYTES);
    struct script_head head;
    struct buf out = {0};
    struct error e;
    size_t count = 0;
    int ref = 0;
    check(s != NULL);
    if (script_head_read(code, false, &head, &e) == OK) {
        struct slice body = slice_of(data + head.code_at, size - head.code_at);
        if (sandbox_compile(s, body, NULL, NULL, &ref, &e) == OK) {
            for (int proto = 2; proto <= 3; proto++) {
                out.len = 0;
                (void)run(s, ref, proto, &out);
            }
            sandbox_release(s, ref);
        }
    }
    if (script_head_read(code, true, &head, &e) == OK) {
        struct slice body = slice_of(data + head.code_at, size - head.code_at);
        (void)(sandbox_load(s, body, found, &count, &e) == OK);
    }
    all_is_there(s);
    buf_fini(&out);
    sandbox_free(s);
    return 0;
}
