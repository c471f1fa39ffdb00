/* field: the text of a hash's field as filters and indexes see it: a string, and where it is that
 * of a number in JSON (of at most FIELD_NUMBER_BYTES_MAX bytes) that number too. Pure functions.
 */
#ifndef CODEC_FIELD_H
#define CODEC_FIELD_H

#include "base/buf.h"

#define FIELD_NUMBER_BYTES_MAX 256

/* Is it that of a number? Then that is appended as a stored value. */
bool field_number(struct slice text, struct buf *out);
/* Appends what a filter looks at: a string; of a number's text EXT_FIELD, whose body is the string
 * and the number. Text is UTF-8; scratch is overwritten. */
void field_pack(struct slice text, struct buf *scratch, struct buf *out);

#endif
