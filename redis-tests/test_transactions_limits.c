/* What limits an EXEC, what waits for it, what is the same throughout it, and an EXEC over data
 * that is on disk only.
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
#include "group.h"
#include "load_help.h"

#define LIMIT_MS 15000

static redisContext *c, *d; /* fresh for each test; d: another client */

static int start(void **state)
{
    group_opens(&c, &d, NULL);
    server = testserver_start_with("--enable-debug-command", "local", "--databases", "4", NULL);
    return 0;
}

#define queue(...) expect(c, "+QUEUED", __VA_ARGS__)

static void begin(void)
{
    expect(c, "+OK", "MULTI");
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void more_commands_than_the_limit_are_not_queued(void **state)
{
    expect(c, "+OK", "CONFIG SET max-transaction-ops 1000");
    begin();
    for (int i = 0; i < 1000; i++) say(c, "SET k%d v", i);
    expect_many(c, 1000, "+QUEUED");
    expect(c, "-LIMIT more commands than max-transaction-ops (1000)", "SET more v");
    expect(c, "-EXECABORT Transaction discarded*", "EXEC");
    expect(c, ":0", "DBSIZE");
    begin();
    queue("MSET a 1 b 1 c 1");
    for (int i = 0; i < 998; i++) say(c, "SET k%d v", i);
    expect_many(c, 998, "+QUEUED");
    expect(c, "-EXECABORT command 999 set: LIMIT 1001 operations, more than *", "EXEC");
    expect(c, ":0", "DBSIZE");
    expect(c, "+OK", "CONFIG SET max-transaction-ops 10000");
}

/* Redis's own tools send as many keys in one MSET or EXEC. */
static void twenty_thousand_keys_are_one_transaction(void **state)
{
    enum { KEYS = 20000 };
    static const char *argv[2 * (KEYS + 1) + 1];
    static char names[KEYS + 1][16];
    argv[0] = "MSET";
    for (int i = 0; i <= KEYS; i++) {
        snprintf(names[i], sizeof names[i], "k%d", i);
        argv[1 + 2 * i] = names[i];
        argv[2 + 2 * i] = "v";
    }
    struct testserver *s = testserver_start(NULL);
    redisContext *own = testserver_connect(s);
    redisReply *r = redisCommandArgv(own, 2 * KEYS + 1, argv, NULL);
    assert_string_equal(r->str, "OK");
    freeReplyObject(r);
    r = redisCommandArgv(own, 2 * KEYS + 3, argv, NULL);
    assert_string_equal(r->str, "LIMIT MSET of 20001 keys exceeds max-transaction-ops (20000)");
    freeReplyObject(r);
    expect(own, "+OK", "MULTI");
    for (int i = 0; i < KEYS; i++) say(own, "SET k%d w", i);
    expect_many(own, KEYS, "+QUEUED");
    r = ask_reply(own, "EXEC");
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    assert_int_equal(r->elements, KEYS);
    freeReplyObject(r);
    expect(own, "w", "GET k19999");
    argv[0] = "DEL";
    for (int i = 0; i <= KEYS; i++) argv[1 + i] = names[i];
    r = redisCommandArgv(own, KEYS + 2, argv, NULL);
    assert_string_equal(r->str, "LIMIT DEL of 20001 keys exceeds max-transaction-ops (20000)");
    freeReplyObject(r);
    r = redisCommandArgv(own, KEYS + 1, argv, NULL);
    assert_int_equal(r->integer, KEYS);
    freeReplyObject(r);
    redisFree(own);
    testserver_free(s);
}

static void ten_thousand_commands_are_one_transaction(void **state)
{
    begin();
    for (int i = 0; i < 10000; i++) say(c, "INCR k%d", i % 5000);
    expect_many(c, 10000, "+QUEUED");
    expect(c, "-LIMIT more commands than max-transaction-ops (10000)", "PING");
    expect(c, "-EXECABORT *", "EXEC");
    begin();
    for (int i = 0; i < 10000; i++) say(c, "INCR k%d", i % 5000);
    expect_many(c, 10000, "+QUEUED");
    redisReply *r = ask_reply(c, "EXEC");
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    assert_int_equal(r->elements, 10000);
    assert_int_equal(r->element[4999]->integer, 1);
    assert_int_equal(r->element[9999]->integer, 2);
    freeReplyObject(r);
    expect(c, ":5000", "DBSIZE");
}

static void a_queue_of_more_bytes_than_the_limit_is_refused(void **state)
{
    size_t len = 9 << 20;
    char *value = malloc(len);
    memset(value, 'v', len);
    begin();
    for (int i = 0; i < 7; i++) queue("SET k%d %b", i, value, len);
    expect(c, "-LIMIT the queued commands exceed max-transaction-size *", "SET k %b", value, len);
    expect(c, "-EXECABORT Transaction discarded*", "EXEC");
    expect(c, ":0", "DBSIZE");
    free(value);
}

static void a_reply_of_more_bytes_than_the_limit_is_refused(void **state)
{
    size_t len = 1 << 20;
    char *value = malloc(len);
    memset(value, 'v', len);
    expect(c, "+OK", "SET big %b", value, len);
    free(value);
    begin();
    queue("SET done 1");
    for (int i = 0; i < 65; i++) queue("GET big");
    expect(c, "-EXECABORT command * get: LIMIT the reply of EXEC exceeds *", "EXEC");
    expect(c, "(nil)", "GET done");
}

static void rows_inside_exec_are_limited(void **state)
{
    expect(c, "+OK", "CONFIG SET max-transaction-ops 10000");
    for (int i = 0; i < 300; i++) say(c, "KV.SET ['r',%d] 1", i);
    expect_many(c, 300, "@");
    begin();
    for (int i = 0; i < 400; i++) say(c, "KV.COUNT");
    expect_many(c, 400, "+QUEUED");
    queue("SET done 1");
    expect(c, "-EXECABORT command * kv.count: LIMIT more rows than one transaction may read *",
           "EXEC");
    expect(c, "(nil)", "GET done");
}

/* Rows that were deleted a moment ago are still passed over, and cost too, though less. */
static void deleted_rows_that_are_passed_are_limited(void **state)
{
    enum { ROWS = 20000, EACH = 1000 };
    expect(c, "+OK", "CONFIG SET max-transaction-ops 10000");
    expect(c, "+OK", "CONFIG SET memtable-age 3600000"); /* they stay in memory */
    for (int i = 0; i < ROWS; i += EACH) {
        for (int k = 0; k < EACH; k++) say(c, "KV.SET ['gone',%d] 1", i + k);
        expect_many(c, EACH, "@");
    }
    expect(c, "@", "KV.SET ['here'] 1");
    for (int i = 0; i < ROWS; i += EACH) {
        for (int k = 0; k < EACH; k++) say(c, "KV.DEL ['gone',%d]", i + k);
        expect_many(c, EACH, ":1");
    }
    begin();
    queue("KV.LIST PREFIX ['gone'] LIMIT 1");
    queue("SET done 1");
    expect(c, "[[0 []] +OK]", "EXEC");
    expect(c, ":1", "DEL done");
    begin();
    for (int i = 0; i < 800; i++) say(c, "KV.LIST PREFIX ['gone'] LIMIT 1");
    expect_many(c, 800, "+QUEUED");
    queue("SET done 1");
    expect(c, "-EXECABORT command * kv.list: LIMIT a scan reads more rows*", "EXEC");
    expect(c, "(nil)", "GET done");
    begin();
    for (int i = 0; i < 800; i++) say(c, "KV.COUNT PREFIX ['gone']");
    expect_many(c, 800, "+QUEUED");
    expect(c, "-EXECABORT command * kv.count: LIMIT a scan reads more rows*", "EXEC");
    /* A script that goes on after the error has no more than that either. */
    expect(c, "-*LIMIT*", "EVAL %s 0",
           "for i = 1, 800 do "
           "local r = redis.pcall('KV.COUNT', 'PREFIX', '[\"gone\"]') "
           "if type(r) == 'table' and r.err and i > 600 then return r end end return 'all'");
    expect(c, "+OK", "CONFIG SET memtable-age 5000");
}

static void a_range_too_large_for_one_transaction_is_refused(void **state)
{
    for (int i = 0; i < 300; i++) say(c, "KV.SET ['r',%d] 1", i);
    expect_many(c, 300, "@");
    expect(c, "+OK", "CONFIG SET max-transaction-ops 200");
    begin();
    queue("SET done 1");
    queue("KV.DELRANGE PREFIX ['r']");
    expect(c, "-EXECABORT command 2 kv.delrange: LIMIT *", "EXEC");
    expect(c, ":300", "KV.COUNT");
    expect(c, "+OK", "CONFIG SET max-transaction-ops 10000");
    begin();
    queue("KV.DELRANGE PREFIX ['r']");
    queue("KV.COUNT");
    expect(c, "[:300 :0]", "EXEC");
}

/* ---- CLIENT PAUSE, placeholders, IDEM -------------------------------------------------------- */

static void a_pause_of_writes_holds_exec_with_a_write(void **state)
{
    begin();
    queue("GET k");
    redisContext *reading = c;
    c = testserver_connect(server);
    begin();
    queue("SET k 1");
    expect(d, "+OK", "CLIENT PAUSE 60000 WRITE");
    say(c, "EXEC");
    load_flush(c);
    expect(reading, "[(nil)]", "EXEC");
    assert_false(load_is_readable(c, 50));
    expect(d, "(nil)", "GET k");
    expect(d, "+OK", "CLIENT UNPAUSE");
    expect_next(c, "[+OK]");
    redisFree(reading);
}

static void a_uuid_number_is_the_same_in_all_of_exec(void **state)
{
    begin();
    queue("KV.SET [{'$uuidv7':1}] {'$uuidv7':2}");
    queue("KV.ATOMIC DETAILS SET ['ref'] [{'$uuidv7':1},{'$uuidv7':2}]");
    queue("KV.LIST");
    redisReply *r = ask_reply(c, "EXEC");
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    char wanted[300];
    redisReply *list = r->element[2]->element[1];
    assert_int_equal(list->elements, 2);
    const char *first = list->element[0]->element[0]->str; /* ["<uuid>"] */
    assert_int_equal(strlen(first), 40);
    const char *second = list->element[0]->element[1]->str; /* "<uuid>" */
    snprintf(wanted, sizeof wanted, "[%.38s,%s]", first + 1, second);
    assert_string_equal(list->element[1]->element[1]->str, wanted);
    assert_memory_not_equal(first + 1, second, 38);
    freeReplyObject(r);
    begin();
    queue("KV.SET ['again'] {'$uuidv7':1}");
    expect(c, "[@]", "EXEC");
    assert_null(strstr(wanted, ask(c, "KV.GET ['again']")));
}

static void idem_inside_exec_is_kept_with_it(void **state)
{
    begin();
    queue("KV.SUM ['n'] 1 IDEM a");
    queue("KV.SUM ['n'] 1 IDEM a");
    queue("KV.SUM ['n'] 1 IDEM b");
    queue("KV.ATOMIC IDEM c SUM ['n'] 10");
    redisReply *r = ask_reply(c, "EXEC");
    assert_int_equal(r->elements, 4);
    assert_string_equal(r->element[0]->element[0]->str, "1");
    assert_string_equal(r->element[1]->element[0]->str, "1"); /* a repeat, within the same EXEC */
    assert_string_equal(r->element[2]->element[0]->str, "2");
    freeReplyObject(r);
    expect(c, "[1 @]", "KV.SUM ['n'] 1 IDEM a");
    expect(c, "[2 @]", "KV.SUM ['n'] 1 IDEM b");
    expect(c, "12", "KV.GET ['n']");
    begin();
    queue("KV.SUM ['n'] 1 IDEM a");
    queue("KV.GET ['n']");
    expect(c, "[[1 @] 12]", "EXEC");
    begin();
    queue("SET done 1");
    queue("KV.SUM ['n'] 2 IDEM a");
    expect(c, "-EXECABORT command 2 kv.sum: ERR IDEM 'a' was used with *", "EXEC");
    expect(c, "(nil)", "GET done");
}

static void a_flush_inside_forgets_ids_of_before(void **state)
{
    expect(c, "[1 @]", "KV.SUM ['n'] 1 IDEM a");
    begin();
    queue("KV.SUM ['n'] 1 IDEM a");
    queue("FLUSHDB");
    queue("KV.SUM ['n'] 1 IDEM a");
    queue("KV.SUM ['n'] 5 IDEM b");
    expect(c, "[[1 @] +OK [1 @] [6 @]]", "EXEC");
    expect(c, "[1 @]", "KV.SUM ['n'] 1 IDEM a");
    expect(c, "[6 @]", "KV.SUM ['n'] 5 IDEM b");
    begin();
    queue("KV.SUM ['n'] 1 IDEM c");
    queue("FLUSHALL");
    expect(c, "[[7 @] +OK]", "EXEC");
    expect(c, "[1 @]", "KV.SUM ['n'] 1 IDEM c");
    expect(c, "[6 @]", "KV.SUM ['n'] 5 IDEM b");
}

/* ---- commands that wait by themselves -------------------------------------------------------- */

static void a_setting_cannot_be_changed_inside(void **state)
{
    begin();
    queue("SET a 1");
    expect(c, "-ERR Command not allowed inside a transaction", "CONFIG SET durability never");
    expect(c, "-EXECABORT Transaction discarded because of previous errors.", "EXEC");
    expect(c, "(nil)", "GET a");
    expect(c, "[durability always]", "CONFIG GET durability");
}

/* ---- data that is not in memory -------------------------------------------------------------- */

#define COLD_KEYS 3000

static void wait_until_applied(redisContext *on)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (load_info(on, "memtable_entries") != 0) {
        if (testserver_now_ms() > until) fail_msg("the memtables are not applied");
        testserver_pause();
    }
}

/* Lets the system forget the pages of the data file. */
static void make_cold(const struct testserver *s)
{
    char path[600];
    snprintf(path, sizeof path, "%s/tupled.db", testserver_dir(s));
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

static struct testserver *start_cold(redisContext **on, char *filler, size_t len)
{
    load_use_disk();
    struct testserver *s = testserver_start_with("--cache-size", "0", "--store-cache-size", "1mb",
                                                 "--memtable-age", "50", NULL);
    *on = testserver_connect(s);
    memset(filler, 'f', len);
    for (int i = 0; i < COLD_KEYS; i++) say(*on, "SET cold%d %b", i, filler, len);
    expect_many(*on, COLD_KEYS, "+OK");
    wait_until_applied(*on);
    redisFree(*on);
    testserver_stop(s);
    make_cold(s);
    testserver_again(s);
    make_cold(s);
    *on = testserver_connect(s);
    return s;
}

static void exec_over_cold_data_parks_and_is_still_atomic(void **state)
{
    char filler[2000];
    redisContext *mine = NULL;
    struct testserver *s = start_cold(&mine, filler, sizeof filler);
    redisContext *other = testserver_connect(s);
    long long waits = load_info(mine, "store_reads_waited");
    expect(mine, "+OK", "WATCH watched");
    expect(mine, "+OK", "MULTI");
    expect(mine, "+QUEUED", "INCR first");
    expect(mine, "+QUEUED", "UNWATCH");
    expect(mine, "+QUEUED", "SELECT 1");
    expect(mine, "+QUEUED", "SELECT 0");
    for (int i = 0; i < 500; i++) say(mine, "APPEND cold%d x", i * 6);
    expect_many(mine, 500, "+QUEUED");
    expect(mine, "+QUEUED", "INCR first");
    say(mine, "EXEC");
    load_flush(mine);
    for (int i = 0; i < 20; i++) expect(other, ":*", "INCR concurrent");
    redisReply *r = NULL;
    assert_int_equal(redisGetReply(mine, (void **)&r), REDIS_OK);
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    assert_int_equal(r->elements, 505);
    assert_int_equal(r->element[0]->integer, 1);
    for (size_t i = 4; i < 504; i++) assert_int_equal(r->element[i]->integer, sizeof filler + 1);
    assert_int_equal(r->element[504]->integer, 2);
    freeReplyObject(r);
    printf("# EXEC over cold data: %lld waits\n", load_info(mine, "store_reads_waited") - waits);
    expect(mine, "2", "GET first");
    expect(mine, "20", "GET concurrent");
    expect(mine, ":2001", "STRLEN cold6");
    redisFree(mine);
    redisFree(other);
    testserver_free(s);
}

/* EXEC is undone when its conflict key changes before it has ended, although its first attempts
 * came past UNWATCH. */
static void unwatch_of_an_attempt_that_waited_does_not_count(void **state)
{
    char filler[2000];
    redisContext *mine = NULL;
    struct testserver *s = start_cold(&mine, filler, sizeof filler);
    redisContext *other = testserver_connect(s);
    unsigned undone = 0;
    for (int round = 0; round < 10; round++) {
        expect(mine, "+OK", "WATCH watched");
        expect(mine, "+OK", "MULTI");
        expect(mine, "+QUEUED", "UNWATCH");
        expect(mine, "+QUEUED", "KV.SET ['mine'] 1");
        for (int i = 0; i < 300; i++) say(mine, "STRLEN cold%d", (i * 10 + round) % COLD_KEYS);
        expect_many(mine, 300, "+QUEUED");
        make_cold(s);
        say(mine, "EXEC");
        load_flush(mine);
        redisReply *theirs = ask_reply(other, "KV.SET ['watched'] 1");
        redisReply *r = NULL;
        assert_int_equal(redisGetReply(mine, (void **)&r), REDIS_OK);
        undone += r->type == REDIS_REPLY_NIL;
        if (r->type == REDIS_REPLY_ARRAY) {
            assert_true(load_version(r->element[1]) < load_version(theirs));
        }
        freeReplyObject(theirs);
        freeReplyObject(r);
    }
    printf("# %u of 10 undone\n", undone);
    redisFree(mine);
    redisFree(other);
    testserver_free(s);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(more_commands_than_the_limit_are_not_queued),
        TEST(twenty_thousand_keys_are_one_transaction),
        TEST(ten_thousand_commands_are_one_transaction),
        TEST(a_queue_of_more_bytes_than_the_limit_is_refused),
        TEST(a_reply_of_more_bytes_than_the_limit_is_refused),
        TEST(rows_inside_exec_are_limited),
        TEST(deleted_rows_that_are_passed_are_limited),
        TEST(a_range_too_large_for_one_transaction_is_refused),
        TEST(a_pause_of_writes_holds_exec_with_a_write),
        TEST(a_uuid_number_is_the_same_in_all_of_exec),
        TEST(idem_inside_exec_is_kept_with_it),
        TEST(a_flush_inside_forgets_ids_of_before),
        TEST(a_setting_cannot_be_changed_inside),
        TEST(exec_over_cold_data_parks_and_is_still_atomic),
        TEST(unwatch_of_an_attempt_that_waited_does_not_count),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
