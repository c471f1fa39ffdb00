/* fault: see fault.h. What runs when something is armed counts calls under the lock of the host's
 * faults, since any of its threads may come by a point. */
#include "base/fault.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

/* Of the calling thread. */
static struct faults *mine(void)
{
    struct host *h = host_used();
    INVARIANT(h != NULL);
    return &h->faults;
}

void fault_arm(const char *prefix, uint64_t nth, bool is_sticky)
{
    struct faults *f = mine();
    pthread_mutex_lock(&f->lock);
    snprintf(f->prefix, sizeof f->prefix, "%s", prefix);
    f->nth = nth;
    f->calls = 0;
    f->is_sticky = is_sticky;
    f->was_hit = false;
    __atomic_store_n(&f->is_armed, nth > 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&f->lock);
}

uint64_t fault_calls(void)
{
    struct faults *f = mine();
    pthread_mutex_lock(&f->lock);
    uint64_t calls = f->calls;
    pthread_mutex_unlock(&f->lock);
    return calls;
}

bool fault_was_hit(void)
{
    struct faults *f = mine();
    pthread_mutex_lock(&f->lock);
    bool was_hit = f->was_hit;
    pthread_mutex_unlock(&f->lock);
    return was_hit;
}

bool fault_hit_slow(const char *name)
{
    struct faults *f = mine();
    pthread_mutex_lock(&f->lock);
    bool hit = false;
    if (f->nth > 0 && strncmp(name, f->prefix, strlen(f->prefix)) == 0) {
        f->calls++;
        hit = f->is_sticky ? f->calls >= f->nth : f->calls == f->nth;
        if (hit) f->was_hit = true;
    }
    pthread_mutex_unlock(&f->lock);
    return hit;
}

void fault_set_sync_delay_ms(unsigned delay_ms)
{
    __atomic_store_n(&mine()->sync_delay_ms, delay_ms, __ATOMIC_RELAXED);
}

unsigned fault_sync_delay_ms(void)
{
    return __atomic_load_n(&host_mine->faults.sync_delay_ms, __ATOMIC_RELAXED);
}

void fault_set_read_delay_ms(unsigned delay_ms)
{
    __atomic_store_n(&mine()->read_delay_ms, delay_ms, __ATOMIC_RELAXED);
}

unsigned fault_read_delay_ms(void)
{
    return __atomic_load_n(&host_mine->faults.read_delay_ms, __ATOMIC_RELAXED);
}

void fault_set_reads_wait(bool is_on)
{
    __atomic_store_n(&mine()->reads_wait, is_on, __ATOMIC_RELAXED);
}

bool fault_reads_wait(void)
{
    return __atomic_load_n(&host_mine->faults.reads_wait, __ATOMIC_RELAXED);
}
