/* Clients of HTTP/2 that send floods of frames, or ask for much and take nothing: the server refuses
 * them or lives with them, while others are served. What others wait is measured, so it is the
 * release build. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "http2.h"
#include "load_help.h"

#define LIMIT_MS 20000
#define TAKES_MS 5000

static redisContext *r;
static struct h2 *h;

static int start(void **state)
{
    group_opens(&r, NULL);
    server = testserver_start(&(struct testserver_options){.is_release = true, .has_http = true});
    return 0;
}

static int enter(void **state)
{
    group_enter(state);
    h = h2_open(server);
    return 0;
}

static int leave(void **state)
{
    h2_close(h);
    h = NULL;
    return group_leave(state);
}

static int by_size(const void *a, const void *b)
{
    long x = *(const long *)a;
    long y = *(const long *)b;
    return x < y ? -1 : x > y;
}

static long now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* A turn of the loop is full after 10 ms; who comes in the middle of one waits for two. By the median:
 * some wait for whatever else the machine does, and one long turn is noticed by itself (server.h). */
#define WAIT_US_MAX 50000
#define TIMES_MAX 100000
static long times[TIMES_MAX];
static size_t time_count;

/* How long another client waits for an answer. */
static void look_from_beside(void)
{
    long begin = now_us();
    expect(r, "+PONG", "PING");
    if (time_count < TIMES_MAX) times[time_count++] = now_us() - begin;
}

static void begin_looking(void)
{
    time_count = 0;
}

static void expect_others_served(const char *what)
{
    while (time_count < 100) look_from_beside();
    qsort(times, time_count, sizeof times[0], by_size);
    long median = times[time_count / 2];
    printf("# %s: others waited %ld us (median), %ld us (p99), %ld us (longest)\n", what, median,
           times[time_count * 99 / 100], times[time_count - 1]);
    if (median > WAIT_US_MAX) fail_msg("%s: others waited %ld us", what, median);
}

static void put_frame(uint8_t *to, size_t len, uint8_t type, uint8_t flags, uint32_t id)
{
    to[0] = (uint8_t)(len >> 16);
    to[1] = (uint8_t)(len >> 8);
    to[2] = (uint8_t)len;
    to[3] = type;
    to[4] = flags;
    to[5] = (uint8_t)(id >> 24);
    to[6] = (uint8_t)(id >> 16);
    to[7] = (uint8_t)(id >> 8);
    to[8] = (uint8_t)id;
}

/* GET /ping of localhost: by indexes and literals of HPACK. */
static const uint8_t ping_head[] = {0x82, 0x86, 0x04, 5,   '/', 'p', 'i', 'n', 'g', 0x01,
                                    9,    'l',  'o',  'c', 'a', 'l', 'h', 'o', 's', 't'};

enum { HEADERS = 1, RST = 3, SETTINGS = 4, PING = 6, WINDOW = 8, CONTINUATION = 9 };
enum { END_STREAM = 1, END_HEADERS = 4 };

static size_t put_request(uint8_t *to, uint32_t id, uint8_t flags)
{
    put_frame(to, sizeof ping_head, HEADERS, flags, id);
    memcpy(to + 9, ping_head, sizeof ping_head);
    return 9 + sizeof ping_head;
}

static void rapid_resets_are_cut(void **state)
{
    uint8_t out[100];
    begin_looking();
    (void)h2_turn(h, 10);
    for (uint32_t i = 0; i < 5000 && !h2_has_ended(h); i++) {
        uint32_t id = 2 * i + 1;
        size_t len = put_request(out, id, END_STREAM | END_HEADERS);
        put_frame(out + len, 4, RST, 0, id);
        memcpy(out + len + 9, "\0\0\0\x08", 4);
        (void)h2_send_raw(h, out, len + 13);
        if (i % 50 == 0) look_from_beside();
    }
    for (int i = 0; i < 100 && h2_turn(h, 10); i++) look_from_beside();
    assert_true(h2_has_ended(h)); /* 5000 at once are over the bound */
    expect_others_served("5000 rapid resets");
}

/* As rapid as allowed: it lives. */
static void some_resets_are_allowed(void **state)
{
    for (int i = 0; i < 500; i++) {
        int32_t id = h2_ask(h, "GET /ping", NULL, NULL);
        if (i % 2 == 0) h2_reset(h, id);
        (void)h2_turn(h, 0);
    }
    h2_expect(h, 200, "{'result':'PONG'}", "GET /ping", NULL, NULL);
}

static void endless_heads_are_cut(void **state)
{
    uint8_t out[9 + 200];
    begin_looking();
    (void)h2_turn(h, 10);
    (void)h2_send_raw(h, out, put_request(out, 1, END_STREAM));
    for (int i = 0; i < 20000 && !h2_has_ended(h); i++) {
        put_frame(out, 0, CONTINUATION, 0, 1);
        (void)h2_send_raw(h, out, 9);
        if (i % 100 == 0) look_from_beside();
    }
    for (int i = 0; i < 100 && h2_turn(h, 10); i++) look_from_beside();
    assert_true(h2_has_ended(h));
    expect_others_served("20000 CONTINUATION frames");
}

/* Frames that must be answered, from a client that reads no answers. */
static void flood(uint8_t type, const uint8_t *payload, size_t len, int count, const char *what)
{
    uint8_t out[100];
    begin_looking();
    (void)h2_turn(h, 10);
    put_frame(out, len, type, 0, 0);
    memcpy(out + 9, payload, len);
    int i = 0;
    for (; i < count && !h2_has_ended(h); i++) {
        /* Where the kernel keeps few of its answers, it reads no more until they are taken. */
        if (!h2_takes(h, TAKES_MS)) break;
        (void)h2_send_raw(h, out, 9 + len);
        if (i % 1000 == 0) look_from_beside();
    }
    if (i < count) printf("# %d of %s\n", i, what);
    expect_others_served(what);
    long long bytes = load_info(r, "used_memory");
    printf("# used_memory %lld, the connection %s\n", bytes, h2_has_ended(h) ? "was cut" : "lives");
}

static void floods_of_pings_and_settings_cost_little(void **state)
{
    static const uint8_t zeros[8];
    static const uint8_t setting[6] = {0, 4, 0, 0, 0x10, 0};
    long long before = load_info(r, "used_memory");
    flood(PING, zeros, 8, 200000, "200000 PING frames");
    h2_close(h);
    h = h2_open(server);
    flood(SETTINGS, setting, 6, 200000, "200000 SETTINGS frames");
    h2_close(h);
    h = h2_open(server);
    flood(WINDOW, (const uint8_t *)"\0\0\0\1", 4, 200000, "200000 WINDOW_UPDATE frames");
    assert_true(load_info(r, "used_memory") - before < 20 << 20);
}

/* Most of what a connection holds is nghttp2's. */
static void the_memory_of_connections_is_counted(void **state)
{
    enum { COUNT = 100 };
    struct h2 *many[COUNT];
    long long before = load_info(r, "used_memory");
    for (int i = 0; i < COUNT; i++) {
        many[i] = h2_open(server);
        h2_expect(many[i], 200, "{'result':'PONG'}", "GET /ping", NULL, NULL);
    }
    long long each = (load_info(r, "used_memory") - before) / COUNT;
    printf("# a connection of HTTP/2 costs %lld bytes\n", each);
    for (int i = 0; i < COUNT; i++) h2_close(many[i]);
    assert_true(each > 20000);
}

/* Who asks for much and gives no room for it is cut after http-request-timeout. */
static void answers_that_are_not_taken_are_given_up(void **state)
{
    static char value[100001];
    int32_t ids[500];
    memset(value, 'v', sizeof value - 1);
    expect(r, "+OK", "SET big %s", value);
    expect(r, "+OK", "CONFIG SET http-request-timeout 2");
    struct h2 *c = h2_open_window(server, 0);
    begin_looking();
    for (int i = 0; i < 500; i++) {
        ids[i] = h2_ask(c, "GET /get/big", NULL, NULL);
        if (i % 10 == 0) look_from_beside();
        (void)h2_turn(c, 0);
    }
    long until = testserver_now_ms() + LIMIT_MS;
    while (load_info(r, "client_recent_max_output_buffer") < (long long)sizeof value) {
        if (testserver_now_ms() > until) fail_msg("what waits for room is not counted");
    }
    for (size_t over = 0; over < 500;) {
        over = 0;
        (void)h2_turn(c, 20);
        for (int i = 0; i < 500; i++) over += h2_answer(c, ids[i])->is_over;
        look_from_beside();
        if (testserver_now_ms() > until) fail_msg("only %zu of 500 are given up", over);
        if (h2_has_ended(c)) break;
    }
    expect_others_served("500 answers that are not taken");
    h2_close(c);
    expect(r, "+OK", "CONFIG SET http-request-timeout 30");
}

/* Pages that come and go. */
static void streams_of_events_come_and_go(void **state)
{
    enum { STREAMS = 900, CHANGES = 300 };
    static int32_t ids[STREAMS];
    begin_looking();
    for (int i = 0; i < STREAMS; i++) {
        ids[i] = h2_ask(h, "GET /subscribe/many", NULL, NULL);
        (void)h2_turn(h, 0);
    }
    for (int i = 0; i < STREAMS; i++) h2_wait_body(h, ids[i], "data: subscribe,many,1\n\n");
    long next = testserver_now_ms();
    for (int i = 0; i < CHANGES; i++, next += 10) {
        while (testserver_now_ms() < next) (void)h2_turn(h, 1);
        h2_reset(h, ids[i]);
        ids[i] = h2_ask(h, "GET /subscribe/many", NULL, NULL);
        if (i % 3 == 0) look_from_beside();
        if (i % 50 == 0) expect(r, "*", "PUBLISH many x");
    }
    for (int i = 0; i < STREAMS; i++) h2_wait_body(h, ids[i], "data: subscribe,many,1\n\n*");
    expect_others_served("900 streams, 100 a second of them anew");
    expect(r, ":900", "PUBLISH many end");
    for (int i = 0; i < STREAMS; i++) h2_wait_body(h, ids[i], "*data: message,many,end\n\n");
    assert_false(h2_has_ended(h));
    h2_close(h);
    h = NULL;
    long until = testserver_now_ms() + LIMIT_MS;
    while (strcmp(ask(r, "PUBSUB NUMSUB many"), "[many :0]") != 0) {
        if (testserver_now_ms() > until) fail_msg("who went still listens");
    }
}

/* Frames of random bytes, each with a head that may be one. */
static void any_frames_end_no_server(void **state)
{
    uint8_t out[9 + 64];
    struct testserver *s = testserver_start(&(struct testserver_options){.has_http = true});
    load_seed(); /* against the build with sanitizers */
    for (int i = 0; i < 300; i++) {
        struct h2 *c = h2_open(s);
        (void)h2_turn(c, 0);
        for (int k = 0; k < 40 && !h2_has_ended(c); k++) {
            size_t len = load_below(65);
            uint32_t id = (uint32_t)load_below(8);
            put_frame(out, len, (uint8_t)load_below(11), (uint8_t)load_random(), id);
            for (size_t b = 0; b < len; b++) out[9 + b] = (uint8_t)load_random();
            if (load_below(3) == 0) {
                len = put_request(out, id | 1, (uint8_t)load_below(8)) - 9;
            }
            (void)h2_send_raw(c, out, 9 + len);
        }
        h2_close(c);
    }
    struct h2 *c = h2_open(s);
    h2_expect(c, 200, "{'result':'PONG'}", "GET /ping", NULL, NULL);
    h2_close(c);
    testserver_free(s);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(rapid_resets_are_cut),
        TEST(some_resets_are_allowed),
        TEST(endless_heads_are_cut),
        TEST(floods_of_pings_and_settings_cost_little),
        TEST(the_memory_of_connections_is_counted),
        TEST(answers_that_are_not_taken_are_given_up),
        TEST(streams_of_events_come_and_go),
        TEST(any_frames_end_no_server),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
