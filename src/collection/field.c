/* field: the time to live of a hash's fields. A field is not there once its time has come, for
 * every reader; its rows, or its item in the head, go when the hash is written or swept. The key
 * goes with its last field.
 *
 * The sweeper of the engine (engine/expiry.c) is told the time of each field that gets one
 * (view_due_at). A hash that comes to another key with its fields (RENAME) is looked at soon, and
 * from then on at the time of the field that ends next.
 */
#include "collection/walk.h"

#define DUE_MAX 1000 /* fields removed in one transaction of the sweeper */

/* Up to `max` names, in the arena, of fields whose time has come, those that ended first; and the
 * time of the next one (0 = none has). */
struct due {
    struct slice names[DUE_MAX];
    size_t count;
    int64_t next_ms;
};

static void due_in_items(const struct collection *c, struct due *d)
{
    for (uint64_t i = 0; i < c->head.count; i++) {
        int64_t ms = c->items[i].expiry_ms;
        if (ms != 0 && (d->next_ms == 0 || ms < d->next_ms)) d->next_ms = ms;
    }
}

/* The scan over the rows of times up to `until_ms` (0 = all). */
static enum err open_times(struct collection *c, int64_t until_ms, struct engine_scan **out,
                           struct error *e)
{
    struct element_rows rows = collection_rows(c);
    struct arena *arena = c->view->arena;
    struct scan_range range = {.start = rows_start(arena, &rows, ROW_EXPIRY),
                               .end = rows_end(arena, &rows, ROW_EXPIRY),
                               .with_values = true,
                               .is_undivided = true};
    if (until_ms != 0) range.end = row_of_expiry(arena, &rows, until_ms + 1, slice_of(NULL, 0));
    return engine_scan_open(c->view->engine, c->view->overlay, &range, out, e);
}

static enum err due_in_rows(struct collection *c, struct due *d, struct error *e)
{
    struct engine_scan *scan = NULL;
    enum err r = open_times(c, 0, &scan, e);
    while (r == OK) {
        struct slice key;
        struct entry row;
        r = engine_scan_next(scan, &key, &row, c->view->waiter, e);
        if (r != OK || key.len == 0) break;
        d->next_ms = row_expiry_ms(key);
        if (d->next_ms > c->view->now_ms || d->count == DUE_MAX) break;
        d->names[d->count++] = arena_copy(c->view->arena, row_expiry_field(key, row.value));
        d->next_ms = 0;
    }
    engine_scan_close(scan);
    return r;
}

enum err collection_fields_due(struct collections *all, struct view *v, struct slice key,
                               struct error *e)
{
    struct collection c;
    struct due *d = arena_alloc(v->arena, sizeof *d);
    bool is_one = false;
    d->count = 0;
    d->next_ms = 0;
    enum err r = collection_look(all, v, key, &c, &is_one, e);
    if (r != OK || !is_one || c.head.kind != COLLECTION_HASH) return r;
    if (c.head.is_spread) {
        if (c.head.expiring > 0) r = due_in_rows(&c, d, e);
    } else {
        c.is_changed = c.has_expired; /* they were left out when it was read */
        due_in_items(&c, d);
    }
    for (size_t i = 0; i < d->count && r == OK; i++) {
        bool was_there = false;
        r = collection_remove(&c, d->names[i], &was_there, NULL, e);
    }
    if (r == OK && d->next_ms != 0) {
        view_due_at(v, key, d->next_ms > v->now_ms ? d->next_ms : v->now_ms + 1);
    }
    return r == OK ? collection_save(&c, e) : r;
}

/* Without those whose time has come, and which are not swept yet. */
enum err collection_length(struct collection *c, uint64_t *out, struct error *e)
{
    *out = c->head.count;
    if (!c->head.is_spread || c->head.expiring == 0) return OK;
    struct engine_scan *scan = NULL;
    enum err r = open_times(c, c->view->now_ms, &scan, e);
    while (r == OK) {
        struct slice key;
        struct entry row;
        r = engine_scan_next(scan, &key, &row, c->view->waiter, e);
        if (r != OK || key.len == 0) break;
        --*out;
    }
    if (scan != NULL) depends_raise(&c->view->depends, engine_scan_depends(scan));
    engine_scan_close(scan);
    return r;
}
