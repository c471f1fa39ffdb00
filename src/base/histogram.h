/* histogram: how often durations occurred, in fixed memory. Buckets are log-linear: below 32 us
 * each microsecond has its own; above, every power of two is cut into 32, so that a value is known
 * to about 3 % up to 71 minutes, and what is longer counts as that.
 *
 *   value      0 .. 31   32 .. 63   64 .. 127   128 .. 255   ...   2^31 .. 2^32-1
 *   width         1          1          2            4        ...        2^26
 */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include "base/buf.h"
#include "base/err.h"

#define HISTOGRAM_SUBS_BITS 5
#define HISTOGRAM_POWERS 32 /* durations below 2^32 us */
#define HISTOGRAM_BUCKETS ((HISTOGRAM_POWERS - HISTOGRAM_SUBS_BITS + 1) << HISTOGRAM_SUBS_BITS)

struct histogram {
    uint64_t total;  /* durations counted */
    uint64_t sum_us; /* of all of them, exact */
    uint64_t counts[HISTOGRAM_BUCKETS];
};

/* A histogram is empty when it is zeroed. A negative duration (a clock that stepped) counts as 0.
 */
void histogram_add(struct histogram *h, int64_t us);
/* The duration that `percent` (0..100) of all do not exceed, as the largest of its bucket; 0 when
 * nothing was counted. */
uint64_t histogram_percentile(const struct histogram *h, double percent);
/* How many took at most `us`, a power of two, or shared a bucket with it. */
uint64_t histogram_count_to(const struct histogram *h, uint64_t us);

/* For each of the bounds, which grow, how many took at most that long: out[i] never counts a
 * longer one; one that is up to 1/32 shorter than bounds_us[i] may be missing, as it shares a
 * bucket with what is longer. */
void histogram_cumulate(const struct histogram *h, const uint64_t *bounds_us, size_t count,
                        uint64_t *out);

/* ---- which percentiles to show ---- */

#define PERCENTILES_MAX 16

struct percentiles {
    double values[PERCENTILES_MAX]; /* 0..100 */
    size_t count;
};

/* Words such as 50 99 99.9. ERR_SYNTAX says what is accepted; *p is then as before. */
ERR_MUST_USE enum err percentiles_parse(struct percentiles *p, const struct slice *words,
                                        size_t count, struct error *e);
/* Appends one as it is written: 50, 99.9. */
void percentile_format(double value, struct buf *out);

#endif
