/* fuzz_resp: any bytes; however they are cut, the reader gives the same commands and the same end.
 */
#include <stdlib.h>

#include "unit/resp/resp_help.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Above it the texts of two errors depend on whether the end of the line was seen. */
    if (size > 60000) return 0;
    struct slice input = slice_of(data, size);
    struct buf whole;
    struct buf cut;
    buf_init(&whole);
    buf_init(&cut);
    resp_transcript(input, size, 0, 1000, &whole);
    for (size_t piece = 0; piece < 3; piece++) {
        buf_clear(&cut, SIZE_MAX);
        resp_transcript(input, piece, size, 1000, &cut);
        if (!slice_eq(buf_slice(&whole), buf_slice(&cut))) abort();
    }
    buf_fini(&whole);
    buf_fini(&cut);
    return 0;
}
