/* SORT and SORT_RO: what a real Redis cannot be asked (redis_commands.txt and test_types_redis.c
 * have the rest): limits, large collections, transactions, permissions, keys of this server's own.
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

#define ROWS_MAX 100000
#define AT_ONCE 2000

static redisContext *c, *other;

static int start(void **state)
{
    group_opens(&c, &other, NULL);
    server = testserver_start_with("--databases", "4", NULL);
    return 0;
}

/* `head`, and then `form` with the numbers from count - 1 down to 0. */
static void fill(const char *head, const char *form, int count)
{
    static char line[AT_ONCE * 40];
    while (count > 0) {
        size_t len = (size_t)sprintf(line, "%s", head);
        for (int i = 0; i < AT_ONCE && count > 0; i++) {
            count--;
            len += (size_t)sprintf(line + len, form, count, count);
        }
        redisReply *r = redisCommand(c, line);
        assert_non_null(r);
        assert_int_not_equal(r->type, REDIS_REPLY_ERROR);
        freeReplyObject(r);
    }
}

static void large_ones_are_sorted_up_to_a_limit(void **state)
{
    static const struct {
        const char *head, *form, *more;
    } kinds[] = {{"RPUSH k", " %d", "RPUSH k 100000"},
                 {"SADD k", " %d", "SADD k 100000"},
                 {"ZADD k", " 0 %d", "ZADD k 0 100000"}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        expect(c, ":*", "DEL k");
        fill(kinds[i].head, kinds[i].form, ROWS_MAX);
        expect(c, "[0 1 2]", "SORT k LIMIT 0 3");
        expect(c, "[99999 99998]", "SORT k DESC LIMIT 0 2");
        expect(c, "[50000 50001]", "SORT k LIMIT 50000 2");
        expect(c, "[0 1 10]", "SORT k LIMIT 0 3 ALPHA");
        expect(c, ":*", kinds[i].more);
        expect(c, "-LIMIT SORT of 100001 elements, more than one command may read (100000)",
               "SORT k LIMIT 0 3");
    }
}

static void what_is_in_order_is_read_as_far_as_limit_says(void **state)
{
    fill("RPUSH l", " %d", ROWS_MAX + 1000);
    fill("ZADD z", " %d %d", ROWS_MAX + 1000);
    fill("SADD s", " %d", ROWS_MAX + 1000);
    expect(c, "[100999 100998]", "SORT l BY nosort LIMIT 0 2");
    expect(c, "[0 1]", "SORT l BY nosort LIMIT 0 2 DESC");
    expect(c, "[50 49 48]", "SORT l BY nosort LIMIT 100949 3");
    expect(c, "[100949 100950]", "SORT l BY nosort LIMIT 100949 2 DESC");
    expect(c, "[0 1]", "SORT z BY nosort LIMIT 0 2");
    expect(c, "[50 49]", "SORT z BY nosort LIMIT 100949 2 DESC");
    expect(c, "[* *]", "SORT s BY nosort LIMIT 0 2");
    expect(c, "[]", "SORT z BY nosort LIMIT 200000 2");
    expect(c, "-LIMIT*", "SORT l BY nosort");
    expect(c, "-LIMIT*", "SORT s BY nosort LIMIT 100000 2");
    expect(c, "-LIMIT*", "SORT s BY nosort LIMIT 0 2 STORE to");
}

static void keys_that_are_read_have_a_limit(void **state)
{
    fill("RPUSH l", " %d", ROWS_MAX / 2);
    fill("MSET", " w%d %d", 10);
    expect(c, "[0 10]", "SORT l BY w* LIMIT 0 2");
    expect(c, "[9 8]", "SORT l BY w* DESC LIMIT 0 2");
    expect(c, "[0 (nil) 1 (nil)]", "SORT l GET w* GET v* LIMIT 0 2");
    expect(c, ":100000", "SORT l GET w* GET v* STORE to");
    expect(c,
           "-LIMIT BY and GET of 50000 elements need more reads than one command may make "
           "(100000)",
           "SORT l GET w* GET v* GET #");
    expect(c, "+OK", "CONFIG SET max-transaction-size 1mb");
    expect(c, ":600000", "SETRANGE big:1 599999 x");
    expect(c, ":2", "RPUSH two 1 1");
    expect(c, "-LIMIT the values read by BY or GET of SORT exceed max-transaction-size (1048576)",
           "SORT two GET big:*");
    expect(c, "+OK", "CONFIG SET max-transaction-size 64mb");
}

static void it_is_part_of_transactions_and_scripts(void **state)
{
    expect(c, ":3", "SADD s b c a");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "SADD s d");
    expect(c, "+QUEUED", "SORT s BY nosort LIMIT 1 2");
    expect(c, "+QUEUED", "SORT s ALPHA DESC STORE l");
    expect(c, "+QUEUED", "LRANGE l 0 -1");
    expect(c, "[:1 [b c] :4 [d c b a]]", "EXEC");
    expect(c, "[d c b a]", "LRANGE l 0 -1");
    expect(c, "[a b c d]", "EVAL %s 1 s", "return redis.call('sort', KEYS[1], 'by', 'nosort')");
    expect(c, "[a]", "EVAL_RO %s 1 s",
           "return redis.call('sort_ro', KEYS[1], 'alpha', 'limit', 0, 1)");
    expect(c, "-ERR Write commands are not allowed*", "EVAL_RO %s 1 s",
           "return redis.call('sort', KEYS[1], 'alpha')");
    expect(c, "+OK", "WATCH l");
    expect(other, ":4", "SORT s ALPHA STORE l");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "PING");
    expect(c, "(nil)", "EXEC");
}

static void what_is_stored_takes_the_place_of_anything(void **state)
{
    expect(c, ":3", "RPUSH l 3 1 2");
    expect(c, "+OK", "SET to x EX 100");
    expect(c, ":3", "SORT l STORE to");
    expect(c, ":-1", "TTL to");
    expect(c, ":3", "SORT l DESC STORE l");
    expect(c, "[3 2 1]", "LRANGE l 0 -1");
    expect(c, "+OK", "SET to x");
    expect(c, ":0", "SORT l LIMIT 5 1 STORE to");
    expect(c, ":0", "EXISTS to");
    expect(c, ":0", "SORT none STORE to");
}

static void those_that_wait_get_what_is_stored(void **state)
{
    expect(c, ":2", "RPUSH l 2 1");
    load_block(other, c, "BLPOP to 0");
    expect(c, ":2", "SORT l STORE to");
    expect_next(other, "[to 1]");
    expect(c, "[2]", "LRANGE to 0 -1");
}

/* What is no string is as nothing; and so is a key that there cannot be. */
static void values_of_other_kinds_are_nothing(void **state)
{
    char element[2100];
    memset(element, 'x', sizeof element);
    element[sizeof element - 1] = '\0';
    expect(c, "*", "KV.SET ['n'] 1");
    expect(c, "-WRONGTYPE*", "SORT n");
    expect(c, "-WRONGTYPE*", "SORT_RO n");
    expect(c, ":2", "RPUSH l 1 2");
    expect(c, "*", "KV.SET ['v1'] 5");
    expect(c, "+OK", "SET v2 5");
    expect(c, "[(nil) 5]", "SORT l GET v*");
    expect(c, "[(nil) (nil)]", "SORT l GET v*->f");
    expect(c, ":1", "RPUSH long %s", element);
    expect(c, "[(nil)]", "SORT long ALPHA GET v*");
    expect(c, ":1", "HSET h1 f 2");
    expect(c, "[2 (nil)]", "SORT l GET h*->f");
    expect(c, "[(nil) (nil)]", "SORT l GET h*");
}

static void keys_that_are_not_named_need_the_right_to_all(void **state)
{
    expect(c, ":2", "RPUSH l 2 1");
    expect(c, "+OK", "ACL SETUSER ann on nopass ~l ~to +@all");
    expect(other, "+OK", "AUTH ann any");
    expect(other, "[1 2]", "SORT l");
    expect(other, ":2", "SORT l BY nosort STORE to");
    expect(other, "-NOPERM*", "SORT l BY w*");
    expect(other, "-NOPERM*", "SORT l GET #");
    expect(other, "-NOPERM*", "SORT_RO l GET w*");
    expect(other, "-NOPERM*", "SORT l STORE d");
    expect(c, "+OK", "ACL SETUSER ann %%R~*");
    expect(other, "[1 2]", "SORT l BY w*");
    expect(other, "-NOPERM*", "SORT l STORE d");
    expect(c, "+OK", "ACL SETUSER ann -@dangerous");
    expect(other, "-NOPERM*", "SORT l");
    expect(c, ":1", "ACL DELUSER ann");
}

/* Many values on disk: they are read together, and the reply is whole. */
static void values_on_disk_are_waited_for(void **state)
{
    fill("RPUSH l", " %d", 3000);
    fill("MSET", " w%d %d", 3000);
    group_again(false);
    redisReply *r = ask_reply(c, "SORT l BY w* DESC GET w*");
    assert_int_equal(r->elements, 3000);
    for (size_t i = 0; i < r->elements; i++) {
        assert_int_equal(atoi(r->element[i]->str), 2999 - (int)i);
    }
    freeReplyObject(r);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(large_ones_are_sorted_up_to_a_limit),
        TEST(what_is_in_order_is_read_as_far_as_limit_says),
        TEST(keys_that_are_read_have_a_limit),
        TEST(it_is_part_of_transactions_and_scripts),
        TEST(what_is_stored_takes_the_place_of_anything),
        TEST(those_that_wait_get_what_is_stored),
        TEST(values_of_other_kinds_are_nothing),
        TEST(keys_that_are_not_named_need_the_right_to_all),
        TEST(values_on_disk_are_waited_for),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
