/* maxmemory-clients: what clients hold together has one bound. The client that holds most is
 * closed, with a line in the log; slow subscribers hold notes in place of messages before it comes
 * to that.
 */
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
#include "load_help.h"

#define LIMIT_MS 60000
#define MB (1 << 20)

static struct testserver *start_with(const char *bound)
{
    const char *const args[] = {"--maxmemory-clients", bound, NULL};
    return testserver_start(&(struct testserver_options){.is_release = true, .args = args});
}

static void set_value(redisContext *c, int key, size_t bytes)
{
    char *value = malloc(bytes + 3);
    assert_non_null(value);
    memset(value, 'v', bytes + 2);
    value[0] = value[bytes + 1] = '"';
    value[bytes + 2] = '\0';
    redisReply *r = redisCommand(c, "KV.SET [\"k\",%d] %s", key, value);
    assert_non_null(r);
    if (r->type != REDIS_REPLY_STRING) fail_msg("KV.SET: %s", r->str);
    freeReplyObject(r);
    free(value);
}

static void wait_for_evicted(redisContext *c, long long least)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (load_info(c, "evicted_clients") < least) {
        if (testserver_now_ms() > until) fail_msg("fewer than %lld clients were closed", least);
        testserver_pause();
    }
}

#define FEEDS 30

/* Each asks for all of 12 MB of history and reads nothing. */
static void feeds_that_nobody_reads_are_bounded(void **state)
{
    struct testserver *s = start_with("64mb");
    redisContext *c = testserver_connect(s);
    redisContext *l[FEEDS];
    for (int i = 0; i < 120; i++) set_value(c, i, 100000);
    for (int i = 0; i < FEEDS; i++) {
        l[i] = testserver_connect(s);
        say(l[i], "KV.CHANGES 0 COUNT 10000");
        load_flush(l[i]);
    }
    wait_for_evicted(c, 1);
    long long most = 0;
    long until = testserver_now_ms() + LIMIT_MS;
    for (bool is_quiet = false; !is_quiet;) {
        long long held = load_info(c, "mem_clients_normal");
        if (held > most) most = held;
        is_quiet = load_info(c, "blocked_clients") == 0;
        if (testserver_now_ms() > until) fail_msg("the feeds do not end");
    }
    printf("# held at most: %lld MB\n", most / MB);
    assert_true(most < 2 * 64 * MB);
    while (load_info(c, "mem_clients_normal") > 64 * MB) {
        if (testserver_now_ms() > until) fail_msg("the clients hold too much");
        testserver_pause();
    }
    assert_true(testserver_has_logged(s, "more than maxmemory-clients (67108864)"));
    set_value(c, 0, 10); /* others are served */
    for (int i = 0; i < FEEDS; i++) redisFree(l[i]);
    redisFree(c);
    testserver_free(s);
}

static void queue_much(redisContext *c, int megabytes)
{
    char *word = malloc(MB);
    assert_non_null(word);
    memset(word, 'w', MB);
    expect(c, "+OK", "MULTI");
    for (int i = 0; i < megabytes; i++) {
        redisReply *r = redisCommand(c, "SET k%d %b", i, word, (size_t)MB);
        if (r == NULL) break; /* closed */
        freeReplyObject(r);
    }
    free(word);
}

static void who_holds_most_is_closed_but_never_with_no_evict(void **state)
{
    struct testserver *s = start_with("48mb");
    redisContext *c = testserver_connect(s);
    redisContext *safe = testserver_connect(s);
    redisContext *big = testserver_connect(s);
    expect(safe, "+OK", "CLIENT NO-EVICT ON");
    expect(big, "+OK", "CLIENT SETNAME greedy");
    queue_much(safe, 22);
    queue_much(big, 15);
    assert_true(load_info(c, "mem_clients_transactions") >= 37 * MB);
    assert_int_equal(load_info(c, "evicted_clients"), 0);
    queue_much(c, 12);
    redisContext *other = testserver_connect(s);
    wait_for_evicted(other, 1);
    redisFree(other);
    redisReply *r = redisCommand(big, "PING");
    assert_null(r);
    assert_true(testserver_has_logged(s, "name=greedy closed: it uses most"));
    expect(safe, "+QUEUED", "SET k x");
    redisFree(c);
    redisFree(safe);
    redisFree(big);
    testserver_free(s);
}

/* CLIENT LIST shows what is counted. */
static void what_is_counted_is_what_is_told(void **state)
{
    struct testserver *s = start_with("0");
    redisContext *c = testserver_connect(s);
    redisContext *l = testserver_connect(s);
    expect(l, "+OK", "CLIENT SETNAME holder");
    queue_much(l, 5);
    redisReply *r = redisCommand(c, "CLIENT LIST");
    const char *line = strstr(r->str, "name=holder");
    assert_non_null(line);
    const char *held = strstr(line, "tot-mem=");
    assert_non_null(held);
    assert_in_range(strtoull(held + 8, NULL, 10), 5 * MB, 8 * MB);
    freeReplyObject(r);
    long long sum = load_info(c, "mem_clients_normal");
    assert_in_range(sum, 5 * MB, 8 * MB);
    assert_in_range(load_info(c, "mem_clients_transactions"), 5 * MB, 8 * MB);
    assert_int_equal(load_info(c, "maxmemory_clients"), 0);
    expect(c, "+OK", "CONFIG SET maxmemory-clients 1mb");
    wait_for_evicted(c, 1);
    expect(c, "+OK", "CONFIG RESETSTAT");
    assert_int_equal(load_info(c, "evicted_clients"), 0);
    redisFree(l);
    redisFree(c);
    testserver_free(s);
}

#define SUBSCRIBERS 300

/* 300 subscribers that do not read, 60 MB of changes: 18 GB of messages would be due, and a quarter
 * of a megabyte kept for each is too much. */
static void slow_subscribers_hold_notes_before_they_are_closed(void **state)
{
    struct testserver *s = start_with("64mb");
    redisContext *c = testserver_connect(s);
    redisContext *l[SUBSCRIBERS];
    int small = 64 * 1024;
    for (int i = 0; i < SUBSCRIBERS; i++) {
        l[i] = testserver_connect(s);
        setsockopt(l[i]->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        expect(l[i], "[subscribe kv:prefix:['k'] :1]", "SUBSCRIBE kv:prefix:['k']");
    }
    long long most = 0;
    for (int i = 0; i < 2000; i++) {
        set_value(c, i % 20, 30000);
        if (i % 100 != 0) continue;
        long long held = load_info(c, "mem_clients_normal");
        if (held > most) most = held;
    }
    printf("# held at most: %lld MB\n", most / MB);
    assert_true(most < 64 * MB);
    set_value(c, 7, 3);
    assert_int_equal(load_info(c, "evicted_clients"), 0);
    /* One that reads now hears of the newest state. */
    redisContext *one = l[0];
    int large = 4 << 20; /* or TCP's timers for a tiny window make it take minutes */
    setsockopt(one->fd, SOL_SOCKET, SO_RCVBUF, &large, sizeof large);
    for (bool is_told = false; !is_told;) {
        redisReply *r = NULL;
        assert_int_equal(redisGetReply(one, (void **)&r), REDIS_OK);
        is_told = r->elements == 3 && strstr(r->element[2]->str, "\"value\":\"vvv\"") != NULL;
        freeReplyObject(r);
    }
    for (int i = 0; i < SUBSCRIBERS; i++) redisFree(l[i]);
    redisFree(c);
    testserver_free(s);
}

static void a_large_message_to_many_is_bounded(void **state)
{
    struct testserver *s = start_with("16mb");
    redisContext *c = testserver_connect(s);
    redisContext *l[SUBSCRIBERS];
    char *word = malloc(MB);
    assert_non_null(word);
    memset(word, 'w', MB);
    for (int i = 0; i < SUBSCRIBERS; i++) {
        l[i] = testserver_connect(s);
        expect(l[i], "[subscribe news :1]", "SUBSCRIBE news");
    }
    long long before = load_info(c, "used_memory_peak");
    redisReply *r = redisCommand(c, "PUBLISH news %b", word, (size_t)MB);
    assert_int_equal(r->type, REDIS_REPLY_INTEGER);
    freeReplyObject(r);
    long long grown = load_info(c, "used_memory_peak") - before;
    printf("# grown by %lld MB\n", grown / MB);
    assert_true(grown < 100 * MB);
    assert_true(load_info(c, "evicted_clients") > 0);
    assert_true(load_info(c, "mem_clients_normal") <= 16 * MB);
    for (int i = 0; i < SUBSCRIBERS; i++) redisFree(l[i]);
    free(word);
    redisFree(c);
    testserver_free(s);
}

static void the_default_is_an_eighth_of_the_memory(void **state)
{
    struct testserver *s = testserver_start(NULL);
    redisContext *c = testserver_connect(s);
    expect(c, "[maxmemory-clients 12.5%]", "CONFIG GET maxmemory-clients");
    long long bound = load_info(c, "maxmemory_clients");
    long long eighth = load_info(c, "total_system_memory") / 8;
    assert_true(bound <= (eighth > 128 * MB ? eighth : 128 * MB));
    assert_true(bound >= 128 * MB); /* twice max-transaction-size */
    expect(c, "+OK", "CONFIG SET maxmemory-clients 1%%");
    expect(c, "[maxmemory-clients 1%]", "CONFIG GET maxmemory-clients");
    expect(c, "-ERR *must be 0, a size of at least 1mb*", "CONFIG SET maxmemory-clients 101%%");
    expect(c, "-ERR *must be 0, a size of at least 1mb*", "CONFIG SET maxmemory-clients 0%%");
    expect(c, "-ERR *must be 0, a size of at least 1mb*", "CONFIG SET maxmemory-clients 1kb");
    redisFree(c);
    testserver_free(s);
}

/* ---- block-max ------------------------------------------------------------------------------- */

static void block_waits_no_longer_than_block_max(void **state)
{
    static const char *const args[] = {"--block-max", "50", NULL};
    struct testserver *s = testserver_start(&(struct testserver_options){.args = args});
    redisContext *c = testserver_connect(s);
    long from = testserver_now_ms();
    expect(c, "(nil)", "KV.DEQUEUE q BLOCK 0");
    expect(c, "(nil)", "KV.DEQUEUE q BLOCK 1000000");
    expect(c, "(nil)", "KV.POLL BLOCK 0 KEYS 1 ['k'] NONE");
    expect(c, "[* []]", "KV.CHANGES 0 BLOCK 1000000");
    assert_true(testserver_now_ms() - from >= 4 * 50);
    expect(c, "+OK", "CONFIG SET block-max 0");
    redisContext *w = testserver_connect(s);
    say(c, "KV.DEQUEUE q BLOCK 0");
    load_flush(c);
    expect(w, "@*", "KV.ENQUEUE q 1");
    expect_next(c, "[[q @* 1 :1 *]]");
    redisFree(w);
    redisFree(c);
    testserver_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(feeds_that_nobody_reads_are_bounded),
        cmocka_unit_test(who_holds_most_is_closed_but_never_with_no_evict),
        cmocka_unit_test(what_is_counted_is_what_is_told),
        cmocka_unit_test(slow_subscribers_hold_notes_before_they_are_closed),
        cmocka_unit_test(a_large_message_to_many_is_bounded),
        cmocka_unit_test(the_default_is_an_eighth_of_the_memory),
        cmocka_unit_test(block_waits_no_longer_than_block_max),
    };
    return cmocka_run_group_tests_name("client_memory", tests, NULL, NULL);
}
