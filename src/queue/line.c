/* line: consumers that wait, first come, first served. A consumer stands in the line of every queue
 * that it named; a message that is ready is promised to the first in line, and one that is behind,
 * or comes later, may only take what is left when all ahead of it have one (line_ahead).
 *
 * A consumer is told once when there is a message for it, and keeps its place until it goes.
 */
#include "base/list.h"
#include "base/mem.h"
#include "queue/queue_int.h"

struct place {
    struct consumer *consumer;
    struct queue *queue;
    struct place *next, *prev; /* in the queue's line */
};

struct consumer {
    struct queues *queues;
    struct waiter *waiter; /* NULL = it is running */
    size_t count;
    struct place places[];
};

void line_wake(struct queue *q)
{
    uint64_t n = q->queues->is_held ? 0 : q->counts.ready;
    for (struct place *p = q->line_first; p != NULL && n > 0; p = p->next, n--) {
        struct waiter *w = p->consumer->waiter;
        if (w == NULL) continue;
        p->consumer->waiter = NULL;
        waiter_cancel(w);
        w->ready(w);
    }
}

size_t line_ahead(const struct queue *q, const struct consumer *c)
{
    size_t n = 0;
    if (c == NULL) return q->line_count;
    for (const struct place *p = q->line_first; p != NULL && p->consumer != c; p = p->next) n++;
    return n;
}

static bool stands_in(const struct consumer *c, const struct queue *q)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->places[i].queue == q) return true;
    }
    return false;
}

struct consumer *consumer_new(struct queues *qs, uint16_t database, const struct slice *names,
                              size_t count)
{
    struct consumer *c = mem_new(sizeof *c + count * sizeof c->places[0]);
    c->queues = qs;
    for (size_t i = 0; i < count; i++) {
        struct queue *q = queue_make(qs, database, names[i]);
        if (stands_in(c, q)) continue;
        struct place *p = &c->places[c->count++];
        *p = (struct place){.consumer = c, .queue = q};
        LIST_APPEND(q->line_first, q->line_last, p, next, prev);
        q->line_count++;
        queue_activate(qs, q);
    }
    return c;
}

void consumer_wait(struct consumer *c, struct waiter *w)
{
    c->waiter = w;
    waiter_add(&c->queues->blocked, w);
}

void consumer_free(struct consumer *c)
{
    if (c == NULL) return;
    for (size_t i = 0; i < c->count; i++) {
        struct place *p = &c->places[i];
        struct queue *q = p->queue;
        LIST_UNLINK(q->line_first, q->line_last, p, next, prev);
        q->line_count--;
        /* What was promised to it goes to the next. */
        line_wake(q);
        queue_drop_unused(c->queues, q);
    }
    mem_free(c);
}
