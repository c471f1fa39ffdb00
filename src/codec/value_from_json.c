/* value_from_json: typed JSON -> MessagePack in its smallest encoding, one pass, no tree.
 * Containers get one byte for their head; larger ones are moved when they end. */
#include <math.h>

#include "codec/bigint.h"
#include "codec/number.h"
#include "codec/pack.h"
#include "codec/value_json_int.h"
#include "codec/value_plain.h"

/* Nothing grows by more than 3 times; this keeps every length in 32 bits. */
#define TEXT_BYTES_MAX ((size_t)1 << 30)

bool value_nomem(struct value_reader *r)
{
    r->j.code = error_set(r->j.e, ERR_NOMEM, "out of memory");
    return false;
}

bool value_enter(struct value_reader *r, const uint8_t *where)
{
    if (++r->depth <= VALUE_DEPTH_MAX) return true;
    return json_fail(&r->j, where, "deeper than %d levels", VALUE_DEPTH_MAX);
}

bool value_read_string(struct value_reader *r, size_t *bytes)
{
    struct slice raw;
    bool has_escape = false;
    if (!json_string_scan(&r->j, &raw, &has_escape)) return false;
    *bytes = raw.len;
    if (!has_escape) {
        pack_str(r->out, raw);
        return true;
    }
    uint8_t head[PACK_HEAD_BYTES];
    size_t room = pack_head(PACK_STR, 0, raw.len, head);
    size_t opened = pack_open(r->out, room);
    json_string_unescape(raw, r->out);
    if (r->out->is_failed) return value_nomem(r);
    *bytes = r->out->len - opened - room;
    pack_close(r->out, opened, room, head, pack_head(PACK_STR, 0, *bytes, head));
    return true;
}

static bool read_bigint(struct value_reader *r, const struct json_number *n, const uint8_t *from)
{
    uint8_t magnitude[BIGINT_DECIMAL_BYTES];
    size_t len = 0;
    if (!bigint_from_decimal(n->text, magnitude, &len)) {
        return json_fail(&r->j, from,
                         "integer literal of more than %d bytes of magnitude, write "
                         "{\"$bigint\":\"0x..\"}",
                         BIGINT_DECIMAL_BYTES);
    }
    value_pack_bigint(r->out, n->is_negative, slice_of(magnitude, len));
    return true;
}

static bool read_number(struct value_reader *r)
{
    const uint8_t *from = r->j.at;
    struct json_number n;
    if (!json_number_scan(&r->j, &n)) return false;
    if (n.is_integer) {
        if (n.digit_count > 16 || n.magnitude > NUMBER_SAFE_MAX) return read_bigint(r, &n, from);
        if (!n.is_negative) {
            pack_uint(r->out, n.magnitude);
        } else if (n.magnitude > 0) {
            pack_int(r->out, -(int64_t)n.magnitude);
        } else {
            pack_float(r->out, -0.0);
        }
        return true;
    }
    double d = json_number_double(&n);
    if (isinf(d)) {
        return json_fail(&r->j, from,
                         "number beyond the range of a double, write {\"$number\":\"%sInfinity\"}",
                         n.is_negative ? "-" : "");
    }
    pack_number(r->out, d);
    return true;
}

bool value_read_items(struct value_reader *r, uint64_t *count)
{
    *count = 0;
    r->j.at++;
    if (json_peek(&r->j) == ']') {
        r->j.at++;
        return true;
    }
    for (;;) {
        if (!value_read(r)) return false;
        ++*count;
        uint8_t c = json_peek(&r->j);
        if (c == ',') {
            r->j.at++;
        } else if (c == ']') {
            r->j.at++;
            return true;
        } else {
            bool is_end = r->j.at == r->j.end;
            return json_fail(&r->j, r->j.at,
                             is_end ? "the array is not closed" : "expected ',' or ']'");
        }
    }
}

static bool read_array(struct value_reader *r)
{
    uint64_t count = 0;
    size_t opened = pack_open(r->out, 1);
    if (!value_enter(r, r->j.at) || !value_read_items(r, &count)) return false;
    r->depth--;
    if (r->out->is_failed) return value_nomem(r);
    uint8_t head[PACK_HEAD_BYTES];
    pack_close(r->out, opened, 1, head, pack_head(PACK_ARRAY, 0, count, head));
    return true;
}

/* Name and ':' of one member, checked against those before it. */
static bool read_name(struct value_reader *r, size_t from, struct slice *name)
{
    size_t bytes = 0;
    if (json_peek(&r->j) != '"') {
        bool is_end = r->j.at == r->j.end;
        return json_fail(&r->j, r->j.at, is_end ? "the object is not closed" : "expected a name");
    }
    const uint8_t *where = r->j.at;
    if (!value_read_string(r, &bytes)) return false;
    if (r->out->is_failed) return value_nomem(r);
    size_t at = r->out->len - bytes;
    size_t offset = (size_t)(where - r->j.start);
    if (!names_add(&r->names, from, r->out->data, at, bytes * 2 + 1, offset)) {
        return json_fail(&r->j, where, "duplicate key");
    }
    *name = slice_of(r->out->data + at, bytes);
    if (r->j.at < r->j.end && *r->j.at == ':') {
        r->j.at++;
        return true;
    }
    return json_expect(&r->j, ':');
}

static bool check_error_member(struct value_reader *r, struct slice name, unsigned *seen)
{
    unsigned member = value_error_member_of(name);
    const uint8_t *where = r->j.at;
    if (member == 0)
        return json_fail(&r->j, where, "$error must have only name, message, stack and cause");
    *seen |= member;
    if (member == MEMBER_CAUSE || json_peek(&r->j) == '"') return true;
    return json_fail(&r->j, where, "%s of $error must be a string",
                     member == MEMBER_NAME    ? "name"
                     : member == MEMBER_STACK ? "stack"
                                              : "message");
}

bool value_read_members(struct value_reader *r, bool is_error)
{
    const uint8_t *open = r->j.at;
    size_t from = r->names.count, count = 0;
    unsigned seen = 0;
    size_t opened = pack_open(r->out, 1);
    if (!value_enter(r, open)) return false;
    uint8_t c = json_peek(&r->j);
    if (c == '}') r->j.at++;
    while (c != '}') {
        struct slice name = {0};
        if (!read_name(r, from, &name)) return false;
        if (is_error && !check_error_member(r, name, &seen)) return false;
        if (!value_read(r)) return false;
        count++;
        c = json_peek(&r->j);
        if (c != ',' && c != '}') {
            bool is_end = r->j.at == r->j.end;
            return json_fail(&r->j, r->j.at,
                             is_end ? "the object is not closed" : "expected ',' or '}'");
        }
        r->j.at++;
    }
    const struct name *again = names_end(&r->names, from, r->out->data);
    if (r->out->is_failed || r->names.is_failed) return value_nomem(r);
    if (again != NULL) return json_fail(&r->j, r->j.start + again->where, "duplicate key");
    if (is_error && (seen & 3) != 3) {
        return json_fail(&r->j, open, "$error must have a name and a message");
    }
    r->depth--;
    uint8_t head[PACK_HEAD_BYTES];
    pack_close(r->out, opened, 1, head, pack_head(PACK_MAP, 0, count, head));
    return true;
}

static bool read_object(struct value_reader *r)
{
    const uint8_t *open = r->j.at;
    unsigned members = value_read_brace(r);
    /* A tag begins with '$', which may be escaped; all other objects pay only for this look. */
    if (json_peek(&r->j) == '"' && r->j.end - r->j.at > 2 &&
        (r->j.at[1] == '$' || r->j.at[1] == '\\')) {
        enum value_tag tag = value_find_tag(r, open, members);
        if (r->counts.is_failed) return value_nomem(r);
        if (tag != TAG_NONE) return value_read_tag(r, tag);
    }
    return value_read_members(r, false);
}

static bool read_word(struct value_reader *r)
{
    struct json *j = &r->j;
    if (json_take_word(j, "true")) {
        buf_append_byte(r->out, 0xc3);
    } else if (json_take_word(j, "false")) {
        buf_append_byte(r->out, 0xc2);
    } else if (json_take_word(j, "null")) {
        buf_append_byte(r->out, 0xc0);
    } else if (j->at == j->end) {
        return json_fail(j, j->at, "expected a value before the end of the text");
    } else {
        return json_fail(j, j->at, "expected a value");
    }
    return true;
}

bool value_read(struct value_reader *r)
{
    size_t bytes = 0;
    uint8_t c = json_peek(&r->j);
    if (c == '"') return value_read_string(r, &bytes);
    if (c == '-' || (c >= '0' && c <= '9')) return read_number(r);
    if (c == '{') return read_object(r);
    if (c == '[') return read_array(r);
    return read_word(r);
}

enum err value_from_json(struct slice text, const struct placeholders *p, struct buf *out,
                         struct error *e)
{
    struct value_reader r;
    if (text.len > TEXT_BYTES_MAX) {
        return error_set(e, ERR_LIMIT, "value is larger than %zu bytes", TEXT_BYTES_MAX);
    }
    if (value_plain_from_json(text, out)) return OK;
    size_t from = out->len;
    r.j = (struct json){.start = text.data, .at = text.data, .code = ERR_VALUE, .e = e};
    r.j.end = text.len > 0 ? text.data + text.len : text.data;
    r.j.subject = "invalid value";
    r.out = out;
    r.placeholders = p;
    r.depth = 0;
    r.swept_end = r.j.start;
    r.counts_next = 0;
    buf_init(&r.counts);
    buf_init(&r.scratch);
    names_init(&r.names);
    bool ok = value_read(&r) && json_expect_end(&r.j);
    if (ok && (out->is_failed || r.scratch.is_failed)) ok = value_nomem(&r);
    names_fini(&r.names);
    buf_fini(&r.scratch);
    buf_fini(&r.counts);
    if (ok) return OK;
    out->len = from;
    return r.j.code;
}
