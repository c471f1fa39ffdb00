/* treap: insert as a leaf and rotate up until the priorities are in order; remove by rotating down
 * until there is at most one child. Nodes know their parents, so the next one is found without a
 * stack. */
#include "base/treap.h"

#include <stdbool.h>

void treap_init(struct treap *t,
                int (*compare)(const struct treap_node *a, const struct treap_node *b))
{
    *t = (struct treap){.compare = compare};
}

/* `to` takes the place of `from` below its parent. */
static void replace(struct treap *t, const struct treap_node *from, struct treap_node *to)
{
    struct treap_node *parent = from->parent;
    if (parent == NULL) {
        t->root = to;
    } else if (parent->left == from) {
        parent->left = to;
    } else {
        parent->right = to;
    }
    if (to != NULL) to->parent = parent;
}

/* x changes places with its parent; what is between them changes sides.
 *
 *       p            x
 *      / \          / \
 *     x   c   ->   a   p         and the other way round, when x is on the right
 *    / \              / \
 *   a   b            b   c
 */
static void rotate_up(struct treap *t, struct treap_node *x)
{
    struct treap_node *p = x->parent;
    struct treap_node *between = NULL;
    replace(t, p, x);
    if (p->left == x) {
        between = x->right;
        p->left = between;
        x->right = p;
    } else {
        between = x->left;
        p->right = between;
        x->left = p;
    }
    p->parent = x;
    if (between != NULL) between->parent = p;
}

void treap_insert(struct treap *t, struct treap_node *x, uint64_t priority)
{
    struct treap_node **at = &t->root;
    *x = (struct treap_node){.priority = priority};
    while (*at != NULL) {
        x->parent = *at;
        at = t->compare(x, *at) < 0 ? &(*at)->left : &(*at)->right;
    }
    *at = x;
    while (x->parent != NULL && x->parent->priority < priority) rotate_up(t, x);
}

/* Down until it has no child or one: that one takes its place. */
void treap_remove(struct treap *t, struct treap_node *x)
{
    while (x->left != NULL && x->right != NULL) {
        rotate_up(t, x->left->priority > x->right->priority ? x->left : x->right);
    }
    replace(t, x, x->left != NULL ? x->left : x->right);
    *x = (struct treap_node){0};
}

static struct treap_node *leftmost(struct treap_node *x)
{
    while (x != NULL && x->left != NULL) x = x->left;
    return x;
}

struct treap_node *treap_first(const struct treap *t)
{
    return leftmost(t->root);
}

struct treap_node *treap_above(const struct treap *t, const struct treap_node *x)
{
    struct treap_node *found = NULL;
    for (struct treap_node *at = t->root; at != NULL;) {
        bool is_above = t->compare(at, x) > 0;
        if (is_above) found = at;
        at = is_above ? at->left : at->right;
    }
    return found;
}

struct treap_node *treap_next(const struct treap_node *x)
{
    if (x->right != NULL) return leftmost(x->right);
    while (x->parent != NULL && x->parent->right == x) x = x->parent;
    return x->parent;
}
