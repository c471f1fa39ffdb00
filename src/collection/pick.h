/* pick: elements by rank, and random ones, each with the same chance. */
#ifndef COLLECTION_PICK_H
#define COLLECTION_PICK_H

#include "collection/walk.h"

/* The elements at these ranks, which are below the count and ascend, in the arena of the view:
 * ranks in the order of a walk, by name or not. */
ERR_MUST_USE enum err pick_ranks(struct collection *c, bool by_name, const uint64_t *ranks,
                                 size_t count, struct element *out, struct error *e);
/* `count` random elements: different ones, at most as many as there are, or, with repeats, any. In
 * random order. *picked: how many there are. */
ERR_MUST_USE enum err pick_random(struct collection *c, uint64_t count, bool repeats,
                                  struct element **out, size_t *picked, struct error *e);

#endif
