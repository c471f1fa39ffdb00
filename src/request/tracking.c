/* tracking: see tracking.h. Here: on and off, what a command has read, and a turn's work; what is
 * sent is tracking_tell.c's. A client that ends has much to be forgotten: it is moved to `ended`,
 * and a part goes in each turn. */
#include "request/tracking.h"

#include "base/list.h"
#include "base/mem.h"
#include "request/args.h"
#include "request/client_memory.h"
#include "request/keys.h"
#include "request/tracking_int.h"

#define TURN_WORK 20000 /* messages, or keys forgotten, in one turn, about */
#define END_WORK 1000   /* of a client that ends: the rest in the turns that follow */

void trackings_open(struct env *env)
{
    struct trackings *x = mem_new(sizeof *x);
    x->env = env;
    x->keys = tracked_new();
    x->prefixes = broadcast_new();
    x->work = TURN_WORK;
    buf_init(&x->name);
    buf_init(&x->message);
    buf_init(&x->names);
    env->trackings = x;
}

/* Forgets some of what an ended one has. False: there is more. */
static bool end_some(struct trackings *x, size_t *work)
{
    while (x->ended != NULL) {
        struct client_tracking *t = x->ended;
        if (!tracked_drop(x->keys, &t->tracker, work)) return false;
        if (!broadcast_drop(x->prefixes, &t->listener, work)) return false;
        STACK_UNLINK(x->ended, t, next, prev);
        mem_free(t);
    }
    return true;
}

void trackings_close(struct env *env)
{
    struct trackings *x = env->trackings;
    size_t all = SIZE_MAX;
    INVARIANT(x->clients == NULL);
    (void)end_some(x, &all);
    tracked_free(x->keys);
    broadcast_free(x->prefixes);
    buf_fini(&x->name);
    buf_fini(&x->message);
    buf_fini(&x->names);
    mem_free(x);
}

/* What was read was read of another one. */
void trackings_of_engine(struct env *env, struct engine *g)
{
    struct trackings *x = env->trackings;
    struct layer layer = {
        .kinds = LAYER_SPACE(SPACE_DATA) | LAYER_FLUSH, .on_commit = tracking_on_commit, .arg = x};
    tracking_tell_all(x, 0);
    engine_add_layer(g, &layer);
}

/* ---- on and off ---- */

static void leave_target(struct client_tracking *t)
{
    if (t->target == NULL) return;
    STACK_UNLINK(t->target->told_instead, t, target_next, target_prev);
    t->target = NULL;
}

static void find_target(struct env *env, struct client_tracking *t)
{
    struct client *c = env->clients.list.next;
    leave_target(t);
    t->is_broken = false;
    if (t->options.redirect == 0) return;
    while (c != &env->clients.list && c->id != t->options.redirect) c = c->next;
    t->is_broken = c == &env->clients.list;
    if (t->is_broken) return;
    t->target = c;
    STACK_PUSH(c->told_instead, t, target_next, target_prev);
}

void tracking_on(struct env *env, struct client *c, const struct tracking_options *o)
{
    struct trackings *x = env->trackings;
    struct client_tracking *t = c->tracking;
    if (t == NULL) {
        t = c->tracking = mem_new(sizeof *t);
        t->client = c;
        STACK_PUSH(x->clients, t, next, prev);
        x->client_count++;
    }
    t->options = *o;
    find_target(env, t);
}

void tracking_off(struct env *env, struct client *c)
{
    struct trackings *x = env->trackings;
    struct client_tracking *t = c->tracking;
    size_t work = END_WORK;
    if (t == NULL) return;
    leave_target(t);
    c->tracking = NULL;
    t->client = NULL;
    STACK_UNLINK(x->clients, t, next, prev);
    x->client_count--;
    STACK_PUSH(x->ended, t, next, prev);
    (void)end_some(x, &work);
}

void tracking_target_gone(struct client *c)
{
    while (c->told_instead != NULL) {
        c->told_instead->is_broken = true;
        leave_target(c->told_instead);
    }
}

void tracking_add_prefix(struct env *env, struct client *c, struct slice prefix)
{
    struct client_tracking *t = c->tracking;
    size_t before = t->listener.bytes;
    (void)broadcast_join(env->trackings->prefixes, &t->listener, prefix);
    client_memory_grow(env, t->listener.bytes - before);
}

void tracking_cache_next(struct client *c)
{
    c->tracking->is_caching = true;
}

/* ---- what is read ---- */

void tracking_read(struct request *rq)
{
    struct client_tracking *t = rq->client->tracking;
    const struct tracking_options *o = &t->options;
    struct trackings *x = rq->env->trackings;
    struct key_uses uses = {.arena = rq->arena};
    if ((rq->command->flags & CMD_READ) == 0 || o->is_broadcast) return;
    if (o->is_optin ? !t->is_caching : o->is_optout && t->is_caching) return;
    if (!command_has_keys(rq->command)) return;
    struct request again = *rq;
    size_t before = t->tracker.bytes;
    (void)command_keys(rq->command, rq->argv, rq->argc, &uses);
    for (size_t i = 0; i < uses.count; i++) {
        struct slice key;
        if ((uses.items[i].flags & (KEY_PREFIX | KEY_START | KEY_END)) != 0) continue;
        if (arg_key(&again, uses.items[i].word, &key) != OK) continue;
        (void)tracked_add(x->keys, &t->tracker, key);
    }
    client_memory_grow(rq->env, t->tracker.bytes - before);
    size_t max = rq->env->settings.tracking_keys_max;
    if (max == 0 || tracked_keys(x->keys) <= max) return;
    tracked_bound(x->keys, rq->client->database, max, &x->work);
}

void tracking_command_over(struct request *rq)
{
    const struct command *parent = rq->client->run.last_parent;
    bool is_about_client = parent != NULL && strcmp(parent->name, "client") == 0;
    if (is_about_client || rq->client->txn.multi != NULL) return;
    if (rq->client->tracking != NULL) rq->client->tracking->is_caching = false;
}

/* ---- turns ---- */

bool tracking_turn(struct env *env)
{
    struct trackings *x = env->trackings;
    if (x->client_count == 0 && x->ended == NULL && tracked_items(x->keys) == 0) return false;
    bool is_done = tracking_tell_keys(x) && tracking_tell_prefixes(x);
    is_done = end_some(x, &x->work) && is_done;
    x->work = TURN_WORK;
    return !is_done;
}

void tracking_tick(struct env *env)
{
    struct trackings *x = env->trackings;
    size_t max = env->settings.tracking_keys_max;
    if (max != 0) tracked_bound(x->keys, 0, max, &x->work);
}
