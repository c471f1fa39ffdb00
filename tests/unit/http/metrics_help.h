/* metrics_help: an env over a small database, in which commands are run as clients say them.
 * Everything that may not fail asserts.
 */
#ifndef UNIT_HTTP_METRICS_HELP_H
#define UNIT_HTTP_METRICS_HELP_H

#include "http/metrics.h"
#include "net/tls.h"
#include "unit/http/metrics_parse.h"

struct mbench {
    char dir[64];
    struct env env;
    struct arena arena;
    struct buf scratch, reply, text;
    struct link link;
    struct client client;           /* default, who may do everything */
    struct client other;            /* the user that mbench_user makes */
    struct metrics_options options; /* names_max is 100 */
};

void mbench_open(struct mbench *t);
/* Ends and starts again: a new process has it, and has read its catalog and definitions. */
void mbench_restart(struct mbench *t);
void mbench_close(struct mbench *t);

/* One word for each argument, NULL at the end, by t->client; the reply as it is sent. */
const char *mbench_say(struct mbench *t, ...) __attribute__((sentinel));
/* The same of these words. */
const char *mbench_words(struct mbench *t, struct slice *argv, size_t argc);
/* The same where nothing is done at the end of the turn: what it commits is not synced. */
void mbench_only(struct mbench *t, struct slice *argv, size_t argc);
/* Turns until nothing more happens. */
void mbench_turns(struct mbench *t);
/* t->other is a user with these rules, blanks between them. */
void mbench_user(struct mbench *t, const char *rules);

/* What c is told, parsed; both forms are written and parsed, and tell the same. */
struct parsed mbench_told_to(struct mbench *t, struct client *c);
struct parsed mbench_told(struct mbench *t);

#endif
