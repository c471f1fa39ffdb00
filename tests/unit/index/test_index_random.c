/* Random transactions on entries with indexes that come and go, with filling under way, restarts,
 * crashes, flushes, expiry: after each step an index holds what a look at all entries says (audit),
 * and a unique one refuses when, and only when, a living entry has the value.
 *
 * Environment: TUPLED_SEED; TUPLED_LONG=1 makes it long.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/random.h"
#include "unit/index/index_help.h"

#define KEYS 40
#define STEPS 700
#define VALUES 12

struct known {
    bool exists;
    int value; /* of "u", the path of the unique indexes; -1 = none */
    int64_t expiry_ms;
};

struct model {
    struct ibench t;
    struct rng rng;
    struct known entries[KEYS];
    int64_t now_ms;
};

static unsigned below(struct model *m, unsigned n)
{
    return (unsigned)rng_below(&m->rng, n);
}

static bool is_live(const struct model *m, unsigned i)
{
    const struct known *k = &m->entries[i];
    return k->exists && (k->expiry_ms == 0 || k->expiry_ms > m->now_ms);
}

static bool has_owner(const struct model *m, unsigned key, int value)
{
    for (unsigned i = 0; i < KEYS; i++) {
        if (i != key && value >= 0 && is_live(m, i) && m->entries[i].value == value) return true;
    }
    return false;
}

/* A complete unique index over "u". */
static bool enforces(const struct model *m)
{
    const struct index *x = index_find(m->t.ix, 0, slice_str("unique"));
    return x != NULL && x->definition.state == INDEX_READY;
}

/* "a" is of any type, "t" an array or something else, "u" a number or missing. */
static void random_json(struct model *m, int unique, char *out, size_t size)
{
    static const char *const scalars[] = {"1",
                                          "1.5",
                                          "-3",
                                          "\"x\"",
                                          "\"\"",
                                          "true",
                                          "null",
                                          "{\"$bigint\":\"1\"}",
                                          "{}",
                                          "{\"$date\":\"2024-01-01T00:00:00.000Z\"}",
                                          "{\"$number\":\"NaN\"}",
                                          "1e300"};
    static const char *const tags[] = {"[]", "[1,2,2]", "[\"a\",\"b\",null]", "7", "[[1],3]"};
    char u[24] = "";
    if (unique >= 0) snprintf(u, sizeof u, ",\"u\":%d", unique);
    snprintf(out, size, "{\"a\":%s,\"t\":%s%s}", scalars[below(m, 12)], tags[below(m, 5)], u);
}

static void step_set(struct model *m)
{
    char json[128];
    unsigned i = below(m, KEYS);
    int unique = below(m, 3) == 0 ? -1 : (int)below(m, VALUES);
    int64_t expiry_ms = below(m, 3) == 0 ? m->now_ms + 1 + below(m, 40) : 0;
    random_json(m, unique, json, sizeof json);
    bool must_fail = has_owner(m, i, unique) && enforces(m);
    enum err r = ibench_set(&m->t, ibench_data_key(&m->t, "p", i), json, expiry_ms);
    if (must_fail) {
        assert_int_equal(r, ERR_DUPLICATE);
        return;
    }
    if (r == ERR_DUPLICATE) { /* an index that is being filled refuses too */
        assert_true(has_owner(m, i, unique));
        return;
    }
    assert_int_equal(r, OK);
    m->entries[i] = (struct known){true, unique, expiry_ms};
}

static void step_delete(struct model *m)
{
    unsigned i = below(m, KEYS);
    assert_int_equal(ibench_del(&m->t, ibench_data_key(&m->t, "p", i)), OK);
    m->entries[i].exists = false;
}

/* Two entries exchange their unique values in one transaction. */
static void step_swap(struct model *m)
{
    char json[2][128];
    unsigned i = below(m, KEYS);
    unsigned k = below(m, KEYS);
    if (i == k || !is_live(m, i) || !is_live(m, k)) return;
    random_json(m, m->entries[k].value, json[0], sizeof json[0]);
    random_json(m, m->entries[i].value, json[1], sizeof json[1]);
    struct op ops[2] = {{.kind = OP_SET,
                         .key = ibench_data_key(&m->t, "p", i),
                         .value = ibench_value_of(&m->t, json[0])},
                        {.kind = OP_SET,
                         .key = ibench_data_key(&m->t, "p", k),
                         .value = ibench_value_of(&m->t, json[1])}};
    enum err r = ibench_run(&m->t, ops, 2);
    if (r == ERR_DUPLICATE) { /* of a third, or of each other without an index so far */
        bool is_shared = has_owner(m, i, m->entries[i].value) ||
                         has_owner(m, k, m->entries[k].value);
        assert_true(is_shared);
        return;
    }
    assert_int_equal(r, OK);
    int value = m->entries[i].value;
    m->entries[i] = (struct known){true, m->entries[k].value, 0};
    m->entries[k] = (struct known){true, value, 0};
}

static void step_flush(struct model *m)
{
    struct txn txn = {.has_flush = true, .arena = &m->t.arena};
    for (int i = 0; i < STEPS_MAX; i++) {
        enum err r = engine_commit(m->t.g, &txn, &m->t.rig.waiter, &m->t.e);
        if (r == OK) break;
        assert_int_equal(r, ERR_WAIT);
        waiter_cancel(&m->t.rig.waiter);
        ibench_turn(&m->t);
    }
    memset(m->entries, 0, sizeof m->entries);
}

static void step_index(struct model *m)
{
    static const struct {
        const char *name, *paths;
        bool is_unique;
    } indexes[] = {{"a", "a", false},
                   {"ta", "t a", false},
                   {"t", "t", false},
                   {"unique", "u", true},
                   {"at", "a t", false}};
    unsigned i = below(m, 5);
    if (below(m, 2) == 0) {
        (void)ibench_drop(&m->t, indexes[i].name);
        return;
    }
    enum err r = ibench_create(&m->t, indexes[i].name, "p", indexes[i].paths, indexes[i].is_unique);
    if (r == ERR_SYNTAX) assert_non_null(index_find(m->t.ix, 0, slice_str(indexes[i].name)));
    if (r == ERR_DUPLICATE) assert_true(indexes[i].is_unique);
}

static void step_time(struct model *m)
{
    m->now_ms += below(m, 20);
    clock_set_fake_ms(m->now_ms);
    if (below(m, 2) == 0) ibench_turn(&m->t);
}

static void step(struct model *m)
{
    unsigned kind = below(m, 100);
    if (kind < 45) {
        step_set(m);
    } else if (kind < 55) {
        step_delete(m);
    } else if (kind < 62) {
        step_swap(m);
    } else if (kind < 72) {
        step_index(m);
    } else if (kind < 84) {
        step_time(m);
    } else if (kind < 95) {
        ibench_turn(&m->t);
    } else if (kind < 97) {
        ibench_crash(&m->t);
    } else if (kind < 98) {
        ibench_restart(&m->t);
    } else if (kind < 99) {
        ibench_settle(&m->t);
    } else if (below(m, 3) == 0) {
        step_flush(m);
    }
    ibench_audit(&m->t);
    arena_reset(&m->t.arena);
}

static void walk(uint64_t seed, unsigned steps)
{
    struct model m = {.now_ms = START_MS};
    rng_init(&m.rng, seed);
    ibench_open(&m.t, 3);
    for (unsigned i = 0; i < steps; i++) step(&m);
    ibench_settle(&m.t);
    ibench_audit(&m.t);
    ibench_close(&m.t);
}

static void indexes_hold_what_a_look_at_all_entries_says(void **state)
{
    const char *given = getenv("TUPLED_SEED");
    const char *is_long = getenv("TUPLED_LONG");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    unsigned runs = is_long != NULL ? 200 : 4;
    for (unsigned i = 0; i < runs; i++) {
        print_message("# TUPLED_SEED=%llu\n", (unsigned long long)(seed + i));
        walk(seed + i, STEPS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indexes_hold_what_a_look_at_all_entries_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
