/* follower: see follower.h. The cluster's thread makes journal and store and hands them over by the
 * struct, when it does not look; the loop opens the database in the place of the empty one, and
 * puts that back when something is lost. A loss is told from within the database, so it is only
 * noted and acted on in the next poll. */
#include "server/follower.h"

#include <stdio.h>

#include "base/clock.h"
#include "engine/start.h"
#include "request/following.h"

#define AGAIN_US 500000        /* after one that went, or could not be made */
#define LOG_US 10000000        /* between two lines that say the same */
#define WAKE_US 100000         /* those who wait look at their time */
#define SILENCE_US_MIN 5000000 /* it is there if the end of the log was seen in this time ... */
#define SILENCE_LEASES 2       /* ... or in so many leases, if that is more */

/* ---- the cluster's thread -------------------------------------------------------------------- */

void follower_make(struct follower *f, const struct term_options *options)
{
    if (!f->is_wanted) return;
    f->made = postgres_follow(options, &f->journal, &f->store, &f->error);
}

/* ---- coming ---------------------------------------------------------------------------------- */

static void tell_why(struct follower *f)
{
    struct following *x = &f->server->env.node.following;
    int64_t now_us = clock_mono_us();
    f->again_us = now_us + AGAIN_US;
    snprintf(x->why, sizeof x->why, "this node cannot follow the leader: %.200s", f->error.text);
    if (strcmp(f->told.text, f->error.text) == 0 && now_us - f->told_us < LOG_US) return;
    log_notice("%s", x->why);
    f->told = f->error;
    f->told_us = now_us;
}

static enum err give_made(void *arg, struct journal **journal, struct store **store,
                          struct error *e)
{
    struct follower *f = arg;
    (void)e;
    *journal = f->journal;
    *store = f->store;
    f->journal = NULL;
    f->store = NULL;
    return OK;
}

static void on_lost(void *arg, const struct error *e)
{
    const struct server *s = arg;
    s->follower->is_lost = true;
    s->follower->error = *e;
}

static void open_made(struct follower *f)
{
    struct server *s = f->server;
    struct db_options options = settings_db(s);
    struct db *nothing = s->env.db;
    struct error closing;
    options.pipeline.arg = s;
    options.pipeline.is_following = true;
    options.pipeline.on_replay = NULL;
    options.pipeline.on_fatal = options.pipeline.on_lost = on_lost;
    options.elsewhere = (struct db_elsewhere){give_made, f};
    if (db_open(&options, &f->db, &f->error) != OK) {
        tell_why(f);
        return;
    }
    f->is_lost = false;
    server_use_db(s, f->db);
    enum err r = db_close(nothing, &closing);
    INVARIANT(r == OK);
}

void follower_take(struct follower *f)
{
    const struct following *x = &f->server->env.node.following;
    if (f->is_wanted && f->made != OK) tell_why(f);
    if (f->journal != NULL) open_made(f);
    f->is_wanted = x->is_wanted && f->db == NULL && clock_mono_us() >= f->again_us;
}

/* ---- going ----------------------------------------------------------------------------------- */

static void close_readers(struct env *env)
{
    for (struct client *c = env->clients.list.next; c != &env->clients.list;) {
        struct client *next = c->next;
        if (c->settings.is_readonly) c->ops->close(c);
        c = next;
    }
}

/* env.db has nothing. */
static void open_nothing(struct server *s)
{
    struct error e;
    struct db *nothing = NULL;
    struct db_options options = settings_db(s);
    options.pipeline.arg = s;
    options.elsewhere = (struct db_elsewhere){cluster_nothing, s};
    enum err r = db_open(&options, &nothing, &e);
    if (r != OK)
        die("cannot create an empty database: %s", e.text); /* the system gives no threads */
    server_use_db(s, nothing);
}

static void leave(struct follower *f)
{
    struct env *env = &f->server->env;
    if (f->db == NULL) return;
    env->node.following.is_there = false;
    close_readers(env);
    open_nothing(f->server);
    db_abandon(f->db);
    f->db = NULL;
    following_wake(env);
}

void follower_end(struct follower *f)
{
    leave(f);
    if (f->journal != NULL) postgres_unfollow(f->journal, f->store);
    f->journal = NULL;
    f->store = NULL;
    f->is_wanted = false;
}

void follower_close(struct follower *f)
{
    follower_end(f);
}

/* ---- being there ----------------------------------------------------------------------------- */

static bool is_there(const struct follower *f)
{
    int64_t seen_us = pg_follow_seen_us(f->db->journal);
    int64_t silence_us = (int64_t)f->server->config->lease_ms * 1000 * SILENCE_LEASES;
    if (silence_us < SILENCE_US_MIN) silence_us = SILENCE_US_MIN;
    return engine_is_started(f->db->engine) && seen_us != 0 &&
           clock_mono_us() - seen_us < silence_us;
}

static void look(struct follower *f)
{
    struct following *x = &f->server->env.node.following;
    bool was_there = x->is_there;
    x->is_there = is_there(f);
    if (x->is_there == was_there) return;
    log_notice(x->is_there ? "this node follows the leader's commits, for READONLY clients"
                           : "this node no longer receives the leader's commits");
    snprintf(x->why, sizeof x->why, "%s",
             x->is_there ? "" : "this node cannot follow the leader: PostgreSQL does not respond");
    following_wake(&f->server->env);
}

void follower_poll(struct follower *f)
{
    if (f->db == NULL) return;
    if (f->is_lost) {
        tell_why(f);
        leave(f);
        return;
    }
    uint64_t version = db_durable(f->db);
    if (version == f->version) return;
    f->version = version;
    following_wake(&f->server->env);
}

void follower_tick(struct follower *f)
{
    int64_t now_us = clock_mono_us();
    if (f->db != NULL) look(f);
    if (now_us - f->woken_us < WAKE_US) return;
    f->woken_us = now_us;
    following_wake(&f->server->env);
}
