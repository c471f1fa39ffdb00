/* kv_queue: queues by typed REST: figures, messages, deliveries with receipts. */
#include "http/kv_rest.h"

#include "codec/json_lex.h"
#include "http/reply_json.h"
#include "queue/rows.h"

#define MS_MAX (366LL * 24 * 3600 * 1000)

/* The words of a command about the queue of the path. False: answered. */
static bool queue_words(struct exchange *x, struct rest_words *w, const char *command,
                        const char *sub)
{
    struct slice rest = x->rest;
    return kv_rest_path_words(x, &rest, "the name of the queue", WORDS(command, sub), w);
}

/* ---- figures --------------------------------------------------------------------------------- */

static void put_queue_name(struct buf *out, struct slice *rest)
{
    struct resp_item item;
    if (rest_next(rest, &item)) json_string_write_lossy(item.text, out);
}

static void queues_came(struct exchange *x)
{
    if (kv_rest_fails(x)) return;
    kv_rest_answer_objects(x, "queues", buf_slice(&x->reply), put_queue_name);
}

void kv_rest_queues_run(struct exchange *x)
{
    exchange_words(x, queues_came, WORDS("KV.QUEUE", "LIST"));
}

static void figures_came(struct exchange *x)
{
    struct slice rest = buf_slice(&x->reply);
    if (kv_rest_fails(x)) return;
    rest_begin(x);
    buf_append_byte(&x->text, '{');
    kv_rest_put_members(&x->text, &rest);
    buf_append_byte(&x->text, '}');
    exchange_answer_json(x, 200);
}

void kv_rest_queue_run(struct exchange *x)
{
    struct rest_words w;
    if (queue_words(x, &w, "KV.QUEUE", "STATS")) rest_words_run(&w, figures_came);
}

static void purged(struct exchange *x)
{
    kv_rest_answer_count(x, "deletedCount");
}

void kv_rest_purge_run(struct exchange *x)
{
    struct rest_words w;
    if (queue_words(x, &w, "KV.QUEUE", "PURGE")) kv_rest_write(x, &w, purged);
}

static void put_waiting(struct buf *out, struct slice *rest)
{
    static const struct kv_rest_field fields[] = {
        {"id", true}, {"value", false}, {"attempts", false}, {"dueAt", false}, {NULL, false}};
    kv_rest_put_object(out, rest, fields);
}

static void peeked(struct exchange *x)
{
    if (kv_rest_fails(x)) return;
    kv_rest_answer_objects(x, "messages", buf_slice(&x->reply), put_waiting);
}

void kv_rest_peek_run(struct exchange *x)
{
    struct rest_words w;
    int64_t limit = REST_LIMIT_DEFAULT;
    if (!rest_query_integer(x, "limit", 1, REST_LIMIT_MAX, &limit) ||
        !queue_words(x, &w, "KV.QUEUE", "PEEK")) {
        return;
    }
    rest_words_str(&w, "COUNT");
    rest_words_number(&w, limit);
    rest_words_run(&w, peeked);
}

/* ---- messages -------------------------------------------------------------------------------- */

bool kv_rest_add_message(struct exchange *x, struct rest_words *w, const struct json_part *parts,
                         const char *where)
{
    struct slice dedup;
    if (!rest_is_there(&parts[0])) {
        exchange_fail(x, 400, "%s: value must be there", where);
        return false;
    }
    rest_words_add(w, parts[0].raw);
    if (!kv_rest_add_number(w, "DELAY", &parts[1], "delay", 0, MS_MAX) ||
        !rest_add_backoff(x, w, &parts[2], "backoff") ||
        !rest_add_undelivered(x, w, &parts[3], "undelivered", kv_rest_body_key)) {
        return false;
    }
    if (!rest_is_there(&parts[4])) return true;
    if (!rest_body_text(x, &parts[4], "dedup", &dedup)) return false;
    rest_words_str(w, "DEDUP");
    rest_words_add(w, dedup);
    return true;
}

static void message_came(struct exchange *x)
{
    struct slice id = reply_text(buf_slice(&x->reply));
    if (kv_rest_fails(x)) return;
    rest_begin(x);
    buf_append_str(&x->text,
                   id.data != NULL ? "{\"ok\":true,\"id\":" : "{\"ok\":false,\"id\":null");
    if (id.data != NULL) json_string_write(id, &x->text);
    buf_append_byte(&x->text, '}');
    exchange_answer_json(x, 200);
}

void kv_rest_enqueue_run(struct exchange *x)
{
    static const char *const names[] = {KV_REST_MESSAGE_NAMES, NULL};
    struct json_part parts[KV_REST_MESSAGE_PARTS];
    struct rest_words w;
    if (!rest_body(x, names, parts) || !queue_words(x, &w, "KV.ENQUEUE", NULL)) return;
    if (kv_rest_add_message(x, &w, parts, "the body")) kv_rest_write(x, &w, message_came);
}

static void put_delivery(struct buf *out, struct slice *rest)
{
    static const struct kv_rest_field fields[] = {{"queue", true},   {"id", true},
                                                  {"value", false},  {"attempt", false},
                                                  {"receipt", true}, {NULL, false}};
    kv_rest_put_object(out, rest, fields);
}

static void leased(struct exchange *x)
{
    if (kv_rest_fails(x)) return;
    kv_rest_answer_objects(x, "messages", buf_slice(&x->reply), put_delivery);
}

/* "also": other queues, which are looked at after the one of the path. */
static bool add_also(struct exchange *x, struct rest_words *w, const struct json_part *also)
{
    if (!rest_is_there(also)) return true;
    int64_t count = kv_rest_count(x, also, "also", 0);
    if (count <= 0) return count == 0;
    rest_words_str(w, "ALSO");
    rest_words_number(w, count);
    return kv_rest_add_texts(x, w, also, "also");
}

void kv_rest_lease_run(struct exchange *x)
{
    static const char *const names[] = {"count", "lease", "wait", "also", NULL};
    struct json_part parts[4];
    struct rest_words w;
    int64_t wait_ms = 0;
    if (!kv_rest_body(x, names, parts) || !kv_rest_has_no_idem(x) ||
        !queue_words(x, &w, "KV.DEQUEUE", NULL) || !add_also(x, &w, &parts[3]) ||
        !kv_rest_add_number(&w, "COUNT", &parts[0], "count", 1, REST_LIMIT_MAX) ||
        !kv_rest_add_number(&w, "LEASE", &parts[1], "lease", 1, MS_MAX) ||
        !rest_body_integer(x, &parts[2], "wait", 0, MS_MAX, &wait_ms)) {
        return;
    }
    if (wait_ms > 0) {
        rest_words_str(&w, "BLOCK");
        rest_words_number(&w, wait_ms);
    }
    rest_words_run(&w, leased);
}

/* ---- receipts -------------------------------------------------------------------------------- */

/* Is it one of the queue of the path, and no other word of a command? */
static bool is_of_queue(struct exchange *x, struct slice receipt)
{
    struct slice rest = x->rest;
    struct slice name;
    struct receipt r;
    if (!kv_rest_path_text(x, &rest, "the name of the queue", &name)) return false;
    if (!receipt_parse(&x->arena, receipt, &r)) {
        exchange_fail(x, 400, "invalid receipt '%.*s'", (int)(receipt.len < 64 ? receipt.len : 64),
                      (const char *)receipt.data);
        return false;
    }
    if (slice_eq(r.queue, name)) return true;
    exchange_fail(x, 400, "the receipt is of the queue '%.*s'",
                  (int)(r.queue.len < 64 ? r.queue.len : 64), (const char *)r.queue.data);
    return false;
}

static bool take_receipt(struct exchange *x, const struct json_part *part, struct slice *out)
{
    return rest_body_text(x, part, "receipt", out) && is_of_queue(x, *out);
}

static void settled_one(struct exchange *x)
{
    if (!kv_rest_fails(x)) rest_answer_ok(x, rest_is_one(x));
}

static void settled_many(struct exchange *x)
{
    kv_rest_answer_count(x, "count");
}

void kv_rest_ack_run(struct exchange *x)
{
    static const char *const names[] = {"receipt", "receipts", NULL};
    struct json_part parts[2];
    struct json_part item;
    struct slice text;
    struct rest_words w = rest_words_of(x, "KV.ACK");
    if (!rest_body(x, names, parts)) return;
    if (rest_is_there(&parts[0]) == rest_is_there(&parts[1])) {
        exchange_fail(x, 400, "say receipt, or receipts");
        return;
    }
    if (rest_is_there(&parts[0])) {
        if (!take_receipt(x, &parts[0], &text)) return;
        rest_words_add(&w, text);
        kv_rest_write(x, &w, settled_one);
        return;
    }
    if (kv_rest_count(x, &parts[1], "receipts", 1) < 0) return;
    for (struct slice rest = json_inside(&parts[1]); json_next_item(&rest, &item);) {
        if (!take_receipt(x, &item, &text)) return;
        rest_words_add(&w, text);
    }
    kv_rest_write(x, &w, settled_many);
}

void kv_rest_nack_run(struct exchange *x)
{
    static const char *const names[] = {"receipt", "delay", "error", "dead", NULL};
    struct json_part parts[4];
    struct slice text;
    bool is_dead = false;
    struct rest_words w = rest_words_of(x, "KV.NACK");
    if (!rest_body(x, names, parts) || !take_receipt(x, &parts[0], &text)) return;
    rest_words_add(&w, text);
    if (!kv_rest_add_number(&w, "DELAY", &parts[1], "delay", 0, MS_MAX) ||
        !kv_rest_body_switch(x, &parts[3], "dead", &is_dead)) {
        return;
    }
    if (is_dead) rest_words_str(&w, "DEAD");
    if (rest_is_there(&parts[2])) { /* last: its text may be any word */
        if (!rest_body_text(x, &parts[2], "error", &text)) return;
        rest_words_str(&w, "ERROR");
        rest_words_add(&w, text);
    }
    kv_rest_write(x, &w, settled_one);
}

void kv_rest_extend_run(struct exchange *x)
{
    static const char *const names[] = {"receipt", "lease", NULL};
    struct json_part parts[2];
    struct slice text;
    int64_t lease_ms = 0;
    if (!rest_body(x, names, parts) || !take_receipt(x, &parts[0], &text)) return;
    if (!rest_is_there(&parts[1])) {
        exchange_fail(x, 400, "lease must be there, in milliseconds");
        return;
    }
    if (!rest_body_integer(x, &parts[1], "lease", 1, MS_MAX, &lease_ms)) return;
    struct rest_words w = rest_words_of(x, "KV.EXTEND");
    rest_words_add(&w, text);
    rest_words_number(&w, lease_ms);
    kv_rest_write(x, &w, settled_one);
}
