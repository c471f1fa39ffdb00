/* Tests of base/line_file: whole lines, also after the file was renamed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/line_file.h"

static char dir[] = "/tmp/test_line_file.XXXXXX";

static const char *in_dir(const char *name)
{
    static char paths[2][100];
    static int next;
    char *path = paths[next++ % 2];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

static void expect_text(const char *path, const char *wanted)
{
    char text[200];
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    fclose(f);
    assert_string_equal(text, wanted);
}

static void lines_go_on_after_a_rename(void **state)
{
    struct line_file *f = NULL;
    struct error e;
    struct stat st;
    assert_int_equal(line_file_open(in_dir("a"), &f, &e), OK);
    assert_int_equal(stat(in_dir("a"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(line_file_append(f, slice_str("one\n"), &e), OK);
    assert_int_equal(rename(in_dir("a"), in_dir("b")), 0);
    assert_int_equal(line_file_append(f, slice_str("two\n"), &e), OK);
    assert_int_equal(line_file_reopen(f, &e), OK);
    assert_int_equal(line_file_append(f, slice_str("three\n"), &e), OK);
    line_file_close(f);
    expect_text(in_dir("b"), "one\ntwo\n");
    expect_text(in_dir("a"), "three\n");
    unlink(in_dir("a"));
    unlink(in_dir("b"));
}

static void what_fails_is_said_and_the_old_file_stays(void **state)
{
    struct line_file *f = NULL;
    struct error e;
    assert_int_equal(line_file_open("/nowhere/a", &f, &e), ERR_IO);
    assert_non_null(strstr(e.text, "/nowhere/a"));
    assert_int_equal(line_file_open("/dev/full", &f, &e), OK);
    assert_int_equal(line_file_append(f, slice_str("one\n"), &e), ERR_IO);
    assert_non_null(strstr(e.text, "/dev/full"));
    line_file_close(f);
    assert_int_equal(mkdir(in_dir("sub"), 0700), 0);
    assert_int_equal(line_file_open(in_dir("sub/a"), &f, &e), OK);
    assert_int_equal(rename(in_dir("sub"), in_dir("gone")), 0);
    assert_int_equal(line_file_reopen(f, &e), ERR_IO);
    assert_int_equal(line_file_append(f, slice_str("still\n"), &e), OK);
    expect_text(in_dir("gone/a"), "still\n");
    line_file_close(f);
    unlink(in_dir("gone/a"));
    rmdir(in_dir("gone"));
    line_file_close(NULL);
}

static int start(void **state)
{
    return mkdtemp(dir) == NULL ? -1 : 0;
}

static int stop(void **state)
{
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_go_on_after_a_rename),
        cmocka_unit_test(what_fails_is_said_and_the_old_file_stays),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
