/* conn_read: what comes from connections, and running it.
 *
 * With io_threads the turn goes in steps: of some connections at once what has come is received
 * (receive_ahead), then each in turn runs what it has, then all are flushed at once. Without, or of
 * few, each is received from, run and flushed before the next. */
#include <errno.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/net_int.h"

#define LOOK_EVERY 16          /* connections between two looks at the clock */
#define COSTLY_US 2000         /* that a connection runs */
#define AHEAD_BYTES (1u << 20) /* room for what is received ahead, before anything of it is run */

void conn_is_ready(struct conn *c)
{
    const struct net *n = c->stream.net;
    if (c->ready_us != 0) return;
    /* Between two turns the clock was looked at when events were looked for. */
    c->ready_us = n->now_us > n->polled_us ? n->now_us : n->polled_us;
}

void conn_queue_read(struct conn *c)
{
    struct net *n = c->stream.net;
    if (c->is_readable || c->stream.state != STREAM_OPEN) return;
    c->is_readable = true;
    conn_is_ready(c);
    c->readable_next = NULL;
    *n->late_last = c;
    n->late_last = &c->readable_next;
    ev_idle_start(n->loop, &n->idle);
}

void conn_run(struct conn *c)
{
    struct stream *s = &c->stream;
    struct net_counts *counts = s->net->options.counts;
    int64_t wait_us = c->ready_us != 0 ? s->net->now_us - c->ready_us : 0;
    if (wait_us > counts->wait_max_us) counts->wait_max_us = wait_us;
    c->ready_us = 0;
    attend_soon(c);
    int64_t begin_us = s->net->now_us;
    if (s->state == STREAM_OPEN) s->protocol->run(s);
    /* One that was costly once is so until a command has shown that it is not. */
    int64_t took_us = s->net->now_us - begin_us;
    if (took_us > 0) {
        c->is_costly = took_us > COSTLY_US || (c->is_costly && took_us > COSTLY_US / 4);
    }
    if (!output_waits(&s->output, s->net->durable)) s->net->served_us = s->net->now_us;
    if (s->net->flushes_later || drafts_start(&s->output.drafts) != SIZE_MAX) {
        conn_queue_flush(c);
    } else {
        conn_flush(c);
    }
    if (s->net->is_stopping && !c->is_finishing) return;
    if (s->state == STREAM_OPEN && !s->has_eof && s->protocol->wants_input(s)) {
        ev_io_start(s->net->loop, &c->read_io);
        if (c->tls != NULL && tls_has_more(c->tls)) conn_queue_read(c);
    }
}

/* What was seen of it is nothing that can be run now. */
static void conn_is_not_ready(struct conn *c)
{
    if (!c->is_queued) c->ready_us = 0;
}

/* Nothing is read of it now, but its end is noticed. */
static void conn_look_for_end(struct conn *c)
{
    struct stream *s = &c->stream;
    uint8_t byte;
    conn_is_not_ready(c);
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
    int error = c->received.error;
    conn_is_not_ready(c);
    if (error != EAGAIN && error != EWOULDBLOCK && error != EINTR) {
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

/* May it be received from now? */
static bool wants_input(const struct conn *c)
{
    const struct stream *s = &c->stream;
    /* Of one that is queued, what it has is run before more is read. */
    return s->state == STREAM_OPEN && !c->is_queued && !s->has_eof && s->protocol->wants_input(s);
}

/* Where what comes may be put. False: the stream was killed. */
static bool make_room(struct conn *c)
{
    struct conn_received *in = &c->received;
    in->size = 0;
    in->is_taken = false;
    in->room = c->stream.protocol->room(&c->stream, &in->size);
    return in->room != NULL;
}

/* Any thread that has the connection for itself, while the loop waits. */
static void conn_receive(void *item)
{
    struct conn *c = item;
    struct conn_received *in = &c->received;
    in->bytes = c->tls == NULL ? recv(c->stream.link.fd, in->room, in->size, 0)
                               : tls_read(c->tls, in->room, in->size);
    in->error = in->bytes < 0 ? errno : 0;
}

/* Likewise. */
static void conn_receive_ahead(void *item)
{
    struct conn *c = item;
    struct stream *s = &c->stream;
    conn_receive(c);
    if (c->received.bytes <= 0 || s->protocol->received_ahead == NULL) return;
    s->protocol->received_ahead(s, (size_t)c->received.bytes);
    c->received.is_taken = true;
}

uint8_t *stream_input(struct stream *s)
{
    struct conn *c = conn_of(s);
    struct net *n = s->net;
    if (c->input == NULL && n->input_count > 0) c->input = n->inputs[--n->input_count];
    if (c->input == NULL) c->input = mem_alloc(STREAM_INPUT_BYTES);
    return c->input;
}

void conn_give_input(struct conn *c)
{
    struct net *n = c->stream.net;
    if (c->input == NULL) return;
    if (n->input_count < CONNS_AT_ONCE) {
        n->inputs[n->input_count++] = c->input;
    } else {
        mem_free(c->input);
    }
    c->input = NULL;
}

/* After conn_receive: the protocol knows of it. */
static void receive_end(struct conn *c)
{
    struct net *n = c->stream.net;
    c->received.is_there = true;
    if (c->received.bytes > 0 && c->stream.state == STREAM_OPEN) {
        size_t bytes = (size_t)c->received.bytes;
        if (!c->received.is_taken) c->stream.protocol->received(&c->stream, bytes);
        n->turn_bytes += bytes;
        n->options.counts->in_bytes += bytes;
    }
    conn_give_input(c);
}

/* What was received is used. */
static void conn_use_received(struct conn *c)
{
    struct stream *s = &c->stream;
    c->received.is_there = false;
    if (c->received.bytes < 0) {
        if (!conn_read_later(c)) stream_kill(s);
        return;
    }
    if (c->received.bytes == 0) {
        s->has_eof = true;
        ev_io_stop(s->net->loop, &c->read_io);
    }
    if (c->is_costly && s->state == STREAM_OPEN) {
        stream_queue(s); /* what others have is run first */
    } else {
        conn_run(c);
    }
}

static void conn_read(struct conn *c)
{
    struct stream *s = &c->stream;
    if (c->received.is_there) {
        conn_use_received(c);
        return;
    }
    if (c->tls != NULL && tls_write_wants_read(c->tls)) {
        conn_write_again(c);
        if (tls_write_wants_read(c->tls)) return; /* the look below would stop it */
    }
    if (s->state != STREAM_OPEN || !s->protocol->wants_input(s)) {
        if (s->state == STREAM_OPEN) conn_look_for_end(c);
        return;
    }
    if (c->is_queued) return; /* it has commands to run before more is read */
    if (!make_room(c)) return;
    conn_receive(c);
    receive_end(c);
    conn_use_received(c);
}

void conn_on_readable(struct ev_loop *loop, ev_io *io, int events)
{
    struct conn *c = io->data;
    struct net *n = c->stream.net;
    (void)loop;
    (void)events;
    if (c->is_readable) return; /* the turn before was full */
    net_is_active(n);
    n->lone_inputs = c == n->lone ? n->lone_inputs + 1 : 0;
    n->lone = c;
    if (c->ready_us == 0) c->ready_us = n->ready_us;
    c->is_readable = true;
    c->readable_next = n->readable;
    n->readable = c;
}

static bool are_few(const struct net *n)
{
    const struct conn *c = n->late_first;
    for (unsigned i = 1; i < IO_ITEMS_MIN && c != NULL; i++) c = c->readable_next;
    return c == NULL;
}

/* Of the first `most` whose turn it is, all at once. */
static void receive_ahead(struct net *n, size_t most)
{
    void *found[CONNS_AT_ONCE];
    size_t count = 0, open = 0, bytes = 0;
    struct conn *c = n->late_first;
    for (size_t i = 0; i < most && c != NULL && bytes < AHEAD_BYTES; i++, c = c->readable_next) {
        bool is_plain = c->tls == NULL || !tls_write_wants_read(c->tls);
        if (c->received.is_there || !is_plain || !wants_input(c) || !make_room(c)) continue;
        bytes += c->received.size;
        found[count++] = c;
    }
    for (size_t i = 0; i < count; i++) { /* the end of one may have been the end of another */
        if (((struct conn *)found[i])->stream.state == STREAM_OPEN) found[open++] = found[i];
    }
    uint64_t helped = io_threads_helped(n->io);
    io_threads_run(n->io, conn_receive_ahead, found, open, IO_ITEMS_EACH);
    n->options.counts->helped_reads += io_threads_helped(n->io) - helped;
    for (size_t i = 0; i < open; i++) receive_end(found[i]);
}

/* At most so many of those that are waiting; nothing more when the turn is full. */
static void read_some(struct net *n, size_t most)
{
    for (size_t i = 0; i < most && n->late_first != NULL && !net_turn_is_full(n); i++) {
        struct conn *c = n->late_first;
        n->late_first = c->readable_next;
        if (n->late_first == NULL) n->late_last = &n->late_first;
        c->is_readable = false;
        if (c->stream.state != STREAM_DEAD) conn_read(c);
        /* That connections end takes time too, and no command says how much. */
        if ((i + 1) % LOOK_EVERY == 0) n->now_us = clock_mono_us();
    }
}

/* What was left of earlier turns comes before what is new. */
void conn_read_all(struct net *n)
{
    *n->late_last = n->readable;
    while (*n->late_last != NULL) n->late_last = &(*n->late_last)->readable_next;
    n->readable = NULL;
    size_t most = conns_at_once(n);
    while (n->late_first != NULL && !net_turn_is_full(n)) {
        n->flushes_later = n->io != NULL && !are_few(n);
        if (n->flushes_later) receive_ahead(n, most);
        read_some(n, most);
        n->now_us = clock_mono_us();
        if (n->flushes_later) conn_flush_queued(n, false);
        n->flushes_later = false;
    }
}
