/* records: writing and reading in both forms. Members are found and kept as they stand; only where
 * a value ends is looked for, by skipping strings and counting brackets, or by mp_measure. */
#include "tool/records.h"

#include <math.h>

#include "codec/base64.h"
#include "codec/float_text.h"
#include "codec/json_lex.h"
#include "codec/utf8.h"
#include "tool/msgpack.h"

/* ---- writing --------------------------------------------------------------------------------- */

static bool records_is_text(struct slice s)
{
    return utf8_valid_bytes(s) == s.len;
}

static void records_name(struct record_out *r, const char *name)
{
    r->count++;
    if (r->is_pack) {
        mp_add_str(r->out, slice_str(name));
        return;
    }
    if (r->count > 1) buf_append_byte(r->out, ',');
    buf_append_byte(r->out, '"');
    buf_append_str(r->out, name);
    buf_append(r->out, "\":", 2);
}

static void records_put_text(struct record_out *r, struct slice text)
{
    bool is_text = records_is_text(text);
    if (r->is_pack) {
        if (is_text) mp_add_str(r->out, text);
        if (!is_text) mp_add_bin(r->out, text);
    } else if (is_text) {
        json_string_write(text, r->out);
    } else {
        buf_append_str(r->out, "{\"$bytes\":\"");
        base64_encode(text, r->out);
        buf_append_str(r->out, "\"}");
    }
}

static void records_put_i64(struct record_out *r, int64_t value)
{
    if (r->is_pack) {
        mp_add_i64(r->out, value);
    } else {
        buf_append_i64(r->out, value);
    }
}

void record_begin(struct record_out *r, struct buf *out, bool is_pack)
{
    *r = (struct record_out){.out = out, .is_pack = is_pack, .head = out->len};
    if (is_pack) {
        mp_add_map(out, 0);
    } else {
        buf_append_byte(out, '{');
    }
}

void record_raw(struct record_out *r, const char *name, struct slice raw)
{
    records_name(r, name);
    buf_append(r->out, raw.data, raw.len);
}

void record_text(struct record_out *r, const char *name, struct slice text)
{
    records_name(r, name);
    records_put_text(r, text);
}

void record_i64(struct record_out *r, const char *name, int64_t value)
{
    records_name(r, name);
    records_put_i64(r, value);
}

void record_true(struct record_out *r, const char *name)
{
    records_name(r, name);
    if (r->is_pack) {
        mp_add_true(r->out);
    } else {
        buf_append_str(r->out, "true");
    }
}

static void records_open_list(struct record_out *r, size_t count)
{
    if (r->is_pack) {
        mp_add_array(r->out, count);
    } else {
        buf_append_byte(r->out, '[');
    }
}

void record_list(struct record_out *r, const char *name, size_t count)
{
    records_name(r, name);
    records_open_list(r, count);
}

static void records_comma(struct record_out *r, bool is_first)
{
    if (!r->is_pack && !is_first) buf_append_byte(r->out, ',');
}

void record_item_raw(struct record_out *r, struct slice raw, bool is_first)
{
    records_comma(r, is_first);
    buf_append(r->out, raw.data, raw.len);
}

void record_item_text(struct record_out *r, struct slice text, bool is_first)
{
    records_comma(r, is_first);
    records_put_text(r, text);
}

void record_item_i64(struct record_out *r, int64_t value, bool is_first)
{
    records_comma(r, is_first);
    records_put_i64(r, value);
}

void record_item_score(struct record_out *r, struct slice digits, bool is_first)
{
    double score = 0;
    records_comma(r, is_first);
    if (!float_text_read(digits, &score) || isinf(score)) {
        records_put_text(r, digits);
    } else if (r->is_pack) {
        mp_add_f64(r->out, score);
    } else {
        buf_append(r->out, digits.data, digits.len);
    }
}

void record_item_list(struct record_out *r, size_t count, bool is_first)
{
    records_comma(r, is_first);
    records_open_list(r, count);
}

void record_list_end(struct record_out *r)
{
    if (!r->is_pack) buf_append_byte(r->out, ']');
}

void record_end(struct record_out *r)
{
    if (r->is_pack) {
        mp_set_map(r->out, r->head, r->count);
    } else {
        buf_append(r->out, "}\n", 2);
    }
}

/* ---- where things end ------------------------------------------------------------------------ */

/* At the opening quote: after the closing one. */
static bool records_skip_string(const uint8_t **at, const uint8_t *end)
{
    for (const uint8_t *p = *at + 1; p < end; p++) {
        if (*p == '\\') {
            p++;
        } else if (*p == '"') {
            *at = p + 1;
            return true;
        }
    }
    return false;
}

static bool records_skip_nested(const uint8_t **at, const uint8_t *end)
{
    size_t depth = 0;
    const uint8_t *p = *at;
    while (p < end) {
        if (*p == '"') {
            if (!records_skip_string(&p, end)) return false;
            continue;
        }
        if (*p == '{' || *p == '[') depth++;
        if (*p == '}' || *p == ']') depth--;
        p++;
        if (depth > 0) continue;
        *at = p;
        return true;
    }
    return false;
}

bool json_skip_value(const uint8_t **at, const uint8_t *end)
{
    if (*at == end) return false;
    if (**at == '"') return records_skip_string(at, end);
    if (**at == '{' || **at == '[') return records_skip_nested(at, end);
    const uint8_t *from = *at;
    while (*at < end && strchr(",:]} \t\r\n", **at) == NULL) ++*at;
    return *at > from;
}

/* The first `n` bytes, which *rest then lacks. */
static struct slice records_take(struct slice *rest, size_t n)
{
    struct slice taken = slice_of(rest->data, n);
    *rest = slice_of(rest->data + n, rest->len - n);
    return taken;
}

/* The MessagePack value at the start of *rest, which then lacks it. */
static enum mp_state records_take_pack(struct slice *rest, struct slice *raw)
{
    size_t len = 0;
    enum mp_state s = mp_measure(*rest, &len);
    if (s == MP_WHOLE) *raw = records_take(rest, len);
    return s;
}

/* ---- reading --------------------------------------------------------------------------------- */

static enum err records_add(struct fields *f, struct slice name, struct slice raw, struct error *e)
{
    int len = (int)(name.len < 64 ? name.len : 64);
    for (size_t i = 0; i < f->count; i++) {
        if (!slice_eq(f->items[i].name, name)) continue;
        return error_set(e, ERR_VALUE, "\"%.*s\" is given twice", len, (const char *)name.data);
    }
    if (f->count == RECORDS_MEMBERS_MAX) {
        return error_set(e, ERR_VALUE, "a record has too many members (\"%.*s\")", len,
                         (const char *)name.data);
    }
    f->items[f->count++] = (struct field){.name = name, .raw = raw};
    return OK;
}

enum err fields_read_json(struct slice line, struct fields *f, struct error *e)
{
    struct json j = {.start = line.data,
                     .at = line.data,
                     .end = line.data + line.len,
                     .code = ERR_VALUE,
                     .subject = "not a valid record",
                     .e = e};
    f->is_pack = false;
    f->count = 0;
    if (!json_expect(&j, '{')) return ERR_VALUE;
    bool is_empty = json_peek(&j) == '}';
    while (!is_empty) {
        struct slice name;
        bool has_escape = false;
        if (json_peek(&j) != '"') {
            json_fail(&j, j.at, "expected the name of a member");
            return ERR_VALUE;
        }
        if (!json_string_scan(&j, &name, &has_escape) || !json_expect(&j, ':')) return ERR_VALUE;
        json_skip_blanks(&j);
        const uint8_t *from = j.at;
        if (!json_skip_value(&j.at, j.end)) {
            json_fail(&j, from, "expected a complete value");
            return ERR_VALUE;
        }
        enum err r = records_add(f, name, slice_of(from, (size_t)(j.at - from)), e);
        if (r != OK) return r;
        if (json_peek(&j) != ',') break;
        j.at++;
    }
    return json_expect(&j, '}') && json_expect_end(&j) ? OK : ERR_VALUE;
}

static enum err records_bad_pack(enum mp_state s, struct error *e)
{
    if (s == MP_TRUNCATED) return OK;
    if (s == MP_INVALID) return error_set(e, ERR_VALUE, "not valid MessagePack");
    return error_set(e, ERR_VALUE, "deeper than %d levels", MP_DEPTH_MAX);
}

static bool records_is_name(struct slice item, struct slice *name)
{
    msgpack_object o;
    if (!mp_unpack(item, &o) || o.type != MSGPACK_OBJECT_STR) return false;
    *name = slice_of(o.via.str.ptr, o.via.str.size);
    return true;
}

enum err fields_read_pack(struct slice bytes, struct fields *f, size_t *used, struct error *e)
{
    struct slice rest = bytes;
    struct mp_head h;
    f->is_pack = true;
    f->count = 0;
    *used = 0;
    enum mp_state s = mp_head(rest, &h);
    if (s != MP_WHOLE) return records_bad_pack(s, e);
    if (h.kind != MP_MAP) return error_set(e, ERR_VALUE, "expected a map");
    records_take(&rest, h.bytes);
    for (uint64_t i = h.items / 2; i > 0; i--) {
        struct slice name = {0};
        struct slice raw = {0};
        s = mp_head(rest, &h);
        if (s != MP_WHOLE) return records_bad_pack(s, e);
        if (!records_is_name(records_take(&rest, h.bytes), &name)) {
            return error_set(e, ERR_VALUE, "the names of members must be strings");
        }
        s = records_take_pack(&rest, &raw);
        if (s != MP_WHOLE) return records_bad_pack(s, e);
        enum err r = records_add(f, name, raw, e);
        if (r != OK) return r;
    }
    *used = bytes.len - rest.len;
    return OK;
}

struct slice fields_get(const struct fields *f, const char *name)
{
    for (size_t i = 0; i < f->count; i++) {
        if (slice_eq(f->items[i].name, slice_str(name))) return f->items[i].raw;
    }
    return slice_of(NULL, 0);
}

/* ---- members --------------------------------------------------------------------------------- */

/* The text of a JSON string, in the arena. */
static bool records_json_text(struct slice raw, struct arena *a, struct slice *out)
{
    struct json j = {
        .start = raw.data, .at = raw.data, .end = raw.data + raw.len, .code = ERR_VALUE};
    struct slice inside = {0};
    struct buf text;
    bool has_escape = false;
    if (raw.len == 0 || raw.data[0] != '"' || !json_string_scan(&j, &inside, &has_escape)) {
        return false;
    }
    *out = inside;
    if (!has_escape) return true;
    buf_init(&text);
    json_string_unescape(inside, &text);
    buf_require(&text);
    *out = arena_copy(a, buf_slice(&text));
    buf_fini(&text);
    return true;
}

/* {"$bytes":"<base64>"} */
static bool records_json_bytes(struct slice raw, struct arena *a, struct slice *out)
{
    struct fields f;
    struct error e;
    struct slice text = {0};
    struct buf bytes;
    if (raw.len == 0 || raw.data[0] != '{' || fields_read_json(raw, &f, &e) != OK) return false;
    if (!records_json_text(fields_get(&f, "$bytes"), a, &text)) return false;
    buf_init(&bytes);
    bool is_good = base64_decode(text, &bytes);
    buf_require(&bytes);
    if (is_good) *out = arena_copy(a, buf_slice(&bytes));
    buf_fini(&bytes);
    return is_good;
}

bool field_text(const struct fields *f, struct slice raw, struct arena *a, struct slice *out)
{
    msgpack_object o;
    if (!f->is_pack) {
        return records_json_text(raw, a, out) || records_json_bytes(raw, a, out);
    }
    if (!mp_unpack(raw, &o)) return false;
    if (o.type == MSGPACK_OBJECT_STR) *out = slice_of(o.via.str.ptr, o.via.str.size);
    if (o.type == MSGPACK_OBJECT_BIN) *out = slice_of(o.via.bin.ptr, o.via.bin.size);
    return o.type == MSGPACK_OBJECT_STR || o.type == MSGPACK_OBJECT_BIN;
}

bool field_i64(const struct fields *f, struct slice raw, int64_t *out)
{
    msgpack_object o;
    if (!f->is_pack) return slice_to_i64(raw, out);
    if (!mp_unpack(raw, &o)) return false;
    bool is_negative = o.type == MSGPACK_OBJECT_NEGATIVE_INTEGER;
    if (!is_negative && (o.type != MSGPACK_OBJECT_POSITIVE_INTEGER || o.via.u64 > INT64_MAX)) {
        return false;
    }
    *out = is_negative ? o.via.i64 : (int64_t)o.via.u64;
    return true;
}

bool field_score(const struct fields *f, struct slice raw, struct arena *a, struct slice *out)
{
    msgpack_object o;
    char digits[FLOAT_TEXT_BYTES];
    double score = 0;
    bool is_number = f->is_pack && mp_unpack(raw, &o) &&
                     (o.type == MSGPACK_OBJECT_FLOAT32 || o.type == MSGPACK_OBJECT_FLOAT64);
    bool is_text = false;
    if (is_number) *out = arena_copy(a, slice_of(digits, float_text_write(o.via.f64, digits)));
    if (!is_number) is_text = field_text(f, raw, a, out);
    if (!is_number && !is_text) *out = raw; /* digits of JSON */
    return (is_number || is_text || !f->is_pack) && float_text_read(*out, &score);
}

bool field_is_true(const struct fields *f, struct slice raw)
{
    msgpack_object o;
    if (!f->is_pack) return slice_eq(raw, slice_str("true"));
    return mp_unpack(raw, &o) && o.type == MSGPACK_OBJECT_BOOLEAN && o.via.boolean;
}

static bool records_pack_list(struct slice raw, struct arena *a, struct slice **out, size_t *count)
{
    struct mp_head h;
    if (mp_head(raw, &h) != MP_WHOLE || h.kind != MP_ARRAY) return false;
    records_take(&raw, h.bytes);
    if (h.items > raw.len) return false;
    *out = arena_alloc(a, ((size_t)h.items + 1) * sizeof **out);
    for (*count = 0; *count < h.items; ++*count) {
        if (records_take_pack(&raw, &(*out)[*count]) != MP_WHOLE) return false;
    }
    return true;
}

bool field_list(const struct fields *f, struct slice raw, struct arena *a, struct slice **out,
                size_t *count)
{
    if (f->is_pack) return records_pack_list(raw, a, out, count);
    struct json j = {
        .start = raw.data, .at = raw.data, .end = raw.data + raw.len, .code = ERR_VALUE};
    if (!json_expect(&j, '[')) return false;
    *out = arena_alloc(a, (raw.len / 2 + 1) * sizeof **out);
    *count = 0;
    while (json_peek(&j) != ']') {
        if (*count > 0 && !json_expect(&j, ',')) return false;
        json_skip_blanks(&j);
        const uint8_t *from = j.at;
        if (!json_skip_value(&j.at, j.end)) return false;
        (*out)[(*count)++] = slice_of(from, (size_t)(j.at - from));
    }
    return json_expect(&j, ']') && json_expect_end(&j);
}
