/* A commit counts only when a standby is known to have it: PostgreSQL lets go of those that wait
 * when synchronous_standby_names is emptied, without a word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pthread.h>

#include "backend/postgres/pg_proof.h"
#include "base/clock.h"
#include "unit/backend/postgres/pg_rig.h"

static const char insert_sql[] = "INSERT INTO kept VALUES ($1)";

static struct pg *connect_proved(struct pg_breaker *breaker)
{
    struct error e;
    if (!pg_server_can()) skip();
    assert_int_equal(pg_breaker_init(breaker, &e), OK);
    (void)pg_server_run(&pg_shared, "CREATE TABLE IF NOT EXISTS kept (n int8)", NULL, 0);
    return pg_new(&(struct pg_options){.url = pg_shared.url,
                                       .name = "proves",
                                       .call_ms = 20000,
                                       .is_quorum = true,
                                       .is_proved = true,
                                       .breaker = breaker});
}

static void close_proved(struct pg *c, struct pg_breaker *breaker)
{
    pg_free(c);
    pg_breaker_fini(breaker);
    pg_server_set_standbys(&pg_shared, "");
    pg_server_stop_standby(&pg_shared);
}

static enum err insert(struct pg *c, int64_t n, struct error *e)
{
    pg_begin(c);
    pg_put_i64(c, n);
    return pg_run_safe(c, insert_sql, e);
}

static void says(const struct error *e, const char *words)
{
    if (strstr(e->text, words) == NULL) fail_msg("\"%s\" does not say \"%s\"", e->text, words);
}

static int64_t kept(int64_t n)
{
    return pg_shared_run("SELECT count(*) FROM kept WHERE n = $1", n);
}

static void nothing_is_done_where_no_standby_is_waited_for(void **state)
{
    struct pg_breaker breaker;
    struct error e;
    (void)state;
    struct pg *c = connect_proved(&breaker);
    assert_int_equal(insert(c, 1, &e), ERR_IO);
    assert_int_equal(pg_outcome(c), PG_REFUSED);
    says(&e, "does not wait for standbys; set synchronous_standby_names there");
    assert_false(pg_is_away(c));
    assert_int_equal(kept(1), 0);
    assert_int_equal(pg_connections(c), 1);
    close_proved(c, &breaker);
}

static void what_a_standby_has_is_safe(void **state)
{
    struct pg_breaker breaker;
    struct error e;
    (void)state;
    struct pg *c = connect_proved(&breaker);
    pg_server_start_standby(&pg_shared);
    pg_server_set_standbys(&pg_shared, "*");
    for (int i = 0; i < 3; i++) {
        if (insert(c, 2, &e) != OK) fail_msg("%s", e.text);
        assert_int_equal(pg_outcome(c), PG_DONE);
        assert_int_equal(pg_changed(c), 1);
    }
    pg_begin(c);
    pg_put_i64(c, 2);
    assert_int_equal(pg_run(c, "SELECT count(*) FROM kept WHERE n = $1", &e), OK);
    assert_int_equal(pg_i64(c, 0, 0), 3);
    close_proved(c, &breaker);
}

static int64_t waiting(void)
{
    return pg_server_run(
        &pg_shared, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'", NULL, 0);
}

static void await_waiting(int64_t wanted)
{
    int64_t until_us = clock_mono_us() + 20000000;
    while (clock_mono_us() < until_us && waiting() != wanted) clock_sleep_us(5000);
    assert_int_equal(waiting(), wanted);
}

/* Empties it while a commit waits, and sets it again if `again`. */
struct emptying {
    const char *again;
};

static void *empty(void *arg)
{
    const struct emptying *m = arg;
    await_waiting(1);
    pg_server_set_standbys(&pg_shared, "");
    await_waiting(0);
    if (m->again != NULL) pg_server_set_standbys(&pg_shared, m->again);
    return NULL;
}

/* The server says that it is done. It is on no standby. */
static void a_commit_that_is_let_go_is_not_believed(void **state)
{
    struct pg_breaker breaker;
    struct error e;
    pthread_t thread;
    struct emptying m = {NULL};
    (void)state;
    struct pg *c = connect_proved(&breaker);
    pg_server_set_standbys(&pg_shared, "nowhere");
    assert_int_equal(pthread_create(&thread, NULL, empty, &m), 0);
    assert_int_equal(insert(c, 3, &e), ERR_IO);
    pthread_join(thread, NULL);
    assert_int_equal(pg_outcome(c), PG_UNKNOWN);
    says(&e, "does not wait for standbys");
    assert_int_equal(kept(3), 1);
    /* The connection is good. */
    assert_int_equal(insert(c, 3, &e), ERR_IO);
    assert_int_equal(pg_outcome(c), PG_REFUSED);
    assert_int_equal(pg_connections(c), 1);
    close_proved(c, &breaker);
}

static void two_in_a_row_are_not_believed_either(void **state)
{
    struct pg_breaker breaker;
    struct error e;
    pthread_t thread;
    struct emptying m = {NULL};
    (void)state;
    struct pg *c = connect_proved(&breaker);
    pg_server_set_standbys(&pg_shared, "nowhere");
    assert_int_equal(pthread_create(&thread, NULL, empty, &m), 0);
    for (int i = 0; i < 2; i++) {
        pg_begin(c);
        pg_put_i64(c, 4);
        if (pg_send(c, insert_sql, &e) != OK) fail_msg("%s", e.text);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pg_take(c, -1, &e), ERR_IO);
        assert_int_equal(pg_outcome(c), PG_UNKNOWN);
        says(&e, "does not wait for standbys");
    }
    pthread_join(thread, NULL);
    assert_int_equal(pg_pending(c), 0);
    close_proved(c, &breaker);
}

/* It is set again before the question comes: only that it was loaded anew tells. */
static void a_setting_that_was_emptied_for_a_moment_is_seen(void **state)
{
    struct pg_breaker breaker;
    struct error e;
    (void)state;
    struct pg *c = connect_proved(&breaker);
    pg_server_start_standby(&pg_shared);
    pg_server_set_standbys(&pg_shared, "*");
    if (insert(c, 5, &e) != OK) fail_msg("%s", e.text);
    pg_server_set_standbys(&pg_shared, "");
    pg_server_set_standbys(&pg_shared, "*");
    assert_int_equal(insert(c, 5, &e), ERR_IO);
    assert_int_equal(pg_outcome(c), PG_UNKNOWN);
    says(&e, "reloaded its configuration during a commit");
    if (insert(c, 5, &e) != OK) fail_msg("%s", e.text);
    close_proved(c, &breaker);
}

static void a_configuration_counts_when_it_has_settled(void **state)
{
    struct error e;
    int64_t loaded_us = 7;
    int64_t left_us = 0;
    const struct pg_waits none = {0, 5, 9000000};
    const struct pg_waits young = {1, 5, PG_PROOF_SETTLE_US - 10};
    const struct pg_waits old = {1, 5, PG_PROOF_SETTLE_US};
    const struct pg_waits set_back = {1, 5, -3000000};
    const struct pg_waits other = {1, 6, 9000000};
    (void)state;
    assert_int_equal(pg_proof_begin(&none, &loaded_us, &left_us, &e), ERR_IO);
    assert_int_equal(loaded_us, 0);
    assert_int_equal(pg_proof_begin(&young, &loaded_us, &left_us, &e), ERR_WAIT);
    assert_int_equal(left_us, 10);
    assert_int_equal(loaded_us, 0);
    assert_int_equal(pg_proof_end(&old, &loaded_us, &e), ERR_IO);
    assert_int_equal(pg_proof_begin(&old, &loaded_us, &left_us, &e), OK);
    assert_int_equal(loaded_us, 5);
    assert_int_equal(pg_proof_end(&old, &loaded_us, &e), OK);
    assert_int_equal(pg_proof_end(&other, &loaded_us, &e), ERR_IO);
    assert_int_equal(loaded_us, 0);
    assert_int_equal(pg_proof_begin(&set_back, &loaded_us, &left_us, &e), OK);
}

/* ---- what a leader makes of it ---- */

static void await_batches(int64_t id, int64_t wanted)
{
    int64_t until_us = clock_mono_us() + 20000000;
    const char *sql = "SELECT count(*) FROM tupled_log WHERE id = $1";
    while (clock_mono_us() < until_us && pg_shared_run(sql, id) < wanted) clock_sleep_us(5000);
    assert_int_equal(pg_shared_run(sql, id), wanted);
}

static void step_for(struct rig *r, int64_t ms)
{
    int64_t until_us = clock_mono_us() + ms * 1000;
    while (clock_mono_us() < until_us) rig_step(r);
}

/* The standby goes, and Patroni without strict mode says that it is not needed any more. */
static void nothing_is_acknowledged_without_a_standby(void **state)
{
    struct pg_rig p = pg_rig_fresh();
    struct rig r;
    (void)state;
    p.is_quorum = true;
    p.lease_ms = 5000;
    pg_server_start_standby(&pg_shared);
    pg_server_set_standbys(&pg_shared, "*");
    pg_rig_init(&r, &p);
    r.options.is_inline = false;
    rig_open(&r);
    (void)rig_set(&r, key_of(0, "a"), slice_str("x"));
    rig_settle(&r);
    uint64_t durable = r.durable;
    pg_server_stop_standby(&pg_shared);
    (void)rig_set(&r, key_of(0, "b"), slice_str("x"));
    journal_submit(r.journal);
    await_waiting(1);
    pg_server_set_standbys(&pg_shared, "");
    await_batches(p.id, 2); /* it is committed, and the leader was told so */
    step_for(&r, 500);
    assert_int_equal(r.durable, durable);
    assert_false(r.is_fatal);
    /* A standby has it. */
    pg_server_start_standby(&pg_shared);
    pg_server_set_standbys(&pg_shared, "*");
    rig_settle(&r);
    assert_true(r.durable > durable);
    assert_int_equal(term_state(p.term), TERM_LEADING);
    rig_close(&r);
    rig_fini(&r);
    pg_server_set_standbys(&pg_shared, "");
    pg_server_stop_standby(&pg_shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_configuration_counts_when_it_has_settled),
        cmocka_unit_test(nothing_is_done_where_no_standby_is_waited_for),
        cmocka_unit_test(what_a_standby_has_is_safe),
        cmocka_unit_test(a_commit_that_is_let_go_is_not_believed),
        cmocka_unit_test(two_in_a_row_are_not_believed_either),
        cmocka_unit_test(a_setting_that_was_emptied_for_a_moment_is_seen),
        cmocka_unit_test(nothing_is_acknowledged_without_a_standby),
    };
    return cmocka_run_group_tests(tests, pg_shared_start, pg_shared_stop);
}
