/* bigint: integers of any size between decimal text, sign and magnitude (big-endian bytes, minimal,
 * zero is empty) and two's complement (big-endian, at least one byte).
 *
 * Decimal conversion costs the square of the length, so it stops at BIGINT_DECIMAL_BYTES of
 * magnitude (8192 bits, 2467 digits). Larger values have the text form 0x.. (lower-case hex,
 * "-0x.." when negative), which is linear; the text form of a value is decided by its size alone.
 */
#ifndef CODEC_BIGINT_H
#define CODEC_BIGINT_H

#include "base/buf.h"

#define BIGINT_DECIMAL_BYTES 1024
#define BIGINT_DECIMAL_DIGITS 2467

/* Decimal digits (no sign) -> magnitude in out (BIGINT_DECIMAL_BYTES), *len bytes of it. False when
 * the text is empty, not all digits, or larger than that. */
bool bigint_from_decimal(struct slice digits, uint8_t *out, size_t *len);

/* Magnitude of at most BIGINT_DECIMAL_BYTES -> digits in out (BIGINT_DECIMAL_DIGITS); their number.
 */
size_t bigint_to_decimal(struct slice magnitude, char *out);

/* Two's complement of sign and magnitude, minimal, into out (magnitude.len + 1); bytes written. */
size_t bigint_to_twos(bool is_negative, struct slice magnitude, uint8_t *out);

/* Two's complement (any length from 1, minimal or not) -> magnitude in out (twos.len bytes), its
 * length; *is_negative. */
size_t bigint_from_twos(struct slice twos, bool *is_negative, uint8_t *out);

/* Two's complement -> its text form, appended, without quotes. */
void bigint_twos_to_text(struct slice twos, struct buf *out);

/* Would its text form, as a literal of JSON, be read as the same bigint? It must be beyond
 * +-(2^53-1), and decimal. */
bool bigint_twos_is_literal(struct slice twos);

/* Text form (sign, then decimal or 0x and hex) -> minimal two's complement, appended. On false out
 * is as before and *why says what is wrong. */
bool bigint_text_to_twos(struct slice text, struct buf *out, const char **why);

#endif
