/* turn: how much a turn of the loop has done. */
#include "net/net_int.h"

#define TURN_US_MAX 10000         /* then clients wait for the next turn ... */
#define TURN_BYTES_MAX (4u << 20) /* ... or when so much was read and answered */

bool net_turn_is_full(const struct net *n)
{
    return n->turn_bytes >= TURN_BYTES_MAX ||
           (n->turn_begin_us != 0 && n->now_us - n->turn_begin_us >= TURN_US_MAX);
}

void net_turn_spent(struct net *n, size_t bytes, int64_t now_us)
{
    n->turn_bytes += bytes;
    n->now_us = now_us;
}
