/* resp3: a connection that speaks RESP3, which the client library of these tests does not: replies
 * and pushes in the order in which they come, as text like that of client.h; maps, sets and pushes
 * are written as arrays are, and a push has > before it.
 */
#ifndef REDIS_TESTS_RESP3_H
#define REDIS_TESTS_RESP3_H

#include <stddef.h>

#include "server.h"

struct resp3;

/* Has said HELLO 3. */
struct resp3 *resp3_connect(const struct testserver *s);
void resp3_close(struct resp3 *x); /* may be NULL */
/* Sends a command, a hiredis format as in client.h, without waiting. */
void resp3_say(struct resp3 *x, const char *format, ...);
/* The text of what comes next; waits for a minute at most. Good until the next call for x. */
const char *resp3_next(struct resp3 *x);
/* Sends, and what comes next is returned. */
const char *resp3_ask(struct resp3 *x, const char *format, ...);
/* What comes next must be as wanted (client.h: * and @). */
#define resp3_expect_next(x, wanted) resp3_expect_next_at(__FILE__, __LINE__, (x), (wanted))
void resp3_expect_next_at(const char *file, int line, struct resp3 *x, const char *wanted);
#define resp3_expect(x, ...) resp3_expect_at(__FILE__, __LINE__, (x), __VA_ARGS__)
void resp3_expect_at(const char *file, int line, struct resp3 *x, const char *wanted,
                     const char *format, ...);

#endif
