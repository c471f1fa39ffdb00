/* Hashes as documents (docs/hashes.md): KV.INDEX ... HASHES, KV.FIND and WHERE over hashes, packed
 * and spread, with UNIQUE, times to live of fields, every command that puts a hash elsewhere, in
 * transactions, while an index is filled, after kill -9. The random test compares what is found
 * with what HMGET says of every hash.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"
#include "search_help.h"

#define LIMIT_MS 60000

static redisContext *c;
static char long_text[3000]; /* what spreads a hash */

static int start(void **state)
{
    memset(long_text, 'x', sizeof long_text - 1);
    group_opens(&c, NULL);
    server = testserver_start_with("--enable-debug-command", "yes", NULL);
    group_connect();
    return 0;
}

/* No entries and no indexes. */
static void empty(void)
{
    drop_indexes(c);
    expect(c, "+OK", "FLUSHALL");
}

static void people(void)
{
    empty();
    expect(c, ":3", "HSET user:1 city Paris age 36 name Ada");
    expect(c, ":3", "HSET user:2 city Rome age 25 name Bob");
    expect(c, ":3", "HSET user:3 city Paris age 50.5 name Cy");
    expect(c, ":4", "HSET user:4 city Oslo age 36.0 name Di bio %s", long_text);
    expect(c, ":3", "HSET other:5 city Paris age 36 name Ed");
    expect(c, "+OK", "SET user:6 Paris");
    expect(c, ":1", "RPUSH user:7 Paris");
}

/* How many hits a search has. */
static size_t hits(const char *command)
{
    redisReply *r = ask_reply(c, command);
    if (r->type != REDIS_REPLY_ARRAY) fail_msg("%s: %s", command, r->str);
    size_t count = r->elements;
    freeReplyObject(r);
    return count;
}

/* How many entries a page has. */
static size_t found(const char *command)
{
    redisReply *r = ask_reply(c, command);
    if (r->type != REDIS_REPLY_ARRAY) fail_msg("%s: %s", command, r->str);
    size_t count = r->element[1]->elements;
    freeReplyObject(r);
    return count;
}

/* ---- finding ---- */

static void hashes_are_found_by_their_fields(void **state)
{
    people();
    expect(c, "+OK", "KV.INDEX CREATE by_city HASHES user:* ON 1 city");
    expect(c, "[0 [['user:1'] ['user:3']]]", "KV.FIND by_city 'Paris' KEYSONLY");
    expect(c, "[0 [['user:4']]]", "KV.FIND by_city FROM 'A' TO 'P' KEYSONLY");
    expect(c, "[0 [[['user:2'] {'$collection':{'type':'hash','length':3}} @]]]",
           "KV.FIND by_city 'Rome'");
    expect(c, ":0", "HSET user:4 city Paris");
    expect(c, "[0 [['user:1'] ['user:3'] ['user:4']]]", "KV.FIND by_city 'Paris' KEYSONLY");
    expect(c, ":1", "HDEL user:1 city");
    expect(c, "[0 [['user:3'] ['user:4']]]", "KV.FIND by_city 'Paris' KEYSONLY");
    expect(c, ":1", "HDEL user:4 city");
    expect(c, ":1", "DEL user:3");
    expect(c, "[0 []]", "KV.FIND by_city 'Paris' KEYSONLY");
}

static void texts_of_numbers_are_numbers_too(void **state)
{
    people();
    expect(c, "+OK", "KV.INDEX CREATE by_age HASHES user:* ON 1 age");
    expect(c, "[0 [['user:1'] ['user:4']]]", "KV.FIND by_age 36 KEYSONLY");
    expect(c, "[0 [['user:1']]]", "KV.FIND by_age '36' KEYSONLY");
    expect(c, "[0 [['user:4']]]", "KV.FIND by_age '36.0' KEYSONLY");
    expect(c, "[0 [['user:1'] ['user:4'] ['user:3']]]", "KV.FIND by_age FROM 30 TO 51 KEYSONLY");
    expect(c, "[0 [['user:2'] ['user:1'] ['user:4'] ['user:3']]]", "KV.FIND by_age KEYSONLY");
    expect(c, "[0 [['user:3'] ['user:4'] ['user:1'] ['user:2']]]",
           "KV.FIND by_age KEYSONLY REVERSE");
    expect(c, ":36", "HINCRBY user:2 age 11");
    expect(c, "[0 [['user:1'] ['user:2'] ['user:4']]]", "KV.FIND by_age 36 KEYSONLY");
}

static void several_fields_are_searched_from_the_left(void **state)
{
    people();
    expect(c, "+OK", "KV.INDEX CREATE ca HASHES user:* ON 2 city age");
    expect(c, "[0 [['user:1'] ['user:3']]]", "KV.FIND ca 'Paris' KEYSONLY");
    expect(c, "[0 [['user:3'] ['user:1']]]", "KV.FIND ca 'Paris' KEYSONLY REVERSE");
    expect(c, "[0 [['user:3']]]", "KV.FIND ca 'Paris' FROM 40 KEYSONLY");
    expect(c, "[0 [['user:4'] ['user:1'] ['user:3'] ['user:2']]]", "KV.FIND ca KEYSONLY");
    expect(c, ":1", "HDEL user:3 age");
    expect(c, "[0 [['user:1']]]", "KV.FIND ca 'Paris' KEYSONLY");
}

static void a_pattern_says_which_keys(void **state)
{
    people();
    expect(c, "+OK", "KV.INDEX CREATE all HASHES * ON 1 city");
    expect(c, "[0 [['other:5'] ['user:1'] ['user:3']]]", "KV.FIND all 'Paris' KEYSONLY");
    expect(c, "+OK", "KV.INDEX CREATE odd HASHES user:[13] ON 1 city");
    expect(c, "[0 [['user:1'] ['user:3']]]", "KV.FIND odd KEYSONLY");
    expect(c, "+OK", "RENAME user:1 user:2");
    expect(c, "[0 [['user:3']]]", "KV.FIND odd KEYSONLY");
    expect(c, "[0 [['other:5'] ['user:2'] ['user:3']]]", "KV.FIND all 'Paris' KEYSONLY");
    expect(c, ":1", "COPY user:4 user:1");
    expect(c, "[0 [['user:1'] ['user:3']]]", "KV.FIND odd KEYSONLY");
    expect(c, "[* hashes user:*3] *]", "KV.INDEX INFO odd");
    expect(c, ":0", "KV.INDEX CREATE odd HASHES user:[13] ON 1 city IF NOT EXISTS");
    expect(c, "-ERR index 'odd' exists with another definition; *",
           "KV.INDEX CREATE odd HASHES user:[14] ON 1 city IF NOT EXISTS");
    expect(c, "-ERR index 'odd' exists with another definition; *",
           "KV.INDEX CREATE odd PREFIX [] ON 1 city IF NOT EXISTS");
}

/* Keys of several parts, and what a prefix without HASHES sees. */
static void a_prefix_may_narrow_it(void **state)
{
    empty();
    expect(c, "+OK", "CLIENT VIEW TUPLES");
    expect(c, ":1", "HSET u/a city Paris");
    expect(c, ":1", "HSET u/b city Paris");
    expect(c, ":1", "HSET v/a city Paris");
    expect(c, "@", "KV.SET ['u','c'] {'city':'Paris'}");
    expect(c, "+OK", "KV.INDEX CREATE h PREFIX ['u'] HASHES *a ON 1 city");
    expect(c, "[0 [['u','a']]]", "KV.FIND h 'Paris' KEYSONLY");
    expect(c, "+OK", "KV.INDEX CREATE p PREFIX ['u'] ON 1 city");
    expect(c, "[0 [['u','c']]]", "KV.FIND p 'Paris' KEYSONLY");
}

static void what_is_not_utf8_is_not_seen(void **state)
{
    empty();
    expect(c, "+OK", "KV.INDEX CREATE by_city HASHES * ON 1 city");
    expect(c, ":1", "HSET a city %b", "\xff\xfe", (size_t)2);
    expect(c, ":1", "HSET b city Köln");
    expect(c, "[0 [['b']]]", "KV.FIND by_city KEYSONLY");
    expect(c, "[0 [['b']]]", "KV.FIND by_city 'Köln' KEYSONLY");
    expect(c, ":0", "HSET b city 036");
    expect(c, "[0 []]", "KV.FIND by_city 36 KEYSONLY");
    expect(c, "[0 [['b']]]", "KV.FIND by_city '036' KEYSONLY");
}

static void wrong_words_are_named(void **state)
{
    empty();
    expect(c, "-ERR path 'a.b' is not the name of a field, *",
           "KV.INDEX CREATE x HASHES * ON 1 a.b");
    expect(c, "-ERR path '$' is not the name of a field, *", "KV.INDEX CREATE x HASHES * ON 1 $");
    expect(c, "+OK", "KV.INDEX CREATE x HASHES * ON 1 'a.b'");
    expect(c, ":1", "HSET h a.b 1");
    expect(c, "[0 [['h']]]", "KV.FIND x 1 KEYSONLY");
    expect(c, "-ERR path 'a[0]' is not the name of a field, *",
           "KV.INDEX CREATE y HASHES * TEXT 1 a[0]");
    expect(c, "-ERR HASHES: the pattern is not valid UTF-8", "KV.INDEX CREATE y HASHES %b ON 1 a",
           "\xff", (size_t)1);
    expect(c, "-ERR syntax error: KV.INDEX CREATE needs PREFIX key or HASHES pattern, *",
           "KV.INDEX CREATE y ON 1 a IF NOT EXISTS");
}

/* ---- UNIQUE ---- */

static void a_value_of_a_unique_field_has_one_owner(void **state)
{
    people();
    expect(c, "+OK", "KV.INDEX CREATE by_name HASHES user:* ON 1 name UNIQUE");
    expect(c, "-DUPLICATE by_name ['user:1']", "HSET user:9 name Ada");
    expect(c, ":0", "EXISTS user:9");
    expect(c, "-DUPLICATE by_name ['user:1']", "HSET user:4 name Ada");
    expect(c, "Di", "HGET user:4 name");
    expect(c, "-DUPLICATE by_name ['user:2']", "COPY user:2 user:9");
    expect(c, "+OK", "RENAME user:2 user:9");
    expect(c, "-DUPLICATE by_name ['user:9']", "HSET user:2 name Bob");
    expect(c, ":1", "DEL user:9");
    expect(c, ":1", "HSET user:2 name Bob");
    /* As strings: 36 and 36.0 are two, and both are found by the number. */
    expect(c, "+OK", "KV.INDEX CREATE by_age HASHES user:* ON 1 age UNIQUE");
    expect(c, "[0 [['user:1'] ['user:4']]]", "KV.FIND by_age 36 KEYSONLY");
    expect(c, "-DUPLICATE by_age ['user:4']", "HSET user:2 age 36.0");
    expect(c, "-DUPLICATE both ['user:1'] ['user:3']",
           "KV.INDEX CREATE both HASHES user:* ON 1 city UNIQUE");
}

/* ---- time to live ---- */

static void wait_gone(const char *key, const char *field)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (ask_integer(c, "HEXISTS %s %s", key, field) == 1) {
        if (testserver_now_ms() > until) fail_msg("%s of %s never ends", field, key);
        testserver_pause();
    }
}

static void fields_that_end_are_not_found(void **state)
{
    people();
    expect(c, "+OK", "KV.INDEX CREATE by_city HASHES user:* ON 1 city");
    expect(c, "+OK", "DEBUG SET-ACTIVE-EXPIRE 0"); /* nothing is removed: all is judged by time */
    for (int i = 3; i <= 4; i++) {                 /* packed, spread */
        char key[20];
        snprintf(key, sizeof key, "user:%d", i);
        expect(c, ":0", "HSET %s city Bonn", key);
        expect(c, "[:1]", "HPEXPIRE %s 3600000 FIELDS 1 city", key);
        expect(c, i == 3 ? "[0 [['user:3']]]" : "[0 [['user:4']]]",
               "KV.FIND by_city 'Bonn' KEYSONLY");
        expect(c, "[:1]", "HPEXPIRE %s 1 FIELDS 1 city", key);
        wait_gone(key, "city");
        expect(c, "[0 []]", "KV.FIND by_city 'Bonn' KEYSONLY");
        expect(c, "[0 []]", "KV.LIST PREFIX [] WHERE {'city':'Bonn'} KEYSONLY");
        expect(c, ":1", "HSET %s city Bonn", key);
        expect(c, ":1", "PEXPIRE %s 3600000", key);
        expect(c, i == 3 ? "[0 [['user:3']]]" : "[0 [['user:4']]]",
               "KV.FIND by_city 'Bonn' KEYSONLY");
        expect(c, ":1", "PEXPIRE %s 1", key);
        wait_gone(key, "city");
        expect(c, "[0 []]", "KV.FIND by_city 'Bonn' KEYSONLY");
    }
    expect(c, "+OK", "DEBUG SET-ACTIVE-EXPIRE 1");
}

/* ---- WHERE ---- */

static void filters_see_hashes(void **state)
{
    people();
    expect(c, "[0 [['user:1'] ['user:3'] ['user:4']]]",
           "KV.LIST PREFIX [] WHERE {'age':{'$gt':30},'name':{'$ne':'Ed'}} KEYSONLY");
    expect(c, ":3", "KV.COUNT PREFIX [] WHERE {'age':36}");
    expect(c, ":2", "KV.COUNT PREFIX [] WHERE {'age':'36'}");
    expect(c, ":1", "KV.COUNT PREFIX [] WHERE {'age':{'$in':[36]},'city':'Oslo'}");
    expect(c, ":1", "KV.COUNT PREFIX [] WHERE {'bio':{'$exists':true}}");
    expect(c, ":1", "KV.COUNT PREFIX [] WHERE {'name':{'$startsWithi':'d'}}");
    expect(c, ":2",
           "KV.COUNT PREFIX [] WHERE {'age':{'$between':[20,36]},'city':{'$nin':['Paris']}}");
    expect(c, "+OK", "KV.INDEX CREATE by_city HASHES * ON 1 city");
    expect(c, "[0 [['user:4']]]", "KV.FIND by_city WHERE {'age':36,'name':'Di'} KEYSONLY");
    expect(c, "[0 [['other:5'] ['user:1']]]", "KV.FIND by_city 'Paris' WHERE {'age':36} KEYSONLY");
    expect(c, ":3", "KV.DELRANGE PREFIX [] WHERE {'age':36}");
    expect(c, "[0 [['user:2'] ['user:3'] ['user:6'] ['user:7']]]", "KV.LIST PREFIX [] KEYSONLY");
}

static void filters_see_what_a_transaction_wrote(void **state)
{
    people();
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "HSET user:2 bio %s city Bonn", long_text);
    expect(c, "+QUEUED", "KV.LIST PREFIX [] WHERE {'city':'Bonn'} KEYSONLY");
    expect(c, "+QUEUED", "KV.COUNT PREFIX [] WHERE {'nothing':1}");
    expect(c, "+QUEUED", "HSET user:4 city Bonn");
    expect(c, "+QUEUED", "KV.COUNT PREFIX [] WHERE {'city':'Bonn'}");
    expect(c, "[:1 [0 [['user:2']]] :0 :0 :2]", "EXEC");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.DELRANGE PREFIX [] WHERE {'city':'Bonn'}");
    expect(c, "+QUEUED", "KV.COUNT PREFIX []");
    expect(c, "[:2 :5]", "EXEC");
}

/* More than what is looked at in one turn, and so many fields that one question is not enough. */
static void filters_pass_over_many_large_hashes(void **state)
{
    char filter[2000];
    size_t len = 0;
    empty();
    for (int i = 0; i < 300; i++) say(c, "HSET many:%d n %d bio %s", i, i, long_text);
    expect_many(c, 300, ":2");
    expect(c, ":10", "KV.COUNT PREFIX [] WHERE {'n':{'$gte':290}}");
    expect(c, "[0 [['many:299']]]", "KV.LIST PREFIX [] WHERE {'n':299} KEYSONLY");
    expect(c, "+OK", "KV.INDEX CREATE by_n HASHES many:* ON 1 n");
    wait_for_index(c, "by_n");
    expect(c, "[0 [['many:298'] ['many:299']]]",
           "KV.FIND by_n FROM 200 WHERE {'n':{'$gt':297}} KEYSONLY");
    group_again(false); /* from the store */
    expect(c, ":10", "KV.COUNT PREFIX [] WHERE {'n':{'$gte':290}}");
    expect(c, "[0 [['many:298'] ['many:299']]]",
           "KV.FIND by_n FROM 200 WHERE {'n':{'$gt':297}} KEYSONLY");
    expect(c, ":290", "KV.DELRANGE PREFIX [] WHERE {'n':{'$lt':290}}");
    for (int i = 0; i < 33; i++) {
        len += (size_t)snprintf(filter + len, sizeof filter - len, "%c'f%d':{'$exists':false}",
                                i == 0 ? '{' : ',', i);
    }
    snprintf(filter + len, sizeof filter - len, "}");
    char command[2100];
    snprintf(command, sizeof command, "KV.COUNT PREFIX [] WHERE %s", filter);
    expect(c, "-LIMIT where: on a large hash, a filter may name 32 fields, and not `$`", command);
}

/* Fields of megabytes: so much work is one look, so much a transaction, and others run in between. */
static void large_fields_are_work(void **state)
{
    size_t len = (size_t)9 << 20;
    char *text = malloc(len);
    assert_non_null(text);
    memset(text, 'y', len);
    empty();
    for (int i = 0; i < 8; i++) expect(c, ":1", "HSET large:%d bio %b", i, text, len);
    free(text);
    long long before = load_info(c, "loop_turns");
    expect(c, ":0", "KV.COUNT PREFIX [] WHERE {'bio':{'$contains':'z'}}");
    assert_true(load_info(c, "loop_turns") - before >= 8);
    expect(c, "-LIMIT where: 2 conditions on a value of 9437* bytes exceed the limit for work *",
           "KV.COUNT PREFIX [] WHERE {'bio':{'$contains':'z','$startsWith':'y'}}");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.COUNT PREFIX [] WHERE {'bio':{'$contains':'z'}}");
    expect(c, "-EXECABORT * LIMIT where: the filter reads more bytes than a transaction may",
           "EXEC");
    expect(c, "+OK", "KV.INDEX CREATE by_n HASHES large:* ON 1 n");
    expect(c, ":1", "HSET large:3 n 1");
    expect(c, "[0 [['large:3']]]", "KV.FIND by_n 1 WHERE {'bio':{'$startsWith':'y'}} KEYSONLY");
    expect(c, "-LIMIT where: 2 conditions on a value of 9437* bytes exceed the limit for work *",
           "KV.FIND by_n 1 WHERE {'bio':{'$contains':'z','$startsWith':'y'}} KEYSONLY");
}

/* What a transaction does not write of a large hash stays as it is in the indexes. */
static void other_fields_change_nothing_in_indexes(void **state)
{
    empty();
    expect(c, ":3", "HSET user:1 city Paris count 1 bio %s", long_text);
    expect(c, ":2", "HSET user:2 city Rome bio %s", long_text);
    expect(c, "+OK", "KV.INDEX CREATE by_city HASHES user:* ON 1 city");
    expect(c, "+OK", "KV.INDEX CREATE words HASHES user:* TEXT 1 city");
    wait_for_index(c, "words");
    expect(c, ":2", "HINCRBY user:1 count 1");
    expect(c, "[0 [['user:1']]]", "KV.FIND by_city 'Paris' KEYSONLY");
    assert_int_equal(hits("KV.SEARCH words paris"), 1);
    expect(c, "+OK", "RENAME user:2 user:1");
    expect(c, "[0 [['user:1']]]", "KV.FIND by_city KEYSONLY");
    expect(c, "[0 [['user:1']]]", "KV.FIND by_city 'Rome' KEYSONLY");
    assert_int_equal(hits("KV.SEARCH words paris"), 0);
    assert_int_equal(hits("KV.SEARCH words rome"), 1);
    expect(c, ":1", "EXPIRE user:1 1000");
    expect(c, "[:1]", "HPEXPIRE user:1 3600000 FIELDS 1 city");
    expect(c, "[0 [['user:1']]]", "KV.FIND by_city 'Rome' KEYSONLY");
}

/* ---- search ---- */

static void hashes_are_found_by_their_words(void **state)
{
    empty();
    expect(c, ":3", "HSET book:1 title %s body %s price 10", "red roses", "a story of a garden");
    expect(c, ":4", "HSET book:2 title %s body %s price 25 more %s", "blue garden", "roses again",
           long_text);
    expect(c, ":1", "HSET book:3 price 5");
    expect(c, "+OK", "KV.INDEX CREATE books HASHES book:* TEXT 2 title body");
    wait_for_index(c, "books");
    expect(c, "[name books type text prefix [] hashes book:* paths [title body] *]",
           "KV.INDEX INFO books");
    expect(c, "[[['book:2'] {'$collection':{'type':'hash','length':4}} @]]",
           "KV.SEARCH books blue");
    assert_int_equal(hits("KV.SEARCH books roses"), 2);
    assert_int_equal(hits("KV.SEARCH books title:roses"), 1);
    expect(c, "[[['book:1'] * @ * [title <red> roses]]]", "KV.SEARCH books red HIGHLIGHT < >");
    expect(c, "[[['book:2'] * @]]", "KV.SEARCH books roses WHERE {'price':{'$gt':20}}");
    expect(c, "[[['book:1'] * @]]", "KV.SEARCH books roses WHERE {'price':{'$lt':20}}");
    expect(c, ":0", "HSET book:2 price 15 title %s", "green garden");
    expect(c, "[]", "KV.SEARCH books blue");
    expect(c, "[[['book:2'] * @]]", "KV.SEARCH books green WHERE {'price':15}");
    expect(c, "+OK", "RENAME book:2 book:9");
    expect(c, "[[['book:9'] * @]]", "KV.SEARCH books green");
    expect(c, "+OK", "RENAME book:9 other:9");
    expect(c, "[]", "KV.SEARCH books green");
    expect(c, ":1", "COPY other:9 book:9");
    expect(c, "[[['book:9'] * @]]", "KV.SEARCH books green");
    expect(c, ":2", "HDEL book:9 title body");
    expect(c, "[]", "KV.SEARCH books green");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "HSET book:1 title first");
    expect(c, "+QUEUED", "HSET book:1 title second");
    expect(c, "[:0 :0]", "EXEC");
    expect(c, "[]", "KV.SEARCH books first");
    expect(c, "[[['book:1'] * @]]", "KV.SEARCH books second");
    expect(c, "[:1]", "HPEXPIRE book:1 1 FIELDS 1 title");
    wait_gone("book:1", "title");
    long until = testserver_now_ms() + LIMIT_MS;
    while (hits("KV.SEARCH books second") > 0) { /* until it is swept */
        if (testserver_now_ms() > until) fail_msg("a field that has ended is found");
        testserver_pause();
    }
    group_again(true);
    expect(c, "[[['book:1'] * @]]", "KV.SEARCH books garden");
    expect(c, ":1", "DEL book:1");
    expect(c, "[]", "KV.SEARCH books garden");
    expect(c, ":1", "KV.INDEX DROP books");
    expect(c, "+OK", "KV.INDEX CREATE books HASHES book:* TEXT 1 title");
    expect(c, "[]", "KV.SEARCH books red");
}

static void a_flush_empties_indexes_and_keeps_them(void **state)
{
    people();
    expect(c, "+OK", "KV.INDEX CREATE by_city HASHES user:* ON 1 city");
    expect(c, "+OK", "KV.INDEX CREATE words HASHES user:* TEXT 1 city");
    wait_for_index(c, "words");
    assert_int_equal(hits("KV.SEARCH words paris"), 2);
    expect(c, "+OK", "FLUSHDB");
    expect(c, "[0 []]", "KV.FIND by_city KEYSONLY");
    expect(c, ":2", "HSET user:8 city Paris bio %s", long_text);
    wait_for_index(c, "words");
    expect(c, "[0 [['user:8']]]", "KV.FIND by_city KEYSONLY");
    assert_int_equal(hits("KV.SEARCH words paris"), 1);
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "FLUSHDB");
    expect(c, "+QUEUED", "HSET user:8 city Rome");
    expect(c, "+QUEUED", "KV.FIND by_city KEYSONLY");
    expect(c, "[+OK :1 [0 [['user:8']]]]", "EXEC");
    wait_for_index(c, "words");
    assert_int_equal(hits("KV.SEARCH words paris"), 0);
    assert_int_equal(hits("KV.SEARCH words rome"), 1);
}

/* ---- filling ---- */

static void an_index_is_filled_while_hashes_are_written(void **state)
{
    empty();
    for (int i = 0; i < 4000; i++) {
        if (i % 3 == 0) {
            say(c, "HSET h:%d n %d bio %s", i, i % 10, long_text);
        } else {
            say(c, "HSET h:%d n %d", i, i % 10);
        }
        if (i % 500 == 499) {
            for (int k = i - 499; k <= i; k++) expect_next(c, k % 3 == 0 ? ":2" : ":1");
        }
    }
    expect(c, "+OK", "KV.INDEX CREATE by_n HASHES h:* ON 1 n");
    for (int i = 0; i < 4000; i += 40) expect(c, ":0", "HSET h:%d n 70", i);
    wait_for_index(c, "by_n");
    assert_int_equal(found("KV.FIND by_n 0 KEYSONLY LIMIT 10000"), 300);
    assert_int_equal(found("KV.FIND by_n 70 KEYSONLY LIMIT 10000"), 100);
    expect(c, "+OK", "KV.INDEX CREATE words HASHES h:* TEXT 1 n");
    for (int i = 0; i < 4000; i += 40) expect(c, ":0", "HSET h:%d n 71", i);
    wait_for_index(c, "words");
    assert_int_equal(hits("KV.SEARCH words 71 LIMIT 1000"), 100);
    assert_int_equal(hits("KV.SEARCH words 1 LIMIT 1000"), 400);
    assert_int_equal(hits("KV.SEARCH words 0 LIMIT 1000"), 300);
}

/* ---- rights ---- */

static void a_user_may_use_an_index_of_what_it_may_read(void **state)
{
    people();
    expect(c, "+OK", "ACL SETUSER ann on >secret ~user:* +@all");
    expect(c, "+OK", "KV.INDEX CREATE users HASHES user:* ON 1 city");
    expect(c, "+OK", "KV.INDEX CREATE everything HASHES * ON 1 city");
    expect(c, "+OK", "AUTH ann secret");
    expect(c, "[0 [['user:1'] ['user:3']]]", "KV.FIND users 'Paris' KEYSONLY");
    expect(c, "[users]", "KV.INDEX LIST");
    expect(c, "-NOPERM *", "KV.FIND everything 'Paris' KEYSONLY");
    expect(c, "-NOPERM *", "KV.INDEX CREATE mine HASHES us* ON 1 city");
    expect(c, "+OK", "KV.INDEX CREATE mine HASHES user:1* ON 1 city");
    group_connect();
    expect(c, ":1", "ACL DELUSER ann");
}

/* ---- at random ---- */

#define KEYS 24
#define CHECK_EVERY 40

static const char *const values[] = {"1", "2", "1.0", "1.5", "x", "y", "Köln", "", "-3", "1e0"};
static const double numbers[] = {1, 2, 1.5, -3};
#define VALUES (sizeof values / sizeof *values)

static const char *key_of(uint64_t i)
{
    static char texts[8][20];
    static unsigned next;
    char *text = texts[next++ % 8];
    snprintf(text, sizeof texts[0], "%s:%02u", i % 4 == 3 ? "o" : "h", (unsigned)i);
    return text;
}

static void change(void)
{
    const char *key = key_of(load_below(KEYS));
    const char *other = key_of(load_below(KEYS));
    const char *value = values[load_below(VALUES)];
    const char *field = load_below(2) == 0 ? "city" : "age";
    redisReply *r = NULL;
    switch (load_below(18)) {
    case 0: r = redisCommand(c, "HDEL %s %s", key, field); break;
    case 1: r = redisCommand(c, "DEL %s", key); break;
    case 2: r = redisCommand(c, "RENAME %s %s", key, other); break;
    case 3: r = redisCommand(c, "COPY %s %s REPLACE", key, other); break;
    case 4: r = redisCommand(c, "HSET %s bio %s", key, long_text); break;
    case 5: r = redisCommand(c, "HPEXPIRE %s 1 FIELDS 1 %s", key, field); break;
    case 6: r = redisCommand(c, "HEXPIRE %s 1000 FIELDS 1 %s", key, field); break;
    case 7: r = redisCommand(c, "HPERSIST %s FIELDS 1 %s", key, field); break;
    case 8: r = redisCommand(c, "EXPIRE %s 1000", key); break;
    case 9: r = redisCommand(c, "PEXPIRE %s 1", key); break;
    case 10: r = redisCommand(c, "SET %s %s", key, value); break;
    case 11: r = redisCommand(c, "HINCRBY %s age 1", key); break;
    case 12: r = redisCommand(c, "HSETNX %s %s %s", key, field, value); break;
    default: r = redisCommand(c, "HSET %s %s %s", key, field, value); break;
    }
    assert_non_null(r);
    freeReplyObject(r);
}

/* Several changes as one, which may be taken back. */
static void change_together(void)
{
    bool is_discarded = load_below(4) == 0;
    expect(c, "+OK", "MULTI");
    for (uint64_t n = 1 + load_below(6); n > 0; n--) change();
    if (is_discarded) redisAppendCommand(c, "INCR o:99");
    if (is_discarded) expect_next(c, "+QUEUED");
    freeReplyObject(ask_reply(c, is_discarded ? "DISCARD" : "EXEC"));
}

struct hash {
    bool is_hash, has[2];
    char fields[2][700];
};

static struct hash hashes[KEYS];

static void learn(void)
{
    for (uint64_t i = 0; i < KEYS; i++) {
        struct hash *h = &hashes[i];
        redisReply *r = ask_reply(c, "HMGET %s city age", key_of(i));
        *h = (struct hash){.is_hash = r->type == REDIS_REPLY_ARRAY};
        for (int k = 0; h->is_hash && k < 2; k++) {
            h->has[k] = r->element[k]->type == REDIS_REPLY_STRING;
            if (h->has[k]) snprintf(h->fields[k], sizeof h->fields[k], "%s", r->element[k]->str);
        }
        freeReplyObject(r);
    }
}

static bool is_number(const char *text, double n)
{
    char *end = NULL;
    return text[0] != '\0' && strtod(text, &end) == n && *end == '\0';
}

/* The keys of which field k is the text (or number n when text is NULL). */
static const char *wanted_keys(int k, const char *text, double n, bool with_others)
{
    static char out[KEYS * 12 + 20];
    size_t len = (size_t)snprintf(out, sizeof out, "[0 [");
    for (int pass = 0; pass < 2; pass++) { /* h: before o: */
        for (uint64_t i = 0; i < KEYS; i++) {
            const struct hash *h = &hashes[i];
            bool is_other = i % 4 == 3;
            if (is_other != (pass == 1) || (is_other && !with_others) || !h->has[k]) continue;
            if (text != NULL ? strcmp(h->fields[k], text) != 0 : !is_number(h->fields[k], n))
                continue;
            len += (size_t)snprintf(out + len, sizeof out - len, "%s['%s']",
                                    out[len - 1] == '[' ? "" : " ", key_of(i));
        }
    }
    snprintf(out + len, sizeof out - len, "]]");
    return out;
}

/* Hits are those of which a field is the word, in whatever order. */
static void compare_search(const char *word)
{
    size_t wanted = 0;
    redisReply *r = ask_reply(c, "KV.SEARCH words %s LIMIT 100", word);
    if (r->type != REDIS_REPLY_ARRAY) fail_msg("KV.SEARCH words %s: %s", word, r->str);
    for (uint64_t i = 0; i < KEYS; i++) {
        const struct hash *h = &hashes[i];
        char shown[40];
        bool is_hit = false;
        bool is_wanted = i % 4 != 3 && ((h->has[0] && strcmp(h->fields[0], word) == 0) ||
                                        (h->has[1] && strcmp(h->fields[1], word) == 0));
        snprintf(shown, sizeof shown, "[\"%s\"]", key_of(i));
        for (size_t k = 0; k < r->elements; k++) {
            is_hit = is_hit || strcmp(r->element[k]->element[0]->str, shown) == 0;
        }
        if (is_hit != is_wanted) fail_msg("%s: %s is %sfound", word, shown, is_hit ? "" : "not ");
        wanted += is_wanted;
    }
    assert_int_equal(r->elements, wanted);
    freeReplyObject(r);
}

static void compare(void)
{
    size_t all = 0;
    learn();
    for (size_t v = 0; v < VALUES; v++) {
        expect(c, wanted_keys(0, values[v], 0, false), "KV.FIND by_city '%s' KEYSONLY", values[v]);
        expect(c, wanted_keys(1, values[v], 0, false), "KV.FIND by_age '%s' KEYSONLY", values[v]);
        expect(c, wanted_keys(0, values[v], 0, true),
               "KV.LIST PREFIX [] WHERE {'city':'%s'} KEYSONLY", values[v]);
    }
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
        expect(c, wanted_keys(0, NULL, numbers[n], false), "KV.FIND by_city %g KEYSONLY",
               numbers[n]);
        expect(c, wanted_keys(0, NULL, numbers[n], true),
               "KV.LIST PREFIX [] WHERE {'city':{'$eq':%g}} KEYSONLY", numbers[n]);
    }
    compare_search("x");
    compare_search("y");
    for (uint64_t i = 0; i < KEYS; i++) all += i % 4 != 3 && hashes[i].has[0] && hashes[i].has[1];
    assert_int_equal(found("KV.FIND both KEYSONLY"), all);
    assert_int_equal(found("KV.FIND both KEYSONLY REVERSE"), all);
}

/* `tupledctl check` of what is there looks at every row of the indexes. */
static void check_files(void)
{
    char line[1000];
    char tool[500];
    snprintf(tool, sizeof tool, "%s", getenv("TUPLED_BIN"));
    *strrchr(tool, '/') = '\0';
    snprintf(line, sizeof line, "'%s/tupledctl' check '%s' >&2", tool, testserver_dir(server));
    int status = system(line);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("check found damage");
}

static void what_is_found_is_what_hashes_hold(void **state)
{
    int rounds = load_is_long() ? 400 : 25;
    empty();
    load_seed();
    expect(c, "+OK", "KV.INDEX CREATE by_city HASHES h:* ON 1 city");
    expect(c, "+OK", "KV.INDEX CREATE both HASHES h:* ON 2 city age");
    expect(c, "+OK", "KV.INDEX CREATE words HASHES h:* TEXT 2 city age");
    wait_for_index(c, "words");
    for (int i = 0; i < rounds; i++) {
        if (i % 5 == 0) { /* anew, over what is there */
            if (i > 0) expect(c, ":1", "KV.INDEX DROP by_age");
            expect(c, "+OK", "KV.INDEX CREATE by_age HASHES h:* ON 1 age");
            wait_for_index(c, "by_age");
        }
        for (int n = 0; n < CHECK_EVERY; n++) {
            if (load_below(5) == 0) {
                change_together();
            } else {
                change();
            }
        }
        for (int n = 0; n < 3; n++) testserver_pause(); /* what was given a millisecond has ended */
        compare();
        if (i % 8 == 7) {
            if (i % 16 == 7) {
                testserver_kill(server);
                check_files();
                testserver_again(server);
                group_connect();
            } else {
                group_again(false);
            }
            compare();
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(hashes_are_found_by_their_fields, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(texts_of_numbers_are_numbers_too, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(several_fields_are_searched_from_the_left, group_enter,
                                        group_leave),
        cmocka_unit_test_setup_teardown(a_pattern_says_which_keys, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(a_prefix_may_narrow_it, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(what_is_not_utf8_is_not_seen, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(wrong_words_are_named, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(a_value_of_a_unique_field_has_one_owner, group_enter,
                                        group_leave),
        cmocka_unit_test_setup_teardown(fields_that_end_are_not_found, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(filters_see_hashes, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(filters_see_what_a_transaction_wrote, group_enter,
                                        group_leave),
        cmocka_unit_test_setup_teardown(filters_pass_over_many_large_hashes, group_enter,
                                        group_leave),
        cmocka_unit_test_setup_teardown(large_fields_are_work, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(other_fields_change_nothing_in_indexes, group_enter,
                                        group_leave),
        cmocka_unit_test_setup_teardown(hashes_are_found_by_their_words, group_enter, group_leave),
        cmocka_unit_test_setup_teardown(a_flush_empties_indexes_and_keeps_them, group_enter,
                                        group_leave),
        cmocka_unit_test_setup_teardown(an_index_is_filled_while_hashes_are_written, group_enter,
                                        group_leave),
        cmocka_unit_test_setup_teardown(a_user_may_use_an_index_of_what_it_may_read, group_enter,
                                        group_leave),
        cmocka_unit_test_setup_teardown(what_is_found_is_what_hashes_hold, group_enter,
                                        group_leave),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
