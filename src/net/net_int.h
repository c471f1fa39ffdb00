/* net_int: what net.c, listen.c, unix_socket.c, the files of connections (conn, conn_read,
 * conn_write) and handshake.c share. */
#ifndef NET_NET_INT_H
#define NET_NET_INT_H

/* libev's macros cast between its own types. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-aliasing"
#include <ev.h>
#pragma GCC diagnostic pop

#include "net/io_threads.h"
#include "net/net.h"
#include "net/peers.h"
#include "net/stream.h"
#include "net/tls_int.h"

#define LISTENERS_MAX 64
#define SIGNALS_MAX 8
#define TICK_MS 10       /* while something happens */
#define ATTEND_SLOTS 64  /* of the wheel ... */
#define ATTEND_MS 100    /* ... for so long each */
#define CONNS_AT_ONCE 64 /* that are received from, or sent to, before the clock is looked at */

/* What was received of a connection ahead of its turn. */
struct conn_received {
    bool is_there;
    bool is_taken; /* the protocol knows of it */
    int error;     /* errno, when `bytes` is below 0 */
    uint8_t *room; /* where, and how much at most: while it is being received */
    size_t size;
    ssize_t bytes; /* as recv says */
};

/* What became of sending to it. */
struct conn_sending {
    size_t bytes;    /* sent */
    size_t left;     /* could be sent, but was not */
    uint64_t drafts; /* written */
    bool is_gated, has_failed;
};

/* The socket of a stream. In net->dying when that is dead, freed at the end of the turn or later.
 */
struct conn {
    struct stream stream; /* first */
    void *begin_arg;      /* of protocol->begin */
    bool is_outgoing;     /* net_connect made it */
    struct tls *tls;      /* owned; NULL = none */
    int64_t begun_us;     /* of a handshake; monotonic */
    ev_io read_io, write_io;
    bool is_readable;      /* in net->readable: to be read at the end of this turn; while it is in a
                              * handshake, in net->shaking */
    bool is_queued;        /* in net->run or net->costly: has something to run without new bytes */
    bool is_costly;        /* it took long when it ran last */
    bool is_held;          /* in net->held: output waits for a version */
    bool is_write_blocked; /* the socket took no more; write_io is active */
    bool is_flush_queued;  /* in net->flush_first: it has output to be flushed */
    bool is_finishing;     /* the server stops, and waits for the end of this one */
    bool is_rendering;     /* a job has a copy of its next draft (render.c) ... */
    size_t rendering_bytes; /* ... of so many bytes */
    bool is_overrun;        /* what was written to it was dropped: to be killed */
    int64_t ready_us; /* it has had something to run since then (monotonic); 0 = it has nothing */
    struct conn_received received;
    uint8_t *input; /* owned; what stream_input gave; NULL = nothing */
    struct conn_sending sending;
    const char *overrun_why; /* NULL = its output was over the limit */
    struct conn *run_next, *dying_next, *flush_next, *readable_next;
    struct conn *held_next, *held_prev;
    struct conn *next, *prev;               /* net->conns, or net->handshakes, until it is dead */
    struct conn *attend_next, *attend_prev; /* in a slot of net->attend; NULL = in none */
    uint64_t attend_at;                     /* its slot, counted from the beginning */
};

/* Oldest first; linked by run_next. */
struct conn_queue {
    struct conn *first, **last;
};

/* When connections are looked at: attend.c. */
struct attend {
    struct conn *slots[ATTEND_SLOTS]; /* circular lists; NULL = none */
    uint64_t now;                     /* the slot that was looked at last */
    int64_t begun_us;                 /* of slot 0; monotonic */
    /* Looks at one; in how many ms it wants to be looked at again, 0 = nothing is due. */
    int64_t (*look)(struct conn *c, int64_t now_ms);
};

struct listener {
    ev_io io;
    struct net *net;
    const struct protocol *protocol;
    void *arg;
    int fd;
    bool is_tls;
    const char *unix_path; /* NULL = TCP */
    uint64_t unix_inode;   /* of that file, to remove no other */
};

struct signal_call {
    ev_signal signal;
    void (*f)(void *arg, int signal);
    void *arg;
};

struct net {
    struct ev_loop *loop;
    struct net_options options;
    ev_async wake;
    ev_prepare prepare;
    ev_check check;
    ev_idle idle; /* active while a queue is not empty: the loop must not sleep */
    ev_timer tick;
    int64_t slow_tick_us; /* the last one */
    int64_t active_us;    /* something last happened but ticks */
    bool is_resting;      /* ticks are as far apart as the hook rest_ms allows */
    struct signal_call signals[SIGNALS_MAX];
    size_t signal_count;
    struct listener listeners[LISTENERS_MAX];
    size_t listener_count;
    struct conn conns; /* head of a circular list: those that are not dead */
    uint64_t conn_count;
    struct attend attend;
    struct htab peers; /* of struct peer */
    /* Those with an event in this turn. libev reports the last event first: each is put
     * before the others here, which is the order in which the bytes came. So a SUBSCRIBE that was
     * sent before a PUBLISH of another connection is served before it. */
    struct conn *readable;
    /* Those of an earlier turn that was full before it was their turn; oldest first. */
    struct conn *late_first, **late_last;
    struct conn_queue run;
    struct conn_queue costly; /* those that took long when they ran last: after all others */
    struct conn held;         /* head of a circular list */
    struct worker *renderer;  /* owned; NULL = not needed yet (render.c) */
    struct io_threads *io;    /* owned; NULL = the loop is alone */
    bool flushes_later;       /* connections that have run are queued to be flushed, together */
    struct tls_context *tls;  /* owned; of new connections; NULL = none yet */
    struct conn handshakes; /* head of a circular list: connections in a handshake, oldest first */
    /* Those of them that have something to do. */
    struct conn *shaking_first, **shaking_last;
    size_t shaking_count;
    struct conn *dying;
    uint8_t *inputs[CONNS_AT_ONCE]; /* owned; for stream_input, not in use */
    size_t input_count;
    const struct conn *lone; /* that had input last, maybe freed: to be compared with alone */
    unsigned lone_inputs;    /* in a row */
    int64_t served_us;       /* one ran last, and has not to wait for a version since */
    bool is_queue_first;     /* the next turn begins with the queue `run` */
    /* What this turn has done for connections: when it is too much, others wait for the next. */
    int64_t turn_begin_us, now_us;          /* now_us: as last looked at */
    int64_t turn_end_us, polled_us;         /* of the last turn; the loop looked for events */
    int64_t ready_us;                       /* what was found then may have been there since */
    size_t turn_bytes;                      /* of requests read and replies made */
    struct conn *flush_first, **flush_last; /* to be flushed at the end of the turn */
    bool is_gated;                          /* hooks.may_send said no */
    uint64_t durable;                       /* as last heard */
    int64_t refused_us;                     /* last log line about a refused connection */
    bool is_open, is_stopping;
    size_t finishing_count;
};

/* listen.c */
void listen_close(struct net *n);
/* Takes over a socket that listens. */
struct listener *listener_add(struct net *n, const struct net_listen *given, int fd);

/* host:port. */
void address_write(const struct sockaddr *address, char *out, size_t size);
/* Small writes leave at once; keep-alive as the options say. */
void socket_tune(const struct net *n, int fd);

/* unix_socket.c: see there. */
ERR_MUST_USE enum err unix_socket_open(struct net *n, const struct net_listen *l, struct error *e);
/* Removes the file, when it is still ours. */
void unix_socket_remove(struct listener *l);

/* handshake.c */
/* As conn_new, after a handshake. */
void handshake_new(struct net *n, const struct listener *l, const struct link *link);
/* Goes on with those that can, for some milliseconds. */
void handshakes_turn(struct net *n);
/* Ten times a second: ends those that take too long. */
void handshakes_check(struct net *n);
/* There are so many that can go on that no more should be begun. */
bool handshakes_are_many(const struct net *n);
/* Ends the oldest of those that wait for their peer, so that another connection has room. False
 * when there is none. */
bool handshakes_cut(struct net *n);
/* Ends all of them. */
void handshakes_end(struct net *n);

/* conn.c */
/* The socket becomes a connection; the link is filled in by the caller first. */
void conn_new(struct net *n, const struct listener *l, const struct link *link);
/* The half of it that a handshake needs: it is in no list and its protocol does not know of it. */
struct conn *conn_make(struct net *n, const struct listener *l, const struct link *link);
/* The other half. */
void conn_begin(struct conn *c);
/* Among those whose output waits for a version, and no longer. */
void conn_hold(struct conn *c);
void conn_unhold(struct conn *c);
void conn_free(struct conn *c);

/* attend.c */
void attend_init(struct attend *a, int64_t (*look)(struct conn *c, int64_t now_ms));
/* From the beginning of a connection to its end. */
void attend_begin(struct conn *c);
void attend_end(struct conn *c);
/* Something has happened to it: it is looked at within a second or so. */
void attend_soon(struct conn *c);
/* As attend_soon, all of them: what settings say of connections has changed. */
void attend_all(struct net *n);
/* Looks at those that are due. */
void attend_tick(struct net *n);

/* conn_read.c */
/* Releases the buffer returned by stream_input. */
void conn_give_input(struct conn *c);
void conn_on_readable(struct ev_loop *loop, ev_io *io, int events);
/* It has something to run: since now, unless it had something before. */
void conn_is_ready(struct conn *c);
/* Runs what it has; loop's run queue. */
void conn_run(struct conn *c);
/* Reads those of net->readable, and runs what came, until the turn is full. */
void conn_read_all(struct net *n);
/* It is read in this turn or the next, whether the socket is readable or not. */
void conn_queue_read(struct conn *c);

/* render.c */
/* Of a connection whose output awaits_long: it is written, and then `done` is called, on the loop
 * thread, unless the connection is dead. */
void render_begin(struct conn *c, void (*done)(struct conn *c));
/* What is written is sent. */
void render_poll(struct net *n);
/* Waits for what is under way; nothing more is begun. */
void render_stop(struct net *n);

/* conn_write.c */
void conn_on_writable(struct ev_loop *loop, ev_io *io, int events);
/* Writes what may be written. */
void conn_flush(struct conn *c);
/* It is flushed at the end of this turn, or in a later one when they are many. */
void conn_queue_flush(struct conn *c);
/* Flushes those that are queued for it, and kills those that are over their limit; not `all`: for
 * some milliseconds. */
void conn_flush_queued(struct net *n, bool all);

/* turn.c */
/* The next tick comes after so long, and so on. */
void net_tick_every(struct net *n, int64_t ms);
/* Something has happened: ticks are no longer far apart. */
void net_is_active(struct net *n);

static inline struct conn *conn_of(struct stream *s)
{
    return (struct conn *)s;
}

/* Without helpers it lasts, so the clock is looked at more often. */
static inline size_t conns_at_once(const struct net *n)
{
    return n->io == NULL ? CONNS_AT_ONCE / 4 : CONNS_AT_ONCE;
}

/* Whether anything may be sent now. If not, the caller sees to it that is_gated is set: the tick
 * looks again. Any thread of net. */
static inline bool net_may_send(const struct net *n)
{
    const struct net_hooks *h = &n->options.hooks;
    return h->may_send == NULL || h->may_send(h->arg);
}

#endif
