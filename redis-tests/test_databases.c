/* KV.DB: databases with names and limits: what a client that selected one sees when it is renamed or
 * dropped, quotas under many writers and over restarts and kills, rates, many databases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

#define WRITERS 64
#define MANY 10000
#define BYTES_EACH_MAX 4096      /* of memory, for one with an entry and a queue */
#define BYTES_LEFT_MAX (4 << 20) /* of memory, when all are gone */

static redisContext *c, *d; /* fresh for each test */

static int start(void **state)
{
    group_opens(&c, &d, NULL);
    server = testserver_start_with("--enable-debug-command", "yes", NULL);
    return 0;
}

/* The databases that a test has made go with it. */
static int leave(void **state)
{
    group_connect();
    redisReply *list = ask_reply(c, "KV.DB LIST");
    for (size_t i = 0; i < list->elements; i++) {
        const redisReply *one = list->element[i];
        if (one->element[0]->integer < 16) continue;
        expect(c, "+OK", "KV.DB DROP %s", one->element[1]->str);
    }
    freeReplyObject(list);
    expect(c, "+OK", "KV.DB LIMIT 3 MAXENTRIES 0 MAXBYTES 0 RATE 0");
    return group_leave(state);
}

static long long info_of(redisContext *m, const char *name, const char *field)
{
    long long found = -1;
    redisReply *r = ask_reply(m, "KV.DB INFO %s", name);
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    for (size_t i = 0; i + 1 < r->elements; i += 2) {
        if (strcmp(r->element[i]->str, field) == 0) found = r->element[i + 1]->integer;
    }
    freeReplyObject(r);
    assert_true(found >= 0);
    return found;
}

static long long info(const char *name, const char *field)
{
    return info_of(c, name, field);
}

static void a_database_has_a_name_and_a_number(void **state)
{
    long long number = ask_integer(c, "KV.DB CREATE shop COMMENT %s", "all that is sold");
    assert_in_range(number, 16, 65534);
    expect(c, "+OK", "SELECT shop");
    expect(c, "*", "KV.SET %s 1", "[\"a\"]");
    expect(d, "+OK", "SELECT %lld", number);
    expect(d, "*", "KV.GET %s", "[\"a\"]");
    expect(d, ":1", "DBSIZE");
    expect(c, "-ERR database 'shop' already exists", "KV.DB CREATE shop");
    expect(c, "-ERR digits alone are the number of a database*", "KV.DB CREATE 77");
    expect(c, "-ERR the name of a database must be 1 to 64 of*", "KV.DB CREATE a/b");
    expect(c, "-NODB database 'other' does not exist*", "SELECT other");
    expect(c, "-ERR DB index is out of range", "SELECT 60000");
    expect(c, "-ERR DB index is out of range", "SELECT 65535");
    expect(c, "-ERR databases 0 to 15 always exist*", "KV.DB DROP 3");
    expect(c, "+OK", "KV.DB RENAME shop store");
    expect(c, ":1", "DBSIZE"); /* who had selected it has it still */
    expect(c, "-NODB*", "SELECT shop");
    expect(c, "+OK", "SELECT store");
    group_again(true);
    expect(c, "+OK", "SELECT store");
    expect(c, ":1", "DBSIZE");
    expect(c, "+OK", "FLUSHALL");
    expect(c, ":0", "DBSIZE");
    assert_int_equal(info("store", "number"), number);
    assert_int_equal(info("store", "operations"), 3);
}

static void who_selected_a_dropped_database_is_told(void **state)
{
    expect(c, ":*", "KV.DB CREATE gone");
    expect(c, "+OK", "SELECT gone");
    expect(d, "+OK", "SELECT gone");
    expect(c, "*", "KV.SET %s 1", "[\"a\"]");
    expect(c, "+OK", "KV.INDEX CREATE i PREFIX %s ON 1 $", "[]");
    say(d, "KV.DEQUEUE q BLOCK 0");
    load_flush(d);
    while (strstr(ask(c, "CLIENT LIST"), "cmd=kv.dequeue") == NULL) testserver_pause();
    expect(c, "+OK", "KV.DB DROP gone");
    expect_next(d, "-NODB the selected database*");
    expect(c, "-NODB*", "KV.GET %s", "[\"a\"]");
    expect(c, "-NODB*", "SUBSCRIBE kv:watch:%s", "[\"a\"]");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.GET %s", "[\"a\"]");
    expect(c, "-NODB*", "EXEC");
    expect(c, "-ERR EXEC without MULTI", "EXEC");
    expect(c, "+PONG", "PING");
    /* One of the same name is another one. */
    expect(c, ":*", "KV.DB CREATE gone");
    expect(c, "-NODB*", "DBSIZE");
    expect(c, "+OK", "SELECT gone");
    expect(c, ":0", "DBSIZE");
    assert_int_equal(info("gone", "indexes"), 0);
    expect(c, "+OK", "SELECT 0");
}

static void a_full_database_refuses_what_adds_and_nothing_else(void **state)
{
    expect(c, ":*", "KV.DB CREATE small MAXENTRIES 3");
    expect(c, "+OK", "SELECT small");
    for (int i = 0; i < 3; i++) expect(c, "*", "KV.SET [%d] 1", i);
    expect(c, "-QUOTA database 'small' has 3 of 3 entries", "KV.SET [3] 1");
    expect(c, "*", "KV.SET [1] 2");                   /* one that is there */
    expect(c, "*", "KV.ATOMIC DEL [0] SET [3] 1 x "); /* malformed: nothing happens */
    expect(c, "*", "KV.ATOMIC DEL [0] SET [4] 1");
    expect(c, "-QUOTA*", "KV.ATOMIC DEL [1] SET [5] 1 SET [6] 1");
    expect(c, ":3", "DBSIZE");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.SET [7] 1");
    expect(c, "+QUEUED", "KV.SET [8] 1");
    expect(c, "-*QUOTA*", "EXEC");
    expect(c, ":3", "DBSIZE");
    expect(c, ":2", "KV.DEL [1] [2]");
    expect(c, "*", "KV.SET [9] 1");
    expect(c, "+OK", "FLUSHDB");
    for (int i = 0; i < 3; i++) expect(c, "*", "KV.SET [%d] 1", i);
    expect(c, "-QUOTA*", "KV.SET [3] 1");
    /* What is removed first makes room, in one transaction. */
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "FLUSHDB");
    for (int i = 0; i < 3; i++) expect(c, "+QUEUED", "KV.SET [%d] 1", i);
    expect(c, "[+OK @ @ @]", "EXEC");
    expect(c, ":3", "DBSIZE");
    expect(c, "+OK", "KV.DB LIMIT small MAXENTRIES 4");
    expect(c, "*", "KV.SET [3] 1 PX 100000");
    expect(c, "-QUOTA*", "KV.SET [4] 1");
    expect(c, "+OK", "KV.DB LIMIT small MAXENTRIES 0");
    expect(c, "*", "KV.SET [4] 1");
}

static void what_is_as_long_as_what_it_replaces_is_no_more(void **state)
{
    char value[600];
    memset(value, '1', sizeof value);
    value[sizeof value - 1] = '\0';
    expect(c, "-ERR MAXBYTES must be a size such as 1000000 or 100mb*, not '1 mb'",
           "KV.DB CREATE tight MAXBYTES %s", "1 mb");
    expect(c, "-ERR MAXBYTES must be a size *", "KV.DB CREATE tight MAXBYTES -1");
    expect(c, ":*", "KV.DB CREATE tight MAXBYTES 1mb");
    assert_int_equal(info("tight", "max-bytes"), 1 << 20);
    expect(c, "+OK", "KV.DB LIMIT tight MAXBYTES 5k");
    expect(c, "+OK", "SELECT tight");
    int count = 0;
    while (strncmp(ask(c, "SET %d %s", count, value), "-QUOTA", 6) != 0) count++;
    assert_in_range(count, 3, 10);
    for (int i = 0; i < count; i++) expect(c, "+OK", "SET %d %s", i, value);
    expect(c, "-QUOTA*", "SET 0 %s%s", value, value);
}

static void messages_count_and_a_full_queue_can_be_worked_off(void **state)
{
    char value[600];
    memset(value, 'x', sizeof value);
    value[0] = value[sizeof value - 2] = '"';
    value[sizeof value - 1] = '\0';
    expect(c, ":*", "KV.DB CREATE jobs MAXBYTES 5000");
    expect(c, "+OK", "SELECT jobs");
    int count = 0;
    while (strncmp(ask(c, "KV.ENQUEUE q %s", value), "-QUOTA", 6) != 0) count++;
    assert_in_range(count, 3, 8);
    expect(c, "-QUOTA database 'jobs' has * KB of 4.9 KB, and this would exceed the limit",
           "KV.SET [1] %s", value);
    for (int i = 0; i < count; i++) {
        redisReply *r = ask_reply(c, "KV.DEQUEUE q");
        assert_int_equal(r->type, REDIS_REPLY_ARRAY);
        expect(c, ":1", "KV.ACK %s", r->element[0]->element[4]->str);
        freeReplyObject(r);
    }
    expect(c, "*", "KV.ENQUEUE q %s", value);
    assert_in_range(info("jobs", "bytes"), 600, 2000);
    assert_int_equal(info("jobs", "queues"), 1);
}

/* Some of what is in the way is in the store, some in memory, some in the journal alone. */
/* Many keys in one transaction, the first of them new and the last there already, or the other way
 * round: each counts for itself. */
static void each_write_of_a_long_transaction_is_counted(void **state)
{
    enum { KEYS = 30 };
    char command[2000] = "KV.ATOMIC";
    for (int i = 0; i < KEYS; i++) {
        size_t len = strlen(command);
        snprintf(command + len, sizeof command - len, " SET [%d] 1", i);
    }
    expect(c, ":*", "KV.DB CREATE counted MAXENTRIES 100");
    for (int half = 0; half < 2; half++) {
        expect(c, "+OK", "SELECT counted");
        expect(c, "+OK", "FLUSHDB");
        for (int i = half * KEYS / 2; i < (half + 1) * KEYS / 2; i++) {
            expect(c, "@", "KV.SET [%d] 1", i);
        }
        expect(c, "*@*", command);
        assert_int_equal(info("counted", "entries"), KEYS);
    }
}

static void a_quota_survives_restarts_and_kills(void **state)
{
    expect(c, ":*", "KV.DB CREATE kept MAXENTRIES 50");
    expect(c, "+OK", "SELECT kept");
    for (int i = 0; i < 40; i++) expect(c, "*", "KV.SET [%d] 1", i);
    for (int round = 0; round < 3; round++) {
        group_again(round != 1);
        expect(c, "+OK", "SELECT kept");
        for (int i = 0; i < 40; i++) expect(c, "*", "KV.SET [%d] 2", i); /* adds nothing */
        for (int i = 40; i < 50; i++) expect(c, "*", "KV.SET [%d] 1", i);
        expect(c, "-QUOTA database 'kept' has 50 of 50 entries", "KV.SET [50] 1");
        expect(c, ":50", "DBSIZE");
        for (int i = 40; i < 50; i++) expect(c, ":1", "KV.DEL [%d]", i);
        expect(c, ":40", "DBSIZE");
    }
}

/* A limit set on what was written without a look: the count is exact from then on. */
static void a_limit_may_come_later(void **state)
{
    expect(c, "+OK", "SELECT 3");
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 30; i++) expect(c, "*", "KV.SET [%d] %d", i, round);
    }
    expect(c, "+OK", "KV.DB LIMIT 3 MAXENTRIES 31");
    expect(c, "*", "KV.SET [30] 1");
    expect(c, "-QUOTA database '3' has 31 of 31 entries", "KV.SET [31] 1");
    expect(c, ":31", "DBSIZE");
}

static void a_quota_holds_under_many_writers(void **state)
{
    redisContext *writers[WRITERS];
    unsigned refused = 0;
    expect(c, ":*", "KV.DB CREATE busy MAXENTRIES 500");
    expect(c, "+OK", "SELECT busy");
    for (int w = 0; w < WRITERS; w++) {
        writers[w] = testserver_connect(server);
        say(writers[w], "SELECT busy");
        for (int i = 0; i < 20; i++) {
            say(writers[w], "KV.SET [%d] %d", w * 20 + i, i);
            if (i % 4 == 3) say(writers[w], "KV.DEL [%d]", w * 20 + i);
        }
    }
    for (int w = 0; w < WRITERS; w++) {
        for (int i = 0; i < 26; i++) {
            redisReply *r = NULL;
            assert_int_equal(redisGetReply(writers[w], (void **)&r), REDIS_OK);
            refused += r->type == REDIS_REPLY_ERROR && strncmp(r->str, "QUOTA", 5) == 0;
            if (r->type == REDIS_REPLY_ERROR) assert_memory_equal(r->str, "QUOTA", 5);
            freeReplyObject(r);
        }
        redisFree(writers[w]);
    }
    assert_true(refused > 0);
    expect(c, ":500", "DBSIZE");
    assert_int_equal(info("busy", "entries"), 500);
}

static void over_a_rate_commands_wait_and_are_not_refused(void **state)
{
    expect(c, ":*", "KV.DB CREATE slow RATE 100");
    expect(c, "+OK", "SELECT slow");
    long from_ms = testserver_now_ms();
    for (int i = 0; i < 60; i++) say(c, "KV.SET [%d] 1", i);
    for (int i = 0; i < 60; i++) expect_next(c, "*");
    assert_true(testserver_now_ms() - from_ms >= 400); /* a tenth of a second's are free */
    expect(d, "+PONG", "PING");
    expect(c, "+OK", "SELECT 0");
    assert_true(info("slow", "throttled") > 0);
    assert_int_equal(info("slow", "operations"), 60);
    expect(c, "+OK", "KV.DB LIMIT slow RATE 0");
    expect(c, "+OK", "SELECT slow");
    expect(c, ":60", "DBSIZE");
}

static void the_feed_begins_with_the_database(void **state)
{
    expect(c, "*", "KV.SET %s 1", "[\"before\"]");
    expect(c, ":*", "KV.DB CREATE feed");
    expect(c, "+OK", "SELECT feed");
    expect(c, "*", "KV.SET %s 1", "[\"after\"]");
    expect(c, "[@ [[['after'] 1 @ (nil)]]]", "KV.CHANGES 0");
    char from[30];
    snprintf(from, sizeof from, "%s", ask(c, "KV.SET %s 2", "[\"seen\"]"));
    expect(c, "*", "KV.SET %s 3", "[\"next\"]");
    expect(c, "[@ [[['next'] 3 @ (nil)]]]", "KV.CHANGES %s", from);
}

/* When what was written has been applied and forgotten. */
static void memory_falls_to(redisContext *m, long long bytes)
{
    int64_t until_ms = testserver_now_ms() + 30000;
    while (load_info(m, "used_memory") > bytes) {
        if (testserver_now_ms() > until_ms) fail_msg("more than %lld bytes are used", bytes);
        testserver_pause();
    }
}

/* What a journal brought counts twice where the store had it, until the store has it again. */
static void becomes(redisContext *m, const char *wanted, const char *command)
{
    int64_t until_ms = testserver_now_ms() + 60000;
    while (!text_fits(ask(m, command), wanted)) {
        if (testserver_now_ms() > until_ms) fail_msg("%s does not become %s", command, wanted);
        testserver_pause();
    }
}

/* The release build: a sanitizer's memory says nothing. */
static void many_databases_cost_what_is_in_them(void **state)
{
    struct testserver *s = testserver_start(&(struct testserver_options){.is_release = true});
    redisContext *m = testserver_connect(s);
    long long before = ask_integer(m, "KV.DB CREATE first");
    long long memory = load_info(m, "used_memory");
    expect(m, "+OK", "KV.DB DROP first");
    for (int i = 0; i < MANY; i++) say(m, "KV.DB CREATE db.%d", i);
    for (int i = 0; i < MANY; i++) expect_next(m, ":*");
    for (int i = 0; i < MANY; i++) {
        say(m, "SELECT db.%d", i);
        say(m, "KV.SET [1] %d", i);
        say(m, "KV.ENQUEUE q 1");
    }
    for (int i = 0; i < 3 * MANY; i++) expect_next(m, "*");
    redisFree(m);
    testserver_kill(s);
    testserver_again(s);
    m = testserver_connect(s);
    for (int i = 0; i < MANY; i += 97) {
        char name[20];
        snprintf(name, sizeof name, "db.%d", i);
        expect(m, "+OK", "SELECT %s", name);
        becomes(m, ":1", "DBSIZE");
        assert_int_equal(info_of(m, name, "queues"), 1);
    }
    expect(m, "+OK", "SELECT 0");
    memory_falls_to(m, memory + MANY * BYTES_EACH_MAX);
    for (int i = 0; i < MANY; i++) say(m, "KV.DB DROP db.%d", i);
    for (int i = 0; i < MANY; i++) expect_next(m, "+OK");
    redisFree(m);
    testserver_stop(s); /* in less than 20 s */
    testserver_again(s);
    m = testserver_connect(s);
    redisReply *list = ask_reply(m, "KV.DB LIST");
    assert_int_equal(list->elements, 16);
    freeReplyObject(list);
    memory_falls_to(m, memory + BYTES_LEFT_MAX);
    /* A number is not given again so soon. */
    assert_true(ask_integer(m, "KV.DB CREATE last") > before + MANY);
    redisFree(m);
    testserver_free(s);
}

/* Of what was written before the flush nothing comes back, and of what came after it nothing goes,
 * wherever the server was with removing when it was killed. */
static void a_kill_amid_the_removing_of_a_flushed_database_harms_nothing(void **state)
{
    enum { ROWS = 60000, PART = 1000, ROUNDS = 3 };
    ask_integer(c, "KV.DB CREATE big");
    expect(c, "+OK", "CONFIG SET memtable-age 50");
    for (int round = 1; round <= ROUNDS; round++) {
        expect(c, "+OK", "SELECT big");
        for (int from = 0; from < ROWS; from += PART) {
            for (int i = from; i < from + PART; i++) say(c, "SET k%d %d", i, round);
            expect_many(c, PART, "+OK");
        }
        load_wait_info(d, "memtable_entries", 0);
        assert_int_equal(ask_integer(c, "DBSIZE"), ROWS);
        expect(c, "+OK", "FLUSHDB");
        expect(c, ":0", "DBSIZE");
        expect(c, "+OK", "SET k%d new", round);
        if (round < ROUNDS) load_wait_info(d, "memtable_entries", 0); /* the store has the flush */
        group_again(true);
        expect(c, "+OK", "CONFIG SET memtable-age 50");
        expect(c, "+OK", "SELECT big");
        expect(c, ":1", "DBSIZE");
        expect(c, "new", "GET k%d", round);
        expect(c, "(nil)", "GET k%d", round + 1);
    }
    load_wait_info(d, "memtable_entries", 0);
    load_wait_info(d, "store_cleaning", 0);
    expect(c, ":1", "DBSIZE");
    assert_int_equal(info("big", "entries"), 1);
    assert_in_range(info("big", "bytes-on-disk"), 3, 20);
    group_again(false);
    expect(c, "+OK", "SELECT big");
    expect(c, ":1", "DBSIZE");
    expect(c, "new", "GET k%d", ROUNDS);
    expect(c, "+OK", "CONFIG SET memtable-age 5000");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_database_has_a_name_and_a_number),
        TEST(who_selected_a_dropped_database_is_told),
        TEST(a_full_database_refuses_what_adds_and_nothing_else),
        TEST(what_is_as_long_as_what_it_replaces_is_no_more),
        TEST(messages_count_and_a_full_queue_can_be_worked_off),
        TEST(each_write_of_a_long_transaction_is_counted),
        TEST(a_quota_survives_restarts_and_kills),
        TEST(a_limit_may_come_later),
        TEST(a_quota_holds_under_many_writers),
        TEST(over_a_rate_commands_wait_and_are_not_refused),
        TEST(the_feed_begins_with_the_database),
        TEST(many_databases_cost_what_is_in_them),
        TEST(a_kill_amid_the_removing_of_a_flushed_database_harms_nothing),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
