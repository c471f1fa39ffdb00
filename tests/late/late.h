/* late: a journal and a store that stand between a pipeline and real ones and are worse in every way
 * that journal.h and store.h allow: reads that may not wait mostly would; reads overtake each other
 * and fail now and then; applies fail and are repeated; what is durable is told later, in order; the
 * journal is lost. By a seed, so that without threads a run can be repeated.
 *
 * Without threads nothing is delayed by sleeping: `late_pick` lets polls pass (pipeline_options.pick),
 * and the journal counts polls. With threads calls take up to delay_us longer, unless the store is
 * given up.
 */
#ifndef TESTS_LATE_LATE_H
#define TESTS_LATE_LATE_H

#include "backend/journal.h"
#include "backend/store.h"

struct late_options {
    uint64_t seed;
    unsigned wait_percent;       /* reads with may_wait false that would have to wait */
    unsigned read_fail_percent;  /* reads with may_wait true that fail with ERR_IO */
    unsigned apply_fail_percent; /* applies, likewise */
    unsigned idle_percent;       /* polls in which a worker does nothing; without threads */
    unsigned hold_polls;         /* what is durable is told up to so many polls later */
    unsigned delay_us;           /* calls of threads take up to so much longer */
};

struct late;

struct late *late_new(const struct late_options *options);
/* After the backend was closed or abandoned. */
void late_free(struct late *l);
/* Both are wrapped; they may be closed and others wrapped later. */
void late_wrap(struct late *l, struct journal **journal, struct store **store);
/* As late_wrap, for db_options.wrap: `arg` is the struct late. */
void late_wrap_db(void *arg, struct journal **journal, struct store **store);
/* For pipeline_options.pick: `arg` is the struct late. */
unsigned late_pick(void *arg, unsigned count);
/* Another process has the journal from now on: on_lost comes with a later call, and what was not
 * acknowledged is not written. Until the next late_wrap. */
void late_lose(struct late *l);

struct late_figures {
    uint64_t waits, read_failures, apply_failures, held, reads;
};
void late_figures(struct late *l, struct late_figures *out);

#endif
