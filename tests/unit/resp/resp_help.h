/* resp_help: what a reader makes of some bytes, fed in pieces, as text. Shared by the unit tests
 * and the fuzz target.
 */
#ifndef TESTS_UNIT_RESP_HELP_H
#define TESTS_UNIT_RESP_HELP_H

#include "base/buf.h"

/* Feeds `input` in pieces of `piece` bytes (0 = of random lengths, by `seed`) and appends to `out`
 * for every command "(len:bytes)(len:bytes)\n", and at a protocol error "!<text>\n". */
void resp_transcript(struct slice input, size_t piece, uint64_t seed, size_t bulk_bytes_max,
                     struct buf *out);

#endif
