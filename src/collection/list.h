/* list: the operations of lists. An element is named by its place, from 0 at the head; a place at
 * or after the length does not exist.
 *
 * Of a spread one each element has a position, a number that grows from head to tail. While there
 * are no holes, place i is at first + i * LIST_STEP. LREM leaves a hole, LINSERT takes a position
 * between two others; from then on places are found by rank (rank.h).
 */
#ifndef COLLECTION_LIST_H
#define COLLECTION_LIST_H

#include "collection/walk.h"

/* LTRIM removes so many rows one by one; beyond, what stays (at most as many) moves. */
#define LIST_TRIM_ROWS 20000

ERR_MUST_USE enum err list_push(struct collection *c, bool at_head, struct slice value,
                                struct error *e);
/* Takes `count` elements off an end; their values in the arena of the view, as they came off. There
 * must be as many. ERR_LIMIT: more than COLLECTION_ROWS_MAX. */
ERR_MUST_USE enum err list_pop(struct collection *c, bool at_head, uint64_t count,
                               struct slice **out, struct error *e);
/* The value at a place that exists; in the arena. */
ERR_MUST_USE enum err list_get(struct collection *c, uint64_t place, struct slice *out,
                               struct error *e);
ERR_MUST_USE enum err list_set(struct collection *c, uint64_t place, struct slice value,
                               struct error *e);
/* The walk over places [from, upto), forward. */
ERR_MUST_USE enum err list_range(struct collection *c, uint64_t from, uint64_t upto,
                                 struct walk_range *out, struct error *e);
/* Only places [from, upto) stay. */
ERR_MUST_USE enum err list_trim(struct collection *c, uint64_t from, uint64_t upto,
                                struct error *e);
/* Removes at most `max` elements (0 = all) with this value, from the tail on if so. */
ERR_MUST_USE enum err list_remove(struct collection *c, struct slice value, bool from_tail,
                                  uint64_t max, uint64_t *removed, struct error *e);
/* Before or after the first element with the value `pivot`; *found: there is one. */
ERR_MUST_USE enum err list_insert(struct collection *c, bool is_before, struct slice pivot,
                                  struct slice value, bool *found, struct error *e);

#endif
