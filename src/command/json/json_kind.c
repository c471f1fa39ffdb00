/* json_kind: what the text at a place is. Typed JSON writes values that JSON does not have as
 * objects with one member, {"$date":..}: to the JSON.* commands these are values, and no objects.
 * The one exception is {"$object":{..}}, an object of which the member alone would be taken for a
 * tag.
 *
 * An object of several members is no tag, whatever the first is called: whether there are more
 * is known only after the first one.
 */
#include <string.h>

#include "codec/value.h"
#include "command/json/json_path.h"

#define BIGINT_HEAD "{\"$bigint\":\""
#define OBJECT_HEAD "{\"$object\":"

static bool is_at(struct slice text, size_t at, const char *what)
{
    size_t len = strlen(what);
    return at <= text.len && text.len - at >= len && memcmp(text.data + at, what, len) == 0;
}

bool json_is_tag(struct slice text, size_t from, struct json_tag *out)
{
    *out = (struct json_tag){.looked = 0};
    if (!is_at(text, from, "{\"$")) return false;
    const uint8_t *quote = memchr(text.data + from + 2, '"', text.len - from - 2);
    if (quote == NULL) return false;
    size_t end = (size_t)(quote - text.data);
    if (!value_names_tag(slice_of(text.data + from + 2, end - from - 2))) return false;
    out->name = slice_of(text.data + from + 3, end - from - 3);
    out->value = end + 2; /* the colon */
    size_t to = json_end(text, out->value);
    if (slice_eq(out->name, slice_str("id")) && is_at(text, to, ",\"value\":")) {
        to = json_end(text, to + strlen(",\"value\":"));
    }
    out->looked = to - from;
    return to < text.len && text.data[to] == '}';
}

bool json_is_object(struct slice text, size_t from, size_t *open)
{
    struct json_tag tag;
    *open = from;
    if (text.data[from] != '{') return false;
    if (!json_is_tag(text, from, &tag)) return true;
    *open = tag.value;
    return slice_eq(tag.name, slice_str("object"));
}

static struct slice tag_type(struct slice name)
{
    return slice_eq(name, slice_str("bigint")) ? slice_str("integer") : name;
}

struct slice json_type_name(struct slice text, size_t from)
{
    struct json_tag tag;
    switch (text.data[from]) {
    case '{': return json_is_tag(text, from, &tag) ? tag_type(tag.name) : slice_str("object");
    case '[': return slice_str("array");
    case '"': return slice_str("string");
    case 't':
    case 'f': return slice_str("boolean");
    case 'n': return slice_str("null");
    default: break;
    }
    for (size_t end = json_end(text, from); from < end; from++) {
        if (strchr(".eE", text.data[from]) != NULL) return slice_str("number");
    }
    return slice_str("integer");
}

/* The digits of the bigint that begins at `at`; len 0: there is none, or it has none. One that is
 * alone in {"$object":..} is a member of that name. */
static struct slice digits_at(struct slice text, size_t at, size_t *end)
{
    size_t from = at + strlen(BIGINT_HEAD);
    size_t to = from;
    to += to < text.len && text.data[to] == '-';
    while (to < text.len && text.data[to] >= '0' && text.data[to] <= '9') to++;
    *end = to + 2;
    if (!is_at(text, to, "\"}")) return slice_of(NULL, 0);
    size_t head = strlen(OBJECT_HEAD);
    bool is_alone = at >= head && is_at(text, at - head, OBJECT_HEAD) && is_at(text, *end, "}");
    return is_alone ? slice_of(NULL, 0) : slice_of(text.data + from, to - from);
}

void json_show(struct slice text, size_t from, size_t to, struct buf *out)
{
    for (;;) {
        const uint8_t *found = memmem(text.data + from, to - from, BIGINT_HEAD,
                                      strlen(BIGINT_HEAD));
        if (found == NULL) break;
        size_t at = (size_t)(found - text.data);
        size_t end = 0;
        struct slice digits = digits_at(text, at, &end);
        if (digits.len == 0) end = at + 1;
        buf_append(out, text.data + from, at - from);
        if (digits.len == 0) buf_append_byte(out, '{');
        buf_append(out, digits.data, digits.len);
        from = end;
    }
    buf_append(out, text.data + from, to - from);
}
