/* http2: HTTP/2 over a stream (RFC 9113), by nghttp2: its streams are exchanges side by side.
 *
 * Frames go into the connection's output in the order in which nghttp2 gives them, and are held
 * until the newest version that any answer of the connection depended on is durable: so a read's
 * answer may wait for the sync of a write beside it, as in a pipeline. What a stream has to send
 * stays with it (`out`) while the connection has STREAM_PAUSE_BYTES unsent or the peer gives no
 * room.
 */
#include <nghttp2/nghttp2.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "http/http_int.h"

#define STREAMS_MAX 1000
#define WINDOW_BYTES (1 << 20)
#define HEAD_BYTES_MAX (64 * 1024)
#define RESETS_BURST 2000 /* streams that a peer may reset at once, ... */
#define RESETS_RATE 200   /* ... and in each second */
#define CONTINUATIONS_MAX 8

struct http2_stream {
    struct exchange exchange; /* first */
    struct http2 *http2;
    int32_t id;
    struct http_message message;
    struct slice scheme; /* of the pseudo headers: is it there? */
    size_t head_bytes;
    struct buf body;   /* owned; what has come of it */
    struct buf out;    /* owned; of the answer's body, what nghttp2 has not taken */
    size_t out_at;     /* of out: taken */
    bool is_out_whole; /* nothing will be added */
    int64_t moved_ms;  /* monotonic: when it began, or some of its answer was last taken */
    bool is_begun;     /* the request is being answered: what else comes of it is dropped */
    struct http_refusal refusal;      /* status 0 = none */
    struct http2_stream *next, *prev; /* http2->streams, or http2->gone */
};

struct http2 {
    struct session_http *session;
    nghttp2_session *ng;         /* owned */
    struct http2_stream streams; /* head of a ring */
    size_t stream_count, event_count;
    struct http2_stream *gone; /* closed; to be forgotten */
    struct exchange *queue_first, **queue_last;
    uint64_t depends;
};

static struct http2_stream *stream_of(struct exchange *x)
{
    return (struct http2_stream *)x;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void queue_exchange(struct exchange *x)
{
    struct http2 *h = stream_of(x)->http2;
    if (!x->is_queued) {
        x->is_queued = true;
        x->queue_next = NULL;
        *h->queue_last = x;
        h->queue_last = &x->queue_next;
    }
    stream_queue(h->session->stream);
}

/* What is still with the stream, and what is in the connection's output: by it features go that
 * bound what a client has unsent. */
static void count_unsent(struct http2_stream *st)
{
    size_t own = st->out.len - st->out_at;
    st->exchange.link.output_bytes = own + stream_pending(st->http2->session->stream);
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
    st->exchange.link.stream_sent += n;
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

static void reset_stream(struct http2_stream *st, uint32_t code)
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
    struct http2_stream *st = stream_of(x);
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
    client_reply_placed(&x->client, x->reply_from, x->link.stream_sent + st->out.len);
    if (st->out.is_failed || nghttp2_submit_response(st->http2->ng, st->id, nv, count + 1,
                                                     has_data ? &provider : NULL) != 0) {
        reset_stream(st, NGHTTP2_INTERNAL_ERROR);
    }
    count_unsent(st);
    stream_queue(st->http2->session->stream);
}

static bool is_over_limit(const struct http2_stream *st, size_t more)
{
    const struct output_limit *limit = &st->exchange.http->options.output_stream;
    return limit->hard_bytes != 0 && st->out.len - st->out_at + more > limit->hard_bytes;
}

static void http2_send(struct exchange *x, struct slice bytes, uint64_t version)
{
    struct http2_stream *st = stream_of(x);
    if (st->out.is_failed || is_over_limit(st, bytes.len)) {
        reset_stream(st, NGHTTP2_ENHANCE_YOUR_CALM);
        return;
    }
    if (st->out_at > 0 && st->out_at >= st->out.len / 2) {
        buf_shift(&st->out, st->out_at);
        st->out_at = 0;
    }
    buf_append(&st->out, bytes.data, bytes.len);
    depend(st->http2, version);
    (void)nghttp2_session_resume_data(st->http2->ng, st->id);
    count_unsent(st);
    stream_queue(st->http2->session->stream);
}

static void http2_end(struct exchange *x)
{
    struct http2_stream *st = stream_of(x);
    st->is_out_whole = true;
    st->http2->event_count--;
    (void)nghttp2_session_resume_data(st->http2->ng, st->id);
    stream_queue(st->http2->session->stream);
}

static const struct exchange_ops exchange_ops = {
    .answer = http2_answer, .send = http2_send, .end = http2_end, .queue = queue_exchange};

/* ---- requests -------------------------------------------------------------------------------- */

static struct http2_stream *find(nghttp2_session *ng, int32_t id)
{
    return nghttp2_session_get_stream_user_data(ng, id);
}

static int on_begin_headers(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
    struct http2 *h = arg;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    struct http2_stream *st = mem_new(sizeof *st);
    st->http2 = h;
    st->id = frame->hd.stream_id;
    st->exchange.link = h->session->stream->link;
    st->exchange.link.peer = NULL;
    st->exchange.link.output_bytes = st->exchange.link.input_bytes = 0;
    st->exchange.link.stream_base = st->exchange.link.stream_sent = 0;
    exchange_init(&st->exchange, h->session, &st->exchange.link, &exchange_ops);
    st->moved_ms = clock_mono_us() / 1000;
    st->message.version = HTTP_2;
    RING_INSERT(&h->streams, st, next, prev);
    h->stream_count++;
    (void)nghttp2_session_set_stream_user_data(ng, st->id, st);
    return 0;
}

static void refuse(struct http2_stream *st, int status, const char *text)
{
    if (st->refusal.status == 0) st->refusal = (struct http_refusal){status, text};
}

static void take_pseudo(struct http2_stream *st, struct slice name, struct slice value)
{
    struct http_message *m = &st->message;
    if (slice_eq(name, slice_str(":method"))) {
        m->method = http_method_of(value);
    } else if (slice_eq(name, slice_str(":authority"))) {
        m->host = value;
    } else if (slice_eq(name, slice_str(":scheme"))) {
        st->scheme = value;
    } else if (slice_eq(name, slice_str(":path"))) {
        bool is_star = m->method == HTTP_OPTIONS && slice_eq(value, slice_str("*"));
        if (is_star) m->path = value;
        if (!is_star && !http_split_target(value, m)) refuse(st, 400, "the target is no path");
    }
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *arg)
{
    struct http2_stream *st = find(ng, frame->hd.stream_id);
    (void)flags;
    (void)arg;
    if (st == NULL || st->is_begun || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    st->head_bytes += name_len + value_len;
    if (st->head_bytes > HEAD_BYTES_MAX || st->message.header_count == HTTP_HEADERS_MAX) {
        refuse(st, 431, "the head is longer than 64 KB, or has more than 100 headers");
        return 0;
    }
    struct slice n = arena_copy(&st->exchange.arena, slice_of(name, name_len));
    struct slice v = arena_copy(&st->exchange.arena, slice_of(value, value_len));
    if (name_len > 0 && name[0] == ':') {
        take_pseudo(st, n, v);
        return 0;
    }
    struct http_message *m = &st->message;
    if (slice_eq(n, slice_str("host")) && m->host.data == NULL) m->host = v;
    m->headers[m->header_count++] = (struct http_header){.name = n, .value = http_trim(v)};
    return 0;
}

/* The request has come as a whole, or is refused before that. */
static void begin(struct http2_stream *st)
{
    if (st->is_begun) return;
    st->is_begun = true;
    if (st->refusal.status == 0 && st->message.path.data == NULL) {
        refuse(st, 400, "there is no path");
    }
    st->message.body = buf_slice(&st->body);
    queue_exchange(&st->exchange);
}

static int on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *data, size_t len,
                   void *arg)
{
    struct http2_stream *st = find(ng, id);
    (void)flags;
    (void)arg;
    if (st == NULL || st->is_begun) return 0;
    st->message.has_body = true;
    if (st->body.len + len > st->exchange.http->options.body_bytes_max) {
        refuse(st, 413, "the body is longer than http-max-body allows");
        begin(st);
        return 0;
    }
    buf_append(&st->body, data, len);
    st->exchange.link.input_bytes = st->body.len;
    if (st->body.is_failed) {
        refuse(st, 507, "out of memory for the body");
        begin(st);
    }
    return 0;
}

static int on_frame(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
    (void)arg;
    bool is_part = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (!is_part || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    struct http2_stream *st = find(ng, frame->hd.stream_id);
    if (st != NULL) begin(st);
    return 0;
}

static int on_close(nghttp2_session *ng, int32_t id, uint32_t code, void *arg)
{
    struct http2 *h = arg;
    struct http2_stream *st = find(ng, id);
    (void)code;
    if (st == NULL) return 0;
    (void)nghttp2_session_set_stream_user_data(ng, id, NULL);
    if (st->exchange.state == EXCHANGE_STREAMING) h->event_count--;
    RING_UNLINK(st, next, prev);
    h->stream_count--;
    exchange_end(&st->exchange);
    st->next = h->gone;
    h->gone = st;
    return 0;
}

/* ---- the connection -------------------------------------------------------------------------- */

static void make_session(struct http2 *h)
{
    nghttp2_session_callbacks *calls = NULL;
    nghttp2_option *option = NULL;
    if (nghttp2_session_callbacks_new(&calls) != 0 || nghttp2_option_new(&option) != 0) {
        die("no memory for HTTP/2");
    }
    nghttp2_session_callbacks_set_on_begin_headers_callback(calls, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(calls, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(calls, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(calls, on_close);
    nghttp2_option_set_stream_reset_rate_limit(option, RESETS_BURST, RESETS_RATE);
    nghttp2_option_set_max_continuations(option, CONTINUATIONS_MAX);
    nghttp2_option_set_max_send_header_block_length(option, HEAD_BYTES_MAX);
    if (nghttp2_session_server_new2(&h->ng, calls, h, option) != 0) die("no memory for HTTP/2");
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(calls);
}

static void http2_begin(struct session_http *s)
{
    struct http2 *h = mem_new(sizeof *h);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS_MAX},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_BYTES},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEAD_BYTES_MAX},
    };
    s->http2 = h;
    h->session = s;
    h->queue_last = &h->queue_first;
    RING_INIT(&h->streams, next, prev);
    make_session(h);
    if (nghttp2_submit_settings(h->ng, NGHTTP2_FLAG_NONE, settings,
                                sizeof settings / sizeof settings[0]) != 0 ||
        nghttp2_session_set_local_window_size(h->ng, NGHTTP2_FLAG_NONE, 0, 4 * WINDOW_BYTES) != 0) {
        die("no memory for HTTP/2");
    }
}

bool http2_receive(struct session_http *s, struct slice bytes)
{
    ssize_t taken = nghttp2_session_mem_recv(s->http2->ng, bytes.data, bytes.len);
    if (taken == (ssize_t)bytes.len) return true;
    log_verbose("client %s closed: HTTP/2: %s", s->stream->link.address,
                nghttp2_strerror(taken < 0 ? (int)taken : NGHTTP2_ERR_PROTO));
    return false;
}

/* Frames that can go now. */
static void pump(struct http2 *h)
{
    struct stream *stream = h->session->stream;
    while (stream->state == STREAM_OPEN && stream_pending(stream) < STREAM_PAUSE_BYTES) {
        const uint8_t *data;
        ssize_t len = nghttp2_session_mem_send(h->ng, &data);
        if (len < 0) {
            log_verbose("client %s closed: HTTP/2: %s", stream->link.address,
                        nghttp2_strerror((int)len));
            stream_kill(stream);
            return;
        }
        if (len == 0) return;
        buf_append(&stream->output.bytes, data, (size_t)len);
        if (stream->output.bytes.is_failed) {
            stream_overrun(stream, NULL);
            return;
        }
        stream_mark(stream, h->depends);
    }
}

static void run_exchange(struct http2_stream *st)
{
    struct exchange *x = &st->exchange;
    if (x->state == EXCHANGE_IDLE && st->refusal.status != 0) {
        exchange_refuse(x, &st->refusal);
        return;
    }
    if (x->state == EXCHANGE_IDLE) exchange_begin(x, &st->message);
    exchange_go(x);
    if (x->state == EXCHANGE_CLOSED) reset_stream(st, NGHTTP2_CANCEL);
}

static void forget_gone(struct http2 *h)
{
    size_t work = 1000;
    while (h->gone != NULL && work > 0) {
        struct http2_stream *st = h->gone;
        if (st->exchange.is_queued) return; /* it is taken off the queue first */
        if (!exchange_forget(&st->exchange, &work)) return;
        h->gone = st->next;
        buf_fini(&st->body);
        buf_fini(&st->out);
        mem_free(st);
    }
}

static void http2_run(struct session_http *s)
{
    struct http2 *h = s->http2;
    struct stream *stream = s->stream;
    bool is_first = true;
    while (h->queue_first != NULL && stream_pending(stream) < STREAM_PAUSE_BYTES) {
        if (!is_first && net_turn_is_full(stream->net)) break;
        struct http2_stream *st = stream_of(h->queue_first);
        h->queue_first = st->exchange.queue_next;
        if (h->queue_first == NULL) h->queue_last = &h->queue_first;
        st->exchange.is_queued = false;
        is_first = false;
        bool is_gone = nghttp2_session_get_stream_user_data(h->ng, st->id) != st;
        if (!is_gone) run_exchange(st);
        if (stream->state != STREAM_OPEN) return;
    }
    pump(h);
    if (stream->state != STREAM_OPEN) return;
    forget_gone(h);
    if (h->queue_first != NULL && stream_pending(stream) < STREAM_PAUSE_BYTES) stream_queue(stream);
    bool is_over = !nghttp2_session_want_read(h->ng) && !nghttp2_session_want_write(h->ng);
    if (is_over || (stream->has_eof && h->stream_count == 0)) stream_drain(stream);
}

static bool http2_wants_input(const struct session_http *s)
{
    return nghttp2_session_want_read(s->http2->ng) != 0;
}

/* The peer has gone while streams of events or blocked commands are left, which may never end. */
static bool is_left(const struct http2 *h)
{
    if (!h->session->stream->has_eof) return false;
    for (const struct http2_stream *st = h->streams.next; st != &h->streams; st = st->next) {
        const struct exchange *x = &st->exchange;
        if (x->state == EXCHANGE_STREAMING) return true;
        if (x->state == EXCHANGE_PARKED && x->client.block.waiter != NULL) return true;
    }
    return false;
}

/* A request that does not come, an answer that is not taken, a body that goes on after it. */
static bool is_stuck(const struct http2_stream *st, int64_t now_ms)
{
    uint64_t max_s = st->exchange.http->options.request_s;
    bool may_stand = st->is_begun && st->exchange.state != EXCHANGE_ANSWERED;
    return max_s != 0 && !may_stand && now_ms - st->moved_ms > (int64_t)max_s * 1000;
}

static void http2_check(struct session_http *s, int64_t now_ms)
{
    struct http2 *h = s->http2;
    for (struct http2_stream *st = h->streams.next; st != &h->streams;) {
        struct http2_stream *next = st->next;
        exchange_check(&st->exchange, now_ms);
        count_unsent(st);
        if (is_stuck(st, now_ms)) reset_stream(st, NGHTTP2_CANCEL);
        st = next;
    }
    if (h->gone != NULL) forget_gone(h);
    if (is_left(h)) stream_kill(s->stream);
}

static void http2_ended(struct session_http *s)
{
    struct http2 *h = s->http2;
    for (struct http2_stream *st = h->streams.next; st != &h->streams; st = st->next) {
        exchange_end(&st->exchange);
    }
    nghttp2_session_del(h->ng);
    h->ng = NULL;
}

static bool http2_forget(struct session_http *s, size_t *work)
{
    struct http2 *h = s->http2;
    while (h->streams.next != &h->streams) {
        struct http2_stream *st = h->streams.next;
        RING_UNLINK(st, next, prev);
        st->next = h->gone;
        h->gone = st;
    }
    while (h->gone != NULL) {
        struct http2_stream *st = h->gone;
        if (!exchange_forget(&st->exchange, work)) return false;
        h->gone = st->next;
        buf_fini(&st->body);
        buf_fini(&st->out);
        mem_free(st);
    }
    mem_free(h);
    return true;
}

static bool http2_is_busy(const struct session_http *s)
{
    return s->http2->stream_count > 0;
}

static bool http2_has_events(const struct session_http *s)
{
    return s->http2->event_count > 0;
}

static bool http2_is_blocked(const struct session_http *s)
{
    (void)s;
    return false; /* it is read while commands run, so its end is seen */
}

const struct session_ops http2_ops = {
    .begin = http2_begin,
    .wants_input = http2_wants_input,
    .run = http2_run,
    .check = http2_check,
    .end = http2_ended,
    .forget = http2_forget,
    .is_busy = http2_is_busy,
    .has_events = http2_has_events,
    .is_blocked = http2_is_blocked,
};
