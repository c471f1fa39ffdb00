#include "sim/queue_model.h"

/* By time, and what has the same time by id. */
static bool comes_first(int64_t a_ms, const struct message_id *a, int64_t b_ms,
                        const struct message_id *b)
{
    if (a_ms != b_ms) return a_ms < b_ms;
    return memcmp(a->bytes, b->bytes, ID_BYTES) < 0;
}

static struct model_message *first_ended(struct queue_model *m, int64_t now_ms)
{
    struct model_message *first = NULL;
    for (size_t i = 0; i < MODEL_MESSAGES; i++) {
        struct model_message *k = &m->messages[i];
        if (k->place != MODEL_LEASED || k->end_ms > now_ms) continue;
        if (first == NULL || comes_first(k->end_ms, &k->id, first->end_ms, &first->id)) first = k;
    }
    return first;
}

void queue_model_advance(struct queue_model *m, int64_t now_ms)
{
    struct model_message *k = NULL;
    while ((k = first_ended(m, now_ms)) != NULL) {
        m->figures[k->queue].expired++;
        queue_model_fail(m, k, k->end_ms, -1, false);
    }
}

struct model_message *queue_model_unused(struct queue_model *m)
{
    for (size_t i = 0; i < MODEL_MESSAGES; i++) {
        if (m->messages[i].place == MODEL_UNUSED) return &m->messages[i];
    }
    return NULL;
}

struct model_message *queue_model_next(struct queue_model *m, unsigned queue, int64_t now_ms)
{
    struct model_message *first = NULL;
    for (size_t i = 0; i < MODEL_MESSAGES; i++) {
        struct model_message *k = &m->messages[i];
        if (k->place != MODEL_WAITING || k->queue != queue || k->due_ms > now_ms) continue;
        if (first == NULL || comes_first(k->due_ms, &k->id, first->due_ms, &first->id)) first = k;
    }
    return first;
}

struct model_message *queue_model_leased(struct queue_model *m, const struct receipt *r,
                                         int64_t now_ms)
{
    for (size_t i = 0; i < MODEL_MESSAGES; i++) {
        struct model_message *k = &m->messages[i];
        if (k->place != MODEL_LEASED || k->end_ms <= now_ms) continue;
        if (memcmp(k->id.bytes, r->id.bytes, ID_BYTES) != 0) continue;
        return k->delivery == r->version && k->attempts == r->attempt ? k : NULL;
    }
    return NULL;
}

void queue_model_fail(struct queue_model *m, struct model_message *k, int64_t base_ms,
                      int64_t delay_ms, bool is_dead)
{
    if (is_dead || k->attempts > k->retries) {
        k->place = MODEL_DEAD;
        if (k->undelivered >= 0) m->undelivered[k->queue][k->undelivered] = k->number;
        return;
    }
    k->place = MODEL_WAITING;
    k->due_ms = base_ms + (delay_ms >= 0 ? delay_ms : k->backoff_ms[k->attempts - 1]);
}

size_t queue_model_count(const struct queue_model *m, unsigned queue, enum model_place place)
{
    size_t count = 0;
    for (size_t i = 0; i < MODEL_MESSAGES; i++) {
        count += m->messages[i].place == place && m->messages[i].queue == queue;
    }
    return count;
}

static size_t move_all(struct queue_model *m, unsigned queue, enum model_place from,
                       enum model_place to)
{
    size_t count = 0;
    for (size_t i = 0; i < MODEL_MESSAGES; i++) {
        struct model_message *k = &m->messages[i];
        if (k->place != from || k->queue != queue) continue;
        k->place = to;
        count++;
    }
    return count;
}

/* A queue that has nothing left is forgotten with its figures. */
size_t queue_model_purge(struct queue_model *m, unsigned queue)
{
    size_t count = move_all(m, queue, MODEL_WAITING, MODEL_UNUSED);
    count += move_all(m, queue, MODEL_LEASED, MODEL_UNUSED);
    if (queue_model_count(m, queue, MODEL_DEAD) == 0) {
        m->figures[queue] = (struct model_figures){0};
    }
    return count;
}

size_t queue_model_requeue(struct queue_model *m, unsigned queue, int64_t now_ms)
{
    for (size_t i = 0; i < MODEL_MESSAGES; i++) {
        struct model_message *k = &m->messages[i];
        if (k->place != MODEL_DEAD || k->queue != queue) continue;
        k->due_ms = now_ms;
        k->attempts = 0;
    }
    return move_all(m, queue, MODEL_DEAD, MODEL_WAITING);
}

size_t queue_model_delete_dead(struct queue_model *m, unsigned queue)
{
    return move_all(m, queue, MODEL_DEAD, MODEL_UNUSED);
}

/* ---- comparing ---- */

static bool same_message(const struct model_message *a, const struct model_message *b)
{
    if (a->place != b->place || a->queue != b->queue || a->number != b->number) return false;
    if (memcmp(a->id.bytes, b->id.bytes, ID_BYTES) != 0 || a->attempts != b->attempts) return false;
    if (a->place == MODEL_DEAD) return true;
    if (a->due_ms != b->due_ms) return false;
    return a->place == MODEL_WAITING || (a->end_ms == b->end_ms && a->delivery == b->delivery);
}

static bool has_message(const struct queue_model *m, const struct model_message *k)
{
    for (size_t i = 0; i < MODEL_MESSAGES; i++) {
        if (same_message(&m->messages[i], k)) return true;
    }
    return false;
}

static bool same_figures(const struct model_figures *a, const struct model_figures *b)
{
    return a->exists == b->exists && a->enqueued == b->enqueued && a->delivered == b->delivered &&
           a->acked == b->acked && a->nacked == b->nacked && a->expired == b->expired;
}

bool queue_model_same(const struct queue_model *found, const struct queue_model *wanted)
{
    for (unsigned q = 0; q < MODEL_QUEUES; q++) {
        if (!same_figures(&found->figures[q], &wanted->figures[q])) return false;
    }
    /* Numbers are distinct, so that each way round is enough. */
    for (size_t i = 0; i < MODEL_MESSAGES; i++) {
        const struct model_message *f = &found->messages[i];
        const struct model_message *w = &wanted->messages[i];
        if (f->place != MODEL_UNUSED && !has_message(wanted, f)) return false;
        if (w->place != MODEL_UNUSED && !has_message(found, w)) return false;
    }
    return memcmp(found->undelivered, wanted->undelivered, sizeof found->undelivered) == 0;
}
