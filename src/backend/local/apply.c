/* apply: from memtables to the store, after the journal; and how writers are slowed when the store
 * cannot follow.
 *
 * Back-pressure: below half of write_buffer_bytes writers are free. Above, they share a budget that
 * is refilled at the rate the store was seen to apply, times a factor that falls from 1.5 to 0.5 as
 * the buffer fills: the level settles where writing and applying are equal, and nobody stands
 * still.
 *
 * Bulk work stops where the budget begins: what it can write by itself fills half of the buffer,
 * and others go on writing freely. While they keep the level above that, it gets one transaction
 * now and then, so that it comes to its end whatever they do.
 */
#include "backend/local/local_int.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define APPLY_RETRY_US_MAX 5000000
#define BUDGET_SPAN_S 0.05    /* at most this much of the rate is saved up */
#define APPLY_RATE_START 20e6 /* bytes a second, until one was measured */
#define APPLY_RATE_MIN 1e6
#define BULK_PAUSE_US 100000 /* between transactions of bulk work while writers are throttled */

uint64_t local_unapplied_bytes(const struct local *l)
{
    return l->unapplied_bytes + memtable_bytes(l->active);
}

void local_freeze(struct local *l)
{
    struct memtable *m = l->active;
    if (memtable_is_empty(m)) return;
    memtable_move(m, MEM_FROZEN);
    l->unapplied_bytes += memtable_bytes(m);
    l->frozen_count++;
    /* The next one is likely to be as large, if this one is full. */
    bool is_full = memtable_bytes(m) >= l->options.memtable_bytes;
    l->active = memtable_new(is_full ? m->order.count : 0);
    l->active->older = m;
}

void local_freeze_if_due(struct local *l)
{
    struct memtable *m = l->active;
    if (memtable_is_empty(m)) return;
    size_t bytes = memtable_bytes(m);
    bool is_big = bytes >= l->options.memtable_bytes;
    /* From half of the write buffer on writers wait for the store: it must have work by then. */
    if (l->frozen_count == 0 && bytes >= l->options.write_buffer_bytes / 2) is_big = true;
    /* Age matters only when the store is idle: many small memtables would slow every read. */
    bool is_old = clock_mono_us() - m->born_us >= l->options.memtable_age_ms * 1000;
    if (is_big || (is_old && l->frozen_count == 0)) local_freeze(l);
}

static struct memtable *oldest_frozen(const struct local *l)
{
    struct memtable *found = NULL;
    for (struct memtable *m = l->active->older; m != NULL; m = m->older) {
        if (m->state == MEM_FROZEN) found = m;
    }
    return found;
}

static void apply_run(struct job *job)
{
    struct apply_job *a = (struct apply_job *)job;
    int64_t begin_us = clock_mono_us();
    a->result = store_apply(a->local->store, a->memtable, &a->progress, &a->error);
    if (a->result == OK) store_checkpoint(a->local->store);
    a->spent_us = clock_mono_us() - begin_us;
}

static void apply_failed(struct local *l, struct apply_job *a)
{
    memtable_move(a->memtable, MEM_FROZEN);
    damage_note(&l->damage, &a->error);
    if (l->apply_failures++ == 0)
        log_warning("store: %s; the data is safe in the journal", a->error.text);
    l->apply_error = a->error;
    int64_t delay_us = 100000LL << (l->apply_failures < 6 ? l->apply_failures : 6);
    if (delay_us > APPLY_RETRY_US_MAX) delay_us = APPLY_RETRY_US_MAX;
    l->apply_retry_us = clock_mono_us() + delay_us;
}

/* What the store put aside is found in memory from now on. */
static void aside_take(struct local *l, const struct store_aside *aside)
{
    for (size_t i = 0; i < aside->count; i++) {
        const struct mem_entry *entry = aside->entries[i];
        const struct mem_version *v = entry->newest;
        struct mutation mu = {.kind = v->is_tombstone ? MUTATION_DELETE : MUTATION_SET,
                              .key = entry->key,
                              .value = slice_of(v->value, v->value_len),
                              .expiry_ms = v->expiry_ms};
        memtable_put(l->aside, entry->hash, &mu, v->version);
    }
    if (aside->count > 0) {
        log_warning("store: %zu entries have no place because tupled.db is damaged; they are kept "
                    "beside it",
                    aside->count);
    }
}

/* What was aside of a database that is flushed. */
static void aside_flush(struct local *l, uint16_t database, uint64_t version)
{
    const uint8_t head[KEY_HEAD_BYTES] = {KEY_HEAD(database, 0)};
    struct omap_iter it = omap_seek(&l->aside->order, slice_of(head, sizeof head));
    for (struct mem_entry *entry = omap_peek(&it); entry != NULL; entry = omap_peek(&it)) {
        if (key_database(entry->key) != database) break;
        struct mutation mu = {.kind = MUTATION_DELETE, .key = entry->key};
        if (entry->newest->version < version) memtable_put(l->aside, entry->hash, &mu, version);
        omap_next(&it);
    }
}

static void cache_flush(struct local *l, uint16_t database, uint64_t version)
{
    (void)version;
    cache_forget_database(&l->cache, database);
}

static void each_flush(struct local *l, const struct memtable *m,
                       void (*flush)(struct local *l, uint16_t database, uint64_t version))
{
    const struct mem_database *d = NULL;
    for (uint32_t i = 0; m->has_flush && (d = sparse_next(&m->databases, &i)) != NULL; i++) {
        if (d->flushed != 0) flush(l, (uint16_t)i, d->flushed);
    }
}

static void apply_done(struct job *job)
{
    struct apply_job *a = (struct apply_job *)job;
    struct local *l = a->local;
    l->is_applying = false;
    if (a->progress.damage.code != OK) damage_note(&l->damage, &a->progress.damage);
    if (a->result == OK) {
        each_flush(l, a->memtable, aside_flush);
    }
    aside_take(l, &a->progress.aside);
    store_applied_set(l->store, &a->progress);
    l->text_is_filling = a->progress.is_filling;
    if (a->memtable->forgotten != NULL) l->has_garbage = true;
    if (a->result != OK) {
        apply_failed(l, a);
        return;
    }
    if (l->apply_failures > 0) log_notice("store: applying again");
    l->apply_failures = 0;
    l->apply_retry_us = 0;
    struct memtable *m = a->memtable;
    memtable_move(m, MEM_APPLIED);
    l->unapplied_bytes -= memtable_bytes(m);
    l->frozen_count--;
    l->applies++;
    l->apply_us += (uint64_t)a->spent_us;
    l->apply_rows += a->progress.rows;
    log_verbose("store: applied %llu rows of %zu MB in %lld ms",
                (unsigned long long)a->progress.rows, memtable_bytes(m) >> 20,
                (long long)a->spent_us / 1000);
    if (memtable_bytes(m) > (1u << 20) && a->spent_us > 0) {
        size_t bytes = memtable_bytes(m);
        double rate = (double)bytes * 1e6 / (double)a->spent_us;
        l->apply_rate = l->apply_rate == 0 ? rate : 0.7 * l->apply_rate + 0.3 * rate;
    }
    each_flush(l, m, cache_flush);
    waiter_wake_all(&l->settle_waiters);
    l->retiring = m;
    l->retire_generation++;
    m->retire_at = omap_seek(&m->order, slice_of(NULL, 0));
    if (l->journal != NULL) {
        journal_release(l->journal, a->progress.applied, steady_now_ms(&l->time));
    }
}

/* Recovery syncs what it is about to replay before the journal is opened. */
static uint64_t local_synced(const struct local *l)
{
    return l->journal == NULL ? UINT64_MAX : journal_synced(l->journal);
}

/* One memtable at a time, the oldest first, and only when its versions cannot be lost any more: the
 * store must never hold what the journal may lose. */
void local_apply_next(struct local *l)
{
    if (l->is_applying || l->retiring != NULL) return;
    local_backup_try(l); /* they want to see the store between two applies */
    if (l->frozen_count > 0) local_searches_try(l);
    struct memtable *m = oldest_frozen(l);
    if (m == NULL || clock_mono_us() < l->apply_retry_us) return;
    if (local_synced(l) < m->version_last) {
        journal_want_sync(l->journal);
        return;
    }
    memtable_move(m, MEM_APPLYING);
    l->is_applying = true;
    l->apply.job.run = apply_run;
    l->apply.job.done = apply_done;
    l->apply.local = l;
    l->apply.memtable = m;
    worker_post(l->store_worker, &l->apply.job);
}

struct free_job {
    struct job job; /* first */
    struct memtable *memtable;
};

static void free_run(struct job *job)
{
    memtable_free(((struct free_job *)job)->memtable);
}

static void free_done(struct job *job)
{
    mem_free(job);
}

void local_unref_memtable(struct local *l, struct memtable *m)
{
    if (!memtable_unref(m)) return;
    struct free_job *j = mem_new(sizeof *j);
    j->job.run = free_run;
    j->job.done = free_done;
    j->memtable = m;
    worker_post(l->query_worker, &j->job);
}

static void unlink_oldest(struct local *l, struct memtable *m)
{
    struct memtable *newer = l->active;
    while (newer->older != m) newer = newer->older;
    INVARIANT(m->older == l->aside);
    newer->older = l->aside;
    local_unref_memtable(l, m);
}

/* An applied memtable leaves the read path only after the cache no longer contradicts what it said.
 * A slice at a time: it may have half a million entries. */
void local_retire_slice(struct local *l, size_t entries_max)
{
    struct memtable *m = l->retiring;
    if (m == NULL) return;
    for (size_t i = 0; i < entries_max; i++) {
        const struct mem_entry *entry = omap_peek(&m->retire_at);
        if (entry == NULL) {
            unlink_oldest(l, m);
            range_cache_forget(&l->range_cache);
            l->retiring = NULL;
            l->retire_generation++;
            return;
        }
        const struct mem_version *v = entry->newest;
        bool is_flushed = v->version < memtable_flushed(m, key_database(entry->key));
        struct entry value = {.exists = !v->is_tombstone,
                              .version = v->version,
                              .expiry_ms = v->expiry_ms,
                              .value = slice_of(v->value, v->value_len)};
        if (!is_flushed) cache_refresh(&l->cache, entry->hash, entry->key, &value);
        omap_next(&m->retire_at);
    }
    l->options.wake(l->options.arg);
}

enum err local_apply_all(struct local *l, struct error *e)
{
    local_freeze(l);
    while (l->frozen_count > 0) {
        l->apply_retry_us = 0;
        if (local_synced(l) < l->version_newest) {
            journal_want_sync(l->journal);
            journal_submit(l->journal);
            worker_drain(l->journal_worker);
            worker_poll(l->journal_worker);
        }
        if (l->journal != NULL && journal_is_failed(l->journal)) {
            return error_set(e, ERR_IO, "the journal failed; what it does not hold is lost");
        }
        local_retire_slice(l, SIZE_MAX);
        local_apply_next(l);
        worker_drain(l->store_worker);
        while (worker_poll(l->store_worker)) continue;
        if (l->apply_failures > 0) {
            *e = l->apply_error;
            return l->apply_error.code;
        }
    }
    local_retire_slice(l, SIZE_MAX);
    return OK;
}

/* ---- admission ---- */

static double buffer_level(const struct local *l)
{
    double half = (double)l->options.write_buffer_bytes / 2;
    uint64_t bytes = local_unapplied_bytes(l);
    return ((double)bytes - half) / half;
}

enum err local_admit(struct backend *b, struct waiter *w, struct error *e)
{
    struct local *l = local_of(b);
    double level = buffer_level(l);
    if (level <= 0) return OK;
    if (level < 1 && l->write_budget > 0) return OK;
    if (level >= 1 && l->apply_failures > 0) {
        bool is_full = l->apply_error.code == ERR_DISK_FULL;
        return error_set(e, is_full ? ERR_DISK_FULL : ERR_IO, "%s%s",
                         is_full ? "" : "store failing: ", l->apply_error.text);
    }
    if (level >= 1)
        log_verbose("store: writers wait, %llu MB are unapplied",
                    (unsigned long long)local_unapplied_bytes(l) >> 20);
    l->throttles++;
    waiter_add(&l->throttled, w);
    return error_set(e, ERR_WAIT, "writes are slowed down to what the disk can follow");
}

static bool bulk_is_due(const struct local *l)
{
    double level = buffer_level(l);
    if (level <= 0) return true;
    return level < 1 && l->write_budget > 0 && clock_mono_us() - l->bulk_us >= BULK_PAUSE_US;
}

enum err local_admit_bulk(struct backend *b, struct waiter *w, struct error *e)
{
    struct local *l = local_of(b);
    if (bulk_is_due(l)) {
        if (buffer_level(l) > 0) l->bulk_us = clock_mono_us();
        return OK;
    }
    if (buffer_level(l) >= 1) return local_admit(b, w, e);
    waiter_add(&l->throttled_bulk, w);
    return error_set(e, ERR_WAIT, "bulk work waits until the disk has followed");
}

void local_budget_tick(struct local *l)
{
    int64_t now_us = clock_mono_us();
    double passed_s = (double)(now_us - l->budget_us) / 1e6;
    double level = buffer_level(l);
    double rate = l->apply_rate > 0 ? l->apply_rate : APPLY_RATE_START;
    l->budget_us = now_us;
    if (level > 0) rate *= 1.5 - level;
    if (rate < APPLY_RATE_MIN) rate = APPLY_RATE_MIN;
    l->write_budget += rate * passed_s;
    /* What was written while writing was free is no debt. */
    if (level <= 0 || l->write_budget > rate * BUDGET_SPAN_S) {
        l->write_budget = rate * BUDGET_SPAN_S;
    }
    bool is_full = level >= 1 && l->apply_failures == 0;
    if (!is_full && l->write_budget > 0) waiter_wake_all(&l->throttled);
    if (bulk_is_due(l)) waiter_wake(&l->throttled_bulk, 1);
}
