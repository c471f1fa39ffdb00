/* varint: numbers in as few bytes as they need, 7 bits in each, the low ones first (LEB128). */
#ifndef CODEC_VARINT_H
#define CODEC_VARINT_H

#include "base/buf.h"

/* The number at *at of `bytes`, which goes on behind it. False: it is cut off, or too long. */
bool varint_read(struct slice bytes, size_t *at, uint64_t *out);
void varint_append(struct buf *out, uint64_t n);

#endif
