/* handshake: TLS connections before their first request.
 *
 * A handshake is a signature and more, a millisecond or several of the processor, so handshakes
 * have a part of each turn of their own, and connections that are open are served between. Who has
 * not done it after HANDSHAKE_US is ended. There are at most so many at a time, and they count as
 * connections; where there is no room for one more, the oldest that waits for its peer goes: those
 * that connect and say nothing keep no client out. When many have something to do, no more are
 * accepted until that is done: they wait with the kernel, and none is cut for being slow to be
 * served.
 */
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "net/net_int.h"

#define HANDSHAKE_US 10000000 /* for one */
#define HANDSHAKES_MAX 1000   /* at a time, and half of maxclients */
#define SHAKING_MAX 64        /* that have something to do, before more are accepted */
#define TURN_US 5000          /* of a turn */

static void on_handshake(struct ev_loop *loop, ev_io *io, int events)
{
    struct conn *c = io->data;
    struct net *n = c->stream.net;
    (void)events;
    ev_io_stop(loop, &c->read_io);
    ev_io_stop(loop, &c->write_io);
    if (c->is_readable) return;
    c->is_readable = true;
    c->readable_next = NULL;
    *n->shaking_last = c;
    n->shaking_last = &c->readable_next;
    n->shaking_count++;
}

static uint64_t handshakes_max(const struct net *n)
{
    uint64_t share = n->options.clients_max / 2;
    if (share > HANDSHAKES_MAX) return HANDSHAKES_MAX;
    return share > 0 ? share : 1;
}

void handshake_new(struct net *n, const struct listener *l, const struct link *link)
{
    if (n->options.tls->handshakes >= handshakes_max(n)) (void)handshakes_cut(n);
    struct conn *c = conn_make(n, l, link);
    struct link *made = &c->stream.link;
    RING_INSERT(&n->handshakes, c, next, prev);
    n->options.tls->handshakes++;
    ev_io_init(&c->read_io, on_handshake, link->fd, EV_READ);
    ev_io_init(&c->write_io, on_handshake, link->fd, EV_WRITE);
    c->read_io.data = c;
    c->write_io.data = c;
    made->is_tls = true;
    c->begun_us = clock_mono_us();
    c->tls = tls_new(n->tls, link->fd, l->protocol->alpn);
    if (c->tls == NULL) die("out of memory for a TLS connection");
    ev_io_start(n->loop, &c->read_io);
}

static void handshake_done(struct conn *c)
{
    struct stream *s = &c->stream;
    struct net *n = s->net;
    n->options.counts->handshakes++;
    s->link.certificate_user = tls_user_name(c->tls);
    tls_channel(c->tls, s->link.channel);
    s->link.transport_bytes = tls_held_bytes(c->tls);
    log_debug("client %s: %s", s->link.address, tls_version(c->tls));
    if (n->options.is_protected && !s->link.is_local) {
        n->options.counts->rejected++;
        (void)tls_write(c->tls, s->protocol->denied, strlen(s->protocol->denied));
        stream_kill(s);
        return;
    }
    RING_UNLINK(c, next, prev);
    n->options.tls->handshakes--;
    n->options.tls->connections++;
    conn_begin(c);
}

static void handshake_step(struct conn *c)
{
    struct net *n = c->stream.net;
    switch (tls_handshake(c->tls)) {
    case TLS_STEP_DONE: handshake_done(c); return;
    case TLS_STEP_READ: ev_io_start(n->loop, &c->read_io); return;
    case TLS_STEP_WRITE: ev_io_start(n->loop, &c->write_io); return;
    case TLS_STEP_FAILED: break;
    }
    n->options.counts->handshakes_failed++;
    log_verbose("client %s closed: TLS handshake failed: %s", c->stream.link.address,
                tls_error(c->tls));
    stream_kill(&c->stream);
}

static struct conn *shaking_take(struct net *n)
{
    struct conn *c = n->shaking_first;
    n->shaking_first = c->readable_next;
    if (n->shaking_first == NULL) n->shaking_last = &n->shaking_first;
    n->shaking_count--;
    c->is_readable = false;
    return c;
}

void handshakes_turn(struct net *n)
{
    if (n->shaking_first == NULL) return;
    int64_t begin_us = clock_mono_us();
    do {
        struct conn *c = shaking_take(n);
        if (c->stream.state == STREAM_HANDSHAKE) handshake_step(c);
        n->now_us = clock_mono_us();
    } while (n->shaking_first != NULL && n->now_us - begin_us < TURN_US);
}

void handshakes_check(struct net *n)
{
    int64_t now_us = clock_mono_us();
    while (n->handshakes.next != &n->handshakes) {
        struct conn *c = n->handshakes.next;
        if (now_us - c->begun_us < HANDSHAKE_US) return;
        n->options.counts->handshakes_timed_out++;
        log_verbose("client %s closed: TLS handshake timed out", c->stream.link.address);
        stream_kill(&c->stream);
    }
}

bool handshakes_are_many(const struct net *n)
{
    return n->shaking_count >= SHAKING_MAX;
}

bool handshakes_cut(struct net *n)
{
    for (struct conn *c = n->handshakes.next; c != &n->handshakes; c = c->next) {
        if (c->is_readable) continue;
        n->options.counts->handshakes_cut++;
        log_verbose("client %s closed: its TLS handshake is the oldest, and others are waiting",
                    c->stream.link.address);
        stream_kill(&c->stream);
        return true;
    }
    return false;
}

void handshakes_end(struct net *n)
{
    while (n->handshakes.next != &n->handshakes) stream_kill(&n->handshakes.next->stream);
    while (n->shaking_first != NULL) (void)shaking_take(n);
}
