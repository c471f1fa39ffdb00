/* admission: how writers are slowed when the store cannot follow.
 *
 * Back-pressure: below half of write_buffer_bytes writers are free. Above, they share a budget that
 * is refilled at the rate at which the store applies, times a factor that falls from 1.5 to 0.5 as
 * the buffer fills: the level settles where writing and applying are equal, and no writer stands
 * still.
 *
 * The rate is that of the apply that runs, by how many of its rows are done (random keys of a large
 * store may take a hundred times as long as the ordered ones of before), and never more than what
 * lets the room that is left last until it is over: its memory is free only then.
 *
 * Bulk work stops where the budget begins: what it can write by itself fills half of the buffer,
 * and others go on writing freely. While they keep the level above that, it gets one transaction
 * now and then, so that it comes to its end whatever they do.
 */
#include "backend/pipeline_int.h"
#include "base/clock.h"
#include "base/log.h"

#define BUDGET_SPAN_S 0.05    /* at most this much of the rate is saved up */
#define APPLY_RATE_START 20e6 /* bytes a second, until one was measured */
#define APPLY_RATE_MIN 1e5
#define BULK_PAUSE_US 100000 /* between transactions of bulk work while writers are throttled */
#define PACED_BYTES_MIN (1u << 20) /* of a memtable: what a smaller one takes says nothing */
#define PACE_US_MIN 50000          /* likewise, of the time since it began */
#define WHOLE_MAX 10

enum err pipeline_store_error(const struct pipeline *p, struct error *e)
{
    bool is_full = p->apply.error.code == ERR_DISK_FULL;
    return error_set(e, is_full ? ERR_DISK_FULL : ERR_IO, "%s%s",
                     is_full ? "" : "store failing: ", p->apply.error.text);
}

static double buffer_level(const struct pipeline *p)
{
    double half = (double)p->options.write_buffer_bytes / 2;
    uint64_t bytes = pipeline_unapplied_bytes(p);
    return ((double)bytes - half) / half;
}

enum err pipeline_may_commit(const struct pipeline *p, struct error *e)
{
    if (p->options.is_following) return error_set(e, ERR_TRYAGAIN, "this node is not the leader");
    if (p->options.frozen_ms == 0) return OK;
    return error_set(e, ERR_FROZEN, "the database is frozen at a moment of the past and read-only");
}

enum err backend_admit(struct backend *b, struct waiter *w, struct error *e)
{
    struct pipeline *p = pipeline_of(b);
    enum err r = pipeline_may_commit(p, e);
    if (r != OK) return r;
    double level = buffer_level(p);
    if (level <= 0) return OK;
    if (level < 1 && p->admission.budget > 0) return OK;
    if (level >= 1 && p->apply.failures > 0) return pipeline_store_error(p, e);
    if (level >= 1)
        log_verbose("store: writers are blocked, %llu MB are unapplied",
                    (unsigned long long)pipeline_unapplied_bytes(p) >> 20);
    p->admission.count++;
    waiter_add(&p->admission.throttled, w);
    return error_set(e, ERR_WAIT, "writes are slowed down to the speed of the disk");
}

static bool bulk_is_due(const struct pipeline *p)
{
    double level = buffer_level(p);
    if (level <= 0) return true;
    return level < 1 && p->admission.budget > 0 &&
           clock_mono_us() - p->admission.bulk_us >= BULK_PAUSE_US;
}

enum err backend_admit_bulk(struct backend *b, struct waiter *w, struct error *e)
{
    struct pipeline *p = pipeline_of(b);
    enum err r = pipeline_may_commit(p, e);
    if (r != OK) return r;
    if (bulk_is_due(p)) {
        if (buffer_level(p) > 0) p->admission.bulk_us = clock_mono_us();
        return OK;
    }
    if (buffer_level(p) >= 1) return backend_admit(b, w, e);
    waiter_add(&p->admission.throttled_bulk, w);
    return error_set(e, ERR_WAIT, "bulk operations wait for the disk");
}

/* ---- the rate at which the store follows ---- */

void pipeline_pace_begin(struct pipeline *p)
{
    __atomic_store_n(&p->stored.store->rows_done, 0, __ATOMIC_RELAXED);
    p->admission.pace.begin_us = clock_mono_us();
    p->admission.pace.rows_us = 0;
}

void pipeline_pace_applied(struct pipeline *p, const struct memtable *m, int64_t spent_us)
{
    struct pace *a = &p->admission.pace;
    size_t bytes = memtable_bytes(m);
    if (bytes <= PACED_BYTES_MIN || spent_us <= 0) return;
    double rate = (double)bytes * 1e6 / (double)spent_us;
    a->rate = a->rate == 0 ? rate : 0.7 * a->rate + 0.3 * rate;
    if (a->rows_us == 0) return;
    double whole = (double)spent_us / (double)a->rows_us;
    if (whole > WHOLE_MAX) whole = WHOLE_MAX;
    a->whole = a->whole == 0 ? whole : 0.7 * a->whole + 0.3 * whole;
}

/* How long the apply that runs will take altogether, by how far it is, in us; 0 = not known. */
static double expect_us(struct pipeline *p, double passed_us)
{
    struct pace *a = &p->admission.pace;
    const struct memtable *m = p->apply.job.memtable;
    size_t rows = m->order.count;
    uint64_t done = __atomic_load_n(&p->stored.store->rows_done, __ATOMIC_RELAXED);
    if (passed_us < PACE_US_MIN || done == 0 || memtable_bytes(m) <= PACED_BYTES_MIN) return 0;
    if (done >= rows && a->rows_us == 0) a->rows_us = (int64_t)passed_us;
    double rows_us = a->rows_us != 0 ? (double)a->rows_us : passed_us * (double)rows / (double)done;
    double all_us = a->whole > 1 ? rows_us * a->whole : rows_us;
    return all_us > passed_us * 1.1 ? all_us : passed_us * 1.1;
}

/* Bytes a second that writers may write now. */
static double write_rate(struct pipeline *p, int64_t now_us, double level)
{
    double rate = p->admission.pace.rate > 0 ? p->admission.pace.rate : APPLY_RATE_START;
    double passed_us = (double)(now_us - p->admission.pace.begin_us);
    double all_us = p->apply.is_running ? expect_us(p, passed_us) : 0;
    size_t bytes = all_us > 0 ? memtable_bytes(p->apply.job.memtable) : 0;
    if (all_us > 0) rate = (double)bytes * 1e6 / all_us;
    if (level <= 0) return rate;
    rate *= 1.5 - level;
    if (all_us > 0) {
        double room = (double)p->options.write_buffer_bytes * (1 - level) / 2;
        double lasting = room * 1e6 / (all_us - passed_us);
        if (rate > lasting) rate = lasting;
    }
    return rate > APPLY_RATE_MIN ? rate : APPLY_RATE_MIN;
}

void pipeline_budget_tick(struct pipeline *p)
{
    int64_t now_us = clock_mono_us();
    double passed_s = (double)(now_us - p->admission.budget_us) / 1e6;
    double level = buffer_level(p);
    double rate = write_rate(p, now_us, level);
    p->admission.budget_us = now_us;
    p->admission.budget += rate * passed_s;
    /* What was written while writing was free is no debt. */
    if (level <= 0 || p->admission.budget > rate * BUDGET_SPAN_S) {
        p->admission.budget = rate * BUDGET_SPAN_S;
    }
    bool is_full = level >= 1 && p->apply.failures == 0;
    if (!is_full && p->admission.budget > 0) waiter_wake_all(&p->admission.throttled);
    if (bulk_is_due(p)) waiter_wake(&p->admission.throttled_bulk, 1);
}
