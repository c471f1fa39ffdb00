/* Tests of glob patterns: what Redis's stringmatchlen says, by hand. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/glob.h"
#include "base/random.h"

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

/* ---- a reference: elements one by one, and a table of what matches what ---- */

#define REF_MAX 1100

struct reference {
    size_t count;
    struct {
        bool is_star;
        bool bytes[256];
    } items[REF_MAX];
};

static void hold(bool *bytes, int low, int high, bool is_nocase)
{
    if (is_nocase) {
        low = tolower(low);
        high = tolower(high);
    }
    for (int c = low < high ? low : high; c <= (low < high ? high : low); c++) bytes[c] = true;
}

/* Of the set that begins at p[1]; the place after it. */
static size_t reference_set(const uint8_t *p, size_t len, bool is_nocase, bool *bytes)
{
    bool is_negated = len > 1 && p[1] == '^';
    size_t i = is_negated ? 2 : 1;
    while (i < len && p[i] != ']') {
        if (p[i] == '\\' && i + 1 < len) {
            hold(bytes, p[i + 1], p[i + 1], is_nocase);
            i += 2;
        } else if (i + 2 < len && p[i + 1] == '-') {
            hold(bytes, p[i], p[i + 2], is_nocase);
            i += 3;
        } else {
            hold(bytes, p[i], p[i], is_nocase);
            i++;
        }
    }
    for (int c = 0; is_negated && c < 256; c++) bytes[c] = !bytes[c];
    return i < len ? i + 1 : i;
}

static void reference_read(struct reference *r, struct slice p, bool is_nocase)
{
    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < p.len;) {
        uint8_t c = p.data[i];
        bool *bytes = r->items[r->count].bytes;
        r->items[r->count++].is_star = c == '*';
        if (c == '[') {
            i += reference_set(p.data + i, p.len - i, is_nocase, bytes);
        } else if (c == '\\' && i + 1 < p.len) {
            hold(bytes, p.data[i + 1], p.data[i + 1], is_nocase);
            i += 2;
        } else {
            hold(bytes, c == '?' ? 0 : c, c == '?' ? 255 : c, is_nocase && c != '?');
            i++;
        }
    }
}

/* now[j]: the first j items match all of the text so far. */
static bool reference_matches(const struct reference *r, struct slice text, bool is_nocase)
{
    static bool now[REF_MAX + 1], next[REF_MAX + 1];
    now[0] = true;
    for (size_t j = 0; j < r->count; j++) now[j + 1] = now[j] && r->items[j].is_star;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (is_nocase) c = (uint8_t)tolower(c);
        next[0] = false;
        for (size_t j = 0; j < r->count; j++) {
            next[j + 1] = r->items[j].is_star ? now[j + 1] || next[j]
                                              : now[j] && r->items[j].bytes[c];
        }
        memcpy(now, next, sizeof now);
    }
    return now[r->count];
}

static struct rng rng = {.state = 7};

static size_t below(size_t limit)
{
    return rng_below(&rng, limit);
}

static size_t fill(uint8_t *out, size_t max, const char *alphabet)
{
    size_t len = below(max + 1);
    for (size_t i = 0; i < len; i++) out[i] = (uint8_t)alphabet[below(strlen(alphabet))];
    return len;
}

static void agree(struct slice pattern, struct slice text)
{
    static struct reference r;
    for (int nocase = 0; nocase < 2; nocase++) {
        static struct glob g;
        reference_read(&r, pattern, nocase);
        bool wanted = reference_matches(&r, text, nocase);
        glob_init(&g, pattern, nocase);
        bool once = nocase ? glob_match_nocase(pattern, text) : glob_match(pattern, text);
        /* The second time everything is ready. */
        if (once != wanted || glob_fits(&g, text) != wanted || glob_fits(&g, text) != wanted) {
            fail_msg("'%.*s' and '%.*s' (%d): not %d", (int)pattern.len, (const char *)pattern.data,
                     (int)text.len, (const char *)text.data, nocase, !wanted);
        }
    }
}

static void short_patterns_agree_with_a_reference(void **state)
{
    uint8_t pattern[16];
    uint8_t text[16];
    for (int i = 0; i < 50000; i++) {
        size_t pattern_len = fill(pattern, 12, "aAbB*?[]^-\\");
        size_t text_len = fill(text, 8, "aAbB*-]^\\");
        agree(slice_of(pattern, pattern_len), slice_of(text, text_len));
    }
}

/* A text, and a pattern made from it, with some bytes more or less: both outcomes are frequent. */
static void long_patterns_agree_with_a_reference(void **state)
{
    static uint8_t text[GLOB_BYTES_MAX];
    static uint8_t pattern[GLOB_BYTES_MAX + 8];
    int matched = 0;
    for (int i = 0; i < 1500; i++) {
        size_t text_len = fill(text, i % 3 == 0 ? 1000 : 150, "abAB");
        size_t len = 0;
        for (size_t k = 0; k < text_len && len + 8 < GLOB_BYTES_MAX; k++) {
            switch (below(40)) {
            case 0: pattern[len++] = '*'; break; /* and the byte is gone */
            case 1: pattern[len++] = '?'; break;
            case 2: len += (size_t)sprintf((char *)pattern + len, "[^%c]", text[k] ^ 1); break;
            case 3: len += (size_t)sprintf((char *)pattern + len, "**\\%c", text[k]); break;
            case 4: len += (size_t)sprintf((char *)pattern + len, "[%c-b]", text[k]); break;
            case 5:
                if (i % 2 == 0) pattern[len++] = text[k] ^ 1;
                break;
            default: pattern[len++] = text[k]; break;
            }
        }
        agree(slice_of(pattern, len), slice_of(text, text_len));
        matched += glob_match(slice_of(pattern, len), slice_of(text, text_len));
    }
    assert_in_range(matched, 10, 1490);
}

/* At the limit, each in its own way: many stars, one long part, sets, all of them ranges. */
static void the_longest_pattern_takes_little_time(void **state)
{
    static uint8_t text[80000];
    static uint8_t pattern[GLOB_BYTES_MAX];
    clock_t before = clock();
    memset(text, 'a', sizeof text);
    for (int i = 0; i < 10; i++) {
        for (size_t k = 0; k < sizeof pattern; k++) pattern[k] = k % 2 == 0 ? '*' : 'a';
        pattern[sizeof pattern - 1] = 'b';
        assert_false(glob_match(slice_of(pattern, sizeof pattern), slice_of(text, sizeof text)));
        memset(pattern + 1, 'a', sizeof pattern - 2);
        assert_false(glob_match(slice_of(pattern, sizeof pattern), slice_of(text, sizeof text)));
        pattern[sizeof pattern - 1] = 'a';
        assert_true(glob_match(slice_of(pattern, sizeof pattern), slice_of(text, sizeof text)));
        for (size_t k = 0; k + 3 < sizeof pattern; k += 3) memcpy(pattern + 1 + k, "[^b]", 3);
        memcpy(pattern + 1, "[", 1);
        assert_false(glob_match(slice_of(pattern, sizeof pattern), slice_str("b")));
        memset(pattern + 1, '?', sizeof pattern - 2);
        pattern[sizeof pattern - 1] = 'b';
        assert_false(glob_match(slice_of(pattern, sizeof pattern), slice_of(text, sizeof text)));
    }
    assert_true((double)(clock() - before) / CLOCKS_PER_SEC < 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_match_as_in_redis),
        cmocka_unit_test(patterns_may_ignore_case),
        cmocka_unit_test(zero_bytes_are_bytes),
        cmocka_unit_test(no_pattern_is_exponential),
        cmocka_unit_test(stars_match_as_they_are_defined),
        cmocka_unit_test(short_patterns_agree_with_a_reference),
        cmocka_unit_test(long_patterns_agree_with_a_reference),
        cmocka_unit_test(the_longest_pattern_takes_little_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
