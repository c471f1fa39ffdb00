/* queue_receipt: what a receipt is good for: KV.ACK, KV.NACK, KV.EXTEND. A receipt of a delivery
 * that is over answers 0 and touches nothing.
 */
#include "command/queue/queue_int.h"
#include "request/args.h"
#include "request/table.h"

/* ---- KV.ACK ---- */

struct ack {
    struct {
        struct queue_settle *items;
        size_t count;
    } settles;
};
ARGUMENTS(ack_one, struct queue_settle, "receipt", ARG_FIXED(struct queue_settle, kind, SETTLE_ACK),
          ARG_RECEIPT(struct queue_settle, receipt, "receipt"));
ARGUMENTS_WITH(ack_arguments, struct ack, "receipt [receipt ...]",
               WITH(.members = "receipt receipts"),
               ARG_LIST(struct ack, settles, "receipt", ack_one, NULL));

static enum err kv_ack_run(struct request *rq)
{
    const struct ack *a = rq->bound;
    size_t count = a->settles.count;
    struct op *ops = arena_alloc(rq->arena, count * sizeof *ops);
    for (size_t i = 0; i < count; i++) {
        a->settles.items[i].queues = rq->env->db->queues;
        ops[i] = queue_settle_op(&a->settles.items[i], false);
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
    .flags = CMD_QUEUE | CMD_WRITE | CMD_FAST | CMD_IDEM | CMD_FORMAT,
    .group = "queue",
    .summary = "Acknowledges messages, which removes them from their queues.",
    .arguments = &ack_arguments,
    .reply = "The number of messages acknowledged. A receipt whose delivery has ended does not "
             "count.",
    .run = kv_ack_run,
};

/* ---- KV.NACK, KV.EXTEND ---- */

static enum err settle_run(struct request *rq)
{
    struct queue_settle *x = rq->bound;
    x->queues = rq->env->db->queues;
    struct op op = queue_settle_op(x, false);
    enum err r = request_commit(rq, &op, 1);
    if (r == OK) resp_int(rq->w, op.is_met);
    return r;
}

ARGUMENTS(nack_arguments, struct queue_settle, "receipt [DELAY milliseconds] [DEAD] [ERROR text]",
          ARG_FIXED(struct queue_settle, kind, SETTLE_NACK),
          ARG_RECEIPT(struct queue_settle, receipt, "receipt"),
          ARG_INTEGER(struct queue_settle, delay_ms, "DELAY", 0, QUEUE_DELAY_MS_MAX, -1),
          ARG_TEXT(struct queue_settle, error, "ERROR", 0, QUEUE_ERROR_BYTES_MAX),
          ARG_FLAG(struct queue_settle, is_dead, "DEAD"));

const struct command kv_nack = {
    .name = "kv.nack",
    .flags = CMD_QUEUE | CMD_WRITE | CMD_FAST | CMD_IDEM | CMD_FORMAT,
    .group = "queue",
    .summary = "Returns a message to its queue. It is redelivered after its backoff, or becomes a "
               "dead letter.",
    .arguments = &nack_arguments,
    .reply = "1, or 0 if the delivery has ended.",
    .run = settle_run,
};

ARGUMENTS_WITH(extend_arguments, struct queue_settle, "receipt milliseconds",
               WITH(.members = "milliseconds lease"),
               ARG_FIXED(struct queue_settle, kind, SETTLE_EXTEND),
               ARG_RECEIPT(struct queue_settle, receipt, "receipt"),
               ARG_INTEGER(struct queue_settle, lease_ms, "milliseconds", 1, QUEUE_LEASE_MS_MAX,
                           0));

const struct command kv_extend = {
    .name = "kv.extend",
    .flags = CMD_QUEUE | CMD_WRITE | CMD_FAST | CMD_IDEM | CMD_FORMAT,
    .group = "queue",
    .summary = "Extends the lease of a message to a number of milliseconds from now. The receipt "
               "does not change.",
    .arguments = &extend_arguments,
    .reply = "1, or 0 if the delivery has ended.",
    .run = settle_run,
};
