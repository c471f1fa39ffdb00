/* error: errors of scripts in the form that Redis 7 gives them. Inside of a script the error of a
 * command is a table {err = "CODE text"}; what leaves the script is a line:
 *
 *   ERR user_script:1: attempt to ... script: <sha>, on @user_script:1.
 */
#include <stdio.h>
#include <stdlib.h>

#include "script/sandbox_int.h"

/* Where the script was when the error was raised: sets `source` and `line` of the table on top. */
static void add_place(lua_State *lua)
{
    lua_Debug at;
    for (int level = 1; level < 4 && lua_getstack(lua, level, &at) != 0; level++) {
        if (lua_getinfo(lua, "Sl", &at) == 0 || at.what[0] == 'C') continue;
        lua_pushstring(lua, at.source);
        lua_setfield(lua, -2, "source");
        lua_pushinteger(lua, at.currentline);
        lua_setfield(lua, -2, "line");
        return;
    }
}

/* The value below the new table on top becomes its err: a text gets ERR in front. */
static void set_text(lua_State *lua)
{
    if (lua_type(lua, -2) == LUA_TSTRING || lua_type(lua, -2) == LUA_TNUMBER) {
        lua_pushliteral(lua, "ERR ");
        lua_pushvalue(lua, -3);
        lua_concat(lua, 2);
    } else {
        lua_pushfstring(lua, "ERR (error object is a %s value)", luaL_typename(lua, -2));
    }
    lua_setfield(lua, -2, "err");
}

int error_handler(lua_State *lua)
{
    lua_settop(lua, 1);
    lua_newtable(lua);
    if (lua_istable(lua, 1) && !protect_push(lua, 1)) {
        lua_pushliteral(lua, "err");
        lua_rawget(lua, 1);
        if (lua_type(lua, -1) == LUA_TSTRING) {
            lua_setfield(lua, 2, "err");
        } else {
            lua_pop(lua, 1);
            lua_pushliteral(lua, "ERR unknown error");
            lua_setfield(lua, 2, "err");
        }
    } else {
        lua_settop(lua, 2);
        set_text(lua);
    }
    add_place(lua);
    return 1;
}

void error_raise(lua_State *lua, const char *text, size_t len)
{
    lua_createtable(lua, 0, 1);
    lua_pushlstring(lua, text, len);
    lua_setfield(lua, -2, "err");
    (void)lua_error(lua);
    abort(); /* lua_error does not return; its declaration does not say so */
}

void error_line(lua_State *lua, const char *name, struct buf *out)
{
    if (!lua_istable(lua, -1)) { /* the handler itself failed */
        const char *text = lua_tostring(lua, -1);
        buf_printf(out, "ERR %s", text != NULL ? text : "the script failed");
        return;
    }
    lua_getfield(lua, -1, "err");
    lua_getfield(lua, -2, "source");
    lua_getfield(lua, -3, "line");
    size_t len = 0;
    const char *text = lua_tolstring(lua, -3, &len);
    const char *source = lua_tostring(lua, -2);
    buf_append(out, text, text != NULL ? len : 0);
    if (source != NULL) {
        buf_printf(out, " script: %s, on %s:%d.", name, source, (int)lua_tointeger(lua, -1));
    } else {
        buf_printf(out, " script: %s", name);
    }
    lua_pop(lua, 3);
}
