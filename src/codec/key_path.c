/* key_path: the form of keys in patterns and channel names: users/#42/profile.
 *
 *   path   = part *("/" part)        the empty path is the empty tuple
 *   part   = string | "#" number | "#n" [-]digits | "&" hex | "!true" | "!false"
 *   string = "%" (the empty string) | 1*(char | "%" 2hex)
 *
 * Numbers are written as in JSON, and #NaN, #-NaN, #Infinity, #-Infinity, #-0. One key has one
 * path: what is escaped and the case of hex digits (lower) are fixed on output and free on input,
 * except that characters outside 0x21-0x7e and the globs' own must be escaped.
 */
#include <math.h>

#include "codec/bigint.h"
#include "codec/json_lex.h"
#include "codec/key_int.h"
#include "codec/number.h"
#include "codec/utf8.h"

static const char hex_digits[] = "0123456789abcdef";

static bool must_escape(uint8_t c, bool is_first)
{
    switch (c) {
    case '/':
    case '%':
    case '*':
    case '?':
    case '[':
    case ']':
    case '\\': return true;
    case '#':
    case '&':
    case '!': return is_first;
    default: return c < 0x21 || c > 0x7e;
    }
}

static int hex2(struct slice s, size_t at)
{
    int byte = 0;
    if (s.len < at + 2) return -1;
    for (size_t i = at; i < at + 2; i++) {
        uint8_t c = s.data[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return -1;
        byte = byte << 4 | digit;
    }
    return byte;
}

static enum err bad(struct key_writer *w, const char *what)
{
    return error_set(w->e, ERR_KEY, "invalid key: %s at part %zu", what, w->parts + 1);
}

static enum err add_string(struct key_writer *w, struct slice part, bool is_loose)
{
    struct buf *out = w->out;
    buf_append_byte(out, 0x02);
    size_t from = out->len;
    if (part.len == 1 && part.data[0] == '%') part.len = 0;
    for (size_t i = 0; i < part.len; i++) {
        uint8_t c = part.data[i];
        if (c == '%') {
            int byte = hex2(part, i + 1);
            if (byte < 0) return bad(w, "'%' without two hex digits");
            c = (uint8_t)byte;
            i += 2;
        } else if (!is_loose && must_escape(c, i == 0)) {
            return bad(w, "a character that must be percent-escaped");
        }
        buf_append_byte(out, c);
    }
    if (out->is_failed) return OK; /* an error at the end */
    struct slice text = slice_of(out->data + from, out->len - from);
    if (utf8_valid_bytes(text) != text.len) return bad(w, "string is not UTF-8");
    key_end_text(out, from);
    return OK;
}

static enum err add_bytes(struct key_writer *w, struct slice hex)
{
    buf_append_byte(w->out, 0x01);
    size_t from = w->out->len;
    for (size_t i = 0; i < hex.len; i += 2) {
        int byte = hex2(hex, i);
        if (byte < 0) return bad(w, "'&' must be followed by pairs of hex digits");
        buf_append_byte(w->out, (uint8_t)byte);
    }
    key_end_text(w->out, from);
    return OK;
}

static enum err add_number(struct key_writer *w, struct slice text)
{
    if (text.len > 0 && text.data[0] == 'n') {
        text = slice_of(text.data + 1, text.len - 1);
        bool is_negative = text.len > 0 && text.data[0] == '-';
        if (is_negative) text = slice_of(text.data + 1, text.len - 1);
        if (key_add_decimal(w->out, is_negative, text)) return OK;
        return bad(w, "'#n' must be followed by decimal digits of at most 255 bytes of magnitude");
    }
    double d = 0;
    if (number_from_name(text, true, &d)) {
        key_add_number(w->out, d);
        return OK;
    }
    struct json j = {.start = text.data, .at = text.data, .code = ERR_KEY, .subject = ""};
    j.end = text.data + text.len;
    struct json_number n;
    if (text.len == 0 || !json_number_scan(&j, &n) || j.at != j.end) {
        return bad(w, "'#' must be followed by a number");
    }
    if (n.is_integer && (n.digit_count > 16 || n.magnitude > NUMBER_SAFE_MAX)) {
        return bad(w, "integer beyond +-(2^53-1), write it as a bigint (#n..),");
    }
    d = json_number_double(&n);
    if (isinf(d)) return bad(w, "number beyond the range of a double, write #Infinity,");
    key_add_number(w->out, d);
    return OK;
}

static enum err add_part(struct key_writer *w, struct slice part, bool is_loose)
{
    if (part.len == 0) return bad(w, "empty part (write the empty string as %)");
    struct slice rest = slice_of(part.data + 1, part.len - 1);
    switch (part.data[0]) {
    case '#': return add_number(w, rest);
    case '&': return add_bytes(w, rest);
    case '!':
        if (!slice_eq(rest, slice_str("true")) && !slice_eq(rest, slice_str("false"))) {
            return bad(w, "'!' must be followed by true or false");
        }
        key_add_bool(w->out, rest.data[0] == 't');
        return OK;
    default: return add_string(w, part, is_loose);
    }
}

static enum err from_path(struct slice path, bool allow_empty, bool is_loose, struct buf *out,
                          struct error *e)
{
    struct key_writer w = {.out = out, .from = out->len, .e = e};
    /* The longest path of a key escapes every byte of it. */
    if (path.len > KEY_BYTES_MAX * 4) {
        return error_set(e, ERR_LIMIT, "invalid key: larger than %d bytes", KEY_BYTES_MAX);
    }
    enum err err = OK;
    for (size_t at = 0; err == OK && path.len > 0 && at <= path.len; w.parts++) {
        const uint8_t *slash = at < path.len ? memchr(path.data + at, '/', path.len - at) : NULL;
        size_t end = slash != NULL ? (size_t)(slash - path.data) : path.len;
        err = add_part(&w, slice_of(path.data + at, end - at), is_loose);
        at = end + 1;
        if (err == OK) {
            struct key_writer now = w;
            now.parts++;
            err = key_writer_check(&now);
        }
    }
    return key_writer_end(&w, allow_empty, err);
}

enum err key_from_path(struct slice path, bool allow_empty, struct buf *out, struct error *e)
{
    return from_path(path, allow_empty, false, out, e);
}

enum err key_from_loose_path(struct slice path, struct buf *out, struct error *e)
{
    return from_path(path, false, true, out, e);
}

static void string_to_path(struct slice s, struct buf *out)
{
    if (s.len == 0) buf_append_byte(out, '%');
    for (size_t i = 0; i < s.len; i++) {
        size_t from = i;
        while (i < s.len && !must_escape(s.data[i], i == 0)) i++;
        if (i > from) buf_append(out, s.data + from, i - from);
        if (i == s.len) break;
        uint8_t c = s.data[i];
        buf_append_byte(out, '%');
        buf_append_byte(out, (uint8_t)hex_digits[c >> 4]);
        buf_append_byte(out, (uint8_t)hex_digits[c & 15]);
    }
}

static void number_to_path(double d, struct buf *out)
{
    char text[NUMBER_TEXT_BYTES];
    buf_append_byte(out, '#');
    if (isfinite(d)) {
        /* -0 too: its digits come out as "-0". */
        buf_append(out, text, number_format(d, text));
        return;
    }
    if (signbit(d)) buf_append_byte(out, '-');
    buf_append_str(out, isnan(d) ? "NaN" : "Infinity");
}

static void part_to_path(const struct key_part *part, struct buf *out)
{
    uint8_t room[KEY_BYTES_MAX];
    struct buf plain = {.data = room, .cap = sizeof room}; /* a valid key fits: it never grows */
    char digits[BIGINT_DECIMAL_DIGITS];
    switch (part->type) {
    case KEY_BOOL: buf_append_str(out, part->boolean ? "!true" : "!false"); break;
    case KEY_NUMBER: number_to_path(part->number, out); break;
    case KEY_STRING:
        key_part_plain(part, &plain);
        string_to_path(buf_slice(&plain), out);
        break;
    case KEY_BYTES:
        key_part_plain(part, &plain);
        buf_append_byte(out, '&');
        for (size_t i = 0; i < plain.len; i++) {
            buf_append_byte(out, (uint8_t)hex_digits[room[i] >> 4]);
            buf_append_byte(out, (uint8_t)hex_digits[room[i] & 15]);
        }
        break;
    case KEY_BIGINT:
        key_part_plain(part, &plain);
        buf_append_str(out, part->is_negative ? "#n-" : "#n");
        buf_append(out, digits, bigint_to_decimal(buf_slice(&plain), digits));
        break;
    }
}

void key_to_path(struct slice key, struct buf *out)
{
    struct key_part part;
    bool is_first = true;
    for (size_t at = 0; key_next(key, &at, &part); is_first = false) {
        if (!is_first) buf_append_byte(out, '/');
        part_to_path(&part, out);
    }
}
