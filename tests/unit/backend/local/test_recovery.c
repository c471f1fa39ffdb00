/* recovery: what a start makes of what a crash or a bad disk left behind. A batch is found again by
 * its own format: nothing here knows offsets but through journal_format.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "backend/local/store_int.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "unit/backend/local_help.h"

#define SEGMENTS_MAX 256
#define SPARES_MAX 2 /* prepared ahead of the current segment */
#define START_MS 1700000000000

/* ---- segments as files ---- */

static void segment_load(struct rig *r, uint64_t number, struct buf *out)
{
    buf_clear(out, SIZE_MAX);
    assert_int_equal(file_read_all(rig_segment_path(r, number), out, 1u << 26, NULL), OK);
}

static void segment_store(struct rig *r, uint64_t number, const struct buf *bytes)
{
    struct file f;
    assert_int_equal(file_open(&f, rig_segment_path(r, number), FILE_WRITE_NEW, NULL), OK);
    assert_int_equal(file_write_at(&f, 0, buf_slice(bytes), NULL), OK);
    file_close(&f);
}

/* Where the batch that holds `version` begins, and in *end where the next one would. */
static size_t batch_find(const struct buf *segment, uint64_t version, size_t *end)
{
    struct batch_header h;
    size_t at = JOURNAL_HEADER_BYTES;
    while (batch_peek(segment->data + at, segment->len - at, &h)) {
        *end = at + batch_bytes(h.payload_bytes);
        if (h.first_version <= version && version <= h.last_version) return at;
        at = *end;
    }
    fail_msg("version %llu is not in the segment", (unsigned long long)version);
    return 0;
}

/* The newest segment that something was written to, with its bytes. */
static uint64_t last_written(struct rig *r, struct buf *bytes)
{
    uint64_t numbers[SEGMENTS_MAX];
    size_t count = rig_segments(r, numbers, SEGMENTS_MAX);
    while (count-- > 0) {
        segment_load(r, numbers[count], bytes);
        if (bytes->len > 0 && bytes->data[0] != 0) return numbers[count];
    }
    fail_msg("no segment was written to");
    return 0;
}

static void expect_refused(struct rig *r, enum err code, const char *text)
{
    struct error e = {.text = ""};
    assert_int_equal(rig_try_open(r, &e), code);
    if (strstr(e.text, text) == NULL) print_error("\"%s\" lacks \"%s\"\n", e.text, text);
    assert_non_null(strstr(e.text, text));
}

/* Commits a=1, b=2, ... one durable batch each, nothing applied; versions[i]. */
static void write_letters(struct rig *r, unsigned count, uint64_t *versions)
{
    for (unsigned i = 0; i < count; i++) {
        char value[16];
        snprintf(value, sizeof value, "%u", i);
        versions[i] = rig_set(r, key_of(0, "%c", 'a' + (int)i), slice_str(value));
        rig_settle(r);
    }
}

static void expect_letters(struct rig *r, unsigned count, unsigned absent_from)
{
    for (unsigned i = 0; i < count; i++) {
        char value[16];
        snprintf(value, sizeof value, "%u", i);
        rig_expect(r, key_of(0, "%c", 'a' + (int)i), i < absent_from ? value : NULL);
    }
}

/* ---- crashes ---- */

static void every_acknowledged_commit_survives_many_crashes(void **state)
{
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    for (int i = 0; i < 12; i++) {
        for (int k = 0; k < 5; k++) rig_set(&r, key_of(0, "%d.%d", i, k), slice_str("here"));
        rig_settle(&r);
        rig_set(&r, key_of(0, "unsynced"), slice_str("?"));
        if (i % 5 == 4) rig_apply(&r);
        rig_crash(&r);
        for (int j = 0; j <= i; j++) {
            for (int k = 0; k < 5; k++) rig_expect(&r, key_of(0, "%d.%d", j, k), "here");
        }
    }
    rig_fini(&r);
}

static void crashes_without_a_write_in_between_lose_nothing(void **state)
{
    struct rig r;
    uint64_t versions[3];
    rig_init(&r);
    rig_open(&r);
    write_letters(&r, 3, versions);
    for (int i = 0; i < 5; i++) {
        rig_crash(&r);
        expect_letters(&r, 3, 3);
    }
    rig_fini(&r);
}

static void a_transaction_is_there_whole_or_not_at_all(void **state)
{
    struct rig r;
    struct buf bytes;
    uint64_t versions[2];
    buf_init(&bytes);
    rig_init(&r);
    rig_open(&r);
    write_letters(&r, 2, versions);
    struct mutation mu[3] = {
        {.kind = MUTATION_SET, .key = key_of(0, "x"), .value = slice_str("1")},
        {.kind = MUTATION_DELETE, .key = key_of(0, "a")},
        {.kind = MUTATION_SET, .key = key_of(0, "y"), .value = slice_str("2")}};
    uint64_t version = 0;
    assert_int_equal(rig_try_commit(&r, mu, 3, &version, NULL), OK);
    rig_settle(&r);
    rig_abandon(&r);
    uint64_t number = last_written(&r, &bytes);
    size_t end = 0;
    size_t begin = batch_find(&bytes, version, &end);
    for (size_t cut = end; cut >= begin; cut -= 8) {
        memset(bytes.data + cut, 0, bytes.len - cut);
        segment_store(&r, number, &bytes);
        rig_open(&r);
        bool is_there = cut == end;
        rig_expect(&r, key_of(0, "x"), is_there ? "1" : NULL);
        rig_expect(&r, key_of(0, "y"), is_there ? "2" : NULL);
        rig_expect(&r, key_of(0, "a"), is_there ? NULL : "0");
        rig_abandon(&r);
    }
    rig_fini(&r);
    buf_fini(&bytes);
}

/* ---- tails ---- */

static void a_file_cut_behind_the_durable_batches_starts(void **state)
{
    struct rig r;
    struct buf bytes;
    uint64_t versions[4];
    buf_init(&bytes);
    rig_init(&r);
    rig_open(&r);
    write_letters(&r, 4, versions);
    rig_abandon(&r);
    uint64_t number = last_written(&r, &bytes);
    size_t end = 0;
    size_t begin = batch_find(&bytes, versions[3], &end);
    /* Nothing proves that the last batch was synced: a start may not refuse it. */
    size_t cuts[] = {end, end - 1, begin + 60, begin + 1, begin};
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        bytes.len = cuts[i];
        segment_store(&r, number, &bytes);
        rig_open(&r);
        expect_letters(&r, 4, i == 0 ? 4 : 3);
        rig_abandon(&r);
    }
    rig_fini(&r);
    buf_fini(&bytes);
}

static void garbage_in_the_tail_starts(void **state)
{
    struct rig r;
    struct buf bytes;
    uint64_t versions[4];
    buf_init(&bytes);
    rig_init(&r);
    rig_open(&r);
    write_letters(&r, 4, versions);
    rig_abandon(&r);
    uint64_t number = last_written(&r, &bytes);
    size_t end = 0;
    size_t begin = batch_find(&bytes, versions[3], &end);
    memset(bytes.data + end, 0xa5, bytes.len - end);
    segment_store(&r, number, &bytes);
    rig_open(&r);
    expect_letters(&r, 4, 4);
    rig_abandon(&r);
    /* An old batch once more, as a reused disk block may bring it: it is of no use. */
    size_t old_end = 0;
    size_t old = batch_find(&bytes, versions[1], &old_end);
    memmove(bytes.data + begin, bytes.data + old, old_end - old);
    segment_store(&r, number, &bytes);
    rig_open(&r);
    expect_letters(&r, 4, 3);
    rig_fini(&r);
    buf_fini(&bytes);
}

static void a_cut_tail_stays_cut_off_when_others_write_behind_it(void **state)
{
    struct rig r;
    struct buf bytes;
    uint64_t versions[4];
    buf_init(&bytes);
    rig_init(&r);
    rig_open(&r);
    write_letters(&r, 4, versions);
    rig_abandon(&r);
    uint64_t number = last_written(&r, &bytes);
    size_t end = 0;
    bytes.data[batch_find(&bytes, versions[3], &end) + 60] ^= 1;
    segment_store(&r, number, &bytes);
    for (int i = 0; i < 3; i++) {
        rig_open(&r);
        expect_letters(&r, 4, 3);
        for (int k = 0; k < i; k++) rig_expect(&r, key_of(0, "new %d", k), "1");
        uint64_t version = rig_set(&r, key_of(0, "new %d", i), slice_str("1"));
        assert_true(version > versions[3]);
        rig_settle(&r);
        rig_abandon(&r);
    }
    rig_fini(&r);
    buf_fini(&bytes);
}

/* ---- damage ---- */

static void a_flipped_bit_in_the_durable_part_is_refused_with_file_and_offset(void **state)
{
    struct rig r;
    struct buf bytes;
    uint64_t versions[4];
    buf_init(&bytes);
    rig_init(&r);
    clock_set_fake_ms(START_MS);
    rig_open(&r);
    write_letters(&r, 4, versions);
    rig_mark(&r);
    rig_abandon(&r);
    uint64_t number = last_written(&r, &bytes);
    for (unsigned i = 0; i < 4; i++) {
        size_t end = 0;
        size_t begin = batch_find(&bytes, versions[i], &end);
        char offset[32];
        snprintf(offset, sizeof offset, "at offset %zu", begin);
        for (size_t at = begin; at < end; at += 11) {
            /* Padding means nothing. */
            struct batch_header h;
            assert_true(batch_peek(bytes.data + begin, bytes.len - begin, &h));
            if (at >= begin + JOURNAL_BATCH_BYTES + h.payload_bytes) continue;
            bytes.data[at] ^= 0x10;
            segment_store(&r, number, &bytes);
            bytes.data[at] ^= 0x10;
            struct error e = {.text = ""};
            assert_int_equal(rig_try_open(&r, &e), ERR_CORRUPT);
            assert_non_null(strstr(e.text, rig_segment_path(&r, number)));
            assert_non_null(strstr(e.text, offset));
        }
    }
    segment_store(&r, number, &bytes);
    rig_open(&r);
    expect_letters(&r, 4, 4);
    rig_fini(&r);
    buf_fini(&bytes);
}

/* One byte of the header of the first segment; all its batches were durable. */
static void a_damaged_segment_header_is_refused(void **state)
{
    struct rig r;
    struct buf bytes;
    uint64_t versions[4];
    struct error e;
    buf_init(&bytes);
    rig_init(&r);
    rig_open(&r);
    write_letters(&r, 4, versions);
    rig_abandon(&r);
    uint64_t number = last_written(&r, &bytes);
    for (size_t at = 0; at < 56; at++) {
        bytes.data[at] ^= 0x01;
        segment_store(&r, number, &bytes);
        bytes.data[at] ^= 0x01;
        enum err result = rig_try_open(&r, &e);
        assert_int_equal(result,
                         at >= 8 && at < 12 && bytes.data[at] % 2 == 0 ? ERR_FORMAT : ERR_CORRUPT);
        if (result == ERR_CORRUPT) assert_non_null(strstr(e.text, rig_segment_path(&r, number)));
    }
    rig_fini(&r);
    buf_fini(&bytes);
}

/* Fills several segments with durable batches; the numbers of those on disk. */
static size_t write_segments(struct rig *r, uint64_t *numbers)
{
    uint8_t *value = calloc(1, 10000);
    for (int i = 0; i < 40; i++) {
        rig_set(r, key_of(0, "%d", i), slice_of(value, 10000));
        rig_settle(r);
    }
    free(value);
    size_t count = rig_segments(r, numbers, SEGMENTS_MAX);
    assert_true(count > 4);
    return count;
}

static void a_missing_middle_segment_is_refused(void **state)
{
    struct rig r;
    uint64_t numbers[SEGMENTS_MAX];
    rig_init(&r);
    rig_open(&r);
    (void)write_segments(&r, numbers);
    rig_abandon(&r);
    assert_int_equal(remove(rig_segment_path(&r, numbers[2])), 0);
    expect_refused(&r, ERR_CORRUPT, rig_segment_path(&r, numbers[1]));
    expect_refused(&r, ERR_CORRUPT, "at offset ");
    rig_fini(&r);
}

static void a_missing_first_segment_is_refused(void **state)
{
    struct rig r;
    uint64_t numbers[SEGMENTS_MAX];
    rig_init(&r);
    rig_open(&r);
    (void)write_segments(&r, numbers);
    rig_abandon(&r);
    assert_int_equal(remove(rig_segment_path(&r, numbers[0])), 0);
    expect_refused(&r, ERR_CORRUPT, "segments are missing");
    rig_fini(&r);
}

/* A segment whose preparing failed may leave its file behind; the journal went on without it. */
static void a_leftover_between_two_segments_is_skipped(void **state)
{
    struct rig r;
    struct buf zeros;
    uint64_t numbers[SEGMENTS_MAX];
    buf_init(&zeros);
    rig_init(&r);
    clock_set_fake_ms(START_MS);
    rig_open(&r);
    fault_arm("file.reserve", 1, false);
    for (int i = 0; i < 10; i++) rig_step(&r);
    assert_true(fault_was_hit());
    clock_set_fake_ms(START_MS + 2000);
    for (int i = 0; i < 10; i++) rig_step(&r);
    size_t count = write_segments(&r, numbers);
    rig_abandon(&r);
    assert_int_equal(numbers[0], 1);
    assert_int_equal(numbers[1], 3);
    assert_true(count > 4);
    while (zeros.len < 5000) buf_append_byte(&zeros, 0);
    for (int i = 0; i < 3; i++) {
        if (i < 2) segment_store(&r, 2, &zeros);
        rig_open(&r);
        struct entry entry;
        for (int k = 0; k < 40; k++) {
            rig_load(&r, key_of(0, "%d", k), &entry);
            assert_int_equal(entry.value.len, 10000);
        }
        if (i == 1) rig_apply(&r);
        rig_abandon(&r);
    }
    rig_fini(&r);
    buf_fini(&zeros);
}

/* Both batches are written by one job, so neither says that the other is durable. But the journal
 * moves to the next segment only after the one left behind was synced. */
static void damage_in_a_segment_that_was_left_is_refused(void **state)
{
    struct rig r;
    struct buf bytes;
    uint64_t numbers[SEGMENTS_MAX];
    uint64_t versions[3] = {0};
    uint8_t *value = calloc(1, 40000);
    buf_init(&bytes);
    rig_init(&r);
    rig_open(&r);
    for (int i = 0; i < 10; i++) rig_step(&r); /* the spare segment is ready */
    for (unsigned i = 0; i < 3; i++) {
        struct mutation mu = {.kind = MUTATION_SET,
                              .key = key_of(0, "%u", i),
                              .value = slice_of(value, i == 0 ? 10 : 29000 + i * 2000)};
        struct batch batch = {.items = &mu, .count = 1, .time_ms = START_MS};
        assert_int_equal(backend_commit(r.b, &batch, &versions[i], &r.waiter, NULL), OK);
        /* The first batch is on its way while the other two gather. */
        if (i == 0) backend_turn_end(r.b);
    }
    rig_settle(&r);
    rig_abandon(&r);
    assert_true(rig_segments(&r, numbers, SEGMENTS_MAX) >= 2);
    segment_load(&r, numbers[0], &bytes);
    size_t end = 0;
    size_t begin = batch_find(&bytes, versions[1], &end);
    bytes.data[begin + JOURNAL_BATCH_BYTES + 1000] ^= 1;
    segment_store(&r, numbers[0], &bytes);
    expect_refused(&r, ERR_CORRUPT, rig_segment_path(&r, numbers[0]));
    bytes.data[begin + JOURNAL_BATCH_BYTES + 1000] ^= 1;
    segment_store(&r, numbers[0], &bytes);
    rig_open(&r);
    struct entry entry;
    for (unsigned i = 0; i < 3; i++) {
        rig_load(&r, key_of(0, "%u", i), &entry);
        assert_int_equal(entry.version, versions[i]);
    }
    free(value);
    rig_fini(&r);
    buf_fini(&bytes);
}

/* A server killed while it prepared a segment leaves a file of any length. */
static void a_half_prepared_segment_is_no_damage(void **state)
{
    struct rig r;
    struct buf bytes;
    uint64_t versions[2];
    off_t lengths[] = {0, 1, 63, 64, 1000};
    rig_init(&r);
    buf_init(&bytes);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        assert_int_equal(mkdir(r.dir, 0755) == 0 || file_exists(r.dir), true);
        buf_clear(&bytes, SIZE_MAX);
        while (bytes.len < (size_t)lengths[i]) buf_append_byte(&bytes, 0);
        rig_open(&r);
        if (i > 0) expect_letters(&r, 2, 2);
        rig_abandon(&r);
        uint64_t numbers[SEGMENTS_MAX];
        size_t count = rig_segments(&r, numbers, SEGMENTS_MAX);
        for (size_t k = 0; k < count; k++) {
            struct buf segment;
            buf_init(&segment);
            segment_load(&r, numbers[k], &segment);
            if (segment.len == 0 || segment.data[0] == 0) segment_store(&r, numbers[k], &bytes);
            buf_fini(&segment);
        }
        rig_open(&r);
        write_letters(&r, 2, versions);
        rig_abandon(&r);
    }
    rig_open(&r);
    expect_letters(&r, 2, 2);
    rig_fini(&r);
    buf_fini(&bytes);
}

/* ---- formats, identities ---- */

static void a_newer_journal_format_is_refused(void **state)
{
    struct rig r;
    struct buf bytes;
    uint64_t versions[1];
    struct segment_header h;
    buf_init(&bytes);
    rig_init(&r);
    rig_open(&r);
    write_letters(&r, 1, versions);
    rig_abandon(&r);
    uint64_t number = last_written(&r, &bytes);
    assert_int_equal(segment_header_read(bytes.data, &h, NULL), OK);
    h.format = JOURNAL_FORMAT + 1;
    segment_header_write(&h, bytes.data);
    segment_store(&r, number, &bytes);
    expect_refused(&r, ERR_FORMAT, "newer");
    rig_fini(&r);
    buf_fini(&bytes);
}

/* As version 0.1 wrote it. */
static void the_format_before_is_read(void **state)
{
    struct rig r;
    struct buf bytes;
    uint64_t versions[3];
    struct segment_header h;
    buf_init(&bytes);
    rig_init(&r);
    rig_open(&r);
    write_letters(&r, 3, versions);
    rig_abandon(&r);
    uint64_t number = last_written(&r, &bytes);
    assert_int_equal(segment_header_read(bytes.data, &h, NULL), OK);
    h.format = JOURNAL_FORMAT_OLDEST;
    segment_header_write(&h, bytes.data);
    segment_store(&r, number, &bytes);
    rig_open(&r);
    expect_letters(&r, 3, 3);
    rig_fini(&r);
    buf_fini(&bytes);
}

static void database_exec(struct rig *r, const char *sql)
{
    sqlite3 *db = NULL;
    struct error e;
    struct vfs *v = vfs_open(&e);
    assert_non_null(v);
    assert_int_equal(store_connect(v, rig_path(r, "tupled.db"), 1 << 20, true, &db, &e), OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    vfs_close(v);
}

static void a_newer_database_format_is_refused(void **state)
{
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    rig_set(&r, key_of(0, "a"), slice_str("1"));
    rig_close(&r);
    database_exec(&r, "PRAGMA user_version=6");
    expect_refused(&r, ERR_FORMAT, "tupled.db has format 6, but");
    database_exec(&r, "PRAGMA user_version=1");
    expect_refused(&r, ERR_FORMAT,
                   "tupled.db has format 1, which is that of a development version");
    database_exec(&r, "PRAGMA user_version=5");
    rig_open(&r);
    rig_expect(&r, key_of(0, "a"), "1");
    rig_close(&r);
    rig_fini(&r);
}

static void a_foreign_database_is_refused(void **state)
{
    struct rig r;
    rig_init(&r);
    database_exec(&r, "CREATE TABLE t(x)");
    expect_refused(&r, ERR_FORMAT, "not one of tupled");
    rig_fini(&r);
}

static void a_file_that_is_no_database_is_refused(void **state)
{
    struct rig r;
    rig_init(&r);
    static uint8_t text[5000];
    memset(text, 'x', sizeof text);
    for (size_t len = 1; len <= sizeof text; len += sizeof text - 1) {
        assert_int_equal(file_write_all(rig_path(&r, "tupled.db"), slice_of(text, len), NULL), OK);
        expect_refused(&r, ERR_CORRUPT, "not a database");
    }
    rig_fini(&r);
}

static void a_database_that_lost_its_identity_is_refused(void **state)
{
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    rig_set(&r, key_of(0, "a"), slice_str("1"));
    rig_close(&r);
    database_exec(&r, "UPDATE meta SET value=x'00' WHERE name='database_id'");
    expect_refused(&r, ERR_CORRUPT, "lost its id");
    rig_fini(&r);
}

static void a_journal_of_another_database_is_refused(void **state)
{
    struct rig r;
    struct rig other;
    struct buf bytes;
    uint64_t versions[2];
    buf_init(&bytes);
    rig_init(&r);
    rig_init(&other);
    rig_open(&r);
    rig_open(&other);
    write_letters(&r, 2, versions);
    write_letters(&other, 2, versions);
    rig_abandon(&r);
    rig_abandon(&other);
    uint64_t number = last_written(&other, &bytes);
    segment_store(&r, number, &bytes);
    expect_refused(&r, ERR_CORRUPT, "another database");
    rig_fini(&r);
    rig_fini(&other);
    buf_fini(&bytes);
}

static void a_damaged_versions_file_is_refused(void **state)
{
    struct rig r;
    struct buf text;
    buf_init(&text);
    rig_init(&r);
    rig_open(&r);
    rig_set(&r, key_of(0, "a"), slice_str("1"));
    rig_close(&r);
    assert_int_equal(file_read_all(rig_path(&r, "versions"), &text, 1000, NULL), OK);
    for (size_t i = 0; i + 1 < text.len; i++) {
        text.data[i] ^= 1;
        assert_int_equal(file_write_all(rig_path(&r, "versions"), buf_slice(&text), NULL), OK);
        text.data[i] ^= 1;
        expect_refused(&r, ERR_CORRUPT, "versions");
    }
    assert_int_equal(file_write_all(rig_path(&r, "versions"), buf_slice(&text), NULL), OK);
    rig_open(&r);
    rig_close(&r);
    rig_fini(&r);
    buf_fini(&text);
}

/* ---- weaker durabilities ---- */

static void lose_and_check(enum durability durability)
{
    struct rig r;
    struct buf bytes;
    uint64_t versions[6];
    buf_init(&bytes);
    rig_init(&r);
    r.local.durability = durability;
    r.local.interval_ms = 100000;
    clock_set_fake_ms(START_MS);
    rig_open(&r);
    write_letters(&r, 6, versions);
    rig_abandon(&r);
    /* The process died, the kernel did not: all is there. */
    rig_open(&r);
    expect_letters(&r, 6, 6);
    rig_abandon(&r);
    /* The kernel wrote the last pages only: what survives is a prefix. */
    uint64_t number = last_written(&r, &bytes);
    size_t end = 0;
    size_t hole = batch_find(&bytes, versions[2], &end);
    memset(bytes.data + hole, 0, end - hole);
    segment_store(&r, number, &bytes);
    rig_open(&r);
    expect_letters(&r, 6, 2);
    rig_set(&r, key_of(0, "c"), slice_str("2"));
    rig_settle(&r);
    rig_crash(&r);
    expect_letters(&r, 6, 3);
    rig_close(&r);
    rig_open(&r);
    expect_letters(&r, 6, 3);
    rig_fini(&r);
    buf_fini(&bytes);
}

static void durability_never_keeps_a_prefix(void **state)
{
    lose_and_check(DURABILITY_NEVER);
}

/* The first tick after a write syncs when the last sync is that long ago: here at once. */
static void durability_interval_syncs_by_the_clock(void **state)
{
    struct rig r;
    struct backend_stats stats;
    rig_init(&r);
    r.local.durability = DURABILITY_INTERVAL;
    r.local.interval_ms = 1000;
    clock_set_fake_ms(START_MS);
    rig_open(&r);
    rig_set(&r, key_of(0, "a"), slice_str("1"));
    for (int i = 0; i < 10; i++) rig_step(&r);
    backend_stats(r.b, &stats);
    uint64_t first = stats.journal_syncs;
    uint64_t b = rig_set(&r, key_of(0, "b"), slice_str("1"));
    for (int i = 0; i < 10; i++) rig_step(&r);
    assert_int_equal(r.durable, b);
    backend_stats(r.b, &stats);
    assert_int_equal(stats.journal_syncs, first);
    assert_true(pipeline_of(r.b)->log.journal->synced < b);
    clock_set_fake_ms(START_MS + 1000);
    for (int i = 0; i < 10; i++) rig_step(&r);
    assert_int_equal(pipeline_of(r.b)->log.journal->synced, b);
    backend_stats(r.b, &stats);
    assert_int_equal(stats.journal_syncs, first + 1);
    rig_close(&r);
    rig_fini(&r);
}

static void the_store_gets_only_what_is_synced(void **state)
{
    struct rig r;
    rig_init(&r);
    r.local.durability = DURABILITY_NEVER;
    rig_open(&r);
    uint64_t version = rig_set(&r, key_of(0, "a"), slice_str("1"));
    rig_settle(&r);
    struct pipeline *l = pipeline_of(r.b);
    assert_true(l->log.journal->synced < version);
    pipeline_freeze(l);
    for (int i = 0; i < STEPS_MAX && l->stored.applied < version; i++) {
        rig_step(&r);
        assert_true(l->stored.applied <= l->log.journal->synced);
    }
    assert_int_equal(l->stored.applied, version);
    rig_fini(&r);
}

/* ---- rotation, retention ---- */

static void after_a_start_the_newest_version_is_that_of_a_commit(void **state)
{
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    uint64_t last = rig_set(&r, key_of(0, "a"), slice_str("1"));
    rig_settle(&r);
    for (int i = 0; i < 3; i++) {
        rig_crash(&r);
        assert_int_equal(backend_version_durable(r.b), last);
        assert_int_equal(backend_version_newest(r.b), last);
    }
    uint64_t next = rig_set(&r, key_of(0, "b"), slice_str("1"));
    assert_true(next > last + 1); /* reserved blocks are skipped, not given again */
    rig_settle(&r);
    rig_close(&r);
    rig_open(&r);
    assert_int_equal(backend_version_durable(r.b), next);
    rig_close(&r);
    rig_fini(&r);
}

static void the_journal_rotates_and_applied_segments_go(void **state)
{
    struct rig r;
    uint64_t numbers[SEGMENTS_MAX];
    rig_init(&r);
    rig_open(&r);
    size_t before = write_segments(&r, numbers);
    rig_apply(&r);
    for (int i = 0; i < 50; i++) rig_step(&r);
    size_t after = rig_segments(&r, numbers, SEGMENTS_MAX);
    assert_true(before > 6);
    assert_true(after <= 1 + SPARES_MAX);
    rig_crash(&r);
    struct entry entry;
    for (int i = 0; i < 40; i++) {
        rig_load(&r, key_of(0, "%d", i), &entry);
        assert_int_equal(entry.value.len, 10000);
    }
    rig_close(&r);
    rig_fini(&r);
}

static void retention_keeps_what_is_young_and_small_enough(void **state)
{
    struct rig r;
    struct backend_stats stats;
    uint64_t numbers[SEGMENTS_MAX];
    rig_init(&r);
    r.local.retention_ms = 60000;
    r.local.retention_bytes = 4 * r.local.segment_bytes;
    clock_set_fake_ms(START_MS);
    rig_open(&r);
    (void)write_segments(&r, numbers);
    rig_apply(&r);
    for (int i = 0; i < 50; i++) rig_step(&r);
    backend_stats(r.b, &stats);
    assert_in_range(stats.journal_segments, 4 + 1, 4 + 1 + SPARES_MAX);
    assert_int_equal(rig_segments(&r, numbers, SEGMENTS_MAX), stats.journal_segments);
    rig_close(&r);
    rig_open(&r);
    assert_true(rig_segments(&r, numbers, SEGMENTS_MAX) >= 4);
    clock_set_fake_ms(START_MS + 60001);
    rig_set(&r, key_of(0, "a"), slice_str("1"));
    rig_apply(&r);
    for (int i = 0; i < 50; i++) rig_step(&r);
    assert_true(rig_segments(&r, numbers, SEGMENTS_MAX) <= 1 + SPARES_MAX);
    rig_close(&r);
    rig_fini(&r);
}

static void versions_of_another_database_are_refused(void **state)
{
    struct rig r;
    struct rig other;
    struct error e;
    char from[128];
    rig_init(&r);
    rig_init(&other);
    rig_open(&r);
    rig_open(&other);
    rig_set(&r, key_of(0, "a"), slice_str("1"));
    rig_settle(&r);
    rig_close(&r);
    rig_close(&other);
    snprintf(from, sizeof from, "%s", rig_path(&other, "versions"));
    assert_int_equal(rename(from, rig_path(&r, "versions")), 0);
    assert_int_equal(rig_try_open(&r, &e), ERR_CORRUPT);
    assert_non_null(strstr(e.text, "versions belongs to another database"));
    rig_fini(&r);
    rig_fini(&other);
}

/* The marker of an idle journal is written without a sync under weak durabilities. Its segment may
 * become full, applied and removed before the next sync: the journal thread must not look at it. */
static void a_segment_is_not_removed_while_the_journal_thread_wants_to_sync_it(void **state)
{
    struct rig r;
    struct error e;
    uint8_t *value = calloc(1, 61200);
    rig_init(&r);
    r.local.durability = DURABILITY_INTERVAL;
    r.local.interval_ms = 10;
    r.options.memtable_age_ms = 100;
    clock_set_fake_ms(START_MS);
    rig_open(&r);
    rig_set(&r, key_of(0, "a"), slice_str("1"));
    for (int i = 1; i < 10; i++) rig_step(&r);
    pipeline_freeze(pipeline_of(r.b));
    clock_set_fake_ms(START_MS + 20);
    for (int i = 1; i < 4; i++) {
        pipeline_of(r.b)->apply.retry_us = INT64_MAX;
        clock_set_fake_ms(START_MS + 20 + i * 200);
        rig_step(&r);
        rig_step(&r);
    }
    pipeline_of(r.b)->apply.retry_us = 0;
    backend_tick(r.b);
    /* The big one goes to the next segment and stays in the batch being filled. */
    struct mutation mu = {
        .kind = MUTATION_SET, .key = key_of(0, "b"), .value = slice_of(value, 61200)};
    struct batch batch = {.items = &mu, .count = 1, .time_ms = START_MS + 1000};
    uint64_t version = 0;
    assert_int_equal(backend_commit(r.b, &batch, &version, &r.waiter, &e), OK);
    for (int i = 0; i < 10; i++) backend_poll(r.b);
    rig_settle(&r);
    rig_crash(&r);
    rig_expect(&r, key_of(0, "a"), "1");
    free(value);
    rig_fini(&r);
}

/* ---- what a start cuts off, what a sync must cover ---- */

/* Twice: the second start reads what the first one left of the file. */
static void a_start_gives_back_what_a_segment_did_not_use_and_no_more(void **state)
{
    struct rig r;
    uint64_t numbers[8];
    struct file f;
    uint64_t bytes = 0;
    rig_init(&r);
    r.local.segment_bytes = 1 << 20;
    r.local.retention_ms = 1000000;
    r.local.retention_bytes = 1 << 30;
    rig_open(&r);
    for (unsigned i = 0; i < 300; i++) rig_set(&r, key_of(0, "%03u", i), slice_str("some value"));
    rig_settle(&r);
    rig_crash(&r);
    assert_true(rig_segments(&r, numbers, 8) >= 2);
    assert_int_equal(file_open(&f, rig_segment_path(&r, numbers[0]), FILE_READ, NULL), OK);
    assert_int_equal(file_size(&f, &bytes, NULL), OK);
    file_close(&f);
    assert_true(bytes < 64 << 10);
    for (int i = 0; i < 3; i++) {
        rig_crash(&r);
        for (unsigned k = 0; k < 300; k++) rig_expect(&r, key_of(0, "%03u", k), "some value");
    }
    rig_close(&r);
    rig_fini(&r);
}

#define DIRTY_MAX 8

/* The journal's files that were written to since they were synced. */
struct dirty {
    char paths[DIRTY_MAX][128];
    size_t count, most;
};

static void on_write(void *arg, const char *path, uint64_t offset, struct slice bytes)
{
    struct dirty *d = arg;
    if (strstr(path, "/journal-") == NULL) return;
    for (size_t i = 0; i < d->count; i++) {
        if (strcmp(d->paths[i], path) == 0) return;
    }
    assert_true(d->count < DIRTY_MAX);
    snprintf(d->paths[d->count++], sizeof d->paths[0], "%s", path);
    if (d->count > d->most) d->most = d->count;
}

static void on_sync(void *arg, const char *path)
{
    struct dirty *d = arg;
    for (size_t i = 0; i < d->count; i++) {
        if (strcmp(d->paths[i], path) != 0) continue;
        memcpy(d->paths[i], d->paths[--d->count], sizeof d->paths[0]);
        return;
    }
}

/* A power failure right after the acknowledgement must find all of it: also what one job of the
 * journal thread wrote into the segment that it left behind. */
static void what_is_acknowledged_is_synced_in_every_segment(void **state)
{
    static uint8_t value[9000];
    struct dirty d = {.count = 0};
    struct file_observer observer = {.before_write = on_write, .after_sync = on_sync, .arg = &d};
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    rig_set(&r, key_of(0, "first"), slice_str("1"));
    rig_settle(&r);
    for (int i = 0; i < 50; i++) rig_step(&r); /* spares are prepared */
    file_set_observer(&observer);
    for (unsigned round = 0; round < 20; round++) {
        /* One turn of the loop: together more than a segment holds. */
        uint64_t version = 0;
        for (unsigned i = 0; i < 8; i++) {
            version = rig_set(&r, key_of(0, "%u", i), slice_of(value, sizeof value));
        }
        for (int i = 0; r.durable < version; i++) {
            assert_true(i < STEPS_MAX);
            rig_step(&r);
            if (r.durable == version) assert_int_equal(d.count, 0);
        }
        for (int i = 0; i < 200; i++) rig_step(&r);
    }
    file_set_observer(NULL);
    assert_true(d.most >= 1);
    rig_close(&r);
    rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_acknowledged_commit_survives_many_crashes),
        cmocka_unit_test(crashes_without_a_write_in_between_lose_nothing),
        cmocka_unit_test(a_transaction_is_there_whole_or_not_at_all),
        cmocka_unit_test(a_file_cut_behind_the_durable_batches_starts),
        cmocka_unit_test(garbage_in_the_tail_starts),
        cmocka_unit_test(a_cut_tail_stays_cut_off_when_others_write_behind_it),
        cmocka_unit_test(a_flipped_bit_in_the_durable_part_is_refused_with_file_and_offset),
        cmocka_unit_test(a_damaged_segment_header_is_refused),
        cmocka_unit_test(a_missing_middle_segment_is_refused),
        cmocka_unit_test(a_missing_first_segment_is_refused),
        cmocka_unit_test(a_leftover_between_two_segments_is_skipped),
        cmocka_unit_test(damage_in_a_segment_that_was_left_is_refused),
        cmocka_unit_test(a_half_prepared_segment_is_no_damage),
        cmocka_unit_test(a_newer_journal_format_is_refused),
        cmocka_unit_test(the_format_before_is_read),
        cmocka_unit_test(a_newer_database_format_is_refused),
        cmocka_unit_test(a_foreign_database_is_refused),
        cmocka_unit_test(a_start_gives_back_what_a_segment_did_not_use_and_no_more),
        cmocka_unit_test(what_is_acknowledged_is_synced_in_every_segment),
        cmocka_unit_test(a_file_that_is_no_database_is_refused),
        cmocka_unit_test(a_database_that_lost_its_identity_is_refused),
        cmocka_unit_test(a_journal_of_another_database_is_refused),
        cmocka_unit_test(a_damaged_versions_file_is_refused),
        cmocka_unit_test(durability_never_keeps_a_prefix),
        cmocka_unit_test(durability_interval_syncs_by_the_clock),
        cmocka_unit_test(the_store_gets_only_what_is_synced),
        cmocka_unit_test(after_a_start_the_newest_version_is_that_of_a_commit),
        cmocka_unit_test(the_journal_rotates_and_applied_segments_go),
        cmocka_unit_test(retention_keeps_what_is_young_and_small_enough),
        cmocka_unit_test(versions_of_another_database_are_refused),
        cmocka_unit_test(a_segment_is_not_removed_while_the_journal_thread_wants_to_sync_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
