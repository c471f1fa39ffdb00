/* Tests of PURGE: all messages go at once, dead letters stay, nothing of what was comes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "unit/queue/queue_help.h"

#define TEST(name) cmocka_unit_test(name)

static struct queue_bulk purge_of(struct qbench *t, const char *queue)
{
    return (struct queue_bulk){
        .queues = t->qs, .kind = BULK_PURGE, .queue = slice_str(queue), .max = 7};
}

static struct queue_enqueue enqueue_of(struct qbench *t, const char *queue, const char *value)
{
    return (struct queue_enqueue){
        .queues = t->qs, .queue = slice_str(queue), .message = {.value = slice_str(value)}};
}

/* Rows of database 0 in the space. */
static size_t space_rows(struct qbench *t, enum space space)
{
    uint8_t start[KEY_HEAD_BYTES] = {KEY_HEAD(0, space)};
    uint8_t end[KEY_HEAD_BYTES] = {KEY_HEAD(0, (uint8_t)(space + 1))};
    struct scan_range range = {.start = slice_of(start, sizeof start),
                               .end = slice_of(end, sizeof end)};
    struct scan *scan = NULL;
    struct slice key;
    struct entry entry;
    size_t count = 0;
    assert_int_equal(backend_scan_open(t->rig.b, &range, &scan, &t->e), OK);
    while (rig_scan_next(&t->rig, scan, &key, &entry)) count++;
    backend_scan_close(scan);
    return count;
}

/* What was forgotten is gone from the store: so many rows of messages are left. */
static void expect_rows(struct qbench *t, size_t ready, size_t leased, size_t dead)
{
    struct backend_stats stats;
    rig_apply(&t->rig);
    for (int i = 0;; i++) {
        backend_stats(t->rig.b, &stats);
        if (!stats.has_garbage) break;
        if (i > 10000) fail_msg("what was forgotten is never removed");
        rig_step(&t->rig);
    }
    assert_int_equal(space_rows(t, SPACE_MESSAGE), ready + leased + dead);
    assert_int_equal(space_rows(t, SPACE_READY), ready);
    assert_int_equal(space_rows(t, SPACE_LEASE), leased);
    assert_int_equal(space_rows(t, SPACE_STATE), leased + dead);
    assert_int_equal(space_rows(t, SPACE_DEAD), dead);
}

static void purge_is_one_transaction_however_many_there_are(void **state)
{
    struct qbench t;
    enum { MANY = 3000 };
    qbench_open(&t);
    for (int i = 0; i < MANY; i++) {
        put(&t, "q", "x");
        if (i % 100 == 0) rig_step(&t.rig);
        arena_reset(&t.arena);
    }
    for (int i = 0; i < 10; i++) take_value(&t, "q", 1000, "x");
    enqueue(&t, "q", "d", (struct enqueue_options){.delay_ms = 100});
    struct queue_bulk x = purge_of(&t, "q");
    struct op op = queue_bulk_op(&x);
    assert_true(run(&t, 0, &op, 1));
    assert_int_equal(x.done, MANY + 1);
    assert_false(x.is_more);
    assert_null(queue_find(t.qs, 0, slice_str("q"))); /* empty: forgotten */
    put(&t, "q", "new");
    assert_string_equal(figures(&t, "q"), "1 0 0 0");
    assert_string_equal(drain(&t, "q"), "new");
    audit(&t, "q");
    expect_rows(&t, 0, 1, 0);
    qbench_close(&t);
}

/* What a purge forgets is still in the store for a while: no consumer may get it. */
static void what_was_purged_does_not_come_back(void **state)
{
    for (int end = 0; end < 3; end++) {
        struct qbench t;
        qbench_open(&t);
        enqueue(&t, "q", "leased", (struct enqueue_options){.backoff = "10"});
        put(&t, "q", "ready");
        enqueue(&t, "q", "delayed", (struct enqueue_options){.delay_ms = 20});
        struct receipt old = take_value(&t, "q", 30, "leased");
        rig_apply(&t.rig);
        assert_int_equal(bulk(&t, BULK_PURGE, "q"), 3);
        put(&t, "q", "new");
        if (end == 1) qbench_crash(&t);
        if (end == 2) qbench_restart(&t);
        assert_false(settle(&t, SETTLE_ACK, old, 0));
        assert_false(settle(&t, SETTLE_EXTEND, old, 1000));
        assert_false(nack(&t, old, -1, false, ""));
        queue_return(t.qs, 0, &old);
        tick(&t);
        at(&t, 100);
        tick(&t);
        assert_string_equal(figures(&t, "q"), "1 0 0 0");
        assert_string_equal(drain(&t, "q"), "new");
        audit(&t, "q");
        expect_rows(&t, 0, 1, 0);
        qbench_close(&t);
    }
}

static void dead_letters_stay_over_purges_and_begin_anew(void **state)
{
    struct qbench t;
    qbench_open(&t);
    enqueue(&t, "q", "a", (struct enqueue_options){.backoff = "100"});
    put(&t, "q", "b");
    assert_true(nack(&t, take_value(&t, "q", 10, "a"), -1, true, "x"));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bulk(&t, BULK_PURGE, "q"), 1);
        assert_string_equal(dead(&t, "q"), "a 1 x 0");
        audit(&t, "q");
        expect_rows(&t, 0, 0, 1);
        put(&t, "q", "c");
        if (i == 1) qbench_crash(&t);
    }
    assert_int_equal(bulk(&t, BULK_PURGE, "q"), 1);
    qbench_restart(&t);
    assert_int_equal(bulk(&t, BULK_DEAD_REQUEUE, "q"), 1);
    struct receipt r = take_value(&t, "q", 10, "a");
    assert_true(nack(&t, r, -1, false, "y"));
    assert_string_equal(figures(&t, "q"), "0 1 0 0"); /* its backoff is still 100 */
    audit(&t, "q");
    expect_rows(&t, 1, 0, 0);
    assert_int_equal(bulk(&t, BULK_PURGE, "q"), 1);
    expect_rows(&t, 0, 0, 0);
    qbench_close(&t);
}

/* Rows that the transaction itself wrote, to a queue that was there or that it makes. */
static void purges_within_one_transaction_count_what_they_remove(void **state)
{
    for (int is_there = 0; is_there < 2; is_there++) {
        struct qbench t;
        qbench_open(&t);
        if (is_there) {
            put(&t, "q", "a");
            take_value(&t, "q", 1000, "a");
            put(&t, "q", "b");
        }
        struct slice name = slice_str("q");
        struct queue_enqueue e[4];
        for (int i = 0; i < 4; i++) e[i] = enqueue_of(&t, "q", i == 3 ? "last" : "own");
        struct queue_dequeue d = {
            .queues = t.qs, .names = &name, .name_count = 1, .count_max = 9, .lease_ms = 1000};
        struct queue_bulk p[3] = {purge_of(&t, "q"), purge_of(&t, "q"), purge_of(&t, "q")};
        struct op ops[] = {
            queue_enqueue_op(&e[0]), queue_bulk_op(&p[0]),    queue_enqueue_op(&e[1]),
            queue_dequeue_op(&d),    queue_enqueue_op(&e[2]), queue_bulk_op(&p[1]),
            queue_bulk_op(&p[2]),    queue_enqueue_op(&e[3]),
        };
        assert_true(run(&t, 0, ops, sizeof ops / sizeof ops[0]));
        assert_int_equal(p[0].done, is_there ? 3 : 1);
        assert_int_equal(d.count, 1);
        assert_int_equal(p[1].done, 2);
        assert_int_equal(p[2].done, 0);
        assert_string_equal(figures(&t, "q"), "1 0 0 0");
        audit(&t, "q");
        qbench_crash(&t);
        assert_string_equal(drain(&t, "q"), "last");
        audit(&t, "q");
        expect_rows(&t, 0, 1, 0);
        qbench_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(purge_is_one_transaction_however_many_there_are),
        TEST(what_was_purged_does_not_come_back),
        TEST(dead_letters_stay_over_purges_and_begin_anew),
        TEST(purges_within_one_transaction_count_what_they_remove),
    };
    return cmocka_run_group_tests_name("purge", tests, NULL, NULL);
}
