/* A machine whose clock once stood wrong: what is to end still ends, now and after a restart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

#define LIMIT_MS 15000
#define YEAR_MS "31622400000"

static redisContext *c;

/* An entry, a delayed message and a lease: each ends after a moment. */
static void all_that_ends_does(void)
{
    expect(c, "@", "KV.SET ['short'] 1 PX 100");
    expect(c, "@", "KV.SET ['long'] 1 PX 3600000");
    ask(c, "KV.ENQUEUE later 1 DELAY 100");
    ask(c, "KV.ENQUEUE jobs 1 BACKOFF 1 50");
    expect(c, "[[jobs * 1 :1 *]]", "KV.DEQUEUE jobs LEASE 100");
    long until = testserver_now_ms() + LIMIT_MS;
    while (strcmp(ask(c, "KV.GET ['short']"), "(nil)") != 0) {
        if (testserver_now_ms() > until) fail_msg("the entry never ends");
        testserver_pause();
    }
    expect(c, "[[later * 1 :1 *]]", "KV.DEQUEUE later BLOCK 15000");
    expect(c, "[[jobs * 1 :2 *]]", "KV.DEQUEUE jobs BLOCK 15000");
    expect(c, "1", "KV.GET ['long']");
    ask(c, "KV.QUEUE PURGE later");
    ask(c, "KV.QUEUE PURGE jobs");
}

static void a_clock_that_jumped_a_year_and_back_stops_nothing(void **state)
{
    static const char *const args[] = {"--enable-debug-command", "yes", NULL};
    server = testserver_start(&(struct testserver_options){.args = args});
    c = testserver_connect(server);
    all_that_ends_does();
    assert_int_equal(load_info(c, "transaction_time_ahead_ms"), 0);
    expect(c, "+OK", "DEBUG CLOCK " YEAR_MS);
    all_that_ends_does();
    assert_int_equal(load_info(c, "transaction_time_ahead_ms"), 0);
    expect(c, "+OK", "DEBUG CLOCK -" YEAR_MS);
    all_that_ends_does();
    assert_true(load_info(c, "transaction_time_ahead_ms") > 31000000000LL);
    assert_true(testserver_has_logged(server, "the system clock is "));
    /* The journal knows the time: it goes on after a crash as after a clean stop. */
    for (int i = 0; i < 2; i++) {
        group_again(i == 0);
        assert_true(load_info(c, "transaction_time_ahead_ms") > 31000000000LL);
        expect(c, "1", "KV.GET ['long']");
        all_that_ends_does();
    }
    expect(c, "+OK", "DEBUG CLOCK " YEAR_MS);
    expect(c, "+OK", "DEBUG CLOCK 60000");
    assert_int_equal(load_info(c, "transaction_time_ahead_ms"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_clock_that_jumped_a_year_and_back_stops_nothing, group_stop),
    };
    group_opens(&c, NULL);
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
