/* field: the time to live of a hash's fields. A field is not there once its time has come, for
 * every reader; its rows, or its item in the head, go when the hash is swept or written.
 *
 * The key of a hash is gone when its last field is. So when every field has a time to live, the key
 * gets the latest of these for its expiry, unless its own is earlier; the head says both, so that
 * the own one comes back when a field without a time to live does.
 */
#include "collection/walk.h"

/* The latest time of all fields, each of which has one. */
static enum err latest_expiry(struct collection *c, int64_t *out, struct error *e)
{
    *out = 0;
    if (!c->head.is_spread) {
        for (uint64_t i = 0; i < c->head.count; i++) {
            if (c->items[i].expiry_ms > *out) *out = c->items[i].expiry_ms;
        }
        return OK;
    }
    struct element_rows rows = collection_rows(c);
    struct scan_range range = {.start = rows_start(c->view->arena, &rows, ROW_EXPIRY),
                               .end = rows_end(c->view->arena, &rows, ROW_EXPIRY),
                               .is_reverse = true,
                               .is_undivided = true,
                               .rows_hint = 1};
    struct engine_scan *scan = NULL;
    struct slice key = {0};
    struct entry row;
    enum err r = engine_scan_open(c->view->engine, c->view->overlay, &range, &scan, e);
    if (r == OK) r = engine_scan_next(scan, &key, &row, c->view->waiter, e);
    if (r == OK && key.len > 0) *out = row_expiry_ms(key);
    engine_scan_close(scan);
    return r;
}

enum err collection_expiry(struct collection *c, int64_t *expiry_ms, struct error *e)
{
    struct collection_head *h = &c->head;
    h->own_expiry_ms = h->field_expiry_ms = 0;
    if (h->kind != COLLECTION_HASH || h->expiring == 0 || h->expiring < h->count) return OK;
    enum err r = latest_expiry(c, &h->field_expiry_ms, e);
    if (r != OK) return r;
    h->own_expiry_ms = *expiry_ms;
    if (*expiry_ms == 0 || h->field_expiry_ms < *expiry_ms) *expiry_ms = h->field_expiry_ms;
    return OK;
}

/* Rows of fields whose time has come, and which are not swept yet. */
enum err collection_length(struct collection *c, uint64_t *out, struct error *e)
{
    struct element_rows rows = collection_rows(c);
    *out = c->head.count;
    if (!c->head.is_spread || c->head.expiring == 0) return OK;
    struct arena *arena = c->view->arena;
    struct scan_range range = {
        .start = rows_start(arena, &rows, ROW_EXPIRY),
        .end = row_of_expiry(arena, &rows, c->view->now_ms + 1, slice_of(NULL, 0)),
        .is_undivided = true};
    struct engine_scan *scan = NULL;
    enum err r = engine_scan_open(c->view->engine, c->view->overlay, &range, &scan, e);
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
