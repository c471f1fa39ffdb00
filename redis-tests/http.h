/* http: HTTP/1.1 from the other side, byte by byte, for tests. Every function fails the running
 * test when it cannot do what it says, and waits for a minute at most. In requests and wanted texts
 * ' stands for ", and in wanted texts * for anything (client.h).
 */
#ifndef REDIS_TESTS_HTTP_H
#define REDIS_TESTS_HTTP_H

#include "server.h"

struct http_conn {
    int fd;
    char *in; /* owned; what has come and is not read */
    size_t len, cap;
    bool has_ended; /* the server has closed its side */
};

struct http_answer {
    int status;
    char *head; /* owned: status line and headers */
    char *body; /* owned, with a NUL after it; "" of a stream of events */
    size_t len;
};

struct http_conn *http_open(const struct testserver *s);
/* c may be NULL. */
void http_close(struct http_conn *c);
void http_send(struct http_conn *c, const void *bytes, size_t len);
/* As it is. */
void http_say(struct http_conn *c, const char *text);
/* "POST /a", further headers (each with its CR LF; NULL = none), body (NULL = none). */
void http_ask(struct http_conn *c, const char *what, const char *headers, const char *body);
/* The next answer. A stream of events is left for http_event. The caller frees it. */
struct http_answer *http_next(struct http_conn *c);
/* Of HEAD: it has no body. */
struct http_answer *http_next_head(struct http_conn *c);
void http_free(struct http_answer *a);
/* The value of a header in lower case; NULL: it is not there. Good until the 16th next call. */
const char *http_header_of(const struct http_answer *a, const char *name);
/* The next piece of a stream of events. Good until the 16th next call. */
const char *http_event(struct http_conn *c);
bool http_is_readable(struct http_conn *c, int limit_ms);
/* The server closes, without another byte. */
void http_expect_end(struct http_conn *c);

/* Asks, and the answer must be as wanted. */
#define http_expect(c, status, wanted, what, headers, body)                                        \
    http_expect_at(__LINE__, (c), (status), (wanted), (what), (headers), (body))
void http_expect_at(int line, struct http_conn *c, int status, const char *wanted, const char *what,
                    const char *headers, const char *body);
/* The next answer must be as wanted. */
#define http_expect_next(c, status, wanted) http_expect_next_at(__LINE__, (c), (status), (wanted))
void http_expect_next_at(int line, struct http_conn *c, int status, const char *wanted);
/* The next piece of a stream of events must be as wanted. */
#define http_expect_event(c, wanted) http_expect_event_at(__LINE__, (c), (wanted))
void http_expect_event_at(int line, struct http_conn *c, const char *wanted);

#endif
