/* value: the check that lets a value in, and small questions about stored ones.
 *
 * Depth: an array, object, Map, Set, Error or shared value ($id) is one level, however many bytes
 * or brackets its form takes; so both forms of a value have the same depth.
 *
 * Duplicates: names of an object are compared as text. Keys of a Map are compared as encoded bytes
 * (strings as text): 1 and 1.0 in different encodings are two keys here, one in JavaScript.
 */
#include "codec/value_int.h"

#include "base/bytes.h"
#include "codec/bigint.h"
#include "codec/date.h"
#include "codec/names.h"
#include "codec/number.h"
#include "codec/pack.h"
#include "codec/utf8.h"
#include "codec/v8.h"

enum value_tag value_tag_of(struct slice name)
{
    static const char *const names[] = {
        [TAG_BIGINT] = "$bigint",
        [TAG_U64] = "$u64",
        [TAG_BYTES] = "$bytes",
        [TAG_DATE] = "$date",
        [TAG_UNDEFINED] = "$undefined",
        [TAG_NUMBER] = "$number",
        [TAG_MAP] = "$map",
        [TAG_SET] = "$set",
        [TAG_REGEXP] = "$regexp",
        [TAG_ERROR] = "$error",
        [TAG_TYPED] = "$typed",
        [TAG_ID] = "$id",
        [TAG_REF] = "$ref",
        [TAG_V8] = "$v8",
        [TAG_OBJECT] = "$object",
        [TAG_UUIDV7] = "$uuidv7",
        [TAG_VERSIONSTAMP] = "$versionstamp",
        [TAG_COLLECTION] = "$collection",
    };
    if (name.len < 3 || name.data[0] != '$') return TAG_NONE;
    for (size_t i = 1; i < sizeof names / sizeof *names; i++) {
        if (slice_eq(name, slice_str(names[i]))) return (enum value_tag)i;
    }
    return TAG_NONE;
}

unsigned value_error_member_of(struct slice name)
{
    static const char *const names[] = {"name", "message", "stack", "cause"};
    for (unsigned i = 0; i < 4; i++) {
        if (slice_eq(name, slice_str(names[i]))) return 1u << i;
    }
    return 0;
}

static const struct {
    const char *name;
    uint8_t element_bytes;
} typed[] = {
    [0] = {"Int8Array", 1},     [1] = {"Uint8Array", 1},      [2] = {"Uint8ClampedArray", 1},
    [3] = {"Int16Array", 2},    [4] = {"Uint16Array", 2},     [5] = {"Int32Array", 4},
    [6] = {"Uint32Array", 4},   [7] = {"Float32Array", 4},    [8] = {"Float64Array", 8},
    [9] = {"BigInt64Array", 8}, [10] = {"BigUint64Array", 8}, [16] = {"ArrayBuffer", 1},
    [17] = {"DataView", 1},
};

const char *value_typed_name(uint8_t code, size_t *element_bytes)
{
    if (code >= sizeof typed / sizeof *typed) return NULL;
    *element_bytes = typed[code].element_bytes;
    return typed[code].name;
}

int value_typed_code(struct slice name)
{
    for (size_t i = 0; i < sizeof typed / sizeof *typed; i++) {
        if (typed[i].name != NULL && slice_eq(name, slice_str(typed[i].name))) return (int)i;
    }
    return -1;
}

void value_pack_bigint(struct buf *out, bool is_negative, struct slice magnitude)
{
    uint64_t u = magnitude.len <= 8 ? get_uint(magnitude.data, magnitude.len) : 0;
    if (u > NUMBER_SAFE_MAX && !is_negative) {
        pack_uint(out, u);
    } else if (u > NUMBER_SAFE_MAX && u <= (uint64_t)INT64_MAX + 1) {
        pack_int(out, (int64_t)(0 - u));
    } else {
        uint8_t twos[BIGINT_DECIMAL_BYTES + 1];
        INVARIANT(magnitude.len <= BIGINT_DECIMAL_BYTES);
        pack_ext(out, EXT_BIGINT, slice_of(twos, bigint_to_twos(is_negative, magnitude, twos)));
    }
}

struct check {
    const uint8_t *start;
    unsigned depth;
    struct error *e;
    struct names names;
};

static enum err check_value(struct check *c, const uint8_t **at, const uint8_t *end);

static enum err bad(const struct check *c, const uint8_t *where, const char *what)
{
    size_t offset = (size_t)(where - c->start);
    (void)error_set(c->e, ERR_VALUE, "invalid value: %s at offset %zu", what, offset);
    return ERR_VALUE;
}

static enum err enter(struct check *c, const uint8_t *where)
{
    if (++c->depth <= VALUE_DEPTH_MAX) return OK;
    return bad(c, where, "deeper than 128 levels");
}

static enum err read_item(const struct check *c, const uint8_t **at, const uint8_t *end,
                          struct pack_item *item)
{
    const uint8_t *from = *at;
    enum pack_result result = pack_read(at, end, item);
    if (result == PACK_TRUNCATED) return bad(c, from, "truncated");
    return result == PACK_INVALID ? bad(c, from, "byte c1") : OK;
}

static enum err check_text(const struct check *c, struct slice text)
{
    size_t good = utf8_valid_bytes(text);
    return good == text.len ? OK : bad(c, text.data + good, "not UTF-8");
}

static enum err check_items(struct check *c, uint64_t count, const uint8_t **at, const uint8_t *end)
{
    for (uint64_t i = 0; i < count; i++) {
        enum err err = check_value(c, at, end);
        if (err != OK) return err;
    }
    return OK;
}

/* A key of an object or Map; *name says what it is told apart by. */
static enum err check_key(struct check *c, const uint8_t **at, const uint8_t *end,
                          struct name *name)
{
    const uint8_t *from = *at;
    bool is_text = from < end && ((*from & 0xe0) == 0xa0 || (*from >= 0xd9 && *from <= 0xdb));
    name->where = (size_t)(from - c->start);
    if (!is_text) {
        enum err err = check_value(c, at, end);
        name->at = name->where;
        name->tag = (size_t)(*at - from) * 2;
        return err;
    }
    struct pack_item item;
    enum err err = read_item(c, at, end, &item);
    if (err != OK) return err;
    name->at = (size_t)(item.body.data - c->start);
    name->tag = item.body.len * 2 + 1;
    return check_text(c, item.body);
}

static enum err check_members(struct check *c, uint64_t count, const uint8_t **at,
                              const uint8_t *end)
{
    size_t from = c->names.count;
    for (uint64_t i = 0; i < count; i++) {
        struct name name;
        enum err err = check_key(c, at, end, &name);
        if (err != OK) return err;
        if (!names_add(&c->names, from, c->start, name.at, name.tag, name.where)) {
            return bad(c, c->start + name.where, "duplicate key");
        }
        err = check_value(c, at, end);
        if (err != OK) return err;
    }
    const struct name *again = names_end(&c->names, from, c->start);
    if (c->names.is_failed) return error_set(c->e, ERR_NOMEM, "out of memory");
    return again == NULL ? OK : bad(c, c->start + again->where, "duplicate key");
}

/* The payload of an extension that holds an array: its head. */
static enum err open_array(const struct check *c, const uint8_t **at, const uint8_t *end,
                           uint32_t *count)
{
    struct pack_item item = {0};
    const uint8_t *from = *at;
    enum err err = read_item(c, at, end, &item);
    if (err != OK) return err;
    *count = item.count;
    return item.type == PACK_ARRAY ? OK : bad(c, from, "extension without an array in it");
}

static enum err check_id(const struct check *c, const uint8_t **at, const uint8_t *end,
                         uint32_t *id)
{
    struct pack_item item;
    const uint8_t *from = *at;
    enum err err = read_item(c, at, end, &item);
    if (err != OK) return err;
    if (item.type != PACK_UINT || item.u < 1 || item.u > UINT32_MAX) {
        return bad(c, from, "an id must be an integer from 1 to 2^32-1");
    }
    *id = (uint32_t)item.u;
    return OK;
}

static enum err check_shared(struct check *c, const uint8_t **at, const uint8_t *end)
{
    uint32_t count = 0, id = 0;
    const uint8_t *from = *at;
    enum err err = open_array(c, at, end, &count);
    if (err != OK) return err;
    if (count != 2) return bad(c, from, "shared value that is not [id, value]");
    err = check_id(c, at, end, &id);
    if (err != OK) return err;
    if (!names_add_id(&c->names, id)) return bad(c, from, "id used twice");
    return check_value(c, at, end);
}

static enum err check_error(struct check *c, const uint8_t **at, const uint8_t *end)
{
    const uint8_t *from = *at;
    struct pack_item item;
    enum err err = read_item(c, at, end, &item);
    if (err != OK) return err;
    if (item.type != PACK_MAP) return bad(c, from, "Error without a map in it");
    unsigned seen = 0;
    for (uint32_t left = item.count; left > 0; left--) {
        const uint8_t *key = *at;
        err = read_item(c, at, end, &item);
        if (err != OK) return err;
        unsigned member = item.type == PACK_STR ? value_error_member_of(item.body) : 0;
        if (member == 0) return bad(c, key, "Error with an unknown member");
        if ((seen & member) != 0) return bad(c, key, "duplicate key");
        seen |= member;
        const uint8_t *value = *at;
        err = check_value(c, at, end);
        if (err != OK) return err;
        bool is_text = (*value & 0xe0) == 0xa0 || (*value >= 0xd9 && *value <= 0xdb);
        if (member != MEMBER_CAUSE && !is_text)
            return bad(c, value, "Error member that is not a string");
    }
    if ((seen & 3) == 3) return OK;
    return bad(c, from, "Error without name and message");
}

static enum err check_regexp(struct check *c, const uint8_t **at, const uint8_t *end)
{
    uint32_t count = 0;
    const uint8_t *from = *at;
    enum err err = open_array(c, at, end, &count);
    for (uint32_t i = 0; err == OK && i < count; i++) {
        struct pack_item item;
        if (count != 2) break;
        err = read_item(c, at, end, &item);
        if (err != OK) return err;
        if (item.type != PACK_STR) return bad(c, from, "RegExp that is not [source, flags]");
        err = check_text(c, item.body);
    }
    if (err == OK && count != 2) return bad(c, from, "RegExp that is not [source, flags]");
    return err;
}

/* Extensions that hold other values: the payload is read with its own end. */
static enum err check_nested(struct check *c, const struct pack_item *ext)
{
    const uint8_t *at = ext->body.data, *end = at + ext->body.len;
    enum err err = OK;
    uint32_t n = 0;
    if (ext->ext != EXT_REF && ext->ext != EXT_REGEXP) err = enter(c, at);
    if (err != OK) return err;
    switch (ext->ext) {
    case EXT_SET:
        err = open_array(c, &at, end, &n);
        if (err == OK) err = check_items(c, n, &at, end);
        break;
    case EXT_MAP:
        err = open_array(c, &at, end, &n);
        if (err == OK && n % 2 != 0)
            return bad(c, ext->body.data, "Map with a key without a value");
        if (err == OK) err = check_members(c, n / 2, &at, end);
        break;
    case EXT_ERROR: err = check_error(c, &at, end); break;
    case EXT_ID: err = check_shared(c, &at, end); break;
    case EXT_REGEXP: err = check_regexp(c, &at, end); break;
    default:
        err = check_id(c, &at, end, &n);
        if (err == OK && !names_has_id(&c->names, n)) {
            return bad(c, ext->body.data, "reference to an id that does not precede it");
        }
    }
    if (ext->ext != EXT_REF && ext->ext != EXT_REGEXP) c->depth--;
    if (err == OK && at != end) return bad(c, at, "bytes after the content of an extension");
    return err;
}

static enum err check_v8(const struct check *c, struct slice body, const uint8_t *from)
{
    struct v8_reader r;
    struct buf objects;
    if (c->depth > 0) return bad(c, from, "V8 value below the top level");
    buf_init(&objects);
    bool ok = v8_scan(&r, body, &objects);
    buf_fini(&objects);
    if (r.is_nomem) return error_set(c->e, ERR_NOMEM, "out of memory");
    if (ok) return OK;
    return error_set(c->e, ERR_VALUE, "invalid value: V8: %s at offset %zu", r.why,
                     (size_t)(body.data - c->start) + r.where);
}

static enum err check_ext(struct check *c, const struct pack_item *item, const uint8_t *from)
{
    int64_t ms = 0;
    bool is_invalid = false;
    size_t element = 0;
    struct slice body = item->body;
    switch (item->ext) {
    case EXT_DATE:
        return date_from_ext(body, &ms, &is_invalid) ? OK : bad(c, from, "malformed date");
    case EXT_UNDEFINED:
        return body.len == 1 && body.data[0] == 0 ? OK : bad(c, from, "malformed undefined");
    case EXT_BIGINT: return body.len > 0 ? OK : bad(c, from, "bigint without bytes");
    case EXT_COLLECTION:
        return bad(c, from,
                   "a collection, which only its own commands can write (HSET, RPUSH, ...),");
    case EXT_U64:
        if (body.len != 8) return bad(c, from, "u64 that is not 8 bytes");
        return c->depth == 0 ? OK : bad(c, from, "u64 below the top level");
    case EXT_V8: return check_v8(c, body, from);
    case EXT_TYPED:
        if (body.len == 0 || value_typed_name(body.data[0], &element) == NULL) {
            return bad(c, from, "typed array of unknown kind");
        }
        if ((body.len - 1) % element == 0) return OK;
        return bad(c, from, "typed array that is not a whole number of elements");
    case EXT_SET:
    case EXT_MAP:
    case EXT_ERROR:
    case EXT_ID:
    case EXT_REGEXP:
    case EXT_REF: return check_nested(c, item);
    default: return bad(c, from, "unknown extension");
    }
}

static enum err check_value(struct check *c, const uint8_t **at, const uint8_t *end)
{
    const uint8_t *from = *at;
    struct pack_item item;
    enum err err = read_item(c, at, end, &item);
    if (err != OK) return err;
    if (item.type == PACK_STR) return check_text(c, item.body);
    if (item.type == PACK_EXT) return check_ext(c, &item, from);
    if (item.type != PACK_ARRAY && item.type != PACK_MAP) return OK;
    err = enter(c, from);
    if (err != OK) return err;
    err = item.type == PACK_ARRAY ? check_items(c, item.count, at, end)
                                  : check_members(c, item.count, at, end);
    c->depth--;
    return err;
}

enum err value_check(struct slice bytes, struct error *e)
{
    struct check c;
    c.start = bytes.data;
    c.depth = 0;
    c.e = e;
    if (bytes.len == 0) return error_set(e, ERR_VALUE, "invalid value: empty");
    names_init(&c.names);
    const uint8_t *at = bytes.data, *end = at + bytes.len;
    enum err err = check_value(&c, &at, end);
    if (err == OK && at != end) err = bad(&c, at, "bytes after the end");
    names_fini(&c.names);
    return err;
}

size_t value_length(struct slice bytes)
{
    const uint8_t *at = bytes.data, *end = at + bytes.len;
    for (uint64_t pending = 1; pending > 0; pending--) {
        struct pack_item item;
        if (pack_read(&at, end, &item) != PACK_OK) break;
        if (item.type == PACK_ARRAY) pending += item.count;
        if (item.type == PACK_MAP) pending += 2 * (uint64_t)item.count;
    }
    return (size_t)(at - bytes.data);
}

static const char *ext_name(int8_t ext)
{
    switch (ext) {
    case EXT_COLLECTION: return "collection";
    case EXT_DATE: return "Date";
    case EXT_UNDEFINED: return "undefined";
    case EXT_BIGINT: return "bigint";
    case EXT_ERROR: return "Error";
    case EXT_ID: return "shared value";
    case EXT_MAP: return "Map";
    case EXT_REF: return "reference";
    case EXT_REGEXP: return "RegExp";
    case EXT_SET: return "Set";
    case EXT_U64: return "u64";
    case EXT_V8: return "v8";
    default: return "typed array";
    }
}

static const char *map_name(const uint8_t *at, const uint8_t *end, uint32_t count)
{
    for (; count > 0; count--) {
        struct pack_item key;
        if (pack_read(&at, end, &key) != PACK_OK || key.type != PACK_STR) return "Map";
        at += value_length(slice_of(at, (size_t)(end - at)));
    }
    return "object";
}

const char *value_type_name(struct slice bytes)
{
    const uint8_t *at = bytes.data, *end = at + bytes.len;
    struct pack_item item;
    if (pack_read(&at, end, &item) != PACK_OK) return "nothing";
    switch (item.type) {
    case PACK_NIL: return "null";
    case PACK_BOOL: return "boolean";
    case PACK_UINT: return item.u <= NUMBER_SAFE_MAX ? "number" : "bigint";
    case PACK_INT: return item.i >= -NUMBER_SAFE_MAX ? "number" : "bigint";
    case PACK_FLOAT: return "number";
    case PACK_STR: return "string";
    case PACK_BIN: return "bytes";
    case PACK_ARRAY: return "array";
    case PACK_MAP: return map_name(at, end, item.count);
    case PACK_EXT: return ext_name(item.ext);
    }
    return "nothing";
}

bool value_bytes_of(struct slice value, struct slice *bytes)
{
    size_t head = value.len == 0          ? 0
                  : value.data[0] == 0xc4 ? 2
                  : value.data[0] == 0xc5 ? 3
                  : value.data[0] == 0xc6 ? 5
                                          : 0;
    if (head == 0) return false;
    *bytes = slice_of(value.data + head, value.len - head);
    return true;
}
