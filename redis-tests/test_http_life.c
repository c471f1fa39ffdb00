/* The beginning and the end of a server that speaks HTTP: when /readyz says that it serves; what is
 * under way at the end is answered, streams of events end as they should, HTTP/2 says GOAWAY, and
 * nothing that may last for long is waited for. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "http.h"
#include "http2.h"
#include "load_help.h"

#define LIMIT_MS 20000
#define STOP_MS 20000 /* less than a request may take to come */

static redisContext *r;

static void begin(const char *sync_delay)
{
    const char *env[] = {sync_delay, NULL};
    server = testserver_start(&(struct testserver_options){.has_http = true, .env = env});
    r = testserver_connect(server);
}

static void wait_until_blocked(long long count)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (load_info(r, "blocked_clients") != count) {
        if (testserver_now_ms() > until) fail_msg("%lld", load_info(r, "blocked_clients"));
        testserver_pause();
    }
}

static void wait_until_unsynced(void)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (load_info(r, "journal_unsynced_transactions") == 0) {
        if (testserver_now_ms() > until) fail_msg("nothing is written");
    }
}

/* The server has been told to stop, and has heard it. */
static void tell_stop(void)
{
    long until = testserver_now_ms() + LIMIT_MS;
    redisFree(r);
    r = NULL;
    assert_int_equal(kill(testserver_pid(server), SIGTERM), 0);
    while (!testserver_has_logged(server, "signal 15: stopping")) {
        if (testserver_now_ms() > until) fail_msg("SIGTERM is not heard");
        testserver_pause();
    }
}

static void expect_last(struct http_conn *c, int status, const char *wanted)
{
    struct http_answer *a = http_next(c);
    if (a->status != status || !text_fits(a->body, wanted)) fail_msg("%s%s", a->head, a->body);
    const char *connection = http_header_of(a, "connection");
    if (connection == NULL || strcmp(connection, "close") != 0) fail_msg("%s", a->head);
    http_free(a);
    http_expect_end(c);
    http_close(c);
}

/* ---- the beginning --------------------------------------------------------------------------- */

#define BATCHES 60
#define BATCH 5000 /* ids of messages: as many as are read in a tick of 10 ms */

static void enqueue_many(void)
{
    static char ids[BATCH][12];
    static const char *argv[1 + BATCH * 5] = {"KV.ATOMIC"};
    for (int batch = 0; batch < BATCHES; batch++) {
        for (int i = 0; i < BATCH; i++) {
            const char **at = &argv[1 + 5 * i];
            snprintf(ids[i], sizeof ids[i], "%d", batch * BATCH + i);
            at[0] = "ENQUEUE";
            at[1] = "q";
            at[2] = "1";
            at[3] = "DEDUP";
            at[4] = ids[i];
        }
        redisReply *reply = redisCommandArgv(r, 1 + 5 * BATCH, argv, NULL);
        assert_non_null(reply);
        if (reply->type != REDIS_REPLY_STRING) fail_msg("%s", reply->str);
        freeReplyObject(reply);
    }
}

/* It takes connections while it still reads what queues keep in memory. */
static void it_is_ready_when_all_was_read(void **state)
{
    server = testserver_start(&(struct testserver_options){.has_http = true, .is_release = true});
    r = testserver_connect(server);
    enqueue_many();
    group_again(false);
    struct http_conn *c = http_open(server);
    http_expect(c, 503, "{'status':'not ready'}\n", "GET /readyz", NULL, NULL);
    http_expect(c, 503, "{'status':'not ready','why':'the server is starting: *'}\n",
                "GET /readyz?verbose", NULL, NULL);
    http_expect(c, 200, "{'status':'ok'}\n", "GET /livez", NULL, NULL);
    expect(r, "[[q * 1 :1 *]]", "KV.DEQUEUE q BLOCK 20000"); /* waits for the reading */
    long until = testserver_now_ms() + LIMIT_MS;
    for (int status = 0; status != 200;) {
        http_ask(c, "GET /readyz", NULL, NULL);
        struct http_answer *a = http_next(c);
        status = a->status;
        http_free(a);
        if (testserver_now_ms() > until) fail_msg("it is never ready");
    }
    http_close(c);
}

/* ---- HTTP/1.1 -------------------------------------------------------------------------------- */

static void streams_of_events_end_with_the_last_chunk(void **state)
{
    begin("TUPLED_TEST_SYNC_DELAY_MS=0");
    struct http_conn *c = http_open(server);
    http_ask(c, "GET /subscribe/news", NULL, NULL);
    http_free(http_next(c));
    http_expect_event(c, "data: subscribe,news,1\n\n");
    expect(r, ":1", "PUBLISH news last");
    tell_stop();
    http_expect_event(c, "data: message,news,last\n\n");
    http_expect_event(c, ""); /* 0 CR LF CR LF */
    http_expect_end(c);
    http_close(c);
    testserver_ends(server, 0);
}

static void who_is_blocked_is_answered(void **state)
{
    begin("TUPLED_TEST_SYNC_DELAY_MS=0");
    struct http_conn *c = http_open(server);
    http_ask(c, "POST /", NULL, "['KV.DEQUEUE','q','BLOCK','30000']");
    http_ask(c, "GET /set/after/1", NULL,
             NULL); /* not begun with: it comes after the last answer */
    wait_until_blocked(1);
    tell_stop();
    struct http_answer *a = http_next(c);
    assert_string_equal(a->body, "{\"result\":null}");
    assert_string_equal(http_header_of(a, "connection"), "close");
    http_free(a);
    testserver_ends(server, 0);
    http_close(c);
    testserver_again(server);
    r = testserver_connect(server);
    expect(r, ":0", "EXISTS after");
}

static void half_a_request_may_come(void **state)
{
    begin("TUPLED_TEST_SYNC_DELAY_MS=0");
    struct http_conn *idle = http_open(server);
    struct http_conn *fresh = http_open(server);
    struct http_conn *half = http_open(server);
    http_expect(idle, 200, "{'result':'PONG'}", "GET /ping", NULL, NULL);
    http_say(half, "GET /readyz?verbose HTTP/1.1\r\nHost: loc");
    http_expect(idle, 200, "{'result':'PONG'}", "GET /ping", NULL, NULL);
    tell_stop();
    http_say(half, "alhost\r\n\r\n");
    expect_last(half, 503, "{\"status\":\"not ready\",\"why\":\"the server is stopping\"}\n");
    http_expect_end(idle);
    http_expect_end(fresh);
    http_close(idle);
    http_close(fresh);
    testserver_ends(server, 0);
}

static void what_is_not_durable_is_answered_when_it_is(void **state)
{
    begin("TUPLED_TEST_SYNC_DELAY_MS=300");
    struct http_conn *c = http_open(server);
    http_ask(c, "POST /", NULL, "['KV.SET','[1]','1']");
    wait_until_unsynced();
    tell_stop();
    http_expect_next(c, 200, "{'result':'@'}");
    http_expect_end(c);
    http_close(c);
    testserver_ends(server, 0);
}

static void nobody_makes_the_end_long(void **state)
{
    begin("TUPLED_TEST_SYNC_DELAY_MS=0");
    struct http_conn *c = http_open(server);
    struct h2 *h = h2_open(server);
    h2_expect(h, 200, "{'result':'PONG'}", "GET /ping", NULL, NULL);
    (void)h2_ask_half(h, "POST /");
    http_say(c, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n[");
    (void)h2_turn(h, 50);
    long begin_ms = testserver_now_ms();
    tell_stop();
    testserver_ends(server, 0);
    assert_in_range(testserver_now_ms() - begin_ms, 900, STOP_MS);
    http_close(c);
    h2_close(h);
}

static void shutdown_by_http_ends_as_a_signal_does(void **state)
{
    begin("TUPLED_TEST_SYNC_DELAY_MS=0");
    struct http_conn *c = http_open(server);
    struct h2 *h = h2_open(server);
    int32_t last = 0;
    h2_expect(h, 200, "{'result':'PONG'}", "GET /ping", NULL, NULL);
    http_ask(c, "POST /", NULL, "['SHUTDOWN']");
    while (h2_turn(h, 100)) {
    }
    assert_true(h2_was_sent_away(h, 0, &last));
    redisFree(r);
    r = NULL;
    testserver_ends(server, 0);
    http_close(c);
    h2_close(h);
}

/* ---- HTTP/2 ---------------------------------------------------------------------------------- */

static void http2_says_goaway(void **state)
{
    begin("TUPLED_TEST_SYNC_DELAY_MS=0");
    struct h2 *h = h2_open(server);
    int32_t last = 0;
    h2_expect(h, 200, "{'result':'PONG'}", "GET /ping", NULL, NULL);
    int32_t id = h2_ask(h, "GET /ping", NULL, NULL);
    (void)h2_wait(h, id);
    long begin_ms = testserver_now_ms();
    tell_stop();
    while (h2_turn(h, 100)) {
        if (testserver_now_ms() - begin_ms > LIMIT_MS) fail_msg("it is not closed");
    }
    assert_true(h2_was_sent_away(h, 0, &last));
    assert_int_equal(last, id);
    testserver_ends(server, 0);
    h2_close(h);
}

static void streams_of_http2_come_to_their_end(void **state)
{
    begin("TUPLED_TEST_SYNC_DELAY_MS=300");
    struct h2 *h = h2_open(server);
    int32_t last = 0;
    int32_t events = h2_ask(h, "GET /subscribe/news", NULL, NULL);
    int32_t blocked = h2_ask(h, "POST /", NULL, "['KV.DEQUEUE','q','BLOCK','30000']");
    int32_t half = h2_ask_half(h, "POST /");
    h2_wait_body(h, events, "data: subscribe,news,1\n\n");
    wait_until_blocked(1);
    int32_t write = h2_ask(h, "POST /", NULL, "['KV.SET','[1]','1']");
    wait_until_unsynced();
    tell_stop();
    const struct h2_answer *a = h2_wait(h, write);
    assert_int_equal(a->status, 200);
    assert_int_equal(a->code, 0);
    a = h2_wait(h, events);
    assert_string_equal(a->body, "data: subscribe,news,1\n\n");
    assert_int_equal(a->code, 0);
    a = h2_wait(h, blocked);
    assert_string_equal(a->body, "{\"result\":null}");
    assert_int_equal(a->code, 0);
    assert_true(h2_was_sent_away(h, 0, &last));
    assert_int_equal(last, write);
    assert_false(h2_answer(h, half)->is_over);
    h2_close(h);
    testserver_ends(server, 0);
    testserver_again(server);
    r = testserver_connect(server);
    expect(r, "1", "KV.GET [1]");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, group_stop)
    const struct CMUnitTest tests[] = {
        TEST(it_is_ready_when_all_was_read),
        TEST(streams_of_events_end_with_the_last_chunk),
        TEST(who_is_blocked_is_answered),
        TEST(half_a_request_may_come),
        TEST(what_is_not_durable_is_answered_when_it_is),
        TEST(nobody_makes_the_end_long),
        TEST(shutdown_by_http_ends_as_a_signal_does),
        TEST(http2_says_goaway),
        TEST(streams_of_http2_come_to_their_end),
    };
    group_opens(&r, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
