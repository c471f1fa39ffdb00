/* walk: the elements of a collection in order, or a part of them: those of a hash or set in no
 * order that means anything, those of a sorted set by score and member, those of a list by
 * position. While a walk is open nothing of the transaction may be written: what a command wants to
 * change it collects first.
 */
#ifndef COLLECTION_WALK_H
#define COLLECTION_WALK_H

#include "collection/collection.h"

struct walk_range {
    bool is_reverse;
    bool by_name; /* in the order of name_order: for merges */
    /* It may take several turns: only outside of transactions, and the walk's slices are good until
     * the turn ends. Else it ends in its turn, or waits and is begun anew. */
    bool is_divided;
    /* Of a spread one: rows in [start, end) of `tag`; data NULL = all of them. */
    struct slice start, end;
    /* Of a packed one: items in [from, upto); 0, 0 = all. */
    size_t from, upto;
    size_t hint;       /* elements that are expected to be wanted; 0 = many */
    size_t *work_left; /* outside of transactions: what it may pass, as struct scan_range has it */
    /* For who walks: */
    bool is_empty;      /* nothing is in it: there is no walk */
    uint64_t skip, max; /* so many are left out at its beginning, and so many wanted (0 = all) */
};

struct element_walk {
    struct collection *c;
    struct engine_scan *scan; /* of a spread one */
    const struct element *items;
    size_t at, end; /* of a packed one */
    bool is_reverse;
    uint64_t position; /* of a list: that of the last element */
};

ERR_MUST_USE enum err element_walk_begin(struct element_walk *w, struct collection *c,
                                         const struct walk_range *r, struct error *e);
/* The next element, borrowed until the next call. *is_end: there is none. ERR_WAIT: call again, or
 * of one that is not divided begin anew. */
ERR_MUST_USE enum err element_walk_next(struct element_walk *w, struct element *out, bool *is_end,
                                        struct error *e);
/* Raises `depends` of the view. Harmless when it was not begun, or has ended. */
void element_walk_end(struct element_walk *w);

/* Of the rows that such a walk is over. */
enum row_tag element_walk_tag(const struct collection *c, bool by_name);
/* How names are ordered: as their rows are. */
int name_order(struct slice a, struct slice b);

#endif
