/* htab: random inserts and removals against an array; hashes that collide. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/htab.h"
#include "base/random.h"

#define ITEMS 3000

struct item {
    struct slice key; /* first: the table looks here */
    uint64_t hash;
    bool is_in;
    char text[16];
};

static void items_init(struct item *items, uint64_t hash_mask)
{
    for (unsigned i = 0; i < ITEMS; i++) {
        int len = snprintf(items[i].text, sizeof items[i].text, "key %u", i);
        items[i].key = slice_of(items[i].text, (size_t)len);
        items[i].hash = checksum_bytes(items[i].key) & hash_mask; /* the same each time */
        items[i].is_in = false;
    }
}

static void compare(const struct htab *h, struct item *items)
{
    size_t count = 0;
    for (unsigned i = 0; i < ITEMS; i++) {
        void *found = htab_find(h, items[i].hash, items[i].key);
        assert_ptr_equal(found, items[i].is_in ? &items[i] : NULL);
        count += items[i].is_in;
    }
    assert_int_equal(h->count, count);
    struct item *item = NULL;
    for (size_t at = 0; (item = htab_next(h, &at)) != NULL; count--) assert_true(item->is_in);
    assert_int_equal(count, 0);
}

/* With few hash bits, or only high ones, long runs form that wrap around the end. */
static void random_steps_agree_with_an_array(void **state)
{
    static const uint64_t masks[] = {UINT64_MAX, 0xfff, 0x3f, 0xffffffff00000000u, 0x7u};
    static struct item items[ITEMS];
    unsigned seen_moving = 0;
    for (size_t k = 0; k < sizeof masks / sizeof masks[0]; k++) {
        struct htab h;
        struct rng rng;
        unsigned limit = masks[k] <= 0x3f ? 200 : ITEMS;
        rng_init(&rng, k);
        items_init(items, masks[k]);
        htab_init(&h);
        compare(&h, items);
        for (unsigned step = 0; step < 20000; step++) {
            /* Filling and emptying by turns. */
            struct item *item = &items[rng_below(&rng, limit)];
            bool wants_in = rng_below(&rng, 100) < (step / 4000 % 2 == 0 ? 80 : 20);
            assert_ptr_equal(htab_find(&h, item->hash, item->key), item->is_in ? item : NULL);
            if (wants_in && !item->is_in) htab_insert(&h, item->hash, &item->key);
            if (!wants_in && item->is_in) htab_remove(&h, item->hash, &item->key);
            item->is_in = wants_in;
            if (step % 1000 == 0 || (h.old.slots != NULL && step % 4 == 0)) {
                compare(&h, items);
                seen_moving += h.old.slots != NULL;
            }
        }
        compare(&h, items);
        for (unsigned i = 0; i < ITEMS; i++) {
            if (items[i].is_in) htab_remove(&h, items[i].hash, &items[i].key);
            items[i].is_in = false;
        }
        compare(&h, items);
        htab_fini(&h);
    }
    assert_true(seen_moving > 10);
}

static void meet(const struct htab *h, size_t slot, const struct item *items, bool *is_met)
{
    uint64_t hash = 0;
    const struct item *item = htab_item(h, slot, &hash);
    if (item == NULL) return;
    assert_int_equal(hash, item->hash);
    is_met[item - items] = true;
}

/* The walk of htab_item meets what is there all the time, whatever goes and comes meanwhile. */
static void a_walk_goes_on_while_items_come_and_go(void **state)
{
    static struct item items[ITEMS];
    static bool is_met[ITEMS];
    bool was_around = false;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct htab h;
        struct rng rng;
        rng_init(&rng, seed);
        items_init(items, 0x1ff);
        for (unsigned i = 0; i < ITEMS; i++) items[i].hash += 3700; /* of 4096: around the end */
        memset(is_met, 0, sizeof is_met);
        htab_init(&h);
        htab_reserve(&h, 2000);
        for (unsigned i = 0; i < 1000; i++) htab_insert(&h, items[i].hash, &items[i]);
        size_t slots = htab_slots(&h);
        for (size_t at = slots; at > 0;) {
            meet(&h, --at, items, is_met);
            unsigned other = 500 + (unsigned)rng_below(&rng, 1000); /* the first 500 stay */
            if (rng_below(&rng, 4) > 0) continue;
            bool is_there = items[other].is_in == (other >= 1000);
            if (!is_there) {
                htab_insert(&h, items[other].hash, &items[other]);
            } else {
                htab_remove(&h, items[other].hash, &items[other]);
            }
            items[other].is_in = !items[other].is_in; /* not as in the beginning */
        }
        size_t around = htab_around(&h);
        was_around = was_around || around < slots;
        for (size_t at = slots; around < at;) meet(&h, --at, items, is_met);
        assert_int_equal(htab_slots(&h), slots);
        for (unsigned i = 0; i < 500; i++) assert_true(is_met[i]);
        htab_fini(&h);
    }
    assert_true(was_around);
}

static void all_items_of_a_hash_are_found(void **state)
{
    static struct item items[ITEMS];
    struct htab h;
    items_init(items, 0xf); /* about 60 of each of 16 hashes */
    htab_init(&h);
    size_t at = 0;
    assert_null(htab_same(&h, 3, &at));
    for (unsigned i = 0; i < 1000; i++) htab_insert(&h, items[i].hash, &items[i]);
    size_t count = 0;
    for (uint64_t hash = 0; hash < 16; hash++) {
        at = 0;
        const struct item *item;
        while ((item = htab_same(&h, hash, &at)) != NULL) {
            assert_int_equal(item->hash, hash);
            count++;
        }
    }
    assert_int_equal(count, 1000);
    at = 0;
    assert_null(htab_same(&h, 16, &at));
    htab_fini(&h);
}

/* Runs at the end of the old table, which grow around it while it is moved; each key is found after
 * each insert. */
static void runs_around_the_end_are_moved_whole(void **state)
{
    static struct item items[ITEMS];
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct htab h;
        struct rng rng;
        bool was_moving = false;
        rng_init(&rng, seed);
        items_init(items, UINT64_MAX);
        htab_init(&h);
        for (unsigned i = 0; i < 1600; i++) {
            /* Of 2048 slots the last hundred, mostly. */
            bool is_late = h.count >= 1300;
            if (is_late) items[i].hash = (items[i].hash & ~2047u) | (1948 + rng_below(&rng, 100));
            htab_insert(&h, items[i].hash, &items[i].key);
            items[i].is_in = true;
            was_moving = was_moving || h.old.slots != NULL;
            if (is_late) {
                for (unsigned k = 1300; k <= i; k++) {
                    assert_ptr_equal(htab_find(&h, items[k].hash, items[k].key), &items[k]);
                }
            }
        }
        compare(&h, items);
        assert_true(was_moving && h.old.slots == NULL);
        htab_fini(&h);
    }
}

static void the_key_decides_and_not_the_hash(void **state)
{
    struct htab h;
    struct item a = {.key = slice_str("a"), .hash = 7};
    struct item b = {.key = slice_str("b"), .hash = 7};
    htab_init(&h);
    htab_insert(&h, 7, &a.key);
    assert_null(htab_find(&h, 7, slice_str("b")));
    htab_insert(&h, 7, &b.key);
    assert_ptr_equal(htab_find(&h, 7, slice_str("a")), &a);
    assert_ptr_equal(htab_find(&h, 7, slice_str("b")), &b);
    assert_null(htab_find(&h, 8, slice_str("a")));
    htab_remove(&h, 7, &a.key);
    assert_null(htab_find(&h, 7, slice_str("a")));
    assert_ptr_equal(htab_find(&h, 7, slice_str("b")), &b);
    htab_fini(&h);
}

/* Of 64 slots the last is freed; what follows it around the end is at home where it is. */
static void what_is_at_home_after_the_end_stays(void **state)
{
    struct item last = {.key = slice_str("last"), .hash = 63};
    struct item next = {.key = slice_str("next"), .hash = 63}; /* in slot 0 */
    struct item home = {.key = slice_str("home"), .hash = 0};  /* in slot 1, then in 0 */
    struct htab h;
    htab_init(&h);
    htab_insert(&h, last.hash, &last.key);
    htab_insert(&h, next.hash, &next.key);
    htab_insert(&h, home.hash, &home.key);
    assert_int_equal(htab_around(&h), SIZE_MAX);
    htab_remove(&h, last.hash, &last.key);
    assert_int_equal(htab_around(&h), 63); /* where a walk finds next */
    assert_int_equal(htab_around(&h), SIZE_MAX);
    assert_ptr_equal(htab_find(&h, next.hash, next.key), &next);
    assert_ptr_equal(htab_find(&h, home.hash, home.key), &home);
    htab_remove(&h, next.hash, &next.key);
    assert_int_equal(htab_around(&h), SIZE_MAX);
    assert_ptr_equal(htab_find(&h, home.hash, home.key), &home);
    htab_fini(&h);
}

static void an_empty_table_holds_no_memory_and_a_full_one_a_bounded_amount(void **state)
{
    static struct item items[ITEMS];
    struct htab h;
    htab_init(&h);
    items_init(items, UINT64_MAX);
    assert_int_equal(htab_bytes(&h), 0);
    for (unsigned i = 0; i < ITEMS; i++) htab_insert(&h, items[i].hash, &items[i].key);
    assert_true(htab_bytes(&h) >= ITEMS * sizeof(struct htab_slot) * 4 / 3);
    assert_true(htab_bytes(&h) <= ITEMS * sizeof(struct htab_slot) * 4);
    htab_fini(&h);
    assert_int_equal(htab_bytes(&h), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_steps_agree_with_an_array),
        cmocka_unit_test(a_walk_goes_on_while_items_come_and_go),
        cmocka_unit_test(all_items_of_a_hash_are_found),
        cmocka_unit_test(runs_around_the_end_are_moved_whole),
        cmocka_unit_test(the_key_decides_and_not_the_hash),
        cmocka_unit_test(what_is_at_home_after_the_end_stays),
        cmocka_unit_test(an_empty_table_holds_no_memory_and_a_full_one_a_bounded_amount),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
