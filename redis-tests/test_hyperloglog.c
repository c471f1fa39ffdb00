/* PFADD, PFCOUNT, PFMERGE: what a real Redis cannot be asked (test_types_redis.c has the rest):
 * what is written and when, limits, transactions, values of this server's own.
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

static redisContext *c, *other;

static int start(void **state)
{
    group_opens(&c, &other, NULL);
    server = testserver_start_with("--databases", "4", NULL);
    return 0;
}

static const char *version(void)
{
    return ask(c, "KV.VERSION");
}

/* The byte of the value that says whether the estimate in it is good, "" when it is. */
static const char *stale(const char *key)
{
    return ask(c, "GETRANGE %s 15 15", key);
}

static void an_estimate_is_kept_once_and_watched_keys_see_it(void **state)
{
    expect(c, ":1", "PFADD p a b c");
    assert_string_equal(stale("p"), "\x80");
    expect(c, "+OK", "WATCH p");
    expect(other, ":3", "PFCOUNT p");
    assert_string_equal(stale("p"), "");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "PING");
    expect(c, "(nil)", "EXEC");
    const char *before = version();
    expect(c, ":3", "PFCOUNT p");
    expect(c, ":3", "PFCOUNT p p none");
    expect(c, ":0", "PFADD p a");
    assert_string_equal(version(), before);
}

static void the_expiry_stays(void **state)
{
    expect(c, ":1", "PFADD p a");
    expect(c, ":1", "EXPIRE p 100");
    expect(c, ":1", "PFADD p b");
    expect(c, ":2", "PFCOUNT p");
    expect(c, "+OK", "PFMERGE p none");
    expect(c, ":*", "TTL p");
    assert_true(ask_integer(c, "TTL p") > 90);
}

static void they_are_part_of_transactions_and_scripts(void **state)
{
    expect(c, ":1", "PFADD p a");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "PFADD p b");
    expect(c, "+QUEUED", "PFCOUNT p");
    expect(c, "+QUEUED", "PFMERGE q p");
    expect(c, "+QUEUED", "PFCOUNT p q");
    expect(c, "[:1 :2 +OK :2]", "EXEC");
    assert_string_equal(stale("p"), "");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "PFADD p c");
    expect(c, "+QUEUED", "HSET p f v");
    expect(c, "-EXECABORT*", "EXEC");
    expect(c, ":2", "PFCOUNT p");
    expect(c, ":3", "EVAL %s 1 p",
           "redis.call('pfadd', KEYS[1], 'c') return redis.call('pfcount', KEYS[1])");
    expect(c, ":1", "PFADD p d");
    expect(c, ":4", "EVAL_RO %s 1 p", "return redis.call('pfcount', KEYS[1])");
    expect(c, "-ERR Write commands are not allowed from read-only scripts*", "EVAL_RO %s 1 p",
           "return redis.call('pfadd', KEYS[1], 'e')");
}

static void while_writes_are_paused_nothing_is_kept(void **state)
{
    expect(c, ":1", "PFADD p a");
    expect(other, "+OK", "CLIENT PAUSE 60000 WRITE");
    expect(c, ":1", "PFCOUNT p");
    assert_string_equal(stale("p"), "\x80");
    expect(other, "+OK", "CLIENT UNPAUSE");
    expect(c, ":1", "PFCOUNT p");
    assert_string_equal(stale("p"), "");
}

static void a_full_database_is_counted_all_the_same(void **state)
{
    expect(c, ":*", "KV.DB CREATE full MAXBYTES 1mb");
    expect(c, "+OK", "SELECT full");
    expect(c, ":1", "PFADD p a");
    expect(c, "+OK", "SET k x");
    expect(c, "+OK", "KV.DB LIMIT full MAXBYTES 1");
    expect(c, "-QUOTA*", "PFADD p b c d");
    expect(c, "-QUOTA*", "PFMERGE q p");
    expect(c, ":1", "PFCOUNT p");
    expect(c, "+OK", "SELECT 0");
    expect(c, "+OK", "KV.DB DROP full");
}

static void values_of_other_kinds_are_refused(void **state)
{
    static const char wrong_type[] =
        "-WRONGTYPE Operation against a key holding the wrong kind of value";
    static const char not_one[] = "-WRONGTYPE Key is not a valid HyperLogLog string value.";
    static const char damaged[] = "-INVALIDOBJ Corrupted HLL object detected";
    expect(c, ":1", "PFADD p a");
    expect(c, "*", "KV.SET ['n'] 1");
    expect(c, ":1", "SADD s a");
    expect(c, "+OK", "SET text HYLL");
    expect(c, "+OK", "SET empty %s", "");
    expect(c, "+OK", "SET damaged %b", "HYLL\1\0\0\0\0\0\0\0\0\0\0\x80", (size_t)16);
    static const struct {
        const char *key, *error;
    } keys[] = {{"n", wrong_type},
                {"s", wrong_type},
                {"text", not_one},
                {"empty", not_one},
                {"damaged", damaged}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        expect(c, keys[i].error, "PFADD %s a", keys[i].key);
        expect(c, keys[i].error, "PFCOUNT %s", keys[i].key);
        expect(c, keys[i].error, "PFCOUNT p %s", keys[i].key);
        expect(c, keys[i].error, "PFMERGE p %s", keys[i].key);
        expect(c, keys[i].error, "PFMERGE %s p", keys[i].key);
    }
    expect(c, damaged, "PFCOUNT damaged text");
    expect(c, not_one, "PFCOUNT text damaged");
}

/* No sparse value is so long, whatever runs it has. */
static void a_value_that_is_too_long_is_damaged(void **state)
{
    expect(c, ":1", "PFADD p a");
    expect(c, ":1000000", "SETRANGE p 999999 x");
    expect(c, "-INVALIDOBJ*", "PFADD p b");
    expect(c, "-INVALIDOBJ*", "PFCOUNT p");
    expect(c, "-INVALIDOBJ*", "PFMERGE q p");
}

/* `first` and then so many words, the numbers from 0 on. */
static const char *ask_many(const char *first, const char *key, int count)
{
    const char **words = calloc((size_t)count + 2, sizeof *words);
    char(*numbers)[12] = calloc((size_t)count, sizeof *numbers);
    static char text[200];
    words[0] = first;
    words[1] = key;
    for (int i = 0; i < count; i++) {
        snprintf(numbers[i], sizeof numbers[i], "%d", i);
        words[i + 2] = numbers[i];
    }
    redisReply *r = redisCommandArgv(c, count + 2, words, NULL);
    assert_non_null(r);
    if (r->type == REDIS_REPLY_INTEGER)
        snprintf(text, sizeof text, ":%lld", r->integer);
    else
        snprintf(text, sizeof text, "%s", r->str);
    freeReplyObject(r);
    free(words);
    free(numbers);
    return text;
}

static void one_command_has_limits(void **state)
{
    assert_string_equal(ask_many("PFADD", "p", 100000), ":1");
    assert_int_equal(ask_integer(c, "STRLEN p"), 12304);
    assert_in_range(ask_integer(c, "PFCOUNT p"), 97000, 103000);
    assert_string_equal(ask_many("PFADD", "p", 100001),
                        "LIMIT more elements than one command may have (100000)");
    assert_string_equal(ask_many("PFCOUNT", "none", 999), ":0");
    assert_string_equal(ask_many("PFCOUNT", "none", 1000),
                        "LIMIT more keys than one command may have (1000)");
    assert_string_equal(ask_many("PFMERGE", "none", 1001),
                        "LIMIT more keys than one command may have (1000)");
}

static void a_value_can_be_moved_with_get_and_set(void **state)
{
    assert_string_equal(ask_many("PFADD", "p", 500), ":1");
    redisReply *r = ask_reply(c, "GET p");
    expect(c, "+OK", "SET q %b", r->str, r->len);
    freeReplyObject(r);
    long long estimate = ask_integer(c, "PFCOUNT p");
    assert_int_equal(ask_integer(c, "PFCOUNT q"), estimate);
    assert_int_equal(ask_integer(c, "PFCOUNT p q"), estimate);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(an_estimate_is_kept_once_and_watched_keys_see_it),
        TEST(the_expiry_stays),
        TEST(they_are_part_of_transactions_and_scripts),
        TEST(while_writes_are_paused_nothing_is_kept),
        TEST(a_full_database_is_counted_all_the_same),
        TEST(values_of_other_kinds_are_refused),
        TEST(a_value_that_is_too_long_is_damaged),
        TEST(one_command_has_limits),
        TEST(a_value_can_be_moved_with_get_and_set),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
