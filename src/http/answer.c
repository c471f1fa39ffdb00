/* answer: what all answers have in common. */
#include <stdio.h>
#include <time.h>
#include <zlib.h>

#include "base/clock.h"
#include "http/http_int.h"

#define COMPRESS_MIN 1024
#define COMPRESS_MAX (1u << 20) /* more would make the turn of the loop long */

static struct slice date_now(struct http *h)
{
    int64_t now_s = clock_wall_ms() / 1000;
    if (now_s != h->date_s) {
        time_t t = (time_t)now_s;
        struct tm tm;
        gmtime_r(&t, &tm);
        (void)strftime(h->date, sizeof h->date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
        h->date_s = now_s;
    }
    return slice_str(h->date);
}

struct filling {
    struct http_header *out;
    size_t count;
};

static void add(struct filling *f, const char *name, struct slice value)
{
    f->out[f->count++] = (struct http_header){.name = slice_str(name), .value = value};
}

static bool has_header(const struct exchange *x, const char *name)
{
    for (size_t i = 0; i < x->header_count; i++) {
        if (slice_eq(x->headers[i].name, slice_str(name))) return true;
    }
    return false;
}

size_t answer_headers(struct exchange *x, const struct answer *a, struct slice length,
                      struct http_header *out)
{
    struct filling f = {.out = out};
    add(&f, "date", date_now(x->http));
    if (a->type != NULL) add(&f, "content-type", slice_str(a->type));
    if (length.data != NULL) add(&f, "content-length", length);
    add(&f, "x-content-type-options", slice_str("nosniff"));
    if (a->is_stream) {
        /* A proxy that gathers or compresses a stream keeps its events until there are many. */
        add(&f, "cache-control", slice_str("no-store, no-transform"));
        add(&f, "x-accel-buffering", slice_str("no"));
    } else if (!has_header(x, "cache-control")) {
        add(&f, "cache-control", slice_str("no-store"));
    }
    if (x->cors.data != NULL) {
        add(&f, "access-control-allow-origin", x->cors);
        add(&f, "vary", slice_str("Origin, Accept-Encoding"));
    } else {
        add(&f, "vary", slice_str("Accept-Encoding"));
    }
    for (size_t i = 0; i < x->header_count; i++) f.out[f.count++] = x->headers[i];
    return f.count;
}

void exchange_header(struct exchange *x, const char *name, struct slice value)
{
    INVARIANT(x->header_count < ANSWER_HEADERS_MAX);
    x->headers[x->header_count++] = (struct http_header){.name = slice_str(name), .value = value};
}

static bool deflate_all(struct slice in, struct buf *out)
{
    z_stream z = {0};
    if (deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return false;
    uLong bound = deflateBound(&z, (uLong)in.len);
    buf_clear(out, SIZE_MAX);
    uint8_t *to = buf_reserve(out, bound);
    int r = Z_MEM_ERROR;
    if (to != NULL) {
        z.next_in = bytes_unconst(in.data);
        z.avail_in = (uInt)in.len;
        z.next_out = to;
        z.avail_out = (uInt)bound;
        r = deflate(&z, Z_FINISH);
        out->len = bound - z.avail_out;
    }
    out->is_failed = false;
    (void)deflateEnd(&z);
    return r == Z_STREAM_END;
}

void answer_compress(struct exchange *x, struct answer *a)
{
    if (a->body.len < COMPRESS_MIN || a->body.len > COMPRESS_MAX || x->message == NULL) return;
    if (has_header(x, "content-encoding")) return;
    if (!http_list_has(http_header(x->message, "accept-encoding"), "gzip")) return;
    if (x->header_count == ANSWER_HEADERS_MAX || !deflate_all(a->body, &x->reply)) return;
    a->body = buf_slice(&x->reply);
    exchange_header(x, "content-encoding", slice_str("gzip"));
}
