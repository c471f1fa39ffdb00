#include "base/steady.h"

#include "base/clock.h"

#define SLOWER 100 /* ahead of the system's clock it loses one part in so many */

int64_t steady_now_ms(struct steady *s)
{
    int64_t wall_ms = clock_wall_ms();
    if (wall_ms >= s->newest_ms) {
        s->is_ahead = false;
        s->newest_ms = wall_ms;
        return wall_ms;
    }
    int64_t now_us = clock_mono_us();
    if (!s->is_ahead) {
        s->is_ahead = true;
        s->from_ms = s->newest_ms;
        s->from_us = now_us;
    }
    int64_t passed_us = now_us - s->from_us;
    int64_t ms = s->from_ms + (passed_us - passed_us / SLOWER) / 1000;
    if (ms > s->newest_ms) s->newest_ms = ms;
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
