/* treap: against a sorted array, with inserts and removals at random; and how deep it gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/treap.h"

#define THINGS 2000

struct thing {
    struct treap_node node; /* first */
    unsigned number;
    bool is_in;
};

static struct thing things[THINGS];

static int compare(const struct treap_node *a, const struct treap_node *b)
{
    unsigned x = ((const struct thing *)a)->number;
    unsigned y = ((const struct thing *)b)->number;
    return x < y ? -1 : x > y;
}

static unsigned depth_of(const struct treap_node *x)
{
    unsigned depth = 0;
    for (; x != NULL; x = x->parent) depth++;
    return depth;
}

/* All that are in, in order, each once; the deepest. */
static unsigned check(const struct treap *t)
{
    const struct treap_node *at = treap_first(t);
    unsigned deepest = 0;
    for (unsigned i = 0; i < THINGS; i++) {
        if (!things[i].is_in) continue;
        assert_ptr_equal(at, &things[i].node);
        if (depth_of(at) > deepest) deepest = depth_of(at);
        at = treap_next(at);
    }
    assert_null(at);
    return deepest;
}

/* What is above each number, whether that is in or not. */
static void check_above(const struct treap *t)
{
    const struct treap_node *wanted = NULL;
    for (unsigned i = THINGS; i-- > 0;) {
        assert_ptr_equal(treap_above(t, &things[i].node), wanted);
        if (things[i].is_in) wanted = &things[i].node;
    }
}

static void an_empty_one_has_no_first(void **state)
{
    struct treap t;
    treap_init(&t, compare);
    assert_null(treap_first(&t));
}

static void it_is_the_set_in_order_whatever_comes_and_goes(void **state)
{
    struct treap t;
    struct rng rng;
    rng_init(&rng, 3);
    treap_init(&t, compare);
    for (unsigned i = 0; i < THINGS; i++) things[i] = (struct thing){.number = i};
    for (unsigned step = 0; step < 20000; step++) {
        struct thing *x = &things[rng_below(&rng, THINGS)];
        if (x->is_in) {
            treap_remove(&t, &x->node);
        } else {
            treap_insert(&t, &x->node, rng_next(&rng));
        }
        x->is_in = !x->is_in;
        if (step % 100 == 0) check(&t);
        if (step % 500 == 0) check_above(&t);
    }
    check(&t);
    for (unsigned i = 0; i < THINGS; i++) {
        if (things[i].is_in) treap_remove(&t, &things[i].node);
    }
    assert_null(treap_first(&t));
}

static void inserted_in_order_it_is_flat_all_the_same(void **state)
{
    struct treap t;
    struct rng rng;
    rng_init(&rng, 5);
    treap_init(&t, compare);
    for (unsigned i = 0; i < THINGS; i++) {
        things[i] = (struct thing){.number = i, .is_in = true};
        treap_insert(&t, &things[i].node, rng_next(&rng));
    }
    assert_true(check(&t) < 50); /* log2 of 2000 is 11 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_one_has_no_first),
        cmocka_unit_test(it_is_the_set_in_order_whatever_comes_and_goes),
        cmocka_unit_test(inserted_in_order_it_is_flat_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
