/* counted: against a sorted array of keys, which also counts within a block as an owner does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/counted.h"
#include "base/random.h"

#define KEYS 60000 /* numbers that keys are made of */

/* The keys that are there, as a set of numbers; a key is its number in 4 bytes, big-endian, and
 * number 0 is the empty key. */
struct model {
    struct counted *counted;
    struct rng rng;
    bool is_in[KEYS];
    size_t count;
};

static struct slice key_of(uint8_t room[4], uint32_t number)
{
    put_u32(room, number);
    return slice_of(room, number == 0 ? 0 : 4);
}

static uint32_t number_of(struct slice key)
{
    return key.len == 0 ? 0 : get_u32(key.data);
}

static struct model *model_new(uint64_t seed)
{
    struct model *m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->counted = counted_new();
    rng_init(&m->rng, seed);
    return m;
}

static void model_free(struct model *m)
{
    counted_free(m->counted);
    free(m);
}

static void add(struct model *m, uint32_t number)
{
    uint8_t room[4];
    if (m->is_in[number]) return;
    counted_add(m->counted, key_of(room, number));
    m->is_in[number] = true;
    m->count++;
}

static void take(struct model *m, uint32_t number)
{
    uint8_t room[4];
    if (!m->is_in[number]) return;
    assert_true(counted_remove(m->counted, key_of(room, number)));
    m->is_in[number] = false;
    m->count--;
}

static size_t count_between(const struct model *m, uint32_t from, uint32_t upto)
{
    size_t n = 0;
    for (uint32_t i = from; i < upto; i++) n += m->is_in[i];
    return n;
}

/* What the owner does: it counts from the block's beginning, and cuts a long one. */
static uint64_t rank_of(struct model *m, uint32_t number)
{
    uint8_t room[4];
    struct counted_place p = counted_of_key(m->counted, key_of(room, number));
    uint32_t first = number_of(p.first);
    assert_true(first <= number);
    uint64_t rank = p.before + count_between(m, first, number);
    while (counted_is_long(p.count)) {
        uint32_t at = number_of(p.first);
        for (size_t n = 0; n < COUNTED_BLOCK || !m->is_in[at]; at++) n += m->is_in[at];
        if (at > number) break;
        counted_cut(m->counted, key_of(room, at), COUNTED_BLOCK);
        p = counted_of_key(m->counted, key_of(room, number));
    }
    return rank;
}

static uint32_t number_of_rank(const struct model *m, uint64_t rank)
{
    struct counted_place p = counted_of_rank(m->counted, rank);
    uint32_t at = number_of(p.first);
    assert_true(p.before <= rank && rank < p.before + p.count);
    for (uint64_t left = rank - p.before;; at++) {
        assert_true(at < KEYS);
        if (m->is_in[at] && left-- == 0) return at;
    }
}

/* Every block by itself: its count and what is before it; *longest of them. How many there are. */
static size_t check_blocks(const struct model *m, size_t *longest)
{
    size_t blocks = 0;
    uint32_t from = 0;
    uint64_t before = 0;
    *longest = 0;
    assert_int_equal(counted_total(m->counted), m->count);
    while (before < m->count) {
        struct counted_place p = counted_of_rank(m->counted, before);
        struct counted_place next = counted_of_rank(m->counted, before + p.count);
        bool is_last = before + p.count == m->count;
        uint32_t upto = is_last ? KEYS : number_of(next.first);
        assert_int_equal(p.before, before);
        assert_true(number_of(p.first) >= from);
        assert_int_equal(count_between(m, number_of(p.first), upto), p.count);
        if (p.count > *longest) *longest = p.count;
        from = upto;
        before += p.count;
        blocks++;
    }
    return blocks;
}

static void check_some(struct model *m, unsigned times)
{
    for (unsigned i = 0; i < times && m->count > 0; i++) {
        uint64_t rank = rng_below(&m->rng, m->count);
        uint32_t number = number_of_rank(m, rank);
        assert_int_equal(rank_of(m, number), rank);
        number = (uint32_t)rng_below(&m->rng, KEYS);
        assert_int_equal(rank_of(m, number), count_between(m, 0, number));
    }
}

static void an_empty_one_has_one_block_of_nothing(void **state)
{
    struct counted *c = counted_new();
    (void)state;
    struct counted_place p = counted_of_key(c, slice_str("x"));
    assert_int_equal(counted_total(c), 0);
    assert_true(p.first.len == 0 && p.before == 0 && p.count == 0);
    p = counted_of_rank(c, 7);
    assert_true(p.first.len == 0 && p.before == 0 && p.count == 0);
    assert_false(counted_remove(c, slice_str("x")));
    counted_cut(c, slice_str("x"), 1);
    assert_int_equal(counted_total(c), 0);
    counted_free(c);
    counted_free(NULL);
}

static void ranks_are_those_of_a_sorted_array_whatever_comes_and_goes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct model *m = model_new(seed);
        size_t longest = 0;
        for (unsigned step = 0; step < 40000; step++) {
            uint32_t number = (uint32_t)rng_below(&m->rng, KEYS);
            if (rng_below(&m->rng, 10) < (step / 10000 % 2 == 0 ? 8u : 3u)) {
                add(m, number);
            } else {
                take(m, number);
            }
            if (step % 500 == 0) check_some(m, 3);
        }
        check_blocks(m, &longest);
        check_some(m, 200);
        for (uint32_t i = KEYS; i-- > 0;) take(m, i);
        assert_int_equal(check_blocks(m, &longest), 0);
        add(m, 5);
        check_some(m, 3);
        model_free(m);
    }
}

static void what_grows_at_its_end_never_has_long_blocks(void **state)
{
    struct model *m = model_new(7);
    size_t longest = 0;
    (void)state;
    for (uint32_t i = 0; i < KEYS; i++) add(m, i);
    assert_int_equal(check_blocks(m, &longest), (KEYS + COUNTED_BLOCK - 1) / COUNTED_BLOCK);
    assert_int_equal(longest, COUNTED_BLOCK);
    check_some(m, 50);
    /* A queue: it goes away at its head. */
    for (uint32_t i = 0; i < KEYS - 10; i++) take(m, i);
    check_some(m, 50);
    assert_true(check_blocks(m, &longest) <= 2);
    model_free(m);
}

static void what_grows_at_its_beginning_is_cut_by_those_who_count(void **state)
{
    struct model *m = model_new(8);
    size_t longest = 0;
    (void)state;
    for (uint32_t i = KEYS; i-- > 0;) add(m, i);
    assert_int_equal(check_blocks(m, &longest), 1);
    for (int i = 0; i < 3000; i++) check_some(m, 1);
    assert_true(check_blocks(m, &longest) > KEYS / (3 * COUNTED_BLOCK));
    assert_true(longest <= 3 * COUNTED_BLOCK);
    model_free(m);
}

static void a_cut_that_says_nothing_true_changes_nothing(void **state)
{
    struct model *m = model_new(9);
    uint8_t room[4];
    size_t longest = 0;
    (void)state;
    for (uint32_t i = 4 * COUNTED_BLOCK; i-- > 0;) add(m, i);
    counted_cut(m->counted, key_of(room, 0), 0);
    counted_cut(m->counted, key_of(room, 0), COUNTED_BLOCK / 2); /* the block begins there */
    counted_cut(m->counted, key_of(room, 2 * COUNTED_BLOCK), 0);
    counted_cut(m->counted, key_of(room, 2 * COUNTED_BLOCK), 4 * COUNTED_BLOCK);
    assert_int_equal(check_blocks(m, &longest), 1);
    counted_cut(m->counted, key_of(room, 2 * COUNTED_BLOCK), 2 * COUNTED_BLOCK);
    assert_int_equal(check_blocks(m, &longest), 2);
    counted_cut(m->counted, key_of(room, COUNTED_BLOCK / 2), COUNTED_BLOCK / 2); /* is not long */
    assert_int_equal(check_blocks(m, &longest), 2);
    model_free(m);
}

/* Thousands of blocks, so that groups split, in the middle too, and go again. */
#define BLOCKS 3000
#define STRIDE 4
#define CUT (COUNTED_BLOCK / 4) /* where blocks are cut */

static struct slice spaced_key(uint8_t room[4], uint32_t i, uint32_t more)
{
    put_u32(room, i * STRIDE + more);
    return slice_of(room, 4);
}

/* Three blocks' keys in each of a hundred blocks in the middle of a full group, which is cut. */
static void fill_and_cut(struct counted *c)
{
    uint8_t room[4];
    for (uint32_t b = 700; b < 800; b++) {
        uint32_t first = b * COUNTED_BLOCK;
        for (uint32_t i = 0; i < COUNTED_BLOCK; i++) {
            counted_add(c, spaced_key(room, first + i, 1));
            counted_add(c, spaced_key(room, first + i, 2));
        }
        counted_cut(c, spaced_key(room, first + CUT, 0), 3 * CUT);
    }
}

static void groups_split_and_go(void **state)
{
    struct counted *c = counted_new();
    uint8_t room[4];
    size_t empty = counted_bytes(c);
    uint32_t all = BLOCKS * COUNTED_BLOCK;
    (void)state;
    for (uint32_t i = 0; i < all; i++) counted_add(c, spaced_key(room, i, 0));
    for (uint32_t b = 0; b < BLOCKS; b += 100) {
        struct counted_place p = counted_of_rank(c, (uint64_t)b * COUNTED_BLOCK + 17);
        assert_int_equal(p.before, (uint64_t)b * COUNTED_BLOCK);
        assert_int_equal(p.count, COUNTED_BLOCK);
    }
    fill_and_cut(c);
    assert_int_equal(counted_total(c), all + 200 * COUNTED_BLOCK);
    struct counted_place p = counted_of_key(c, spaced_key(room, 750 * COUNTED_BLOCK + CUT, 0));
    assert_int_equal(p.before, (750 + 2 * 50) * COUNTED_BLOCK + 3 * CUT);
    assert_int_equal(p.count, 3 * (COUNTED_BLOCK - CUT));
    p = counted_of_key(c, spaced_key(room, 750 * COUNTED_BLOCK + CUT - 1, 3));
    assert_int_equal(p.before, (750 + 2 * 50) * COUNTED_BLOCK);
    assert_int_equal(p.count, 3 * CUT);
    assert_in_range(counted_bytes(c), BLOCKS * 20, 4 * all);
    for (uint32_t i = 0; i < all; i++) assert_true(counted_remove(c, spaced_key(room, i, 0)));
    for (uint32_t i = 700 * COUNTED_BLOCK; i < 800 * COUNTED_BLOCK; i++) {
        assert_true(counted_remove(c, spaced_key(room, i, 1)));
        assert_true(counted_remove(c, spaced_key(room, i, 2)));
    }
    assert_int_equal(counted_total(c), 0);
    assert_int_equal(counted_bytes(c), empty);
    counted_free(c);
}

static void bytes_are_as_before_when_all_has_gone(void **state)
{
    struct model *m = model_new(11);
    size_t before = counted_bytes(m->counted);
    (void)state;
    for (uint32_t i = 0; i < KEYS; i++) add(m, i);
    assert_true(counted_bytes(m->counted) > before);
    for (uint32_t i = 0; i < KEYS; i++) take(m, i);
    assert_int_equal(counted_bytes(m->counted), before);
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_one_has_one_block_of_nothing),
        cmocka_unit_test(ranks_are_those_of_a_sorted_array_whatever_comes_and_goes),
        cmocka_unit_test(what_grows_at_its_end_never_has_long_blocks),
        cmocka_unit_test(what_grows_at_its_beginning_is_cut_by_those_who_count),
        cmocka_unit_test(a_cut_that_says_nothing_true_changes_nothing),
        cmocka_unit_test(groups_split_and_go),
        cmocka_unit_test(bytes_are_as_before_when_all_has_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
