/* http1: HTTP/1.1 and 1.0 over a stream: one request after the other, each answered before the next
 * is looked at.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http/http_int.h"
#include "request/block.h"

/* After a refusal, for a client that is still sending: closing at once would take the answer away.
 */
#define LINGER_MS 2000

struct http1 {
    struct exchange exchange;
    bool is_last;            /* the connection ends after this answer */
    bool was_refused;        /* ... and the rest of its request may be coming */
    int64_t linger_until_ms; /* monotonic; 0 = it does not */
};

static struct http1 *of(const struct exchange *x)
{
    return x->session->http1;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void put_headers(struct exchange *x, const struct answer *a, struct buf *out)
{
    struct http_header headers[ANSWER_HEADERS_ALL];
    char digits[20];
    bool has_body = a->status != 204 && a->status != 304 && !a->is_stream;
    struct slice length = slice_of(NULL, 0);
    if (has_body) length = slice_of(digits, u64_format(a->body.len, digits));
    buf_printf(out, "HTTP/1.1 %d %s\r\n", a->status, http_reason(a->status));
    size_t count = answer_headers(x, a, length, headers);
    for (size_t i = 0; i < count; i++) {
        buf_append(out, headers[i].name.data, headers[i].name.len);
        buf_append_str(out, ": ");
        buf_append(out, headers[i].value.data, headers[i].value.len);
        buf_append_str(out, "\r\n");
    }
}

static void http1_answer(struct exchange *x, const struct answer *a)
{
    struct http1 *h = of(x);
    struct stream *s = x->session->stream;
    struct buf *out = &s->output.bytes;
    const struct http_message *m = x->message;
    bool is_chunked = a->is_stream && m->version == HTTP_1_1;
    bool is_stopping = x->http->is_stopping;
    if (m == NULL || !x->session->reader.keeps_alive || is_stopping) h->is_last = true;
    if (a->is_stream && !is_chunked) h->is_last = true;
    /* A stream that could not be opened after all: what the client listens to ends with it. */
    if (client_subscriptions(&x->client) > 0) h->is_last = true;
    put_headers(x, a, out);
    if (is_chunked) buf_append_str(out, "transfer-encoding: chunked\r\n");
    if (h->is_last) buf_append_str(out, "connection: close\r\n");
    buf_append_str(out, "\r\n");
    if (m == NULL || m->method != HTTP_HEAD) buf_append(out, a->body.data, a->body.len);
    if (out->is_failed) {
        stream_overrun(s, NULL);
        return;
    }
    stream_mark_reply(s, x->depends, x->is_evaluated || a->is_stream);
    client_reply_placed(&x->client, x->reply_from, s->output.base + s->output.bytes.len);
}

static void http1_send(struct exchange *x, struct slice bytes, uint64_t version)
{
    struct stream *s = x->session->stream;
    char head[24];
    int len = snprintf(head, sizeof head, "%zx\r\n", bytes.len);
    bool is_chunked = x->message->version == HTTP_1_1;
    if (s->state != STREAM_OPEN || x->message->method == HTTP_HEAD) return;
    if (stream_would_overrun(s, bytes.len)) stream_overrun(s, NULL);
    if (stream_is_overrun(s)) return;
    if (is_chunked) buf_append(&s->output.bytes, head, (size_t)len);
    buf_append(&s->output.bytes, bytes.data, bytes.len);
    stream_append(s, slice_of("\r\n", is_chunked ? 2 : 0), version);
}

static void http1_end(struct exchange *x)
{
    struct stream *s = x->session->stream;
    of(x)->is_last = true; /* the client still listens */
    if (x->message->version == HTTP_1_1) stream_append(s, slice_str("0\r\n\r\n"), 0);
    stream_queue(s);
}

static void http1_queue(struct exchange *x)
{
    stream_queue(x->session->stream);
}

static const struct exchange_ops exchange_ops = {
    .answer = http1_answer, .send = http1_send, .end = http1_end, .queue = http1_queue};

/* ---- requests -------------------------------------------------------------------------------- */

static void refuse(struct http1 *h, const struct http_refusal *why)
{
    struct exchange *x = &h->exchange;
    h->is_last = h->was_refused = true;
    exchange_refuse(x, why);
}

/* The next request. False: none has come as a whole. */
static bool take_request(struct session_http *s)
{
    struct http1 *h = s->http1;
    struct stream *stream = s->stream;
    struct http_refusal why;
    s->reader.body_max = s->http->options.body_bytes_max;
    enum http1_step step = http1_next(&s->reader, &why);
    if (step == HTTP1_CONTINUE) {
        stream_append_own(stream, slice_str("HTTP/1.1 100 Continue\r\n\r\n"));
        step = HTTP1_MORE;
    }
    if (step == HTTP1_MORE) {
        if (http1_buffered(&s->reader) == 0) s->begun_ms = 0;
        bool is_over = s->http->is_stopping && http1_buffered(&s->reader) == 0;
        if (stream->has_eof || is_over) stream_drain(stream);
        return false;
    }
    h->exchange.reply_from = stream->output.base + stream->output.bytes.len;
    h->exchange.reply_bytes = 0;
    s->begun_ms = 0;
    if (step == HTTP1_WHOLE) {
        exchange_begin(&h->exchange, &s->reader.message);
    } else {
        refuse(h, &why);
    }
    return true;
}

/* False: nothing more can be done now. */
static bool answered(struct session_http *s)
{
    struct http1 *h = s->http1;
    if (h->is_last) {
        bool may_come = h->was_refused && !s->stream->has_eof && !s->http->is_stopping;
        if (!may_come) stream_drain(s->stream);
        if (may_come && h->linger_until_ms == 0) {
            h->linger_until_ms = clock_mono_us() / 1000 + LINGER_MS;
            s->drops_input = true;
        }
        return false;
    }
    http1_taken(&s->reader);
    exchange_reset(&h->exchange);
    if (http1_buffered(&s->reader) > 0) s->begun_ms = clock_mono_us() / 1000;
    return true;
}

static void http1_run(struct session_http *s)
{
    struct http1 *h = s->http1;
    struct stream *stream = s->stream;
    for (bool goes_on = true, is_first = true; goes_on && stream->state == STREAM_OPEN;) {
        switch (h->exchange.state) {
        case EXCHANGE_IDLE:
            if (stream_pending(stream) >= STREAM_PAUSE_BYTES) return;
            if (!is_first && net_turn_is_full(stream->net)) {
                stream_queue(stream);
                return;
            }
            goes_on = take_request(s);
            is_first = false;
            break;
        case EXCHANGE_READY:
            exchange_go(&h->exchange);
            goes_on = h->exchange.state != EXCHANGE_READY;
            break;
        case EXCHANGE_ANSWERED: goes_on = answered(s); break;
        case EXCHANGE_CLOSED: stream_kill(stream); return;
        default: goes_on = false; break;
        }
    }
}

static void http1_begin(struct session_http *s)
{
    s->http1 = mem_new(sizeof *s->http1);
    exchange_init(&s->http1->exchange, s, &s->stream->link, &exchange_ops);
}

/* What came after a request stays in the socket until it is answered. */
static bool http1_wants_input(const struct session_http *s)
{
    return s->http1->exchange.state == EXCHANGE_IDLE || s->drops_input;
}

/* The answer was sent: the peer is told that there is no more, and given time to see it. */
static void linger(struct session_http *s, int64_t now_ms)
{
    struct stream *stream = s->stream;
    if (stream->state != STREAM_OPEN || stream_pending(stream) > 0) return;
    stream_shut(stream);
    if (now_ms > s->http1->linger_until_ms) stream_kill(stream);
}

static void http1_check(struct session_http *s, int64_t now_ms)
{
    struct exchange *x = &s->http1->exchange;
    exchange_check(x, now_ms);
    if (x->state == EXCHANGE_IDLE) http1_trim(&s->reader);
    if (s->drops_input) linger(s, now_ms);
}

static void http1_ended(struct session_http *s)
{
    exchange_end(&s->http1->exchange);
}

static bool http1_forget(struct session_http *s, size_t *work)
{
    if (!exchange_forget(&s->http1->exchange, work)) return false;
    mem_free(s->http1);
    return true;
}

static bool http1_is_busy(const struct session_http *s)
{
    return s->http1->exchange.state != EXCHANGE_IDLE;
}

static bool http1_has_events(const struct session_http *s)
{
    return s->http1->exchange.state == EXCHANGE_STREAMING;
}

static bool http1_is_blocked(const struct session_http *s)
{
    const struct exchange *x = &s->http1->exchange;
    return x->state == EXCHANGE_PARKED && client_waits_long(&x->client);
}

const struct session_ops http1_ops = {
    .begin = http1_begin,
    .wants_input = http1_wants_input,
    .run = http1_run,
    .check = http1_check,
    .end = http1_ended,
    .forget = http1_forget,
    .is_busy = http1_is_busy,
    .has_events = http1_has_events,
    .is_blocked = http1_is_blocked,
};
