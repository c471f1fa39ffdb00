/* kv_write: single commands that write. Each is a transaction of one operation (KV.DEL: of one per
 * key) through the same evaluator as KV.ATOMIC.
 */
#include "command/kv/kv_int.h"
#include "command/kv/operations.h"
#include "request/args.h"
#include "request/expiry.h"
#include "request/keys.h"
#include "request/table.h"

static enum err commit(struct request *rq, struct txn *t)
{
    t->overlay = rq->overlay;
    t->database = rq->client->database;
    t->arena = rq->arena;
    enum err r = engine_commit(rq->env->db->engine, t, rq->waiter, &rq->error);
    depends_raise(&rq->depends, t->depends);
    if (r == OK) rq->env->stats.writes++;
    return r;
}

static enum err commit_one(struct request *rq, struct op *op, struct txn *t)
{
    *t = (struct txn){.ops = op, .count = 1};
    return commit(rq, t);
}

/* ---- KV.SET ---- */

ARGUMENTS(set_arguments, struct op, "key value [expiry] [NX | XX | IFVERSION version]",
          ARG_FIXED(struct op, kind, OP_SET), ARG_KEY(struct op, key, "key", KEY_RW | KEY_UPDATE),
          ARG_VALUE(struct op, value, "value"), ARG_ALSO("expiry", expiry_arguments),
          ARG_CHOICE(struct op, condition, {"NX", IF_ABSENT}, {"XX", IF_PRESENT},
                     {"IFVERSION", IF_VERSION}),
          ARG_STAMP(struct op, expected, "version"));

static enum err kv_set_run(struct request *rq)
{
    struct op *op = rq->bound;
    struct txn t;
    enum err r = commit_one(rq, op, &t);
    if (r != OK) return r;
    if (op->is_met) {
        reply_stamp(rq, t.version);
    } else {
        resp_nil(rq->w);
    }
    return OK;
}

const struct command kv_set = {
    .name = "kv.set",
    .flags = CMD_WRITE | CMD_FAST | CMD_IDEM | CMD_FORMAT,
    .group = "kv",
    .summary = "Sets a key to a value and returns the versionstamp, or nil if the condition is "
               "not met.",
    .arguments = &set_arguments,
    .reply = "The versionstamp, or nil if the condition is not met. Without an option for it, an "
             "existing expiry is removed.",
    .run = kv_set_run,
};

/* ---- KV.DEL ---- */

struct deletes {
    struct op *items;
    size_t count;
};
struct del {
    struct deletes ops;
};
ARGUMENTS(counted_del, struct op, "del", ARG_ALSO("del", op_del),
          ARG_FIXED(struct op, counts_live, true));
SHARED_ARGUMENTS(del_arguments, struct del, "del [del ...]",
                 ARG_LIST(struct del, ops, "del", counted_del, check_ops));

enum err kv_del_run(struct request *rq)
{
    const struct del *a = rq->bound;
    struct txn t = {.ops = a->ops.items, .count = a->ops.count};
    enum err r = commit(rq, &t);
    if (r != OK) return r;
    int64_t removed = 0;
    for (size_t i = 0; i < t.count; i++) removed += t.ops[i].is_met;
    resp_int(rq->w, removed);
    return OK;
}

const struct command kv_del = {
    .name = "kv.del",
    .flags = CMD_WRITE | CMD_KEYSPACE | CMD_FAST | CMD_IDEM | CMD_FORMAT,
    .group = "kv",
    .summary = "Deletes keys in one transaction and returns how many there were.",
    .arguments = &del_arguments,
    .reply = "The number of live keys removed.",
    .run = kv_del_run,
};

/* ---- KV.EXPIRE and relatives ---- */

struct expire {
    struct op op;
    struct slice time;
    struct slices conditions;
};

/* Words and errors are Redis's. */
static enum err expire_condition(struct request *rq, const struct slices *words, struct op *op)
{
    enum { NX = 1, XX = 2, GT = 4, LT = 8 };
    static const char *const names[] = {"NX", "XX", "GT", "LT"};
    unsigned seen = 0;
    for (size_t at = 0; at < words->count; at++) {
        struct slice word = words->items[at];
        unsigned i = 0;
        while (i < 4 && !slice_is_word(word, names[i])) i++;
        if (i == 4) {
            return error_set(&rq->error, ERR_SYNTAX, "Unsupported option %.*s",
                             (int)(word.len < 64 ? word.len : 64), (const char *)word.data);
        }
        seen |= 1u << i;
    }
    if ((seen & NX) != 0 && seen != NX) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "NX and XX, GT or LT options at the same time are not compatible");
    }
    if ((seen & GT) != 0 && (seen & LT) != 0) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "GT and LT options at the same time are not compatible");
    }
    if (seen == NX) op->condition = IF_NO_EXPIRY;
    if (seen == XX) op->condition = IF_EXPIRY;
    if ((seen & GT) != 0) op->condition = IF_LATER;
    if ((seen & LT) != 0) op->condition = (seen & XX) != 0 ? IF_EXPIRY_EARLIER : IF_EARLIER;
    return OK;
}

/* A time that has passed deletes the key: any integer is good. */
static enum err expire_run(struct request *rq, int64_t unit_ms)
{
    struct expire *a = rq->bound;
    struct op *op = &a->op;
    struct txn t;
    int64_t n = 0;
    enum err r = expire_condition(rq, &a->conditions, op);
    const char *what = arg_is_terse(rq) ? NULL : "expire time";
    if (r == OK) r = arg_integer(rq, a->time, what, INT64_MIN, INT64_MAX, &n);
    if (r == OK && !ttl_fits(rq, op->ttl, n, unit_ms, &op->ttl_ms)) {
        r = error_set(&rq->error, ERR_SYNTAX, "invalid expire time in '%s' command",
                      rq->command->name);
    }
    if (r != OK) return r;
    r = commit_one(rq, op, &t);
    if (r == OK) resp_int(rq->w, op->is_met);
    return r;
}

enum err kv_expire_run(struct request *rq)
{
    return expire_run(rq, 1000);
}

enum err kv_pexpire_run(struct request *rq)
{
    return expire_run(rq, 1);
}

/* NX with another is refused in words of its own, so the text of the conditions is for people. */
#define EXPIRE_ARGUMENTS(id, time_of, kind_of)                                                     \
    SHARED_ARGUMENTS_WITH(                                                                         \
        id##_arguments, struct expire, "key " time_of " [condition ...]",                          \
        WITH(.shown = "key " time_of " [NX | XX | GT | LT]"),                                      \
        ARG_FIXED(struct expire, op.kind, OP_EXPIRE), ARG_FIXED(struct expire, op.ttl, kind_of),   \
        ARG_KEY(struct expire, op.key, "key", KEY_RW | KEY_UPDATE),                                \
        ARG_WORD(struct expire, time, time_of), ARG_WORDS(struct expire, conditions, "condition"))
EXPIRE_ARGUMENTS(expire, "seconds", TTL_AFTER);
EXPIRE_ARGUMENTS(pexpire, "milliseconds", TTL_AFTER);
EXPIRE_ARGUMENTS(expireat, "unix-time-seconds", TTL_AT);
EXPIRE_ARGUMENTS(pexpireat, "unix-time-milliseconds", TTL_AT);

#define EXPIRE_COMMAND(word, full_name, text, function)                                            \
    const struct command kv_##word = {                                                             \
        .name = full_name,                                                                         \
        .flags = CMD_WRITE | CMD_KEYSPACE | CMD_FAST | CMD_IDEM | CMD_FORMAT,                      \
        .group = "kv",                                                                             \
        .summary = text,                                                                           \
        .arguments = &word##_arguments,                                                            \
        .reply = "1, or 0 if the key does not exist or the condition is not met.",                 \
        .run = function,                                                                           \
    }

EXPIRE_COMMAND(expire, "kv.expire", "Sets the expiry of a key in seconds from now.", kv_expire_run);
EXPIRE_COMMAND(pexpire, "kv.pexpire", "Sets the expiry of a key in milliseconds from now.",
               kv_pexpire_run);
EXPIRE_COMMAND(expireat, "kv.expireat", "Sets the expiry of a key to a Unix time in seconds.",
               kv_expire_run);
EXPIRE_COMMAND(pexpireat, "kv.pexpireat",
               "Sets the expiry of a key to a Unix time in milliseconds.", kv_pexpire_run);

SHARED_ARGUMENTS(persist_arguments, struct op, "key", ARG_FIXED(struct op, kind, OP_EXPIRE),
                 ARG_FIXED(struct op, ttl, TTL_NONE),
                 ARG_KEY(struct op, key, "key", KEY_RW | KEY_UPDATE));

enum err kv_persist_run(struct request *rq)
{
    struct op *op = rq->bound;
    struct txn t;
    enum err r = commit_one(rq, op, &t);
    if (r == OK) resp_int(rq->w, op->is_met);
    return r;
}

const struct command kv_persist = {
    .name = "kv.persist",
    .flags = CMD_WRITE | CMD_KEYSPACE | CMD_FAST | CMD_IDEM | CMD_FORMAT,
    .group = "kv",
    .summary = "Removes the expiry of a key.",
    .arguments = &persist_arguments,
    .reply = "1, or 0 if the key does not exist or has no expiry.",
    .run = kv_persist_run,
};

/* ---- KV.SUM, KV.MIN, KV.MAX ---- */

static enum err arith_run(struct request *rq)
{
    struct op *op = rq->bound;
    struct txn t;
    enum err r = commit_one(rq, op, &t);
    if (r != OK) return r;
    resp_array(rq->w, 2);
    reply_value(rq->w, rq->format, op->result);
    reply_stamp(rq, t.version);
    return OK;
}

#define COMPUTE_COMMAND(word, full_name, function, text, answer)                                   \
    const struct command kv_##word = {                                                             \
        .name = full_name,                                                                         \
        .flags = CMD_WRITE | CMD_FAST | CMD_IDEM | CMD_FORMAT,                                     \
        .group = "kv",                                                                             \
        .summary = text,                                                                           \
        .arguments = &op_##word,                                                                   \
        .reply = answer,                                                                           \
        .run = function,                                                                           \
    }

#define ARITH_REPLY                                                                                \
    "`[new value, versionstamp]`. The value is a string in the format, as with KV.GET (`\"5\"` "   \
    "in JSON), because it may exceed the integers of the protocol."
#define SUM_REPLY                                                                                  \
    ARITH_REPLY " `-OVERFLOW` if the type cannot represent the sum, `-RANGE` if it is outside "    \
                "RANGE."
COMPUTE_COMMAND(sum, "kv.sum", arith_run,
                "Adds to a number, bigint or u64 and returns the new value and versionstamp.",
                SUM_REPLY);
COMPUTE_COMMAND(min, "kv.min", arith_run, "Sets a number to the operand if the operand is less.",
                ARITH_REPLY);
COMPUTE_COMMAND(max, "kv.max", arith_run, "Sets a number to the operand if the operand is greater.",
                ARITH_REPLY);

/* ---- KV.APPEND, KV.PREPEND ---- */

static enum err join_run(struct request *rq)
{
    struct op *op = rq->bound;
    struct txn t;
    enum err r = commit_one(rq, op, &t);
    if (r != OK) return r;
    resp_array(rq->w, 2);
    resp_int(rq->w, (int64_t)op->count);
    reply_stamp(rq, t.version);
    return OK;
}

#define JOIN_REPLY "`[new length, versionstamp]`."
COMPUTE_COMMAND(append, "kv.append", join_run,
                "Appends elements to an array and returns its length and versionstamp.",
                JOIN_REPLY);
COMPUTE_COMMAND(prepend, "kv.prepend", join_run,
                "Prepends elements to an array and returns its length and versionstamp.",
                JOIN_REPLY);
