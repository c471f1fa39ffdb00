/* string: the string view's values. GET, SET and relatives on keys of one string part whose values
 * are bytes, so that tools and code written for plain keys work unchanged. They are
 * transactions like all others; a tuple command sees the same entries.
 *
 * A value that is no bytes is not converted: WRONGTYPE.
 */
#include "codec/pack.h"
#include "codec/value.h"
#include "command/string/string_int.h"
#include "request/expiry.h"
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
    return error_set(&rq->error, ERR_SYNTAX, ARG_NOT_INTEGER);
}

enum err string_syntax(struct request *rq)
{
    return error_set(&rq->error, ERR_SYNTAX, "syntax error");
}

enum err string_read(struct request *rq, struct slice key, bool *exists, struct slice *bytes)
{
    struct entry entry;
    *exists = false;
    *bytes = slice_of(NULL, 0);
    enum err r = request_read(rq, key, &entry);
    if (r != OK || !entry.exists) return r;
    *exists = true;
    return value_bytes_of(entry.value, bytes) ? OK : string_wrong_type(&rq->error);
}

enum err string_value(struct request *rq, struct slice bytes, struct slice *value)
{
    struct buf out = {0};
    out.data = arena_alloc_try(rq->arena, bytes.len + VALUE_HEAD_BYTES);
    if (out.data == NULL) return error_set(&rq->error, ERR_NOMEM, "out of memory for a value");
    out.cap = bytes.len + VALUE_HEAD_BYTES;
    pack_bin(&out, bytes);
    *value = buf_slice(&out);
    return OK;
}

static enum err read_bytes(struct request *rq, const struct argument *a, struct slice word,
                           void *to)
{
    (void)a;
    return string_value(rq, word, to);
}
const struct argument_kind arg_kind_bytes = {.read = read_bytes};

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
    const struct one_key *a = rq->bound;
    struct slice bytes = {0};
    bool exists = false;
    enum err r = string_read(rq, a->key, &exists, &bytes);
    if (r != OK) return r;
    if (exists) {
        resp_bulk(rq->w, bytes);
    } else {
        resp_nil(rq->w);
    }
    return OK;
}
STRING_COMMAND(get, "get", CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
               "Returns the value of a key.", one_key_arguments, get_run);

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
    const struct many_words *a = rq->bound;
    struct many_keys keys = {.words = a->words, .counts_hits = true, .tell = reply_bytes};
    uint64_t found = 0;
    resp_array(rq->w, a->words.count);
    return many_keys_read(rq, &keys, &found);
}
STRING_COMMAND(mget, "mget", CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
               "Returns the values of several keys.", many_keys_arguments, mget_run);

static enum err strlen_run(struct request *rq)
{
    const struct one_key *a = rq->bound;
    struct slice bytes = {0};
    bool exists = false;
    enum err r = string_read(rq, a->key, &exists, &bytes);
    if (r == OK) resp_int(rq->w, (int64_t)bytes.len);
    return r;
}
STRING_COMMAND(strlen, "strlen", CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO,
               "Returns the length of a value in bytes.", one_key_arguments, strlen_run);

/* ---- SET ---- */

struct set {
    struct op op;
    bool wants_old;        /* GET */
    struct slice compared; /* IFEQ; data NULL = without it */
};
ARGUMENTS(set_arguments, struct set, "key value [NX | XX | IFEQ comparison-value] [GET] [expiry]",
          ARG_FIXED(struct set, op.kind, OP_SET), ARG_KEY(struct set, op.key, "key", 0),
          ARG_BYTES(struct set, op.value, "value"),
          ARG_CHOICE(struct set, op.condition, {"NX", IF_ABSENT}, {"XX", IF_PRESENT}),
          ARG_WORD(struct set, compared, "IFEQ"), ARG_FLAG(struct set, wants_old, "GET"),
          ARG_INSIDE(struct set, op, "expiry", expiry_arguments));

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
    struct set *a = rq->bound;
    struct op *op = &a->op;
    bool is_compared = a->compared.data != NULL;
    bool is_equal = false;
    enum err r = OK;
    if (a->wants_old) op->guard = guard_string;
    if (is_compared) r = set_compare(rq, op, a->compared, &is_equal);
    if (r == OK && (is_equal || !is_compared)) r = request_commit(rq, op, 1);
    if (r != OK) return r;
    if (a->wants_old) {
        reply_old(rq, op);
    } else if (op->is_met) {
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
    .flags = CMD_STRING | CMD_WRITE,
    .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE | KEY_VARIABLE,
    .key_flags_of = set_key_flags,
    .group = "string",
    .summary = "Sets a key to a value.",
    .arguments = &set_arguments,
    .reply = "OK, or nil if the condition is not met. With `GET`, the previous value, or nil. The "
             "condition `IFEQ` is met if the key has this value.",
    .run = set_run,
};

/* ---- its relatives ---- */

ARGUMENTS(set_plain, struct op, "key value", ARG_FIXED(struct op, kind, OP_SET),
          ARG_KEY(struct op, key, "key", 0), ARG_BYTES(struct op, value, "value"));
ARGUMENTS(setnx_arguments, struct op, "set", ARG_ALSO("set", set_plain),
          ARG_FIXED(struct op, condition, IF_ABSENT));

static enum err setnx_run(struct request *rq)
{
    struct op *op = rq->bound;
    enum err r = request_commit(rq, op, 1);
    if (r == OK) resp_int(rq->w, op->is_met);
    return r;
}
STRING_COMMAND(setnx, "setnx", CMD_WRITE | CMD_FAST, KEY_OW | KEY_INSERT,
               "Sets a key to a value if the key does not exist. Returns 1, or 0.", setnx_arguments,
               setnx_run);

static enum err set_with_ttl_run(struct request *rq)
{
    enum err r = request_commit(rq, rq->bound, 1);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

ARGUMENTS(setex_arguments, struct op, "key seconds value", ARG_FIXED(struct op, kind, OP_SET),
          ARG_FIXED(struct op, ttl, TTL_AFTER), ARG_KEY(struct op, key, "key", 0),
          ARG_EXPIRY("seconds", TTL_AFTER, 1000), ARG_BYTES(struct op, value, "value"));
STRING_COMMAND(setex, "setex", CMD_WRITE, KEY_OW | KEY_UPDATE,
               "Sets a key to a value with an expiry in seconds.", setex_arguments,
               set_with_ttl_run);

ARGUMENTS(psetex_arguments, struct op, "key milliseconds value", ARG_FIXED(struct op, kind, OP_SET),
          ARG_FIXED(struct op, ttl, TTL_AFTER), ARG_KEY(struct op, key, "key", 0),
          ARG_EXPIRY("milliseconds", TTL_AFTER, 1), ARG_BYTES(struct op, value, "value"));
STRING_COMMAND(psetex, "psetex", CMD_WRITE, KEY_OW | KEY_UPDATE,
               "Sets a key to a value with an expiry in milliseconds.", psetex_arguments,
               set_with_ttl_run);

static enum err getset_run(struct request *rq)
{
    struct op *op = rq->bound;
    op->guard = guard_string;
    enum err r = request_commit(rq, op, 1);
    if (r == OK) reply_old(rq, op);
    return r;
}
STRING_COMMAND(getset, "getset", CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_UPDATE,
               "Sets a key to a value and returns the previous value.", set_plain, getset_run);

static enum err getdel_run(struct request *rq)
{
    const struct one_key *a = rq->bound;
    struct op op = {.kind = OP_DELETE, .key = a->key, .counts_live = true, .guard = guard_string};
    enum err r = request_commit(rq, &op, 1);
    if (r == OK) reply_old(rq, &op);
    return r;
}
STRING_COMMAND(getdel, "getdel", CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_DELETE,
               "Deletes a key and returns its value.", one_key_arguments, getdel_run);

struct mset {
    struct {
        struct op *items;
        size_t count;
    } pairs;
};
ARGUMENTS(mset_arguments, struct mset, "pair [pair ...]",
          ARG_LIST(struct mset, pairs, "pair", set_plain, check_ops));

static enum err mset_run(struct request *rq)
{
    const struct mset *a = rq->bound;
    enum err r = request_commit(rq, a->pairs.items, a->pairs.count);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}
STRING_COMMAND(mset, "mset", CMD_WRITE, KEY_OW | KEY_UPDATE,
               "Sets several keys in one transaction.", mset_arguments, mset_run);

static enum err msetnx_run(struct request *rq)
{
    const struct mset *a = rq->bound;
    enum err r = OK;
    for (size_t i = 0; i < a->pairs.count && r == OK; i++) {
        struct entry entry;
        r = request_get(rq, a->pairs.items[i].key, &entry);
        if (r != OK || !entry.exists) continue;
        resp_int(rq->w, 0);
        return OK;
    }
    if (r == OK) r = request_commit(rq, a->pairs.items, a->pairs.count);
    if (r == OK) resp_int(rq->w, 1);
    return r;
}
STRING_COMMAND(msetnx, "msetnx", CMD_WRITE, KEY_OW | KEY_INSERT,
               "Sets several keys if none of them exists. Returns 1, or 0.", mset_arguments,
               msetnx_run);

/* ---- INCR and relatives, APPEND ---- */

static enum err edit_add(const struct op *op, const struct slice *stored, struct buf *out,
                         struct error *e)
{
    struct slice bytes = {0};
    int64_t old = 0;
    int64_t sum = 0;
    if (stored != NULL && !value_bytes_of(*stored, &bytes)) return string_wrong_type(e);
    if (stored != NULL && !slice_to_i64(bytes, &old)) {
        return error_set(e, ERR_SYNTAX, ARG_NOT_INTEGER);
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

static enum err add(struct request *rq, struct slice key, int64_t delta)
{
    struct op op = {.kind = OP_EDIT, .key = key, .edit = edit_add, .delta = delta};
    struct slice bytes = {0};
    enum err r = request_commit(rq, &op, 1);
    if (r != OK) return r;
    int64_t sum = 0;
    INVARIANT(value_bytes_of(op.result, &bytes) && slice_to_i64(bytes, &sum));
    resp_int(rq->w, sum);
    return OK;
}

static enum err incr_run(struct request *rq)
{
    const struct one_key *a = rq->bound;
    return add(rq, a->key, 1);
}
STRING_COMMAND(incr, "incr", CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_UPDATE,
               "Increments the integer of a key by one.", one_key_arguments, incr_run);

static enum err decr_run(struct request *rq)
{
    const struct one_key *a = rq->bound;
    return add(rq, a->key, -1);
}
STRING_COMMAND(decr, "decr", CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_UPDATE,
               "Decrements the integer of a key by one.", one_key_arguments, decr_run);

struct sum {
    struct slice key;
    int64_t delta;
};
ARGUMENTS(incrby_arguments, struct sum, "key increment", ARG_KEY(struct sum, key, "key", 0),
          ARG_INTEGER(struct sum, delta, "increment", INT64_MIN, INT64_MAX, 0));
ARGUMENTS(decrby_arguments, struct sum, "key decrement", ARG_KEY(struct sum, key, "key", 0),
          ARG_INTEGER(struct sum, delta, "decrement", INT64_MIN, INT64_MAX, 0));

static enum err incrby_run(struct request *rq)
{
    const struct sum *a = rq->bound;
    return add(rq, a->key, a->delta);
}
STRING_COMMAND(incrby, "incrby", CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_UPDATE,
               "Increments the integer of a key by a number.", incrby_arguments, incrby_run);

static enum err decrby_run(struct request *rq)
{
    const struct sum *a = rq->bound;
    if (a->delta == INT64_MIN) {
        return error_set(&rq->error, ERR_SYNTAX, "decrement would overflow");
    }
    return add(rq, a->key, -a->delta);
}
STRING_COMMAND(decrby, "decrby", CMD_WRITE | CMD_FAST, KEY_RW | KEY_ACCESS | KEY_UPDATE,
               "Decrements the integer of a key by a number.", decrby_arguments, decrby_run);

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
    const struct key_word *a = rq->bound;
    struct op op = {.kind = OP_EDIT, .edit = edit_append, .key = a->key, .value = a->word};
    struct slice bytes = {0};
    enum err r = request_commit(rq, &op, 1);
    if (r != OK) return r;
    INVARIANT(value_bytes_of(op.result, &bytes));
    resp_int(rq->w, (int64_t)bytes.len);
    return OK;
}
STRING_COMMAND(append, "append", CMD_WRITE | CMD_FAST, KEY_RW | KEY_INSERT,
               "Appends bytes to the value of a key and returns the new length.",
               key_value_arguments, append_run);
