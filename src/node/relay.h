/* relay: two streams of which each gets what the other receives: a connection that was passed on.
 * It ends with either of them; what the leader has sent still reaches the client.
 */
#ifndef NODE_RELAY_H
#define NODE_RELAY_H

#include "node/node.h"

/* Both become its own; `bytes` go to `up` first. */
void relay_begin(struct node *n, struct stream *down, struct stream *up, struct slice bytes);
/* All of them end. */
void relays_end(struct node *n);

#endif
