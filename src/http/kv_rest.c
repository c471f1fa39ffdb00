#include "http/kv_rest.h"

#include "codec/json_lex.h"
#include "http/reply_json.h"

/* ---- keys ------------------------------------------------------------------------------------ */

bool kv_rest_key(struct exchange *x, const char *what, struct slice text, bool allow_empty,
                 struct slice *key)
{
    if (text.len == 0 || text.data[0] != '[') {
        return rest_written_key(x, text, allow_empty, what, key);
    }
    *key = text;
    return true;
}

bool kv_rest_path_key(struct exchange *x, struct slice *key)
{
    struct slice text;
    struct slice raw = slice_of(x->rest.data + 1, x->rest.len - 1);
    if (http_decode(raw, false, &x->arena, &text)) {
        return kv_rest_key(x, "the key of the path", text, false, key);
    }
    exchange_fail(x, 400, "the path is not percent-encoded UTF-8");
    return false;
}

bool kv_rest_query_key(struct exchange *x, const char *name, struct slice *key)
{
    struct slice text = slice_of(NULL, 0);
    *key = text;
    if (!rest_query_text(x, name, &text)) return false;
    return text.data == NULL || kv_rest_key(x, name, text, true, key);
}

bool kv_rest_body_key(struct exchange *x, const struct json_part *part, const char *where,
                      struct slice *key)
{
    if (rest_is_there(part) && part->kind == JSON_ARRAY) {
        *key = part->raw;
        return true;
    }
    if (rest_is_there(part) && part->kind == JSON_STRING) {
        return rest_written_key(x, json_text(part, &x->arena), false, where, key);
    }
    exchange_fail(x, 400, "%s must be a key: an array of its parts, or a string in path form",
                  where);
    return false;
}

bool kv_rest_range(struct exchange *x, bool is_paged, struct rest_range *r)
{
    *r = (struct rest_range){0};
    if (!kv_rest_query_key(x, "prefix", &r->prefix) || !kv_rest_query_key(x, "start", &r->start) ||
        !kv_rest_query_key(x, "end", &r->end) || !rest_query_text(x, "where", &r->where)) {
        return false;
    }
    return !is_paged || (rest_query_text(x, "cursor", &r->cursor) && kv_rest_limit(x, &r->limit) &&
                         rest_query_switch(x, "reverse", &r->is_reverse) &&
                         rest_query_switch(x, "keysOnly", &r->is_keys_only));
}

/* ---- parameters ------------------------------------------------------------------------------ */

bool kv_rest_limit(struct exchange *x, int64_t *limit)
{
    *limit = REST_LIMIT_DEFAULT;
    return rest_query_integer(x, "limit", 1, KV_REST_LIMIT_MAX, limit);
}

bool kv_rest_path_text(struct exchange *x, struct slice *rest, const char *what, struct slice *out)
{
    struct slice raw = http_path_part(rest);
    if (http_decode(raw, false, &x->arena, out) && out->len > 0) return true;
    exchange_fail(x, 400, "%s in the path is not percent-encoded UTF-8", what);
    return false;
}

bool kv_rest_path_words(struct exchange *x, struct slice *rest, const char *what,
                        const char *const *words, struct rest_words *w)
{
    struct slice name;
    if (!kv_rest_path_text(x, rest, what, &name)) return false;
    *w = rest_words_of(x, words[0]);
    for (size_t i = 1; words[i] != NULL; i++) rest_words_str(w, words[i]);
    rest_words_add(w, name);
    return true;
}

bool kv_rest_is_json(struct exchange *x, const char *name, struct slice text)
{
    struct json_part part;
    struct error e;
    if (json_check(text, &part, &e) == OK) return true;
    exchange_fail(x, 400, "%s must be a value as JSON, texts in quotes: %s", name, e.text);
    return false;
}

/* ---- bodies, words --------------------------------------------------------------------------- */

bool kv_rest_body(struct exchange *x, const char *const *names, struct json_part *parts)
{
    if (x->message->body.len > 0) return rest_body(x, names, parts);
    for (size_t i = 0; names[i] != NULL; i++) parts[i] = (struct json_part){0};
    return true;
}

bool kv_rest_body_switch(struct exchange *x, const struct json_part *part, const char *name,
                         bool *out)
{
    if (!rest_is_there(part)) return true;
    *out = json_is_true(part);
    if (part->kind == JSON_BOOL) return true;
    exchange_fail(x, 400, "%s must be true or false", name);
    return false;
}

bool kv_rest_add_number(struct rest_words *w, const char *word, const struct json_part *part,
                        const char *name, int64_t min, int64_t max)
{
    int64_t n = 0;
    if (!rest_is_there(part)) return true;
    if (!rest_body_integer(w->x, part, name, min, max, &n)) return false;
    rest_words_str(w, word);
    rest_words_number(w, n);
    return true;
}

int64_t kv_rest_count(struct exchange *x, const struct json_part *array, const char *name,
                      int64_t min)
{
    struct json_part item;
    struct slice text;
    int64_t count = 0;
    bool is_array = rest_is_there(array) && array->kind == JSON_ARRAY;
    if (is_array) {
        for (struct slice rest = json_inside(array); json_next_item(&rest, &item); count++) {
            if (!rest_body_text(x, &item, name, &text)) return -1;
        }
    }
    if (is_array && count >= min) return count;
    exchange_fail(x, 400, "%s must be an array of strings%s", name,
                  min > 0 ? ", of one at least" : "");
    return -1;
}

bool kv_rest_add_texts(struct exchange *x, struct rest_words *w, const struct json_part *array,
                       const char *name)
{
    struct json_part item;
    struct slice text;
    for (struct slice rest = json_inside(array); json_next_item(&rest, &item);) {
        if (!rest_body_text(x, &item, name, &text)) return false;
        rest_words_add(w, text);
    }
    return true;
}

#define IDEM_HEADER "idempotency-key"

bool kv_rest_add_idem(struct exchange *x, struct rest_words *w)
{
    struct slice id = http_header(x->message, IDEM_HEADER);
    if (id.data == NULL) return true;
    if (id.len == 0 || id.len > 255) {
        exchange_fail(x, 400, "Idempotency-Key has 1 to 255 bytes, not %zu", id.len);
        return false;
    }
    rest_words_str(w, "IDEM");
    rest_words_add(w, id);
    return true;
}

void kv_rest_write(struct exchange *x, struct rest_words *w, exchange_step *step)
{
    if (kv_rest_add_idem(x, w)) rest_words_run(w, step);
}

bool kv_rest_has_no_idem(struct exchange *x)
{
    if (http_header(x->message, IDEM_HEADER).data == NULL) return true;
    exchange_fail(x, 400, "Idempotency-Key cannot be kept here: this is not one transaction");
    return false;
}

/* ---- answers --------------------------------------------------------------------------------- */

bool kv_rest_fails(struct exchange *x)
{
    static const struct {
        const char *code;
        int status;
    } codes[] = {{"DUPLICATE ", 409}, {"STALE ", 410}, {"INDEXING ", 503}};
    struct slice error;
    if (!reply_is_error(buf_slice(&x->reply), &error)) return false;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (!slice_has_prefix(error, slice_str(codes[i].code))) continue;
        exchange_fail(x, codes[i].status, "%.*s", (int)error.len, (const char *)error.data);
        return true;
    }
    return exchange_fails(x);
}

void kv_rest_tag(struct exchange *x, struct slice stamp)
{
    uint8_t *text = arena_alloc(&x->arena, stamp.len + 2);
    text[0] = text[stamp.len + 1] = '"';
    memcpy(text + 1, stamp.data, stamp.len);
    exchange_header(x, "etag", slice_of(text, stamp.len + 2));
    if (x->cors.data == NULL) return;
    exchange_header(x, "access-control-expose-headers", slice_str("etag, tupled-expires-at"));
}

void kv_rest_answer_done(struct exchange *x, const char *text)
{
    if (kv_rest_fails(x)) return;
    if (rest_is_one(x)) {
        rest_answer_ok(x, true);
    } else {
        exchange_fail(x, 404, "%s", text);
    }
}

void kv_rest_answer_count(struct exchange *x, const char *name)
{
    if (!kv_rest_fails(x)) rest_answer_integer(x, name);
}

void kv_rest_put_object(struct buf *out, struct slice *rest, const struct kv_rest_field *fields)
{
    struct resp_item item;
    if (!rest_next(rest, &item)) return;
    for (size_t i = 0; fields[i].name != NULL && rest_next(rest, &item); i++) {
        buf_printf(out, "%s\"%s\":", i == 0 ? "{" : ",", fields[i].name);
        if (item.is_nil) {
            buf_append_str(out, "null");
        } else if (fields[i].is_text) {
            json_string_write_lossy(item.text, out);
        } else {
            buf_append(out, item.text.data, item.text.len);
        }
    }
    buf_append_byte(out, '}');
}

void kv_rest_put_json(struct buf *out, struct slice *rest)
{
    struct resp_item item;
    if (rest_next(rest, &item)) buf_append(out, item.text.data, item.text.len);
}

static void put_name(struct buf *out, struct slice name)
{
    buf_append_byte(out, '"');
    for (size_t i = 0; i < name.len; i++) {
        bool is_dash = name.data[i] == '-' && i + 1 < name.len;
        if (is_dash) i++;
        buf_append_byte(out, is_dash ? (uint8_t)(name.data[i] - 'a' + 'A') : name.data[i]);
    }
    buf_append_str(out, "\":");
}

void kv_rest_put_members(struct buf *out, struct slice *rest)
{
    struct resp_item head;
    struct resp_item item;
    struct error e;
    if (!rest_next(rest, &head)) return;
    for (size_t i = 0; i + 1 < head.children && rest_next(rest, &item); i += 2) {
        size_t len = resp_reply_length(*rest);
        struct slice value = slice_of(rest->data, len);
        bool is_json = slice_eq(item.text, slice_str("prefix"));
        bool is_switch = slice_eq(item.text, slice_str("unique"));
        *rest = slice_of(rest->data + len, rest->len - len);
        if (i > 0) buf_append_byte(out, ',');
        put_name(out, item.text);
        if (is_json && rest_next(&value, &item)) {
            buf_append(out, item.text.data, item.text.len);
        } else if (is_switch && rest_next(&value, &item)) {
            buf_append_str(out, slice_eq(item.text, slice_str("1")) ? "true" : "false");
        } else if (reply_to_json(value, false, out, &e) != OK) {
            buf_append_str(out, "null");
        }
    }
}

void kv_rest_answer_objects(struct exchange *x, const char *name, struct slice reply, rest_put *put)
{
    rest_begin(x);
    buf_printf(&x->text, "{\"%s\":", name);
    rest_put_array(&x->text, &reply, put);
    buf_append_byte(&x->text, '}');
    exchange_answer_json(x, 200);
}
