/* protect: tables that all scripts of a state share, and that none of them can change. A script
 * gets an empty table in place of each: its metatable, which no script can reach, sends reads to
 * the real one and refuses writes. What goes around metatables in Lua (rawset, next, table.insert
 * ...) is replaced by functions that know of it.
 */
#include "script/sandbox_int.h"

#define READ_ONLY "Attempt to modify a readonly table"

static char real_key; /* its address: where the metatable keeps the real table */

static int refuse_write(lua_State *lua)
{
    return luaL_error(lua, READ_ONLY);
}

/* The name is the second argument. */
static int refuse_read(lua_State *lua)
{
    const char *name = lua_isstring(lua, 2) ? lua_tostring(lua, 2) : luaL_typename(lua, 2);
    return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'", name);
}

void protect_table(lua_State *lua)
{
    lua_newtable(lua);
    lua_createtable(lua, 0, 4);
    lua_pushvalue(lua, -3);
    lua_setfield(lua, -2, "__index");
    lua_pushcfunction(lua, refuse_write);
    lua_setfield(lua, -2, "__newindex");
    lua_pushboolean(lua, 0);
    lua_setfield(lua, -2, "__metatable");
    lua_pushlightuserdata(lua, &real_key);
    lua_pushvalue(lua, -4);
    lua_rawset(lua, -3);
    lua_setmetatable(lua, -2);
    lua_replace(lua, -2);
}

void protect_globals(lua_State *lua)
{
    lua_createtable(lua, 0, 1);
    lua_pushcfunction(lua, refuse_read);
    lua_setfield(lua, -2, "__index");
    lua_setmetatable(lua, -2); /* of the real table: asked when it has no such name */
    protect_table(lua);
}

bool protect_push(lua_State *lua, int index)
{
    if (!lua_istable(lua, index) || lua_getmetatable(lua, index) == 0) return false;
    lua_pushlightuserdata(lua, &real_key);
    lua_rawget(lua, -2);
    lua_remove(lua, -2);
    if (lua_istable(lua, -1)) return true;
    lua_pop(lua, 1);
    return false;
}

void protect_refuse(lua_State *lua, int index)
{
    if (protect_push(lua, index)) luaL_error(lua, READ_ONLY);
}

static int protect_rawset(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    luaL_checkany(lua, 2);
    luaL_checkany(lua, 3);
    lua_settop(lua, 3);
    protect_refuse(lua, 1);
    lua_rawset(lua, 1);
    return 1;
}

static int protect_rawget(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    luaL_checkany(lua, 2);
    lua_settop(lua, 2);
    if (protect_push(lua, 1)) lua_replace(lua, 1);
    lua_rawget(lua, 1);
    return 1;
}

static int protect_next(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    lua_settop(lua, 2);
    if (protect_push(lua, 1)) lua_replace(lua, 1);
    if (lua_next(lua, 1) != 0) return 2;
    lua_pushnil(lua);
    return 1;
}

static int protect_pairs(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_pushvalue(lua, 1);
    lua_pushnil(lua);
    return 3;
}

static int protect_setmetatable(lua_State *lua)
{
    int type = lua_type(lua, 2);
    luaL_checktype(lua, 1, LUA_TTABLE);
    luaL_argcheck(lua, type == LUA_TNIL || type == LUA_TTABLE, 2, "nil or table expected");
    protect_refuse(lua, 1);
    if (luaL_getmetafield(lua, 1, "__metatable") != 0) {
        return luaL_error(lua, "cannot change a protected metatable");
    }
    lua_settop(lua, 2);
    lua_setmetatable(lua, 1);
    return 1;
}

void protect_functions(lua_State *lua)
{
    static const luaL_Reg functions[] = {{"rawset", protect_rawset},
                                         {"rawget", protect_rawget},
                                         {"next", protect_next},
                                         {"setmetatable", protect_setmetatable},
                                         {NULL, NULL}};
    luaL_register(lua, NULL, functions);
    lua_pushcfunction(lua, protect_next);
    lua_pushcclosure(lua, protect_pairs, 1);
    lua_setfield(lua, -2, "pairs");
}
