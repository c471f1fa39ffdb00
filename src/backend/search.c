/* search: text searches: wait until the store has everything that concerns them, then run on a
 * query thread; and the filling of new text indexes, a slice at a time on the store thread.
 *
 *   asked --an unapplied memtable has entries below the prefix--> WAITING --applied--> RUNNING
 *     `----------------------- none has -------------------------------------------> RUNNING
 *   RUNNING --> done
 *
 * What is not applied and does not concern a search need not be: so a search waits only if the data
 * it is about was written just now. It begins between two applies of such data, from a pin: it
 * never sees a part of a transaction. Searches that wait share one freeze and one apply.
 */
#include "backend/pipeline_int.h"
#include "backend/text.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

struct search_job {
    struct job job; /* first */
    struct search_job *next;
    struct pipeline *pipeline;
    struct text_request *request;
    struct pooled_reader *reader;
    uint64_t until; /* version that must be applied */
    int64_t deadline_us;
};

struct fill_job {
    struct job job; /* first */
    struct pipeline *pipeline;
    bool is_filling;
    enum err result;
    struct error error;
};

struct searches {
    struct search_job *waiting; /* oldest first */
    unsigned running;
    struct fill_job fill;
    bool is_filling; /* fill is with the store thread */
    int64_t fill_retry_us;
};

#define FILL_RETRY_US 1000000

/* ---- running ---- */

static void search_run(struct job *job)
{
    struct search_job *k = (struct search_job *)job;
    struct store_reader *reader = k->reader->reader;
    reader->ops->search(reader, k->request, k->deadline_us);
}

static void search_end(struct search_job *k)
{
    struct text_request *q = k->request;
    if (q->filter != NULL) q->filter->unref(q->filter);
    mem_free(k);
    q->done(q);
}

static void search_done(struct job *job)
{
    struct search_job *k = (struct search_job *)job;
    struct pipeline *p = k->pipeline;
    reader_give(p, k->reader);
    p->searches->running--;
    search_end(k);
    pipeline_searches_try(p);
}

static void search_fail(struct job *job)
{
    search_end((struct search_job *)job);
}

static void search_nothing(struct job *job)
{
    (void)job;
}

/* An error too is reported later. */
static void search_begin(struct search_job *k)
{
    struct pipeline *p = k->pipeline;
    struct text_request *q = k->request;
    k->job = (struct job){.run = search_run, .done = search_done};
    k->deadline_us = clock_mono_us() + p->options.scan_ms_max * 1000;
    q->result = reader_take(p, &k->reader, &q->error);
    if (q->result == OK) {
        q->result = store_pin(k->reader->reader, &q->error);
        if (q->result != OK) reader_give(p, k->reader);
    }
    if (q->result == OK) {
        p->searches->running++;
    } else {
        k->job = (struct job){.run = search_nothing, .done = search_fail};
    }
    worker_post(p->workers.slow, &k->job);
}

/* ---- the barrier ---- */

/* Has the memtable anything in [start, end), or a definition of a text index? */
static bool concerns(const struct memtable *m, const struct text_request *q)
{
    uint8_t text[] = {KEY_HEAD(q->database, BACKEND_SPACE_TEXT)};
    if (memtable_flushed(m, q->database) != 0) return true;
    struct omap_iter it = omap_seek(&m->order, q->start);
    const struct mem_entry *entry = omap_peek(&it);
    if (entry != NULL && slice_cmp(entry->key, q->end) < 0) return true;
    it = omap_seek(&m->order, slice_of(text, sizeof text));
    entry = omap_peek(&it);
    return entry != NULL && slice_has_prefix(entry->key, slice_of(text, sizeof text));
}

/* The newest version that must be applied for the request; 0 = none. */
static uint64_t barrier(const struct pipeline *p, const struct text_request *q)
{
    for (const struct memtable *m = p->newest.active; m != NULL; m = m->older) {
        if (m->state == MEM_APPLIED || m->state == MEM_ASIDE) break;
        if (!memtable_is_empty(m) && concerns(m, q)) return m->version_last;
    }
    return 0;
}

void backend_search(struct backend *b, struct text_request *q)
{
    struct pipeline *p = pipeline_of(b);
    struct search_job *k = mem_new(sizeof *k);
    struct search_job **end = &p->searches->waiting;
    k->pipeline = p;
    k->request = q;
    k->until = barrier(p, q);
    q->result = OK;
    q->count = 0;
    if (q->filter != NULL) q->filter->ref(q->filter);
    while (*end != NULL) end = &(*end)->next;
    *end = k;
    pipeline_searches_try(p);
}

/* More wait. One long thread is left to filtered scans. */
static unsigned running_max(const struct pipeline *p)
{
    return p->options.query_threads > 1 ? p->options.query_threads - 1 : 1;
}

static bool search_is_due(const struct pipeline *p, struct search_job *k)
{
    struct text_request *q = k->request;
    if (p->newest.aside->order.count > 0 && concerns(p->newest.aside, q)) {
        /* The index does not know them: an answer would lack them without a sign of it. */
        q->result = error_set(&q->error, ERR_CORRUPT,
                              "entries of this index cannot be stored because tupled.db is "
                              "damaged");
        return true;
    }
    if (p->stored.applied >= k->until) {
        if (p->searches->running >= running_max(p)) return false;
        /* While it waited for others, an apply of newer data may have begun: not into the middle.
         */
        return !p->apply.is_running || !concerns(p->apply.job.memtable, q);
    }
    /* Memtables are applied in order: what this one waits for is after a failing one. */
    if (p->apply.failures == 0) return false;
    q->result = error_set(&q->error, p->apply.error.code, "store failing: %s", p->apply.error.text);
    return true;
}

void pipeline_searches_try(struct pipeline *p)
{
    struct search_job **at = &p->searches->waiting;
    bool wants_apply = false;
    while (*at != NULL) {
        struct search_job *k = *at;
        if (!search_is_due(p, k)) {
            wants_apply = wants_apply || p->stored.applied < k->until;
            at = &k->next;
            continue;
        }
        *at = k->next;
        if (k->request->result == OK) {
            search_begin(k);
        } else {
            k->job = (struct job){.run = search_nothing, .done = search_fail};
            worker_post(p->workers.slow, &k->job);
        }
    }
    /* What has piled up while one memtable was applied becomes the next. */
    if (wants_apply && p->newest.frozen_count == 0) {
        pipeline_freeze(p);
        pipeline_apply_next(p);
    }
}

void pipeline_searches_stop(struct pipeline *p)
{
    while (p->searches->waiting != NULL) {
        struct search_job *k = p->searches->waiting;
        struct text_request *q = k->request;
        p->searches->waiting = k->next;
        q->result = error_set(&q->error, ERR_IO, "the server is stopping");
        search_end(k);
    }
}

/* ---- filling ---- */

static void fill_run(struct job *job)
{
    struct fill_job *f = (struct fill_job *)job;
    f->result = store_fill(f->pipeline->stored.store, &f->is_filling, &f->error);
}

static void fill_done(struct job *job)
{
    struct fill_job *f = (struct fill_job *)job;
    struct pipeline *p = f->pipeline;
    p->searches->is_filling = false;
    pipeline_rest_later(p);
    if (f->result != OK) {
        if (!p->stored.damage.is_over)
            log_warning("store: filling a text index: %s", f->error.text);
        p->searches->fill_retry_us = clock_mono_us() + FILL_RETRY_US;
        return;
    }
    p->stored.text_is_filling = f->is_filling;
    pipeline_fill_try(p);
}

void pipeline_fill_try(struct pipeline *p)
{
    struct searches *s = p->searches;
    if (!p->stored.text_is_filling || s->is_filling || p->is_closing) return;
    if (clock_mono_us() < s->fill_retry_us) return;
    s->is_filling = true;
    s->fill.job = (struct job){.run = fill_run, .done = fill_done};
    s->fill.pipeline = p;
    worker_post(p->workers.store, &s->fill.job);
}

struct searches *searches_new(void)
{
    return mem_new(sizeof(struct searches));
}

void searches_free(struct searches *s)
{
    if (s == NULL) return;
    INVARIANT(s->waiting == NULL);
    mem_free(s);
}
