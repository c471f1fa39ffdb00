/* omap: ordered map of pointers to structs whose first member is their `struct slice` key: a B+tree
 * that only grows. Keys are compared by memcmp. It is what a memtable is ordered by.
 *
 * A node keeps, beside the pointers, the 8 key bytes that follow the prefix common to all its keys,
 * as big-endian integers ("heads"): the search runs over one small array and looks at a whole key
 * once or twice. The idea is prefix truncation with key heads, as in Graefe, "Modern B-Tree
 * Techniques" (2011).
 *
 * Invariants: items of a leaf are sorted and distinct; every key below children[i] is >= items[i-1]
 * and < items[i]; as nothing is removed, the first item of every leaf but the leftmost is what
 * separates it from the leaf before; all leaves have one depth; `skip` <= length of the common
 * prefix of the node's keys. Any number of threads may read while none inserts.
 */
#ifndef BASE_OMAP_H
#define BASE_OMAP_H

#include "base/arena.h"

struct omap_node;

struct omap {
    struct arena *arena; /* borrowed; nodes live in it */
    struct omap_node *root;
    size_t count;
    struct omap_node *leaf; /* where the last item was put, NULL before the first, */
    unsigned at;            /* and its place there */
    unsigned run;           /* so many in a row were put right before or after the one before */
};

/* A place between items; dies with the next insert. */
struct omap_iter {
    const struct omap_node *leaf; /* NULL = past an end */
    unsigned at;
};

void omap_init(struct omap *m, struct arena *arena);
/* `item` begins with its key; the key must not be in the map and stays where it is. */
void omap_insert(struct omap *m, struct slice *item);
/* At the first item >= key. */
struct omap_iter omap_seek(const struct omap *m, struct slice key);
/* At the last item < key. */
struct omap_iter omap_seek_before(const struct omap *m, struct slice key);
/* The item here, or NULL past the end. */
void *omap_peek(const struct omap_iter *it);
void omap_next(struct omap_iter *it);
void omap_prev(struct omap_iter *it);

#endif
