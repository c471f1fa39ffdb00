/* queue_admin: KV.QUEUE: what there is in the queues. */
#include "base/mem.h"
#include "command/queue/queue_int.h"
#include "request/args.h"
#include "request/block.h"
#include "request/shapes.h"
#include "request/table.h"

#define PEEK_DEFAULT 10
#define BULK_MAX 250 /* messages of one transaction of a long removal */

/* ---- long removals ---- */

struct bulk_pending {
    struct pending pending; /* first */
    uint64_t done;
    uint64_t damaged;    /* passed over */
    struct error damage; /* of the first of them */
    struct slot after;   /* how far it is */
    bool is_admitted;    /* the next transaction may be made */
};

static void bulk_free(struct pending *p)
{
    mem_free(p);
}

/* All that can be read were seen to. */
static enum err tell_damage(struct request *rq, const struct error *first, uint64_t damaged,
                            uint64_t done)
{
    char text[ERROR_TEXT_BYTES];
    memcpy(text, first->text, sizeof text);
    return error_set(&rq->error, ERR_CORRUPT,
                     "%s: dead letters that cannot be read: %llu; done: %llu", text,
                     (unsigned long long)damaged, (unsigned long long)done);
}

enum err queue_bulk_run(struct request *rq, enum bulk_kind kind, struct slice queue,
                        uint64_t *total)
{
    struct bulk_pending *d = (struct bulk_pending *)rq->client->run.pending;
    size_t max = rq->overlay != NULL ? engine_limits(rq->env->db->engine)->ops_max : BULK_MAX;
    struct queue_bulk x = {.queues = rq->env->db->queues,
                           .kind = kind,
                           .queue = queue,
                           .max = max,
                           .is_whole = rq->overlay != NULL};
    struct op op = queue_bulk_op(&x);
    enum err r = OK;
    if (d != NULL) {
        x.after = d->after;
        if (!d->is_admitted) r = engine_admit_bulk(rq->env->db->engine, rq->waiter, &rq->error);
        d->is_admitted = r == OK;
    }
    if (r == OK) r = request_commit(rq, &op, 1);
    if (r != OK) return r;
    if (x.is_more && rq->overlay != NULL) {
        return error_set(&rq->error, ERR_LIMIT,
                         "more messages than max-transaction-ops (%zu); with IDEM and inside "
                         "MULTI, the command is one transaction",
                         max);
    }
    *total = x.done + (d != NULL ? d->done : 0);
    uint64_t damaged = x.damaged + (d != NULL ? d->damaged : 0);
    const struct error *first = d != NULL && d->damaged > 0 ? &d->damage : &x.damage;
    if (!x.is_more) return damaged == 0 ? OK : tell_damage(rq, first, damaged, *total);
    if (d == NULL) {
        d = mem_new(sizeof *d);
        d->pending.free = bulk_free;
        rq->client->run.pending = &d->pending;
    }
    if (damaged > 0) d->damage = *first;
    d->damaged = damaged;
    d->done = *total;
    d->is_admitted = false;
    if (x.done + x.damaged > 0) d->after = x.last;
    return client_yield(rq, NULL);
}

/* ---- PEEK, PURGE ---- */

struct peek {
    struct slice queue;
    int64_t count;
};
ARGUMENTS_WITH(peek_arguments, struct peek, "queue [COUNT count]", WITH(.members = "COUNT limit"),
               ARG_QUEUE(struct peek, queue, "queue", ACCESS_READ),
               ARG_INTEGER(struct peek, count, "COUNT", 1, QUEUE_COUNT_MAX, PEEK_DEFAULT));

static enum err peek_run(struct request *rq)
{
    const struct peek *a = rq->bound;
    struct queue_reading reading;
    struct queue_page p = {.queue = a->queue, .space = SPACE_READY, .max = (size_t)a->count};
    queue_view_begin(rq, &reading);
    enum err r = queue_page(rq->env->db->queues, &reading.view, &p, &rq->error);
    queue_view_end(rq, &reading);
    if (r != OK) return r;
    resp_array(rq->w, p.count);
    for (size_t i = 0; i < p.count; i++) {
        char id[ID_CHARS];
        id_format(&p.items[i].id, id);
        resp_array(rq->w, 4);
        resp_bulk(rq->w, slice_of(id, ID_CHARS));
        reply_value(rq->w, rq->format, p.items[i].value);
        resp_int(rq->w, p.items[i].attempts);
        resp_int(rq->w, p.items[i].time_ms);
    }
    return OK;
}

static const struct command sub_peek = {
    .name = "peek",
    .flags = CMD_QUEUE | CMD_READ | CMD_FORMAT,
    .group = "queue",
    .summary = "Returns the next messages, delayed ones included, without leasing them.",
    .arguments = &peek_arguments,
    .reply = "`[[id, value, attempts so far, due at ms] ...]`, in the order in which they are due.",
    .run = peek_run,
};

static enum err purge_run(struct request *rq)
{
    const struct queue_named *a = rq->bound;
    struct queue_bulk x = {.queues = rq->env->db->queues, .kind = BULK_PURGE, .queue = a->queue};
    struct op op = queue_bulk_op(&x);
    enum err r = request_commit(rq, &op, 1);
    if (r == OK) resp_int(rq->w, (int64_t)x.done);
    return r;
}

static const struct command sub_purge = {
    .name = "purge",
    .flags = CMD_QUEUE | CMD_WRITE | CMD_IDEM | CMD_FORMAT,
    .group = "queue",
    .summary = "Removes all messages of a queue, leased ones included. Dead letters stay.",
    .arguments = &write_queue_arguments,
    .reply = "The number of entries removed.",
    .run = purge_run,
};

/* ---- RECEIPT ---- */

static enum err receipt_run(struct request *rq)
{
    const struct queue_message *a = rq->bound;
    struct queue_reading reading;
    struct receipt lease;
    queue_view_begin(rq, &reading);
    enum err r = queue_lease(rq->env->db->queues, &reading.view, a->queue, &a->id, &lease,
                             &rq->error);
    queue_view_end(rq, &reading);
    if (r != OK) return r;
    if (lease.attempt > 0) resp_bulk(rq->w, receipt_format(rq->arena, &lease));
    if (lease.attempt == 0) resp_nil(rq->w);
    return OK;
}

static const struct command sub_receipt = {
    .name = "receipt",
    .flags = CMD_QUEUE | CMD_READ | CMD_FAST | CMD_FORMAT,
    .group = "queue",
    .summary = "Returns the receipt of the current delivery of a message, given its id.",
    .arguments = &write_message_arguments,
    .reply = "The receipt, for KV.ACK, KV.NACK and KV.EXTEND, or nil if the message is not leased.",
    .run = receipt_run,
};

COMMAND_HELP("queue", CMD_QUEUE);

static const struct command *const queue_subcommands[] = {
    &queue_export, &sub_help,    &queue_hold,      &queue_list, &sub_peek, &queue_prefetch,
    &sub_purge,    &sub_receipt, &queue_stats_sub, &queue_top,  NULL,
};

const struct command kv_queue = {
    .name = "kv.queue",
    .group = "queue",
    .summary = "A container for commands about queues.",
    .arguments = &container_arguments,
    .brief = "<LIST | TOP | PREFETCH n | HOLD y | <STATS | PEEK | PURGE | EXPORT | RECEIPT> q>",
    .subcommands = queue_subcommands,
};
