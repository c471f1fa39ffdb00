/* node: one of several that share a PostgreSQL (docs/cluster.md): who leads, and connections that
 * are passed on to it.
 *
 * A node that does not lead answers little by itself (CMD_NODE): with the first other command the
 * whole connection is passed on. The node connects to the leader's port for RESP, both prove that
 * they know the engine's secret (proof.h), who the client is is handed on, and from then on bytes
 * go both ways, unread, until either side ends or another node leads.
 *
 *   a connection   of the node's own --node_pass--> waits for a leader, for a link to it
 *                                                     |                   |
 *                        ERR_TRYAGAIN after leader_wait_ms                +--node_hand_on--> relay
 *
 * All of it belongs to the loop thread. The server fills in what is known of the others.
 */
#ifndef NODE_NODE_H
#define NODE_NODE_H

#include "net/net.h"
#include "net/stream.h"
#include "node/proof.h"
#include "request/command.h"
#include "request/nodes.h"

#define NODE_SECRET_BYTES 32

struct node_link;
struct relay;

/* The node that leads, as this one knows. */
struct node_leader {
    bool is_known;  /* there is one, and its address */
    bool is_silent; /* it has not renewed its lease */
    uint64_t epoch;
    char name[NODE_TEXT_BYTES];
    char address[NODE_TEXT_BYTES]; /* host:port, for people */
    struct net_address at;
};

struct node {
    struct net *net;
    struct env *env;
    bool leads;
    uint8_t secret[NODE_SECRET_BYTES];
    bool is_tls;                        /* nodes speak TLS with each other (tls-cluster) */
    struct nodes_known known;           /* itself, and the others */
    char dial_nonce[PROOF_NONCE_CHARS]; /* dial.h: what it said to its own address ... */
    bool is_self_dialled;               /* ... and has heard */
    struct node_leader leader;
    int64_t leader_wait_ms;     /* a command waits so long for a leader */
    char why[NODE_TEXT_BYTES];  /* why the last link did not come; "" = it did */
    struct waiter_list waiters; /* connections to be passed on */
    struct relay *relays;       /* circular list; NULL = none */
    uint64_t relay_count;
    uint64_t passed_on; /* connections, since the start */
};

void node_init(struct node *n, struct net *net, struct env *env);
/* Connections that were passed on are gone. */
void node_fini(struct node *n);
/* Another one leads, or none (is_known false), or the same from another address: what was passed on
 * to the one before ends, and those who wait are told. Of the same leader: nothing happens. */
void node_set_leader(struct node *n, const struct node_leader *leader);
/* host:port of the node that leads, maybe this one; "" = none is known that may answer.
 * Borrowed. */
const char *node_leader_address(const struct node *n);
/* This one leads: those who wait are told. */
void node_lead(struct node *n);
/* Ten times a second: those who wait look again. */
void node_tick(struct node *n);

/* ---- passing on ---- */

/* A connection that is to be passed on; made of zeros. */
struct node_pass {
    struct node_link *link; /* owned; NULL = none yet */
    int64_t begun_us;       /* monotonic; 0 = not begun */
    int64_t failed_us;      /* when the last link failed */
};

/* OK: node_hand_on comes next. ERR_WAIT: `w` will be woken, call again. ERR_TRYAGAIN: there was no
 * leader for too long; a later call begins anew. `c` NULL: it speaks HTTP; `link` is the
 * connection's. */
ERR_MUST_USE enum err node_pass(struct node *n, struct node_pass *p, const struct client *c,
                                const struct link *link, struct waiter *w, struct error *e);
/* Until the users are known (env->users.are_awaited), before a command is looked at. As node_pass,
 * with OK when they are. */
ERR_MUST_USE enum err node_await_users(struct node *n, struct node_pass *p, struct waiter *w,
                                       struct error *e);
/* There is no leader that a command about the node could be passed on to, as it seems by now: it
 * is answered here. */
bool node_is_alone(const struct node *n, const struct node_pass *p);
/* The connection ends, or does not want to be passed on any more. */
void node_pass_cancel(struct node_pass *p);
/* After node_pass was OK: the stream's session ends here and now (stream_become), `bytes` are what
 * came of it and was not used. `p` may be part of that session. */
void node_hand_on(struct node *n, struct node_pass *p, struct stream *s, struct slice bytes);

#endif
