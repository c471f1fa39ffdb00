/* window: the first slots of a queue's rows in one space, in memory: what is due next is known
 * without a scan, and no scan passes the tombstones of what was consumed.
 *
 * Invariant: `slots` are sorted, and exactly the committed rows up to `covered` (all rows when
 * is_complete) and after where the window began. Commits keep it so (window_set, window_remove);
 * window_extend adds what the store has further on.
 */
#ifndef QUEUE_WINDOW_H
#define QUEUE_WINDOW_H

#include "queue/rows.h"

#define WINDOW_MAX 1024

struct window {
    struct slot *slots; /* owned; a ring would save moves of a few KB */
    size_t first, count, cap;
    struct slot covered;
    bool is_complete;
};

/* Knows nothing yet of rows after `from`. */
void window_init(struct window *w, const struct slot *from);
/* Knows that there are no rows. */
void window_init_empty(struct window *w);
void window_fini(struct window *w);
static inline const struct slot *window_at(const struct window *w, size_t i)
{
    return &w->slots[w->first + i];
}
/* A row was written or deleted. */
void window_set(struct window *w, const struct slot *s);
void window_remove(struct window *w, const struct slot *s);
/* The row after all that are covered, as a scan found it. Only while count < WINDOW_MAX. */
void window_extend(struct window *w, const struct slot *s);
/* A scan found no more. */
void window_end(struct window *w);

#endif
