/* sweep: what the entry cache has and is never asked for again goes, some of it in each turn; and
 * when that was much, the memory goes back to the system. The C library gives back only what lies
 * at the end of its heap: pages between other blocks are given back on a thread, some milliseconds
 * for each hundred megabytes, while the loop may have to wait for the heap's lock. So it is done
 * of little at a time.
 */
#include "backend/pipeline_int.h"
#include "base/mem.h"

#define TRIM_BYTES (64u << 20)      /* swept out since the last time: while a sweep goes on ... */
#define TRIM_LAST_BYTES (16u << 20) /* ... and when it is over */

static void trim_run(struct job *job)
{
    (void)job;
    mem_trim();
}

static void trim_done(struct job *job)
{
    ((struct trim_job *)job)->is_running = false;
}

void pipeline_sweep(struct pipeline *p)
{
    struct cache *c = &p->newest.cache;
    bool has_more = cache_sweep(c);
    if (has_more) p->options.wake(p->options.arg);
    if (!p->options.trims || p->trim.is_running || p->is_closing) return;
    if (c->sweep.bytes < (has_more ? TRIM_BYTES : TRIM_LAST_BYTES)) return;
    c->sweep.bytes = 0;
    p->trim.is_running = true;
    p->trim.job = (struct job){.run = trim_run, .done = trim_done};
    worker_post(p->workers.query, &p->trim.job);
}
