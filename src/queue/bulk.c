/* bulk: many messages of one queue in one transaction: leases that ended, dead letters, PURGE. */
#include "queue/queue_int.h"

/* ---- dead letters ---- */

/* Takes a dead letter out of the rows that say it is one. */
static void exhume(struct touch *t, const struct message_id *id, int64_t failed_ms)
{
    struct slot slot = slot_of(failed_ms, id);
    view_delete(t->view, touch_key(t, SPACE_DEAD, slot.bytes, SLOT_BYTES));
    view_delete(t->view, touch_key(t, SPACE_STATE, id->bytes, ID_BYTES));
    t->counts.dead--;
}

static void forget_dead(struct touch *t, const struct message_id *id, int64_t failed_ms)
{
    exhume(t, id, failed_ms);
    view_delete(t->view, touch_key(t, SPACE_MESSAGE, id->bytes, ID_BYTES));
}

/* Begins anew, with what it was enqueued with. */
static void requeue(struct touch *t, const struct message_id *id, int64_t failed_ms)
{
    struct slot slot = slot_of(t->view->now_ms, id);
    exhume(t, id, failed_ms);
    touch_put_ready(t, &slot, 0, slice_of(NULL, 0));
}

static void dead_apply_one(struct queue_bulk *x, struct touch *t, const struct message_id *id,
                           int64_t failed_ms)
{
    if (x->kind == BULK_DEAD_REQUEUE) {
        requeue(t, id, failed_ms);
    } else {
        forget_dead(t, id, failed_ms);
    }
    x->last_ms = failed_ms;
    x->done++;
}

static enum err dead_of_ids(struct queue_bulk *x, struct touch *t, struct error *e)
{
    for (size_t i = 0; i < x->id_count; i++) {
        struct entry row;
        struct state s;
        struct slice key = touch_key(t, SPACE_STATE, x->ids[i].bytes, ID_BYTES);
        enum err r = view_get(t->view, key, &row, e);
        if (r == OK && row.exists) {
            r = state_read(row.value, &s, e);
            if (r == OK && s.kind == STATE_DEAD) dead_apply_one(x, t, &x->ids[i], s.time_ms);
        }
        if (r != OK) return r;
    }
    return OK;
}

/* Of a trim: does the oldest have to go? */
static bool is_beyond(const struct queue_bulk *x, const struct touch *t, const struct slot *oldest)
{
    const struct queue_options *o = &x->queues->options;
    if (x->kind != BULK_TRIM) return true;
    if (t->counts.dead > o->dead_length) return true;
    return t->view->now_ms - slot_time_ms(oldest) >= o->dead_age_ms;
}

/* Oldest first. The slots are collected before anything is written: a scan must not see that. */
static enum err dead_collect(struct queue_bulk *x, struct touch *t, struct slot *slots,
                             size_t *count, struct error *e)
{
    struct view *v = t->view;
    uint8_t from[8] = {0};
    struct engine_scan *scan = NULL;
    if (t->queue != NULL) put_u64(from, (uint64_t)t->queue->dead_from_ms);
    struct scan_range range = {.start = touch_key(t, SPACE_DEAD, from, sizeof from),
                               .end = row_key_end(v->arena, v->database, SPACE_DEAD, t->name),
                               .is_undivided = true,
                               .rows_hint = x->max + 1};
    enum err r = engine_scan_open(v->engine, v->overlay, &range, &scan, e);
    *count = 0;
    while (r == OK) {
        struct slice key;
        struct entry entry;
        r = engine_scan_next(scan, &key, &entry, v->waiter, e);
        if (r != OK || key.len == 0) break;
        if (*count == x->max) {
            x->is_more = true;
            break;
        }
        memcpy(slots[*count].bytes, key.data + key.len - SLOT_BYTES, SLOT_BYTES);
        ++*count;
    }
    engine_scan_close(scan);
    return r;
}

static enum err dead_of_all(struct queue_bulk *x, struct touch *t, struct error *e)
{
    struct slot *slots = arena_alloc(t->view->arena, x->max * sizeof *slots);
    size_t count = 0;
    if (t->counts.dead == 0) return OK;
    enum err r = dead_collect(x, t, slots, &count, e);
    for (size_t i = 0; r == OK && i < count; i++) {
        if (!is_beyond(x, t, &slots[i])) break;
        struct message_id id = slot_id(&slots[i]);
        dead_apply_one(x, t, &id, slot_time_ms(&slots[i]));
    }
    return r;
}

/* ---- PURGE ---- */

static enum err purge_ready(struct queue_bulk *x, struct touch *t, struct error *e)
{
    enum err r = queue_fill(t->queue, SPACE_READY, x->max + 1, t->view->waiter, e);
    for (size_t i = 0; r == OK && i < t->queue->ready.count && x->done < x->max; i++) {
        struct slot slot = *window_at(&t->queue->ready, i);
        struct message_id id = slot_id(&slot);
        touch_take_ready(t, &slot);
        view_delete(t->view, touch_key(t, SPACE_MESSAGE, id.bytes, ID_BYTES));
        x->done++;
    }
    return r;
}

static enum err purge_leased(struct queue_bulk *x, struct touch *t, struct error *e)
{
    if (t->counts.leased == 0) return OK;
    enum err r = queue_fill(t->queue, SPACE_LEASE, x->max + 1, t->view->waiter, e);
    for (size_t i = 0; r == OK && i < t->queue->leases.count && x->done < x->max; i++) {
        struct slot slot = *window_at(&t->queue->leases, i);
        struct message_id id = slot_id(&slot);
        touch_end_lease(t, &id, slot_time_ms(&slot));
        view_delete(t->view, touch_key(t, SPACE_STATE, id.bytes, ID_BYTES));
        view_delete(t->view, touch_key(t, SPACE_MESSAGE, id.bytes, ID_BYTES));
        x->done++;
    }
    return r;
}

/* Its transaction writes nothing else: what is in memory is what is there. */
static enum err purge(struct queue_bulk *x, struct touch *t, struct error *e)
{
    if (t->queue == NULL) return OK;
    enum err r = purge_ready(x, t, e);
    if (r == OK) r = purge_leased(x, t, e);
    x->is_more = t->counts.ready + t->counts.delayed + t->counts.leased > 0;
    return r;
}

static enum err bulk_apply(struct layer_op *base, struct view *v, bool *is_met, struct error *e)
{
    struct queue_bulk *x = (struct queue_bulk *)base;
    struct touch t;
    x->done = 0;
    x->is_more = false;
    *is_met = false;
    enum err r = touch_begin(&t, x->queues, v, x->queue, e);
    if (r != OK || !t.exists) return r;
    switch (x->kind) {
    case BULK_SWEEP: r = touch_sweep(&t, x->max, &x->done, &x->is_more, e); break;
    case BULK_PURGE: r = purge(x, &t, e); break;
    case BULK_TRIM:
    case BULK_DEAD_REQUEUE:
    case BULK_DEAD_DELETE:
        r = x->ids != NULL ? dead_of_ids(x, &t, e) : dead_of_all(x, &t, e);
        break;
    }
    if (r != OK || (x->done == 0 && x->kind != BULK_PURGE)) return r;
    *is_met = true;
    const struct counts *c = &t.counts;
    if (x->kind == BULK_PURGE && c->ready + c->delayed + c->leased + c->dead == 0) {
        /* An empty queue is forgotten with its figures: names do not pile up. */
        view_delete(v, touch_key(&t, SPACE_QUEUE, NULL, 0));
    } else {
        touch_end(&t);
    }
    return OK;
}

struct op queue_bulk_op(struct queue_bulk *x)
{
    x->base = (struct layer_op){.apply = bulk_apply};
    return (struct op){.kind = OP_LAYER, .layer = &x->base};
}
