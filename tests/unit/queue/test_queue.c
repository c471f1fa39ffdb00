/* Tests of queues: what docs/queues.md says, to the millisecond, over restarts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "unit/queue/queue_help.h"

#define TEST(name) cmocka_unit_test(name)

/* ---- order ---- */

static void messages_come_in_the_order_of_their_due_time(void **state)
{
    struct qbench t;
    qbench_open(&t);
    put(&t, "q", "a");
    enqueue(&t, "q", "late", (struct enqueue_options){.delay_ms = 50});
    put(&t, "q", "b");
    at(&t, 10);
    put(&t, "q", "c");
    enqueue(&t, "q", "later", (struct enqueue_options){.delay_ms = 40});
    assert_string_equal(figures(&t, "q"), "3 2 0 0");
    assert_string_equal(drain(&t, "q"), "a b c");
    at(&t, 49);
    assert_string_equal(drain(&t, "q"), "");
    at(&t, 50);
    assert_string_equal(figures(&t, "q"), "2 0 3 0");
    assert_string_equal(drain(&t, "q"), "late later");
    audit(&t, "q");
    qbench_close(&t);
}

static void queues_and_databases_are_apart(void **state)
{
    struct qbench t;
    qbench_open(&t);
    put(&t, "q", "a");
    put(&t, "q2", "b");
    struct queue_enqueue x = {
        .queues = t.qs, .queue = slice_str("q"), .message = {.value = slice_str("other")}};
    struct op op = queue_enqueue_op(&x);
    assert_true(run(&t, 1, &op, 1));
    assert_string_equal(drain(&t, "q"), "a");
    assert_string_equal(drain(&t, "q2"), "b");
    qbench_close(&t);
}

static void ids_are_sorted_and_never_the_same(void **state)
{
    struct qbench t;
    qbench_open(&t);
    const char *a = put(&t, "q", "a");
    const char *b = put(&t, "q", "b");
    qbench_crash(&t);
    const char *c = put(&t, "q", "c");
    assert_true(strcmp(a, b) < 0);
    assert_true(strcmp(b, c) < 0);
    struct queue_enqueue x[2];
    struct op ops[2];
    for (int i = 0; i < 2; i++) {
        x[i] = (struct queue_enqueue){
            .queues = t.qs, .queue = slice_str("q"), .message = {.value = slice_str("x")}};
        ops[i] = queue_enqueue_op(&x[i]);
    }
    assert_true(run(&t, 0, ops, 2));
    assert_memory_equal(x[0].id, x[1].id, 16);
    assert_true(memcmp(x[0].id, x[1].id, ID_CHARS) < 0);
    qbench_close(&t);
}

/* ---- leases ---- */

static void a_lease_ends_to_the_millisecond_without_a_timer(void **state)
{
    struct qbench t;
    struct taken taken;
    qbench_open(&t);
    enqueue(&t, "q", "a", (struct enqueue_options){.backoff = "0 0"});
    struct receipt r = take_value(&t, "q", 100, "a");
    at(&t, 99);
    assert_false(take(&t, "q", 100, &taken));
    assert_true(settle(&t, SETTLE_EXTEND, r, 100));
    at(&t, 198);
    assert_false(take(&t, "q", 100, &taken));
    at(&t, 199);
    assert_false(settle(&t, SETTLE_ACK, r, 0));
    assert_false(settle(&t, SETTLE_EXTEND, r, 100));
    assert_true(take(&t, "q", 100, &taken));
    assert_int_equal(taken.attempt, 2);
    assert_false(settle(&t, SETTLE_ACK, r, 0)); /* late: it touches nothing */
    assert_true(settle(&t, SETTLE_ACK, taken.receipt, 0));
    assert_false(settle(&t, SETTLE_ACK, taken.receipt, 0));
    assert_string_equal(figures(&t, "q"), "0 0 0 0");
    struct counts c = stats(&t, "q").counts;
    assert_int_equal(c.enqueued, 1);
    assert_int_equal(c.delivered, 2);
    assert_int_equal(c.acked, 1);
    assert_int_equal(c.expired, 1);
    audit(&t, "q");
    qbench_close(&t);
}

static void the_tick_ends_leases_too(void **state)
{
    struct qbench t;
    qbench_open(&t);
    put(&t, "q", "a");
    take_value(&t, "q", 100, "a");
    at(&t, 99);
    tick(&t);
    assert_string_equal(figures(&t, "q"), "0 0 1 0");
    at(&t, 100);
    tick(&t);
    assert_string_equal(figures(&t, "q"), "0 1 0 0"); /* due at 100 + 1000 */
    at(&t, 1099);
    assert_string_equal(drain(&t, "q"), "");
    at(&t, 1100);
    assert_string_equal(drain(&t, "q"), "a");
    audit(&t, "q");
    qbench_close(&t);
}

static void the_backoff_counts_from_the_end_of_the_lease(void **state)
{
    struct qbench t;
    qbench_open(&t);
    enqueue(&t, "q", "a", (struct enqueue_options){.backoff = "50"});
    take_value(&t, "q", 100, "a");
    at(&t, 5000); /* nothing looked at 100 */
    struct taken taken;
    assert_true(take(&t, "q", 10, &taken));
    assert_int_equal(taken.attempt, 2);
    qbench_close(&t);
}

static void what_was_not_seen_is_taken_back_without_counting(void **state)
{
    struct qbench t;
    struct taken taken;
    qbench_open(&t);
    put(&t, "q", "a");
    put(&t, "q", "b");
    assert_true(take(&t, "q", 1000, &taken));
    at(&t, 5);
    queue_return(t.qs, 0, &taken.receipt);
    tick(&t);
    assert_string_equal(figures(&t, "q"), "2 0 0 0");
    assert_int_equal(stats(&t, "q").counts.delivered, 0);
    assert_false(settle(&t, SETTLE_ACK, taken.receipt, 0));
    assert_true(take(&t, "q", 1000, &taken)); /* at its old place, before b */
    assert_string_equal(taken.value, "a");
    assert_int_equal(taken.attempt, 1);
    struct receipt old = taken.receipt;
    assert_true(settle(&t, SETTLE_ACK, old, 0));
    queue_return(t.qs, 0, &old); /* too late: it is gone */
    tick(&t);
    assert_string_equal(drain(&t, "q"), "b");
    audit(&t, "q");
    qbench_close(&t);
}

/* Each in its own database, however they follow one another. */
static void what_was_not_seen_goes_back_to_its_database(void **state)
{
    struct qbench t;
    struct slice name = slice_str("q");
    qbench_open(&t);
    for (int round = 0; round < 2; round++) {
        for (uint8_t i = 0; i < 3; i++) {
            struct queue_enqueue in = {
                .queues = t.qs, .queue = name, .message = {.value = slice_str("a")}};
            struct op op = queue_enqueue_op(&in);
            if (round == 0) assert_true(run(&t, i, &op, 1));
            struct queue_dequeue out = {
                .queues = t.qs, .names = &name, .name_count = 1, .count_max = 1, .lease_ms = 1000};
            op = queue_dequeue_op(&out);
            assert_true(run(&t, i, &op, 1));
            assert_int_equal(out.count, 1);
            assert_int_equal(out.items[0].delivered.attempt, 1);
            queue_return(t.qs, i, &out.items[0].delivered);
        }
        tick(&t);
    }
    qbench_close(&t);
}

static void a_stop_takes_back_what_was_not_seen(void **state)
{
    struct qbench t;
    struct taken taken;
    qbench_open(&t);
    put(&t, "q", "a");
    assert_true(take(&t, "q", 100000, &taken));
    queue_return(t.qs, 0, &taken.receipt);
    qbench_restart(&t);
    assert_true(take(&t, "q", 100000, &taken));
    assert_int_equal(taken.attempt, 1);
    qbench_close(&t);
}

/* ---- failing ---- */

static void nack_follows_the_backoff_and_then_buries(void **state)
{
    struct qbench t;
    struct taken taken;
    qbench_open(&t);
    enqueue(&t, "q", "a", (struct enqueue_options){.backoff = "100 200", .undelivered = "lost"});
    assert_true(take(&t, "q", 1000, &taken));
    assert_true(nack(&t, taken.receipt, -1, false, "one"));
    assert_false(nack(&t, taken.receipt, -1, false, "late"));
    at(&t, 99);
    assert_false(take(&t, "q", 1000, &taken));
    at(&t, 100);
    assert_true(take(&t, "q", 1000, &taken));
    assert_int_equal(taken.attempt, 2);
    assert_true(nack(&t, taken.receipt, 7, false, "two"));
    at(&t, 107);
    assert_true(take(&t, "q", 1000, &taken));
    assert_int_equal(taken.attempt, 3);
    assert_string_equal(data(&t, "lost"), "");
    assert_true(nack(&t, taken.receipt, 7, false, "three"));
    assert_string_equal(data(&t, "lost"), "a");
    assert_string_equal(dead(&t, "q"), "a 3 three 107");
    assert_string_equal(figures(&t, "q"), "0 0 0 1");
    audit(&t, "q");
    qbench_close(&t);
}

static void no_backoff_means_no_retry(void **state)
{
    struct qbench t;
    qbench_open(&t);
    enqueue(&t, "q", "a", (struct enqueue_options){.backoff = "", .undelivered = "lost"});
    take_value(&t, "q", 10, "a");
    at(&t, 10);
    tick(&t);
    assert_string_equal(data(&t, "lost"), "a");
    assert_string_equal(dead(&t, "q"), "a 1 the lease has ended 10");
    audit(&t, "q");
    qbench_close(&t);
}

static void dead_is_dead_at_once(void **state)
{
    struct qbench t;
    qbench_open(&t);
    enqueue(&t, "q", "a", (struct enqueue_options){.undelivered = "lost found it"});
    struct receipt r = take_value(&t, "q", 10, "a");
    assert_true(nack(&t, r, -1, true, "poison"));
    assert_string_equal(dead(&t, "q"), "a 1 poison 0");
    assert_string_equal(data(&t, "lost"), "a");
    assert_string_equal(data(&t, "found"), "a");
    assert_string_equal(data(&t, "it"), "a");
    qbench_close(&t);
}

static void a_requeued_message_keeps_its_options(void **state)
{
    struct qbench t;
    struct taken taken;
    qbench_open(&t);
    enqueue(&t, "q", "a", (struct enqueue_options){.backoff = "100", .undelivered = "lost"});
    struct receipt r = take_value(&t, "q", 1000, "a");
    assert_true(nack(&t, r, -1, true, "x"));
    at(&t, 50);
    assert_int_equal(bulk(&t, BULK_DEAD_REQUEUE, "q"), 1);
    assert_string_equal(figures(&t, "q"), "1 0 0 0");
    assert_true(take(&t, "q", 1000, &taken));
    assert_int_equal(taken.attempt, 1);
    assert_true(nack(&t, taken.receipt, -1, false, "y"));
    at(&t, 149);
    assert_false(take(&t, "q", 1000, &taken));
    at(&t, 150);
    assert_true(take(&t, "q", 1000, &taken));
    assert_int_equal(taken.attempt, 2);
    assert_true(nack(&t, taken.receipt, -1, false, "z"));
    assert_string_equal(dead(&t, "q"), "a 2 z 150");
    assert_int_equal(bulk(&t, BULK_DEAD_DELETE, "q"), 1);
    assert_string_equal(figures(&t, "q"), "0 0 0 0");
    audit(&t, "q");
    qbench_close(&t);
}

static void dead_letters_are_bounded_by_length_and_age(void **state)
{
    struct qbench t;
    char value[16];
    qbench_open(&t);
    for (int i = 0; i < 8; i++) {
        at(&t, i * 10);
        snprintf(value, sizeof value, "%d", i);
        put(&t, "q", value);
        nack(&t, take_value(&t, "q", 5, value), -1, true, "");
    }
    tick(&t);
    assert_string_equal(dead(&t, "q"), "7 1  70, 6 1  60, 5 1  50, 4 1  40, 3 1  30");
    at(&t, 1000000 + 45);
    tick(&t);
    assert_string_equal(dead(&t, "q"), "7 1  70, 6 1  60, 5 1  50");
    at(&t, 1000000 + 70 + 1000);
    tick(&t);
    assert_string_equal(dead(&t, "q"), "");
    put(&t, "q", "alone");
    nack(&t, take_value(&t, "q", 5, "alone"), -1, true, "");
    at(&t, 2 * 1000000 + 70 + 1000);
    tick(&t);
    assert_string_equal(dead(&t, "q"), "");
    audit(&t, "q");
    qbench_close(&t);
}

/* ---- dedup ---- */

static void a_dedup_id_is_good_for_its_window(void **state)
{
    struct qbench t;
    qbench_open(&t);
    struct enqueue_options o = {.dedup = "id"};
    assert_non_null(enqueue(&t, "q", "a", o));
    assert_null(enqueue(&t, "q", "b", o));
    assert_non_null(enqueue(&t, "other", "b", o)); /* of each queue its own */
    at(&t, 9999);
    qbench_crash(&t);
    assert_null(enqueue(&t, "q", "b", o));
    at(&t, 10000);
    assert_non_null(enqueue(&t, "q", "c", o));
    assert_string_equal(drain(&t, "q"), "a c");
    at(&t, 30000);
    tick(&t);
    assert_int_equal(t.qs->dedup.count, 0);
    qbench_close(&t);
}

static void dedup_ids_are_forgotten_in_the_order_of_their_time(void **state)
{
    struct qbench t;
    qbench_open(&t);
    assert_non_null(enqueue(&t, "q", "a", (struct enqueue_options){.dedup = "z"}));
    at(&t, 5000);
    assert_non_null(enqueue(&t, "q", "b", (struct enqueue_options){.dedup = "a"}));
    assert_non_null(enqueue(&t, "p", "b", (struct enqueue_options){.dedup = "m"}));
    qbench_restart(&t); /* they are read in the order a, m, z */
    at(&t, 10000);
    tick(&t);
    assert_int_equal(t.qs->dedup.count, 2);
    assert_non_null(enqueue(&t, "q", "c", (struct enqueue_options){.dedup = "z"}));
    assert_null(enqueue(&t, "q", "c", (struct enqueue_options){.dedup = "a"}));
    qbench_close(&t);
}

/* What a transaction adds itself counts too. */
static void dedup_ids_are_bounded_within_a_transaction(void **state)
{
    struct qbench t;
    char id[16];
    struct queue_enqueue x[3];
    struct op ops[3];
    qbench_open(&t);
    for (int i = 0; i < 18; i++) {
        snprintf(id, sizeof id, "%d", i);
        assert_non_null(enqueue(&t, "q", "a", (struct enqueue_options){.dedup = id}));
    }
    const char *ids[] = {"x", "y", "z"};
    for (int i = 0; i < 3; i++) {
        x[i] = (struct queue_enqueue){.queues = t.qs,
                                      .queue = slice_str("q"),
                                      .message = {.value = slice_str("x")},
                                      .dedup = slice_str(ids[i])};
        ops[i] = queue_enqueue_op(&x[i]);
    }
    struct txn txn = {.ops = ops, .count = 3, .arena = &t.arena};
    assert_int_equal(engine_commit(t.g, &txn, &t.rig.waiter, &t.e), ERR_TRYAGAIN);
    assert_int_equal(t.qs->dedup.count, 18);
    x[2].dedup = slice_str("x"); /* for the second time: nothing new */
    assert_true(run(&t, 0, ops, 3));
    assert_true(x[2].is_repeat);
    assert_int_equal(t.qs->dedup.count, 20);
    qbench_close(&t);
}

static void dedup_ids_are_bounded(void **state)
{
    struct qbench t;
    char id[16];
    qbench_open(&t);
    for (int i = 0; i < 20; i++) {
        snprintf(id, sizeof id, "%d", i);
        assert_non_null(enqueue(&t, "q", "a", (struct enqueue_options){.dedup = id}));
    }
    struct queue_enqueue x = {.queues = t.qs,
                              .queue = slice_str("q"),
                              .message = {.value = slice_str("x")},
                              .dedup = slice_str("new")};
    struct op op = queue_enqueue_op(&x);
    struct txn txn = {.ops = &op, .count = 1, .arena = &t.arena};
    assert_int_equal(engine_commit(t.g, &txn, &t.rig.waiter, &t.e), ERR_TRYAGAIN);
    assert_null(enqueue(&t, "q", "a", (struct enqueue_options){.dedup = "3"}));
    at(&t, 10000);
    tick(&t);
    assert_non_null(enqueue(&t, "q", "a", (struct enqueue_options){.dedup = "new"}));
    qbench_close(&t);
}

/* ---- restarts ---- */

/* Operations wait until the rows of all databases are read: that is no matter of one tick for each. */
static void rows_are_read_in_few_ticks_after_a_start(void **state)
{
    enum { MANY = 6000 };
    struct qbench t;
    struct queues_totals totals;
    char name[16];
    qbench_open(&t);
    put(&t, "q", "1");
    qbench_restart_cold(&t);
    queues_totals(t.qs, &totals);
    assert_true(totals.is_reading);
    assert_in_range(qbench_read(&t), 1, QBENCH_DATABASES / 2);
    queues_totals(t.qs, &totals);
    assert_int_equal(totals.queues, 1);
    assert_int_equal(totals.counts.ready, 1);
    for (int i = 0; i < MANY; i++) { /* more than one tick may read */
        snprintf(name, sizeof name, "q%d", i);
        assert_non_null(
            enqueue(&t, name, "1", (struct enqueue_options){.dedup = i < 9 ? name : NULL}));
    }
    qbench_restart_cold(&t);
    assert_in_range(qbench_read(&t), 2, QBENCH_DATABASES / 2 + 2);
    queues_totals(t.qs, &totals);
    assert_int_equal(totals.queues, MANY + 1);
    assert_int_equal(totals.counts.enqueued, MANY + 1);
    assert_int_equal(t.qs->dedup.count, 9);
    assert_null(enqueue(&t, "q8", "1", (struct enqueue_options){.dedup = "q8"}));
    qbench_close(&t);
}

static void every_state_survives_a_restart(void **state)
{
    for (int kind = 0; kind < 2; kind++) {
        struct qbench t;
        qbench_open(&t);
        put(&t, "q", "dead");
        nack(&t, take_value(&t, "q", 10, "dead"), -1, true, "e");
        put(&t, "q", "leased");
        struct receipt r = take_value(&t, "q", 1000, "leased");
        put(&t, "q", "ends");
        take_value(&t, "q", 500, "ends");
        put(&t, "q", "ready");
        enqueue(&t, "q", "delayed", (struct enqueue_options){.delay_ms = 100});
        rig_apply(&t.rig); /* into the store, and some only in the journal: */
        put(&t, "q", "ready2");
        at(&t, 99);
        if (kind == 0) qbench_restart(&t);
        if (kind == 1) qbench_crash(&t);
        audit(&t, "q");
        assert_string_equal(figures(&t, "q"), "2 1 2 1");
        assert_string_equal(drain(&t, "q"), "ready ready2");
        at(&t, 100);
        assert_string_equal(drain(&t, "q"), "delayed");
        at(&t, 999);
        assert_true(settle(&t, SETTLE_ACK, r, 0));
        at(&t, 1499);
        assert_string_equal(drain(&t, "q"), "");
        at(&t, 1500);
        assert_string_equal(drain(&t, "q"), "ends");
        assert_string_equal(dead(&t, "q"), "dead 1 e 0");
        audit(&t, "q");
        qbench_close(&t);
    }
}

static void a_flush_takes_everything(void **state)
{
    struct qbench t;
    qbench_open(&t);
    put(&t, "q", "a");
    enqueue(&t, "q", "b", (struct enqueue_options){.dedup = "id"});
    struct receipt r = take_value(&t, "q", 1000, "a");
    struct txn txn = {.has_flush = true, .arena = &t.arena};
    assert_int_equal(engine_commit(t.g, &txn, &t.rig.waiter, &t.e), OK);
    assert_false(settle(&t, SETTLE_ACK, r, 0));
    assert_string_equal(drain(&t, "q"), "");
    assert_int_equal(stats(&t, "q").counts.enqueued, 0);
    assert_non_null(enqueue(&t, "q", "c", (struct enqueue_options){.dedup = "id"}));
    audit(&t, "q");
    qbench_crash(&t);
    assert_string_equal(drain(&t, "q"), "c");
    audit(&t, "q");
    qbench_close(&t);
}

/* ---- transactions ---- */

/* What a slice of the reading brings was there before the flush. */
static void a_flush_while_rows_are_read_takes_them_too(void **state)
{
    enum { MANY = 6000 };
    struct qbench t;
    struct queues_totals totals;
    char name[16];
    qbench_open(&t);
    for (int i = 0; i < MANY; i++) { /* more than one tick reads */
        snprintf(name, sizeof name, "q%d", i);
        put(&t, name, "1");
    }
    qbench_restart_cold(&t);
    engine_tick(t.g);
    queues_tick(t.qs);
    queues_totals(t.qs, &totals);
    assert_true(totals.is_reading && totals.queues > 0);
    struct txn txn = {.has_flush = true, .arena = &t.arena};
    assert_int_equal(engine_commit(t.g, &txn, &t.rig.waiter, &t.e), OK);
    (void)qbench_read(&t);
    queues_totals(t.qs, &totals);
    assert_int_equal(totals.queues, 0);
    assert_int_equal(totals.counts.ready, 0);
    qbench_close(&t);
}

static void a_stale_receipt_is_a_conflict(void **state)
{
    struct qbench t;
    qbench_open(&t);
    put(&t, "q", "a");
    struct receipt r = take_value(&t, "q", 100, "a");
    struct queue_settle ack = {.queues = t.qs, .kind = SETTLE_ACK, .receipt = r};
    struct queue_enqueue next = {
        .queues = t.qs, .queue = slice_str("q"), .message = {.value = slice_str("b")}};
    struct op ops[2] = {queue_settle_op(&ack, true), queue_enqueue_op(&next)};
    assert_true(run(&t, 0, ops, 2));
    assert_false(run(&t, 0, ops, 2));
    assert_true(ops[0].has_failed);
    assert_false(ops[1].has_failed);
    assert_string_equal(drain(&t, "q"), "b");
    audit(&t, "q");
    qbench_close(&t);
}

static void a_transaction_sees_its_own_messages(void **state)
{
    struct qbench t;
    qbench_open(&t);
    put(&t, "q", "a");
    struct slice name = slice_str("q");
    struct queue_enqueue x = {.queues = t.qs, .queue = name, .message = {.value = slice_str("b")}};
    struct queue_dequeue d[3];
    struct op ops[4] = {queue_enqueue_op(&x)};
    for (int i = 0; i < 3; i++) {
        d[i] = (struct queue_dequeue){
            .queues = t.qs, .names = &name, .name_count = 1, .count_max = 1, .lease_ms = 100};
        ops[i + 1] = queue_dequeue_op(&d[i]);
    }
    assert_true(run(&t, 0, ops, 4));
    assert_memory_equal(d[0].items[0].value.data, "a", 1);
    assert_memory_equal(d[1].items[0].value.data, "b", 1);
    assert_int_equal(d[2].count, 0);
    assert_string_equal(figures(&t, "q"), "0 0 2 0");
    audit(&t, "q");
    qbench_close(&t);
}

/* ---- many ---- */

static void more_messages_than_memory_knows_come_in_order(void **state)
{
    struct qbench t;
    char value[16];
    enum { MANY = 3000 };
    qbench_open(&t);
    for (int i = 0; i < MANY; i++) {
        snprintf(value, sizeof value, "%d", i);
        enqueue(&t, "q", value, (struct enqueue_options){.delay_ms = i % 3});
        if (i % 500 == 0) rig_step(&t.rig);
        arena_reset(&t.arena);
    }
    at(&t, 10);
    audit(&t, "q");
    for (int i = 0; i < MANY; i++) {
        int wanted = i < 1000 ? 3 * i : i < 2000 ? 3 * (i - 1000) + 1 : 3 * (i - 2000) + 2;
        snprintf(value, sizeof value, "%d", wanted);
        settle(&t, SETTLE_ACK, take_value(&t, "q", 1000, value), 0);
        if (i == 1234) qbench_crash(&t);
        if (i % 100 == 0) rig_step(&t.rig);
        arena_reset(&t.arena);
    }
    assert_string_equal(figures(&t, "q"), "0 0 0 0");
    audit(&t, "q");
    qbench_close(&t);
}

static void purge_removes_all_but_the_dead(void **state)
{
    struct qbench t;
    qbench_open(&t);
    put(&t, "q", "dead");
    nack(&t, take_value(&t, "q", 10, "dead"), -1, true, "");
    for (int i = 0; i < 20; i++) put(&t, "q", "x");
    take_value(&t, "q", 1000, "x");
    enqueue(&t, "q", "d", (struct enqueue_options){.delay_ms = 100});
    assert_int_equal(bulk(&t, BULK_PURGE, "q"), 21);
    assert_string_equal(figures(&t, "q"), "0 0 0 1");
    assert_int_equal(stats(&t, "q").counts.enqueued, 22);
    audit(&t, "q");
    assert_int_equal(bulk(&t, BULK_DEAD_DELETE, "q"), 1);
    assert_int_equal(bulk(&t, BULK_PURGE, "q"), 0); /* empty: forgotten */
    assert_null(queue_find(t.qs, 0, slice_str("q")));
    qbench_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(messages_come_in_the_order_of_their_due_time),
        TEST(queues_and_databases_are_apart),
        TEST(ids_are_sorted_and_never_the_same),
        TEST(a_lease_ends_to_the_millisecond_without_a_timer),
        TEST(the_tick_ends_leases_too),
        TEST(the_backoff_counts_from_the_end_of_the_lease),
        TEST(what_was_not_seen_is_taken_back_without_counting),
        TEST(what_was_not_seen_goes_back_to_its_database),
        TEST(a_stop_takes_back_what_was_not_seen),
        TEST(nack_follows_the_backoff_and_then_buries),
        TEST(no_backoff_means_no_retry),
        TEST(dead_is_dead_at_once),
        TEST(a_requeued_message_keeps_its_options),
        TEST(dead_letters_are_bounded_by_length_and_age),
        TEST(a_dedup_id_is_good_for_its_window),
        TEST(dedup_ids_are_forgotten_in_the_order_of_their_time),
        TEST(dedup_ids_are_bounded),
        TEST(dedup_ids_are_bounded_within_a_transaction),

        TEST(rows_are_read_in_few_ticks_after_a_start),
        TEST(every_state_survives_a_restart),
        TEST(a_flush_takes_everything),
        TEST(a_flush_while_rows_are_read_takes_them_too),
        TEST(a_stale_receipt_is_a_conflict),
        TEST(a_transaction_sees_its_own_messages),
        TEST(more_messages_than_memory_knows_come_in_order),
        TEST(purge_removes_all_but_the_dead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
