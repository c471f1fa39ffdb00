/* life: of an env and of a client, from beginning to end; most of it is calling each feature
 * (feature.h) in turn. */
#include "base/list.h"
#include "request/block.h"
#include "request/exclusive.h"
#include "request/feature.h"
#include "request/login.h"
#include "request/long_words.h"
#include "request/many_keys.h"
#include "request/multi.h"
#include "request/observe.h"
#include "request/publication.h"
#include "request/touched.h"

#define END_WORK 1000 /* channels and notes of a client that end at once with it */

void command_init(struct env *env)
{
    waiter_list_init(&env->paused.waiters);
    client_block_open(env);
    exclusive_open(env);
    waiter_list_init(&env->readings.waiters);
    env->pubsub = pubsub_new();
    env->publications = publications_new();
    env->settings.queue_prefetch = 16;
    logins_init(env);
    env->touched = touched_new();
    waiter_list_init(&env->node.following.waiters);
    observe_init(env);
    for (const struct feature *const *f = feature_table; *f != NULL; f++) {
        if ((*f)->open != NULL) (*f)->open(env);
    }
    env_use_db(env, env->db);
}

void env_use_db(struct env *env, struct db *db)
{
    env->db = db;
    touched_of_engine(env->touched, db->engine);
    for (const struct feature *const *f = feature_table; *f != NULL; f++) {
        if ((*f)->use_engine != NULL) (*f)->use_engine(env, db->engine);
    }
}

void command_fini(struct env *env)
{
    for (const struct feature *const *f = feature_table; *f != NULL; f++) {
        if ((*f)->close != NULL) (*f)->close(env);
    }
    long_words_close(env);
    logins_fini(env);
    touched_free(env->touched);
    observe_fini(env);
    publications_free(env);
    pubsub_free(env->pubsub);
}

bool command_turn(struct env *env)
{
    bool has_more = publications_turn(env);
    long_words_turn(env);
    for (const struct feature *const *f = feature_table; *f != NULL; f++) {
        if ((*f)->turn != NULL && (*f)->turn(env)) has_more = true;
    }
    return has_more;
}

void command_tick(struct env *env)
{
    client_block_tick(env);
    exclusive_tick(env);
    many_keys_tick(env);
    for (const struct feature *const *f = feature_table; *f != NULL; f++) {
        if ((*f)->tick != NULL) (*f)->tick(env);
    }
}

int64_t command_rest_ms(const struct env *env)
{
    int64_t block_ms = client_block_due_ms(env);
    int64_t exclusive_ms = exclusive_due_ms(env);
    return block_ms < exclusive_ms ? block_ms : exclusive_ms;
}

/* ---- clients ---- */

void client_settings_reset(struct client *c, const struct env *env)
{
    struct client_settings *s = &c->settings;
    s->proto = 2;
    s->format = env->settings.default_format;
    s->view = VIEW_OF_USER;
    s->reply_mode = REPLY_ON;
    s->exec_on_error = EXEC_OF_USER;
    s->is_readonly = false;
    s->name[0] = '\0';
}

void client_init(struct client *c, struct env *env, struct link *link, const struct client_ops *ops)
{
    c->id = ++env->clients.last_id;
    c->link = link;
    c->ops = ops;
    client_settings_reset(c, env);
    client_login_default(c, env);
    RING_INSERT(&env->clients.list, c, next, prev);
    env->clients.count++;
}

bool client_end_listening(struct client *c, struct env *env, size_t *work)
{
    for (const struct feature *const *f = feature_table; *f != NULL; f++) {
        if ((*f)->client_end != NULL && !(*f)->client_end(env, c, work)) return false;
    }
    return pubsub_leave(env->pubsub, &c->listening.subscriber, work);
}

void client_reset(struct client *c, struct env *env)
{
    for (const struct feature *const *f = feature_table; *f != NULL; f++) {
        if ((*f)->client_reset != NULL) (*f)->client_reset(env, c);
    }
}

const char *redis_version(const struct env *env)
{
    return env->settings.is_redis_7_4 ? "7.4.0" : REDIS_COMPATIBLE_VERSION;
}

void client_fini(struct client *c, struct env *env)
{
    client_drop_pending(c);
    long_words_clear(c);
    client_end_transaction(c);
    for (const struct feature *const *f = feature_table; *f != NULL; f++) {
        if ((*f)->client_gone != NULL) (*f)->client_gone(env, c);
    }
    size_t work = END_WORK;
    (void)client_end_listening(c, env, &work);
    client_block_clear(c, env);
    client_become(c, NULL);
    client_memory_uncount(c, env);
    RING_UNLINK(c, next, prev);
    env->clients.count--;
}
