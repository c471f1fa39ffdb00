/* queue: KV.ENQUEUE and KV.DEQUEUE, and the deliveries whose reply has not been written yet: when
 * the client goes before that, they are taken back and cost no attempt.
 */
#include "command/queue.h"

#include "base/mem.h"
#include "command/commands.h"
#include "command/hint.h"

#define BLOCK_MS_MAX ((int64_t)INT32_MAX * 1000)

/* ---- arguments ---- */

enum err arg_queue(struct request *rq, struct slice arg)
{
    if (arg.len > 0 && arg.len <= QUEUE_NAME_BYTES_MAX) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "the name of a queue has 1 to %d bytes, not %zu",
                     QUEUE_NAME_BYTES_MAX, arg.len);
}

enum err arg_receipt(struct request *rq, struct slice arg, struct receipt *out)
{
    if (receipt_parse(rq->arena, arg, out)) return OK;
    struct message_id id;
    (void)error_set(&rq->error, ERR_SYNTAX, "invalid receipt '%.*s'",
                    (int)(arg.len < 64 ? arg.len : 64), (const char *)arg.data);
    if (id_parse(arg, &id)) error_add(&rq->error, ", which is the id of a message");
    error_add(&rq->error,
              "; a receipt is the last of what a delivery is: [queue, id, value, attempt, "
              "receipt]");
    return ERR_SYNTAX;
}

enum err arg_message_id(struct request *rq, struct slice arg, struct message_id *out)
{
    if (id_parse(arg, out)) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "invalid message id '%.*s'",
                     (int)(arg.len < 64 ? arg.len : 64), (const char *)arg.data);
}

static enum err option_integer(struct options *o, const char *word, int64_t min, int64_t max,
                               int64_t *out)
{
    struct slice arg;
    enum err r = options_argument(o, word, &arg);
    return r == OK ? arg_integer(o->rq, arg, word, min, max, out) : r;
}

static enum err parse_delays(struct options *o, struct message *m)
{
    int64_t count = 0;
    enum err r = option_integer(o, "BACKOFF", 0, QUEUE_BACKOFF_MAX, &count);
    if (r != OK) return r;
    uint8_t *delays = arena_alloc(o->rq->arena, 4 * (size_t)count);
    for (size_t i = 0; i < (size_t)count && r == OK; i++) {
        int64_t ms = 0;
        r = option_integer(o, "BACKOFF", 0, UINT32_MAX, &ms);
        put_u32(delays + 4 * i, (uint32_t)ms);
    }
    m->backoff_count = (size_t)count;
    m->backoff = delays;
    return r;
}

static enum err parse_backoff(struct options *o, struct message *m)
{
    enum err r = parse_delays(o, m);
    if (r != OK) hint_count(o->rq, "delays", "BACKOFF 2 1000 5000");
    return r;
}

static enum err parse_keys(struct options *o, struct message *m)
{
    int64_t count = 0;
    struct request *rq = o->rq;
    enum err r = option_integer(o, "UNDELIVERED", 1, QUEUE_UNDELIVERED_MAX, &count);
    if (r != OK) return r;
    struct slice *tuples = arena_alloc(rq->arena, (size_t)count * sizeof *tuples);
    size_t bytes = 0;
    for (size_t i = 0; i < (size_t)count; i++) {
        struct slice arg;
        struct slice key = {0};
        r = options_argument(o, "UNDELIVERED", &arg);
        if (r == OK) r = arg_key(rq, arg, &key);
        if (r != OK) return r;
        tuples[i] = engine_key_tuple(key);
        bytes += 2 + tuples[i].len;
    }
    uint8_t *p = arena_alloc(rq->arena, bytes);
    m->undelivered_count = (size_t)count;
    m->undelivered = p;
    m->undelivered_bytes = bytes;
    for (size_t i = 0; i < (size_t)count; i++) {
        p[0] = (uint8_t)(tuples[i].len >> 8);
        p[1] = (uint8_t)tuples[i].len;
        memcpy(p + 2, tuples[i].data, tuples[i].len);
        p += 2 + tuples[i].len;
    }
    return OK;
}

static enum err parse_undelivered(struct options *o, struct message *m)
{
    enum err r = parse_keys(o, m);
    if (r != OK) hint_count(o->rq, "keys", "UNDELIVERED 1 [\"failed\",7]");
    return r;
}

static const char *const enqueue_words[] = {"DELAY", "BACKOFF", "UNDELIVERED", "DEDUP"};
#define ENQUEUE_WORDS (sizeof enqueue_words / sizeof enqueue_words[0])

/* The option at o->at; *is_taken false when it is none of them. */
static enum err parse_enqueue_option(struct options *o, struct queue_enqueue *x, bool *is_taken)
{
    *is_taken = true;
    if (options_take(o, "DELAY", 0)) {
        return option_integer(o, "DELAY", 0, QUEUE_DELAY_MS_MAX, &x->delay_ms);
    }
    if (options_take(o, "BACKOFF", 1)) return parse_backoff(o, &x->message);
    if (options_take(o, "UNDELIVERED", 2)) return parse_undelivered(o, &x->message);
    if (options_take(o, "DEDUP", 3)) {
        enum err r = options_argument(o, "DEDUP", &x->dedup);
        if (r != OK || (x->dedup.len > 0 && x->dedup.len <= QUEUE_DEDUP_BYTES_MAX)) return r;
        return error_set(&o->rq->error, ERR_SYNTAX, "DEDUP must be an id of 1 to %d bytes, not %zu",
                         QUEUE_DEDUP_BYTES_MAX, x->dedup.len);
    }
    *is_taken = false;
    for (size_t i = 0; o->at < o->rq->argc && i < ENQUEUE_WORDS; i++) {
        if (slice_is_word(o->rq->argv[o->at], enqueue_words[i])) return options_unknown(o);
    }
    return OK;
}

enum err parse_enqueue(struct options *o, struct queue_enqueue *x)
{
    static const uint8_t backoff_default[] = {0, 0, 3, 232, 0, 0, 19, 136, 0, 0, 39, 16};
    struct slice value = {0};
    bool is_taken = true;
    *x = (struct queue_enqueue){.queues = o->rq->env->db->queues,
                                .message = {.backoff_count = 3, .backoff = backoff_default}};
    enum err r = options_argument(o, "ENQUEUE", &x->queue);
    if (r == OK) r = arg_queue(o->rq, x->queue);
    if (r == OK) r = options_argument(o, "ENQUEUE", &value);
    if (r == OK) r = arg_value(o->rq, value, &x->message.value);
    o->seen = 0;
    while (r == OK && is_taken) r = parse_enqueue_option(o, x, &is_taken);
    return r;
}

bool keys_of_enqueue(const struct slice *argv, size_t argc, size_t *at, struct key_uses *out)
{
    while (*at < argc) {
        bool has_count = slice_is_word(argv[*at], "BACKOFF");
        bool has_keys = slice_is_word(argv[*at], "UNDELIVERED");
        bool is_other = slice_is_word(argv[*at], "DELAY") || slice_is_word(argv[*at], "DEDUP");
        int64_t count = 0;
        if (!has_count && !has_keys && !is_other) return true;
        if (*at + 1 >= argc) return false;
        if (!is_other && (!slice_to_i64(argv[*at + 1], &count) || count < 0)) return false;
        *at += 2;
        for (; count > 0; count--, ++*at) {
            if (*at >= argc) return false;
            if (has_keys) key_uses_add(out, argv[*at], KEY_OW | KEY_UPDATE);
        }
    }
    return true;
}

/* ---- transactions ---- */

enum err queue_commit(struct request *rq, struct op *ops, size_t count)
{
    struct txn t = {.overlay = rq->overlay,
                    .database = rq->client->database,
                    .ops = ops,
                    .count = count,
                    .arena = rq->arena};
    enum err r = engine_commit(rq->env->db->engine, &t, rq->waiter, &rq->error);
    depends_raise(&rq->depends, t.depends);
    if (r == OK) rq->env->stats.writes++;
    return r;
}

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

/* ---- KV.ENQUEUE ---- */

static enum err kv_enqueue_run(struct request *rq)
{
    struct options o = {.rq = rq, .at = 1};
    struct queue_enqueue x;
    enum err r = parse_enqueue(&o, &x);
    if (r == OK && o.at < rq->argc) r = options_unknown(&o);
    if (r != OK) return r;
    struct op op = queue_enqueue_op(&x);
    r = queue_commit(rq, &op, 1);
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

const struct command kv_enqueue = {
    .name = "kv.enqueue",
    .arity = -3,
    .flags = CMD_WRITE | CMD_FAST | CMD_IDEM | CMD_FORMAT,
    .key_flags = KEY_OW | KEY_UPDATE,
    .group = "queue",
    .since = "0.1.0",
    .summary = "Puts a message into a queue.",
    .syntax = "queue value [DELAY milliseconds] [BACKOFF count [milliseconds ...]] [UNDELIVERED "
              "numkeys key [key ...]] [DEDUP id]",
    .reply = "The message's id; nil when DEDUP has seen the id within `dedup-window`.",
    .run = kv_enqueue_run,
    .keys = kv_enqueue_keys,
};

/* ---- deliveries whose reply was not written ---- */

/* The deliveries of one DEQUEUE. */
struct unsent {
    struct unsent *next;
    uint64_t end; /* of its reply, in the stream of the connection's output */
    uint8_t database;
    size_t count;
    struct receipt receipts[]; /* names of queues follow */
};

static void unsent_add(struct request *rq, const struct queue_dequeue *x)
{
    struct client *c = rq->client;
    size_t bytes = 0;
    while (c->unsent != NULL && c->unsent->end <= c->stream_sent) {
        struct unsent *next = c->unsent->next;
        mem_free(c->unsent);
        c->unsent = next;
    }
    for (size_t i = 0; i < x->count; i++) bytes += x->items[i].queue.len;
    struct unsent *u = mem_alloc(sizeof *u + x->count * sizeof u->receipts[0] + bytes);
    *u = (struct unsent){
        .end = c->stream_base + rq->w->out->len, .database = c->database, .count = x->count};
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

void unsent_cut(struct client *c, uint64_t end)
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

void unsent_end(struct env *env, struct client *c)
{
    while (c->unsent != NULL) {
        struct unsent *u = c->unsent;
        c->unsent = u->next;
        for (size_t i = 0; u->end > c->stream_sent && i < u->count; i++) {
            queue_return(env->db->queues, u->database, &u->receipts[i]);
        }
        mem_free(u);
    }
}

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
    enum err r = option_integer(o, "ALSO", 1, QUEUE_COUNT_MAX, &count);
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
            r = option_integer(&o, "COUNT", 1, QUEUE_COUNT_MAX, &a->count);
        } else if (options_take(&o, "LEASE", 2)) {
            r = option_integer(&o, "LEASE", 1, QUEUE_LEASE_MS_MAX, &a->lease_ms);
        } else if (options_take(&o, "BLOCK", 3)) {
            a->is_blocking = true;
            r = option_integer(&o, "BLOCK", 0, BLOCK_MS_MAX, &a->block_ms);
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
        r = queue_commit(rq, &op, 1);
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

const struct command kv_dequeue = {
    .name = "kv.dequeue",
    .arity = -2,
    .flags = CMD_WRITE | CMD_FAST | CMD_BLOCKING | CMD_FORMAT,
    .group = "queue",
    .since = "0.1.0",
    .summary = "Leases messages; waits for one with BLOCK.",
    .syntax = "queue [ALSO numqueues other-queue [other-queue ...]] [COUNT count] [LEASE "
              "milliseconds] [BLOCK milliseconds]",
    .reply = "`[[queue, id, value, attempt, receipt] ...]`; nil when there is none.",
    .run = kv_dequeue_run,
    .own_words = kv_dequeue_own_words,
};
