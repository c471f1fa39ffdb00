/* Nothing put into a queue is lost, stuck, or done twice: producers and workers lose their
 * connections at random moments while the server is killed with -9 again and again.
 *
 * A producer enqueues [producer, n] for n = 1, 2, ... with an IDEM and sends it again until it has
 * a reply. A worker takes a message and acknowledges it in one transaction with the result, a
 * counter of that message; or gives it back, or buries it, or just goes away. At the end each
 * message that was enqueued is either counted exactly once, or a dead letter that is counted never.
 * And what a PURGE has removed does not come back, wherever its rows were when the server was killed.
 *
 * Environment: TUPLED_SEED; TUPLED_LONG=1 makes it long: 50 producers, 50 workers, CRASH_SECONDS
 * (30) and at least 100,000 messages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "client.h"
#include "load_help.h"

#define PRODUCERS_MAX 50
#define CLIENTS_MAX 100
#define SECONDS 7
#define KILL_EVERY_MS 900
#define KILLS_MIN 3       /* fewer prove little */
#define DROP_US_MAX 20000 /* doubled with each drop until there is a reply, so often: */
#define DOUBLED_MAX 8
#define LEASE_MS 300
#define LIMIT_MS 20000

enum job { PRODUCE, TAKE, SETTLE };

struct party {
    enum job job;
    unsigned n;        /* producer: messages acknowledged; worker: settlements begun */
    char receipt[128]; /* SETTLE: of the message ... */
    char message[32];  /* ... which is this one */
    unsigned how;      /* ... to be settled so */
    int64_t drop_us;   /* when the connection is dropped */
    unsigned dropped;  /* so often since its last reply */
};

struct campaign {
    struct testserver *server;
    struct load_client clients[CLIENTS_MAX];
    struct party parties[CLIENTS_MAX];
    unsigned kills, drops, settled, stale;
    bool is_ending; /* no new messages, no more drops */
};

static struct campaign run;
static unsigned producers = 8;
static unsigned clients = 8 + 16;
static unsigned messages_min = 300; /* fewer prove little */

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static unsigned campaign_seconds(void)
{
    const char *text = getenv("CRASH_SECONDS");
    if (!load_is_long()) return SECONDS;
    return text != NULL && atoi(text) > 0 ? (unsigned)atoi(text) : 30;
}

/* ---- what the parties say -------------------------------------------------------------------- */

static void say_settle(struct load_client *l)
{
    const struct party *p = l->arg;
    unsigned i = (unsigned)l->number;
    switch (p->how) {
    case 0: load_say(l, "KV.NACK %s ERROR no IDEM s-%u-%u", p->receipt, i, p->n); break;
    case 1: load_say(l, "KV.NACK %s DEAD IDEM s-%u-%u", p->receipt, i, p->n); break;
    case 2:
        load_say(l, "KV.ATOMIC IDEM s-%u-%u ACK %s SUM ['done',%s] 1 ENQUEUE after [%s]", i, p->n,
                 p->receipt, p->message, p->message);
        break;
    default:
        load_say(l, "KV.ATOMIC IDEM s-%u-%u ACK %s SUM ['done',%s] 1", i, p->n, p->receipt,
                 p->message);
        break;
    }
}

/* When its connection is dropped: later each time until it has a reply. */
static void draw_drop(struct party *p)
{
    unsigned doubled = p->dropped < DOUBLED_MAX ? p->dropped : DOUBLED_MAX;
    p->drop_us = now_us() + (int64_t)load_below(DROP_US_MAX << doubled);
}

/* What it is to say now, for the first time or again. */
static void say_job(struct load_client *l)
{
    struct party *p = l->arg;
    unsigned i = (unsigned)l->number;
    draw_drop(p);
    switch (p->job) {
    case PRODUCE:
        load_say(l, "KV.ENQUEUE work [%u,%u] BACKOFF 6 0 5 10 20 20 20 IDEM p-%u-%u", i, p->n + 1,
                 i, p->n + 1);
        break;
    case TAKE: load_say(l, "KV.DEQUEUE work BLOCK 200 LEASE %d", LEASE_MS); break;
    case SETTLE: say_settle(l); break;
    }
}

/* ---- what they hear -------------------------------------------------------------------------- */

static void on_taken(struct load_client *l, const redisReply *r)
{
    struct party *p = l->arg;
    if (r->type == REDIS_REPLY_NIL) return;
    const redisReply *m = r->element[0];
    size_t len = m->element[2]->len;
    snprintf(p->receipt, sizeof p->receipt, "%s", m->element[4]->str);
    snprintf(p->message, sizeof p->message, "%.*s", (int)len - 2, m->element[2]->str + 1);
    if (!run.is_ending && load_below(8) == 0) return; /* forgotten: its lease will end */
    p->job = SETTLE;
    p->how = run.is_ending ? 3 : (unsigned)load_below(12);
    p->n++;
}

static void on_reply(struct load_client *l, const redisReply *r)
{
    struct party *p = l->arg;
    if (r->type == REDIS_REPLY_ERROR) fail_msg("client %zu: %s", l->number, r->str);
    p->dropped = 0;
    switch (p->job) {
    case PRODUCE:
        assert_int_equal(r->type, REDIS_REPLY_STRING);
        p->n++;
        if (run.is_ending) return;
        break;
    case TAKE: on_taken(l, r); break;
    case SETTLE:
        run.settled++;
        run.stale += r->type == REDIS_REPLY_NIL || (r->type == REDIS_REPLY_INTEGER && !r->integer);
        p->job = TAKE;
        break;
    }
    say_job(l);
}

/* ---- dropping and killing -------------------------------------------------------------------- */

/* Its connection is gone: what it had asked for, it asks for again. */
static void begin_anew(struct load_client *l)
{
    load_close(l);
    load_open(l, run.server);
    say_job(l);
}

static void kill_and_restart(void)
{
    testserver_kill(run.server);
    run.kills++;
    testserver_again(run.server);
    for (size_t i = 0; i < clients; i++) begin_anew(&run.clients[i]);
}

static void drop_those_due(void)
{
    int64_t now = now_us();
    for (size_t i = 0; i < clients; i++) {
        if (now < run.parties[i].drop_us) continue;
        if (load_below(4) == 0) {
            run.drops++;
            run.parties[i].dropped++;
            begin_anew(&run.clients[i]);
        } else {
            draw_drop(&run.parties[i]);
        }
    }
}

static unsigned enqueued(void)
{
    unsigned n = 0;
    for (size_t i = 0; i < producers; i++) n += run.parties[i].n;
    return n;
}

static void drive(void)
{
    long until = testserver_now_ms() + (long)campaign_seconds() * 1000;
    long next_kill = testserver_now_ms() + KILL_EVERY_MS;
    unsigned enqueued_before = 0; /* a server that is killed before it serves shows nothing */
    for (size_t i = 0; i < clients; i++) {
        run.parties[i].job = i < producers ? PRODUCE : TAKE;
        run.clients[i] = (struct load_client){
            .number = i, .arg = &run.parties[i], .on_reply = on_reply};
        load_open(&run.clients[i], run.server);
        say_job(&run.clients[i]);
    }
    while (testserver_now_ms() < until || enqueued() < messages_min || run.kills < KILLS_MIN) {
        load_turn(run.clients, clients, 1);
        drop_those_due();
        if (testserver_now_ms() < next_kill || enqueued() == enqueued_before) continue;
        enqueued_before = enqueued();
        kill_and_restart();
        next_kill = testserver_now_ms() + KILL_EVERY_MS / 2 + (long)load_below(KILL_EVERY_MS);
    }
}

/* ---- what must be there ---------------------------------------------------------------------- */

/* Workers go on until nothing waits and nothing is leased: nothing is stuck. */
static void work_off(redisContext *c)
{
    long until = testserver_now_ms() + LIMIT_MS;
    run.is_ending = true;
    for (;;) {
        for (int i = 0; i < 50; i++) load_turn(run.clients, clients, 1);
        size_t producing = load_unanswered(run.clients, producers);
        long long left = load_queue(c, "work", "ready delayed leased");
        if (producing == 0 && left == 0) break;
        if (testserver_now_ms() > until) fail_msg("%lld messages are stuck", left);
    }
    for (size_t i = 0; i < clients; i++) load_close(&run.clients[i]);
}

static unsigned char (*buried)[1 << 20]; /* by producer and number */

static unsigned read_dead(redisContext *c)
{
    char cursor[64] = "0";
    unsigned count = 0;
    buried = calloc(producers, sizeof *buried);
    do {
        redisReply *r = ask_reply(c, "KV.DLQ LIST work COUNT 500 CURSOR %s", cursor);
        assert_int_equal(r->type, REDIS_REPLY_ARRAY);
        snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
        for (size_t i = 0; i < r->element[1]->elements; i++, count++) {
            unsigned producer = 0;
            unsigned n = 0;
            const char *value = r->element[1]->element[i]->element[1]->str;
            assert_int_equal(sscanf(value, "[%u,%u]", &producer, &n), 2);
            assert_true(producer < producers && n < sizeof *buried);
            buried[producer][n]++;
        }
        freeReplyObject(r);
    } while (strcmp(cursor, "0") != 0);
    return count;
}

static void every_message_is_done_once_or_a_dead_letter(void **state)
{
    const char *args[] = {"--dlq-max-length", "1000000", NULL};
    struct testserver_options o = {.is_release = true, .args = args};
    unsigned total = 0;
    unsigned done = 0;
    if (load_is_long()) {
        producers = PRODUCERS_MAX;
        clients = CLIENTS_MAX;
        messages_min = 100000;
    }
    load_seed();
    run.server = testserver_start(&o);
    drive();
    redisContext *c = testserver_connect(run.server);
    work_off(c);
    unsigned dead = read_dead(c);
    for (unsigned i = 0; i < producers; i++) {
        for (unsigned n = 1; n <= run.parties[i].n; n++, total++) {
            const char *count = ask(c, "KV.GET ['done',%u,%u]", i, n);
            bool is_done = strcmp(count, "1") == 0;
            if (!is_done && strcmp(count, "(nil)") != 0) fail_msg("[%u,%u]: %s times", i, n, count);
            if (is_done + buried[i][n] != 1) {
                fail_msg("[%u,%u] is done %d times and %d times dead", i, n, is_done, buried[i][n]);
            }
            done += is_done;
        }
    }
    assert_int_equal(total, load_queue(c, "work", "enqueued"));
    assert_int_equal(done, load_queue(c, "work", "acked"));
    assert_int_equal(dead, load_queue(c, "work", "dead"));
    assert_int_equal(total, done + dead);
    free(buried);
    redisFree(c);
    testserver_free(run.server);
    printf("%u messages: %u done, %u dead; %u settled, %u of them too late, %u drops, %u kills\n",
           total, done, dead, run.settled, run.stale, run.drops, run.kills);
    assert_true(total >= messages_min);
    assert_true(run.kills >= KILLS_MIN);
}

/* What was purged stays away and what was dead stays, whatever of it has reached the store. */
static void what_was_purged_before_a_kill_does_not_come_back(void **state)
{
    enum { ROUNDS = 8, PURGED = 400, KEPT = 20 };
    struct testserver_options o = {.is_release = true};
    load_seed();
    run.server = testserver_start(&o);
    redisContext *c = testserver_connect(run.server);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PURGED; i++) say(c, "KV.ENQUEUE q 'old'");
        expect_many(c, PURGED, "*");
        redisReply *r = ask_reply(c, "KV.DEQUEUE q COUNT 2");
        char *receipts[2];
        for (int i = 0; i < 2; i++) receipts[i] = strdup(r->element[i]->element[4]->str);
        freeReplyObject(r);
        expect(c, ":1", "KV.NACK %s DEAD", receipts[0]);
        if (load_below(2) == 0) testserver_pause(); /* some of it is in the store, or not */
        int left = round > 0 ? KEPT : 0;
        char wanted[16];
        snprintf(wanted, sizeof wanted, ":%d", PURGED - 1 + left);
        expect(c, wanted, "KV.QUEUE PURGE q");
        for (int i = 0; i < KEPT; i++) say(c, "KV.ENQUEUE q %d", round * KEPT + i);
        expect_many(c, KEPT, "*");
        redisFree(c);
        testserver_kill(run.server);
        testserver_again(run.server);
        c = testserver_connect(run.server);
        for (int i = 0; i < 2; i++) {
            expect(c, ":0", "KV.ACK %s", receipts[i]);
            free(receipts[i]);
        }
        assert_int_equal(load_queue(c, "q", "ready"), KEPT);
        assert_int_equal(load_queue(c, "q", "leased delayed"), 0);
        assert_int_equal(load_queue(c, "q", "dead"), round + 1);
        snprintf(wanted, sizeof wanted, "[[* %d *", round * KEPT);
        expect(c, wanted, "KV.QUEUE PEEK q");
    }
    expect(c, ":8", "KV.DLQ REQUEUE q ALL");
    assert_int_equal(load_queue(c, "q", "ready"), KEPT + ROUNDS);
    redisFree(c);
    testserver_free(run.server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_is_done_once_or_a_dead_letter),
        cmocka_unit_test(what_was_purged_before_a_kill_does_not_come_back),
    };
    load_use_disk();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
