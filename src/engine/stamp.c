/* stamp: 32 bits become eight digits at once, within one 64-bit word; reading goes digit by digit,
 * since it must say what is wrong. */
#include "engine/stamp.h"

/* The digits of 32 bits, the first in the lowest byte. A half of each 16, then each 8, then each 4
 * goes its own way, until every byte has four bits; 10 and more become letters. */
static uint64_t hex_digits(uint32_t bits)
{
    uint64_t x = __builtin_bswap32(bits);
    x = (x | x << 16) & UINT64_C(0x0000ffff0000ffff);
    x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
    x = (x >> 4 & UINT64_C(0x000f000f000f000f)) | (x & UINT64_C(0x000f000f000f000f)) << 8;
    uint64_t letters = (x + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
    return x + UINT64_C(0x3030303030303030) + letters * ('a' - '0' - 10);
}

static void put_digits(uint64_t digits, char *out)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    digits = __builtin_bswap64(digits);
#endif
    memcpy(out, &digits, 8);
}

void stamp_format(uint64_t version, char out[STAMP_CHARS])
{
    put_digits(hex_digits((uint32_t)(version >> 32)), out);
    put_digits(hex_digits((uint32_t)version), out + 8);
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
                         "invalid versionstamp '%.*s': expected 20 hex digits or NONE",
                         (int)(text.len < 64 ? text.len : 64), (const char *)text.data);
    }
    for (size_t i = 0; i < STAMP_CHARS; i++) {
        int digit = hex_value(text.data[i]);
        if (digit < 0) {
            return error_set(e, ERR_SYNTAX,
                             "invalid versionstamp '%.20s': expected 20 hex digits or NONE",
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
