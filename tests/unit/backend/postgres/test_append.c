/* Two appends under way: PostgreSQL has the second before it has answered the first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "backend/postgres/pg_journal_int.h"
#include "base/clock.h"
#include "unit/backend/postgres/pg_rig.h"

static int64_t batches(const struct pg_rig *p)
{
    return pg_shared_run("SELECT count(*) FROM tupled_log WHERE id = $1 AND part = 0", p->id);
}

static uint64_t sent_ahead(const struct rig *r)
{
    struct journal_stats s;
    r->journal->ops->stats(r->journal, &s);
    return s.ahead;
}

/* An append of one key, posted. Inline: nothing runs before the next step. */
static void append(struct rig *r, const char *key)
{
    (void)rig_set(r, key_of(0, "%s", key), slice_str("x"));
    journal_submit(r->journal);
}

static void rig_start(struct rig *r, struct pg_rig *p)
{
    pg_rig_init(r, p);
    rig_open(r);
    (void)rig_set(r, key_of(0, "first"), slice_str("x"));
    rig_settle(r);
}

static void step_until_failed(struct rig *r)
{
    for (int i = 0; i < 200 && !r->is_fatal; i++) rig_step(r);
    assert_true(r->is_fatal);
    /* What is under way ends too. */
    for (int i = 0; i < 20; i++) rig_step(r);
}

/* PostgreSQL answers each append after so long; 0 = at once, as before. */
static void answer_after_ms(unsigned ms)
{
    char text[200];
    if (ms == 0) {
        (void)pg_server_run(&pg_shared, "DROP TRIGGER slow ON tupled_log", NULL, 0);
        (void)pg_server_run(&pg_shared, "DROP FUNCTION be_slow", NULL, 0);
        return;
    }
    snprintf(text, sizeof text,
             "CREATE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
             "PERFORM pg_sleep(%u.%03u); RETURN NEW; END$$",
             ms / 1000, ms % 1000);
    (void)pg_server_run(&pg_shared, text, NULL, 0);
    (void)pg_server_run(&pg_shared,
                        "CREATE TRIGGER slow BEFORE INSERT ON tupled_log FOR EACH ROW EXECUTE "
                        "FUNCTION be_slow()",
                        NULL, 0);
}

/* How many were sent before the answer to the one before had come. */
static uint64_t append_four(unsigned ms)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    rig_start(&r, &p);
    answer_after_ms(ms);
    append(&r, "a");
    assert_false(r.journal->is_busy);
    append(&r, "b");
    assert_true(r.journal->is_busy);
    append(&r, "c");
    append(&r, "d");
    rig_settle(&r);
    answer_after_ms(0);
    assert_int_equal(batches(&p), 4); /* c and d were one */
    uint64_t ahead = sent_ahead(&r);
    rig_crash(&r);
    for (const char *k = "abcd"; *k != '\0'; k++) rig_expect(&r, key_of(0, "%c", *k), "x");
    rig_close(&r);
    rig_fini(&r);
    return ahead;
}

/* b, and then c with d. Where the answer is there first nothing is sent ahead: then PostgreSQL has to
 * be slower. */
static void two_are_under_way_and_what_comes_then_waits(void **state)
{
    uint64_t ahead = 0;
    (void)state;
    for (unsigned ms = 10; ms < 10000 && ahead < 2; ms *= 4) ahead = append_four(ms);
    assert_int_equal(ahead, 2);
}

/* Of a batch of three and four single ones: how many were sent ahead. */
static uint64_t append_as_large(unsigned ms)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    rig_start(&r, &p);
    for (int i = 0; i < 3; i++) (void)rig_set(&r, key_of(0, "%d", i), slice_str("x"));
    rig_settle(&r);
    assert_int_equal(batches(&p), 2);
    answer_after_ms(ms);
    append(&r, "a");
    append(&r, "b");
    append(&r, "c");
    assert_false(r.journal->is_busy);
    append(&r, "d");
    assert_true(r.journal->is_busy);
    rig_settle(&r);
    answer_after_ms(0);
    assert_int_equal(batches(&p), 4);
    uint64_t ahead = sent_ahead(&r);
    rig_close(&r);
    rig_fini(&r);
    return ahead;
}

/* A client that was told is expected to write again: until then a second one is not worth its
 * price. */
static void a_second_one_waits_to_be_as_large_as_the_last(void **state)
{
    uint64_t ahead = 0;
    (void)state;
    for (unsigned ms = 10; ms < 10000 && ahead < 1; ms *= 4) ahead = append_as_large(ms);
    assert_int_equal(ahead, 1);
}

/* Only the first part of the second goes ahead, after the last part of the first. */
static void batches_of_several_parts_keep_their_order(void **state)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    static char text[3000];
    (void)state;
    memset(text, 'y', sizeof text - 1);
    p.batch_bytes = 1000;
    rig_start(&r, &p);
    for (int i = 0; i < 6; i++) {
        (void)rig_set(&r, key_of(0, "%d", i), slice_str(text));
        journal_submit(r.journal);
    }
    rig_settle(&r);
    assert_true(sent_ahead(&r) > 0);
    assert_true(pg_shared_run("SELECT max(part) FROM tupled_log WHERE id = $1", p.id) >= 3);
    rig_crash(&r);
    for (int i = 0; i < 6; i++) rig_expect(&r, key_of(0, "%d", i), text);
    rig_close(&r);
    rig_fini(&r);
}

/* The first is refused, as what came before it is gone: so must the second be. */
static void nothing_follows_one_that_is_refused(void **state)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    (void)state;
    rig_start(&r, &p);
    uint64_t durable = r.durable;
    assert_int_equal(pg_shared_run("DELETE FROM tupled_log WHERE id = $1", p.id), 1);
    append(&r, "a");
    append(&r, "b");
    step_until_failed(&r);
    assert_int_equal(term_state(p.term), TERM_LOST);
    assert_int_equal(batches(&p), 0);
    assert_int_equal(r.durable, durable);
    rig_abandon(&r);
    rig_fini(&r);
}

/* The place of the first has something else, the second is appended well: it counts for nothing. */
static void nothing_is_acknowledged_after_one_that_failed(void **state)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    (void)state;
    rig_start(&r, &p);
    uint64_t durable = r.durable;
    assert_int_equal(
        pg_shared_run("INSERT INTO tupled_log SELECT id, 2, 0, 1, epoch, version_before, "
                      "last_version, time_ms, 77, body FROM tupled_log WHERE id = $1",
                      p.id),
        1);
    append(&r, "a");
    append(&r, "b");
    step_until_failed(&r);
    assert_non_null(strstr(r.fatal.text, "is not the one appended"));
    assert_int_equal(batches(&p), 3);
    assert_int_equal(r.durable, durable);
    assert_int_equal(r.journal->acknowledged, durable);
    rig_abandon(&r);
    rig_fini(&r);
}

static int64_t silent_us(const struct rig *r)
{
    struct pg_journal_state s;
    pg_journal_state(r->journal, &s);
    return s.silent_us;
}

/* An append that waited behind another one is not one that PostgreSQL does not answer. */
static void silence_counts_from_the_last_acknowledgement(void **state)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    (void)state;
    rig_start(&r, &p);
    assert_int_equal(silent_us(&r), 0);
    append(&r, "a");
    append(&r, "b");
    const struct pg_journal *j = pg_journal_of(r.journal);
    assert_int_equal(j->under_way, 2);
    clock_sleep_us(20000);
    assert_true(silent_us(&r) >= 20000);
    int64_t before_us = clock_mono_us();
    for (int i = 0; i < 100 && j->under_way == 2; i++) rig_step(&r);
    assert_int_equal(j->under_way, 1);
    assert_in_range(silent_us(&r), 1, clock_mono_us() - before_us);
    rig_settle(&r);
    assert_int_equal(silent_us(&r), 0);
    rig_close(&r);
    rig_fini(&r);
}

/* The answer to the first is lost with the connection, which had the second too. */
static void what_was_sent_on_a_lost_connection_is_found_or_sent_again(void **state)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    (void)state;
    rig_start(&r, &p);
    /* The server ends the connection in the middle of an append: once, by a sequence, which does not
     * go back with the transaction. */
    (void)pg_server_run(&pg_shared, "CREATE SEQUENCE ended", NULL, 0);
    (void)pg_server_run(&pg_shared,
                        "CREATE FUNCTION end_once() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
                        "IF nextval('ended') = 1 THEN PERFORM "
                        "pg_terminate_backend(pg_backend_pid()); END IF; RETURN NEW; END$$",
                        NULL, 0);
    (void)pg_server_run(&pg_shared,
                        "CREATE TRIGGER ends BEFORE INSERT ON tupled_log FOR EACH ROW EXECUTE "
                        "FUNCTION end_once()",
                        NULL, 0);
    append(&r, "a");
    append(&r, "b");
    append(&r, "c");
    rig_settle(&r);
    assert_true(pg_server_run(&pg_shared, "SELECT last_value FROM ended", NULL, 0) >= 4);
    (void)pg_server_run(&pg_shared, "DROP TRIGGER ends ON tupled_log", NULL, 0);
    (void)pg_server_run(&pg_shared, "DROP FUNCTION end_once", NULL, 0);
    (void)pg_server_run(&pg_shared, "DROP SEQUENCE ended", NULL, 0);
    assert_int_equal(batches(&p), 4);
    rig_crash(&r);
    for (const char *k = "abc"; *k != '\0'; k++) rig_expect(&r, key_of(0, "%c", *k), "x");
    rig_close(&r);
    rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_are_under_way_and_what_comes_then_waits),
        cmocka_unit_test(a_second_one_waits_to_be_as_large_as_the_last),
        cmocka_unit_test(batches_of_several_parts_keep_their_order),
        cmocka_unit_test(nothing_follows_one_that_is_refused),
        cmocka_unit_test(nothing_is_acknowledged_after_one_that_failed),
        cmocka_unit_test(silence_counts_from_the_last_acknowledgement),
        cmocka_unit_test(what_was_sent_on_a_lost_connection_is_found_or_sent_again),
    };
    return cmocka_run_group_tests(tests, pg_shared_start, pg_shared_stop);
}
