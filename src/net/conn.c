#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/mem.h"
#include "net/net_int.h"

#define WRITE_BYTES_MAX (256 * 1024) /* to one client in one turn */
#define FLUSH_US_MAX 10000           /* of a turn, for output of which others made that it can go */
#define LOOK_EVERY 16                /* connections between two looks at the clock */

static struct conn *conn_of(struct stream *s)
{
    return (struct conn *)s;
}

static const struct machine stream_machine = {
    .name = "stream",
    .states = {"handshake", "open", "draining", "dead"},
    .allowed = {[STREAM_HANDSHAKE] = TO(STREAM_OPEN) | TO(STREAM_DEAD),
                [STREAM_OPEN] = TO(STREAM_DRAINING) | TO(STREAM_DEAD),
                [STREAM_DRAINING] = TO(STREAM_DEAD)},
};

/* ---- queues ---- */

void stream_queue(struct stream *s)
{
    struct conn *c = conn_of(s);
    struct net *n = s->net;
    if (c->is_queued || s->state == STREAM_DEAD) return;
    c->is_queued = true;
    c->run_next = NULL;
    *n->run_last = c;
    n->run_last = &c->run_next;
    ev_idle_start(n->loop, &n->idle);
}

static void conn_hold(struct conn *c)
{
    if (c->is_held) return;
    c->is_held = true;
    RING_INSERT(&c->stream.net->held, c, held_next, held_prev);
}

static void conn_unhold(struct conn *c)
{
    if (!c->is_held) return;
    c->is_held = false;
    RING_UNLINK(c, held_next, held_prev);
}

/* ---- the end ---- */

void stream_kill(struct stream *s)
{
    struct conn *c = conn_of(s);
    struct net *n = s->net;
    if (s->state == STREAM_DEAD) return;
    bool has_begun = s->state != STREAM_HANDSHAKE;
    MACHINE_MOVE(&stream_machine, s, state, STREAM_DEAD);
    conn_unhold(c);
    ev_io_stop(n->loop, &c->read_io);
    ev_io_stop(n->loop, &c->write_io);
    RING_UNLINK(c, next, prev);
    if (!c->is_outgoing) n->conn_count--;
    peer_give(&n->peers, s->link.peer);
    s->link.peer = NULL;
    if (c->tls != NULL)
        *(has_begun ? &n->options.tls->connections : &n->options.tls->handshakes) -= 1;
    if (c->is_finishing) n->finishing_count--;
    c->dying_next = n->dying;
    n->dying = c;
    if (has_begun) s->protocol->end(s);
}

void stream_drain(struct stream *s)
{
    MACHINE_MOVE(&stream_machine, s, state, STREAM_DRAINING);
    ev_io_stop(s->net->loop, &conn_of(s)->read_io);
}

void stream_become(struct stream *s, const struct protocol *protocol, void *arg)
{
    INVARIANT(s->state == STREAM_OPEN);
    size_t work = SIZE_MAX;
    s->protocol->end(s);
    bool is_forgotten = s->protocol->forget(s, &work);
    INVARIANT(is_forgotten);
    s->protocol = protocol;
    s->pause_bytes = STREAM_PAUSE_BYTES;
    s->session = protocol->begin(arg, s);
}

void stream_shut(struct stream *s)
{
    if (conn_of(s)->tls == NULL) (void)shutdown(s->link.fd, SHUT_WR);
}

void conn_free(struct conn *c)
{
    INVARIANT(c->stream.state == STREAM_DEAD && !c->is_readable && !c->is_queued &&
              !c->is_flush_queued);
    if (c->tls != NULL) tls_free(c->tls);
    close(c->stream.link.fd);
    output_fini(&c->stream.output);
    mem_free(c);
}

/* ---- writing ---- */

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
                  "client %s closed: its output of %zu bytes is over client-output-buffer-limit",
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

/* False when nothing more can be sent for ever. */
static bool conn_send(struct conn *c, struct slice *ready)
{
    struct stream *s = &c->stream;
    size_t written = 0;
    while (ready->len > 0 && written < WRITE_BYTES_MAX && net_may_send(s->net)) {
        size_t len = ready->len < WRITE_BYTES_MAX ? ready->len : WRITE_BYTES_MAX;
        ssize_t sent = conn_write(c, ready->data, len);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
        written += (size_t)sent;
        s->net->options.counts->out_bytes += (uint64_t)sent;
        output_sent(&s->output, (size_t)sent);
        s->link.stream_sent = s->output.base + s->output.sent;
        *ready = output_ready(&s->output, s->net->durable);
    }
    return true;
}

/* Writes what may be written. */
static void conn_flush(struct conn *c)
{
    struct stream *s = &c->stream;
    struct net *n = s->net;
    if (s->state == STREAM_DEAD || c->is_write_blocked) return;
    struct slice ready = output_ready(&s->output, n->durable);
    if (!conn_send(c, &ready)) {
        stream_kill(s);
        return;
    }
    if (ready.len > 0 && !n->is_gated) {
        c->is_write_blocked = true;
        bool wants_read = c->tls != NULL && tls_write_wants_read(c->tls);
        ev_io_start(n->loop, wants_read ? &c->read_io : &c->write_io);
    }
    s->link.output_bytes = output_pending(&s->output);
    if (c->tls != NULL) s->link.transport_bytes = tls_held_bytes(c->tls);
    if (output_is_empty(&s->output)) {
        conn_unhold(c);
        if (s->state == STREAM_DRAINING) {
            stream_kill(s);
            return;
        }
    } else if (ready.len == 0 || n->is_gated) {
        conn_hold(c);
    }
    (void)stream_check_output(s);
}

void stream_mark(struct stream *s, uint64_t version)
{
    output_mark(&s->output, version, s->net->durable);
    s->link.output_bytes = output_pending(&s->output);
}

void stream_append(struct stream *s, struct slice bytes, uint64_t version)
{
    buf_append(&s->output.bytes, bytes.data, bytes.len);
    if (s->output.bytes.is_failed) {
        s->output.bytes.is_failed = false;
        stream_overrun(s, NULL);
    }
    stream_mark(s, version);
    conn_queue_flush(conn_of(s));
}

void conn_queue_flush(struct conn *c)
{
    struct net *n = c->stream.net;
    if (c->is_flush_queued) return;
    c->is_flush_queued = true;
    c->flush_next = NULL;
    *n->flush_last = c;
    n->flush_last = &c->flush_next;
}

void conn_flush_queued(struct net *n, bool all)
{
    int64_t begin_us = clock_mono_us();
    for (unsigned i = 1; n->flush_first != NULL; i++) {
        struct conn *c = n->flush_first;
        size_t before = stream_pending(&c->stream);
        n->flush_first = c->flush_next;
        if (n->flush_first == NULL) n->flush_last = &n->flush_first;
        c->is_flush_queued = false;
        conn_flush(c);
        if (c->stream.state != STREAM_DEAD && c->is_overrun) (void)stream_check_output(&c->stream);
        /* Commands that waited for room in the output can go on. */
        if (before >= c->stream.pause_bytes && c->stream.state == STREAM_OPEN) {
            stream_queue(&c->stream);
        }
        if (!all && i % LOOK_EVERY == 0 && clock_mono_us() - begin_us > FLUSH_US_MAX) return;
    }
}

/* It is read in this turn or the next, whether the socket is readable or not. */
static void conn_queue_read(struct conn *c)
{
    struct net *n = c->stream.net;
    if (c->is_readable || c->stream.state != STREAM_OPEN) return;
    c->is_readable = true;
    c->readable_next = NULL;
    *n->late_last = c;
    n->late_last = &c->readable_next;
    ev_idle_start(n->loop, &n->idle);
}

static void on_writable(struct ev_loop *loop, ev_io *io, int events)
{
    struct conn *c = io->data;
    (void)events;
    c->is_write_blocked = false;
    ev_io_stop(loop, io);
    if (c->tls != NULL && tls_read_wants_write(c->tls)) conn_queue_read(c);
    conn_flush(c);
    /* It may have stopped running commands because this much was unsent. */
    if (c->stream.state == STREAM_OPEN && stream_pending(&c->stream) < c->stream.pause_bytes) {
        stream_queue(&c->stream);
    }
}

/* ---- reading and running ---- */

void conn_run(struct conn *c)
{
    struct stream *s = &c->stream;
    if (s->state == STREAM_OPEN) s->protocol->run(s);
    conn_flush(c);
    if (s->net->is_stopping && !c->is_finishing) return;
    if (s->state == STREAM_OPEN && !s->has_eof && s->protocol->wants_input(s)) {
        ev_io_start(s->net->loop, &c->read_io);
        if (c->tls != NULL && tls_has_more(c->tls)) conn_queue_read(c);
    }
}

/* Nothing is read of it now, but its end is noticed. */
static void conn_look_for_end(struct conn *c)
{
    struct stream *s = &c->stream;
    uint8_t byte;
    ssize_t got = recv(s->link.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (got < 0) {
        stream_kill(s);
        return;
    }
    ev_io_stop(s->net->loop, &c->read_io); /* what came stays in the socket */
    if (got > 0) return;
    s->has_eof = c->tls == NULL; /* with TLS something may be left that was read and not given on */
    s->protocol->peer_ended(s);
}

/* The write that stopped for something that must be read first goes on. */
static void conn_write_again(struct conn *c)
{
    tls_poke(c->tls);
    if (c->stream.state != STREAM_OPEN) ev_io_stop(c->stream.net->loop, &c->read_io);
    c->is_write_blocked = false;
    conn_flush(c);
}

/* Nothing was read. False when nothing will ever be. */
static bool conn_read_later(struct conn *c)
{
    struct net *n = c->stream.net;
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        if (c->tls != NULL) {
            log_verbose("client %s closed: TLS: %s", c->stream.link.address, tls_error(c->tls));
        }
        return false;
    }
    if (c->tls == NULL) return true;
    n->now_us = clock_mono_us(); /* it may have been work */
    if (tls_read_wants_write(c->tls)) {
        ev_io_stop(n->loop, &c->read_io);
        ev_io_start(n->loop, &c->write_io);
    } else {
        ev_io_start(n->loop, &c->read_io);
    }
    return true;
}

static void conn_read(struct conn *c)
{
    struct stream *s = &c->stream;
    struct net *n = s->net;
    if (c->tls != NULL && tls_write_wants_read(c->tls)) {
        conn_write_again(c);
        if (tls_write_wants_read(c->tls)) return; /* the look below would stop it */
    }
    if (s->state != STREAM_OPEN || !s->protocol->wants_input(s)) {
        if (s->state == STREAM_OPEN) conn_look_for_end(c);
        return;
    }
    if (c->is_queued) return; /* it has commands to run before more is read */
    size_t room = 0;
    uint8_t *p = s->protocol->room(s, &room);
    if (p == NULL) return;
    ssize_t got = c->tls == NULL ? recv(s->link.fd, p, room, 0) : tls_read(c->tls, p, room);
    if (got < 0) {
        if (!conn_read_later(c)) stream_kill(s);
        return;
    }
    if (got == 0) {
        s->has_eof = true;
        ev_io_stop(n->loop, &c->read_io);
    } else {
        s->protocol->received(s, (size_t)got);
        n->turn_bytes += (size_t)got;
        n->options.counts->in_bytes += (uint64_t)got;
    }
    conn_run(c);
}

static void on_readable(struct ev_loop *loop, ev_io *io, int events)
{
    struct conn *c = io->data;
    struct net *n = c->stream.net;
    (void)loop;
    (void)events;
    if (c->is_readable) return; /* the turn before was full */
    c->is_readable = true;
    c->readable_next = n->readable;
    n->readable = c;
}

/* What was left of earlier turns comes before what is new. */
void conn_read_all(struct net *n)
{
    *n->late_last = n->readable;
    while (*n->late_last != NULL) n->late_last = &(*n->late_last)->readable_next;
    n->readable = NULL;
    unsigned reads = 0;
    while (n->late_first != NULL && !net_turn_is_full(n)) {
        struct conn *c = n->late_first;
        n->late_first = c->readable_next;
        if (n->late_first == NULL) n->late_last = &n->late_first;
        c->is_readable = false;
        if (c->stream.state != STREAM_DEAD) conn_read(c);
        /* That connections end takes time too, and no command says how much. */
        if (++reads % LOOK_EVERY == 0) n->now_us = clock_mono_us();
    }
}

/* ---- the beginning ---- */

struct conn *conn_make(struct net *n, const struct listener *l, const struct link *link)
{
    struct conn *c = mem_new(sizeof *c);
    struct stream *s = &c->stream;
    c->begin_arg = l->arg;
    s->state = STREAM_HANDSHAKE;
    s->protocol = l->protocol;
    s->pause_bytes = STREAM_PAUSE_BYTES;
    s->net = n;
    s->link = *link;
    s->link.created_ms = s->link.active_ms = clock_wall_ms();
    output_init(&s->output);
    n->conn_count++;
    return c;
}

void conn_begin(struct conn *c)
{
    struct stream *s = &c->stream;
    struct net *n = s->net;
    MACHINE_MOVE(&stream_machine, s, state, STREAM_OPEN);
    RING_INSERT(&n->conns, c, next, prev);
    ev_io_init(&c->read_io, on_readable, s->link.fd, EV_READ);
    ev_io_init(&c->write_io, on_writable, s->link.fd, EV_WRITE);
    c->read_io.data = c;
    c->write_io.data = c;
    s->session = s->protocol->begin(c->begin_arg, s);
    ev_io_start(n->loop, &c->read_io);
    /* The first request may have come with the last message of the handshake. */
    if (c->tls != NULL && tls_has_more(c->tls)) conn_queue_read(c);
}

void conn_new(struct net *n, const struct listener *l, const struct link *link)
{
    conn_begin(conn_make(n, l, link));
}
