/* value: what is stored under a key. The stored form is MessagePack with the extensions below;
 * the text form is typed JSON. Pure functions over bytes; single pass, no tree; depth at most
 * VALUE_DEPTH_MAX, kept in a counter, and the limit is an error, never a stack overflow.
 */
#ifndef CODEC_VALUE_H
#define CODEC_VALUE_H

#include "base/buf.h"
#include "base/err.h"
#include "codec/placeholder.h"

#define VALUE_DEPTH_MAX 128

/* The MessagePack extensions of the stored form (docs/formats.md). */
enum value_ext {
    EXT_DATE = -1,
    EXT_UNDEFINED = 0x00,
    EXT_BIGINT = 0x42,
    EXT_COLLECTION = 0x43, /* a hash, list, ...: codec/collection.h; only the server makes it */
    EXT_ERROR = 0x45,
    EXT_FIELD = 0x46, /* codec/field.h: for filters, never stored */
    EXT_ID = 0x49,
    EXT_MAP = 0x4d,
    EXT_REF = 0x50,
    EXT_REGEXP = 0x52,
    EXT_SET = 0x53,
    EXT_U64 = 0x55,
    EXT_V8 = 0x56, /* a whole value as V8 writes it (codec/v8.h), for what has no other form */
    EXT_TYPED = 0x74
};

/* ERR_VALUE "invalid value: <what> at offset <n>" unless `bytes` is exactly one well-formed value.
 * Refused are trailing bytes, bad UTF-8, duplicate map keys, unknown or malformed extensions, u64
 * and V8's own below the top level, too much depth. What passes is stored to the byte. */
ERR_MUST_USE enum err value_check(struct slice bytes, struct error *e);

/* Typed JSON -> MessagePack in its smallest encoding, appended. `p` NULL: placeholders are an
 * error. On error `out` is as before. */
ERR_MUST_USE enum err value_from_json(struct slice text, const struct placeholders *p,
                                      struct buf *out, struct error *e);

/* A stored value as typed JSON, appended; canonical (no blanks, shortest digits). `bytes` has
 * passed value_check. Never fails but for memory (sticky in out). */
void value_to_json(struct slice bytes, struct buf *out);
/* The same, but bigints beyond +-(2^53-1) are integer literals. Those within keep their tag, as
 * they would be numbers without it, and so do those too large for decimal digits. value_from_json
 * reads both. */
void value_to_bare_json(struct slice bytes, struct buf *out);
/* Is an object whose only member has this name, "$date" for example, a tag of typed JSON? */
bool value_names_tag(struct slice name);

/* The name a person would use: "number", "bigint", "u64", "string", "array", "object", "Map".. */
const char *value_type_name(struct slice bytes);

/* The bytes of a value that is bytes (a Uint8Array); false for any other. */
bool value_bytes_of(struct slice value, struct slice *bytes);

/* One encoded value at the start of `bytes` (which has passed value_check): its length in bytes. */
size_t value_length(struct slice bytes);

#endif
