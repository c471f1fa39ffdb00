/* Keyspace notifications: which events are published of what, on which channels, when, and what the
 * setting says.
 */
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
#include "resp3.h"

static redisContext *c; /* who writes */
static redisContext *l; /* who listens */

static int start(void **state)
{
    group_opens(&c, &l, NULL);
    server = testserver_start(NULL);
    return 0;
}

static int enter(void **state)
{
    if (group_enter(state) != 0) return -1;
    expect(c, "+OK", "CONFIG SET notify-keyspace-events KEA");
    return 0;
}

/* Of the keys only: "<key> <event>" is what comes next. */
static void listen_to_keys(void)
{
    expect(l, "[psubscribe __keyspace*0__:* :1]", "PSUBSCRIBE __keyspace@0__:*");
}

static void expect_event_at(int line, const char *key, const char *event)
{
    char wanted[400];
    snprintf(wanted, sizeof wanted, "[pmessage __keyspace*0__:* __keyspace*0__:%s %s]", key, event);
    expect_next_at(__FILE__, line, l, wanted);
}
#define expect_event(key, event) expect_event_at(__LINE__, (key), (event))

static void expect_silence(void)
{
    expect(l, "[pong ]", "PING");
}

/* ---- which events ---- */

static void each_command_tells_its_event(void **state)
{
    static const struct {
        const char *command, *events; /* of k, with blanks between */
    } cases[] = {
        {"SET k 1", "set"},
        {"SET k 1 EX 100", "set expire"},
        {"SETEX k 100 5", "set expire"},
        {"MSET k 1", "set"},
        {"GETSET k 2", "set"},
        {"SETNX k 2", ""},
        {"SET k 3 NX", ""},
        {"INCR k", "incrby"},
        {"DECRBY k 2", "incrby"},
        {"INCRBYFLOAT k 1.5", "incrbyfloat"},
        {"APPEND k x", "append"},
        {"SETRANGE k 0 y", "setrange"},
        {"SETBIT k 1 0", "setbit"},
        {"EXPIRE k 100", "expire"},
        {"PERSIST k", "persist"},
        {"PERSIST k", ""},
        {"GETEX k EX 10", "expire"},
        {"GETEX k PERSIST", "persist"},
        {"GET k", ""},
        {"EXPIRE k -1", "del"},
        {"DEL k", ""},
        {"SET k 1", "set"},
        {"GETDEL k", "del"},
        {"KV.SET ['k'] 1", "set"},
        {"KV.SUM ['k'] 1", "incrby"},
        {"KV.EXPIRE ['k'] 100", "expire"},
        {"KV.ATOMIC SET ['k'] 1", "set"},
        {"KV.DEL ['k']", "del"},
        {"KV.ENQUEUE q 1", ""},
        {"RPUSH k a b c d", "rpush"},
        {"BLPOP k 0", "lpop"},
        {"BRPOP k 0", "rpop"},
        {"BLMPOP 0 1 k LEFT", "lpop"},
        {"RPOP k", "rpop del"},
        {"ZADD k 1 a 2 b 3 c 4 d", "zadd"},
        {"BZPOPMIN k 0", "zpopmin"},
        {"BZPOPMAX k 0", "zpopmax"},
        {"BZMPOP 0 1 k MIN", "zpopmin"},
        {"ZPOPMAX k", "zpopmax del"},
        {"SORT none STORE k", ""},
        {"RPUSH k 2 1", "rpush"},
        {"SORT k STORE k", "sortstore"},
        {"SORT none STORE k", "del"},
        {"GEOADD k 1 2 a 3 4 b", "zadd"},
        {"GEOADD k 1 2 a", ""},
        {"GEOADD k XX 1 3 a", "zadd"},
        {"GEOSEARCHSTORE k k FROMMEMBER a BYRADIUS 1 km", "geosearchstore"},
        {"GEORADIUS k 1 3 1 km STORE k", "georadiusstore"},
        {"GEORADIUS k 1 3 1 km", ""},
        {"GEORADIUSBYMEMBER k a 1 km STOREDIST k", "georadiusstore"},
        {"GEOSEARCHSTORE k none FROMMEMBER a BYRADIUS 1 km", "del"},
        {"GEOSEARCHSTORE k none FROMMEMBER a BYRADIUS 1 km", ""},
        {"PFADD k a", "pfadd"},
        {"PFCOUNT k", ""},
        {"PFMERGE k none", "pfadd"},
        {"DEL k", "del"},
    };
    listen_to_keys();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char first[16] = "";
        char second[16] = "";
        int count = sscanf(cases[i].events, "%15s %15s", first, second);
        freeReplyObject(ask_reply(c, cases[i].command));
        if (count > 0) expect_event("k", first);
        if (count > 1) expect_event("k", second);
        expect_silence();
    }
}

static void several_keys_are_told_each(void **state)
{
    expect(c, "+OK", "SET a 1");
    expect(c, "+OK", "SET d 1");
    listen_to_keys();
    expect(c, "+OK", "RENAME a b");
    expect_event("a", "rename_from");
    expect_event("b", "rename_to");
    expect(c, ":1", "COPY b e");
    expect_event("e", "copy_to");
    expect(c, ":3", "DEL b d e nosuch");
    expect_event("b", "del");
    expect_event("d", "del");
    expect_event("e", "del");
    expect(c, "+OK", "MSET x 1 y 2");
    expect_event("x", "set");
    expect_event("y", "set");
    freeReplyObject(ask_reply(c, "KV.DELRANGE START ['x'] END ['z']"));
    expect_event("x", "del");
    expect_event("y", "del");
    expect_silence();
}

static void expiry_is_told(void **state)
{
    listen_to_keys();
    expect(c, "+OK", "SET k 1 PX 30");
    expect_event("k", "set");
    expect_event("k", "expire");
    expect_event("k", "expired");
    expect_silence();
}

static void a_transaction_tells_the_last_event_of_each_key(void **state)
{
    listen_to_keys();
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "SET a 1");
    expect(c, "+QUEUED", "INCR a");
    expect(c, "+QUEUED", "SET b 1");
    expect(c, "+QUEUED", "DEL b");
    expect(c, "+QUEUED", "APPEND s x");
    expect_silence();
    expect(c, "[+OK :2 +OK :1 :1]", "EXEC");
    expect_event("a", "incrby");
    expect_event("b", "del");
    expect_event("s", "append");
    expect(c, "(nil)", "EVAL %s 0",
           "redis.call('set', 'x', 1) redis.call('setrange', 'x', 0, 'y')");
    expect_event("x", "setrange");
    expect(c, "-*", "EVAL %s 0", "redis.call('set', 'x', 1) error('no')");
    expect_silence();
}

static void tuples_are_named_by_their_path(void **state)
{
    listen_to_keys();
    expect(c, "@", "KV.SET ['u',42] 1");
    expect_event("u/#42", "set");
    expect(c, "+OK", "SET %s 1", "a/b c");
    expect_event("a/b c", "set");
    expect_silence();
}

/* ---- where ---- */

static void both_channels_are_told(void **state)
{
    expect(l, "[subscribe __keyspace*1__:k :1]", "SUBSCRIBE __keyspace@1__:k");
    expect(l, "[subscribe __keyevent*1__:del :2]", "SUBSCRIBE __keyevent@1__:del");
    expect(c, "+OK", "SET k 1"); /* another database */
    expect(c, ":1", "DEL k");
    expect(c, "+OK", "SELECT 1");
    expect(c, "+OK", "SET k 1");
    expect_next(l, "[message __keyspace*1__:k set]");
    expect(c, ":1", "DEL k");
    expect_next(l, "[message __keyspace*1__:k del]");
    expect_next(l, "[message __keyevent*1__:del k]");
    expect_silence();
}

static void the_writer_may_listen_itself(void **state)
{
    struct resp3 *x = resp3_connect(server);
    resp3_expect(x, ">[subscribe __keyspace*0__:k :1]", "SUBSCRIBE __keyspace@0__:k");
    resp3_expect(x, "+OK", "SET k 1");
    resp3_expect_next(x, ">[message __keyspace*0__:k set]");
    resp3_expect(x, "end", "ECHO end");
    resp3_close(x);
}

static void an_event_is_told_when_it_is_durable(void **state)
{
    static const char *const env[] = {"TUPLED_TEST_SYNC_DELAY_MS=300", NULL};
    struct testserver *s = testserver_start(
        &(struct testserver_options){.is_release = true, .env = env});
    redisContext *w = testserver_connect(s);
    redisContext *to = testserver_connect(s);
    expect(w, "+OK", "CONFIG SET notify-keyspace-events KA");
    expect(to, "[subscribe __keyspace*0__:k :1]", "SUBSCRIBE __keyspace@0__:k");
    long from = testserver_now_ms();
    say(w, "SET k 1");
    load_flush(w);
    expect_next(to, "[message __keyspace*0__:k set]");
    assert_true(testserver_now_ms() - from >= 250);
    expect_next(w, "+OK");
    redisFree(w);
    redisFree(to);
    testserver_free(s);
}

/* ---- the setting ---- */

static void the_setting_says_what_is_told(void **state)
{
    listen_to_keys();
    expect(c, "+OK", "CONFIG SET notify-keyspace-events K$");
    expect(c, "+OK", "SET k 1 EX 100");
    expect_event("k", "set");
    expect(c, ":1", "DEL k");
    expect(c, "+OK", "SET x 1");
    expect_event("x", "set");
    freeReplyObject(ask_reply(c, "KV.DELRANGE START ['x'] END ['z']"));
    expect_silence();
    expect(c, "+OK", "CONFIG SET notify-keyspace-events Kg");
    expect(c, "+OK", "SET x 1");
    freeReplyObject(ask_reply(c, "KV.DELRANGE START ['x'] END ['z']"));
    expect_event("x", "del");
    expect(c, "+OK", "SET k 1 EX 100");
    expect_event("k", "expire");
    expect(c, ":1", "DEL k");
    expect_event("k", "del");
    expect(c, "+OK", "CONFIG SET notify-keyspace-events EA");
    expect(c, "+OK", "SET k 1");
    expect_silence();
    expect(c, "+OK", "CONFIG SET notify-keyspace-events %s", "");
    expect(c, ":1", "DEL k");
    expect_silence();
}

static void the_setting_is_shown_as_redis_shows_it(void **state)
{
    static const char *const cases[][2] = {
        {"KEA", "AKE"},       {"AKE", "AKE"},     {"Kg$", "g$K"}, {"g$lshzxetdKE", "AKE"},
        {"Elshzt", "lshztE"}, {"KEAmn", "AKEmn"}, {"mx", "xm"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char wanted[100];
        expect(c, "+OK", "CONFIG SET notify-keyspace-events %s", cases[i][0]);
        snprintf(wanted, sizeof wanted, "[notify-keyspace-events %s]", cases[i][1]);
        expect(c, wanted, "CONFIG GET notify-keyspace-events");
    }
    expect(c, "-ERR CONFIG SET failed *Invalid event class character. Use 'Ag$lshzxeKEtmdn'.",
           "CONFIG SET notify-keyspace-events KEq");
    expect(c, "[notify-keyspace-events xm]", "CONFIG GET notify-keyspace-events");
}

/* More events than one turn sends come all the same, and in order. */
static void a_large_transaction_is_told_whole(void **state)
{
    enum { KEYS = 3000 };
    listen_to_keys();
    expect(c, "+OK", "MULTI");
    for (int i = 0; i < KEYS; i++) expect(c, "+QUEUED", "SET k:%d x", i);
    freeReplyObject(ask_reply(c, "EXEC"));
    for (int i = 0; i < KEYS; i++) {
        char key[20];
        snprintf(key, sizeof key, "k:%d", i);
        expect_event(key, "set");
    }
    expect_silence();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, group_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_command_tells_its_event),
        TEST(several_keys_are_told_each),
        TEST(expiry_is_told),
        TEST(a_transaction_tells_the_last_event_of_each_key),
        TEST(tuples_are_named_by_their_path),
        TEST(both_channels_are_told),
        TEST(the_writer_may_listen_itself),
        TEST(an_event_is_told_when_it_is_durable),
        TEST(the_setting_says_what_is_told),
        TEST(the_setting_is_shown_as_redis_shows_it),
        TEST(a_large_transaction_is_told_whole),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
