/* expiry: the layer that remembers when entries end, and the sweeper that removes them. An expired
 * entry is absent at once for all readers (engine_get, scans); this is about the disk, and about
 * telling.
 *
 * Every write of an entry with an expiry adds a row (time, tuple) in its own space. A part of an
 * entry that ends (view_due_at) has a row (time, ff, tuple), parts that have no rows of their own
 * (view_due_from) have (time, 00, tuple): no tuple begins with these bytes. A row is good while the
 * entry still has that time; overwriting an entry does not look for its old row (a blind write
 * reads nothing), so the sweeper finds stale rows and drops them.
 *
 * A row of parts may be about more of them than one transaction removes. Then it stays, and its
 * value is the place where its layer goes on; the sweep ends there and the next begins with it.
 *
 * Invariants: next_due_ms and swept_ms of a database are at most the earliest time of any row of
 * that database, and no row of it is before `from`; one that has none is not in the map. A look
 * begins there and not at the start of the space, where the tombstones of rows already removed lie:
 * many entries may end in the same millisecond.
 */
#include "base/mem.h"
#include "engine/overlay.h"

#define TIME_BYTES 8
#define OF_PART 0xff
#define OF_PARTS 0x00
#define PART_ROWS_MAX 2000 /* of parts, after which a transaction is enough */
#define SWEEP_ARENA_BYTES (64 * 1024)
#define DAMAGED_PAUSE_MS 1000
#define SWEEPS_MAX 100 /* databases in one tick */

/* `mark` is what comes before the tuple: nothing, or the byte of parts. */
static struct slice row_key(struct arena *arena, struct slice key, int64_t time_ms,
                            struct slice mark)
{
    struct slice tuple = engine_key_tuple(key);
    size_t head = KEY_HEAD_BYTES + TIME_BYTES + mark.len;
    uint8_t *p = arena_alloc(arena, head + tuple.len);
    key_head_write(p, key_database(key), SPACE_EXPIRY);
    put_u64(p + KEY_HEAD_BYTES, (uint64_t)(time_ms > 0 ? time_ms : 1));
    bytes_copy(p + KEY_HEAD_BYTES + TIME_BYTES, mark.data, mark.len);
    memcpy(p + head, tuple.data, tuple.len);
    return slice_of(p, head + tuple.len);
}

static struct slice part_key(struct arena *arena, struct slice key, int64_t time_ms, uint8_t mark)
{
    return row_key(arena, key, time_ms, slice_of(&mark, 1));
}

static int64_t row_time_ms(struct slice row)
{
    return (int64_t)get_u64(row.data + KEY_HEAD_BYTES);
}

/* That of the database; of a new one `from_ms` is the earliest row. */
static struct expiry_database *database_of(struct expiry *x, uint16_t database, int64_t from_ms)
{
    struct expiry_database **at = (struct expiry_database **)sparse_slot(&x->databases, database);
    if (*at == NULL) {
        *at = mem_new(sizeof **at);
        (*at)->next_due_ms = (*at)->swept_ms = from_ms;
        (*at)->added_ms = INT64_MAX;
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

/* A row that a commit writes. */
static void row_comes(struct expiry *x, struct slice row)
{
    int64_t time_ms = row_time_ms(row);
    if (slice_eq(row, x->kept)) return; /* the next look begins with it */
    struct expiry_database *d = database_of(x, key_database(row), time_ms);
    if (time_ms < d->next_due_ms) d->next_due_ms = time_ms;
    if (time_ms < d->added_ms) d->added_ms = time_ms;
    if (time_ms <= d->swept_ms) look_from(d, time_ms, row);
    if (time_ms < x->next_due_ms) x->next_due_ms = time_ms;
}

static void expiry_before_commit(void *arg, struct write_set *ws)
{
    struct expiry *x = arg;
    size_t count = ws->count;
    for (size_t i = 0; i < count; i++) {
        struct mutation mu = ws->items[i];
        if (mu.kind != MUTATION_SET) continue;
        if (key_space(mu.key) == SPACE_EXPIRY) row_comes(x, mu.key);
        if (mu.expiry_ms == 0 || key_space(mu.key) != SPACE_DATA) continue;
        struct slice row = row_key(ws->arena, mu.key, mu.expiry_ms, slice_of(NULL, 0));
        write_set_add(ws, MUTATION_SET, row, slice_of(NULL, 0), 0);
        row_comes(x, row);
    }
}

void engine_on_due(struct engine *g,
                   enum err (*due)(void *arg, struct view *v, struct slice key,
                                   struct due_parts *parts, struct error *e),
                   void *arg)
{
    g->expiry.due = due;
    g->expiry.due_arg = arg;
}

void view_due_at(struct view *v, struct slice key, int64_t time_ms)
{
    overlay_set(v->overlay, part_key(v->arena, key, time_ms, OF_PART), slice_of(NULL, 0), 0);
}

void view_due_from(struct view *v, struct slice key, int64_t time_ms, struct slice place)
{
    overlay_set(v->overlay, part_key(v->arena, key, time_ms, OF_PARTS), place, 0);
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

/* The entry that a row is about. */
static struct slice data_key_of(struct expiry *x, struct slice row, size_t head)
{
    struct slice tuple = slice_of(row.data + head, row.len - head);
    uint8_t *key = arena_alloc(&x->arena, KEY_HEAD_BYTES + tuple.len);
    key_head_write(key, key_database(row), SPACE_DATA);
    memcpy(key + KEY_HEAD_BYTES, tuple.data, tuple.len);
    return slice_of(key, KEY_HEAD_BYTES + tuple.len);
}

/* The layer whose parts they are removes what has ended. */
static enum err sweep_parts(struct expiry *x, struct overlay *o, struct slice row,
                            struct slice place, struct error *e)
{
    struct view v = view_over(x->engine, o, key_database(row), &x->waiter);
    size_t head = KEY_HEAD_BYTES + TIME_BYTES;
    struct due_parts parts = {.time_ms = row_time_ms(row),
                              .is_from = row.data[head] == OF_PARTS,
                              .place = arena_copy(&x->arena, place)};
    enum err r = OK;
    bool is_done = x->due == NULL;
    o->cause = CAUSE_FIELDS_EXPIRED;
    if (!is_done) {
        r = x->due(x->due_arg, &v, data_key_of(x, row, head + 1), &parts, e);
        is_done = parts.place.len == 0;
    }
    o->cause = CAUSE_EXPIRED;
    if (is_done) {
        overlay_delete(o, row);
    } else {
        overlay_set(o, row, parts.place, 0);
        x->kept = row;
    }
    return r;
}

/* The removal of what one row is about. */
static enum err sweep_row(struct expiry *x, struct overlay *o, struct slice row, struct slice value,
                          struct error *e)
{
    struct entry entry;
    struct slice copy = arena_copy(&x->arena, row);
    size_t head = KEY_HEAD_BYTES + TIME_BYTES;
    bool of_parts = copy.len > head && (copy.data[head] == OF_PART || copy.data[head] == OF_PARTS);
    if (of_parts) return sweep_parts(x, o, copy, value, e);
    struct slice data_key = data_key_of(x, copy, head);
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
                               .with_values = true,
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
        bool is_enough = i == batch || o->keys[SPACE_ELEMENT] >= PART_ROWS_MAX;
        if (row_time_ms(row) > o->now_ms || is_enough) {
            *left = arena_copy(&x->arena, row);
            break;
        }
        r = sweep_row(x, o, row, entry.value, e);
        *left = x->kept;
        if (left->len > 0) break;
    }
    backend_scan_close(scan);
    return r;
}

/* All rows before `left` are gone; empty: all rows. But those that the sweep itself has written. */
static void swept(struct expiry *x, uint16_t database, struct slice left)
{
    struct expiry_database *d = database_of(x, database, 0);
    bool has_added = d->added_ms != INT64_MAX;
    if (left.len == 0 && !has_added) {
        *sparse_slot(&x->databases, database) = NULL;
        database_free(d);
        return;
    }
    buf_clear(&d->from, SIZE_MAX);
    if (has_added && (left.len == 0 || d->added_ms <= row_time_ms(left))) {
        d->next_due_ms = d->swept_ms = d->added_ms;
        return;
    }
    d->next_due_ms = d->swept_ms = row_time_ms(left);
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
    database_of(x, database, 0)->added_ms = INT64_MAX;
    x->kept = slice_of(NULL, 0);
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
    x->kept = slice_of(NULL, 0);
    if (r == OK) {
        swept(x, database, left);
        x->sweeps++;
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
    uint64_t sweeps = x->sweeps;
    if (!x->has_begun || x->next_due_ms > engine_time_ms(x->engine)) return false;
    expiry_sweep(x);
    return x->sweeps > sweeps;
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
