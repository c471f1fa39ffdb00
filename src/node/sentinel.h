/* sentinel: what Redis Sentinel says of one master and its replicas, said of the node that leads
 * and of those that stand by, on a port of its own: client libraries that know Sentinel find the
 * leader by it, and hear when it is another one (Redis's documents "High availability with Redis
 * Sentinel" and "Sentinel client spec"). Each node has one. Users are those of the server.
 *
 * The port is its own because GUIs take any server that knows SENTINEL for nothing but a Sentinel.
 */
#ifndef NODE_SENTINEL_H
#define NODE_SENTINEL_H

#include "node/node.h"

struct sentinels;

/* Of its connections; `arg` of their listener is the struct sentinels. */
extern const struct protocol sentinel_protocol;
/* `master`: what the one master is called; copied. */
struct sentinels *sentinels_new(struct node *n, const char *master);
/* When all connections are closed. x may be NULL. */
void sentinels_free(struct sentinels *x);
/* Ten times a second: those who listen are told when another node leads. x may be NULL. */
void sentinels_tick(struct sentinels *x);

#endif
