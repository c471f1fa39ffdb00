/* sandbox_int: what the files of this folder share: the state of a sandbox, and helpers for
 * functions in C that scripts call. Everything here may raise an error of Lua (it does not return
 * then), so nothing that needs freeing may be held across a call.
 */
#ifndef SCRIPT_SANDBOX_INT_H
#define SCRIPT_SANDBOX_INT_H

#include <lua5.1/lauxlib.h>
#include <lua5.1/lua.h>
#include <lua5.1/lualib.h>

#include "base/random.h"
#include "script/blocks.h"
#include "script/sandbox.h"

enum sandbox_stop { STOP_NOT, STOP_ASKED, STOP_MEMORY };

/* While a library is loaded. */
struct loading {
    enum err (*found)(void *arg, const struct sandbox_function *f, struct error *e);
    void *arg;
    struct error error; /* of found */
};

struct sandbox {
    lua_State *lua;
    size_t bytes, bytes_max;
    struct blocks blocks; /* freed, of the script before */
    enum sandbox_stop stop;
    bool is_spent;
    bool is_lenient;               /* nothing is refused: sandbox_lenient */
    size_t grown;                  /* bytes allocated since goes_on was asked for them */
    size_t steps;                  /* since the last look, of C and of the allocator */
    size_t unasked;                /* steps before that since goes_on was asked */
    int64_t looked_us;             /* monotonic: the last look */
    const struct sandbox_ops *ops; /* of the run; NULL outside of one */
    void *arg;
    int proto;               /* redis.setresp */
    struct buf packed;       /* owned: what cmsgpack is writing */
    unsigned resumes;        /* of coroutines, inside of one another */
    uint64_t random[2];      /* of math.random */
    struct loading *loading; /* NULL = no library is being loaded */
};

static inline struct sandbox *sandbox_of(lua_State *lua)
{
    void *s = NULL;
    (void)lua_getallocf(lua, &s);
    return s;
}

/* step.c */
/* Raises an error if the script must end. */
void sandbox_check(lua_State *lua);
/* Asks goes_on, unless it has said no. */
void sandbox_ask(struct sandbox *s, size_t bytes);
/* The script is about to do in C what takes as long as reading so many bytes: asks goes_on. */
void sandbox_charge(lua_State *lua, size_t bytes);
/* After SANDBOX_LOOK_STEPS steps: is goes_on to be asked? When there were 10,000, and when these
 * took long: what one costs is up to the script, which may have many strings and keys that Lua's
 * hash does not tell apart. Asks; true: the script must end. */
bool sandbox_look(struct sandbox *s);
#define SANDBOX_LOOK_STEPS 64
/* A step of something that may take many: asks goes_on now and then. */
static inline void sandbox_step(lua_State *lua, struct sandbox *s)
{
    if (++s->steps >= SANDBOX_LOOK_STEPS && sandbox_look(s)) sandbox_check(lua);
}
/* So many bytes are about to be read or written, as often as the script likes. */
void sandbox_walk(lua_State *lua, size_t bytes);
/* Bytes that the script may still have. */
size_t sandbox_room(const struct sandbox *s);
/* It needs more memory than it may have: raises an error that nothing catches. */
__attribute__((noreturn)) void sandbox_no_memory(lua_State *lua);
/* Something is about to take so many bytes: if there are not, as sandbox_no_memory. */
void sandbox_need(lua_State *lua, size_t bytes);
/* Calls the function in C below its argument, the value on top; one result. It takes `bytes` of
 * memory of its own, which count while it runs, and loses them when it is left by an error of Lua's
 * allocator: so that one refuses nothing meanwhile. What is too much is refused afterwards. An
 * error that the function raises tells where the script called the running function. */
void sandbox_lenient(lua_State *lua, size_t bytes);
struct slice sandbox_string(lua_State *lua, int index);
/* Pushes a string: a step. */
void sandbox_push(lua_State *lua, struct slice text);

/* protect.c: tables that many scripts share. */
/* Replaces the table on top by an empty one through which it is seen and not changed. */
void protect_table(lua_State *lua);
/* Is it one of these? Then the table behind it is pushed. */
bool protect_push(lua_State *lua, int index);
/* Raises an error if the value is one of these. */
void protect_refuse(lua_State *lua, int index);
/* The table of globals on top, which are then seen through one, pushed in its place. */
void protect_globals(lua_State *lua);
/* Puts rawset, rawget, next, pairs and setmetatable into the table on top. */
void protect_functions(lua_State *lua);

/* What each puts into the table on top. */
void catch_functions(lua_State *lua);   /* catch.c: pcall, xpcall, coroutine */
void pattern_functions(lua_State *lua); /* pattern.c: find, match, gmatch, gsub */
void text_functions(lua_State *lua);    /* text.c: rep; and counts what is there */
/* The function of that name of the table on top, whose strings are counted from now on. */
void text_count(lua_State *lua, const char *name);
void table_functions(lua_State *lua); /* table.c: the whole library */
void sort_function(lua_State *lua);   /* sort.c: sort */
void math_functions(lua_State *lua);  /* globals.c */
/* A new table, on top. */
void json_library(lua_State *lua);
/* json_decode.c. Upvalues: cjson's decode_invalid_numbers, its decode_max_depth. */
int json_decode(lua_State *lua);
void struct_library(lua_State *lua);
void msgpack_library(lua_State *lua);
void redis_library(lua_State *lua);

/* globals.c: all of it; the globals of the state are then what scripts see. */
int globals_open(lua_State *lua);
/* Puts KEYS or ARGV there. */
void globals_set(lua_State *lua, const char *name, const struct slice *words, size_t count);
void globals_unset(lua_State *lua, const char *name);
/* A new table of the words, on top. */
void globals_words(lua_State *lua, const struct slice *words, size_t count);

/* reply.c */
/* Pushes what the reply says. */
void reply_push(lua_State *lua, struct slice reply);
/* Writes the value on top as a reply. False: it is nested too deeply. */
bool reply_write(lua_State *lua, struct resp_writer *w, int script_proto, bool *is_error);

/* error.c */
/* The message handler: makes a table {err, source, line} of the error on top. */
int error_handler(lua_State *lua);
/* Raises the text (its code first) as redis.call does: a table with `err`. */
__attribute__((noreturn)) void error_raise(lua_State *lua, const char *text, size_t len);
/* The line of an error as the reply shows it. */
void error_line(lua_State *lua, const char *name, struct buf *out);

#endif
