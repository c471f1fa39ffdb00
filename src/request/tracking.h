/* tracking: CLIENT TRACKING: a client caches what it has read, and is told when that has changed.
 *
 *   read of a key   command_call --> tracking_read        --> src/tracking/tracked.h
 *   commit          tracking_tell.c, a layer of the engine --> what it changes becomes due
 *   message         at once as far as a turn's work goes, the rest in the turns that follow
 *
 * An invalidation is written with the version of its commit: it leaves when that is durable, as a
 * message of a watch does, and after the replies that its client got before. One too many does no
 * harm, one too few would: so whatever is not known exactly (too much at once, a flush) is told as
 * null, "anything".
 */
#ifndef REQUEST_TRACKING_H
#define REQUEST_TRACKING_H

#include "request/command.h"

struct trackings; /* of env */

struct tracking_options {
    bool is_broadcast, is_optin, is_optout, is_noloop;
    uint64_t redirect; /* the client that is told; 0 = itself */
};

/* What CLIENT TRACKINGINFO and CLIENT LIST show. */
struct tracking_view {
    bool is_on;
    struct tracking_options options;
    bool is_caching; /* CLIENT CACHING was said, and counts for the next command */
    bool is_broken;  /* the client that is told has gone */
};

/* Of the feature (feature.h). */
void trackings_open(struct env *env);
void trackings_close(struct env *env);
void trackings_of_engine(struct env *env, struct engine *g);

/* Switches it on, or changes what a client that is tracked has asked for. The options are possible
 * (src/command/session/client_tracking.c). */
void tracking_on(struct env *env, struct client *c, const struct tracking_options *o);
/* Harmless when it is off. */
void tracking_off(struct env *env, struct client *c);
/* With is_broadcast: another prefix, of at most TRACKING_PREFIX_BYTES_MAX bytes. */
#define TRACKING_PREFIX_BYTES_MAX 512
#define TRACKING_PREFIXES_MAX 1000 /* of a client */
void tracking_add_prefix(struct env *env, struct client *c, struct slice prefix);
/* Its prefixes, in the arena. */
size_t tracking_prefixes(const struct client *c, struct arena *arena, struct slice **out);
/* CLIENT CACHING: the next command, or transaction, is what the client did not ask for as a rule.
 */
void tracking_cache_next(struct client *c);
void tracking_look(const struct client *c, struct tracking_view *out);

/* For a client with tracking: the command has been run, maybe inside of a transaction or script:
 * the keys it has read are tracked. */
void tracking_read(struct request *rq);
/* It is over: CLIENT CACHING was about it. */
void tracking_command_over(struct request *rq);
/* Those who are told by way of this client can be told no more. */
void tracking_target_gone(struct client *c);
/* What is left of this turn's work; true when there is more. */
bool tracking_turn(struct env *env);
/* The setting may be less than what there is. */
void tracking_tick(struct env *env);
/* Held for the client. */
size_t tracking_bytes(const struct client *c);

struct tracking_counts {
    size_t clients, keys, items, prefixes;
};
void tracking_count(const struct env *env, struct tracking_counts *out);

#endif
