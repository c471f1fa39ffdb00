/* A star remembers where it stood; when what follows does not match, the latest star takes one byte
 * more. Earlier stars need no second look: the latest can take whatever they would have. */
#include "base/glob.h"

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

static bool match(struct slice p, struct slice text, bool is_nocase)
{
    size_t at = 0;
    size_t star = SIZE_MAX; /* of the latest star; behind it */
    size_t star_text = 0;   /* what it does not take begins here */
    for (size_t i = 0; i < text.len;) {
        if (at < p.len && p.data[at] == '*') {
            star = ++at;
            star_text = i;
            continue;
        }
        if (at < p.len && element_matches(p, &at, text.data[i], is_nocase)) {
            i++;
            continue;
        }
        if (star == SIZE_MAX) return false;
        at = star;
        i = ++star_text;
    }
    while (at < p.len && p.data[at] == '*') at++;
    return at == p.len;
}

bool glob_match(struct slice pattern, struct slice text)
{
    return match(pattern, text, false);
}

bool glob_match_nocase(struct slice pattern, struct slice text)
{
    return match(pattern, text, true);
}
