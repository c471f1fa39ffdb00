/* sandbox: one state of Lua: its memory, when it must end, and a run of a script from its arguments
 * to its reply.
 *
 * Every call into Lua that may raise an error is made below lua_pcall or lua_cpcall: what it needs
 * goes in by a struct, whose address is the one argument.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "script/sandbox_int.h"

#define GC_PAUSE_PERCENT 150
#define GROWN_BYTES (1u << 20)
#define PACKED_KEEP_BYTES 4096

/* ---- memory ---- */

/* May it not have so many more? What Lua makes between two instructions, by `..` or by compiling
 * for example, is seen here alone: so it is asked here too whether the script goes on. */
static bool is_refused(struct sandbox *s, size_t bytes)
{
    if (bytes > sandbox_room(s)) {
        if (s->ops != NULL && s->stop == STOP_NOT) s->stop = STOP_MEMORY;
        return true;
    }
    s->grown += bytes;
    if (s->ops == NULL || s->stop != STOP_NOT) return false;
    if (s->grown >= GROWN_BYTES) {
        s->grown = 0;
        sandbox_ask(s, 0);
    } else if (++s->steps >= SANDBOX_LOOK_STEPS) {
        (void)sandbox_look(s);
    }
    if (s->stop == STOP_NOT) return false;
    s->is_spent = true; /* Lua is left wherever it is, as without memory */
    return true;
}

static void *allocate(void *arg, void *block, size_t old_bytes, size_t bytes)
{
    struct sandbox *s = arg;
    if (bytes == 0) {
        s->bytes -= block != NULL ? old_bytes : 0;
        blocks_free(&s->blocks, block, old_bytes);
        return NULL;
    }
    if (block == NULL) old_bytes = 0;
    if (bytes > old_bytes && !s->is_lenient && is_refused(s, bytes - old_bytes)) return NULL;
    void *p = blocks_resize(&s->blocks, block, old_bytes, bytes);
    /* Lua wants that making a block smaller never fails. */
    if (p == NULL && bytes <= old_bytes) return block;
    if (p != NULL) s->bytes = s->bytes - old_bytes + bytes;
    return p;
}

void sandbox_set_memory(struct sandbox *s, size_t memory_max)
{
    s->bytes_max = memory_max > s->bytes ? memory_max : s->bytes;
}

size_t sandbox_bytes(const struct sandbox *s)
{
    return s->bytes;
}

void sandbox_collect(struct sandbox *s)
{
    lua_gc(s->lua, LUA_GCCOLLECT, 0);
}

bool sandbox_is_spent(const struct sandbox *s)
{
    return s->is_spent;
}

/* ---- when it must end ---- */

static void hook(lua_State *lua, lua_Debug *debug)
{
    (void)debug;
    sandbox_charge(lua, 0);
}

/* ---- opening, closing ---- */

struct sandbox *sandbox_new(size_t memory_max)
{
    struct sandbox *s = mem_new_try(sizeof *s);
    if (s == NULL) return NULL;
    s->bytes_max = memory_max;
    s->lua = lua_newstate(allocate, s);
    if (s->lua == NULL || lua_cpcall(s->lua, globals_open, NULL) != 0) {
        sandbox_free(s);
        return NULL;
    }
    lua_gc(s->lua, LUA_GCSETPAUSE, GC_PAUSE_PERCENT);
    lua_sethook(s->lua, hook, LUA_MASKCOUNT, SANDBOX_STEPS);
    return s;
}

void sandbox_free(struct sandbox *s)
{
    if (s == NULL) return;
    if (s->lua != NULL) lua_close(s->lua);
    blocks_fini(&s->blocks);
    buf_fini(&s->packed);
    mem_free(s);
}

/* ---- what is asked, and of whom ---- */

static void ops_begin(struct sandbox *s, const struct sandbox_ops *ops, void *arg)
{
    s->ops = ops;
    s->arg = arg;
    s->stop = STOP_NOT;
    s->resumes = 0;
    s->steps = s->unasked = 0;
    s->looked_us = clock_mono_us();
}

static void ops_end(struct sandbox *s)
{
    s->ops = NULL;
    s->arg = NULL;
    s->stop = STOP_NOT;
}

/* What is compiled, or loaded, within a turn: the largest script takes a fifth of that, unless it
 * was made to take long. */
#define TURN_US 50000

struct turn {
    int64_t end_us; /* of the thread's processor time */
    size_t asks;    /* left */
};

static bool turn_goes_on(void *arg, size_t bytes)
{
    struct turn *t = arg;
    (void)bytes;
    return t->asks-- > 0 && clock_thread_us() < t->end_us;
}

static const struct sandbox_ops turn_ops = {.goes_on = turn_goes_on};

/* ---- compiling ---- */

struct source {
    struct slice code;
    const char *name;
    bool is_read;
    bool is_starved; /* there was no memory to compile it */
    int ref;
};

static const char *read_source(lua_State *lua, void *arg, size_t *len)
{
    struct source *s = arg;
    (void)lua;
    *len = s->is_read ? 0 : s->code.len;
    s->is_read = true;
    return (const char *)s->code.data;
}

/* The function on top. */
static void load_source(lua_State *lua, struct source *s)
{
    if (s->code.len > 0 && s->code.data[0] == LUA_SIGNATURE[0]) {
        luaL_error(lua, "bytecode is refused");
    }
    int status = lua_load(lua, read_source, s, s->name);
    s->is_starved = status == LUA_ERRMEM;
    if (status != 0) (void)lua_error(lua);
}

static int compile(lua_State *lua)
{
    struct source *s = lua_touserdata(lua, 1);
    load_source(lua, s);
    s->ref = luaL_ref(lua, LUA_REGISTRYINDEX);
    return 0;
}

/* After a failed lua_cpcall: what it said. */
static enum err said(struct sandbox *s, int status, const char *what, struct error *e)
{
    const char *text = lua_tostring(s->lua, -1);
    const char *missing = s->stop == STOP_ASKED ? "it takes too long" : "out of memory for it";
    enum err r = status == LUA_ERRMEM
                     ? error_set(e, ERR_LIMIT, "%s: %s", what, missing)
                     : error_set(e, ERR_SYNTAX, "%s: %s", what, text != NULL ? text : "?");
    lua_settop(s->lua, 0);
    return r;
}

enum err sandbox_compile(struct sandbox *s, struct slice code, const struct sandbox_ops *ops,
                         void *arg, int *ref, struct error *e)
{
    struct turn turn = {.end_us = clock_thread_us() + TURN_US, .asks = SIZE_MAX};
    struct source source = {.code = code, .name = "@user_script"};
    ops_begin(s, ops != NULL ? ops : &turn_ops, ops != NULL ? arg : &turn);
    int status = lua_cpcall(s->lua, compile, &source);
    if (source.is_starved) status = LUA_ERRMEM;
    enum err r = status == 0 ? OK : said(s, status, "Error compiling script (new function)", e);
    ops_end(s);
    *ref = source.ref;
    return r;
}

void sandbox_release(struct sandbox *s, int ref)
{
    luaL_unref(s->lua, LUA_REGISTRYINDEX, ref);
}

/* ---- a library ---- */

static int load_library(lua_State *lua)
{
    struct source *source = lua_touserdata(lua, 1);
    load_source(lua, source);
    source->ref = LUA_REFNIL;
    lua_pushcfunction(lua, error_handler);
    lua_insert(lua, -2);
    if (lua_pcall(lua, 0, 0, -2) != 0) return lua_error(lua);
    return 0;
}

/* It was compiled when `ref` is LUA_REFNIL. */
static enum err load_said(struct sandbox *s, const struct source *source, int status,
                          struct error *e)
{
    if (source->is_starved) status = LUA_ERRMEM;
    if (source->ref == LUA_NOREF) return said(s, status, "Error compiling function", e);
    if (s->stop != STOP_NOT || status == LUA_ERRMEM) {
        (void)error_set(e, ERR_LIMIT, "the library takes too long or too much memory to load");
    } else {
        lua_getfield(s->lua, -1, "err");
        const char *text = lua_tostring(s->lua, -1);
        (void)error_set(e, ERR_SYNTAX, "Error registering functions: %s",
                        text != NULL ? text : "?");
    }
    lua_settop(s->lua, 0);
    return e->code;
}

enum err sandbox_load(struct sandbox *s, struct slice code,
                      enum err (*found)(void *arg, const struct sandbox_function *f,
                                        struct error *e),
                      void *arg, struct error *e)
{
    /* 3,000,000 instructions, some 30 ms */
    struct turn turn = {.end_us = clock_thread_us() + TURN_US, .asks = 15000};
    struct loading loading = {.found = found, .arg = arg};
    struct source source = {.code = code, .name = "@user_function", .ref = LUA_NOREF};
    s->loading = &loading;
    ops_begin(s, &turn_ops, &turn);
    int status = lua_cpcall(s->lua, load_library, &source);
    enum err r = status != 0 ? load_said(s, &source, status, e) : OK;
    s->loading = NULL;
    ops_end(s);
    return r;
}

/* ---- a run ---- */

struct run {
    const struct sandbox_call *call;
    struct buf *out;
    struct buf *error;
    bool is_error;
    bool is_deep;
};

static int run(lua_State *lua)
{
    struct run *r = lua_touserdata(lua, 1);
    const struct sandbox_call *c = r->call;
    struct sandbox *s = sandbox_of(lua);
    lua_settop(lua, 0);
    lua_pushcfunction(lua, error_handler);
    lua_rawgeti(lua, LUA_REGISTRYINDEX, c->ref);
    if (c->is_function) {
        globals_unset(lua, "KEYS");
        globals_unset(lua, "ARGV");
        globals_words(lua, c->keys, c->key_count);
        globals_words(lua, c->args, c->arg_count);
    } else {
        globals_set(lua, "KEYS", c->keys, c->key_count);
        globals_set(lua, "ARGV", c->args, c->arg_count);
    }
    if (lua_pcall(lua, c->is_function ? 2 : 0, 1, 1) != 0) {
        sandbox_check(lua);
        error_line(lua, c->name, r->error);
        return lua_error(lua);
    }
    struct resp_writer w = {.out = r->out, .proto = c->proto};
    r->is_deep = !reply_write(lua, &w, s->proto, &r->is_error);
    return 0;
}

static enum sandbox_end end_of(const struct sandbox *s, const struct run *r, int status)
{
    if (s->stop == STOP_ASKED) return SANDBOX_STOPPED;
    if (s->stop == STOP_MEMORY || status == LUA_ERRMEM) return SANDBOX_MEMORY;
    return status != 0 || r->is_deep ? SANDBOX_FAILED : SANDBOX_DONE;
}

enum sandbox_end sandbox_run(struct sandbox *s, const struct sandbox_call *call, struct buf *out,
                             bool *is_error, struct buf *error)
{
    size_t mark = out->len;
    struct run r = {.call = call, .out = out, .error = error};
    ops_begin(s, call->ops, call->arg);
    s->proto = 2;
    int status = lua_cpcall(s->lua, run, &r);
    enum sandbox_end end = end_of(s, &r, status);
    if (end == SANDBOX_FAILED && error->len == 0) {
        buf_append_str(error, r.is_deep ? "ERR reached lua stack limit" : "ERR the script failed");
    }
    if (end != SANDBOX_DONE) out->len = mark;
    *is_error = r.is_error;
    s->is_spent = s->is_spent || s->stop == STOP_MEMORY;
    ops_end(s);
    buf_clear(&s->packed, PACKED_KEEP_BYTES);
    lua_settop(s->lua, 0);
    return end;
}
