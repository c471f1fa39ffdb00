/* rest_queue: the one queue of REST, called `default`. A message is given out with the receipt of
 * its delivery; who answers by its id alone settles the delivery that is under way.
 */
#include "codec/json_lex.h"
#include "http/events.h"
#include "http/rest_members.h"
#include "queue/rows.h"

#define QUEUE "default"
#define DEAD_OFFSET_MAX 10000

/* ---- enqueue --------------------------------------------------------------------------------- */

static void enqueued(struct exchange *x)
{
    struct slice rest = buf_slice(&x->reply);
    if (rest_fails(x)) return;
    rest_begin(x);
    buf_append_str(&x->text, "{\"ok\":true,\"id\":");
    shape_write("$", &rest, &x->text);
    buf_append_byte(&x->text, '}');
    exchange_answer_json(x, 200);
}

void rest_enqueue_run(struct exchange *x)
{
    static const char *const names[] = {"value", "options", NULL};
    struct json_part parts[2];
    struct rest_object options;
    const struct rest_source s = {
        .x = x,
        .object = &options,
        .where = "options",
        .without = "queue value dedup",
        .aliases = "backoff backoffSchedule undelivered keysIfUndelivered"};
    const struct members *of = route_members(x->route);
    if (!rest_body(x, names, parts)) return;
    if (!rest_is_there(&parts[0])) {
        exchange_fail(x, 400, "value must be given");
        return;
    }
    struct rest_words w = rest_words_of(x, "KV.ENQUEUE " QUEUE);
    rest_words_add(&w, parts[0].raw);
    bool has_options = rest_is_there(&parts[1]);
    if (has_options && (!rest_take_object(x, &parts[1], "options", &options) ||
                        !rest_check_members(&s, of, NULL) || !rest_add_members(&w, &s, of))) {
        return;
    }
    rest_words_run(&w, enqueued);
}

/* ---- take, acknowledge ----------------------------------------------------------------------- */

/* "<text>" and the next item in this shape. */
static void put_next(struct buf *out, const char *text, const char *shape, struct slice *rest)
{
    buf_append_str(out, text);
    shape_write(shape, rest, out);
}

/* KV.DEQUEUE's [[queue, id, value, attempts, receipt]], or nothing in it. */
static void polled(struct exchange *x)
{
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    if (rest_fails(x)) return;
    rest_begin(x);
    if (!rest_next(&rest, &item) || item.is_nil || item.children == 0) {
        buf_append_str(&x->text, "{\"message\":null}");
    } else {
        (void)rest_skip(&rest, 2, &item); /* the message, its queue */
        put_next(&x->text, "{\"message\":{\"id\":", "$", &rest);
        put_next(&x->text, ",\"value\":", "!", &rest);
        put_next(&x->text, ",\"attempts\":", "#", &rest);
        put_next(&x->text, ",\"receipt\":", "$", &rest);
        buf_append_str(&x->text, "}}");
    }
    exchange_answer_json(x, 200);
}

void rest_poll_run(struct exchange *x)
{
    exchange_words(x, polled, WORDS("KV.DEQUEUE", QUEUE));
}

struct settling {
    const char *command;
    struct slice error; /* data NULL = none */
};

static void settled(struct exchange *x)
{
    if (!rest_fails(x)) rest_answer_ok(x, rest_is_one(x));
}

static void settle(struct exchange *x, struct slice receipt)
{
    const struct settling *t = x->task;
    struct rest_words w = rest_words_of(x, t->command);
    rest_words_add(&w, receipt);
    if (t->error.data != NULL) {
        rest_words_str(&w, "ERROR");
        rest_words_add(&w, t->error);
    }
    rest_words_run(&w, settled);
}

static void receipt_came(struct exchange *x)
{
    struct slice receipt = reply_text(buf_slice(&x->reply));
    if (rest_fails(x)) return;
    if (receipt.data == NULL) {
        rest_answer_ok(x, false);
        return;
    }
    settle(x, arena_copy(&x->arena, receipt));
}

static void begin_settling(struct exchange *x, const char *command)
{
    static const char *const names[] = {"id", "receipt", "error", NULL};
    struct json_part parts[3];
    struct slice text;
    if (!rest_body(x, names, parts)) return;
    struct settling *t = arena_alloc(&x->arena, sizeof *t);
    *t = (struct settling){.command = command};
    x->task = t;
    if (rest_is_there(&parts[2])) {
        if (!rest_body_text(x, &parts[2], "error", &t->error)) return;
        if (strcmp(command, "KV.NACK") != 0) {
            exchange_fail(x, 400, "error applies to nack");
            return;
        }
    }
    if (rest_is_there(&parts[1])) {
        if (rest_body_text(x, &parts[1], "receipt", &text)) settle(x, text);
        return;
    }
    if (!rest_body_text(x, &parts[0], "id", &text)) return;
    struct rest_words w = rest_words_of(x, "KV.QUEUE RECEIPT " QUEUE);
    rest_words_add(&w, text);
    rest_words_run(&w, receipt_came);
}

void rest_ack_run(struct exchange *x)
{
    begin_settling(x, "KV.ACK");
}

void rest_nack_run(struct exchange *x)
{
    begin_settling(x, "KV.NACK");
}

/* ---- figures --------------------------------------------------------------------------------- */

static int64_t figure(struct slice reply, const char *name)
{
    struct resp_item item;
    int64_t n = 0;
    (void)rest_next(&reply, &item);
    while (rest_next(&reply, &item)) {
        bool is_it = slice_eq(item.text, slice_str(name));
        if (!rest_next(&reply, &item)) return 0;
        if (is_it && slice_to_i64(item.text, &n)) return n;
    }
    return 0;
}

void rest_put_queue_stats(struct exchange *x, struct slice reply)
{
    int64_t pending = figure(reply, "ready") + figure(reply, "delayed");
    int64_t processing = figure(reply, "leased");
    int64_t dead = figure(reply, "dead");
    int64_t total = pending + processing + dead;
    buf_printf(&x->text, "{\"pending\":%lld,\"processing\":%lld,\"dlq\":%lld,\"total\":%lld}",
               (long long)pending, (long long)processing, (long long)dead, (long long)total);
}

static void stats_came(struct exchange *x)
{
    if (rest_fails(x)) return;
    rest_begin(x);
    rest_put_queue_stats(x, buf_slice(&x->reply));
    exchange_answer_json(x, 200);
}

void rest_stats_run(struct exchange *x)
{
    exchange_words(x, stats_came, WORDS("KV.QUEUE", "STATS", QUEUE));
}

/* ---- dead letters ---------------------------------------------------------------------------- */

/* [id, value, attempts, error, failed at] at *rest. */
static void put_dead(struct buf *out, struct slice *rest)
{
    struct resp_item item;
    if (!rest_next(rest, &item)) return;
    struct slice again = *rest;
    put_next(out, "{\"id\":", "$", &again);
    put_next(out, ",\"originalId\":", "$", rest);
    put_next(out, ",\"value\":", "!", rest);
    put_next(out, ",\"attempts\":", "#", rest);
    put_next(out, ",\"errorMessage\":", "$", rest);
    put_next(out, ",\"failedAt\":", "#", rest);
    buf_append_byte(out, '}');
}

struct paging {
    int64_t limit, offset;
};

static void skip_item(struct slice *rest)
{
    size_t len = resp_reply_length(*rest);
    *rest = slice_of(rest->data + len, rest->len - len);
}

static void dead_listed(struct exchange *x)
{
    const struct paging *t = x->task;
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    if (rest_fails(x)) return;
    rest_begin(x);
    buf_append_byte(&x->text, '[');
    if (rest_skip(&rest, 3, &item)) {
        for (size_t i = 0; i < item.children; i++) {
            if ((int64_t)i < t->offset) {
                skip_item(&rest);
                continue;
            }
            if ((int64_t)i > t->offset) buf_append_byte(&x->text, ',');
            put_dead(&x->text, &rest);
        }
    }
    buf_append_byte(&x->text, ']');
    exchange_answer_json(x, 200);
}

void rest_dead_list_run(struct exchange *x)
{
    struct paging *t = arena_alloc(&x->arena, sizeof *t);
    *t = (struct paging){0};
    if (!rest_limit(x, NULL, &t->limit)) return;
    if (!rest_query_integer(x, "offset", 0, DEAD_OFFSET_MAX - REST_LIMIT_MAX, &t->offset)) return;
    x->task = t;
    struct rest_words w = rest_words_of(x, "KV.DLQ LIST " QUEUE " COUNT");
    rest_words_number(&w, t->limit + t->offset);
    rest_words_run(&w, dead_listed);
}

static void not_found(struct exchange *x)
{
    exchange_fail(x, 404, "Message not found in DLQ");
}

static void dead_came(struct exchange *x)
{
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    if (rest_fails(x)) return;
    if (!resp_item_read(rest, &item) || item.is_nil) {
        not_found(x);
        return;
    }
    rest_begin(x);
    put_dead(&x->text, &rest);
    exchange_answer_json(x, 200);
}

static void dead_command(struct exchange *x, const char *what, exchange_step *step)
{
    struct slice id;
    if (!rest_path_text(x, "id", &id) || !rest_is_message_id(x, id)) return;
    struct rest_words w = rest_words_of(x, what);
    rest_words_str(&w, QUEUE);
    rest_words_add(&w, id);
    x->task = bytes_unconst(memcpy(arena_alloc(&x->arena, sizeof id), &id, sizeof id));
    rest_words_run(&w, step);
}

void rest_dead_get_run(struct exchange *x)
{
    dead_command(x, "KV.DLQ GET", dead_came);
}

static void requeued(struct exchange *x)
{
    const struct slice *id = x->task;
    if (rest_fails(x)) return;
    if (!rest_is_one(x)) {
        not_found(x);
        return;
    }
    rest_begin(x);
    buf_append_str(&x->text, "{\"ok\":true,\"newId\":");
    json_string_write(*id, &x->text);
    buf_append_byte(&x->text, '}');
    exchange_answer_json(x, 200);
}

void rest_dead_requeue_run(struct exchange *x)
{
    dead_command(x, "KV.DLQ REQUEUE", requeued);
}

static void dead_deleted(struct exchange *x)
{
    if (rest_fails(x)) return;
    if (rest_is_one(x)) {
        rest_answer_ok(x, true);
    } else {
        not_found(x);
    }
}

void rest_dead_delete_run(struct exchange *x)
{
    dead_command(x, "KV.DLQ DEL", dead_deleted);
}

static void dead_purged(struct exchange *x)
{
    if (!rest_fails(x)) rest_answer_shape(x, "deletedCount:#");
}

void rest_dead_purge_run(struct exchange *x)
{
    exchange_words(x, dead_purged, WORDS("KV.DLQ", "PURGE", QUEUE));
}

/* ---- listen ---------------------------------------------------------------------------------- */

/* A message that is pushed: {"queue","id","value","attempt","receipt"}. */
static void on_message(struct exchange *x, struct slice frame, uint64_t version)
{
    static const char *const names[] = {"queue", "id", "value", "attempt", "receipt", NULL};
    struct slice text;
    struct json_part body;
    struct json_part parts[5];
    struct error e;
    struct buf data;
    if (!rest_message_text(frame, &text)) return;
    if (json_check(text, &body, &e) != OK ||
        json_members(&body, names, parts, false, "a message", &e) != OK) {
        return;
    }
    buf_init(&data);
    buf_append_str(&data, "{\"id\":");
    buf_append(&data, parts[1].raw.data, parts[1].raw.len);
    buf_append_str(&data, ",\"value\":");
    buf_append(&data, parts[2].raw.data, parts[2].raw.len);
    buf_append_str(&data, ",\"attempts\":");
    buf_append(&data, parts[3].raw.data, parts[3].raw.len);
    buf_append_str(&data, ",\"receipt\":");
    buf_append(&data, parts[4].raw.data, parts[4].raw.len);
    buf_append_byte(&data, '}');
    event_send(x, "message", slice_of(parts[1].raw.data + 1, parts[1].raw.len - 2),
               buf_slice(&data), version);
    buf_fini(&data);
}

static void listening(struct exchange *x)
{
    if (rest_fails(x)) return;
    x->heartbeat = slice_str(EVENT_PING);
    exchange_stream(x, slice_of(NULL, 0), on_message);
}

void rest_listen_run(struct exchange *x)
{
    x->client.settings.proto = 3;
    exchange_words(x, listening, WORDS("SUBSCRIBE", "kv:queue:" QUEUE));
}
