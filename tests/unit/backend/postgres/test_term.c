/* Tests of who leads: two nodes on one PostgreSQL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "unit/backend/postgres/term_help.h"

static void expect_waits(struct term *t)
{
    struct error e;
    assert_int_equal(term_try(t, &e), ERR_WAIT);
    assert_false(term_has_lease(t));
}

static void the_first_one_leads(void **state)
{
    struct term *a = term_node(term_fresh_id(), "a");
    (void)state;
    assert_int_equal(term_state(a), TERM_FOLLOWING);
    term_expect_leads(a);
    assert_int_equal(term_epoch(a), 1);
    assert_int_equal(term_versions(a), 1);
    term_free(a);
}

static void a_lease_ends_by_itself(void **state)
{
    struct term *a = term_node(term_fresh_id(), "a");
    struct error e;
    (void)state;
    term_expect_leads(a);
    clock_sleep_us(LEASE_MS * 1000);
    assert_false(term_has_lease(a));
    assert_int_equal(term_state(a), TERM_LEADING);
    assert_int_equal(term_renew(a, &e), OK);
    assert_true(term_has_lease(a));
    assert_int_equal(term_epoch(a), 1);
    term_free(a);
}

/* However long it is asked: as long as the beat changes no other node leads. */
static void who_renews_stays(void **state)
{
    int64_t id = term_fresh_id();
    struct term *a = term_node(id, "a");
    struct term *b = term_node(id, "b");
    struct error e;
    (void)state;
    term_expect_leads(a);
    for (int i = 0; i < 12; i++) {
        clock_sleep_us(LEASE_MS * 250);
        assert_int_equal(term_renew(a, &e), OK);
        expect_waits(b);
    }
    term_free(a);
    term_free(b);
}

/* The old leader says nothing any more before the new one begins. */
static void who_is_silent_is_followed(void **state)
{
    int64_t id = term_fresh_id();
    struct term *a = term_node(id, "a");
    struct term *b = term_node(id, "b");
    struct error e;
    (void)state;
    term_expect_leads(a);
    int64_t begin_us = clock_mono_us();
    while (term_try(b, &e) == ERR_WAIT) {
        if (clock_mono_us() - begin_us > 20000000) fail_msg("b never leads");
        clock_sleep_us(LEASE_MS * 50);
        assert_false(term_has_lease(b));
    }
    assert_false(term_has_lease(a));
    assert_true(term_has_lease(b));
    assert_true(clock_mono_us() - begin_us >= LEASE_MS * 1000);
    assert_int_equal(term_epoch(b), 2);
    assert_int_equal(term_renew(a, &e), ERR_TRYAGAIN);
    assert_int_equal(term_state(a), TERM_LOST);
    assert_false(term_has_lease(a));
    term_free(a);
    term_free(b);
}

static void *try_once(void *arg)
{
    struct error e;
    return term_try(arg, &e) == OK ? arg : NULL;
}

static void sql(struct pg *c, const char *text)
{
    struct error e;
    if (pg_script(c, text, &e) != OK) fail_msg("%s", e.text);
}

/* The answer that took longer than a lease has a beat that is new. */
static void a_slow_look_is_no_wait(void **state)
{
    int64_t id = term_fresh_id();
    struct term *a = term_node(id, "a");
    struct term *b = term_node(id, "b");
    struct pg *c = term_connect(a, "lock", TERM_WRITE);
    struct error e;
    pthread_t thread;
    void *leader;
    char text[200];
    (void)state;
    term_expect_leads(a);
    expect_waits(b);
    sql(c, "BEGIN; LOCK TABLE tupled_leader");
    snprintf(text, sizeof text, "UPDATE tupled_leader SET beat = beat + 1 WHERE id = %lld",
             (long long)id);
    sql(c, text);
    assert_int_equal(pthread_create(&thread, NULL, try_once, b), 0);
    int64_t begin_us = clock_mono_us();
    do {
        pg_begin(c);
        assert_int_equal(pg_run(c, "SELECT count(*) FROM pg_locks WHERE NOT granted", &e), OK);
        assert_true(clock_mono_us() - begin_us < 10000000);
    } while (pg_i64(c, 0, 0) == 0);
    clock_sleep_us(LEASE_MS * 1250);
    sql(c, "COMMIT");
    pthread_join(thread, &leader);
    assert_null(leader);
    pg_free(c);
    term_free(a);
    term_free(b);
}

static void a_clean_stop_hands_over_at_once(void **state)
{
    int64_t id = term_fresh_id();
    struct term *a = term_node(id, "a");
    struct term *b = term_node(id, "b");
    (void)state;
    term_expect_leads(a);
    expect_waits(b);
    term_hand_over(a);
    assert_false(term_has_lease(a));
    term_expect_leads(b);
    term_free(a);
    term_free(b);
}

/* ---- several at once ---- */

static void one_of_many_leads(void **state)
{
    int64_t id = term_fresh_id();
    struct term *nodes[8];
    pthread_t threads[8];
    unsigned leaders = 0;
    (void)state;
    for (size_t i = 0; i < 8; i++) nodes[i] = term_node(id, "n");
    for (size_t i = 0; i < 8; i++) pthread_create(&threads[i], NULL, try_once, nodes[i]);
    for (size_t i = 0; i < 8; i++) {
        void *leads;
        pthread_join(threads[i], &leads);
        leaders += leads != NULL;
    }
    assert_int_equal(leaders, 1);
    for (size_t i = 0; i < 8; i++) term_free(nodes[i]);
}

/* ---- PostgreSQL goes away ---- */

static void without_postgresql_there_is_no_lease(void **state)
{
    struct term *a = term_node(term_fresh_id(), "a");
    struct error e;
    (void)state;
    term_expect_leads(a);
    pg_server_kill(&pg_shared);
    assert_int_equal(term_renew(a, &e), ERR_IO);
    assert_int_equal(term_state(a), TERM_LEADING);
    clock_sleep_us(LEASE_MS * 1000);
    assert_false(term_has_lease(a));
    pg_server_start(&pg_shared);
    assert_int_equal(term_renew(a, &e), OK);
    assert_true(term_has_lease(a));
    term_free(a);
}

static void *give_up_soon(void *arg)
{
    clock_sleep_us(100000);
    term_give_up(arg);
    return NULL;
}

/* A call that waits for a server that does nothing ends when it is not wanted any more. */
static void giving_up_waits_for_nothing(void **state)
{
    struct term *a = term_node(term_fresh_id(), "a");
    struct error e;
    pthread_t thread;
    (void)state;
    term_expect_leads(a);
    pg_server_pause(&pg_shared);
    int64_t begin_us = clock_mono_us();
    pthread_create(&thread, NULL, give_up_soon, a);
    assert_int_equal(term_renew(a, &e), ERR_IO);
    assert_true(clock_mono_us() - begin_us < 30000000); /* a call may take 60 s */
    pthread_join(thread, NULL);
    pg_server_resume(&pg_shared);
    assert_int_equal(term_renew(a, &e), ERR_IO);
    term_free(a);
}

static void nonsense_is_said(void **state)
{
    struct error e;
    struct term *t = NULL;
    struct term_options o = {.url = "host=/nowhere-at-all dbname=x",
                             .id = term_fresh_id(),
                             .name = "a",
                             .address = "",
                             .lease_ms = LEASE_MS,
                             .call_ms = 1000};
    (void)state;
    assert_int_equal(term_open(&o, &t, &e), ERR_IO);
    assert_null(t);
    assert_non_null(strstr(e.text, "/nowhere-at-all"));
    o.url = "postgresql://[";
    assert_int_equal(term_open(&o, &t, &e), ERR_IO);
}

static void how_many_standbys_have_a_commit(void **state)
{
    static const struct {
        const char *text;
        unsigned count;
    } cases[] = {{"", 0},
                 {"  ", 0},
                 {"a", 1},
                 {"a, b", 1},
                 {"*", 1},
                 {"ANY 1 (a, b)", 1},
                 {"ANY 2 (a, b, c)", 2},
                 {"any 2(a,b,c)", 2},
                 {"FIRST 3 (a, b, c, d)", 3},
                 {"2 (a, b)", 2},
                 {" 12 ( a )", 12},
                 {"2a, b", 1},
                 {"any, first", 1},
                 {"\"ANY 2\"", 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned count = term_quorum_of(slice_str(cases[i].text));
        if (count != cases[i].count) fail_msg("\"%s\" is %u", cases[i].text, count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(how_many_standbys_have_a_commit),
        cmocka_unit_test(the_first_one_leads),
        cmocka_unit_test(a_lease_ends_by_itself),
        cmocka_unit_test(who_renews_stays),
        cmocka_unit_test(who_is_silent_is_followed),
        cmocka_unit_test(a_slow_look_is_no_wait),
        cmocka_unit_test(a_clean_stop_hands_over_at_once),
        cmocka_unit_test(one_of_many_leads),
        cmocka_unit_test(without_postgresql_there_is_no_lease),
        cmocka_unit_test(giving_up_waits_for_nothing),
        cmocka_unit_test(nonsense_is_said),
    };
    return cmocka_run_group_tests(tests, pg_shared_start, pg_shared_stop);
}
