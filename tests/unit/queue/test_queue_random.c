/* Thousands of random operations on two queues against a simple model, with restarts, crashes and
 * the clock moving: after each step every message is where the model says, and the figures and
 * windows in memory are those of the rows (audit).
 *
 * Environment: TUPLED_SEED; TUPLED_LONG=1 makes it long.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "unit/queue/queue_help.h"

#define MESSAGES 400
#define STEPS 2000

enum where { UNUSED, WAITING, LEASED, DEAD, GONE };

struct known {
    enum where place;
    unsigned queue;
    int64_t due_ms; /* WAITING; or what it was when it was leased */
    int64_t end_ms; /* LEASED */
    unsigned attempts;
    size_t retries;
    int64_t backoff_ms; /* the same each time */
    struct receipt receipt;
};

struct model {
    struct qbench t;
    struct rng rng;
    struct known messages[MESSAGES];
    size_t count;
};

static const char *const queues[2] = {"a", "bb"};

/* What time has brought. */
static void model_advance(struct model *m)
{
    for (size_t i = 0; i < m->count; i++) {
        struct known *k = &m->messages[i];
        if (k->place != LEASED || k->end_ms > m->t.now_ms) continue;
        k->place = k->attempts > k->retries ? DEAD : WAITING;
        k->due_ms = k->end_ms + k->backoff_ms;
    }
}

/* The one that must come next; -1 = none. Numbers are in the order of enqueueing. */
static int model_next(const struct model *m, unsigned queue)
{
    int best = -1;
    for (size_t i = 0; i < m->count; i++) {
        const struct known *k = &m->messages[i];
        if (k->place != WAITING || k->queue != queue || k->due_ms > m->t.now_ms) continue;
        if (best < 0 || k->due_ms < m->messages[best].due_ms) best = (int)i;
    }
    return best;
}

static void step_enqueue(struct model *m)
{
    char value[16];
    char backoff[64] = "";
    if (m->count == MESSAGES) return;
    struct known *k = &m->messages[m->count];
    int64_t delay_ms = rng_below(&m->rng, 2) == 0 ? 0 : (int64_t)rng_below(&m->rng, 50);
    *k = (struct known){.place = WAITING,
                        .queue = (unsigned)rng_below(&m->rng, 2),
                        .due_ms = m->t.now_ms + delay_ms,
                        .retries = rng_below(&m->rng, 4),
                        .backoff_ms = (int64_t)rng_below(&m->rng, 30)};
    for (size_t i = 0; i < k->retries; i++) {
        size_t len = strlen(backoff);
        snprintf(backoff + len, sizeof backoff - len, "%s%lld", i > 0 ? " " : "",
                 (long long)k->backoff_ms);
    }
    snprintf(value, sizeof value, "%zu", m->count);
    enqueue(&m->t, queues[k->queue], value,
            (struct enqueue_options){.delay_ms = delay_ms, .backoff = backoff});
    m->count++;
}

static void step_take(struct model *m)
{
    struct taken taken;
    unsigned queue = (unsigned)rng_below(&m->rng, 2);
    int64_t lease_ms = 1 + (int64_t)rng_below(&m->rng, 60);
    int next = model_next(m, queue);
    bool is_there = take(&m->t, queues[queue], lease_ms, &taken);
    assert_int_equal(is_there, next >= 0);
    if (!is_there) return;
    struct known *k = &m->messages[next];
    assert_int_equal(atoi(taken.value), next);
    k->place = LEASED;
    k->end_ms = m->t.now_ms + lease_ms;
    k->attempts++;
    k->receipt = taken.receipt;
    assert_int_equal(taken.attempt, k->attempts);
    /* As text, and back. */
    struct slice text = receipt_format(&m->t.arena, &taken.receipt);
    assert_true(receipt_parse(&m->t.arena, text, &k->receipt));
    k->receipt.queue = slice_str(queues[queue]);
}

/* With the receipt of any message that ever had one. */
static void step_settle(struct model *m)
{
    if (m->count == 0) return;
    struct known *k = &m->messages[rng_below(&m->rng, m->count)];
    bool is_good = k->place == LEASED;
    if (k->receipt.queue.len == 0) return;
    switch (rng_below(&m->rng, 6)) {
    case 0:
    case 1:
        assert_int_equal(settle(&m->t, SETTLE_ACK, k->receipt, 0), is_good);
        if (is_good) k->place = GONE;
        break;
    case 2: {
        int64_t lease_ms = 1 + (int64_t)rng_below(&m->rng, 60);
        assert_int_equal(settle(&m->t, SETTLE_EXTEND, k->receipt, lease_ms), is_good);
        if (is_good) k->end_ms = m->t.now_ms + lease_ms;
        break;
    }
    case 3:
        queue_return(m->t.qs, 0, &k->receipt);
        tick(&m->t);
        if (is_good) {
            k->place = WAITING;
            k->attempts--;
        }
        break;
    case 4:
        assert_int_equal(nack(&m->t, k->receipt, -1, false, "e"), is_good);
        if (!is_good) break;
        k->place = k->attempts > k->retries ? DEAD : WAITING;
        k->due_ms = m->t.now_ms + k->backoff_ms;
        break;
    default:
        assert_int_equal(nack(&m->t, k->receipt, -1, true, "e"), is_good);
        if (is_good) k->place = DEAD;
        break;
    }
}

static void step_requeue(struct model *m)
{
    unsigned queue = (unsigned)rng_below(&m->rng, 2);
    size_t count = 0;
    for (size_t i = 0; i < m->count; i++) {
        struct known *k = &m->messages[i];
        if (k->queue != queue || k->place != DEAD) continue;
        k->place = WAITING;
        k->due_ms = m->t.now_ms;
        k->attempts = 0;
        count++;
    }
    assert_int_equal(bulk(&m->t, BULK_DEAD_REQUEUE, queues[queue]), count);
}

static void step_purge(struct model *m)
{
    unsigned queue = (unsigned)rng_below(&m->rng, 2);
    size_t count = 0;
    for (size_t i = 0; i < m->count; i++) {
        struct known *k = &m->messages[i];
        if (k->queue != queue || (k->place != WAITING && k->place != LEASED)) continue;
        k->place = GONE;
        count++;
    }
    assert_int_equal(bulk(&m->t, BULK_PURGE, queues[queue]), count);
}

static void step_delete_dead(struct model *m)
{
    unsigned queue = (unsigned)rng_below(&m->rng, 2);
    size_t count = 0;
    for (size_t i = 0; i < m->count; i++) {
        struct known *k = &m->messages[i];
        if (k->queue != queue || k->place != DEAD) continue;
        k->place = GONE;
        count++;
    }
    assert_int_equal(bulk(&m->t, BULK_DEAD_DELETE, queues[queue]), count);
}

static void model_compare(struct model *m)
{
    for (unsigned queue = 0; queue < 2; queue++) {
        uint64_t places[GONE + 1] = {0};
        for (size_t i = 0; i < m->count; i++) {
            places[m->messages[i].place] += m->messages[i].queue == queue;
        }
        struct counts c = stats(&m->t, queues[queue]).counts;
        assert_int_equal(c.ready + c.delayed, places[WAITING]);
        assert_int_equal(c.leased, places[LEASED]);
        assert_int_equal(c.dead, places[DEAD]);
        audit(&m->t, queues[queue]);
    }
}

static void step(struct model *m)
{
    uint64_t what = rng_below(&m->rng, 1000);
    if (what < 250) {
        step_enqueue(m);
    } else if (what < 550) {
        step_take(m);
    } else if (what < 850) {
        step_settle(m);
    } else if (what < 970) {
        at(&m->t, m->t.now_ms + (int64_t)rng_below(&m->rng, 40));
        if (rng_below(&m->rng, 2) == 0) tick(&m->t);
        model_advance(m);
    } else if (what < 980) {
        step_requeue(m);
    } else if (what < 981) {
        step_delete_dead(m);
    } else if (what < 986) {
        step_purge(m);
    } else if (what < 991) {
        rig_apply(&m->t.rig);
    } else if (what < 996) {
        qbench_crash(&m->t);
    } else {
        qbench_restart(&m->t);
    }
}

static void random_operations_do_what_the_model_says(void **state)
{
    const char *text = getenv("TUPLED_SEED");
    uint64_t seed = 0;
    if (text == NULL || !slice_to_u64(slice_str(text), &seed)) random_system(&seed, sizeof seed);
    printf("# TUPLED_SEED=%llu\n", (unsigned long long)seed);
    static struct model m;
    const char *is_long = getenv("TUPLED_LONG");
    int rounds = is_long != NULL && strcmp(is_long, "1") == 0 ? 50 : 1;
    for (int round = 0; round < rounds; round++) {
        m = (struct model){0};
        rng_init(&m.rng, seed + (uint64_t)round);
        qbench_open_with(&m.t, MESSAGES);
        for (int i = 0; i < STEPS; i++) {
            step(&m);
            /* Ended leases are processed by the next call that looks: the tick, so that all are. */
            tick(&m.t);
            if (i % 10 == 0) model_compare(&m);
            arena_reset(&m.t.arena);
        }
        printf("# %zu messages\n", m.count);
        qbench_close(&m.t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations_do_what_the_model_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
