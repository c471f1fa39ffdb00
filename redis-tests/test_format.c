/* FORMAT as the last words of a command: it holds for that command alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"

static redisContext *c;

static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start_with("--databases", "4", NULL);
    return 0;
}

/* ---- what it does ---------------------------------------------------------------------------- */

static void a_command_may_say_its_format(void **state)
{
    expect(c, "@", "KV.SET ['k'] %b FORMAT MSGPACK", "\x07", (size_t)1);
    expect(c, "7", "KV.GET ['k']");
    expect(c, "\x07", "KV.GET ['k'] format msgpack");
    expect(c, "JSON", "KV.FORMAT");
    expect(c, "+OK", "KV.FORMAT MSGPACK");
    expect(c, "@", "KV.SET ['k'] 8 FORMAT JSON");
    expect(c, "\x08", "KV.GET ['k']");
    expect(c, "8", "KV.GET ['k'] FORMAT JSON");
    expect(c, "[8 @]", "KV.GET ['k'] WITHVERSION FORMAT JSON");
    expect(c, "[10 @]", "KV.SUM ['k'] 2 FORMAT JSON");
    expect(c, "MSGPACK", "KV.FORMAT");
}

/* Two users of one connection, of whom one has set the other format for it. */
static void a_pool_is_not_trusted_to_have_kept_a_format(void **state)
{
    expect(c, "+OK", "KV.FORMAT MSGPACK");
    expect(c, "@", "KV.SET ['k'] 7"); /* the byte 37 hexadecimal is MessagePack's 55 */
    expect(c, "55", "KV.GET ['k'] FORMAT JSON");
    expect(c, "@", "KV.SET ['k'] 7 FORMAT JSON");
    expect(c, "7", "KV.GET ['k'] FORMAT JSON");
}

/* Every KV command whose reply has a value or a key, with what it answers in JSON. */
static void every_reply_has_the_format_asked_for(void **state)
{
    static const struct {
        const char *command, *json;
    } rows[] = {
        {"KV.GET ['a',1]", "{'n':'x'}"},
        {"KV.MGET ['a',1] ['z']", "[[{'n':'x'} @] (nil)]"},
        {"KV.LIST PREFIX ['a']", "[0 [[['a',1] {'n':'x'} @]]]"},
        {"KV.LIST PREFIX ['a'] KEYSONLY", "[0 [['a',1]]]"},
        {"KV.FIND by_n 'x'", "[0 [[['a',1] {'n':'x'} @]]]"},
        {"KV.SEARCH texts x", "[[['a',1] {'n':'x'} @]]"},
        {"KV.INDEX INFO by_n", "[name by_n type value prefix ['a'] *]"},
        {"KV.POLL KEYS 1 ['a',1] NONE", "[[['a',1] {'n':'x'} @]]"},
        {"KV.CHANGES 0 PREFIX ['a']", "[@ [*[['a',1] {'n':'x'} @ (nil)]]]"},
        {"KV.QUEUE PEEK q", "[[* {'job':1} *]]"},
        {"KV.ATOMIC DETAILS SET ['b'] 2 SUM ['b'] 3", "[@ [['b'] 5]]"},
        {"KV.DEQUEUE q", "[[q * {'job':1} :1 *]]"},
        {"KV.MIN ['b'] 4", "[4 @]"},
    };
    expect(c, "@", "KV.SET ['a',1] {'n':'x'}");
    expect(c, "+OK", "KV.INDEX CREATE by_n PREFIX ['a'] ON 1 n");
    expect(c, "+OK", "KV.INDEX CREATE texts PREFIX ['a'] TEXT 1 n");
    expect(c, "*", "KV.ENQUEUE q {'job':1}");
    expect(c, "+OK", "KV.FORMAT MSGPACK");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char words[200];
        snprintf(words, sizeof words, "%s FORMAT JSON", rows[i].command);
        expect(c, rows[i].json, words);
    }
    expect(c, "+OK", "KV.FORMAT JSON");
    expect(c,
           "[0 [[\x92\xa1"
           "a\x01 \x81\xa1n\xa1x @]]]",
           "KV.LIST PREFIX ['a'] FORMAT MSGPACK");
}

static void commands_without_values_take_it_too(void **state)
{
    expect(c, "@", "KV.SET ['k'] 1 EX 100 FORMAT JSON");
    expect(c, ":1", "KV.COUNT FORMAT JSON");
    expect(c, ":~100", "KV.TTL ['k'] FORMAT MSGPACK");
    expect(c, ":1", "KV.PERSIST ['k'] FORMAT MSGPACK IDEM p");
    expect(c, ":1", "KV.DEL ['k'] FORMAT MSGPACK");
    expect(c, ":0", "KV.DELRANGE ALL FORMAT MSGPACK");
    expect(c, "[]", "KV.QUEUE LIST FORMAT JSON");
    expect(c, "[*]", "KV.INDEX LIST FORMAT JSON");
    expect(c, "[0 []]", "KV.DLQ LIST q FORMAT JSON");
    expect(c, "@", "KV.VERSION FORMAT JSON");
}

static void a_transaction_keeps_the_format_of_each(void **state)
{
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.SET ['a'] %b FORMAT MSGPACK", "\x07", (size_t)1);
    expect(c, "+QUEUED", "KV.GET ['a']");
    expect(c, "+QUEUED", "KV.FORMAT MSGPACK");
    expect(c, "+QUEUED", "KV.GET ['a']");
    expect(c, "+QUEUED", "KV.GET ['a'] FORMAT JSON");
    expect(c, "[@ 7 +OK \x07 7]", "EXEC");
    expect(c, "\x07", "KV.GET ['a']");
}

static void a_blocked_command_answers_in_its_format(void **state)
{
    redisContext *other = testserver_connect(server);
    say(c, "KV.DEQUEUE q BLOCK 0 FORMAT MSGPACK");
    expect(other, "*", "KV.ENQUEUE q 7");
    expect_next(c, "[[q * \x07 :1 *]]");
    say(c, "KV.POLL BLOCK 0 KEYS 1 ['p'] NONE FORMAT MSGPACK");
    expect(other, "@", "KV.SET ['p'] 7");
    expect_next(c, "[[\x91\xa1p \x07 @]]");
    redisFree(other);
}

static void a_repeat_must_have_the_same_format(void **state)
{
    const char *first = ask(c, "KV.SET ['k'] 1 FORMAT JSON IDEM one");
    assert_true(text_fits(first, "@"));
    assert_string_equal(ask(c, "KV.SET ['k'] 1 FORMAT JSON IDEM one"), first);
    assert_string_equal(ask(c, "KV.SET ['k'] 1 IDEM one"), first); /* the connection's is JSON */
    expect(c, "-ERR IDEM 'one' was used with *", "KV.SET ['k'] 1 FORMAT MSGPACK IDEM one");
    expect(c, "+OK", "KV.FORMAT MSGPACK");
    assert_string_equal(ask(c, "KV.SET ['k'] 1 FORMAT JSON IDEM one"), first);
    expect(c, "-ERR IDEM 'one' was used with *", "KV.SET ['k'] 1 IDEM one");
    expect(c, "[@ [2]]", "KV.ATOMIC IDEM two DETAILS SUM ['k'] 1 FORMAT JSON");
    expect(c, "[@ [2]]", "KV.ATOMIC IDEM two DETAILS SUM ['k'] 1 FORMAT JSON");
    expect(c, "-ERR IDEM 'two' was used with *", "KV.ATOMIC IDEM two DETAILS SUM ['k'] 1");
}

/* ---- what it is not -------------------------------------------------------------------------- */

static void words_of_the_command_itself_are_left_to_it(void **state)
{
    /* Queues of these names. */
    expect(c, "*", "KV.ENQUEUE JSON 7");
    expect(c, "+OK", "KV.FORMAT MSGPACK");
    expect(c, "[[JSON * \x07 :1 *]]", "KV.DEQUEUE q ALSO 2 FORMAT JSON");
    expect(c, "+OK", "KV.FORMAT JSON");
    expect(c, "*", "KV.ENQUEUE FORMAT 7");
    expect(c, "[[FORMAT * \x07 :1 *]]", "KV.DEQUEUE q ALSO 2 JSON FORMAT FORMAT MSGPACK");
    expect(c, "-ERR syntax error: *'JSON'*", "KV.DEQUEUE FORMAT JSON");
    expect(c, "-ERR invalid value: *", "KV.ENQUEUE FORMAT JSON");
    /* Paths of an index. */
    expect(c, "+OK", "KV.INDEX CREATE i PREFIX ['p'] ON 2 FORMAT JSON");
    expect(c, "[name i * paths [FORMAT JSON] *]", "KV.INDEX INFO i");
    expect(c, "+OK", "KV.INDEX CREATE t PREFIX ['p'] TEXT 1 FORMAT FORMAT JSON");
    expect(c, "[name t * paths [FORMAT] *]", "KV.INDEX INFO t");
    /* What is put around a word that was found. */
    expect(c, "@", "KV.SET ['p'] {'FORMAT':'x'}");
    expect(c, "@", "KV.SET ['p',1] {'FORMAT':'x'}");
    expect(c, "[[['p',1] {'FORMAT':'x'} @ * [FORMAT FORMATxJSON]]]",
           "KV.SEARCH t x HIGHLIGHT FORMAT JSON");
    expect(c,
           "[[\x92\xa1p\x01 \x81\xa6"
           "FORMAT\xa1x @ * [FORMAT {x}]]]",
           "KV.SEARCH t x HIGHLIGHT { } FORMAT MSGPACK");
}

static void anywhere_else_it_is_an_error_that_says_where(void **state)
{
    static const char *const wrong[] = {
        "KV.SET ['k'] 1 FORMAT JSON EX 10",     "KV.SET ['k'] 1 FORMAT",
        "KV.SET ['k'] 1 FORMAT YAML",           "KV.SET ['k'] 1 FORMAT JSON FORMAT JSON",
        "KV.GET ['k'] FORMAT JSON WITHVERSION",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        expect(c, "-ERR syntax error: *FORMAT JSON [BARE] or FORMAT MSGPACK *last words*",
               wrong[i]);
    }
    expect(c, "(nil)", "KV.GET ['k']");
    expect(c, "-ERR *", "KV.FORMAT FORMAT JSON");
    expect(c, "-ERR syntax error*", "SET k v FORMAT JSON");
    expect(c, "-ERR wrong number *", "GET k FORMAT JSON");
}

/* ---- bare bigints ---------------------------------------------------------------------------- */

#define BIG "9007199254740993"
#define TAGGED "{'$bigint':'" BIG "'}"

static void large_integers_may_be_plain_literals(void **state)
{
    expect(c, "@", "KV.SET ['t'] {'ns':1732233600123456789,'n':5}");
    expect(c, "{'ns':{'$bigint':'1732233600123456789'},'n':5}", "KV.GET ['t']");
    expect(c, "{'ns':1732233600123456789,'n':5}", "KV.GET ['t'] FORMAT JSON BARE");
    expect(c, "+OK", "KV.FORMAT JSON BARE");
    expect(c, "JSON BARE", "KV.FORMAT");
    expect(c, "{'ns':1732233600123456789,'n':5}", "KV.GET ['t']");
    expect(c, "{'ns':{'$bigint':'1732233600123456789'},'n':5}", "KV.GET ['t'] FORMAT JSON");
    /* Small ones keep the tag: without it they would be numbers. */
    expect(c, "@", "KV.SET ['s'] {'$bigint':'5'}");
    expect(c, "{'$bigint':'5'}", "KV.GET ['s']");
    expect(c, "[" BIG " @]", "KV.SUM ['b'] " BIG);
    expect(c, "[9007199254740994 @]", "KV.SUM ['b'] {'$bigint':'1'}");
    expect(c, "+OK", "KV.FORMAT JSON");
    expect(c, "[{'$bigint':'9007199254740994'} @]", "KV.MAX ['b'] {'$bigint':'1'}");
    expect(c, "+OK", "KV.FORMAT JSON BARE");
    expect(c, "+RESET", "RESET");
    expect(c, "JSON", "KV.FORMAT");
}

static void large_integers_in_keys_too(void **state)
{
    expect(c, "-ERR invalid key: integer beyond *", "KV.SET ['u'," BIG "] 1");
    expect(c, "@", "KV.SET ['u'," BIG "] 1 FORMAT JSON BARE");
    expect(c, "1", "KV.GET ['u'," TAGGED "]");
    expect(c, "[0 [[['u'," TAGGED "] 1 @]]]", "KV.LIST PREFIX ['u']");
    expect(c, "[0 [[['u'," BIG "] 1 @]]]", "KV.LIST PREFIX ['u'] FORMAT JSON BARE");
    expect(c, ":1", "KV.COUNT START ['u'," BIG "] END ['u',9007199254740994] FORMAT JSON BARE");
    expect(c, "[[['u'," BIG "] 1 @]]", "KV.POLL KEYS 1 ['u'," BIG "] NONE FORMAT JSON BARE");
    expect(c, "[[1 @]]", "KV.MGET ['u'," BIG "] FORMAT JSON BARE");
    expect(c, "[@ [['u'," BIG "]]]", "KV.ATOMIC DETAILS SET ['u'," BIG "] 2 FORMAT JSON BARE");
    expect(c, "+OK", "KV.FORMAT JSON BARE");
    expect(c, "+OK", "WATCH ['u'," BIG "]");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.GET ['u'," BIG "]");
    expect(c, "+QUEUED", "KV.LIST PREFIX ['u'] FORMAT JSON");
    expect(c, "[2 [0 [[['u'," TAGGED "] 2 @]]]]", "EXEC");
}

static void pushes_have_the_format_of_the_connection(void **state)
{
    redisContext *other = testserver_connect(server);
    expect(c, "@", "KV.SET ['u'," TAGGED "] " BIG);
    expect(c, "+OK", "KV.FORMAT JSON BARE");
    expect(c, "[subscribe kv:watch:['u'," BIG "] :1]", "SUBSCRIBE kv:watch:['u'," BIG "]");
    expect_next(c, "[message kv:watch:['u'," BIG "] {'key':['u'," BIG "],'value':" BIG
                   ",'versionstamp':'@','commit':'@'}]");
    expect(c, "[subscribe kv:queue:q :2]", "SUBSCRIBE kv:queue:q");
    expect(other, "*", "KV.ENQUEUE q [" BIG "]");
    expect_next(c, "[message kv:queue:q {'queue':'q','id':'*','value':[" BIG "],*}]");
    redisFree(other);
}

static void a_server_may_be_told_that_json_is_bare(void **state)
{
    redisContext *later = NULL;
    expect(c, "[bare-bigints no]", "CONFIG GET bare-bigints");
    expect(c, "@", "KV.SET ['b'] " BIG);
    expect(c, "+OK", "CONFIG SET bare-bigints yes");
    expect(c, TAGGED, "KV.GET ['b']"); /* this connection was made before */
    expect(c, BIG, "KV.GET ['b'] FORMAT JSON");
    later = testserver_connect(server);
    expect(later, BIG, "KV.GET ['b']");
    expect(later, "JSON BARE", "KV.FORMAT");
    expect(later, "+OK", "CONFIG SET bare-bigints no");
    expect(later, TAGGED, "KV.GET ['b'] FORMAT JSON");
    expect(later, "+RESET", "RESET");
    expect(later, TAGGED, "KV.GET ['b']");
    redisFree(later);
}

static void other_words_are_refused(void **state)
{
    expect(c, "-ERR syntax error*", "KV.FORMAT MSGPACK BARE");
    expect(c, "-ERR syntax error*'BARE'*", "KV.FORMAT JSON BARE BARE");
    expect(c, "-ERR syntax error*", "KV.FORMAT BARE");
    expect(c, "-ERR syntax error*FORMAT*", "KV.GET ['b'] FORMAT MSGPACK BARE");
    expect(c, "-ERR syntax error*FORMAT*", "KV.GET ['b'] FORMAT JSON TAGGED");
    expect(c, "JSON", "KV.FORMAT");
}

/* ---- what is told of it ---------------------------------------------------------------------- */

static void it_is_told_of_every_command(void **state)
{
    expect(c, "[['k']]", "COMMAND GETKEYS KV.SET ['k'] 1 FORMAT JSON IDEM x");
    expect(c, "[['k'] ['l']]", "COMMAND GETKEYS KV.MGET ['k'] ['l'] FORMAT JSON");
    expect(c, "[[kv.min :-3 *]]", "COMMAND INFO KV.MIN");
    expect(c, "[[kv.queue|peek :-3 *]]", "COMMAND INFO KV.QUEUE|PEEK");
    expect(c, "[[kv.version :-1 *]]", "COMMAND INFO KV.VERSION");
    expect(c, "[[kv.mget :-2 [*+movablekeys] *]]", "COMMAND INFO KV.MGET");
}

static void a_collection_is_shown_in_the_format(void **state)
{
    expect(c, ":2", "RPUSH l a b");
    expect(c, "{'$collection':{'type':'list','length':2}}", "KV.GET ['l']");
    expect(c, "\x81\xab$collection\x82\xa4type\xa4list\xa6length\x02",
           "KV.GET ['l'] FORMAT MSGPACK");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(a_command_may_say_its_format),
        TEST(a_pool_is_not_trusted_to_have_kept_a_format),
        TEST(every_reply_has_the_format_asked_for),
        TEST(commands_without_values_take_it_too),
        TEST(a_transaction_keeps_the_format_of_each),
        TEST(a_blocked_command_answers_in_its_format),
        TEST(a_repeat_must_have_the_same_format),
        TEST(words_of_the_command_itself_are_left_to_it),
        TEST(anywhere_else_it_is_an_error_that_says_where),
        TEST(large_integers_may_be_plain_literals),
        TEST(large_integers_in_keys_too),
        TEST(pushes_have_the_format_of_the_connection),
        TEST(a_server_may_be_told_that_json_is_bare),
        TEST(other_words_are_refused),
        TEST(a_collection_is_shown_in_the_format),
        TEST(it_is_told_of_every_command),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
