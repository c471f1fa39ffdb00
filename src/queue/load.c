/* load: messages and dead letters that come with their ids, from an export (docs/export.md). */
#include "queue/queue_int.h"

/* Waiting, leased or dead. */
static enum err is_there(struct touch *t, const struct message_id *id, bool *out, struct error *e)
{
    struct entry alive = {0};
    struct entry dead = {0};
    enum err r = view_get(t->view, touch_key(t, SPACE_MESSAGE, id->bytes, ID_BYTES), &alive, e);
    if (r == OK) r = view_get(t->view, touch_dead_key(t, SPACE_MESSAGE, id), &dead, e);
    *out = alive.exists || dead.exists;
    return r;
}

static void load_dead(struct touch *t, const struct queue_load *x)
{
    struct view *v = t->view;
    struct slot slot = slot_of(x->time_ms, &x->id);
    struct state dead = {.kind = STATE_DEAD, .time_ms = x->time_ms, .attempt = x->attempts};
    view_set(v, touch_dead_key(t, SPACE_STATE, &x->id), state_row(v->arena, &dead));
    view_set(v, touch_dead_key(t, SPACE_MESSAGE, &x->id), message_row(v->arena, &x->message));
    view_set(v, touch_key(t, SPACE_DEAD, slot.bytes, SLOT_BYTES),
             attempts_row(v->arena, x->attempts, x->error));
    t->counts.dead++;
}

static void load_waiting(struct touch *t, const struct queue_load *x)
{
    struct slot slot = slot_of(x->time_ms, &x->id);
    view_set(t->view, touch_key(t, SPACE_MESSAGE, x->id.bytes, ID_BYTES),
             message_row(t->view->arena, &x->message));
    touch_put_ready(t, &slot, x->attempts, x->error);
}

static enum err load_apply(struct layer_op *base, struct view *v, bool *is_met, struct error *e)
{
    struct queue_load *x = (struct queue_load *)base;
    struct touch t;
    bool exists = false;
    *is_met = false;
    enum err r = queue_check_size(v, &x->message, e);
    if (r == OK) r = touch_begin(&t, x->queues, v, x->queue, e);
    if (r == OK) r = ids_pass(x->queues, v, &x->id, e);
    if (r == OK) r = is_there(&t, &x->id, &exists, e);
    if (r != OK || exists) return r;
    if (x->is_dead) {
        load_dead(&t, x);
    } else {
        load_waiting(&t, x);
    }
    t.counts.enqueued++;
    touch_end(&t);
    *is_met = true;
    return OK;
}

struct op queue_load_op(struct queue_load *x)
{
    x->base = (struct layer_op){.apply = load_apply};
    return (struct op){.kind = OP_LAYER, .layer = &x->base};
}
