/* atomic: KV.ATOMIC, a whole transaction in one command: checks, then mutations, all or nothing.
 */
#include "command/kv/operations.h"
#include "request/enqueue.h"
#include "request/keys.h"
#include "request/table.h"

struct atomic {
    bool has_details;
    struct {
        struct op *items;
        size_t count;
    } ops;
};

/* ---- operations of queues ---- */

static enum err check_enqueue_op(struct request *rq, void *bound)
{
    struct op *op = bound;
    (void)rq;
    *op = queue_enqueue_op(&((struct enqueue *)op->layer)->x);
    return OK;
}
ARGUMENTS_WITH(op_enqueue, struct op, "enqueue", WITH(.check = check_enqueue_op),
               ARG_MADE(struct op, layer, "enqueue", enqueue_arguments));

/* One that is no longer good makes the transaction a conflict. */
static enum err check_ack_op(struct request *rq, void *bound)
{
    struct op *op = bound;
    struct queue_settle *x = (struct queue_settle *)op->layer;
    x->queues = rq->env->db->queues;
    x->kind = SETTLE_ACK;
    *op = queue_settle_op(x, true);
    return OK;
}
ARGUMENTS(ack_arguments, struct queue_settle, "receipt",
          ARG_RECEIPT(struct queue_settle, receipt, "receipt"));
ARGUMENTS_WITH(op_ack, struct op, "receipt", WITH(.check = check_ack_op),
               ARG_MADE(struct op, layer, "receipt", ack_arguments));

/* ---- the words ---- */

/* What CHECK says for a condition of KV.SET; NULL when the word is none. */
static const char *check_instead_of(struct slice word)
{
    if (slice_is_word(word, "NX")) return "NONE";
    return slice_is_word(word, "XX") || slice_is_word(word, "IFVERSION") ? "versionstamp" : NULL;
}

static bool hint_condition(struct request *rq, struct slice word)
{
    const char *instead = check_instead_of(word);
    if (instead == NULL) return false;
    (void)error_set(&rq->error, ERR_SYNTAX,
                    "syntax error: no %.*s in KV.ATOMIC; a condition is an operation of its own, "
                    "CHECK key %s, which applies to the whole transaction",
                    (int)word.len, (const char *)word.data, instead);
    return true;
}

static enum err ops_fit(struct request *rq, size_t count)
{
    size_t max = engine_limits(rq->env->db->engine)->ops_max;
    if (count <= max) return OK;
    return error_set(&rq->error, ERR_LIMIT, "more operations than max-transaction-ops (%zu)", max);
}

/* Permission is asked for each as for the command of its own. */
ARGUMENTS_WITH(op_arguments, struct op,
               "<CHECK check | SET set | DEL del | SUM sum | MIN min | MAX max | APPEND append | "
               "PREPEND prepend | ENQUEUE enqueue | ACK ack>",
               WITH(.members = "DEL delete"), ARG_AS("CHECK", op_check, kv_get),
               ARG_AS("SET", op_set, kv_set), ARG_AS("DEL", op_del, kv_del),
               ARG_AS("SUM", op_sum, kv_sum), ARG_AS("MIN", op_min, kv_min),
               ARG_AS("MAX", op_max, kv_max), ARG_AS("APPEND", op_append, kv_append),
               ARG_AS("PREPEND", op_prepend, kv_prepend), ARG_AS("ENQUEUE", op_enqueue, kv_enqueue),
               ARG_AS("ACK", op_ack, kv_ack));

ARGUMENTS_WITH(atomic_arguments, struct atomic, "[DETAILS] [op ...]", WITH(.hint = hint_condition),
               ARG_FLAG(struct atomic, has_details, "DETAILS"),
               ARG_LIST(struct atomic, ops, "op", op_arguments, ops_fit));

/* ---- the reply ---- */

static void reply_conflict(struct request *rq, const struct atomic *a)
{
    size_t failed = 0;
    for (size_t i = 0; i < a->ops.count; i++) {
        failed += a->ops.items[i].has_failed;
    }
    resp_array(rq->w, 2);
    resp_nil(rq->w);
    resp_array(rq->w, failed);
    for (size_t i = 0; i < a->ops.count; i++) {
        const struct op *op = &a->ops.items[i];
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
    resp_array(rq->w, a->ops.count);
    for (size_t i = 0; i < a->ops.count; i++) {
        const struct op *op = &a->ops.items[i];
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
    const struct atomic *a = rq->bound;
    struct txn t = {.overlay = rq->overlay,
                    .database = rq->client->database,
                    .commits_always = true,
                    .ops = a->ops.items,
                    .count = a->ops.count,
                    .arena = rq->arena};
    enum err r = engine_commit(rq->env->db->engine, &t, rq->waiter, &rq->error);
    depends_raise(&rq->depends, t.depends);
    if (r != OK && r != ERR_WAIT && t.failed_op < t.count) {
        struct error inner = rq->error;
        return error_set(&rq->error, r, "%s (operation %zu)", inner.text, t.failed_op);
    }
    if (r != OK) return r;
    rq->env->stats.writes++;
    if (t.is_conflict && a->has_details) {
        reply_conflict(rq, a);
    } else if (t.is_conflict) {
        resp_nil_array(rq->w);
    } else if (a->has_details) {
        reply_results(rq, a, t.version);
    } else {
        reply_stamp(rq, t.version);
    }
    return OK;
}

const struct command kv_atomic = {
    .name = "kv.atomic",
    .flags = CMD_WRITE | CMD_IDEM | CMD_IDEM_FIRST | CMD_FORMAT,
    .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE,
    .group = "kv",
    .summary =
        "Runs a whole transaction. If a CHECK fails, it returns nil and has no effect. An op is "
        "CHECK, SET, DEL, SUM, MIN, MAX, APPEND, PREPEND, ENQUEUE or ACK, with its arguments.",
    .brief = "[IDEM id] [DETAILS] op [op ...] [FORMAT format]",
    .arguments = &atomic_arguments,
    .reply =
        "The versionstamp, or nil if a check fails. With DETAILS, `[versionstamp, [result ...]]`: "
        "the key for SET, the new value for SUM, MIN and MAX, the new length for APPEND and "
        "PREPEND, the message's id for ENQUEUE, otherwise nil. If a check fails, `[nil, [[number "
        "of the failed operation, versionstamp or nil] ...]]`.",
    .run = kv_atomic_run,
};
