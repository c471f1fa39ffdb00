/* redis: what scripts have as `redis` (and `server`, as Valkey calls it). Commands, permissions and
 * the log are callbacks (sandbox.h).
 */
#include <math.h>
#include <openssl/sha.h>
#include <stdio.h>

#include "script/sandbox_int.h"

#define ARGS_MAX 100000
#define LOG_LEVEL_MAX 3
/* What scripts may take this server for; the same as INFO says. */
#define REDIS_VERSION "7.0.15"
#define REDIS_VERSION_NUM 0x0007000f

void script_sha(struct slice code, char out[SANDBOX_SHA_CHARS])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t hash[SHA_DIGEST_LENGTH];
    SHA1(code.data, code.len, hash);
    for (size_t i = 0; i < sizeof hash; i++) {
        out[2 * i] = digits[hash[i] >> 4];
        out[2 * i + 1] = digits[hash[i] & 15];
    }
}

/* ---- call, pcall ---- */

__attribute__((noreturn)) static void raise(lua_State *lua, const char *text)
{
    error_raise(lua, text, strlen(text));
}

/* As redis.call sends numbers: integers as such, others so that they read back as the same. */
static void number_to_text(lua_State *lua, int index)
{
    char text[32];
    lua_Number n = lua_tonumber(lua, index);
    if (n == floor(n) && n > -1e18 && n < 1e18) {
        snprintf(text, sizeof text, "%lld", (long long)n);
    } else {
        snprintf(text, sizeof text, "%.17g", n);
    }
    lua_pushstring(lua, text);
    lua_replace(lua, index);
}

/* The words on the stack, in memory of Lua that lives as long as the call. */
static struct slice *take_words(lua_State *lua, size_t *argc)
{
    int count = lua_gettop(lua);
    if (count == 0) raise(lua, "ERR Please specify at least one argument for this redis lib call");
    if (count > ARGS_MAX) raise(lua, "ERR too many arguments for a command of a script");
    struct slice *argv = lua_newuserdata(lua, (size_t)count * sizeof *argv);
    for (int i = 1; i <= count; i++) {
        if (lua_type(lua, i) == LUA_TNUMBER) {
            number_to_text(lua, i);
        } else if (lua_type(lua, i) != LUA_TSTRING) {
            raise(lua, "ERR Lua redis lib command arguments must be strings or integers");
        }
        argv[i - 1] = sandbox_string(lua, i);
    }
    *argc = (size_t)count;
    return argv;
}

/* The reply of the command, pushed. */
static void call(lua_State *lua)
{
    struct sandbox *s = sandbox_of(lua);
    struct slice reply;
    size_t argc = 0;
    if (s->ops == NULL || s->ops->call == NULL) {
        raise(lua, "ERR redis.call can only be called inside a script invocation");
    }
    struct slice *argv = take_words(lua, &argc);
    if (!s->ops->call(s->arg, argv, argc, s->proto, &reply)) {
        if (s->stop == STOP_NOT) s->stop = STOP_ASKED;
        sandbox_check(lua);
    }
    lua_settop(lua, 0); /* there may be no room beside the words */
    reply_push(lua, reply);
}

static bool is_error(lua_State *lua)
{
    if (!lua_istable(lua, -1)) return false;
    lua_pushliteral(lua, "err");
    lua_rawget(lua, -2);
    bool is = lua_isstring(lua, -1) != 0;
    lua_pop(lua, 1);
    return is;
}

static int redis_call(lua_State *lua)
{
    call(lua);
    return is_error(lua) ? lua_error(lua) : 1;
}

static int catch_call(lua_State *lua)
{
    call(lua);
    return 1;
}

/* What is wrong with the arguments is caught too. */
static int redis_pcall(lua_State *lua)
{
    lua_pushcfunction(lua, catch_call);
    lua_insert(lua, 1);
    (void)lua_pcall(lua, lua_gettop(lua) - 1, 1, 0);
    sandbox_check(lua);
    return 1;
}

static int redis_acl_check_cmd(lua_State *lua)
{
    struct sandbox *s = sandbox_of(lua);
    bool is_known = false;
    size_t argc = 0;
    if (s->ops == NULL || s->ops->may == NULL) {
        raise(lua, "ERR redis.acl_check_cmd can only be called inside a script invocation");
    }
    struct slice *argv = take_words(lua, &argc);
    bool may = s->ops->may(s->arg, argv, argc, &is_known);
    if (!is_known) raise(lua, "ERR Invalid command passed to redis.acl_check_cmd()");
    lua_pushboolean(lua, may);
    return 1;
}

/* ---- replies, log, and the rest ---- */

static int single_field(lua_State *lua, const char *name)
{
    if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
        lua_settop(lua, 0);
        lua_pushliteral(lua, "ERR wrong number or type of arguments");
        name = "err";
    }
    lua_createtable(lua, 0, 1);
    lua_insert(lua, 1);
    lua_setfield(lua, 1, name);
    return 1;
}

static int redis_status_reply(lua_State *lua)
{
    return single_field(lua, "ok");
}

/* "-CODE text" and "CODE text" are the same; one word alone, also after a dash, is the text of an
 * ERR. */
static int redis_error_reply(lua_State *lua)
{
    if (lua_gettop(lua) == 1 && lua_type(lua, 1) == LUA_TSTRING) {
        struct slice text = sandbox_string(lua, 1);
        bool has_dash = text.len > 0 && text.data[0] == '-';
        if (has_dash) text = slice_of(text.data + 1, text.len - 1);
        bool has_code = memchr(text.data, ' ', text.len) != NULL;
        lua_pushstring(lua, has_code ? "" : "ERR ");
        lua_pushlstring(lua, (const char *)text.data, text.len);
        lua_concat(lua, 2);
        lua_replace(lua, 1);
    }
    return single_field(lua, "err");
}

static int redis_sha1hex(lua_State *lua)
{
    char sha[SANDBOX_SHA_CHARS];
    if (lua_gettop(lua) != 1) raise(lua, "ERR wrong number of arguments");
    struct slice text = sandbox_string(lua, 1);
    sandbox_charge(lua, text.len * 2);
    script_sha(text, sha);
    lua_pushlstring(lua, sha, sizeof sha);
    return 1;
}

static int redis_setresp(lua_State *lua)
{
    if (lua_gettop(lua) != 1) raise(lua, "ERR redis.setresp() requires one argument.");
    lua_Number n = lua_tonumber(lua, 1);
    if (n != 2 && n != 3) raise(lua, "ERR RESP version must be 2 or 3.");
    sandbox_of(lua)->proto = (int)n;
    return 0;
}

static int redis_log(lua_State *lua)
{
    struct sandbox *s = sandbox_of(lua);
    int count = lua_gettop(lua);
    if (count < 2) raise(lua, "ERR redis.log() requires two arguments or more.");
    if (!lua_isnumber(lua, 1)) raise(lua, "ERR First argument must be a number (log level).");
    lua_Number level = lua_tonumber(lua, 1);
    if (level != 0 && level != 1 && level != 2 && level != LOG_LEVEL_MAX) {
        raise(lua, "ERR Invalid debug level.");
    }
    luaL_Buffer b;
    luaL_buffinit(lua, &b);
    for (int i = 2; i <= count; i++) {
        if (i > 2) luaL_addchar(&b, ' ');
        struct slice text = sandbox_string(lua, i);
        luaL_addlstring(&b, (const char *)text.data, text.len);
    }
    luaL_pushresult(&b);
    if (s->ops != NULL && s->ops->log != NULL)
        s->ops->log(s->arg, (int)level, sandbox_string(lua, -1));
    return 0;
}

/* Of times when scripts were replicated as such: nothing to do. */
static int redis_true(lua_State *lua)
{
    lua_pushboolean(lua, 1);
    return 1;
}

static int redis_nothing(lua_State *lua)
{
    (void)lua;
    return 0;
}

/* ---- redis.register_function, while a library is loaded ---- */

/* The table of flags on top. */
static unsigned take_flags(lua_State *lua)
{
    unsigned flags = 0;
    for (int i = 1;; i++) {
        lua_rawgeti(lua, -1, i);
        if (lua_isnil(lua, -1)) break;
        if (lua_type(lua, -1) != LUA_TSTRING || !script_flag_add(sandbox_string(lua, -1), &flags)) {
            raise(lua, "ERR unknown flag given");
        }
        lua_pop(lua, 1);
    }
    lua_pop(lua, 2);
    return flags;
}

static void take_named(lua_State *lua, struct sandbox_function *f)
{
    lua_pushnil(lua);
    while (lua_next(lua, 1) != 0) {
        const char *name = lua_type(lua, -2) == LUA_TSTRING ? lua_tostring(lua, -2) : "";
        if (strcmp(name, "function_name") == 0) {
            f->name = sandbox_string(lua, -1);
        } else if (strcmp(name, "description") == 0) {
            f->description = sandbox_string(lua, -1);
        } else if (strcmp(name, "callback") == 0) {
            if (!lua_isfunction(lua, -1)) {
                raise(lua, "ERR callback argument given to redis.register_function must be a "
                           "function");
            }
            lua_pushvalue(lua, -1);
            f->ref = luaL_ref(lua, LUA_REGISTRYINDEX);
        } else if (strcmp(name, "flags") == 0) {
            if (!lua_istable(lua, -1)) {
                raise(lua, "ERR flags argument to redis.register_function must be a table "
                           "representing function flags");
            }
            lua_pushvalue(lua, -1);
            f->flags = take_flags(lua);
        } else {
            raise(lua, "ERR unknown argument given to redis.register_function");
        }
        lua_pop(lua, 1);
    }
}

/* The name and the function, or one table with all of it. */
static void take_function(lua_State *lua, struct sandbox_function *f)
{
    int count = lua_gettop(lua);
    if (count < 1 || count > 2) {
        raise(lua, "ERR wrong number of arguments to redis.register_function");
    }
    if (count == 1) {
        if (!lua_istable(lua, 1)) {
            raise(lua, "ERR calling redis.register_function with a single argument is only "
                       "applicable to Lua table (representing named arguments).");
        }
        take_named(lua, f);
        return;
    }
    if (lua_type(lua, 1) != LUA_TSTRING) {
        raise(lua, "ERR first argument to redis.register_function must be a string");
    }
    if (!lua_isfunction(lua, 2)) {
        raise(lua, "ERR second argument to redis.register_function must be a function");
    }
    f->name = sandbox_string(lua, 1);
    lua_pushvalue(lua, 2);
    f->ref = luaL_ref(lua, LUA_REGISTRYINDEX);
}

static int redis_register_function(lua_State *lua)
{
    struct loading *l = sandbox_of(lua)->loading;
    struct sandbox_function f = {.ref = LUA_NOREF};
    if (l == NULL) {
        raise(lua, "ERR redis.register_function can only be called on FUNCTION LOAD command");
    }
    take_function(lua, &f);
    if (f.name.data == NULL) {
        raise(lua, "ERR redis.register_function must get a function name argument");
    }
    if (f.ref == LUA_NOREF) {
        raise(lua, "ERR redis.register_function must get a callback argument");
    }
    if (l->found(l->arg, &f, &l->error) != OK) raise(lua, l->error.text);
    return 0;
}

/* ---- all of it ---- */

void redis_library(lua_State *lua)
{
    static const luaL_Reg functions[] = {{"call", redis_call},
                                         {"pcall", redis_pcall},
                                         {"acl_check_cmd", redis_acl_check_cmd},
                                         {"status_reply", redis_status_reply},
                                         {"error_reply", redis_error_reply},
                                         {"sha1hex", redis_sha1hex},
                                         {"setresp", redis_setresp},
                                         {"log", redis_log},
                                         {"replicate_commands", redis_true},
                                         {"set_repl", redis_nothing},
                                         {"breakpoint", redis_nothing},
                                         {"debug", redis_nothing},
                                         {"register_function", redis_register_function},
                                         {NULL, NULL}};
    static const struct {
        const char *name;
        int value;
    } numbers[] = {{"LOG_DEBUG", 0},  {"LOG_VERBOSE", 1},
                   {"LOG_NOTICE", 2}, {"LOG_WARNING", 3},
                   {"REPL_NONE", 0},  {"REPL_AOF", 1},
                   {"REPL_SLAVE", 2}, {"REPL_REPLICA", 2},
                   {"REPL_ALL", 3},   {"REDIS_VERSION_NUM", REDIS_VERSION_NUM}};
    lua_newtable(lua);
    luaL_register(lua, NULL, functions);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        lua_pushinteger(lua, numbers[i].value);
        lua_setfield(lua, -2, numbers[i].name);
    }
    lua_pushliteral(lua, REDIS_VERSION);
    lua_setfield(lua, -2, "REDIS_VERSION");
}
