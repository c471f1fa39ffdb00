/* Errors: codes that a program can tell apart, and texts that tell a person what to do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "tupled.h"

static redisContext *c;

static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start_with("--max-value-size", "4kb", "--max-transaction-ops", "10", NULL);
    return 0;
}

/* ---- codes ----------------------------------------------------------------------------------- */

static void arithmetic_has_codes_of_its_own(void **state)
{
    expect(c, "@", "KV.SET ['n'] 9007199254740991");
    expect(c, "-OVERFLOW the sum is beyond +-(2^53-1), use a bigint*", "KV.SUM ['n'] 1");
    expect(c, "@", "KV.SET ['n'] 1.5e308");
    expect(c, "-OVERFLOW the sum is beyond the range of a double*", "KV.SUM ['n'] 1.5e308");
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
    expect(c, "-LIMIT value of 5000 bytes is larger than max-value-size (4096)",
           "KV.SET ['k'] '%s'", large);
    expect(c, "-LIMIT invalid key: larger than 2048 bytes", "KV.SET ['%s'] 1", large);
    expect(c, "-LIMIT value of 5000 bytes *", "SET k %s", large);
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

/* ---- texts ----------------------------------------------------------------------------------- */

static void expect_rows(const char *const rows[][2], size_t count)
{
    for (size_t i = 0; i < count; i++) expect(c, rows[i][1], rows[i][0]);
}
#define EXPECT_ROWS(rows) expect_rows(rows, sizeof(rows) / sizeof(rows)[0])

static void a_value_that_is_no_json_is_shown_as_one(void **state)
{
    static const char *const rows[][2] = {
        {"KV.SET ['k'] Ada",
         "-ERR invalid value: * at offset 0; values are JSON: a string is 'Ada', in a shell "
         "''Ada''"},
        {"KV.SET ['k'] 2026-01-01", "-ERR invalid value: *a string is '2026-01-01', in a shell *"},
        {"KV.SET ['k'] {name:Ada}",
         "-ERR invalid value: *; did the shell remove the double quotes? *"},
        {"KV.SET ['k'] [a,b]", "-ERR invalid value: *; did the shell remove the double quotes? *"},
        {"KV.ATOMIC SET ['k'] Ada", "-ERR invalid value: *a string is 'Ada'*"},
        {"KV.ENQUEUE q Ada", "-ERR invalid value: *a string is 'Ada'*"},
        {"KV.SET ['k'] {'a':1", "-ERR invalid value: * at offset 6"},
    };
    EXPECT_ROWS(rows);
}

static void a_key_that_is_no_tuple_is_shown_as_one(void **state)
{
    static const char *const rows[][2] = {
        {"KV.SET users:1 7", "-ERR invalid key: *; write ['users',1], in a shell '['users',1]'"},
        {"KV.GET users", "-ERR invalid key: *; write ['users'], in a shell '['users']'"},
        {"KV.GET a/b:007", "-ERR invalid key: *; write ['a','b','007'], in a shell *"},
        {"KV.GET ::", "-ERR invalid key: *, such as ['users',1], in a shell '['users',1]'"},
        {"KV.GET 'users'", "-ERR invalid key: *, such as ['users',1]*"},
        {"KV.GET [users,1]", "-ERR invalid key: *; did the shell remove the double quotes? *"},
        {"KV.GET [Ina,1]", "-ERR invalid key: *; did the shell remove the double quotes? *"},
        {"KV.GET [null]", "-ERR invalid key: null cannot be part of a key at offset 1"},
        {"KV.LIST PREFIX users", "-ERR invalid key: *; write ['users']*"},
        {"KV.ATOMIC CHECK users:1 NONE", "-ERR invalid key: *; write ['users',1]*"},
        {"SUBSCRIBE kv:watch:[users,1]", "-ERR invalid key: *did the shell remove*"},
    };
    EXPECT_ROWS(rows);
}

static void a_first_number_that_is_a_count_is_called_so(void **state)
{
    static const char *const rows[][2] = {
        {"KV.ENQUEUE q 1 BACKOFF 1000 5000",
         "-ERR syntax error: BACKOFF needs an argument; the number of delays must come first: "
         "BACKOFF 2 1000 5000"},
        {"KV.ENQUEUE q 1 BACKOFF 5000", "-ERR BACKOFF must be between 0 and 1000, not 5000; the "
                                        "number of delays must come first*"},
        {"KV.ENQUEUE q 1 UNDELIVERED ['k']",
         "-ERR *UNDELIVERED*; the number of keys must come first*"},
        {"KV.DEQUEUE q ALSO r", "-ERR *ALSO 'r'; the number of further queues must come first*"},
        {"KV.INDEX CREATE i PREFIX ['k'] ON name age",
         "-ERR *ON 'name'; the number of paths must come first: ON 1 name"},
        {"KV.INDEX CREATE i PREFIX ['k'] ON 2 name",
         "-ERR *; the number of paths must come first*"},
        {"KV.INDEX CREATE i PREFIX ['k'] TEXT title x", "-ERR *must come first: TEXT 2 title body"},
    };
    EXPECT_ROWS(rows);
}

static void words_in_the_wrong_place_are_told_theirs(void **state)
{
    static const char *const rows[][2] = {
        {"KV.SET ['k'] 1 IDEM a EX 10",
         "-ERR syntax error: IDEM id must be the last arguments of kv.set"},
        {"KV.DEL IDEM a", "-ERR syntax error: IDEM id must be the last arguments of kv.del"},
        {"KV.ATOMIC SET ['k'] 1 IDEM a",
         "-ERR syntax error: IDEM id must be the first arguments of kv.atomic"},
        {"KV.LIST IDEM a", "-ERR syntax error: unexpected 'IDEM'; kv.list does not support it"},
        {"KV.ATOMIC SET ['k'] 1 NX", "-ERR syntax error: no NX in KV.ATOMIC; *CHECK key NONE*"},
        {"KV.ATOMIC SET ['k'] 1 XX", "-ERR syntax error: no XX *CHECK key versionstamp*"},
        {"KV.ATOMIC SET ['k'] 1 IFVERSION 00000000000000010000",
         "-ERR syntax error: no IFVERSION *CHECK key versionstamp*"},
        {"KV.LIST ['users']", "-ERR syntax error: unexpected '['users']'; a range is PREFIX key, "
                              "or START key END key"},
        {"KV.COUNT ['users']", "-ERR *a range is PREFIX key*"},
        {"KV.DELRANGE ['users']", "-ERR *a range is PREFIX key*"},
    };
    EXPECT_ROWS(rows);
    expect(c, ":0", "KV.COUNT");
}

static void kv_poll_tells_how_it_is_written(void **state)
{
    static const char *const rows[][2] = {
        {"KV.POLL ['k'] NONE", "-ERR wrong number of arguments for 'kv.poll' command; usage: "
                               "KV.POLL [BLOCK milliseconds] KEYS numkeys *"},
        {"KV.POLL BLOCK 0 ['k'] NONE", "-ERR *; usage: KV.POLL [BLOCK ms] KEYS n key ... *"},
        {"KV.POLL KEYS 2 ['k'] NONE ['l'] NONE", "-ERR *; usage: KV.POLL *all keys first"},
        {"KV.POLL KEYS 1 ['k'] ['l']", "-ERR invalid versionstamp *; usage: KV.POLL *"},
        {"KV.POLL KEYS ['k'] NONE NONE", "-ERR *; usage: KV.POLL *"},
        {"KV.POLL KEYS 2 ['k'] NONE NONE", "-ERR *; usage: KV.POLL *"},
    };
    EXPECT_ROWS(rows);
}

/* Of those that are only the first word of others. */
static void a_container_alone_names_what_follows(void **state)
{
    static const char *const rows[][2] = {
        {"KV.VERIFY", "-ERR *'kv.verify' command; usage: KV.VERIFY <START | STATUS | STOP>"},
        {"KV.DB", "-ERR *'kv.db' command; usage: KV.DB <CREATE name | *"},
        {"KV.INDEX", "-ERR *'kv.index' command; usage: KV.INDEX <CREATE name | *"},
        {"KV.QUEUE", "-ERR *'kv.queue' command; usage: KV.QUEUE <LIST | *"},
        {"KV.DLQ", "-ERR *'kv.dlq' command; usage: KV.DLQ <LIST queue | *"},
    };
    EXPECT_ROWS(rows);
}

static void an_id_is_not_taken_for_a_receipt(void **state)
{
    char id[64];
    snprintf(id, sizeof id, "%s", ask(c, "KV.ENQUEUE q 1"));
    expect(
        c,
        "-ERR invalid receipt '*', which is the id of a message; the receipt is the last element of *",
        "KV.ACK %s", id);
    expect(c, "-ERR invalid receipt 'x'; the receipt is the last element of *", "KV.NACK x");
    expect(c, "-ERR invalid receipt '*', which is the id*", "KV.ATOMIC ACK %s", id);
    expect(c, "+OK", "FLUSHDB");
}

/* ---- plain keys and tuples ------------------------------------------------------------------- */

/* A plain key may look like a tuple; it is none. docs/transactions.md warns of it. */
static void a_plain_key_that_looks_like_a_tuple_is_another_key(void **state)
{
    expect(c, "@", "KV.SET ['users',1] 7");
    expect(c, "(nil)", "GET ['users',1]");
    expect(c, ":0", "DEL ['users',1]");
    expect(c, ":1", "INCR ['users',1]");
    expect(c, "7", "KV.GET ['users',1]");
    expect(c, "1", "GET ['users',1]");
    expect(c, ":1", "DEL ['users',1]");
    expect(c, ":1", "KV.EXISTS ['users',1]");
}

static void kv_exists_counts_live_keys(void **state)
{
    expect(c, ":0", "KV.EXISTS ['a']");
    expect(c, "@", "KV.SET ['a'] 1");
    expect(c, "@", "KV.SET ['b'] null");
    expect(c, ":3", "KV.EXISTS ['a'] ['b'] ['c'] ['a']");
    expect(c, ":1", "KV.PEXPIRE ['a'] -1");
    expect(c, ":1", "KV.EXISTS ['a'] ['b']");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.DEL ['b']");
    expect(c, "+QUEUED", "KV.EXISTS ['b']");
    expect(c, "[:1 :0]", "EXEC");
    expect(c, "-ERR invalid key*", "KV.EXISTS a");
    expect(c, "-ERR wrong number *", "KV.EXISTS");
    expect(c, "[['a'] ['b']]", "COMMAND GETKEYS KV.EXISTS ['a'] ['b'] FORMAT JSON");
}

static void an_index_may_be_made_if_it_is_not_there(void **state)
{
    static const char *const other[] = {
        "KV.INDEX CREATE i PREFIX ['k'] ON 1 a IF NOT EXISTS",
        "KV.INDEX CREATE i PREFIX ['k'] ON 2 b a UNIQUE IF NOT EXISTS",
        "KV.INDEX CREATE i PREFIX ['l'] ON 2 a b UNIQUE IF NOT EXISTS",
        "KV.INDEX CREATE i PREFIX ['k'] ON 2 a b IF NOT EXISTS",
        "KV.INDEX CREATE i PREFIX ['k'] TEXT 2 a b IF NOT EXISTS",
    };
    expect(c, "+OK", "KV.INDEX CREATE i PREFIX ['k'] ON 2 a b UNIQUE IF NOT EXISTS");
    expect(c, ":0", "KV.INDEX CREATE i PREFIX ['k'] ON 2 a b UNIQUE IF NOT EXISTS");
    expect(c, ":0", "KV.INDEX CREATE i IF NOT EXISTS UNIQUE ON 2 a b PREFIX ['k']");
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        expect(c, "-ERR index 'i' exists with another definition*", other[i]);
    }
    expect(c, "-ERR index 'i' already exists", "KV.INDEX CREATE i PREFIX ['k'] ON 2 a b UNIQUE");
    expect(c, "+OK", "KV.INDEX CREATE t PREFIX ['k'] TEXT 1 a TOKENIZE porter IF NOT EXISTS");
    expect(c, ":0", "KV.INDEX CREATE t PREFIX ['k'] TEXT 1 a TOKENIZE porter IF NOT EXISTS");
    expect(c, "-ERR index 't' exists with *",
           "KV.INDEX CREATE t PREFIX ['k'] TEXT 1 a IF NOT EXISTS");
    expect(c, "-ERR syntax error: unexpected 'EXISTS' (NOT expected)",
           "KV.INDEX CREATE u PREFIX ['k'] ON 1 a IF EXISTS");
    expect(c, "[['k']]",
           "COMMAND GETKEYS KV.INDEX CREATE i IF NOT EXISTS PREFIX ['k'] ON 1 IF FORMAT JSON");
    expect(c, ":1", "KV.INDEX DROP i");
    expect(c, ":1", "KV.INDEX DROP t");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(arithmetic_has_codes_of_its_own),
        TEST(bounds_have_a_code_of_their_own),
        TEST(limits_have_a_code_of_their_own),
        TEST(a_duplicate_names_the_index_and_the_key),
        TEST(plain_keys_keep_the_words_of_redis),
        TEST(a_program_in_c_can_tell_them_apart),
        TEST(a_sum_replies_with_a_string),
        TEST(a_value_that_is_no_json_is_shown_as_one),
        TEST(a_key_that_is_no_tuple_is_shown_as_one),
        TEST(a_first_number_that_is_a_count_is_called_so),
        TEST(words_in_the_wrong_place_are_told_theirs),
        TEST(kv_poll_tells_how_it_is_written),
        TEST(a_container_alone_names_what_follows),
        TEST(an_id_is_not_taken_for_a_receipt),
        TEST(a_plain_key_that_looks_like_a_tuple_is_another_key),
        TEST(kv_exists_counts_live_keys),
        TEST(an_index_may_be_made_if_it_is_not_there),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
