/* slow_reads: what happens while a read of the store is on its way to the disk and back: the entry
 * moves from a memtable into the store, the scan is closed, the database is flushed. The fault point
 * vfs.nowait makes every read wait; the rig's query worker reads when it is polled.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/fault.h"
#include "unit/backend/local_help.h"

/* Opened, with k = "1" in the store alone: neither memtables nor cache know it. */
static void open_with_one(struct rig *r)
{
    rig_init(r);
    rig_open(r);
    rig_set(r, key_of(0, "k"), slice_str("1"));
    rig_close(r);
    rig_open(r);
}

static void reads_wait(bool they_do)
{
    fault_arm("vfs.nowait", they_do ? 1 : 0, true);
}

/* The next read of a thread sees the store as it is now, whatever is applied until it runs: a read
 * that has begun, and that the disk takes long for. */
static void next_read_is_of_now(struct pipeline *l)
{
    struct pooled_reader *reader = NULL;
    assert_int_equal(reader_take(l, &reader, NULL), OK);
    assert_int_equal(store_pin(reader->reader, NULL), OK);
    reader->next = l->stored.idle_readers;
    l->stored.idle_readers = reader;
}

/* The jobs that were posted: reads, and small work that stands before them. */
static void run_jobs(struct worker *thread)
{
    while (worker_poll(thread)) continue;
}

/* Everything that was committed is in the store, and no thread has read anything meanwhile. */
static void apply_without_reads(struct rig *r)
{
    struct pipeline *l = pipeline_of(r->b);
    pipeline_freeze(l);
    for (int i = 0; l->newest.frozen_count > 0 || l->newest.retiring != NULL; i++) {
        assert_true(i < STEPS_MAX);
        backend_turn_end(r->b);
        if (l->log.journal->ops->poll(l->log.journal)) journal_submit(l->log.journal);
        worker_poll(l->workers.store);
    }
}

static void a_read_that_an_apply_overtakes_is_not_remembered(void **state)
{
    struct rig r;
    struct entry entry;
    struct error e;
    open_with_one(&r);
    struct pipeline *l = pipeline_of(r.b);
    reads_wait(true);
    next_read_is_of_now(l);
    assert_int_equal(backend_load(r.b, key_of(0, "k"), &entry, &r.waiter, &e), ERR_WAIT);
    rig_set(&r, key_of(0, "k"), slice_str("2"));
    apply_without_reads(&r);
    assert_false(r.is_ready);
    run_jobs(l->workers.query);
    assert_true(r.is_ready);
    reads_wait(false);
    rig_expect(&r, key_of(0, "k"), "2");
    /* Nor is absence. */
    reads_wait(true);
    r.is_ready = false;
    next_read_is_of_now(l);
    assert_int_equal(backend_load(r.b, key_of(0, "new"), &entry, &r.waiter, &e), ERR_WAIT);
    rig_set(&r, key_of(0, "new"), slice_str("3"));
    apply_without_reads(&r);
    run_jobs(l->workers.query);
    assert_true(r.is_ready);
    reads_wait(false);
    rig_expect(&r, key_of(0, "new"), "3");
    rig_close(&r);
    rig_fini(&r);
}

/* What a read brings while nothing is applied is remembered. */
static void a_read_that_nothing_overtakes_is_remembered(void **state)
{
    struct rig r;
    struct entry entry;
    open_with_one(&r);
    reads_wait(true);
    assert_int_equal(backend_load(r.b, key_of(0, "k"), &entry, &r.waiter, NULL), ERR_WAIT);
    run_jobs(pipeline_of(r.b)->workers.query);
    assert_true(r.is_ready);
    assert_int_equal(backend_load(r.b, key_of(0, "k"), &entry, &r.waiter, NULL), OK);
    assert_true(entry.exists);
    rig_close(&r);
    rig_fini(&r);
}

/* ---- scans that are closed before the thread is done ---- */

static struct scan *open_scan(struct rig *r, struct row_filter *filter)
{
    struct scan_range range = {.start = key_low(0), .end = key_high(0), .filter = filter};
    struct scan *s = NULL;
    range.with_values = true;
    assert_int_equal(backend_scan_open(r->b, &range, &s, NULL), OK);
    return s;
}

/* No caller is told after the close; when the thread is done the scan goes, and its readers are
 * there for others. */
static void close_and_finish(struct rig *r, struct scan *s, struct worker *thread)
{
    struct pipeline *l = pipeline_of(r->b);
    waiter_cancel(&r->waiter);
    backend_scan_close(s);
    assert_int_equal(l->scans_open, 1);
    assert_null(l->stored.idle_readers);
    run_jobs(thread);
    assert_int_equal(l->scans_open, 0);
    unsigned idle = 0;
    for (struct pooled_reader *p = l->stored.idle_readers; p != NULL; p = p->next) idle++;
    assert_true(idle > 0);
    assert_int_equal(l->stored.readers_open, idle);
    assert_false(r->is_ready);
    reads_wait(false);
    rig_expect(r, key_of(0, "k"), "1");
    rig_close(r);
    rig_fini(r);
}

static void a_scan_may_be_closed_while_its_rows_are_fetched(void **state)
{
    struct rig r;
    struct slice key;
    struct entry entry;
    open_with_one(&r);
    reads_wait(true);
    struct scan *s = open_scan(&r, NULL);
    assert_int_equal(backend_scan_next(s, &key, &entry, &r.waiter, NULL), ERR_WAIT);
    close_and_finish(&r, s, pipeline_of(r.b)->workers.query);
}

static void a_scan_may_be_closed_while_its_entries_are_fetched(void **state)
{
    struct rig r;
    struct entry entry;
    open_with_one(&r);
    reads_wait(true);
    struct scan *s = open_scan(&r, NULL);
    struct slice key = key_of(0, "k");
    assert_int_equal(backend_scan_load(s, &key, 1, &entry, &r.waiter, NULL), ERR_WAIT);
    close_and_finish(&r, s, pipeline_of(r.b)->workers.query);
}

struct counted_filter {
    struct row_filter base; /* first */
    unsigned refs, looks;
};

static bool counted_matches(const struct row_filter *f, struct slice value)
{
    ((struct counted_filter *)(uintptr_t)f)->looks++;
    return value.len > 0;
}

static void counted_ref(struct row_filter *f)
{
    ((struct counted_filter *)f)->refs++;
}

static void counted_unref(struct row_filter *f)
{
    ((struct counted_filter *)f)->refs--;
}

static void a_scan_may_be_closed_while_its_filter_looks(void **state)
{
    struct rig r;
    struct slice key;
    struct entry entry;
    struct counted_filter f = {.base = {.passes = 20000,
                                        .matches = counted_matches,
                                        .ref = counted_ref,
                                        .unref = counted_unref}};
    open_with_one(&r);
    struct scan *s = open_scan(&r, &f.base);
    assert_int_equal(backend_scan_next(s, &key, &entry, &r.waiter, NULL), ERR_WAIT);
    assert_int_equal(f.looks, 0);
    assert_int_equal(f.refs, 1);
    close_and_finish(&r, s, pipeline_of(r.b)->workers.slow);
    assert_int_equal(f.looks, 1);
    assert_int_equal(f.refs, 0);
}

/* ---- entries as a scan sees them, and flushes ---- */

static void expect_loaded(struct rig *r, struct scan *s, const char *name, const char *value)
{
    struct slice key = key_of(0, "%s", name);
    struct entry entry;
    enum err result = ERR_WAIT;
    for (int i = 0; result == ERR_WAIT; i++) {
        assert_true(i < STEPS_MAX);
        result = backend_scan_load(s, &key, 1, &entry, &r->waiter, NULL);
        if (result == ERR_WAIT) rig_step(r);
    }
    assert_int_equal(result, OK);
    assert_int_equal(entry.exists, value != NULL);
    if (value == NULL) return;
    assert_int_equal(entry.value.len, strlen(value));
    assert_memory_equal(entry.value.data, value, entry.value.len);
}

/* The scan was there before: it goes on seeing what was. */
static void entries_that_are_flushed_while_they_are_fetched_are_seen(void **state)
{
    struct rig r;
    struct entry entries[3];
    open_with_one(&r);
    rig_set(&r, key_of(0, "m"), slice_str("memory"));
    reads_wait(true);
    struct scan *s = open_scan(&r, NULL);
    struct slice keys[3] = {key_of(0, "k"), key_of(0, "m"), key_of(0, "none")};
    assert_int_equal(backend_scan_load(s, keys, 3, entries, &r.waiter, NULL), ERR_WAIT);
    rig_flush(&r, 0);
    rig_set(&r, key_of(0, "none"), slice_str("later"));
    apply_without_reads(&r);
    run_jobs(pipeline_of(r.b)->workers.query);
    assert_true(r.is_ready);
    assert_int_equal(backend_scan_load(s, keys, 3, entries, &r.waiter, NULL), OK);
    assert_true(entries[0].exists && slice_eq(entries[0].value, slice_str("1")));
    assert_true(entries[1].exists && slice_eq(entries[1].value, slice_str("memory")));
    assert_false(entries[2].exists);
    /* Asked for again they are read again, and are the same. */
    expect_loaded(&r, s, "k", "1");
    expect_loaded(&r, s, "none", NULL);
    backend_scan_close(s);
    reads_wait(false);
    rig_expect(&r, key_of(0, "k"), NULL);
    rig_expect(&r, key_of(0, "none"), "later");
    rig_close(&r);
    rig_fini(&r);
}

/* Neither drives the other out: who asks for an entry, then for rows of it, and begins anew after each
 * wait would never come to an end. */
static void rows_for_a_filter_are_kept_beside_entries(void **state)
{
    struct rig r;
    struct entry entry;
    open_with_one(&r);
    reads_wait(true);
    struct scan *s = open_scan(&r, NULL);
    struct slice k = key_of(0, "k");
    struct slice none = key_of(0, "none");
    assert_int_equal(backend_scan_load(s, &k, 1, &entry, &r.waiter, NULL), ERR_WAIT);
    run_jobs(pipeline_of(r.b)->workers.query);
    assert_int_equal(backend_scan_load(s, &k, 1, &entry, &r.waiter, NULL), OK);
    assert_int_equal(backend_scan_load_rows(s, &none, 1, &entry, &r.waiter, NULL), ERR_WAIT);
    run_jobs(pipeline_of(r.b)->workers.query);
    assert_int_equal(backend_scan_load(s, &k, 1, &entry, &r.waiter, NULL), OK);
    assert_true(entry.exists && slice_eq(entry.value, slice_str("1")));
    assert_int_equal(backend_scan_load_rows(s, &none, 1, &entry, &r.waiter, NULL), OK);
    assert_false(entry.exists);
    backend_scan_close(s);
    reads_wait(false);
    rig_close(&r);
    rig_fini(&r);
}

/* A flush that is in memory alone hides what the store and older memtables have. */
static void entries_that_were_flushed_before_are_not(void **state)
{
    struct rig r;
    open_with_one(&r);
    rig_set(&r, key_of(0, "old"), slice_str("o"));
    pipeline_freeze(pipeline_of(r.b));
    rig_set(&r, key_of(0, "same"), slice_str("s"));
    rig_flush(&r, 0);
    uint64_t newest = rig_set(&r, key_of(0, "new"), slice_str("n"));
    for (int is_pinned = 0; is_pinned < 2; is_pinned++) {
        reads_wait(true);
        struct scan *s = open_scan(&r, NULL);
        if (is_pinned) assert_int_equal(backend_scan_pause(s, NULL), OK);
        expect_loaded(&r, s, "k", NULL);
        /* That it does not exist is news of the flush, and is held until that is durable. */
        assert_int_equal(backend_scan_depends(s), newest - 1);
        expect_loaded(&r, s, "old", NULL);
        expect_loaded(&r, s, "same", NULL);
        expect_loaded(&r, s, "new", "n");
        assert_int_equal(backend_scan_depends(s), newest);
        backend_scan_close(s);
        reads_wait(false);
    }
    rig_close(&r);
    rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_that_an_apply_overtakes_is_not_remembered),
        cmocka_unit_test(a_read_that_nothing_overtakes_is_remembered),
        cmocka_unit_test(a_scan_may_be_closed_while_its_rows_are_fetched),
        cmocka_unit_test(a_scan_may_be_closed_while_its_entries_are_fetched),
        cmocka_unit_test(a_scan_may_be_closed_while_its_filter_looks),
        cmocka_unit_test(entries_that_are_flushed_while_they_are_fetched_are_seen),
        cmocka_unit_test(rows_for_a_filter_are_kept_beside_entries),
        cmocka_unit_test(entries_that_were_flushed_before_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
