/* server: a real server process for a test: starts it, finds its port, stops it or kills it, and
 * makes the test fail when it does not end as it should.
 *
 * A server is the ASan build (TUPLED_ASAN_BIN) unless the release build (TUPLED_BIN) is asked for.
 * It listens on a free port of 127.0.0.1 (TUPLED_TEST_ANY_PORT=1 in its environment makes port 0
 * that) and has a scratch directory of its own with its log, what it prints, and, unless a
 * directory is given, its data. Every function fails the running cmocka test when it cannot do what
 * it says, and shows what the server logged and printed. Whatever still runs when the test program
 * ends is killed, by its process id. A test also fails when a turn of the server's loop took more
 * processor time than turn_ms_max (TUPLED_TEST_TURN_MS in its environment). For one thread.
 */
#ifndef REDIS_TESTS_SERVER_H
#define REDIS_TESTS_SERVER_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct testserver;

/* All of it may be zero. */
struct testserver_options {
    bool is_release;         /* the release build; default: the ASan build */
    long turn_ms_max;        /* of processor time for a turn of the loop; 0 = 250, ASan 5 times */
    bool has_tls;            /* listens for TLS too, on a free port; its files are among args */
    bool is_tls_only;        /* ... and for nothing else */
    bool has_http;           /* listens for HTTP too, on a free port */
    const char *dir;         /* data directory, kept by testserver_free; NULL = one of its own */
    const char *config;      /* configuration file; NULL = none */
    const char *const *args; /* NULL-ended: further arguments, after --dir, --port and --logfile */
    const char *const *env;  /* NULL-ended: "NAME=value", added to the environment */
};

/* Starts a server and waits until it accepts connections. o may be NULL. The options are copied. */
struct testserver *testserver_start(const struct testserver_options *o);
/* As testserver_start with these further arguments: testserver_start_with("--databases", "2",
 * NULL). */
struct testserver *testserver_start_with(const char *arg, ...) __attribute__((sentinel));
/* Starts a server that must refuse to start: it must end with status 1 and have printed or logged
 * `text`. */
void testserver_refuses(const struct testserver_options *o, const char *text);

/* SIGTERM; it must end within 20 s with status 0 and without a sanitizer's report. */
void testserver_stop(struct testserver *s);
/* SIGKILL, and wait for its end. */
void testserver_kill(struct testserver *s);
/* It must end by itself, within 20 s, with this status; the caller has given it reason to. */
void testserver_ends(struct testserver *s, int status);
/* Start it again with the same options on the same data (another port); it must not run. */
void testserver_again(struct testserver *s);
/* As testserver_again, but it may refuse: then false, and it has ended with status 1 and printed or
 * logged `text`. */
bool testserver_try_again(struct testserver *s, const char *text);
/* testserver_stop if it runs, and remove its scratch directory. s may be NULL. */
void testserver_free(struct testserver *s);

/* Are turns of the loop measured on a machine that has nothing else to do? */
bool testserver_is_strict(void);
/* The bound of a turn: of so much there, else of several times as much. */
long long testserver_turn_usec(long long usec);

bool testserver_is_running(const struct testserver *s);
/* 0 when it listens on a Unix socket or for TLS alone. */
int testserver_port(const struct testserver *s);
/* 0 when it has none. */
int testserver_tls_port(const struct testserver *s);
/* Likewise. */
int testserver_http_port(const struct testserver *s);
pid_t testserver_pid(const struct testserver *s);
const char *testserver_dir(const struct testserver *s);
/* Has it logged this text since its (last) start? */
bool testserver_has_logged(const struct testserver *s, const char *text);

/* A connection; no call on it takes longer than 20 s. The caller frees it with redisFree. */
redisContext *testserver_connect(const struct testserver *s);

/* Monotonic milliseconds, for bounded polls. */
long testserver_now_ms(void);
/* Lets a poll wait for a millisecond. */
void testserver_pause(void);

#endif
