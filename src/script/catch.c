/* catch: pcall, xpcall and coroutines as Lua has them, but for what ends a script: that they do not
 * catch. As in Redis, the error of a command that pcall catches is its text.
 *
 * Lua calls the handler of xpcall where the error was raised. When that was its count hook, in
 * which goes_on is asked, the handler would run without the hook: with no end. So here it is called
 * after xpcall's function was left, like any other function. A script cannot tell, as it has no
 * library `debug` by which it would look at what was left.
 */
#include "script/sandbox_int.h"

/* An error that was caught is on top. */
static void error_to_text(lua_State *lua)
{
    if (!lua_istable(lua, -1) || protect_push(lua, -1)) return;
    lua_pushliteral(lua, "err");
    lua_rawget(lua, -2);
    if (lua_type(lua, -1) == LUA_TSTRING) {
        lua_remove(lua, -2);
    } else {
        lua_pop(lua, 1);
    }
}

/* Calls the function below its arguments. */
static int call_caught(lua_State *lua, int args)
{
    struct sandbox *s = sandbox_of(lua);
    unsigned resumes = s->resumes;
    int status = lua_pcall(lua, args, LUA_MULTRET, 0);
    s->resumes = resumes; /* an error may have left some of them */
    sandbox_check(lua);
    return status;
}

static int catch_pcall(lua_State *lua)
{
    luaL_checkany(lua, 1);
    int status = call_caught(lua, lua_gettop(lua) - 1);
    if (status != 0) error_to_text(lua);
    lua_pushboolean(lua, status == 0);
    lua_insert(lua, 1);
    return lua_gettop(lua);
}

/* In Lua the handler is called for its own errors too, until the C stack ends. */
#define HANDLER_ERRORS_MAX 221

/* The error is on top, the handler at 2: its result takes the error's place. */
static void handle(lua_State *lua)
{
    int status = LUA_ERRRUN;
    for (int i = 0; i < HANDLER_ERRORS_MAX && status == LUA_ERRRUN; i++) {
        if (!lua_isfunction(lua, 2)) break;
        lua_pushvalue(lua, 2);
        lua_insert(lua, -2);
        status = call_caught(lua, 1);
        lua_settop(lua, 3); /* one result */
    }
    if (status == 0) return;
    lua_settop(lua, 2);
    lua_pushliteral(lua, "error in error handling");
}

static int catch_xpcall(lua_State *lua)
{
    luaL_checkany(lua, 2);
    lua_settop(lua, 2);
    lua_pushvalue(lua, 1);
    int status = call_caught(lua, 0);
    if (status == LUA_ERRRUN) handle(lua);
    lua_pushboolean(lua, status == 0);
    lua_replace(lua, 2);
    return lua_gettop(lua) - 1;
}

/* ---- coroutines ---- */

#define RESUMES_MAX 100 /* inside of one another: each takes some of the thread's stack */

/* Lua's own resume is the upvalue; its arguments are on the stack. */
static void resume(lua_State *lua, int upvalue)
{
    struct sandbox *s = sandbox_of(lua);
    if (s->resumes == RESUMES_MAX) luaL_error(lua, "C stack overflow");
    lua_pushvalue(lua, lua_upvalueindex(upvalue));
    lua_insert(lua, 1);
    /* A coroutine has a count of instructions of its own. Many that each end before theirs is full
     * would never be asked about. */
    s->steps += SANDBOX_STEPS;
    sandbox_step(lua, s);
    unsigned resumes = s->resumes++;
    lua_call(lua, lua_gettop(lua) - 1, LUA_MULTRET);
    s->resumes = resumes;
    sandbox_check(lua);
}

static int catch_resume(lua_State *lua)
{
    resume(lua, 1);
    return lua_gettop(lua);
}

/* Upvalues: resume, the coroutine. */
static int catch_wrapped(lua_State *lua)
{
    lua_pushvalue(lua, lua_upvalueindex(2));
    lua_insert(lua, 1);
    resume(lua, 1);
    if (!lua_toboolean(lua, 1)) {
        lua_settop(lua, 2);
        if (lua_isstring(lua, 2)) { /* as Lua's own: where it was called comes first */
            luaL_where(lua, 1);
            lua_insert(lua, 2);
            lua_concat(lua, 2);
        }
        return lua_error(lua);
    }
    return lua_gettop(lua) - 1;
}

/* Upvalues: create, resume. */
static int catch_wrap(lua_State *lua)
{
    lua_settop(lua, 1);
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, 1, 1);
    lua_pushvalue(lua, lua_upvalueindex(2));
    lua_insert(lua, 1);
    lua_pushcclosure(lua, catch_wrapped, 2);
    return 1;
}

void catch_functions(lua_State *lua)
{
    lua_pushcfunction(lua, catch_pcall);
    lua_setfield(lua, -2, "pcall");
    lua_pushcfunction(lua, catch_xpcall);
    lua_setfield(lua, -2, "xpcall");
    lua_getfield(lua, -1, "coroutine");
    lua_getfield(lua, -1, "create");
    lua_getfield(lua, -2, "resume");
    lua_pushcclosure(lua, catch_wrap, 2);
    lua_setfield(lua, -2, "wrap");
    lua_getfield(lua, -1, "resume");
    lua_pushcclosure(lua, catch_resume, 1);
    lua_setfield(lua, -2, "resume");
    lua_pop(lua, 1);
}
