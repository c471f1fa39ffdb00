/* plain_keys: the string view's commands about keys, whatever their values: DEL, UNLINK, EXISTS,
 * TYPE, and those that are a KV.* command with a plain word for its key.
 */
#include "command/kv/kv_int.h"
#include "request/keys.h"
#include "request/many_keys.h"
#include "request/shapes.h"
#include "request/table.h"
#include "request/view.h"

#define KEYS_COMMAND(id, word, more, uses, text, its_arguments, function)                          \
    const struct command cmd_##id = {                                                              \
        .name = word,                                                                              \
        .flags = CMD_STRING | CMD_KEYSPACE | (more),                                               \
        .key_flags = uses,                                                                         \
        .group = "generic",                                                                        \
        .summary = text,                                                                           \
        .arguments = &(its_arguments),                                                             \
        .run = function,                                                                           \
    }
#define READS (CMD_READ | CMD_FAST | CMD_FOLLOWER)

KEYS_COMMAND(del, "del", CMD_WRITE, 0, "Deletes keys and returns how many there were.",
             del_arguments, kv_del_run);
KEYS_COMMAND(unlink, "unlink", CMD_WRITE | CMD_FAST, 0,
             "Deletes keys and returns how many there were; the same as DEL.", del_arguments,
             kv_del_run);
KEYS_COMMAND(ttl, "ttl", READS, KEY_RO | KEY_ACCESS,
             "Returns the time to live of a key in seconds, -1 if it has none, -2 if it does not "
             "exist.",
             one_key_arguments, kv_ttl_run);
KEYS_COMMAND(pttl, "pttl", READS, KEY_RO | KEY_ACCESS,
             "Returns the time to live of a key in milliseconds, -1 if it has none, -2 if it does "
             "not exist.",
             one_key_arguments, kv_pttl_run);
KEYS_COMMAND(expire, "expire", CMD_WRITE | CMD_FAST, 0,
             "Sets the expiry of a key in seconds from now. Returns 1, or 0 if the key does not "
             "exist or the condition is not met.",
             expire_arguments, kv_expire_run);
KEYS_COMMAND(pexpire, "pexpire", CMD_WRITE | CMD_FAST, 0,
             "Sets the expiry of a key in milliseconds from now. Returns 1, or 0 if the key does "
             "not exist or the condition is not met.",
             pexpire_arguments, kv_pexpire_run);
KEYS_COMMAND(expireat, "expireat", CMD_WRITE | CMD_FAST, 0,
             "Sets the expiry of a key to a Unix time in seconds. Returns 1, or 0 if the key does "
             "not exist or the condition is not met.",
             expireat_arguments, kv_expire_run);
KEYS_COMMAND(pexpireat, "pexpireat", CMD_WRITE | CMD_FAST, 0,
             "Sets the expiry of a key to a Unix time in milliseconds. Returns 1, or 0 if the key "
             "does not exist or the condition is not met.",
             pexpireat_arguments, kv_pexpire_run);
KEYS_COMMAND(persist, "persist", CMD_WRITE | CMD_FAST, 0,
             "Removes the expiry of a key. Returns 1, or 0 if it had none.", persist_arguments,
             kv_persist_run);

static enum err read_plain(struct request *rq, struct entry *entry)
{
    const struct one_key *a = rq->bound;
    rq->env->stats.reads++;
    return request_get(rq, a->key, entry);
}

/* A key given twice counts twice, as in Redis. */
static enum err exists_run(struct request *rq)
{
    const struct many_words *a = rq->bound;
    struct many_keys keys = {.words = a->words};
    uint64_t found = 0;
    enum err r = many_keys_read(rq, &keys, &found);
    if (r == OK) resp_int(rq->w, (int64_t)found);
    return r;
}
KEYS_COMMAND(exists, "exists", READS, KEY_RO, "Returns how many of the keys exist.",
             many_keys_arguments, exists_run);

/* Nothing is kept of when a key was used, so there is nothing to do but to count. */
KEYS_COMMAND(touch, "touch", READS, KEY_RO, "Returns how many of the keys exist.",
             many_keys_arguments, exists_run);

static enum err expiretime(struct request *rq, int64_t unit_ms)
{
    struct entry entry;
    enum err r = read_plain(rq, &entry);
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
KEYS_COMMAND(expiretime, "expiretime", READS, KEY_RO | KEY_ACCESS,
             "Returns the expiry of a key as a Unix time in seconds, -1 if it has none, -2 if it "
             "does not exist.",
             one_key_arguments, expiretime_run);

static enum err pexpiretime_run(struct request *rq)
{
    return expiretime(rq, 1);
}
KEYS_COMMAND(pexpiretime, "pexpiretime", READS, KEY_RO | KEY_ACCESS,
             "Returns the expiry of a key as a Unix time in milliseconds, -1 if it has none, -2 "
             "if it does not exist.",
             one_key_arguments, pexpiretime_run);

static enum err type_run(struct request *rq)
{
    struct entry entry;
    enum err r = read_plain(rq, &entry);
    if (r != OK) return r;
    resp_simple(rq->w, entry.exists ? view_type(rq->client, entry.value) : "none");
    return OK;
}
KEYS_COMMAND(type, "type", READS, KEY_RO,
             "Returns the type of a value: string for bytes, none if the key does not exist.",
             one_key_arguments, type_run);
