/* Tests of writes that an index may take back (view_offer): the rest of the transaction happens,
 * and what was written for certain is never taken back with them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/index/index_help.h"

/* Offers values to keys, one after the other. */
struct offers {
    struct layer_op base;
    struct slice keys[3], values[3];
    size_t count;
};

static enum err apply(struct layer_op *op, struct view *v, bool *is_met, struct error *e)
{
    struct offers *x = (struct offers *)op;
    (void)e;
    for (size_t i = 0; i < x->count; i++) view_offer(v, x->keys[i], x->values[i]);
    *is_met = true;
    return OK;
}

static struct op offers_op(struct offers *x)
{
    x->base.apply = apply;
    return (struct op){.kind = OP_LAYER, .layer = &x->base};
}

static void expect(struct ibench *t, struct slice key, const char *json)
{
    struct entry entry;
    rig_load(&t->rig, key, &entry);
    assert_int_equal(entry.exists, json != NULL);
    if (json != NULL) assert_true(slice_eq(entry.value, ibench_value_of(t, json)));
}

static void open_unique(struct ibench *t)
{
    ibench_open(t, 100);
    assert_int_equal(ibench_create(t, "u", "p", "u", true), OK);
    assert_int_equal(ibench_set(t, ibench_data_key(t, "p", 1), "{\"u\":1}", 0), OK);
}

static void what_does_not_fit_is_taken_back_and_the_rest_happens(void **state)
{
    struct ibench t;
    open_unique(&t);
    struct slice two = ibench_data_key(&t, "p", 2);
    struct slice three = ibench_data_key(&t, "p", 3);
    assert_int_equal(ibench_set(&t, three, "{\"u\":3}", 0), OK);
    struct offers x = {.keys = {two, three, ibench_data_key(&t, "q", 1)},
                       .values = {ibench_value_of(&t, "{\"u\":1}"),
                                  ibench_value_of(&t, "{\"u\":1}"),
                                  ibench_value_of(&t, "{\"u\":1}")},
                       .count = 3};
    struct op op = offers_op(&x);
    assert_int_equal(ibench_run(&t, &op, 1), OK);
    expect(&t, two, NULL);
    expect(&t, three, "{\"u\":3}");
    expect(&t, x.keys[2], "{\"u\":1}"); /* not below the prefix */
    ibench_audit(&t);
    ibench_close(&t);
}

static void of_two_offers_of_a_value_one_fits(void **state)
{
    struct ibench t;
    open_unique(&t);
    struct slice two = ibench_data_key(&t, "p", 2);
    struct slice three = ibench_data_key(&t, "p", 3);
    struct offers x = {
        .keys = {two, three},
        .values = {ibench_value_of(&t, "{\"u\":9}"), ibench_value_of(&t, "{\"u\":9}")},
        .count = 2};
    struct op op = offers_op(&x);
    assert_int_equal(ibench_run(&t, &op, 1), OK);
    expect(&t, two, "{\"u\":9}");
    expect(&t, three, NULL);
    ibench_audit(&t);
    ibench_close(&t);
}

static void a_certain_write_is_not_taken_back_with_an_offer(void **state)
{
    struct ibench t;
    open_unique(&t);
    struct slice two = ibench_data_key(&t, "p", 2);
    struct offers x = {.keys = {two}, .values = {ibench_value_of(&t, "{\"u\":1}")}, .count = 1};
    struct op set = {.kind = OP_SET, .key = two, .value = ibench_value_of(&t, "{\"u\":2}")};
    /* The set comes last: it is what the key has. */
    struct op last[2] = {offers_op(&x), set};
    assert_int_equal(ibench_run(&t, last, 2), OK);
    expect(&t, two, "{\"u\":2}");
    ibench_audit(&t);
    /* The offer comes last: all of it is refused. */
    set.value = ibench_value_of(&t, "{\"u\":5}");
    struct op first[2] = {set, offers_op(&x)};
    assert_int_equal(ibench_run(&t, first, 2), ERR_DUPLICATE);
    expect(&t, two, "{\"u\":2}");
    ibench_audit(&t);
    ibench_close(&t);
}

/* What an earlier command of EXEC wrote is judged already: only the offer is taken back. */
static void an_offer_over_what_was_judged_is_an_offer(void **state)
{
    struct ibench t;
    uint64_t version = 0;
    open_unique(&t);
    struct slice two = ibench_data_key(&t, "p", 2);
    struct offers x = {.keys = {two}, .values = {ibench_value_of(&t, "{\"u\":1}")}, .count = 1};
    struct op ops[2] = {{.kind = OP_SET, .key = two, .value = ibench_value_of(&t, "{\"u\":2}")},
                        offers_op(&x)};
    struct overlay *o = engine_begin(t.g, &t.arena);
    for (int i = 0; i < 2; i++) {
        struct txn txn = {.overlay = o, .ops = &ops[i], .count = 1, .arena = &t.arena};
        assert_int_equal(engine_commit(t.g, &txn, &t.rig.waiter, &t.e), OK);
    }
    assert_int_equal(engine_end(o, &version, &t.rig.waiter, &t.e), OK);
    expect(&t, two, "{\"u\":2}");
    ibench_audit(&t);
    ibench_close(&t);
}

/* A set that does not fit is an error, also after an offer. */
static void a_certain_write_behind_an_offer_is_judged_as_such(void **state)
{
    struct ibench t;
    open_unique(&t);
    struct slice two = ibench_data_key(&t, "p", 2);
    struct offers x = {.keys = {two}, .values = {ibench_value_of(&t, "{\"u\":7}")}, .count = 1};
    struct op ops[2] = {offers_op(&x),
                        {.kind = OP_SET, .key = two, .value = ibench_value_of(&t, "{\"u\":1}")}};
    assert_int_equal(ibench_run(&t, ops, 2), ERR_DUPLICATE);
    expect(&t, two, NULL);
    ibench_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_is_taken_back_and_the_rest_happens),
        cmocka_unit_test(of_two_offers_of_a_value_one_fits),
        cmocka_unit_test(a_certain_write_is_not_taken_back_with_an_offer),
        cmocka_unit_test(an_offer_over_what_was_judged_is_an_offer),
        cmocka_unit_test(a_certain_write_behind_an_offer_is_judged_as_such),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
