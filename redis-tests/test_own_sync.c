/* Syncs that the loop does by itself: while one client alone asks, or all that ask wait for a sync,
 * and syncs are short, writes wait for no thread; beside a client that reads they do. What was
 * acknowledged is there after kill -9 either way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

static redisContext *c, *d;

#define LIMIT_MS 60000
#define WRITES 300
#define WAITERS_MS 10 /* net.c: a client that got something without a sync is forgotten after it */
#define WRITERS 20

static int start(void **state)
{
    /* Whatever the disk does is short. */
    static const char *const env[] = {"TUPLED_TEST_SHORT_SYNC_US=60000000", NULL};
    (void)state;
    group_opens(&c, &d, NULL);
    server = testserver_start(&(struct testserver_options){.env = env});
    group_connect();
    return 0;
}

static long long own(void)
{
    return load_info(c, "journal_syncs_by_loop");
}

static long long by_threads(void)
{
    return load_info(c, "journal_syncs") - own();
}

/* One client writes until the loop has done so many syncs: a mark of an idle journal, which a thread
 * writes, may be under way now and then. */
static void until_own(long long wanted)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (own() < wanted) {
        expect(c, "+OK", "SET a 1");
        if (testserver_now_ms() > until) fail_msg("the loop does not sync by itself");
    }
}

static void the_loop_syncs_for_one_client(void **state)
{
    (void)state;
    until_own(own() + 50);
    /* All of a turn is one batch. */
    long long syncs = load_info(c, "journal_syncs");
    for (int i = 0; i < WRITES; i++) say(c, "SET p:%d 1", i);
    for (int i = 0; i < WRITES; i++) expect_next(c, "+OK");
    assert_true(load_info(c, "journal_syncs") < syncs + WRITES / 2);
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "INCR n");
    expect(c, "+QUEUED", "INCR n");
    expect(c, "[:1 :2]", "EXEC");
}

/* From before a read is sent until a write is answered it may be so long that the read is forgotten:
 * on a machine with much to do. */
static void beside_a_client_that_reads_a_thread_does(void **state)
{
    (void)state;
    until_own(own() + 1);
    long long before = own();
    int late = 0;
    for (int i = 0; i < WRITES; i++) {
        long begin = testserver_now_ms();
        expect(d, "+PONG", "PING");
        expect(c, "+OK", "SET c:%d 1", i);
        if (testserver_now_ms() - begin >= WAITERS_MS) late++;
    }
    assert_in_range(own() - before, 0, (uintmax_t)late);
    until_own(own() + 1);
}

/* A while after the last write the journal's mark is written, in no turn of a client: by a thread. */
static void the_mark_of_an_idle_journal_is_a_thread_s(void **state)
{
    (void)state;
    until_own(own() + 1);
    long long before = by_threads();
    until_own(own() + 1);
    long until = testserver_now_ms() + LIMIT_MS;
    while (by_threads() == before) {
        testserver_pause();
        if (testserver_now_ms() > until) fail_msg("no thread writes the mark");
    }
}

/* All of a turn's writes are one batch, also when many clients sent them. */
static void the_loop_syncs_for_many_that_write(void **state)
{
    redisContext *writers[WRITERS];
    (void)state;
    for (int i = 0; i < WRITERS; i++) writers[i] = testserver_connect(server);
    long until = testserver_now_ms() + LIMIT_MS;
    long long before = own();
    int rounds = 0;
    char wanted[20];
    do {
        for (int round = 0; round < 10; round++) {
            snprintf(wanted, sizeof wanted, ":%d", ++rounds);
            for (int i = 0; i < WRITERS; i++) say(writers[i], "INCR w:%d", i);
            for (int i = 0; i < WRITERS; i++) expect_next(writers[i], wanted);
        }
        if (testserver_now_ms() > until) fail_msg("the loop does not sync for many");
    } while (own() < before + 20);
    group_again(true);
    for (int i = 0; i < WRITERS; i++) expect(c, wanted + 1, "GET w:%d", i);
    for (int i = 0; i < WRITERS; i++) redisFree(writers[i]);
}

/* A weaker durability needs no sync to acknowledge. */
static void what_needs_no_sync_is_not_synced(void **state)
{
    (void)state;
    until_own(own() + 1);
    expect(c, "+OK", "CONFIG SET durability never");
    long long before = own();
    for (int i = 0; i < WRITES; i++) expect(c, "+OK", "SET w:%d 1", i);
    assert_int_equal(own(), before);
    expect(c, "+OK", "CONFIG SET durability always");
    until_own(before + 1);
}

static void what_was_acknowledged_survives_a_kill(void **state)
{
    (void)state;
    until_own(own() + 1);
    for (int i = 0; i < WRITES; i++) expect(c, "+OK", "SET k:%d %d", i, i);
    expect(c, ":1", "INCR counted");
    group_again(true);
    for (int i = 0; i < WRITES; i++) {
        char wanted[20];
        snprintf(wanted, sizeof wanted, "%d", i);
        expect(c, wanted, "GET k:%d", i);
    }
    expect(c, "1", "GET counted");
}

/* A watch is told of it too, and WAIT has nothing to wait for. */
static void others_hear_of_it(void **state)
{
    (void)state;
    expect(d, "[subscribe news :1]", "SUBSCRIBE news");
    until_own(own() + 1);
    expect(c, ":1", "PUBLISH news x");
    expect_next(d, "[message news x]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_loop_syncs_for_one_client, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(beside_a_client_that_reads_a_thread_does, group_enter,
                                        group_leave),
        cmocka_unit_test_setup_teardown(the_mark_of_an_idle_journal_is_a_thread_s, group_enter,
                                        group_leave),
        cmocka_unit_test_setup_teardown(the_loop_syncs_for_many_that_write, group_enter,
                                        group_leave),
        cmocka_unit_test_setup_teardown(what_needs_no_sync_is_not_synced, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(what_was_acknowledged_survives_a_kill, group_enter,
                                        group_leave),
        cmocka_unit_test_setup_teardown(others_hear_of_it, group_enter, group_leave),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
