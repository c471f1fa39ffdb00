/* bulk: many messages of one queue in one transaction: leases that ended, dead letters, PURGE. */
#include "queue/queue_int.h"

/* ---- dead letters ---- */

#define LOADS_MAX 64 /* begun together */

static void forget_dead(struct touch *t, const struct message_id *id, int64_t failed_ms)
{
    struct slot slot = slot_of(failed_ms, id);
    view_delete(t->view, touch_key(t, SPACE_DEAD, slot.bytes, SLOT_BYTES));
    view_delete(t->view, touch_dead_key(t, SPACE_STATE, id));
    view_delete(t->view, touch_dead_key(t, SPACE_MESSAGE, id));
    t->counts.dead--;
}

/* Begins anew, with what it was enqueued with. */
static enum err requeue(struct touch *t, const struct message_id *id, int64_t failed_ms,
                        struct error *e)
{
    struct message m;
    struct slot slot = slot_of(t->view->now_ms, id);
    enum err r = touch_get_dead(t, id, &m, e);
    if (r != OK) return r;
    forget_dead(t, id, failed_ms);
    view_set(t->view, touch_key(t, SPACE_MESSAGE, id->bytes, ID_BYTES), m.row);
    touch_put_ready(t, &slot, 0, slice_of(NULL, 0));
    return OK;
}

static enum err dead_apply_one(struct queue_bulk *x, struct touch *t, const struct message_id *id,
                               int64_t failed_ms, struct error *e)
{
    enum err r = OK;
    if (x->kind == BULK_DEAD_REQUEUE) {
        r = requeue(t, id, failed_ms, e);
    } else {
        forget_dead(t, id, failed_ms);
    }
    if (r != OK) return r;
    x->last = slot_of(failed_ms, id);
    x->done++;
    return OK;
}

static enum err dead_of_ids(struct queue_bulk *x, struct touch *t, struct error *e)
{
    for (size_t i = 0; i < x->id_count; i++) {
        struct entry row;
        struct state s;
        enum err r = view_get(t->view, touch_dead_key(t, SPACE_STATE, &x->ids[i]), &row, e);
        if (r == OK && !row.exists) continue;
        if (r == OK) r = state_read(row.value, &s, e);
        if (r == OK) r = dead_apply_one(x, t, &x->ids[i], s.time_ms, e);
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

/* Oldest first. The slots are collected before anything is written: a scan must not see that. It
 * does not pass again over what earlier transactions have removed. */
static enum err dead_collect(struct queue_bulk *x, struct touch *t, struct slot *slots,
                             size_t *count, struct error *e)
{
    struct view *v = t->view;
    struct slot known = {0};
    uint8_t from[SLOT_BYTES + 1] = {0};
    struct engine_scan *scan = NULL;
    if (t->queue != NULL) put_u64(known.bytes, (uint64_t)t->queue->dead_from_ms);
    const struct slot *first = slot_cmp(&known, &x->after) > 0 ? &known : &x->after;
    memcpy(from, first->bytes, SLOT_BYTES);
    struct scan_range range = {
        .start = touch_key(t, SPACE_DEAD, from, first == &known ? SLOT_BYTES : sizeof from),
        .end = touch_key_end(t, SPACE_DEAD),
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

static void ignore_ready(struct waiter *w)
{
    (void)w;
}

/* A message must be fetched: so must the next ones, at the same time. */
static void dead_fetch(struct touch *t, const struct slot *slots, size_t count)
{
    struct waiter *own = t->view->waiter;
    for (size_t i = 0, begun = 0; i < count && begun < LOADS_MAX; i++) {
        struct error ignored;
        struct entry row;
        struct waiter prefetch = {.ready = ignore_ready, .keep_for = own};
        struct message_id id = slot_id(&slots[i]);
        t->view->waiter = &prefetch;
        if (view_get(t->view, touch_dead_key(t, SPACE_MESSAGE, &id), &row, &ignored) != OK) begun++;
        waiter_cancel(&prefetch);
    }
    t->view->waiter = own;
}

/* Where the next one must be waited for, or would be too much, the transaction ends if it may: what
 * is done is done, and the next one goes on there. */
static enum err dead_of_all(struct queue_bulk *x, struct touch *t, struct error *e)
{
    struct slot *slots = arena_alloc(t->view->arena, x->max * sizeof *slots);
    size_t count = 0;
    if (t->counts.dead == 0) return OK;
    enum err r = dead_collect(x, t, slots, &count, e);
    for (size_t i = 0; r == OK && i < count; i++) {
        if (!is_beyond(x, t, &slots[i])) break;
        struct message_id id = slot_id(&slots[i]);
        bool may_end = !x->is_whole && x->done > 0;
        if (may_end && view_bytes(t->view) > queue_bytes_max(t->view->engine)) {
            x->is_more = true;
            break;
        }
        r = dead_apply_one(x, t, &id, slot_time_ms(&slots[i]), e);
        if (r == ERR_CORRUPT && !x->is_whole) {
            if (x->damaged++ == 0) x->damage = *e;
            x->last = slots[i];
            r = OK;
        }
        if (r != ERR_WAIT) continue;
        dead_fetch(t, slots + i + 1, count - i - 1);
        if (!may_end) break;
        waiter_cancel(t->view->waiter);
        x->is_more = true;
        return OK;
    }
    return r;
}

/* ---- PURGE ---- */

static const enum space incarnation_spaces[] = {SPACE_MESSAGE, SPACE_READY, SPACE_STATE,
                                                SPACE_LEASE};

#define INCARNATION_SPACES (sizeof incarnation_spaces / sizeof incarnation_spaces[0])

/* The incarnation began in this transaction, which has written all of its rows. */
static void purge_own(struct touch *t)
{
    for (size_t i = 0; i < INCARNATION_SPACES; i++) {
        struct view_row *own = NULL;
        struct slice start = touch_key(t, incarnation_spaces[i], NULL, 0);
        struct slice end = touch_key_end(t, incarnation_spaces[i]);
        size_t count = view_range(t->view, start, end, &own);
        for (size_t k = 0; k < count; k++) {
            if (own[k].exists) view_delete(t->view, own[k].key);
        }
    }
}

/* All at once, however many there are. */
static void purge(struct queue_bulk *x, struct touch *t)
{
    struct counts *c = &t->counts;
    x->done = c->ready + c->delayed + c->leased;
    if (x->done == 0) return;
    if (c->incarnation == t->view->version) {
        purge_own(t);
    } else {
        for (size_t i = 0; i < INCARNATION_SPACES; i++) {
            enum space space = incarnation_spaces[i];
            view_forget(t->view, touch_key(t, space, NULL, 0), touch_key_end(t, space));
        }
        c->incarnation = t->view->version;
    }
    c->ready = c->delayed = c->leased = 0;
}

static enum err bulk_apply(struct layer_op *base, struct view *v, bool *is_met, struct error *e)
{
    struct queue_bulk *x = (struct queue_bulk *)base;
    struct touch t;
    x->done = x->damaged = 0;
    x->is_more = false;
    *is_met = false;
    enum err r = touch_begin(&t, x->queues, v, x->queue, e);
    if (r != OK || !t.exists) return r;
    switch (x->kind) {
    case BULK_SWEEP: r = touch_sweep(&t, x->max, &x->done, &x->is_more, e); break;
    case BULK_PURGE: purge(x, &t); break;
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
