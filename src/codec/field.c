/* field: see field.h. */
#include "codec/field.h"

#include "codec/pack.h"
#include "codec/value.h"

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

bool field_number(struct slice text, struct buf *out)
{
    struct error ignored;
    if (text.len == 0 || text.len > FIELD_NUMBER_BYTES_MAX) return false;
    if (text.data[0] != '-' && !is_digit(text.data[0])) return false;
    if (!is_digit(text.data[text.len - 1])) return false;
    return value_from_json(text, NULL, out, &ignored) == OK;
}

void field_pack(struct slice text, struct buf *out)
{
    struct buf both;
    buf_init(&both);
    pack_str(&both, text);
    if (field_number(text, &both)) {
        pack_ext(out, EXT_FIELD, buf_slice(&both));
    } else {
        buf_append(out, both.data, both.len);
    }
    if (both.is_failed) out->is_failed = true;
    buf_fini(&both);
}
