/* Streams of events by HTTP: no event is seen before its commit is on disk; a quiet stream stays
 * open by what is sent every 15 seconds; what a proxy is told; and how long a ticket opens one. */
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
#include "http.h"
#include "http2.h"
#include "load_help.h"

#define LIMIT_MS 20000

/* ---- quiet streams --------------------------------------------------------------------------- */

#define HEARTBEAT_MS 15000
#define SLACK_MS 2500

static struct http_conn *quiet[2];
static long quiet_since_ms;

/* They are opened before all tests and looked at after them. */
static int start(void **state)
{
    static const char *const what[2] = {"GET /subscribe/news",
                                        "GET /keyval/api/watch?keys=none&initial=false"};
    server = testserver_start(&(struct testserver_options){.has_http = true});
    for (int i = 0; i < 2; i++) {
        quiet[i] = http_open(server);
        http_ask(quiet[i], what[i], NULL, NULL);
        http_free(http_next(quiet[i]));
    }
    http_expect_event(quiet[0], "data: subscribe,news,1\n\n");
    quiet_since_ms = testserver_now_ms();
    return 0;
}

static int stop(void **state)
{
    for (int i = 0; i < 2; i++) http_close(quiet[i]);
    return group_stop(state);
}

static void a_quiet_stream_is_kept_open(void **state)
{
    long until = quiet_since_ms + HEARTBEAT_MS;
    /* If the other tests were that quick: nothing before. */
    if (testserver_now_ms() < until - SLACK_MS) {
        while (testserver_now_ms() < until - SLACK_MS) testserver_pause();
        for (int i = 0; i < 2; i++) assert_false(http_is_readable(quiet[i], 0));
    }
    http_expect_event(quiet[0], ": \n\n");
    http_expect_event(quiet[1], "event: ping\ndata: \n\n");
}

/* ---- tickets --------------------------------------------------------------------------------- */

static void ask_ticket(struct http_conn *c, char text[40])
{
    http_ask(c, "POST /ticket", NULL, "{'path':'/subscribe/news'}");
    struct http_answer *a = http_next(c);
    assert_int_equal(a->status, 200);
    assert_int_equal(sscanf(a->body, "{\"ticket\":\"%32[^\"]", text), 1);
    assert_true(text_fits(a->body, "*,\"opensWithinSeconds\":1}"));
    http_free(a);
}

static int status_with(struct testserver *s, const char *ticket)
{
    char what[100];
    struct http_conn *c = http_open(s);
    snprintf(what, sizeof what, "GET /subscribe/news?_ticket=%s", ticket);
    http_ask(c, what, NULL, NULL);
    struct http_answer *a = http_next(c);
    int status = a->status;
    http_free(a);
    http_close(c);
    return status;
}

static void wait_ms(long ms)
{
    long until = testserver_now_ms() + ms;
    while (testserver_now_ms() < until) testserver_pause();
}

/* Where a minute is a second and ten minutes are ten. */
static void a_ticket_ends_after_its_time(void **state)
{
    static const char *const env[] = {"TUPLED_TEST_TICKET_MS=1000", NULL};
    struct testserver *s = testserver_start(
        &(struct testserver_options){.env = env, .has_http = true});
    struct http_conn *c = http_open(s);
    char unused[40];
    char used[40];
    ask_ticket(c, unused);
    ask_ticket(c, used);
    assert_int_equal(status_with(s, used), 200);
    wait_ms(1500);
    assert_int_equal(status_with(s, unused), 401);
    assert_int_equal(status_with(s, used), 200); /* again, within ten times as long */
    wait_ms(10500);
    assert_int_equal(status_with(s, used), 401);
    http_close(c);
    testserver_free(s);
}

/* ---- proxies --------------------------------------------------------------------------------- */

/* A proxy that gathers an answer before it passes it on, or compresses it, keeps the events. */
static void no_proxy_may_gather_a_stream(void **state)
{
    static const char *const streams[] = {
        "GET /subscribe/news",
        "GET /db/0/subscribe/kv:prefix:[%22a%22]",
        "POST /subscribe/kv:queue:jobs",
        "GET /monitor",
        "GET /keyval/api/watch?keys=a/b",
        "GET /keyval/api/watch/prefix?prefix=a",
        "GET /keyval/api/queue/listen",
        "GET /keyval/api/kv/watch?prefix=a",
    };
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        struct http_conn *c = http_open(server);
        http_ask(c, streams[i], NULL, NULL);
        struct http_answer *a = http_next(c);
        if (a->status != 200) fail_msg("%s: %s", streams[i], a->head);
        assert_string_equal(http_header_of(a, "content-type"), "text/event-stream");
        assert_string_equal(http_header_of(a, "cache-control"), "no-store, no-transform");
        const char *buffering = http_header_of(a, "x-accel-buffering");
        if (buffering == NULL) fail_msg("%s: %s", streams[i], a->head);
        assert_string_equal(buffering, "no");
        http_free(a);
        http_close(c);
    }
    struct http_conn *c = http_open(server);
    http_ask(c, "POST /", NULL, "['PING']");
    struct http_answer *a = http_next(c);
    assert_string_equal(http_header_of(a, "cache-control"), "no-store");
    assert_null(http_header_of(a, "x-accel-buffering"));
    http_free(a);
    http_close(c);
}

/* ---- durability ------------------------------------------------------------------------------ */

#define STREAMS 4  /* by HTTP/1.1 ... */
#define STREAMS2 3 /* ... and by HTTP/2: all but that of the queue, whose messages one gets */
#define ROUNDS 3
#define STAMP_CHARS 20

static const char *const paths[STREAMS] = {
    "/subscribe/kv:watch:%5B%22a%22,%22b%22%5D",
    "/keyval/api/watch?keys=a/b&initial=false",
    "/keyval/api/watch/prefix?prefix=a&initial=false",
    "/keyval/api/queue/listen",
};

/* One stream for each path, by HTTP/1.1 and by HTTP/2. */
struct listening {
    struct http_conn *c[STREAMS];
    struct h2 *h;
    int32_t id[STREAMS2];
    size_t heard[STREAMS2]; /* bytes by HTTP/2 */
};

/* The key has a state and the streams have told it: nothing more is to come. */
static void listen_all(struct listening *l, struct testserver *s)
{
    char what[100];
    l->h = h2_open(s);
    for (int i = 0; i < STREAMS; i++) {
        l->c[i] = http_open(s);
        snprintf(what, sizeof what, "GET %s", paths[i]);
        http_ask(l->c[i], what, NULL, NULL);
        struct http_answer *a = http_next(l->c[i]);
        if (a->status != 200) fail_msg("%s: %s", paths[i], a->head);
        http_free(a);
        if (i >= STREAMS2) continue;
        l->id[i] = h2_ask(l->h, what, NULL, NULL);
        while (h2_answer(l->h, l->id[i])->status == 0) assert_true(h2_turn(l->h, 100));
    }
    http_expect_event(l->c[0], "data: subscribe,*");
    http_expect_event(l->c[0], "data: message,*");
    h2_wait_body(l->h, l->id[0], "data: subscribe,*data: message,*\n\n");
    for (int i = 0; i < STREAMS; i++) {
        assert_false(http_is_readable(l->c[i], 50));
        if (i < STREAMS2) l->heard[i] = h2_answer(l->h, l->id[i])->len;
    }
}

static void listen_end(struct listening *l)
{
    for (int i = 0; i < STREAMS; i++) http_close(l->c[i]);
    h2_close(l->h);
}

/* Up to which commit all is on disk, as a versionstamp. */
static void durable_now(redisContext *c, char stamp[STAMP_CHARS + 1])
{
    static const char name[] = "journal_version_durable:";
    redisReply *reply = ask_reply(c, "INFO everything");
    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    const char *at = strstr(reply->str, name);
    assert_non_null(at);
    snprintf(stamp, STAMP_CHARS + 1, "%s", at + sizeof name - 1);
    freeReplyObject(reply);
}

/* The event tells of a commit that is on disk now. */
static void expect_durable(redisContext *c, const char *event)
{
    char durable[STAMP_CHARS + 1];
    durable_now(c, durable);
    const char *at = strstr(event, "\"versionstamp\":\"");
    size_t skip = 16;
    if (at == NULL) { /* of a queue: its id begins with its commit */
        at = strstr(event, "\"id\":\"");
        skip = 6;
    }
    if (at == NULL) fail_msg("no event: %s", event);
    if (memcmp(at + skip, durable, 16) > 0) fail_msg("durable is %s: %s", durable, event);
}

/* Every stream hears of it, and when it does it is on disk. */
static void expect_held(redisContext *c, struct listening *l)
{
    bool is_heard[STREAMS + STREAMS2] = {0};
    long until = testserver_now_ms() + LIMIT_MS;
    for (int count = 0; count < STREAMS + STREAMS2;) {
        (void)h2_turn(l->h, 0);
        for (int i = 0; i < STREAMS; i++) {
            if (is_heard[i] || !http_is_readable(l->c[i], 0)) continue;
            expect_durable(c, http_event(l->c[i]));
            is_heard[i] = true;
            count++;
        }
        for (int i = 0; i < STREAMS2; i++) {
            const struct h2_answer *a = h2_answer(l->h, l->id[i]);
            if (is_heard[STREAMS + i] || a->len == l->heard[i]) continue;
            expect_durable(c, a->body + l->heard[i]);
            l->heard[i] = a->len;
            is_heard[STREAMS + i] = true;
            count++;
        }
        if (testserver_now_ms() > until)
            fail_msg("%d of %d streams heard it", count, STREAMS + STREAMS2);
    }
}

static void no_event_is_seen_before_its_commit_is_on_disk(void **state)
{
    static const char *const env[] = {"TUPLED_TEST_SYNC_DELAY_MS=300", NULL};
    struct testserver *s = testserver_start(
        &(struct testserver_options){.env = env, .has_http = true});
    redisContext *c = testserver_connect(s);
    redisContext *writer = testserver_connect(s);
    struct listening l;
    expect(c, "@", "KV.SET ['a','b'] 0");
    listen_all(&l, s);
    for (int i = 1; i <= ROUNDS; i++) {
        long begin = testserver_now_ms();
        say(writer, "KV.ATOMIC SET ['a','b'] %d ENQUEUE default %d", i, i);
        load_flush(writer);
        expect_held(c, &l);
        assert_true(testserver_now_ms() - begin >= 240);
        expect_next(writer, "@");
    }
    say(writer, "KV.ATOMIC SET ['a','b'] 99 ENQUEUE default 1");
    load_flush(writer);
    while (!http_is_readable(l.c[1], 0)) testserver_pause();
    testserver_kill(s);
    listen_end(&l);
    redisFree(c);
    redisFree(writer);
    testserver_again(s);
    c = testserver_connect(s);
    expect(c, "99", "KV.GET ['a','b']");
    redisFree(c);
    testserver_free(s);
}

int main(void)
{
#define TEST(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        TEST(no_proxy_may_gather_a_stream),
        TEST(a_ticket_ends_after_its_time),
        TEST(no_event_is_seen_before_its_commit_is_on_disk),
        TEST(a_quiet_stream_is_kept_open),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
