/* metrics_parse: reads an exposition strictly: what it does not know it refuses, by failing the
 * test. It shares nothing with what writes them.
 *
 *   - every line ends; HELP and TYPE (and UNIT) of a family come once, before its samples, which are
 *     together
 *   - samples have the names that their kind wants, and none comes twice
 *   - names, labels, escapes, numbers are well-formed; all of it is UTF-8
 *   - buckets grow and do not decrease, the last is +Inf and equals _count; there is a _sum
 *   - OpenMetrics: ends with # EOF, units end names; else there is no # EOF
 */
#ifndef UNIT_HTTP_METRICS_PARSE_H
#define UNIT_HTTP_METRICS_PARSE_H

#include "base/buf.h"

struct parsed_sample {
    char *key; /* as it is written, name and labels; in `text` */
    double value;
};

struct parsed {
    char *text;                    /* owned */
    struct parsed_sample *samples; /* owned */
    size_t count;
    const char **families; /* owned; names, as TYPE has them; in `text` */
    size_t family_count;
};

struct parsed parse_metrics(struct slice text, bool is_openmetrics);
void parsed_free(struct parsed *p);
bool parsed_has(const struct parsed *p, const char *key);
/* The sample must be there. */
double parsed_value(const struct parsed *p, const char *key);
bool parsed_has_family(const struct parsed *p, const char *name);
/* Of all samples whose key begins so. */
double parsed_sum(const struct parsed *p, const char *prefix);

#endif
