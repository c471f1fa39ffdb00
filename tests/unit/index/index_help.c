#include "unit/index/index_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "codec/key.h"
#include "codec/value.h"
#include "collection/fields.h"
#include "unit/db/db_help.h"

static void bench_engine(struct ibench *t)
{
    struct engine_options options = small_engine(t->rig.b);
    options.value_bytes_max = 100000;
    options.txn_bytes_max = 1000000;
    options.expire_batch = 5;
    options.idem_window_ms = 10000;
    options.idem_entries_max = 100;
    t->g = engine_new(&options);
    struct hash_reader hashes = {.fields = fields_of_view, .are_written = fields_are_written};
    t->ix = indexes_new(t->g, &hashes);
    t->ix->create_rows = t->ix->batch_rows = t->rows;
}

void ibench_open(struct ibench *t, size_t rows)
{
    *t = (struct ibench){.rows = rows};
    clock_set_fake_ms(START_MS);
    rig_init(&t->rig);
    rig_open(&t->rig);
    arena_init(&t->arena, 4096);
    bench_engine(t);
}

static void bench_end(struct ibench *t)
{
    indexes_free(t->ix);
    engine_free(t->g);
}

void ibench_close(struct ibench *t)
{
    bench_end(t);
    rig_close(&t->rig);
    rig_fini(&t->rig);
    arena_fini(&t->arena);
    clock_set_fake_ms(0);
}

void ibench_restart(struct ibench *t)
{
    bench_end(t);
    rig_close(&t->rig);
    rig_open(&t->rig);
    bench_engine(t);
}

void ibench_crash(struct ibench *t)
{
    rig_settle(&t->rig);
    bench_end(t);
    rig_crash(&t->rig);
    bench_engine(t);
}

void ibench_turn(struct ibench *t)
{
    engine_tick(t->g);
    indexes_turn(t->ix);
    rig_step(&t->rig);
}

void ibench_settle(struct ibench *t)
{
    for (int i = 0; i < STEPS_MAX; i++) {
        ibench_turn(t);
        if (!engine_start_is_over(t->ix->engine, SPACE_INDEX) || t->ix->has_work) continue;
        struct backend_stats stats;
        backend_stats(t->rig.b, &stats);
        if (!stats.has_garbage) return;
        rig_apply(&t->rig);
    }
    fail_msg("the background work does not end");
}

static void waiter_told(struct waiter *w)
{
    (void)w;
}

enum err ibench_run(struct ibench *t, struct op *ops, size_t count)
{
    struct waiter w = {.ready = waiter_told};
    for (int i = 0; i < STEPS_MAX; i++) {
        struct txn txn = {.ops = ops, .count = count, .arena = &t->arena};
        enum err r = engine_commit(t->g, &txn, &w, &t->e);
        if (r != ERR_WAIT) return r;
        waiter_cancel(&w);
        engine_tick(t->g);
        rig_step(&t->rig);
    }
    fail_msg("it waits for ever: %s", t->e.text);
    return ERR_WAIT;
}

struct slice ibench_data_key(struct ibench *t, const char *prefix, unsigned number)
{
    struct buf key = {0};
    engine_key_begin(&key, 0);
    key_add_string(&key, slice_str(prefix));
    key_add_number(&key, number);
    struct slice kept = arena_copy(&t->arena, buf_slice(&key));
    buf_fini(&key);
    return kept;
}

struct slice ibench_value_of(struct ibench *t, const char *json)
{
    struct buf out = {0};
    if (value_from_json(slice_str(json), NULL, &out, &t->e) != OK) {
        fail_msg("%s: %s", json, t->e.text);
    }
    struct slice kept = arena_copy(&t->arena, buf_slice(&out));
    buf_fini(&out);
    return kept;
}

enum err ibench_set(struct ibench *t, struct slice key, const char *json, int64_t expiry_ms)
{
    struct op op = {.kind = OP_SET,
                    .key = key,
                    .value = ibench_value_of(t, json),
                    .ttl = expiry_ms != 0 ? TTL_AT : TTL_NONE,
                    .ttl_ms = expiry_ms};
    return ibench_run(t, &op, 1);
}

enum err ibench_del(struct ibench *t, struct slice key)
{
    struct op op = {.kind = OP_DELETE, .key = key};
    return ibench_run(t, &op, 1);
}

enum err ibench_create(struct ibench *t, const char *name, const char *prefix, const char *paths,
                       bool is_unique)
{
    struct index_create x = {.indexes = t->ix,
                             .definition = {.name = slice_str(name), .is_unique = is_unique}};
    struct buf tuple = {0};
    key_add_string(&tuple, slice_str(prefix));
    x.definition.prefix = arena_copy(&t->arena, buf_slice(&tuple));
    buf_fini(&tuple);
    for (const char *at = paths; *at != '\0';) {
        size_t len = strcspn(at, " ");
        x.definition.paths[x.definition.path_count++] = slice_of(at, len);
        at += len + (at[len] == ' ');
    }
    struct op op = index_create_op(&x);
    return ibench_run(t, &op, 1);
}

bool ibench_drop(struct ibench *t, const char *name)
{
    struct index_drop x = {.indexes = t->ix, .name = slice_str(name)};
    struct op op = index_drop_op(&x);
    assert_int_equal(ibench_run(t, &op, 1), OK);
    return op.is_met;
}

/* ---- audit ---- */

struct stored_rows {
    struct slice key, value;
    int64_t expiry_ms;
};

/* Everything of a space, in the arena. */
static struct stored_rows *all_of(struct ibench *t, enum space space, size_t *count)
{
    uint8_t start[KEY_HEAD_BYTES] = {KEY_HEAD(0, space)};
    uint8_t end[KEY_HEAD_BYTES] = {KEY_HEAD(0, (uint8_t)(space + 1))};
    struct scan_range range = {.start = slice_of(start, sizeof start),
                               .end = slice_of(end, sizeof end),
                               .with_values = true};
    struct stored_rows *rows = arena_alloc(&t->arena, 20000 * sizeof *rows);
    struct scan *scan = NULL;
    struct slice key;
    struct entry entry;
    *count = 0;
    assert_int_equal(backend_scan_open(t->rig.b, &range, &scan, &t->e), OK);
    while (rig_scan_next(&t->rig, scan, &key, &entry)) {
        assert_true(*count < 20000);
        rows[(*count)++] = (struct stored_rows){
            arena_copy(&t->arena, key), arena_copy(&t->arena, entry.value), entry.expiry_ms};
    }
    backend_scan_close(scan);
    return rows;
}

static const struct stored_rows *find(const struct stored_rows *rows, size_t count,
                                      struct slice key)
{
    for (size_t i = 0; i < count; i++) {
        if (slice_eq(rows[i].key, key)) return &rows[i];
    }
    return NULL;
}

static bool has_expired(const struct stored_rows *s)
{
    return s->expiry_ms != 0 && s->expiry_ms <= clock_wall_ms();
}

static const struct index *index_of_row(const struct ibench *t, struct slice key)
{
    uint32_t id = index_id_read(slice_of(key.data + KEY_HEAD_BYTES, INDEX_ID_BYTES));
    for (const struct index *x = index_first(t->ix, 0); x != NULL; x = x->next) {
        if (x->definition.id == id) return x;
    }
    return NULL;
}

/* A row must be one of an entry that is stored. */
static void audit_row(struct ibench *t, const struct stored_rows *row,
                      const struct stored_rows *data, size_t data_count)
{
    const struct index *x = index_of_row(t, row->key);
    struct slice owner;
    struct index_rows rows;
    bool is_multi = false;
    bool is_known = false;
    if (x == NULL) {
        /* Those of a dropped index are left to the backend. */
        struct backend_stats stats;
        backend_stats(t->rig.b, &stats);
        if (!stats.has_garbage) fail_msg("a row of an index that is not there");
        return;
    }
    assert_true(index_row_owner(x, row->key, row->value, &t->arena, &owner, &is_multi));
    const struct stored_rows *entry = find(data, data_count, owner);
    if (entry == NULL) {
        if (x->definition.state == INDEX_FAILED) return; /* is not kept any more */
        fail_msg("a row of an entry that is not there, index %.*s", (int)x->definition.name.len,
                 (const char *)x->definition.name.data);
    }
    if (x->definition.state == INDEX_FAILED) return;
    assert_int_equal(index_rows(x, owner, entry->value, &t->arena, &rows, &t->e), OK);
    for (size_t i = 0; i < rows.count; i++) is_known = is_known || slice_eq(rows.keys[i], row->key);
    if (!is_known) fail_msg("a row with a value that the entry has not");
    assert_int_equal(is_multi, rows.count > 1);
    assert_int_equal(row->expiry_ms, entry->expiry_ms);
}

static void audit_entry(struct ibench *t, const struct index *x, const struct stored_rows *entry,
                        const struct stored_rows *rows, size_t row_count)
{
    struct index_rows wanted;
    if (!index_covers(x, entry->key)) return;
    assert_int_equal(index_rows(x, entry->key, entry->value, &t->arena, &wanted, &t->e), OK);
    for (size_t i = 0; i < wanted.count; i++) {
        struct slice owner;
        bool is_multi = false;
        const struct stored_rows *row = find(rows, row_count, wanted.keys[i]);
        /* Filling passes expired entries over, and another one may have taken a unique value. */
        if (has_expired(entry)) continue;
        if (row == NULL) fail_msg("an entry without its row");
        assert_true(index_row_owner(x, row->key, row->value, &t->arena, &owner, &is_multi));
        if (!slice_eq(owner, entry->key)) fail_msg("two living owners of a unique value");
    }
}

/* The totals are the sums over all indexes. */
static void audit_totals(struct ibench *t)
{
    struct indexes_totals totals;
    struct indexes_totals sum = {.is_reading = false};
    const struct index *x;
    for (uint32_t d = 0; (x = indexes_next(t->ix, &d)) != NULL; d++) {
        for (; x != NULL; x = x->next) {
            bool is_text = x->definition.kind == INDEX_TEXT;
            assert_int_equal(x->database, d);
            sum.text += is_text;
            sum.value += !is_text;
            sum.filling += !is_text && x->definition.state == INDEX_FILLING;
            sum.failed += x->definition.state == INDEX_FAILED;
        }
    }
    indexes_totals(t->ix, &totals);
    assert_int_equal(totals.text, sum.text);
    assert_int_equal(totals.value, sum.value);
    assert_int_equal(totals.filling, sum.filling);
    assert_int_equal(totals.failed, sum.failed);
}

void ibench_audit(struct ibench *t)
{
    size_t row_count = 0;
    size_t data_count = 0;
    for (int i = 0; !engine_start_is_over(t->ix->engine, SPACE_INDEX) && i < STEPS_MAX; i++)
        ibench_turn(t);
    audit_totals(t);
    const struct stored_rows *rows = all_of(t, SPACE_INDEX_ENTRY, &row_count);
    const struct stored_rows *data = all_of(t, SPACE_DATA, &data_count);
    for (size_t i = 0; i < row_count; i++) audit_row(t, &rows[i], data, data_count);
    for (const struct index *x = index_first(t->ix, 0); x != NULL; x = x->next) {
        if (x->definition.state != INDEX_READY) continue;
        for (size_t i = 0; i < data_count; i++) audit_entry(t, x, &data[i], rows, row_count);
    }
}
