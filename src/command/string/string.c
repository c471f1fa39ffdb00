/* string: the string view's values. GET, SET and relatives on keys of one string part whose values
 * are bytes, so that tools and code written for plain keys work unchanged. They are
 * transactions like all others; a tuple command sees the same entries.
 *
 * A value that is no bytes is not converted: WRONGTYPE.
 */
#include "codec/pack.h"
#include "codec/value.h"
#include "request/args.h"
#include "request/command.h"
#include "request/keys.h"
#include "request/table.h"

#define STRING_BYTES_MAX (512u << 20)
#define VALUE_HEAD_BYTES 16 /* at least what pack_bin asks for beside the bytes */

static enum err wrong_type(struct error *e)
{
    return error_set(e, ERR_TYPE, "Operation against a key holding the wrong kind of value");
}

static enum err guard_string(const struct entry *old, struct error *e)
{
    struct slice bytes = {0};
    return !old->exists || value_bytes_of(old->value, &bytes) ? OK : wrong_type(e);
}

static enum err read_string(struct request *rq, struct slice arg, bool *exists, struct slice *bytes)
{
    struct slice key;
    struct entry entry;
    *exists = false;
    enum err r = arg_string_key(rq, arg, &key);
    if (r != OK) return r;
    r = request_get(rq, key, &entry);
    if (r != OK) return r;
    rq->env->stats.reads++;
    if (!entry.exists) {
        rq->env->stats.misses++;
        return OK;
    }
    rq->env->stats.hits++;
    *exists = true;
    return value_bytes_of(entry.value, bytes) ? OK : wrong_type(&rq->error);
}

/* The value as it is stored. */
static enum err value_of(struct request *rq, struct slice bytes, struct slice *value)
{
    struct buf out = {0};
    out.data = arena_alloc_try(rq->arena, bytes.len + VALUE_HEAD_BYTES);
    if (out.data == NULL) return error_set(&rq->error, ERR_NOMEM, "no memory for a value");
    out.cap = bytes.len + VALUE_HEAD_BYTES;
    pack_bin(&out, bytes);
    *value = buf_slice(&out);
    return OK;
}

static void reply_old(struct request *rq, const struct op *op)
{
    struct slice bytes = {0};
    if (op->old.exists && value_bytes_of(op->old.value, &bytes)) {
        resp_bulk(rq->w, bytes);
    } else {
        resp_nil(rq->w);
    }
}

#define STRING_COMMAND(id, word, words, more, uses, last, step, text, arguments)                   \
    const struct command cmd_##id = {                                                              \
        .name = word,                                                                              \
        .arity = words,                                                                            \
        .flags = CMD_STRING | (more),                                                              \
        .first_key = 1,                                                                            \
        .last_key = last,                                                                          \
        .key_step = step,                                                                          \
        .key_flags = uses,                                                                         \
        .group = "string",                                                                         \
        .since = "0.1.0",                                                                          \
        .summary = text,                                                                           \
        .syntax = arguments,                                                                       \
        .run = id##_run,                                                                           \
    }

/* ---- reading ---- */

static enum err get_run(struct request *rq)
{
    struct slice bytes = {0};
    bool exists = false;
    enum err r = read_string(rq, rq->argv[1], &exists, &bytes);
    if (r != OK) return r;
    if (exists) {
        resp_bulk(rq->w, bytes);
    } else {
        resp_nil(rq->w);
    }
    return OK;
}
STRING_COMMAND(get, "get", 2, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO | KEY_ACCESS, 1, 1,
               "The bytes of a plain key.", "key");

static enum err mget_run(struct request *rq)
{
    resp_array(rq->w, rq->argc - 1);
    for (size_t i = 1; i < rq->argc; i++) {
        struct slice bytes = {0};
        bool exists = false;
        enum err r = read_string(rq, rq->argv[i], &exists, &bytes);
        if (r == OK && exists) {
            resp_bulk(rq->w, bytes);
        } else if (r == OK || r == ERR_TYPE) { /* as Redis: no error among several */
            resp_nil(rq->w);
        } else {
            return r;
        }
    }
    return OK;
}
STRING_COMMAND(mget, "mget", -2, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO | KEY_ACCESS, -1, 1,
               "The bytes of several plain keys.", "key [key ...]");

static enum err strlen_run(struct request *rq)
{
    struct slice bytes = {0};
    bool exists = false;
    enum err r = read_string(rq, rq->argv[1], &exists, &bytes);
    if (r == OK) resp_int(rq->w, (int64_t)bytes.len);
    return r;
}
STRING_COMMAND(strlen, "strlen", 2, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO, 1, 1,
               "The number of bytes of a value.", "key");

/* ---- SET ---- */

static enum err parse_set(struct request *rq, struct op *op, bool *wants_old)
{
    struct options o = {.rq = rq, .at = 3};
    while (o.at < rq->argc) {
        bool is_taken = false;
        enum err r = options_ttl(&o, op, &is_taken);
        if (r != OK) return r;
        if (is_taken) continue;
        if (op->condition == IF_ANY && options_take(&o, "NX", 0)) {
            op->condition = IF_ABSENT;
        } else if (op->condition == IF_ANY && options_take(&o, "XX", 1)) {
            op->condition = IF_PRESENT;
        } else if (options_take(&o, "GET", 2)) {
            *wants_old = true;
            op->guard = guard_string;
        } else {
            return options_unknown(&o);
        }
    }
    return OK;
}

static enum err set_run(struct request *rq)
{
    struct op op = {.kind = OP_SET};
    bool wants_old = false;
    enum err r = arg_string_key(rq, rq->argv[1], &op.key);
    if (r == OK) r = value_of(rq, rq->argv[2], &op.value);
    if (r == OK && rq->argc > 3) r = parse_set(rq, &op, &wants_old);
    if (r == OK) r = request_commit(rq, &op, 1);
    if (r != OK) return r;
    if (wants_old) {
        reply_old(rq, &op);
    } else if (op.is_met) {
        resp_simple(rq->w, "OK");
    } else {
        resp_nil(rq->w);
    }
    return OK;
}

/* What was there is answered with GET only. */
static unsigned set_key_flags(const struct slice *argv, size_t argc)
{
    for (size_t i = 3; i < argc; i++) {
        if (slice_is_word(argv[i], "GET")) return KEY_RW | KEY_ACCESS | KEY_UPDATE;
    }
    return KEY_OW | KEY_UPDATE;
}

const struct command cmd_set = {
    .name = "set",
    .arity = -3,
    .flags = CMD_STRING | CMD_WRITE,
    .first_key = 1,
    .last_key = 1,
    .key_step = 1,
    .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE | KEY_VARIABLE,
    .key_flags_of = set_key_flags,
    .group = "string",
    .since = "0.1.0",
    .summary = "Sets a plain key to bytes.",
    .syntax = "key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | "
              "PXAT unix-time-milliseconds | KEEPTTL]",
    .run = set_run,
};

static enum err setnx_run(struct request *rq)
{
    struct op op = {.kind = OP_SET, .condition = IF_ABSENT};
    enum err r = arg_string_key(rq, rq->argv[1], &op.key);
    if (r == OK) r = value_of(rq, rq->argv[2], &op.value);
    if (r == OK) r = request_commit(rq, &op, 1);
    if (r == OK) resp_int(rq->w, op.is_met);
    return r;
}
STRING_COMMAND(setnx, "setnx", 3, CMD_WRITE | CMD_FAST, KEY_OW | KEY_INSERT, 1, 1,
               "Sets a plain key if it is absent; 1 or 0.", "key value");

static enum err set_with_ttl(struct request *rq, int64_t unit_ms)
{
    struct op op = {.kind = OP_SET, .ttl = TTL_AFTER};
    int64_t n = 0;
    enum err r = arg_string_key(rq, rq->argv[1], &op.key);
    if (r == OK && !slice_to_i64(rq->argv[2], &n)) {
        r = error_set(&rq->error, ERR_SYNTAX, "value is not an integer or out of range");
    }
    if (r == OK && (n <= 0 || !ttl_fits(rq, TTL_AFTER, n, unit_ms, &op.ttl_ms))) {
        r = error_set(&rq->error, ERR_SYNTAX, "invalid expire time in '%s' command",
                      rq->command->name);
    }
    if (r == OK) r = value_of(rq, rq->argv[3], &op.value);
    if (r != OK) return r;
    r = request_commit(rq, &op, 1);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

static enum err setex_run(struct request *rq)
{
    return set_with_ttl(rq, 1000);
}
STRING_COMMAND(setex, "setex", 4, CMD_WRITE, KEY_OW | KEY_UPDATE, 1, 1,
               "Sets a plain key that expires.", "key seconds value");

static enum err psetex_run(struct request *rq)
{
    return set_with_ttl(rq, 1);
}
STRING_COMMAND(psetex, "psetex", 4, CMD_WRITE, KEY_OW | KEY_UPDATE, 1, 1,
               "Sets a plain key that expires.", "key milliseconds value");

static enum err getset_run(struct request *rq)
{
    struct op op = {.kind = OP_SET, .guard = guard_string};
    enum err r = arg_string_key(rq, rq->argv[1], &op.key);
    if (r == OK) r = value_of(rq, rq->argv[2], &op.value);
    if (r == OK) r = request_commit(rq, &op, 1);
    if (r == OK) reply_old(rq, &op);
    return r;
}
STRING_COMMAND(getset, "getset", 3, CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_UPDATE, 1, 1,
               "Sets a plain key; the reply is what it was.", "key value");

static enum err getdel_run(struct request *rq)
{
    struct op op = {.kind = OP_DELETE, .counts_live = true, .guard = guard_string};
    enum err r = arg_string_key(rq, rq->argv[1], &op.key);
    if (r == OK) r = request_commit(rq, &op, 1);
    if (r == OK) reply_old(rq, &op);
    return r;
}
STRING_COMMAND(getdel, "getdel", 2, CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_DELETE, 1, 1,
               "Deletes a plain key; the reply is what it was.", "key");

static enum err mset_run(struct request *rq)
{
    size_t count = rq->argc / 2;
    if (rq->argc % 2 == 0) {
        return error_set(&rq->error, ERR_SYNTAX, "wrong number of arguments for 'mset' command");
    }
    enum err r = check_ops(rq, count);
    if (r != OK) return r;
    struct op *ops = arena_alloc(rq->arena, count * sizeof *ops);
    for (size_t i = 0; i < count; i++) {
        ops[i] = (struct op){.kind = OP_SET};
        r = arg_string_key(rq, rq->argv[1 + 2 * i], &ops[i].key);
        if (r == OK) r = value_of(rq, rq->argv[2 + 2 * i], &ops[i].value);
        if (r != OK) return r;
    }
    r = request_commit(rq, ops, count);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}
STRING_COMMAND(mset, "mset", -3, CMD_WRITE, KEY_OW | KEY_UPDATE, -1, 2,
               "Sets several plain keys in one transaction.", "key value [key value ...]");

/* ---- INCR and relatives, APPEND ---- */

static enum err edit_add(const struct op *op, const struct slice *stored, struct buf *out,
                         struct error *e)
{
    struct slice bytes = {0};
    int64_t old = 0;
    int64_t sum = 0;
    if (stored != NULL && !value_bytes_of(*stored, &bytes)) return wrong_type(e);
    if (stored != NULL && !slice_to_i64(bytes, &old)) {
        return error_set(e, ERR_SYNTAX, "value is not an integer or out of range");
    }
    if (__builtin_add_overflow(old, op->delta, &sum)) {
        return error_set(e, ERR_SYNTAX, "increment or decrement would overflow");
    }
    uint8_t room[32];
    struct buf digits = {.data = room, .cap = sizeof room};
    buf_append_i64(&digits, sum);
    pack_bin(out, buf_slice(&digits));
    return OK;
}

static enum err add_run(struct request *rq, int64_t delta)
{
    struct op op = {.kind = OP_EDIT, .edit = edit_add, .delta = delta};
    struct slice bytes = {0};
    enum err r = arg_string_key(rq, rq->argv[1], &op.key);
    if (r == OK) r = request_commit(rq, &op, 1);
    if (r != OK) return r;
    int64_t sum = 0;
    INVARIANT(value_bytes_of(op.result, &bytes) && slice_to_i64(bytes, &sum));
    resp_int(rq->w, sum);
    return OK;
}

static enum err incr_run(struct request *rq)
{
    return add_run(rq, 1);
}
STRING_COMMAND(incr, "incr", 2, CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_UPDATE, 1, 1,
               "Adds 1 to the decimal number of a plain key.", "key");

static enum err decr_run(struct request *rq)
{
    return add_run(rq, -1);
}
STRING_COMMAND(decr, "decr", 2, CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_UPDATE, 1, 1,
               "Takes 1 off the decimal number of a plain key.", "key");

static enum err add_argument(struct request *rq, bool is_negative)
{
    int64_t delta = 0;
    if (!slice_to_i64(rq->argv[2], &delta)) {
        return error_set(&rq->error, ERR_SYNTAX, "value is not an integer or out of range");
    }
    if (is_negative && delta == INT64_MIN) {
        return error_set(&rq->error, ERR_SYNTAX, "decrement would overflow");
    }
    return add_run(rq, is_negative ? -delta : delta);
}

static enum err incrby_run(struct request *rq)
{
    return add_argument(rq, false);
}
STRING_COMMAND(incrby, "incrby", 3, CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_UPDATE, 1, 1,
               "Adds to the decimal number of a plain key.", "key increment");

static enum err decrby_run(struct request *rq)
{
    return add_argument(rq, true);
}
STRING_COMMAND(decrby, "decrby", 3, CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_UPDATE, 1, 1,
               "Subtracts from the decimal number of a plain key.", "key decrement");

static enum err edit_append(const struct op *op, const struct slice *stored, struct buf *out,
                            struct error *e)
{
    struct slice bytes = {0};
    if (stored != NULL && !value_bytes_of(*stored, &bytes)) return wrong_type(e);
    if (bytes.len + op->value.len > STRING_BYTES_MAX) {
        return error_set(e, ERR_SYNTAX, "string exceeds maximum allowed size (%u bytes)",
                         STRING_BYTES_MAX);
    }
    struct buf joined;
    buf_init(&joined);
    buf_append(&joined, bytes.data, bytes.len);
    buf_append(&joined, op->value.data, op->value.len);
    if (!joined.is_failed) pack_bin(out, buf_slice(&joined));
    out->is_failed = out->is_failed || joined.is_failed;
    buf_fini(&joined);
    return OK;
}

static enum err append_run(struct request *rq)
{
    struct op op = {.kind = OP_EDIT, .edit = edit_append, .value = rq->argv[2]};
    struct slice bytes = {0};
    enum err r = arg_string_key(rq, rq->argv[1], &op.key);
    if (r == OK) r = request_commit(rq, &op, 1);
    if (r != OK) return r;
    INVARIANT(value_bytes_of(op.result, &bytes));
    resp_int(rq->w, (int64_t)bytes.len);
    return OK;
}
STRING_COMMAND(append, "append", 3, CMD_WRITE | CMD_FAST, KEY_RW | KEY_INSERT, 1, 1,
               "Adds bytes at the end of a plain key's value; the reply is its length.",
               "key value");
