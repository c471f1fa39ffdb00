/* float_text: floating-point numbers as decimal text, as the commands of Redis read and write them.
 */
#ifndef CODEC_FLOAT_TEXT_H
#define CODEC_FLOAT_TEXT_H

#include "base/arena.h"

/* For INCRBYFLOAT and HINCRBYFLOAT, which count with long doubles: what strtold takes, but no
 * blanks before it, no rest, no NaN; infinity only by its name. */
bool float_text_read_long(struct slice text, long double *out);
/* With 17 digits after the point, without the zeros at the end, in the arena. */
struct slice float_text_write_long(struct arena *arena, long double n);
/* For scores: likewise as a double. */
bool float_text_read(struct slice text, double *out);
/* For bounds of scores: likewise, and after blanks; beyond a double it is infinite, or 0. */
bool float_text_read_bound(struct slice text, double *out);
/* The shortest digits that read back as the same, laid out as Redis 7.2 and later do: without an
 * exponent while that is short; bytes written to `out`, at most FLOAT_TEXT_BYTES. */
#define FLOAT_TEXT_BYTES 32
size_t float_text_write(double n, char *out);

#endif
