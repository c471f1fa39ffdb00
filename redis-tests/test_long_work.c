/* Filters and searches that take long: others are served meanwhile, the work has a limit, and ends
 * when its client goes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

#define LIMIT_MS 60000
#define BIG_BYTES (4 << 20)
#define BIG_KEYS 20
#define GONE 32 /* clients that ask and leave */

static redisContext *c, *d;

static int start(void **state)
{
    group_opens(&c, &d, NULL);
    server = testserver_start(&(struct testserver_options){.is_release = true, .has_http = true});
    return 0;
}

/* {"$or":[{"t":{"$containsi":"nothing0"}}, ...]} */
static char *filter_of(unsigned conditions)
{
    char *json = malloc(conditions * 48 + 32);
    size_t len = (size_t)sprintf(json, "{\"$or\":[");
    for (unsigned i = 0; i < conditions; i++) {
        len += (size_t)sprintf(json + len, "%s{\"t\":{\"$containsi\":\"nothing%u\"}}",
                               i > 0 ? "," : "", i);
    }
    sprintf(json + len, "]}");
    return json;
}

static void set_big(const char *key, size_t bytes)
{
    char *value = malloc(bytes + 16);
    sprintf(value, "{\"t\":\"");
    memset(value + 6, 'a', bytes);
    strcpy(value + 6 + bytes, "\"}");
    redisReply *r = redisCommand(c, "KV.SET %s %b", key, value, strlen(value));
    assert_true(r != NULL && r->type == REDIS_REPLY_STRING);
    freeReplyObject(r);
    free(value);
}

/* A look that takes most of a second: others go on. */
static void a_long_look_is_made_by_a_thread(void **state)
{
    char *filter = filter_of(28); /* 112 MB to pass over */
    set_big("[\"big\"]", BIG_BYTES);
    redisReply *r = NULL;
    assert_int_equal(redisAppendCommand(c, "KV.COUNT PREFIX [] WHERE %s", filter), REDIS_OK);
    int done = 0;
    assert_int_equal(redisBufferWrite(c, &done), REDIS_OK);
    /* Before its reply comes, many others are served; with the loop held up it would be one. */
    unsigned served = 0;
    long until = testserver_now_ms() + LIMIT_MS;
    c->flags &= ~REDIS_BLOCK;
    while (r == NULL) {
        expect(d, "+PONG", "PING");
        served++;
        assert_true(testserver_now_ms() < until);
        testserver_pause();
        char byte;
        if (recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0) break;
    }
    c->flags |= REDIS_BLOCK;
    expect_next(c, ":0");
    assert_true(served > 20);
    free(filter);
}

static void more_work_than_is_allowed_is_refused(void **state)
{
    char *filter = filter_of(900);
    set_big("[\"big\"]", BIG_BYTES);
    expect(c, "-LIMIT where: 901 conditions on a value of * bytes exceed the limit for work *",
           "KV.COUNT PREFIX [] WHERE %s", filter);
    expect(c, "-LIMIT where: *", "KV.LIST PREFIX [] WHERE %s", filter);
    expect(c, "-LIMIT where: *", "KV.DELRANGE PREFIX [] WHERE %s", filter);
    free(filter);
    filter = filter_of(3);
    expect(c, ":0", "KV.COUNT PREFIX [] WHERE %s", filter);
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.COUNT PREFIX [] WHERE %s", filter);
    expect(c, "-EXECABORT command 1 kv.count: LIMIT where: *", "EXEC");
    expect(c, "+OK", "KV.INDEX CREATE i PREFIX [] ON 1 n");
    expect(c, "@", "KV.SET ['small'] {'n':1,'t':'x'}");
    expect(c, "[0 [[['small'] *]]]", "KV.FIND i 1 WHERE {'t':'x'}");
    free(filter);
}

/* Many rows, each little work: in EXEC all of it counts. */
static void work_of_many_rows_is_added_up(void **state)
{
    char *filter = filter_of(500);
    for (int i = 0; i < 3000; i++)
        say(c, "KV.SET ['r',%d] {'t':'%s'}", i, "some text of some length");
    expect_many(c, 3000, "@");
    expect(c, ":0", "KV.COUNT PREFIX ['r'] WHERE %s", filter);
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.COUNT PREFIX ['r'] WHERE %s", filter);
    expect(c, "-EXECABORT command 1 kv.count: LIMIT where: the filter reads more bytes than *",
           "EXEC");
    free(filter);
}

/* Sends a count, and is gone. */
static void count_and_go(bool by_http, const char *filter)
{
    int port = by_http ? testserver_http_port(server) : testserver_port(server);
    redisContext *gone = redisConnect("127.0.0.1", port);
    assert_true(gone != NULL && gone->err == 0);
    if (by_http) {
        char body[4000];
        char text[5000];
        size_t at = (size_t)sprintf(body,
                                    "[\"KV.COUNT\",\"PREFIX\",\"[\\\"big\\\"]\",\"WHERE\",\"");
        for (const char *p = filter; *p != '\0'; p++) {
            if (*p == '"') body[at++] = '\\';
            body[at++] = *p;
        }
        strcpy(body + at, "\"]");
        int n = snprintf(text, sizeof text,
                         "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                         "Content-Length: %zu\r\n\r\n%s",
                         strlen(body), body);
        assert_int_equal(send(gone->fd, text, (size_t)n, MSG_NOSIGNAL), n);
    } else {
        int done = 0;
        assert_int_equal(redisAppendCommand(gone, "KV.COUNT PREFIX [\"big\"] WHERE %s", filter),
                         REDIS_OK);
        assert_int_equal(redisBufferWrite(gone, &done), REDIS_OK);
    }
    redisFree(gone);
}

/* However many clients wait for long looks, once they are gone nothing goes on for them. They are
 * looked at after a second, in which the threads of readers work; all of it together takes several
 * times as long on any machine.
 */
static void the_work_of_a_client_that_is_gone_ends(void **state)
{
    char *filter = filter_of(28);
    char key[32];
    expect(c, "+OK", "CONFIG SET scan-timeout 600000");
    for (int i = 0; i < BIG_KEYS; i++) {
        snprintf(key, sizeof key, "[\"big\",%d]", i);
        set_big(key, BIG_BYTES);
    }
    double begin = load_cpu_s(d);
    expect(c, "[0 []]", "KV.LIST PREFIX ['big',0] WHERE %s", filter);
    expect(c, "[0 []]", "KV.LIST START ['big',0] END ['big',1] WHERE %s", filter);
    double one = load_cpu_s(d) - begin;
    for (int i = 0; i < GONE; i++) count_and_go(i % 2 == 0, filter);
    begin = load_cpu_s(d);
    long until = testserver_now_ms() + 5 * LIMIT_MS;
    while (load_info(d, "store_scans_open") > 0) {
        if (testserver_now_ms() > until) fail_msg("scans of clients that are gone go on");
        testserver_pause();
    }
    double all = load_cpu_s(d) - begin;
    double whole = GONE * BIG_KEYS * one;
    if (all > whole / 2) fail_msg("%.3f s of %.3f s: looks go on", all, whole);
    free(filter);
    /* A thread may still be about to notice that its client is gone. */
    const char *count = "KV.COUNT PREFIX ['big'] WHERE {'t':{'$startsWith':'a'}}";
    while (text_fits(ask(c, count), "-TRYAGAIN too many long reads*")) {
        if (testserver_now_ms() > until) fail_msg("long reads of clients that are gone go on");
        testserver_pause();
    }
    expect(c, ":20", count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_long_look_is_made_by_a_thread, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(more_work_than_is_allowed_is_refused, group_enter,
                                        group_leave),
        cmocka_unit_test_setup_teardown(work_of_many_rows_is_added_up, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(the_work_of_a_client_that_is_gone_ends, group_enter,
                                        group_leave),
    };
    return cmocka_run_group_tests_name("long work", tests, start, group_stop);
}
