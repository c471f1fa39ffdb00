#include "http/rest.h"

#include <stdio.h>

#include "codec/json_lex.h"
#include "codec/key.h"
#include "codec/utf8.h"

/* ---- words ----------------------------------------------------------------------------------- */

struct rest_words rest_words_of(struct exchange *x, const char *name)
{
    struct rest_words w = {.x = x};
    rest_words_str(&w, name);
    return w;
}

void rest_words_add(struct rest_words *w, struct slice word)
{
    if (w->argc == w->cap) {
        size_t cap = w->cap == 0 ? 16 : 2 * w->cap;
        struct slice *argv = exchange_argv(w->x, cap);
        if (w->argc > 0) memcpy(argv, w->argv, w->argc * sizeof *argv);
        w->argv = argv;
        w->cap = cap;
    }
    w->argv[w->argc++] = word;
}

void rest_words_str(struct rest_words *w, const char *word)
{
    rest_words_add(w, slice_str(word));
}

void rest_words_number(struct rest_words *w, int64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%lld", (long long)n);
    rest_words_add(w, arena_copy(&w->x->arena, slice_of(digits, (size_t)len)));
}

void rest_words_pair(struct rest_words *w, const char *name, struct slice value)
{
    if (value.data == NULL || value.len == 0) return;
    rest_words_str(w, name);
    rest_words_add(w, value);
}

void rest_words_range(struct rest_words *w, const struct rest_range *r)
{
    rest_words_pair(w, "PREFIX", r->prefix);
    rest_words_pair(w, "START", r->start);
    rest_words_pair(w, "END", r->end);
    rest_words_pair(w, "WHERE", r->where);
}

void rest_words_page(struct rest_words *w, const struct rest_range *r)
{
    rest_words_range(w, r);
    rest_words_pair(w, "CURSOR", r->cursor);
    rest_words_str(w, "LIMIT");
    rest_words_number(w, r->limit);
    if (r->is_reverse) rest_words_str(w, "REVERSE");
    if (r->is_keys_only) rest_words_str(w, "KEYSONLY");
}

void rest_list(struct exchange *x, const struct rest_range *r, exchange_step *step)
{
    struct rest_words w = rest_words_of(x, "KV.LIST");
    rest_words_page(&w, r);
    rest_words_run(&w, step);
}

void rest_words_run(struct rest_words *w, exchange_step *step)
{
    exchange_command(w->x, w->argv, w->argc, step);
}

/* ---- keys ------------------------------------------------------------------------------------ */

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
        exchange_fail(x, 400, "Key path is not percent-encoded UTF-8");
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

bool rest_path_key(struct exchange *x, struct slice path, bool allow_empty, struct slice *key)
{
    struct buf text;
    if (path.len == 0 || (path.len == 1 && path.data[0] == '/')) {
        *key = slice_str("[]");
        if (!allow_empty) exchange_fail(x, 400, "Key path cannot be empty");
        return allow_empty;
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

bool rest_body_key(struct exchange *x, const struct json_part *part, const char *where,
                   struct slice *key)
{
    struct json_part item;
    size_t count = 0;
    if (!rest_is_there(part) || part->kind != JSON_ARRAY) {
        exchange_fail(x, 400,
                      "%s must be a key: an array of strings, numbers, booleans, "
                      "{\"$bigint\":\"..\"} or {\"$bytes\":\"..\"}",
                      where);
        return false;
    }
    for (struct slice rest = json_inside(part); json_next_item(&rest, &item); count++) {
        size_t chars = item.kind == JSON_STRING ? count_chars(json_text(&item, &x->arena)) : 0;
        if (chars <= REST_PART_CHARS_MAX) continue;
        exchange_fail(x, 400, "%s: Key part at index %zu too long: %zu chars (max %d)", where,
                      count, chars, REST_PART_CHARS_MAX);
        return false;
    }
    if (count == 0 || count > REST_KEY_PARTS_MAX) {
        exchange_fail(x, 400, "%s: a key has 1 to %d parts, this one %zu", where,
                      REST_KEY_PARTS_MAX, count);
        return false;
    }
    *key = part->raw;
    return true;
}

/* ---- parameters ------------------------------------------------------------------------------ */

bool rest_query_text(struct exchange *x, const char *name, struct slice *out)
{
    if (http_query_value(x->message->query, name, &x->arena, out) >= 0) return true;
    exchange_fail(x, 400, "the parameter '%s' is not percent-encoded UTF-8", name);
    return false;
}

bool rest_query_key(struct exchange *x, const char *name, struct slice *key)
{
    struct slice text = slice_of(NULL, 0);
    *key = slice_of(NULL, 0);
    if (!rest_query_text(x, name, &text)) return false;
    if (text.data == NULL || text.len == 0) return true;
    if (text.data[0] == '/') return rest_path_key(x, text, false, key);
    uint8_t *path = arena_alloc(&x->arena, text.len + 1);
    path[0] = '/';
    memcpy(path + 1, text.data, text.len);
    return rest_path_key(x, slice_of(path, text.len + 1), false, key);
}

static bool refuse_number(struct exchange *x, const char *name, int64_t min, int64_t max,
                          struct slice got)
{
    exchange_fail(x, 400, "%s must be a number from %lld to %lld, received %.*s", name,
                  (long long)min, (long long)max, (int)(got.len < 50 ? got.len : 50),
                  (const char *)got.data);
    return false;
}

bool rest_query_integer(struct exchange *x, const char *name, int64_t min, int64_t max,
                        int64_t *out)
{
    struct slice text = slice_of(NULL, 0);
    int64_t n;
    if (!rest_query_text(x, name, &text)) return false;
    if (text.data == NULL) return true;
    if (!slice_to_i64(text, &n) || n < min || n > max)
        return refuse_number(x, name, min, max, text);
    *out = n;
    return true;
}

bool rest_query_switch(struct exchange *x, const char *name, bool *out)
{
    struct slice text = slice_of(NULL, 0);
    if (!rest_query_text(x, name, &text)) return false;
    if (text.data == NULL) return true;
    *out = slice_is_word(text, "TRUE");
    if (*out || slice_is_word(text, "FALSE")) return true;
    exchange_fail(x, 400, "%s must be true or false", name);
    return false;
}

bool rest_limit(struct exchange *x, const struct json_part *part, int64_t *out)
{
    struct slice text = slice_of(NULL, 0);
    *out = REST_LIMIT_DEFAULT;
    if (part != NULL) {
        if (rest_is_there(part)) text = part->raw;
    } else if (!rest_query_text(x, "limit", &text)) {
        return false;
    }
    if (text.data == NULL) return true;
    if (!slice_to_i64(text, out) || *out < 1) {
        exchange_fail(x, 400, "limit must be a positive number, received %.*s",
                      (int)(text.len < 50 ? text.len : 50), (const char *)text.data);
        return false;
    }
    if (*out > REST_LIMIT_MAX) *out = REST_LIMIT_MAX;
    return true;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

bool rest_is_there(const struct json_part *part)
{
    return part->raw.data != NULL;
}

bool rest_body(struct exchange *x, const char *const *names, struct json_part *parts)
{
    struct json_part body;
    struct error e;
    if (json_check(x->message->body, &body, &e) == OK &&
        json_members(&body, names, parts, true, "the body", &e) == OK) {
        return true;
    }
    exchange_fail(x, 400, "%s", e.text);
    return false;
}

bool rest_body_text(struct exchange *x, const struct json_part *part, const char *name,
                    struct slice *out)
{
    if (rest_is_there(part) && part->kind == JSON_STRING) {
        *out = json_text(part, &x->arena);
        if (out->len > 0) return true;
    }
    exchange_fail(x, 400, "%s must be a non-empty string", name);
    return false;
}

bool rest_body_integer(struct exchange *x, const struct json_part *part, const char *name,
                       int64_t min, int64_t max, int64_t *out)
{
    if (!rest_is_there(part)) return true;
    if (json_part_integer(part, out) && *out >= min && *out <= max) return true;
    return refuse_number(x, name, min, max, part->raw);
}

/* ---- answers --------------------------------------------------------------------------------- */

bool rest_next(struct slice *rest, struct resp_item *item)
{
    if (!resp_item_read(*rest, item)) return false;
    *rest = slice_of(rest->data + item->used, rest->len - item->used);
    return true;
}

bool rest_skip(struct slice *rest, size_t count, struct resp_item *item)
{
    for (size_t i = 0; i < count; i++) {
        if (!rest_next(rest, item)) return false;
    }
    return true;
}

bool rest_message_text(struct slice frame, struct slice *text)
{
    struct resp_item item;
    if (!rest_skip(&frame, 2, &item) || !slice_eq(item.text, slice_str("message"))) return false;
    if (!rest_skip(&frame, 2, &item)) return false;
    *text = item.text;
    return true;
}

/* A text that is JSON already; nil is null. */
static void put_raw(struct buf *out, struct slice *rest)
{
    struct resp_item item;
    if (!rest_next(rest, &item) || item.is_nil) {
        buf_append_str(out, "null");
    } else {
        buf_append(out, item.text.data, item.text.len);
    }
}

static void put_stamp(struct buf *out, struct slice *rest)
{
    struct resp_item item;
    if (!rest_next(rest, &item) || item.is_nil) {
        buf_append_str(out, "null");
    } else {
        json_string_write(item.text, out);
    }
}

void rest_put_entry(struct buf *out, struct slice *rest)
{
    struct resp_item item;
    if (!rest_next(rest, &item) || item.children < 3) return;
    buf_append_str(out, "{\"key\":");
    put_raw(out, rest);
    buf_append_str(out, ",\"value\":");
    put_raw(out, rest);
    buf_append_str(out, ",\"versionstamp\":");
    put_stamp(out, rest);
    buf_append_byte(out, '}');
}

void rest_put_array(struct buf *out, struct slice *rest, rest_put *put)
{
    struct resp_item item;
    buf_append_byte(out, '[');
    if (rest_next(rest, &item)) {
        for (size_t i = 0; i < item.children; i++) {
            if (i > 0) buf_append_byte(out, ',');
            put(out, rest);
        }
    }
    buf_append_byte(out, ']');
}

void rest_put_page(struct exchange *x, rest_put *put, struct resp_item *cursor)
{
    struct slice rest = buf_slice(&x->reply);
    (void)rest_skip(&rest, 2, cursor);
    rest_put_array(&x->text, &rest, put);
}

void rest_answer_page(struct exchange *x, const char *name, rest_put *put)
{
    struct resp_item cursor = {0};
    rest_begin(x);
    buf_printf(&x->text, "{\"%s\":", name);
    rest_put_page(x, put, &cursor);
    bool has_more = !slice_eq(cursor.text, slice_str("0"));
    buf_append_str(&x->text, ",\"cursor\":");
    if (has_more) json_string_write(cursor.text, &x->text);
    buf_append_str(&x->text, has_more ? ",\"hasMore\":true}" : "null,\"hasMore\":false}");
    exchange_answer_json(x, 200);
}

bool rest_next_row(struct slice *rest, struct resp_item items[REST_ROW_ITEMS])
{
    for (size_t i = 0; i < REST_ROW_ITEMS; i++) {
        if (!rest_next(rest, &items[i])) return false;
    }
    return true;
}

void rest_put_row(struct buf *out, const struct resp_item items[REST_ROW_ITEMS])
{
    bool is_set = !items[1].is_nil && !items[2].is_nil;
    buf_append_str(out, "\"key\":");
    if (items[1].is_nil) buf_append_str(out, "null");
    if (!items[1].is_nil) buf_append(out, items[1].text.data, items[1].text.len);
    buf_append_str(out, ",\"value\":");
    if (is_set) {
        buf_append(out, items[2].text.data, items[2].text.len);
        buf_append_str(out, ",\"versionstamp\":");
        json_string_write(items[3].text, out);
    } else {
        buf_append_str(out, "null,\"versionstamp\":null");
    }
}

void rest_put_found(struct buf *out, struct slice key, struct slice *rest)
{
    struct resp_item item;
    bool is_there = rest_next(rest, &item) && !item.is_nil && item.children == 2;
    buf_append_str(out, "{\"key\":");
    buf_append(out, key.data, key.len);
    buf_append_str(out, ",\"value\":");
    if (!is_there) {
        buf_append_str(out, "null,\"versionstamp\":null}");
        return;
    }
    put_raw(out, rest);
    buf_append_str(out, ",\"versionstamp\":");
    put_stamp(out, rest);
    buf_append_byte(out, '}');
}

struct slice rest_stamp_at(struct slice reply)
{
    struct resp_item item;
    if (!rest_next(&reply, &item) || item.is_nil || !rest_next(&reply, &item)) return slice_str("");
    return rest_next(&reply, &item) ? item.text : slice_str("");
}

void rest_begin(struct exchange *x)
{
    buf_clear(&x->text, SIZE_MAX);
}

void rest_answer_integer(struct exchange *x, const char *name)
{
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    if (exchange_fails(x)) return;
    rest_begin(x);
    buf_printf(&x->text, "{\"%s\":", name);
    if (rest_next(&rest, &item)) buf_append(&x->text, item.text.data, item.text.len);
    buf_append_byte(&x->text, '}');
    exchange_answer_json(x, 200);
}

void rest_answer_written(struct exchange *x)
{
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    if (exchange_fails(x)) return;
    rest_begin(x);
    if (!rest_next(&rest, &item) || item.is_nil) {
        buf_append_str(&x->text, "{\"ok\":false}");
    } else {
        buf_append_str(&x->text, "{\"ok\":true,\"versionstamp\":");
        json_string_write(item.text, &x->text);
        buf_append_byte(&x->text, '}');
    }
    exchange_answer_json(x, 200);
}

void rest_answer_ok(struct exchange *x, bool is_ok)
{
    rest_begin(x);
    buf_append_str(&x->text, is_ok ? "{\"ok\":true}" : "{\"ok\":false}");
    exchange_answer_json(x, 200);
}

bool rest_is_one(struct exchange *x)
{
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    return rest_next(&rest, &item) && slice_eq(item.text, slice_str("1"));
}
