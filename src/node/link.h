/* link: a connection to the leader for one client's connection: both nodes prove that they know the
 * secret, the client is handed on, and the leader agrees. What is said is KV.LINK
 * (node/accept.c):
 *
 *   LINK_GREETING   KV.LINK BEGIN <nonce>               -> <nonce of the leader> <proof>
 *   LINK_HANDING    KV.LINK PASS <proof> <the client>   -> OK
 *   LINK_READY      from now on it is the client's
 *   LINK_FAILED     refused, not connected, or ended
 */
#ifndef NODE_LINK_H
#define NODE_LINK_H

#include "node/node.h"

enum link_state { LINK_GREETING, LINK_HANDING, LINK_READY, LINK_FAILED };

/* To n->leader, which is known. `c`, `from`: as of node_pass. Wakes n->waiters' `w` when its state
 * changes. NULL: n->why says why not. */
struct node_link *link_open(struct node *n, const struct client *c, const struct link *from,
                            struct waiter *w);
enum link_state link_state(const struct node_link *l);
/* Of one that is ready: its stream is the caller's, who makes it something else. Frees. */
struct stream *link_take(struct node_link *l);
/* NULL is none. */
void link_close(struct node_link *l);

/* The words that PASS proves, after the nonces; both sides. */
enum link_word {
    LINK_PROTOCOL, /* resp, http */
    LINK_ADDRESS,
    LINK_LOCAL_ADDRESS,
    LINK_WAY,         /* of these letters: l local, u Unix socket, t TLS */
    LINK_CERTIFICATE, /* the user that its certificate names; "" = none */
    LINK_USER,
    LINK_ID,
    LINK_RESP, /* 2, 3 */
    LINK_NAME,
    LINK_LIB_NAME,
    LINK_LIB_VERSION,
    LINK_VIEW, /* tuples, plain; "" = its user's */
    LINK_WORDS
};

#endif
