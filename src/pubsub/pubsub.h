/* pubsub: channels, patterns and who listens to them. It knows no sockets, commands or protocols: a
 * subscriber is a struct inside its owner, and publishing calls back once for each that listens, as
 * much at a time as the caller wants.
 *
 * Three kinds, apart from each other: channels, patterns (globs over channel names, base/glob.h)
 * and shard channels. Everything belongs to the loop thread. Time: publish is O(subscribers of the
 * channel + patterns), all else O(1).
 */
#ifndef PUBSUB_PUBSUB_H
#define PUBSUB_PUBSUB_H

#include "base/err.h"
#include "base/htab.h"

#define PUBSUB_NAME_BYTES_MAX 16384 /* of a channel; for the caller to check */

enum pubsub_kind { PUBSUB_CHANNEL, PUBSUB_PATTERN, PUBSUB_SHARD, PUBSUB_KINDS };

/* Zeroed by the owner; pubsub_leave before its memory goes. */
struct subscriber {
    struct htab subscriptions[PUBSUB_KINDS];  /* of struct subscription, by name; owned by pubsub */
    struct subscription *first[PUBSUB_KINDS]; /* the same, oldest first */
    struct subscription *last[PUBSUB_KINDS];
    size_t name_bytes; /* of all of them */
};

struct pubsub;

struct pubsub *pubsub_new(void);
/* Every subscriber must have left. */
void pubsub_free(struct pubsub *p);

/* False when it listens already. The name is copied. */
bool pubsub_subscribe(struct pubsub *p, struct subscriber *s, enum pubsub_kind kind,
                      struct slice name);
/* False when it does not listen. */
bool pubsub_unsubscribe(struct pubsub *p, struct subscriber *s, enum pubsub_kind kind,
                        struct slice name);
/* The name that was subscribed first of those that are left; len 0 and false = none. Borrowed until
 * it is unsubscribed. */
bool pubsub_first(const struct subscriber *s, enum pubsub_kind kind, struct slice *name);
/* Calls `each` for every name that it listens to, until that is false; then it is too. It must
 * not subscribe or unsubscribe. */
bool pubsub_own(const struct subscriber *s, enum pubsub_kind kind,
                bool (*each)(void *arg, enum pubsub_kind kind, struct slice name), void *arg);
/* Ends its subscriptions, at most *work of them, from which they are taken. True when none is left.
 */
bool pubsub_leave(struct pubsub *p, struct subscriber *s, size_t *work);
static inline size_t pubsub_count(const struct subscriber *s, enum pubsub_kind kind)
{
    return s->subscriptions[kind].count;
}
/* Bytes that its subscriptions take, about. */
size_t pubsub_bytes(const struct subscriber *s);

/* One message on its way to those who listened when it began. Zeroed but for `work`; the rest is
 * pubsub's. */
struct pubsub_delivery {
    int64_t work;       /* may still be done, in nanoseconds, about: what finding whom to tell takes
                         * is taken from it; `deliver` takes what it needs */
    size_t told;        /* how many times deliver was called */
    struct pubsub *hub; /* where it began and is not over; NULL = it did not begin, or is over */
    struct pubsub_delivery *next; /* of those that are not over */
    uint64_t serial;              /* of the newest subscription when it began */
    bool is_pattern;              /* `topic` is one */
    const struct topic *topic;    /* whose subscribers are being told; NULL = none left */
    struct subscription *at;      /* the next of them */
    const struct topic *pattern;  /* the next that the channel is matched with */
};

/* Calls `deliver` for every subscriber of the channel and, unless it is a shard channel, of every
 * pattern that matches it (`pattern` data NULL = by its name): a subscriber once for each. The
 * callback must not subscribe or unsubscribe. False: `work` is used up; call again with more and
 * the same other arguments, or pubsub_abandon. In between, who leaves is not told any more, who
 * comes is not told. */
typedef void pubsub_deliver(void *arg, struct subscriber *s, struct slice pattern);
ERR_MUST_USE bool pubsub_publish(struct pubsub *p, struct pubsub_delivery *d, bool is_shard,
                                 struct slice channel, pubsub_deliver *deliver, void *arg);
/* Forgets where it stands; harmless when it is over. */
void pubsub_abandon(struct pubsub_delivery *d);
/* It goes on from `to`, which need not be initialised. */
void pubsub_move(struct pubsub_delivery *from, struct pubsub_delivery *to);

/* Names with at least one subscriber, and how many: in no order. */
void pubsub_each(const struct pubsub *p, enum pubsub_kind kind,
                 void (*each)(void *arg, struct slice name, size_t subscribers), void *arg);
size_t pubsub_subscribers(const struct pubsub *p, enum pubsub_kind kind, struct slice name);
size_t pubsub_names(const struct pubsub *p, enum pubsub_kind kind);

#endif
