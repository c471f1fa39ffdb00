/* pick: random elements of large collections: what is read and kept for them is bounded, and over a
 * store that is slow they are found all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/fault.h"
#include "collection/index.h"
#include "collection/pick.h"
#include "unit/collection/collection_help.h"

#define LARGE 75000       /* put in one transaction */
#define VALUE_BYTES 90000 /* of a large value */

struct asking {
    struct slice key;
    enum collection_kind kind;
    struct pick pick;
};

static enum err ask(struct cbench *t, struct view *v, void *arg)
{
    struct asking *a = arg;
    struct collection c;
    enum err r = collection_open(t->all, v, a->key, a->kind, &c, &t->e);
    return r == OK ? pick_random(&c, &a->pick, &t->e) : r;
}

/* SPOP. */
static enum err pop(struct cbench *t, struct view *v, void *arg)
{
    struct asking *a = arg;
    struct collection c;
    enum err r = collection_open(t->all, v, a->key, a->kind, &c, &t->e);
    if (r == OK) r = pick_random(&c, &a->pick, &t->e);
    for (size_t i = 0; i < a->pick.picked && r == OK; i++) {
        bool was_there = false;
        r = collection_remove(&c, a->pick.items[i].name, &was_there, NULL, &t->e);
        if (r == OK) assert_true(was_there); /* each of them is another one */
        if (r == ERR_WAIT) pick_begin_reads(&c, &a->pick.items[i], a->pick.picked - i);
    }
    return r == OK ? collection_save(&c, &t->e) : r;
}

static void members_are_taken_out_of_a_large_set(void **state)
{
    struct cbench t;
    struct collection_head h;
    struct asking a = {.kind = COLLECTION_SET, .pick = {.seed = 1, .count = 2000}};
    (void)state;
    cbench_open(&t, PACK_BYTES_DEFAULT);
    a.key = cbench_key(&t, 0, "set");
    cbench_fill(&t, a.key, COLLECTION_SET, 0, LARGE);
    cbench_fill(&t, a.key, COLLECTION_SET, LARGE, LARGE);
    if (cbench_commit(&t, pop, &a) != OK) fail_msg("%s", t.e.text); /* some blocks */
    a.pick.count = 10000;
    if (cbench_commit(&t, pop, &a) != OK) fail_msg("%s", t.e.text); /* all of them */
    assert_true(cbench_is_spread(&t, a.key, &h));
    assert_int_equal(h.count, 2 * LARGE - 12000);
    cbench_close(&t);
}

/* ---- large values ---- */

static enum err fill_large(struct cbench *t, struct view *v, void *arg)
{
    const struct asking *a = arg;
    struct collection c;
    enum err r = collection_open(t->all, v, a->key, COLLECTION_HASH, &c, &t->e);
    for (unsigned i = 0; i < 3 && r == OK; i++) {
        struct element x = {.name = cbench_text(t, "%u", i),
                            .value = cbench_long(t, VALUE_BYTES, i)};
        bool was_there = false;
        r = collection_put(&c, &x, &was_there, NULL, &t->e);
    }
    return r == OK ? collection_save(&c, &t->e) : r;
}

static void large_values_are_neither_copied_nor_told_too_often(void **state)
{
    struct cbench t;
    struct asking a = {.kind = COLLECTION_HASH,
                       .pick = {.seed = 1, .count = 1000, .repeats = true}};
    (void)state;
    cbench_open(&t, PACK_BYTES_DEFAULT);
    a.key = cbench_key(&t, 0, "hash");
    assert_int_equal(cbench_commit(&t, fill_large, &a), OK);
    size_t held = t.arena.held_bytes;
    assert_int_equal(cbench_read(&t, ask, &a), OK);
    assert_int_equal(a.pick.picked, 1000);
    a.pick.with_values = true;
    a.pick.count = 700; /* of less than max-transaction-size */
    assert_int_equal(cbench_read(&t, ask, &a), OK);
    for (size_t i = 0; i < a.pick.picked; i++) {
        assert_int_equal(a.pick.items[i].value.len, VALUE_BYTES);
    }
    a.pick.count = 1000;
    assert_int_equal(cbench_read(&t, ask, &a), ERR_LIMIT);
    assert_int_equal(a.pick.picked, 0);
    assert_in_range(t.arena.held_bytes - held, 0, 1 << 20);
    cbench_close(&t);
}

/* ---- what is walked is bounded ---- */

static enum err one_expires(struct cbench *t, struct view *v, void *arg)
{
    const struct asking *a = arg;
    struct collection c;
    struct element x = {.name = slice_str("0"), .expiry_ms = START_MS + 1000000};
    bool was_there = false;
    enum err r = collection_open(t->all, v, a->key, COLLECTION_HASH, &c, &t->e);
    if (r == OK) r = collection_put(&c, &x, &was_there, NULL, &t->e);
    return r == OK ? collection_save(&c, &t->e) : r;
}

static void a_hash_that_is_too_large_to_be_walked_is_refused(void **state)
{
    struct cbench t;
    struct asking a = {.kind = COLLECTION_HASH, .pick = {.seed = 1, .count = 3}};
    (void)state;
    cbench_open(&t, PACK_BYTES_DEFAULT);
    a.key = cbench_key(&t, 0, "hash");
    cbench_fill(&t, a.key, COLLECTION_HASH, 0, LARGE);
    assert_int_equal(cbench_commit(&t, one_expires, &a), OK);
    assert_int_equal(cbench_read(&t, ask, &a), OK);
    assert_int_equal(a.pick.picked, 3);
    cbench_fill(&t, a.key, COLLECTION_HASH, LARGE, LARGE);
    assert_int_equal(cbench_read(&t, ask, &a), ERR_LIMIT);
    cbench_close(&t);
}

/* ---- a store that is slow ---- */

static void nothing_ready(struct waiter *w)
{
    (void)w;
}

/* How often it has to wait. */
static unsigned waits_of(struct cbench *t, cbench_change *change, struct asking *a)
{
    struct waiter w = {.ready = nothing_ready};
    for (unsigned n = 0; n < STEPS_MAX; n++) {
        struct view v = view_reading(t->g, NULL, 0, &t->arena, &w);
        enum err r = change(t, &v, a);
        if (r != ERR_WAIT) {
            if (r != OK) fail_msg("%s", t->e.text);
            backend_run_over(t->rig.b, &w);
            return n;
        }
        for (int i = 0; i < 300; i++) rig_step(&t->rig); /* a thread does one read in each */
        assert_null(w.next);
    }
    fail_msg("it waits for ever");
    return 0;
}

static void they_are_found_though_every_read_waits(void **state)
{
    struct cbench t;
    struct asking a = {.kind = COLLECTION_HASH,
                       .pick = {.seed = 1, .count = 100, .with_values = true}};
    (void)state;
    cbench_open(&t, PACK_BYTES_DEFAULT);
    a.key = cbench_key(&t, 0, "hash");
    cbench_fill(&t, a.key, COLLECTION_HASH, 0, LARGE);
    cbench_restart(&t);
    a.pick.count = 1;
    assert_int_equal(cbench_read(&t, ask, &a), OK); /* the index is there, and little else */
    a.pick.count = 100;
    fault_arm("vfs.nowait", 1, true);
    unsigned waits = waits_of(&t, ask, &a);
    assert_in_range(waits, 1, 20);
    /* What is in memory by now makes no difference. */
    struct asking again = a;
    assert_in_range(waits_of(&t, ask, &again), 0, 20);
    for (size_t i = 0; i < a.pick.picked; i++) {
        assert_true(slice_eq(again.pick.items[i].name, a.pick.items[i].name));
        assert_true(slice_eq(again.pick.items[i].value, a.pick.items[i].name));
    }
    fault_arm("vfs.nowait", 0, true);
    cbench_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_taken_out_of_a_large_set),
        cmocka_unit_test(large_values_are_neither_copied_nor_told_too_often),
        cmocka_unit_test(a_hash_that_is_too_large_to_be_walked_is_refused),
        cmocka_unit_test(they_are_found_though_every_read_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
