/* table: the rest of Lua's library `table`, as Lua has it, but that the functions which change a
 * table refuse tables that scripts share, and that each element they come to is a step (sandbox.h):
 * a table of millions is walked between two instructions of the script.
 */
#include "script/sandbox_int.h"

static int table_insert(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    protect_refuse(lua, 1);
    int end = (int)lua_objlen(lua, 1) + 1;
    int at = end;
    switch (lua_gettop(lua)) {
    case 2: break;
    case 3: at = luaL_checkint(lua, 2); break;
    default: return luaL_error(lua, "wrong number of arguments to 'insert'");
    }
    if (at > end) end = at;
    for (int i = end; i > at; i--) {
        sandbox_step(lua, sandbox_of(lua));
        lua_rawgeti(lua, 1, i - 1);
        lua_rawseti(lua, 1, i);
    }
    lua_rawseti(lua, 1, at);
    return 0;
}

static int table_remove(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    protect_refuse(lua, 1);
    int end = (int)lua_objlen(lua, 1);
    int at = luaL_optint(lua, 2, end);
    if (at < 1 || at > end) return 0;
    lua_rawgeti(lua, 1, at);
    for (int i = at; i < end; i++) {
        sandbox_step(lua, sandbox_of(lua));
        lua_rawgeti(lua, 1, i + 1);
        lua_rawseti(lua, 1, i);
    }
    lua_pushnil(lua);
    lua_rawseti(lua, 1, end);
    return 1;
}

/* Lua's own, which is obsolete and says so. */
static int table_setn(lua_State *lua)
{
    return luaL_error(lua, "'setn' is obsolete");
}

static int table_getn(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    lua_pushinteger(lua, (lua_Integer)lua_objlen(lua, 1));
    return 1;
}

static int table_maxn(lua_State *lua)
{
    lua_Number max = 0;
    luaL_checktype(lua, 1, LUA_TTABLE);
    lua_pushnil(lua);
    while (lua_next(lua, 1) != 0) {
        sandbox_step(lua, sandbox_of(lua));
        lua_pop(lua, 1);
        if (lua_type(lua, -1) == LUA_TNUMBER && lua_tonumber(lua, -1) > max) {
            max = lua_tonumber(lua, -1);
        }
    }
    lua_pushnumber(lua, max);
    return 1;
}

static void add_element(lua_State *lua, luaL_Buffer *b, int i)
{
    lua_rawgeti(lua, 1, i);
    if (!lua_isstring(lua, -1)) {
        luaL_error(lua, "invalid value (%s) at index %d in table for 'concat'",
                   luaL_typename(lua, -1), i);
    }
    sandbox_walk(lua, lua_objlen(lua, -1));
    luaL_addvalue(b);
}

static int table_concat(lua_State *lua)
{
    luaL_Buffer b;
    size_t between_bytes = 0;
    const char *between = luaL_optlstring(lua, 2, "", &between_bytes);
    luaL_checktype(lua, 1, LUA_TTABLE);
    int i = luaL_optint(lua, 3, 1);
    int last = lua_isnoneornil(lua, 4) ? (int)lua_objlen(lua, 1) : luaL_checkint(lua, 4);
    luaL_buffinit(lua, &b);
    for (; i < last; i++) {
        add_element(lua, &b, i);
        sandbox_walk(lua, between_bytes);
        luaL_addlstring(&b, between, between_bytes);
    }
    if (i == last) add_element(lua, &b, i);
    luaL_pushresult(&b);
    return 1;
}

/* The function at 2 for the key and the value on top, which are taken: has it a result? */
static bool call_for(lua_State *lua)
{
    sandbox_step(lua, sandbox_of(lua));
    lua_pushvalue(lua, 2);
    lua_insert(lua, -3);
    lua_call(lua, 2, 1);
    if (!lua_isnil(lua, -1)) return true;
    lua_pop(lua, 1);
    return false;
}

static int table_foreach(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    luaL_checktype(lua, 2, LUA_TFUNCTION);
    lua_settop(lua, 2);
    lua_pushnil(lua);
    while (lua_next(lua, 1) != 0) {
        lua_pushvalue(lua, -2);
        lua_insert(lua, -2);
        if (call_for(lua)) return 1;
    }
    return 0;
}

static int table_foreachi(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    luaL_checktype(lua, 2, LUA_TFUNCTION);
    int count = (int)lua_objlen(lua, 1);
    lua_settop(lua, 2);
    for (int i = 1; i <= count; i++) {
        lua_pushinteger(lua, i);
        lua_rawgeti(lua, 1, i);
        if (call_for(lua)) return 1;
    }
    return 0;
}

void table_functions(lua_State *lua)
{
    static const luaL_Reg functions[] = {
        {"insert", table_insert},   {"remove", table_remove},     {"setn", table_setn},
        {"getn", table_getn},       {"maxn", table_maxn},         {"concat", table_concat},
        {"foreach", table_foreach}, {"foreachi", table_foreachi}, {NULL, NULL}};
    luaL_register(lua, NULL, functions);
    sort_function(lua);
}
