/* enqueue: see enqueue.h. Every error names the word that is wrong. */
#include "request/enqueue.h"

#include "base/bytes.h"
#include "request/hint.h"

enum err arg_queue(struct request *rq, struct slice arg)
{
    if (arg.len > 0 && arg.len <= QUEUE_NAME_BYTES_MAX) {
        return rq->guard != NULL ? rq->guard(rq, GUARDED_QUEUE, arg) : OK;
    }
    return error_set(&rq->error, ERR_SYNTAX, "the name of a queue has 1 to %d bytes, not %zu",
                     QUEUE_NAME_BYTES_MAX, arg.len);
}

enum err arg_receipt(struct request *rq, struct slice arg, struct receipt *out)
{
    if (receipt_parse(rq->arena, arg, out)) {
        return rq->guard != NULL ? rq->guard(rq, GUARDED_QUEUE, out->queue) : OK;
    }
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

static enum err parse_delays(struct options *o, struct message *m)
{
    int64_t count = 0;
    enum err r = options_integer(o, "BACKOFF", 0, QUEUE_BACKOFF_MAX, &count);
    if (r != OK) return r;
    uint8_t *delays = arena_alloc(o->rq->arena, 4 * (size_t)count);
    for (size_t i = 0; i < (size_t)count && r == OK; i++) {
        int64_t ms = 0;
        r = options_integer(o, "BACKOFF", 0, UINT32_MAX, &ms);
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
    enum err r = options_integer(o, "UNDELIVERED", 1, QUEUE_UNDELIVERED_MAX, &count);
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

enum err parse_message_option(struct options *o, struct message *m, bool *is_taken)
{
    *is_taken = true;
    if (options_take(o, "BACKOFF", OPTION_MESSAGE)) return parse_backoff(o, m);
    if (options_take(o, "UNDELIVERED", OPTION_MESSAGE + 1)) return parse_undelivered(o, m);
    *is_taken = false;
    return OK;
}

static const char *const enqueue_words[] = {"DELAY", "BACKOFF", "UNDELIVERED", "DEDUP"};
#define ENQUEUE_WORDS (sizeof enqueue_words / sizeof enqueue_words[0])

/* The option at o->at; *is_taken false when it is none of them. */
static enum err parse_enqueue_option(struct options *o, struct queue_enqueue *x, bool *is_taken)
{
    enum err taken = parse_message_option(o, &x->message, is_taken);
    if (taken != OK || *is_taken) return taken;
    *is_taken = true;
    if (options_take(o, "DELAY", 0)) {
        return options_integer(o, "DELAY", 0, QUEUE_DELAY_MS_MAX, &x->delay_ms);
    }
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

const uint8_t backoff_default[BACKOFF_DEFAULT_BYTES] = {0, 0, 3, 232, 0, 0, 19, 136, 0, 0, 39, 16};

enum err parse_enqueue(struct options *o, struct queue_enqueue *x)
{
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

static bool is_one_of(const char *const *words, struct slice word)
{
    while (*words != NULL && !slice_is_word(word, *words)) words++;
    return *words != NULL;
}

bool keys_of_message(const struct slice *argv, size_t argc, size_t *at, const char *const *others,
                     struct key_uses *out)
{
    while (*at < argc) {
        bool has_count = slice_is_word(argv[*at], "BACKOFF");
        bool has_keys = slice_is_word(argv[*at], "UNDELIVERED");
        bool is_other = is_one_of(others, argv[*at]);
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

bool keys_of_enqueue(const struct slice *argv, size_t argc, size_t *at, struct key_uses *out)
{
    static const char *const others[] = {"DELAY", "DEDUP", NULL};
    return keys_of_message(argv, argc, at, others, out);
}
