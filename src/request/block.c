/* block: see block.h. A blocked client with a deadline is in a tree, the first that ends first. */
#include "request/block.h"

#include "base/clock.h"
#include "base/htab.h"
#include "request/arguments.h"
#include "request/multi.h"
#include "request/nodes.h"
#include "request/table.h"

#define READ_LONG_US 1000000 /* a read that waits longer is for no peer that has gone */

/* ---- blocked commands ---- */

static int64_t now_ms(void)
{
    return clock_mono_us() / 1000;
}

static struct client *of_node(struct treap_node *node)
{
    return (struct client *)(void *)((char *)node - offsetof(struct client, block.by_deadline));
}

static const struct client *of_node_const(const struct treap_node *node)
{
    return (const struct client *)(const void *)((const char *)node -
                                                 offsetof(struct client, block.by_deadline));
}

static int sooner_first(const struct treap_node *a, const struct treap_node *b)
{
    const struct client *x = of_node_const(a);
    const struct client *y = of_node_const(b);
    if (x->block.deadline_ms != y->block.deadline_ms) {
        return x->block.deadline_ms < y->block.deadline_ms ? -1 : 1;
    }
    return x->id < y->id ? -1 : x->id > y->id;
}

void client_block_open(struct env *env)
{
    treap_init(&env->blocked.by_deadline, sooner_first);
    waiter_list_init(&env->blocked.waiters);
}

/* Invariant 2; a node in no tree is zeros. */
static bool is_listed(const struct client *c, const struct env *env)
{
    const struct treap_node *node = &c->block.by_deadline;
    return node->parent != NULL || env->blocked.by_deadline.root == node;
}

static bool has_deadline(const struct client *c)
{
    return c->block.waiter != NULL && c->block.deadline_ms != INT64_MAX;
}

enum err client_block(struct request *rq, int64_t timeout_ms)
{
    struct client *c = rq->client;
    struct env *env = rq->env;
    int64_t max_ms = (rq->command->flags & CMD_UNBOUNDED) != 0 ? 0 : env->settings.block_max_ms;
    if (c->block.max_ms != 0 && (max_ms == 0 || c->block.max_ms < max_ms)) max_ms = c->block.max_ms;
    if (max_ms != 0 && (timeout_ms == 0 || timeout_ms > max_ms)) timeout_ms = max_ms;
    if (c->block.waiter == NULL) {
        INVARIANT(!is_listed(c, env)); /* 2 */
        c->block.waiter = rq->waiter;
        c->block.end = BLOCK_GOES_ON;
        /* What now_ms rounds off would be missing: as in Redis, no wait is shorter than it says. */
        c->block.deadline_ms = timeout_ms == 0 ? INT64_MAX : now_ms() + timeout_ms + 1;
        if (timeout_ms != 0) {
            treap_insert(&env->blocked.by_deadline, &c->block.by_deadline,
                         hash_bytes(slice_of(&c->id, sizeof c->id)));
        }
    }
    INVARIANT(c->block.waiter == rq->waiter);        /* 1 */
    INVARIANT(is_listed(c, env) == has_deadline(c)); /* 2 */
    return error_set(&rq->error, ERR_WAIT, "blocked");
}

enum err client_yield(struct request *rq, struct engine_scan *scan)
{
    struct backend *b = engine_backend(rq->env->db->engine);
    enum err r = scan == NULL ? OK : engine_scan_pause(scan, &rq->error);
    if (r != OK) return r;
    backend_yield(b, rq->waiter);
    return error_set(&rq->error, ERR_WAIT, "a long command lets others run");
}

enum err client_yield_or_go_on(struct request *rq, struct engine_scan *scan)
{
    enum err r = client_yield(rq, scan);
    return r == ERR_TRYAGAIN ? OK : r;
}

void client_drop_pending(struct client *c)
{
    struct pending *p = c->run.pending;
    if (p == NULL) return;
    c->run.pending = NULL;
    p->free(p);
}

bool client_waits_long(const struct client *c)
{
    if (c->block.waiter != NULL || (c->run.pending != NULL && c->run.pending->is_long)) return true;
    return c->run.reads_since_us != 0 && clock_mono_us() - c->run.reads_since_us >= READ_LONG_US;
}

void client_block_clear(struct client *c, struct env *env)
{
    if (c->block.waiter == NULL) return;
    INVARIANT(is_listed(c, env) == has_deadline(c)); /* 2 */
    if (has_deadline(c)) treap_remove(&env->blocked.by_deadline, &c->block.by_deadline);
    c->block.waiter = NULL;
    c->block.end = BLOCK_GOES_ON;
    INVARIANT(!is_listed(c, env)); /* 2 */
}

enum block_end client_block_end(const struct client *c)
{
    INVARIANT(c->block.waiter != NULL || c->block.end == BLOCK_GOES_ON); /* 3 */
    return c->block.end;
}

static void block_finish(struct client *c, enum block_end end)
{
    struct waiter *w = c->block.waiter;
    INVARIANT(c->block.end == BLOCK_GOES_ON); /* 3 */
    c->block.end = end;
    waiter_cancel(w);
    INVARIANT(w->next == NULL); /* 4 */
    w->ready(w);
}

bool client_block_stop(struct client *c, bool is_error)
{
    if (c->block.waiter == NULL || c->block.end != BLOCK_GOES_ON) return false;
    block_finish(c, is_error ? BLOCK_FAILED : BLOCK_ENDED);
    return true;
}

void client_block_again(struct client *c)
{
    if (c->block.waiter != NULL && c->block.end == BLOCK_GOES_ON) block_finish(c, BLOCK_GOES_ON);
}

/* ---- CLIENT PAUSE ---- */

void clients_pause(struct env *env, int64_t ms, bool is_write)
{
    int64_t until_ms = now_ms() + ms;
    bool is_paused = env->paused.until_ms != 0;
    /* As in Redis: a second pause can make the first one longer and stricter, not weaker. */
    if (!is_paused || until_ms > env->paused.until_ms) env->paused.until_ms = until_ms;
    env->paused.is_write = is_write && (!is_paused || env->paused.is_write);
}

void clients_unpause(struct env *env)
{
    env->paused.until_ms = 0;
    waiter_wake_all(&env->paused.waiters);
}

bool request_may_write(const struct request *rq)
{
    const struct command *c = rq->command;
    if ((c->flags & CMD_RUNS_QUEUE) != 0) return multi_may_write(rq->client->txn.multi);
    return (c->flags & (CMD_WRITE | CMD_PUBLISHES)) != 0;
}

/* Messages count as writes, as in Redis. CLIENT UNPAUSE always runs, which Redis does not grant: a
 * pause of all commands that was a mistake can be ended. */
bool pause_holds(struct request *rq)
{
    const struct env *env = rq->env;
    const struct command *c = rq->command;
    if (env->paused.until_ms == 0 || (c->flags & CMD_UNPAUSED) != 0) return false;
    if (env->paused.is_write && !request_may_write(rq)) return false;
    if (now_ms() >= env->paused.until_ms) return false;
    waiter_add(&rq->env->paused.waiters, rq->waiter);
    return true;
}

/* A client whose time is over stays in the tree: its command has to run again first. */
void client_block_tick(struct env *env)
{
    int64_t now = now_ms();
    const struct waiter *held = &env->paused.waiters.head;
    if (env->paused.until_ms != 0 && now >= env->paused.until_ms) clients_unpause(env);
    INVARIANT(env->paused.until_ms != 0 || held->next == held); /* 5 */
    struct treap_node *node = treap_first(&env->blocked.by_deadline);
    for (; node != NULL; node = treap_next(node)) {
        struct client *c = of_node(node);
        if (now < c->block.deadline_ms) return;
        if (c->block.end == BLOCK_GOES_ON) block_finish(c, BLOCK_TIMED_OUT);
    }
}

int64_t client_block_due_ms(const struct env *env)
{
    int64_t due_ms = env->paused.until_ms != 0 ? env->paused.until_ms : INT64_MAX;
    struct treap_node *node = treap_first(&env->blocked.by_deadline);
    if (node != NULL && of_node(node)->block.deadline_ms < due_ms) {
        due_ms = of_node(node)->block.deadline_ms;
    }
    if (due_ms == INT64_MAX) return INT64_MAX;
    int64_t left_ms = due_ms - now_ms();
    return left_ms > 0 ? left_ms : 0;
}

/* ---- WAIT, WAITAOF ---- */

/* The connection's own writes are on disk by then: no reply overtakes them. With several nodes,
 * that is on so many standbys of PostgreSQL as each commit waits for. Without there is nothing to
 * replicate to: the answer is 0, when the time is over, as Redis gives it. */
struct wait {
    int64_t local; /* whether to wait for the own disk: the writes are there */
    int64_t replicas, timeout_ms;
};
ARGUMENTS(wait_arguments, struct wait, "numreplicas timeout",
          ARG_INTEGER(struct wait, replicas, "numreplicas", 0, INT32_MAX, 0),
          ARG_TIMEOUT(struct wait, timeout_ms, "timeout"));
ARGUMENTS(waitaof_arguments, struct wait, "numlocal numreplicas timeout",
          ARG_INTEGER_OR(struct wait, local, "numlocal", 0, 1, 0, "numlocal must be 0 or 1"),
          ARG_INTEGER(struct wait, replicas, "numreplicas", 0, INT32_MAX, 0),
          ARG_TIMEOUT(struct wait, timeout_ms, "timeout"));

/* OK: that is the end of waiting, and `there` standbys have the writes. */
static enum err wait_for_standbys(struct request *rq, int64_t *there)
{
    const struct wait *a = rq->bound;
    const struct nodes_known *nodes = rq->env->node.known;
    enum block_end end = client_block_end(rq->client);
    *there = nodes != NULL ? nodes->quorum : 0;
    if (end == BLOCK_FAILED) {
        return error_set(&rq->error, ERR_UNBLOCKED, "client unblocked via CLIENT UNBLOCK");
    }
    if (a->replicas <= *there || end != BLOCK_GOES_ON || rq->overlay != NULL) return OK;
    waiter_add(&rq->env->blocked.waiters, rq->waiter);
    return client_block(rq, a->timeout_ms);
}

static enum err wait_run(struct request *rq)
{
    int64_t there;
    enum err r = wait_for_standbys(rq, &there);
    if (r == OK) resp_int(rq->w, there);
    return r;
}

static enum err waitaof_run(struct request *rq)
{
    int64_t there;
    enum err r = wait_for_standbys(rq, &there);
    if (r != OK) return r;
    resp_array(rq->w, 2);
    resp_int(rq->w, 1);
    resp_int(rq->w, there);
    return OK;
}

const struct command cmd_wait = {
    .name = "wait",
    .flags = CMD_CONNECTION | CMD_UNBOUNDED,
    .group = "generic",
    .summary = "Returns the number of PostgreSQL standbys that have the connection's writes, 0 "
               "without PostgreSQL.",
    .arguments = &wait_arguments,
    .run = wait_run,
};

const struct command cmd_waitaof = {
    .name = "waitaof",
    .flags = CMD_CONNECTION | CMD_UNBOUNDED,
    .group = "generic",
    .summary = "Returns 1, because the connection's writes are on disk, and the result of WAIT.",
    .arguments = &waitaof_arguments,
    .run = waitaof_run,
};
