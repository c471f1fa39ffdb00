/* dial: a node that leads calls its own node-address, once: that is where the other nodes and
 * clients of Sentinel are sent. What comes of it is in node.known.misled, and in the log.
 */
#ifndef NODE_DIAL_H
#define NODE_DIAL_H

#include "node/node.h"

struct node_dial;

/* At `at`, which is n->known.address. Its own: it goes by itself. */
void node_dial(struct node *n, const struct net_address *at);
/* What another node says to begin a link: was it this one that said it? */
void node_dial_heard(struct node *n, struct slice nonce);

#endif
