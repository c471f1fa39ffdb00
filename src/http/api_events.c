/* api_events: channels and MONITOR as events (text/event-stream), in the form of Upstash's REST
 * API: `data: message,<channel>,<text>`. A comment every 15 seconds keeps the connection open.
 */
#include "http/events.h"
#include "http/reply_json.h"
#include "http/route.h"
#include "resp/item.h"

void event_data(struct buf *out, struct slice text)
{
    buf_append_str(out, "data: ");
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        bool is_pair = c == '\r' && i + 1 < text.len && text.data[i + 1] == '\n';
        if (is_pair) continue;
        if (c == '\n' || c == '\r') {
            buf_append_str(out, "\ndata: ");
        } else {
            buf_append_byte(out, c);
        }
    }
}

void event_send(struct exchange *x, const char *name, struct slice id, struct slice data,
                uint64_t version)
{
    struct buf text;
    buf_init(&text);
    event_write(&text, name, id, data);
    if (text.is_failed) {
        stream_overrun(x->session->stream, NULL); /* an event must not be missing */
    } else {
        exchange_send(x, buf_slice(&text), version);
    }
    buf_fini(&text);
}

void event_write(struct buf *out, const char *name, struct slice id, struct slice data)
{
    buf_append_str(out, "event: ");
    buf_append_str(out, name);
    if (id.len > 0) buf_append_str(out, "\nid: ");
    buf_append(out, id.data, id.len);
    buf_append_byte(out, '\n');
    event_data(out, data);
    buf_append_str(out, "\n\n");
}

static void put_parts(struct exchange *x, struct slice frame)
{
    struct resp_item item;
    struct buf parts;
    if (!resp_item_read(frame, &item)) return;
    size_t count = item.children;
    buf_init(&parts);
    for (size_t i = 0; i < count; i++) {
        frame = slice_of(frame.data + item.used, frame.len - item.used);
        if (!resp_item_read(frame, &item)) break;
        if (i > 0) buf_append_byte(&parts, ',');
        buf_append(&parts, item.text.data, item.text.len);
    }
    event_data(&x->text, buf_slice(&parts));
    if (parts.is_failed) x->text.is_failed = true;
    buf_fini(&parts);
}

static void send_text(struct exchange *x, uint64_t version)
{
    buf_append_str(&x->text, "\n\n");
    if (x->text.is_failed) {
        stream_overrun(x->session->stream, NULL); /* a message must not be missing */
        return;
    }
    exchange_send(x, buf_slice(&x->text), version);
}

static void on_channel(struct exchange *x, struct slice frame, uint64_t version)
{
    buf_clear(&x->text, EVENT_KEEP_BYTES);
    put_parts(x, frame);
    send_text(x, version);
}

static void on_monitor(struct exchange *x, struct slice frame, uint64_t version)
{
    struct slice line = reply_text(frame);
    buf_clear(&x->text, EVENT_KEEP_BYTES);
    event_data(&x->text, slice_eq(line, slice_str("OK")) ? slice_str("\"OK\"") : line);
    send_text(x, version);
}

static void subscribed(struct exchange *x)
{
    if (exchange_fails(x)) return;
    x->heartbeat = slice_str(": \n\n");
    exchange_stream(x, slice_of(NULL, 0), on_channel);
}

void api_subscribe_run(struct exchange *x)
{
    struct slice *argv = exchange_argv(x, 2);
    argv[0] = slice_str("SUBSCRIBE");
    struct slice raw = slice_of(x->rest.data + 1, x->rest.len - 1);
    if (!http_decode(raw, false, &x->arena, &argv[1]) || argv[1].len == 0) {
        exchange_fail(x, 400, "ERR the channel after /subscribe/ must be percent-encoded UTF-8");
        return;
    }
    exchange_command(x, argv, 2, subscribed);
}

static void monitors(struct exchange *x)
{
    if (exchange_fails(x)) return;
    x->heartbeat = slice_str(": \n\n");
    exchange_stream(x, slice_of(NULL, 0), on_monitor);
}

void api_monitor_run(struct exchange *x)
{
    exchange_words(x, monitors, WORDS("MONITOR"));
}
