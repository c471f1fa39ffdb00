/* Places: what a real Redis cannot be asked (redis_commands.txt and test_types_redis.c have the
 * rest): limits, large sets, transactions and scripts, permissions, what other commands see of them.
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

/* m0 and on, each a little farther to the east and to the north of 10,10. */
static void fill(const char *key, int count)
{
    static char line[AT_ONCE * 50];
    for (int i = 0; i < count;) {
        size_t len = (size_t)sprintf(line, "GEOADD %s", key);
        for (int end = i + AT_ONCE; i < end && i < count; i++) {
            len += (size_t)sprintf(line + len, " 10.%05d 10.%05d m%d", i, i, i);
        }
        redisReply *r = redisCommand(c, line);
        assert_non_null(r);
        assert_int_not_equal(r->type, REDIS_REPLY_ERROR);
        freeReplyObject(r);
    }
}

static void fill_italy(void)
{
    expect(c, ":2", "GEOADD italy 13.361389 38.115556 palermo 15.087269 37.502669 catania");
}

/* ---- limits ---- */

static void a_search_looks_at_so_many_members(void **state)
{
    fill("k", ROWS_MAX);
    expect(c, "[m0 m1 m2]", "GEOSEARCH k FROMLONLAT 10 10 BYRADIUS 200 km COUNT 3");
    expect(c, "[m99999 m99998]", "GEOSEARCH k FROMMEMBER m99999 BYBOX 400 400 km COUNT 2 ASC");
    redisReply *r = ask_reply(c, "GEOSEARCH k FROMLONLAT 10 10 BYRADIUS 200 km");
    assert_int_equal(r->elements, ROWS_MAX);
    freeReplyObject(r);
    expect(c, ":1", "GEOADD k 10.05 10.06 more");
    expect(c,
           "-LIMIT the cells around the area have more than 100000 members; search a smaller area, "
           "or with COUNT and ANY",
           "GEOSEARCH k FROMLONLAT 10 10 BYRADIUS 200 km COUNT 3");
    expect(c, "-LIMIT*", "GEORADIUS k 10 10 200 km STORE to");
    expect(c, ":0", "EXISTS to");
    expect(c, "-LIMIT the cells*", "GEORADIUSBYMEMBER_RO k m0 200 km");
    r = ask_reply(c, "GEOSEARCH k FROMLONLAT 10 10 BYRADIUS 200 km COUNT 99 ANY");
    assert_int_equal(r->elements, 99);
    freeReplyObject(r);
    /* Each is 1.6 m from the next. */
    expect(c, "[m0 m1 m2 m3 m4]", "GEOSEARCH k FROMLONLAT 10 10 BYRADIUS 7 m ASC");
}

static void what_is_stored_has_the_limit_of_a_transaction(void **state)
{
    fill("k", 30000);
    expect(c, ":30000", "GEOSEARCHSTORE to k FROMLONLAT 10 10 BYRADIUS 200 km");
    expect(c, "3386*", "ZSCORE to m29999");
    fill("k", 60000);
    expect(c, "-LIMIT*", "GEOSEARCHSTORE to k FROMLONLAT 10 10 BYRADIUS 200 km");
    expect(c, ":30000", "ZCARD to");
    expect(c, ":60000", "ZCARD k");
}

static void members_that_are_found_have_a_limit_of_bytes(void **state)
{
    static char name[600001];
    memset(name, 'x', sizeof name - 1);
    for (char i = 'a'; i < 'c'; i++) {
        name[0] = i;
        expect(c, ":1", "GEOADD k 1 2 %s", name);
    }
    expect(c, "+OK", "CONFIG SET max-transaction-size 1mb");
    expect(c, "-LIMIT the members together exceed max-transaction-size (1048576)",
           "GEOSEARCH k FROMLONLAT 1 2 BYRADIUS 1 km");
    redisReply *r = ask_reply(c, "GEOSEARCH k FROMLONLAT 1 2 BYRADIUS 1 km COUNT 1 ANY");
    assert_int_equal(r->elements, 1);
    assert_int_equal(r->element[0]->len, 600000);
    freeReplyObject(r);
    expect(c, "[]", "GEOSEARCH k FROMLONLAT 2 2 BYRADIUS 1 km");
    expect(c, "+OK", "CONFIG SET max-transaction-size 64mb");
}

/* ---- where it may be ---- */

static void it_is_part_of_transactions_and_scripts(void **state)
{
    fill_italy();
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "GEOADD italy 12.5 41.9 rome");
    expect(c, "+QUEUED", "GEOSEARCH italy FROMMEMBER rome BYRADIUS 500 km ASC");
    expect(c, "+QUEUED", "GEOSEARCHSTORE to italy FROMMEMBER rome BYRADIUS 500 km COUNT 2");
    expect(c, "+QUEUED", "GEOPOS to rome catania");
    expect(c, "[:1 [rome palermo] :2 [[12.49* 41.89*] (nil)]]", "EXEC");
    expect(c, "[rome palermo]", "GEOSEARCH to FROMMEMBER rome BYRADIUS 500 km ASC");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "GEOADD italy 9.2 45.5 milan");
    expect(c, "+QUEUED", "GEOSEARCH italy FROMMEMBER turin BYRADIUS 500 km");
    expect(c, "-EXECABORT*could not decode requested zset member", "EXEC");
    expect(c, "[(nil)]", "GEOPOS italy milan");
    expect(c, "[palermo catania]", "EVAL %s 1 italy",
           "return redis.call('geosearch', KEYS[1], 'frommember', 'palermo', 'byradius', 200, 'km',"
           "'asc')");
    expect(c, "166.2742", "EVAL_RO %s 1 italy",
           "return redis.call('geodist', KEYS[1], 'palermo', 'catania', 'km')");
    expect(c, "-ERR Write commands are not allowed*", "EVAL_RO %s 1 italy",
           "return redis.call('georadius', KEYS[1], 15, 37, 200, 'km')");
    expect(c, "-ERR exactly one of BYRADIUS and BYBOX can be specified for GeoSearch*",
           "EVAL %s 1 italy",
           "return redis.call('GeoSearch', KEYS[1], 'frommember', 'palermo', 'asc', 'withdist',"
           "'withhash')");
    expect(c, "+OK", "WATCH to");
    expect(other, ":1", "GEORADIUS italy 12.5 41.9 1 km STORE to");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "PING");
    expect(c, "(nil)", "EXEC");
}

/* What is seen within one is what it has written, of a set with rows too. */
static void a_large_set_is_searched_as_a_transaction_leaves_it(void **state)
{
    fill("k", 3000);
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "ZREM k m0 m2");
    expect(c, "+QUEUED", "GEOADD k 10.000014 10.000014 new");
    expect(c, "+QUEUED", "GEOSEARCH k FROMLONLAT 10 10 BYRADIUS 1 km COUNT 3");
    expect(c, "[:2 :1 [m1 new m3]]", "EXEC");
    expect(c, "[m1 new m3]", "GEOSEARCH k FROMLONLAT 10 10 BYRADIUS 1 km COUNT 3");
}

static void searches_on_disk_are_waited_for(void **state)
{
    fill("k", 5000);
    group_again(false);
    redisReply *r = ask_reply(c, "GEOSEARCH k FROMLONLAT 10 10 BYRADIUS 200 km ASC");
    assert_int_equal(r->elements, 5000);
    for (size_t i = 0; i < r->elements; i++) {
        assert_int_equal(atoi(r->element[i]->str + 1), (int)i);
    }
    freeReplyObject(r);
    group_again(true);
    expect(c, "[m4999 m4998]", "GEOSEARCH k FROMMEMBER m4999 BYRADIUS 1 km COUNT 2");
}

static void what_is_stored_takes_the_place_of_anything(void **state)
{
    fill_italy();
    expect(c, "+OK", "SET to x EX 100");
    expect(c, ":2", "GEOSEARCHSTORE to italy FROMLONLAT 15 37 BYRADIUS 200 km STOREDIST");
    expect(c, ":-1", "TTL to");
    expect(c, "[catania 56.441*]", "ZRANGE to 0 0 WITHSCORES");
    expect(c, ":1", "GEOSEARCHSTORE italy italy FROMMEMBER catania BYRADIUS 1 km");
    expect(c, "[catania]", "ZRANGE italy 0 -1");
    expect(c, "+OK", "SET to x");
    expect(c, ":0", "GEORADIUSBYMEMBER none a 1 km STORE to");
    expect(c, ":0", "EXISTS to");
}

static void those_that_wait_get_what_is_stored(void **state)
{
    fill_italy();
    load_block(other, c, "BZPOPMIN to 0");
    expect(c, ":2", "GEORADIUS italy 15 37 200 km STORE to");
    expect_next(other, "[to palermo 3479099956230698]");
    expect(c, "[catania]", "ZRANGE to 0 -1");
}

/* ---- what others see ---- */

static void it_is_a_sorted_set_to_all_others(void **state)
{
    fill_italy();
    expect(c, "+zset", "TYPE italy");
    expect(c, "{'$collection':{'type':'zset','length':2}}", "KV.GET ['italy']");
    expect(c, "3479099956230698", "ZSCORE italy palermo");
    expect(c, ":1", "ZREM italy palermo");
    expect(c, "[(nil)]", "GEOPOS italy palermo");
    expect(c, ":1", "ZADD italy 3479099956230698 again");
    expect(c, "[sqc8b49rny0]", "GEOHASH italy again");
    expect(c, ":1", "EXPIRE italy 100");
    expect(c, ":1", "GEOADD italy 12.5 41.9 rome");
    expect(c, ":~100", "TTL italy");
    expect(c, "*", "KV.SET ['n'] 1");
    expect(c, "-WRONGTYPE*", "GEOADD n 1 2 a");
    expect(c, "-WRONGTYPE*", "GEOSEARCH n FROMLONLAT 1 2 BYRADIUS 1 m");
    expect(c, "-WRONGTYPE*", "GEOSEARCHSTORE to n FROMLONLAT 1 2 BYRADIUS 1 m");
}

static void a_store_key_needs_the_right_to_write_it(void **state)
{
    fill_italy();
    expect(c, "+OK", "ACL SETUSER ann on nopass %%R~italy %%W~to +@geo");
    expect(other, "+OK", "AUTH ann any");
    expect(other, "[catania]", "GEORADIUS italy 15 37 100 km");
    expect(other, ":1", "GEORADIUS italy 15 37 100 km STORE to");
    expect(other, "-NOPERM*", "GEORADIUS italy 15 37 100 km STOREDIST there");
    expect(other, "-NOPERM*", "GEOSEARCH to FROMLONLAT 15 37 BYRADIUS 1 km");
    expect(other, "-NOPERM*", "GEOADD italy 1 2 a");
    expect(other, "-NOPERM*", "ZCARD italy");
    expect(c, "+OK", "ACL SETUSER ann -@geo");
    expect(other, "-NOPERM*", "GEOPOS italy catania");
    expect(c, ":1", "ACL DELUSER ann");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(a_search_looks_at_so_many_members),
        TEST(what_is_stored_has_the_limit_of_a_transaction),
        TEST(members_that_are_found_have_a_limit_of_bytes),
        TEST(it_is_part_of_transactions_and_scripts),
        TEST(a_large_set_is_searched_as_a_transaction_leaves_it),
        TEST(searches_on_disk_are_waited_for),
        TEST(what_is_stored_takes_the_place_of_anything),
        TEST(those_that_wait_get_what_is_stored),
        TEST(it_is_a_sorted_set_to_all_others),
        TEST(a_store_key_needs_the_right_to_write_it),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
