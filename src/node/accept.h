/* accept: the leader's side of links (link.h). KV.LINK is not in the table of commands: it is how
 * nodes speak with each other on the port for RESP, before a connection is a client's.
 */
#ifndef NODE_ACCEPT_H
#define NODE_ACCEPT_H

#include "node/node.h"

struct node_offer;

enum node_accepted {
    NODE_ANSWERED, /* the reply was written */
    NODE_IS_HTTP,  /* likewise, and from now on the connection speaks HTTP */
};

bool node_is_link(const struct slice *argv, size_t argc);
/* A KV.LINK came of the client's connection, which is, after a PASS that is proven, the connection
 * of the client that the other node has. `offer`: what is kept of a BEGIN until then; NULL at
 * first, the caller's to free. */
enum node_accepted node_accept(struct node *n, struct node_offer **offer, struct client *c,
                               const struct slice *argv, size_t argc, struct resp_writer *w);
void node_offer_free(struct node_offer *o);

#endif
