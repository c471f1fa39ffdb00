/* Options that change while a backend is open, above all durability: under `always` nothing is
 * acknowledged that is not synced, however it came to be `always`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/random.h"
#include "unit/backend/local_help.h"

#define START_MS 1700000000000

static enum err set_options(struct rig *r)
{
    struct error e = {.text = ""};
    waiter_cancel(&r->waiter); /* of an earlier call */
    r->is_ready = false;
    enum err result = rig_set_options(r, &e);
    assert_true(result == OK || result == ERR_WAIT);
    return result;
}

static void set_options_now(struct rig *r)
{
    for (int i = 0; set_options(r) != OK; i++) {
        assert_true(i < STEPS_MAX);
        while (!r->is_ready) rig_step(r);
    }
}

static struct journal *journal_of(struct rig *r)
{
    return pipeline_of(r->b)->log.journal;
}

static void a_write_under_way_is_acknowledged_by_the_durability_of_now(void **state)
{
    struct rig r;
    rig_init(&r);
    r.local.durability = DURABILITY_NEVER;
    rig_open(&r);
    uint64_t before = r.durable;
    uint64_t version = rig_set(&r, key_of(0, "a"), slice_str("1"));
    backend_turn_end(r.b); /* a job without a sync is posted */
    r.local.durability = DURABILITY_ALWAYS;
    assert_int_equal(set_options(&r), OK); /* nothing was acknowledged without a sync */
    backend_poll(r.b);                     /* it ends */
    assert_int_equal(r.durable, before);
    assert_true(journal_of(&r)->synced < version);
    rig_settle(&r);
    assert_int_equal(r.durable, version);
    assert_int_equal(journal_of(&r)->synced, version);
    rig_close(&r);
    rig_fini(&r);
}

static void choosing_always_waits_for_what_was_acknowledged(void **state)
{
    struct rig r;
    rig_init(&r);
    r.local.durability = DURABILITY_NEVER;
    rig_open(&r);
    uint64_t version = rig_set(&r, key_of(0, "a"), slice_str("1"));
    rig_settle(&r);
    assert_int_equal(r.durable, version);
    assert_true(journal_of(&r)->synced < version);
    r.local.durability = DURABILITY_ALWAYS;
    assert_int_equal(set_options(&r), ERR_WAIT);
    set_options_now(&r);
    assert_int_equal(journal_of(&r)->synced, version);
    rig_close(&r);
    rig_fini(&r);
}

static void a_weaker_durability_syncs_less(void **state)
{
    struct rig r;
    struct backend_stats stats;
    rig_init(&r);
    rig_open(&r);
    rig_set(&r, key_of(0, "a"), slice_str("1"));
    rig_settle(&r);
    r.local.durability = DURABILITY_NEVER;
    assert_int_equal(set_options(&r), OK);
    backend_stats(r.b, &stats);
    uint64_t syncs = stats.journal_syncs;
    uint64_t version = rig_set(&r, key_of(0, "b"), slice_str("1"));
    rig_settle(&r);
    backend_stats(r.b, &stats);
    assert_int_equal(stats.journal_syncs, syncs);
    assert_true(journal_of(&r)->synced < version);
    rig_close(&r);
    rig_fini(&r);
}

/* Any order of changes, writes, and ends of jobs. */
static void under_always_all_that_is_acknowledged_is_synced(void **state)
{
    struct rig r;
    struct rng rng;
    bool is_promised = true; /* the last change was to always, and was answered with OK */
    rig_init(&r);
    rng_init(&rng, 20261120);
    r.local.interval_ms = 3;
    clock_set_fake_ms(START_MS);
    rig_open(&r);
    for (int i = 0; i < 20000; i++) {
        switch (rng_below(&rng, 6)) {
        case 0:
            r.local.durability = (enum durability)rng_below(&rng, 3);
            is_promised = set_options(&r) == OK && r.local.durability == DURABILITY_ALWAYS;
            break;
        case 1:
            waiter_cancel(&r.waiter);
            rig_set(&r, key_of(0, "%d", i % 7), slice_str("1"));
            break;
        case 2: backend_turn_end(r.b); break;
        case 3: backend_poll(r.b); break;
        case 4: clock_set_fake_ms(START_MS + i); break;
        default: backend_tick(r.b); break;
        }
        assert_true(journal_of(&r)->acknowledged >= r.durable);
        if (is_promised) assert_true(r.durable <= journal_of(&r)->synced);
    }
    r.local.durability = DURABILITY_ALWAYS;
    set_options_now(&r);
    rig_settle(&r);
    rig_close(&r);
    rig_fini(&r);
}

static void a_smaller_memtable_is_frozen(void **state)
{
    struct rig r;
    static char value[2000];
    rig_init(&r);
    r.options.memtable_bytes = 64 << 20;
    rig_open(&r);
    for (int i = 0; i < 100; i++) rig_set(&r, key_of(0, "%d", i), slice_of(value, sizeof value));
    rig_settle(&r);
    assert_int_equal(pipeline_of(r.b)->stored.applied, 0);
    r.options.memtable_bytes = 10000;
    assert_int_equal(set_options(&r), OK);
    for (int i = 0; pipeline_of(r.b)->stored.applied == 0; i++) {
        assert_true(i < STEPS_MAX);
        rig_step(&r);
    }
    rig_close(&r);
    rig_fini(&r);
}

static void a_younger_memtable_age_applies_what_is_little(void **state)
{
    struct rig r;
    rig_init(&r);
    clock_set_fake_ms(START_MS);
    rig_open(&r);
    rig_set(&r, key_of(0, "a"), slice_str("1"));
    clock_set_fake_ms(START_MS + 100);
    for (int i = 0; i < 20; i++) rig_step(&r);
    assert_int_equal(pipeline_of(r.b)->stored.applied, 0);
    r.options.memtable_age_ms = 100;
    assert_int_equal(set_options(&r), OK);
    for (int i = 0; pipeline_of(r.b)->stored.applied == 0; i++) {
        assert_true(i < STEPS_MAX);
        rig_step(&r);
    }
    rig_close(&r);
    rig_fini(&r);
}

static void the_write_buffer_limit_stops_and_frees_writers(void **state)
{
    struct rig r;
    struct error e;
    static char value[2000];
    rig_init(&r);
    rig_open(&r);
    for (int i = 0; i < 20; i++) rig_set(&r, key_of(0, "%d", i), slice_of(value, sizeof value));
    assert_int_equal(backend_admit(r.b, &r.waiter, &e), OK);
    r.options.write_buffer_bytes = 20000;
    assert_int_equal(set_options(&r), OK);
    assert_int_equal(backend_admit(r.b, &r.waiter, &e), ERR_WAIT);
    waiter_cancel(&r.waiter);
    r.options.write_buffer_bytes = 64 << 20;
    assert_int_equal(set_options(&r), OK);
    assert_int_equal(backend_admit(r.b, &r.waiter, &e), OK);
    rig_close(&r);
    rig_fini(&r);
}

/* Writes of 2000 bytes until one has to wait. */
static int writes_admitted(struct rig *r)
{
    struct error e;
    static char value[2000];
    int writes = 0;
    for (; backend_admit(r->b, &r->waiter, &e) == OK && writes < 10000; writes++) {
        rig_set(r, key_of(0, "w%d", writes), slice_of(value, sizeof value));
    }
    waiter_cancel(&r->waiter);
    return writes;
}

/* What was applied before was fast; the apply that runs is slow. */
static void writers_are_as_fast_as_the_apply_that_runs(void **state)
{
    struct rig r;
    static char value[2000];
    (void)state;
    rig_init(&r);
    clock_set_fake_ms(START_MS);
    r.options.memtable_bytes = 64 << 20;
    r.local.segment_bytes = 16 << 20;
    rig_open(&r);
    struct pipeline *l = pipeline_of(r.b);
    for (int i = 0; i < 1000; i++) rig_set(&r, key_of(0, "%d", i), slice_of(value, sizeof value));
    rig_settle(&r);
    r.options.write_buffer_bytes = pipeline_unapplied_bytes(l) * 5 / 3; /* it is at the half */
    assert_int_equal(set_options(&r), OK);
    pipeline_freeze(l);
    pipeline_apply_next(l); /* it is done in a poll, which there is none of */
    assert_true(l->apply.is_running);
    __atomic_store_n(&l->stored.store->rows_done, 1, __ATOMIC_RELAXED);
    for (int i = 1; i <= 50; i++) { /* some 2 KB a second */
        clock_set_fake_ms(START_MS + 1000 + 10 * i);
        pipeline_budget_tick(l);
        assert_in_range(writes_admitted(&r), 0, 4);
    }
    __atomic_store_n(&l->stored.store->rows_done, l->apply.job.memtable->order.count / 2,
                     __ATOMIC_RELAXED);
    clock_set_fake_ms(START_MS + 1600);
    pipeline_budget_tick(l);
    assert_in_range(writes_admitted(&r), 10, 1000);
    rig_apply(&r);
    rig_fini(&r);
}

/* Whether bulk work may go on now; if not, r->is_ready will tell. */
static bool bulk_may_go_on(struct rig *r)
{
    struct error e;
    r->is_ready = false;
    enum err admitted = backend_admit_bulk(r->b, &r->waiter, &e);
    assert_true(admitted == OK || admitted == ERR_WAIT);
    return admitted == OK;
}

static void bulk_work_waits_while_others_still_write(void **state)
{
    struct rig r;
    struct error e;
    static char value[2000];
    rig_init(&r);
    clock_set_fake_ms(START_MS);
    rig_open(&r);
    struct pipeline *l = pipeline_of(r.b);
    for (int i = 0; i < 20; i++) rig_set(&r, key_of(0, "%d", i), slice_of(value, sizeof value));
    for (int i = 0; i < 10; i++) assert_true(bulk_may_go_on(&r));
    pipeline_budget_tick(l);
    r.options.write_buffer_bytes = pipeline_unapplied_bytes(l) * 4 /
                                   3; /* half of it is the level */
    assert_int_equal(set_options(&r), OK);
    assert_true(bulk_may_go_on(&r));
    for (int i = 1; i <= 3; i++) { /* others are admitted; it is once in a while */
        assert_int_equal(backend_admit(r.b, &r.waiter, &e), OK);
        assert_false(bulk_may_go_on(&r));
        pipeline_budget_tick(l);
        assert_false(r.is_ready);
        clock_set_fake_ms(START_MS + 100 * i);
        pipeline_budget_tick(l);
        assert_true(r.is_ready);
        assert_true(bulk_may_go_on(&r));
    }
    assert_false(bulk_may_go_on(&r));
    rig_apply(&r);
    rig_step(&r);
    assert_true(r.is_ready);
    for (int i = 0; i < 10; i++) assert_true(bulk_may_go_on(&r));
    rig_close(&r);
    rig_fini(&r);
    clock_set_fake_ms(0);
}

static void less_retention_lets_segments_go(void **state)
{
    struct rig r;
    uint64_t numbers[64];
    static char value[20000];
    rig_init(&r);
    r.local.retention_ms = 1000000;
    r.local.retention_bytes = 1 << 30;
    clock_set_fake_ms(START_MS);
    rig_open(&r);
    for (int i = 0; i < 30; i++) rig_set(&r, key_of(0, "%d", i), slice_of(value, sizeof value));
    rig_apply(&r);
    for (int i = 0; i < 50; i++) rig_step(&r);
    size_t before = rig_segments(&r, numbers, 64);
    assert_true(before > 8);
    r.local.retention_bytes = 4 * 64 * 1024;
    assert_int_equal(set_options(&r), OK);
    for (int i = 0; rig_segments(&r, numbers, 64) > 4 + 3; i++) { /* current and two spares */
        assert_true(i < STEPS_MAX);
        rig_step(&r);
    }
    r.local.retention_ms = 0;
    clock_set_fake_ms(START_MS + 10000);
    rig_set(&r, key_of(0, "later"), slice_str("1"));
    rig_settle(&r);
    assert_int_equal(set_options(&r), OK);
    for (int i = 0; rig_segments(&r, numbers, 64) > 3; i++) {
        assert_true(i < STEPS_MAX);
        rig_step(&r);
    }
    rig_close(&r);
    rig_fini(&r);
}

static void a_smaller_cache_is_emptied_and_a_larger_one_fills(void **state)
{
    struct rig r;
    rig_init(&r);
    r.options.cache_bytes = 8 << 20;
    rig_open(&r);
    struct pipeline *l = pipeline_of(r.b);
    for (int i = 0; i < 10000; i++) rig_expect(&r, key_of(0, "%d", i), NULL);
    size_t full = l->newest.cache.bytes;
    assert_true(full > 600000);
    r.options.cache_bytes = 0;
    assert_int_equal(set_options(&r), OK);
    rig_step(&r);
    assert_true(l->newest.cache.bytes > 0 && l->newest.cache.bytes < full); /* bit by bit */
    for (int i = 0; l->newest.cache.bytes > 0; i++) {
        assert_true(i < STEPS_MAX);
        rig_step(&r);
    }
    r.options.cache_bytes = 1 << 20;
    assert_int_equal(set_options(&r), OK);
    for (int i = 0; i < 10; i++) rig_expect(&r, key_of(0, "%d", i), NULL);
    assert_int_equal(l->newest.cache.points.count, 10);
    rig_close(&r);
    rig_fini(&r);
}

static void a_shorter_scan_timeout_ends_open_scans(void **state)
{
    struct rig r;
    struct error e = {.text = ""};
    struct slice key;
    struct entry entry;
    struct scan *s = NULL;
    rig_init(&r);
    clock_set_fake_ms(START_MS);
    rig_open(&r);
    rig_set(&r, key_of(0, "a"), slice_str("1"));
    struct scan_range range = {.start = key_low(0), .end = key_high(0)};
    assert_int_equal(backend_scan_open(r.b, &range, &s, &e), OK);
    clock_set_fake_ms(START_MS + 50);
    r.options.scan_ms_max = 10;
    assert_int_equal(set_options(&r), OK);
    assert_int_equal(backend_scan_next(s, &key, &entry, &r.waiter, &e), ERR_LIMIT);
    backend_scan_close(s);
    rig_close(&r);
    rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_under_way_is_acknowledged_by_the_durability_of_now),
        cmocka_unit_test(choosing_always_waits_for_what_was_acknowledged),
        cmocka_unit_test(a_weaker_durability_syncs_less),
        cmocka_unit_test(under_always_all_that_is_acknowledged_is_synced),
        cmocka_unit_test(a_smaller_memtable_is_frozen),
        cmocka_unit_test(a_younger_memtable_age_applies_what_is_little),
        cmocka_unit_test(the_write_buffer_limit_stops_and_frees_writers),
        cmocka_unit_test(writers_are_as_fast_as_the_apply_that_runs),
        cmocka_unit_test(bulk_work_waits_while_others_still_write),
        cmocka_unit_test(less_retention_lets_segments_go),
        cmocka_unit_test(a_smaller_cache_is_emptied_and_a_larger_one_fills),
        cmocka_unit_test(a_shorter_scan_timeout_ends_open_scans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
