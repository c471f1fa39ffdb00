/* session: HTTP over a stream. Which version it is the first bytes say: the preface of HTTP/2, or a
 * request line.
 */
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "http/http_int.h"
#include "http/login.h"
#include "http/ticket.h"
#include "request/observe.h"

#define READ_BYTES (16 * 1024)
_Static_assert(READ_BYTES <= STREAM_INPUT_BYTES, "the input exceeds the free space");
#define READ_BIG_BYTES (1024 * 1024)
/* What one read may bring to do: the next is smaller when it was more, so that no peer that sends
 * what is much work for few bytes keeps the others waiting; larger when it was much less. */
#define READ_US_MAX 20
#define READ_SMALL_BYTES 512
/* So few bytes at a time, of a request or of a frame that is not whole, so often in a row: then it
 * is read a few times a second, since each read costs as much as a request of another client. Not
 * all of them at the same time. */
#define DRIP_BYTES 64
#define DRIP_FRAME_BYTES 9 /* the head of a frame */
#define DRIPS_MAX 16
#define RESTS_MAX 8 /* checks */
#define WAITING_LOOK_MS 1000
#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define PREFACE_BYTES 24

/* ---- what all sessions share ----------------------------------------------------------------- */

struct http *http_new(struct env *env, const struct http_options *options)
{
    struct http *h = mem_new(sizeof *h);
    h->env = env;
    h->options = *options;
    arena_init(&h->arena, 64 * 1024);
    buf_init(&h->scratch);
    h->failures = failures_new();
    h->tickets = tickets_new();
    if (gethostname(h->own.text, sizeof h->own.text - 1) != 0) h->own.text[0] = '\0';
    return h;
}

void http_free(struct http *h)
{
    if (h == NULL) return;
    tickets_free(h->tickets);
    failures_free(h->failures);
    mem_free(h->known);
    arena_fini(&h->arena);
    buf_fini(&h->scratch);
    mem_free(h);
}

void http_set_options(struct http *h, const struct http_options *options)
{
    h->options = *options;
}

void http_set_ready(struct http *h, const char *(*why_not)(void *arg), void *arg)
{
    h->why_not_ready = why_not;
    h->ready_arg = arg;
}

const struct http_counts *http_counts(const struct http *h)
{
    return &h->counts;
}

/* ---- life ------------------------------------------------------------------------------------ */

static int64_t mono_ms(void)
{
    return clock_mono_us() / 1000;
}

static void on_leader(struct waiter *w)
{
    struct session_http *s = (struct session_http *)((char *)w -
                                                     offsetof(struct session_http, waiter));
    stream_queue(s->stream);
}

static void *session_begin(void *arg, struct stream *stream)
{
    struct session_http *s = mem_new(sizeof *s);
    s->stream = stream;
    s->http = arg;
    s->idle_ms = mono_ms();
    s->waiter.ready = on_leader;
    s->read_bytes = READ_SMALL_BYTES;
    http1_init(&s->reader);
    return s;
}

static void session_end(struct stream *stream)
{
    struct session_http *s = stream->session;
    waiter_cancel(&s->waiter);
    node_pass_cancel(&s->pass);
    if (s->ops != NULL) s->ops->end(s);
}

static bool session_forget(struct stream *stream, size_t *work)
{
    struct session_http *s = stream->session;
    if (s->ops != NULL && !s->ops->forget(s, work)) return false;
    http1_fini(&s->reader);
    mem_free(s);
    stream->session = NULL;
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool session_wants_input(const struct stream *stream)
{
    const struct session_http *s = stream->session;
    if (stream_pending(stream) >= STREAM_PAUSE_BYTES || s->rests > 0) return false;
    if (s->kind == SESSION_PASSING) return false;
    return s->ops == NULL || s->ops->wants_input(s);
}

/* After a read: does it come in drips? */
static void count_drips(struct session_http *s)
{
    if (s->got_bytes == 0) return;
    size_t few = s->kind == SESSION_HTTP2 ? DRIP_FRAME_BYTES : DRIP_BYTES;
    /* Meanwhile more comes together. */
    if (s->drips > DRIPS_MAX) few *= 8;
    bool is_whole = s->kind != SESSION_HTTP2 && s->begun_ms == 0;
    s->drips = s->got_bytes < few && !is_whole ? s->drips + 1 : 0;
    if (s->drips > DRIPS_MAX) s->rests = 1 + (unsigned)s->stream->link.fd % RESTS_MAX;
}

/* After the work that a read of so many bytes brought. */
static void measure_read(struct session_http *s)
{
    if (s->got_bytes == 0) return;
    int64_t us = clock_mono_us() - s->got_us;
    if (us > READ_US_MAX && s->read_bytes > READ_SMALL_BYTES) {
        s->read_bytes /= 2;
    } else if (us < READ_US_MAX / 4 && s->got_bytes == s->read_bytes &&
               s->read_bytes < READ_BYTES) {
        s->read_bytes *= 2;
    }
    s->got_bytes = 0;
}

/* For a long body as much as has come already, so that memory follows what was sent. */
static size_t read_size(const struct session_http *s)
{
    uint64_t missing = http1_missing(&s->reader);
    size_t there = http1_buffered(&s->reader);
    if (missing <= READ_BYTES) return s->read_bytes;
    size_t size = there < READ_BYTES ? READ_BYTES : there > READ_BIG_BYTES ? READ_BIG_BYTES : there;
    return size < missing ? size : (size_t)missing;
}

static uint8_t *session_room(struct stream *stream, size_t *size)
{
    struct session_http *s = stream->session;
    if (s->kind == SESSION_HTTP2 || s->drops_input) {
        *size = s->read_bytes;
        return stream_input(stream);
    }
    size_t wanted = read_size(s);
    uint8_t *p = http1_room(&s->reader, wanted, size);
    if (p == NULL) {
        log_warning("client %s closed: out of memory for its request", stream->link.address);
        stream_kill(stream);
        return NULL;
    }
    if (*size > wanted) *size = wanted;
    return p;
}

static void become(struct session_http *s, enum session_kind kind)
{
    s->kind = kind;
    s->ops = kind == SESSION_HTTP2 ? &http2_ops : &http1_ops;
    s->ops->begin(s);
}

/* ---- other nodes ----------------------------------------------------------------------------- */

/* What a node answers itself: its own state, whichever node leads; and reads of what it has of the
 * leader's commits, once it has it. *is_known: what came is enough to tell. */
static bool is_for_node(const struct session_http *s, struct slice in, bool *is_known)
{
    static const char *const begins[] = {"GET /livez",
                                         "HEAD /livez",
                                         "GET /readyz",
                                         "HEAD /readyz",
                                         "GET /metrics",
                                         "HEAD /metrics",
                                         "POST /connect/eventual/snapshot_read"};
    size_t count = sizeof begins / sizeof begins[0];
    if (!s->http->env->node.following.is_there) count--;
    *is_known = true;
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(begins[i]);
        if (memcmp(in.data, begins[i], in.len < len ? in.len : len) != 0) continue;
        *is_known = in.len >= len;
        return true;
    }
    return false;
}

/* It waits, or it is no session of this kind any more. */
static void pass_on(struct session_http *s)
{
    struct error e;
    struct stream *stream = s->stream;
    struct node *n = s->http->env->node.self;
    struct buf line;
    enum err r = node_pass(n, &s->pass, NULL, &stream->link, &s->waiter, &e);
    if (r == ERR_WAIT) return;
    if (r == OK) {
        node_hand_on(n, &s->pass, stream,
                     slice_of(s->reader.in.data + s->reader.begin, http1_buffered(&s->reader)));
        return;
    }
    buf_init(&line);
    buf_printf(&line,
               "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"
               "Content-Type: application/json\r\n\r\n{\"error\":\"TRYAGAIN %s\"}",
               e.text);
    buf_require(&line);
    stream_append(stream, buf_slice(&line), 0);
    buf_fini(&line);
    stream_drain(stream);
}

static void session_received(struct stream *stream, size_t bytes);

void http_take(struct http *h, struct stream *stream, struct slice bytes)
{
    stream_become(stream, &http_protocol, h);
    while (bytes.len > 0 && stream->state == STREAM_OPEN) {
        size_t size = 0;
        uint8_t *room = session_room(stream, &size);
        if (room == NULL) return;
        size_t len = bytes.len < size ? bytes.len : size;
        memcpy(room, bytes.data, len);
        session_received(stream, len);
        bytes = slice_of(bytes.data + len, bytes.len - len);
    }
    if (stream->state == STREAM_OPEN) stream_queue(stream);
}

/* ---- what came ------------------------------------------------------------------------------- */

/* What the first bytes say. */
static void find_kind(struct session_http *s)
{
    struct slice in = slice_of(s->reader.in.data + s->reader.begin, http1_buffered(&s->reader));
    if (s->http->env->node.stands_by && in.len > 0) {
        bool is_known = false;
        bool is_own = is_for_node(s, in, &is_known);
        if (!is_known) return;
        if (!is_own) {
            s->kind = SESSION_PASSING;
            return;
        }
    }
    size_t len = in.len < PREFACE_BYTES ? in.len : PREFACE_BYTES;
    if (len == 0) return;
    if (memcmp(in.data, PREFACE, len) != 0) {
        become(s, SESSION_HTTP1);
    } else if (len == PREFACE_BYTES) {
        become(s, SESSION_HTTP2);
        if (!http2_receive(s, in)) stream_kill(s->stream);
        http1_fini(&s->reader);
    }
}

static void session_received(struct stream *stream, size_t bytes)
{
    struct session_http *s = stream->session;
    s->got_bytes = bytes;
    s->got_us = clock_mono_us();
    if (s->kind == SESSION_HTTP2) {
        if (!http2_receive(s, slice_of(stream_input(stream), bytes))) stream_kill(stream);
        return;
    }
    if (s->drops_input) return;
    http1_fed(&s->reader, bytes);
    if (s->begun_ms == 0) s->begun_ms = mono_ms();
    if (s->kind == SESSION_NEW) find_kind(s);
    if (s->kind == SESSION_HTTP2) s->begun_ms = 0; /* its streams have times of their own */
}

static void session_run(struct stream *stream)
{
    struct session_http *s = stream->session;
    stream->link.active_ms = clock_wall_ms();
    s->http->env->now_us = clock_mono_us();
    if (s->kind == SESSION_PASSING) {
        pass_on(s);
        return;
    }
    if (s->ops != NULL) s->ops->run(s);
    bool is_over = stream->has_eof || s->http->is_stopping;
    if (s->ops == NULL && is_over && stream->state == STREAM_OPEN) stream_drain(stream);
    stream->link.input_bytes = http1_buffered(&s->reader);
    count_drips(s);
    measure_read(s);
    if (s->rests > 0 || (s->ops != NULL && s->ops->is_busy(s))) stream_check_soon(stream);
}

/* When the peer has gone, a request that waits for a message that may never come must not wait on,
 * and events have no reader. */
static void session_peer_ended(struct stream *stream)
{
    const struct session_http *s = stream->session;
    if (s->ops != NULL && (s->ops->has_events(s) || s->ops->is_blocked(s))) stream_kill(stream);
}

/* Streams of events and blocked commands end at once; run does the rest. */
static void session_stop(struct stream *stream)
{
    struct session_http *s = stream->session;
    s->http->is_stopping = true;
    if (stream->state != STREAM_OPEN) return;
    if (s->ops != NULL) s->ops->check(s, mono_ms());
    stream_queue(stream);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static const struct output_limit *session_output_limit(const struct stream *stream)
{
    const struct session_http *s = stream->session;
    const struct http_options *o = &s->http->options;
    return s->ops != NULL && s->ops->has_events(s) ? &o->output_stream : &o->output;
}

/* Something is left in the socket of a session whose command is blocked: has its peer ended? */
static bool is_abandoned(const struct session_http *s)
{
    struct pollfd p = {.fd = s->stream->link.fd, .events = POLLRDHUP};
    if (s->ops == NULL || !s->ops->is_blocked(s) || stream_sees_end(s->stream)) return false;
    return poll(&p, 1, 0) == 1;
}

/* Of one with a request: streams of events, and blocked commands, are many and wait long. */
static int64_t busy_due_ms(const struct session_http *s)
{
    if (s->kind == SESSION_HTTP2 || s->rests > 0) return 1;
    bool waits = s->ops != NULL && (s->ops->has_events(s) || s->ops->is_blocked(s));
    return waits ? WAITING_LOOK_MS : 1;
}

/* Of one without. */
static int64_t idle_due_ms(const struct session_http *s, int64_t now)
{
    const struct http_options *o = &s->http->options;
    if (s->rests > 0 || s->drops_input) return 1;
    int64_t late_ms = s->begun_ms + (int64_t)o->request_s * 1000 - now;
    int64_t idle_ms = s->idle_ms + (int64_t)o->idle_s * 1000 - now;
    if (s->begun_ms == 0 || o->request_s == 0) late_ms = INT64_MAX;
    if (o->idle_s == 0) idle_ms = INT64_MAX;
    int64_t due_ms = late_ms < idle_ms ? late_ms : idle_ms;
    return due_ms == INT64_MAX ? 0 : due_ms + 1;
}

static int64_t session_check(struct stream *stream, int64_t now_ms)
{
    struct session_http *s = stream->session;
    const struct http_options *o = &s->http->options;
    int64_t now = mono_ms();
    (void)now_ms;
    if (s->kind != SESSION_HTTP2 && is_abandoned(s)) {
        log_verbose("client %s closed: disconnected while it was blocked", stream->link.address);
        stream_kill(stream);
        return 0;
    }
    bool is_busy = s->ops != NULL && s->ops->is_busy(s);
    if (is_busy) s->idle_ms = now;
    if (s->ops != NULL) s->ops->check(s, now);
    if (stream->state != STREAM_OPEN) return 0;
    if (s->rests > 0 && --s->rests == 0) stream_queue(stream);
    if (is_busy) return busy_due_ms(s);
    bool is_late = s->begun_ms != 0 && o->request_s != 0 &&
                   now - s->begun_ms > (int64_t)o->request_s * 1000;
    bool is_idle = o->idle_s != 0 && now - s->idle_ms > (int64_t)o->idle_s * 1000;
    if (!is_late && !is_idle) return idle_due_ms(s, now);
    log_verbose("client %s closed: %s", stream->link.address,
                is_late ? "its request was not received in time" : "idle");
    stream_kill(stream);
    return 0;
}

const struct protocol http_protocol = {
    .name = "http",
    .alpn = "\x02h2\x08http/1.1",
    .full = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: "
            "application/json\r\n\r\n"
            "{\"error\":\"ERR max number of clients reached\"}",
    .denied = "HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Type: "
              "application/json\r\n\r\n{\"error\":\"DENIED protected mode: without a password, "
              "only connections from this machine are accepted. Set requirepass or users "
              "(aclfile). To accept other machines without a password, set protected-mode no from "
              "this machine.\"}",
    .begin = session_begin,
    .wants_input = session_wants_input,
    .room = session_room,
    .received = session_received,
    .run = session_run,
    .peer_ended = session_peer_ended,
    .stop = session_stop,
    .check = session_check,
    .output_limit = session_output_limit,
    .end = session_end,
    .forget = session_forget,
};
