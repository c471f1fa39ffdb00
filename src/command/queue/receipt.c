/* queue_receipt: what a receipt is good for: KV.ACK, KV.NACK, KV.EXTEND. A receipt of a delivery
 * that is over answers 0 and touches nothing.
 */
#include "command/queue/queue_int.h"
#include "request/args.h"
#include "request/table.h"

/* ---- KV.ACK ---- */

static enum err kv_ack_subjects(struct request *rq, struct subjects *out)
{
    for (size_t i = 1; i < rq->argc; i++) subjects_receipt(out, rq->argv[i]);
    return OK;
}

static enum err kv_ack_run(struct request *rq)
{
    size_t count = rq->argc - 1;
    struct queue_settle *settles = arena_alloc(rq->arena, count * sizeof *settles);
    struct op *ops = arena_alloc(rq->arena, count * sizeof *ops);
    for (size_t i = 0; i < count; i++) {
        settles[i] = (struct queue_settle){.queues = rq->env->db->queues, .kind = SETTLE_ACK};
        enum err r = arg_receipt(rq, rq->argv[i + 1], &settles[i].receipt);
        if (r != OK) return r;
        ops[i] = queue_settle_op(&settles[i], false);
    }
    enum err r = request_commit(rq, ops, count);
    if (r != OK) return r;
    int64_t acknowledged = 0;
    for (size_t i = 0; i < count; i++) acknowledged += ops[i].is_met;
    resp_int(rq->w, acknowledged);
    return OK;
}

const struct command kv_ack = {
    .name = "kv.ack",
    .arity = -2,
    .flags = CMD_QUEUE | CMD_WRITE | CMD_FAST | CMD_IDEM | CMD_FORMAT,
    .group = "queue",
    .since = "0.1.0",
    .summary = "Acknowledges messages: they are done and gone.",
    .syntax = "receipt [receipt ...]",
    .reply = "How many were acknowledged; a receipt of a delivery that is over does not count.",
    .run = kv_ack_run,
    .subjects = kv_ack_subjects,
};

/* ---- KV.NACK, KV.EXTEND ---- */

static enum err receipt_subjects(struct request *rq, struct subjects *out)
{
    subjects_receipt(out, rq->argv[1]);
    return OK;
}

static enum err settle_one(struct request *rq, struct queue_settle *x)
{
    struct op op = queue_settle_op(x, false);
    enum err r = request_commit(rq, &op, 1);
    if (r == OK) resp_int(rq->w, op.is_met);
    return r;
}

static enum err parse_nack(struct request *rq, struct queue_settle *x)
{
    struct options o = {.rq = rq, .at = 2};
    enum err r = OK;
    while (r == OK && o.at < rq->argc) {
        struct slice arg;
        if (options_take(&o, "DELAY", 0)) {
            r = options_argument(&o, "DELAY", &arg);
            if (r == OK) r = arg_integer(rq, arg, "DELAY", 0, QUEUE_DELAY_MS_MAX, &x->delay_ms);
        } else if (options_take(&o, "ERROR", 1)) {
            r = options_argument(&o, "ERROR", &x->error);
            if (r == OK && x->error.len > QUEUE_ERROR_BYTES_MAX) {
                r = error_set(&rq->error, ERR_LIMIT, "ERROR text of %zu bytes is longer than %d",
                              x->error.len, QUEUE_ERROR_BYTES_MAX);
            }
        } else if (options_take(&o, "DEAD", 2)) {
            x->is_dead = true;
        } else {
            r = options_unknown(&o);
        }
    }
    return r;
}

static enum err kv_nack_run(struct request *rq)
{
    struct queue_settle x = {.queues = rq->env->db->queues, .kind = SETTLE_NACK, .delay_ms = -1};
    enum err r = arg_receipt(rq, rq->argv[1], &x.receipt);
    if (r == OK) r = parse_nack(rq, &x);
    return r == OK ? settle_one(rq, &x) : r;
}

const struct command kv_nack = {
    .name = "kv.nack",
    .arity = -2,
    .flags = CMD_QUEUE | CMD_WRITE | CMD_FAST | CMD_IDEM | CMD_FORMAT,
    .group = "queue",
    .since = "0.1.0",
    .summary = "Gives a message back: it comes again after its backoff, or is a dead letter.",
    .syntax = "receipt [DELAY milliseconds] [ERROR text] [DEAD]",
    .reply = "1, or 0 when the delivery is over.",
    .run = kv_nack_run,
    .subjects = receipt_subjects,
};

static enum err kv_extend_run(struct request *rq)
{
    struct queue_settle x = {.queues = rq->env->db->queues, .kind = SETTLE_EXTEND};
    enum err r = arg_receipt(rq, rq->argv[1], &x.receipt);
    if (r == OK) r = arg_integer(rq, rq->argv[2], "lease", 1, QUEUE_LEASE_MS_MAX, &x.lease_ms);
    return r == OK ? settle_one(rq, &x) : r;
}

const struct command kv_extend = {
    .name = "kv.extend",
    .arity = 3,
    .flags = CMD_QUEUE | CMD_WRITE | CMD_FAST | CMD_IDEM | CMD_FORMAT,
    .group = "queue",
    .since = "0.1.0",
    .summary = "Lets the lease of a message end so many milliseconds from now; the receipt stays.",
    .syntax = "receipt milliseconds",
    .reply = "1, or 0 when the delivery is over.",
    .run = kv_extend_run,
    .subjects = receipt_subjects,
};
