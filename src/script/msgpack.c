/* msgpack: the library `cmsgpack` that Redis's scripts have: values of Lua as MessagePack and back.
 * A table whose keys are 1 to n is an array, any other a map; what is nested deeper than 16 is nil,
 * as there. Extensions, which Lua has no value for, are an error.
 */
#include <limits.h>
#include <math.h>

#include "codec/pack.h"
#include "script/sandbox_int.h"

#define DEPTH_MAX 16
#define READ_DEPTH_MAX 200

/* ---- packing ---- */

static void write_value(lua_State *lua, struct buf *out, int depth);

/* Is the table on top an array? Its length. */
static bool is_array(lua_State *lua, size_t *count)
{
    size_t max = 0;
    *count = 0;
    lua_pushnil(lua);
    while (lua_next(lua, -2) != 0) {
        lua_pop(lua, 1);
        lua_Number n = lua_type(lua, -1) == LUA_TNUMBER ? lua_tonumber(lua, -1) : 0;
        if (!(n >= 1) || n > 4294967295.0 || n != floor(n)) {
            lua_pop(lua, 1);
            return false;
        }
        if ((size_t)n > max) max = (size_t)n;
        ++*count;
        sandbox_step(lua, sandbox_of(lua));
    }
    return max == *count;
}

static void write_head(struct buf *out, enum pack_type type, size_t count)
{
    uint8_t head[PACK_HEAD_BYTES];
    buf_append(out, head, pack_head(type, 0, count, head));
}

static void write_table(lua_State *lua, struct buf *out, int depth)
{
    size_t count = 0;
    if (is_array(lua, &count)) {
        write_head(out, PACK_ARRAY, count);
        for (size_t i = 1; i <= count; i++) {
            lua_rawgeti(lua, -1, (int)i);
            write_value(lua, out, depth + 1);
        }
        return;
    }
    count = 0;
    for (lua_pushnil(lua); lua_next(lua, -2) != 0; lua_pop(lua, 1)) {
        sandbox_step(lua, sandbox_of(lua));
        count++;
    }
    write_head(out, PACK_MAP, count);
    lua_pushnil(lua);
    while (lua_next(lua, -2) != 0) {
        lua_pushvalue(lua, -2);
        write_value(lua, out, depth + 1);
        write_value(lua, out, depth + 1);
    }
}

/* Pops the value. */
static void write_value(lua_State *lua, struct buf *out, int depth)
{
    struct sandbox *s = sandbox_of(lua);
    sandbox_step(lua, s);
    luaL_checkstack(lua, 5, "in function mp_encode");
    if (out->len > sandbox_room(s)) sandbox_need(lua, out->len);
    switch (lua_type(lua, -1)) {
    case LUA_TSTRING:
        sandbox_walk(lua, lua_objlen(lua, -1));
        sandbox_need(lua, out->len + lua_objlen(lua, -1));
        pack_str(out, sandbox_string(lua, -1));
        break;
    case LUA_TBOOLEAN: buf_append_byte(out, lua_toboolean(lua, -1) ? 0xc3 : 0xc2); break;
    case LUA_TNUMBER: pack_number(out, lua_tonumber(lua, -1)); break;
    case LUA_TTABLE:
        if (depth < DEPTH_MAX) {
            write_table(lua, out, depth);
            break;
        }
        buf_append_byte(out, 0xc0);
        break;
    default: buf_append_byte(out, 0xc0); break;
    }
    lua_pop(lua, 1);
}

static int msgpack_pack(lua_State *lua)
{
    struct buf *out = &sandbox_of(lua)->packed;
    int count = lua_gettop(lua);
    if (count == 0) return luaL_argerror(lua, 0, "MessagePack pack needs input.");
    buf_clear(out, 0);
    for (int i = 1; i <= count; i++) {
        lua_pushvalue(lua, i);
        write_value(lua, out, 0);
    }
    if (out->is_failed) return luaL_error(lua, "no memory to pack the value");
    lua_pushlstring(lua, (const char *)out->data, out->len);
    buf_clear(out, 4096);
    return 1;
}

/* ---- unpacking ---- */

struct reading {
    lua_State *lua;
    const uint8_t *at, *end;
};

static void read_value(struct reading *r, int depth);

static void read_array(struct reading *r, uint32_t count, int depth)
{
    lua_newtable(r->lua);
    for (uint32_t i = 1; i <= count; i++) {
        read_value(r, depth + 1);
        lua_rawseti(r->lua, -2, (int)i);
    }
}

static void read_map(struct reading *r, uint32_t count, int depth)
{
    lua_newtable(r->lua);
    for (uint32_t i = 0; i < count; i++) {
        read_value(r, depth + 1);
        read_value(r, depth + 1);
        lua_Number n = lua_type(r->lua, -2) == LUA_TNUMBER ? lua_tonumber(r->lua, -2) : 0;
        if (lua_isnil(r->lua, -2) || isnan(n)) luaL_error(r->lua, "Bad data format in input.");
        lua_rawset(r->lua, -3);
    }
}

/* Pushes it. */
static void read_value(struct reading *r, int depth)
{
    lua_State *lua = r->lua;
    struct pack_item item;
    sandbox_step(lua, sandbox_of(lua));
    if (depth > READ_DEPTH_MAX) luaL_error(lua, "the input is nested too deeply");
    luaL_checkstack(lua, 5, "in function mp_decode");
    switch (pack_read(&r->at, r->end, &item)) {
    case PACK_OK: break;
    case PACK_TRUNCATED: luaL_error(lua, "Missing bytes in input."); break;
    case PACK_INVALID: luaL_error(lua, "Bad data format in input."); break;
    }
    switch (item.type) {
    case PACK_NIL: lua_pushnil(lua); return;
    case PACK_BOOL: lua_pushboolean(lua, item.boolean); return;
    case PACK_UINT: lua_pushnumber(lua, (lua_Number)item.u); return;
    case PACK_INT: lua_pushnumber(lua, (lua_Number)item.i); return;
    case PACK_FLOAT: lua_pushnumber(lua, item.f); return;
    case PACK_STR:
    case PACK_BIN:
        sandbox_walk(lua, item.body.len);
        sandbox_push(lua, item.body);
        return;
    case PACK_ARRAY: read_array(r, item.count, depth); return;
    case PACK_MAP: read_map(r, item.count, depth); return;
    case PACK_EXT: luaL_error(lua, "Bad data format in input."); return;
    }
}

/* For an error: any number has an int that it is shown as. */
static int shown(lua_Number n)
{
    if (!(n > INT_MIN)) return INT_MIN;
    return n < INT_MAX ? (int)n : INT_MAX;
}

/* At most `limit` values from the offset on; with_offset: where it ended comes first, -1 at the
 * end. */
static int unpack(lua_State *lua, lua_Number limit, lua_Number offset, bool with_offset)
{
    struct slice text = sandbox_string(lua, 1);
    if (!(limit >= 0) || !(offset >= 0)) {
        return luaL_error(lua, "Invalid request to unpack with offset of %d and limit of %d.",
                          shown(offset), shown(limit));
    }
    if (offset > (lua_Number)text.len) {
        return luaL_error(lua, "Start offset %d greater than input length %d.", shown(offset),
                          (int)text.len);
    }
    struct reading r = {.lua = lua, .at = text.data + (size_t)offset, .end = text.data + text.len};
    int count = 0;
    lua_settop(lua, 1);
    for (; r.at < r.end && count < limit; count++) {
        luaL_checkstack(lua, 2, "too many values to unpack");
        read_value(&r, 0);
    }
    if (!with_offset) return count;
    lua_pushinteger(lua, r.at == r.end ? -1 : r.at - text.data);
    lua_insert(lua, 2);
    return count + 1;
}

static int msgpack_unpack(lua_State *lua)
{
    return unpack(lua, 4294967295.0, 0, false);
}

static int msgpack_unpack_one(lua_State *lua)
{
    return unpack(lua, 1, luaL_optnumber(lua, 2, 0), true);
}

static int msgpack_unpack_limit(lua_State *lua)
{
    lua_Number limit = luaL_checknumber(lua, 2);
    return unpack(lua, limit, luaL_optnumber(lua, 3, 0), true);
}

void msgpack_library(lua_State *lua)
{
    static const luaL_Reg functions[] = {{"pack", msgpack_pack},
                                         {"unpack", msgpack_unpack},
                                         {"unpack_one", msgpack_unpack_one},
                                         {"unpack_limit", msgpack_unpack_limit},
                                         {NULL, NULL}};
    lua_newtable(lua);
    luaL_register(lua, NULL, functions);
    lua_pushliteral(lua, "cmsgpack");
    lua_setfield(lua, -2, "_NAME");
}
