/* memtable: chains of versions, tombstones, flushes, states, references. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "backend/memtable.h"
#include "base/clock.h"
#include "base/random.h"

#define KEY slice_str("\x01\x01\x01key")

static void put(struct memtable *m, struct slice key, const char *value, uint64_t version)
{
    struct mutation mu = {.kind = value == NULL ? MUTATION_DELETE : MUTATION_SET,
                          .key = key,
                          .value = slice_str(value == NULL ? "" : value),
                          .expiry_ms = value == NULL ? 0 : (int64_t)version * 10};
    memtable_put(m, hash_bytes(key), &mu, version);
}

static void expect_version(const struct mem_version *v, uint64_t version, const char *value)
{
    assert_non_null(v);
    assert_int_equal(v->version, version);
    assert_int_equal(v->is_tombstone, value == NULL);
    if (value == NULL) return;
    assert_int_equal(v->value_len, strlen(value));
    assert_memory_equal(v->value, value, v->value_len);
    assert_int_equal(v->expiry_ms, (int64_t)version * 10);
}

static void a_new_one_is_empty(void **state)
{
    struct memtable *m = memtable_new(0);
    assert_true(memtable_is_empty(m));
    assert_int_equal(memtable_bytes(m), 0);
    assert_null(memtable_get(m, hash_bytes(KEY), KEY));
    if (memtable_unref(m)) memtable_free(m);
}

static void a_reader_sees_the_newest_version_up_to_its_own(void **state)
{
    struct memtable *m = memtable_new(0);
    put(m, KEY, "three", 3);
    put(m, KEY, NULL, 5);
    put(m, KEY, "eight", 8);
    const struct mem_version *newest = memtable_get(m, hash_bytes(KEY), KEY);
    expect_version(newest, 8, "eight");
    assert_null(mem_version_at(newest, 2));
    expect_version(mem_version_at(newest, 3), 3, "three");
    expect_version(mem_version_at(newest, 4), 3, "three");
    expect_version(mem_version_at(newest, 5), 5, NULL);
    expect_version(mem_version_at(newest, 7), 5, NULL);
    expect_version(mem_version_at(newest, UINT64_MAX), 8, "eight");
    assert_int_equal(m->version_first, 3);
    assert_int_equal(m->version_last, 8);
    assert_int_equal(m->order.count, 1);
    if (memtable_unref(m)) memtable_free(m);
}

static void the_last_of_two_writes_of_one_transaction_counts(void **state)
{
    struct memtable *m = memtable_new(0);
    put(m, KEY, "old", 1);
    put(m, KEY, "first", 2);
    put(m, KEY, NULL, 2);
    put(m, KEY, "last", 2);
    const struct mem_version *newest = memtable_get(m, hash_bytes(KEY), KEY);
    expect_version(newest, 2, "last");
    expect_version(newest->older, 1, "old");
    assert_null(newest->older->older);
    if (memtable_unref(m)) memtable_free(m);
}

static void keys_and_values_are_copied(void **state)
{
    struct memtable *m = memtable_new(0);
    char key[] = "\x01\x01\x01mine";
    char value[] = "mine too";
    put(m, slice_str(key), value, 1);
    memset(key, 'x', sizeof key - 1);
    memset(value, 'x', sizeof value - 1);
    struct slice want = slice_str("\x01\x01\x01mine");
    expect_version(memtable_get(m, hash_bytes(want), want), 1, "mine too");
    if (memtable_unref(m)) memtable_free(m);
}

static void a_flush_is_noted_per_database_and_makes_it_not_empty(void **state)
{
    struct memtable *m = memtable_new(0);
    memtable_flush(m, 4, 7);
    assert_false(memtable_is_empty(m));
    assert_int_equal(memtable_flushed(m, 4), 7);
    assert_int_equal(memtable_flushed(m, 3), 0);
    assert_int_equal(m->version_last, 7);
    put(m, KEY, "x", 7);
    memtable_flush(m, 4, 9);
    assert_int_equal(memtable_flushed(m, 4), 9);
    if (memtable_unref(m)) memtable_free(m);
}

static void its_age_counts_from_the_first_write(void **state)
{
    clock_set_fake_ms(1000);
    struct memtable *m = memtable_new(0);
    clock_set_fake_ms(2000);
    put(m, KEY, "x", 1);
    clock_set_fake_ms(3000);
    put(m, KEY, "y", 2);
    assert_int_equal(m->born_us, 2000000);
    clock_set_fake_ms(0);
    if (memtable_unref(m)) memtable_free(m);
}

static void states_follow_each_other_and_a_failed_apply_goes_back(void **state)
{
    struct memtable *m = memtable_new(0);
    put(m, KEY, "x", 1);
    memtable_move(m, MEM_FROZEN);
    memtable_move(m, MEM_APPLYING);
    memtable_move(m, MEM_FROZEN);
    memtable_move(m, MEM_APPLYING);
    memtable_move(m, MEM_APPLIED);
    assert_int_equal(m->state, MEM_APPLIED);
    memtable_ref(m);
    if (memtable_unref(m)) memtable_free(m);
    expect_version(memtable_get(m, hash_bytes(KEY), KEY), 1, "x");
    if (memtable_unref(m)) memtable_free(m);
}

static void many_random_writes_are_found_and_in_order(void **state)
{
    enum { KEYS = 500 };
    uint64_t last[KEYS] = {0};
    struct memtable *m = memtable_new(0);
    struct rng rng;
    rng_init(&rng, 7);
    size_t distinct = 0;
    size_t bytes = 0;
    for (uint64_t version = 1; version <= 5000; version++) {
        char key[16] = "\x01\x01\x01";
        unsigned number = (unsigned)rng_below(&rng, KEYS);
        snprintf(key + 3, sizeof key - 3, "%03u", number);
        distinct += last[number] == 0;
        last[number] = version;
        put(m, slice_str(key), "value", version);
        assert_true(memtable_bytes(m) >= bytes);
        bytes = memtable_bytes(m);
    }
    assert_int_equal(m->order.count, distinct);
    assert_true(bytes > 5000 * 5);
    struct omap_iter it = omap_seek(&m->order, slice_of(NULL, 0));
    for (unsigned i = 0; i < KEYS; i++) {
        if (last[i] == 0) continue;
        char key[16] = "\x01\x01\x01";
        snprintf(key + 3, sizeof key - 3, "%03u", i);
        const struct mem_entry *entry = omap_peek(&it);
        assert_non_null(entry);
        assert_true(slice_eq(entry->key, slice_str(key)));
        expect_version(entry->newest, last[i], "value");
        for (const struct mem_version *v = entry->newest; v->older != NULL; v = v->older) {
            assert_true(v->older->version < v->version);
        }
        omap_next(&it);
    }
    assert_null(omap_peek(&it));
    if (memtable_unref(m)) memtable_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_one_is_empty),
        cmocka_unit_test(a_reader_sees_the_newest_version_up_to_its_own),
        cmocka_unit_test(the_last_of_two_writes_of_one_transaction_counts),
        cmocka_unit_test(keys_and_values_are_copied),
        cmocka_unit_test(a_flush_is_noted_per_database_and_makes_it_not_empty),
        cmocka_unit_test(its_age_counts_from_the_first_write),
        cmocka_unit_test(states_follow_each_other_and_a_failed_apply_goes_back),
        cmocka_unit_test(many_random_writes_are_found_and_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
