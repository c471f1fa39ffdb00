/* Corners of what is on the disk and what is not yet: replies that wait for it, with syncs slowed down
 * (TUPLED_TEST_SYNC_DELAY_MS); counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "client.h"
#include "load_help.h"

#define LIMIT_MS 20000

/* Syncs take a second and a half: a reply that is not held comes long before that of the write. */
static void a_count_is_told_when_what_it_counts_is_on_disk(void **state)
{
    static const char *const env[] = {"TUPLED_TEST_SYNC_DELAY_MS=1500", NULL};
    struct testserver *slow = testserver_start(&(struct testserver_options){.env = env});
    redisContext *writer = testserver_connect(slow);
    redisContext *reader = testserver_connect(slow);
    long until = testserver_now_ms() + LIMIT_MS;
    say(writer, "KV.SET ['k'] 1");
    load_flush(writer);
    while (load_info(reader, "journal_unsynced_transactions") == 0) {
        if (testserver_now_ms() > until) fail_msg("the write does not happen");
    }
    expect(reader, ":1", "DBSIZE");
    assert_true(load_is_readable(writer, 1000));
    expect_next(writer, "@");
    redisFree(writer);
    redisFree(reader);
    testserver_free(slow);
}

static void a_stop_sends_the_replies_that_wait_for_the_disk(void **state)
{
    static const char *const env[] = {"TUPLED_TEST_SYNC_DELAY_MS=250", NULL};
    struct testserver *slow = testserver_start(&(struct testserver_options){.env = env});
    redisContext *writer = testserver_connect(slow);
    redisContext *reader = testserver_connect(slow);
    long until = testserver_now_ms() + LIMIT_MS;
    say(writer, "KV.SET ['k'] 1");
    load_flush(writer);
    while (load_info(reader, "journal_unsynced_transactions") == 0) {
        if (testserver_now_ms() > until) fail_msg("the write does not happen");
    }
    testserver_stop(slow);
    expect_next(writer, "@");
    redisFree(writer);
    redisFree(reader);
    testserver_free(slow);
}

/* What the journal brings is written to the store at once: it alone knows which keys it had. */
static void keys_are_counted_once_after_a_kill(void **state)
{
    struct testserver *s = testserver_start_with("--memtable-age", "100000000", NULL);
    redisContext *c = testserver_connect(s);
    long until = testserver_now_ms() + LIMIT_MS;
    for (int i = 0; i < 100; i++) expect(c, "+OK", "SET k%d 1", i);
    expect(c, "+OK", "SAVE"); /* they are in the store */
    for (int i = 0; i < 50; i++) expect(c, ":1", "DEL k%d", i);
    for (int i = 50; i < 100; i++) expect(c, "+OK", "SET k%d 2", i);
    expect(c, ":50", "DBSIZE");
    redisFree(c);
    testserver_kill(s);
    testserver_again(s);
    c = testserver_connect(s);
    while (ask_integer(c, "DBSIZE") != 50) {
        if (testserver_now_ms() > until) fail_msg("DBSIZE is %lld", ask_integer(c, "DBSIZE"));
        testserver_pause();
    }
    redisFree(c);
    testserver_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_count_is_told_when_what_it_counts_is_on_disk),
        cmocka_unit_test(a_stop_sends_the_replies_that_wait_for_the_disk),
        cmocka_unit_test(keys_are_counted_once_after_a_kill),
    };
    return cmocka_run_group_tests_name("corners of the disk", tests, NULL, NULL);
}
