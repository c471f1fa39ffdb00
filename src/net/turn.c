/* turn: how much a turn of the loop has done; and the pace of ticks: close to each other while
 * something happens, else as far apart as what comes next allows.
 */
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

/* ---- ticks ---- */

void net_tick_every(struct net *n, int64_t ms)
{
    double s = (double)ms / 1000;
    if (n->tick.repeat == s) return;
    n->tick.repeat = s;
    ev_timer_again(n->loop, &n->tick);
}

void net_is_active(struct net *n)
{
    n->active_us = n->now_us;
    if (!n->is_resting || !n->is_open) return;
    n->is_resting = false;
    net_tick_every(n, TICK_MS);
}
