/* index: a counted index (base/counted.h) for each collection of which it is asked, in memory:
 * ranks, offsets and random elements in O(log n) and a block. It is made by one walk over the rows
 * when it is first asked for, kept up to date by commits, and let go of when its memory is wanted
 * for others, the least used first.
 *
 * It knows what is committed. What a transaction has written itself is added by who asks
 * (rank.c).
 */
#ifndef COLLECTION_INDEX_H
#define COLLECTION_INDEX_H

#include "base/counted.h"
#include "collection/collection.h"

struct counted_indexes;

struct counted_indexes *counted_indexes_new(struct engine *g, size_t bytes_max);
void counted_indexes_free(struct counted_indexes *x);
void counted_indexes_set_bytes(struct counted_indexes *x, size_t bytes_max);
/* That of the rows with this tag. ERR_WAIT: it is being made. *out NULL: there is none to be had
 * here (a node that follows). Good until the turn ends. */
ERR_MUST_USE enum err counted_indexes_get(struct counted_indexes *x, const struct element_rows *of,
                                          enum row_tag tag, struct waiter *w, struct counted **out,
                                          struct error *e);
/* Of a commit. */
void counted_indexes_on_commit(struct counted_indexes *x, const struct write_set *ws);
/* Goes on with those that are being made; true when there is more to do at once. */
bool counted_indexes_turn(struct counted_indexes *x);
/* For INFO. */
size_t counted_indexes_bytes(const struct counted_indexes *x, size_t *count);

#endif
