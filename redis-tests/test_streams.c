/* Streams: what the comparison with Redis (test_types_redis.c) does not see: clients that wait,
 * many entries, ids that the clock gives, and what is there after a kill. */
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

static redisContext *c, *d, *other;

static int start(void **state)
{
    (void)state;
    group_opens(&c, &d, &other, NULL);
    server = testserver_start_with("--enable-debug-command", "yes", NULL);
    return 0;
}

static void add_from(const char *key, int from, int upto)
{
    for (int i = from; i <= upto; i++) say(c, "XADD %s %d-0 n %d", key, i, i);
    for (int i = from; i <= upto; i++) {
        char id[32];
        snprintf(id, sizeof id, "%d-0", i);
        expect_next(c, id);
    }
}

static void add_many(const char *key, int count)
{
    add_from(key, 1, count);
}

/* ---- waiting ---- */

static void all_who_read_get_what_is_added(void **state)
{
    (void)state;
    expect(c, "1-0", "XADD s 1-0 a 1");
    load_block(d, c, "XREAD BLOCK 0 STREAMS none s 0 $");
    load_block(other, c, "XREAD BLOCK 0 COUNT 1 STREAMS s 1");
    expect(c, "2-0", "XADD s 2-0 b 2");
    expect_next(d, "[[s [[2-0 [b 2]]]]]");
    expect_next(other, "[[s [[2-0 [b 2]]]]]");
    expect(c, ":2", "XLEN s");
}

/* What $ stood for when the client began to wait, whatever wakes it in between. */
static void the_last_id_is_that_of_the_beginning(void **state)
{
    (void)state;
    expect(c, "+OK", "ACL SETUSER reader reset on >x ~s +@all");
    expect(d, "+OK", "AUTH reader x");
    expect(c, "1-0", "XADD s 1-0 a 1");
    load_block(d, c, "XREAD BLOCK 0 STREAMS s $");
    say(c, "ACL SETUSER reader ~t");
    say(c, "XADD s 2-0 b 2");
    expect_next(c, "+OK");
    expect_next(c, "2-0");
    expect_next(d, "[[s [[2-0 [b 2]]]]]");
}

static void of_a_group_who_waits_longest_gets_it(void **state)
{
    (void)state;
    expect(c, "+OK", "XGROUP CREATE s g 0 MKSTREAM");
    load_block(d, c, "XREADGROUP GROUP g ann COUNT 1 BLOCK 0 STREAMS s >");
    load_block(other, c, "XREADGROUP GROUP g bob BLOCK 0 STREAMS s >");
    expect(c, "1-0", "XADD s 1-0 a 1");
    expect_next(d, "[[s [[1-0 [a 1]]]]]");
    expect(c, "2-0", "XADD s 2-0 b 2");
    expect_next(other, "[[s [[2-0 [b 2]]]]]");
    expect(c, "[:2 1-0 2-0 [[ann 1] [bob 1]]]", "XPENDING s g");
}

static void who_waits_for_a_group_that_goes_is_told(void **state)
{
    static const char *const ends[] = {"XGROUP DESTROY s g", "DEL s", "SET s x"};
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        expect(c, ":*", "DEL s");
        expect(c, "+OK", "XGROUP CREATE s g 0 MKSTREAM");
        load_block(d, c, "XREADGROUP GROUP g ann BLOCK 0 STREAMS s >");
        expect(c, "*", ends[i]);
        expect_next(d, i < 2 ? "-NOGROUP *" : "-WRONGTYPE *");
    }
}

static void a_wait_ends_in_time_and_not_in_transactions(void **state)
{
    (void)state;
    expect(c, "(nil)", "XREAD BLOCK 5 STREAMS s $");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "XREAD BLOCK 0 STREAMS s $");
    expect(c, "+QUEUED", "XADD s 1-0 a 1");
    expect(c, "+QUEUED", "XREAD BLOCK 0 STREAMS s 0");
    expect(c, "[(nil) 1-0 [[s [[1-0 [a 1]]]]]]", "EXEC");
    expect(c, "(nil)", "EVAL %s 0", "return redis.call('XREAD', 'BLOCK', 0, 'STREAMS', 's', '$')");
}

/* ---- ids ---- */

static void ids_of_the_clock_only_grow(void **state)
{
    (void)state;
    expect(c, "99999999999999-7", "XADD s 99999999999999-7 a 1");
    expect(c, "99999999999999-8", "XADD s * a 1");
    expect(c, "99999999999999-9", "XADD s 99999999999999-* a 1");
    expect(c, "*-0", "XADD t * a 1");
    expect(c, "18446744073709551615-18446744073709551615",
           "XADD u 18446744073709551615-18446744073709551615 a 1");
    expect(c, "-ERR The stream has exhausted the last possible ID*", "XADD u * a 1");
}

/* Also of a stream that is empty: its rows may have been forgotten as a range. */
static void ids_do_not_come_back(void **state)
{
    (void)state;
    add_many("s", 1500);
    expect(c, ":1500", "XTRIM s MAXLEN 0");
    expect(c, "-ERR The ID specified in XADD is equal or smaller*", "XADD s 700-0 a 1");
    expect(c, "-ERR The ID specified in XSETID is smaller*", "XSETID s 700-0");
    expect(c, "1501-0", "XADD s 1501-0 a 1");
    expect(c, "[[1501-0 [a 1]]]", "XRANGE s - +");
}

/* What is forgotten is removed in the background: by then all that was added later must be out of
 * its way. */
static void cleaned(void)
{
    group_again(false);
    while (strstr(ask(c, "INFO store"), "store_cleaning:0") == NULL) testserver_pause();
}

static void what_is_added_after_a_trim_stays(void **state)
{
    (void)state;
    add_many("s", 1500);
    expect(c, ":1500", "XTRIM s MAXLEN 0");
    expect(c, "1501-0", "XADD s 1501-0 a 1");
    add_many("t", 1500);
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "XTRIM t MAXLEN 0");
    expect(c, "+QUEUED", "XADD t 1501-0 a 1");
    expect(c, "[:1500 1501-0]", "EXEC");
    for (int i = 0; i < 2; i++) {
        expect(c, "[[1501-0 [a 1]]]", "XRANGE s - +");
        expect(c, "[[1501-0 [a 1]]]", "XRANGE t - +");
        cleaned();
    }
}

/* ---- many entries ---- */

static void a_trim_removes_what_it_says(void **state)
{
    enum { MANY = 3000 };
    (void)state;
    add_many("s", MANY);
    expect(c, ":10", "XTRIM s MAXLEN 2990");  /* one by one */
    expect(c, ":1500", "XTRIM s MINID 1511"); /* as a range */
    expect(c, ":0", "XTRIM s MAXLEN ~ 1400"); /* too few */
    expect(c, ":100", "XTRIM s MAXLEN ~ 1390 LIMIT 100");
    expect(c, ":1390", "XLEN s");
    expect(c, "[[1611-0 [n 1611]]]", "XRANGE s - + COUNT 1");
    expect(c, "[[3000-0 [n 3000]]]", "XREVRANGE s + - COUNT 1");
    expect(c, "*first-entry [1611-0 [n 1611]] last-entry [3000-0 [n 3000]]]", "XINFO STREAM s");
    group_again(true);
    expect(c, ":1390", "XLEN s");
    expect(c, "[[1611-0 [n 1611]]]", "XRANGE s - + COUNT 1");
    expect(c, "3001-0", "XADD s MAXLEN 2 3001-0 n 3001");
    expect(c, "[[3000-0 [n 3000]] [3001-0 [n 3001]]]", "XRANGE s - +");
    expect(c, "3002-0", "XADD s 3002-0 n 3002");
    expect(c, ":0", "XTRIM s MAXLEN ~ 2"); /* one too many */
    expect(c, "3003-0", "XADD s MAXLEN ~ 2 3003-0 n 3003");
    expect(c, "[[3002-0 [n 3002]] [3003-0 [n 3003]]]", "XRANGE s - +");
    expect(c, ":1", "XTRIM s MAXLEN ~ 1");
    expect(c, "3004-0", "XADD s 3004-0 n 3004");
    expect(c, ":0", "XTRIM s MINID ~ 3004");
    expect(c, ":2", "XTRIM s MAXLEN ~ 0"); /* all of it */
    expect(c, "3005-0", "XADD s 3005-0 n 3005");
    expect(c, ":1", "XTRIM s MINID ~ 4000");
    expect(c, ":0", "XLEN s");
    expect(c, "-ERR Invalid stream ID*", "XADD s 5000-1-* n 1");
}

static void a_trim_that_is_too_much_says_how(void **state)
{
    (void)state;
    for (int i = 0; i < 41; i++) add_from("s", i * 5000 + 1, i * 5000 + 5000);
    expect(
        c,
        "-LIMIT more than 100000 entries to remove and to keep; trim in steps, with ~ and LIMIT *",
        "XTRIM s MAXLEN 102000");
    expect(c, "-LIMIT more than 100000 entries to remove*", "XTRIM s MINID 103000");
    expect(c, ":205000", "XLEN s");
    expect(c, ":50000", "XTRIM s MAXLEN ~ 102000 LIMIT 50000");
    expect(c, ":50000", "XTRIM s MINID ~ 103000 LIMIT 50000");
    expect(c, ":3000", "XTRIM s MAXLEN 102000");
    expect(c, "[[103001-0 *]]", "XRANGE s - + COUNT 1");
}

/* More than is told in one turn. */
static void a_long_range_is_whole(void **state)
{
    enum { MANY = 5000 };
    (void)state;
    add_many("s", MANY);
    redisReply *r = ask_reply(c, "XRANGE s - +");
    assert_int_equal(r->elements, MANY);
    for (size_t i = 0; i < MANY; i++) {
        char id[32];
        snprintf(id, sizeof id, "%zu-0", i + 1);
        assert_string_equal(r->element[i]->element[0]->str, id);
    }
    freeReplyObject(r);
    r = ask_reply(c, "XREAD STREAMS s 0");
    assert_int_equal(r->element[0]->element[1]->elements, MANY);
    freeReplyObject(r);
}

/* ---- groups ---- */

static void what_is_pending_outlives_a_kill(void **state)
{
    (void)state;
    add_many("s", 5);
    expect(c, "+OK", "XGROUP CREATE s g 0");
    expect(c, "[[s [[1-0 *] [2-0 *]]]]", "XREADGROUP GROUP g ann COUNT 2 STREAMS s >");
    expect(c, "[[s [[3-0 *]]]]", "XREADGROUP GROUP g bob COUNT 1 STREAMS s >");
    expect(c, ":1", "XACK s g 1-0");
    group_again(true);
    expect(c, "[:2 2-0 3-0 [[ann 1] [bob 1]]]", "XPENDING s g");
    expect(c, "[[2-0 ann :* :1]]", "XPENDING s g - + 10 ann");
    expect(c, "[[s [[4-0 *] [5-0 *]]]]", "XREADGROUP GROUP g ann STREAMS s >");
    expect(c, "[0-0 [2-0 3-0 4-0 5-0] []]", "XAUTOCLAIM s g carl 0 - JUSTID");
    expect(c, "[:4 2-0 5-0 [[carl 4]]]", "XPENDING s g");
    expect(c, "[]", "XPENDING s g - + 10 ann");
    expect(c, "[[s []]]", "XREADGROUP GROUP g bob STREAMS s 0");
    expect(c, ":4", "XGROUP DELCONSUMER s g carl");
    expect(c, "[:0 (nil) (nil) (nil)]", "XPENDING s g");
}

/* XAUTOCLAIM looks at ten times as many as it claims, and goes on where it ended. */
static void claiming_goes_on_where_it_ended(void **state)
{
    (void)state;
    add_many("s", 30);
    expect(c, "+OK", "XGROUP CREATE s g 0");
    expect(c, "*", "XREADGROUP GROUP g ann STREAMS s >");
    expect(c, "[26-0 27-0 28-0 30-0]", "XCLAIM s g ann 0 26-0 27-0 28-0 30-0 IDLE 7200000 JUSTID");
    expect(c, "[21-0 [] []]", "XAUTOCLAIM s g bob 3600000 - COUNT 2 JUSTID");
    expect(c, "[28-0 [26-0 27-0] []]", "XAUTOCLAIM s g bob 3600000 21-0 COUNT 2 JUSTID");
    expect(c, ":2", "XDEL s 28-0 29-0");
    expect(c, "[30-0 [] [28-0 29-0]]", "XAUTOCLAIM s g bob 3600000 28-0 COUNT 2 JUSTID");
    expect(c, "[0-0 [30-0] []]", "XAUTOCLAIM s g bob 3600000 30-0 COUNT 2 JUSTID");
    expect(c, "[:28 1-0 30-0 [[ann 25] [bob 3]]]", "XPENDING s g");
}

/* A group, and a consumer, that are made again share nothing with what was there. */
static void what_is_made_again_begins_anew(void **state)
{
    (void)state;
    add_many("s", 3);
    for (int i = 0; i < 3; i++) {
        expect(c, "+OK", "XGROUP CREATE s g 0");
        expect(c, "[:0 (nil) (nil) (nil)]", "XPENDING s g");
        expect(c, "[[s [[1-0 *] [2-0 *] [3-0 *]]]]", "XREADGROUP GROUP g ann STREAMS s >");
        expect(c, "[:3 1-0 3-0 [[ann 3]]]", "XPENDING s g");
        if (i == 1) {
            expect(c, ":3", "XGROUP DELCONSUMER s g ann");
            expect(c, "[[s []]]", "XREADGROUP GROUP g ann STREAMS s 0");
        }
        expect(c, ":1", "XGROUP DESTROY s g");
    }
}

/* What becomes of entries that groups have pending, or are still to be delivered. */
static void what_is_removed_and_what_of_it_is_pending(void **state)
{
    (void)state;
    add_many("s", 6);
    expect(c, "[:1 :-1]", "XDELEX s IDS 2 6-0 9-9");
    expect(c, "[:1]", "XDELEX s ACKED IDS 1 5-0"); /* no group needs it */
    expect(c, "+OK", "XGROUP CREATE s g 0");
    expect(c, "+OK", "XGROUP CREATE s h 0");
    expect(c, "*", "XREADGROUP GROUP g ann COUNT 3 STREAMS s >");
    expect(c, "*", "XREADGROUP GROUP h bob COUNT 1 STREAMS s >");
    expect(c, "[:2 :2]", "XDELEX s ACKED IDS 2 1-0 4-0");
    expect(c, ":1", "XACK s g 1-0");
    expect(c, "[:2]", "XDELEX s ACKED IDS 1 1-0"); /* of the other */
    expect(c, "[:1]", "XACKDEL s h ACKED IDS 1 1-0");
    expect(c, "[:2 :-1]", "XACKDEL s g ACKED IDS 2 2-0 4-0"); /* h is not there yet; not pending */
    expect(c, "[:1 3-0 3-0 [[ann 1]]]", "XPENDING s g");
    expect(c, "[:1]", "XDELEX s KEEPREF IDS 1 3-0");
    expect(c, "[:1 3-0 3-0 [[ann 1]]]", "XPENDING s g");
    expect(c, "[:-1]", "XDELEX s DELREF IDS 1 3-0"); /* gone, but no longer pending either */
    expect(c, "[:0 (nil) (nil) (nil)]", "XPENDING s g");
    expect(c, "[[2-0 *] [4-0 *]]", "XRANGE s - +");
    expect(c, "*", "XREADGROUP GROUP g ann STREAMS s >");
    expect(c, "*", "XREADGROUP GROUP h bob STREAMS s >");
    expect(c, "[:1]", "XACKDEL s g DELREF IDS 1 4-0");
    expect(c, "[:1 2-0 2-0 [[bob 1]]]", "XPENDING s h");
    expect(c, ":1", "XDEL s 2-0");
    expect(c, "[:1]", "XACKDEL s h IDS 1 2-0"); /* it was gone already */
    expect(c, "[:0 (nil) (nil) (nil)]", "XPENDING s h");
    expect(c, "[:-1]", "XDELEX none IDS 1 1-0");
    expect(c, "[:-1]", "XACKDEL s none IDS 1 1-0");
    expect(c, "-ERR Number of IDs must be a positive integer", "XDELEX s IDS 0 1-0");
    expect(c, "-ERR The `numids` parameter must match the number of arguments",
           "XDELEX s IDS 2 1-0");
    expect(c, "-ERR syntax error", "XDELEX s 1-0 2-0 3-0");
    expect(c, "-ERR syntax error", "XDELEX s IDS 1 1-0 2-0");
    expect(c, "9-0", "XADD s 9-0 f v");
    expect(c, "[:1 :-1]", "XDELEX s DELREF IDS 2 9-0 9-0");
}

/* A command with a hundred ids, which are in no stream; good until the next call. */
static const char *of_100_ids(const char *command)
{
    static char text[800];
    size_t at = (size_t)sprintf(text, "%s IDS 100", command);
    for (int i = 1; i <= 100; i++) at += (size_t)sprintf(text + at, " %d-0", i);
    return text;
}

/* So much is looked at in one turn. */
static void ids_and_groups_are_bounded_together(void **state)
{
    (void)state;
    for (int i = 0; i < 201; i++) expect(c, "+OK", "XGROUP CREATE s g%d $ MKSTREAM", i);
    expect(c, "-LIMIT 100 ids and 201 groups exceed the limit of 20000; use fewer ids",
           of_100_ids("XDELEX s ACKED"));
    expect(c, ":1", "XGROUP DESTROY s g7");
    expect(c, "[:-1 *]", of_100_ids("XDELEX s ACKED"));
    expect(c, "+OK", "XGROUP CREATE s g7 $");
    expect(c, "[:-1 *]", of_100_ids("XDELEX s KEEPREF")); /* no group is looked at */
    expect(c, "[:-1 *]", of_100_ids("XACKDEL s g7"));
}

/* A copy has all of it, and is another stream. */
static void a_copy_has_its_groups(void **state)
{
    (void)state;
    add_many("s", 3);
    expect(c, "+OK", "XGROUP CREATE s g 0");
    expect(c, "*", "XREADGROUP GROUP g ann COUNT 2 STREAMS s >");
    expect(c, ":1", "COPY s t");
    expect(c, ":2", "XACK s g 1-0 2-0");
    expect(c, ":3", "XTRIM s MAXLEN 0");
    expect(c, "[[1-0 *] [2-0 *] [3-0 *]]", "XRANGE t - +");
    expect(c, "[:2 1-0 2-0 [[ann 2]]]", "XPENDING t g");
    expect(c, "+OK", "RENAME t u");
    expect(c, "[[u [[3-0 *]]]]", "XREADGROUP GROUP g bob STREAMS u >");
    expect(c, ":1", "DEL s");
    expect(c, "+OK", "XGROUP CREATE empty g $ MKSTREAM");
    expect(c, ":1", "COPY empty other");
    expect(c, ":0", "XLEN other");
    expect(c, "[[name g *]]", "XINFO GROUPS other");
}

/* Its rows are removed later: what reads a whole stream passes over them. */
static void a_group_that_is_destroyed_is_in_no_copy(void **state)
{
    (void)state;
    add_many("s", 3);
    expect(c, "+OK", "XGROUP CREATE s a 0");
    expect(c, "+OK", "XGROUP CREATE s b 0");
    expect(c, "+OK", "XGROUP CREATE s c 0");
    expect(c, "*", "XREADGROUP GROUP a ann STREAMS s >");
    expect(c, "*", "XREADGROUP GROUP b bob STREAMS s >");
    expect(c, "*", "XREADGROUP GROUP c carl COUNT 1 STREAMS s >");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "XGROUP DESTROY s a");
    expect(c, "+QUEUED", "XGROUP DESTROY s b");
    expect(c, "+QUEUED", "COPY s t");
    expect(c, "[:1 :1 :1]", "EXEC");
    expect(c, "[:1 1-0 1-0 [[carl 1]]]", "XPENDING t c");
    expect(c, "[[name c *]]", "XINFO GROUPS t");
}

/* What was trimmed as a range is removed from the disk later, and is met by nothing until then. */
static void what_was_trimmed_is_not_met(void **state)
{
    (void)state;
    add_many("s", 1500);
    expect(c, "+OK", "XGROUP CREATE s g 0");
    expect(c, "*", "XREADGROUP GROUP g ann COUNT 3 STREAMS s >");
    expect(c, ":3", "XGROUP DELCONSUMER s g ann");
    expect(c, ":1498", "XTRIM s MAXLEN 2");
    expect(c, ":1", "COPY s t");
    expect(c, "[[1499-0 *] [1500-0 *]]", "XRANGE t - +");
    expect(c, "[@ stream :2 (nil) 0 [[1499-0 *] [1500-0 *]]]", "KV.ELEMENTS ['s']");
    expect(c, ":2", "XTRIM s MAXLEN 0");
    expect(c, "[@ stream :0 (nil) 0 []]", "KV.ELEMENTS ['s']");
    expect(c, ":1", "COPY s t REPLACE");
    expect(c, ":0", "XLEN t");
    expect(c, "[]", "XRANGE t - +");
    expect(c, "[[name g *]]", "XINFO GROUPS t");
}

/* A flush takes the groups of those who wait, but not those of another database. */
static void who_waits_for_a_group_is_told_of_a_flush(void **state)
{
    static const char *const flushes[] = {"FLUSHDB", "FLUSHALL",
                                          "EVAL return(redis.call('flushdb')) 0"};
    (void)state;
    for (size_t i = 0; i < sizeof flushes / sizeof flushes[0]; i++) {
        expect(c, "+OK", "SELECT 0");
        expect(c, "+OK", "XGROUP CREATE s g $ MKSTREAM");
        load_block(d, c, "XREADGROUP GROUP g ann BLOCK 0 STREAMS s >");
        load_block(other, c, "XREAD BLOCK 0 STREAMS s $");
        expect(c, "+OK", "SELECT 1");
        expect(c, "+OK", "FLUSHDB");
        expect(c, ":2", "EVAL %s 0",
               "return tonumber(redis.call('info','clients'):match('blocked_clients:(%d+)'))");
        expect(c, "+OK", "SELECT 0");
        expect(c, "+OK", flushes[i]);
        expect_next(d, "-NOGROUP *");
        expect(c, "1-0", "XADD s 1-0 a 1");
        expect_next(other, "[[s [[1-0 [a 1]]]]]");
        expect(c, ":1", "DEL s");
    }
}

/* A transaction happens whole, or not at all. */
static void a_transaction_takes_all_of_it_back(void **state)
{
    (void)state;
    add_many("s", 2);
    expect(c, "+OK", "XGROUP CREATE s g 0");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "XADD s 3-0 n 3");
    expect(c, "+QUEUED", "XREADGROUP GROUP g ann STREAMS s >");
    expect(c, "+QUEUED", "XADD s 3-0 n 3");
    expect(c, "-EXECABORT *", "EXEC");
    expect(c, ":2", "XLEN s");
    expect(c, "[:0 (nil) (nil) (nil)]", "XPENDING s g");
    expect(c, "[[name g consumers :0 *]]", "XINFO GROUPS s");
}

/* A script that takes longer than a turn is run once more at its end: the clock says the same. */
static void a_long_script_has_one_time(void **state)
{
    static const char script[] =
        "redis.call('xadd', 's', '*', 'n', 1) "
        "for i = 1, 3000000 do i = i end "
        "redis.call('xgroup', 'create', 's', 'g', 0) "
        "redis.call('xreadgroup', 'group', 'g', 'ann', 'streams', 's', '>') "
        "for i = 1, 3000000 do i = i end "
        "return {redis.call('xpending', 's', 'g', '-', '+', 1), "
        "redis.call('xrange', 's', '-', '+')}";
    (void)state;
    const char *seen = ask(c, "EVAL %s 0", script);
    assert_true(text_fits(seen, "[[[*-0 ann :0 :1]] [[*-0 [n 1]]]]"));
    const char *entries = ask(c, "XRANGE s - +");
    assert_non_null(strstr(seen, entries));
}

/* A stream with two groups, three consumers, pending and deleted entries. */
static void make_groups(void)
{
    add_many("s", 9);
    expect(c, ":2", "XDEL s 2-0 9-0");
    expect(c, "+OK", "XGROUP CREATE s g 0 ENTRIESREAD 0");
    expect(c, "+OK", "XGROUP CREATE s h 5-0");
    expect(c, ":1", "XGROUP CREATECONSUMER s h idle");
    expect(c, "*", "XREADGROUP GROUP g ann COUNT 3 STREAMS s >");
    expect(c, "*", "XREADGROUP GROUP g bob COUNT 2 STREAMS s >");
    expect(c, "*", "XREADGROUP GROUP g bob COUNT 1 STREAMS s 0");
    expect(c, ":1", "XACK s g 3-0");
    expect(c, ":1", "XDEL s 4-0");
}

/* All that a stream is, but for times. */
static void expect_groups(const char *key)
{
    expect(c, "[[1-0 *] [3-0 *] [5-0 *] [6-0 *] [7-0 *] [8-0 *]]", "XRANGE %s - +", key);
    expect(c, "[length :6 * last-generated-id 9-0 max-deleted-entry-id 9-0 entries-added :9 *]",
           "XINFO STREAM %s", key);
    expect(c,
           "[[name g consumers :2 pending :4 last-delivered-id 6-0 *] "
           "[name h consumers :1 pending :0 last-delivered-id 5-0 *]]",
           "XINFO GROUPS %s", key);
    expect(c, "[[1-0 ann :* :1] [4-0 ann :* :1] [5-0 bob :* :2] [6-0 bob :* :1]]",
           "XPENDING %s g - + 10", key);
    expect(c, "[[name idle pending :0 idle :* inactive :-1]]", "XINFO CONSUMERS %s h", key);
    expect(c, "-ERR The ID specified in XADD is equal or smaller*", "XADD %s 9-0 n 9", key);
    expect(c, "[[* [[7-0 [n 7]]]]]", "XREADGROUP GROUP g cat COUNT 1 STREAMS %s >", key);
}

static void a_dump_has_its_groups(void **state)
{
    (void)state;
    static const char wrong[] = "-ERR DUMP payload version or checksum are wrong";
    make_groups();
    redisReply *dump = redisCommand(c, "DUMP s");
    assert_int_equal(dump->type, REDIS_REPLY_STRING);
    expect(c, "-BUSYKEY *", "RESTORE s 0 %b", dump->str, dump->len);
    expect(c, "+OK", "RESTORE t 50000 %b", dump->str, dump->len);
    expect(c, ":*", "PTTL t");
    expect_groups("t");
    expect(c, "+OK", "RESTORE t 0 %b REPLACE", dump->str, dump->len);
    expect(c, ":-1", "PTTL t");
    expect_groups("t");
    for (size_t cut = 0; cut < dump->len; cut++) {
        expect(c, wrong, "RESTORE u 0 %b", dump->str, cut);
    }
    freeReplyObject(dump);
    expect(c, "+OK", "XGROUP CREATE empty g $ MKSTREAM");
    dump = redisCommand(c, "DUMP empty");
    expect(c, "+OK", "RESTORE u 0 %b", dump->str, dump->len);
    freeReplyObject(dump);
    expect(c, ":0", "XLEN u");
    expect(c, "[[name g *]]", "XINFO GROUPS u");
}

/* Pages of one part each say the same as one page. */
static void all_of_it_is_told_by_pages(void **state)
{
    (void)state;
    char cursor[512] = "0";
    int parts = 0;
    make_groups();
    expect(c,
           "[@ stream :6 (nil) 0 [[1-0 [n 1]] [3-0 *] [5-0 *] [6-0 *] [7-0 *] [8-0 [n 8]] "
           "[STATE 9-0 :9 9-0] [GROUP g 6-0 *] [GROUP h 5-0 (nil)] [CONSUMER g ann :* :*] "
           "[CONSUMER g bob :* :*] [CONSUMER h idle :* (nil)] [PENDING g ann 1-0 :* :1] "
           "[PENDING g ann 4-0 :* :1] [PENDING g bob 5-0 :* :2] [PENDING g bob 6-0 :* :1]]]",
           "KV.ELEMENTS ['s'] GROUPS");
    do {
        redisReply *r = redisCommand(c, "KV.ELEMENTS %s CURSOR %s LIMIT 1 GROUPS", "[\"s\"]",
                                     cursor);
        assert_int_equal(r->type, REDIS_REPLY_ARRAY);
        snprintf(cursor, sizeof cursor, "%s", r->element[4]->str);
        assert_int_equal(r->element[5]->elements, 1);
        parts++;
        freeReplyObject(r);
    } while (strcmp(cursor, "0") != 0);
    assert_int_equal(parts, 16);
    expect(c, ":1", "XDEL s 1-0");
    expect(c, "+OK", "XGROUP CREATE empty g $ MKSTREAM");
    expect(c, "[@ stream :0 (nil) 0 [[STATE 0-0 :0 0-0] [GROUP g 0-0 (nil)]]]",
           "KV.ELEMENTS ['empty'] GROUPS");
    expect(c, "[@ stream :0 (nil) 0 []]", "KV.ELEMENTS ['empty']");
}

/* KV.LOAD: what does not fit is refused, what is loaded twice is there once. */
static void parts_are_loaded(void **state)
{
    (void)state;
    static const char all[] = "KV.LOAD COLLECTION ['s'] STREAM 6 ENTRY 1-0 2 n 1 ENTRY 3-0 2 n 3 "
                              "STATE 4-0 5 4-0 GROUP g 3-0 2 CONSUMER g ann 1000 -1 "
                              "PENDING g ann 3-0 1000 7";
    for (int i = 0; i < 2; i++) {
        expect(c, "[@ :1 :0]", all);
        expect(c, "[[1-0 [n 1]] [3-0 [n 3]]]", "XRANGE s - +");
        expect(c, "[[3-0 ann :* :7]]", "XPENDING s g - + 10");
    }
    for (int i = 0; i < 2; i++) {
        expect(c, "[@ :1 :0]",
               "KV.LOAD COLLECTION ['s'] STREAM MORE 6 3 ENTRY 3-0 2 n 3 CONSUMER g bob 5 6 "
               "PENDING g bob 3-0 1000 8");
        expect(c, "[[3-0 bob :* :8]]", "XPENDING s g - + 10");
        expect(c, "[:1 3-0 3-0 [[bob 1]]]", "XPENDING s g");
        expect(c, ":2", "XLEN s");
    }
    static const struct {
        const char *parts, *error;
    } wrong[] = {
        {"1 ENTRY 2-0 2 n 2", "-ERR stream at 2-0: an entry is added after all others*"},
        {"1 ENTRY 0-0 2 n 2", "-ERR stream at 0-0: no entry has this id*"},
        {"1 ENTRY 9-0 3 n 2 m", "-ERR an entry must have a value for each field*"},
        {"1 STATE 3-0 9 0-0", "-ERR stream at 3-0: later entries exist*"},
        {"1 STATE 4-0 1 0-0", "-ERR stream at 4-0: there are more entries than were added*"},
        {"1 CONSUMER h ann 1 1", "-ERR group h: it does not exist*"},
        {"1 STATE 4-0 5 4-1", "-ERR stream at 4-0: a later entry is deleted*"},
        {"1 SOMETHING 1-0", "-ERR *"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char line[200];
        snprintf(line, sizeof line, "KV.LOAD COLLECTION ['s'] STREAM MORE 8 %s", wrong[i].parts);
        expect(c, wrong[i].error, line);
    }
    expect(c, ":2", "XLEN s");
    expect(c, "[@ :1 :0]", "KV.LOAD COLLECTION ['s'] STREAM MORE 9 1 PENDING g cat 1-0 1000 2");
    expect(c, "[:2 1-0 3-0 [[bob 1] [cat 1]]]", "XPENDING s g");
    expect(c, "[[s [[1-0 [n 1]]]]]", "XREADGROUP GROUP g cat STREAMS s 0");
    expect(c, "[@ :1 :0]", "KV.LOAD COLLECTION ['s'] STREAM PXAT 1 1 STATE 0-0 0 0-0");
    expect(c, ":0", "EXISTS s");
}

/* As Redis does it. */
static void wrong_words_are_named(void **state)
{
    (void)state;
    expect(c, "-ERR Unbalanced 'xread' list of streams*", "XREAD COUNT 1 STREAMS s");
    expect(c, "-ERR Unbalanced 'xread' list of streams*", "XREAD STREAMS s t 0");
    expect(c, "-ERR Unbalanced 'xreadgroup' list of streams*",
           "XREADGROUP GROUP g ann COUNT 1 STREAMS s");
    expect(c, "-ERR syntax error", "XREAD COUNT 1 STREAMS");
    expect(c, "-ERR entries_added must be positive",
           "XSETID none 1-1 ENTRIESADDED -1 MAXDELETEDID 0-0");
    expect(c, "-ERR no such key", "XSETID none 1-1 ENTRIESADDED 1 MAXDELETEDID 0-0");
}

static void a_group_is_set_to_either_end(void **state)
{
    (void)state;
    expect(c, "1-0", "XADD s 1-0 a 1");
    expect(c, "+OK", "XGROUP CREATE s g $");
    expect(c, "(nil)", "XREADGROUP GROUP g ann STREAMS s >");
    expect(c, "+OK", "XGROUP SETID s g -");
    expect(c, "[[s [[1-0 [a 1]]]]]", "XREADGROUP GROUP g ann STREAMS s >");
    expect(c, "+OK", "XGROUP SETID s g +");
    expect(c, "2-0", "XADD s 2-0 a 1");
    expect(c, "(nil)", "XREADGROUP GROUP g ann STREAMS s >");
    expect(c, "-ERR Invalid stream ID *", "XGROUP CREATE s h -");
    expect(c, "-ERR Invalid stream ID *", "XGROUP CREATE s h +");
}

/* The bytes of its fields are written before its size is looked at. */
static void a_refused_entry_leaves_no_memory_behind(void **state)
{
    enum { BYTES = 20 << 20, LEFT = 4 << 20 };
    char *value = calloc(1, BYTES);
    const char *words[] = {"XADD", "s", "*", "f", value};
    const size_t sizes[] = {4, 1, 1, 1, BYTES};
    (void)state;
    long long before = load_info(d, "used_memory");
    redisReply *r = redisCommandArgv(c, 5, words, sizes);
    assert_non_null(r);
    assert_int_equal(r->type, REDIS_REPLY_ERROR);
    assert_true(text_fits(r->str, "LIMIT *"));
    freeReplyObject(r);
    free(value);
    expect(c, "+PONG", "PING"); /* its buffer goes back */
    long until = testserver_now_ms() + 60000;
    while (load_info(d, "used_memory") > before + LEFT) {
        assert_true(testserver_now_ms() < until);
        testserver_pause();
    }
}

static void what_a_stream_cannot_do_is_said(void **state)
{
    (void)state;
    expect(c, "1-0", "XADD s 1-0 a 1");
    expect(c, "-WRONGTYPE *", "LPUSH s x");
    expect(c, "{'$collection':{'type':'stream','length':1}}", "KV.GET ['s']");
    expect(c, "[@ stream :1 (nil) 0 [[1-0 [a 1]]]]", "KV.ELEMENTS ['s']");
    static const char *const of_group[] = {"SETID %s g 0", "CREATECONSUMER %s g ann",
                                           "DELCONSUMER %s g ann"};
    for (size_t i = 0; i < 3; i++) {
        char command[60] = "XGROUP ";
        snprintf(command + 7, sizeof command - 7, of_group[i], "nosuch");
        expect(c, "-ERR The XGROUP subcommand requires the key to exist.*", command);
        snprintf(command + 7, sizeof command - 7, of_group[i], "s");
        expect(c, "-NOGROUP No such consumer group 'g' for key name 's'", command);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(all_who_read_get_what_is_added),
        TEST(the_last_id_is_that_of_the_beginning),
        TEST(of_a_group_who_waits_longest_gets_it),
        TEST(who_waits_for_a_group_that_goes_is_told),
        TEST(a_wait_ends_in_time_and_not_in_transactions),
        TEST(ids_of_the_clock_only_grow),
        TEST(ids_do_not_come_back),
        TEST(what_is_added_after_a_trim_stays),
        TEST(a_trim_removes_what_it_says),
        TEST(a_trim_that_is_too_much_says_how),
        TEST(a_long_range_is_whole),
        TEST(what_is_pending_outlives_a_kill),
        TEST(claiming_goes_on_where_it_ended),
        TEST(what_is_made_again_begins_anew),
        TEST(what_is_removed_and_what_of_it_is_pending),
        TEST(ids_and_groups_are_bounded_together),
        TEST(a_copy_has_its_groups),
        TEST(a_group_that_is_destroyed_is_in_no_copy),
        TEST(what_was_trimmed_is_not_met),
        TEST(who_waits_for_a_group_is_told_of_a_flush),
        TEST(a_transaction_takes_all_of_it_back),
        TEST(a_long_script_has_one_time),
        TEST(a_dump_has_its_groups),
        TEST(all_of_it_is_told_by_pages),
        TEST(parts_are_loaded),
        TEST(wrong_words_are_named),
        TEST(a_group_is_set_to_either_end),
        TEST(what_a_stream_cannot_do_is_said),
        TEST(a_refused_entry_leaves_no_memory_behind),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
