/* abandon: a database is dropped at any moment, over a journal and a store that are late, fail, hang
 * and get lost (tests/late): it takes no time, nothing leaks, no caller is told anything
 * afterwards, and what was told before is there when the database is opened again, every
 * transaction whole.
 *
 * 300 moments; TUPLED_LONG=1 makes 10,000 of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "db/db.h"
#include "late/late.h"
#include "unit/db/db_help.h"

#define COMMANDS 6
#define KEYS 12
#define STEPS 150               /* of a round, at most */
#define ABANDON_US_MAX 20000000 /* a machine may be crowded; what hangs would take an hour */
#define HOUR_US 3600000000u

struct round;

/* A caller that reads one key, or writes it, again and again. */
struct command {
    struct waiter waiter; /* first */
    struct round *round;
    bool is_parked;
};

struct request {
    bool is_asked, is_told;
};

struct round {
    struct rng rng;
    struct db *db;
    struct late *late;
    char dir[64];
    struct arena arena;
    struct command commands[COMMANDS];
    struct engine_scan *scan;
    struct waiter scan_waiter;
    bool is_scan_parked;
    struct changes_request changes;
    struct backup_request backup;
    struct request changes_state, backup_state;
    char backup_path[96];
    uint64_t number;              /* of the newest commit: both keys have it */
    uint64_t first;               /* number before this round */
    uint64_t versions[STEPS + 1]; /* of its commits, by number after `first` */
    uint64_t durable, durable_number;
    bool is_abandoned, is_lost;
};

static void on_wake(void *arg)
{
    (void)arg;
}

static void on_fatal(void *arg, const struct error *e)
{
    (void)arg;
    fail_msg("fatal: %s", e->text);
}

static void on_lost(void *arg, const struct error *e)
{
    struct round *x = arg;
    (void)e;
    assert_false(x->is_abandoned);
    x->is_lost = true;
}

static void on_durable(void *arg, uint64_t version)
{
    struct round *x = arg;
    assert_false(x->is_abandoned);
    x->durable = version;
}

static void on_ready(struct waiter *w)
{
    struct command *c = (struct command *)w;
    assert_false(c->round->is_abandoned);
    c->is_parked = false;
}

static void on_scan_ready(struct waiter *w)
{
    struct round *x = (struct round *)((char *)w - offsetof(struct round, scan_waiter));
    assert_false(x->is_abandoned);
    x->is_scan_parked = false;
}

static void changes_done(struct changes_request *q)
{
    struct round *x = q->arg;
    x->changes_state.is_told = true;
}

static void backup_done(struct backup_request *q)
{
    struct round *x = q->arg;
    x->backup_state.is_told = true;
}

static void open_db(struct round *x, bool is_late, bool is_inline)
{
    struct error e = {.text = ""};
    struct db_options options = small_db(x->dir);
    options.pipeline.memtable_bytes = 600 << 10;
    options.pipeline.memtable_age_ms = 1;
    options.pipeline.write_buffer_bytes = 8 << 20;
    options.pipeline.cache_bytes = 4000;
    options.pipeline.query_threads = 2;
    options.pipeline.is_inline = is_inline;
    options.pipeline.wake = on_wake;
    options.pipeline.on_fatal = on_fatal;
    options.pipeline.on_lost = on_lost;
    options.pipeline.arg = x;
    options.local.retention_ms = 1000000;
    options.local.retention_bytes = 1 << 20;
    options.on_durable = on_durable;
    options.on_durable_arg = x;
    if (is_late) {
        options.wrap = (struct db_wrap){.wrap = late_wrap_db, .arg = x->late};
        options.pipeline.pick = late_pick;
        options.pipeline.pick_arg = x->late;
    }
    if (db_open(&options, &x->db, &e) != OK) fail_msg("open: %s", e.text);
    x->durable = db_durable(x->db);
}

static struct slice key_of(struct round *x, unsigned number)
{
    uint8_t *key = arena_alloc(&x->arena, 3);
    key[0] = 0;
    key[1] = 1;
    key[2] = (uint8_t)(0x40 + number);
    return slice_of(key, 3);
}

/* A positive MessagePack integer of 64 bits. */
static struct slice value_of(struct round *x, uint64_t number)
{
    uint8_t *value = arena_alloc(&x->arena, 9);
    value[0] = 0xcf;
    for (int i = 0; i < 8; i++) value[1 + i] = (uint8_t)(number >> (56 - 8 * i));
    return slice_of(value, 9);
}

static uint64_t number_of(const struct entry *entry)
{
    uint64_t number = 0;
    if (!entry->exists) return 0;
    assert_int_equal(entry->value.len, 9);
    for (int i = 0; i < 8; i++) number = number << 8 | entry->value.data[1 + i];
    return number;
}

/* The first and the last key get the same number, a few between them any. */
static void write_keys(struct round *x, struct command *c)
{
    struct error e;
    struct backend *b = x->db->backend;
    struct slice value = value_of(x, x->number + 1);
    unsigned other = 1 + (unsigned)rng_below(&x->rng, KEYS - 2);
    struct mutation items[] = {{.kind = MUTATION_SET, .key = key_of(x, 0), .value = value},
                               {.kind = MUTATION_SET, .key = key_of(x, other), .value = value},
                               {.kind = MUTATION_SET, .key = key_of(x, KEYS - 1), .value = value}};
    struct batch batch = {.items = items, .count = 3, .time_ms = backend_time_ms(b)};
    uint64_t version = 0;
    enum err r = backend_commit(b, &batch, &version, &c->waiter, &e);
    if (r == OK) x->versions[++x->number - x->first] = version;
    c->is_parked = r == ERR_WAIT;
    if (r != OK && r != ERR_WAIT) assert_true(x->is_lost);
}

static void read_key(struct round *x, struct command *c)
{
    struct error e;
    struct entry entry;
    struct slice key = key_of(x, (unsigned)rng_below(&x->rng, KEYS));
    struct backend *b = x->db->backend;
    enum err r = backend_load(b, key, &entry, &c->waiter, &e);
    c->is_parked = r == ERR_WAIT;
    if (r == OK) assert_true(number_of(&entry) <= x->number);
    if (r != ERR_WAIT && rng_below(&x->rng, 2) == 0) backend_run_over(b, &c->waiter);
}

static void scan_some(struct round *x)
{
    struct error e;
    if (x->is_scan_parked) return;
    if (x->scan == NULL) {
        struct scan_range range = {.start = key_of(x, 0),
                                   .end = key_of(x, KEYS),
                                   .with_values = true,
                                   .is_reverse = rng_below(&x->rng, 2) == 0};
        assert_int_equal(engine_scan_open(x->db->engine, NULL, &range, &x->scan, &e), OK);
    }
    for (;;) {
        struct slice key;
        struct entry entry;
        enum err r = engine_scan_next(x->scan, &key, &entry, &x->scan_waiter, &e);
        x->is_scan_parked = r == ERR_WAIT;
        if (x->is_scan_parked) return;
        if (r == OK && key.len > 0) continue;
        engine_scan_close(x->scan);
        x->scan = NULL;
        return;
    }
}

static void ask_for_changes(struct round *x)
{
    struct backend *b = x->db->backend;
    if (x->changes_state.is_asked && !x->changes_state.is_told) return;
    arena_reset(&x->changes.arena);
    x->changes_state = (struct request){.is_asked = true};
    x->changes.after = x->durable > 5 ? x->durable - 5 : 0;
    x->changes.until = rng_below(&x->rng, 2) == 0 ? 0 : backend_version_newest(b);
    x->changes.start = slice_of("\0\1", 2);
    x->changes.end = slice_of("\0\2", 2);
    x->changes.rows_max = 100;
    x->changes.bytes_max = 10000;
    x->changes.done = changes_done;
    x->changes.arg = x;
    backend_changes(b, &x->changes);
}

static void ask_for_backup(struct round *x)
{
    struct error e;
    if (x->backup_state.is_asked && !x->backup_state.is_told) return;
    x->backup = (struct backup_request){.path = x->backup_path, .done = backup_done, .arg = x};
    enum err r = backend_backup(x->db->backend, &x->backup, &e);
    x->backup_state = (struct request){.is_asked = r == OK};
}

static void step(struct round *x)
{
    struct error e;
    uint64_t what = rng_below(&x->rng, 100);
    struct command *c = &x->commands[rng_below(&x->rng, COMMANDS)];
    if (what < 30 && !c->is_parked) {
        write_keys(x, c);
    } else if (what < 60 && !c->is_parked) {
        read_key(x, c);
    } else if (what < 68) {
        scan_some(x);
    } else if (what < 72) {
        ask_for_changes(x);
    } else if (what < 73) {
        ask_for_backup(x);
    } else if (what < 74) {
        (void)!backend_verify_start(x->db->backend, &e);
    } else {
        /* The turn ends: a scan keeps its place. */
        if (x->scan != NULL && !x->is_scan_parked && engine_scan_pause(x->scan, &e) != OK) {
            engine_scan_close(x->scan);
            x->scan = NULL;
        }
        (void)db_turn_end(x->db);
        arena_reset(&x->arena);
        db_poll(x->db);
        db_tick(x->db);
    }
}

static void abandon(struct round *x)
{
    engine_scan_close(x->scan);
    x->scan = NULL;
    waiter_cancel(&x->scan_waiter);
    int64_t begin_us = clock_mono_us();
    /* Waiters are let go; requests end within the call. */
    for (unsigned i = 0; i < COMMANDS; i++) x->commands[i].is_parked = true;
    for (uint64_t n = x->number; n > x->durable_number; n--) {
        if (x->versions[n - x->first] <= x->durable) x->durable_number = n;
    }
    x->is_abandoned = true;
    db_abandon(x->db);
    assert_true(clock_mono_us() - begin_us < ABANDON_US_MAX);
    assert_int_equal(x->changes_state.is_asked, x->changes_state.is_told);
    assert_int_equal(x->backup_state.is_asked, x->backup_state.is_told);
    for (unsigned i = 0; i < COMMANDS; i++) {
        assert_null(x->commands[i].waiter.next);
        waiter_cancel(&x->commands[i].waiter);
        assert_true(x->commands[i].is_parked);
    }
    x->is_abandoned = false;
}

static uint64_t read_now(struct round *x, unsigned number)
{
    struct error e = {.text = ""};
    struct entry entry;
    struct command c = {.waiter.ready = on_ready, .round = x};
    struct backend *b = x->db->backend;
    while (backend_load(b, key_of(x, number), &entry, &c.waiter, &e) == ERR_WAIT) {
        waiter_cancel(&c.waiter);
        (void)db_turn_end(x->db);
        db_poll(x->db);
    }
    return number_of(&entry);
}

/* What was told is there, the rest is whole. */
static void check(struct round *x)
{
    struct error e = {.text = ""};
    open_db(x, false, true);
    uint64_t first = read_now(x, 0);
    assert_int_equal(first, read_now(x, KEYS - 1));
    assert_in_range(first, x->durable_number, x->number);
    x->number = x->durable_number = first;
    if (rng_below(&x->rng, 2) == 0) {
        db_abandon(x->db);
    } else if (db_close(x->db, &e) != OK) {
        fail_msg("close: %s", e.text);
    }
}

static void round_once(struct round *x, uint64_t seed)
{
    bool is_inline = rng_below(&x->rng, 3) > 0;
    struct late_options options = {.seed = seed,
                                   .wait_percent = 80,
                                   .read_fail_percent = (unsigned)rng_below(&x->rng, 2) * 20,
                                   .apply_fail_percent = 10,
                                   .idle_percent = 50,
                                   .hold_polls = 5};
    /* A few hang for ever: they end because the store is given up. */
    if (!is_inline) options.delay_us = rng_below(&x->rng, 3) == 0 ? HOUR_US : 300;
    x->late = late_new(&options);
    x->is_lost = x->is_scan_parked = false;
    for (unsigned i = 0; i < COMMANDS; i++) {
        x->commands[i] = (struct command){.waiter.ready = on_ready, .round = x};
    }
    x->scan_waiter = (struct waiter){.ready = on_scan_ready};
    x->changes_state = x->backup_state = (struct request){0};
    open_db(x, true, is_inline);
    x->first = x->number;
    uint64_t steps = rng_below(&x->rng, STEPS);
    uint64_t lost_at = rng_below(&x->rng, 2 * STEPS);
    for (uint64_t i = 0; i < steps && !x->is_lost; i++) {
        if (i == lost_at) late_lose(x->late);
        step(x);
    }
    abandon(x);
    arena_reset(&x->arena);
    check(x);
    late_free(x->late);
}

static void a_database_can_be_dropped_at_any_moment(void **state)
{
    struct round *x = calloc(1, sizeof *x);
    char command[96];
    const char *seed = getenv("TUPLED_SEED");
    uint64_t rounds = getenv("TUPLED_LONG") != NULL ? 10000 : 300;
    rng_init(&x->rng, seed != NULL ? strtoull(seed, NULL, 10) : 1);
    log_set_level(LOG_LEVEL_NOTHING);
    snprintf(x->dir, sizeof x->dir, "/dev/shm/test_abandon.XXXXXX");
    assert_non_null(mkdtemp(x->dir));
    snprintf(x->backup_path, sizeof x->backup_path, "%s/backup.db", x->dir);
    arena_init(&x->arena, 4096);
    arena_init(&x->changes.arena, 4096);
    for (uint64_t i = 1; i <= rounds; i++) round_once(x, i);
    arena_fini(&x->arena);
    arena_fini(&x->changes.arena);
    snprintf(command, sizeof command, "rm -rf '%s'", x->dir);
    assert_int_equal(system(command), 0);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_database_can_be_dropped_at_any_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
