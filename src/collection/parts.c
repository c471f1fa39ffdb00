/* parts: see parts.h. */
#include "collection/parts.h"

static const enum row_tag tags[] = {[PART_ENTRY] = ROW_ENTRY,
                                    [PART_GROUP] = ROW_GROUP,
                                    [PART_CONSUMER] = ROW_CONSUMER,
                                    [PART_PENDING] = ROW_PENDING};

/* ---- places ---- */

static bool is_place(struct collection *c, struct slice place)
{
    struct element_rows rows = collection_rows(c);
    if (place.data[0] < PART_ENTRY || place.data[0] > PART_PENDING) return false;
    if (place.len == 1) return true;
    if (place.data[0] == PART_STATE) return false;
    struct slice start = rows_start(c->view->arena, &rows, tags[place.data[0]]);
    return slice_has_prefix(slice_of(place.data + 1, place.len - 1), start);
}

enum err stream_parts_begin(struct stream_parts *p, struct collection *c, struct slice place,
                            bool *is_good, struct error *e)
{
    *is_good = place.len == 0 || is_place(c, place);
    p->c = c;
    p->kind = PART_ENTRY;
    if (!*is_good) return OK;
    if (place.len > 0) {
        p->kind = (enum stream_part_kind)place.data[0];
        p->after = slice_of(place.data + 1, place.len - 1);
    }
    return groups_list(c, &p->groups, &p->group_count, e);
}

struct slice stream_parts_place(const struct stream_parts *p)
{
    uint8_t *to = arena_alloc(p->c->view->arena, 1 + p->after.len);
    to[0] = (uint8_t)p->kind;
    bytes_copy(to + 1, p->after.data, p->after.len);
    return slice_of(to, 1 + p->after.len);
}

static void close_scan(struct stream_parts *p)
{
    struct view *v = p->c->view;
    if (p->scan != NULL) depends_raise(&v->depends, engine_scan_depends(p->scan));
    engine_scan_close(p->scan);
    p->scan = NULL;
}

void stream_parts_end(struct stream_parts *p)
{
    if (p->c != NULL) close_scan(p);
}

/* ---- what rows say ---- */

/* Rows of one group come one after the other. NULL: there is no such group. */
static const struct stream_group *group_of(struct stream_parts *p, uint64_t number)
{
    if (p->group != NULL && p->group->number == number) return p->group;
    p->group = NULL;
    p->consumer.number = 0;
    for (size_t i = 0; i < p->group_count && p->group == NULL; i++) {
        if (p->groups[i].number == number) p->group = &p->groups[i];
    }
    return p->group;
}

static enum err read_entry(struct stream_parts *p, struct slice key, struct slice value,
                           struct stream_part *out, struct error *e)
{
    uint64_t n[2];
    if (!row_numbers(key, n, 2)) return collection_damaged(p->c, e);
    out->id = (struct stream_id){n[0], n[1]};
    out->fields = arena_copy(p->c->view->arena, value);
    return OK;
}

static enum err read_consumer(struct stream_parts *p, struct slice key, struct slice value,
                              struct stream_part *out, struct error *e)
{
    uint64_t number = 0;
    struct stream_consumer x;
    if (!consumer_of_row(p->c, key, value, &number, &x)) return collection_damaged(p->c, e);
    const struct stream_group *g = group_of(p, number);
    if (g == NULL) return collection_damaged(p->c, e);
    out->group = g->name;
    out->consumer = x.name;
    out->at_ms = x.seen_ms;
    out->active_ms = x.active_ms;
    return OK;
}

static enum err read_pending(struct stream_parts *p, struct slice key, struct slice value,
                             struct stream_part *out, struct error *e)
{
    uint64_t number = 0;
    struct stream_pending x;
    if (!pending_of_row(key, value, &number, &x)) return collection_damaged(p->c, e);
    const struct stream_group *g = group_of(p, number);
    enum err r = g == NULL ? collection_damaged(p->c, e) : OK;
    if (g != NULL && p->consumer.number != x.consumer) {
        p->consumer.number = 0;
        r = consumer_get(p->c, g, x.consumer, &p->consumer, e);
    }
    if (g == NULL || r != OK) return r;
    out->group = g->name;
    out->consumer = p->consumer.name;
    out->id = x.id;
    out->at_ms = x.delivered_ms;
    out->count = x.deliveries;
    return OK;
}

/* ---- reading ---- */

static enum err open_scan(struct stream_parts *p, struct error *e)
{
    struct collection *c = p->c;
    struct arena *arena = c->view->arena;
    struct element_rows rows = collection_rows(c);
    struct scan_range range = {.start = rows_start(arena, &rows, tags[p->kind]),
                               .end = rows_end(arena, &rows, tags[p->kind]),
                               .with_values = true,
                               .is_undivided = true,
                               .is_new = collection_is_new(c),
                               .rows_hint = p->hint};
    struct walk_range entries;
    if (p->after.len > 0) {
        range.start = row_after(arena, p->after);
    } else if (p->kind == PART_ENTRY) { /* not among the tombstones of what was trimmed */
        stream_range(c, STREAM_ID_LEAST, STREAM_ID_MOST, &entries);
        range.start = entries.start;
    }
    return engine_scan_open(c->view->engine, c->view->overlay, &range, &p->scan, e);
}

/* A row of a group that was destroyed, which is not removed yet: all rows of it are passed over. */
static bool is_of_no_group(struct stream_parts *p, struct slice key)
{
    uint64_t numbers[] = {0, UINT64_MAX, UINT64_MAX};
    struct element_rows rows = collection_rows(p->c);
    if (!row_numbers(key, numbers, 1) || group_of(p, numbers[0]) != NULL) return false;
    close_scan(p);
    p->after = row_of_numbers(p->c->view->arena, &rows, tags[p->kind], numbers, 3,
                              slice_of(NULL, 0));
    return true;
}

/* The next row of the kind. */
static enum err next_row(struct stream_parts *p, struct stream_part *out, bool *found,
                         struct error *e)
{
    struct view *v = p->c->view;
    struct slice key = {0};
    struct entry row;
    const struct collection_head *h = &p->c->head;
    *found = false;
    if (p->kind == PART_ENTRY ? h->count == 0 : p->group_count == 0) return OK;
    do {
        enum err r = p->scan == NULL ? open_scan(p, e) : OK;
        if (r == OK) r = engine_scan_next(p->scan, &key, &row, v->waiter, e);
        if (r != OK || key.len == 0) return r;
    } while (p->kind != PART_ENTRY && is_of_no_group(p, key));
    *found = true;
    p->after = arena_copy(v->arena, key);
    if (p->kind == PART_ENTRY) return read_entry(p, key, row.value, out, e);
    if (p->kind == PART_CONSUMER) return read_consumer(p, key, row.value, out, e);
    return read_pending(p, key, row.value, out, e);
}

static struct slice row_of_group(const struct stream_parts *p, struct slice name)
{
    struct element_rows rows = collection_rows(p->c);
    return row_of_numbers(p->c->view->arena, &rows, ROW_GROUP, NULL, 0, name);
}

static bool next_group(struct stream_parts *p, struct stream_part *out)
{
    while (p->next_group < p->group_count) {
        const struct stream_group *g = &p->groups[p->next_group++];
        struct slice row = row_of_group(p, g->name);
        if (slice_cmp(row, p->after) <= 0) continue;
        p->after = row;
        out->group = g->name;
        out->id = g->last;
        out->entries_read = g->entries_read;
        return true;
    }
    return false;
}

static void read_state(struct stream_parts *p, struct stream_part *out)
{
    const struct stream_head *s = &p->c->head.stream;
    out->id = s->last;
    out->deleted = s->deleted;
    out->count = s->added;
}

static void go_on(struct stream_parts *p)
{
    close_scan(p);
    p->kind++;
    p->after = slice_of(NULL, 0);
}

enum err stream_parts_next(struct stream_parts *p, struct stream_part *out, bool *is_end,
                           struct error *e)
{
    enum err r = OK;
    bool found = false;
    while (r == OK && !found && p->kind <= PART_PENDING) {
        *out = (struct stream_part){.kind = p->kind};
        if (p->kind == PART_STATE) {
            read_state(p, out);
            go_on(p);
            *is_end = false;
            return OK;
        }
        if (p->kind == PART_GROUP) {
            found = next_group(p, out);
        } else {
            r = next_row(p, out, &found, e);
        }
        if (r == OK && !found) go_on(p);
    }
    *is_end = !found;
    return r;
}

/* ---- adding ---- */

static enum err unfit(const struct stream_part *x, const char *why, struct error *e)
{
    char id[STREAM_ID_TEXT];
    stream_id_write(x->id, id);
    if (x->kind <= PART_STATE) return error_set(e, ERR_VALUE, "stream at %s: %s", id, why);
    return error_set(e, ERR_VALUE, "group %.*s: %s", (int)(x->group.len < 100 ? x->group.len : 100),
                     (const char *)x->group.data, why);
}

static enum err add_entry(struct collection *c, const struct stream_part *x, struct error *e)
{
    bool found = false;
    struct slice fields;
    if (stream_id_is_zero(x->id)) return unfit(x, "no entry has this id", e);
    if (stream_id_order(x->id, c->head.stream.last) > 0) return stream_add(c, x->id, x->fields, e);
    enum err r = stream_find(c, x->id, &found, &fields, e);
    return r == OK && !found ? unfit(x, "an entry is added after all others", e) : r;
}

static enum err add_state(struct collection *c, const struct stream_part *x, struct error *e)
{
    struct stream_head *s = &c->head.stream;
    if (stream_id_order(x->id, s->last) < 0) return unfit(x, "later entries exist", e);
    if (x->count < c->head.count) return unfit(x, "there are more entries than were added", e);
    if (stream_id_order(x->deleted, x->id) > 0) return unfit(x, "a later entry is deleted", e);
    s->last = x->id;
    s->deleted = x->deleted;
    s->added = x->count;
    c->is_changed = true;
    return OK;
}

static enum err add_group(struct collection *c, const struct stream_part *x, struct error *e)
{
    struct stream_group g;
    bool found = false;
    enum err r = group_find(c, x->group, &found, &g, e);
    if (r != OK) return r;
    if (!found) group_make(c, x->group, x->id, x->entries_read, &g);
    g.last = x->id;
    g.entries_read = x->entries_read;
    group_save(c, &g);
    return collection_writes(c, e);
}

static enum err find_for(struct collection *c, const struct stream_part *x, struct stream_group *g,
                         bool *found, struct stream_consumer *consumer, struct error *e)
{
    bool has_group = false;
    enum err r = group_find(c, x->group, &has_group, g, e);
    if (r == OK && !has_group) r = unfit(x, "it does not exist", e);
    return r == OK ? consumer_find(c, g, x->consumer, found, consumer, e) : r;
}

static enum err add_consumer(struct collection *c, const struct stream_part *x, struct error *e)
{
    struct stream_group g;
    struct stream_consumer consumer;
    bool found = false;
    enum err r = find_for(c, x, &g, &found, &consumer, e);
    if (r != OK) return r;
    if (!found) consumer_make(c, &g, x->consumer, &consumer);
    consumer.seen_ms = x->at_ms;
    consumer.active_ms = x->active_ms;
    consumer_save(c, &g, &consumer);
    group_save(c, &g);
    return collection_writes(c, e);
}

/* It was another's before. */
static enum err give_up(struct collection *c, const struct stream_group *g, uint64_t number,
                        struct error *e)
{
    struct stream_consumer was;
    enum err r = consumer_get(c, g, number, &was, e);
    if (r != OK) return r;
    was.pending--;
    consumer_save(c, g, &was);
    return OK;
}

static enum err add_pending(struct collection *c, const struct stream_part *x, struct error *e)
{
    struct stream_group g;
    struct stream_consumer consumer;
    struct stream_pending was = {0};
    bool found = false;
    enum err r = find_for(c, x, &g, &found, &consumer, e);
    if (r == OK && !found) { /* made between two pages of an export */
        consumer_make(c, &g, x->consumer, &consumer);
        consumer.seen_ms = consumer.active_ms = x->at_ms;
    }
    if (r == OK) r = pending_find(c, &g, x->id, &found, &was, e);
    if (r != OK) return r;
    bool is_new = !found || was.consumer != consumer.number;
    if (found && is_new) r = give_up(c, &g, was.consumer, e);
    g.pending += !found;
    consumer.pending += is_new;
    struct stream_pending p = {
        .id = x->id, .consumer = consumer.number, .delivered_ms = x->at_ms, .deliveries = x->count};
    pending_save(c, &g, &p, found ? was.consumer : 0);
    consumer_save(c, &g, &consumer);
    group_save(c, &g);
    return r == OK ? collection_writes(c, e) : r;
}

enum err stream_part_add(struct collection *c, const struct stream_part *x, struct error *e)
{
    switch (x->kind) {
    case PART_ENTRY: return add_entry(c, x, e);
    case PART_STATE: return add_state(c, x, e);
    case PART_GROUP: return add_group(c, x, e);
    case PART_CONSUMER: return add_consumer(c, x, e);
    case PART_PENDING: return add_pending(c, x, e);
    }
    return unfit(x, "it is not part of a stream", e);
}
