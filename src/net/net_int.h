/* net_int: what net.c, listen.c and conn.c share. */
#ifndef NET_NET_INT_H
#define NET_NET_INT_H

/* libev's macros cast between its own types. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-aliasing"
#include <ev.h>
#pragma GCC diagnostic pop

#include "net/net.h"
#include "net/output.h"
#include "resp/reader.h"

#define LISTENERS_MAX 17 /* as many as bind takes, and the Unix socket */

/* A connection's life:
 *
 *   CONN_READING --command must wait--> CONN_PARKED --waiter woken--> CONN_READING
 *        |                                   |
 *        | QUIT, protocol error              | peer gone, killed
 *        v                                   v
 *   CONN_DRAINING --all sent--> CONN_DEAD <--+   (in net->dying, freed at the end of the turn)
 */
enum conn_state { CONN_READING, CONN_PARKED, CONN_DRAINING, CONN_DEAD };

struct conn {
    struct client client; /* first */
    struct net *net;
    enum conn_state state;
    ev_io read_io, write_io;
    struct waiter waiter;
    struct resp_reader reader;
    struct output output;
    struct resp_writer writer;
    struct slice *argv; /* of the command being run or parked */
    size_t argc;
    bool is_readable;        /* in net->readable: to be read at the end of this turn */
    bool is_queued;          /* in net->run_queue: has commands to run without new bytes */
    bool is_held;            /* in net->held: output waits for a version */
    bool is_write_blocked;   /* the socket took no more; write_io is active */
    bool is_command_waiting; /* argv is to be run again */
    bool has_eof;            /* the peer has closed its side; what it sent is still answered */
    bool is_flush_queued;    /* in net->flush_first: somebody else wrote to it */
    bool is_overrun;         /* what was written to it did not fit: to be closed */
    bool is_crowded;         /* the same, because all clients together hold too much */
    struct buf behind;       /* owned; messages that come after the reply being made ... */
    uint64_t behind_version; /* ... and need this version */
    struct conn *run_next, *dying_next, *flush_next, *readable_next;
    struct conn *held_next, *held_prev;
};

struct listener {
    ev_io io;
    struct net *net;
    int fd;
    bool is_unix;
};

struct net {
    struct ev_loop *loop;
    struct net_options options;
    struct env *env;
    ev_async wake;
    ev_prepare prepare;
    ev_idle idle; /* active while run_queue is not empty: the loop must not sleep */
    ev_timer tick, slow_tick;
    ev_signal sigterm, sigint, sighup;
    struct listener listeners[LISTENERS_MAX];
    size_t listener_count;
    uint64_t unix_inode; /* of the Unix socket's file, to remove no other; 0 = none */
    /* Those with an event in this turn. libev reports the last event first: each is put
     * before the others here, which is the order in which the bytes came. So a SUBSCRIBE that was
     * sent before a PUBLISH of another connection is served before it. */
    struct conn *readable;
    /* Those of an earlier turn that was full before it was their turn; oldest first. */
    struct conn *late_first, **late_last;
    struct conn *run_first, **run_last;
    struct conn held; /* head of a circular list */
    struct conn *dying;
    bool is_queue_first; /* the next turn begins with run_first */
    bool is_freeing;     /* some of the dying have channels that end in the turns to come */
    /* What this turn has done for connections: when it is too much, others wait for the next. */
    int64_t turn_begin_us;                  /* 0 = nothing yet */
    size_t turn_bytes;                      /* of commands read and replies made */
    struct conn *flush_first, **flush_last; /* to be flushed at the end of the turn */
    struct conn *running;                   /* whose command is being run; NULL = nobody's */
    struct arena arena;                     /* of the request being run */
    struct buf scratch;
    uint64_t next_id;
    uint64_t durable;   /* as last heard */
    int64_t refused_us; /* last log line about maxclients */
    bool is_stopping;
    bool is_signalled;
};

/* listen.c */
ERR_MUST_USE enum err listen_open(struct net *n, struct error *e);
void listen_close(struct net *n);
/* Takes over a socket that listens. */
void listener_add(struct net *n, int fd, bool is_unix);

/* unix_socket.c: see there. */
ERR_MUST_USE enum err unix_socket_open(struct net *n, struct error *e);
/* Removes the file, when it is still ours. */
void unix_socket_remove(struct net *n);

/* conn.c */
struct conn *conn_new(struct net *n, int fd);
/* Runs the commands it has; loop's run queue. */
void conn_run(struct conn *c);
void conn_queue(struct conn *c);
/* Reads those of net->readable, and runs what came, until the turn is full. */
void conn_read_all(struct net *n);
/* Has this turn done so much that the rest is for the next? */
bool net_turn_is_full(const struct net *n);
/* Writes what may be written. */
void conn_flush(struct conn *c);
/* Bytes allocated for what it has received, and for what it is to be sent. */
void conn_buffers(const struct conn *c, size_t *input, size_t *output);
/* A message from elsewhere; as net_client_write. */
void conn_write(struct conn *c, struct slice bytes, uint64_t version);
/* It is flushed at the end of this turn, or in a later one when they are many. */
void conn_queue_flush(struct conn *c);
/* Flushes those that are queued for it, and closes those that are over their limit; not `all`: for
 * some milliseconds. */
void conn_flush_queued(struct net *n, bool all);
/* Moves to CONN_DEAD; freed at the end of the turn. */
void conn_kill(struct conn *c);
void conn_free(struct conn *c);
/* Time limits; every second or so. */
void conn_check_limits(struct conn *c, int64_t now_ms);

#endif
