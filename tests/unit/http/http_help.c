#include "unit/http/http_help.h"

#include <strings.h>

#include "base/random.h"

static bool is_named(struct slice name, const char *wanted)
{
    return name.len == strlen(wanted) &&
           strncasecmp((const char *)name.data, wanted, name.len) == 0;
}

/* What says how the request came, not what it is. */
static bool is_framing(struct slice name)
{
    return is_named(name, "host") || is_named(name, "content-length") ||
           is_named(name, "transfer-encoding");
}

static const char *method_name(enum http_method method)
{
    switch (method) {
    case HTTP_GET: return "GET";
    case HTTP_HEAD: return "HEAD";
    case HTTP_POST: return "POST";
    case HTTP_PUT: return "PUT";
    case HTTP_DELETE: return "DELETE";
    case HTTP_OPTIONS: return "OPTIONS";
    default: return "OTHER";
    }
}

static void put(struct buf *out, struct slice s)
{
    if (s.data == NULL) {
        buf_append_byte(out, '-');
    } else {
        buf_append(out, s.data, s.len);
    }
}

void http1_describe(const struct http1_reader *r, bool is_plain, struct buf *out)
{
    const struct http_message *m = &r->message;
    buf_printf(out, "1.%d %s ", m->version == HTTP_1_1 ? 1 : 0, method_name(m->method));
    put(out, m->host);
    buf_append_byte(out, ' ');
    put(out, m->path);
    buf_append_byte(out, '?');
    put(out, m->query);
    buf_append_str(out, " [");
    for (size_t i = 0, n = 0; i < m->header_count; i++) {
        if (is_plain && is_framing(m->headers[i].name)) continue;
        if (n++ > 0) buf_append_byte(out, '|');
        put(out, m->headers[i].name);
        buf_append_byte(out, ':');
        put(out, m->headers[i].value);
    }
    buf_append_str(out, "] {");
    put(out, m->has_body ? m->body : slice_of(NULL, 0));
    buf_printf(out, "} %s\n", r->keeps_alive ? "keep" : "close");
}

bool http1_write_plain(const struct http1_reader *r, struct buf *out)
{
    const struct http_message *m = &r->message;
    size_t from = out->len;
    size_t count = 2;
    buf_printf(out, "%s ", method_name(m->method));
    put(out, m->path);
    if (m->query.data != NULL) {
        buf_append_byte(out, '?');
        put(out, m->query);
    }
    buf_printf(out, " HTTP/1.%d\r\n", m->version == HTTP_1_1 ? 1 : 0);
    if (m->host.data != NULL) {
        buf_append_str(out, "Host: ");
        put(out, m->host);
        buf_append_str(out, "\r\n");
    }
    for (size_t i = 0; i < m->header_count; i++) {
        if (is_framing(m->headers[i].name)) continue;
        put(out, m->headers[i].name);
        buf_append_str(out, ": ");
        put(out, m->headers[i].value);
        buf_append_str(out, "\r\n");
        count++;
    }
    if (m->has_body) buf_printf(out, "Content-Length: %zu\r\n", m->body.len);
    buf_append_str(out, "\r\n");
    bool is_small = out->len - from <= HTTP1_HEAD_BYTES_MAX && count <= HTTP_HEADERS_MAX;
    if (m->has_body) put(out, m->body);
    return is_small;
}

void http1_feed(struct http1_reader *r, struct slice input)
{
    size_t room = 0;
    uint8_t *p = http1_room(r, input.len + 1, &room);
    INVARIANT(p != NULL && room > input.len);
    bytes_copy(p, input.data, input.len);
    http1_fed(r, input.len);
}

/* False when the connection ended. */
static bool take_requests(struct http1_reader *r, struct buf *out)
{
    for (;;) {
        struct http_refusal why = {0};
        enum http1_step step = http1_next(r, &why);
        if (step == HTTP1_CONTINUE) continue;
        if (step == HTTP1_MORE) return true;
        if (step == HTTP1_BROKEN) {
            INVARIANT(why.status >= 400 && why.status < 600 && why.text != NULL);
            buf_printf(out, "!%d\n", why.status);
            return false;
        }
        http1_describe(r, false, out);
        http1_taken(r);
    }
}

void http1_transcript(struct slice input, size_t piece, uint64_t seed, uint64_t body_max,
                      struct buf *out)
{
    struct http1_reader r;
    struct rng rng;
    rng_init(&rng, seed);
    http1_init(&r);
    r.body_max = body_max;
    while (input.len > 0) {
        size_t room = 0;
        size_t n = piece > 0 ? piece : 1 + rng_below(&rng, 1 + rng_below(&rng, 40));
        if (n > input.len) n = input.len;
        uint8_t *p = http1_room(&r, n, &room);
        INVARIANT(p != NULL && room >= n);
        memcpy(p, input.data, n);
        http1_fed(&r, n);
        input = slice_of(input.data + n, input.len - n);
        if (!take_requests(&r, out)) break;
        INVARIANT(http1_missing(&r) <= body_max);
        if (input.len == 0 && http1_buffered(&r) > 0) buf_append_str(out, "~\n");
        http1_trim(&r);
    }
    http1_fini(&r);
}
