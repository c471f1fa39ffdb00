/* HTTP/2: requests side by side, limits of each, what is held until it is durable, and messages that
 * were not written. Floods are test_http2_floods.c's; with other programs it is test_http2.sh. */
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
#include "http2.h"
#include "load_help.h"

static redisContext *r;
static struct h2 *h;

/* ---- requests -------------------------------------------------------------------------------- */

static void requests_are_answered_side_by_side(void **state)
{
    int32_t ids[100];
    int32_t blocked = h2_ask(h, "POST /", NULL, "['KV.DEQUEUE','q','BLOCK','20000']");
    for (int i = 0; i < 100; i++) {
        char what[40];
        snprintf(what, sizeof what, "GET /echo/%d", i);
        ids[i] = h2_ask(h, what, NULL, NULL);
    }
    for (int i = 99; i >= 0; i--) {
        char wanted[40];
        snprintf(wanted, sizeof wanted, "{\"result\":\"%d\"}", i);
        const struct h2_answer *a = h2_wait(h, ids[i]);
        assert_int_equal(a->status, 200);
        assert_string_equal(a->body, wanted);
    }
    assert_false(h2_answer(h, blocked)->is_over);
    expect(r, "*", "KV.ENQUEUE q 1");
    assert_int_equal(h2_wait(h, blocked)->status, 200);
}

static void the_core_is_that_of_http1(void **state)
{
    h2_expect(h, 200, "{'result':'OK'}", "POST /", NULL, "['SET','a','1']");
    h2_expect(h, 200, "[{'result':'1'}]", "POST /pipeline", "tupled-database: 0\n",
              "[['GET','a']]");
    h2_expect(h, 404, "{'error':*}", "GET /none", NULL, NULL);
    h2_expect(h, 405, "{'error':*}", "PUT /livez", NULL, "x");
    h2_expect(h, 421, "{'error':*}", "GET /get/a", ":authority: evil\n", NULL);
    h2_expect(h, 403, "{'error':*}", "GET /get/a", "origin: http://evil\n", NULL);
    h2_expect(h, 204, "", "OPTIONS /", NULL, NULL);
    h2_expect(h, 204, "", "OPTIONS *", NULL, NULL);
    const struct h2_answer *a = h2_wait(h, h2_ask(h, "HEAD /livez", NULL, NULL));
    assert_int_equal(a->status, 200);
    assert_int_equal(a->len, 0);
}

static void a_long_body_and_a_long_answer_come_whole(void **state)
{
    static char body[5000020];
    memset(body, 'x', sizeof body - 1);
    memcpy(body, "['ECHO','", 9);
    memcpy(body + sizeof body - 3, "']", 2);
    const struct h2_answer *a = h2_wait(h, h2_ask(h, "POST /", NULL, body));
    assert_int_equal(a->status, 200);
    assert_int_equal(a->len, sizeof body - 1 - 11 + 13);
}

static void too_much_is_refused(void **state)
{
    static char headers[3000] = "";
    expect(r, "+OK", "CONFIG SET http-max-body 2kb");
    char body[3000];
    memset(body, 'x', sizeof body - 1);
    body[sizeof body - 1] = '\0';
    h2_expect(h, 413, "{'error':*http-max-body*}", "POST /", NULL, body);
    expect(r, "+OK", "CONFIG SET http-max-body 64mb");
    for (int i = 0; i < 101; i++) {
        snprintf(headers + strlen(headers), sizeof headers - strlen(headers), "x%d: y\n", i);
    }
    h2_expect(h, 431, "{'error':*}", "GET /ping", headers, NULL);
    h2_expect(h, 200, "{'result':'PONG'}", "GET /ping", NULL, NULL);
}

/* A connection without a request may last as long as http-idle-timeout says. */
static void only_requests_have_to_come_in_time(void **state)
{
    expect(r, "+OK", "CONFIG SET http-request-timeout 1");
    h2_expect(h, 200, "{'result':'PONG'}", "GET /ping", NULL, NULL);
    long until = testserver_now_ms() + 2500;
    while (testserver_now_ms() < until) assert_true(h2_turn(h, 100));
    h2_expect(h, 200, "{'result':'PONG'}", "GET /ping", NULL, NULL);
    int32_t half = h2_ask_half(h, "POST /");
    long begin = testserver_now_ms();
    assert_int_not_equal(h2_wait(h, half)->code, 0);
    assert_in_range(testserver_now_ms() - begin, 900, 20000);
    h2_expect(h, 200, "{'result':'PONG'}", "GET /ping", NULL, NULL);
    expect(r, "+OK", "CONFIG SET http-request-timeout 30");
}

static void an_idle_connection_is_closed(void **state)
{
    expect(r, "+OK", "CONFIG SET http-idle-timeout 1");
    h2_expect(h, 200, "{'result':'PONG'}", "GET /ping", NULL, NULL);
    long begin = testserver_now_ms();
    while (h2_turn(h, 100)) {
        if (testserver_now_ms() - begin > 5000) fail_msg("it is not closed");
    }
    expect(r, "+OK", "CONFIG SET http-idle-timeout 75");
}

static void streams_of_events_stand_side_by_side(void **state)
{
    int32_t ids[50];
    for (int i = 0; i < 50; i++) {
        char what[40];
        snprintf(what, sizeof what, "GET /subscribe/c%d", i % 5);
        ids[i] = h2_ask(h, what, NULL, NULL);
    }
    for (int i = 0; i < 50; i++) h2_wait_body(h, ids[i], "data: subscribe,c*,1\n\n");
    for (int i = 0; i < 5; i++) expect(r, ":10", "PUBLISH c%d hello", i);
    for (int i = 0; i < 50; i++) h2_wait_body(h, ids[i], "data: s*data: message,c*,hello\n\n");
    h2_reset(h, ids[0]);
    h2_expect(h, 200, "{'result':9}", "GET /publish/c0/x", NULL, NULL);
    assert_string_equal(ask(r, "PUBSUB NUMSUB c0"), "[c0 :9]");
}

static void the_stream_of_a_user_who_is_deleted_is_reset(void **state)
{
    expect(r, "+OK", "ACL SETUSER bob on >pw +@all &*");
    int32_t id = h2_ask(h, "GET /subscribe/c", "authorization: Bearer bob:pw\n", NULL);
    h2_wait_body(h, id, "data: subscribe,c,1\n\n");
    expect(r, ":1", "ACL DELUSER bob");
    assert_int_not_equal(h2_wait(h, id)->code, 0);
    h2_expect(h, 200, "{'result':'PONG'}", "GET /ping", NULL, NULL);
    h2_expect(h, 401, "{'error':*}", "GET /ping", "authorization: Bearer bob:pw\n", NULL);
}

/* ---- durability ------------------------------------------------------------------------------ */

#define DELAY_MS 300

static struct testserver *start_slow(void)
{
    static const char *const env[] = {"TUPLED_TEST_SYNC_DELAY_MS=300", NULL};
    return testserver_start(&(struct testserver_options){.env = env, .has_http = true});
}

static void no_answer_leaves_before_what_it_depends_on_is_durable(void **state)
{
    struct testserver *s = start_slow();
    struct h2 *c = h2_open(s);
    struct h2 *d = h2_open(s);
    h2_expect(d, 200, "*", "GET /ping", NULL, NULL);
    long begin = testserver_now_ms();
    int32_t write = h2_ask(c, "POST /", NULL, "['KV.SET','[1]','1']");
    (void)h2_turn(c, 30);
    int32_t read = h2_ask(d, "POST /", NULL, "['KV.GET','[1]']");
    (void)h2_turn(d, 30);
    assert_int_equal(h2_answer(c, write)->status, 0);
    assert_int_equal(h2_answer(d, read)->status, 0);
    assert_string_equal(h2_wait(d, read)->body, "{\"result\":\"1\"}");
    assert_true(testserver_now_ms() - begin >= DELAY_MS - 60);
    assert_int_equal(h2_wait(c, write)->status, 200);
    h2_close(c);
    h2_close(d);
    testserver_free(s);
}

static void what_was_not_written_costs_no_attempt(void **state)
{
    struct testserver *s = start_slow();
    redisContext *c = testserver_connect(s);
    expect(c, "*", "KV.ENQUEUE jobs 1");
    struct h2 *gone = h2_open(s);
    h2_expect(gone, 200, "*", "GET /ping", NULL, NULL);
    int32_t id = h2_ask(gone, "POST /", NULL, "['KV.DEQUEUE','jobs']");
    while (load_info(c, "journal_unsynced_transactions") == 0) testserver_pause();
    assert_int_equal(h2_answer(gone, id)->status, 0);
    struct linger hard = {.l_onoff = 1}; /* RST: the server need not wait to know */
    setsockopt(h2_fd(gone), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    h2_close(gone);
    expect(c, "[[jobs * 1 :1 *]]", "KV.DEQUEUE jobs BLOCK 10000");
    redisFree(c);
    testserver_free(s);
}

static void what_was_written_is_an_attempt(void **state)
{
    expect(r, "*", "KV.ENQUEUE jobs 1");
    h2_expect(h, 200, "{'result':[['jobs','*','1',1,'*']]}", "POST /", NULL,
              "['KV.DEQUEUE','jobs','LEASE','1000']");
    h2_close(h);
    h = NULL;
    expect(r, "(nil)", "KV.DEQUEUE jobs");
    expect(r, "[[jobs * 1 :2 *]]", "KV.DEQUEUE jobs BLOCK 10000");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(requests_are_answered_side_by_side),
        TEST(the_core_is_that_of_http1),
        TEST(a_long_body_and_a_long_answer_come_whole),
        TEST(too_much_is_refused),
        TEST(only_requests_have_to_come_in_time),
        TEST(an_idle_connection_is_closed),
        TEST(streams_of_events_stand_side_by_side),
        TEST(the_stream_of_a_user_who_is_deleted_is_reset),
        TEST(no_answer_leaves_before_what_it_depends_on_is_durable),
        TEST(what_was_not_written_costs_no_attempt),
        TEST(what_was_written_is_an_attempt),
    };
    group_opens(&r, NULL);
    group_opens_http2(&h);
    return cmocka_run_group_tests(tests, group_start_http, group_stop);
}
