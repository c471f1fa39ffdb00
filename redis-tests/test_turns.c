/* No client may stop the loop: what one asks for, or leaves when it goes, is done in parts small
 * enough for all other clients to be served between them. What is measured is the processor time of
 * turns of the loop (INFO loop_turn_max_usec), so that a crowded machine makes no difference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "load_help.h"

#define LIMIT_MS 60000
#define TURN_USEC_MAX 250000

/* The release build: a sanitizer's times say little. */
static struct testserver *start_release(void)
{
    return testserver_start(&(struct testserver_options){.is_release = true});
}

static void expect_short_turns(redisContext *c, const char *what)
{
    long long usec = load_info(c, "loop_turn_max_usec");
    printf("# %s: %lld ms\n", what, usec / 1000);
    if (usec > testserver_turn_usec(TURN_USEC_MAX))
        fail_msg("%s: a turn took %lld ms", what, usec / 1000);
}

static void wait_for_info(redisContext *c, const char *field, long long wanted)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (load_info(c, field) != wanted) {
        if (testserver_now_ms() > until) fail_msg("%s is not %lld", field, wanted);
        testserver_pause();
    }
}

/* SUBSCRIBE kv:watch:k/#<from> ..., and everything that it answers. */
static void watch_keys(redisContext *l, int from, int count)
{
    const char **argv = calloc((size_t)count + 1, sizeof *argv);
    char(*names)[32] = calloc((size_t)count, sizeof *names);
    assert_non_null(argv);
    assert_non_null(names);
    argv[0] = "SUBSCRIBE";
    for (int i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "kv:watch:k/#%d", from + i);
        argv[i + 1] = names[i];
    }
    assert_int_equal(redisAppendCommandArgv(l, count + 1, argv, NULL), REDIS_OK);
    for (int i = 0; i < 2 * count; i++) { /* confirmations, first states */
        redisReply *r = NULL;
        assert_int_equal(redisGetReply(l, (void **)&r), REDIS_OK);
        assert_int_equal(r->type, REDIS_REPLY_ARRAY);
        freeReplyObject(r);
    }
    free(argv);
    free(names);
}

/* One transaction that sets count keys, with a value of this many bytes. */
static void set_keys(redisContext *c, int from, int count, int bytes)
{
    const char **argv = calloc(3 * (size_t)count + 1, sizeof *argv);
    char(*names)[32] = calloc((size_t)count, sizeof *names);
    char *value = calloc(1, (size_t)bytes + 3);
    assert_non_null(argv);
    assert_non_null(names);
    assert_non_null(value);
    memset(value, 'v', (size_t)bytes + 2);
    value[0] = value[bytes + 1] = '"';
    argv[0] = "KV.ATOMIC";
    for (int i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "[\"k\",%d]", from + i);
        argv[3 * i + 1] = "SET";
        argv[3 * i + 2] = names[i];
        argv[3 * i + 3] = value;
    }
    redisReply *r = redisCommandArgv(c, 3 * count + 1, argv, NULL);
    assert_non_null(r);
    if (r->type != REDIS_REPLY_STRING) fail_msg("KV.ATOMIC: %s", r->str);
    freeReplyObject(r);
    free(argv);
    free(names);
    free(value);
}

#define WATCHED 30000

static void a_client_with_many_watches_and_notes_may_go(void **state)
{
    struct testserver *s = start_release();
    redisContext *c = testserver_connect(s);
    redisContext *l = testserver_connect(s);
    for (int i = 0; i < WATCHED; i += 1000) watch_keys(l, i, 1000);
    /* It does not read: after some messages every change is a note. */
    for (int i = 0; i < WATCHED; i += 1000) set_keys(c, i, 1000, 300);
    expect_short_turns(c, "making notes");
    redisFree(l);
    wait_for_info(c, "connected_clients", 1);
    wait_for_info(c, "pubsub_channels", 0);
    expect_short_turns(c, "the end of a client with notes");
    redisFree(c);
    testserver_free(s);
}

static void a_transaction_among_many_watched_keys_and_a_pattern(void **state)
{
    struct testserver *s = start_release();
    redisContext *c = testserver_connect(s);
    redisContext *l = testserver_connect(s);
    redisContext *p = testserver_connect(s);
    for (int i = 0; i < WATCHED; i += 1000) watch_keys(l, i, 1000);
    expect(p, "[psubscribe kv:watch:z* :1]", "PSUBSCRIBE kv:watch:z*");
    set_keys(c, WATCHED, 5000, 10);
    expect_short_turns(c, "5,000 changes among 30,000 watched keys");
    expect(c, "+OK", "FLUSHDB");
    expect(c, "+PONG", "PING");
    expect_short_turns(c, "a flush");
    say(l, "RESET");
    for (bool is_reset = false; !is_reset;) { /* the messages of the flush come first */
        redisReply *r = NULL;
        assert_int_equal(redisGetReply(l, (void **)&r), REDIS_OK);
        is_reset = r->type == REDIS_REPLY_STATUS && strcmp(r->str, "RESET") == 0;
        freeReplyObject(r);
    }
    wait_for_info(c, "pubsub_channels", 0);
    expect_short_turns(c, "RESET");
    redisFree(p);
    redisFree(l);
    redisFree(c);
    testserver_free(s);
}

#define PATTERNS 2000

/* Two thousand patterns that match everything, and a transaction of 5,000 changes: ten million
 * messages, of which a slow reader gets the newest state of each key. */
static void a_transaction_for_many_patterns_is_told_in_turns(void **state)
{
    struct testserver *s = start_release();
    redisContext *c = testserver_connect(s);
    redisContext *p = testserver_connect(s);
    for (int i = 0; i < PATTERNS; i++) say(p, "PSUBSCRIBE kv:watch:k*/#%d*", i);
    for (int i = 0; i < PATTERNS; i++) expect_next(p, "[psubscribe * *]");
    set_keys(c, 0, 5000, 10);
    expect(c, "+PONG", "PING");
    /* k/#1999 is matched by *1*, *19*, *199* and *1999*: the newest state, whichever way. */
    bool is_told = false;
    while (!is_told) {
        redisReply *r = NULL;
        assert_int_equal(redisGetReply(p, (void **)&r), REDIS_OK);
        assert_int_equal(r->elements, 4);
        is_told = strcmp(r->element[1]->str, "kv:watch:k*/#4*") == 0 &&
                  strcmp(r->element[2]->str, "kv:watch:k/#4999") == 0;
        if (is_told) assert_non_null(strstr(r->element[3]->str, "\"value\":\"vvvvvvvvvv\""));
        freeReplyObject(r);
    }
    expect_short_turns(c, "5,000 changes for 2,000 patterns");
    redisFree(p);
    redisFree(c);
    testserver_free(s);
}

#define CHANNELS 40000

static void unsubscribing_from_everything_takes_turns(void **state)
{
    struct testserver *s = start_release();
    redisContext *c = testserver_connect(s);
    redisContext *l = testserver_connect(s);
    char wanted[64];
    for (int i = 0; i < CHANNELS; i++) say(l, "SUBSCRIBE c%d", i);
    for (int i = 0; i < CHANNELS; i++) expect_next(l, "[subscribe * *]");
    say(l, "UNSUBSCRIBE");
    for (int i = 0; i < CHANNELS; i++) {
        snprintf(wanted, sizeof wanted, "[unsubscribe c%d :%d]", i, CHANNELS - 1 - i);
        expect_next(l, wanted);
    }
    expect(l, "+PONG", "PING");
    expect_short_turns(c, "UNSUBSCRIBE");
    redisFree(l);
    redisFree(c);
    testserver_free(s);
}

static void too_many_names_in_one_subscribe_are_refused(void **state)
{
    enum { COUNT = 10001 };
    static const char *argv[COUNT + 1];
    struct testserver *s = testserver_start(NULL);
    redisContext *c = testserver_connect(s);
    static const char *const words[] = {"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE"};
    for (int i = 1; i <= COUNT; i++) argv[i] = "x";
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        argv[0] = words[i];
        redisReply *r = redisCommandArgv(c, COUNT + 1, argv, NULL);
        assert_non_null(r);
        assert_int_equal(r->type, REDIS_REPLY_ERROR);
        assert_non_null(strstr(r->str, "of 10001 names; the maximum for one command is 10000"));
        freeReplyObject(r);
    }
    expect(c, "+PONG", "PING");
    redisFree(c);
    testserver_free(s);
}

#define PAGES 30

/* Thirty clients that ask for 15 MB each, all in one turn. */
static void many_large_pages_are_made_in_many_turns(void **state)
{
    struct testserver *s = start_release();
    redisContext *c = testserver_connect(s);
    redisContext *l[PAGES];
    for (int i = 0; i < 1500; i += 100) set_keys(c, i, 100, 10000);
    expect(c, "[0 *]", "KV.LIST PREFIX ['k'] LIMIT 10000"); /* it is in memory now */
    for (int i = 0; i < PAGES; i++) l[i] = testserver_connect(s);
    expect(c, "+OK", "CONFIG RESETSTAT");
    expect(c, "+OK", "CLIENT PAUSE 200");
    for (int i = 0; i < PAGES; i++) {
        say(l[i], "KV.LIST PREFIX ['k'] LIMIT 10000");
        load_flush(l[i]);
    }
    for (int i = 0; i < PAGES; i++) {
        redisReply *r = NULL;
        assert_int_equal(redisGetReply(l[i], (void **)&r), REDIS_OK);
        if (r->type != REDIS_REPLY_ARRAY) fail_msg("KV.LIST: %s", r->str);
        assert_int_equal(r->element[1]->elements, 1500);
        freeReplyObject(r);
        redisFree(l[i]);
    }
    expect_short_turns(c, "thirty pages of 15 MB");
    redisFree(c);
    testserver_free(s);
}

#define HUGE_BYTES (100 << 20)

/* A word that can never be right is not looked at to its end. */
static void a_huge_argument_where_a_short_one_belongs(void **state)
{
    static const char *const commands[] = {
        "KV.LIST PREFIX ['k'] CURSOR %b",
        "KV.SCAN %b",
        "KV.FIND ix CURSOR %b",
        "KV.CHANGES %b",
        "KV.CHECK ['k'] %b",
        "KV.ACK %b",
        "KV.DEQUEUE %b",
        "KV.DLQ LIST q CURSOR %b",
        "KV.DLQ GET q %b",
        "KV.INDEX INFO %b",
        "KV.FIND %b x",
        "KV.SEARCH %b x",
        "KV.SET ['k'] 1 IFVERSION %b",
        "KV.SET ['k'] 1 IDEM %b",
        "KV.ENQUEUE q 1 DEDUP %b",
        "KV.POLL KEYS 1 ['k'] %b",
        "SELECT %b",
        "CLIENT SETNAME %b",
        "KV.GET %b",
        "GET %b",
        "KV.LIST PREFIX %b",
        "SUBSCRIBE %b",
        "SUBSCRIBE kv:watch:%b",
        "PSUBSCRIBE %b",
        "KV.LIST PREFIX ['k'] LIMIT %b",
        "CONFIG GET %b",
        "CONFIG SET maxclients %b",
        "%b",
        "CLIENT %b",
        "KV.INDEX CREATE %b PREFIX ['k'] ON 1 a",
        "KV.NACK %b",
        "SCAN %b",
    };
    static const char fills[] = {'A', '0', '[', '"'};
    static const char *const args[] = {"--max-value-size", "1mb", NULL};
    struct testserver *s = testserver_start(
        &(struct testserver_options){.is_release = true, .args = args});
    redisContext *c = testserver_connect(s);
    char *huge = malloc(HUGE_BYTES);
    assert_non_null(huge);
    expect(c, "+OK", "KV.INDEX CREATE ix PREFIX ['i'] ON 1 a");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        memset(huge, fills[i % sizeof fills], HUGE_BYTES);
        if (strstr(commands[i], "CURSOR") != NULL) memset(huge, 'A', HUGE_BYTES);
        redisReply *r = redisCommand(c, commands[i], huge, (size_t)HUGE_BYTES);
        if (r == NULL) fail_msg("%s: %s", commands[i], c->errstr);
        if (r->type != REDIS_REPLY_ERROR) fail_msg("%s: no error", commands[i]);
        freeReplyObject(r);
        expect_short_turns(c, commands[i]);
        expect(c, "+OK", "CONFIG RESETSTAT");
    }
    free(huge);
    redisFree(c);
    testserver_free(s);
}

#define CHANNEL_BYTES 16384
#define GLOBS 15000

static void expect_message(redisContext *l, const char *payload)
{
    redisReply *r = NULL;
    assert_int_equal(redisGetReply(l, (void **)&r), REDIS_OK);
    assert_int_equal(r->elements, 4);
    assert_string_equal(r->element[3]->str, payload);
    freeReplyObject(r);
}

/* Half a second of matching: all listeners hear all messages in one order, each reply counts them,
 * and a message that began goes to all although its publisher is gone. */
static void publishing_among_many_patterns_takes_turns(void **state)
{
    struct testserver *s = start_release();
    redisContext *p = testserver_connect(s);
    redisContext *first = testserver_connect(s);
    redisContext *last = testserver_connect(s);
    redisContext *c = testserver_connect(s);
    redisContext *d = testserver_connect(s);
    char *channel = malloc(CHANNEL_BYTES);
    assert_non_null(channel);
    memset(channel, 'a', CHANNEL_BYTES);
    expect(first, "[psubscribe * :1]", "PSUBSCRIBE *");
    for (int i = 0; i < GLOBS; i++) say(p, "PSUBSCRIBE *a%d", i);
    for (int i = 0; i < GLOBS; i++) expect_next(p, "[psubscribe * *]");
    expect(last, "[psubscribe * :1]", "PSUBSCRIBE a**");
    expect(c, "+OK", "CONFIG RESETSTAT");
    say(c, "PUBLISH %b one", channel, (size_t)CHANNEL_BYTES);
    load_flush(c);
    expect_message(first, "one"); /* told, the others are not yet */
    say(d, "PUBLISH ab two");
    load_flush(d);
    expect_next(c, ":2");
    expect_next(d, ":2");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "PUBLISH %b three", channel, (size_t)CHANNEL_BYTES);
    expect(c, "+QUEUED", "PUBLISH abc four");
    expect(c, "[:2 :2]", "EXEC");
    say(c, "PUBLISH %b five", channel, (size_t)CHANNEL_BYTES);
    load_flush(c);
    expect_message(first, "two");
    expect_message(first, "three");
    expect_message(first, "four");
    expect_message(first, "five");
    redisFree(c);
    expect(d, ":2", "PUBLISH a six");
    static const char *const wanted[] = {"one", "two", "three", "four", "five", "six"};
    for (int i = 0; i < 6; i++) expect_message(last, wanted[i]);
    expect_message(first, "six");
    expect_short_turns(d, "messages among 15,000 patterns");
    free(channel);
    redisFree(p);
    redisFree(first);
    redisFree(last);
    redisFree(d);
    testserver_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_with_many_watches_and_notes_may_go),
        cmocka_unit_test(a_transaction_among_many_watched_keys_and_a_pattern),
        cmocka_unit_test(a_transaction_for_many_patterns_is_told_in_turns),
        cmocka_unit_test(unsubscribing_from_everything_takes_turns),
        cmocka_unit_test(too_many_names_in_one_subscribe_are_refused),
        cmocka_unit_test(many_large_pages_are_made_in_many_turns),
        cmocka_unit_test(publishing_among_many_patterns_takes_turns),
        cmocka_unit_test(a_huge_argument_where_a_short_one_belongs),
    };
    return cmocka_run_group_tests_name("turns", tests, NULL, NULL);
}
