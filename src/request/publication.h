/* publication: sending a message to all who listen to a channel, in as many turns as that takes. */
#ifndef REQUEST_PUBLICATION_H
#define REQUEST_PUBLICATION_H

#include "request/command.h"

static inline struct client *client_of_subscriber(struct subscriber *s)
{
    return (struct client *)(void *)((char *)s - offsetof(struct client, listening.subscriber));
}

/* Sends it to all who listen now, and counts them; in EXEC, with its commit. ERR_WAIT: others are
 * being sent. */
ERR_MUST_USE enum err publication_send(struct request *rq, bool is_shard, struct slice channel,
                                       struct slice payload, size_t *told);

/* A message of the server's own, held until `version` is durable. *work: nanoseconds, about, that
 * it may take in this turn, counted down; what is left goes on in the turns that follow. */
void publication_tell(struct env *env, struct slice channel, struct slice payload, uint64_t version,
                      int64_t *work);
/* Bytes of what is on its way. */
size_t publications_bytes(const struct env *env);

struct publications *publications_new(void);
/* What is still to be sent is not. */
void publications_free(struct env *env);
/* Goes on with what is being sent to many. True when there is more. */
bool publications_turn(struct env *env);
/* For one attempt of EXEC. *counts, owned by the caller, is kept for the next one. */
struct exec_messages *exec_messages_new(struct arena *arena, struct exec_counts **counts);
void exec_counts_free(struct exec_counts *c); /* may be NULL */
/* The last one so far; NULL = there is none. */
struct publication *exec_messages_last(const struct exec_messages *x);
/* Those after `last` are not sent. */
void exec_messages_cut(struct exec_messages *x, struct publication *last);
/* After the commit: sends rq->messages in their order; rq->depends is what they depend on. */
void exec_messages_send(struct request *rq);

#endif
