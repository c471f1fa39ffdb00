/* schedule: when something is to be done again and again: `03:30` (each day, UTC), several of those
 * with blanks between, or `every 6h` (m, h or d; counted from 1970, so that a restart changes
 * nothing).
 */
#ifndef BASE_SCHEDULE_H
#define BASE_SCHEDULE_H

#include "base/err.h"

#define SCHEDULE_TIMES_MAX 24

struct schedule {
    int64_t every_ms; /* 0 = at times of the day */
    int64_t of_day_ms[SCHEDULE_TIMES_MAX];
    size_t count; /* of times; 0 and no every_ms = never */
};

/* "" is never. ERR_SYNTAX: the error says what is wrong with the text. */
ERR_MUST_USE enum err schedule_parse(struct slice text, struct schedule *out, struct error *e);
/* The first moment after `after_ms` (Unix time), in ms; 0 = never. */
int64_t schedule_next(const struct schedule *s, int64_t after_ms);

#endif
