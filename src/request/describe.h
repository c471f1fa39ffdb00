/* describe: what the table says of a command, in Redis's words: for COMMAND, the manual, and ACL
 * rules. Strings live in the arena or for ever.
 */
#ifndef REQUEST_DESCRIBE_H
#define REQUEST_DESCRIBE_H

#include "request/syntax.h"

#define WORDS_MAX 16

struct words {
    const char *items[WORDS_MAX];
    size_t count;
};

/* "get", or "config|get" of a subcommand; parent NULL = it is none. */
const char *command_full_name(const struct command *parent, const struct command *c,
                              struct arena *arena);
/* "kv" of "kv.get", as modules name their commands; NULL for a name of Redis. */
const char *command_module(const struct command *parent, const struct command *c,
                           struct arena *arena);
size_t subcommand_count(const struct command *c);
/* As COMMAND INFO shows it: IDEM may follow what the table's arity counts. */
int command_arity(const struct command *c);
/* "write", "fast", ...; `args` is what command_arguments gave. */
void command_flag_words(const struct command *parent, const struct command *c,
                        const struct syntax_args *args, struct words *out);
/* "@write", "@slow", "@kv", ... */
void command_categories(const struct command *parent, const struct command *c, struct arena *arena,
                        struct words *out);

/* The categories of ACL rules: those of Redis in its order, those with nothing here too, and
 * those of this server. NULL when i is past the last. */
const char *category_name(size_t i);
bool command_is_in(const struct command *parent, const struct command *c, size_t category);

#endif
