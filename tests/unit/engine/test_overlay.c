/* Tests of several evaluations over one overlay: what EXEC and IDEM do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/random.h"
#include "codec/key.h"
#include "codec/value.h"
#include "engine/overlay.h"
#include "unit/backend/local_help.h"
#include "unit/db/db_help.h"

#define START_MS 1700000000000

struct bench {
    struct rig rig;
    struct engine *g;
    struct arena arena;
    struct overlay *o;
    struct error e;
};

static void bench_engine(struct bench *t)
{
    struct engine_options options = small_engine(t->rig.b);
    options.ops_max = 50;
    t->g = engine_new(&options);
}

static void bench_open(struct bench *t)
{
    *t = (struct bench){0};
    clock_set_fake_ms(START_MS);
    rig_init(&t->rig);
    rig_open(&t->rig);
    arena_init(&t->arena, 4096);
    bench_engine(t);
}

static void bench_close(struct bench *t)
{
    engine_free(t->g);
    rig_close(&t->rig);
    rig_fini(&t->rig);
    arena_fini(&t->arena);
    clock_set_fake_ms(0);
}

static struct slice key_in(struct bench *t, uint16_t database, const char *name)
{
    struct buf b = {0};
    engine_key_begin(&b, database);
    key_add_string(&b, slice_str(name));
    struct slice kept = arena_copy(&t->arena, buf_slice(&b));
    buf_fini(&b);
    return kept;
}

static struct slice key(struct bench *t, const char *name)
{
    return key_in(t, 0, name);
}

static struct slice json(struct bench *t, const char *text)
{
    struct buf b = {0};
    assert_int_equal(value_from_json(slice_str(text), NULL, &b, &t->e), OK);
    struct slice kept = arena_copy(&t->arena, buf_slice(&b));
    buf_fini(&b);
    return kept;
}

static struct op set(struct bench *t, const char *name, const char *value)
{
    return (struct op){.kind = OP_SET, .key = key(t, name), .value = json(t, value)};
}

static struct op set_for(struct bench *t, const char *name, const char *value, int64_t ttl_ms)
{
    struct op op = set(t, name, value);
    op.ttl = TTL_AFTER;
    op.ttl_ms = ttl_ms;
    return op;
}

static struct op del(struct bench *t, const char *name)
{
    return (struct op){.kind = OP_DELETE, .key = key(t, name), .counts_live = true};
}

static struct op sum(struct bench *t, const char *name, const char *value)
{
    struct op op = {.kind = OP_ARITH, .key = key(t, name)};
    op.arith = (struct arith){.op = ARITH_SUM, .operand = json(t, value)};
    return op;
}

/* Over t->o, or by itself when there is none. */
static enum err evaluate(struct bench *t, struct op *ops, size_t count, struct txn *out)
{
    struct txn txn = {.overlay = t->o, .ops = ops, .count = count, .arena = &t->arena};
    enum err r = engine_commit(t->g, &txn, &t->rig.waiter, &t->e);
    *out = txn;
    return r;
}

static struct op run(struct bench *t, struct op op)
{
    struct txn txn;
    assert_int_equal(evaluate(t, &op, 1, &txn), OK);
    return op;
}

static void flush(struct bench *t, uint16_t database)
{
    struct txn txn = {.overlay = t->o, .database = database, .has_flush = true, .arena = &t->arena};
    assert_int_equal(engine_commit(t->g, &txn, &t->rig.waiter, &t->e), OK);
}

static void begin(struct bench *t)
{
    t->o = engine_begin(t->g, &t->arena);
}

static uint64_t end(struct bench *t)
{
    uint64_t version = 0;
    assert_int_equal(engine_end(t->o, &version, &t->rig.waiter, &t->e), OK);
    t->o = NULL;
    return version;
}

/* The value as JSON, or NULL, as seen over t->o. */
static void expect(struct bench *t, const char *name, const char *wanted)
{
    struct entry entry;
    struct buf out = {0};
    assert_int_equal(engine_get(t->g, t->o, key(t, name), &entry, &t->rig.waiter, &t->e), OK);
    assert_int_equal(entry.exists, wanted != NULL);
    if (wanted == NULL) return;
    value_to_json(entry.value, &out);
    buf_append_byte(&out, '\0');
    assert_string_equal((char *)out.data, wanted);
    buf_fini(&out);
}

/* The range [from, to) of database 0 over t->o: "a=1 b=2". NULL = an end of all. */
static void expect_range(struct bench *t, const char *from, const char *to, bool is_reverse,
                         const char *wanted)
{
    uint8_t low[KEY_HEAD_BYTES] = {KEY_HEAD(0, SPACE_DATA)};
    uint8_t high[KEY_HEAD_BYTES] = {KEY_HEAD(0, SPACE_DATA + 1)};
    struct scan_range range = {.start = from == NULL ? slice_of(low, sizeof low) : key(t, from),
                               .end = to == NULL ? slice_of(high, sizeof high) : key(t, to),
                               .is_reverse = is_reverse,
                               .is_undivided = true,
                               .with_values = true};
    struct engine_scan *scan = NULL;
    struct buf out = {0};
    assert_int_equal(engine_scan_open(t->g, t->o, &range, &scan, &t->e), OK);
    for (;;) {
        struct slice k;
        struct entry entry;
        assert_int_equal(engine_scan_next(scan, &k, &entry, &t->rig.waiter, &t->e), OK);
        if (k.len == 0) break;
        if (out.len > 0) buf_append_byte(&out, ' ');
        buf_append(&out, k.data + KEY_HEAD_BYTES + 1,
                   k.len - KEY_HEAD_BYTES - 2); /* of a tuple of one string */
        buf_append_byte(&out, '=');
        value_to_json(entry.value, &out);
        assert_true(entry.exists);
    }
    engine_scan_close(scan);
    buf_append_byte(&out, '\0');
    assert_string_equal((char *)out.data, wanted);
    buf_fini(&out);
}

static size_t rows_in_space(struct bench *t, uint8_t space)
{
    uint8_t start[KEY_HEAD_BYTES] = {KEY_HEAD(0, space)};
    uint8_t stop[KEY_HEAD_BYTES] = {KEY_HEAD(0, (uint8_t)(space + 1))};
    struct scan_range range = {.start = slice_of(start, sizeof start),
                               .end = slice_of(stop, sizeof stop)};
    struct scan *scan = NULL;
    size_t rows = 0;
    struct backend *b = t->rig.b;
    assert_int_equal(backend_scan_open(b, &range, &scan, &t->e), OK);
    for (;; rows++) {
        struct slice k;
        struct entry entry;
        assert_int_equal(backend_scan_next(scan, &k, &entry, &t->rig.waiter, &t->e), OK);
        if (k.len == 0) break;
    }
    backend_scan_close(scan);
    return rows;
}

/* ---- reads ----------------------------------------------------------------------------------- */

static void reads_see_earlier_evaluations_and_nobody_else_does(void **state)
{
    struct bench t;
    bench_open(&t);
    run(&t, set(&t, "old", "1"));
    begin(&t);
    run(&t, set(&t, "a", "1"));
    run(&t, sum(&t, "a", "5"));
    run(&t, del(&t, "old"));
    expect(&t, "a", "6");
    expect(&t, "old", NULL);
    struct overlay *o = t.o;
    t.o = NULL;
    expect(&t, "a", NULL);
    expect(&t, "old", "1");
    t.o = o;
    struct op nx = set(&t, "a", "9");
    nx.condition = IF_ABSENT;
    assert_false(run(&t, nx).is_met);
    nx = set(&t, "old", "9");
    nx.condition = IF_ABSENT;
    assert_true(run(&t, nx).is_met);
    assert_true(end(&t) > 0);
    expect(&t, "a", "6");
    expect(&t, "old", "9");
    bench_close(&t);
}

static void more_keys_than_the_linear_search_takes_are_all_found(void **state)
{
    struct bench t;
    char name[16];
    char value[16];
    bench_open(&t);
    begin(&t);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 20; i++) {
            snprintf(name, sizeof name, "k%02d", i);
            run(&t, sum(&t, name, "1"));
            for (int k = 0; k < 20; k++) {
                snprintf(name, sizeof name, "k%02d", k);
                snprintf(value, sizeof value, "%d", round + (k <= i));
                expect(&t, name, round + (k <= i) == 0 ? NULL : value);
            }
        }
    }
    end(&t);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "k%02d", i);
        expect(&t, name, "2");
    }
    assert_int_equal(rows_in_space(&t, SPACE_DATA), 20);
    bench_close(&t);
}

static void scans_merge_what_was_written(void **state)
{
    struct bench t;
    bench_open(&t);
    run(&t, set(&t, "b", "1"));
    run(&t, set(&t, "d", "2"));
    run(&t, set(&t, "f", "3"));
    run(&t, set(&t, "h", "4"));
    for (int round = 0; round < 2; round++) {
        begin(&t);
        run(&t, set(&t, "a", "10"));
        run(&t, set(&t, "e", "11"));
        run(&t, set(&t, "i", "12"));
        run(&t, set(&t, "d", "20")); /* overwritten */
        run(&t, del(&t, "f"));
        run(&t, set(&t, "g", "13"));
        run(&t, del(&t, "g")); /* was never there */
        run(&t, set_for(&t, "c", "14", 100));
        struct op past = set(&t, "b0", "15");
        past.ttl = TTL_AT;
        past.ttl_ms = START_MS; /* has expired */
        run(&t, past);
        expect_range(&t, NULL, NULL, false, "a=10 b=1 c=14 d=20 e=11 h=4 i=12");
        expect_range(&t, NULL, NULL, true, "i=12 h=4 e=11 d=20 c=14 b=1 a=10");
        expect_range(&t, "b", "e", false, "b=1 c=14 d=20");
        expect_range(&t, "b", "e", true, "d=20 c=14 b=1");
        expect_range(&t, "f", "g", false, "");
        expect_range(&t, "e0", "h", true, "");
        expect_range(&t, "h", "h", false, "");
        engine_discard(t.o);
        t.o = NULL;
        expect_range(&t, NULL, NULL, false, "b=1 d=2 f=3 h=4");
        rig_apply(&t.rig); /* the same over the store */
    }
    bench_close(&t);
}

static bool is_even(const struct row_filter *f, struct slice value)
{
    return value.data[value.len - 1] % 2 == 0;
}

static void filter_ref(struct row_filter *f)
{
}

/* Both ways, of what was written and of what was there. */
static void a_filter_is_asked_about_what_was_written(void **state)
{
    static struct row_filter even = {
        .passes = 1, .matches = is_even, .ref = filter_ref, .unref = filter_ref};
    struct bench t;
    bench_open(&t);
    run(&t, set(&t, "a", "1"));
    run(&t, set(&t, "b", "2"));
    begin(&t);
    run(&t, set(&t, "c", "3"));
    run(&t, set(&t, "d", "4"));
    for (int is_reverse = 0; is_reverse < 2; is_reverse++) {
        uint8_t low[KEY_HEAD_BYTES] = {KEY_HEAD(0, SPACE_DATA)};
        uint8_t high[KEY_HEAD_BYTES] = {KEY_HEAD(0, SPACE_DATA + 1)};
        struct scan_range range = {.start = slice_of(low, sizeof low),
                                   .end = slice_of(high, sizeof high),
                                   .is_reverse = is_reverse,
                                   .is_undivided = true,
                                   .with_values = true,
                                   .filter = &even};
        char found[8] = "";
        struct engine_scan *scan = NULL;
        assert_int_equal(engine_scan_open(t.g, t.o, &range, &scan, &t.e), OK);
        for (size_t i = 0; i < sizeof found; i++) {
            struct slice k;
            struct entry entry;
            assert_int_equal(engine_scan_next(scan, &k, &entry, &t.rig.waiter, &t.e), OK);
            if (k.len == 0) break;
            found[i] = (char)k.data[KEY_HEAD_BYTES + 1];
        }
        engine_scan_close(scan);
        assert_string_equal(found, is_reverse ? "db" : "bd");
    }
    engine_discard(t.o);
    t.o = NULL;
    bench_close(&t);
}

static void a_flush_hides_what_was_before_and_not_what_comes_after(void **state)
{
    struct bench t;
    bench_open(&t);
    run(&t, set(&t, "a", "1"));
    run(&t, set(&t, "b", "1"));
    begin(&t);
    run(&t, set(&t, "b", "2"));
    run(&t, set(&t, "c", "2"));
    flush(&t, 0);
    expect(&t, "a", NULL);
    expect(&t, "b", NULL);
    expect(&t, "c", NULL);
    expect_range(&t, NULL, NULL, false, "");
    expect_range(&t, NULL, NULL, true, "");
    run(&t, set(&t, "c", "3"));
    run(&t, sum(&t, "a", "7"));
    expect_range(&t, NULL, NULL, false, "a=7 c=3");
    expect_range(&t, NULL, NULL, true, "c=3 a=7");
    assert_false(run(&t, del(&t, "b")).is_met);
    run(&t, del(&t, "c"));
    uint64_t version = end(&t);
    assert_true(version > 0);
    expect_range(&t, NULL, NULL, false, "a=7");
    assert_int_equal(rows_in_space(&t, SPACE_DATA), 1);
    begin(&t); /* twice in one, and with nothing but it */
    flush(&t, 0);
    flush(&t, 1);
    flush(&t, 0);
    assert_int_equal(end(&t), version + 1);
    expect_range(&t, NULL, NULL, false, "");
    bench_close(&t);
}

static void a_flush_is_of_its_database_alone(void **state)
{
    struct bench t;
    struct entry entry;
    bench_open(&t);
    struct op other = set(&t, "a", "1");
    other.key = key_in(&t, 1, "a");
    run(&t, other);
    run(&t, set(&t, "a", "0"));
    begin(&t);
    other = set(&t, "b", "1");
    other.key = key_in(&t, 1, "b");
    run(&t, other);
    flush(&t, 0);
    end(&t);
    expect(&t, "a", NULL);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            engine_get(t.g, NULL, key_in(&t, 1, i == 0 ? "a" : "b"), &entry, &t.rig.waiter, &t.e),
            OK);
        assert_true(entry.exists);
    }
    assert_int_equal(backend_entries(t.rig.b, 0), 0);
    assert_int_equal(backend_entries(t.rig.b, 1), 2);
    bench_close(&t);
}

static void a_flush_takes_the_ranges_forgotten_in_its_database_alone(void **state)
{
    struct bench t;
    bench_open(&t);
    begin(&t);
    struct write_set ws = {.arena = &t.arena};
    for (uint8_t i = 0; i < 3; i++) {
        overlay_forget(t.o, key_in(&t, i, "a"), key_in(&t, i, "b"));
    }
    overlay_flush(t.o, 1);
    overlay_write_set(t.o, &ws);
    bool is_forgotten[3] = {false};
    for (size_t i = 0; i < ws.count; i++) {
        if (ws.items[i].kind == MUTATION_FORGET) is_forgotten[key_database(ws.items[i].key)] = true;
    }
    assert_true(is_forgotten[0]);
    assert_false(is_forgotten[1]);
    assert_true(is_forgotten[2]);
    engine_discard(t.o);
    t.o = NULL;
    bench_close(&t);
}

static void an_expired_entry_is_absent_over_an_overlay_too(void **state)
{
    struct bench t;
    bench_open(&t);
    run(&t, set_for(&t, "a", "1", 100));
    run(&t, set(&t, "b", "1"));
    clock_set_fake_ms(START_MS + 100);
    begin(&t);
    expect(&t, "a", NULL);
    expect_range(&t, NULL, NULL, false, "b=1");
    run(&t, sum(&t, "a", "5"));
    expect_range(&t, NULL, NULL, false, "a=5 b=1");
    end(&t);
    clock_set_fake_ms(START_MS + 1000);
    expect(&t, "a", "5"); /* and without the old expiry */
    bench_close(&t);
}

/* ---- commits --------------------------------------------------------------------------------- */

static void a_commit_gets_the_version_that_was_promised(void **state)
{
    struct bench t;
    bench_open(&t);
    uint64_t before = 0;
    for (int i = 0; i < 5; i++) {
        struct txn txn;
        struct entry entry;
        begin(&t);
        uint64_t promised = engine_version_next(t.g);
        struct op op = set(&t, "a", "1");
        assert_int_equal(evaluate(&t, &op, 1, &txn), OK);
        assert_int_equal(txn.version, promised);
        op = sum(&t, "n", "1");
        assert_int_equal(evaluate(&t, &op, 1, &txn), OK);
        assert_int_equal(txn.version, promised);
        assert_int_equal(engine_get(t.g, t.o, op.key, &entry, &t.rig.waiter, &t.e), OK);
        assert_int_equal(entry.version, promised);
        assert_int_equal(end(&t), promised);
        assert_int_equal(engine_get(t.g, NULL, op.key, &entry, &t.rig.waiter, &t.e), OK);
        assert_int_equal(entry.version, promised);
        assert_true(promised > before);
        before = promised;
    }
    bench_close(&t);
}

static void nothing_written_takes_no_version(void **state)
{
    struct bench t;
    bench_open(&t);
    struct backend *b = t.rig.b;
    run(&t, set(&t, "a", "1"));
    uint64_t newest = backend_version_newest(b);
    begin(&t);
    expect(&t, "a", "1");
    assert_false(run(&t, del(&t, "none")).is_met);
    struct op nx = set(&t, "a", "2");
    nx.condition = IF_ABSENT;
    run(&t, nx);
    assert_int_equal(engine_overlay_changes(t.o), 0);
    assert_int_equal(end(&t), 0);
    assert_int_equal(backend_version_newest(b), newest);
    bench_close(&t);
}

static void a_conflict_inside_changes_nothing_of_the_rest(void **state)
{
    struct bench t;
    struct txn txn;
    bench_open(&t);
    begin(&t);
    run(&t, set(&t, "a", "1"));
    unsigned changes = engine_overlay_changes(t.o);
    struct op ops[] = {{.kind = OP_CHECK, .key = key(&t, "a"), .expected = {.is_none = true}},
                       set(&t, "b", "1")};
    assert_int_equal(evaluate(&t, ops, 2, &txn), OK);
    assert_true(txn.is_conflict);
    assert_int_equal(txn.version, 0);
    assert_int_equal(engine_overlay_changes(t.o), changes);
    ops[0].expected = (struct expected){.version = engine_version_next(t.g)};
    assert_int_equal(evaluate(&t, ops, 2, &txn), OK);
    assert_false(txn.is_conflict);
    end(&t);
    expect(&t, "a", "1");
    expect(&t, "b", "1");
    bench_close(&t);
}

static void a_discard_leaves_no_trace(void **state)
{
    struct bench t;
    struct txn txn;
    bench_open(&t);
    struct backend *b = t.rig.b;
    run(&t, set(&t, "a", "\"text\""));
    rig_settle(&t.rig);
    uint64_t newest = backend_version_newest(b);
    uint64_t next = engine_version_next(t.g);
    begin(&t);
    run(&t, set_for(&t, "b", "1", 100));
    run(&t, del(&t, "a"));
    flush(&t, 1);
    struct idem_request q = {.user = slice_str("u"), .id = slice_str("id")};
    idem_keep(t.o, &q, slice_str("+OK\r\n"));
    run(&t, set(&t, "c", "\"text\""));
    struct op bad = sum(&t, "c", "1");
    assert_int_equal(evaluate(&t, &bad, 1, &txn), ERR_TYPE);
    engine_discard(t.o);
    t.o = NULL;
    expect(&t, "a", "\"text\"");
    expect(&t, "b", NULL);
    assert_int_equal(rows_in_space(&t, SPACE_DATA), 1);
    assert_int_equal(rows_in_space(&t, SPACE_EXPIRY), 0);
    assert_int_equal(rows_in_space(&t, SPACE_IDEM), 0);
    assert_int_equal(engine_idem_count(t.g), 0);
    assert_int_equal(backend_version_newest(b), newest);
    assert_int_equal(engine_version_next(t.g), next);
    run(&t, set(&t, "d", "1"));
    assert_int_equal(backend_version_newest(b), next);
    engine_discard(NULL);
    bench_close(&t);
}

static void what_was_committed_together_is_there_after_a_crash(void **state)
{
    struct bench t;
    bench_open(&t);
    run(&t, set(&t, "old", "1"));
    begin(&t);
    run(&t, set_for(&t, "a", "1", 5000));
    flush(&t, 0);
    run(&t, set_for(&t, "b", "2", 5000));
    run(&t, set(&t, "c", "3"));
    uint64_t version = end(&t);
    rig_settle(&t.rig);
    engine_free(t.g);
    rig_crash(&t.rig);
    bench_engine(&t);
    expect_range(&t, NULL, NULL, false, "b=2 c=3");
    assert_int_equal(rows_in_space(&t, SPACE_EXPIRY), 1);
    assert_true(engine_version_next(t.g) > version);
    clock_set_fake_ms(START_MS + 5000);
    expect_range(&t, NULL, NULL, false, "c=3");
    bench_close(&t);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void operations_are_counted_over_all_evaluations(void **state)
{
    struct bench t;
    struct txn txn;
    bench_open(&t);
    begin(&t);
    for (int i = 0; i < 50; i++) run(&t, set(&t, "a", "1"));
    struct op op = set(&t, "a", "1");
    assert_int_equal(evaluate(&t, &op, 1, &txn), ERR_LIMIT);
    assert_non_null(strstr(t.e.text, "max-transaction-ops"));
    engine_discard(t.o);
    t.o = NULL;
    expect(&t, "a", NULL);
    bench_close(&t);
}

static void bytes_are_counted_over_all_evaluations(void **state)
{
    struct bench t;
    struct txn txn;
    char text[900];
    char name[16];
    enum err r = OK;
    bench_open(&t);
    memset(text, 'x', sizeof text);
    text[0] = text[897] = '"';
    text[898] = '\0';
    begin(&t);
    int i = 0;
    for (; i < 20 && r == OK; i++) {
        snprintf(name, sizeof name, "k%d", i);
        struct op op = set(&t, name, text);
        r = evaluate(&t, &op, 1, &txn);
    }
    assert_int_equal(r, ERR_LIMIT);
    assert_int_equal(i, 12); /* eleven fit into 10000 bytes */
    assert_non_null(strstr(t.e.text, "max-transaction-size"));
    engine_discard(t.o);
    t.o = NULL;
    assert_int_equal(rows_in_space(&t, SPACE_DATA), 0);
    bench_close(&t);
}

static void rows_that_scans_pass_are_limited_over_all_of_them(void **state)
{
    struct bench t;
    uint8_t low[KEY_HEAD_BYTES] = {KEY_HEAD(0, SPACE_DATA)};
    uint8_t high[KEY_HEAD_BYTES] = {KEY_HEAD(0, SPACE_DATA + 1)};
    struct scan_range range = {.start = slice_of(low, sizeof low),
                               .end = slice_of(high, sizeof high),
                               .is_undivided = true};
    bench_open(&t);
    for (int i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", i);
        run(&t, set(&t, name, "1"));
    }
    begin(&t);
    size_t passed = 0; /* each scan has one row more: its end */
    enum err r = OK;
    while (r == OK && passed <= OVERLAY_ROWS_MAX) {
        struct engine_scan *scan = NULL;
        struct slice k = {.len = 1};
        assert_int_equal(engine_scan_open(t.g, t.o, &range, &scan, &t.e), OK);
        while (r == OK && k.len > 0) {
            struct entry entry;
            r = engine_scan_next(scan, &k, &entry, &t.rig.waiter, &t.e);
            passed += r == OK;
        }
        engine_scan_close(scan);
    }
    assert_int_equal(r, ERR_LIMIT);
    assert_int_equal(passed, OVERLAY_ROWS_MAX);
    engine_discard(t.o);
    bench_close(&t);
}

/* ---- OP_EDIT, guards ------------------------------------------------------------------------- */

static enum err edit_seven(const struct op *op, const struct slice *stored, struct buf *out,
                           struct error *e)
{
    if (op->delta < 0) return error_set(e, ERR_OVERFLOW, "negative");
    buf_append_byte(out, stored == NULL ? 7 : (uint8_t)(stored->data[0] + op->delta));
    return OK;
}

static enum err guard_present(const struct entry *old, struct error *e)
{
    return old->exists ? OK : error_set(e, ERR_TYPE, "absent");
}

static void an_edit_sees_the_stored_value_and_keeps_the_expiry(void **state)
{
    struct bench t;
    struct txn txn;
    bench_open(&t);
    struct op edit = {.kind = OP_EDIT, .key = key(&t, "a"), .edit = edit_seven, .delta = 2};
    run(&t, set_for(&t, "a", "1", 100));
    begin(&t);
    struct op done = run(&t, edit);
    assert_int_equal(done.result.data[0], 3);
    done = run(&t, edit);
    assert_int_equal(done.result.data[0], 5);
    edit.key = key(&t, "b");
    assert_int_equal(run(&t, edit).result.data[0], 7);
    edit.delta = -1;
    assert_int_equal(evaluate(&t, &edit, 1, &txn), ERR_OVERFLOW);
    end(&t);
    expect(&t, "a", "5");
    clock_set_fake_ms(START_MS + 100);
    expect(&t, "a", NULL);
    expect(&t, "b", "7");
    bench_close(&t);
}

static void a_guard_refuses_before_anything_is_written(void **state)
{
    struct bench t;
    struct txn txn;
    bench_open(&t);
    struct op guarded = set(&t, "a", "1");
    guarded.guard = guard_present;
    struct op ops[] = {set(&t, "b", "1"), guarded};
    assert_int_equal(evaluate(&t, ops, 2, &txn), ERR_TYPE);
    assert_int_equal(txn.failed_op, 1);
    expect(&t, "b", NULL);
    struct op gone = del(&t, "a");
    gone.guard = guard_present;
    assert_int_equal(evaluate(&t, &gone, 1, &txn), ERR_TYPE);
    run(&t, set(&t, "a", "5"));
    begin(&t);
    struct op done = run(&t, guarded);
    assert_true(done.old.exists);
    assert_int_equal(done.old.value.data[0], 5);
    done = run(&t, gone);
    assert_int_equal(done.old.value.data[0], 1); /* that of this overlay */
    assert_int_equal(evaluate(&t, &gone, 1, &txn), ERR_TYPE);
    end(&t);
    expect(&t, "a", NULL);
    bench_close(&t);
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* Every first look at the store is refused; an attempt that waited begins again from the start. */
static void an_attempt_that_had_to_wait_changes_nothing(void **state)
{
    struct bench t;
    char name[16];
    unsigned attempts = 0;
    bench_open(&t);
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "k%d", i);
        run(&t, set(&t, name, "1"));
    }
    rig_apply(&t.rig);
    engine_free(t.g);
    rig_close(&t.rig);
    rig_open(&t.rig);
    bench_engine(&t);
    struct backend *b = t.rig.b;
    uint64_t newest = backend_version_newest(b);
    fault_arm("vfs.nowait", 1, true);
    for (;;) {
        struct txn txn;
        struct op ops[10];
        attempts++;
        begin(&t);
        for (int i = 0; i < 10; i++) {
            snprintf(name, sizeof name, "k%d", i);
            ops[i] = sum(&t, name, "1");
        }
        enum err r = evaluate(&t, ops, 5, &txn);
        if (r == OK) r = evaluate(&t, ops + 5, 5, &txn);
        if (r == OK) break;
        assert_int_equal(r, ERR_WAIT);
        assert_int_equal(backend_version_newest(b), newest);
        engine_discard(t.o);
        t.o = NULL;
        assert_true(attempts < 100);
        t.rig.is_ready = false;
        for (int i = 0; i < STEPS_MAX && !t.rig.is_ready; i++) rig_step(&t.rig);
        assert_true(t.rig.is_ready);
    }
    fault_arm("", 0, false);
    assert_true(attempts > 1);
    assert_true(end(&t) > newest);
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "k%d", i);
        expect(&t, name, "2");
    }
    bench_close(&t);
}

/* ---- savepoints ---- */

static void an_undo_takes_back_what_was_written_since_the_mark(void **state)
{
    (void)state;
    struct bench t;
    bench_open(&t);
    begin(&t);
    run(&t, set(&t, "a", "1"));
    run(&t, set(&t, "gone", "1"));
    struct savepoint *mark = engine_mark(t.o);
    run(&t, set(&t, "a", "2"));
    run(&t, set(&t, "a", "3"));
    run(&t, del(&t, "gone"));
    run(&t, set(&t, "b", "1"));
    expect(&t, "a", "3");
    expect_range(&t, NULL, NULL, false, "a=3 b=1");
    assert_true(engine_undo(t.o, mark));
    expect(&t, "a", "1");
    expect(&t, "gone", "1");
    expect(&t, "b", NULL);
    expect_range(&t, NULL, NULL, false, "a=1 gone=1");
    mark = engine_mark(t.o);
    run(&t, set(&t, "b", "2"));
    assert_true(engine_undo(t.o, mark));
    expect(&t, "b", NULL);
    run(&t, set(&t, "c", "1"));
    end(&t);
    expect_range(&t, NULL, NULL, false, "a=1 c=1 gone=1");
    bench_close(&t);
}

/* Below, at and above the count from which on keys are found by a table. */
static void an_undo_is_whole_with_any_number_of_keys(void **state)
{
    (void)state;
    for (int before = 0; before < 20; before++) {
        for (int since = 0; since < 12; since++) {
            struct bench t;
            char name[16];
            bench_open(&t);
            begin(&t);
            for (int i = 0; i < before; i++) {
                snprintf(name, sizeof name, "a%02d", i);
                run(&t, set(&t, name, "1"));
            }
            struct savepoint *mark = engine_mark(t.o);
            for (int i = 0; i < since; i++) {
                snprintf(name, sizeof name, "b%02d", i);
                run(&t, set(&t, name, "2"));
                snprintf(name, sizeof name, "a%02d", i);
                run(&t, set(&t, name, "2"));
            }
            assert_true(engine_undo(t.o, mark));
            assert_int_equal(t.o->count, before);
            for (int i = 0; i < 20; i++) {
                snprintf(name, sizeof name, "a%02d", i);
                expect(&t, name, i < before ? "1" : NULL);
                snprintf(name, sizeof name, "b%02d", i);
                expect(&t, name, NULL);
            }
            run(&t, set(&t, "a00", "3"));
            run(&t, set(&t, "b00", "3"));
            expect(&t, "a00", "3");
            expect(&t, "b00", "3");
            engine_discard(t.o);
            t.o = NULL;
            bench_close(&t);
        }
    }
}

static void a_flush_cannot_be_undone_alone(void **state)
{
    (void)state;
    struct bench t;
    bench_open(&t);
    run(&t, set(&t, "a", "1"));
    begin(&t);
    struct savepoint *mark = engine_mark(t.o);
    flush(&t, 0);
    assert_false(engine_undo(t.o, mark));
    engine_discard(t.o);
    t.o = NULL;
    expect(&t, "a", "1");
    begin(&t);
    flush(&t, 0);
    mark = engine_mark(t.o); /* what came before the mark does not matter */
    run(&t, set(&t, "b", "1"));
    assert_true(engine_undo(t.o, mark));
    end(&t);
    expect_range(&t, NULL, NULL, false, "");
    bench_close(&t);
}

/* A script in EXEC: each of its commands has a savepoint, and all of it has one. */
static void an_undo_takes_back_what_later_savepoints_kept(void **state)
{
    (void)state;
    for (int before = 0; before < 20; before += 4) {
        struct bench t;
        char name[16];
        bench_open(&t);
        begin(&t);
        for (int i = 0; i < before; i++) {
            snprintf(name, sizeof name, "k%02d", i);
            run(&t, set(&t, name, "1"));
        }
        run(&t, set(&t, "a", "1"));
        struct savepoint *all = engine_mark(t.o);
        for (int i = 0; i < 12; i++) {
            struct savepoint *one = engine_mark(t.o);
            snprintf(name, sizeof name, "k%02d", i);
            run(&t, set(&t, name, "2"));
            run(&t, set(&t, "a", "2"));
            if (i % 3 == 0) {
                assert_true(engine_undo(t.o, one));
                expect(&t, "a", i == 0 ? "1" : "2");
                expect(&t, name, i < before ? "1" : NULL);
            } else {
                engine_release(t.o, one);
            }
        }
        if (before == 8) (void)engine_mark(t.o); /* one that was not ended */
        assert_true(engine_undo(t.o, all));
        expect(&t, "a", "1");
        for (int i = 0; i < 20; i++) {
            snprintf(name, sizeof name, "k%02d", i);
            expect(&t, name, i < before ? "1" : NULL);
        }
        run(&t, set(&t, "a", "3"));
        end(&t);
        expect(&t, "a", "3");
        bench_close(&t);
    }
}

static void a_flush_under_a_later_savepoint_cannot_be_undone(void **state)
{
    (void)state;
    struct bench t;
    bench_open(&t);
    run(&t, set(&t, "a", "1"));
    begin(&t);
    struct savepoint *all = engine_mark(t.o);
    struct savepoint *one = engine_mark(t.o);
    flush(&t, 0);
    engine_release(t.o, one);
    one = engine_mark(t.o);
    run(&t, set(&t, "b", "1"));
    assert_true(engine_undo(t.o, one));
    assert_false(engine_undo(t.o, all));
    engine_discard(t.o);
    t.o = NULL;
    expect(&t, "a", "1");
    bench_close(&t);
}

/* What is written need not live as long as the overlay then. */
static void an_overlay_that_keeps_copies_what_is_written(void **state)
{
    (void)state;
    struct bench t;
    char text[] = {(char)0xc4, 1, 'x'};
    bench_open(&t);
    begin(&t);
    engine_keep(t.o, UINT64_C(1) << 63);
    struct op op = {.kind = OP_SET, .key = key(&t, "a"), .value = slice_of(text, sizeof text)};
    run(&t, op);
    text[2] = 'y';
    struct entry entry;
    assert_int_equal(engine_get(t.g, t.o, op.key, &entry, &t.rig.waiter, &t.e), OK);
    assert_int_equal(entry.value.data[2], 'x');
    assert_true(entry.version == UINT64_C(1) << 63);
    engine_discard(t.o);
    t.o = NULL;
    bench_close(&t);
}

/* ---- gaps ------------------------------------------------------------------------------------ */

#define MANY 200

static void name_of(unsigned i, char out[8])
{
    snprintf(out, 8, "k%03u", i);
}

/* The first of k000, k001, .. from `from` on, or the last of all; -1 = none. */
static int found_first(struct bench *t, unsigned from, bool is_reverse)
{
    char name[8];
    uint8_t high[KEY_HEAD_BYTES] = {KEY_HEAD(0, SPACE_DATA + 1)};
    name_of(from, name);
    struct scan_range range = {.start = key(t, name),
                               .end = slice_of(high, sizeof high),
                               .is_reverse = is_reverse,
                               .is_undivided = true};
    struct engine_scan *scan = NULL;
    struct entry entry;
    struct slice k;
    int found = -1;
    assert_int_equal(engine_scan_open(t->g, t->o, &range, &scan, &t->e), OK);
    assert_int_equal(engine_scan_next(scan, &k, &entry, &t->rig.waiter, &t->e), OK);
    if (k.len > 0) found = atoi((const char *)k.data + KEY_HEAD_BYTES + 2);
    engine_scan_close(scan);
    return found;
}

static int wanted_first(const bool there[MANY], unsigned from, bool is_reverse)
{
    int found = -1;
    for (unsigned i = from; i < MANY && (is_reverse || found < 0); i++) {
        if (there[i]) found = (int)i;
    }
    return found;
}

static void put(struct bench *t, bool there[MANY], unsigned i, bool exists)
{
    char name[8];
    name_of(i, name);
    run(t, exists ? set(t, name, "1") : del(t, name));
    there[i] = exists;
}

/* Some go, from one end or the other; sometimes that is undone; now and then one comes back. */
static void change(struct bench *t, bool there[MANY], struct rng *g)
{
    bool before[MANY];
    memcpy(before, there, sizeof before);
    bool is_undone = rng_below(g, 8) == 0;
    bool is_reverse = rng_below(g, 2) == 0;
    struct savepoint *mark = is_undone ? engine_mark(t->o) : NULL;
    for (uint64_t n = 1 + rng_below(g, 60); n > 0; n--) {
        int at = wanted_first(there, 0, is_reverse);
        if (at >= 0) put(t, there, (unsigned)at, false);
    }
    assert_int_equal(found_first(t, 0, is_reverse), wanted_first(there, 0, is_reverse));
    if (rng_below(g, 3) > 0) put(t, there, (unsigned)rng_below(g, MANY), true);
    if (is_undone) {
        assert_true(engine_undo(t->o, mark));
        memcpy(there, before, sizeof before);
    }
}

static void scans_find_the_same_behind_gaps(void **state)
{
    (void)state;
    bool has_gaps = false;
    for (unsigned seed = 1; seed <= 60; seed++) {
        struct bench t;
        bool there[MANY];
        struct rng g;
        bench_open(&t);
        rng_init(&g, seed);
        for (unsigned i = 0; i < MANY; i++) put(&t, there, i, true);
        begin(&t);
        engine_allow_ops(t.o, 100000);
        for (int i = 0; i < 12; i++) {
            change(&t, there, &g);
            unsigned from = (unsigned)rng_below(&g, MANY);
            assert_int_equal(found_first(&t, 0, false), wanted_first(there, 0, false));
            assert_int_equal(found_first(&t, 0, true), wanted_first(there, 0, true));
            assert_int_equal(found_first(&t, from, false), wanted_first(there, from, false));
            has_gaps = has_gaps || t.o->gaps.count > 0;
        }
        engine_discard(t.o);
        t.o = NULL;
        bench_close(&t);
    }
    assert_true(has_gaps);
}

/* Each look at the first passes only what has gone since the last. */
static void what_has_gone_is_passed_once(void **state)
{
    (void)state;
    struct bench t;
    bool there[MANY];
    bench_open(&t);
    for (unsigned i = 0; i < MANY; i++) put(&t, there, i, true);
    for (int is_reverse = 0; is_reverse < 2; is_reverse++) {
        begin(&t);
        engine_allow_ops(t.o, 100000);
        for (unsigned i = 0; i < MANY; i++) {
            int first = found_first(&t, 0, is_reverse != 0);
            assert_int_equal(first, is_reverse != 0 ? MANY - 1 - i : i);
            put(&t, there, (unsigned)first, false);
        }
        /* 32 are passed up to 32 times, and then never again. */
        assert_true(engine_steps(t.o) < 40ull * MANY * 20);
        assert_true(engine_steps(t.o) >= 40ull * MANY);
        engine_discard(t.o);
        t.o = NULL;
    }
    bench_close(&t);
}

static void steps_are_taken_until_there_are_none(void **state)
{
    (void)state;
    struct bench t;
    bench_open(&t);
    begin(&t);
    assert_int_equal(engine_take_steps(t.o, ENGINE_STEPS_MAX - 1, &t.e), OK);
    struct savepoint *mark = engine_mark(t.o);
    assert_int_equal(engine_take_steps(t.o, ENGINE_STEPS_MAX, &t.e), OK); /* the last, whatever */
    assert_int_equal(engine_take_steps(t.o, 0, &t.e), ERR_LIMIT);
    assert_true(engine_undo(t.o, mark)); /* what was done is done */
    assert_int_equal(engine_take_steps(t.o, 1, &t.e), ERR_LIMIT);
    assert_int_equal(engine_take_steps(NULL, UINT64_MAX, &t.e), OK);
    engine_allow_steps(t.o);
    assert_int_equal(engine_take_steps(t.o, 1, &t.e), OK);
    engine_discard(t.o);
    t.o = NULL;
    assert_true(engine_take_large(t.g));
    bench_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_see_earlier_evaluations_and_nobody_else_does),
        cmocka_unit_test(more_keys_than_the_linear_search_takes_are_all_found),
        cmocka_unit_test(scans_merge_what_was_written),
        cmocka_unit_test(a_filter_is_asked_about_what_was_written),
        cmocka_unit_test(a_flush_hides_what_was_before_and_not_what_comes_after),
        cmocka_unit_test(a_flush_is_of_its_database_alone),
        cmocka_unit_test(a_flush_takes_the_ranges_forgotten_in_its_database_alone),
        cmocka_unit_test(an_expired_entry_is_absent_over_an_overlay_too),
        cmocka_unit_test(a_commit_gets_the_version_that_was_promised),
        cmocka_unit_test(nothing_written_takes_no_version),
        cmocka_unit_test(a_conflict_inside_changes_nothing_of_the_rest),
        cmocka_unit_test(a_discard_leaves_no_trace),
        cmocka_unit_test(what_was_committed_together_is_there_after_a_crash),
        cmocka_unit_test(operations_are_counted_over_all_evaluations),
        cmocka_unit_test(bytes_are_counted_over_all_evaluations),
        cmocka_unit_test(rows_that_scans_pass_are_limited_over_all_of_them),
        cmocka_unit_test(an_edit_sees_the_stored_value_and_keeps_the_expiry),
        cmocka_unit_test(a_guard_refuses_before_anything_is_written),
        cmocka_unit_test(an_attempt_that_had_to_wait_changes_nothing),
        cmocka_unit_test(an_undo_takes_back_what_was_written_since_the_mark),
        cmocka_unit_test(an_undo_is_whole_with_any_number_of_keys),
        cmocka_unit_test(a_flush_cannot_be_undone_alone),
        cmocka_unit_test(an_undo_takes_back_what_later_savepoints_kept),
        cmocka_unit_test(a_flush_under_a_later_savepoint_cannot_be_undone),
        cmocka_unit_test(an_overlay_that_keeps_copies_what_is_written),
        cmocka_unit_test(scans_find_the_same_behind_gaps),
        cmocka_unit_test(what_has_gone_is_passed_once),
        cmocka_unit_test(steps_are_taken_until_there_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
