/* metrics: what there is to be told of the server, as text for Prometheus, in its own form or in
 * that of OpenMetrics 1.0. docs/metrics.md lists the families.
 *
 * The cost does not depend on how much there is: no row is read, nothing waits, and of queues,
 * indexes and databases only the first ones are looked at, in the order of their names; of the
 * others only sums are told, which are kept as they change. It tells what is written but not yet
 * durable too, as INFO does. Loop thread.
 */
#ifndef HTTP_METRICS_H
#define HTTP_METRICS_H

#include "http/metrics_text.h"
#include "request/command.h"

/* Families of another source, written after ours. */
struct metrics_more {
    void (*write)(void *arg, struct metrics_out *o);
    void *arg;
};

struct metrics_options {
    size_t names_max; /* queues, indexes, databases, each, that are told by name */
    bool is_openmetrics;
    const struct metrics_more *more; /* NULL = none */
};

/* Appends the whole exposition. The client's user decides which queues, indexes and databases are
 * named: those that it may not read are in the sums named `_other`. Whether it may ask at all,
 * which is INFO's permission, is the caller's to look at. */
void metrics_write(struct env *env, struct client *c, const struct metrics_options *o,
                   struct buf *out);
/* The Content-Type of the form. */
const char *metrics_type(bool is_openmetrics);

#endif
