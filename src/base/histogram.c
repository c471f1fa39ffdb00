/* histogram: from a duration to its bucket and back; counts up to a bound; the percentiles that a
 * setting names. */
#include "base/histogram.h"

#include <stdio.h>
#include <stdlib.h>

#define SUBS (1u << HISTOGRAM_SUBS_BITS)
#define US_MAX ((UINT64_C(1) << HISTOGRAM_POWERS) - 1)

/* 100 us = 1100100b: power 6, and after its leading one the next 5 bits, 10010b: the 18th of the
 * 32 buckets of 64 .. 127. */
static size_t bucket_of(uint64_t us)
{
    if (us > US_MAX) us = US_MAX;
    if (us < SUBS) return (size_t)us;
    unsigned power = 63 - (unsigned)__builtin_clzll(us);
    unsigned shift = power - HISTOGRAM_SUBS_BITS;
    return ((size_t)(shift + 1) << HISTOGRAM_SUBS_BITS) + (size_t)((us >> shift) - SUBS);
}

/* The largest duration of a bucket. */
static uint64_t bucket_top(size_t i)
{
    if (i < SUBS) return i;
    unsigned shift = (unsigned)(i >> HISTOGRAM_SUBS_BITS) - 1;
    uint64_t start = (uint64_t)((i & (SUBS - 1)) + SUBS) << shift;
    return start + (UINT64_C(1) << shift) - 1;
}

void histogram_add(struct histogram *h, int64_t us)
{
    uint64_t took_us = us > 0 ? (uint64_t)us : 0;
    h->counts[bucket_of(took_us)]++;
    h->total++;
    h->sum_us += took_us;
}

uint64_t histogram_percentile(const struct histogram *h, double percent)
{
    if (h->total == 0) return 0;
    /* The rank of the one asked for: at least the first, at most the last. */
    double exact = percent / 100 * (double)h->total;
    uint64_t rank = (uint64_t)exact;
    if ((double)rank < exact) rank++;
    if (rank == 0) rank = 1;
    if (rank > h->total) rank = h->total;
    uint64_t seen = 0;
    size_t i = 0;
    while (i < HISTOGRAM_BUCKETS - 1 && (seen += h->counts[i]) < rank) i++;
    return bucket_top(i);
}

uint64_t histogram_count_to(const struct histogram *h, uint64_t us)
{
    uint64_t count = 0;
    size_t last = bucket_of(us);
    for (size_t i = 0; i <= last; i++) count += h->counts[i];
    return count;
}

void histogram_cumulate(const struct histogram *h, const uint64_t *bounds_us, size_t count,
                        uint64_t *out)
{
    uint64_t seen = 0;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        while (at < HISTOGRAM_BUCKETS && bucket_top(at) <= bounds_us[i]) seen += h->counts[at++];
        out[i] = seen;
    }
}

static bool percentile_parse(struct slice word, double *out)
{
    char text[32];
    if (word.len == 0 || word.len >= sizeof text) return false;
    for (size_t i = 0; i < word.len; i++) {
        /* strtod knows more than we want: blanks, hexadecimal, inf. */
        if ((word.data[i] < '0' || word.data[i] > '9') && word.data[i] != '.') return false;
    }
    memcpy(text, word.data, word.len);
    text[word.len] = '\0';
    char *end = NULL;
    *out = strtod(text, &end);
    return *end == '\0' && *out <= 100;
}

enum err percentiles_parse(struct percentiles *p, const struct slice *words, size_t count,
                           struct error *e)
{
    struct percentiles parsed = {.count = count};
    bool is_good = count <= PERCENTILES_MAX;
    for (size_t i = 0; is_good && i < count; i++) {
        is_good = percentile_parse(words[i], &parsed.values[i]);
    }
    if (!is_good) {
        return error_set(e, ERR_SYNTAX, "must be at most %d numbers from 0 to 100",
                         PERCENTILES_MAX);
    }
    *p = parsed;
    return OK;
}

void percentile_format(double value, struct buf *out)
{
    buf_printf(out, "%.12g", value);
}
