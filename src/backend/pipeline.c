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

/* ---- committing ---- */

enum err backend_commit(struct backend *b, const struct batch *batch, uint64_t *version,
                        struct waiter *w, struct error *e)
{
    struct pipeline *p = pipeline_of(b);
    struct journal *j = p->journal;
    size_t bytes = txn_bytes(batch);
    enum err r = pipeline_may_commit(p, e);
    if (r == OK) r = journal_room(j, bytes, e);
    if (r == OK && p->version_next >= j->versions_low) {
        r = j->ops->versions_reserve(j, p->version_next, e);
    }
    if (r == ERR_WAIT) waiter_add(&p->room_waiters, w);
    if (r != OK) return r;
    *version = p->version_newest = p->version_next++;
    steady_at_least(&p->time, batch->time_ms);
    journal_append(j, *version, batch);
    pipeline_remember(p, batch, *version);
    p->write_budget -= (double)bytes + 128;
    if (w != NULL && w->keep_id != 0) kept_end_used(&p->kept, w);
    return OK;
}

/* ---- turns and threads ---- */

int64_t backend_time_ms(struct backend *b)
{
    struct pipeline *p = pipeline_of(b);
    return p->options.frozen_ms != 0 ? p->options.frozen_ms : steady_now_ms(&p->time);
}

void backend_poll(struct backend *b)
{
    struct pipeline *p = pipeline_of(b);
    if (p->journal->ops->poll(p->journal)) {
        journal_submit(p->journal);
        uint64_t durable = p->journal->acknowledged;
        if (durable > p->version_told) {
            p->version_told = durable;
            if (b->on_durable != NULL) b->on_durable(b->on_durable_arg, durable);
            pipeline_changes_try(p);
        }
    }
    worker_poll(p->query_worker);
    worker_poll(p->long_worker);
    worker_poll(p->store_worker);
    pipeline_backup_try(p);
    pipeline_searches_try(p);
    pipeline_wake(p, &p->yielded);
}

void backend_run_over(struct backend *b, struct waiter *w)
{
    kept_end(&pipeline_of(b)->kept, w);
}

void backend_turn_end(struct backend *b)
{
    struct pipeline *p = pipeline_of(b);
    pipeline_load_post(p);
    journal_submit(p->journal);
    if (memtable_bytes(p->active) >= p->options.memtable_bytes) pipeline_freeze(p);
    pipeline_retire_slice(p, RETIRE_ENTRIES);
    pipeline_apply_next(p);
    cache_turn_end(&p->cache);
    kept_turn_end(&p->kept);
    p->base.is_far = p->store->is_remote ||
                     p->cache.points.count + p->active->points.count >= FAR_ENTRIES;
}

/* Logs a system clock that was set back, or was ahead when the journal was written. */
static void time_watch(struct pipeline *p)
{
    int64_t ahead_ms = steady_ahead_ms(&p->time);
    if (ahead_ms >= TIME_AHEAD_MS_TOLD && p->time_ahead_told_ms == 0) {
        log_warning(
            "the system's clock is %lld.%03lld s behind the newest commit: time goes on from that "
            "commit, and what is to end at a time of day (EXAT, PXAT) ends early. Is the clock "
            "right?",
            (long long)ahead_ms / 1000, (long long)ahead_ms % 1000);
        p->time_ahead_told_ms = ahead_ms;
    } else if (ahead_ms == 0 && p->time_ahead_told_ms != 0) {
        log_notice("the system's clock has caught up with the newest commit");
        p->time_ahead_told_ms = 0;
    }
}

/* What is only kept for the store may go. */
static void release(struct pipeline *p)
{
    p->journal->ops->release(p->journal, p->applied, steady_now_ms(&p->time));
}

void backend_tick(struct backend *b)
{
    struct pipeline *p = pipeline_of(b);
    pipeline_freeze_if_due(p);
    pipeline_apply_next(p);
    pipeline_searches_try(p);
    pipeline_fill_try(p);
    pipeline_clean_try(p);
    pipeline_budget_tick(p);
    pipeline_absent_try(p);
    p->journal->ops->tick(p->journal, backend_time_ms(b));
    time_watch(p);
    kept_sweep(&p->kept, clock_mono_us());
    if (p->journal->is_disk_full) release(p);
}

bool pipeline_is_at_rest(const struct backend *b)
{
    const struct pipeline *p = (const struct pipeline *)b;
    bool is_working = p->is_applying || p->is_cleaning || p->has_garbage || p->frozen_count > 0 ||
                      p->text_is_filling || p->retiring != NULL || p->backup != NULL ||
                      p->scans_open > 0;
    bool is_awaited = p->throttled.head.next != &p->throttled.head ||
                      p->throttled_bulk.head.next != &p->throttled_bulk.head ||
                      p->room_waiters.head.next != &p->room_waiters.head;
    return !is_working && !is_awaited && p->journal->synced >= p->journal->version_last;
}

void backend_yield(struct backend *b, struct waiter *w)
{
    struct pipeline *p = pipeline_of(b);
    waiter_add(&p->yielded, w);
    p->options.wake(p->options.arg);
}

/* ---- figures ---- */

void backend_count(struct backend *b, uint16_t database, struct backend_count *out)
{
    const struct pipeline *p = pipeline_of(b);
    struct mem_database sum = {0};
    struct store_counts stored = store_counts_get(&p->counts, database);
    for (const struct memtable *m = p->active; m != NULL && sum.flushed == 0; m = m->older) {
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
    if (p->applied >= version) return OK;
    if (p->apply_failures > 0) return pipeline_store_error(p, e);
    const struct memtable *m = p->active;
    if (m->version_first != 0 && m->version_first <= version) pipeline_freeze(p);
    waiter_add(&p->settle_waiters, w);
    p->options.wake(p->options.arg);
    return error_set(e, ERR_WAIT, "what was written is being counted");
}

bool backend_database_next(struct backend *b, uint32_t from, uint16_t *out)
{
    const struct pipeline *p = pipeline_of(b);
    uint32_t first = from;
    bool is_found = sparse_next(&p->counts, &first) != NULL;
    for (const struct memtable *m = p->active; m != NULL; m = m->older) {
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
    return pipeline_of(b)->version_told;
}

uint64_t backend_version_newest(struct backend *b)
{
    return pipeline_of(b)->version_newest;
}

uint64_t backend_version_next(struct backend *b)
{
    return pipeline_of(b)->version_next;
}

/* Entries that the store does not have yet; and is there something to be removed? */
static uint64_t unapplied_entries(const struct pipeline *p, bool *has_garbage)
{
    uint64_t entries = 0;
    *has_garbage = p->has_garbage;
    for (const struct memtable *m = p->active; m != NULL; m = m->older) {
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
        .version = p->version_newest,
        .durable = p->version_told,
        .applied = p->applied,
        .memtable_bytes = pipeline_unapplied_bytes(p),
        .memtable_bytes_max = p->options.write_buffer_bytes,
        .memtable_entries = entries,
        .stored_entries = p->counts_sum.entries,
        .stored_expiring = p->counts_sum.expiring,
        .stored_bytes = p->counts_sum.bytes,
        .frozen_memtables = p->frozen_count,
        .applies = p->applies,
        .apply_us = p->apply_us,
        .apply_rows = p->apply_rows,
        .cache_bytes = p->cache.bytes + p->range_cache.bytes,
        .cache_entries = p->cache.points.count,
        .cache_hits = p->cache.hits,
        .cache_misses = p->cache.misses,
        .keys_expected = p->keys_expected,
        .store_reads = p->store_reads,
        .store_waits = p->store_waits,
        .store_queries = p->store_queries,
        .absent_state = absent_state_name(&p->absent),
        .absent_bytes = absent_bytes(&p->absent),
        .absent_answers = p->absent.answers,
        .throttled = p->throttles,
        .scans_open = p->scans_open,
        .damaged_reads = p->damage.count,
        .damage = p->damage.count > 0 ? p->damage.last.text : "",
        .aside_entries = p->aside->order.count,
        .time_ahead_ms = steady_ahead_ms(&p->time),
        .is_store_failing = p->apply_failures > 0,
        .is_text_filling = p->text_is_filling,
        .has_garbage = has_garbage,
    };
    add_journal(p->journal, out);
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
    pipeline_wake(p, &p->room_waiters);
}

/* A waiter that stops waiting later finds that it is in no list. */
static void waiters_drop(struct pipeline *p)
{
    waiter_drop_all(&p->room_waiters);
    waiter_drop_all(&p->throttled);
    waiter_drop_all(&p->throttled_bulk);
    waiter_drop_all(&p->yielded);
    waiter_drop_all(&p->settle_waiters);
}

static void workers_free(struct pipeline *p)
{
    worker_free(p->store_worker);
    worker_free(p->long_worker); /* before query_worker, which frees what its scans held */
    worker_free(p->query_worker);
    p->query_worker = p->long_worker = p->store_worker = NULL;
}

/* Without the workers and the journal, which come first. */
static void pipeline_free(struct pipeline *p)
{
    for (struct memtable *m = p->active; m != NULL;) {
        struct memtable *older = m->older;
        if (memtable_unref(m)) memtable_free(m);
        m = older;
    }
    cache_fini(&p->cache);
    store_counts_fini(&p->counts);
    range_cache_fini(&p->range_cache);
    kept_fini(&p->kept);
    absent_fini(&p->absent);
    pipeline_verify_free(p);
    changes_free(p->changes);
    searches_free(p->searches);
    waiters_drop(p);
    mem_free(p);
}

static void store_end(struct pipeline *p)
{
    readers_close(p);
    store_reader_close(p->reader);
    store_close(p->store);
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
    p->journal->ops->abandon(p->journal);
    pipeline_free(p);
}

void pipeline_abandon(struct backend *b)
{
    struct pipeline *p = pipeline_of(b);
    requests_stop(p);
    p->damage.is_over = true;
    p->store->ops->give_up(p->store);
    pipeline_drop(p);
}

enum err backend_close(struct backend *b, struct error *e)
{
    struct pipeline *p = pipeline_of(b);
    struct error ignored;
    requests_stop(p);
    if (p->journal->ops->hand_over != NULL) {
        enum err handed = p->journal->ops->hand_over(p->journal, p->version_next, e);
        pipeline_abandon(b);
        return handed;
    }
    worker_drain(p->long_worker);
    while (worker_poll(p->long_worker)) continue;
    worker_drain(p->query_worker);
    while (worker_poll(p->query_worker)) continue;
    worker_drain(p->store_worker);
    while (worker_poll(p->store_worker)) continue;
    enum err r = pipeline_apply_all(p, e);
    workers_free(p);
    store_end(p);
    uint64_t version_next = r == OK ? p->version_next : 0;
    enum err closed = p->journal->ops->close(p->journal, version_next, r == OK ? e : &ignored);
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
    memtable_put(p->aside, hash_bytes(mu->key), mu, version);
}

static enum err read_state(struct pipeline *p, struct error *e)
{
    struct store_progress stored;
    p->store->ops->state(p->store, &stored);
    p->applied = stored.applied;
    p->text_is_filling = stored.is_filling;
    p->has_garbage = stored.has_garbage;
    store_counts_sum(&p->counts, &stored.counts, &p->counts_sum);
    store_counts_merge(&p->counts, &stored.counts);
    store_progress_fini(&stored);
    enum err r = store_reader_open(p->store, &p->reader, e);
    if (r == OK) r = p->store->ops->aside_read(p->store, aside_add, p, e);
    if (r == OK && p->aside->order.count > 0) {
        log_warning("store: %zu entries have no place because tupled.db is damaged; they are kept "
                    "beside it",
                    p->aside->order.count);
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
    cache_resize(&p->cache, (size_t)mine->cache_bytes - range_cache_bytes(mine));
    range_cache_resize(&p->range_cache, range_cache_bytes(mine));
    release(p);
    if (!p->journal->is_always || p->journal->acknowledged <= p->journal->synced) return OK;
    /* The sync that is missing begins at the end of this turn. */
    waiter_add(&p->yielded, w);
    return error_set(e, ERR_WAIT, "what was acknowledged is being synced");
}

static struct pipeline *pipeline_new(const struct pipeline_options *options)
{
    struct pipeline *p = mem_new(sizeof *p);
    p->options = *options;
    p->budget_us = clock_mono_us();
    cache_init(&p->cache, (size_t)options->cache_bytes - range_cache_bytes(options));
    range_cache_init(&p->range_cache, range_cache_bytes(options));
    kept_init(&p->kept);
    waiter_list_init(&p->room_waiters);
    waiter_list_init(&p->throttled);
    waiter_list_init(&p->throttled_bulk);
    waiter_list_init(&p->yielded);
    waiter_list_init(&p->settle_waiters);
    p->active = memtable_new(0);
    p->active->older = p->aside = memtable_new_aside();
    p->changes = changes_new();
    p->searches = searches_new();
    p->store_worker = pipeline_worker(
        p, (struct worker_options){
               .name = "store", .threads = 1, .nice = STORE_NICE, .is_ordered = true});
    p->query_worker = pipeline_worker(
        p, (struct worker_options){.name = "query", .threads = options->query_threads});
    p->long_worker = pipeline_worker(p, (struct worker_options){.name = "long",
                                                                .threads = options->query_threads,
                                                                .nice = LONG_NICE});
    return p;
}

enum err pipeline_open(const struct pipeline_options *options, struct journal *journal,
                       struct store *store, struct backend **out, struct error *e)
{
    struct pipeline *p = pipeline_new(options);
    *out = NULL;
    p->journal = journal;
    p->store = store;
    journal->owner = (struct journal_owner){.is_inline = options->is_inline,
                                            .wake = options->wake,
                                            .wake_arg = options->arg,
                                            .on_room = on_room,
                                            .on_fatal = on_fatal,
                                            .on_lost = on_lost,
                                            .on_followed = pipeline_followed,
                                            .arg = p};
    bool has_threads = p->store_worker != NULL && p->query_worker != NULL && p->long_worker != NULL;
    enum err r = has_threads ? OK : error_set(e, ERR_IO, "the system gives no more threads");
    if (r == OK) r = read_state(p, e);
    if (r == OK) r = pipeline_replay(p, e);
    if (r != OK) {
        /* A store that is given up leaves more behind than one that is closed. */
        p->is_closing = true;
        pipeline_drop(p);
        return r;
    }
    p->version_told = p->version_newest;
    *out = &p->base;
    return OK;
}
