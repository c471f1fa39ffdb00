/* clock: the time, and a fake one for tests, which the host of the calling thread has (host.h): it
 * must have one for that. Wall time may step; monotonic time only grows. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

int64_t clock_wall_ms(void);
int64_t clock_wall_us(void);
int64_t clock_mono_us(void);
/* Processor time that the calling thread has had; never fake. A system call. */
int64_t clock_thread_us(void);
/* "2026-11-22T13:00:00.000Z" (ISO 8601), NUL-ended; of the Unix time. */
#define CLOCK_UTC_BYTES 40
void clock_format_utc(int64_t ms, char out[CLOCK_UTC_BYTES]);

/* The calling thread does nothing for so long: DEBUG SLEEP, which is to block the loop. */
void clock_sleep_us(int64_t us);

/* Tests: from now on both clocks stand at this time; 0 goes back to the real ones. */
void clock_set_fake_ms(int64_t now_ms);
/* Tests: from now on the wall clock, real or fake, is so much later (earlier when negative) than it
 * would be. */
void clock_step_wall_ms(int64_t by_ms);

#endif
