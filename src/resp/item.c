/* item: one item: its line and, of a bulk, its bytes. The length of a whole reply is found by
 * counting the items that are still to come, without recursion. */
#include "resp/item.h"

bool resp_item_read(struct slice bytes, struct resp_item *out)
{
    const uint8_t *end = bytes.len < 3 ? NULL : memchr(bytes.data, '\n', bytes.len);
    int64_t n = 0;
    if (end == NULL || end == bytes.data || end[-1] != '\r') return false;
    *out = (struct resp_item){.type = (char)bytes.data[0],
                              .text = slice_of(bytes.data + 1, (size_t)(end - bytes.data) - 2),
                              .used = (size_t)(end - bytes.data) + 1};
    if (strchr("$=*~>%", out->type) == NULL) {
        out->is_nil = out->type == '_';
        return strchr("+-:_,#(", out->type) != NULL;
    }
    if (out->type == '\0' || !slice_to_i64(out->text, &n)) return false;
    out->is_nil = n < 0;
    if (n < 0) return true;
    if (out->type != '$' && out->type != '=') {
        out->children = (size_t)n * (out->type == '%' ? 2 : 1);
        return true;
    }
    if (bytes.len - out->used < (size_t)n + 2) return false;
    out->text = slice_of(bytes.data + out->used, (size_t)n);
    out->used += (size_t)n + 2;
    if (out->type == '=' && n >= 4) {
        out->format = slice_of(out->text.data, 3);
        out->text = slice_of(out->text.data + 4, out->text.len - 4); /* without "txt:" */
    }
    return true;
}

/* Without recursion: `left` counts the items that are still to come. */
size_t resp_reply_length(struct slice bytes)
{
    struct resp_item it;
    size_t used = 0;
    for (size_t left = 1; left > 0; left--) {
        if (!resp_item_read(slice_of(bytes.data + used, bytes.len - used), &it)) return 0;
        used += it.used;
        left += it.children;
    }
    return used;
}
