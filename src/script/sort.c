/* sort: those functions of Lua's library `table` that change a table, as Lua has them, but that
 * they refuse tables which scripts share, and that a sort which takes long is noticed (sandbox.h):
 * comparing strings is C, between two instructions of the script.
 */
#include "script/sandbox_int.h"

/* The second value from the top is less than the one on top; both are popped. The order is at 2. */
static bool is_less(lua_State *lua)
{
    bool less = false;
    struct sandbox *s = sandbox_of(lua);
    sandbox_step(lua, s);
    if (!lua_isnil(lua, 2)) {
        lua_pushvalue(lua, 2);
        lua_insert(lua, -3);
        lua_call(lua, 2, 1);
        less = lua_toboolean(lua, -1) != 0;
        lua_pop(lua, 1);
        return less;
    }
    if (lua_type(lua, -1) == LUA_TSTRING && lua_type(lua, -2) == LUA_TSTRING) {
        size_t a = lua_objlen(lua, -1);
        size_t b = lua_objlen(lua, -2);
        s->steps += (a < b ? a : b) / 64;
    }
    less = lua_lessthan(lua, -2, -1) != 0;
    lua_pop(lua, 2);
    return less;
}

/* Is element i less than element j? */
static bool is_less_at(lua_State *lua, int i, int j)
{
    lua_rawgeti(lua, 1, i);
    lua_rawgeti(lua, 1, j);
    return is_less(lua);
}

static void swap(lua_State *lua, int i, int j)
{
    lua_rawgeti(lua, 1, i);
    lua_rawgeti(lua, 1, j);
    lua_rawseti(lua, 1, i);
    lua_rawseti(lua, 1, j);
}

/* Heapsort (Williams 1964): no order, however odd, makes it slow or wrong beyond being no order. */
static void sift_down(lua_State *lua, int root, int count)
{
    for (;;) {
        int child = 2 * root;
        if (child > count) return;
        if (child < count && is_less_at(lua, child, child + 1)) child++;
        if (!is_less_at(lua, root, child)) return;
        swap(lua, root, child);
        root = child;
    }
}

static int table_sort(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    if (!lua_isnoneornil(lua, 2)) luaL_checktype(lua, 2, LUA_TFUNCTION);
    lua_settop(lua, 2);
    luaL_checkstack(lua, 8, "");
    protect_refuse(lua, 1);
    int count = (int)lua_objlen(lua, 1);
    for (int i = count / 2; i >= 1; i--) sift_down(lua, i, count);
    for (int i = count; i > 1; i--) {
        swap(lua, 1, i);
        sift_down(lua, 1, i - 1);
    }
    return 0;
}

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

void table_functions(lua_State *lua)
{
    static const luaL_Reg functions[] = {{"sort", table_sort},
                                         {"insert", table_insert},
                                         {"remove", table_remove},
                                         {"setn", table_setn},
                                         {NULL, NULL}};
    luaL_register(lua, NULL, functions);
}
