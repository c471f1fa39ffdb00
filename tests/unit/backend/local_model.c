#include "unit/backend/local_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/fault.h"
#include "base/random.h"

#define DATABASES 2
#define SCANS 3
#define LOADS 5
#define VALUE_BYTES_MAX 3000

struct model_entry {
    uint64_t version; /* 0 = absent */
    uint64_t seed;    /* of the value */
    int64_t expiry_ms;
};

struct model_state {
    struct model_entry at[DATABASES][MODEL_KEYS_MAX];
};

/* A scan that stays open while others write, and the state it must see. */
struct open_scan {
    struct scan *scan; /* NULL = this place is free */
    struct model_state *seen;
    unsigned database;
    unsigned at, end; /* going forward the next is `at`, going back `end - 1` */
    bool is_reverse, with_values;
    unsigned modulus; /* rows whose value passes value_passes; 1 = all */
};

/* Lets through values of a length that divides by `modulus`. */
struct length_filter {
    struct row_filter base; /* first */
    unsigned modulus;
    unsigned refs;
};

struct model {
    struct rig *r;
    struct model_options options;
    struct rng rng;
    struct model_state now;
    struct open_scan scans[SCANS];
    uint64_t newest;
};

static uint64_t pick(struct model *m, uint64_t limit)
{
    return rng_below(&m->rng, limit);
}

static struct slice model_key(unsigned database, unsigned number)
{
    return key_of(database, "k%05u", number);
}

/* A value is told by its seed: some are long. */
static struct slice model_value(uint64_t seed)
{
    static uint8_t value[VALUE_BYTES_MAX];
    struct rng rng;
    rng_init(&rng, seed);
    uint64_t kind = rng_below(&rng, 20);
    size_t len = rng_below(&rng, kind == 0 ? VALUE_BYTES_MAX : kind == 1 ? 1 : 40);
    memset(value, (int)(seed & 0xff), len);
    if (len >= sizeof seed) memcpy(value, &seed, sizeof seed);
    return slice_of(value, len);
}

static void expect_entry(const struct model_entry *want, const struct entry *got, bool with_value)
{
    assert_int_equal(got->exists, want->version != 0);
    if (want->version == 0) return;
    assert_int_equal(got->version, want->version);
    assert_int_equal(got->expiry_ms, want->expiry_ms);
    if (!with_value) return;
    struct slice value = model_value(want->seed);
    assert_int_equal(got->value.len, value.len);
    if (value.len > 0) assert_memory_equal(got->value.data, value.data, value.len);
}

/* ---- filters ---- */

static bool length_passes(const struct row_filter *f, struct slice value)
{
    return value.len % ((const struct length_filter *)f)->modulus == 0;
}

static void length_ref(struct row_filter *f)
{
    ((struct length_filter *)f)->refs++;
}

static void length_unref(struct row_filter *f)
{
    if (--((struct length_filter *)f)->refs == 0) free(f);
}

static struct row_filter *length_filter(unsigned modulus)
{
    struct length_filter *f = calloc(1, sizeof *f);
    *f = (struct length_filter){
        .base = {.matches = length_passes, .ref = length_ref, .unref = length_unref},
        .modulus = modulus,
        .refs = 1};
    return &f->base;
}

/* ---- scans ---- */

static void scan_finish(struct model *m, struct open_scan *o)
{
    backend_scan_close(o->scan);
    free(o->seen);
    *o = (struct open_scan){0};
}

static void scan_begin(struct model *m, struct open_scan *o)
{
    o->database = (unsigned)pick(m, DATABASES);
    o->at = (unsigned)pick(m, m->options.keys);
    o->end = o->at + (unsigned)pick(m, m->options.keys + 1 - o->at);
    if (pick(m, 3) == 0) {
        o->at = 0;
        o->end = m->options.keys;
    }
    o->is_reverse = pick(m, 2) == 0;
    o->with_values = pick(m, 4) != 0;
    o->modulus = pick(m, 2) == 0 ? 1 : 2 + (unsigned)pick(m, 4);
    o->seen = malloc(sizeof *o->seen);
    *o->seen = m->now;
    struct row_filter *filter = o->modulus > 1 ? length_filter(o->modulus) : NULL;
    struct scan_range range = {.filter = filter,
                               .start = model_key(o->database, o->at),
                               .end = model_key(o->database, o->end),
                               .is_reverse = o->is_reverse,
                               .with_values = o->with_values,
                               .rows_hint = pick(m, 2) * pick(m, 100)};
    assert_int_equal(backend_scan_open(m->r->b, &range, &o->scan, NULL), OK);
    if (filter != NULL) filter->unref(filter); /* the scan has its own */
}

/* The model's next row: its number, or -1. */
static int expected_next(struct open_scan *o)
{
    while (o->at < o->end) {
        unsigned number = o->is_reverse ? --o->end : o->at++;
        const struct model_entry *entry = &o->seen->at[o->database][number];
        if (entry->version == 0) continue;
        if (o->modulus > 1 && model_value(entry->seed).len % o->modulus != 0) continue;
        return (int)number;
    }
    return -1;
}

/* Reads up to `rows` rows; closes at the end. */
static void scan_read(struct model *m, struct open_scan *o, unsigned rows)
{
    uint64_t depends = 0;
    for (unsigned i = 0; i < rows; i++) {
        struct slice key;
        struct entry entry;
        bool is_row = rig_scan_next(m->r, o->scan, &key, &entry);
        int want = expected_next(o);
        assert_int_equal(is_row, want >= 0);
        if (!is_row) {
            scan_finish(m, o);
            return;
        }
        struct slice want_key = model_key(o->database, (unsigned)want);
        assert_int_equal(key.len, want_key.len);
        assert_memory_equal(key.data, want_key.data, key.len);
        expect_entry(&o->seen->at[o->database][want], &entry, o->with_values);
        /* What is not durable yet is depended on. */
        if (entry.version > m->r->durable) depends = entry.version;
        assert_true(backend_scan_depends(o->scan) >= depends);
    }
    assert_int_equal(backend_scan_pause(o->scan, NULL), OK);
}

/* Single entries, as the scan sees them. */
static void scan_load(struct model *m, struct open_scan *o)
{
    static uint8_t bytes[LOADS][16];
    struct slice keys[LOADS];
    unsigned numbers[LOADS];
    struct entry entries[LOADS];
    enum err r = ERR_WAIT;
    for (unsigned i = 0; i < LOADS; i++) {
        numbers[i] = (unsigned)pick(m, m->options.keys);
        struct slice key = model_key(o->database, numbers[i]);
        memcpy(bytes[i], key.data, key.len);
        keys[i] = slice_of(bytes[i], key.len);
    }
    for (unsigned i = 0; r == ERR_WAIT && i < STEPS_MAX; i++) {
        r = backend_scan_load(o->scan, keys, LOADS, entries, &m->r->waiter, NULL);
        if (r == ERR_WAIT) rig_step(m->r);
        waiter_cancel(&m->r->waiter);
    }
    assert_int_equal(r, OK);
    for (unsigned i = 0; i < LOADS; i++) {
        expect_entry(&o->seen->at[o->database][numbers[i]], &entries[i], true);
    }
    assert_int_equal(backend_scan_pause(o->scan, NULL), OK);
}

static void step_scan(struct model *m)
{
    struct open_scan *o = &m->scans[pick(m, SCANS)];
    if (o->scan == NULL) scan_begin(m, o);
    if (pick(m, 20) == 0) {
        scan_finish(m, o);
    } else if (pick(m, 3) == 0) {
        scan_load(m, o);
    } else {
        scan_read(m, o, (unsigned)pick(m, m->options.keys / 2));
    }
}

static void scans_close(struct model *m)
{
    for (unsigned i = 0; i < SCANS; i++) {
        if (m->scans[i].scan != NULL) scan_finish(m, &m->scans[i]);
    }
}

/* ---- writes ---- */

static void model_apply(struct model *m, unsigned database, const struct mutation *mu,
                        unsigned number, const struct model_entry *entry)
{
    if (mu->kind == MUTATION_FLUSH) {
        memset(m->now.at[database], 0, sizeof m->now.at[database]);
    } else if (mu->kind == MUTATION_DELETE) {
        m->now.at[database][number] = (struct model_entry){0};
    } else {
        m->now.at[database][number] = *entry;
    }
}

static void step_commit(struct model *m)
{
    static uint8_t values[4][VALUE_BYTES_MAX];
    static uint8_t keys[4][16];
    struct mutation mu[4];
    unsigned databases[4];
    unsigned numbers[4];
    struct model_entry entries[4];
    size_t count = 1 + pick(m, 4);
    for (size_t i = 0; i < count; i++) {
        databases[i] = (unsigned)pick(m, DATABASES);
        numbers[i] = (unsigned)pick(m, m->options.keys);
        struct slice key = model_key(databases[i], numbers[i]);
        memcpy(keys[i], key.data, key.len);
        mu[i] = (struct mutation){.kind = pick(m, 4) == 0 ? MUTATION_DELETE : MUTATION_SET,
                                  .key = slice_of(keys[i], key.len)};
        entries[i] = (struct model_entry){.seed = rng_next(&m->rng)};
        if (i == 0 && pick(m, 200) == 0) {
            mu[i].kind = MUTATION_FLUSH;
            mu[i].key.len = KEY_HEAD_BYTES;
        }
        if (mu[i].kind != MUTATION_SET) continue;
        struct slice value = model_value(entries[i].seed);
        memcpy(values[i], value.data, value.len);
        mu[i].value = slice_of(values[i], value.len);
        mu[i].expiry_ms = entries[i].expiry_ms = pick(m, 3) == 0 ? (int64_t)pick(m, 1u << 30) : 0;
    }
    uint64_t version = 0;
    assert_int_equal(rig_try_commit(m->r, mu, count, &version, NULL), OK);
    assert_true(version > m->newest);
    m->newest = version;
    for (size_t i = 0; i < count; i++) {
        entries[i].version = version;
        model_apply(m, databases[i], &mu[i], numbers[i], &entries[i]);
    }
}

static void step_load(struct model *m)
{
    unsigned database = (unsigned)pick(m, DATABASES);
    unsigned number = (unsigned)pick(m, m->options.keys);
    struct entry entry;
    rig_load(m->r, model_key(database, number), &entry);
    expect_entry(&m->now.at[database][number], &entry, true);
    if (entry.version > m->r->durable) assert_true(entry.depends >= entry.version);
}

/* Everything, forward and back; at rest also the counts. */
static void compare_all(struct model *m)
{
    for (unsigned database = 0; database < DATABASES; database++) {
        uint64_t live = 0;
        for (unsigned i = 0; i < m->options.keys; i++) {
            live += m->now.at[database][i].version != 0;
        }
        for (unsigned back = 0; back < 2; back++) {
            struct open_scan o = {.database = database,
                                  .end = m->options.keys,
                                  .is_reverse = back,
                                  .with_values = true,
                                  .seen = malloc(sizeof *o.seen)};
            *o.seen = m->now;
            struct scan_range range = {.start = key_low(database),
                                       .end = key_high(database),
                                       .is_reverse = back,
                                       .with_values = true};
            assert_int_equal(backend_scan_open(m->r->b, &range, &o.scan, NULL), OK);
            scan_read(m, &o, m->options.keys + 1);
            assert_null(o.scan);
        }
        bool is_at_rest = pipeline_of(m->r->b)->newest.frozen_count == 0 &&
                          memtable_is_empty(pipeline_of(m->r->b)->newest.active);
        if (is_at_rest) assert_int_equal(backend_entries(m->r->b, database), live);
    }
}

static void step_reopen(struct model *m)
{
    scans_close(m);
    rig_settle(m->r);
    bool is_clean = pick(m, 2) == 0;
    if (is_clean) {
        rig_close(m->r);
        rig_open(m->r);
    } else {
        rig_crash(m->r);
    }
    if (m->options.fault != NULL) fault_arm(m->options.fault, 1, true);
    compare_all(m);
}

static void model_step(struct model *m)
{
    uint64_t what = pick(m, 100);
    if (what < 45) {
        step_commit(m);
    } else if (what < 70) {
        step_load(m);
    } else if (what < 80) {
        step_scan(m);
    } else if (what < 82) {
        pipeline_freeze(pipeline_of(m->r->b));
    } else if (what < 83) {
        rig_apply(m->r);
        compare_all(m);
    } else {
        rig_step(m->r);
    }
    if (m->options.reopen_every > 0 && pick(m, m->options.reopen_every) == 0) step_reopen(m);
}

static int64_t real_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void model_run(struct rig *r, const struct model_options *options)
{
    struct model *m = calloc(1, sizeof *m);
    m->r = r;
    m->options = *options;
    m->newest = backend_version_newest(r->b);
    rng_init(&m->rng, options->seed);
    print_message("seed %llu\n", (unsigned long long)options->seed);
    int64_t end_ms = real_ms() + options->run_ms;
    if (options->fault != NULL) fault_arm(options->fault, 1, true);
    for (unsigned i = 0; i < options->steps; i++) {
        if (options->run_ms != 0 && real_ms() > end_ms) break;
        model_step(m);
    }
    scans_close(m);
    compare_all(m);
    rig_apply(r);
    compare_all(m);
    fault_arm("", 0, false);
    free(m);
}
