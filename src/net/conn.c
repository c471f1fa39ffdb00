/* conn: a connection from its beginning to its end, by the states of stream.h. stream_kill may come
 * at any moment, from inside a callback of the connection too: it unlinks everything and tells the
 * protocol, but the memory is freed later, at the end of a turn, when no queue has it any more. */
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/mem.h"
#include "net/net_int.h"

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
    struct conn_queue *q = c->is_costly ? &n->costly : &n->run;
    c->is_queued = true;
    conn_is_ready(c);
    net_is_active(n);
    c->run_next = NULL;
    *q->last = c;
    q->last = &c->run_next;
    ev_idle_start(n->loop, &n->idle);
}

void conn_hold(struct conn *c)
{
    INVARIANT(c->stream.state != STREAM_DEAD && !output_is_empty(&c->stream.output)); /* 2, 4 */
    if (c->is_held) return;
    c->is_held = true;
    RING_INSERT(&c->stream.net->held, c, held_next, held_prev);
}

void conn_unhold(struct conn *c)
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
    attend_end(c);
    if (!c->is_outgoing) n->conn_count--;
    peer_give(&n->peers, s->link.peer);
    s->link.peer = NULL;
    if (c->tls != NULL)
        *(has_begun ? &n->options.tls->connections : &n->options.tls->handshakes) -= 1;
    if (c->is_finishing) n->finishing_count--;
    c->dying_next = n->dying;
    n->dying = c;
    INVARIANT(!c->is_held && c->attend_next == NULL);             /* 2 */
    INVARIANT(c->read_io.active == 0 && c->write_io.active == 0); /* 2 */
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

bool stream_sees_end(const struct stream *s)
{
    const struct conn *c = (const struct conn *)s;
    return c->read_io.active != 0 && !c->is_readable;
}

void stream_shut(struct stream *s)
{
    if (conn_of(s)->tls == NULL) (void)shutdown(s->link.fd, SHUT_WR);
}

void conn_free(struct conn *c)
{
    INVARIANT(c->stream.state == STREAM_DEAD && !c->is_held && c->attend_next == NULL); /* 2 */
    INVARIANT(!c->is_readable && !c->is_queued && !c->is_flush_queued);                 /* 3 */
    INVARIANT(!c->is_rendering);                                                        /* 3 */
    if (c->tls != NULL) tls_free(c->tls);
    close(c->stream.link.fd);
    conn_give_input(c);
    output_fini(&c->stream.output);
    mem_free(c);
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
    attend_begin(c);
    net_is_active(n);
    ev_io_init(&c->read_io, conn_on_readable, s->link.fd, EV_READ);
    ev_io_init(&c->write_io, conn_on_writable, s->link.fd, EV_WRITE);
    c->read_io.data = c;
    c->write_io.data = c;
    INVARIANT(s->session == NULL); /* 1 */
    s->session = s->protocol->begin(c->begin_arg, s);
    ev_io_start(n->loop, &c->read_io);
    /* The first request may have come with the last message of the handshake. */
    if (c->tls != NULL && tls_has_more(c->tls)) conn_queue_read(c);
}

void conn_new(struct net *n, const struct listener *l, const struct link *link)
{
    conn_begin(conn_make(n, l, link));
}
