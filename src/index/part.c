/* part: a stored value as a part of an index row's key (rows.h): memcmp orders parts by type, then
 * by value. Numbers of all types are one type here: what a filter finds equal has equal parts.
 */
#include <math.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "codec/bigint.h"
#include "codec/date.h"
#include "codec/pack.h"
#include "codec/value.h"
#include "index/index_int.h"

enum number_class {
    NUMBER_MINUS_INFINITY,
    NUMBER_NEGATIVE,
    NUMBER_ZERO,
    NUMBER_POSITIVE,
    NUMBER_INFINITY,
};

enum body_end { BODY_WHOLE = 0x01, BODY_CUT = 0x02, BODY_ZERO = 0xff };

#define EXPONENT_BYTES 4
#define EXPONENT_BIAS (UINT32_C(1) << 31)
#define HASH_BYTES 16
#define DOUBLE_BITS 53

static void add_body(struct buf *out, struct slice bytes)
{
    bool is_cut = bytes.len > INDEX_BODY_BYTES;
    size_t len = is_cut ? INDEX_BODY_BYTES : bytes.len;
    for (size_t i = 0; i < len; i++) {
        buf_append_byte(out, bytes.data[i]);
        if (bytes.data[i] == 0) buf_append_byte(out, BODY_ZERO);
    }
    buf_append_byte(out, 0);
    buf_append_byte(out, is_cut ? BODY_CUT : BODY_WHOLE);
    if (!is_cut) return;
    XXH128_canonical_t hash;
    XXH128_canonicalFromHash(&hash, XXH3_128bits(bytes.data, bytes.len));
    buf_append(out, hash.digest, HASH_BYTES);
}

/* ---- numbers ---- */

/* 0.bits * 2^exponent, bits without leading zeros. */
static void add_finite(struct buf *out, bool is_negative, uint32_t exponent, struct slice bits)
{
    while (bits.len > 0 && bits.data[bits.len - 1] == 0) bits.len--;
    buf_append_byte(out, PART_NUMBER);
    buf_append_byte(out, is_negative ? NUMBER_NEGATIVE : NUMBER_POSITIVE);
    size_t from = out->len;
    uint8_t biased[EXPONENT_BYTES];
    put_u32(biased, exponent + EXPONENT_BIAS);
    buf_append(out, biased, sizeof biased);
    add_body(out, bits);
    if (!is_negative || out->is_failed) return;
    for (size_t i = from; i < out->len; i++) out->data[i] = (uint8_t)~out->data[i];
}

static void add_class(struct buf *out, enum number_class class)
{
    buf_append_byte(out, PART_NUMBER);
    buf_append_byte(out, (uint8_t) class);
}

/* `top` has its highest bit set, unless it is zero: the value is 0.top * 2^exponent. */
static void add_top(struct buf *out, bool is_negative, uint32_t exponent, uint64_t top)
{
    if (top == 0) {
        add_class(out, NUMBER_ZERO);
        return;
    }
    uint8_t big[8];
    put_u64(big, top);
    add_finite(out, is_negative, exponent, slice_of(big, sizeof big));
}

static void add_integer(struct buf *out, bool is_negative, uint64_t magnitude)
{
    unsigned zeros = magnitude == 0 ? 0 : (unsigned)__builtin_clzll(magnitude);
    add_top(out, is_negative, 64 - zeros, magnitude << zeros);
}

static bool add_double(struct buf *out, double d)
{
    if (isnan(d)) return false;
    if (isinf(d)) {
        add_class(out, d < 0 ? NUMBER_MINUS_INFINITY : NUMBER_INFINITY);
        return true;
    }
    int exponent = 0;
    double fraction = frexp(fabs(d), &exponent);
    double scaled = ldexp(fraction, DOUBLE_BITS); /* an integer */
    uint64_t top = (uint64_t)scaled << (64 - DOUBLE_BITS);
    add_top(out, d < 0, (uint32_t)exponent, top);
    return true;
}

/* Of a bigint, any size. */
static void add_twos(struct buf *out, struct slice twos)
{
    bool is_negative = false;
    uint8_t *bits = mem_alloc(twos.len);
    size_t len = bigint_from_twos(twos, &is_negative, bits);
    if (len == 0) {
        add_class(out, NUMBER_ZERO);
        mem_free(bits);
        return;
    }
    unsigned zeros = (unsigned)__builtin_clz(bits[0]) - 24;
    for (size_t i = 0; zeros > 0 && i < len; i++) {
        unsigned next = i + 1 < len ? bits[i + 1] : 0;
        unsigned byte = bits[i];
        bits[i] = (uint8_t)(byte << zeros | next >> (8 - zeros));
    }
    add_finite(out, is_negative, (uint32_t)(len * 8) - zeros, slice_of(bits, len));
    mem_free(bits);
}

/* ---- all types ---- */

static void add_text(struct buf *out, enum part_tag tag, struct slice bytes)
{
    buf_append_byte(out, (uint8_t)tag);
    add_body(out, bytes);
}

static bool add_date(struct buf *out, struct slice body)
{
    int64_t ms = 0;
    bool is_invalid = false;
    if (!date_from_ext(body, &ms, &is_invalid) || is_invalid) return false;
    uint8_t big[8];
    put_u64(big, (uint64_t)ms ^ (UINT64_C(1) << 63));
    buf_append_byte(out, PART_DATE);
    buf_append(out, big, sizeof big);
    return true;
}

static bool add_ext(struct buf *out, const struct pack_item *item)
{
    switch (item->ext) {
    case EXT_DATE: return add_date(out, item->body);
    case EXT_BIGINT: add_twos(out, item->body); return true;
    case EXT_U64: add_integer(out, false, get_u64(item->body.data)); return true;
    default: return false;
    }
}

bool index_part(struct slice value, struct buf *out)
{
    const uint8_t *at = value.data;
    struct pack_item item;
    if (pack_read(&at, value.data + value.len, &item) != PACK_OK) return false;
    switch (item.type) {
    case PACK_BOOL: buf_append_byte(out, item.boolean ? PART_TRUE : PART_FALSE); return true;
    case PACK_UINT: add_integer(out, false, item.u); return true;
    case PACK_INT: add_integer(out, true, -(uint64_t)item.i); return true;
    case PACK_FLOAT: return add_double(out, item.f);
    case PACK_STR: add_text(out, PART_STRING, item.body); return true;
    case PACK_BIN: add_text(out, PART_BYTES, item.body); return true;
    case PACK_EXT: return add_ext(out, &item);
    default: return false;
    }
}

/* ---- reading ---- */

/* After a body; `flip` is ff in a negative number, where every byte is inverted. 0 = no end. */
static size_t body_end(struct slice key, size_t at, uint8_t flip)
{
    for (; at + 1 < key.len; at++) {
        if ((key.data[at] ^ flip) != 0) continue;
        uint8_t next = key.data[++at] ^ flip;
        if (next == BODY_ZERO) continue;
        size_t end = at + 1 + (next == BODY_CUT ? HASH_BYTES : 0);
        return end <= key.len ? end : 0;
    }
    return 0;
}

static size_t number_end(struct slice key, size_t at)
{
    if (at >= key.len) return 0;
    uint8_t class = key.data[at];
    if (class != NUMBER_NEGATIVE && class != NUMBER_POSITIVE) return at + 1;
    return body_end(key, at + 1 + EXPONENT_BYTES, class == NUMBER_NEGATIVE ? 0xff : 0);
}

size_t index_part_end(struct slice key, size_t at)
{
    if (at >= key.len) return 0;
    switch (key.data[at]) {
    case PART_BYTES:
    case PART_STRING: return body_end(key, at + 1, 0);
    case PART_NUMBER: return number_end(key, at + 1);
    case PART_DATE: return at + 1 + sizeof(uint64_t) <= key.len ? at + 1 + sizeof(uint64_t) : 0;
    case PART_FALSE:
    case PART_TRUE: return at + 1;
    default: return 0;
    }
}

void index_part_type(struct slice part, uint8_t *low, uint8_t *high)
{
    bool is_boolean = part.data[0] == PART_FALSE || part.data[0] == PART_TRUE;
    *low = is_boolean ? PART_FALSE : part.data[0];
    *high = is_boolean ? PART_TRUE + 1 : (uint8_t)(part.data[0] + 1);
}
