/* stored: reading one value, skipping one, comparing two. Integers below 2^64 of whatever encoding
 * become one kind, so numbers need few cases; a bigint and a double are compared exactly, without
 * rounding either. */
#include "filter/stored_int.h"

#include <math.h>

#include "base/bytes.h"
#include "codec/bigint.h"
#include "codec/date.h"
#include "codec/pack.h"

#define TWO_TO_64 18446744073709551616.0

/* What is not well-formed is opaque, like a reference. */
static const uint8_t *read_bad(struct stored *s, const uint8_t *end)
{
    s->kind = STORED_REF;
    s->u = 0;
    return end;
}

static void set_integer(struct stored *s, bool is_negative, uint64_t magnitude)
{
    s->kind = STORED_INTEGER;
    s->is_negative = is_negative && magnitude != 0; /* -0.0 is 0 */
    s->u = magnitude;
}

static void set_double(struct stored *s, double d)
{
    double size = fabs(d);
    if (size < TWO_TO_64 && trunc(size) == size) {
        set_integer(s, d < 0, (uint64_t)size);
        return;
    }
    s->kind = isnan(d) ? STORED_NAN : STORED_DOUBLE;
    s->d = d;
}

static void set_bigint(struct stored *s, struct slice twos)
{
    uint8_t fill = twos.data[0] >= 0x80 ? 0xff : 0;
    while (twos.len > 1 && twos.data[0] == fill && twos.data[1] >> 7 == fill >> 7) {
        twos = slice_of(twos.data + 1, twos.len - 1);
    }
    /* Below 2^64 in size: at most 8 bytes after a byte of nothing but sign. */
    bool is_short = twos.len <= 8 || (twos.len == 9 && twos.data[0] == fill);
    uint64_t u = fill == 0 ? 0 : UINT64_MAX;
    for (size_t i = 0; is_short && i < twos.len; i++) u = u << 8 | twos.data[i];
    if (is_short && (fill == 0 || u != 0)) { /* -(2^64) leaves 0 */
        set_integer(s, fill != 0, fill == 0 ? u : 0 - u);
        return;
    }
    s->kind = STORED_BIGINT;
    s->is_negative = fill != 0;
    s->body = twos;
}

static void set_date(struct stored *s, struct slice body)
{
    bool is_invalid = false;
    int64_t ms = 0;
    bool is_date = date_from_ext(body, &ms, &is_invalid) && !is_invalid;
    s->kind = is_date ? STORED_DATE : STORED_NO_DATE;
    s->ms = ms;
}

static const uint8_t *read_container(struct stored *s, enum stored_kind kind, struct slice payload)
{
    const uint8_t *at = payload.data, *end = at + payload.len;
    struct pack_item head;
    if (pack_read(&at, end, &head) != PACK_OK) return read_bad(s, end);
    if (head.type != PACK_ARRAY && head.type != PACK_MAP) return read_bad(s, end);
    s->kind = kind;
    s->count = kind == STORED_MAP ? head.count / 2 : head.count;
    s->body = slice_of(at, (size_t)(end - at));
    return at;
}

/* [id, value]: what is in it. It can hold another one, as deep as values go. */
static const uint8_t *read_shared(struct stored *s, struct slice payload)
{
    const uint8_t *at = payload.data, *end = at + payload.len;
    struct pack_item item;
    for (int i = 0; i < 2; i++) {
        if (pack_read(&at, end, &item) != PACK_OK) return read_bad(s, end);
    }
    return stored_read(at, end, s);
}

/* A string, and the same as a number. */
static const uint8_t *read_field(struct stored *s, struct slice body, const uint8_t *next)
{
    const uint8_t *at = body.data;
    struct pack_item text;
    bool is_good = pack_read(&at, next, &text) == PACK_OK && text.type == PACK_STR;
    if (!is_good) return read_bad(s, next);
    s->kind = STORED_STRING;
    s->body = text.body;
    s->count = (uint32_t)(next - at);
    return next;
}

bool stored_number_of(const struct stored *s, struct stored *number)
{
    if (s->kind != STORED_STRING || s->count == 0) return false;
    const uint8_t *at = s->body.data + s->body.len;
    (void)stored_read(at, at + s->count, number);
    return stored_is_number(number->kind);
}

static const uint8_t *read_ext(struct stored *s, const struct pack_item *item, const uint8_t *next)
{
    struct slice body = item->body;
    const uint8_t *at = body.data;
    struct pack_item id;
    s->body = body;
    switch (item->ext) {
    case EXT_UNDEFINED: s->kind = STORED_NULL; return next;
    case EXT_DATE: set_date(s, body); return next;
    case EXT_BIGINT:
        if (body.len == 0) return read_bad(s, next);
        set_bigint(s, body);
        return next;
    case EXT_U64: set_integer(s, false, get_uint(body.data, body.len)); return next;
    case EXT_TYPED: s->kind = STORED_TYPED; return next;
    case EXT_COLLECTION: /* as opaque as V8's own */
    case EXT_V8: s->kind = STORED_V8; return next;
    case EXT_SET: return read_container(s, STORED_SET, body);
    case EXT_MAP: return read_container(s, STORED_MAP, body);
    case EXT_ERROR: return read_container(s, STORED_ERROR, body);
    case EXT_REGEXP: return read_container(s, STORED_REGEXP, body);
    case EXT_ID: return read_shared(s, body);
    case EXT_FIELD: return read_field(s, body, next);
    default:
        (void)read_bad(s, next);
        if (pack_read(&at, next, &id) == PACK_OK && id.type == PACK_UINT) s->u = id.u;
        return next;
    }
}

const uint8_t *stored_read(const uint8_t *at, const uint8_t *end, struct stored *s)
{
    struct pack_item item;
    *s = (struct stored){.body = {.data = at}};
    if (pack_read(&at, end, &item) != PACK_OK) return read_bad(s, end);
    switch (item.type) {
    case PACK_NIL: s->kind = STORED_NULL; break;
    case PACK_BOOL:
        s->kind = STORED_BOOL;
        s->u = item.boolean;
        break;
    case PACK_UINT: set_integer(s, false, item.u); break;
    case PACK_INT: set_integer(s, true, 0 - (uint64_t)item.i); break;
    case PACK_FLOAT: set_double(s, item.f); break;
    case PACK_STR:
    case PACK_BIN:
        s->kind = item.type == PACK_STR ? STORED_STRING : STORED_BYTES;
        s->body = item.body;
        break;
    case PACK_EXT: return read_ext(s, &item, at);
    case PACK_ARRAY:
    case PACK_MAP:
        s->kind = item.type == PACK_ARRAY ? STORED_ARRAY : STORED_OBJECT;
        s->count = item.count;
        s->body = slice_of(at, (size_t)(end - at));
        break;
    }
    return at;
}

/* Bytes of the item that begins with this byte; of arrays and maps, those of the head. 0: short
 * strings have their length in it; all others in the bytes that follow. */
static const uint8_t lengths[256] = {
    [0x00 ... 0x9f] = 1, [0xc0 ... 0xc3] = 1, [0xca] = 5,          [0xcb] = 9, [0xcc] = 2,
    [0xcd] = 3,          [0xce] = 5,          [0xcf] = 9,          [0xd0] = 2, [0xd1] = 3,
    [0xd2] = 5,          [0xd3] = 9,          [0xd4] = 3,          [0xd5] = 4, [0xd6] = 6,
    [0xd7] = 10,         [0xd8] = 18,         [0xe0 ... 0xff] = 1,
};

const uint8_t *stored_skip_slow(const uint8_t *at, const uint8_t *end)
{
    uint64_t pending = 1; /* values to come */
    while (pending > 0 && at < end) {
        uint8_t c = *at;
        size_t len = (c & 0xe0) == 0xa0 ? 1 + (c & 31u) : lengths[c];
        pending--;
        if (len == 0) {
            struct pack_item item;
            if (pack_read(&at, end, &item) != PACK_OK) return end;
            if (item.type == PACK_ARRAY) pending += item.count;
            if (item.type == PACK_MAP) pending += 2 * (uint64_t)item.count;
            continue;
        }
        if (len > (size_t)(end - at)) return end;
        if ((c & 0xe0) == 0x80) pending += c >= 0x90 ? c & 15u : 2 * (c & 15u);
        at += len;
    }
    return at;
}

/* Minimal two's complement of one sign: the longer is further from zero, and of one length the
 * order is that of the bytes. */
static int compare_twos(struct slice a, struct slice b)
{
    bool is_negative = a.data[0] >= 0x80;
    if (is_negative != (b.data[0] >= 0x80)) return is_negative ? -1 : 1;
    if (a.len == b.len) return slice_cmp(a, b);
    return (a.len < b.len) == is_negative ? 1 : -1;
}

/* d is finite, an integer (as all doubles of that size are) and at least 2^64 in size. */
static int compare_bigint_double(struct slice twos, double d)
{
    uint8_t magnitude[1024 / 8] = {0}, own[sizeof magnitude + 1];
    int exponent = 0;
    double fraction = frexp(fabs(d), &exponent); /* 0.5 <= fraction < 1 */
    fraction = ldexp(fraction, 64);              /* an integer */
    uint64_t digits = (uint64_t)fraction;
    size_t shift = (size_t)exponent - 64; /* 1 .. 960: |d| = digits * 2^shift */
    size_t last = sizeof magnitude - 1 - shift / 8;
    /* 64 bits at an offset of bits: 9 bytes, the lowest first. */
    unsigned rest = (unsigned)(shift % 8);
    uint8_t lowest = (uint8_t)(digits << rest);
    magnitude[last] = lowest;
    uint64_t above = rest == 0 ? digits >> 8 : digits >> (8 - rest);
    for (size_t i = 1; i <= 8 && i <= last; i++, above >>= 8) magnitude[last - i] = (uint8_t)above;
    size_t zeros = 0;
    while (magnitude[zeros] == 0) zeros++;
    struct slice minimal = slice_of(magnitude + zeros, sizeof magnitude - zeros);
    return compare_twos(twos, slice_of(own, bigint_to_twos(d < 0, minimal, own)));
}

/* d is no integer below 2^64, so never equal. */
static int compare_integer_double(const struct stored *a, double d)
{
    double size = fabs(d);
    if (size >= TWO_TO_64) return d > 0 ? -1 : 1;
    if (a->is_negative != (d < 0)) return a->is_negative ? -1 : 1;
    bool is_closer = a->u <= (uint64_t)size; /* to zero: what is cut off here makes |d| more */
    return is_closer == a->is_negative ? 1 : -1;
}

static int compare_numbers(const struct stored *a, const struct stored *b)
{
    if (a->kind > b->kind) return -compare_numbers(b, a);
    if (a->kind == STORED_INTEGER && b->kind == STORED_INTEGER) {
        if (a->is_negative != b->is_negative) return a->is_negative ? -1 : 1;
        if (a->u == b->u) return 0;
        return (a->u < b->u) == a->is_negative ? 1 : -1;
    }
    if (b->kind == STORED_DOUBLE) {
        if (a->kind == STORED_INTEGER) return compare_integer_double(a, b->d);
        return a->d < b->d ? -1 : a->d > b->d;
    }
    if (a->kind == STORED_BIGINT) return compare_twos(a->body, b->body);
    /* b is a bigint of 2^64 or more in size. */
    if (a->kind == STORED_INTEGER || fabs(a->d) < TWO_TO_64) return b->is_negative ? 1 : -1;
    if (isinf(a->d)) return a->d < 0 ? -1 : 1;
    return -compare_bigint_double(b->body, a->d);
}

int stored_compare(const struct stored *a, const struct stored *b)
{
    if (stored_is_number(a->kind) && stored_is_number(b->kind)) return compare_numbers(a, b);
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->kind == STORED_BOOL) return a->u < b->u ? -1 : a->u > b->u;
    if (a->kind == STORED_DATE) return a->ms < b->ms ? -1 : a->ms > b->ms;
    return slice_cmp(a->body, b->body);
}
