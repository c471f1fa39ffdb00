/* Corners between features that only a planted bug showed to be untested: each test here fails with one
 * of the mutants in tests/mutants.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"
#include "codec/base64.h"
#include "group.h"
#include "load_help.h"

#define LIMIT_MS 20000

static redisContext *c, *d;

static int start(void **state)
{
    static const char *const args[] = {"--enable-debug-command", "yes", "--memtable-age", "100",
                                       NULL};
    group_opens(&c, &d, NULL);
    server = testserver_start(&(struct testserver_options){.args = args});
    return 0;
}

/* ---- queues ---- */

static void a_dedup_id_counts_once_in_one_transaction(void **state)
{
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.ENQUEUE q 1 DEDUP a");
    expect(c, "+QUEUED", "KV.ENQUEUE q 2 DEDUP a");
    expect(c, "+QUEUED", "KV.ENQUEUE q 3 DEDUP b");
    expect(c, "[* (nil) *]", "EXEC");
    expect(c, "(nil)", "KV.ENQUEUE q 4 DEDUP b");
    assert_int_equal(load_queue(c, "q", "enqueued"), 2);
}

static char *take(void)
{
    redisReply *r = ask_reply(c, "KV.DEQUEUE q LEASE 3600000");
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    char *receipt = strdup(r->element[0]->element[4]->str);
    freeReplyObject(r);
    return receipt;
}

static void fail_one(void)
{
    char *receipt = take();
    expect(c, ":1", "KV.NACK %s", receipt);
    free(receipt);
}

/* Each retry has a delay of its own; the clock is moved to just before and just after. */
static void each_retry_has_its_own_delay(void **state)
{
    static const int delays_s[] = {100, 1000, 10};
    expect(c, "*", "KV.ENQUEUE q 1 BACKOFF 3 100000 1000000 10000");
    for (int i = 0; i < 3; i++) {
        fail_one();
        expect(d, "+OK", "DEBUG CLOCK %d", delays_s[i] * 1000 - 6000);
        expect(c, "(nil)", "KV.DEQUEUE q");
        expect(d, "+OK", "DEBUG CLOCK 6001");
    }
    fail_one();
    assert_int_equal(load_queue(c, "q", "dead"), 1);
}

/* One has no room left: all that comes is the other's. */
static void a_subscriber_without_room_is_passed_over(void **state)
{
    redisContext *e = testserver_connect(server);
    expect(d, "+OK", "KV.QUEUE PREFETCH 1");
    expect(e, "+OK", "KV.QUEUE PREFETCH 100");
    expect(d, "[subscribe kv:queue:q :1]", "SUBSCRIBE kv:queue:q");
    expect(c, "*", "KV.ENQUEUE q 0");
    expect_next(d, "[message kv:queue:q *'value':0*]");
    expect(e, "[subscribe kv:queue:q :1]", "SUBSCRIBE kv:queue:q");
    for (int i = 1; i <= 20; i++) expect(c, "*", "KV.ENQUEUE q %d", i);
    for (int i = 1; i <= 20; i++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "[message kv:queue:q *'value':%d,*]", i);
        expect_next(e, wanted);
    }
    assert_false(load_is_readable(d, 100));
    redisFree(e);
}

/* ---- transactions ---- */

static void lists_inside_see_what_was_written_between_them(void **state)
{
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.SET ['k',5] 5");
    expect(c, "+QUEUED", "KV.LIST PREFIX ['k'] KEYSONLY");
    expect(c, "+QUEUED", "KV.SET ['k',3] 3");
    expect(c, "+QUEUED", "KV.LIST PREFIX ['k'] KEYSONLY");
    expect(c, "+QUEUED", "KV.SET ['k',4] 4");
    expect(c, "+QUEUED", "KV.SET ['k',1] 1");
    expect(c, "+QUEUED", "KV.LIST PREFIX ['k'] KEYSONLY REVERSE");
    expect(c,
           "[@ [0 [['k',5]]] @ [0 [['k',3] ['k',5]]] @ @ "
           "[0 [['k',5] ['k',4] ['k',3] ['k',1]]]]",
           "EXEC");
}

static void a_ttl_taken_off_inside_leaves_the_index_rows(void **state)
{
    expect(c, "+OK", "KV.INDEX CREATE by PREFIX ['u'] ON 1 n");
    expect(c, "@", "KV.SET ['u',1] {'n':1} PX 60000");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.PERSIST ['u',1]");
    expect(c, "[:1]", "EXEC");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.SET ['u',2] {'n':2} PX 60000");
    expect(c, "+QUEUED", "KV.PERSIST ['u',2]");
    expect(c, "[@ :1]", "EXEC");
    expect(d, "+OK", "DEBUG CLOCK 120000");
    expect(c, "[0 [[['u',1] *] [['u',2] *]]]", "KV.FIND by");
    expect(c, ":-1", "KV.TTL ['u',1]");
    /* The sweeper has looked and left them. */
    expect(c, "@", "KV.SET ['x'] 1 PX 1");
    long until = testserver_now_ms() + LIMIT_MS;
    while (strcmp(ask(c, "KV.COUNT PREFIX []"), ":2") != 0) {
        if (testserver_now_ms() > until) fail_msg("what expired stays");
        testserver_pause();
    }
    expect(c, "[0 [[['u',1] *] [['u',2] *]]]", "KV.FIND by");
}

static void what_an_exec_publishes_is_sent_when_it_commits_or_never(void **state)
{
    expect(c, "@", "KV.SET ['text'] 'x'");
    expect(d, "[subscribe news :1]", "SUBSCRIBE news");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "PUBLISH news lost");
    expect(c, "+QUEUED", "KV.SUM ['text'] 1");
    expect(c, "-EXECABORT *", "EXEC");
    expect(c, "+OK", "WATCH text");
    expect(c, "+OK", "SET text 1");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "PUBLISH news lost-too");
    expect(c, "(nil)", "EXEC");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "PUBLISH news told");
    expect(c, "+QUEUED", "KV.SET ['a'] 1");
    expect(c, "[:1 @]", "EXEC");
    expect_next(d, "[message news told]");
    assert_false(load_is_readable(d, 100));
}

/* An index that was dropped leaves its rows to be removed; no other index may get its number, also
 * not after a flush. */
static void a_new_index_keeps_its_rows_while_those_of_an_old_one_go(void **state)
{
    expect(c, "+OK", "KV.INDEX CREATE old PREFIX ['u'] ON 1 n");
    for (int i = 0; i < 50; i++) expect(c, "@", "KV.SET ['u',%d] {'n':%d}", i, i);
    expect(c, ":1", "KV.INDEX DROP old");
    expect(c, "+OK", "FLUSHDB");
    expect(c, "+OK", "KV.INDEX CREATE new PREFIX ['u'] ON 1 n");
    expect(c, "@", "KV.SET ['u',1] {'n':1}");
    load_wait_info(d, "store_cleaning", 0);
    load_wait_info(d, "memtable_entries", 0);
    expect(c, "[0 [[['u',1] *]]]", "KV.FIND new 1");
    expect(c, ":1", "KV.INDEX DROP new");
}

static void an_equal_time_is_neither_later_nor_earlier(void **state)
{
    expect(c, "@", "KV.SET ['k'] 1 PXAT 4000000000000");
    expect(c, ":0", "KV.PEXPIREAT ['k'] 4000000000000 GT");
    expect(c, ":0", "KV.PEXPIREAT ['k'] 4000000000000 LT");
    expect(c, ":1", "KV.PEXPIREAT ['k'] 4000000000001 GT");
    expect(c, ":1", "KV.PEXPIREAT ['k'] 4000000000000 LT");
}

/* ---- ranges ---- */

static void a_suffix_is_at_the_end_and_a_prefix_at_the_beginning(void **state)
{
    expect(c, "@", "KV.SET ['t'] 'xaby'");
    expect(c, ":0", "KV.COUNT PREFIX [] WHERE {'$':{'$endsWith':'ab'}}");
    expect(c, ":0", "KV.COUNT PREFIX [] WHERE {'$':{'$startsWith':'ab'}}");
    expect(c, ":1", "KV.COUNT PREFIX [] WHERE {'$':{'$endsWith':'aby'}}");
    expect(c, ":1", "KV.COUNT PREFIX [] WHERE {'$':{'$startsWith':'xab'}}");
    expect(c, ":0", "KV.COUNT PREFIX [] WHERE {'$':{'$endsWithi':'AB'}}");
    expect(c, ":0", "KV.COUNT PREFIX [] WHERE {'$':{'$startsWithi':'AB'}}");
}

/* Base64 with the letters of URLs and without padding, to and from the usual one. */
static void swap_letters(struct buf *b, const char *from, const char *to)
{
    for (size_t i = 0; i < b->len; i++) {
        const char *at = strchr(from, b->data[i]);
        if (b->data[i] != 0 && at != NULL) b->data[i] = (uint8_t)to[at - from];
    }
}

/* The cursor with another place in it. */
static void forge(const char *cursor, const char *key, char *out, size_t bytes)
{
    struct buf raw = {0};
    struct buf text = {0};
    buf_append_str(&text, cursor);
    while (text.len % 4 != 0) buf_append_byte(&text, '=');
    swap_letters(&text, "-_", "+/");
    assert_true(base64_decode(buf_slice(&text), &raw));
    raw.len = 1 + 8; /* format, fingerprint */
    buf_append_byte(&raw, 0);
    buf_append_byte(&raw, 1);
    buf_append(&raw, key, strlen(key) + 1);
    text.len = 0;
    base64_encode(buf_slice(&raw), &text);
    swap_letters(&text, "+/", "-_");
    while (text.len > 0 && text.data[text.len - 1] == '=') text.len--;
    snprintf(out, bytes, "%.*s", (int)text.len, (const char *)text.data);
    buf_fini(&raw);
    buf_fini(&text);
}

/* Part of a string: tag 2, bytes, 0. */
static void a_forged_cursor_reaches_nothing_outside_the_range(void **state)
{
    for (char k[2] = "a"; k[0] <= 'z'; k[0]++) expect(c, "@", "KV.SET ['%s'] 1", k);
    for (int is_reverse = 0; is_reverse < 2; is_reverse++) {
        const char *range = is_reverse ? "START ['f'] END ['m'] LIMIT 2 REVERSE"
                                       : "START ['f'] END ['m'] LIMIT 2";
        char command[200];
        snprintf(command, sizeof command, "KV.LIST %s", range);
        redisReply *r = ask_reply(c, command);
        static const char *const places[] = {"\x02"
                                             "a",
                                             "\x02"
                                             "e",
                                             "\x02"
                                             "m",
                                             "\x02"
                                             "z"};
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
            char cursor[100];
            forge(r->element[0]->str, places[i], cursor, sizeof cursor);
            snprintf(command, sizeof command, "KV.LIST %s CURSOR %s", range, cursor);
            expect(c, "-ERR invalid cursor: it is outside the range", command);
        }
        freeReplyObject(r);
    }
}

/* ---- figures ---- */

static void blocked_clients_are_counted_until_their_wait_ends(void **state)
{
    redisContext *e = testserver_connect(server);
    say(c, "KV.DEQUEUE q BLOCK 0");
    load_flush(c);
    say(e, "KV.POLL BLOCK 50 KEYS 1 ['k'] NONE");
    load_flush(e);
    expect_next(e, "(nil)");
    load_wait_info(d, "blocked_clients", 1);
    say(e, "KV.POLL BLOCK 0 KEYS 1 ['k'] NONE");
    load_flush(e);
    load_wait_info(d, "blocked_clients", 2);
    expect(d, "*", "KV.ENQUEUE q 1");
    expect_next(c, "[[q *]]");
    load_wait_info(d, "blocked_clients", 1);
    redisFree(e); /* gone in the middle of its wait */
    load_wait_info(d, "blocked_clients", 0);
}

static void flush_often(redisContext *by, int times)
{
    for (int i = 0; i < times; i++) {
        say(by, "KV.SET ['a',%d] 1", i);
        say(by, "FLUSHDB");
    }
    for (int i = 0; i < times; i++) {
        expect_next(by, "@");
        expect_next(by, "+OK");
    }
    load_wait_info(by, "memtable_entries", 0);
}

/* The release build: what ASan's is given back it keeps for a while. */
static void many_flushes_take_no_memory(void **state)
{
    static const char *const args[] = {"--memtable-age", "100", NULL};
    struct testserver *s = testserver_start(
        &(struct testserver_options){.is_release = true, .args = args});
    redisContext *by = testserver_connect(s);
    flush_often(by, 3000);
    long long before = load_info(by, "used_memory");
    for (int i = 0; i < 5; i++) flush_often(by, 3000);
    expect(by, ":0", "DBSIZE");
    long until = testserver_now_ms() + LIMIT_MS;
    while (load_info(by, "used_memory") > before + (4 << 20)) {
        if (testserver_now_ms() > until) {
            fail_msg("%lld bytes, %lld before", load_info(by, "used_memory"), before);
        }
        testserver_pause();
    }
    redisFree(by);
    testserver_free(s);
}

/* ---- with slow syncs ---- */

/* What is told of several changes at once is the last one: its value, and its commit. */
static void a_delete_that_covers_a_set_is_told_with_its_own_commit(void **state)
{
    static const char *const env[] = {"TUPLED_TEST_SYNC_DELAY_MS=200", NULL};
    struct testserver *s = testserver_start(&(struct testserver_options){.env = env});
    redisContext *writer = testserver_connect(s);
    redisContext *reader = testserver_connect(s);
    expect(writer, "@", "KV.SET ['k'] 1");
    expect(reader, "[subscribe kv:watch:['k'] :1]", "SUBSCRIBE kv:watch:['k']");
    expect_next(reader, "[message *'value':1*]");
    for (int round = 0; round < 3; round++) {
        say(writer, "KV.SET ['other'] 1"); /* a sync is under way when the next come */
        say(writer, "KV.SET ['k'] 2");
        say(writer, "KV.ATOMIC DEL ['k']");
        redisReply *r = NULL;
        expect_next(writer, "@");
        expect_next(writer, "@");
        assert_int_equal(redisGetReply(writer, (void **)&r), REDIS_OK);
        char wanted[160];
        snprintf(wanted, sizeof wanted,
                 "[message * {'key':['k'],'value':null,'versionstamp':null,'commit':'%s'}]",
                 r->str);
        freeReplyObject(r);
        /* The set may have been told before; the last word is the delete's. */
        redisReply *message = NULL;
        do {
            freeReplyObject(message);
            assert_int_equal(redisGetReply(reader, (void **)&message), REDIS_OK);
        } while (strstr(message->element[2]->str, "\"value\":2") != NULL);
        char got[300];
        snprintf(got, sizeof got, "[message * %s]", message->element[2]->str);
        for (char *p = got; *p != '\0'; p++) *p = *p == '"' ? '\'' : *p;
        assert_string_equal(got, wanted);
        freeReplyObject(message);
        expect(writer, "@", "KV.SET ['k'] 1");
        expect_next(reader, "[message *'value':1*]");
    }
    redisFree(writer);
    redisFree(reader);
    testserver_free(s);
}

/* ---- restarts ---- */

/* Versions jump at a start after a kill: a client that waits for what follows its last one waits
 * on. */
static void a_feed_goes_on_over_the_gap_of_a_restart(void **state)
{
    char stamp[32];
    snprintf(stamp, sizeof stamp, "%s", ask(c, "KV.SET ['before'] 1"));
    group_again(true);
    say(c, "KV.CHANGES %s BLOCK 15000", stamp);
    load_flush(c);
    load_wait_info(d, "blocked_clients", 1);
    expect(d, "@", "KV.SET ['after'] 2");
    expect_next(c, "[@ [[['after'] 2 @ (nil)]]]");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(a_dedup_id_counts_once_in_one_transaction),
        TEST(each_retry_has_its_own_delay),
        TEST(a_subscriber_without_room_is_passed_over),
        TEST(lists_inside_see_what_was_written_between_them),
        TEST(a_ttl_taken_off_inside_leaves_the_index_rows),
        TEST(what_an_exec_publishes_is_sent_when_it_commits_or_never),
        TEST(a_new_index_keeps_its_rows_while_those_of_an_old_one_go),
        TEST(an_equal_time_is_neither_later_nor_earlier),
        TEST(a_suffix_is_at_the_end_and_a_prefix_at_the_beginning),
        TEST(a_forged_cursor_reaches_nothing_outside_the_range),
        TEST(blocked_clients_are_counted_until_their_wait_ends),
        TEST(many_flushes_take_no_memory),
        TEST(a_delete_that_covers_a_set_is_told_with_its_own_commit),
        TEST(a_feed_goes_on_over_the_gap_of_a_restart),
    };
    return cmocka_run_group_tests_name("corners", tests, start, group_stop);
}
