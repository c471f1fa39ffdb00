/* scan: one pass over a range at one version: a k-way merge of the memtables, newest first, and the
 * store. For a key that several know the newest wins; tombstones and what a flush covers are
 * skipped.
 *
 *   SCAN_FRESH     reads the store on the loop, without waiting for the disk
 *      |  backend_scan_pause: others run, or data is not in memory
 *      v
 *   SCAN_PINNED    <-------------------------------------------------.
 *      |  store_ready: rows are wanted (fetch_run)                   |  fetch_done
 *      |  lookup_begin: single entries are (scan_load.c)             |  lookup_done
 *      |  look_begin: a filter takes long (scan_look.c)              |  look_done
 *      v                                                             |
 *   SCAN_FETCHING  a worker thread has the scan  --------------------'
 *
 * backend_scan_close frees it; while it is SCAN_FETCHING it sets is_closed, and what is done then
 * frees it.
 *
 * A filter is asked on the loop about what is in memory and about the rows of a fresh scan; what a
 * query thread fetches it is asked there, and what does not match never reaches the loop. A row
 * that does not match may still be hidden by a newer one in a memtable: dropping it early changes
 * nothing.
 *
 * A fresh scan lives within one turn: nothing changes under it, so it needs no snapshot. Pinning
 * fixes the store (a read transaction of a pooled connection); the memtables are fixed by
 * references and by the version.
 *
 * Invariants:
 *   1. It has a reader of its own, which is pinned, exactly when it is not SCAN_FRESH.
 *   2. While it is SCAN_FETCHING one job has its chunk, its reader and its bounds; the loop looks
 *      at none of these, adds waiters, and may set is_closed.
 *   3. Iterators of memtables are placed only while nothing was committed since: never when a turn
 *      or a job has passed (is_placed).
 *   4. What the store gives comes after all that the scan has passed (`last`), in its direction.
 *   5. It waits in lists only while it is SCAN_FETCHING, and is told once.
 */
#include "backend/scan_int.h"
#include "base/clock.h"
#include "base/machine.h"
#include "base/mem.h"

#define CHUNK_ROWS_MIN 64
#define CHUNK_ROWS_MAX 1024
#define SKIPS_MAX 4096   /* rows passed over in one call before others get a turn ... */
#define LOOKS_MAX 512    /* ... and with a filter, on the loop ... */
#define LOOKS_FETCH 8192 /* ... and on a query thread, before the loop hears of it */

static const struct machine scan_machine = {
    .name = "scan",
    .states = {"fresh", "pinned", "fetching"},
    .allowed = {[SCAN_FRESH] = TO(SCAN_PINNED),
                [SCAN_PINNED] = TO(SCAN_FETCHING),
                [SCAN_FETCHING] = TO(SCAN_PINNED)},
};

void scan_move(struct scan *s, enum scan_state to)
{
    INVARIANT(s->reader != NULL && !s->is_placed);         /* 1 and 3 */
    INVARIANT(!s->is_closed || s->state == SCAN_FETCHING); /* 2 */
    MACHINE_MOVE(&scan_machine, s, state, to);
}

/* ---- open, pin, close ---- */

static void scan_take_chunk(struct scan *s, struct shared_chunk *c)
{
    shared_chunk_unref(s->shared);
    s->shared = c;
    s->chunk = &c->chunk;
    s->chunk_at = 0;
}

void scan_free(struct scan *s)
{
    struct pipeline *p = s->pipeline;
    for (size_t i = 0; i < s->layer_count; i++) pipeline_unref_memtable(p, s->layers[i].memtable);
    if (s->reader != NULL) reader_give(p, s->reader);
    shared_chunk_unref(s->shared);
    scan_lookup_free(s);
    scan_look_free(s);
    if (s->filter != NULL) s->filter->unref(s->filter);
    buf_fini(&s->start);
    buf_fini(&s->end);
    buf_fini(&s->last);
    p->scans_open--;
    mem_free(s);
}

enum err backend_scan_open(struct backend *b, const struct scan_range *range, struct scan **out,
                           struct error *e)
{
    struct pipeline *p = pipeline_of(b);
    struct scan *s = mem_new(sizeof *s);
    *out = NULL;
    s->pipeline = p;
    s->is_reverse = range->is_reverse;
    s->with_values = range->with_values || range->filter != NULL;
    s->filter = range->filter;
    if (s->filter != NULL) s->filter->ref(s->filter);
    s->work_left = range->work_left;
    s->wants_values = range->with_values;
    s->is_undivided = range->is_undivided;
    s->rows_hint = range->rows_hint;
    s->version = p->log.version_newest;
    s->opened_us = clock_mono_us();
    buf_append(&s->start, range->start.data, range->start.len);
    buf_append(&s->end, range->end.data, range->end.len);
    scan_take_chunk(s, shared_chunk_new());
    waiter_list_init(&s->waiters);
    p->scans_open++;
    if (s->start.is_failed || s->end.is_failed) {
        scan_free(s);
        return error_set(e, ERR_NOMEM, "out of memory for a scan");
    }
    uint16_t database = key_database(range->start);
    for (struct memtable *m = p->newest.active; m != NULL; m = m->older) {
        if (m->state == MEM_ASIDE && memtable_is_empty(m)) continue;
        if (s->layer_count == LAYERS_MAX) {
            scan_free(s);
            return error_set(e, ERR_TRYAGAIN, "too many memtables are waiting for the store");
        }
        memtable_ref(m);
        s->layers[s->layer_count++] = (struct layer){.memtable = m};
        uint64_t flushed = memtable_flushed(m, database);
        if (flushed > s->flushed) s->flushed = flushed;
    }
    if (s->flushed != 0) s->is_store_done = true;
    if (slice_cmp(buf_slice(&s->start), buf_slice(&s->end)) >= 0) s->is_store_done = true;
    *out = s;
    return OK;
}

void backend_scan_close(struct scan *s)
{
    if (s == NULL) return;
    if (s->state == SCAN_FETCHING) {
        s->is_closed = true;
        return;
    }
    scan_free(s);
}

static enum err scan_pin(struct scan *s, struct error *e)
{
    INVARIANT((s->reader == NULL) == (s->state == SCAN_FRESH)); /* 1 */
    if (s->state != SCAN_FRESH) return OK;
    enum err r = reader_take(s->pipeline, &s->reader, e);
    if (r != OK) return r;
    r = store_pin(s->reader->reader, e);
    if (r != OK) {
        reader_give(s->pipeline, s->reader);
        s->reader = NULL;
        return r;
    }
    scan_move(s, SCAN_PINNED);
    return OK;
}

enum err backend_scan_pause(struct scan *s, struct error *e)
{
    s->is_placed = false;
    return scan_pin(s, e);
}

struct slice backend_scan_place(const struct scan *s)
{
    return buf_slice(&s->last);
}

uint64_t backend_scan_depends(const struct scan *s)
{
    return s->depends;
}

/* ---- rows from the store ---- */

static bool comes_first(const struct scan *s, struct slice a, struct slice b)
{
    int c = slice_cmp(a, b);
    return s->is_reverse ? c > 0 : c < 0;
}

/* Invariant 4, of a chunk that is new. */
static void chunk_check(const struct scan *s)
{
    if (s->last.len == 0 || s->chunk_at >= s->chunk->count) return;
    INVARIANT(comes_first(s, buf_slice(&s->last), s->chunk->rows[s->chunk_at].key));
}

static void fetch_run(struct job *job)
{
    struct scan *s = (struct scan *)job;
    s->fetch_result = store_fetch(s->reader->reader, &s->fetch, s->chunk, &s->fetch_error);
}

static void fetch_done(struct job *job)
{
    struct scan *s = (struct scan *)job;
    scan_move(s, SCAN_PINNED);
    s->chunk_at = 0;
    if (s->fetch_result == OK && s->chunk->is_last) s->is_store_done = true;
    if (s->fetch_result != OK) {
        damage_note(&s->pipeline->stored.damage, &s->fetch_error);
    } else {
        chunk_check(s);
    }
    /* Told even when it was closed: a waiter here is in no other list. */
    pipeline_wake(s->pipeline, &s->waiters);
    if (s->is_closed) scan_free(s);
}

/* What is left of the range after the last row that the store gave. */
static void fetch_describe(struct scan *s, bool may_wait)
{
    s->fetch = (struct store_fetch){.start = buf_slice(&s->start),
                                    .end = buf_slice(&s->end),
                                    .is_reverse = s->is_reverse,
                                    .with_values = s->with_values,
                                    .may_wait = may_wait};
    if (may_wait && s->filter != NULL) {
        s->fetch.with_values = s->wants_values;
        s->fetch.filter = s->filter;
        s->fetch.looks_max = LOOKS_FETCH;
    }
    size_t rows = s->rows_hint == 0 ? CHUNK_ROWS_MAX : s->rows_hint + 8;
    if (rows < CHUNK_ROWS_MIN) rows = CHUNK_ROWS_MIN;
    if (rows > CHUNK_ROWS_MAX) rows = CHUNK_ROWS_MAX;
    s->fetch.rows_max = rows;
}

/* Narrows the range to what lies after the chunk that was used up. The bounds are buffers of our
 * own; going forward the next start is the last key and a zero byte: its successor. */
static void range_advance(struct scan *s)
{
    const struct store_chunk *c = s->chunk;
    if (c->count == 0 && c->last.len == 0) return;
    struct slice key = c->is_filtered ? buf_slice(&c->last) : c->rows[c->count - 1].key;
    struct buf *bound = s->is_reverse ? &s->end : &s->start;
    buf_clear(bound, SIZE_MAX);
    buf_append(bound, key.data, key.len);
    if (!s->is_reverse) buf_append_byte(bound, 0);
}

/* Rows of a fresh scan, from what the cache remembers or from pages that are in memory; else
 * ERR_WAIT. Without a filter an empty chunk that is not the last does not exist: a fetch gives rows
 * or waits. */
static enum err fetch_now(struct scan *s, struct waiter *w, struct error *e)
{
    struct pipeline *p = s->pipeline;
    fetch_describe(s, false);
    size_t at = 0;
    struct shared_chunk *known = range_cache_get(&p->newest.range_cache, &s->fetch);
    if (known == NULL && s->is_undivided) known = kept_page_get(p, &s->fetch, w, &at);
    if (known != NULL) {
        scan_take_chunk(s, known);
    } else {
        if (s->shared->refs > 1) scan_take_chunk(s, shared_chunk_new());
        p->loading.reads++;
        enum err r = store_fetch(p->stored.reader, &s->fetch, s->chunk, e);
        if (r != OK) return r;
        if (s->chunk->count == s->fetch.rows_max || s->chunk->is_last) {
            range_cache_put(&p->newest.range_cache, &s->fetch, s->shared);
        }
    }
    s->chunk_at = at;
    chunk_check(s);
    if (s->chunk->is_last) s->is_store_done = true;
    return OK;
}

/* The store's next row is at chunk_at, or is_store_done. ERR_WAIT while a thread fetches. */
static enum err store_ready(struct scan *s, struct waiter *w, struct error *e)
{
    if (s->is_store_done || s->chunk_at < s->chunk->count) return OK;
    if (s->state == SCAN_PINNED && s->fetch_result != OK) {
        *e = s->fetch_error;
        return s->fetch_result;
    }
    range_advance(s);
    if (s->start.is_failed || s->end.is_failed) {
        return error_set(e, ERR_NOMEM, "out of memory for a scan");
    }
    if (s->state == SCAN_FRESH) {
        enum err r = fetch_now(s, w, e);
        if (r == OK) return OK;
        if (r != ERR_WAIT && e != NULL) damage_note(&s->pipeline->stored.damage, e);
        if (r != ERR_WAIT) return r;
        if (s->is_undivided) return kept_page_fetch(s->pipeline, &s->fetch, w, e);
        s->pipeline->loading.waits++;
        s->pipeline->loading.queries++;
        r = backend_scan_pause(s, e);
        if (r != OK) return r;
    }
    fetch_describe(s, true);
    if (s->shared->refs > 1) scan_take_chunk(s, shared_chunk_new());
    s->is_placed = false;
    scan_move(s, SCAN_FETCHING);
    s->fetch_result = OK;
    s->job.run = fetch_run;
    s->job.done = fetch_done;
    waiter_add(&s->waiters, w);
    worker_post(s->filter == NULL ? s->pipeline->workers.query : s->pipeline->workers.slow,
                &s->job);
    return error_set(e, ERR_WAIT, "rows are being read");
}

/* ---- the merge ---- */

static void layers_place(struct scan *s)
{
    /* `last` and not the bounds: they move with the store's chunks. */
    struct slice from = s->is_reverse ? buf_slice(&s->end) : buf_slice(&s->start);
    if (s->last.len > 0) from = buf_slice(&s->last);
    for (size_t i = 0; i < s->layer_count; i++) {
        struct layer *layer = &s->layers[i];
        if (s->is_reverse) {
            layer->it = omap_seek_before(&layer->memtable->order, from);
        } else {
            layer->it = omap_seek(&layer->memtable->order, from);
            const struct mem_entry *entry = omap_peek(&layer->it);
            if (s->last.len > 0 && entry != NULL && slice_eq(entry->key, from))
                omap_next(&layer->it);
        }
    }
    s->is_placed = true;
}

static void layer_step(const struct scan *s, struct layer *layer)
{
    if (s->is_reverse) {
        omap_prev(&layer->it);
    } else {
        omap_next(&layer->it);
    }
}

/* The next key of the merge, or NULL at the end. `limit` is the bound that the scan was opened
 * with. */
static const struct slice *merge_next_key(const struct scan *s, struct slice limit)
{
    const struct slice *first = NULL;
    for (size_t i = 0; i < s->layer_count; i++) {
        const struct mem_entry *entry = omap_peek(&s->layers[i].it);
        if (entry == NULL) continue;
        if (first == NULL || comes_first(s, entry->key, *first)) first = &entry->key;
    }
    if (s->chunk_at < s->chunk->count) {
        const struct slice *key = &s->chunk->rows[s->chunk_at].key;
        if (first == NULL || comes_first(s, *key, *first)) first = key;
    }
    if (first == NULL) return NULL;
    if (s->is_reverse ? slice_cmp(*first, limit) < 0 : slice_cmp(*first, limit) >= 0) return NULL;
    return first;
}

/* What the scan may see of `key`: false when that is nothing. *is_matched: a filter is not to be
 * asked any more. */
static bool merge_peek(struct scan *s, struct slice key, struct entry *out, bool *is_matched)
{
    const struct mem_version *found = NULL;
    for (size_t i = 0; i < s->layer_count && found == NULL; i++) {
        const struct mem_entry *entry = omap_peek(&s->layers[i].it);
        if (entry == NULL || !slice_eq(entry->key, key)) continue;
        found = mem_version_at(entry->newest, s->version);
    }
    *is_matched = s->filter == NULL;
    if (found != NULL) {
        depends_raise(&s->depends, found->version);
        if (found->is_tombstone || found->version < s->flushed) return false;
        *out = (struct entry){.exists = true,
                              .version = found->version,
                              .expiry_ms = found->expiry_ms,
                              .value = slice_of(found->value, found->value_len),
                              .depends = found->version};
        return true;
    }
    if (s->chunk_at >= s->chunk->count) return false;
    const struct store_row *row = &s->chunk->rows[s->chunk_at];
    if (!slice_eq(row->key, key)) return false;
    *out = (struct entry){
        .exists = true, .version = row->version, .expiry_ms = row->expiry_ms, .value = row->value};
    *is_matched = *is_matched || s->chunk->is_filtered;
    return true;
}

/* Takes `key` from every source. */
static void merge_pass(struct scan *s, struct slice key)
{
    for (size_t i = 0; i < s->layer_count; i++) {
        const struct mem_entry *entry = omap_peek(&s->layers[i].it);
        if (entry != NULL && slice_eq(entry->key, key)) layer_step(s, &s->layers[i]);
    }
    if (s->chunk_at < s->chunk->count && slice_eq(s->chunk->rows[s->chunk_at].key, key)) {
        s->chunk_at++;
    }
    buf_clear(&s->last, SIZE_MAX);
    buf_append(&s->last, key.data, key.len);
}

/* The scan's place is at `key`: *is_live when it is a row to be returned. Moves on. */
static enum err merge_take(struct scan *s, struct slice key, struct entry *out, bool *is_live,
                           struct waiter *w, struct error *e)
{
    bool is_matched = false;
    *is_live = merge_peek(s, key, out, &is_matched);
    if (*is_live && !is_matched) {
        enum err r = scan_look(s, key, out->value, is_live, w, e);
        if (r != OK) return r;
    }
    merge_pass(s, key);
    return s->last.is_failed ? error_set(e, ERR_NOMEM, "out of memory for a scan") : OK;
}

static enum err let_others_run(struct scan *s, struct waiter *w, struct error *e)
{
    struct pipeline *p = s->pipeline;
    enum err r = backend_scan_pause(s, e);
    if (r != OK) return r;
    s->work = 0;
    backend_yield(&p->base, w);
    return error_set(e, ERR_WAIT, "a long scan yields to other clients");
}

static bool work_take(size_t *left, size_t work)
{
    if (left == NULL) return true;
    bool is_enough = *left >= work;
    *left -= is_enough ? work : *left;
    return is_enough;
}

enum err backend_scan_next(struct scan *s, struct slice *key, struct entry *out, struct waiter *w,
                           struct error *e)
{
    struct pipeline *p = s->pipeline;
    *key = slice_of(NULL, 0);
    depends_raise(&s->depends, s->flushed);
    if (!s->is_placed && clock_mono_us() - s->opened_us > p->options.scan_ms_max * 1000) {
        return error_set(e, ERR_LIMIT, "the scan took longer than scan-timeout (%lld ms)",
                         (long long)p->options.scan_ms_max);
    }
    /* The far bound never moves: range_advance narrows the near one. */
    struct slice limit = s->is_reverse ? buf_slice(&s->start) : buf_slice(&s->end);
    if (s->state == SCAN_FETCHING) {
        waiter_add(&s->waiters, w);
        return error_set(e, ERR_WAIT, "rows are being read");
    }
    unsigned skips_max = s->filter == NULL ? SKIPS_MAX : LOOKS_MAX;
    for (unsigned skipped = 0;; skipped++) {
        bool is_long = skipped > skips_max && !s->is_undivided;
        if (is_long || scan_worked_enough(s)) return let_others_run(s, w, e);
        enum err r = store_ready(s, w, e);
        if (r != OK) return r;
        if (!s->is_placed) layers_place(s);
        const struct slice *next = merge_next_key(s, limit);
        if (next == NULL) return OK;
        struct slice taken = *next;
        size_t chunk_at = s->chunk_at;
        bool is_live = false;
        r = merge_take(s, taken, out, &is_live, w, e);
        if (r != OK) return r;
        if (is_live) {
            *key = taken;
            return OK;
        }
        bool is_row = s->filter != NULL || s->chunk_at != chunk_at;
        if (!work_take(s->work_left, is_row ? SCAN_WORK_ROW : SCAN_WORK_GONE)) {
            return error_set(e, ERR_LIMIT,
                             "a scan reads more rows, including deleted ones and those that a "
                             "filter rejects, than a transaction may");
        }
    }
}
