/* Clients that go while something of theirs is under way to the disk or from it: a message that was
 * pushed and not sent, a change that is to be told and has to be read first. The servers' disks are
 * slow (TUPLED_TEST_SYNC_DELAY_MS, TUPLED_TEST_READ_DELAY_MS).
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
#include "load_help.h"

#define LIMIT_MS 20000

/* ---- queues ---------------------------------------------------------------------------------- */

/* The subscriber dies while what it was pushed waits for the sync. False when it had been sent
 * already: on a crowded machine the disk may be the faster one. */
static bool dies_before_it_is_sent(struct testserver *s, redisContext *a)
{
    redisContext *b = testserver_connect(s);
    redisContext *writer = testserver_connect(s);
    long until = testserver_now_ms() + LIMIT_MS;
    long long id = ask_integer(b, "CLIENT ID");
    expect(b, "[subscribe kv:queue:q :1]", "SUBSCRIBE kv:queue:q");
    say(writer, "KV.ENQUEUE q 1 BACKOFF 2 1000000 1000000");
    load_flush(writer);
    while (load_info(a, "queue_leased") == 0) { /* told at once, durable or not */
        if (testserver_now_ms() > until) fail_msg("nothing is pushed");
    }
    expect(a, ":1", "CLIENT KILL ID %lld", id);
    void *reply = NULL;
    bool is_sent = redisGetReply(b, &reply) == REDIS_OK;
    if (is_sent) freeReplyObject(reply);
    redisFree(b);
    expect_next(writer, "*");
    redisFree(writer);
    return !is_sent;
}

static void a_message_that_was_pushed_and_not_sent_costs_no_attempt(void **state)
{
    const char *env[] = {"TUPLED_TEST_SYNC_DELAY_MS=300", NULL};
    struct testserver *s = testserver_start(&(struct testserver_options){.env = env});
    redisContext *a = testserver_connect(s);
    long until = testserver_now_ms() + 4 * LIMIT_MS;
    for (bool is_done = false; !is_done;) {
        if (testserver_now_ms() > until) fail_msg("it is always sent before the client dies");
        is_done = dies_before_it_is_sent(s, a);
        /* Sent: it counts, and would come again after a long time. */
        if (!is_done) expect(a, ":1", "KV.QUEUE PURGE q");
    }
    expect(a, "[[q * 1 :1 *]]", "KV.DEQUEUE q BLOCK 10000");
    redisFree(a);
    testserver_free(s);
}

/* ---- watches --------------------------------------------------------------------------------- */

#define KEYS 200
#define VALUE_BYTES 100000

static void wait_for(redisContext *c, const char *field, bool is_zero)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while ((load_info(c, field) == 0) != is_zero) {
        if (testserver_now_ms() > until) fail_msg("%s is %lld", field, load_info(c, field));
        testserver_pause();
    }
}

/* More than its output and the sockets hold: keys are noted. Then all of it is in the store, and
 * most of it is not in the cache. */
static void write_beyond_the_output(redisContext *c)
{
    static char pad[VALUE_BYTES];
    memset(pad, 'p', sizeof pad - 1);
    for (int i = 0; i < KEYS; i++) {
        say(c, "KV.SET ['s',%d] '%s'", i, pad);
        if (i % 10 == 9) expect_many(c, 10, "@");
    }
    wait_for(c, "memtable_entries", true);
}

/* Reads until the server has to read a noted key from the disk. */
static void read_until_a_note_waits(redisContext *c, redisContext *l)
{
    long until = testserver_now_ms() + LIMIT_MS;
    long long before = load_info(c, "store_reads_waited");
    unsigned heard = 0;
    while (load_info(c, "store_reads_waited") == before) {
        if (testserver_now_ms() > until) fail_msg("no note is read, %u messages heard", heard);
        void *reply = NULL;
        if (!load_is_readable(l, 10)) continue;
        assert_int_equal(redisBufferRead(l), REDIS_OK);
        while (redisGetReplyFromReader(l, &reply) == REDIS_OK && reply != NULL) {
            heard++;
            freeReplyObject(reply);
            reply = NULL;
        }
    }
}

/* Its connection goes while a key that is to be told to it is being read. Who comes then may get
 * its memory and its file descriptor, and hears nothing of it. */
static void a_watcher_may_go_while_a_noted_key_is_read(void **state)
{
    const char *env[] = {"TUPLED_TEST_READ_DELAY_MS=300", NULL};
    const char *args[] = {"--memtable-age", "50", "--cache-size", "1mb", NULL};
    struct testserver *s = testserver_start(&(struct testserver_options){.env = env, .args = args});
    redisContext *c = testserver_connect(s);
    for (int round = 0; round < 3; round++) {
        int small = 16 * 1024;
        redisContext *l = testserver_connect(s);
        setsockopt(l->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        long long id = ask_integer(l, "CLIENT ID");
        expect(l, "[subscribe kv:prefix:['s'] :1]", "SUBSCRIBE kv:prefix:['s']");
        write_beyond_the_output(c);
        read_until_a_note_waits(c, l);
        if (round == 2) { /* it goes by itself */
            redisFree(l);
            l = NULL;
        } else {
            expect(c, ":1", "CLIENT KILL ID %lld", id);
        }
        redisContext *next = testserver_connect(s);
        expect(next, "[subscribe kv:prefix:['t'] :1]", "SUBSCRIBE kv:prefix:['t']");
        expect(next, "[psubscribe kv:watch:t* :2]", "PSUBSCRIBE kv:watch:t*");
        /* Reads that come after that of the note are answered: it is over. */
        for (int i = 0; i < 3; i++) expect(c, "(nil)", "KV.GET ['none',%d,%d]", round, i);
        expect(next, "[pong ]", "PING");
        redisFree(next);
        if (l != NULL) redisFree(l);
    }
    redisFree(c);
    testserver_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_that_was_pushed_and_not_sent_costs_no_attempt),
        cmocka_unit_test(a_watcher_may_go_while_a_noted_key_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
