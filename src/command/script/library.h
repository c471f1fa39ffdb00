/* library: libraries of functions (FUNCTION LOAD), and what FCALL finds of them. They are rows of
 * the catalog, so they are as durable as all else, and every node has them:
 *
 *   head (DATABASE_CATALOG, SPACE_DATA), tuple ["library", name]
 *     -> MessagePack string: the code, its first line too
 *   head (DATABASE_CATALOG, SPACE_DATA), tuple ["function", name in lower case]
 *     -> MessagePack array: the name of its library, flags (enum script_flag), description or nil,
 *        and the name where it is not in lower case
 *
 * Names of functions are equal in any case, as in Redis. Before that was so, a row's key was the
 * name as it is written, with three members; such rows are still found, by that name.
 *
 * What was compiled of a library is kept with the version of its row; another version is another
 * library.
 */
#ifndef COMMAND_SCRIPT_LIBRARY_H
#define COMMAND_SCRIPT_LIBRARY_H

#include "command/script/script_int.h"

#define LIBRARY_NAME_MAX 255

/* A library as its code says it is, in an arena. */
struct library {
    struct slice name;
    struct slice code;                  /* all of it */
    size_t code_at;                     /* where its first line ends */
    struct sandbox_function *functions; /* their references are void */
    size_t count, cap;
};

/* The row of a function; its texts are borrowed. */
struct function_row {
    struct slice library, description; /* data NULL = it has none */
    struct slice name;                 /* data NULL = it is the key's */
    unsigned flags;
};

void libraries_open(struct scripts *x);
void libraries_close(struct scripts *x);

/* Reads the code: its first line, and what it registers. ERR_SYNTAX, in Redis's words; ERR_LIMIT.
 */
ERR_MUST_USE enum err library_read(struct slice code, struct arena *arena, struct library *out,
                                   struct error *e);

/* Whether two functions have the same name: ASCII letters are equal in either case. */
bool function_is_named(struct slice a, struct slice b);

/* Internal keys, in the arena. */
struct slice library_key(struct arena *arena, struct slice name);
struct slice function_key(struct arena *arena, struct slice name);
/* All keys of libraries, of functions: [*start, *end). */
void library_range(struct arena *arena, bool is_function, struct slice *start, struct slice *end);
/* The code of a row; what a function's row says. False: it is damaged. */
bool library_row(struct slice value, struct slice *code);
bool function_row(struct slice value, struct function_row *out);
struct slice library_row_write(struct arena *arena, struct slice code);
struct slice function_row_write(struct arena *arena, const struct function_row *f);

/* The function's library and code as they are now: p->function, code, flags, name. ERR_SYNTAX:
 * there is no such function; ERR_WAIT. *version: of the library's row. */
ERR_MUST_USE enum err function_find(struct request *rq, struct slice name, struct program *p);

/* The function of p in the sandbox of the loop (program_compile), or in another one. */
ERR_MUST_USE enum err library_compile(struct scripts *x, const struct program *p, int *ref,
                                      struct error *e);
ERR_MUST_USE enum err library_function(struct sandbox *s, const struct program *p, int *ref,
                                       struct error *e);

#endif
