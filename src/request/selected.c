/* selected: see selected.h. The number of a database may be given to another one after a drop, so
 * the client remembers when its own was created. A command counts against the rate once, however
 * often it has to wait and run again. */
#include "request/selected.h"

#include "request/block.h"
#include "request/multi.h"

void client_select(struct client *c, const struct database *d)
{
    c->database = d->number;
    c->entered.created = d->created;
}

static enum err find(struct request *rq, struct database **out)
{
    const struct client *c = rq->client;
    struct databases *all = rq->env->db->databases;
    struct database *d = database_get(all, c->database);
    *out = d;
    if (d != NULL && d->created == c->entered.created) return OK;
    return error_set(&rq->error, ERR_NODB,
                     "the selected database (%u) was dropped: SELECT another one", c->database);
}

enum err request_database(struct request *rq)
{
    struct database *d;
    return find(rq, &d);
}

/* EXEC costs as much as what it runs. */
static uint64_t cost_of(const struct request *rq)
{
    const struct multi *m = rq->client->txn.multi;
    return (rq->command->flags & CMD_RUNS_QUEUE) != 0 && m != NULL ? multi_count(m) : 1;
}

enum err request_enter(struct request *rq)
{
    struct client *c = rq->client;
    unsigned concerned = CMD_READ | CMD_WRITE | CMD_KEYSPACE;
    struct database *d;
    bool is_exec = (rq->command->flags & CMD_RUNS_QUEUE) != 0 && c->txn.multi != NULL;
    if ((rq->command->flags & concerned) == 0 && !is_exec) return OK;
    enum err r = find(rq, &d);
    if (r != OK || c->entered.has_entered) return r;
    r = database_take(rq->env->db->databases, d, cost_of(rq), rq->waiter, &rq->error);
    if (r == ERR_WAIT && !c->entered.is_throttled) {
        database_count_throttled(rq->env->db->databases, d);
    }
    c->entered.is_throttled = r == ERR_WAIT;
    c->entered.has_entered = r == OK;
    return r;
}

bool client_uses(void *env, uint16_t number)
{
    struct env *x = env;
    for (const struct client *c = x->clients.list.next; c != &x->clients.list; c = c->next) {
        if (c->database == number) return true;
    }
    return false;
}

void clients_leave(struct env *env, uint16_t number)
{
    for (struct client *c = env->clients.list.next; c != &env->clients.list; c = c->next) {
        if (c->database == number) (void)client_block_stop(c, false);
    }
}
