/* CLIENT REPLY, PAUSE, UNPAUSE, UNBLOCK, NO-EVICT; WAIT. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

#define LIMIT_MS 10000
#define QUIET_MS 60 /* nothing comes within this when nothing should */

static redisContext *c, *d, *e; /* fresh for each test */
static int fd;

static int start(void **state)
{
    group_opens(&c, &d, &e, NULL);
    group_opens_raw(&fd);
    server = testserver_start(NULL);
    return 0;
}

static int enter(void **state)
{
    group_connect();
    expect(c, "+OK", "CLIENT UNPAUSE");
    expect(c, "+OK", "FLUSHALL");
    return 0;
}

static int leave(void **state)
{
    expect(e, "+OK", "CLIENT UNPAUSE");
    return group_leave(state);
}

#define send_off(by, ...)                                                                          \
    do {                                                                                           \
        say((by), __VA_ARGS__);                                                                    \
        load_flush(by);                                                                            \
    } while (0)

/* ---- REPLY ----------------------------------------------------------------------------------- */

static void replies_can_be_switched_off_and_on(void **state)
{
    raw_say(fd,
            "CLIENT REPLY OFF\r\nSET a 1\r\nGET a\r\nNOSUCH\r\nGET\r\nCLIENT REPLY SKIP\r\nPING\r\n"
            "PING\r\nCLIENT REPLY ON\r\nGET a\r\n");
    raw_expect(fd, "+OK\r\n$1\r\n1\r\n");
    raw_say(fd, "CLIENT REPLY ON\r\nPING\r\n");
    raw_expect(fd, "+OK\r\n+PONG\r\n");
}

static void one_reply_can_be_skipped(void **state)
{
    raw_say(fd, "CLIENT REPLY SKIP\r\nSET a 1\r\nGET a\r\nPING\r\n");
    raw_expect(fd, "$1\r\n1\r\n+PONG\r\n");
    raw_say(fd, "CLIENT REPLY SKIP\r\nCLIENT REPLY SKIP\r\nSET a 2\r\nGET a\r\n");
    raw_expect(fd, "$1\r\n2\r\n");
    raw_say(fd, "CLIENT REPLY SKIP\r\nNOSUCH\r\nPING\r\n");
    raw_expect(fd, "+PONG\r\n");
    raw_say(fd, "CLIENT REPLY SKIP\r\nCLIENT REPLY ON\r\nPING\r\n");
    raw_expect(fd, "+OK\r\n+PONG\r\n");
    raw_say(fd, "CLIENT REPLY SKIP\r\nWAIT 1 30\r\nPING\r\n"); /* one that comes later, too */
    raw_expect(fd, "+PONG\r\n");
}

/* Frames of subscribing are no replies but messages, whatever the protocol; errors are replies. */
static void confirmations_of_subscribing_are_always_sent(void **state)
{
    raw_say(
        fd,
        "CLIENT REPLY OFF\r\nSUBSCRIBE a kv:watch:w\r\nSUBSCRIBE kv:x\r\nUNSUBSCRIBE a\r\nPING\r\n");
    raw_expect(fd, "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"
                   "*3\r\n$9\r\nsubscribe\r\n$10\r\nkv:watch:w\r\n:2\r\n"
                   "*3\r\n$7\r\nmessage\r\n$10\r\nkv:watch:w\r\n");
    raw_bulk(fd);
    raw_expect(fd, "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:1\r\n");
    raw_say(fd, "UNSUBSCRIBE\r\nCLIENT REPLY SKIP\r\nCLIENT REPLY ON\r\n");
    raw_expect(fd, "*3\r\n$11\r\nunsubscribe\r\n$10\r\nkv:watch:w\r\n:0\r\n+OK\r\n");
    raw_say(fd, "CLIENT REPLY SKIP\r\nPSUBSCRIBE p*\r\nPUNSUBSCRIBE\r\nPING\r\n");
    raw_expect(fd, "*3\r\n$10\r\npsubscribe\r\n$2\r\np*\r\n:1\r\n"
                   "*3\r\n$12\r\npunsubscribe\r\n$2\r\np*\r\n:0\r\n+PONG\r\n");
}

static void a_write_without_a_reply_does_not_hold_back_what_follows(void **state)
{
    raw_say(fd, "CLIENT REPLY OFF\r\n");
    for (int i = 0; i < 100; i++) raw_say(fd, "INCR n\r\n");
    raw_say(fd, "CLIENT REPLY ON\r\nGET n\r\n");
    raw_expect(fd, "+OK\r\n$3\r\n100\r\n");
}

static void transactions_go_on_without_replies(void **state)
{
    raw_say(
        fd,
        "CLIENT REPLY OFF\r\nMULTI\r\nSET a 1\r\nINCR a\r\nEXEC\r\nCLIENT REPLY ON\r\nGET a\r\n");
    raw_expect(fd, "+OK\r\n$1\r\n2\r\n");
    raw_say(fd, "MULTI\r\nCLIENT REPLY OFF\r\nEXEC\r\n");
    raw_expect(fd, "+OK\r\n-ERR Command not allowed inside a transaction\r\n-EXECABORT ");
    raw_line(fd);
    raw_say(fd, "CLIENT REPLY OFF\r\nRESET\r\nPING\r\n");
    raw_expect(fd, "+RESET\r\n+PONG\r\n");
    raw_say(fd, "CLIENT REPLY OFF\r\nQUIT\r\n");
    raw_expect_end(fd);
}

/* ---- PAUSE ----------------------------------------------------------------------------------- */

static void a_pause_of_all_holds_reads_and_writes(void **state)
{
    expect(c, "+OK", "SET a 1");
    expect(c, "+OK", "CLIENT PAUSE 60000");
    send_off(c, "GET a");
    send_off(d, "SET a 2");
    assert_false(load_is_readable(c, QUIET_MS));
    assert_false(load_is_readable(d, QUIET_MS));
    expect(e, "+OK", "CLIENT UNPAUSE");
    expect_next(d, "+OK");
    expect_next(c, "*"); /* 1 or 2: both began at once */
    expect(e, "2", "GET a");
}

/* Whichever client sends it: only what is refused at once is answered, and the command that ends
 * the pause. */
static void a_pause_of_all_holds_every_command(void **state)
{
    static const char *const held[] = {
        "PING",      "CLIENT ID",      "CLIENT LIST", "CLIENT PAUSE 1",
        "HELLO",     "AUTH default x", "RESET",       "PUBLISH ch 1",
        "INFO",      "SUBSCRIBE ch",   "MULTI",       "WATCH a",
        "KV.GET []", "CONFIG GET hz",  "ECHO x",      "CLIENT NO-EVICT ON",
        "SELECT 0",  "KV.VERSION",
    };
    enum { COUNT = sizeof held / sizeof held[0] };
    redisContext *all[COUNT];
    for (size_t i = 0; i < COUNT; i++) all[i] = testserver_connect(server);
    expect(d, "+OK", "MULTI");
    expect(c, "+OK", "CLIENT PAUSE 60000 ALL");
    for (size_t i = 0; i < COUNT; i++) send_off(all[i], held[i]);
    send_off(c, "PING");
    send_off(d, "GET a"); /* not even queued */
    expect(e, "-ERR unknown command*", "NOSUCH");
    expect(e, "-ERR wrong number of arguments*", "GET");
    assert_false(load_is_readable(c, QUIET_MS));
    assert_false(load_is_readable(d, 0));
    for (size_t i = 0; i < COUNT; i++) {
        if (load_is_readable(all[i], 0)) fail_msg("%s was served", held[i]);
    }
    expect(e, "+OK", "CLIENT UNPAUSE");
    expect_next(c, "+PONG");
    expect_next(d, "+QUEUED");
    for (size_t i = 0; i < COUNT; i++) {
        expect_next(all[i], "*");
        redisFree(all[i]);
    }
}

static void a_pause_of_writes_lets_reads_pass(void **state)
{
    static const char *const writes[] = {
        "SET a 2",         "DEL a",         "KV.SET ['a'] 1", "KV.ATOMIC SET ['a'] 1", "FLUSHDB",
        "KV.DELRANGE ALL", "INCR n",        "EXPIRE a 10",    "KV.SET ['a'] 1 IDEM x", "FLUSHALL",
        "PUBLISH ch x",    "SPUBLISH ch x",
    };
    expect(c, "+OK", "SET a 1");
    for (size_t i = 0; i < sizeof writes / sizeof writes[0]; i++) {
        expect(e, "+OK", "CLIENT PAUSE 60000 WRITE");
        send_off(d, writes[i]);
        expect(c, "*", "GET a");
        expect(c, "[0 *", "KV.LIST");
        expect(c, "+PONG", "PING");
        assert_false(load_is_readable(d, 5));
        expect(e, "+OK", "CLIENT UNPAUSE");
        assert_true(load_is_readable(d, LIMIT_MS));
        expect_next(d, "*");
    }
}

static void what_was_paused_comes_in_order(void **state)
{
    expect(e, "+OK", "CLIENT PAUSE 60000 WRITE");
    for (int i = 0; i < 50; i++) say(c, "INCR n");
    say(c, "GET n");
    load_flush(c);
    assert_false(load_is_readable(c, QUIET_MS));
    expect(e, "+OK", "CLIENT UNPAUSE");
    for (int i = 1; i <= 50; i++) {
        char wanted[16];
        snprintf(wanted, sizeof wanted, ":%d", i);
        expect_next(c, wanted);
    }
    expect_next(c, "50");
}

static void a_pause_ends_by_itself(void **state)
{
    long before_ms = testserver_now_ms();
    expect(e, "+OK", "CLIENT PAUSE 200");
    expect(c, "+OK", "SET a 1");
    long took_ms = testserver_now_ms() - before_ms;
    assert_true(took_ms >= 195);
    assert_true(took_ms < 20000);
    expect(e, "+OK", "CLIENT PAUSE 0");
    expect(c, "+OK", "SET a 1");
}

static void a_second_pause_is_only_longer_and_stricter(void **state)
{
    expect(e, "+OK", "CLIENT PAUSE 60000 WRITE");
    expect(e, "+OK", "CLIENT PAUSE 1 WRITE"); /* no shorter */
    send_off(c, "SET a 1");
    assert_false(load_is_readable(c, QUIET_MS));
    expect(e, "+OK", "CLIENT UNPAUSE");
    expect_next(c, "+OK");
    expect(e, "+OK", "CLIENT PAUSE 60000 WRITE");
    expect(e, "+OK", "CLIENT PAUSE 1 ALL");
    send_off(c, "SET a 1");
    assert_false(load_is_readable(c, QUIET_MS));
    expect(e, "+OK", "CLIENT UNPAUSE");
    expect_next(c, "+OK");
    expect(e, "+OK", "CLIENT UNPAUSE"); /* when there is no pause */
}

static void clients_that_go_away_while_paused_are_forgotten(void **state)
{
    expect(e, "+OK", "CLIENT PAUSE 60000");
    send_off(c, "SET a 1");
    send_off(d, "WAIT 1 0");
    assert_false(load_is_readable(c, QUIET_MS));
    redisFree(c);
    redisFree(d);
    c = testserver_connect(server);
    d = testserver_connect(server);
    expect(e, "+OK", "CLIENT UNPAUSE");
    expect(c, "+PONG", "PING");
}

/* ---- WAIT, UNBLOCK --------------------------------------------------------------------------- */

static void wait_for_blocked(int count)
{
    load_wait_info(e, "blocked_clients", count);
}

static void a_blocked_client_that_goes_away_is_forgotten(void **state)
{
    wait_for_blocked(0);
    send_off(c, "WAIT 1 0");
    send_off(d, "WAIT 1 0");
    say(d, "PING"); /* something lies before the end of this one */
    load_flush(d);
    wait_for_blocked(2);
    redisFree(c);
    redisFree(d);
    wait_for_blocked(0);
    c = testserver_connect(server);
    d = testserver_connect(server);
    expect(c, "+PONG", "PING"); /* accepted, and not only connected */
    expect(d, "+PONG", "PING");
    expect(e, "*connected_clients:4*", "INFO clients"); /* c, d, e and the raw one */
}

static void wait_answers_zero_when_its_time_is_over(void **state)
{
    expect(c, ":0", "WAIT 0 0");
    long before_ms = testserver_now_ms();
    expect(c, ":0", "WAIT 1 100");
    assert_true(testserver_now_ms() - before_ms >= 95);
    expect(c, "-ERR timeout is negative", "WAIT 1 -1");
    expect(c, "-ERR timeout is not an integer or out of range", "WAIT 1 x");
    expect(c, "-ERR value is not an integer or out of range*", "WAIT x 1");
}

static void waitaof_says_that_writes_are_on_disk(void **state)
{
    expect(c, "[:1 :0]", "WAITAOF 1 0 0");
    expect(c, "[:1 :0]", "WAITAOF 0 0 0");
    long before_ms = testserver_now_ms();
    expect(c, "[:1 :0]", "WAITAOF 1 1 100");
    assert_true(testserver_now_ms() - before_ms >= 95);
    expect(c, "-ERR numlocal must be 0 or 1", "WAITAOF 2 0 0");
    expect(c, "-ERR timeout is negative", "WAITAOF 1 0 -1");
    expect(c, "-ERR wrong number of arguments for 'waitaof' command*", "WAITAOF 1 0");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "SET a 1");
    expect(c, "+QUEUED", "WAITAOF 1 5 0");
    expect(c, "[+OK [:1 :0]]", "EXEC");
    expect(c, "[:1 :0]", "EVAL %s 0", "return redis.call('waitaof', 1, 5, 0)");
}

static void a_wait_longer_than_the_clock_goes_is_refused(void **state)
{
    expect(c, "-ERR timeout is out of range", "WAIT 1 9223372036854775807");
    expect(c, "-ERR timeout is out of range", "WAIT 1 9223372036854775000");
    expect(c, "-ERR timeout is out of range", "CLIENT PAUSE 9223372036854775807");
    expect(e, "+PONG", "PING");
}

static void unblock_ends_a_wait(void **state)
{
    long long id = ask_integer(c, "CLIENT ID");
    for (int i = 0; i < 3; i++) {
        send_off(c, "WAIT 1 0");
        wait_for_blocked(1);
        assert_false(load_is_readable(c, 5));
        const char *how = i == 0 ? "" : i == 1 ? "TIMEOUT" : "ERROR";
        char command[60];
        snprintf(command, sizeof command, "CLIENT UNBLOCK %lld %s", id, how);
        expect(d, ":1", command);
        expect_next(c, i < 2 ? ":0" : "-UNBLOCKED client unblocked via CLIENT UNBLOCK");
        expect(d, ":0", command); /* not blocked any more */
    }
    expect(d, ":0", "CLIENT UNBLOCK 999999");
    expect(d, "-ERR value is not an integer or out of range", "CLIENT UNBLOCK me");
    expect(d, "-ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR", "CLIENT UNBLOCK 1 LATER");
    expect(c, "+PONG", "PING");
    wait_for_blocked(0);
}

static void a_paused_client_is_not_blocked(void **state)
{
    long long id = ask_integer(c, "CLIENT ID");
    expect(e, "+OK", "CLIENT PAUSE 60000 WRITE");
    send_off(c, "SET a 1");
    assert_false(load_is_readable(c, QUIET_MS));
    expect(d, ":0", "CLIENT UNBLOCK %lld", id);
    assert_false(load_is_readable(c, QUIET_MS));
    expect(e, "+OK", "CLIENT UNPAUSE");
    expect_next(c, "+OK");
}

static void several_that_wait_end_each_at_its_time(void **state)
{
    redisContext *many[20];
    for (int i = 0; i < 20; i++) {
        many[i] = testserver_connect(server);
        send_off(many[i], "WAIT 1 %d", i % 5 == 0 ? 0 : 50 + i * 5);
    }
    wait_for_blocked(4); /* those without a limit */
    for (int i = 0; i < 20; i++) {
        if (i % 5 != 0) expect_next(many[i], ":0");
    }
    assert_false(load_is_readable(many[0], 5));
    for (int i = 0; i < 20; i++) redisFree(many[i]);
    wait_for_blocked(0);
    expect(c, "+PONG", "PING");
}

static void a_server_stops_while_clients_wait(void **state)
{
    struct testserver *other = testserver_start(NULL);
    redisContext *a = testserver_connect(other);
    redisContext *b = testserver_connect(other);
    redisContext *p = testserver_connect(other);
    send_off(a, "WAIT 1 0");
    expect(p, "+OK", "CLIENT PAUSE 60000 WRITE");
    send_off(b, "SET a 1");
    assert_false(load_is_readable(b, QUIET_MS));
    testserver_stop(other);
    redisFree(a);
    redisFree(b);
    redisFree(p);
    testserver_free(other);
}

static void no_evict_is_taken_and_changes_nothing(void **state)
{
    expect(c, "+OK", "CLIENT NO-EVICT ON");
    expect(c, "+OK", "client no-evict off");
    expect(c, "-ERR syntax error", "CLIENT NO-EVICT maybe");
    expect(c, "-ERR wrong number of arguments for 'client|no-evict' command", "CLIENT NO-EVICT");
    expect(c, "+OK", "SET a 1");
    expect(c, "1", "GET a");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(replies_can_be_switched_off_and_on),
        TEST(one_reply_can_be_skipped),
        TEST(confirmations_of_subscribing_are_always_sent),
        TEST(a_write_without_a_reply_does_not_hold_back_what_follows),
        TEST(transactions_go_on_without_replies),
        TEST(a_pause_of_all_holds_reads_and_writes),
        TEST(a_pause_of_all_holds_every_command),
        TEST(a_pause_of_writes_lets_reads_pass),
        TEST(what_was_paused_comes_in_order),
        TEST(a_pause_ends_by_itself),
        TEST(a_second_pause_is_only_longer_and_stricter),
        TEST(clients_that_go_away_while_paused_are_forgotten),
        TEST(a_blocked_client_that_goes_away_is_forgotten),
        TEST(wait_answers_zero_when_its_time_is_over),
        TEST(waitaof_says_that_writes_are_on_disk),
        TEST(a_wait_longer_than_the_clock_goes_is_refused),
        TEST(unblock_ends_a_wait),
        TEST(a_paused_client_is_not_blocked),
        TEST(several_that_wait_end_each_at_its_time),
        TEST(a_server_stops_while_clients_wait),
        TEST(no_evict_is_taken_and_changes_nothing),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
