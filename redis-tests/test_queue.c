/* Queues (docs/queues.md) as clients meet them: replies in RESP2 and RESP3, what is refused and how, who
 * is served first, transactions, and clients that go away.
 */
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

static redisContext *c, *d, *e;

static int start(void **state)
{
    group_opens(&c, &d, &e, NULL);
    server = testserver_start_with("--databases", "4", NULL);
    return 0;
}

/* The receipt of one message, taken with this command; the caller frees it. */
static char *take(redisContext *by, const char *command)
{
    redisReply *r = ask_reply(by, command);
    if (r->type != REDIS_REPLY_ARRAY || r->elements != 1) {
        fail_msg("%s: no message%s%s", command, r->str != NULL ? ": " : "",
                 r->str != NULL ? r->str : "");
    }
    char *receipt = strdup(r->element[0]->element[4]->str);
    freeReplyObject(r);
    return receipt;
}

static void wait_for_figure(const char *queue, const char *name, long long wanted)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (load_queue(c, queue, name) != wanted) {
        if (testserver_now_ms() > until) {
            fail_msg("%s of %s is %lld, not %lld", name, queue, load_queue(c, queue, name), wanted);
        }
        testserver_pause();
    }
}

static void wait_for_blocked(long long wanted)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (load_info(c, "blocked_clients") != wanted) {
        if (testserver_now_ms() > until) fail_msg("not %lld blocked clients", wanted);
        testserver_pause();
    }
}

/* ---- one message ---- */

static void a_message_is_enqueued_leased_and_acknowledged(void **state)
{
    expect(c, "(nil)", "KV.DEQUEUE jobs");
    const char *id = ask(c, "KV.ENQUEUE jobs {'n':1}");
    assert_int_equal(strlen(id), 24);
    redisReply *r = ask_reply(c, "KV.DEQUEUE jobs LEASE 60000");
    assert_string_equal(r->element[0]->element[0]->str, "jobs");
    assert_string_equal(r->element[0]->element[1]->str, id);
    assert_string_equal(r->element[0]->element[2]->str, "{\"n\":1}");
    assert_int_equal(r->element[0]->element[3]->integer, 1);
    const char *receipt = r->element[0]->element[4]->str;
    assert_int_equal(strspn(receipt, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                     "0123456789-_"),
                     strlen(receipt));
    expect(c, "(nil)", "KV.DEQUEUE jobs");
    expect(d, ":1", "KV.EXTEND %s 60000", receipt); /* on any connection */
    expect(d, ":1", "KV.ACK %s", receipt);
    expect(c, ":0", "KV.ACK %s %s", receipt, receipt);
    expect(c, ":0", "KV.NACK %s", receipt);
    expect(c, ":0", "KV.EXTEND %s 10", receipt);
    freeReplyObject(r);
    expect(c,
           "[ready :0 delayed :0 leased :0 dead :0 oldest-ms :0 enqueued :1 delivered :1 acked :1 "
           "nacked :0 expired :0]",
           "KV.QUEUE STATS jobs");
    expect(c, "[jobs]", "KV.QUEUE LIST");
}

#define QUEUES 2500 /* more than one turn looks at */

/* Its names: q0000 ... in the order that they have. */
static void make_many(void)
{
    for (int i = 0; i < QUEUES; i++) redisAppendCommand(c, "KV.ENQUEUE q%04d 1", i);
    for (int i = 0; i < QUEUES; i++) {
        void *reply = NULL;
        assert_int_equal(redisGetReply(c, &reply), REDIS_OK);
        freeReplyObject(reply);
    }
}

static void queues_are_listed_in_pages(void **state)
{
    make_many();
    redisReply *r = ask_reply(c, "KV.QUEUE LIST");
    assert_int_equal(r->elements, QUEUES);
    for (int i = 0; i < QUEUES; i++) {
        char wanted[16];
        snprintf(wanted, sizeof wanted, "q%04d", i);
        assert_string_equal(r->element[i]->str, wanted);
    }
    freeReplyObject(r);
    expect(c, "[q0000 q0001]", "KV.QUEUE LIST LIMIT 2");
    expect(c, "[q1234 q1235]", "KV.QUEUE LIST AFTER q1233 LIMIT 2");
    expect(c, "[q2499]", "KV.QUEUE LIST LIMIT 9 AFTER q2498");
    expect(c, "[]", "KV.QUEUE LIST AFTER r");
    expect(c, "[q0077 q0177]", "KV.QUEUE LIST MATCH *77 LIMIT 2");
    expect(c, "[q2277 q2377 q2477]", "KV.QUEUE LIST MATCH *77 AFTER q2200");
    expect(c, "-ERR LIMIT must be between 1 and *", "KV.QUEUE LIST LIMIT 0");
    expect(c, "-ERR syntax error: unexpected 'COUNT'", "KV.QUEUE LIST COUNT 1");
}

static void the_greatest_of_all_queues_are_told(void **state)
{
    make_many();
    expect(c, "*", "KV.ENQUEUE q2000 2");
    expect(c, "*", "KV.ENQUEUE q2000 3");
    expect(c, "*", "KV.ENQUEUE q0100 2");
    expect(c, "*", "KV.ENQUEUE q2400 2");
    expect(c, "*", "KV.ENQUEUE late 1 DELAY 100000");
    expect(c, "[[q2000 [ready :3 *]] [q0100 [ready :2 *]] [q2400 [ready :2 *]]]",
           "KV.QUEUE TOP READY COUNT 3");
    expect(c, "[[q2400 [ready :2 *]] [q2401 [ready :1 *]]]",
           "KV.QUEUE TOP READY COUNT 2 MATCH q24*");
    expect(c, "[[q0000 [ready :1 *]]]", "KV.QUEUE TOP OLDEST COUNT 1");
    redisReply *r = ask_reply(c, "KV.QUEUE TOP OLDEST COUNT 1000");
    assert_int_equal(r->elements, 1000);
    freeReplyObject(r);
    expect(c, "[]", "KV.QUEUE TOP DEAD");
    r = ask_reply(c, "KV.DEQUEUE q1500");
    const char *receipt = r->element[0]->element[4]->str;
    expect(d, ":1", "KV.NACK %s DEAD", receipt);
    freeReplyObject(r);
    expect(c, "[[q1500 [ready :0 delayed :0 leased :0 dead :1 *]]]", "KV.QUEUE TOP DEAD");
    expect(c, "-ERR syntax error: unexpected 'NAME' (DEAD, OLDEST or READY expected)",
           "KV.QUEUE TOP NAME");
    expect(c, "-ERR COUNT must be between 1 and 1000, not 1001", "KV.QUEUE TOP DEAD COUNT 1001");
}

static void replies_in_resp3_and_messagepack(void **state)
{
    int fd = raw_connect(server);
    const char hello[] = "HELLO 3\r\n";
    raw_send(fd, hello, sizeof hello - 1);
    while (strcmp(raw_line(fd), "modules") != 0) continue;
    raw_expect(fd, "*0\r\n");
    const char words[] = "KV.DEQUEUE q\r\nKV.FORMAT MSGPACK\r\n";
    raw_send(fd, words, sizeof words - 1);
    raw_expect(fd, "_\r\n+OK\r\n");
    expect(c, "*", "KV.ENQUEUE q [1,true]");
    const char take[] = "KV.DEQUEUE q\r\n";
    raw_send(fd, take, sizeof take - 1);
    raw_expect(fd, "*1\r\n*5\r\n$1\r\nq\r\n$24\r\n");
    raw_line(fd);
    raw_expect(fd, "$3\r\n\x92\x01\xc3\r\n:1\r\n");
    raw_bulk(fd);
    const char stats[] = "KV.QUEUE STATS q\r\n";
    raw_send(fd, stats, sizeof stats - 1);
    raw_expect(fd, "%10\r\n$5\r\nready\r\n:0\r\n");
    close(fd);
}

static void nack_and_dead_letters(void **state)
{
    const char *id = ask(c, "KV.ENQUEUE q 'x' BACKOFF 1 0 UNDELIVERED 2 ['lost',1] ['lost',2]");
    char *receipt = take(c, "KV.DEQUEUE q");
    expect(c, ":1", "KV.NACK %s ERROR first", receipt);
    free(receipt);
    receipt = take(c, "KV.DEQUEUE q");
    expect(c, ":1", "KV.NACK %s ERROR %s", receipt, "second");
    free(receipt);
    expect(c, "'x'", "KV.GET ['lost',1]");
    expect(c, "'x'", "KV.GET ['lost',2]");
    char wanted[100];
    snprintf(wanted, sizeof wanted, "[0 [[%s 'x' :2 second :*]]]", id);
    expect(c, wanted, "KV.DLQ LIST q");
    snprintf(wanted, sizeof wanted, "[%s 'x' :2 second :*]", id);
    expect(c, wanted, "KV.DLQ GET q %s", id);
    expect(c, "(nil)", "KV.DLQ GET q ffffffffffffffffffffffff");
    expect(c, ":1", "KV.DLQ REQUEUE q %s ffffffffffffffffffffffff", id);
    receipt = take(c, "KV.DEQUEUE q");
    expect(c, ":1", "KV.NACK %s DEAD", receipt);
    free(receipt);
    expect(c, ":1", "KV.DLQ DEL q %s", id);
    expect(c, "[0 []]", "KV.DLQ LIST q");
    expect(c, ":0", "KV.DLQ PURGE q");
}

/* The values of all dead letters of q, which are digits, two to a page. `where` may be several
 * words, or none: it is a part of the format. */
static void see_dead(const char *where, const char *wanted)
{
    char cursor[64] = "0";
    char seen[64] = "";
    char format[200];
    snprintf(format, sizeof format, "KV.DLQ LIST q COUNT 2 CURSOR %%s %s", where);
    do {
        redisReply *r = ask_reply(c, format, cursor);
        if (r->type != REDIS_REPLY_ARRAY) fail_msg("%s", r->str);
        snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
        for (size_t i = 0; i < r->element[1]->elements; i++) {
            strcat(seen, r->element[1]->element[i]->element[1]->str);
        }
        freeReplyObject(r);
    } while (strcmp(cursor, "0") != 0);
    assert_string_equal(seen, wanted);
}

static void dead_letters_come_in_pages_newest_first(void **state)
{
    for (int i = 0; i < 5; i++) {
        expect(c, "*", "KV.ENQUEUE q %d", i);
        char *receipt = take(c, "KV.DEQUEUE q");
        expect(c, ":1", "KV.NACK %s DEAD", receipt);
        free(receipt);
        long until = testserver_now_ms() + 2;
        while (testserver_now_ms() < until) testserver_pause();
    }
    see_dead("", "43210");
    see_dead("WHERE {'$':{'$lt':2}}", "10");
    expect(c, "[0 [[* 4 :1 * :*] [* 0 :1 * :*]]]",
           "KV.DLQ LIST q WHERE {'$or':[{'$':{'$gt':3}},{'$':0}]}");
    expect(c, "[* []]", "KV.DLQ LIST q COUNT 2 WHERE {'$':0}"); /* of the first two */
    expect(c, "-ERR where: *", "KV.DLQ LIST q WHERE {'$':{'$zap':1}}");
    expect(c, ":5", "KV.DLQ REQUEUE q ALL");
    expect(c, ":5", "KV.QUEUE PURGE q");
}

static void purge_is_one_transaction(void **state)
{
    for (int i = 0; i < 3000; i++) redisAppendCommand(c, "KV.ENQUEUE q %d", i);
    for (int i = 0; i < 3000; i++) {
        redisReply *r = NULL;
        assert_int_equal(redisGetReply(c, (void **)&r), REDIS_OK);
        assert_int_equal(r->type, REDIS_REPLY_STRING);
        freeReplyObject(r);
    }
    char *receipt = take(c, "KV.DEQUEUE q");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.ENQUEUE q 'x'");
    expect(c, "+QUEUED", "KV.QUEUE PURGE q");
    expect(c, "+QUEUED", "KV.ENQUEUE q 'y'");
    expect(c, "+QUEUED", "KV.QUEUE PURGE q");
    expect(c, "+QUEUED", "KV.ENQUEUE q 'z'");
    expect(c, "[* :3001 * :1 *]", "EXEC");
    expect(c, ":0", "KV.ACK %s", receipt);
    expect(c, "[[* 'z' :0 :*]]", "KV.QUEUE PEEK q");
    expect(c, ":1", "KV.QUEUE PURGE q IDEM p");
    expect(c, "*", "KV.ENQUEUE q 'later'");
    expect(c, ":1", "KV.QUEUE PURGE q IDEM p"); /* the first reply */
    assert_int_equal(load_queue(c, "q", "ready"), 1);
    free(receipt);
}

static void peek_takes_nothing(void **state)
{
    expect(c, "*", "KV.ENQUEUE q 1");
    expect(c, "*", "KV.ENQUEUE q 2 DELAY 100000");
    expect(c, "[[* 1 :0 :*] [* 2 :0 :*]]", "KV.QUEUE PEEK q");
    expect(c, "[[* 1 :0 :*]]", "KV.QUEUE PEEK q COUNT 1");
    expect(c, "[]", "KV.QUEUE PEEK none");
    assert_int_equal(load_queue(c, "q", "ready"), 1);
    assert_int_equal(load_queue(c, "q", "delayed"), 1);
}

static void dedup_and_databases(void **state)
{
    expect(c, "*", "KV.ENQUEUE q 1 DEDUP order-7");
    expect(c, "(nil)", "KV.ENQUEUE q 2 DEDUP order-7");
    expect(c, "+OK", "SELECT 1");
    expect(c, "(nil)", "KV.DEQUEUE q");
    assert_int_equal(strlen(ask(c, "KV.ENQUEUE q 3 DEDUP order-7")), 24);
    expect(c, "+OK", "FLUSHDB");
    expect(c, "(nil)", "KV.DEQUEUE q");
    expect(c, "+OK", "SELECT 0");
    expect(c, "[[q * 1 :1 *]]", "KV.DEQUEUE q");
}

/* ---- what is refused ---- */

static void errors_name_the_wrong_word(void **state)
{
    expect(c, "-ERR syntax error: unexpected 'LATER'", "KV.ENQUEUE q 1 LATER 5");
    expect(c, "-ERR syntax error: 'DELAY' is a duplicate*", "KV.ENQUEUE q 1 DELAY 5 DELAY 6");
    expect(c, "-ERR syntax error: DELAY needs an argument", "KV.ENQUEUE q 1 DELAY");
    expect(c, "-ERR value is not an integer or out of range: DELAY 'x'", "KV.ENQUEUE q 1 DELAY x");
    expect(c, "-ERR DELAY must be between 0 and *", "KV.ENQUEUE q 1 DELAY -1");
    expect(c, "-ERR syntax error: BACKOFF needs an argument*", "KV.ENQUEUE q 1 BACKOFF 2 5");
    expect(c, "-ERR value is not an integer or out of range: milliseconds 'y'*",
           "KV.ENQUEUE q 1 BACKOFF 2 5 y");
    expect(c, "-ERR syntax error: UNDELIVERED needs an argument*", "KV.ENQUEUE q 1 UNDELIVERED 1");
    expect(c, "-ERR invalid key*", "KV.ENQUEUE q 1 UNDELIVERED 1 plain");
    expect(c, "-ERR invalid value*", "KV.ENQUEUE q {");
    expect(c, "-ERR the name of a queue must have 1 to 255 bytes, not 0", "KV.ENQUEUE %s 1", "");
    expect(c, "-ERR DEDUP must have 1 to 255 bytes, not 0", "KV.ENQUEUE q 1 DEDUP %s", "");
    expect(c, "-ERR COUNT must be between 1 and 1000, not 0", "KV.DEQUEUE q COUNT 0");
    expect(c, "-ERR LEASE must be between 1 and *", "KV.DEQUEUE q LEASE 0");
    expect(c, "-ERR value is not an integer or out of range: BLOCK '1.5'",
           "KV.DEQUEUE q BLOCK 1.5");
    expect(c, "-ERR syntax error: ALSO needs an argument*", "KV.DEQUEUE q ALSO 2 r");
    expect(c, "-ERR syntax error: unexpected 'NOW'", "KV.DEQUEUE q NOW");
    expect(c, "-ERR invalid receipt 'abc'*", "KV.ACK abc");
    expect(c, "-ERR invalid receipt '*'*", "KV.NACK *");
    expect(c, "-ERR invalid message id 'abc'", "KV.DLQ GET q abc");
    expect(c, "-ERR invalid message id 'abc'", "KV.QUEUE RECEIPT q abc");
    expect(c, "-ERR invalid message id 'all2'", "KV.DLQ REQUEUE q all2");
    expect(c, "-ERR invalid cursor", "KV.DLQ LIST q CURSOR abc");
    expect(c, "-ERR wrong number of arguments for 'kv.queue|stats' command; usage: KV.*",
           "KV.QUEUE STATS");
    expect(c, "-ERR unknown subcommand 'X'. Try KV.QUEUE HELP.", "KV.QUEUE X");
    expect(c, "[]", "KV.QUEUE LIST"); /* nothing was done */
}

static void keys_are_those_of_undelivered(void **state)
{
    expect(c, "[['a'] ['b']]",
           "COMMAND GETKEYS KV.ENQUEUE q 1 DELAY 5 UNDELIVERED 2 ['a'] ['b'] DEDUP x");
    expect(c, "[['k'] ['a'] ['l']]",
           "COMMAND GETKEYS KV.ATOMIC SET ['k'] 1 ENQUEUE q 1 BACKOFF 1 5 UNDELIVERED 1 ['a'] "
           "ACK r DEL ['l']");
}

/* ---- transactions ---- */

static void enqueue_and_ack_in_kv_atomic(void **state)
{
    expect(c, "[@ [['order',7] *]]", "KV.ATOMIC DETAILS SET ['order',7] 1 ENQUEUE mail {'to':7}");
    char *receipt = take(c, "KV.DEQUEUE mail");
    expect(c, "(nil)", "KV.ATOMIC CHECK ['order',7] NONE ACK %s", receipt);
    expect(c, "[@ [(nil) ['result'] *]]",
           "KV.ATOMIC DETAILS ACK %s SET ['result'] 1 ENQUEUE next 1 DELAY 5 DEDUP a", receipt);
    expect(c, "[(nil) [[:1 (nil)]]]", "KV.ATOMIC DETAILS SET ['result'] 2 ACK %s ENQUEUE next 2",
           receipt);
    expect(c, "(nil)", "KV.ATOMIC ACK %s SET ['result'] 2", receipt);
    expect(c, "1", "KV.GET ['result']");
    expect(c, "[@ [(nil)]]", "KV.ATOMIC DETAILS ENQUEUE next 2 DEDUP a");
    expect(c, "-ERR syntax error: 'DELAY' is a duplicate*",
           "KV.ATOMIC ENQUEUE next 2 DELAY 5 DELAY 6");
    expect(c, "-ERR syntax error: unexpected 'LATER' (CHECK, *", "KV.ATOMIC ENQUEUE next 2 LATER");
    expect(c, "-ERR invalid receipt 'x'*", "KV.ATOMIC ACK x");
    expect(c, "-WRONGTYPE*", "KV.ATOMIC ENQUEUE none 1 SET ['k'] 'a' SUM ['k'] 1");
    assert_int_equal(load_queue(c, "none", "enqueued"), 0);
    free(receipt);
}

static void queues_inside_multi(void **state)
{
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.ENQUEUE q 1");
    expect(c, "+QUEUED", "KV.ENQUEUE q 2");
    expect(c, "+QUEUED", "KV.DEQUEUE q BLOCK 0");
    expect(c, "+QUEUED", "KV.QUEUE STATS q");
    expect(c, "+QUEUED", "KV.DEQUEUE none BLOCK 0"); /* answers at once */
    expect(c, "[* * [[q * 1 :1 *]] [ready :1 delayed :0 leased :1 *] (nil)]", "EXEC");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "KV.ENQUEUE q 3");
    expect(c, "+QUEUED", "KV.DEQUEUE q");
    expect(c, "+QUEUED", "KV.ACK garbage");
    expect(c, "-EXECABORT command 3 kv.ack: ERR invalid receipt 'garbage'*", "EXEC");
    expect(c, "[[q * 2 :1 *]]", "KV.DEQUEUE q COUNT 10");
}

static void idem_makes_each_write_happen_once(void **state)
{
    char id[32];
    snprintf(id, sizeof id, "%s", ask(c, "KV.ENQUEUE q 1 BACKOFF 0 IDEM a"));
    expect(c, id, "KV.ENQUEUE q 1 BACKOFF 0 IDEM a");
    char *receipt = take(c, "KV.DEQUEUE q");
    expect(c, ":1", "KV.EXTEND %s 50000 IDEM b", receipt);
    expect(c, ":1", "KV.EXTEND %s 50000 IDEM b", receipt);
    expect(c, ":1", "KV.NACK %s IDEM c", receipt);
    expect(c, ":1", "KV.NACK %s IDEM c", receipt);
    free(receipt);
    expect(c, ":1", "KV.DLQ REQUEUE q ALL IDEM d");
    expect(c, ":1", "KV.DLQ REQUEUE q ALL IDEM d");
    receipt = take(c, "KV.DEQUEUE q");
    expect(c, ":1", "KV.ACK %s IDEM e", receipt);
    expect(d, ":1", "KV.ACK %s IDEM e", receipt);
    expect(c, "(nil)", "KV.DEQUEUE q");
    free(receipt);
}

/* ---- waiting ---- */

static void who_waited_first_is_served_first(void **state)
{
    say(d, "KV.DEQUEUE q BLOCK 0");
    load_flush(d);
    wait_for_blocked(1);
    say(e, "KV.DEQUEUE q BLOCK 0");
    load_flush(e);
    wait_for_blocked(2);
    expect(c, "*", "KV.ENQUEUE q 1");
    expect_next(d, "[[q * 1 :1 *]]");
    say(d, "KV.DEQUEUE q BLOCK 0"); /* behind e now */
    load_flush(d);
    wait_for_blocked(2);
    expect(c, "@", "KV.ATOMIC ENQUEUE q 2 ENQUEUE q 3");
    expect_next(e, "[[q * 2 :1 *]]");
    expect_next(d, "[[q * 3 :1 *]]");
}

static void a_newcomer_takes_nothing_that_is_promised(void **state)
{
    say(d, "KV.DEQUEUE q BLOCK 0");
    load_flush(d);
    wait_for_blocked(1);
    say(c, "KV.ENQUEUE q 1");
    say(c, "KV.DEQUEUE q"); /* in the same turn */
    load_flush(c);
    expect_next(c, "*");
    expect_next(c, "(nil)");
    expect_next(d, "[[q * 1 :1 *]]");
}

static void a_consumer_waits_for_several_queues(void **state)
{
    say(d, "KV.DEQUEUE a ALSO 2 b c BLOCK 0");
    load_flush(d);
    wait_for_blocked(1);
    say(e, "KV.DEQUEUE c BLOCK 0");
    load_flush(e);
    wait_for_blocked(2);
    expect(c, "*", "KV.ENQUEUE c 1");
    expect_next(d, "[[c * 1 :1 *]]");
    expect(c, "*", "KV.ENQUEUE c 2");
    expect_next(e, "[[c * 2 :1 *]]");
    expect(c, "*", "KV.ENQUEUE b 3");
    expect(c, "*", "KV.ENQUEUE a 4");
    expect(d, "[[a * 4 :1 *] [b * 3 :1 *]]", "KV.DEQUEUE a ALSO 2 b c COUNT 5");
}

static void blocking_ends(void **state)
{
    expect(c, "(nil)", "KV.DEQUEUE q BLOCK 20");
    long long id = ask_integer(d, "CLIENT ID");
    say(d, "KV.DEQUEUE q BLOCK 0");
    load_flush(d);
    wait_for_blocked(1);
    expect(c, ":1", "CLIENT UNBLOCK %lld", id);
    expect_next(d, "(nil)");
    say(d, "KV.DEQUEUE q BLOCK 0");
    load_flush(d);
    wait_for_blocked(1);
    expect(c, ":1", "CLIENT UNBLOCK %lld ERROR", id);
    expect_next(d, "-UNBLOCKED *");
    say(d, "KV.DEQUEUE q BLOCK 0"); /* goes while it waits: forgotten */
    load_flush(d);
    wait_for_blocked(1);
    redisFree(d);
    d = testserver_connect(server);
    wait_for_blocked(0);
    expect(c, "*", "KV.ENQUEUE q 1");
    expect(c, "[[q * 1 :1 *]]", "KV.DEQUEUE q");
}

static void what_time_brings_wakes_who_waits(void **state)
{
    expect(c, "*", "KV.ENQUEUE q 1 DELAY 50 BACKOFF 2 30 0");
    char *receipt = take(c, "KV.DEQUEUE q BLOCK 5000");
    expect(c, ":1", "KV.NACK %s", receipt);
    free(receipt);
    expect(c, "[[q * 1 :2 *]]", "KV.DEQUEUE q BLOCK 5000 LEASE 40");
    expect(c, "[[q * 1 :3 *]]", "KV.DEQUEUE q BLOCK 5000 LEASE 40");
    wait_for_figure("q", "dead", 1);
    assert_int_equal(load_queue(c, "q", "expired"), 2);
}

/* ---- clients that go ---- */

/* The reply waits for the disk (a slow one) when the client goes: no client saw the message. */
static void a_reply_that_was_not_written_costs_no_attempt(void **state)
{
    const char *env[] = {"TUPLED_TEST_SYNC_DELAY_MS=300", NULL};
    struct testserver_options o = {.env = env};
    struct testserver *slow = testserver_start(&o);
    redisContext *a = testserver_connect(slow);
    redisContext *b = testserver_connect(slow);
    expect(a, "*", "KV.ENQUEUE q 1");
    long long id = ask_integer(b, "CLIENT ID");
    say(b, "KV.DEQUEUE q LEASE 100000");
    load_flush(b);
    long until = testserver_now_ms() + LIMIT_MS;
    while (strstr(ask(a, "CLIENT LIST ID %lld", id), "cmd=kv.dequeue") == NULL) {
        if (testserver_now_ms() > until) fail_msg("KV.DEQUEUE has not run");
        testserver_pause();
    }
    expect(a, ":1", "CLIENT KILL ID %lld", id);
    expect(a, "[[q * 1 :1 *]]", "KV.DEQUEUE q BLOCK 10000");
    redisFree(a);
    redisFree(b);
    testserver_free(slow);
}

static void everything_is_there_after_kill_9(void **state)
{
    struct testserver *s = testserver_start(NULL);
    redisContext *a = testserver_connect(s);
    expect(a, "*", "KV.ENQUEUE q 1");
    expect(a, "*", "KV.ENQUEUE q 2");
    expect(a, "*", "KV.ENQUEUE q 3 DELAY 100000");
    char *receipt = take(a, "KV.DEQUEUE q LEASE 100000");
    testserver_kill(s);
    redisFree(a);
    testserver_again(s);
    a = testserver_connect(s);
    expect(a, "[ready :1 delayed :1 leased :1 dead :0 *]", "KV.QUEUE STATS q");
    expect(a, ":1", "KV.ACK %s", receipt);
    expect(a, "[[q * 2 :1 *]]", "KV.DEQUEUE q COUNT 5");
    free(receipt);
    redisFree(a);
    testserver_free(s);
}

/* ---- pushing ---- */

#define PUSHED "[message kv:queue:q {'queue':'q','id':'*','value':%s,'attempt':%d,'receipt':'*'}]"

static void expect_pushed(redisContext *by, const char *value, int attempt)
{
    char wanted[200];
    snprintf(wanted, sizeof wanted, PUSHED, value, attempt);
    expect_next(by, wanted);
}

/* The receipt of the next message; the caller frees it. */
static char *next_receipt(redisContext *by)
{
    redisReply *r = NULL;
    if (redisGetReply(by, (void **)&r) != REDIS_OK) fail_msg("no message: %s", by->errstr);
    assert_int_equal(r->elements, 3);
    char *at = strstr(r->element[2]->str, "\"receipt\":\"");
    assert_non_null(at);
    char *receipt = strdup(at + strlen("\"receipt\":\""));
    *strchr(receipt, '"') = '\0';
    freeReplyObject(r);
    return receipt;
}

static void expect_silence(redisContext *by)
{
    if (load_is_readable(by, 50)) fail_msg("a message too many");
}

static void messages_are_pushed_round_robin_up_to_the_prefetch(void **state)
{
    expect(d, "+OK", "KV.QUEUE PREFETCH 2");
    expect(e, "+OK", "KV.QUEUE PREFETCH 2");
    expect(d, "[subscribe kv:queue:q :1]", "SUBSCRIBE kv:queue:q");
    expect(e, "[subscribe kv:queue:q :1]", "SUBSCRIBE kv:queue:q");
    for (int i = 1; i <= 6; i++) expect(c, "*", "KV.ENQUEUE q %d", i);
    char *receipt = next_receipt(d); /* 1 */
    expect_pushed(e, "2", 1);
    expect_pushed(d, "3", 1);
    expect_pushed(e, "4", 1);
    expect_silence(d);
    expect_silence(e);
    assert_int_equal(load_queue(c, "q", "leased"), 4);
    expect(c, ":1", "KV.ACK %s", receipt); /* on any connection */
    expect_pushed(d, "5", 1);
    expect_silence(d);
    expect_silence(e);
    expect(c, "[[q * 6 :1 *]]", "KV.DEQUEUE q"); /* neither has room for it */
    free(receipt);
}

static void what_is_delayed_or_given_back_is_pushed_when_due(void **state)
{
    expect(d, "[subscribe kv:queue:q :1]", "SUBSCRIBE kv:queue:q");
    expect(c, "*", "KV.ENQUEUE q 1 DELAY 30 BACKOFF 2 20 20");
    char *receipt = next_receipt(d);
    expect(c, ":1", "KV.NACK %s", receipt);
    free(receipt);
    receipt = next_receipt(d);
    expect(c, ":1", "KV.EXTEND %s 30", receipt);
    expect_pushed(d, "1", 3);
    free(receipt);
}

static void what_is_purged_is_no_longer_unacknowledged(void **state)
{
    expect(d, "+OK", "KV.QUEUE PREFETCH 1");
    for (int i = 0; i < 2; i++) { /* with a dead letter the queue stays, without it is forgotten */
        expect(d, "[subscribe kv:queue:q :1]", "SUBSCRIBE kv:queue:q");
        expect(c, "*", "KV.ENQUEUE q 1");
        char *receipt = next_receipt(d);
        expect(c, "*", "KV.ENQUEUE q 2");
        expect(c, ":2", "KV.QUEUE PURGE q");
        expect(c, ":0", "KV.ACK %s", receipt);
        free(receipt);
        expect(c, "*", "KV.ENQUEUE q 3");
        receipt = next_receipt(d);
        expect(c, ":1", "KV.NACK %s DEAD", receipt);
        free(receipt);
        expect(d, "[unsubscribe kv:queue:q :0]", "UNSUBSCRIBE kv:queue:q");
    }
}

static void a_connection_that_ends_counts_one_that_unsubscribes_does_not(void **state)
{
    expect(d, "[subscribe kv:queue:q :1]", "SUBSCRIBE kv:queue:q");
    expect(c, "*", "KV.ENQUEUE q 1 BACKOFF 3 10 10 10");
    expect_pushed(d, "1", 1);
    expect(d, "[unsubscribe kv:queue:q :0]", "UNSUBSCRIBE kv:queue:q");
    expect(c, "[[q * 1 :1 *]]", "KV.DEQUEUE q BLOCK 5000 LEASE 1");
    expect(d, "[subscribe kv:queue:q :1]", "SUBSCRIBE kv:queue:q");
    expect_pushed(d, "1", 2);
    redisFree(d);
    d = testserver_connect(server);
    char *receipt = take(c, "KV.DEQUEUE q BLOCK 5000");
    expect(c, ":1", "KV.NACK %s DEAD ERROR x", receipt);
    free(receipt);
    expect(c, "[0 [[* 1 :3 x :*]]]", "KV.DLQ LIST q");
    for (int i = 0; i < 2; i++) {
        expect(d, "[subscribe kv:queue:r :1]", "SUBSCRIBE kv:queue:r");
        if (i == 0) expect(c, "*", "KV.ENQUEUE r 5");
        free(next_receipt(d));
        expect(d, i == 0 ? "+RESET" : "+OK", i == 0 ? "RESET" : "QUIT");
    }
    expect(c, "[[r * 5 :1 *]]", "KV.DEQUEUE r BLOCK 5000");
}

static void subscribers_in_resp3_and_messagepack(void **state)
{
    int fd = raw_connect(server);
    const char hello[] = "HELLO 3\r\nKV.FORMAT MSGPACK\r\nSUBSCRIBE kv:queue:q\r\n";
    raw_send(fd, hello, sizeof hello - 1);
    while (strcmp(raw_line(fd), "modules") != 0) continue;
    raw_expect(fd, "*0\r\n+OK\r\n>3\r\n$9\r\nsubscribe\r\n$10\r\nkv:queue:q\r\n:1\r\n");
    expect(c, "*", "KV.ENQUEUE q true");
    raw_expect(fd, ">3\r\n$7\r\nmessage\r\n$10\r\nkv:queue:q\r\n$");
    raw_line(fd);
    raw_expect(fd, "\x85\xa5queue\xa1q\xa2id\xb8");
    close(fd);
    expect(c, "-ERR the name of a queue must have 1 to 255 bytes, not 0", "SUBSCRIBE kv:queue:");
    expect(c, "-ERR count must be between 1 and 1000, not 0", "KV.QUEUE PREFETCH 0");
}

/* Subscribers come and go in every way, read and acknowledge or do not: each message ends as
 * acknowledged or as a dead letter. */
static void subscribers_that_come_and_go_lose_nothing(void **state)
{
    enum { MANY = 300, SUBSCRIBERS = 6 };
    redisContext *subs[SUBSCRIBERS] = {NULL};
    long until = testserver_now_ms() + 2 * LIMIT_MS;
    load_seed();
    for (int i = 0; i < MANY; i++) expect(c, "*", "KV.ENQUEUE q %d BACKOFF 3 1 2 3", i);
    for (unsigned turn = 0;; turn++) {
        long long left = load_queue(c, "q", "ready delayed leased");
        if (left == 0) break;
        if (testserver_now_ms() > until) fail_msg("%lld messages are stuck", left);
        redisContext **s = &subs[load_below(SUBSCRIBERS)];
        if (*s == NULL) {
            *s = testserver_connect(server);
            expect(*s, "+OK", "KV.QUEUE PREFETCH %d", (int)load_below(20) + 1);
            expect(*s, "[subscribe kv:queue:q :1]", "SUBSCRIBE kv:queue:q");
        }
        for (uint64_t n = load_below(30); n > 0 && load_is_readable(*s, 2); n--) {
            char *receipt = next_receipt(*s);
            if (load_below(4) != 0) ask(c, "KV.ACK %s", receipt);
            free(receipt);
        }
        uint64_t how = load_below(8);
        if (how < 2) say(*s, how == 0 ? "UNSUBSCRIBE" : "RESET");
        if (how < 2) load_flush(*s);
        if (how < 3) redisFree(*s);
        if (how < 3) *s = NULL;
    }
    for (int i = 0; i < SUBSCRIBERS; i++) {
        if (subs[i] != NULL) redisFree(subs[i]);
    }
    assert_int_equal(load_queue(c, "q", "acked dead"), MANY);
    printf("%lld acknowledged, %lld dead\n", load_queue(c, "q", "acked"),
           load_queue(c, "q", "dead"));
}

static void a_stop_counts_nothing(void **state)
{
    struct testserver *s = testserver_start(NULL);
    redisContext *a = testserver_connect(s);
    redisContext *b = testserver_connect(s);
    expect(b, "[subscribe kv:queue:q :1]", "SUBSCRIBE kv:queue:q");
    expect(a, "*", "KV.ENQUEUE q 1");
    expect_pushed(b, "1", 1);
    testserver_stop(s);
    testserver_again(s);
    redisFree(a);
    redisFree(b);
    a = testserver_connect(s);
    expect(a, "[[q * 1 :1 *]]", "KV.DEQUEUE q");
    redisFree(a);
    testserver_free(s);
}

/* ---- settings ---- */

static void settings_take_effect_while_it_runs(void **state)
{
    struct testserver *s = testserver_start(NULL);
    redisContext *a = testserver_connect(s);
    expect(a, "+OK", "CONFIG SET queue-lease 20 dlq-max-length 2 dedup-max-entries 1");
    expect(a, "*", "KV.ENQUEUE q 1 BACKOFF 1 0");
    expect(a, "[[q * 1 :1 *]]", "KV.DEQUEUE q");
    expect(a, "[[q * 1 :2 *]]", "KV.DEQUEUE q BLOCK 10000");
    assert_int_equal(strlen(ask(a, "KV.ENQUEUE e 1 DEDUP a")), 24);
    expect(a, "-TRYAGAIN 1 dedup ids are remembered (dedup-max-entries)*",
           "KV.ENQUEUE e 1 DEDUP b");
    expect(a, "+OK", "CONFIG SET dedup-max-entries 3");
    expect(a, "+OK", "MULTI");
    for (int i = 0; i < 3; i++) expect(a, "+QUEUED", "KV.ENQUEUE e 1 DEDUP many%d", i);
    expect(
        a,
        "-EXECABORT command 3 kv.enqueue: TRYAGAIN 3 dedup ids are remembered (dedup-max-entries)*",
        "EXEC");
    expect(a, "+OK", "MULTI");
    for (int i = 0; i < 3; i++) expect(a, "+QUEUED", "KV.ENQUEUE e 1 DEDUP few%d", i % 2);
    expect(a, "[* * (nil)]", "EXEC");
    expect(a, "-TRYAGAIN *", "KV.ATOMIC ENQUEUE e 1 DEDUP b");
    expect(a, "+OK", "CONFIG SET dedup-window 1");
    long until = testserver_now_ms() + LIMIT_MS;
    while (strlen(ask(a, "KV.ENQUEUE e 1 DEDUP a")) != 24) {
        if (testserver_now_ms() > until) fail_msg("the dedup id is never forgotten");
        testserver_pause();
    }
    for (int i = 0; i < 4; i++) {
        expect(a, "*", "KV.ENQUEUE d %d", i);
        char *receipt = take(a, "KV.DEQUEUE d LEASE 60000");
        expect(a, ":1", "KV.NACK %s DEAD", receipt);
        free(receipt);
    }
    until = testserver_now_ms() + LIMIT_MS;
    while (!text_fits(ask(a, "KV.DLQ LIST d"), "[0 [[* 3 :1 * :*] [* 2 :1 * :*]]]")) {
        if (testserver_now_ms() > until) fail_msg("%s", ask(a, "KV.DLQ LIST d"));
        testserver_pause();
    }
    expect(a, "+OK", "CONFIG SET dlq-max-age 1");
    until = testserver_now_ms() + LIMIT_MS;
    while (!text_fits(ask(a, "KV.DLQ LIST d"), "[0 []]")) {
        if (testserver_now_ms() > until) fail_msg("dead letters are kept for ever");
        testserver_pause();
    }
    expect(a, "+OK", "CONFIG SET queue-prefetch 1 queue-lease 600000");
    redisContext *b = testserver_connect(s);
    expect(b, "[subscribe kv:queue:q2 :1]", "SUBSCRIBE kv:queue:q2");
    expect(a, "@", "KV.ATOMIC ENQUEUE q2 1 ENQUEUE q2 2");
    free(next_receipt(b));
    expect(a, "[ready :1 delayed :0 leased :1 *]", "KV.QUEUE STATS q2");
    redisFree(a);
    redisFree(b);
    testserver_free(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, group_enter, group_leave)

/* ---- a worker that always dies ---- */

enum death { BY_NACK, BY_LEASE, BY_CRASH, BY_CRASH_OF_A_PUSH, DEATHS };

/* Takes the message and dies of it; the receipt it had. The caller frees it. */
static char *take_and_die(enum death death)
{
    redisContext *worker = testserver_connect(server);
    char *receipt = NULL;
    if (death == BY_CRASH_OF_A_PUSH) {
        redisReply *r = NULL;
        expect(worker, "[subscribe kv:queue:q :1]", "SUBSCRIBE kv:queue:q");
        assert_int_equal(redisGetReply(worker, (void **)&r), REDIS_OK);
        const char *from = strstr(r->element[2]->str, "\"receipt\":\"");
        assert_non_null(from);
        receipt = strndup(from + 11, strcspn(from + 11, "\""));
        freeReplyObject(r);
    } else {
        receipt = take(worker, death == BY_NACK ? "KV.DEQUEUE q LEASE 600000 BLOCK 10000"
                                                : "KV.DEQUEUE q LEASE 30 BLOCK 10000");
    }
    if (death == BY_NACK) expect(worker, ":1", "KV.NACK %s ERROR no", receipt);
    if (death == BY_LEASE) expect(c, "@", "KV.SET ['lives'] 1");
    redisFree(worker);
    return receipt;
}

static void a_message_whose_worker_always_dies_is_a_dead_letter(void **state)
{
    for (int death = 0; death < DEATHS; death++) {
        char *receipts[3];
        expect(c, "*", "KV.ENQUEUE q [%d] BACKOFF 2 0 10 UNDELIVERED 1 ['dead',%d]", death, death);
        for (int attempt = 0; attempt < 3; attempt++) {
            receipts[attempt] = take_and_die((enum death)death);
            expect(c, "(nil)", "KV.GET ['dead',%d]", attempt < 2 ? death : DEATHS);
        }
        wait_for_figure("q", "dead", 1);
        char wanted[40];
        snprintf(wanted, sizeof wanted, "[%d]", death);
        expect(c, wanted, "KV.GET ['dead',%d]", death);
        snprintf(wanted, sizeof wanted, "[0 [[* [%d] :3 * :*]]]", death);
        expect(c, wanted, "KV.DLQ LIST q");
        for (int attempt = 0; attempt < 3; attempt++) { /* too late, each of them */
            expect(c, ":0", "KV.ACK %s", receipts[attempt]);
            expect(c, ":0", "KV.NACK %s", receipts[attempt]);
            expect(c, ":0", "KV.EXTEND %s 1000", receipts[attempt]);
            expect(c, "(nil)", "KV.ATOMIC SET ['x'] 1 ACK %s", receipts[attempt]);
            free(receipts[attempt]);
        }
        expect(c, "(nil)", "KV.GET ['x']");
        expect(c, ":1", "KV.DLQ PURGE q");
        assert_int_equal(load_queue(c, "q", "ready delayed leased"), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_message_is_enqueued_leased_and_acknowledged),
        TEST(queues_are_listed_in_pages),
        TEST(the_greatest_of_all_queues_are_told),
        TEST(replies_in_resp3_and_messagepack),
        TEST(nack_and_dead_letters),
        TEST(dead_letters_come_in_pages_newest_first),
        TEST(purge_is_one_transaction),
        TEST(peek_takes_nothing),
        TEST(dedup_and_databases),
        TEST(errors_name_the_wrong_word),
        TEST(keys_are_those_of_undelivered),
        TEST(enqueue_and_ack_in_kv_atomic),
        TEST(queues_inside_multi),
        TEST(idem_makes_each_write_happen_once),
        TEST(who_waited_first_is_served_first),
        TEST(a_newcomer_takes_nothing_that_is_promised),
        TEST(a_consumer_waits_for_several_queues),
        TEST(blocking_ends),
        TEST(what_time_brings_wakes_who_waits),
        TEST(a_reply_that_was_not_written_costs_no_attempt),
        TEST(everything_is_there_after_kill_9),
        TEST(messages_are_pushed_round_robin_up_to_the_prefetch),
        TEST(what_is_delayed_or_given_back_is_pushed_when_due),
        TEST(what_is_purged_is_no_longer_unacknowledged),
        TEST(a_connection_that_ends_counts_one_that_unsubscribes_does_not),
        TEST(subscribers_in_resp3_and_messagepack),
        TEST(subscribers_that_come_and_go_lose_nothing),
        TEST(a_stop_counts_nothing),

        TEST(a_message_whose_worker_always_dies_is_a_dead_letter),
        TEST(settings_take_effect_while_it_runs),

    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
