/* reply_json: see reply_json.h. Each item is written when it comes; what it is a part of is on a
 * stack.
 */
#include "http/reply_json.h"

#include <ctype.h>

#include "codec/base64.h"
#include "codec/json_lex.h"
#include "codec/utf8.h"

/* ---- shapes ---------------------------------------------------------------------------------- */

const char *shape_end(const char *shape)
{
    size_t depth = 0;
    const char *p = shape;
    if (*p == '%') p++;
    if (*p == '\0' || strchr("[{(", *p) == NULL)
        return *p != '\0' && strchr("!?~.$#", *p) ? p + 1 : p;
    do {
        if (strchr("[{(", *p) != NULL) depth++;
        if (strchr("]})", *p) != NULL) depth--;
        p++;
    } while (depth > 0 && *p != '\0');
    return p;
}

static size_t name_length(const char *p)
{
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '-' || p[n] == '_') n++;
    return n;
}

/* The shape after a name: its mark, what follows a colon, or none. */
static const char *after_name(const char *p)
{
    return *p == ':' ? p + 1 : p;
}

/* ---- scalars --------------------------------------------------------------------------------- */

static void put_text(struct shape_writer *w, const struct resp_item *it)
{
    struct slice text = it->text;
    bool is_ok = it->type == '+' && slice_eq(text, slice_str("OK"));
    if (w->is_base64 && !is_ok) {
        buf_append_byte(w->out, '"');
        base64_encode(text, w->out);
        buf_append_byte(w->out, '"');
        return;
    }
    if (utf8_valid_bytes(text) != text.len) w->is_odd = true;
    json_string_write_lossy(text, w->out);
}

/* A double of RESP3; JSON has no infinity. */
static void put_double(struct slice text, struct buf *out)
{
    bool is_finite = text.len > 0 && strchr("in", text.data[text.data[0] == '-']) == NULL;
    if (!is_finite) buf_append_byte(out, '"');
    buf_append(out, text.data, text.len);
    if (!is_finite) buf_append_byte(out, '"');
}

static void put_bool(struct buf *out, bool is_true)
{
    buf_append_str(out, is_true ? "true" : "false");
}

static void put_scalar(struct shape_writer *w, const struct resp_item *it, char mark)
{
    char type = it->type;
    if (it->is_nil) {
        buf_append_str(w->out, mark == '[' ? "[]" : "null");
    } else if (mark == '?') {
        put_bool(w->out, !slice_eq(it->text, slice_str("0")));
    } else if (type == ':' || mark == '!' || mark == '#') {
        buf_append(w->out, it->text.data, it->text.len);
    } else if (type == '#') {
        put_bool(w->out, it->text.len > 0 && it->text.data[0] == 't');
    } else if (type == ',') {
        put_double(it->text, w->out);
    } else {
        put_text(w, it);
    }
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Between this and what came before. */
static void put_comma(struct shape_writer *w, struct shape_level *top)
{
    if (top->has_one) buf_append_byte(w->out, ',');
    top->has_one = true;
}

static void put_member(struct shape_writer *w, struct shape_level *top, const char *name,
                       size_t len)
{
    put_comma(w, top);
    buf_append_byte(w->out, '"');
    buf_append(w->out, name, len);
    buf_append_str(w->out, "\":");
}

/* Of a {: the name of the next item, up to which groups begin and end. NULL = it has none. */
static const char *next_member(struct shape_writer *w, struct shape_level *top)
{
    for (const char *p = top->at;;) {
        size_t len = name_length(p);
        if (*p == '~') {
            top->at = p + 1;
            return p;
        }
        if (*p == ')') {
            buf_append_byte(w->out, '}');
            top->open--;
            p++;
        } else if (*p == ' ') {
            p++;
        } else if (len == 0) {
            top->at = p;
            return NULL;
        } else {
            put_member(w, top, p, len);
            p = after_name(p + len);
            if (*p != '(') {
                top->at = shape_end(p);
                return p;
            }
            buf_append_byte(w->out, '{');
            top->has_one = false;
            top->open++;
            p++;
        }
    }
}

/* `oldest-ms` as oldestMs. */
static void put_camel(struct slice name, struct buf *out)
{
    buf_append_byte(out, '"');
    for (size_t i = 0; i < name.len; i++) {
        bool is_dash = name.data[i] == '-' && i + 1 < name.len;
        if (is_dash) i++;
        buf_append_byte(out, is_dash ? (uint8_t)toupper(name.data[i]) : name.data[i]);
    }
    buf_append_str(out, "\":");
}

/* What the text of a % says of the name. */
static const char *named_shape(const char *list, struct slice name)
{
    while (list != NULL && *list != '\0' && *list != '}') {
        size_t len = name_length(list);
        const char *shape = after_name(list + len);
        if (slice_eq(name, slice_of(list, len))) return shape;
        list = shape_end(shape);
        list += strspn(list, " ");
    }
    return ".";
}

/* A name of a map that is put, or the shape of its value. */
static const char *next_of_map(struct shape_writer *w, struct shape_level *top,
                               const struct resp_item *it)
{
    top->is_value = !top->is_value;
    if (!top->is_value) return top->next;
    put_comma(w, top);
    if (top->kind == '%') {
        put_camel(it->text, w->out);
        top->next = named_shape(top->at, it->text);
    } else {
        put_text(w, it);
        buf_append_byte(w->out, ':');
        top->next = ".";
    }
    return NULL;
}

/* The shape of the item that came; NULL = nothing is to be written of it. */
static const char *place(struct shape_writer *w, struct shape_level *top,
                         const struct resp_item *it)
{
    if (top->kind == 0) return NULL;
    if (top->is_map) return next_of_map(w, top, it);
    if (top->kind == '{') return next_member(w, top);
    if (w->depth > 1) put_comma(w, top);
    return top->kind == '.' ? "." : top->at;
}

/* ---- containers ------------------------------------------------------------------------------ */

static void open_level(struct shape_writer *w, const char *shape, const struct resp_item *it)
{
    struct shape_level *to = &w->levels[w->depth];
    char kind = shape == NULL                                     ? '\0'
                : strchr("[{%", *shape) != NULL && *shape != '\0' ? *shape
                                                                  : '.';
    INVARIANT(w->depth < SHAPE_DEPTH_MAX);
    w->depth++;
    *to = (struct shape_level){.kind = kind, .left = it->children};
    if (kind == '\0') return;
    to->is_map = kind == '%' || (kind == '.' && it->type == '%');
    to->at = kind == '.' ? NULL : shape + 1 + (kind == '%' && shape[1] == '{');
    buf_append_byte(w->out, to->is_map || kind == '{' ? '{' : '[');
}

static void put_cursor(struct shape_writer *w, struct shape_level *top)
{
    bool has_more = !slice_eq(top->cursor, slice_str("0"));
    put_member(w, top, "cursor", strlen("cursor"));
    if (has_more) json_string_write_lossy(top->cursor, w->out);
    buf_append_str(w->out, has_more ? ",\"hasMore\":true" : "null,\"hasMore\":false");
}

static void close_level(struct shape_writer *w)
{
    struct shape_level *top = &w->levels[--w->depth];
    if (top->kind == 0 || (w->depth == 0 && top->kind != '{')) return;
    while (top->open-- > 0) buf_append_byte(w->out, '}');
    if (top->cursor.data != NULL) put_cursor(w, top);
    buf_append_byte(w->out, top->is_map || top->kind == '{' ? '}' : ']');
}

/* ---- replies --------------------------------------------------------------------------------- */

void shape_begin(struct shape_writer *w, const char *shape, struct buf *out)
{
    bool is_named = name_length(shape) > 0;
    w->out = out;
    w->is_base64 = w->is_odd = false;
    w->depth = 1;
    w->levels[0] = (struct shape_level){.kind = is_named ? '{' : '[', .at = shape, .left = 1};
    if (is_named) buf_append_byte(out, '{');
}

void shape_item(struct shape_writer *w, const struct resp_item *it)
{
    struct shape_level *top = &w->levels[w->depth - 1];
    INVARIANT(w->depth > 0 && top->left > 0);
    bool is_container = !it->is_nil && strchr("*~>%", it->type) != NULL;
    top->left--;
    const char *shape = place(w, top, it);
    if (is_container) {
        open_level(w, shape, it);
    } else if (shape != NULL && *shape == '~') {
        top->cursor = it->text;
    } else if (shape != NULL) {
        put_scalar(w, it, *shape);
    }
    while (w->depth > 0 && w->levels[w->depth - 1].left == 0) close_level(w);
}

void shape_write(const char *shape, struct slice *rest, struct buf *out)
{
    struct shape_writer w;
    struct resp_item it;
    shape_begin(&w, shape, out);
    while (w.depth > 0 && resp_item_read(*rest, &it)) {
        *rest = slice_of(rest->data + it.used, rest->len - it.used);
        shape_item(&w, &it);
    }
}

enum err reply_to_json(struct slice reply, bool is_base64, struct buf *out, struct error *e)
{
    struct shape_writer w;
    struct resp_item it;
    size_t mark = out->len;
    const char *what = NULL;
    shape_begin(&w, ".", out);
    w.is_base64 = is_base64;
    while (w.depth > 0 && what == NULL) {
        if (!resp_item_read(reply, &it)) what = "incomplete reply";
        if (w.depth == SHAPE_DEPTH_MAX) what = "the reply is nested too deeply";
        if (what != NULL) break;
        reply = slice_of(reply.data + it.used, reply.len - it.used);
        shape_item(&w, &it);
    }
    if (what == NULL && w.is_odd) {
        what = "a string in the reply is not UTF-8: request `Upstash-Encoding: base64`";
    }
    if (what == NULL) return OK;
    out->len = mark;
    return error_set(e, ERR_VALUE, "%s", what);
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
