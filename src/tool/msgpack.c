/* msgpack: see msgpack.h. Heads are read here, by the first byte; depth and lengths are checked by
 * counting the items of open containers. */
#include "tool/msgpack.h"

#include "base/bytes.h"

/* ---- reading --------------------------------------------------------------------------------- */

/* Of the first bytes c0 to df: so many bytes of a length follow, .. */
static unsigned mp_length_bytes(uint8_t c)
{
    if (c >= 0xdc) return 2u << (c & 1);                 /* array, map */
    if (c >= 0xd9) return 1u << (c - 0xd9);              /* str */
    if (c >= 0xc7 && c <= 0xc9) return 1u << (c - 0xc7); /* ext */
    if (c >= 0xc4 && c <= 0xc6) return 1u << (c - 0xc4); /* bin */
    return 0;
}

/* .. and these besides: what is always as long, and the type of an extension. */
static unsigned mp_fixed_bytes(uint8_t c)
{
    if (c >= 0xc7 && c <= 0xc9) return 1;                      /* ext */
    if (c == 0xca || c == 0xcb) return 4u << (c & 1);          /* float */
    if (c >= 0xcc && c <= 0xd3) return 1u << (c & 3);          /* uint, int */
    if (c >= 0xd4 && c <= 0xd8) return 1 + (1u << (c - 0xd4)); /* ext */
    return 0;
}

/* Moves h->bytes over a body that is there. */
static enum mp_state mp_body(struct slice bytes, uint64_t body, struct mp_head *h)
{
    if (body > bytes.len - h->bytes) return MP_TRUNCATED;
    h->bytes += (size_t)body;
    return MP_WHOLE;
}

/* One that begins with c0 to df. */
static enum mp_state mp_long_head(struct slice bytes, struct mp_head *h)
{
    uint8_t c = bytes.data[0];
    unsigned width = mp_length_bytes(c);
    if (c == 0xc1) return MP_INVALID;
    if (bytes.len - h->bytes < width) return MP_TRUNCATED;
    uint64_t n = get_uint(bytes.data + h->bytes, width); /* below 2^32: no sum here wraps */
    h->bytes += width;
    if (c < 0xdc) return mp_body(bytes, n + mp_fixed_bytes(c), h);
    h->kind = c < 0xde ? MP_ARRAY : MP_MAP;
    h->items = c < 0xde ? n : 2 * n;
    return MP_WHOLE;
}

enum mp_state mp_head(struct slice bytes, struct mp_head *h)
{
    *h = (struct mp_head){.kind = MP_PLAIN, .bytes = 1};
    if (bytes.len == 0) return MP_TRUNCATED;
    uint8_t c = bytes.data[0];
    if (c < 0x80 || c >= 0xe0) return MP_WHOLE; /* small integers */
    if (c >= 0xc0) return mp_long_head(bytes, h);
    if (c >= 0xa0) return mp_body(bytes, c & 31, h);
    h->kind = c < 0x90 ? MP_MAP : MP_ARRAY;
    h->items = c < 0x90 ? 2 * (c & 15u) : c & 15u;
    return MP_WHOLE;
}

enum mp_state mp_measure(struct slice bytes, size_t *len)
{
    uint64_t left[MP_DEPTH_MAX]; /* items of the containers that are open */
    size_t depth = 0;
    size_t at = 0;
    do {
        struct mp_head h;
        enum mp_state s = mp_head(slice_of(bytes.data + at, bytes.len - at), &h);
        if (s != MP_WHOLE) return s;
        at += h.bytes;
        if (h.items > 0) {
            if (depth == MP_DEPTH_MAX) return MP_DEEP;
            left[depth++] = h.items;
            continue;
        }
        while (depth > 0 && --left[depth - 1] == 0) depth--;
    } while (depth > 0);
    *len = at;
    return MP_WHOLE;
}

bool mp_unpack(struct slice item, msgpack_object *out)
{
    struct mp_head h;
    msgpack_unpacked u;
    if (mp_head(item, &h) != MP_WHOLE || h.kind != MP_PLAIN || h.bytes != item.len) return false;
    msgpack_unpacked_init(&u);
    msgpack_unpack_return r = msgpack_unpack_next(&u, (const char *)item.data, item.len, NULL);
    if (r == MSGPACK_UNPACK_NOMEM_ERROR) die("no memory");
    if (r == MSGPACK_UNPACK_SUCCESS)
        *out = u.data; /* of what has no items nothing is in the zone */
    msgpack_unpacked_destroy(&u);
    return r == MSGPACK_UNPACK_SUCCESS;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int mp_append(void *out, const char *bytes, size_t len)
{
    buf_append(out, bytes, len);
    return 0;
}

static msgpack_packer mp_packer(struct buf *out)
{
    msgpack_packer p;
    msgpack_packer_init(&p, out, mp_append);
    return p;
}

void mp_add_str(struct buf *out, struct slice text)
{
    msgpack_packer p = mp_packer(out);
    INVARIANT(text.len <= UINT32_MAX);
    msgpack_pack_str_with_body(&p, text.data, text.len);
}

void mp_add_bin(struct buf *out, struct slice bytes)
{
    msgpack_packer p = mp_packer(out);
    INVARIANT(bytes.len <= UINT32_MAX);
    msgpack_pack_bin_with_body(&p, bytes.data, bytes.len);
}

void mp_add_i64(struct buf *out, int64_t value)
{
    msgpack_packer p = mp_packer(out);
    msgpack_pack_int64(&p, value);
}

void mp_add_f64(struct buf *out, double value)
{
    msgpack_packer p = mp_packer(out);
    msgpack_pack_double(&p, value);
}

void mp_add_true(struct buf *out)
{
    msgpack_packer p = mp_packer(out);
    msgpack_pack_true(&p);
}

void mp_add_array(struct buf *out, size_t count)
{
    msgpack_packer p = mp_packer(out);
    INVARIANT(count <= UINT32_MAX);
    msgpack_pack_array(&p, count);
}

void mp_add_map(struct buf *out, size_t count)
{
    msgpack_packer p = mp_packer(out);
    INVARIANT(count <= UINT32_MAX);
    msgpack_pack_map(&p, count);
}

void mp_set_map(struct buf *out, size_t at, size_t count)
{
    if (out->is_failed) return;
    INVARIANT(count <= 15 && at < out->len);
    struct buf head = {.data = out->data + at, .cap = 1}; /* one byte: it does not grow */
    mp_add_map(&head, count);
}
