/* archive_help: a server with an archive, and `tupledctl restore`, for tests. For one thread. */
#ifndef REDIS_TESTS_ARCHIVE_HELP_H
#define REDIS_TESTS_ARCHIVE_HELP_H

#include <stdbool.h>

#include "client.h"
#include "server.h"

/* A scratch directory: <root>/data, <root>/archive, <root>/<whatever is restored>. */
extern char archive_root[300];

/* For cmocka: makes the directory; removes it with all that is in it. */
int archive_enter(void **state);
int archive_leave(void **state);

/* "<root>/<name>". Borrowed: good until the 16th next call. */
const char *archive_at(const char *name);
/* A server on <root>/<data> with <root>/archive, which has each commit after a second. Further
 * arguments as of testserver_start_with. */
struct testserver *archive_server(const char *data, ...) __attribute__((sentinel));
/* A server on what was restored; without an archive. */
struct testserver *archive_open(const char *data);
/* Waits until the archive has all that was committed. */
void archive_settle(redisContext *c);
/* A member of KV.ARCHIVE INFO as text. Borrowed as ask's reply. */
const char *archive_info(redisContext *c, const char *member);

/* Runs tupledctl restore --from <root>/archive --to <root>/<to> with these words: its exit status;
 * archive_said is what it printed. */
int archive_restore(const char *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
extern char archive_said[4096];
/* The value after a name in what it printed. Borrowed likewise. */
const char *archive_said_of(const char *name);

/* The nth (from 0) file of the archive with this ending, by name: its path; NULL = there is none. */
const char *archive_file(const char *ending, size_t n);
/* Changes one byte of a file. */
void archive_flip(const char *path, long offset);
bool archive_has_bytes(const char *path, const char *text);

#endif
