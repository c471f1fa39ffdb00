/* metric: what a family of metrics is. */
#ifndef COMMAND_OBSERVE_METRIC_H
#define COMMAND_OBSERVE_METRIC_H

enum metric_kind {
    METRIC_GAUGE,
    METRIC_COUNTER,   /* never less, but for a start: its samples are called <name>_total */
    METRIC_HISTOGRAM, /* of seconds */
    METRIC_INFO,      /* always 1; what it tells is in its labels: <name>_info */
};

/* A family. What has a unit ends with it: _seconds, _bytes, _ratio. */
struct metric {
    const char *name; /* without _total and _info */
    enum metric_kind kind;
    const char *help; /* one line, without quotes and backslashes */
};

#endif
