/* Text folded for searching: canonically equivalent texts are folded alike, and every byte of the
 * folded text knows the bytes that it came from. The normalisation to compare with is utf8proc's
 * of a whole text, which the folding does not use.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <utf8proc.h>

#include "backend/local/text_fold.h"
#include "base/random.h"
#include "codec/utf8.h"

static void expect_fold(const char *text, const char *wanted)
{
    struct text_fold f;
    assert_true(text_fold_init(&f, slice_str(text)));
    if (!slice_eq(f.text, slice_str(wanted))) {
        fail_msg("'%s' is '%.*s', not '%s'", text, (int)f.text.len, (const char *)f.text.data,
                 wanted);
    }
    text_fold_fini(&f);
}

static void letters_lose_case_and_marks(void **state)
{
    (void)state;
    expect_fold("", "");
    expect_fold("As IT is", "As IT is"); /* ASCII is left to the tokenizer */
    expect_fold("Straße", "Strasse");
    expect_fold("É", "e");
    expect_fold("E\u0301", "e");
    expect_fold("\u0301", "");
    expect_fold("ﬁ", "fi");
    expect_fold("x\u0305\u0336y", "xy");
    expect_fold("мой мои\u0306 за\u0301мок", "мой мой замок"); /* й in two forms */
    expect_fold("Ὀδυσσεύς", "οδυσσευσ");
    expect_fold("İI", "iI");
    expect_fold("か\u3099", "が"); /* a mark that makes another letter */
    expect_fold("\u1112\u1161\u11ab", "한");
    expect_fold("co\u00adop", "coop");
    expect_fold("a\u200bb", "a\u200bb"); /* a space without width ends a word */
    expect_fold("❤\ufe0f", "❤");
    expect_fold("हिन्दी", "हिन्दी");
}

static void what_is_not_utf8_stays(void **state)
{
    (void)state;
    expect_fold("\xff\xc3(", "\xff\xc3(");
    expect_fold("é\xcc", "e\xcc");
    expect_fold("\xed\xa0\x80", "\xed\xa0\x80");
}

/* More marks than any text of a language has: none is lost, and none is written past the end. */
static void thousands_of_marks_are_no_harm(void **state)
{
    struct buf text = {0};
    struct text_fold f;
    (void)state;
    buf_append_str(&text, "か");
    for (int i = 0; i < 3000; i++) buf_append_str(&text, i % 2 ? "\u3099" : "\u0301");
    assert_true(text_fold_init(&f, buf_slice(&text)));
    assert_true(f.text.len >= 3);
    assert_memory_equal(f.text.data, "が", 3);
    text_fold_fini(&f);
    buf_fini(&text);
}

static void places_are_those_of_whole_characters(void **state)
{
    struct text_fold f;
    size_t from = 0, until = 0;
    const char *text = "aßé\u0323b"; /* "asseb": bytes 0, 1-2, 3-6 (with its mark), 7 */
    (void)state;
    assert_true(text_fold_init(&f, slice_str(text)));
    assert_true(slice_eq(f.text, slice_str("asseb")));
    static const size_t rows[][4] = {
        {0, 1, 0, 1}, {1, 2, 1, 3}, {2, 3, 1, 3}, {0, 2, 0, 3},
        {2, 4, 1, 7}, {3, 4, 3, 7}, {4, 5, 7, 8}, {0, 5, 0, 8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        text_fold_source(&f, rows[i][0], rows[i][1], &from, &until);
        assert_int_equal(from, rows[i][2]);
        assert_int_equal(until, rows[i][3]);
    }
    text_fold_fini(&f);
}

static struct slice normal(const char *text, bool is_composed)
{
    utf8proc_uint8_t *out = is_composed ? utf8proc_NFC((const utf8proc_uint8_t *)text)
                                        : utf8proc_NFD((const utf8proc_uint8_t *)text);
    assert_non_null(out);
    return slice_str((char *)out);
}

/* ASCII is the tokenizer's, but the Kelvin sign is equivalent to K, and folded. */
static bool is_same(struct slice a, struct slice b)
{
    bool same = a.len == b.len;
    for (size_t i = 0; i < a.len && same; i++) same = tolower(a.data[i]) == tolower(b.data[i]);
    return same;
}

static void expect_same(const char *text, struct slice other)
{
    struct text_fold a;
    struct text_fold b;
    assert_true(text_fold_init(&a, slice_str(text)));
    assert_true(text_fold_init(&b, other));
    if (!is_same(a.text, b.text)) {
        fail_msg("'%s' is '%.*s', but '%.*s' in another form", text, (int)a.text.len,
                 (const char *)a.text.data, (int)b.text.len, (const char *)b.text.data);
    }
    text_fold_fini(&a);
    text_fold_fini(&b);
    free((void *)(uintptr_t)other.data);
}

static void expect_places(const char *text)
{
    struct text_fold f;
    size_t bytes = strlen(text), last = 0;
    assert_true(text_fold_init(&f, slice_str(text)));
    for (size_t i = 0; i < f.text.len; i++) {
        size_t from = 0, until = 0;
        text_fold_source(&f, i, i + 1, &from, &until);
        assert_true(from >= last && from < until && until <= bytes);
        assert_true((text[from] & 0xc0) != 0x80);
        last = from;
    }
    text_fold_fini(&f);
}

/* Of every character alone, and of random texts of characters that have to do with one another. */
static void equivalent_texts_are_folded_alike(void **state)
{
    static const uint32_t sets[][2] = {
        {0x41, 0x7a},     {0xa0, 0x24f},    {0x300, 0x345},   {0x370, 0x3ff},   {0x400, 0x45f},
        {0x591, 0x5ea},   {0x621, 0x65f},   {0x915, 0x94d},   {0x1100, 0x1112}, {0x1161, 0x1175},
        {0x11a8, 0x11c2}, {0x1e00, 0x1fff}, {0x3041, 0x309a}, {0xac00, 0xac40}};
    struct rng r;
    char text[200];
    (void)state;
    rng_init(&r, 7);
    for (uint32_t code = 0x80; code < 0x30000; code++) {
        if (code >= 0xd800 && code < 0xe000) continue;
        text[utf8_encode(code, (uint8_t *)text)] = '\0';
        expect_same(text, normal(text, true));
        expect_same(text, normal(text, false));
        expect_places(text);
    }
    for (int round = 0; round < 20000; round++) {
        size_t len = 0;
        for (uint64_t count = 1 + rng_below(&r, 12); count > 0; count--) {
            const uint32_t *set = sets[rng_below(&r, sizeof sets / sizeof sets[0])];
            uint32_t code = set[0] + (uint32_t)rng_below(&r, set[1] - set[0] + 1);
            len += utf8_encode(code, (uint8_t *)text + len);
        }
        text[len] = '\0';
        expect_same(text, normal(text, true));
        expect_same(text, normal(text, false));
        expect_places(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_lose_case_and_marks),
        cmocka_unit_test(what_is_not_utf8_stays),
        cmocka_unit_test(thousands_of_marks_are_no_harm),
        cmocka_unit_test(places_are_those_of_whole_characters),
        cmocka_unit_test(equivalent_texts_are_folded_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
