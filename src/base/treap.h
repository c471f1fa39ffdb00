/* treap: an ordered set of structs that have a node of it as a member: a binary search tree by the
 * caller's order, and a heap by the nodes' priorities, which are random, so that it is about
 * balanced. No memory of its own. For what comes and goes and is looked at in order; where nothing
 * goes, omap.h is faster.
 *
 * Time: insert, remove, first and above O(log n), next O(1) on the average.
 */
#ifndef BASE_TREAP_H
#define BASE_TREAP_H

#include <stddef.h>
#include <stdint.h>

struct treap_node {
    struct treap_node *parent, *left, *right;
    uint64_t priority;
};

struct treap {
    struct treap_node *root;
    /* Below, equal to or above 0, as memcmp. */
    int (*compare)(const struct treap_node *a, const struct treap_node *b);
};

void treap_init(struct treap *t,
                int (*compare)(const struct treap_node *a, const struct treap_node *b));
/* None in it is equal to x. `priority` looks random: a hash will do. */
void treap_insert(struct treap *t, struct treap_node *x, uint64_t priority);
/* x is in it. */
void treap_remove(struct treap *t, struct treap_node *x);
/* The smallest; NULL when it is empty. */
struct treap_node *treap_first(const struct treap *t);
/* The smallest that is above x, which need not be in it; NULL when none is. */
struct treap_node *treap_above(const struct treap *t, const struct treap_node *x);
/* The next greater one; NULL after the last. */
struct treap_node *treap_next(const struct treap_node *x);

#endif
