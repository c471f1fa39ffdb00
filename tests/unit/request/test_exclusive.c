/* exclusive: who is held while one client has a database for itself, who comes next, and when its
 * time is over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "request/exclusive.h"

#define CLIENTS 4
#define LONG_MS 1000000

struct waiting {
    struct client client; /* first */
    struct waiter waiter;
    struct request rq;
    unsigned woken;
};

static struct env env;
static struct waiting c[CLIENTS];
static unsigned turn; /* counts those woken */

static const struct command writes = {.name = "writes", .flags = CMD_WRITE};
static const struct command reads = {.name = "reads", .flags = CMD_READ};
static const struct command publishes = {.name = "publishes", .flags = CMD_PUBSUB | CMD_PUBLISHES};

static void on_ready(struct waiter *w)
{
    struct waiting *x = (struct waiting *)(void *)((char *)w - offsetof(struct waiting, waiter));
    x->woken = ++turn;
}

static int enter(void **state)
{
    env = (struct env){0};
    exclusive_open(&env);
    turn = 0;
    for (int i = 0; i < CLIENTS; i++) {
        c[i] = (struct waiting){.waiter.ready = on_ready};
        c[i].rq = (struct request){
            .env = &env, .client = &c[i].client, .waiter = &c[i].waiter, .command = &writes};
    }
    return 0;
}

static void writes_of_others_are_held_to_its_end(void **state)
{
    assert_false(exclusive_holds_new(&c[1].rq));
    assert_true(exclusive_begin(&c[0].rq, LONG_MS));
    assert_false(exclusive_holds_new(&c[0].rq));
    assert_true(exclusive_holds_new(&c[2].rq));
    assert_true(exclusive_holds_new(&c[1].rq));
    exclusive_end(&env, &c[1].client); /* it has none */
    assert_int_equal(turn, 0);
    exclusive_end(&env, &c[0].client);
    assert_int_equal(c[2].woken, 1); /* in the order in which they came */
    assert_int_equal(c[1].woken, 2);
    assert_false(exclusive_holds_new(&c[1].rq));
}

static void what_cannot_be_in_the_way_is_not_held(void **state)
{
    struct pending begun = {0};
    assert_true(exclusive_begin(&c[0].rq, LONG_MS));
    c[1].rq.command = &reads;
    assert_false(exclusive_holds_new(&c[1].rq));
    c[1].rq.command = &publishes;
    assert_false(exclusive_holds_new(&c[1].rq));
    c[2].client.database = 1;
    assert_false(exclusive_holds_new(&c[2].rq));
    c[3].client.run.pending = &begun;
    assert_false(exclusive_holds_new(&c[3].rq));
    assert_true(exclusive_holds(&c[3].rq)); /* but its commit, when it asks */
    c[3].client.run.pending = NULL;
    waiter_cancel(&c[3].waiter);
    c[3].client.block.waiter = &c[3].waiter;
    assert_false(exclusive_holds_new(&c[3].rq));
    exclusive_end(&env, &c[0].client);
    assert_int_equal(turn, 0);
}

static void the_next_has_it_after_what_was_held(void **state)
{
    assert_true(exclusive_begin(&c[0].rq, LONG_MS));
    assert_false(exclusive_begin(&c[1].rq, LONG_MS));
    assert_false(exclusive_begin(&c[2].rq, LONG_MS));
    assert_true(exclusive_holds_new(&c[3].rq));
    exclusive_end(&env, &c[0].client);
    assert_int_equal(c[3].woken, 1);
    assert_int_equal(c[1].woken, 2);
    assert_int_equal(c[2].woken, 3);
    assert_true(exclusive_begin(&c[1].rq, LONG_MS));
    assert_false(exclusive_begin(&c[2].rq, LONG_MS));
    waiter_cancel(&c[2].waiter); /* its client is gone */
    exclusive_end(&env, &c[1].client);
    assert_int_equal(turn, 3);
}

static void its_time_is_over(void **state)
{
    assert_true(exclusive_due_ms(&env) == INT64_MAX);
    assert_true(exclusive_begin(&c[0].rq, LONG_MS));
    assert_true(exclusive_holds_new(&c[1].rq));
    int64_t due_ms = exclusive_due_ms(&env);
    assert_true(due_ms > 0 && due_ms <= LONG_MS);
    exclusive_tick(&env);
    assert_int_equal(turn, 0);
    exclusive_end(&env, &c[0].client);
    assert_true(exclusive_begin(&c[0].rq, 0));
    assert_true(exclusive_holds_new(&c[1].rq));
    assert_int_equal(exclusive_due_ms(&env), 0);
    exclusive_tick(&env);
    assert_int_equal(c[1].woken, 2);
    assert_false(exclusive_holds_new(&c[1].rq));
    exclusive_end(&env, &c[0].client); /* harmless: it has none any more */
    exclusive_tick(&env);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, enter)
    const struct CMUnitTest tests[] = {
        TEST(writes_of_others_are_held_to_its_end),
        TEST(what_cannot_be_in_the_way_is_not_held),
        TEST(the_next_has_it_after_what_was_held),
        TEST(its_time_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
