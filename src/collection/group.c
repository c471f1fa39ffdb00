/* group: see group.h. */
#include "collection/group.h"

#include <stdlib.h>

#define GROUP_NUMBERS 6
#define CONSUMER_NUMBERS 3
#define PENDING_NUMBERS 3

static const struct slice no_name = {NULL, 0};

/* ---- rows ---- */

static struct slice row_of(struct collection *c, enum row_tag tag, const uint64_t *numbers,
                           size_t count, struct slice name)
{
    struct element_rows rows = collection_rows(c);
    return row_of_numbers(c->view->arena, &rows, tag, numbers, count, name);
}

static struct slice group_row(struct collection *c, struct slice name)
{
    return row_of(c, ROW_GROUP, NULL, 0, name);
}

static struct slice consumer_row(struct collection *c, uint64_t group, uint64_t number)
{
    return row_of(c, ROW_CONSUMER, (uint64_t[]){group, number}, 2, no_name);
}

static struct slice name_row(struct collection *c, uint64_t group, struct slice name)
{
    return row_of(c, ROW_CONSUMER_NAME, &group, 1, name);
}

static struct slice pending_row(struct collection *c, uint64_t group, struct stream_id id)
{
    return row_of(c, ROW_PENDING, (uint64_t[]){group, id.ms, id.seq}, 3, no_name);
}

static struct slice owned_row(struct collection *c, uint64_t group, uint64_t consumer,
                              struct stream_id id)
{
    return row_of(c, ROW_OWNED, (uint64_t[]){group, consumer, id.ms, id.seq}, 4, no_name);
}

/* Numbers, then the name. */
static struct slice value_of(struct collection *c, const uint64_t *numbers, size_t count,
                             struct slice name)
{
    uint8_t *p = arena_alloc(c->view->arena, 8 * count + name.len);
    for (size_t i = 0; i < count; i++) put_u64(p + 8 * i, numbers[i]);
    bytes_copy(p + 8 * count, name.data, name.len);
    return slice_of(p, 8 * count + name.len);
}

/* What a row says: its numbers and its name, which is in the arena. */
struct said {
    bool found; /* else there is no such row */
    uint64_t n[GROUP_NUMBERS];
    struct slice name;
};

static enum err read_row(struct collection *c, struct slice key, size_t count, struct said *out,
                         struct error *e)
{
    struct entry row;
    enum err r = collection_row(c, key, &row, e);
    out->found = r == OK && row.exists;
    if (!out->found) return r;
    if (row.value.len < 8 * count) return collection_damaged(c, e);
    for (size_t i = 0; i < count; i++) out->n[i] = get_u64(row.value.data + 8 * i);
    struct slice name = slice_of(row.value.data + 8 * count, row.value.len - 8 * count);
    out->name = arena_copy(c->view->arena, name);
    return OK;
}

/* ---- scans ---- */

/* Rows from one key up to another, each given to `each`; false ends it. Nothing is written then. */
struct pass {
    struct slice start, end;
    size_t hint;
    bool is_reverse;
    bool (*each)(void *arg, struct slice key, struct slice value);
    void *arg;
};

static enum err pass_over(struct collection *c, const struct pass *p, struct error *e)
{
    struct view *v = c->view;
    struct engine_scan *scan = NULL;
    struct scan_range range = {.start = p->start,
                               .end = p->end,
                               .is_reverse = p->is_reverse,
                               .with_values = true,
                               .is_undivided = true,
                               .is_new = collection_is_new(c),
                               .rows_hint = p->hint};
    enum err r = engine_scan_open(v->engine, v->overlay, &range, &scan, e);
    for (size_t n = 0; r == OK; n++) {
        struct slice key;
        struct entry row;
        r = engine_scan_next(scan, &key, &row, v->waiter, e);
        if (r != OK || key.len == 0) break;
        if (n > COLLECTION_ROWS_MAX) {
            r = error_set(e, ERR_LIMIT, "more than %d rows of a group in one command",
                          COLLECTION_ROWS_MAX);
        }
        if (r == OK && !p->each(p->arg, key, row.value)) break;
    }
    if (scan != NULL) depends_raise(&v->depends, engine_scan_depends(scan));
    engine_scan_close(scan);
    return r;
}

/* A list in the arena that grows. */
struct list {
    struct collection *c;
    void *items;
    size_t count, cap, item_bytes, max;
    bool is_damaged;
};

static void *list_add(struct list *l)
{
    l->items = arena_grow(l->c->view->arena, l->items, l->count, &l->cap, l->item_bytes);
    return (uint8_t *)l->items + l->count++ * l->item_bytes;
}

static bool numbers_of(struct slice value, uint64_t *numbers, size_t count)
{
    if (value.len < 8 * count) return false;
    for (size_t i = 0; i < count; i++) numbers[i] = get_u64(value.data + 8 * i);
    return true;
}

static struct slice name_of(const struct collection *c, struct slice value, size_t numbers)
{
    return arena_copy(c->view->arena, slice_of(value.data + 8 * numbers, value.len - 8 * numbers));
}

static enum err list_rows(struct list *l, const struct pass *p, struct error *e)
{
    enum err r = pass_over(l->c, p, e);
    return r == OK && l->is_damaged ? collection_damaged(l->c, e) : r;
}

/* All rows of the tag that begin with these numbers. */
static void range_of(struct collection *c, enum row_tag tag, const uint64_t *numbers, size_t count,
                     struct slice *start, struct slice *end)
{
    uint64_t after[ROW_NUMBERS_MAX];
    memcpy(after, numbers, count * sizeof *after);
    after[count - 1]++; /* numbers of groups and consumers do not come to their end */
    *start = row_of(c, tag, numbers, count, no_name);
    *end = row_of(c, tag, after, count, no_name);
}

/* ---- groups ---- */

static struct stream_group group_of(const uint64_t *n, struct slice name)
{
    return (struct stream_group){.name = name,
                                 .number = n[0],
                                 .last = {n[1], n[2]},
                                 .entries_read = (int64_t)n[3],
                                 .pending = n[4],
                                 .consumers_made = n[5]};
}

enum err group_find(struct collection *c, struct slice name, bool *found, struct stream_group *out,
                    struct error *e)
{
    struct said said = {0};
    *found = false;
    if (!c->exists || c->head.stream.groups == 0) return OK;
    enum err r = read_row(c, group_row(c, name), GROUP_NUMBERS, &said, e);
    *found = r == OK && said.found;
    if (*found) *out = group_of(said.n, said.name);
    return r;
}

void group_save(struct collection *c, const struct stream_group *g)
{
    uint64_t n[GROUP_NUMBERS] = {g->number,   g->last.ms,
                                 g->last.seq, (uint64_t)g->entries_read,
                                 g->pending,  g->consumers_made};
    view_set(c->view, group_row(c, g->name), value_of(c, n, GROUP_NUMBERS, g->name));
}

void group_make(struct collection *c, struct slice name, struct stream_id last,
                int64_t entries_read, struct stream_group *out)
{
    struct stream_head *s = &c->head.stream;
    *out = (struct stream_group){
        .name = name, .number = ++s->groups_made, .last = last, .entries_read = entries_read};
    s->groups++;
    c->is_changed = true;
    group_save(c, out);
}

void group_destroy(struct collection *c, const struct stream_group *g)
{
    static const enum row_tag tags[] = {ROW_CONSUMER, ROW_CONSUMER_NAME, ROW_PENDING, ROW_OWNED};
    view_delete(c->view, group_row(c, g->name));
    for (size_t i = 0; i < sizeof tags / sizeof tags[0] && g->consumers_made > 0; i++) {
        struct slice start;
        struct slice end;
        range_of(c, tags[i], &g->number, 1, &start, &end);
        view_forget(c->view, start, end);
    }
    c->head.stream.groups--;
    c->is_changed = true;
}

static bool add_group(void *arg, struct slice key, struct slice value)
{
    struct list *l = arg;
    uint64_t n[GROUP_NUMBERS];
    (void)key;
    l->is_damaged = !numbers_of(value, n, GROUP_NUMBERS);
    if (l->is_damaged) return false;
    struct stream_group *g = list_add(l);
    *g = group_of(n, name_of(l->c, value, GROUP_NUMBERS));
    return true;
}

enum err groups_list(struct collection *c, struct stream_group **out, size_t *count,
                     struct error *e)
{
    struct element_rows rows = collection_rows(c);
    struct list l = {.c = c, .item_bytes = sizeof **out};
    struct pass p = {.start = rows_start(c->view->arena, &rows, ROW_GROUP),
                     .end = rows_end(c->view->arena, &rows, ROW_GROUP),
                     .each = add_group,
                     .arg = &l};
    enum err r = c->head.stream.groups == 0 ? OK : list_rows(&l, &p, e);
    *out = l.items;
    *count = l.count;
    return r;
}

/* ---- consumers ---- */

static struct stream_consumer consumer_of(uint64_t number, const uint64_t *n, struct slice name)
{
    return (struct stream_consumer){.name = name,
                                    .number = number,
                                    .seen_ms = (int64_t)n[0],
                                    .active_ms = (int64_t)n[1],
                                    .pending = n[2]};
}

enum err consumer_get(struct collection *c, const struct stream_group *g, uint64_t number,
                      struct stream_consumer *out, struct error *e)
{
    struct said said = {0};
    enum err r = read_row(c, consumer_row(c, g->number, number), CONSUMER_NUMBERS, &said, e);
    if (r == OK && !said.found) r = collection_damaged(c, e);
    if (r == OK) *out = consumer_of(number, said.n, said.name);
    return r;
}

enum err consumer_find(struct collection *c, const struct stream_group *g, struct slice name,
                       bool *found, struct stream_consumer *out, struct error *e)
{
    struct said said = {0};
    *found = false;
    if (g->consumers_made == 0) return OK;
    enum err r = read_row(c, name_row(c, g->number, name), 1, &said, e);
    *found = r == OK && said.found;
    return *found ? consumer_get(c, g, said.n[0], out, e) : r;
}

void consumer_save(struct collection *c, const struct stream_group *g,
                   const struct stream_consumer *x)
{
    uint64_t n[CONSUMER_NUMBERS] = {(uint64_t)x->seen_ms, (uint64_t)x->active_ms, x->pending};
    view_set(c->view, consumer_row(c, g->number, x->number),
             value_of(c, n, CONSUMER_NUMBERS, x->name));
}

void consumer_make(struct collection *c, struct stream_group *g, struct slice name,
                   struct stream_consumer *out)
{
    *out = (struct stream_consumer){
        .name = name, .number = ++g->consumers_made, .seen_ms = c->view->told_ms, .active_ms = -1};
    view_set(c->view, name_row(c, g->number, name), value_of(c, &out->number, 1, no_name));
    consumer_save(c, g, out);
}

enum err consumer_remove(struct collection *c, struct stream_group *g,
                         const struct stream_consumer *x, struct error *e)
{
    struct pending_range range = {
        .consumer = x->number, .to = STREAM_ID_MOST, .max = COLLECTION_ROWS_MAX};
    struct stream_pending *pending = NULL;
    size_t count = 0;
    if (x->pending > COLLECTION_ROWS_MAX) {
        return error_set(e, ERR_LIMIT,
                         "%llu entries are pending for the consumer, more than one command may "
                         "remove (%d); acknowledge or claim some first",
                         (unsigned long long)x->pending, COLLECTION_ROWS_MAX);
    }
    enum err r = pending_list(c, g, &range, &pending, &count, e);
    if (r != OK) return r;
    for (size_t i = 0; i < count; i++) {
        view_delete(c->view, pending_row(c, g->number, pending[i].id));
    }
    if (count > 0) {
        struct slice start;
        struct slice end;
        range_of(c, ROW_OWNED, (uint64_t[]){g->number, x->number}, 2, &start, &end);
        view_forget(c->view, start, end);
    }
    view_delete(c->view, name_row(c, g->number, x->name));
    view_delete(c->view, consumer_row(c, g->number, x->number));
    g->pending -= count;
    return collection_writes(c, e);
}

bool consumer_of_row(const struct collection *c, struct slice key, struct slice value,
                     uint64_t *group, struct stream_consumer *out)
{
    uint64_t n[CONSUMER_NUMBERS];
    uint64_t numbers[2];
    if (!numbers_of(value, n, CONSUMER_NUMBERS) || !row_numbers(key, numbers, 2)) return false;
    *group = numbers[0];
    *out = consumer_of(numbers[1], n, name_of(c, value, CONSUMER_NUMBERS));
    return true;
}

static bool add_consumer(void *arg, struct slice key, struct slice value)
{
    struct list *l = arg;
    struct stream_consumer x;
    uint64_t group = 0;
    l->is_damaged = !consumer_of_row(l->c, key, value, &group, &x);
    if (l->is_damaged) return false;
    *(struct stream_consumer *)list_add(l) = x;
    return true;
}

static int by_name(const void *a, const void *b)
{
    const struct stream_consumer *x = a;
    const struct stream_consumer *y = b;
    return slice_cmp(x->name, y->name);
}

enum err consumers_list(struct collection *c, const struct stream_group *g,
                        struct stream_consumer **out, size_t *count, struct error *e)
{
    struct list l = {.c = c, .item_bytes = sizeof **out};
    struct pass p = {.each = add_consumer, .arg = &l};
    range_of(c, ROW_CONSUMER, &g->number, 1, &p.start, &p.end);
    enum err r = g->consumers_made == 0 ? OK : list_rows(&l, &p, e);
    if (r == OK && l.count > 1) qsort(l.items, l.count, l.item_bytes, by_name);
    *out = l.items;
    *count = l.count;
    return r;
}

/* ---- pending entries ---- */

enum err pending_find(struct collection *c, const struct stream_group *g, struct stream_id id,
                      bool *found, struct stream_pending *out, struct error *e)
{
    struct said said = {0};
    *found = false;
    if (g->pending == 0) return OK;
    enum err r = read_row(c, pending_row(c, g->number, id), PENDING_NUMBERS, &said, e);
    *found = r == OK && said.found;
    if (!*found) return r;
    *out = (struct stream_pending){.id = id,
                                   .consumer = said.n[0],
                                   .delivered_ms = (int64_t)said.n[1],
                                   .deliveries = said.n[2]};
    return r;
}

void pending_save(struct collection *c, const struct stream_group *g,
                  const struct stream_pending *p, uint64_t was)
{
    uint64_t n[PENDING_NUMBERS] = {p->consumer, (uint64_t)p->delivered_ms, p->deliveries};
    view_set(c->view, pending_row(c, g->number, p->id), value_of(c, n, PENDING_NUMBERS, no_name));
    if (was == p->consumer) return;
    if (was != 0) view_delete(c->view, owned_row(c, g->number, was, p->id));
    view_set(c->view, owned_row(c, g->number, p->consumer, p->id), no_name);
}

void pending_remove(struct collection *c, const struct stream_group *g,
                    const struct stream_pending *p)
{
    view_delete(c->view, pending_row(c, g->number, p->id));
    view_delete(c->view, owned_row(c, g->number, p->consumer, p->id));
}

bool pending_of_row(struct slice key, struct slice value, uint64_t *group,
                    struct stream_pending *out)
{
    uint64_t n[PENDING_NUMBERS];
    uint64_t numbers[3];
    if (!numbers_of(value, n, PENDING_NUMBERS) || !row_numbers(key, numbers, 3)) return false;
    *group = numbers[0];
    *out = (struct stream_pending){.id = {numbers[1], numbers[2]},
                                   .consumer = n[0],
                                   .delivered_ms = (int64_t)n[1],
                                   .deliveries = n[2]};
    return true;
}

static bool add_pending(void *arg, struct slice key, struct slice value)
{
    struct list *l = arg;
    struct stream_pending x;
    uint64_t group = 0;
    if (l->count == l->max) return false;
    l->is_damaged = !pending_of_row(key, value, &group, &x);
    if (l->is_damaged) return false;
    *(struct stream_pending *)list_add(l) = x;
    return true;
}

static bool add_owned(void *arg, struct slice key, struct slice value)
{
    struct list *l = arg;
    uint64_t numbers[4];
    (void)value;
    if (l->count == l->max) return false;
    l->is_damaged = l->is_damaged || !row_numbers(key, numbers, 4);
    if (l->is_damaged) return false;
    struct stream_pending *p = list_add(l);
    *p = (struct stream_pending){.id = {numbers[2], numbers[3]}, .consumer = numbers[1]};
    return true;
}

/* Those of one consumer: its row says which, the group's what is known of each. */
static enum err fill_in(struct collection *c, const struct stream_group *g, struct list *l,
                        struct error *e)
{
    struct stream_pending *items = l->items;
    enum err r = OK;
    for (size_t i = 0; i < l->count && r == OK; i++) {
        bool found = false;
        r = pending_find(c, g, items[i].id, &found, &items[i], e);
        if (r == OK && !found) r = collection_damaged(c, e);
    }
    return r;
}

enum err pending_list(struct collection *c, const struct stream_group *g,
                      const struct pending_range *range, struct stream_pending **out, size_t *count,
                      struct error *e)
{
    struct list l = {.c = c, .item_bytes = sizeof **out, .max = range->max};
    struct pass p = {.hint = range->max + 1, .is_reverse = range->is_reverse, .arg = &l};
    struct stream_id to = range->to;
    bool has_end = stream_id_next(&to);
    struct slice ignored;
    enum err r = OK;
    if (g->pending > 0 && range->max > 0) {
        if (range->consumer != 0) {
            p.each = add_owned;
            p.start = owned_row(c, g->number, range->consumer, range->from);
            p.end = owned_row(c, g->number, range->consumer, to);
            uint64_t of[] = {g->number, range->consumer};
            if (!has_end) range_of(c, ROW_OWNED, of, 2, &ignored, &p.end);
        } else {
            p.each = add_pending;
            p.start = pending_row(c, g->number, range->from);
            p.end = pending_row(c, g->number, to);
            if (!has_end) range_of(c, ROW_PENDING, &g->number, 1, &ignored, &p.end);
        }
        r = list_rows(&l, &p, e);
        if (r == OK && range->consumer != 0) r = fill_in(c, g, &l, e);
    }
    *out = l.items;
    *count = l.count;
    return r;
}
