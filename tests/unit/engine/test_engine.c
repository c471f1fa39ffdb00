/* Tests of the engine over an inline local backend with a fake clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "codec/key.h"
#include "codec/value.h"
#include "engine/engine.h"
#include "unit/backend/local_help.h"
#include "unit/db/db_help.h"

#define START_MS 1700000000000

struct bench {
    struct rig rig;
    struct engine *g;
    struct arena arena;
    int64_t now_ms;
    struct error e;
};

static void bench_engine(struct bench *t)
{
    struct engine_options options = small_engine(t->rig.b);
    options.ops_max = 20;
    t->g = engine_new(&options);
}

static void bench_open(struct bench *t)
{
    *t = (struct bench){.now_ms = START_MS};
    clock_set_fake_ms(t->now_ms);
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

static void at(struct bench *t, int64_t ms)
{
    t->now_ms = START_MS + ms;
    clock_set_fake_ms(t->now_ms);
}

static struct slice key(struct bench *t, const char *name)
{
    struct buf b = {0};
    engine_key_begin(&b, 0);
    key_add_string(&b, slice_str(name));
    struct slice kept = arena_copy(&t->arena, buf_slice(&b));
    buf_fini(&b);
    return kept;
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

static enum err commit(struct bench *t, struct op *ops, size_t count, struct txn *out)
{
    struct txn txn = {.ops = ops, .count = count, .arena = &t->arena, .commits_always = true};
    enum err r = engine_commit(t->g, &txn, &t->rig.waiter, &t->e);
    *out = txn;
    return r;
}

static uint64_t put(struct bench *t, struct op op)
{
    struct txn txn;
    assert_int_equal(commit(t, &op, 1, &txn), OK);
    return txn.version;
}

/* The value as JSON, or NULL. */
static void expect(struct bench *t, const char *name, const char *wanted)
{
    struct entry entry;
    struct buf out = {0};
    assert_int_equal(engine_get(t->g, NULL, key(t, name), &entry, &t->rig.waiter, &t->e), OK);
    assert_int_equal(entry.exists, wanted != NULL);
    if (wanted == NULL) return;
    value_to_json(entry.value, &out);
    buf_append_byte(&out, '\0');
    assert_string_equal((char *)out.data, wanted);
    buf_fini(&out);
}

static size_t rows_in_space(struct bench *t, uint8_t space)
{
    uint8_t start[KEY_HEAD_BYTES] = {KEY_HEAD(0, space)};
    uint8_t end[KEY_HEAD_BYTES] = {KEY_HEAD(0, (uint8_t)(space + 1))};
    struct scan_range range = {.start = slice_of(start, sizeof start),
                               .end = slice_of(end, sizeof end)};
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

static void later_operations_see_earlier_ones(void **state)
{
    struct bench t;
    struct txn txn;
    bench_open(&t);
    struct op sum = {.kind = OP_ARITH, .key = key(&t, "a")};
    sum.arith = (struct arith){.op = ARITH_SUM, .operand = json(&t, "5")};
    struct op nx = set(&t, "a", "9");
    nx.condition = IF_ABSENT;
    struct op ops[] = {set(&t, "a", "1"), sum, sum, nx};
    assert_int_equal(commit(&t, ops, 4, &txn), OK);
    assert_false(ops[3].is_met);
    expect(&t, "a", "11");
    bench_close(&t);
}

static void checks_see_the_state_before_the_transaction(void **state)
{
    struct bench t;
    struct txn txn;
    bench_open(&t);
    struct op check = {.kind = OP_CHECK, .key = key(&t, "a"), .expected = {.is_none = true}};
    struct op ops[] = {set(&t, "a", "1"), check};
    assert_int_equal(commit(&t, ops, 2, &txn), OK);
    assert_false(txn.is_conflict);
    uint64_t version = txn.version;
    assert_int_equal(commit(&t, ops, 2, &txn), OK);
    assert_true(txn.is_conflict);
    assert_int_equal(txn.version, 0);
    assert_true(ops[1].has_current);
    assert_int_equal(ops[1].current, version);
    bench_close(&t);
}

static void an_error_in_the_last_operation_leaves_no_trace(void **state)
{
    struct bench t;
    struct txn txn;
    bench_open(&t);
    uint64_t before = put(&t, set(&t, "text", "\"x\""));
    struct op sum = {.kind = OP_ARITH, .key = key(&t, "text")};
    sum.arith = (struct arith){.op = ARITH_SUM, .operand = json(&t, "5")};
    struct op ops[] = {set(&t, "a", "1"), set_for(&t, "b", "1", 100), sum};
    assert_int_equal(commit(&t, ops, 3, &txn), ERR_TYPE);
    assert_int_equal(txn.failed_op, 2);
    expect(&t, "a", NULL);
    expect(&t, "b", NULL);
    assert_int_equal(rows_in_space(&t, SPACE_EXPIRY), 0);
    assert_int_equal(put(&t, set(&t, "a", "2")), before + 1);
    bench_close(&t);
}

static void a_blind_write_reads_nothing(void **state)
{
    struct bench t;
    struct backend_stats before;
    struct backend_stats after;
    bench_open(&t);
    backend_stats(t.rig.b, &before);
    for (int i = 0; i < 10; i++) {
        struct op ops[] = {set_for(&t, "a", "1", 100), {.kind = OP_DELETE, .key = key(&t, "b")}};
        struct txn txn;
        assert_int_equal(commit(&t, ops, 2, &txn), OK);
    }
    backend_stats(t.rig.b, &after);
    assert_int_equal(before.store_reads, after.store_reads);
    bench_close(&t);
}

static void an_entry_is_gone_at_its_millisecond_and_not_before(void **state)
{
    struct bench t;
    bench_open(&t);
    put(&t, set_for(&t, "a", "1", 100));
    at(&t, 99);
    expect(&t, "a", "1");
    at(&t, 100);
    expect(&t, "a", NULL);
    struct op nx = set(&t, "a", "2");
    nx.condition = IF_ABSENT;
    put(&t, nx);
    expect(&t, "a", "2");
    bench_close(&t);
}

static void a_clock_that_steps_back_revives_nothing(void **state)
{
    struct bench t;
    bench_open(&t);
    put(&t, set_for(&t, "a", "1", 100));
    at(&t, 200);
    put(&t, set(&t, "b", "1"));
    at(&t, 50);
    expect(&t, "a", NULL);
    engine_free(t.g);
    rig_settle(&t.rig);
    rig_crash(&t.rig);
    bench_engine(&t);
    expect(&t, "a", NULL);
    expect(&t, "b", "1");
    bench_close(&t);
}

static void the_sweeper_removes_what_expired_and_only_that(void **state)
{
    struct bench t;
    char name[16];
    bench_open(&t);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "k%d", i);
        put(&t, set_for(&t, name, "1", 100 + i));
    }
    put(&t, set(&t, "k3", "\"stays\""));
    put(&t, set_for(&t, "k4", "\"later\"", 5000));
    at(&t, 1000);
    for (int i = 0; i < 20; i++) {
        engine_tick(t.g);
        rig_step(&t.rig);
    }
    assert_int_equal(engine_expired_count(t.g), 18);
    assert_int_equal(rows_in_space(&t, SPACE_DATA), 2);
    assert_int_equal(rows_in_space(&t, SPACE_EXPIRY), 1);
    expect(&t, "k3", "\"stays\"");
    expect(&t, "k4", "\"later\"");
    bench_close(&t);
}

static void the_sweeper_finds_its_work_after_a_start(void **state)
{
    struct bench t;
    bench_open(&t);
    put(&t, set_for(&t, "a", "1", 100));
    rig_settle(&t.rig);
    engine_free(t.g);
    rig_crash(&t.rig);
    bench_engine(&t);
    at(&t, 500);
    for (int i = 0; i < 5; i++) {
        engine_tick(t.g);
        rig_step(&t.rig);
    }
    assert_int_equal(engine_expired_count(t.g), 1);
    assert_int_equal(rows_in_space(&t, SPACE_EXPIRY), 0);
    bench_close(&t);
}

/* A look goes on where the last one ended, also within a millisecond; what is written before that place
 * meanwhile is found too. */
static void many_that_expire_at_once_are_removed_in_batches(void **state)
{
    enum { ENTRIES = 95, BATCH = 10 };
    struct bench t;
    char name[16];
    bench_open(&t);
    struct engine_options limits = *engine_limits(t.g);
    limits.expire_batch = BATCH;
    engine_set_limits(t.g, &limits);
    for (int i = 0; i < ENTRIES; i++) {
        snprintf(name, sizeof name, "k%02d", i);
        put(&t, set_for(&t, name, "1", 100));
    }
    put(&t, set_for(&t, "z", "1", 5000));
    at(&t, 1000);
    engine_tick(t.g);
    assert_int_equal(engine_expired_count(t.g), BATCH);
    assert_true(engine_idle(t.g)); /* nothing else is asked: the next batch */
    assert_int_equal(engine_expired_count(t.g), 2 * BATCH);
    struct op past = set(&t, "a", "1");
    past.ttl = TTL_AT;
    past.ttl_ms = START_MS + 100;
    put(&t, past);
    int batches = 2;
    while (engine_idle(t.g)) batches++;
    assert_int_equal(batches, (ENTRIES + 1 + BATCH - 1) / BATCH);
    assert_int_equal(engine_expired_count(t.g), ENTRIES + 1);
    assert_int_equal(rows_in_space(&t, SPACE_EXPIRY), 1);
    assert_int_equal(rows_in_space(&t, SPACE_DATA), 1);
    at(&t, 6000);
    engine_tick(t.g);
    assert_int_equal(rows_in_space(&t, SPACE_DATA), 0);
    assert_false(engine_idle(t.g));
    bench_close(&t);
}

static void an_expiry_before_what_was_swept_is_found_too(void **state)
{
    struct bench t;
    bench_open(&t);
    put(&t, set_for(&t, "a", "1", 100));
    at(&t, 1000);
    engine_tick(t.g);
    struct op past = set(&t, "b", "1");
    past.ttl = TTL_AT;
    past.ttl_ms = START_MS - 5000;
    put(&t, past);
    expect(&t, "b", NULL);
    for (int i = 0; i < 5; i++) engine_tick(t.g);
    assert_int_equal(rows_in_space(&t, SPACE_EXPIRY), 0);
    assert_int_equal(rows_in_space(&t, SPACE_DATA), 0);
    bench_close(&t);
}

/* A layer that mirrors every data write into a space of its own. */
struct mirror {
    unsigned commits;
    uint64_t last;
};

static void mirror_before(void *arg, struct write_set *ws)
{
    size_t count = ws->count;
    (void)arg;
    for (size_t i = 0; i < count; i++) {
        if (key_space(ws->items[i].key) != SPACE_DATA) continue;
        struct slice copy = arena_copy(ws->arena, ws->items[i].key);
        ((uint8_t *)(uintptr_t)copy.data)[2] = 9;
        write_set_add(ws, ws->items[i].kind, copy, ws->items[i].value, 0);
    }
}

static void mirror_after(void *arg, uint64_t version, const struct write_set *ws)
{
    struct mirror *m = arg;
    assert_true(version > m->last);
    assert_true(ws->count > 0);
    m->last = version;
    m->commits++;
}

static void what_has_ended_leaves_its_expiry_to_nobody(void **state)
{
    struct bench t;
    struct txn txn;
    bench_open(&t);
    put(&t, set_for(&t, "sum", "5", 100));
    put(&t, set_for(&t, "kept", "5", 100));
    at(&t, 200); /* nothing has swept them */
    struct op ops[] = {{.kind = OP_ARITH, .key = key(&t, "sum")}, set(&t, "kept", "7")};
    ops[0].arith = (struct arith){.op = ARITH_SUM, .operand = json(&t, "1")};
    ops[1].ttl = TTL_KEEP;
    assert_int_equal(commit(&t, ops, 2, &txn), OK);
    expect(&t, "sum", "1");
    expect(&t, "kept", "7");
    at(&t, 1000000);
    expect(&t, "sum", "1");
    expect(&t, "kept", "7");
    bench_close(&t);
}

/* A key without an expiry lives longest. */
static void an_earlier_time_is_earlier_than_none(void **state)
{
    struct bench t;
    struct txn txn;
    bench_open(&t);
    put(&t, set(&t, "a", "5"));
    struct op op = {.kind = OP_EXPIRE, .key = key(&t, "a"), .condition = IF_EARLIER};
    op.ttl = TTL_AFTER;
    op.ttl_ms = 100;
    struct op with_xx = op;
    with_xx.condition = IF_EXPIRY_EARLIER;
    assert_int_equal(commit(&t, &with_xx, 1, &txn), OK);
    assert_false(with_xx.is_met);
    assert_int_equal(commit(&t, &op, 1, &txn), OK);
    assert_true(op.is_met);
    assert_int_equal(commit(&t, &op, 1, &txn), OK);
    assert_false(op.is_met); /* the same time is not earlier */
    at(&t, 100);
    expect(&t, "a", NULL);
    bench_close(&t);
}

static bool is_never_idle(const void *arg, const struct view *v)
{
    return false;
}

static enum err refuse_more_than_one(void *arg, struct view *v, struct data_change *changes,
                                     size_t count, struct error *e)
{
    return count <= 1 ? OK : error_set(e, ERR_LIMIT, "%zu changes", count);
}

static void a_sweep_that_is_too_much_is_tried_with_less(void **state)
{
    static const struct layer picky = {.derive = refuse_more_than_one, .is_idle = is_never_idle};
    struct bench t;
    bench_open(&t);
    engine_add_layer(t.g, &picky);
    for (int i = 0; i < 6; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", i);
        put(&t, set_for(&t, name, "1", 100));
    }
    at(&t, 100);
    for (int i = 0; i < 30; i++) engine_tick(t.g);
    assert_int_equal(rows_in_space(&t, SPACE_EXPIRY), 0);
    assert_int_equal(rows_in_space(&t, SPACE_DATA), 0);
    assert_int_equal(engine_expired_count(t.g), 6); /* and none of those that were tried */
    bench_close(&t);
}

static void a_layer_adds_to_every_transaction_and_is_told_in_order(void **state)
{
    struct bench t;
    struct mirror m = {0};
    struct layer layer = {.before_commit = mirror_before,
                          .kinds = LAYER_SPACE(SPACE_DATA),
                          .on_commit = mirror_after,
                          .arg = &m};
    bench_open(&t);
    engine_add_layer(t.g, &layer);
    put(&t, set(&t, "a", "1"));
    put(&t, set_for(&t, "b", "1", 100));
    assert_int_equal(rows_in_space(&t, 9), 2);
    at(&t, 200);
    engine_tick(t.g); /* the sweeper's transactions are like any other */
    assert_int_equal(rows_in_space(&t, 9), 1);
    assert_int_equal(m.commits, 3);
    bench_close(&t);
}

static void what_is_too_large_is_refused_by_name(void **state)
{
    struct bench t;
    struct txn txn;
    struct op many[21];
    char text[1200];
    bench_open(&t);
    memset(text, 'x', sizeof text);
    text[0] = '"';
    text[sizeof text - 2] = '"';
    text[sizeof text - 1] = '\0';
    struct op large = set(&t, "a", text);
    assert_int_equal(commit(&t, &large, 1, &txn), ERR_LIMIT);
    assert_non_null(strstr(t.e.text, "max-value-size"));
    for (int i = 0; i < 21; i++) many[i] = set(&t, "a", "1");
    assert_int_equal(commit(&t, many, 21, &txn), ERR_LIMIT);
    assert_non_null(strstr(t.e.text, "max-transaction-ops"));
    text[900] = '"';
    text[901] = '\0';
    for (int i = 0; i < 12; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", i);
        many[i] = set(&t, name, text);
    }
    assert_int_equal(commit(&t, many, 12, &txn), ERR_LIMIT);
    assert_non_null(strstr(t.e.text, "max-transaction-size"));
    assert_int_equal(rows_in_space(&t, SPACE_DATA), 0);
    bench_close(&t);
}

static void a_transaction_of_many_keys_is_as_one_of_few(void **state)
{
    struct bench t;
    struct txn txn;
    struct op ops[20];
    bench_open(&t);
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", i % 12);
        ops[i] = (struct op){.kind = OP_ARITH, .key = key(&t, name)};
        ops[i].arith = (struct arith){.op = ARITH_SUM, .operand = json(&t, "1")};
    }
    assert_int_equal(commit(&t, ops, 20, &txn), OK);
    for (int i = 0; i < 12; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", i);
        expect(&t, name, i < 8 ? "2" : "1");
    }
    bench_close(&t);
}

static void stamps_are_twenty_digits_and_read_back(void **state)
{
    char text[STAMP_CHARS + 1] = "";
    struct expected x;
    struct error e;
    stamp_format(0x0123456789abcdef, text);
    assert_string_equal(text, "0123456789abcdef0000");
    assert_int_equal(stamp_parse(slice_str("0123456789ABCDEF0000"), &x, &e), OK);
    assert_true(x.version == 0x0123456789abcdef && !x.is_none && !x.is_foreign);
    assert_int_equal(stamp_parse(slice_str("0123456789abcdef0001"), &x, &e), OK);
    assert_true(x.is_foreign);
    assert_int_equal(stamp_parse(slice_str("none"), &x, &e), OK);
    assert_true(x.is_none);
    assert_int_equal(stamp_parse(slice_str(""), &x, &e), OK);
    assert_true(x.is_none);
    assert_int_equal(stamp_parse(slice_str("0123456789abcdef000"), &x, &e), ERR_SYNTAX);
    assert_int_equal(stamp_parse(slice_str("0123456789abcdeg0000"), &x, &e), ERR_SYNTAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(later_operations_see_earlier_ones),
        cmocka_unit_test(checks_see_the_state_before_the_transaction),
        cmocka_unit_test(an_error_in_the_last_operation_leaves_no_trace),
        cmocka_unit_test(a_blind_write_reads_nothing),
        cmocka_unit_test(an_entry_is_gone_at_its_millisecond_and_not_before),
        cmocka_unit_test(a_clock_that_steps_back_revives_nothing),
        cmocka_unit_test(the_sweeper_removes_what_expired_and_only_that),
        cmocka_unit_test(the_sweeper_finds_its_work_after_a_start),
        cmocka_unit_test(many_that_expire_at_once_are_removed_in_batches),
        cmocka_unit_test(an_expiry_before_what_was_swept_is_found_too),
        cmocka_unit_test(what_has_ended_leaves_its_expiry_to_nobody),
        cmocka_unit_test(an_earlier_time_is_earlier_than_none),
        cmocka_unit_test(a_sweep_that_is_too_much_is_tried_with_less),
        cmocka_unit_test(a_layer_adds_to_every_transaction_and_is_told_in_order),
        cmocka_unit_test(what_is_too_large_is_refused_by_name),
        cmocka_unit_test(a_transaction_of_many_keys_is_as_one_of_few),
        cmocka_unit_test(stamps_are_twenty_digits_and_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
