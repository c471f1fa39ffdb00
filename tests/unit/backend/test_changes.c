/* changes: history out of the journal: in order, whole commits, durable ones only; how far back it
 * goes, and that no reader is led over a gap. tsan: yes
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "unit/backend/local_help.h"

#define ALWAYS_MS 1000000000 /* retention by age that lets nothing go */
#define SKIPPED (1ull << 24) /* versions reserved at a time: versions.c */

struct reader {
    struct rig rig;
    struct changes_request q;
    struct buf text;
};

static void reader_init(struct reader *t)
{
    *t = (struct reader){.q = {.count = 0}};
    rig_init(&t->rig);
    t->rig.local.retention_ms = ALWAYS_MS;
    t->rig.local.retention_bytes = UINT64_MAX;
    arena_init(&t->q.arena, 4096);
}

static void reader_fini(struct reader *t)
{
    rig_fini(&t->rig);
    arena_fini(&t->q.arena);
    buf_fini(&t->text);
}

static void begin(struct reader *t, uint64_t after, size_t rows_max)
{
    rig_changes_begin(&t->rig, &t->q, after, rows_max);
}

static enum err finish(struct reader *t)
{
    return rig_changes_end(&t->rig, &t->q);
}

static enum err ask(struct reader *t, uint64_t after, size_t rows_max)
{
    return rig_changes(&t->rig, &t->q, after, rows_max);
}

/* "a=1 b- | !": commits are divided by |, - is a deletion, ! a flush. */
static const char *rows_text(struct reader *t)
{
    buf_clear(&t->text, SIZE_MAX);
    for (size_t i = 0; i < t->q.count; i++) {
        const struct changes_row *row = &t->q.rows[i];
        const struct mutation *mu = &row->mutation;
        if (i > 0) {
            bool is_same = row->version == t->q.rows[i - 1].version;
            assert_true(row->version >= t->q.rows[i - 1].version);
            buf_append_str(&t->text, is_same ? " " : " | ");
        }
        if (mu->kind == MUTATION_FLUSH) {
            buf_append_byte(&t->text, '!');
            continue;
        }
        buf_append(&t->text, mu->key.data + KEY_HEAD_BYTES, mu->key.len - KEY_HEAD_BYTES);
        buf_append_byte(&t->text, mu->kind == MUTATION_SET ? '=' : '-');
        buf_append(&t->text, mu->value.data, mu->value.len);
    }
    buf_append_byte(&t->text, '\0');
    buf_require(&t->text);
    return (const char *)t->text.data;
}

#define expect_rows(t, after, max, wanted)                                                         \
    do {                                                                                           \
        assert_int_equal(ask((t), (after), (max)), OK);                                            \
        assert_string_equal(rows_text(t), (wanted));                                               \
    } while (0)

static uint64_t newest(struct reader *t)
{
    return backend_version_newest(t->rig.b);
}

static uint64_t set(struct reader *t, const char *key, const char *value)
{
    return rig_set(&t->rig, key_of(0, "%s", key), slice_str(value));
}

/* Commits of 1000 bytes each; their versions follow each other. */
static uint64_t fill(struct reader *t, unsigned count)
{
    static uint8_t value[1000];
    uint64_t version = 0;
    for (unsigned i = 0; i < count; i++) {
        version = rig_set(&t->rig, key_of(0, "fill%u", i % 50), slice_of(value, sizeof value));
    }
    rig_settle(&t->rig);
    return version;
}

/* Reads on to the end; every version must follow the one before. The number of rows. */
static size_t follow(struct reader *t, uint64_t after, size_t rows_max)
{
    size_t count = 0;
    uint64_t last = after;
    do {
        assert_int_equal(ask(t, last, rows_max), OK);
        for (size_t i = 0; i < t->q.count; i++) {
            assert_int_equal(t->q.rows[i].version, last + 1);
            last = t->q.rows[i].version;
        }
        assert_int_equal(t->q.next, last);
        count += t->q.count;
    } while (!t->q.is_end);
    return count;
}

static void expect_stale(struct reader *t, uint64_t after, uint64_t oldest)
{
    assert_int_equal(ask(t, after, 10), ERR_STALE);
    assert_int_equal(t->q.oldest, oldest);
    assert_int_equal(t->q.count, 0);
}

/* ---- what is told ---- */

static void commits_come_in_order_and_whole(void **state)
{
    struct reader t;
    struct error e;
    uint64_t versions[3];
    reader_init(&t);
    rig_open(&t.rig);
    versions[0] = set(&t, "a", "1");
    const struct mutation two[] = {
        {.kind = MUTATION_SET, .key = key_of(0, "b"), .value = slice_str("2"), .expiry_ms = 77},
        {.kind = MUTATION_DELETE, .key = key_of(0, "a")}};
    assert_int_equal(rig_try_commit(&t.rig, two, 2, &versions[1], &e), OK);
    versions[2] = set(&t, "c", "");
    rig_settle(&t.rig);
    expect_rows(&t, 0, 100, "a=1 | b=2 a- | c=");
    assert_true(t.q.is_end);
    assert_int_equal(t.q.next, versions[2]);
    assert_int_equal(t.q.rows[0].version, versions[0]);
    assert_int_equal(t.q.rows[1].version, versions[1]);
    assert_int_equal(t.q.rows[1].mutation.expiry_ms, 77);
    expect_rows(&t, 0, 1, "a=1");
    assert_false(t.q.is_end);
    assert_int_equal(t.q.next, versions[0]);
    expect_rows(&t, 0, 2, "a=1 | b=2 a-");
    expect_rows(&t, versions[0], 1, "b=2 a-");
    expect_rows(&t, versions[1], 1, "c=");
    expect_rows(&t, versions[2], 1, "");
    assert_true(t.q.is_end);
    rig_close(&t.rig);
    reader_fini(&t);
}

static void an_answer_ends_by_bytes_too(void **state)
{
    struct reader t;
    reader_init(&t);
    rig_open(&t.rig);
    (void)fill(&t, 10);
    begin(&t, 0, 100);
    t.q.bytes_max = 2500;
    backend_changes(t.rig.b, &t.q);
    assert_int_equal(finish(&t), OK);
    assert_int_equal(t.q.count, 3);
    assert_false(t.q.is_end);
    rig_close(&t.rig);
    reader_fini(&t);
}

static void only_what_is_durable_is_told(void **state)
{
    struct reader t;
    reader_init(&t);
    rig_open(&t.rig);
    (void)set(&t, "a", "1");
    rig_settle(&t.rig);
    uint64_t second = set(&t, "b", "2");
    expect_rows(&t, 0, 100, "a=1");
    assert_true(t.q.is_end);
    rig_settle(&t.rig);
    uint64_t third = set(&t, "c", "3");
    begin(&t, second, 100);
    t.q.until = third;
    backend_changes(t.rig.b, &t.q);
    assert_int_equal(finish(&t), OK);
    assert_true(t.rig.durable >= third);
    assert_string_equal(rows_text(&t), "c=3");
    rig_close(&t.rig);
    reader_fini(&t);
}

static void who_waits_for_a_version_is_told_when_the_backend_ends(void **state)
{
    struct reader t;
    for (int is_close = 0; is_close < 2; is_close++) {
        reader_init(&t);
        rig_open(&t.rig);
        begin(&t, 0, 100);
        t.q.until = set(&t, "a", "1");
        backend_changes(t.rig.b, &t.q);
        assert_false(t.rig.is_told);
        if (is_close) {
            rig_close(&t.rig);
        } else {
            rig_abandon(&t.rig);
        }
        assert_true(t.rig.is_told);
        assert_int_equal(t.q.result, ERR_IO);
        reader_fini(&t);
    }
}

static void other_keys_and_databases_are_passed_over(void **state)
{
    struct reader t;
    reader_init(&t);
    rig_open(&t.rig);
    (void)set(&t, "x1", "1");
    (void)rig_set(&t.rig, key_of(1, "x1"), slice_str("other"));
    (void)rig_set(&t.rig, slice_of("\0\0\2x1", 5), slice_str("other space"));
    (void)rig_flush(&t.rig, 0);
    (void)rig_flush(&t.rig, 1);
    uint64_t x2 = set(&t, "x2", "2");
    uint64_t last = set(&t, "y", "3");
    rig_settle(&t.rig);
    expect_rows(&t, 0, 100, "x1=1 | ! | x2=2 | y=3");
    begin(&t, 0, 100);
    t.q.start = slice_of("\0\0\1x", 4);
    t.q.end = slice_of("\0\0\1y", 4);
    backend_changes(t.rig.b, &t.q);
    assert_int_equal(finish(&t), OK);
    assert_string_equal(rows_text(&t), "x1=1 | ! | x2=2");
    assert_int_equal(t.q.next, last);
    begin(&t, x2, 100);
    t.q.start = slice_of("\0\0\1x", 4);
    t.q.end = slice_of("\0\0\1y", 4);
    backend_changes(t.rig.b, &t.q);
    assert_int_equal(finish(&t), OK);
    assert_int_equal(t.q.count, 0);
    assert_int_equal(t.q.next, last);
    rig_close(&t.rig);
    reader_fini(&t);
}

/* ---- segments ---- */

static void history_goes_on_over_segments_restarts_and_crashes(void **state)
{
    struct reader t;
    uint64_t numbers[64];
    reader_init(&t);
    rig_open(&t.rig);
    uint64_t first_end = fill(&t, 300);
    assert_true(rig_segments(&t.rig, numbers, 64) > 4);
    assert_int_equal(follow(&t, 0, 7), 300);
    assert_int_equal(follow(&t, 100, 1000), 200);
    rig_close(&t.rig);
    rig_open(&t.rig); /* a clean stop gives reserved versions back: no gap */
    assert_int_equal(follow(&t, 0, 50), 300);
    expect_rows(&t, first_end, 10, "");
    uint64_t second_end = fill(&t, 200);
    assert_int_equal(second_end, first_end + 200);
    assert_int_equal(follow(&t, 0, 50), 500);
    rig_crash(&t.rig);
    assert_int_equal(follow(&t, 10, 50), 490);
    uint64_t third = set(&t, "after", "1");
    rig_settle(&t.rig);
    assert_true(third > second_end + SKIPPED / 2);
    expect_rows(&t, second_end, 10, "after=1");
    assert_int_equal(ask(&t, second_end - 1, 10), OK); /* one segment at a time */
    assert_int_equal(t.q.count, 1);
    assert_int_equal(t.q.next, second_end);
    assert_false(t.q.is_end);
    rig_apply(&t.rig);
    rig_crash(&t.rig); /* nothing is to be replayed, and yet it is all there */
    expect_rows(&t, second_end, 10, "after=1");
    rig_close(&t.rig);
    reader_fini(&t);
}

static void a_version_that_a_start_skipped_is_stale(void **state)
{
    struct reader t;
    reader_init(&t);
    rig_open(&t.rig);
    uint64_t last = fill(&t, 5);
    rig_crash(&t.rig);
    expect_stale(&t, last + 1, 0); /* newer than every commit */
    uint64_t first = set(&t, "a", "1");
    (void)set(&t, "b", "1");
    rig_settle(&t.rig);
    expect_stale(&t, last + 1, 0);
    expect_stale(&t, first - 1, 0);
    expect_rows(&t, first, 10, "b=1");
    expect_rows(&t, last, 10, "a=1 | b=1");
    rig_crash(&t.rig);
    expect_stale(&t, last + 1, 0);
    expect_stale(&t, first - 1, 0);
    expect_rows(&t, first, 10, "b=1");
    rig_close(&t.rig);
    reader_fini(&t);
}

static void a_restored_backup_has_no_history(void **state)
{
    struct reader t;
    char command[256];
    reader_init(&t);
    rig_open(&t.rig);
    uint64_t copied = fill(&t, 20);
    rig_close(&t.rig);
    snprintf(command, sizeof command, "cd '%s' && rm -f journal-* versions", t.rig.dir);
    assert_int_equal(system(command), 0);
    rig_open(&t.rig);
    expect_stale(&t, 0, copied);
    expect_stale(&t, copied + 5, copied); /* of the history that the restore undid */
    expect_rows(&t, copied, 10, "");
    uint64_t next = set(&t, "a", "1");
    rig_settle(&t.rig);
    assert_int_equal(next, copied + (1ull << 40));
    expect_stale(&t, copied - 1, copied);
    expect_stale(&t, copied + 5, copied);
    expect_rows(&t, copied, 10, "a=1");
    rig_close(&t.rig);
    reader_fini(&t);
}

/* Under a weak durability a power failure takes back what the feed had told. */
static void a_tail_that_was_lost_is_stale(void **state)
{
    static uint8_t before[64 * 1024];
    struct reader t;
    struct file f;
    uint64_t numbers[8];
    reader_init(&t);
    t.rig.local.durability = DURABILITY_NEVER;
    rig_open(&t.rig);
    uint64_t kept = set(&t, "kept", "1");
    rig_settle(&t.rig);
    assert_true(rig_segments(&t.rig, numbers, 8) > 0);
    assert_int_equal(file_open(&f, rig_segment_path(&t.rig, numbers[0]), FILE_WRITE_OLD, NULL), OK);
    assert_int_equal(file_read_at(&f, 0, before, sizeof before, NULL), OK);
    uint64_t lost = set(&t, "lost", "1");
    rig_settle(&t.rig);
    expect_rows(&t, kept, 10, "lost=1");
    rig_abandon(&t.rig);
    assert_int_equal(file_write_at(&f, 0, slice_of(before, sizeof before), NULL), OK);
    file_close(&f);
    rig_open(&t.rig);
    rig_expect(&t.rig, key_of(0, "lost"), NULL);
    expect_stale(&t, lost, 0);
    (void)set(&t, "new", "1");
    rig_settle(&t.rig);
    expect_stale(&t, lost, 0);
    expect_rows(&t, kept, 10, "new=1");
    rig_close(&t.rig);
    reader_fini(&t);
}

static void marks_in_the_journal_are_no_commits(void **state)
{
    struct reader t;
    reader_init(&t);
    clock_set_fake_ms(1700000000000);
    rig_open(&t.rig);
    uint64_t first = set(&t, "a", "1");
    rig_mark(&t.rig);
    expect_rows(&t, first, 10, "");
    (void)set(&t, "b", "1");
    rig_mark(&t.rig);
    expect_rows(&t, first, 10, "b=1");
    expect_rows(&t, 0, 10, "a=1 | b=1");
    rig_crash(&t.rig);
    expect_rows(&t, first, 10, "b=1");
    (void)set(&t, "c", "1");
    rig_mark(&t.rig);
    expect_rows(&t, first, 10, "b=1");
    expect_rows(&t, t.q.next, 10, "c=1");
    rig_close(&t.rig);
    reader_fini(&t);
}

static void a_start_on_a_full_disk_has_its_history(void **state)
{
    struct reader t;
    reader_init(&t);
    rig_open(&t.rig);
    uint64_t last = fill(&t, 200);
    rig_crash(&t.rig);
    rig_abandon(&t.rig);
    fault_arm("file.reserve", 1, true);
    rig_open(&t.rig);
    assert_int_equal(follow(&t, 0, 100), last);
    expect_stale(&t, last + 1, 0);
    fault_arm("", 0, false);
    rig_close(&t.rig);
    reader_fini(&t);
}

/* ---- retention ---- */

static void what_retention_let_go_is_stale_and_the_rest_is_there(void **state)
{
    struct reader t;
    reader_init(&t);
    t.rig.local.retention_bytes = 200 * 1024;
    rig_open(&t.rig);
    for (int i = 0; i < 5; i++) {
        uint64_t last = fill(&t, 200);
        rig_apply(&t.rig);
        assert_int_equal(ask(&t, 0, 10), i == 0 ? t.q.result : ERR_STALE);
        uint64_t oldest = t.q.oldest;
        if (i > 0) {
            assert_true(oldest > 0 && oldest < last);
            expect_stale(&t, oldest - 1, oldest);
        }
        assert_int_equal(follow(&t, oldest, 33), last - oldest);
        expect_stale(&t, last + 1, oldest);
    }
    rig_crash(&t.rig);
    assert_int_equal(ask(&t, 0, 10), ERR_STALE);
    assert_int_equal(follow(&t, t.q.oldest, 33), newest(&t) - t.q.oldest);
    rig_close(&t.rig);
    reader_fini(&t);
}

static void a_segment_being_read_stays(void **state)
{
    struct reader t;
    struct error e;
    uint64_t numbers[64];
    reader_init(&t);
    rig_open(&t.rig);
    (void)fill(&t, 300);
    rig_apply(&t.rig);
    size_t before = rig_segments(&t.rig, numbers, 64);
    begin(&t, 0, 10);
    backend_changes(t.rig.b, &t.q);
    t.rig.local.retention_bytes = 0;
    assert_int_equal(rig_set_options(&t.rig, &e), OK);
    assert_int_equal(rig_segments(&t.rig, numbers, 64), before);
    assert_int_equal(finish(&t), OK);
    assert_int_equal(t.q.count, 10);
    assert_int_equal(t.q.rows[0].version, 1);
    assert_int_equal(rig_set_options(&t.rig, &e), OK);
    for (int i = 0; i < 20; i++) rig_step(&t.rig);
    assert_true(rig_segments(&t.rig, numbers, 64) < before);
    assert_int_equal(ask(&t, 0, 10), ERR_STALE);
    rig_close(&t.rig);
    reader_fini(&t);
}

static void following_reads_only_what_is_new(void **state)
{
    struct reader t;
    reader_init(&t);
    t.rig.local.segment_bytes = 16 << 20;
    t.rig.options.memtable_bytes = 64 << 20;
    rig_open(&t.rig);
    uint64_t last = 0;
    for (int i = 0; i < 100; i++) last = fill(&t, 50); /* 5 MB */
    fault_arm("file.read", UINT64_MAX, false);
    assert_int_equal(follow(&t, 0, SIZE_MAX), last);
    assert_true(fault_calls() > 5);
    for (int i = 0; i < 600; i++) { /* more than there are places */
        uint64_t next = set(&t, "a", "1");
        rig_settle(&t.rig);
        fault_arm("file.read", UINT64_MAX, false);
        expect_rows(&t, last, 10, "a=1");
        assert_int_equal(fault_calls(), 1);
        last = next;
    }
    rig_close(&t.rig);
    reader_fini(&t);
}

/* ---- trouble ---- */

static void damage_in_history_is_no_gap(void **state)
{
    struct reader t;
    uint64_t numbers[64];
    uint8_t byte = 0;
    struct file f;
    reader_init(&t);
    rig_open(&t.rig);
    uint64_t last = fill(&t, 300);
    rig_apply(&t.rig);
    size_t count = rig_segments(&t.rig, numbers, 64);
    assert_true(count > 4);
    assert_int_equal(file_open(&f, rig_segment_path(&t.rig, numbers[1]), FILE_WRITE_OLD, NULL), OK);
    assert_int_equal(file_read_at(&f, 20000, &byte, 1, NULL), OK);
    byte ^= 1;
    assert_int_equal(file_write_at(&f, 20000, slice_of(&byte, 1), NULL), OK);
    file_close(&f);
    uint64_t at = 0;
    enum err r = OK;
    while ((r = ask(&t, at, 10)) == OK && !t.q.is_end) at = t.q.next;
    assert_int_equal(r, ERR_STALE);
    assert_true(at > 10 && at < t.q.oldest);
    assert_int_equal(ask(&t, 0, 10), ERR_STALE);
    assert_int_equal(follow(&t, t.q.oldest, 10), last - t.q.oldest);
    rig_close(&t.rig);
    reader_fini(&t);
}

static void a_missing_segment_is_no_gap(void **state)
{
    struct reader t;
    uint64_t numbers[64];
    reader_init(&t);
    rig_open(&t.rig);
    uint64_t last = fill(&t, 300);
    rig_close(&t.rig);
    assert_true(rig_segments(&t.rig, numbers, 64) > 4);
    assert_int_equal(file_remove(rig_segment_path(&t.rig, numbers[1]), NULL), OK);
    rig_open(&t.rig);
    uint64_t at = 0;
    enum err r = OK;
    while ((r = ask(&t, at, 10)) == OK && !t.q.is_end) at = t.q.next;
    assert_int_equal(r, ERR_STALE);
    assert_true(at > 10 && at < t.q.oldest);
    assert_int_equal(follow(&t, t.q.oldest, 10), last - t.q.oldest);
    rig_close(&t.rig);
    reader_fini(&t);
}

static void any_one_read_may_fail(void **state)
{
    static const char *const points[] = {"file.read", "file.open"};
    struct reader t;
    reader_init(&t);
    rig_open(&t.rig);
    uint64_t last = fill(&t, 150);
    rig_apply(&t.rig);
    for (size_t p = 0; p < 2; p++) {
        bool was_hit = true;
        for (uint64_t nth = 1; was_hit; nth++) {
            uint64_t at = 0;
            assert_true(nth < 1000);
            fault_arm(points[p], nth, false);
            do {
                enum err r = ask(&t, at, 20);
                if (r != OK) assert_true(fault_was_hit());
                if (r != OK) assert_true(r == ERR_IO || r == ERR_NOMEM);
                for (size_t i = 0; r == OK && i < t.q.count; i++) {
                    assert_int_equal(t.q.rows[i].version, ++at);
                }
                if (r != OK) t.q.is_end = false;
            } while (!t.q.is_end);
            assert_int_equal(at, last);
            was_hit = fault_was_hit();
        }
        fault_arm("", 0, false);
    }
    rig_close(&t.rig);
    reader_fini(&t);
}

/* With threads: a reader follows while segments fill, go and are used again. */
static void a_reader_follows_while_segments_are_used_again(void **state)
{
    static uint8_t value[900];
    struct reader t;
    uint64_t told = 0;
    uint64_t stale = 0;
    reader_init(&t);
    t.rig.options.is_inline = false;
    t.rig.local.retention_bytes = 150 * 1024;
    t.rig.options.memtable_bytes = 100 * 1024;
    rig_open(&t.rig);
    uint64_t at = 0;
    begin(&t, 0, 20);
    backend_changes(t.rig.b, &t.q);
    for (unsigned i = 0; i < 5000; i++) {
        (void)rig_set(&t.rig, key_of(0, "k%u", i % 100), slice_of(value, sizeof value));
        if (i % 8 == 0) rig_step(&t.rig);
        if (i % 500 == 499) rig_apply(&t.rig);
        /* It sleeps for a while, too long, now and then. */
        if (!t.rig.is_told || i / 1000 % 2 == 1) continue;
        if (t.q.result == ERR_STALE) {
            assert_true(at < t.q.oldest);
            at = t.q.oldest;
            stale++;
        } else {
            assert_int_equal(t.q.result, OK);
            for (size_t n = 0; n < t.q.count; n++) assert_int_equal(t.q.rows[n].version, ++at);
            told += t.q.count;
        }
        begin(&t, at, 20);
        backend_changes(t.rig.b, &t.q);
    }
    (void)finish(&t);
    rig_settle(&t.rig);
    assert_true(told > 500 && stale > 0);
    assert_int_equal(ask(&t, 0, 1), ERR_STALE);
    assert_int_equal(follow(&t, t.q.oldest, 50), newest(&t) - t.q.oldest);
    rig_close(&t.rig);
    reader_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commits_come_in_order_and_whole),
        cmocka_unit_test(an_answer_ends_by_bytes_too),
        cmocka_unit_test(only_what_is_durable_is_told),
        cmocka_unit_test(who_waits_for_a_version_is_told_when_the_backend_ends),
        cmocka_unit_test(other_keys_and_databases_are_passed_over),
        cmocka_unit_test(history_goes_on_over_segments_restarts_and_crashes),
        cmocka_unit_test(a_version_that_a_start_skipped_is_stale),
        cmocka_unit_test(a_restored_backup_has_no_history),
        cmocka_unit_test(a_tail_that_was_lost_is_stale),
        cmocka_unit_test(marks_in_the_journal_are_no_commits),
        cmocka_unit_test(a_start_on_a_full_disk_has_its_history),
        cmocka_unit_test(what_retention_let_go_is_stale_and_the_rest_is_there),
        cmocka_unit_test(a_segment_being_read_stays),
        cmocka_unit_test(following_reads_only_what_is_new),
        cmocka_unit_test(damage_in_history_is_no_gap),
        cmocka_unit_test(a_missing_segment_is_no_gap),
        cmocka_unit_test(any_one_read_may_fail),
        cmocka_unit_test(a_reader_follows_while_segments_are_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
