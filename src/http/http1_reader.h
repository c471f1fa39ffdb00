/* http1_reader: requests of HTTP/1.1 and 1.0 in what was received (RFC 9112). Feed bytes, get whole
 * requests, one after the other; what came after one stays for the next. It is strict, since
 * proxies and servers that read the same bytes differently are how requests are smuggled: lines end
 * with CR LF, nothing stands before a header's colon, there is one Content-Length or one
 * Transfer-Encoding `chunked` and never both, one Host, no folded lines. After HTTP1_BROKEN nothing
 * more is read.
 */
#ifndef HTTP_HTTP1_READER_H
#define HTTP_HTTP1_READER_H

#include "http/message.h"

#define HTTP1_HEAD_BYTES_MAX (64 * 1024)

enum http1_step {
    HTTP1_MORE,     /* nothing whole has come */
    HTTP1_CONTINUE, /* likewise, and the peer waits for "100 Continue": told once of a request */
    HTTP1_WHOLE,
    HTTP1_BROKEN
};

enum http1_state {
    HTTP1_HEAD,
    HTTP1_BODY,       /* of a known length */
    HTTP1_CHUNK_SIZE, /* its line */
    HTTP1_CHUNK_DATA,
    HTTP1_CHUNK_END, /* CR LF after it */
    HTTP1_TRAILER,   /* lines after the last chunk */
    HTTP1_DONE,
    HTTP1_BAD
};

struct http1_reader {
    struct buf in; /* owned */
    size_t begin;  /* of the request that is read; what is before it was taken */
    size_t at;     /* read up to here */
    enum http1_state state;
    size_t head_end;
    size_t body_end;      /* of its bytes, which lie together after the head */
    uint64_t missing;     /* of the body, or of this chunk */
    size_t trailer_bytes; /* of lines of chunks and trailers that were read */
    uint64_t body_max;    /* the caller's to set */
    bool is_asked;        /* HTTP1_CONTINUE was told */
    bool keeps_alive;     /* of the request: the connection goes on after it */
    bool is_chunked, waits_for_continue;
    struct http_message message;
};

void http1_init(struct http1_reader *r);
void http1_fini(struct http1_reader *r);
/* Where bytes that come may be put, at least `wanted`; NULL: no memory. *size: of it. */
uint8_t *http1_room(struct http1_reader *r, size_t wanted, size_t *size);
void http1_fed(struct http1_reader *r, size_t bytes);
/* WHOLE: r->message, good until http1_taken. BROKEN: *why. */
enum http1_step http1_next(struct http1_reader *r, struct http_refusal *why);
/* The request was answered: the next one can be read. */
void http1_taken(struct http1_reader *r);
/* Bytes that came and are not read. */
size_t http1_buffered(const struct http1_reader *r);
/* Bytes of the body that are still to come, as far as that is known. */
uint64_t http1_missing(const struct http1_reader *r);
/* Gives memory back while nothing is in it. */
void http1_trim(struct http1_reader *r);

#endif
