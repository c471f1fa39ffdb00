/* waiter: the lists of struct waiter (backend.h). A waiter that is woken may join the list again,
 * or take others out of it: that is why waking stops at a mark in the list. */
#include "backend/backend.h"

#include "base/list.h"

void waiter_list_init(struct waiter_list *l)
{
    RING_INIT(&l->head, next, prev);
}

void waiter_add(struct waiter_list *l, struct waiter *w)
{
    INVARIANT(w->next == NULL);
    RING_INSERT(&l->head, w, next, prev);
}

void waiter_cancel(struct waiter *w)
{
    if (w->next == NULL) return;
    RING_UNLINK(w, next, prev);
    w->next = w->prev = NULL;
}

/* A mark at the end of the list separates those who wait now from those who will join while others
 * are told; being in the list itself it survives any of them leaving. */
void waiter_wake(struct waiter_list *l, size_t n)
{
    struct waiter mark = {0};
    waiter_add(l, &mark);
    while (n-- > 0 && l->head.next != &mark) {
        struct waiter *w = l->head.next;
        waiter_cancel(w);
        w->ready(w);
    }
    waiter_cancel(&mark);
}

void waiter_wake_all(struct waiter_list *l)
{
    waiter_wake(l, SIZE_MAX);
}

void waiter_drop_all(struct waiter_list *l)
{
    while (l->head.next != &l->head) waiter_cancel(l->head.next);
}
