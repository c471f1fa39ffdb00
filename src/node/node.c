/* node: which node leads, as this one knows, and connections that wait for it. A waiting connection
 * asks again whenever it is woken: by a tick, by another leader, by its link. */
#include "node/node.h"

#include <stdio.h>

#include "base/clock.h"
#include "node/link.h"
#include "node/relay.h"

#define PAUSE_US 100000  /* after a link that failed */
#define ALONE_US 1000000 /* without a link: INFO is answered within two seconds */

void node_init(struct node *n, struct net *net, struct env *env)
{
    n->net = net;
    n->env = env;
    waiter_list_init(&n->waiters);
}

void node_fini(struct node *n)
{
    INVARIANT(n->relays == NULL);
    waiter_drop_all(&n->waiters);
    explicit_bzero(n->secret, sizeof n->secret);
}

void node_set_leader(struct node *n, const struct node_leader *leader)
{
    const struct node_leader *old = &n->leader;
    bool is_same = old->is_known == leader->is_known && old->epoch == leader->epoch &&
                   old->at.len == leader->at.len &&
                   memcmp(&old->at.at, &leader->at.at, leader->at.len) == 0;
    n->leader.is_silent = leader->is_silent;
    if (is_same) return;
    n->leader = *leader;
    relays_end(n);
    if (leader->is_known) waiter_wake_all(&n->waiters);
}

const char *node_leader_address(const struct node *n)
{
    if (n->leads) return n->env->node.serving.is_mute ? "" : n->known.address;
    return n->leader.is_known && !n->leader.is_silent ? n->leader.address : "";
}

void node_lead(struct node *n)
{
    n->leads = true;
    n->leader = (struct node_leader){0};
    relays_end(n);
    waiter_wake_all(&n->waiters);
}

void node_tick(struct node *n)
{
    waiter_wake_all(&n->waiters);
}

static enum err no_leader(const struct node *n, struct error *e)
{
    const char *cause = n->known.cause;
    if (!n->leader.is_known && cause[0] == '\0') return error_set(e, ERR_TRYAGAIN, "no leader");
    if (!n->leader.is_known) return error_set(e, ERR_TRYAGAIN, "no leader: %s", cause);
    if (cause[0] == '\0') return error_set(e, ERR_TRYAGAIN, "no leader: %s", n->why);
    return error_set(e, ERR_TRYAGAIN, "no leader: %s; %s", cause, n->why);
}

static bool is_too_long(const struct node *n, const struct node_pass *p, int64_t now_us)
{
    return now_us - p->begun_us >= n->leader_wait_ms * 1000;
}

enum err node_await_users(struct node *n, struct node_pass *p, struct waiter *w, struct error *e)
{
    int64_t now_us = clock_mono_us();
    if (!n->env->users.are_awaited) return OK;
    if (p->begun_us == 0) p->begun_us = now_us;
    if (is_too_long(n, p, now_us)) {
        node_pass_cancel(p);
        return nodes_know_no_users(&n->known, e);
    }
    waiter_add(&n->waiters, w);
    return ERR_WAIT;
}

enum err node_pass(struct node *n, struct node_pass *p, const struct client *c,
                   const struct link *link, struct waiter *w, struct error *e)
{
    int64_t now_us = clock_mono_us();
    if (p->begun_us == 0) p->begun_us = now_us;
    if (p->link != NULL && link_state(p->link) == LINK_READY) return OK;
    if (p->link != NULL && link_state(p->link) == LINK_FAILED) {
        link_close(p->link);
        p->link = NULL;
        p->failed_us = now_us;
    }
    if (is_too_long(n, p, now_us)) {
        node_pass_cancel(p);
        return no_leader(n, e);
    }
    waiter_add(&n->waiters, w);
    if (p->link == NULL && n->leader.is_known && now_us - p->failed_us >= PAUSE_US) {
        p->link = link_open(n, c, link, w);
        if (p->link == NULL) p->failed_us = now_us;
    }
    return ERR_WAIT;
}

bool node_is_alone(const struct node *n, const struct node_pass *p)
{
    if (!n->leader.is_known) return true;
    return p->begun_us != 0 && clock_mono_us() - p->begun_us >= ALONE_US;
}

void node_pass_cancel(struct node_pass *p)
{
    link_close(p->link);
    *p = (struct node_pass){0};
}

void node_hand_on(struct node *n, struct node_pass *p, struct stream *s, struct slice bytes)
{
    struct stream *up = link_take(p->link);
    p->link = NULL;
    relay_begin(n, s, up, bytes);
}
