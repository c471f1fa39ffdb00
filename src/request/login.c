/* login: see login.h. When a user changes, each client that is this user is asked for again: it is
 * closed when it may not go on, else its blocked command runs again and asks for permission. The
 * client whose command is running cannot be closed inside of it: it is closed after its reply. */
#include "request/login.h"

#include "request/block.h"
#include "request/client_info.h"
#include "request/feature.h"
#include "request/nodes.h"
#include "request/numbers.h"

/* ---- who it is ---- */

void client_become(struct client *c, struct user *u)
{
    struct user *before = c->user;
    c->user = u != NULL ? users_hold(u) : NULL;
    users_release(before);
}

/* Whether u has as many clients as it may have, so that c cannot be one too. */
static bool is_taken(const struct env *env, const struct user *u, const struct client *c)
{
    uint64_t max = env->settings.user_clients_max;
    return u != c->user && max != 0 && u->holders >= max;
}

void client_login_default(struct client *c, struct env *env)
{
    const char *named = c->link->certificate_user;
    struct user *u = named != NULL ? users_find(env->users.all, slice_str(named)) : NULL;
    if (u == NULL || !u->is_on || is_taken(env, u, c)) {
        u = users_default(env->users.all);
        if (!u->is_on || !u->is_nopass) u = NULL;
    }
    client_become(c, u);
}

/* What it listens to, or is shown, it may still: asked of the features. */
static bool may_go_on(struct env *env, struct client *c)
{
    for (const struct feature *const *f = feature_table; *f != NULL; f++) {
        if ((*f)->user_changed != NULL && !(*f)->user_changed(env, c)) return false;
    }
    return true;
}

void login_log(struct request *rq, struct access_log_entry *entry)
{
    struct buf client;
    buf_init(&client);
    client_info_write(rq->client, &client);
    entry->client = buf_slice(&client);
    access_log_add(rq->env->users.refused, entry);
    buf_fini(&client);
}

static enum err nobody_known(struct request *rq)
{
    return nodes_know_no_users(rq->env->node.known, &rq->error);
}

enum err login_demand(struct request *rq, const char *text)
{
    if (rq->env->users.are_awaited) return nobody_known(rq);
    return error_set(&rq->error, ERR_NOAUTH, "%s", text);
}

enum err client_login(struct request *rq, struct slice name, struct slice password)
{
    struct env *env = rq->env;
    struct client *c = rq->client;
    if (env->users.are_awaited) return nobody_known(rq);
    struct user *u = users_login(env->users.all, name, password);
    if (u == NULL) {
        struct access_log_entry entry = {.reason = ACCESS_LOG_AUTH,
                                         .is_in_transaction = c->txn.multi != NULL,
                                         .object = slice_str(rq->command->name),
                                         .user = name};
        login_log(rq, &entry);
        return error_set(&rq->error, ERR_WRONGPASS,
                         "invalid username-password pair or user is disabled.");
    }
    if (is_taken(env, u, c)) {
        return error_set(&rq->error, ERR_LIMIT,
                         "this user has %zu connections, the maximum of maxclients-per-user",
                         u->holders);
    }
    client_become(c, u);
    /* What it began to listen to as another user it must not go on with. */
    if (!may_go_on(env, c)) c->run.closes_after_reply = true;
    return OK;
}

/* ---- changes of users ---- */

static void end(struct env *env, struct client *c)
{
    if (c == env->clients.running) {
        c->run.closes_after_reply = true;
    } else {
        c->ops->close(c);
    }
}

static void on_changed(void *arg, struct user *u)
{
    struct env *env = arg;
    if (env->server.ops != NULL && env->server.ops->users_changed != NULL) {
        env->server.ops->users_changed(env->server.arg);
    }
    for (struct client *c = env->clients.list.next; c != &env->clients.list;) {
        struct client *next = c->next;
        if (c->user == u) {
            if (u->is_deleted || !may_go_on(env, c)) {
                end(env, c);
            } else {
                client_block_again(c);
            }
        }
        c = next;
    }
}

void logins_init(struct env *env)
{
    env->users.all = users_new(&command_catalog, on_changed, env);
    env->users.refused = access_log_new();
}

void logins_fini(struct env *env)
{
    users_free(env->users.all);
    access_log_free(env->users.refused);
}
