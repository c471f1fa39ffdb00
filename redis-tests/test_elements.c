/* Elements of collections for an export, and back: KV.ELEMENTS with its cursors, KV.LOAD
 * COLLECTION. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define FEW 40   /* packed */
#define MANY 300 /* spread */
#define STALE "-STALE the collection has changed since the page with this cursor; *"

static redisContext *c, *d;

static int start(void **state)
{
    group_opens(&c, &d, NULL);
    (void)state;
    server = testserver_start_with("--enable-debug-command", "yes", NULL);
    return 0;
}

static const char *const types[] = {"hash", "list", "set", "zset"};

/* `count` elements at the key of that type's name. */
static void fill(const char *type, int count)
{
    for (int i = 0; i < count; i++) {
        if (type[0] == 'h') say(c, "HSET hash f%d v%d", i, i);
        if (type[0] == 'l') say(c, "RPUSH list v%d", i);
        if (type[0] == 's') say(c, "SADD set m%d", i);
        if (type[0] == 'z') say(c, "ZADD zset %d.5 m%d", i % 7, i);
    }
    expect_many(c, (size_t)count, ":*");
}

/* The text of an element, with a blank after it. */
static void add_text(const redisReply *x, char *to, size_t cap)
{
    if (x->type == REDIS_REPLY_ARRAY) {
        for (size_t i = 0; i < x->elements; i++) add_text(x->element[i], to, cap);
    } else {
        size_t len = strlen(to);
        snprintf(to + len, cap - len, "%s ", x->str != NULL ? x->str : "-");
    }
}

/* A page; its elements are added to `all`, its cursor is put in place of the one that is there. */
static size_t page_of(const char *type, int limit, char *cursor, char *all, size_t cap)
{
    redisReply *r = ask_reply(c, "KV.ELEMENTS ['%s'] CURSOR %s LIMIT %d", type, cursor, limit);
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    assert_int_equal(r->elements, 6);
    assert_string_equal(r->element[1]->str, type);
    const redisReply *items = r->element[5];
    size_t count = items->elements;
    for (size_t i = 0; i < count; i++) add_text(items->element[i], all, cap);
    assert_in_range(r->element[4]->len, 1, 199);
    memcpy(cursor, r->element[4]->str, r->element[4]->len + 1);
    freeReplyObject(r);
    return count;
}

/* ---- KV.ELEMENTS -------------------------------------------------------------------------------
 */

static void elements_of_each_type_are_told(void **state)
{
    (void)state;
    expect(c, ":2", "HSET h a 1 b 2");
    expect(c, ":1", "PEXPIREAT h 4000000000000");
    expect(c, "[@ hash :2 :4000000000000 0 [[a 1 (nil)] [b 2 (nil)]]]", "KV.ELEMENTS ['h']");
    expect(c, ":3", "RPUSH l x y x");
    expect(c, "[@ list :3 (nil) 0 [x y x]]", "KV.ELEMENTS ['l']");
    expect(c, ":2", "SADD s x y");
    expect(c, "[@ set :2 (nil) 0 [x y]]", "KV.ELEMENTS ['s']");
    expect(c, ":3", "ZADD z 1.5 a -inf b 3 c");
    expect(c, "[@ zset :3 (nil) 0 [[b -inf] [a 1.5] [c 3]]]", "KV.ELEMENTS ['z'] CURSOR 0");
}

static void what_is_none_has_no_elements(void **state)
{
    (void)state;
    expect(c, "(nil)", "KV.ELEMENTS ['none']");
    expect(c, "@", "KV.SET ['plain'] [1]");
    expect(c, "-WRONGTYPE Operation against a key holding the wrong kind of value",
           "KV.ELEMENTS ['plain']");
    expect(c, "-ERR LIMIT must be between 1 and 10000, not 0", "KV.ELEMENTS ['none'] LIMIT 0");
    expect(c, "-ERR *", "KV.ELEMENTS ['none'] LIMIT 10001");
}

static void check_pages(const char *type, int count)
{
    static char whole[64 * 1024];
    static char parts[64 * 1024];
    char cursor[200] = "0";
    size_t told = 0;
    whole[0] = parts[0] = '\0';
    expect(c, "*", "DEL %s", type);
    fill(type, count);
    assert_int_equal(page_of(type, 10000, cursor, whole, sizeof whole), count);
    assert_string_equal(cursor, "0");
    do {
        size_t n = page_of(type, 7, cursor, parts, sizeof parts);
        told += n;
        assert_true(n == 7 || (n > 0 && strcmp(cursor, "0") == 0));
    } while (strcmp(cursor, "0") != 0);
    assert_int_equal(told, count);
    assert_string_equal(whole, parts);
}

static void pages_make_up_the_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(types); i++) {
        check_pages(types[i], FEW);
        check_pages(types[i], 35); /* the last page is full */
        check_pages(types[i], MANY);
        check_pages(types[i], 308);
    }
}

static void long_names_do_not_end_a_page_too_early(void **state)
{
    char cursor[4096] = "0";
    char name[1201];
    (void)state;
    memset(name, 'n', 1200);
    name[1200] = '\0';
    for (int i = 0; i < 70; i++) { /* they agree in more bytes than a row has of them */
        expect(c, ":1", "SADD set %s%d", name, i);
    }
    size_t told = 0;
    do {
        redisReply *r = ask_reply(c, "KV.ELEMENTS ['set'] CURSOR %s LIMIT 9", cursor);
        assert_int_equal(r->elements, 6);
        told += r->element[5]->elements;
        snprintf(cursor, sizeof cursor, "%s", r->element[4]->str);
        freeReplyObject(r);
    } while (strcmp(cursor, "0") != 0);
    assert_int_equal(told, 70);
}

static void a_page_ends_after_a_megabyte(void **state)
{
    static char value[700001];
    char all[16] = "";
    char cursor[200] = "0";
    (void)state;
    memset(value, 'v', sizeof value - 1);
    for (int i = 1; i <= 3; i++) expect(c, ":*", "RPUSH list %s", value);
    assert_int_equal(page_of("list", 100, cursor, all, sizeof all), 2);
    assert_int_equal(page_of("list", 100, cursor, all, sizeof all), 1);
    assert_string_equal(cursor, "0");
}

/* Whatever changes it, and puts it back as it was. */
static void a_cursor_ends_when_the_collection_changes(void **state)
{
    static const struct {
        const char *type, *change, *says;
    } changes[] = {
        {"hash", "HSET hash f0 v0", ":0"},
        {"list", "LSET list 0 v0", "+OK"},
        {"set", "SREM set m0", ":1"},
        {"zset", "ZADD zset 99 m0", ":0"},
        {"hash", "PEXPIRE hash 100000000", ":1"},
        {"list", "COPY list list2 REPLACE", ":1"},
        {"set", "RENAME set set", "+OK"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(changes); i++) {
        for (int count = FEW; count <= MANY; count += MANY - FEW) {
            const char *type = changes[i].type;
            char cursor[200] = "0";
            char all[1024] = "";
            bool is_read_only = strstr(changes[i].change, "COPY") != NULL;
            expect(c, "*", "DEL %s", type);
            fill(type, count);
            page_of(type, 5, cursor, all, sizeof all);
            expect(d, changes[i].says, changes[i].change);
            bool is_same = is_read_only || strstr(changes[i].change, "RENAME") != NULL;
            const char *said = ask(c, "KV.ELEMENTS ['%s'] CURSOR %s", type, cursor);
            assert_true(text_fits(said, STALE) || (is_same && said[0] == '['));
            assert_true(!is_read_only || said[0] == '[');
        }
    }
}

static void a_cursor_ends_with_its_collection(void **state)
{
    char cursor[200] = "0";
    char all[1024] = "";
    (void)state;
    fill("set", MANY);
    page_of("set", 5, cursor, all, sizeof all);
    expect(d, ":1", "DEL set");
    expect(c, "(nil)", "KV.ELEMENTS ['set'] CURSOR %s", cursor);
    fill("set", MANY);
    expect(c, STALE, "KV.ELEMENTS ['set'] CURSOR %s", cursor);
    expect(d, "+OK", "SET set 1");
    expect(c, "-WRONGTYPE *", "KV.ELEMENTS ['set'] CURSOR %s", cursor);
}

static void a_cursor_is_of_one_key(void **state)
{
    char cursor[200] = "0";
    char all[1024] = "";
    (void)state;
    fill("set", MANY);
    expect(c, ":1", "COPY set set2");
    page_of("set", 5, cursor, all, sizeof all);
    expect(c, "-ERR invalid cursor: it does not belong to this key",
           "KV.ELEMENTS ['set2'] CURSOR %s", cursor);
    expect(c, "-ERR invalid cursor*", "KV.ELEMENTS ['set'] CURSOR nonsense");
    expect(c, "-ERR invalid cursor*", "KV.ELEMENTS ['set'] CURSOR %b", "", (size_t)0);
    cursor[strlen(cursor) - 4] = '\0'; /* another place: not of the row's beginning, or no row */
    const char *said = ask(c, "KV.ELEMENTS ['set'] CURSOR %s LIMIT 1", cursor);
    assert_true(said[0] == '[' || text_fits(said, "-ERR invalid cursor*"));
}

static void a_cursor_is_good_after_a_restart(void **state)
{
    char cursor[200] = "0";
    char all[16 * 1024] = "";
    (void)state;
    fill("list", MANY);
    page_of("list", 100, cursor, all, sizeof all);
    group_again(false);
    assert_int_equal(page_of("list", 1000, cursor, all, sizeof all), MANY - 100);
}

/* The state is one that no other client has seen, and the next write of the script is another one. */
static void a_cursor_of_a_script_ends_with_its_next_write(void **state)
{
    static const char script[] =
        "redis.call('RPUSH', 'l', 'a', 'b', 'c') "
        "local page = redis.call('KV.ELEMENTS', '[\"l\"]', 'LIMIT', '1') "
        "local more = redis.call('KV.ELEMENTS', '[\"l\"]', 'CURSOR', page[5]) "
        "redis.call('LSET', 'l', 1, 'x') "
        "return {more[6], redis.pcall('KV.ELEMENTS', '[\"l\"]', 'CURSOR', page[5])}";
    (void)state;
    expect(c, "[[b c] -STALE *]", "EVAL %s 0", script);
}

/* A field that ends moves no other. */
static void fields_that_end_meanwhile_are_not_told(void **state)
{
    char cursor[200] = "0";
    char all[1024] = "";
    (void)state;
    expect(c, "+OK", "DEBUG SET-ACTIVE-EXPIRE 0"); /* no sweep, which would be a change */
    long long now_ms = (long long)time(NULL) * 1000;
    expect(c, "[@ :1 :0]", "KV.LOAD COLLECTION ['hash'] HASH 5 a 1 %lld b 2 0 c 3 %lld d 4 0 e 5 0",
           now_ms + 2000, now_ms + 2000);
    assert_int_equal(page_of("hash", 2, cursor, all, sizeof all), 2);
    while (ask_integer(d, "HLEN hash") > 3) {
    }
    all[0] = '\0';
    assert_int_equal(page_of("hash", 2, cursor, all, sizeof all), 2);
    assert_string_equal(all, "d 4 - e 5 - ");
    assert_string_equal(cursor, "0");
    expect(c, "+OK", "DEBUG SET-ACTIVE-EXPIRE 1");
}

/* ---- KV.LOAD COLLECTION ------------------------------------------------------------------------
 */

static void a_collection_replaces_what_the_key_holds(void **state)
{
    (void)state;
    expect(c, "+OK", "SET k 1");
    expect(c, "[@ :1 :0]", "KV.LOAD COLLECTION ['k'] LIST PXAT 4000000000000 3 a b a");
    expect(c, "[a b a]", "LRANGE k 0 -1");
    expect(c, ":4000000000000", "PEXPIRETIME k");
    expect(c, "[@ :1 :0]", "KV.LOAD COLLECTION ['k'] zset 3 2 b -inf a inf c");
    expect(c, "[a -inf b 2 c inf]", "ZRANGE k 0 -1 WITHSCORES");
    expect(c, ":-1", "PTTL k");
    expect(c, "[@ :1 :0]", "KV.LOAD COLLECTION ['k'] SET 2 x y");
    expect(c, ":2", "SCARD k");
    expect(c, "[@ :1 :0]", "KV.LOAD COLLECTION ['k'] HASH 1 f v 4000000000000");
    expect(c, "[@ hash :1 (nil) 0 [[f v :4000000000000]]]", "KV.ELEMENTS ['k']");
}

static void more_is_added_to_a_collection(void **state)
{
    (void)state;
    expect(c, "[@ :2 :0]", "KV.LOAD COLLECTION ['s'] SET 2 a b COLLECTION ['s'] SET MORE 2 2 c d");
    expect(c, ":4", "SCARD s");
    expect(c, "-WRONGTYPE * (record 0)", "KV.LOAD COLLECTION ['s'] HASH MORE 4 1 f v 0");
    expect(c, "[@ :1 :0]", "KV.LOAD COLLECTION ['new'] SET MORE 4 1 e");
    expect(c, "[e]", "SMEMBERS new");
}

/* Also when the list became spread in between. */
static void a_list_that_is_loaded_twice_is_there_once(void **state)
{
    (void)state;
    for (int again = 0; again < 3; again++) {
        if (again != 1) expect(c, "[@ :1 :0]", "KV.LOAD COLLECTION ['l'] LIST 2 v0 v1");
        for (int i = 2; i < MANY; i += 2) {
            say(c, "KV.LOAD COLLECTION ['l'] LIST MORE %d 2 v%d v%d", i, i, i + 1);
        }
        expect_many(c, MANY / 2 - 1, "[@ :1 :0]");
        expect(c, ":300", "LLEN l");
        expect(c, "v299", "LINDEX l -1");
        expect(c, "v17", "LINDEX l 17");
    }
}

static void what_has_ended_is_not_loaded(void **state)
{
    (void)state;
    expect(c, ":1", "RPUSH k a");
    expect(c, "[@ :1 :0]", "KV.LOAD COLLECTION ['k'] HASH 2 a 1 5 b 2 0");
    expect(c, "[b 2]", "HGETALL k");
    expect(c, "[@ :1 :0]", "KV.LOAD COLLECTION ['k'] HASH MORE 2 1 c 3 5");
    expect(c, "[b 2]", "HGETALL k");
    expect(c, "[@ :1 :0]", "KV.LOAD COLLECTION ['k'] SET PXAT 5 1 a");
    expect(c, ":0", "EXISTS k");
    expect(c, "[@ :1 :0]", "KV.LOAD COLLECTION ['k'] SET PXAT 5 MORE 1 1 b");
    expect(c, ":0", "EXISTS k");
    expect(c, "[@ :1 :0]", "KV.LOAD COLLECTION ['k'] HASH 1 a 1 5");
    expect(c, ":0", "EXISTS k");
}

static void a_record_that_is_wrong_is_refused(void **state)
{
    (void)state;
    expect(c, "-ERR * (HASH, LIST, SET, ZSET or STREAM expected) (record 0)",
           "KV.LOAD COLLECTION ['k'] TREE 1 a");
    expect(c, "-ERR * (ENTRY, STATE, GROUP, CONSUMER or PENDING expected) (record 0)",
           "KV.LOAD COLLECTION ['k'] STREAM 1 a");
    expect(c, "-ERR value is not a valid float (record 1)",
           "KV.LOAD SET ['a'] 1 COLLECTION ['k'] ZSET 1 nan a");
    expect(c, "-ERR * (record 0)", "KV.LOAD COLLECTION ['k'] LIST 0");
    expect(c, "-ERR * (record 0)", "KV.LOAD COLLECTION ['k'] HASH 2 a 1 0");
    expect(c, "-ERR * (record 0)", "KV.LOAD COLLECTION ['k'] LIST MORE 0 1 a");
    expect(c, ":0", "EXISTS a k");
}

/* More rows than a transaction changes: all of it is refused. */
static void a_record_that_is_too_large_is_refused(void **state)
{
    enum { MEMBERS = 50001, WORDS = 5 + 2 * MEMBERS };
    static const char *words[WORDS] = {"KV.LOAD", "COLLECTION", "[\"k\"]", "ZSET", "50001"};
    static char members[MEMBERS][16];
    (void)state;
    for (int i = 0; i < MEMBERS; i++) {
        snprintf(members[i], sizeof members[i], "m%d", i);
        words[5 + 2 * i] = "1";
        words[6 + 2 * i] = members[i];
    }
    redisReply *r = redisCommandArgv(c, WORDS, words, NULL);
    assert_non_null(r);
    assert_true(text_fits(r->str, "LIMIT the transaction changes more than 100000 rows of "
                                  "collections; split it (record 0)"));
    freeReplyObject(r);
    expect(c, ":0", "EXISTS k");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(elements_of_each_type_are_told),
        TEST(what_is_none_has_no_elements),
        TEST(pages_make_up_the_whole),
        TEST(long_names_do_not_end_a_page_too_early),
        TEST(a_page_ends_after_a_megabyte),
        TEST(a_cursor_ends_when_the_collection_changes),
        TEST(a_cursor_ends_with_its_collection),
        TEST(a_cursor_is_of_one_key),
        TEST(a_cursor_is_good_after_a_restart),
        TEST(a_cursor_of_a_script_ends_with_its_next_write),
        TEST(fields_that_end_meanwhile_are_not_told),
        TEST(a_collection_replaces_what_the_key_holds),
        TEST(more_is_added_to_a_collection),
        TEST(a_list_that_is_loaded_twice_is_there_once),
        TEST(what_has_ended_is_not_loaded),
        TEST(a_record_that_is_wrong_is_refused),
        TEST(a_record_that_is_too_large_is_refused),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
