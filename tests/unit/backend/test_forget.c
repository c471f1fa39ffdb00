/* Ranges that are forgotten go from the disk in the background, and nothing else does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/backend/local_help.h"

#define SPACE 11
#define ROWS 12000 /* more than one slice removes */

static struct slice row_of(unsigned range, unsigned row, uint8_t *out)
{
    int n = snprintf((char *)out, 32, "%c%c%cr%u-%06u", 0, 1, SPACE, range, row);
    return slice_of(out, (size_t)n);
}

static void write_range(struct rig *r, unsigned range, unsigned rows)
{
    static struct mutation items[1000];
    static uint8_t keys[1000][32];
    uint64_t version = 0;
    for (unsigned done = 0; done < rows;) {
        size_t count = 0;
        for (; count < 1000 && done < rows; count++) {
            items[count] = (struct mutation){.kind = MUTATION_SET,
                                             .key = row_of(range, done++, keys[count]),
                                             .value = slice_str("v")};
        }
        assert_int_equal(rig_try_commit(r, items, count, &version, NULL), OK);
    }
}

static void forget(struct rig *r, unsigned range)
{
    uint8_t start[32];
    uint8_t end[32];
    uint64_t version = 0;
    struct mutation mu = {.kind = MUTATION_FORGET,
                          .key = row_of(range, 0, start),
                          .value = row_of(range, 999999, end)};
    assert_int_equal(rig_try_commit(r, &mu, 1, &version, NULL), OK);
}

static unsigned count_space(struct rig *r)
{
    uint8_t start[KEY_HEAD_BYTES] = {KEY_HEAD(1, SPACE)};
    uint8_t end[KEY_HEAD_BYTES] = {KEY_HEAD(1, SPACE + 1)};
    struct scan_range range = {.start = slice_of(start, sizeof start),
                               .end = slice_of(end, sizeof end)};
    struct scan *s = NULL;
    struct slice key;
    struct entry entry;
    unsigned count = 0;
    assert_int_equal(backend_scan_open(r->b, &range, &s, NULL), OK);
    while (rig_scan_next(r, s, &key, &entry)) count++;
    backend_scan_close(s);
    return count;
}

static bool has_garbage(struct rig *r)
{
    struct backend_stats stats;
    backend_stats(r->b, &stats);
    return stats.has_garbage;
}

static void clean(struct rig *r)
{
    rig_apply(r);
    for (int i = 0; has_garbage(r); i++) {
        assert_true(i < STEPS_MAX);
        rig_step(r);
    }
}

static uint64_t stored_bytes(struct rig *r)
{
    struct backend_count count;
    backend_count(r->b, 1, &count);
    return count.stored_bytes;
}

/* After a flush too, when rows lie where they did not lie before. */
static void a_forgotten_range_goes_and_its_neighbours_stay(void **state)
{
    struct rig r;
    rig_init(&r);
    r.local.segment_bytes = 4 << 20;
    r.local.flush_rows = 1;
    rig_open(&r);
    write_range(&r, 2, 300);
    rig_apply(&r);
    rig_flush(&r, 1);
    clean(&r);
    for (unsigned i = 1; i <= 3; i++) write_range(&r, i, i == 2 ? ROWS : 100);
    rig_set(&r, key_of(1, "a"), slice_str("1"));
    rig_apply(&r);
    assert_int_equal(count_space(&r), ROWS + 200);
    assert_false(has_garbage(&r));
    forget(&r, 2);
    assert_true(has_garbage(&r));
    clean(&r);
    assert_int_equal(count_space(&r), 200);
    assert_int_equal(stored_bytes(&r), 200 * strlen("r1-000000v") + strlen("a1"));
    rig_expect(&r, key_of(1, "a"), "1");
    rig_close(&r);
    rig_fini(&r);
}

/* Whatever the moment: what the journal and the store know of it is enough. */
static void removing_goes_on_after_a_crash_and_a_stop(void **state)
{
    for (unsigned moment = 0; moment < 4; moment++) {
        struct rig r;
        rig_init(&r);
        r.local.segment_bytes = 4 << 20;
        rig_open(&r);
        write_range(&r, 1, ROWS);
        write_range(&r, 2, 10);
        if (moment % 2 == 0) rig_apply(&r);
        forget(&r, 1);
        rig_settle(&r);
        if (moment >= 2) rig_apply(&r);
        if (moment == 3) {
            rig_close(&r);
            rig_open(&r);
        } else {
            rig_crash(&r);
        }
        if (moment < 2) assert_true(has_garbage(&r));
        clean(&r);
        assert_int_equal(count_space(&r), 10);
        rig_close(&r);
        rig_fini(&r);
    }
}

/* Each slice leaves others a turn: it removes a part. */
static void it_is_removed_in_slices(void **state)
{
    struct rig r;
    rig_init(&r);
    r.local.segment_bytes = 4 << 20;
    rig_open(&r);
    write_range(&r, 1, ROWS);
    forget(&r, 1);
    pipeline_of(r.b)->clean.again_us = INT64_MAX; /* not by itself */
    rig_apply(&r);
    unsigned last = count_space(&r);
    unsigned slices = 0;
    assert_int_equal(last, ROWS);
    for (bool has_more = true; has_more;) {
        struct pipeline *p = pipeline_of(r.b);
        struct store_progress progress;
        assert_int_equal(store_clean(p->stored.store, &progress, &has_more, NULL), OK);
        store_counts_merge(&p->stored.counts, &progress.counts);
        store_progress_fini(&progress);
        range_cache_forget(&p->newest.range_cache);
        unsigned left = count_space(&r);
        assert_true(left <= last && last - left <= ROWS / 2);
        slices += left < last;
        last = left;
    }
    assert_int_equal(last, 0);
    assert_true(slices >= 2);
    rig_close(&r);
    rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forgotten_range_goes_and_its_neighbours_stay),
        cmocka_unit_test(removing_goes_on_after_a_crash_and_a_stop),
        cmocka_unit_test(it_is_removed_in_slices),
    };
    return cmocka_run_group_tests_name("forget", tests, NULL, NULL);
}
