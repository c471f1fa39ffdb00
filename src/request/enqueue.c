/* enqueue: see enqueue.h. Every error names the word that is wrong. */
#include "request/enqueue.h"

#include "base/bytes.h"
#include "request/keys.h"
#include "request/subjects.h"

enum err arg_queue(struct request *rq, struct slice arg)
{
    if (arg.len > 0 && arg.len <= QUEUE_NAME_BYTES_MAX) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "the name of a queue must have 1 to %d bytes, not %zu",
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
              "; the receipt is the last element of a delivery: [queue, id, value, attempt, "
              "receipt]");
    return ERR_SYNTAX;
}

enum err arg_message_id(struct request *rq, struct slice arg, struct message_id *out)
{
    if (id_parse(arg, out)) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "invalid message id '%.*s'",
                     (int)(arg.len < 64 ? arg.len : 64), (const char *)arg.data);
}

/* ---- kinds ---- */

static enum err read_queue(struct request *rq, const struct argument *a, struct slice word,
                           void *to)
{
    (void)a;
    memcpy(to, &word, sizeof word);
    return arg_queue(rq, word);
}

static void queue_subjects(struct subjects *s, const struct argument *a, const void *from)
{
    const struct slice *name = from;
    subjects_queue(s, *name, a->flags);
}
const struct argument_kind arg_kind_queue = {.read = read_queue, .subjects = queue_subjects};

static enum err read_receipt(struct request *rq, const struct argument *a, struct slice word,
                             void *to)
{
    (void)a;
    return arg_receipt(rq, word, to);
}

static void receipt_subjects(struct subjects *s, const struct argument *a, const void *from)
{
    const struct receipt *x = from;
    (void)a;
    subjects_queue(s, x->queue, ACCESS_WRITE);
}
const struct argument_kind arg_kind_receipt = {.read = read_receipt, .subjects = receipt_subjects};

static enum err read_message_id(struct request *rq, const struct argument *a, struct slice word,
                                void *to)
{
    (void)a;
    return arg_message_id(rq, word, to);
}
const struct argument_kind arg_kind_message_id = {.read = read_message_id};

/* Text of a limited length. */
static enum err read_text(struct request *rq, const struct argument *a, struct slice word, void *to)
{
    memcpy(to, &word, sizeof word);
    if (word.len >= (size_t)a->min && word.len <= (size_t)a->max) return OK;
    return error_set(&rq->error, a->min > 0 ? ERR_SYNTAX : ERR_LIMIT,
                     "%s must have %lld to %lld bytes, not %zu", a->name, (long long)a->min,
                     (long long)a->max, word.len);
}
const struct argument_kind arg_kind_text = {.read = read_text};

/* ---- the options of a message ---- */

const uint8_t backoff_default[BACKOFF_DEFAULT_BYTES] = {0, 0, 3, 232, 0, 0, 19, 136, 0, 0, 39, 16};

SHARED_ARGUMENTS(message_options, struct message_options,
                 "[BACKOFF count [milliseconds ...]] [UNDELIVERED numkeys key [key ...]]",
                 ARG_CHOICE(struct message_options, has_backoff, {"BACKOFF", 1}),
                 ARG_COUNT("count", 0, QUEUE_BACKOFF_MAX, "delays", "BACKOFF 2 1000 5000"),
                 ARG_INTEGERS(struct message_options, delays, "milliseconds", 0, UINT32_MAX),
                 ARG_CHOICE(struct message_options, has_undelivered, {"UNDELIVERED", 1}),
                 ARG_COUNT("numkeys", 1, QUEUE_UNDELIVERED_MAX, "keys",
                           "UNDELIVERED 1 [\"failed\",7]"),
                 ARG_KEYS(struct message_options, undelivered, "key", KEY_OW | KEY_UPDATE));

/* As a row of the queue has them: each with its length before it. */
static void take_undelivered(struct request *rq, const struct slices *keys, struct message *m)
{
    size_t bytes = 0;
    for (size_t i = 0; i < keys->count; i++) bytes += 2 + engine_key_tuple(keys->items[i]).len;
    uint8_t *p = arena_alloc(rq->arena, bytes);
    m->undelivered_count = keys->count;
    m->undelivered = p;
    m->undelivered_bytes = bytes;
    for (size_t i = 0; i < keys->count; i++) {
        struct slice tuple = engine_key_tuple(keys->items[i]);
        p[0] = (uint8_t)(tuple.len >> 8);
        p[1] = (uint8_t)tuple.len;
        memcpy(p + 2, tuple.data, tuple.len);
        p += 2 + tuple.len;
    }
}

void message_take_options(struct request *rq, const struct message_options *o, struct message *m)
{
    m->backoff_count = BACKOFF_DEFAULT_BYTES / 4;
    m->backoff = backoff_default;
    if (o->has_backoff) {
        uint8_t *delays = arena_alloc(rq->arena, 4 * o->delays.count);
        for (size_t i = 0; i < o->delays.count; i++) {
            put_u32(delays + 4 * i, (uint32_t)o->delays.items[i]);
        }
        m->backoff_count = o->delays.count;
        m->backoff = delays;
    }
    if (o->has_undelivered) take_undelivered(rq, &o->undelivered, m);
}

/* ---- ENQUEUE ---- */

static enum err check_enqueue(struct request *rq, void *bound)
{
    struct enqueue *a = bound;
    a->x.queues = rq->env->db->queues;
    message_take_options(rq, &a->options, &a->x.message);
    return OK;
}

SHARED_ARGUMENTS_WITH(enqueue_arguments, struct enqueue,
                      "queue value [DELAY milliseconds] options [DEDUP id]",
                      WITH(.check = check_enqueue),
                      ARG_QUEUE(struct enqueue, x.queue, "queue", ACCESS_WRITE),
                      ARG_VALUE(struct enqueue, x.message.value, "value"),
                      ARG_INTEGER(struct enqueue, x.delay_ms, "DELAY", 0, QUEUE_DELAY_MS_MAX, 0),
                      ARG_INSIDE(struct enqueue, options, "options", message_options),
                      ARG_TEXT(struct enqueue, x.dedup, "DEDUP", 1, QUEUE_DEDUP_BYTES_MAX));
