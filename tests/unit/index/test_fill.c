/* Tests of filling an index in the background, an entry at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "codec/key.h"
#include "codec/utf8.h"
#include "unit/index/index_help.h"

#define TURNS_MAX 100

/* Turns until it is filled or has failed. */
static const struct definition *filled(struct ibench *t, const char *name)
{
    for (int i = 0; i < TURNS_MAX; i++) {
        const struct index *x = index_find(t->ix, 0, slice_str(name));
        assert_non_null(x);
        if (x->definition.state != INDEX_FILLING) return &x->definition;
        ibench_turn(t);
    }
    fail_msg("the index is never filled");
    return NULL;
}

static void each_entry_is_filled_in_once(void **state)
{
    for (size_t rows = 1; rows <= 3; rows++) {
        struct ibench t;
        ibench_open(&t, rows);
        for (unsigned i = 0; i < 7; i++) {
            assert_int_equal(ibench_set(&t, ibench_data_key(&t, "p", i), "{\"n\":1}", 0), OK);
        }
        assert_int_equal(ibench_create(&t, "x", "p", "n", false), OK);
        const struct definition *d = filled(&t, "x");
        assert_int_equal(d->state, INDEX_READY);
        assert_int_equal(d->filled, 7);
        ibench_audit(&t);
        ibench_close(&t);
    }
}

/* Key "p", so many dots and then so many characters of three bytes. */
static struct slice long_key(struct ibench *t, size_t dots, size_t euros)
{
    struct buf text = {0};
    struct buf key = {0};
    for (size_t i = 0; i < dots; i++) buf_append_byte(&text, '.');
    for (size_t i = 0; i < euros; i++) buf_append_str(&text, "\xe2\x82\xac");
    engine_key_begin(&key, 0);
    key_add_string(&key, slice_str("p"));
    key_add_string(&key, buf_slice(&text));
    struct slice kept = arena_copy(&t->arena, buf_slice(&key));
    buf_fini(&text);
    buf_fini(&key);
    return kept;
}

/* An empty index cannot have failed. */
static void a_flush_makes_an_index_that_failed_whole(void **state)
{
    struct ibench t;
    ibench_open(&t, 1);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(ibench_set(&t, ibench_data_key(&t, "p", i), "{\"n\":1}", 0), OK);
    }
    assert_int_equal(ibench_create(&t, "x", "p", "n", true), OK);
    assert_int_equal(filled(&t, "x")->state, INDEX_FAILED);
    struct txn txn = {.has_flush = true, .arena = &t.arena};
    assert_int_equal(engine_commit(t.g, &txn, &t.rig.waiter, &t.e), OK);
    const struct definition *d = filled(&t, "x");
    assert_int_equal(d->state, INDEX_READY);
    assert_int_equal(d->filled, 0);
    assert_int_equal(d->note.len, 0);
    assert_int_equal(ibench_set(&t, ibench_data_key(&t, "p", 1), "{\"n\":1}", 0), OK);
    assert_int_equal(ibench_set(&t, ibench_data_key(&t, "p", 2), "{\"n\":1}", 0), ERR_DUPLICATE);
    ibench_audit(&t);
    ibench_close(&t);
}

static void a_dropped_database_has_no_indexes(void **state)
{
    struct ibench t;
    ibench_open(&t, 1);
    assert_int_equal(ibench_create(&t, "x", "p", "n", false), OK);
    assert_int_equal(ibench_set(&t, ibench_data_key(&t, "p", 1), "{\"n\":1}", 0), OK);
    ibench_settle(&t);
    struct txn txn = {.has_flush = true, .is_drop = true, .arena = &t.arena};
    assert_int_equal(engine_commit(t.g, &txn, &t.rig.waiter, &t.e), OK);
    assert_int_equal(index_count(t.ix, 0), 0);
    ibench_crash(&t);
    ibench_settle(&t);
    assert_int_equal(index_count(t.ix, 0), 0);
    ibench_audit(&t);
    ibench_close(&t);
}

/* Wherever the end of the room is: before, inside of or after a character. */
static void why_it_failed_ends_with_a_whole_character(void **state)
{
    for (size_t dots = 0; dots < 3; dots++) {
        struct ibench t;
        ibench_open(&t, 1);
        assert_int_equal(ibench_set(&t, long_key(&t, dots, 400), "{\"n\":1}", 0), OK);
        assert_int_equal(ibench_set(&t, long_key(&t, dots, 401), "{\"n\":1}", 0), OK);
        assert_int_equal(ibench_create(&t, "x", "p", "n", true), OK);
        const struct definition *d = filled(&t, "x");
        assert_int_equal(d->state, INDEX_FAILED);
        assert_in_range(d->note.len, INDEX_NOTE_BYTES_MAX - 2, INDEX_NOTE_BYTES_MAX);
        assert_int_equal(utf8_valid_bytes(d->note), d->note.len);
        ibench_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_entry_is_filled_in_once),
        cmocka_unit_test(a_flush_makes_an_index_that_failed_whole),
        cmocka_unit_test(a_dropped_database_has_no_indexes),
        cmocka_unit_test(why_it_failed_ends_with_a_whole_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
