/* notify: from a commit to messages. Tables give the event of each cause of a mutation, and of the
 * commands that are called otherwise than what they do. A turn sends for so much work, and the rest
 * waits in publication.c; when too much waits there, events are lost and the log says so once. */
#include "request/notify.h"

#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "request/feature.h"
#include "request/key_name.h"
#include "request/publication.h"
#include "request/table.h"

#define TURN_WORK 4000000       /* nanoseconds, about, that one turn tells for */
#define QUEUE_BYTES (64u << 20) /* on its way to many: more, and what comes is not told */

struct notifications {
    struct env *env;
    int64_t work; /* left in this turn */
    bool is_late; /* something was not told, and the log has it */
    struct buf name, channel;
};

/* ---- the setting ---- */

/* In the order in which Redis shows them; those that mean nothing here have a bit all the same. */
static const struct {
    char letter;
    bool is_in_all; /* A */
    uint64_t flag;
} letters[] = {
    {'g', true, NOTIFY_GENERIC}, {'$', true, NOTIFY_STRING},    {'l', true, NOTIFY_LIST},
    {'s', true, NOTIFY_SET},     {'h', true, NOTIFY_HASH},      {'z', true, NOTIFY_ZSET},
    {'x', true, NOTIFY_EXPIRED}, {'e', true, 1 << 12},          {'t', true, NOTIFY_STREAM},
    {'d', true, NOTIFY_MODULE},  {'K', false, NOTIFY_KEYSPACE}, {'E', false, NOTIFY_KEYEVENT},
    {'m', false, 1 << 15},       {'n', false, 1 << 16},
};
#define LETTERS (sizeof letters / sizeof letters[0])

static uint64_t all_flags(void)
{
    uint64_t all = 0;
    for (size_t i = 0; i < LETTERS; i++) all |= letters[i].is_in_all ? letters[i].flag : 0;
    return all;
}

enum err notify_parse(struct slice text, uint64_t *flags, struct error *e)
{
    uint64_t found = 0;
    for (size_t at = 0; at < text.len; at++) {
        size_t i = 0;
        if (text.data[at] == 'A') {
            found |= all_flags();
            continue;
        }
        while (i < LETTERS && letters[i].letter != (char)text.data[at]) i++;
        if (i == LETTERS) {
            return error_set(e, ERR_SYNTAX,
                             "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.");
        }
        found |= letters[i].flag;
    }
    *flags = found;
    return OK;
}

void notify_write(uint64_t flags, struct buf *out)
{
    bool is_all = (flags & all_flags()) == all_flags();
    if (is_all) buf_append_byte(out, 'A');
    for (size_t i = 0; i < LETTERS; i++) {
        if ((flags & letters[i].flag) == 0 || (is_all && letters[i].is_in_all)) continue;
        buf_append_byte(out, (uint8_t)letters[i].letter);
    }
}

/* ---- what happened ---- */

struct event {
    unsigned flag;
    const char *set, *deleted; /* of a key that is there afterwards, and of one that is not */
};

/* By enum cause. */
static const struct event by_operation[] = {
    [CAUSE_NONE] = {NOTIFY_STRING, "set", "del"},
    [CAUSE_SET] = {NOTIFY_STRING, "set", "del"},
    [CAUSE_SET_EXPIRING] = {NOTIFY_STRING, "set", "del"},
    [CAUSE_DELETE] = {NOTIFY_GENERIC, "set", "del"},
    [CAUSE_ADD] = {NOTIFY_STRING, "incrby", "del"},
    [CAUSE_JOIN] = {NOTIFY_STRING, "append", "del"},
    [CAUSE_EXPIRE] = {NOTIFY_GENERIC, "expire", "del"},
    [CAUSE_EXPIRED] = {NOTIFY_EXPIRED, "expired", "expired"},
    [CAUSE_FIELDS_EXPIRED] = {NOTIFY_HASH, "hexpired", "hexpired"},
};

/* Commands that tell something else than their operations do, by CAUSE_COMMAND and their place.
 * What waits (BLPOP, ...) tells what its sibling does: see elements_save_as. */
static const struct {
    const char *command;
    struct event event;
} by_command[] = {
    {"append", {NOTIFY_STRING, "append", "del"}},
    {"setrange", {NOTIFY_STRING, "setrange", "del"}},
    {"incrbyfloat", {NOTIFY_STRING, "incrbyfloat", "del"}},
    {"setbit", {NOTIFY_STRING, "setbit", "del"}},
    {"bitfield", {NOTIFY_STRING, "setbit", "del"}},
    {"pfadd", {NOTIFY_STRING, "pfadd", "del"}},
    {"pfmerge", {NOTIFY_STRING, "pfadd", "del"}},
    {"pfcount",
     {0, "pfcount", "del"}}, /* that it keeps its estimate is told to none, as in Redis */
    {"rename", {NOTIFY_GENERIC, "rename_to", "rename_from"}},
    {"renamenx", {NOTIFY_GENERIC, "rename_to", "rename_from"}},
    {"copy", {NOTIFY_GENERIC, "copy_to", "del"}},
    {"move", {NOTIFY_GENERIC, "move_to", "move_from"}},
    {"restore", {NOTIFY_GENERIC, "restore", "del"}},
    {"json.set", {NOTIFY_MODULE, "json_set", "del"}},
    {"json.del", {NOTIFY_MODULE, "json_del", "json_del"}},
    {"json.forget", {NOTIFY_MODULE, "json_del", "json_del"}},
    {"json.arrappend", {NOTIFY_MODULE, "json_arrappend", "del"}},
    {"json.numincrby", {NOTIFY_MODULE, "json_numincrby", "del"}},
    {"hset", {NOTIFY_HASH, "hset", "hset"}},
    {"hmset", {NOTIFY_HASH, "hset", "hset"}},
    {"hsetnx", {NOTIFY_HASH, "hset", "hset"}},
    {"hdel", {NOTIFY_HASH, "hdel", "hdel"}},
    {"hincrby", {NOTIFY_HASH, "hincrby", "hincrby"}},
    {"hincrbyfloat", {NOTIFY_HASH, "hincrbyfloat", "hincrbyfloat"}},
    {"hexpire", {NOTIFY_HASH, "hexpire", "hexpire"}},
    {"hpersist", {NOTIFY_HASH, "hpersist", "hpersist"}},
    {"hgetdel", {NOTIFY_HASH, "hdel", "hdel"}},
    {"hsetex", {NOTIFY_HASH, "hset", "hset"}},
    {"xadd", {NOTIFY_STREAM, "xadd", "xadd"}},
    {"xdel", {NOTIFY_STREAM, "xdel", "xdel"}},
    {"xtrim", {NOTIFY_STREAM, "xtrim", "xtrim"}},
    {"xsetid", {NOTIFY_STREAM, "xsetid", "xsetid"}},
    {"xgroup-create", {NOTIFY_STREAM, "xgroup-create", "xgroup-create"}},
    {"xgroup-destroy", {NOTIFY_STREAM, "xgroup-destroy", "xgroup-destroy"}},
    {"lpush", {NOTIFY_LIST, "lpush", "lpush"}},
    {"rpush", {NOTIFY_LIST, "rpush", "rpush"}},
    {"lpushx", {NOTIFY_LIST, "lpush", "lpush"}},
    {"rpushx", {NOTIFY_LIST, "rpush", "rpush"}},
    {"lpop", {NOTIFY_LIST, "lpop", "lpop"}},
    {"rpop", {NOTIFY_LIST, "rpop", "rpop"}},
    {"linsert", {NOTIFY_LIST, "linsert", "linsert"}},
    {"lset", {NOTIFY_LIST, "lset", "lset"}},
    {"lrem", {NOTIFY_LIST, "lrem", "lrem"}},
    {"ltrim", {NOTIFY_LIST, "ltrim", "ltrim"}},
    {"sort", {NOTIFY_LIST, "sortstore", "del"}},
    {"sadd", {NOTIFY_SET, "sadd", "sadd"}},
    {"srem", {NOTIFY_SET, "srem", "srem"}},
    {"spop", {NOTIFY_SET, "spop", "spop"}},
    {"sinterstore", {NOTIFY_SET, "sinterstore", "del"}},
    {"sunionstore", {NOTIFY_SET, "sunionstore", "del"}},
    {"sdiffstore", {NOTIFY_SET, "sdiffstore", "del"}},
    {"zadd", {NOTIFY_ZSET, "zadd", "zadd"}},
    {"zincrby", {NOTIFY_ZSET, "zincr", "zincr"}},
    {"zrem", {NOTIFY_ZSET, "zrem", "zrem"}},
    {"zpopmin", {NOTIFY_ZSET, "zpopmin", "zpopmin"}},
    {"zpopmax", {NOTIFY_ZSET, "zpopmax", "zpopmax"}},
    {"zremrangebyrank", {NOTIFY_ZSET, "zremrangebyrank", "zremrangebyrank"}},
    {"zremrangebyscore", {NOTIFY_ZSET, "zremrangebyscore", "zremrangebyscore"}},
    {"zremrangebylex", {NOTIFY_ZSET, "zremrangebylex", "zremrangebylex"}},
    {"zunionstore", {NOTIFY_ZSET, "zunionstore", "del"}},
    {"zinterstore", {NOTIFY_ZSET, "zinterstore", "del"}},
    {"zdiffstore", {NOTIFY_ZSET, "zdiffstore", "del"}},
    {"zrangestore", {NOTIFY_ZSET, "zrangestore", "del"}},
    {"geosearchstore", {NOTIFY_ZSET, "geosearchstore", "del"}},
    {"georadius", {NOTIFY_ZSET, "georadiusstore", "del"}},
    {"georadiusbymember", {NOTIFY_ZSET, "georadiusstore", "del"}},
};
#define COMMANDS_TOLD (sizeof by_command / sizeof by_command[0])

uint16_t notify_cause(const struct request *rq)
{
    return rq->command == NULL ? 0 : notify_cause_as(rq, rq->command->name);
}

uint16_t notify_cause_as(const struct request *rq, const char *command)
{
    if (rq->env->settings.notify_events == 0) return 0;
    for (size_t i = 0; i < COMMANDS_TOLD; i++) {
        if (strcmp(command, by_command[i].command) == 0) {
            return (uint16_t)(CAUSE_COMMAND + i);
        }
    }
    return 0;
}

static const struct event *event_of(uint16_t cause)
{
    INVARIANT(cause < CAUSE_COMMAND + COMMANDS_TOLD);
    return cause < CAUSE_COMMAND ? &by_operation[cause] : &by_command[cause - CAUSE_COMMAND].event;
}

/* ---- telling ---- */

static void publish(struct notifications *x, const char *head, struct slice end,
                    struct slice payload, uint16_t database, uint64_t version)
{
    char begin[64];
    int n = snprintf(begin, sizeof begin, "%s@%u__:", head, (unsigned)database);
    if (publications_bytes(x->env) > QUEUE_BYTES) {
        if (!x->is_late)
            log_warning("keyspace notifications were lost: too many for the subscribers");
        x->is_late = true;
        return;
    }
    buf_clear(&x->channel, 64 * 1024);
    buf_append(&x->channel, begin, (size_t)n);
    buf_append(&x->channel, end.data, end.len);
    buf_require(&x->channel);
    publication_tell(x->env, buf_slice(&x->channel), payload, version, &x->work);
}

/* x->name is the key's. */
static void tell(struct notifications *x, unsigned flag, const char *event, uint16_t database,
                 uint64_t version)
{
    unsigned flags = x->env->settings.notify_events;
    struct slice name = buf_slice(&x->name);
    struct slice word = slice_str(event);
    if ((flags & flag) == 0) return;
    if ((flags & NOTIFY_KEYSPACE) != 0) {
        publish(x, "__keyspace", name, word, database, version);
    }
    if ((flags & NOTIFY_KEYEVENT) != 0) {
        publish(x, "__keyevent", word, name, database, version);
    }
}

#define NOTIFY_TYPES (NOTIFY_HASH | NOTIFY_LIST | NOTIFY_SET | NOTIFY_ZSET)

static void tell_mutation(struct notifications *x, const struct mutation *mu, uint64_t version)
{
    const struct event *event = event_of(mu->cause);
    uint16_t database = key_database(mu->key);
    bool exists = mu->kind == MUTATION_SET;
    const char *word = exists ? event->set : event->deleted;
    unsigned flag = event->flag;
    /* What took the last element of a collection is told, then that the key has gone. */
    bool is_emptied = !exists && (flag & NOTIFY_TYPES) != 0 && strcmp(word, "del") != 0;
    if (!exists && mu->cause != CAUSE_EXPIRED && !is_emptied) flag = NOTIFY_GENERIC;
    if (mu->cause == CAUSE_EXPIRE && exists && mu->expiry_ms == 0) word = "persist";
    buf_clear(&x->name, 64 * 1024);
    key_name(mu->key, &x->name);
    buf_require(&x->name);
    tell(x, flag, word, database, version);
    if (is_emptied) tell(x, NOTIFY_GENERIC, "del", database, version);
    if (mu->cause == CAUSE_SET_EXPIRING && exists) {
        tell(x, NOTIFY_GENERIC, "expire", database, version);
    }
}

static void on_commit(void *arg, uint64_t version, const struct write_set *ws)
{
    struct notifications *x = arg;
    struct env *env = x->env;
    if ((env->settings.notify_events & (NOTIFY_KEYSPACE | NOTIFY_KEYEVENT)) == 0) return;
    if (pubsub_names(env->pubsub, PUBSUB_CHANNEL) + pubsub_names(env->pubsub, PUBSUB_PATTERN) ==
        0) {
        return;
    }
    for (size_t i = 0; i < ws->count; i++) {
        const struct mutation *mu = &ws->items[i];
        bool is_key = mu->kind == MUTATION_SET || mu->kind == MUTATION_DELETE;
        if (is_key && key_space(mu->key) == SPACE_DATA) tell_mutation(x, mu, version);
    }
}

static void notify_open(struct env *env)
{
    struct notifications *x = mem_new(sizeof *x);
    x->env = env;
    x->work = TURN_WORK;
    buf_init(&x->name);
    buf_init(&x->channel);
    env->notifications = x;
}

static void notify_close(struct env *env)
{
    struct notifications *x = env->notifications;
    buf_fini(&x->name);
    buf_fini(&x->channel);
    mem_free(x);
}

static void notify_of_engine(struct env *env, struct engine *g)
{
    struct layer layer = {
        .kinds = LAYER_SPACE(SPACE_DATA), .on_commit = on_commit, .arg = env->notifications};
    engine_add_layer(g, &layer);
}

static bool notify_turn(struct env *env)
{
    struct notifications *x = env->notifications;
    x->work = TURN_WORK;
    if (publications_bytes(env) == 0) x->is_late = false;
    return false;
}

const struct feature notify_feature = {
    .open = notify_open,
    .close = notify_close,
    .use_engine = notify_of_engine,
    .turn = notify_turn,
};
