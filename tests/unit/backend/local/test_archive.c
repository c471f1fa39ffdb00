/* The archive's manifest and lineages: what is written is read, what is damaged is refused, and a plan
 * follows timelines, over no gap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/local/archive_manifest.h"
#include "backend/local/lineage.h"
#include "base/file.h"
#include "base/mem.h"

static char dir[64];

static int enter(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/tupled-manifest-XXXXXX");
    return mkdtemp(dir) == NULL;
}

static int leave(void **state)
{
    char path[100];
    snprintf(path, sizeof path, "%s/manifest", dir);
    unlink(path);
    return rmdir(dir);
}

static void add_segment(struct manifest *m, uint32_t timeline, uint64_t number, uint64_t before,
                        uint64_t last)
{
    struct manifest_segment s = {.timeline = timeline,
                                 .number = number,
                                 .before = before,
                                 .last = last,
                                 .last_ms = (int64_t)last * 10,
                                 .bytes = 100,
                                 .sum = 0xfedcba9876543210u + number};
    manifest_add_segment(m, &s);
}

static void add_base(struct manifest *m, uint32_t timeline, uint64_t version)
{
    struct manifest_base b = {.timeline = timeline,
                              .version = version,
                              .time_ms = (int64_t)version * 10,
                              .bytes = 4096,
                              .sum = version,
                              .without = mem_new(2 * sizeof(uint16_t)),
                              .without_count = 2};
    b.without[0] = 16;
    b.without[1] = 65534;
    manifest_add_base(m, &b);
}

static void add_timeline(struct manifest *m, uint32_t number, uint32_t parent, uint64_t fork,
                         uint64_t start)
{
    struct manifest_timeline t = {.number = number, .parent = parent, .fork = fork, .start = start};
    memset(t.database_id, (int)number, sizeof t.database_id);
    manifest_add_timeline(m, &t);
}

/* 1: 0..10..20..30..40; 2 from 25: 1000..1010; 3 from 1005: 2000..2010. Bases at 20 and 1002. */
static void fill(struct manifest *m)
{
    *m = (struct manifest){0};
    add_timeline(m, 1, 0, 0, 0);
    add_timeline(m, 2, 1, 25, 1000);
    add_timeline(m, 3, 2, 1005, 2000);
    for (uint64_t i = 0; i < 4; i++) add_segment(m, 1, i + 1, 10 * i, 10 * i + 10);
    add_segment(m, 2, 1, 25, 1004);
    add_segment(m, 2, 2, 1004, 1010);
    add_segment(m, 3, 1, 1005, 2010);
    add_base(m, 1, 20);
    add_base(m, 2, 1002);
}

static void what_is_written_is_read(void **state)
{
    struct manifest m;
    struct manifest got;
    struct error e;
    fill(&m);
    assert_int_equal(manifest_read(dir, &got, &e), OK);
    assert_int_equal(got.timeline_count + got.segment_count + got.base_count, 0);
    assert_int_equal(manifest_write(dir, &m, &e), OK);
    assert_int_equal(manifest_read(dir, &got, &e), OK);
    assert_int_equal(got.timeline_count, 3);
    assert_int_equal(got.segment_count, 7);
    assert_int_equal(got.base_count, 2);
    assert_memory_equal(got.timelines, m.timelines, 3 * sizeof m.timelines[0]);
    assert_memory_equal(got.segments, m.segments, 7 * sizeof m.segments[0]);
    assert_int_equal(got.bases[1].version, 1002);
    assert_int_equal(got.bases[1].without_count, 2);
    assert_int_equal(got.bases[1].without[1], 65534);
    manifest_fini(&got);
    manifest_fini(&m);
}

static void a_changed_byte_or_a_cut_is_refused(void **state)
{
    struct manifest m;
    struct buf text;
    struct buf path;
    struct error e;
    fill(&m);
    assert_int_equal(manifest_write(dir, &m, &e), OK);
    manifest_fini(&m);
    buf_init(&text);
    buf_init(&path);
    buf_printf(&path, "%s/manifest", dir);
    buf_append_byte(&path, 0);
    assert_int_equal(file_read_all((char *)path.data, &text, 1 << 20, &e), OK);
    for (size_t i = 0; i < text.len; i++) {
        text.data[i] ^= 1;
        assert_int_equal(file_write_all((char *)path.data, buf_slice(&text), &e), OK);
        enum err r = manifest_read(dir, &m, &e);
        if (r != ERR_CORRUPT && r != ERR_FORMAT) fail_msg("byte %zu can be changed", i);
        text.data[i] ^= 1;
        assert_int_equal(file_write_all((char *)path.data, slice_of(text.data, i), &e), OK);
        r = manifest_read(dir, &m, &e);
        bool is_whole = i == text.len - 1; /* but for the end of its last line */
        if (r != (is_whole ? OK : ERR_CORRUPT)) fail_msg("it can be cut at %zu", i);
        if (r == OK) manifest_fini(&m);
    }
    buf_fini(&text);
    buf_fini(&path);
}

static void check_plan(const struct manifest *m, uint32_t timeline, uint64_t until,
                       int64_t until_ms, uint64_t base, const char *wanted)
{
    struct manifest_plan p;
    char got[400] = "";
    manifest_plan(m, timeline, until, until_ms, &p);
    for (size_t i = 0; i < p.count; i++) {
        size_t len = strlen(got);
        const struct manifest_segment *s = p.steps[i].segment;
        snprintf(got + len, sizeof got - len, "%u-%llu ", s->timeline,
                 (unsigned long long)s->number);
    }
    size_t len = strlen(got);
    snprintf(got + len, sizeof got - len, "to %llu", (unsigned long long)p.version);
    len = strlen(got);
    if (p.missing_timeline != 0) {
        snprintf(got + len, sizeof got - len, " missing %u-%llu", p.missing_timeline,
                 (unsigned long long)p.missing);
    }
    assert_string_equal(got, wanted);
    assert_int_equal(p.base == NULL ? 0 : p.base->version, base);
    manifest_plan_fini(&p);
}

static void a_plan_follows_the_timelines(void **state)
{
    struct manifest m;
    fill(&m);
    check_plan(&m, 1, UINT64_MAX, INT64_MAX, 20, "1-3 1-4 to 40");
    check_plan(&m, 1, 20, INT64_MAX, 20, "to 20");
    check_plan(&m, 1, 15, INT64_MAX, 0, "1-1 1-2 to 15");
    check_plan(&m, 1, UINT64_MAX, 199, 0, "1-1 1-2 1-3 1-4 to 40");
    check_plan(&m, 2, 1001, INT64_MAX, 20, "1-3 2-1 to 1001");
    check_plan(&m, 2, UINT64_MAX, INT64_MAX, 1002, "2-1 2-2 to 1010");
    check_plan(&m, 3, UINT64_MAX, INT64_MAX, 1002, "2-1 2-2 3-1 to 2010");
    check_plan(&m, 3, 22, INT64_MAX, 20, "1-3 to 22");
    /* Of a segment in which another timeline begins, only what comes before that. */
    struct manifest_plan p;
    manifest_plan(&m, 3, UINT64_MAX, INT64_MAX, &p);
    assert_int_equal(p.steps[1].until, 1005);
    assert_int_equal(p.steps[2].until, UINT64_MAX);
    manifest_plan_fini(&p);
    manifest_fini(&m);
}

static void a_plan_goes_over_no_gap(void **state)
{
    struct manifest m;
    fill(&m);
    manifest_remove_segment(&m, 2); /* 1-3 */
    check_plan(&m, 1, UINT64_MAX, INT64_MAX, 20, "to 20 missing 1-3");
    check_plan(&m, 2, 1001, INT64_MAX, 20, "to 20 missing 1-3");
    check_plan(&m, 2, UINT64_MAX, INT64_MAX, 1002, "2-1 2-2 to 1010");
    manifest_remove_segment(&m, 2); /* 1-4 */
    check_plan(&m, 2, 1001, INT64_MAX, 20, "to 20 missing 1-0");
    manifest_remove_base(&m, 0);
    manifest_remove_segment(&m, 0);
    check_plan(&m, 1, UINT64_MAX, INT64_MAX, 0, "to 0 missing 1-1");
    manifest_fini(&m);
}

static void versions_say_of_which_timeline_they_are(void **state)
{
    struct manifest m;
    fill(&m);
    assert_int_equal(manifest_timeline_of(&m, 39)->number, 1);
    assert_int_equal(manifest_timeline_of(&m, 1000)->number, 2);
    assert_int_equal(manifest_timeline_of(&m, 1999)->number, 2);
    assert_int_equal(manifest_timeline_of(&m, 5000)->number, 3);
    assert_int_equal(manifest_next_start(&m), 2010 + TIMELINE_STEP);
    manifest_fini(&m);
}

static void check_lineage(const struct lineage *l, const char *wanted)
{
    struct buf text;
    struct lineage again;
    buf_init(&text);
    lineage_format(l, &text);
    assert_int_equal(text.len, strlen(wanted));
    assert_memory_equal(text.data, wanted, text.len);
    assert_true(lineage_read(buf_slice(&text), &again));
    assert_int_equal(again.count, l->count);
    lineage_fini(&again);
    buf_fini(&text);
}

static void a_lineage_knows_what_was_discarded(void **state)
{
    struct lineage l;
    uint64_t fork = 0;
    lineage_init(&l);
    check_lineage(&l, "1");
    lineage_fork(&l, 2, 25, 1000);
    lineage_fork(&l, 3, 1005, 2000);
    check_lineage(&l, "3 25-1000 1005-2000");
    assert_false(lineage_is_discarded(&l, 25, NULL));
    assert_true(lineage_is_discarded(&l, 26, &fork));
    assert_int_equal(fork, 25);
    assert_true(lineage_is_discarded(&l, 999, NULL));
    assert_false(lineage_is_discarded(&l, 1000, NULL));
    assert_true(lineage_is_discarded(&l, 1999, &fork));
    assert_int_equal(fork, 1005);
    assert_false(lineage_is_discarded(&l, 2000, NULL));
    /* Back to before it began: all of that is one gap. */
    lineage_fork(&l, 4, 1005, 3000);
    check_lineage(&l, "4 25-1000 1005-3000");
    lineage_fork(&l, 5, 10, 4000);
    check_lineage(&l, "5 10-4000");
    lineage_fini(&l);
    static const char *const bad[] = {"", "x", "1 5", "1 5-", "1 a-b", "4294967296"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(lineage_read(slice_str(bad[i]), &l));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_written_is_read, enter, leave),
        cmocka_unit_test_setup_teardown(a_changed_byte_or_a_cut_is_refused, enter, leave),
        cmocka_unit_test(a_plan_follows_the_timelines),
        cmocka_unit_test(a_plan_goes_over_no_gap),
        cmocka_unit_test(versions_say_of_which_timeline_they_are),
        cmocka_unit_test(a_lineage_knows_what_was_discarded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
