/* pg_server: a PostgreSQL of a test's own, in a directory under /tmp, reached by a socket there. It
 * runs as another user when the test is root, which PostgreSQL refuses. Everything that may not
 * fail asserts.
 */
#ifndef TESTS_UNIT_BACKEND_POSTGRES_PG_SERVER_H
#define TESTS_UNIT_BACKEND_POSTGRES_PG_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pg_server {
    char dir[64];
    char url[160]; /* for libpq */
    int port;      /* 0 = 5432; of the next start */
    pid_t pid;     /* 0 = it does not run */
    pid_t standby; /* likewise */
};

/* Is PostgreSQL installed here? If not the test is skipped. */
bool pg_server_can(void);
void pg_server_init(struct pg_server *s);
/* Stops it and removes the directory. */
void pg_server_fini(struct pg_server *s);
void pg_server_start(struct pg_server *s);
/* What receives all that is committed, and tells the server so: for commits it is a standby
 * (pg_receivewal --synchronous), and it ends with the server. */
void pg_server_start_standby(struct pg_server *s);
void pg_server_stop_standby(struct pg_server *s);
/* synchronous_standby_names, loaded at once. */
void pg_server_set_standbys(const struct pg_server *s, const char *names);
/* At once, as a crash: SIGQUIT. */
void pg_server_kill(struct pg_server *s);
/* It does nothing, and goes on. */
void pg_server_pause(const struct pg_server *s);
void pg_server_resume(const struct pg_server *s);
/* One statement by hand, where $1, $2, ... are `numbers`: the first number of its result, or how many
 * rows it changed. */
int64_t pg_server_run(const struct pg_server *s, const char *sql, const int64_t *numbers,
                      size_t count);

/* That of a test program, for all its tests: cmocka's set-up and tear-down of the group. */
extern struct pg_server pg_shared;
int pg_shared_start(void **state);
int pg_shared_stop(void **state);
/* As pg_server_run, where $1 is `number`. */
int64_t pg_shared_run(const char *sql, int64_t number);

#endif
