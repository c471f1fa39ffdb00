/* local: the backend as the engine sees it, against a simple model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/random.h"
#include "unit/backend/local_help.h"

/* ---- single keys ---- */

static void a_new_directory_is_empty(void **state)
{
    struct rig r;
    struct buf text;
    buf_init(&text);
    rig_init(&r);
    rig_open(&r);
    rig_expect(&r, key_of(0, "a"), NULL);
    rig_scan_text(&r, key_low(0), key_high(0), false, &text);
    assert_string_equal((char *)text.data, "");
    rig_close(&r);
    rig_fini(&r);
    buf_fini(&text);
}

static void a_commit_is_seen_at_once_and_durable_later(void **state)
{
    struct rig r;
    struct entry entry;
    rig_init(&r);
    rig_open(&r);
    uint64_t version = rig_set(&r, key_of(0, "a"), slice_str("one"));
    rig_load(&r, key_of(0, "a"), &entry);
    assert_true(entry.exists);
    assert_int_equal(entry.version, version);
    assert_true(r.durable < version);
    rig_settle(&r);
    assert_int_equal(r.durable, version);
    assert_int_equal(backend_version_durable(r.b), version);
    rig_close(&r);
    rig_fini(&r);
}

static void all_of_an_entry_survives_a_clean_stop_and_a_crash(void **state)
{
    struct rig r;
    struct entry entry;
    rig_init(&r);
    rig_open(&r);
    struct mutation mu[2] = {
        {.kind = MUTATION_SET, .key = key_of(0, "a"), .value = slice_str("x"), .expiry_ms = 12345},
        {.kind = MUTATION_SET, .key = key_of(15, "b"), .value = slice_str(""), .expiry_ms = 0}};
    uint64_t version = 0;
    assert_int_equal(rig_try_commit(&r, mu, 2, &version, NULL), OK);
    rig_settle(&r);
    for (int i = 0; i < 6; i++) {
        if (i % 2 == 0) {
            rig_crash(&r);
        } else {
            rig_close(&r);
            rig_open(&r);
        }
        rig_load(&r, key_of(0, "a"), &entry);
        assert_true(entry.exists && entry.version == version && entry.expiry_ms == 12345);
        rig_expect(&r, key_of(0, "a"), "x");
        rig_load(&r, key_of(15, "b"), &entry);
        assert_true(entry.exists && entry.version == version && entry.value.len == 0);
    }
    rig_fini(&r);
}

static uint64_t replayed[8];
static size_t replayed_count;

static void on_replay(void *arg, uint64_t transactions)
{
    assert_true(replayed_count < 8);
    replayed[replayed_count++] = transactions;
}

/* The first and every 1024th; nothing when nothing is replayed. */
static void a_start_tells_how_much_of_the_journal_it_has_read(void **state)
{
    struct rig r;
    rig_init(&r);
    r.options.on_replay = on_replay;
    rig_open(&r);
    assert_int_equal(replayed_count, 0);
    for (int i = 0; i < 2100; i++) {
        rig_set(&r, key_of(0, "a"), slice_str("1"));
        if (i % 500 == 0) rig_settle(&r);
    }
    rig_settle(&r);
    rig_crash(&r);
    assert_int_equal(replayed_count, 3);
    assert_int_equal(replayed[0], 1);
    assert_int_equal(replayed[1], 1025);
    assert_int_equal(replayed[2], 2049);
    rig_close(&r);
    rig_open(&r);
    assert_int_equal(replayed_count, 3);
    rig_fini(&r);
}

/* A page of a range is remembered; what is applied later is in it all the same. */
static void a_range_read_before_shows_what_was_applied_since(void **state)
{
    struct rig r;
    struct buf text;
    buf_init(&text);
    rig_init(&r);
    r.options.cache_bytes = 16 << 20;
    rig_open(&r);
    rig_set(&r, key_of(0, "a"), slice_str("1"));
    rig_set(&r, key_of(0, "c"), slice_str("1"));
    rig_apply(&r);
    for (int i = 0; i < 2; i++) {
        buf_clear(&text, SIZE_MAX);
        rig_scan_text(&r, key_low(0), key_high(0), false, &text);
        assert_string_equal((char *)text.data, "a c");
    }
    rig_set(&r, key_of(0, "b"), slice_str("1"));
    rig_delete(&r, key_of(0, "c"));
    rig_apply(&r);
    buf_clear(&text, SIZE_MAX);
    rig_scan_text(&r, key_low(0), key_high(0), false, &text);
    assert_string_equal((char *)text.data, "a b");
    rig_close(&r);
    rig_fini(&r);
    buf_fini(&text);
}

/* Under each the entry is read from another place: active memtable, frozen one, store, cache. */
static void the_newest_write_wins_wherever_the_older_ones_are(void **state)
{
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    struct slice key = key_of(3, "k");
    rig_set(&r, key, slice_str("1"));
    rig_apply(&r);
    rig_expect(&r, key, "1");
    rig_set(&r, key, slice_str("2"));
    rig_expect(&r, key, "2");
    pipeline_freeze(pipeline_of(r.b));
    rig_expect(&r, key, "2");
    rig_delete(&r, key);
    rig_expect(&r, key, NULL);
    rig_apply(&r);
    rig_expect(&r, key, NULL);
    rig_set(&r, key, slice_str("3"));
    rig_flush(&r, 3);
    rig_expect(&r, key, NULL);
    rig_set(&r, key, slice_str("4"));
    rig_expect(&r, key, "4");
    rig_apply(&r);
    rig_expect(&r, key, "4");
    rig_fini(&r);
}

static void a_transaction_larger_than_a_segment_is_refused(void **state)
{
    struct rig r;
    struct error e;
    rig_init(&r);
    rig_open(&r);
    uint8_t *big = calloc(1, 64 * 1024);
    struct mutation mu = {.kind = MUTATION_SET, .key = key_of(0, "a")};
    uint64_t version = 0;
    mu.value = slice_of(big, 64 * 1024);
    assert_int_equal(rig_try_commit(&r, &mu, 1, &version, &e), ERR_LIMIT);
    rig_expect(&r, key_of(0, "a"), NULL);
    mu.value = slice_of(big, 59 * 1024);
    for (int i = 0; i < 5; i++) assert_int_equal(rig_try_commit(&r, &mu, 1, &version, &e), OK);
    rig_settle(&r);
    free(big);
    rig_close(&r);
    rig_fini(&r);
}

static void a_second_server_on_the_directory_is_refused(void **state)
{
    struct rig r;
    struct error e;
    struct journal *second = NULL;
    struct store *store = NULL;
    rig_init(&r);
    rig_open(&r);
    assert_int_equal(local_open(&r.local, &second, &store, &e), ERR_LOCKED);
    assert_null(second);
    assert_non_null(strstr(e.text, r.dir));
    rig_set(&r, key_of(0, "a"), slice_str("1"));
    rig_crash(&r);
    rig_close(&r);
    rig_fini(&r);
}

/* ---- depends ---- */

static uint64_t load_depends(struct rig *r, struct slice key)
{
    struct entry entry;
    rig_load(r, key, &entry);
    return entry.depends;
}

static void a_load_depends_on_value_tombstone_or_flush(void **state)
{
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    assert_int_equal(load_depends(&r, key_of(0, "a")), 0);
    uint64_t a = rig_set(&r, key_of(0, "a"), slice_str("1"));
    uint64_t b = rig_set(&r, key_of(0, "b"), slice_str("1"));
    assert_int_equal(load_depends(&r, key_of(0, "a")), a);
    assert_int_equal(load_depends(&r, key_of(0, "b")), b);
    assert_int_equal(load_depends(&r, key_of(0, "c")), 0);
    uint64_t gone = rig_delete(&r, key_of(0, "a"));
    assert_int_equal(load_depends(&r, key_of(0, "a")), gone);
    uint64_t never = rig_delete(&r, key_of(0, "never there"));
    assert_int_equal(load_depends(&r, key_of(0, "never there")), never);
    uint64_t flush = rig_flush(&r, 0);
    assert_int_equal(load_depends(&r, key_of(0, "b")), flush);
    assert_int_equal(load_depends(&r, key_of(0, "c")), flush);
    assert_int_equal(load_depends(&r, key_of(1, "c")), 0);
    uint64_t later = rig_set(&r, key_of(0, "b"), slice_str("2"));
    assert_int_equal(load_depends(&r, key_of(0, "b")), later);
    assert_int_equal(load_depends(&r, key_of(0, "c")), flush);
    rig_apply(&r);
    assert_true(load_depends(&r, key_of(0, "b")) <= r.durable);
    assert_true(load_depends(&r, key_of(0, "c")) <= r.durable);
    rig_fini(&r);
}

static uint64_t scan_depends(struct rig *r, struct slice start, struct slice end)
{
    struct scan_range range = {.start = start, .end = end};
    struct scan *s = NULL;
    struct slice key;
    struct entry entry;
    assert_int_equal(backend_scan_open(r->b, &range, &s, NULL), OK);
    while (rig_scan_next(r, s, &key, &entry)) continue;
    uint64_t depends = backend_scan_depends(s);
    backend_scan_close(s);
    return depends;
}

static void a_scan_depends_on_the_newest_write_inside_its_range(void **state)
{
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    uint64_t b = rig_set(&r, key_of(0, "b"), slice_str("1"));
    uint64_t y = rig_set(&r, key_of(0, "y"), slice_str("1"));
    assert_int_equal(scan_depends(&r, key_of(0, "a"), key_of(0, "m")), b);
    assert_int_equal(scan_depends(&r, key_of(0, "m"), key_of(0, "z")), y);
    assert_int_equal(scan_depends(&r, key_of(0, "c"), key_of(0, "m")), 0);
    uint64_t gone = rig_delete(&r, key_of(0, "b"));
    assert_int_equal(scan_depends(&r, key_of(0, "a"), key_of(0, "m")), gone);
    uint64_t flush = rig_flush(&r, 0);
    assert_int_equal(scan_depends(&r, key_of(0, "c"), key_of(0, "d")), flush);
    assert_int_equal(scan_depends(&r, key_of(1, "c"), key_of(1, "d")), 0);
    rig_fini(&r);
}

/* ---- versions ---- */

static void versions_are_never_given_twice(void **state)
{
    struct rig r;
    uint64_t newest = 0;
    rig_init(&r);
    for (int i = 0; i < 12; i++) {
        rig_open(&r);
        uint64_t version = rig_set(&r, key_of(0, "a"), slice_str("1"));
        assert_true(version > newest);
        newest = version;
        if (i % 3 == 0) rig_settle(&r);
        newest = rig_set(&r, key_of(0, "lost, perhaps"), slice_str("1"));
        if (i % 4 == 0) {
            rig_close(&r);
        } else {
            rig_abandon(&r);
        }
    }
    rig_fini(&r);
}

static void a_clean_stop_gives_the_reserved_versions_back(void **state)
{
    struct rig r;
    rig_init(&r);
    for (uint64_t i = 1; i < 4; i++) {
        rig_open(&r);
        assert_int_equal(rig_set(&r, key_of(0, "a"), slice_str("1")), i);
        rig_close(&r);
    }
    rig_fini(&r);
}

static void a_database_without_its_versions_file_continues_far_above(void **state)
{
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    uint64_t version = rig_set(&r, key_of(0, "a"), slice_str("1"));
    rig_close(&r);
    assert_int_equal(remove(rig_path(&r, "versions")), 0);
    rig_open(&r);
    assert_true(rig_set(&r, key_of(0, "a"), slice_str("2")) > version + (1ull << 32));
    rig_close(&r);
    rig_fini(&r);
}

/* ---- flush, counts ---- */

static void a_flush_hides_everything_and_survives(void **state)
{
    struct rig r;
    struct buf text;
    buf_init(&text);
    rig_init(&r);
    rig_open(&r);
    for (int i = 0; i < 100; i++) {
        rig_set(&r, key_of(2, "%02d", i), slice_str("old"));
        rig_set(&r, key_of(3, "%02d", i), slice_str("other"));
        if (i == 30) rig_apply(&r);
        if (i == 60) pipeline_freeze(pipeline_of(r.b));
    }
    rig_flush(&r, 2);
    rig_set(&r, key_of(2, "17"), slice_str("new"));
    for (int i = 0; i < 4; i++) {
        rig_expect(&r, key_of(2, "03"), NULL);
        rig_expect(&r, key_of(2, "80"), NULL);
        rig_expect(&r, key_of(2, "17"), "new");
        rig_expect(&r, key_of(3, "80"), "other");
        rig_scan_text(&r, key_low(2), key_high(2), i % 2, &text);
        assert_string_equal((char *)text.data, "17");
        rig_settle(&r);
        if (i == 0) rig_crash(&r);
        if (i == 1) rig_apply(&r);
        if (i == 2) rig_close(&r);
        if (i == 2) rig_open(&r);
    }
    assert_int_equal(backend_entries(r.b, 2), 1);
    assert_int_equal(backend_entries(r.b, 3), 100);
    rig_close(&r);
    rig_fini(&r);
    buf_fini(&text);
}

static void old_memtables_are_applied_by_themselves(void **state)
{
    struct rig r;
    struct backend_stats stats;
    rig_init(&r);
    r.options.memtable_age_ms = 500;
    clock_set_fake_ms(1000000);
    rig_open(&r);
    uint64_t version = rig_set(&r, key_of(0, "a"), slice_str("1"));
    rig_settle(&r);
    for (int i = 0; i < 20; i++) rig_step(&r);
    backend_stats(r.b, &stats);
    assert_int_equal(stats.applies, 0);
    clock_set_fake_ms(1000501);
    for (int i = 0; i < 20; i++) rig_step(&r);
    backend_stats(r.b, &stats);
    assert_int_equal(stats.applies, 1);
    assert_int_equal(stats.applied, version);
    assert_int_equal(backend_entries(r.b, 0), 1);
    rig_fini(&r);
}

/* ---- back-pressure ---- */

static void writers_are_held_while_the_store_is_behind_and_go_on_later(void **state)
{
    struct rig r;
    struct error e;
    rig_init(&r);
    r.options.write_buffer_bytes = 2 << 20;
    r.local.segment_bytes = 1 << 20;
    clock_set_fake_ms(1000000);
    rig_open(&r);
    uint8_t *value = calloc(1, 50000);
    enum err admitted = OK;
    int writes = 0;
    while (admitted == OK) {
        assert_true(++writes < 1000);
        rig_set(&r, key_of(0, "%d", writes), slice_of(value, 50000));
        r.is_ready = false;
        admitted = backend_admit(r.b, &r.waiter, &e);
    }
    assert_int_equal(admitted, ERR_WAIT);
    assert_false(r.is_ready);
    for (int i = 0; i < 1000 && !r.is_ready; i++) rig_step(&r);
    /* Nothing was frozen yet; now it is, and the store catches up. */
    if (!r.is_ready) rig_apply(&r);
    for (int i = 0; i < 1000 && !r.is_ready; i++) rig_step(&r);
    assert_true(r.is_ready);
    assert_int_equal(backend_admit(r.b, &r.waiter, &e), OK);
    free(value);
    rig_fini(&r);
}

/* As much as writers may have unapplied is taken into memory without waiting for the store; no more. */
static void a_start_takes_into_memory_what_writers_may_have_unapplied(void **state)
{
    struct rig r;
    uint8_t value[1000] = {0};
    (void)state;
    rig_init(&r);
    r.options.memtable_bytes = 64 << 20;
    rig_open(&r);
    for (int i = 0; i < 4000; i++) rig_set(&r, key_of(0, "%d", i), slice_of(value, sizeof value));
    rig_settle(&r);
    r.options.memtable_bytes = 512 << 10;
    rig_crash(&r);
    const struct pipeline *p = pipeline_of(r.b);
    assert_int_equal(p->stored.applied, 0);
    assert_true(p->newest.frozen_count > 4);
    assert_int_equal(backend_entries(r.b, 0), 4000);
    r.options.write_buffer_bytes = 1 << 20;
    rig_crash(&r);
    p = pipeline_of(r.b);
    assert_true(p->stored.applied > 0);
    assert_true(pipeline_unapplied_bytes(p) < 4 << 20);
    assert_int_equal(backend_entries(r.b, 0), 4000);
    rig_apply(&r);
    assert_int_equal(backend_entries(r.b, 0), 4000);
    rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_directory_is_empty),
        cmocka_unit_test(a_commit_is_seen_at_once_and_durable_later),
        cmocka_unit_test(all_of_an_entry_survives_a_clean_stop_and_a_crash),
        cmocka_unit_test(a_range_read_before_shows_what_was_applied_since),
        cmocka_unit_test(the_newest_write_wins_wherever_the_older_ones_are),
        cmocka_unit_test(a_transaction_larger_than_a_segment_is_refused),
        cmocka_unit_test(a_second_server_on_the_directory_is_refused),
        cmocka_unit_test(a_load_depends_on_value_tombstone_or_flush),
        cmocka_unit_test(a_scan_depends_on_the_newest_write_inside_its_range),
        cmocka_unit_test(versions_are_never_given_twice),
        cmocka_unit_test(a_clean_stop_gives_the_reserved_versions_back),
        cmocka_unit_test(a_database_without_its_versions_file_continues_far_above),
        cmocka_unit_test(a_start_tells_how_much_of_the_journal_it_has_read),
        cmocka_unit_test(a_start_takes_into_memory_what_writers_may_have_unapplied),
        cmocka_unit_test(a_flush_hides_everything_and_survives),
        cmocka_unit_test(old_memtables_are_applied_by_themselves),
        cmocka_unit_test(writers_are_held_while_the_store_is_behind_and_go_on_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
