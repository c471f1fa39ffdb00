/* plain_keys: the string view's commands about keys, whatever their values: DEL, UNLINK, EXISTS,
 * TYPE, and those that are a KV.* command with a plain word for its key.
 */
#include "command/kv/kv_int.h"
#include "request/args.h"
#include "request/command.h"
#include "request/keys.h"
#include "request/many_keys.h"
#include "request/table.h"
#include "request/view.h"

#define KEYS_COMMAND(id, word, words, more, uses, last, function, text, arguments)                 \
    const struct command cmd_##id = {                                                              \
        .name = word,                                                                              \
        .arity = words,                                                                            \
        .flags = CMD_STRING | CMD_KEYSPACE | (more),                                               \
        .first_key = 1,                                                                            \
        .last_key = last,                                                                          \
        .key_step = 1,                                                                             \
        .key_flags = uses,                                                                         \
        .group = "generic",                                                                        \
        .since = "0.1.0",                                                                          \
        .summary = text,                                                                           \
        .syntax = arguments,                                                                       \
        .run = function,                                                                           \
    }

KEYS_COMMAND(del, "del", -2, CMD_WRITE, KEY_RM | KEY_DELETE, -1, kv_del_run, "Deletes plain keys.",
             "key [key ...]");
KEYS_COMMAND(unlink, "unlink", -2, CMD_WRITE | CMD_FAST, KEY_RM | KEY_DELETE, -1, kv_del_run,
             "As DEL.", "key [key ...]");
KEYS_COMMAND(ttl, "ttl", 2, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO | KEY_ACCESS, 1, kv_ttl_run,
             "Seconds until a plain key expires; -1 never, -2 absent.", "key");
KEYS_COMMAND(pttl, "pttl", 2, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO | KEY_ACCESS, 1,
             kv_pttl_run, "Milliseconds until a plain key expires; -1 never, -2 absent.", "key");
KEYS_COMMAND(expire, "expire", -3, CMD_WRITE | CMD_FAST, KEY_RW | KEY_UPDATE, 1, kv_expire_run,
             "Lets a plain key expire in so many seconds; 1 or 0.",
             "key seconds [NX | XX | GT | LT]");
KEYS_COMMAND(pexpire, "pexpire", -3, CMD_WRITE | CMD_FAST, KEY_RW | KEY_UPDATE, 1, kv_pexpire_run,
             "Lets a plain key expire in so many milliseconds; 1 or 0.",
             "key milliseconds [NX | XX | GT | LT]");
KEYS_COMMAND(expireat, "expireat", -3, CMD_WRITE | CMD_FAST, KEY_RW | KEY_UPDATE, 1,
             kv_expireat_run, "Lets a plain key expire at a Unix time; 1 or 0.",
             "key unix-time-seconds [NX | XX | GT | LT]");
KEYS_COMMAND(pexpireat, "pexpireat", -3, CMD_WRITE | CMD_FAST, KEY_RW | KEY_UPDATE, 1,
             kv_pexpireat_run, "Lets a plain key expire at a Unix time in milliseconds; 1 or 0.",
             "key unix-time-milliseconds [NX | XX | GT | LT]");
KEYS_COMMAND(persist, "persist", 2, CMD_WRITE | CMD_FAST, KEY_RW | KEY_UPDATE, 1, kv_persist_run,
             "Takes the expiry off a plain key; 1 when it had one, else 0.", "key");

static enum err read_plain(struct request *rq, struct slice arg, struct entry *entry)
{
    struct slice key;
    enum err r = arg_string_key(rq, arg, &key);
    if (r != OK) return r;
    rq->env->stats.reads++;
    return request_get(rq, key, entry);
}

/* A key given twice counts twice, as in Redis. */
static enum err exists_run(struct request *rq)
{
    struct many_keys keys = {.first = 1, .end = rq->argc};
    uint64_t found = 0;
    enum err r = many_keys_read(rq, &keys, &found);
    if (r == OK) resp_int(rq->w, (int64_t)found);
    return r;
}
KEYS_COMMAND(exists, "exists", -2, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO, -1, exists_run,
             "How many of these plain keys are there.", "key [key ...]");

/* Nothing is kept of when a key was used, so there is nothing to do but to count. */
KEYS_COMMAND(touch, "touch", -2, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO, -1, exists_run,
             "As EXISTS.", "key [key ...]");

static enum err expiretime(struct request *rq, int64_t unit_ms)
{
    struct entry entry;
    enum err r = read_plain(rq, rq->argv[1], &entry);
    if (r != OK) return r;
    if (!entry.exists) {
        resp_int(rq->w, -2);
    } else if (entry.expiry_ms == 0) {
        resp_int(rq->w, -1);
    } else {
        int64_t rest_ms = entry.expiry_ms % unit_ms; /* to the nearest, as TTL */
        resp_int(rq->w, entry.expiry_ms / unit_ms + (rest_ms > 0 && rest_ms >= unit_ms / 2));
    }
    return OK;
}

static enum err expiretime_run(struct request *rq)
{
    return expiretime(rq, 1000);
}
KEYS_COMMAND(expiretime, "expiretime", 2, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             1, expiretime_run, "The Unix time at which a plain key expires; -1 never, -2 absent.",
             "key");

static enum err pexpiretime_run(struct request *rq)
{
    return expiretime(rq, 1);
}
KEYS_COMMAND(pexpiretime, "pexpiretime", 2, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             1, pexpiretime_run,
             "The Unix time in ms at which a plain key expires; -1 never, -2 absent.", "key");

static enum err type_run(struct request *rq)
{
    struct entry entry;
    enum err r = read_plain(rq, rq->argv[1], &entry);
    if (r != OK) return r;
    resp_simple(rq->w, entry.exists ? view_type(rq->client, entry.value) : "none");
    return OK;
}
KEYS_COMMAND(type, "type", 2, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO, 1, type_run,
             "string for bytes, else the kind of value; none when absent.", "key");
