/* Tests of node/node: which address is the leader's, and how long a connection that is to be passed
 * on waits for one, with the fake clock. No node is connected to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "unit/node/node_help.h"

#define START_MS 1700000000000

static int woken;

static void on_ready(struct waiter *w)
{
    (void)w;
    woken++;
}

static void addresses_are_split_at_the_last_colon(void **state)
{
    static const struct {
        const char *address, *host, *port;
    } all[] = {{"10.0.0.1:6379", "10.0.0.1", "6379"},
               {"[::1]:6379", "::1", "6379"},
               {"host", "host", "0"},
               {"host:", "host", ""},
               {":1", "", "1"},
               {"", "", "0"},
               {"[]:5", "", "5"},
               {"[:5", "[", "5"}};
    char host[NODE_TEXT_BYTES];
    const char *port = NULL;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        node_split(all[i].address, host, &port);
        assert_string_equal(host, all[i].host);
        assert_string_equal(port, all[i].port);
    }
    char text[NODE_TEXT_BYTES + 10];
    memset(text, 'h', sizeof text);
    memcpy(text + sizeof text - 3, ":7", 3);
    node_split(text, host, &port); /* longer than any that is known */
    assert_int_equal(strlen(host), NODE_TEXT_BYTES - 1);
    assert_string_equal(port, "7");
}

static void the_leaders_address_is_that_of_who_may_answer(void **state)
{
    struct nodes_bench *t = *state;
    struct node_leader silent = {
        .is_known = true, .is_silent = true, .epoch = 3, .address = "10.0.0.2:6380"};
    assert_string_equal(node_leader_address(&t->node), "");
    nodes_follow(t, 3);
    assert_string_equal(node_leader_address(&t->node), "10.0.0.2:6380");
    node_set_leader(&t->node, &silent); /* the same one, which has not renewed its lease */
    assert_string_equal(node_leader_address(&t->node), "");
    nodes_follow(t, 3);
    assert_string_equal(node_leader_address(&t->node), "10.0.0.2:6380");
    node_lead(&t->node);
    assert_string_equal(node_leader_address(&t->node), "[::1]:6379");
    t->env.node.serving.is_mute = true;
    assert_string_equal(node_leader_address(&t->node), "");
}

static void who_waits_is_told_of_another_leader(void **state)
{
    struct nodes_bench *t = *state;
    static struct waiter w;
    const struct node_leader none = {.is_known = false};
    woken = 0;
    w = (struct waiter){.ready = on_ready};
    nodes_follow(t, 3);
    waiter_add(&t->node.waiters, &w);
    nodes_follow(t, 3); /* the same */
    assert_int_equal(woken, 0);
    nodes_follow(t, 4);
    assert_int_equal(woken, 1);
    waiter_add(&t->node.waiters, &w);
    node_set_leader(&t->node, &none); /* nothing to go on with */
    assert_int_equal(woken, 1);
    node_tick(&t->node);
    assert_int_equal(woken, 2);
    waiter_add(&t->node.waiters, &w);
    node_lead(&t->node);
    assert_int_equal(woken, 3);
    waiter_add(&t->node.waiters, &w);
    node_fini(&t->node);
    assert_int_equal(woken, 3); /* dropped, and not told */
    assert_null(w.next);
}

static enum err pass(struct nodes_bench *t, struct node_pass *p, struct error *e)
{
    static const struct client client = {.id = 1};
    static const struct link link = {.fd = -1};
    static struct waiter w;
    waiter_cancel(&w);
    w = (struct waiter){.ready = on_ready};
    enum err r = node_pass(&t->node, p, &client, &link, &w, e);
    assert_int_equal(w.next != NULL, r == ERR_WAIT); /* it is in a list just then */
    waiter_cancel(&w);
    return r;
}

static void a_connection_waits_so_long_for_a_leader(void **state)
{
    struct nodes_bench *t = *state;
    struct node_pass p = {0};
    struct error e;
    t->node.leader_wait_ms = 500;
    assert_int_equal(pass(t, &p, &e), ERR_WAIT);
    clock_set_fake_ms(START_MS + 499);
    assert_int_equal(pass(t, &p, &e), ERR_WAIT);
    clock_set_fake_ms(START_MS + 500);
    assert_int_equal(pass(t, &p, &e), ERR_TRYAGAIN);
    assert_string_equal(e.text, "no leader");
    /* The next command waits anew. */
    assert_int_equal(p.begun_us, 0);
    assert_int_equal(pass(t, &p, &e), ERR_WAIT);
    clock_set_fake_ms(START_MS + 999);
    assert_int_equal(pass(t, &p, &e), ERR_WAIT);
    clock_set_fake_ms(START_MS + 1000);
    (void)snprintf(t->node.known.cause, sizeof t->node.known.cause, "PostgreSQL is away");
    assert_int_equal(pass(t, &p, &e), ERR_TRYAGAIN);
    assert_string_equal(e.text, "no leader: PostgreSQL is away");
}

static void what_is_told_of_a_leader_that_is_not_reached(void **state)
{
    struct nodes_bench *t = *state;
    struct node_pass p = {0};
    struct error e;
    nodes_follow(t, 3);
    (void)snprintf(t->node.why, sizeof t->node.why, "n2 at 10.0.0.2:6380: refused");
    t->node.leader_wait_ms = 0;
    assert_int_equal(pass(t, &p, &e), ERR_TRYAGAIN);
    assert_string_equal(e.text, "no leader: n2 at 10.0.0.2:6380: refused");
    (void)snprintf(t->node.known.cause, sizeof t->node.known.cause, "the lease is over");
    assert_int_equal(pass(t, &p, &e), ERR_TRYAGAIN);
    assert_string_equal(e.text, "no leader: the lease is over; n2 at 10.0.0.2:6380: refused");
}

static void after_a_second_without_a_link_a_node_is_alone(void **state)
{
    struct nodes_bench *t = *state;
    struct node_pass p = {0};
    assert_true(node_is_alone(&t->node, &p)); /* no leader is known */
    nodes_follow(t, 3);
    assert_false(node_is_alone(&t->node, &p)); /* nothing was begun */
    p.begun_us = clock_mono_us();
    assert_false(node_is_alone(&t->node, &p));
    clock_set_fake_ms(START_MS + 999);
    assert_false(node_is_alone(&t->node, &p));
    clock_set_fake_ms(START_MS + 1000);
    assert_true(node_is_alone(&t->node, &p));
}

static void a_client_waits_until_users_are_known(void **state)
{
    struct nodes_bench *t = *state;
    struct node_pass p = {0};
    struct waiter w = {.ready = on_ready};
    struct error e;
    t->node.leader_wait_ms = 100;
    assert_int_equal(node_await_users(&t->node, &p, &w, &e), OK);
    assert_null(w.next);
    t->env.users.are_awaited = true;
    assert_int_equal(node_await_users(&t->node, &p, &w, &e), ERR_WAIT);
    waiter_cancel(&w);
    clock_set_fake_ms(START_MS + 99);
    assert_int_equal(node_await_users(&t->node, &p, &w, &e), ERR_WAIT);
    waiter_cancel(&w);
    clock_set_fake_ms(START_MS + 100);
    assert_int_equal(node_await_users(&t->node, &p, &w, &e), ERR_TRYAGAIN);
    assert_string_equal(e.text, "the users are not loaded yet: PostgreSQL has not returned them");
    assert_null(w.next);
    assert_int_equal(p.begun_us, 0);
    t->env.users.are_awaited = false;
    assert_int_equal(node_await_users(&t->node, &p, &w, &e), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, nodes_enter, nodes_leave)
        cmocka_unit_test(addresses_are_split_at_the_last_colon),
        T(the_leaders_address_is_that_of_who_may_answer),
        T(who_waits_is_told_of_another_leader),
        T(a_connection_waits_so_long_for_a_leader),
        T(what_is_told_of_a_leader_that_is_not_reached),
        T(after_a_second_without_a_link_a_node_is_alone),
        T(a_client_waits_until_users_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
