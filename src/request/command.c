/* command: commands by name, in a hash table with open addressing that is filled before main; and
 * the life of an env and of a client, most of which is calling each feature (feature.h) in turn. */
#include "request/command.h"
#include "request/block.h"
#include "request/feature.h"

#include "base/clock.h"
#include "base/list.h"
#include "request/login.h"
#include "request/long_words.h"
#include "request/many_keys.h"
#include "request/multi.h"
#include "request/observe.h"
#include "request/publication.h"
#include "request/touched.h"

#define NAME_BYTES_MAX 32
#define END_WORK 1000 /* channels and notes of a client that end at once with it */
#define BUCKETS 512   /* power of two, several times the number of commands */

/* ---- finding ---- */

static uint32_t name_hash(struct slice name)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < name.len; i++) h = (h ^ (name.data[i] | 0x20u)) * 16777619u;
    return h;
}

static bool name_is(const char *name, struct slice given)
{
    for (size_t i = 0; i < given.len; i++) {
        uint8_t c = given.data[i];
        if ((uint8_t)(c - 'A') < 26) c |= 0x20;
        if (c == '\0' || c != (uint8_t)name[i]) return false;
    }
    return name[given.len] == '\0';
}

static const struct command *buckets[BUCKETS]; /* constant after index_build */

/* From the constant table, before main: a program may have several engines, each in a thread of its
 * own, and none of them is the first. */
__attribute__((constructor)) static void index_build(void)
{
    for (const struct command *const *c = command_table; *c != NULL; c++) {
        size_t i = name_hash(slice_str((*c)->name)) % BUCKETS;
        while (buckets[i] != NULL) i = (i + 1) % BUCKETS;
        buckets[i] = *c;
    }
}

const struct command *command_find(struct slice name)
{
    if (name.len > NAME_BYTES_MAX) return NULL;
    for (size_t i = name_hash(name) % BUCKETS; buckets[i] != NULL; i = (i + 1) % BUCKETS) {
        if (name_is(buckets[i]->name, name)) return buckets[i];
    }
    return NULL;
}

const char *command_since(const struct command *c)
{
    return c->since != NULL ? c->since : COMMAND_SINCE;
}

static const struct command *command_find_sub(const struct command *c, struct slice name)
{
    if (c->subcommands == NULL) return NULL;
    for (const struct command *const *s = c->subcommands; *s != NULL; s++) {
        if (name_is((*s)->name, name)) return *s;
    }
    return NULL;
}

const struct command *command_find_full(struct slice name, const struct command **parent)
{
    const uint8_t *bar = name.len == 0 ? NULL : memchr(name.data, '|', name.len);
    *parent = NULL;
    if (bar == NULL) return command_find(name);
    size_t len = (size_t)(bar - name.data);
    *parent = command_find(slice_of(name.data, len));
    if (*parent == NULL) return NULL;
    return command_find_sub(*parent, slice_of(bar + 1, name.len - len - 1));
}

const struct command *command_of_words(const struct slice *argv, size_t argc,
                                       const struct command **parent)
{
    const struct command *c = command_find(argv[0]);
    *parent = NULL;
    if (c == NULL || c->subcommands == NULL || argc < 2) return c;
    const struct command *sub = command_find_sub(c, argv[1]);
    bool takes_any = (c->flags & CMD_ANY_WORD) != 0;
    if (sub == NULL) return takes_any ? c : NULL;
    if (takes_any && !command_arity_fits(sub, 2, argc)) return c; /* it has words for that too */
    *parent = c;
    return sub;
}

size_t command_count(void)
{
    size_t n = 0;
    while (command_table[n] != NULL) n++;
    return n;
}

void command_init(struct env *env)
{
    waiter_list_init(&env->paused.waiters);
    client_block_open(env);
    waiter_list_init(&env->readings.waiters);
    env->pubsub = pubsub_new();
    env->publications = publications_new();
    env->settings.queue_prefetch = 16;
    logins_init(env);
    env->touched = touched_new();
    waiter_list_init(&env->following.waiters);
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
    many_keys_tick(env);
    for (const struct feature *const *f = feature_table; *f != NULL; f++) {
        if ((*f)->tick != NULL) (*f)->tick(env);
    }
}

int64_t command_rest_ms(const struct env *env)
{
    return client_block_due_ms(env);
}

/* ---- clients ---- */

void client_init(struct client *c, struct env *env, struct link *link, const struct client_ops *ops)
{
    c->id = ++env->client_last_id;
    c->link = link;
    c->ops = ops;
    c->proto = 2;
    c->format = env->settings.default_format;
    client_login_default(c, env);
    RING_INSERT(&env->clients, c, next, prev);
    env->client_count++;
}

bool client_end_listening(struct client *c, struct env *env, size_t *work)
{
    for (const struct feature *const *f = feature_table; *f != NULL; f++) {
        if ((*f)->client_end != NULL && !(*f)->client_end(env, c, work)) return false;
    }
    return pubsub_leave(env->pubsub, &c->subscriber, work);
}

size_t client_subscriptions(const struct client *c)
{
    return pubsub_count(&c->subscriber, PUBSUB_CHANNEL) +
           pubsub_count(&c->subscriber, PUBSUB_PATTERN) +
           pubsub_count(&c->subscriber, PUBSUB_SHARD);
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
    env->client_count--;
}
