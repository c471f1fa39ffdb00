/* rank: how many elements of a spread collection come before one, and which one has so many before
 * it.
 */
#ifndef COLLECTION_RANK_H
#define COLLECTION_RANK_H

#include "collection/walk.h"

/* The row of the element with this rank, which is below the count; in the arena of the view. */
ERR_MUST_USE enum err rank_seek(struct collection *c, bool by_name, uint64_t rank,
                                struct slice *key, struct error *e);
/* Of these ranks, which ascend; the same rank has the same key. */
ERR_MUST_USE enum err rank_seek_all(struct collection *c, bool by_name, const uint64_t *ranks,
                                    size_t count, struct slice *keys, struct error *e);
/* The rows before the key, which need not be there. */
ERR_MUST_USE enum err rank_of(struct collection *c, bool by_name, struct slice key, uint64_t *rank,
                              struct error *e);

#endif
