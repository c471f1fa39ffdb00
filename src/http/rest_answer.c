/* rest_answer: replies of commands as answers, and what is read of a reply on the way. */
#include "codec/json_lex.h"
#include "http/rest.h"

/* ---- parts of a reply ------------------------------------------------------------------------ */

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
    struct slice value = *rest;
    struct resp_item item;
    bool is_there = rest_next(&value, &item) && !item.is_nil && item.children == 2;
    buf_append_str(out, "{\"key\":");
    buf_append(out, key.data, key.len);
    if (is_there) {
        buf_append_str(out, ",\"value\":");
        shape_write("!", &value, out);
        buf_append_str(out, ",\"versionstamp\":");
        shape_write("$", &value, out);
        buf_append_byte(out, '}');
    } else {
        buf_append_str(out, ",\"value\":null,\"versionstamp\":null}");
    }
    *rest = value;
}

struct slice rest_stamp_at(struct slice reply)
{
    struct resp_item item;
    if (!rest_next(&reply, &item) || item.is_nil || !rest_next(&reply, &item)) return slice_str("");
    return rest_next(&reply, &item) ? item.text : slice_str("");
}

/* ---- answers --------------------------------------------------------------------------------- */

bool rest_fails(struct exchange *x)
{
    static const struct {
        const char *code;
        int status;
    } codes[] = {
        {"DUPLICATE ", 409}, {"STALE ", 410}, {"INDEXING ", 503}, {"ERR no such index ", 404}};
    struct slice error;
    if (!reply_is_error(buf_slice(&x->reply), &error)) return false;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (!slice_has_prefix(error, slice_str(codes[i].code))) continue;
        exchange_fail(x, codes[i].status, "%.*s", (int)error.len, (const char *)error.data);
        return true;
    }
    return exchange_fails(x);
}

void rest_begin(struct exchange *x)
{
    buf_clear(&x->text, SIZE_MAX);
}

void rest_answer_shape(struct exchange *x, const char *shape)
{
    struct slice rest = buf_slice(&x->reply);
    rest_begin(x);
    shape_write(shape, &rest, &x->text);
    exchange_answer_json(x, 200);
}

void rest_answer_written(struct exchange *x)
{
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    if (rest_fails(x)) return;
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
