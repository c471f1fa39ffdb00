/* file: whole small files, offsets, locks, and every fault point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fault.h"
#include "base/file.h"

static char dir[64];

static int dir_begin(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/test_file.XXXXXX");
    return mkdtemp(dir) == NULL ? -1 : 0;
}

static int dir_end(void **state)
{
    char command[128];
    fault_arm("", 0, false);
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

static const char *in_dir(const char *name)
{
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

static void expect_content(const char *path, const char *text)
{
    struct buf b;
    buf_init(&b);
    assert_int_equal(file_read_all(path, &b, 1000, NULL), OK);
    assert_true(slice_eq(buf_slice(&b), slice_str(text)));
    buf_fini(&b);
}

static void whole_files_are_written_and_read(void **state)
{
    struct error e;
    struct buf b;
    buf_init(&b);
    const char *path = in_dir("a");
    assert_false(file_exists(path));
    assert_int_equal(file_write_all(path, slice_str("one"), &e), OK);
    assert_true(file_exists(path));
    expect_content(path, "one");
    assert_int_equal(file_write_all(path, slice_str(""), &e), OK);
    expect_content(path, "");
    assert_false(file_exists(in_dir("a.tmp")));
    assert_int_equal(file_write_all(path, slice_str("12345"), &e), OK);
    assert_int_equal(file_read_all(path, &b, 5, &e), OK);
    assert_int_equal(file_read_all(path, &b, 4, &e), ERR_LIMIT);
    assert_int_equal(file_read_all(in_dir("none"), &b, 5, &e), ERR_IO);
    assert_non_null(strstr(e.text, in_dir("none")));
    buf_fini(&b);
}

/* Whatever fails, the file is the old one or the new one. */
static void replacing_a_file_is_atomic_under_every_fault(void **state)
{
    const char *path = in_dir("atomic");
    bool was_hit = true;
    unsigned failures = 0;
    for (unsigned nth = 1; was_hit; nth++) {
        struct error e = {.text = ""};
        assert_int_equal(file_write_all(path, slice_str("old"), &e), OK);
        fault_arm("file.", nth, false);
        enum err r = file_write_all(path, slice_str("new"), &e);
        was_hit = fault_was_hit();
        fault_arm("", 0, false);
        assert_int_equal(r, was_hit ? ERR_IO : OK);
        if (was_hit) assert_non_null(strstr(e.text, "cannot "));
        failures += was_hit;
        struct buf b;
        buf_init(&b);
        assert_int_equal(file_read_all(path, &b, 100, NULL), OK);
        bool is_new = slice_eq(buf_slice(&b), slice_str("new"));
        assert_true(is_new || slice_eq(buf_slice(&b), slice_str("old")));
        if (r == OK) assert_true(is_new);
        buf_fini(&b);
    }
    assert_int_equal(failures, 5); /* open, write, sync, rename, directory sync */
}

static void bytes_are_written_and_read_at_offsets(void **state)
{
    struct file f;
    struct error e;
    uint64_t bytes = 0;
    char out[8] = "";
    assert_int_equal(file_open(&f, in_dir("at"), FILE_WRITE_OLD, &e), ERR_IO);
    assert_int_equal(file_open(&f, in_dir("at"), FILE_WRITE_NEW, &e), OK);
    assert_int_equal(file_write_at(&f, 5, slice_str("five"), &e), OK);
    assert_int_equal(file_write_at(&f, 0, slice_str("zero."), &e), OK);
    assert_int_equal(file_size(&f, &bytes, &e), OK);
    assert_int_equal(bytes, 9);
    assert_int_equal(file_read_at(&f, 3, out, 4, &e), OK);
    assert_string_equal(out, "o.fi");
    assert_int_equal(file_read_at(&f, 6, out, 4, &e), ERR_IO);
    assert_non_null(strstr(e.text, "offset 9"));
    assert_int_equal(file_truncate(&f, 2, &e), OK);
    assert_int_equal(file_sync(&f, &e), OK);
    assert_int_equal(file_reserve(&f, 100000, &e), OK);
    assert_int_equal(file_size(&f, &bytes, &e), OK);
    assert_int_equal(bytes, 100000);
    assert_int_equal(file_read_at(&f, 0, out, 4, &e), OK);
    assert_memory_equal(out, "ze\0\0", 4);
    file_close(&f);
    file_close(&f);
    assert_int_equal(file_open(&f, in_dir("at"), FILE_READ, &e), OK);
    assert_int_equal(file_write_at(&f, 0, slice_str("x"), &e), ERR_IO);
    file_close(&f);
}

static void every_fault_point_gives_its_error_and_names_the_file(void **state)
{
    static const struct {
        const char *point;
        enum err code;
    } points[] = {
        {"file.open", ERR_IO},   {"file.write", ERR_IO},    {"file.read", ERR_IO},
        {"file.sync", ERR_IO},   {"file.truncate", ERR_IO}, {"file.rename", ERR_IO},
        {"file.remove", ERR_IO}, {"file.dirsync", ERR_IO},  {"file.reserve", ERR_DISK_FULL}};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        struct error e = {.text = ""};
        struct file f;
        char byte;
        enum err r = OK;
        assert_int_equal(file_write_all(in_dir("p"), slice_str("x"), &e), OK);
        fault_arm(points[i].point, 1, false);
        r = file_open(&f, in_dir("p"), FILE_WRITE_OLD, &e);
        if (r == OK) r = file_write_at(&f, 0, slice_str("y"), &e);
        if (r == OK) r = file_read_at(&f, 0, &byte, 1, &e);
        if (r == OK) r = file_reserve(&f, 100, &e);
        if (r == OK) r = file_truncate(&f, 1, &e);
        if (r == OK) r = file_sync(&f, &e);
        file_close(&f);
        if (r == OK) r = file_rename_synced(in_dir("p"), in_dir("q"), &e);
        if (r == OK) r = file_remove(in_dir("q"), &e);
        assert_true(fault_was_hit());
        fault_arm("", 0, false);
        assert_int_equal(r, points[i].code);
        assert_int_equal(e.code, points[i].code);
        assert_non_null(strstr(e.text, dir));
    }
}

static void a_second_lock_is_refused_until_the_first_is_given_back(void **state)
{
    struct error e;
    int first = -1;
    int second = -1;
    assert_int_equal(file_lock(in_dir("LOCK"), &first, &e), OK);
    assert_int_equal(file_lock(in_dir("LOCK"), &second, &e), ERR_LOCKED);
    assert_int_equal(second, -1);
    assert_non_null(strstr(e.text, in_dir("LOCK")));
    file_unlock(second);
    assert_int_equal(file_lock(in_dir("LOCK"), &second, &e), ERR_LOCKED);
    file_unlock(first);
    assert_int_equal(file_lock(in_dir("LOCK"), &second, &e), OK);
    file_unlock(second);
    assert_int_equal(file_lock(in_dir("none/LOCK"), &first, &e), ERR_IO);
}

static void names_add(void *arg, const char *name)
{
    unsigned *seen = arg;
    if (strcmp(name, "one") == 0) *seen += 1;
    if (strcmp(name, "two") == 0) *seen += 10;
    if (name[0] == '.') *seen += 1000;
}

static void directories_are_made_and_listed(void **state)
{
    struct error e;
    unsigned seen = 0;
    char path[128];
    snprintf(path, sizeof path, "%s", in_dir("sub"));
    assert_int_equal(dir_make(path, &e), OK);
    assert_int_equal(dir_make(path, &e), OK);
    assert_int_equal(file_write_all(in_dir("sub/one"), slice_str("1"), &e), OK);
    assert_int_equal(file_write_all(in_dir("sub/two"), slice_str("2"), &e), OK);
    assert_int_equal(dir_list(path, names_add, &seen, &e), OK);
    assert_int_equal(seen, 11);
    assert_int_equal(dir_sync(path, &e), OK);
    assert_int_equal(dir_make(in_dir("sub/one"), &e), ERR_IO);
    assert_int_equal(dir_list(in_dir("none"), names_add, &seen, &e), ERR_IO);
    assert_int_equal(file_rename(in_dir("sub/one"), in_dir("sub/two"), &e), OK);
    expect_content(in_dir("sub/two"), "1");
    assert_int_equal(file_remove(in_dir("sub/two"), &e), OK);
    assert_int_equal(file_remove(in_dir("sub/two"), &e), OK);
}

struct seen {
    unsigned writes, syncs;
    uint64_t offset;
    size_t len;
};

static void a_directory_is_removed_with_its_files(void **state)
{
    struct error e;
    char path[128];
    char file[160];
    char again[128];
    snprintf(path, sizeof path, "%s/new-XXXXXX", dir);
    snprintf(again, sizeof again, "%s/new-XXXXXX", dir);
    assert_int_equal(dir_make_unique(path, &e), OK);
    assert_int_equal(dir_make_unique(again, &e), OK);
    assert_string_not_equal(path, again);
    assert_false(file_is_open_to_others(path, true));
    snprintf(file, sizeof file, "%s/.hidden", path);
    assert_int_equal(file_write_all(file, slice_str("x"), &e), OK);
    assert_int_equal(dir_remove(path, &e), OK);
    assert_false(file_exists(path));
    assert_true(file_exists(again));
    assert_int_equal(dir_remove(path, &e), OK);
    snprintf(path, sizeof path, "%s/none/new-XXXXXX", dir);
    assert_int_equal(dir_make_unique(path, &e), ERR_IO);
}

static void note_write(void *arg, const char *path, uint64_t offset, struct slice bytes)
{
    struct seen *s = arg;
    s->writes++;
    s->offset = offset;
    s->len = bytes.len;
    assert_non_null(strstr(path, "watched"));
}

static void note_sync(void *arg, const char *path)
{
    struct seen *s = arg;
    s->syncs++;
}

static void an_observer_is_told_of_writes_and_of_syncs_that_worked(void **state)
{
    struct seen seen = {0};
    struct file_observer observer = {note_write, note_sync, &seen};
    struct file f;
    file_set_observer(&observer);
    assert_int_equal(file_open(&f, in_dir("watched"), FILE_WRITE_NEW, NULL), OK);
    assert_int_equal(file_write_at(&f, 7, slice_str("abc"), NULL), OK);
    assert_int_equal(seen.writes, 1);
    assert_int_equal(seen.offset, 7);
    assert_int_equal(seen.len, 3);
    fault_arm("file.", 1, false);
    assert_int_equal(file_sync(&f, NULL), ERR_IO);
    fault_arm("", 0, false);
    assert_int_equal(seen.syncs, 0);
    assert_int_equal(file_sync(&f, NULL), OK);
    assert_int_equal(seen.syncs, 1);
    file_set_observer(NULL);
    file_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_files_are_written_and_read),
        cmocka_unit_test(replacing_a_file_is_atomic_under_every_fault),
        cmocka_unit_test(bytes_are_written_and_read_at_offsets),
        cmocka_unit_test(every_fault_point_gives_its_error_and_names_the_file),
        cmocka_unit_test(a_second_lock_is_refused_until_the_first_is_given_back),
        cmocka_unit_test(directories_are_made_and_listed),
        cmocka_unit_test(a_directory_is_removed_with_its_files),
        cmocka_unit_test(an_observer_is_told_of_writes_and_of_syncs_that_worked),
    };
    return cmocka_run_group_tests(tests, dir_begin, dir_end);
}
