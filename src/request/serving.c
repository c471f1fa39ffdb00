/* serving: see serving.h. What it waits for, and how it is woken, is following.c's. */
#include "request/serving.h"

#include "request/block.h"
#include "request/following.h"
#include "request/multi.h"

bool serving_is_own(const struct command *c)
{
    return (c->flags & CMD_NODE) != 0 || c->is_own;
}

bool serving_ends_with(const struct command *c)
{
    if (c == NULL || (c->flags & (CMD_CONNECTION | CMD_TRANSACTION)) == 0) return false;
    return (c->flags & (CMD_RUNS_QUEUE | CMD_UNBOUNDED | CMD_NO_AUTH)) == 0;
}

static bool is_held(struct request *rq)
{
    const struct serving *s = &rq->env->node.serving;
    const struct client *c = rq->client;
    if (!s->is_mute && !(s->is_stuck && request_may_write(rq))) return false;
    /* What was begun goes on: nothing may be half done. */
    return !serving_is_own(rq->command) && c->run.pending == NULL && c->block.waiter == NULL;
}

enum err serving_enter(struct request *rq)
{
    if (!is_held(rq)) {
        if (!rq->env->node.stands_by) rq->client->run.follow_since_us = 0;
        return OK;
    }
    enum err r = following_wait(rq, rq->env->node.serving.why.text);
    if (r == ERR_TRYAGAIN && (rq->command->flags & CMD_RUNS_QUEUE) != 0) {
        client_end_transaction(rq->client);
    }
    return r;
}

bool serving_may_write(const struct env *env)
{
    const struct serving *s = &env->node.serving;
    return env->paused.until_ms == 0 && !s->is_mute && !s->is_stuck && !env->node.stands_by &&
           !env->server.is_stopping;
}
