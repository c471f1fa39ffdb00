/* string: the string view's values. GET, SET and relatives on keys of one string part whose values
 * are bytes, so that tools and code written for plain keys work unchanged. They are
 * transactions like all others; a tuple command sees the same entries.
 *
 * A value that is no bytes is not converted: WRONGTYPE.
 */
#include "codec/pack.h"
#include "codec/value.h"
#include "command/string/string_int.h"
#include "request/keys.h"
#include "request/many_keys.h"
#include "request/table.h"

#define VALUE_HEAD_BYTES 16 /* at least what pack_bin asks for beside the bytes */

static enum err guard_string(const struct entry *old, struct error *e)
{
    struct slice bytes = {0};
    return !old->exists || value_bytes_of(old->value, &bytes) ? OK : string_wrong_type(e);
}

enum err string_integer(struct request *rq, struct slice arg, int64_t *out)
{
    if (slice_to_i64(arg, out)) return OK;
    return error_set(&rq->error, ERR_SYNTAX, STRING_NO_INTEGER);
}

enum err string_syntax(struct request *rq)
{
    return error_set(&rq->error, ERR_SYNTAX, "syntax error");
}

enum err string_read(struct request *rq, struct slice arg, bool *exists, struct slice *bytes)
{
    struct slice key;
    struct entry entry;
    *exists = false;
    *bytes = slice_of(NULL, 0);
    enum err r = arg_string_entry(rq, arg, &key, &entry);
    if (r != OK || !entry.exists) return r;
    *exists = true;
    return value_bytes_of(entry.value, bytes) ? OK : string_wrong_type(&rq->error);
}

enum err string_value(struct request *rq, struct slice bytes, struct slice *value)
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

/* ---- reading ---- */

static enum err get_run(struct request *rq)
{
    struct slice bytes = {0};
    bool exists = false;
    enum err r = string_read(rq, rq->argv[1], &exists, &bytes);
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

/* One of another type is as one that is not there: no error among several, as in Redis. */
static void reply_bytes(struct request *rq, const struct entry *entry)
{
    struct slice bytes = {0};
    if (entry->exists && value_bytes_of(entry->value, &bytes)) {
        resp_bulk(rq->w, bytes);
    } else {
        resp_nil(rq->w);
    }
}

static enum err mget_run(struct request *rq)
{
    struct many_keys keys = {.first = 1, .end = rq->argc, .counts_hits = true, .tell = reply_bytes};
    uint64_t found = 0;
    resp_array(rq->w, rq->argc - 1);
    return many_keys_read(rq, &keys, &found);
}
STRING_COMMAND(mget, "mget", -2, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO | KEY_ACCESS, -1, 1,
               "The bytes of several plain keys.", "key [key ...]");

static enum err strlen_run(struct request *rq)
{
    struct slice bytes = {0};
    bool exists = false;
    enum err r = string_read(rq, rq->argv[1], &exists, &bytes);
    if (r == OK) resp_int(rq->w, (int64_t)bytes.len);
    return r;
}
STRING_COMMAND(strlen, "strlen", 2, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO, 1, 1,
               "The number of bytes of a value.", "key");

/* ---- SET ---- */

struct set_options {
    bool wants_old;   /* GET */
    bool is_compared; /* IFEQ ... */
    struct slice compared;
};

static enum err parse_set(struct request *rq, struct op *op, struct set_options *s)
{
    struct options o = {.rq = rq, .at = 3, .is_terse = true};
    while (o.at < rq->argc) {
        bool is_taken = false;
        enum err r = options_ttl(&o, op, &is_taken);
        if (r != OK) return r;
        if (is_taken) continue;
        bool is_free = op->condition == IF_ANY && !s->is_compared;
        if (is_free && options_take(&o, "NX", 0)) {
            op->condition = IF_ABSENT;
        } else if (is_free && options_take(&o, "XX", 1)) {
            op->condition = IF_PRESENT;
        } else if (is_free && options_take(&o, "IFEQ", 3)) {
            s->is_compared = true;
            r = options_argument(&o, "IFEQ", &s->compared);
            if (r != OK) return r;
        } else if (options_take(&o, "GET", 2)) {
            s->wants_old = true;
            op->guard = guard_string;
        } else {
            return options_unknown(&o);
        }
    }
    return OK;
}

/* IFEQ: is the value equal? What is there is in op->old, as after a commit with a guard. */
static enum err set_compare(struct request *rq, struct op *op, struct slice with, bool *is_equal)
{
    struct slice bytes = {0};
    enum err r = request_get(rq, op->key, &op->old);
    if (r != OK || !op->old.exists) return r;
    if (!value_bytes_of(op->old.value, &bytes)) return string_wrong_type(&rq->error);
    *is_equal = slice_eq(bytes, with);
    return OK;
}

static enum err set_run(struct request *rq)
{
    struct op op = {.kind = OP_SET};
    struct set_options s = {0};
    bool is_equal = false;
    enum err r = arg_string_key(rq, rq->argv[1], &op.key);
    if (r == OK) r = string_value(rq, rq->argv[2], &op.value);
    if (r == OK && rq->argc > 3) r = parse_set(rq, &op, &s);
    if (r == OK && s.is_compared) r = set_compare(rq, &op, s.compared, &is_equal);
    if (r == OK && (is_equal || !s.is_compared)) r = request_commit(rq, &op, 1);
    if (r != OK) return r;
    if (s.wants_old) {
        reply_old(rq, &op);
    } else if (op.is_met) {
        resp_simple(rq->w, "OK");
    } else {
        resp_nil(rq->w);
    }
    return OK;
}

/* What was there is answered with GET, and with IFEQ whether it was the word. */
static unsigned set_key_flags(const struct slice *argv, size_t argc)
{
    for (size_t i = 3; i < argc; i++) {
        if (slice_is_word(argv[i], "GET") || slice_is_word(argv[i], "IFEQ")) {
            return KEY_RW | KEY_ACCESS | KEY_UPDATE;
        }
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
    .syntax = "key value [NX | XX | IFEQ comparison-value] [GET] [EX seconds | PX milliseconds | "
              "EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
    .reply =
        "OK, or nil when the condition does not hold; with `GET` what was there, or nil. `IFEQ` "
        "holds when the key has this value.",
    .run = set_run,
};

static enum err setnx_run(struct request *rq)
{
    struct op op = {.kind = OP_SET, .condition = IF_ABSENT};
    enum err r = arg_string_key(rq, rq->argv[1], &op.key);
    if (r == OK) r = string_value(rq, rq->argv[2], &op.value);
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
        r = error_set(&rq->error, ERR_SYNTAX, STRING_NO_INTEGER);
    }
    if (r == OK && (n <= 0 || !ttl_fits(rq, TTL_AFTER, n, unit_ms, &op.ttl_ms))) {
        r = error_set(&rq->error, ERR_SYNTAX, "invalid expire time in '%s' command",
                      rq->command->name);
    }
    if (r == OK) r = string_value(rq, rq->argv[3], &op.value);
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
    if (r == OK) r = string_value(rq, rq->argv[2], &op.value);
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

/* An operation for each pair of words. */
static enum err parse_pairs(struct request *rq, struct op **ops, size_t *count)
{
    *count = rq->argc / 2;
    if (rq->argc % 2 == 0) {
        return error_set(&rq->error, ERR_SYNTAX, "wrong number of arguments for '%s' command",
                         rq->command->name);
    }
    enum err r = check_ops(rq, *count);
    if (r != OK) return r;
    *ops = arena_alloc(rq->arena, *count * sizeof **ops);
    for (size_t i = 0; i < *count; i++) {
        struct op *op = &(*ops)[i];
        *op = (struct op){.kind = OP_SET};
        r = arg_string_key(rq, rq->argv[1 + 2 * i], &op->key);
        if (r == OK) r = string_value(rq, rq->argv[2 + 2 * i], &op->value);
        if (r != OK) return r;
    }
    return OK;
}

static enum err mset_run(struct request *rq)
{
    struct op *ops = NULL;
    size_t count = 0;
    enum err r = parse_pairs(rq, &ops, &count);
    if (r == OK) r = request_commit(rq, ops, count);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}
STRING_COMMAND(mset, "mset", -3, CMD_WRITE, KEY_OW | KEY_UPDATE, -1, 2,
               "Sets several plain keys in one transaction.", "key value [key value ...]");

static enum err msetnx_run(struct request *rq)
{
    struct op *ops = NULL;
    size_t count = 0;
    enum err r = parse_pairs(rq, &ops, &count);
    for (size_t i = 0; i < count && r == OK; i++) {
        struct entry entry;
        INVARIANT(ops != NULL);
        r = request_get(rq, ops[i].key, &entry);
        if (r != OK || !entry.exists) continue;
        resp_int(rq->w, 0);
        return OK;
    }
    if (r == OK) r = request_commit(rq, ops, count);
    if (r == OK) resp_int(rq->w, 1);
    return r;
}
STRING_COMMAND(msetnx, "msetnx", -3, CMD_WRITE, KEY_OW | KEY_INSERT, -1, 2,
               "Sets several plain keys if all of them are absent; 1 or 0.",
               "key value [key value ...]");

/* ---- INCR and relatives, APPEND ---- */

static enum err edit_add(const struct op *op, const struct slice *stored, struct buf *out,
                         struct error *e)
{
    struct slice bytes = {0};
    int64_t old = 0;
    int64_t sum = 0;
    if (stored != NULL && !value_bytes_of(*stored, &bytes)) return string_wrong_type(e);
    if (stored != NULL && !slice_to_i64(bytes, &old)) {
        return error_set(e, ERR_SYNTAX, STRING_NO_INTEGER);
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
        return error_set(&rq->error, ERR_SYNTAX, STRING_NO_INTEGER);
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
    if (stored != NULL && !value_bytes_of(*stored, &bytes)) return string_wrong_type(e);
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
