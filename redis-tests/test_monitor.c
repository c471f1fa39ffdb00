/* MONITOR: what it shows, when, and what one costs that does not read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

#define WAIT_MS 20000

static int fd;          /* fresh for each test */
static redisContext *c; /* likewise */

static int start(void **state)
{
    group_opens(&c, NULL);
    group_opens_raw(&fd);
    server = testserver_start(NULL);
    return 0;
}

/* The monitor's next line must be of that command of c; quotes are as on the wire. */
static void expect_shown(const char *wanted)
{
    const char *line = raw_line(fd);
    if (!text_fits(line, wanted)) fail_msg("'%s' is not '%s'", line, wanted);
}

static void monitor_shows_what_others_do(void **state)
{
    raw_say(fd, "MONITOR\r\n");
    raw_expect(fd, "+OK\r\n");
    expect(c, "(nil)", "KV.GET ['a']");
    expect(c, "a\x01\xff\n", "ECHO %b", "a\x01\xff\n", (size_t)4);
    expect(c, "\\'\r\t\a\b", "ECHO %b", "\\\"\r\t\a\b", (size_t)6);
    expect(c, "+OK", "SELECT 3");
    expect(c, "-ERR *", "AUTH secret");
    expect(c, "-WRONGPASS *", "AUTH me secret");
    expect(c, "[*]", "HELLO 2 AUTH default secret SETNAME x");
    expect(c, "[databases 16]", "CONFIG GET databases"); /* of administration: not shown */
    expect(c, "-ERR *", "KV.GET");                       /* not run */
    expect(c, "-ERR *", "NOSUCH");
    expect(c, "-ERR *", "KV.GET bad");
    expect_shown("+1*.* [0 127.0.0.1:*] \"KV.GET\" \"[\\\"a\\\"]\"");
    expect_shown("*] \"ECHO\" \"a\\x01\\xff\\n\"");
    expect_shown("*] \"ECHO\" \"\\\\\\\"\\r\\t\\a\\b\"");
    expect_shown("+*.* [3 127.0.0.1:*] \"SELECT\" \"3\"");
    expect_shown("*] \"AUTH\" \"(redacted)\"");
    expect_shown("*] \"AUTH\" \"(redacted)\" \"(redacted)\"");
    expect_shown("*] \"HELLO\" \"2\" \"AUTH\" \"(redacted)\" \"(redacted)\" \"SETNAME\" \"x\"");
    expect_shown("*] \"KV.GET\" \"bad\"");
}

static void monitor_shows_a_command_that_waits_once(void **state)
{
    raw_say(fd, "MONITOR\r\n");
    raw_expect(fd, "+OK\r\n");
    expect(c, "+OK", "CLIENT PAUSE 50");
    expect(c, "@", "KV.SET ['a'] 1");
    expect(c, "+PONG", "PING");
    expect_shown("*] \"KV.SET\" *");
    expect_shown("*] \"PING\"");
}

static void monitor_shows_a_command_that_blocks_at_once(void **state)
{
    redisContext *d = testserver_connect(server);
    raw_say(fd, "MONITOR\r\n");
    raw_expect(fd, "+OK\r\n");
    load_send(d, "BLPOP q 0");
    expect_shown("+*.* [0 127.0.0.1:*] \"BLPOP\" \"q\" \"0\"");
    expect(c, ":1", "LPUSH q x");
    expect_next(d, "[q x]");
    expect(d, "(nil)", "GET q2");
    expect_shown("*] \"LPUSH\" *");
    expect_shown("*] \"GET\" \"q2\""); /* and BLPOP not again */
    /* One that began before there was a monitor is shown when it ends. */
    raw_say(fd, "RESET\r\n");
    raw_expect(fd, "+RESET\r\n");
    load_block(d, c, "BLPOP q 0");
    raw_say(fd, "MONITOR\r\n");
    raw_expect(fd, "+OK\r\n");
    expect(c, ":1", "LPUSH q x");
    expect_next(d, "[q x]");
    expect(d, "(nil)", "GET q2");
    expect_shown("*] \"LPUSH\" *");
    expect_shown("*] \"BLPOP\" *");
    expect_shown("*] \"GET\" *");
    /* The monitor of a command that it saw begin is gone when that ends. */
    load_send(d, "BLPOP q 0");
    expect_shown("*] \"BLPOP\" *");
    raw_say(fd, "RESET\r\n");
    raw_expect(fd, "+RESET\r\n");
    expect(c, ":1", "LPUSH q x");
    expect_next(d, "[q x]");
    raw_say(fd, "MONITOR\r\n");
    raw_expect(fd, "+OK\r\n");
    expect(d, "(nil)", "GET q3");
    expect_shown("*] \"GET\" \"q3\"");
    redisFree(d);
}

/* As in Redis: the client's line first, then what the script calls, without an address. */
static void what_a_script_calls_comes_after_it(void **state)
{
    raw_say(fd, "MONITOR\r\n");
    raw_expect(fd, "+OK\r\n");
    expect(c, "v", "EVAL %s 0",
           "redis.call('set', 'k', 'v') redis.pcall('nosuch') redis.pcall('incr', 'k') "
           "local v = redis.call('get', 'k') redis.call('select', 2) "
           "redis.call('exists', 'k') return v");
    expect_shown("*[0 127.0.0.1:*] \"EVAL\" *");
    expect_shown("+*.* [0 lua] \"set\" \"k\" \"v\"");
    expect_shown("*[0 lua] \"incr\" \"k\"");
    expect_shown("*[0 lua] \"get\" \"k\"");
    expect_shown("*[2 lua] \"select\" \"2\"");
    expect_shown("*[2 lua] \"exists\" \"k\"");
    /* One that fails, one that waits for the disk or goes on as a long one, one in EXEC. */
    expect(c, "-ERR *", "EVAL %s 0", "redis.call('get', 'x') error('no')");
    expect_shown("*[0 127.0.0.1:*] \"EVAL\" *");
    expect_shown("*[0 lua] \"get\" \"x\"");
    expect(c, ":2", "EVAL %s 0",
           "redis.call('set', 'n', 1) for i = 1, 3000000 do end return redis.call('incr', 'n')");
    expect_shown("*[0 127.0.0.1:*] \"EVAL\" *");
    expect_shown("*[0 lua] \"set\" \"n\" \"1\"");
    expect_shown("*[0 lua] \"incr\" \"n\"");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "EVAL %s 0", "return redis.call('incr', 'n')");
    expect(c, "+QUEUED", "GET n");
    expect(c, "[:3 3]", "EXEC");
    expect_shown("*[0 127.0.0.1:*] \"MULTI\"");
    expect_shown("*[0 127.0.0.1:*] \"EVAL\" *");
    expect_shown("*[0 lua] \"incr\" \"n\"");
    expect_shown("*[0 127.0.0.1:*] \"GET\" \"n\"");
    expect_shown("*[0 127.0.0.1:*] \"EXEC\"");
}

static void a_monitor_sees_itself_behind_its_replies(void **state)
{
    raw_say(fd, "MONITOR\r\nPING\r\nKV.SET '[\"a\"]' 1\r\nPING\r\n");
    raw_expect(fd, "+OK\r\n+PONG\r\n");
    expect_shown("*] \"PING\"");
    raw_expect(fd, "$20\r\n");
    assert_true(text_fits(raw_line(fd), "@"));
    expect_shown("*] \"KV.SET\" \"[\\\"a\\\"]\" \"1\"");
    raw_expect(fd, "+PONG\r\n");
    expect_shown("*] \"PING\"");
}

static void reset_ends_a_monitor(void **state)
{
    redisContext *other = testserver_connect(server);
    expect(c, "+OK", "CLIENT SETNAME other");
    raw_say(fd, "CLIENT SETNAME m\r\nMONITOR\r\nMONITOR\r\n");
    raw_expect(fd, "+OK\r\n+OK\r\n+OK\r\n");
    assert_true(text_fits(ask(c, "CLIENT LIST"), "*name=m age=* flags=O *"));
    raw_say(fd, "RESET\r\n");
    raw_expect(fd, "+RESET\r\n");
    assert_true(text_fits(ask(c, "CLIENT LIST"), "*flags=N *"));
    assert_null(strstr(ask(c, "CLIENT LIST"), "flags=O"));
    expect(c, "+PONG", "PING");
    raw_say(fd, "ECHO x\r\n");
    raw_expect(fd, "$1\r\nx\r\n"); /* and nothing before it */
    redisFree(other);
}

static void monitors_come_and_go(void **state)
{
    redisContext *all[5];
    for (int i = 0; i < 5; i++) {
        all[i] = testserver_connect(server);
        expect(all[i], "+OK", "MONITOR");
    }
    redisFree(all[2]);
    redisFree(all[0]);
    expect(c, "hello", "ECHO hello");
    expect_next(all[1], "+* \"ECHO\" \"hello\"");
    expect_next(all[3], "+* \"ECHO\" \"hello\"");
    expect_next(all[4], "+* \"ECHO\" \"hello\"");
    expect(all[4], "+OK", "QUIT");
    redisFree(all[4]);
    redisFree(all[3]);
    redisFree(all[1]);
    expect(c, "hello", "ECHO hello");
    assert_null(strstr(ask(c, "CLIENT LIST"), "flags=O"));
}

static void monitor_is_refused_in_a_transaction(void **state)
{
    expect(c, "+OK", "MULTI");
    expect(c, "-ERR *", "MONITOR");
    expect(c, "-EXECABORT *", "EXEC");
}

static void a_monitor_that_does_not_read_is_closed(void **state)
{
    struct testserver *small = testserver_start_with("--client-output-buffer-limit",
                                                     "normal 1mb 0 0", NULL);
    redisContext *busy = testserver_connect(small);
    int deaf = raw_connect(small);
    char *big = malloc(200001);
    memset(big, '\\', 200000);
    big[200000] = '\0';
    raw_send(deaf, "MONITOR\r\n", 9);
    raw_expect(deaf, "+OK\r\n");
    long until = testserver_now_ms() + WAIT_MS;
    size_t omem_max = 0;
    while (!testserver_has_logged(small, "exceeds client-output-buffer-limit")) {
        redisReply *r = ask_reply(busy, "ECHO %s", big);
        assert_int_equal(r->len, 200000);
        freeReplyObject(r);
        const char *list = ask(busy, "CLIENT LIST");
        const char *flag = strstr(list, "flags=O");
        const char *at = flag == NULL ? NULL : strstr(flag, " omem=");
        if (at != NULL && (size_t)atoll(at + 6) > omem_max) omem_max = (size_t)atoll(at + 6);
        assert_true(testserver_now_ms() < until);
    }
    assert_true(omem_max <= 1u << 20);
    assert_null(strstr(ask(busy, "CLIENT LIST"), "flags=O"));
    expect(busy, "+PONG", "PING");
    free(big);
    close(deaf);
    redisFree(busy);
    testserver_free(small);
}

static void the_commands_of_a_transaction_are_shown_before_exec(void **state)
{
    raw_say(fd, "MONITOR\r\n");
    raw_expect(fd, "+OK\r\n");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "PING");
    expect(c, "+QUEUED", "ECHO x");
    expect(c, "[+PONG x]", "EXEC");
    expect_shown("*] \"MULTI\"");
    expect_shown("*] \"PING\"");
    expect_shown("*] \"ECHO\" \"x\"");
    expect_shown("*] \"EXEC\"");
}

/* A line of another client's command comes after replies that wait for the disk, not before them.
 */
static void lines_keep_their_place_behind_held_replies(void **state)
{
    const char *const env[] = {"TUPLED_TEST_SYNC_DELAY_MS=100", NULL};
    struct testserver_options o = {.env = env};
    struct testserver *slow = testserver_start(&o);
    redisContext *other = testserver_connect(slow);
    int monitor = raw_connect(slow);
    expect(other, "@", "KV.SET ['first'] 1"); /* what the start reads is there now */
    raw_send(monitor, "MONITOR\r\n", 9);
    raw_expect(monitor, "+OK\r\n");
    const char *set = "KV.SET '[\"a\"]' 1\r\n";
    raw_say(monitor, set);
    while (strstr(ask(other, "CLIENT LIST"), "cmd=kv.set") == NULL) testserver_pause();
    expect(other, "+PONG", "PING");
    raw_expect(monitor, "$20\r\n");
    assert_true(text_fits(raw_line(monitor), "@"));
    assert_true(text_fits(raw_line(monitor), "*] \"KV.SET\" *"));
    assert_true(text_fits(raw_line(monitor), "*] \"PING\""));
    close(monitor);
    redisFree(other);
    testserver_free(slow);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(monitor_shows_what_others_do),
        TEST(monitor_shows_a_command_that_waits_once),
        TEST(monitor_shows_a_command_that_blocks_at_once),
        TEST(what_a_script_calls_comes_after_it),
        TEST(a_monitor_sees_itself_behind_its_replies),
        TEST(reset_ends_a_monitor),
        TEST(monitors_come_and_go),
        TEST(monitor_is_refused_in_a_transaction),
        TEST(a_monitor_that_does_not_read_is_closed),
        TEST(the_commands_of_a_transaction_are_shown_before_exec),
        TEST(lines_keep_their_place_behind_held_replies),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
