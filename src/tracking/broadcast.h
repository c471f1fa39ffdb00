/* broadcast: prefixes of names whose changes a listener is told of, all of them, whether it has
 * read them or not (CLIENT TRACKING BCAST). It knows no clients and no messages: a listener is a
 * struct listener inside its owner.
 *
 * What changes is gathered in blocks, one or more for each prefix, which the callback of
 * broadcast_tell makes a message of for each listener. In a block a name is once. Telling takes as
 * many turns as it needs; more than BROADCAST_BYTES_MAX of it, and all blocks are given up
 * (broadcast_take_loss): then all listeners must be told that anything may have changed.
 *
 * A change costs a look into a table for each length that some prefix has, so these are short.
 * Loop thread.
 */
#ifndef TRACKING_BROADCAST_H
#define TRACKING_BROADCAST_H

#include "base/htab.h"

#define BROADCAST_PREFIX_BYTES_MAX 512
#define BROADCAST_BYTES_MAX (64u << 20) /* of all blocks */

struct broadcast;
struct broadcast_member;

/* Zeroed by its owner; broadcast_drop before its memory goes. */
struct listener {
    struct broadcast_member *first; /* its prefixes, the newest first */
    size_t bytes;                   /* that they take, about */
};

struct broadcast_item {
    struct slice key;  /* first: the table looks here; internal */
    struct slice name; /* both borrowed of the block */
    uint64_t writer;   /* whose change it was; 0 = of several writers, or none */
    struct broadcast_item *next;
};

struct broadcast_block {
    struct broadcast_item *first, *last;
    size_t count, bytes;
    uint64_t version; /* of the newest change */
    struct htab items;
    bool is_begun; /* it is being told: nothing more comes into it */
    struct broadcast_block *next;
};

struct broadcast *broadcast_new(void);
/* Every listener must have been dropped. */
void broadcast_free(struct broadcast *b);
/* False: it listens to the prefix already. At most BROADCAST_PREFIX_BYTES_MAX bytes; copied. */
bool broadcast_join(struct broadcast *b, struct listener *who, struct slice prefix);
/* Ends at most *work of what it listens to, and counts it down. True when nothing is left. */
bool broadcast_drop(struct broadcast *b, struct listener *who, size_t *work);
/* Its prefixes, one after the other; *at is NULL at first, and at the end, with false. */
bool broadcast_prefix(const struct listener *who, struct broadcast_member **at,
                      struct slice *prefix);
/* How many prefixes have a listener. */
size_t broadcast_prefixes(const struct broadcast *b);

/* `key` is what differs when names do not; the writer's number is for the maker of messages. */
void broadcast_change(struct broadcast *b, struct slice key, struct slice name, uint64_t version,
                      uint64_t writer);
/* The result: what it took, of *work. Must not join or drop. */
typedef size_t broadcast_teller(void *arg, struct listener *who, const struct broadcast_block *k);
/* True when nothing is left. */
bool broadcast_tell(struct broadcast *b, size_t *work, broadcast_teller *tell, void *arg);
/* Was anything given up since this was last asked? */
bool broadcast_take_loss(struct broadcast *b);

#endif
