/* fault: named points where a test makes the nth call fail. What is armed is the host's of the
 * calling thread (host.h), which must have one to arm something. In production nothing is armed and
 * a point costs two loads. After tarantool's errinj and SQLite's fail-the-nth-call tests.
 */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include "base/host.h"

/* Fail the nth call (1 = the next one) of points whose name begins with `prefix`; once, or from
 * then on for ever when `is_sticky`. n = 0 disarms. Any thread of the host.
 */
void fault_arm(const char *prefix, uint64_t nth, bool is_sticky);
/* Calls seen since fault_arm; by this a fault loop sees that it is through. */
uint64_t fault_calls(void);
/* True when an armed fault was delivered since fault_arm. */
bool fault_was_hit(void);
bool fault_hit_slow(const char *name);

/* Milliseconds every call of a "delay" point sleeps; a test's slow disk. */
void fault_set_sync_delay_ms(unsigned delay_ms);
unsigned fault_sync_delay_ms(void);

/* Milliseconds that every read of a key in the store takes longer, and none is made without
 * waiting; a test's slow disk. 0 = as usual. */
void fault_set_read_delay_ms(unsigned delay_ms);
unsigned fault_read_delay_ms(void);

/* No read is refused for want of its page in the system's cache: which pages are there is not for a
 * test to know. "vfs.nowait" refuses all the same. */
void fault_set_reads_wait(bool is_on);
bool fault_reads_wait(void);

static inline bool fault_hit(const char *name)
{
    int is_armed = __atomic_load_n(&host_mine->faults.is_armed, __ATOMIC_RELAXED);
    return __builtin_expect(is_armed != 0, 0) && fault_hit_slow(name);
}

#endif
