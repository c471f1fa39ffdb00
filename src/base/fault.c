#include "base/fault.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

int fault_is_armed;

/* The one mutable global of the program, and only tests write it. */
static struct {
    pthread_mutex_t lock;
    char prefix[64];
    uint64_t nth;
    uint64_t calls;
    bool is_sticky;
    bool was_hit;
    unsigned sync_delay_ms, read_delay_ms;
} faults = {.lock = PTHREAD_MUTEX_INITIALIZER};

void fault_arm(const char *prefix, uint64_t nth, bool is_sticky)
{
    pthread_mutex_lock(&faults.lock);
    snprintf(faults.prefix, sizeof faults.prefix, "%s", prefix);
    faults.nth = nth;
    faults.calls = 0;
    faults.is_sticky = is_sticky;
    faults.was_hit = false;
    __atomic_store_n(&fault_is_armed, nth > 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&faults.lock);
}

uint64_t fault_calls(void)
{
    pthread_mutex_lock(&faults.lock);
    uint64_t calls = faults.calls;
    pthread_mutex_unlock(&faults.lock);
    return calls;
}

bool fault_was_hit(void)
{
    pthread_mutex_lock(&faults.lock);
    bool was_hit = faults.was_hit;
    pthread_mutex_unlock(&faults.lock);
    return was_hit;
}

bool fault_hit_slow(const char *name)
{
    pthread_mutex_lock(&faults.lock);
    bool hit = false;
    if (faults.nth > 0 && strncmp(name, faults.prefix, strlen(faults.prefix)) == 0) {
        faults.calls++;
        hit = faults.is_sticky ? faults.calls >= faults.nth : faults.calls == faults.nth;
        if (hit) faults.was_hit = true;
    }
    pthread_mutex_unlock(&faults.lock);
    return hit;
}

void fault_set_sync_delay_ms(unsigned delay_ms)
{
    __atomic_store_n(&faults.sync_delay_ms, delay_ms, __ATOMIC_RELAXED);
}

unsigned fault_sync_delay_ms(void)
{
    return __atomic_load_n(&faults.sync_delay_ms, __ATOMIC_RELAXED);
}

void fault_set_read_delay_ms(unsigned delay_ms)
{
    __atomic_store_n(&faults.read_delay_ms, delay_ms, __ATOMIC_RELAXED);
}

unsigned fault_read_delay_ms(void)
{
    return __atomic_load_n(&faults.read_delay_ms, __ATOMIC_RELAXED);
}
