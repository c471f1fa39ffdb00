/* peers: how many connections there are of each address. Belongs to the loop thread. */
#ifndef NET_PEERS_H
#define NET_PEERS_H

#include "base/htab.h"

struct peer {
    struct slice address; /* first: the table looks here; its bytes follow the struct */
    uint64_t connections;
};

/* One more of the address (its bytes). NULL: there are `max` already; 0 = any number may be. */
struct peer *peer_take(struct htab *peers, struct slice address, uint64_t max);
/* One less; p may be NULL. */
void peer_give(struct htab *peers, struct peer *p);

#endif
