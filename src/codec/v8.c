/* v8: the primitives of V8's format, and its small tables (views, errors). Every one checks that
 * its bytes are there and sets the error; v8_scan.c and foreign/v8_read.c are made of them. */
#include "codec/v8.h"

#define BYTES_MAX V8_LOW_BITS /* what the scan notes of a buffer */

bool v8_fail(struct v8_reader *r, const uint8_t *where, const char *why)
{
    if (r->why != NULL) return false;
    r->why = why;
    r->where = (size_t)(where - r->start);
    return false;
}

bool v8_varint(struct v8_reader *r, uint64_t most, uint64_t *n)
{
    const uint8_t *from = r->at;
    *n = 0;
    for (unsigned shift = 0; r->at < r->end; shift += 7) {
        uint8_t byte = *r->at++;
        if (shift == 63 && byte > 1) return v8_fail(r, from, "number of more than 64 bits");
        *n |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return *n <= most || v8_fail(r, from, "number too large");
    }
    return v8_fail(r, r->end, "truncated");
}

bool v8_take(struct v8_reader *r, uint64_t len, struct slice *bytes)
{
    if ((uint64_t)(r->end - r->at) < len) return v8_fail(r, r->at, "truncated");
    *bytes = slice_of(r->at, (size_t)len);
    r->at += len;
    return true;
}

bool v8_sized(struct v8_reader *r, struct slice *bytes)
{
    uint64_t len = 0;
    return v8_varint(r, UINT32_MAX, &len) && v8_take(r, len, bytes);
}

bool v8_double(struct v8_reader *r, double *d)
{
    struct slice bytes;
    if (!v8_take(r, 8, &bytes)) return false;
    memcpy(d, bytes.data, 8);
    return true;
}

bool v8_bigint(struct v8_reader *r, bool *is_negative, struct slice *magnitude)
{
    const uint8_t *from = r->at;
    uint64_t bits = 0;
    if (!v8_varint(r, UINT32_MAX, &bits)) return false;
    if (bits == 1) return v8_fail(r, from, "bigint -0");
    *is_negative = (bits & 1) != 0;
    return v8_take(r, bits >> 1, magnitude);
}

bool v8_tag(struct v8_reader *r, uint8_t *tag)
{
    uint64_t unused = 0;
    for (;;) {
        *tag = v8_peek(r);
        if (r->at == r->end) return v8_fail(r, r->at, "truncated");
        r->at++;
        if (*tag != V8_COUNT) return true;
        if (!v8_varint(r, UINT32_MAX, &unused)) return false;
    }
}

bool v8_begin(struct v8_reader *r, struct slice bytes)
{
    uint64_t version = 0;
    *r = (struct v8_reader){.start = bytes.data, .at = bytes.data};
    r->end = bytes.len > 0 ? bytes.data + bytes.len : bytes.data;
    if (bytes.len > BYTES_MAX) return v8_fail(r, r->at, "larger than 512 MB");
    if (bytes.len == 0) return v8_fail(r, r->at, "no bytes");
    if (*r->at != V8_VERSION) return v8_fail(r, r->at, "no version");
    r->at++;
    if (!v8_varint(r, UINT32_MAX, &version)) return false;
    r->version = (uint32_t)version;
    if (version >= V8_VERSION_MIN && version <= V8_VERSION_MAX) return true;
    return v8_fail(r, r->start + 1, "unsupported version (13 to 16 are supported)");
}

size_t v8_view_element(uint8_t kind)
{
    switch (kind) {
    case 'b':
    case 'B':
    case 'C':
    case '?': return 1;
    case 'w':
    case 'W':
    case 'h': return 2;
    case 'd':
    case 'D':
    case 'f': return 4;
    case 'F':
    case 'q':
    case 'Q': return 8;
    default: return 0;
    }
}

uint8_t v8_host_view(uint64_t index)
{
    static const char kinds[] = "bBCwWdDfF?BqQ";
    return index < sizeof kinds - 1 ? (uint8_t)kinds[index] : 0;
}

const char *v8_error_name(uint8_t prototype)
{
    switch (prototype) {
    case 'E': return "EvalError";
    case 'R': return "RangeError";
    case 'F': return "ReferenceError";
    case 'S': return "SyntaxError";
    case 'T': return "TypeError";
    case 'U': return "URIError";
    default: return NULL;
    }
}
