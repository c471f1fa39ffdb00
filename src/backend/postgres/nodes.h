/* nodes: which nodes share an engine. Each writes now and then that it is there (tupled_node), and
 * sees whether the others still do, by its own clock: no two clocks are compared.
 */
#ifndef BACKEND_POSTGRES_NODES_H
#define BACKEND_POSTGRES_NODES_H

#include "backend/postgres/term.h"

#define NODES_MAX 64
#define NODES_TEXT_BYTES 256

struct node_seen {
    char name[NODES_TEXT_BYTES];
    char address[NODES_TEXT_BYTES]; /* host:port; "" = it does not say */
    uint16_t sentinel_port;         /* 0 = none */
    char http[NODES_TEXT_BYTES];    /* http(s)://host:port; "" = it does not say */
    int64_t beat;
    int64_t seen_us; /* monotonic: when its beat was last seen to change */
    bool is_up;      /* it did so not long ago */
    bool has_moved;  /* it did so since it was first seen */
};

struct nodes;

/* `t` and `http` outlive it. One thread at a time. sentinel_port, http: of this node. */
struct nodes *nodes_new(struct term *t, uint16_t sentinel_port, const char *http);
void nodes_free(struct nodes *n);
/* Writes that this one is there, and reads what the others wrote. Blocks. ERR_IO. */
ERR_MUST_USE enum err nodes_meet(struct nodes *n, struct error *e);
/* Why PostgreSQL does not answer this node (pg_why.h). Blocks. */
ERR_MUST_USE enum err nodes_why(struct nodes *n, char *out, size_t size, struct error *e);
/* Another node that is up has this one's name, or its address: what to do; "" = none has. Borrowed
 * until the next nodes_meet. */
const char *nodes_twin(const struct nodes *n);
/* The others, by name; at most NODES_MAX. Borrowed until the next nodes_meet. */
const struct node_seen *nodes_others(const struct nodes *n, size_t *count);

#endif
