/* conn_write: what connections have to send. What is sent to one connection touches nothing of
 * another (conn_send), so many are sent to at once, by io_threads; what follows from it is the
 * loop's alone (flush_end). */
#include <errno.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "net/net_int.h"

#define WRITE_BYTES_MAX (256 * 1024) /* to one client in one turn */
#define DRAFTS_BYTES_MIN (32 * 1024) /* to write so much takes longer than to wake a helper */
/* What takes less to be written is no draft. The loop's own thread writes long ones only later,
 * since they may be for the thread of render.c. */
#define DRAFT_BYTES_MIN 256
#define DRAFT_BYTES_ALONE (64 * 1024)
#define FLUSH_US_MAX 10000 /* of a turn, for output of which others made that it can go */

size_t stream_pending(const struct stream *s)
{
    return output_pending(&s->output);
}

bool stream_would_overrun(const struct stream *s, size_t more)
{
    uint64_t hard = s->protocol->output_limit(s)->hard_bytes;
    return hard != 0 && output_pending(&s->output) + more > hard;
}

void stream_overrun(struct stream *s, const char *why)
{
    struct conn *c = conn_of(s);
    if (!c->is_overrun) c->overrun_why = why;
    c->is_overrun = true;
    conn_queue_flush(c);
}

bool stream_is_overrun(const struct stream *s)
{
    return ((const struct conn *)s)->is_overrun;
}

bool stream_check_output(struct stream *s)
{
    struct conn *c = conn_of(s);
    const struct output_limit *limit = s->protocol->output_limit(s);
    bool is_over = output_is_over(&s->output, limit, limit->soft_bytes == 0 ? 0 : clock_mono_us());
    if (!is_over && !c->is_overrun) return true;
    size_t pending = output_pending(&s->output);
    const struct log_field fields[] = {{.name = "client", .text = s->link.address},
                                       {.name = "output_bytes", .number = (int64_t)pending}};
    if (!is_over && c->overrun_why != NULL) {
        log_event(LOG_LEVEL_WARNING, fields, 2, "client %s closed: %s", s->link.address,
                  c->overrun_why);
    } else {
        log_event(LOG_LEVEL_WARNING, fields, 2,
                  "client %s closed: its output of %zu bytes exceeds client-output-buffer-limit",
                  s->link.address, pending);
    }
    stream_kill(s);
    return false;
}

static ssize_t conn_write(struct conn *c, const void *bytes, size_t size)
{
    if (c->tls != NULL) return tls_write(c->tls, bytes, size);
    return send(c->stream.link.fd, bytes, size, MSG_NOSIGNAL);
}

/* Sends what may be sent, and leaves in c->sending what became of it. Any thread that has the
 * connection for itself, while the loop waits. */
static void conn_send(void *item)
{
    struct conn *c = item;
    struct stream *s = &c->stream;
    struct conn_sending *out = &c->sending;
    uint64_t written = s->output.drafts_written;
    struct slice ready;
    INVARIANT(s->state == STREAM_OPEN || s->state == STREAM_DRAINING); /* 2 of stream.h */
    *out = (struct conn_sending){0};
    for (;;) {
        ready = output_ready(&s->output, s->net->durable, out->is_gated);
        if (ready.len == 0 || out->bytes >= WRITE_BYTES_MAX) break;
        /* Asked right before it is sent: drafts may have taken their time. */
        if (!out->is_gated && !net_may_send(s->net)) {
            out->is_gated = true;
            continue;
        }
        size_t len = ready.len < WRITE_BYTES_MAX ? ready.len : WRITE_BYTES_MAX;
        ssize_t sent = conn_write(c, ready.data, len);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) {
            out->has_failed = errno != EAGAIN && errno != EWOULDBLOCK;
            break;
        }
        out->bytes += (size_t)sent;
        output_sent(&s->output, (size_t)sent);
    }
    out->left = ready.len;
    out->drafts = s->output.drafts_written - written;
    if (output_is_broken(&s->output)) out->has_failed = true;
}

/* What was a long draft can be sent. It may be so much less that there is room again. */
static void rendered(struct conn *c)
{
    conn_queue_flush(c);
    stream_queue(&c->stream);
}

/* After conn_send. */
static void flush_end(struct conn *c)
{
    struct stream *s = &c->stream;
    struct net *n = s->net;
    n->options.counts->out_bytes += c->sending.bytes;
    n->options.counts->drafts_written += c->sending.drafts;
    if (c->sending.is_gated) n->is_gated = true;
    s->link.stream_sent = s->output.base + s->output.sent;
    if (s->state == STREAM_DEAD) return; /* killed by what another's end led to */
    if (c->sending.has_failed) {
        if (output_is_broken(&s->output)) {
            log_warning("client %s closed: out of memory for its output", s->link.address);
        }
        stream_kill(s);
        return;
    }
    if (c->sending.left > 0) {
        c->is_write_blocked = true;
        bool wants_read = c->tls != NULL && tls_write_wants_read(c->tls);
        ev_io_start(n->loop, wants_read ? &c->read_io : &c->write_io);
    }
    if (s->output.awaits_long) render_begin(c, rendered);
    s->link.output_bytes = output_pending(&s->output);
    s->link.transport_bytes = (c->tls != NULL ? tls_held_bytes(c->tls) : 0) + c->rendering_bytes;
    if (output_is_empty(&s->output)) {
        conn_unhold(c);
        if (s->state == STREAM_DRAINING) {
            stream_kill(s);
            return;
        }
    } else if (c->sending.left == 0) {
        conn_hold(c);
    }
    (void)stream_check_output(s);
}

static bool can_flush(const struct conn *c)
{
    return c->stream.state != STREAM_DEAD && !c->is_write_blocked;
}

void conn_flush(struct conn *c)
{
    if (!can_flush(c)) return;
    conn_send(c);
    flush_end(c);
}

struct drafts *stream_drafts(struct stream *s, size_t *bytes_min)
{
    *bytes_min = s->net->io != NULL ? DRAFT_BYTES_MIN : DRAFT_BYTES_ALONE;
    return &s->output.drafts;
}

void stream_mark(struct stream *s, uint64_t version)
{
    output_mark(&s->output, version, s->net->durable);
    s->link.output_bytes = output_pending(&s->output);
}

void stream_mark_own(struct stream *s, uint64_t version)
{
    output_mark_own(&s->output, version, s->net->durable);
    s->link.output_bytes = output_pending(&s->output);
}

static void append(struct stream *s, struct slice bytes)
{
    buf_append(&s->output.bytes, bytes.data, bytes.len);
    s->net->turn_bytes += bytes.len; /* what one client says to many fills the turn too */
    if (s->output.bytes.is_failed) {
        s->output.bytes.is_failed = false;
        stream_overrun(s, NULL);
    }
    conn_queue_flush(conn_of(s));
}

void stream_append(struct stream *s, struct slice bytes, uint64_t version)
{
    append(s, bytes);
    stream_mark(s, version);
}

void stream_append_own(struct stream *s, struct slice bytes)
{
    append(s, bytes);
    stream_mark_own(s, 0);
}

void conn_queue_flush(struct conn *c)
{
    struct net *n = c->stream.net;
    if (c->is_flush_queued) return;
    attend_soon(c);
    c->is_flush_queued = true;
    c->flush_next = NULL;
    *n->flush_last = c;
    n->flush_last = &c->flush_next;
}

static struct conn *take_queued(struct net *n)
{
    struct conn *c = n->flush_first;
    n->flush_first = c->flush_next;
    if (n->flush_first == NULL) n->flush_last = &n->flush_first;
    c->is_flush_queued = false;
    return c;
}

/* Some of those that are queued, all at once. */
static void flush_some(struct net *n)
{
    struct conn *some[CONNS_AT_ONCE];
    size_t before[CONNS_AT_ONCE];
    void *sent[CONNS_AT_ONCE];
    size_t count = 0, sending = 0, most = conns_at_once(n), drafts = 0;
    while (n->flush_first != NULL && count < most) {
        struct conn *c = take_queued(n);
        some[count] = c;
        before[count++] = stream_pending(&c->stream);
        if (!can_flush(c)) continue;
        sent[sending++] = c;
        if (drafts_start(&c->stream.output.drafts) != SIZE_MAX) drafts += before[count - 1];
    }
    size_t each = drafts >= DRAFTS_BYTES_MIN ? 1 : IO_ITEMS_EACH;
    uint64_t helped = io_threads_helped(n->io);
    io_threads_run(n->io, conn_send, sent, sending, each);
    n->options.counts->helped_writes += io_threads_helped(n->io) - helped;
    for (size_t i = 0; i < sending; i++) flush_end(sent[i]);
    for (size_t i = 0; i < count; i++) {
        struct conn *c = some[i];
        struct stream *s = &c->stream;
        if (s->state != STREAM_DEAD && c->is_overrun) (void)stream_check_output(s);
        /* Commands that waited for room in the output can go on. */
        if (before[i] >= s->pause_bytes && s->state == STREAM_OPEN) stream_queue(s);
    }
}

void conn_flush_queued(struct net *n, bool all)
{
    if (n->flush_first == NULL) return;
    int64_t begin_us = clock_mono_us();
    while (n->flush_first != NULL) {
        flush_some(n);
        if (!all && clock_mono_us() - begin_us > FLUSH_US_MAX) return;
    }
}

void conn_on_writable(struct ev_loop *loop, ev_io *io, int events)
{
    struct conn *c = io->data;
    (void)events;
    c->is_write_blocked = false;
    ev_io_stop(loop, io);
    if (c->tls != NULL && tls_read_wants_write(c->tls)) conn_queue_read(c);
    if (c->stream.net->io != NULL) {
        conn_queue_flush(c); /* together with others */
    } else {
        conn_flush(c);
    }
    /* It may have stopped running commands because so much was unsent. */
    if (c->stream.state == STREAM_OPEN && stream_pending(&c->stream) < c->stream.pause_bytes) {
        stream_queue(&c->stream);
    }
}
