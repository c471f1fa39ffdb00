/* Tests of glob patterns: what Redis's stringmatchlen says, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/glob.h"

static const struct {
    const char *pattern, *text;
    bool matches;
} table[] = {
    {"", "", true},
    {"", "a", false},
    {"a", "", false},
    {"abc", "abc", true},
    {"abc", "abd", false},
    {"abc", "ab", false},
    {"ab", "abc", false},
    {"ABC", "abc", false},
    /* stars */
    {"*", "", true},
    {"*", "anything", true},
    {"**", "", true},
    {"***", "x", true},
    {"a*", "a", true},
    {"a*", "abc", true},
    {"a*", "ba", false},
    {"*c", "abc", true},
    {"*c", "abcd", false},
    {"a*c", "abbbc", true},
    {"a*c", "ac", true},
    {"a*b*c", "a1b2c", true},
    {"a*b*c", "a1c2b", false},
    {"a*bc", "abbc", true},
    {"*ab*ab*", "abab", true},
    {"*ab*ab*", "aba", false},
    {"a**b", "ab", true},
    {"*a", "ba", true},
    {"*a*", "b", false},
    /* question marks */
    {"?", "a", true},
    {"?", "", false},
    {"?", "ab", false},
    {"a?c", "abc", true},
    {"a?c", "ac", false},
    {"*?", "", false},
    {"*?", "a", true},
    {"?*?", "a", false},
    {"?*?", "ab", true},
    /* sets */
    {"[abc]", "b", true},
    {"[abc]", "d", false},
    {"[abc]", "", false},
    {"[a-c]", "b", true},
    {"[a-c]", "-", false},
    {"[c-a]", "b", true}, /* either way round */
    {"[^a-c]", "b", false},
    {"[^a-c]", "d", true},
    {"[^abc]", "^", true},
    {"[a^]", "^", true},
    {"[a-cx-z]", "y", true},
    {"[a-cx-z]", "m", false},
    {"x[0-9]*", "x1abc", true},
    {"x[0-9]*", "xabc", false},
    {"[]", "]", false},
    {"[]a]", "a", false}, /* an empty set, then `a]` */
    {"[^]a]", "xa]", true},
    {"[\\]]", "]", true},
    {"[\\]]", "\\", false},
    {"[\\-a]", "-", true},
    {"[a\\-z]", "m", false},
    {"[a\\-z]", "-", true},
    {"[!a]", "!", true}, /* no negation */
    {"[!a]", "b", false},
    {"[*]", "*", true},
    {"[*]", "a", false},
    {"[?]", "?", true},
    {"[a-]", "]", true}, /* a range from a to ], and no end: */
    {"[a-]", "^", true}, /* ] (5d) to a (61) */
    {"[a-]", "a", true},
    {"[a-]x", "a", true}, /* x belongs to the set */
    {"[a-]x", "ax", false},
    /* sets without an end */
    {"[abc", "b", true},
    {"[abc", "d", false},
    {"[", "[", false},
    {"[", "a", false},
    {"[^", "a", true},
    {"[^a", "b", true},
    {"[a-", "-", true},
    {"[a-", "a", true},
    {"[\\", "\\", true},
    {"x[", "x", false},
    /* escapes */
    {"\\*", "*", true},
    {"\\*", "a", false},
    {"\\?", "?", true},
    {"\\?", "x", false},
    {"\\[a]", "[a]", true},
    {"\\[a]", "a", false},
    {"\\\\", "\\", true},
    {"\\a", "a", true},
    {"a\\", "a\\", true}, /* the last one is itself */
    {"a\\", "a", false},
    {"\\", "\\", true},
    {"*\\*", "ab*", true},
    {"*\\*", "ab", false},
    /* what is special elsewhere */
    {"]", "]", true},
    {"a-b", "a-b", true},
    {"{a,b}", "a", false},
    {"{a,b}", "{a,b}", true},
    {"a/b*", "a/b/c", true},
    {".*", ".x", true},
    {"^a", "^a", true},
    /* bytes above 127 */
    {"\xc3?", "\xc3\xa9", true},
    {"?", "\xc3\xa9", false},
    {"[\x80-\xff]", "\xc3", true},
    {"[a-\xff]", "\xc3", true},
};

static void patterns_match_as_in_redis(void **state)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        bool got = glob_match(slice_str(table[i].pattern), slice_str(table[i].text));
        if (got != table[i].matches) {
            fail_msg("'%s' and '%s': %d", table[i].pattern, table[i].text, got);
        }
    }
}

static void patterns_may_ignore_case(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool matches;
    } folded[] = {
        {"abc", "ABC", true}, {"ABC", "abc", true}, {"a*C", "AxxxC", true},
        {"[a-c]", "B", true}, {"[A-C]", "b", true}, {"[^a-c]", "B", false},
        {"\\A", "a", true},   {"[\\A]", "a", true}, {"\xc3\xa9", "\xc3\x89", false},
        {"a1", "A1", true},   {"[`]", "@", false},  {"max*", "MaxClients", true},
    };
    for (size_t i = 0; i < sizeof folded / sizeof folded[0]; i++) {
        bool got = glob_match_nocase(slice_str(folded[i].pattern), slice_str(folded[i].text));
        if (got != folded[i].matches) {
            fail_msg("'%s' and '%s': %d", folded[i].pattern, folded[i].text, got);
        }
    }
}

static void zero_bytes_are_bytes(void **state)
{
    assert_true(glob_match(slice_of("a\0b", 3), slice_of("a\0b", 3)));
    assert_true(glob_match(slice_of("a?b", 3), slice_of("a\0b", 3)));
    assert_true(glob_match(slice_of("*b", 2), slice_of("a\0b", 3)));
    assert_false(glob_match(slice_of("a", 1), slice_of("a\0", 2)));
    assert_true(glob_match(slice_of("[\0]", 3), slice_of("\0", 1)));
}

/* Stars tried by recursion would take 2^30 steps and more. */
static void no_pattern_is_exponential(void **state)
{
    char text[10001];
    char pattern[400] = "";
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < 30; i++) strcat(pattern, "a*");
    strcat(pattern, "b");
    clock_t before = clock();
    assert_false(glob_match(slice_str(pattern), slice_str(text)));
    for (int i = 0; i < 30; i++) memcpy(pattern + 2 * i, "*?", 2);
    strcpy(pattern + 60, "[b]");
    assert_false(glob_match(slice_str(pattern), slice_str(text)));
    pattern[60] = '\0';
    assert_true(glob_match(slice_str(pattern), slice_str(text)));
    assert_true((double)(clock() - before) / CLOCKS_PER_SEC < 1);
}

/* All pairs over a small alphabet against the definition by recursion. */
static bool defined(const char *p, const char *t)
{
    if (*p == '\0') return *t == '\0';
    if (*p == '*') return defined(p + 1, t) || (*t != '\0' && defined(p, t + 1));
    return *t != '\0' && (*p == '?' || *p == *t) && defined(p + 1, t + 1);
}

static void words(char *out, size_t n, const char *alphabet)
{
    size_t base = strlen(alphabet) + 1;
    size_t len = 0;
    for (; n > 0; n /= base) {
        if (n % base != 0) out[len++] = alphabet[n % base - 1];
    }
    out[len] = '\0';
}

static void stars_match_as_they_are_defined(void **state)
{
    char p[16];
    char t[16];
    for (size_t i = 0; i < 3125; i++) {
        words(p, i, "ab*?");
        for (size_t k = 0; k < 243; k++) {
            words(t, k, "ab");
            if (glob_match(slice_str(p), slice_str(t)) != defined(p, t)) {
                fail_msg("'%s' and '%s'", p, t);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_match_as_in_redis),
        cmocka_unit_test(patterns_may_ignore_case),
        cmocka_unit_test(zero_bytes_are_bytes),
        cmocka_unit_test(no_pattern_is_exponential),
        cmocka_unit_test(stars_match_as_they_are_defined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
