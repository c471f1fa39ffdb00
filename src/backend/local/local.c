#include "backend/local/local.h"

#include "backend/local/local_int.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"

#define RETIRE_ENTRIES 128 /* moved to the cache in one turn */
#define TIME_AHEAD_MS_TOLD 1000
#define STORE_NICE 10
#define LONG_NICE 5 /* whoever asked for much waits a little for those who asked for little */
#define RANGE_CACHE_SHARE 8 /* of cache_bytes, one part in this many is for ranges */

/* ---- reading one key ---- */

static void entry_from_memory(const struct mem_version *v, struct entry *out)
{
    *out = (struct entry){.exists = !v->is_tombstone,
                          .version = v->version,
                          .expiry_ms = v->expiry_ms,
                          .value = slice_of(v->value, v->value_len),
                          .depends = v->version};
}

static void entry_from_cache(const struct cache_entry *c, struct entry *out)
{
    *out = (struct entry){.exists = c->exists,
                          .version = c->version,
                          .expiry_ms = c->expiry_ms,
                          .value = slice_of(c->bytes + c->key.len, c->value_len)};
}

/* True when a memtable decides. */
static bool load_from_memory(const struct local *l, uint64_t hash, struct slice key,
                             struct entry *out)
{
    for (const struct memtable *m = l->active; m != NULL; m = m->older) {
        uint64_t flushed = memtable_flushed(m, key_database(key));
        const struct mem_version *v = memtable_get(m, hash, key);
        if (v != NULL && v->version >= flushed) {
            entry_from_memory(v, out);
            return true;
        }
        if (flushed != 0) {
            *out = (struct entry){.depends = flushed};
            return true;
        }
    }
    return false;
}

/* A load whose page was not in memory: a query thread reads it, which also brings the page in. */
struct load_job {
    struct job job; /* first */
    struct local *local;
    struct pooled_reader *reader;
    struct slice key; /* owned, after the struct */
    uint64_t retire_generation;
    struct entry entry;
    enum err result;
    struct error error;
    struct waiter_list waiters;
};

static void load_run(struct job *job)
{
    struct load_job *j = (struct load_job *)job;
    j->result = store_get(j->reader->reader, j->key, true, &j->entry, &j->error);
}

static void load_done(struct job *job)
{
    struct load_job *j = (struct load_job *)job;
    struct local *l = j->local;
    /* The answer goes into the cache only if no memtable left the read path, or began to, since it
     * was asked for: otherwise it may be older than what that memtable said. */
    bool is_current = j->retire_generation == l->retire_generation && l->retiring == NULL;
    if (j->result == OK && is_current) {
        (void)cache_put(&l->cache, hash_bytes(j->key), j->key, &j->entry);
    } else if (j->result != OK) {
        damage_note_read(&l->damage, hash_bytes(j->key), &j->error);
    }
    store_get_end(j->reader->reader);
    reader_give(l, j->reader);
    waiter_wake_all(&j->waiters);
    mem_free(j);
}

static enum err load_later(struct local *l, struct slice key, struct waiter *w, struct error *e)
{
    struct pooled_reader *reader = NULL;
    struct error failed;
    if (damage_find(&l->damage, hash_bytes(key), &failed)) {
        return error_set(e, failed.code, "%s", failed.text);
    }
    enum err r = reader_take(l, &reader, e);
    if (r == ERR_TRYAGAIN) {
        waiter_add(&l->yielded, w);
        return error_set(e, ERR_WAIT, "too many reads wait for the disk");
    }
    if (r != OK) return r;
    struct load_job *j = mem_new(sizeof *j + key.len);
    memcpy(j + 1, key.data, key.len);
    j->key = slice_of(j + 1, key.len);
    j->job.run = load_run;
    j->job.done = load_done;
    j->local = l;
    j->reader = reader;
    j->retire_generation = l->retire_generation;
    waiter_list_init(&j->waiters);
    waiter_add(&j->waiters, w);
    l->store_waits++;
    worker_post(l->query_worker, &j->job);
    return error_set(e, ERR_WAIT, "the data is being read from disk");
}

enum err local_load(struct backend *b, struct slice key, struct entry *out, struct waiter *w,
                    struct error *e)
{
    struct local *l = local_of(b);
    uint64_t hash = hash_bytes(key);
    if (load_from_memory(l, hash, key, out)) return OK;
    const struct cache_entry *cached = cache_get(&l->cache, hash, key);
    if (cached == NULL) {
        struct entry stored;
        l->store_reads++;
        enum err r = store_get(l->reader, key, false, &stored, e);
        if (r == ERR_WAIT) return load_later(l, key, w, e);
        if (r != OK && e != NULL) damage_note(&l->damage, e);
        if (r != OK) return r;
        cached = cache_put(&l->cache, hash, key, &stored);
        store_get_end(l->reader);
    }
    entry_from_cache(cached, out);
    return OK;
}

/* ---- committing ---- */

/* What a mutation does to the counts. Where the caller does not know the entry before, `before`
 * NULL, memory may, which is asked for user data only: the rest is corrected by the store. */
static void count_change(struct local *l, uint64_t hash, const struct mutation *mu,
                         const struct entry *before)
{
    struct entry old = {0};
    uint16_t database = key_database(mu->key);
    if (before != NULL) {
        old = *before;
    } else if (key_space(mu->key) == STORE_SPACE_COUNTED &&
               !load_from_memory(l, hash, mu->key, &old)) {
        const struct cache_entry *cached = cache_peek(&l->cache, hash, mu->key);
        if (cached != NULL) entry_from_cache(cached, &old);
    }
    bool is_set = mu->kind == MUTATION_SET;
    struct mem_database *d = memtable_database(l->active, database);
    if (key_space(mu->key) == STORE_SPACE_COUNTED) {
        d->entries += is_set - old.exists;
        d->expiring += (is_set && mu->expiry_ms != 0) - (old.exists && old.expiry_ms != 0);
    }
    d->bytes += is_set ? (int64_t)(mu->key.len + mu->value.len - KEY_HEAD_BYTES) : 0;
    d->bytes -= old.exists ? (int64_t)(mu->key.len + old.value.len - KEY_HEAD_BYTES) : 0;
}

void local_remember(struct local *l, const struct mutation *mu, const struct entry *before,
                    uint64_t version)
{
    if (mu->kind == MUTATION_FLUSH) {
        memtable_flush(l->active, key_database(mu->key), version);
        return;
    }
    if (mu->kind == MUTATION_FORGET) {
        memtable_forget(l->active, mu->key, mu->value, version);
        return;
    }
    uint64_t hash = hash_bytes(mu->key);
    count_change(l, hash, mu, before);
    memtable_put(l->active, hash, mu, version);
}

static enum err local_commit(struct backend *b, const struct batch *batch, uint64_t *version,
                             struct waiter *w, struct error *e)
{
    struct local *l = local_of(b);
    size_t bytes = txn_bytes(batch);
    enum err r = journal_room(l->journal, bytes, e);
    if (r == OK) r = versions_ready(l, e);
    if (r == ERR_WAIT) waiter_add(&l->room_waiters, w);
    if (r != OK) return r;
    *version = l->version_newest = l->version_next++;
    steady_at_least(&l->time, batch->time_ms);
    journal_append(l->journal, *version, batch);
    for (size_t i = 0; i < batch->count; i++) {
        const struct entry *before = batch->before != NULL ? batch->before[i] : NULL;
        local_remember(l, &batch->items[i], before, *version);
    }
    l->write_budget -= (double)bytes + 128;
    return OK;
}

/* ---- turns and threads ---- */

static int64_t local_time_ms(struct backend *b)
{
    return steady_now_ms(&local_of(b)->time);
}

static void local_poll(struct backend *b)
{
    struct local *l = local_of(b);
    if (worker_poll(l->journal_worker)) {
        journal_submit(l->journal);
        uint64_t durable = journal_acknowledged(l->journal);
        if (durable > l->version_told) {
            l->version_told = durable;
            if (b->on_durable != NULL) b->on_durable(b->on_durable_arg, durable);
            local_changes_try(l);
        }
    }
    worker_poll(l->query_worker);
    worker_poll(l->long_worker);
    worker_poll(l->store_worker);
    local_backup_try(l);
    local_searches_try(l);
    waiter_wake_all(&l->yielded);
}

static void local_turn_end(struct backend *b)
{
    struct local *l = local_of(b);
    journal_submit(l->journal);
    if (memtable_bytes(l->active) >= l->options.memtable_bytes) local_freeze(l);
    local_retire_slice(l, RETIRE_ENTRIES);
    local_apply_next(l);
    cache_turn_end(&l->cache);
}

/* Logs a system clock that was set back, or was ahead when the journal was written. */
static void time_watch(struct local *l)
{
    int64_t ahead_ms = steady_ahead_ms(&l->time);
    if (ahead_ms >= TIME_AHEAD_MS_TOLD && l->time_ahead_told_ms == 0) {
        log_warning(
            "the system's clock is %lld.%03lld s behind the newest commit: time goes on from that "
            "commit, and what is to end at a time of day (EXAT, PXAT) ends early. Is the clock "
            "right?",
            (long long)ahead_ms / 1000, (long long)ahead_ms % 1000);
        l->time_ahead_told_ms = ahead_ms;
    } else if (ahead_ms == 0 && l->time_ahead_told_ms != 0) {
        log_notice("the system's clock has caught up with the newest commit");
        l->time_ahead_told_ms = 0;
    }
}

static void local_tick(struct backend *b)
{
    struct local *l = local_of(b);
    local_freeze_if_due(l);
    local_apply_next(l);
    local_searches_try(l);
    local_fill_try(l);
    local_clean_try(l);
    local_budget_tick(l);
    journal_tick(l->journal, local_time_ms(b));
    local_guard_tick(l);
    time_watch(l);
    if (journal_is_disk_full(l->journal)) {
        journal_release(l->journal, store_applied(l->store), local_time_ms(&l->base));
    }
}

static void local_yield(struct backend *b, struct waiter *w)
{
    struct local *l = local_of(b);
    waiter_add(&l->yielded, w);
    l->options.wake(l->options.arg);
}

/* ---- figures ---- */

static void local_count(struct backend *b, uint16_t database, struct backend_count *out)
{
    const struct local *l = local_of(b);
    struct mem_database sum = {0};
    struct store_counts stored = store_count(l->store, database);
    for (const struct memtable *m = l->active; m != NULL && sum.flushed == 0; m = m->older) {
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
                                  .stored_bytes = stored.bytes};
}

static enum err local_settle(struct backend *b, uint64_t version, struct waiter *w, struct error *e)
{
    struct local *l = local_of(b);
    if (store_applied(l->store) >= version) return OK;
    const struct memtable *m = l->active;
    if (m->version_first != 0 && m->version_first <= version) local_freeze(l);
    waiter_add(&l->settle_waiters, w);
    l->options.wake(l->options.arg);
    return error_set(e, ERR_WAIT, "what was written is being counted");
}

static bool local_database_next(struct backend *b, uint32_t from, uint16_t *out)
{
    const struct local *l = local_of(b);
    uint32_t first = from;
    bool is_found = store_database_next(l->store, &first);
    for (const struct memtable *m = l->active; m != NULL; m = m->older) {
        uint32_t at = from;
        if (sparse_next(&m->databases, &at) == NULL) continue;
        if (!is_found || at < first) first = at;
        is_found = true;
    }
    *out = (uint16_t)first;
    return is_found;
}

static uint64_t local_version_durable(struct backend *b)
{
    return local_of(b)->version_told;
}

static uint64_t local_version_newest(struct backend *b)
{
    return local_of(b)->version_newest;
}

static uint64_t local_version_next(struct backend *b)
{
    return local_of(b)->version_next;
}

static void local_stats(struct backend *b, struct backend_stats *out)
{
    struct local *l = local_of(b);
    struct journal_stats j;
    journal_stats(l->journal, &j);
    uint64_t entries = 0;
    bool has_garbage = l->has_garbage;
    for (const struct memtable *m = l->active; m != NULL; m = m->older) {
        if (m->state < MEM_APPLIED) entries += m->order.count;
        has_garbage = has_garbage || m->forgotten != NULL;
    }
    *out = (struct backend_stats){
        .version = l->version_newest,
        .durable = l->version_told,
        .applied = store_applied(l->store),
        .journal_bytes = j.bytes,
        .journal_segments = j.segments,
        .journal_syncs = j.syncs,
        .journal_sync_us = j.sync_us,
        .journal_batches = j.batches,
        .memtable_bytes = local_unapplied_bytes(l),
        .memtable_entries = entries,
        .frozen_memtables = l->frozen_count,
        .applies = l->applies,
        .apply_us = l->apply_us,
        .apply_rows = l->apply_rows,
        .cache_bytes = l->cache.bytes + l->range_cache.bytes,
        .cache_entries = l->cache.points.count,
        .cache_hits = l->cache.hits,
        .cache_misses = l->cache.misses,
        .store_reads = l->store_reads,
        .store_waits = l->store_waits,
        .throttled = l->throttles,
        .scans_open = l->scans_open,
        .damaged_reads = l->damage.count,
        .damage = l->damage.count > 0 ? l->damage.last.text : "",
        .aside_entries = l->aside->order.count,
        .time_ahead_ms = steady_ahead_ms(&l->time),
        .is_store_failing = l->apply_failures > 0,
        .has_garbage = has_garbage,
        .is_disk_full = journal_is_disk_full(l->journal),
    };
}

/* ---- opening and closing ---- */

static void local_fatal(void *arg, const struct error *e)
{
    struct local *l = arg;
    l->options.on_fatal(l->options.arg, e);
}

static void local_room(void *arg)
{
    struct local *l = arg;
    waiter_wake_all(&l->room_waiters);
}

static void local_free(struct local *l)
{
    worker_free(l->journal_worker);
    worker_free(l->store_worker);
    worker_free(l->long_worker); /* before query_worker, which frees what its scans held */
    worker_free(l->query_worker);
    while (l->idle_readers != NULL) {
        struct pooled_reader *next = l->idle_readers->next;
        store_reader_close(l->idle_readers->reader);
        mem_free(l->idle_readers);
        l->idle_readers = next;
    }
    store_reader_close(l->reader);
    store_close(l->store);
    for (struct memtable *m = l->active; m != NULL;) {
        struct memtable *older = m->older;
        if (memtable_unref(m)) memtable_free(m);
        m = older;
    }
    cache_fini(&l->cache);
    range_cache_fini(&l->range_cache);
    local_verify_free(l);
    changes_free(l->changes);
    searches_free(l->searches);
    file_unlock(l->lock_fd);
    mem_free(l->dir);
    mem_free(l);
}

static enum err local_close(struct backend *b, struct error *e)
{
    struct local *l = local_of(b);
    l->is_closing = true;
    local_backup_stop(l);
    (void)local_verify_stop(b);
    local_changes_stop(l);
    local_searches_stop(l);
    worker_drain(l->long_worker);
    while (worker_poll(l->long_worker)) continue;
    worker_drain(l->query_worker);
    while (worker_poll(l->query_worker)) continue;
    worker_drain(l->store_worker);
    while (worker_poll(l->store_worker)) continue;
    enum err r = local_apply_all(l, e);
    journal_close(l->journal);
    if (r == OK) r = versions_close(l, e);
    local_free(l);
    return r;
}

void local_abandon(struct backend *b)
{
    struct local *l = local_of(b);
    l->is_closing = true;
    local_backup_stop(l);
    (void)local_verify_stop(b);
    local_changes_stop(l);
    local_searches_stop(l);
    journal_stop_preparing(l->journal);
    /* The store's first: the end of an apply posts the removal of segments to the other. */
    worker_free(l->store_worker);
    worker_free(l->long_worker);
    worker_free(l->query_worker);
    l->query_worker = l->long_worker = l->store_worker = NULL;
    journal_abandon(l->journal);
    l->journal = NULL;
    local_free(l);
}

static const struct backend_ops local_ops = {
    .load = local_load,
    .admit = local_admit,
    .admit_bulk = local_admit_bulk,
    .commit = local_commit,
    .scan_open = local_scan_open,
    .scan_next = local_scan_next,
    .scan_load = local_scan_load,
    .scan_depends = local_scan_depends,
    .scan_pause = local_scan_pause,
    .scan_close = local_scan_close,
    .count = local_count,
    .settle = local_settle,
    .database_next = local_database_next,
    .version_durable = local_version_durable,
    .version_newest = local_version_newest,
    .version_next = local_version_next,
    .time_ms = local_time_ms,
    .poll = local_poll,
    .turn_end = local_turn_end,
    .yield = local_yield,
    .tick = local_tick,
    .stats = local_stats,
    .backup = local_backup,
    .verify_start = local_verify_start,
    .verify_stop = local_verify_stop,
    .verify_figures = local_verify_figures,
    .changes = local_changes,
    .search = local_search,
    .close = local_close,
};

static struct worker *local_worker(const struct local *l, const char *name, unsigned threads,
                                   int nice)
{
    struct worker_options options = {.name = name,
                                     .threads = l->options.is_inline ? 0 : threads,
                                     .nice = nice,
                                     .wake = l->options.wake,
                                     .arg = l->options.arg};
    return worker_new(&options);
}

static void aside_add(void *arg, const struct mutation *mu, uint64_t version)
{
    struct local *l = arg;
    memtable_put(l->aside, hash_bytes(mu->key), mu, version);
}

static enum err local_open_store(struct local *l, struct error *e)
{
    struct buf path;
    buf_init(&path);
    buf_printf(&path, "%s/tupled.db", l->dir);
    buf_append_byte(&path, '\0');
    buf_require(&path);
    struct store_options options = {.path = (char *)path.data,
                                    .cache_bytes = l->options.store_cache_bytes / 2,
                                    .reader_cache_bytes = l->options.store_cache_bytes / 16,
                                    .text_ops = l->options.text_ops};
    enum err r = store_open(&options, &l->store, e);
    if (r == OK) r = store_reader_open(l->store, &l->reader, e);
    if (r == OK) l->text_is_filling = store_is_filling(l->store);
    if (r == OK) l->has_garbage = store_has_garbage(l->store);
    if (r == OK) r = store_aside_read(l->store, aside_add, l, e);
    if (r == OK && l->aside->order.count > 0) {
        log_warning("store: %zu entries have no place because tupled.db is damaged; they are kept "
                    "beside it",
                    l->aside->order.count);
    }
    buf_fini(&path);
    return r;
}

static enum err local_lock(struct local *l, struct error *e)
{
    struct buf path;
    buf_init(&path);
    buf_printf(&path, "%s/LOCK", l->dir);
    buf_append_byte(&path, '\0');
    buf_require(&path);
    enum err r = dir_make(l->dir, e);
    if (r == OK) r = file_lock((char *)path.data, &l->lock_fd, e);
    buf_fini(&path);
    return r;
}

/* A part of the memory is for pages of ranges. */
static size_t range_cache_bytes(const struct local_options *o)
{
    return (size_t)o->cache_bytes / RANGE_CACHE_SHARE;
}

enum err local_set_options(struct backend *b, const struct local_options *options, struct waiter *w,
                           struct error *e)
{
    struct local *l = local_of(b);
    struct local_options *mine = &l->options;
    mine->durability = options->durability;
    mine->interval_ms = options->interval_ms;
    mine->retention_ms = options->retention_ms;
    mine->retention_bytes = options->retention_bytes;
    mine->memtable_bytes = options->memtable_bytes;
    mine->memtable_age_ms = options->memtable_age_ms;
    mine->write_buffer_bytes = options->write_buffer_bytes;
    mine->cache_bytes = options->cache_bytes;
    mine->scan_ms_max = options->scan_ms_max;
    cache_resize(&l->cache, (size_t)mine->cache_bytes - range_cache_bytes(mine));
    range_cache_resize(&l->range_cache, range_cache_bytes(mine));
    struct journal_options journal = {.durability = mine->durability,
                                      .interval_ms = mine->interval_ms,
                                      .retention_ms = mine->retention_ms,
                                      .retention_bytes = mine->retention_bytes};
    journal_set_options(l->journal, &journal);
    journal_release(l->journal, store_applied(l->store), local_time_ms(&l->base));
    bool is_always = mine->durability == DURABILITY_ALWAYS;
    if (!is_always || journal_acknowledged(l->journal) <= journal_synced(l->journal)) return OK;
    /* The sync that journal_set_options wants begins at the end of this turn. */
    waiter_add(&l->yielded, w);
    return error_set(e, ERR_WAIT, "what was acknowledged is being synced");
}

static enum err local_open_journal(struct local *l, struct recovered *found, struct error *e)
{
    struct journal_options options = {.dir = l->dir,
                                      .segment_bytes = l->options.segment_bytes,
                                      .durability = l->options.durability,
                                      .interval_ms = l->options.interval_ms,
                                      .retention_ms = l->options.retention_ms,
                                      .retention_bytes = l->options.retention_bytes,
                                      .writer = l->journal_worker,
                                      .background = l->query_worker,
                                      .on_fatal = local_fatal,
                                      .on_room = local_room,
                                      .arg = l};
    memcpy(options.database_id, store_database_id(l->store), DATABASE_ID_BYTES);
    enum err r = journal_open(&options, found->next_number, found->last_version, &l->journal, e);
    if (r != OK) return r;
    for (size_t i = 0; i < found->segment_count; i++) {
        journal_add_old(l->journal, &found->segments[i]);
    }
    journal_release(l->journal, store_applied(l->store), local_time_ms(&l->base));
    return OK;
}

enum err local_open(const struct local_options *options, struct backend **out, struct error *e)
{
    struct local *l = mem_new(sizeof *l);
    struct recovered found = {0};
    *out = NULL;
    l->base.ops = &local_ops;
    l->options = *options;
    l->lock_fd = -1;
    size_t len = strlen(options->dir) + 1;
    l->dir = memcpy(mem_alloc(len), options->dir, len);
    l->options.dir = l->dir;
    l->budget_us = clock_mono_us();
    cache_init(&l->cache, (size_t)options->cache_bytes - range_cache_bytes(options));
    range_cache_init(&l->range_cache, range_cache_bytes(options));
    waiter_list_init(&l->settle_waiters);
    waiter_list_init(&l->room_waiters);
    waiter_list_init(&l->throttled);
    waiter_list_init(&l->throttled_bulk);
    waiter_list_init(&l->yielded);
    l->active = memtable_new(0);
    l->active->older = l->aside = memtable_new_aside();
    l->changes = changes_new();
    l->searches = searches_new();
    l->journal_worker = local_worker(l, "journal", 1, 0);
    l->store_worker = local_worker(l, "store", 1, STORE_NICE);
    l->query_worker = local_worker(l, "query", options->query_threads, 0);
    l->long_worker = local_worker(l, "long", options->query_threads, LONG_NICE);
    bool has_threads = l->journal_worker != NULL && l->store_worker != NULL &&
                       l->query_worker != NULL && l->long_worker != NULL;
    enum err r = has_threads ? local_lock(l, e)
                             : error_set(e, ERR_IO, "the system gives no more threads");
    if (r == OK) r = local_open_store(l, e);
    if (r == OK) r = local_recover(l, &found, e);
    if (r == OK) r = versions_open(l, found.last_version, e);
    if (r == OK) r = local_open_journal(l, &found, e);
    mem_free(found.segments);
    if (r != OK) {
        local_free(l);
        return r;
    }
    l->version_told = l->version_newest;
    *out = &l->base;
    return OK;
}
