/* utf8: is it UTF-8? Shortest forms only, no surrogates, nothing above U+10FFFF. Pure functions.
 */
#ifndef CODEC_UTF8_H
#define CODEC_UTF8_H

#include "base/slice.h"

/* Bytes of the one valid sequence at p (1..4), 0 when there is none within `left` bytes. */
unsigned utf8_step(const uint8_t *p, size_t left);

/* Offset of the first byte that is not UTF-8; s.len when all of it is. */
size_t utf8_valid_bytes(struct slice s);

/* Encodes a code point (not a surrogate, at most 0x10ffff) into out; bytes written. */
unsigned utf8_encode(uint32_t code, uint8_t out[4]);

#endif
