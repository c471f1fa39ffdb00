/* value_plain: the quick way between typed JSON and stored values, for those that are plain and
 * small, as nearly all are: null, booleans, numbers, strings without escapes, and arrays and
 * objects of these. Room for the longest outcome is made once, and nothing else is checked twice.
 * What is not plain, or not right, is refused, and goes the whole way (value_to_json.c,
 * value_from_json.c): the outcome is the same, and only that way has errors. Pure functions.
 */
#ifndef CODEC_VALUE_PLAIN_H
#define CODEC_VALUE_PLAIN_H

#include "base/buf.h"

#define VALUE_PLAIN_BYTES_MAX 1024 /* of a text, or a stored value */
#define VALUE_PLAIN_DEPTH_MAX 8
#define VALUE_PLAIN_COUNT_MAX 15 /* members of an object, items of an array, when it is read */

/* As value_to_json of a checked value; false: nothing was appended. */
bool value_plain_to_json(struct slice bytes, struct buf *out);
/* As value_from_json; false: nothing was appended. */
bool value_plain_from_json(struct slice text, struct buf *out);

#endif
