/* runner: its states, how its client and environment are told of them, and what is given back. */
#include "request/runner.h"

#include "base/clock.h"
#include "base/machine.h"
#include "request/observe.h"

#define SCRATCH_KEEP_BYTES (1u << 20) /* what a larger argument or entry took goes back */

/* From free to running and back is not traced: each command does it. */
static const struct machine runner_machine = {
    .name = "runner",
    .states = {"free", "running", "parked"},
    .allowed = {[RUNNER_FREE] = TO(RUNNER_PARKED),
                [RUNNER_RUNNING] = TO(RUNNER_PARKED),
                [RUNNER_PARKED] = TO(RUNNER_FREE)},
};

static void park(struct runner *r)
{
    r->env->clients.waiting++;
    r->client->run.is_waiting = true;
    MACHINE_MOVE(&runner_machine, r, state, RUNNER_PARKED);
}

static void leave(struct runner *r)
{
    INVARIANT(r->client->run.is_waiting && r->env->clients.waiting > 0);
    r->env->clients.waiting--;
    r->client->run.is_waiting = false;
    MACHINE_MOVE(&runner_machine, r, state, RUNNER_FREE);
}

static void on_ready(struct waiter *w)
{
    struct runner *r = (struct runner *)(void *)((char *)w - offsetof(struct runner, waiter));
    if (r->state != RUNNER_PARKED) return;
    leave(r);
    r->ready(r);
}

void runner_init(struct runner *r, struct env *env, struct client *client,
                 void (*ready)(struct runner *r))
{
    *r = (struct runner){.env = env, .client = client, .ready = ready};
    r->waiter.ready = on_ready;
}

void runner_park(struct runner *r)
{
    park(r);
    /* Told already, before it was parked: a waiter in no list is never woken. */
    if (r->waiter.next == NULL) on_ready(&r->waiter);
}

static void give_back(struct runner *r)
{
    r->client->run.seed = 0;
    r->client->run.is_shown = false;
    r->client->run.asked_user = 0;
    r->client->run.reads_since_us = 0;
    if (r->waiter.keep_id == 0) return;
    struct backend *b = r->env->db->backend;
    backend_run_over(b, &r->waiter);
}

void runner_begin(struct runner *r, struct request *rq)
{
    INVARIANT(r->state == RUNNER_FREE);
    r->state = RUNNER_RUNNING;
    rq->env = r->env;
    rq->client = r->client;
    rq->waiter = &r->waiter;
}

enum err runner_over(struct runner *r, struct request *rq, enum err result)
{
    INVARIANT(r->state == RUNNER_RUNNING);
    arena_reset(rq->arena);
    buf_clear(rq->scratch, SCRATCH_KEEP_BYTES);
    if (result == ERR_WAIT) {
        int64_t *since = &r->client->run.reads_since_us;
        bool reads = rq->command != NULL && (rq->command->flags & CMD_READ) != 0;
        if (reads && *since == 0) *since = clock_mono_us();
        runner_park(r);
        return ERR_WAIT;
    }
    INVARIANT(r->waiter.next == NULL);
    r->state = RUNNER_FREE;
    give_back(r);
    return OK;
}

enum err runner_run(struct runner *r, struct request *rq)
{
    runner_begin(r, rq);
    turn_command(r->env, NULL);
    enum err result = command_run(rq);
    turn_command(r->env, rq);
    return runner_over(r, rq, result);
}

void runner_drop(struct runner *r)
{
    INVARIANT(r->state != RUNNER_RUNNING);
    waiter_cancel(&r->waiter);
    if (r->state == RUNNER_PARKED) leave(r);
    give_back(r);
}
