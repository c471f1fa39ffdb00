/* tool: what a subcommand of tupledctl is, and what it is given when it runs. tupledctl is a
 * client: it knows of the server what goes over a connection, and shares `base`, `codec` and
 * `foreign` with it. A subcommand is a row of a table (main.c) and a function in a file of its own.
 *
 * What a person or a script asked for goes to standard output (output.h); errors, warnings and
 * progress (output.h) go to standard error.
 */
#ifndef TOOL_TOOL_H
#define TOOL_TOOL_H

#include "base/arena.h"
#include "tool/status.h"
#include "tool/wire.h"

struct tool_option {
    const char *name;  /* "--wait" */
    char letter;       /* 'w' for -w; 0 = none */
    const char *value; /* what stands for its value in the help, "FILE"; NULL = it takes none */
    const char *help;  /* one line */
};

struct tool;

/* A subcommand, and likewise an action of one (`queue list`). Tables end with a row without a name.
 */
struct tool_command {
    const char *name;
    const char *synopsis;                    /* its words, without name and options; "" = none */
    const char *summary;                     /* one line, without a full stop */
    const char *help;                        /* more lines; NULL = none. Of subcommands only */
    const struct tool_option *options;       /* NULL = none. Of subcommands only */
    const struct tool_command *actions;      /* the first is done when none is named; NULL = none */
    size_t words_min, words_max;             /* how many may follow */
    enum tool_status (*run)(struct tool *t); /* NULL when it has actions */
};

struct tool_given {
    const struct tool_option *option;
    const char *value; /* NULL when it takes none */
};

struct tool {
    const struct tool_command *command; /* of the table in main.c */
    const struct tool_command *action;  /* one of its actions, or the command itself */
    const char **words;                 /* what follows it, without options */
    size_t word_count;
    struct tool_given *given; /* options, in their order */
    size_t given_count;
    bool is_json, is_quiet, shows_progress;
    struct wire_options server; /* where, and as whom */
    struct arena arena;         /* lives as long as the program */
};

/* ---- what was asked for ---- */

bool tool_has(const struct tool *t, const char *option);
/* --version of tupledctl itself. */
bool tool_wants_version(const struct tool *t);
/* Its last value; NULL when it was not given. */
const char *tool_text(const struct tool *t, const char *option);
/* Its `nth` value, from 0; NULL when there are not so many. */
const char *tool_text_at(const struct tool *t, const char *option, size_t nth);
/* Changes *value if the option was given. TOOL_WORDS, after saying so, when it is no number from
 * min to max. */
enum tool_status tool_number(const struct tool *t, const char *option, int64_t min, int64_t max,
                             int64_t *value);

/* ---- speaking of what went wrong; each returns `status` ---- */

/* "tupledctl: text" and the end of the line. Control bytes become blanks. */
enum tool_status tool_fail(enum tool_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The words of an error reply. */
enum tool_status tool_refused(const redisReply *reply);
/* How the words of a server begin that does not know a command. */
#define TOOL_UNKNOWN_COMMAND "ERR unknown command"
/* Not an end: said on standard error unless --quiet. */
void tool_warn(const struct tool *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The reply has another form than this program knows. */
enum tool_status tool_strange(const char *command);

/* ---- asking the server ---- */

/* A connection as t->server says; what is wrong is said. */
enum tool_status tool_connect(const struct tool *t, struct wire **out);
/* As wire_call, and an error is said. *reply is NULL unless TOOL_DONE. `words` ends with NULL:
 * TOOL_WORDS_OF("KV.DB", "LIST"). */
enum tool_status tool_ask(struct wire *w, const char *const *words, redisReply **reply);
#define TOOL_WORDS_OF(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A pause in which a connection that breaks is noticed. */
enum tool_status tool_pause(struct wire *w, int64_t ms);
/* A connection for one command. tool_do: its reply means that it is done; tool_show: its names and
 * values are shown; tool_count: its reply is shown as `name`. */
enum tool_status tool_do(const struct tool *t, const char *const *words);
enum tool_status tool_show(const struct tool *t, const char *const *words);
enum tool_status tool_count(const struct tool *t, const char *name, const char *const *words);

/* Asks a person "text [y/N] " when there is a terminal. TOOL_DONE: yes, or --yes was given.
 * TOOL_WORDS without a terminal and --yes; TOOL_NO: no. */
enum tool_status tool_confirm(const struct tool *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- words.c ---- */

extern const struct tool_option tool_options[]; /* those of every subcommand */

/* Reads the words of the command line into t; what is wrong is said. */
enum tool_status tool_words_read(struct tool *t, const struct tool_command *table, int argc,
                                 char **argv);
void tool_help_all(const struct tool_command *table);
void tool_help_of(const struct tool_command *command);
const struct tool_command *tool_find(const struct tool_command *table, const char *name);

#endif
