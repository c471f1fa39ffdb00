/* key_json: keys as JSON text, both ways. Single pass; strings go straight into the
 * encoding. */
#include <math.h>

#include "base/bytes.h"
#include "codec/base64.h"
#include "codec/bigint.h"
#include "codec/json_lex.h"
#include "codec/key_int.h"
#include "codec/number.h"

static const char bigint_hint[] =
    "integer beyond +-(2^53-1), write it as {\"$bigint\":\"%.*s%.*s%s\"}";

static bool add_string(struct json *j, struct key_writer *w)
{
    struct slice raw;
    bool has_escape = false;
    const uint8_t *from = j->at;
    if (!json_string_scan(j, &raw, &has_escape)) return false;
    if (raw.len / 6 > KEY_BYTES_MAX) { /* even if every character is an escape */
        j->code = ERR_LIMIT;
        return json_fail(j, from, "larger than %d bytes", KEY_BYTES_MAX);
    }
    uint8_t *to = buf_reserve(w->out, raw.len + 2);
    if (to == NULL) return true;
    *to++ = 0x02;
    w->out->len++;
    if (has_escape) {
        size_t text = w->out->len;
        json_string_unescape(raw, w->out);
        key_end_text(w->out, text);
        return true;
    }
    memcpy(to, raw.data, raw.len); /* without escapes there is no NUL to escape either */
    to[raw.len] = 0;
    w->out->len += raw.len + 1;
    return true;
}

/* The names JSON itself does not know; for people at a prompt. */
static bool take_name(struct json *j, double *d)
{
    static const char *const names[] = {"NaN", "-NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (json_take_word(j, names[i])) return number_from_name(slice_str(names[i]), true, d);
    }
    return false;
}

static bool add_number(struct json *j, struct key_writer *w)
{
    const uint8_t *from = j->at;
    double d = 0;
    if (j->end - j->at > 1 && (j->at[0] == '-' || j->at[0] == 'N' || j->at[0] == 'I') &&
        take_name(j, &d)) {
        key_add_number(w->out, d);
        return true;
    }
    struct json_number n;
    if (!json_number_scan(j, &n)) return false;
    if (n.is_integer && json_take_word(j, "n")) {
        return key_add_decimal(w->out, n.is_negative, n.text) ||
               json_fail(j, from, "bigint of more than 255 bytes");
    }
    bool is_large = n.is_integer && (n.digit_count > 16 || n.magnitude > NUMBER_SAFE_MAX);
    if (is_large && w->takes_bare) {
        return key_add_decimal(w->out, n.is_negative, n.text) ||
               json_fail(j, from, "bigint of more than 255 bytes");
    }
    if (is_large) {
        size_t shown = n.text.len < 40 ? n.text.len : 40;
        return json_fail(j, from, bigint_hint, n.is_negative, "-", (int)shown,
                         (const char *)n.text.data, shown < n.text.len ? ".." : "");
    }
    d = json_number_double(&n);
    if (isinf(d)) {
        return json_fail(j, from,
                         "number beyond the range of a double, write {\"$number\":\"%sInfinity\"}"
                         " or a bigint {\"$bigint\":\"..\"}",
                         n.is_negative ? "-" : "");
    }
    key_add_number(w->out, d);
    return true;
}

static bool add_tag_value(struct json *j, struct key_writer *w, char tag, struct slice raw,
                          const uint8_t *from)
{
    if (tag == 'n') {
        double d = 0;
        if (!number_from_name(raw, true, &d)) {
            return json_fail(j, from,
                             "$number must be \"NaN\", \"-NaN\", \"Infinity\", \"-Infinity\" or "
                             "\"-0\"");
        }
        key_add_number(w->out, d);
        return true;
    }
    if (tag == 'i') {
        bool is_negative = raw.len > 0 && raw.data[0] == '-';
        struct slice digits = is_negative ? slice_of(raw.data + 1, raw.len - 1) : raw;
        if (key_add_decimal(w->out, is_negative, digits)) return true;
        return json_fail(j, from,
                         "$bigint must be decimal digits of at most 255 bytes of magnitude");
    }
    if (base64_decoded_bytes(raw) > KEY_BYTES_MAX) {
        j->code = ERR_LIMIT;
        return json_fail(j, from, "larger than %d bytes", KEY_BYTES_MAX);
    }
    buf_append_byte(w->out, 0x01);
    size_t text = w->out->len;
    if (!base64_decode(raw, w->out)) return json_fail(j, from, "$bytes is not valid base64");
    key_end_text(w->out, text);
    return true;
}

static bool add_placeholder(struct json *j, struct key_writer *w, bool is_uuid)
{
    char text[UUID_CHARS];
    size_t len = 0;
    if (!placeholder_read(j, w->placeholders, is_uuid, text, &len)) return false;
    key_add_string(w->out, slice_of(text, len));
    return json_expect(j, '}');
}

/* {"$bigint":"1"} and its kind: one name, one string. */
static bool add_tagged(struct json *j, struct key_writer *w)
{
    static const struct {
        const char *name;
        char tag;
    } tags[] = {{"$bigint", 'i'},
                {"$bytes", 'b'},
                {"$number", 'n'},
                {"$uuidv7", 'u'},
                {"$versionstamp", 'v'}};
    const uint8_t *from = j->at++;
    struct slice raw;
    bool has_escape = false;
    char tag = 0;
    if (json_peek(j) == '"') {
        if (!json_string_scan(j, &raw, &has_escape)) return false;
        for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
            if (json_string_is(raw, has_escape, tags[i].name)) tag = tags[i].tag;
        }
    }
    if (tag == 0) {
        return json_fail(j, from,
                         "an object; the only objects in a key are $bigint, $bytes and $number");
    }
    if (!json_expect(j, ':')) return false;
    if (tag == 'u' || tag == 'v') return add_placeholder(j, w, tag == 'u');
    if (json_peek(j) != '"') return json_fail(j, j->at, "expected a string");
    from = j->at;
    if (!json_string_scan(j, &raw, &has_escape)) return false;
    if (!has_escape) return add_tag_value(j, w, tag, raw, from) && json_expect(j, '}');
    /* Escaped ("\u0031", "\/"): rare, and the only allocation of this file. */
    struct buf plain;
    buf_init(&plain);
    json_string_unescape(raw, &plain);
    bool ok = add_tag_value(j, w, tag, buf_slice(&plain), from) && json_expect(j, '}');
    buf_fini(&plain);
    return ok;
}

static bool add_part(struct json *j, struct key_writer *w)
{
    uint8_t c = json_peek(j);
    const uint8_t *from = j->at;
    if (c == '"') return add_string(j, w);
    if (c == '-' || (c >= '0' && c <= '9') || c == 'N' || c == 'I') return add_number(j, w);
    if (c == '{') return add_tagged(j, w);
    if (json_take_word(j, "true") || json_take_word(j, "false")) {
        key_add_bool(w->out, c == 't');
        return true;
    }
    if (json_take_word(j, "null")) return json_fail(j, from, "null cannot be part of a key");
    if (c == '[') return json_fail(j, from, "an array cannot be part of a key");
    if (j->at == j->end) return json_fail(j, from, "expected a part before the end of the text");
    return json_fail(j, from, "expected a string, number, boolean or tagged part");
}

/* Up to the end of the text. False: the error is set. */
static bool add_parts(struct json *j, struct key_writer *w)
{
    if (!json_expect(j, '[')) return false;
    if (json_peek(j) == ']') {
        j->at++;
        return json_expect_end(j);
    }
    for (;;) {
        if (!add_part(j, w)) return false;
        w->parts++;
        j->code = key_writer_check(w);
        if (j->code != OK) return false;
        j->code = ERR_KEY;
        uint8_t c = json_peek(j);
        if (c == ',') {
            j->at++;
        } else if (c == ']') {
            j->at++;
            return json_expect_end(j);
        } else if (j->at == j->end) {
            return json_fail(j, j->at, "the array is not closed");
        } else {
            return json_fail(j, j->at, "expected ',' or ']'");
        }
    }
}

enum err key_writer_json(struct key_writer *w, struct slice text, bool allow_empty)
{
    struct json j = {.start = text.data, .at = text.data, .end = text.data, .e = w->e};
    if (text.len > 0) j.end += text.len;
    j.code = ERR_KEY;
    j.subject = "invalid key";
    bool ok = add_parts(&j, w);
    return key_writer_end(w, allow_empty, ok ? OK : j.code);
}

enum err key_from_json(struct slice text, bool allow_empty, const struct placeholders *p,
                       struct buf *out, struct error *e)
{
    struct key_writer w = {.out = out, .from = out->len, .placeholders = p, .e = e};
    return key_writer_json(&w, text, allow_empty);
}

static void text_to_json(const struct key_part *part, struct buf *out)
{
    bool has_escape = part->bytes.len > 0 && memchr(part->bytes.data, 0, part->bytes.len) != NULL;
    uint8_t room[KEY_BYTES_MAX];
    struct buf plain = {.data = room, .cap = sizeof room}; /* a valid key fits: it never grows */
    struct slice s = part->bytes;
    if (has_escape) {
        key_part_plain(part, &plain);
        s = buf_slice(&plain);
    }
    if (part->type == KEY_STRING) {
        json_string_write(s, out);
        return;
    }
    buf_append_str(out, "{\"$bytes\":\"");
    base64_encode(s, out);
    buf_append_str(out, "\"}");
}

/* `magnitude` is minimal. */
static bool is_beyond_safe(struct slice magnitude)
{
    return magnitude.len > 8 || get_uint(magnitude.data, magnitude.len) > NUMBER_SAFE_MAX;
}

static void bigint_to_json(const struct key_part *part, bool is_bare, struct buf *out)
{
    uint8_t room[KEY_BIGINT_BYTES_MAX];
    struct buf magnitude = {.data = room, .cap = sizeof room};
    key_part_plain(part, &magnitude);
    is_bare = is_bare && is_beyond_safe(buf_slice(&magnitude));
    if (!is_bare) buf_append_str(out, "{\"$bigint\":\"");
    if (part->is_negative) buf_append_byte(out, '-');
    uint8_t *to = buf_reserve(out, KEY_BIGINT_DIGITS_MAX);
    if (to != NULL) out->len += bigint_to_decimal(buf_slice(&magnitude), (char *)to);
    if (!is_bare) buf_append_str(out, "\"}");
}

static void render(struct slice key, bool is_bare, struct buf *out)
{
    struct key_part part;
    uint8_t before = '[';
    for (size_t at = 0; key_next(key, &at, &part); before = ',') {
        buf_append_byte(out, before);
        switch (part.type) {
        case KEY_BYTES:
        case KEY_STRING: text_to_json(&part, out); break;
        case KEY_BIGINT: bigint_to_json(&part, is_bare, out); break;
        case KEY_NUMBER: number_to_json(part.number, true, out); break;
        case KEY_BOOL: buf_append_str(out, part.boolean ? "true" : "false"); break;
        }
    }
    if (before == '[') buf_append_byte(out, '[');
    buf_append_byte(out, ']');
}

void key_to_json(struct slice key, struct buf *out)
{
    render(key, false, out);
}

void key_to_bare_json(struct slice key, struct buf *out)
{
    render(key, true, out);
}
