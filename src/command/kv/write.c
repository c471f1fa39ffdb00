/* kv_write: single commands that write. Each is a transaction of one operation (KV.DEL: of one per
 * key) through the same evaluator as KV.ATOMIC.
 */
#include "command/kv/kv_int.h"
#include "request/args.h"
#include "request/command.h"
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

static enum err parse_condition(struct options *o, struct op *op, bool *is_taken)
{
    struct request *rq = o->rq;
    enum op_condition condition = IF_ANY;
    *is_taken = true;
    if (options_take(o, "NX", 0)) {
        condition = IF_ABSENT;
    } else if (options_take(o, "XX", 1)) {
        condition = IF_PRESENT;
    } else if (options_take(o, "IFVERSION", 2)) {
        struct slice arg;
        condition = IF_VERSION;
        enum err r = options_argument(o, "IFVERSION", &arg);
        if (r == OK) r = arg_stamp(rq, arg, &op->expected);
        if (r != OK) return r;
    } else {
        *is_taken = false;
        return OK;
    }
    if (op->condition != IF_ANY) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "syntax error: only one of NX, XX and IFVERSION may be given");
    }
    op->condition = condition;
    return OK;
}

static enum err parse_set_options(struct request *rq, struct op *op)
{
    struct options o = {.rq = rq, .at = 3};
    while (o.at < rq->argc) {
        bool is_taken = false;
        enum err r = options_ttl(&o, op, &is_taken);
        if (r == OK && !is_taken) r = parse_condition(&o, op, &is_taken);
        if (r == OK && !is_taken) r = options_unknown(&o);
        if (r != OK) return r;
    }
    return OK;
}

static enum err kv_set_run(struct request *rq)
{
    struct op op = {.kind = OP_SET};
    struct txn t;
    enum err r = arg_key(rq, rq->argv[1], &op.key);
    if (r == OK) r = arg_value(rq, rq->argv[2], &op.value);
    if (r == OK && rq->argc > 3) r = parse_set_options(rq, &op);
    if (r == OK) r = commit_one(rq, &op, &t);
    if (r != OK) return r;
    if (op.is_met) {
        reply_stamp(rq, t.version);
    } else {
        resp_nil(rq->w);
    }
    return OK;
}

const struct command kv_set = {
    .name = "kv.set",
    .arity = -3,
    .flags = CMD_WRITE | CMD_FAST | CMD_IDEM | CMD_FORMAT,
    .first_key = 1,
    .last_key = 1,
    .key_step = 1,
    .key_flags = KEY_RW | KEY_UPDATE | KEY_HAS_VALUE,
    .group = "kv",
    .since = "0.1.0",
    .summary = "Sets a key; the reply is the versionstamp, nil when the condition does not hold.",
    .syntax = "key value [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT "
              "unix-time-milliseconds | KEEPTTL] [NX | XX | IFVERSION <versionstamp | NONE>]",
    .reply = "The versionstamp; nil when the condition does not hold. Without an expiry option the "
             "key no longer expires.",
    .run = kv_set_run,
};

/* ---- KV.DEL ---- */

enum err kv_del_run(struct request *rq)
{
    size_t count = rq->argc - 1;
    enum err fits = check_ops(rq, count);
    if (fits != OK) return fits;
    struct op *ops = arena_alloc(rq->arena, count * sizeof *ops);
    for (size_t i = 0; i < count; i++) {
        ops[i] = (struct op){.kind = OP_DELETE, .counts_live = true};
        enum err r = arg_key(rq, rq->argv[i + 1], &ops[i].key);
        if (r != OK) return r;
    }
    struct txn t = {.ops = ops, .count = count};
    enum err r = commit(rq, &t);
    if (r != OK) return r;
    int64_t removed = 0;
    for (size_t i = 0; i < count; i++) removed += ops[i].is_met;
    resp_int(rq->w, removed);
    return OK;
}

const struct command kv_del = {
    .name = "kv.del",
    .arity = -2,
    .flags = CMD_WRITE | CMD_KEYSPACE | CMD_FAST | CMD_IDEM | CMD_FORMAT,
    .first_key = 1,
    .last_key = -1,
    .key_step = 1,
    .key_flags = KEY_RM | KEY_DELETE,
    .group = "kv",
    .since = "0.1.0",
    .summary = "Deletes keys in one transaction; the reply is how many were there.",
    .syntax = "key [key ...]",
    .reply = "The number of live keys removed.",
    .run = kv_del_run,
};

/* ---- KV.EXPIRE and relatives ---- */

/* Words and errors are Redis's. */
static enum err parse_expire_condition(struct request *rq, size_t at, struct op *op)
{
    enum { NX = 1, XX = 2, GT = 4, LT = 8 };
    static const char *const words[] = {"NX", "XX", "GT", "LT"};
    unsigned seen = 0;
    for (; at < rq->argc; at++) {
        struct slice word = rq->argv[at];
        unsigned i = 0;
        while (i < 4 && !slice_is_word(word, words[i])) i++;
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

static enum err expire_run(struct request *rq, enum op_ttl ttl, int64_t unit_ms)
{
    struct op op = {.kind = OP_EXPIRE, .ttl = ttl};
    struct txn t;
    int64_t n = 0;
    enum err r = arg_key(rq, rq->argv[1], &op.key);
    if (r == OK) r = parse_expire_condition(rq, 3, &op);
    const char *what = strncmp(rq->command->name, "kv.", 3) == 0 ? "expire time" : NULL;
    if (r == OK) r = arg_integer(rq, rq->argv[2], what, INT64_MIN, INT64_MAX, &n);
    if (r == OK && !ttl_fits(rq, ttl, n, unit_ms, &op.ttl_ms)) {
        r = error_set(&rq->error, ERR_SYNTAX, "invalid expire time in '%s' command",
                      rq->command->name);
    }
    if (r != OK) return r;
    r = commit_one(rq, &op, &t);
    if (r == OK) resp_int(rq->w, op.is_met);
    return r;
}

enum err kv_expire_run(struct request *rq)
{
    return expire_run(rq, TTL_AFTER, 1000);
}

enum err kv_pexpire_run(struct request *rq)
{
    return expire_run(rq, TTL_AFTER, 1);
}

enum err kv_expireat_run(struct request *rq)
{
    return expire_run(rq, TTL_AT, 1000);
}

enum err kv_pexpireat_run(struct request *rq)
{
    return expire_run(rq, TTL_AT, 1);
}

#define EXPIRE_COMMAND(word, full_name, text, argument)                                            \
    const struct command kv_##word = {                                                             \
        .name = full_name,                                                                         \
        .arity = -3,                                                                               \
        .flags = CMD_WRITE | CMD_KEYSPACE | CMD_FAST | CMD_IDEM | CMD_FORMAT,                      \
        .first_key = 1,                                                                            \
        .last_key = 1,                                                                             \
        .key_step = 1,                                                                             \
        .key_flags = KEY_RW | KEY_UPDATE,                                                          \
        .group = "kv",                                                                             \
        .since = "0.1.0",                                                                          \
        .summary = text,                                                                           \
        .syntax = "key " argument " [NX | XX | GT | LT]",                                          \
        .reply = "1, or 0 when the key is absent or the condition does not hold.",                 \
        .run = kv_##word##_run,                                                                    \
    }

EXPIRE_COMMAND(expire, "kv.expire", "Lets a key expire in so many seconds; 1 or 0.", "seconds");
EXPIRE_COMMAND(pexpire, "kv.pexpire", "Lets a key expire in so many milliseconds; 1 or 0.",
               "milliseconds");
EXPIRE_COMMAND(expireat, "kv.expireat", "Lets a key expire at a Unix time; 1 or 0.",
               "unix-time-seconds");
EXPIRE_COMMAND(pexpireat, "kv.pexpireat",
               "Lets a key expire at a Unix time in milliseconds; 1 or 0.",
               "unix-time-milliseconds");

enum err kv_persist_run(struct request *rq)
{
    struct op op = {.kind = OP_EXPIRE, .ttl = TTL_NONE};
    struct txn t;
    enum err r = arg_key(rq, rq->argv[1], &op.key);
    if (r == OK) r = commit_one(rq, &op, &t);
    if (r == OK) resp_int(rq->w, op.is_met);
    return r;
}

const struct command kv_persist = {
    .name = "kv.persist",
    .arity = 2,
    .flags = CMD_WRITE | CMD_KEYSPACE | CMD_FAST | CMD_IDEM | CMD_FORMAT,
    .first_key = 1,
    .last_key = 1,
    .key_step = 1,
    .key_flags = KEY_RW | KEY_UPDATE,
    .group = "kv",
    .since = "0.1.0",
    .summary = "Takes the expiry off a key; 1 when it had one, else 0.",
    .syntax = "key",
    .reply = "1, or 0 when the key is absent or has no expiry.",
    .run = kv_persist_run,
};

/* ---- KV.SUM, KV.MIN, KV.MAX ---- */

enum err parse_arith_bounds(struct options *o, struct arith *a)
{
    bool is_clamp = options_take(o, "CLAMP", 0);
    bool is_range = !is_clamp && options_take(o, "RANGE", 1);
    if (!is_clamp && !is_range) return OK;
    const char *word = is_clamp ? "CLAMP" : "RANGE";
    struct slice lo;
    struct slice hi = {0};
    a->bound = is_clamp ? ARITH_CLAMP : ARITH_RANGE;
    enum err r = options_argument(o, word, &lo);
    if (r == OK) r = arg_value(o->rq, lo, &a->lo);
    if (r == OK) r = options_argument(o, word, &hi);
    if (r == OK) r = arg_value(o->rq, hi, &a->hi);
    return r;
}

static enum err arith_run(struct request *rq, enum arith_op kind)
{
    struct op op = {.kind = OP_ARITH, .arith = {.op = kind}};
    struct txn t;
    struct options o = {.rq = rq, .at = 3};
    enum err r = arg_key(rq, rq->argv[1], &op.key);
    if (r == OK) r = arg_value(rq, rq->argv[2], &op.arith.operand);
    if (r == OK && kind == ARITH_SUM) r = parse_arith_bounds(&o, &op.arith);
    if (r == OK && o.at < rq->argc) r = options_unknown(&o);
    if (r == OK) r = arith_check(&op.arith, &rq->error);
    if (r == OK) r = commit_one(rq, &op, &t);
    if (r != OK) return r;
    resp_array(rq->w, 2);
    reply_value(rq->w, rq->format, op.result);
    reply_stamp(rq, t.version);
    return OK;
}

static enum err kv_sum_run(struct request *rq)
{
    return arith_run(rq, ARITH_SUM);
}

static enum err kv_min_run(struct request *rq)
{
    return arith_run(rq, ARITH_MIN);
}

static enum err kv_max_run(struct request *rq)
{
    return arith_run(rq, ARITH_MAX);
}

#define COMPUTE_COMMAND(word, full_name, words, uses, text, arguments, answer)                     \
    const struct command kv_##word = {                                                             \
        .name = full_name,                                                                         \
        .arity = words,                                                                            \
        .flags = CMD_WRITE | CMD_FAST | CMD_IDEM | CMD_FORMAT,                                     \
        .first_key = 1,                                                                            \
        .last_key = 1,                                                                             \
        .key_step = 1,                                                                             \
        .key_flags = (uses) | KEY_HAS_VALUE,                                                       \
        .group = "kv",                                                                             \
        .since = "0.1.0",                                                                          \
        .summary = text,                                                                           \
        .syntax = arguments,                                                                       \
        .reply = answer,                                                                           \
        .run = kv_##word##_run,                                                                    \
    }

#define ARITH_REPLY                                                                                \
    "`[new value, versionstamp]`. The value is a string in the format, as of KV.GET (`\"5\"` in "  \
    "JSON), no integer of the protocol: it may be larger than clients can hold."
#define SUM_REPLY                                                                                  \
    ARITH_REPLY " `-OVERFLOW` when the type has no such number, `-RANGE` when it would leave RANGE."
COMPUTE_COMMAND(sum, "kv.sum", -3, KEY_RW | KEY_ACCESS | KEY_UPDATE,
                "Adds to a number, bigint or u64; the reply is the new value and versionstamp.",
                "key value [CLAMP lo hi | RANGE lo hi]", SUM_REPLY);
COMPUTE_COMMAND(min, "kv.min", 3, KEY_RW | KEY_ACCESS | KEY_UPDATE,
                "Lowers a number to the operand if that is less.", "key value", ARITH_REPLY);
COMPUTE_COMMAND(max, "kv.max", 3, KEY_RW | KEY_ACCESS | KEY_UPDATE,
                "Raises a number to the operand if that is greater.", "key value", ARITH_REPLY);

/* ---- KV.APPEND, KV.PREPEND ---- */

static enum err join_run(struct request *rq, bool is_prepend)
{
    struct op op = {.kind = OP_JOIN, .is_prepend = is_prepend};
    struct txn t;
    enum err r = arg_key(rq, rq->argv[1], &op.key);
    if (r == OK) r = arg_value(rq, rq->argv[2], &op.value);
    if (r == OK) r = commit_one(rq, &op, &t);
    if (r != OK) return r;
    resp_array(rq->w, 2);
    resp_int(rq->w, (int64_t)op.count);
    reply_stamp(rq, t.version);
    return OK;
}

static enum err kv_append_run(struct request *rq)
{
    return join_run(rq, false);
}

static enum err kv_prepend_run(struct request *rq)
{
    return join_run(rq, true);
}

#define JOIN_REPLY "`[new length, versionstamp]`."
COMPUTE_COMMAND(append, "kv.append", 3, KEY_RW | KEY_INSERT,
                "Adds elements at the end of an array; the reply is its length and versionstamp.",
                "key array", JOIN_REPLY);
COMPUTE_COMMAND(prepend, "kv.prepend", 3, KEY_RW | KEY_INSERT,
                "Adds elements at the start of an array.", "key array", JOIN_REPLY);
