/* demand: what a filter demands of the value at a path, as an index over the path can be asked for
 * it. Every entry that matches the filter fulfils it; one that fulfils it need not match.
 *
 * It is said by the conditions that must all hold: those of fields outside of $or and $not. The
 * tightest that an index can use counts: values to be equal to before an order.
 */
#ifndef FILTER_DEMAND_H
#define FILTER_DEMAND_H

#include "base/arena.h"
#include "filter/filter.h"
#include "filter/path.h"

#define DEMAND_VALUES_MAX 64

enum demand_kind {
    DEMAND_NOTHING, /* the path may be missing, or have a value that no index holds */
    DEMAND_VALUE,   /* there is a value that an index holds; which, is not known */
    DEMAND_RANGES,  /* it is in one of `ranges` */
    DEMAND_VALUES,  /* it is one of `values` */
};

/* Of one type; both bounds inclusive. Of strings that begin with `low`: is_prefix, without high. */
struct demand_range {
    struct slice low, high; /* stored values; data NULL = open. One of them is there. */
    bool is_prefix;
};

struct demand {
    enum demand_kind kind;
    size_t count;
    struct slice values[DEMAND_VALUES_MAX]; /* stored values, in the arena */
    struct demand_range ranges[2];          /* likewise */
};

void filter_demand(const struct filter *f, const struct path *p, struct arena *arena,
                   struct demand *out);

#endif
