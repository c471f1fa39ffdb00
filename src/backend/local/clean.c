/* clean: what is forgotten (MUTATION_FORGET) is removed from the store, a slice at a time, between
 * applies, on the store thread: nobody waits for it, and nothing of it passes the journal. It goes
 * on after a restart.
 */
#include "backend/local/local_int.h"
#include "base/clock.h"

#define AGAIN_US 5000000

static void clean_run(struct job *job)
{
    struct clean_job *c = (struct clean_job *)job;
    c->result = store_clean(c->local->store, &c->progress, &c->has_more, &c->error);
    if (c->result == OK) store_checkpoint(c->local->store);
}

static void clean_done(struct job *job)
{
    struct clean_job *c = (struct clean_job *)job;
    struct local *l = c->local;
    l->is_cleaning = false;
    store_applied_set(l->store, &c->progress);
    range_cache_forget(&l->range_cache);
    if (c->result != OK) {
        damage_note(&l->damage, &c->error);
        l->clean_again_us = clock_mono_us() + AGAIN_US;
        return;
    }
    l->has_garbage = c->has_more;
    local_clean_try(l);
}

void local_clean_try(struct local *l)
{
    if (!l->has_garbage || l->is_cleaning || l->is_closing || l->is_applying) return;
    if (clock_mono_us() < l->clean_again_us) return;
    l->is_cleaning = true;
    l->clean.job = (struct job){.run = clean_run, .done = clean_done};
    l->clean.local = l;
    worker_post(l->store_worker, &l->clean.job);
}
