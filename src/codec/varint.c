/* varint: see varint.h. */
#include "codec/varint.h"

#define VARINT_BYTES_MAX 10

bool varint_read(struct slice bytes, size_t *at, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; *at < bytes.len && shift < 64; shift += 7) {
        uint8_t byte = bytes.data[(*at)++];
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) return true;
    }
    return false;
}

void varint_append(struct buf *out, uint64_t n)
{
    uint8_t *p = buf_reserve(out, VARINT_BYTES_MAX);
    if (p == NULL) return;
    size_t len = 0;
    for (; n >= 0x80; n >>= 7) p[len++] = (uint8_t)(n | 0x80);
    p[len++] = (uint8_t)n;
    out->len += len;
}
