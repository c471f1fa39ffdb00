/* Random elements over the wire: SPOP of large sets, replies that would be too large, transactions,
 * and a store of which every read waits (TUPLED_TEST_READ_DELAY_MS).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"
#include "load_help.h"

#define MEMBERS 150000
#define STEP 10000 /* members in one command */
#define VALUE_BYTES 1000000

static size_t elements_of(redisContext *c, const char *command)
{
    redisReply *r = ask_reply(c, command);
    if (r->type == REDIS_REPLY_ERROR) fail_msg("%s: %s", command, r->str);
    size_t count = r->elements;
    freeReplyObject(r);
    return count;
}

static void fill_set(redisContext *c)
{
    static char words[STEP][16];
    static const char *argv[STEP + 2] = {"SADD", "set"};
    for (unsigned at = 0; at < MEMBERS; at += STEP) {
        for (unsigned i = 0; i < STEP; i++) {
            snprintf(words[i], sizeof words[i], "%u", at + i);
            argv[i + 2] = words[i];
        }
        redisReply *r = redisCommandArgv(c, STEP + 2, argv, NULL);
        assert_non_null(r);
        assert_int_equal(r->integer, STEP);
        freeReplyObject(r);
    }
}

static void members_are_taken_out_of_a_large_set(void **state)
{
    struct testserver *s = testserver_start(NULL);
    redisContext *c = testserver_connect(s);
    (void)state;
    fill_set(c);
    assert_int_equal(elements_of(c, "SPOP set 1500"), 1500);
    assert_int_equal(elements_of(c, "SPOP set 5000"), 5000);
    assert_int_equal(elements_of(c, "SRANDMEMBER set 5000"), 5000);
    expect(c, ":143500", "SCARD set");
    redisFree(c);
    testserver_free(s);
}

static void a_reply_that_would_be_too_large_is_refused(void **state)
{
    struct testserver *s = testserver_start(NULL);
    redisContext *c = testserver_connect(s);
    char *value = malloc(VALUE_BYTES + 1);
    (void)state;
    assert_non_null(value);
    memset(value, 'x', VALUE_BYTES);
    value[VALUE_BYTES] = 0;
    for (int i = 0; i < 3; i++) expect(c, ":1", "HSET hash %d %s", i, value);
    assert_int_equal(elements_of(c, "HRANDFIELD hash -100000"), 100000);
    assert_int_equal(elements_of(c, "HRANDFIELD hash -5 WITHVALUES"), 10);
    expect(c, "-LIMIT *", "HRANDFIELD hash -100000 WITHVALUES");
    expect(c, "-LIMIT *", "HRANDFIELD hash -100001");
    free(value);
    redisFree(c);
    testserver_free(s);
}

/* Redis's words, before anything is looked at. */
static void a_count_that_cannot_be_doubled_or_negated_is_refused(void **state)
{
    struct testserver *s = testserver_start(NULL);
    redisContext *c = testserver_connect(s);
    (void)state;
    expect(c, ":1", "SADD set a");
    expect(c, ":1", "HSET hash a 1");
    expect(c, ":1", "ZADD zset 1 a");
    expect(c, "-ERR value is out of range, value must*", "SRANDMEMBER set -9223372036854775808");
    expect(c, "-ERR value is out of range, value must*", "HRANDFIELD hash -9223372036854775808");
    expect(c, "-ERR value is out of range", "HRANDFIELD hash 4611686018427387904 WITHVALUES");
    expect(c, "-ERR value is out of range", "ZRANDMEMBER zset -9223372036854770000 WITHSCORES");
    expect(c, "-ERR value is out of range", "ZRANDMEMBER none 9223372036854775807 WITHSCORES");
    assert_int_equal(elements_of(c, "SRANDMEMBER set 9223372036854775807"), 1);
    assert_int_equal(elements_of(c, "HRANDFIELD hash 9223372036854775807"), 1);
    assert_int_equal(elements_of(c, "HRANDFIELD hash 4611686018427387903 WITHVALUES"), 2);
    redisFree(c);
    testserver_free(s);
}

static void commands_of_a_transaction_draw_different_ones(void **state)
{
    struct testserver *s = testserver_start(NULL);
    redisContext *c = testserver_connect(s);
    unsigned same = 0;
    (void)state;
    for (int i = 0; i < 1000; i++) say(c, "SADD few %d", i);
    expect_many(c, 1000, ":1");
    expect(c, "+OK", "MULTI");
    for (int i = 0; i < 20; i++) expect(c, "+QUEUED", "SRANDMEMBER few");
    redisReply *r = ask_reply(c, "EXEC");
    assert_int_equal(r->elements, 20);
    for (size_t i = 1; i < 20; i++) {
        same += strcmp(r->element[i]->str, r->element[0]->str) == 0;
    }
    assert_in_range(same, 0, 5);
    freeReplyObject(r);
    redisFree(c);
    testserver_free(s);
}

/* It runs again after every wait, and draws the same each time: else it would have to wait until
 * about all of the hash was in memory. */
static void they_are_found_though_every_read_waits(void **state)
{
    const char *env[] = {"TUPLED_TEST_READ_DELAY_MS=1", NULL};
    struct testserver *s = testserver_start(&(struct testserver_options){.env = env});
    redisContext *c = testserver_connect(s);
    (void)state;
    for (int i = 0; i < 3000; i++) say(c, "HSET hash %d %d", i, i);
    expect_many(c, 3000, ":1");
    redisFree(c);
    testserver_stop(s);
    testserver_again(s);
    c = testserver_connect(s);
    assert_int_equal(elements_of(c, "HRANDFIELD hash 1"), 1); /* the index */
    long long before = load_info(c, "store_reads_waited");
    redisReply *r = ask_reply(c, "HRANDFIELD hash 20 WITHVALUES");
    assert_int_equal(r->elements, 40);
    for (size_t i = 0; i < 40; i += 2)
        assert_string_equal(r->element[i]->str, r->element[i + 1]->str);
    freeReplyObject(r);
    assert_in_range(load_info(c, "store_reads_waited") - before, 1, 60);
    redisFree(c);
    testserver_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_taken_out_of_a_large_set),
        cmocka_unit_test(a_reply_that_would_be_too_large_is_refused),
        cmocka_unit_test(a_count_that_cannot_be_doubled_or_negated_is_refused),
        cmocka_unit_test(commands_of_a_transaction_draw_different_ones),
        cmocka_unit_test(they_are_found_though_every_read_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
