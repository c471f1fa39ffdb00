/* deviations: in what this server differs from Redis 7.0 and is meant to. One table, with reasons;
 * docs/redis-commands.md says them to users.
 */
#ifndef TESTS_DIFF_DEVIATIONS_H
#define TESTS_DIFF_DEVIATIONS_H

#include "diff/compare.h"

enum deviation {
    DEVIATION_EXEC,
    DEVIATION_SCRIPT,
    DEVIATION_WAITING,
    DEVIATION_MISTAKES,
    DEVIATION_INDEX,
    DEVIATION_ZERO,
    DEVIATION_RANK,
    DEVIATION_LONG_WAIT,
    DEVIATION_MADE_AGAIN,
    DEVIATION_NO_CHANGE,
    DEVIATION_STORE,
    DEVIATION_STREAM,
    DEVIATION_GROUPS,
    DEVIATION_HALF_ADDED,
    DEVIATION_DAMAGED,
    DEVIATION_UNORDERED,
    DEVIATION_NUL,
    DEVIATION_ERANGE,
    DEVIATION_TWICE,
    DEVIATION_TIED,
    DEVIATION_NO_CENTER,
    DEVIATION_COUNT
};

struct deviation_row {
    const char *what; /* how it is here */
    const char *why;
    enum verdict verdict;
    /* NULL: met by name, or nothing is made that would show it */
    bool (*is)(const struct call *c, const struct reply *ours, const struct reply *redis);
    unsigned long long met;
};

/* What is not meant (diff/open.c). */
extern struct deviation_row deviations_open[];
extern const size_t deviations_open_count;

/* Counts it, and says what it means for what follows. */
enum verdict deviation_meet(enum deviation d);
/* Is it one of the table that these replies differ? REPLY_DIFFERS when it is not. */
enum verdict deviation_of(const struct call *c, const struct reply *ours,
                          const struct reply *redis);

#endif
