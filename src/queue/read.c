/* read: what is shown of queues without changing them. */
#include <stdlib.h>

#include "queue/queue_int.h"

#define PAGE_BYTES_MAX (16u << 20)

enum err queue_lease(struct queues *qs, struct view *v, struct slice queue,
                     const struct message_id *id, struct receipt *out, struct error *e)
{
    struct touch t;
    struct entry row = {0};
    struct state s;
    *out = (struct receipt){0};
    enum err r = touch_begin(&t, qs, v, queue, e);
    if (r == OK && touch_known(&t) == NULL) return OK;
    if (r == OK) r = view_get(v, touch_key(&t, SPACE_STATE, id->bytes, ID_BYTES), &row, e);
    if (r != OK || !row.exists) return r;
    r = state_read(row.value, &s, e);
    if (r != OK || s.kind != STATE_LEASED || s.time_ms <= v->now_ms) return r;
    *out = (struct receipt){.queue = queue, .id = *id, .version = s.version, .attempt = s.attempt};
    return OK;
}

static int compare(const void *a, const void *b)
{
    return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

/* What the transaction made of the queues: those that it has made are there, and those that it has
 * flushed are not. */
static void own_names(const struct view *v, const struct view_row *own, size_t own_count,
                      struct slice *names, size_t *count)
{
    size_t kept = 0;
    for (size_t i = 0; i < *count && !view_is_flushed(v); i++) names[kept++] = names[i];
    size_t stored = kept;
    for (size_t i = 0; i < own_count; i++) {
        struct row_place place;
        struct slice rest;
        if (!own[i].exists || !row_split(own[i].key, &place, &rest)) continue;
        if (stored > 0 && bsearch(&place.queue, names, stored, sizeof *names, compare) != NULL) {
            continue;
        }
        names[kept++] = place.queue;
    }
    qsort(names, kept, sizeof *names, compare);
    *count = kept;
}

enum err queue_names(struct queues *qs, struct view *v, struct slice **out, size_t *count,
                     struct error *e)
{
    struct touch t;
    uint8_t start[KEY_HEAD_BYTES];
    uint8_t end[KEY_HEAD_BYTES];
    struct view_row *own = NULL;
    enum err r = touch_begin(&t, qs, v, slice_of(NULL, 0), e);
    *count = 0;
    key_head_write(start, v->database, SPACE_QUEUE);
    key_head_write(end, v->database, SPACE_QUEUE + 1);
    size_t own_count = view_range(v, slice_of(start, sizeof start), slice_of(end, sizeof end),
                                  &own);
    *out = arena_alloc(v->arena, (qs->table.count + own_count + 1) * sizeof **out);
    if (r != OK) return r;
    for (struct queue *q = qs->all.next; q != &qs->all; q = q->next) {
        depends_raise(&v->depends, q->version);
        if (key_database(q->key) == v->database && q->exists) (*out)[(*count)++] = q->name;
    }
    qsort(*out, *count, sizeof **out, compare);
    own_names(v, own, own_count, *out, count);
    return OK;
}

size_t queues_count(const struct queues *qs, uint16_t database)
{
    return qs->in_database[database];
}

void queues_totals(const struct queues *qs, struct queues_totals *out)
{
    *out = qs->totals;
    out->is_reading = !queues_are_read(qs);
}

struct queue *queues_first(const struct queues *qs)
{
    struct treap_node *node = treap_first(&qs->by_name);
    return node == NULL ? NULL : queue_of_node(node);
}

struct queue *queues_next(const struct queue *q)
{
    struct treap_node *node = treap_next(&q->by_name);
    return node == NULL ? NULL : queue_of_node(node);
}

struct queue *queues_above(const struct queues *qs, uint16_t database, struct slice name)
{
    uint8_t head[KEY_HEAD_BYTES];
    (void)key_head_write(head, database, SPACE_QUEUE);
    const struct queue probe = {.key = slice_of(head, sizeof head), .name = name};
    struct treap_node *node = treap_above(&qs->by_name, &probe.by_name);
    struct queue *q = node == NULL ? NULL : queue_of_node(node);
    return q != NULL && key_database(q->key) == database ? q : NULL;
}

uint64_t queue_version(const struct queue *q)
{
    return q->version;
}

enum err queues_check_read(const struct queues *qs, uint16_t database, struct waiter *w,
                           struct error *e)
{
    return engine_start_check(qs->engine, SPACE_QUEUE, database, w, e);
}

uint16_t queue_database(const struct queue *q)
{
    return key_database(q->key);
}

struct slice queue_name(const struct queue *q)
{
    return q->name;
}

void queue_figures(struct queue *q, struct queue_figures *out)
{
    *out = (struct queue_figures){.counts = q->counts, .flows = q->flows};
    out->is_age_known = q->counts.ready == 0 || q->ready.count > 0;
    if (!out->is_age_known) {
        q->is_age_asked = true;
        queue_activate(q->queues, q);
    } else if (q->counts.ready > 0) {
        int64_t age_ms = engine_time_ms(q->queues->engine) - slot_time_ms(window_at(&q->ready, 0));
        out->oldest_ms = age_ms > 0 ? age_ms : 0;
    }
}

enum err queue_oldest(struct queue *q, struct waiter *w, int64_t *since_ms, struct error *e)
{
    *since_ms = INT64_MAX;
    if (q->counts.ready == 0) return OK;
    enum err r = queue_fill(q, SPACE_READY, 1, w, e);
    if (r == OK && q->ready.count > 0) *since_ms = slot_time_ms(window_at(&q->ready, 0));
    return r;
}

/* ---- pages ---- */

/* The delivery that is under way counts as an attempt. */
static enum err leased_read(struct touch *t, const struct message_id *id, uint32_t *attempts,
                            struct slice *error, struct error *e)
{
    struct entry row = {0};
    struct state s = {0};
    enum err r = view_get(t->view, touch_key(t, SPACE_STATE, id->bytes, ID_BYTES), &row, e);
    if (r == OK) r = state_read(row.value, &s, e);
    *attempts = s.attempt;
    *error = s.last_error;
    return r;
}

static enum err show(struct touch *t, enum space space, const struct slot *slot, struct slice row,
                     struct shown *out, struct error *e)
{
    struct message *m = &out->message;
    struct slice error = {0};
    *out = (struct shown){.exists = true, .id = slot_id(slot), .time_ms = slot_time_ms(slot)};
    if (space == SPACE_LEASE) {
        enum err found = leased_read(t, &out->id, &out->attempts, &error, e);
        if (found != OK) return found;
    } else {
        attempts_read(row, &out->attempts, &error);
    }
    out->error = arena_copy(t->view->arena, error);
    enum err r = space == SPACE_DEAD ? touch_get_dead(t, &out->id, m, e)
                                     : touch_get_message(t, &out->id, m, e);
    if (r == OK) out->value = m->value;
    return r;
}

struct found {
    struct slot slot;
    struct slice row;
};

/* Not before the first row that there is: there lie the tombstones of what was consumed. */
static enum err page_start(struct touch *t, struct scan_range *range, struct error *e)
{
    if (touch_known(t) == NULL || view_bytes(t->view) > 0) return OK;
    enum err r = queue_fill(t->queue, SPACE_READY, 1, t->view->waiter, e);
    if (r != OK || t->queue->ready.count == 0) return r;
    range->start = touch_key(t, SPACE_READY, window_at(&t->queue->ready, 0)->bytes, SLOT_BYTES);
    return OK;
}

static enum err page_scan(struct touch *t, struct queue_page *p, struct found *found,
                          struct error *e)
{
    struct view *v = t->view;
    struct engine_scan *scan = NULL;
    bool is_reverse = p->space == SPACE_DEAD;
    uint8_t after[SLOT_BYTES + 1] = {0};
    struct scan_range range = {.start = touch_key(t, p->space, NULL, 0),
                               .end = touch_key_end(t, p->space),
                               .is_reverse = is_reverse,
                               .with_values = true,
                               .is_undivided = true,
                               .rows_hint = p->max + 1};
    memcpy(after, p->after.bytes, SLOT_BYTES);
    if (p->has_after && is_reverse) range.end = touch_key(t, p->space, after, SLOT_BYTES);
    if (p->has_after && !is_reverse) range.start = touch_key(t, p->space, after, SLOT_BYTES + 1);
    enum err r = p->space == SPACE_READY && !p->has_after ? page_start(t, &range, e) : OK;
    if (r == OK) r = engine_scan_open(v->engine, v->overlay, &range, &scan, e);
    while (r == OK) {
        struct slice key;
        struct entry entry;
        r = engine_scan_next(scan, &key, &entry, v->waiter, e);
        if (r != OK || key.len == 0) break;
        if (p->count == p->max) {
            p->is_more = true;
            break;
        }
        struct found *f = &found[p->count++];
        memcpy(f->slot.bytes, key.data + key.len - SLOT_BYTES, SLOT_BYTES);
        f->row = arena_copy(v->arena, entry.value);
    }
    if (scan != NULL) {
        depends_raise(&v->depends, engine_scan_depends(scan));
    }
    engine_scan_close(scan);
    return r;
}

/* Of a transaction that has written: its own messages too, and not those that it took. */
static enum err first_due(struct touch *t, int64_t *due_ms, struct error *e)
{
    struct queue_page p = {.space = SPACE_READY, .max = 1};
    struct found found;
    enum err r = page_scan(t, &p, &found, e);
    if (r == OK && p.count > 0) *due_ms = slot_time_ms(&found.slot);
    return r;
}

enum err queue_stats(struct queues *qs, struct view *v, struct slice queue, struct queue_stats *out,
                     struct error *e)
{
    struct touch t;
    *out = (struct queue_stats){0};
    enum err r = touch_begin(&t, qs, v, queue, e);
    if (r != OK) return r;
    out->counts = t.counts;
    if (t.counts.ready == 0) return OK;
    int64_t due_ms = v->now_ms;
    if (view_bytes(v) > 0) {
        r = first_due(&t, &due_ms, e);
    } else if (touch_known(&t) != NULL) {
        r = queue_fill(t.queue, SPACE_READY, 1, v->waiter, e);
        if (r == OK && t.queue->ready.count > 0) {
            due_ms = slot_time_ms(window_at(&t.queue->ready, 0));
        }
    }
    if (r == OK && due_ms < v->now_ms) out->oldest_ms = v->now_ms - due_ms;
    return r;
}

enum err queue_page(struct queues *qs, struct view *v, struct queue_page *p, struct error *e)
{
    struct touch t;
    struct found *found = arena_alloc(v->arena, p->max * sizeof *found);
    size_t bytes = 0;
    p->count = 0;
    p->is_more = false;
    p->items = arena_alloc(v->arena, p->max * sizeof *p->items);
    enum err r = touch_begin(&t, qs, v, p->queue, e);
    if (r == OK) r = page_scan(&t, p, found, e);
    for (size_t i = 0; r == OK && i < p->count; i++) {
        r = show(&t, p->space, &found[i].slot, found[i].row, &p->items[i], e);
        if (r != OK) break;
        bytes += p->items[i].value.len;
        if (bytes < PAGE_BYTES_MAX || i + 1 == p->count) continue;
        p->count = i + 1;
        p->is_more = true;
    }
    return r;
}

enum err queue_dead_get(struct queues *qs, struct view *v, struct slice queue, struct shown *out,
                        struct error *e)
{
    struct touch t;
    struct entry row;
    struct state s;
    struct message_id id = out->id;
    *out = (struct shown){0};
    enum err r = touch_begin(&t, qs, v, queue, e);
    if (r == OK) r = view_get(v, touch_dead_key(&t, SPACE_STATE, &id), &row, e);
    if (r != OK || !row.exists) return r;
    r = state_read(row.value, &s, e);
    if (r != OK || s.kind != STATE_DEAD) return r;
    struct slot slot = slot_of(s.time_ms, &id);
    r = view_get(v, touch_key(&t, SPACE_DEAD, slot.bytes, SLOT_BYTES), &row, e);
    if (r == OK) r = show(&t, SPACE_DEAD, &slot, row.value, out, e);
    return r;
}
