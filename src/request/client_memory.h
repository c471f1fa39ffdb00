/* client_memory: what the connections hold, and its one bound, maxmemory-clients: input, unsent
 * output, notes of watches, channels, queues of MULTI, watched keys, feeds and pages being made.
 * Above it the client that holds most is closed; never one that said CLIENT NO-EVICT ON.
 *
 * All of it is added up every 100 ms, and between two of those as soon as what was read and written
 * meanwhile could be too much: so what is held is never far above the bound.
 */
#ifndef REQUEST_CLIENT_MEMORY_H
#define REQUEST_CLIENT_MEMORY_H

#include "request/command.h"

/* Bytes. */
struct client_memory {
    size_t input;    /* received, and not yet a command that has ended */
    size_t output;   /* replies and messages, not yet sent */
    size_t notes;    /* keys whose newest state is to be sent */
    size_t channels; /* what it listens to */
    size_t multi;    /* commands between MULTI and EXEC, watched keys */
    size_t pending;  /* the reply being made by a command that takes several turns */
    size_t total;
};

/* What one client holds; tot-mem of CLIENT LIST. */
void client_memory_measure(const struct client *c, struct client_memory *out);
/* What all of them hold. */
void client_memory_sum(const struct env *env, struct client_memory *out);

/* So much more is held since it was last added up. */
void client_memory_grow(struct env *env, size_t bytes);
/* Is there half of what is allowed, with these bytes? Then nothing is kept that can be made later.
 */
bool client_memory_is_tight(const struct env *env, size_t bytes);
/* Would these bytes make it more than can be mended by closing clients at the end of the turn? */
bool client_memory_is_full(const struct env *env, size_t bytes);
/* At the end of a turn: closes clients when together they hold too much. is_due: adds up in any
 * case. */
void client_memory_check(struct env *env, bool is_due);

#endif
