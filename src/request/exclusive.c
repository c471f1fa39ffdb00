/* exclusive: see exclusive.h. When it ends, what was held goes on in the order in which it came,
 * before the next client of the line has a database for itself. */
#include "request/exclusive.h"

#include "base/clock.h"
#include "request/block.h"

void exclusive_open(struct env *env)
{
    waiter_list_init(&env->exclusive.held);
    waiter_list_init(&env->exclusive.line);
}

static bool is_empty(const struct waiter_list *l)
{
    return l->head.next == &l->head;
}

bool exclusive_begin(struct request *rq, int64_t max_ms)
{
    struct exclusive *x = &rq->env->exclusive;
    if (x->client != NULL) {
        waiter_add(&x->line, rq->waiter);
        return false;
    }
    INVARIANT(is_empty(&x->held)); /* 1 */
    x->client = rq->client;
    x->database = rq->client->database;
    x->until_ms = clock_mono_us() / 1000 + max_ms;
    return true;
}

/* The first of the line has it next; the others are put in line again. */
static void end(struct exclusive *x)
{
    x->client = NULL;
    waiter_wake_all(&x->held);
    waiter_wake_all(&x->line);
}

void exclusive_end(struct env *env, const struct client *c)
{
    if (env->exclusive.client == c) end(&env->exclusive);
}

bool exclusive_holds(struct request *rq)
{
    struct exclusive *x = &rq->env->exclusive;
    if (x->client == NULL || x->client == rq->client) return false;
    if (x->database != rq->client->database) return false;
    waiter_add(&x->held, rq->waiter);
    return true;
}

/* A message that is published is none of the database. What has begun goes on: it may hold what
 * others wait for. */
bool exclusive_holds_new(struct request *rq)
{
    const struct client *c = rq->client;
    if (rq->env->exclusive.client == NULL || (rq->command->flags & CMD_PUBSUB) != 0) return false;
    if (c->run.pending != NULL || c->block.waiter != NULL) return false;
    return request_may_write(rq) && exclusive_holds(rq);
}

void exclusive_tick(struct env *env)
{
    struct exclusive *x = &env->exclusive;
    INVARIANT(x->client != NULL || (is_empty(&x->held) && is_empty(&x->line))); /* 1 */
    if (exclusive_due_ms(env) == 0) end(x);
}

int64_t exclusive_due_ms(const struct env *env)
{
    const struct exclusive *x = &env->exclusive;
    if (x->client == NULL) return INT64_MAX;
    int64_t left_ms = x->until_ms - clock_mono_us() / 1000;
    return left_ms > 0 ? left_ms : 0;
}
