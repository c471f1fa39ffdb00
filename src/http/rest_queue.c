/* rest_queue: the one queue of REST, called `default`. A message is given out with the receipt of
 * its delivery; who answers by its id alone settles the delivery that is under way.
 */
#include "codec/json_lex.h"
#include "http/events.h"
#include "http/reply_json.h"
#include "http/rest.h"
#include "queue/rows.h"

#define QUEUE "default"
#define DEAD_OFFSET_MAX 10000
#define DELAY_MS_MAX (366LL * 24 * 3600 * 1000)
#define BACKOFF_MAX 1000

/* ---- enqueue --------------------------------------------------------------------------------- */

static void enqueued(struct exchange *x)
{
    struct slice id = reply_text(buf_slice(&x->reply));
    if (exchange_fails(x)) return;
    rest_begin(x);
    buf_append_str(&x->text, "{\"ok\":true,\"id\":");
    json_string_write(id, &x->text);
    buf_append_byte(&x->text, '}');
    exchange_answer_json(x, 200);
}

bool rest_add_backoff(struct exchange *x, struct rest_words *w, const struct json_part *part,
                      const char *name)
{
    struct json_part item;
    int64_t count = 0;
    if (!rest_is_there(part)) return true;
    if (part->kind != JSON_ARRAY) {
        exchange_fail(x, 400, "%s must be an array of milliseconds", name);
        return false;
    }
    for (struct slice rest = json_inside(part); json_next_item(&rest, &item);) count++;
    rest_words_str(w, "BACKOFF");
    rest_words_number(w, count);
    for (struct slice rest = json_inside(part); json_next_item(&rest, &item);) {
        int64_t ms = 0;
        if (!rest_body_integer(x, &item, name, 0, DELAY_MS_MAX, &ms)) return false;
        rest_words_number(w, ms);
    }
    return true;
}

bool rest_add_undelivered(struct exchange *x, struct rest_words *w, const struct json_part *part,
                          const char *name, rest_read_key *read_key)
{
    struct json_part item;
    struct slice key;
    int64_t count = 0;
    if (!rest_is_there(part)) return true;
    if (part->kind != JSON_ARRAY) {
        exchange_fail(x, 400, "%s must be an array of keys", name);
        return false;
    }
    for (struct slice rest = json_inside(part); json_next_item(&rest, &item);) count++;
    if (count == 0) return true;
    rest_words_str(w, "UNDELIVERED");
    rest_words_number(w, count);
    for (struct slice rest = json_inside(part); json_next_item(&rest, &item);) {
        if (!read_key(x, &item, name, &key)) return false;
        rest_words_add(w, key);
    }
    return true;
}

static bool add_options(struct exchange *x, struct rest_words *w, const struct json_part *options)
{
    static const char *const names[] = {"delay", "backoffSchedule", "keysIfUndelivered", NULL};
    struct json_part parts[3];
    struct error e;
    int64_t delay_ms = 0;
    if (!rest_is_there(options)) return true;
    if (json_members(options, names, parts, true, "options", &e) != OK) {
        exchange_fail(x, 400, "%s", e.text);
        return false;
    }
    if (!rest_body_integer(x, &parts[0], "options.delay", 0, DELAY_MS_MAX, &delay_ms)) return false;
    if (delay_ms > 0) {
        rest_words_str(w, "DELAY");
        rest_words_number(w, delay_ms);
    }
    return rest_add_backoff(x, w, &parts[1], "options.backoffSchedule") &&
           rest_add_undelivered(x, w, &parts[2], "options.keysIfUndelivered", rest_body_key);
}

void rest_enqueue_run(struct exchange *x)
{
    static const char *const names[] = {"value", "options", NULL};
    struct json_part parts[2];
    if (!rest_body(x, names, parts)) return;
    if (!rest_is_there(&parts[0])) {
        exchange_fail(x, 400, "value must be there");
        return;
    }
    struct rest_words w = rest_words_of(x, "KV.ENQUEUE");
    rest_words_str(&w, QUEUE);
    rest_words_add(&w, parts[0].raw);
    if (add_options(x, &w, &parts[1])) rest_words_run(&w, enqueued);
}

/* ---- take, acknowledge ----------------------------------------------------------------------- */

static void put_text(struct buf *out, struct slice *rest)
{
    struct resp_item item;
    if (rest_next(rest, &item)) json_string_write_lossy(item.text, out);
}

static void put_bare(struct buf *out, struct slice *rest)
{
    struct resp_item item;
    if (rest_next(rest, &item)) buf_append(out, item.text.data, item.text.len);
}

static void polled(struct exchange *x)
{
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    if (exchange_fails(x)) return;
    rest_begin(x);
    if (!rest_next(&rest, &item) || item.is_nil || !rest_next(&rest, &item)) {
        buf_append_str(&x->text, "{\"message\":null}");
        exchange_answer_json(x, 200);
        return;
    }
    (void)rest_next(&rest, &item); /* the queue */
    buf_append_str(&x->text, "{\"message\":{\"id\":");
    put_text(&x->text, &rest);
    buf_append_str(&x->text, ",\"value\":");
    put_bare(&x->text, &rest);
    buf_append_str(&x->text, ",\"attempts\":");
    put_bare(&x->text, &rest);
    buf_append_str(&x->text, ",\"receipt\":");
    put_text(&x->text, &rest);
    buf_append_str(&x->text, "}}");
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
    if (!exchange_fails(x)) rest_answer_ok(x, rest_is_one(x));
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
    if (exchange_fails(x)) return;
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
            exchange_fail(x, 400, "error is for nack");
            return;
        }
    }
    if (rest_is_there(&parts[1])) {
        if (rest_body_text(x, &parts[1], "receipt", &text)) settle(x, text);
        return;
    }
    if (!rest_body_text(x, &parts[0], "id", &text)) return;
    struct rest_words w = rest_words_of(x, "KV.QUEUE");
    rest_words_str(&w, "RECEIPT");
    rest_words_str(&w, QUEUE);
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
    if (exchange_fails(x)) return;
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
    buf_append_str(out, "{\"id\":");
    put_text(out, rest);
    buf_append_str(out, ",\"originalId\":");
    put_text(out, &again);
    buf_append_str(out, ",\"value\":");
    put_bare(out, rest);
    buf_append_str(out, ",\"attempts\":");
    put_bare(out, rest);
    buf_append_str(out, ",\"errorMessage\":");
    put_text(out, rest);
    buf_append_str(out, ",\"failedAt\":");
    put_bare(out, rest);
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
    if (exchange_fails(x)) return;
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
    struct rest_words w = rest_words_of(x, "KV.DLQ");
    rest_words_str(&w, "LIST");
    rest_words_str(&w, QUEUE);
    rest_words_str(&w, "COUNT");
    rest_words_number(&w, t->limit + t->offset);
    rest_words_run(&w, dead_listed);
}

bool rest_is_message_id(struct exchange *x, struct slice text)
{
    struct message_id id;
    if (id_parse(text, &id)) return true;
    exchange_fail(x, 400, "ERR invalid message id '%.*s'", (int)(text.len < 64 ? text.len : 64),
                  (const char *)text.data);
    return false;
}

/* The id that ends the path, before `tail`. */
static bool path_id(struct exchange *x, struct slice *id)
{
    struct slice rest = x->rest;
    struct slice raw = http_path_part(&rest);
    if (http_decode(raw, false, &x->arena, id) && id->len > 0) return rest_is_message_id(x, *id);
    exchange_fail(x, 400, "id must be a non-empty string");
    return false;
}

static void not_found(struct exchange *x)
{
    exchange_fail(x, 404, "Message not found in DLQ");
}

static void dead_came(struct exchange *x)
{
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    if (exchange_fails(x)) return;
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
    if (!path_id(x, &id)) return;
    struct rest_words w = rest_words_of(x, "KV.DLQ");
    rest_words_str(&w, what);
    rest_words_str(&w, QUEUE);
    rest_words_add(&w, id);
    x->task = bytes_unconst(memcpy(arena_alloc(&x->arena, sizeof id), &id, sizeof id));
    rest_words_run(&w, step);
}

void rest_dead_get_run(struct exchange *x)
{
    dead_command(x, "GET", dead_came);
}

static void requeued(struct exchange *x)
{
    const struct slice *id = x->task;
    if (exchange_fails(x)) return;
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
    struct slice rest = x->rest;
    (void)http_path_part(&rest);
    if (!slice_eq(rest, slice_str("/requeue"))) {
        exchange_fail(x, 404, "there is nothing at that path");
        return;
    }
    dead_command(x, "REQUEUE", requeued);
}

static void dead_deleted(struct exchange *x)
{
    if (exchange_fails(x)) return;
    if (rest_is_one(x)) {
        rest_answer_ok(x, true);
    } else {
        not_found(x);
    }
}

void rest_dead_delete_run(struct exchange *x)
{
    dead_command(x, "DEL", dead_deleted);
}

static void dead_purged(struct exchange *x)
{
    rest_answer_integer(x, "deletedCount");
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
    if (exchange_fails(x)) return;
    x->heartbeat = slice_str(EVENT_PING);
    exchange_stream(x, slice_of(NULL, 0), on_message);
}

void rest_listen_run(struct exchange *x)
{
    x->client.proto = 3;
    exchange_words(x, listening, WORDS("SUBSCRIBE", "kv:queue:" QUEUE));
}
