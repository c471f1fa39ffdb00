/* db: a whole database is opened, driven, closed and abandoned; two of them side by side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "codec/key.h"
#include "db/db.h"
#include "index/index_int.h"
#include "unit/db/db_help.h"

#define TURNS_MAX 100000

struct bench {
    char dir[64];
    struct db *db;
    struct arena arena;
    struct waiter waiter;
    uint64_t durable;
};

static void on_durable(void *arg, uint64_t version)
{
    struct bench *t = arg;
    t->durable = version;
}

static void on_ready(struct waiter *w)
{
    (void)w;
}

static enum err try_open(struct bench *t, struct error *e)
{
    struct db_options options = small_db(t->dir);
    options.pipeline.memtable_bytes = 16 << 10;
    options.pipeline.memtable_age_ms = 10;
    options.on_durable = on_durable;
    options.on_durable_arg = t;
    return db_open(&options, &t->db, e);
}

static void reopen(struct bench *t)
{
    struct error e;
    assert_int_equal(try_open(t, &e), OK);
    t->durable = db_durable(t->db);
}

static void bench_init(struct bench *t)
{
    *t = (struct bench){.dir = "/tmp/test_db.XXXXXX", .waiter = {.ready = on_ready}};
    assert_non_null(mkdtemp(t->dir));
    arena_init(&t->arena, 4096);
    reopen(t);
}

static void bench_fini(struct bench *t)
{
    char command[96];
    struct error e;
    waiter_cancel(&t->waiter);
    if (t->db != NULL) assert_int_equal(db_close(t->db, &e), OK);
    arena_fini(&t->arena);
    snprintf(command, sizeof command, "rm -rf '%s'", t->dir);
    assert_int_equal(system(command), 0);
}

static void turn(struct bench *t)
{
    (void)db_turn_end(t->db);
    db_poll(t->db);
    db_tick(t->db);
}

static struct slice key_of(struct bench *t, int number)
{
    struct buf key = {0};
    char name[16];
    engine_key_begin(&key, 0);
    snprintf(name, sizeof name, "k%d", number);
    key_add_string(&key, slice_str(name));
    struct slice kept = arena_copy(&t->arena, buf_slice(&key));
    buf_fini(&key);
    return kept;
}

/* The version; one that is not durable yet. */
static uint64_t set(struct bench *t, int number, uint8_t value)
{
    struct error e;
    struct op op = {.kind = OP_SET, .key = key_of(t, number), .value = slice_of(&value, 1)};
    struct txn txn = {.ops = &op, .count = 1, .arena = &t->arena};
    for (int i = 0; i < TURNS_MAX; i++) {
        enum err r = engine_commit(t->db->engine, &txn, &t->waiter, &e);
        if (r == OK) return txn.version;
        assert_int_equal(r, ERR_WAIT);
        turn(t);
        waiter_cancel(&t->waiter); /* it may be told later */
    }
    fail_msg("it waits for ever");
    return 0;
}

static void settle(struct bench *t, uint64_t version)
{
    for (int i = 0; t->durable < version; i++) {
        if (i == TURNS_MAX) fail_msg("never durable");
        turn(t);
    }
}

/* -1 when it does not exist. */
static int get(struct bench *t, int number)
{
    struct error e;
    struct entry entry;
    struct slice key = key_of(t, number);
    for (int i = 0; i < TURNS_MAX; i++) {
        enum err r = engine_get(t->db->engine, NULL, key, &entry, &t->waiter, &e);
        if (r == OK) return entry.exists ? entry.value.data[0] : -1;
        assert_int_equal(r, ERR_WAIT);
        turn(t);
        waiter_cancel(&t->waiter); /* it may be told later */
    }
    fail_msg("it waits for ever");
    return 0;
}

static void what_is_acknowledged_is_there_after_a_close_and_after_an_end(void **state)
{
    struct bench t;
    struct error e;
    bench_init(&t);
    for (int round = 0; round < 20; round++) {
        uint64_t version = set(&t, round, (uint8_t)round);
        assert_true(t.durable < version); /* no client may hear of it before a turn's end */
        settle(&t, version);
        assert_true(db_durable(t.db) >= version);
        waiter_cancel(&t.waiter);
        if (round % 2 == 0) {
            db_abandon(t.db);
        } else {
            assert_int_equal(db_close(t.db, &e), OK);
        }
        reopen(&t);
        for (int i = 0; i <= round; i++) assert_int_equal(get(&t, i), i);
        assert_int_equal(get(&t, round + 1), -1);
    }
    bench_fini(&t);
}

static void two_do_not_know_of_each_other(void **state)
{
    struct bench a;
    struct bench b;
    struct error e;
    bench_init(&a);
    bench_init(&b);
    uint64_t in_a = set(&a, 1, 10);
    uint64_t in_b = set(&b, 1, 20);
    settle(&a, in_a);
    assert_true(b.durable < in_b);
    settle(&b, in_b);
    assert_int_equal(get(&a, 1), 10);
    assert_int_equal(get(&b, 1), 20);
    waiter_cancel(&a.waiter);
    db_abandon(a.db);
    settle(&b, set(&b, 2, 30));
    assert_int_equal(get(&b, 2), 30);
    reopen(&a);
    assert_int_equal(get(&a, 1), 10);
    assert_int_equal(get(&a, 2), -1);
    /* What is open cannot be opened a second time. */
    struct bench other = b;
    other.db = NULL;
    assert_int_equal(try_open(&other, &e), ERR_LOCKED);
    assert_null(other.db);
    bench_fini(&a);
    bench_fini(&b);
}

/* Whatever is under way: nothing leaks or hangs, and what was acknowledged is there afterwards. */
static void it_can_be_abandoned_at_any_moment(void **state)
{
    struct bench t;
    struct rng rng;
    int known[50];
    bench_init(&t);
    rng_init(&rng, 1);
    memset(known, -1, sizeof known);
    for (int round = 0; round < 200; round++) {
        uint64_t newest = 0;
        int written[50];
        uint64_t versions[50] = {0};
        memcpy(written, known, sizeof known);
        for (uint64_t left = rng_below(&rng, 30); left > 0; left--) {
            int k = (int)rng_below(&rng, 50);
            written[k] = (int)rng_below(&rng, 100);
            versions[k] = newest = set(&t, k, (uint8_t)written[k]);
            if (rng_below(&rng, 3) == 0) turn(&t);
        }
        uint64_t durable = t.durable;
        waiter_cancel(&t.waiter);
        db_abandon(t.db);
        reopen(&t);
        for (int i = 0; i < 50; i++) {
            int got = get(&t, i);
            if (versions[i] <= durable) assert_int_equal(got, written[i]);
            known[i] = got;
        }
        arena_reset(&t.arena);
    }
    bench_fini(&t);
}

static void commit_raw(struct bench *t, struct slice key, struct slice value)
{
    struct error e;
    uint64_t version = 0;
    struct backend *b = t->db->backend;
    struct mutation mu = {.kind = MUTATION_SET, .key = key, .value = value};
    struct batch batch = {.items = &mu, .count = 1, .time_ms = backend_time_ms(b)};
    assert_int_equal(backend_commit(b, &batch, &version, &t->waiter, &e), OK);
    settle(t, version);
}

/* A row that no layer wrote, or that was damaged: an error to those who need it. */
static void rows_that_cannot_be_read_stop_their_database_only(void **state)
{
    static const uint8_t definition[] = {KEY_HEAD(1, SPACE_INDEX), INDEX_ROW_DEFINITION, 'x'};
    static const uint8_t request[] = {KEY_HEAD(0, SPACE_IDEM), 0, 'i', 'd'};
    static const char time[] = {0, 0, 0, 0, 0, 0, 0, 1};
    struct bench t;
    struct error e = {.text = ""};
    bench_init(&t);
    commit_raw(&t, slice_of(definition, sizeof definition), slice_str("junk"));
    commit_raw(&t, slice_of(request, sizeof request), slice_of(time, sizeof time));
    waiter_cancel(&t.waiter);
    db_abandon(t.db);
    reopen(&t);
    for (int i = 0; indexes_ready(t.db->indexes, 1, &t.waiter, &e) == ERR_WAIT; i++) {
        if (i == TURNS_MAX) fail_msg("never read");
        waiter_cancel(&t.waiter);
        turn(&t);
    }
    assert_int_equal(indexes_ready(t.db->indexes, 1, &t.waiter, &e), ERR_CORRUPT);
    assert_non_null(strstr(e.text, "index 'x': its definition is damaged"));
    assert_int_equal(indexes_ready(t.db->indexes, 0, &t.waiter, &e), OK);
    set(&t, 1, 1);
    assert_int_equal(get(&t, 1), 1);
    bench_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_acknowledged_is_there_after_a_close_and_after_an_end),
        cmocka_unit_test(two_do_not_know_of_each_other),
        cmocka_unit_test(rows_that_cannot_be_read_stop_their_database_only),
        cmocka_unit_test(it_can_be_abandoned_at_any_moment),
    };
    return cmocka_run_group_tests_name("db", tests, NULL, NULL);
}
