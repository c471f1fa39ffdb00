/* group: what the tests of one program share: one server for all of them, and connections to it that
 * each test finds fresh.
 *
 *   static redisContext *c, *d;
 *
 *   static int start(void **state)
 *   {
 *       group_opens(&c, &d, NULL);
 *       server = testserver_start_with("--databases", "4", NULL);
       return 0;
 *   }
 *   ...
 *       cmocka_unit_test_setup_teardown(name, group_enter, group_leave),
 *   ...
 *   return cmocka_run_group_tests(tests, start, group_stop);
 *
 * A program with a server for each test starts it in the test and has group_stop as its teardown.
 */
#ifndef REDIS_TESTS_GROUP_H
#define REDIS_TESTS_GROUP_H

#include <hiredis/hiredis.h>
#include <stdbool.h>

#include "server.h"

extern struct testserver *server; /* set by the program; NULL when there is none */

/* Where connections go that are opened and closed here, NULL-ended, at most 8. A test may close one
 * and put NULL or another in its place. */
void group_opens(redisContext **connection, ...) __attribute__((sentinel));
/* Likewise a socket, as raw_connect opens it. */
void group_opens_raw(int *fd);
/* Likewise one of HTTP/1.1, and one of HTTP/2. */
struct http_conn;
struct h2;
void group_opens_http(struct http_conn **c);
void group_opens_http2(struct h2 **c);
/* For cmocka: server = one that speaks HTTP too. */
int group_start_http(void **state);
/* Likewise one with four I/O threads that speaks TLS and HTTP too; no certificate is asked for. */
int group_start_threads(void **state);
/* A directory for files of the tests; group_stop removes it. */
const char *group_scratch(void);

/* Opens all of them; those that are open are closed before. */
void group_connect(void);
void group_disconnect(void);
/* Ends the server and starts it again on the same data; the connections are opened again. */
void group_again(bool is_killed);

/* For cmocka. Before a test: group_connect, and FLUSHALL on the first connection. */
int group_enter(void **state);
/* After a test: group_disconnect. */
int group_leave(void **state);
/* After all: group_disconnect, and the server ends. */
int group_stop(void **state);

#endif
