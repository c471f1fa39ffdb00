/* reply: RESP as values of Lua, and values of Lua as RESP, by Redis's rules (docs/scripts.md).
 *
 *   to Lua    simple {ok=}, error {err=}, integer, bulk string, array as table from 1 on, nil
 *             false; of RESP3 {map={}}, {set={}}, {double=}, {big_number=}, {verbatim_string={}},
 *             boolean, nil
 *   to RESP   number: integer, cut; string; true 1, false nil; a table by its err, ok, double, map,
 *             set, big_number or verbatim_string, else an array up to the first nil
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "resp/item.h"
#include "script/sandbox_int.h"

#define DEPTH_MAX 200

/* ---- RESP to Lua ---- */

struct cursor {
    lua_State *lua;
    struct slice rest; /* of the reply */
};

static void push_field(lua_State *lua, const char *name, struct slice text)
{
    lua_createtable(lua, 0, 1);
    sandbox_push(lua, text);
    lua_setfield(lua, -2, name);
}

static void push_value(struct cursor *c);

static void push_items(struct cursor *c, size_t count)
{
    lua_createtable(c->lua, (int)count, 0);
    for (size_t i = 1; i <= count; i++) {
        push_value(c);
        lua_rawseti(c->lua, -2, (int)i);
    }
}

/* {map = {k = v}}, {set = {k = true}} */
static void push_named(struct cursor *c, size_t count, bool is_map)
{
    lua_createtable(c->lua, 0, 1);
    lua_createtable(c->lua, 0, (int)count);
    for (size_t i = 0; i < count; i++) {
        push_value(c);
        if (is_map) {
            push_value(c);
        } else {
            lua_pushboolean(c->lua, 1);
        }
        lua_rawset(c->lua, -3);
    }
    lua_setfield(c->lua, -2, is_map ? "map" : "set");
}

static void push_integer(lua_State *lua, struct slice text)
{
    int64_t n = 0;
    INVARIANT(slice_to_i64(text, &n));
    lua_pushnumber(lua, (lua_Number)n);
}

static void push_double(lua_State *lua, struct slice line)
{
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)line.len, (const char *)line.data);
    lua_createtable(lua, 0, 1);
    lua_pushnumber(lua, strtod(text, NULL));
    lua_setfield(lua, -2, "double");
}

static void push_verbatim(lua_State *lua, const struct resp_item *it)
{
    lua_createtable(lua, 0, 1);
    lua_createtable(lua, 0, 2);
    sandbox_push(lua, it->format);
    lua_setfield(lua, -2, "format");
    sandbox_push(lua, it->text);
    lua_setfield(lua, -2, "string");
    lua_setfield(lua, -2, "verbatim_string");
}

/* Replies are our own, so they are whole. */
static void push_value(struct cursor *c)
{
    lua_State *lua = c->lua;
    struct resp_item it;
    luaL_checkstack(lua, 6, "the reply is nested too deeply");
    INVARIANT(resp_item_read(c->rest, &it));
    c->rest = slice_of(c->rest.data + it.used, c->rest.len - it.used);
    if (it.is_nil) {
        if (it.type == '_') {
            lua_pushnil(lua);
        } else {
            lua_pushboolean(lua, 0);
        }
        return;
    }
    switch (it.type) {
    case '+': push_field(lua, "ok", it.text); return;
    case '-': push_field(lua, "err", it.text); return;
    case ':': push_integer(lua, it.text); return;
    case '$': sandbox_push(lua, it.text); return;
    case '*':
    case '>': push_items(c, it.children); return;
    case '%': push_named(c, it.children / 2, true); return;
    case '~': push_named(c, it.children, false); return;
    case '#': lua_pushboolean(lua, it.text.data[0] == 't'); return;
    case ',': push_double(lua, it.text); return;
    case '(': push_field(lua, "big_number", it.text); return;
    case '=': push_verbatim(lua, &it); return;
    default: die("%s: a reply of unknown kind", __FILE__);
    }
}

void reply_push(lua_State *lua, struct slice reply)
{
    struct cursor c = {.lua = lua, .rest = reply};
    push_value(&c);
}

/* ---- Lua to RESP ---- */

struct writing {
    lua_State *lua;
    struct resp_writer *w;
    int script_proto;
    size_t out_max;
    bool is_deep;
};

static bool write_value(struct writing *x, int depth);

/* Is there a field of that type? Then it is on top. */
static bool has_field(lua_State *lua, const char *name, int type)
{
    lua_pushstring(lua, name);
    lua_rawget(lua, -2);
    if (lua_type(lua, -1) == type) return true;
    lua_pop(lua, 1);
    return false;
}

/* A line of a reply has no control bytes. */
static void write_line(struct writing *x, char kind)
{
    struct slice text = sandbox_string(x->lua, -1);
    buf_append_byte(x->w->out, (uint8_t)kind);
    size_t at = x->w->out->len;
    buf_append(x->w->out, text.data, text.len);
    for (; at < x->w->out->len; at++) {
        if (x->w->out->data[at] == '\r' || x->w->out->data[at] == '\n') x->w->out->data[at] = ' ';
    }
    buf_append_str(x->w->out, "\r\n");
    lua_pop(x->lua, 1);
}

/* A map (or a set) is on top. */
static bool write_named(struct writing *x, bool is_map, int depth)
{
    lua_State *lua = x->lua;
    size_t count = 0;
    bool is_good = true;
    for (lua_pushnil(lua); lua_next(lua, -2) != 0; lua_pop(lua, 1)) {
        sandbox_step(lua, sandbox_of(lua));
        count++;
    }
    if (is_map) {
        resp_map(x->w, count);
    } else {
        resp_set(x->w, count);
    }
    lua_pushnil(lua);
    while (is_good && lua_next(lua, -2) != 0) {
        lua_pushvalue(lua, -2);
        is_good = write_value(x, depth + 1);
        if (is_good && is_map) {
            is_good = write_value(x, depth + 1);
        } else {
            lua_pop(lua, 1);
        }
    }
    lua_pop(lua, 1);
    return is_good;
}

/* A table is on top, and stays. False: it is none of a verbatim string. */
static bool write_verbatim(struct writing *x)
{
    lua_State *lua = x->lua;
    if (!has_field(lua, "verbatim_string", LUA_TTABLE)) return false;
    lua_pushliteral(lua, "format");
    lua_rawget(lua, -2);
    lua_pushliteral(lua, "string");
    lua_rawget(lua, -3);
    bool is = lua_type(lua, -1) == LUA_TSTRING && lua_type(lua, -2) == LUA_TSTRING;
    struct slice body = is ? sandbox_string(lua, -1) : slice_of(NULL, 0);
    struct slice format = is ? sandbox_string(lua, -2) : slice_of(NULL, 0);
    if (is && x->w->proto == 3 && format.len == 3) {
        buf_printf(x->w->out, "=%zu\r\n", body.len + 4);
        buf_append(x->w->out, format.data, format.len);
        buf_append_byte(x->w->out, ':');
        buf_append(x->w->out, body.data, body.len);
        buf_append_str(x->w->out, "\r\n");
    } else if (is) {
        resp_bulk(x->w, body);
    }
    lua_pop(lua, 3);
    return is;
}

static bool write_array(struct writing *x, int depth)
{
    lua_State *lua = x->lua;
    size_t count = 0;
    bool is_good = true;
    for (;; count++) {
        sandbox_step(lua, sandbox_of(lua));
        lua_rawgeti(lua, -1, (int)count + 1);
        bool is_end = lua_isnil(lua, -1);
        lua_pop(lua, 1);
        if (is_end) break;
    }
    resp_array(x->w, count);
    for (size_t i = 1; i <= count && is_good; i++) {
        lua_rawgeti(lua, -1, (int)i);
        is_good = write_value(x, depth + 1);
    }
    return is_good;
}

static bool write_table(struct writing *x, int depth)
{
    lua_State *lua = x->lua;
    bool is_good = true;
    if (has_field(lua, "err", LUA_TSTRING)) {
        write_line(x, '-');
    } else if (has_field(lua, "ok", LUA_TSTRING)) {
        write_line(x, '+');
    } else if (has_field(lua, "double", LUA_TNUMBER)) {
        resp_double(x->w, lua_tonumber(lua, -1));
        lua_pop(lua, 1);
    } else if (has_field(lua, "map", LUA_TTABLE)) {
        is_good = write_named(x, true, depth);
    } else if (has_field(lua, "set", LUA_TTABLE)) {
        is_good = write_named(x, false, depth);
    } else if (has_field(lua, "big_number", LUA_TSTRING)) {
        if (x->w->proto == 3) {
            write_line(x, '(');
        } else {
            resp_bulk(x->w, sandbox_string(lua, -1));
            lua_pop(lua, 1);
        }
    } else if (!write_verbatim(x)) {
        is_good = write_array(x, depth);
    }
    return is_good;
}

static int64_t cut(lua_Number n)
{
    if (isnan(n)) return INT64_MIN;
    if (n >= 9223372036854775808.0 || n < -9223372036854775808.0) return INT64_MIN;
    return (int64_t)n;
}

/* Pops the value. */
static bool write_value(struct writing *x, int depth)
{
    lua_State *lua = x->lua;
    bool is_good = true;
    sandbox_step(lua, sandbox_of(lua));
    if (depth > DEPTH_MAX) x->is_deep = true;
    if (x->is_deep || lua_checkstack(lua, 8) == 0) return false;
    if (x->w->out->len > x->out_max) sandbox_no_memory(lua);
    switch (lua_type(lua, -1)) {
    case LUA_TNUMBER: resp_int(x->w, cut(lua_tonumber(lua, -1))); break;
    case LUA_TSTRING: resp_bulk(x->w, sandbox_string(lua, -1)); break;
    case LUA_TBOOLEAN:
        if (x->script_proto == 3) {
            resp_bool(x->w, lua_toboolean(lua, -1) != 0);
        } else if (lua_toboolean(lua, -1)) {
            resp_int(x->w, 1);
        } else {
            resp_nil(x->w);
        }
        break;
    case LUA_TTABLE: is_good = write_table(x, depth); break;
    default: resp_nil(x->w); break;
    }
    if (is_good) lua_pop(lua, 1);
    return is_good;
}

bool reply_write(lua_State *lua, struct resp_writer *w, int script_proto, bool *is_error)
{
    struct writing x = {.lua = lua,
                        .w = w,
                        .script_proto = script_proto,
                        .out_max = w->out->len + sandbox_of(lua)->bytes_max};
    size_t mark = w->out->len;
    bool is_good = write_value(&x, 0);
    *is_error = is_good && w->out->len > mark && w->out->data[mark] == '-';
    return is_good;
}
