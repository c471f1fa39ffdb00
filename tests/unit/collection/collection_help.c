#include "unit/collection/collection_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "codec/key.h"
#include "collection/list.h"
#include "engine/start.h"
#include "unit/collection/collection_audit.h"
#include "unit/db/db_help.h"

static void bench_engine(struct cbench *t)
{
    struct engine_options options = small_engine(t->rig.b);
    options.value_bytes_max = 100000;
    options.txn_bytes_max = 64 << 20;
    options.ops_max = 100000;
    t->g = engine_new(&options);
    struct collections_options o = {
        .engine = t->g, .pack_bytes = t->pack_bytes, .counted_bytes = t->counted_bytes};
    t->all = collections_new(&o);
}

void cbench_open(struct cbench *t, size_t pack_bytes)
{
    *t = (struct cbench){.pack_bytes = pack_bytes, .counted_bytes = 1 << 20};
    clock_set_fake_ms(START_MS);
    rig_init(&t->rig);
    t->rig.local.segment_bytes = 8 << 20;
    rig_open(&t->rig);
    arena_init(&t->arena, 65536);
    bench_engine(t);
}

static void bench_end(struct cbench *t)
{
    collections_free(t->all);
    engine_free(t->g);
}

void cbench_close(struct cbench *t)
{
    bench_end(t);
    rig_close(&t->rig);
    rig_fini(&t->rig);
    arena_fini(&t->arena);
    clock_set_fake_ms(0);
}

void cbench_restart(struct cbench *t)
{
    bench_end(t);
    rig_close(&t->rig);
    rig_open(&t->rig);
    bench_engine(t);
}

void cbench_crash(struct cbench *t)
{
    rig_settle(&t->rig);
    bench_end(t);
    rig_crash(&t->rig);
    bench_engine(t);
}

void cbench_turn(struct cbench *t)
{
    engine_tick(t->g);
    (void)collections_turn(t->all);
    rig_step(&t->rig);
}

void cbench_settle(struct cbench *t)
{
    for (int i = 0; i < STEPS_MAX; i++) {
        cbench_turn(t);
        if (!engine_start_is_over(t->g, SPACE_COLLECTION)) continue;
        struct backend_stats stats;
        rig_apply(&t->rig);
        backend_stats(t->rig.b, &stats);
        if (!stats.has_garbage) return;
    }
    fail_msg("the background work does not end");
}

void cbench_at(struct cbench *t, int64_t ms)
{
    clock_set_fake_ms(START_MS + ms);
    for (int i = 0; i < 100; i++) cbench_turn(t);
}

/* ---- names ---- */

struct slice cbench_key(struct cbench *t, unsigned database, const char *name)
{
    struct buf key = {0};
    engine_key_begin(&key, (uint16_t)database);
    key_add_string(&key, slice_str(name));
    struct slice kept = arena_copy(&t->arena, buf_slice(&key));
    buf_fini(&key);
    return kept;
}

struct slice cbench_text(struct cbench *t, const char *format, ...)
{
    char room[256];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(room, sizeof room, format, args);
    va_end(args);
    assert_in_range(len, 0, sizeof room - 1);
    return arena_copy(&t->arena, slice_of(room, (size_t)len));
}

struct slice cbench_long(struct cbench *t, size_t bytes, unsigned number)
{
    uint8_t *p = arena_alloc(&t->arena, bytes + 1);
    memset(p, 'x', bytes);
    for (size_t i = bytes; i > 0 && number > 0; number /= 10) p[--i] = (uint8_t)('0' + number % 10);
    return slice_of(p, bytes);
}

/* ---- transactions ---- */

static void waiter_told(struct waiter *w)
{
    (void)w;
}

struct change_op {
    struct layer_op base; /* first */
    struct cbench *t;
    cbench_change *change;
    void *arg;
};

static enum err apply(struct layer_op *op, struct view *v, bool *is_met, struct error *e)
{
    struct change_op *x = (struct change_op *)op;
    unsigned writes = view_writes(v);
    enum err r = x->change(x->t, v, x->arg);
    if (r != OK) *e = x->t->e;
    *is_met = view_writes(v) != writes;
    return r;
}

static struct waiter waiter = {.ready = waiter_told};

enum err cbench_evaluate(struct cbench *t, struct overlay *o, unsigned database,
                         cbench_change *change, void *arg)
{
    struct change_op x = {.base = {.apply = apply}, .t = t, .change = change, .arg = arg};
    struct op op = {.kind = OP_LAYER, .layer = &x.base};
    struct txn txn = {
        .overlay = o, .database = (uint16_t)database, .ops = &op, .count = 1, .arena = &t->arena};
    return engine_commit(t->g, &txn, &waiter, &t->e);
}

static void wait(struct cbench *t)
{
    waiter_cancel(&waiter);
    cbench_turn(t);
}

enum err cbench_commit(struct cbench *t, cbench_change *change, void *arg)
{
    for (int i = 0; i < STEPS_MAX; i++) {
        enum err r = cbench_evaluate(t, NULL, 0, change, arg);
        if (r != ERR_WAIT) {
            rig_step(&t->rig);
            return r;
        }
        wait(t);
    }
    fail_msg("it waits for ever: %s", t->e.text);
    return ERR_WAIT;
}

enum err cbench_transact(struct cbench *t, cbench_body *body, void *arg)
{
    for (int i = 0; i < STEPS_MAX; i++) {
        uint64_t version = 0;
        enum err r = engine_admit(t->g, &waiter, &t->e);
        if (r == OK) {
            struct overlay *o = engine_begin(t->g, &t->arena);
            r = body(t, o, arg);
            if (r == OK) {
                r = engine_end(o, &version, &waiter, &t->e);
            } else {
                engine_discard(o);
            }
        }
        if (r != ERR_WAIT) {
            rig_step(&t->rig);
            return r;
        }
        wait(t);
    }
    fail_msg("it waits for ever: %s", t->e.text);
    return ERR_WAIT;
}

static enum err run_txn(struct cbench *t, struct txn *txn)
{
    txn->arena = &t->arena;
    for (int i = 0; i < STEPS_MAX; i++) {
        enum err r = engine_commit(t->g, txn, &waiter, &t->e);
        if (r != ERR_WAIT) return r;
        wait(t);
    }
    fail_msg("it waits for ever: %s", t->e.text);
    return ERR_WAIT;
}

enum err cbench_run(struct cbench *t, unsigned database, struct op *ops, size_t count)
{
    struct txn txn = {.database = (uint16_t)database, .ops = ops, .count = count};
    return run_txn(t, &txn);
}

enum err cbench_flush(struct cbench *t, unsigned database, bool is_drop)
{
    struct txn txn = {.database = (uint16_t)database,
                      .has_flush = true,
                      .is_drop = is_drop,
                      .commits_always = true};
    return run_txn(t, &txn);
}

enum err cbench_read(struct cbench *t, cbench_change *read, void *arg)
{
    for (int i = 0; i < STEPS_MAX; i++) {
        struct view v = view_reading(t->g, NULL, 0, &t->arena, &waiter);
        enum err r = read(t, &v, arg);
        if (r != ERR_WAIT) return r;
        wait(t);
    }
    fail_msg("it waits for ever: %s", t->e.text);
    return ERR_WAIT;
}

/* ---- changes ---- */

struct filling {
    struct slice key;
    enum collection_kind kind;
    unsigned from, count;
};

static enum err fill(struct cbench *t, struct view *v, void *arg)
{
    const struct filling *f = arg;
    struct collection c;
    enum err r = collection_open(t->all, v, f->key, f->kind, &c, &t->e);
    for (unsigned i = f->from; i < f->from + f->count && r == OK; i++) {
        struct slice text = cbench_text(t, "%u", i);
        struct element x = {.name = text, .score = i};
        bool was_there = false;
        if (f->kind == COLLECTION_HASH) x.value = text;
        r = f->kind == COLLECTION_LIST ? list_push(&c, false, text, &t->e)
                                       : collection_put(&c, &x, &was_there, NULL, &t->e);
    }
    return r == OK ? collection_save(&c, &t->e) : r;
}

void cbench_fill(struct cbench *t, struct slice key, enum collection_kind kind, unsigned from,
                 unsigned count)
{
    struct filling f = {.key = key, .kind = kind, .from = from, .count = count};
    if (cbench_commit(t, fill, &f) != OK) fail_msg("%s", t->e.text);
}

struct entry cbench_stored(struct cbench *t, struct slice key)
{
    struct entry out;
    rig_load(&t->rig, key, &out);
    if (out.exists) out.value = arena_copy(&t->arena, out.value);
    return out;
}

bool cbench_is_spread(struct cbench *t, struct slice key, struct collection_head *out)
{
    struct entry entry = cbench_stored(t, key);
    return entry.exists && collection_head_read(entry.value, out) && out->is_spread;
}

/* ---- audit ---- */

static bool turn_of(void *arg)
{
    rig_step(arg);
    return true;
}

size_t cbench_audit(struct cbench *t)
{
    struct collection_audit a = {.backend = t->rig.b,
                                 .all = t->all,
                                 .arena = &t->arena,
                                 .databases = CBENCH_DATABASES,
                                 .turn = turn_of,
                                 .arg = &t->rig};
    size_t memory = 0;
    assert_true(collection_audit_run(&a));
    if (engine_start_is_over(t->g, SPACE_COLLECTION)) {
        assert_true(collections_spread(t->all, &memory) >= a.spread);
    }
    return a.spread;
}

size_t cbench_audit_clean(struct cbench *t)
{
    cbench_settle(t);
    return cbench_audit(t);
}
