#include "codec/bigint.h"

#include "codec/number.h"

#define LIMBS (BIGINT_DECIMAL_BYTES / 4)

bool bigint_from_decimal(struct slice digits, uint8_t *out, size_t *len)
{
    if (digits.len == 0) return false;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9') return false;
    }
    while (digits.len > 0 && digits.data[0] == '0') {
        digits = slice_of(digits.data + 1, digits.len - 1);
    }
    if (digits.len > BIGINT_DECIMAL_DIGITS) return false;
    uint32_t limbs[LIMBS]; /* little-endian */
    size_t used = 0;
    for (size_t at = 0; at < digits.len;) {
        /* nine digits at a time; the odd ones first */
        size_t take = (digits.len - at) % 9 == 0 ? 9 : (digits.len - at) % 9;
        uint32_t scale = 1, chunk = 0;
        for (size_t i = 0; i < take; i++, at++) {
            scale *= 10;
            chunk = chunk * 10 + (uint32_t)(digits.data[at] - '0');
        }
        uint64_t carry = chunk;
        for (size_t i = 0; i < used; i++) {
            carry += (uint64_t)limbs[i] * scale;
            limbs[i] = (uint32_t)carry;
            carry >>= 32;
        }
        if (carry > 0) {
            if (used == LIMBS) return false;
            limbs[used++] = (uint32_t)carry;
        }
    }
    size_t n = 0;
    for (size_t i = used; i-- > 0;) {
        for (int shift = 24; shift >= 0; shift -= 8) {
            uint8_t byte = (uint8_t)(limbs[i] >> shift);
            if (n > 0 || byte > 0) out[n++] = byte;
        }
    }
    *len = n;
    return true;
}

size_t bigint_to_decimal(struct slice magnitude, char *out)
{
    INVARIANT(magnitude.len <= BIGINT_DECIMAL_BYTES);
    uint32_t limbs[LIMBS]; /* big-endian */
    size_t used = (magnitude.len + 3) / 4;
    size_t at = 0;
    for (size_t i = 0; i < used; i++) {
        size_t take = i == 0 && magnitude.len % 4 != 0 ? magnitude.len % 4 : 4;
        uint32_t limb = 0;
        while (take-- > 0) limb = limb << 8 | magnitude.data[at++];
        limbs[i] = limb;
    }
    char text[BIGINT_DECIMAL_DIGITS + 9];
    size_t top = sizeof text;
    for (size_t first = 0; first < used;) {
        uint64_t rest = 0;
        for (size_t i = first; i < used; i++) {
            rest = rest << 32 | limbs[i];
            limbs[i] = (uint32_t)(rest / 1000000000);
            rest %= 1000000000;
        }
        while (first < used && limbs[first] == 0) first++;
        for (int i = 0; i < 9; i++, rest /= 10) {
            if (rest == 0 && first == used) break;
            text[--top] = (char)('0' + rest % 10);
        }
    }
    if (top == sizeof text) text[--top] = '0';
    memcpy(out, text + top, sizeof text - top);
    return sizeof text - top;
}

/* Negates two's complement in place: all bits inverted, plus one. */
static void negate(uint8_t *bytes, size_t len)
{
    unsigned carry = 1;
    for (size_t i = len; i-- > 0;) {
        carry += (uint8_t)~bytes[i];
        bytes[i] = (uint8_t)carry;
        carry >>= 8;
    }
}

size_t bigint_to_twos(bool is_negative, struct slice magnitude, uint8_t *out)
{
    out[0] = 0;
    if (magnitude.len > 0) memcpy(out + 1, magnitude.data, magnitude.len);
    size_t len = magnitude.len + 1;
    if (is_negative) negate(out, len);
    /* The leading byte is needed only when the next one has the wrong sign bit. */
    if (len > 1 && (out[0] >> 7) == (out[1] >> 7) && (out[0] == 0 || out[0] == 0xff)) {
        memmove(out, out + 1, --len);
    }
    return len;
}

size_t bigint_from_twos(struct slice twos, bool *is_negative, uint8_t *out)
{
    memcpy(out, twos.data, twos.len);
    *is_negative = twos.data[0] >= 0x80;
    if (*is_negative) negate(out, twos.len);
    size_t zeros = 0;
    while (zeros < twos.len && out[zeros] == 0) zeros++;
    memmove(out, out + zeros, twos.len - zeros);
    return twos.len - zeros;
}

static void to_hex(struct slice twos, struct buf *out)
{
    size_t last = twos.len; /* of the bytes that are not zero; -x is ~x before it, -x at it */
    while (last > 0 && twos.data[last - 1] == 0) last--;
    bool is_negative = twos.data[0] >= 0x80;
    buf_append_str(out, is_negative ? "-0x" : "0x");
    uint8_t *to = buf_reserve(out, twos.len * 2);
    if (to == NULL) return;
    bool has_begun = false;
    for (size_t i = 0; i < twos.len; i++) {
        uint8_t b = twos.data[i];
        if (is_negative && i + 1 == last) b = (uint8_t)(0 - b);
        if (is_negative && i + 1 < last) b = (uint8_t)~b;
        for (unsigned half = 0; half < 2; half++) {
            unsigned nibble = half == 0 ? b >> 4 : b & 15u;
            if (nibble == 0 && !has_begun) continue;
            has_begun = true;
            *to++ = (uint8_t) "0123456789abcdef"[nibble];
        }
    }
    out->len = (size_t)(to - out->data);
}

/* Without the bytes that only repeat the sign. */
static struct slice twos_minimal(struct slice twos)
{
    uint8_t fill = twos.data[0] >= 0x80 ? 0xff : 0;
    while (twos.len > 1 && twos.data[0] == fill && (twos.data[1] >> 7) == (fill >> 7)) {
        twos = slice_of(twos.data + 1, twos.len - 1);
    }
    return twos;
}

bool bigint_twos_is_literal(struct slice twos)
{
    twos = twos_minimal(twos);
    if (twos.len > 8) return twos.len <= BIGINT_DECIMAL_BYTES;
    uint64_t bits = twos.data[0] >= 0x80 ? UINT64_MAX : 0;
    for (size_t i = 0; i < twos.len; i++) bits = bits << 8 | twos.data[i];
    uint64_t magnitude = twos.data[0] >= 0x80 ? 0 - bits : bits;
    return magnitude > NUMBER_SAFE_MAX;
}

void bigint_twos_to_text(struct slice twos, struct buf *out)
{
    twos = twos_minimal(twos);
    uint8_t magnitude[BIGINT_DECIMAL_BYTES + 1];
    bool is_negative = false;
    size_t len = sizeof magnitude;
    if (twos.len <= sizeof magnitude) len = bigint_from_twos(twos, &is_negative, magnitude);
    if (len > BIGINT_DECIMAL_BYTES) {
        to_hex(twos, out);
        return;
    }
    uint8_t *to = buf_reserve(out, BIGINT_DECIMAL_DIGITS + 1);
    if (to == NULL) return;
    if (is_negative) *to++ = '-';
    to += bigint_to_decimal(slice_of(magnitude, len), (char *)to);
    out->len = (size_t)(to - out->data);
}

static unsigned hex_weight(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10u;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10u : 16;
}

static bool from_hex(bool is_negative, struct slice hex, struct buf *out)
{
    size_t bad = hex.len == 0 ? 1 : 0;
    for (size_t i = 0; i < hex.len; i++) bad += hex_weight(hex.data[i]) > 15;
    if (bad > 0) return false;
    while (hex.len > 0 && hex.data[0] == '0') hex = slice_of(hex.data + 1, hex.len - 1);
    size_t len = (hex.len + 1) / 2 + 1;
    uint8_t *to = buf_reserve(out, len);
    if (to == NULL) return true;
    uint8_t *p = to;
    *p++ = 0;
    size_t at = 0;
    if (hex.len % 2 != 0) *p++ = (uint8_t)hex_weight(hex.data[at++]);
    for (; at < hex.len; at += 2) {
        *p++ = (uint8_t)(hex_weight(hex.data[at]) << 4 | hex_weight(hex.data[at + 1]));
    }
    if (is_negative) negate(to, len);
    if (len > 1 && (to[0] >> 7) == (to[1] >> 7)) memmove(to, to + 1, --len);
    out->len += len;
    return true;
}

bool bigint_text_to_twos(struct slice text, struct buf *out, const char **why)
{
    *why = "a $bigint is decimal digits with an optional minus";
    bool is_negative = text.len > 0 && text.data[0] == '-';
    if (is_negative) text = slice_of(text.data + 1, text.len - 1);
    if (text.len > 2 && text.data[0] == '0' && text.data[1] == 'x') {
        return from_hex(is_negative, slice_of(text.data + 2, text.len - 2), out);
    }
    uint8_t magnitude[BIGINT_DECIMAL_BYTES];
    size_t len = 0;
    if (!bigint_from_decimal(text, magnitude, &len)) {
        if (text.len >= BIGINT_DECIMAL_DIGITS) {
            *why =
                "a decimal bigint has at most 1024 bytes (8192 bits); write {\"$bigint\":\"0x..\"}";
        }
        return false;
    }
    uint8_t *to = buf_reserve(out, len + 1);
    if (to != NULL) out->len += bigint_to_twos(is_negative, slice_of(magnitude, len), to);
    return true;
}
