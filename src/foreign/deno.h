/* deno: values as Deno KV keeps and sends them: data, and the number of its encoding. What
 * KV.CONNECT is sent (src/command/connect), and what tupledctl imports, is read here. */
#ifndef FOREIGN_DENO_H
#define FOREIGN_DENO_H

#include "base/buf.h"
#include "base/err.h"

enum deno_encoding { DENO_V8 = 1, DENO_U64 = 2, DENO_BYTES = 3 };
#define DENO_U64_BYTES 8 /* little-endian */

/* Appends the stored form (codec/value.h). ERR_VALUE when the encoding is none of these, or the
 * data is not of it; else the errors of v8_to_value. Then `out` is as before; memory is sticky in
 * it. */
ERR_MUST_USE enum err deno_to_value(int64_t encoding, struct slice data, struct buf *out,
                                    struct error *e);

#endif
