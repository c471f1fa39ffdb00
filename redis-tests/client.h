/* client: what tests of commands say and hear.
 *
 * A command is a hiredis format (blanks separate arguments, %s %d %b insert) in which ' stands for
 * ", so that JSON is readable: "KV.SET ['users',1] {'a':1}". A reply is compared as text:
 *
 *   bulk string   its bytes             status   +OK
 *   nil           (nil)                 error    -ERR why
 *   integer       :3                    array    [a b c]
 *
 * with ' for " as well. In the wanted text * stands for anything, @ for a versionstamp, and ~100 for
 * the seconds that are left of 100: more than 0, and at most a minute less.
 */
#ifndef REDIS_TESTS_CLIENT_H
#define REDIS_TESTS_CLIENT_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>

#include "server.h"

/* Sends the command and fails the test unless the reply is as wanted. */
#define expect(c, ...) expect_at(__FILE__, __LINE__, (c), __VA_ARGS__)
void expect_at(const char *file, int line, redisContext *c, const char *wanted, const char *format,
               ...);
/* The reply's text. Borrowed: good until the 64th next call. */
const char *ask(redisContext *c, const char *format, ...);
/* The integer replied; fails the test for any other reply. */
long long ask_integer(redisContext *c, const char *format, ...);
/* The reply itself, which the caller frees. */
redisReply *ask_reply(redisContext *c, const char *format, ...);
/* Sends without waiting for the reply, which expect_next then reads. */
void say(redisContext *c, const char *format, ...);
#define expect_next(c, wanted) expect_next_at(__FILE__, __LINE__, (c), (wanted))
void expect_next_at(const char *file, int line, redisContext *c, const char *wanted);
/* Reads n replies, each of which must be as wanted. */
void expect_many(redisContext *c, size_t n, const char *wanted);

/* Does the text fit the pattern (* and @ as above)? */
bool text_fits(const char *text, const char *pattern);

/* ---- bytes ---- */

/* A socket connected to the server; close it with close(). */
int raw_connect(const struct testserver *s);
void raw_send(int fd, const char *bytes, size_t len);
/* raw_send of a string. */
void raw_say(int fd, const char *text);
/* The next bytes must be these (given as a string); waits for 10 s at most. */
#define raw_expect(fd, wanted) raw_expect_at(__FILE__, __LINE__, (fd), (wanted))
void raw_expect_at(const char *file, int line, int fd, const char *wanted);
/* The server must close the connection, without another byte, within 10 s. */
#define raw_expect_end(fd) raw_expect_end_at(__FILE__, __LINE__, (fd))
void raw_expect_end_at(const char *file, int line, int fd);
/* The next line, without CR LF. Borrowed as ask's reply. */
const char *raw_line(int fd);
/* raw_line, and for `$` and `=` the content that follows. */
const char *raw_bulk(int fd);

#endif
