/* log_limit: how many lines of one kind go to the log in a second, when a client decides how many
 * there are, by its scripts. What is above it is left out and counted, so that the log says how
 * much is missing.
 *
 *   open --a line, and this second has had its lines--> closed: lines are left out
 *     ^                                                   |
 *     +------------- a second without a line -------------+  the count is told then
 *
 * Any thread.
 */
#ifndef BASE_LOG_LIMIT_H
#define BASE_LOG_LIMIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_limit {
    pthread_mutex_t lock; /* guards the rest */
    unsigned per_second;
    int64_t credit_us; /* a line costs a second's part of it; at most a second */
    int64_t at_us;     /* monotonic: when it was reckoned */
    bool is_closed;
    size_t left_out; /* not told yet */
};

void log_limit_init(struct log_limit *l, unsigned per_second);
void log_limit_fini(struct log_limit *l);
/* May a line be written now? If so, *left_out says how many were left out before it, which the
 * caller tells first; 0 = none. */
bool log_limit_take(struct log_limit *l, size_t *left_out);
/* Now and then, as there may be no next line: lines that were left out and are to be told now; 0 =
 * none. */
size_t log_limit_tell(struct log_limit *l);

#endif
