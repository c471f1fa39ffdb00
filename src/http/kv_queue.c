/* kv_queue: queues by typed REST, where more is done than one command: messages that are refused as
 * duplicates, receipts that must be of the queue of the path.
 */
#include "codec/json_lex.h"
#include "http/rest.h"
#include "queue/rows.h"

/* Nil: its DEDUP has been seen. */
static void message_came(struct exchange *x)
{
    if (rest_fails(x)) return;
    struct slice rest = buf_slice(&x->reply);
    bool is_new = reply_text(rest).data != NULL;
    rest_begin(x);
    buf_append_str(&x->text, is_new ? "{\"ok\":true,\"id\":" : "{\"ok\":false,\"id\":");
    shape_write("$", &rest, &x->text);
    buf_append_byte(&x->text, '}');
    exchange_answer_json(x, 200);
}

void kv_enqueue_run(struct exchange *x)
{
    struct rest_words w;
    if (rest_command_words(x, &w)) rest_command_go(&w, message_came);
}

/* ---- receipts -------------------------------------------------------------------------------- */

/* Is it one of the queue of the path, and no other word of a command? */
static bool is_of_queue(struct exchange *x, struct slice receipt)
{
    struct slice name;
    struct receipt r;
    if (!rest_path_text(x, "queue", &name)) return false;
    if (!receipt_parse(&x->arena, receipt, &r)) {
        exchange_fail(x, 400, "invalid receipt '%.*s'", (int)(receipt.len < 64 ? receipt.len : 64),
                      (const char *)receipt.data);
        return false;
    }
    if (slice_eq(r.queue, name)) return true;
    exchange_fail(x, 400, "the receipt belongs to the queue '%.*s'",
                  (int)(r.queue.len < 64 ? r.queue.len : 64), (const char *)r.queue.data);
    return false;
}

/* KV.NACK, KV.EXTEND: the receipt is their first word. */
void kv_settle_run(struct exchange *x)
{
    struct rest_words w;
    if (rest_command_words(x, &w) && is_of_queue(x, w.argv[1])) {
        rest_command_go(&w, rest_command_came);
    }
}

static bool add_receipt(struct rest_words *w, const struct json_part *part, const char *name)
{
    struct slice text;
    if (!rest_body_text(w->x, part, name, &text) || !is_of_queue(w->x, text)) return false;
    rest_words_add(w, text);
    return true;
}

static void acknowledged(struct exchange *x)
{
    if (!rest_fails(x)) rest_answer_shape(x, "count:#");
}

/* One, which was acknowledged or not, or many, of which some were. */
void kv_ack_run(struct exchange *x)
{
    static const char *const names[] = {"receipt", "receipts", NULL};
    struct json_part parts[2];
    struct json_part item;
    struct rest_words w = rest_words_of(x, "KV.ACK");
    if (!rest_body(x, names, parts)) return;
    if (rest_is_there(&parts[0]) == rest_is_there(&parts[1])) {
        exchange_fail(x, 400, "receipt or receipts must be given");
        return;
    }
    if (rest_is_there(&parts[0])) {
        if (add_receipt(&w, &parts[0], "receipt")) rest_command_go(&w, rest_command_came);
        return;
    }
    struct slice rest = parts[1].kind == JSON_ARRAY ? json_inside(&parts[1]) : slice_of(NULL, 0);
    while (json_next_item(&rest, &item)) {
        if (!add_receipt(&w, &item, "receipts")) return;
    }
    if (w.argc > 1) {
        rest_command_go(&w, acknowledged);
    } else {
        exchange_fail(x, 400, "receipts must be a non-empty array of strings");
    }
}
