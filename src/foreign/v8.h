/* v8: values as V8 writes them (codec/v8.h), from and to the stored form (codec/value.h). Pure
 * functions over bytes; docs/formats.md has what becomes what.
 *
 * What has no form of ours (holes in arrays, boxed values, half of a pair of surrogates, ...) is
 * kept: the whole value as it came is stored as EXT_V8, and goes out again as it came.
 */
#ifndef FOREIGN_V8_H
#define FOREIGN_V8_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the stored form; it passes value_check. Work and memory grow as the input does.
 * ERR_VALUE "invalid V8 value: <what> at offset <n>", ERR_LIMIT above 128 MB, ERR_NOMEM; then `out`
 * is as before. */
ERR_MUST_USE enum err v8_to_value(struct slice v8, struct buf *out, struct error *e);

/* A stored value, which has passed value_check, as V8 writes it, appended; readers of version 15
 * and later can read it. A u64 becomes a bigint.
 * ERR_VALUE when JavaScript has no such value: a RegExp with other flags, a shared value that is
 * nothing but itself. ERR_LIMIT when text or numbers are shared so often that their copies would be
 * many times the value; ERR_NOMEM. Then `out` is as before. */
ERR_MUST_USE enum err value_to_v8(struct slice value, struct buf *out, struct error *e);

#endif
