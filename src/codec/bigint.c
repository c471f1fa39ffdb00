/* bigint: decimal text in chunks of 19 digits against limbs of 64 bits. To text, four divisions by
 * 10^19 run behind one another over the limbs, so that the processor overlaps them; hexadecimal
 * goes byte by byte. */
#include "codec/bigint.h"

#include "base/bytes.h"
#include "codec/number.h"

#define LIMBS (BIGINT_DECIMAL_BYTES / 8)

/* Decimal digits go 19 at a time, as many as 64 bits hold. */
#define CHUNK_DIGITS 19
#define CHUNK UINT64_C(10000000000000000000)

/* limbs * scale + more; false when there is no room. Little-endian. */
static bool multiply_add(uint64_t *limbs, size_t *used, uint64_t scale, uint64_t more)
{
    unsigned __int128 carry = more;
    for (size_t i = 0; i < *used; i++) {
        carry += (unsigned __int128)limbs[i] * scale;
        limbs[i] = (uint64_t)carry;
        carry >>= 64;
    }
    if (carry == 0) return true;
    if (*used == LIMBS) return false;
    limbs[(*used)++] = (uint64_t)carry;
    return true;
}

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
    uint64_t limbs[LIMBS]; /* little-endian */
    size_t used = 0;
    for (size_t at = 0; at < digits.len;) {
        size_t take = (digits.len - at) % CHUNK_DIGITS; /* the odd ones first */
        if (take == 0) take = CHUNK_DIGITS;
        uint64_t scale = 1, chunk = 0;
        for (size_t i = 0; i < take; i++, at++) {
            scale *= 10;
            chunk = chunk * 10 + (uint64_t)(digits.data[at] - '0');
        }
        if (!multiply_add(limbs, &used, scale, chunk)) return false;
    }
    size_t n = 0;
    for (size_t i = used; i-- > 0;) {
        for (int shift = 56; shift >= 0; shift -= 8) {
            uint8_t byte = (uint8_t)(limbs[i] >> shift);
            if (n > 0 || byte > 0) out[n++] = byte;
        }
    }
    *len = n;
    return true;
}

/* (*rest * 2^64 + limb) / CHUNK; the rest stays, and is less than CHUNK before and after. Niels
 * Moeller and Torbjoern Granlund, "Improved division by invariant integers": the quotient is
 * guessed by multiplying with the inverse, and is wrong by one at most, which two comparisons find.
 * The processor's own division takes several times as long. */
static inline uint64_t divide_by_chunk(uint64_t *rest, uint64_t limb)
{
    const uint64_t inverse = (uint64_t)(~(unsigned __int128)0 / CHUNK); /* less 2^64 */
    unsigned __int128 guess = (unsigned __int128)inverse * *rest;
    guess += (unsigned __int128)*rest << 64 | limb;
    uint64_t quotient = (uint64_t)(guess >> 64) + 1;
    uint64_t left = limb - quotient * CHUNK;
    uint64_t is_over = left > (uint64_t)guess ? UINT64_MAX : 0; /* as often as not: no branch */
    quotient += is_over;
    left += CHUNK & is_over;
    if (left >= CHUNK) {
        quotient++;
        left -= CHUNK;
    }
    *rest = left;
    return quotient;
}

/* So many divisions follow one another on each limb: while one waits for its rest of the limb
 * before, the processor does the others. */
#define PASSES 4

/* Divides by CHUNK once; the rest. Big-endian. */
static uint64_t divide(uint64_t *limbs, size_t count)
{
    uint64_t rest = 0;
    for (size_t i = 0; i < count; i++) limbs[i] = divide_by_chunk(&rest, limbs[i]);
    return rest;
}

/* PASSES times; the rests, the first first. */
static void divide_more(uint64_t *limbs, size_t count, uint64_t rests[static PASSES])
{
    uint64_t a = 0, b = 0, c = 0, d = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t limb = divide_by_chunk(&a, limbs[i]);
        limb = divide_by_chunk(&b, limb);
        limb = divide_by_chunk(&c, limb);
        limbs[i] = divide_by_chunk(&d, limb);
    }
    rests[0] = a;
    rests[1] = b;
    rests[2] = c;
    rests[3] = d;
}

/* Puts the digits of a rest, with its zeros, before `end`. */
static char *put_chunk(uint64_t rest, char *end)
{
    char digits[20];
    size_t n = u64_format(rest, digits);
    memset(end - CHUNK_DIGITS, '0', CHUNK_DIGITS);
    memcpy(end - n, digits, n);
    return end - CHUNK_DIGITS;
}

size_t bigint_to_decimal(struct slice magnitude, char *out)
{
    INVARIANT(magnitude.len <= BIGINT_DECIMAL_BYTES);
    uint64_t limbs[LIMBS]; /* big-endian */
    size_t used = (magnitude.len + 7) / 8;
    size_t at = 0;
    for (size_t i = 0; i < used; i++) {
        size_t take = i == 0 && magnitude.len % 8 != 0 ? magnitude.len % 8 : 8;
        limbs[i] = get_uint(magnitude.data + at, take);
        at += take;
    }
    char text[BIGINT_DECIMAL_DIGITS + (PASSES + 1) * CHUNK_DIGITS];
    char *end = text + sizeof text, *top = end;
    for (size_t first = 0; first < used;) {
        uint64_t rests[PASSES];
        size_t count = used - first, passes = count > PASSES ? PASSES : 1;
        if (passes == PASSES) {
            divide_more(limbs + first, count, rests);
        } else {
            rests[0] = divide(limbs + first, count);
        }
        for (size_t s = 0; s < passes; s++) top = put_chunk(rests[s], top);
        while (first < used && limbs[first] == 0) first++;
    }
    while (top < end && *top == '0') top++;
    if (top == end) *--top = '0';
    memcpy(out, top, (size_t)(end - top));
    return (size_t)(end - top);
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
    *why = "$bigint must be decimal digits with an optional minus sign";
    bool is_negative = text.len > 0 && text.data[0] == '-';
    if (is_negative) text = slice_of(text.data + 1, text.len - 1);
    if (text.len > 2 && text.data[0] == '0' && text.data[1] == 'x') {
        return from_hex(is_negative, slice_of(text.data + 2, text.len - 2), out);
    }
    uint8_t magnitude[BIGINT_DECIMAL_BYTES];
    size_t len = 0;
    if (!bigint_from_decimal(text, magnitude, &len)) {
        if (text.len >= BIGINT_DECIMAL_DIGITS) {
            *why = "a decimal bigint may have at most 1024 bytes (8192 bits); write "
                   "{\"$bigint\":\"0x..\"}";
        }
        return false;
    }
    uint8_t *to = buf_reserve(out, len + 1);
    if (to != NULL) out->len += bigint_to_twos(is_negative, slice_of(magnitude, len), to);
    return true;
}
