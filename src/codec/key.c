/* key: the stored form, its reader, and the MessagePack form. Formats in key.h.
 *
 * Invariants:
 * 1. One tuple has one encoding: bigints are minimal, NaN is canonical, so equal keys are equal
 * bytes.
 * 2. No encoding of a part is a prefix of another part's: `users` ends in 00, so a prefix of whole
 *    parts never covers half a string.
 */
#include "codec/key_int.h"

#include <math.h>

#include "base/bytes.h"
#include "codec/bigint.h"
#include "codec/number.h"
#include "codec/pack.h"
#include "codec/utf8.h"

enum {
    TAG_BYTES = 0x01,
    TAG_STRING = 0x02,
    TAG_BIGINT_LONG_NEGATIVE = 0x0b, /* length ^ ff, inverted magnitude */
    TAG_BIGINT_ZERO = 0x14,
    TAG_BIGINT_LONG = 0x1d, /* length, magnitude */
    TAG_NUMBER = 0x21,
    TAG_FALSE = 0x26,
    TAG_TRUE = 0x27
};

#define EXT_BIGINT 0x42
#define SIGN_BIT (UINT64_C(1) << 63)

void key_end_text(struct buf *out, size_t from)
{
    if (out->is_failed) return;
    size_t zeros = 0;
    for (size_t i = from; i < out->len; i++) {
        const uint8_t *zero = memchr(out->data + i, 0, out->len - i);
        if (zero == NULL) break;
        zeros++;
        i = (size_t)(zero - out->data);
    }
    if (buf_reserve(out, zeros + 1) == NULL) return;
    size_t to = out->len + zeros;
    out->data[to] = 0;
    size_t read = out->len;
    out->len = to + 1;
    while (to > read) { /* from the end, so that nothing unread is overwritten */
        uint8_t c = out->data[--read];
        if (c == 0) out->data[--to] = 0xff;
        out->data[--to] = c;
    }
}

void key_add_bytes(struct buf *out, struct slice bytes)
{
    buf_append_byte(out, TAG_BYTES);
    size_t from = out->len;
    buf_append(out, bytes.data, bytes.len);
    key_end_text(out, from);
}

void key_add_string(struct buf *out, struct slice utf8)
{
    buf_append_byte(out, TAG_STRING);
    size_t from = out->len;
    buf_append(out, utf8.data, utf8.len);
    key_end_text(out, from);
}

void key_add_bigint(struct buf *out, bool is_negative, struct slice magnitude)
{
    while (magnitude.len > 0 && magnitude.data[0] == 0) {
        magnitude = slice_of(magnitude.data + 1, magnitude.len - 1);
    }
    if (magnitude.len > KEY_BIGINT_BYTES_MAX) out->is_failed = true;
    uint8_t *to = buf_reserve(out, magnitude.len + 2);
    if (to == NULL) return;
    uint8_t flip = is_negative ? 0xff : 0;
    uint8_t n = (uint8_t)magnitude.len;
    if (n <= 8) {
        *to++ = (uint8_t)(is_negative ? TAG_BIGINT_ZERO - n : TAG_BIGINT_ZERO + n);
    } else {
        *to++ = is_negative ? TAG_BIGINT_LONG_NEGATIVE : TAG_BIGINT_LONG;
        *to++ = n ^ flip;
    }
    for (size_t i = 0; i < n; i++) *to++ = magnitude.data[i] ^ flip;
    out->len = (size_t)(to - out->data);
}

bool key_add_decimal(struct buf *out, bool is_negative, struct slice digits)
{
    while (digits.len > 1 && digits.data[0] == '0') {
        digits = slice_of(digits.data + 1, digits.len - 1);
    }
    if (digits.len > KEY_BIGINT_DIGITS_MAX) return false;
    uint8_t magnitude[BIGINT_DECIMAL_BYTES];
    size_t len = 0;
    if (!bigint_from_decimal(digits, magnitude, &len) || len > KEY_BIGINT_BYTES_MAX) return false;
    key_add_bigint(out, is_negative, slice_of(magnitude, len));
    return true;
}

void key_add_number(struct buf *out, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, 8);
    if (isnan(number)) bits = (bits & SIGN_BIT) | UINT64_C(0x7ff8000000000000);
    bits = (bits & SIGN_BIT) != 0 ? ~bits : bits ^ SIGN_BIT;
    uint8_t *to = buf_reserve(out, 9);
    if (to == NULL) return;
    to[0] = TAG_NUMBER;
    put_u64(to + 1, bits);
    out->len += 9;
}

void key_add_bool(struct buf *out, bool value)
{
    buf_append_byte(out, value ? TAG_TRUE : TAG_FALSE);
}

/* Bytes or string: up to the first 00 that no ff follows. */
static bool next_text(struct slice key, size_t *at, struct key_part *part)
{
    size_t from = *at;
    for (size_t i = from; i < key.len; i += 2) {
        const uint8_t *zero = memchr(key.data + i, 0, key.len - i);
        if (zero == NULL) return false;
        i = (size_t)(zero - key.data);
        if (i + 1 < key.len && key.data[i + 1] == 0xff) continue;
        part->bytes = slice_of(key.data + from, i - from);
        *at = i + 1;
        return true;
    }
    return false;
}

static bool next_bigint(uint8_t tag, struct slice key, size_t *at, struct key_part *part)
{
    part->type = KEY_BIGINT;
    part->is_negative = tag < TAG_BIGINT_ZERO;
    size_t n = part->is_negative ? (size_t)(TAG_BIGINT_ZERO - tag)
                                 : (size_t)(tag - TAG_BIGINT_ZERO);
    if (n == 9) {
        if (*at == key.len) return false;
        n = key.data[(*at)++];
        if (part->is_negative) n ^= 0xff;
        if (n < 9) return false; /* has a shorter form */
    }
    if (key.len - *at < n) return false;
    part->bytes = slice_of(key.data + *at, n);
    *at += n;
    uint8_t zero = part->is_negative ? 0xff : 0;
    return n == 0 || part->bytes.data[0] != zero; /* minimal */
}

static bool next_number(struct slice key, size_t *at, struct key_part *part)
{
    if (key.len - *at < 8) return false;
    uint64_t bits = get_u64(key.data + *at);
    *at += 8;
    bits = (bits & SIGN_BIT) != 0 ? bits ^ SIGN_BIT : ~bits;
    memcpy(&part->number, &bits, 8);
    part->type = KEY_NUMBER;
    return !isnan(part->number) || (bits & ~SIGN_BIT) == UINT64_C(0x7ff8000000000000);
}

bool key_is_below(struct slice key, struct slice prefix)
{
    /* A part begins with none of 00 and ff: ff is an escape within the part before. */
    return key.len > prefix.len && key.data[prefix.len] != 0xff && slice_has_prefix(key, prefix);
}

bool key_next(struct slice key, size_t *at, struct key_part *part)
{
    if (*at >= key.len) return false;
    *part = (struct key_part){0};
    uint8_t tag = key.data[(*at)++];
    if (tag == TAG_STRING || tag == TAG_BYTES) {
        part->type = tag == TAG_STRING ? KEY_STRING : KEY_BYTES;
        return next_text(key, at, part);
    }
    if (tag >= TAG_BIGINT_LONG_NEGATIVE && tag <= TAG_BIGINT_LONG) {
        return next_bigint(tag, key, at, part);
    }
    if (tag == TAG_NUMBER) return next_number(key, at, part);
    if (tag != TAG_TRUE && tag != TAG_FALSE) return false;
    part->type = KEY_BOOL;
    part->boolean = tag == TAG_TRUE;
    return true;
}

enum err key_check(struct slice key, struct error *e)
{
    if (key.len > KEY_BYTES_MAX) {
        return error_set(e, ERR_KEY, "invalid key: %zu bytes, at most %d", key.len, KEY_BYTES_MAX);
    }
    size_t parts = 0;
    for (size_t at = 0; at < key.len; parts++) {
        size_t from = at;
        struct key_part part;
        if (!key_next(key, &at, &part)) {
            return error_set(e, ERR_KEY, "invalid key: damaged part at offset %zu", from);
        }
        /* Every 00 ff pair is one NUL of the text; the ff is never the start of a sequence, so
         * checking piece by piece is checking the whole. */
        if (part.type != KEY_STRING) continue;
        struct slice rest = part.bytes;
        for (;;) {
            size_t good = utf8_valid_bytes(rest);
            if (good == rest.len) break;
            if (rest.data[good] != 0xff || good == 0 || rest.data[good - 1] != 0) {
                return error_set(e, ERR_KEY, "invalid key: string is not UTF-8 at offset %zu",
                                 from);
            }
            rest = slice_of(rest.data + good + 1, rest.len - good - 1);
        }
    }
    if (parts <= KEY_PARTS_MAX) return OK;
    return error_set(e, ERR_KEY, "invalid key: %zu parts, at most %d", parts, KEY_PARTS_MAX);
}

enum err key_writer_check(const struct key_writer *w)
{
    if (w->parts > KEY_PARTS_MAX) {
        return error_set(w->e, ERR_LIMIT, "invalid key: more than %d parts", KEY_PARTS_MAX);
    }
    if (w->out->len - w->from > KEY_BYTES_MAX) {
        return error_set(w->e, ERR_LIMIT, "invalid key: larger than %d bytes", KEY_BYTES_MAX);
    }
    return OK;
}

enum err key_writer_end(const struct key_writer *w, bool allow_empty, enum err err)
{
    if (err == OK && w->out->is_failed) err = error_set(w->e, ERR_NOMEM, "out of memory");
    if (err == OK && w->parts == 0 && !allow_empty) {
        err = error_set(w->e, ERR_KEY, "invalid key: a key must have at least one part");
    }
    if (err != OK) w->out->len = w->from;
    return err;
}

enum err key_from_bare_arg(struct slice arg, bool allow_empty, const struct placeholders *p,
                           struct buf *out, struct error *e)
{
    if (arg.len == 0 || arg.data[0] != '[') return key_from_arg(arg, allow_empty, p, out, e);
    struct key_writer w = {
        .out = out, .from = out->len, .placeholders = p, .takes_bare = true, .e = e};
    return key_writer_json(&w, arg, allow_empty);
}

enum err key_from_arg(struct slice arg, bool allow_empty, const struct placeholders *p,
                      struct buf *out, struct error *e)
{
    uint8_t first = arg.len > 0 ? arg.data[0] : 0;
    if (first == '[') return key_from_json(arg, allow_empty, p, out, e);
    if ((first & 0xf0) == 0x90 || first == 0xdc || first == 0xdd) {
        return key_from_msgpack(arg, allow_empty, out, e);
    }
    return error_set(e, ERR_KEY, "invalid key: expected a JSON array or a MessagePack array");
}

static enum err bad_part(const struct key_writer *w, const char *what)
{
    return error_set(w->e, ERR_KEY, "invalid key: %s at part %zu", what, w->parts + 1);
}

static enum err add_msgpack_bigint(struct key_writer *w, struct slice twos)
{
    uint8_t magnitude[KEY_BIGINT_BYTES_MAX + 1];
    if (twos.len == 0) return bad_part(w, "bigint without bytes");
    uint8_t fill = twos.data[0] >= 0x80 ? 0xff : 0;
    while (twos.len > sizeof magnitude && twos.data[0] == fill &&
           (twos.data[1] >> 7) == (fill >> 7)) {
        twos = slice_of(twos.data + 1, twos.len - 1);
    }
    bool is_negative = false;
    size_t len = sizeof magnitude;
    if (twos.len <= sizeof magnitude) len = bigint_from_twos(twos, &is_negative, magnitude);
    if (len > KEY_BIGINT_BYTES_MAX) return bad_part(w, "bigint of more than 255 bytes");
    key_add_bigint(w->out, is_negative, slice_of(magnitude, len));
    return OK;
}

static enum err add_msgpack_part(struct key_writer *w, const struct pack_item *item)
{
    static const char too_big[] =
        "integer beyond +-(2^53-1), write it as a bigint (extension 0x42),";
    switch (item->type) {
    case PACK_BOOL: key_add_bool(w->out, item->boolean); return OK;
    case PACK_UINT:
        if (item->u > NUMBER_SAFE_MAX) return bad_part(w, too_big);
        key_add_number(w->out, (double)item->u);
        return OK;
    case PACK_INT:
        if (item->i < -NUMBER_SAFE_MAX) return bad_part(w, too_big);
        key_add_number(w->out, (double)item->i);
        return OK;
    case PACK_FLOAT: key_add_number(w->out, item->f); return OK;
    case PACK_STR:
    case PACK_BIN:
        /* Refused before it is copied: a client's 16 MB must not grow the reply buffer. */
        if (item->body.len > KEY_BYTES_MAX) {
            return error_set(w->e, ERR_LIMIT, "invalid key: larger than %d bytes", KEY_BYTES_MAX);
        }
        if (item->type == PACK_BIN) {
            key_add_bytes(w->out, item->body);
            return OK;
        }
        if (utf8_valid_bytes(item->body) != item->body.len)
            return bad_part(w, "string is not UTF-8");
        key_add_string(w->out, item->body);
        return OK;
    case PACK_EXT:
        if (item->ext == EXT_BIGINT) return add_msgpack_bigint(w, item->body);
        return bad_part(w, "unknown extension");
    case PACK_NIL: return bad_part(w, "nil");
    case PACK_ARRAY: return bad_part(w, "an array");
    case PACK_MAP: return bad_part(w, "a map");
    }
    return bad_part(w, "unknown type");
}

enum err key_from_msgpack(struct slice bytes, bool allow_empty, struct buf *out, struct error *e)
{
    struct key_writer w = {.out = out, .from = out->len, .e = e};
    const uint8_t *at = bytes.data, *end = bytes.len > 0 ? at + bytes.len : at;
    struct pack_item item;
    if (pack_read(&at, end, &item) != PACK_OK || item.type != PACK_ARRAY) {
        return error_set(e, ERR_KEY, "invalid key: expected a MessagePack array");
    }
    size_t count = item.count;
    if (count > KEY_PARTS_MAX) {
        return error_set(e, ERR_LIMIT, "invalid key: more than %d parts", KEY_PARTS_MAX);
    }
    enum err err = OK;
    for (; err == OK && w.parts < count; w.parts++) {
        enum pack_result result = pack_read(&at, end, &item);
        if (result == PACK_TRUNCATED) {
            err = bad_part(&w, "truncated");
        } else if (result == PACK_INVALID) {
            err = bad_part(&w, "byte c1");
        } else {
            err = add_msgpack_part(&w, &item);
        }
        if (err == OK) err = key_writer_check(&w);
    }
    if (err == OK && at != end) {
        err = error_set(e, ERR_KEY, "invalid key: bytes after the end at offset %zu",
                        (size_t)(at - bytes.data));
    }
    return key_writer_end(&w, allow_empty, err);
}

void key_part_plain(const struct key_part *part, struct buf *out)
{
    struct slice s = part->bytes;
    uint8_t *to = buf_reserve(out, s.len);
    if (to == NULL) return;
    if (part->type == KEY_BIGINT) {
        uint8_t flip = part->is_negative ? 0xff : 0;
        for (size_t i = 0; i < s.len; i++) *to++ = s.data[i] ^ flip;
    } else {
        for (size_t i = 0; i < s.len; i++) {
            *to++ = s.data[i];
            if (s.data[i] == 0) i++; /* the ff after it */
        }
    }
    out->len = (size_t)(to - out->data);
}

static void part_to_msgpack(const struct key_part *part, struct buf *out)
{
    uint8_t room[KEY_BYTES_MAX];
    struct buf plain = {.data = room, .cap = sizeof room}; /* a valid key fits: it never grows */
    uint8_t twos[KEY_BIGINT_BYTES_MAX + 1];
    switch (part->type) {
    case KEY_BOOL: buf_append_byte(out, part->boolean ? 0xc3 : 0xc2); break;
    case KEY_NUMBER: pack_number(out, part->number); break;
    case KEY_BIGINT:
        key_part_plain(part, &plain);
        pack_ext(out, EXT_BIGINT,
                 slice_of(twos, bigint_to_twos(part->is_negative, buf_slice(&plain), twos)));
        break;
    case KEY_STRING:
        key_part_plain(part, &plain);
        pack_str(out, buf_slice(&plain));
        break;
    case KEY_BYTES:
        key_part_plain(part, &plain);
        pack_bin(out, buf_slice(&plain));
        break;
    }
}

void key_to_msgpack(struct slice key, struct buf *out)
{
    size_t opened = pack_open(out, 1), parts = 0;
    struct key_part part;
    for (size_t at = 0; key_next(key, &at, &part); parts++) part_to_msgpack(&part, out);
    uint8_t head[PACK_HEAD_BYTES];
    pack_close(out, opened, 1, head, pack_head(PACK_ARRAY, 0, parts, head));
}
