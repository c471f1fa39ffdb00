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

void field_pack(struct slice text, struct buf *scratch, struct buf *out)
{
    bool may_be = text.len > 0 && text.len <= FIELD_NUMBER_BYTES_MAX;
    buf_clear(scratch, SIZE_MAX);
    if (may_be) pack_str(scratch, text);
    if (may_be && field_number(text, scratch)) {
        pack_ext(out, EXT_FIELD, buf_slice(scratch));
    } else {
        pack_str(out, text);
    }
    if (scratch->is_failed) out->is_failed = true;
}
