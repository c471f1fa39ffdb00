/* Commands by HTTP: one, several, all or none; what belongs to a connection is refused; channels and
 * MONITOR as events; and messages of queues, which are not lost with who asked for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "http.h"
#include "load_help.h"

#define LIMIT_MS 20000

static redisContext *r;
static struct http_conn *h;

#define expect_command(wanted, body) http_expect(h, 200, (wanted), "POST /", NULL, (body))
#define expect_error(wanted, body) http_expect(h, 400, (wanted), "POST /", NULL, (body))

/* ---- one command ----------------------------------------------------------------------------- */

static void replies_become_json(void **state)
{
    expect_command("{'result':'OK'}", "['SET','a','x']");
    expect_command("{'result':'x'}", "['GET','a']");
    expect_command("{'result':null}", "['GET','none']");
    expect_command("{'result':1}", "['INCR','n']");
    expect_command("{'result':['x',null]}", "['MGET','a','none']");
}

static void words_have_three_forms(void **state)
{
    expect_command("{'result':'-12.50'}", " [ 'ECHO' , -12.50 ] ");
    expect_command("{'result':'1e400'}", "['ECHO',1e400]");
    expect_command("{'result':'a\\n\\'\\u0000\xc3\xa9\xc3\xa9'}",
                   "['ECHO','a\\n\\'\\u0000\\u00e9\xc3\xa9']");
    expect_command("{'result':'abc'}", "['ECHO',{'$bytes':'YWJj'}]");
    expect_command("{'result':'x'}", "[{'$bytes':'RUNITw=='},'x']");
    expect_command("{'result':''}", "['ECHO','']");
}

static void what_is_no_command_is_refused(void **state)
{
    static const char *const bad[] = {"",
                                      "1",
                                      "{}",
                                      "[]",
                                      "'PING'",
                                      "[['PING']]",
                                      "['ECHO',null]",
                                      "['ECHO',true]",
                                      "['ECHO',['a']]",
                                      "['ECHO',{}]",
                                      "['ECHO',{'$bytes':1}]",
                                      "['ECHO',{'$bytes':'?'}]",
                                      "['ECHO',{'$bytes':'YQ==','b':1}]",
                                      "['ECHO',{'$byte':'YQ=='}]",
                                      "['PING'] 1",
                                      "['PING'"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect_error("{'error':'ERR *'}", bad[i]);
    expect_error("{'error':'ERR unknown command *'}", "['']");
}

static void errors_have_their_status(void **state)
{
    expect_error("{'error':'ERR unknown command *'}", "['NONE']");
    expect_error("{'error':'ERR wrong number*'}", "['GET']");
    http_expect(h, 400, "{'error':*}", "POST /", NULL, "['KV.SET','[1]','{']");
    http_expect(h, 404, "{'error':'NODB *'}", "POST /", NULL, "['KV.DB','DROP','none']");
}

static void words_may_be_in_the_path(void **state)
{
    http_expect(h, 200, "{'result':'OK'}", "GET /set/a%2Fb/%C3%A9+%2B", NULL, NULL);
    expect(r, "\xc3\xa9++", "GET a/b");
    http_expect(h, 200, "{'result':'OK'}", "POST /set/c", NULL, "any {body}");
    expect(r, "any {body}", "GET c");
    http_expect(h, 200, "{'result':'OK'}", "POST /set/c?EX=100", NULL, "x y");
    http_expect(h, 200, "{'result':'x y'}", "POST /get/c", NULL, ""); /* no body is no word */
    http_expect(h, 200, "{'result':'x y'}", "POST /get/c",
                "Transfer-Encoding: chunked\r\n\r\n0\r\n", NULL);
    expect(r, "x y", "GET c");
    assert_in_range(ask_integer(r, "TTL c"), 1, 100);
    http_expect(h, 200, "{'result':null}", "GET /set/c/1?PX=100000&NX&", NULL, NULL);
}

static void paths_that_cannot_be_decoded_are_refused(void **state)
{
    static const char *const bad[] = {"GET /echo/%", "GET /echo/%ff", "GET /echo/%00",
                                      "GET /echo/a?%", "GET /set/a/b?EX=%zz"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        http_expect(h, 400, "{'error':'ERR *percent-encoded*'}", bad[i], NULL, NULL);
    }
}

/* ---- what belongs to a connection ------------------------------------------------------------ */

static void what_belongs_to_a_connection_is_refused(void **state)
{
    static const char *const refused[] = {"SELECT','1",
                                          "AUTH','x",
                                          "HELLO','3",
                                          "MULTI",
                                          "EXEC",
                                          "DISCARD",
                                          "WATCH','a",
                                          "UNWATCH",
                                          "KV.FORMAT','MSGPACK",
                                          "QUIT",
                                          "RESET",
                                          "SUBSCRIBE','a",
                                          "PSUBSCRIBE','a",
                                          "UNSUBSCRIBE",
                                          "PUNSUBSCRIBE",
                                          "MONITOR",
                                          "CLIENT','SETNAME','x",
                                          "CLIENT','REPLY','OFF",
                                          "client','reply','SKIP",
                                          "CLIENT','NO-EVICT','ON",
                                          "CLIENT','SETINFO','LIB-NAME','x",
                                          "select','1"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        char body[100];
        snprintf(body, sizeof body, "['%s']", refused[i]);
        expect_error("{'error':'ERR * needs a connection, which HTTP does not have: *'}", body);
        snprintf(body, sizeof body, "[['SET','a','1'],['%s']]", refused[i]);
        http_expect(h, 400, "{'error':'ERR * needs a connection*'}", "POST /pipeline", NULL, body);
        http_expect(h, 400, "{'error':'ERR * needs a connection*'}", "POST /multi-exec", NULL,
                    body);
    }
    http_expect(h, 400, "{'error':'ERR * needs a connection*'}", "GET /select/1", NULL, NULL);
    http_expect(h, 400, "{'error':'ERR * needs a connection*'}", "GET /Multi", NULL, NULL);
    expect(r, ":0", "EXISTS a");
    expect_command("{'result':'PONG'}", "['PING']");
}

static void what_a_request_sets_ends_with_it(void **state)
{
    http_expect(h, 200, "[{'result':'OK'},{'result':'tuples'},{'result':1},{'result':'OK'}]",
                "POST /pipeline", NULL,
                "[['CLIENT','VIEW','TUPLES'],['CLIENT','VIEW'],['HSET','a/#1','f','v'],"
                "['CLIENT','EXEC-ON-ERROR','CONTINUE']]");
    http_expect(h, 200, "[{'result':'plain'},{'result':'user'},{'result':0}]", "POST /pipeline",
                NULL, "[['CLIENT','VIEW'],['CLIENT','EXEC-ON-ERROR'],['EXISTS','a/#1']]");
}

/* ---- several --------------------------------------------------------------------------------- */

static void a_pipeline_runs_all_in_order(void **state)
{
    http_expect(h, 200, "[{'result':'OK'},{'result':'1'},{'error':'ERR unknown*'},{'result':2}]",
                "POST /pipeline", NULL, "[['SET','n','1'],['GET','n'],['NONE'],['INCR','n']]");
    http_expect(h, 200, "[]", "POST /pipeline", NULL, "[]");
    http_expect(h, 200, "[{'result':''}]", "POST /pipeline", NULL, " [ [ 'ECHO' , '' ] ] ");
    http_expect(h, 200, "[{'error':'ERR *'},{'error':'ERR *'}]", "POST /pipeline", NULL,
                "[['a'],['GET']]");
}

static void nothing_runs_of_what_is_malformed(void **state)
{
    static const char *const bad[] = {"[['SET','m','1'],[]]",  "[['SET','m','1'],1]",
                                      "[['SET','m','1']",      "['SET','m','1']",
                                      "{'a':['SET','m','1']}", "[['SET','m','1'],['GET',null]]"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        http_expect(h, 400, "{'error':'ERR *'}", "POST /pipeline", NULL, bad[i]);
        http_expect(h, 400, "{'error':'ERR *'}", "POST /multi-exec", NULL, bad[i]);
    }
    expect(r, ":0", "EXISTS m");
}

static void a_transaction_is_all_or_nothing(void **state)
{
    http_expect(h, 200, "[{'result':'OK'},{'result':2}]", "POST /multi-exec", NULL,
                "[['SET','n','1'],['INCR','n']]");
    http_expect(h, 200, "[]", "POST /multi-exec", NULL, "[]");
    http_expect(h, 400, "{'error':'EXECABORT *'}", "POST /multi-exec", NULL,
                "[['SET','n','5'],['NONE']]");
    http_expect(h, 400, "{'error':'EXECABORT *'}", "POST /multi-exec", NULL,
                "[['SET','n','5'],['GET']]");
    expect(r, "2", "GET n");
    /* And it has left nothing of a transaction. */
    expect_command("{'result':'OK'}", "['SET','n','3']");
    expect(r, "3", "GET n");
}

/* What a reader sees of it is all of it. */
static void nobody_sees_half_of_a_transaction(void **state)
{
    struct http_conn *c = http_open(server);
    for (int i = 0; i < 200; i++) {
        char body[200];
        snprintf(body, sizeof body, "[['SET','x','%d'],['SET','y','%d']]", i, i);
        http_ask(h, "POST /multi-exec", NULL, body);
        http_ask(c, "POST /", NULL, "['MGET','x','y']");
        struct http_answer *a = http_next(c);
        int x = -1;
        int y = -1;
        if (strstr(a->body, "null") == NULL) {
            assert_int_equal(sscanf(a->body, "{\"result\":[\"%d\",\"%d\"]}", &x, &y), 2);
        }
        assert_int_equal(x, y);
        http_free(a);
        http_expect_next(h, 200, "[{'result':'OK'},{'result':'OK'}]");
    }
    http_close(c);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static void bytes_come_as_base64_when_asked(void **state)
{
    const char *ask64 = "Upstash-Encoding: Base64\r\n";
    http_expect(h, 200, "{'result':'OK'}", "POST /", ask64, "['SET','b',{'$bytes':'/wA='}]");
    http_expect(h, 200, "{'result':'/wA='}", "POST /", ask64, "['GET','b']");
    http_expect(h, 200, "[{'result':['/wA=',null]},{'result':2},{'error':'ERR *'}]",
                "POST /pipeline", ask64, "[['MGET','b','c'],['STRLEN','b'],['NONE']]");
    http_expect(h, 200, "[{'result':'/wA='}]", "POST /multi-exec", ask64, "[['GET','b']]");
    http_expect(h, 200, "{'result':'T0s='}", "GET /echo/OK", ask64, NULL);
}

static void bytes_that_are_no_text_are_an_error_otherwise(void **state)
{
    expect_command("{'result':'OK'}", "['SET','b',{'$bytes':'/w=='}]");
    expect_error("{'error':'ERR the command has taken effect, but *base64*'}", "['GET','b']");
    http_expect(h, 200, "[{'error':'ERR the command has taken effect, but *'},{'result':1}]",
                "POST /pipeline", NULL, "[['GET','b'],['STRLEN','b']]");
}

/* ---- events ---------------------------------------------------------------------------------- */

static void a_channel_is_a_stream_of_events(void **state)
{
    http_ask(h, "GET /subscribe/a%2Fb", NULL, NULL);
    struct http_answer *a = http_next(h);
    assert_int_equal(a->status, 200);
    assert_string_equal(http_header_of(a, "content-type"), "text/event-stream");
    assert_string_equal(http_header_of(a, "cache-control"), "no-store, no-transform");
    http_free(a);
    http_expect_event(h, "data: subscribe,a/b,1\n\n");
    for (int i = 0; i < 100; i++) {
        char wanted[100];
        expect(r, ":1", "PUBLISH a/b m%d", i);
        snprintf(wanted, sizeof wanted, "data: message,a/b,m%d\n\n", i);
        http_expect_event(h, wanted);
    }
    expect(r, ":1", "PUBLISH a/b %s", "one\ntwo\r\nthree\rfour\n\n");
    http_expect_event(
        h, "data: message,a/b,one\ndata: two\ndata: three\ndata: four\ndata: \ndata: \n\n");
    expect(r, ":1", "PUBLISH a/b %s", "data: evil\n\nevent: x");
    http_expect_event(h, "data: message,a/b,data: evil\ndata: \ndata: event: x\n\n");
}

static void a_watch_is_a_stream_of_events(void **state)
{
    http_ask(h, "GET /subscribe/kv:watch:[%22w%22]", NULL, NULL);
    http_expect_next(h, 200, "");
    http_expect_event(h, "data: subscribe,kv:watch:['w'],1\n\n");
    http_expect_event(h, "data: message,kv:watch:['w'],{'key':['w'],'value':null*\n\n");
    expect(r, "@", "KV.SET ['w'] 7");
    http_expect_event(h, "data: message,kv:watch:['w'],{'key':['w'],'value':7,*\n\n");
}

static void monitor_is_a_stream_of_events(void **state)
{
    http_ask(h, "GET /monitor", NULL, NULL);
    http_expect_next(h, 200, "");
    http_expect_event(h, "data: 'OK'\n\n");
    expect(r, "x", "ECHO x");
    http_expect_event(h, "data: * [0 127.0.0.1:*] 'ECHO' 'x'\n\n");
}

static void wait_for_listeners(const char *wanted)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (!text_fits(ask(r, "PUBSUB NUMSUB gone"), wanted)) {
        if (testserver_now_ms() > until) fail_msg("not %s", wanted);
        testserver_pause();
    }
}

static void who_goes_listens_no_more(void **state)
{
    http_ask(h, "GET /subscribe/gone", NULL, NULL);
    http_expect_next(h, 200, "");
    wait_for_listeners("[gone :1]");
    http_close(h);
    h = NULL;
    wait_for_listeners("[gone :0]");
}

static void a_stream_has_bounds(void **state)
{
    expect(r, "+OK", "CONFIG SET client-output-buffer-limit %s", "pubsub 1mb 0 0");
    http_ask(h, "GET /subscribe/gone", NULL, NULL);
    http_expect_next(h, 200, "");
    static char text[100001];
    memset(text, 'x', sizeof text - 1);
    long until = testserver_now_ms() + LIMIT_MS;
    while (ask_integer(r, "PUBLISH gone %s", text) == 1) {
        if (testserver_now_ms() > until) fail_msg("it is never cut");
    }
    expect(r, "+OK", "CONFIG SET client-output-buffer-limit %s", "pubsub 32mb 8mb 60");
}

/* ---- queues ---------------------------------------------------------------------------------- */

/* A message that was written to a client is its own: it comes back after its lease, as the second
 * attempt. One whose answer was never written comes back at once, as the first. */
static void what_was_not_written_costs_no_attempt(void **state)
{
    static const char *const env[] = {"TUPLED_TEST_SYNC_DELAY_MS=300", NULL};
    struct testserver *s = testserver_start(
        &(struct testserver_options){.env = env, .has_http = true});
    redisContext *c = testserver_connect(s);
    expect(c, "*", "KV.ENQUEUE jobs 1");
    struct http_conn *gone = http_open(s);
    http_ask(gone, "POST /", NULL, "['KV.DEQUEUE','jobs']");
    while (load_info(c, "journal_unsynced_transactions") == 0) testserver_pause();
    assert_false(http_is_readable(gone, 0));
    struct linger hard = {.l_onoff = 1}; /* RST: the server need not wait to know */
    setsockopt(gone->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    http_close(gone);
    expect(c, "[[jobs * 1 :1 *]]", "KV.DEQUEUE jobs BLOCK 10000");
    redisFree(c);
    testserver_free(s);
}

static void what_was_written_is_an_attempt(void **state)
{
    expect(r, "*", "KV.ENQUEUE jobs 1");
    struct http_conn *c = http_open(server);
    http_expect(c, 200, "{'result':[['jobs','*','1',1,'*']]}", "POST /", NULL,
                "['KV.DEQUEUE','jobs','LEASE','1000']");
    http_close(c);
    expect(r, "(nil)", "KV.DEQUEUE jobs");
    expect(r, "[[jobs * 1 :2 *]]", "KV.DEQUEUE jobs BLOCK 10000");
}

static void who_went_takes_no_message(void **state)
{
    struct http_conn *c = http_open(server);
    http_ask(c, "POST /", NULL, "['KV.DEQUEUE','later','BLOCK','60000']");
    long until = testserver_now_ms() + LIMIT_MS;
    while (load_info(r, "blocked_clients") == 0) {
        if (testserver_now_ms() > until) fail_msg("it does not block");
    }
    http_close(c);
    while (load_info(r, "blocked_clients") != 0) {
        if (testserver_now_ms() > until) fail_msg("it blocks after its end");
    }
    expect(r, "*", "KV.ENQUEUE later 1");
    expect(r, "[[later * 1 :1 *]]", "KV.DEQUEUE later BLOCK 1000");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(replies_become_json),
        TEST(words_have_three_forms),
        TEST(what_is_no_command_is_refused),
        TEST(errors_have_their_status),
        TEST(words_may_be_in_the_path),
        TEST(paths_that_cannot_be_decoded_are_refused),
        TEST(what_belongs_to_a_connection_is_refused),
        TEST(what_a_request_sets_ends_with_it),
        TEST(a_pipeline_runs_all_in_order),
        TEST(nothing_runs_of_what_is_malformed),
        TEST(a_transaction_is_all_or_nothing),
        TEST(nobody_sees_half_of_a_transaction),
        TEST(bytes_come_as_base64_when_asked),
        TEST(bytes_that_are_no_text_are_an_error_otherwise),
        TEST(a_channel_is_a_stream_of_events),
        TEST(a_watch_is_a_stream_of_events),
        TEST(monitor_is_a_stream_of_events),
        TEST(who_goes_listens_no_more),
        TEST(a_stream_has_bounds),
        TEST(what_was_not_written_costs_no_attempt),
        TEST(what_was_written_is_an_attempt),
        TEST(who_went_takes_no_message),
    };
    group_opens(&r, NULL);
    group_opens_http(&h);
    return cmocka_run_group_tests(tests, group_start_http, group_stop);
}
