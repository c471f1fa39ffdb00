/* field: the time to live of a hash's fields. A field is not there once its time has come, for
 * every reader; its rows, or its item in the head, go when the hash is written or swept. The key
 * goes with its last field.
 *
 * The sweeper of the engine (engine/expiry.c) is told the time of each field that gets one
 * (view_due_at): at that time the rows of fields that end then are looked at, and no others, so
 * that the tombstones of those that ended before are not walked again. A hash that comes to another
 * key with its fields (RENAME) is looked at soon, and from then on at the time of the field that
 * ends next. A place is a row t: all before it are gone.
 */
#include "collection/walk.h"

#define DUE_MAX 1000 /* fields removed in one call of the sweeper */

static struct slice times_at(struct collection *c, int64_t time_ms)
{
    struct element_rows rows = collection_rows(c);
    return row_of_expiry(c->view->arena, &rows, time_ms, slice_of(NULL, 0));
}

/* The field of a row of times goes. A row that says nothing about the field as it is goes alone. */
static enum err remove_due(struct collection *c, struct slice time_row, struct slice field,
                           struct error *e)
{
    struct entry row;
    struct element_rows rows = collection_rows(c);
    struct arena *arena = c->view->arena;
    bool was_there = false;
    if (view_own(c->view, time_row, &row)) return OK; /* with another call of the transaction */
    enum err r = collection_row(c, row_of_name(arena, &rows, ROW_FIELD, field), &row, e);
    if (r != OK) return r;
    if (row.exists && row.expiry_ms == row_expiry_ms(time_row)) {
        return collection_remove(c, field, &was_there, NULL, e);
    }
    view_delete(c->view, arena_copy(arena, time_row));
    if (c->head.expiring > 0) c->head.expiring--;
    c->is_changed = true;
    return OK;
}

/* The rows that the call is about: [*start, *end). */
static void rows_due(struct collection *c, const struct due_parts *p, struct slice *start,
                     struct slice *end)
{
    struct element_rows rows = collection_rows(c);
    struct slice first = rows_start(c->view->arena, &rows, ROW_EXPIRY);
    *start = p->is_from ? first : times_at(c, p->time_ms);
    *end = p->is_from ? rows_end(c->view->arena, &rows, ROW_EXPIRY) : times_at(c, p->time_ms + 1);
    if (slice_has_prefix(p->place, first)) *start = p->place; /* and not of another hash */
}

static enum err due_in_rows(struct collection *c, struct due_parts *p, struct error *e)
{
    struct view *v = c->view;
    struct engine_scan *scan = NULL;
    struct scan_range range = {.with_values = true, .is_undivided = true};
    rows_due(c, p, &range.start, &range.end);
    p->place = slice_of(NULL, 0);
    enum err r = engine_scan_open(v->engine, NULL, &range, &scan, e);
    for (unsigned i = 0; r == OK; i++) {
        struct slice key;
        struct entry row;
        r = engine_scan_next(scan, &key, &row, v->waiter, e);
        if (r != OK || key.len == 0) break;
        int64_t time_ms = row_expiry_ms(key);
        if (time_ms > v->now_ms) { /* of view_due_from */
            view_due_from(v, c->key, time_ms, arena_copy(v->arena, key));
            break;
        }
        if (i == DUE_MAX) {
            p->place = arena_copy(v->arena, key);
            break;
        }
        r = remove_due(c, key, row_expiry_field(key, row.value), e);
    }
    engine_scan_close(scan);
    return r;
}

enum err collection_fields_due(struct collections *all, struct view *v, struct slice key,
                               struct due_parts *parts, struct error *e)
{
    struct collection c;
    bool is_one = false;
    enum err r = collection_look(all, v, key, &c, &is_one, e);
    bool is_spread_hash = r == OK && is_one && c.head.kind == COLLECTION_HASH && c.head.is_spread;
    if (is_spread_hash && c.head.expiring > 0) {
        r = due_in_rows(&c, parts, e);
    } else {
        parts->place = slice_of(NULL, 0);
        c.is_changed = c.has_expired; /* they were left out when it was read */
    }
    return r == OK ? collection_save(&c, e) : r;
}

void collection_fields_came(struct view *v, struct slice key)
{
    view_due_from(v, key, v->now_ms + 1, slice_of(NULL, 0));
}

enum err collection_ended(struct collection *c, bool is_divided, size_t *work_left,
                          struct engine_scan **out, struct error *e)
{
    struct element_rows rows = collection_rows(c);
    *out = NULL;
    if (!c->head.is_spread || c->head.expiring == 0) return OK;
    struct scan_range range = {.start = rows_start(c->view->arena, &rows, ROW_EXPIRY),
                               .end = times_at(c, c->view->now_ms + 1),
                               .is_undivided = !is_divided,
                               .is_new = collection_is_new(c),
                               .work_left = work_left};
    return engine_scan_open(c->view->engine, c->view->overlay, &range, out, e);
}

enum err collection_length(struct collection *c, size_t *work_left, uint64_t *out, struct error *e)
{
    struct engine_scan *scan = NULL;
    *out = c->head.count;
    enum err r = collection_ended(c, false, work_left, &scan, e);
    while (r == OK && scan != NULL) {
        struct slice key;
        struct entry row;
        r = engine_scan_next(scan, &key, &row, c->view->waiter, e);
        if (r != OK || key.len == 0) break;
        --*out;
        if (work_left == NULL) continue;
        if (*work_left < SCAN_WORK_ROW) {
            r = error_set(e, ERR_LIMIT, "more fields have expired than are counted at one moment");
        } else {
            *work_left -= SCAN_WORK_ROW;
        }
    }
    if (scan != NULL) depends_raise(&c->view->depends, engine_scan_depends(scan));
    engine_scan_close(scan);
    return r;
}
