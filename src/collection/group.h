/* group: the consumer groups of a stream: how far each has read, its consumers, and the entries
 * that were delivered and not acknowledged yet ("pending").
 *
 *   row                            value (numbers of 8 bytes)
 *   g  name                        number, last id (2), entries read (-1: not known), pending,
 *                                  consumers ever made, whole name
 *   c  group, consumer             seen, active, pending, whole name
 *   n  group, consumer's name      consumer
 *   p  group, id                   consumer, delivered at, deliveries
 *   q  group, consumer, id         nothing
 *
 * Groups and consumers have numbers, never given twice: what is destroyed and made again shares no
 * row with what was, so that its rows may be forgotten as ranges.
 *
 * Invariants:
 *   1. p and q have the same entries; a group's and its consumers' `pending` are their numbers
 *   2. acknowledging and delivering change no head: the stream's version is that of its entries
 */
#ifndef COLLECTION_GROUP_H
#define COLLECTION_GROUP_H

#include "collection/collection.h"

#define GROUP_PENDING_AT 32 /* in the value of a row g */

struct stream_group {
    struct slice name;
    uint64_t number;
    struct stream_id last; /* the newest id that was delivered */
    int64_t entries_read;  /* -1 = not known */
    uint64_t pending, consumers_made;
};

struct stream_consumer {
    struct slice name;
    uint64_t number;
    int64_t seen_ms, active_ms; /* active: it got or claimed something; -1 = never */
    uint64_t pending;
};

struct stream_pending {
    struct stream_id id;
    uint64_t consumer; /* its number */
    int64_t delivered_ms;
    uint64_t deliveries;
};

/* ---- groups ---- */

ERR_MUST_USE enum err group_find(struct collection *c, struct slice name, bool *found,
                                 struct stream_group *out, struct error *e);
/* A new one, which is counted in the head. */
void group_make(struct collection *c, struct slice name, struct stream_id last,
                int64_t entries_read, struct stream_group *out);
void group_save(struct collection *c, const struct stream_group *g);
/* With all that it has. */
void group_destroy(struct collection *c, const struct stream_group *g);
/* All of them by name, in the arena. ERR_LIMIT: too many. */
ERR_MUST_USE enum err groups_list(struct collection *c, struct stream_group **out, size_t *count,
                                  struct error *e);

/* ---- consumers ---- */

ERR_MUST_USE enum err consumer_find(struct collection *c, const struct stream_group *g,
                                    struct slice name, bool *found, struct stream_consumer *out,
                                    struct error *e);
/* By number; it is there. */
ERR_MUST_USE enum err consumer_get(struct collection *c, const struct stream_group *g,
                                   uint64_t number, struct stream_consumer *out, struct error *e);
/* A new one; the group is changed, and to be saved. */
void consumer_make(struct collection *c, struct stream_group *g, struct slice name,
                   struct stream_consumer *out);
void consumer_save(struct collection *c, const struct stream_group *g,
                   const struct stream_consumer *x);
/* With what is pending for it; the group is to be saved. ERR_LIMIT: too much. */
ERR_MUST_USE enum err consumer_remove(struct collection *c, struct stream_group *g,
                                      const struct stream_consumer *x, struct error *e);
/* All of them in the order of their names, in the arena. ERR_LIMIT: too many. */
ERR_MUST_USE enum err consumers_list(struct collection *c, const struct stream_group *g,
                                     struct stream_consumer **out, size_t *count, struct error *e);

/* What a row c says, its name in the arena, and the number of its group. False: it is damaged. */
bool consumer_of_row(const struct collection *c, struct slice key, struct slice value,
                     uint64_t *group, struct stream_consumer *out);

/* ---- pending entries ---- */

/* What a row p says, and the number of its group. False: it is damaged. */
bool pending_of_row(struct slice key, struct slice value, uint64_t *group,
                    struct stream_pending *out);

ERR_MUST_USE enum err pending_find(struct collection *c, const struct stream_group *g,
                                   struct stream_id id, bool *found, struct stream_pending *out,
                                   struct error *e);
/* `was`: the consumer that had it, 0 = it is new. Counts are the caller's. */
void pending_save(struct collection *c, const struct stream_group *g,
                  const struct stream_pending *p, uint64_t was);
void pending_remove(struct collection *c, const struct stream_group *g,
                    const struct stream_pending *p);
/* Up to `max` of the group, or of one consumer (not 0), with ids from `from` to `to`, both
 * included, in the arena. `max` at most COLLECTION_ROWS_MAX. */
struct pending_range {
    uint64_t consumer;
    struct stream_id from, to;
    size_t max;
    bool is_reverse; /* the greatest first */
};
ERR_MUST_USE enum err pending_list(struct collection *c, const struct stream_group *g,
                                   const struct pending_range *range, struct stream_pending **out,
                                   size_t *count, struct error *e);

#endif
