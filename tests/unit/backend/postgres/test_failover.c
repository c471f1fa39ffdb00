/* PostgreSQL: what happens when it crashes, when another node takes over, and when rows are
 * damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "backend/postgres/pg_journal_int.h"
#include "base/clock.h"
#include "unit/backend/postgres/pg_rig.h"

static int64_t by_hand(const char *sql)
{
    return pg_server_run(&pg_shared, sql, NULL, 0);
}

static void change(const char *sql, int64_t id)
{
    assert_int_equal(pg_shared_run(sql, id), 1);
}

/* ---- crashes of PostgreSQL ---- */

static void what_was_acknowledged_outlives_a_crash_of_postgresql(void **state)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    (void)state;
    pg_rig_init(&r, &p);
    r.options.is_inline = false;
    rig_open(&r);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 200; i++) {
            (void)rig_set(&r, key_of(0, "%d.%d", round, i), slice_str("x"));
            if (i % 8 == 7) rig_step(&r);
            if (i == 100) pg_server_kill(&pg_shared);
        }
        pg_server_start(&pg_shared);
        rig_settle(&r);
        assert_false(r.is_fatal);
        for (int i = 0; i < 200; i++) rig_expect(&r, key_of(0, "%d.%d", round, i), "x");
        assert_int_equal(backend_entries(r.b, 0), (round + 1) * 200);
        if (round % 2 == 0) rig_apply(&r);
    }
    rig_crash(&r);
    for (int i = 0; i < 800; i++) rig_expect(&r, key_of(0, "%d.%d", i / 200, i % 200), "x");
    rig_apply(&r);
    assert_int_equal(backend_entries(r.b, 0), 800);
    rig_close(&r);
    rig_fini(&r);
}

/* ---- another node is the leader ---- */

struct two {
    struct pg_rig p, q;
    struct rig a, b;
};

/* a led, and b has taken over while a was silent. */
static void two_init(struct two *t)
{
    t->p = t->q = pg_rig_fresh();
    pg_rig_init(&t->a, &t->p);
    pg_rig_init(&t->b, &t->q);
    rig_open(&t->a);
    (void)rig_set(&t->a, key_of(0, "k"), slice_str("of a"));
    (void)rig_set(&t->a, key_of(0, "only a"), slice_str("1"));
    rig_settle(&t->a);
    rig_open(&t->b);
}

static void two_fini(struct two *t)
{
    rig_abandon(&t->a);
    rig_close(&t->b);
    rig_open(&t->b);
    rig_expect(&t->b, key_of(0, "k"), "of b");
    rig_expect(&t->b, key_of(0, "only a"), "1");
    assert_int_equal(backend_entries(t->b.b, 0), 2);
    rig_close(&t->b);
    rig_fini(&t->a);
    rig_fini(&t->b);
}

static void step_until_lost(struct rig *r)
{
    int64_t until_us = clock_mono_us() +
                       20000000; /* what failed may be tried again after a while */
    while (clock_mono_us() < until_us && !r->is_fatal) rig_step(r);
    assert_true(r->is_fatal);
}

static void who_was_followed_appends_nothing(void **state)
{
    struct two t;
    (void)state;
    two_init(&t);
    (void)rig_set(&t.b, key_of(0, "k"), slice_str("of b"));
    rig_settle(&t.b);
    uint64_t durable = t.a.durable;
    (void)rig_set(&t.a, key_of(0, "k"), slice_str("too late"));
    (void)rig_set(&t.a, key_of(0, "new"), slice_str("too late"));
    step_until_lost(&t.a);
    assert_int_equal(t.a.durable, durable);
    assert_int_equal(term_state(t.p.term), TERM_LOST);
    assert_true(t.b.durable > durable);
    two_fini(&t);
}

/* What a has in memory was acknowledged, but b has written over it. */
static void who_was_followed_applies_nothing(void **state)
{
    struct two t;
    struct error e;
    (void)state;
    two_init(&t);
    (void)rig_set(&t.b, key_of(0, "k"), slice_str("of b"));
    rig_settle(&t.b);
    rig_apply(&t.b);
    pipeline_freeze(pipeline_of(t.a.b));
    for (int i = 0; i < 50; i++) rig_step(&t.a);
    assert_int_not_equal(term_state(t.p.term), TERM_LEADING);
    assert_int_equal(pg_shared_run("SELECT count(*) FROM tupled_entry WHERE id = $1", t.p.id), 2);
    assert_int_equal(term_renew(t.q.term, &e), OK);
    two_fini(&t);
}

/* PostgreSQL itself moves the epoch, right after the apply was announced: no slice may follow. */
static void a_take_over_in_the_middle_of_an_apply_is_seen(void **state)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    char sql[400];
    (void)state;
    pg_rig_init(&r, &p);
    rig_open(&r);
    (void)by_hand("CREATE FUNCTION take() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
                  "UPDATE tupled_applied SET epoch = 99 WHERE id = new.id; RETURN new; END$$");
    snprintf(sql, sizeof sql,
             "CREATE TRIGGER taken AFTER UPDATE OF applying_to ON tupled_leader FOR EACH ROW "
             "WHEN (new.id = %lld) EXECUTE FUNCTION take()",
             (long long)p.id);
    (void)by_hand(sql);
    (void)rig_set(&r, key_of(0, "k"), slice_str("x"));
    rig_settle(&r);
    pipeline_freeze(pipeline_of(r.b));
    step_until_lost(&r);
    (void)by_hand("DROP TRIGGER taken ON tupled_leader");
    assert_int_equal(pg_shared_run("SELECT count(*) FROM tupled_entry WHERE id = $1", p.id), 0);
    assert_int_equal(pg_shared_run("SELECT applied FROM tupled_applied WHERE id = $1", p.id), 0);
    rig_fini(&r);
}

/* Rows come into the table very slowly. What was acknowledged is in the log, so the stop does not
 * wait for that. */
static void a_clean_stop_hands_over_before_all_is_applied(void **state)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    (void)state;
    p.lease_ms = 60000;
    pg_rig_init(&r, &p);
    r.options.is_inline = false;
    rig_open(&r);
    (void)rig_set(&r, key_of(0, "0"), slice_str("old"));
    rig_apply(&r);
    (void)by_hand("CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
                  "PERFORM pg_sleep(120); RETURN NEW; END$$");
    (void)by_hand("CREATE TRIGGER waits BEFORE INSERT OR UPDATE ON tupled_entry FOR EACH ROW "
                  "EXECUTE FUNCTION wait()");
    for (int i = 0; i < 100; i++) (void)rig_set(&r, key_of(0, "%d", i), slice_str("new"));
    rig_settle(&r);
    pipeline_freeze(pipeline_of(r.b));
    rig_step(&r); /* an apply runs, and waits */
    for (int i = 100; i < 200; i++) (void)rig_set(&r, key_of(0, "%d", i), slice_str("new"));
    int64_t begin_us = clock_mono_us();
    rig_close(&r);
    assert_true(clock_mono_us() - begin_us < 40000000); /* a statement may take 60 s */
    (void)by_hand("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = "
                  "'PgSleep'");
    rig_open(&r);
    for (int i = 0; i < 200; i++) rig_expect(&r, key_of(0, "%d", i), "new");
    assert_int_equal(pg_shared_run("SELECT count(*) FROM tupled_entry WHERE id = $1", p.id), 1);
    (void)by_hand("DROP TRIGGER waits ON tupled_entry");
    (void)by_hand("DROP FUNCTION wait");
    rig_apply(&r);
    assert_int_equal(backend_entries(r.b, 0), 200);
    rig_close(&r);
    rig_fini(&r);
}

/* Versions go on above what the old leader may have given to a client. */
static void versions_of_leaders_do_not_meet(void **state)
{
    struct two t;
    (void)state;
    two_init(&t);
    uint64_t of_a = rig_set(&t.a, key_of(0, "k"), slice_str("too late"));
    uint64_t of_b = rig_set(&t.b, key_of(0, "k"), slice_str("of b"));
    assert_true(of_b > of_a + 1000);
    step_until_lost(&t.a);
    rig_settle(&t.b);
    two_fini(&t);
}

/* ---- PostgreSQL loses what it had committed: a server that had less is promoted ---- */

/* The leader notices before it says anything about what comes after. */
static void who_leads_a_log_that_lost_something_stops(void **state)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    (void)state;
    pg_rig_init(&r, &p);
    rig_open(&r);
    for (int i = 0; i < 3; i++) {
        (void)rig_set(&r, key_of(0, "%d", i), slice_str("x"));
        rig_settle(&r);
    }
    change("DELETE FROM tupled_log WHERE id = $1 AND batch = 3", p.id);
    uint64_t durable = r.durable;
    (void)rig_set(&r, key_of(0, "later"), slice_str("x"));
    step_until_lost(&r);
    assert_int_equal(r.durable, durable);
    assert_int_equal(term_state(p.term), TERM_LOST);
    assert_int_equal(pg_shared_run("SELECT count(*) FROM tupled_log WHERE id = $1", p.id), 2);
    rig_abandon(&r);
    rig_open(&r);
    assert_int_equal(backend_entries(r.b, 0), 2);
    rig_close(&r);
    rig_fini(&r);
}

static enum err take_any(struct journal_read *r, struct txn_view *txn, bool *is_full,
                         struct error *e)
{
    (void)txn;
    (void)is_full;
    (void)e;
    ++*(unsigned *)r->arg;
    return OK;
}

/* What a reader gets who has seen everything up to `after`. */
static enum err read_after(const struct rig *r, uint64_t after, unsigned *count)
{
    struct journal *j = pipeline_of(r->b)->log.journal;
    struct journal_read read = {
        .after = after, .until = UINT64_MAX, .take = take_any, .arg = count};
    *count = 0;
    assert_true(j->ops->read_begin(j, &read));
    j->ops->read_run(j, &read);
    j->ops->read_end(j, &read);
    return read.result;
}

/* It is not an error of the client's: asked again it is answered. */
static void history_that_cannot_be_read_may_be_asked_for_again(void **state)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    unsigned count = 0;
    (void)state;
    pg_rig_init(&r, &p);
    rig_open(&r);
    (void)rig_set(&r, key_of(0, "kept"), slice_str("x"));
    rig_settle(&r);
    assert_int_equal(read_after(&r, 0, &count), OK);
    assert_int_equal(count, 1);
    pg_server_kill(&pg_shared);
    assert_int_equal(read_after(&r, 0, &count), ERR_TRYAGAIN);
    assert_int_equal(count, 0);
    pg_server_start(&pg_shared);
    assert_int_equal(read_after(&r, 0, &count), OK);
    assert_int_equal(count, 1);
    rig_close(&r);
    rig_fini(&r);
}

/* No version is given twice, though PostgreSQL does not know any more which were; a client that
 * saw what is lost is told. */
static void versions_after_a_promotion_are_far_above(void **state)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    unsigned count = 0;
    (void)state;
    pg_rig_init(&r, &p);
    rig_open(&r);
    uint64_t before = rig_set(&r, key_of(0, "kept"), slice_str("x"));
    rig_settle(&r);
    uint64_t lost = rig_set(&r, key_of(0, "lost"), slice_str("x"));
    rig_settle(&r);
    rig_abandon(&r);
    change("DELETE FROM tupled_log WHERE id = $1 AND batch = 2", p.id);
    change("UPDATE tupled_leader SET versions_reserved = 3, timeline = '00000077' WHERE id = $1",
           p.id);
    rig_open(&r);
    uint64_t after = rig_set(&r, key_of(0, "after"), slice_str("x"));
    (void)rig_set(&r, key_of(0, "with it"), slice_str("x")); /* in the same batch */
    rig_settle(&r);
    assert_true(after >= ((uint64_t)1 << 40) && after > lost);
    assert_int_equal(read_after(&r, before, &count), OK);
    assert_int_equal(count, 2);
    assert_int_equal(read_after(&r, after, &count), OK);
    assert_int_equal(count, 1);
    assert_int_equal(read_after(&r, lost, &count), ERR_STALE);
    assert_int_equal(count, 0);
    /* The same timeline: they go on as usual. */
    rig_abandon(&r);
    rig_open(&r);
    uint64_t next = rig_set(&r, key_of(0, "next"), slice_str("x"));
    assert_true(next > after && next < after + ((uint64_t)1 << 39));
    rig_settle(&r);
    rig_close(&r);
    rig_fini(&r);
}

/* ---- the log ---- */

static void the_log_is_let_go_of(void **state)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    (void)state;
    p.retention_ms = -1;
    pg_rig_init(&r, &p);
    rig_open(&r);
    for (int i = 0; i < 20; i++) {
        (void)rig_set(&r, key_of(0, "%d", i), slice_str("x"));
        rig_settle(&r);
    }
    assert_int_equal(pg_shared_run("SELECT count(*) FROM tupled_log WHERE id = $1", p.id), 20);
    rig_apply(&r);
    int64_t left = 20;
    for (int i = 0; i < 200 && left > 0; i++) {
        rig_step(&r);
        left = pg_shared_run("SELECT count(*) FROM tupled_log WHERE id = $1", p.id);
    }
    assert_int_equal(left, 0);
    assert_int_equal(r.journal->ops->oldest(r.journal), r.durable);
    (void)rig_set(&r, key_of(0, "more"), slice_str("x"));
    rig_settle(&r);
    rig_crash(&r);
    rig_expect(&r, key_of(0, "more"), "x");
    rig_expect(&r, key_of(0, "7"), "x");
    rig_close(&r);
    rig_fini(&r);
}

static int64_t log_bytes(const struct pg_rig *p)
{
    return pg_shared_run("SELECT sum(length(body))::int8 FROM tupled_log WHERE id = $1", p->id);
}

/* It looks once in a second: what is written faster than that is more. */
static void let_go_to(struct rig *r, const struct pg_rig *p, int64_t limit)
{
    int64_t until_us = clock_mono_us() + 30000000;
    rig_apply(r);
    while (log_bytes(p) > limit && clock_mono_us() < until_us) rig_step(r);
}

/* Neither what is kept, nor what PostgreSQL takes for it on its disk. */
static void the_log_does_not_outgrow_its_limit(void **state)
{
    enum { LIMIT = 2 << 20, WRITTEN = 96 << 20, EACH = 256 << 10 };
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    char *value = malloc(EACH);
    (void)state;
    assert_non_null(value);
    for (size_t i = 0; i < EACH; i++) value[i] = (char)('a' + (i * 7919 + i / 251) % 26);
    p.retention_ms = 3600000;
    p.retention_bytes = LIMIT;
    pg_rig_init(&r, &p);
    rig_open(&r);
    for (int i = 0; i < WRITTEN / EACH; i++) {
        (void)rig_set(&r, key_of(0, "k"), slice_of(value, EACH));
        rig_settle(&r);
        if (i % 16 == 15) let_go_to(&r, &p, LIMIT);
    }
    assert_in_range(log_bytes(&p), LIMIT - 2 * EACH, LIMIT);
    struct journal_stats s;
    r.journal->ops->stats(r.journal, &s);
    assert_int_equal(s.bytes, log_bytes(&p)); /* as it is counted here */
    int64_t disk = by_hand("SELECT pg_total_relation_size('tupled_log')");
    if (disk > WRITTEN / 2) fail_msg("%lld bytes of disk", (long long)disk);
    uint64_t oldest = r.journal->ops->oldest(r.journal);
    rig_crash(&r);
    assert_int_equal(r.journal->ops->oldest(r.journal), oldest);
    rig_close(&r);
    rig_fini(&r);
    free(value);
}

/* A leader died between two parts of a batch. */
static void a_batch_without_its_end_is_none(void **state)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    (void)state;
    pg_rig_init(&r, &p);
    rig_open(&r);
    uint64_t version = rig_set(&r, key_of(0, "k"), slice_str("x"));
    rig_settle(&r);
    rig_abandon(&r);
    struct pg_part part = {.batch = 2,
                           .parts = 2,
                           .version_before = version,
                           .last_version = version + 9,
                           .time_ms = 1,
                           .body = slice_of(NULL, 0)};
    const int64_t numbers[] = {p.id, (int64_t)version, (int64_t)version + 9,
                               pg_part_checksum(&part)};
    (void)pg_server_run(&pg_shared,
                        "INSERT INTO tupled_log VALUES ($1, 2, 0, 2, 1, $2, $3, 1, $4, '')",
                        numbers, 4);
    rig_open(&r);
    assert_int_equal(pg_shared_run("SELECT count(*) FROM tupled_log WHERE id = $1", p.id), 1);
    (void)rig_set(&r, key_of(0, "l"), slice_str("y"));
    rig_settle(&r);
    rig_crash(&r);
    rig_expect(&r, key_of(0, "k"), "x");
    rig_expect(&r, key_of(0, "l"), "y");
    rig_close(&r);
    rig_fini(&r);
}

/* ---- damage ---- */

static void expect_no_start(struct rig *r, const char *words)
{
    struct error e;
    assert_int_equal(rig_try_open(r, &e), ERR_CORRUPT);
    if (strstr(e.text, words) == NULL) fail_msg("\"%s\" does not say \"%s\"", e.text, words);
}

static void three_batches(struct rig *r, struct pg_rig *p)
{
    pg_rig_init(r, p);
    rig_open(r);
    for (int i = 0; i < 3; i++) {
        (void)rig_set(r, key_of(0, "%d", i), slice_str("x"));
        rig_settle(r);
    }
    rig_abandon(r);
}

static void a_damaged_batch_is_named(void **state)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    (void)state;
    three_batches(&r, &p);
    change("UPDATE tupled_log SET body = set_byte(body, 30, get_byte(body, 30) # 1) "
           "WHERE id = $1 AND batch = 2",
           p.id);
    expect_no_start(&r, "batch 2 part 0 of tupled_log is damaged");
    rig_fini(&r);
}

static void a_lost_batch_is_named(void **state)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    (void)state;
    three_batches(&r, &p);
    change("DELETE FROM tupled_log WHERE id = $1 AND batch = 2", p.id);
    expect_no_start(&r, "tupled_log has a gap");
    rig_fini(&r);
}

static void a_damaged_entry_is_named(void **state)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    struct entry entry;
    struct error e;
    (void)state;
    pg_rig_init(&r, &p);
    rig_open(&r);
    (void)rig_set(&r, key_of(0, "good"), slice_str("x"));
    (void)rig_set(&r, key_of(0, "k"), slice_str("value"));
    rig_apply(&r);
    rig_close(&r);
    change("UPDATE tupled_entry SET value = 'valve' WHERE id = $1 AND value = 'value'", p.id);
    rig_open(&r);
    assert_int_equal(rig_try_load(&r, key_of(0, "k"), &entry, &e), ERR_CORRUPT);
    assert_non_null(strstr(e.text, "damaged"));
    rig_expect(&r, key_of(0, "good"), "x");
    rig_close(&r);
    rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_acknowledged_outlives_a_crash_of_postgresql),
        cmocka_unit_test(who_was_followed_appends_nothing),
        cmocka_unit_test(who_was_followed_applies_nothing),
        cmocka_unit_test(a_take_over_in_the_middle_of_an_apply_is_seen),
        cmocka_unit_test(a_clean_stop_hands_over_before_all_is_applied),
        cmocka_unit_test(versions_of_leaders_do_not_meet),
        cmocka_unit_test(who_leads_a_log_that_lost_something_stops),
        cmocka_unit_test(history_that_cannot_be_read_may_be_asked_for_again),
        cmocka_unit_test(versions_after_a_promotion_are_far_above),
        cmocka_unit_test(the_log_is_let_go_of),
        cmocka_unit_test(the_log_does_not_outgrow_its_limit),
        cmocka_unit_test(a_batch_without_its_end_is_none),
        cmocka_unit_test(a_damaged_batch_is_named),
        cmocka_unit_test(a_lost_batch_is_named),
        cmocka_unit_test(a_damaged_entry_is_named),
    };
    return cmocka_run_group_tests(tests, pg_shared_start, pg_shared_stop);
}
