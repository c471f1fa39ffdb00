/* http1_reader: head, then body or chunks, as states over one buffer. The bytes of chunks are moved
 * together over the lines of their sizes. Receiving may move the buffer, so a request with a body
 * has its head read again when it is whole: only then the slices of the message stay good. */
#include "http/http1_reader.h"

#include <strings.h>

#define LINE_MAX_BYTES 256 /* of a chunk's size and its extensions */
#define KEEP_BYTES (16 * 1024)

void http1_init(struct http1_reader *r)
{
    *r = (struct http1_reader){0};
    buf_init(&r->in);
}

void http1_fini(struct http1_reader *r)
{
    buf_fini(&r->in);
}

/* The lines of chunks that were read go, so that a body takes no more memory than it has bytes. */
static void drop_lines(struct http1_reader *r)
{
    if (r->head_end == 0 || r->at == r->body_end) return;
    size_t left = r->in.len - r->at;
    if (left > 0) memmove(r->in.data + r->body_end, r->in.data + r->at, left);
    r->at = r->body_end;
    r->in.len = r->at + left;
}

uint8_t *http1_room(struct http1_reader *r, size_t wanted, size_t *size)
{
    drop_lines(r);
    if (r->begin > 0) {
        buf_shift(&r->in, r->begin);
        r->at -= r->begin;
        r->head_end -= r->head_end > 0 ? r->begin : 0;
        r->body_end -= r->body_end > 0 ? r->begin : 0;
        r->begin = 0;
    }
    uint8_t *p = buf_reserve(&r->in, wanted);
    *size = p == NULL ? 0 : r->in.cap - r->in.len;
    return p;
}

void http1_fed(struct http1_reader *r, size_t bytes)
{
    r->in.len += bytes;
}

size_t http1_buffered(const struct http1_reader *r)
{
    return r->in.len - r->begin;
}

uint64_t http1_missing(const struct http1_reader *r)
{
    return r->state == HTTP1_BODY || r->state == HTTP1_CHUNK_DATA ? r->missing : 0;
}

void http1_trim(struct http1_reader *r)
{
    if (r->begin < r->in.len) return;
    buf_clear(&r->in, 0);
    r->begin = r->at = 0;
}

static enum http1_step broken(struct http1_reader *r, struct http_refusal *why, int status,
                              const char *text)
{
    r->state = HTTP1_BAD;
    *why = (struct http_refusal){.status = status, .text = text};
    return HTTP1_BROKEN;
}

/* ---- the head -------------------------------------------------------------------------------- */

/* The line at *rest, without its end; false: a line has no CR LF, or a CR or LF of its own. */
static bool take_line(struct slice *rest, struct slice *line)
{
    const uint8_t *end = rest->len == 0 ? NULL : memchr(rest->data, '\n', rest->len);
    if (end == NULL || end == rest->data || end[-1] != '\r') return false;
    *line = slice_of(rest->data, (size_t)(end - rest->data) - 1);
    *rest = slice_of(end + 1, rest->len - line->len - 2);
    return line->len == 0 || memchr(line->data, '\r', line->len) == NULL;
}

/* "name:port": with nothing that would make it a part of something else. */
static bool is_host(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c <= 0x20 || c >= 0x7f || strchr("/\\?#@", c) != NULL) return false;
    }
    return true;
}

/* "http://host/path": what a proxy is asked for. The host counts, not that of Host. */
static bool absolute_target(struct slice target, struct http_message *m)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < 2; i++) {
        size_t len = strlen(schemes[i]);
        if (target.len <= len || strncasecmp((const char *)target.data, schemes[i], len) != 0) {
            continue;
        }
        struct slice rest = slice_of(target.data + len, target.len - len);
        const uint8_t *slash = memchr(rest.data, '/', rest.len);
        if (slash == NULL || slash == rest.data) return false;
        m->host = slice_of(rest.data, (size_t)(slash - rest.data));
        if (!is_host(m->host)) return false;
        return http_split_target(slice_of(slash, rest.len - m->host.len), m);
    }
    return false;
}

static const char *request_line(struct slice line, struct http_message *m, int *status)
{
    const uint8_t *first = line.len == 0 ? NULL : memchr(line.data, ' ', line.len);
    *status = 400;
    if (first == NULL) return "the request line must be METHOD target HTTP/1.1";
    struct slice method = slice_of(line.data, (size_t)(first - line.data));
    struct slice rest = slice_of(first + 1, line.len - method.len - 1);
    const uint8_t *second = rest.len == 0 ? NULL : memchr(rest.data, ' ', rest.len);
    if (second == NULL) return "the request line must be METHOD target HTTP/1.1";
    struct slice target = slice_of(rest.data, (size_t)(second - rest.data));
    struct slice version = slice_of(second + 1, rest.len - target.len - 1);
    if (!http_is_token(method)) return "the method is invalid";
    m->method = http_method_of(method);
    if (slice_eq(version, slice_str("HTTP/1.1"))) {
        m->version = HTTP_1_1;
    } else if (slice_eq(version, slice_str("HTTP/1.0"))) {
        m->version = HTTP_1_0;
    } else {
        *status = slice_has_prefix(version, slice_str("HTTP/")) ? 505 : 400;
        return "the version must be HTTP/1.1, HTTP/1.0 or HTTP/2";
    }
    if (m->method == HTTP_OPTIONS && slice_eq(target, slice_str("*"))) {
        m->path = target;
        return NULL;
    }
    if (http_split_target(target, m) || absolute_target(target, m)) return NULL;
    return "the target must be a path";
}

static const char *header_line(struct slice line, struct http_message *m, int *status)
{
    const uint8_t *colon = memchr(line.data, ':', line.len);
    *status = 400;
    if (line.data[0] == ' ' || line.data[0] == '\t') return "a header is folded over several lines";
    if (colon == NULL) return "a header has no colon";
    struct slice name = slice_of(line.data, (size_t)(colon - line.data));
    struct slice value = http_trim(slice_of(colon + 1, line.len - name.len - 1));
    if (!http_is_token(name)) return "the name of a header is invalid";
    if (!http_is_value(value)) return "the value of a header contains control characters";
    *status = 431;
    if (m->header_count == HTTP_HEADERS_MAX) return "more than 100 headers";
    m->headers[m->header_count++] = (struct http_header){.name = name, .value = value};
    return NULL;
}

static bool is_header(const struct http_header *h, const char *name)
{
    return h->name.len == strlen(name) &&
           strncasecmp((const char *)h->name.data, name, h->name.len) == 0;
}

/* How often a header is there; *value: of the last. */
static size_t count_header(const struct http_message *m, const char *name, struct slice *value)
{
    size_t n = 0;
    for (size_t i = 0; i < m->header_count; i++) {
        if (!is_header(&m->headers[i], name)) continue;
        *value = m->headers[i].value;
        n++;
    }
    return n;
}

static const char *read_host(struct http_message *m)
{
    struct slice value = {0};
    size_t n = count_header(m, "host", &value);
    if (n > 1) return "duplicate Host header";
    if (n == 0 && m->version == HTTP_1_1) return "the Host header is missing";
    if (!is_host(value)) return "the Host header is invalid";
    if (m->host.data == NULL && n == 1) m->host = value;
    return NULL;
}

/* Several of them are one list. */
static void read_connection(struct http1_reader *r)
{
    const struct http_message *m = &r->message;
    r->keeps_alive = m->version == HTTP_1_1;
    for (size_t i = 0; i < m->header_count; i++) {
        if (!is_header(&m->headers[i], "connection")) continue;
        if (http_list_has(m->headers[i].value, "close")) r->keeps_alive = false;
    }
}

static const char *read_framing(struct http1_reader *r, int *status)
{
    struct http_message *m = &r->message;
    struct slice length = {0};
    struct slice coding = {0};
    size_t lengths = count_header(m, "content-length", &length);
    size_t codings = count_header(m, "transfer-encoding", &coding);
    r->missing = 0;
    r->is_chunked = codings > 0;
    m->has_body = lengths + codings > 0;
    *status = 400;
    if (lengths > 1) return "duplicate Content-Length header";
    if (lengths + codings > 1) return "both Content-Length and Transfer-Encoding";
    if (codings == 1 && m->version == HTTP_1_0) return "HTTP/1.0 does not allow Transfer-Encoding";
    if (lengths == 1 && !slice_to_u64(length, &r->missing))
        return "Content-Length must be a number";
    *status = 501;
    if (codings == 1 && !slice_is_word(coding, "CHUNKED")) {
        return "Transfer-Encoding must be `chunked`";
    }
    *status = 413;
    bool is_new = r->state == HTTP1_HEAD; /* else it was allowed when it began */
    if (is_new && r->missing > r->body_max) return "the body exceeds http-max-body";
    *status = 417;
    struct slice expected = {0};
    size_t expects = count_header(m, "expect", &expected);
    r->waits_for_continue = expects > 0 && m->version == HTTP_1_1;
    if (expects > 1 || (expects == 1 && !slice_is_word(expected, "100-CONTINUE"))) {
        return "Expect must be `100-continue`";
    }
    return NULL;
}

/* NULL, or what is wrong with it. */
static const char *read_head(struct http1_reader *r, int *status)
{
    struct http_message *m = &r->message;
    struct slice rest = slice_of(r->in.data + r->begin, r->head_end - r->begin);
    struct slice line;
    *m = (struct http_message){0};
    *status = 400;
    if (!take_line(&rest, &line)) return "a line does not end with CR LF";
    const char *wrong = request_line(line, m, status);
    while (wrong == NULL) {
        *status = 400;
        if (!take_line(&rest, &line)) return "a line does not end with CR LF";
        if (line.len == 0) break;
        wrong = header_line(line, m, status);
    }
    *status = wrong == NULL ? 400 : *status;
    if (wrong == NULL) wrong = read_host(m);
    read_connection(r);
    if (wrong == NULL) wrong = read_framing(r, status);
    return wrong;
}

/* Past the empty line that ends the head; 0 = it has not come. Lines that end with LF alone are for
 * read_head to refuse. */
static size_t find_end(const struct http1_reader *r)
{
    const uint8_t *data = r->in.data;
    for (size_t i = r->at; i < r->in.len; i++) {
        const uint8_t *p = memchr(data + i, '\n', r->in.len - i);
        if (p == NULL) return 0;
        i = (size_t)(p - data);
        if (i > r->begin && data[i - 1] == '\n') return i + 1;
        if (i > r->begin + 1 && data[i - 1] == '\r' && data[i - 2] == '\n') return i + 1;
    }
    return 0;
}

/* Empty lines before a request are skipped: some clients send one after a body. */
static void skip_empty_lines(struct http1_reader *r)
{
    while (r->at == r->begin && r->in.len - r->begin >= 2 && r->in.data[r->begin] == '\r' &&
           r->in.data[r->begin + 1] == '\n') {
        r->begin += 2;
        r->at = r->begin;
    }
}

static enum http1_step head_next(struct http1_reader *r, struct http_refusal *why)
{
    skip_empty_lines(r);
    if (r->in.len > r->begin && r->in.data[r->begin] < 0x21 && r->in.data[r->begin] != '\r') {
        return broken(r, why, 400, "the request does not begin with a method");
    }
    size_t end = find_end(r);
    size_t bytes = (end != 0 ? end : r->in.len) - r->begin;
    if (bytes > HTTP1_HEAD_BYTES_MAX) return broken(r, why, 431, "the request head exceeds 64 KB");
    if (end == 0) {
        /* The last two bytes may be half of the end. */
        r->at = r->in.len > r->begin + 2 ? r->in.len - 2 : r->begin;
        return HTTP1_MORE;
    }
    int status = 400;
    r->head_end = r->at = r->body_end = end;
    const char *wrong = read_head(r, &status);
    if (wrong != NULL) return broken(r, why, status, wrong);
    r->trailer_bytes = 0;
    r->state = r->is_chunked ? HTTP1_CHUNK_SIZE : HTTP1_BODY;
    return HTTP1_WHOLE;
}

/* ---- the body -------------------------------------------------------------------------------- */

/* Bytes of the body that are there become its own; those of chunks move to their places. */
static void take_body(struct http1_reader *r)
{
    size_t there = r->in.len - r->at;
    size_t n = there < r->missing ? there : (size_t)r->missing;
    if (r->body_end != r->at && n > 0) {
        memmove(r->in.data + r->body_end, r->in.data + r->at, n);
    }
    r->body_end += n;
    r->at += n;
    r->missing -= n;
}

/* A line of chunks or trailers; MORE: it is not whole. */
static enum http1_step line_next(struct http1_reader *r, size_t max, struct slice *line,
                                 struct http_refusal *why)
{
    struct slice rest = slice_of(r->in.data + r->at, r->in.len - r->at);
    const uint8_t *end = rest.len == 0 ? NULL : memchr(rest.data, '\n', rest.len);
    size_t bytes = end == NULL ? rest.len : (size_t)(end - rest.data) + 1;
    if (bytes > max) return broken(r, why, 400, "a line of a chunked body is too long");
    if (end == NULL) return HTTP1_MORE;
    if (!take_line(&rest, line)) return broken(r, why, 400, "a line does not end with CR LF");
    r->at += bytes;
    return HTTP1_WHOLE;
}

static int hex(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Digits, then nothing or `;` and extensions, which mean nothing here. */
static bool chunk_size(struct slice line, uint64_t *size)
{
    size_t i = 0;
    *size = 0;
    for (; i < line.len && hex(line.data[i]) >= 0; i++) {
        if (i == 15) return false;
        *size = *size * 16 + (uint64_t)hex(line.data[i]);
    }
    if (i == 0) return false;
    struct slice rest = http_trim(slice_of(line.data + i, line.len - i));
    return rest.len == 0 || (rest.data[0] == ';' && http_is_value(rest));
}

static enum http1_step chunk_size_next(struct http1_reader *r, struct http_refusal *why)
{
    struct slice line;
    enum http1_step step = line_next(r, LINE_MAX_BYTES, &line, why);
    if (step != HTTP1_WHOLE) return step;
    if (!chunk_size(line, &r->missing))
        return broken(r, why, 400, "the size of a chunk is invalid");
    if (r->body_end - r->head_end + r->missing > r->body_max) {
        return broken(r, why, 413, "the body exceeds http-max-body");
    }
    r->state = r->missing > 0 ? HTTP1_CHUNK_DATA : HTTP1_TRAILER;
    return HTTP1_WHOLE;
}

static enum http1_step trailer_next(struct http1_reader *r, struct http_refusal *why)
{
    struct slice line;
    int status;
    enum http1_step step = line_next(r, HTTP1_HEAD_BYTES_MAX, &line, why);
    if (step != HTTP1_WHOLE) return step;
    r->trailer_bytes += line.len + 2;
    if (r->trailer_bytes > HTTP1_HEAD_BYTES_MAX) {
        return broken(r, why, 431, "the trailers exceed 64 KB");
    }
    struct http_message ignored = {0};
    const char *wrong = line.len == 0 ? NULL : header_line(line, &ignored, &status);
    if (wrong != NULL) return broken(r, why, 400, wrong);
    if (line.len == 0) r->state = HTTP1_DONE;
    return HTTP1_WHOLE;
}

static enum http1_step chunk_end_next(struct http1_reader *r, struct http_refusal *why)
{
    if (r->in.len - r->at < 2) return HTTP1_MORE;
    if (memcmp(r->in.data + r->at, "\r\n", 2) != 0) {
        return broken(r, why, 400, "a chunk is longer than its size");
    }
    r->at += 2;
    r->state = HTTP1_CHUNK_SIZE;
    return HTTP1_WHOLE;
}

/* WHOLE: there is a next step, or it is done. */
static enum http1_step step(struct http1_reader *r, struct http_refusal *why)
{
    switch (r->state) {
    case HTTP1_HEAD: return head_next(r, why);
    case HTTP1_BODY:
    case HTTP1_CHUNK_DATA:
        take_body(r);
        if (r->missing > 0) return HTTP1_MORE;
        r->state = r->state == HTTP1_BODY ? HTTP1_DONE : HTTP1_CHUNK_END;
        return HTTP1_WHOLE;
    case HTTP1_CHUNK_SIZE: return chunk_size_next(r, why);
    case HTTP1_CHUNK_END: return chunk_end_next(r, why);
    case HTTP1_TRAILER: return trailer_next(r, why);
    case HTTP1_DONE: return HTTP1_WHOLE;
    default: break;
    }
    return broken(r, why, 400, "an earlier request was invalid");
}

enum http1_step http1_next(struct http1_reader *r, struct http_refusal *why)
{
    while (r->state != HTTP1_DONE) {
        enum http1_step s = step(r, why);
        if (s == HTTP1_MORE && r->state != HTTP1_HEAD && r->waits_for_continue && !r->is_asked &&
            r->at == r->head_end) {
            r->is_asked = true;
            return HTTP1_CONTINUE;
        }
        if (s != HTTP1_WHOLE) return s;
    }
    /* While the body came the bytes of the head may have moved. */
    int status;
    bool has_body = r->message.has_body;
    if (has_body && read_head(r, &status) != NULL) {
        return broken(r, why, 400, "the request head has changed");
    }
    r->message.body = slice_of(r->in.data + r->head_end, r->body_end - r->head_end);
    return HTTP1_WHOLE;
}

void http1_taken(struct http1_reader *r)
{
    r->begin = r->at;
    r->head_end = r->body_end = 0;
    r->state = HTTP1_HEAD;
    r->is_asked = false;
    r->message = (struct http_message){0};
    if (r->begin == r->in.len) {
        buf_clear(&r->in, KEEP_BYTES);
        r->begin = r->at = 0;
    }
}
