/* Many connections, and some that behave badly: 10,000 that are idle beside 200 that work; half a
 * command and then nothing; announcing far more than is sent. Memory stays bounded, and all
 * others are served.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "load_help.h"

#define IDLE 10000
#define BUSY 200
#define ROUNDS 50 /* commands of each busy client */
#define HALF 500
#define LIMIT_MS 30000
#define IDLE_BYTES_MAX (6 * 1024) /* of server memory, each, when it has been idle for a while */
#define HALF_BYTES_MAX (192 * 1024)

static bool raise_file_limit(rlim_t wanted)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_max < wanted) return false;
    if (files.rlim_cur < wanted) files.rlim_cur = wanted;
    return setrlimit(RLIMIT_NOFILE, &files) == 0;
}

/* What is allocated, and not what the allocator keeps for later. */
static long long used_memory(redisContext *c)
{
    return load_info(c, "used_memory");
}

static void on_number(struct load_client *l, const redisReply *r)
{
    uint64_t *counter = l->arg;
    if (r->type != REDIS_REPLY_ARRAY) fail_msg("client %zu: %s", l->number, r->str);
    if (strtoull(r->element[0]->str, NULL, 10) != ++*counter) {
        fail_msg("client %zu: %s, not %llu", l->number, r->element[0]->str,
                 (unsigned long long)*counter);
    }
}

static void work(const struct testserver *s)
{
    static struct load_client busy[BUSY];
    static uint64_t counters[BUSY];
    static unsigned times; /* every call has counters of its own */
    memset(counters, 0, sizeof counters);
    times++;
    for (size_t i = 0; i < BUSY; i++) {
        busy[i] = (struct load_client){.number = i, .arg = &counters[i], .on_reply = on_number};
        load_open(&busy[i], s);
        for (int n = 0; n < ROUNDS; n++) {
            load_say(&busy[i], "KV.SUM ['n',%u,%u] 1", (unsigned)i, times);
        }
    }
    load_drain(busy, BUSY, LIMIT_MS);
    for (size_t i = 0; i < BUSY; i++) {
        assert_int_equal(counters[i], ROUNDS);
        load_close(&busy[i]);
    }
}

static void expect_pong(int fd)
{
    raw_send(fd, "PING\r\n", 6);
    raw_expect(fd, "+PONG\r\n");
}

static void ten_thousand_idle_connections_and_two_hundred_busy_ones(void **state)
{
    static int fds[IDLE];
    static const char *const args[] = {"--maxclients", "10500", NULL};
    if (!raise_file_limit(IDLE + BUSY + 100)) {
        printf("skip - ten thousand connections: not so many files may be open\n");
        skip();
    }
    struct testserver *s = testserver_start(
        &(struct testserver_options){.is_release = true, .args = args});
    redisContext *c = testserver_connect(s);
    long long before = used_memory(c);
    for (int i = 0; i < IDLE; i++) {
        fds[i] = raw_connect(s);
        expect_pong(fds[i]);
    }
    assert_int_equal(load_info(c, "connected_clients"), IDLE + 1);
    work(s);
    /* Their buffers are given back. */
    long until = testserver_now_ms() + LIMIT_MS;
    long long each = 0;
    do {
        if (testserver_now_ms() > until) fail_msg("%lld bytes for each idle connection", each);
        testserver_pause();
        each = (used_memory(c) - before) / IDLE;
    } while (each > IDLE_BYTES_MAX);
    fprintf(stderr, "# an idle connection costs %lld bytes\n", each);
    work(s);
    for (int i = 0; i < IDLE; i += 997) expect_pong(fds[i]);
    for (int i = 0; i < IDLE; i++) close(fds[i]);
    until = testserver_now_ms() + LIMIT_MS;
    while (load_info(c, "connected_clients") > 1) {
        if (testserver_now_ms() > until) fail_msg("connections are left");
        testserver_pause();
    }
    redisFree(c);
    testserver_free(s);
}

static void half_a_command_and_then_nothing_costs_little(void **state)
{
    /* 512 MB are announced, 40 KB are sent. */
    static const char head[] = "*3\r\n$6\r\nKV.SET\r\n$5\r\n[\"k\"]\r\n$536870912\r\n\"";
    static char body[40 * 1024];
    int fds[HALF];
    if (!raise_file_limit(HALF + 100)) skip();
    memset(body, 'x', sizeof body);
    struct testserver *s = testserver_start(&(struct testserver_options){.is_release = true});
    redisContext *c = testserver_connect(s);
    long long before = used_memory(c);
    for (int i = 0; i < HALF; i++) {
        fds[i] = raw_connect(s);
        raw_send(fds[i], head, sizeof head - 1);
        raw_send(fds[i], body, sizeof body);
    }
    work(s);
    long long each = (used_memory(c) - before) / HALF;
    fprintf(stderr, "# half a command costs %lld bytes\n", each);
    assert_true(each < HALF_BYTES_MAX);
    expect(c, "(nil)", "KV.GET ['k']");
    for (int i = 0; i < HALF; i++) close(fds[i]);
    redisFree(c);
    testserver_free(s);
}

/* Many clients announce many arguments: nothing is set aside for what has not come. */
static void a_million_announced_arguments_cost_nothing(void **state)
{
    static const char head[] = "*1048576\r\n$4\r\nPING\r\n";
    int fds[HALF];
    if (!raise_file_limit(HALF + 100)) skip();
    struct testserver *s = testserver_start(&(struct testserver_options){.is_release = true});
    redisContext *c = testserver_connect(s);
    long long before = used_memory(c);
    for (int i = 0; i < HALF; i++) {
        fds[i] = raw_connect(s);
        raw_send(fds[i], head, sizeof head - 1);
    }
    work(s);
    long long each = (used_memory(c) - before) / HALF;
    fprintf(stderr, "# a million announced arguments cost %lld bytes\n", each);
    assert_true(each < HALF_BYTES_MAX);
    for (int i = 0; i < HALF; i++) close(fds[i]);
    redisFree(c);
    testserver_free(s);
}

/* A client sends WAIT, then `more`, and goes away while it is blocked. */
static void go_away_blocked(const char *more)
{
    struct testserver *s = testserver_start(NULL);
    redisContext *c = testserver_connect(s);
    int fd = raw_connect(s);
    raw_send(fd, "WAIT 1 0\r\n", 10);
    load_wait_info(c, "blocked_clients", 1);
    raw_send(fd, more, strlen(more));
    close(fd);
    load_wait_info(c, "connected_clients", 1);
    assert_int_equal(load_info(c, "blocked_clients"), 0);
    redisFree(c);
    testserver_free(s);
}

/* That is noticed at once, not when the waiting would have ended. */
static void a_blocked_client_that_goes_away_is_forgotten(void **state)
{
    go_away_blocked("");
}

/* What it sent after the command lies in the socket, before the end of the connection. */
static void so_is_one_that_had_sent_more(void **state)
{
    go_away_blocked("PING\r\n");
}

/* How often a figure of INFO rises in a second, while nothing else is asked for `ms`. */
static double risen_each_second(redisContext *c, const char *figure, long ms)
{
    long begin = testserver_now_ms();
    long long before = load_info(c, figure);
    while (testserver_now_ms() - begin < ms) testserver_pause();
    return (double)(load_info(c, figure) - before) * 1000 / (double)(testserver_now_ms() - begin);
}

/* What is idle is not looked at, and an idle loop sleeps: 10 turns a second, and those of INFO. */
static void an_idle_server_sleeps(void **state)
{
    int fds[HALF];
    if (!raise_file_limit(HALF + 100)) skip();
    struct testserver *s = testserver_start(&(struct testserver_options){.is_release = true});
    redisContext *c = testserver_connect(s);
    for (int i = 0; i < HALF; i++) {
        fds[i] = raw_connect(s);
        expect_pong(fds[i]);
    }
    expect(c, "+OK", "SET a 1 PX 3600000");
    expect(c, "(nil)", "KV.DEQUEUE q BLOCK 10");
    /* What was done before has an end. */
    long until = testserver_now_ms() + LIMIT_MS;
    double turns = 0;
    do {
        if (testserver_now_ms() > until) fail_msg("%.0f turns a second", turns);
        turns = risen_each_second(c, "loop_turns", 2000);
    } while (turns > 30);
    double looks = risen_each_second(c, "connection_looks", 4000);
    fprintf(stderr, "# %.0f turns, %.0f looks at %d connections a second\n", turns, looks, HALF);
    assert_true(looks < HALF);
    assert_true(looks > 0); /* the figure is one */
    for (int i = 0; i < HALF; i++) close(fds[i]);
    redisFree(c);
    testserver_free(s);
}

/* Times that are known are kept while the loop sleeps. */
static void an_idle_server_keeps_its_times(void **state)
{
    struct testserver *s = testserver_start(NULL);
    redisContext *c = testserver_connect(s);
    redisContext *late = testserver_connect(s);
    expect(c, "+OK", "SET a 1 PX 700");
    freeReplyObject(ask_reply(c, "KV.ENQUEUE q 1 DELAY 500"));
    redisReply *r = redisCommand(late, "KV.DEQUEUE q BLOCK 60000");
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    freeReplyObject(r);
    r = redisCommand(late, "KV.DEQUEUE other BLOCK 300");
    assert_int_equal(r->type, REDIS_REPLY_NIL);
    freeReplyObject(r);
    long until = testserver_now_ms() + LIMIT_MS;
    while (load_info(c, "expired_keys") != 1) {
        if (testserver_now_ms() > until) fail_msg("what has expired is not removed");
        testserver_pause();
    }
    redisFree(late);
    redisFree(c);
    testserver_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_idle_connections_and_two_hundred_busy_ones),
        cmocka_unit_test(half_a_command_and_then_nothing_costs_little),
        cmocka_unit_test(a_million_announced_arguments_cost_nothing),
        cmocka_unit_test(a_blocked_client_that_goes_away_is_forgotten),
        cmocka_unit_test(so_is_one_that_had_sent_more),
        cmocka_unit_test(an_idle_server_sleeps),
        cmocka_unit_test(an_idle_server_keeps_its_times),
    };
    load_use_disk();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
