/* v8_read: V8's bytes -> the stored form. They have passed v8_scan, which also noted which objects
 * are used again; so this is one pass that gives an id to those as they begin. What it meets that
 * has no form of ours ends it, and the whole value is kept as it came.
 *
 * A typed array stands for its elements: what else its buffer holds does not belong to the value,
 * unless the buffer is part of the value too; then both are kept as they came.
 */
#include "base/bytes.h"
#include "codec/names.h"
#include "codec/number.h"
#include "codec/utf8.h"
#include "codec/v8.h"
#include "codec/value.h"
#include "foreign/foreign_int.h"
#include "foreign/v8.h"

#define INPUT_BYTES_MAX ((size_t)128 << 20) /* nothing grows by more than 12 times: 32 bits do */

struct read {
    struct v8_reader r;
    struct buf *out;
    struct buf objects; /* of v8_scan; when it has begun, an object used again has its id here */
    size_t next;        /* number of the next object */
    uint32_t id_last;
    unsigned depth; /* in the stored form, as value_check counts */
    struct names names;
};

static bool read_value(struct read *r);

static bool enter(struct read *r)
{
    return ++r->depth <= VALUE_DEPTH_MAX;
}

static uint8_t *object_at(struct read *r, size_t number)
{
    return r->objects.data + number * sizeof(uint32_t);
}

static size_t left(const struct read *r)
{
    return (size_t)(r->r.end - r->r.at);
}

/* A value around which there is an id. */
struct shared {
    size_t opened, room; /* room 0: it has none */
};

static bool open_shared(struct read *r, size_t number, struct shared *s)
{
    uint32_t object = get_u32_little(object_at(r, number));
    *s = (struct shared){0};
    if ((object & V8_IS_USED_AGAIN) == 0) return true;
    put_u32_little(object_at(r, number), ++r->id_last);
    s->room = foreign_room(left(r)) + 1;
    s->opened = pack_open(r->out, s->room);
    pack_uint(r->out, r->id_last);
    return enter(r);
}

static bool close_shared(struct read *r, const struct shared *s)
{
    if (s->room == 0) return true;
    foreign_close_ext(r->out, s->opened, s->room, EXT_ID, 2);
    r->depth--;
    return true;
}

static bool read_again(struct read *r)
{
    uint64_t number = 0;
    uint8_t body[PACK_HEAD_BYTES];
    if (!v8_varint(&r->r, UINT32_MAX, &number)) return false;
    uint32_t object = get_u32_little(object_at(r, (size_t)number));
    struct buf *out = r->out;
    size_t from = out->len;
    pack_uint(out, object);
    if (out->is_failed) return false;
    size_t len = out->len - from;
    memcpy(body, out->data + from, len);
    out->len = from;
    pack_ext(out, EXT_REF, slice_of(body, len));
    return true; /* a view of it may follow, which is not read: then there is no form */
}

static bool read_string(struct read *r, uint8_t tag)
{
    struct slice s;
    if (!v8_sized(&r->r, &s)) return false;
    if (tag == V8_UTF16) return foreign_pack_utf16(r->out, s);
    if (tag == V8_UTF8) {
        if (utf8_valid_bytes(s) != s.len) return false;
        pack_str(r->out, s);
        return true;
    }
    if (tag != V8_LATIN1) return false;
    foreign_pack_latin1(r->out, s);
    return true;
}

static bool read_tagged_string(struct read *r)
{
    uint8_t tag = 0;
    return v8_tag(&r->r, &tag) && read_string(r, tag);
}

static bool read_bigint(struct read *r)
{
    bool is_negative = false;
    struct slice digits;
    if (!v8_bigint(&r->r, &is_negative, &digits)) return false;
    struct buf *out = r->out;
    /* Turned round above what is written. */
    uint8_t *big = buf_reserve(out, 2 * digits.len + PACK_HEAD_BYTES * 2);
    if (big == NULL) return false;
    big += digits.len + PACK_HEAD_BYTES * 2;
    for (size_t i = 0; i < digits.len; i++) big[digits.len - 1 - i] = digits.data[i];
    foreign_pack_bigint(out, is_negative, slice_of(big, digits.len));
    return true;
}

static bool read_number(struct read *r, uint8_t tag)
{
    uint64_t n = 0;
    double d = 0;
    if (tag == V8_DOUBLE) {
        if (!v8_double(&r->r, &d)) return false;
        foreign_pack_number(r->out, d);
        return true;
    }
    if (!v8_varint(&r->r, UINT32_MAX, &n)) return false;
    if (tag == V8_UINT) {
        pack_uint(r->out, n);
    } else {
        pack_int(r->out, (int64_t)(n >> 1) ^ -(int64_t)(n & 1));
    }
    return true;
}

/* What was appended from `start` on, as `names` tells keys apart. False: memory ran out. */
static bool name_of(struct read *r, size_t start, struct name *name, bool *is_text)
{
    if (r->out->is_failed) return false;
    const uint8_t *at = r->out->data + start;
    struct pack_item item = {0};
    *name = (struct name){.at = start, .tag = (r->out->len - start) * 2};
    *is_text = pack_read(&at, r->out->data + r->out->len, &item) == PACK_OK &&
               item.type == PACK_STR;
    if (!*is_text) return true;
    name->at = (size_t)(item.body.data - r->out->data);
    name->tag = item.body.len * 2 + 1;
    return true;
}

/* A number that is a name: its digits. */
static bool read_digits(struct read *r, uint8_t tag)
{
    char text[NUMBER_TEXT_BYTES];
    size_t start = r->out->len;
    struct pack_item item = {0};
    if (!read_number(r, tag) || r->out->is_failed) return false;
    const uint8_t *at = r->out->data + start;
    if (pack_read(&at, r->out->data + r->out->len, &item) != PACK_OK) return false;
    if (item.type != PACK_UINT && item.type != PACK_INT) return false; /* never written */
    double d = item.type == PACK_INT ? (double)item.i : (double)item.u;
    r->out->len = start;
    pack_str(r->out, slice_of(text, number_format(d, text)));
    return true;
}

static bool read_name(struct read *r, struct name *name)
{
    uint8_t tag = 0;
    bool is_text = false;
    size_t start = r->out->len;
    if (!v8_tag(&r->r, &tag)) return false;
    bool is_number = tag == V8_INT || tag == V8_UINT || tag == V8_DOUBLE;
    bool ok = is_number ? read_digits(r, tag) : read_string(r, tag);
    return ok && name_of(r, start, name, &is_text);
}

static bool read_object(struct read *r)
{
    uint8_t head[PACK_HEAD_BYTES];
    size_t from = r->names.count, count = 0;
    uint64_t told = 0;
    size_t opened = pack_open(r->out, 1);
    if (!enter(r)) return false;
    for (; v8_peek(&r->r) != V8_OBJECT_END; count++) {
        struct name name;
        if (!read_name(r, &name)) return false;
        if (!names_add(&r->names, from, r->out->data, name.at, name.tag, 0)) return false;
        if (!read_value(r)) return false;
    }
    r->r.at++;
    r->depth--;
    if (r->out->is_failed || names_end(&r->names, from, r->out->data) != NULL) return false;
    pack_close(r->out, opened, 1, head, pack_head(PACK_MAP, 0, count, head));
    return v8_varint(&r->r, UINT64_MAX, &told);
}

/* The counts of properties and elements, which the scan has compared. */
static bool end_array(struct read *r)
{
    uint64_t properties = 0, elements = 0;
    r->r.at++;
    r->depth--;
    if (!v8_varint(&r->r, UINT64_MAX, &properties)) return false;
    return v8_varint(&r->r, UINT64_MAX, &elements);
}

static bool read_dense(struct read *r)
{
    uint8_t head[PACK_HEAD_BYTES];
    uint64_t length = 0;
    if (!enter(r) || !v8_varint(&r->r, UINT32_MAX, &length)) return false;
    buf_append(r->out, head, pack_head(PACK_ARRAY, 0, (size_t)length, head));
    for (uint64_t i = 0; i < length; i++) {
        if (v8_peek(&r->r) == V8_HOLE || !read_value(r)) return false;
    }
    if (v8_peek(&r->r) != V8_DENSE_END) return false;
    return end_array(r);
}

/* V8 writes so what has, or had, holes; all elements may be there nevertheless. */
static bool read_sparse(struct read *r)
{
    uint8_t head[PACK_HEAD_BYTES];
    uint64_t length = 0, index = 0;
    uint8_t tag = 0;
    if (!enter(r) || !v8_varint(&r->r, UINT32_MAX, &length)) return false;
    if (length > left(r)) return false;
    buf_append(r->out, head, pack_head(PACK_ARRAY, 0, (size_t)length, head));
    for (uint64_t i = 0; i < length; i++) {
        if (v8_peek(&r->r) != V8_INT) return false;
        if (!v8_tag(&r->r, &tag) || !v8_varint(&r->r, UINT32_MAX, &index)) return false;
        if (index != 2 * i || !read_value(r)) return false;
    }
    if (v8_peek(&r->r) != V8_SPARSE_END) return false;
    return end_array(r);
}

static bool read_map(struct read *r)
{
    uint8_t head[PACK_HEAD_BYTES];
    bool is_text = true; /* every key so far is a string */
    uint64_t told = 0;
    size_t from = r->names.count, count = 0;
    size_t room = foreign_room(left(r)) + 1, opened = pack_open(r->out, room);
    if (!enter(r)) return false;
    for (; v8_peek(&r->r) != V8_MAP_END; count++) {
        size_t start = r->out->len;
        struct name name;
        bool is_string = false;
        if (!read_value(r) || !name_of(r, start, &name, &is_string)) return false;
        is_text = is_text && is_string;
        if (!names_add(&r->names, from, r->out->data, name.at, name.tag, 0)) return false;
        if (!read_value(r)) return false;
    }
    r->r.at++;
    r->depth--;
    if (r->out->is_failed || names_end(&r->names, from, r->out->data) != NULL) return false;
    if (is_text) {
        foreign_close_ext(r->out, opened, room, EXT_MAP, 2 * count);
    } else {
        pack_close(r->out, opened, room, head, pack_head(PACK_MAP, 0, count, head));
    }
    return v8_varint(&r->r, UINT64_MAX, &told);
}

static bool read_set(struct read *r)
{
    uint64_t told = 0;
    size_t count = 0;
    size_t room = foreign_room(left(r)) + 1, opened = pack_open(r->out, room);
    if (!enter(r)) return false;
    for (; v8_peek(&r->r) != V8_SET_END; count++) {
        if (!read_value(r)) return false;
    }
    r->r.at++;
    r->depth--;
    foreign_close_ext(r->out, opened, room, EXT_SET, count);
    return v8_varint(&r->r, UINT64_MAX, &told);
}

static bool read_date(struct read *r)
{
    double ms = 0;
    if (!v8_double(&r->r, &ms)) return false;
    foreign_pack_date(r->out, ms);
    return true;
}

static bool read_regexp(struct read *r)
{
    uint64_t flags = 0;
    char text[8];
    size_t len = 0;
    size_t room = foreign_room(left(r)) + 1, opened = pack_open(r->out, room);
    if (!read_tagged_string(r) || !v8_varint(&r->r, UINT32_MAX, &flags)) return false;
    for (size_t i = 0; i < FOREIGN_FLAGS; i++) {
        if ((flags & foreign_flags[i].bit) != 0) text[len++] = foreign_flags[i].letter;
    }
    pack_str(r->out, slice_of(text, len));
    foreign_close_ext(r->out, opened, room, EXT_REGEXP, 2);
    return true;
}

/* Puts what was appended from `middle` on before what was appended from `from` on. */
static void swap_parts(struct buf *out, size_t from, size_t middle)
{
    size_t len = out->len - middle;
    if (buf_reserve(out, len) == NULL) return;
    uint8_t *p = out->data + from;
    memcpy(out->data + out->len, out->data + middle, len);
    memmove(p + len, p, middle - from);
    memcpy(p, out->data + out->len, len);
}

/* Stack and cause, in either order as V8 has written them at different times; the stack comes first
 * in the stored form. Each once at most, and the rest before them: else false. */
static bool read_error_rest(struct read *r, unsigned *members)
{
    size_t cause_at = 0;
    bool has_stack = false;
    for (;;) {
        struct slice part;
        if (!v8_take(&r->r, 1, &part)) return false;
        size_t from = r->out->len;
        switch (*part.data) {
        case V8_ERROR_END: return true;
        case V8_ERROR_STACK:
            if (has_stack) return false;
            has_stack = true;
            pack_str(r->out, slice_str("stack"));
            if (!read_tagged_string(r)) return false;
            if (cause_at != 0) swap_parts(r->out, cause_at, from);
            break;
        case V8_ERROR_CAUSE:
            if (cause_at != 0) return false;
            cause_at = from;
            pack_str(r->out, slice_str("cause"));
            if (!read_value(r)) return false;
            break;
        default: return false;
        }
        ++*members;
    }
}

static bool read_error(struct read *r)
{
    unsigned members = 2;
    size_t room = foreign_room(left(r)), opened = pack_open(r->out, room);
    size_t head_at = r->out->len;
    const char *name = r->r.at < r->r.end ? v8_error_name(*r->r.at) : NULL;
    if (name != NULL) r->r.at++;
    if (!enter(r)) return false;
    buf_append_byte(r->out, 0x80);
    pack_str(r->out, slice_str("name"));
    pack_str(r->out, slice_str(name != NULL ? name : "Error"));
    pack_str(r->out, slice_str("message"));
    if (r->r.at < r->r.end && *r->r.at == V8_ERROR_MESSAGE) {
        r->r.at++;
        if (!read_tagged_string(r)) return false;
    } else {
        pack_str(r->out, slice_of(NULL, 0));
    }
    if (!read_error_rest(r, &members) || r->out->is_failed) return false;
    r->depth--;
    r->out->data[head_at] = (uint8_t)(0x80 + members);
    foreign_close_ext(r->out, opened, room, EXT_ERROR, SIZE_MAX);
    return true;
}

static void pack_elements(struct buf *out, uint8_t code, struct slice elements)
{
    uint8_t head[PACK_HEAD_BYTES];
    if (code == FOREIGN_UINT8) {
        pack_bin(out, elements);
        return;
    }
    buf_append(out, head, pack_head(PACK_EXT, EXT_TYPED, elements.len + 1, head));
    buf_append_byte(out, code);
    buf_append(out, elements.data, elements.len);
}

static bool read_view(struct read *r, struct slice buffer)
{
    struct shared shared;
    struct slice kind;
    uint64_t offset = 0, len = 0, flags = 0;
    r->r.at++;
    if (!v8_take(&r->r, 1, &kind)) return false;
    if (!v8_varint(&r->r, UINT32_MAX, &offset) || !v8_varint(&r->r, UINT32_MAX, &len)) return false;
    if (r->r.version >= 14 && !v8_varint(&r->r, UINT32_MAX, &flags)) return false;
    int code = foreign_code_of_view(*kind.data);
    if (flags != 0 || code < 0) return false;
    if (!open_shared(r, r->next++, &shared)) return false;
    pack_elements(r->out, (uint8_t)code, slice_of(buffer.data + offset, (size_t)len));
    return close_shared(r, &shared);
}

static bool read_buffer(struct read *r)
{
    struct shared shared;
    struct slice bytes;
    size_t number = r->next++;
    if (!v8_sized(&r->r, &bytes)) return false;
    bool is_view = v8_peek(&r->r) == V8_VIEW;
    uint32_t object = get_u32_little(object_at(r, number));
    if (is_view) return (object & V8_IS_USED_AGAIN) == 0 && read_view(r, bytes);
    if (!open_shared(r, number, &shared)) return false;
    pack_elements(r->out, FOREIGN_BUFFER, bytes);
    return close_shared(r, &shared);
}

/* A view as Node writes it. */
static bool read_host(struct read *r)
{
    uint64_t index = 0;
    struct slice bytes;
    if (!v8_varint(&r->r, UINT32_MAX, &index) || index == V8_HOST_DENO) return false;
    int code = foreign_code_of_view(v8_host_view(index));
    if (code < 0 || !v8_sized(&r->r, &bytes)) return false;
    pack_elements(r->out, (uint8_t)code, bytes);
    return true;
}

static bool read_numbered(struct read *r, uint8_t tag)
{
    static bool (*const readers[])(struct read *) = {
        [V8_OBJECT] = read_object, [V8_DENSE] = read_dense, [V8_SPARSE] = read_sparse,
        [V8_MAP] = read_map,       [V8_SET] = read_set,     [V8_DATE] = read_date,
        [V8_REGEXP] = read_regexp, [V8_ERROR] = read_error, [V8_HOST] = read_host,
    };
    struct shared shared;
    if (tag >= sizeof readers / sizeof *readers || readers[tag] == NULL) return false;
    if (!open_shared(r, r->next++, &shared)) return false;
    return readers[tag](r) && close_shared(r, &shared);
}

/* False: it has no form of ours, or an append was lost. */
static bool read_value(struct read *r)
{
    uint8_t tag = 0;
    if (!v8_tag(&r->r, &tag)) return false;
    switch (tag) {
    case V8_UNDEFINED: pack_ext(r->out, EXT_UNDEFINED, slice_of("\0", 1)); return true;
    case V8_NULL: buf_append_byte(r->out, 0xc0); return true;
    case V8_TRUE: buf_append_byte(r->out, 0xc3); return true;
    case V8_FALSE: buf_append_byte(r->out, 0xc2); return true;
    case V8_INT:
    case V8_UINT:
    case V8_DOUBLE: return read_number(r, tag);
    case V8_BIGINT: return read_bigint(r);
    case V8_LATIN1:
    case V8_UTF16:
    case V8_UTF8: return read_string(r, tag);
    case V8_AGAIN: return read_again(r);
    case V8_BUFFER: return read_buffer(r);
    default: return read_numbered(r, tag);
    }
}

static enum err convert(struct read *r, struct slice v8, struct error *e)
{
    size_t from = r->out->len;
    bool ok = v8_scan(&r->r, v8, &r->objects);
    if (!ok && r->r.is_nomem) return error_set(e, ERR_NOMEM, "out of memory");
    if (!ok) {
        return error_set(e, ERR_VALUE, "invalid V8 value: %s at offset %zu", r->r.why, r->r.where);
    }
    ok = v8_begin(&r->r, v8) && read_value(r);
    if (!ok && !r->out->is_failed && !r->names.is_failed) {
        r->out->len = from;
        pack_ext(r->out, EXT_V8, v8);
    }
    if (!r->out->is_failed && !r->names.is_failed) return OK;
    r->out->len = from;
    return error_set(e, ERR_NOMEM, "out of memory");
}

enum err v8_to_value(struct slice v8, struct buf *out, struct error *e)
{
    struct read r = {.out = out};
    if (v8.len > INPUT_BYTES_MAX) {
        return error_set(e, ERR_LIMIT, "V8 value is larger than %zu bytes", INPUT_BYTES_MAX);
    }
    buf_init(&r.objects);
    names_init(&r.names);
    enum err err = convert(&r, v8, e);
    names_fini(&r.names);
    buf_fini(&r.objects);
    return err;
}
