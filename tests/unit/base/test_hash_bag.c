/* hash_bag: against an array of counts, with hashes that share slots; how it grows and shrinks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash_bag.h"
#include "base/random.h"

#define HASHES 400

/* Many share their low bits, and so their slot; 0 is one of them. */
static uint64_t hash_of(unsigned i)
{
    return (uint64_t)(i % 8) + ((uint64_t)(i / 8) << 40) + (i % 3 == 0 ? 0xfff8 : 0);
}

static size_t slots_of(const struct hash_bag *b)
{
    return hash_bag_bytes(b) / sizeof(uint64_t);
}

static void check(const struct hash_bag *b, const unsigned *counts)
{
    size_t sum = 0;
    for (unsigned i = 0; i < HASHES; i++) {
        assert_int_equal(hash_bag_has(b, hash_of(i)), counts[i] > 0);
        sum += counts[i];
    }
    assert_int_equal(b->count, sum);
    assert_true(sum * 3 <= slots_of(b) * 2);
    if (sum == 0) assert_int_equal(slots_of(b), 0);
}

static void what_is_in_it_has_been_added_and_not_removed_as_often(void **state)
{
    struct hash_bag b = {0};
    struct rng rng;
    unsigned counts[HASHES] = {0};
    (void)state;
    rng_init(&rng, 5);
    for (unsigned step = 0; step < 40000; step++) {
        unsigned i = (unsigned)rng_below(&rng, HASHES);
        bool is_growing = step / 4000 % 2 == 0;
        if (rng_below(&rng, 10) < (is_growing ? 7u : 3u)) {
            hash_bag_add(&b, hash_of(i));
            counts[i]++;
        } else {
            hash_bag_remove(&b, hash_of(i));
            counts[i] -= counts[i] > 0;
        }
        if (step % 50 == 0) check(&b, counts);
    }
    for (unsigned i = 0; i < HASHES; i++) {
        for (; counts[i] > 0; counts[i]--) hash_bag_remove(&b, hash_of(i));
        if (i % 16 == 0) check(&b, counts);
    }
    assert_int_equal(hash_bag_bytes(&b), 0);
}

static void the_same_hash_is_in_it_as_often_as_it_came(void **state)
{
    struct hash_bag b = {0};
    (void)state;
    for (int i = 0; i < 3; i++) hash_bag_add(&b, 77);
    hash_bag_add(&b, 93); /* the same slot */
    for (int i = 0; i < 3; i++) {
        assert_true(hash_bag_has(&b, 77));
        hash_bag_remove(&b, 77);
    }
    assert_false(hash_bag_has(&b, 77));
    assert_true(hash_bag_has(&b, 93));
    hash_bag_remove(&b, 77);
    assert_int_equal(b.count, 1);
    hash_bag_fini(&b);
}

static void the_hash_0_is_kept_as_another_and_found(void **state)
{
    struct hash_bag b = {0};
    (void)state;
    assert_false(hash_bag_has(&b, 0));
    hash_bag_remove(&b, 0);
    hash_bag_add(&b, 0);
    assert_true(hash_bag_has(&b, 0));
    hash_bag_add(&b, 1);
    hash_bag_remove(&b, 1);
    assert_true(hash_bag_has(&b, 0));
    hash_bag_remove(&b, 0);
    assert_false(hash_bag_has(&b, 0));
    assert_int_equal(hash_bag_bytes(&b), 0);
}

static void memory_follows_what_is_in_it(void **state)
{
    struct hash_bag b = {0};
    struct rng rng;
    (void)state;
    rng_init(&rng, 9);
    for (int i = 0; i < 100000; i++) hash_bag_add(&b, rng_next(&rng));
    assert_in_range(hash_bag_bytes(&b), 100000 * 12, 100000 * 24);
    rng_init(&rng, 9);
    for (int i = 0; i < 99900; i++) hash_bag_remove(&b, rng_next(&rng));
    assert_int_equal(b.count, 100);
    assert_in_range(hash_bag_bytes(&b), 100 * 12, 100 * 6 * 8);
    for (int i = 0; i < 100; i++) assert_true(hash_bag_has(&b, rng_next(&rng)));
    hash_bag_fini(&b);
    assert_int_equal(hash_bag_bytes(&b), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_in_it_has_been_added_and_not_removed_as_often),
        cmocka_unit_test(the_same_hash_is_in_it_as_often_as_it_came),
        cmocka_unit_test(the_hash_0_is_kept_as_another_and_found),
        cmocka_unit_test(memory_follows_what_is_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
