/* numbers: commands and subcommands by number, in the order of the table, a container's
 * subcommands after it; for tables beside that of the commands (counts, permissions). Constant from
 * the start of the program on. The subcommands of a container that takes any word (CMD_ANY_WORD)
 * have its number: in Redis all of it is one command.
 */
#ifndef REQUEST_NUMBERS_H
#define REQUEST_NUMBERS_H

#include "access/selector.h"
#include "request/command.h"

struct numbered {
    const struct command *command;
    const struct command *parent; /* of a subcommand, else NULL */
};

size_t numbers_count(void);
const struct numbered *numbers_at(size_t number);
/* Of a command or subcommand of the table. */
size_t number_of(const struct command *c);

/* "get", "config|get". */
const char *numbers_name(size_t number);
/* Its subcommands, which have the numbers after it. */
size_t numbers_parts(size_t number);

/* What permissions know of the commands: catalog.c. */
extern const struct access_catalog command_catalog;

#endif
