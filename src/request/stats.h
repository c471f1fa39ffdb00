/* stats: what was counted of commands and errors, for INFO, LATENCY HISTOGRAM and CONFIG RESETSTAT.
 *
 * Commands are constant; their counts lie in a table beside, one row for each command and
 * subcommand, found by the command's address. Errors are counted by their code in the program's
 * list, so that no client can make their number grow.
 */
#ifndef REQUEST_STATS_H
#define REQUEST_STATS_H

#include "request/command.h"

struct command_count {
    const struct command *command;
    const struct command *parent; /* of a subcommand, else NULL */
    uint64_t calls, usec;
    uint64_t rejected;         /* was not run: arity, unknown subcommand */
    uint64_t failed;           /* ran and answered an error */
    struct histogram *latency; /* owned; NULL until the first call */
};

/* Both by observe_init and observe_fini. */
struct command_stats *stats_new(void);
void stats_free(struct command_stats *s);

/* One run (or all runs of a command that waited) took so long. */
void stats_add(struct env *env, const struct command *c, int64_t took_us, bool is_failed);
/* The command was not run; the error is counted apart, by stats_error. */
void stats_reject(struct env *env, const struct command *c);
/* An error reply of this code. */
void stats_error(struct env *env, enum err code);
/* Forgets all of it, and what env->stats has, but not what is open now. */
void stats_reset(struct env *env);

/* The rows, in the order of the table, subcommands after their container, unless they are counted
 * as it. */
size_t stats_count(const struct env *env);
const struct command_count *stats_at(const struct env *env, size_t i);
/* "kv.get", "config|get". */
#define STATS_NAME_BYTES 80
void stats_name(const struct command_count *row, char out[STATS_NAME_BYTES]);
/* Error replies whose first word is that of `code`; 0 when a code before it has the same one. */
uint64_t stats_errors(const struct env *env, enum err code);

/* Every 100 ms: samples for the rates. */
void stats_tick(struct env *env);
enum stats_rate { RATE_COMMANDS, RATE_INPUT_BYTES, RATE_OUTPUT_BYTES, RATE_COUNT };
/* Per second, over the last 16 samples. */
uint64_t stats_rate(const struct env *env, enum stats_rate rate);

#endif
