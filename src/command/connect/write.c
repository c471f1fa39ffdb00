/* write: KV.CONNECT WRITE, a whole transaction: checks, then mutations in order, then messages. */
#include "base/bytes.h"
#include "codec/key.h"
#include "command/connect/connect_int.h"
#include "queue/queue.h"
#include "request/arguments.h"
#include "request/subjects.h"
#include "request/table.h"

#define STAMP_PART_BYTES (STAMP_CHARS + 2)

/* What was asked for; each operation reads its words itself. */
struct writing {
    struct slices words;
    struct request *rq;
    size_t at; /* of words */
    struct op *ops;
    size_t count;
    size_t checks, mutations; /* messages are mutations here */
    size_t bytes;             /* as Deno counts them */
};

static const uint8_t default_backoff_ms[] = {0,    0,    0, 100, 0,    0,    3, 232, 0,    0,
                                             0x13, 0x88, 0, 0,   0x75, 0x30, 0, 0,   0xea, 0x60};

static enum err take(struct writing *w, struct slice *word)
{
    if (w->at == w->words.count) {
        return error_set(&w->rq->error, ERR_SYNTAX, "Invalid mutation kind or arguments.");
    }
    *word = w->words.items[w->at++];
    return OK;
}

static enum err take_number(struct writing *w, int64_t *n)
{
    struct slice word = {0};
    enum err r = take(w, &word);
    if (r != OK || slice_to_i64(word, n)) return r;
    return error_set(&w->rq->error, ERR_SYNTAX, "Invalid mutation kind or arguments.");
}

static enum err take_key(struct writing *w, struct slice *tuple, struct slice *key)
{
    struct request *rq = w->rq;
    enum err r = take(w, tuple);
    if (r != OK) return r;
    if (tuple->len > CONNECT_KEY_BYTES_MAX) {
        return error_set(&rq->error, ERR_LIMIT, "A key exceeds the key size limit.");
    }
    if (tuple->len == 0) return error_set(&rq->error, ERR_KEY, "key cannot be empty");
    r = key_check(*tuple, &rq->error);
    if (r != OK) return r;
    w->bytes += tuple->len;
    *key = connect_key(rq, *tuple);
    return OK;
}

static enum err take_value(struct writing *w, struct slice *value)
{
    struct slice encoding = {0};
    struct slice data = {0};
    enum err r = take(w, &encoding);
    if (r == OK) r = take(w, &data);
    w->bytes += data.len;
    return r == OK ? connect_value(w->rq, encoding, data, value) : r;
}

/* ---- mutations ---- */

static enum err take_check(struct writing *w, struct op *op)
{
    struct slice tuple = {0};
    struct slice stamp = {0};
    if (++w->checks > CONNECT_CHECKS_MAX) {
        return error_set(&w->rq->error, ERR_LIMIT, "Too many checks included in atomic write.");
    }
    op->kind = OP_CHECK;
    enum err r = take_key(w, &tuple, &op->key);
    if (r == OK) r = take(w, &stamp);
    if (r == OK && stamp_parse(stamp, &op->expected, &w->rq->error) != OK) {
        r = error_set(&w->rq->error, ERR_SYNTAX, "Invalid versionstamp.");
    }
    return r;
}

/* The key with the commit's versionstamp as one part more, a text. */
static void add_stamp(struct writing *w, struct op *op)
{
    char stamp[STAMP_CHARS];
    uint8_t *key = arena_alloc(w->rq->arena, op->key.len + STAMP_PART_BYTES);
    stamp_format(engine_version_next(w->rq->env->db->engine), stamp);
    memcpy(key, op->key.data, op->key.len);
    key[op->key.len] = 0x02;
    memcpy(key + op->key.len + 1, stamp, STAMP_CHARS);
    key[op->key.len + 1 + STAMP_CHARS] = 0;
    op->key.data = key;
    op->key.len += STAMP_PART_BYTES;
}

static enum err take_set(struct writing *w, struct op *op, bool has_suffix)
{
    struct slice tuple = {0};
    int64_t expire_ms = 0;
    op->kind = OP_SET;
    enum err r = take_key(w, &tuple, &op->key);
    if (r == OK) w->bytes += tuple.len; /* that of a mutation with a value counts twice */
    if (r == OK) r = take_value(w, &op->value);
    if (r == OK) r = take_number(w, &expire_ms);
    if (r != OK) return r;
    if (expire_ms < -1) {
        return error_set(&w->rq->error, ERR_SYNTAX, "Invalid mutation expire at.");
    }
    if (expire_ms > 0) {
        op->ttl = TTL_AT;
        op->ttl_ms = expire_ms;
    }
    if (has_suffix) add_stamp(w, op);
    return OK;
}

static enum err edit_sum(const struct op *op, const struct slice *stored, struct buf *out,
                         struct error *e)
{
    return connect_sum_apply((const struct connect_sum *)(const void *)op->value.data, stored, out,
                             e);
}

static enum err take_bound(struct writing *w, struct slice *bound)
{
    struct slice data = {0};
    enum err r = take(w, &data);
    *bound = slice_of(NULL, 0);
    if (r != OK || data.len == 0) return r;
    return connect_value(w->rq, slice_str("1"), data, bound);
}

/* Two operations: afterwards it never expires. */
static enum err take_sum(struct writing *w, struct op *op, enum arith_op kind)
{
    struct slice tuple = {0};
    struct slice how = {0};
    struct connect_sum *s = arena_alloc(w->rq->arena, sizeof *s);
    *s = (struct connect_sum){.op = kind};
    op[0].kind = OP_EDIT;
    op[0].edit = edit_sum;
    op[0].value = slice_of(s, sizeof *s);
    enum err r = take_key(w, &tuple, &op[0].key);
    if (r == OK) w->bytes += tuple.len;
    if (r == OK) r = take_value(w, &s->operand);
    if (r == OK && kind == ARITH_SUM) r = take_bound(w, &s->min);
    if (r == OK && kind == ARITH_SUM) r = take_bound(w, &s->max);
    if (r == OK && kind == ARITH_SUM) r = take(w, &how);
    s->is_clamped = slice_is_word(how, "CLAMP");
    if (r == OK) r = connect_sum_check(s, &w->rq->error);
    op[1] = (struct op){.kind = OP_EXPIRE, .ttl = TTL_NONE, .key = op[0].key};
    w->count++;
    return r;
}

/* ---- messages ---- */

static enum err take_backoff(struct writing *w, struct message *m)
{
    int64_t count = 0;
    enum err r = take_number(w, &count);
    if (r != OK) return r;
    m->backoff = default_backoff_ms;
    m->backoff_count = sizeof default_backoff_ms / 4;
    if (count == 0) return OK;
    if (count < 0 || count > CONNECT_BACKOFF_MAX) {
        return error_set(&w->rq->error, ERR_LIMIT,
                         "Too many backoff intervals for a single queue message.");
    }
    uint8_t *delays = arena_alloc(w->rq->arena, 4 * (size_t)count);
    for (size_t i = 0; i < (size_t)count && r == OK; i++) {
        int64_t ms = 0;
        r = take_number(w, &ms);
        if (r == OK && (ms < 0 || ms > CONNECT_BACKOFF_MS_MAX)) {
            r = error_set(&w->rq->error, ERR_LIMIT,
                          "A backoff interval exceeds the maximum allowed backoff interval.");
        }
        put_u32(delays + 4 * i, (uint32_t)ms);
    }
    m->backoff = delays;
    m->backoff_count = (size_t)count;
    w->bytes += 4 * (size_t)count;
    return r;
}

static enum err take_undelivered(struct writing *w, struct message *m)
{
    int64_t count = 0;
    enum err r = take_number(w, &count);
    if (r != OK) return r;
    if (count < 0 || count > CONNECT_UNDELIVERED_MAX) {
        return error_set(&w->rq->error, ERR_LIMIT,
                         "Too many dead letter keys for a single queue message.");
    }
    uint8_t *p = arena_alloc(w->rq->arena, (size_t)count * (CONNECT_KEY_BYTES_MAX + 2) + 1);
    m->undelivered = p;
    m->undelivered_count = (size_t)count;
    for (size_t i = 0; i < (size_t)count; i++) {
        struct slice tuple = {0};
        struct slice key = {0};
        r = take_key(w, &tuple, &key);
        if (r != OK) return r;
        p[0] = (uint8_t)(tuple.len >> 8);
        p[1] = (uint8_t)tuple.len;
        memcpy(p + 2, tuple.data, tuple.len);
        p += 2 + tuple.len;
    }
    m->undelivered_bytes = (size_t)(p - m->undelivered);
    return OK;
}

static enum err take_message(struct writing *w, struct op *op)
{
    struct request *rq = w->rq;
    struct queue_enqueue *x = arena_alloc(rq->arena, sizeof *x);
    struct slice payload = {0};
    int64_t due_ms = 0;
    *x = (struct queue_enqueue){.queues = rq->env->db->queues, .queue = slice_str(CONNECT_QUEUE)};
    enum err r = take(w, &payload);
    w->bytes += payload.len;
    if (r == OK) r = connect_value(rq, slice_str("1"), payload, &x->message.value);
    if (r == OK) r = take_number(w, &due_ms);
    if (r != OK) return r;
    x->delay_ms = due_ms - engine_time_ms(rq->env->db->engine);
    if (x->delay_ms > CONNECT_DELAY_MS_MAX) {
        return error_set(&rq->error, ERR_LIMIT, "Invalid mutation enqueue deadline.");
    }
    if (x->delay_ms < 0) x->delay_ms = 0;
    r = take_backoff(w, &x->message);
    if (r == OK) r = take_undelivered(w, &x->message);
    *op = queue_enqueue_op(x);
    return r;
}

/* ---- the whole ---- */

static enum err take_op(struct writing *w)
{
    struct slice word = w->words.items[w->at++];
    struct op *op = &w->ops[w->count++];
    if (slice_is_word(word, "CHECK")) return take_check(w, op);
    if (++w->mutations > CONNECT_OPS_MAX) {
        return error_set(&w->rq->error, ERR_LIMIT,
                         "Too many mutations / enqueues included in atomic write.");
    }
    if (slice_is_word(word, "SET")) return take_set(w, op, false);
    if (slice_is_word(word, "SETSUFFIX")) return take_set(w, op, true);
    if (slice_is_word(word, "SUM")) return take_sum(w, op, ARITH_SUM);
    if (slice_is_word(word, "MIN")) return take_sum(w, op, ARITH_MIN);
    if (slice_is_word(word, "MAX")) return take_sum(w, op, ARITH_MAX);
    if (slice_is_word(word, "ENQUEUE")) return take_message(w, op);
    if (slice_is_word(word, "DEL")) {
        struct slice tuple = {0};
        op->kind = OP_DELETE;
        return take_key(w, &tuple, &op->key);
    }
    return error_set(&w->rq->error, ERR_SYNTAX, "Invalid mutation kind or arguments.");
}

/* Each operation is two words or more, and two operations at most. */
static enum err take_all(struct request *rq, void *bound)
{
    struct writing *w = bound;
    size_t bytes = (w->words.count + 2) * sizeof *w->ops;
    enum err r = OK;
    w->rq = rq;
    w->ops = arena_alloc(rq->arena, bytes);
    memset(w->ops, 0, bytes);
    while (w->at < w->words.count && r == OK) r = take_op(w);
    if (r == OK && w->bytes > CONNECT_WRITE_BYTES_MAX) {
        r = error_set(&w->rq->error, ERR_LIMIT, "The total size of the atomic write is too large.");
    }
    return r;
}

/* ---- permissions ---- */

static void subjects_of_message(struct subjects *out, const struct queue_enqueue *x)
{
    const uint8_t *p = x->message.undelivered;
    subjects_queue(out, x->queue, ACCESS_WRITE);
    for (size_t i = 0; i < x->message.undelivered_count; i++) {
        size_t len = (size_t)p[0] << 8 | p[1];
        subjects_key(out, connect_key(out->rq, slice_of(p + 2, len)), ACCESS_WRITE);
        p += 2 + len;
    }
}

static void subject_of(struct subjects *out, const struct op *op)
{
    static const struct command *const commands[] = {
        [OP_CHECK] = &kv_get, [OP_SET] = &kv_set, [OP_DELETE] = &kv_del, [OP_EDIT] = &kv_sum};
    if (op->kind == OP_EXPIRE) return; /* of a sum */
    subjects_as(out, op->kind == OP_LAYER ? &kv_enqueue : commands[op->kind]);
    if (op->kind == OP_LAYER) {
        subjects_of_message(out, (const struct queue_enqueue *)op->layer);
        return;
    }
    unsigned needs = op->kind == OP_CHECK ? ACCESS_READ : ACCESS_WRITE;
    if (op->kind == OP_EDIT) needs = ACCESS_READ | ACCESS_WRITE;
    subjects_key(out, op->key, needs);
}

static void write_subjects(struct subjects *s, const void *bound)
{
    const struct writing *w = bound;
    for (size_t i = 0; i < w->count; i++) subject_of(s, &w->ops[i]);
}

/* ---- the command ---- */

#define WRITE_SYNTAX                                                                               \
    "[<CHECK tuple <versionstamp | NONE> | SET tuple encoding data expire-ms | SETSUFFIX tuple "   \
    "encoding data expire-ms | DEL tuple | SUM tuple encoding data min max <CLAMP | RANGE> | "     \
    "MIN tuple encoding data | MAX tuple encoding data | ENQUEUE data due-ms numdelays "           \
    "[milliseconds ...] numtuples [tuple ...]> ...]"

ARGUMENTS_WITH(write_arguments, struct writing, "[word ...]",
               WITH(.check = take_all, .subjects = write_subjects, .shown = WRITE_SYNTAX),
               ARG_WORDS(struct writing, words, "word"));

/* The numbers of the checks that failed. */
static void reply_failed(struct request *rq, const struct writing *w)
{
    size_t failed = 0;
    for (size_t i = 0; i < w->count; i++) failed += w->ops[i].has_failed;
    resp_array(rq->w, failed);
    for (size_t i = 0, check = 0; i < w->count; i++) {
        if (w->ops[i].kind != OP_CHECK) continue;
        if (w->ops[i].has_failed) resp_int(rq->w, (int64_t)check);
        check++;
    }
}

static enum err connect_write_run(struct request *rq)
{
    const struct writing *w = rq->bound;
    struct txn t = {.overlay = rq->overlay,
                    .database = rq->client->database,
                    .commits_always = true,
                    .ops = w->ops,
                    .count = w->count,
                    .arena = rq->arena};
    enum err r = engine_commit(rq->env->db->engine, &t, rq->waiter, &rq->error);
    depends_raise(&rq->depends, t.depends);
    if (r != OK) return r;
    rq->env->stats.writes++;
    if (t.is_conflict) {
        reply_failed(rq, w);
    } else {
        reply_stamp(rq, t.version);
    }
    return OK;
}

const struct command connect_write = {
    .name = "write",
    .flags = CMD_WRITE,
    .group = "connect",
    .summary = "Runs a whole transaction with Deno's operations, limits and errors.",
    .arguments = &write_arguments,
    .brief = "[operation ...]",
    .reply =
        "The versionstamp, or the numbers of the checks that failed; then nothing was written. "
        "Keys are bytes.",
    .run = connect_write_run,
};
