/* v8_scan: are these bytes V8's? It refuses what V8 itself refuses, but for three things that only
 * building the value shows: the source of a RegExp is not compiled, nothing is so large that V8 has
 * no memory for it, and an unfinished Error may be its own cause (V8 12 and later can read that).
 */
#include "base/bytes.h"
#include "codec/v8.h"

#define LENGTH_MAX (UINT64_C(1) << 53)
#define FLAGS_OF_REGEXP 0x1bf /* d g i m s u v y; V8 has 0x40 for itself */

struct scan {
    struct v8_reader *r;
    struct buf *objects; /* 32 bits each, by number */
    unsigned depth;
};

static bool scan_value(struct scan *s, uint8_t *tag);

static bool add_object(struct scan *s, uint32_t object)
{
    buf_append(s->objects, &object, sizeof object);
    if (!s->objects->is_failed) return true;
    s->r->is_nomem = true;
    return v8_fail(s->r, s->r->at, "out of memory");
}

static bool scan_any(struct scan *s)
{
    uint8_t tag = 0;
    return scan_value(s, &tag);
}

static bool scan_string(struct scan *s)
{
    uint8_t tag = 0;
    const uint8_t *from = s->r->at;
    if (!scan_value(s, &tag)) return false;
    if (tag == V8_LATIN1 || tag == V8_UTF16 || tag == V8_UTF8) return true;
    return v8_fail(s->r, from, "expected a string");
}

static bool scan_key(struct scan *s)
{
    uint8_t tag = 0;
    const uint8_t *from = s->r->at;
    if (!scan_value(s, &tag)) return false;
    if (tag == V8_LATIN1 || tag == V8_UTF16 || tag == V8_UTF8) return true;
    if (tag == V8_INT || tag == V8_UINT || tag == V8_DOUBLE) return true;
    return v8_fail(s->r, from, "a key that is neither a string nor a number");
}

/* Ends what was opened: the number that must be there. */
static bool scan_count(struct scan *s, uint64_t count)
{
    uint64_t told = 0;
    const uint8_t *from = s->r->at;
    if (!v8_varint(s->r, LENGTH_MAX, &told)) return false;
    return told == count || v8_fail(s->r, from, "a count mismatch");
}

static bool scan_properties(struct scan *s, uint8_t end)
{
    uint64_t count = 0;
    for (; v8_peek(s->r) != end; count++) {
        if (!scan_key(s) || !scan_any(s)) return false;
    }
    s->r->at++;
    return scan_count(s, count);
}

static bool scan_array(struct scan *s, bool is_dense)
{
    struct v8_reader *r = s->r;
    uint64_t length = 0;
    const uint8_t *from = r->at;
    if (!v8_varint(r, UINT32_MAX, &length)) return false;
    if (is_dense && length > (uint64_t)(r->end - r->at)) return v8_fail(r, from, "truncated");
    for (uint64_t i = 0; is_dense && i < length; i++) {
        if (v8_peek(r) == V8_HOLE) {
            r->at++;
        } else if (!scan_any(s)) {
            return false;
        }
    }
    return scan_properties(s, is_dense ? V8_DENSE_END : V8_SPARSE_END) && scan_count(s, length);
}

static bool scan_items(struct scan *s, uint8_t end)
{
    uint64_t count = 0;
    const uint8_t *from = s->r->at;
    for (; v8_peek(s->r) != end; count++) {
        if (!scan_any(s)) return false;
    }
    if (end == V8_MAP_END && count % 2 != 0) return v8_fail(s->r, from, "Map key without a value");
    s->r->at++;
    return scan_count(s, count);
}

static bool scan_regexp(struct scan *s)
{
    uint64_t flags = 0;
    if (!scan_string(s)) return false;
    const uint8_t *from = s->r->at;
    if (!v8_varint(s->r, UINT32_MAX, &flags)) return false;
    return (flags & ~(uint64_t)FLAGS_OF_REGEXP) == 0 || v8_fail(s->r, from, "unknown RegExp flags");
}

static bool scan_error(struct scan *s)
{
    for (;;) {
        struct slice tag;
        if (!v8_take(s->r, 1, &tag)) return false;
        switch (*tag.data) {
        case V8_ERROR_END: return true;
        case V8_ERROR_MESSAGE:
        case V8_ERROR_STACK:
            if (!scan_string(s)) return false;
            break;
        case V8_ERROR_CAUSE:
            if (!scan_any(s)) return false;
            break;
        default:
            if (v8_error_name(*tag.data) == NULL) {
                return v8_fail(s->r, tag.data, "unknown field of an Error");
            }
        }
    }
}

/* After the buffer's tag. */
static bool scan_buffer(struct scan *s, bool is_resizable, uint32_t *buffer)
{
    struct v8_reader *r = s->r;
    uint64_t len = 0, most = UINT64_MAX;
    struct slice bytes;
    const uint8_t *from = r->at;
    if (!v8_varint(r, UINT32_MAX, &len)) return false;
    if (is_resizable && !v8_varint(r, LENGTH_MAX, &most)) return false;
    if (len > most) return v8_fail(r, from, "buffer larger than its maximum");
    if (!v8_take(r, len, &bytes)) return false;
    *buffer = V8_IS_BUFFER | (is_resizable ? V8_IS_RESIZABLE : 0) | (uint32_t)len;
    return add_object(s, *buffer);
}

/* After V8_VIEW. */
static bool scan_view(struct scan *s, uint32_t buffer)
{
    struct v8_reader *r = s->r;
    uint64_t offset = 0, len = 0, flags = 0, whole = buffer & V8_LOW_BITS;
    const uint8_t *from = r->at;
    struct slice kind;
    if (!v8_take(r, 1, &kind)) return false;
    size_t element = v8_view_element(*kind.data);
    if (element == 0) return v8_fail(r, from, "view of unknown kind");
    if (!v8_varint(r, LENGTH_MAX, &offset) || !v8_varint(r, LENGTH_MAX, &len)) return false;
    if (r->version >= 14 && !v8_varint(r, UINT32_MAX, &flags)) return false;
    if (offset > whole || len > whole - offset) {
        return v8_fail(r, from, "view beyond the end of its buffer");
    }
    if (offset % element != 0 || len % element != 0) {
        return v8_fail(r, from, "view that is not a whole number of elements");
    }
    if ((flags & 3) != 0 && (buffer & V8_IS_RESIZABLE) == 0) {
        return v8_fail(r, from, "growable view of a fixed buffer");
    }
    return add_object(s, 0);
}

static bool scan_host(struct scan *s)
{
    struct v8_reader *r = s->r;
    uint64_t index = 0;
    struct slice bytes;
    const uint8_t *from = r->at;
    if (!v8_varint(r, UINT32_MAX, &index)) return false;
    if (index == V8_HOST_DENO) return scan_any(s);
    size_t element = v8_view_element(v8_host_view(index));
    if (element == 0) return v8_fail(r, from, "host object of unknown kind");
    if (!v8_sized(r, &bytes)) return false;
    return bytes.len % element == 0 ||
           v8_fail(r, from, "view that is not a whole number of elements");
}

static bool scan_again(struct scan *s, uint32_t *object)
{
    struct v8_reader *r = s->r;
    uint64_t number = 0;
    const uint8_t *from = r->at;
    if (!v8_varint(r, UINT32_MAX, &number)) return false;
    if (number >= s->objects->len / sizeof *object) {
        return v8_fail(r, from, "reference to an object that does not precede it");
    }
    uint8_t *at = s->objects->data + (size_t)number * sizeof *object;
    *object = get_u32_little(at);
    put_u32_little(at, *object | V8_IS_USED_AGAIN);
    return true;
}

static bool scan_object(struct scan *s, uint8_t tag, const uint8_t *from)
{
    struct slice bytes;
    bool is_negative = false;
    if (!add_object(s, 0)) return false;
    switch (tag) {
    case V8_OBJECT: return scan_properties(s, V8_OBJECT_END);
    case V8_DENSE:
    case V8_SPARSE: return scan_array(s, tag == V8_DENSE);
    case V8_MAP: return scan_items(s, V8_MAP_END);
    case V8_SET: return scan_items(s, V8_SET_END);
    case V8_DATE:
    case V8_BOXED_NUMBER: return v8_take(s->r, 8, &bytes);
    case V8_BOXED_TRUE:
    case V8_BOXED_FALSE: return true;
    case V8_BOXED_STRING: return scan_string(s);
    case V8_BOXED_BIGINT: return v8_bigint(s->r, &is_negative, &bytes);
    case V8_REGEXP: return scan_regexp(s);
    case V8_ERROR: return scan_error(s);
    case V8_HOST: return scan_host(s);
    default: return v8_fail(s->r, from, "unknown tag");
    }
}

static bool scan_scalar(struct scan *s, uint8_t tag, bool *is_scalar)
{
    struct v8_reader *r = s->r;
    const uint8_t *from = r->at;
    struct slice bytes = {0};
    uint64_t n = 0;
    bool is_negative = false;
    *is_scalar = true;
    switch (tag) {
    case V8_UNDEFINED:
    case V8_NULL:
    case V8_TRUE:
    case V8_FALSE: return true;
    case V8_INT:
    case V8_UINT: return v8_varint(r, UINT32_MAX, &n);
    case V8_DOUBLE: return v8_take(r, 8, &bytes);
    case V8_BIGINT: return v8_bigint(r, &is_negative, &bytes);
    case V8_LATIN1:
    case V8_UTF8: return v8_sized(r, &bytes);
    case V8_UTF16:
        if (!v8_sized(r, &bytes)) return false;
        return bytes.len % 2 == 0 || v8_fail(r, from, "incomplete code unit");
    default: *is_scalar = false; return true;
    }
}

static bool scan_value(struct scan *s, uint8_t *tag)
{
    struct v8_reader *r = s->r;
    uint32_t buffer = 0;
    bool is_scalar = false, ok = false;
    if (!v8_tag(r, tag)) return false;
    const uint8_t *from = r->at - 1;
    if (!scan_scalar(s, *tag, &is_scalar)) return false;
    if (is_scalar) return true;
    if (++s->depth > V8_DEPTH_MAX) return v8_fail(r, from, "deeper than 512 levels");
    if (*tag == V8_BUFFER || *tag == V8_RESIZABLE) {
        ok = scan_buffer(s, *tag == V8_RESIZABLE, &buffer);
    } else if (*tag == V8_AGAIN) {
        ok = scan_again(s, &buffer);
    } else {
        ok = scan_object(s, *tag, from);
    }
    if (ok && (buffer & V8_IS_BUFFER) != 0 && v8_peek(r) == V8_VIEW) {
        r->at++;
        ok = scan_view(s, buffer);
    }
    s->depth--;
    return ok;
}

bool v8_scan(struct v8_reader *r, struct slice bytes, struct buf *objects)
{
    struct scan s = {.r = r, .objects = objects};
    objects->len = 0;
    return v8_begin(r, bytes) && scan_any(&s);
}
