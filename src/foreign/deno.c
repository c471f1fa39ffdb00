/* deno: the three encodings of Deno KV, each by what reads it: V8's bytes, an unsigned number,
 * bytes as they are. */
#include "foreign/deno.h"

#include "codec/pack.h"
#include "codec/value.h"
#include "foreign/v8.h"

enum err deno_to_value(int64_t encoding, struct slice data, struct buf *out, struct error *e)
{
    uint8_t big_endian[DENO_U64_BYTES];
    switch (encoding) {
    case DENO_V8: return v8_to_value(data, out, e);
    case DENO_U64:
        if (data.len != DENO_U64_BYTES) {
            return error_set(e, ERR_VALUE,
                             "A value of encoding 2 (LE64) must have 8 bytes, not %zu.", data.len);
        }
        for (size_t i = 0; i < DENO_U64_BYTES; i++) {
            big_endian[i] = data.data[DENO_U64_BYTES - 1 - i];
        }
        pack_ext(out, EXT_U64, slice_of(big_endian, sizeof big_endian));
        return OK;
    case DENO_BYTES: pack_bin(out, data); return OK;
    default:
        return error_set(e, ERR_VALUE, "The value encoding %lld is unknown.", (long long)encoding);
    }
}
