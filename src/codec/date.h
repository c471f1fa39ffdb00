/* date: milliseconds since 1970 as ISO 8601 text (as JavaScript writes it) and as the MessagePack
 * timestamp extension. The range is JavaScript's: +-8.64e15 ms.
 */
#ifndef CODEC_DATE_H
#define CODEC_DATE_H

#include "base/buf.h"

#define DATE_MS_MAX INT64_C(8640000000000000)
#define DATE_TEXT_BYTES 27

/* YYYY-MM-DDTHH:mm:ss.sssZ, years outside 0..9999 as +YYYYYY or -YYYYYY. Bytes written. */
size_t date_format(int64_t ms, char out[DATE_TEXT_BYTES]);
/* The same form, milliseconds optional. False when it is not a date in range. */
bool date_parse(struct slice text, int64_t *ms);

/* Payload of extension -1: 4, 8 or 12 bytes, or one byte ff = the invalid date. Nanoseconds below
 * one millisecond are dropped. False when malformed or out of range. */
bool date_from_ext(struct slice body, int64_t *ms, bool *is_invalid);
/* Appends the whole extension item, smallest form. */
void date_to_ext(int64_t ms, struct buf *out);

#endif
