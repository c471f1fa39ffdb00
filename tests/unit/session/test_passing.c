/* Tests of session/passing: which commands of a client go to the node that leads, and when a client
 * waits for the users to be known. The node has no network. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "session/session_int.h"
#include "unit/node/node_help.h"

#define START_MS 1700000000000

static struct sessions shared;
static struct session x;
static struct nodes_bench *t;

static void on_ready(struct runner *r)
{
    (void)r;
}

static int enter(void **state)
{
    (void)nodes_enter(state);
    t = *state;
    t->env.node.stands_by = true;
    t->node.leader_wait_ms = 500;
    shared = (struct sessions){.env = &t->env};
    x = (struct session){.shared = &shared, .client = {.user = users_default(t->env.users.all)}};
    runner_init(&x.runner, &t->env, &x.client, on_ready);
    return 0;
}

static int leave(void **state)
{
    runner_drop(&x.runner);
    return nodes_leave(state);
}

/* Does a command of these words go to the leader? */
static bool goes(const char *words)
{
    struct slice argv[8];
    char text[128];
    (void)snprintf(text, sizeof text, "%s", words);
    x.argc = nodes_split(text, argv, 8);
    x.argv = argv;
    bool is_wanted = passing_is_wanted(&x);
    x.argv = NULL;
    return is_wanted;
}

static void what_is_about_data_goes_to_the_leader(void **state)
{
    nodes_follow(t, 1);
    assert_true(goes("GET a"));
    assert_true(goes("KV.SET a 1"));
    assert_true(goes("multi"));
    assert_false(goes("PING"));
    assert_false(goes("NOSUCH a")); /* it is answered with an error here */
}

static void no_leader_changes_nothing_for_data(void **state)
{
    assert_true(goes("GET a"));
    assert_true(goes("MULTI"));
    x.pass.begun_us = clock_mono_us();
    clock_set_fake_ms(START_MS + 1000000);
    assert_true(goes("GET a"));
    assert_int_not_equal(x.pass.begun_us, 0); /* it goes on waiting */
}

static void a_node_that_leads_keeps_all(void **state)
{
    t->env.node.stands_by = false;
    assert_false(goes("GET a"));
    assert_false(goes("MULTI"));
}

static void who_has_not_logged_in_stays_here(void **state)
{
    nodes_follow(t, 1);
    x.client.user = NULL;
    assert_false(goes("GET a"));
    assert_false(goes("AUTH x"));
}

static void after_readonly_reads_stay_here(void **state)
{
    nodes_follow(t, 1);
    x.client.settings.is_readonly = true;
    assert_false(goes("GET a"));
    assert_true(goes("SET a 1"));
}

/* Those that tell of a node tell of the leader, as long as there is one. */
static void what_is_about_a_node_is_answered_by_one_that_is_alone(void **state)
{
    assert_false(goes("INFO"));
    nodes_follow(t, 1);
    assert_int_equal(goes("INFO"), true);
    x.pass.begun_us = clock_mono_us();
    clock_set_fake_ms(START_MS + 999);
    assert_true(goes("INFO"));
    clock_set_fake_ms(START_MS + 1000);
    assert_false(goes("INFO"));
    assert_int_equal(x.pass.begun_us, 0); /* it waits no more */
}

static void a_client_waits_for_the_users(void **state)
{
    assert_true(passing_knows_users(&x));
    assert_false(runner_is_parked(&x.runner));
    t->env.users.are_awaited = true;
    assert_false(passing_knows_users(&x));
    assert_true(runner_is_parked(&x.runner));
    node_tick(&t->node); /* it looks again */
    assert_false(runner_is_parked(&x.runner));
    assert_false(passing_knows_users(&x));
    clock_set_fake_ms(START_MS + 500);
    node_tick(&t->node);
    assert_true(passing_knows_users(&x)); /* too long: its command is run, and told */
    assert_false(runner_is_parked(&x.runner));
    t->env.users.are_awaited = false;
    assert_true(passing_knows_users(&x));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, enter, leave)
        T(what_is_about_data_goes_to_the_leader),
        T(no_leader_changes_nothing_for_data),
        T(a_node_that_leads_keeps_all),
        T(who_has_not_logged_in_stays_here),
        T(after_readonly_reads_stay_here),
        T(what_is_about_a_node_is_answered_by_one_that_is_alone),
        T(a_client_waits_for_the_users),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
