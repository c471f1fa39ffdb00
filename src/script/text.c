/* text: functions of Lua's library `string` that read or write a whole string at once. Lua's own do
 * the work; what they are going to do is counted before (sandbox.h), as nothing is between two
 * instructions of a script.
 */
#include <stdint.h>

#include "script/sandbox_int.h"

/* Lua's own function is the upvalue, and called as if it were the one that runs. */
static int text_own(lua_State *lua)
{
    return lua_tocfunction(lua, lua_upvalueindex(1))(lua);
}

/* Strings among the arguments are counted; numbers are left as they are. */
static int text_walk(lua_State *lua)
{
    int count = lua_gettop(lua);
    size_t bytes = 0;
    for (int i = 1; i <= count; i++) {
        if (lua_type(lua, i) != LUA_TSTRING) continue;
        if (__builtin_add_overflow(bytes, lua_objlen(lua, i), &bytes)) bytes = SIZE_MAX;
    }
    sandbox_walk(lua, bytes);
    return text_own(lua);
}

/* Lua's own adds an empty string as often as it is told, without an end, and a short one piece by
 * piece. */
static int text_rep(lua_State *lua)
{
    struct slice text = sandbox_string(lua, 1);
    lua_Number n = luaL_checknumber(lua, 2);
    if (text.len == 0 || !(n >= 1)) {
        lua_pushliteral(lua, "");
        return 1;
    }
    if (n > 4294967295.0 || (size_t)n > SIZE_MAX / 2 / text.len) {
        return luaL_error(lua, "resulting string too large");
    }
    size_t bytes = (size_t)n * text.len;
    sandbox_charge(lua, bytes);
    sandbox_need(lua, 2 * bytes); /* what is made, and the string of it */
    if ((size_t)n == 1) {
        lua_settop(lua, 1);
        return 1;
    }
    uint8_t *out = lua_newuserdata(lua, bytes);
    memcpy(out, text.data, text.len);
    for (size_t done = text.len; done < bytes;) {
        size_t more = done < bytes - done ? done : bytes - done;
        memcpy(out + done, out, more);
        done += more;
    }
    lua_pushlstring(lua, (const char *)out, bytes);
    return 1;
}

/* What it makes is counted, not what it is a part of: scripts read long strings bit by bit. */
static int text_sub(lua_State *lua)
{
    lua_Integer len = (lua_Integer)sandbox_string(lua, 1).len;
    lua_Integer from = luaL_checkinteger(lua, 2);
    lua_Integer to = luaL_optinteger(lua, 3, -1);
    if (from < 0) from = from < -len ? 1 : from + len + 1;
    if (to < 0) to = to < -len ? 0 : to + len + 1;
    if (to > len) to = len;
    if (from <= to) sandbox_walk(lua, (size_t)(to - from));
    return text_own(lua);
}

static void replace(lua_State *lua, const char *name, lua_CFunction f)
{
    lua_getfield(lua, -1, name);
    lua_pushcclosure(lua, f, 1);
    lua_setfield(lua, -2, name);
}

void text_count(lua_State *lua, const char *name)
{
    replace(lua, name, text_walk);
}

void text_functions(lua_State *lua)
{
    static const char *const walking[] = {"format", "lower", "reverse", "upper", NULL};
    for (const char *const *name = walking; *name != NULL; name++) text_count(lua, *name);
    replace(lua, "sub", text_sub);
    lua_pushcfunction(lua, text_rep);
    lua_setfield(lua, -2, "rep");
}
