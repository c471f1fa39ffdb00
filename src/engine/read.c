/* read: single entries and ranges, over what a transaction has written. */
#include "base/bytes.h"
#include "base/mem.h"
#include "codec/key.h"
#include "engine/overlay.h"

#define EXPIRED_SKIPS_MAX 4096 /* expired rows passed over in one call before others get a turn */
/* Of second looks of a filter, which asks for rows: so many in a row that it refused, and so much
 * work (row_filter_work), before others get a turn; and so much in a transaction. */
#define REFUSED_MAX 64
#define TURN_WORK (1u << 20)
#define UNDIVIDED_WORK (64u << 20)
#define NAMED_BYTES_MAX 120 /* of a key, in an error */
#define GAP_ROWS_MIN 32     /* fewer rows that are gone are passed each time */
#define GONE_STEPS 40       /* for each of them (engine_take_steps) */

/* A damaged entry is named by its key. */
static enum err name_key(struct slice key, struct error *e)
{
    struct buf text;
    if (e == NULL || key_space(key) != SPACE_DATA) return ERR_CORRUPT;
    struct error why = *e;
    buf_init(&text);
    key_to_json(engine_key_tuple(key), &text);
    buf_require(&text);
    int len = (int)(text.len < NAMED_BYTES_MAX ? text.len : NAMED_BYTES_MAX);
    (void)error_set(e, ERR_CORRUPT, "%.*s%s %s", len, (const char *)text.data,
                    text.len > NAMED_BYTES_MAX ? "..." : "", why.text);
    buf_fini(&text);
    return ERR_CORRUPT;
}

enum err engine_get(struct engine *g, struct overlay *o, struct slice key, struct entry *out,
                    struct waiter *w, struct error *e)
{
    if (o != NULL) {
        const struct written *own = overlay_find(o, key);
        if (own != NULL) {
            overlay_entry(o, own, out);
            return OK;
        }
        if (overlay_is_flushed(o, key_database(key))) {
            *out = (struct entry){0};
            return OK;
        }
    }
    enum err r = backend_load(g->backend, key, out, w, e);
    if (r == ERR_CORRUPT) return name_key(key, e);
    if (r != OK) return r;
    /* Most entries never expire: no need to know the time. */
    bool may_expire = out->exists && out->expiry_ms != 0;
    if (may_expire && engine_is_expired(out, engine_time_ms(g))) out->exists = false;
    return OK;
}

/* ---- scans ---- */

struct engine_scan {
    struct backend *backend;
    struct scan *scan; /* NULL: the database was flushed by the overlay, or the range is new */
    int64_t now_ms;
    bool is_undivided, is_reverse;
    const struct row_filter *filter; /* borrowed for the turn; the backend's scan has a reference */
    /* A row that the filter is being asked about again: copied, as other rows are read for it. */
    bool has_held;
    struct buf held_key, held_value;
    struct entry held;
    unsigned refused; /* rows in a row */
    uint64_t work;    /* of second looks: in this turn, or of all of an undivided scan */
    uint64_t depends; /* of rows that the filter asked for */
    /* Merged into it: what the overlay wrote in the range, in order. */
    struct overlay *overlay;
    size_t *work_left;          /* may be NULL */
    struct written *const *own; /* in key order, whatever the direction */
    size_t own_count, own_at;
    /* Until the first row is found, when a gap may be (gaps.h): the whole range, in the overlay's
     * arena, and how many rows that it had deleted were passed. */
    struct slice start, end;
    size_t gone;
    bool has_row; /* `key` and `row` are the scan's next, not yet used */
    struct slice key;
    struct entry row;
};

static void look_for_gap(struct engine_scan *s, const struct scan_range *range)
{
    if (s->filter != NULL || s->own_count < GAP_ROWS_MIN) return;
    s->start = arena_copy(s->overlay->arena, range->start);
    s->end = arena_copy(s->overlay->arena, range->end);
}

/* The first row that is there; key.len 0: there is none. */
static void found_first(struct engine_scan *s, struct slice key)
{
    struct overlay *o = s->overlay;
    if (s->start.data == NULL) return;
    struct slice start = s->start;
    struct slice end = s->end;
    s->start = slice_of(NULL, 0);
    if (s->gone < GAP_ROWS_MIN) return;
    if (key.len > 0 && s->is_reverse) { /* behind the key: it and a 0 */
        uint8_t *next = arena_alloc(o->arena, key.len + 1);
        memcpy(next, key.data, key.len);
        next[key.len] = 0;
        start = slice_of(next, key.len + 1);
    } else if (key.len > 0) {
        end = arena_copy(o->arena, key);
    }
    gaps_add(&o->gaps, engine_version_next(o->engine), start, end);
}

enum err engine_scan_open(struct engine *g, struct overlay *o, const struct scan_range *range,
                          struct engine_scan **out, struct error *e)
{
    struct engine_scan *s = mem_new(sizeof *s);
    s->backend = g->backend;
    s->now_ms = o != NULL ? o->now_ms : engine_time_ms(g);
    s->is_undivided = range->is_undivided;
    s->is_reverse = range->is_reverse;
    s->filter = range->filter;
    s->overlay = o;
    s->work_left = o != NULL ? &o->work_left : range->work_left;
    struct scan_range below = *range;
    enum err r = OK;
    if (o != NULL) {
        INVARIANT(range->is_undivided);
        g->had_large = g->had_large || range->filter != NULL; /* it may look at very much */
        gaps_narrow(&o->gaps, engine_version_next(g), &below.start, &below.end);
        s->own_count = overlay_range(o, below.start, below.end, &s->own);
        look_for_gap(s, range);
    }
    bool is_flushed = o != NULL && overlay_is_flushed(o, key_database(range->start));
    if (!range->is_new && !is_flushed && slice_cmp(below.start, below.end) < 0) {
        below.work_left = s->work_left;
        below.with_values = below.with_values || (s->filter != NULL && s->filter->judge != NULL);
        r = backend_scan_open(g->backend, &below, &s->scan, e);
    }
    if (r != OK) {
        mem_free(s);
        s = NULL;
    }
    *out = s;
    return r;
}

static bool work_take(size_t *left)
{
    if (left == NULL) return true;
    if (*left < SCAN_WORK_ROW) return false;
    *left -= SCAN_WORK_ROW;
    return true;
}

static enum err too_many(struct error *e)
{
    return error_set(e, ERR_LIMIT, "more rows than one transaction may read (%d)",
                     OVERLAY_ROWS_MAX);
}

/* The backend's next row that has not expired. */
static enum err scan_live_row(struct engine_scan *s, struct slice *key, struct entry *out,
                              struct waiter *w, struct error *e)
{
    key->len = 0;
    if (s->scan == NULL) return OK;
    for (unsigned skipped = 0;; skipped++) {
        enum err r = backend_scan_next(s->scan, key, out, w, e);
        if (r != OK || key->len == 0 || !engine_is_expired(out, s->now_ms)) return r;
        if (!work_take(s->work_left)) return too_many(e);
        if (skipped < EXPIRED_SKIPS_MAX || s->is_undivided) continue;
        r = engine_scan_pause(s, e);
        if (r != OK) return r;
        backend_yield(s->backend, w);
        return error_set(e, ERR_WAIT, "a long scan yields to other clients");
    }
}

static const struct written *scan_own(const struct engine_scan *s)
{
    if (s->own_at == s->own_count) return NULL;
    return s->own[s->is_reverse ? s->own_count - 1 - s->own_at : s->own_at];
}

/* One step of the merge of the backend's rows with the overlay's; the overlay wins. */
static enum err scan_merge(struct engine_scan *s, struct slice *key, struct entry *out,
                           struct waiter *w, struct error *e)
{
    for (;;) {
        if (!s->has_row) {
            enum err r = scan_live_row(s, &s->key, &s->row, w, e);
            if (r != OK) return r;
            s->has_row = true;
        }
        const struct written *own = scan_own(s);
        int order = own == NULL       ? -1
                    : s->key.len == 0 ? 1
                    : s->is_reverse   ? slice_cmp(own->key, s->key)
                                      : slice_cmp(s->key, own->key);
        if (order < 0) {
            *key = s->key;
            *out = s->row;
            s->has_row = s->key.len == 0;
            found_first(s, *key);
            return OK;
        }
        s->own_at++;
        if (order == 0) s->has_row = false;
        overlay_entry(s->overlay, own, out);
        if (!out->exists) {
            enum err r = engine_take_steps(s->overlay, GONE_STEPS, e);
            if (r != OK) return r;
            s->gone++;
            continue;
        }
        if (s->filter != NULL && !s->filter->matches(s->filter, out->value)) continue;
        *key = own->key;
        found_first(s, *key);
        return OK;
    }
}

static enum err scan_row(struct engine_scan *s, struct slice *key, struct entry *out,
                         struct waiter *w, struct error *e)
{
    if (s->overlay == NULL) return scan_live_row(s, key, out, w, e);
    if (!work_take(s->work_left)) return too_many(e);
    return scan_merge(s, key, out, w, e);
}

/* Those that have expired are not there. */
static void drop_expired(const struct engine_scan *s, struct entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (entries[i].exists && engine_is_expired(&entries[i], s->now_ms)) {
            entries[i].exists = false;
        }
    }
}

/* An incarnation begins with the version of the commit that made it (collection/rows.h). */
bool engine_is_new_row(const struct overlay *o, struct slice key)
{
    return key_space(key) == SPACE_ELEMENT && key.len >= KEY_HEAD_BYTES + sizeof(uint64_t) &&
           get_u64(key.data + KEY_HEAD_BYTES) == engine_overlay_version(o);
}

static enum err load_over(struct engine_scan *s, const struct slice *keys, size_t count,
                          struct entry *out, struct waiter *w, struct error *e)
{
    enum err r = OK;
    for (size_t i = 0; i < count && r == OK; i++) {
        out[i] = (struct entry){0};
        bool is_new = engine_is_new_row(s->overlay, keys[i]);
        if (is_new && overlay_find(s->overlay, keys[i]) == NULL) continue;
        r = engine_get(s->overlay->engine, s->overlay, keys[i], &out[i], w, e);
    }
    return r;
}

enum err engine_scan_load(struct engine_scan *s, const struct slice *keys, size_t count,
                          struct entry *out, struct waiter *w, struct error *e)
{
    if (s->overlay != NULL) return load_over(s, keys, count, out, w, e);
    if (s->scan == NULL) return OK;
    enum err r = backend_scan_load(s->scan, keys, count, out, w, e);
    if (r == OK) drop_expired(s, out, count);
    return r;
}

/* ---- with a filter that asks for more ---- */

struct asked {
    struct engine_scan *scan;
    struct waiter *waiter;
    uint64_t bytes; /* of what was found */
};

static enum err rows_of_scan(const struct row_source *from, const struct slice *keys, size_t count,
                             struct entry *out, struct error *e)
{
    struct asked *a = from->arg;
    struct engine_scan *s = a->scan;
    for (size_t i = 0; i < count; i++) {
        if (!work_take(s->work_left)) return too_many(e);
    }
    enum err r = s->overlay != NULL
                     ? load_over(s, keys, count, out, a->waiter, e)
                     : backend_scan_load_rows(s->scan, keys, count, out, a->waiter, e);
    if (r != OK) return r;
    drop_expired(s, out, count);
    a->bytes = 0;
    for (size_t i = 0; i < count; i++) {
        depends_raise(&s->depends, out[i].depends);
        a->bytes += out[i].value.len;
    }
    return OK;
}

enum err engine_scan_matches(struct engine_scan *s, const struct row_filter *f,
                             struct row_look *look, struct waiter *w, struct error *e)
{
    struct arena arena;
    struct asked asked = {.scan = s, .waiter = w};
    struct row_source from = {
        .arena = &arena, .work_max = ROW_LOOP_WORK_MAX, .get = rows_of_scan, .arg = &asked};
    arena_init(&arena, 1024);
    enum err r = row_filter_decide(f, look->key, look->value, &from, &look->matches, e);
    look->work = row_filter_work(f, slice_of(NULL, asked.bytes));
    arena_fini(&arena);
    return r;
}

static void hold(struct engine_scan *s, struct slice key, const struct entry *row)
{
    buf_clear(&s->held_key, SIZE_MAX);
    buf_clear(&s->held_value, SIZE_MAX);
    buf_append(&s->held_key, key.data, key.len);
    buf_append(&s->held_value, row->value.data, row->value.len);
    buf_require(&s->held_key);
    buf_require(&s->held_value);
    s->held = *row;
    s->held.value = buf_slice(&s->held_value);
    s->has_held = true;
}

/* After much work, or long without a row that matches, others get a turn. */
static enum err let_others_run(struct engine_scan *s, struct waiter *w, struct error *e)
{
    if (s->is_undivided) {
        if (s->work <= UNDIVIDED_WORK) return OK;
        return error_set(e, ERR_LIMIT, "where: the filter reads more bytes than a transaction may");
    }
    if (s->refused < REFUSED_MAX && s->work <= TURN_WORK) return OK;
    s->refused = 0;
    s->work = 0;
    enum err r = engine_scan_pause(s, e);
    if (r != OK) return r;
    backend_yield(s->backend, w);
    return error_set(e, ERR_WAIT, "a long scan yields to other clients");
}

enum err engine_scan_next(struct engine_scan *s, struct slice *key, struct entry *out,
                          struct waiter *w, struct error *e)
{
    const struct row_filter *f = s->filter;
    if (f == NULL) return scan_row(s, key, out, w, e);
    struct row_look look = {.matches = false};
    while (!look.matches) {
        enum err r = let_others_run(s, w, e);
        if (r == OK && !s->has_held) {
            r = scan_row(s, key, out, w, e);
            if (r != OK || key->len == 0) return r;
            if (!row_filter_asks(f, out->value)) return OK;
            hold(s, *key, out);
        }
        *key = look.key = buf_slice(&s->held_key);
        *out = s->held;
        look.value = out->value;
        if (r == OK) r = engine_scan_matches(s, f, &look, w, e);
        if (r != OK) return r;
        s->has_held = false;
        s->work += look.work;
        s->refused = look.matches ? 0 : s->refused + 1;
    }
    return OK;
}

enum err engine_scan_pause(struct engine_scan *s, struct error *e)
{
    return backend_scan_pause(s->scan, e);
}

struct slice engine_scan_place(const struct engine_scan *s)
{
    return s->scan == NULL ? slice_of(NULL, 0) : backend_scan_place(s->scan);
}

uint64_t engine_scan_depends(const struct engine_scan *s)
{
    uint64_t below = s->scan == NULL ? 0 : backend_scan_depends(s->scan);
    return below > s->depends ? below : s->depends;
}

void engine_scan_close(struct engine_scan *s)
{
    if (s == NULL) return;
    if (s->scan != NULL) backend_scan_close(s->scan);
    buf_fini(&s->held_key);
    buf_fini(&s->held_value);
    mem_free(s);
}
