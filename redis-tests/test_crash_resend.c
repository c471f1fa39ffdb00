/* A client library that lost its connection sends its command again. With IDEM each write happens
 * exactly once: 32 clients drop their connection at a random moment of every single write and send
 * it once more, while the server is killed with -9 again and again.
 *
 * Every client counts: its n-th write adds 1 to a counter, or appends n to a list, or does both in
 * a transaction together with a counter that all share. The reply, the first one or the repeated
 * one, must be that of the n-th write; at the end counters and lists show each write once.
 *
 * Environment: TUPLED_SEED; TUPLED_LONG=1 and CRASH_SECONDS make it long.
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

#define CLIENTS 32
#define LIST 100 /* elements before the next list is begun */
#define SECONDS 8
#define KILL_EVERY_MS 900
#define KILLS_MIN 3      /* fewer prove little */
#define DROP_US_MAX 4000 /* the connection is dropped up to this long after sending */
#define ENOUGH 500       /* writes; fewer prove little */
#define LIMIT_MS 20000

enum kind { ADD, APPEND, BOTH, EXEC, KINDS };

struct writer {
    unsigned n;                       /* writes acknowledged; the one under way is the next */
    unsigned added, appended, shared; /* of those acknowledged: what they come to */
    enum kind kind;
    bool is_second;          /* sent again: waiting for the reply */
    int64_t drop_us;         /* when the first one is dropped */
    unsigned answered_first; /* the first reply was faster than the drop */
};

struct campaign {
    struct testserver *server;
    struct load_client clients[CLIENTS];
    struct writer writers[CLIENTS];
    unsigned kills, resends;
    bool is_ending; /* no new writes */
};

static struct campaign run;

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

/* ---- one write ------------------------------------------------------------------------------- */

static void send_write(struct load_client *l)
{
    const struct writer *w = l->arg;
    unsigned i = (unsigned)l->number;
    unsigned n = w->n + 1;
    switch (w->kind) {
    case ADD: load_say(l, "KV.SUM ['counter',%u] 1 IDEM %u-%u", i, i, n); break;
    case APPEND:
        load_say(l, "KV.APPEND ['list',%u,%u] [%u] IDEM %u-%u", i, w->appended / LIST, n, i, n);
        break;
    case BOTH:
        load_say(l,
                 "KV.ATOMIC IDEM %u-%u DETAILS SUM ['counter',%u] 1 APPEND ['list',%u,%u] [%u] "
                 "SUM ['shared'] 1",
                 i, n, i, i, w->appended / LIST, n);
        break;
    default:
        load_say(l, "MULTI");
        load_say(l, "KV.SUM ['counter',%u] 1 IDEM %u-%u", i, i, n);
        load_say(l, "KV.SUM ['shared'] 1 IDEM %u-%u-shared", i, n);
        load_say(l, "EXEC");
        break;
    }
}

static void begin_write(struct load_client *l)
{
    struct writer *w = l->arg;
    w->kind = (enum kind)load_below(KINDS);
    w->is_second = false;
    w->drop_us = now_us() + (int64_t)load_below(DROP_US_MAX);
    send_write(l);
}

static void expect_number(const redisReply *r, unsigned wanted, const char *what)
{
    long long n = r->type == REDIS_REPLY_INTEGER ? r->integer : -1;
    if (r->type == REDIS_REPLY_STRING) n = atoll(r->str);
    if (n != (long long)wanted) fail_msg("%s is %lld, not %u", what, n, wanted);
}

static const redisReply *element(const redisReply *r, size_t i)
{
    if (r->type != REDIS_REPLY_ARRAY || r->elements <= i) {
        fail_msg("unexpected reply: %s", r->str != NULL ? r->str : "no array");
    }
    return r->element[i];
}

/* False for +OK and +QUEUED on the way to EXEC's reply. */
static bool check_reply(const struct load_client *l, const redisReply *r)
{
    struct writer *w = l->arg;
    if (r->type == REDIS_REPLY_STATUS) return false;
    if (r->type == REDIS_REPLY_ERROR) fail_msg("client %zu: %s", l->number, r->str);
    switch (w->kind) {
    case ADD: expect_number(element(r, 0), w->added + 1, "the counter"); break;
    case APPEND: expect_number(element(r, 0), w->appended % LIST + 1, "the list's length"); break;
    case BOTH: {
        const redisReply *results = element(r, 1);
        expect_number(element(results, 0), w->added + 1, "the counter");
        expect_number(element(results, 1), w->appended % LIST + 1, "the list's length");
        break;
    }
    default: expect_number(element(element(r, 0), 0), w->added + 1, "the counter"); break;
    }
    return true;
}

static void on_reply(struct load_client *l, const redisReply *r)
{
    struct writer *w = l->arg;
    if (!check_reply(l, r)) return;
    if (!w->is_second) {
        /* Faster than the drop: dropped now, and sent again all the same. */
        w->answered_first++;
        w->drop_us = 0;
        return;
    }
    w->n++;
    w->added += w->kind != APPEND;
    w->appended += w->kind == APPEND || w->kind == BOTH;
    w->shared += w->kind == BOTH || w->kind == EXEC;
    if (!run.is_ending) begin_write(l);
}

/* ---- dropping and killing -------------------------------------------------------------------- */

static void send_again(struct load_client *l)
{
    struct writer *w = l->arg;
    load_close(l);
    load_open(l, run.server);
    w->is_second = true;
    run.resends++;
    send_write(l);
}

static void kill_and_restart(void)
{
    testserver_kill(run.server);
    run.kills++;
    testserver_again(run.server);
    for (size_t i = 0; i < CLIENTS; i++) {
        /* What was sent for the first time counts as sent. */
        if (run.clients[i].unanswered > 0 || !run.writers[i].is_second) {
            send_again(&run.clients[i]);
        } else {
            load_close(&run.clients[i]);
            load_open(&run.clients[i], run.server);
        }
    }
}

static void drop_those_due(void)
{
    int64_t now = now_us();
    for (size_t i = 0; i < CLIENTS; i++) {
        if (!run.writers[i].is_second && now >= run.writers[i].drop_us) {
            send_again(&run.clients[i]);
        }
    }
}

static size_t writes_under_way(void)
{
    size_t n = 0;
    for (size_t i = 0; i < CLIENTS; i++) {
        n += !run.writers[i].is_second || run.clients[i].unanswered > 0;
    }
    return n;
}

static unsigned written(void)
{
    unsigned n = 0;
    for (size_t i = 0; i < CLIENTS; i++) n += run.writers[i].n;
    return n;
}

static void drive(void)
{
    long until = testserver_now_ms() + (long)campaign_seconds() * 1000;
    long next_kill = testserver_now_ms() + KILL_EVERY_MS;
    for (size_t i = 0; i < CLIENTS; i++) {
        run.clients[i] = (struct load_client){
            .number = i, .arg = &run.writers[i], .on_reply = on_reply};
        load_open(&run.clients[i], run.server);
        begin_write(&run.clients[i]);
    }
    while (testserver_now_ms() < until || run.kills < KILLS_MIN || written() < ENOUGH) {
        load_turn(run.clients, CLIENTS, 1);
        drop_those_due();
        if (testserver_now_ms() < next_kill) continue;
        kill_and_restart();
        next_kill = testserver_now_ms() + KILL_EVERY_MS / 2 + (long)load_below(KILL_EVERY_MS);
    }
    run.is_ending = true;
    until = testserver_now_ms() + LIMIT_MS;
    while (writes_under_way() > 0) {
        load_turn(run.clients, CLIENTS, 1);
        drop_those_due();
        if (testserver_now_ms() > until) fail_msg("%zu writes have no reply", writes_under_way());
    }
    for (size_t i = 0; i < CLIENTS; i++) load_close(&run.clients[i]);
}

/* ---- what must be there ---------------------------------------------------------------------- */

/* The client's lists, one after the other, are the numbers of its appends, each once, growing. */
static void expect_lists(redisContext *c, size_t i, const struct writer *w)
{
    unsigned seen = 0;
    unsigned last = 0;
    for (unsigned list = 0; list * LIST < w->appended; list++) {
        redisReply *r = ask_reply(c, "KV.GET ['list',%u,%u]", (unsigned)i, list);
        assert_int_equal(r->type, REDIS_REPLY_STRING);
        for (const char *at = r->str; at != NULL && *at != '\0' && *at != ']'; seen++) {
            unsigned n = (unsigned)strtoul(at + 1, NULL, 10);
            if (n <= last) fail_msg("client %zu: %u after %u", i, n, last);
            last = n;
            at = strpbrk(at + 1, ",]");
        }
        freeReplyObject(r);
    }
    assert_int_equal(seen, w->appended);
}

static void every_write_that_is_sent_twice_happens_once(void **state)
{
    struct testserver_options o = {.is_release = true};
    unsigned shared = 0;
    unsigned total = 0;
    char wanted[32];
    load_seed();
    run.server = testserver_start(&o);
    drive();
    redisContext *c = testserver_connect(run.server);
    for (size_t i = 0; i < CLIENTS; i++) {
        const struct writer *w = &run.writers[i];
        snprintf(wanted, sizeof wanted, "%u", w->added);
        expect(c, w->added > 0 ? wanted : "(nil)", "KV.GET ['counter',%u]", (unsigned)i);
        expect_lists(c, i, w);
        shared += w->shared;
        total += w->n;
    }
    snprintf(wanted, sizeof wanted, "%u", shared);
    expect(c, wanted, "KV.GET ['shared']");
    redisFree(c);
    testserver_free(run.server);
    printf("%u writes of %d clients, each sent at least twice (%u times again), %u kills\n", total,
           CLIENTS, run.resends, run.kills);
    assert_true(total >= ENOUGH);
    assert_true(run.kills >= KILLS_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_write_that_is_sent_twice_happens_once),
    };
    load_use_disk();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
