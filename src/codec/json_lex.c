/* json_lex: strings, numbers and words of JSON. A string is checked once, where it lies; unescaping
 * it later trusts that check. A number keeps its first 19 digits as an integer, which decide almost
 * every double; for the others the text is parsed (number.h). */
#include "codec/json_lex.h"

#include <stdarg.h>
#include <stdio.h>

#include "codec/double_parse.h"
#include "codec/json_bytes.h"
#include "codec/number.h"
#include "codec/utf8.h"

bool json_fail(struct json *j, const uint8_t *where, const char *format, ...)
{
    char what[ERROR_TEXT_BYTES - 64];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    size_t offset = (size_t)(where - j->start);
    (void)error_set(j->e, j->code, "%s: %s at offset %zu", j->subject, what, offset);
    return false;
}

static int hex4(const uint8_t *p, const uint8_t *end)
{
    if (end - p < 4) return -1;
    int code = 0;
    for (int i = 0; i < 4; i++) {
        uint8_t c = p[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return -1;
        code = code << 4 | digit;
    }
    return code;
}

/* At a backslash; moves past the escape (both halves of a surrogate pair). */
static bool check_escape(struct json *j)
{
    const uint8_t *from = j->at;
    if (j->end - j->at < 2) return json_fail(j, from, "unterminated string");
    uint8_t c = j->at[1];
    j->at += 2;
    if (c == '"' || c == '\\' || c == '/') return true;
    if (c == 'b' || c == 'f' || c == 'n' || c == 'r' || c == 't') return true;
    if (c != 'u') return json_fail(j, from, "unknown escape in a string");
    int code = hex4(j->at, j->end);
    if (code < 0) return json_fail(j, from, "\\u without four hex digits");
    j->at += 4;
    if (code < 0xd800 || code > 0xdfff) return true;
    bool is_pair = code < 0xdc00 && j->end - j->at >= 6 && j->at[0] == '\\' && j->at[1] == 'u';
    int low = is_pair ? hex4(j->at + 2, j->end) : -1;
    if (low < 0xdc00 || low > 0xdfff) return json_fail(j, from, "lone surrogate");
    j->at += 6;
    return true;
}

bool json_string_scan(struct json *j, struct slice *raw, bool *has_escape)
{
    const uint8_t *open = j->at++;
    *has_escape = false;
    for (;;) {
        j->at = json_skip_plain(j->at, j->end, true);
        if (j->at == j->end) return json_fail(j, open, "unterminated string");
        uint8_t c = *j->at;
        if (c == '"') {
            *raw = slice_of(open + 1, (size_t)(j->at - open - 1));
            j->at++;
            return true;
        }
        if (c == '\\') {
            *has_escape = true;
            if (!check_escape(j)) return false;
        } else if (c < 0x20) {
            return json_fail(j, j->at, "control character in a string");
        } else {
            do {
                unsigned step = utf8_step(j->at, (size_t)(j->end - j->at));
                if (step == 0) return json_fail(j, j->at, "not UTF-8");
                j->at += step;
            } while (j->at < j->end && *j->at >= 0x80);
        }
    }
}

static uint8_t letter_escape(uint8_t c)
{
    switch (c) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return c;
    }
}

void json_string_unescape(struct slice raw, struct buf *out)
{
    uint8_t *to = buf_reserve(out, raw.len);
    if (to == NULL || raw.len == 0) return;
    const uint8_t *p = raw.data, *end = p + raw.len;
    while (p < end) {
        const uint8_t *plain = json_skip_plain(p, end, false);
        memcpy(to, p, (size_t)(plain - p));
        to += plain - p;
        p = plain;
        if (p == end) break;
        uint8_t c = p[1];
        p += 2;
        if (c != 'u') {
            *to++ = letter_escape(c);
            continue;
        }
        uint32_t code = (uint32_t)hex4(p, end);
        p += 4;
        if (code >= 0xd800 && code <= 0xdfff) {
            code = 0x10000 + ((code - 0xd800) << 10) + ((uint32_t)hex4(p + 2, end) - 0xdc00);
            p += 6;
        }
        to += utf8_encode(code, to);
    }
    out->len = (size_t)(to - out->data);
}

bool json_string_is(struct slice raw, bool has_escape, const char *text)
{
    if (!has_escape) return slice_eq(raw, slice_str(text));
    if (raw.len > 16 * 6) return false;
    uint8_t room[16 * 6];
    struct buf fixed = {.data = room, .cap = sizeof room}; /* raw.len fits: it never grows */
    json_string_unescape(raw, &fixed);
    return slice_eq(buf_slice(&fixed), slice_str(text));
}

static bool is_digit(const struct json *j)
{
    return j->at < j->end && *j->at >= '0' && *j->at <= '9';
}

/* Adds digits to the magnitude; those beyond DECIMAL_DIGITS_MAX are only counted, the text is there
 * for them. */
static void scan_digits(struct json *j, struct json_number *n)
{
    const uint8_t *p = j->at, *end = j->end;
    uint64_t magnitude = n->magnitude;
    size_t count = n->digit_count;
    if (count == 0) {
        while (p < end && *p == '0') p++;
    }
    for (; p < end && (uint8_t)(*p - '0') <= 9; p++, count++) {
        if (count < DECIMAL_DIGITS_MAX) magnitude = magnitude * 10 + (uint64_t)(*p - '0');
    }
    n->magnitude = magnitude;
    n->digit_count = count;
    j->at = p;
}

/* More than all digits that a text has room for can make good: it is as good as any larger one. */
#define EXPONENT_LARGE INT64_C(1000000000000)

static bool scan_exponent(struct json *j, struct json_number *n)
{
    bool is_negative = false;
    j->at++;
    if (j->at < j->end && (*j->at == '+' || *j->at == '-')) is_negative = *j->at++ == '-';
    if (!is_digit(j)) return json_fail(j, j->at, "exponent without digits");
    int64_t exponent = 0;
    for (; is_digit(j); j->at++) {
        if (exponent < EXPONENT_LARGE) exponent = exponent * 10 + (*j->at - '0');
    }
    n->exponent += is_negative ? -exponent : exponent;
    return true;
}

bool json_number_scan(struct json *j, struct json_number *n)
{
    *n = (struct json_number){.is_integer = true};
    if (*j->at == '-') {
        n->is_negative = true;
        j->at++;
    }
    const uint8_t *from = j->at;
    if (!is_digit(j)) return json_fail(j, j->at, "expected a digit");
    if (*j->at == '0') {
        j->at++;
        if (is_digit(j)) return json_fail(j, from, "number with a leading zero");
    } else {
        scan_digits(j, n);
    }
    if (j->at < j->end && *j->at == '.') {
        n->is_integer = false;
        const uint8_t *fraction = ++j->at;
        if (!is_digit(j)) return json_fail(j, j->at, "expected a digit after the point");
        scan_digits(j, n);
        n->exponent = -(int64_t)(j->at - fraction);
    }
    if (j->at < j->end && (*j->at == 'e' || *j->at == 'E')) {
        n->is_integer = false;
        if (!scan_exponent(j, n)) return false;
    }
    n->text = slice_of(from, (size_t)(j->at - from));
    return true;
}

double json_number_double(const struct json_number *n)
{
    bool is_cut = n->digit_count > DECIMAL_DIGITS_MAX;
    int64_t exponent = n->exponent;
    double d = 0;
    if (is_cut) exponent += (int64_t)(n->digit_count - DECIMAL_DIGITS_MAX);
    if (!double_from_decimal(n->magnitude, exponent, is_cut, &d)) d = number_parse(n->text);
    return n->is_negative ? -d : d;
}

bool json_expect(struct json *j, char c)
{
    if (json_peek(j) == (uint8_t)c) {
        j->at++;
        return true;
    }
    if (j->at == j->end) return json_fail(j, j->at, "expected '%c' before the end of the text", c);
    return json_fail(j, j->at, "expected '%c'", c);
}

bool json_take_word(struct json *j, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(j->end - j->at) < len || memcmp(j->at, word, len) != 0) return false;
    if ((size_t)(j->end - j->at) > len) {
        uint8_t c = j->at[len];
        if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'))
            return false;
    }
    j->at += len;
    return true;
}

bool json_expect_end(struct json *j)
{
    json_skip_blanks(j);
    return j->at == j->end || json_fail(j, j->at, "text after the end");
}

static void write_escape(uint8_t c, struct buf *out)
{
    static const char letters[] = {['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r',
                                   ['\t'] = 't', ['"'] = '"',  ['\\'] = '\\'};
    uint8_t *to = buf_reserve(out, 6);
    if (to == NULL) return;
    to[0] = '\\';
    if (c < sizeof letters && letters[c] != 0) {
        to[1] = (uint8_t)letters[c];
        out->len += 2;
        return;
    }
    memcpy(to + 1, "u00", 3);
    to[4] = (uint8_t) "0123456789abcdef"[c >> 4];
    to[5] = (uint8_t) "0123456789abcdef"[c & 15];
    out->len += 6;
}

/* Of any length, piece by piece. */
static void write_escaped(struct slice s, struct buf *out)
{
    const uint8_t *p = s.data, *end = s.data + s.len;
    while (p < end) {
        const uint8_t *plain = json_skip_plain(p, end, false);
        buf_append(out, p, (size_t)(plain - p));
        p = plain;
        if (p < end) write_escape(*p++, out);
    }
}

void json_string_write(struct slice s, struct buf *out)
{
    uint8_t *to = buf_reserve(out, s.len + 2);
    if (to == NULL) return;
    *to = '"';
    if (s.len <= 64 && json_copy_plain(to + 1, s.data, s.len)) {
        to[s.len + 1] = '"';
        out->len += s.len + 2;
        return;
    }
    out->len++;
    write_escaped(s, out);
    buf_append_byte(out, '"');
}

void json_string_write_lossy(struct slice s, struct buf *out)
{
    struct buf clean;
    if (utf8_valid_bytes(s) == s.len) {
        json_string_write(s, out);
        return;
    }
    buf_init(&clean);
    while (s.len > 0) {
        size_t valid = utf8_valid_bytes(s);
        buf_append(&clean, s.data, valid);
        if (valid < s.len) buf_append_str(&clean, "\xef\xbf\xbd");
        size_t used = valid < s.len ? valid + 1 : valid;
        s = slice_of(s.data + used, s.len - used);
    }
    if (clean.is_failed) out->is_failed = true;
    json_string_write(buf_slice(&clean), out);
    buf_fini(&clean);
}
