/* attend: which connections are looked at (protocol->check), and when. A wheel of SLOTS lists, one
 * for each tenth of a second to come: a connection is in the list of the time at which it wants to
 * be looked at. What is idle costs nothing but a look every few seconds, and few are looked at in
 * one turn, however many there are.
 *
 *   a request came, or something was written  -> within SOON of now (attend_soon)
 *   check has returned in how many ms         -> then
 *   it has returned 0: nothing is due         -> REVIEW to 2 x REVIEW from now
 *
 * 1. A connection is in one list from conn_begin to its death, in none before and after.
 * 2. No connection waits for longer than SLOTS * ATTEND_MS, plus what LOOKS_MAX leaves for later.
 * 3. Times are spread by the number of the socket, so that those that did the same at one time are
 *    not looked at together.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"
#include "net/net_int.h"

#define SOON 10       /* slots: after something has happened, a second at most */
#define SPREAD 8      /* slots over which that is spread */
#define REVIEW 30     /* slots: of those for which nothing is due */
#define LOOKS_MAX 500 /* in one tick: some 0.5 ms */

_Static_assert(2 * REVIEW < ATTEND_SLOTS, "a check is in the future");

static void put(struct conn *c, uint64_t at)
{
    struct conn **slot = &c->stream.net->attend.slots[at % ATTEND_SLOTS];
    c->attend_at = at;
    RING_ADD(*slot, c, attend_next, attend_prev);
}

static void take_out(struct conn *c)
{
    struct conn **slot = &c->stream.net->attend.slots[c->attend_at % ATTEND_SLOTS];
    if (*slot == c) *slot = c->attend_next == c ? NULL : c->attend_next;
    RING_UNLINK(c, attend_next, attend_prev);
}

static unsigned spread(const struct conn *c, unsigned slots)
{
    return (unsigned)c->stream.link.fd % slots;
}

void attend_init(struct attend *a, int64_t (*look)(struct conn *c, int64_t now_ms))
{
    a->look = look;
    a->begun_us = clock_mono_us();
}

void attend_begin(struct conn *c)
{
    put(c, c->stream.net->attend.now + 1 + spread(c, SPREAD));
}

void attend_end(struct conn *c)
{
    if (c->attend_next == NULL) return;
    take_out(c);
    c->attend_next = c->attend_prev = NULL;
}

void attend_soon(struct conn *c)
{
    if (c->attend_next == NULL) return;
    uint64_t now = c->stream.net->attend.now;
    if (c->attend_at <= now + SOON) return;
    take_out(c);
    put(c, now + 1 + spread(c, SPREAD));
}

void stream_check_soon(struct stream *s)
{
    struct conn *c = conn_of(s);
    if (c->attend_next == NULL) return;
    take_out(c);
    put(c, s->net->attend.now + 1);
}

void attend_all(struct net *n)
{
    for (struct conn *c = n->conns.next; c != &n->conns; c = c->next) attend_soon(c);
}

/* In how many slots it is looked at again, when it is due in due_ms; 0 = nothing is due. */
static uint64_t slots_of(const struct conn *c, int64_t due_ms)
{
    if (due_ms <= 0) return REVIEW + spread(c, REVIEW);
    int64_t slots = (due_ms + ATTEND_MS - 1) / ATTEND_MS;
    return slots < ATTEND_SLOTS ? (uint64_t)slots : ATTEND_SLOTS - 1;
}

static void look(struct conn *c, int64_t now_ms)
{
    struct net *n = c->stream.net;
    n->options.counts->looks++;
    take_out(c);
    put(c, n->attend.now + 1); /* so that it is in a list, whatever happens to it now */
    int64_t due_ms = n->attend.look(c, now_ms);
    if (c->stream.state == STREAM_DEAD) return;
    take_out(c);
    put(c, n->attend.now + slots_of(c, due_ms));
}

/* What is left of this slot is looked at in the next tick. */
static void leave(struct attend *a, struct conn *const *slot)
{
    while (*slot != NULL) {
        struct conn *c = *slot;
        take_out(c);
        put(c, a->now + 1);
    }
}

void attend_tick(struct net *n)
{
    struct attend *a = &n->attend;
    int64_t now_ms = clock_wall_ms();
    uint64_t until = (uint64_t)(clock_mono_us() - a->begun_us) / (ATTEND_MS * 1000);
    unsigned looks = 0;
    if (until > a->now + ATTEND_SLOTS) a->now = until - ATTEND_SLOTS; /* the loop has slept */
    while (a->now < until) {
        a->now++;
        struct conn *const *slot = &a->slots[a->now % ATTEND_SLOTS];
        while (*slot != NULL && looks++ < LOOKS_MAX) look(*slot, now_ms);
        leave(a, slot);
    }
}
