/* glob: see glob.h. The part before the first star is compared byte by byte. From there on the
 * pattern is a nondeterministic automaton run on bits (shift-and): one bit for each place, and for
 * each byte a mask of the places that it takes further; a star keeps its own place alive. */
#include "base/glob.h"

#include "base/err.h"

static uint8_t fold(uint8_t c, bool is_nocase)
{
    return is_nocase && c >= 'A' && c <= 'Z' ? (uint8_t)(c + 32) : c;
}

/* At '[': does the set hold `c`? *at moves past it. A set without its end reaches to the end of the
 * pattern, as in Redis. */
static bool set_holds(struct slice p, size_t *at, uint8_t c, bool is_nocase)
{
    size_t i = *at + 1;
    bool is_negated = i < p.len && p.data[i] == '^';
    bool found = false;
    if (is_negated) i++;
    for (; i < p.len && p.data[i] != ']'; i++) {
        if (p.data[i] == '\\' && i + 1 < p.len) {
            i++;
            found = found || fold(p.data[i], is_nocase) == c;
        } else if (i + 2 < p.len && p.data[i + 1] == '-') {
            uint8_t low = fold(p.data[i], is_nocase);
            uint8_t high = fold(p.data[i + 2], is_nocase);
            found = found || (low <= high ? c >= low && c <= high : c >= high && c <= low);
            i += 2;
        } else {
            found = found || fold(p.data[i], is_nocase) == c;
        }
    }
    *at = i < p.len ? i + 1 : i;
    return found != is_negated;
}

/* One element of the pattern at *at, no star, against one byte. */
static bool element_matches(struct slice p, size_t *at, uint8_t c, bool is_nocase)
{
    uint8_t e = p.data[*at];
    c = fold(c, is_nocase);
    if (e == '[') return set_holds(p, at, c, is_nocase);
    if (e == '\\' && *at + 1 < p.len)
        e = p.data[++*at];
    else if (e == '?')
        e = c;
    ++*at;
    return fold(e, is_nocase) == c;
}

/* ---- from the first star on ---- */

static void set_bit(uint64_t *words, size_t bit)
{
    words[bit / 64] |= 1ull << (bit % 64);
}

/* The element of the pattern at *at takes the place `from` further, for the bytes that it matches.
 */
static void add_element(struct glob *g, size_t *at, size_t from)
{
    struct slice p = g->pattern;
    uint8_t e = p.data[*at];
    if (e == '[') {
        size_t begin = *at;
        for (unsigned c = 0; c < 256; c++) {
            *at = begin;
            if (set_holds(p, at, fold((uint8_t)c, g->is_nocase), g->is_nocase)) {
                set_bit(&g->steps[c * g->words], from);
            }
        }
        return;
    }
    if (e == '\\' && *at + 1 < p.len) e = p.data[++*at];
    ++*at;
    set_bit(&g->steps[fold(e, g->is_nocase) * g->words], from);
}

/* For `*ab*c`: place 0 is left by `a`, 1 by `b`, 2 by `c`; stars at 0 and 2. Places are at most the
 * bytes from the first star on, since that is no element. */
static void make_ready(struct glob *g, size_t at)
{
    uint64_t any[GLOB_WORDS] = {0}; /* places that `?` takes further */
    g->words = (g->pattern.len - at + 63) / 64;
    memset(g->stars, 0, g->words * sizeof g->stars[0]);
    memset(g->steps, 0, 256 * g->words * sizeof g->steps[0]);
    g->places = 0;
    while (at < g->pattern.len) {
        if (g->pattern.data[at] == '*') {
            set_bit(g->stars, g->places);
            at++;
        } else if (g->pattern.data[at] == '?') {
            set_bit(any, g->places++);
            at++;
        } else {
            add_element(g, &at, g->places++);
        }
    }
    for (size_t w = 0; w < g->words; w++) {
        for (size_t c = 0; any[w] != 0 && c < 256; c++) g->steps[c * g->words + w] |= any[w];
    }
}

static bool has_bit(const uint64_t *words, size_t bit)
{
    return (words[bit / 64] >> (bit % 64) & 1) != 0;
}

/* The text from `at` on: all places that can be reached, byte after byte. */
static bool rest_fits(const struct glob *g, struct slice text, size_t at)
{
    uint64_t places[GLOB_WORDS] = {1};
    bool is_open = has_bit(g->stars, g->places); /* the pattern ends with a star */
    for (size_t i = at; i < text.len; i++) {
        const uint64_t *steps = &g->steps[fold(text.data[i], g->is_nocase) * g->words];
        uint64_t carry = 0;
        if (is_open && has_bit(places, g->places)) return true;
        for (size_t w = 0; w < g->words; w++) {
            uint64_t moved = places[w] & steps[w];
            places[w] = moved << 1 | carry | (places[w] & g->stars[w]);
            carry = moved >> 63;
        }
    }
    return has_bit(places, g->places);
}

/* ---- the whole ---- */

void glob_init(struct glob *g, struct slice pattern, bool is_nocase)
{
    INVARIANT(pattern.len <= GLOB_BYTES_MAX);
    g->pattern = pattern;
    g->is_nocase = is_nocase;
    g->words = 0;
}

bool glob_fits(struct glob *g, struct slice text)
{
    size_t at = 0;
    size_t i = 0;
    while (at < g->pattern.len && g->pattern.data[at] != '*') {
        if (i == text.len || !element_matches(g->pattern, &at, text.data[i], g->is_nocase)) {
            return false;
        }
        i++;
    }
    if (at == g->pattern.len) return i == text.len;
    if (g->words == 0) make_ready(g, at);
    return rest_fits(g, text, i);
}

bool glob_match(struct slice pattern, struct slice text)
{
    struct glob g;
    glob_init(&g, pattern, false);
    return glob_fits(&g, text);
}

bool glob_match_nocase(struct slice pattern, struct slice text)
{
    struct glob g;
    glob_init(&g, pattern, true);
    return glob_fits(&g, text);
}

struct slice glob_literal(struct slice pattern)
{
    size_t len = 0;
    while (len < pattern.len && pattern.data[len] != '*' && pattern.data[len] != '?' &&
           pattern.data[len] != '[' && pattern.data[len] != '\\') {
        len++;
    }
    return slice_of(pattern.data, len);
}
