/* Tests of offline/check and check_archive: which directories are looked at, and what of their files
 * is found to be damaged or missing. What is in the pages: test_check_entries.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "backend/local/archive.h"
#include "base/file.h"
#include "offline/check_int.h"
#include "unit/offline/check_help.h"

static void put(struct looks *t, const char *name, struct slice bytes)
{
    if (file_write_all(rig_path(&t->rig, name), bytes, &t->e) != OK) fail_msg("%s", t->e.text);
}

/* Changes a byte, at `at` from the beginning. */
static void damage(struct looks *t, const char *name, size_t at)
{
    struct buf bytes = {0};
    assert_int_equal(file_read_all(rig_path(&t->rig, name), &bytes, 1 << 24, &t->e), OK);
    assert_true(at < bytes.len);
    bytes.data[at] ^= 1;
    put(t, name, buf_slice(&bytes));
    buf_fini(&bytes);
}

/* ---- which directories ---- */

static void a_directory_of_something_else_is_refused(void **state)
{
    struct looks *t = *state;
    put(t, "versions", slice_str("x"));
    put(t, "journal-1.txt", slice_str("x"));
    assert_int_equal(check_run(&t->k, &t->e), ERR_SYNTAX);
    assert_non_null(strstr(t->e.text, "is neither a data directory (no tupled.db) nor an archive"));
    t->k.dir = rig_path(&t->rig, "none");
    assert_int_not_equal(check_run(&t->k, &t->e), OK);
}

static void a_good_one_has_nothing_to_tell(void **state)
{
    struct looks *t = *state;
    t->k.files_only = true;
    rig_open(&t->rig);
    uint64_t version = rig_set(&t->rig, key_of(0, "a"), slice_str("1"));
    rig_apply(&t->rig);
    version = rig_set(&t->rig, key_of(0, "b"), slice_str("1"));
    rig_settle(&t->rig);
    rig_abandon(&t->rig); /* as after kill -9 */
    looks_run(t);
    assert_int_equal(t->k.damaged, 0);
    assert_string_equal(t->lines.data, "");
    assert_false(t->k.is_archive);
    assert_true(t->k.pages > 0);
    assert_true(t->k.segments >= 1);
    assert_int_equal(t->k.transactions, 2);
    assert_int_equal(t->k.newest, version);
}

static void a_changed_byte_of_a_page_is_told(void **state)
{
    struct looks *t = *state;
    t->k.files_only = true;
    rig_open(&t->rig);
    (void)rig_set(&t->rig, key_of(0, "a"), slice_str("1"));
    rig_apply(&t->rig);
    rig_close(&t->rig);
    looks_run(t);
    assert_int_equal(t->k.damaged, 0);
    uint64_t pages = t->k.pages;
    damage(t, "tupled.db", 4096 + 100);
    looks_run(t);
    looks_found(t, "damage pages tupled.db at offset 4096: ", "page 2: checksum mismatch");
    assert_int_equal(t->k.damaged, 1);
    assert_int_equal(t->k.pages, pages);
}

static void a_journal_without_its_store_is_damage(void **state)
{
    struct looks *t = *state;
    rig_open(&t->rig);
    (void)rig_set(&t->rig, key_of(0, "a"), slice_str("1"));
    rig_settle(&t->rig);
    rig_abandon(&t->rig);
    assert_int_equal(file_remove(rig_path(&t->rig, "tupled.db"), &t->e), OK);
    looks_run(t);
    looks_found(t, "damage pages tupled.db: ", "it is missing, but its journal exists");
}

static void what_a_server_has_is_left_alone(void **state)
{
    struct looks *t = *state;
    int fd = -1;
    put(t, "tupled.db", slice_str("x"));
    assert_int_equal(file_lock(rig_path(&t->rig, "LOCK"), &fd, &t->e), OK);
    assert_int_equal(check_run(&t->k, &t->e), ERR_LOCKED);
    assert_non_null(strstr(t->e.text, "stop it first"));
    file_unlock(fd);
    t->k.files_only = true;
    looks_run(t);
    looks_found(t, "damage pages tupled.db: ", "it is not a database: its size is 1 bytes");
    assert_int_equal(file_remove(rig_path(&t->rig, "LOCK"), &t->e), OK);
    looks_run(t);
    assert_false(file_exists(rig_path(&t->rig, "LOCK"))); /* looking makes none */
}

/* ---- lines ---- */

static void so_many_lines_are_told_and_all_are_counted(void **state)
{
    struct looks *t = *state;
    for (int i = 0; i < CHECK_LINES_MAX + 5; i++) {
        check_say(&t->k, CHECK_DAMAGE, "entries", "kv", "%d", i);
    }
    assert_int_equal(t->told, CHECK_LINES_MAX);
    assert_int_equal(t->k.damaged, CHECK_LINES_MAX + 5);
    assert_int_equal(t->k.notes, 0);
    check_say(&t->k, CHECK_NOTE, "entries", "kv", "a note is of another kind");
    assert_int_equal(t->told, CHECK_LINES_MAX + 1);
    assert_int_equal(t->k.notes, 1);
}

/* ---- archives ---- */

static void add_timeline(struct manifest *m)
{
    const struct manifest_timeline t = {.number = 1};
    manifest_add_timeline(m, &t);
}

static void add_segment(struct manifest *m, uint32_t timeline, uint64_t number, uint64_t before,
                        uint64_t last)
{
    const struct manifest_segment s = {
        .timeline = timeline, .number = number, .before = before, .last = last, .bytes = 5};
    manifest_add_segment(m, &s);
}

static void save(struct looks *t, struct manifest *m)
{
    if (manifest_write(t->rig.dir, m, &t->e) != OK) fail_msg("%s", t->e.text);
}

static const char *segment_name(struct looks *t, const struct manifest *m, size_t i)
{
    static char name[100];
    struct buf path = {0};
    manifest_segment_path(&path, t->rig.dir, &m->segments[i]);
    (void)snprintf(name, sizeof name, "%s", strrchr((char *)path.data, '/') + 1);
    buf_fini(&path);
    return name;
}

static void an_archive_must_have_what_its_manifest_names(void **state)
{
    struct looks *t = *state;
    struct manifest m = {0};
    const struct manifest_base b = {.timeline = 1, .version = 5, .bytes = 4096};
    add_timeline(&m);
    save(t, &m);
    looks_run(t);
    assert_true(t->k.is_archive);
    assert_int_equal(t->k.damaged + t->k.notes, 0);
    add_segment(&m, 1, 1, 0, 10);
    manifest_add_base(&m, &b);
    save(t, &m);
    looks_run(t);
    assert_int_equal(t->k.segments, 1);
    assert_int_equal(t->k.bases, 1);
    assert_int_equal(t->k.damaged, 2);
    looks_found(t, "damage archive ", "it is missing");
    looks_found(t, "damage archive ", ".log: it is missing");
    looks_found(t, "damage archive ", ".db: it is missing");
    manifest_fini(&m);
}

static void a_file_of_an_archive_is_what_it_was(void **state)
{
    struct looks *t = *state;
    struct manifest m = {0};
    add_timeline(&m);
    add_segment(&m, 1, 1, 0, 10);
    save(t, &m);
    put(t, segment_name(t, &m, 0), slice_str("123456"));
    looks_run(t);
    looks_found(t, "damage archive ", "it has 6 bytes, not 5");
    put(t, segment_name(t, &m, 0), slice_str("12345"));
    looks_run(t);
    looks_found(t, "damage archive ", "checksum mismatch");
    assert_int_equal(archive_sum(rig_path(&t->rig, segment_name(t, &m, 0)), NULL,
                                 &m.segments[0].bytes, &m.segments[0].sum, &t->e),
                     OK);
    save(t, &m);
    looks_run(t); /* it is, but it is no segment */
    assert_int_equal(t->k.damaged, 1);
    assert_null(strstr((char *)t->lines.data, "checksum mismatch"));
    m.segments[0].timeline = 2;
    put(t, segment_name(t, &m, 0), slice_str("12345"));
    save(t, &m);
    looks_run(t);
    looks_found(t, "damage archive ", "the manifest has no timeline 2");
    manifest_fini(&m);
}

static void a_gap_between_segments_is_told(void **state)
{
    struct looks *t = *state;
    struct manifest m = {0};
    add_timeline(&m);
    add_segment(&m, 1, 3, 25, 30); /* in any order */
    add_segment(&m, 1, 2, 10, 20);
    add_segment(&m, 1, 1, 0, 10);
    add_segment(&m, 2, 1, 100, 110); /* follows none */
    save(t, &m);
    looks_run(t);
    looks_found(t, "damage archive ",
                "there is a gap: it begins after version 25, but the segment before it ends at 20");
    assert_int_equal(t->k.damaged, 4 + 1); /* the files are missing too */
    manifest_fini(&m);
}

static void a_damaged_manifest_is_told(void **state)
{
    struct looks *t = *state;
    struct manifest m = {0};
    add_timeline(&m);
    save(t, &m);
    damage(t, "manifest", 20);
    looks_run(t);
    looks_found(t, "damage archive manifest: ", "");
    assert_int_equal(t->k.damaged, 1);
    manifest_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, looks_enter, looks_leave)
        T(a_directory_of_something_else_is_refused),
        T(a_good_one_has_nothing_to_tell),
        T(a_changed_byte_of_a_page_is_told),
        T(a_journal_without_its_store_is_damage),
        T(what_a_server_has_is_left_alone),
        T(so_many_lines_are_told_and_all_are_counted),
        T(an_archive_must_have_what_its_manifest_names),
        T(a_file_of_an_archive_is_what_it_was),
        T(a_gap_between_segments_is_told),
        T(a_damaged_manifest_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
