/* number: doubles to text, by the cheapest way that is exact: integers, then short decimals
 * (format_short), then the shortest digits of double_print.h. Back: number_parse cuts a literal to
 * the digits that can matter, and strtod does the rest. */
#include "codec/number.h"

#include <math.h>
#include <stdlib.h>

#include "codec/double_print.h"

bool number_is_integer(double d, int64_t *out)
{
    if (!(d >= -(double)NUMBER_SAFE_MAX && d <= (double)NUMBER_SAFE_MAX)) return false;
    int64_t i = (int64_t)d;
    if ((double)i != d || (i == 0 && signbit(d))) return false;
    *out = i;
    return true;
}

#define SHORT_PLACES 6

/* The doubles of daily life (17.5, 0.1, 3.14159): find r and k with r / 10^k == d. Both r < 2^53
 * and 10^k are exact and division rounds correctly, so the decimal r/10^k reads back as d; with r <
 * 10^15 no other decimal of at most 15 digits does, and the smallest k leaves no trailing zero.
 * Others are recognized without a division: two roundings make no difference of 2^-50. */
static size_t format_short(double d, char *out)
{
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
    if (!(d >= 1e-6 && d < 1e15)) return 0;
    for (unsigned k = 1; k <= SHORT_PLACES; k++) {
        double scaled = d * powers[k];
        if (scaled >= 1e15) return 0;
        uint64_t r = (uint64_t)(scaled + 0.5);
        if (fabs(scaled - (double)r) > scaled * 0x1p-50 || (double)r / powers[k] != d) continue;
        char text[20];
        size_t n = u64_format(r, text);
        size_t at = 0;
        if (n <= k) {
            out[at++] = '0';
            out[at++] = '.';
            for (size_t i = n; i < k; i++) out[at++] = '0';
            memcpy(out + at, text, n);
            return at + n;
        }
        memcpy(out, text, n - k);
        out[n - k] = '.';
        memcpy(out + n - k + 1, text + n - k, k);
        return n + 1;
    }
    return 0;
}

/* How many digits are copied at once, more than there are: what is beyond the text is overwritten
 * or means nothing. */
#define DIGITS_ROOM 24

/* digits * 10^(point - n), as JavaScript's Number::toString lays it out. */
static size_t layout(const char digits[static DIGITS_ROOM], int n, int point, char *out)
{
    if (point > 0 && point <= 21) {
        memcpy(out, digits, DIGITS_ROOM);
        if (point < n) {
            memcpy(out + point + 1, digits + point, (size_t)(n - point));
            out[point] = '.';
            return (size_t)n + 1;
        }
        memset(out + n, '0', (size_t)(point - n));
        memcpy(out + point, ".0", 2); /* 2^53 or more: must not read as a bigint */
        return (size_t)point + 2;
    }
    if (point <= 0 && point > -6) {
        memcpy(out, "0.000000", 8);
        size_t at = (size_t)(2 - point);
        memcpy(out + at, digits, DIGITS_ROOM);
        return at + (size_t)n;
    }
    size_t at = 1;
    out[0] = digits[0];
    if (n > 1) {
        out[1] = '.';
        memcpy(out + 2, digits + 1, DIGITS_ROOM - 1);
        at = (size_t)n + 1;
    }
    out[at++] = 'e';
    out[at++] = point > 0 ? '+' : '-';
    return at + u64_format((uint64_t)abs(point - 1), out + at);
}

static size_t format_long(double d, char *out)
{
    struct decimal shortest = double_shortest(d);
    char digits[DIGITS_ROOM] = {0};
    int n = (int)u64_format(shortest.digits, digits);
    return layout(digits, n, n + shortest.exponent, out);
}

size_t number_format(double d, char *out)
{
    int64_t i = 0;
    size_t at = 0;
    if (signbit(d)) {
        out[at++] = '-';
        d = -d;
    }
    if (number_is_integer(d, &i)) return at + u64_format((uint64_t)i, out + at);
    size_t n = format_short(d, out + at);
    if (n == 0) n = format_long(d, out + at);
    return at + n;
}

void number_to_json(double d, bool has_negative_nan, struct buf *out)
{
    if (isfinite(d) && !(d == 0 && signbit(d))) {
        uint8_t *to = buf_reserve(out, NUMBER_TEXT_BYTES);
        if (to != NULL) out->len += number_format(d, (char *)to);
        return;
    }
    buf_append_str(out, "{\"$number\":\"");
    if (signbit(d) && (has_negative_nan || !isnan(d))) buf_append_byte(out, '-');
    buf_append_str(out, isnan(d) ? "NaN" : d == 0 ? "0" : "Infinity");
    buf_append_str(out, "\"}");
}

bool number_from_name(struct slice name, bool has_negative_nan, double *out)
{
    bool negative = name.len > 0 && name.data[0] == '-';
    if (negative) name = slice_of(name.data + 1, name.len - 1);
    double d = 0;
    if (slice_eq(name, slice_str("Infinity"))) {
        d = (double)INFINITY;
    } else if (slice_eq(name, slice_str("NaN")) && (!negative || has_negative_nan)) {
        d = (double)NAN;
    } else if (!slice_eq(name, slice_str("0")) || !negative) {
        return false;
    }
    *out = copysign(d, negative ? -1.0 : 1.0);
    return true;
}

/* A double is decided by at most 767 significant digits; what follows only matters as "not zero".
 */
#define DIGITS_KEPT 800

double number_parse(struct slice literal)
{
    char text[DIGITS_KEPT + 32];
    size_t kept = 0;
    bool is_fraction = false, is_inexact = false;
    int64_t scale = 0;
    size_t at = 0;
    for (; at < literal.len; at++) {
        char c = (char)literal.data[at];
        if (c == 'e' || c == 'E') break;
        if (c == '.') {
            is_fraction = true;
            continue;
        }
        bool is_kept = kept < DIGITS_KEPT && (kept > 0 || c != '0');
        if (is_kept) text[kept++] = c;
        if (!is_kept && kept > 0 && c != '0') is_inexact = true;
        if (is_fraction && (is_kept || kept == 0)) scale--;
        if (!is_fraction && !is_kept && kept > 0) scale++;
    }
    if (kept == 0) return 0;
    if (is_inexact) {
        text[kept++] = '1';
        scale--;
    }
    int64_t exponent = 0;
    bool is_negative = false;
    if (at < literal.len) at++;
    if (at < literal.len && (literal.data[at] == '-' || literal.data[at] == '+')) {
        is_negative = literal.data[at++] == '-';
    }
    for (; at < literal.len; at++) {
        if (exponent < INT64_C(1000000000000)) exponent = exponent * 10 + (literal.data[at] - '0');
    }
    scale += is_negative ? -exponent : exponent;
    if (scale > 99999) scale = 99999;
    if (scale < -99999) scale = -99999;
    text[kept++] = 'e'; /* no point: no locale */
    if (scale < 0) text[kept++] = '-';
    kept += u64_format((uint64_t)(scale < 0 ? -scale : scale), text + kept);
    text[kept] = '\0';
    return strtod(text, NULL);
}
