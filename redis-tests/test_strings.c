/* The string view: GET, SET and relatives on plain keys, as Redis has them; SCAN, KEYS, RANDOMKEY.
 * test_strings_redis.c runs commands beside a real one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

#define LIMIT_MS 15000
#define KEYS_MAX 20000

static redisContext *c;

static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start_with("--databases", "16", NULL);
    return 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void expect_bytes(const char *key, const char *bytes, size_t len)
{
    redisReply *r = ask_reply(c, "GET %s", key);
    assert_int_equal(r->type, REDIS_REPLY_STRING);
    assert_int_equal(r->len, len);
    assert_memory_equal(r->str, bytes, len);
    freeReplyObject(r);
}

static void values_are_any_bytes(void **state)
{
    char all[256];
    for (int i = 0; i < 256; i++) all[i] = (char)i;
    expect(c, "+OK", "SET all %b", all, sizeof all);
    expect_bytes("all", all, sizeof all);
    expect(c, ":256", "STRLEN all");
    expect(c, ":512", "APPEND all %b", all, sizeof all);
    expect(c, "+OK", "SET empty %b", "", (size_t)0);
    expect_bytes("empty", "", 0);
    expect(c, ":0", "STRLEN empty");
    expect(c, ":1", "EXISTS empty");
    static const size_t sizes[] = {1, 255, 256, 65535, 65536, 1 << 20};
    char *big = malloc(1 << 20);
    for (size_t i = 0; i < 1 << 20; i++) big[i] = (char)(i * 7);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        expect(c, "+OK", "SET big %b", big, sizes[i]);
        expect_bytes("big", big, sizes[i]);
        expect(c, i == 0 ? ":2" : "*", "APPEND big x");
        assert_int_equal(ask_integer(c, "STRLEN big"), sizes[i] + 1);
    }
    free(big);
}

static void a_value_over_the_limit_is_refused(void **state)
{
    expect(c, "+OK", "CONFIG SET max-value-size 1kb");
    char *big = calloc(1, 2000);
    expect(c, "-LIMIT value of 1025 bytes is larger than max-value-size (1024)", "SET big %b", big,
           (size_t)1025);
    expect(c, "+OK", "SET big %b", big, (size_t)1015);
    expect(c, "-LIMIT value of 1025 *", "APPEND big 0123456789");
    expect(c, ":1015", "STRLEN big");
    /* The limit is of what the client sends, however it is kept. */
    expect(c, "+OK", "SET big %b", big, (size_t)1024);
    expect(c, ":1024", "STRLEN big");
    memset(big, 'x', 1026);
    big[0] = big[1025] = '"';
    expect(c, "@", "KV.SET ['text'] %b", big, (size_t)1026);
    expect(c, "*", "KV.ENQUEUE q %b", big, (size_t)1026);
    big[1025] = 'x';
    big[1026] = '"';
    expect(c, "-LIMIT value of 1025 *", "KV.SET ['text'] %b", big, (size_t)1027);
    expect(c, "-LIMIT value of 1025 *", "KV.ENQUEUE q %b", big, (size_t)1027);
    free(big);
    expect(c, "+OK", "CONFIG SET max-value-size 16mb");
}

/* They are keys of one bytes part. */
static void keys_that_are_not_utf8_are_bytes(void **state)
{
    static const char *const keys[] = {"a\xff", "\xff",         "\x80z",
                                       "\xc3",  "\xed\xa0\x80", "\xac\xed\x00\x05t\x00\x01k"};
    static const size_t lengths[] = {2, 1, 2, 1, 3, 8};
    for (size_t i = 0; i < 6; i++) {
        expect(c, "+OK", "SET %b %d", keys[i], lengths[i], (int)i);
        expect(c, ":1", "EXISTS %b", keys[i], lengths[i]);
        expect(c, ":1", "EXPIRE %b 1000", keys[i], lengths[i]);
        expect(c, "+string", "TYPE %b", keys[i], lengths[i]);
    }
    for (size_t i = 0; i < 6; i++) {
        char wanted[2] = {(char)('0' + i), '\0'};
        expect(c, wanted, "GET %b", keys[i], lengths[i]);
    }
    expect(c, "+OK", "SET plain v");
    /* Bytes that are UTF-8 after all, and longer tuples, are no plain keys. */
    expect(c, "@", "KV.SET [{'$bytes':'YWI='}] 1");
    expect(c, "@", "KV.SET [{'$bytes':'/w=='},1] 1");
    for (int i = 0; i < 20; i++) expect(c, "@", "KV.SET [{'$bytes':'gHo='},%d] 1", i);
    expect(c, "{'$bytes':'MA=='}", "KV.GET [{'$bytes':'Yf8='}]");
    static const char *const walks[] = {"SCAN 0 COUNT 100", "KEYS *"};
    for (size_t w = 0; w < 2; w++) {
        redisReply *r = ask_reply(c, walks[w]);
        const redisReply *names = w == 0 ? r->element[1] : r;
        size_t found = 0;
        assert_int_equal(names->elements, 7);
        for (size_t n = 0; n < 7; n++) {
            for (size_t i = 0; i < 6; i++) {
                found += names->element[n]->len == lengths[i] &&
                         memcmp(names->element[n]->str, keys[i], lengths[i]) == 0;
            }
        }
        assert_int_equal(found, 6);
        freeReplyObject(r);
    }
    /* A page at a time, each once. */
    size_t pages = 0;
    char cursor[32] = "0";
    do {
        redisReply *r = ask_reply(c, "SCAN %s COUNT 1", cursor);
        snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
        pages += r->element[1]->elements;
        freeReplyObject(r);
    } while (strcmp(cursor, "0") != 0);
    assert_int_equal(pages, 7);
    expect(c, ":1", "DEL %b", keys[0], lengths[0]);
    expect(c, "(nil)", "KV.GET [{'$bytes':'Yf8='}]");
    expect(c, "+OK", "RENAME %b plain2", keys[1], lengths[1]);
    expect(c, "1", "GET plain2");
}

static void keys_are_strings_and_say_so(void **state)
{
    static const struct {
        const char *key;
        size_t len;
        const char *tuple;
    } keys[] = {{"", 0, "['']"},
                {"a b", 3, "['a b']"},
                {"a\0b", 3, "['a\\u0000b']"},
                {"[", 1, "['[']"},
                {"[1]", 3, "['[1]']"},
                {"[\"a\"]", 5, "['[\\'a\\']']"},
                {"\xc3\xa9", 2, "['\xc3\xa9']"},
                {"{", 1, "['{']"},
                {"\xf0\x9f\x98\x80", 4, "['\xf0\x9f\x98\x80']"}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        expect(c, "+OK", "FLUSHALL");
        expect(c, "+OK", "SET %b v", keys[i].key, keys[i].len);
        expect(c, "v", "GET %b", keys[i].key, keys[i].len);
        char wanted[80];
        snprintf(wanted, sizeof wanted, "[0 [%s]]", keys[i].tuple);
        expect(c, wanted, "KV.LIST KEYSONLY");
        redisReply *r = ask_reply(c, "SCAN 0");
        assert_int_equal(r->element[1]->elements, 1);
        assert_int_equal(r->element[1]->element[0]->len, keys[i].len);
        assert_memory_equal(r->element[1]->element[0]->str, keys[i].key, keys[i].len);
        freeReplyObject(r);
        r = ask_reply(c, "RANDOMKEY");
        assert_int_equal(r->type, REDIS_REPLY_STRING);
        assert_int_equal(r->len, keys[i].len);
        assert_memory_equal(r->str, keys[i].key, keys[i].len);
        freeReplyObject(r);
        r = ask_reply(c, "KEYS *");
        assert_int_equal(r->elements, 1);
        assert_int_equal(r->element[0]->len, keys[i].len);
        freeReplyObject(r);
        expect(c, ":1", "DEL %b", keys[i].key, keys[i].len);
    }
    char *longest = calloc(1, 3000);
    memset(longest, 'k', 3000);
    expect(c, "+OK", "SET %b v", longest, (size_t)2046);
    expect(c, "v", "GET %b", longest, (size_t)2046);
    for (size_t len = 2047; len < 2051; len++) {
        expect(c, "-LIMIT invalid key: larger than 2048 bytes", "SET %b v", longest, len);
    }
    assert_int_equal(strlen(ask(c, "RANDOMKEY")), 2046);
    free(longest);
}

static void tuples_and_plain_keys_are_the_same_entries(void **state)
{
    expect(c, "@", "KV.SET ['a'] {'$bytes':'aGVsbG8='}");
    expect(c, "hello", "GET a");
    expect(c, ":6", "APPEND a !");
    expect(c, "{'$bytes':'aGVsbG8h'}", "KV.GET ['a']");
    expect(c, "+OK", "SET b 5");
    expect(c, ":6", "INCR b");
    expect(c, "[{'$bytes':'Ng=='} @]", "KV.GET ['b'] WITHVERSION");
    expect(c, "+OK", "KV.FORMAT MSGPACK");
    expect(c,
           "\xc4\x01"
           "6",
           "KV.GET ['b']");
    expect(c, ":2", "DEL a b");
    expect(c, ":0", "KV.COUNT");
    expect(c, "@", "KV.SET ['t'] %b EX 100", "\xc4\x01x", (size_t)3);
    expect(c, ":~100", "TTL t");
    expect(c, ":1", "PERSIST t");
    expect(c, ":-1", "KV.TTL ['t']");
}

static void other_values_are_the_wrong_type(void **state)
{
    static const struct {
        const char *value, *type;
    } values[] = {{"'text'", "+text"},
                  {"1", "+number"},
                  {"{}", "+object"},
                  {"[]", "+array"},
                  {"null", "+null"},
                  {"true", "+boolean"},
                  {"{'$bigint':'1'}", "+bigint"},
                  {"{'$u64':'1'}", "+u64"}};
    static const char *const wrong[] = {"GET k",
                                        "APPEND k x",
                                        "STRLEN k",
                                        "INCR k",
                                        "DECRBY k 2",
                                        "GETSET k x",
                                        "GETDEL k",
                                        "SET k x GET",
                                        "SET k x GET XX",
                                        "GETEX k",
                                        "GETEX k PERSIST",
                                        "GETRANGE k 0 1",
                                        "SUBSTR k 0 1",
                                        "SETRANGE k 0 x",
                                        "SETRANGE k 0 %s",
                                        "INCRBYFLOAT k 1",
                                        "SETBIT k 1 1",
                                        "GETBIT k 1",
                                        "BITCOUNT k",
                                        "BITPOS k 1",
                                        "BITFIELD k GET u8 0",
                                        "BITFIELD k SET u8 0 1",
                                        "BITFIELD_RO k GET u8 0",
                                        "BITOP OR d k",
                                        "BITOP NOT k k",
                                        "SET k x IFEQ 1"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char command[80];
        snprintf(command, sizeof command, "KV.SET ['k'] %s EX 1000", values[i].value);
        const char *stamp = ask(c, command);
        assert_true(text_fits(stamp, "@"));
        for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; w++) {
            expect(c, "-WRONGTYPE Operation against a key holding the wrong kind of value",
                   wrong[w], "");
        }
        expect(c, values[i].type, "TYPE k");
        expect(c, "[(nil) (nil)]", "MGET k none");
        expect(c, ":1", "EXISTS k");
        expect(c, ":0", "SETNX k x");
        expect(c, ":0", "MSETNX fresh x k x");
        assert_string_equal(ask(c, "KV.VERSION"), stamp);
        expect(c, ":1", "EXPIRE k 50");
        expect(c, ":~50", "TTL k");
        expect(c, "+OK", "SET k x");
        expect(c, "+string", "TYPE k");
    }
}

static void several_keys_are_set_in_one_transaction(void **state)
{
    expect(c, "+OK", "MSET a 1 b 2 c 3");
    redisReply *r = ask_reply(c, "KV.MGET ['a'] ['b'] ['c']");
    assert_string_equal(r->element[0]->element[1]->str, r->element[1]->element[1]->str);
    assert_string_equal(r->element[0]->element[1]->str, r->element[2]->element[1]->str);
    freeReplyObject(r);
    char long_key[2048];
    memset(long_key, 'k', sizeof long_key);
    expect(c, "-LIMIT invalid key: *", "MSET a 9 %b 9", long_key, sizeof long_key);
    expect(c, "1", "GET a");
    expect(c, "+OK", "MSET a 1 a 2");
    expect(c, "2", "GET a");
}

static void a_plain_key_is_gone_at_its_time(void **state)
{
    long until = testserver_now_ms() + LIMIT_MS;
    expect(c, "+OK", "SET a 1 PX 20");
    expect(c, "+OK", "SET b 1 PXAT 1");
    expect(c, "(nil)", "GET b");
    expect(c, ":0", "EXISTS b");
    while (strcmp(ask(c, "GET a"), "(nil)") != 0) {
        if (testserver_now_ms() > until) fail_msg("it does not expire");
        testserver_pause();
    }
    expect(c, ":-2", "TTL a");
    expect(c, "+none", "TYPE a");
    expect(c, "[]", "KEYS *");
    expect(c, "[0 []]", "SCAN 0");
    expect(c, "(nil)", "RANDOMKEY");
    expect(c, ":1", "INCR a");
    expect(c, ":-1", "TTL a");
}

static void times_beyond_all_clocks_are_refused(void **state)
{
    static const char *const commands[] = {
        "EXPIRE a %s",  "EXPIREAT a %s", "KV.EXPIRE ['a'] %s", "KV.EXPIREAT ['a'] %s",
        "SETEX a %s v", "SET a v EX %s", "SET a v EXAT %s",    "KV.SET ['a'] 1 EX %s"};
    static const char *const times[] = {"9223372036854775807", "-9223372036854775808",
                                        "9223372036854775"};
    expect(c, "+OK", "SET a 1");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        for (size_t k = 0; k < 2; k++) expect(c, "-ERR *", commands[i], times[k]);
    }
    expect(c, "-ERR *", "EXPIRE a %s", times[2]);
    expect(c, "-ERR *", "PEXPIRE a %s", times[0]);
    expect(c, "-ERR *", "PSETEX a %s v", times[0]);
    expect(c, "-ERR *", "KV.SET ['a'] 1 PX %s", times[0]);
    expect(c, "1", "GET a");
    expect(c, ":-1", "TTL a");
}

/* ---- SCAN ------------------------------------------------------------------------------------ */

static unsigned char seen[KEYS_MAX];

struct scanned {
    size_t calls, keys;
};

/* Follows the cursors from 0 to 0; keys are k<number>. `words`: MATCH and so on. */
static struct scanned scan_all(const char *words)
{
    struct scanned s = {0};
    char command[200];
    char cursor[40] = "0";
    memset(seen, 0, sizeof seen);
    do {
        snprintf(command, sizeof command, "SCAN %s %s", cursor, words);
        redisReply *r = ask_reply(c, command);
        if (r->type != REDIS_REPLY_ARRAY) fail_msg("%s: %s", command, r->str);
        assert_int_equal(r->elements, 2);
        assert_int_equal(r->element[0]->type, REDIS_REPLY_STRING);
        snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
        char *end = NULL;
        assert_true(strtoull(cursor, &end, 10) < 1ull << 53 && *end == '\0');
        for (size_t i = 0; i < r->element[1]->elements; i++) {
            const char *name = r->element[1]->element[i]->str;
            assert_int_equal(name[0], 'k');
            int n = atoi(name + 1);
            assert_in_range(n, 0, KEYS_MAX - 1);
            seen[n]++;
            s.keys++;
        }
        freeReplyObject(r);
        s.calls++;
    } while (strcmp(cursor, "0") != 0);
    return s;
}

static void fill(const char *command, int from, int to, int step, const char *wanted)
{
    size_t sent = 0;
    for (int i = from; i < to; i += step) {
        say(c, command, i, i, i);
        if (++sent % 1000 == 0) expect_many(c, 1000, wanted);
    }
    expect_many(c, sent % 1000, wanted);
}

static void scan_finds_every_plain_key_and_no_tuple(void **state)
{
    fill("SET k%d v", 0, 10000, 1, "+OK");
    fill("KV.ATOMIC SET ['k%d','x'] 1 SET ['k%d',1,2] 1 SET [%d] 2", 0, 10000, 10, "@");
    expect(c, "@", "KV.SET [1] 1");
    struct scanned s = scan_all("");
    assert_int_equal(s.keys, 10000);
    assert_true(s.calls <= 1010);
    for (int i = 0; i < 10000; i++) assert_int_equal(seen[i], 1);
    s = scan_all("COUNT 1000");
    assert_int_equal(s.keys, 10000);
    assert_true(s.calls <= 12);
    s = scan_all("COUNT 1000000");
    assert_int_equal(s.keys, 10000);
    s = scan_all("COUNT 100 MATCH k77*");
    assert_int_equal(s.keys, 111);
    assert_int_equal(seen[7700] + seen[77] + seen[777], 3);
    s = scan_all("MATCH nothing COUNT 3000");
    assert_int_equal(s.keys, 0);
    s = scan_all("TYPE string COUNT 3000");
    assert_int_equal(s.keys, 10000);
    expect(c, "@", "KV.SET ['k77'] 'text'");
    s = scan_all("TYPE text COUNT 3000 MATCH k7*");
    assert_int_equal(s.keys, 1);
    s = scan_all("TYPE hash COUNT 3000");
    assert_int_equal(s.keys, 0);
}

static void long_tuples_below_one_part_do_not_slow_scan(void **state)
{
    fill("KV.SET ['k5',%d] 1", 0, 100000, 1, "@");
    fill("SET k%d v", 0, 10, 1, "+OK");
    struct scanned s = scan_all("");
    assert_int_equal(s.keys, 10);
    assert_true(s.calls <= 2);
    double before_s = load_cpu_s(c);
    redisReply *r = ask_reply(c, "KEYS *");
    assert_int_equal(r->elements, 10);
    freeReplyObject(r);
    for (int i = 0; i < 20; i++) assert_int_equal(ask(c, "RANDOMKEY")[0], 'k');
    assert_true(load_cpu_s(c) - before_s < 2);
}

/* What was deleted lies in memory for a while: many rows that are passed, none that is found. */
static void deleted_tuples_do_not_keep_scan_in_place(void **state)
{
    fill("KV.SET ['k1',%d] 1", 0, 20, 1, "@");
    fill("KV.SET ['k2',%d] 1", 0, 9000, 1, "@");
    expect(c, "+OK", "SET k3 v");
    expect(c, ":9000", "KV.DELRANGE PREFIX ['k2']");
    static const char *const commands[] = {"SCAN 0", "KEYS *", "RANDOMKEY"};
    for (size_t i = 0; i < 3; i++) {
        say(c, commands[i]);
        load_flush(c);
        if (!load_is_readable(c, 3000)) fail_msg("%s has not ended after 3 s", commands[i]);
        expect_next(c, i == 0 ? "[0 [k3]]" : i == 1 ? "[k3]" : "k3");
    }
}

static void keys_that_stay_are_found_whatever_is_written_meanwhile(void **state)
{
    char cursor[40] = "0";
    fill("SET k%d v", 0, 4000, 2, "+OK");
    memset(seen, 0, sizeof seen);
    size_t calls = 0;
    do {
        redisReply *r = ask_reply(c, "SCAN %s COUNT 50", cursor);
        assert_int_equal(r->type, REDIS_REPLY_ARRAY);
        snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
        for (size_t i = 0; i < r->element[1]->elements; i++) {
            int n = atoi(r->element[1]->element[i]->str + 1);
            seen[n]++;
            /* The last one told goes, and with it the place of the cursor. */
            if (i + 1 == r->element[1]->elements && n % 4 == 2) expect(c, ":1", "DEL k%d", n);
        }
        freeReplyObject(r);
        expect(c, "+OK", "SET k%d v", (int)(calls * 37 % 2000) * 2 + 1);
        calls++;
    } while (strcmp(cursor, "0") != 0);
    for (int i = 0; i < 4000; i += 2) assert_int_equal(seen[i], 1);
    for (int i = 1; i < 4000; i += 2) assert_true(seen[i] <= 1);
}

static void wrong_and_forgotten_cursors_are_refused(void **state)
{
    fill("SET k%d v", 0, 100, 1, "+OK");
    static const char *const wrong[] = {"abc", "-1", "1.5", "99999999999999999999", "0x1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        expect(c, "-ERR invalid cursor", "SCAN %s", wrong[i]);
    }
    expect(c, "-ERR invalid cursor: unknown or expired; start again with 0", "SCAN 12345");
    char cursor[40];
    redisReply *r = ask_reply(c, "SCAN 0");
    snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
    freeReplyObject(r);
    expect(c, "[* [*]]", "SCAN %s", cursor);
    expect(c, "[* [*]]", "SCAN %s", cursor); /* as often as one likes */
    expect(c, "+OK", "SELECT 1");
    expect(c, "-ERR invalid cursor: *", "SCAN %s", cursor);
    expect(c, "+OK", "SELECT 0");
    for (int i = 0; i < 4096; i++) say(c, "SCAN 0");
    expect_many(c, 4096, "[* [*]]");
    expect(c, "-ERR invalid cursor: unknown or expired; start again with 0", "SCAN %s", cursor);
}

static void a_cursor_does_not_survive_a_restart(void **state)
{
    char cursor[40];
    fill("SET k%d v", 0, 100, 1, "+OK");
    redisReply *r = ask_reply(c, "SCAN 0");
    snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
    freeReplyObject(r);
    group_again(false);
    expect(c, "-ERR invalid cursor: *", "SCAN %s", cursor);
    assert_int_equal(scan_all("COUNT 7").keys, 100);
}

static void an_empty_database_is_scanned_at_once(void **state)
{
    expect(c, "[0 []]", "SCAN 0");
    expect(c, "[]", "KEYS *");
    expect(c, "(nil)", "RANDOMKEY");
    expect(c, "@", "KV.SET ['only','tuples'] 1");
    expect(c, "[0 []]", "SCAN 0");
    expect(c, "[]", "KEYS *");
    expect(c, "(nil)", "RANDOMKEY");
}

static void keys_matches_globs(void **state)
{
    expect(c, "+OK", "MSET hello 1 hallo 1 hxllo 1 heello 1 other 1 h*llo 1");
    expect(c, "[h*llo hallo heello hello hxllo]", "KEYS h*llo");
    expect(c, "[h*llo hallo hello hxllo]", "KEYS h?llo");
    expect(c, "[hallo hello]", "KEYS h[ae]llo");
    expect(c, "[h*llo hallo hxllo]", "KEYS h[^e]llo");
    expect(c, "[hallo]", "KEYS h[a-b]llo");
    expect(c, "[h*llo]", "KEYS h\\*llo");
    expect(c, "[]", "KEYS H*");
    expect(c, "[other]", "KEYS other");
}

static void a_random_key_is_one_of_them(void **state)
{
    unsigned different = 0;
    fill("SET k%d v", 0, 200, 1, "+OK");
    fill("KV.SET ['k%d','x'] 1", 0, 200, 1, "@");
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < 400; i++) {
        const char *name = ask(c, "RANDOMKEY");
        int n = atoi(name + 1);
        assert_in_range(n, 0, 199);
        different += seen[n]++ == 0;
    }
    assert_true(different > 5);
}

/* ---- EXPIRE: options and bounds, in Redis 7.0's words ----------------------------------------- */

static void expire_takes_options_and_times_as_redis_does(void **state)
{
    static const char *const nx = "-ERR NX and XX, GT or LT options at the same time are not "
                                  "compatible";
    static const char *const gt = "-ERR GT and LT options at the same time are not compatible";
    const char *steps[][2] = {
        {"SET a 1", "+OK"},
        {"EXPIRE a 100 XX GT", ":0"}, /* no expiry */
        {"EXPIRE a 100 LT XX", ":0"},
        {"EXPIRE a 100 NX XX", nx},
        {"EXPIRE a 100 NX GT", nx},
        {"PEXPIRE a 100 LT NX", nx},
        {"EXPIRE a 100 XX GT LT", gt},
        {"EXPIRE a 100 NX FOO XX", "-ERR Unsupported option FOO"},
        {"EXPIRE a 100", ":1"},
        {"EXPIRE a 50 XX GT", ":0"},
        {"EXPIRE a 200 XX GT", ":1"},
        {"EXPIRE a 300 XX LT", ":0"},
        {"EXPIRE a 150 LT XX", ":1"},
        {"EXPIRE a 9223372036854775807", "-ERR invalid expire time in 'expire' command"},
        {"EXPIRE a 9223372036854775", "-ERR invalid expire time in 'expire' command"},
        {"EXPIRE a -9223372036854776", "-ERR invalid expire time in 'expire' command"},
        {"PEXPIRE a 9223372036854775807", "-ERR invalid expire time in 'pexpire' command"},
        {"EXPIREAT a 9223372036854775807", "-ERR invalid expire time in 'expireat' command"},
        {"PEXPIREAT a 9223372036854775808", "-ERR value is not an integer or out of range*"},
        {"KV.EXPIRE ['a'] 9223372036854775", "-ERR invalid expire time in 'kv.expire' command"},
        {"TTL a", ":~150"},
        {"PEXPIREAT a 9223372036854775807", ":1"},
        {"PTTL a", ":922337*"},
        {"TTL a", ":922337*"},
        {"SET a 1 PXAT 9223372036854775807", "+OK"},
        {"PTTL a", ":922337*"},
        {"SET a 1 PX 9223372036854775807", "-ERR invalid expire time in 'set' command*"},
        {"PEXPIRE a -9223372036854775808", ":1"},
        {"EXISTS a", ":0"},
    };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        expect(c, steps[i][1], steps[i][0]);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(values_are_any_bytes),
        TEST(a_value_over_the_limit_is_refused),
        TEST(keys_that_are_not_utf8_are_bytes),
        TEST(keys_are_strings_and_say_so),
        TEST(tuples_and_plain_keys_are_the_same_entries),
        TEST(other_values_are_the_wrong_type),
        TEST(several_keys_are_set_in_one_transaction),
        TEST(a_plain_key_is_gone_at_its_time),
        TEST(times_beyond_all_clocks_are_refused),
        TEST(scan_finds_every_plain_key_and_no_tuple),
        TEST(long_tuples_below_one_part_do_not_slow_scan),
        TEST(deleted_tuples_do_not_keep_scan_in_place),
        TEST(keys_that_stay_are_found_whatever_is_written_meanwhile),
        TEST(wrong_and_forgotten_cursors_are_refused),
        TEST(a_cursor_does_not_survive_a_restart),
        TEST(an_empty_database_is_scanned_at_once),
        TEST(keys_matches_globs),
        TEST(a_random_key_is_one_of_them),
        TEST(expire_takes_options_and_times_as_redis_does),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
