/* msgpackr_read: msgpackr's bytes -> the stored form, one pass. What has no form of ours, such as
 * half of a pair of surrogates, is an error here. */
#include "base/bytes.h"
#include "codec/bigint.h"
#include "codec/date.h"
#include "codec/names.h"
#include "codec/utf8.h"
#include "codec/v8.h"
#include "codec/value.h"
#include "foreign/foreign_int.h"
#include "foreign/msgpackr_int.h"

/* The names of a record, which have been checked: where they lie in the input. */
struct record {
    const uint8_t *names; /* NULL: it was not defined */
    uint32_t count;
};

struct unpack {
    const uint8_t *start, *at, *end;
    struct buf *out;
    size_t from, bytes_max;
    enum msgpackr_mode mode;
    unsigned depth;
    enum err err;
    struct error *e;
    struct names names;
    struct record records[MSGPACKR_RECORD_COUNT];
};

static bool u_value(struct unpack *u);

static bool u_fail(struct unpack *u, const uint8_t *where, const char *what)
{
    size_t offset = (size_t)(where - u->start);
    u->err = error_set(u->e, ERR_VALUE, "invalid msgpackr value: %s at offset %zu", what, offset);
    return false;
}

static bool u_nomem(struct unpack *u)
{
    u->err = error_set(u->e, ERR_NOMEM, "out of memory");
    return false;
}

static bool u_enter(struct unpack *u, const uint8_t *where)
{
    if (++u->depth <= VALUE_DEPTH_MAX) return true;
    return u_fail(u, where, "deeper than 128 levels");
}

static bool u_item(struct unpack *u, struct pack_item *item)
{
    const uint8_t *from = u->at;
    enum pack_result result = pack_read(&u->at, u->end, item);
    if (result == PACK_TRUNCATED) return u_fail(u, from, "truncated");
    return result == PACK_OK || u_fail(u, from, "byte c1");
}

static bool u_text(struct unpack *u, struct slice text)
{
    size_t good = utf8_valid_bytes(text);
    return good == text.len ||
           u_fail(u, text.data + good, "not UTF-8, or half of a pair of surrogates");
}

static bool u_string(struct unpack *u, struct slice *text)
{
    const uint8_t *from = u->at;
    struct pack_item item;
    if (!u_item(u, &item)) return false;
    if (item.type != PACK_STR) return u_fail(u, from, "expected a string");
    *text = item.body;
    return u_text(u, item.body);
}

static bool u_array(struct unpack *u, uint32_t *count)
{
    const uint8_t *from = u->at;
    struct pack_item item;
    if (!u_item(u, &item)) return false;
    *count = item.count;
    return item.type == PACK_ARRAY || u_fail(u, from, "something else where an array should be");
}

static bool u_items(struct unpack *u, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!u_value(u)) return false;
    }
    return true;
}

static bool u_no_duplicate(struct unpack *u, size_t names_from, const uint8_t *base)
{
    const struct name *again = names_end(&u->names, names_from, base);
    if (u->out->is_failed || u->names.is_failed) return u_nomem(u);
    return again == NULL || u_fail(u, u->start + again->where, "duplicate key");
}

/* ---- objects and Maps ---- */

/* A record's names: an array of strings. */
static bool u_define(struct unpack *u, uint8_t n)
{
    struct record record = {0};
    size_t from = u->names.count;
    if (n < MSGPACKR_RECORD_FIRST || n >= MSGPACKR_RECORD_FIRST + MSGPACKR_RECORD_COUNT) {
        return u_fail(u, u->at, "record whose number is not one byte from 40 to 7f");
    }
    if (!u_array(u, &record.count)) return false;
    record.names = u->at;
    for (uint32_t i = 0; i < record.count; i++) {
        struct slice text = {0};
        size_t where = (size_t)(u->at - u->start);
        if (!u_string(u, &text)) return false;
        size_t at = (size_t)(text.data - u->start);
        if (!names_add(&u->names, from, u->start, at, text.len * 2 + 1, where)) {
            return u_fail(u, u->start + where, "duplicate key");
        }
    }
    if (!u_no_duplicate(u, from, u->start)) return false;
    u->records[n - MSGPACKR_RECORD_FIRST] = record;
    return true;
}

/* The values of an object whose names are those of record `n`. A value may define it anew. */
static bool u_record(struct unpack *u, uint8_t n, const uint8_t *from)
{
    struct record record = u->records[n - MSGPACKR_RECORD_FIRST];
    uint8_t head[PACK_HEAD_BYTES];
    if (record.names == NULL) return u_fail(u, from, "record that was not defined");
    if (!u_enter(u, from)) return false;
    buf_append(u->out, head, pack_head(PACK_MAP, 0, record.count, head));
    for (uint32_t i = 0; i < record.count; i++) {
        struct pack_item name = {0};
        if (pack_read(&record.names, u->end, &name) != PACK_OK) return false;
        pack_str(u->out, name.body);
        if (!u_value(u)) return false;
    }
    u->depth--;
    return true;
}

static bool u_map(struct unpack *u, uint32_t count, const uint8_t *where)
{
    uint8_t head[PACK_HEAD_BYTES];
    bool is_text = true; /* every key so far is a string */
    size_t from = u->names.count;
    size_t room = foreign_room((size_t)(u->end - u->at)) + 1, opened = pack_open(u->out, room);
    if (!u_enter(u, where)) return false;
    for (uint32_t i = 0; i < count; i++) {
        size_t start = u->out->len;
        struct name name = {.at = start, .where = (size_t)(u->at - u->start)};
        if (!u_value(u)) return false;
        if (u->out->is_failed) return u_nomem(u);
        const uint8_t *key = u->out->data + start;
        struct pack_item item = {0};
        name.tag = (u->out->len - start) * 2;
        if (pack_read(&key, u->out->data + u->out->len, &item) == PACK_OK &&
            item.type == PACK_STR) {
            name.at = (size_t)(item.body.data - u->out->data);
            name.tag = item.body.len * 2 + 1;
        } else {
            is_text = false;
        }
        if (!names_add(&u->names, from, u->out->data, name.at, name.tag, name.where)) {
            return u_fail(u, u->start + name.where, "duplicate key");
        }
        if (!u_value(u)) return false;
    }
    u->depth--;
    if (!u_no_duplicate(u, from, u->out->data)) return false;
    if (is_text && u->mode == MSGPACKR_RECORDS) {
        foreign_close_ext(u->out, opened, room, EXT_MAP, 2 * (size_t)count);
    } else {
        pack_close(u->out, opened, room, head, pack_head(PACK_MAP, 0, count, head));
    }
    return true;
}

/* ---- extensions ---- */

static bool u_set(struct unpack *u, const uint8_t *where)
{
    uint32_t count = 0;
    size_t room = foreign_room((size_t)(u->end - u->at)) + 1, opened = pack_open(u->out, room);
    if (!u_enter(u, where) || !u_array(u, &count) || !u_items(u, count)) return false;
    u->depth--;
    foreign_close_ext(u->out, opened, room, EXT_SET, count);
    return true;
}

static bool u_regexp(struct unpack *u, const uint8_t *where)
{
    uint32_t count = 0;
    struct slice text = {0};
    size_t room = foreign_room((size_t)(u->end - u->at)) + 1, opened = pack_open(u->out, room);
    if (!u_array(u, &count)) return false;
    if (count != 2) return u_fail(u, where, "RegExp that is not [source, flags]");
    for (int i = 0; i < 2; i++) {
        if (!u_string(u, &text)) return false;
        pack_str(u->out, text);
    }
    foreign_close_ext(u->out, opened, room, EXT_REGEXP, 2);
    return true;
}

static bool u_is_undefined(const struct unpack *u)
{
    static const uint8_t undefined[] = {0xd4, 0, 0};
    return u->end - u->at >= 3 && memcmp(u->at, undefined, 3) == 0;
}

static bool u_error(struct unpack *u, const uint8_t *where)
{
    uint32_t count = 0;
    struct slice name = {0}, message = {0};
    size_t room = foreign_room((size_t)(u->end - u->at)), opened = pack_open(u->out, room);
    if (!u_enter(u, where) || !u_array(u, &count)) return false;
    if (count != 2 && count != 3)
        return u_fail(u, where, "Error that is not [name, message, cause]");
    if (!u_string(u, &name) || !u_string(u, &message)) return false;
    bool has_cause = count == 3 && !u_is_undefined(u);
    if (count == 3 && !has_cause) u->at += 3;
    buf_append_byte(u->out, has_cause ? 0x83 : 0x82);
    pack_str(u->out, slice_str("name"));
    pack_str(u->out, name);
    pack_str(u->out, slice_str("message"));
    pack_str(u->out, message);
    if (has_cause) {
        pack_str(u->out, slice_str("cause"));
        if (!u_value(u)) return false;
    }
    u->depth--;
    foreign_close_ext(u->out, opened, room, EXT_ERROR, SIZE_MAX);
    return true;
}

static bool u_id(struct unpack *u, struct slice body, const uint8_t *where)
{
    if (body.len != 4 || get_u32(body.data) == 0) return u_fail(u, where, "malformed id");
    uint32_t id = get_u32(body.data);
    if (!names_add_id(&u->names, id)) return u_fail(u, where, "id used twice");
    if (u->names.is_failed) return u_nomem(u);
    size_t room = foreign_room((size_t)(u->end - u->at)) + 1, opened = pack_open(u->out, room);
    pack_uint(u->out, id);
    if (!u_enter(u, where) || !u_value(u)) return false;
    u->depth--;
    foreign_close_ext(u->out, opened, room, EXT_ID, 2);
    return true;
}

static bool u_again(struct unpack *u, struct slice body, const uint8_t *where)
{
    if (body.len != 4 || get_u32(body.data) == 0) return u_fail(u, where, "malformed id");
    if (!names_has_id(&u->names, get_u32(body.data))) {
        return u_fail(u, where, "reference to an id that does not precede it");
    }
    size_t opened = pack_open(u->out, 3);
    pack_uint(u->out, get_u32(body.data));
    foreign_close_ext(u->out, opened, 3, EXT_REF, SIZE_MAX);
    return true;
}

static bool u_bigint(struct unpack *u, struct slice twos, const uint8_t *where)
{
    bool is_negative = false;
    if (twos.len == 0) return u_fail(u, where, "bigint without bytes");
    /* The magnitude lies above what is written. */
    uint8_t *magnitude = buf_reserve(u->out, 2 * twos.len + 2 * PACK_HEAD_BYTES);
    if (magnitude == NULL) return u_nomem(u);
    magnitude += twos.len + 2 * PACK_HEAD_BYTES;
    size_t len = bigint_from_twos(twos, &is_negative, magnitude);
    foreign_pack_bigint(u->out, is_negative, slice_of(magnitude, len));
    return true;
}

static bool u_date(struct unpack *u, struct slice body, const uint8_t *where)
{
    int64_t ms = 0;
    bool is_invalid = false;
    if (!date_from_ext(body, &ms, &is_invalid)) return u_fail(u, where, "malformed date");
    if (is_invalid) {
        pack_ext(u->out, EXT_DATE, slice_of("\xff", 1));
    } else {
        date_to_ext(ms, u->out);
    }
    return true;
}

/* What means the same there and in the stored form, where value_check looks at it. */
static bool u_same(struct unpack *u, const struct pack_item *item, const uint8_t *where)
{
    struct error why;
    size_t from = u->out->len;
    bool is_top = u->depth == 0 && u->out->len == u->from;
    if (!is_top && (item->ext == EXT_U64 || item->ext == EXT_V8)) {
        return u_fail(u, where, "u64 or V8 value below the top level");
    }
    pack_ext(u->out, item->ext, item->body);
    if (u->out->is_failed) return u_nomem(u);
    struct slice copy = slice_of(u->out->data + from, u->out->len - from);
    enum err err = value_check(copy, &why);
    if (err == ERR_NOMEM) return u_nomem(u);
    return err == OK || u_fail(u, where, "malformed extension");
}

static bool u_ext(struct unpack *u, const struct pack_item *item, const uint8_t *where)
{
    struct slice body = item->body;
    bool is_tag = body.len == 1 && body.data[0] == 0; /* of the value that follows */
    switch (item->ext) {
    case MSGPACKR_RECORD:
        if (u->mode != MSGPACKR_RECORDS) return u_fail(u, where, "record where there are none");
        if (body.len != 1)
            return u_fail(u, where, "record whose number is not one byte from 40 to 7f");
        return u_define(u, body.data[0]) && u_record(u, body.data[0], where);
    case MSGPACKR_SET:
        if (is_tag) return u_set(u, where);
        break;
    case MSGPACKR_REGEXP:
        if (is_tag) return u_regexp(u, where);
        break;
    case MSGPACKR_ERROR:
        if (is_tag) return u_error(u, where);
        break;
    case MSGPACKR_ID: return u_id(u, body, where);
    case MSGPACKR_AGAIN: return u_again(u, body, where);
    case EXT_BIGINT: return u_bigint(u, body, where);
    case EXT_DATE: return u_date(u, body, where);
    case EXT_UNDEFINED:
    case EXT_TYPED:
    case EXT_U64:
    case EXT_V8: return u_same(u, item, where);
    default: break;
    }
    return u_fail(u, where, "unknown extension");
}

/* ---- values ---- */

static bool u_integer(struct unpack *u, const struct pack_item *item, uint8_t lead)
{
    uint64_t magnitude = item->type == PACK_INT ? 0 - (uint64_t)item->i : item->u;
    uint8_t big[8];
    if (lead == 0xcf || lead == 0xd3) { /* so it writes bigints, and only those */
        put_u64(big, magnitude);
        foreign_pack_bigint(u->out, item->type == PACK_INT, slice_of(big, sizeof big));
    } else if (item->type == PACK_INT) {
        pack_int(u->out, item->i);
    } else {
        pack_uint(u->out, item->u);
    }
    return true;
}

static bool u_list(struct unpack *u, uint32_t count, const uint8_t *where)
{
    uint8_t head[PACK_HEAD_BYTES];
    if (!u_enter(u, where)) return false;
    buf_append(u->out, head, pack_head(PACK_ARRAY, 0, count, head));
    if (!u_items(u, count)) return false;
    u->depth--;
    return true;
}

static bool u_value(struct unpack *u)
{
    const uint8_t *from = u->at;
    struct pack_item item;
    if (u->out->is_failed) return u_nomem(u);
    if (u->out->len - u->from > u->bytes_max) {
        u->err = error_set(u->e, ERR_LIMIT, "value is larger than %zu bytes", u->bytes_max);
        return false;
    }
    if (!u_item(u, &item)) return false;
    bool is_record = *from >= MSGPACKR_RECORD_FIRST && *from < 0x80;
    if (is_record && u->mode == MSGPACKR_RECORDS) return u_record(u, *from, from);
    switch (item.type) {
    case PACK_NIL:
    case PACK_BOOL: buf_append_byte(u->out, *from); return true;
    case PACK_UINT:
    case PACK_INT: return u_integer(u, &item, *from);
    case PACK_FLOAT: foreign_pack_number(u->out, item.f); return true;
    case PACK_STR: pack_str(u->out, item.body); return u_text(u, item.body);
    case PACK_BIN: pack_bin(u->out, item.body); return true;
    case PACK_ARRAY: return u_list(u, item.count, from);
    case PACK_MAP: return u_map(u, item.count, from);
    case PACK_EXT: return u_ext(u, &item, from);
    }
    return false;
}

enum err msgpackr_to_value(struct slice packed, enum msgpackr_mode mode, size_t bytes_max,
                           struct buf *out, struct error *e)
{
    struct unpack u = {.out = out, .from = out->len, .mode = mode, .e = e};
    INVARIANT(bytes_max <= (size_t)1 << 30);
    u.bytes_max = bytes_max;
    u.start = u.at = packed.data;
    u.end = packed.len > 0 ? packed.data + packed.len : packed.data;
    if (packed.len > bytes_max) {
        return error_set(e, ERR_LIMIT, "value is larger than %zu bytes", bytes_max);
    }
    names_init(&u.names);
    bool ok = u_value(&u);
    if (ok && u.at != u.end) ok = u_fail(&u, u.at, "bytes after the end");
    if (ok && out->is_failed) ok = u_nomem(&u);
    if (ok && out->len - u.from > bytes_max) {
        u.err = error_set(e, ERR_LIMIT, "value is larger than %zu bytes", bytes_max);
    }
    names_fini(&u.names);
    if (u.err != OK) out->len = u.from;
    return u.err;
}
