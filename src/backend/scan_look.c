/* scan_look: a filter looks at a row of a scan on the loop thread. What would keep the loop too
 * long is done by a thread: the scan is SCAN_FETCHING then, and its waiter asks again.
 */
#include "backend/scan_int.h"
#include "base/mem.h"

#define LOOP_WORK (1u << 20)       /* some milliseconds */
#define UNDIVIDED_WORK (64u << 20) /* of all looks of a scan that has one turn */

struct look {
    struct job job; /* first */
    struct scan *scan;
    struct buf key;     /* of the row */
    struct slice value; /* borrowed from the scan's memtables or chunk, which stay meanwhile */
    bool is_done, matches;
};

void scan_look_free(struct scan *s)
{
    if (s->look == NULL) return;
    buf_fini(&s->look->key);
    mem_free(s->look);
}

static void look_run(struct job *job)
{
    struct look *k = (struct look *)job;
    const struct row_filter *f = k->scan->filter;
    k->matches = f->matches(f, k->value);
}

static void look_done(struct job *job)
{
    struct look *k = (struct look *)job;
    struct scan *s = k->scan;
    scan_move(s, SCAN_PINNED);
    k->is_done = true;
    pipeline_wake(s->pipeline, &s->waiters);
    if (s->is_closed) scan_free(s);
}

static enum err look_begin(struct scan *s, struct slice key, struct slice value, struct waiter *w,
                           struct error *e)
{
    enum err r = backend_scan_pause(s, e);
    if (r != OK) return r;
    if (s->look == NULL) s->look = mem_new(sizeof *s->look);
    struct look *k = s->look;
    buf_clear(&k->key, SIZE_MAX);
    buf_append(&k->key, key.data, key.len);
    if (k->key.is_failed) return error_set(e, ERR_NOMEM, "out of memory for a scan");
    k->job = (struct job){.run = look_run, .done = look_done};
    k->scan = s;
    k->value = value;
    k->is_done = false;
    scan_move(s, SCAN_FETCHING);
    waiter_add(&s->waiters, w);
    worker_post(s->pipeline->workers.slow, &k->job);
    return error_set(e, ERR_WAIT, "a filter reads a large value");
}

enum err scan_look(struct scan *s, struct slice key, struct slice value, bool *matches,
                   struct waiter *w, struct error *e)
{
    const struct row_filter *f = s->filter;
    uint64_t work = row_filter_work(f, value);
    if (s->look != NULL && s->look->is_done && slice_eq(buf_slice(&s->look->key), key)) {
        *matches = s->look->matches;
        s->look->is_done = false;
        return OK;
    }
    if (s->is_undivided) {
        enum err r = row_filter_check(f, value, ROW_LOOP_WORK_MAX, e);
        if (r != OK) return r;
        if (s->work + work > UNDIVIDED_WORK) {
            return error_set(e, ERR_LIMIT,
                             "where: the filter reads more bytes than a transaction may");
        }
    } else if (work > LOOP_WORK) {
        enum err r = row_filter_check(f, value, ROW_WORK_MAX, e);
        return r == OK ? look_begin(s, key, value, w, e) : r;
    }
    s->work += work;
    *matches = f->matches(f, value);
    return OK;
}

bool scan_worked_enough(const struct scan *s)
{
    return !s->is_undivided && s->work > LOOP_WORK;
}
