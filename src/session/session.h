/* session: RESP over a stream. It finds the commands in what came, runs them in order, and appends
 * their replies with the version that each depends on. One command at a time: what came after one
 * that waits is run after it.
 */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include "net/stream.h"
#include "request/command.h"

struct sessions;

struct session_options {
    uint64_t idle_s; /* clients idle this long are closed; 0 = never */
    uint64_t auth_s; /* before AUTH; 0 = for ever */
    uint64_t bulk_bytes_max;
    uint64_t query_bytes_max;
    struct output_limit output_normal, output_pubsub; /* pubsub: who listens to channels */
    /* A connection of another node is one that speaks HTTP: it becomes that, with bytes of it that
     * have come already. NULL = there is no HTTP. */
    void (*speaks_http)(void *arg, struct stream *s, struct slice bytes);
    void *speaks_http_arg;
};

/* `arg` of its listeners: what its sessions share. */
extern const struct protocol session_protocol;
struct sessions *sessions_new(struct env *env, const struct session_options *options);
/* When all sessions are gone. x may be NULL. */
void sessions_free(struct sessions *x);
/* From now on, also for open sessions. */
void sessions_set_options(struct sessions *x, const struct session_options *options);

#endif
