/* How much the commands of one transaction may do in its turn of the loop, beside writing and
 * passing rows; what makes them cheap where they can be; and scripts whose commands take long.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

#define MEMBERS 20000
#define JSON_BYTES 1000000

static redisContext *c;

/* Work is counted here, not timed. */
static int start(void **state)
{
    static const char *const args[] = {"--enable-debug-command", "local", NULL};
    struct testserver_options o = {.args = args, .turn_ms_max = 60000};
    (void)state;
    group_opens(&c, NULL);
    server = testserver_start(&o);
    return 0;
}

static void begin(void)
{
    expect(c, "+OK", "MULTI");
}

static void queue_many(const char *command, unsigned times)
{
    for (unsigned i = 0; i < times; i++) say(c, command);
    expect_many(c, times, "+QUEUED");
}

static void fill(void)
{
    for (unsigned i = 0; i < MEMBERS; i++) say(c, "SADD s m%05u", i);
    for (unsigned i = 0; i < MEMBERS; i++) say(c, "HSET h m%05u v", i);
    expect_many(c, 2 * MEMBERS, ":1");
}

/* An array of JSON_BYTES / 2 zeros. */
static void set_document(const char *key)
{
    char *text = malloc(JSON_BYTES + 2);
    for (size_t i = 0; i < JSON_BYTES; i += 2) memcpy(text + i, ",0", 2);
    text[0] = '[';
    text[JSON_BYTES] = ']';
    expect(c, "+OK", "JSON.SET %s . %b", key, text, (size_t)JSON_BYTES + 1);
    free(text);
}

static void these_fit(const char *command, unsigned times)
{
    begin();
    queue_many(command, times);
    redisReply *r = ask_reply(c, "EXEC");
    if (r->type != REDIS_REPLY_ARRAY) fail_msg("%s: %s", command, r->str);
    freeReplyObject(r);
}

static void these_are_refused(const char *command, unsigned times)
{
    begin();
    queue_many("SET written 1", 1);
    queue_many(command, times);
    expect(c,
           "-EXECABORT command *: LIMIT more work than one transaction may do, as it runs in one "
           "turn (about 100 ms); split it",
           "EXEC");
    expect(c, ":0", "EXISTS written");
}

static void everything_that_grows_with_sizes_is_limited(void **state)
{
    /* So many fit, and what is over that is refused, with all of the transaction. */
    static const struct {
        const char *command;
        unsigned fit, refused;
    } rows[] = {
        {"BITCOUNT bits", 30, 45},
        {"BITCOUNT bits 1 -2", 30, 45},
        {"BITPOS bits 1", 30, 45},
        {"BITCOUNT bits 0 9", 3000, 0},
        {"STRLEN bits", 3000, 0},
        {"GETBIT bits 7", 3000, 0},
        {"BITOP OR to long long long long long long long long", 20, 30},
        {"LCS a b LEN", 20, 30},
        {"JSON.GET doc [1]", 15, 30},
        {"JSON.TYPE doc", 15, 30},
        {"JSON.ARRLEN doc", 15, 30},
        {"JSON.SET doc [0] 1", 6, 15},
        {"SRANDMEMBER s", 10000, 19500},
        {"SRANDMEMBER s 100", 100, 400},
        {"SPOP s", 1000, 19500},
        {"HRANDFIELD h -100", 100, 400},
        {"PFCOUNT hll hll hll", 1000, 2500},
        {"RANDOMKEY", 500, 1500},
        {"PING", 19500, 0},
        {"KV.QUEUE LIST", 10000, 0},
        {"COMMAND", 0, 400}, /* hiredis cannot read it in the reply of EXEC */
        {"COMMAND DOCS", 0, 100},
    };
    (void)state;
    expect(c, ":10000001", "SETRANGE bits 10000000 x");
    expect(c, ":1000001", "SETRANGE long 1000000 x");
    expect(c, ":2000", "SETRANGE a 1999 x");
    expect(c, ":2000", "SETRANGE b 1999 y");
    expect(c, ":1", "PFADD hll a b c");
    set_document("doc");
    fill();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].fit > 0) these_fit(rows[i].command, rows[i].fit);
        if (rows[i].refused > 0) these_are_refused(rows[i].command, rows[i].refused);
    }
}

/* Nothing is read, but each is parsed. */
static void new_documents_are_limited_too(void **state)
{
    char *text = malloc(JSON_BYTES + 2);
    (void)state;
    memset(text, ' ', JSON_BYTES);
    memcpy(text, "[1", 2);
    text[JSON_BYTES] = ']';
    begin();
    for (unsigned i = 0; i < 15; i++)
        say(c, "JSON.SET new%u . %b", i, text, (size_t)JSON_BYTES + 1);
    expect_many(c, 15, "+QUEUED");
    expect(c, "-EXECABORT command 11 json.set: LIMIT more work than one transaction may do*",
           "EXEC");
    expect(c, ":0", "EXISTS new0");
    free(text);
}

/* What costs nothing goes on, where errors do not refuse all. */
static void what_is_refused_costs_nothing_more(void **state)
{
    (void)state;
    set_document("doc");
    expect(c, "+OK", "CLIENT EXEC-ON-ERROR CONTINUE");
    begin();
    queue_many("JSON.ARRLEN doc", 2000);
    queue_many("SET written 1", 1);
    redisReply *r = ask_reply(c, "EXEC");
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    assert_int_equal(r->element[0]->integer, JSON_BYTES / 2);
    unsigned good = 0;
    for (size_t i = 0; i < 2000; i++) good += r->element[i]->type == REDIS_REPLY_INTEGER;
    assert_in_range(good, 10, 40);
    assert_int_equal(r->element[1999]->type, REDIS_REPLY_ERROR);
    assert_string_equal(r->element[2000]->str, "OK");
    freeReplyObject(r);
    expect(c, "1", "GET written");
}

/* Without a transaction each has a turn of its own. */
static void single_commands_are_not_limited(void **state)
{
    (void)state;
    set_document("doc");
    for (unsigned i = 0; i < 40; i++) expect(c, ":500000", "JSON.ARRLEN doc");
}

/* A script in a transaction takes of the same. */
static void scripts_in_exec_take_of_it_too(void **state)
{
    (void)state;
    expect(c, ":10000001", "SETRANGE bits 10000000 x");
    begin();
    for (unsigned i = 0; i < 60; i++) {
        say(c, "EVAL %s 0", "return redis.call('BITCOUNT','bits')");
    }
    expect_many(c, 60, "+QUEUED");
    expect(c, "-EXECABORT command * eval: LIMIT more work than one transaction may do*", "EXEC");
    begin();
    queue_many("BITCOUNT bits", 40);
    say(c, "EVAL %s 0", "return 1");
    expect_next(c, "+QUEUED");
    expect(c, "-EXECABORT command 41 eval: LIMIT more work than one transaction may do*", "EXEC");
}

/* Commands that take long are what makes a script long, not its instructions alone. */
static void a_script_whose_commands_take_long_leaves_the_loop(void **state)
{
    (void)state;
    expect(c, ":10000001", "SETRANGE bits 10000000 x");
    long long before = load_info(c, "scripts_long");
    expect(c, ":1", "EVAL %s 0", "return 1");
    assert_int_equal(load_info(c, "scripts_long"), before);
    expect(c, ":4", "EVAL %s 0",
           "local n for i = 1, 8 do n = redis.call('BITCOUNT', 'bits') end return n");
    assert_int_equal(load_info(c, "scripts_long"), before + 1);
}

/* ---- what was deleted in the transaction itself ---------------------------------------------- */

static void fill_sorted(void)
{
    for (unsigned i = 0; i < MEMBERS; i++) say(c, "ZADD z %u m%05u", i, i);
    expect_many(c, MEMBERS, ":1");
}

static void a_sorted_set_is_emptied_one_by_one(void **state)
{
    static const struct {
        const char *command;
        unsigned times;
        bool tells, is_reverse;
    } rows[] = {
        {"ZPOPMIN z", MEMBERS - 100, true, false},
        {"ZPOPMAX z", MEMBERS - 100, true, true},
        {"ZREMRANGEBYRANK z 0 0", MEMBERS - 100, false, false},
        {"ZREMRANGEBYRANK z -1 -1", 5000, false, true},
    };
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        unsigned times = rows[k].times;
        char name[16];
        fill_sorted();
        begin();
        queue_many(rows[k].command, times);
        queue_many(rows[k].is_reverse ? "ZRANGE z -1 -1" : "ZRANGE z 0 0", 1);
        queue_many("ZCARD z", 1);
        redisReply *r = ask_reply(c, "EXEC");
        if (r->type != REDIS_REPLY_ARRAY) fail_msg("%s: %s", rows[k].command, r->str);
        assert_int_equal(r->element[times + 1]->integer, MEMBERS - times);
        for (unsigned i = rows[k].tells ? 0 : times; i <= times; i++) {
            snprintf(name, sizeof name, "m%05u", rows[k].is_reverse ? MEMBERS - 1 - i : i);
            assert_string_equal(r->element[i]->element[0]->str, name);
        }
        freeReplyObject(r);
        expect(c, ":1", "DEL z");
    }
}

static void what_is_added_where_all_was_gone_is_found(void **state)
{
    (void)state;
    fill_sorted();
    begin();
    queue_many("ZPOPMIN z", 200);
    queue_many("ZADD z 50 new", 1);
    queue_many("ZPOPMIN z", 1);
    queue_many("ZPOPMIN z", 1);
    queue_many("ZADD z -1 first", 1);
    queue_many("ZRANGE z 0 0", 1);
    redisReply *r = ask_reply(c, "EXEC");
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    assert_string_equal(r->element[199]->element[0]->str, "m00199");
    assert_string_equal(r->element[201]->element[0]->str, "new");
    assert_string_equal(r->element[202]->element[0]->str, "m00200");
    assert_string_equal(r->element[204]->element[0]->str, "first");
    freeReplyObject(r);
}

static void what_was_undone_is_there_again(void **state)
{
    (void)state;
    fill_sorted();
    expect(c, "m00100", "EVAL %s 0",
           "for i = 1, 100 do redis.call('ZPOPMIN', 'z') end "
           "redis.pcall('ZADD', 'z', 'no', 'number') "
           "return redis.call('ZRANGE', 'z', 0, 0)[1]");
    expect(c, "+OK", "CLIENT EXEC-ON-ERROR CONTINUE");
    begin();
    queue_many("ZPOPMIN z", 100);
    say(c, "EVAL %s 0", "for i = 1, 100 do redis.call('ZPOPMIN', 'z') end error('undone')");
    expect_next(c, "+QUEUED");
    queue_many("ZPOPMIN z", 1);
    redisReply *r = ask_reply(c, "EXEC");
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    assert_string_equal(r->element[99]->element[0]->str, "m00199");
    assert_int_equal(r->element[100]->type, REDIS_REPLY_ERROR);
    assert_string_equal(r->element[101]->element[0]->str, "m00200");
    freeReplyObject(r);
}

/* ---- streams, queues ------------------------------------------------------------------------- */

/* Their first entry is looked for once. */
static void many_entries_of_a_stream_go_at_once(void **state)
{
    enum { ENTRIES = 20000 };
    static const char *argv[ENTRIES + 3];
    static char ids[ENTRIES][16];
    (void)state;
    for (unsigned i = 0; i < ENTRIES; i++) say(c, "XADD x %u-1 f v", i + 1);
    for (unsigned i = 0; i < ENTRIES; i++) expect_next(c, "*-1");
    argv[0] = "XDEL";
    argv[1] = "x";
    for (unsigned i = 0; i < ENTRIES - 2; i++) {
        snprintf(ids[i], sizeof ids[i], "%u-1", i + 1);
        argv[2 + i] = ids[i];
    }
    argv[ENTRIES] = ids[7]; /* again */
    argv[ENTRIES + 1] = "77777-7";
    expect(c, "+OK", "MULTI");
    redisReply *r = redisCommandArgv(c, ENTRIES + 2, argv, NULL);
    freeReplyObject(r);
    queue_many("XRANGE x - +", 1);
    queue_many("XDEL x 19999-1", 1);
    queue_many("XADD x 30000-1 f v", 1);
    r = ask_reply(c, "EXEC");
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    assert_int_equal(r->element[0]->integer, ENTRIES - 2);
    assert_int_equal(r->element[1]->elements, 2);
    assert_string_equal(r->element[1]->element[0]->element[0]->str, "19999-1");
    freeReplyObject(r);
    r = ask_reply(c, "XINFO STREAM x");
    const char *first = NULL;
    for (size_t i = 0; i + 1 < r->elements; i += 2) {
        if (strcmp(r->element[i]->str, "recorded-first-entry-id") == 0)
            first = r->element[i + 1]->str;
    }
    assert_non_null(first);
    assert_string_equal(first, "20000-1");
    freeReplyObject(r);
    expect(c, ":2", "XLEN x");
    expect(c, ":2", "XDEL x 20000-1 30000-1");
    expect(c, ":0", "XLEN x");
}

/* More are there than it can know of: it does not say that there is none. */
static void a_transaction_takes_so_many_messages_and_no_more(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 1500; i++) say(c, "KV.ENQUEUE q 1");
    for (unsigned i = 0; i < 1500; i++) expect_next(c, "*");
    begin();
    queue_many("KV.DEQUEUE q", 1024);
    redisReply *r = ask_reply(c, "EXEC");
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    for (size_t i = 0; i < 1024; i++) assert_int_equal(r->element[i]->type, REDIS_REPLY_ARRAY);
    freeReplyObject(r);
    begin();
    queue_many("KV.DEQUEUE q COUNT 100", 4);
    queue_many("KV.DEQUEUE q COUNT 100", 2);
    r = ask_reply(c, "EXEC");
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    assert_int_equal(r->element[4]->elements, 76);
    assert_int_equal(r->element[5]->type, REDIS_REPLY_NIL);
    freeReplyObject(r);
    for (unsigned i = 0; i < 1500; i++) say(c, "KV.ENQUEUE q 1");
    for (unsigned i = 0; i < 1500; i++) expect_next(c, "*");
    begin();
    queue_many("KV.DEQUEUE q", 1025);
    expect(c,
           "-EXECABORT command 1025 kv.dequeue: LIMIT one transaction can dequeue at most 1024 "
           "messages of a queue",
           "EXEC");
    assert_int_equal(load_queue(c, "q", "ready"), 1500);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(everything_that_grows_with_sizes_is_limited),
        TEST(new_documents_are_limited_too),
        TEST(what_is_refused_costs_nothing_more),
        TEST(single_commands_are_not_limited),
        TEST(scripts_in_exec_take_of_it_too),
        TEST(a_script_whose_commands_take_long_leaves_the_loop),
        TEST(a_sorted_set_is_emptied_one_by_one),
        TEST(what_is_added_where_all_was_gone_is_found),
        TEST(what_was_undone_is_there_again),
        TEST(many_entries_of_a_stream_go_at_once),
        TEST(a_transaction_takes_so_many_messages_and_no_more),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
