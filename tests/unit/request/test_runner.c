/* Tests of the runner: what is parked, counted, woken and dropped, with commands that only say what
 * they came to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "request/runner.h"

static struct env env;
static struct client client;
static struct runner runner;
static struct waiter_list list;
static struct arena arena;
static struct buf scratch;
static struct request rq;
static int woken;
static bool was_parked_when_woken;

static void on_ready(struct runner *r)
{
    woken++;
    was_parked_when_woken = runner_is_parked(r);
}

static int enter(void **state)
{
    env = (struct env){0};
    client = (struct client){0};
    rq = (struct request){.arena = &arena, .scratch = &scratch};
    arena_init(&arena, 256);
    buf_init(&scratch);
    waiter_list_init(&list);
    runner_init(&runner, &env, &client, on_ready);
    woken = 0;
    return 0;
}

static int leave(void **state)
{
    arena_fini(&arena);
    buf_fini(&scratch);
    return 0;
}

static void is(enum runner_state wanted)
{
    assert_int_equal(runner.state, wanted);
    assert_int_equal(client.run.is_waiting, wanted == RUNNER_PARKED);
    assert_int_equal(env.clients.waiting, wanted == RUNNER_PARKED);
}

static void a_command_with_a_reply_leaves_it_free(void **state)
{
    runner_begin(&runner, &rq);
    is(RUNNER_RUNNING);
    assert_ptr_equal(rq.env, &env);
    assert_ptr_equal(rq.client, &client);
    assert_ptr_equal(rq.waiter, &runner.waiter);
    assert_int_equal(runner_over(&runner, &rq, ERR_SYNTAX), OK); /* an error is a reply */
    is(RUNNER_FREE);
    assert_int_equal(woken, 0);
}

static void large_scratch_memory_goes_back_and_small_stays(void **state)
{
    for (int waits = 0; waits < 2; waits++) {
        runner_begin(&runner, &rq);
        assert_non_null(buf_reserve(&scratch, 4 << 20));
        if (waits) waiter_add(&list, rq.waiter);
        assert_int_equal(runner_over(&runner, &rq, waits ? ERR_WAIT : OK), waits ? ERR_WAIT : OK);
        assert_int_equal(scratch.cap, 0);
    }
    waiter_wake_all(&list);
    runner_begin(&runner, &rq);
    buf_append_str(&scratch, "a");
    size_t cap = scratch.cap;
    assert_int_equal(runner_over(&runner, &rq, OK), OK);
    assert_int_equal(scratch.cap, cap);
    assert_int_equal(scratch.len, 0);
}

static void a_command_that_waits_is_parked_until_it_is_woken(void **state)
{
    runner_begin(&runner, &rq);
    waiter_add(&list, rq.waiter);
    assert_int_equal(runner_over(&runner, &rq, ERR_WAIT), ERR_WAIT);
    is(RUNNER_PARKED);
    assert_int_equal(woken, 0);
    waiter_wake_all(&list);
    is(RUNNER_FREE);
    assert_int_equal(woken, 1);
    assert_false(was_parked_when_woken);
    runner_begin(&runner, &rq);
    assert_int_equal(runner_over(&runner, &rq, OK), OK);
    is(RUNNER_FREE);
}

static void one_that_was_woken_while_it_ran_is_not_lost(void **state)
{
    runner_begin(&runner, &rq);
    assert_int_equal(runner_over(&runner, &rq, ERR_WAIT), ERR_WAIT);
    is(RUNNER_FREE);
    assert_int_equal(woken, 1);
}

static void its_owner_may_wait_for_something_else(void **state)
{
    waiter_add(&list, &runner.waiter);
    runner_park(&runner);
    is(RUNNER_PARKED);
    waiter_wake_all(&list);
    is(RUNNER_FREE);
    assert_int_equal(woken, 1);
}

static void what_is_dropped_is_woken_no_more(void **state)
{
    runner_begin(&runner, &rq);
    waiter_add(&list, rq.waiter);
    assert_int_equal(runner_over(&runner, &rq, ERR_WAIT), ERR_WAIT);
    runner_drop(&runner);
    is(RUNNER_FREE);
    waiter_wake_all(&list);
    assert_int_equal(woken, 0);
    runner_drop(&runner); /* nothing is parked */
    is(RUNNER_FREE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, enter, leave)
        T(a_command_with_a_reply_leaves_it_free),
        T(large_scratch_memory_goes_back_and_small_stays),
        T(a_command_that_waits_is_parked_until_it_is_woken),
        T(one_that_was_woken_while_it_ran_is_not_lost),
        T(its_owner_may_wait_for_something_else),
        T(what_is_dropped_is_woken_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
