/* help: the subcommand HELP of every container, taken from the table. */
#include <ctype.h>
#include <stdio.h>

#include "request/command.h"
#include "request/syntax.h"

static void upper(const char *text, char *out, size_t size)
{
    size_t i = 0;
    for (; text[i] != '\0' && i + 1 < size; i++) out[i] = (char)toupper((unsigned char)text[i]);
    out[i] = '\0';
}

static bool is_help(const struct command *c)
{
    return c->run == command_help_run;
}

enum err command_help_run(struct request *rq)
{
    const struct command *container = command_find(rq->argv[0]);
    size_t count = 0;
    char name[32];
    char line[512];
    INVARIANT(container != NULL && container->subcommands != NULL);
    for (const struct command *const *s = container->subcommands; *s != NULL; s++) {
        count += !is_help(*s);
    }
    resp_array(rq->w, 1 + 2 * count + 2);
    upper(container->name, name, sizeof name);
    snprintf(line, sizeof line,
             "%s <subcommand> [<arg> [value] [opt] ...]. Subcommands are:", name);
    resp_simple(rq->w, line);
    for (const struct command *const *s = container->subcommands; *s != NULL; s++) {
        if (is_help(*s)) continue;
        upper((*s)->name, name, sizeof name);
        const char *syntax = command_syntax(*s, rq->arena);
        snprintf(line, sizeof line, "%s%s%s", name, syntax[0] != '\0' ? " " : "", syntax);
        resp_simple(rq->w, line);
        snprintf(line, sizeof line, "    %s", (*s)->summary);
        resp_simple(rq->w, line);
    }
    resp_simple(rq->w, "HELP");
    resp_simple(rq->w, "    Print this help.");
    return OK;
}
