/* Long values and many keys: values that a thread decodes while their command waits, and commands that
 * read thousands of keys in slices, answer as short ones do, byte for byte, in order, as of one moment,
 * whichever clients go away meanwhile. tsan server: yes
 */
#include <setjmp.h>
#include <signal.h>
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

#define LONG_MEMBERS 40000 /* some 600 KB of JSON: more than is decoded by the loop */
#define KEYS 3000          /* more than are read at once */
#define ROUNDS 20
#define WAIT_MS 20000

static redisContext *c;

/* {"k0":[0,"x"], ... , "last":LAST}; to be freed. */
static char *object(const char *last)
{
    char *text = malloc((size_t)LONG_MEMBERS * 24 + strlen(last) + 32);
    size_t len = 0;
    assert_non_null(text);
    text[len++] = '{';
    for (int i = 0; i < LONG_MEMBERS; i++)
        len += (size_t)sprintf(text + len, "\"k%d\":[%d,\"x\"],", i, i);
    sprintf(text + len, "\"last\":%s}", last);
    return text;
}

static void expect_get(const char *key, const char *wanted)
{
    redisReply *r = redisCommand(c, "KV.GET %s", key);
    assert_non_null(r);
    assert_int_equal(r->type, REDIS_REPLY_STRING);
    assert_int_equal(r->len, strlen(wanted));
    assert_memory_equal(r->str, wanted, r->len);
    freeReplyObject(r);
}

static void what_is_set_is_what_is_read(void **state)
{
    char *text = object("1");
    long long ahead = load_info(c, "values_decoded_aside");
    expect(c, "@", "KV.SET [\"o\"] %s", text);
    assert_int_equal(load_info(c, "values_decoded_aside"), ahead + 1);
    expect_get("[\"o\"]", text);
    /* The same as MessagePack, which is what it is kept as. */
    redisReply *r = redisCommand(c, "KV.GET [\"o\"] FORMAT MSGPACK");
    assert_int_equal(r->type, REDIS_REPLY_STRING);
    expect(c, "@", "KV.SET [\"p\"] %b FORMAT MSGPACK", r->str, r->len);
    freeReplyObject(r);
    expect_get("[\"p\"]", text);
    assert_int_equal(load_info(c, "values_decoded_aside"), ahead + 2);
    free(text);
}

/* What is wrong is said as of a short one, and nothing is written. */
static void what_is_wrong_is_told(void **state)
{
    char *text = object("nul");
    char *tagged = object("{\"$bigint\":\"x\"}");
    expect(c, "@", "KV.SET [\"e\"] 1");
    expect(c, "-ERR invalid value: *", "KV.SET [\"e\"] %s", text);
    expect(c, "-ERR invalid value: *", "KV.SET [\"e\"] %s", tagged);
    expect(c, "-ERR *", "KV.ATOMIC SET [\"f\"] 1 SET [\"e\"] %s", text);
    expect(c, "-ERR invalid value: *", "KV.SET [\"e\"] %b FORMAT MSGPACK", text, strlen(text));
    expect(c, "1", "KV.GET [\"e\"]");
    expect(c, "(nil)", "KV.GET [\"f\"]");
    free(text);
    free(tagged);
}

/* Several in one command, in EXEC, repeated by IDEM, with a placeholder, which only the transaction knows. */
static void transactions_have_them_too(void **state)
{
    char *one = object("1");
    char *two = object("2");
    char *stamped = object("{\"$versionstamp\":true}");
    expect(c, "@", "KV.ATOMIC SET [\"a\"] %s SET [\"b\"] %s ENQUEUE q %s", one, two, one);
    expect_get("[\"a\"]", one);
    expect_get("[\"b\"]", two);
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.SET [\"a\"] %s", two);
    expect(c, "+QUEUED", "KV.SET [\"b\"] %s", one);
    expect(c, "+QUEUED", "KV.DEL [\"none\"]");
    expect(c, "[@ @ :0]", "EXEC");
    expect_get("[\"a\"]", two);
    expect_get("[\"b\"]", one);
    char stamp[32];
    snprintf(stamp, sizeof stamp, "%s", ask(c, "KV.SET [\"i\"] %s IDEM once", one));
    expect(c, stamp, "KV.SET [\"i\"] %s IDEM once", one);
    expect(c, "-ERR *", "KV.SET [\"i\"] %s IDEM once", two);
    expect(c, "@", "KV.SET [\"s\"] %s", stamped);
    redisReply *r = redisCommand(c, "KV.GET [\"s\"] WITHVERSION");
    assert_int_equal(r->elements, 2);
    char end[64];
    int len = snprintf(end, sizeof end, "\"last\":\"%s\"}", r->element[1]->str);
    assert_string_equal(r->element[0]->str + r->element[0]->len - len, end);
    freeReplyObject(r);
    free(one);
    free(two);
    free(stamped);
}

/* The replies of a client come in the order of its commands; those who go away take nothing with them. */
static void others_are_served_and_order_is_kept(void **state)
{
    char *one = object("1");
    redisContext *other = testserver_connect(server);
    for (int i = 0; i < ROUNDS; i++) {
        say(c, "KV.SET [\"n\"] %s", one);
        say(c, "KV.SET [\"n\"] %d", i);
        say(c, "KV.GET [\"n\"]");
        load_flush(c);
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        expect(other, "+OK", "SET %s 1", name);
        redisContext *gone = testserver_connect(server);
        say(gone, "KV.SET [\"gone\"] %s", one);
        say(gone, "KV.GET [\"gone\"]");
        load_flush(gone);
        redisFree(gone);
        expect_next(c, "@");
        expect_next(c, "@");
        char wanted[16];
        snprintf(wanted, sizeof wanted, "%d", i);
        expect_next(c, wanted);
    }
    redisFree(other);
    free(one);
}

/* ---- many keys ---- */

static void set_all(redisContext *on, int n)
{
    const char **argv = calloc(2 * KEYS + 1, sizeof *argv);
    char(*names)[16] = calloc(KEYS, sizeof *names);
    char value[16];
    assert_non_null(argv);
    assert_non_null(names);
    snprintf(value, sizeof value, "%d", n);
    argv[0] = "MSET";
    for (int i = 0; i < KEYS; i++) {
        snprintf(names[i], sizeof names[i], "m%d", i);
        argv[1 + 2 * i] = names[i];
        argv[2 + 2 * i] = value;
    }
    assert_int_equal(redisAppendCommandArgv(on, 2 * KEYS + 1, argv, NULL), REDIS_OK);
    free(argv);
    free(names);
}

/* The command about all of them, twice that about the first, and about one that is not there. */
static void append_all(redisContext *on, const char *command, const char *pattern)
{
    const char **argv = calloc(KEYS + 4, sizeof *argv);
    char(*names)[24] = calloc(KEYS + 3, sizeof *names);
    assert_non_null(argv);
    assert_non_null(names);
    argv[0] = command;
    for (int i = 0; i < KEYS + 3; i++) {
        int of = i < KEYS ? i : i < KEYS + 2 ? 0 : 1000000;
        snprintf(names[i], sizeof names[i], pattern, of);
        argv[1 + i] = names[i];
    }
    assert_int_equal(redisAppendCommandArgv(on, KEYS + 4, argv, NULL), REDIS_OK);
    free(argv);
    free(names);
}

static redisReply *next(redisContext *on)
{
    redisReply *r = NULL;
    assert_int_equal(redisGetReply(on, (void **)&r), REDIS_OK);
    return r;
}

static void many_keys_are_read_as_few_are(void **state)
{
    set_all(c, 7);
    expect_next(c, "+OK");
    expect(c, "@", "KV.SET [\"m5\"] {\"a\":1}"); /* no bytes: nil to MGET */
    append_all(c, "MGET", "m%d");
    redisReply *r = next(c);
    assert_int_equal(r->elements, KEYS + 3);
    for (size_t i = 0; i < r->elements; i++) {
        bool is_nil = i == 5 || i == KEYS + 2;
        assert_int_equal(r->element[i]->type, is_nil ? REDIS_REPLY_NIL : REDIS_REPLY_STRING);
        if (!is_nil) assert_string_equal(r->element[i]->str, "7");
    }
    freeReplyObject(r);
    append_all(c, "EXISTS", "m%d");
    expect_next(c, ":3002");
    append_all(c, "TOUCH", "m%d");
    expect_next(c, ":3002");
    append_all(c, "KV.EXISTS", "[\"m%d\"]");
    expect_next(c, ":3002");
    append_all(c, "KV.MGET", "[\"m%d\"]");
    r = next(c);
    assert_int_equal(r->elements, KEYS + 3);
    assert_string_equal(r->element[5]->element[0]->str, "{\"a\":1}");
    assert_int_equal(r->element[KEYS + 2]->type, REDIS_REPLY_NIL);
    assert_string_equal(r->element[KEYS]->element[1]->str, r->element[0]->element[1]->str);
    freeReplyObject(r);
    /* Within a transaction, which sees its own. */
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "DEL m0");
    append_all(c, "EXISTS", "m%d");
    expect_next(c, "+QUEUED");
    expect(c, "[:1 :2999]", "EXEC");
    append_all(c, "EXISTS", "m%d[");
    expect_next(c, ":0");
    append_all(c, "KV.EXISTS", "[\"m%d\"");
    expect_next(c, "-ERR invalid key: *");
}

/* All are as of one moment, while another client changes all of them again and again. */
static void many_keys_are_read_as_of_one_moment(void **state)
{
    redisContext *writer = testserver_connect(server);
    set_all(c, 0);
    expect_next(c, "+OK");
    for (int round = 1; round <= ROUNDS; round++) {
        append_all(c, "MGET", "m%d");
        load_flush(c);
        for (int i = 0; i < 3; i++) set_all(writer, 10 * round + i);
        load_flush(writer);
        redisReply *r = next(c);
        assert_int_equal(r->elements, KEYS + 3);
        for (size_t i = 1; i < KEYS + 2; i++) {
            assert_string_equal(r->element[i]->str, r->element[0]->str);
        }
        freeReplyObject(r);
        for (int i = 0; i < 3; i++) expect_next(writer, "+OK");
    }
    redisFree(writer);
}

/* However many read so much at once: they wait for one another, and none is refused. */
static void many_clients_read_much_at_once(void **state)
{
    enum { MANY = 80, ROWS = 1000 };
    static redisContext *all[MANY];
    char *text = malloc(1001);
    memset(text, 'x', 1000);
    text[1000] = '\0';
    set_all(c, 1);
    expect_next(c, "+OK");
    for (int i = 0; i < ROWS; i++) say(c, "KV.SET [\"row\",%d] \"%s\"", i, text);
    expect_many(c, ROWS, "@");
    expect(c, "+OK", "KV.INDEX CREATE rows PREFIX [\"row\"] ON 1 $");
    for (int i = 0; i < MANY; i++) {
        all[i] = testserver_connect(server);
        append_all(all[i], "MGET", "m%d");
        append_all(all[i], "EXISTS", "m%d");
        say(all[i], "KV.LIST PREFIX [\"row\"] LIMIT 1000");
        say(all[i], "KV.FIND rows LIMIT 1000");
    }
    for (int i = 0; i < MANY; i++) load_flush(all[i]);
    for (int i = 0; i < MANY / 4; i++) redisFree(all[i]); /* whatever they wait for */
    for (int i = MANY / 4; i < MANY; i++) {
        redisReply *r = next(all[i]);
        if (r->type != REDIS_REPLY_ARRAY) fail_msg("client %d: MGET: %s", i, r->str);
        assert_int_equal(r->elements, KEYS + 3);
        freeReplyObject(r);
        expect_next(all[i], ":3002");
        for (int k = 0; k < 2; k++) {
            r = next(all[i]);
            if (r->type != REDIS_REPLY_ARRAY) fail_msg("client %d: a page: %s", i, r->str);
            assert_int_equal(r->element[1]->elements, ROWS);
            freeReplyObject(r);
        }
        redisFree(all[i]);
    }
    free(text);
}

/* How often a command was run, as INFO commandstats has it. */
static long long calls_of(const char *info, const char *command)
{
    char name[64];
    snprintf(name, sizeof name, "cmdstat_%s:calls=", command);
    const char *at = strstr(info, name);
    return at == NULL ? 0 : strtoll(at + strlen(name), NULL, 10);
}

/* All of `slow` ask for what takes long, and then `quick`, while the server is stopped: how many of
 * them were served before it. */
static long long served_before(redisContext *quick, redisContext *const *slow, int count)
{
    expect(c, "+OK", "CONFIG RESETSTAT");
    expect(quick, "+PONG", "PING");
    assert_int_equal(kill(testserver_pid(server), SIGSTOP), 0);
    for (int i = 0; i < count; i++) {
        say(slow[i], "DEBUG SLEEP 0.02");
        load_flush(slow[i]);
    }
    say(quick, "INFO commandstats");
    load_flush(quick);
    assert_int_equal(kill(testserver_pid(server), SIGCONT), 0);
    redisReply *r = next(quick);
    long long calls = calls_of(r->str, "debug");
    freeReplyObject(r);
    for (int i = 0; i < count; i++) expect_next(slow[i], "+OK");
    r = ask_reply(c, "INFO commandstats");
    assert_int_equal(calls_of(r->str, "debug"), count);
    freeReplyObject(r);
    return calls;
}

/* A client whose last command took long is behind those that are quick, though it asked before them.
 * On a crowded machine a PING may seem to have taken long, too: then once more. */
static void those_that_took_long_come_last(void **state)
{
    enum { SLOW = 10 };
    redisContext *slow[SLOW];
    redisContext *quick = testserver_connect(server);
    for (int i = 0; i < SLOW; i++) {
        slow[i] = testserver_connect(server);
        expect(slow[i], "+OK", "DEBUG SLEEP 0.02");
    }
    long long calls = SLOW;
    for (int tries = 0; tries < 10 && calls > 1; tries++) calls = served_before(quick, slow, SLOW);
    assert_in_range(calls, 0, 1); /* one may have been begun before the others came */
    for (int i = 0; i < SLOW; i++) redisFree(slow[i]);
    redisFree(quick);
}

/* While a page of large entries is made, a client that asked after it is served. */
static void a_page_lets_others_run_by_its_bytes(void **state)
{
    enum { ROWS = 100, BYTES = 50000 };
    char *text = malloc(BYTES + 1);
    memset(text, 'x', BYTES);
    text[BYTES] = '\0';
    for (int i = 0; i < ROWS; i++) say(c, "KV.SET [\"page\",%d] \"%s\"", i, text);
    expect_many(c, ROWS, "@");
    expect(c, "+OK", "KV.INDEX CREATE pages PREFIX [\"page\"] ON 1 $");
    static const char *const pages[][2] = {{"KV.LIST PREFIX [\"page\"]", "kv.list"},
                                           {"KV.FIND pages", "kv.find"}};
    redisContext *other = testserver_connect(server);
    for (int i = 0; i < 2; i++) {
        expect(c, "+OK", "CONFIG RESETSTAT");
        assert_int_equal(kill(testserver_pid(server), SIGSTOP), 0);
        say(c, pages[i][0]);
        load_flush(c);
        say(other, "INFO commandstats");
        load_flush(other);
        assert_int_equal(kill(testserver_pid(server), SIGCONT), 0);
        redisReply *r = next(other);
        assert_int_equal(calls_of(r->str, pages[i][1]), 0); /* it has begun, and not ended */
        freeReplyObject(r);
        r = next(c);
        assert_int_equal(r->element[1]->elements, ROWS);
        freeReplyObject(r);
    }
    redisFree(other);
    free(text);
}

/* A client that caches what it reads is told of a change that comes while it is being answered. */
static void many_keys_that_are_cached_are_told_of(void **state)
{
    redisContext *writer = testserver_connect(server);
    redisContext *told = testserver_connect(server);
    char id[32];
    snprintf(id, sizeof id, "%s", ask(told, "CLIENT ID") + 1);
    expect(told, "[subscribe * :1]", "SUBSCRIBE __redis__:invalidate");
    expect(c, "+OK", "CLIENT TRACKING ON REDIRECT %s", id);
    set_all(writer, 0);
    expect_next(writer, "+OK");
    for (int round = 1; round <= ROUNDS; round++) {
        char value[16];
        snprintf(value, sizeof value, "%d", round);
        append_all(c, "MGET", "m%d");
        load_flush(c);
        expect(writer, "+OK", "SET m0 %s", value);
        redisReply *r = next(c);
        bool is_old = strcmp(r->element[0]->str, value) != 0;
        freeReplyObject(r);
        if (!is_old) expect(writer, "+OK", "SET m0 again");
        if (!load_is_readable(told, WAIT_MS)) fail_msg("round %d: it is not told", round);
        expect_next(told, "[message __redis__:invalidate [m0]]");
    }
    redisFree(told);
    redisFree(writer);
}

/* What must be read in one turn is bounded. */
static void many_keys_of_one_moment_are_so_many(void **state)
{
    enum { MOST = 200000 };
    const char **argv = calloc(MOST + 2, sizeof *argv);
    redisContext *told = testserver_connect(server);
    char id[32];
    snprintf(id, sizeof id, "%s", ask(told, "CLIENT ID") + 1);
    assert_non_null(argv);
    expect(c, "+OK", "SET m0 1");
    argv[0] = "EXISTS";
    for (int i = 0; i <= MOST; i++) argv[1 + i] = "m0";
    for (int is_tracked = 0; is_tracked < 2; is_tracked++) {
        if (is_tracked) expect(c, "+OK", "CLIENT TRACKING ON REDIRECT %s", id);
        assert_int_equal(redisAppendCommandArgv(c, MOST + 2, argv, NULL), REDIS_OK);
        expect_next(c, is_tracked ? "-LIMIT more keys than can be read at once (200000) *"
                                  : ":200001");
    }
    redisFree(told);
    free(argv);
}

static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start_with("--max-transaction-ops", "100000", "--enable-debug-command",
                                   "local", NULL);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_set_is_what_is_read),
        TEST(what_is_wrong_is_told),
        TEST(transactions_have_them_too),
        TEST(others_are_served_and_order_is_kept),
        TEST(many_keys_are_read_as_few_are),
        TEST(many_keys_are_read_as_of_one_moment),
        TEST(many_keys_that_are_cached_are_told_of),
        TEST(many_keys_of_one_moment_are_so_many),
        TEST(many_clients_read_much_at_once),
        TEST(those_that_took_long_come_last),
        TEST(a_page_lets_others_run_by_its_bytes),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
