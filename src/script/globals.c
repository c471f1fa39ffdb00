/* globals: what scripts find: the names of Lua that Redis allows them, the libraries, and of each
 * only what can do no harm. Everything is put in by name; what is in no list is not there.
 */
#include <limits.h>
#include <math.h>
#include <stdint.h>

#include "base/clock.h"
#include "script/sandbox_int.h"

/* It needs lua.h before it. */
#include <lua5.1/lua-bitop.h>

static const char *const base_names[] = {
    "assert",   "error",    "getmetatable", "ipairs", "pcall",    "rawequal", "select",
    "tonumber", "tostring", "type",         "xpcall", "_VERSION", NULL};
static const char *const string_names[] = {"byte",    "char", "format", "len", "lower",
                                           "reverse", "sub",  "upper",  NULL};
static const char *const coroutine_names[] = {"create", "resume", "running", "status",
                                              "wrap",   "yield",  NULL};
static const char *const math_names[] = {
    "abs",   "acos", "asin",  "atan", "atan2", "ceil", "cos",   "cosh", "deg",  "exp",
    "floor", "fmod", "frexp", "huge", "ldexp", "log",  "log10", "max",  "min",  "mod",
    "modf",  "pi",   "pow",   "rad",  "sin",   "sinh", "sqrt",  "tan",  "tanh", NULL};
/* Copies names of the table at `from` into the one on top. */
static void copy_names(lua_State *lua, int from, const char *const *names)
{
    for (; *names != NULL; names++) {
        lua_getfield(lua, from, *names);
        lua_setfield(lua, -2, *names);
    }
}

/* A new table, on top, with those names of the library (a table at `from`). */
static void library(lua_State *lua, int from, const char *const *names)
{
    lua_newtable(lua);
    copy_names(lua, from, names);
}

/* ---- what is not Lua's own ---- */

#define UNPACK_MAX 8000

static int collect_garbage(lua_State *lua)
{
    const char *what = luaL_optstring(lua, 1, "collect");
    if (strcmp(what, "count") == 0) {
        lua_pushnumber(lua, (lua_Number)sandbox_of(lua)->bytes / 1024);
    } else {
        lua_pushinteger(lua, 0); /* it happens by itself */
    }
    return 1;
}

static int gc_info(lua_State *lua)
{
    lua_pushinteger(lua, (lua_Integer)(sandbox_of(lua)->bytes / 1024));
    return 1;
}

/* Lua's own reckons the count of an absurd range so that it may be anything. */
static int unpack(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    lua_Integer from = luaL_optinteger(lua, 2, 1);
    lua_Integer to = lua_isnoneornil(lua, 3) ? (lua_Integer)lua_objlen(lua, 1)
                                             : luaL_checkinteger(lua, 3);
    if (from > to) return 0;
    if (from < INT_MIN || to > INT_MAX || to - from >= UNPACK_MAX ||
        lua_checkstack(lua, (int)(to - from) + 1) == 0) {
        return luaL_error(lua, "too many results to unpack");
    }
    for (lua_Integer i = from; i <= to; i++) lua_rawgeti(lua, 1, (int)i);
    return (int)(to - from) + 1;
}

/* bitop's own takes the least integer for a length. Upvalue: it. */
static int bit_tohex(lua_State *lua)
{
    lua_Number n = luaL_optnumber(lua, 2, 8);
    if (!(n >= -8)) n = -8;
    if (n > 8) n = 8;
    lua_settop(lua, 1);
    lua_pushnumber(lua, n);
    return lua_tocfunction(lua, lua_upvalueindex(1))(lua);
}

static int os_clock(lua_State *lua)
{
    int64_t us = clock_thread_us();
    lua_pushnumber(lua, (lua_Number)us / 1e6);
    return 1;
}

/* The text at 1, with the chunk's name at 2. */
static int load_text(lua_State *lua, struct slice text)
{
    const char *name = luaL_optstring(lua, 2, (const char *)text.data);
    sandbox_charge(lua, text.len * 16); /* compiling is slower than reading */
    bool is_bytecode = text.len > 0 && text.data[0] == LUA_SIGNATURE[0];
    if (!is_bytecode && luaL_loadbuffer(lua, (const char *)text.data, text.len, name) == 0) {
        return 1;
    }
    sandbox_check(lua); /* compiling may have had no memory */
    if (is_bytecode) lua_pushliteral(lua, "bytecode is refused");
    lua_pushnil(lua);
    lua_insert(lua, -2);
    return 2;
}

static int load_string(lua_State *lua)
{
    return load_text(lua, sandbox_string(lua, 1));
}

/* Its pieces are put together first: so that the first byte is seen before anything reads it. */
static int load_pieces(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TFUNCTION);
    lua_settop(lua, 2);
    if (lua_isnil(lua, 2)) {
        lua_pushliteral(lua, "=(load)");
        lua_replace(lua, 2);
    }
    lua_pushliteral(lua, "");
    for (;;) {
        lua_pushvalue(lua, 1);
        lua_call(lua, 0, 1);
        if (lua_isnil(lua, -1)) break;
        if (!lua_isstring(lua, -1)) luaL_error(lua, "reader function must return a string");
        if (lua_objlen(lua, -1) == 0) break;
        lua_concat(lua, 2);
    }
    lua_pop(lua, 1);
    return load_text(lua, sandbox_string(lua, 3));
}

/* ---- math.random: xorshift128+ (Vigna 2014), of the state ---- */

static uint64_t random_next(struct sandbox *s)
{
    uint64_t x = s->random[0];
    uint64_t y = s->random[1];
    s->random[0] = y;
    x ^= x << 23;
    s->random[1] = x ^ y ^ (x >> 17) ^ (y >> 26);
    return s->random[1] + y;
}

static int math_random(lua_State *lua)
{
    lua_Number r = (lua_Number)(random_next(sandbox_of(lua)) >> 11) / 9007199254740992.0;
    lua_Number low = 1;
    lua_Number high = 0;
    switch (lua_gettop(lua)) {
    case 0: lua_pushnumber(lua, r); return 1;
    case 1: high = floor(luaL_checknumber(lua, 1)); break;
    case 2:
        low = floor(luaL_checknumber(lua, 1));
        high = floor(luaL_checknumber(lua, 2));
        break;
    default: return luaL_error(lua, "wrong number of arguments");
    }
    luaL_argcheck(lua, low <= high, lua_gettop(lua), "interval is empty");
    lua_pushnumber(lua, floor(r * (high - low + 1)) + low);
    return 1;
}

static int math_randomseed(lua_State *lua)
{
    struct sandbox *s = sandbox_of(lua);
    struct rng rng;
    double seed = luaL_checknumber(lua, 1);
    uint64_t bits = 0;
    memcpy(&bits, &seed, sizeof bits); /* any number is a seed */
    rng_init(&rng, bits);
    s->random[0] = rng_next(&rng) | 1;
    s->random[1] = rng_next(&rng);
    return 0;
}

void math_functions(lua_State *lua)
{
    lua_pushcfunction(lua, math_random);
    lua_setfield(lua, -2, "random");
    lua_pushcfunction(lua, math_randomseed);
    lua_setfield(lua, -2, "randomseed");
}

/* ---- all of it ---- */

/* A library of Lua: runs its opener, leaves what it made on top. */
static void open_library(lua_State *lua, lua_CFunction opener, const char *name)
{
    lua_pushcfunction(lua, opener);
    lua_pushstring(lua, name);
    lua_call(lua, 1, 0);
    lua_getglobal(lua, name[0] != '\0' ? name : "_G");
}

/* Puts the library on top, protected, into the table of globals at 1. */
static void put(lua_State *lua, const char *name)
{
    protect_table(lua);
    lua_setfield(lua, 1, name);
}

static void put_string(lua_State *lua)
{
    open_library(lua, luaopen_string, "string");
    library(lua, -2, string_names);
    pattern_functions(lua);
    text_functions(lua);
    /* The metatable of all strings: ("x"):rep(2). */
    lua_pushliteral(lua, "");
    lua_getmetatable(lua, -1);
    lua_pushvalue(lua, -3);
    lua_setfield(lua, -2, "__index");
    lua_pushboolean(lua, 0);
    lua_setfield(lua, -2, "__metatable");
    lua_pop(lua, 2);
    put(lua, "string");
    lua_pop(lua, 1);
}

static void put_base(lua_State *lua)
{
    static const luaL_Reg functions[] = {{"collectgarbage", collect_garbage},
                                         {"gcinfo", gc_info},
                                         {"loadstring", load_string},
                                         {"load", load_pieces},
                                         {"unpack", unpack},
                                         {NULL, NULL}};
    open_library(lua, luaopen_base, "");
    int own = lua_gettop(lua);
    lua_pushvalue(lua, 1);
    copy_names(lua, own, base_names);
    lua_getfield(lua, own, "coroutine");
    library(lua, lua_gettop(lua), coroutine_names);
    lua_setfield(lua, 1, "coroutine");
    lua_pop(lua, 1);
    text_count(lua, "tonumber");
    catch_functions(lua);
    protect_functions(lua);
    luaL_register(lua, NULL, functions);
    lua_getfield(lua, 1, "coroutine");
    put(lua, "coroutine");
    lua_settop(lua, 1);
}

static void put_libraries(lua_State *lua)
{
    open_library(lua, luaopen_math, "math");
    library(lua, -2, math_names);
    math_functions(lua);
    put(lua, "math");
    lua_newtable(lua);
    table_functions(lua);
    put(lua, "table");
    put_string(lua);
    lua_pushcfunction(lua, luaopen_bit);
    lua_call(lua, 0, 1);
    lua_getfield(lua, -1, "tohex");
    lua_pushcclosure(lua, bit_tohex, 1);
    lua_setfield(lua, -2, "tohex");
    put(lua, "bit");
    json_library(lua);
    put(lua, "cjson");
    struct_library(lua);
    put(lua, "struct");
    msgpack_library(lua);
    put(lua, "cmsgpack");
    lua_createtable(lua, 0, 1);
    lua_pushcfunction(lua, os_clock);
    lua_setfield(lua, -2, "clock");
    put(lua, "os");
    redis_library(lua);
    put(lua, "redis");
    lua_getfield(lua, 1, "redis");
    lua_setfield(lua, 1, "server"); /* as Valkey calls it */
    lua_settop(lua, 1);
}

int globals_open(lua_State *lua)
{
    struct sandbox *s = sandbox_of(lua);
    random_system(s->random, sizeof s->random);
    s->random[0] |= 1;
    lua_settop(lua, 0);
    lua_newtable(lua);
    put_base(lua);
    put_libraries(lua);
    lua_pushvalue(lua, 1);
    lua_setfield(lua, LUA_REGISTRYINDEX, "globals");
    lua_pushvalue(lua, 1);
    protect_globals(lua);
    lua_pushvalue(lua, -1);
    lua_setfield(lua, 1, "_G");
    lua_replace(lua, LUA_GLOBALSINDEX);
    /* What Lua's openers left where scripts cannot come. */
    lua_pushnil(lua);
    lua_setfield(lua, LUA_REGISTRYINDEX, "_LOADED");
    return 0;
}

void globals_words(lua_State *lua, const struct slice *words, size_t count)
{
    lua_createtable(lua, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        sandbox_push(lua, words[i]);
        lua_rawseti(lua, -2, (int)i + 1);
    }
}

void globals_set(lua_State *lua, const char *name, const struct slice *words, size_t count)
{
    lua_getfield(lua, LUA_REGISTRYINDEX, "globals");
    globals_words(lua, words, count);
    lua_setfield(lua, -2, name);
    lua_pop(lua, 1);
}

void globals_unset(lua_State *lua, const char *name)
{
    lua_getfield(lua, LUA_REGISTRYINDEX, "globals");
    lua_pushnil(lua);
    lua_setfield(lua, -2, name);
    lua_pop(lua, 1);
}
