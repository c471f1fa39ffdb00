/* late_int: what the late journal and the late store share. */
#ifndef TESTS_LATE_LATE_INT_H
#define TESTS_LATE_LATE_INT_H

#include <pthread.h>

#include "base/random.h"
#include "late/late.h"

struct late {
    struct late_options options;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t given_up;
    struct rng rng;
    bool is_given_up;
    bool is_lost;
    struct late_figures figures;
};

/* Any thread. */
bool late_happens(struct late *l, unsigned percent);
uint64_t late_below(struct late *l, uint64_t limit);
/* A thread's call takes longer; false when it is given up meanwhile. */
bool late_delay(struct late *l);
void late_count(struct late *l, uint64_t *figure);

struct journal *late_journal_new(struct late *l, struct journal *inner);
struct store *late_store_new(struct late *l, struct store *inner);

#endif
