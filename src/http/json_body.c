#include "http/json_body.h"

#include "codec/json_lex.h"

/* ---- checking -------------------------------------------------------------------------------- */

/* A value that is no container. */
static bool check_scalar(struct json *j, uint8_t next)
{
    struct slice raw;
    struct json_number number;
    bool has_escape;
    if (next == '"') return json_string_scan(j, &raw, &has_escape);
    if (next == '-' || (next >= '0' && next <= '9')) return json_number_scan(j, &number);
    if (json_take_word(j, "true") || json_take_word(j, "false") || json_take_word(j, "null")) {
        return true;
    }
    if (next == 0) return json_fail(j, j->at, "text ends where a value should be");
    return json_fail(j, j->at, "expected a value");
}

static bool check_name(struct json *j)
{
    struct slice raw;
    bool has_escape;
    if (json_peek(j) != '"') return json_fail(j, j->at, "expected a name");
    return json_string_scan(j, &raw, &has_escape) && json_expect(j, ':');
}

/* After a value: the ends of containers that end here, and whatever stands before the next value.
 * *depth 0: it was the last. */
static bool check_after(struct json *j, const char *closers, size_t *depth)
{
    while (*depth > 0) {
        uint8_t next = json_peek(j);
        char close = closers[*depth - 1];
        if (next == ',') {
            j->at++;
            return close == ']' || check_name(j);
        }
        if (next != (uint8_t)close) return json_fail(j, j->at, "expected ',' or '%c'", close);
        j->at++;
        (*depth)--;
    }
    return true;
}

static bool check_value(struct json *j)
{
    char closers[JSON_DEPTH_MAX];
    size_t depth = 0;
    for (;;) {
        uint8_t next = json_peek(j);
        if (next == '[' || next == '{') {
            char close = next == '[' ? ']' : '}';
            if (depth == JSON_DEPTH_MAX) return json_fail(j, j->at, "nested deeper than 128");
            j->at++;
            closers[depth++] = close;
            if (json_peek(j) != (uint8_t)close) {
                if (close == '}' && !check_name(j)) return false;
                continue;
            }
            j->at++;
            depth--;
        } else if (!check_scalar(j, next)) {
            return false;
        }
        if (!check_after(j, closers, &depth)) return false;
        if (depth == 0) return true;
    }
}

/* ---- finding --------------------------------------------------------------------------------- */

static enum json_kind kind_of(uint8_t first)
{
    switch (first) {
    case 'n': return JSON_NULL;
    case 't':
    case 'f': return JSON_BOOL;
    case '"': return JSON_STRING;
    case '[': return JSON_ARRAY;
    case '{': return JSON_OBJECT;
    default: return JSON_NUMBER;
    }
}

static struct slice after_blanks(struct slice s)
{
    while (s.len > 0 && s.data[0] <= ' ') s = slice_of(s.data + 1, s.len - 1);
    return s;
}

static size_t string_length(struct slice s)
{
    size_t i = 1;
    while (s.data[i] != '"') i += s.data[i] == '\\' ? 2 : 1;
    return i + 1;
}

/* Of the value at the beginning of checked text. */
static size_t value_bytes(struct slice s)
{
    size_t depth = 0;
    size_t i = 0;
    do {
        uint8_t c = s.data[i];
        if (c == '"') {
            i += string_length(slice_of(s.data + i, s.len - i));
            continue;
        }
        if (c == '[' || c == '{') depth++;
        if (c == ']' || c == '}') depth--;
        i++;
        if (depth == 0 && c != ']' && c != '}') {
            while (i < s.len && strchr(",]} \t\r\n", s.data[i]) == NULL) i++;
        }
    } while (depth > 0);
    return i;
}

/* Takes the value at the beginning, and the comma or colon after it. */
static struct json_part take(struct slice *rest)
{
    *rest = after_blanks(*rest);
    struct json_part p = {.kind = kind_of(rest->data[0])};
    p.raw = slice_of(rest->data, value_bytes(*rest));
    *rest = after_blanks(slice_of(rest->data + p.raw.len, rest->len - p.raw.len));
    if (rest->len > 0) *rest = slice_of(rest->data + 1, rest->len - 1);
    return p;
}

enum err json_check(struct slice text, struct json_part *out, struct error *e)
{
    struct json j = {.start = text.data,
                     .at = text.data,
                     .end = text.data + text.len,
                     .code = ERR_SYNTAX,
                     .subject = "invalid JSON",
                     .e = e};
    if (text.len == 0) return error_set(e, ERR_SYNTAX, "invalid JSON: there is no text");
    if (!check_value(&j) || !json_expect_end(&j)) return ERR_SYNTAX;
    *out = take(&text);
    return OK;
}

struct slice json_inside(const struct json_part *container)
{
    return after_blanks(slice_of(container->raw.data + 1, container->raw.len - 2));
}

bool json_next_item(struct slice *rest, struct json_part *item)
{
    *rest = after_blanks(*rest);
    if (rest->len == 0) return false;
    *item = take(rest);
    return true;
}

bool json_next_member(struct slice *rest, struct json_part *name, struct json_part *value)
{
    if (!json_next_item(rest, name)) return false;
    *value = take(rest);
    return true;
}

struct slice json_text(const struct json_part *string, struct arena *arena)
{
    struct slice raw = slice_of(string->raw.data + 1, string->raw.len - 2);
    if (raw.len == 0 || memchr(raw.data, '\\', raw.len) == NULL) return raw;
    struct buf text;
    buf_init(&text);
    json_string_unescape(raw, &text);
    buf_require(&text);
    struct slice copy = arena_copy(arena, buf_slice(&text));
    buf_fini(&text);
    return copy;
}

enum err json_members(const struct json_part *object, const char *const *names,
                      struct json_part *parts, bool is_strict, const char *what, struct error *e)
{
    struct json_part name;
    struct json_part value;
    for (size_t i = 0; names[i] != NULL; i++) parts[i].raw = slice_of(NULL, 0);
    if (object->kind != JSON_OBJECT) return error_set(e, ERR_SYNTAX, "%s must be an object", what);
    struct slice rest = json_inside(object);
    while (json_next_member(&rest, &name, &value)) {
        struct slice text = slice_of(name.raw.data + 1, name.raw.len - 2);
        size_t i = 0;
        while (names[i] != NULL && !slice_eq(text, slice_str(names[i]))) i++;
        int shown = text.len < 64 ? (int)text.len : 64;
        if (names[i] == NULL && is_strict) {
            return error_set(e, ERR_SYNTAX, "%s has a member \"%.*s\", which is not known here",
                             what, shown, (const char *)text.data);
        }
        if (names[i] == NULL) continue;
        if (parts[i].raw.data != NULL) {
            return error_set(e, ERR_SYNTAX, "%s has \"%s\" twice", what, names[i]);
        }
        parts[i] = value;
    }
    return OK;
}

bool json_integer(const struct json_part *number, int64_t *out)
{
    return number->kind == JSON_NUMBER && slice_to_i64(number->raw, out);
}

bool json_is_true(const struct json_part *part)
{
    return part->kind == JSON_BOOL && part->raw.data[0] == 't';
}
