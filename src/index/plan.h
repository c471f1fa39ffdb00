/* plan: by which rows of which index the entries of a range that can match a filter are found.
 *
 * An index serves when it covers the whole range, and when the filter demands of each of its paths
 * a value that an index holds (filter/demand.h): an entry that lacks one has no row. Its rows are
 * narrowed by its first paths: by values as long as there are some, then by one range. Beside them
 * are the rows that name hashes (rows.h), whose fields an index of values does not hold.
 *
 * Rows name entries that can match: the filter is still to be asked.
 */
#ifndef INDEX_PLAN_H
#define INDEX_PLAN_H

#include "filter/demand.h"
#include "index/index.h"

#define PLAN_RANGES_MAX (DEMAND_VALUES_MAX + 1)
#define PLANS_MAX 2

struct plan_range {
    struct slice start, end; /* of rows: [start, end), in the arena */
};

struct index_plan {
    const struct index *index; /* good until the next commit */
    size_t values;             /* its first paths that have values */
    unsigned bounds;           /* of the path after them: 2 = both ends, 1 = one, 0 = none */
    size_t range_count;
    struct plan_range ranges[PLAN_RANGES_MAX];
};

enum plan_result {
    PLAN_SERVES,
    PLAN_COVERS_LESS, /* not all of the range, or it is of hashes, of text, or not complete */
    PLAN_LACKS,       /* entries without a value at a path, of which the filter demands none */
    PLAN_IS_WIDE,     /* the filter narrows nothing at the first path */
};

/* What is asked: which entries with data keys in [start, end) can match. */
struct plan_question {
    const struct filter *filter;
    struct slice start, end;
    struct arena *arena;
};

/* By one index; *path of what is not PLAN_SERVES: which path it is for. */
enum plan_result index_plan(const struct index *x, const struct plan_question *q,
                            struct index_plan *out, size_t *path);
/* The best first, at most PLANS_MAX; how many there are: 0
 * also while definitions are being read. */
size_t index_plans(const struct indexes *ix, const struct plan_question *q,
                   struct index_plan out[PLANS_MAX]);

#endif
