/* omap: against a sorted array, with keys made to mislead prefixes and heads. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/omap.h"
#include "base/random.h"

#define ITEMS_MAX 3000

struct item {
    struct slice key; /* first: the map looks here */
};

struct sorted {
    struct item *items[ITEMS_MAX];
    size_t count;
};

/* Place of the first item >= key. */
static size_t sorted_rank(const struct sorted *s, struct slice key)
{
    size_t lo = 0;
    size_t hi = s->count;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (slice_cmp(s->items[mid]->key, key) < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* Into both, unless it is there. */
static void add(struct omap *m, struct sorted *s, struct slice key)
{
    size_t at = sorted_rank(s, key);
    if (at < s->count && slice_eq(s->items[at]->key, key)) return;
    if (s->count == ITEMS_MAX) return;
    struct item *item = arena_alloc(m->arena, sizeof *item);
    item->key = arena_copy(m->arena, key);
    memmove(&s->items[at + 1], &s->items[at], (s->count - at) * sizeof s->items[0]);
    s->items[at] = item;
    s->count++;
    omap_insert(m, &item->key);
    assert_int_equal(m->count, s->count);
}

static void check_seek(const struct omap *m, const struct sorted *s, struct slice key)
{
    size_t rank = sorted_rank(s, key);
    struct omap_iter it = omap_seek(m, key);
    for (size_t i = rank; i < rank + 40; i++) {
        assert_ptr_equal(omap_peek(&it), i < s->count ? s->items[i] : NULL);
        omap_next(&it);
        if (i >= s->count) break;
    }
    it = omap_seek_before(m, key);
    for (size_t i = rank; i + 40 > rank; i--) {
        assert_ptr_equal(omap_peek(&it), i > 0 ? s->items[i - 1] : NULL);
        omap_prev(&it);
        if (i == 0) break;
    }
    /* There and back. */
    it = omap_seek(m, key);
    if (omap_peek(&it) != NULL) {
        omap_prev(&it);
        assert_ptr_equal(omap_peek(&it), rank > 0 ? s->items[rank - 1] : NULL);
    }
}

static void check_all(const struct omap *m, const struct sorted *s)
{
    struct omap_iter it = omap_seek(m, slice_of(NULL, 0));
    for (size_t i = 0; i < s->count; i++) {
        assert_ptr_equal(omap_peek(&it), s->items[i]);
        omap_next(&it);
    }
    assert_null(omap_peek(&it));
    omap_next(&it);
    assert_null(omap_peek(&it));
    static const uint8_t last[128] = {[0 ... 127] = 0xff};
    it = omap_seek_before(m, slice_of(last, sizeof last));
    for (size_t i = s->count; i > 0; i--) {
        assert_ptr_equal(omap_peek(&it), s->items[i - 1]);
        omap_prev(&it);
    }
    assert_null(omap_peek(&it));
}

/* Kinds of keys; at most 127 bytes. */
static size_t make_random(struct rng *r, uint8_t *key)
{
    size_t len = rng_below(r, 20);
    for (size_t i = 0; i < len; i++) key[i] = (uint8_t)rng_next(r);
    return len;
}

static size_t make_few_letters(struct rng *r, uint8_t *key)
{
    size_t len = rng_below(r, 14);
    for (size_t i = 0; i < len; i++) key[i] = "\0\1a\xff"[rng_below(r, 4)];
    return len;
}

/* All share 24 bytes, or a part of them, and differ only far from their beginning. */
static size_t make_long_prefix(struct rng *r, uint8_t *key)
{
    memcpy(key, "a prefix of 24 bytes ...", 24);
    size_t len = rng_below(r, 30) == 0 ? rng_below(r, 25) : 24;
    if (len < 24) return len;
    return 24 + (size_t)snprintf((char *)key + 24, 20, "%u", (unsigned)rng_below(r, 4000));
}

/* More than a node keeps of what its keys share (src/base/omap.c); now and then one that shares
 * only a part of that, or is before or after the others from there on. */
static size_t make_longer_prefix(struct rng *r, uint8_t *key)
{
    memset(key, 'm', 90);
    size_t len = 90 + (size_t)snprintf((char *)key + 90, 20, "%u", (unsigned)rng_below(r, 4000));
    if (rng_below(r, 20) == 0) key[40 + rng_below(r, 50)] = rng_below(r, 2) == 0 ? 'a' : 'z';
    return rng_below(r, 30) == 0 ? 30 + rng_below(r, 60) : len;
}

/* Equal heads: the same 8 bytes, then more; only zeros; one the prefix of the other. */
static size_t make_zeros(struct rng *r, uint8_t *key)
{
    size_t len = rng_below(r, 60);
    memset(key, 0, len);
    if (len > 0 && rng_below(r, 3) == 0) key[rng_below(r, len)] = (uint8_t)rng_below(r, 3);
    return len;
}

static size_t make_prefixes_of_each_other(struct rng *r, uint8_t *key)
{
    memset(key, 'x', 63);
    size_t len = rng_below(r, 63);
    if (len > 8 && rng_below(r, 4) == 0) key[len - 1] = (uint8_t)rng_next(r);
    return len;
}

static size_t make_ascending(struct rng *r, uint8_t *key)
{
    static unsigned next;
    (void)r;
    return (size_t)snprintf((char *)key, 32, "%010u", next++);
}

static size_t make_descending(struct rng *r, uint8_t *key)
{
    static unsigned next = 4000000000u;
    (void)r;
    return (size_t)snprintf((char *)key, 32, "same head %010u", next--);
}

/* Ascending or descending in runs of up to 70, each between what is there. */
static size_t make_runs(struct rng *r, uint8_t *key)
{
    static unsigned run, at, step, left;
    if (left == 0) {
        run = (unsigned)rng_below(r, 100000);
        at = 1000 + (unsigned)rng_below(r, 1000);
        step = rng_below(r, 2) == 0 ? 1 : UINT_MAX;
        left = 1 + (unsigned)rng_below(r, 70);
    }
    left--;
    at += step;
    return (size_t)snprintf((char *)key, 32, "%06u %06u", run, at);
}

/* A highest and thirty that ascend, which nearly fill a leaf; then threes that ascend, each below the
 * three before. */
static size_t make_threes(struct rng *r, uint8_t *key)
{
    static unsigned low, at;
    (void)r;
    if (low == 0) return (size_t)snprintf((char *)key, 32, "z%u", low++);
    if (low <= 30) return (size_t)snprintf((char *)key, 32, "low %010u", low++);
    unsigned three = 1000000 - at / 3;
    return (size_t)snprintf((char *)key, 32, "three %010u %u", three, at++ % 3);
}

static size_t make_mixed(struct rng *r, uint8_t *key)
{
    static size_t (*const makers[])(struct rng *, uint8_t *) = {
        make_random,        make_few_letters, make_long_prefix,
        make_longer_prefix, make_zeros,       make_prefixes_of_each_other};
    return makers[rng_below(r, 6)](r, key);
}

static void run(size_t (*make)(struct rng *r, uint8_t *key))
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        static struct sorted s;
        struct arena arena;
        struct omap m;
        struct rng rng;
        uint8_t key[128];
        s.count = 0;
        rng_init(&rng, seed);
        arena_init(&arena, 65536);
        omap_init(&m, &arena);
        check_all(&m, &s);
        check_seek(&m, &s, slice_str("nothing there"));
        for (unsigned step = 0; step < 4000; step++) {
            size_t len = make(&rng, key);
            add(&m, &s, slice_of(key, len));
            if (step % 500 == 0) check_all(&m, &s);
            len = make(&rng, key);
            if (step % 3 == 0) check_seek(&m, &s, slice_of(key, len));
            if (step % 7 == 0) check_seek(&m, &s, s.items[rng_below(&rng, s.count)]->key);
        }
        check_all(&m, &s);
        assert_true(s.count > 60);
        arena_fini(&arena);
    }
}

static void random_keys_are_in_order(void **state)
{
    run(make_random);
    run(make_mixed);
}

static void keys_of_few_letters_are_in_order(void **state)
{
    run(make_few_letters);
}

static void keys_with_a_long_common_prefix_are_in_order(void **state)
{
    run(make_long_prefix);
    run(make_longer_prefix);
}

static void zeros_and_equal_heads_are_in_order(void **state)
{
    run(make_zeros);
}

static void keys_that_are_prefixes_of_others_are_in_order(void **state)
{
    run(make_prefixes_of_each_other);
}

static void sorted_input_is_in_order(void **state)
{
    run(make_ascending);
    run(make_descending);
    run(make_runs);
}

/* What the nodes of `count` items take, in bytes for each. */
static size_t bytes_of_each(size_t (*make)(struct rng *r, uint8_t *key), size_t count)
{
    struct arena keys;
    struct arena nodes;
    struct omap m;
    struct rng rng;
    uint8_t key[128];
    rng_init(&rng, 1);
    arena_init(&keys, 65536);
    arena_init(&nodes, 65536);
    omap_init(&m, &nodes);
    for (size_t i = 0; i < count; i++) {
        struct item *item = arena_alloc(&keys, sizeof *item);
        item->key = arena_copy(&keys, slice_of(key, make(&rng, key)));
        omap_insert(&m, &item->key);
    }
    size_t bytes = nodes.used_bytes / count;
    arena_fini(&keys);
    arena_fini(&nodes);
    return bytes;
}

/* A node of 32 items has 840 bytes. */
static void runs_leave_full_nodes(void **state)
{
    assert_in_range(bytes_of_each(make_ascending, 20000), 20, 32);
    assert_in_range(bytes_of_each(make_descending, 20000), 20, 32);
    assert_in_range(bytes_of_each(make_runs, 20000), 20, 60);
}

/* Not a leaf for each three, though the third comes after all of the leaf it is put in. */
static void short_runs_leave_half_full_nodes(void **state)
{
    assert_in_range(bytes_of_each(make_threes, 20000), 20, 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_keys_are_in_order),
        cmocka_unit_test(keys_of_few_letters_are_in_order),
        cmocka_unit_test(keys_with_a_long_common_prefix_are_in_order),
        cmocka_unit_test(zeros_and_equal_heads_are_in_order),
        cmocka_unit_test(keys_that_are_prefixes_of_others_are_in_order),
        cmocka_unit_test(sorted_input_is_in_order),
        cmocka_unit_test(runs_leave_full_nodes),
        cmocka_unit_test(short_runs_leave_half_full_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
