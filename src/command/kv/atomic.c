/* atomic: KV.ATOMIC, a whole transaction in one command: checks, then mutations, all or nothing.
 */
#include "command/kv/kv_int.h"
#include "request/args.h"
#include "request/command.h"
#include "request/enqueue.h"
#include "request/hint.h"
#include "request/keys.h"
#include "request/subjects.h"
#include "request/table.h"

struct atomic {
    struct op *ops;
    size_t count, cap;
    bool has_details;
};

static struct op *atomic_add(struct request *rq, struct atomic *a, enum op_kind kind)
{
    if (a->count == a->cap) {
        size_t cap = a->cap == 0 ? 8 : a->cap * 2;
        struct op *ops = arena_alloc(rq->arena, cap * sizeof *ops);
        if (a->count > 0) memcpy(ops, a->ops, a->count * sizeof *ops);
        a->ops = ops;
        a->cap = cap;
    }
    struct op *op = &a->ops[a->count++];
    *op = (struct op){.kind = kind};
    return op;
}

static enum err parse_check(struct options *o, struct op *op)
{
    struct slice arg;
    enum err r = options_argument(o, "CHECK", &arg);
    if (r == OK) r = arg_key(o->rq, arg, &op->key);
    if (r == OK) r = options_argument(o, "CHECK", &arg);
    if (r == OK) r = arg_stamp(o->rq, arg, &op->expected);
    return r;
}

static enum err parse_key_value(struct options *o, const char *word, struct op *op,
                                struct slice *value)
{
    struct slice arg;
    enum err r = options_argument(o, word, &arg);
    if (r == OK) r = arg_key(o->rq, arg, &op->key);
    if (r == OK) r = options_argument(o, word, &arg);
    if (r == OK) r = arg_value(o->rq, arg, value);
    return r;
}

static enum err parse_set(struct options *o, struct op *op)
{
    bool is_taken = false;
    enum err r = parse_key_value(o, "SET", op, &op->value);
    o->seen = 0;
    if (r == OK) r = options_ttl(o, op, &is_taken);
    /* A second one is an error of its own, not an unknown operation. */
    if (r == OK && is_taken) r = options_ttl(o, op, &is_taken);
    return r;
}

static enum err parse_arith(struct options *o, const char *word, enum arith_op kind, struct op *op)
{
    op->arith.op = kind;
    enum err r = parse_key_value(o, word, op, &op->arith.operand);
    o->seen = 0;
    if (r == OK && kind == ARITH_SUM) r = parse_arith_bounds(o, &op->arith);
    if (r == OK) r = arith_check(&op->arith, &o->rq->error);
    return r;
}

static enum err parse_queue_enqueue(struct options *o, struct op *op)
{
    struct queue_enqueue *x = arena_alloc(o->rq->arena, sizeof *x);
    enum err r = parse_enqueue(o, x);
    *op = queue_enqueue_op(x);
    return r;
}

static enum err parse_queue_ack(struct options *o, struct op *op)
{
    struct queue_settle *x = arena_alloc(o->rq->arena, sizeof *x);
    struct slice arg = {0};
    *x = (struct queue_settle){.queues = o->rq->env->db->queues, .kind = SETTLE_ACK};
    enum err r = options_argument(o, "ACK", &arg);
    if (r == OK) r = arg_receipt(o->rq, arg, &x->receipt);
    *op = queue_settle_op(x, true);
    return r;
}

/* What CHECK says for a condition of KV.SET; NULL when the word is none. */
static const char *check_instead_of(struct slice word)
{
    if (slice_is_word(word, "NX")) return "NONE";
    return slice_is_word(word, "XX") || slice_is_word(word, "IFVERSION") ? "versionstamp" : NULL;
}

/* The operation at o->at. */
static enum err parse_op(struct options *o, struct atomic *a)
{
    struct request *rq = o->rq;
    struct slice word = rq->argv[o->at++];
    struct slice arg;
    if (slice_is_word(word, "CHECK")) return parse_check(o, atomic_add(rq, a, OP_CHECK));
    if (slice_is_word(word, "SET")) return parse_set(o, atomic_add(rq, a, OP_SET));
    if (slice_is_word(word, "DEL")) {
        enum err r = options_argument(o, "DEL", &arg);
        return r == OK ? arg_key(rq, arg, &atomic_add(rq, a, OP_DELETE)->key) : r;
    }
    if (slice_is_word(word, "SUM")) {
        return parse_arith(o, "SUM", ARITH_SUM, atomic_add(rq, a, OP_ARITH));
    }
    if (slice_is_word(word, "MIN")) {
        return parse_arith(o, "MIN", ARITH_MIN, atomic_add(rq, a, OP_ARITH));
    }
    if (slice_is_word(word, "MAX")) {
        return parse_arith(o, "MAX", ARITH_MAX, atomic_add(rq, a, OP_ARITH));
    }
    bool is_prepend = slice_is_word(word, "PREPEND");
    if (is_prepend || slice_is_word(word, "APPEND")) {
        struct op *op = atomic_add(rq, a, OP_JOIN);
        op->is_prepend = is_prepend;
        return parse_key_value(o, is_prepend ? "PREPEND" : "APPEND", op, &op->value);
    }
    if (slice_is_word(word, "ENQUEUE")) return parse_queue_enqueue(o, atomic_add(rq, a, OP_LAYER));
    if (slice_is_word(word, "ACK")) return parse_queue_ack(o, atomic_add(rq, a, OP_LAYER));
    o->at--;
    if (hint_misplaced(rq, word)) return ERR_SYNTAX;
    const char *instead = check_instead_of(word);
    if (instead != NULL) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "syntax error: no %.*s in KV.ATOMIC; its condition is an operation of its "
                         "own, CHECK key %s, and the whole transaction depends on it",
                         (int)word.len, (const char *)word.data, instead);
    }
    return error_set(
        &rq->error, ERR_SYNTAX,
        "syntax error: unknown operation '%.*s' (CHECK, SET, DEL, SUM, MIN, MAX, APPEND, PREPEND, "
        "ENQUEUE or ACK expected)",
        (int)(word.len < 64 ? word.len : 64), (const char *)word.data);
}

static enum err parse_atomic(struct request *rq, struct atomic *a)
{
    struct options o = {.rq = rq, .at = 1};
    size_t ops_max = engine_limits(rq->env->db->engine)->ops_max;
    a->has_details = options_take(&o, "DETAILS", 0);
    while (o.at < rq->argc) {
        if (a->count == ops_max) {
            return error_set(&rq->error, ERR_LIMIT,
                             "more operations than max-transaction-ops (%zu)", ops_max);
        }
        enum err r = parse_op(&o, a);
        if (r != OK) return r;
    }
    return OK;
}

static void reply_conflict(struct request *rq, const struct atomic *a)
{
    size_t failed = 0;
    for (size_t i = 0; i < a->count; i++) {
        failed += a->ops[i].has_failed;
    }
    resp_array(rq->w, 2);
    resp_nil(rq->w);
    resp_array(rq->w, failed);
    for (size_t i = 0; i < a->count; i++) {
        const struct op *op = &a->ops[i];
        if (!op->has_failed) continue;
        resp_array(rq->w, 2);
        resp_int(rq->w, (int64_t)i);
        if (op->has_current) {
            reply_stamp(rq, op->current);
        } else {
            resp_nil(rq->w);
        }
    }
}

/* The id of a message that was enqueued; nothing of an ACK. */
static void reply_layer(struct request *rq, const struct op *op)
{
    if (op->layer->check != NULL || !op->is_met) {
        resp_nil(rq->w);
        return;
    }
    const struct queue_enqueue *x = (const struct queue_enqueue *)op->layer;
    resp_bulk(rq->w, slice_of(x->id, ID_CHARS));
}

static void reply_results(struct request *rq, const struct atomic *a, uint64_t version)
{
    resp_array(rq->w, 2);
    reply_stamp(rq, version);
    resp_array(rq->w, a->count);
    for (size_t i = 0; i < a->count; i++) {
        const struct op *op = &a->ops[i];
        switch (op->kind) {
        case OP_SET: reply_key(rq->w, rq->format, op->key); break;
        case OP_ARITH: reply_value(rq->w, rq->format, op->result); break;
        case OP_JOIN: resp_int(rq->w, (int64_t)op->count); break;
        case OP_LAYER: reply_layer(rq, op); break;
        default: resp_nil(rq->w); break;
        }
    }
}

static enum err kv_atomic_run(struct request *rq)
{
    struct atomic a = {0};
    enum err r = parse_atomic(rq, &a);
    if (r != OK) return r;
    struct txn t = {.overlay = rq->overlay,
                    .database = rq->client->database,
                    .commits_always = true,
                    .ops = a.ops,
                    .count = a.count,
                    .arena = rq->arena};
    r = engine_commit(rq->env->db->engine, &t, rq->waiter, &rq->error);
    depends_raise(&rq->depends, t.depends);
    if (r != OK && r != ERR_WAIT && t.failed_op < t.count) {
        struct error inner = rq->error;
        return error_set(&rq->error, r, "%s (operation %zu)", inner.text, t.failed_op);
    }
    if (r != OK) return r;
    rq->env->stats.writes++;
    if (t.is_conflict && a.has_details) {
        reply_conflict(rq, &a);
    } else if (t.is_conflict) {
        resp_nil_array(rq->w);
    } else if (a.has_details) {
        reply_results(rq, &a, t.version);
    } else {
        reply_stamp(rq, t.version);
    }
    return OK;
}

/* Words after the key of SET or SUM that belong to it. */
static size_t option_words(struct slice word)
{
    static const struct {
        const char *word;
        size_t count;
    } options[] = {{"EX", 2},    {"PX", 2},    {"EXAT", 2},   {"PXAT", 2},
                   {"CLAMP", 3}, {"RANGE", 3}, {"KEEPTTL", 1}};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (slice_is_word(word, options[i].word)) return options[i].count;
    }
    return 0;
}

/* An operation as its words begin; permission is asked for it as for the command of its own. */
struct operation {
    const char *word;
    size_t words; /* with the operation's own */
    unsigned flags;
    const struct command *command;
};

static const struct operation operations[] = {
    {"CHECK", 3, KEY_RO | KEY_ACCESS, &kv_get},
    {"SET", 3, KEY_OW | KEY_UPDATE | KEY_HAS_VALUE, &kv_set},
    {"DEL", 2, KEY_RM | KEY_DELETE, &kv_del},
    {"SUM", 3, KEY_RW | KEY_ACCESS | KEY_UPDATE | KEY_HAS_VALUE, &kv_sum},
    {"MIN", 3, KEY_RW | KEY_ACCESS | KEY_UPDATE | KEY_HAS_VALUE, &kv_min},
    {"MAX", 3, KEY_RW | KEY_ACCESS | KEY_UPDATE | KEY_HAS_VALUE, &kv_max},
    {"APPEND", 3, KEY_RW | KEY_INSERT | KEY_HAS_VALUE, &kv_append},
    {"PREPEND", 3, KEY_RW | KEY_INSERT | KEY_HAS_VALUE, &kv_prepend},
    {"ENQUEUE", 3, 0, &kv_enqueue},
    {"ACK", 2, 0, &kv_ack},
};

/* The operation at *at, which then is after it, with its keys. NULL: it is none, or wrong. */
static const struct operation *next_operation(const struct slice *argv, size_t argc, size_t *at,
                                              struct key_uses *out)
{
    const size_t count = sizeof operations / sizeof operations[0];
    size_t i = 0;
    while (i < count && !slice_is_word(argv[*at], operations[i].word)) i++;
    if (i == count || *at + operations[i].words > argc) return NULL;
    const struct operation *x = &operations[i];
    if (x->flags != 0) key_uses_add(out, argv[*at + 1], x->flags);
    *at += x->words;
    if (x->command == &kv_enqueue && !keys_of_enqueue(argv, argc, at, out)) return NULL;
    /* No operation is called as an option is: they cannot be mixed up. */
    while (*at < argc && option_words(argv[*at]) > 0) *at += option_words(argv[*at]);
    return *at <= argc ? x : NULL;
}

static size_t first_operation(const struct slice *argv, size_t argc)
{
    return argc > 1 && slice_is_word(argv[1], "DETAILS") ? 2 : 1;
}

static bool kv_atomic_keys(const struct slice *argv, size_t argc, struct key_uses *out)
{
    size_t at = first_operation(argv, argc);
    while (at < argc) {
        if (next_operation(argv, argc, &at, out) == NULL) return false;
    }
    return true;
}

static enum err kv_atomic_subjects(struct request *rq, struct subjects *out)
{
    size_t at = first_operation(rq->argv, rq->argc);
    while (at < rq->argc) {
        size_t from = at;
        struct key_uses uses = {.arena = rq->arena};
        const struct operation *x = next_operation(rq->argv, rq->argc, &at, &uses);
        out->is_unclear |= x == NULL;
        if (x == NULL) return OK;
        subjects_as(out, x->command);
        if (x->command == &kv_enqueue) subjects_queue(out, rq->argv[from + 1], ACCESS_WRITE);
        if (x->command == &kv_ack) subjects_receipt(out, rq->argv[from + 1]);
        for (size_t i = 0; i < uses.count; i++) {
            unsigned flags = uses.items[i].flags;
            subjects_word(out, uses.items[i].word, flags != 0 ? flags : KEY_OW | KEY_UPDATE);
        }
    }
    return OK;
}

const struct command kv_atomic = {
    .name = "kv.atomic",
    .arity = -1,
    .flags = CMD_WRITE | CMD_IDEM | CMD_IDEM_FIRST | CMD_FORMAT,
    .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE,
    .group = "kv",
    .since = "0.1.0",
    .summary =
        "A whole transaction, or nil and no effect when a CHECK fails. An op is CHECK, SET, DEL, "
        "SUM, MIN, MAX, APPEND, PREPEND, ENQUEUE or ACK, with its arguments.",
    .brief = "[IDEM id] [DETAILS] op [op ...] [FORMAT format]",
    .syntax =
        "[DETAILS] [<CHECK key <versionstamp | NONE> | SET key value [EX seconds | PX milliseconds "
        "| EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL] | DEL key | SUM key "
        "value [CLAMP lo hi | RANGE lo hi] | MIN key value | MAX key value | APPEND key array | "
        "PREPEND key array | ENQUEUE queue value [DELAY milliseconds] [BACKOFF count "
        "[milliseconds ...]] [UNDELIVERED numkeys key [key ...]] [DEDUP id] | ACK receipt> ...]",
    .reply =
        "The versionstamp; nil when a check fails. DETAILS: `[versionstamp, [result ...]]`, with "
        "the key written for SET, the new value for SUM, MIN and MAX, the new length for APPEND "
        "and PREPEND, the message's id for ENQUEUE, else nil; or `[nil, [[number of the failed "
        "operation, versionstamp or nil] ...]]`.",
    .run = kv_atomic_run,
    .keys = kv_atomic_keys,
    .subjects = kv_atomic_subjects,
};
