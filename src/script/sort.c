/* sort: table.sort as Lua has it, but that it refuses tables which scripts share, and that one
 * which takes long is noticed (sandbox.h): comparing strings is C, between two instructions of the
 * script.
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

void sort_function(lua_State *lua)
{
    lua_pushcfunction(lua, table_sort);
    lua_setfield(lua, -2, "sort");
}
