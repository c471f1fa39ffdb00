/* json: the library `cjson`, Debian's own but for decode (json_decode.c), so that scripts find in
 * it what they find in Redis. It is told nothing of limits: its buffer is none of Lua's memory, it
 * ends the process when there is no memory for that, loses it when Lua's allocator raises an error,
 * and comes back to nothing before it is done. So what encode is going to write is weighed before
 * (json_weigh), and it runs with an allocator that refuses nothing (sandbox_lenient).
 *
 * What is weighed of a table that cjson writes as an array is as long as its greatest key: there is
 * a null for each that is missing. When it is no array cjson says by its settings:
 *
 *   encode_sparse_array(convert, ratio, safe)
 *   not an array: ratio > 0, greatest > ratio * keys, greatest > safe
 */
#include <math.h>

#include "script/sandbox_int.h"

/* It needs lua.h before it. */
#include <lua5.1/lua-cjson.h>

static const char *const names[] = {"encode", "null", "_NAME", "_VERSION", NULL};
/* They change how all scripts encode: a script that calls one has the state for itself. */
static const char *const settings[] = {"encode_sparse_array",    "encode_number_precision",
                                       "encode_invalid_numbers", "decode_invalid_numbers",
                                       "encode_keep_buffer",     NULL};
static const char *const depth_settings[] = {"encode_max_depth", "decode_max_depth", NULL};

/* The depth before a script sets one, and the greatest that it may set: what is nested is read and
 * written by functions in C that call themselves. */
#define DEPTH_MAX 1000
#define DEPTH_TEXT "expected integer between 1 and 1000"
/* What is around a value: a comma or a colon, brackets or quotes. */
#define AROUND_BYTES 3
#define NUMBER_BYTES 27
#define SMALL_NUMBER_BYTES 8 /* up to 999,999 */
#define WORD_BYTES 6         /* false */
#define NULL_BYTES 5

/* ---- what is going to be written ---- */

struct weighing {
    lua_State *lua;
    size_t left;     /* above it the rest is not weighed */
    double ratio;    /* of encode_sparse_array */
    double safe_max; /* likewise */
};

/* The string at `index`, with what is escaped of it. */
static size_t string_weigh(lua_State *lua, int index)
{
    size_t len = 0;
    const char *text = lua_tolstring(lua, index, &len);
    size_t bytes = len + AROUND_BYTES;
    sandbox_walk(lua, len);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < ' ' || c == 127) {
            bytes += 5; /* \u001f */
        } else if (c == '"' || c == '\\' || c == '/') {
            bytes++;
        }
    }
    return bytes;
}

static size_t number_weigh(lua_Number n)
{
    return n == floor(n) && fabs(n) < 1e6 ? SMALL_NUMBER_BYTES : NUMBER_BYTES;
}

static size_t table_weigh(struct weighing *x, int depth);

/* What is more than `left` may be said as less. */
static size_t json_weigh(struct weighing *x, int depth)
{
    sandbox_step(x->lua, sandbox_of(x->lua));
    switch (lua_type(x->lua, -1)) {
    case LUA_TSTRING: return string_weigh(x->lua, -1);
    case LUA_TTABLE: return depth > DEPTH_MAX ? 0 : table_weigh(x, depth);
    case LUA_TNUMBER: return number_weigh(lua_tonumber(x->lua, -1));
    default: return WORD_BYTES;
    }
}

/* The nulls of an array with such keys. */
static size_t holes_weigh(const struct weighing *x, double greatest, double keys)
{
    bool is_sparse = x->ratio > 0 && greatest > keys * x->ratio && greatest > x->safe_max;
    if (is_sparse || greatest <= keys) return 0;
    if (greatest - keys > (double)x->left / NULL_BYTES) return x->left + 1;
    return (size_t)(greatest - keys) * NULL_BYTES;
}

/* The table on top. */
static size_t table_weigh(struct weighing *x, int depth)
{
    lua_State *lua = x->lua;
    size_t bytes = AROUND_BYTES;
    double greatest = 0;
    double keys = 0;
    bool is_array = true;
    luaL_checkstack(lua, 3, "too many nested tables");
    lua_pushnil(lua);
    while (bytes <= x->left && lua_next(lua, -2) != 0) {
        lua_Number n = lua_type(lua, -2) == LUA_TNUMBER ? lua_tonumber(lua, -2) : 0;
        if (!(n >= 1) || n != floor(n)) is_array = false;
        if (n > greatest) greatest = n;
        keys++;
        if (lua_type(lua, -2) == LUA_TSTRING) bytes += string_weigh(lua, -2);
        struct weighing rest = *x;
        rest.left = bytes < x->left ? x->left - bytes : 0;
        bytes += json_weigh(&rest, depth + 1);
        lua_pop(lua, 1);
    }
    if (bytes > x->left) return bytes; /* the key is still there: nothing comes after it */
    return bytes + (is_array ? holes_weigh(x, greatest, keys) : (size_t)keys * NUMBER_BYTES);
}

/* Upvalues: cjson's encode, its encode_sparse_array. */
static int json_encode(lua_State *lua)
{
    struct sandbox *s = sandbox_of(lua);
    luaL_argcheck(lua, lua_gettop(lua) == 1, 1, "expected 1 argument");
    lua_pushvalue(lua, lua_upvalueindex(2));
    lua_call(lua, 0, 3);
    struct weighing x = {.lua = lua,
                         .left = s->bytes_max,
                         .ratio = lua_tonumber(lua, 3),
                         .safe_max = lua_tonumber(lua, 4)};
    lua_settop(lua, 1);
    size_t bytes = json_weigh(&x, 0);
    lua_settop(lua, 1);
    sandbox_walk(lua, bytes);
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    sandbox_lenient(lua, bytes);
    return 1;
}

/* ---- settings ---- */

/* cjson's own function, called as if it were the one that runs: so that its errors tell the
 * script's line. Upvalues: that function's own, the function. */
static int json_setting(lua_State *lua)
{
    sandbox_of(lua)->is_spent = true;
    return lua_tocfunction(lua, lua_upvalueindex(2))(lua);
}

static int json_depth_setting(lua_State *lua)
{
    if (lua_gettop(lua) == 1 && lua_isnumber(lua, 1)) {
        lua_Number depth = lua_tonumber(lua, 1);
        luaL_argcheck(lua, depth >= 1 && depth <= DEPTH_MAX, 1, DEPTH_TEXT);
    }
    return json_setting(lua);
}

/* The library is on top, cjson's own below it. */
static void put_setting(lua_State *lua, const char *name, lua_CFunction call)
{
    lua_getfield(lua, -2, name);
    if (lua_getupvalue(lua, -1, 1) == NULL) lua_pushnil(lua);
    lua_insert(lua, -2);
    lua_pushcclosure(lua, call, 2);
    lua_setfield(lua, -2, name);
}

/* Leaves the library on top. */
void json_library(lua_State *lua)
{
    lua_pushcfunction(lua, luaopen_cjson);
    lua_call(lua, 0, 1);
    int own = lua_gettop(lua);
    lua_newtable(lua);
    for (const char *const *n = names; *n != NULL; n++) {
        lua_getfield(lua, own, *n);
        lua_setfield(lua, -2, *n);
    }
    for (const char *const *n = settings; *n != NULL; n++) put_setting(lua, *n, json_setting);
    for (const char *const *n = depth_settings; *n != NULL; n++) {
        put_setting(lua, *n, json_depth_setting);
    }
    lua_getfield(lua, own, "encode");
    lua_getfield(lua, own, "encode_sparse_array");
    lua_pushcclosure(lua, json_encode, 2);
    lua_setfield(lua, -2, "encode");
    lua_getfield(lua, own, "decode_invalid_numbers");
    lua_getfield(lua, own, "decode_max_depth");
    lua_pushcclosure(lua, json_decode, 2);
    lua_setfield(lua, -2, "decode");
    /* Its buffer is not kept from one script to the next. */
    lua_getfield(lua, own, "encode_keep_buffer");
    lua_pushboolean(lua, 0);
    lua_call(lua, 1, 0);
    lua_remove(lua, own);
}
