/* walk: see walk.h. */
#include "collection/walk.h"

#include <stdlib.h>

enum row_tag element_walk_tag(const struct collection *c, bool by_name)
{
    switch (c->head.kind) {
    case COLLECTION_HASH: return ROW_FIELD;
    case COLLECTION_LIST: return ROW_POSITION;
    case COLLECTION_ZSET: return by_name ? ROW_MEMBER : ROW_SCORE;
    case COLLECTION_STREAM: return ROW_ENTRY;
    case COLLECTION_SET: break;
    }
    return ROW_MEMBER;
}

static int by_name_order(const void *a, const void *b)
{
    const struct element *x = a;
    const struct element *y = b;
    return name_order(x->name, y->name);
}

static const struct element *sorted_items(const struct collection *c)
{
    size_t count = (size_t)c->head.count;
    struct element *copy = arena_alloc(c->view->arena, (count + 1) * sizeof *copy);
    if (count > 0) {
        memcpy(copy, c->items, count * sizeof *copy);
        qsort(copy, count, sizeof *copy, by_name_order);
    }
    return copy;
}

/* Where all of it begins: of a stream at its first entry, since what was trimmed may still be met.
 */
static struct slice start_of(const struct collection *c, const struct element_rows *rows,
                             enum row_tag tag)
{
    struct arena *arena = c->view->arena;
    struct stream_id first = c->head.stream.first;
    uint64_t numbers[] = {first.ms, first.seq};
    if (c->head.kind != COLLECTION_STREAM) return rows_start(arena, rows, tag);
    if (c->head.count == 0) return rows_end(arena, rows, tag);
    return row_of_numbers(arena, rows, tag, numbers, 2, slice_of(NULL, 0));
}

enum err element_walk_begin(struct element_walk *w, struct collection *c,
                            const struct walk_range *r, struct error *e)
{
    *w = (struct element_walk){.c = c, .is_reverse = r->is_reverse};
    if (!c->head.is_spread) {
        bool is_all = r->from == 0 && r->upto == 0;
        w->items = r->by_name ? sorted_items(c) : c->items;
        w->at = is_all ? 0 : r->from;
        w->end = is_all ? (size_t)c->head.count : r->upto;
        return OK;
    }
    struct element_rows rows = collection_rows(c);
    struct arena *arena = c->view->arena;
    enum row_tag tag = element_walk_tag(c, r->by_name);
    struct scan_range range = {.start = r->start.data != NULL ? r->start : start_of(c, &rows, tag),
                               .end = r->end.data != NULL ? r->end : rows_end(arena, &rows, tag),
                               .is_reverse = r->is_reverse,
                               .with_values = true,
                               .is_undivided = !r->is_divided,
                               .is_new = collection_is_new(c),
                               .rows_hint = r->hint,
                               .work_left = r->work_left};
    return engine_scan_open(c->view->engine, c->view->overlay, &range, &w->scan, e);
}

static enum err next_row(struct element_walk *w, struct element *out, bool *is_end, struct error *e)
{
    struct slice key;
    struct entry row;
    enum err r = engine_scan_next(w->scan, &key, &row, w->c->view->waiter, e);
    if (r != OK) return r;
    *is_end = key.len == 0;
    if (*is_end) return OK;
    if (!row_read(w->c->head.kind, key, &row, out)) return collection_damaged(w->c, e);
    if (w->c->head.kind == COLLECTION_LIST) w->position = row_position(key);
    return OK;
}

enum err element_walk_next(struct element_walk *w, struct element *out, bool *is_end,
                           struct error *e)
{
    if (w->scan != NULL) return next_row(w, out, is_end, e);
    *is_end = w->at >= w->end;
    if (!*is_end) *out = w->items[w->is_reverse ? --w->end : w->at++];
    return OK;
}

void element_walk_end(struct element_walk *w)
{
    if (w->scan == NULL) return;
    depends_raise(&w->c->view->depends, engine_scan_depends(w->scan));
    engine_scan_close(w->scan);
    w->scan = NULL;
}
