/* client_memory: what the connections hold, and its one bound, maxmemory-clients: input, unsent
 * output, notes of watches, channels, queues of MULTI, watched keys, feeds and pages being made.
 * Above it the client that holds most is closed; never one that said CLIENT NO-EVICT ON.
 *
 * What a client holds is counted when its connection is looked at, within a second or so after
 * something has happened to it. All of it is added up as soon as what was read and written since
 * the last time could be too much, or much of the bound: so what is held is never far above it, and
 * what is idle costs nothing.
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

/* Its part of the sum is what it holds now. */
void client_memory_count(struct client *c, struct env *env);
/* It has ended. */
void client_memory_uncount(struct client *c, struct env *env);
/* So much more is held since it was last added up. */
void client_memory_grow(struct env *env, size_t bytes);
/* Is there half of what is allowed, with these bytes? Then nothing is kept that can be made later.
 */
bool client_memory_is_tight(const struct env *env, size_t bytes);
/* Would these bytes make it more than can be mended by closing clients at the end of the turn? */
bool client_memory_is_full(const struct env *env, size_t bytes);
/* At the end of a turn: closes clients when together they hold too much. */
void client_memory_check(struct env *env);

#endif
