/* The string view: parts of values, bits, copies: what a real Redis cannot be asked (the limits and
 * values of this server, what Redis 7 does not have). test_strings_more_redis.c has the rest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <xxhash.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

#define STEPS(list) run_steps(list, sizeof list / sizeof list[0])

static redisContext *c;

static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start_with("--databases", "16", NULL);
    return 0;
}

static void run_steps(const char *const (*steps)[2], size_t count)
{
    for (size_t i = 0; i < count; i++) expect(c, steps[i][1], steps[i][0]);
}

static void set_with_ifeq_compares(void **state)
{
    static const char *const steps[][2] = {
        {"SET a 1", "+OK"},
        {"SET a 2 IFEQ 0", "(nil)"},
        {"SET a 2 IFEQ 1", "+OK"},
        {"GET a", "2"},
        {"SET a 3 IFEQ 1 GET", "2"},
        {"SET a 3 GET IFEQ 2 EX 100", "2"},
        {"GET a", "3"},
        {"TTL a", ":~100"},
        {"SET a 4 ifeq 3 KEEPTTL", "+OK"},
        {"TTL a", ":~100"},
        {"SET a 5 IFEQ 4", "+OK"},
        {"TTL a", ":-1"},
        {"SET none 1 IFEQ 1", "(nil)"},
        {"SET none 1 IFEQ 1 GET", "(nil)"},
        {"EXISTS none", ":0"},
        {"SET a 1 IFEQ", "-ERR syntax error*"},
        {"SET a 1 NX IFEQ 5", "-ERR syntax error*"},
        {"SET a 1 IFEQ 5 XX", "-ERR syntax error*"},
        {"SET a 1 IFEQ 5 IFEQ 5", "-ERR syntax error*"},
        {"GET a", "5"},
        {"MULTI", "+OK"},
        {"SET a 6 IFEQ 5", "+QUEUED"},
        {"SET a 7 IFEQ 5", "+QUEUED"},
        {"EXEC", "[+OK (nil)]"},
        {"GET a", "6"},
    };
    STEPS(steps);
}

static void a_value_that_is_made_longer_has_the_limit_of_set(void **state)
{
    expect(c, "+OK", "CONFIG SET max-value-size 1kb");
    expect(c, ":1024", "SETRANGE k 1023 x");
    expect(c, "-LIMIT value of 1025 bytes is larger than max-value-size (1024)",
           "SETRANGE k 1024 x");
    expect(c, "-LIMIT value of 536870912 bytes is larger than max-value-size (1024)",
           "SETRANGE k 536870911 x");
    expect(c, ":1024", "STRLEN k");
    expect(c, "+OK", "CONFIG SET max-value-size 16mb");
}

static void what_reads_alone_writes_nothing(void **state)
{
    expect(c, "+OK", "SET a hello EX 100");
    char before[40];
    snprintf(before, sizeof before, "%s", ask(c, "KV.VERSION"));
    static const char *const steps[][2] = {
        {"GETEX a", "hello"},     {"SETRANGE a 100 %s", ":5"}, {"TOUCH a", ":1"},
        {"MSETNX a 1 b 2", ":0"}, {"SET a x IFEQ y", "(nil)"},
    };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        expect(c, steps[i][1], steps[i][0], "");
        assert_string_equal(ask(c, "KV.VERSION"), before);
    }
}

static void watched_keys_see_what_these_commands_change(void **state)
{
    static const char *const commands[] = {
        "SETRANGE w 0 x", "SETBIT w 0 1",   "BITFIELD w SET u8 0 1", "BITOP NOT w w",
        "RENAME w v",     "COPY w fresh",   "RENAMENX w fresh",      "INCRBYFLOAT w 0.5",
        "GETEX w EX 100", "SET w 1 IFEQ 5", "MSETNX fresh 1"};
    redisContext *other = testserver_connect(server);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        expect(c, "*", "DEL fresh");
        expect(c, "+OK", "SET w 5");
        expect(c, "+OK", "WATCH w fresh");
        expect(other, "*", commands[i]);
        expect(c, "+OK", "MULTI");
        expect(c, "+QUEUED", "PING");
        expect(c, "(nil)", "EXEC");
    }
    redisFree(other);
}

static void bits_beyond_the_limit_are_refused(void **state)
{
    expect(c, "+OK", "CONFIG SET max-value-size 1kb");
    expect(c, ":0", "SETBIT k 8000 1");
    expect(c, "-LIMIT value of * bytes is larger than max-value-size (1024)", "SETBIT k 9000 1");
    expect(c, "-LIMIT value of 536870912 bytes is larger than max-value-size (1024)",
           "SETBIT k 4294967295 1");
    expect(c, "-LIMIT value of * bytes is larger than max-value-size (1024)",
           "BITFIELD k GET u8 0 SET u8 9000 1");
    expect(c, ":1001", "STRLEN k");
    expect(c, ":1", "BITCOUNT k");
    expect(c, "+OK", "CONFIG SET max-value-size 16mb");
}

/* ---- copies ---------------------------------------------------------------------------------- */

static const char *const any_values[] = {
    "'text'",
    "1",
    "-1.5",
    "{'a':[1,{'$bytes':'AA=='}]}",
    "[]",
    "null",
    "true",
    "{'$bigint':'1'}",
    "{'$u64':'18446744073709551615'}",
};

static void values_of_any_kind_are_copied_and_renamed_whole(void **state)
{
    char value[100];
    for (size_t i = 0; i < sizeof any_values / sizeof any_values[0]; i++) {
        expect(c, "*", "DEL b c");
        snprintf(value, sizeof value, "KV.SET ['a'] %s EX 100", any_values[i]);
        expect(c, "@", value);
        snprintf(value, sizeof value, "%s", ask(c, "KV.GET ['a']"));
        expect(c, ":1", "COPY a b");
        expect(c, value, "KV.GET ['b']");
        expect(c, ":~100", "TTL b");
        expect(c, "+OK", "RENAME b c");
        expect(c, value, "KV.GET ['c']");
        expect(c, ":~100", "TTL c");
        expect(c, "(nil)", "KV.GET ['b']");
        expect(c, value, "KV.GET ['a']");
        expect(c, "msgpack", "OBJECT ENCODING c");
        expect(c, "-ERR *not tracked*", "OBJECT FREQ c");
        expect(c, "-ERR *not tracked*", "OBJECT IDLETIME c");
        expect(c, "-ERR The specified keys must contain string values", "LCS c none");
    }
    expect(c, "+OK", "SET s 1");
    expect(c, "raw", "OBJECT ENCODING s");
}

static void a_rename_is_one_transaction(void **state)
{
    char stamp[40];
    expect(c, "+OK", "MSET a 1 b 2");
    snprintf(stamp, sizeof stamp, "%s", ask(c, "KV.VERSION"));
    expect(c, "+OK", "RENAME a b");
    redisReply *r = ask_reply(c, "KV.CHANGES %s", stamp);
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    redisReply *changes = r->element[1];
    assert_int_equal(changes->elements, 2);
    assert_string_equal(changes->element[0]->element[2]->str, changes->element[1]->element[2]->str);
    freeReplyObject(r);
}

static void a_move_is_one_transaction_in_two_databases(void **state)
{
    char stamp[40];
    expect(c, "@", "KV.SET ['a'] {'x':[1,2]} EX 100");
    expect(c, ":1", "MOVE a 2");
    snprintf(stamp, sizeof stamp, "%s", ask(c, "KV.VERSION"));
    expect(c, "(nil)", "KV.GET ['a']");
    expect(c, "+OK", "SELECT 2");
    redisReply *r = ask_reply(c, "KV.GET ['a'] WITHVERSION");
    assert_string_equal(r->element[0]->str, "{\"x\":[1,2]}");
    assert_string_equal(r->element[1]->str, stamp);
    freeReplyObject(r);
    expect(c, ":~100", "TTL a");
    expect(c, "+OK", "SELECT 0");
}

/* The other database is full: nothing of it happens. */
static void a_swap_is_one_transaction_of_two_databases(void **state)
{
    static const char *const steps[][2] = {
        {"MSET both 1 mine 2", "+OK"},
        {"EXPIRE mine 100", ":1"},
        {"KV.SET ['t',1] {'$u64':'5'}", "@"},
        {"KV.INDEX CREATE i PREFIX ['t'] VALUE", "*"},
        {"SELECT 1", "+OK"},
        {"MSET both 10 theirs 20 z 30", "+OK"},
        {"SWAPDB 0 1", "+OK"},
        {"KEYS *", "[both mine]"},
        {"GET both", "1"},
        {"TTL mine", ":~100"},
        {"KV.GET ['t',1]", "{'$u64':'5'}"},
        {"DBSIZE", ":3"},
        {"SELECT 0", "+OK"},
        {"KEYS *", "[both theirs z]"},
        {"GET both", "10"},
        {"TTL theirs", ":-1"},
        {"KV.EXISTS ['t',1]", ":0"},
        {"SWAPDB 0 0", "+OK"},
        {"MULTI", "+OK"},
        {"SET new 1", "+QUEUED"},
        {"SWAPDB 1 0", "+QUEUED"},
        {"GET new", "+QUEUED"},
        {"GET both", "+QUEUED"},
        {"EXEC", "[+OK +OK (nil) 1]"},
        {"SELECT 1", "+OK"},
        {"KEYS *", "[both new theirs z]"},
        {"SWAPDB 0 shop", "-ERR invalid second DB index"},
        {"SWAPDB 16 0", "-ERR DB index is out of range"},
    };
    STEPS(steps);
}

static void a_swap_is_heard_of_and_has_limits(void **state)
{
    redisContext *d = testserver_connect(server);
    expect(c, "+OK", "SET k 1");
    expect(d, "*", "SUBSCRIBE kv:watch:k");
    expect(c, "+OK", "WATCH k");
    redisContext *other = testserver_connect(server);
    expect(other, "+OK", "SWAPDB 0 3");
    expect_next(d, "[message kv:watch:k *]");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "GET k");
    expect(c, "(nil)", "EXEC");
    expect(other, "+OK", "CONFIG SET max-transaction-ops 10");
    expect(other, "+OK", "MSET a 1 b 1 c 1 d 1");
    expect(other, "+OK", "SWAPDB 0 3");
    expect(other, "+OK", "MSET x 1");
    expect(other, "-LIMIT SWAPDB of more than 5 keys (half of max-transaction-ops)*", "SWAPDB 0 3");
    expect(other, "[k x]", "KEYS *");
    expect(other, "+OK", "CONFIG SET max-transaction-ops 20000");
    expect(other, "+OK", "CONFIG SET max-transaction-size 1mb");
    expect(other, ":600000", "SETRANGE y 599999 x");
    expect(other, ":600000", "SETRANGE z 599999 x");
    expect(other, "-LIMIT SWAPDB of*1048576 bytes (max-transaction-size)", "SWAPDB 0 3");
    expect(other, "+OK", "CONFIG SET max-transaction-size 64mb");
    expect(other, "+OK", "SWAPDB 0 3");
    expect(other, "[a b c d]", "KEYS *");
    redisFree(other);
    redisFree(d);
}

static void a_move_that_is_refused_leaves_the_key(void **state)
{
    expect(c, "*", "KV.DB CREATE full MAXENTRIES 1");
    expect(c, "+OK", "MSET a 1 b 2");
    expect(c, ":1", "MOVE a full");
    expect(c, "-QUOTA *", "MOVE b full");
    expect(c, "-QUOTA *", "COPY b c DB full");
    expect(c, "2", "GET b");
    expect(c, "*", "KV.DB DROP full");
    expect(c, "-ERR *", "MOVE b full");
    expect(c, "2", "GET b");
}

/* ---- DUMP, RESTORE --------------------------------------------------------------------------- */

static void what_was_dumped_is_restored(void **state)
{
    char value[100];
    for (size_t i = 0; i < sizeof any_values / sizeof any_values[0]; i++) {
        snprintf(value, sizeof value, "KV.SET ['a'] %s EX 100", any_values[i]);
        expect(c, "@", value);
        snprintf(value, sizeof value, "%s", ask(c, "KV.GET ['a']"));
        redisReply *d = ask_reply(c, "DUMP a");
        assert_int_equal(d->type, REDIS_REPLY_STRING);
        expect(c, "*", "DEL b");
        expect(c, "+OK", "RESTORE b 0 %b", d->str, d->len);
        expect(c, value, "KV.GET ['b']");
        expect(c, ":-1", "TTL b");
        expect(c, "-BUSYKEY Target key name already exists.", "RESTORE b 0 %b", d->str, d->len);
        expect(c, "+OK", "RESTORE b 50000 %b REPLACE IDLETIME 5", d->str, d->len);
        expect(c, ":~50", "TTL b");
        expect(c, "+OK", "RESTORE b 4000000000000 %b REPLACE ABSTTL FREQ 5", d->str, d->len);
        expect(c, ":4000000000000", "PEXPIRETIME b");
        expect(c, "+OK", "RESTORE b 1 %b REPLACE ABSTTL", d->str, d->len);
        expect(c, ":0", "EXISTS b");
        freeReplyObject(d);
    }
}

static void a_dump_that_is_not_whole_is_refused(void **state)
{
    static const char *const wrong = "-ERR DUMP payload version or checksum are wrong";
    expect(c, "+OK", "SET a hello");
    redisReply *d = ask_reply(c, "DUMP a");
    for (size_t i = 0; i < d->len; i++) {
        expect(c, wrong, "RESTORE b 0 %b", d->str, i);
        d->str[i] ^= 1;
        expect(c, wrong, "RESTORE b 0 %b", d->str, d->len);
        d->str[i] ^= 1;
    }
    /* What Redis 7 dumps of the same. */
    expect(c, wrong, "RESTORE b 0 %b", "\0\5hello\n\0\2\1\22\257\366\24\326\36", (size_t)17);
    expect(c, ":0", "EXISTS b");
    expect(c, "+OK", "RESTORE b 0 %b", d->str, d->len);
    freeReplyObject(d);
}

/* The checksum is right, the value is none. */
static void a_dump_of_no_value_is_refused(void **state)
{
    static const char forged[] = "TPLD\1\xc1";
    char whole[14];
    XXH64_hash_t sum = XXH3_64bits(forged, 6);
    memcpy(whole, forged, 6);
    for (int i = 0; i < 8; i++) whole[6 + i] = (char)(sum >> (8 * i));
    expect(c, "-ERR Bad data format", "RESTORE b 0 %b", whole, sizeof whole);
    expect(c, ":0", "EXISTS b");
}

/* ---- what takes long -------------------------------------------------------------------------- */

static void lcs_has_limits_and_lets_others_run(void **state)
{
    char *text = malloc(11001);
    for (int i = 0; i < 11000; i++) text[i] = (char)('a' + i * 7 % 23);
    expect(c, "+OK", "SET a %b", text, (size_t)11000);
    memmove(text, text + 5, 10995);
    expect(c, "+OK", "SET b %b", text, (size_t)11000);
    expect(c, "+OK", "SET big %b", text, (size_t)11001);
    expect(c, ":12000", "SETRANGE big 11999 x");
    redisContext *other = testserver_connect(server);
    expect(c, "+OK", "CONFIG RESETSTAT");
    long long turns = load_info(other, "loop_turns");
    say(c, "LCS a b LEN");
    load_flush(c);
    expect(other, "+PONG", "PING");
    expect(other, "+OK", "SET a changed");
    expect_next(c, ":10995");
    /* All of it in one turn is a second here, processor time. */
    assert_true(load_info(other, "loop_turns") - turns > 10);
    assert_in_range(load_info(c, "loop_turn_max_usec"), 1, testserver_turn_usec(300000));
    expect(c, "-LIMIT LCS of 12000 and 12000 bytes; *", "LCS big big");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "LCS b b LEN");
    expect(c, "-EXECABORT *LCS of 11000 and 11000 bytes; * in EXEC", "EXEC");
    redisFree(other);
    free(text);
}

static void bitop_has_a_limit_to_what_it_reads(void **state)
{
    expect(c, "+OK", "CONFIG SET max-transaction-size 1mb");
    expect(c, ":400000", "SETRANGE a 399999 x");
    expect(c, ":400000", "BITOP OR d a a");
    expect(c, "-LIMIT BITOP of more than max-transaction-size (1048576 bytes)", "BITOP OR d a a a");
    expect(c, "+OK", "CONFIG SET max-transaction-size 64mb");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(set_with_ifeq_compares),
        TEST(a_value_that_is_made_longer_has_the_limit_of_set),
        TEST(what_reads_alone_writes_nothing),
        TEST(watched_keys_see_what_these_commands_change),
        TEST(bits_beyond_the_limit_are_refused),
        TEST(values_of_any_kind_are_copied_and_renamed_whole),
        TEST(a_rename_is_one_transaction),
        TEST(a_move_is_one_transaction_in_two_databases),
        TEST(a_swap_is_one_transaction_of_two_databases),
        TEST(a_swap_is_heard_of_and_has_limits),
        TEST(a_move_that_is_refused_leaves_the_key),
        TEST(what_was_dumped_is_restored),
        TEST(a_dump_that_is_not_whole_is_refused),
        TEST(a_dump_of_no_value_is_refused),
        TEST(lcs_has_limits_and_lets_others_run),
        TEST(bitop_has_a_limit_to_what_it_reads),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
