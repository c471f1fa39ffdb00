/* pack: the heads of MessagePack, read by ranges of the first byte, and written as the smallest
 * there is. */
#include "codec/pack.h"

#include "base/bytes.h"
#include "codec/number.h"

static uint8_t *store(uint8_t *p, uint64_t v, unsigned bytes)
{
    for (unsigned i = bytes; i-- > 0; v >>= 8) p[i] = (uint8_t)v;
    return p + bytes;
}

/* A body of `len` bytes at *at; `len` comes from the input and may be too large. */
static enum pack_result take(const uint8_t **at, const uint8_t *end, uint64_t len,
                             struct slice *body)
{
    if ((uint64_t)(end - *at) < len) return PACK_TRUNCATED;
    *body = slice_of(*at, (size_t)len);
    *at += len;
    return PACK_OK;
}

static enum pack_result read_scalar(uint8_t c, const uint8_t **at, const uint8_t *end,
                                    struct pack_item *item)
{
    unsigned bytes = c == 0xca ? 4 : c == 0xcb ? 8 : 1u << (c & 3);
    if ((size_t)(end - *at) < bytes) return PACK_TRUNCATED;
    uint64_t u = get_uint(*at, bytes);
    *at += bytes;
    if (c == 0xca) {
        uint32_t bits = (uint32_t)u;
        float f;
        memcpy(&f, &bits, 4);
        item->f = (double)f;
        item->type = PACK_FLOAT;
    } else if (c == 0xcb) {
        memcpy(&item->f, &u, 8);
        item->type = PACK_FLOAT;
    } else if (c <= 0xcf) {
        item->u = u;
        item->type = PACK_UINT;
    } else {
        unsigned unused = (64 - 8 * bytes) & 63;
        item->i = (int64_t)(u << unused) >> unused;
        item->u = (uint64_t)item->i;
        item->type = item->i < 0 ? PACK_INT : PACK_UINT;
    }
    return PACK_OK;
}

static enum pack_result read_long(uint8_t c, const uint8_t **at, const uint8_t *end,
                                  struct pack_item *item)
{
    /* Bytes of the length: c4-c6 bin, c7-c9 ext, d9-db str, dc-dd array, de-df map. */
    static const uint8_t widths[] = {
        [0xc4 - 0xc4] = 1, [0xc5 - 0xc4] = 2, [0xc6 - 0xc4] = 4, [0xc7 - 0xc4] = 1,
        [0xc8 - 0xc4] = 2, [0xc9 - 0xc4] = 4, [0xd9 - 0xc4] = 1, [0xda - 0xc4] = 2,
        [0xdb - 0xc4] = 4, [0xdc - 0xc4] = 2, [0xdd - 0xc4] = 4, [0xde - 0xc4] = 2,
        [0xdf - 0xc4] = 4,
    };
    if (c >= 0xd4 && c <= 0xd8) {
        if (*at == end) return PACK_TRUNCATED;
        item->type = PACK_EXT;
        item->ext = (int8_t) * (*at)++;
        return take(at, end, 1u << (c - 0xd4), &item->body);
    }
    unsigned width = widths[c - 0xc4];
    if ((size_t)(end - *at) < width) return PACK_TRUNCATED;
    uint64_t n = get_uint(*at, width);
    *at += width;
    if (c >= 0xdc) {
        item->type = c <= 0xdd ? PACK_ARRAY : PACK_MAP;
        item->count = (uint32_t)n;
        return PACK_OK;
    }
    item->type = c <= 0xc6 ? PACK_BIN : c <= 0xc9 ? PACK_EXT : PACK_STR;
    if (item->type == PACK_EXT) {
        if (*at == end) return PACK_TRUNCATED;
        item->ext = (int8_t) * (*at)++;
    }
    return take(at, end, n, &item->body);
}

enum pack_result pack_read_slow(const uint8_t **at, const uint8_t *end, struct pack_item *item)
{
    if (*at == end) return PACK_TRUNCATED;
    uint8_t c = *(*at)++;
    if (c < 0x80) {
        item->type = PACK_UINT;
        item->u = c;
        return PACK_OK;
    }
    if (c >= 0xe0) {
        item->type = PACK_INT;
        item->i = (int8_t)c;
        return PACK_OK;
    }
    if (c < 0xa0) {
        item->type = c < 0x90 ? PACK_MAP : PACK_ARRAY;
        item->count = c & 15;
        return PACK_OK;
    }
    if (c < 0xc0) {
        item->type = PACK_STR;
        return take(at, end, c & 31u, &item->body);
    }
    if (c == 0xc1) return PACK_INVALID;
    if (c <= 0xc3) {
        item->type = c == 0xc0 ? PACK_NIL : PACK_BOOL;
        item->boolean = c == 0xc3;
        return PACK_OK;
    }
    if (c >= 0xca && c <= 0xd3) return read_scalar(c, at, end, item);
    return read_long(c, at, end, item);
}

bool pack_whole_ext(struct slice s, int8_t *ext, struct slice *body)
{
    uint8_t c = s.len > 0 ? s.data[0] : 0;
    unsigned width = c >= 0xc7 && c <= 0xc9 ? 1u << (c - 0xc7) : 0; /* of the length */
    size_t head = 2 + width;
    if ((width == 0 && (c < 0xd4 || c > 0xd8)) || s.len < head) return false;
    uint64_t len = width == 0 ? 1u << (c - 0xd4) : get_uint(s.data + 1, width);
    *ext = (int8_t)s.data[head - 1];
    *body = slice_of(s.data + head, s.len - head);
    return body->len == len;
}

void pack_uint(struct buf *out, uint64_t u)
{
    uint8_t *to = buf_reserve(out, 9);
    if (to == NULL) return;
    if (u < 0x80) {
        *to++ = (uint8_t)u;
    } else if (u <= 0xff) {
        *to++ = 0xcc;
        *to++ = (uint8_t)u;
    } else if (u <= 0xffff) {
        *to++ = 0xcd;
        to = store(to, u, 2);
    } else if (u <= 0xffffffff) {
        *to++ = 0xce;
        to = store(to, u, 4);
    } else {
        *to++ = 0xcf;
        to = store(to, u, 8);
    }
    out->len = (size_t)(to - out->data);
}

void pack_int(struct buf *out, int64_t i)
{
    if (i >= 0) {
        pack_uint(out, (uint64_t)i);
        return;
    }
    uint8_t *to = buf_reserve(out, 9);
    if (to == NULL) return;
    uint64_t u = (uint64_t)i;
    if (i >= -32) {
        *to++ = (uint8_t)u;
    } else if (i >= INT8_MIN) {
        *to++ = 0xd0;
        *to++ = (uint8_t)u;
    } else if (i >= INT16_MIN) {
        *to++ = 0xd1;
        to = store(to, u, 2);
    } else if (i >= INT32_MIN) {
        *to++ = 0xd2;
        to = store(to, u, 4);
    } else {
        *to++ = 0xd3;
        to = store(to, u, 8);
    }
    out->len = (size_t)(to - out->data);
}

void pack_float(struct buf *out, double d)
{
    uint8_t *to = buf_reserve(out, 9);
    if (to == NULL) return;
    bool is_small = d != d || (d >= -3.4e38 && d <= 3.4e38 ? (double)(float)d == d : d - d != 0);
    if (is_small) {
        float f = (float)d;
        uint32_t bits;
        memcpy(&bits, &f, 4);
        *to++ = 0xca;
        to = store(to, bits, 4);
    } else {
        uint64_t bits;
        memcpy(&bits, &d, 8);
        *to++ = 0xcb;
        to = store(to, bits, 8);
    }
    out->len = (size_t)(to - out->data);
}

void pack_number(struct buf *out, double d)
{
    int64_t i = 0;
    if (number_is_integer(d, &i)) {
        pack_int(out, i);
    } else {
        pack_float(out, d);
    }
}

static size_t sized_head(uint8_t *to, const uint8_t codes[3], size_t n)
{
    if (n <= 0xff && codes[0] != 0) {
        to[0] = codes[0];
        to[1] = (uint8_t)n;
        return 2;
    }
    to[0] = n <= 0xffff ? codes[1] : codes[2];
    return (size_t)(store(to + 1, n, n <= 0xffff ? 2 : 4) - to);
}

size_t pack_head(enum pack_type type, int8_t ext, size_t n, uint8_t *to)
{
    INVARIANT(n <= UINT32_MAX);
    static const uint8_t codes[][3] = {
        [PACK_STR] = {0xd9, 0xda, 0xdb}, [PACK_BIN] = {0xc4, 0xc5, 0xc6},
        [PACK_EXT] = {0xc7, 0xc8, 0xc9}, [PACK_ARRAY] = {0, 0xdc, 0xdd},
        [PACK_MAP] = {0, 0xde, 0xdf},
    };
    if (type == PACK_EXT) {
        size_t len = 1;
        if (n <= 16 && n > 0 && (n & (n - 1)) == 0) {
            to[0] = (uint8_t)(0xd4 + __builtin_ctzl(n));
        } else {
            len = sized_head(to, codes[type], n);
        }
        to[len] = (uint8_t)ext;
        return len + 1;
    }
    unsigned fixed = type == PACK_STR ? 0xa0 : type == PACK_ARRAY ? 0x90 : 0x80;
    if (type != PACK_BIN && n < (type == PACK_STR ? 32u : 16u)) {
        to[0] = (uint8_t)(fixed | n);
        return 1;
    }
    return sized_head(to, codes[type], n);
}

static void pack_body(struct buf *out, enum pack_type type, int8_t ext, struct slice s)
{
    uint8_t *to = buf_reserve(out, s.len + PACK_HEAD_BYTES);
    if (to == NULL) return;
    to += pack_head(type, ext, s.len, to);
    if (s.len > 0) memcpy(to, s.data, s.len);
    out->len = (size_t)(to - out->data) + s.len;
}

void pack_str(struct buf *out, struct slice s)
{
    if (s.len < 32) {
        uint8_t *to = buf_reserve(out, s.len + 1);
        if (to == NULL) return;
        *to++ = (uint8_t)(0xa0 | s.len);
        if (s.len > 0) memcpy(to, s.data, s.len);
        out->len += s.len + 1;
        return;
    }
    pack_body(out, PACK_STR, 0, s);
}

void pack_bin(struct buf *out, struct slice s)
{
    pack_body(out, PACK_BIN, 0, s);
}

void pack_ext(struct buf *out, int8_t ext, struct slice s)
{
    pack_body(out, PACK_EXT, ext, s);
}

size_t pack_open(struct buf *out, size_t room)
{
    size_t opened = out->len;
    if (buf_reserve(out, room) != NULL) out->len += room;
    return opened;
}

void pack_close(struct buf *out, size_t opened, size_t room, const uint8_t *head, size_t head_len)
{
    if (buf_reserve(out, PACK_HEAD_BYTES * 2) == NULL) return; /* also: an append was lost before */
    size_t content = out->len - opened - room;
    uint8_t *at = out->data + opened;
    if (head_len != room && content > 0) memmove(at + head_len, at + room, content);
    memcpy(at, head, head_len);
    out->len = opened + head_len + content;
}
