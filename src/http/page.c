/* page: the page for people (web/), below /ui/. Its files hold no data of users: the page signs in
 * and asks for what it shows by the command API.
 */
#include <zlib.h>

#include "http/page_file.h"
#include "http/route.h"

/* Nothing from elsewhere, nothing inline, in no frame. */
#define POLICY                                                                                     \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "              \
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

static void lead_to(struct exchange *x, const char *where)
{
    exchange_header(x, "location", slice_str(where));
    exchange_answer(x, 301, NULL, slice_of(NULL, 0));
}

void page_root_run(struct exchange *x)
{
    lead_to(x, "ui/");
}

void page_to_run(struct exchange *x)
{
    lead_to(x, "ui/");
}

static const struct page_file *find(struct slice name)
{
    if (name.len == 0) name = slice_str("index.html");
    for (const struct page_file *f = page_files; f->name != NULL; f++) {
        if (slice_eq(name, slice_str(f->name))) return f;
    }
    return NULL;
}

static bool inflate_all(const struct page_file *f, struct buf *out)
{
    z_stream z = {0};
    uint8_t *to = buf_reserve(out, f->bytes);
    if (to == NULL || inflateInit2(&z, 15 + 16) != Z_OK) return false;
    z.next_in = bytes_unconst(f->gzip);
    z.avail_in = (uInt)f->gzip_bytes;
    z.next_out = to;
    z.avail_out = (uInt)f->bytes;
    int r = inflate(&z, Z_FINISH);
    out->len = f->bytes - z.avail_out;
    (void)inflateEnd(&z);
    return r == Z_STREAM_END;
}

void page_file_run(struct exchange *x)
{
    const struct page_file *f = find(slice_of(x->rest.data + 1, x->rest.len - 1));
    if (f == NULL) {
        exchange_fail(x, 404, "ERR no such file of the page");
        return;
    }
    exchange_header(x, "cache-control", slice_str("no-cache"));
    exchange_header(x, "etag", slice_str(f->tag));
    exchange_header(x, "content-security-policy", slice_str(POLICY));
    exchange_header(x, "referrer-policy", slice_str("no-referrer"));
    exchange_header(x, "cross-origin-opener-policy", slice_str("same-origin"));
    exchange_header(x, "cross-origin-resource-policy", slice_str("same-origin"));
    if (http_list_has(http_header(x->message, "if-none-match"), f->tag)) {
        exchange_answer(x, 304, NULL, slice_of(NULL, 0));
        return;
    }
    buf_clear(&x->text, SIZE_MAX);
    if (http_list_has(http_header(x->message, "accept-encoding"), "gzip")) {
        exchange_header(x, "content-encoding", slice_str("gzip"));
        exchange_answer(x, 200, f->type, slice_of(f->gzip, f->gzip_bytes));
    } else if (inflate_all(f, &x->text)) {
        exchange_header(x, "content-encoding", slice_str("identity"));
        exchange_answer(x, 200, f->type, buf_slice(&x->text));
    } else {
        exchange_fail(x, 507, "ERR out of memory for a file of the page");
    }
}
