/* json_bytes: looking for the bytes of a text that JSON does not take as they are, 8 or 16 at once.
 */
#ifndef CODEC_JSON_BYTES_H
#define CODEC_JSON_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define JSON_EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (b))

/* Lowest set bit: the high bit of the first byte that is '"', '\\' or a control character. Bytes
 * above it may be marked wrongly (a borrow runs upwards), never the first. */
static inline uint64_t json_special_bytes(uint64_t word)
{
    uint64_t quote = word ^ JSON_EACH_BYTE('"'), slash = word ^ JSON_EACH_BYTE('\\');
    uint64_t marks = ((quote - JSON_EACH_BYTE(1)) & ~quote) |
                     ((slash - JSON_EACH_BYTE(1)) & ~slash) |
                     ((word - JSON_EACH_BYTE(0x20)) & ~word);
    return marks & JSON_EACH_BYTE(0x80);
}

#ifdef __SSE2__

/* Bit i: byte i of the 16 is one of those; with `ascii_only` also one above 0x7f. */
static inline unsigned json_special_of_16(__m128i bytes, bool ascii_only)
{
    const __m128i space = _mm_set1_epi8(0x20);
    __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
    __m128i slash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    __m128i printed = _mm_cmpeq_epi8(_mm_max_epu8(bytes, space), bytes);
    unsigned marks = (unsigned)_mm_movemask_epi8(_mm_or_si128(quote, slash));
    marks |= (unsigned)_mm_movemask_epi8(printed) ^ 0xffffu;
    if (ascii_only) marks |= (unsigned)_mm_movemask_epi8(bytes);
    return marks;
}

#define JSON_HAS_16_AT_ONCE 1
#else
#define JSON_HAS_16_AT_ONCE 0
#endif

/* First byte that a string writer or reader has to look at: '"', '\\', control; with `ascii_only`
 * also anything above 0x7f. */
static inline __attribute__((always_inline)) const uint8_t *json_skip_plain(const uint8_t *p,
                                                                            const uint8_t *end,
                                                                            bool ascii_only)
{
#if JSON_HAS_16_AT_ONCE
    for (; end - p >= 16; p += 16) {
        unsigned marks = json_special_of_16(_mm_loadu_si128((const __m128i_u *)p), ascii_only);
        if (marks != 0) return p + __builtin_ctz(marks);
    }
#endif
    while (end - p >= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        uint64_t marks = json_special_bytes(word);
        if (ascii_only) marks |= word & JSON_EACH_BYTE(0x80);
        if (marks != 0) return p + __builtin_ctzll(marks) / 8;
        p += 8;
    }
    while (p < end && *p >= 0x20 && *p != '"' && *p != '\\' && !(ascii_only && *p >= 0x80)) p++;
    return p;
}

/* Copies a text of 8 to 16 bytes, as two words that may overlap. True: nothing is to be escaped. */
static inline bool json_copy_16(uint8_t *to, const uint8_t *p, size_t len)
{
    uint64_t low, high;
    memcpy(&low, p, 8);
    memcpy(&high, p + len - 8, 8);
    memcpy(to, &low, 8);
    memcpy(to + len - 8, &high, 8);
#if JSON_HAS_16_AT_ONCE
    return json_special_of_16(_mm_set_epi64x((long long)high, (long long)low), false) == 0;
#else
    return (json_special_bytes(low) | json_special_bytes(high)) == 0;
#endif
}

/* Copies a text of up to 7 bytes; true when it has nothing to escape. */
static inline bool json_copy_7(uint8_t *to, const uint8_t *p, size_t len)
{
    if (len >= 4) {
        uint32_t low, high;
        memcpy(&low, p, 4);
        memcpy(&high, p + len - 4, 4);
        memcpy(to, &low, 4);
        memcpy(to + len - 4, &high, 4);
        return json_special_bytes((uint64_t)high << 32 | low) == 0;
    }
    if (len == 0) return true;
    uint8_t first = p[0], middle = p[len / 2], last = p[len - 1];
    to[0] = first;
    to[len / 2] = middle;
    to[len - 1] = last;
    return json_special_bytes(JSON_EACH_BYTE('a') << 24 | (uint64_t)last << 16 |
                              (uint64_t)middle << 8 | first) == 0;
}

/* Copies a text; true when it has nothing to escape: else what is at `to` means nothing. */
static inline bool json_copy_plain(uint8_t *to, const uint8_t *p, size_t len)
{
    if (len < 8) return json_copy_7(to, p, len);
    for (; len > 16; p += 8, to += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        if (json_special_bytes(word) != 0) return false;
        memcpy(to, &word, 8);
    }
    return json_copy_16(to, p, len);
}

#endif
