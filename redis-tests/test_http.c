/* HTTP/1.1 as a protocol: connections, requests in pieces and in rows, limits of size and time, what
 * every answer has, and that no byte of an answer leaves before what it depends on is durable. What
 * the requests do is test_http_api.c's, who may send them test_http_users.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "http.h"

#define LIMIT_MS 20000

static redisContext *r;
static struct http_conn *h;

/* A setting that a test changes, and what it was. */
static void set(const char *name, const char *value)
{
    expect(r, "+OK", "CONFIG SET %s %s", name, value);
}

/* ---- connections ----------------------------------------------------------------------------- */

static void a_connection_takes_one_request_after_the_other(void **state)
{
    for (int i = 0; i < 100; i++) {
        http_expect(h, 200, "{'result':'OK'}", "POST /", NULL, "['SET','a','1']");
        http_expect(h, 200, "{'result':'1'}", "GET /get/a", NULL, NULL);
    }
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    char text[200];
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "GET /echo/%d HTTP/1.1\r\nHost: localhost\r\n\r\n", i);
        http_say(h, text);
    }
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "{'result':'%d'}", i);
        http_expect_next(h, 200, text);
    }
}

/* A command that must wait lets nothing pass it. */
static void a_blocked_request_holds_those_after_it(void **state)
{
    http_ask(h, "POST /", NULL, "['KV.DEQUEUE','q','BLOCK','10000']");
    http_ask(h, "GET /ping", NULL, NULL);
    assert_false(http_is_readable(h, 200));
    expect(r, "*", "KV.ENQUEUE q 'hello'");
    http_expect_next(h, 200, "{'result':[['q',*hello*]]}");
    http_expect_next(h, 200, "{'result':'PONG'}");
}

static void bytes_may_come_one_by_one(void **state)
{
    const char *text = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8\r\n\r\n[\"PING\"]";
    for (const char *p = text; *p != '\0'; p++) {
        http_send(h, p, 1);
        testserver_pause();
    }
    http_expect_next(h, 200, "{'result':'PONG'}");
}

static void an_old_client_gets_one_answer(void **state)
{
    http_say(h, "GET /ping HTTP/1.0\r\n\r\nGET /ping HTTP/1.0\r\n\r\n");
    struct http_answer *a = http_next(h);
    assert_int_equal(a->status, 200);
    assert_string_equal(http_header_of(a, "connection"), "close");
    assert_string_equal(a->body, "{\"result\":\"PONG\"}");
    http_free(a);
    http_expect_end(h);
}

static void who_asks_for_the_end_gets_it(void **state)
{
    http_ask(h, "GET /ping", NULL, NULL);
    struct http_answer *a = http_next(h);
    assert_null(http_header_of(a, "connection"));
    http_free(a);
    http_ask(h, "GET /ping", "Connection: close\r\n", NULL);
    a = http_next(h);
    assert_string_equal(http_header_of(a, "connection"), "close");
    http_free(a);
    http_expect_end(h);
}

static void who_sends_no_more_is_answered(void **state)
{
    http_ask(h, "GET /ping", NULL, NULL);
    http_ask(h, "GET /echo/2", NULL, NULL);
    assert_int_equal(shutdown(h->fd, SHUT_WR), 0);
    http_expect_next(h, 200, "{'result':'PONG'}");
    http_expect_next(h, 200, "{'result':'2'}");
    http_expect_end(h);
}

static void half_a_request_at_the_end_is_nothing(void **state)
{
    http_say(h,
             "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30\r\n\r\n[\"SET\",\"half\",");
    assert_int_equal(shutdown(h->fd, SHUT_WR), 0);
    http_expect_end(h);
    expect(r, ":0", "EXISTS half");
}

static void other_protocols_are_refused(void **state)
{
    http_say(h, "*1\r\n$4\r\nPING\r\n\r\n");
    http_expect_next(h, 400, "{'error':'ERR *'}");
    http_expect_end(h);
}

static void after_a_refusal_nothing_is_run(void **state)
{
    http_say(h, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n"
                "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
                "GET /set/smuggled/1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    http_expect_next(h, 400, "{'error':'ERR both Content-Length and Transfer-Encoding'}");
    http_expect_end(h);
    expect(r, ":0", "EXISTS smuggled");
}

/* ---- methods and paths ----------------------------------------------------------------------- */

static void head_has_the_length_and_no_body(void **state)
{
    http_ask(h, "HEAD /livez", NULL, NULL);
    struct http_answer *a = http_next_head(h);
    assert_int_equal(a->status, 200);
    const char *length = http_header_of(a, "content-length");
    http_ask(h, "GET /livez", NULL, NULL);
    struct http_answer *b = http_next(h);
    assert_int_equal(b->status, 200);
    assert_string_equal(b->body, "{\"status\":\"ok\"}\n");
    assert_string_equal(http_header_of(b, "content-length"), length);
    http_free(a);
    http_free(b);
}

static void expect_allow(const char *what, int status, const char *allow)
{
    http_ask(h, what, NULL, NULL);
    struct http_answer *a = http_next(h);
    if (a->status != status) fail_msg("%s: %s", what, a->head);
    const char *found = http_header_of(a, "allow");
    if (found == NULL || strcmp(found, allow) != 0) fail_msg("%s: allow %s", what, found);
    char wanted[200];
    snprintf(wanted, sizeof wanted, "{\"error\":\"ERR method not allowed; this path supports %s\"}",
             allow);
    if (status == 405) assert_string_equal(a->body, wanted);
    http_free(a);
}

static void methods_are_told(void **state)
{
    expect_allow("OPTIONS /", 204, "GET, HEAD, POST, OPTIONS");
    expect_allow("OPTIONS /livez", 204, "GET, HEAD, OPTIONS");
    expect_allow("OPTIONS /pipeline", 204, "POST, OPTIONS");
    expect_allow("OPTIONS *", 204, "OPTIONS");
    expect_allow("DELETE /livez", 405, "GET, HEAD, OPTIONS");
    expect_allow("BREW /livez", 405, "GET, HEAD, OPTIONS");
    expect_allow("GET /pipeline", 405, "POST, OPTIONS");
    expect_allow("PUT /", 405, "GET, HEAD, POST, OPTIONS");
    expect_allow("DELETE /get/a", 405, "GET, POST, OPTIONS");
}

static void what_is_not_there_is_404(void **state)
{
    http_expect(h, 404, "{'error':'ERR there is no resource /nothing/here'}", "GET /nothing/here",
                NULL, NULL);
    http_expect(h, 404, "{'error':*}", "POST /livez2", NULL, "[]");
    http_expect(h, 404, "{'error':*}", "GET //get/a", NULL, NULL);
    http_expect(h, 404, "{'error':*}", "GET /%67et/a", NULL, NULL);
}

static void health_is_told_to_anybody(void **state)
{
    http_expect(h, 200, "{'status':'ok'}\n", "GET /livez", "Host: any.name\r\n", NULL);
    http_expect(h, 200, "{'status':'ok'}\n", "GET /readyz?verbose", "Host: any.name\r\n", NULL);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void every_answer_has_its_headers(void **state)
{
    static const char *const asked[] = {"GET /ping",     "GET /livez",  "GET /none",
                                        "PUT /pipeline", "GET /kv.set", "GET /"};
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        http_ask(h, asked[i], NULL, NULL);
        struct http_answer *a = http_next(h);
        assert_string_equal(http_header_of(a, "x-content-type-options"), "nosniff");
        assert_string_equal(http_header_of(a, "cache-control"), "no-store");
        assert_true(text_fits(http_header_of(a, "date"), "*, * * *:*:* GMT"));
        assert_null(http_header_of(a, "access-control-allow-origin"));
        if (a->status != 301) {
            assert_string_equal(http_header_of(a, "content-type"), "application/json");
        }
        http_free(a);
    }
}

static void errors_are_json(void **state)
{
    http_expect(h, 400, "{'error':'ERR unknown command *a*b*'}", "POST /", NULL, "['a\\'b']");
    http_expect(h, 400, "{'error':'ERR wrong number of arguments for *get* command'}", "GET /get",
                NULL, NULL);
    http_expect(h, 400, "{'error':'ERR invalid JSON: *'}", "POST /", NULL, "{");
}

/* What gzip makes of it, taken back. */
static void inflate_all(const struct http_answer *a, char *out, size_t size)
{
    z_stream z = {.next_in = (Bytef *)a->body,
                  .avail_in = (uInt)a->len,
                  .next_out = (Bytef *)out,
                  .avail_out = (uInt)size - 1};
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.avail_in, 0);
    out[size - 1 - z.avail_out] = '\0';
    inflateEnd(&z);
}

static void a_long_answer_is_compressed_when_asked(void **state)
{
    static char value[100000];
    static char out[200000];
    for (size_t i = 0; i + 1 < sizeof value; i++) value[i] = (char)('a' + i * i % 23);
    expect(r, "+OK", "SET long %s", value);
    http_ask(h, "GET /get/long", "Accept-Encoding: br, gzip\r\n", NULL);
    struct http_answer *a = http_next(h);
    assert_string_equal(http_header_of(a, "content-encoding"), "gzip");
    assert_string_equal(http_header_of(a, "vary"), "Accept-Encoding");
    assert_true(a->len < sizeof value / 2);
    inflate_all(a, out, sizeof out);
    assert_int_equal(strncmp(out, "{\"result\":\"", 11), 0);
    assert_int_equal(strncmp(out + 11, value, sizeof value - 1), 0);
    assert_string_equal(out + 11 + sizeof value - 1, "\"}");
    http_free(a);
    static const char *const plain[] = {"", "Accept-Encoding: br\r\n",
                                        "Accept-Encoding: gzip;q=0\r\n"};
    for (size_t i = 0; i < 3; i++) {
        http_ask(h, "GET /get/long", plain[i], NULL);
        a = http_next(h);
        assert_null(http_header_of(a, "content-encoding"));
        assert_int_equal(a->len, sizeof value - 1 + 13);
        http_free(a);
    }
    http_ask(h, "GET /ping", "Accept-Encoding: gzip\r\n", NULL);
    a = http_next(h);
    assert_null(http_header_of(a, "content-encoding"));
    http_free(a);
}

/* ---- bodies and limits ----------------------------------------------------------------------- */

static void a_body_may_come_in_chunks(void **state)
{
    http_say(h, "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                "3\r\n[\"E\r\n4;x\r\nCHO\"\r\n");
    http_say(
        h, "8\r\n,\"chunk\"\r\n1\r\n]\r\n0\r\nX: y\r\n\r\nGET /ping HTTP/1.1\r\nHost: a.b\r\n\r\n");
    http_expect_next(h, 200, "{'result':'chunk'}");
    http_expect_next(h, 421, "{'error':*}");
}

static void who_expects_100_is_told_to_go_on(void **state)
{
    http_say(
        h,
        "POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 8\r\n\r\n");
    struct http_answer *a = http_next(h);
    assert_string_equal(a->head, "HTTP/1.1 100 Continue\r\n\r\n");
    http_free(a);
    http_say(h, "[\"PING\"]");
    http_expect_next(h, 200, "{'result':'PONG'}");
    http_expect(h, 417, "{'error':*}", "POST /", "Expect: more\r\n", "[]");
    http_expect_end(h);
}

static void a_body_that_is_too_long_is_refused_before_it_comes(void **state)
{
    set("http-max-body", "2kb");
    http_say(h, "POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
                "Content-Length: 2049\r\n\r\n");
    http_expect_next(h, 413, "{'error':*http-max-body*}");
    http_expect_end(h);
    set("http-max-body", "64mb");
}

/* Who sends it all the same finds the answer: what it sends meanwhile is taken and dropped. */
static void who_sends_too_much_reads_why(void **state)
{
    static char part[100000];
    memset(part, 'x', sizeof part);
    set("http-max-body", "2kb");
    for (int i = 0; i < 10; i++) {
        struct http_conn *c = http_open(server);
        http_say(c, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n\r\n");
        for (int k = 0; k < 20; k++) http_send(c, part, sizeof part);
        http_expect_next(c, 413, "{'error':*http-max-body*}");
        http_close(c);
    }
    set("http-max-body", "64mb");
}

static void a_longest_body_is_taken(void **state)
{
    set("http-max-body", "2kb");
    char body[2049];
    memset(body, 'x', sizeof body);
    memcpy(body, "['ECHO','", 9);
    memcpy(body + 2046, "']", 3);
    http_expect(h, 200, "{'result':'xxx*'}", "POST /", NULL, body);
    set("http-max-body", "64mb");
}

static void a_slow_request_is_cut(void **state)
{
    set("http-request-timeout", "1");
    long begin = testserver_now_ms();
    http_say(h, "GET /ping HTTP/1.1\r\n");
    while (!http_is_readable(h, 100) && testserver_now_ms() - begin < LIMIT_MS) {
        if (send(h->fd, "X: y\r\n", 6, MSG_NOSIGNAL) < 0)
            break; /* bytes now and then do not help */
    }
    long took = testserver_now_ms() - begin;
    assert_in_range(took, 900, LIMIT_MS);
    set("http-request-timeout", "30");
}

static long input_bytes(void)
{
    redisReply *reply = redisCommand(r, "INFO stats");
    const char *at = strstr(reply->str, "total_net_input_bytes:");
    assert_non_null(at);
    long bytes = strtol(at + strlen("total_net_input_bytes:"), NULL, 10);
    freeReplyObject(reply);
    return bytes;
}

/* A client that sends a byte at a time is answered, but not read each time. */
static void a_request_in_drips_is_answered(void **state)
{
    static const char request[] = "GET /ping HTTP/1.1\r\nHost: localhost\r\nX: 1234\r\n\r\n";
    unsigned unread = 0;
    long before = input_bytes();
    long asked = input_bytes() - before;
    for (size_t at = 0; at < sizeof request - 1; at++) {
        before = input_bytes();
        assert_int_equal(send(h->fd, request + at, 1, MSG_NOSIGNAL), 1);
        usleep(10000);
        if (input_bytes() - before == asked) unread++;
    }
    http_expect_next(h, 200, "{'result':'PONG'}");
    assert_in_range(unread, 10, sizeof request - 16);
    http_expect(h, 200, "{'result':'PONG'}", "GET /ping", NULL, NULL);
}

static void an_idle_connection_is_closed(void **state)
{
    set("http-idle-timeout", "1");
    http_expect(h, 200, "{'result':'PONG'}", "GET /ping", NULL, NULL);
    long begin = testserver_now_ms();
    http_expect_end(h);
    assert_in_range(testserver_now_ms() - begin, 800, LIMIT_MS);
    /* One with a request is not idle. */
    struct http_conn *c = http_open(server);
    http_ask(c, "POST /", NULL, "['KV.DEQUEUE','idle','BLOCK','2500']");
    http_expect_next(c, 200, "{'result':*}");
    http_close(c);
    set("http-idle-timeout", "75");
}

/* ---- durability ------------------------------------------------------------------------------ */

#define DELAY_MS 300
#define MARGIN_MS 60

static void no_answer_leaves_before_what_it_depends_on_is_durable(void **state)
{
    static const char *const env[] = {"TUPLED_TEST_SYNC_DELAY_MS=300", NULL};
    struct testserver *s = testserver_start(
        &(struct testserver_options){.env = env, .has_http = true});
    struct http_conn *writer = http_open(s);
    struct http_conn *reader = http_open(s);
    struct http_conn *other = http_open(s);
    http_expect(reader, 200, "{'result':'PONG'}", "GET /ping", NULL, NULL);
    long begin = testserver_now_ms();
    http_ask(writer, "POST /", NULL, "['KV.SET','[\\'a\\']','1']");
    http_ask(writer, "GET /ping", NULL, NULL);
    while (testserver_now_ms() - begin < 20) testserver_pause();
    http_ask(reader, "POST /", NULL, "['KV.GET','[\\'a\\']']");
    http_ask(other, "GET /ping", NULL, NULL);
    assert_true(http_is_readable(other, 100));
    assert_false(http_is_readable(writer, 0));
    assert_false(http_is_readable(reader, 0));
    http_expect_next(reader, 200, "{'result':'1'}");
    assert_true(testserver_now_ms() - begin >= DELAY_MS - MARGIN_MS);
    assert_true(http_is_readable(writer, 200));
    http_expect_next(writer, 200, "{'result':'@'}");
    http_expect_next(writer, 200, "{'result':'PONG'}");
    /* Nor the one that a read of many commands makes. */
    http_ask(writer, "POST /", NULL, "['KV.SET','[\\'a\\']','2']");
    begin = testserver_now_ms();
    while (testserver_now_ms() - begin < 20) testserver_pause();
    http_ask(reader, "POST /pipeline", NULL, "[['PING'],['KV.GET','[\\'a\\']'],['PING']]");
    http_expect_next(reader, 200, "[{'result':'PONG'},{'result':'2'},{'result':'PONG'}]");
    assert_true(testserver_now_ms() - begin >= DELAY_MS - MARGIN_MS);
    http_close(writer);
    http_close(reader);
    http_close(other);
    testserver_free(s);
}

/* ---- much ------------------------------------------------------------------------------------ */

/* What is not read makes no other client wait, and all of it comes. */
static void long_answers_are_not_made_ahead(void **state)
{
    static char value[1000001];
    memset(value, 'v', sizeof value - 1);
    expect(r, "+OK", "SET big %s", value);
    for (int i = 0; i < 50; i++) http_ask(h, "GET /get/big", NULL, NULL);
    struct http_conn *c = http_open(server);
    http_expect(c, 200, "{'result':'PONG'}", "GET /ping", NULL, NULL);
    http_close(c);
    for (int i = 0; i < 50; i++) {
        struct http_answer *a = http_next(h);
        assert_int_equal(a->len, 1000000 + 13);
        http_free(a);
    }
}

/* Sends `part` so often, between '[' and ']'; the answer. */
static struct http_answer *send_much(struct testserver *s, const char *path, const char *part,
                                     size_t count)
{
    struct http_conn *c = http_open(s);
    char text[200];
    size_t len = strlen(part);
    size_t total = len * count + 1;
    char *body = malloc(total);
    assert_non_null(body);
    body[0] = '[';
    for (size_t i = 0; i < count; i++) memcpy(body + 1 + i * len, part, len);
    body[total - 1] = ']'; /* in place of the last comma */
    snprintf(text, sizeof text,
             "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n", path, total);
    http_say(c, text);
    http_send(c, body, total);
    free(body);
    struct http_answer *a = http_next(c);
    http_close(c);
    return a;
}

/* Much in one body is checked, run and answered in many turns: the server's end shows it. */
static void a_body_of_many_commands_takes_many_turns(void **state)
{
    struct testserver *s = testserver_start(
        &(struct testserver_options){.is_release = true, .has_http = true});
    struct http_answer *a = send_much(s, "/pipeline", "[\"PING\"],", 2000000);
    assert_int_equal(a->status, 200);
    assert_int_equal(a->len, 2000000 * 18 + 1);
    http_free(a);
    a = send_much(s, "/multi-exec", "[\"PING\"],", 500000);
    printf("# /multi-exec of 500000: %.100s\n", a->body);
    http_free(a);
    a = send_much(s, "/", "123,", 2000000);
    assert_int_equal(a->status, 400);
    http_free(a);
    a = send_much(s, "/", "\"12345678901234567890123456789\",", 1000000);
    assert_int_equal(a->status, 400);
    http_free(a);
    a = send_much(s, "/pipeline", "{\"a\":[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]},", 1000000);
    assert_int_equal(a->status, 400);
    http_free(a);
    testserver_free(s);
}

/* One word may be as long as RESP lets it be. Half a second and more before bodies were looked at in
 * parts; 131 ms on an idle machine since, up to 370 ms on a loaded one. A turn without commands may
 * take 40 in 100 of the bound. */
static void a_long_word_takes_no_long_turn(void **state)
{
    struct testserver *s = testserver_start(
        &(struct testserver_options){.is_release = true, .has_http = true, .turn_ms_max = 1000});
    size_t len = (size_t)60 << 20;
    char *part = malloc(len + 1);
    assert_non_null(part);
    memset(part, 'x', len);
    memcpy(part, "\"ECHO\",\"", 8);
    memcpy(part + len - 2, "\",", 3);
    struct http_answer *a = send_much(s, "/", part, 1);
    assert_int_equal(a->status, 200);
    assert_int_equal(a->len, len - 10 + 13);
    http_free(a);
    free(part);
    testserver_free(s);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(a_connection_takes_one_request_after_the_other),
        TEST(pipelined_requests_are_answered_in_order),
        TEST(a_blocked_request_holds_those_after_it),
        TEST(bytes_may_come_one_by_one),
        TEST(an_old_client_gets_one_answer),
        TEST(who_asks_for_the_end_gets_it),
        TEST(who_sends_no_more_is_answered),
        TEST(half_a_request_at_the_end_is_nothing),
        TEST(other_protocols_are_refused),
        TEST(after_a_refusal_nothing_is_run),
        TEST(head_has_the_length_and_no_body),
        TEST(methods_are_told),
        TEST(what_is_not_there_is_404),
        TEST(health_is_told_to_anybody),
        TEST(every_answer_has_its_headers),
        TEST(errors_are_json),
        TEST(a_long_answer_is_compressed_when_asked),
        TEST(a_body_may_come_in_chunks),
        TEST(who_expects_100_is_told_to_go_on),
        TEST(a_body_that_is_too_long_is_refused_before_it_comes),
        TEST(who_sends_too_much_reads_why),
        TEST(a_longest_body_is_taken),
        TEST(a_slow_request_is_cut),
        TEST(a_request_in_drips_is_answered),
        TEST(an_idle_connection_is_closed),
        TEST(no_answer_leaves_before_what_it_depends_on_is_durable),
        TEST(long_answers_are_not_made_ahead),
        TEST(a_body_of_many_commands_takes_many_turns),
        TEST(a_long_word_takes_no_long_turn),
    };
    group_opens(&r, NULL);
    group_opens_http(&h);
    return cmocka_run_group_tests(tests, group_start_http, group_stop);
}
