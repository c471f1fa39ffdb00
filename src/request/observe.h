/* observe: what is kept and shown of a command after it ran: its statistics, the slow log, the
 * latency monitor, the clients that said MONITOR. command_run calls it; observers see a command
 * once, when it has its reply, however often it had to wait; MONITOR one that blocks when it
 * begins to wait.
 *
 * Time is measured with one reading of the clock a command: env->now_us is the end of one command
 * and the start of the next; net refreshes it when it begins with a connection.
 */
#ifndef REQUEST_OBSERVE_H
#define REQUEST_OBSERVE_H

#include "request/stats.h"

/* A command that another one ran to its reply: what a script calls. */
struct ran {
    struct ran *next;
    const struct command *command;
    struct slice *argv; /* as long as the request */
    size_t argc;
    uint16_t database; /* that was selected after it */
    int64_t took_us;
    enum err result;
};

/* Makes and frees what env has of observe.c. After fini no command may run. */
void observe_init(struct env *env);
void observe_fini(struct env *env);

/* The command has its reply, which is an error unless `result` is OK. What it ran itself (rq->ran)
 * comes after it, as MONITOR shows it. */
void observe_ran(struct request *rq, enum err result);
/* The same for one whose time is known: of EXEC, whose attempts may have been several. */
void observe_done(struct request *rq, int64_t took_us, enum err result);
/* Microseconds since the command before ended, or since net began with this connection. */
int64_t observe_lap(struct env *env);
/* The command has to wait and will be run again. */
void observe_parked(struct request *rq);
/* A turn of the loop lasted so long. */
void observe_turn(struct env *env, double seconds);

/* turn.c: the processor time of turns. */
/* Before the first turn. */
void turn_begin(struct env *env);
/* Before a command with NULL, after it with its request. */
void turn_command(struct env *env, const struct request *rq);
/* EXEC runs, or tries to run, these. */
void turn_exec(struct env *env, const struct multi *m);
/* At the end of each turn, in which so many bytes were read and answered: the next one begins here.
 */
void turn_end(struct env *env, size_t bytes, double seconds);
/* The i-th word of the command, for logs: passwords are "(redacted)". */
struct slice observe_word(const struct request *rq, size_t i);

#endif
