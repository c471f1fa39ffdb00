/* step: what functions in C do between two instructions of a script: they count, ask whether the
 * script may go on, and read its strings.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "script/sandbox_int.h"

void sandbox_check(lua_State *lua)
{
    if (sandbox_of(lua)->stop != STOP_NOT) {
        lua_pushliteral(lua, "the script must end");
        lua_error(lua);
    }
}

void sandbox_ask(struct sandbox *s, size_t bytes)
{
    if (s->stop != STOP_NOT || s->ops == NULL) return;
    if (!s->ops->goes_on(s->arg, bytes)) s->stop = STOP_ASKED;
}

void sandbox_charge(lua_State *lua, size_t bytes)
{
    sandbox_ask(sandbox_of(lua), bytes);
    sandbox_check(lua);
}

#define ASK_STEPS 10000
#define SLOW_US 200 /* of SANDBOX_LOOK_STEPS steps, which take less than 20 */

bool sandbox_look(struct sandbox *s)
{
    int64_t now_us = clock_mono_us();
    bool is_slow = now_us - s->looked_us >= SLOW_US;
    s->looked_us = now_us;
    s->unasked += s->steps;
    s->steps = 0;
    if (!is_slow && s->unasked < ASK_STEPS) return false;
    s->unasked = 0;
    sandbox_ask(s, 0);
    return s->stop != STOP_NOT;
}

#define WALK_BYTES 16384   /* from here on it is asked at once */
#define WALK_STEP_BYTES 64 /* of a step */

void sandbox_walk(lua_State *lua, size_t bytes)
{
    struct sandbox *s = sandbox_of(lua);
    if (bytes >= WALK_BYTES) {
        sandbox_charge(lua, bytes);
        return;
    }
    s->steps += bytes / WALK_STEP_BYTES;
    sandbox_step(lua, s);
}

size_t sandbox_room(const struct sandbox *s)
{
    return s->bytes_max > s->bytes ? s->bytes_max - s->bytes : 0;
}

void sandbox_no_memory(lua_State *lua)
{
    struct sandbox *s = sandbox_of(lua);
    if (s->ops != NULL && s->stop == STOP_NOT) s->stop = STOP_MEMORY;
    lua_pushliteral(lua, "not enough memory");
    (void)lua_error(lua);
    abort(); /* lua_error does not return; its declaration does not say so */
}

void sandbox_need(lua_State *lua, size_t bytes)
{
    struct sandbox *s = sandbox_of(lua);
    if (bytes <= sandbox_room(s)) return;
    lua_gc(lua, LUA_GCCOLLECT, 0); /* Lua does not by itself when there is no memory */
    if (bytes > sandbox_room(s)) sandbox_no_memory(lua);
}

void sandbox_lenient(lua_State *lua, size_t bytes)
{
    struct sandbox *s = sandbox_of(lua);
    sandbox_need(lua, bytes);
    s->bytes += bytes;
    s->is_lenient = true;
    int status = lua_pcall(lua, 1, 1, 0);
    s->is_lenient = false;
    s->bytes -= bytes;
    if (s->bytes > s->bytes_max) {
        lua_settop(lua, 0); /* what it made is let go */
        lua_gc(lua, LUA_GCCOLLECT, 0);
        sandbox_no_memory(lua);
    }
    sandbox_check(lua);
    if (status == 0) return;
    if (lua_type(lua, -1) == LUA_TSTRING) {
        luaL_where(lua, 1);
        lua_insert(lua, -2);
        lua_concat(lua, 2);
    }
    (void)lua_error(lua);
}

struct slice sandbox_string(lua_State *lua, int index)
{
    size_t len = 0;
    const char *text = luaL_checklstring(lua, index, &len);
    return slice_of(text, len);
}

void sandbox_push(lua_State *lua, struct slice text)
{
    sandbox_step(lua, sandbox_of(lua));
    lua_pushlstring(lua, (const char *)text.data, text.len);
}
