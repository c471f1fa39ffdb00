/* Keys and values as a client writes them: every form, every way to get them wrong, formats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static redisContext *c;

static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start_with("--max-value-size", "4kb", NULL);
    return 0;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void keys_come_back_in_their_canonical_form(void **state)
{
    static const char *const pairs[][2] = {
        {"[\"a\"]", "['a']"},
        {"[ \"a\" , 1.0, true ,false]", "['a',1,true,false]"},
        {"[1e3,-0.5,9007199254740991]", "[1000,-0.5,9007199254740991]"},
        {"[{\"$bigint\":\"123456789012345678901234567890\"}]",
         "[{'$bigint':'123456789012345678901234567890'}]"},
        {"[123n,-5n]", "[{'$bigint':'123'},{'$bigint':'-5'}]"},
        {"[NaN,-NaN]", "[{'$number':'NaN'},{'$number':'-NaN'}]"},
        {"[Infinity,-Infinity,-0]",
         "[{'$number':'Infinity'},{'$number':'-Infinity'},{'$number':'-0'}]"},
        {"[{\"$bytes\":\"AAH/\"}]", "[{'$bytes':'AAH/'}]"},
        {"[\"\\u00e9\\n\\\"\"]", "['\xc3\xa9\\n\\'']"},
        {"[\"\"]", "['']"},
    };
    for (size_t i = 0; i < COUNT(pairs); i++) {
        char wanted[200];
        snprintf(wanted, sizeof wanted, "[0 [%s]]", pairs[i][1]);
        expect(c, "+OK", "FLUSHDB");
        expect(c, "@", "KV.SET %s 1", pairs[i][0]);
        assert_string_equal(ask(c, "KV.LIST KEYSONLY"), wanted);
        expect(c, "1", "KV.GET %s", pairs[i][0]);
    }
}

static void malformed_keys_are_refused_with_a_reason(void **state)
{
    static const char *const keys[] = {
        "users",
        "",
        "[]",
        "[",
        "[\"a\"",
        "[\"a\"]x",
        "[\"a\",]",
        "[,]",
        "[null]",
        "[[\"a\"]]",
        "[{\"a\":1}]",
        "{\"a\":1}",
        "[9007199254740992]",
        "[-9007199254740992]",
        "[1e400]",
        "[01]",
        "[+1]",
        "[.5]",
        "[\"\\ud800\"]",
        "[\"\xff\"]",
        "[\"\\x\"]",
        "[\"a\nb\"]",
        "[{\"$bigint\":\"abc\"}]",
        "[{\"$bigint\":1}]",
        "[{\"$bytes\":\"***\"}]",
        "[{\"$number\":\"1\"}]",
        "[{\"$date\":null}]",
        "[undefined]",
        "['a']",
    };
    for (size_t i = 0; i < COUNT(keys); i++) {
        const char *got = ask(c, "KV.GET %s", keys[i]);
        if (!text_fits(got, "-ERR invalid key: *")) fail_msg("%s: %s", keys[i], got);
        got = ask(c, "KV.SET %s 1", keys[i]);
        if (!text_fits(got, "-ERR invalid key: *")) fail_msg("%s: %s", keys[i], got);
    }
    expect(c, ":0", "DBSIZE");
}

static void a_number_too_large_for_a_key_names_the_bigint_form(void **state)
{
    expect(c, "-ERR invalid key: *bigint*", "KV.GET [9007199254740992]");
    expect(c, "-ERR invalid key: *", "KV.GET [1e400]");
}

static void malformed_messagepack_keys_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } keys[] = {
        {"\x90", 1}, /* empty */
        {"\x91", 1}, /* truncated */
        {"\x91\xa5"
         "ab",
         4},                                              /* truncated string */
        {"\x91\x01\x02", 3},                              /* trailing bytes */
        {"\x91\xc0", 2},                                  /* nil */
        {"\x91\x91\x01", 3},                              /* nested array */
        {"\x91\x80", 2},                                  /* map */
        {"\x91\xa1\xff", 3},                              /* no UTF-8 */
        {"\x91\xcf\x00\x20\x00\x00\x00\x00\x00\x00", 10}, /* 2^53 */
        {"\x91\xc1", 2},                                  /* no MessagePack */
        {"\x91\xd4\x43\x00", 4},                          /* another extension */
    };
    for (size_t i = 0; i < COUNT(keys); i++) {
        const char *got = ask(c, "KV.GET %b", keys[i].bytes, keys[i].len);
        if (!text_fits(got, "-ERR invalid key: *")) fail_msg("key %zu: %s", i, got);
    }
}

static void both_key_forms_address_the_same_entry(void **state)
{
    expect(c, "@", "KV.SET %b 1",
           "\x93\xa1"
           "a\x2a\xc3",
           (size_t)5);
    expect(c, "1", "KV.GET ['a',42,true]");
    expect(c, "@", "KV.SET [{'$bytes':'AAE='},7n] 2");
    expect(c, "2", "KV.GET %b", "\x92\xc4\x02\x00\x01\xd4\x42\x07", (size_t)8);
    /* An array 16 and a float that is an integer are other spellings of the same. */
    expect(c, "1", "KV.GET %b",
           "\xdc\x00\x03\xa1"
           "a\xcb\x40\x45\x00\x00\x00\x00\x00\x00\xc3",
           (size_t)15);
}

static void keys_have_limits_of_size_and_parts(void **state)
{
    char key[4200] = "[\"";
    memset(key + 2, 'x', 2046);
    strcpy(key + 2 + 2046, "\"]"); /* 2048 with tag and end */
    expect(c, "@", "KV.SET %s 1", key);
    expect(c, "1", "KV.GET %s", key);
    memset(key + 2, 'x', 2047);
    strcpy(key + 2 + 2047, "\"]");
    expect(c, "-LIMIT *key*2048 bytes*", "KV.SET %s 1", key);
    strcpy(key, "[1");
    for (int i = 1; i < 64; i++) strcat(key, ",1");
    strcat(key, "]");
    expect(c, "@", "KV.SET %s 1", key);
    strcpy(key, "[1");
    for (int i = 1; i < 65; i++) strcat(key, ",1");
    strcat(key, "]");
    expect(c, "-LIMIT *key*64 parts*", "KV.SET %s 1", key);
}

static void keys_are_ordered_by_type_then_value(void **state)
{
    static const char *const keys[] = {"[true]",
                                       "[false]",
                                       "[NaN]",
                                       "[2]",
                                       "[-1]",
                                       "[-Infinity]",
                                       "[10n]",
                                       "[2n]",
                                       "[\"b\"]",
                                       "[\"a\",1]",
                                       "[\"a\"]",
                                       "[\"\"]",
                                       "[{\"$bytes\":\"YQ==\"}]"};
    for (size_t i = 0; i < COUNT(keys); i++) expect(c, "@", "KV.SET %s 1", keys[i]);
    expect(c,
           "[0 [[{'$bytes':'YQ=='}] [''] ['a'] ['a',1] ['b'] [{'$bigint':'2'}] [{'$bigint':'10'}] "
           "[{'$number':'-Infinity'}] [-1] [2] [{'$number':'NaN'}] [false] [true]]]",
           "KV.LIST KEYSONLY");
}

/* ---- values ---------------------------------------------------------------------------------- */

static void json_values_come_back(void **state)
{
    static const char *const values[] = {
        "null",
        "true",
        "1",
        "-1.5",
        "\"x\"",
        "[]",
        "{}",
        "[1,[2,{\"a\":null}]]",
        "{\"b\":1,\"a\":2}",
        "{\"$bigint\":\"-5\"}",
        "{\"$u64\":\"18446744073709551615\"}",
        "{\"$bytes\":\"AAH/\"}",
        "{\"$date\":\"2023-04-23T00:00:00.000Z\"}",
        "{\"$date\":null}",
        "{\"$undefined\":true}",
        "{\"$number\":\"NaN\"}",
        "{\"$number\":\"-0\"}",
        "{\"$map\":[[1,2],[\"a\",null]]}",
        "{\"$set\":[1,\"a\"]}",
        "{\"$regexp\":[\"a+\",\"gi\"]}",
        "{\"$error\":{\"name\":\"TypeError\",\"message\":\"m\"}}",
        "{\"$typed\":[\"Int16Array\",\"AQACAA==\"]}",
        "{\"$v8\":\"/w95\"}",
        "{\"$id\":1,\"value\":[{\"$ref\":1}]}",
        "{\"$object\":{\"$bigint\":\"5\"}}",
        "{\"$object\":{\"$v8\":\"/w95\"}}",
        "{\"$object\":{\"$uuidv7\":1}}",
        "\"\xf0\x9f\x98\x80\"",
    };
    for (size_t i = 0; i < COUNT(values); i++) {
        const char *got = ask(c, "KV.SET ['v'] %s", values[i]);
        if (!text_fits(got, "@")) fail_msg("%s: %s", values[i], got);
        redisReply *r = ask_reply(c, "KV.GET ['v']");
        if (r->type != REDIS_REPLY_STRING) fail_msg("%s: no string", values[i]);
        assert_string_equal(r->str, values[i]);
        freeReplyObject(r);
    }
}

static void json_values_become_canonical(void **state)
{
    static const char *const pairs[][2] = {
        {" 1.0 ", "1"},
        {"9007199254740992", "{'$bigint':'9007199254740992'}"},
        {"1e2", "100"},
        {"{ \"a\" : [ 1 , 2 ] }", "{'a':[1,2]}"},
        {"\"\\u00e9\"", "'\xc3\xa9'"},
    };
    for (size_t i = 0; i < COUNT(pairs); i++) {
        expect(c, "@", "KV.SET ['v'] %s", pairs[i][0]);
        expect(c, pairs[i][1], "KV.GET ['v']");
    }
}

static void malformed_json_values_are_refused_and_nothing_is_stored(void **state)
{
    static const char *const values[] = {
        "",
        "abc",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "{\"a\":1,\"a\":2}",
        "1 2",
        "\"\xff\"",
        "\"\\ud800\"",
        "{\"$bigint\":\"x\"}",
        "{\"$u64\":\"18446744073709551616\"}",
        "{\"$u64\":\"-1\"}",
        "[{\"$u64\":\"1\"}]",
        "{\"$bytes\":\"*\"}",
        "{\"$date\":\"yesterday\"}",
        "{\"$number\":\"7\"}",
        "{\"$map\":[[1]]}",
        "{\"$map\":[[1,2],[1,3]]}",
        "{\"$regexp\":[\"a\"]}",
        "{\"$typed\":[\"Int16Array\",\"AQ==\"]}",
        "{\"$typed\":[\"Nope\",\"\"]}",
        "{\"$v8\":\"/w8=\"}",
        "{\"$v8\":\"/w95*\"}",
        "[{\"$v8\":\"/w95\"}]",
        "{\"$ref\":1}",
        "{\"$undefined\":false}",
        "nul",
        "01",
        "'a'",
    };
    for (size_t i = 0; i < COUNT(values); i++) {
        const char *got = ask(c, "KV.SET ['v'] %s", values[i]);
        if (!text_fits(got, "-ERR invalid value: *")) fail_msg("%s: %s", values[i], got);
    }
    expect(c, "-ERR invalid value: *offset*", "KV.SET ['v'] [1,x]");
    expect(c, "(nil)", "KV.GET ['v']");
    expect(c, ":0", "DBSIZE");
}

static void values_may_be_128_deep(void **state)
{
    char value[300] = "";
    memset(value, '[', 128);
    memset(value + 128, ']', 128);
    expect(c, "@", "KV.SET ['v'] %s", value);
    expect(c, value, "KV.GET ['v']");
    memset(value, '[', 129);
    memset(value + 129, ']', 129);
    expect(c, "-ERR invalid value: *", "KV.SET ['v'] %s", value);
}

static void a_value_over_the_limit_is_refused(void **state)
{
    char value[5000] = "\"";
    memset(value + 1, 'x', 4096);
    strcpy(value + 4097, "\"");
    expect(c, "@", "KV.SET ['v'] %s", value);
    memset(value + 1, 'x', 4097);
    strcpy(value + 4098, "\"");
    expect(c, "-LIMIT value of 4097 bytes is larger than max-value-size (4096)", "KV.SET ['w'] %s",
           value);
    expect(c, "-LIMIT value of 4097 bytes*", "KV.ATOMIC SET ['x'] 1 SET ['w'] %s", value);
    expect(c, ":1", "DBSIZE");
    /* What a computed value becomes counts too. */
    memset(value + 1, 'x', 2040);
    strcpy(value + 2041, "\"");
    expect(c, "[:1 @]", "KV.APPEND ['l'] [%s]", value);
    expect(c, "[:2 @]", "KV.APPEND ['l'] [%s]", value);
    expect(c, "-LIMIT value of * is larger than max-value-size (4096)", "KV.APPEND ['l'] [%s]",
           value);
}

/* ---- formats --------------------------------------------------------------------------------- */

static void the_format_is_told_and_set(void **state)
{
    expect(c, "JSON", "KV.FORMAT");
    expect(c, "+OK", "kv.format msgpack");
    expect(c, "MSGPACK", "KV.FORMAT");
    expect(c, "+OK", "KV.FORMAT JSON");
    expect(c, "JSON", "KV.FORMAT");
    expect(c, "-ERR syntax error*'xml'*", "KV.FORMAT xml");
    expect(c, "-ERR syntax error*", "KV.FORMAT JSON MSGPACK");
    expect(c, "JSON", "KV.FORMAT");
}

static void msgpack_goes_in_and_out_unchanged(void **state)
{
    /* {"a": 1, "b": [nil, 2.5]} with a 16-bit 1: not the smallest encoding, kept as sent. */
    static const char value[] = "\x82\xa1"
                                "a\xcd\x00\x01\xa1"
                                "b\x92\xc0\xcb\x40\x04\x00\x00\x00\x00\x00\x00";
    expect(c, "+OK", "KV.FORMAT MSGPACK");
    expect(c, "@", "KV.SET ['m'] %b", value, sizeof value - 1);
    redisReply *r = ask_reply(c, "KV.GET ['m']");
    assert_int_equal(r->len, sizeof value - 1);
    assert_memory_equal(r->str, value, sizeof value - 1);
    freeReplyObject(r);
    r = ask_reply(c, "KV.LIST");
    assert_int_equal(r->element[1]->elements, 1);
    assert_memory_equal(r->element[1]->element[0]->element[0]->str, "\x91\xa1m", 3);
    freeReplyObject(r);
    expect(c, "+OK", "KV.FORMAT JSON");
    expect(c, "{'a':1,'b':[null,2.5]}", "KV.GET ['m']");
}

static void malformed_msgpack_values_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } values[] = {
        {"", 0},
        {"\xc1", 1},     /* never used */
        {"\x92\x01", 2}, /* truncated array */
        {"\xa3"
         "ab",
         3},             /* truncated string */
        {"\x01\x02", 2}, /* trailing */
        {"\xa1\xff", 2}, /* no UTF-8 */
        {"\x82\xa1"
         "a\x01\xa1"
         "a\x02",
         7},                                                  /* duplicate keys */
        {"\xdd\xff\xff\xff\xff", 5},                          /* a count too large to hold */
        {"\xd4\x01\x00", 3},                                  /* unknown extension */
        {"\xd4\x55\x00", 3},                                  /* u64 of one byte */
        {"\x91\xd7\x55\x00\x00\x00\x00\x00\x00\x00\x01", 11}, /* u64 inside */
    };
    expect(c, "+OK", "KV.FORMAT MSGPACK");
    for (size_t i = 0; i < COUNT(values); i++) {
        const char *got = ask(c, "KV.SET ['v'] %b", values[i].bytes, values[i].len);
        if (!text_fits(got, "-ERR invalid value: *")) fail_msg("value %zu: %s", i, got);
    }
    expect(c, "(nil)", "KV.GET ['v']");
}

static void the_format_is_of_the_connection(void **state)
{
    redisContext *other = testserver_connect(server);
    expect(c, "+OK", "KV.FORMAT MSGPACK");
    expect(other, "JSON", "KV.FORMAT");
    expect(other, "@", "KV.SET ['n'] 7");
    expect(c, "\x07", "KV.GET ['n']");
    expect(c, "[\x08 @]", "KV.SUM ['n'] %b", "\x01", (size_t)1);
    expect(other, "8", "KV.GET ['n']");
    redisFree(other);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(keys_come_back_in_their_canonical_form),
        TEST(malformed_keys_are_refused_with_a_reason),
        TEST(a_number_too_large_for_a_key_names_the_bigint_form),
        TEST(malformed_messagepack_keys_are_refused),
        TEST(both_key_forms_address_the_same_entry),
        TEST(keys_have_limits_of_size_and_parts),
        TEST(keys_are_ordered_by_type_then_value),
        TEST(json_values_come_back),
        TEST(json_values_become_canonical),
        TEST(malformed_json_values_are_refused_and_nothing_is_stored),
        TEST(values_may_be_128_deep),
        TEST(a_value_over_the_limit_is_refused),
        TEST(the_format_is_told_and_set),
        TEST(msgpack_goes_in_and_out_unchanged),
        TEST(malformed_msgpack_values_are_refused),
        TEST(the_format_is_of_the_connection),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
