/* value_int: what the files of `value` share: the extensions, the tags of typed JSON, typed arrays.
 */
#ifndef CODEC_VALUE_INT_H
#define CODEC_VALUE_INT_H

#include "codec/value.h"

enum value_tag {
    TAG_NONE,
    TAG_BIGINT,
    TAG_U64,
    TAG_BYTES,
    TAG_DATE,
    TAG_UNDEFINED,
    TAG_NUMBER,
    TAG_MAP,
    TAG_SET,
    TAG_REGEXP,
    TAG_ERROR,
    TAG_TYPED,
    TAG_ID,
    TAG_REF,
    TAG_V8,
    TAG_OBJECT,
    TAG_UUIDV7,
    TAG_VERSIONSTAMP,
    TAG_COLLECTION
};

/* The tag of this name ("$bigint"); TAG_NONE. */
enum value_tag value_tag_of(struct slice name);

/* Members of an Error. name, message: strings, required; stack: string; cause: any value. */
enum value_error_member { MEMBER_NAME = 1, MEMBER_MESSAGE = 2, MEMBER_STACK = 4, MEMBER_CAUSE = 8 };
/* 0 when an Error has no such member. */
unsigned value_error_member_of(struct slice name);

/* Typed arrays: name and bytes per element of a code (NULL, 0 when there is none); code of a name
 * (-1). */
const char *value_typed_name(uint8_t code, size_t *element_bytes);
int value_typed_code(struct slice name);

/* Appends a bigint of at most BIGINT_DECIMAL_BYTES of magnitude (big-endian, minimal), smallest
 * form: a MessagePack integer beyond +-(2^53-1), where those mean bigints; else the extension. */
void value_pack_bigint(struct buf *out, bool is_negative, struct slice magnitude);

#endif
