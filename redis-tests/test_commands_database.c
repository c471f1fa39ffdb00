/* The database as a whole: SELECT, flushes, sizes, limits, big values, what a restart keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"

static redisContext *c;

static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start_with("--enable-debug-command", "local", "--databases", "4", NULL);
    return 0;
}

static void databases_do_not_see_each_other(void **state)
{
    expect(c, "@", "KV.SET ['a'] 0");
    expect(c, "+OK", "SELECT 3");
    expect(c, "(nil)", "KV.GET ['a']");
    expect(c, "@", "KV.SET ['a'] 3");
    expect(c, "@", "KV.SET ['b'] 3");
    expect(c, "[0 [['a'] ['b']]]", "KV.LIST KEYSONLY");
    expect(c, ":2", "DBSIZE");
    expect(c, ":2", "KV.DELRANGE ALL");
    expect(c, "+OK", "SELECT 0");
    expect(c, "0", "KV.GET ['a']");
    expect(c, ":1", "DBSIZE");
}

static void select_knows_how_many_there_are(void **state)
{
    expect(c, "-ERR DB index is out of range", "SELECT 4");
    expect(c, "-ERR DB index is out of range", "SELECT -1");
    expect(c, "-NODB database 'x' does not exist*", "SELECT x");
    expect(c, "-ERR wrong number of arguments for 'select' command", "SELECT");
    expect(c, "@", "KV.SET ['a'] 1");
    expect(c, ":1", "DBSIZE");
}

static void flushes_empty_one_or_all(void **state)
{
    for (int i = 0; i < 3; i++) {
        expect(c, "+OK", "SELECT %d", i);
        expect(c, "@", "KV.SET ['a'] %d", i);
    }
    char before[32];
    snprintf(before, sizeof before, "%s", ask(c, "KV.VERSION"));
    expect(c, "+OK", "FLUSHDB");
    assert_true(strcmp(ask(c, "KV.VERSION"), before) > 0);
    expect(c, ":0", "DBSIZE");
    expect(c, "(nil)", "KV.GET ['a']");
    expect(c, "+OK", "SELECT 1");
    expect(c, "1", "KV.GET ['a']");
    expect(c, "-ERR syntax error", "FLUSHDB NOW");
    expect(c, "-ERR syntax error", "FLUSHALL ASYNC SYNC");
    expect(c, "+OK", "flushall async");
    expect(c, "(nil)", "KV.GET ['a']");
    expect(c, "@", "KV.SET ['a'] 5");
    expect(c, "5", "KV.GET ['a']");
    expect(c, "+OK", "FLUSHDB SYNC");
    expect(c, "[0 []]", "KV.LIST");
}

static void a_flush_is_kept_over_a_restart(void **state)
{
    for (int i = 0; i < 100; i++) say(c, "KV.SET ['k',%d] %d", i, i);
    expect_many(c, 100, "@");
    expect(c, "+OK", "FLUSHDB");
    expect(c, "@", "KV.SET ['after'] 1");
    group_again(false);
    expect(c, "[0 [['after']]]", "KV.LIST KEYSONLY");
    expect(c, ":1", "DBSIZE");
}

static void a_restart_changes_nothing(void **state)
{
    for (int i = 0; i < 300; i++) say(c, "KV.SET ['k',%d] {'n':%d}", i, i);
    expect_many(c, 300, "@");
    expect(c, "@", "KV.SET ['ttl'] 1 EX 1000");
    expect(c, ":100", "KV.DELRANGE START ['k',100] END ['k',200]");
    expect(c, "+OK", "SELECT 2");
    expect(c, "@", "KV.SET ['other'] 'x'");
    expect(c, "+OK", "SELECT 0");
    const char *digest = ask(c, "DEBUG DIGEST");
    const char *version = ask(c, "KV.VERSION");
    const char *entry = ask(c, "KV.GET ['k',42] WITHVERSION");
    assert_int_equal(strlen(digest), 32);
    assert_string_equal(ask(c, "DEBUG DIGEST"), digest);
    group_again(false);
    assert_string_equal(ask(c, "DEBUG DIGEST"), digest);
    assert_string_equal(ask(c, "KV.VERSION"), version);
    assert_string_equal(ask(c, "KV.GET ['k',42] WITHVERSION"), entry);
    assert_in_range(ask_integer(c, "KV.TTL ['ttl']"), 900, 1000);
    expect(c, ":201", "KV.COUNT");
    assert_true(strcmp(ask(c, "KV.SET ['k',42] {'n':42}"), version) > 0);
    assert_string_not_equal(ask(c, "DEBUG DIGEST"), digest);
}

static void a_kill_loses_nothing_acknowledged(void **state)
{
    for (int i = 0; i < 300; i++) say(c, "KV.SET ['k',%d] %d", i, i);
    expect_many(c, 300, "@");
    const char *digest = ask(c, "DEBUG DIGEST");
    const char *version = ask(c, "KV.VERSION");
    group_again(true);
    assert_string_equal(ask(c, "DEBUG DIGEST"), digest);
    assert_true(strcmp(ask(c, "KV.ATOMIC"), version) > 0);
}

static void the_digest_sees_values_and_versions(void **state)
{
    expect(c, "@", "KV.SET ['a'] 1");
    const char *one = ask(c, "DEBUG DIGEST");
    expect(c, "@", "KV.SET ['a'] 1");
    const char *two = ask(c, "DEBUG DIGEST");
    assert_string_not_equal(one, two);
    expect(c, ":1", "KV.EXPIRE ['a'] 100");
    assert_string_not_equal(ask(c, "DEBUG DIGEST"), two);
    expect(c, "-ERR unknown subcommand or wrong number of arguments for 'FOO'*", "DEBUG FOO");
}

static void debug_is_refused_by_default(void **state)
{
    struct testserver *other = testserver_start(NULL);
    redisContext *d = testserver_connect(other);
    expect(d, "-ERR DEBUG command not allowed. *", "DEBUG DIGEST");
    redisFree(d);
    testserver_free(other);
}

static void a_second_server_on_the_directory_is_refused(void **state)
{
    struct testserver_options o = {.dir = testserver_dir(server)};
    testserver_refuses(&o, testserver_dir(server));
    expect(c, "+PONG", "PING");
}

static void wrong_settings_are_refused(void **state)
{
    const char *const unknown[] = {"--no-such-setting", "1", NULL};
    testserver_refuses(&(struct testserver_options){.args = unknown}, "no-such-setting");
    const char *const bad[] = {"--maxclients", "many", NULL};
    testserver_refuses(&(struct testserver_options){.args = bad}, "maxclients");
}

static void a_value_of_16_mb_is_kept(void **state)
{
    size_t len = ((size_t)16 << 20) - 5;
    char *value = malloc(len + 3);
    value[0] = value[len + 1] = '"';
    memset(value + 1, 'v', len);
    value[len + 2] = '\0';
    expect(c, "@", "KV.SET ['big'] %b", value, len + 2);
    redisReply *r = ask_reply(c, "KV.GET ['big']");
    assert_int_equal(r->len, len + 2);
    assert_memory_equal(r->str, value, len + 2);
    freeReplyObject(r);
    expect(c, "[:1 @]", "KV.APPEND ['l'] [1]");
    memset(value + 1, 'w', len);
    expect(c, "-LIMIT value of * bytes is larger than max-value-size (16777216)*",
           "KV.SET ['big'] [%b,1]", value, len + 2);
    group_again(false);
    r = ask_reply(c, "KV.GET ['big']");
    assert_int_equal(r->len, len + 2);
    assert_int_equal(r->str[len], 'v');
    freeReplyObject(r);
    free(value);
}

static void a_page_ends_at_16_mb(void **state)
{
    size_t len = (size_t)5 << 20;
    char *value = malloc(len + 1);
    memset(value, 'v', len);
    value[0] = value[len - 1] = '"';
    value[len] = '\0';
    for (int i = 0; i < 6; i++) expect(c, "@", "KV.SET ['p',%d] %b", i, value, len);
    free(value);
    redisReply *r = ask_reply(c, "KV.LIST PREFIX ['p']");
    assert_int_equal(r->element[1]->elements, 4);
    assert_string_not_equal(r->element[0]->str, "0");
    redisReply *rest = ask_reply(c, "KV.LIST PREFIX ['p'] CURSOR %s", r->element[0]->str);
    assert_int_equal(rest->element[1]->elements, 2);
    assert_string_equal(rest->element[0]->str, "0");
    freeReplyObject(rest);
    freeReplyObject(r);
    expect(c, "[0 [['p',0] ['p',1] ['p',2] ['p',3] ['p',4] ['p',5]]]", "KV.LIST KEYSONLY");
}

static void limits_are_told(void **state)
{
    expect(
        c,
        "[*key-bytes :2048*key-parts :64*value-bytes :16777216*transaction-ops "
        ":20000*transaction-bytes :67108864*pattern-bytes :1024 channel-bytes :16384 databases :4*]",
        "KV.LIMITS");
    expect(c, "-ERR wrong number of arguments for 'kv.limits' command; usage: KV.*", "KV.LIMITS x");
    expect(c, "-ERR wrong number of arguments for 'kv.version' command; usage: KV.*",
           "KV.VERSION x");
    expect(c, "-ERR wrong number of arguments for 'dbsize' command", "DBSIZE x");
}

/* A reply may not overtake the sync of what it depends on; others are not held up by it. */
static void an_acknowledgement_waits_for_the_sync(void **state)
{
    const char *const env[] = {"TUPLED_TEST_SYNC_DELAY_MS=800", NULL};
    struct testserver *slow = testserver_start(&(struct testserver_options){.env = env});
    redisContext *w = testserver_connect(slow);
    redisContext *r = testserver_connect(slow);
    long begin_ms = testserver_now_ms();
    expect(w, "@", "KV.SET ['a'] 1");
    assert_true(testserver_now_ms() - begin_ms >= 790);
    void *ignored = NULL;
    bool is_quick = false;
    for (int i = 0; i < 20 && !is_quick;
         i++) { /* on a busy machine it may take that long by chance */
        int is_sent = 0;
        if (i > 0) assert_int_equal(redisGetReply(w, &ignored), REDIS_OK);
        freeReplyObject(ignored);
        ignored = NULL;
        begin_ms = testserver_now_ms();
        say(w, "KV.SET ['a'] 2");
        while (!is_sent) assert_int_equal(redisBufferWrite(w, &is_sent), REDIS_OK);
        expect(r, "+PONG", "PING");
        is_quick = testserver_now_ms() - begin_ms < 790;
    }
    assert_true(is_quick);
    /* Who reads what is not yet on disk waits for the disk as well. */
    while (strcmp(ask(r, "KV.GET ['a']"), "2") != 0) testserver_pause();
    assert_true(testserver_now_ms() - begin_ms >= 790);
    assert_int_equal(redisGetReply(w, &ignored), REDIS_OK);
    freeReplyObject(ignored);
    redisFree(w);
    redisFree(r);
    testserver_free(slow);
}

static void shutdown_stops_the_server(void **state)
{
    struct testserver *other = testserver_start(NULL);
    redisContext *d = testserver_connect(other);
    expect(d, "@", "KV.SET ['a'] 1");
    expect(d, "-ERR syntax error", "SHUTDOWN SOON");
    expect(d, "-ERR No shutdown in progress.", "SHUTDOWN ABORT");
    assert_null(redisCommand(d, "SHUTDOWN NOSAVE"));
    redisFree(d);
    testserver_ends(other, 0);
    testserver_again(other);
    d = testserver_connect(other);
    expect(d, "1", "KV.GET ['a']");
    redisFree(d);
    testserver_free(other);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(databases_do_not_see_each_other),
        TEST(select_knows_how_many_there_are),
        TEST(flushes_empty_one_or_all),
        TEST(a_flush_is_kept_over_a_restart),
        TEST(a_restart_changes_nothing),
        TEST(a_kill_loses_nothing_acknowledged),
        TEST(the_digest_sees_values_and_versions),
        TEST(debug_is_refused_by_default),
        TEST(a_second_server_on_the_directory_is_refused),
        TEST(wrong_settings_are_refused),
        TEST(a_value_of_16_mb_is_kept),
        TEST(a_page_ends_at_16_mb),
        TEST(limits_are_told),
        TEST(an_acknowledgement_waits_for_the_sync),
        TEST(shutdown_stops_the_server),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
