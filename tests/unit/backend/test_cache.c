/* cache: bounded, second chance, outdated by flushes, borrowed until the end of the turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cache.h"
#include "base/random.h"

/* Key `number` of a database; good until the fourth next call. */
static struct slice key(unsigned database, unsigned number)
{
    static char keys[4][24];
    static unsigned next;
    char *k = keys[next++ % 4];
    char *rest = (char *)key_head_write((uint8_t *)k, (uint16_t)database, 1);
    int len = snprintf(rest, sizeof keys[0] - KEY_HEAD_BYTES, "%08u", number);
    return slice_of(k, (size_t)len + KEY_HEAD_BYTES);
}

static const struct cache_entry *put(struct cache *c, struct slice k, uint64_t version,
                                     const char *value)
{
    struct entry e = {.exists = value != NULL,
                      .version = version,
                      .expiry_ms = (int64_t)version + 1,
                      .value = slice_str(value == NULL ? "" : value)};
    return cache_put(c, hash_bytes(k), k, &e);
}

static const struct cache_entry *get(struct cache *c, struct slice k)
{
    return cache_get(c, hash_bytes(k), k);
}

static void what_was_put_is_found_absence_included(void **state)
{
    struct cache c;
    cache_init(&c, 10000);
    assert_null(get(&c, key(0, 1)));
    put(&c, key(0, 1), 5, "value");
    put(&c, key(0, 2), 0, NULL);
    const struct cache_entry *e = get(&c, key(0, 1));
    assert_non_null(e);
    assert_true(e->exists);
    assert_int_equal(e->version, 5);
    assert_int_equal(cache_expiry_ms(e), 6);
    assert_int_equal(e->value_len, 5);
    assert_memory_equal(cache_value(e).data, "value", 5);
    e = get(&c, key(0, 2));
    assert_non_null(e);
    assert_false(e->exists);
    assert_int_equal(c.hits, 2);
    assert_int_equal(c.misses, 1);
    assert_non_null(cache_peek(&c, hash_bytes(key(0, 1)), key(0, 1)));
    assert_null(cache_peek(&c, hash_bytes(key(0, 9)), key(0, 9)));
    assert_int_equal(c.hits + c.misses, 3);
    cache_fini(&c);
}

static void a_put_replaces_and_the_old_value_is_good_until_the_turn_ends(void **state)
{
    struct cache c;
    cache_init(&c, 10000);
    put(&c, key(0, 1), 1, "old");
    const struct cache_entry *old = get(&c, key(0, 1));
    size_t bytes = c.bytes;
    put(&c, key(0, 1), 2, "new");
    assert_int_equal(c.bytes, bytes);
    assert_int_equal(c.points.count, 1);
    assert_memory_equal(cache_value(old).data, "old", 3);
    assert_int_equal(get(&c, key(0, 1))->version, 2);
    cache_turn_end(&c);
    assert_int_equal(get(&c, key(0, 1))->version, 2);
    cache_fini(&c);
}

/* Keys are compared, not their hashes. */
static void keys_of_one_hash_are_apart(void **state)
{
    struct cache c;
    struct entry e = {.exists = true, .value = slice_str("value")};
    cache_init(&c, 10000);
    for (unsigned i = 0; i < 20; i++) {
        e.version = i;
        e.expiry_ms = i % 2;
        cache_put(&c, 7, key(0, i), &e);
    }
    for (unsigned i = 0; i < 20; i++) {
        const struct cache_entry *found = cache_get(&c, 7, key(0, i));
        assert_int_equal(found->version, i);
        assert_int_equal(cache_expiry_ms(found), i % 2);
        assert_memory_equal(cache_key(found).data, key(0, i).data, key(0, i).len);
        assert_memory_equal(cache_value(found).data, "value", 5);
    }
    assert_null(cache_get(&c, 7, key(0, 20)));
    cache_fini(&c);
}

static void it_stays_within_its_bound(void **state)
{
    struct cache c;
    struct rng rng;
    static char value[3000];
    memset(value, 'v', sizeof value - 1);
    rng_init(&rng, 1);
    cache_init(&c, 20000);
    for (unsigned i = 0; i < 5000; i++) {
        value[rng_below(&rng, sizeof value)] = '\0';
        unsigned number = (unsigned)rng_below(&rng, 300);
        const struct cache_entry *e = put(&c, key(1, number), i, value);
        assert_int_equal(e->version, i);
        assert_int_equal(e->value_len, strlen(value));
        assert_true(c.bytes <= 20000);
        if (i % 10 == 0) cache_turn_end(&c);
        const struct cache_entry *found = get(&c, key(1, number));
        if (found != NULL) assert_int_equal(found->version, i);
        memset(value, 'v', sizeof value - 1);
    }
    assert_true(c.points.count > 5);
    cache_fini(&c);
}

static void an_entry_larger_than_the_cache_is_good_for_the_turn_and_not_kept(void **state)
{
    struct cache c;
    cache_init(&c, 50);
    const struct cache_entry *e = put(&c, key(0, 1), 1, "much too large for this");
    assert_memory_equal(cache_value(e).data, "much too large", 14);
    assert_null(get(&c, key(0, 1)));
    assert_int_equal(c.bytes, 0);
    cache_turn_end(&c);
    put(&c, key(0, 1), 2, "again");
    cache_fini(&c);
}

static void what_was_used_gets_a_second_chance(void **state)
{
    struct cache c;
    cache_init(&c, 1u << 30);
    for (unsigned i = 0; i < 100; i++) put(&c, key(0, i), i, "value");
    size_t full = c.bytes;
    for (unsigned i = 0; i < 100; i += 2) assert_non_null(get(&c, key(0, i)));
    c.bytes_max = full;
    for (unsigned i = 100; i < 150; i++) put(&c, key(0, i), i, "value");
    unsigned used = 0;
    unsigned unused = 0;
    for (unsigned i = 0; i < 100; i += 2) {
        used += cache_peek(&c, hash_bytes(key(0, i)), key(0, i)) != NULL;
        unused += cache_peek(&c, hash_bytes(key(0, i + 1)), key(0, i + 1)) != NULL;
    }
    assert_int_equal(used, 50);
    assert_true(unused < 40); /* some of what is new went instead */
    cache_fini(&c);
}

/* All of it was used: the hand does not go around at once. */
static void a_put_looks_at_a_part_of_the_cache(void **state)
{
    struct cache c;
    unsigned count = 50000;
    cache_init(&c, SIZE_MAX);
    for (unsigned i = 0; i < count; i++) put(&c, key(0, i), 1, "value");
    for (unsigned i = 0; i < count; i++) assert_non_null(get(&c, key(0, i)));
    size_t full = c.bytes;
    cache_resize(&c, full);
    put(&c, key(0, count), 1, "one more");
    assert_int_equal(c.points.count, count + 1); /* nothing went yet */
    for (unsigned turn = 0; turn < 8 && c.bytes > full; turn++) cache_turn_end(&c);
    assert_true(c.bytes <= full && c.points.count >= count - 1);
    cache_fini(&c);
}

/* Many small entries make room for each large one as it comes. */
static void large_values_do_not_add_up(void **state)
{
    struct cache c;
    static char large[4000001];
    size_t bytes_max = 10000000;
    memset(large, 'x', sizeof large - 1);
    cache_init(&c, bytes_max);
    for (unsigned i = 0; i < 60000; i++) put(&c, key(0, i), 1, "value");
    for (unsigned i = 0; i < 40; i++) {
        put(&c, key(1, i), 1, large);
        assert_true(c.bytes <= bytes_max + sizeof large);
        cache_turn_end(&c);
        assert_true(c.bytes <= bytes_max);
    }
    cache_fini(&c);
}

static void a_flush_outdates_one_database(void **state)
{
    struct cache c;
    cache_init(&c, 10000);
    put(&c, key(0, 1), 1, "a");
    put(&c, key(1, 1), 1, "b");
    cache_forget_database(&c, 0);
    assert_null(get(&c, key(0, 1)));
    assert_null(cache_peek(&c, hash_bytes(key(0, 1)), key(0, 1)));
    assert_non_null(get(&c, key(1, 1)));
    put(&c, key(0, 1), 2, "again");
    assert_int_equal(get(&c, key(0, 1))->version, 2);
    cache_fini(&c);
}

static void outdated_entries_get_no_second_chance(void **state)
{
    struct cache c;
    cache_init(&c, 1u << 30);
    for (unsigned i = 0; i < 200; i++) put(&c, key(0, i), 1, "x");
    for (unsigned i = 0; i < 50; i++) put(&c, key(1, i), 1, "x");
    for (unsigned i = 0; i < 200; i++) assert_non_null(get(&c, key(0, i)));
    for (unsigned i = 0; i < 50; i++) assert_non_null(get(&c, key(1, i)));
    cache_forget_database(&c, 0);
    c.bytes_max = c.bytes;
    for (unsigned i = 50; i < 110; i++) put(&c, key(1, i), 1, "x");
    for (unsigned i = 0; i < 50; i++) assert_non_null(get(&c, key(1, i)));
    cache_fini(&c);
}

static void a_refresh_never_evicts_others(void **state)
{
    struct cache c;
    struct entry e = {.exists = true, .version = 9, .value = slice_str("value")};
    cache_init(&c, 10000);
    cache_refresh(&c, hash_bytes(key(0, 1)), key(0, 1), &e);
    assert_int_equal(get(&c, key(0, 1))->version, 9);
    unsigned kept = 2;
    while (c.bytes + 400 < c.bytes_max) put(&c, key(0, kept++), 1, "value");
    c.bytes_max = c.bytes;
    cache_refresh(&c, hash_bytes(key(0, 0)), key(0, 0), &e);
    assert_null(get(&c, key(0, 0)));
    e.version = 10;
    cache_refresh(&c, hash_bytes(key(0, 1)), key(0, 1), &e);
    assert_int_equal(get(&c, key(0, 1))->version, 10);
    for (unsigned i = 1; i < kept; i++) assert_non_null(get(&c, key(0, i)));
    cache_fini(&c);
}

/* Readers of this turn may still hold the values of what was evicted, replaced or outdated. */
static void what_has_to_go_is_there_until_the_turn_ends(void **state)
{
    enum { COUNT = 50 };
    const struct cache_entry *held[COUNT + 1];
    struct cache c;
    cache_init(&c, 1u << 20);
    for (unsigned i = 0; i < COUNT; i++) held[i] = put(&c, key(0, i), i, "held");
    held[COUNT] = put(&c, key(0, COUNT - 1), COUNT, "held"); /* replaces the last one */
    cache_forget_database(&c, 0);
    cache_resize(&c, 0);
    assert_true(put(&c, key(1, 1), 1, "other")->exists);
    assert_int_equal(c.bytes, 0);
    assert_int_equal(c.points.count, 0);
    for (unsigned i = 0; i <= COUNT; i++) {
        assert_int_equal(held[i]->version, i);
        assert_memory_equal(cache_value(held[i]).data, "held", 4);
    }
    cache_turn_end(&c);
    assert_int_equal(c.dying.count, 0);
    /* Also while it is not empty. */
    cache_resize(&c, 1u << 20);
    for (unsigned i = 0; i < COUNT; i++) put(&c, key(0, i % 5), i, "again");
    assert_true(c.dying.count > 0);
    cache_turn_end(&c);
    assert_int_equal(c.dying.count, 0);
    assert_int_equal(c.points.count, 5);
    cache_fini(&c);
}

static void refresh(struct cache *c, struct slice k, uint64_t version, const char *value)
{
    struct entry e = {.exists = value != NULL,
                      .version = version,
                      .value = slice_str(value == NULL ? "" : value)};
    cache_refresh(c, hash_bytes(k), k, &e);
}

/* Key `number` of thing `thing`, of a space whose rows are never asked for again once they are gone. */
static struct slice row(unsigned thing, unsigned number)
{
    static char keys[4][24];
    static unsigned next;
    char *k = keys[next++ % 4];
    char *rest = (char *)key_head_write((uint8_t *)k, 0, 5);
    int len = snprintf(rest, sizeof keys[0] - KEY_HEAD_BYTES, "%04u%06u", thing, number);
    return slice_of(k, (size_t)len + KEY_HEAD_BYTES);
}

static void forget_thing(struct cache *c, unsigned thing)
{
    struct slice start = row(thing, 0);
    struct slice end = row(thing + 1, 0);
    start.len = end.len = KEY_HEAD_BYTES + 4;
    cache_forget_range(c, start, end);
}

static void absence_is_remembered_of_what_was_asked_for(void **state)
{
    struct cache c;
    cache_init(&c, 10000);
    refresh(&c, key(0, 1), 1, NULL); /* nothing is known of it */
    assert_null(get(&c, key(0, 1)));
    refresh(&c, key(0, 2), 1, "never asked for");
    refresh(&c, key(0, 2), 2, NULL);
    assert_null(get(&c, key(0, 2)));
    refresh(&c, key(0, 3), 1, "a lock");
    assert_non_null(get(&c, key(0, 3)));
    refresh(&c, key(0, 3), 2, NULL);
    assert_false(get(&c, key(0, 3))->exists);
    refresh(&c, row(1, 1), 1, "a message");
    assert_non_null(get(&c, row(1, 1)));
    refresh(&c, row(1, 1), 2, NULL);
    assert_null(get(&c, row(1, 1)));
    cache_turn_end(&c);
    assert_int_equal(c.points.count, 1);
    cache_fini(&c);
}

static void sweep_all(struct cache *c)
{
    unsigned calls = 0;
    while (cache_sweep(c)) assert_true(++calls < 10000);
    cache_turn_end(c);
}

static void what_is_outdated_is_swept_out_bit_by_bit(void **state)
{
    struct cache c;
    cache_init(&c, 1u << 30);
    assert_false(cache_sweep(&c));
    for (unsigned i = 0; i < 2000; i++) put(&c, key(0, i), 1, "a");
    for (unsigned i = 0; i < 2000; i++) put(&c, key(1, i), 1, "b");
    for (unsigned i = 0; i < 2000; i++) put(&c, row(i % 10, i), 1, "c");
    cache_forget_database(&c, 1);
    forget_thing(&c, 7);
    forget_thing(&c, 3);
    assert_true(cache_sweep(&c));
    assert_true(c.points.count > 5500); /* not all at once */
    sweep_all(&c);
    assert_int_equal(c.points.count, 2000 + 8 * 200);
    for (unsigned i = 0; i < 2000; i++) {
        assert_non_null(get(&c, key(0, i)));
        assert_int_equal(get(&c, row(i % 10, i)) != NULL, i % 10 != 7 && i % 10 != 3);
    }
    cache_forget_database(&c, 0);
    sweep_all(&c);
    assert_int_equal(c.points.count, 0);
    assert_int_equal(c.bytes, 0);
    assert_false(cache_sweep(&c));
    cache_fini(&c);
}

/* Puts, removals, evictions, flushes and ranges between the steps of sweeps: afterwards nothing is
 * there that was outdated before the last one began, and all else that fits is. */
/* 4096 slots take 3072 entries. */
static void a_sweep_begins_again_when_the_table_grows(void **state)
{
    struct cache c;
    cache_init(&c, 1u << 30);
    for (unsigned i = 0; i < 3000; i++) put(&c, row(1, i), 1, "a");
    forget_thing(&c, 1);
    assert_true(cache_sweep(&c));
    size_t left = c.points.count;
    assert_in_range(left, 2000, 2999);
    for (unsigned i = 0; i < 1500; i++) put(&c, key(0, i), 1, "b");
    assert_true(cache_sweep(&c));
    sweep_all(&c);
    assert_int_equal(c.points.count, 1500);
    cache_fini(&c);
}

static void a_sweep_goes_on_whatever_happens(void **state)
{
    enum { THINGS = 6, ROWS = 400 };
    struct cache c;
    struct rng r;
    bool is_there[THINGS][ROWS] = {{false}};
    rng_init(&r, 5);
    cache_init(&c, 1u << 30);
    for (unsigned step = 0; step < 40000; step++) {
        unsigned thing = (unsigned)rng_below(&r, THINGS);
        unsigned n = (unsigned)rng_below(&r, ROWS);
        switch (rng_below(&r, 400)) {
        case 0:
            forget_thing(&c, thing);
            memset(is_there[thing], 0, sizeof is_there[thing]);
            sweep_all(&c); /* its rows are never put again: here only after the sweep */
            break;
        case 1:
            cache_forget_database(&c, 0);
            memset(is_there, 0, sizeof is_there);
            break;
        default:
            if (rng_below(&r, 3) == 0) {
                refresh(&c, row(thing, n), step, NULL);
                is_there[thing][n] = false;
            } else {
                put(&c, row(thing, n), step, "value");
                is_there[thing][n] = true;
            }
        }
        if (rng_below(&r, 50) == 0) (void)cache_sweep(&c);
        if (rng_below(&r, 100) == 0) cache_turn_end(&c);
    }
    sweep_all(&c);
    size_t count = 0;
    for (unsigned t = 0; t < THINGS; t++) {
        for (unsigned n = 0; n < ROWS; n++) {
            assert_int_equal(get(&c, row(t, n)) != NULL, is_there[t][n]);
            count += is_there[t][n];
        }
    }
    assert_int_equal(c.points.count, count);
    assert_true(count > 100);
    cache_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absence_is_remembered_of_what_was_asked_for),
        cmocka_unit_test(what_is_outdated_is_swept_out_bit_by_bit),
        cmocka_unit_test(a_sweep_begins_again_when_the_table_grows),
        cmocka_unit_test(a_sweep_goes_on_whatever_happens),
        cmocka_unit_test(what_was_put_is_found_absence_included),
        cmocka_unit_test(a_put_replaces_and_the_old_value_is_good_until_the_turn_ends),
        cmocka_unit_test(keys_of_one_hash_are_apart),
        cmocka_unit_test(it_stays_within_its_bound),
        cmocka_unit_test(an_entry_larger_than_the_cache_is_good_for_the_turn_and_not_kept),
        cmocka_unit_test(what_was_used_gets_a_second_chance),
        cmocka_unit_test(a_put_looks_at_a_part_of_the_cache),
        cmocka_unit_test(large_values_do_not_add_up),
        cmocka_unit_test(a_flush_outdates_one_database),
        cmocka_unit_test(outdated_entries_get_no_second_chance),
        cmocka_unit_test(a_refresh_never_evicts_others),
        cmocka_unit_test(what_has_to_go_is_there_until_the_turn_ends),
    };
    hash_fix(); /* the order in the table is the same each time */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
