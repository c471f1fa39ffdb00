/* runner: one client's commands, one at a time: run, park, resume, end. A session of RESP, an
 * exchange of HTTP and a seat of libtupled have one each.
 *
 *                  runner_run: it has its reply
 *             .-------------------------------------.
 *             v                                     |
 *        RUNNER_FREE -----------runner_run---> RUNNER_RUNNING
 *          |     ^                                  |
 *          |     `--woken, or runner_drop--.        | it must wait
 *          |                               |        v
 *          `-----------runner_park-----> RUNNER_PARKED
 *
 * Invariants:
 *   1. The client is_waiting, and env->clients.waiting has it, exactly while it is parked.
 *   2. The waiter is in a list only while a command runs or is parked.
 *   3. What was read for the waiter (backend/kept.h) is given back when the command has its reply,
 *      or will never have one; and what it drew at random by is forgotten.
 *
 * A command that waited is run again from its words, which the owner keeps.
 */
#ifndef REQUEST_RUNNER_H
#define REQUEST_RUNNER_H

#include "request/command.h"

enum runner_state { RUNNER_FREE, RUNNER_RUNNING, RUNNER_PARKED };

/* Embedded in its owner. */
struct runner {
    struct env *env;
    struct client *client;
    struct waiter waiter;
    enum runner_state state;
    /* It was parked, and is free: what waited can go on, later, not inside of this call. */
    void (*ready)(struct runner *r);
};

void runner_init(struct runner *r, struct env *env, struct client *client,
                 void (*ready)(struct runner *r));
/* Runs the command of rq, whose words, arena, scratch and writer the caller has set. ERR_WAIT: it
 * is parked, or was woken already, inside of this call. Else it has its reply: OK. */
enum err runner_run(struct runner *r, struct request *rq);
/* The same in two halves, for an owner that does something else than command_run in between; its
 * result is that of runner_over. */
void runner_begin(struct runner *r, struct request *rq);
enum err runner_over(struct runner *r, struct request *rq, enum err result);
/* The owner waits for something else than a command does: the waiter is in a list of it, or was
 * woken already. */
void runner_park(struct runner *r);
/* What is parked will not go on; or nothing is. */
void runner_drop(struct runner *r);

static inline bool runner_is_parked(const struct runner *r)
{
    return r->state == RUNNER_PARKED;
}

#endif
