/* double_parse: the double nearest to a decimal; between two that are as near, the even one.
 */
#ifndef CODEC_DOUBLE_PARSE_H
#define CODEC_DOUBLE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* How many digits are always room for in a uint64_t. */
#define DECIMAL_DIGITS_MAX 19

/* The double nearest to digits * 10^exponent: zero or infinite when that is beyond the range. With
 * `is_cut` more digits followed the first DECIMAL_DIGITS_MAX, of which the first is not 0: the
 * number is anywhere from digits * 10^exponent to (digits + 1) * 10^exponent. False: it cannot be
 * told from this, and *out is not set; without `is_cut` that is not known to happen. */
bool double_from_decimal(uint64_t digits, int64_t exponent, bool is_cut, double *out);

#endif
