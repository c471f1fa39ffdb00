/* operations: what happens to single messages: enqueue, dequeue, and what a receipt is good for. */
#include "queue/queue_int.h"

#define SWEEP_MAX                                                                                  \
    200 /* ended leases that one DEQUEUE sees to; beyond them it waits for the tick                \
         */
#define PASSED_STEPS 25               /* for each row of the transaction (engine_take_steps) */
#define DEQUEUE_BYTES_MAX (16u << 20) /* of values: then the reply is long enough */

/* ---- enqueue ---- */

enum err queue_check_size(const struct view *v, const struct message *m, struct error *e)
{
    const struct engine_options *limits = engine_limits(v->engine);
    size_t value_bytes = engine_value_bytes(m->value);
    if (value_bytes > limits->value_bytes_max) {
        return error_set(e, ERR_LIMIT, "value of %zu bytes is larger than max-value-size (%llu)",
                         value_bytes, (unsigned long long)limits->value_bytes_max);
    }
    /* It must be possible to give it up in one transaction. */
    uint64_t bytes = m->value.len * (m->undelivered_count + 1) + m->undelivered_bytes;
    if (bytes <= limits->txn_bytes_max / 2) return OK;
    return error_set(e, ERR_LIMIT,
                     "the value, as a dead letter and for %zu UNDELIVERED keys, exceeds half of "
                     "max-transaction-size (%llu)",
                     m->undelivered_count, (unsigned long long)limits->txn_bytes_max);
}

static enum err enqueue_apply(struct layer_op *base, struct view *v, bool *is_met, struct error *e)
{
    struct queue_enqueue *x = (struct queue_enqueue *)base;
    struct touch t;
    uint64_t ahead = 0;
    enum err r = queue_check_size(v, &x->message, e);
    if (r == OK) r = ids_ahead(x->queues, v, &ahead, e);
    if (r == OK) r = touch_begin(&t, x->queues, v, x->queue, e);
    if (r == OK && x->dedup.data != NULL) r = dedup_use(&t, x->dedup, &x->is_repeat, e);
    if (r != OK) return r;
    *is_met = !x->is_repeat;
    if (x->is_repeat) return OK;
    struct message_id id = id_of(v->version + ahead, view_sequence(v));
    struct slot slot = slot_of(v->now_ms + x->delay_ms, &id);
    id_format(&id, x->id);
    view_set(v, touch_key(&t, SPACE_MESSAGE, id.bytes, ID_BYTES),
             message_row(v->arena, &x->message));
    touch_put_ready(&t, &slot, 0, slice_of(NULL, 0));
    t.counts.enqueued++;
    touch_end(&t);
    return OK;
}

struct op queue_enqueue_op(struct queue_enqueue *x)
{
    x->base = (struct layer_op){.apply = enqueue_apply};
    return (struct op){.kind = OP_LAYER, .layer = &x->base};
}

/* ---- dequeue ---- */

/* What is ready, in order: the window's slots and what the transaction itself wrote, merged. */
struct candidates {
    struct touch *touch;
    struct view_row *own;
    size_t own_count, own_at;
    size_t at; /* in the window */
    size_t window_count;
};

static enum err candidates_begin(struct candidates *c, struct touch *t, size_t wanted,
                                 struct error *e)
{
    struct view *v = t->view;
    *c = (struct candidates){.touch = t};
    c->own_count = view_range(v, touch_key(t, SPACE_READY, NULL, 0), touch_key_end(t, SPACE_READY),
                              &c->own);
    enum err r = engine_take_steps(v->overlay, c->own_count * PASSED_STEPS, e);
    if (r != OK || touch_known(t) == NULL) return r;
    r = queue_fill(t->queue, SPACE_READY, wanted + c->own_count, v->waiter, e);
    c->window_count = t->queue->ready.count;
    return r;
}

/* The next one that is due; false when there is none. */
static bool candidates_next(struct candidates *c, struct slot *out)
{
    for (;;) {
        const struct view_row *own = c->own_at < c->own_count ? &c->own[c->own_at] : NULL;
        const struct slot *known = c->at < c->window_count
                                       ? window_at(&c->touch->queue->ready, c->at)
                                       : NULL;
        if (own == NULL && known == NULL) return false;
        struct slot mine = {0};
        if (own != NULL) {
            memcpy(mine.bytes, own->key.data + own->key.len - SLOT_BYTES, SLOT_BYTES);
        }
        int order = own == NULL ? -1 : known == NULL ? 1 : slot_cmp(known, &mine);
        *out = order < 0 ? *known : mine;
        if (order <= 0) c->at++;
        if (order >= 0) c->own_at++;
        if (order >= 0 && !own->exists) continue;
        return slot_time_ms(out) <= c->touch->view->now_ms;
    }
}

static enum err deliver(struct queue_dequeue *x, struct touch *t, const struct slot *slot,
                        struct error *e)
{
    struct view *v = t->view;
    struct message_id id = slot_id(slot);
    struct message m;
    struct entry row;
    uint32_t attempts = 0;
    struct slice last_error;
    enum err r = view_get(v, touch_key(t, SPACE_READY, slot->bytes, SLOT_BYTES), &row, e);
    if (r == OK) r = touch_get_message(t, &id, &m, e);
    if (r != OK) return r;
    attempts_read(row.value, &attempts, &last_error);
    struct state s = {.kind = STATE_LEASED,
                      .time_ms = v->now_ms + x->lease_ms,
                      .version = v->version,
                      .attempt = attempts + 1,
                      .due_ms = slot_time_ms(slot),
                      .last_error = last_error};
    struct slot lease = slot_of(s.time_ms, &id);
    touch_take_ready(t, slot);
    view_set(v, touch_key(t, SPACE_STATE, id.bytes, ID_BYTES), state_row(v->arena, &s));
    view_set(v, touch_key(t, SPACE_LEASE, lease.bytes, SLOT_BYTES), slice_of(NULL, 0));
    t->counts.leased++;
    t->counts.delivered++;
    struct delivery *d = &x->items[x->count++];
    *d = (struct delivery){
        .queue = t->name,
        .value = m.value,
        .delivered = {.queue = t->name, .id = id, .version = s.version, .attempt = s.attempt}};
    x->bytes += m.value.len;
    id_format(&id, d->id);
    return OK;
}

/* Are there more than the window knows, of which the transaction has taken all? */
static bool is_beyond(const struct candidates *c)
{
    return c->window_count == WINDOW_MAX && c->at == c->window_count &&
           !c->touch->queue->ready.is_complete;
}

static bool wants_more(const struct queue_dequeue *x)
{
    return x->count < x->count_max && x->bytes < DEQUEUE_BYTES_MAX;
}

static enum err dequeue_from(struct queue_dequeue *x, struct view *v, struct slice name,
                             struct error *e)
{
    struct touch t;
    struct candidates c;
    struct slot slot;
    size_t before = x->count;
    size_t swept = 0;
    bool is_more = false;
    enum err r = touch_begin(&t, x->queues, v, name, e);
    if (r == OK && !t.exists) return OK;
    if (r == OK) r = touch_sweep(&t, SWEEP_MAX, &swept, &is_more, e);
    if (r == OK && is_more) {
        struct backend *b = engine_backend(v->engine);
        backend_yield(b, v->waiter);
        return error_set(e, ERR_WAIT, "many leases have ended");
    }
    size_t ahead = t.queue != NULL && r == OK ? line_ahead(t.queue, x->consumer) : 0;
    bool is_first = ahead == 0;
    if (r == OK) r = candidates_begin(&c, &t, x->count_max - x->count + ahead, e);
    while (r == OK && wants_more(x) && candidates_next(&c, &slot)) {
        if (ahead > 0) { /* promised to those who came first */
            ahead--;
            continue;
        }
        r = deliver(x, &t, &slot, e);
    }
    if (r == OK && x->count == before && is_first && is_beyond(&c)) {
        return error_set(e, ERR_LIMIT, "one transaction can dequeue at most %d messages of a queue",
                         WINDOW_MAX);
    }
    if (r == OK && (x->count > before || swept > 0)) touch_end(&t);
    return r;
}

static enum err dequeue_apply(struct layer_op *base, struct view *v, bool *is_met, struct error *e)
{
    struct queue_dequeue *x = (struct queue_dequeue *)base;
    enum err r = OK;
    x->items = arena_alloc(v->arena, x->count_max * sizeof *x->items);
    x->count = 0;
    x->bytes = 0;
    if (x->queues->is_held) {
        *is_met = false;
        return OK;
    }
    for (size_t i = 0; i < x->name_count && wants_more(x) && r == OK; i++) {
        r = dequeue_from(x, v, x->names[i], e);
    }
    *is_met = r == OK && x->count > 0;
    return r;
}

struct op queue_dequeue_op(struct queue_dequeue *x)
{
    x->base = (struct layer_op){.apply = dequeue_apply};
    return (struct op){.kind = OP_LAYER, .layer = &x->base};
}

/* ---- receipts ---- */

/* *is_good: the delivery that the receipt is of is still under way. */
static enum err find_lease(struct touch *t, const struct receipt *receipt, struct state *s,
                           bool *is_good, struct error *e)
{
    struct entry row;
    *is_good = false;
    enum err r = view_get(t->view, touch_key(t, SPACE_STATE, receipt->id.bytes, ID_BYTES), &row, e);
    if (r != OK || !row.exists) return r;
    r = state_read(row.value, s, e);
    if (r != OK) return r;
    *is_good = s->kind == STATE_LEASED && s->version == receipt->version &&
               s->attempt == receipt->attempt && s->time_ms > t->view->now_ms;
    return OK;
}

static void acknowledge(struct touch *t, const struct message_id *id, const struct state *s)
{
    touch_end_lease(t, id, s->time_ms);
    view_delete(t->view, touch_key(t, SPACE_STATE, id->bytes, ID_BYTES));
    view_delete(t->view, touch_key(t, SPACE_MESSAGE, id->bytes, ID_BYTES));
    t->counts.acked++;
}

static void extend(struct touch *t, const struct message_id *id, struct state *s, int64_t lease_ms)
{
    struct view *v = t->view;
    struct slot old = slot_of(s->time_ms, id);
    view_delete(v, touch_key(t, SPACE_LEASE, old.bytes, SLOT_BYTES));
    s->time_ms = v->now_ms + lease_ms;
    struct slot lease = slot_of(s->time_ms, id);
    view_set(v, touch_key(t, SPACE_LEASE, lease.bytes, SLOT_BYTES), slice_of(NULL, 0));
    view_set(v, touch_key(t, SPACE_STATE, id->bytes, ID_BYTES), state_row(v->arena, s));
}

/* Back to where it was, as if it had not been delivered. */
static void take_back(struct touch *t, const struct message_id *id, const struct state *s)
{
    struct slot slot = slot_of(s->due_ms, id);
    touch_end_lease(t, id, s->time_ms);
    view_delete(t->view, touch_key(t, SPACE_STATE, id->bytes, ID_BYTES));
    touch_put_ready(t, &slot, s->attempt - 1, s->last_error);
    t->counts.delivered--;
}

static enum err settle_apply(struct layer_op *base, struct view *v, bool *is_met, struct error *e)
{
    struct queue_settle *x = (struct queue_settle *)base;
    const struct message_id *id = &x->receipt.id;
    struct touch t;
    struct state s;
    *is_met = false;
    enum err r = touch_begin(&t, x->queues, v, x->receipt.queue, e);
    if (r == OK) r = find_lease(&t, &x->receipt, &s, is_met, e);
    if (r != OK || !*is_met) return r;
    switch (x->kind) {
    case SETTLE_ACK: acknowledge(&t, id, &s); break;
    case SETTLE_EXTEND: extend(&t, id, &s, x->lease_ms); break;
    case SETTLE_RETURN: take_back(&t, id, &s); break;
    case SETTLE_NACK: {
        struct failure f = {.base_ms = v->now_ms,
                            .delay_ms = x->delay_ms,
                            .is_dead = x->is_dead,
                            .error = x->error};
        r = touch_fail(&t, id, &s, &f, e);
        t.counts.nacked++;
        break;
    }
    }
    if (r == OK) touch_end(&t);
    return r;
}

static enum err settle_check(struct layer_op *base, struct view *v, bool *holds, struct error *e)
{
    struct queue_settle *x = (struct queue_settle *)base;
    struct touch t;
    struct state s;
    enum err r = touch_begin(&t, x->queues, v, x->receipt.queue, e);
    return r == OK ? find_lease(&t, &x->receipt, &s, holds, e) : r;
}

struct op queue_settle_op(struct queue_settle *x, bool is_check)
{
    x->base = (struct layer_op){.check = is_check ? settle_check : NULL, .apply = settle_apply};
    return (struct op){.kind = OP_LAYER, .layer = &x->base};
}
