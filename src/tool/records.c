#include "tool/records.h"

#include "codec/base64.h"
#include "codec/json_lex.h"
#include "codec/pack.h"
#include "codec/utf8.h"

/* ---- writing --------------------------------------------------------------------------------- */

static bool records_is_text(struct slice s)
{
    return utf8_valid_bytes(s) == s.len;
}

static void records_name(struct record_out *r, const char *name)
{
    r->count++;
    if (r->is_pack) {
        pack_str(r->out, slice_str(name));
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
        if (is_text) pack_str(r->out, text);
        if (!is_text) pack_bin(r->out, text);
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
        pack_int(r->out, value);
    } else {
        buf_append_i64(r->out, value);
    }
}

void record_begin(struct record_out *r, struct buf *out, bool is_pack)
{
    *r = (struct record_out){.out = out, .is_pack = is_pack, .head = out->len};
    buf_append_byte(out, is_pack ? 0x80 : '{');
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
        buf_append_byte(r->out, 0xc3);
    } else {
        buf_append_str(r->out, "true");
    }
}

void record_list(struct record_out *r, const char *name, size_t count)
{
    uint8_t head[PACK_HEAD_BYTES];
    records_name(r, name);
    if (r->is_pack) {
        size_t len = pack_head(PACK_ARRAY, 0, count, head);
        for (size_t i = 0; i < len; i++) buf_append_byte(r->out, head[i]);
    } else {
        buf_append_byte(r->out, '[');
    }
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

void record_list_end(struct record_out *r)
{
    if (!r->is_pack) buf_append_byte(r->out, ']');
}

void record_end(struct record_out *r)
{
    if (!r->is_pack) {
        buf_append(r->out, "}\n", 2);
    } else if (!r->out->is_failed) {
        r->out->data[r->head] = (uint8_t)(0x80 | r->count);
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

/* The MessagePack value at *at; PACK_TRUNCATED: more bytes are needed. */
static enum pack_result records_skip_pack(const uint8_t **at, const uint8_t *end)
{
    uint64_t left = 1;
    while (left > 0) {
        struct pack_item item;
        enum pack_result r = pack_read(at, end, &item);
        if (r != PACK_OK) return r;
        left--;
        if (item.type == PACK_ARRAY) left += item.count;
        if (item.type == PACK_MAP) left += 2 * (uint64_t)item.count;
    }
    return PACK_OK;
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
        return error_set(e, ERR_VALUE, "more members than a record has (\"%.*s\")", len,
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
                     .subject = "not a record",
                     .e = e};
    f->is_pack = false;
    f->count = 0;
    if (!json_expect(&j, '{')) return ERR_VALUE;
    bool is_empty = json_peek(&j) == '}';
    while (!is_empty) {
        struct slice name;
        bool has_escape = false;
        if (json_peek(&j) != '"') {
            json_fail(&j, j.at, "the name of a member expected");
            return ERR_VALUE;
        }
        if (!json_string_scan(&j, &name, &has_escape) || !json_expect(&j, ':')) return ERR_VALUE;
        json_skip_blanks(&j);
        const uint8_t *from = j.at;
        if (!json_skip_value(&j.at, j.end)) {
            json_fail(&j, from, "a value that ends expected");
            return ERR_VALUE;
        }
        enum err r = records_add(f, name, slice_of(from, (size_t)(j.at - from)), e);
        if (r != OK) return r;
        if (json_peek(&j) != ',') break;
        j.at++;
    }
    return json_expect(&j, '}') && json_expect_end(&j) ? OK : ERR_VALUE;
}

static enum err records_bad_pack(enum pack_result r, size_t *used, struct error *e)
{
    *used = 0;
    return r == PACK_TRUNCATED ? OK : error_set(e, ERR_VALUE, "that is not MessagePack");
}

enum err fields_read_pack(struct slice bytes, struct fields *f, size_t *used, struct error *e)
{
    const uint8_t *at = bytes.data;
    const uint8_t *end = bytes.data + bytes.len;
    struct pack_item item;
    f->is_pack = true;
    f->count = 0;
    *used = 0;
    enum pack_result p = pack_read(&at, end, &item);
    if (p != PACK_OK) return records_bad_pack(p, used, e);
    if (item.type != PACK_MAP) return error_set(e, ERR_VALUE, "a map expected");
    for (uint32_t i = item.count; i > 0; i--) {
        struct pack_item name;
        p = pack_read(&at, end, &name);
        if (p != PACK_OK) return records_bad_pack(p, used, e);
        if (name.type != PACK_STR) return error_set(e, ERR_VALUE, "names of members are text");
        const uint8_t *from = at;
        p = records_skip_pack(&at, end);
        if (p != PACK_OK) return records_bad_pack(p, used, e);
        enum err r = records_add(f, name.body, slice_of(from, (size_t)(at - from)), e);
        if (r != OK) return r;
    }
    *used = (size_t)(at - bytes.data);
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

static bool records_item(struct slice raw, struct pack_item *item)
{
    const uint8_t *at = raw.data;
    return raw.len > 0 && pack_read(&at, raw.data + raw.len, item) == PACK_OK;
}

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
    struct pack_item item;
    if (!f->is_pack) {
        return records_json_text(raw, a, out) || records_json_bytes(raw, a, out);
    }
    if (!records_item(raw, &item) || (item.type != PACK_STR && item.type != PACK_BIN)) return false;
    *out = item.body;
    return true;
}

bool field_i64(const struct fields *f, struct slice raw, int64_t *out)
{
    struct pack_item item;
    if (!f->is_pack) return slice_to_i64(raw, out);
    if (!records_item(raw, &item)) return false;
    if (item.type == PACK_INT) *out = item.i;
    if (item.type == PACK_UINT) *out = (int64_t)item.u;
    return item.type == PACK_INT || (item.type == PACK_UINT && item.u <= INT64_MAX);
}

bool field_is_true(const struct fields *f, struct slice raw)
{
    return slice_eq(raw, f->is_pack ? slice_of("\xc3", 1) : slice_str("true"));
}

static bool records_pack_list(struct slice raw, struct arena *a, struct slice **out, size_t *count)
{
    const uint8_t *at = raw.data;
    const uint8_t *end = raw.data + raw.len;
    struct pack_item item;
    if (raw.len == 0 || pack_read(&at, end, &item) != PACK_OK || item.type != PACK_ARRAY) {
        return false;
    }
    *out = arena_alloc(a, ((size_t)item.count + 1) * sizeof **out);
    for (*count = 0; *count < item.count; ++*count) {
        const uint8_t *from = at;
        if (records_skip_pack(&at, end) != PACK_OK) return false;
        (*out)[*count] = slice_of(from, (size_t)(at - from));
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
