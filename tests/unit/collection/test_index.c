/* index: the life of counted indexes: their memory, which of them stay when there is not enough of
 * it, and that every question is answered in the end, whatever is written meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "collection/index.h"
#include "collection/rank.h"
#include "unit/collection/collection_help.h"

#define INDEX_ROOM 8000 /* bytes: for one index of SMALL members, not for two */
#define SMALL 1000
#define LARGE 40000 /* members: its index takes more than that room */

static void nothing_ready(struct waiter *w)
{
    (void)w;
}

static void bench_open(struct cbench *t, size_t counted_bytes)
{
    cbench_open(t, PACK_BYTES_DEFAULT);
    t->counted_bytes = counted_bytes;
    cbench_restart(t);
    cbench_settle(t);
}

static size_t bytes_of(struct cbench *t)
{
    size_t count = 0;
    return counted_indexes_bytes(t->all->indexes, &count);
}

static struct slice a_set(struct cbench *t, const char *name, unsigned count)
{
    struct slice key = cbench_key(t, 0, name);
    cbench_fill(t, key, COLLECTION_SET, 0, count);
    return key;
}

/* ---- questions ---- */

/* The row with the middle rank: of the member that has it, as all of these sets are walked. */
static enum err ask(struct cbench *t, struct view *v, void *arg)
{
    const struct slice *key = arg;
    struct collection c;
    struct slice row;
    uint64_t rank = 0;
    enum err r = collection_open(t->all, v, *key, COLLECTION_SET, &c, &t->e);
    if (r == OK) r = rank_seek(&c, true, c.head.count / 2, &row, &t->e);
    if (r == OK) r = rank_of(&c, true, row, &rank, &t->e);
    if (r == OK) assert_int_equal(rank, c.head.count / 2);
    return r;
}

/* Once, without waiting. */
static enum err ask_now(struct cbench *t, struct slice key)
{
    struct waiter w = {.ready = nothing_ready};
    struct view v = view_reading(t->g, NULL, 0, &t->arena, &w);
    enum err r = ask(t, &v, &key);
    waiter_cancel(&w);
    return r;
}

static void ask_until_told(struct cbench *t, struct slice key)
{
    if (cbench_read(t, ask, &key) != OK) fail_msg("%s", t->e.text);
}

/* NULL: it has none, and none is built when it is asked of. */
static struct counted *index_of(struct cbench *t, struct slice key)
{
    struct waiter w = {.ready = nothing_ready};
    struct collection_head h;
    struct counted *out = NULL;
    assert_true(cbench_is_spread(t, key, &h));
    struct element_rows rows = {.incarnation = h.incarnation};
    enum err r = counted_indexes_get(t->all->indexes, &rows, ROW_MEMBER, &w, &out, &t->e);
    assert_int_equal(r, OK);
    return out;
}

/* ---- memory ---- */

static void nothing_is_left_of_indexes_that_are_gone(void **state)
{
    struct cbench t;
    (void)state;
    bench_open(&t, 1 << 20);
    struct slice key = a_set(&t, "set", SMALL);
    ask_until_told(&t, key);
    size_t before = bytes_of(&t);
    for (unsigned i = 1; i < 6; i++) {
        cbench_fill(&t, key, COLLECTION_SET, i * SMALL, SMALL); /* between those there are */
        for (int n = 0; n < 10; n++) ask_until_told(&t, key);   /* cuts the block that is long */
    }
    struct slice other = a_set(&t, "other", SMALL);
    ask_until_told(&t, other);
    assert_true(bytes_of(&t) > 2 * before);
    struct op away[] = {{.kind = OP_DELETE, .key = key}, {.kind = OP_DELETE, .key = other}};
    assert_int_equal(cbench_run(&t, 0, &away[0], 1), OK);
    assert_int_equal(bytes_of(&t), before);
    assert_int_equal(cbench_run(&t, 0, &away[1], 1), OK);
    assert_int_equal(bytes_of(&t), 0);
    cbench_close(&t);
}

struct two {
    struct slice a, b;
};

static enum err ask_both(struct cbench *t, struct overlay *o, void *arg)
{
    struct two *two = arg;
    enum err r = cbench_evaluate(t, o, 0, ask, &two->a);
    return r == OK ? cbench_evaluate(t, o, 0, ask, &two->b) : r;
}

static void a_transaction_asks_of_two_of_which_only_one_fits(void **state)
{
    struct cbench t;
    (void)state;
    bench_open(&t, INDEX_ROOM);
    struct two two = {a_set(&t, "a", SMALL), a_set(&t, "b", SMALL)};
    assert_int_equal(cbench_transact(&t, ask_both, &two), OK);
    assert_non_null(index_of(&t, two.a));
    assert_null(index_of(&t, two.b));
    /* When the one is not asked of any more the other has its turn. */
    clock_set_fake_ms(START_MS + 60000);
    ask_until_told(&t, two.b);
    assert_non_null(index_of(&t, two.b));
    assert_true(bytes_of(&t) <= INDEX_ROOM);
    cbench_close(&t);
}

/* Others are asked of in every turn in which it is built. */
static void what_was_just_built_is_seen_by_those_who_wait(void **state)
{
    struct cbench t;
    enum err r = ERR_WAIT;
    (void)state;
    bench_open(&t, INDEX_ROOM * 3 / 2);
    struct two two = {a_set(&t, "a", SMALL), a_set(&t, "b", SMALL)};
    struct slice third = a_set(&t, "third", SMALL);
    ask_until_told(&t, two.a);
    ask_until_told(&t, two.b);
    for (int i = 0; i < 20 && r == ERR_WAIT; i++) {
        r = ask_now(&t, third);
        assert_int_equal(ask_now(&t, two.a), OK);
        assert_int_equal(ask_now(&t, two.b), OK);
        cbench_turn(&t);
    }
    assert_int_equal(r, OK);
    assert_null(index_of(&t, third));
    cbench_close(&t);
}

static void one_that_does_not_fit_pushes_nothing_out(void **state)
{
    struct cbench t;
    (void)state;
    bench_open(&t, INDEX_ROOM);
    struct slice small = a_set(&t, "small", SMALL);
    struct slice large = a_set(&t, "large", LARGE);
    ask_until_told(&t, small);
    ask_until_told(&t, large);
    assert_non_null(index_of(&t, small));
    assert_null(index_of(&t, large));
    assert_true(bytes_of(&t) <= INDEX_ROOM);
    assert_int_equal(ask_now(&t, large), OK); /* by walking: it is not tried again at once */
    clock_set_fake_ms(START_MS + 60000);
    assert_int_equal(ask_now(&t, large), ERR_WAIT);
    ask_until_told(&t, large);
    struct collections_options o = {.engine = t.g, .counted_bytes = 1 << 20, .pack_bytes = 1};
    collections_set_options(t.all, &o); /* there is room now */
    ask_until_told(&t, large);
    assert_non_null(index_of(&t, large));
    cbench_close(&t);
}

/* ---- writes while it is built ---- */

/* Members behind all others come and go. */
static enum err churn(struct cbench *t, struct view *v, void *arg)
{
    const struct slice *key = arg;
    struct collection c;
    bool was_there = false;
    enum err r = collection_open(t->all, v, *key, COLLECTION_SET, &c, &t->e);
    for (unsigned i = 0; i < 30000 && r == OK; i++) {
        struct element x = {.name = cbench_text(t, "z%u", i)};
        r = collection_find(&c, x.name, &was_there, &x, &t->e);
        x.name = cbench_text(t, "z%u", i);
        if (r == OK && was_there)
            r = collection_remove(&c, x.name, &was_there, NULL, &t->e);
        else if (r == OK)
            r = collection_put(&c, &x, &was_there, NULL, &t->e);
    }
    return r == OK ? collection_save(&c, &t->e) : r;
}

static void writes_without_end_do_not_keep_it_from_being_built(void **state)
{
    struct cbench t;
    enum err r = ERR_WAIT;
    (void)state;
    bench_open(&t, 1 << 20);
    struct slice key = a_set(&t, "set", LARGE);
    for (int i = 0; i < 2; i++) assert_int_equal(cbench_commit(&t, churn, &key), OK);
    for (int i = 0; i < 15 && r == ERR_WAIT; i++) {
        r = ask_now(&t, key);
        rig_apply(&t.rig); /* so it need not wait: there is no other turn */
        assert_int_equal(cbench_evaluate(&t, NULL, 0, churn, &key), OK);
        for (int k = 0; k < 5; k++) cbench_turn(&t);
    }
    assert_int_equal(r, OK);
    struct collection_head h;
    assert_true(cbench_is_spread(&t, key, &h));
    const struct counted *index = index_of(&t, key);
    assert_non_null(index);
    assert_int_equal(counted_total(index), h.count);
    cbench_close(&t);
}

static enum err put_nothing(struct cbench *t, struct view *v, void *arg)
{
    const struct slice *key = arg;
    struct collection c;
    struct element x = {.name = slice_str("")};
    bool was_there = false;
    enum err r = collection_open(t->all, v, *key, COLLECTION_SET, &c, &t->e);
    if (r == OK) r = collection_put(&c, &x, &was_there, NULL, &t->e);
    return r == OK ? collection_save(&c, &t->e) : r;
}

/* Its row is the first of all, and has no rest. */
static void an_empty_member_is_counted_once(void **state)
{
    struct cbench t;
    (void)state;
    bench_open(&t, 1 << 20);
    struct slice key = a_set(&t, "set", SMALL);
    assert_int_equal(ask_now(&t, key), ERR_WAIT);
    assert_int_equal(cbench_commit(&t, put_nothing, &key), OK);
    ask_until_told(&t, key);
    assert_int_equal(counted_total(index_of(&t, key)), SMALL + 1);
    cbench_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_left_of_indexes_that_are_gone),
        cmocka_unit_test(a_transaction_asks_of_two_of_which_only_one_fits),
        cmocka_unit_test(what_was_just_built_is_seen_by_those_who_wait),
        cmocka_unit_test(one_that_does_not_fit_pushes_nothing_out),
        cmocka_unit_test(writes_without_end_do_not_keep_it_from_being_built),
        cmocka_unit_test(an_empty_member_is_counted_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
