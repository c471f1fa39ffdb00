/* Errors: codes that a program can tell apart, and texts that tell a person what to do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"
#include "tupled.h"

static struct testserver *server;
static redisContext *c;

static int start(void **state)
{
    server = testserver_start_with("--max-value-size", "4kb", "--max-transaction-ops", "10", NULL);
    return 0;
}

static int stop(void **state)
{
    testserver_free(server);
    return 0;
}

static int enter(void **state)
{
    c = testserver_connect(server);
    expect(c, "+OK", "FLUSHALL");
    return 0;
}

static int leave(void **state)
{
    redisFree(c);
    return 0;
}

/* ---- codes ----------------------------------------------------------------------------------- */

static void arithmetic_has_codes_of_its_own(void **state)
{
    expect(c, "@", "KV.SET ['n'] 9007199254740991");
    expect(c, "-OVERFLOW the sum leaves +-(2^53-1), use a bigint*", "KV.SUM ['n'] 1");
    expect(c, "@", "KV.SET ['n'] 1.5e308");
    expect(c, "-OVERFLOW the sum leaves the range of a double*", "KV.SUM ['n'] 1.5e308");
}

static void bounds_have_a_code_of_their_own(void **state)
{
    expect(c, "@", "KV.SET ['n'] 5");
    expect(c, "-RANGE the sum is above the upper bound", "KV.SUM ['n'] 6 RANGE 0 10");
    expect(c, "-RANGE the sum is below the lower bound", "KV.SUM ['n'] -6 RANGE 0 10");
    expect(c, "-RANGE the sum is NaN*", "KV.SUM ['n'] {'$number':'NaN'} CLAMP 0 10");
    expect(c, "-RANGE the sum is above the upper bound (operation 1)",
           "KV.ATOMIC SET ['m'] 1 SUM ['n'] 6 RANGE 0 10");
    expect(c, "5", "KV.GET ['n']");
    expect(c, "(nil)", "KV.GET ['m']");
    expect(c, "[10 @]", "KV.SUM ['n'] 6 CLAMP 0 10");
}

static void limits_have_a_code_of_their_own(void **state)
{
    char *large = malloc(5001);
    memset(large, 'x', 5000);
    large[5000] = '\0';
    expect(c, "-LIMIT value of 5003 bytes is larger than max-value-size (4096)",
           "KV.SET ['k'] '%s'", large);
    expect(c, "-LIMIT invalid key: larger than 2048 bytes", "KV.SET ['%s'] 1", large);
    expect(c, "-LIMIT value of 5003 bytes *", "SET k %s", large);
    expect(c, "-LIMIT more operations than max-transaction-ops (10)",
           "KV.ATOMIC DEL [1] DEL [2] DEL [3] DEL [4] DEL [5] DEL [6] DEL [7] DEL [8] DEL [9] "
           "DEL [10] DEL [11]");
    expect(c, "+OK", "KV.INDEX CREATE texts PREFIX ['t'] TEXT 1 t");
    expect(c, "-LIMIT query: larger *", "KV.SEARCH texts %s", large);
    expect(c, ":1", "KV.INDEX DROP texts");
    free(large);
}

static void a_duplicate_names_the_index_and_the_key(void **state)
{
    expect(c, "+OK", "KV.INDEX CREATE by_mail PREFIX ['u'] ON 1 mail UNIQUE");
    expect(c, "@", "KV.SET ['u','a'] {'mail':'x'}");
    expect(c, "-DUPLICATE by_mail ['u','a']", "KV.SET ['u',2] {'mail':'x'}");
    expect(c, "-DUPLICATE by_mail ['u','a']", "KV.ATOMIC SET ['u',2] {'mail':'x'}");
    expect(c, ":1", "KV.INDEX DROP by_mail");
    expect(c, "@", "KV.SET ['u',2] {'mail':'x'}");
    expect(c, "-DUPLICATE again ['u','a'] ['u',2]",
           "KV.INDEX CREATE again PREFIX ['u'] ON 1 mail UNIQUE");
    expect(c, "[]", "KV.INDEX LIST");
}

/* What Redis's own programs look for stays as Redis has it. */
static void plain_keys_keep_the_words_of_redis(void **state)
{
    expect(c, "+OK", "SET n 9223372036854775807");
    expect(c, "-ERR increment or decrement would overflow", "INCR n");
    expect(c, "-ERR decrement would overflow", "DECRBY n -9223372036854775808");
}

static void a_program_in_c_can_tell_them_apart(void **state)
{
    expect(c, "@", "KV.SET ['n'] 5");
    redisReply *r = ask_reply(c, "KV.SUM ['n'] 6 RANGE 0 10");
    assert_int_equal(r->type, REDIS_REPLY_ERROR);
    assert_true(tupled_error_is(r->str, r->len, TUPLED_RANGE));
    assert_false(tupled_error_is(r->str, r->len, TUPLED_ERR));
    freeReplyObject(r);
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.SUM ['n'] 'x'");
    r = ask_reply(c, "EXEC");
    assert_true(tupled_error_is(r->str, r->len, TUPLED_EXECABORT));
    assert_true(tupled_error_is(r->str, r->len, TUPLED_WRONGTYPE));
    assert_false(tupled_error_is(r->str, r->len, TUPLED_LIMIT));
    freeReplyObject(r);
}

/* Integers of a sum may be larger than clients hold: they travel as all values do. */
static void a_sum_replies_with_a_string(void **state)
{
    redisReply *r = ask_reply(c, "KV.SUM ['n'] 5");
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    assert_int_equal(r->elements, 2);
    assert_int_equal(r->element[0]->type, REDIS_REPLY_STRING);
    assert_string_equal(r->element[0]->str, "5");
    freeReplyObject(r);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(arithmetic_has_codes_of_its_own),    TEST(bounds_have_a_code_of_their_own),
        TEST(limits_have_a_code_of_their_own),    TEST(a_duplicate_names_the_index_and_the_key),
        TEST(plain_keys_keep_the_words_of_redis), TEST(a_program_in_c_can_tell_them_apart),
        TEST(a_sum_replies_with_a_string),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
