/* Tests of database/quota: what a full database refuses and what it takes, to the byte and the
 * entry. The values are stored as they are, and no other layer adds rows: what a key and a value
 * have is what counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/database/database_help.h"

#define KEY_1 3 /* bytes of a tuple of one string of one byte, its database and space not counted */

static struct slice key_in(struct catalog *t, uint16_t database, uint8_t space, const char *text)
{
    uint8_t *p = arena_alloc(&t->arena, KEY_HEAD_BYTES + strlen(text));
    memcpy(key_head_write(p, database, space), text, strlen(text));
    return slice_of(p, KEY_HEAD_BYTES + strlen(text));
}

/* A layer's operation that writes these rows, of any space. */
struct writing {
    struct layer_op base;            /* first */
    struct slice keys[4], values[4]; /* value.data NULL = deleted */
    size_t count;
    bool is_exempt;
};

static enum err writing_apply(struct layer_op *op, struct view *v, bool *is_met, struct error *e)
{
    const struct writing *x = (const struct writing *)op;
    (void)e;
    *is_met = true;
    if (x->is_exempt) view_exempt(v);
    for (size_t i = 0; i < x->count; i++) {
        if (x->values[i].data == NULL) {
            view_delete(v, x->keys[i]);
        } else {
            view_set(v, x->keys[i], x->values[i]);
        }
    }
    return OK;
}

static void writing_add(struct writing *x, struct slice key, const char *value)
{
    x->keys[x->count] = key;
    x->values[x->count++] = value != NULL ? slice_str(value) : slice_of(NULL, 0);
}

static enum err write_all(struct catalog *t, uint16_t database, struct writing *x, bool flushes)
{
    struct op op = {.kind = OP_LAYER, .layer = &x->base};
    struct txn txn = {.database = database, .ops = &op, .count = 1, .has_flush = flushes};
    x->base.apply = writing_apply;
    return catalog_commit(t, &txn);
}

static uint16_t with_entries(struct catalog *t, uint64_t max)
{
    return catalog_create(t, "small", (struct database_limits){.entries_max = max});
}

static uint16_t with_bytes(struct catalog *t, uint64_t max)
{
    return catalog_create(t, "small", (struct database_limits){.bytes_max = max});
}

static void a_database_holds_so_many_entries(void **state)
{
    struct catalog *t = *state;
    uint16_t d = with_entries(t, 2);
    assert_int_equal(catalog_put(t, d, "a", "1"), OK);
    assert_int_equal(catalog_put(t, d, "b", "1"), OK);
    assert_int_equal(catalog_put(t, d, "c", "1"), ERR_QUOTA);
    assert_string_equal(t->e.text, "database 'small' has 2 of 2 entries");
    assert_int_equal(catalog_put(t, d, "a", "2"), OK);  /* it is there already */
    assert_int_equal(catalog_put(t, d, "c", NULL), OK); /* nothing to delete */
    assert_int_equal(catalog_put(t, d, "c", "1"), ERR_QUOTA);
    assert_int_equal(catalog_put(t, d, "a", NULL), OK);
    assert_int_equal(catalog_put(t, d, "c", "1"), OK);
    assert_int_equal(catalog_put(t, d, "a", "1"), ERR_QUOTA);
    assert_int_equal(backend_entries(t->rig.b, d), 2);
}

static void others_are_not_its_concern(void **state)
{
    struct catalog *t = *state;
    uint16_t d = with_entries(t, 1);
    assert_int_equal(catalog_put(t, d, "a", "1"), OK);
    assert_int_equal(catalog_put(t, 0, "a", "1"), OK);
    assert_int_equal(catalog_put(t, 0, "b", "1"), OK);
    assert_int_equal(catalog_put(t, d, "b", "1"), ERR_QUOTA);
    assert_int_equal(catalog_drop(t, d), OK);
    assert_int_equal(t->x->limited, 0);
}

static void what_it_has_is_known_after_a_restart(void **state)
{
    struct catalog *t = *state;
    uint16_t d = with_entries(t, 2);
    assert_int_equal(catalog_put(t, d, "a", "1"), OK);
    catalog_restart(t);
    assert_int_equal(catalog_put(t, d, "b", "1"), OK);
    assert_int_equal(catalog_put(t, d, "c", "1"), ERR_QUOTA);
}

static void bytes_count_up_to_the_last(void **state)
{
    struct catalog *t = *state;
    uint16_t d = with_bytes(t, KEY_1 + 10);
    assert_int_equal(catalog_put(t, d, "a", "12345678901"), ERR_QUOTA);
    assert_string_equal(
        t->e.text, "database 'small' has 0 bytes of 13 bytes, and this would exceed the limit");
    assert_int_equal(catalog_put(t, d, "a", "1234567890"), OK);
    assert_int_equal(catalog_put(t, d, "b", ""), ERR_QUOTA);
    assert_int_equal(catalog_put(t, d, "a", "12345678901"), ERR_QUOTA);
    assert_int_equal(catalog_put(t, d, "a", "123"), OK); /* what is replaced makes room */
    assert_int_equal(catalog_put(t, d, "b", "12345"), ERR_QUOTA);
    assert_int_equal(catalog_put(t, d, "b", "1234"), OK);
    assert_int_equal(catalog_put(t, d, "a", NULL), OK);
    assert_int_equal(catalog_put(t, d, "b", "1234567890"), OK);
}

/* A limit that comes late refuses what adds, not what is there. */
static void one_that_is_over_its_limit_may_shrink(void **state)
{
    struct catalog *t = *state;
    uint16_t d = with_bytes(t, 1000);
    struct database_op o = {.change = DATABASE_LIMIT, .number = d, .limits = {.bytes_max = 5}};
    assert_int_equal(catalog_put(t, d, "a", "1234567890"), OK);
    assert_int_equal(catalog_change(t, &o), OK);
    assert_int_equal(catalog_put(t, d, "a", "0987654321"), OK);
    assert_int_equal(catalog_put(t, d, "a", "123456789"), OK);
    assert_int_equal(catalog_put(t, d, "a", "1234567890"), ERR_QUOTA);
    o.limits = (struct database_limits){0};
    assert_int_equal(catalog_change(t, &o), OK);
    assert_int_equal(catalog_put(t, d, "a", "12345678901234567890"), OK);
}

static void a_limit_that_comes_late_counts_what_was_there(void **state)
{
    struct catalog *t = *state;
    uint16_t d = catalog_create(t, "small", (struct database_limits){0});
    struct database_op o = {.change = DATABASE_LIMIT, .number = d, .limits = {.entries_max = 2}};
    for (int i = 0; i < 3; i++) assert_int_equal(catalog_put(t, d, "a", "1"), OK);
    assert_int_equal(catalog_change(t, &o), OK);
    assert_int_equal(catalog_put(t, d, "b", "1"), OK); /* three writes were one entry */
    assert_int_equal(catalog_put(t, d, "c", "1"), ERR_QUOTA);
}

static void a_transaction_is_judged_as_a_whole(void **state)
{
    struct catalog *t = *state;
    uint16_t d = with_entries(t, 1);
    struct writing one_for_one = {.count = 0};
    struct writing two = {.count = 0};
    struct slice a = key_in(t, d, SPACE_DATA, "a");
    struct slice b = key_in(t, d, SPACE_DATA, "b");
    writing_add(&two, a, "1");
    writing_add(&two, b, "1");
    assert_int_equal(write_all(t, d, &two, false), ERR_QUOTA);
    assert_int_equal(backend_entries(t->rig.b, d), 0); /* nothing of it was done */
    writing_add(&one_for_one, a, NULL);
    writing_add(&one_for_one, b, "1");
    two.count = 1;
    assert_int_equal(write_all(t, d, &two, false), OK);
    assert_int_equal(write_all(t, d, &one_for_one, false), OK);
}

static void a_flush_makes_room_in_its_own_transaction(void **state)
{
    struct catalog *t = *state;
    uint16_t d = with_entries(t, 2);
    struct writing x = {.count = 0};
    assert_int_equal(catalog_put(t, d, "a", "1"), OK);
    assert_int_equal(catalog_put(t, d, "b", "1"), OK);
    writing_add(&x, key_in(t, d, SPACE_DATA, "x"), "1");
    writing_add(&x, key_in(t, d, SPACE_DATA, "y"), "1");
    writing_add(&x, key_in(t, d, SPACE_DATA, "z"), "1");
    assert_int_equal(write_all(t, d, &x, true), ERR_QUOTA);
    x.count = 2;
    assert_int_equal(write_all(t, d, &x, true), OK);
    assert_int_equal(backend_entries(t->rig.b, d), 2);
}

static void rows_of_queues_come_also_when_it_is_full(void **state)
{
    struct catalog *t = *state;
    uint16_t d = with_bytes(t, 5);
    static const struct {
        uint8_t space;
        enum err wanted;
    } rows[] = {{SPACE_DATA, ERR_QUOTA}, {SPACE_MESSAGE, ERR_QUOTA}, {SPACE_INDEX_ENTRY, ERR_QUOTA},
                {SPACE_IDEM, ERR_QUOTA}, {SPACE_STATE, OK},          {SPACE_LEASE, OK},
                {SPACE_READY, OK},       {SPACE_QUEUE, OK}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct writing x = {.count = 0};
        writing_add(&x, key_in(t, d, rows[i].space, "k"), "12345");
        assert_int_equal(write_all(t, d, &x, false), rows[i].wanted);
    }
    /* They count: what adds finds no room. */
    struct writing x = {.count = 0};
    writing_add(&x, key_in(t, d, SPACE_DATA, "k"), "1");
    assert_int_equal(write_all(t, d, &x, false), ERR_QUOTA);
}

static void the_servers_own_work_is_not_refused(void **state)
{
    struct catalog *t = *state;
    uint16_t d = with_entries(t, 1);
    struct writing x = {.is_exempt = true};
    writing_add(&x, key_in(t, d, SPACE_DATA, "a"), "1");
    writing_add(&x, key_in(t, d, SPACE_DATA, "b"), "1");
    assert_int_equal(write_all(t, d, &x, false), OK);
    assert_int_equal(backend_entries(t->rig.b, d), 2);
    assert_int_equal(catalog_put(t, d, "c", "1"), ERR_QUOTA);
    assert_string_equal(t->e.text, "database 'small' has 2 of 1 entries");
}

static void each_database_of_a_transaction_is_judged(void **state)
{
    struct catalog *t = *state;
    uint16_t large = catalog_create(t, "large", (struct database_limits){.entries_max = 100});
    uint16_t d = with_entries(t, 1);
    struct writing x = {.count = 0};
    assert_int_equal(catalog_put(t, d, "a", "1"), OK);
    writing_add(&x, key_in(t, large, SPACE_DATA, "a"), "1");
    writing_add(&x, key_in(t, d, SPACE_DATA, "b"), "1");
    writing_add(&x, key_in(t, large, SPACE_DATA, "b"), "1");
    assert_int_equal(write_all(t, large, &x, false), ERR_QUOTA);
    assert_int_equal(backend_entries(t->rig.b, large), 0);
}

static void sizes_are_told_in_their_unit(void **state)
{
    struct catalog *t = *state;
    static const struct {
        uint64_t bytes_max;
        const char *text;
    } limits[] = {
        {1, "of 1 bytes,"}, {1023, "of 1023 bytes,"}, {1024, "of 1.0 KB,"}, {1536, "of 1.5 KB,"}};
    char value[1000];
    uint16_t d = catalog_create(t, "small", (struct database_limits){0});
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    assert_int_equal(catalog_put(t, d, "a", value), OK);
    assert_int_equal(catalog_put(t, d, "b", value), OK);
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct database_op o = {
            .change = DATABASE_LIMIT, .number = d, .limits = {.bytes_max = limits[i].bytes_max}};
        assert_int_equal(catalog_change(t, &o), OK);
        assert_int_equal(catalog_put(t, d, "c", ""), ERR_QUOTA);
        assert_non_null(strstr(t->e.text, "has 2.0 KB "));
        assert_non_null(strstr(t->e.text, limits[i].text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, catalog_enter, catalog_leave)
        T(a_database_holds_so_many_entries),
        T(others_are_not_its_concern),
        T(what_it_has_is_known_after_a_restart),
        T(bytes_count_up_to_the_last),
        T(one_that_is_over_its_limit_may_shrink),
        T(a_limit_that_comes_late_counts_what_was_there),
        T(a_transaction_is_judged_as_a_whole),
        T(a_flush_makes_room_in_its_own_transaction),
        T(rows_of_queues_come_also_when_it_is_full),
        T(the_servers_own_work_is_not_refused),
        T(each_database_of_a_transaction_is_judged),
        T(sizes_are_told_in_their_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
