/* nodes: what is known of the other nodes that share the data with this one (docs/cluster.md). The
 * server fills it in (server/cluster.c); ROLE, INFO, WAIT and Sentinel's commands show it.
 */
#ifndef REQUEST_NODES_H
#define REQUEST_NODES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NODE_TEXT_BYTES 256
#define NODE_OTHERS_MAX 64

struct node_other {
    char name[NODE_TEXT_BYTES];
    char address[NODE_TEXT_BYTES]; /* host:port; "" = it does not say */
    uint16_t sentinel_port;        /* 0 = none */
    char http[NODE_TEXT_BYTES];    /* http(s)://host:port, for clients; "" = it does not say */
    bool is_up;                    /* it gave a sign of life not long ago */
};

#define NODES_NOTICE_BYTES 256

struct nodes_known {
    char name[NODE_TEXT_BYTES];     /* of this one, and where it is reached */
    char address[NODE_TEXT_BYTES];  /* host:port */
    char leader[NODE_TEXT_BYTES];   /* host:port of who leads; "" = not known */
    uint64_t epoch;                 /* of who leads */
    char cause[NODES_NOTICE_BYTES]; /* why no node leads, as far as this one knows; "" = one does */
    char waits[NODES_NOTICE_BYTES]; /* what PostgreSQL says this node waits for; "" = nothing */
    char twin[3 * NODE_TEXT_BYTES]; /* another one has its name or address; "" = none has */
    char misled[2 * NODE_TEXT_BYTES]; /* its own address leads elsewhere; "" = not that is known */
    char noticed
        [NODES_NOTICE_BYTES]; /* of PostgreSQL, by a node: it failed over, or lost something */
    unsigned quorum;          /* standbys of PostgreSQL that have each commit; 0 = not known here */
    struct node_other others[NODE_OTHERS_MAX];
    size_t other_count;
};

/* TRYAGAIN, with the cause: no client is let in while env->users.are_awaited. */
static inline enum err nodes_know_no_users(const struct nodes_known *n, struct error *e)
{
    const char *cause = n->cause[0] != '\0' ? n->cause : "PostgreSQL has not returned them";
    return error_set(e, ERR_TRYAGAIN, "the users are not loaded yet: %s", cause);
}

/* Other nodes that are up; of NULL none. */
static inline size_t nodes_up(const struct nodes_known *n)
{
    size_t up = 0;
    for (size_t i = 0; n != NULL && i < n->other_count; i++) up += n->others[i].is_up;
    return up;
}

/* host:port or [host]:port; *port is part of `address`, "0" when it has none. */
static inline void node_split(const char *address, char host[NODE_TEXT_BYTES], const char **port)
{
    const char *colon = strrchr(address, ':');
    size_t len = colon != NULL ? (size_t)(colon - address) : strlen(address);
    bool is_bracketed = len >= 2 && address[0] == '[' && address[len - 1] == ']';
    *port = colon != NULL ? colon + 1 : "0";
    if (is_bracketed) {
        address++;
        len -= 2;
    }
    if (len >= NODE_TEXT_BYTES) len = NODE_TEXT_BYTES - 1;
    memcpy(host, address, len);
    host[len] = '\0';
}

#endif
