/* value_to_json: a stored value as typed JSON, one pass from left to right.
 *
 * A MessagePack map does not say whether it is an object or a Map: that depends on all of its keys,
 * and an object may need the $object escape. So the first map met is walked once, with all that is
 * inside, and the shape of every map in it is noted in the order in which they will be written. The
 * walk never repeats: the cost stays linear, however deep the value.
 *
 * Nearly every map is a plain object, though. So at first none is walked: each is written as an
 * object until one turns out to be something else, which starts the whole value again, with walks.
 */
#include "base/bytes.h"
#include "codec/base64.h"
#include "codec/bigint.h"
#include "codec/collection.h"
#include "codec/date.h"
#include "codec/json_lex.h"
#include "codec/number.h"
#include "codec/pack.h"
#include "codec/value_int.h"
#include "codec/value_plain.h"

#include "base/mem.h"

enum shape { SHAPE_OBJECT, SHAPE_ESCAPED, SHAPE_MAP };

struct render {
    struct buf *out;
    uint8_t *shapes;    /* `first`, or owned */
    size_t shape_count; /* notes taken: of one map and all maps inside it */
    size_t shape_cap;
    size_t shape_next;  /* notes used; all of them when that map has been written */
    bool takes_objects; /* no walks: every map is taken for a plain object ... */
    bool was_mistaken;  /* ... and one was none */
    bool is_bare;       /* large bigints as literals */
    uint8_t first[64];
};

static void render_value(struct render *r, const uint8_t **at, const uint8_t *end);

static size_t shape_add(struct render *r)
{
    if (r->shape_count == r->shape_cap) {
        bool is_first = r->shapes == r->first;
        uint8_t *more = mem_resize_try(is_first ? NULL : r->shapes, r->shape_cap * 4);
        if (more == NULL) {
            r->out->is_failed = true;
            return 0;
        }
        if (is_first) memcpy(more, r->first, r->shape_count);
        r->shapes = more;
        r->shape_cap *= 4;
    }
    r->shapes[r->shape_count] = SHAPE_OBJECT;
    return r->shape_count++;
}

static void shape_walk(struct render *r, const uint8_t **at, const uint8_t *end);

static void shape_map(struct render *r, const uint8_t **at, const uint8_t *end, uint32_t count)
{
    size_t index = shape_add(r);
    bool is_map = false, is_id = false, is_tag = false;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *from = *at;
        struct pack_item key;
        if (pack_read(at, end, &key) != PACK_OK) break;
        if (key.type != PACK_STR) {
            is_map = true;
            *at = from;
            shape_walk(r, at, end);
        } else if (i == 0) {
            enum value_tag tag = key.body.len > 0 && key.body.data[0] == '$'
                                     ? value_tag_of(key.body)
                                     : TAG_NONE;
            is_tag = tag != TAG_NONE;
            is_id = tag == TAG_ID;
        } else if (i == 1) {
            is_id = is_id && slice_eq(key.body, slice_str("value"));
        }
        shape_walk(r, at, end);
    }
    if (r->out->is_failed) return;
    bool is_escaped = (count == 1 && is_tag) || (count == 2 && is_id);
    r->shapes[index] = is_map ? SHAPE_MAP : is_escaped ? SHAPE_ESCAPED : SHAPE_OBJECT;
}

static void shape_walk(struct render *r, const uint8_t **at, const uint8_t *end)
{
    struct pack_item item;
    if (pack_read(at, end, &item) != PACK_OK) return;
    if (item.type == PACK_ARRAY) {
        for (uint32_t i = 0; i < item.count; i++) shape_walk(r, at, end);
    } else if (item.type == PACK_MAP) {
        shape_map(r, at, end, item.count);
    } else if (item.type == PACK_EXT) {
        const uint8_t *inside = item.body.data, *inside_end = inside + item.body.len;
        if (item.ext == EXT_SET || item.ext == EXT_MAP || item.ext == EXT_ID) {
            shape_walk(r, &inside, inside_end);
        } else if (item.ext == EXT_ERROR && pack_read(&inside, inside_end, &item) == PACK_OK) {
            /* its own map is no value and has no shape */
            for (uint64_t i = 2 * (uint64_t)item.count; i > 0; i--)
                shape_walk(r, &inside, inside_end);
        }
    }
}

/* `content` = just after the head of a map with `count` members. */
static enum shape shape_of(struct render *r, const uint8_t *content, const uint8_t *end,
                           uint32_t count)
{
    if (r->shape_next == r->shape_count) {
        r->shape_count = r->shape_next = 0;
        shape_map(r, &content, end, count);
    }
    if (r->out->is_failed) return SHAPE_OBJECT;
    return (enum shape)r->shapes[r->shape_next++];
}

static void text(struct render *r, const char *s)
{
    buf_append_str(r->out, s);
}

static void render_items(struct render *r, uint32_t count, const uint8_t **at, const uint8_t *end)
{
    buf_append_byte(r->out, '[');
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) buf_append_byte(r->out, ',');
        render_value(r, at, end);
    }
    buf_append_byte(r->out, ']');
}

static void render_members(struct render *r, uint32_t count, const uint8_t **at, const uint8_t *end)
{
    buf_append_byte(r->out, '{');
    for (uint32_t i = 0; i < count; i++) {
        struct pack_item key;
        if (i > 0) buf_append_byte(r->out, ',');
        if (pack_read(at, end, &key) != PACK_OK || key.type != PACK_STR) {
            r->was_mistaken = true;
            break;
        }
        if (i == 0 && count <= 2 && key.body.len > 0 && key.body.data[0] == '$') {
            r->was_mistaken = true; /* perhaps a tag: no matter once shapes are known */
        }
        json_string_write(key.body, r->out);
        buf_append_byte(r->out, ':');
        render_value(r, at, end);
    }
    buf_append_byte(r->out, '}');
}

static void render_pairs(struct render *r, uint32_t count, const uint8_t **at, const uint8_t *end)
{
    text(r, "{\"$map\":[");
    for (uint32_t i = 0; i < count; i++) {
        text(r, i > 0 ? ",[" : "[");
        render_value(r, at, end);
        buf_append_byte(r->out, ',');
        render_value(r, at, end);
        buf_append_byte(r->out, ']');
    }
    text(r, "]}");
}

static void render_map(struct render *r, uint32_t count, const uint8_t **at, const uint8_t *end)
{
    if (r->takes_objects) {
        if (!r->was_mistaken) render_members(r, count, at, end);
        return;
    }
    switch (shape_of(r, *at, end, count)) {
    case SHAPE_OBJECT: render_members(r, count, at, end); break;
    case SHAPE_ESCAPED:
        text(r, "{\"$object\":");
        render_members(r, count, at, end);
        buf_append_byte(r->out, '}');
        break;
    case SHAPE_MAP: render_pairs(r, count, at, end); break;
    }
}

static void render_date(struct render *r, struct slice body)
{
    int64_t ms = 0;
    bool is_invalid = false;
    char iso[DATE_TEXT_BYTES];
    if (!date_from_ext(body, &ms, &is_invalid) || is_invalid) {
        text(r, "{\"$date\":null}");
        return;
    }
    text(r, "{\"$date\":\"");
    buf_append(r->out, iso, date_format(ms, iso));
    text(r, "\"}");
}

static void render_typed(struct render *r, struct slice body)
{
    size_t element = 0;
    text(r, "{\"$typed\":[\"");
    text(r, value_typed_name(body.data[0], &element));
    text(r, "\",\"");
    base64_encode(slice_of(body.data + 1, body.len - 1), r->out);
    text(r, "\"]}");
}

/* Extensions with values inside. */
static void render_nested(struct render *r, int8_t ext, struct slice body)
{
    const uint8_t *at = body.data, *end = at + body.len;
    struct pack_item head = {0};
    if (ext == EXT_REF) {
        text(r, "{\"$ref\":");
        render_value(r, &at, end);
        buf_append_byte(r->out, '}');
        return;
    }
    if (pack_read(&at, end, &head) != PACK_OK) return;
    switch (ext) {
    case EXT_SET:
        text(r, "{\"$set\":");
        render_items(r, head.count, &at, end);
        break;
    case EXT_MAP: render_pairs(r, head.count / 2, &at, end); return;
    case EXT_REGEXP:
        text(r, "{\"$regexp\":");
        render_items(r, head.count, &at, end);
        break;
    case EXT_ERROR:
        text(r, "{\"$error\":");
        render_members(r, head.count, &at, end);
        break;
    default:
        text(r, "{\"$id\":");
        render_value(r, &at, end);
        text(r, ",\"value\":");
        render_value(r, &at, end);
    }
    buf_append_byte(r->out, '}');
}

static void render_bigint(struct render *r, struct slice twos)
{
    if (r->is_bare && bigint_twos_is_literal(twos)) {
        bigint_twos_to_text(twos, r->out);
        return;
    }
    text(r, "{\"$bigint\":\"");
    bigint_twos_to_text(twos, r->out);
    text(r, "\"}");
}

static void render_ext(struct render *r, int8_t ext, struct slice body)
{
    switch (ext) {
    case EXT_DATE: render_date(r, body); break;
    case EXT_UNDEFINED: text(r, "{\"$undefined\":true}"); break;
    case EXT_BIGINT: render_bigint(r, body); break;
    case EXT_U64:
        text(r, "{\"$u64\":\"");
        buf_append_u64(r->out, get_uint(body.data, body.len));
        text(r, "\"}");
        break;
    case EXT_TYPED: render_typed(r, body); break;
    case EXT_V8:
        text(r, "{\"$v8\":\"");
        base64_encode(body, r->out);
        text(r, "\"}");
        break;
    default: render_nested(r, ext, body); break;
    }
}

static void render_integer(struct render *r, const struct pack_item *item)
{
    bool is_negative = item->type == PACK_INT;
    uint64_t magnitude = is_negative ? 0 - (uint64_t)item->i : item->u;
    bool is_tagged = magnitude > NUMBER_SAFE_MAX && !r->is_bare;
    if (is_tagged) text(r, "{\"$bigint\":\"");
    if (is_negative) buf_append_byte(r->out, '-');
    buf_append_u64(r->out, magnitude);
    if (is_tagged) text(r, "\"}");
}

static void render_value(struct render *r, const uint8_t **at, const uint8_t *end)
{
    struct pack_item item;
    if (r->takes_objects && r->was_mistaken) return;  /* what follows would be read out of step */
    if (pack_read(at, end, &item) != PACK_OK) return; /* no checked value comes here */
    switch (item.type) {
    case PACK_STR: json_string_write(item.body, r->out); break;
    case PACK_UINT:
    case PACK_INT: render_integer(r, &item); break;
    case PACK_BOOL: text(r, item.boolean ? "true" : "false"); break;
    case PACK_NIL: text(r, "null"); break;
    case PACK_FLOAT: number_to_json(item.f, false, r->out); break;
    case PACK_ARRAY: render_items(r, item.count, at, end); break;
    case PACK_MAP: render_map(r, item.count, at, end); break;
    case PACK_BIN:
        text(r, "{\"$bytes\":\"");
        base64_encode(item.body, r->out);
        text(r, "\"}");
        break;
    case PACK_EXT: render_ext(r, item.ext, item.body); break;
    }
}

static void render(struct slice bytes, bool is_bare, struct buf *out)
{
    struct render r;
    if (value_plain_to_json(bytes, out)) return;
    if (collection_is_head(bytes)) {
        collection_to_json(bytes, out);
        return;
    }
    r.out = out;
    r.is_bare = is_bare;
    r.shapes = r.first;
    r.shape_cap = sizeof r.first;
    r.shape_count = r.shape_next = 0;
    r.takes_objects = true;
    r.was_mistaken = false;
    size_t from = out->len;
    const uint8_t *at = bytes.data;
    render_value(&r, &at, at + bytes.len);
    if (r.was_mistaken) {
        r.takes_objects = false;
        if (!out->is_failed) out->len = from;
        at = bytes.data;
        render_value(&r, &at, at + bytes.len);
    }
    if (r.shapes != r.first) mem_free(r.shapes);
}

void value_to_json(struct slice bytes, struct buf *out)
{
    render(bytes, false, out);
}

void value_to_bare_json(struct slice bytes, struct buf *out)
{
    render(bytes, true, out);
}
