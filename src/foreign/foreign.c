/* foreign: pieces that v8_read.c and v8_write.c share: numbers, Dates and texts in the smallest
 * stored form, codes of typed arrays, and UTF-8 from and to Latin-1 and UTF-16. */
#include <math.h>

#include "base/bytes.h"
#include "codec/bigint.h"
#include "codec/date.h"
#include "codec/number.h"
#include "codec/utf8.h"
#include "codec/value.h"
#include "foreign/foreign_int.h"

void foreign_pack_bigint(struct buf *out, bool is_negative, struct slice magnitude)
{
    while (magnitude.len > 0 && magnitude.data[0] == 0) {
        magnitude = slice_of(magnitude.data + 1, magnitude.len - 1);
    }
    uint64_t u = magnitude.len <= 8 ? get_uint(magnitude.data, magnitude.len) : 0;
    if (u > NUMBER_SAFE_MAX && !is_negative) {
        pack_uint(out, u);
        return;
    }
    if (u > NUMBER_SAFE_MAX && u <= (uint64_t)INT64_MAX + 1) {
        pack_int(out, (int64_t)(0 - u));
        return;
    }
    size_t room = foreign_room(magnitude.len), opened = pack_open(out, room);
    uint8_t *twos = buf_reserve(out, magnitude.len + 1);
    if (twos == NULL) return;
    out->len += bigint_to_twos(is_negative && magnitude.len > 0, magnitude, twos);
    foreign_close_ext(out, opened, room, EXT_BIGINT, SIZE_MAX);
}

void foreign_pack_number(struct buf *out, double d)
{
    pack_number(out, isnan(d) ? (double)NAN : d);
}

void foreign_pack_date(struct buf *out, double ms)
{
    if (isnan(ms) || fabs(ms) > (double)DATE_MS_MAX) {
        pack_ext(out, EXT_DATE, slice_of("\xff", 1));
    } else {
        date_to_ext((int64_t)ms, out);
    }
}

static const char views[] = "bBCwWdDfFqQ"; /* by code */

int foreign_code_of_view(uint8_t kind)
{
    const char *at = kind != 0 ? strchr(views, kind) : NULL;
    return at != NULL ? (int)(at - views) : kind == '?' ? 17 : -1;
}

uint8_t foreign_view_of_code(uint8_t code)
{
    return code < sizeof views - 1 ? (uint8_t)views[code] : code == 17 ? '?' : 0;
}

const struct foreign_flag foreign_flags[FOREIGN_FLAGS] = {
    {'d', 128}, {'g', 1}, {'i', 2}, {'m', 4}, {'s', 32}, {'u', 16}, {'v', 256}, {'y', 8},
};

void foreign_pack_latin1(struct buf *out, struct slice latin1)
{
    uint8_t head[PACK_HEAD_BYTES];
    size_t high = 0;
    for (size_t i = 0; i < latin1.len; i++) high += latin1.data[i] >> 7;
    buf_append(out, head, pack_head(PACK_STR, 0, latin1.len + high, head));
    if (high == 0) {
        buf_append(out, latin1.data, latin1.len);
        return;
    }
    uint8_t *to = buf_reserve(out, latin1.len + high);
    if (to == NULL) return;
    out->len += latin1.len + high;
    for (size_t i = 0; i < latin1.len; i++) to += utf8_encode(latin1.data[i], to);
}

static uint32_t unit_at(struct slice units, size_t i)
{
    return units.data[i] | (uint32_t)units.data[i + 1] << 8;
}

/* The code point at `i`, which moves past it. False: half of a pair. */
static bool next_point(struct slice units, size_t *i, uint32_t *point)
{
    *point = unit_at(units, *i);
    *i += 2;
    if (*point < 0xd800 || *point > 0xdfff) return true;
    if (*point > 0xdbff || *i == units.len) return false;
    uint32_t low = unit_at(units, *i);
    if (low < 0xdc00 || low > 0xdfff) return false;
    *point = 0x10000 + ((*point - 0xd800) << 10) + (low - 0xdc00);
    *i += 2;
    return true;
}

bool foreign_pack_utf16(struct buf *out, struct slice units)
{
    uint8_t head[PACK_HEAD_BYTES];
    size_t bytes = 0;
    uint32_t point = 0;
    for (size_t i = 0; i < units.len;) {
        if (!next_point(units, &i, &point)) return false;
        bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    }
    buf_append(out, head, pack_head(PACK_STR, 0, bytes, head));
    uint8_t *to = buf_reserve(out, bytes);
    if (to == NULL) return true;
    out->len += bytes;
    for (size_t i = 0; i < units.len && next_point(units, &i, &point);) {
        to += utf8_encode(point, to);
    }
    return true;
}

struct foreign_text foreign_measure(struct slice utf8)
{
    struct foreign_text t = {.is_latin1 = true};
    for (size_t i = 0; i < utf8.len; i++) {
        uint8_t c = utf8.data[i];
        t.units += (c & 0xc0) != 0x80;
        t.units += c >= 0xf0;
        if (c >= 0xc4) t.is_latin1 = false;
    }
    return t;
}

/* The code point at `p`, which is valid; its bytes. */
static unsigned decode(const uint8_t *p, uint32_t *point)
{
    uint32_t c = *p;
    if (c < 0x80) {
        *point = c;
        return 1;
    }
    unsigned bytes = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    *point = c & (0x7fu >> bytes);
    for (unsigned i = 1; i < bytes; i++) *point = *point << 6 | (p[i] & 0x3fu);
    return bytes;
}

void foreign_to_latin1(struct slice utf8, uint8_t *to)
{
    uint32_t point = 0;
    for (size_t i = 0; i < utf8.len;) {
        i += decode(utf8.data + i, &point);
        *to++ = (uint8_t)point;
    }
}

static uint8_t *put_unit(uint8_t *to, uint32_t unit)
{
    to[0] = (uint8_t)unit;
    to[1] = (uint8_t)(unit >> 8);
    return to + 2;
}

void foreign_to_utf16(struct slice utf8, uint8_t *to)
{
    uint32_t point = 0;
    for (size_t i = 0; i < utf8.len;) {
        i += decode(utf8.data + i, &point);
        if (point < 0x10000) {
            to = put_unit(to, point);
            continue;
        }
        to = put_unit(to, 0xd800 + ((point - 0x10000) >> 10));
        to = put_unit(to, 0xdc00 + ((point - 0x10000) & 0x3ff));
    }
}

void foreign_close_ext(struct buf *out, size_t opened, size_t room, int8_t ext, size_t count)
{
    uint8_t head[PACK_HEAD_BYTES * 2], inner[PACK_HEAD_BYTES];
    size_t inner_len = 0;
    if (out->is_failed) return;
    if (count != SIZE_MAX) inner_len = pack_head(PACK_ARRAY, 0, count, inner);
    size_t len = pack_head(PACK_EXT, ext, out->len - opened - room + inner_len, head);
    if (inner_len > 0) memcpy(head + len, inner, inner_len);
    pack_close(out, opened, room, head, len + inner_len);
}
