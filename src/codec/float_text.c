/* float_text: see float_text.h. */
#include "codec/float_text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec/double_parse.h"
#include "codec/double_print.h"
#include "codec/number.h"

/* Redis's: longer text is no number. The largest long double has 4933 digits before the point. */
#define NUMBER_CHARS_MAX (5 * 1024)

/* As a string that ends; false: it is no number, whatever follows. */
static bool copy(struct slice text, char room[NUMBER_CHARS_MAX])
{
    if (text.len == 0 || text.len >= NUMBER_CHARS_MAX) return false;
    memcpy(room, text.data, text.len);
    room[text.len] = '\0';
    return true;
}

bool float_text_read_long(struct slice text, long double *out)
{
    char room[NUMBER_CHARS_MAX];
    char *end = NULL;
    if (!copy(text, room) || isspace(text.data[0])) return false;
    errno = 0;
    *out = strtold(room, &end);
    if ((size_t)(end - room) != text.len || isnan(*out)) return false;
    return errno != ERANGE || !(isinf(*out) || fpclassify(*out) == FP_ZERO);
}

/* What most numbers are: digits, maybe with a point and a sign. False: it is something else, or has
 * too many digits. */
static bool read_short(struct slice text, double *out)
{
    bool is_negative = text.len > 0 && text.data[0] == '-';
    bool has_point = false;
    uint64_t digits = 0;
    unsigned count = 0;
    int64_t exponent = 0;
    for (size_t i = is_negative; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c == '.' && !has_point) {
            has_point = true;
            continue;
        }
        if ((uint8_t)(c - '0') > 9 || count == DECIMAL_DIGITS_MAX) return false;
        digits = digits * 10 + (uint64_t)(c - '0');
        count++;
        exponent -= has_point;
    }
    if (count == 0 || !double_from_decimal(digits, exponent, false, out)) return false;
    if (is_negative) *out = -*out;
    return true;
}

bool float_text_read_bound(struct slice text, double *out)
{
    char room[NUMBER_CHARS_MAX];
    char *end = NULL;
    if (read_short(text, out)) return true;
    if (!copy(text, room)) return false;
    *out = strtod(room, &end);
    return (size_t)(end - room) == text.len && !isnan(*out);
}

bool float_text_read(struct slice text, double *out)
{
    errno = 0;
    if (!float_text_read_bound(text, out) || isspace(text.data[0])) return false;
    return errno != ERANGE || !(isinf(*out) || fpclassify(*out) == FP_ZERO);
}

struct slice float_text_write_long(struct arena *arena, long double n)
{
    char *text = arena_alloc(arena, NUMBER_CHARS_MAX);
    size_t len = (size_t)snprintf(text, NUMBER_CHARS_MAX, "%.17Lf", n);
    if (memchr(text, '.', len) != NULL) {
        while (text[len - 1] == '0') len--;
        if (text[len - 1] == '.') len--;
    }
    if (len == 2 && memcmp(text, "-0", 2) == 0) return slice_str("0");
    return slice_of(text, len);
}

/* digits * 10^exponent without an exponent; 0: it is written with one. */
static size_t plain(const char *digits, int count, int exponent, char *out)
{
    int size = abs(exponent + count - 1); /* the exponent in scientific notation */
    if (exponent >= 0 && size < count + 7) {
        memcpy(out, digits, (size_t)count);
        memset(out + count, '0', (size_t)exponent);
        return (size_t)count + (size_t)exponent;
    }
    if (exponent >= 0 || (exponent <= -7 && size >= 4)) return 0;
    int point = count + exponent; /* digits before it */
    size_t at = 0;
    if (point <= 0) {
        out[at++] = '0';
        out[at++] = '.';
        for (; point < 0; point++) out[at++] = '0';
        memcpy(out + at, digits, (size_t)count);
        return at + (size_t)count;
    }
    memcpy(out, digits, (size_t)point);
    out[point] = '.';
    memcpy(out + point + 1, digits + point, (size_t)(count - point));
    return (size_t)count + 1;
}

static size_t scientific(const char *digits, int count, int exponent, char *out)
{
    int size = exponent + count - 1;
    size_t at = 0;
    out[at++] = digits[0];
    if (count > 1) {
        out[at++] = '.';
        memcpy(out + at, digits + 1, (size_t)count - 1);
        at += (size_t)count - 1;
    }
    out[at++] = 'e';
    out[at++] = size < 0 ? '-' : '+';
    return at + u64_format((uint64_t)abs(size), out + at);
}

size_t float_text_write(double n, char *out)
{
    char digits[FLOAT_TEXT_BYTES];
    int64_t integer = 0;
    size_t at = 0;
    if (isnan(n)) {
        memcpy(out, "nan", 3);
        return 3;
    }
    if (signbit(n)) out[at++] = '-';
    n = fabs(n);
    if (isinf(n)) {
        memcpy(out + at, "inf", 3);
        return at + 3;
    }
    if (number_is_integer(n, &integer) && integer < (1LL << 52)) {
        return at + u64_format((uint64_t)integer, out + at);
    }
    struct decimal shortest = double_shortest(n);
    int count = (int)u64_format(shortest.digits, digits);
    size_t len = plain(digits, count, shortest.exponent, out + at);
    if (len == 0) len = scientific(digits, count, shortest.exponent, out + at);
    return at + len;
}
