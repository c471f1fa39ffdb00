/* arena: memory of any size, aligned, not shared, counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/fault.h"
#include "base/random.h"

static void pieces_are_aligned_and_do_not_overlap(void **state)
{
    enum { PIECES = 2000 };
    static uint8_t *pieces[PIECES];
    static size_t sizes[PIECES];
    struct arena a;
    struct rng rng;
    size_t asked = 0;
    rng_init(&rng, 1);
    arena_init(&a, 4096);
    for (unsigned i = 0; i < PIECES; i++) {
        sizes[i] = rng_below(&rng, i % 50 == 0 ? 10000 : 100);
        pieces[i] = i % 3 == 0 ? arena_alloc_try(&a, sizes[i]) : arena_alloc(&a, sizes[i]);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 8, 0);
        memset(pieces[i], (int)(i & 0xff), sizes[i]);
        asked += sizes[i];
        assert_true(a.used_bytes >= asked);
        assert_true(a.held_bytes >= a.used_bytes);
    }
    for (unsigned i = 0; i < PIECES; i++) {
        for (size_t k = 0; k < sizes[i]; k++) assert_true(pieces[i][k] == (i & 0xff));
    }
    arena_fini(&a);
    assert_int_equal(a.held_bytes, 0);
}

static void nothing_is_memory_too(void **state)
{
    struct arena a;
    arena_init(&a, 1024);
    assert_non_null(arena_alloc(&a, 0));
    assert_non_null(arena_alloc_try(&a, 0));
    arena_fini(&a);
    assert_non_null(arena_alloc_try(&a, 0));
    arena_fini(&a);
}

static void a_reset_keeps_one_chunk_and_begins_anew(void **state)
{
    struct arena a;
    arena_init(&a, 4096);
    arena_reset(&a);
    assert_int_equal(a.held_bytes, 0);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 100; i++) memset(arena_alloc(&a, 200), round, 200);
        memset(arena_alloc(&a, 100000), round, 100000);
        assert_true(a.used_bytes >= 120000);
        arena_reset(&a);
        assert_int_equal(a.used_bytes, 0);
        assert_int_equal(a.held_bytes, 4096);
        memset(arena_alloc(&a, 4000), 1, 4000);
        assert_int_equal(a.held_bytes, 4096);
    }
    arena_fini(&a);
}

static void a_large_piece_does_not_waste_the_current_chunk(void **state)
{
    struct arena a;
    arena_init(&a, 4096);
    uint8_t *first = arena_alloc(&a, 8);
    memset(arena_alloc(&a, 5000), 1, 5000);
    assert_ptr_equal(arena_alloc(&a, 8), first + 8);
    arena_fini(&a);
}

static void a_copy_lives_in_the_arena(void **state)
{
    struct arena a;
    char text[] = "copied";
    arena_init(&a, 64);
    struct slice s = arena_copy(&a, slice_str(text));
    memset(text, 'x', sizeof text - 1);
    assert_true(slice_eq(s, slice_str("copied")));
    s = arena_copy(&a, slice_of(NULL, 0));
    assert_int_equal(s.len, 0);
    arena_fini(&a);
}

static void a_try_fails_where_there_is_no_memory_and_changes_nothing(void **state)
{
    struct arena a;
    arena_init(&a, 1024);
    assert_non_null(arena_alloc(&a, 8));
    size_t used = a.used_bytes;
    size_t held = a.held_bytes;
    assert_null(arena_alloc_try(&a, SIZE_MAX));
    assert_null(arena_alloc_try(&a, SIZE_MAX - 7));
    fault_arm("mem.try", 1, false);
    assert_null(arena_alloc_try(&a, 5000));
    fault_arm("", 0, false);
    assert_int_equal(a.used_bytes, used);
    assert_int_equal(a.held_bytes, held);
    assert_non_null(arena_alloc_try(&a, 5000));
    arena_fini(&a);
}

static void a_list_grows_and_keeps_what_it_has(void **state)
{
    struct arena a;
    uint64_t *items = NULL;
    size_t cap = 0;
    arena_init(&a, 256);
    for (size_t i = 0; i < 1000; i++) {
        uint64_t *before = items;
        bool is_full = i == cap;
        items = arena_grow(&a, items, i, &cap, sizeof *items);
        assert_true(cap > i);
        assert_int_equal(items == before, !is_full);
        items[i] = i;
    }
    for (size_t i = 0; i < 1000; i++) assert_int_equal(items[i], i);
    assert_true(cap < 2000 + 16); /* it doubles */
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_and_do_not_overlap),
        cmocka_unit_test(nothing_is_memory_too),
        cmocka_unit_test(a_reset_keeps_one_chunk_and_begins_anew),
        cmocka_unit_test(a_large_piece_does_not_waste_the_current_chunk),
        cmocka_unit_test(a_copy_lives_in_the_arena),
        cmocka_unit_test(a_try_fails_where_there_is_no_memory_and_changes_nothing),
        cmocka_unit_test(a_list_grows_and_keeps_what_it_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
