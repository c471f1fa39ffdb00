/* http2: HTTP/2 over a stream (RFC 9113), by nghttp2: its streams are exchanges side by side.
 *
 * Frames go into the connection's output in the order in which nghttp2 gives them, and are held
 * until the newest version that any answer of the connection depended on is durable: so a read's
 * answer may wait for the sync of a write beside it, as in a pipeline. What a stream has to send
 * stays with it (`out`) while the connection has STREAM_PAUSE_BYTES unsent or the peer gives no
 * room.
 */
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "http/http2_int.h"
#include "request/block.h"

#define STREAMS_MAX 1000
#define WINDOW_BYTES (1 << 20)
#define HEAD_BYTES_MAX (64 * 1024)
#define RESETS_BURST 2000 /* streams that a peer may reset at once, ... */
#define RESETS_RATE 200   /* ... and in each second */
#define CONTINUATIONS_MAX 8
#define FORGET_WORK 500 /* of streams that ended, done at once: some 50 us ... */
#define STREAM_WORK 10  /* ... a stream counts as so many */

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
    exchange_init(&st->exchange, h->session, &st->exchange.link, &http2_answers);
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
    } else if (slice_eq(name, slice_str(":path"))) {
        bool is_star = m->method == HTTP_OPTIONS && slice_eq(value, slice_str("*"));
        if (is_star) m->path = value;
        if (!is_star && !http_split_target(value, m)) refuse(st, 400, "the target must be a path");
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
        refuse(st, 431, "the request head exceeds 64 KB or 100 headers");
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
        refuse(st, 400, "the path is missing");
    }
    st->message.body = buf_slice(&st->body);
    http2_queue(&st->exchange);
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
        refuse(st, 413, "the body exceeds http-max-body");
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

static void stream_ends(struct http2_stream *st)
{
    struct http2 *h = st->http2;
    exchange_end(&st->exchange);
    st->next = h->gone;
    h->gone = st;
}

/* Those whose last byte was written end, or, when the connection has ended, all of them. */
static void end_leaving(struct http2 *h, bool all)
{
    while (h->leaving != NULL) {
        struct http2_stream *st = h->leaving;
        if (!http2_is_written(st) && !all) return;
        h->leaving = st->next;
        if (h->leaving == NULL) h->leaving_last = &h->leaving;
        stream_ends(st);
    }
}

static int on_close(nghttp2_session *ng, int32_t id, uint32_t code, void *arg)
{
    struct http2 *h = arg;
    struct http2_stream *st = find(ng, id);
    if (st == NULL) return 0;
    (void)nghttp2_session_set_stream_user_data(ng, id, NULL);
    if (st->exchange.state == EXCHANGE_STREAMING) h->event_count--;
    RING_UNLINK(st, next, prev);
    h->stream_count--;
    bool is_whole = code == NGHTTP2_NO_ERROR && st->is_out_whole && st->out_at == st->out.len;
    if (!http2_is_written(st) && is_whole) {
        st->next = NULL;
        *h->leaving_last = st;
        h->leaving_last = &st->next;
    } else {
        stream_ends(st);
    }
    return 0;
}

/* ---- the connection -------------------------------------------------------------------------- */

/* nghttp2's functions, so that its memory is counted (base/mem.h). */
static void *ng_alloc(size_t bytes, void *arg)
{
    (void)arg;
    return mem_library_alloc(bytes);
}

static void *ng_new(size_t items, size_t bytes, void *arg)
{
    (void)arg;
    return mem_library_new(items, bytes);
}

static void *ng_resize(void *old, size_t bytes, void *arg)
{
    (void)arg;
    return mem_library_resize(old, bytes);
}

static void ng_free(void *p, void *arg)
{
    (void)arg;
    mem_free(p);
}

static void make_session(struct http2 *h)
{
    nghttp2_mem mem = {.malloc = ng_alloc, .calloc = ng_new, .realloc = ng_resize, .free = ng_free};
    nghttp2_session_callbacks *calls = NULL;
    nghttp2_option *option = NULL;
    if (nghttp2_session_callbacks_new(&calls) != 0 || nghttp2_option_new(&option) != 0) {
        die("out of memory for HTTP/2");
    }
    nghttp2_session_callbacks_set_on_begin_headers_callback(calls, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(calls, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(calls, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(calls, on_close);
    nghttp2_option_set_stream_reset_rate_limit(option, RESETS_BURST, RESETS_RATE);
    nghttp2_option_set_max_continuations(option, CONTINUATIONS_MAX);
    nghttp2_option_set_max_send_header_block_length(option, HEAD_BYTES_MAX);
    if (nghttp2_session_server_new3(&h->ng, calls, h, option, &mem) != 0) {
        die("out of memory for HTTP/2");
    }
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
    h->leaving_last = &h->leaving;
    RING_INIT(&h->streams, next, prev);
    make_session(h);
    if (nghttp2_submit_settings(h->ng, NGHTTP2_FLAG_NONE, settings,
                                sizeof settings / sizeof settings[0]) != 0 ||
        nghttp2_session_set_local_window_size(h->ng, NGHTTP2_FLAG_NONE, 0, 4 * WINDOW_BYTES) != 0) {
        die("out of memory for HTTP/2");
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
        if (len == 0) {
            if (h->stream_count == 0) h->is_evaluated = false;
            return;
        }
        buf_append(&stream->output.bytes, data, (size_t)len);
        http2_placed(h);
        if (stream->output.bytes.is_failed) {
            stream_overrun(stream, NULL);
            return;
        }
        stream_mark_reply(stream, h->depends, h->is_evaluated);
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
    if (x->state == EXCHANGE_CLOSED) http2_reset(st, NGHTTP2_CANCEL);
}

/* True when all of the streams that ended are forgotten; false when *work was used up before, or
 * one is to be taken off the queue first. */
static bool forget_gone(struct http2 *h, size_t *work)
{
    while (h->gone != NULL) {
        struct http2_stream *st = h->gone;
        if (st->exchange.is_queued || *work < STREAM_WORK) return false;
        *work -= STREAM_WORK;
        if (!exchange_forget(&st->exchange, work)) return false;
        h->gone = st->next;
        buf_fini(&st->body);
        buf_fini(&st->out);
        mem_free(st);
    }
    return true;
}

/* While the connection goes on. */
static void forget_some(struct http2 *h)
{
    size_t work = FORGET_WORK;
    (void)forget_gone(h, &work);
}

/* What comes after this was not begun with; the connection ends when the streams before it have. */
static void go_away(struct http2 *h)
{
    int32_t last = nghttp2_session_get_last_proc_stream_id(h->ng);
    if (h->is_going || !h->session->http->is_stopping) return;
    h->is_going = true;
    (void)nghttp2_submit_goaway(h->ng, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, NULL, 0);
}

static void http2_run(struct session_http *s)
{
    struct http2 *h = s->http2;
    struct stream *stream = s->stream;
    bool is_first = true;
    while (h->queue_first != NULL && stream_pending(stream) < STREAM_PAUSE_BYTES) {
        if (!is_first && net_turn_is_full(stream->net)) break;
        struct http2_stream *st = http2_stream_of(h->queue_first);
        h->queue_first = st->exchange.queue_next;
        if (h->queue_first == NULL) h->queue_last = &h->queue_first;
        st->exchange.is_queued = false;
        is_first = false;
        bool is_gone = nghttp2_session_get_stream_user_data(h->ng, st->id) != st;
        if (!is_gone) run_exchange(st);
        if (stream->state != STREAM_OPEN) return;
    }
    go_away(h);
    pump(h);
    if (stream->state != STREAM_OPEN) return;
    end_leaving(h, false);
    forget_some(h);
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
        if (x->state == EXCHANGE_PARKED && client_waits_long(&x->client)) return true;
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
        http2_count_unsent(st);
        (void)http2_is_written(st);
        if (is_stuck(st, now_ms)) http2_reset(st, NGHTTP2_CANCEL);
        st = next;
    }
    end_leaving(h, false);
    forget_some(h);
    if (is_left(h)) stream_kill(s->stream);
}

static void http2_ended(struct session_http *s)
{
    struct http2 *h = s->http2;
    end_leaving(h, true);
    for (struct http2_stream *st = h->streams.next; st != &h->streams; st = st->next) {
        (void)http2_is_written(st);
        exchange_end(&st->exchange);
    }
    nghttp2_session_del(h->ng);
    h->ng = NULL;
}

static bool http2_forget(struct session_http *s, size_t *work)
{
    struct http2 *h = s->http2;
    while (h->queue_first != NULL) {
        h->queue_first->is_queued = false;
        h->queue_first = h->queue_first->queue_next;
    }
    while (h->streams.next != &h->streams) {
        struct http2_stream *st = h->streams.next;
        RING_UNLINK(st, next, prev);
        st->next = h->gone;
        h->gone = st;
    }
    if (!forget_gone(h, work)) return false;
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
