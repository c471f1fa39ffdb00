/* output, info, words: JSON of any bytes, text that moves no cursor, figures of INFO, the command line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tool/info.h"
#include "tool/output.h"
#include "tool/tool.h"

static void expect(const struct buf *b, const char *text)
{
    assert_false(b->is_failed);
    assert_int_equal(b->len, strlen(text));
    assert_memory_equal(b->data, text, b->len);
}

/* ---- JSON and text --------------------------------------------------------------------------- */

static void json_has_its_commas(void **state)
{
    struct json_out j;
    json_out_init(&j);
    json_out_open(&j, '{');
    json_out_name(&j, "a");
    json_out_open(&j, '[');
    json_out_i64(&j, -1);
    json_out_double(&j, 0.5, 2);
    json_out_bool(&j, true);
    json_out_open(&j, '{');
    json_out_close(&j, '}');
    json_out_null(&j);
    json_out_close(&j, ']');
    json_out_name(&j, "b");
    json_out_raw(&j, slice_str("[1,2]"));
    json_out_name(&j, "c");
    json_out_double(&j, 1.0 / 0.0, 1);
    json_out_close(&j, '}');
    expect(&j.text, "{\"a\":[-1,0.50,true,{},null],\"b\":[1,2],\"c\":null}");
    json_out_fini(&j);
}

static void json_takes_any_bytes(void **state)
{
    struct json_out j;
    json_out_init(&j);
    json_out_open(&j, '[');
    json_out_text(&j, slice_of("a\"\\\n\x1b\0b", 7));
    json_out_text(&j, slice_of("\xff\xc3\xa4\xc3", 4));
    json_out_close(&j, ']');
    expect(&j.text, "[\"a\\\"\\\\\\n\\u001b\\u0000b\",\"\xef\xbf\xbd\xc3\xa4\xef\xbf\xbd\"]");
    json_out_fini(&j);
}

static void text_moves_no_cursor(void **state)
{
    struct buf b;
    buf_init(&b);
    text_clean(slice_of("a\x1b[2J\r\n\0\x7f", 9), &b);
    expect(&b, "a\\x1b[2J\\x0d\\x0a\\x00\\x7f");
    buf_clear(&b, 100);
    /* U+009B begins sequences too; other letters stay. */
    text_clean(slice_str("\xc2\x9b"
                         "2J\xc3\xa4\xe2\x82\xac\xff"),
               &b);
    expect(&b, "\\xc2\\x9b2J\xc3\xa4\xe2\x82\xac\\xff");
    buf_fini(&b);
}

/* What a sheet prints, in `out`. */
static void printed(struct sheet *s, bool is_json, bool is_record, char out[1000])
{
    char path[] = "/tmp/tupled-sheet-XXXXXX";
    int fd = mkstemp(path);
    int before = dup(STDOUT_FILENO);
    assert_true(fd >= 0 && before >= 0);
    fflush(stdout);
    dup2(fd, STDOUT_FILENO);
    if (is_record) {
        sheet_print_record(s, is_json);
    } else {
        sheet_print(s, is_json);
    }
    dup2(before, STDOUT_FILENO);
    close(before);
    ssize_t len = pread(fd, out, 999, 0);
    close(fd);
    unlink(path);
    assert_true(len >= 0);
    out[len] = '\0';
}

static void tables_of_both_kinds(void **state)
{
    static const char *const names[] = {"name", "n", "extra", NULL};
    struct sheet s;
    char out[1000];
    sheet_init(&s, names);
    printed(&s, true, false, out);
    assert_string_equal(out, "[]\n");
    printed(&s, false, false, out);
    assert_string_equal(out, "name  n  extra\n");
    sheet_text(&s, slice_str("\xc3\xa4\x1b"));
    sheet_i64(&s, 12);
    sheet_null(&s);
    printed(&s, true, true, out);
    assert_string_equal(out, "{\"name\":\"\xc3\xa4\\u001b\",\"n\":12,\"extra\":null}\n");
    printed(&s, false, true, out);
    assert_string_equal(out, "name   \xc3\xa4\\x1b\nn      12\nextra  -\n");
    sheet_text(&s, slice_str("b"));
    sheet_i64(&s, 3);
    sheet_raw(&s, slice_str("[1]"));
    printed(&s, false, false, out);
    assert_string_equal(out, "name    n  extra\n\xc3\xa4\\x1b  12  -\nb       3  [1]\n");
    sheet_fini(&s);
}

static void a_record_of_nothing(void **state)
{
    static const char *const names[] = {NULL};
    struct sheet s;
    char out[1000];
    sheet_init(&s, names);
    printed(&s, true, true, out);
    assert_string_equal(out, "{}\n");
    printed(&s, false, true, out);
    assert_string_equal(out, "");
    sheet_fini(&s);
}

/* ---- INFO ------------------------------------------------------------------------------------ */

static const char info_example[] =
    "# Stats\r\ntotal:12\r\ntotal_time:7\r\nhealth:ok\r\nempty:\r\n"
    "cmdstat_kv.get:calls=3,usec=10,usec_per_call=3.33,failed_calls=1\r\nlast:9";

static void figures_of_info(void **state)
{
    struct slice info = slice_str(info_example);
    struct slice text;
    assert_int_equal(info_i64(info, "total"), 12);
    assert_int_equal(info_i64(info, "total_time"), 7);
    assert_int_equal(info_i64(info, "tot"), 0);
    assert_int_equal(info_i64(info, "health"), 0);
    assert_int_equal(info_i64(info, "last"), 9);
    assert_true(info_text(info, "health", &text));
    assert_true(slice_eq(text, slice_str("ok")));
    assert_true(info_text(info, "empty", &text));
    assert_int_equal(text.len, 0);
    assert_false(info_text(info, "none", &text));
}

static void fields_of_a_figure(void **state)
{
    struct slice value;
    double number = 0;
    assert_true(info_text(slice_str(info_example), "cmdstat_kv.get", &value));
    assert_true(info_field(value, "usec", &number));
    assert_true(number == 10);
    assert_true(info_field(value, "usec_per_call", &number));
    assert_true(number == 3.33);
    assert_true(info_field(value, "failed_calls", &number));
    assert_true(number == 1);
    assert_false(info_field(value, "failed", &number));
    assert_true(info_field(slice_str("usec_per_call=3.33,usec=10"), "usec", &number));
    assert_true(number == 10);
    assert_false(info_field(slice_str("calls=x"), "calls", &number));
    assert_false(info_field(slice_str("calls="), "calls", &number));
}

/* ---- the command line ------------------------------------------------------------------------ */

static enum tool_status nothing_run(struct tool *t)
{
    return TOOL_DONE;
}

static const struct tool_option trial_options[] = {
    {"--all", 'a', NULL, "all"},
    {"--where", 0, "FILTER", "some"},
    {.name = NULL},
};
static const struct tool_command trial_actions[] = {
    {.name = "list", .synopsis = "", .summary = "l", .run = nothing_run},
    {.name = "show",
     .synopsis = "N",
     .summary = "s",
     .words_min = 1,
     .words_max = 2,
     .run = nothing_run},
    {.name = NULL},
};
static const struct tool_command trial_table[] = {
    {.name = "plain", .synopsis = "[N]", .summary = "p", .words_max = 1, .run = nothing_run},
    {.name = "many", .summary = "m", .options = trial_options, .actions = trial_actions},
    {.name = NULL},
};

static struct tool t;

static enum tool_status given(const char *first, ...)
{
    char *argv[16] = {bytes_unconst("tupledctl")};
    int argc = 1;
    va_list args;
    va_start(args, first);
    for (const char *word = first; word != NULL; word = va_arg(args, const char *)) {
        argv[argc++] = bytes_unconst(word);
    }
    va_end(args);
    arena_reset(&t.arena);
    t = (struct tool){.arena = t.arena};
    return tool_words_read(&t, trial_table, argc, argv);
}

static void options_stand_anywhere(void **state)
{
    assert_int_equal(given("--json", "many", "-a", "show", "x", "--where=1=2", "-u", "U", NULL),
                     TOOL_DONE);
    assert_string_equal(t.command->name, "many");
    assert_string_equal(t.action->name, "show");
    assert_int_equal(t.word_count, 1);
    assert_string_equal(t.words[0], "x");
    assert_true(t.is_json);
    assert_false(t.is_quiet);
    assert_true(tool_has(&t, "--all"));
    assert_string_equal(tool_text(&t, "--where"), "1=2");
    assert_string_equal(tool_text(&t, "--url"), "U");
    assert_null(tool_text(&t, "--db"));
}

static void an_option_may_come_again(void **state)
{
    assert_int_equal(given("many", "--where", "a", "list", "--where", "b", NULL), TOOL_DONE);
    assert_string_equal(tool_text(&t, "--where"), "b");
    assert_string_equal(tool_text_at(&t, "--where", 0), "a");
    assert_string_equal(tool_text_at(&t, "--where", 1), "b");
    assert_null(tool_text_at(&t, "--where", 2));
}

static void two_dashes_end_options(void **state)
{
    assert_int_equal(given("plain", "--", "--json", NULL), TOOL_DONE);
    assert_string_equal(t.words[0], "--json");
    assert_false(t.is_json);
    assert_int_equal(given("plain", "-", NULL), TOOL_DONE);
    assert_string_equal(t.words[0], "-");
}

static void the_first_action_needs_no_name(void **state)
{
    assert_int_equal(given("many", NULL), TOOL_DONE);
    assert_string_equal(t.action->name, "list");
}

static void wrong_words_are_refused(void **state)
{
    assert_int_equal(given("none", NULL), TOOL_WORDS);
    assert_int_equal(given("many", "none", NULL), TOOL_WORDS);
    assert_int_equal(given("many", "show", NULL), TOOL_WORDS);
    assert_int_equal(given("many", "show", "a", "b", "c", NULL), TOOL_WORDS);
    assert_int_equal(given("many", "list", "a", NULL), TOOL_WORDS);
    assert_int_equal(given("plain", "--all", NULL), TOOL_WORDS);
    assert_int_equal(given("--all", "many", NULL), TOOL_WORDS);
    assert_int_equal(given("many", "--al", NULL), TOOL_WORDS);
    assert_int_equal(given("many", "-ab", NULL), TOOL_WORDS);
    assert_int_equal(given("many", "--where", NULL), TOOL_WORDS);
    assert_int_equal(given("many", "--all=1", NULL), TOOL_WORDS);
}

static void a_number_has_bounds(void **state)
{
    int64_t value = 7;
    assert_int_equal(given("many", NULL), TOOL_DONE);
    assert_int_equal(tool_number(&t, "--where", 1, 10, &value), TOOL_DONE);
    assert_int_equal(value, 7);
    static const char *const bad[] = {"0", "11", "", "x", "1x", "+1", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(given("many", "--where", bad[i], NULL), TOOL_DONE);
        assert_int_equal(tool_number(&t, "--where", 1, 10, &value), TOOL_WORDS);
        assert_int_equal(value, 7);
    }
    assert_int_equal(given("many", "--where", "10", NULL), TOOL_DONE);
    assert_int_equal(tool_number(&t, "--where", 1, 10, &value), TOOL_DONE);
    assert_int_equal(value, 10);
}

static int set_up(void **state)
{
    arena_init(&t.arena, 1024);
    return 0;
}

static int tear_down(void **state)
{
    arena_fini(&t.arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_its_commas),
        cmocka_unit_test(json_takes_any_bytes),
        cmocka_unit_test(text_moves_no_cursor),
        cmocka_unit_test(tables_of_both_kinds),
        cmocka_unit_test(a_record_of_nothing),
        cmocka_unit_test(figures_of_info),
        cmocka_unit_test(fields_of_a_figure),
        cmocka_unit_test(options_stand_anywhere),
        cmocka_unit_test(an_option_may_come_again),
        cmocka_unit_test(two_dashes_end_options),
        cmocka_unit_test(the_first_action_needs_no_name),
        cmocka_unit_test(wrong_words_are_refused),
        cmocka_unit_test(a_number_has_bounds),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
