/* ahead: two jobs of the journal under way: acknowledged in order, and after a failure of power
 * never the second without the first, whichever of them was on disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/local/file_journal_int.h"
#include "base/clock.h"
#include "base/fault.h"
#include "unit/backend/local_help.h"

#define START_MS 1700000000000

static void rig_start(struct rig *r)
{
    rig_init(r);
    r->local.long_sync_us = -1;
    r->local.segment_bytes = 1u << 20;
    rig_open(r);
    (void)rig_set(r, key_of(0, "first"), slice_str("x"));
    rig_settle(r);
}

static void rig_end(struct rig *r)
{
    rig_close(r);
    rig_fini(r);
}

/* Two are under way only where the file system takes writes past the page cache. */
static void skip_unless_direct(void)
{
    struct rig r;
    struct file f;
    rig_start(&r);
    bool is_direct = file_open_direct(&f, rig_segment_path(&r, 1));
    file_close(&f);
    rig_end(&r);
    if (!is_direct) skip();
}

static struct file_journal *journal_of(const struct rig *r)
{
    return file_journal_of(r->journal);
}

static unsigned under_way(const struct rig *r)
{
    return journal_of(r)->under_way;
}

/* Posted; nothing runs before the next poll. */
static uint64_t append(struct rig *r, const char *key)
{
    uint64_t version = rig_set(r, key_of(0, "%s", key), slice_str("x"));
    journal_submit(r->journal);
    return version;
}

/* Until one of the two was written: was that the first? */
static bool write_one(struct rig *r)
{
    const struct file_journal *j = journal_of(r);
    assert_int_equal(under_way(r), 2);
    const struct write_job *second = &j->jobs[j->newest];
    for (int i = 0; i < 10 && under_way(r) == 2 && !second->is_done; i++) {
        (void)r->journal->ops->poll(r->journal);
    }
    return !second->is_done;
}

static void two_are_told_in_their_order(void **state)
{
    unsigned first_done = 0;
    unsigned second_done = 0;
    struct rig r;
    (void)state;
    skip_unless_direct();
    rig_start(&r);
    for (int i = 0; i < 16; i++) {
        uint64_t a = append(&r, "a");
        uint64_t b = append(&r, "b");
        uint64_t before = r.journal->acknowledged;
        if (write_one(&r)) {
            first_done++;
            assert_int_equal(r.journal->acknowledged, a);
        } else {
            second_done++;
            assert_int_equal(r.journal->acknowledged, before);
        }
        rig_settle(&r);
        assert_int_equal(r.journal->acknowledged, b);
        assert_int_equal(r.durable, b);
        for (int k = 0; k < i % 3; k++) rig_step(&r); /* another one is first the next time */
    }
    assert_true(first_done > 0 && second_done > 0);
    struct journal_stats s;
    r.journal->ops->stats(r.journal, &s);
    assert_true(s.ahead >= 16);
    rig_end(&r);
}

/* What comes while two are under way waits, and one that is alone goes on where the last one ended.
 */
static void the_second_begins_at_a_block(void **state)
{
    struct rig r;
    (void)state;
    skip_unless_direct();
    rig_start(&r);
    uint64_t used = journal_of(&r)->current->used;
    (void)append(&r, "a");
    uint64_t first = journal_of(&r)->current->used;
    assert_in_range(first, used + 1, used + 300);
    (void)append(&r, "b");
    uint64_t second = journal_of(&r)->current->used;
    assert_in_range(second, FILE_BLOCK_BYTES + 1, FILE_BLOCK_BYTES + 300);
    assert_true(r.journal->is_busy);
    (void)append(&r, "c");
    assert_int_equal(journal_of(&r)->current->used, second);
    rig_settle(&r);
    assert_int_equal(under_way(&r), 0);
    rig_crash(&r);
    for (const char *k = "abc"; *k != '\0'; k++) rig_expect(&r, key_of(0, "%c", *k), "x");
    rig_end(&r);
}

/* A client that was told is expected to write again: until then a second one makes batches small. */
static void the_second_is_as_large_as_what_was_told_last(void **state)
{
    struct rig r;
    (void)state;
    skip_unless_direct();
    rig_start(&r);
    for (int i = 0; i < 3; i++) (void)rig_set(&r, key_of(0, "%d", i), slice_str("x"));
    journal_submit(r.journal);
    while (under_way(&r) > 0) (void)r.journal->ops->poll(r.journal);
    (void)append(&r, "a");
    (void)append(&r, "b");
    (void)append(&r, "c");
    assert_int_equal(under_way(&r), 1);
    assert_false(r.journal->is_busy);
    (void)append(&r, "d");
    assert_int_equal(under_way(&r), 2);
    rig_settle(&r);
    rig_end(&r);
}

/* Until the one is written: then power fails. */
static bool fails_after_one(int polls)
{
    struct rig r;
    rig_start(&r);
    for (int i = 0; i < polls; i++) rig_step(&r);
    (void)append(&r, "a");
    (void)append(&r, "b");
    bool is_first = write_one(&r);
    fault_arm("file.write", 1, true); /* the other is not, whatever its thread does now */
    rig_abandon(&r);
    fault_arm("", 0, false);
    rig_open(&r);
    rig_expect(&r, key_of(0, "first"), "x");
    rig_expect(&r, key_of(0, "a"), is_first ? "x" : NULL);
    rig_expect(&r, key_of(0, "b"), NULL);
    (void)append(&r, "c");
    (void)append(&r, "d");
    rig_settle(&r);
    rig_crash(&r);
    rig_expect(&r, key_of(0, "a"), is_first ? "x" : NULL);
    rig_expect(&r, key_of(0, "b"), NULL);
    rig_expect(&r, key_of(0, "c"), "x");
    rig_expect(&r, key_of(0, "d"), "x");
    rig_end(&r);
    return is_first;
}

static void the_second_is_never_there_without_the_first(void **state)
{
    unsigned firsts = 0;
    (void)state;
    skip_unless_direct();
    for (int i = 0; i < 8; i++) firsts += fails_after_one(i);
    assert_in_range(firsts, 1, 7);
}

/* From the beginning, and after each. */
static void history_goes_on_at_the_next_block(void **state)
{
    struct rig r;
    uint64_t versions[20];
    (void)state;
    rig_init(&r);
    r.local.long_sync_us = -1;
    r.local.retention_ms = 3600000;
    r.local.retention_bytes = 64u << 20;
    rig_open(&r);
    for (int i = 0; i < 20; i += 2) {
        versions[i] = append(&r, "a");
        versions[i + 1] = append(&r, "b");
        rig_settle(&r);
    }
    for (int i = 0; i < 20; i++) {
        struct changes_request q = {.after = 0};
        arena_init(&q.arena, 4096);
        assert_int_equal(rig_changes(&r, &q, i > 0 ? versions[i - 1] : versions[0] - 1, 100), OK);
        assert_int_equal(q.count, 20 - i);
        arena_fini(&q.arena);
    }
    rig_end(&r);
}

/* A bit of the first of the two, when both were acknowledged. */
static void damage_of_the_first_is_refused(void **state)
{
    struct rig r;
    struct error e;
    (void)state;
    clock_set_fake_ms(START_MS);
    skip_unless_direct();
    rig_start(&r);
    uint64_t at = journal_of(&r)->current->used;
    (void)append(&r, "a");
    (void)append(&r, "b");
    rig_mark(&r);
    rig_abandon(&r);
    FILE *f = fopen(rig_segment_path(&r, 1), "r+e");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)at + JOURNAL_BATCH_BYTES + 4, SEEK_SET), 0);
    int c = fgetc(f);
    assert_int_equal(fseek(f, -1, SEEK_CUR), 0);
    assert_int_equal(fputc(c ^ 1, f), c ^ 1);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(rig_try_open(&r, &e), ERR_CORRUPT);
    assert_non_null(strstr(e.text, "were acknowledged but cannot be read"));
    rig_fini(&r);
    clock_set_fake_ms(0);
}

/* Was that the first of the two? */
static bool tells_nothing_after_a_failure(int polls)
{
    struct rig r;
    rig_start(&r);
    for (int i = 0; i < polls; i++) rig_step(&r);
    uint64_t before = r.journal->acknowledged;
    uint64_t a = append(&r, "a");
    (void)append(&r, "b");
    fault_arm("file.sync", 1, false);
    bool is_first = write_one(&r);
    fault_arm("", 0, false);
    for (int i = 0; i < 20; i++) rig_step(&r);
    assert_true(r.is_fatal);
    assert_int_equal(under_way(&r), 0);
    /* Where the second failed the first was good. */
    assert_int_equal(r.journal->acknowledged, is_first ? before : a);
    rig_abandon(&r);
    rig_fini(&r);
    return is_first;
}

static void nothing_is_told_after_one_that_failed(void **state)
{
    unsigned firsts = 0;
    (void)state;
    skip_unless_direct();
    for (int i = 0; i < 8; i++) firsts += tells_nothing_after_a_failure(i);
    assert_in_range(firsts, 1, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_are_told_in_their_order),
        cmocka_unit_test(the_second_begins_at_a_block),
        cmocka_unit_test(the_second_is_as_large_as_what_was_told_last),
        cmocka_unit_test(the_second_is_never_there_without_the_first),
        cmocka_unit_test(history_goes_on_at_the_next_block),
        cmocka_unit_test(damage_of_the_first_is_refused),
        cmocka_unit_test(nothing_is_told_after_one_that_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
