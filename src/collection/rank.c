/* rank: see rank.h. By walking the rows. */
#include "collection/rank.h"

#include "collection/walk.h"

static enum err open_rows(struct collection *c, bool by_name, struct slice end,
                          struct engine_scan **out, struct error *e)
{
    struct element_rows rows = collection_rows(c);
    struct arena *arena = c->view->arena;
    enum row_tag tag = element_walk_tag(c, by_name);
    struct scan_range range = {.start = rows_start(arena, &rows, tag),
                               .end = end.data != NULL ? end : rows_end(arena, &rows, tag),
                               .is_undivided = true};
    return engine_scan_open(c->view->engine, c->view->overlay, &range, out, e);
}

/* Passes over rows until it has `max` of them or is at the end; the last key, and their number. */
static enum err count_rows(struct collection *c, struct engine_scan *scan, uint64_t max,
                           uint64_t *count, struct slice *last, struct error *e)
{
    for (*count = 0; *count < max; ++*count) {
        struct entry row;
        if (*count == COLLECTION_ROWS_MAX) {
            return error_set(e, ERR_LIMIT, "more than %d elements to be passed over",
                             COLLECTION_ROWS_MAX);
        }
        enum err r = engine_scan_next(scan, last, &row, c->view->waiter, e);
        if (r != OK || last->len == 0) return r;
    }
    return OK;
}

enum err rank_seek(struct collection *c, bool by_name, uint64_t rank, struct slice *key,
                   struct error *e)
{
    struct engine_scan *scan = NULL;
    struct slice last = {0};
    uint64_t count = 0;
    enum err r = open_rows(c, by_name, slice_of(NULL, 0), &scan, e);
    if (r == OK) r = count_rows(c, scan, rank + 1, &count, &last, e);
    if (r == OK && last.len == 0) r = collection_damaged(c, e);
    if (r == OK) *key = arena_copy(c->view->arena, last);
    if (scan != NULL) depends_raise(&c->view->depends, engine_scan_depends(scan));
    engine_scan_close(scan);
    return r;
}

enum err rank_of(struct collection *c, bool by_name, struct slice key, uint64_t *rank,
                 struct error *e)
{
    struct engine_scan *scan = NULL;
    struct slice last = {0};
    enum err r = open_rows(c, by_name, key, &scan, e);
    *rank = 0;
    if (r == OK) r = count_rows(c, scan, UINT64_MAX, rank, &last, e);
    if (scan != NULL) depends_raise(&c->view->depends, engine_scan_depends(scan));
    engine_scan_close(scan);
    return r;
}
