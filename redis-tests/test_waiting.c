/* Commands that wait for a list or a sorted set (BLPOP and its like): what becomes of a wait whose
 * client loses its rights, its database or its patience at the moment when something comes. What is
 * taken is given to a client, and what no client gets stays where it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

static redisContext *c, *d, *other;

static int start(void **state)
{
    (void)state;
    group_opens(&c, &d, &other, NULL);
    server = testserver_start_with("--enable-debug-command", "yes", NULL);
    return 0;
}

static void as_user(redisContext *client)
{
    expect(c, "+OK", "ACL SETUSER worker reset on >x ~l* +@all");
    expect(client, "+OK", "AUTH worker x");
}

static void rights_that_went_before_take_nothing(void **state)
{
    (void)state;
    as_user(d);
    load_block(d, c, "BLPOP l 0");
    say(c, "ACL SETUSER worker resetkeys");
    say(c, "RPUSH l x");
    expect_next(c, "+OK");
    expect_next(c, ":1");
    expect_next(d, "-NOPERM *");
    expect(c, "[x]", "LRANGE l 0 -1");
}

static void rights_that_go_afterwards_do_not_lose_what_was_taken(void **state)
{
    (void)state;
    as_user(d);
    load_block(d, c, "BLPOP l 0");
    say(c, "RPUSH l x");
    say(c, "ACL SETUSER worker resetkeys");
    expect_next(c, ":1");
    expect_next(c, "+OK");
    expect_next(d, "[l x]");
    expect(c, ":0", "EXISTS l");
}

static void an_end_that_came_before_takes_nothing(void **state)
{
    char command[64];
    (void)state;
    for (int is_error = 0; is_error < 2; is_error++) {
        long long id = ask_integer(d, "CLIENT ID");
        load_block(d, c, "BLPOP l 0");
        snprintf(command, sizeof command, "CLIENT UNBLOCK %lld%s", id, is_error ? " ERROR" : "");
        say(c, command);
        say(c, "RPUSH l x");
        expect_next(c, ":1");
        expect_next(c, ":1");
        expect_next(d, is_error ? "-UNBLOCKED *" : "(nil)");
        expect(c, "x", "LPOP l");
    }
}

static void a_database_that_goes_afterwards_does_not_lose_what_was_taken(void **state)
{
    (void)state;
    expect(c, ":*", "KV.DB CREATE shop");
    expect(d, "+OK", "SELECT shop");
    expect(c, "+OK", "SELECT shop");
    load_block(d, c, "BLPOP l 0");
    expect(c, "+OK", "SELECT shop");
    say(c, "RPUSH l x");
    say(c, "KV.DB DROP shop");
    expect_next(c, ":1");
    expect_next(c, "*");
    expect_next(d, "[l x]");
}

/* Who came first is first, whatever key it names first. */
static void who_came_first_is_served_first(void **state)
{
    (void)state;
    load_block(d, c, "BLPOP a l 0");
    load_block(other, c, "BRPOP l 0");
    expect(c, ":3", "RPUSH l 1 2 3");
    expect_next(d, "[l 1]");
    expect_next(other, "[l 3]");
    expect(c, "[2]", "LRANGE l 0 -1");
}

/* The waiting client is served before the next command of the client that put it there. */
static void it_is_served_before_the_next_command(void **state)
{
    (void)state;
    load_block(d, c, "BLPOP l 0");
    say(c, "RPUSH l x");
    say(c, "LLEN l");
    expect_next(c, ":1");
    expect_next(c, ":0");
    expect_next(d, "[l x]");
}

/* More clients than are served at once, and a pipeline that would take what is theirs. */
static void many_are_served_before_the_next_command(void **state)
{
    enum { CLIENTS = 1200 };
    (void)state;
    redisContext **waiting = calloc(CLIENTS, sizeof *waiting);
    assert_non_null(waiting);
    for (int i = 0; i < CLIENTS; i++) {
        waiting[i] = testserver_connect(server);
        load_send(waiting[i], "BLPOP l 0");
    }
    load_wait_info(c, "blocked_clients", CLIENTS);
    char *push = malloc(CLIENTS * 2 + 16);
    int len = sprintf(push, "RPUSH l");
    for (int i = 0; i < CLIENTS; i++) len += sprintf(push + len, " x");
    say(c, push);
    say(c, "LPOP l");
    expect_next(c, ":1200");
    expect_next(c, "(nil)");
    for (int i = 0; i < CLIENTS; i++) {
        expect_next(waiting[i], "[l x]");
        redisFree(waiting[i]);
    }
    free(waiting);
    free(push);
}

static void what_waits_in_a_transaction_or_a_script_does_not_wait(void **state)
{
    (void)state;
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "BLPOP l 0");
    expect(c, "[(nil)]", "EXEC");
    expect(c, "(nil)", "EVAL %s 0", "return redis.call('BLPOP', 'l', 0)");
}

/* A library that waits again until its own time is over would ask once more for nothing. */
static void no_wait_is_shorter_than_it_says(void **state)
{
    static const char *const commands[] = {"BLPOP none 0.01", "XREAD BLOCK 10 STREAMS none $",
                                           "KV.DEQUEUE none BLOCK 10"};
    (void)state;
    for (size_t i = 0; i < 60; i++) {
        struct timespec from;
        struct timespec to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        expect(c, "(nil)", commands[i % 3]);
        clock_gettime(CLOCK_MONOTONIC, &to);
        long us = (to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000;
        assert_true(us >= 10000);
    }
}

static void expect_lines(int clients, int keys, int keys_that_end)
{
    char wanted[100];
    snprintf(wanted, sizeof wanted, "*total_blocking_keys:%d*total_blocking_keys_on_nokey:%d*",
             keys, keys_that_end);
    expect(c, wanted, "INFO clients");
    snprintf(wanted, sizeof wanted, "*clients_in_lines:%d*", clients);
    expect(c, wanted, "INFO");
}

static void keys_that_are_waited_for_are_counted(void **state)
{
    (void)state;
    expect_lines(0, 0, 0);
    load_block(d, c, "BLPOP a b b 0");
    expect_lines(1, 2, 0);
    expect(c, "+OK", "XGROUP CREATE b g $ MKSTREAM");
    load_block(other, c, "XREADGROUP GROUP g ann BLOCK 0 STREAMS b b >  >");
    expect_lines(2, 2, 1);
    expect(c, ":1", "RPUSH a x");
    expect_next(d, "[a x]");
    expect_lines(1, 1, 1);
    expect(c, ":1", "DEL b");
    expect_next(other, "-NOGROUP *");
    expect_lines(0, 0, 0);
}

/* One that ends with an error is counted as one that failed at once. */
static void an_error_that_ends_a_wait_is_counted(void **state)
{
    (void)state;
    expect(c, "+OK", "XGROUP CREATE s g $ MKSTREAM");
    expect(c, "+OK", "CONFIG RESETSTAT");
    load_block(d, c, "XREADGROUP GROUP g ann BLOCK 0 STREAMS s >");
    expect(c, ":1", "XGROUP DESTROY s g");
    expect_next(d, "-NOGROUP *");
    expect(c, "*errorstat_NOGROUP:count=1*", "INFO errorstats");
    expect(c, "*cmdstat_xreadgroup:calls=1,*rejected_calls=0,failed_calls=1*", "INFO commandstats");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(rights_that_went_before_take_nothing),
        TEST(rights_that_go_afterwards_do_not_lose_what_was_taken),
        TEST(an_end_that_came_before_takes_nothing),
        TEST(a_database_that_goes_afterwards_does_not_lose_what_was_taken),
        TEST(who_came_first_is_served_first),
        TEST(it_is_served_before_the_next_command),
        TEST(many_are_served_before_the_next_command),
        TEST(what_waits_in_a_transaction_or_a_script_does_not_wait),
        TEST(no_wait_is_shorter_than_it_says),
        TEST(an_error_that_ends_a_wait_is_counted),
        TEST(keys_that_are_waited_for_are_counted),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
