/* gaps: ranges of keys in which a transaction has found nothing, since it has deleted what was
 * there. A scan that begins in one begins behind it: else a transaction that takes the first of a
 * collection n times would pass n * n / 2 rows that it has deleted.
 */
#ifndef ENGINE_GAPS_H
#define ENGINE_GAPS_H

#include <stdint.h>

#include "base/slice.h"

#define GAPS_MAX 4

struct gaps {
    struct gap {
        struct slice start, end; /* inclusive, exclusive; in the arena of the transaction */
    } items[GAPS_MAX];
    size_t count, oldest;
    uint64_t version; /* that the next commit gets: they hold until then */
};

/* Nothing is in [start, end) until `version` is given to a commit, or gaps_touch. Borrowed. */
void gaps_add(struct gaps *g, uint64_t version, struct slice start, struct slice end);
/* The key may be there now. */
void gaps_touch(struct gaps *g, struct slice key);
/* Takes off the range what is known to be empty at its ends. */
void gaps_narrow(const struct gaps *g, uint64_t version, struct slice *start, struct slice *end);

#endif
