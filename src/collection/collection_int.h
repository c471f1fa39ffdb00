/* collection_int: the layer, as the files of this folder see it. */
#ifndef COLLECTION_COLLECTION_INT_H
#define COLLECTION_COLLECTION_INT_H

#include "base/hash_bag.h"
#include "base/sparse.h"
#include "collection/collection.h"

struct counted_indexes; /* index.h */

struct collections {
    struct collections_options options;
    struct sparse owners; /* struct hash_bag, owned: by database the keys of spread collections */
    struct sparse gone;   /* likewise: those deleted while owner rows are read, and not read yet */
    size_t spread;        /* of all databases */
    struct counted_indexes *indexes;
    struct buf scratch; /* for the head that is being written */
};

/* May the key hold a spread collection? False is certain. */
bool collections_may_be_spread(const struct collections *x, struct slice key);
/* The key holds the spread collection: its owner row. */
void collection_own(struct view *v, struct slice key, const uint8_t *incarnation);

#endif
