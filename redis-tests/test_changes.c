/* KV.CHANGES as its readers meet it: rows and pages, filters, BLOCK, STALE, restarts; and that a
 * copy made by the procedure of docs/changes.md is the data.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

#define LIMIT_MS 20000
#define NOTHING_MS 50 /* what has not come by then does not come */

static redisContext *c, *d;

static int start(void **state)
{
    group_opens(&c, &d, NULL);
    server = testserver_start_with("--journal-segment-size", "4mb", "--max-transaction-size", "2mb",
                                   NULL);
    group_connect();
    return 0;
}

/* A copy of what a helper may overwrite later. */
struct stamp {
    char text[32];
};

static struct stamp stamp_of(const char *text)
{
    struct stamp s;
    snprintf(s.text, sizeof s.text, "%s", text);
    assert_true(text_fits(text, "@"));
    return s;
}

static struct stamp now(void)
{
    return stamp_of(ask(c, "KV.VERSION"));
}

/* The command must answer this, exactly: versionstamps as given. */
static void expect_rows(struct stamp next, const char *rows, const char *command)
{
    char wanted[1024];
    snprintf(wanted, sizeof wanted, "[%s %s]", next.text, rows);
    const char *got = ask(c, command);
    if (strcmp(got, wanted) != 0) fail_msg("%s: %s, not %s", command, got, wanted);
}

static const char *text(const char *format, ...)
{
    static char texts[32][512];
    static unsigned at;
    char *t = texts[at++ % 32];
    va_list args;
    va_start(args, format);
    vsnprintf(t, sizeof texts[0], format, args);
    va_end(args);
    return t;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void a_new_database_has_its_whole_history(void **state)
{
    expect(c, "[00000000000000000000 []]", "KV.CHANGES 0");
    expect(c, "[00000000000000000000 []]", "KV.CHANGES 00000000000000000000");
    struct stamp a = stamp_of(ask(c, "KV.SET ['a'] {'n':1}"));
    struct stamp b = stamp_of(ask(c, "KV.SET ['b',2] 'x'"));
    struct stamp gone = stamp_of((ask(c, "KV.DEL ['a']"), ask(c, "KV.VERSION")));
    expect_rows(gone,
                text("[[['a'] {'n':1} %s (nil)] [['b',2] 'x' %s (nil)] [['a'] (nil) %s (nil)]]",
                     a.text, b.text, gone.text),
                "KV.CHANGES 0");
    expect_rows(gone, text("[[['a'] (nil) %s (nil)]]", gone.text), text("KV.CHANGES %s", b.text));
    expect_rows(gone, "[]", text("KV.CHANGES %s COUNT 1", gone.text));
}

static void resp3_and_messagepack_have_the_same_shape(void **state)
{
    struct stamp v = now();
    struct stamp s = stamp_of(ask(c, "KV.SET ['m'] 5"));
    int fd = raw_connect(server);
    char command[128];
    char wanted[256];
    raw_send(fd, "HELLO 3\r\nECHO end\r\n", 19);
    while (strcmp(raw_line(fd), "end") != 0) continue;
    snprintf(command, sizeof command, "KV.CHANGES %s\r\n", v.text);
    raw_say(fd, command);
    snprintf(wanted, sizeof wanted,
             "*2\r\n$20\r\n%s\r\n*1\r\n*4\r\n$5\r\n[\"m\"]\r\n$1\r\n5\r\n$20\r\n%s\r\n_\r\n",
             s.text, s.text);
    raw_expect(fd, wanted);
    raw_send(fd, "KV.FORMAT MSGPACK\r\n", 19);
    raw_expect(fd, "+OK\r\n");
    raw_say(fd, command);
    snprintf(wanted, sizeof wanted,
             "*2\r\n$20\r\n%s\r\n*1\r\n*4\r\n$3\r\n\x91\xa1m\r\n$1\r\n\x05\r\n$20\r\n%s\r\n_\r\n",
             s.text, s.text);
    raw_expect(fd, wanted);
    close(fd);
    fd = raw_connect(server);
    raw_say(fd, command);
    snprintf(wanted, sizeof wanted,
             "*2\r\n$20\r\n%s\r\n*1\r\n*4\r\n$5\r\n[\"m\"]\r\n$1\r\n5\r\n$20\r\n%s\r\n$-1\r\n",
             s.text, s.text);
    raw_expect(fd, wanted);
    close(fd);
}

/* Between what a client was told when it began to listen and what it reads then there is no gap. */
static void what_is_committed_before_it_is_read_is_there(void **state)
{
    struct stamp v = now();
    (void)state;
    for (int i = 0; i < 50; i++) {
        redisReply *set = NULL;
        redisReply *changes = NULL;
        redisAppendCommand(c, "KV.SET [\"p\",%d] %d", i, i);
        redisAppendCommand(c, "KV.CHANGES %s PREFIX [\"p\"]", v.text);
        assert_int_equal(redisGetReply(c, (void **)&set), REDIS_OK);
        assert_int_equal(redisGetReply(c, (void **)&changes), REDIS_OK);
        assert_int_equal(changes->element[1]->elements, 1);
        assert_string_equal(changes->element[0]->str, set->str);
        v = stamp_of(set->str);
        freeReplyObject(set);
        freeReplyObject(changes);
    }
}

static void count_rounds_up_to_the_whole_commit(void **state)
{
    struct stamp v = now();
    struct stamp a = stamp_of(ask(c, "KV.SET ['c',1] 1"));
    struct stamp b = stamp_of(ask(c, "KV.ATOMIC SET ['c',2] 2 SET ['c',3] 3 DEL ['c',1]"));
    struct stamp e = stamp_of(ask(c, "KV.SET ['c',4] 4"));
    const char *first = text("[['c',1] 1 %s (nil)]", a.text);
    const char *second = text("[['c',2] 2 %s (nil)] [['c',3] 3 %s (nil)] [['c',1] (nil) %s (nil)]",
                              b.text, b.text, b.text);
    expect_rows(a, text("[%s]", first), text("KV.CHANGES %s COUNT 1", v.text));
    expect_rows(b, text("[%s %s]", first, second), text("KV.CHANGES %s COUNT 2", v.text));
    expect_rows(b, text("[%s]", second), text("KV.CHANGES %s COUNT 2", a.text));
    expect_rows(e, text("[%s %s [['c',4] 4 %s (nil)]]", first, second, e.text),
                text("KV.CHANGES %s COUNT 5", v.text));
}

static void a_long_page_is_whole_and_in_order(void **state)
{
    struct stamp v = now();
    for (int i = 0; i < 12000; i++) say(c, "KV.SET ['long',%d] %d", i % 100, i);
    expect_many(c, 12000, "@");
    redisReply *r = ask_reply(c, "KV.CHANGES %s COUNT 10000", v.text);
    assert_int_equal(r->element[1]->elements, 10000);
    for (size_t i = 0; i < 10000; i++) {
        const redisReply *row = r->element[1]->element[i];
        assert_int_equal(strtoul(row->element[1]->str, NULL, 10), i);
    }
    struct stamp next = stamp_of(r->element[0]->str);
    freeReplyObject(r);
    r = ask_reply(c, "KV.CHANGES %s COUNT 10000", next.text);
    assert_int_equal(r->element[1]->elements, 2000);
    freeReplyObject(r);
}

static void a_page_ends_at_its_bytes(void **state)
{
    static char value[1000001];
    size_t rows = 0;
    struct stamp v = now();
    memset(value, 'x', sizeof value - 1);
    value[0] = value[sizeof value - 2] = '"';
    for (int i = 0; i < 20; i++) expect(c, "@", "KV.SET ['bytes',%d] %s", i, value);
    for (int page = 0; rows < 20; page++) {
        redisReply *r = ask_reply(c, "KV.CHANGES %s", v.text);
        rows += r->element[1]->elements;
        if (page == 0) assert_in_range(rows, 16, 18);
        v = stamp_of(r->element[0]->str);
        freeReplyObject(r);
    }
    expect(c, ":20", "KV.DELRANGE PREFIX ['bytes']");
}

static void a_prefix_and_other_databases_move_next_on(void **state)
{
    struct stamp v = now();
    (void)ask(c, "KV.SET ['p'] 0"); /* not below itself */
    struct stamp a = stamp_of(ask(c, "KV.SET ['p',1] 1"));
    expect(c, "+OK", "SELECT 1");
    (void)ask(c, "KV.SET ['p',1] 'other'");
    expect(c, "+OK", "SELECT 0");
    struct stamp e = stamp_of(ask(c, "KV.SET ['pq'] 1"));
    const char *rows = text("[[['p',1] 1 %s (nil)]]", a.text);
    expect_rows(e, rows, text("KV.CHANGES %s PREFIX ['p']", v.text));
    expect_rows(e, "[]", text("KV.CHANGES %s PREFIX ['p']", a.text));
    expect_rows(e, "[]", text("KV.CHANGES %s COUNT 7 PREFIX ['nothing','here']", v.text));
    expect_rows(a, rows, text("KV.CHANGES %s COUNT 1 PREFIX ['p']", v.text));
    expect(c, "+OK", "SELECT 1");
    expect(c, text("[%s [[['p',1] 'other' @ (nil)]]]", e.text), text("KV.CHANGES %s", v.text));
    expect(c, "+OK", "SELECT 0");
}

static void a_flush_is_a_row_without_a_key(void **state)
{
    struct stamp v = now();
    expect(c, "+OK", "FLUSHDB");
    struct stamp first = now();
    struct stamp a = stamp_of(ask(c, "KV.SET ['f',1] 1"));
    expect(c, "+OK", "FLUSHALL");
    struct stamp all = now();
    const char *rows = text("[[(nil) (nil) %s (nil)] [['f',1] 1 %s (nil)] [(nil) (nil) %s (nil)]]",
                            first.text, a.text, all.text);
    expect_rows(all, rows, text("KV.CHANGES %s", v.text));
    expect_rows(all, rows, text("KV.CHANGES %s PREFIX ['f']", v.text));
    expect(c, "+OK", "SELECT 3");
    expect_rows(all, text("[[(nil) (nil) %s (nil)]]", all.text), text("KV.CHANGES %s", v.text));
    expect(c, "+OK", "SELECT 0");
}

static void an_expiry_is_told_and_so_is_its_end(void **state)
{
    struct stamp v = now();
    struct stamp s = stamp_of(ask(c, "KV.SET ['e'] 1 PX 200"));
    redisReply *r = ask_reply(c, "KV.CHANGES %s", v.text);
    const redisReply *row = r->element[1]->element[0];
    assert_int_equal(row->element[3]->type, REDIS_REPLY_INTEGER);
    assert_true(llabs(row->element[3]->integer - (long long)time(NULL) * 1000) < 60000);
    freeReplyObject(r);
    expect(c, "[@ [[['e'] (nil) @ (nil)]]]", "KV.CHANGES %s BLOCK 10000", s.text);
    v = now();
    (void)ask(c, "KV.SET ['e'] 1");
    expect(c, ":1", "KV.PEXPIRE ['e'] 100000");
    expect(c, ":1", "KV.PERSIST ['e']");
    expect(c, "[@ [[['e'] 1 @ (nil)] [['e'] 1 @ :*] [['e'] 1 @ (nil)]]]", "KV.CHANGES %s", v.text);
    v = now();
    (void)ask(c, "KV.PEXPIREAT ['e'] 1");
    expect(c, "[@ [[['e'] (nil) @ (nil)]*]]", "KV.CHANGES %s", v.text);
}

static void transactions_and_the_string_view_are_told(void **state)
{
    struct stamp v = now();
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.SET ['t',1] 1");
    expect(c, "+QUEUED", "INCR plain");
    expect(c, "[@ :1]", "EXEC");
    struct stamp e = now();
    expect_rows(
        e, text("[[['t',1] 1 %s (nil)] [['plain'] {'$bytes':'MQ=='} %s (nil)]]", e.text, e.text),
        text("KV.CHANGES %s COUNT 1", v.text));
}

static void wrong_words_are_named(void **state)
{
    expect(c, "-ERR wrong number of arguments for 'kv.changes' command; usage: KV.*", "KV.CHANGES");
    expect(c, "-ERR invalid versionstamp 'x': expected 20 hex digits or 0", "KV.CHANGES x");
    expect(c, "-ERR invalid versionstamp 'NONE': expected 20 hex digits or 0", "KV.CHANGES NONE");
    expect(c, "-ERR COUNT must be between 1 and 10000, not 0", "KV.CHANGES 0 COUNT 0");
    expect(c, "-ERR COUNT must be between 1 and 10000, not 10001", "KV.CHANGES 0 COUNT 10001");
    expect(c, "-ERR syntax error: COUNT needs an argument", "KV.CHANGES 0 COUNT");
    expect(c, "-ERR BLOCK must be*", "KV.CHANGES 0 BLOCK -1");
    expect(c, "-ERR syntax error: unexpected 'START'", "KV.CHANGES 0 START ['a']");
    expect(c, "-ERR syntax error: 'prefix' is a duplicate*",
           "KV.CHANGES 0 PREFIX ['a'] prefix ['a']");
    expect(c, "-ERR invalid key*", "KV.CHANGES 0 PREFIX [");
    expect(c, "+OK", "MULTI");
    expect(c, "-ERR*", "KV.CHANGES 0");
    expect(c, "-EXECABORT*", "EXEC");
}

/* ---- BLOCK ----------------------------------------------------------------------------------- */

static void wait_for_blocked(int count)
{
    load_wait_info(d, "blocked_clients", count);
}

static void a_matching_change_wakes_and_no_other(void **state)
{
    load_send(c, text("KV.CHANGES %s PREFIX ['w'] BLOCK 0", now().text));
    wait_for_blocked(1);
    (void)ask(d, "KV.SET ['other'] 1");
    (void)ask(d, "KV.SET ['w'] 1");
    expect(d, "+OK", "SELECT 1");
    (void)ask(d, "KV.SET ['w',1] 1");
    expect(d, "+OK", "SELECT 0");
    assert_false(load_is_readable(c, NOTHING_MS));
    struct stamp s = stamp_of(ask(d, "KV.ATOMIC SET ['w',1] 2 SET ['v'] 1"));
    expect_next(c, text("[%s [[['w',1] 2 %s (nil)]]]", s.text, s.text));
    wait_for_blocked(0);
    load_send(c, text("KV.CHANGES %s BLOCK 0", s.text)); /* all of the database */
    wait_for_blocked(1);
    expect(d, "+OK", "FLUSHDB");
    expect_next(c, "[@ [[(nil) (nil) @ (nil)]]]");
}

static void what_is_there_is_told_at_once(void **state)
{
    struct stamp v = now();
    struct stamp s = stamp_of(ask(c, "KV.SET ['w',1] 1"));
    expect(c, "[@ [[['w',1] 1 @ (nil)]]]", "KV.CHANGES %s BLOCK 0", v.text);
    /* Not yet durable when it is asked for: on one connection, without waiting. */
    say(c, "KV.SET ['w',2] 2");
    say(c, "KV.CHANGES %s BLOCK 10000", s.text);
    expect_next(c, "@");
    expect_next(c, "[@ [[['w',2] 2 @ (nil)]]]");
}

static void the_end_of_block_tells_where_to_go_on(void **state)
{
    struct stamp s = {.text = ""};
    bool is_in_time = false; /* was the write acknowledged before the end? */
    for (long ms = 150; !is_in_time; ms *= 2) {
        struct stamp v = now();
        long until = testserver_now_ms() + ms;
        load_send(c, text("KV.CHANGES %s PREFIX ['none'] BLOCK %ld", v.text, ms));
        while (load_info(d, "blocked_clients") != 1 && testserver_now_ms() < until) {
            testserver_pause();
        }
        s = stamp_of(ask(d, "KV.SET ['other'] 1"));
        is_in_time = testserver_now_ms() < until;
        expect_next(c, is_in_time ? text("[%s []]", s.text) : "[@ []]");
    }
    long before_ms = testserver_now_ms();
    expect_rows(s, "[]", text("KV.CHANGES %s BLOCK 100", s.text));
    assert_true(testserver_now_ms() - before_ms >= 95);
}

static void unblock_and_a_client_that_goes_away(void **state)
{
    struct stamp v = now();
    long long id = ask_integer(c, "CLIENT ID");
    for (int i = 0; i < 2; i++) {
        load_send(c, text("KV.CHANGES %s BLOCK 0", v.text));
        wait_for_blocked(1);
        expect(d, ":1", text("CLIENT UNBLOCK %lld %s", id, i == 0 ? "TIMEOUT" : "ERROR"));
        expect_next(c, i == 0 ? text("[%s []]", v.text)
                              : "-UNBLOCKED client unblocked via CLIENT UNBLOCK");
    }
    for (int i = 0; i < 20; i++) {
        redisContext *gone = testserver_connect(server);
        load_send(gone, text("KV.CHANGES 0 PREFIX ['none'] COUNT 10000 BLOCK %d", i % 2 * 600000));
        if (i < 10) wait_for_blocked(1);
        redisFree(gone);
    }
    wait_for_blocked(0);
    expect(c, "+PONG", "PING");
}

static void many_readers_wait_for_one_change(void **state)
{
    enum { READERS = 50 };
    redisContext *readers[READERS];
    struct stamp v = now();
    for (int i = 0; i < READERS; i++) {
        readers[i] = testserver_connect(server);
        load_send(readers[i], text("KV.CHANGES %s PREFIX ['many'] BLOCK 0", v.text));
    }
    wait_for_blocked(READERS);
    struct stamp s = stamp_of(ask(d, "KV.SET ['many',1] 1"));
    for (int i = 0; i < READERS; i++) {
        expect_next(readers[i], text("[%s [[['many',1] 1 %s (nil)]]]", s.text, s.text));
        redisFree(readers[i]);
    }
}

/* ---- STALE, restarts ------------------------------------------------------------------------- */

static void what_is_not_there_is_stale(void **state)
{
    struct stamp v = now();
    const char *newer = "-STALE 00000000000000000000 is the oldest versionstamp to continue from: "
                        "it is newer than every commit; read everything again";
    expect(c, newer, "KV.CHANGES ffffffffffffffff0000");
    expect(c, newer, "KV.CHANGES %016llx0000 BLOCK 0", strtoull(v.text, NULL, 16) / 65536 + 1);
    expect(c, newer, "KV.CHANGES 00000000000000000001");
}

/* Writes 16 MB or so, which memory and the store have to give up. */
static void write_much(void)
{
    static char value[100001];
    for (int i = 0; i < 200; i++) {
        memset(value, 'a' + i % 26, sizeof value - 1); /* the journal gets what changed */
        value[0] = value[sizeof value - 2] = '"';
        expect(d, "@", "KV.SET ['much',%d] %s", i % 10, value);
    }
}

static void write_until_stale(const char *command)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (strncmp(ask(d, command), "-STALE", 6) != 0) {
        if (testserver_now_ms() > until) fail_msg("%s does not become stale", command);
        write_much();
    }
}

static void what_retention_let_go_is_stale_but_not_for_who_waits(void **state)
{
    struct testserver *s = testserver_start_with(
        "--journal-segment-size", "4mb", "--max-transaction-size", "2mb", "--memtable-size", "1mb",
        "--memtable-age", "50", "--changes-retention-size", "4mb", NULL);
    redisContext *quiet = testserver_connect(s);
    redisContext *kept = d;
    d = testserver_connect(s);
    struct stamp v = stamp_of(ask(d, "KV.SET ['first'] 1"));
    load_send(quiet, text("KV.CHANGES %s PREFIX ['quiet'] BLOCK 0", v.text));
    wait_for_blocked(1);
    write_until_stale("KV.CHANGES 0 COUNT 1");
    write_until_stale(text("KV.CHANGES %s COUNT 1", v.text));
    char oldest[32] = "";
    const char *stale = ask(d, "KV.CHANGES %s", v.text);
    assert_true(text_fits(stale,
                          "-STALE @ is the oldest versionstamp to continue from: the changes "
                          "after it are no longer kept; read everything again"));
    snprintf(oldest, sizeof oldest, "%.20s", stale + 7);
    expect(d, "[@ [[['much',*", "KV.CHANGES %s COUNT 1", oldest);
    struct stamp q = stamp_of(ask(d, "KV.SET ['quiet',1] 1"));
    expect_next(quiet, text("[%s [[['quiet',1] 1 %s (nil)]]]", q.text, q.text));
    redisFree(quiet);
    redisFree(d);
    d = kept;
    testserver_free(s);
}

static int is_segment(const struct dirent *entry)
{
    return strncmp(entry->d_name, "journal-", 8) == 0;
}

/* Removes a file of the journal, 0 = the oldest. */
static void remove_segment(const struct testserver *s, int at)
{
    struct dirent **names = NULL;
    int count = scandir(testserver_dir(s), &names, is_segment, alphasort);
    assert_true(count > at + 4); /* the newest ones are in use */
    assert_int_equal(remove(text("%s/%s", testserver_dir(s), names[at]->d_name)), 0);
    for (int i = 0; i < count; i++) free(names[i]);
    free(names);
}

/* Reads on from there: what ends it, which is STALE or the end of the feed. */
static const char *read_on(const char *from)
{
    char next[32];
    snprintf(next, sizeof next, "%s", from);
    for (;;) {
        redisReply *r = ask_reply(d, "KV.CHANGES %s COUNT 20", next);
        const char *end = r->type == REDIS_REPLY_ERROR   ? text("%s", r->str)
                          : r->element[1]->elements == 0 ? "the end"
                                                         : NULL;
        if (end == NULL) snprintf(next, sizeof next, "%s", r->element[0]->str);
        freeReplyObject(r);
        if (end != NULL) return end;
    }
}

/* Files are removed, while it is stopped and while it runs: no reader gets past the hole. */
static void a_missing_segment_is_stale(void **state)
{
    const char *stale = "STALE @ is the oldest versionstamp to continue from: *";
    struct testserver *s = testserver_start_with("--journal-segment-size", "4mb",
                                                 "--max-transaction-size", "2mb", "--memtable-size",
                                                 "1mb", "--memtable-age", "50", NULL);
    redisContext *kept = d;
    d = testserver_connect(s);
    write_much();
    testserver_stop(s);
    redisFree(d);
    remove_segment(s, 1);
    testserver_again(s);
    d = testserver_connect(s);
    char oldest[32] = "0";
    for (int i = 0; i < 2; i++) {
        const char *end = read_on(oldest);
        if (!text_fits(end, stale)) fail_msg("%d: %s", i, end);
        snprintf(oldest, sizeof oldest, "%.20s", end + 6);
        assert_string_equal(read_on(oldest), "the end");
        write_much();
        if (i == 0) remove_segment(s, 2);
    }
    expect(d, ":10", "KV.COUNT PREFIX ['much']");
    redisFree(d);
    d = kept;
    testserver_free(s);
}

static void the_feed_goes_on_after_a_stop_and_a_kill(void **state)
{
    expect(c, "+OK", "FLUSHALL"); /* nothing is left that could expire meanwhile */
    struct stamp v = now();
    for (int round = 0; round < 4; round++) {
        struct stamp a = stamp_of(ask(c, "KV.SET ['r',%d] 1", round));
        redisContext *waiting = testserver_connect(server);
        redisContext *reading = testserver_connect(server);
        load_send(waiting, text("KV.CHANGES %s BLOCK 0", a.text));
        wait_for_blocked(1);
        load_send(reading, "KV.CHANGES 0 PREFIX ['none'] BLOCK 0"); /* may be at it, or wait */
        if (round % 2 == 0) {
            testserver_stop(server);
        } else {
            testserver_kill(server);
        }
        redisFree(waiting);
        redisFree(reading);
        testserver_again(server);
        group_connect();
        const char *row = text("[['r',%d] 1 %s (nil)]", round, a.text);
        expect_rows(a, text("[%s]", row), text("KV.CHANGES %s", v.text));
        expect_rows(a, "[]", text("KV.CHANGES %s BLOCK 10", a.text));
        struct stamp b = stamp_of(ask(c, "KV.SET ['s',%d] 2", round));
        const char *more = text("[['s',%d] 2 %s (nil)]", round, b.text);
        expect_rows(b, text("[%s %s]", row, more), text("KV.CHANGES %s", v.text));
        expect_rows(b, text("[%s]", more), text("KV.CHANGES %s", a.text));
        if (round % 2 == 1) { /* versions that the start skipped */
            expect(c,
                   "-STALE 00000000000000000000 is the oldest versionstamp to continue from: "
                   "it belongs to a history that a restart or a restore has undone; *",
                   "KV.CHANGES %016llx0000", strtoull(a.text, NULL, 16) / 65536 + 1);
        }
        v = b;
    }
}

/* ---- a copy ---------------------------------------------------------------------------------- */

#define KEYS 200
#define WRITERS 6
#define DEEP 4
#define SHORT_MS 50000 /* what ends sooner has ended before the copy is compared */

struct copied {
    bool exists;
    char value[256];
    uint64_t version;
    long long expiry_ms; /* 0 = never */
};

static struct {
    struct load_client writers[WRITERS];
    struct copied copy[KEYS];
    bool is_calm; /* no more flushes: there is to be something to compare at the end */
    bool is_ending;
    size_t written, told, flushes;
} w;

static long long wall_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static const char *any_write(void)
{
    unsigned k = (unsigned)load_below(KEYS);
    unsigned n = (unsigned)load_below(1000000);
    if (load_below(800) == 0 && !w.is_calm) return n % 10 == 0 ? "FLUSHALL" : "FLUSHDB";
    switch (load_below(12)) {
    case 0: return text("KV.SET ['k',%u] %u PX %u", k, n, 1 + n % 200);
    case 1: return text("KV.SET ['k',%u] %u EX %u", k, n, 1000 + k);
    case 2: return text("KV.DEL ['k',%u]", k);
    case 3: return text("KV.SUM ['k',%u] 1", k);
    case 4: return text("KV.PEXPIRE ['k',%u] %u", k, n % 2 ? 50 : 900000);
    case 5: return text("KV.PERSIST ['k',%u]", k);
    case 6:
        return text("KV.ATOMIC SET ['k',%u] %u DEL ['k',%u] SET ['k',%u] %u EX 5000", k, n,
                    (k + 1) % KEYS, (k + 2) % KEYS, n);
    case 7: return text("KV.DELRANGE START ['k',%u] END ['k',%u]", k, k + 3);
    default: return text("KV.SET ['k',%u] %u", k, n);
    }
}

static void write_one(struct load_client *l)
{
    load_say(l, any_write());
}

static void on_written(struct load_client *l, const redisReply *r)
{
    if (r->type == REDIS_REPLY_ERROR) fail_msg("a write: %s", r->str);
    w.written++;
    if (!w.is_ending) write_one(l);
}

static void load_for(long ms)
{
    long until = testserver_now_ms() + ms;
    while (testserver_now_ms() < until) (void)load_turn(w.writers, WRITERS, 2);
}

static struct copied *copied_of(const redisReply *key)
{
    unsigned n = KEYS;
    assert_int_equal(sscanf(key->str, "[\"k\",%u]", &n), 1);
    assert_true(n < KEYS);
    return &w.copy[n];
}

static void copy_set(const redisReply *key, const redisReply *value, const redisReply *stamp,
                     long long expiry_ms)
{
    struct copied *k = copied_of(key);
    k->exists = true;
    k->version = load_version(stamp);
    k->expiry_ms = expiry_ms;
    snprintf(k->value, sizeof k->value, "%s", value->str);
}

/* All of KV.LIST goes to `each`, a few entries at a time while others write. */
static void list_all(void (*each)(const redisReply *entry), bool is_loaded)
{
    char cursor[512] = "0";
    do {
        redisReply *r = ask_reply(c, "KV.LIST PREFIX ['k'] LIMIT 20 CURSOR %s", cursor);
        assert_int_equal(r->type, REDIS_REPLY_ARRAY);
        for (size_t i = 0; i < r->element[1]->elements; i++) each(r->element[1]->element[i]);
        snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
        freeReplyObject(r);
        if (is_loaded) load_for(10);
    } while (strcmp(cursor, "0") != 0);
}

static void copy_listed(const redisReply *entry)
{
    copy_set(entry->element[0], entry->element[1], entry->element[2], 0);
}

static void copy_row(const redisReply *row)
{
    const redisReply *expiry = row->element[3];
    w.told++;
    if (row->element[0]->type == REDIS_REPLY_NIL) {
        memset(w.copy, 0, sizeof w.copy);
        w.flushes++;
    } else if (row->element[1]->type == REDIS_REPLY_NIL) {
        *copied_of(row->element[0]) = (struct copied){0};
    } else {
        copy_set(row->element[0], row->element[1], row->element[2],
                 expiry->type == REDIS_REPLY_INTEGER ? expiry->integer : 0);
    }
}

static size_t copy_changes(struct stamp *next, const char *options)
{
    redisReply *r = ask_reply(c, text("KV.CHANGES %s %s", next->text, options));
    if (r->type == REDIS_REPLY_ERROR) fail_msg("KV.CHANGES: %s", r->str);
    size_t rows = r->element[1]->elements;
    uint64_t last = 0;
    for (size_t i = 0; i < rows; i++) {
        const redisReply *row = r->element[1]->element[i];
        uint64_t version = load_version(row->element[2]);
        assert_true(version >= last && version <= load_version(r->element[0]));
        last = version;
        copy_row(row);
    }
    *next = stamp_of(r->element[0]->str);
    freeReplyObject(r);
    return rows;
}

static bool ends_soon(void)
{
    for (size_t i = 0; i < KEYS; i++) {
        const struct copied *k = &w.copy[i];
        if (k->exists && k->expiry_ms != 0 && k->expiry_ms < wall_ms() + SHORT_MS) return true;
    }
    return false;
}

static size_t listed;

static void compare_listed(const redisReply *entry)
{
    const struct copied *k = copied_of(entry->element[0]);
    listed++;
    if (!k->exists) fail_msg("%s is not in the copy", entry->element[0]->str);
    assert_string_equal(k->value, entry->element[1]->str);
    assert_int_equal(k->version, load_version(entry->element[2]));
    long long left_ms = ask_integer(d, "KV.PTTL %s", entry->element[0]->str);
    if (k->expiry_ms == 0) {
        assert_int_equal(left_ms, -1);
    } else {
        assert_true(llabs(wall_ms() + left_ms - k->expiry_ms) < 5000);
    }
}

/* What the copy has of an entry's time from KV.LIST: nothing. It asks. */
static void ask_times(void)
{
    for (unsigned i = 0; i < KEYS; i++) {
        struct copied *k = &w.copy[i];
        if (!k->exists || k->expiry_ms != 0) continue;
        long long left_ms = ask_integer(c, "KV.PTTL ['k',%u]", i);
        if (left_ms >= 0) k->expiry_ms = wall_ms() + left_ms;
    }
}

/* To the end of the feed, and of what ends soon: then the copy is the data. */
static void copy_compare(struct stamp *next)
{
    long until = testserver_now_ms() + LIMIT_MS;
    struct stamp end = now();
    while (strcmp(next->text, end.text) < 0 || ends_soon()) {
        if (testserver_now_ms() > until) fail_msg("the copy does not come to an end");
        (void)copy_changes(next, "BLOCK 20");
    }
    listed = 0;
    list_all(compare_listed, false);
    size_t copied = 0;
    for (size_t i = 0; i < KEYS; i++) copied += w.copy[i].exists;
    assert_int_equal(listed, copied);
}

static void a_copy_made_under_load_is_the_data(void **state)
{
    load_seed();
    expect(c, "+OK", "FLUSHALL");
    for (size_t i = 0; i < WRITERS; i++) {
        w.writers[i] = (struct load_client){.number = i, .on_reply = on_written};
        load_open(&w.writers[i], server);
        if (i == WRITERS - 1) load_say(&w.writers[i], "SELECT 1"); /* not ours to see */
        for (int k = 0; k < DEEP; k++) write_one(&w.writers[i]);
    }
    load_for(200);
    struct stamp next = now();
    list_all(copy_listed, true);
    ask_times();
    long until = testserver_now_ms() + (load_is_long() ? 30000 : 2000);
    size_t enough = SIZE_MAX;
    while (w.written < enough) {
        if (!w.is_calm && w.told > 1000 && testserver_now_ms() >= until) {
            w.is_calm = true;
            enough = w.written + (size_t)5 * KEYS;
        }
        (void)copy_changes(&next, load_below(2) ? "COUNT 1000" : "COUNT 10 BLOCK 50");
        load_for((long)load_below(20));
    }
    w.is_ending = true;
    load_drain(w.writers, WRITERS, LIMIT_MS);
    copy_compare(&next);
    assert_true(listed > 10);
    print_message("%zu written, %zu rows, %zu flushes, %zu entries\n", w.written, w.told, w.flushes,
                  listed);
    for (size_t i = 0; i < WRITERS; i++) load_close(&w.writers[i]);
}

/* What was told is never taken back, and nothing is left out, whatever was under way. */
static void a_copy_outlives_kills_of_the_server(void **state)
{
    load_seed();
    expect(c, "+OK", "FLUSHALL");
    memset(w.copy, 0, sizeof w.copy);
    w.is_calm = false;
    struct stamp next = now();
    for (int round = 0; round < (load_is_long() ? 50 : 5); round++) {
        for (int i = 0; i < 500; i++) say(d, any_write());
        load_flush(d);
        for (uint64_t i = load_below(10); i > 0; i--) (void)copy_changes(&next, "COUNT 20 BLOCK 1");
        group_again(true);
        copy_compare(&next);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_database_has_its_whole_history),
        cmocka_unit_test(resp3_and_messagepack_have_the_same_shape),
        cmocka_unit_test(what_is_committed_before_it_is_read_is_there),
        cmocka_unit_test(count_rounds_up_to_the_whole_commit),
        cmocka_unit_test(a_long_page_is_whole_and_in_order),
        cmocka_unit_test(a_page_ends_at_its_bytes),
        cmocka_unit_test(a_prefix_and_other_databases_move_next_on),
        cmocka_unit_test(a_flush_is_a_row_without_a_key),
        cmocka_unit_test(an_expiry_is_told_and_so_is_its_end),
        cmocka_unit_test(transactions_and_the_string_view_are_told),
        cmocka_unit_test(wrong_words_are_named),
        cmocka_unit_test(a_matching_change_wakes_and_no_other),
        cmocka_unit_test(what_is_there_is_told_at_once),
        cmocka_unit_test(the_end_of_block_tells_where_to_go_on),
        cmocka_unit_test(unblock_and_a_client_that_goes_away),
        cmocka_unit_test(many_readers_wait_for_one_change),
        cmocka_unit_test(what_is_not_there_is_stale),
        cmocka_unit_test(what_retention_let_go_is_stale_but_not_for_who_waits),
        cmocka_unit_test(a_copy_made_under_load_is_the_data),
        cmocka_unit_test(a_copy_outlives_kills_of_the_server),
        cmocka_unit_test(a_missing_segment_is_stale),
        cmocka_unit_test(the_feed_goes_on_after_a_stop_and_a_kill),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
