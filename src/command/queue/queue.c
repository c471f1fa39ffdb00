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

enum err queue_read_subjects(struct request *rq, struct subjects *out)
{
    subjects_queue(out, rq->argv[2], ACCESS_READ);
    return OK;
}

enum err queue_write_subjects(struct request *rq, struct subjects *out)
{
    subjects_queue(out, rq->argv[2], ACCESS_WRITE);
    return OK;
}

/* ---- KV.ENQUEUE ---- */

static enum err kv_enqueue_run(struct request *rq)
{
    struct options o = {.rq = rq, .at = 1};
    struct queue_enqueue x;
    enum err r = parse_enqueue(&o, &x);
    if (r == OK && o.at < rq->argc) r = options_unknown(&o);
    if (r != OK) return r;
    struct op op = queue_enqueue_op(&x);
    r = request_commit(rq, &op, 1);
    if (r != OK) return r;
    if (x.is_repeat) {
        resp_nil(rq->w);
    } else {
        resp_bulk(rq->w, slice_of(x.id, ID_CHARS));
    }
    return OK;
}

static bool kv_enqueue_keys(const struct slice *argv, size_t argc, struct key_uses *out)
{
    size_t at = 3;
    return keys_of_enqueue(argv, argc, &at, out) && at == argc;
}

static enum err kv_enqueue_subjects(struct request *rq, struct subjects *out)
{
    subjects_queue(out, rq->argv[1], ACCESS_WRITE);
    return subjects_keys(out);
}

const struct command kv_enqueue = {
    .name = "kv.enqueue",
    .arity = -3,
    .flags = CMD_QUEUE | CMD_WRITE | CMD_FAST | CMD_IDEM | CMD_FORMAT,
    .key_flags = KEY_OW | KEY_UPDATE,
    .group = "queue",
    .since = "0.1.0",
    .summary = "Puts a message into a queue.",
    .syntax = "queue value [DELAY milliseconds] [BACKOFF count [milliseconds ...]] [UNDELIVERED "
              "numkeys key [key ...]] [DEDUP id]",
    .reply = "The message's id; nil when DEDUP has seen the id within `dedup-window`.",
    .run = kv_enqueue_run,
    .keys = kv_enqueue_keys,
    .subjects = kv_enqueue_subjects,
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
    while (c->unsent != NULL && c->unsent->end <= c->link->stream_sent) {
        struct unsent *next = c->unsent->next;
        mem_free(c->unsent);
        c->unsent = next;
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
    *(c->unsent != NULL ? &c->unsent_last->next : &c->unsent) = u;
    c->unsent_last = u;
}

static void unsent_cut(struct client *c, uint64_t end)
{
    struct unsent **at = &c->unsent;
    while (*at != NULL && (*at)->end <= end) {
        c->unsent_last = *at;
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
    while (c->unsent != NULL) {
        struct unsent *u = c->unsent;
        c->unsent = u->next;
        for (size_t i = 0; u->end > c->link->stream_sent && i < u->count; i++) {
            queue_return(env->db->queues, u->database, &u->receipts[i]);
        }
        mem_free(u);
    }
}

static void unsent_reply_cut(struct client *c, uint64_t end)
{
    if (c->unsent != NULL) unsent_cut(c, end);
}

static void unsent_reply_placed(struct client *c, uint64_t from, uint64_t end)
{
    for (struct unsent *u = c->unsent; u != NULL; u = u->next) {
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

struct dequeue_args {
    struct slice *names;
    size_t name_count;
    int64_t count, lease_ms, block_ms;
    bool is_blocking;
};

static void dequeue_free(struct pending *p)
{
    struct dequeue_pending *d = (struct dequeue_pending *)p;
    consumer_free(d->consumer);
    mem_free(d);
}

static enum err parse_names(struct options *o, struct dequeue_args *a)
{
    int64_t count = 0;
    enum err r = options_integer(o, "ALSO", 1, QUEUE_COUNT_MAX, &count);
    if (r != OK) return r;
    struct slice *names = arena_alloc(o->rq->arena, (size_t)(count + 1) * sizeof *names);
    names[0] = a->names[0];
    a->names = names;
    for (; count > 0; count--) {
        r = options_argument(o, "ALSO", &names[a->name_count]);
        if (r == OK) r = arg_queue(o->rq, names[a->name_count]);
        if (r != OK) return r;
        a->name_count++;
    }
    return OK;
}

static enum err parse_also(struct options *o, struct dequeue_args *a)
{
    enum err r = parse_names(o, a);
    if (r != OK) hint_count(o->rq, "further queues", "ALSO 2 normal slow");
    return r;
}

static enum err parse_dequeue(struct request *rq, struct dequeue_args *a)
{
    struct options o = {.rq = rq, .at = 2};
    int64_t lease_ms = queues_options(rq->env->db->queues)->lease_ms;
    *a = (struct dequeue_args){
        .names = &rq->argv[1], .name_count = 1, .count = 1, .lease_ms = lease_ms};
    enum err r = arg_queue(rq, rq->argv[1]);
    while (r == OK && o.at < rq->argc) {
        if (options_take(&o, "ALSO", 0)) {
            r = parse_also(&o, a);
        } else if (options_take(&o, "COUNT", 1)) {
            r = options_integer(&o, "COUNT", 1, QUEUE_COUNT_MAX, &a->count);
        } else if (options_take(&o, "LEASE", 2)) {
            r = options_integer(&o, "LEASE", 1, QUEUE_LEASE_MS_MAX, &a->lease_ms);
        } else if (options_take(&o, "BLOCK", 3)) {
            a->is_blocking = true;
            r = options_integer(&o, "BLOCK", 0, BLOCK_MS_MAX, &a->block_ms);
        } else {
            r = options_unknown(&o);
        }
    }
    return r;
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
static enum err dequeue_block(struct request *rq, const struct dequeue_args *a)
{
    struct dequeue_pending *d = (struct dequeue_pending *)rq->client->pending;
    if (d == NULL) {
        d = mem_new(sizeof *d);
        d->pending.free = dequeue_free;
        d->consumer = consumer_new(rq->env->db->queues, rq->client->database, a->names,
                                   a->name_count);
        rq->client->pending = &d->pending;
    }
    consumer_wait(d->consumer, rq->waiter);
    return client_block(rq, a->block_ms);
}

static enum err kv_dequeue_run(struct request *rq)
{
    struct dequeue_args a;
    const struct dequeue_pending *d = (const struct dequeue_pending *)rq->client->pending;
    enum block_end end = client_block_end(rq->client);
    enum err r = parse_dequeue(rq, &a);
    if (r != OK) return r;
    if (end == BLOCK_FAILED) {
        return error_set(&rq->error, ERR_UNBLOCKED, "client unblocked via CLIENT UNBLOCK");
    }
    struct queue_dequeue x = {.queues = rq->env->db->queues,
                              .names = a.names,
                              .name_count = a.name_count,
                              .count_max = (size_t)a.count,
                              .lease_ms = a.lease_ms,
                              .consumer = d != NULL ? d->consumer : NULL};
    if (end == BLOCK_GOES_ON) {
        struct op op = queue_dequeue_op(&x);
        r = request_commit(rq, &op, 1);
        if (r != OK) return r;
    }
    if (x.count > 0) {
        reply_messages(rq, &x);
        return OK;
    }
    if (a.is_blocking && end == BLOCK_GOES_ON && rq->overlay == NULL) return dequeue_block(rq, &a);
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

static enum err kv_dequeue_subjects(struct request *rq, struct subjects *out)
{
    static const char *const others[] = {"COUNT", "LEASE", "BLOCK"};
    subjects_queue(out, rq->argv[1], ACCESS_WRITE);
    for (size_t at = 2; at < rq->argc; at += 2) {
        uint64_t count = 0;
        bool is_known = false;
        for (size_t i = 0; i < 3; i++) is_known |= slice_is_word(rq->argv[at], others[i]);
        if (is_known) continue;
        out->is_unclear = !slice_is_word(rq->argv[at], "ALSO") || at + 1 == rq->argc ||
                          !slice_to_u64(rq->argv[at + 1], &count) || count > rq->argc - at - 2;
        if (out->is_unclear) return OK;
        for (size_t i = 0; i < count; i++) {
            subjects_queue(out, rq->argv[at + 2 + i], ACCESS_WRITE);
        }
        at += count;
    }
    return OK;
}

const struct command kv_dequeue = {
    .name = "kv.dequeue",
    .arity = -2,
    .flags = CMD_QUEUE | CMD_WRITE | CMD_FAST | CMD_BLOCKING | CMD_FORMAT,
    .group = "queue",
    .since = "0.1.0",
    .summary = "Leases messages; waits for one with BLOCK.",
    .syntax = "queue [ALSO numqueues other-queue [other-queue ...]] [COUNT count] [LEASE "
              "milliseconds] [BLOCK milliseconds]",
    .reply = "`[[queue, id, value, attempt, receipt] ...]`; nil when there is none.",
    .run = kv_dequeue_run,
    .own_words = kv_dequeue_own_words,
    .subjects = kv_dequeue_subjects,
};
