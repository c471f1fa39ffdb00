#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "codec/key.h"
#include "unit/backend/local_help.h"
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

static void open_bench(struct bench *t)
{
    *t = (struct bench){0};
    clock_set_fake_ms(START_MS);
    rig_init(&t->rig);
    rig_open(&t->rig);
    arena_init(&t->arena, 4096);
    struct engine_options options = {.backend = t->rig.b,
                                     .value_bytes_max = 1000,
                                     .txn_bytes_max = 100000,
                                     .ops_max = 500,
                                     .expire_batch = 3,
                                     .idem_window_ms = 600000,
                                     .idem_entries_max = 1000,
                                     .databases = 4};
    t->g = engine_new(&options);
    t->x = watch_new(t->g);
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

static struct slice key(struct bench *t, uint8_t database, const char *path)
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

static void add_pattern(struct bench *t, struct named *n, uint8_t database, const char *glob)
{
    char text[100];
    text[0] = (char)database;
    snprintf(text + 1, sizeof text - 1, "%s", glob);
    add(t, n, WATCH_PATTERN, slice_of(text, 1 + strlen(glob)));
}

static void commit(struct bench *t, uint8_t database, struct op *ops, size_t count, bool is_flush)
{
    struct txn txn = {.database = database,
                      .commits_always = true,
                      .has_flush = is_flush,
                      .ops = ops,
                      .count = count,
                      .arena = &t->arena};
    assert_int_equal(engine_commit(t->g, &txn, &t->rig.waiter, &t->e), OK);
}

static void set(struct bench *t, uint8_t database, const char *path, int64_t ttl_ms)
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
    /* One that fails tells nothing. */
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
    expect_told(&t, "glob =0|prefix =0|key a=0|prefix u/x=1|glob u/x=1|");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_is_told_what_is_its),
        cmocka_unit_test(a_transaction_tells_the_last_state_of_each_key_once),
        cmocka_unit_test(expiry_is_told_when_the_entry_is_removed),
        cmocka_unit_test(a_flush_is_told_to_everybody_in_the_database),
        cmocka_unit_test(many_watchers_of_one_name_are_told_in_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
