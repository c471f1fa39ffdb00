/* queue_push: SUBSCRIBE kv:queue:<name>: messages of a queue, leased, as ordinary messages of
 * pub/sub to one of its subscribers (src/queue/push.c hands them out).
 *
 *   {"queue":..,"id":..,"value":..,"attempt":..,"receipt":..}     in the subscriber's format
 */
#include "base/htab.h"
#include "base/list.h"
#include "base/mem.h"
#include "codec/pack.h"
#include "codec/utf8.h"
#include "codec/value.h"
#include "command/queue/queue_int.h"
#include "request/args.h"
#include "request/feature.h"
#include "request/format.h"
#include "request/permission.h"
#include "request/selected.h"
#include "request/table.h"

#define QUEUE_CHANNEL "kv:queue:"
#define BACKLOG_BYTES (256u << 10) /* of unsent output, from which on nothing is pushed */

struct queue_channel {
    struct slice name; /* first; as subscribed; its bytes follow the struct */
    uint64_t hash;
    struct push_sub sub;
    struct env *env;
    struct client *client;
    enum format format;
    uint16_t database;
    struct queue_channel *next, *prev; /* of the client */
};

struct client_pushes {
    struct push_client push;
    struct htab channels;
    struct queue_channel *first;
};

/* ---- messages ---- */

static void put_name(struct buf *out, struct slice queue)
{
    if (utf8_valid_bytes(queue) == queue.len) {
        pack_str(out, queue);
    } else {
        pack_bin(out, queue);
    }
}

static void put_message(struct buf *out, const struct delivery *d)
{
    struct arena arena;
    arena_init(&arena, 1024);
    struct slice receipt = receipt_format(&arena, &d->delivered);
    buf_append_byte(out, 0x85);
    pack_str(out, slice_str("queue"));
    put_name(out, d->queue);
    pack_str(out, slice_str("id"));
    pack_str(out, slice_of(d->id, ID_CHARS));
    pack_str(out, slice_str("value"));
    buf_append(out, d->value.data, d->value.len);
    pack_str(out, slice_str("attempt"));
    pack_uint(out, d->delivered.attempt);
    pack_str(out, slice_str("receipt"));
    pack_str(out, receipt);
    arena_fini(&arena);
}

static struct queue_channel *channel_of(struct push_sub *s)
{
    return (struct queue_channel *)(void *)((char *)s - offsetof(struct queue_channel, sub));
}

static bool has_room(struct push_sub *s)
{
    const struct client *c = channel_of(s)->client;
    return !c->run.closes_after_reply && c->link->output_bytes < BACKLOG_BYTES;
}

static void put_json(struct buf *out, const struct delivery *d, enum format format)
{
    struct buf name;
    struct arena arena;
    arena_init(&arena, 1024);
    struct slice receipt = receipt_format(&arena, &d->delivered);
    buf_init(&name);
    put_name(&name, d->queue);
    buf_append_str(out, "{\"queue\":");
    if (!name.is_failed) value_to_json(buf_slice(&name), out);
    buf_append_str(out, ",\"id\":\"");
    buf_append(out, d->id, ID_CHARS);
    buf_append_str(out, "\",\"value\":");
    format_write_value(format, d->value, out);
    buf_append_str(out, ",\"attempt\":");
    buf_append_u64(out, d->delivered.attempt);
    buf_append_str(out, ",\"receipt\":\"");
    buf_append(out, receipt.data, receipt.len);
    buf_append_str(out, "\"}");
    buf_fini(&name);
    arena_fini(&arena);
}

static uint64_t deliver(struct push_sub *s, const struct delivery *d, uint64_t version)
{
    struct queue_channel *ch = channel_of(s);
    struct client *c = ch->client;
    struct buf frame;
    buf_init(&frame);
    struct resp_writer w = {.out = &frame, .proto = c->settings.proto};
    resp_push(&w, 3);
    resp_bulk_str(&w, "message");
    resp_bulk(&w, ch->name);
    struct resp_mark mark = resp_bulk_begin(&w, d->value.len + d->queue.len + 200);
    if (ch->format == FORMAT_MSGPACK) {
        put_message(&frame, d);
    } else {
        put_json(&frame, d, ch->format);
    }
    resp_bulk_end(&w, mark);
    /* What does not fit into memory is never sent; its lease ends. */
    if (!frame.is_failed) c->ops->write(c, buf_slice(&frame), version);
    uint64_t end = frame.is_failed ? UINT64_MAX : c->link->stream_sent + c->link->output_bytes;
    buf_fini(&frame);
    return end;
}

/* ---- subscribing ---- */

static bool queue_is_channel(struct slice name)
{
    return slice_has_prefix(name, slice_str(QUEUE_CHANNEL));
}

static struct slice queue_of_channel(struct slice name)
{
    size_t head = strlen(QUEUE_CHANNEL);
    return slice_of(name.data + head, name.len - head);
}

static enum err queue_check_channel(struct request *rq, struct slice name)
{
    enum err r = request_database(rq);
    return r == OK ? arg_queue(rq, queue_of_channel(name)) : r;
}

static void queue_channel_subjects(struct subjects *s, struct slice name)
{
    subjects_queue(s, queue_of_channel(name), ACCESS_WRITE);
}

static size_t prefetch_of(const struct env *env, const struct client *c)
{
    return c->queues.prefetch > 0 ? c->queues.prefetch : env->settings.queue_prefetch;
}

static void queue_subscribe(struct request *rq, struct slice name)
{
    struct client *c = rq->client;
    struct client_pushes *x = c->queues.pushes;
    if (x == NULL) {
        x = c->queues.pushes = mem_new(sizeof *x);
        htab_init(&x->channels);
        x->push.prefetch = prefetch_of(rq->env, c);
    }
    uint64_t hash = hash_bytes(name);
    if (htab_find(&x->channels, hash, name) != NULL) return;
    struct queue_channel *ch = mem_new(sizeof *ch + name.len);
    memcpy(ch + 1, name.data, name.len);
    ch->name = slice_of(ch + 1, name.len);
    ch->hash = hash;
    ch->env = rq->env;
    ch->client = c;
    ch->format = c->settings.format;
    ch->database = c->database;
    ch->sub = (struct push_sub){.client = &x->push, .has_room = has_room, .deliver = deliver};
    STACK_PUSH(x->first, ch, next, prev);
    htab_insert(&x->channels, hash, &ch->name);
    push_subscribe(rq->env->db->queues, &ch->sub, c->database, queue_of_channel(ch->name));
}

static void channel_end(struct queue_channel *ch, enum push_end end)
{
    struct client_pushes *x = ch->client->queues.pushes;
    push_unsubscribe(ch->env->db->queues, &ch->sub, end, ch->client->link->stream_sent);
    htab_remove(&x->channels, ch->hash, &ch->name);
    STACK_UNLINK(x->first, ch, next, prev);
    mem_free(ch);
}

static void queue_unsubscribe(struct client *c, struct slice name)
{
    if (c->queues.pushes == NULL) return;
    struct queue_channel *ch = htab_find(&c->queues.pushes->channels, hash_bytes(name), name);
    if (ch != NULL) channel_end(ch, PUSH_ENDED);
}

static void queue_unsubscribe_all(struct client *c, bool is_lost)
{
    struct client_pushes *x = c->queues.pushes;
    if (x == NULL) return;
    while (x->first != NULL) channel_end(x->first, is_lost ? PUSH_LOST : PUSH_ENDED);
    htab_fini(&x->channels);
    c->queues.pushes = NULL;
    mem_free(x);
}

static void push_client_gone(struct env *env, struct client *c)
{
    queue_unsubscribe_all(c, !env->server.is_stopping);
}

/* What it has not acknowledged is given back, uncounted. */
static void push_client_reset(struct env *env, struct client *c)
{
    (void)env;
    queue_unsubscribe_all(c, false);
}

/* The channels and queues are asked for with the channels (src/command/channel/pubsub.c), in the
 * database that is selected now; here, that in which they are. */
static bool push_user_changed(struct env *env, struct client *c)
{
    if (c->queues.pushes == NULL) return true;
    for (const struct queue_channel *ch = c->queues.pushes->first; ch != NULL; ch = ch->next) {
        if (!client_may_use(env, c, ch->database)) return false;
    }
    return true;
}

static const struct feature_channel push_channel = {
    .is_mine = queue_is_channel,
    .subjects = queue_channel_subjects,
    .check = queue_check_channel,
    .subscribe = queue_subscribe,
    .unsubscribe = queue_unsubscribe,
};

const struct feature push_feature = {
    .client_gone = push_client_gone,
    .client_reset = push_client_reset,
    .user_changed = push_user_changed,
    .channel = &push_channel,
};

/* ---- KV.QUEUE PREFETCH ---- */

struct prefetch {
    int64_t count;
};
ARGUMENTS(prefetch_arguments, struct prefetch, "count",
          ARG_INTEGER(struct prefetch, count, "count", 1, QUEUE_COUNT_MAX, 0));

static enum err prefetch_run(struct request *rq)
{
    struct client *c = rq->client;
    int64_t n = ((const struct prefetch *)rq->bound)->count;
    c->queues.prefetch = (size_t)n;
    if (c->queues.pushes != NULL) c->queues.pushes->push.prefetch = (size_t)n;
    resp_simple(rq->w, "OK");
    return OK;
}

const struct command queue_prefetch = {
    .name = "prefetch",
    .flags = CMD_QUEUE | CMD_CONNECTION | CMD_FAST | CMD_FORMAT,
    .group = "queue",
    .summary = "Sets how many unacknowledged messages may be pushed to this connection.",
    .arguments = &prefetch_arguments,
    .reply = "OK.",
    .run = prefetch_run,
};
