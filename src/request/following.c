/* following: see following.h. A command that waits keeps the time when it began over all its runs,
 * so that it answers TRYAGAIN in the end (following_wait). */
#include "request/following.h"

#include "base/clock.h"
#include "request/block.h"
#include "request/multi.h"

bool following_has(const struct client *c, const struct command *command)
{
    if (c->settings.is_readonly && (c->txn.multi != NULL || (command->flags & CMD_FOLLOWER) != 0)) {
        return true;
    }
    return (command->flags & CMD_NODE) != 0;
}

enum err following_wait(struct request *rq, const char *why)
{
    struct following *f = &rq->env->node.following;
    struct client *c = rq->client;
    int64_t now_us = clock_mono_us();
    if (c->run.follow_since_us == 0) c->run.follow_since_us = now_us;
    if (now_us - c->run.follow_since_us < f->wait_ms * 1000) {
        waiter_add(&f->waiters, rq->waiter);
        return error_set(&rq->error, ERR_WAIT, "%s", why);
    }
    c->run.follow_since_us = 0;
    return error_set(&rq->error, ERR_TRYAGAIN, "%s", why);
}

enum err following_enter(struct request *rq)
{
    const struct env *env = rq->env;
    if (!env->node.stands_by) return OK;
    bool is_read = (rq->command->flags & CMD_FOLLOWER) != 0 && rq->client->settings.is_readonly;
    if (rq->command->is_own || (!is_read && (rq->command->flags & CMD_NODE) != 0)) return OK;
    if (!is_read) {
        return error_set(&rq->error, ERR_TRYAGAIN, "%s",
                         rq->client->settings.is_readonly
                             ? "this node is not the leader: after READONLY, MULTI may only read "
                               "here"
                             : "this node is not the leader");
    }
    if (env->node.following.is_there) return OK;
    const char *why = env->node.following.why;
    return following_wait(rq, why[0] != '\0' ? why : "this node does not follow the leader yet");
}

enum err following_leave(struct request *rq, enum err r)
{
    if (!rq->env->node.stands_by) return r;
    if (r == ERR_BEHIND) {
        client_drop_pending(rq->client);
        r = following_wait(rq, "this node is behind the leader");
        if (r != ERR_WAIT && (rq->command->flags & CMD_RUNS_QUEUE) != 0) {
            client_end_transaction(rq->client);
        }
        return r;
    }
    if (r != ERR_WAIT) rq->client->run.follow_since_us = 0;
    return r;
}

void following_wake(struct env *env)
{
    waiter_wake_all(&env->node.following.waiters);
}
