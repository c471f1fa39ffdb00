/* metrics_text: families, samples and labels as text, in Prometheus's form 0.0.4 or in that of
 * OpenMetrics 1.0. It knows no figures.
 *
 *   # HELP tupled_queues Queues that there are.
 *   # TYPE tupled_queues gauge
 *   tupled_queues 3
 *
 * A family is begun once, and its samples follow; one without samples leaves no trace. The bytes of
 * label values must be UTF-8.
 */
#ifndef HTTP_METRICS_TEXT_H
#define HTTP_METRICS_TEXT_H

#include "base/buf.h"
#include "base/histogram.h"
#include "command/observe/metric.h"

struct metrics_label {
    const char *name;
    struct slice value;
};

struct metrics_out {
    struct buf *buf;
    bool is_openmetrics;
    const struct metric *family; /* the one that was begun */
    bool has_head;               /* it has a sample */
};

void metrics_begin(struct metrics_out *o, const struct metric *m);
/* Samples of the family that was begun. */
void metrics_u64(struct metrics_out *o, const struct metrics_label *labels, size_t count,
                 uint64_t value);
/* Thousandths and millionths of what is told: milliseconds as seconds. */
void metrics_milli(struct metrics_out *o, const struct metrics_label *labels, size_t count,
                   int64_t value);
void metrics_micro(struct metrics_out *o, const struct metrics_label *labels, size_t count,
                   uint64_t value);
void metrics_histogram(struct metrics_out *o, const struct metrics_label *labels, size_t count,
                       const struct histogram *h);
/* A family with one sample. */
void metrics_one(struct metrics_out *o, const struct metric *m, uint64_t value);
/* After the last family. */
void metrics_end(struct metrics_out *o);

#endif
