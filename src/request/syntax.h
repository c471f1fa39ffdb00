/* syntax: the arguments of a command as the table writes them, and what COMMAND DOCS makes of it.
 *
 * The notation is that of Redis's manual, blanks between all parts:
 *
 *   TOKEN  =           a word as it stands (in any case), or one of the signs = ~ * $
 *   name               an argument; the name says what type it is (syntax.c has the list)
 *   [x]  [A | B]       may be left out;  one of them, or none
 *   <A | B>            one of them
 *   x [x ...]          once or more often; x may be several parts: key value [key value ...]
 *   [x ...]            any number of times, none included
 *
 * A token belongs to what follows it: `EX seconds` is one argument with a token, as in Redis;
 * `CLAMP lo hi` is a block with a token. It ends before the next token or `[`, unless all of an
 * alternative or of brackets belongs to it. So
 *
 *   key value [EX seconds | KEEPTTL]
 *
 * is: key; value; an optional oneof of (integer `seconds` with token EX) and (pure-token KEEPTTL).
 */
#ifndef REQUEST_SYNTAX_H
#define REQUEST_SYNTAX_H

#include "request/command.h"

enum syntax_type {
    SYNTAX_STRING,
    SYNTAX_KEY,
    SYNTAX_INTEGER,
    SYNTAX_DOUBLE,
    SYNTAX_PATTERN,
    SYNTAX_UNIX_TIME,
    SYNTAX_TOKEN, /* Redis's pure-token */
    SYNTAX_ONEOF,
    SYNTAX_BLOCK,
};

struct syntax_arg;

struct syntax_args {
    struct syntax_arg *first, *last; /* NULL = none */
    size_t count;
};

struct syntax_arg {
    struct syntax_arg *next;
    enum syntax_type type;
    const char *name;
    const char *token; /* NULL = none */
    bool is_optional;
    bool is_multiple;
    bool has_multiple_token;     /* the token comes before each of them */
    int key_spec;                /* -1 = no key; else set by key_specs (keys.h) */
    struct syntax_args children; /* of a oneof or a block */
};

/* Reads `text` into `out`; what it points to lives in the arena. ERR_SYNTAX: it is outside the
 * grammar, e says where. */
ERR_MUST_USE enum err syntax_parse(const char *text, struct arena *arena, struct syntax_args *out,
                                   struct error *e);
/* As COMMAND DOCS names them. */
const char *syntax_type_name(enum syntax_type type);

/* The syntax of all arguments, with FORMAT and IDEM id where the command takes them; in the arena
 * or static. */
const char *command_syntax(const struct command *c, struct arena *arena);
/* The same, read: the table's own strings are right (a test reads them all). */
void command_arguments(const struct command *c, struct arena *arena, struct syntax_args *out);
/* What COMMAND DOCS shows, from which redis-cli makes its hints: the same, or the brief form. */
void command_hint(const struct command *c, struct arena *arena, struct syntax_args *out);

#endif
