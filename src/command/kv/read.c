/* kv_read: reads of single keys. */
#include "command/kv/kv_int.h"
#include "request/args.h"
#include "request/command.h"
#include "request/keys.h"
#include "request/many_keys.h"
#include "request/table.h"

static enum err read_entry(struct request *rq, struct slice arg, struct entry *entry)
{
    struct slice key;
    enum err r = arg_key(rq, arg, &key);
    if (r != OK) return r;
    r = request_get(rq, key, entry);
    if (r != OK) return r;
    rq->env->stats.reads++;
    if (entry->exists) {
        rq->env->stats.hits++;
    } else {
        rq->env->stats.misses++;
    }
    return OK;
}

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

static enum err kv_get_run(struct request *rq)
{
    struct entry entry;
    bool with_version = false;
    bool with_expiry = false;
    struct options o = {.rq = rq, .at = 2};
    while (o.at < rq->argc) {
        if (options_take(&o, "WITHVERSION", 0)) {
            with_version = true;
        } else if (options_take(&o, "WITHEXPIRY", 1)) {
            with_expiry = true;
        } else {
            return options_unknown(&o);
        }
    }
    enum err r = read_entry(rq, rq->argv[1], &entry);
    if (r != OK) return r;
    if (with_expiry) {
        reply_expiring(rq, &entry);
    } else if (with_version) {
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
    .arity = -2,
    .flags = CMD_READ | CMD_FOLLOWER | CMD_FAST | CMD_FORMAT,
    .first_key = 1,
    .last_key = 1,
    .key_step = 1,
    .key_flags = KEY_RO | KEY_ACCESS,
    .group = "kv",
    .since = "0.1.0",
    .summary = "The value of a key, with its versionstamp and expiry if asked for.",
    .syntax = "key [WITHVERSION] [WITHEXPIRY]",
    .reply = "The value, or nil; `WITHVERSION`: `[value, versionstamp]`, or nil; `WITHEXPIRY`: "
             "`[value, versionstamp, expiry ms]`, Unix time or nil when it never expires, or nil.",
    .run = kv_get_run,
};

static enum err kv_mget_run(struct request *rq)
{
    struct many_keys keys = {
        .first = 1, .end = rq->argc, .counts_hits = true, .tell = reply_versioned};
    uint64_t found = 0;
    resp_array(rq->w, rq->argc - 1);
    return many_keys_read(rq, &keys, &found);
}

const struct command kv_mget = {
    .name = "kv.mget",
    .arity = -2,
    .flags = CMD_READ | CMD_FOLLOWER | CMD_FAST | CMD_FORMAT,
    .first_key = 1,
    .last_key = -1,
    .key_step = 1,
    .key_flags = KEY_RO | KEY_ACCESS,
    .group = "kv",
    .since = "0.1.0",
    .summary = "Values and versionstamps of several keys, from one snapshot.",
    .syntax = "key [key ...]",
    .reply = "An array of `[value, versionstamp]` or nil, in the order asked, from one snapshot.",
    .run = kv_mget_run,
};

static enum err kv_exists_run(struct request *rq)
{
    struct many_keys keys = {.first = 1, .end = rq->argc, .counts_hits = true};
    uint64_t found = 0;
    enum err r = many_keys_read(rq, &keys, &found);
    if (r == OK) resp_int(rq->w, (int64_t)found);
    return r;
}

const struct command kv_exists = {
    .name = "kv.exists",
    .arity = -2,
    .flags = CMD_READ | CMD_FOLLOWER | CMD_KEYSPACE | CMD_FAST | CMD_FORMAT,
    .first_key = 1,
    .last_key = -1,
    .key_step = 1,
    .key_flags = KEY_RO,
    .group = "kv",
    .since = "0.1.0",
    .summary = "How many of the keys are there.",
    .syntax = "key [key ...]",
    .reply = "The number of live keys, from one snapshot; one that is named twice counts twice.",
    .run = kv_exists_run,
};

static enum err ttl_run(struct request *rq, int64_t unit_ms)
{
    struct entry entry;
    enum err r = read_entry(rq, rq->argv[1], &entry);
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
    .arity = 2,
    .flags = CMD_READ | CMD_FOLLOWER | CMD_KEYSPACE | CMD_FAST | CMD_FORMAT,
    .first_key = 1,
    .last_key = 1,
    .key_step = 1,
    .key_flags = KEY_RO | KEY_ACCESS,
    .group = "kv",
    .since = "0.1.0",
    .summary = "Seconds until a key expires; -1 never, -2 absent.",
    .syntax = "key",
    .reply = "Seconds, rounded; -1: no expiry; -2: absent.",
    .run = kv_ttl_run,
};

enum err kv_pttl_run(struct request *rq)
{
    return ttl_run(rq, 1);
}

const struct command kv_pttl = {
    .name = "kv.pttl",
    .arity = 2,
    .flags = CMD_READ | CMD_FOLLOWER | CMD_KEYSPACE | CMD_FAST | CMD_FORMAT,
    .first_key = 1,
    .last_key = 1,
    .key_step = 1,
    .key_flags = KEY_RO | KEY_ACCESS,
    .group = "kv",
    .since = "0.1.0",
    .summary = "Milliseconds until a key expires; -1 never, -2 absent.",
    .syntax = "key",
    .reply = "Milliseconds; -1: no expiry; -2: absent.",
    .run = kv_pttl_run,
};
