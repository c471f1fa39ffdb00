/* steady: a wall clock that neither goes back nor stands still. It gives the system's time while
 * that is ahead of every time given before. When the system's clock was set back, or what a journal
 * holds was written under a clock that ran ahead, it goes on from the newest time by elapsed
 * (monotonic) time.
 *
 *   follows --the system's time is before the newest--> ahead
 *       ^                                                 |
 *       +------- the system's time has caught up ---------+
 *
 * While it is ahead it goes 1 % slower than elapsed time: after the small corrections that every
 * machine's clock sees it is soon right again (100 ms: in 10 s), and no time-out is longer than by
 * 1 %.
 *
 * One thread.
 */
#ifndef BASE_STEADY_H
#define BASE_STEADY_H

#include <stdbool.h>
#include <stdint.h>

struct steady {
    int64_t newest_ms; /* given or asked for so far */
    bool is_ahead;
    int64_t from_ms; /* is_ahead: it gave this ... */
    int64_t from_us; /* ... at this monotonic time */
};

/* The time, ms since 1970: never less than before. */
int64_t steady_now_ms(struct steady *s);
/* No time before this one is given from now on. */
void steady_at_least(struct steady *s, int64_t ms);
/* How far it is ahead of the system's clock; 0 = it is not. */
int64_t steady_ahead_ms(struct steady *s);

#endif
