/* Tests of base64 in both alphabets. */
#include "codec/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct buf out;

static int enter(void **state)
{
    buf_fini(&out);
    return 0;
}

static int leave(void **state)
{
    buf_fini(&out);
    return 0;
}

static void expect_out(const char *wanted)
{
    assert_true(slice_eq(buf_slice(&out), slice_str(wanted)));
}

/* What bytes are as text, in each alphabet. */
static const struct {
    const char *bytes;
    size_t len;
    const char *standard, *url;
} pairs[] = {
    {"", 0, "", ""},
    {"\xff", 1, "/w==", "_w"},
    {"\xfb\xf0", 2, "+/A=", "-_A"},
    {"abc", 3, "YWJj", "YWJj"},
    {"\xfb\xff\xbf\x3f", 4, "+/+/Pw==", "-_-_Pw"},
};

static void both_alphabets_go_both_ways(void **state)
{
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct slice bytes = slice_of(pairs[i].bytes, pairs[i].len);
        buf_clear(&out, SIZE_MAX);
        base64_encode(bytes, &out);
        expect_out(pairs[i].standard);
        buf_clear(&out, SIZE_MAX);
        base64url_encode(bytes, &out);
        expect_out(pairs[i].url);
        buf_clear(&out, SIZE_MAX);
        assert_true(base64_decode(slice_str(pairs[i].standard), &out));
        assert_true(slice_eq(buf_slice(&out), bytes));
        buf_clear(&out, SIZE_MAX);
        assert_true(base64url_decode(slice_str(pairs[i].url), &out));
        assert_true(slice_eq(buf_slice(&out), bytes));
    }
}

/* What stood in the buffer before stays, also when it looks like an end of base64. */
static void text_is_appended(void **state)
{
    buf_append_str(&out, "+/==");
    base64url_encode(slice_str(""), &out);
    expect_out("+/==");
    base64url_encode(slice_str("\xff"), &out);
    expect_out("+/==_w");
}

static void neither_alphabet_is_the_other(void **state)
{
    static const char *const no_url[] = {"+_A",   "-/A", "_w==", "_w=",   "a",
                                         "aaaaa", "_x",  "-_B",  "Y WJj", "\x80\x80"};
    static const char *const no_standard[] = {
        "-_A=", "_w==", "/w", "/w=", "/x==", "+/B=", "====", "YWJ", "YW Jj"};
    for (size_t i = 0; i < sizeof no_url / sizeof no_url[0]; i++) {
        assert_false(base64url_decode(slice_str(no_url[i]), &out));
    }
    buf_clear(&out, SIZE_MAX);
    assert_false(base64url_decode(slice_of("YW\0j", 4), &out));
    buf_clear(&out, SIZE_MAX);
    for (size_t i = 0; i < sizeof no_standard / sizeof no_standard[0]; i++) {
        assert_false(base64_decode(slice_str(no_standard[i]), &out));
    }
    assert_int_equal(out.len, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(both_alphabets_go_both_ways),
        TEST(text_is_appended),
        TEST(neither_alphabet_is_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
