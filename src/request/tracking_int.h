/* tracking_int: what tracking.c and tracking_tell.c share. */
#ifndef REQUEST_TRACKING_INT_H
#define REQUEST_TRACKING_INT_H

#include "request/tracking.h"
#include "tracking/broadcast.h"
#include "tracking/tracked.h"

/* Of a client that is tracked. When that ends, what it has read is forgotten a bit at a time, and
 * `client` is NULL meanwhile. */
struct client_tracking {
    struct tracker tracker; /* first */
    struct listener listener;
    struct client *client;
    struct tracking_options options;
    bool is_caching, is_broken;
    struct client *target; /* the client that is told; NULL = itself, or it is gone */
    struct client_tracking *target_next, *target_prev; /* of those with the same target */
    struct client_tracking *next, *prev;
};

struct trackings {
    struct env *env;
    struct tracked *keys;
    struct broadcast *prefixes;
    struct client_tracking *clients; /* the newest first */
    struct client_tracking *ended;
    size_t client_count;
    size_t work;        /* left in this turn */
    struct buf name;    /* of the key that is being told */
    struct buf message; /* being made */
    struct buf names;   /* as RESP, of the block that is being told: made when needed ... */
    const struct broadcast_block *names_of; /* ... NULL = of none */
};

/* Anything may have changed, as of that version. */
void tracking_tell_all(struct trackings *x, uint64_t version);
/* False: there is more to tell than the turn has room for. */
bool tracking_tell_keys(struct trackings *x);
bool tracking_tell_prefixes(struct trackings *x);
/* The layer's on_commit; arg is struct trackings. */
void tracking_on_commit(void *arg, uint64_t version, const struct write_set *ws);

#endif
