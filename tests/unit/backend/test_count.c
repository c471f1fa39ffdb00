/* Tests of the counts of a database's entries, in memory and in the store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/backend/local_help.h"

/* What the store has of all databases together is the sum of what it has of each. */
static void expect_sums(struct rig *r)
{
    struct backend_stats stats;
    uint64_t entries = 0;
    uint64_t expiring = 0;
    uint64_t bytes = 0;
    uint16_t i = 0;
    backend_stats(r->b, &stats);
    for (uint32_t at = 0; backend_database_next(r->b, at, &i); at = (uint32_t)i + 1) {
        struct backend_count count;
        backend_count(r->b, i, &count);
        entries += count.stored_entries;
        expiring += count.stored_expiring;
        bytes += count.stored_bytes;
    }
    assert_int_equal(stats.stored_entries, entries);
    assert_int_equal(stats.stored_expiring, expiring);
    assert_int_equal(stats.stored_bytes, bytes);
}

static void expect_counts(struct rig *r, uint64_t entries, uint64_t expiring)
{
    struct backend_count count;
    backend_count(r->b, 0, &count);
    assert_int_equal(count.entries, entries);
    assert_int_equal(count.expiring, expiring);
    expect_sums(r);
}

static void set_expiring(struct rig *r, const char *name)
{
    struct error e;
    uint64_t version = 0;
    struct mutation mu = {.kind = MUTATION_SET,
                          .key = key_of(0, "%s", name),
                          .value = slice_str("1"),
                          .expiry_ms = INT64_MAX};
    assert_int_equal(rig_try_commit(r, &mu, 1, &version, &e), OK);
}

static void a_flush_leaves_no_counts(void **state)
{
    for (int is_applied = 0; is_applied < 2; is_applied++) {
        struct rig r;
        rig_init(&r);
        rig_open(&r);
        set_expiring(&r, "a");
        set_expiring(&r, "b");
        rig_set(&r, key_of(0, "c"), slice_str("1"));
        expect_counts(&r, 3, 2);
        if (is_applied) rig_apply(&r);
        expect_counts(&r, 3, 2);
        rig_flush(&r, 0);
        expect_counts(&r, 0, 0);
        set_expiring(&r, "a");
        expect_counts(&r, 1, 1);
        rig_apply(&r);
        expect_counts(&r, 1, 1);
        rig_fini(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flush_leaves_no_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
