/* clock: the system's clocks, or what the host of the calling thread has in their place. A step
 * moves the wall clock only. */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

#include "base/err.h"
#include "base/host.h"

static int64_t system_us(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t clock_read_us(clockid_t id)
{
    int64_t fake = __atomic_load_n(&host_mine->fake_ms, __ATOMIC_RELAXED);
    return fake != 0 ? fake * 1000 : system_us(id);
}

int64_t clock_wall_us(void)
{
    return clock_read_us(CLOCK_REALTIME) + __atomic_load_n(&host_mine->step_us, __ATOMIC_RELAXED);
}

int64_t clock_wall_ms(void)
{
    return clock_wall_us() / 1000;
}

int64_t clock_mono_us(void)
{
    return clock_read_us(CLOCK_MONOTONIC);
}

int64_t clock_thread_us(void)
{
    return system_us(CLOCK_THREAD_CPUTIME_ID);
}

void clock_sleep_us(int64_t us)
{
    struct timespec left = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    while (nanosleep(&left, &left) != 0) continue;
}

void clock_set_fake_ms(int64_t now_ms)
{
    struct host *h = host_used();
    INVARIANT(h != NULL);
    __atomic_store_n(&h->fake_ms, now_ms, __ATOMIC_RELAXED);
}

void clock_step_wall_ms(int64_t by_ms)
{
    struct host *h = host_used();
    INVARIANT(h != NULL);
    __atomic_fetch_add(&h->step_us, by_ms * 1000, __ATOMIC_RELAXED);
}

void clock_format_utc(int64_t ms, char out[CLOCK_UTC_BYTES])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;
    char date[24];
    gmtime_r(&seconds, &tm);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out, CLOCK_UTC_BYTES, "%s.%03dZ", date, (int)(ms % 1000));
}
