/* late_journal: see late.h. What the journal behind it has made durable is told some polls later, or
 * when a thread has slept; meanwhile it is busy. */
#include "backend/worker.h"
#include "base/mem.h"
#include "late/late_int.h"

struct late_journal {
    struct journal base; /* first */
    struct late *late;
    struct journal *inner;
    struct worker *sleeper; /* with threads: one that delays what is told; else NULL */
    struct job sleep;
    bool is_holding;
    unsigned polls_left; /* of holding, without threads */
    bool is_lost_told;
};

static struct late_journal *late_of(struct journal *j)
{
    return (struct late_journal *)j;
}

/* What the owner appended, for the journal behind. */
static struct journal *down(struct late_journal *k)
{
    k->inner->version_last = k->base.version_last;
    return k->inner;
}

/* What the owner reads, but for what is held back. */
static void up(struct late_journal *k)
{
    const struct journal *inner = k->inner;
    k->base.filling = inner->filling;
    k->base.room = k->late->is_lost ? 0 : inner->room;
    k->base.versions_low = inner->versions_low;
    k->base.is_always = inner->is_always;
    k->base.is_busy = inner->is_busy || k->is_holding;
    k->base.is_failed = inner->is_failed || k->is_lost_told;
    k->base.is_disk_full = inner->is_disk_full;
}

static void tell_all(struct late_journal *k)
{
    if (k->is_lost_told) return;
    k->base.acknowledged = k->inner->acknowledged;
    k->base.synced = k->inner->synced;
}

static bool is_lost(struct late_journal *k)
{
    struct error e;
    if (!k->late->is_lost) return false;
    if (!k->is_lost_told) {
        k->is_lost_told = true;
        (void)error_set(&e, ERR_IO, "somebody else has the journal, as the test wants it");
        k->base.owner.on_lost(&k->base, &e);
    }
    up(k);
    return true;
}

/* ---- of the journal behind ---- */

static void inner_room(struct journal *inner)
{
    struct late_journal *k = inner->owner.arg;
    up(k);
    k->base.owner.on_room(&k->base);
}

static void inner_fatal(struct journal *inner, const struct error *e)
{
    struct late_journal *k = inner->owner.arg;
    up(k);
    k->base.owner.on_fatal(&k->base, e);
}

/* ---- holding back ---- */

static void sleep_run(struct job *job)
{
    struct late_journal *k = (struct late_journal *)((char *)job -
                                                     offsetof(struct late_journal, sleep));
    (void)late_delay(k->late);
}

static void sleep_done(struct job *job)
{
    struct late_journal *k = (struct late_journal *)((char *)job -
                                                     offsetof(struct late_journal, sleep));
    k->is_holding = false;
    tell_all(k);
}

static void hold(struct late_journal *k)
{
    bool has_news = k->inner->acknowledged > k->base.acknowledged ||
                    k->inner->synced > k->base.synced;
    if (!has_news || k->is_holding) return;
    late_count(k->late, &k->late->figures.held);
    if (k->sleeper != NULL) {
        k->is_holding = true;
        worker_post(k->sleeper, &k->sleep);
        return;
    }
    k->polls_left = (unsigned)late_below(k->late, (uint64_t)k->late->options.hold_polls + 1);
    k->is_holding = k->polls_left > 0;
    if (!k->is_holding) tell_all(k);
}

/* ---- what a journal can do ---- */

struct late_replay {
    struct journal_replay base; /* first */
    struct journal_replay *outer;
    struct late_journal *journal;
};

static enum err replay_take(struct journal_replay *r, struct txn_view *txn, struct error *e)
{
    struct late_replay *x = (struct late_replay *)r;
    x->journal->base.synced = x->journal->inner->synced;
    r->transactions++;
    x->outer->values = r->values; /* as they are now; they stay the owner's */
    return x->outer->take(x->outer, txn, e);
}

static void replay_announce(struct journal_replay *r, const struct txn_view *txn)
{
    struct late_replay *x = (struct late_replay *)r;
    x->outer->announce(x->outer, txn);
}

static enum err late_start(struct journal *j, struct journal_replay *r, struct error *e)
{
    struct late_journal *k = late_of(j);
    struct late_replay x = {.base = {.after = r->after,
                                     .take = replay_take,
                                     .announce = replay_announce,
                                     .values = r->values},
                            .outer = r,
                            .journal = k};
    k->inner->owner = (struct journal_owner){.is_inline = j->owner.is_inline,
                                             .wake = j->owner.wake,
                                             .wake_arg = j->owner.wake_arg,
                                             .on_room = inner_room,
                                             .on_fatal = inner_fatal,
                                             .arg = k};
    enum err result = k->inner->ops->start(k->inner, &x.base, e);
    r->time_ms = x.base.time_ms;
    r->version_next = x.base.version_next;
    r->values = x.base.values;
    if (result != OK) return result;
    if (!j->owner.is_inline) {
        struct worker_options options = {
            .name = "late", .threads = 1, .wake = j->owner.wake, .arg = j->owner.wake_arg};
        k->sleeper = worker_new(&options);
    }
    k->base.version_last = k->inner->version_last;
    tell_all(k);
    up(k);
    return OK;
}

static enum err late_reserve(struct journal *j, size_t bytes, struct error *e)
{
    struct late_journal *k = late_of(j);
    if (is_lost(k)) return error_set(e, ERR_IO, "the journal is lost");
    enum err r = k->inner->ops->reserve(down(k), bytes, e);
    up(k);
    return r;
}

static void late_submit(struct journal *j)
{
    struct late_journal *k = late_of(j);
    if (is_lost(k) || k->is_holding) return;
    k->inner->ops->submit(down(k));
    up(k);
}

static void late_want_sync(struct journal *j)
{
    struct late_journal *k = late_of(j);
    if (is_lost(k)) return;
    k->inner->ops->want_sync(down(k));
    up(k);
}

static void late_settle(struct journal *j)
{
    struct late_journal *k = late_of(j);
    if (is_lost(k)) return;
    k->inner->ops->settle(down(k));
    tell_all(k);
    up(k);
}

static bool late_poll(struct journal *j)
{
    struct late_journal *k = late_of(j);
    uint64_t before = k->base.acknowledged;
    if (is_lost(k)) return false;
    bool has_ended = k->inner->ops->poll(down(k));
    if (k->sleeper != NULL) {
        worker_poll(k->sleeper);
    } else if (k->is_holding && k->polls_left-- == 1) {
        k->is_holding = false;
        tell_all(k);
    }
    hold(k);
    up(k);
    return has_ended || k->base.acknowledged > before;
}

static void late_tick(struct journal *j, int64_t time_ms)
{
    struct late_journal *k = late_of(j);
    if (is_lost(k)) return;
    k->inner->ops->tick(down(k), time_ms);
    up(k);
}

static void late_release(struct journal *j, uint64_t applied, int64_t time_ms)
{
    struct late_journal *k = late_of(j);
    k->inner->ops->release(down(k), applied, time_ms);
    up(k);
}

static enum err late_versions_reserve(struct journal *j, uint64_t next, struct error *e)
{
    struct late_journal *k = late_of(j);
    enum err r = k->inner->ops->versions_reserve(down(k), next, e);
    up(k);
    return r;
}

static uint64_t late_oldest(const struct journal *j)
{
    const struct journal *inner = ((const struct late_journal *)j)->inner;
    return inner->ops->oldest(inner);
}

static bool late_read_begin(struct journal *j, struct journal_read *r)
{
    struct late_journal *k = late_of(j);
    return k->inner->ops->read_begin(down(k), r);
}

static void late_read_run(struct journal *j, struct journal_read *r)
{
    struct late_journal *k = late_of(j);
    (void)late_delay(k->late);
    k->inner->ops->read_run(k->inner, r);
}

static void late_read_end(struct journal *j, struct journal_read *r)
{
    struct late_journal *k = late_of(j);
    k->inner->ops->read_end(down(k), r);
}

static void late_stats(const struct journal *j, struct journal_stats *out)
{
    const struct journal *inner = ((const struct late_journal *)j)->inner;
    inner->ops->stats(inner, out);
}

static enum err late_close(struct journal *j, uint64_t version_next, struct error *e)
{
    struct late_journal *k = late_of(j);
    worker_free(k->sleeper);
    enum err r = k->inner->ops->close(down(k), version_next, e);
    mem_free(k);
    return r;
}

static void late_abandon(struct journal *j)
{
    struct late_journal *k = late_of(j);
    worker_free(k->sleeper);
    k->inner->ops->abandon(k->inner);
    mem_free(k);
}

static const struct journal_ops late_ops = {
    .start = late_start,
    .reserve = late_reserve,
    .submit = late_submit,
    .want_sync = late_want_sync,
    .settle = late_settle,
    .poll = late_poll,
    .tick = late_tick,
    .release = late_release,
    .versions_reserve = late_versions_reserve,
    .oldest = late_oldest,
    .read_begin = late_read_begin,
    .read_run = late_read_run,
    .read_end = late_read_end,
    .stats = late_stats,
    .close = late_close,
    .abandon = late_abandon,
};

struct journal *late_journal_new(struct late *l, struct journal *inner)
{
    struct late_journal *k = mem_new(sizeof *k);
    *k = (struct late_journal){.base = {.ops = &late_ops},
                               .late = l,
                               .inner = inner,
                               .sleep = {.run = sleep_run, .done = sleep_done}};
    k->base.is_always = inner->is_always;
    return &k->base;
}
