/* number: IEEE doubles as text. Digits are the shortest that read back as the same double, laid out
 * as JavaScript does, with one difference: an integer of 2^53 or more ends in ".0", because a JSON
 * integer literal of that size means a bigint. Independent of the locale.
 */
#ifndef CODEC_NUMBER_H
#define CODEC_NUMBER_H

#include "base/buf.h"

#define NUMBER_SAFE_MAX 9007199254740991 /* 2^53-1 */
#define NUMBER_TEXT_BYTES 40

/* True when d is an integer within +-(2^53-1) and not -0. */
bool number_is_integer(double d, int64_t *out);

/* Text of a finite double into out (NUMBER_TEXT_BYTES); bytes written, not NUL-ended. */
size_t number_format(double d, char *out);

/* Appends d as JSON: its digits, or the tag form {"$number":"NaN"|"Infinity"|"-Infinity"|"-0"};
 * "-NaN" only with has_negative_nan (keys tell them apart, values do not). */
void number_to_json(double d, bool has_negative_nan, struct buf *out);

/* The name inside {"$number":...} or bare at a prompt. False when it is none of them. */
bool number_from_name(struct slice name, bool has_negative_nan, double *out);

/* A JSON number literal without its sign, already checked. May be infinite. Linear in its length,
 * and slow: for those whose first 19 digits do not tell (double_parse.h). */
double number_parse(struct slice literal);

#endif
