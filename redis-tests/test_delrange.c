/* KV.DELRANGE over more than one transaction holds, while others write into the range. What it did
 * is read from the change feed: every deletion must be of an entry that was there and matched just
 * then, there must be as many as were told, and what it had to remove must be gone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"
#include "load_help.h"

#define KEYS 16000 /* of which four in five match at first */
#define WRITERS 3
#define UNANSWERED 100 /* commands of a writer */
#define LIMIT_MS 60000

struct known {
    unsigned mark; /* {'a':mark}; 0 = there is no entry */
    uint64_t version;
};

struct deletion {
    struct load_client clients[1 + WRITERS]; /* the first removes */
    struct known keys[KEYS];
    char next[32];     /* where the feed goes on */
    long long told;    /* by the reply */
    long long removed; /* in the feed */
    bool has_where;
    unsigned written, transactions;
    uint64_t version; /* of the last of these */
};

static struct testserver *server;
static redisContext *c;
static struct deletion d;

/* ---- what happened ---- */

/* Entries that match and are as old or older. */
static unsigned count_matches(uint64_t version)
{
    unsigned count = 0;
    for (unsigned k = 0; k < KEYS; k++) {
        const struct known *known = &d.keys[k];
        bool matches = known->mark != 0 && (!d.has_where || known->mark == 1);
        count += matches && known->version <= version;
    }
    return count;
}

static void take_row(const redisReply *row)
{
    uint64_t version = load_version(row->element[2]);
    unsigned k = (unsigned)strtoul(strchr(row->element[0]->str, ',') + 1, NULL, 10);
    assert_true(k < KEYS);
    struct known *known = &d.keys[k];
    if (row->element[1]->type == REDIS_REPLY_NIL) {
        d.removed++;
        d.transactions += version != d.version;
        d.version = version;
        if (known->mark == 0) fail_msg("key %u was removed and not there", k);
        if (d.has_where && known->mark != 1) fail_msg("key %u was removed and did not match", k);
        known->mark = 0;
        return;
    }
    known->mark = (unsigned)strtoul(strchr(row->element[1]->str, ':') + 1, NULL, 10);
    known->version = version;
}

static void take_changes(void)
{
    for (size_t rows = 1; rows > 0;) {
        redisReply *r = ask_reply(c, "KV.CHANGES %s PREFIX ['m'] COUNT 2000", d.next);
        if (r->type != REDIS_REPLY_ARRAY) fail_msg("KV.CHANGES: %s", r->str);
        rows = r->element[1]->elements;
        for (size_t i = 0; i < rows; i++) take_row(r->element[1]->element[i]);
        snprintf(d.next, sizeof d.next, "%s", r->element[0]->str);
        freeReplyObject(r);
    }
}

/* ---- what is done ---- */

static void on_reply(struct load_client *l, const redisReply *r)
{
    if (r->type == REDIS_REPLY_ERROR) fail_msg("client %zu: %s", l->number, r->str);
    if (l->number == 0) d.told = r->integer;
}

static void fill(void)
{
    for (unsigned k = 0; k < KEYS; k++) {
        say(c, "KV.SET ['m',%u] {'a':%u}", k, k % 5 == 0 ? 2 : 1);
        if (k % 500 == 499) expect_many(c, 500, "@");
    }
}

/* Until the reply is there: keys of the range that match and that do not. */
static void write_until_it_is_done(void)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (d.told < 0) {
        if (testserver_now_ms() > until) fail_msg("KV.DELRANGE does not end");
        for (int i = 1; i <= WRITERS; i++) {
            struct load_client *l = &d.clients[i];
            while (l->unanswered < UNANSWERED) {
                load_say(l, "KV.SET ['m',%u] {'a':%u}", (unsigned)load_below(KEYS),
                         1 + (unsigned)load_below(2));
                d.written++;
            }
        }
        if (!load_turn(d.clients, 1 + WRITERS, 1)) fail_msg("all connections are gone");
    }
    load_drain(d.clients, 1 + WRITERS, LIMIT_MS);
}

static void expect_done(uint64_t begin)
{
    long long there = 0;
    take_changes();
    assert_int_equal(d.removed, d.told);
    assert_true(d.told > 10000);
    assert_true(d.written > WRITERS);
    assert_int_equal(count_matches(begin), 0);
    /* Of one transaction nothing older than itself is left, of several what was written after it.
     */
    if (d.transactions == 1) assert_int_equal(count_matches(d.version), 0);
    for (unsigned k = 0; k < KEYS; k++) there += d.keys[k].mark != 0;
    assert_int_equal(ask_integer(c, "KV.COUNT PREFIX ['m']"), there);
}

static void remove_beside_writers(const char *ops_max, const char *command, bool has_where)
{
    server = testserver_start_with("--max-transaction-ops", ops_max, NULL);
    c = testserver_connect(server);
    d = (struct deletion){.told = -1, .has_where = has_where};
    snprintf(d.next, sizeof d.next, "%s", ask(c, "KV.VERSION"));
    load_seed();
    fill();
    take_changes();
    redisReply *stamp = ask_reply(c, "KV.VERSION");
    uint64_t begin = load_version(stamp);
    freeReplyObject(stamp);
    for (size_t i = 0; i <= WRITERS; i++) {
        d.clients[i].number = i;
        d.clients[i].on_reply = on_reply;
        load_open(&d.clients[i], server);
    }
    load_say(&d.clients[0], command);
    write_until_it_is_done();
    for (size_t i = 0; i <= WRITERS; i++) load_close(&d.clients[i]);
    expect_done(begin);
    printf("# %lld removed by %u transactions beside %u writes\n", d.told, d.transactions,
           d.written);
    redisFree(c);
    testserver_free(server);
}

/* In one transaction it is about one state: whatever matches then is gone, also what was written
 * while the range was read. */
static void one_transaction_leaves_nothing_that_matches(void **state)
{
    remove_beside_writers("20000", "KV.DELRANGE PREFIX ['m']", false);
    assert_int_equal(d.transactions, 1);
    remove_beside_writers("20000", "KV.DELRANGE PREFIX ['m'] WHERE {'a':1}", true);
    assert_int_equal(d.transactions, 1);
}

static void many_transactions_remove_each_entry_once(void **state)
{
    remove_beside_writers("10000", "KV.DELRANGE PREFIX ['m']", false);
    assert_true(d.transactions > 10);
    remove_beside_writers("10000", "KV.DELRANGE PREFIX ['m'] WHERE {'a':1}", true);
    assert_true(d.transactions > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_transaction_leaves_nothing_that_matches),
        cmocka_unit_test(many_transactions_remove_each_entry_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
