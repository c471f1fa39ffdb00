/* key_name: see key_name.h. A bytes part that happens to be UTF-8 gets its path form: as a plain
 * word it would name the key with that string. */
#include "request/key_name.h"

#include "codec/key.h"
#include "codec/utf8.h"
#include "engine/engine.h"

/* 00 ff is one 00. */
static void unescape(struct slice escaped, struct buf *out)
{
    const uint8_t *zero = escaped.len == 0 ? NULL : memchr(escaped.data, 0, escaped.len);
    if (zero == NULL) {
        buf_append(out, escaped.data, escaped.len);
        return;
    }
    for (size_t i = 0; i < escaped.len; i++) {
        buf_append_byte(out, escaped.data[i]);
        if (escaped.data[i] == 0) i++;
    }
}

void key_name(struct slice key, struct buf *out)
{
    struct slice tuple = engine_key_tuple(key);
    struct key_part part;
    size_t at = 0;
    size_t from = out->len;
    bool is_one = key_next(tuple, &at, &part) && at == tuple.len;
    if (!is_one || (part.type != KEY_STRING && part.type != KEY_BYTES)) {
        key_to_path(tuple, out);
        return;
    }
    unescape(part.bytes, out);
    if (part.type == KEY_STRING || out->is_failed) return;
    struct slice name = slice_of(out->data + from, out->len - from);
    if (utf8_valid_bytes(name) < name.len) return;
    out->len = from; /* a word of these bytes means the key of a string */
    key_to_path(tuple, out);
}
