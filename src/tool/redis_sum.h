/* redis_sum: what a key holds, as numbers that are equal where type and contents are: whatever the
 * order of a hash, a set or a sorted set, and whatever the pages in which it was read. Times of
 * deliveries and consumers of a stream do not count.
 */
#ifndef TOOL_REDIS_SUM_H
#define TOOL_REDIS_SUM_H

#include "tool/redis_read.h"

struct redis_sum {
    enum redis_kind kind;
    int64_t expires_ms; /* 0 = never */
    uint64_t count;     /* elements, or bytes of a string */
    uint64_t high, low; /* the sum of the elements' XXH3 */
};

/* Up to REDIS_AT_ONCE keys by their names. What goes wrong is said. */
ERR_MUST_USE enum tool_status redis_sums(struct redis_reader *r, const struct slice *names,
                                         size_t count, struct redis_sum *out);
/* Are they equal, but for some milliseconds of their expiry? */
bool redis_sum_is_equal(const struct redis_sum *a, const struct redis_sum *b);

#endif
