/* KV.DO: what it runs and refuses, for whom, and where. That a repeat does nothing is test_idem's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

static redisContext *c;

static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start_with("--databases", "4", NULL);
    return 0;
}

static void without_an_id_it_is_the_command_itself(void **state)
{
    expect(c, ":1", "KV.DO INCR n");
    expect(c, ":2", "kv.do incr n");
    expect(c, "+OK", "KV.DO SET IDEM x");
    expect(c, "x", "GET IDEM");
    expect(c, "-WRONGTYPE *", "KV.DO LPUSH n a");
    expect(c, "@", "KV.DO KV.SET ['k'] 1 IDEM a");
    expect(c, "@",
           "KV.DO IDEM a KV.SET ['k'] 1"); /* the same write, as it would be with its own IDEM */
    expect(c, "-ERR IDEM 'a' was used with *", "KV.DO IDEM a KV.SET ['k'] 2");
}

static void what_is_wrong_is_said(void **state)
{
    static const char *const wrong[][2] = {
        {"KV.DO", "-ERR wrong number of arguments for 'kv.do' command; usage: "
                  "KV.DO [IDEM id] command [argument ...]"},
        {"KV.DO IDEM", "-ERR syntax error: KV.DO IDEM needs an id and a command"},
        {"KV.DO IDEM a", "-ERR syntax error: KV.DO IDEM needs an id and a command"},
        {"KV.DO IDEM %b INCR n", "-ERR IDEM must be an id of 1 to 255 bytes, not 0"},
        {"KV.DO IDEM a KV.SET ['k'] 1 IDEM b", "-ERR syntax error: duplicate IDEM"},
        {"KV.DO IDEM a KV.ATOMIC IDEM b SET ['k'] 1", "-ERR syntax error: duplicate IDEM"},
        {"KV.DO IDEM a INCR", "-ERR wrong number of arguments for 'incr' command"},
        {"KV.DO IDEM a INKR n", "-ERR unknown command 'INKR', with args beginning with: 'n' *"},
        {"KV.DO NOPE", "-ERR unknown command 'NOPE', with args beginning with: "},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        expect(c, wrong[i][1], wrong[i][0], "", (size_t)0);
    }
    expect(c, ":0", "DBSIZE");
}

static void what_cannot_be_repeated_is_refused(void **state)
{
    static const char *const refused[][2] = {
        {"GET k", "get"},          {"KV.DO INCR n", "kv.do"},    {"MULTI", "multi"},
        {"EXEC", "exec"},          {"PUBLISH c m", "publish"},   {"SELECT 1", "select"},
        {"CONFIG SET a b", "set"}, {"SUBSCRIBE c", "subscribe"}, {"EVAL_RO x 0", "eval_ro"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        char command[100];
        char wanted[200];
        snprintf(command, sizeof command, "KV.DO IDEM a %s", refused[i][0]);
        snprintf(wanted, sizeof wanted,
                 "-ERR KV.DO runs commands that write and are allowed in a transaction, not '%s'",
                 refused[i][1]);
        expect(c, wanted, command);
    }
}

/* As in MULTI. */
static void it_does_not_wait(void **state)
{
    expect(c, "(nil)", "KV.DO IDEM a BLPOP l 0");
    expect(c, ":1", "LPUSH l x");
    expect(c, "[l x]", "KV.DO IDEM a BLPOP l 0"); /* nothing had been done, so nothing was kept */
    expect(c, "[l x]", "KV.DO IDEM a BLPOP l 0");
    expect(c, ":0", "LLEN l");
}

static void an_error_is_not_kept(void **state)
{
    expect(c, "+OK", "SET n x");
    expect(c, "-ERR value is not an integer or out of range", "KV.DO IDEM a INCR n");
    expect(c, "+OK", "SET n 1");
    expect(c, ":2", "KV.DO IDEM a INCR n");
    expect(c, ":2", "KV.DO IDEM a INCR n");
}

static void in_a_transaction_each_has_its_id(void **state)
{
    for (int i = 0; i < 2; i++) {
        expect(c, "+OK", "MULTI");
        expect(c, "+QUEUED", "KV.DO IDEM a INCR n");
        expect(c, "+QUEUED", "KV.DO IDEM b RPUSH l x");
        expect(c, "+QUEUED", "KV.DO INCR m");
        expect(c, i == 0 ? "[:1 :1 :1]" : "[:1 :1 :2]", "EXEC");
    }
    expect(c, "+OK", "MULTI");
    expect(c, "-ERR KV.DO runs commands *", "KV.DO IDEM c EXEC");
    expect(c, "-EXECABORT *", "EXEC");
}

static void a_script_may_use_it(void **state)
{
    static const char script[] = "return redis.call('KV.DO', 'IDEM', ARGV[1], 'INCR', KEYS[1])";
    expect(c, ":1", "EVAL %b 1 n a", script, sizeof script - 1);
    expect(c, ":1", "EVAL %b 1 n a", script, sizeof script - 1);
    expect(c, ":2", "EVAL %b 1 n b", script, sizeof script - 1);
    static const char nested[] = "return redis.call('KV.DO', 'IDEM', 'x', 'EVAL', 'return 1', 0)";
    expect(c, "-ERR This Redis command is not allowed from script*", "EVAL %b 0", nested,
           sizeof nested - 1);
}

/* A message of a script is sent with its commit, so once. */
static void a_repeated_script_publishes_once(void **state)
{
    static const char script[] =
        "redis.call('PUBLISH', 'ch', ARGV[1]) return redis.call('INCR', KEYS[1])";
    redisContext *listener = testserver_connect(server);
    expect(listener, "[subscribe ch :1]", "SUBSCRIBE ch");
    for (int i = 0; i < 3; i++) {
        expect(c, ":1", "KV.DO IDEM a EVAL %b 1 n one", script, sizeof script - 1);
    }
    expect(c, ":2", "KV.DO IDEM b EVAL %b 1 n two", script, sizeof script - 1);
    expect_next(listener, "[message ch one]");
    expect_next(listener, "[message ch two]");
    redisFree(listener);
}

static void permission_is_that_of_the_command(void **state)
{
    redisContext *user = testserver_connect(server);
    expect(c, "+OK", "ACL SETUSER bob on nopass ~a* +incr +kv.do");
    expect(user, "+OK", "AUTH bob x");
    expect(user, ":1", "KV.DO IDEM a INCR a");
    expect(user, "-NOPERM * to access one of the keys *", "KV.DO IDEM b INCR b");
    expect(user, "-NOPERM * 'set' command", "KV.DO IDEM b SET a 1");
    expect(c, "+OK", "ACL SETUSER bob -kv.do");
    expect(user, ":1", "KV.DO IDEM a INCR a");
    expect(c, ":1", "ACL DELUSER bob");
    redisFree(user);
}

static void its_keys_are_those_of_the_command(void **state)
{
    expect(c, "[a b]", "COMMAND GETKEYS KV.DO IDEM x COPY a b");
    expect(c, "[a]", "COMMAND GETKEYS KV.DO INCR a");
    expect(c, "-ERR KV.DO runs commands *", "COMMAND GETKEYS KV.DO IDEM x GET a");
    expect(c, "+OK", "CONFIG RESETSTAT");
    expect(c, ":1", "KV.DO IDEM x INCR a");
    expect(c, "*cmdstat_incr:calls=1,*", "INFO commandstats");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_an_id_it_is_the_command_itself),
        TEST(what_is_wrong_is_said),
        TEST(what_cannot_be_repeated_is_refused),
        TEST(it_does_not_wait),
        TEST(an_error_is_not_kept),
        TEST(in_a_transaction_each_has_its_id),
        TEST(a_script_may_use_it),
        TEST(a_repeated_script_publishes_once),
        TEST(permission_is_that_of_the_command),
        TEST(its_keys_are_those_of_the_command),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
