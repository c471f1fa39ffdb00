/* steady: see steady.h. Ahead, the time is worked out from where that began, never from the last
 * answer, so that rounding does not add up. */
#include "base/steady.h"

#include "base/clock.h"

#define SLOWER 100 /* ahead of the system's clock it loses one part in so many */

static void go_on_from_here(struct steady *s)
{
    s->is_ahead = true;
    s->from_ms = s->newest_ms;
    s->from_us = clock_mono_us();
}

int64_t steady_now_ms(struct steady *s)
{
    int64_t wall_ms = clock_wall_ms();
    if (!s->is_ahead && wall_ms < s->newest_ms) go_on_from_here(s);
    if (s->is_ahead) {
        int64_t passed_us = clock_mono_us() - s->from_us;
        int64_t ms = s->from_ms + (passed_us - passed_us / SLOWER) / 1000;
        if (ms > s->newest_ms) s->newest_ms = ms;
    }
    if (wall_ms >= s->newest_ms) {
        s->is_ahead = false;
        s->newest_ms = wall_ms;
    }
    return s->newest_ms;
}

void steady_at_least(struct steady *s, int64_t ms)
{
    if (ms <= s->newest_ms) return;
    s->newest_ms = ms;
    s->is_ahead = false; /* where it goes on from is new */
}

int64_t steady_ahead_ms(struct steady *s)
{
    int64_t now_ms = steady_now_ms(s);
    return s->is_ahead ? now_ms - clock_wall_ms() : 0;
}
