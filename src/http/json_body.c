/* json_body: see json_body.h. The check keeps a stack of closing brackets in place of recursion, so
 * that it can stop after any value and go on later. What finds parts of a checked text only skips
 * strings and counts brackets. */
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
    if (next == 0) return json_fail(j, j->at, "expected a value before the end of the text");
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
 * w->depth 0: it was the last. */
static bool check_after(struct json *j, struct json_checker *w)
{
    while (w->depth > 0) {
        uint8_t next = json_peek(j);
        char close = w->closers[w->depth - 1];
        if (next == ',') {
            j->at++;
            return close == ']' || check_name(j);
        }
        if (next != (uint8_t)close) return json_fail(j, j->at, "expected ',' or '%c'", close);
        j->at++;
        w->depth--;
    }
    return true;
}

/* A scalar, an empty container, or the beginning of another one: *is_open. */
static bool check_value(struct json *j, struct json_checker *w, bool *is_open)
{
    uint8_t next = json_peek(j);
    *is_open = false;
    if (next != '[' && next != '{') return check_scalar(j, next);
    char close = next == '[' ? ']' : '}';
    if (w->depth == JSON_DEPTH_MAX) return json_fail(j, j->at, "nested deeper than 128");
    j->at++;
    if (json_peek(j) == (uint8_t)close) {
        j->at++;
        return true;
    }
    w->closers[w->depth++] = close;
    *is_open = true;
    return close == ']' || check_name(j);
}

/* Values until the last one, or so many bytes further. */
static bool check_values(struct json *j, struct json_checker *w, size_t bytes, bool *is_done)
{
    const uint8_t *from = j->at;
    bool is_open;
    *is_done = false;
    while ((size_t)(j->at - from) < bytes) {
        if (!check_value(j, w, &is_open)) return false;
        if (is_open) continue;
        if (!check_after(j, w)) return false;
        if (w->depth > 0) continue;
        *is_done = true;
        return true;
    }
    return true;
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

/* Of a checked string with its quotes. Long ones are looked through by memchr. */
static size_t string_length(struct slice s)
{
    size_t i = 1;
    const uint8_t *quote = memchr(s.data + i, '"', s.len - i);
    for (;;) {
        size_t end = (size_t)(quote - s.data);
        const uint8_t *escape = memchr(s.data + i, '\\', end - i);
        if (escape == NULL) return end + 1;
        i = (size_t)(escape - s.data) + 2;
        if (i > end) quote = memchr(s.data + i, '"', s.len - i);
    }
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

void json_checker_begin(struct json_checker *w, struct slice text)
{
    *w = (struct json_checker){.text = text};
}

enum err json_checker_go_on(struct json_checker *w, size_t bytes, struct json_part *out,
                            struct error *e)
{
    struct slice text = w->text;
    if (text.len == 0) return error_set(e, ERR_SYNTAX, "invalid JSON: empty");
    struct json j = {.start = text.data,
                     .at = text.data + w->at,
                     .end = text.data + text.len,
                     .code = ERR_SYNTAX,
                     .subject = "invalid JSON",
                     .e = e};
    bool is_done;
    if (!check_values(&j, w, bytes, &is_done)) return ERR_SYNTAX;
    w->at = (size_t)(j.at - text.data);
    if (!is_done) return ERR_WAIT;
    if (!json_expect_end(&j)) return ERR_SYNTAX;
    text.len = w->at;
    out->raw = after_blanks(text);
    out->kind = kind_of(out->raw.data[0]);
    return OK;
}

enum err json_check(struct slice text, struct json_part *out, struct error *e)
{
    struct json_checker w;
    json_checker_begin(&w, text);
    return json_checker_go_on(&w, SIZE_MAX, out, e);
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

/* Also when it is written with escapes. */
static bool is_called(struct slice raw, const char *name)
{
    bool has_escape = raw.len > 0 && memchr(raw.data, '\\', raw.len) != NULL;
    if (!has_escape) return slice_eq(raw, slice_str(name));
    return strlen(name) <= 16 && json_string_is(raw, has_escape, name);
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
        while (names[i] != NULL && !is_called(text, names[i])) i++;
        int shown = text.len < 64 ? (int)text.len : 64;
        if (names[i] == NULL && is_strict) {
            return error_set(e, ERR_SYNTAX, "%s has an unknown member \"%.*s\"", what, shown,
                             (const char *)text.data);
        }
        if (names[i] == NULL) continue;
        if (parts[i].raw.data != NULL) {
            return error_set(e, ERR_SYNTAX, "%s has a duplicate \"%s\"", what, names[i]);
        }
        parts[i] = value;
    }
    return OK;
}

bool json_part_integer(const struct json_part *number, int64_t *out)
{
    return number->kind == JSON_NUMBER && slice_to_i64(number->raw, out);
}

bool json_is_true(const struct json_part *part)
{
    return part->kind == JSON_BOOL && part->raw.data[0] == 't';
}
