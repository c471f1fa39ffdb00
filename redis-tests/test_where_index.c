/* WHERE by an index (docs/filters.md): KV.LIST, KV.COUNT and KV.DELRANGE tell the same with an
 * index as without one, whatever they find it by: over long ranges, in pages, in both directions,
 * with arrays, hashes and expired entries, in transactions, after kill -9; and KV.EXPLAIN says what
 * it is by. In database 0 entries have indexes, in database 1 are the same without.
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
#include "search_help.h"

static redisContext *c, *plain, *writer;

static int start(void **state)
{
    (void)state;
    group_opens(&c, &plain, &writer, NULL);
    server = testserver_start(NULL);
    group_connect();
    return 0;
}

static void see_tuples(void)
{
    expect(plain, "+OK", "SELECT 1");
    expect(c, "+OK", "CLIENT VIEW TUPLES");
    expect(plain, "+OK", "CLIENT VIEW TUPLES");
}

/* No entries; indexes below ['e']. */
static void begin(void)
{
    drop_indexes(c);
    expect(c, "+OK", "FLUSHALL");
    see_tuples();
    expect(c, "+OK", "KV.INDEX CREATE by_status PREFIX ['e'] ON 1 status");
    expect(c, "+OK", "KV.INDEX CREATE by_size PREFIX ['e'] ON 1 size");
    expect(c, "+OK", "KV.INDEX CREATE by_both PREFIX ['e'] ON 2 status size");
    expect(c, "+OK", "KV.INDEX CREATE by_tags PREFIX ['e'] ON 1 tags");
}

/* ---- the same in both ---- */

#define WORDS_MAX (1 << 20)

static const char *words_of(const char *format, va_list args)
{
    static char words[WORDS_MAX];
    vsnprintf(words, sizeof words, format, args);
    return words;
}

/* The reply, whose versionstamps do not count, is the same. */
__attribute__((format(printf, 1, 2))) static void both(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *words = words_of(format, args);
    va_end(args);
    const char *one = ask(c, words);
    const char *two = ask(plain, words);
    if (strcmp(one, two) != 0) fail_msg("%s:\n%.1500s\nwithout: %.1500s", words, one, two);
}

__attribute__((format(printf, 1, 2))) static void write_both(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *words = words_of(format, args);
    va_end(args);
    const char *one = ask(c, words);
    if (one[0] == '-') fail_msg("%s: %s", words, one);
    const char *two = ask(plain, words);
    if (two[0] == '-') fail_msg("%s: %s", words, two);
}

/* The keys of a page, and where the next begins. */
static const char *page_keys(redisContext *of, const char *question, int limit, char cursor[600])
{
    static char texts[2][WORDS_MAX];
    char *text = texts[of == plain];
    char words[3000];
    size_t len = 0;
    snprintf(words, sizeof words, "%s KEYSONLY LIMIT %d CURSOR %s", question, limit, cursor);
    redisReply *r = ask_reply(of, words);
    if (r->type != REDIS_REPLY_ARRAY) fail_msg("%s: %s", question, r->str);
    snprintf(cursor, 600, "%s", r->element[0]->str);
    text[0] = '\0';
    for (size_t i = 0; i < r->element[1]->elements; i++) {
        len += (size_t)snprintf(text + len, WORDS_MAX - len, "%s ", r->element[1]->element[i]->str);
    }
    freeReplyObject(r);
    return text;
}

static void pages(const char *question, int limit)
{
    char one[600] = "0";
    char two[600] = "0";
    char quoted[2000];
    snprintf(quoted, sizeof quoted, "%s", with_quotes(question));
    do {
        const char *a = page_keys(c, quoted, limit, one);
        const char *b = page_keys(plain, quoted, limit, two);
        if (strcmp(a, b) != 0) fail_msg("%s:\n%.1500s\nwithout: %.1500s", question, a, b);
        /* The last page that is full may not know that it is the last. */
    } while (strcmp(one, "0") != 0 && strcmp(two, "0") != 0);
}

/* ---- many entries ---- */

#define MANY 20000 /* more than are walked before the index is asked for many rows */
#define BATCH 500

/* Status 0 is rare, others less and less so; sizes are spread. */
static const char *many_at_once(int first)
{
    static char text[1 << 17];
    size_t len = (size_t)snprintf(text, sizeof text, "KV.ATOMIC");
    for (int i = first; i < first + BATCH; i++) {
        int status = i % 1000 == 17 ? 0 : i % 50 == 3 ? 1 : i % 15 == 4 ? 2 : 3;
        len += (size_t)snprintf(text + len, sizeof text - len,
                                " SET ['e',%d] {'status':'s%d','size':%d,'tags':['t%d','t%d']}", i,
                                status, i * 7919 % MANY, i % 5, i % 4000);
    }
    return text;
}

static void fill(void)
{
    begin();
    for (int i = 0; i < MANY; i += BATCH) {
        expect(c, "@", many_at_once(i));
        expect(plain, "@", many_at_once(i));
    }
}

static const char *const questions[] = {
    "{'status':'s0'}",                         /* 20: at once */
    "{'status':'s1'}",                         /* 400: after a while */
    "{'status':'s2'}",                         /* some 1,300 */
    "{'status':'s3'}",                         /* too many */
    "{'status':'s9'}",                         /* none */
    "{'status':{'$in':['s0','s1','s9']}}",     /* several ranges */
    "{'size':{'$lt':30}}",                     /* not in key order */
    "{'size':{'$gte':1000,'$lt':1800}}",       /* 800 */
    "{'status':'s1','size':{'$lt':10000}}",    /* of two paths */
    "{'status':{'$startsWith':'s'},'size':7}", /* the second path first */
    "{'status':'s2','size':{'$gt':19000}}",    /* two indexes */
    "{'status':'s1','size':{'$lt':19000}}",    /* two indexes, each with some 400 */
    "{'status':'s1','other':null}",            /* the filter has more */
    "{'tags':'t1'}",                           /* no array is equal to it */
    "{'tags[0]':'t1','status':'s0'}",          /* another index */
    "{'$or':[{'status':'s0'},{'size':5}]}",    /* none serves */
};

static void what_is_found_is_the_same(void **state)
{
    (void)state;
    fill();
    long long by_index = load_info(c, "filtered_by_index");
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        const char *q = questions[i];
        char list[600];
        both("KV.COUNT PREFIX ['e'] WHERE %s", q);
        both("KV.COUNT START ['e',500] END ['e',9000] WHERE %s", q);
        snprintf(list, sizeof list, "KV.LIST PREFIX ['e'] WHERE %s", q);
        pages(list, 10000);
        snprintf(list, sizeof list, "KV.LIST START ['e',100] END ['e',19000] WHERE %s", q);
        pages(list, 97);
        snprintf(list, sizeof list, "KV.LIST PREFIX ['e'] WHERE %s REVERSE", q);
        pages(list, 250);
        pages(list, 10000);
    }
    /* The rows of some are few enough at once. */
    assert_true(load_info(c, "filtered_by_index") >= by_index + 20);
    expect(c, "[0 [['e',17] ['e',1017] ['e',2017]]]",
           "KV.LIST START ['e',0] END ['e',3000] WHERE {'status':'s0'} KEYSONLY");
    expect(c, "[0 [[['e',17] {'status':'s0','size':14623,'tags':['t2','t17']} @]]]",
           "KV.LIST START ['e',0] END ['e',1000] WHERE {'status':'s0'}");
}

#define SWAPS 8

/* One of two entries has the status at every moment: a question that saw them at two would miss
 * both or find both. */
static void all_is_of_one_moment(void **state)
{
    (void)state;
    fill();
    for (int round = 0; round < 100; round++) {
        bool is_even = round % 2 == 0;
        expect(writer, "@",
               "KV.ATOMIC SET ['e',3] {'status':'s%d'} SET ['e',19953] {'status':'s%d'}",
               is_even ? 1 : 9, is_even ? 9 : 1);
        for (int i = 0; i < SWAPS; i++) {
            bool is_first = (i % 2 == 0) != is_even;
            say(writer, "KV.ATOMIC SET ['e',3] {'status':'s%d'} SET ['e',19953] {'status':'s%d'}",
                is_first ? 1 : 9, is_first ? 9 : 1);
        }
        load_flush(writer);
        if (round % 3 == 0) {
            expect(c, ":399", "KV.COUNT PREFIX ['e'] WHERE {'status':'s1'}");
        } else {
            redisReply *r = ask_reply(c, with_quotes("KV.LIST PREFIX ['e'] WHERE {'status':'s1'} "
                                                     "LIMIT 10000 KEYSONLY"));
            assert_int_equal(r->type, REDIS_REPLY_ARRAY);
            assert_int_equal(r->element[1]->elements, 399);
            freeReplyObject(r);
        }
        expect_many(writer, SWAPS, "@");
    }
}

/* ---- deleting ---- */

static void what_matches_is_deleted(void **state)
{
    (void)state;
    fill();
    both("KV.DELRANGE PREFIX ['e'] WHERE {'status':'s0'} LIMIT 7");
    both("KV.DELRANGE PREFIX ['e'] WHERE {'status':'s0'}");
    both("KV.COUNT PREFIX ['e'] WHERE {'status':'s0'}");
    both("KV.DELRANGE START ['e',300] END ['e',9000] WHERE {'size':{'$lt':500}}");
    both("KV.DELRANGE PREFIX ['e'] WHERE {'status':'s2'}");
    write_both("MULTI");
    both("KV.DELRANGE PREFIX ['e'] WHERE {'status':'s1'}");
    both("EXEC");
    both("KV.DELRANGE PREFIX ['e'] WHERE {'status':{'$in':['s1','s0']}}");
    both("KV.COUNT PREFIX ['e']");
    both("KV.DELRANGE PREFIX ['e'] WHERE {'status':'s3'}");
    expect(c, ":0", "KV.COUNT PREFIX ['e']");
}

/* ---- in a transaction ---- */

static void a_transaction_sees_what_it_wrote(void **state)
{
    (void)state;
    fill();
    write_both("MULTI");
    write_both("KV.SET ['e',17] {'status':'s7','size':1}");
    write_both("KV.SET ['e',18] {'status':'s0','size':1}");
    write_both("KV.DEL ['e',1017]");
    both("KV.LIST PREFIX ['e'] WHERE {'status':'s0'} KEYSONLY");
    both("KV.LIST PREFIX ['e'] WHERE {'status':'s0'} KEYSONLY REVERSE");
    both("KV.COUNT PREFIX ['e'] WHERE {'status':'s7'}");
    both("KV.COUNT PREFIX ['e'] WHERE {'status':'s0'}");
    const char *one = strstr(ask(c, "EXEC"), "[0 [");
    const char *two = strstr(ask(plain, "EXEC"), "[0 [");
    assert_non_null(one);
    assert_string_equal(one, two);
    assert_non_null(strstr(one, "['e',18] ['e',2017]"));
}

/* Where the range is longer than a transaction may walk, an index makes it possible. */
static void a_script_finds_by_the_index(void **state)
{
    static const char *const script =
        "return redis.call('KV.COUNT','PREFIX','[\"e\"]','WHERE','{\"status\":\"s0\"}')";
    redisReply *r = NULL;
    (void)state;
    fill();
    long long by_index = load_info(c, "filtered_by_index");
    r = redisCommand(c, "EVAL %s 0", script);
    assert_int_equal(r->type, REDIS_REPLY_INTEGER);
    assert_int_equal(r->integer, 20);
    freeReplyObject(r);
    assert_int_equal(load_info(c, "filtered_by_index"), by_index + 1);
}

/* ---- hashes, and what has ended ---- */

static void hashes_are_found_too(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 40; i++) {
        write_both("KV.SET ['e',%d] {'status':'s%d','size':%d}", i, i % 4, i);
        if (i % 5 == 0) write_both("HSET e/#%d/h status s%d size %d", i, i % 3, i);
    }
    both("KV.LIST PREFIX ['e'] WHERE {'status':'s1'} KEYSONLY");
    both("KV.COUNT PREFIX ['e'] WHERE {'size':{'$lt':12}}");
    expect(c, "*['e',5,'h']*", "KV.LIST PREFIX ['e'] WHERE {'size':5} KEYSONLY");
    /* What they were made of, and what comes in their place. */
    write_both("HSET e/#5/h size 900");
    write_both("KV.SET ['e',10,'h'] {'size':900}");
    write_both("DEL e/#20/h");
    write_both("HDEL e/#25/h size status");
    write_both("RENAME e/#30/h e/#1/h");
    write_both("KV.DEL ['e',2]");
    write_both("HSET e/#2 size 900");
    both("KV.LIST PREFIX ['e'] WHERE {'size':900} KEYSONLY");
    both("KV.LIST PREFIX ['e'] WHERE {'size':{'$gte':20}} KEYSONLY");
    both("KV.LIST PREFIX ['e'] WHERE {'status':'s2'} KEYSONLY");
    expect(c, "[by index entries :7 *", "KV.EXPLAIN PREFIX ['e'] WHERE {'size':900}");
    group_again(true);
    see_tuples();
    both("KV.LIST PREFIX ['e'] WHERE {'size':900} KEYSONLY");
    both("KV.LIST PREFIX ['e'] WHERE {'status':'s2'} KEYSONLY REVERSE");
}

/* An index of the whole database names the hashes of plain keys. */
static void hashes_of_plain_keys_are_found_too(void **state)
{
    (void)state;
    begin();
    expect(c, "+OK", "KV.INDEX CREATE all PREFIX [] ON 1 city");
    for (int i = 0; i < 10; i++) {
        write_both("HSET user:%d city %s", i, i % 2 == 0 ? "Rome" : "Oslo");
        write_both("KV.SET ['p',%d] {'city':'%s'}", i, i % 3 == 0 ? "Rome" : "Bonn");
    }
    both("KV.LIST PREFIX [] WHERE {'city':'Rome'} KEYSONLY");
    expect(c, ":9", "KV.COUNT PREFIX [] WHERE {'city':'Rome'}");
    expect(c, "[by index entries :14 *", "KV.EXPLAIN PREFIX [] WHERE {'city':'Rome'}");
    write_both("DEL user:0");
    write_both("SET user:2 Rome");
    expect(c, "[by index entries :12 *", "KV.EXPLAIN PREFIX [] WHERE {'city':'Rome'}");
    both("KV.LIST PREFIX [] WHERE {'city':'Rome'} KEYSONLY");
    /* An index that is made later names those that are there. */
    expect(c, ":1", "KV.INDEX DROP all");
    expect(c, "+OK", "KV.INDEX CREATE all PREFIX [] ON 1 city");
    expect(c, "[by index entries :12 *", "KV.EXPLAIN PREFIX [] WHERE {'city':'Rome'}");
}

static void what_has_ended_is_not_found(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 200; i++) {
        write_both("KV.SET ['e',%d] {'status':'s1'} PX %d", i, i % 2 == 0 ? 1 : 3600000);
    }
    long until = testserver_now_ms() + 2; /* two milliseconds later all that end have ended */
    while (testserver_now_ms() <= until) expect(c, "+PONG", "PING");
    expect(c, ":100", "KV.COUNT PREFIX ['e'] WHERE {'status':'s1'}");
    both("KV.LIST PREFIX ['e'] WHERE {'status':'s1'} KEYSONLY LIMIT 1000");
}

/* ---- at random ---- */

#define KEYS 60
#define ROUNDS 60
#define CHANGES 30

static void change(void)
{
    static const char *const sizes[] = {"1", "2", "2.0", "'2'", "null", "[1,2]", "-1", "true"};
    const char *size = sizes[load_below(sizeof sizes / sizeof *sizes)];
    unsigned key = (unsigned)load_below(KEYS);
    unsigned status = (unsigned)load_below(4);
    switch (load_below(8)) {
    case 0: write_both("KV.DEL ['e',%u]", key); break;
    case 1:
        write_both("KV.DEL ['e',%u]", key);
        write_both("HSET e/#%u status s%u size 2", key, status);
        break;
    case 2: write_both("KV.SET ['e',%u] {'status':'s%u'}", key, status); break;
    case 3: write_both("KV.SET ['e',%u] {'size':%s}", key, size); break;
    case 4: write_both("EXPIRE e/#%u 1000", key); break;
    default: write_both("KV.SET ['e',%u] {'status':'s%u','size':%s}", key, status, size); break;
    }
}

static const char *const conditions[] = {
    "{'status':'s1'}",
    "{'size':2}",
    "{'size':'2'}",
    "{'size':{'$gt':1}}",
    "{'size':{'$lte':1}}",
    "{'size':true}",
    "{'status':{'$in':['s0','s2']},'size':{'$gte':-5}}",
    "{'size':[1,2]}",
    "{'status':{'$startsWith':'s'}}",
    "{'status':'s3','size':{'$between':[1,2]}}",
    "{'size':null}",
};

static void compare(void)
{
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        both("KV.LIST PREFIX ['e'] WHERE %s KEYSONLY", conditions[i]);
        both("KV.COUNT START ['e',10] END ['e',40] WHERE %s", conditions[i]);
    }
}

static void it_is_the_same_whatever_is_written(void **state)
{
    (void)state;
    begin();
    load_seed();
    for (int round = 0; round < ROUNDS; round++) {
        bool is_together = load_below(3) == 0;
        if (is_together) write_both("MULTI");
        for (int i = 0; i < CHANGES; i++) change();
        if (is_together) both("KV.COUNT PREFIX ['e'] WHERE {'status':'s1'}");
        if (is_together) write_both(load_below(4) == 0 ? "DISCARD" : "EXEC");
        if (round % 20 == 19) {
            group_again(true);
            see_tuples();
        }
        compare();
    }
}

/* ---- KV.EXPLAIN ---- */

static void explain_says_what_it_is_by(void **state)
{
    (void)state;
    fill();
    expect(c,
           "[by index entries :20 indexes [[by_both (nil) *'size'*] [by_size (nil) *] "
           "[by_status :20 *] [by_tags (nil) *]]]",
           "KV.EXPLAIN PREFIX ['e'] WHERE {'status':'s0'}");
    expect(c, "[by index entries :3 *[by_status :20 *",
           "KV.EXPLAIN START ['e',0] END ['e',3000] WHERE {'status':'s0'}");
    expect(c, "[by range entries (nil) *[by_status :2048 more than 2048 rows*",
           "KV.EXPLAIN PREFIX ['e'] WHERE {'status':'s3'}");
    expect(c, "[by range entries (nil) indexes [[by_both (nil) *] *",
           "KV.EXPLAIN PREFIX ['e'] WHERE {'other':1}");
    expect(c, "[by range entries (nil) indexes []]", "KV.EXPLAIN PREFIX ['f'] WHERE {'size':1}");
    expect(c, "[by range * [by_size (nil) it does not cover all keys of the range] *",
           "KV.EXPLAIN PREFIX [] WHERE {'size':1}");
    expect(c, "[by range * [by_size (nil) it does not cover all keys of the range] *",
           "KV.EXPLAIN START ['e',5] WHERE {'size':1}");
    /* What both name of some 400 each. */
    expect(c, "[by index entries :380 indexes [[by_both :380 *] [by_size *] [by_status :400 *",
           "KV.EXPLAIN PREFIX ['e'] WHERE {'status':'s1','size':{'$lt':19000}}");
    expect(c, "*[by_both :0 *[by_size (nil) not considered: another *",
           "KV.EXPLAIN PREFIX ['e'] WHERE {'size':7,'status':'s3'}");
    expect(c, "+OK", "KV.INDEX CREATE of_hashes HASHES user:* ON 1 size");
    expect(c,
           "[by range entries (nil) indexes [[of_hashes (nil) it indexes hashes, for KV.FIND*]]]",
           "KV.EXPLAIN PREFIX ['user:1'] WHERE {'size':1}");
    expect(c, "*[of_hashes (nil) *", "KV.EXPLAIN PREFIX [] WHERE {'size':1}");
    expect(c, "[by range entries (nil) indexes []]", "KV.EXPLAIN PREFIX ['vase'] WHERE {'size':1}");
    expect(c, ":1", "KV.INDEX DROP of_hashes");
    expect(c, "-ERR *needs WHERE*", "KV.EXPLAIN PREFIX ['e']");
    expect(c, "-ERR where: *", "KV.EXPLAIN PREFIX ['e'] WHERE {'size':{'$foo':1}}");
}

/* Its name is not told to a user that may not read all that the index is of. */
static void explain_hides_what_may_not_be_read(void **state)
{
    (void)state;
    begin();
    expect(c, "+OK", "ACL SETUSER bob on nopass +@all resetkeys ~e/#1/*");
    expect(writer, "+OK", "AUTH bob any");
    expect(writer, "[by index entries :0 indexes []]",
           "KV.EXPLAIN PREFIX ['e',1] WHERE {'size':1}");
    expect(writer, "-NOPERM *", "KV.EXPLAIN PREFIX ['e'] WHERE {'size':1}");
    expect(c, ":1", "ACL DELUSER bob");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_found_is_the_same, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(all_is_of_one_moment, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(what_matches_is_deleted, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(a_transaction_sees_what_it_wrote, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(a_script_finds_by_the_index, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(hashes_are_found_too, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(hashes_of_plain_keys_are_found_too, group_enter,
                                        group_leave),
        cmocka_unit_test_setup_teardown(what_has_ended_is_not_found, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(it_is_the_same_whatever_is_written, group_enter,
                                        group_leave),
        cmocka_unit_test_setup_teardown(explain_says_what_it_is_by, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(explain_hides_what_may_not_be_read, group_enter,
                                        group_leave),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
