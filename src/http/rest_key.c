/* rest_key: keys as requests write them, in both dialects, as the JSON that commands take.
 *
 *                in the path and its parameters              in a body
 *   KeyVal       users/42: parts with slashes between, all   ["users","42"]
 *                texts unless rest-path-numbers says else
 *   typed REST   users/#42: the path form, or JSON           the same, or ["users",42]
 */
#include <stdio.h>

#include "codec/json_lex.h"
#include "codec/key.h"
#include "codec/utf8.h"
#include "http/rest.h"
#include "http/route.h"

/* ---- KeyVal ---------------------------------------------------------------------------------- */

static size_t count_chars(struct slice s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++) n += (s.data[i] & 0xc0) != 0x80;
    return n;
}

static bool is_integer(struct slice s)
{
    int64_t n;
    return slice_to_i64(s, &n) && n >= -9007199254740991 && n <= 9007199254740991;
}

/* One part, decoded, as JSON. */
static bool put_part(struct exchange *x, struct slice raw, struct buf *out)
{
    struct slice part;
    if (!http_decode(raw, false, &x->arena, &part)) {
        exchange_fail(x, 400, "Key path is not valid percent-encoded UTF-8");
        return false;
    }
    if (part.len == 0) {
        exchange_fail(x, 400, "Key path has an empty part");
        return false;
    }
    if (count_chars(part) > REST_PART_CHARS_MAX) {
        exchange_fail(x, 400, "Key part too long (max %d chars)", REST_PART_CHARS_MAX);
        return false;
    }
    if (x->http->options.rest_path_numbers && is_integer(part)) {
        buf_append(out, part.data, part.len);
    } else {
        json_string_write(part, out);
    }
    return true;
}

static bool put_parts(struct exchange *x, struct slice path, struct buf *out)
{
    size_t count = 0;
    while (path.len > 0) {
        if (count++ == REST_KEY_PARTS_MAX) {
            exchange_fail(x, 400, "Key path too deep (max %d parts)", REST_KEY_PARTS_MAX);
            return false;
        }
        if (count > 1) buf_append_byte(out, ',');
        if (!put_part(x, http_path_part(&path), out)) return false;
    }
    return true;
}

bool rest_slashed_key(struct exchange *x, struct slice path, struct slice *key)
{
    struct buf text;
    if (path.len == 0 || (path.len == 1 && path.data[0] == '/')) {
        exchange_fail(x, 400, "Key path cannot be empty");
        return false;
    }
    buf_init(&text);
    buf_append_byte(&text, '[');
    bool is_good = put_parts(x, path, &text);
    buf_append_byte(&text, ']');
    buf_require(&text);
    if (is_good) *key = arena_copy(&x->arena, buf_slice(&text));
    buf_fini(&text);
    return is_good;
}

/* Also without a slash before it; an empty one is none. */
static bool slashed_text_key(struct exchange *x, const char *name, struct slice text,
                             bool allow_empty, struct slice *key)
{
    (void)name;
    (void)allow_empty;
    if (text.data[0] == '/') return rest_slashed_key(x, text, key);
    uint8_t *path = arena_alloc(&x->arena, text.len + 1);
    path[0] = '/';
    memcpy(path + 1, text.data, text.len);
    return rest_slashed_key(x, slice_of(path, text.len + 1), key);
}

static bool slashed_body_key(struct exchange *x, const struct json_part *part, const char *name,
                             struct slice *key)
{
    struct json_part item;
    size_t count = 0;
    if (!rest_is_there(part) || part->kind != JSON_ARRAY) {
        exchange_fail(x, 400,
                      "%s must be a key: an array of strings, numbers, booleans, "
                      "{\"$bigint\":\"..\"} or {\"$bytes\":\"..\"}",
                      name);
        return false;
    }
    for (struct slice rest = json_inside(part); json_next_item(&rest, &item); count++) {
        size_t chars = item.kind == JSON_STRING ? count_chars(json_text(&item, &x->arena)) : 0;
        if (chars <= REST_PART_CHARS_MAX) continue;
        exchange_fail(x, 400, "%s: Key part at index %zu too long: %zu chars (max %d)", name, count,
                      chars, REST_PART_CHARS_MAX);
        return false;
    }
    if (count == 0 || count > REST_KEY_PARTS_MAX) {
        exchange_fail(x, 400, "%s: a key must have 1 to %d parts, not %zu", name,
                      REST_KEY_PARTS_MAX, count);
        return false;
    }
    *key = part->raw;
    return true;
}

/* A number, "7", or {"__type":"bigint","value":"7"}, which is a bigint as {"$bigint":"7"} is. */
static bool take_number(struct exchange *x, const struct json_part *value, const char *name,
                        struct slice *out)
{
    static const char *const names[] = {"__type", "value", NULL};
    static const char head[] = "{\"$bigint\":";
    struct json_part parts[2];
    struct error e;
    *out = value->raw;
    if (value->kind == JSON_NUMBER) return true;
    if (value->kind == JSON_STRING) {
        struct json_part number;
        *out = json_text(value, &x->arena);
        if (json_check(*out, &number, &e) == OK && number.kind == JSON_NUMBER) return true;
    } else if (value->kind == JSON_OBJECT) {
        bool is_tagged = json_members(value, names, parts, true, name, &e) == OK;
        if (!is_tagged) return true; /* one of this server's own tags, or refused by the command */
        if (rest_is_there(&parts[0]) && rest_is_there(&parts[1]) && parts[1].kind == JSON_STRING &&
            slice_eq(parts[0].raw, slice_str("\"bigint\""))) {
            size_t len = sizeof head - 1 + parts[1].raw.len + 1;
            uint8_t *text = arena_alloc(&x->arena, len);
            memcpy(text, head, sizeof head - 1);
            memcpy(text + sizeof head - 1, parts[1].raw.data, parts[1].raw.len);
            text[len - 1] = '}';
            *out = slice_of(text, len);
            return true;
        }
    }
    exchange_fail(x, 400, "%s must be a number, bigint, or numeric string", name);
    return false;
}

static bool take_array(struct exchange *x, const struct json_part *part, const char *name,
                       struct slice *out)
{
    *out = part->raw;
    if (part->kind == JSON_ARRAY) return true;
    exchange_fail(x, 400, "%s must be an array", name);
    return false;
}

/* ---- typed REST ------------------------------------------------------------------------------ */

bool rest_written_key(struct exchange *x, struct slice path, bool allow_empty, const char *what,
                      struct slice *key)
{
    struct buf tuple;
    struct buf text;
    struct error e;
    buf_init(&tuple);
    buf_init(&text);
    bool is_good = key_from_path(path, allow_empty, &tuple, &e) == OK;
    if (is_good) key_to_json(buf_slice(&tuple), &text);
    buf_require(&text);
    if (is_good) *key = arena_copy(&x->arena, buf_slice(&text));
    if (!is_good) exchange_fail(x, 400, "%s: %s", what, e.text);
    buf_fini(&tuple);
    buf_fini(&text);
    return is_good;
}

/* JSON, which begins with "[" and is checked by the command, or the path form. */
static bool typed_text_key(struct exchange *x, const char *name, struct slice text,
                           bool allow_empty, struct slice *key)
{
    if (text.len == 0 || text.data[0] != '[') {
        return rest_written_key(x, text, allow_empty, name, key);
    }
    *key = text;
    return true;
}

static bool typed_body_key(struct exchange *x, const struct json_part *part, const char *name,
                           struct slice *key)
{
    if (rest_is_there(part) && part->kind == JSON_ARRAY) {
        *key = part->raw;
        return true;
    }
    if (rest_is_there(part) && part->kind == JSON_STRING) {
        return rest_written_key(x, json_text(part, &x->arena), false, name, key);
    }
    exchange_fail(x, 400, "%s must be a key: an array of its parts, or a string in path form",
                  name);
    return false;
}

/* ---- of a route ------------------------------------------------------------------------------ */

static const struct rest_dialect slashed = {.text_key = slashed_text_key,
                                            .body_key = slashed_body_key,
                                            .number = take_number,
                                            .array = take_array,
                                            .clamps_limit = true};
static const struct rest_dialect typed = {
    .text_key = typed_text_key, .body_key = typed_body_key, .has_empty_key = true};

const struct rest_dialect *rest_dialect_of(const struct exchange *x)
{
    return (x->route->flags & ROUTE_TYPED) != 0 ? &typed : &slashed;
}

bool rest_path_key(struct exchange *x, struct slice *key)
{
    struct slice text;
    if ((x->route->flags & ROUTE_TYPED) == 0) return rest_slashed_key(x, x->rest, key);
    struct slice raw = slice_of(x->rest.data + 1, x->rest.len - 1);
    if (http_decode(raw, false, &x->arena, &text)) {
        return typed_text_key(x, "the key in the path", text, false, key);
    }
    exchange_fail(x, 400, "the path is not valid percent-encoded UTF-8");
    return false;
}

bool rest_query_key(struct exchange *x, const char *name, struct slice *key)
{
    struct slice text = slice_of(NULL, 0);
    const struct rest_dialect *d = rest_dialect_of(x);
    *key = text;
    if (!rest_query_text(x, name, &text)) return false;
    if (text.data == NULL || (text.len == 0 && !d->has_empty_key)) return true;
    return d->text_key(x, name, text, true, key);
}
