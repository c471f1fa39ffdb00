/* The journal past the page cache (journal-direct): it is written so where the file system takes it,
 * but not while the change feed is read from its newest file, nor when the setting is no. What was
 * acknowledged is there after kill -9, and in the feed, whichever way it was written.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "load_help.h"

#define WRITES 200
#define LIMIT_MS 60000

static struct testserver *s;
static redisContext *c;

static void start(const char *direct)
{
    static const char *const env[] = {"TUPLED_TEST_BUFFERED=0", NULL};
    const char *const args[] = {"--journal-direct", direct, NULL};
    s = testserver_start(&(struct testserver_options){.args = args, .env = env});
    c = testserver_connect(s);
}

static int stop(void **state)
{
    (void)state;
    redisFree(c);
    testserver_free(s);
    return 0;
}

static bool takes_direct(void)
{
    char path[300];
    snprintf(path, sizeof path, "%s/direct", testserver_dir(s));
    int fd = open(path, O_WRONLY | O_CREAT | O_DIRECT, 0600);
    if (fd >= 0) close(fd);
    unlink(path);
    return fd >= 0;
}

static long long syncs(void)
{
    return load_info(c, "journal_syncs");
}

static long long direct(void)
{
    return load_info(c, "journal_syncs_direct");
}

/* Rows of the whole feed. */
static size_t read_feed(void)
{
    redisReply *r = ask_reply(c, "KV.CHANGES 0 COUNT 10000");
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    size_t rows = r->element[1]->elements;
    freeReplyObject(r);
    return rows;
}

static void write_some(const char *key)
{
    for (int i = 0; i < WRITES; i++) expect(c, "+OK", "SET %s:%d %d", key, i, i);
}

static void expect_some(const char *key)
{
    for (int i = 0; i < WRITES; i++) {
        char wanted[20];
        snprintf(wanted, sizeof wanted, "%d", i);
        expect(c, wanted, "GET %s:%d", key, i);
    }
}

static void until_direct(void)
{
    long until = testserver_now_ms() + LIMIT_MS;
    for (long long before = direct(); direct() == before;) {
        expect(c, "+OK", "SET a 1");
        if (testserver_now_ms() > until) fail_msg("nothing is written past the page cache");
    }
}

static void it_is_written_past_the_page_cache(void **state)
{
    (void)state;
    start("yes");
    if (!takes_direct()) skip();
    long long all = syncs();
    long long before = direct();
    write_some("k");
    assert_true(syncs() >= all + WRITES);
    assert_true(direct() - before >= syncs() - all - 2); /* one may come in between */
}

static void a_reader_of_the_feed_finds_it_in_the_cache(void **state)
{
    (void)state;
    start("yes");
    if (!takes_direct()) skip();
    until_direct();
    write_some("before");
    read_feed();
    long long before = direct();
    for (int i = 0; i < 20; i++) {
        expect(c, "+OK", "SET read:%d 1", i);
        read_feed();
    }
    assert_true(direct() - before < 10); /* none, unless the machine stood still for seconds */
    until_direct();                      /* it reads no more */
    write_some("after");
    assert_true(read_feed() >= 2 * WRITES + 20);
    testserver_kill(s);
    redisFree(c);
    testserver_again(s);
    c = testserver_connect(s);
    expect_some("before");
    expect_some("after");
    expect(c, ":20",
           "EXISTS read:0 read:1 read:2 read:3 read:4 read:5 read:6 read:7 read:8 read:9 "
           "read:10 read:11 read:12 read:13 read:14 read:15 read:16 read:17 read:18 "
           "read:19");
}

static void the_setting_turns_it_off(void **state)
{
    (void)state;
    start("no");
    write_some("k");
    assert_int_equal(direct(), 0);
    testserver_kill(s);
    redisFree(c);
    testserver_again(s);
    c = testserver_connect(s);
    expect_some("k");
}

/* What is not synced at once is in the page cache; what is synced later comes after it. */
static void durability_may_change(void **state)
{
    (void)state;
    start("yes");
    write_some("always");
    expect(c, "+OK", "CONFIG SET durability never");
    long long before = direct();
    write_some("never");
    assert_int_equal(direct(), before);
    expect(c, "+OK", "CONFIG SET durability always");
    write_some("again");
    testserver_kill(s);
    redisFree(c);
    testserver_again(s);
    c = testserver_connect(s);
    expect_some("always");
    expect_some("never");
    expect_some("again");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(it_is_written_past_the_page_cache, stop),
        cmocka_unit_test_teardown(a_reader_of_the_feed_finds_it_in_the_cache, stop),
        cmocka_unit_test_teardown(the_setting_turns_it_off, stop),
        cmocka_unit_test_teardown(durability_may_change, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
