/* clean: what is forgotten (MUTATION_FORGET) is removed from the store, a slice at a time, between
 * applies, on the store thread: no command waits for it, and nothing of it passes the journal. It
 * goes on after a restart. What a flush leaves behind in the store is forgotten too, if the store
 * says so (store_progress).
 */
#include "backend/pipeline_int.h"
#include "base/clock.h"

#define AGAIN_US 5000000

static void clean_run(struct job *job)
{
    struct clean_job *c = (struct clean_job *)job;
    int64_t begin_us = clock_mono_us();
    c->result = store_clean(c->pipeline->stored.store, &c->progress, &c->has_more, &c->error);
    c->spent_us = clock_mono_us() - begin_us;
}

static void clean_done(struct job *job)
{
    struct clean_job *c = (struct clean_job *)job;
    struct pipeline *p = c->pipeline;
    p->clean.is_running = false;
    pipeline_rest_later(p);
    store_counts_sum(&p->stored.counts, &c->progress.counts, &p->stored.counts_sum);
    store_counts_merge(&p->stored.counts, &c->progress.counts);
    store_progress_fini(&c->progress);
    range_cache_forget(&p->newest.range_cache);
    if (c->result != OK) {
        damage_note_write(&p->stored.damage, &c->error);
        p->clean.again_us = clock_mono_us() + AGAIN_US;
        return;
    }
    p->clean.has_garbage = c->has_more;
    /* The disk belongs to others as long again. Without threads they have had their turn. */
    if (!p->options.is_inline) p->clean.again_us = clock_mono_us() + c->spent_us;
    pipeline_clean_try(p);
}

void pipeline_clean_try(struct pipeline *p)
{
    if (!p->clean.has_garbage || p->clean.is_running || p->is_closing || p->apply.is_running)
        return;
    if (clock_mono_us() < p->clean.again_us) return;
    p->clean.is_running = true;
    p->clean.job.job = (struct job){.run = clean_run, .done = clean_done};
    p->clean.job.pipeline = p;
    worker_post(p->workers.store, &p->clean.job.job);
}
