/* http2_answer: answers by HTTP/2. What nghttp2 takes of a stream's output (`out`) becomes frames
 * in the connection's, which http2.c fetches.
 */
#include "base/mem.h"
#include "http/http2_int.h"

struct http2_stream *http2_stream_of(struct exchange *x)
{
    return (struct http2_stream *)x;
}

void http2_queue(struct exchange *x)
{
    struct http2 *h = http2_stream_of(x)->http2;
    if (!x->is_queued) {
        x->is_queued = true;
        x->queue_next = NULL;
        *h->queue_last = x;
        h->queue_last = &x->queue_next;
    }
    stream_queue(h->session->stream);
}

void http2_count_unsent(struct http2_stream *st)
{
    size_t own = st->out.len - st->out_at;
    st->exchange.link.output_bytes = own + stream_pending(st->http2->session->stream);
}

static void touch(struct http2_stream *st)
{
    if (st->sent_at == UINT64_MAX) return;
    st->sent_at = UINT64_MAX;
    st->touched_next = st->http2->touched;
    st->http2->touched = st;
}

void http2_placed(struct http2 *h)
{
    const struct output *out = &h->session->stream->output;
    for (; h->touched != NULL; h->touched = h->touched->touched_next) {
        h->touched->sent_at = out->base + out->bytes.len;
    }
}

bool http2_is_written(struct http2_stream *st)
{
    if (st->http2->session->stream->link.stream_sent < st->sent_at) return false;
    st->exchange.link.stream_sent = st->taken;
    return true;
}

static ssize_t read_body(nghttp2_session *ng, int32_t id, uint8_t *to, size_t len, uint32_t *flags,
                         nghttp2_data_source *source, void *arg)
{
    struct http2_stream *st = source->ptr;
    size_t left = st->out.len - st->out_at;
    size_t n = left < len ? left : len;
    (void)ng;
    (void)id;
    (void)arg;
    if (n == 0 && !st->is_out_whole) return NGHTTP2_ERR_DEFERRED;
    bytes_copy(to, st->out.data + st->out_at, n);
    st->out_at += n;
    st->taken += n;
    if (n > 0) touch(st);
    if (n > 0) st->moved_ms = st->exchange.http->env->now_us / 1000;
    if (st->out_at == st->out.len) {
        buf_clear(&st->out, 0);
        st->out_at = 0;
        if (st->is_out_whole) *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    return (ssize_t)n;
}

static void depend(struct http2 *h, uint64_t version)
{
    if (version > h->depends) h->depends = version;
}

void http2_reset(struct http2_stream *st, uint32_t code)
{
    (void)nghttp2_submit_rst_stream(st->http2->ng, NGHTTP2_FLAG_NONE, st->id, code);
    stream_queue(st->http2->session->stream);
}

static nghttp2_nv nv_of(struct slice name, struct slice value)
{
    return (nghttp2_nv){.name = bytes_unconst(name.data),
                        .value = bytes_unconst(value.data),
                        .namelen = name.len,
                        .valuelen = value.len};
}

static void http2_answer(struct exchange *x, const struct answer *a)
{
    struct http2_stream *st = http2_stream_of(x);
    struct http_header headers[ANSWER_HEADERS_ALL];
    nghttp2_nv nv[ANSWER_HEADERS_ALL + 1];
    char status[20];
    char digits[20];
    bool has_length = a->status != 204 && a->status != 304 && !a->is_stream;
    struct slice length = slice_of(NULL, 0);
    if (has_length) length = slice_of(digits, u64_format(a->body.len, digits));
    size_t count = answer_headers(x, a, length, headers);
    size_t status_len = u64_format((uint64_t)a->status, status);
    nv[0] = nv_of(slice_str(":status"), slice_of(status, status_len));
    for (size_t i = 0; i < count; i++) nv[i + 1] = nv_of(headers[i].name, headers[i].value);
    bool has_body = x->message == NULL || x->message->method != HTTP_HEAD;
    nghttp2_data_provider provider = {.source = {.ptr = st}, .read_callback = read_body};
    if (has_body) buf_append(&st->out, a->body.data, a->body.len);
    st->is_out_whole = !a->is_stream;
    if (a->is_stream) st->http2->event_count++;
    bool has_data = has_body && (a->is_stream || a->body.len > 0);
    depend(st->http2, x->depends);
    st->http2->is_evaluated |= x->is_evaluated || a->is_stream;
    client_reply_placed(&x->client, x->reply_from, st->taken + st->out.len);
    if (st->out.is_failed || nghttp2_submit_response(st->http2->ng, st->id, nv, count + 1,
                                                     has_data ? &provider : NULL) != 0) {
        http2_reset(st, NGHTTP2_INTERNAL_ERROR);
    }
    http2_count_unsent(st);
    stream_queue(st->http2->session->stream);
}

static bool is_over_limit(const struct http2_stream *st, size_t more)
{
    const struct output_limit *limit = &st->exchange.http->options.output_stream;
    return limit->hard_bytes != 0 && st->out.len - st->out_at + more > limit->hard_bytes;
}

static void http2_send(struct exchange *x, struct slice bytes, uint64_t version)
{
    struct http2_stream *st = http2_stream_of(x);
    if (st->out.is_failed || is_over_limit(st, bytes.len)) {
        http2_reset(st, NGHTTP2_ENHANCE_YOUR_CALM);
        return;
    }
    if (st->out_at > 0 && st->out_at >= st->out.len / 2) {
        buf_shift(&st->out, st->out_at);
        st->out_at = 0;
    }
    buf_append(&st->out, bytes.data, bytes.len);
    depend(st->http2, version);
    (void)nghttp2_session_resume_data(st->http2->ng, st->id);
    http2_count_unsent(st);
    stream_queue(st->http2->session->stream);
}

static void http2_end(struct exchange *x)
{
    struct http2_stream *st = http2_stream_of(x);
    st->is_out_whole = true;
    st->http2->event_count--;
    (void)nghttp2_session_resume_data(st->http2->ng, st->id);
    stream_queue(st->http2->session->stream);
}

const struct exchange_ops http2_answers = {
    .answer = http2_answer, .send = http2_send, .end = http2_end, .queue = http2_queue};
