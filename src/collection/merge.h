/* merge: several sets or sorted sets at once, in the order of their members' names: what SUNION,
 * SINTER, SDIFF and their sorted relatives are made of. All of it within one turn.
 */
#ifndef COLLECTION_MERGE_H
#define COLLECTION_MERGE_H

#include "collection/walk.h"

enum merge_kind { MERGE_UNION, MERGE_INTER, MERGE_DIFF };
enum merge_scores { SCORES_SUM, SCORES_MIN, SCORES_MAX };

struct merge {
    enum merge_kind kind;
    struct collection *sources; /* sets and sorted sets; members of a set have the score 1 */
    size_t count;
    const double *weights; /* of each source; NULL = 1 */
    enum merge_scores scores;
    uint64_t max;  /* of results; 0 = all */
    size_t *order; /* made of the sources: in which their scores are added */
    /* results, in the arena of the view; in the order of names */
    struct element *items;
    size_t item_count;
};

/* ERR_LIMIT: the sources have more than COLLECTION_ROWS_MAX members together. */
ERR_MUST_USE enum err merge_run(struct merge *m, struct error *e);

#endif
