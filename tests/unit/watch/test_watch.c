#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "codec/key.h"
#include "unit/backend/local_help.h"
#include "unit/db/db_help.h"
#include "watch/watch.h"

#define START_MS 1700000000000

struct bench {
    struct rig rig;
    struct engine *g;
    struct watch *x;
    struct arena arena;
    struct error e;
    char told[1000]; /* "<watcher> <path>=<0|1> ..." in the order of the calls */
};

struct named {
    struct watcher watcher; /* first */
    struct bench *bench;
    const char *name;
};

static void on_changed(struct watcher *w, const struct change *c)
{
    struct named *n = (struct named *)w;
    struct buf path = {0};
    size_t len = strlen(n->bench->told);
    assert_true(c->version > 0);
    if (c->key.len > 0) key_to_path(engine_key_tuple(c->key), &path);
    snprintf(n->bench->told + len, sizeof n->bench->told - len, "%s %.*s=%d|", n->name,
             (int)path.len, (const char *)path.data, c->exists);
    buf_fini(&path);
}

static void open_bench_with(struct bench *t, size_t late_bytes_max)
{
    *t = (struct bench){0};
    clock_set_fake_ms(START_MS);
    rig_init(&t->rig);
    rig_open(&t->rig);
    arena_init(&t->arena, 4096);
    struct engine_options options = small_engine(t->rig.b);
    options.txn_bytes_max = 100000;
    options.ops_max = 500;
    t->g = engine_new(&options);
    t->x = watch_new(t->g, late_bytes_max);
}

static void open_bench(struct bench *t)
{
    open_bench_with(t, 0);
}

static void close_bench(struct bench *t)
{
    assert_int_equal(watch_count(t->x), 0);
    engine_free(t->g);
    watch_free(t->x);
    rig_close(&t->rig);
    rig_fini(&t->rig);
    arena_fini(&t->arena);
    clock_set_fake_ms(0);
}

static struct slice key(struct bench *t, uint16_t database, const char *path)
{
    struct buf b = {0};
    engine_key_begin(&b, database);
    assert_int_equal(key_from_path(slice_str(path), true, &b, &t->e), OK);
    struct slice kept = arena_copy(&t->arena, buf_slice(&b));
    buf_fini(&b);
    return kept;
}

static void add(struct bench *t, struct named *n, enum watch_kind kind, struct slice name)
{
    n->bench = t;
    n->watcher.changed = on_changed;
    watch_add(t->x, &n->watcher, kind, name);
}

static void add_pattern(struct bench *t, struct named *n, uint16_t database, const char *glob)
{
    char text[100];
    char *rest = (char *)key_head_write((uint8_t *)text, database, 0);
    snprintf(rest, sizeof text - KEY_HEAD_BYTES, "%s", glob);
    add(t, n, WATCH_PATTERN, slice_of(text, KEY_HEAD_BYTES + strlen(glob)));
}

static void commit(struct bench *t, uint16_t database, struct op *ops, size_t count, bool is_flush)
{
    struct txn txn = {.database = database,
                      .commits_always = true,
                      .has_flush = is_flush,
                      .ops = ops,
                      .count = count,
                      .arena = &t->arena};
    assert_int_equal(engine_commit(t->g, &txn, &t->rig.waiter, &t->e), OK);
}

static void set(struct bench *t, uint16_t database, const char *path, int64_t ttl_ms)
{
    static const uint8_t one[] = {1};
    struct op op = {.kind = OP_SET, .key = key(t, database, path), .value = slice_of(one, 1)};
    if (ttl_ms != 0) op.ttl = TTL_AT;
    op.ttl_ms = ttl_ms;
    commit(t, database, &op, 1, false);
}

static void del(struct bench *t, const char *path)
{
    struct op op = {.kind = OP_DELETE, .counts_live = true, .key = key(t, 0, path)};
    commit(t, 0, &op, 1, false);
}

#define expect_told(t, wanted)                                                                     \
    do {                                                                                           \
        assert_string_equal((t)->told, (wanted));                                                  \
        (t)->told[0] = '\0';                                                                       \
    } while (0)

static void each_kind_is_told_what_is_its(void **state)
{
    struct bench t;
    struct named k = {.name = "key"};
    struct named p = {.name = "prefix"};
    struct named all = {.name = "all"};
    struct named g = {.name = "glob"};
    open_bench(&t);
    add(&t, &k, WATCH_KEY, key(&t, 0, "u/#1"));
    add(&t, &p, WATCH_PREFIX, key(&t, 0, "u"));
    add(&t, &all, WATCH_PREFIX, key(&t, 0, ""));
    add_pattern(&t, &g, 0, "u/#?");
    set(&t, 0, "u/#1", 0);
    expect_told(&t, "key u/#1=1|all u/#1=1|prefix u/#1=1|glob u/#1=1|");
    set(&t, 0, "u", 0); /* a prefix does not cover itself */
    expect_told(&t, "all u=1|");
    set(&t, 0, "u/#1/deep", 0);
    expect_told(&t, "all u/#1/deep=1|prefix u/#1/deep=1|");
    set(&t, 0, "u2/#1", 0);
    expect_told(&t, "all u2/#1=1|");
    set(&t, 1, "u/#1", 0); /* another database */
    expect_told(&t, "");
    del(&t, "u/#1");
    expect_told(&t, "key u/#1=0|all u/#1=0|prefix u/#1=0|glob u/#1=0|");
    del(&t, "u/#1"); /* nothing there: nothing happened */
    expect_told(&t, "");
    watch_remove(t.x, &k.watcher);
    watch_remove(t.x, &k.watcher); /* harmless */
    watch_remove(t.x, &p.watcher);
    set(&t, 0, "u/#1", 0);
    expect_told(&t, "all u/#1=1|glob u/#1=1|");
    watch_remove(t.x, &all.watcher);
    watch_remove(t.x, &g.watcher);
    set(&t, 0, "u/#1", 0);
    expect_told(&t, "");
    close_bench(&t);
}

static void a_transaction_tells_the_last_state_of_each_key_once(void **state)
{
    static const uint8_t one[] = {1};
    struct bench t;
    struct named all = {.name = "all"};
    open_bench(&t);
    add(&t, &all, WATCH_PREFIX, key(&t, 0, ""));
    struct op ops[] = {
        {.kind = OP_SET, .key = key(&t, 0, "a"), .value = slice_of(one, 1)},
        {.kind = OP_SET, .key = key(&t, 0, "b"), .value = slice_of(one, 1)},
        {.kind = OP_SET, .key = key(&t, 0, "a"), .value = slice_of(one, 1)},
        {.kind = OP_DELETE, .key = key(&t, 0, "b")},
    };
    commit(&t, 0, ops, 4, false);
    expect_told(&t, "all a=1|all b=0|");
    /* One that fails notifies no watcher. */
    struct op check = {.kind = OP_CHECK, .key = key(&t, 0, "a"), .expected = {.is_none = true}};
    struct op both[] = {check, ops[0]};
    commit(&t, 0, both, 2, false);
    expect_told(&t, "");
    watch_remove(t.x, &all.watcher);
    close_bench(&t);
}

static void expiry_is_told_when_the_entry_is_removed(void **state)
{
    struct bench t;
    struct named k = {.name = "key"};
    open_bench(&t);
    add(&t, &k, WATCH_KEY, key(&t, 0, "t"));
    set(&t, 0, "t", START_MS + 100);
    expect_told(&t, "key t=1|");
    clock_set_fake_ms(START_MS + 99);
    engine_tick(t.g);
    expect_told(&t, "");
    clock_set_fake_ms(START_MS + 100);
    engine_tick(t.g);
    expect_told(&t, "key t=0|");
    set(&t, 0, "t", START_MS + 100); /* over before it begins: never there */
    expect_told(&t, "key t=0|");
    watch_remove(t.x, &k.watcher);
    close_bench(&t);
}

static void a_flush_is_told_to_everybody_in_the_database(void **state)
{
    struct bench t;
    struct named k = {.name = "key"};
    struct named p = {.name = "prefix"};
    struct named g = {.name = "glob"};
    struct named other = {.name = "other"};
    static const uint8_t one[] = {1};
    open_bench(&t);
    add(&t, &k, WATCH_KEY, key(&t, 0, "a"));
    add(&t, &p, WATCH_PREFIX, key(&t, 0, "u"));
    add_pattern(&t, &g, 0, "*");
    add(&t, &other, WATCH_KEY, key(&t, 1, "a"));
    struct op op = {.kind = OP_SET, .key = key(&t, 0, "u/x"), .value = slice_of(one, 1)};
    commit(&t, 0, &op, 1, true);
    expect_told(&t, "key a=0|prefix =0|glob =0|prefix u/x=1|glob u/x=1|");
    watch_remove(t.x, &k.watcher);
    watch_remove(t.x, &p.watcher);
    watch_remove(t.x, &g.watcher);
    watch_remove(t.x, &other.watcher);
    close_bench(&t);
}

static void many_watchers_of_one_name_are_told_in_their_order(void **state)
{
    enum { COUNT = 30 };
    static struct named all[COUNT];
    static char names[COUNT][12];
    char wanted[1000] = "";
    struct bench t;
    open_bench(&t);
    for (int i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "%d", i);
        all[i] = (struct named){.name = names[i]};
        add(&t, &all[i], WATCH_KEY, key(&t, 0, "k"));
    }
    for (int i = 0; i < COUNT; i += 3) watch_remove(t.x, &all[i].watcher);
    for (int i = 0; i < COUNT; i++) {
        if (i % 3 != 0)
            snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), "%d k=1|", i);
    }
    set(&t, 0, "k", 0);
    expect_told(&t, wanted);
    for (int i = 0; i < COUNT; i++) watch_remove(t.x, &all[i].watcher);
    close_bench(&t);
}

/* ---- more than fits into a turn ---- */

enum { CROWD = 300, KEYS = 400 };

static unsigned crowd_told, crowd_late;
static uint64_t crowd_version;

static void on_crowd(struct watcher *w, const struct change *c)
{
    (void)w;
    assert_true(c->version >= crowd_version);
    crowd_version = c->version;
    crowd_told++;
    crowd_late += c->is_late;
}

static void set_many(struct bench *t, unsigned count)
{
    static const uint8_t one[] = {1};
    static struct op ops[KEYS];
    char path[20];
    for (unsigned i = 0; i < count; i++) {
        snprintf(path, sizeof path, "k/#%u", i);
        ops[i] = (struct op){.kind = OP_SET, .key = key(t, 0, path), .value = slice_of(one, 1)};
    }
    commit(t, 0, ops, count, false);
}

/* 400 changes for 300 watchers: in the commit only so many as are bearable, the rest in the turns
 * that follow, each key once, and what comes meanwhile in its place. */
static void what_is_too_much_for_a_turn_is_told_in_the_next_ones(void **state)
{
    static struct watcher crowd[CROWD];
    struct bench t;
    struct named once = {.name = "once", .watcher = {.is_once = true}};
    struct named after = {.name = "after"};
    open_bench(&t);
    crowd_told = crowd_late = 0;
    crowd_version = 0;
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = (struct watcher){.changed = on_crowd};
        watch_add(t.x, &crowd[i], WATCH_PREFIX, key(&t, 0, "k"));
    }
    add(&t, &once, WATCH_PREFIX, key(&t, 0, ""));
    set_many(&t, KEYS);
    expect_told(&t, "once k/#0=1|");
    unsigned at_once = crowd_told;
    assert_in_range(at_once, 1000, CROWD * KEYS / 2);
    assert_int_equal(crowd_late, 0);
    set(&t, 0, "k/#399", 0); /* told at the end, once */
    expect_told(&t, "once k/#399=1|");
    assert_int_equal(crowd_told, at_once);
    add(&t, &after, WATCH_PREFIX, key(&t, 0, "k")); /* has seen all of it */
    unsigned turns = 0;
    for (bool is_more = true; is_more; turns++) {
        unsigned before = crowd_told;
        is_more = watch_turn(t.x);
        assert_true(crowd_told - before < 30000);
    }
    assert_in_range(turns, 3, 20);
    assert_int_equal(crowd_told, CROWD * KEYS);
    assert_int_equal(crowd_late, CROWD * KEYS - at_once);
    expect_told(&t, "");
    set(&t, 0, "k/#1", 0);
    expect_told(&t, "once k/#1=1|after k/#1=1|");
    assert_false(watch_take_loss(t.x));
    for (int i = 0; i < CROWD; i++) watch_remove(t.x, &crowd[i]);
    watch_remove(t.x, &once.watcher);
    watch_remove(t.x, &after.watcher);
    close_bench(&t);
}

static void flush(struct bench *t)
{
    struct op op = {.kind = OP_DELETE, .key = key(t, 0, "none")};
    commit(t, 0, &op, 1, true);
}

/* A flush is told to all names, and while that lasts names come and go. */
static void a_flush_of_many_names_is_told_in_turns(void **state)
{
    enum { NAMES = 50000 };
    struct bench t;
    struct named last = {.name = "last"};
    struct watcher *many = calloc(NAMES, sizeof *many);
    char path[20];
    assert_non_null(many);
    open_bench(&t);
    crowd_told = crowd_late = 0;
    crowd_version = 0;
    for (int i = 0; i < NAMES; i++) {
        many[i].changed = on_crowd;
        snprintf(path, sizeof path, "k/#%d", i);
        watch_add(t.x, &many[i], WATCH_KEY, key(&t, 0, path));
        if (i % 1000 == 0) arena_reset(&t.arena);
    }
    flush(&t);
    assert_int_equal(crowd_told, 0);
    assert_true(watch_turn(t.x));
    unsigned first = crowd_told;
    assert_in_range(first, 1000, 30000);
    /* Names are told from the newest to the oldest: these have their turn still to come. */
    for (int i = 0; i < 100; i++) watch_remove(t.x, &many[i]);
    for (unsigned i = 0; i < 100; i++) watch_remove(t.x, &many[NAMES - first - 1 - i]);
    add(&t, &last, WATCH_KEY, key(&t, 0, "new"));
    while (watch_turn(t.x)) assert_true(crowd_told <= NAMES);
    assert_int_equal(crowd_told, NAMES - 200);
    expect_told(&t, "");
    for (int i = 0; i < NAMES; i++) watch_remove(t.x, &many[i]);
    watch_remove(t.x, &last.watcher);
    close_bench(&t);
    free(many);
}

/* A flush that is late although the turn has done little: what is changed after it in the same turn
 * is told after it. */
static void a_change_does_not_overtake_a_flush(void **state)
{
    enum { NAMES = 21000 };
    struct bench t;
    struct named all = {.name = "all"};
    struct named k = {.name = "key"};
    struct watcher *many = calloc(NAMES, sizeof *many);
    char path[20];
    assert_non_null(many);
    open_bench(&t);
    crowd_told = crowd_late = 0;
    crowd_version = 0;
    for (int i = 0; i < NAMES; i++) {
        many[i].changed = on_crowd;
        snprintf(path, sizeof path, "k/#%d", i);
        watch_add(t.x, &many[i], WATCH_KEY, key(&t, 0, path));
        if (i % 1000 == 0) arena_reset(&t.arena);
    }
    add(&t, &all, WATCH_PREFIX, key(&t, 0, ""));
    add(&t, &k, WATCH_KEY, key(&t, 0, "a"));
    flush(&t);
    set(&t, 0, "a", 0);
    set(&t, 0, "k/#7", 0);
    set(&t, 0, "a", 0);
    expect_told(&t, "");
    assert_int_equal(crowd_told, 0);
    while (watch_turn(t.x)) continue;
    /* Of each key once, and all of it is late: no watcher is told the values any more. */
    expect_told(&t, "key a=0|all =0|all none=0|all k/#7=0|key a=0|all a=0|");
    assert_int_equal(crowd_told, NAMES + 1);
    for (int i = 0; i < NAMES; i++) watch_remove(t.x, &many[i]);
    watch_remove(t.x, &all.watcher);
    watch_remove(t.x, &k.watcher);
    close_bench(&t);
    free(many);
}

/* Watchers of every change, for whom it is too much for one turn. */
static void crowd_add(struct bench *t, struct watcher *crowd)
{
    crowd_told = crowd_late = 0;
    crowd_version = 0;
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = (struct watcher){.changed = on_crowd};
        watch_add(t->x, &crowd[i], WATCH_PREFIX, key(t, 0, "k"));
    }
}

/* A key is some 100 bytes of what is late. */
static void what_is_late_is_given_up_when_it_is_too_much(void **state)
{
    static struct watcher crowd[CROWD];
    struct bench t;
    struct named once = {.name = "once", .watcher = {.is_once = true}};
    open_bench_with(&t, 10000);
    crowd_add(&t, crowd);
    add(&t, &once, WATCH_PREFIX, key(&t, 0, ""));
    set_many(&t, KEYS);
    unsigned at_once = crowd_told;
    assert_in_range(at_once, 1000, CROWD * KEYS / 2);
    expect_told(&t, "once k/#0=1|"); /* always, whatever is given up */
    assert_true(watch_take_loss(t.x));
    assert_false(watch_take_loss(t.x)); /* said once */
    /* What was late before the loss is forgotten, what came after it is told: of 330 late ones in
     * pieces of 100 or so the last piece. */
    while (watch_turn(t.x)) continue;
    assert_in_range(crowd_late, CROWD, CROWD * 120);
    assert_int_equal(crowd_late % CROWD, 0);
    assert_int_equal(crowd_told, at_once + crowd_late);
    /* Then it is as before: changes are told in their commit, or late if they are not too many. */
    assert_false(watch_turn(t.x));
    unsigned before = crowd_told;
    unsigned late = crowd_late;
    set(&t, 0, "k/#1", 0);
    assert_int_equal(crowd_told, before + CROWD);
    assert_int_equal(crowd_late, late);
    set_many(&t, 100);
    while (watch_turn(t.x)) continue;
    assert_int_equal(crowd_told, before + 101 * CROWD);
    assert_false(watch_take_loss(t.x));
    for (int i = 0; i < CROWD; i++) watch_remove(t.x, &crowd[i]);
    watch_remove(t.x, &once.watcher);
    close_bench(&t);
}

/* The same bound at its default. */
static void some_thousand_late_changes_are_not_too_much(void **state)
{
    static struct watcher crowd[CROWD];
    struct bench t;
    open_bench(&t);
    crowd_add(&t, crowd);
    for (int i = 0; i < 5; i++) {
        set_many(&t, KEYS);
        rig_settle(&t.rig);
    }
    while (watch_turn(t.x)) continue;
    assert_false(watch_take_loss(t.x));
    assert_true(crowd_told >= CROWD * KEYS);
    for (int i = 0; i < CROWD; i++) watch_remove(t.x, &crowd[i]);
    close_bench(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_too_much_for_a_turn_is_told_in_the_next_ones),
        cmocka_unit_test(a_flush_of_many_names_is_told_in_turns),
        cmocka_unit_test(a_change_does_not_overtake_a_flush),
        cmocka_unit_test(what_is_late_is_given_up_when_it_is_too_much),
        cmocka_unit_test(some_thousand_late_changes_are_not_too_much),
        cmocka_unit_test(each_kind_is_told_what_is_its),
        cmocka_unit_test(a_transaction_tells_the_last_state_of_each_key_once),
        cmocka_unit_test(expiry_is_told_when_the_entry_is_removed),
        cmocka_unit_test(a_flush_is_told_to_everybody_in_the_database),
        cmocka_unit_test(many_watchers_of_one_name_are_told_in_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
