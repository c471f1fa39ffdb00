/* http2: HTTP/2 from the other side, by nghttp2, for tests: requests side by side on a connection.
 * Every function fails the running test when it cannot do what it says, within a minute at most.
 * In bodies and wanted texts ' stands for ", and in wanted texts * for anything (client.h).
 */
#ifndef REDIS_TESTS_HTTP2_H
#define REDIS_TESTS_HTTP2_H

#include <stdint.h>

#include "server.h"

struct h2;

/* What came for one request. */
struct h2_answer {
    int status; /* 0 = nothing yet */
    char *body; /* owned by the connection, with a NUL after it */
    size_t len;
    bool is_over;  /* the stream is closed */
    uint32_t code; /* 0, or why it was reset */
};

struct h2 *h2_open(const struct testserver *s);
/* Likewise, with room for so many bytes of each answer until h2_take. */
struct h2 *h2_open_window(const struct testserver *s, uint32_t bytes);
/* c may be NULL. */
void h2_close(struct h2 *c);
int h2_fd(const struct h2 *c);
/* "POST /a", further headers as "name: value\n" (NULL = none), body (NULL = none). The number of
 * the stream, for the others. */
int32_t h2_ask(struct h2 *c, const char *what, const char *headers, const char *body);
/* A request whose body does not come. */
int32_t h2_ask_half(struct h2 *c, const char *what);
void h2_reset(struct h2 *c, int32_t id);
/* Sends and receives until nothing has come for so long. False: the server has closed. */
bool h2_turn(struct h2 *c, int wait_ms);
/* Does the server take something within wait_ms? */
bool h2_takes(const struct h2 *c, int wait_ms);
/* Bytes as they are. False: the server has closed. */
bool h2_send_raw(struct h2 *c, const void *bytes, size_t len);
bool h2_has_ended(const struct h2 *c);
/* The server has said GOAWAY with this code; *last: the last stream it has begun with. */
bool h2_was_sent_away(const struct h2 *c, uint32_t code, int32_t *last);
const struct h2_answer *h2_answer(struct h2 *c, int32_t id);
/* Waits until it is over. */
const struct h2_answer *h2_wait(struct h2 *c, int32_t id);
/* Waits until its body fits. */
void h2_wait_body(struct h2 *c, int32_t id, const char *wanted);
#define h2_expect(c, status, wanted, what, headers, body)                                          \
    h2_expect_at(__LINE__, (c), (status), (wanted), (what), (headers), (body))
void h2_expect_at(int line, struct h2 *c, int status, const char *wanted, const char *what,
                  const char *headers, const char *body);

#endif
