/* expiry: the layer that remembers when entries end, and the sweeper that removes them. An expired
 * entry is absent at once for all readers (engine_get, scans); this is about the disk, and about
 * telling.
 *
 * Every write of an entry with an expiry adds a row (time, tuple) in its own space. A row is good
 * while the entry still has that time; overwriting an entry does not look for its old row (a blind
 * write reads nothing), so the sweeper finds stale rows and drops them.
 *
 * Invariants: next_due_ms and swept_ms of a database are at most the earliest time of any row of
 * that database, and no row of it is before `from`; one that has none is not in the map. A look
 * begins there and not at the start of the space, where the tombstones of rows already removed lie:
 * many entries may end in the same millisecond.
 */
#include "base/mem.h"
#include "engine/overlay.h"

#define TIME_BYTES 8
#define SWEEP_ARENA_BYTES (64 * 1024)
#define DAMAGED_PAUSE_MS 1000
#define SWEEPS_MAX 100 /* databases in one tick */

static struct slice row_key(struct arena *arena, struct slice key, int64_t expiry_ms)
{
    struct slice tuple = engine_key_tuple(key);
    uint8_t *p = arena_alloc(arena, KEY_HEAD_BYTES + TIME_BYTES + tuple.len);
    key_head_write(p, key_database(key), SPACE_EXPIRY);
    put_u64(p + KEY_HEAD_BYTES, (uint64_t)expiry_ms);
    memcpy(p + KEY_HEAD_BYTES + TIME_BYTES, tuple.data, tuple.len);
    return slice_of(p, KEY_HEAD_BYTES + TIME_BYTES + tuple.len);
}

/* That of the database; of a new one `from_ms` is the earliest row. */
static struct expiry_database *database_of(struct expiry *x, uint16_t database, int64_t from_ms)
{
    struct expiry_database **at = (struct expiry_database **)sparse_slot(&x->databases, database);
    if (*at == NULL) {
        *at = mem_new(sizeof **at);
        (*at)->next_due_ms = (*at)->swept_ms = from_ms;
    }
    return *at;
}

/* A row that may be before the place where looks begin. */
static void look_from(struct expiry_database *d, int64_t time_ms, struct slice row)
{
    bool is_after = time_ms == d->swept_ms && d->from.len > 0 &&
                    slice_cmp(row, buf_slice(&d->from)) >= 0;
    if (is_after) return;
    d->swept_ms = time_ms;
    d->from.len = 0;
}

static void database_free(struct expiry_database *d)
{
    buf_fini(&d->from);
    mem_free(d);
}

static void expiry_before_commit(void *arg, struct write_set *ws)
{
    struct expiry *x = arg;
    size_t count = ws->count;
    for (size_t i = 0; i < count; i++) {
        struct mutation mu = ws->items[i];
        if (mu.kind != MUTATION_SET || mu.expiry_ms == 0) continue;
        if (key_space(mu.key) != SPACE_DATA) continue;
        int64_t time_ms = mu.expiry_ms > 0 ? mu.expiry_ms : 1;
        struct slice row = row_key(ws->arena, mu.key, time_ms);
        write_set_add(ws, MUTATION_SET, row, slice_of(NULL, 0), 0);
        struct expiry_database *d = database_of(x, key_database(mu.key), time_ms);
        if (time_ms < d->next_due_ms) d->next_due_ms = time_ms;
        if (time_ms <= d->swept_ms) look_from(d, time_ms, row);
        if (time_ms < x->next_due_ms) x->next_due_ms = time_ms;
    }
}

static void nothing_ready(struct waiter *w)
{
    /* The next tick looks again. */
    (void)w;
}

void expiry_init(struct expiry *x, struct engine *g)
{
    *x = (struct expiry){.engine = g, .waiter = {.ready = nothing_ready}};
    arena_init(&x->arena, SWEEP_ARENA_BYTES);
    struct layer layer = {.before_commit = expiry_before_commit, .arg = x};
    engine_add_layer(g, &layer);
}

void expiry_fini(struct expiry *x)
{
    struct expiry_database *d;
    waiter_cancel(&x->waiter);
    for (uint32_t i = 0; (d = sparse_next(&x->databases, &i)) != NULL; i++) database_free(d);
    sparse_fini(&x->databases);
    arena_fini(&x->arena);
}

static int64_t row_time_ms(struct slice row)
{
    return (int64_t)get_u64(row.data + KEY_HEAD_BYTES);
}

/* The removal of what one row is about. */
static enum err sweep_row(struct expiry *x, struct overlay *o, struct slice row, struct error *e)
{
    struct entry entry;
    struct slice copy = arena_copy(&x->arena, row);
    struct slice tuple = slice_of(copy.data + KEY_HEAD_BYTES + TIME_BYTES,
                                  copy.len - KEY_HEAD_BYTES - TIME_BYTES);
    uint8_t *key = arena_alloc(&x->arena, KEY_HEAD_BYTES + tuple.len);
    key_head_write(key, key_database(row), SPACE_DATA);
    memcpy(key + KEY_HEAD_BYTES, tuple.data, tuple.len);
    struct slice data_key = slice_of(key, KEY_HEAD_BYTES + tuple.len);
    enum err r = backend_load(x->engine->backend, data_key, &entry, &x->waiter, e);
    if (r != OK) return r;
    int64_t expiry_ms = entry.expiry_ms > 0 ? entry.expiry_ms : entry.expiry_ms != 0;
    if (entry.exists && expiry_ms == row_time_ms(copy)) {
        overlay_delete(o, data_key);
        x->expired++;
    }
    overlay_delete(o, copy);
    return OK;
}

/* Less than asked for after a batch that did not fit into a transaction. */
static unsigned batch_max(const struct expiry *x)
{
    unsigned wanted = x->engine->options.expire_batch;
    return x->batch > 0 && x->batch < wanted ? x->batch : wanted;
}

/* What follows from a batch (index rows) may be more than a transaction takes: then it is tried
 * with half of it, and it grows again while all goes well. */
static void batch_learn(struct expiry *x, enum err result)
{
    unsigned now = batch_max(x);
    if (result == ERR_LIMIT && now > 1) {
        x->batch = now / 2;
    } else if (result == OK && now < x->engine->options.expire_batch) {
        x->batch = now * 2;
    }
}

/* Collects due rows of a database, a batch at most; *left is the first that is left, in the arena,
 * and empty when there is none. Undivided: the look is over within this turn, whatever lies in the
 * way, or tried again. */
static enum err sweep_collect(struct expiry *x, uint16_t database, struct overlay *o,
                              struct slice *left, struct error *e)
{
    const struct expiry_database *d = database_of(x, database, 0);
    uint8_t start[KEY_HEAD_BYTES + TIME_BYTES] = {KEY_HEAD(database, SPACE_EXPIRY)};
    put_u64(start + KEY_HEAD_BYTES, (uint64_t)d->swept_ms);
    uint8_t end[KEY_HEAD_BYTES] = {KEY_HEAD(database, SPACE_EXPIRY + 1)};
    struct backend *b = x->engine->backend;
    unsigned batch = batch_max(x);
    struct scan_range range = {.start = d->from.len > 0 ? buf_slice(&d->from)
                                                        : slice_of(start, sizeof start),
                               .end = slice_of(end, sizeof end),
                               .is_undivided = true,
                               .rows_hint = batch};
    struct scan *scan = NULL;
    enum err r = backend_scan_open(b, &range, &scan, e);
    *left = slice_of(NULL, 0);
    for (unsigned i = 0; r == OK; i++) {
        struct slice row;
        struct entry entry;
        r = backend_scan_next(scan, &row, &entry, &x->waiter, e);
        if (r != OK || row.len == 0) break;
        if (row_time_ms(row) > o->now_ms || i == batch) {
            *left = arena_copy(&x->arena, row);
            break;
        }
        r = sweep_row(x, o, row, e);
    }
    backend_scan_close(scan);
    return r;
}

/* All rows before `left` are gone; empty: all rows. */
static void swept(struct expiry *x, uint16_t database, struct slice left)
{
    struct expiry_database *d = database_of(x, database, 0);
    if (left.len == 0) {
        *sparse_slot(&x->databases, database) = NULL;
        database_free(d);
        return;
    }
    d->next_due_ms = d->swept_ms = row_time_ms(left);
    buf_clear(&d->from, SIZE_MAX);
    buf_append(&d->from, left.data, left.len);
    if (!d->from.is_failed) return;
    buf_fini(&d->from); /* then from the first of that time */
}

static void sweep_database(struct expiry *x, uint16_t database)
{
    struct error e;
    struct slice left = {0};
    uint64_t expired = x->expired;
    uint64_t version = 0;
    int64_t now_ms = engine_time_ms(x->engine);
    enum err r = engine_admit(x->engine, &x->waiter, &e);
    if (r != OK) return;
    struct overlay *o = engine_begin(x->engine, &x->arena);
    struct view v = view_over(x->engine, o, database, &x->waiter);
    view_exempt(&v);
    o->cause = CAUSE_EXPIRED;
    r = sweep_collect(x, database, o, &left, &e);
    if (r == OK) r = engine_derive(&v, &e);
    if (r == OK) {
        r = engine_end(o, &version, &x->waiter, &e);
    } else {
        engine_discard(o);
    }
    if (r == OK) {
        swept(x, database, left);
    } else {
        x->expired = expired;
    }
    batch_learn(x, r);
    /* What is damaged is not asked for at every tick. */
    if (r == ERR_CORRUPT) database_of(x, database, 0)->next_due_ms = now_ms + DAMAGED_PAUSE_MS;
    arena_reset(&x->arena);
}

/* Those that have something now may have rows. */
static void begin(struct expiry *x)
{
    struct backend *b = x->engine->backend;
    uint16_t database = 0;
    for (uint32_t i = 0; backend_database_next(b, i, &database); i = (uint32_t)database + 1) {
        struct expiry_database *d = database_of(x, database, 0);
        d->next_due_ms = d->swept_ms = 0;
        d->from.len = 0;
    }
    x->next_due_ms = 0;
    x->has_begun = true;
}

bool expiry_go_on(struct expiry *x)
{
    uint64_t expired = x->expired;
    if (!x->has_begun || x->next_due_ms > engine_time_ms(x->engine)) return false;
    expiry_sweep(x);
    return x->expired > expired;
}

void expiry_sweep(struct expiry *x)
{
    int64_t now_ms = engine_time_ms(x->engine);
    if (x->is_off) return;
    if (!x->has_begun) begin(x);
    if (x->next_due_ms > now_ms) return;
    struct expiry_database *d;
    unsigned sweeps = 0;
    for (uint32_t i = x->sweep_from; (d = sparse_next(&x->databases, &i)) != NULL; i++) {
        if (d->next_due_ms > now_ms) continue;
        x->sweep_from = i; /* the next tick goes on here ... */
        /* Still waiting for a read of an earlier look. */
        if (x->waiter.next != NULL || sweeps++ == SWEEPS_MAX) return;
        sweep_database(x, (uint16_t)i);
    }
    x->sweep_from = 0; /* ... or begins anew */
    x->next_due_ms = INT64_MAX;
    for (uint32_t i = 0; (d = sparse_next(&x->databases, &i)) != NULL; i++) {
        if (d->next_due_ms < x->next_due_ms) x->next_due_ms = d->next_due_ms;
    }
}
