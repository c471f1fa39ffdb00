/* store_counts: how much the store holds of each database: entries of user data, those of them that
 * expire, and the bytes of all keys and values, of every space, without the keys' heads. A database
 * of which nothing is there has no figures and costs nothing.
 *
 * A store changes them together with the rows, so that they are right after a crash at any point.
 */
#ifndef BACKEND_STORE_COUNTS_H
#define BACKEND_STORE_COUNTS_H

#include <stdbool.h>

#include "base/sparse.h"

struct store_counts {
    uint64_t entries, expiring, bytes;
};

/* What a slice does to one of them. */
struct store_change {
    int64_t entries, expiring, bytes;
};

/* A map of struct store_counts. */
struct store_counts store_counts_get(const struct sparse *counts, uint16_t database);
void store_counts_put(struct sparse *counts, uint16_t database, const struct store_counts *c);
/* What `from` says becomes so; databases of which nothing is there any more are taken out. */
void store_counts_merge(struct sparse *into, const struct sparse *from);
/* *sum, which is that of all in `into`, becomes what it will be after such a merge. */
void store_counts_sum(const struct sparse *into, const struct sparse *from,
                      struct store_counts *sum);
/* Of this map and of one of struct store_change. */
void store_counts_fini(struct sparse *map);
/* To a map of struct store_change. */
void store_change_add(struct sparse *changes, uint16_t database, const struct store_change *c);

#endif
