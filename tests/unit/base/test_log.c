/* log: both forms of a line, and a file that is renamed under it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/log_json.h"

#define NOW_MS 1700000000123LL

static char dir[200];
static char path[256];

/* ---- one line as JSON ------------------------------------------------------------------------ */

static size_t line_of(const char *text, const struct log_field *fields, size_t count,
                      char out[LOG_JSON_BYTES])
{
    struct log_json_line line = {LOG_LEVEL_NOTICE, NOW_MS, 4711, text, fields, count};
    return log_json(&line, out);
}

/* The line as another program reads it; it must be one object, and nothing after its '\n'. */
static json_t *read_line(const char *text, const struct log_field *fields, size_t count)
{
    char out[LOG_JSON_BYTES];
    json_error_t e;
    size_t len = line_of(text, fields, count, out);
    assert_true(len > 1 && len <= sizeof out);
    assert_ptr_equal(memchr(out, '\n', len), out + len - 1);
    json_t *o = json_loadb(out, len, JSON_REJECT_DUPLICATES, &e);
    if (o == NULL) fail_msg("%s in %.*s", e.text, (int)len, out);
    assert_true(json_is_object(o));
    return o;
}

static const char *text_in(const json_t *o, const char *name)
{
    const char *text = json_string_value(json_object_get(o, name));
    assert_non_null(text);
    return text;
}

static void a_line_is_an_object_with_time_level_and_message(void **state)
{
    char out[LOG_JSON_BYTES];
    size_t len = line_of("hello", NULL, 0, out);
    static const char wanted[] = "{\"time\":\"2023-11-14T22:13:20.123Z\",\"level\":\"notice\","
                                 "\"pid\":4711,\"message\":\"hello\"}\n";
    assert_int_equal(len, sizeof wanted - 1);
    assert_memory_equal(out, wanted, len);
}

static void what_would_end_a_string_or_a_line_is_escaped(void **state)
{
    static const char text[] = "a\"b\\c\nd\re\tf\x01g\x7fh/\xc3\xa4\xf0\x9f\x8e\x89";
    json_t *o = read_line(text, NULL, 0);
    assert_string_equal(text_in(o, "message"), text);
    json_decref(o);
}

static void bytes_that_are_no_utf8_are_replaced(void **state)
{
    static const char *const cases[][2] = {
        {"a\xff", "a\xef\xbf\xbd"},
        {"\xc3", "\xef\xbf\xbd"},
        {"\xc3(", "\xef\xbf\xbd("},
        {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xe0\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf0\x8f\xbf\xbf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf0\x9f\x8e", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xef\xbf\xbf\xf4\x8f\xbf\xbf", "\xef\xbf\xbf\xf4\x8f\xbf\xbf"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *o = read_line(cases[i][0], NULL, 0);
        assert_string_equal(text_in(o, "message"), cases[i][1]);
        json_decref(o);
    }
}

static void any_bytes_make_a_good_line(void **state)
{
    unsigned seed = 1;
    for (int i = 0; i < 20000; i++) {
        char text[40];
        for (size_t k = 0; k < sizeof text - 1; k++) {
            seed = seed * 1103515245 + 12345;
            unsigned byte = seed >> 16 & 0xff;
            text[k] = (char)(byte == 0 ? 0xe2 : byte);
        }
        text[sizeof text - 1] = '\0';
        struct log_field field = {.name = "f", .text = text};
        json_decref(read_line(text, &field, 1));
    }
}

static void fields_follow_the_message(void **state)
{
    const struct log_field fields[] = {{.name = "client", .text = "a \"b\""},
                                       {.name = "bytes", .number = INT64_MIN},
                                       {.name = "port", .number = 6379}};
    json_t *o = read_line("x", fields, 3);
    assert_string_equal(text_in(o, "client"), "a \"b\"");
    assert_int_equal(json_integer_value(json_object_get(o, "bytes")), INT64_MIN);
    assert_int_equal(json_integer_value(json_object_get(o, "port")), 6379);
    json_decref(o);
}

static void the_longest_text_fits_and_a_longer_field_is_left_out(void **state)
{
    char text[LOG_TEXT_BYTES];
    static char longer[LOG_JSON_BYTES + 1];
    memset(text, '\x01', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    json_t *o = read_line(text, NULL, 0);
    assert_string_equal(text_in(o, "message"), text);
    json_decref(o);
    memset(longer, 'x', sizeof longer - 1);
    struct log_field fields[] = {{.name = "long", .text = longer}, {.name = "short", .text = "y"}};
    o = read_line(text, fields, 2);
    assert_null(json_object_get(o, "long"));
    assert_string_equal(text_in(o, "short"), "y");
    json_decref(o);
    /* However little room is left. */
    for (size_t n = 0; n < sizeof longer; n++) {
        fields[0].text = longer + n;
        json_decref(read_line("x", fields, 2));
    }
}

/* ---- lines in a file ------------------------------------------------------------------------- */

static void read_file(const char *name, char out[4096])
{
    FILE *f = fopen(name, "r");
    size_t n = f == NULL ? 0 : fread(out, 1, 4095, f);
    out[n] = '\0';
    if (f != NULL) fclose(f);
}

static void the_format_may_change_between_two_lines(void **state)
{
    char text[4096];
    char wanted[200];
    clock_set_fake_ms(NOW_MS);
    log_line(LOG_LEVEL_WARNING, "as %s", "text");
    log_set_format(LOG_FORMAT_JSON);
    log_line(LOG_LEVEL_WARNING, "as %s", "json");
    log_line(LOG_LEVEL_VERBOSE, "too low");
    log_set_format(LOG_FORMAT_TEXT);
    log_event(LOG_LEVEL_NOTICE, &(struct log_field){.name = "n", .number = 1}, 1, "text %d", 2);
    read_file(path, text);
    char *json = strchr(text, '\n') + 1;
    char *last = strchr(json, '\n') + 1;
    snprintf(wanted, sizeof wanted, "%d:M ", (int)getpid());
    assert_int_equal(strncmp(text, wanted, strlen(wanted)), 0);
    assert_int_equal(strncmp(json - strlen(".123 # as text\n"), ".123 # as text\n", 15), 0);
    snprintf(wanted, sizeof wanted,
             "{\"time\":\"2023-11-14T22:13:20.123Z\",\"level\":\"warning\",\"pid\":%d,"
             "\"message\":\"as json\"}\n",
             (int)getpid());
    assert_int_equal(strncmp(json, wanted, strlen(wanted)), 0);
    assert_non_null(strstr(last, ".123 * text 2\n"));
    assert_null(strstr(text, "too low"));
}

static void a_long_line_is_cut_and_still_a_line(void **state)
{
    char text[4096];
    log_line(LOG_LEVEL_WARNING, "%2000d|", 7);
    log_line(LOG_LEVEL_WARNING, "next");
    read_file(path, text);
    assert_int_equal(strcspn(text, "\n"), LOG_TEXT_BYTES - 2);
    assert_non_null(strstr(text, " # next\n"));
}

static void after_a_rename_lines_go_to_a_new_file(void **state)
{
    char text[4096];
    char renamed[300];
    struct error e;
    snprintf(renamed, sizeof renamed, "%s.1", path);
    assert_true(log_has_file());
    log_line(LOG_LEVEL_WARNING, "first");
    assert_int_equal(rename(path, renamed), 0);
    log_line(LOG_LEVEL_WARNING, "second");
    assert_int_equal(log_reopen(&e), OK);
    log_line(LOG_LEVEL_WARNING, "third");
    read_file(renamed, text);
    assert_non_null(strstr(text, "first"));
    assert_non_null(strstr(text, "second"));
    read_file(path, text);
    assert_non_null(strstr(text, "third"));
    assert_null(strstr(text, "second"));
    assert_int_equal(unlink(renamed), 0);
}

static void a_file_that_cannot_be_opened_anew_leaves_the_old_one(void **state)
{
    char text[4096];
    char renamed[300];
    struct error e;
    snprintf(renamed, sizeof renamed, "%s.1", path);
    assert_int_equal(rename(path, renamed), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(log_reopen(&e), ERR_IO);
    assert_non_null(strstr(e.text, path));
    log_line(LOG_LEVEL_WARNING, "goes on");
    read_file(renamed, text);
    assert_non_null(strstr(text, "goes on"));
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rename(renamed, path), 0);
}

static int enter(void **state)
{
    struct error e;
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%.150s/tupled-log-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(dir) == NULL) return -1;
    snprintf(path, sizeof path, "%s/log", dir);
    return log_open(path, LOG_LEVEL_NOTICE, &e) == OK ? 0 : -1;
}

static int empty(void **state)
{
    clock_set_fake_ms(0);
    log_set_format(LOG_FORMAT_TEXT);
    return truncate(path, 0);
}

static int leave(void **state)
{
    (void)unlink(path);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_an_object_with_time_level_and_message),
        cmocka_unit_test(what_would_end_a_string_or_a_line_is_escaped),
        cmocka_unit_test(bytes_that_are_no_utf8_are_replaced),
        cmocka_unit_test(any_bytes_make_a_good_line),
        cmocka_unit_test(fields_follow_the_message),
        cmocka_unit_test(the_longest_text_fits_and_a_longer_field_is_left_out),
        cmocka_unit_test_setup(the_format_may_change_between_two_lines, empty),
        cmocka_unit_test_setup(a_long_line_is_cut_and_still_a_line, empty),
        cmocka_unit_test_setup(after_a_rename_lines_go_to_a_new_file, empty),
        cmocka_unit_test_setup(a_file_that_cannot_be_opened_anew_leaves_the_old_one, empty),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
