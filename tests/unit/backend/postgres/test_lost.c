/* PostgreSQL has less than it had, or is another server: a node that leads notices by itself, also
 * while nothing is written, gives the lead up, and says so; versions go on far above. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>

#include "backend/postgres/pg_store_int.h"
#include "backend/postgres/schema.h"
#include "base/clock.h"
#include "unit/backend/postgres/pg_rig.h"
#include "unit/backend/postgres/term_help.h"

#define FAR ((uint64_t)1 << 40)

static void await_lead(struct term *t)
{
    struct error e;
    int64_t until_us = clock_mono_us() + 20000000;
    enum err r;
    while ((r = term_try(t, &e)) != OK && clock_mono_us() < until_us) clock_sleep_us(20000);
    if (r != OK) fail_msg("%s", e.text);
}

static void says(const char *text, const char *words)
{
    if (strstr(text, words) == NULL) fail_msg("\"%s\" does not say \"%s\"", text, words);
}

static void change(const char *sql, int64_t id)
{
    assert_int_equal(pg_shared_run(sql, id), 1);
}

/* The leader has noticed: the next one begins at once, far above, and says why. */
static void expect_given_up(struct term *leader, int64_t id, const char *why)
{
    struct error e;
    assert_int_equal(term_renew(leader, &e), ERR_TRYAGAIN);
    says(e.text, why);
    assert_int_equal(term_state(leader), TERM_LOST);
    assert_false(term_has_lease(leader));
    struct term *next = term_node(id, "next");
    term_expect_leads(next);
    assert_true(term_epoch(next) > term_epoch(leader));
    assert_true(term_versions(next) >= term_versions(leader) + FAR);
    says(term_noticed(next), "node a: ");
    says(term_noticed(next), why);
    term_free(next);
}

/* ---- the row ---- */

static void a_row_of_before_is_noticed_by_its_beat(void **state)
{
    int64_t id = term_fresh_id();
    struct term *a = term_node(id, "a");
    struct error e;
    (void)state;
    term_expect_leads(a);
    int64_t old = pg_shared_run("SELECT beat FROM tupled_leader WHERE id = $1", id);
    assert_int_equal(term_renew(a, &e), OK);
    assert_int_equal(term_renew(a, &e), OK);
    const int64_t numbers[] = {id, old};
    (void)pg_server_run(&pg_shared, "UPDATE tupled_leader SET beat = $2 WHERE id = $1", numbers, 2);
    expect_given_up(a, id, "PostgreSQL has an older state than before");
    term_free(a);
}

static void a_row_of_an_earlier_epoch_is_noticed(void **state)
{
    int64_t id = term_fresh_id();
    struct term *first = term_node(id, "first");
    struct term *a = term_node(id, "a");
    (void)state;
    term_expect_leads(first);
    term_hand_over(first);
    term_expect_leads(a);
    change("UPDATE tupled_leader SET epoch = 1 WHERE id = $1", id);
    expect_given_up(a, id, "PostgreSQL has an older state than before");
    term_free(first);
    term_free(a);
}

static void another_leader_is_no_loss(void **state)
{
    int64_t id = term_fresh_id();
    struct term *a = term_node(id, "a");
    struct term *b = term_node(id, "b");
    struct error e;
    (void)state;
    term_expect_leads(a);
    await_lead(b);
    assert_int_equal(term_renew(a, &e), ERR_TRYAGAIN);
    assert_string_equal(e.text, "another node is the leader now");
    assert_int_equal(term_renew(b, &e), OK);
    assert_string_equal(term_noticed(b), "");
    assert_true(term_versions(b) < FAR);
    term_free(a);
    term_free(b);
}

/* A renewal that was done and had no answer. */
static void a_beat_without_an_answer_is_its_own(void **state)
{
    int64_t id = term_fresh_id();
    struct term *a = term_node(id, "a");
    struct error e;
    (void)state;
    term_expect_leads(a);
    (void)pg_server_run(&pg_shared, "CREATE SEQUENCE ended", NULL, 0);
    (void)pg_server_run(&pg_shared,
                        "CREATE FUNCTION end_at_commit() RETURNS trigger LANGUAGE plpgsql AS "
                        "$$BEGIN IF nextval('ended') = 1 THEN PERFORM pg_terminate_backend("
                        "pg_backend_pid()); END IF; RETURN NEW; END$$",
                        NULL, 0);
    (void)pg_server_run(&pg_shared,
                        "CREATE TRIGGER ends BEFORE UPDATE ON tupled_leader FOR EACH ROW EXECUTE "
                        "FUNCTION end_at_commit()",
                        NULL, 0);
    assert_int_equal(term_renew(a, &e), OK);
    (void)pg_server_run(&pg_shared, "DROP TRIGGER ends ON tupled_leader", NULL, 0);
    (void)pg_server_run(&pg_shared, "DROP FUNCTION end_at_commit", NULL, 0);
    (void)pg_server_run(&pg_shared, "DROP SEQUENCE ended", NULL, 0);
    assert_int_equal(term_renew(a, &e), OK);
    term_free(a);
}

static void a_row_that_was_removed_comes_back_above(void **state)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    struct error e;
    (void)state;
    pg_rig_init(&r, &p);
    rig_open(&r);
    rig_abandon(&r);
    rig_open(&r);
    uint64_t version = rig_set(&r, key_of(0, "k"), slice_str("x"));
    rig_settle(&r);
    uint64_t epoch = term_epoch(p.term);
    struct term *b = term_node(p.id, "b");
    assert_int_equal(term_try(b, &e), ERR_WAIT);
    change("DELETE FROM tupled_leader WHERE id = $1", p.id);
    (void)rig_set(&r, key_of(0, "k"), slice_str("y"));
    for (int i = 0; i < 2000 && !r.is_fatal; i++) rig_step(&r);
    assert_true(r.is_fatal);
    says(r.fatal.text, "the leader's row was removed");
    rig_abandon(&r);
    assert_int_equal(term_try(b, &e), ERR_IO);
    says(e.text, "the leader's row was removed");
    term_expect_leads(b);
    assert_true(term_epoch(b) > epoch);
    assert_true(term_versions(b) > version + FAR);
    term_free(b);
    rig_fini(&r);
}

/* ---- nodes that follow ---- */

static void who_follows_knows_that_there_was_more(void **state)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    struct error e;
    (void)state;
    pg_rig_init(&r, &p);
    rig_open(&r);
    (void)rig_set(&r, key_of(0, "k"), slice_str("x"));
    rig_settle(&r);
    uint64_t version = rig_set(&r, key_of(0, "k"), slice_str("y"));
    rig_settle(&r);
    uint64_t epoch = term_epoch(p.term);
    struct term *b = term_node(p.id, "b");
    assert_int_equal(term_try(b, &e), ERR_WAIT);
    rig_abandon(&r);
    /* Restored: everything is as it was before that leader began. */
    change("DELETE FROM tupled_log WHERE id = $1 AND batch = 2", p.id);
    change("UPDATE tupled_leader SET epoch = 0, beat = 7, versions_reserved = 1 WHERE id = $1",
           p.id);
    await_lead(b);
    assert_true(term_epoch(b) > epoch);
    assert_true(term_versions(b) >= version + FAR);
    /* The next one has it from the row. */
    struct term *c = term_node(p.id, "c");
    assert_int_equal(term_try(c, &e), ERR_WAIT);
    says(term_noticed(c), "node b: PostgreSQL had epoch");
    term_free(b);
    term_free(c);
    rig_fini(&r);
}

static void newer_tables_are_led_by_no_older_node(void **state)
{
    int64_t id = term_fresh_id();
    struct term *a = term_node(id, "a");
    struct error e;
    (void)state;
    change("UPDATE tupled_schema SET format = $1", SCHEMA_FORMAT + 1);
    enum err r = term_try(a, &e);
    change("UPDATE tupled_schema SET format = $1", SCHEMA_FORMAT);
    assert_int_equal(r, ERR_IO);
    says(e.text, "and will not lead; use a newer version of tupled");
    term_expect_leads(a);
    term_free(a);
}

/* It changes between the look and the take-over: each who asks is told a higher one. */
static void newer_tables_are_not_taken_over(void **state)
{
    int64_t id = term_fresh_id();
    struct term *a = term_node(id, "a");
    struct error e;
    char sql[200];
    (void)state;
    (void)pg_server_run(&pg_shared, "ALTER TABLE tupled_schema RENAME TO kept_schema", NULL, 0);
    (void)pg_server_run(&pg_shared, "CREATE SEQUENCE asked", NULL, 0);
    snprintf(sql, sizeof sql,
             "CREATE VIEW tupled_schema AS SELECT true AS one, nextval('asked') + %d AS format",
             SCHEMA_FORMAT - 1);
    (void)pg_server_run(&pg_shared, sql, NULL, 0);
    enum err r = term_try(a, &e);
    (void)pg_server_run(&pg_shared, "DROP VIEW tupled_schema", NULL, 0);
    (void)pg_server_run(&pg_shared, "DROP SEQUENCE asked", NULL, 0);
    (void)pg_server_run(&pg_shared, "ALTER TABLE kept_schema RENAME TO tupled_schema", NULL, 0);
    assert_int_equal(r, ERR_WAIT);
    assert_int_equal(pg_shared_run("SELECT epoch FROM tupled_leader WHERE id = $1", id), 0);
    term_expect_leads(a);
    term_free(a);
}

/* ---- the store ---- */

static void step_until_lost(struct rig *r)
{
    int64_t until_us = clock_mono_us() + 20000000;
    while (clock_mono_us() < until_us && !r->is_fatal) rig_step(r);
    assert_true(r->is_fatal);
}

/* A server is promoted that has the log, but not the last that was brought into the tables; or
 * neither. `applied` must not go past the hole. */
static void a_write_of_the_store_that_is_gone_is_noticed(void **state)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    (void)state;
    pg_rig_init(&r, &p);
    rig_open(&r);
    (void)rig_set(&r, key_of(0, "kept"), slice_str("x"));
    rig_apply(&r);
    int64_t applied = pg_shared_run("SELECT applied FROM tupled_applied WHERE id = $1", p.id);
    int64_t step = pg_shared_run("SELECT step FROM tupled_applied WHERE id = $1", p.id);
    assert_true(step > 0);
    (void)rig_set(&r, key_of(0, "lost"), slice_str("x"));
    rig_apply(&r);
    const int64_t numbers[] = {p.id, applied, step};
    (void)pg_server_run(
        &pg_shared, "UPDATE tupled_applied SET applied = $2, step = $3 WHERE id = $1", numbers, 3);
    change("DELETE FROM tupled_entry WHERE id = $1 AND position('lost' in "
           "encode(key, 'escape')) > 0",
           p.id);
    change("UPDATE tupled_count SET entries = 1 WHERE id = $1", p.id);
    (void)rig_set(&r, key_of(0, "later"), slice_str("x"));
    rig_settle(&r);
    pipeline_freeze(pipeline_of(r.b));
    step_until_lost(&r);
    says(r.fatal.text, "PostgreSQL has an older state than before");
    assert_int_equal(pg_shared_run("SELECT applied FROM tupled_applied WHERE id = $1", p.id),
                     applied);
    rig_abandon(&r);
    rig_open(&r); /* all of it is in the log */
    rig_expect(&r, key_of(0, "lost"), "x");
    rig_expect(&r, key_of(0, "later"), "x");
    assert_int_equal(backend_entries(r.b, 0), 3);
    rig_close(&r);
    rig_fini(&r);
}

/* What an answer that did not come has done is looked up: it must be the last step or the next. */
static void an_older_store_is_not_taken_for_one_without_an_answer(void **state)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    struct error e;
    (void)state;
    pg_rig_init(&r, &p);
    rig_open(&r);
    (void)rig_set(&r, key_of(0, "k"), slice_str("x"));
    rig_apply(&r);
    struct pg_store *s = pg_store_of(pipeline_of(r.b)->stored.store);
    assert_int_equal(pg_store_load(s, &e), OK);
    change("UPDATE tupled_applied SET step = step + 1 WHERE id = $1", p.id);
    assert_int_equal(pg_store_load(s, &e), OK);
    change("UPDATE tupled_applied SET step = step - 1 WHERE id = $1", p.id);
    assert_int_equal(pg_store_load(s, &e), ERR_IO);
    says(e.text, "has lost a write of the store");
    assert_int_equal(term_state(p.term), TERM_LOST);
    rig_abandon(&r);
    rig_fini(&r);
}

/* ---- another server ---- */

/* What is promoted is another server, whatever it has: here the same data at another port. Nothing
 * was written. */
static void another_server_ends_the_term(void **state)
{
    int64_t id = term_fresh_id();
    char url[320];
    struct error e;
    (void)state;
    snprintf(url, sizeof url, "host=%s,%s port=5432,5433 user=tupled dbname=postgres",
             pg_shared.dir, pg_shared.dir);
    struct term *a = term_node_at(url, id, "a");
    struct pg *reader = term_connect(a, "reader", TERM_READ);
    term_expect_leads(a);
    uint64_t versions = term_versions(a);
    pg_begin(reader);
    assert_int_equal(pg_run(reader, "SELECT 1", &e), OK);
    /* The same server, started again: the term goes on. */
    pg_server_kill(&pg_shared);
    pg_server_start(&pg_shared);
    assert_int_equal(pg_run_again(reader, "SELECT 1", &e), OK);
    assert_int_equal(term_renew(a, &e), OK);
    pg_server_kill(&pg_shared);
    pg_shared.port = 5433;
    pg_server_start(&pg_shared);
    /* The first who comes there notices: a reader of the leader's. */
    pg_begin(reader);
    assert_int_equal(pg_run_again(reader, "SELECT 1", &e), ERR_IO);
    says(e.text, "another server than that of this term");
    assert_int_equal(term_state(a), TERM_LOST);
    assert_int_equal(term_renew(a, &e), ERR_TRYAGAIN);
    says(e.text, "another server than that of this term");
    struct term *b = term_node_at(url, id, "b");
    term_expect_leads(b);
    assert_true(term_versions(b) >= versions + FAR);
    says(term_noticed(b), "epoch 1, node a: the connection leads to another server");
    pg_free(reader);
    term_free(a);
    term_free(b);
    pg_server_kill(&pg_shared);
    pg_shared.port = 0;
    pg_server_start(&pg_shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_of_before_is_noticed_by_its_beat),
        cmocka_unit_test(a_row_of_an_earlier_epoch_is_noticed),
        cmocka_unit_test(another_leader_is_no_loss),
        cmocka_unit_test(a_beat_without_an_answer_is_its_own),
        cmocka_unit_test(a_row_that_was_removed_comes_back_above),
        cmocka_unit_test(who_follows_knows_that_there_was_more),
        cmocka_unit_test(newer_tables_are_led_by_no_older_node),
        cmocka_unit_test(newer_tables_are_not_taken_over),
        cmocka_unit_test(a_write_of_the_store_that_is_gone_is_noticed),
        cmocka_unit_test(an_older_store_is_not_taken_for_one_without_an_answer),
        cmocka_unit_test(another_server_ends_the_term),
    };
    return cmocka_run_group_tests(tests, pg_shared_start, pg_shared_stop);
}
