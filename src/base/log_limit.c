/* log_limit: tokens, one for each line; what is left out is counted until it is told. */
#include "base/log_limit.h"

#include "base/clock.h"

#define SECOND_US 1000000

void log_limit_init(struct log_limit *l, unsigned per_second)
{
    *l = (struct log_limit){
        .per_second = per_second, .credit_us = SECOND_US, .at_us = clock_mono_us()};
    pthread_mutex_init(&l->lock, NULL);
}

void log_limit_fini(struct log_limit *l)
{
    pthread_mutex_destroy(&l->lock);
}

/* Locked. What was left out is told when it is open again. */
static void reckon(struct log_limit *l)
{
    int64_t now_us = clock_mono_us();
    int64_t passed_us = now_us > l->at_us ? now_us - l->at_us : 0;
    l->at_us = now_us;
    l->credit_us = passed_us < SECOND_US - l->credit_us ? l->credit_us + passed_us : SECOND_US;
    if (l->credit_us == SECOND_US) l->is_closed = false;
}

bool log_limit_take(struct log_limit *l, size_t *left_out)
{
    int64_t cost_us = SECOND_US / l->per_second;
    *left_out = 0;
    pthread_mutex_lock(&l->lock);
    reckon(l);
    if (l->credit_us < cost_us) l->is_closed = true;
    bool may = !l->is_closed;
    if (may) {
        l->credit_us -= cost_us;
        *left_out = l->left_out;
        l->left_out = 0;
    } else {
        l->left_out++;
    }
    pthread_mutex_unlock(&l->lock);
    return may;
}

size_t log_limit_tell(struct log_limit *l)
{
    size_t left_out = 0;
    pthread_mutex_lock(&l->lock);
    reckon(l);
    if (!l->is_closed) {
        left_out = l->left_out;
        l->left_out = 0;
    }
    pthread_mutex_unlock(&l->lock);
    return left_out;
}
