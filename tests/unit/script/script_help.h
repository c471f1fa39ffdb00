/* script_help: a sandbox for tests: a script is run, and what became of it is compared. Everything
 * that may not fail asserts. One thread.
 */
#ifndef TESTS_UNIT_SCRIPT_HELP_H
#define TESTS_UNIT_SCRIPT_HELP_H

#include "script/sandbox.h"

struct scripts {
    struct sandbox *s;
    /* What the script is told. */
    size_t asks_max;   /* goes_on is answered with no after so many; SIZE_MAX at first */
    const char *reply; /* RESP, of redis.call */
    int proto;         /* of the result */
    bool is_function;
    const struct slice *args; /* ARGV; NULL = {"a", "b"} */
    size_t arg_count;
    /* Of the last run. */
    size_t asks, bytes; /* goes_on was asked so often, about so many bytes */
    size_t calls;       /* redis.call was called so often */
    char words[256];    /* of the last call, with a blank between two */
    int call_proto;     /* RESP of the last call */
    enum sandbox_end end;
    bool is_error;
    struct buf out, error; /* both end with a NUL that is not counted */
};

#define SCRIPT_MEMORY (8u << 20)

/* cmocka's setup and teardown; *state is a struct scripts. */
int scripts_enter(void **state);
int scripts_leave(void **state);

/* Compiles and runs it, with KEYS {"k"} and ARGV. */
enum sandbox_end script_run(struct scripts *t, const char *code);
/* What the expressions are, with a blank between two: "nil", "true", "2", "abc". In them hex(s) are
 * the bytes of a string. */
void script_is(struct scripts *t, const char *expressions, const char *wanted);
/* They raise an error that has `part` in its line. */
void script_fails(struct scripts *t, const char *expressions, const char *part);
#define COLLISION_BYTES 33
/* Strings of COLLISION_BYTES: Lua's hash sees every other byte of them, and all have the same. */
void script_collision(unsigned i, char out[COLLISION_BYTES + 1]);
/* The script replies with these bytes. */
void script_replies(struct scripts *t, const char *code, const char *wanted);

#endif
