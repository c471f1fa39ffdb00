/* kv_read: reads of single keys. */
#include "command/kv/kv_int.h"
#include "request/args.h"
#include "request/command.h"
#include "request/keys.h"
#include "request/many_keys.h"
#include "request/shapes.h"
#include "request/table.h"

static void reply_versioned(struct request *rq, const struct entry *entry)
{
    if (!entry->exists) {
        resp_nil_array(rq->w);
        return;
    }
    resp_array(rq->w, 2);
    reply_value(rq->w, rq->format, entry->value);
    reply_stamp(rq, entry->version);
}

static void reply_expiring(struct request *rq, const struct entry *entry)
{
    if (!entry->exists) {
        resp_nil_array(rq->w);
        return;
    }
    resp_array(rq->w, 3);
    reply_value(rq->w, rq->format, entry->value);
    reply_stamp(rq, entry->version);
    if (entry->expiry_ms == 0) {
        resp_nil(rq->w);
    } else {
        resp_int(rq->w, entry->expiry_ms);
    }
}

struct get {
    struct slice key;
    bool with_version, with_expiry;
};
ARGUMENTS(get_arguments, struct get, "key [WITHVERSION] [WITHEXPIRY]",
          ARG_KEY(struct get, key, "key", KEY_RO | KEY_ACCESS),
          ARG_FLAG(struct get, with_version, "WITHVERSION"),
          ARG_FLAG(struct get, with_expiry, "WITHEXPIRY"));

static enum err kv_get_run(struct request *rq)
{
    const struct get *a = rq->bound;
    struct entry entry;
    enum err r = request_read(rq, a->key, &entry);
    if (r != OK) return r;
    if (a->with_expiry) {
        reply_expiring(rq, &entry);
    } else if (a->with_version) {
        reply_versioned(rq, &entry);
    } else if (entry.exists) {
        reply_value(rq->w, rq->format, entry.value);
    } else {
        resp_nil(rq->w);
    }
    return OK;
}

const struct command kv_get = {
    .name = "kv.get",
    .flags = CMD_READ | CMD_FOLLOWER | CMD_FAST | CMD_FORMAT,
    .group = "kv",
    .summary = "Returns the value of a key, on request with its versionstamp and expiry.",
    .arguments = &get_arguments,
    .reply = "The value, or nil if the key does not exist. With `WITHVERSION`, `[value, "
             "versionstamp]`. With `WITHEXPIRY`, `[value, versionstamp, expiry ms]`; the expiry "
             "is a Unix time, or nil if there is none.",
    .run = kv_get_run,
};

static enum err kv_mget_run(struct request *rq)
{
    const struct many_words *a = rq->bound;
    struct many_keys keys = {.words = a->words, .counts_hits = true, .tell = reply_versioned};
    uint64_t found = 0;
    resp_array(rq->w, a->words.count);
    return many_keys_read(rq, &keys, &found);
}

const struct command kv_mget = {
    .name = "kv.mget",
    .flags = CMD_READ | CMD_FOLLOWER | CMD_FAST | CMD_FORMAT,
    .key_flags = KEY_RO | KEY_ACCESS,
    .group = "kv",
    .summary = "Returns the values and versionstamps of several keys, from one snapshot.",
    .arguments = &many_keys_arguments,
    .reply = "An array with `[value, versionstamp]` or nil for each key, from one snapshot.",
    .run = kv_mget_run,
};

static enum err kv_exists_run(struct request *rq)
{
    const struct many_words *a = rq->bound;
    struct many_keys keys = {.words = a->words, .counts_hits = true};
    uint64_t found = 0;
    enum err r = many_keys_read(rq, &keys, &found);
    if (r == OK) resp_int(rq->w, (int64_t)found);
    return r;
}

const struct command kv_exists = {
    .name = "kv.exists",
    .flags = CMD_READ | CMD_FOLLOWER | CMD_KEYSPACE | CMD_FAST | CMD_FORMAT,
    .key_flags = KEY_RO,
    .group = "kv",
    .summary = "Returns how many of the keys exist.",
    .arguments = &many_keys_arguments,
    .reply = "The number of live keys, from one snapshot. A key that is given twice counts twice.",
    .run = kv_exists_run,
};

static enum err ttl_run(struct request *rq, int64_t unit_ms)
{
    const struct one_key *a = rq->bound;
    struct entry entry;
    enum err r = request_read(rq, a->key, &entry);
    if (r != OK) return r;
    if (!entry.exists) {
        resp_int(rq->w, -2);
    } else if (entry.expiry_ms == 0) {
        resp_int(rq->w, -1);
    } else {
        int64_t left_ms = entry.expiry_ms - engine_time_ms(rq->env->db->engine);
        if (left_ms < 0) left_ms = 0;
        /* Redis rounds to the nearest second. */
        resp_int(rq->w, unit_ms == 1 ? left_ms : (left_ms + unit_ms / 2) / unit_ms);
    }
    return OK;
}

enum err kv_ttl_run(struct request *rq)
{
    return ttl_run(rq, 1000);
}

const struct command kv_ttl = {
    .name = "kv.ttl",
    .flags = CMD_READ | CMD_FOLLOWER | CMD_KEYSPACE | CMD_FAST | CMD_FORMAT,
    .key_flags = KEY_RO | KEY_ACCESS,
    .group = "kv",
    .summary = "Returns the time to live of a key in seconds.",
    .arguments = &one_key_arguments,
    .reply = "Seconds, rounded, -1 if the key has no expiry, -2 if it does not exist.",
    .run = kv_ttl_run,
};

enum err kv_pttl_run(struct request *rq)
{
    return ttl_run(rq, 1);
}

const struct command kv_pttl = {
    .name = "kv.pttl",
    .flags = CMD_READ | CMD_FOLLOWER | CMD_KEYSPACE | CMD_FAST | CMD_FORMAT,
    .key_flags = KEY_RO | KEY_ACCESS,
    .group = "kv",
    .summary = "Returns the time to live of a key in milliseconds.",
    .arguments = &one_key_arguments,
    .reply = "Milliseconds, -1 if the key has no expiry, -2 if it does not exist.",
    .run = kv_pttl_run,
};
