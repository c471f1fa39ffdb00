/* io-threads: many clients at once, whose bytes are received and sent by several threads: each gets
 * its own replies, in order, and none before what it says is on disk. tsan server: yes
 */
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
#include "http2.h"
#include "load_help.h"
#include "tunnel.h"

#define CLIENTS 48
#define TLS_CLIENTS 24
#define ROUNDS 60
#define DEPTH 8
#define LIMIT_MS 60000
#define BIG_BYTES ((size_t)1 << 20)

static redisContext *c;
static struct load_client clients[CLIENTS];

/* What a client waits for: the number that it set last, or in a kill, the last that it heard of. */
struct owner {
    uint64_t said, heard;
    bool is_get; /* the next reply is one of GET */
};
static struct owner owners[CLIENTS];
/* Of their keys. What a connection had sent before it went may be run after that of the next one. */
static unsigned lives[CLIENTS];

static void on_reply(struct load_client *l, const redisReply *r)
{
    struct owner *o = l->arg;
    char wanted[32];
    if (o->is_get) {
        snprintf(wanted, sizeof wanted, "v%zu:%llu", l->number, (unsigned long long)o->heard);
        assert_int_equal(r->type, REDIS_REPLY_STRING);
        assert_string_equal(r->str, wanted);
    } else {
        assert_int_equal(r->type, REDIS_REPLY_STATUS);
        assert_string_equal(r->str, "OK");
        o->heard++;
    }
    o->is_get = !o->is_get;
}

static void open_all(void)
{
    memset(owners, 0, sizeof owners);
    for (size_t i = 0; i < CLIENTS; i++) {
        lives[i]++;
        clients[i] = (struct load_client){.number = i, .arg = &owners[i], .on_reply = on_reply};
        load_open(&clients[i], server);
    }
}

static void close_all(void)
{
    for (size_t i = 0; i < CLIENTS; i++) load_close(&clients[i]);
}

static void say_some(size_t i)
{
    for (size_t k = 0; k < DEPTH; k++) {
        unsigned long long n = (unsigned long long)++owners[i].said;
        load_say(&clients[i], "SET k%d.%u v%d:%llu", (int)i, lives[i], (int)i, n);
        load_say(&clients[i], "GET k%d.%u", (int)i, lives[i]);
    }
}

static void each_client_gets_its_own_replies(void **state)
{
    (void)state;
    long long reads = load_info(c, "io_threaded_reads_processed");
    long long writes = load_info(c, "io_threaded_writes_processed");
    open_all();
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < CLIENTS; i++) say_some(i);
        load_drain(clients, CLIENTS, LIMIT_MS);
    }
    for (size_t i = 0; i < CLIENTS; i++) assert_int_equal(owners[i].heard, ROUNDS * DEPTH);
    close_all();
    assert_true(load_info(c, "io_threaded_reads_processed") > reads);
    assert_true(load_info(c, "io_threaded_writes_processed") > writes);
}

/* Some go without a word in the middle of what they asked for, others are killed; then as many
 * come again. */
static void those_that_go_take_nobody_with_them(void **state)
{
    (void)state;
    open_all();
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < CLIENTS; i++) say_some(i);
        (void)load_turn(clients, CLIENTS, 1);
        for (size_t i = round % 3; i < CLIENTS; i += 3) {
            load_close(&clients[i]);
            owners[i] = (struct owner){0};
            lives[i]++;
            load_open(&clients[i], server);
            say_some(i);
        }
        if (round % 10 == 9) {
            for (size_t i = 0; i < CLIENTS; i++) say_some(i);
            (void)load_turn(clients, CLIENTS, 0);
            assert_true(ask_integer(c, "CLIENT KILL TYPE normal SKIPME yes") > 0);
            close_all();
            open_all();
        }
        load_drain(clients, CLIENTS, LIMIT_MS);
    }
    close_all();
    expect(c, "+PONG", "PING");
}

static void on_big(struct load_client *l, const redisReply *r)
{
    if (r->type == REDIS_REPLY_STATUS) return;
    assert_int_equal(r->type, REDIS_REPLY_STRING);
    assert_int_equal(r->len, BIG_BYTES);
    for (size_t i = 0; i < r->len; i++) {
        if ((size_t)r->str[i] != 'a' + l->number % 16) fail_msg("byte %zu of another", i);
    }
}

static void large_values_come_whole(void **state)
{
    char *big = malloc(BIG_BYTES);
    (void)state;
    assert_non_null(big);
    open_all();
    for (size_t i = 0; i < 16; i++) {
        memset(big, 'a' + (int)i, BIG_BYTES);
        clients[i].on_reply = on_big;
        load_say(&clients[i], "SET big%d %b", (int)i, big, BIG_BYTES);
        for (int k = 0; k < 3; k++) load_say(&clients[i], "GET big%d", (int)i);
    }
    load_drain(clients, CLIENTS, LIMIT_MS);
    close_all();
    free(big);
}

/* What a client has heard of is there after the machine went on without the process. */
static void what_was_acknowledged_is_kept(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        open_all();
        for (int turn = 0; turn < 40; turn++) {
            for (size_t i = 0; i < CLIENTS; i++) say_some(i);
            (void)load_turn(clients, CLIENTS, 5);
        }
        group_again(true);
        while (load_turn(clients, CLIENTS, 100)) {
        } /* what it had sent can still be read */
        for (size_t i = 0; i < CLIENTS; i++) {
            if (owners[i].heard == 0) continue;
            const char *text = ask(c, "GET k%d.%u", (int)i, lives[i]);
            const char *colon = strchr(text, ':');
            assert_non_null(colon);
            if (strtoull(colon + 1, NULL, 10) < owners[i].heard) {
                fail_msg("k%zu is %s, %llu was acknowledged", i, text,
                         (unsigned long long)owners[i].heard);
            }
        }
        close_all();
        expect(c, "+OK", "FLUSHALL");
    }
}

static void info_tells_whether_there_are_some(void **state)
{
    (void)state;
    assert_int_equal(load_info(c, "io_threads_active"), 1);
    struct testserver *alone = testserver_start_with("--io-threads", "1", NULL);
    redisContext *d = testserver_connect(alone);
    assert_int_equal(load_info(d, "io_threads_active"), 0);
    redisFree(d);
    testserver_free(alone);
}

/* What comes over one connection is never another's, though many are received from at once. */
static void requests_of_http2_are_their_own(void **state)
{
    enum { REQUESTS = 4 };
    struct h2 *conns[TLS_CLIENTS];
    int32_t ids[TLS_CLIENTS][REQUESTS];
    (void)state;
    for (size_t i = 0; i < TLS_CLIENTS; i++) {
        conns[i] = h2_open(server);
        h2_expect(conns[i], 200, "{'result':'PONG'}", "GET /ping", NULL, NULL);
    }
    long long reads = load_info(c, "io_threaded_reads_processed");
    for (int round = 0; round < ROUNDS; round++) {
        char text[64];
        assert_int_equal(kill(testserver_pid(server), SIGSTOP), 0);
        for (int i = 0; i < TLS_CLIENTS; i++) {
            for (int k = 0; k < REQUESTS; k++) {
                snprintf(text, sizeof text, "GET /echo/%d-%d-%d", round, i, k);
                ids[i][k] = h2_ask(conns[i], text, NULL, NULL);
            }
        }
        assert_int_equal(kill(testserver_pid(server), SIGCONT), 0);
        for (int i = 0; i < TLS_CLIENTS; i++) {
            for (int k = 0; k < REQUESTS; k++) {
                snprintf(text, sizeof text, "{\"result\":\"%d-%d-%d\"}", round, i, k);
                assert_string_equal(h2_wait(conns[i], ids[i][k])->body, text);
            }
        }
    }
    assert_true(load_info(c, "io_threaded_reads_processed") > reads);
    for (size_t i = 0; i < TLS_CLIENTS; i++) h2_close(conns[i]);
}

static void tls_is_helped_too(void **state)
{
    redisContext *tls[TLS_CLIENTS];
    (void)state;
    for (size_t i = 0; i < TLS_CLIENTS; i++) {
        tls[i] = tunnel_connect(testserver_tls_port(server), NULL);
        assert_non_null(tls[i]);
    }
    long long writes = load_info(c, "io_threaded_writes_processed");
    for (size_t round = 0; round < ROUNDS / 2; round++) {
        for (size_t i = 0; i < TLS_CLIENTS; i++) {
            say(tls[i], "SET t%d %d", (int)i, (int)round);
            say(tls[i], "GET t%d", (int)i);
            load_flush(tls[i]);
        }
        for (size_t i = 0; i < TLS_CLIENTS; i++) {
            char wanted[32];
            snprintf(wanted, sizeof wanted, "%zu", round);
            expect_next(tls[i], "+OK");
            expect_next(tls[i], wanted);
        }
    }
    assert_true(load_info(c, "io_threaded_writes_processed") >= writes);
    for (size_t i = 0; i < TLS_CLIENTS; i++) redisFree(tls[i]);
    tunnels_close();
}

static int start(void **state)
{
    group_opens(&c, NULL);
    return group_start_threads(state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, group_enter, group_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_client_gets_its_own_replies), TEST(those_that_go_take_nobody_with_them),
        TEST(large_values_come_whole),          TEST(tls_is_helped_too),
        TEST(requests_of_http2_are_their_own),  TEST(info_tells_whether_there_are_some),
        TEST(what_was_acknowledged_is_kept),
    };
    load_seed();
    return cmocka_run_group_tests(tests, start, group_stop);
}
