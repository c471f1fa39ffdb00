/* give_way: long work on threads lets the loop's thread run. Since Linux 6.6 a thread that runs is
 * not interrupted by one that wakes before its slice is over, which is seen at the next tick of the
 * kernel, up to 4 ms later, however nice it is. To yield now and then costs much on a busy machine,
 * as every other process comes first then. So the kernel is asked (proc(5), stat of the loop's
 * thread), every few dozen microseconds at most: only when the loop waits for the processor that
 * the asking thread runs on, that thread yields.
 */
#ifndef BASE_GIVE_WAY_H
#define BASE_GIVE_WAY_H

#include <stdbool.h>

/* The calling thread is the loop of its host (base/host.h), for good. */
void give_way_to_me(void);
/* Any thread of the host, again and again during long work. Where there is no such loop (libtupled
 * keeps no descriptor of its threads) it yields every millisecond. */
void give_way(void);
/* Whether a thread with this stat is runnable on the processor. Pure. */
bool give_way_is_runnable(const char *stat, int processor);

#endif
