/* fuzz_http1: any bytes as requests of HTTP/1. However they are cut, the reader gives the same
 * requests and the same end; and a request that came as a whole, written again in a plain form,
 * reads the same.
 */
#include <stdlib.h>

#include "unit/http/http_help.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BODY_MAX 2000

/* Asserts that `again` reads as the one request that was described as `line`. */
static void check_plain(struct slice again, const struct buf *line)
{
    struct http1_reader r;
    struct http_refusal why;
    struct buf other;
    buf_init(&other);
    http1_init(&r);
    r.body_max = BODY_MAX;
    http1_feed(&r, again);
    if (http1_next(&r, &why) != HTTP1_WHOLE) abort();
    http1_describe(&r, true, &other);
    if (!slice_eq(buf_slice(&other), buf_slice(line))) abort();
    http1_taken(&r);
    if (http1_buffered(&r) != 0) abort();
    http1_fini(&r);
    buf_fini(&other);
}

static void check_rewritten(struct slice input)
{
    struct http1_reader r;
    struct http_refusal why;
    struct buf line;
    struct buf again;
    buf_init(&line);
    buf_init(&again);
    http1_init(&r);
    r.body_max = BODY_MAX;
    http1_feed(&r, input);
    for (enum http1_step step; (step = http1_next(&r, &why)) != HTTP1_MORE;) {
        if (step == HTTP1_CONTINUE) continue;
        if (step == HTTP1_BROKEN) break;
        buf_clear(&line, SIZE_MAX);
        buf_clear(&again, SIZE_MAX);
        http1_describe(&r, true, &line);
        if (http1_write_plain(&r, &again)) check_plain(buf_slice(&again), &line);
        http1_taken(&r);
    }
    http1_fini(&r);
    buf_fini(&line);
    buf_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 20000) return 0;
    struct slice input = slice_of(data, size);
    struct buf whole;
    struct buf cut;
    buf_init(&whole);
    buf_init(&cut);
    http1_transcript(input, size, 0, BODY_MAX, &whole);
    for (size_t piece = 0; piece < 3; piece++) {
        buf_clear(&cut, SIZE_MAX);
        http1_transcript(input, piece, size, BODY_MAX, &cut);
        if (!slice_eq(buf_slice(&whole), buf_slice(&cut))) abort();
    }
    check_rewritten(input);
    buf_fini(&whole);
    buf_fini(&cut);
    return 0;
}
