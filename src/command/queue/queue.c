/* queue: KV.ENQUEUE and KV.DEQUEUE, and the deliveries whose reply has not been written yet: when
 * the client goes before that, they are taken back and cost no attempt.
 */
#include "command/queue/queue_int.h"

#include "base/mem.h"
#include "request/args.h"
#include "request/block.h"
#include "request/feature.h"
#include "request/hint.h"
#include "request/table.h"

#define BLOCK_MS_MAX ((int64_t)INT32_MAX * 1000)
/* To look for messages, and to lease one (engine_take_steps). */
#define DEQUEUE_STEPS 2000
#define LEASE_STEPS 12000

/* ---- transactions ---- */

void queue_view_begin(struct request *rq, struct queue_reading *r)
{
    struct engine *g = rq->env->db->engine;
    r->own = rq->overlay == NULL ? engine_begin(g, rq->arena) : NULL;
    struct overlay *o = r->own != NULL ? r->own : rq->overlay;
    r->view = view_over(g, o, rq->client->database, rq->waiter);
}

void queue_view_end(struct request *rq, struct queue_reading *r)
{
    depends_raise(&rq->depends, r->view.depends);
    engine_discard(r->own);
}

/* ---- words of several commands ---- */

SHARED_ARGUMENTS(read_queue_arguments, struct queue_named, "queue",
                 ARG_QUEUE(struct queue_named, queue, "queue", ACCESS_READ));
SHARED_ARGUMENTS(write_queue_arguments, struct queue_named, "queue",
                 ARG_QUEUE(struct queue_named, queue, "queue", ACCESS_WRITE));
SHARED_ARGUMENTS(read_message_arguments, struct queue_message, "queue id",
                 ARG_QUEUE(struct queue_message, queue, "queue", ACCESS_READ),
                 ARG_MESSAGE_ID(struct queue_message, id, "id"));
SHARED_ARGUMENTS(write_message_arguments, struct queue_message, "queue id",
                 ARG_QUEUE(struct queue_message, queue, "queue", ACCESS_WRITE),
                 ARG_MESSAGE_ID(struct queue_message, id, "id"));

/* ---- KV.ENQUEUE ---- */

static enum err kv_enqueue_run(struct request *rq)
{
    struct queue_enqueue *x = &((struct enqueue *)rq->bound)->x;
    struct op op = queue_enqueue_op(x);
    enum err r = request_commit(rq, &op, 1);
    if (r != OK) return r;
    if (x->is_repeat) {
        resp_nil(rq->w);
    } else {
        resp_bulk(rq->w, slice_of(x->id, ID_CHARS));
    }
    return OK;
}

const struct command kv_enqueue = {
    .name = "kv.enqueue",
    .flags = CMD_QUEUE | CMD_WRITE | CMD_FAST | CMD_IDEM | CMD_FORMAT,
    .group = "queue",
    .summary = "Adds a message to a queue.",
    .arguments = &enqueue_arguments,
    .reply = "The id of the message, or nil if DEDUP has seen its id within `dedup-window`.",
    .run = kv_enqueue_run,
};

/* ---- deliveries whose reply was not written ---- */

/* The deliveries of one DEQUEUE. */
struct unsent {
    struct unsent *next;
    uint64_t end; /* of its reply, in the stream of the connection's output */
    uint16_t database;
    size_t count;
    struct receipt receipts[]; /* names of queues follow */
};

static void unsent_add(struct request *rq, const struct queue_dequeue *x)
{
    struct client *c = rq->client;
    size_t bytes = 0;
    while (c->queues.unsent != NULL && c->queues.unsent->end <= c->link->stream_sent) {
        struct unsent *next = c->queues.unsent->next;
        mem_free(c->queues.unsent);
        c->queues.unsent = next;
    }
    for (size_t i = 0; i < x->count; i++) bytes += x->items[i].queue.len;
    struct unsent *u = mem_alloc(sizeof *u + x->count * sizeof u->receipts[0] + bytes);
    *u = (struct unsent){
        .end = c->link->stream_base + rq->w->out->len, .database = c->database, .count = x->count};
    uint8_t *names = (uint8_t *)(u->receipts + x->count);
    for (size_t i = 0; i < x->count; i++) {
        struct slice name = x->items[i].queue;
        u->receipts[i] = x->items[i].delivered;
        bytes_copy(names, name.data, name.len);
        u->receipts[i].queue = slice_of(names, name.len);
        names += name.len;
    }
    *(c->queues.unsent != NULL ? &c->queues.unsent_last->next : &c->queues.unsent) = u;
    c->queues.unsent_last = u;
}

static void unsent_cut(struct client *c, uint64_t end)
{
    struct unsent **at = &c->queues.unsent;
    while (*at != NULL && (*at)->end <= end) {
        c->queues.unsent_last = *at;
        at = &(*at)->next;
    }

    while (*at != NULL) {
        struct unsent *u = *at;
        *at = u->next;
        mem_free(u);
    }
}

static void unsent_end(struct env *env, struct client *c)
{
    while (c->queues.unsent != NULL) {
        struct unsent *u = c->queues.unsent;
        c->queues.unsent = u->next;
        for (size_t i = 0; u->end > c->link->stream_sent && i < u->count; i++) {
            queue_return(env->db->queues, u->database, &u->receipts[i]);
        }
        mem_free(u);
    }
}

static void unsent_reply_cut(struct client *c, uint64_t end)
{
    if (c->queues.unsent != NULL) unsent_cut(c, end);
}

static void unsent_reply_placed(struct client *c, uint64_t from, uint64_t end)
{
    for (struct unsent *u = c->queues.unsent; u != NULL; u = u->next) {
        if (u->end > from) u->end = end;
    }
}

const struct feature unsent_feature = {
    .reply_placed = unsent_reply_placed,
    .client_gone = unsent_end,
    .reply_cut = unsent_reply_cut,
};

/* ---- KV.DEQUEUE ---- */

struct dequeue_pending {
    struct pending pending; /* first */
    struct consumer *consumer;
};

struct dequeue {
    struct slice queue;
    struct slices others;
    int64_t count, lease_ms,
        block_ms;        /* lease_ms 0 = as the setting says; block_ms -1 = no BLOCK */
    struct slice *names; /* of all of them, that of `queue` first */
    size_t name_count;
};

static enum err check_dequeue(struct request *rq, void *bound)
{
    struct dequeue *a = bound;
    a->name_count = 1 + a->others.count;
    a->names = arena_alloc(rq->arena, a->name_count * sizeof *a->names);
    a->names[0] = a->queue;
    for (size_t i = 0; i < a->others.count; i++) a->names[i + 1] = a->others.items[i];
    if (a->lease_ms == 0) a->lease_ms = queues_options(rq->env->db->queues)->lease_ms;
    return OK;
}

ARGUMENTS_WITH(dequeue_arguments, struct dequeue,
               "queue [ALSO numqueues other-queue [other-queue ...]] [COUNT count] "
               "[LEASE milliseconds] [BLOCK milliseconds]",
               WITH(.check = check_dequeue, .members = "BLOCK wait"),
               ARG_QUEUE(struct dequeue, queue, "queue", ACCESS_WRITE),
               ARG_COUNT("numqueues", 1, QUEUE_COUNT_MAX, "further queues", "ALSO 2 normal slow"),
               ARG_QUEUES(struct dequeue, others, "other-queue", ACCESS_WRITE),
               ARG_INTEGER(struct dequeue, count, "COUNT", 1, QUEUE_COUNT_MAX, 1),
               ARG_INTEGER(struct dequeue, lease_ms, "LEASE", 1, QUEUE_LEASE_MS_MAX, 0),
               ARG_INTEGER(struct dequeue, block_ms, "BLOCK", 0, BLOCK_MS_MAX, -1));

static void dequeue_free(struct pending *p)
{
    struct dequeue_pending *d = (struct dequeue_pending *)p;
    consumer_free(d->consumer);
    mem_free(d);
}

static void reply_messages(struct request *rq, const struct queue_dequeue *x)
{
    resp_array(rq->w, x->count);
    for (size_t i = 0; i < x->count; i++) {
        const struct delivery *d = &x->items[i];
        resp_array(rq->w, 5);
        resp_bulk(rq->w, d->queue);
        resp_bulk(rq->w, slice_of(d->id, ID_CHARS));
        reply_value(rq->w, rq->format, d->value);
        resp_int(rq->w, d->delivered.attempt);
        resp_bulk(rq->w, receipt_format(rq->arena, &d->delivered));
    }
    unsent_add(rq, x);
}

/* Keeps the place in the lines that it got the first time. */
static enum err dequeue_block(struct request *rq, const struct dequeue *a)
{
    struct dequeue_pending *d = (struct dequeue_pending *)rq->client->run.pending;
    if (d == NULL) {
        d = mem_new(sizeof *d);
        d->pending.free = dequeue_free;
        d->consumer = consumer_new(rq->env->db->queues, rq->client->database, a->names,
                                   a->name_count);
        rq->client->run.pending = &d->pending;
    }
    consumer_wait(d->consumer, rq->waiter);
    return client_block(rq, a->block_ms);
}

static enum err kv_dequeue_run(struct request *rq)
{
    const struct dequeue *a = rq->bound;
    const struct dequeue_pending *d = (const struct dequeue_pending *)rq->client->run.pending;
    enum block_end end = client_block_end(rq->client);
    if (end == BLOCK_FAILED) {
        return error_set(&rq->error, ERR_UNBLOCKED, "client unblocked via CLIENT UNBLOCK");
    }
    struct queue_dequeue x = {.queues = rq->env->db->queues,
                              .names = a->names,
                              .name_count = a->name_count,
                              .count_max = (size_t)a->count,
                              .lease_ms = a->lease_ms,
                              .consumer = d != NULL ? d->consumer : NULL};
    if (end == BLOCK_GOES_ON) {
        struct op op = queue_dequeue_op(&x);
        enum err r = request_take_steps(rq, DEQUEUE_STEPS);
        if (r == OK) r = request_commit(rq, &op, 1);
        if (r != OK) return r;
        engine_count_steps(rq->overlay, x.count * LEASE_STEPS);
    }
    if (x.count > 0) {
        reply_messages(rq, &x);
        return OK;
    }
    bool is_blocking = a->block_ms >= 0 && rq->overlay == NULL;
    if (is_blocking && end == BLOCK_GOES_ON) return dequeue_block(rq, a);
    resp_nil_array(rq->w);
    return OK;
}

/* ALSO n queue ...: names are any words. */
static size_t kv_dequeue_own_words(const struct slice *argv, size_t argc)
{
    for (size_t at = 2; at + 1 < argc; at += 2) {
        uint64_t count = 0;
        if (!slice_is_word(argv[at], "ALSO")) continue;
        return slice_to_u64(argv[at + 1], &count) && count < argc ? at + 2 + count : 0;
    }
    return 0;
}

const struct command kv_dequeue = {
    .name = "kv.dequeue",
    .flags = CMD_QUEUE | CMD_WRITE | CMD_FAST | CMD_BLOCKING | CMD_FORMAT,
    .group = "queue",
    .summary = "Leases messages. With BLOCK it waits for one.",
    .arguments = &dequeue_arguments,
    .reply = "`[[queue, id, value, attempt, receipt] ...]`, or nil if there is no message.",
    .run = kv_dequeue_run,
    .own_words = kv_dequeue_own_words,
};
