/* value_plain_write: a plain stored value as JSON. */
#include "base/bytes.h"
#include "codec/json_bytes.h"
#include "codec/number.h"
#include "codec/value_plain.h"

/* The longest text of a byte that stands for a value by itself: "false" and a comma. */
#define GROWTH 6
/* Written beyond what counts, at most: a number is written in place. */
#define SLACK NUMBER_TEXT_BYTES

struct writer {
    const uint8_t *at;  /* in the value */
    const uint8_t *end; /* of it */
    uint8_t *to;        /* NULL: it is not plain */
    unsigned depth;
    bool is_cut; /* it ends too early */
};

static void write_item(struct writer *w);

static void refuse(struct writer *w)
{
    w->to = NULL;
}

static void write_word(struct writer *w, const char *word, size_t len)
{
    memcpy(w->to, word, len);
    w->to += len;
}

static inline bool has(const struct writer *w, size_t bytes)
{
    return (size_t)(w->end - w->at) >= bytes;
}

static inline void write_string(struct writer *w, size_t len)
{
    if (!has(w, len) || !json_copy_plain(w->to + 1, w->at, len)) {
        refuse(w);
        return;
    }
    *w->to = '"';
    w->to[len + 1] = '"';
    w->to += len + 2;
    w->at += len;
}

static inline void write_uint(struct writer *w, uint64_t u)
{
    if (u < 10) {
        *w->to++ = (uint8_t)('0' + u);
    } else {
        w->to += u64_format(u, (char *)w->to);
    }
}

/* Beyond that it is a bigint. */
static void write_large(struct writer *w, uint64_t u)
{
    if (u > NUMBER_SAFE_MAX) {
        refuse(w);
    } else {
        write_uint(w, u);
    }
}

/* Smallest encodings are below zero; others may be stored too. */
static void write_signed(struct writer *w, int64_t i)
{
    if (i < 0) *w->to++ = '-';
    write_uint(w, i < 0 ? 0 - (uint64_t)i : (uint64_t)i);
}

static void write_float(struct writer *w, double d)
{
    bool is_number = d - d == 0 && d != 0; /* finite; of both zeros the other way knows more */
    if (!is_number) {
        refuse(w);
        return;
    }
    w->to += number_format(d, (char *)w->to);
}

/* The big-endian number after a head. At the end of the value it is 0, and the value refused. */
static inline uint64_t take(struct writer *w, size_t bytes)
{
    if (!has(w, bytes)) {
        w->is_cut = true;
        return 0;
    }
    uint64_t n = get_uint(w->at, bytes);
    w->at += bytes;
    return n;
}

static void write_array(struct writer *w, size_t count)
{
    if (++w->depth > VALUE_PLAIN_DEPTH_MAX) {
        refuse(w);
        return;
    }
    *w->to++ = '[';
    for (size_t i = 0; i < count; i++) {
        if (i > 0) *w->to++ = ',';
        write_item(w);
        if (w->to == NULL) return;
    }
    *w->to++ = ']';
    w->depth--;
}

static void write_name(struct writer *w)
{
    if (!has(w, 1)) {
        refuse(w);
        return;
    }
    uint8_t head = *w->at++;
    if ((head & 0xe0) == 0xa0) {
        write_string(w, head & 31u);
    } else if (head == 0xd9) {
        write_string(w, (size_t)take(w, 1));
    } else {
        refuse(w); /* a Map, or a very long name */
    }
}

static void write_object(struct writer *w, size_t count)
{
    if (++w->depth > VALUE_PLAIN_DEPTH_MAX) {
        refuse(w);
        return;
    }
    *w->to++ = '{';
    for (size_t i = 0; i < count; i++) {
        if (i > 0) *w->to++ = ',';
        const uint8_t *first = w->to + 1;
        write_name(w);
        if (w->to == NULL) return;
        if (i == 0 && *first == '$') { /* it may be taken for a tag */
            refuse(w);
            return;
        }
        *w->to++ = ':';
        write_item(w);
        if (w->to == NULL) return;
    }
    *w->to++ = '}';
    w->depth--;
}

static void write_fraction(struct writer *w, uint8_t head)
{
    double d = 0;
    if (head == 0xca) {
        float f = 0;
        uint32_t bits = (uint32_t)take(w, 4);
        memcpy(&f, &bits, 4);
        d = (double)f;
    } else {
        uint64_t bits = take(w, 8);
        memcpy(&d, &bits, 8);
    }
    write_float(w, d);
}

/* An item whose head is 0xc0 or more. Bytes, extensions, negative
 * numbers of 8 bytes and lengths of 4 are not plain. */
static void write_other(struct writer *w, uint8_t head)
{
    switch (head) {
    case 0xc0: write_word(w, "null", 4); break;
    case 0xc2: write_word(w, "false", 5); break;
    case 0xc3: write_word(w, "true", 4); break;
    case 0xca:
    case 0xcb: write_fraction(w, head); break;
    case 0xcc: write_uint(w, take(w, 1)); break;
    case 0xcd: write_uint(w, take(w, 2)); break;
    case 0xce: write_uint(w, take(w, 4)); break;
    case 0xcf: write_large(w, take(w, 8)); break;
    case 0xd0: write_signed(w, (int8_t)take(w, 1)); break;
    case 0xd1: write_signed(w, (int16_t)take(w, 2)); break;
    case 0xd2: write_signed(w, (int32_t)take(w, 4)); break;
    case 0xd9: write_string(w, (size_t)take(w, 1)); break;
    case 0xda: write_string(w, (size_t)take(w, 2)); break;
    case 0xdc: write_array(w, (size_t)take(w, 2)); break;
    case 0xde: write_object(w, (size_t)take(w, 2)); break;
    default:
        if (head >= 0xe0) {
            write_signed(w, (int8_t)head);
        } else {
            refuse(w);
        }
    }
}

static void write_item(struct writer *w)
{
    if (!has(w, 1)) {
        refuse(w);
        return;
    }
    uint8_t head = *w->at++;
    if (head < 0x80) {
        write_uint(w, head);
    } else if (head < 0x90) {
        write_object(w, head & 15u);
    } else if (head < 0xa0) {
        write_array(w, head & 15u);
    } else if (head < 0xc0) {
        write_string(w, head & 31u);
    } else {
        write_other(w, head);
    }
}

bool value_plain_to_json(struct slice bytes, struct buf *out)
{
    if (bytes.len == 0 || bytes.len > VALUE_PLAIN_BYTES_MAX) return false;
    uint8_t *from = buf_reserve(out, bytes.len * GROWTH + SLACK);
    if (from == NULL) return false;
    struct writer w = {.at = bytes.data, .end = bytes.data + bytes.len, .to = from};
    write_item(&w);
    if (w.to == NULL || w.is_cut) return false;
    out->len += (size_t)(w.to - from);
    return true;
}
