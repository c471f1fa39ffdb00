/* missing: a segment of the journal that was removed, as a start sees it and as the change
 * feed does: nothing is passed over in silence.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/file.h"
#include "unit/backend/local_help.h"

#define SEGMENTS_MAX 64
#define COMMITS 300 /* of a kilobyte: some five segments */

struct missing {
    struct rig rig;
    struct changes_request q;
    uint64_t numbers[SEGMENTS_MAX];
    size_t count;
};

static void missing_init(struct missing *m)
{
    *m = (struct missing){.q = {.count = 0}};
    rig_init(&m->rig);
    m->rig.local.retention_ms = 1000000000;
    m->rig.local.retention_bytes = UINT64_MAX;
    arena_init(&m->q.arena, 4096);
    rig_open(&m->rig);
}

static void missing_fini(struct missing *m)
{
    rig_fini(&m->rig);
    arena_fini(&m->q.arena);
}

/* Commit i sets the key i. The versions of a new database are 1, 2, 3 ... */
static void write_keys(struct missing *m, unsigned from, unsigned until)
{
    static uint8_t value[1000];
    for (unsigned i = from; i < until; i++) {
        (void)rig_set(&m->rig, key_of(0, "%06u", i), slice_of(value, sizeof value));
    }
    rig_settle(&m->rig);
}

static void list_segments(struct missing *m)
{
    m->count = rig_segments(&m->rig, m->numbers, SEGMENTS_MAX);
    assert_true(m->count > 4);
}

static unsigned count_keys(struct missing *m)
{
    struct scan_range range = {.start = key_low(0), .end = key_high(0)};
    struct scan *s = NULL;
    struct slice key;
    struct entry entry;
    unsigned count = 0;
    assert_int_equal(backend_scan_open(m->rig.b, &range, &s, NULL), OK);
    while (rig_scan_next(&m->rig, s, &key, &entry)) count++;
    backend_scan_close(s);
    return count;
}

/* ---- a start ---- */

/* The first `applied` commits are in the store when the process dies, and then the segment with
 * this place goes. True when it starts; then nothing is missing. */
static bool starts_without(unsigned applied, size_t place)
{
    struct missing m;
    struct error e = {.text = ""};
    missing_init(&m);
    write_keys(&m, 0, applied);
    rig_apply(&m.rig);
    write_keys(&m, applied, COMMITS);
    list_segments(&m);
    rig_abandon(&m.rig);
    assert_int_equal(remove(rig_segment_path(&m.rig, m.numbers[place])), 0);
    enum err r = rig_try_open(&m.rig, &e);
    if (r == OK) {
        assert_int_equal(count_keys(&m), COMMITS);
    } else {
        assert_int_equal(r, ERR_CORRUPT);
        assert_non_null(strstr(e.text, m.rig.dir)); /* which file, or where */
    }
    missing_fini(&m);
    return r == OK;
}

/* Whatever the store has of it: with a segment that is needed it is refused, without one that is
 * not it starts with everything. */
static void a_start_needs_every_segment_that_is_not_applied(void **state)
{
    unsigned started[3] = {0};
    static const unsigned applied[3] = {0, COMMITS / 2, COMMITS};
    for (unsigned i = 0; i < 3; i++) {
        bool was_needed = false;
        for (size_t place = 0; place < 4; place++) {
            bool is_needed = !starts_without(applied[i], place);
            started[i] += !is_needed;
            if (was_needed) assert_true(is_needed); /* those after it are too */
            was_needed = is_needed;
        }
    }
    assert_int_equal(started[0], 0);
    assert_in_range(started[1], 1, 3);
    assert_int_equal(started[2], 4);
}

/* ---- the change feed ---- */

/* Reads on from `after`, every commit, until there is no more or it may not go on. The last version
 * that was told; *r: how it ended. */
static uint64_t follow(struct missing *m, uint64_t after, enum err *r)
{
    uint64_t last = after;
    while ((*r = rig_changes(&m->rig, &m->q, last, 10)) == OK) {
        for (size_t i = 0; i < m->q.count; i++) {
            assert_int_equal(m->q.rows[i].version, ++last);
        }
        if (m->q.is_end) break;
    }
    return last;
}

/* From before the hole no reader gets past it; after it the feed goes on. */
static void expect_hole(struct missing *m, bool restarts)
{
    enum err r = OK;
    uint64_t before = follow(m, 0, &r);
    uint64_t oldest = m->q.oldest;
    assert_int_equal(r, ERR_STALE);
    assert_int_equal(m->q.count, 0);
    assert_in_range(before, 10, oldest - 10);
    assert_true(oldest < COMMITS);
    uint64_t inside[] = {0, before, before + 1, (before + oldest) / 2, oldest - 1};
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        if (restarts) rig_crash(&m->rig); /* which has to find it anew */
        (void)follow(m, inside[i], &r);
        assert_int_equal(r, ERR_STALE);
        assert_int_equal(m->q.count, 0);
        assert_int_equal(m->q.oldest, oldest);
    }
    assert_int_equal(follow(m, oldest, &r), COMMITS);
    assert_int_equal(r, OK);
}

static void a_segment_that_is_missing_at_the_start_is_no_gap(void **state)
{
    for (size_t place = 1; place < 4; place++) {
        struct missing m;
        missing_init(&m);
        write_keys(&m, 0, COMMITS);
        list_segments(&m);
        rig_close(&m.rig);
        assert_int_equal(remove(rig_segment_path(&m.rig, m.numbers[place])), 0);
        rig_open(&m.rig);
        expect_hole(&m, true);
        assert_int_equal(count_keys(&m), COMMITS); /* the data is not concerned */
        rig_close(&m.rig);
        missing_fini(&m);
    }
}

static void a_segment_that_is_removed_while_it_runs_is_no_gap(void **state)
{
    for (size_t place = 1; place < 3; place++) {
        struct missing m;
        missing_init(&m);
        write_keys(&m, 0, COMMITS);
        list_segments(&m);
        assert_int_equal(remove(rig_segment_path(&m.rig, m.numbers[place])), 0);
        expect_hole(&m, false);
        rig_close(&m.rig);
        missing_fini(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_needs_every_segment_that_is_not_applied),
        cmocka_unit_test(a_segment_that_is_missing_at_the_start_is_no_gap),
        cmocka_unit_test(a_segment_that_is_removed_while_it_runs_is_no_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
