/* Corners of replies that wait for the disk, which only a planted bug showed to be untested. Syncs are slowed
 * down (TUPLED_TEST_SYNC_DELAY_MS).
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_count_is_told_when_what_it_counts_is_on_disk),
        cmocka_unit_test(a_stop_sends_the_replies_that_wait_for_the_disk),
    };
    return cmocka_run_group_tests_name("corners of the disk", tests, NULL, NULL);
}
