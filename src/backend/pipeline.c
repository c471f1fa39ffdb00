/* pipeline: commits, the order of things in a turn, figures, opening and closing. The order
 * matters: in backend_poll the next batch is handed over before on_durable is called for the last
 * one; a close ends requests, lets the workers finish, applies what is left, then closes the store
 * and, last, the journal. */
#include "backend/pipeline.h"

#include "backend/pipeline_int.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define RETIRE_ENTRIES 128 /* moved to the cache in one turn */
#define TIME_AHEAD_MS_TOLD 1000
#define STORE_NICE 10
#define FAR_ENTRIES 20000   /* of some 300 bytes: more than most processors have for one core */
#define LONG_NICE 5         /* large requests wait a little for small ones */
#define RANGE_CACHE_SHARE 8 /* of cache_bytes, one part in this many is for ranges */

void pipeline_check(const struct pipeline *p)
{
    const struct log *log = &p->log;
    const struct journal *j = log->journal;
    const struct newest *n = &p->newest;
    INVARIANT(log->version_told <= log->version_newest);                          /* 1 */
    INVARIANT(log->version_newest < log->version_next);                           /* 1 */
    INVARIANT(j->acknowledged <= j->version_last);                                /* 2 */
    INVARIANT(j->synced <= j->version_last);                                      /* 2 */
    INVARIANT(j->version_last <= log->version_newest);                            /* 2 */
    INVARIANT(p->stored.applied <= log->version_newest || p->apply.failures > 0); /* 3 */
    INVARIANT(n->active->state == MEM_ACTIVE);                                    /* 4 */
    INVARIANT(n->aside->state == MEM_ASIDE);                                      /* 4 */
    INVARIANT((n->frozen_count > 0) == (n->unapplied_bytes > 0));                 /* 4 */
    INVARIANT(!p->apply.is_running || n->retiring == NULL);                       /* 5 */
    INVARIANT(!p->apply.is_running || p->apply.job.memtable->state == MEM_APPLYING);
    INVARIANT(n->retiring == NULL || n->retiring->state == MEM_APPLIED);
}

/* ---- committing ---- */

/* Long values of which memory knows what was there before are patches in the journal, where they
 * have much in common. */
static void find_patches(struct pipeline *p, uint64_t version, const struct batch *batch,
                         struct txn_patches *out)
{
    struct journal *j = p->log.journal;
    out->count = 0;
    if (j->patches == NULL) return;
    for (size_t i = 0; i < batch->count && out->count < TXN_PATCHES_MAX; i++) {
        const struct mutation *mu = &batch->items[i];
        struct entry base;
        if (mu->kind != MUTATION_SET || mu->value.len < PATCH_VALUE_MIN) continue;
        bool is_known = pipeline_peek(p, hash_bytes(mu->key), mu->key, &base);
        struct txn_patch *to = &out->of[out->count];
        to->item = i;
        out->count += journal_patch(j, version, mu, is_known ? &base : NULL, &to->patch);
    }
}

enum err backend_commit(struct backend *b, const struct batch *batch, uint64_t *version,
                        struct waiter *w, struct error *e)
{
    struct pipeline *p = pipeline_of(b);
    struct journal *j = p->log.journal;
    struct txn_patches patches;
    size_t bytes = txn_bytes(batch);
    enum err r = pipeline_may_commit(p, e);
    if (r == OK) r = journal_room(j, bytes, e);
    if (r == OK && p->log.version_next >= j->versions_low) {
        r = j->ops->versions_reserve(j, p->log.version_next, e);
    }
    if (r == ERR_WAIT) waiter_add(&p->admission.room_waiters, w);
    if (r != OK) return r;
    INVARIANT(p->log.version_newest < p->log.version_next); /* 1 */
    *version = p->log.version_newest = p->log.version_next++;
    steady_at_least(&p->log.time, batch->time_ms);
    find_patches(p, *version, batch, &patches);
    journal_append(j, *version, batch, &patches);
    pipeline_remember(p, batch, *version);
    INVARIANT(j->version_last == *version && p->newest.active->version_last <= *version); /* 2, 4 */
    p->admission.budget -= (double)bytes + 128;
    if (w != NULL && w->keep_id != 0) kept_end_used(&p->newest.kept, w);
    return OK;
}

/* ---- turns and threads ---- */

int64_t backend_time_ms(struct backend *b)
{
    struct pipeline *p = pipeline_of(b);
    return p->options.frozen_ms != 0 ? p->options.frozen_ms : steady_now_ms(&p->log.time);
}

/* Tells what has become durable. */
static void tell_durable(struct pipeline *p)
{
    struct backend *b = &p->base;
    uint64_t durable = p->log.journal->acknowledged;
    if (durable <= p->log.version_told) return;
    p->log.version_told = durable;
    pipeline_check(p);
    if (b->on_durable != NULL) b->on_durable(b->on_durable_arg, durable);
    pipeline_changes_try(p);
}

void backend_poll(struct backend *b)
{
    struct pipeline *p = pipeline_of(b);
    if (p->log.journal->ops->poll(p->log.journal)) {
        journal_submit(p->log.journal);
        tell_durable(p);
    }
    worker_poll(p->workers.query);
    worker_poll(p->workers.slow);
    worker_poll(p->workers.store);
    pipeline_backup_try(p);
    pipeline_searches_try(p);
    pipeline_wake(p, &p->yielded);
}

void backend_run_over(struct backend *b, struct waiter *w)
{
    kept_end(&pipeline_of(b)->newest.kept, w);
}

void backend_turn_end(struct backend *b)
{
    struct pipeline *p = pipeline_of(b);
    pipeline_check(p);
    pipeline_load_post(p);
    p->log.journal->own_txns = b->own_sync_txns;
    journal_submit(p->log.journal);
    p->log.journal->own_txns = 0;
    if (memtable_bytes(p->newest.active) >= p->options.memtable_bytes) pipeline_freeze(p);
    pipeline_retire_slice(p, RETIRE_ENTRIES);
    pipeline_apply_next(p);
    pipeline_sweep(p);
    cache_turn_end(&p->newest.cache);
    kept_turn_end(&p->newest.kept);
    p->base.is_far = p->stored.store->is_remote ||
                     p->newest.cache.points.count + p->newest.active->points.count >= FAR_ENTRIES;
    tell_durable(p);
}

/* Logs a system clock that was set back, or was ahead when the journal was written. */
static void time_watch(struct pipeline *p)
{
    int64_t ahead_ms = steady_ahead_ms(&p->log.time);
    if (ahead_ms >= TIME_AHEAD_MS_TOLD && p->log.time_ahead_told_ms == 0) {
        log_warning(
            "the system clock is %lld.%03lld s behind the newest commit; time continues from that "
            "commit, and expiries at a time of day (EXAT, PXAT) come early. Is the clock correct?",
            (long long)ahead_ms / 1000, (long long)ahead_ms % 1000);
        p->log.time_ahead_told_ms = ahead_ms;
    } else if (ahead_ms == 0 && p->log.time_ahead_told_ms != 0) {
        log_notice("the system clock has caught up with the newest commit");
        p->log.time_ahead_told_ms = 0;
    }
}

/* What is only kept for the store may go. */
static void release(struct pipeline *p)
{
    p->log.journal->ops->release(p->log.journal, p->stored.applied, steady_now_ms(&p->log.time));
}

void backend_tick(struct backend *b)
{
    struct pipeline *p = pipeline_of(b);
    pipeline_freeze_if_due(p);
    pipeline_apply_next(p);
    pipeline_searches_try(p);
    pipeline_fill_try(p);
    pipeline_clean_try(p);
    pipeline_rest_try(p);
    pipeline_budget_tick(p);
    pipeline_absent_try(p);
    p->log.journal->ops->tick(p->log.journal, backend_time_ms(b));
    time_watch(p);
    kept_sweep(&p->newest.kept, clock_mono_us());
    if (p->log.journal->is_disk_full) release(p);
}

bool pipeline_is_at_rest(const struct backend *b)
{
    const struct pipeline *p = (const struct pipeline *)b;
    bool is_working = p->apply.is_running || p->clean.is_running || p->clean.has_garbage ||
                      p->newest.frozen_count > 0 || p->stored.text_is_filling ||
                      p->newest.retiring != NULL || p->backup != NULL || p->scans_open > 0;
    bool is_awaited = p->admission.throttled.head.next != &p->admission.throttled.head ||
                      p->admission.throttled_bulk.head.next != &p->admission.throttled_bulk.head ||
                      p->admission.room_waiters.head.next != &p->admission.room_waiters.head;
    return !is_working && !is_awaited && p->log.journal->synced >= p->log.journal->version_last;
}

/* ---- figures ---- */

void backend_count(struct backend *b, uint16_t database, struct backend_count *out)
{
    const struct pipeline *p = pipeline_of(b);
    struct mem_database sum = {0};
    struct store_counts stored = store_counts_get(&p->stored.counts, database);
    for (const struct memtable *m = p->newest.active; m != NULL && sum.flushed == 0; m = m->older) {
        if (m->state == MEM_APPLIED || m->state == MEM_ASIDE) break;
        const struct mem_database *d = sparse_get(&m->databases, database);
        if (d == NULL) continue;
        sum.entries += d->entries;
        sum.expiring += d->expiring;
        sum.bytes += d->bytes;
        sum.flushed = d->flushed;
    }
    if (sum.flushed == 0) {
        sum.entries += (int64_t)stored.entries;
        sum.expiring += (int64_t)stored.expiring;
        sum.bytes += (int64_t)stored.bytes;
    }
    *out = (struct backend_count){.entries = sum.entries > 0 ? (uint64_t)sum.entries : 0,
                                  .expiring = sum.expiring > 0 ? (uint64_t)sum.expiring : 0,
                                  .bytes = sum.bytes > 0 ? (uint64_t)sum.bytes : 0,
                                  .stored_bytes = stored.bytes,
                                  .stored_entries = stored.entries,
                                  .stored_expiring = stored.expiring};
}

enum err backend_settle(struct backend *b, uint64_t version, struct waiter *w, struct error *e)
{
    struct pipeline *p = pipeline_of(b);
    if (p->stored.applied >= version) return OK;
    if (p->apply.failures > 0) return pipeline_store_error(p, e);
    const struct memtable *m = p->newest.active;
    if (m->version_first != 0 && m->version_first <= version) pipeline_freeze(p);
    waiter_add(&p->apply.waiters, w);
    p->options.wake(p->options.arg);
    return error_set(e, ERR_WAIT, "what was written is being counted");
}

bool backend_database_next(struct backend *b, uint32_t from, uint16_t *out)
{
    const struct pipeline *p = pipeline_of(b);
    uint32_t first = from;
    bool is_found = sparse_next(&p->stored.counts, &first) != NULL;
    for (const struct memtable *m = p->newest.active; m != NULL; m = m->older) {
        uint32_t at = from;
        if (sparse_next(&m->databases, &at) == NULL) continue;
        if (!is_found || at < first) first = at;
        is_found = true;
    }
    *out = (uint16_t)first;
    return is_found;
}

uint64_t backend_version_durable(struct backend *b)
{
    return pipeline_of(b)->log.version_told;
}

uint64_t backend_version_newest(struct backend *b)
{
    return pipeline_of(b)->log.version_newest;
}

uint64_t backend_version_next(struct backend *b)
{
    return pipeline_of(b)->log.version_next;
}

/* Entries that the store does not have yet; and is there something to be removed? */
static uint64_t unapplied_entries(const struct pipeline *p, bool *has_garbage)
{
    uint64_t entries = 0;
    *has_garbage = p->clean.has_garbage;
    for (const struct memtable *m = p->newest.active; m != NULL; m = m->older) {
        if (m->state < MEM_APPLIED) entries += m->order.count;
        *has_garbage = *has_garbage || m->forgotten != NULL || m->has_flush;
    }
    return entries;
}

static void add_journal(struct journal *journal, struct backend_stats *out)
{
    struct journal_stats j;
    journal->ops->stats(journal, &j);
    out->journal_bytes = j.bytes;
    out->journal_segments = j.segments;
    out->journal_syncs = j.syncs;
    out->journal_sync_us = j.sync_us;
    out->journal_batches = j.batches;
    out->journal_ahead = j.ahead;
    out->journal_own_syncs = j.own_syncs;
    out->journal_direct_syncs = j.direct_syncs;
    out->journal_written_bytes = j.written_bytes;
    out->journal_unsynced_bytes = j.unsynced_bytes;
    out->journal_sync_times = j.sync_times;
    out->is_disk_full = journal->is_disk_full;
}

void backend_stats(struct backend *b, struct backend_stats *out)
{
    struct pipeline *p = pipeline_of(b);
    bool has_garbage;
    uint64_t entries = unapplied_entries(p, &has_garbage);
    *out = (struct backend_stats){
        .version = p->log.version_newest,
        .durable = p->log.version_told,
        .applied = p->stored.applied,
        .memtable_bytes = pipeline_unapplied_bytes(p),
        .memtable_bytes_max = p->options.write_buffer_bytes,
        .memtable_entries = entries,
        .stored_entries = p->stored.counts_sum.entries,
        .stored_expiring = p->stored.counts_sum.expiring,
        .stored_bytes = p->stored.counts_sum.bytes,
        .frozen_memtables = p->newest.frozen_count,
        .applies = p->apply.count,
        .apply_us = p->apply.spent_us,
        .apply_rows = p->apply.rows,
        .cache_bytes = p->newest.cache.bytes + p->newest.range_cache.bytes,
        .cache_entries = p->newest.cache.points.count,
        .cache_hits = p->newest.cache.hits,
        .cache_misses = p->newest.cache.misses,
        .keys_expected = p->loading.keys_expected,
        .store_reads = p->loading.reads,
        .store_waits = p->loading.waits,
        .store_queries = p->loading.queries,
        .absent_state = absent_state_name(&p->newest.absent),
        .absent_bytes = absent_bytes(&p->newest.absent),
        .absent_answers = p->newest.absent.answers,
        .throttled = p->admission.count,
        .scans_open = p->scans_open,
        .damaged_reads = p->stored.damage.count,
        .damage = p->stored.damage.count > 0 ? p->stored.damage.last.text : "",
        .aside_entries = p->newest.aside->order.count,
        .time_ahead_ms = steady_ahead_ms(&p->log.time),
        .is_store_failing = p->apply.failures > 0,
        .is_store_full = p->apply.failures > 0 && p->apply.error.code == ERR_DISK_FULL,
        .is_text_filling = p->stored.text_is_filling,
        .has_garbage = has_garbage,
    };
    add_journal(p->log.journal, out);
}

/* ---- opening and closing ---- */

static void on_fatal(struct journal *j, const struct error *e)
{
    struct pipeline *p = j->owner.arg;
    p->options.on_fatal(p->options.arg, e);
}

static void on_lost(struct journal *j, const struct error *e)
{
    struct pipeline *p = j->owner.arg;
    if (p->options.on_lost == NULL) {
        p->options.on_fatal(p->options.arg, e);
    } else {
        p->options.on_lost(p->options.arg, e);
    }
}

static void on_room(struct journal *j)
{
    struct pipeline *p = j->owner.arg;
    pipeline_wake(p, &p->admission.room_waiters);
}

/* A waiter that stops waiting later finds that it is in no list. */
static void waiters_drop(struct pipeline *p)
{
    waiter_drop_all(&p->admission.room_waiters);
    waiter_drop_all(&p->admission.throttled);
    waiter_drop_all(&p->admission.throttled_bulk);
    waiter_drop_all(&p->yielded);
    waiter_drop_all(&p->apply.waiters);
}

static void workers_free(struct pipeline *p)
{
    worker_free(p->workers.store);
    worker_free(p->workers.slow); /* before workers.query, which frees what its scans held */
    worker_free(p->workers.query);
    p->workers.query = p->workers.slow = p->workers.store = NULL;
}

/* Without the workers and the journal, which come first. */
static void pipeline_free(struct pipeline *p)
{
    for (struct memtable *m = p->newest.active; m != NULL;) {
        struct memtable *older = m->older;
        if (memtable_unref(m)) memtable_free(m);
        m = older;
    }
    cache_fini(&p->newest.cache);
    store_counts_fini(&p->stored.counts);
    range_cache_fini(&p->newest.range_cache);
    kept_fini(&p->newest.kept);
    absent_fini(&p->newest.absent);
    pipeline_verify_free(p);
    changes_free(p->changes);
    searches_free(p->searches);
    waiters_drop(p);
    mem_free(p);
}

static void store_end(struct pipeline *p)
{
    readers_close(p);
    store_reader_close(p->stored.reader);
    store_close(p->stored.store);
}

/* Requests that wait get an error, those that run come to an end soon. */
static void requests_stop(struct pipeline *p)
{
    pipeline_load_post(p);
    p->is_closing = true;
    pipeline_backup_stop(p);
    (void)backend_verify_stop(&p->base);
    pipeline_changes_stop(p);
    pipeline_searches_stop(p);
}

/* Nothing more is applied or synced. */
static void pipeline_drop(struct pipeline *p)
{
    workers_free(p);
    store_end(p);
    p->log.journal->ops->abandon(p->log.journal);
    pipeline_free(p);
}

void pipeline_abandon(struct backend *b)
{
    struct pipeline *p = pipeline_of(b);
    requests_stop(p);
    p->stored.damage.is_over = true;
    p->stored.store->ops->give_up(p->stored.store);
    pipeline_drop(p);
}

enum err backend_close(struct backend *b, struct error *e)
{
    struct pipeline *p = pipeline_of(b);
    struct error ignored;
    requests_stop(p);
    if (p->log.journal->ops->hand_over != NULL) {
        enum err handed = p->log.journal->ops->hand_over(p->log.journal, p->log.version_next, e);
        pipeline_abandon(b);
        return handed;
    }
    worker_drain(p->workers.slow);
    while (worker_poll(p->workers.slow)) continue;
    worker_drain(p->workers.query);
    while (worker_poll(p->workers.query)) continue;
    worker_drain(p->workers.store);
    while (worker_poll(p->workers.store)) continue;
    enum err r = pipeline_apply_all(p, e);
    workers_free(p);
    store_end(p);
    uint64_t version_next = r == OK ? p->log.version_next : 0;
    enum err closed = p->log.journal->ops->close(p->log.journal, version_next,
                                                 r == OK ? e : &ignored);
    pipeline_free(p);
    return r == OK ? closed : r;
}

static struct worker *pipeline_worker(const struct pipeline *p, struct worker_options options)
{
    if (p->options.is_inline) options.threads = 0;
    options.wake = p->options.wake;
    options.arg = p->options.arg;
    options.pick = p->options.pick;
    options.pick_arg = p->options.pick_arg;
    return worker_new(&options);
}

static void aside_add(void *arg, const struct mutation *mu, uint64_t version)
{
    struct pipeline *p = arg;
    memtable_put(p->newest.aside, hash_bytes(mu->key), mu, version);
}

static enum err read_state(struct pipeline *p, struct error *e)
{
    struct store_progress stored;
    p->stored.store->ops->state(p->stored.store, &stored);
    p->stored.applied = stored.applied;
    p->stored.text_is_filling = stored.is_filling;
    p->clean.has_garbage = stored.has_garbage;
    store_counts_sum(&p->stored.counts, &stored.counts, &p->stored.counts_sum);
    store_counts_merge(&p->stored.counts, &stored.counts);
    store_progress_fini(&stored);
    enum err r = store_reader_open(p->stored.store, &p->stored.reader, e);
    if (r == OK) r = p->stored.store->ops->aside_read(p->stored.store, aside_add, p, e);
    if (r == OK && p->newest.aside->order.count > 0) {
        log_warning("store: %zu entries cannot be stored because tupled.db is damaged; they are "
                    "kept beside it",
                    p->newest.aside->order.count);
    }
    return r;
}

/* A part of the memory is for pages of ranges. */
static size_t range_cache_bytes(const struct pipeline_options *o)
{
    return (size_t)o->cache_bytes / RANGE_CACHE_SHARE;
}

enum err pipeline_set_options(struct backend *b, const struct pipeline_options *options,
                              struct waiter *w, struct error *e)
{
    struct pipeline *p = pipeline_of(b);
    struct pipeline_options *mine = &p->options;
    mine->memtable_bytes = options->memtable_bytes;
    mine->memtable_age_ms = options->memtable_age_ms;
    mine->write_buffer_bytes = options->write_buffer_bytes;
    mine->cache_bytes = options->cache_bytes;
    mine->scan_ms_max = options->scan_ms_max;
    cache_resize(&p->newest.cache, (size_t)mine->cache_bytes - range_cache_bytes(mine));
    range_cache_resize(&p->newest.range_cache, range_cache_bytes(mine));
    release(p);
    if (!p->log.journal->is_always || p->log.journal->acknowledged <= p->log.journal->synced)
        return OK;
    /* The sync that is missing begins at the end of this turn. */
    waiter_add(&p->yielded, w);
    return error_set(e, ERR_WAIT, "what was acknowledged is being synced");
}

static struct pipeline *pipeline_new(const struct pipeline_options *options)
{
    struct pipeline *p = mem_new(sizeof *p);
    p->options = *options;
    p->admission.budget_us = clock_mono_us();
    cache_init(&p->newest.cache, (size_t)options->cache_bytes - range_cache_bytes(options));
    range_cache_init(&p->newest.range_cache, range_cache_bytes(options));
    kept_init(&p->newest.kept);
    waiter_list_init(&p->admission.room_waiters);
    waiter_list_init(&p->admission.throttled);
    waiter_list_init(&p->admission.throttled_bulk);
    waiter_list_init(&p->yielded);
    waiter_list_init(&p->apply.waiters);
    p->newest.active = memtable_new(0);
    p->newest.active->older = p->newest.aside = memtable_new_aside();
    p->changes = changes_new();
    p->searches = searches_new();
    p->workers.store = pipeline_worker(
        p, (struct worker_options){
               .name = "store", .threads = 1, .nice = STORE_NICE, .is_ordered = true});
    p->workers.query = pipeline_worker(
        p, (struct worker_options){.name = "query", .threads = options->query_threads});
    p->workers.slow = pipeline_worker(p, (struct worker_options){.name = "long",
                                                                 .threads = options->query_threads,
                                                                 .nice = LONG_NICE});
    return p;
}

enum err pipeline_open(const struct pipeline_options *options, struct journal *journal,
                       struct store *store, struct backend **out, struct error *e)
{
    struct pipeline *p = pipeline_new(options);
    *out = NULL;
    p->log.journal = journal;
    p->stored.store = store;
    journal->owner = (struct journal_owner){.is_inline = options->is_inline,
                                            .wake = options->wake,
                                            .wake_arg = options->arg,
                                            .on_room = on_room,
                                            .on_fatal = on_fatal,
                                            .on_lost = on_lost,
                                            .on_followed = pipeline_followed,
                                            .arg = p};
    bool has_threads = p->workers.store != NULL && p->workers.query != NULL &&
                       p->workers.slow != NULL;
    enum err r = has_threads ? OK : error_set(e, ERR_IO, "cannot start a thread");
    if (r == OK) r = read_state(p, e);
    if (r == OK) r = pipeline_replay(p, e);
    if (r != OK) {
        /* A store that is given up leaves more behind than one that is closed. */
        p->is_closing = true;
        pipeline_drop(p);
        return r;
    }
    p->log.version_told = p->log.version_newest;
    pipeline_check(p);
    *out = &p->base;
    return OK;
}
