/* sandbox: a Lua 5.1 in which scripts of clients run: what Redis's scripts find there, and nothing
 * by which one could reach files, the process, another script, or go on when it must end. It knows
 * no commands: redis.call is a callback.
 *
 * 1. Whitelist: names are put in one by one (globals.c). No package, io, debug, dofile, loadfile,
 *    print, newproxy, string.dump; of os only clock. load and loadstring take no bytecode.
 * 2. What is shared by scripts cannot be changed by one: libraries and globals are seen through
 *    empty tables that refuse writes (protect.c). So a script finds what the one before it found.
 * 3. Memory is counted and has a limit; what is above it ends the script. That of functions in C
 *    which is none of Lua's counts too (json.c, msgpack.c).
 * 4. A script that must end ends: `goes_on` is asked every SANDBOX_STEPS instructions, when
 *    coroutines are resumed (each has a count of its own), after each megabyte that was allocated,
 *    when a few allocations take long, and by those functions in C that may take long (step.c). No
 *    code of the script runs where Lua has its count hook switched off (catch.c). When the answer
 *    is no it is not asked again, and pcall, xpcall and coroutine.resume do not catch what is
 *    raised.
 *
 * The thread that holds it owns all of it; it may go to another thread between two calls.
 */
#ifndef SCRIPT_SANDBOX_H
#define SCRIPT_SANDBOX_H

#include "base/buf.h"
#include "base/err.h"
#include "resp/writer.h"

#define SANDBOX_STEPS 200
#define SANDBOX_CODE_BYTES_MAX (1u << 20)
#define SANDBOX_SHA_CHARS 40

struct sandbox;

/* What scripts ask of the code that runs them. Called on the thread that is in sandbox_run. */
struct sandbox_ops {
    /* redis.call and redis.pcall: runs the words, *reply is what came of it as RESP of `proto`,
     * good until the next call; an error of the command is a reply. False: the script must end. */
    bool (*call)(void *arg, struct slice *argv, size_t argc, int proto, struct slice *reply);
    /* redis.acl_check_cmd. *is_known: there is such a command. */
    bool (*may)(void *arg, struct slice *argv, size_t argc, bool *is_known);
    /* redis.log; level: of Redis, 0 (debug) to 3 (warning). */
    void (*log)(void *arg, int level, struct slice text);
    /* Before something that takes as long as reading so many bytes; 0: now and then. False: the
     * script must end. */
    bool (*goes_on)(void *arg, size_t bytes);
};

/* Why a run ended. */
enum sandbox_end {
    SANDBOX_DONE,    /* its result is in `out`, maybe an error that it returned: *is_error then */
    SANDBOX_FAILED,  /* an error; the line is in `error` */
    SANDBOX_STOPPED, /* goes_on or call said so */
    SANDBOX_MEMORY,  /* it wanted more memory than it may have */
};

/* A function of a library. */
struct sandbox_function {
    struct slice name;        /* owned by the collector */
    struct slice description; /* data NULL = none */
    unsigned flags;           /* enum script_flag */
    int ref;
};

enum script_flag {
    SCRIPT_NO_WRITES = 1 << 0,
    SCRIPT_ALLOW_OOM = 1 << 1,
    SCRIPT_ALLOW_STALE = 1 << 2,
    SCRIPT_NO_CLUSTER = 1 << 3,
    SCRIPT_CROSS_SLOTS = 1 << 4,
};
#define SCRIPT_FLAGS 5

/* The names of flags as Redis has them, NULL-ended, by bit. */
extern const char *const script_flag_names[SCRIPT_FLAGS + 1];
/* Sets the bit of a flag, if it has one: other servers have flags by which a script promises or
 * allows what needs no promise here. False: there is no such flag. */
bool script_flag_add(struct slice name, unsigned *flags);

/* First line of a script, "#!lua name=... flags=a,b", if it has one. */
struct script_head {
    unsigned flags;
    struct slice name; /* borrowed; data NULL = it has none */
    size_t code_at;    /* where what follows begins: at the line's end, so that lines count on */
};

/* `takes_name`: a library must have a name, a script may not. ERR_SYNTAX, in Redis's words. */
ERR_MUST_USE enum err script_head_read(struct slice code, bool takes_name, struct script_head *out,
                                       struct error *e);

/* NULL: there is no memory. */
struct sandbox *sandbox_new(size_t memory_max);
void sandbox_free(struct sandbox *s);
/* How much it may have from now on. */
void sandbox_set_memory(struct sandbox *s, size_t memory_max);
/* Bytes that it has. */
size_t sandbox_bytes(const struct sandbox *s);
/* Lets all go that no script can come to any more. */
void sandbox_collect(struct sandbox *s);
/* It was changed in a way that the next script would find: make another one. */
bool sandbox_is_spent(const struct sandbox *s);

/* Compiles a script (a first line "#!..." already taken off): *ref names it until
 * sandbox_release. Of ops only goes_on is asked; NULL: it must not take longer than a turn may.
 * ERR_SYNTAX: what is wrong, as Lua says it; ERR_LIMIT: there is no memory for it, or it takes too
 * long. */
ERR_MUST_USE enum err sandbox_compile(struct sandbox *s, struct slice code,
                                      const struct sandbox_ops *ops, void *arg, int *ref,
                                      struct error *e);
/* Runs a library once, which registers its functions with `found`, each with a reference as of
 * sandbox_compile. ERR_SYNTAX, in Redis's words; ERR_LIMIT. */
ERR_MUST_USE enum err sandbox_load(struct sandbox *s, struct slice code,
                                   enum err (*found)(void *arg, const struct sandbox_function *f,
                                                     struct error *e),
                                   void *arg, struct error *e);
void sandbox_release(struct sandbox *s, int ref);

struct sandbox_call {
    int ref;
    const char *name; /* shown with errors: the script's SHA1, or the function's name */
    bool is_function; /* its keys and arguments are parameters, not KEYS and ARGV */
    const struct slice *keys, *args;
    size_t key_count, arg_count;
    const struct sandbox_ops *ops;
    void *arg; /* of ops */
    int proto; /* the result is written as RESP of it */
};

/* Runs it once. What was appended to `out` is dropped unless it is SANDBOX_DONE; `error` gets the
 * line of SANDBOX_FAILED, its code first ("ERR ..."). */
enum sandbox_end sandbox_run(struct sandbox *s, const struct sandbox_call *call, struct buf *out,
                             bool *is_error, struct buf *error);

/* The SHA1 of the script as 40 hex digits. */
void script_sha(struct slice code, char out[SANDBOX_SHA_CHARS]);

#endif
