/* sim_engine: a whole database (db/db.h) over the local backend, without threads, with a fake clock and a disk that
 * loses power. Random transactions run against it and against a simple model; at random points the
 * power fails, in the middle of a journal write or of applying to the store too; after each start
 * the state must be the model's after some prefix of the transactions, and at least after all
 * acknowledged ones; and the indexes over one database must hold what its entries say. Queues and
 * collections are in databases of their own and go through the same (queue_check.h,
 * collection_check.h).
 *
 * A third of the runs is over a journal and a store that answer late, in another order, and fail
 * (tests/late); the journal may also be lost to another process, which is as a power failure then.
 *
 * A run is a seed: `SIM_SEED=n` repeats it. SIM_SECONDS (with TUPLED_LONG=1) says how long to go
 * on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "codec/key.h"
#include "db/db.h"
#include "late/late.h"
#include "sim/collection_check.h"
#include "sim/entry_model.h"
#include "sim/index_check.h"
#include "sim/power.h"
#include "sim/queue_check.h"
#include "unit/db/db_help.h"

#define STEPS 400
#define LOG_MAX 2000
#define START_MS 1700000000000

/* What one commit made of the model. */
struct commit {
    uint64_t version;
    struct model after;
    struct queue_model queues;
    struct cmodel collections;
};

struct sim {
    struct rng rng;
    struct power *power;
    char dir[64];
    struct db *db;
    struct late *late; /* stands below the pipeline in a third of the runs; else NULL */
    struct index_check indexes;
    struct queue_check queues;
    struct collection_check collections;
    struct arena arena;
    struct waiter waiter;
    struct model now;
    struct commit *log; /* of commits since the last start; log[0] = the state it found */
    size_t log_count;
    uint64_t durable;
    uint64_t version_max; /* ever given */
    int64_t clock_ms;
    bool is_fatal;
    bool was_told; /* the waiter */
    uint64_t failures, losses, transactions;
};

static void on_durable(void *arg, uint64_t version)
{
    struct sim *s = arg;
    assert_true(version >= s->durable);
    s->durable = version;
}

static void on_fatal(void *arg, const struct error *e)
{
    struct sim *s = arg;
    (void)e;
    s->is_fatal = true;
}

static void on_lost(void *arg, const struct error *e)
{
    struct sim *s = arg;
    (void)e;
    s->is_fatal = true; /* what was not acknowledged is gone, as after a power failure */
}

static void on_wake(void *arg)
{
    (void)arg;
}

static void on_ready(struct waiter *w)
{
    struct sim *s = (struct sim *)((char *)w - offsetof(struct sim, waiter));
    s->was_told = true;
}

/* Lets everything that waits run, once. False after a fatal error. */
static bool sim_turn(struct sim *s)
{
    (void)db_turn_end(s->db);
    db_poll(s->db);
    db_tick(s->db);
    return !s->is_fatal;
}

static bool turn_of(void *arg)
{
    return sim_turn(arg);
}

static struct db_options options_of(struct sim *s)
{
    struct db_options o = small_db(s->dir);
    o.pipeline.memtable_bytes = 1 << 20;
    o.pipeline.memtable_age_ms = 50 + (int64_t)rng_below(&s->rng, 1000);
    o.pipeline.write_buffer_bytes = 16 << 20;
    o.pipeline.cache_bytes = 4096 + rng_below(&s->rng, 65536);
    o.pipeline.store_keep_ms = (int64_t)rng_below(&s->rng, 3) * 50; /* 0: always */
    o.pipeline.absent_reads_min = rng_below(&s->rng, 3) * 10; /* 0: it is not made of so little */
    o.pipeline.wake = on_wake;
    o.pipeline.on_fatal = on_fatal;
    o.pipeline.arg = s;
    o.local.segment_bytes = 256 * 1024;
    o.local.retention_ms = 3600000;
    o.local.retention_bytes = 4 * 256 * 1024;
    o.local.flush_rows = rng_below(&s->rng, 2);                 /* 1: a flush moves even two rows */
    o.local.long_sync_us = rng_below(&s->rng, 3) == 0 ? 0 : -1; /* -1: two syncs under way */
    o.engine.value_bytes_max = o.engine.txn_bytes_max = 1 << 20;
    o.engine.expire_batch = 5;
    o.queues.dedup_window_ms = QUEUE_CHECK_DEDUP_MS;
    o.queues.dead_age_ms = INT64_MAX / 2;
    o.collections.pack_bytes = rng_below(&s->rng, 3) * 512;
    o.collections.counted_bytes = COUNTED_BYTES_DEFAULT;
    o.on_durable = on_durable;
    o.on_durable_arg = s;
    return o;
}

static void sim_open(struct sim *s)
{
    struct error e = {.text = ""};
    struct db_options options = options_of(s);
    s->is_fatal = false;
    options.pipeline.on_lost = on_lost;
    if (s->late != NULL) {
        options.pipeline.pick = late_pick;
        options.pipeline.pick_arg = s->late;
        options.wrap = (struct db_wrap){.wrap = late_wrap_db, .arg = s->late};
    }
    if (db_open(&options, &s->db, &e) != OK) fail_msg("start refused: %s", e.text);
    s->indexes = (struct index_check){.db = s->db, .turn = turn_of, .arg = s};
    s->queues.db = s->db;
    s->queues.rng = &s->rng;
    s->queues.turn = turn_of;
    s->queues.arg = s;
    s->collections.db = s->db;
    s->collections.rng = &s->rng;
    s->collections.turn = turn_of;
    s->collections.arg = s;
    queue_check_open(&s->queues);
    collection_check_open(&s->collections);
    index_check_open(&s->indexes);
    s->durable = db_durable(s->db);
}

/* ---- reading everything ---- */

/* False after a fatal error. */
static bool read_database(struct sim *s, int database, struct model *out)
{
    uint8_t start[KEY_HEAD_BYTES] = {KEY_HEAD((uint16_t)database, SPACE_DATA)};
    uint8_t end[KEY_HEAD_BYTES] = {KEY_HEAD((uint16_t)database, SPACE_DATA + 1)};
    struct scan_range range = {.start = slice_of(start, sizeof start),
                               .end = slice_of(end, sizeof end),
                               .is_reverse = rng_below(&s->rng, 2) == 0,
                               .with_values = true};
    struct engine_scan *scan = NULL;
    struct error e = {.text = ""};
    assert_int_equal(engine_scan_open(s->db->engine, NULL, &range, &scan, &e), OK);
    for (;;) {
        struct slice key;
        struct entry entry;
        enum err r = engine_scan_next(scan, &key, &entry, &s->waiter, &e);
        if (r == ERR_WAIT) {
            waiter_cancel(&s->waiter);
            if (sim_turn(s)) continue;
            engine_scan_close(scan);
            return false;
        }
        if (r != OK) fail_msg("scan: %s", e.text);
        if (key.len == 0) break;
        int k = atoi((const char *)key.data + KEY_HEAD_BYTES + 2);
        assert_in_range(k, 0, KEYS - 1);
        out->entries[database][k] = (struct model_entry){.exists = true,
                                                         .value = entry_value(entry.value),
                                                         .expiry_ms = entry.expiry_ms,
                                                         .version = entry.version};
    }
    engine_scan_close(scan);
    return true;
}

static bool same_state(const struct sim *s, const struct model *found, const struct model *wanted)
{
    for (int d = 0; d < DATABASES; d++) {
        for (int k = 0; k < KEYS; k++) {
            const struct model_entry *f = &found->entries[d][k];
            const struct model_entry *w = &wanted->entries[d][k];
            if (f->exists != entry_is_live(w, s->clock_ms)) return false;
            if (!f->exists) continue;
            if (f->value != w->value || f->expiry_ms != w->expiry_ms || f->version != w->version) {
                return false;
            }
        }
    }
    return true;
}

/* What the queues of a commit are at this time. */
static bool same_queues(const struct sim *s, const struct queue_model *found,
                        const struct queue_model *wanted)
{
    struct queue_model then = *wanted;
    queue_model_advance(&then, s->clock_ms);
    return queue_model_same(found, &then);
}

static bool same_collections(const struct sim *s, const struct cmodel *found,
                             const struct cmodel *wanted)
{
    struct cmodel then = *wanted;
    cmodel_advance(&then, s->clock_ms);
    return cmodel_same(found, &then);
}

/* False after a fatal error. */
static bool check_all(struct sim *s)
{
    struct model found = {0};
    struct queue_model queues;
    struct cmodel collections;
    for (int d = 0; d < DATABASES; d++) {
        if (!read_database(s, d, &found)) return false;
    }
    assert_true(same_state(s, &found, &s->now));
    if (!queue_check_read(&s->queues, &queues)) return false;
    assert_true(same_queues(s, &queues, &s->queues.now));
    if (!collection_check_read(&s->collections, &collections)) return false;
    assert_true(same_collections(s, &collections, &s->collections.now));
    return true;
}

/* ---- transactions ---- */

static void log_commit(struct sim *s, uint64_t version)
{
    s->transactions++;
    assert_true(s->log_count < LOG_MAX);
    s->log[s->log_count++] = (struct commit){.version = version,
                                             .after = s->now,
                                             .queues = s->queues.now,
                                             .collections = s->collections.now};
}

/* False after a fatal error. */
static bool run_transaction(struct sim *s)
{
    struct planned p;
    struct error e = {.text = ""};
    struct planner planner = {
        .rng = &s->rng, .arena = &s->arena, .now = &s->now, .clock_ms = s->clock_ms};
    entry_plan(&planner, &p);
    enum err r = OK;
    while ((r = engine_commit(s->db->engine, &p.txn, &s->waiter, &e)) == ERR_WAIT) {
        waiter_cancel(&s->waiter);
        if (!sim_turn(s)) return false;
    }
    if (r == ERR_IO && s->is_fatal) return false;
    if (r != OK) fail_msg("commit: %s", e.text);
    assert_int_equal(p.txn.is_conflict, p.conflicts);
    if (p.conflicts) {
        assert_int_equal(p.txn.version, 0);
        return true;
    }
    assert_true(p.txn.version > s->version_max);
    s->version_max = p.txn.version;
    for (int d = 0; d < DATABASES; d++) {
        for (int k = 0; k < KEYS; k++) {
            struct model_entry *m = &p.after.entries[d][k];
            if (m->exists && m->version == 0) m->version = p.txn.version;
        }
    }
    s->now = p.after;
    log_commit(s, p.txn.version);
    return true;
}

/* One operation on a queue. False after a fatal error. */
static bool run_queue(struct sim *s)
{
    uint64_t version = 0;
    if (!queue_check_step(&s->queues, s->clock_ms, &version)) return false;
    if (version == 0) return true;
    assert_true(version > s->version_max);
    s->version_max = version;
    log_commit(s, version);
    return true;
}

/* One transaction of collections. False after a fatal error. */
static bool run_collections(struct sim *s)
{
    uint64_t version = 0;
    if (!collection_check_step(&s->collections, &version)) return false;
    if (version == 0) return true;
    assert_true(version > s->version_max);
    s->version_max = version;
    log_commit(s, version);
    return true;
}

/* ---- failures ---- */

/* The state found must be one of the log's, and none before what was acknowledged. */
static void match_log(struct sim *s, uint64_t acknowledged)
{
    struct model found = {0};
    struct queue_model queues;
    struct cmodel collections;
    for (int d = 0; d < DATABASES; d++) assert_true(read_database(s, d, &found));
    assert_true(queue_check_read(&s->queues, &queues));
    assert_true(collection_check_read(&s->collections, &collections));
    for (size_t i = s->log_count; i-- > 0;) {
        if (!same_state(s, &found, &s->log[i].after)) continue;
        if (!same_queues(s, &queues, &s->log[i].queues)) continue;
        if (!same_collections(s, &collections, &s->log[i].collections)) continue;
        bool holds_all = i + 1 == s->log_count || s->log[i + 1].version > acknowledged;
        if (!holds_all)
            fail_msg("acknowledged version %llu is lost", (unsigned long long)acknowledged);
        s->now = s->log[i].after;
        s->queues.now = s->log[i].queues;
        s->collections.now = s->log[i].collections;
        s->log[0] = s->log[i];
        s->log_count = 1;
        return;
    }
    fail_msg("the state after the start is no prefix of what was committed");
}

/* The database is closed. */
static void lose_power(struct sim *s, uint64_t acknowledged)
{
    s->losses += power_fail(s->power);
    s->failures++;
    sim_open(s);
    match_log(s, acknowledged);
    index_check_all(&s->indexes, s->clock_ms);
}

static void fail_power(struct sim *s)
{
    uint64_t acknowledged = s->durable;
    fault_arm("", 0, false);
    waiter_cancel(&s->waiter);
    index_check_close(&s->indexes);
    queue_check_close(&s->queues);
    collection_check_close(&s->collections);
    db_abandon(s->db);
    lose_power(s, acknowledged);
}

static void stop_cleanly(struct sim *s)
{
    struct error e = {.text = ""};
    fault_arm("", 0, false);
    waiter_cancel(&s->waiter);
    index_check_close(&s->indexes);
    queue_check_close(&s->queues);
    collection_check_close(&s->collections);
    /* An apply that fails at the stop leaves what it had to write in the journal. */
    enum err r = db_close(s->db, &e);
    if (r == ERR_IO && s->is_fatal) { /* a write had failed, and it was not told yet */
        lose_power(s, s->durable);
        return;
    }
    if (r != OK && !(r == ERR_IO && s->late != NULL)) fail_msg("stop: %s", e.text);
    sim_open(s);
    s->log[0] = (struct commit){
        .after = s->now, .queues = s->queues.now, .collections = s->collections.now};
    s->log_count = 1;
    assert_true(check_all(s));
    index_check_all(&s->indexes, s->clock_ms);
}

static void step(struct sim *s)
{
    bool goes_on = true;
    uint64_t what = rng_below(&s->rng, 100);
    if (what < 30) {
        goes_on = run_transaction(s);
    } else if (what < 50) {
        goes_on = run_queue(s);
    } else if (what < 70) {
        goes_on = run_collections(s);
    } else if (what < 85) {
        goes_on = sim_turn(s);
    } else if (what < 93) {
        s->clock_ms += (int64_t)rng_below(&s->rng, 500);
        clock_set_fake_ms(s->clock_ms);
        db_tick(s->db);
    } else if (what < 96) {
        goes_on = check_all(s);
    } else if (what < 98) {
        /* The nth file operation from here fails, and the power with it. */
        if (s->late != NULL && rng_below(&s->rng, 3) == 0) {
            late_lose(s->late); /* told with the next turn */
            for (uint64_t i = rng_below(&s->rng, 4); i > 0 && goes_on; i--) {
                goes_on = run_transaction(s);
            }
            if (goes_on) assert_false(sim_turn(s));
            fail_power(s);
            return;
        }
        fault_arm(rng_below(&s->rng, 2) == 0 ? "file.write" : "file.sync",
                  1 + rng_below(&s->rng, 6), false);
    } else if (what < 99) {
        fail_power(s);
    } else {
        stop_cleanly(s);
    }
    if (!goes_on || s->is_fatal) fail_power(s);
    if (s->log_count == LOG_MAX) stop_cleanly(s);
    backend_run_over(s->db->backend, &s->waiter);
    arena_reset(&s->arena);
}

static struct late *late_of(uint64_t seed)
{
    struct late_options options = {.seed = seed,
                                   .wait_percent = 90,
                                   .apply_fail_percent = 10,
                                   .idle_percent = 40,
                                   .hold_polls = 4};
    return seed % 3 == 0 ? late_new(&options) : NULL;
}

static void simulate(uint64_t seed)
{
    struct sim *s = mem_new(sizeof *s);
    char command[96];
    s->late = late_of(seed);
    printf("seed %llu%s\n", (unsigned long long)seed, s->late != NULL ? ", late" : "");
    rng_init(&s->rng, seed);
    snprintf(s->dir, sizeof s->dir, "/tmp/tupled-sim-XXXXXX");
    assert_non_null(mkdtemp(s->dir));
    s->clock_ms = START_MS;
    clock_set_fake_ms(s->clock_ms);
    s->waiter.ready = on_ready;
    s->log = mem_new(LOG_MAX * sizeof *s->log);
    s->log_count = 1;
    arena_init(&s->arena, 65536);
    s->power = power_watch(&s->rng);
    sim_open(s);
    for (int i = 0; i < STEPS; i++) step(s);
    fail_power(s);
    stop_cleanly(s);
    printf("  %llu transactions, %llu power failures, %llu writes lost or torn, %llu spread "
           "collections read\n",
           (unsigned long long)s->transactions, (unsigned long long)s->failures,
           (unsigned long long)s->losses, (unsigned long long)s->collections.spread);
    struct error e;
    index_check_close(&s->indexes);
    queue_check_close(&s->queues);
    collection_check_close(&s->collections);
    enum err closed = db_close(s->db, &e);
    assert_true(closed == OK || (closed == ERR_IO && s->late != NULL));
    late_free(s->late);
    power_unwatch(s->power);
    clock_set_fake_ms(0);
    arena_fini(&s->arena);
    snprintf(command, sizeof command, "rm -rf '%s'", s->dir);
    (void)!system(command);
    mem_free(s->log);
    mem_free(s);
}

static void what_was_acknowledged_survives_any_power_failure_and_nothing_is_half_done(void **state)
{
    const char *given = getenv("SIM_SEED");
    const char *seconds = getenv("TUPLED_LONG") != NULL ? getenv("SIM_SECONDS") : NULL;
    time_t end = time(NULL) + (seconds != NULL ? atoi(seconds) : 10);
    if (given != NULL) {
        simulate(strtoull(given, NULL, 10));
        return;
    }
    uint64_t seed = seconds != NULL ? (uint64_t)time(NULL) * 1000 : 1;
    do {
        simulate(seed++);
    } while (time(NULL) < end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_acknowledged_survives_any_power_failure_and_nothing_is_half_done),
    };
    hash_fix(); /* the same each time */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
