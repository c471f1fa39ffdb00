/* apply: from memtables to the store, after the journal. Writers meanwhile: admission.c. */
#include "backend/pipeline_int.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define APPLY_RETRY_US_MAX 5000000

void pipeline_freeze(struct pipeline *p)
{
    struct memtable *m = p->newest.active;
    if (memtable_is_empty(m)) return;
    INVARIANT(m->older->state == MEM_ASIDE || m->older->version_last < m->version_first); /* 4 */
    memtable_move(m, MEM_FROZEN);
    p->newest.unapplied_bytes += memtable_bytes(m);
    p->newest.frozen_count++;
    /* The next one is likely to be as large, if this one is full. */
    bool is_full = memtable_bytes(m) >= p->options.memtable_bytes;
    p->newest.active = memtable_new(is_full ? m->order.count : 0);
    p->newest.active->older = m;
}

void pipeline_freeze_if_due(struct pipeline *p)
{
    struct memtable *m = p->newest.active;
    if (memtable_is_empty(m)) return;
    size_t bytes = memtable_bytes(m);
    bool is_big = bytes >= p->options.memtable_bytes;
    /* From half of the write buffer on writers wait for the store: it must have work by then. */
    if (p->newest.frozen_count == 0 && bytes >= p->options.write_buffer_bytes / 2) is_big = true;
    /* Age matters only when the store is idle: many small memtables would slow every read. */
    bool is_old = clock_mono_us() - m->born_us >= p->options.memtable_age_ms * 1000;
    if (is_big || (is_old && p->newest.frozen_count == 0)) pipeline_freeze(p);
}

static struct memtable *oldest_frozen(const struct pipeline *p)
{
    struct memtable *found = NULL;
    for (struct memtable *m = p->newest.active->older; m != NULL; m = m->older) {
        if (m->state == MEM_FROZEN) found = m;
    }
    return found;
}

static void apply_run(struct job *job)
{
    struct apply_job *a = (struct apply_job *)job;
    int64_t begin_us = clock_mono_us();
    a->result = store_apply(a->pipeline->stored.store, a->memtable, &a->progress, &a->error);
    a->spent_us = clock_mono_us() - begin_us;
}

static void apply_failed(struct pipeline *p, struct apply_job *a)
{
    memtable_move(a->memtable, MEM_FROZEN);
    damage_note_write(&p->stored.damage, &a->error);
    if (p->apply.failures++ == 0 && !p->stored.damage.is_over)
        log_warning("store: %s; the data is safe in the journal", a->error.text);
    p->apply.error = a->error;
    int64_t delay_us = 100000LL << (p->apply.failures < 6 ? p->apply.failures : 6);
    if (delay_us > APPLY_RETRY_US_MAX) delay_us = APPLY_RETRY_US_MAX;
    p->apply.retry_us = clock_mono_us() + delay_us;
    pipeline_wake(p, &p->apply.waiters); /* they are told */
}

/* What the store put aside is found in memory from now on. */
static void aside_take(struct pipeline *p, const struct store_aside *aside)
{
    for (size_t i = 0; i < aside->count; i++) {
        const struct mem_entry *entry = aside->entries[i];
        const struct mem_version *v = entry->newest;
        struct mutation mu = {.kind = v->is_tombstone ? MUTATION_DELETE : MUTATION_SET,
                              .key = entry->key,
                              .value = slice_of(v->value, v->value_len),
                              .expiry_ms = v->expiry_ms};
        memtable_put(p->newest.aside, entry->hash, &mu, v->version);
    }
    if (aside->count > 0) {
        log_warning("store: %zu entries cannot be stored because tupled.db is damaged; they are "
                    "kept beside it",
                    aside->count);
    }
}

/* What was aside of a database that is flushed. */
static void aside_flush(struct pipeline *p, uint16_t database, uint64_t version)
{
    const uint8_t head[KEY_HEAD_BYTES] = {KEY_HEAD(database, 0)};
    struct omap_iter it = omap_seek(&p->newest.aside->order, slice_of(head, sizeof head));
    for (struct mem_entry *entry = omap_peek(&it); entry != NULL; entry = omap_peek(&it)) {
        if (key_database(entry->key) != database) break;
        struct mutation mu = {.kind = MUTATION_DELETE, .key = entry->key};
        if (entry->newest->version < version)
            memtable_put(p->newest.aside, entry->hash, &mu, version);
        omap_next(&it);
    }
}

static void cache_flush(struct pipeline *p, uint16_t database, uint64_t version)
{
    (void)version;
    cache_forget_database(&p->newest.cache, database);
    kept_flush(&p->newest.kept, database);
}

static void each_flush(struct pipeline *p, const struct memtable *m,
                       void (*flush)(struct pipeline *p, uint16_t database, uint64_t version))
{
    const struct mem_database *d = NULL;
    for (uint32_t i = 0; m->has_flush && (d = sparse_next(&m->databases, &i)) != NULL; i++) {
        if (d->flushed != 0) flush(p, (uint16_t)i, d->flushed);
    }
}

static void apply_done(struct job *job)
{
    struct apply_job *a = (struct apply_job *)job;
    struct pipeline *p = a->pipeline;
    p->apply.is_running = false;
    pipeline_rest_later(p);
    if (a->progress.damage.code != OK) damage_note(&p->stored.damage, &a->progress.damage);
    if (a->result == OK) each_flush(p, a->memtable, aside_flush);
    aside_take(p, &a->progress.aside);
    p->stored.applied = a->progress.applied;
    store_counts_sum(&p->stored.counts, &a->progress.counts, &p->stored.counts_sum);
    store_counts_merge(&p->stored.counts, &a->progress.counts);
    store_progress_fini(&a->progress);
    p->stored.text_is_filling = a->progress.is_filling;
    p->clean.has_garbage = p->clean.has_garbage || a->progress.has_garbage;
    if (a->result != OK) {
        apply_failed(p, a);
        return;
    }
    if (p->apply.failures > 0) log_notice("store: applying again after a failure");
    p->apply.failures = 0;
    p->apply.retry_us = 0;
    struct memtable *m = a->memtable;
    INVARIANT(p->stored.applied == m->version_last && m->version_last <= p->log.journal->synced);
    memtable_move(m, MEM_APPLIED);
    p->newest.unapplied_bytes -= memtable_bytes(m);
    p->newest.frozen_count--;
    p->apply.count++;
    p->apply.spent_us += (uint64_t)a->spent_us;
    p->apply.rows += a->progress.rows;
    log_verbose("store: applied %llu rows of %zu MB in %lld ms",
                (unsigned long long)a->progress.rows, memtable_bytes(m) >> 20,
                (long long)a->spent_us / 1000);
    pipeline_pace_applied(p, m, a->spent_us);
    each_flush(p, m, cache_flush);
    pipeline_wake(p, &p->apply.waiters);
    p->newest.retiring = m;
    p->newest.retire_generation++;
    m->retire_at = omap_seek(&m->order, slice_of(NULL, 0));
    if (p->log.is_started) {
        p->log.journal->ops->release(p->log.journal, p->stored.applied,
                                     steady_now_ms(&p->log.time));
    }
    pipeline_clean_try(p); /* a slice between two applies, however fast they follow */
}

/* One memtable at a time, the oldest first, and only when its versions cannot be lost any more: the
 * store must never hold what the journal may lose. */
void pipeline_apply_next(struct pipeline *p)
{
    if (p->apply.is_running || p->newest.retiring != NULL) return;
    pipeline_backup_try(p); /* they want to see the store between two applies */
    if (p->newest.frozen_count > 0) pipeline_searches_try(p);
    struct memtable *m = oldest_frozen(p);
    if (m == NULL || clock_mono_us() < p->apply.retry_us) return;
    if (p->log.journal->synced < m->version_last) {
        p->log.journal->ops->want_sync(p->log.journal);
        return;
    }
    INVARIANT(p->stored.applied <= m->version_last || p->apply.failures > 0); /* 3 */
    memtable_move(m, MEM_APPLYING);
    p->apply.is_running = true;
    pipeline_pace_begin(p);
    p->apply.job.job.run = apply_run;
    p->apply.job.job.done = apply_done;
    p->apply.job.pipeline = p;
    p->apply.job.memtable = m;
    worker_post(p->workers.store, &p->apply.job.job);
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

void pipeline_unref_memtable(struct pipeline *p, struct memtable *m)
{
    if (!memtable_unref(m)) return;
    struct free_job *j = mem_new(sizeof *j);
    j->job.run = free_run;
    j->job.done = free_done;
    j->memtable = m;
    worker_post(p->workers.query, &j->job);
}

static void unlink_oldest(struct pipeline *p, struct memtable *m)
{
    struct memtable *newer = p->newest.active;
    while (newer->older != m) newer = newer->older;
    INVARIANT(m->older == p->newest.aside);
    newer->older = p->newest.aside;
    pipeline_unref_memtable(p, m);
}

/* An applied memtable leaves the read path only after the cache no longer contradicts what it said.
 * A slice at a time: it may have half a million entries. */
void pipeline_retire_slice(struct pipeline *p, size_t entries_max)
{
    struct memtable *m = p->newest.retiring;
    if (m == NULL) return;
    for (size_t i = 0; i < entries_max; i++) {
        const struct mem_entry *entry = omap_peek(&m->retire_at);
        if (entry == NULL) {
            range_cache_forget(&p->newest.range_cache);
            kept_forget_pages(&p->newest.kept, m);
            for (const struct mem_range *r = m->forgotten; r != NULL; r = r->next) {
                cache_forget_range(&p->newest.cache, r->start, r->end);
            }
            unlink_oldest(p, m);
            p->newest.retiring = NULL;
            p->newest.retire_generation++;
            return;
        }
        const struct mem_version *v = entry->newest;
        bool is_flushed = v->version < memtable_flushed(m, key_database(entry->key));
        struct entry value = {.exists = !v->is_tombstone,
                              .version = v->version,
                              .expiry_ms = v->expiry_ms,
                              .value = slice_of(v->value, v->value_len)};
        if (!is_flushed) cache_refresh(&p->newest.cache, entry->hash, entry->key, &value);
        if (!is_flushed) kept_refresh(&p->newest.kept, entry->hash, entry->key, &value);
        omap_next(&m->retire_at);
    }
    p->options.wake(p->options.arg);
}

enum err pipeline_apply_all(struct pipeline *p, struct error *e)
{
    pipeline_freeze(p);
    while (p->newest.frozen_count > 0) {
        p->apply.retry_us = 0;
        if (p->log.journal->synced < p->log.version_newest)
            p->log.journal->ops->settle(p->log.journal);
        if (p->log.journal->is_failed) {
            return error_set(e, ERR_IO,
                             "the journal failed; data that it does not contain is lost");
        }
        pipeline_retire_slice(p, SIZE_MAX);
        pipeline_apply_next(p);
        worker_drain(p->workers.store);
        while (worker_poll(p->workers.store)) continue;
        if (p->apply.failures > 0) {
            *e = p->apply.error;
            return p->apply.error.code;
        }
    }
    pipeline_retire_slice(p, SIZE_MAX);
    return OK;
}
