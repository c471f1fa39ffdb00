/* pick: elements by rank, and random ones, each with the same chance. */
#ifndef COLLECTION_PICK_H
#define COLLECTION_PICK_H

#include "collection/walk.h"

/* The elements at these ranks, which are below the count and ascend, borrowed until the turn ends:
 * ranks in the order of a walk, by name or not. */
ERR_MUST_USE enum err pick_ranks(struct collection *c, bool by_name, const uint64_t *ranks,
                                 size_t count, struct element *out, struct error *e);

struct pick {
    /* The same draws the same: what runs again after ERR_WAIT comes with what it came with, else it
     * would draw until all is in memory, and that would not be each with the same chance. */
    uint64_t seed;
    uint64_t count;
    bool repeats;     /* any `count`; else different ones, at most as many as there are */
    bool with_values; /* and with scores; else names alone are told */
    /* Results, borrowed until the turn ends, in random order. */
    struct element *items;
    size_t picked;
};
/* ERR_LIMIT: it is too much for a reply, or to be passed over in a turn. */
ERR_MUST_USE enum err pick_random(struct collection *c, struct pick *k, struct error *e);
/* To find or remove one of these has to wait: begins that of the others too. */
void pick_begin_reads(struct collection *c, const struct element *items, size_t count);

#endif
