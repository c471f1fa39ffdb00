/* http: HTTP/1.1 and HTTP/2 over a stream. Every request becomes words for the table of commands,
 * run by a client of its own under the same users, limits and counts as those of RESP, and the
 * replies become its answer. No byte of an answer leaves before what it depends on is durable.
 *
 *   stream -> session.c -> http1.c or http2.c -> exchange.c -> route.c -> api.c, rest_*.c, ...
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include "net/stream.h"
#include "request/command.h"

struct http;

/* Texts are borrowed until the options are set again. */
struct http_options {
    uint64_t body_bytes_max;
    uint64_t idle_s;    /* connections without a request for so long are closed; 0 = never */
    uint64_t request_s; /* within which a request must have come as a whole; 0 = for ever */
    struct output_limit output, output_stream; /* stream: who listens to events */
    const char *allowed_hosts;                 /* names, with blanks between */
    const char *allowed_origins;               /* likewise; * = all */
    const char *trusted_proxies;               /* addresses, likewise */
    const char *rest_base;                     /* "/keyval/api" */
    int64_t ticket_ms; /* until a ticket must have been used; ten times that after its stream */
    bool rest_path_numbers;
    bool rest_deletes_exact;
};

/* Of what comes by HTTP. */
struct http_counts {
    uint64_t requests[3]; /* by enum http_version */
    uint64_t answers[6];  /* by the first digit of the status */
    uint64_t streams;     /* of events, open */
};

/* `arg` of its listeners. */
extern const struct protocol http_protocol;
/* A stream of another protocol is one of this from now on; `bytes` of it have come already. From
 * within run of the other: whose session is no more when this returns. */
void http_take(struct http *h, struct stream *stream, struct slice bytes);
struct http *http_new(struct env *env, const struct http_options *options);
/* When all its sessions are gone. h may be NULL. */
void http_free(struct http *h);
void http_set_options(struct http *h, const struct http_options *options);
/* What /readyz says: NULL = ready; text of why not. */
void http_set_ready(struct http *h, const char *(*why_not)(void *arg), void *arg);
/* At the end of each turn, when all have been told of its changes. */
void http_turn(struct http *h);
const struct http_counts *http_counts(const struct http *h);

#endif
