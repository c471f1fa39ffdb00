/* What is told of queues without looking at their rows: by name, and all together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/fault.h"
#include "unit/queue/queue_help.h"

static struct queue_figures figures_of(struct qbench *t, const char *name)
{
    struct queue_figures f;
    for (struct queue *q = queues_first(t->qs); q != NULL; q = queues_next(q)) {
        if (queue_database(q) != 0 || !slice_eq(queue_name(q), slice_str(name))) continue;
        queue_figures(q, &f);
        return f;
    }
    fail_msg("%s is not there", name);
    return f;
}

static void queues_come_by_database_and_name(void **state)
{
    static const char *const names[] = {"b", "aa", "a", "ab", "\xff", "Z", "zzz"};
    static const char *const wanted[] = {"Z", "a", "aa", "ab", "b", "zzz", "\xff"};
    const size_t count = sizeof names / sizeof names[0];
    struct qbench t;
    struct queue_figures f;
    qbench_open(&t);
    for (uint16_t d = 2; d <= 2; d--) { /* 2, 1, 0 */
        for (size_t i = 0; i < count; i++) {
            struct queue_enqueue x = {
                .queues = t.qs, .queue = slice_str(names[i]), .message = {.value = slice_str("1")}};
            struct op op = queue_enqueue_op(&x);
            assert_true(run(&t, d, &op, 1));
        }
    }
    struct queue *q = queues_first(t.qs);
    for (uint16_t d = 0; d <= 2; d++) {
        for (size_t i = 0; i < count; i++, q = queues_next(q)) {
            queue_figures(q, &f);
            assert_int_equal(queue_database(q), d);
            assert_true(slice_eq(queue_name(q), slice_str(wanted[i])));
            assert_int_equal(f.counts.ready, 1);
        }
    }
    assert_null(q);
    struct txn txn = {.database = 1, .has_flush = true, .arena = &t.arena};
    assert_int_equal(engine_commit(t.g, &txn, &t.rig.waiter, &t.e), OK);
    for (q = queues_first(t.qs); q != NULL; q = queues_next(q)) {
        assert_int_not_equal(queue_database(q), 1);
    }
    audit(&t, "a");
    qbench_close(&t);
}

/* A queue that has only a waiting consumer does not exist. */
static void who_waits_makes_no_queue(void **state)
{
    struct qbench t;
    struct slice name = slice_str("nothing");
    qbench_open(&t);
    struct consumer *c = consumer_new(t.qs, 0, &name, 1);
    assert_null(queues_first(t.qs));
    put(&t, "nothing", "a");
    assert_int_equal(figures_of(&t, "nothing").counts.ready, 1);
    consumer_free(c);
    audit(&t, "nothing");
    qbench_close(&t);
}

static void flows_never_get_less_when_deliveries_are_taken_back(void **state)
{
    struct qbench t;
    struct taken taken;
    uint64_t before = 0;
    qbench_open(&t);
    for (int i = 0; i < 5; i++) put(&t, "q", "a");
    for (int i = 0; i < 20; i++) {
        assert_true(take(&t, "q", 1000, &taken));
        uint64_t delivered = figures_of(&t, "q").flows.delivered;
        assert_true(delivered >= before);
        before = delivered;
        if (i >= 17) continue;
        queue_return(t.qs, 0, &taken.receipt);
        tick(&t);
        assert_int_equal(figures_of(&t, "q").flows.delivered, before);
        audit(&t, "q");
    }
    /* The same message was taken 18 times, and 17 times no client saw it; then two more. */
    assert_int_equal(stats(&t, "q").counts.delivered, 3);
    assert_int_equal(figures_of(&t, "q").flows.delivered, 3);
    assert_int_equal(figures_of(&t, "q").flows.enqueued, 5);
    qbench_close(&t);
}

static void flows_begin_with_the_process_and_outlive_the_queue(void **state)
{
    struct qbench t;
    struct queues_totals totals;
    qbench_open(&t);
    put(&t, "q", "a");
    settle(&t, SETTLE_ACK, take_value(&t, "q", 1000, "a"), 0);
    put(&t, "q", "b");
    qbench_restart(&t);
    assert_int_equal(figures_of(&t, "q").counts.enqueued, 2);
    assert_int_equal(figures_of(&t, "q").flows.enqueued, 0);
    assert_int_equal(figures_of(&t, "q").flows.acked, 0);
    settle(&t, SETTLE_ACK, take_value(&t, "q", 1000, "b"), 0);
    put(&t, "q", "c");
    assert_int_equal(figures_of(&t, "q").flows.enqueued, 1);
    assert_int_equal(figures_of(&t, "q").flows.acked, 1);
    bulk(&t, BULK_PURGE, "q");
    assert_null(queues_first(t.qs)); /* it was empty then: forgotten */
    queues_totals(t.qs, &totals);
    assert_int_equal(totals.queues, 0);
    assert_int_equal(totals.flows.enqueued, 0);
    assert_int_equal(totals.ever.enqueued, 1);
    assert_int_equal(totals.ever.acked, 1);
    put(&t, "q", "d");
    assert_int_equal(figures_of(&t, "q").flows.enqueued, 1);
    queues_totals(t.qs, &totals);
    assert_int_equal(totals.flows.enqueued, 1);
    assert_int_equal(totals.ever.enqueued, 2);
    audit(&t, "q");
    qbench_close(&t);
}

static void purged_with_dead_letters_it_keeps_its_flows(void **state)
{
    struct qbench t;
    qbench_open(&t);
    put(&t, "q", "a");
    assert_true(nack(&t, take_value(&t, "q", 1000, "a"), -1, true, "no"));
    put(&t, "q", "b");
    bulk(&t, BULK_PURGE, "q");
    assert_int_equal(figures_of(&t, "q").counts.dead, 1);
    assert_int_equal(figures_of(&t, "q").flows.enqueued, 2);
    assert_int_equal(figures_of(&t, "q").flows.nacked, 1);
    audit(&t, "q");
    qbench_close(&t);
}

/* After a start nothing is known of its rows; who asks makes it known, by the tick. */
static void the_age_of_the_oldest_is_known_soon_after_it_was_asked(void **state)
{
    struct qbench t;
    struct backend_stats before;
    struct backend_stats after;
    qbench_open(&t);
    put(&t, "q", "a");
    at(&t, 100);
    put(&t, "q", "b");
    assert_true(figures_of(&t, "q").is_age_known);
    assert_int_equal(figures_of(&t, "q").oldest_ms, 100);
    qbench_restart(&t);
    at(&t, 700);
    tick(&t); /* no client asked: nothing is read for it */
    backend_stats(t.rig.b, &before);
    assert_false(figures_of(&t, "q").is_age_known);
    backend_stats(t.rig.b, &after);
    assert_int_equal(before.store_reads, after.store_reads);
    tick(&t);
    assert_true(figures_of(&t, "q").is_age_known);
    assert_int_equal(figures_of(&t, "q").oldest_ms, 700);
    assert_string_equal(drain(&t, "q"), "a b");
    assert_true(figures_of(&t, "q").is_age_known);
    assert_int_equal(figures_of(&t, "q").oldest_ms, 0);
    qbench_close(&t);
}

/* The disk makes the tick wait: it looks again, and other queues are not held up for ever. */
static void an_age_on_a_slow_disk_is_known_later(void **state)
{
    struct qbench t;
    qbench_open(&t);
    for (int i = 0; i < 300; i++) { /* so that the rows have pages that the start does not read */
        put(&t, "q", "a");
        put(&t, "r", "a");
    }
    qbench_restart(&t);
    at(&t, 300);
    fault_arm("vfs.nowait", 1, true); /* every read of the store waits for a thread */
    assert_false(figures_of(&t, "q").is_age_known);
    assert_false(figures_of(&t, "r").is_age_known);
    queues_tick(t.qs);
    assert_false(queue_find(t.qs, 0, slice_str("q"))->ready.count > 0);
    for (int i = 0; i < 20; i++) tick(&t);
    fault_arm("", 0, false);
    assert_true(figures_of(&t, "q").is_age_known);
    assert_true(figures_of(&t, "r").is_age_known);
    assert_int_equal(figures_of(&t, "r").oldest_ms, 300);
    audit(&t, "q");
    qbench_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queues_come_by_database_and_name),
        cmocka_unit_test(who_waits_makes_no_queue),
        cmocka_unit_test(flows_never_get_less_when_deliveries_are_taken_back),
        cmocka_unit_test(flows_begin_with_the_process_and_outlive_the_queue),
        cmocka_unit_test(purged_with_dead_letters_it_keeps_its_flows),
        cmocka_unit_test(the_age_of_the_oldest_is_known_soon_after_it_was_asked),
        cmocka_unit_test(an_age_on_a_slow_disk_is_known_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
