#include "unit/script/script_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static const char begin[] =
    "local function hex(s) "
    "  local t = {} "
    "  for i = 1, #s do t[i] = string.format('%02x', string.byte(s, i)) end "
    "  return table.concat(t) "
    "end "
    "local function show(...) "
    "  local t = {} "
    "  for i = 1, select('#', ...) do t[i] = tostring((select(i, ...))) end "
    "  return table.concat(t, ' ') "
    "end "
    "return show(";

static bool on_call(void *arg, struct slice *argv, size_t argc, int proto, struct slice *reply)
{
    struct scripts *t = arg;
    size_t at = 0;
    t->calls++;
    t->call_proto = proto;
    for (size_t i = 0; i < argc; i++) {
        at += (size_t)snprintf(t->words + at, sizeof t->words - at, "%s%.*s", i > 0 ? " " : "",
                               (int)argv[i].len, (const char *)argv[i].data);
        assert_true(at < sizeof t->words);
    }
    *reply = slice_str(t->reply);
    return true;
}

static bool on_goes_on(void *arg, size_t bytes)
{
    struct scripts *t = arg;
    t->bytes += bytes;
    return t->asks++ < t->asks_max;
}

int scripts_enter(void **state)
{
    static struct scripts bench;
    bench = (struct scripts){.asks_max = SIZE_MAX, .reply = "+OK\r\n", .proto = 2};
    bench.s = sandbox_new(SCRIPT_MEMORY);
    assert_non_null(bench.s);
    *state = &bench;
    return 0;
}

int scripts_leave(void **state)
{
    struct scripts *t = *state;
    sandbox_free(t->s);
    buf_fini(&t->out);
    buf_fini(&t->error);
    return 0;
}

static void end_text(struct buf *b)
{
    buf_append_byte(b, '\0');
    assert_false(b->is_failed);
    b->len--;
}

enum sandbox_end script_run(struct scripts *t, const char *code)
{
    static const struct sandbox_ops ops = {.call = on_call, .goes_on = on_goes_on};
    const struct slice keys[] = {slice_str("k")};
    const struct slice args[] = {slice_str("a"), slice_str("b")};
    struct error e = {.text = ""};
    struct sandbox_call call = {.name = "sha",
                                .is_function = t->is_function,
                                .keys = keys,
                                .args = t->args != NULL ? t->args : args,
                                .key_count = 1,
                                .arg_count = t->args != NULL ? t->arg_count : 2,
                                .ops = &ops,
                                .arg = t,
                                .proto = t->proto};
    enum err r = sandbox_compile(t->s, slice_str(code), NULL, NULL, &call.ref, &e);
    if (r != OK) fail_msg("%s", e.text);
    buf_clear(&t->out, SIZE_MAX);
    buf_clear(&t->error, SIZE_MAX);
    t->asks = t->bytes = t->calls = 0;
    t->end = sandbox_run(t->s, &call, &t->out, &t->is_error, &t->error);
    sandbox_release(t->s, call.ref);
    end_text(&t->out);
    end_text(&t->error);
    return t->end;
}

static void show(struct scripts *t, const char *expressions)
{
    struct buf code = {0};
    buf_printf(&code, "%s%s)", begin, expressions);
    end_text(&code);
    (void)script_run(t, (const char *)code.data);
    buf_fini(&code);
}

void script_is(struct scripts *t, const char *expressions, const char *wanted)
{
    struct buf reply = {0};
    show(t, expressions);
    if (t->end != SANDBOX_DONE) fail_msg("%s: %s", expressions, (const char *)t->error.data);
    buf_printf(&reply, "$%zu\r\n%s\r\n", strlen(wanted), wanted);
    end_text(&reply);
    if (strcmp((const char *)t->out.data, (const char *)reply.data) != 0) {
        fail_msg("%s is %s, not %s", expressions, (const char *)t->out.data, wanted);
    }
    buf_fini(&reply);
}

void script_fails(struct scripts *t, const char *expressions, const char *part)
{
    show(t, expressions);
    if (t->end != SANDBOX_FAILED) fail_msg("%s does not fail", expressions);
    if (strstr((const char *)t->error.data, part) == NULL) {
        fail_msg("%s says %s, not %s", expressions, (const char *)t->error.data, part);
    }
}

void script_replies(struct scripts *t, const char *code, const char *wanted)
{
    (void)script_run(t, code);
    if (t->end != SANDBOX_DONE) fail_msg("%s: %s", code, (const char *)t->error.data);
    assert_string_equal(t->out.data, wanted);
}

void script_collision(unsigned i, char out[COLLISION_BYTES + 1])
{
    for (unsigned k = 0; k < COLLISION_BYTES; k++) {
        out[k] = k % 2 == 1 && (i >> k / 2 & 1) > 0 ? 'b' : 'a';
    }
    out[COLLISION_BYTES] = '\0';
}
