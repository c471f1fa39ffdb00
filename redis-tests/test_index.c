/* Secondary indexes as their users meet them: KV.INDEX and KV.FIND, over values of every type, with
 * UNIQUE, arrays, ranges, cursors, in transactions, while they are being filled, after a restart;
 * and the recipes of docs/indexes.md for indexes kept by hand.
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

#define LIMIT_MS 60000

static redisContext *c;

static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start(NULL);
    group_connect();
    return 0;
}

/* Entry number i below ["many"], with an array of 1000 elements. */
static const char *many_words(int i)
{
    static char words[8000];
    size_t len = (size_t)snprintf(words, sizeof words, "SET ['many',%d] {'a':[0", i);
    for (int k = 1; k < 1000; k++) {
        len += (size_t)snprintf(words + len, sizeof words - len, ",%d", k);
    }
    snprintf(words + len, sizeof words - len, "]} ");
    return words;
}

/* KV.ATOMIC of `count` of them, from number `first` on. */
static const char *many_at_once(int first, int count, const char *options)
{
    static char text[1 << 20];
    size_t len = (size_t)snprintf(text, sizeof text, "KV.ATOMIC ");
    for (int i = first; i < first + count; i++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", many_words(i), options);
    }
    text[len - 1] = '\0';
    return text;
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
    expect(c, "@", "KV.SET ['u',1] {'name':'Ada','age':36,'mail':'ada@x','tags':['a','b']}");
    expect(c, "@", "KV.SET ['u',2] {'name':'Bob','age':25,'mail':'bob@x','tags':['b','c','b']}");
    expect(c, "@", "KV.SET ['u',3] {'name':'Cy','age':50.5,'mail':null,'tags':[]}");
    expect(c, "@", "KV.SET ['u',4] {'name':'Di','age':36}");
    expect(c, "@", "KV.SET ['u2',1] {'name':'Ada','age':1,'mail':'other','tags':['z']}");
}

/* ---- finding ---- */

static void entries_are_found_by_value_and_by_range(void **state)
{
    people();
    expect(c, "+OK", "KV.INDEX CREATE by_age PREFIX ['u'] ON 1 age");
    expect(c, "[0 [[['u',1] * @] [['u',4] {'name':'Di','age':36} @]]]", "KV.FIND by_age 36");
    expect(c, "[0 [['u',2] ['u',1] ['u',4] ['u',3]]]", "KV.FIND by_age KEYSONLY");
    expect(c, "[0 [['u',3] ['u',4] ['u',1] ['u',2]]]", "KV.FIND by_age KEYSONLY REVERSE");
    expect(c, "[0 [['u',1] ['u',4]]]", "KV.FIND by_age FROM 36 TO 50.5 KEYSONLY");
    expect(c, "[0 [['u',2]]]", "KV.FIND by_age TO 36 KEYSONLY");
    expect(c, "[0 []]", "KV.FIND by_age FROM 51 KEYSONLY");
    expect(c, "[0 []]", "KV.FIND by_age FROM 40 TO 30 KEYSONLY");
    expect(c, "[0 [['u',4]]]", "KV.FIND by_age 36 WHERE {'name':'Di'} KEYSONLY");
    expect(c, "[0 []]", "KV.FIND by_age '36'"); /* types never convert */
    expect(c, "[0 [['u',1] ['u',4]]]", "KV.FIND by_age {'$bigint':'36'} KEYSONLY");
}

static void several_paths_are_searched_from_the_left(void **state)
{
    people();
    expect(c, "+OK", "KV.INDEX CREATE an PREFIX ['u'] ON 2 age name");
    expect(c, "[0 [['u',1] ['u',4]]]", "KV.FIND an 36 KEYSONLY");
    expect(c, "[0 [['u',4]]]", "KV.FIND an 36 'Di' KEYSONLY");
    expect(c, "[0 [['u',4]]]", "KV.FIND an 36 FROM 'B' KEYSONLY");
    expect(c, "[0 [['u',1]]]", "KV.FIND an 36 TO 'B' KEYSONLY");
    expect(c, "-ERR 3 values, but the index has 2 paths", "KV.FIND an 1 2 3");
    expect(c, "-ERR every path of the index has a value, so that FROM and TO have none",
           "KV.FIND an 36 'Di' FROM 1");
}

static void each_element_of_an_array_is_indexed(void **state)
{
    people();
    expect(c, "+OK", "KV.INDEX CREATE by_tag PREFIX ['u'] ON 1 tags");
    expect(c, "[0 [['u',1] ['u',2]]]", "KV.FIND by_tag 'b' KEYSONLY");
    expect(c, "[0 [['u',2]]]", "KV.FIND by_tag 'c' KEYSONLY");
    /* An entry is told once, at its first value in the range. */
    expect(c, "[0 [['u',1] ['u',2]]]", "KV.FIND by_tag KEYSONLY");
    expect(c, "[0 [['u',2] ['u',1]]]", "KV.FIND by_tag KEYSONLY REVERSE");
    expect(c, "[0 [['u',1] ['u',2]]]", "KV.FIND by_tag FROM 'b' KEYSONLY");
    expect(c, "@", "KV.SET ['u',9] {'tags':{'$set':['q','a']}}"); /* a Set too */
    expect(c, "[0 [['u',9]]]", "KV.FIND by_tag 'q' KEYSONLY");
    expect(c, "@", "KV.SET ['u',9] {'tags':'q'}");
    expect(c, "[0 [['u',9]]]", "KV.FIND by_tag 'q' KEYSONLY");
    expect(c, "[0 [['u',1]]]", "KV.FIND by_tag 'a' KEYSONLY");
}

static void pages_go_on_behind_their_cursor(void **state)
{
    char cursor[600] = "0";
    empty();
    for (int i = 0; i < 100; i++) {
        say(c, "KV.SET ['p',%d] {'n':%d,'t':[%d,%d]}", i, i / 10, i, i + 1);
    }
    expect_many(c, 100, "@");
    expect(c, "+OK", "KV.INDEX CREATE n PREFIX ['p'] ON 1 n");
    expect(c, "+OK", "KV.INDEX CREATE t PREFIX ['p'] ON 1 t");
    for (int turn = 0; turn < 4; turn++) { /* forward and back, single and several rows */
        const char *name = turn % 2 == 0 ? "n" : "t";
        const char *reverse = turn < 2 ? "KEYSONLY" : "KEYSONLY REVERSE";
        int next = turn < 2 ? 0 : 99;
        char command[900];
        snprintf(cursor, sizeof cursor, "0");
        do {
            snprintf(command, sizeof command, "KV.FIND %s LIMIT 7 CURSOR %s %s", name, cursor,
                     reverse);
            redisReply *r = ask_reply(c, command);
            assert_int_equal(r->type, REDIS_REPLY_ARRAY);
            snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
            assert_true(r->element[1]->elements <= 7);
            for (size_t i = 0; i < r->element[1]->elements; i++) {
                char wanted[40];
                snprintf(wanted, sizeof wanted, "[\"p\",%d]", next);
                assert_string_equal(r->element[1]->element[i]->str, wanted);
                next += turn < 2 ? 1 : -1;
            }
            freeReplyObject(r);
        } while (strcmp(cursor, "0") != 0);
        assert_int_equal(next, turn < 2 ? 100 : -1);
    }
    redisReply *r = ask_reply(c, "KV.FIND n LIMIT 7");
    snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
    freeReplyObject(r);
    expect(c, "-ERR invalid cursor: it belongs to another range or direction",
           "KV.FIND n LIMIT 7 REVERSE CURSOR %s", cursor);
    expect(c, "-ERR invalid cursor: it belongs to another range or direction",
           "KV.FIND t LIMIT 7 CURSOR %s", cursor);
    expect(c, "-ERR invalid cursor", "KV.FIND n CURSOR nonsense!");
}

static void values_of_every_type_keep_their_order(void **state)
{
    static const char *const values[] = {"{'$bytes':'AA=='}",
                                         "'A'",
                                         "'a'",
                                         "{'$number':'-Infinity'}",
                                         "-1.5",
                                         "0",
                                         "0.5",
                                         "{'$bigint':'123456789012345678901234567890'}",
                                         "{'$date':'2024-01-01T00:00:00.000Z'}",
                                         "false",
                                         "true"};
    empty();
    expect(c, "+OK", "KV.INDEX CREATE v PREFIX ['v'] ON 1 $");
    for (size_t i = 0; i < 11; i++) {
        char command[200];
        snprintf(command, sizeof command, "KV.SET ['v',%zu] %s", i, values[i]);
        expect(c, "@", command);
    }
    expect(c, "@", "KV.SET ['v','null'] null");
    expect(c, "@", "KV.SET ['v','nan'] {'$number':'NaN'}");
    expect(c, "@", "KV.SET ['v','object'] {'a':1}");
    expect(c,
           "[0 [['v',0] ['v',1] ['v',2] ['v',3] ['v',4] ['v',5] ['v',6] ['v',7] ['v',8] ['v',9] "
           "['v',10]]]",
           "KV.FIND v KEYSONLY");
    for (size_t i = 0; i < 11; i++) {
        char command[200];
        char wanted[40];
        snprintf(command, sizeof command, "KV.FIND v %s KEYSONLY", values[i]);
        snprintf(wanted, sizeof wanted, "[0 [['v',%zu]]]", i);
        expect(c, wanted, command);
    }
    /* A bound of one type finds values of that type alone. */
    expect(c, "[0 [['v',5] ['v',6] ['v',7]]]", "KV.FIND v FROM 0 KEYSONLY");
    expect(c, "[0 [['v',1]]]", "KV.FIND v TO 'a' KEYSONLY");
    expect(c, "-ERR FROM and TO are of different types", "KV.FIND v FROM 1 TO 'a'");
    expect(c, "-ERR value 1 is of type null, which index 'v' does not support*", "KV.FIND v null");
    expect(c, "-ERR value 1 is of type object, which*", "KV.FIND v {}");
}

/* ---- keeping ---- */

static void an_index_follows_every_kind_of_write(void **state)
{
    people();
    expect(c, "+OK", "KV.INDEX CREATE n PREFIX ['k'] ON 1 n");
    expect(c, "+OK", "KV.INDEX CREATE whole PREFIX ['k'] ON 1 $");
    expect(c, "@", "KV.SET ['k',1] {'n':1}");
    expect(c, "@", "KV.SET ['k',1] {'n':2}");
    expect(c, "[0 []]", "KV.FIND n 1");
    expect(c, "[0 [['k',1]]]", "KV.FIND n 2 KEYSONLY");
    expect(c, ":1", "KV.DEL ['k',1]");
    expect(c, "[0 []]", "KV.FIND n");
    expect(c, "@",
           "KV.ATOMIC SET ['k',2] {'n':5} SUM ['k','sum'] 7 SET ['k',3] {'n':5} DEL ['k',2]");
    expect(c, "[0 [['k',3]]]", "KV.FIND n 5 KEYSONLY");
    expect(c, "[0 [['k','sum']]]", "KV.FIND whole 7 KEYSONLY");
    expect(c, "[8 @]", "KV.SUM ['k','sum'] 1");
    expect(c, "[0 [['k','sum']]]", "KV.FIND whole 8 KEYSONLY");
    expect(c, "[0 []]", "KV.FIND whole 7");
    expect(c, ":1", "KV.DELRANGE PREFIX ['k'] WHERE {'n':5}");
    expect(c, "[0 []]", "KV.FIND n");
    expect(c, "@", "KV.SET ['k',1] {'n':1} IDEM a");
    expect(c, "@", "KV.SET ['k',1] {'n':1} IDEM a");
    expect(c, "[0 [['k',1]]]", "KV.FIND n KEYSONLY");
    expect(c, "+OK", "FLUSHDB");
    expect(c, "[0 []]", "KV.FIND n");
    expect(c, "[n whole]", "KV.INDEX LIST"); /* definitions stay */
    expect(c, "@", "KV.SET ['k',1] {'n':1}");
    expect(c, "[0 [['k',1]]]", "KV.FIND n KEYSONLY");
}

static void expired_entries_are_not_found_at_once(void **state)
{
    empty();
    expect(c, "+OK", "KV.INDEX CREATE n PREFIX ['k'] ON 1 n UNIQUE");
    expect(c, "@", "KV.SET ['k',1] {'n':1} EX 1000");
    expect(c, "@", "KV.SET ['k',2] {'n':2}");
    expect(c, "-DUPLICATE n ['k',1]", "KV.SET ['k',3] {'n':1}");
    expect(c, ":1", "KV.PEXPIRE ['k',1] 30");
    expect(c, ":1", "KV.PEXPIRE ['k',2] 30");
    while (ask_integer(c, "KV.PTTL ['k',2]") != -2) testserver_pause();
    expect(c, "[0 []]", "KV.FIND n");
    /* An expired owner does not count, swept or not; and its sweeping takes nothing of the new one.
     */
    expect(c, "@", "KV.SET ['k',3] {'n':1}");
    long long expired = load_info(c, "expired_keys");
    expect(c, "@", "KV.SET ['k',4] {'n':4} PX 1");
    while (load_info(c, "expired_keys") <= expired) testserver_pause();
    expect(c, "[0 [['k',3]]]", "KV.FIND n KEYSONLY");
    expect(c, "-DUPLICATE n ['k',3]", "KV.SET ['k',5] {'n':1}");
}

static void a_unique_index_refuses_a_second_owner(void **state)
{
    people();
    expect(c, "+OK", "KV.INDEX CREATE mail PREFIX ['u'] ON 1 mail UNIQUE");
    expect(c, "-DUPLICATE mail ['u',1]", "KV.SET ['u',7] {'mail':'ada@x'}");
    expect(c, "(nil)", "KV.GET ['u',7]");
    expect(c, "@", "KV.SET ['u',1] {'mail':'ada@x','v':2}"); /* its own */
    expect(c, "@", "KV.SET ['u',3] {'mail':null}");          /* null is no value */
    expect(c, "@", "KV.SET ['x',1] {'mail':'ada@x'}");       /* not below the prefix */
    /* All of a transaction or nothing. */
    expect(c, "-DUPLICATE mail ['u',2]",
           "KV.ATOMIC SET ['u',8] {'mail':'new'} SET ['u',9] {'mail':'bob@x'}");
    expect(c, "(nil)", "KV.GET ['u',8]");
    /* In one command two may exchange what they have; and one may leave what another takes. */
    expect(c, "@", "KV.ATOMIC SET ['u',1] {'mail':'bob@x'} SET ['u',2] {'mail':'ada@x'}");
    expect(c, "[0 [['u',2]]]", "KV.FIND mail 'ada@x' KEYSONLY");
    expect(c, "@", "KV.ATOMIC SET ['u',5] {'mail':'ada@x'} DEL ['u',2]");
    expect(c, "-DUPLICATE mail ['u',6]",
           "KV.ATOMIC SET ['u',6] {'mail':'z'} SET ['u',7] {'mail':'z'}");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.SET ['u',6] {'mail':'q'}");
    expect(c, "+QUEUED", "KV.SET ['u',7] {'mail':'q'}");
    expect(c, "-EXECABORT command 2 kv.set: DUPLICATE mail ['u',6]", "EXEC");
    expect(c, "(nil)", "KV.GET ['u',6]");
    expect(c, "[0 [['u',5]]]", "KV.FIND mail 'ada@x' KEYSONLY");
}

static void a_transaction_finds_what_it_has_written(void **state)
{
    people();
    expect(c, "+OK", "KV.INDEX CREATE age PREFIX ['u'] ON 1 age");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.SET ['u',5] {'age':25}");
    expect(c, "+QUEUED", "KV.DEL ['u',2]");
    expect(c, "+QUEUED", "KV.FIND age 25 KEYSONLY");
    expect(c, "+QUEUED", "KV.FIND age 25");
    expect(c, "[@ :1 [0 [['u',5]]] [0 [[['u',5] {'age':25} @]]]]", "EXEC");
    expect(c, "+OK", "MULTI");
    expect(c, "-ERR Command not allowed inside a transaction", "KV.INDEX DROP age");
    expect(c, "-EXECABORT *", "EXEC");
}

static void what_cannot_be_indexed_is_refused(void **state)
{
    char big[8000] = "[0";
    for (int i = 1; i <= 1000; i++) snprintf(big + strlen(big), 16, ",%d", i);
    empty();
    expect(c, "+OK", "KV.INDEX CREATE ab PREFIX ['k'] ON 2 a b");
    expect(c, "-WRONGTYPE index 'ab': 'a' and 'b' are both arrays, but only one path may be",
           "KV.SET ['k',1] {'a':[1],'b':[2]}");
    expect(c, "@", "KV.SET ['k',1] {'a':[1],'b':2}");
    char command[8200];
    snprintf(command, sizeof command, "KV.SET ['k',2] {'a':%s],'b':2}", big);
    expect(c, "-WRONGTYPE index 'ab': 'a' has 1001 elements, more than 1000", command);
    expect(c, "[0 [['k',1]]]", "KV.FIND ab KEYSONLY");
}

static void definitions_are_checked(void **state)
{
    empty();
    expect(c, "+OK", "KV.INDEX CREATE i PREFIX ['k'] ON 1 a");
    expect(c, "-ERR index 'i' already exists", "KV.INDEX CREATE i PREFIX ['k'] ON 1 a");
    expect(c, "-ERR invalid path ''*", "KV.INDEX CREATE j PREFIX ['k'] ON 1 %s", "");
    expect(c, "-ERR duplicate path 'a'", "KV.INDEX CREATE j PREFIX ['k'] ON 2 a a");
    expect(c, "-ERR ON must be between 1 and 8, not 9*", "KV.INDEX CREATE j PREFIX ['k'] ON 9 a");
    expect(c, "-ERR syntax error: ON needs an argument*", "KV.INDEX CREATE j PREFIX ['k'] ON 2 a");
    expect(c, "-ERR syntax error: KV.INDEX CREATE needs PREFIX*",
           "KV.INDEX CREATE j ON 2 a b UNIQUE");
    expect(c, "-ERR syntax error: an index needs either ON (values) or TEXT",
           "KV.INDEX CREATE j PREFIX ['k'] ON 1 a TEXT 1 b");
    expect(c, "-ERR syntax error: UNIQUE needs ON, not TEXT",
           "KV.INDEX CREATE j PREFIX ['k'] TEXT 1 a UNIQUE");
    expect(c, "-ERR syntax error: TOKENIZE needs TEXT, not ON",
           "KV.INDEX CREATE j PREFIX ['k'] ON 1 a TOKENIZE porter");
    expect(c, "-ERR TOKENIZE must be unicode61, porter, ascii or trigram, not 'x'",
           "KV.INDEX CREATE j PREFIX ['k'] TEXT 1 a TOKENIZE x");
    expect(c, "-ERR invalid index name*", "KV.INDEX CREATE %s PREFIX ['k'] ON 1 a", "a b");
    expect(c, "-ERR no such index 'nope'", "KV.FIND nope 1");
    expect(c, "-ERR no such index 'nope'", "KV.INDEX INFO nope");
    expect(c, "-ERR index 'i' is for values: use KV.FIND", "KV.SEARCH i word");
    expect(c, ":0", "KV.INDEX DROP nope");
    expect(
        c,
        "[name i type value prefix ['k'] hashes (nil) paths [a] unique :0 state ready percent :100 error "
        "(nil)]",
        "KV.INDEX INFO i");
    for (int i = 1; i < 64; i++) expect(c, "+OK", "KV.INDEX CREATE x%d PREFIX ['k'] ON 1 a", i);
    expect(c, "-LIMIT a database may have at most 64 indexes (max-indexes)",
           "KV.INDEX CREATE y PREFIX ['k'] ON 1 a");
    expect(c, "+OK", "CONFIG SET max-indexes 66");
    expect(c, "+OK", "KV.INDEX CREATE y PREFIX ['k'] ON 1 a");
    expect(c, "+OK", "KV.INDEX CREATE z PREFIX ['other'] ON 1 a");
    expect(c, "+OK", "CONFIG SET max-indexes 3"); /* those that are there stay */
    expect(c, "-LIMIT a database may have at most 3 indexes (max-indexes)",
           "KV.INDEX CREATE zz PREFIX ['k'] ON 1 a");
    expect(c, "@", "KV.SET ['k',1] {'a':1}");
    expect(c, "[0 [[['k',1] {'a':1} @]]]", "KV.FIND y 1");
    expect(c, "[0 [[['k',1] {'a':1} @]]]", "KV.LIST PREFIX ['k'] WHERE {'a':1}");
    redisReply *uses = ask_reply(c, "KV.EXPLAIN PREFIX ['k'] WHERE {'a':1}");
    assert_int_equal(uses->type, REDIS_REPLY_ARRAY);
    freeReplyObject(uses);
    expect(c, "+OK", "CONFIG SET max-indexes 64");
    empty();
}

/* ---- filling ---- */

static void write_many(const char *prefix, int count, int modulus)
{
    for (int i = 0; i < count; i += 1000) {
        for (int k = i; k < i + 1000; k++) {
            say(c, "KV.SET ['%s',%d] {'n':%d,'i':%d}", prefix, k, k % modulus, k);
        }
        expect_many(c, 1000, "@");
    }
}

static void what_was_there_before_is_filled_in_behind_writes(void **state)
{
    empty();
    write_many("m", 20000, 100);
    say(c, "KV.INDEX CREATE n PREFIX ['m'] ON 1 n"); /* at once: it does not take long */
    say(c, "KV.FIND n 1");
    say(c, "INFO indexes");
    expect_next(c, "+OK");
    expect_next(c, "-INDEXING *");
    expect_next(c, "*index_value:1\r\nindex_text:0\r\nindex_filling:1\r\n*");
    /* Writes go on, and count, wherever the filling is. */
    expect(c, "@", "KV.SET ['m',19999] {'n':100}");
    expect(c, "@", "KV.SET ['m',0] {'n':100}");
    expect(c, ":1", "KV.DEL ['m',100]");
    expect(c, "@", "KV.SET ['m',20000] {'n':0}");
    wait_for_index(c, "n");
    expect(c, "[0 [['m',0] ['m',19999]]]", "KV.FIND n 100 KEYSONLY");
    redisReply *r = ask_reply(c, "KV.FIND n 0 KEYSONLY LIMIT 1000");
    assert_int_equal(r->element[1]->elements, 199);
    freeReplyObject(r);
    expect(c, ":1", "KV.INDEX DROP n");
    expect(c, "-ERR no such index 'n'", "KV.FIND n");
    /* The same name again, at once: nothing of the old one is seen. */
    expect(c, "+OK", "KV.INDEX CREATE n PREFIX ['m'] ON 1 i");
    wait_for_index(c, "n");
    expect(c, "[0 []]", "KV.FIND n 100 KEYSONLY"); /* deleted above */
    expect(c, "[0 [['m',101]]]", "KV.FIND n 101 KEYSONLY");
}

static void a_duplicate_found_on_the_way_makes_it_failed(void **state)
{
    empty();
    write_many("m", 20000, 20000);
    expect(c, "@", "KV.SET ['m',19999] {'n':5}");
    /* Both at once: it is enforced from the beginning, until it fails. */
    say(c, "KV.INDEX CREATE n PREFIX ['m'] ON 1 n UNIQUE");
    say(c, "KV.SET ['m','x'] {'n':7}");
    expect_next(c, "+OK");
    expect_next(c, "-DUPLICATE n ['m',7]");
    long until = testserver_now_ms() + LIMIT_MS;
    while (strstr(ask(c, "KV.INDEX INFO n"), "state failed") == NULL) {
        if (testserver_now_ms() > until) fail_msg("it does not fail");
        testserver_pause();
    }
    expect(c, "-ERR index 'n' failed: the same value is in ['m',5] and ['m',19999]", "KV.FIND n 7");
    expect(c, "*index_filling:0\r\nindex_failed:1\r\n", "INFO indexes");
    expect(c, "@", "KV.SET ['m','x'] {'n':7}"); /* a failed index is not kept */
    expect(c, ":1", "KV.INDEX DROP n");
    /* Little is looked at at once: then it is the creation that is refused. */
    empty();
    expect(c, "@", "KV.SET ['m',1] {'n':5}");
    expect(c, "@", "KV.SET ['m',2] {'n':5}");
    expect(c, "-DUPLICATE n ['m',1] ['m',2]", "KV.INDEX CREATE n PREFIX ['m'] ON 1 n UNIQUE");
    expect(c, "[]", "KV.INDEX LIST");
}

static void indexes_are_there_after_a_restart(void **state)
{
    people();
    write_many("m", 20000, 100);
    expect(c, "+OK", "KV.INDEX CREATE mail PREFIX ['u'] ON 1 mail UNIQUE");
    expect(c, "+OK", "KV.INDEX CREATE n PREFIX ['m'] ON 1 n");
    group_again(true); /* while it is being filled */
    expect(c, "-DUPLICATE mail ['u',1]", "KV.SET ['u',9] {'mail':'ada@x'}");
    wait_for_index(c, "n");
    redisReply *r = ask_reply(c, "KV.FIND n 7 KEYSONLY LIMIT 1000");
    assert_int_equal(r->element[1]->elements, 200);
    freeReplyObject(r);
    group_again(false);
    expect(c, "-DUPLICATE mail ['u',1]", "KV.SET ['u',9] {'mail':'ada@x'}");
    r = ask_reply(c, "KV.FIND n 7 LIMIT 1000");
    assert_int_equal(r->element[1]->elements, 200);
    assert_non_null(strstr(r->element[1]->element[199]->element[1]->str, "\"n\":7"));
    freeReplyObject(r);
}

static void indexes_belong_to_their_database(void **state)
{
    people();
    expect(c, "+OK", "KV.INDEX CREATE mail PREFIX ['u'] ON 1 mail UNIQUE");
    expect(c, "+OK", "SELECT 1");
    expect(c, "[]", "KV.INDEX LIST");
    expect(c, "@", "KV.SET ['u',1] {'mail':'ada@x'}");
    expect(c, "@", "KV.SET ['u',2] {'mail':'ada@x'}");
    expect(c, "+OK", "FLUSHDB");
    expect(c, "+OK", "SELECT 0");
    expect(c, "[0 [['u',1]]]", "KV.FIND mail 'ada@x' KEYSONLY");
}

/* ---- many at once ---- */

#define WRITERS 64
#define ROUNDS 60

struct race {
    size_t won, refused;
};

static void on_race(struct load_client *l, const redisReply *r)
{
    struct race *race = l->arg;
    if (r->type == REDIS_REPLY_STRING) {
        race->won++;
    } else {
        assert_int_equal(r->type, REDIS_REPLY_ERROR);
        if (strncmp(r->str, "DUPLICATE n [", 13) != 0) fail_msg("%s", r->str);
        race->refused++;
    }
}

/* In every round all of them want the same value for an entry of their own, pipelined, so that most
 * are evaluated while the winner's write is not on disk yet. */
static void sixty_four_writers_never_get_two_owners(void **state)
{
    static struct load_client clients[WRITERS];
    struct race race = {0};
    empty();
    expect(c, "+OK", "KV.INDEX CREATE n PREFIX ['w'] ON 1 n UNIQUE");
    for (size_t i = 0; i < WRITERS; i++) {
        clients[i] = (struct load_client){.number = i, .arg = &race, .on_reply = on_race};
        load_open(&clients[i], server);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < WRITERS; i++) {
            load_say(&clients[i], "KV.SET ['w',%d,%d] {'n':%d}", (int)i, round, round);
        }
        if (round % 4 == 3) load_drain(clients, WRITERS, LIMIT_MS);
    }
    load_drain(clients, WRITERS, LIMIT_MS);
    for (size_t i = 0; i < WRITERS; i++) load_close(&clients[i]);
    assert_int_equal(race.won, ROUNDS);
    assert_int_equal(race.refused, (WRITERS - 1) * ROUNDS);
    assert_int_equal(ask_integer(c, "KV.COUNT PREFIX ['w']"), ROUNDS);
    for (int round = 0; round < ROUNDS; round++) {
        redisReply *r = ask_reply(c, "KV.FIND n %d KEYSONLY", round);
        assert_int_equal(r->element[1]->elements, 1);
        freeReplyObject(r);
    }
}

/* The queue does not stand still. */
static void a_dead_letter_is_one_even_if_an_index_refuses_its_value(void **state)
{
    char receipt[200];
    empty();
    expect(c, "+OK", "KV.INDEX CREATE n PREFIX ['lost'] ON 1 n UNIQUE");
    expect(c, "+OK", "KV.INDEX CREATE t PREFIX ['lost'] ON 2 a b");
    expect(c, "@", "KV.SET ['lost','was'] {'n':1}");
    for (int i = 0; i < 3; i++) {
        const char *value = i < 2 ? "{'n':1}" : "{'n':2,'a':[1],'b':[2]}"; /* two arrays */
        char command[200];
        snprintf(command, sizeof command,
                 "KV.ENQUEUE q %s BACKOFF 0 UNDELIVERED 3 ['lost',%d] ['lost','was'] ['ok',%d]",
                 value, i, i);
        expect(c, "*", command);
        redisReply *r = ask_reply(c, "KV.DEQUEUE q");
        snprintf(receipt, sizeof receipt, "%s", r->element[0]->element[4]->str);
        freeReplyObject(r);
        if (i == 0) {
            expect(c, ":1", "KV.NACK %s DEAD", receipt);
        } else { /* its lease ends by itself */
            expect(c, ":1", "KV.EXTEND %s 1", receipt);
            while (strstr(ask(c, "KV.QUEUE STATS q"), "leased :0") == NULL) testserver_pause();
        }
        expect(c, "(nil)", "KV.GET ['lost',%d]", i);
        expect(c, "{'n':*", "KV.GET ['ok',%d]", i);
    }
    expect(c, "{'n':1}", "KV.GET ['lost','was']");
    expect(c, "[0 [['lost','was']]]", "KV.FIND n KEYSONLY");
    assert_non_null(strstr(ask(c, "KV.QUEUE STATS q"), "dead :3"));
}

/* What the key holds stays, a collection too. */
static void an_offer_that_an_index_refuses_leaves_a_collection_whole(void **state)
{
    enum { MEMBERS = 300 };
    empty();
    expect(c, "+OK", "KV.INDEX CREATE n PREFIX [] ON 1 n UNIQUE");
    expect(c, "@", "KV.SET ['first'] {'n':1}");
    for (int i = 0; i < MEMBERS; i++) say(c, "SADD set m%d", i);
    expect_many(c, MEMBERS, ":1");
    expect(c, "*", "KV.ENQUEUE q {'n':1} UNDELIVERED 1 ['set']");
    redisReply *r = ask_reply(c, "KV.DEQUEUE q");
    expect(c, ":1", "KV.NACK %s DEAD", r->element[0]->element[4]->str);
    freeReplyObject(r);
    expect(c, ":300", "SCARD set");
    for (int i = 0; i < MEMBERS; i++) say(c, "SISMEMBER set m%d", i);
    expect_many(c, MEMBERS, ":1");
    assert_non_null(strstr(ask(c, "INFO"), "collections_spread:1"));
}

/* One message could otherwise change millions of rows in one turn. What does not fit is not written;
 * the message is a dead letter all the same. */
static void undelivered_keys_change_a_bounded_number_of_rows(void **state)
{
    enum { KEYS = 200, ELEMENTS = 1000, INDEXES = 2, FIT = 100000 / ELEMENTS / INDEXES };
    char *command = malloc(KEYS * 20 + ELEMENTS * 5 + 200);
    assert_non_null(command);
    empty();
    expect(c, "+OK", "KV.INDEX CREATE one PREFIX ['many'] ON 1 a");
    expect(c, "+OK", "KV.INDEX CREATE two PREFIX ['many'] ON 1 a");
    int len = sprintf(command, "KV.ENQUEUE q {'a':[0");
    for (int i = 1; i < ELEMENTS; i++) len += sprintf(command + len, ",%d", i);
    len += sprintf(command + len, "]} BACKOFF 0 UNDELIVERED %d", KEYS);
    for (int i = 0; i < KEYS; i++) len += sprintf(command + len, " ['many',%d]", i);
    expect(c, "*", command);
    redisReply *r = ask_reply(c, "KV.DEQUEUE q");
    expect(c, ":1", "KV.NACK %s DEAD", r->element[0]->element[4]->str);
    freeReplyObject(r);
    assert_non_null(strstr(ask(c, "KV.QUEUE STATS q"), "dead :1"));
    assert_int_equal(ask_integer(c, "KV.COUNT PREFIX ['many']"), FIT);
    r = ask_reply(c, "KV.FIND two 7 KEYSONLY");
    assert_int_equal(r->element[1]->elements, FIT);
    freeReplyObject(r);
    free(command);
}

/* ---- by hand ---- */

/* The recipes of docs/indexes.md: the same value under a second key, in one transaction. */
static void an_index_can_be_kept_by_hand(void **state)
{
    char stamp[21];
    empty();
    const char *insert = "KV.ATOMIC CHECK ['users',%d] NONE CHECK ['users_by_email','%s'] NONE "
                         "SET ['users',%d] {'id':%d,'email':'%s'} SET ['users_by_email','%s'] %d";
    expect(c, "@", insert, 1, "ada@x", 1, 1, "ada@x", "ada@x", 1);
    expect(c, "(nil)", insert, 2, "ada@x", 2, 2, "ada@x", "ada@x", 2);
    expect(c, "@", insert, 2, "bob@x", 2, 2, "bob@x", "bob@x", 2);
    expect(c, "1", "KV.GET ['users_by_email','ada@x']");
    /* Delete: read, then check that nothing has changed. */
    redisReply *r = ask_reply(c, "KV.GET ['users',1] WITHVERSION");
    snprintf(stamp, sizeof stamp, "%s", r->element[1]->str);
    freeReplyObject(r);
    expect(c, "@", "KV.ATOMIC CHECK ['users',1] %s DEL ['users',1] DEL ['users_by_email','ada@x']",
           stamp);
    expect(c, "(nil)", "KV.GET ['users_by_email','ada@x']");
    /* One to many: the primary key is part of the second. */
    expect(c, "@", "KV.ATOMIC SET ['users',3] {'c':'red'} SET ['by_color','red',3] 3");
    expect(c, "@", "KV.ATOMIC SET ['users',4] {'c':'red'} SET ['by_color','red',4] 4");
    expect(c, "[0 [['by_color','red',3] ['by_color','red',4]]]",
           "KV.LIST PREFIX ['by_color','red'] KEYSONLY");
}

/* What a transaction derives is bounded; what the server removes by itself is cut to fit. */
static void a_transaction_changes_a_bounded_number_of_rows(void **state)
{
    static const char *const refusal =
        "-LIMIT the transaction changes more than 100000 rows of indexes "
        "(transaction-index-rows); split it";
    enum { HALF = 26 };
    empty();
    expect(c, "+OK", "KV.INDEX CREATE one PREFIX ['many'] ON 1 a");
    expect(c, "+OK", "KV.INDEX CREATE two PREFIX ['many'] ON 1 a");
    expect(c, refusal, many_at_once(0, 2 * HALF, ""));
    expect(c, ":0", "KV.COUNT PREFIX ['many']");
    expect(c, "+OK", "MULTI");
    for (int i = 0; i < 3; i++) expect(c, "+QUEUED", many_at_once(i * HALF, HALF, ""));
    expect(c, "-EXECABORT command 2 kv.atomic: LIMIT *", "EXEC");
    expect(c, ":0", "KV.COUNT PREFIX ['many']");
    for (int i = 0; i < 3; i++) expect(c, "@", many_at_once(i * HALF, HALF, ""));
    expect(c, "[*transaction-index-rows :100000*]", "KV.LIMITS");
    expect(c, ":78", "KV.DELRANGE PREFIX ['many']");
    expect(c, "[0 []]", "KV.FIND one 5");
    for (int i = 0; i < 3; i++) expect(c, "@", many_at_once(i * HALF, HALF, "PX 1000 "));
    long until = testserver_now_ms() + LIMIT_MS;
    while (strcmp(ask(c, "DBSIZE"), ":0") != 0) {
        if (testserver_now_ms() > until) fail_msg("what has expired is never removed");
        testserver_pause();
    }
    expect(c, "[0 []]", "KV.FIND two 5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_found_by_value_and_by_range),
        cmocka_unit_test(several_paths_are_searched_from_the_left),
        cmocka_unit_test(each_element_of_an_array_is_indexed),
        cmocka_unit_test(pages_go_on_behind_their_cursor),
        cmocka_unit_test(values_of_every_type_keep_their_order),
        cmocka_unit_test(an_index_follows_every_kind_of_write),
        cmocka_unit_test(expired_entries_are_not_found_at_once),
        cmocka_unit_test(a_unique_index_refuses_a_second_owner),
        cmocka_unit_test(a_transaction_finds_what_it_has_written),
        cmocka_unit_test(what_cannot_be_indexed_is_refused),
        cmocka_unit_test(definitions_are_checked),
        cmocka_unit_test(what_was_there_before_is_filled_in_behind_writes),
        cmocka_unit_test(a_duplicate_found_on_the_way_makes_it_failed),
        cmocka_unit_test(indexes_are_there_after_a_restart),
        cmocka_unit_test(indexes_belong_to_their_database),
        cmocka_unit_test(sixty_four_writers_never_get_two_owners),
        cmocka_unit_test(a_dead_letter_is_one_even_if_an_index_refuses_its_value),
        cmocka_unit_test(an_offer_that_an_index_refuses_leaves_a_collection_whole),
        cmocka_unit_test(undelivered_keys_change_a_bounded_number_of_rows),
        cmocka_unit_test(an_index_can_be_kept_by_hand),
        cmocka_unit_test(a_transaction_changes_a_bounded_number_of_rows),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
