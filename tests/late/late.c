#include "late/late.h"

#include <errno.h>
#include <time.h>

#include "base/mem.h"
#include "late/late_int.h"

struct late *late_new(const struct late_options *options)
{
    struct late *l = mem_new(sizeof *l);
    l->options = *options;
    rng_init(&l->rng, options->seed);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->given_up, NULL);
    return l;
}

void late_free(struct late *l)
{
    if (l == NULL) return;
    pthread_cond_destroy(&l->given_up);
    pthread_mutex_destroy(&l->lock);
    mem_free(l);
}

uint64_t late_below(struct late *l, uint64_t limit)
{
    pthread_mutex_lock(&l->lock);
    uint64_t n = rng_below(&l->rng, limit);
    pthread_mutex_unlock(&l->lock);
    return n;
}

bool late_happens(struct late *l, unsigned percent)
{
    return percent > 0 && late_below(l, 100) < percent;
}

void late_count(struct late *l, uint64_t *figure)
{
    pthread_mutex_lock(&l->lock);
    ++*figure;
    pthread_mutex_unlock(&l->lock);
}

bool late_delay(struct late *l)
{
    struct timespec until;
    if (l->options.delay_us == 0) return true;
    uint64_t delay_us = late_below(l, l->options.delay_us);
    clock_gettime(CLOCK_REALTIME, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + delay_us * 1000;
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    pthread_mutex_lock(&l->lock);
    while (!l->is_given_up && pthread_cond_timedwait(&l->given_up, &l->lock, &until) != ETIMEDOUT)
        continue;
    bool goes_on = !l->is_given_up;
    pthread_mutex_unlock(&l->lock);
    return goes_on;
}

unsigned late_pick(void *arg, unsigned count)
{
    struct late *l = arg;
    if (late_happens(l, l->options.idle_percent)) return count;
    return (unsigned)late_below(l, count);
}

void late_wrap(struct late *l, struct journal **journal, struct store **store)
{
    l->is_given_up = l->is_lost = false;
    *journal = late_journal_new(l, *journal);
    *store = late_store_new(l, *store);
}

void late_wrap_db(void *arg, struct journal **journal, struct store **store)
{
    late_wrap(arg, journal, store);
}

void late_lose(struct late *l)
{
    l->is_lost = true;
}

void late_figures(struct late *l, struct late_figures *out)
{
    pthread_mutex_lock(&l->lock);
    *out = l->figures;
    pthread_mutex_unlock(&l->lock);
}
