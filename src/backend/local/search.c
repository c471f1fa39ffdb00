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
#include "backend/local/local_int.h"
#include "backend/text.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

struct search_job {
    struct job job; /* first */
    struct search_job *next;
    struct local *local;
    struct text_request *request;
    struct pooled_reader *reader;
    uint64_t until; /* version that must be applied */
    int64_t deadline_us;
};

struct fill_job {
    struct job job; /* first */
    struct local *local;
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
    store_search(k->reader->reader, k->request, k->deadline_us);
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
    struct local *l = k->local;
    reader_give(l, k->reader);
    l->searches->running--;
    search_end(k);
    local_searches_try(l);
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
    struct local *l = k->local;
    struct text_request *q = k->request;
    k->job = (struct job){.run = search_run, .done = search_done};
    k->deadline_us = clock_mono_us() + l->options.scan_ms_max * 1000;
    q->result = reader_take(l, &k->reader, &q->error);
    if (q->result == OK) {
        q->result = store_pin(k->reader->reader, &q->error);
        if (q->result != OK) reader_give(l, k->reader);
    }
    if (q->result == OK) {
        l->searches->running++;
    } else {
        k->job = (struct job){.run = search_nothing, .done = search_fail};
    }
    worker_post(l->long_worker, &k->job);
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
static uint64_t barrier(const struct local *l, const struct text_request *q)
{
    for (const struct memtable *m = l->active; m != NULL; m = m->older) {
        if (m->state == MEM_APPLIED || m->state == MEM_ASIDE) break;
        if (!memtable_is_empty(m) && concerns(m, q)) return m->version_last;
    }
    return 0;
}

void local_search(struct backend *b, struct text_request *q)
{
    struct local *l = local_of(b);
    struct search_job *k = mem_new(sizeof *k);
    struct search_job **end = &l->searches->waiting;
    k->local = l;
    k->request = q;
    k->until = barrier(l, q);
    q->result = OK;
    q->count = 0;
    if (q->filter != NULL) q->filter->ref(q->filter);
    while (*end != NULL) end = &(*end)->next;
    *end = k;
    local_searches_try(l);
}

/* More wait. One long thread is left to filtered scans. */
static unsigned running_max(const struct local *l)
{
    return l->options.query_threads > 1 ? l->options.query_threads - 1 : 1;
}

static bool search_is_due(const struct local *l, struct search_job *k)
{
    struct text_request *q = k->request;
    if (l->aside->order.count > 0 && concerns(l->aside, q)) {
        /* The index does not know them: an answer would lack them, and nobody would see it. */
        q->result = error_set(&q->error, ERR_CORRUPT,
                              "entries of this index have no place because tupled.db is damaged");
        return true;
    }
    if (store_applied(l->store) >= k->until) {
        if (l->searches->running >= running_max(l)) return false;
        /* While it waited for others, an apply of newer data may have begun: not into the middle.
         */
        return !l->is_applying || !concerns(l->apply.memtable, q);
    }
    /* Memtables are applied in order: what this one waits for is after a failing one. */
    if (l->apply_failures == 0) return false;
    q->result = error_set(&q->error, l->apply_error.code, "store failing: %s", l->apply_error.text);
    return true;
}

void local_searches_try(struct local *l)
{
    struct search_job **at = &l->searches->waiting;
    bool wants_apply = false;
    while (*at != NULL) {
        struct search_job *k = *at;
        if (!search_is_due(l, k)) {
            wants_apply = wants_apply || store_applied(l->store) < k->until;
            at = &k->next;
            continue;
        }
        *at = k->next;
        if (k->request->result == OK) {
            search_begin(k);
        } else {
            k->job = (struct job){.run = search_nothing, .done = search_fail};
            worker_post(l->long_worker, &k->job);
        }
    }
    /* What has piled up while one memtable was applied becomes the next. */
    if (wants_apply && l->frozen_count == 0) {
        local_freeze(l);
        local_apply_next(l);
    }
}

void local_searches_stop(struct local *l)
{
    while (l->searches->waiting != NULL) {
        struct search_job *k = l->searches->waiting;
        struct text_request *q = k->request;
        l->searches->waiting = k->next;
        q->result = error_set(&q->error, ERR_IO, "the server is stopping");
        search_end(k);
    }
}

/* ---- filling ---- */

static void fill_run(struct job *job)
{
    struct fill_job *f = (struct fill_job *)job;
    f->result = store_fill(f->local->store, &f->is_filling, &f->error);
    if (f->result == OK) store_checkpoint(f->local->store);
}

static void fill_done(struct job *job)
{
    struct fill_job *f = (struct fill_job *)job;
    struct local *l = f->local;
    l->searches->is_filling = false;
    if (f->result != OK) {
        log_warning("store: filling a text index: %s", f->error.text);
        l->searches->fill_retry_us = clock_mono_us() + FILL_RETRY_US;
        return;
    }
    l->text_is_filling = f->is_filling;
    local_fill_try(l);
}

void local_fill_try(struct local *l)
{
    struct searches *s = l->searches;
    if (!l->text_is_filling || s->is_filling || l->is_closing) return;
    if (clock_mono_us() < s->fill_retry_us) return;
    s->is_filling = true;
    s->fill.job = (struct job){.run = fill_run, .done = fill_done};
    s->fill.local = l;
    worker_post(l->store_worker, &s->fill.job);
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
