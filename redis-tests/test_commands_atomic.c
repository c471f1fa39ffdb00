/* KV.ATOMIC: order, checks, all or nothing, DETAILS, limits, versionstamps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static redisContext *c;

static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start_with("--max-transaction-ops", "100", "--max-transaction-size", "64kb",
                                   "--max-value-size", "40kb", NULL);
    return 0;
}

static void operations_apply_in_order_and_see_each_other(void **state)
{
    expect(c, "@",
           "KV.ATOMIC SET ['a'] 1 SUM ['a'] 2 SUM ['a'] 3 SET ['b'] [] APPEND ['b'] [2] PREPEND "
           "['b'] [1] SET ['c'] 9 DEL ['c'] MAX ['c'] 4 MIN ['c'] 2");
    expect(c, "[[6 @] [[1,2] @] [2 @]]", "KV.MGET ['a'] ['b'] ['c']");
    expect(c, "@", "KV.ATOMIC DEL ['a'] SET ['a'] 2 DEL ['a']");
    expect(c, "(nil)", "KV.GET ['a']");
}

static void everything_written_shares_the_version(void **state)
{
    const char *stamp = ask(c, "KV.ATOMIC SET ['a'] 1 SUM ['b'] 2 APPEND ['c'] [3]");
    char wanted[200];
    snprintf(wanted, sizeof wanted, "[[1 %s] [2 %s] [[3] %s]]", stamp, stamp, stamp);
    assert_string_equal(ask(c, "KV.MGET ['a'] ['b'] ['c']"), wanted);
    assert_string_equal(ask(c, "KV.VERSION"), stamp);
}

static void a_check_that_holds_lets_it_happen(void **state)
{
    const char *stamp = ask(c, "KV.SET ['a'] 1");
    expect(c, "@", "kv.atomic check ['a'] %s check ['b'] none set ['b'] 2", stamp);
    expect(c, "2", "KV.GET ['b']");
    expect(c, "@", "KV.ATOMIC CHECK ['zz'] %s SET ['b'] 3", "");
    expect(c, "3", "KV.GET ['b']");
}

static void a_check_that_fails_prevents_everything(void **state)
{
    const char *first = ask(c, "KV.SET ['a'] 1");
    const char *second = ask(c, "KV.SET ['a'] 2");
    const char *version = ask(c, "KV.VERSION");
    expect(c, "(nil)", "KV.ATOMIC SET ['b'] 1 CHECK ['a'] %s SET ['c'] 1", first);
    expect(c, "(nil)", "KV.ATOMIC CHECK ['a'] NONE DEL ['a']");
    expect(c, "(nil)", "KV.ATOMIC CHECK ['b'] %s SET ['b'] 1", second);
    char foreign[32]; /* ours end with 0000 */
    snprintf(foreign, sizeof foreign, "%.16s0001", second);
    expect(c, "(nil)", "KV.ATOMIC CHECK ['a'] %s DEL ['a']", foreign);
    expect(c, "[0 [['a']]]", "KV.LIST KEYSONLY");
    assert_string_equal(ask(c, "KV.VERSION"), version);
}

static void checks_look_at_the_state_before_wherever_they_stand(void **state)
{
    expect(c, "@", "KV.ATOMIC SET ['a'] 1 CHECK ['a'] NONE");
    expect(c, "(nil)", "KV.ATOMIC DEL ['a'] CHECK ['a'] NONE");
    expect(c, "1", "KV.GET ['a']");
}

static void details_tell_what_each_operation_did(void **state)
{
    expect(c, "[@ [(nil) ['a'] (nil) 5 4 9 :2 :3]]",
           "KV.ATOMIC DETAILS CHECK ['x'] NONE SET ['a'] 1 DEL ['b'] SUM ['n'] 5 MIN ['n'] 4 MAX "
           "['n'] 9 APPEND ['l'] [1,2] PREPEND ['l'] [0]");
    expect(c, "[@ []]", "KV.ATOMIC DETAILS");
}

static void details_of_a_conflict_name_the_checks_that_failed(void **state)
{
    const char *a = ask(c, "KV.SET ['a'] 1");
    const char *b = ask(c, "KV.SET ['b'] 1");
    char wanted[200];
    snprintf(wanted, sizeof wanted, "[(nil) [[:1 (nil)] [:3 %s] [:4 %s]]]", b, a);
    assert_string_equal(
        ask(c,
            "KV.ATOMIC DETAILS CHECK ['a'] %s CHECK ['x'] %s SET ['c'] 1 CHECK ['b'] "
            "NONE CHECK ['a'] %s",
            a, a, b),
        wanted);
    expect(c, "(nil)", "KV.GET ['c']");
}

static void an_error_refuses_all_of_it(void **state)
{
    static const char *const bad[] = {
        "SET ['b'] 1 SUM ['s'] 1",
        "SET ['b'] 1 SUM ['n'] 9007199254740991",
        "SET ['b'] 1 SUM ['n'] 5 RANGE 0 3",
        "SET ['b'] 1 APPEND ['n'] [1]",
        "SET ['b'] 1 APPEND ['b'] [1]",
        "SET ['b'] 1 SET",
        "SET ['b'] 1 SET ['c']",
        "SET ['b'] 1 SET ['c'] {",
        "SET ['b'] 1 SET c 1",
        "SET ['b'] 1 DEL",
        "SET ['b'] 1 DEL x",
        "SET ['b'] 1 CHECK ['b']",
        "SET ['b'] 1 CHECK",
        "SET ['b'] 1 CHECK ['b'] x",
        "SET ['b'] 1 FOO",
        "SET ['b'] 1 EX",
        "SET ['b'] 1 EX 0",
        "SET ['b'] 1 EX x",
        "SET ['b'] 1 EX 10 PX 10",
        "SET ['b'] 1 EX 10 KEEPTTL",
        "SET ['b'] 1 NX",
        "SET ['b'] 1 SUM ['n']",
        "SET ['b'] 1 SUM ['n'] 1 CLAMP 1",
        "SET ['b'] 1 MIN ['n'] 'x'",
        "SET ['b'] 1 SUM ['n'] 1 CLAMP 5 1",
        "SET ['b'] 1 SUM ['n'] 1 CLAMP 1 5 RANGE 1 5",
        "SET ['b'] 1 DETAILS",
        "SET ['b'] 1 MIN ['n'] 1 CLAMP 1 5",
        "DETAILS DETAILS SET ['b'] 1",
    };
    expect(c, "@", "KV.SET ['s'] 'text'");
    expect(c, "@", "KV.SET ['n'] 1");
    const char *version = ask(c, "KV.VERSION");
    for (size_t i = 0; i < COUNT(bad); i++) {
        char command[200];
        snprintf(command, sizeof command, "KV.ATOMIC %s", bad[i]);
        const char *got = ask(c, command);
        if (got[0] != '-') fail_msg("%s: %s", bad[i], got);
    }
    expect(c, "(nil)", "KV.GET ['b']");
    expect(c, "1", "KV.GET ['n']");
    assert_string_equal(ask(c, "KV.VERSION"), version);
    expect(c, "-WRONGTYPE *string*number*operation 1*", "KV.ATOMIC SET ['b'] 1 SUM ['s'] 1");
    expect(c, "-ERR *'FOO'*", "KV.ATOMIC SET ['b'] 1 FOO");
}

static void a_conflict_hides_errors_of_evaluation(void **state)
{
    expect(c, "@", "KV.SET ['s'] 'text'");
    expect(c, "(nil)", "KV.ATOMIC SUM ['s'] 1 CHECK ['s'] NONE");
    expect(c, "-ERR *", "KV.ATOMIC SUM ['s'] x CHECK ['s'] NONE");
}

static void an_empty_transaction_takes_a_version(void **state)
{
    char before[32];
    snprintf(before, sizeof before, "%s", ask(c, "KV.VERSION"));
    const char *stamp = ask(c, "KV.ATOMIC");
    assert_true(text_fits(stamp, "@"));
    assert_true(strcmp(stamp, before) > 0);
    assert_string_equal(ask(c, "KV.VERSION"), stamp);
    const char *checked = ask(c, "KV.ATOMIC CHECK ['x'] NONE");
    assert_true(strcmp(checked, stamp) > 0);
}

static void a_set_inside_has_a_ttl(void **state)
{
    expect(c, "@", "KV.ATOMIC SET ['a'] 1 EX 100 SET ['b'] 1 PX 50000 SET ['c'] 1");
    assert_in_range(ask_integer(c, "KV.TTL ['a']"), 90, 100);
    assert_in_range(ask_integer(c, "KV.PTTL ['b']"), 40000, 50000);
    expect(c, ":-1", "KV.TTL ['c']");
    expect(c, "@", "KV.ATOMIC SET ['a'] 2 KEEPTTL SET ['b'] 2 SUM ['c'] 1");
    assert_in_range(ask_integer(c, "KV.TTL ['a']"), 90, 100);
    expect(c, ":-1", "KV.TTL ['b']");
}

static void bounds_inside_work_as_outside(void **state)
{
    expect(c, "[@ [10 7]]", "KV.ATOMIC DETAILS SUM ['n'] 50 CLAMP 0 10 SUM ['n'] -3 RANGE 0 10");
}

static const char *atomic_of(int ops)
{
    static char command[20000];
    strcpy(command, "KV.ATOMIC");
    for (int i = 0; i < ops; i++) {
        char op[40];
        snprintf(op, sizeof op, " SET ['k',%d] %d", i, i);
        strcat(command, op);
    }
    return command;
}

static void operations_are_limited(void **state)
{
    expect(c, "@", atomic_of(100));
    expect(c, ":100", "KV.COUNT");
    expect(c, "+OK", "FLUSHDB");
    expect(c, "-LIMIT *max-transaction-ops (100)*", atomic_of(101));
    expect(c, ":0", "KV.COUNT");
    char command[4000] = "KV.DEL";
    for (int i = 0; i < 101; i++) strcat(command, " ['k',1]");
    expect(c, "-LIMIT *max-transaction-ops (100)*", command);
}

static void bytes_are_limited(void **state)
{
    static char value[33000] = "\"";
    memset(value + 1, 'x', 32500);
    strcpy(value + 32501, "\"");
    expect(c, "@", "KV.ATOMIC SET ['a'] %s SET ['b'] %s", value, value);
    expect(
        c, "-LIMIT transaction of * bytes is larger than max-transaction-size (65536)*",
        "KV.ATOMIC SET ['c'] 1 SET ['a'] %s SET ['b'] %s SET ['d'] 'xxxxxxxxxxxxxxxxxxxxxxx' SET "
        "['e'] %s",
        value, value, value);
    expect(c, "(nil)", "KV.GET ['c']");
    /* What is too much is seen when it is, not at the end. */
    expect(c, "-LIMIT transaction of * bytes is larger than max-transaction-size *(operation 2)",
           "KV.ATOMIC SET ['a'] %s SET ['b'] %s SET ['e'] %s SET ['d'] 1", value, value, value);
}

static void a_counter_of_many_clients_is_exact(void **state)
{
    enum { CLIENTS = 5, EACH = 100 };
    redisContext *clients[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) clients[i] = testserver_connect(server);
    for (int n = 0; n < EACH; n++) {
        for (int i = 0; i < CLIENTS; i++)
            say(clients[i], "KV.ATOMIC SUM ['n'] 1 SUM ['m',%d] 1", i);
    }
    for (int i = 0; i < CLIENTS; i++) {
        expect_many(clients[i], EACH, "@");
        redisFree(clients[i]);
    }
    expect(c, "500", "KV.GET ['n']");
    expect(c, "[[100 @] [100 @]]", "KV.MGET ['m',0] ['m',4]");
}

/* Two clients that read, check and write: no increment is lost, every loser can go on from DETAILS.
 */
static void optimistic_writers_lose_no_update(void **state)
{
    redisContext *other = testserver_connect(server);
    redisContext *both[2] = {c, other};
    char known[2][24] = {"NONE", "NONE"};
    int done = 0;
    for (int round = 0; done < 40 && round < 400; round++) {
        int who = round % 3 == 0;
        redisReply *r = ask_reply(both[who], "KV.ATOMIC DETAILS CHECK ['n'] %s SUM ['n'] 1",
                                  known[who]);
        bool is_won = r->element[0]->type == REDIS_REPLY_STRING;
        const redisReply *newest = is_won ? r->element[0] : r->element[1]->element[0]->element[1];
        assert_int_equal(newest->type, REDIS_REPLY_STRING);
        snprintf(known[who], sizeof known[who], "%s", newest->str);
        freeReplyObject(r);
        done += is_won;
    }
    assert_int_equal(done, 40);
    expect(c, "40", "KV.GET ['n']");
    redisFree(other);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(operations_apply_in_order_and_see_each_other),
        TEST(everything_written_shares_the_version),
        TEST(a_check_that_holds_lets_it_happen),
        TEST(a_check_that_fails_prevents_everything),
        TEST(checks_look_at_the_state_before_wherever_they_stand),
        TEST(details_tell_what_each_operation_did),
        TEST(details_of_a_conflict_name_the_checks_that_failed),
        TEST(an_error_refuses_all_of_it),
        TEST(a_conflict_hides_errors_of_evaluation),
        TEST(an_empty_transaction_takes_a_version),
        TEST(a_set_inside_has_a_ttl),
        TEST(bounds_inside_work_as_outside),
        TEST(operations_are_limited),
        TEST(bytes_are_limited),
        TEST(a_counter_of_many_clients_is_exact),
        TEST(optimistic_writers_lose_no_update),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
