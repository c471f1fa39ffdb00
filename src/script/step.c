/* step: what functions in C do between two instructions of a script: they count, ask whether the
 * script may go on, and read its strings.
 */
#include "script/sandbox_int.h"

void sandbox_check(lua_State *lua)
{
    if (sandbox_of(lua)->stop != STOP_NOT) {
        lua_pushliteral(lua, "the script must end");
        lua_error(lua);
    }
}

void sandbox_charge(lua_State *lua, size_t bytes)
{
    struct sandbox *s = sandbox_of(lua);
    if (s->stop == STOP_NOT && s->ops != NULL && !s->ops->goes_on(s->arg, bytes)) {
        s->stop = STOP_ASKED;
    }
    sandbox_check(lua);
}

struct slice sandbox_string(lua_State *lua, int index)
{
    size_t len = 0;
    const char *text = luaL_checklstring(lua, index, &len);
    return slice_of(text, len);
}
