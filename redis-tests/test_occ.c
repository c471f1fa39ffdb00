/* Optimistic concurrency: many connections that read, check and write at the same time lose no
 * update, see whole snapshots, and never get a versionstamp twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"
#include "load_help.h"

#define COUNTERS 28 /* connections that increment the counter ... */
#define MOVERS 28   /* ... that move money between accounts ... */
#define VIEWERS 8   /* ... that look at all accounts */
#define CLIENTS (COUNTERS + MOVERS + VIEWERS)
#define ACCOUNTS 100
#define EACH 1000 /* on an account at the beginning */
#define LIMIT_MS 20000

enum step { STEP_READ, STEP_WRITE };

struct actor {
    enum step step;
    bool has_details; /* counters: retries with the versionstamp that the conflict names */
    uint64_t tried;   /* version that was checked */
    uint64_t from, to, amount;
};

struct world {
    struct load_client clients[CLIENTS];
    struct actor actors[CLIENTS];
    uint64_t *versions; /* of successful commits */
    size_t count, cap;
    uint64_t increments, moves, conflicts, views;
    char all_accounts[4096]; /* as arguments */
    bool is_ending;
};

static struct world *world;

static void remember(const redisReply *stamp)
{
    if (world->count == world->cap) {
        world->cap = world->cap == 0 ? 4096 : world->cap * 2;
        world->versions = realloc(world->versions, world->cap * sizeof *world->versions);
        if (world->versions == NULL) abort();
    }
    world->versions[world->count++] = load_version(stamp);
}

static uint64_t number_of(const redisReply *r)
{
    char *end = NULL;
    if (r->type != REDIS_REPLY_STRING) fail_msg("a value was wanted, not type %d", r->type);
    uint64_t n = strtoull(r->str, &end, 10);
    if (*end != '\0') fail_msg("a number was wanted, not %.60s", r->str);
    return n;
}

static void expect_array(const redisReply *r, size_t elements)
{
    if (r->type == REDIS_REPLY_ERROR) fail_msg("the server said: %s", r->str);
    if (r->type != REDIS_REPLY_ARRAY || r->elements != elements) {
        fail_msg("an array of %zu was wanted, not type %d of %zu", elements, r->type, r->elements);
    }
}

/* ---- the counter ----------------------------------------------------------------------------- */

static void counter_begin(struct load_client *l, struct actor *a)
{
    if (world->is_ending) return;
    if (a->has_details && a->tried != 0) {
        a->step = STEP_WRITE;
        load_say(l, "KV.ATOMIC DETAILS CHECK ['counter'] %016llx0000 SUM ['counter'] 1",
                 (unsigned long long)a->tried);
        return;
    }
    a->step = STEP_READ;
    load_say(l, "KV.GET ['counter'] WITHVERSION");
}

static void counter_details(struct load_client *l, struct actor *a, const redisReply *r)
{
    expect_array(r, 2);
    if (r->element[0]->type == REDIS_REPLY_STRING) {
        remember(r->element[0]);
        world->increments++;
        a->tried = load_version(r->element[0]);
    } else {
        expect_array(r->element[1], 1);
        expect_array(r->element[1]->element[0], 2);
        uint64_t current = load_version(r->element[1]->element[0]->element[1]);
        if (current <= a->tried) fail_msg("a conflict names a version that is not newer");
        a->tried = current;
        world->conflicts++;
    }
    counter_begin(l, a);
}

static void on_counter(struct load_client *l, const redisReply *r)
{
    struct actor *a = l->arg;
    if (a->step == STEP_READ) {
        expect_array(r, 2);
        a->step = STEP_WRITE;
        a->tried = load_version(r->element[1]);
        const char *format = a->has_details
                                 ? "KV.ATOMIC DETAILS CHECK ['counter'] %s SET ['counter'] %llu"
                                 : "KV.ATOMIC CHECK ['counter'] %s SET ['counter'] %llu";
        load_say(l, format, r->element[1]->str, (unsigned long long)number_of(r->element[0]) + 1);
    } else if (a->has_details) {
        counter_details(l, a, r);
    } else {
        if (r->type == REDIS_REPLY_NIL) {
            world->conflicts++;
        } else {
            remember(r);
            world->increments++;
        }
        counter_begin(l, a);
    }
}

/* ---- accounts -------------------------------------------------------------------------------- */

static void mover_begin(struct load_client *l, struct actor *a)
{
    if (world->is_ending) return;
    a->step = STEP_READ;
    a->from = load_below(ACCOUNTS);
    a->to = (a->from + 1 + load_below(ACCOUNTS - 1)) % ACCOUNTS;
    load_say(l, "KV.MGET ['account',%d] ['account',%d]", (int)a->from, (int)a->to);
}

static void on_mover(struct load_client *l, const redisReply *r)
{
    struct actor *a = l->arg;
    if (a->step == STEP_READ) {
        expect_array(r, 2);
        expect_array(r->element[0], 2);
        expect_array(r->element[1], 2);
        uint64_t from = number_of(r->element[0]->element[0]);
        uint64_t to = number_of(r->element[1]->element[0]);
        a->amount = load_below(from + 1);
        a->step = STEP_WRITE;
        load_say(l,
                 "KV.ATOMIC CHECK ['account',%d] %s CHECK ['account',%d] %s SET ['account',%d] "
                 "%llu SET ['account',%d] %llu",
                 (int)a->from, r->element[0]->element[1]->str, (int)a->to,
                 r->element[1]->element[1]->str, (int)a->from,
                 (unsigned long long)(from - a->amount), (int)a->to,
                 (unsigned long long)(to + a->amount));
        return;
    }
    if (r->type == REDIS_REPLY_NIL) {
        world->conflicts++;
    } else {
        remember(r);
        world->moves++;
    }
    mover_begin(l, a);
}

static void viewer_begin(struct load_client *l, struct actor *a)
{
    if (world->is_ending) return;
    a->step = a->step == STEP_READ ? STEP_WRITE : STEP_READ;
    if (a->step == STEP_READ) {
        load_say(l, "KV.LIST PREFIX ['account'] LIMIT 1000");
        return;
    }
    char *words = world->all_accounts;
    const char *argv[ACCOUNTS + 1] = {"KV.MGET"};
    for (int i = 0; i < ACCOUNTS; i++, words += strlen(words) + 1) argv[i + 1] = words;
    redisAppendCommandArgv(l->c, ACCOUNTS + 1, argv, NULL);
    l->unanswered++;
}

static void on_viewer(struct load_client *l, const redisReply *r)
{
    struct actor *a = l->arg;
    uint64_t sum = 0;
    bool is_list = a->step == STEP_READ;
    const redisReply *rows = r;
    if (is_list) {
        expect_array(r, 2);
        assert_string_equal(r->element[0]->str, "0");
        rows = r->element[1];
    }
    expect_array(rows, ACCOUNTS);
    for (size_t i = 0; i < ACCOUNTS; i++) sum += number_of(rows->element[i]->element[is_list]);
    if (sum != ACCOUNTS * EACH) {
        fail_msg("a snapshot of %s holds %llu, not %d", is_list ? "KV.LIST" : "KV.MGET",
                 (unsigned long long)sum, ACCOUNTS * EACH);
    }
    world->views++;
    viewer_begin(l, a);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void fill(redisContext *c)
{
    char *at = world->all_accounts;
    expect(c, "@", "KV.SET ['counter'] 0");
    for (int i = 0; i < ACCOUNTS; i++) {
        expect(c, "@", "KV.SET ['account',%d] %d", i, EACH);
        at += sprintf(at, "[\"account\",%d]", i) + 1;
    }
}

static void clients_open(struct testserver *s)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        struct load_client *l = &world->clients[i];
        struct actor *a = &world->actors[i];
        l->number = i;
        l->arg = a;
        a->has_details = i % 2 == 1;
        load_open(l, s);
        if (i < COUNTERS) {
            l->on_reply = on_counter;
            counter_begin(l, a);
        } else if (i < COUNTERS + MOVERS) {
            l->on_reply = on_mover;
            mover_begin(l, a);
        } else {
            l->on_reply = on_viewer;
            viewer_begin(l, a);
        }
    }
}

static void race(bool is_release, long run_ms)
{
    static const char *const args[] = {"--memtable-size", "1mb", "--memtable-age", "200", NULL};
    struct testserver *s = testserver_start(
        &(struct testserver_options){.is_release = is_release, .args = args});
    redisContext *c = testserver_connect(s);
    load_seed();
    world = calloc(1, sizeof *world);
    fill(c);
    clients_open(s);
    long until = testserver_now_ms() + run_ms;
    while (testserver_now_ms() < until) {
        load_turn(world->clients, CLIENTS, 50);
        for (size_t i = 0; i < CLIENTS; i++) assert_false(world->clients[i].is_gone);
    }
    world->is_ending = true;
    load_drain(world->clients, CLIENTS, LIMIT_MS);
    fprintf(stderr, "# %llu increments, %llu moves, %llu conflicts, %llu snapshots\n",
            (unsigned long long)world->increments, (unsigned long long)world->moves,
            (unsigned long long)world->conflicts, (unsigned long long)world->views);
    assert_true(world->increments > 20 && world->moves > 20 && world->conflicts > 20);
    assert_true(world->views > 20);
    assert_int_equal(strtoull(ask(c, "KV.GET ['counter']"), NULL, 10), world->increments);
    world->actors[CLIENTS - 1].step = STEP_WRITE; /* one more look at the end */
    world->is_ending = false;
    viewer_begin(&world->clients[CLIENTS - 1], &world->actors[CLIENTS - 1]);
    world->is_ending = true;
    load_drain(world->clients, CLIENTS, LIMIT_MS);
    load_expect_distinct(world->versions, world->count);
    for (size_t i = 0; i < CLIENTS; i++) load_close(&world->clients[i]);
    free(world->versions);
    free(world);
    redisFree(c);
    testserver_free(s);
}

static void racing_clients_lose_no_update(void **state)
{
    race(true, load_is_long() ? 30000 : 5000);
}

static void racing_clients_lose_no_update_under_asan(void **state)
{
    race(false, load_is_long() ? 10000 : 2000);
}

/* ---- create if absent ------------------------------------------------------------------------ */

#define RIVALS 20
#define ROUNDS 50

static void only_one_creates(redisContext **rivals, int round)
{
    int winner = -1;
    char wanted[24];
    for (int i = 0; i < RIVALS; i++) {
        if ((i + round) % 2 == 0) {
            say(rivals[i], "KV.SET ['new',%d] %d NX", round, i);
        } else {
            say(rivals[i], "KV.ATOMIC CHECK ['new',%d] NONE SET ['new',%d] %d", round, round, i);
        }
    }
    for (int i = 0; i < RIVALS; i++) load_flush(rivals[(i * 7 + round) % RIVALS]);
    for (int i = 0; i < RIVALS; i++) {
        void *reply = NULL;
        if (redisGetReply(rivals[i], &reply) != REDIS_OK) fail_msg("no reply");
        const redisReply *r = reply;
        if (r->type != REDIS_REPLY_NIL) {
            (void)load_version(r);
            if (winner >= 0) fail_msg("%d and %d both created key %d", winner, i, round);
            winner = i;
        }
        freeReplyObject(reply);
    }
    if (winner < 0) fail_msg("nobody created key %d", round);
    snprintf(wanted, sizeof wanted, "%d", winner);
    expect(rivals[round % RIVALS], wanted, "KV.GET ['new',%d]", round);
}

static void one_of_many_creates_a_key(void **state)
{
    redisContext *rivals[RIVALS];
    struct testserver *s = testserver_start(NULL);
    for (int i = 0; i < RIVALS; i++) rivals[i] = testserver_connect(s);
    for (int round = 0; round < ROUNDS; round++) only_one_creates(rivals, round);
    for (int i = 0; i < RIVALS; i++) redisFree(rivals[i]);
    testserver_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(racing_clients_lose_no_update),
        cmocka_unit_test(racing_clients_lose_no_update_under_asan),
        cmocka_unit_test(one_of_many_creates_a_key),
    };
    load_use_disk();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
