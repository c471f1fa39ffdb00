/* from_keyval: entries as the HTTP interface of KeyVal answers them, kept in a file: a list of
 * entries (GET /keys), pages ({"entries":[..],..}, GET /keys/paginate), one after the other, or an
 * entry a line. A row of its table may have expires_at, in seconds.
 *
 * Its values are plain JSON, in which {"__type":"bigint","value":"5"} is a bigint. What looks like
 * a tag of typed JSON is none there, and its numbers are doubles, however many digits they have.
 */
#include <stdio.h>

#include "base/mem.h"
#include "codec/json_lex.h"
#include "tool/input.h"

#define KEYVAL_DEPTH_MAX 130 /* more than a value may have: the server refuses it */
#define KEYVAL_SAFE_DIGITS 15

struct keyval {
    struct input in;
    uint64_t number;    /* of the entry given last */
    bool is_in_list;    /* of the file, which is one */
    bool is_over;       /* the list has ended */
    struct slice *page; /* entries of a page, in the arena; the page is not taken yet */
    size_t page_count, page_at, page_bytes;
    struct arena arena; /* of the page */
    struct buf key, value;
};

static enum tool_status keyval_bad(const struct keyval *k, const char *what)
{
    return tool_fail(TOOL_NO, "%s, entry %llu: %s", k->in.path, (unsigned long long)k->number,
                     what);
}

static enum tool_status keyval_open(struct source *s, const char *from)
{
    struct keyval *k = mem_new(sizeof *k);
    s->state = k;
    arena_init(&k->arena, 4096);
    buf_init(&k->key);
    buf_init(&k->value);
    return input_open(&k->in, from);
}

static void keyval_close(struct source *s)
{
    struct keyval *k = s->state;
    if (k == NULL) return;
    input_close(&k->in);
    arena_fini(&k->arena);
    buf_fini(&k->key);
    buf_fini(&k->value);
    mem_free(k);
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool keyval_value(struct json *j, struct buf *out, unsigned depth);

/* The digits of {"__type":"bigint","value":"<digits>"}; false when it is something else. */
static bool keyval_bigint(const struct fields *f, struct slice *digits)
{
    if (f->count != 2 || !slice_eq(fields_get(f, "__type"), slice_str("\"bigint\""))) return false;
    struct slice raw = fields_get(f, "value");
    if (raw.len < 3 || raw.data[0] != '"') return false;
    *digits = slice_of(raw.data + 1, raw.len - 2);
    for (size_t i = 0; i < digits->len; i++) {
        bool is_sign = i == 0 && digits->data[0] == '-' && digits->len > 1;
        if (!is_sign && (digits->data[i] < '0' || digits->data[i] > '9')) return false;
    }
    return true;
}

static bool keyval_members(struct json *j, struct buf *out, unsigned depth)
{
    buf_append_byte(out, '{');
    j->at++;
    for (bool is_first = true; json_peek(j) != '}'; is_first = false) {
        struct slice name;
        bool has_escape = false;
        if (!is_first && !json_expect(j, ',')) return false;
        if (json_peek(j) != '"' || !json_string_scan(j, &name, &has_escape)) return false;
        if (!is_first) buf_append_byte(out, ',');
        buf_append(out, name.data - 1, name.len + 2);
        buf_append_byte(out, ':');
        if (!json_expect(j, ':') || !keyval_value(j, out, depth + 1)) return false;
    }
    buf_append_byte(out, '}');
    return json_expect(j, '}');
}

static bool keyval_object(struct json *j, struct buf *out, unsigned depth)
{
    struct fields f;
    struct error e;
    struct slice digits = {0};
    const uint8_t *end = j->at;
    if (!json_skip_value(&end, j->end)) return false;
    struct slice raw = slice_of(j->at, (size_t)(end - j->at));
    bool is_small = fields_read_json(raw, &f, &e) == OK;
    if (is_small && keyval_bigint(&f, &digits)) {
        buf_append_str(out, "{\"$bigint\":\"");
        buf_append(out, digits.data, digits.len);
        buf_append_str(out, "\"}");
        j->at = end;
        return true;
    }
    bool is_tag = is_small && f.count == 1 &&
                  (f.items[0].name.len > 0 &&
                   (f.items[0].name.data[0] == '$' || f.items[0].name.data[0] == '\\'));
    if (is_tag) buf_append_str(out, "{\"$object\":");
    if (!keyval_members(j, out, depth)) return false;
    if (is_tag) buf_append_byte(out, '}');
    return true;
}

static bool keyval_list(struct json *j, struct buf *out, unsigned depth)
{
    buf_append_byte(out, '[');
    j->at++;
    for (bool is_first = true; json_peek(j) != ']'; is_first = false) {
        if (!is_first && !json_expect(j, ',')) return false;
        if (!is_first) buf_append_byte(out, ',');
        if (!keyval_value(j, out, depth + 1)) return false;
    }
    buf_append_byte(out, ']');
    return json_expect(j, ']');
}

/* Integers with many digits were doubles: written with an exponent they stay numbers. */
static bool keyval_scalar(struct json *j, struct buf *out)
{
    const uint8_t *from = j->at;
    struct json_number n = {.is_integer = false};
    bool is_number = *from == '-' || (*from >= '0' && *from <= '9');
    if (is_number ? !json_number_scan(j, &n) : !json_skip_value(&j->at, j->end)) return false;
    buf_append(out, from, (size_t)(j->at - from));
    if (n.is_integer && n.digit_count > KEYVAL_SAFE_DIGITS) buf_append_str(out, "e0");
    return true;
}

static bool keyval_value(struct json *j, struct buf *out, unsigned depth)
{
    uint8_t c = json_peek(j);
    if (c == 0 || depth > KEYVAL_DEPTH_MAX) return false;
    if (c == '{') return keyval_object(j, out, depth);
    if (c == '[') return keyval_list(j, out, depth);
    return keyval_scalar(j, out);
}

static bool keyval_convert(struct slice raw, struct buf *out)
{
    struct error e;
    struct json j = {.start = raw.data,
                     .at = raw.data,
                     .end = raw.data + raw.len,
                     .code = ERR_VALUE,
                     .subject = "",
                     .e = &e};
    buf_clear(out, 1 << 20);
    return raw.len > 0 && keyval_value(&j, out, 0) && json_expect_end(&j) && !out->is_failed;
}

/* ---- entries --------------------------------------------------------------------------------- */

static bool keyval_is_null(struct slice raw)
{
    return raw.len == 0 || slice_eq(raw, slice_str("null"));
}

static enum tool_status keyval_entry(struct keyval *k, struct record *out)
{
    const struct fields *f = &out->fields;
    struct slice stamp = fields_get(f, "versionstamp");
    struct slice expires = fields_get(f, "expires_at");
    int64_t s = 0;
    out->number = k->number;
    out->kind = RECORD_ENTRY;
    /* An entry that was asked for and is not there. */
    if (stamp.len > 0 && keyval_is_null(stamp)) out->kind = RECORD_NONE;
    if (out->kind == RECORD_NONE) return TOOL_DONE;
    if (!keyval_convert(fields_get(f, "key"), &k->key)) {
        return keyval_bad(k, "an entry must have a key, which is a list");
    }
    if (!keyval_convert(fields_get(f, "value"), &k->value)) {
        return keyval_bad(k, "an entry must have a value");
    }
    if (!keyval_is_null(expires) && (!field_i64(f, expires, &s) || s <= 0 || s > 1LL << 40)) {
        return keyval_bad(k, "expires_at must be a number of seconds");
    }
    out->expires_ms = s * 1000;
    out->key = buf_slice(&k->key);
    out->value = buf_slice(&k->value);
    if (stamp.len > 0 && !field_text(f, stamp, &k->arena, &out->stamp)) {
        return keyval_bad(k, "versionstamp must be a string");
    }
    return TOOL_DONE;
}

/* At the next byte that is no blank; *c 0 at the end. */
static enum tool_status keyval_peek(struct keyval *k, uint8_t *c)
{
    for (;;) {
        struct slice rest = input_rest(&k->in);
        size_t n = 0;
        while (n < rest.len && rest.data[n] <= ' ') n++;
        input_take(&k->in, n);
        *c = n < rest.len ? rest.data[n] : 0;
        if (*c != 0 || k->in.is_end) return TOOL_DONE;
        enum tool_status s = input_more(&k->in);
        if (s != TOOL_DONE) return s;
    }
}

/* The brackets and commas of the list around the entries. */
static enum tool_status keyval_between(struct keyval *k, uint8_t *c)
{
    for (;;) {
        enum tool_status s = keyval_peek(k, c);
        if (s != TOOL_DONE || *c == '{' || *c == 0) return s;
        bool is_good = *c == '[' ? !k->is_in_list && !k->is_over
                                 : (*c == ',' || *c == ']') && k->is_in_list;
        if (!is_good) return keyval_bad(k, "expected a list of entries");
        if (*c == '[') k->is_in_list = true;
        if (*c == ']') {
            k->is_in_list = false;
            k->is_over = true;
        }
        input_take(&k->in, 1);
    }
}

/* The object that begins here, in memory as a whole. */
static enum tool_status keyval_read(struct keyval *k, struct slice *out)
{
    for (;;) {
        struct slice rest = input_rest(&k->in);
        const uint8_t *at = rest.data;
        if (json_skip_value(&at, rest.data + rest.len)) {
            *out = slice_of(rest.data, (size_t)(at - rest.data));
            return TOOL_DONE;
        }
        if (k->in.is_end) return keyval_bad(k, "the file ends in the middle of it");
        enum tool_status s = input_more(&k->in);
        if (s != TOOL_DONE) return s;
    }
}

/* The next object: an entry, or a page of them. */
static enum tool_status keyval_object_next(struct keyval *k, struct fields *f, bool *is_end)
{
    struct error e;
    struct slice raw = {0};
    uint8_t c = 0;
    enum tool_status s = keyval_between(k, &c);
    *is_end = c == 0;
    if (s == TOOL_DONE && *is_end && k->is_in_list) {
        return keyval_bad(k, "the list is not closed; the file is incomplete");
    }
    if (s != TOOL_DONE || *is_end) return s;
    s = keyval_read(k, &raw);
    if (s != TOOL_DONE) return s;
    if (fields_read_json(raw, f, &e) != OK) return keyval_bad(k, e.text);
    k->page_bytes = raw.len;
    struct slice list = fields_get(f, "entries");
    if (list.data == NULL || fields_get(f, "key").data != NULL) return TOOL_DONE;
    arena_reset(&k->arena);
    k->page_at = 0;
    if (field_list(f, list, &k->arena, &k->page, &k->page_count)) return TOOL_DONE;
    return keyval_bad(k, "the entries of a page must be a list");
}

/* An entry's members. *is_end: there are no more entries. */
static enum tool_status keyval_fields(struct keyval *k, struct fields *f, bool *is_end)
{
    struct error e;
    *is_end = false;
    for (;;) {
        if (k->page != NULL && k->page_at < k->page_count) {
            if (fields_read_json(k->page[k->page_at++], f, &e) == OK) return TOOL_DONE;
            return keyval_bad(k, e.text);
        }
        k->page = NULL;
        input_take(&k->in, k->page_bytes);
        k->page_bytes = 0;
        enum tool_status s = keyval_object_next(k, f, is_end);
        if (s != TOOL_DONE || *is_end || k->page == NULL) return s;
    }
}

static enum tool_status keyval_next(struct source *s, struct record *out)
{
    struct keyval *k = s->state;
    enum tool_status status = TOOL_DONE;
    bool is_end = false;
    do {
        *out = (struct record){.kind = RECORD_NONE};
        k->number++;
        status = keyval_fields(k, &out->fields, &is_end);
        if (status == TOOL_DONE && !is_end) status = keyval_entry(k, out);
    } while (status == TOOL_DONE && !is_end && out->kind == RECORD_NONE);
    return status;
}

static void keyval_place(const struct source *s, char out[SOURCE_PLACE_BYTES])
{
    snprintf(out, SOURCE_PLACE_BYTES, "%llu",
             (unsigned long long)((struct keyval *)s->state)->number);
}

/* They are read again, which is quick. */
static enum tool_status keyval_seek(struct source *s, const char *place)
{
    struct keyval *k = s->state;
    struct record r = {.kind = RECORD_ENTRY};
    uint64_t number = 0;
    enum tool_status status = TOOL_DONE;
    if (!slice_to_u64(slice_str(place), &number)) {
        return tool_fail(TOOL_NO, "invalid position \"%s\"", place);
    }
    while (status == TOOL_DONE && k->number < number && r.kind != RECORD_NONE) {
        status = keyval_next(s, &r);
    }
    return status;
}

static void keyval_identity(const struct source *s, char out[SOURCE_PLACE_BYTES])
{
    input_identity(&((const struct keyval *)s->state)->in, out);
}

static void keyval_share(const struct source *s, uint64_t *done, uint64_t *all)
{
    const struct keyval *k = s->state;
    *done = k->in.offset;
    *all = k->in.size;
}

const struct source_kind source_keyval = {
    .name = "keyval",
    .what = "entries as returned by KeyVal's HTTP interface",
    .open = keyval_open,
    .next = keyval_next,
    .place = keyval_place,
    .seek = keyval_seek,
    .identity = keyval_identity,
    .share = keyval_share,
    .close = keyval_close,
};
