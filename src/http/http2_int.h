/* http2_int: what http2.c and http2_answer.c share. */
#ifndef HTTP_HTTP2_INT_H
#define HTTP_HTTP2_INT_H

#include <nghttp2/nghttp2.h>

#include "http/http_int.h"

struct http2_stream {
    struct exchange exchange; /* first */
    struct http2 *http2;
    int32_t id;
    struct http_message message;
    size_t head_bytes;
    struct buf body;  /* owned; what has come of it */
    struct buf out;   /* owned; of the answer's body, what nghttp2 has not taken */
    size_t out_at;    /* of out: taken */
    uint64_t taken;   /* of the answer's body by nghttp2, ever ... */
    uint64_t sent_at; /* ... which is in the connection's output before this; UINT64_MAX: it will */
    bool is_out_whole; /* nothing will be added */
    int64_t moved_ms;  /* monotonic: when it began, or some of its answer was last taken */
    bool is_begun;     /* the request is being answered: what else comes of it is dropped */
    struct http_refusal refusal;       /* status 0 = none */
    struct http2_stream *next, *prev;  /* http2->streams, or next of http2->leaving or ->gone */
    struct http2_stream *touched_next; /* http2->touched */
};

struct http2 {
    struct session_http *session;
    nghttp2_session *ng;         /* owned */
    struct http2_stream streams; /* head of a ring */
    size_t stream_count, event_count;
    struct http2_stream *touched; /* some of theirs is in the frame that is made */
    /* Closed, and the last of it is not written to the socket: until then their clients stay, for
     * what is not written has not happened (a message of a queue goes back). */
    struct http2_stream *leaving, **leaving_last;
    struct http2_stream *gone; /* closed; to be forgotten */
    struct exchange *queue_first, **queue_last;
    uint64_t depends;
    bool is_evaluated; /* as that of an exchange: of one of those that have not all ended since */
    bool is_going;     /* GOAWAY was sent: the server stops */
};

/* http2_answer.c */
extern const struct exchange_ops http2_answers;
struct http2_stream *http2_stream_of(struct exchange *x);
void http2_queue(struct exchange *x);
void http2_reset(struct http2_stream *st, uint32_t code);
/* What was taken of those that were touched is in the connection's output. */
void http2_placed(struct http2 *h);
/* What is still with the stream, and what is in the connection's output: by it features go that
 * bound what a client has unsent. */
void http2_count_unsent(struct http2_stream *st);
/* Has all that was taken of it been written to the socket? Then its client is told. */
bool http2_is_written(struct http2_stream *st);

#endif
