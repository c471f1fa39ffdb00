/* The string view: GET, SET and relatives on plain keys, as Redis has them; SCAN, KEYS, RANDOMKEY.
 * One part runs the same commands against a real redis-server, when there is one. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "load_help.h"

#define LIMIT_MS 15000
#define KEYS_MAX 20000

static struct testserver *server;
static redisContext *c;

static int start(void **state)
{
    server = testserver_start_with("--databases", "16", NULL);
    return 0;
}

static int stop(void **state)
{
    testserver_free(server);
    return 0;
}

static int enter(void **state)
{
    c = testserver_connect(server);
    expect(c, "+OK", "FLUSHALL");
    return 0;
}

static int leave(void **state)
{
    redisFree(c);
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
    expect(c, "-ERR value of 1025 bytes is larger than max-value-size (1024)", "SET big %b", big,
           (size_t)1022);
    expect(c, "+OK", "SET big %b", big, (size_t)1015);
    expect(c, "-ERR value of *", "APPEND big 0123456789");
    expect(c, ":1015", "STRLEN big");
    free(big);
    expect(c, "+OK", "CONFIG SET max-value-size 16mb");
}

static void keys_are_strings_and_say_so(void **state)
{
    static const char *const commands[] = {"GET %b",  "SET %b v",  "DEL %b",
                                           "INCR %b", "TTL %b",    "EXISTS %b",
                                           "TYPE %b", "MGET a %b", "EXPIRE %b 1"};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        expect(c, "-ERR invalid key: not UTF-8 at offset 1; a plain key is a string", commands[i],
               "a\xff", (size_t)2);
    }
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
        expect(c, "-ERR invalid key: larger than 2048 bytes", "SET %b v", longest, len);
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
    expect(c, ":100", "TTL t");
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
    static const char *const wrong[] = {"GET k",    "APPEND k x",  "STRLEN k",
                                        "INCR k",   "DECRBY k 2",  "GETSET k x",
                                        "GETDEL k", "SET k x GET", "SET k x GET XX"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char command[80];
        snprintf(command, sizeof command, "KV.SET ['k'] %s EX 1000", values[i].value);
        const char *stamp = ask(c, command);
        assert_true(text_fits(stamp, "@"));
        for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; w++) {
            expect(c, "-WRONGTYPE Operation against a key holding the wrong kind of value",
                   wrong[w]);
        }
        expect(c, values[i].type, "TYPE k");
        expect(c, "[(nil) (nil)]", "MGET k none");
        expect(c, ":1", "EXISTS k");
        expect(c, ":0", "SETNX k x");
        assert_string_equal(ask(c, "KV.VERSION"), stamp);
        expect(c, ":1", "EXPIRE k 50");
        expect(c, ":50", "TTL k");
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
    expect(c, "-ERR invalid key: *", "MSET a 9 %b 9", "\xff", (size_t)1);
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
        "EXPIRE a %s",        "PEXPIRE a %s",         "EXPIREAT a %s",       "PEXPIREAT a %s",
        "KV.EXPIRE ['a'] %s", "KV.EXPIREAT ['a'] %s", "SETEX a %s v",        "PSETEX a %s v",
        "SET a v EX %s",      "SET a v PXAT %s",      "KV.SET ['a'] 1 PX %s"};
    static const char *const times[] = {"9223372036854775807", "-9223372036854775808",
                                        "9223372036854775"};
    expect(c, "+OK", "SET a 1");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        for (size_t k = 0; k < 2; k++) expect(c, "-ERR *", commands[i], times[k]);
    }
    expect(c, "-ERR *", "EXPIRE a %s", times[2]);
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
    long before_ms = testserver_now_ms();
    redisReply *r = ask_reply(c, "KEYS *");
    assert_int_equal(r->elements, 10);
    freeReplyObject(r);
    for (int i = 0; i < 20; i++) assert_int_equal(ask(c, "RANDOMKEY")[0], 'k');
    assert_true(testserver_now_ms() - before_ms < 2000);
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
    expect(c, "-ERR invalid cursor: unknown or forgotten; begin again with 0", "SCAN 12345");
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
    expect(c, "-ERR invalid cursor: unknown or forgotten; begin again with 0", "SCAN %s", cursor);
}

static void a_cursor_does_not_survive_a_restart(void **state)
{
    char cursor[40];
    fill("SET k%d v", 0, 100, 1, "+OK");
    redisReply *r = ask_reply(c, "SCAN 0");
    snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
    freeReplyObject(r);
    redisFree(c);
    testserver_stop(server);
    testserver_again(server);
    c = testserver_connect(server);
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

/* ---- beside a real Redis --------------------------------------------------------------------- */

/* Run one after another on both; each reply must be the same, but that an error of ours may go on
 * where Redis's ends. %s is an empty word. KEYS and SCAN: in any order. */
static const char *const both[] = {
    "FLUSHALL",
    "SET a 1",
    "GET a",
    "GET none",
    "SET a 2 NX",
    "SET b 2 XX",
    "GET b",
    "SET a 3 XX",
    "SET a 4 GET",
    "SET n GET",
    "SET n 1 GET",
    "SET n 2 XX GET",
    "SET n2 2 XX GET",
    "SET n 3 NX GET",
    "SET n3 3 NX GET",
    "GET n3",
    "set A 1 nx",
    "SET a 1 EX 100",
    "TTL a",
    "SET a 1 KEEPTTL",
    "TTL a",
    "SET a 1",
    "TTL a",
    "SET a 1 PX 100000",
    "TTL a",
    "SET a 1 EXAT 4000000000",
    "SET a 1 PXAT 4000000000000",
    "SET a 1 px 100000 nx get",
    "SET a 1 EX 0",
    "SET a 1 EX -1",
    "SET a 1 EX abc",
    "SET a 1 EX 1.5",
    "SET a 1 EX 10 PX 10",
    "SET a 1 EX 10 KEEPTTL",
    "SET a 1 KEEPTTL EX 10",
    "SET a 1 NX XX",
    "SET a 1 XX NX",
    "SET a 1 FOO",
    "SET a 1 EX",
    "SET a",
    "SET",
    "SET a 1 EX 9223372036854775807",
    "SET a 1 EX 9223372036854775808",
    "SET a 1 PX 9223372036854775807",
    "SET a 1 EXAT 1",
    "GET a",
    "SET a 1 PXAT 1",
    "EXISTS a",

    "SET a %s",
    "GET a",
    "STRLEN a",
    "SETNX a 1",
    "SETNX fresh 1",
    "GET fresh",
    "SETNX fresh",
    "SETEX a 10 x",
    "TTL a",
    "GET a",
    "SETEX a 0 x",
    "SETEX a -1 x",
    "SETEX a abc x",
    "SETEX a 10",
    "SETEX a 9223372036854775807 x",
    "PSETEX a 100000 x",
    "TTL a",
    "PSETEX a 0 x",
    "PSETEX a abc x",
    "GETSET a y",
    "TTL a",
    "GETSET new z",
    "GETSET new",
    "GETDEL new",
    "GETDEL new",
    "GETDEL",
    "MGET a b none",
    "MGET",
    "MSET a 1 b 2",
    "MGET a b",
    "MSET a 1 b",
    "MSET a",
    "MSET",
    "MSET a 1 a 2",
    "GET a",
    "DEL a b none a",
    "DEL",
    "DEL none",
    "MSET a 1 b 2",
    "UNLINK a b none",
    "UNLINK",
    "SET a 1",
    "EXISTS a a b",
    "EXISTS",
    "TYPE a",
    "TYPE none",
    "TYPE",
    "TYPE a b",
    "TTL none",
    "PTTL none",
    "TTL a",
    "PTTL a",
    "TTL",
    "PTTL",
    "EXPIRE none 10",
    "EXPIRE a 100",
    "TTL a",
    "EXPIRE a 100 NX",
    "EXPIRE a 200 XX",
    "TTL a",
    "EXPIRE a 100 GT",
    "EXPIRE a 300 GT",
    "TTL a",
    "EXPIRE a 400 LT",
    "EXPIRE a 50 LT",
    "TTL a",
    "PERSIST a",
    "PERSIST a",
    "PERSIST none",
    "PERSIST",
    "TTL a",
    "EXPIRE a 100 GT",
    "EXPIRE a 100 XX",
    "EXPIRE a 100 LT",
    "TTL a",
    "PERSIST a",
    "EXPIRE a 100 NX",
    "EXPIRE a abc",
    "EXPIRE a",
    "EXPIRE a 1.5",
    "EXPIRE a 0",
    "EXISTS a",
    "SET a 1",
    "EXPIRE a -1",
    "EXISTS a",
    "SET a 1",
    "PEXPIRE a 100000",
    "TTL a",
    "PEXPIRE a 0",
    "EXISTS a",
    "SET a 1",
    "EXPIREAT a 4000000000",
    "EXPIREAT a 1",
    "EXISTS a",
    "SET a 1",
    "PEXPIREAT a 4000000000000",
    "PEXPIREAT a 1",
    "EXISTS a",
    "PEXPIRE a abc",
    "EXPIREAT a abc",
    "INCR n5",
    "INCR n5",
    "DECR n5",
    "DECR n6",
    "INCRBY n5 10",
    "DECRBY n5 3",
    "GET n5",
    "INCRBY n5 abc",
    "INCRBY n5 1.5",
    "INCRBY n5 +1",
    "INCRBY n5 01",
    "INCRBY n5 -5",
    "INCRBY n5",
    "INCR",
    "INCRBY n5 9223372036854775807",
    "INCRBY n5 9223372036854775808",
    "SET n5 9223372036854775807",
    "INCR n5",
    "GET n5",
    "DECR n5",
    "SET n5 -9223372036854775808",
    "DECR n5",
    "INCR n5",
    "DECRBY n5 -9223372036854775808",
    "SET n5 text",
    "INCR n5",
    "SET n5 01",
    "INCR n5",
    "SET n5 +1",
    "INCR n5",
    "SET n5 %s",
    "INCR n5",
    "SET n5 -0",
    "INCR n5",
    "SET n5 1.0",
    "INCR n5",
    "SET n5 9223372036854775808",
    "INCR n5",
    "SET n5 -1",
    "INCR n5",
    "SET n5 1 EX 100",
    "INCR n5",
    "TTL n5",
    "APPEND n5 x",
    "TTL n5",
    "GET n5",
    "APPEND ap abc",
    "APPEND ap %s",
    "APPEND new2 %s",
    "EXISTS new2",
    "STRLEN ap",
    "STRLEN none",
    "STRLEN",
    "APPEND ap",
    "STRLEN a b",
    "SCAN abc",
    "SCAN 0 COUNT 0",
    "SCAN 0 COUNT abc",
    "SCAN 0 FOO",
    "SCAN 0 MATCH",
    "SCAN 0 COUNT",
    "SCAN",
    "SCAN 0 COUNT 1000",
    "SCAN 0 COUNT 1000 MATCH n*",
    "SCAN 0 COUNT 1000 TYPE string",
    "SCAN 0 TYPE hash COUNT 1000",
    "KEYS *",
    "KEYS n?",
    "KEYS [ab]",
    "KEYS",
    "KEYS a b",
    "RANDOMKEY a",
    "FLUSHDB",
    "RANDOMKEY",
    "DBSIZE",
    "KEYS *",
    "SCAN 0",
    /* transactions */
    "EXEC",
    "DISCARD",
    "MULTI",
    "MULTI",
    "WATCH a",
    "SET a 1",
    "INCR a",
    "GET a",
    "EXEC",
    "EXEC",
    "MULTI",
    "NOSUCH",
    "SET a 5",
    "EXEC",
    "MULTI",
    "SET a",
    "EXEC",
    "MULTI",
    "SET a 9",
    "DISCARD",
    "GET a",
    "MULTI",
    "EXEC",
    "MULTI foo",
    "DISCARD foo",
    "WATCH",
    "UNWATCH",
    "UNWATCH a",
    "WATCH a",
    "SET a 1",
    "MULTI",
    "PING",
    "EXEC",
    "MULTI",
    "PING",
    "EXEC",
    "WATCH a",
    "UNWATCH",
    "SET a 1",
    "MULTI",
    "UNWATCH",
    "PING",
    "SELECT 1",
    "SET a 1",
    "EXEC",
    "GET a",
    "SELECT 0",
    "MULTI",
    "DISCARD",
    "MULTI",
    "RESET",
    "EXEC",
    "SELECT 99",
    "SELECT a",
    /* connections */
    "WAIT 0 0",
    "WAIT 1 5",
    "WAIT",
    "WAIT 0 abc",
    "WAIT 0 -1",
    "CLIENT PAUSE abc",
    "CLIENT PAUSE -1",
    "CLIENT PAUSE 1 FOO",
    "CLIENT PAUSE",
    "CLIENT UNPAUSE",
    "CLIENT UNPAUSE 1",
    "CLIENT PAUSE 0",
    "CLIENT PAUSE 0 WRITE",
    "CLIENT PAUSE 0 ALL",
    "CLIENT UNBLOCK 99999",
    "CLIENT UNBLOCK abc",
    "CLIENT UNBLOCK 1 FOO",
    "CLIENT UNBLOCK 99999 ERROR",
    "CLIENT UNBLOCK",
    "CLIENT REPLY FOO",
    "CLIENT REPLY ON",
    "CLIENT REPLY",
    "CLIENT NO-EVICT FOO",
    "CLIENT NO-EVICT ON",
    "CLIENT NO-EVICT off",
    "BGSAVE FOO",
    "SAVE FOO",
    "LASTSAVE FOO",
};

static int by_text(const void *a, const void *b)
{
    const redisReply *const *x = a;
    const redisReply *const *y = b;
    return strcmp((*x)->str, (*y)->str);
}

static void write_flat(FILE *f, redisReply *r, bool is_sorted)
{
    switch (r->type) {
    case REDIS_REPLY_INTEGER: fprintf(f, ":%lld", r->integer); return;
    case REDIS_REPLY_NIL: fputs("(nil)", f); return;
    case REDIS_REPLY_ARRAY:
        if (is_sorted && r->elements > 0 && r->element[0]->type == REDIS_REPLY_STRING &&
            r->element[r->elements - 1]->type == REDIS_REPLY_STRING) {
            qsort(r->element, r->elements, sizeof r->element[0], by_text);
        }
        fputc('[', f);
        for (size_t i = 0; i < r->elements; i++) {
            fputs(i > 0 ? " " : "", f);
            write_flat(f, r->element[i], is_sorted);
        }
        fputc(']', f);
        return;
    default:
        fprintf(f, "%s%.*s",
                r->type == REDIS_REPLY_STATUS  ? "+"
                : r->type == REDIS_REPLY_ERROR ? "-"
                                               : "",
                (int)r->len, r->str);
    }
}

/* Free it. */
static char *told(redisContext *by, const char *command)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    redisReply *r = redisCommand(by, command, "");
    if (r == NULL) fail_msg("%s: %s", command, by->errstr);
    write_flat(f, r, strncmp(command, "KEYS", 4) == 0 || strncmp(command, "SCAN", 4) == 0);
    freeReplyObject(r);
    fclose(f);
    return text;
}

static pid_t redis_start(char *dir, redisContext **to)
{
    char socket[120];
    snprintf(dir, 100, "/tmp/tupled-redis-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(socket, sizeof socket, "%s/s", dir);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", socket, "--save", "",
               "--dir", dir, "--logfile", "log", (char *)NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    long until = testserver_now_ms() + LIMIT_MS;
    for (;;) {
        *to = redisConnectUnix(socket);
        if ((*to)->err == 0) return pid;
        redisFree(*to);
        if (testserver_now_ms() > until) fail_msg("redis-server does not start");
        testserver_pause();
    }
}

static void redis_stop(pid_t pid, const char *dir)
{
    char path[120];
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    snprintf(path, sizeof path, "%s/log", dir);
    unlink(path);
    snprintf(path, sizeof path, "%s/s", dir);
    unlink(path);
    snprintf(path, sizeof path, "%s/dump.rdb", dir);
    unlink(path);
    rmdir(dir);
}

static void the_string_view_answers_as_redis_does(void **state)
{
    char dir[100];
    redisContext *redis = NULL;
    size_t different = 0;
    if (system("redis-server --version >/dev/null 2>&1") != 0) {
        printf("# no redis-server: nothing to compare with\n");
        skip();
    }
    pid_t pid = redis_start(dir, &redis);
    for (size_t i = 0; i < sizeof both / sizeof both[0]; i++) {
        char *wanted = told(redis, both[i]);
        char *got = told(c, both[i]);
        bool is_same = strcmp(wanted, got) == 0 ||
                       (wanted[0] == '-' && strncmp(wanted, got, strlen(wanted)) == 0);
        if (!is_same) {
            fprintf(stderr, "%zu: %s\n  redis: %s\n   ours: %s\n", i, both[i], wanted, got);
            different++;
        }
        free(wanted);
        free(got);
    }
    redisFree(redis);
    redis_stop(pid, dir);
    assert_int_equal(different, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(values_are_any_bytes),
        TEST(a_value_over_the_limit_is_refused),
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
        TEST(the_string_view_answers_as_redis_does),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
