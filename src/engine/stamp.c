#include "engine/stamp.h"

void stamp_format(uint64_t version, char out[STAMP_CHARS])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++) out[i] = digits[(version >> (60 - 4 * i)) & 15];
    memcpy(out + 16, "0000", 4);
}

static int hex_value(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

enum err stamp_parse(struct slice text, struct expected *out, struct error *e)
{
    *out = (struct expected){0};
    if (text.len == 0 || slice_is_word(text, "NONE")) {
        out->is_none = true;
        return OK;
    }
    if (text.len != STAMP_CHARS) {
        return error_set(e, ERR_SYNTAX,
                         "invalid versionstamp '%.*s': 20 hex digits or NONE expected",
                         (int)(text.len < 64 ? text.len : 64), (const char *)text.data);
    }
    for (size_t i = 0; i < STAMP_CHARS; i++) {
        int digit = hex_value(text.data[i]);
        if (digit < 0) {
            return error_set(e, ERR_SYNTAX,
                             "invalid versionstamp '%.20s': 20 hex digits or NONE expected",
                             (const char *)text.data);
        }
        if (i < 16) {
            out->version = out->version << 4 | (uint64_t)digit;
        } else if (digit != 0) {
            out->is_foreign = true;
        }
    }
    return OK;
}
