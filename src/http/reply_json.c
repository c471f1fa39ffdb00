#include "http/reply_json.h"

#include "codec/base64.h"
#include "codec/json_lex.h"
#include "codec/utf8.h"
#include "resp/item.h"

#define DEPTH_MAX 32 /* no command nests deeper */

struct level {
    size_t left; /* items of it that are still to come */
    bool is_map, is_value;
};

static bool put_text(const struct resp_item *it, bool is_base64, struct buf *out)
{
    if (!is_base64 && utf8_valid_bytes(it->text) != it->text.len) return false;
    if (!is_base64 || (it->type == '+' && slice_eq(it->text, slice_str("OK")))) {
        json_string_write(it->text, out);
        return true;
    }
    buf_append_byte(out, '"');
    base64_encode(it->text, out);
    buf_append_byte(out, '"');
    return true;
}

/* A double of RESP3; JSON has no infinity. */
static void put_double(struct slice text, struct buf *out)
{
    bool is_finite = text.len > 0 && strchr("in", text.data[text.data[0] == '-']) == NULL;
    if (!is_finite) buf_append_byte(out, '"');
    buf_append(out, text.data, text.len);
    if (!is_finite) buf_append_byte(out, '"');
}

static bool put_scalar(const struct resp_item *it, bool is_base64, struct buf *out)
{
    switch (it->is_nil ? '_' : it->type) {
    case '_': buf_append_str(out, "null"); return true;
    case ':': buf_append(out, it->text.data, it->text.len); return true;
    case '#':
        buf_append_str(out, it->text.len > 0 && it->text.data[0] == 't' ? "true" : "false");
        return true;
    case ',': put_double(it->text, out); return true;
    default: return put_text(it, is_base64, out);
    }
}

/* What stands between this item and the one before, and the ends of what is over. */
static void put_before(struct level *top, size_t count, struct buf *out)
{
    if (top->is_map && top->is_value) {
        buf_append_byte(out, ':');
    } else if (top->left < count) {
        buf_append_byte(out, ',');
    }
}

static enum err too_odd(struct buf *out, size_t mark, struct error *e, const char *text)
{
    out->len = mark;
    return error_set(e, ERR_VALUE, "%s", text);
}

enum err reply_to_json(struct slice reply, bool is_base64, struct buf *out, struct error *e)
{
    struct level stack[DEPTH_MAX] = {{.left = 1}};
    size_t counts[DEPTH_MAX] = {1};
    size_t depth = 1;
    size_t mark = out->len;
    while (depth > 0) {
        struct level *top = &stack[depth - 1];
        struct resp_item it;
        if (top->left == 0) {
            if (depth > 1) buf_append_byte(out, top->is_map ? '}' : ']');
            depth--;
            continue;
        }
        if (!resp_item_read(reply, &it)) return too_odd(out, mark, e, "the reply is not whole");
        reply = slice_of(reply.data + it.used, reply.len - it.used);
        put_before(top, counts[depth - 1], out);
        top->left--;
        top->is_value = !top->is_value;
        if (it.is_nil || strchr("*~>%", it.type) == NULL) {
            if (put_scalar(&it, is_base64, out)) continue;
            return too_odd(out, mark, e,
                           "a text of the reply is not UTF-8: ask with `Upstash-Encoding: base64`");
        }
        if (depth == DEPTH_MAX) return too_odd(out, mark, e, "the reply is nested too deep");
        buf_append_byte(out, it.type == '%' ? '{' : '[');
        stack[depth] = (struct level){.left = it.children, .is_map = it.type == '%'};
        counts[depth++] = it.children;
    }
    return OK;
}

bool reply_is_error(struct slice reply, struct slice *text)
{
    struct resp_item it;
    if (reply.len == 0 || reply.data[0] != '-' || !resp_item_read(reply, &it)) return false;
    *text = it.text;
    return true;
}

struct slice reply_text(struct slice reply)
{
    struct resp_item it;
    if (!resp_item_read(reply, &it) || it.is_nil) return slice_of(NULL, 0);
    return strchr("$+=", it.type) != NULL ? it.text : slice_of(NULL, 0);
}
