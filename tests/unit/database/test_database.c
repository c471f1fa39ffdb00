/* Tests of the catalog of databases: its rows, names, the numbers that are given, what a restart
 * finds again, and rates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/clock.h"
#include "codec/pack.h"
#include "unit/database/database_help.h"

static const struct database_limits none = {0};

/* ---- rows ---- */

static void row_begin(struct buf *out, unsigned members, uint64_t format, const char *name)
{
    uint8_t head[PACK_HEAD_BYTES];
    buf_clear(out, SIZE_MAX);
    buf_append(out, head, pack_head(PACK_ARRAY, 0, members, head));
    pack_uint(out, format);
    pack_str(out, slice_str(name));
    pack_str(out, slice_str("why"));
    for (unsigned i = 3; i < members; i++) pack_uint(out, i * 1000);
}

static void a_row_of_each_format_is_read(void **state)
{
    struct buf b = {0};
    struct database d = {0};
    row_begin(&b, 10, 2, "two");
    assert_true(database_row_read(buf_slice(&b), &d));
    assert_true(slice_eq(d.name, slice_str("two")));
    assert_true(slice_eq(d.comment, slice_str("why")));
    assert_int_equal(d.limits.bytes_max, 3000);
    assert_int_equal(d.limits.entries_max, 4000);
    assert_int_equal(d.limits.rate, 5000);
    assert_int_equal(d.created, 6000);
    assert_int_equal(d.created_ms, 7000);
    assert_int_equal(d.limits.keep, 8000);
    assert_true(d.limits.is_left_out);
    d = (struct database){0};
    row_begin(&b, 8, 1, "one");
    assert_true(database_row_read(buf_slice(&b), &d));
    assert_true(slice_eq(d.name, slice_str("one")));
    assert_int_equal(d.created_ms, 7000);
    assert_int_equal(d.limits.keep, 0);
    assert_false(d.limits.is_left_out);
    buf_fini(&b);
}

static void a_row_of_another_format_is_damaged(void **state)
{
    struct buf b = {0};
    struct database d = {0};
    static const struct {
        unsigned members, format;
    } wrong[] = {{10, 1}, {8, 2}, {10, 3}, {10, 0}, {9, 2}, {9, 1}, {11, 2}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        row_begin(&b, wrong[i].members, wrong[i].format, "name");
        assert_false(database_row_read(buf_slice(&b), &d));
    }
    buf_fini(&b);
}

static void a_row_that_is_cut_or_longer_is_damaged(void **state)
{
    struct buf b = {0};
    struct database d = {0};
    row_begin(&b, 10, 2, "name");
    for (size_t len = 0; len < b.len; len++) {
        struct buf part = {0}; /* of its own: what is read beyond it is seen */
        buf_append(&part, b.data, len);
        assert_false(database_row_read(buf_slice(&part), &d));
        buf_fini(&part);
    }
    buf_append_byte(&b, 0);
    assert_false(database_row_read(buf_slice(&b), &d));
    buf_fini(&b);
}

static void a_row_has_a_name_of_1_to_64_bytes(void **state)
{
    struct buf b = {0};
    struct database d = {0};
    char name[66];
    memset(name, 'n', sizeof name - 1);
    name[65] = '\0';
    row_begin(&b, 10, 2, name);
    assert_false(database_row_read(buf_slice(&b), &d));
    name[64] = '\0';
    row_begin(&b, 10, 2, name);
    assert_true(database_row_read(buf_slice(&b), &d));
    row_begin(&b, 10, 2, "");
    assert_false(database_row_read(buf_slice(&b), &d));
    buf_fini(&b);
}

/* ---- names ---- */

static enum err try_name(struct catalog *t, const char *name)
{
    struct database_op o = {.change = DATABASE_CREATE, .name = slice_str(name)};
    return catalog_change(t, &o);
}

static void a_name_is_of_few_characters(void **state)
{
    struct catalog *t = *state;
    static const char *const good[] = {"a", "A-Z_0.9", "9a", "-", "a0"};
    static const char *const bad[] = {"",    "a b", "a/b",      "a@b", "a[b",
                                      "a`b", "a{b", "\xc3\xa4", "a\n"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(try_name(t, good[i]), OK);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (try_name(t, bad[i]) != ERR_SYNTAX) fail_msg("'%s' is taken", bad[i]);
        assert_non_null(strstr(t->e.text, "1 to 64 of A-Z"));
    }
}

static void a_name_has_64_bytes_at_most(void **state)
{
    char name[66];
    memset(name, 'n', sizeof name - 1);
    name[65] = '\0';
    assert_int_equal(try_name(*state, name), ERR_SYNTAX);
    name[64] = '\0';
    assert_int_equal(try_name(*state, name), OK);
}

static void digits_alone_are_a_number(void **state)
{
    struct catalog *t = *state;
    assert_int_equal(try_name(t, "16"), ERR_SYNTAX);
    assert_non_null(strstr(t->e.text, "such as db16"));
    assert_int_equal(try_name(t, "007"), ERR_SYNTAX);
    assert_int_equal(catalog_create(t, "db", none), 16);
    assert_ptr_equal(database_find(t->x, slice_str("16")), database_get(t->x, 16));
    assert_ptr_equal(database_find(t->x, slice_str("db")), database_get(t->x, 16));
    assert_null(database_find(t->x, slice_str("17")));
    assert_null(database_find(t->x, slice_str("DB")));
    assert_null(database_find(t->x, slice_str("65535"))); /* the catalog itself */
    assert_null(database_find(t->x, slice_str("65552"))); /* 16, were it cut to two bytes */
    assert_null(database_find(t->x, slice_str("")));
}

static void a_name_is_given_once(void **state)
{
    struct catalog *t = *state;
    uint16_t a = catalog_create(t, "a", none);
    uint16_t b = catalog_create(t, "b", none);
    assert_int_equal(try_name(t, "a"), ERR_SYNTAX);
    assert_string_equal(t->e.text, "database 'a' already exists");
    assert_int_equal(catalog_rename(t, b, "a"), ERR_SYNTAX);
    assert_int_equal(catalog_rename(t, a, "c"), OK);
    assert_null(database_find(t->x, slice_str("a")));
    assert_int_equal(catalog_rename(t, b, "a"), OK);
    assert_int_equal(database_find(t->x, slice_str("a"))->number, b);
    assert_int_equal(catalog_rename(t, 2, "two"), OK); /* of one that was always there */
    assert_int_equal(database_find(t->x, slice_str("two"))->number, 2);
    assert_int_equal(catalog_rename(t, 99, "x"), ERR_NODB);
}

/* ---- numbers ---- */

static bool is_selected(void *arg, uint16_t number)
{
    return number == *(uint16_t *)arg;
}

static void numbers_ascend_and_do_not_come_again(void **state)
{
    struct catalog *t = *state;
    uint16_t selected = 19;
    assert_int_equal(catalog_create(t, "a", none), 16);
    assert_int_equal(catalog_create(t, "b", none), 17);
    assert_int_equal(catalog_drop(t, 17), OK);
    assert_null(database_get(t->x, 17));
    assert_int_equal(catalog_create(t, "c", none), 18);
    assert_int_equal(catalog_drop(t, 18), OK);
    catalog_restart(t); /* the newest is remembered, though it was dropped */
    struct database_op o = {.change = DATABASE_CREATE,
                            .name = slice_str("d"),
                            .is_used = is_selected,
                            .arg = &selected};
    assert_int_equal(catalog_change(t, &o), OK);
    assert_int_equal(o.number, 20);
    assert_int_equal(catalog_create(t, "e", none), 21);
}

static void after_the_highest_number_comes_the_lowest_that_is_free(void **state)
{
    struct catalog *t = *state;
    assert_int_equal(catalog_create(t, "a", none), 16);
    t->x->last_number = 65533;
    assert_int_equal(catalog_create(t, "b", none), 65534);
    assert_int_equal(catalog_create(t, "c", none), 17); /* 65535 is the catalog, 16 is taken */
    assert_int_equal(catalog_create(t, "d", none), 18);
}

static void those_that_are_always_there_cannot_be_dropped(void **state)
{
    struct catalog *t = *state;
    for (uint16_t number = 0; number < FIXED; number++) {
        assert_int_equal(catalog_drop(t, number), ERR_SYNTAX);
        assert_non_null(strstr(t->e.text, "databases 0 to 15"));
        assert_non_null(database_get(t->x, number));
    }
    assert_int_equal(catalog_drop(t, FIXED), ERR_NODB);
    assert_int_equal(catalog_drop(t, 16), ERR_NODB);
    assert_int_equal(catalog_drop(t, DATABASE_CATALOG), ERR_NODB);
    assert_null(database_get(t->x, FIXED));
}

static void all_are_visited_in_order_and_counted(void **state)
{
    struct catalog *t = *state;
    struct databases_totals totals;
    struct database *d;
    uint32_t at = 0;
    size_t count = 0;
    static const uint16_t numbers[] = {0, 1, 2, 3, 16, 17};
    (void)catalog_create(t, "a", none);
    (void)catalog_create(t, "b", none);
    for (; (d = database_next(t->x, &at)) != NULL; at++) {
        assert_true(count < 6);
        assert_int_equal(d->number, numbers[count++]);
        assert_int_equal(at, d->number);
    }
    assert_int_equal(count, 6);
    databases_totals(t->x, &totals);
    assert_int_equal(totals.count, 6);
    assert_false(totals.is_reading);
    assert_int_equal(catalog_drop(t, 16), OK);
    databases_totals(t->x, &totals);
    assert_int_equal(totals.count, 5);
}

static void a_restart_finds_all_of_it(void **state)
{
    struct catalog *t = *state;
    const struct database_limits limits = {
        .bytes_max = 1 << 20, .entries_max = 7, .rate = 9, .keep = 3, .is_left_out = true};
    struct waiter w = {0};
    struct database_op limit = {.change = DATABASE_LIMIT,
                                .number = 1,
                                .comment = slice_str("of one"),
                                .limits = {.entries_max = 5}};
    assert_int_equal(catalog_create(t, "a", limits), 16);
    assert_int_equal(catalog_change(t, &limit), OK);
    uint64_t created = database_get(t->x, 16)->created;
    assert_true(created > 0);
    catalog_restart(t);
    while (databases_ready(t->x, &w, &t->e) == ERR_WAIT) {
        waiter_cancel(&w);
        catalog_tick(t);
    }
    const struct database *d = database_find(t->x, slice_str("a"));
    assert_non_null(d);
    assert_int_equal(d->number, 16);
    assert_memory_equal(&d->limits, &limits, sizeof limits);
    assert_int_equal(d->created, created);
    assert_int_equal(d->created_ms, START_MS);
    d = database_get(t->x, 1);
    assert_true(slice_eq(d->name, slice_str("1")));
    assert_true(slice_eq(d->comment, slice_str("of one")));
    assert_int_equal(d->limits.entries_max, 5);
    assert_int_equal(d->created, 0);
    assert_int_equal(t->x->limited, 2);
}

static void a_secret_is_made_once_and_stays(void **state)
{
    struct catalog *t = *state;
    uint8_t secret[DATABASE_SECRET_BYTES];
    for (int i = 0; i < 3; i++) {
        struct database_secret_op o = {.databases = t->x};
        struct op op = database_secret_op(&o);
        struct txn txn = {.database = DATABASE_CATALOG, .ops = &op, .count = 1};
        if (i == 0) assert_null(databases_secret(t->x));
        assert_int_equal(catalog_commit(t, &txn), OK);
        assert_int_equal(op.is_met, i == 0);
        if (i == 0) memcpy(secret, databases_secret(t->x), sizeof secret);
        assert_memory_equal(databases_secret(t->x), secret, sizeof secret);
        if (i == 1) catalog_restart(t);
    }
}

/* ---- rates ---- */

static int woken;

static void on_ready(struct waiter *w)
{
    (void)w;
    woken++;
}

static enum err take(struct catalog *t, struct database *d, uint64_t cost, struct waiter *w)
{
    *w = (struct waiter){.ready = on_ready};
    return database_take(t->x, d, cost, w, &t->e);
}

/* Ten a second, and the bucket is a tenth: one more than that may come early. */
static void a_rate_lets_so_many_through(void **state)
{
    struct catalog *t = *state;
    struct database *d = database_get(t->x,
                                      catalog_create(t, "a", (struct database_limits){.rate = 10}));
    struct waiter w;
    assert_int_equal(take(t, d, 1, &w), OK);
    assert_int_equal(take(t, d, 1, &w), OK);
    assert_int_equal(take(t, d, 1, &w), ERR_WAIT);
    assert_true(databases_have_late(t->x));
    waiter_cancel(&w);
    clock_set_fake_ms(START_MS + 99);
    assert_int_equal(take(t, d, 1, &w), ERR_WAIT);
    waiter_cancel(&w);
    clock_set_fake_ms(START_MS + 100);
    assert_int_equal(take(t, d, 1, &w), OK);
    assert_int_equal(take(t, d, 1, &w), ERR_WAIT);
    waiter_cancel(&w);
    /* What was not used for a long time is not saved. */
    clock_set_fake_ms(START_MS + 1000000);
    assert_int_equal(take(t, d, 1, &w), OK);
    assert_int_equal(take(t, d, 1, &w), OK);
    assert_int_equal(take(t, d, 1, &w), ERR_WAIT);
    waiter_cancel(&w);
    assert_int_equal(d->operations, 5);
}

/* One command of so many is a part of a microsecond. */
static void a_high_rate_is_kept_too(void **state)
{
    struct catalog *t = *state;
    struct waiter w;
    uint16_t n = catalog_create(t, "a", (struct database_limits){.rate = 3000000});
    struct database *d = database_get(t->x, n);
    int count = 0;
    while (count < 400000 && take(t, d, 1, &w) == OK) count++;
    assert_in_range(count, 300000, 300003);
    waiter_cancel(&w);
    /* What is left of a microsecond is none of a lower rate. */
    clock_set_fake_ms(START_MS + 1000000);
    d->limits.rate = UINT64_C(1) << 40;
    for (int i = 0; i < 1000; i++) assert_int_equal(take(t, d, 1, &w), OK);
    d->limits.rate = 1000;
    assert_int_equal(take(t, d, 1, &w), OK);
    assert_int_equal(take(t, d, 1, &w), OK);
}

static void a_cost_is_taken_at_once_and_paid_later(void **state)
{
    struct catalog *t = *state;
    struct database *d = database_get(t->x,
                                      catalog_create(t, "a", (struct database_limits){.rate = 10}));
    struct waiter w;
    assert_int_equal(take(t, d, 20, &w), OK); /* two seconds */
    clock_set_fake_ms(START_MS + 1899);
    assert_int_equal(take(t, d, 1, &w), ERR_WAIT);
    waiter_cancel(&w);
    clock_set_fake_ms(START_MS + 1900);
    assert_int_equal(take(t, d, 1, &w), OK);
    assert_int_equal(d->operations, 21);
}

/* `late`: commands that wait; the database lets 100 a second through, and is 110 ms behind. */
static struct database *rig_late(struct catalog *t, struct waiter *late, size_t count)
{
    struct database *d = database_get(
        t->x, catalog_create(t, "a", (struct database_limits){.rate = 100}));
    struct waiter w;
    woken = 0;
    assert_int_equal(take(t, d, 11, &w), OK);
    for (size_t i = 0; i < count; i++) assert_int_equal(take(t, d, 1, &late[i]), ERR_WAIT);
    return d;
}

static void a_tick_wakes_as_many_as_there_is_room_for(void **state)
{
    struct catalog *t = *state;
    struct waiter late[6];
    (void)rig_late(t, late, 6);
    databases_tick(t->x);
    assert_int_equal(woken, 0); /* not yet */
    clock_set_fake_ms(START_MS + 10);
    databases_tick(t->x);
    assert_int_equal(woken, 1);
    assert_null(late[0].next); /* the first that came */
    clock_set_fake_ms(START_MS + 40);
    databases_tick(t->x); /* three intervals more, and one that is always let through */
    assert_int_equal(woken, 1 + 4);
    assert_true(databases_have_late(t->x));
    databases_tick(t->x);
    assert_int_equal(woken, 6);
    databases_tick(t->x);
    assert_false(databases_have_late(t->x));
}

static void those_who_wait_are_woken_when_the_rate_or_the_database_goes(void **state)
{
    struct catalog *t = *state;
    struct waiter late[2];
    struct database *d = rig_late(t, late, 2);
    struct database_op o = {.change = DATABASE_LIMIT, .number = d->number, .limits = {.rate = 50}};
    assert_int_equal(catalog_change(t, &o), OK);
    assert_int_equal(woken, 0); /* it still has one */
    o.limits.rate = 0;
    assert_int_equal(catalog_change(t, &o), OK);
    assert_int_equal(woken, 2);
    assert_int_equal(catalog_drop(t, d->number), OK);
    d = rig_late(t, late, 2);
    assert_int_equal(catalog_drop(t, d->number), OK);
    assert_int_equal(woken, 2);
}

static void figures_of_one_that_is_dropped_go(void **state)
{
    struct catalog *t = *state;
    struct databases_totals totals;
    struct waiter w;
    struct database *d = database_get(t->x, catalog_create(t, "a", none));
    assert_int_equal(take(t, d, 5, &w), OK);
    assert_int_equal(take(t, database_get(t->x, 0), 2, &w), OK);
    database_count_throttled(t->x, d);
    databases_totals(t->x, &totals);
    assert_int_equal(totals.operations, 7);
    assert_int_equal(totals.throttled, 1);
    assert_int_equal(catalog_drop(t, d->number), OK);
    databases_totals(t->x, &totals);
    assert_int_equal(totals.operations, 2);
    assert_int_equal(totals.throttled, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, catalog_enter, catalog_leave)
        cmocka_unit_test(a_row_of_each_format_is_read),
        cmocka_unit_test(a_row_of_another_format_is_damaged),
        cmocka_unit_test(a_row_that_is_cut_or_longer_is_damaged),
        cmocka_unit_test(a_row_has_a_name_of_1_to_64_bytes),
        T(a_name_is_of_few_characters),
        T(a_name_has_64_bytes_at_most),
        T(digits_alone_are_a_number),
        T(a_name_is_given_once),
        T(numbers_ascend_and_do_not_come_again),
        T(after_the_highest_number_comes_the_lowest_that_is_free),
        T(those_that_are_always_there_cannot_be_dropped),
        T(all_are_visited_in_order_and_counted),
        T(a_restart_finds_all_of_it),
        T(a_secret_is_made_once_and_stays),
        T(a_rate_lets_so_many_through),
        T(a_high_rate_is_kept_too),
        T(a_cost_is_taken_at_once_and_paid_later),
        T(a_tick_wakes_as_many_as_there_is_room_for),
        T(those_who_wait_are_woken_when_the_rate_or_the_database_goes),
        T(figures_of_one_that_is_dropped_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
