/* Ranges: KV.LIST with its cursors, KV.COUNT, KV.DELRANGE. */
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

#define MANY 5000
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static redisContext *c;

static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start_with("--max-transaction-ops", "100", "--max-transaction-size", "64kb",
                                   NULL);
    return 0;
}

/* ["a"], ["a",1..5], ["ab"], ["b",1] */
static void put_some(void)
{
    expect(c, "@", "KV.SET ['a'] 0");
    for (int i = 1; i <= 5; i++) expect(c, "@", "KV.SET ['a',%d] %d", i, i);
    expect(c, "@", "KV.SET ['ab'] 6");
    expect(c, "@", "KV.SET ['b',1] 7");
}

static void put_many(void)
{
    for (int i = 0; i < MANY; i++) say(c, "KV.SET ['m',%d] %d", i, i);
    expect_many(c, MANY, "@");
}

/* The cursor of a KV.LIST reply; the entries' text in *entries if it is wanted. */
static const char *cursor_of(const char *reply, char *cursor)
{
    size_t len = strcspn(reply + 1, " ");
    assert_in_range(len, 1, 299);
    memcpy(cursor, reply + 1, len);
    cursor[len] = '\0';
    return reply + 1 + len + 1;
}

/* ---- KV.LIST -----------------------------------------------------------------------------------
 */

static void list_covers_a_prefix_and_not_the_prefix_itself(void **state)
{
    expect(c, "[0 []]", "KV.LIST");
    put_some();
    expect(c, "[0 [[['a',1] 1 @] [['a',2] 2 @] [['a',3] 3 @] [['a',4] 4 @] [['a',5] 5 @]]]",
           "KV.LIST PREFIX ['a']");
    expect(c, "[0 [[['b',1] 7 @]]]", "kv.list prefix ['b']");
    expect(c, "[0 []]", "KV.LIST PREFIX ['ab']");
    expect(c, "[0 [['a'] ['a',1] ['a',2] ['a',3] ['a',4] ['a',5] ['ab'] ['b',1]]]",
           "KV.LIST PREFIX [] KEYSONLY");
}

static void list_bounds_are_inclusive_and_exclusive_also_in_reverse(void **state)
{
    put_some();
    expect(c, "[0 [['a',2] ['a',3]]]", "KV.LIST START ['a',2] END ['a',4] KEYSONLY");
    expect(c, "[0 [['a',3] ['a',2]]]", "KV.LIST START ['a',2] END ['a',4] KEYSONLY REVERSE");
    expect(c, "[0 [['a',4] ['a',5]]]", "KV.LIST PREFIX ['a'] START ['a',4] KEYSONLY");
    expect(c, "[0 [['a',1]]]", "KV.LIST END ['a',2] KEYSONLY PREFIX ['a']");
    expect(c, "[0 [['a'] ['a',1]]]", "KV.LIST END ['a',2] KEYSONLY");
    expect(c, "[0 [['b',1] ['ab']]]", "KV.LIST REVERSE KEYSONLY START ['ab']");
    expect(c, "[0 []]", "KV.LIST START ['a',2] END ['a',2]");
    expect(c, "[0 []]", "KV.LIST PREFIX ['a'] END ['a']");
}

static void list_ranges_that_contradict_themselves_are_errors(void **state)
{
    expect(c, "-ERR *START*", "KV.LIST START ['b'] END ['a']");
    expect(c, "-ERR *START*", "KV.LIST PREFIX ['a'] START ['b']");
    expect(c, "-ERR *END*", "KV.LIST PREFIX ['a'] END ['b']");
}

static void list_refuses_wrong_options(void **state)
{
    static const char *const options[] = {
        "FOO",
        "PREFIX",
        "START",
        "END",
        "LIMIT",
        "CURSOR",
        "LIMIT 0",
        "LIMIT -1",
        "LIMIT x",
        "LIMIT 10001",
        "LIMIT 1.5",
        "REVERSE REVERSE",
        "KEYSONLY KEYSONLY",
        "LIMIT 1 LIMIT 1",
        "PREFIX ['a'] PREFIX ['a']",
        "START ['a'] START ['a']",
        "PREFIX x",
        "START []",
        "END []",
        "WITHVERSION",
        "CURSOR 0 CURSOR 0",
    };
    for (size_t i = 0; i < COUNT(options); i++) {
        char command[200];
        snprintf(command, sizeof command, "KV.LIST %s", options[i]);
        const char *got = ask(c, command);
        if (!text_fits(got, "-ERR *")) fail_msg("%s: %s", options[i], got);
    }
    expect(c, "-ERR *'FOO'*", "KV.LIST LIMIT 1 FOO");
    expect(c, "-ERR LIMIT must be between 1 and 10000, not 10001", "KV.LIST LIMIT 10001");
}

static void list_goes_on_from_its_cursor(void **state)
{
    char cursor[300];
    put_some();
    const char *page = ask(c, "KV.LIST PREFIX ['a'] LIMIT 2");
    assert_true(text_fits(cursor_of(page, cursor), "[[['a',1] 1 @] [['a',2] 2 @]]]"));
    page = ask(c, "KV.LIST PREFIX ['a'] LIMIT 2 CURSOR %s", cursor);
    assert_true(text_fits(cursor_of(page, cursor), "[[['a',3] 3 @] [['a',4] 4 @]]]"));
    assert_true(
        strspn(cursor, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") ==
        strlen(cursor));
    /* What is written meanwhile after the cursor is seen, before it is not. */
    expect(c, "@", "KV.SET ['a',3.5] 0");
    expect(c, "@", "KV.SET ['a',6] 6");
    expect(c, "[0 [[['a',5] 5 @] [['a',6] 6 @]]]", "KV.LIST PREFIX ['a'] LIMIT 2 CURSOR %s",
           cursor);
    expect(c, "[0 [['a',5] ['a',6]]]", "KV.LIST PREFIX ['a'] KEYSONLY CURSOR %s", cursor);
    /* The key of the cursor itself may be gone. */
    expect(c, ":1", "KV.DEL ['a',4]");
    expect(c, "[0 [['a',5] ['a',6]]]", "KV.LIST PREFIX ['a'] KEYSONLY CURSOR %s", cursor);
}

static void a_full_last_page_says_that_it_is_the_last(void **state)
{
    put_some();
    expect(c, "[0 [['a',1] ['a',2] ['a',3] ['a',4] ['a',5]]]",
           "KV.LIST PREFIX ['a'] LIMIT 5 KEYSONLY");
}

static void a_cursor_is_refused_elsewhere(void **state)
{
    char cursor[300];
    put_some();
    cursor_of(ask(c, "KV.LIST PREFIX ['a'] LIMIT 2"), cursor);
    expect(c, "-ERR invalid cursor*", "KV.LIST PREFIX ['b'] CURSOR %s", cursor);
    expect(c, "-ERR invalid cursor*", "KV.LIST CURSOR %s", cursor);
    expect(c, "-ERR invalid cursor*", "KV.LIST PREFIX ['a'] END ['a',3] CURSOR %s", cursor);
    expect(c, "-ERR invalid cursor*", "KV.LIST PREFIX ['a'] REVERSE CURSOR %s", cursor);
    expect(c, "+OK", "SELECT 1");
    expect(c, "-ERR invalid cursor*", "KV.LIST PREFIX ['a'] CURSOR %s", cursor);
    expect(c, "+OK", "SELECT 0");
    static const char *const garbage[] = {"",     "1",    "00", "x y",
                                          "AAAA", "!!!!", "AQ", "AQAAAAAAAAAA"};
    for (size_t i = 0; i < COUNT(garbage); i++) {
        expect(c, "-ERR invalid cursor*", "KV.LIST PREFIX ['a'] CURSOR %s", garbage[i]);
    }
    cursor[strlen(cursor) - 1] = '\0';
    expect(c, "-ERR invalid cursor*", "KV.LIST PREFIX ['a'] CURSOR %s=", cursor);
}

static void a_cursor_is_good_after_a_restart(void **state)
{
    char cursor[300];
    put_some();
    cursor_of(ask(c, "KV.LIST PREFIX ['a'] LIMIT 2 REVERSE"), cursor);
    group_again(false);
    expect(c, "[0 [['a',3] ['a',2] ['a',1]]]", "KV.LIST PREFIX ['a'] KEYSONLY REVERSE CURSOR %s",
           cursor);
}

/* Walks ["m"] in pages; the numbers must be 0..MANY-1, or the other way round. */
static void walk_many(int limit, bool is_reverse)
{
    char cursor[300] = "0";
    int at = 0;
    do {
        redisReply *r = is_reverse ? ask_reply(c, "KV.LIST PREFIX ['m'] LIMIT %d REVERSE CURSOR %s",
                                               limit, cursor)
                                   : ask_reply(c, "KV.LIST PREFIX ['m'] LIMIT %d CURSOR %s", limit,
                                               cursor);
        assert_int_equal(r->type, REDIS_REPLY_ARRAY);
        snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
        assert_true(r->element[1]->elements <= (size_t)limit);
        for (size_t i = 0; i < r->element[1]->elements; i++, at++) {
            assert_int_equal(atoi(r->element[1]->element[i]->element[1]->str),
                             is_reverse ? MANY - 1 - at : at);
        }
        freeReplyObject(r);
    } while (strcmp(cursor, "0") != 0);
    assert_int_equal(at, MANY);
}

static void pages_of_both_directions_make_up_the_whole(void **state)
{
    put_many();
    walk_many(613, false);
    walk_many(613, true);
    walk_many(10000, false);
    walk_many(1000, true);
    redisReply *r = ask_reply(c, "KV.LIST");
    assert_int_equal(r->element[1]->elements, 100);
    freeReplyObject(r);
}

/* ---- KV.COUNT ----------------------------------------------------------------------------------
 */

static void count_counts_ranges(void **state)
{
    expect(c, ":0", "KV.COUNT");
    put_some();
    expect(c, ":8", "KV.COUNT");
    expect(c, ":5", "KV.COUNT PREFIX ['a']");
    expect(c, ":2", "KV.COUNT START ['a',2] END ['a',4]");
    expect(c, ":7", "KV.COUNT START ['a',1]");
    expect(c, ":1", "KV.COUNT END ['a',1]");
    expect(c, "-ERR *'LIMIT'*", "KV.COUNT LIMIT 5");
    expect(c, "-ERR *'REVERSE'*", "KV.COUNT REVERSE");
    expect(c, "-ERR *PREFIX*", "KV.COUNT PREFIX");
    expect(c, "-ERR *is a duplicate*", "KV.COUNT PREFIX ['a'] PREFIX ['b']");
    expect(c, "-ERR invalid key: *", "KV.COUNT PREFIX a");
}

static void count_counts_many(void **state)
{
    put_many();
    expect(c, ":5000", "KV.COUNT");
    expect(c, ":1500", "KV.COUNT START ['m',1000] END ['m',2500]");
    expect(c, ":5000", "DBSIZE");
}

/* ---- KV.DELRANGE -------------------------------------------------------------------------------
 */

static void delrange_has_three_forms(void **state)
{
    put_some();
    expect(c, ":2", "KV.DELRANGE START ['a',2] END ['a',4]");
    expect(c, "[0 [['a'] ['a',1] ['a',4] ['a',5] ['ab'] ['b',1]]]", "KV.LIST KEYSONLY");
    expect(c, ":3", "KV.DELRANGE PREFIX ['a']");
    expect(c, "[0 [['a'] ['ab'] ['b',1]]]", "KV.LIST KEYSONLY");
    expect(c, ":3", "KV.DELRANGE ALL");
    expect(c, ":0", "KV.DELRANGE ALL");
    expect(c, ":0", "KV.COUNT");
}

static void delrange_stops_at_its_limit(void **state)
{
    put_some();
    expect(c, ":2", "KV.DELRANGE PREFIX ['a'] LIMIT 2");
    expect(c, "[0 [['a',3] ['a',4] ['a',5]]]", "KV.LIST PREFIX ['a'] KEYSONLY");
    expect(c, ":3", "KV.DELRANGE LIMIT 100 PREFIX ['a']");
}

static void delrange_refuses_what_is_not_one_of_its_forms(void **state)
{
    static const char *const options[] = {
        "",
        "FOO",
        "PREFIX",
        "START ['a']",
        "END ['a']",
        "START ['a'] END",
        "PREFIX ['a'] ALL",
        "ALL START ['a'] END ['b']",
        "PREFIX ['a'] START ['a',1] END ['a',2]",
        "ALL ALL",
        "LIMIT 5",
        "ALL LIMIT 0",
        "ALL LIMIT x",
        "ALL LIMIT",
        "ALL LIMIT 1 LIMIT 1",
        "START ['b'] END ['a']",
        "PREFIX a",
        "ALL PREFIX ['a'] START ['a']",
    };
    put_some();
    for (size_t i = 0; i < COUNT(options); i++) {
        char command[200];
        snprintf(command, sizeof command, "KV.DELRANGE%s%s", i == 0 ? "" : " ", options[i]);
        const char *got = ask(c, command);
        if (!text_fits(got, "-ERR *")) fail_msg("%s: %s", options[i], got);
    }
    expect(c, ":8", "KV.COUNT");
}

static void delrange_removes_more_than_a_transaction_holds(void **state)
{
    put_many();
    expect(c, "@", "KV.SET ['n'] 1");
    expect(c, ":250", "KV.DELRANGE PREFIX ['m'] LIMIT 250");
    expect(c, ":4750", "KV.DELRANGE PREFIX ['m']");
    expect(c, ":1", "KV.COUNT");
}

/* Commits between two versionstamps, as far as this test is concerned. */
static unsigned long long version_of(const char *stamp)
{
    char head[17] = "";
    memcpy(head, stamp, 16);
    return strtoull(head, NULL, 16);
}

static void delrange_beyond_a_transaction_makes_small_ones(void **state)
{
    struct testserver *own = testserver_start_with("--max-transaction-ops", "2000", NULL);
    redisContext *o = testserver_connect(own);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2500; i++) say(o, "KV.SET ['m',%d] {'a':1}", i);
        expect_many(o, 2500, "@");
        const char *some = round == 0 ? "KV.DELRANGE PREFIX ['m'] LIMIT 2000"
                                      : "KV.DELRANGE PREFIX ['m'] LIMIT 2000 WHERE {'a':1}";
        const char *all = round == 0 ? "KV.DELRANGE PREFIX ['m']"
                                     : "KV.DELRANGE PREFIX ['m'] WHERE {'a':1}";
        unsigned long long begin = version_of(ask(o, "KV.VERSION"));
        expect(o, ":2000", some);
        unsigned long long middle = version_of(ask(o, "KV.VERSION"));
        assert_int_equal(middle - begin, 1);
        for (int i = 0; i < 2000; i++) say(o, "KV.SET ['m',%d] {'a':1}", i);
        expect_many(o, 2000, "@");
        begin = version_of(ask(o, "KV.VERSION"));
        expect(o, ":2500", all);
        assert_true(version_of(ask(o, "KV.VERSION")) - begin >= 5);
        expect(o, ":0", "KV.COUNT");
    }
    redisFree(o);
    testserver_free(own);
}

static void delrange_removes_more_bytes_than_a_transaction_holds(void **state)
{
    char part[1501] = "";
    memset(part, 'k', 1500);
    for (int i = 0; i < 100; i++) say(c, "KV.SET ['%s',%d] 1", part, i);
    expect_many(c, 100, "@");
    expect(c, ":100", "KV.DELRANGE ALL");
    expect(c, ":0", "KV.COUNT");
}

/* More than a scan passes over in one go: it must not begin again and again. */
static void delrange_gets_past_many_dead_entries(void **state)
{
    put_many();
    expect(c, "+OK", "FLUSHDB");
    expect(c, "@", "KV.SET ['n'] 1");
    double before_s = load_cpu_s(c);
    expect(c, ":0", "KV.DELRANGE PREFIX ['m']");
    expect(c, ":1", "KV.DELRANGE ALL");
    assert_true(load_cpu_s(c) - before_s < 2);
}

static void a_filter_is_never_ignored(void **state)
{
    put_some();
    const char *got = ask(c, "KV.DELRANGE ALL WHERE {'$':{'$gt':100}}");
    assert_true(text_fits(got, "-ERR *") || text_fits(got, ":0"));
    expect(c, ":8", "KV.COUNT");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(list_covers_a_prefix_and_not_the_prefix_itself),
        TEST(list_bounds_are_inclusive_and_exclusive_also_in_reverse),
        TEST(list_ranges_that_contradict_themselves_are_errors),
        TEST(list_refuses_wrong_options),
        TEST(list_goes_on_from_its_cursor),
        TEST(a_full_last_page_says_that_it_is_the_last),
        TEST(a_cursor_is_refused_elsewhere),
        TEST(a_cursor_is_good_after_a_restart),
        TEST(pages_of_both_directions_make_up_the_whole),
        TEST(count_counts_ranges),
        TEST(count_counts_many),
        TEST(delrange_has_three_forms),
        TEST(delrange_stops_at_its_limit),
        TEST(delrange_refuses_what_is_not_one_of_its_forms),
        TEST(delrange_removes_more_than_a_transaction_holds),
        TEST(delrange_beyond_a_transaction_makes_small_ones),
        TEST(delrange_removes_more_bytes_than_a_transaction_holds),
        TEST(delrange_gets_past_many_dead_entries),
        TEST(a_filter_is_never_ignored),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
