/* rest: when the store has had nothing to do for some seconds, the memory of its pages goes back to
 * the system, and its log's room on the disk: what they hold is in its file, and much of it in the
 * entry cache. What it does next takes a few more system calls.
 */
#include "backend/pipeline_int.h"
#include "base/clock.h"
#include "base/mem.h"

static void rest_run(struct job *job)
{
    struct store *s = ((struct rest_job *)job)->pipeline->stored.store;
    s->ops->rest(s);
    mem_trim();
}

static void rest_done(struct job *job)
{
    ((struct rest_job *)job)->pipeline->rest.is_running = false;
}

void pipeline_rest_later(struct pipeline *p)
{
    bool can_rest = p->stored.store->ops->rest != NULL && p->options.store_keep_ms > 0;
    if (can_rest) p->rest.due_us = clock_mono_us() + p->options.store_keep_ms * 1000;
}

void pipeline_rest_try(struct pipeline *p)
{
    struct rest *r = &p->rest;
    if (r->due_us == 0 || r->is_running || p->is_closing || clock_mono_us() < r->due_us) return;
    r->due_us = 0;
    r->is_running = true;
    r->job.job = (struct job){.run = rest_run, .done = rest_done};
    r->job.pipeline = p;
    worker_post(p->workers.store, &r->job.job);
}
