/* PostgreSQL: a node that follows what another one commits sees states that there were, whole, and
 * in order, whatever the leader writes to the store meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "backend/postgres/pg_follow.h"
#include "base/clock.h"
#include "base/random.h"
#include "unit/backend/postgres/pg_rig.h"

#define KEYS 40
#define COMMITS_MAX 20000
#define PAD 2000 /* bytes of a value, at most */

/* ---- what was committed ---- */

struct past {
    struct rng rng;
    unsigned count;
    uint64_t versions[COMMITS_MAX];
    unsigned numbers[COMMITS_MAX][KEYS]; /* of each key after that commit; 0 = absent */
};

static struct past past;

static void past_init(uint64_t seed)
{
    past.count = 1;
    past.versions[0] = 0;
    memset(past.numbers[0], 0, sizeof past.numbers[0]);
    rng_init(&past.rng, seed);
}

/* As of a version. */
static const unsigned *past_at(uint64_t version)
{
    unsigned low = 0;
    unsigned high = past.count;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (past.versions[middle] <= version)
            low = middle;
        else
            high = middle;
    }
    return past.numbers[low];
}

static struct slice text_of(unsigned number)
{
    static char text[8][PAD + 16];
    static unsigned next;
    char *t = text[next++ % 8];
    int n = snprintf(t, PAD + 16, "%u ", number);
    size_t pad = number * 7919u % PAD;
    memset(t + n, 'x', pad);
    return slice_of(t, (size_t)n + pad);
}

static struct slice name_of(unsigned key)
{
    return key_of(0, "k%02u", key);
}

/* A few keys in one transaction; one in fifty flushes the database first. */
static void commit_some(struct rig *r)
{
    struct mutation items[8];
    size_t count = 1 + (size_t)rng_below(&past.rng, 6);
    unsigned *now = past.numbers[past.count];
    struct error e;
    assert_true(past.count < COMMITS_MAX);
    memcpy(now, past.numbers[past.count - 1], sizeof past.numbers[0]);
    size_t n = 0;
    if (rng_below(&past.rng, 50) == 0) {
        memset(now, 0, sizeof past.numbers[0]);
        items[n++] = (struct mutation){.kind = MUTATION_FLUSH, .key = key_of(0, "%s", "")};
        ((uint8_t *)items[0].key.data)[2] = 0;
    }
    bool used[KEYS] = {false};
    for (size_t i = 0; i < count; i++) {
        unsigned key = (unsigned)rng_below(&past.rng, KEYS);
        if (used[key]) continue;
        used[key] = true;
        now[key] = rng_below(&past.rng, 4) == 0 ? 0 : past.count;
        items[n++] = (struct mutation){.kind = now[key] != 0 ? MUTATION_SET : MUTATION_DELETE,
                                       .key = name_of(key),
                                       .value = text_of(now[key])};
    }
    enum err result = rig_try_commit(r, items, n, &past.versions[past.count], &e);
    if (result != OK) fail_msg("%s", e.text);
    past.count++;
}

/* ---- who follows ---- */

struct pair {
    struct pg_rig p, q;
    struct rig leader, follower;
    unsigned behind; /* times that a read had to begin anew */
};

static enum err follow_open(struct rig *r, struct journal **journal, struct store **store,
                            struct error *e)
{
    const struct pg_rig *p = r->open_arg;
    struct term_options o = {.url = p->server->url,
                             .id = p->id,
                             .name = "follower",
                             .address = "",
                             .lease_ms = 60,
                             .call_ms = 10000,
                             .durability = p->lease_ms != 0 ? TERM_QUORUM : TERM_PROVIDER};
    return postgres_follow(&o, journal, store, e);
}

static void small(struct rig *r)
{
    r->options.is_inline = false;
    r->options.memtable_bytes = 300 * 1024;
    r->options.memtable_age_ms = 1;
    r->options.cache_bytes = 4000;
}

static void pair_init(struct pair *x, size_t slice_bytes)
{
    x->behind = 0;
    x->p = pg_rig_fresh();
    x->p.slice_bytes = slice_bytes;
    x->p.retention_ms = 60000;
    x->p.retention_bytes = 1 << 30;
    x->q = x->p;
    pg_rig_init(&x->leader, &x->p);
    pg_rig_init(&x->follower, &x->q);
    x->follower.open = follow_open;
    x->follower.options.is_following = true;
    small(&x->leader);
    small(&x->follower);
    past_init((uint64_t)x->p.id);
}

static void pair_fini(struct pair *x)
{
    rig_abandon(&x->follower);
    rig_fini(&x->follower);
    rig_abandon(&x->leader);
    rig_fini(&x->leader);
}

static uint64_t newest(struct rig *r)
{
    return backend_version_newest(r->b);
}

static void catch_up(struct pair *x)
{
    for (int i = 0; newest(&x->follower) < past.versions[past.count - 1]; i++) {
        assert_true(i < STEPS_MAX && !x->follower.is_fatal);
        rig_step(&x->leader);
        rig_step(&x->follower);
    }
}

static void check_value(struct slice value, unsigned number)
{
    assert_int_equal(value.len, text_of(number).len);
    assert_memory_equal(value.data, text_of(number).data, value.len);
}

/* What a load says is what there was at the newest version that the follower has. */
static void check_load(struct pair *x)
{
    unsigned key = (unsigned)rng_below(&past.rng, KEYS);
    struct entry entry;
    struct error e;
    enum err r = rig_try_load(&x->follower, name_of(key), &entry, &e);
    if (r == ERR_BEHIND) {
        x->behind++;
        return;
    }
    assert_int_equal(r, OK);
    unsigned wanted = past_at(newest(&x->follower))[key];
    assert_int_equal(entry.exists, wanted != 0);
    if (wanted != 0) check_value(entry.value, wanted);
}

/* ... and a scan what there was when it was opened, while the leader goes on. */
static void check_scan(struct pair *x)
{
    struct backend *b = x->follower.b;
    const unsigned *wanted = past_at(newest(&x->follower));
    struct scan_range range = {
        .start = key_low(0), .end = key_high(0), .with_values = true, .rows_hint = 3};
    struct scan *s = NULL;
    struct error e;
    unsigned key = 0;
    if (backend_scan_open(b, &range, &s, &e) != OK) fail_msg("%s", e.text);
    for (;;) {
        struct slice name;
        struct entry entry;
        x->follower.is_ready = false;
        enum err r = backend_scan_next(s, &name, &entry, &x->follower.waiter, &e);
        for (int i = 0; r == ERR_WAIT && !x->follower.is_ready; i++) {
            assert_true(i < STEPS_MAX);
            rig_step(&x->leader);
            rig_step(&x->follower);
        }
        if (r == ERR_WAIT) continue;
        if (r == ERR_BEHIND) {
            x->behind++;
            backend_scan_close(s);
            return;
        }
        if (r != OK) fail_msg("%s", e.text);
        while (key < KEYS && wanted[key] == 0) key++;
        if (name.len == 0) break;
        assert_true(key < KEYS);
        assert_memory_equal(name.data, name_of(key).data, name_of(key).len);
        check_value(entry.value, wanted[key]);
        key++;
        if (rng_below(&past.rng, 4) == 0) assert_int_equal(backend_scan_pause(s, &e), OK);
        if (rng_below(&past.rng, 4) == 0) rig_step(&x->leader);
        if (rng_below(&past.rng, 4) == 0) commit_some(&x->leader);
    }
    assert_int_equal(key, KEYS);
    backend_scan_close(s);
}

static void follow_for(struct pair *x, int steps)
{
    for (int i = 0; i < steps; i++) {
        for (uint64_t n = rng_below(&past.rng, 20); n > 0; n--) commit_some(&x->leader);
        do rig_step(&x->leader);
        while (pipeline_of(x->leader.b)->newest.frozen_count > 4);
        rig_step(&x->follower);
        assert_false(x->follower.is_fatal);
        check_load(x);
        if (i % 4 == 0) check_scan(x);
    }
}

/* ---- tests ---- */

static void a_follower_sees_whole_states(void **state)
{
    struct pair x;
    (void)state;
    pair_init(&x, 0);
    rig_open(&x.leader);
    for (int i = 0; i < 50; i++) commit_some(&x.leader);
    rig_settle(&x.leader);
    rig_open(&x.follower);
    follow_for(&x, 300);
    catch_up(&x);
    /* The leader applies nothing more, however long this takes and however much is written
     * meanwhile: no read has to begin anew. */
    struct pipeline_options *o = &pipeline_of(x.leader.b)->options;
    o->memtable_age_ms = 1000000;
    o->memtable_bytes = 100 << 20;
    rig_apply(&x.leader);
    unsigned behind = x.behind;
    for (int i = 0; i < 50; i++) check_scan(&x);
    assert_int_equal(x.behind, behind);
    pair_fini(&x);
}

static void and_while_the_leader_writes_in_tiny_slices(void **state)
{
    struct pair x;
    (void)state;
    pair_init(&x, 3000);
    rig_open(&x.leader);
    rig_open(&x.follower);
    follow_for(&x, 300);
    catch_up(&x);
    pair_fini(&x);
}

/* Memtables of the new leader end elsewhere, and the store may have a part of one of the old. */
static void and_when_another_node_takes_over(void **state)
{
    struct pair x;
    (void)state;
    pair_init(&x, 3000);
    rig_open(&x.leader);
    rig_open(&x.follower);
    for (int round = 0; round < 5; round++) {
        follow_for(&x, 60);
        rig_settle(&x.leader);
        rig_crash(&x.leader);
    }
    catch_up(&x);
    pair_fini(&x);
}

/* What was read of the log is brought in pieces: before the last one it is not the end that was
 * seen. */
static void the_end_is_seen_when_all_before_it_was_brought(void **state)
{
    struct pair x;
    unsigned steps = 0;
    (void)state;
    pair_init(&x, 0);
    x.leader.options.memtable_bytes = x.follower.options.memtable_bytes = 100 << 20;
    x.leader.options.memtable_age_ms = x.follower.options.memtable_age_ms = 1000000;
    x.follower.options.is_inline = true; /* it looks when it is stepped */
    rig_open(&x.leader);
    for (int i = 0; i < 300; i++) commit_some(&x.leader);
    rig_settle(&x.leader);
    rig_open(&x.follower);
    for (int i = 0; pg_follow_seen_us(x.follower.journal) == 0; i++) {
        assert_true(i < 10000 && !x.follower.is_fatal);
        steps += newest(&x.follower) != 0;
        rig_step(&x.follower);
    }
    assert_true(newest(&x.follower) == past.versions[past.count - 1]);
    assert_true(steps > 2);
    pair_fini(&x);
}

static void nothing_is_committed_by_a_follower(void **state)
{
    struct pair x;
    struct error e;
    uint64_t version;
    struct mutation mu = {.kind = MUTATION_SET, .key = name_of(1), .value = slice_str("x")};
    (void)state;
    pair_init(&x, 0);
    rig_open(&x.leader);
    rig_open(&x.follower);
    assert_int_equal(rig_try_commit(&x.follower, &mu, 1, &version, &e), ERR_TRYAGAIN);
    assert_string_equal(e.text, "this node is not the leader");
    rig_apply(&x.leader);
    assert_int_equal(pg_shared_run("SELECT count(*) FROM tupled_log WHERE id = $1", x.p.id), 0);
    pair_fini(&x);
}

static void a_follower_that_missed_something_says_so(void **state)
{
    struct pair x;
    (void)state;
    pair_init(&x, 0);
    x.leader.options.memtable_age_ms = 1000000;
    x.follower.options.is_inline = true; /* it looks when it is stepped */
    x.p.retention_ms = -1;
    rig_open(&x.leader);
    commit_some(&x.leader);
    rig_settle(&x.leader);
    rig_open(&x.follower);
    catch_up(&x);
    for (int i = 0; i < 3; i++) commit_some(&x.leader);
    rig_apply(&x.leader);
    commit_some(&x.leader);
    rig_settle(&x.leader);
    static const char oldest[] =
        "SELECT coalesce(min(version_before), 0) FROM tupled_log WHERE id = $1";
    for (int i = 0; pg_shared_run(oldest, x.p.id) <= (int64_t)newest(&x.follower); i++) {
        assert_true(i < 1000);
        rig_step(&x.leader);
    }
    for (int i = 0; !x.follower.is_fatal; i++) {
        assert_true(i < STEPS_MAX);
        rig_step(&x.follower);
        clock_sleep_us(1000);
    }
    assert_int_equal(x.follower.fatal.code, ERR_STALE);
    pair_fini(&x);
}

/* A store that was opened anew reads it from the log. */
static void what_is_not_applied_stays_in_the_log(void **state)
{
    struct pair x;
    struct backend_stats stats;
    (void)state;
    pair_init(&x, 0);
    x.leader.options.memtable_age_ms = 1000000;
    x.p.retention_ms = -1; /* of no age that is kept */
    rig_open(&x.leader);
    for (int i = 0; i < 3; i++) commit_some(&x.leader);
    rig_apply(&x.leader);
    commit_some(&x.leader);
    rig_settle(&x.leader);
    backend_stats(x.leader.b, &stats);
    uint64_t applied = stats.applied;
    assert_true(applied > 0 && applied < newest(&x.leader));
    char log[128];
    snprintf(log, sizeof log,
             "SELECT count(*) FROM tupled_log WHERE id = $1 AND last_version BETWEEN 1 AND %llu",
             (unsigned long long)applied);
    static const char end[] = "SELECT max(last_version) FROM tupled_log WHERE id = $1";
    for (int i = 0; pg_shared_run(log, x.p.id) > 0; i++) { /* what is applied goes */
        assert_true(i < STEPS_MAX);
        rig_step(&x.leader);
    }
    for (int i = 0; i < 100; i++) {
        rig_step(&x.leader);
        clock_sleep_us(1000);
    }
    backend_stats(x.leader.b, &stats);
    assert_int_equal(stats.applied, applied);
    assert_int_equal(pg_shared_run(end, x.p.id), (int64_t)newest(&x.leader));
    pair_fini(&x);
}

static void notice(struct rig *r)
{
    for (int i = 0; i < 16; i++) {
        clock_sleep_us(50000);
        for (int k = 0; k < 5; k++) rig_step(r);
    }
}

/* What a server shows right after its start may be more than its standbys have; so may be what it
 * shows when it may not have waited for them. */
static void after_a_new_connection_the_leaders_next_beat_is_awaited(void **state)
{
    static const char beat[] = "UPDATE tupled_leader SET beat = beat + 1 WHERE id = $1";
    static const char drop[] =
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE $1::int8 > 0 AND "
        "application_name LIKE '%: follow'";
    struct pair x;
    (void)state;
    pair_init(&x, 0);
    pg_server_start_standby(&pg_shared);
    pg_server_set_standbys(&pg_shared, "*");
    x.p.lease_ms = x.q.lease_ms = 60000; /* the leader sends no beat by itself */
    rig_open(&x.leader);
    commit_some(&x.leader);
    rig_settle(&x.leader);
    rig_open(&x.follower);
    notice(&x.follower);
    for (int round = 0; round < 3; round++) {
        uint64_t before = newest(&x.follower);
        commit_some(&x.leader);
        rig_settle(&x.leader);
        for (int i = 0; i < 100; i++) rig_step(&x.follower);
        assert_int_equal(newest(&x.follower), before);
        (void)pg_shared_run(beat, x.p.id);
        catch_up(&x);
        if (round == 0) assert_true(pg_shared_run(drop, 1) > 0);
        if (round == 1) pg_server_set_standbys(&pg_shared, "*");
        notice(&x.follower);
    }
    pair_fini(&x);
    pg_server_set_standbys(&pg_shared, "");
    pg_server_stop_standby(&pg_shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_follower_sees_whole_states),
        cmocka_unit_test(and_while_the_leader_writes_in_tiny_slices),
        cmocka_unit_test(and_when_another_node_takes_over),
        cmocka_unit_test(the_end_is_seen_when_all_before_it_was_brought),
        cmocka_unit_test(nothing_is_committed_by_a_follower),
        cmocka_unit_test(a_follower_that_missed_something_says_so),
        cmocka_unit_test(what_is_not_applied_stays_in_the_log),
        cmocka_unit_test(after_a_new_connection_the_leaders_next_beat_is_awaited),
    };
    return cmocka_run_group_tests(tests, pg_shared_start, pg_shared_stop);
}
