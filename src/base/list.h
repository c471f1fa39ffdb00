/* list: lists through members of what is in them; no memory of their own. The members are named by
 * the caller, so that one struct can be in several lists:
 *
 *   struct thing { struct thing *next, *prev; };
 *
 *   LIST_APPEND(l->first, l->last, x, next, prev);
 *
 * Three forms, after how they are entered:
 *
 *   LIST    first and last, NULL at both ends
 *   STACK   first alone, NULL at both ends: the newest comes first
 *   RING    circular. Its entry is a member of it: a head that is always there (RING_INIT), or the
 *           first of the things, NULL when there is none (RING_ADD)
 *
 * Arguments are evaluated more than once: names and members, nothing that does something.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#define LIST_APPEND(first, last, x, next, prev)                                                    \
    do {                                                                                           \
        (x)->next = NULL;                                                                          \
        (x)->prev = (last);                                                                        \
        *((last) != NULL ? &(last)->next : &(first)) = (x);                                        \
        (last) = (x);                                                                              \
    } while (0)

#define LIST_UNLINK(first, last, x, next, prev)                                                    \
    do {                                                                                           \
        *((x)->prev != NULL ? &(x)->prev->next : &(first)) = (x)->next;                            \
        *((x)->next != NULL ? &(x)->next->prev : &(last)) = (x)->prev;                             \
    } while (0)

#define STACK_PUSH(first, x, next, prev)                                                           \
    do {                                                                                           \
        (x)->next = (first);                                                                       \
        (x)->prev = NULL;                                                                          \
        if ((first) != NULL) (first)->prev = (x);                                                  \
        (first) = (x);                                                                             \
    } while (0)

#define STACK_UNLINK(first, x, next, prev)                                                         \
    do {                                                                                           \
        *((x)->prev != NULL ? &(x)->prev->next : &(first)) = (x)->next;                            \
        if ((x)->next != NULL) (x)->next->prev = (x)->prev;                                        \
    } while (0)

/* A ring of one. */
#define RING_INIT(x, next, prev) ((x)->next = (x)->prev = (x))

/* Before `at`: when that is where the ring is entered, at its end. */
#define RING_INSERT(at, x, next, prev)                                                             \
    do {                                                                                           \
        (x)->next = (at);                                                                          \
        (x)->prev = (at)->prev;                                                                    \
        (at)->prev->next = (x);                                                                    \
        (at)->prev = (x);                                                                          \
    } while (0)

/* At the end of the ring that `first` enters, NULL when it is empty. */
#define RING_ADD(first, x, next, prev)                                                             \
    do {                                                                                           \
        if ((first) == NULL) {                                                                     \
            (first) = RING_INIT(x, next, prev);                                                    \
        } else {                                                                                   \
            RING_INSERT(first, x, next, prev);                                                     \
        }                                                                                          \
    } while (0)

/* x keeps its own links: a walk that is at x goes on from them. */
#define RING_UNLINK(x, next, prev)                                                                 \
    do {                                                                                           \
        (x)->next->prev = (x)->prev;                                                               \
        (x)->prev->next = (x)->next;                                                               \
    } while (0)

#endif
