/* base64: four digits at a time through a table of weights; whether one was bad is looked at once,
 * at the end. */
#include "codec/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* 0..63, or 64 for what is no digit. */
static const uint8_t weights[256] = {
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 62, 64, 64, 64, 63,
    52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 64, 64, 64, 64, 64, 64, 64, 0,  1,  2,  3,  4,  5,  6,
    7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 64, 64, 64, 64, 64,
    64, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48,
    49, 50, 51, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
};

static size_t padding(struct slice text)
{
    if (text.len < 4 || text.data[text.len - 1] != '=') return 0;
    return text.data[text.len - 2] == '=' ? 2 : 1;
}

size_t base64_decoded_bytes(struct slice text)
{
    return text.len / 4 * 3 - padding(text);
}

bool base64_decode(struct slice text, struct buf *out)
{
    if (text.len % 4 != 0) return false;
    if (text.len == 0) return true;
    size_t pad = padding(text);
    size_t whole = text.len / 4 - (pad > 0 ? 1 : 0); /* groups without padding */
    uint8_t *to = buf_reserve(out, text.len / 4 * 3);
    if (to == NULL) return true;
    const uint8_t *p = text.data;
    unsigned bad = 0;
    for (size_t i = 0; i < whole; i++, p += 4) {
        unsigned a = weights[p[0]], b = weights[p[1]], c = weights[p[2]], d = weights[p[3]];
        bad |= (a | b | c | d) & 64;
        *to++ = (uint8_t)(a << 2 | b >> 4);
        *to++ = (uint8_t)(b << 4 | c >> 2);
        *to++ = (uint8_t)(c << 6 | d);
    }
    if (pad > 0) {
        unsigned a = weights[p[0]], b = weights[p[1]], c = pad == 1 ? weights[p[2]] : 0;
        bad |= (a | b | c) & 64;
        bad |= pad == 1 ? c & 3 : b & 15; /* bits that would be lost */
        *to++ = (uint8_t)(a << 2 | b >> 4);
        if (pad == 1) *to++ = (uint8_t)(b << 4 | c >> 2);
    }
    if (bad != 0) return false;
    out->len = (size_t)(to - out->data);
    return true;
}

void base64_encode(struct slice bytes, struct buf *out)
{
    uint8_t *to = buf_reserve(out, (bytes.len + 2) / 3 * 4);
    if (to == NULL || bytes.len == 0) return;
    const uint8_t *p = bytes.data;
    size_t left = bytes.len;
    for (; left >= 3; left -= 3, p += 3) {
        *to++ = (uint8_t)digits[p[0] >> 2];
        *to++ = (uint8_t)digits[(p[0] & 3) << 4 | p[1] >> 4];
        *to++ = (uint8_t)digits[(p[1] & 15) << 2 | p[2] >> 6];
        *to++ = (uint8_t)digits[p[2] & 63];
    }
    if (left > 0) {
        unsigned second = left == 2 ? p[1] : 0;
        *to++ = (uint8_t)digits[p[0] >> 2];
        *to++ = (uint8_t)digits[(unsigned)(p[0] & 3) << 4 | second >> 4];
        *to++ = left == 2 ? (uint8_t)digits[(second & 15) << 2] : '=';
        *to++ = '=';
    }
    out->len = (size_t)(to - out->data);
}

bool base64url_decode(struct slice text, struct buf *out)
{
    uint32_t bits = 0;
    unsigned count = 0;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        unsigned weight = c == '-' ? 62 : c == '_' ? 63 : c == '+' || c == '/' ? 64 : weights[c];
        if (weight == 64) return false;
        bits = bits << 6 | weight;
        count += 6;
        if (count >= 8) {
            count -= 8;
            buf_append_byte(out, (uint8_t)(bits >> count));
        }
    }
    return count < 6 && (bits & ((1u << count) - 1)) == 0;
}

void base64url_encode(struct slice bytes, struct buf *out)
{
    size_t from = out->len;
    base64_encode(bytes, out);
    while (out->len > from && out->data[out->len - 1] == '=') out->len--;
    for (size_t i = from; i < out->len; i++) {
        if (out->data[i] == '+') out->data[i] = '-';
        if (out->data[i] == '/') out->data[i] = '_';
    }
}
