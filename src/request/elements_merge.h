/* elements_merge: several sets or sorted sets at once: SINTER, ZUNION and their like, what they
 * store, and how many members there are.
 */
#ifndef REQUEST_ELEMENTS_MERGE_H
#define REQUEST_ELEMENTS_MERGE_H

#include "collection/merge.h"
#include "request/elements.h"

/* What the words of such a command are bound to; those that a command does not take stay 0. */
struct elements_merge {
    struct slice to; /* of those that store */
    struct slices keys;
    struct {
        double *items;
        size_t count; /* 0, or that of the keys */
    } weights;
    int aggregate; /* enum merge_scores */
    bool with_scores;
    int64_t max; /* of those that count; 0 = any */
    enum merge_kind kind;
    const struct elements_merge_of *of; /* of the command that runs */
    struct merge merge;                 /* the result */
};

/* What sets and sorted sets have of their own. */
struct elements_merge_of {
    enum collection_kind kind; /* of what is stored */
    /* The source at the key; without elements when there is none. ERR_TYPE. */
    enum err (*open)(struct request *rq, struct view *v, struct slice key, struct collection *out);
    /* The order of the results, as qsort compares; NULL = by name. */
    int (*order)(const void *a, const void *b);
};

/* Of the command's bound words: reads them; the results are in `merge`. */
ERR_MUST_USE enum err elements_merge_read(struct request *rq, const struct elements_merge_of *of);
/* Commands whole: they reply how many results there are ... */
ERR_MUST_USE enum err elements_merge_count(struct request *rq, const struct elements_merge_of *of);
/* ... and store them, in place of whatever is at the destination. */
ERR_MUST_USE enum err elements_merge_store(struct request *rq, const struct elements_merge_of *of);

#endif
