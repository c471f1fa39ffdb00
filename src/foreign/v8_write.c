/* v8_write: the stored form -> V8's bytes, one pass.
 *
 * A map is begun as an object; when a key turns out to be no string, its tag becomes that of a Map,
 * whose pairs have the same form. So names like "1" are written as strings, where V8 would write
 * numbers; it reads both.
 *
 * Numbers of objects: V8 counts all of them as they begin, so what has an id gets the number that
 * is next when its first byte is written. Ids wait in a list (`waiting`) for that; those still
 * waiting when the value has been written are of a scalar, which has no number.
 */
#include <math.h>

#include "base/bytes.h"
#include "codec/bigint.h"
#include "codec/collection.h"
#include "codec/date.h"
#include "codec/number.h"
#include "codec/v8.h"
#include "codec/value.h"
#include "foreign/foreign_int.h"
#include "foreign/shared.h"
#include "foreign/v8.h"

#define VERSION 15            /* 16 differs only above 4 GB, and Node reads up to 15 */
#define COPIES_MIN (1u << 16) /* bytes of scalars that are shared, in all; more for large values */

struct write {
    struct buf *out;
    size_t start;
    struct slice value;
    struct shared_ids ids;
    struct shared_id *waiting;
    bool has_ids;
    uint32_t next;      /* number of the next object */
    size_t copies_left; /* bytes */
    enum err err;
    struct error *e;
};

static void write_value(struct write *w, const uint8_t **at, const uint8_t *end);

static void w_fail(struct write *w, enum err err, const char *why)
{
    if (w->err == OK) w->err = error_set(w->e, err, "%s", why);
}

static void w_byte(struct write *w, uint8_t byte)
{
    buf_append_byte(w->out, byte);
}

static void w_varint(struct write *w, uint64_t n)
{
    uint8_t *to = buf_reserve(w->out, 10);
    if (to == NULL) return;
    for (; n >= 0x80; n >>= 7) *to++ = (uint8_t)(n | 0x80);
    *to++ = (uint8_t)n;
    w->out->len = (size_t)(to - w->out->data);
}

static void w_double(struct write *w, double d)
{
    buf_append(w->out, &d, sizeof d);
}

static unsigned w_varint_bytes(uint64_t n)
{
    unsigned bytes = 1;
    for (; n >= 0x80; n >>= 7) bytes++;
    return bytes;
}

static void w_string(struct write *w, struct slice utf8)
{
    struct foreign_text text = foreign_measure(utf8);
    size_t bytes = text.is_latin1 ? text.units : 2 * text.units;
    if (!text.is_latin1) {
        /* Units must lie at an even offset. */
        size_t at = w->out->len - w->start + 1 + w_varint_bytes(bytes);
        if (at % 2 != 0) w_byte(w, V8_PADDING);
    }
    w_byte(w, text.is_latin1 ? V8_LATIN1 : V8_UTF16);
    w_varint(w, bytes);
    uint8_t *to = buf_reserve(w->out, bytes);
    if (to == NULL) return;
    w->out->len += bytes;
    if (text.is_latin1) {
        foreign_to_latin1(utf8, to);
    } else {
        foreign_to_utf16(utf8, to);
    }
}

static void w_number(struct write *w, double d)
{
    if (d >= INT32_MIN && d <= INT32_MAX && trunc(d) == d && !(d == 0 && signbit(d))) {
        int64_t i = (int64_t)d;
        w_byte(w, V8_INT);
        w_varint(w, i < 0 ? (uint64_t)(-2 * i - 1) : (uint64_t)i * 2);
    } else {
        w_byte(w, V8_DOUBLE);
        w_double(w, isnan(d) ? (double)NAN : d);
    }
}

/* `twos` is of any length. V8 writes whole words. */
static void w_bigint(struct write *w, struct slice twos)
{
    bool is_negative = false;
    uint8_t *big = buf_reserve(w->out, 2 * twos.len + 20);
    if (big == NULL) return;
    big += twos.len + 20; /* above what is written below */
    size_t len = bigint_from_twos(twos, &is_negative, big);
    size_t bytes = (len + 7) / 8 * 8;
    w_byte(w, V8_BIGINT);
    w_varint(w, (uint64_t)bytes * 2 + is_negative);
    uint8_t *to = w->out->data + w->out->len;
    for (size_t i = 0; i < len; i++) *to++ = big[len - 1 - i];
    memset(to, 0, bytes - len);
    w->out->len += bytes;
}

static void w_u64(struct write *w, uint64_t u)
{
    uint8_t twos[9] = {0};
    put_u64(twos + 1, u);
    w_bigint(w, slice_of(twos, sizeof twos));
}

static void w_integer(struct write *w, const struct pack_item *item)
{
    bool is_negative = item->type == PACK_INT;
    uint64_t magnitude = is_negative ? 0 - (uint64_t)item->i : item->u;
    if (magnitude <= NUMBER_SAFE_MAX) {
        w_number(w, is_negative ? -(double)magnitude : (double)magnitude);
        return;
    }
    w_byte(w, V8_BIGINT);
    w_varint(w, 16 + is_negative);
    buf_append(w->out, &magnitude, sizeof magnitude);
}

/* An object begins: its number is that of all who wait for it. */
static void w_object(struct write *w, uint8_t tag)
{
    for (; w->waiting != NULL; w->waiting = w->waiting->next) {
        w->waiting->state = SHARED_OBJECT;
        w->waiting->number = w->next;
    }
    w->next++;
    w_byte(w, tag);
}

static void w_elements(struct write *w, uint8_t view, struct slice elements)
{
    if (view == 0) {
        w_object(w, V8_BUFFER);
    } else {
        w->next++; /* who waits, waits for the view */
        w_byte(w, V8_BUFFER);
    }
    w_varint(w, elements.len);
    buf_append(w->out, elements.data, elements.len);
    if (view == 0) return;
    w_object(w, V8_VIEW);
    w_byte(w, view);
    w_varint(w, 0);
    w_varint(w, elements.len);
    w_varint(w, 0);
}

static void w_array(struct write *w, uint32_t count, const uint8_t **at, const uint8_t *end)
{
    w_object(w, V8_DENSE);
    w_varint(w, count);
    for (uint32_t i = 0; i < count; i++) write_value(w, at, end);
    w_byte(w, V8_DENSE_END);
    w_varint(w, 0);
    w_varint(w, count);
}

static void w_map(struct write *w, uint32_t count, const uint8_t **at, const uint8_t *end)
{
    bool is_map = false;
    size_t tag_at = w->out->len;
    w_object(w, V8_OBJECT);
    for (uint32_t i = 0; i < count; i++) {
        is_map |= *at < end && (**at & 0xe0) != 0xa0 && (**at < 0xd9 || **at > 0xdb);
        write_value(w, at, end);
        write_value(w, at, end);
    }
    if (is_map && !w->out->is_failed) w->out->data[tag_at] = V8_MAP;
    w_byte(w, is_map ? V8_MAP_END : V8_OBJECT_END);
    w_varint(w, is_map ? 2 * (uint64_t)count : count);
}

/* A Map whose payload is an array of keys and values, or a Set. */
static void w_collection(struct write *w, uint8_t tag, uint8_t tag_end, struct slice body)
{
    const uint8_t *at = body.data, *end = at + body.len;
    struct pack_item head = {0};
    if (pack_read(&at, end, &head) != PACK_OK) return;
    w_object(w, tag);
    for (uint32_t i = 0; i < head.count; i++) write_value(w, &at, end);
    w_byte(w, tag_end);
    w_varint(w, head.count);
}

static void w_date(struct write *w, struct slice body)
{
    int64_t ms = 0;
    bool is_invalid = false;
    w_object(w, V8_DATE);
    bool is_date = date_from_ext(body, &ms, &is_invalid) && !is_invalid;
    w_double(w, is_date ? (double)ms : (double)NAN);
}

static void w_regexp(struct write *w, struct slice body)
{
    const uint8_t *at = body.data, *end = at + body.len;
    struct pack_item head, source = {0}, flags = {0};
    if (pack_read(&at, end, &head) != PACK_OK || pack_read(&at, end, &source) != PACK_OK) return;
    if (pack_read(&at, end, &flags) != PACK_OK) return;
    unsigned bits = 0;
    for (size_t i = 0; i < flags.body.len; i++) {
        unsigned bit = 0;
        for (size_t j = 0; j < FOREIGN_FLAGS; j++) {
            if (flags.body.data[i] == (uint8_t)foreign_flags[j].letter) bit = foreign_flags[j].bit;
        }
        if (bit == 0 || (bits & bit) != 0) {
            w_fail(w, ERR_VALUE, "RegExp with flags that JavaScript does not have");
        }
        bits |= bit;
    }
    w_object(w, V8_REGEXP);
    w_string(w, source.body);
    w_varint(w, bits);
}

static uint8_t w_prototype(struct slice name)
{
    for (const char *p = "ERFSTU"; *p != '\0'; p++) {
        if (slice_eq(name, slice_str(v8_error_name((uint8_t)*p)))) return (uint8_t)*p;
    }
    return 0;
}

/* Where the members of an Error are; NULL: it has none. */
struct w_members {
    struct slice name, message, stack;
    const uint8_t *cause;
};

static void w_find_members(struct slice body, struct w_members *m)
{
    const uint8_t *at = body.data, *end = at + body.len;
    struct pack_item head = {0}, name = {0}, item = {0};
    *m = (struct w_members){0};
    if (pack_read(&at, end, &head) != PACK_OK) return;
    for (uint32_t i = 0; i < head.count; i++) {
        if (pack_read(&at, end, &name) != PACK_OK) return;
        if (slice_eq(name.body, slice_str("cause"))) {
            m->cause = at;
            at += value_length(slice_of(at, (size_t)(end - at)));
            continue;
        }
        if (pack_read(&at, end, &item) != PACK_OK) return;
        bool is_stack = slice_eq(name.body, slice_str("stack"));
        struct slice *member = is_stack                                 ? &m->stack
                               : slice_eq(name.body, slice_str("name")) ? &m->name
                                                                        : &m->message;
        *member = item.body;
    }
}

static void w_error(struct write *w, struct slice body)
{
    struct w_members m;
    w_find_members(body, &m);
    uint8_t prototype = w_prototype(m.name);
    w_object(w, V8_ERROR);
    if (prototype != 0) w_byte(w, prototype);
    if (m.message.len > 0) {
        w_byte(w, V8_ERROR_MESSAGE);
        w_string(w, m.message);
    }
    if (m.stack.data != NULL) {
        w_byte(w, V8_ERROR_STACK);
        w_string(w, m.stack);
    }
    if (m.cause != NULL) {
        w_byte(w, V8_ERROR_CAUSE);
        write_value(w, &m.cause, body.data + body.len);
    }
    w_byte(w, V8_ERROR_END);
}

/* [id, value] */
static void w_shared(struct write *w, struct slice body)
{
    const uint8_t *at = body.data, *end = at + body.len;
    struct pack_item head, id = {0};
    if (!w->has_ids && !shared_gather(&w->ids, w->value)) {
        w_fail(w, ERR_NOMEM, "out of memory");
        return;
    }
    w->has_ids = true;
    if (pack_read(&at, end, &head) != PACK_OK || pack_read(&at, end, &id) != PACK_OK) return;
    struct shared_id *shared = shared_find(&w->ids, (uint32_t)id.u);
    shared->next = w->waiting;
    w->waiting = shared;
    const uint8_t *scalar = at;
    write_value(w, &at, end);
    for (; w->waiting != NULL; w->waiting = w->waiting->next) {
        w->waiting->state = SHARED_SCALAR;
        w->waiting->scalar = slice_of(scalar, (size_t)(at - scalar));
    }
}

static void w_again(struct write *w, struct slice body)
{
    const uint8_t *at = body.data;
    struct pack_item id = {0};
    if (w->err != OK || pack_read(&at, at + body.len, &id) != PACK_OK) return;
    const struct shared_id *shared = shared_find(&w->ids, (uint32_t)id.u);
    if (shared->state == SHARED_OPEN) {
        w_fail(w, ERR_VALUE, "shared value that refers only to itself");
        return;
    }
    for (; w->waiting != NULL; w->waiting = w->waiting->next) {
        w->waiting->state = shared->state;
        w->waiting->number = shared->number;
        w->waiting->scalar = shared->scalar;
    }
    if (shared->state == SHARED_OBJECT) {
        w_byte(w, V8_AGAIN);
        w_varint(w, shared->number);
        return;
    }
    if (shared->scalar.len > w->copies_left) {
        w_fail(w, ERR_LIMIT, "copies of shared text and numbers would be too large");
        return;
    }
    w->copies_left -= shared->scalar.len;
    at = shared->scalar.data;
    write_value(w, &at, at + shared->scalar.len);
}

static void w_ext(struct write *w, int8_t ext, struct slice body)
{
    switch (ext) {
    case EXT_UNDEFINED: w_byte(w, V8_UNDEFINED); break;
    case EXT_BIGINT: w_bigint(w, body); break;
    case EXT_U64: w_u64(w, get_u64(body.data)); break;
    case EXT_DATE: w_date(w, body); break;
    case EXT_SET: w_collection(w, V8_SET, V8_SET_END, body); break;
    case EXT_MAP: w_collection(w, V8_MAP, V8_MAP_END, body); break;
    case EXT_REGEXP: w_regexp(w, body); break;
    case EXT_ERROR: w_error(w, body); break;
    case EXT_TYPED:
        w_elements(w, foreign_view_of_code(body.data[0]), slice_of(body.data + 1, body.len - 1));
        break;
    case EXT_ID: w_shared(w, body); break;
    default: w_again(w, body); break;
    }
}

static void write_value(struct write *w, const uint8_t **at, const uint8_t *end)
{
    struct pack_item item;
    if (w->err != OK || pack_read(at, end, &item) != PACK_OK) return;
    switch (item.type) {
    case PACK_NIL: w_byte(w, V8_NULL); break;
    case PACK_BOOL: w_byte(w, item.boolean ? V8_TRUE : V8_FALSE); break;
    case PACK_UINT:
    case PACK_INT: w_integer(w, &item); break;
    case PACK_FLOAT: w_number(w, item.f); break;
    case PACK_STR: w_string(w, item.body); break;
    case PACK_BIN: w_elements(w, 'B', item.body); break;
    case PACK_ARRAY: w_array(w, item.count, at, end); break;
    case PACK_MAP: w_map(w, item.count, at, end); break;
    case PACK_EXT: w_ext(w, item.ext, item.body); break;
    }
}

/* A collection as the object that says what it is. */
static enum err collection_to_v8(struct slice value, struct buf *out, struct error *e)
{
    struct buf shown;
    buf_init(&shown);
    collection_to_msgpack(value, &shown);
    enum err r = shown.is_failed ? error_set(e, ERR_NOMEM, "out of memory")
                                 : value_to_v8(buf_slice(&shown), out, e);
    buf_fini(&shown);
    return r;
}

enum err value_to_v8(struct slice value, struct buf *out, struct error *e)
{
    if (collection_is_head(value)) return collection_to_v8(value, out, e);
    struct write w = {.out = out, .start = out->len, .value = value, .e = e};
    const uint8_t *at = value.data, *end = at + value.len;
    struct pack_item item;
    w.copies_left = value.len > COPIES_MIN ? value.len : COPIES_MIN;
    if (pack_read(&at, end, &item) == PACK_OK && item.type == PACK_EXT && item.ext == EXT_V8) {
        buf_append(out, item.body.data, item.body.len);
    } else {
        at = value.data;
        w_byte(&w, V8_VERSION);
        w_varint(&w, VERSION);
        write_value(&w, &at, end);
    }
    shared_fini(&w.ids);
    if (out->is_failed) w_fail(&w, ERR_NOMEM, "out of memory");
    if (w.err != OK) out->len = w.start;
    return w.err;
}
