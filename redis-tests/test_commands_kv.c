/* Single keys: reading, writing, conditions, expiry, arithmetic, arrays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static redisContext *c;

static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start(NULL);
    return 0;
}

static long long wall_ms(void)
{
    struct timeval t;
    gettimeofday(&t, NULL);
    return (long long)t.tv_sec * 1000 + t.tv_usec / 1000;
}

/* ---- KV.GET, KV.MGET, KV.DEL -------------------------------------------------------------------
 */

static void get_tells_the_value_and_its_version(void **state)
{
    expect(c, "(nil)", "KV.GET ['a']");
    expect(c, "(nil)", "KV.GET ['a'] WITHVERSION");
    const char *stamp = ask(c, "KV.SET ['a'] {'x':1}");
    expect(c, "{'x':1}", "kv.get ['a']");
    expect(c, "[{'x':1} @]", "KV.GET ['a'] withversion");
    redisReply *r = ask_reply(c, "KV.GET ['a'] WITHVERSION");
    assert_string_equal(r->element[1]->str, stamp);
    freeReplyObject(r);
}

static void get_tells_when_an_entry_expires(void **state)
{
    long long at_ms = wall_ms() + 100000;
    expect(c, "(nil)", "KV.GET ['a'] WITHEXPIRY");
    expect(c, "@", "KV.SET ['a'] 1 PXAT %lld", at_ms);
    expect(c, "@", "KV.SET ['b'] 1");
    expect(c, "[1 @ (nil)]", "KV.GET ['b'] WITHEXPIRY WITHVERSION");
    redisReply *r = ask_reply(c, "KV.GET ['a'] WITHVERSION WITHEXPIRY");
    assert_int_equal(r->elements, 3);
    assert_int_equal(r->element[2]->integer, at_ms);
    freeReplyObject(r);
}

static void get_refuses_what_it_does_not_know(void **state)
{
    expect(c, "-ERR wrong number of arguments for 'kv.get' command; usage: KV.*", "KV.GET");
    expect(c, "-ERR syntax error*'FOO'*", "KV.GET ['a'] FOO");
    expect(c, "-ERR syntax error*'WITHVERSION' is a duplicate*",
           "KV.GET ['a'] WITHVERSION WITHVERSION");
}

static void mget_answers_in_order_with_nil_for_what_is_missing(void **state)
{
    expect(c, "@", "KV.SET ['a'] 1");
    expect(c, "@", "KV.SET ['b'] 2");
    expect(c, "[[2 @] (nil) [1 @] [2 @]]", "KV.MGET ['b'] ['c'] ['a'] ['b']");
    expect(c, "-ERR invalid key: *", "KV.MGET ['a'] x");
    expect(c, "-ERR wrong number of arguments for 'kv.mget' command; usage: KV.*", "KV.MGET");
}

static void del_counts_live_keys_once(void **state)
{
    expect(c, "@", "KV.SET ['a'] 1");
    expect(c, "@", "KV.SET ['b'] 2");
    expect(c, ":2", "KV.DEL ['a'] ['b'] ['c'] ['a']");
    expect(c, ":0", "KV.DEL ['a']");
    expect(c, "-ERR wrong number of arguments for 'kv.del' command; usage: KV.*", "KV.DEL");
    expect(c, "@", "KV.SET ['a'] 1");
    expect(c, "-ERR invalid key: *", "KV.DEL ['a'] nokey");
    expect(c, "1", "KV.GET ['a']");
}

static void a_del_of_nothing_takes_no_version(void **state)
{
    const char *before = ask(c, "KV.VERSION");
    expect(c, ":0", "KV.DEL ['a']");
    assert_string_equal(ask(c, "KV.VERSION"), before);
}

/* ---- KV.SET ------------------------------------------------------------------------------------
 */

static void set_conditions_decide(void **state)
{
    expect(c, "(nil)", "KV.SET ['a'] 1 XX");
    expect(c, "@", "KV.SET ['a'] 1 NX");
    expect(c, "(nil)", "KV.SET ['a'] 2 nx");
    expect(c, "1", "KV.GET ['a']");
    expect(c, "@", "KV.SET ['a'] 3 xx");
    expect(c, "3", "KV.GET ['a']");
}

static void set_ifversion_compares_the_version(void **state)
{
    const char *first = ask(c, "KV.SET ['a'] 1 IFVERSION NONE");
    assert_true(text_fits(first, "@"));
    expect(c, "(nil)", "KV.SET ['a'] 2 IFVERSION NONE");
    expect(c, "(nil)", "KV.SET ['a'] 2 IFVERSION %s", "");
    const char *second = ask(c, "KV.SET ['a'] 2 IFVERSION %s", first);
    assert_true(text_fits(second, "@"));
    expect(c, "(nil)", "KV.SET ['a'] 3 IFVERSION %s", first);
    expect(c, "2", "KV.GET ['a']");
    expect(c, "(nil)", "KV.SET ['missing'] 3 IFVERSION %s", first);
    expect(c, "@", "KV.SET ['new'] 3 IFVERSION %s", "");
    expect(c, "(nil)", "KV.SET ['a'] 3 IFVERSION 00000000000000000001");
    expect(c, "-ERR invalid versionstamp 'x'*", "KV.SET ['a'] 3 IFVERSION x");
    expect(c, "-ERR invalid versionstamp *", "KV.SET ['a'] 3 IFVERSION 0000000000000000000g");
    expect(c, "-ERR invalid versionstamp *", "KV.SET ['a'] 3 IFVERSION 000000000000000000000");
}

static void a_set_that_is_not_done_takes_no_version(void **state)
{
    expect(c, "@", "KV.SET ['a'] 1");
    const char *before = ask(c, "KV.VERSION");
    expect(c, "(nil)", "KV.SET ['a'] 2 NX");
    expect(c, "-ERR *", "KV.SET ['a'] {");
    assert_string_equal(ask(c, "KV.VERSION"), before);
}

static void versions_strictly_grow(void **state)
{
    char last[21] = "";
    for (int i = 0; i < 50; i++) {
        const char *stamp = ask(c, "KV.SET [%d] 1", i % 7);
        assert_true(text_fits(stamp, "@"));
        assert_true(strcmp(stamp, last) > 0);
        assert_string_equal(stamp + 16, "0000");
        snprintf(last, sizeof last, "%s", stamp);
    }
    assert_string_equal(ask(c, "KV.VERSION"), last);
}

static void set_refuses_wrong_options_and_does_nothing(void **state)
{
    static const char *const options[] = {
        "FOO",
        "EX",
        "PX",
        "EXAT",
        "PXAT",
        "IFVERSION",
        "EX x",
        "EX 1.5",
        "EX +1",
        "EX 01",
        "EX 0",
        "PX 0",
        "PX -1",
        "EX 9223372036854775807",
        "PX 9223372036854775808",
        "EXAT 9223372036854776",
        "PXAT 9223372036854775808",
        "EX 10 EX 10",
        "EX 10 PX 10",
        "EX 10 KEEPTTL",
        "KEEPTTL KEEPTTL",
        "NX XX",
        "NX NX",
        "NX IFVERSION NONE",
        "IFVERSION NONE IFVERSION NONE",
        "EX 10 NX FOO",
        "GET",
    };
    for (size_t i = 0; i < COUNT(options); i++) {
        char command[200];
        snprintf(command, sizeof command, "KV.SET ['a'] 1 %s", options[i]);
        const char *got = ask(c, command);
        if (got[0] != '-') fail_msg("%s: %s", options[i], got);
    }
    expect(c, "(nil)", "KV.GET ['a']");
    expect(c, "-ERR *'FOO'*", "KV.SET ['a'] 1 EX 10 FOO");
    expect(c, "-ERR value is not an integer or out of range*'x'*", "KV.SET ['a'] 1 EX x");
    expect(c, "-ERR invalid expire time in 'kv.set' command*", "KV.SET ['a'] 1 EX 0");
    expect(c, "-ERR wrong number of arguments for 'kv.set' command; usage: KV.*", "KV.SET ['a']");
    expect(c, "-ERR *is a duplicate*", "KV.SET ['a'] 1 NX NX");
}

/* ---- expiry ------------------------------------------------------------------------------------
 */

static void ttl_tells_what_is_left(void **state)
{
    expect(c, ":-2", "KV.TTL ['a']");
    expect(c, ":-2", "KV.PTTL ['a']");
    expect(c, "@", "KV.SET ['a'] 1");
    expect(c, ":-1", "KV.TTL ['a']");
    expect(c, ":-1", "KV.PTTL ['a']");
    expect(c, "@", "KV.SET ['a'] 1 EX 100");
    expect(c, ":~100", "KV.TTL ['a']");
    assert_in_range(ask_integer(c, "KV.PTTL ['a']"), 90000, 100000);
    expect(c, "@", "KV.SET ['a'] 1 PX 50000");
    assert_in_range(ask_integer(c, "KV.PTTL ['a']"), 40000, 50000);
    expect(c, "@", "KV.SET ['a'] 1 EXAT %lld", wall_ms() / 1000 + 100);
    assert_in_range(ask_integer(c, "KV.PTTL ['a']"), 90000, 100000);
    expect(c, "@", "KV.SET ['a'] 1 PXAT %lld", wall_ms() + 100000);
    assert_in_range(ask_integer(c, "KV.PTTL ['a']"), 90000, 100001);
}

static void a_set_clears_the_ttl_unless_told_to_keep_it(void **state)
{
    expect(c, "@", "KV.SET ['a'] 1 EX 100");
    expect(c, "@", "KV.SET ['a'] 2 KEEPTTL");
    assert_in_range(ask_integer(c, "KV.TTL ['a']"), 90, 100);
    expect(c, "@", "KV.SET ['a'] 3");
    expect(c, ":-1", "KV.TTL ['a']");
    expect(c, "@", "KV.SET ['b'] 3 KEEPTTL");
    expect(c, ":-1", "KV.TTL ['b']");
}

static void a_key_is_absent_from_its_millisecond_on(void **state)
{
    long long due_ms = wall_ms() + 150;
    expect(c, "@", "KV.SET ['a'] 1 PXAT %lld", due_ms);
    bool was_there = false;
    for (;;) {
        long long before_ms = wall_ms();
        const char *got = ask(c, "KV.GET ['a']");
        long long after_ms = wall_ms();
        /* The server looked between before and after. */
        if (strcmp(got, "(nil)") == 0) {
            assert_true(after_ms >= due_ms);
            break;
        }
        assert_true(before_ms <= due_ms);
        was_there = true;
    }
    assert_true(was_there);
}

static void an_expired_key_is_absent_for_everything(void **state)
{
    const char *stamp = ask(c, "KV.SET ['a'] 5 PX 1");
    while (strcmp(ask(c, "KV.GET ['a']"), "(nil)") != 0) testserver_pause();
    expect(c, ":-2", "KV.PTTL ['a']");
    expect(c, "[(nil)]", "KV.MGET ['a']");
    expect(c, "[0 []]", "KV.LIST");
    expect(c, ":0", "KV.COUNT");
    expect(c, ":0", "KV.DEL ['a']");
    expect(c, ":0", "KV.PERSIST ['a']");
    expect(c, ":0", "KV.EXPIRE ['a'] 10");
    expect(c, "(nil)", "KV.SET ['a'] 1 XX");
    expect(c, "(nil)", "KV.SET ['a'] 1 IFVERSION %s", stamp);
    expect(c, "(nil)", "KV.ATOMIC CHECK ['a'] %s", stamp);
    expect(c, "@", "KV.ATOMIC CHECK ['a'] NONE");
    expect(c, ":0", "KV.DELRANGE ALL");
    expect(c, "[2 @]", "KV.SUM ['a'] 2");
    expect(c, ":-1", "KV.PTTL ['a']");
}

static void expire_commands_set_the_time(void **state)
{
    expect(c, ":0", "KV.EXPIRE ['a'] 100");
    const char *stamp = ask(c, "KV.SET ['a'] 1");
    expect(c, ":1", "KV.EXPIRE ['a'] 100");
    assert_null(strstr(ask(c, "KV.GET ['a'] WITHVERSION"), stamp));
    assert_in_range(ask_integer(c, "KV.TTL ['a']"), 90, 100);
    expect(c, ":1", "KV.PEXPIRE ['a'] 50000");
    assert_in_range(ask_integer(c, "KV.PTTL ['a']"), 40000, 50000);
    expect(c, ":1", "KV.EXPIREAT ['a'] %lld", wall_ms() / 1000 + 200);
    assert_in_range(ask_integer(c, "KV.TTL ['a']"), 190, 200);
    expect(c, ":1", "KV.PEXPIREAT ['a'] %lld", wall_ms() + 300000);
    assert_in_range(ask_integer(c, "KV.TTL ['a']"), 290, 300);
    expect(c, "1", "KV.GET ['a']");
    expect(c, ":1", "KV.PERSIST ['a']");
    expect(c, ":0", "KV.PERSIST ['a']");
    expect(c, ":-1", "KV.TTL ['a']");
}

static void expire_conditions_decide(void **state)
{
    expect(c, "@", "KV.SET ['a'] 1");
    expect(c, ":0", "KV.EXPIRE ['a'] 100 XX");
    expect(c, ":0", "KV.EXPIRE ['a'] 100 GT"); /* no expiry is later than any */
    expect(c, ":1", "KV.EXPIRE ['a'] 100 NX");
    expect(c, ":0", "KV.EXPIRE ['a'] 100 NX");
    expect(c, ":0", "KV.EXPIRE ['a'] 50 GT");
    expect(c, ":1", "KV.EXPIRE ['a'] 200 GT");
    expect(c, ":0", "KV.EXPIRE ['a'] 300 LT");
    expect(c, ":0", "KV.EXPIRE ['a'] 300 LT XX");
    expect(c, ":0", "KV.EXPIRE ['a'] 100 XX GT");
    expect(c, ":1", "KV.EXPIRE ['a'] 190 XX LT");
    expect(c, ":1", "KV.EXPIRE ['a'] 200 GT XX");
    expect(c, ":1", "KV.EXPIRE ['a'] 200 XX XX");
    expect(c, ":1", "KV.EXPIRE ['a'] 20 LT");
    expect(c, ":1", "KV.EXPIRE ['a'] 30 XX");
    expect(c, ":1", "KV.PERSIST ['a']");
    expect(c, ":1", "KV.EXPIRE ['a'] 30 LT");
    expect(c, "-ERR *", "KV.EXPIRE ['a'] 30 LT GT");
    expect(c, "-ERR Unsupported option FOO", "KV.EXPIRE ['a'] 30 FOO");
    expect(c, "-ERR *'x'*", "KV.EXPIRE ['a'] x");
    expect(c, "-ERR *", "KV.PEXPIRE ['a'] 9223372036854775807");
    expect(c, "-ERR wrong number of arguments for 'kv.expire' command; usage: KV.*",
           "KV.EXPIRE ['a']");
    expect(c, "-ERR wrong number of arguments for 'kv.persist' command; usage: KV.*", "KV.PERSIST");
}

static void an_expiry_in_the_past_deletes(void **state)
{
    expect(c, "@", "KV.SET ['a'] 1");
    expect(c, ":1", "KV.EXPIRE ['a'] -1");
    expect(c, "(nil)", "KV.GET ['a']");
    expect(c, "@", "KV.SET ['a'] 1");
    expect(c, ":1", "KV.PEXPIREAT ['a'] 1");
    expect(c, "(nil)", "KV.GET ['a']");
    expect(c, "@", "KV.SET ['a'] 1 PXAT 1");
    expect(c, "(nil)", "KV.GET ['a']");
}

static void expired_keys_leave_the_database(void **state)
{
    for (int i = 0; i < 100; i++) say(c, "KV.SET ['t',%d] 1 PX 5", i);
    expect_many(c, 100, "@");
    long until = testserver_now_ms() + 10000;
    while (ask_integer(c, "DBSIZE") != 0) {
        assert_true(testserver_now_ms() < until);
        testserver_pause();
    }
}

/* ---- arithmetic --------------------------------------------------------------------------------
 */

static void sum_adds_numbers_bigints_and_u64(void **state)
{
    expect(c, "[5 @]", "KV.SUM ['n'] 5");
    expect(c, "[3 @]", "KV.SUM ['n'] -2");
    expect(c, "[3.5 @]", "KV.SUM ['n'] 0.5");
    expect(c, "[{'$bigint':'5'} @]", "KV.SUM ['b'] {'$bigint':'5'}");
    expect(c, "[{'$bigint':'100000000000000000000000000000005'} @]",
           "KV.SUM ['b'] {'$bigint':'100000000000000000000000000000000'}");
    expect(c, "[{'$u64':'18446744073709551615'} @]",
           "KV.SUM ['u'] {'$u64':'18446744073709551615'}");
    expect(c, "[{'$u64':'1'} @]", "KV.SUM ['u'] {'$u64':'2'}");
    expect(c, "[9007199254740991 @]", "KV.SUM ['m'] 9007199254740991");
    expect(c, "-OVERFLOW *bigint*", "KV.SUM ['m'] 1");
    expect(c, "9007199254740991", "KV.GET ['m']");
}

static void sum_range_refuses_and_clamp_stops(void **state)
{
    expect(c, "@", "KV.SET ['n'] 8");
    expect(c, "-RANGE *", "KV.SUM ['n'] 5 RANGE 0 10");
    expect(c, "8", "KV.GET ['n']");
    expect(c, "[10 @]", "KV.SUM ['n'] 5 clamp 0 10");
    expect(c, "[0 @]", "KV.SUM ['n'] -50 CLAMP 0 10");
    expect(c, "[10 @]", "KV.SUM ['n'] 10 RANGE 0 10");
    expect(c, "-ERR *", "KV.SUM ['n'] 1 CLAMP 10 0");
    expect(c, "-ERR syntax error: CLAMP needs an argument", "KV.SUM ['n'] 1 CLAMP 10");
    expect(c, "-ERR *'RANGE'*", "KV.SUM ['n'] 1 CLAMP 0 10 RANGE 0 10");
    expect(c, "-ERR *'FOO'*", "KV.SUM ['n'] 1 FOO");
    expect(c, "-WRONGTYPE *", "KV.SUM ['n'] 1 CLAMP {'$bigint':'0'} {'$bigint':'9'}");
    expect(c, "-ERR *", "KV.SUM ['n'] 1 CLAMP x y");
    expect(c, "10", "KV.GET ['n']");
}

static void min_and_max_keep_the_lesser_and_greater(void **state)
{
    expect(c, "[5 @]", "KV.MIN ['n'] 5");
    expect(c, "[3 @]", "KV.MIN ['n'] 3");
    expect(c, "[3 @]", "KV.MIN ['n'] 9");
    expect(c, "[9 @]", "KV.MAX ['n'] 9");
    expect(c, "[9 @]", "KV.MAX ['n'] 1");
    expect(c, "[{'$u64':'7'} @]", "KV.MAX ['u'] {'$u64':'7'}");
    expect(c, "-ERR wrong number of arguments for 'kv.min' command; usage: KV.*",
           "KV.MIN ['n'] 1 CLAMP 0 1");
    expect(c, "-ERR wrong number of arguments for 'kv.max' command; usage: KV.*", "KV.MAX ['n']");
}

static void arithmetic_names_both_types(void **state)
{
    expect(c, "@", "KV.SET ['s'] 'text'");
    expect(c, "@", "KV.SET ['n'] 1");
    expect(c, "-WRONGTYPE *string*number*", "KV.SUM ['s'] 1");
    expect(c, "-WRONGTYPE *number*bigint*", "KV.SUM ['n'] {'$bigint':'1'}");
    expect(c, "-WRONGTYPE *number*u64*", "KV.MIN ['n'] {'$u64':'1'}");
    expect(c, "-WRONGTYPE *string*", "KV.MAX ['n'] 'x'");
    expect(c, "-WRONGTYPE *", "KV.SUM ['absent'] 'x'");
    expect(c, "-ERR invalid value: *", "KV.SUM ['n'] x");
    expect(c, "(nil)", "KV.GET ['absent']");
}

static void arithmetic_and_joins_keep_the_ttl(void **state)
{
    expect(c, "@", "KV.SET ['n'] 1 EX 100");
    expect(c, "[2 @]", "KV.SUM ['n'] 1");
    assert_in_range(ask_integer(c, "KV.TTL ['n']"), 90, 100);
    expect(c, "@", "KV.SET ['l'] [] EX 100");
    expect(c, "[:1 @]", "KV.APPEND ['l'] [1]");
    assert_in_range(ask_integer(c, "KV.TTL ['l']"), 90, 100);
}

static void append_and_prepend_join_arrays(void **state)
{
    expect(c, "[:2 @]", "KV.APPEND ['l'] [1,2]");
    expect(c, "[:3 @]", "KV.APPEND ['l'] [{'a':[]}]");
    expect(c, "[:5 @]", "KV.PREPEND ['l'] ['x','y']");
    expect(c, "['x','y',1,2,{'a':[]}]", "KV.GET ['l']");
    expect(c, "[:5 @]", "KV.APPEND ['l'] []");
    expect(c, "-WRONGTYPE *", "KV.APPEND ['l'] 1");
    expect(c, "@", "KV.SET ['n'] 1");
    expect(c, "-WRONGTYPE *number*array*", "KV.PREPEND ['n'] [1]");
    expect(c, "1", "KV.GET ['n']");
    expect(c, "-ERR wrong number of arguments for 'kv.append' command; usage: KV.*",
           "KV.APPEND ['l']");
    expect(c, "-ERR wrong number of arguments for 'kv.prepend' command; usage: KV.*",
           "KV.PREPEND ['l'] [] []");
}

static void arrays_grow_past_the_small_encodings(void **state)
{
    for (int i = 0; i < 200; i++) say(c, "KV.APPEND ['l'] [%d]", i);
    for (int i = 1; i <= 200; i++) {
        char wanted[40];
        snprintf(wanted, sizeof wanted, "[:%d @]", i);
        expect_next(c, wanted);
    }
    assert_true(text_fits(ask(c, "KV.GET ['l']"), "[0,1,2,*,198,199]"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(get_tells_the_value_and_its_version),
        TEST(get_tells_when_an_entry_expires),
        TEST(get_refuses_what_it_does_not_know),
        TEST(mget_answers_in_order_with_nil_for_what_is_missing),
        TEST(del_counts_live_keys_once),
        TEST(a_del_of_nothing_takes_no_version),
        TEST(set_conditions_decide),
        TEST(set_ifversion_compares_the_version),
        TEST(a_set_that_is_not_done_takes_no_version),
        TEST(versions_strictly_grow),
        TEST(set_refuses_wrong_options_and_does_nothing),
        TEST(ttl_tells_what_is_left),
        TEST(a_set_clears_the_ttl_unless_told_to_keep_it),
        TEST(a_key_is_absent_from_its_millisecond_on),
        TEST(an_expired_key_is_absent_for_everything),
        TEST(expire_commands_set_the_time),
        TEST(expire_conditions_decide),
        TEST(an_expiry_in_the_past_deletes),
        TEST(expired_keys_leave_the_database),
        TEST(sum_adds_numbers_bigints_and_u64),
        TEST(sum_range_refuses_and_clamp_stops),
        TEST(min_and_max_keep_the_lesser_and_greater),
        TEST(arithmetic_names_both_types),
        TEST(arithmetic_and_joins_keep_the_ttl),
        TEST(append_and_prepend_join_arrays),
        TEST(arrays_grow_past_the_small_encodings),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
