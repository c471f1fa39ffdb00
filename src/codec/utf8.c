/* utf8: ASCII in words of eight bytes, all else one sequence at a time: the second byte alone tells
 * overlong forms, surrogates and what is too large. */
#include "codec/utf8.h"

unsigned utf8_step(const uint8_t *p, size_t left)
{
    uint8_t c = left > 0 ? p[0] : 0xff;
    if (c < 0x80) return 1;
    if (c < 0xc2 || c > 0xf4) return 0;
    unsigned need = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    if (left < need) return 0;
    /* The second byte carries all the odd rules: shortest form, surrogates, the upper end. */
    uint8_t lo = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    uint8_t hi = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < lo || p[1] > hi) return 0;
    for (unsigned i = 2; i < need; i++) {
        if ((p[i] & 0xc0) != 0x80) return 0;
    }
    return need;
}

/* Most text is short and ASCII: whole words, the last one overlapping those before it. */
static bool is_ascii(const uint8_t *p, size_t len)
{
    uint64_t word, last, all = 0;
    if (len < 8) {
        for (size_t i = 0; i < len; i++) all |= p[i];
        return all < 0x80;
    }
    memcpy(&last, p + len - 8, 8);
    for (size_t i = 0; i + 8 < len; i += 8) {
        memcpy(&word, p + i, 8);
        all |= word;
    }
    return ((all | last) & UINT64_C(0x8080808080808080)) == 0;
}

size_t utf8_valid_bytes(struct slice s)
{
    size_t at = 0;
    if (s.len <= 64 && is_ascii(s.data, s.len)) return s.len;
    while (at < s.len) {
        if (s.len - at >= 8) {
            uint64_t word;
            memcpy(&word, s.data + at, 8);
            if ((word & UINT64_C(0x8080808080808080)) == 0) {
                at += 8;
                continue;
            }
        }
        unsigned step = utf8_step(s.data + at, s.len - at);
        if (step == 0) return at;
        at += step;
    }
    return at;
}

unsigned utf8_encode(uint32_t code, uint8_t out[4])
{
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (uint8_t)(0xc0 | (code >> 6));
        out[1] = (uint8_t)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (uint8_t)(0xe0 | (code >> 12));
        out[1] = (uint8_t)(0x80 | ((code >> 6) & 0x3f));
        out[2] = (uint8_t)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (uint8_t)(0xf0 | (code >> 18));
    out[1] = (uint8_t)(0x80 | ((code >> 12) & 0x3f));
    out[2] = (uint8_t)(0x80 | ((code >> 6) & 0x3f));
    out[3] = (uint8_t)(0x80 | (code & 0x3f));
    return 4;
}
