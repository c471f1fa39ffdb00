/* touch: a queue within a transaction: its figures, and the moves of messages that several
 * operations share.
 */
#include "queue/queue_int.h"

#define BYTES_MAX (4u << 20)
#define UNDELIVERED_SWEPT_MAX 100 /* keys that ended leases write before the rest must wait */

uint64_t queue_bytes_max(const struct engine *g)
{
    uint64_t quarter = engine_limits(g)->txn_bytes_max / 4;
    return quarter < BYTES_MAX ? quarter : BYTES_MAX;
}

static struct row_place place_of(const struct touch *t, uint64_t incarnation)
{
    return (struct row_place){
        .database = t->view->database, .queue = t->name, .incarnation = incarnation};
}

struct slice touch_key(const struct touch *t, enum space space, const void *rest, size_t len)
{
    struct row_place place = place_of(t, t->counts.incarnation);
    return row_key(t->view->arena, &place, space, slice_of(rest, len));
}

struct slice touch_key_end(const struct touch *t, enum space space)
{
    struct row_place place = place_of(t, t->counts.incarnation);
    return row_key_end(t->view->arena, &place, space);
}

struct slice touch_dead_key(const struct touch *t, enum space space, const struct message_id *id)
{
    struct row_place place = place_of(t, INCARNATION_DEAD);
    return row_key(t->view->arena, &place, space, slice_of(id->bytes, ID_BYTES));
}

struct queue *touch_known(const struct touch *t)
{
    struct queue *q = t->queue;
    return q != NULL && q->exists && q->counts.incarnation == t->counts.incarnation ? q : NULL;
}

enum err touch_begin(struct touch *t, struct queues *qs, struct view *v, struct slice name,
                     struct error *e)
{
    struct entry own;
    *t = (struct touch){.queues = qs, .view = v, .name = name};
    enum err r = engine_start_check(qs->engine, SPACE_QUEUE, v->database, v->waiter, e);
    if (r == OK) r = engine_start_check(qs->engine, SPACE_DEDUP, v->database, v->waiter, e);
    if (r != OK) return r;
    t->queue = queue_find(qs, v->database, name);
    if (t->queue != NULL) {
        r = queue_advance(t->queue, v->now_ms, v->waiter, e);
        if (r != OK) return r;
        depends_raise(&v->depends, t->queue->version);
    }
    if (view_own(v, touch_key(t, SPACE_QUEUE, NULL, 0), &own)) {
        t->exists = own.exists;
        counts_read(own.value, &t->counts);
    } else if (t->queue != NULL) {
        t->exists = t->queue->exists;
        t->counts = t->queue->counts;
    }
    if (!t->exists) {
        t->counts = (struct counts){.incarnation = v->version, .split = slot_end(v->now_ms)};
    }
    return OK;
}

void touch_end(struct touch *t)
{
    view_set(t->view, touch_key(t, SPACE_QUEUE, NULL, 0), counts_row(t->view->arena, &t->counts));
}

static uint64_t *waiting(struct touch *t, const struct slot *s)
{
    return slot_cmp(s, &t->counts.split) <= 0 ? &t->counts.ready : &t->counts.delayed;
}

void touch_put_ready(struct touch *t, const struct slot *s, uint32_t attempts, struct slice error)
{
    view_set(t->view, touch_key(t, SPACE_READY, s->bytes, SLOT_BYTES),
             attempts_row(t->view->arena, attempts, error));
    ++*waiting(t, s);
}

void touch_take_ready(struct touch *t, const struct slot *s)
{
    view_delete(t->view, touch_key(t, SPACE_READY, s->bytes, SLOT_BYTES));
    --*waiting(t, s);
}

void touch_end_lease(struct touch *t, const struct message_id *id, int64_t end_ms)
{
    struct slot lease = slot_of(end_ms, id);
    view_delete(t->view, touch_key(t, SPACE_LEASE, lease.bytes, SLOT_BYTES));
    t->counts.leased--;
}

static enum err get_message(struct touch *t, struct slice key, const struct message_id *id,
                            struct message *m, struct error *e)
{
    struct entry entry;
    char text[ID_CHARS];
    enum err r = view_get(t->view, key, &entry, e);
    if (r != OK) return r;
    if (entry.exists) return message_read(entry.value, m, e);
    id_format(id, text);
    return error_set(e, ERR_CORRUPT, "message %.*s does not exist", ID_CHARS, text);
}

enum err touch_get_message(struct touch *t, const struct message_id *id, struct message *m,
                           struct error *e)
{
    return get_message(t, touch_key(t, SPACE_MESSAGE, id->bytes, ID_BYTES), id, m, e);
}

enum err touch_get_dead(struct touch *t, const struct message_id *id, struct message *m,
                        struct error *e)
{
    return get_message(t, touch_dead_key(t, SPACE_MESSAGE, id), id, m, e);
}

/* ---- a delivery that failed ---- */

/* The value goes to every key of UNDELIVERED, the message among the dead letters. A unique index
 * that refuses the one does not keep the other from happening: the queue would stand still. */
static void bury(struct touch *t, const struct message_id *id, const struct message *m,
                 uint32_t attempts, struct slice error)
{
    struct view *v = t->view;
    struct slot slot = slot_of(v->now_ms, id);
    struct state dead = {.kind = STATE_DEAD, .time_ms = v->now_ms, .attempt = attempts};
    view_delete(v, touch_key(t, SPACE_STATE, id->bytes, ID_BYTES));
    view_delete(v, touch_key(t, SPACE_MESSAGE, id->bytes, ID_BYTES));
    view_set(v, touch_dead_key(t, SPACE_STATE, id), state_row(v->arena, &dead));
    view_set(v, touch_dead_key(t, SPACE_MESSAGE, id), m->row);
    view_set(v, touch_key(t, SPACE_DEAD, slot.bytes, SLOT_BYTES),
             attempts_row(v->arena, attempts, error));
    t->counts.dead++;
    const uint8_t *at = m->undelivered;
    for (size_t i = 0; i < m->undelivered_count; i++) {
        size_t len = (size_t)at[0] << 8 | at[1];
        uint8_t *key = arena_alloc(v->arena, KEY_HEAD_BYTES + len);
        key_head_write(key, v->database, SPACE_DATA);
        memcpy(key + KEY_HEAD_BYTES, at + 2, len);
        view_offer(v, slice_of(key, KEY_HEAD_BYTES + len), m->value);
        at += 2 + len;
    }
}

enum err touch_fail(struct touch *t, const struct message_id *id, const struct state *s,
                    const struct failure *f, struct error *e)
{
    struct message m = {0};
    enum err r = touch_get_message(t, id, &m, e);
    if (r != OK) return r;
    touch_end_lease(t, id, s->time_ms);
    if (f->is_dead || s->attempt > m.backoff_count) {
        bury(t, id, &m, s->attempt, f->error);
        return OK;
    }
    int64_t delay_ms = f->delay_ms >= 0 ? f->delay_ms : message_backoff(&m, s->attempt - 1);
    struct slot slot = slot_of(f->base_ms + delay_ms, id);
    view_delete(t->view, touch_key(t, SPACE_STATE, id->bytes, ID_BYTES));
    touch_put_ready(t, &slot, s->attempt, f->error);
    return OK;
}

/* One of the window that has ended; nothing if this transaction ended it already. */
static enum err sweep_one(struct touch *t, const struct slot *lease, struct error *e)
{
    struct view *v = t->view;
    struct message_id id = slot_id(lease);
    struct entry entry;
    struct state s;
    if (view_own(v, touch_key(t, SPACE_LEASE, lease->bytes, SLOT_BYTES), &entry)) return OK;
    enum err r = view_get(v, touch_key(t, SPACE_STATE, id.bytes, ID_BYTES), &entry, e);
    if (r == OK) r = state_read(entry.value, &s, e);
    if (r != OK) return r;
    struct failure f = {
        .base_ms = s.time_ms, .delay_ms = -1, .error = slice_str("the lease has ended")};
    t->counts.expired++;
    return touch_fail(t, &id, &s, &f, e);
}

enum err touch_sweep(struct touch *t, size_t max, size_t *done, bool *is_more, struct error *e)
{
    struct queue *q = touch_known(t);
    uint64_t bytes_max = queue_bytes_max(t->view->engine);
    *done = 0;
    *is_more = false;
    if (q == NULL) return OK;
    enum err r = q->counts.leased > 0 ? queue_fill(q, SPACE_LEASE, max + 1, t->view->waiter, e)
                                      : OK;
    for (size_t i = 0; r == OK && i < q->leases.count; i++) {
        struct slot lease = *window_at(&q->leases, i);
        if (slot_time_ms(&lease) > t->view->now_ms) break;
        bool is_much = view_bytes(t->view) > bytes_max ||
                       view_keys(t->view, SPACE_DATA) > UNDELIVERED_SWEPT_MAX;
        if (i == max || is_much) {
            *is_more = true;
            break;
        }
        r = sweep_one(t, &lease, e);
        ++*done;
    }
    return r;
}
