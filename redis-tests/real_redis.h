/* real_redis: a Redis server of its own for a test that compares with it. It listens on a Unix socket
 * alone, keeps nothing, and ends with the test program, whatever becomes of that.
 */
#ifndef REDIS_TESTS_REAL_REDIS_H
#define REDIS_TESTS_REAL_REDIS_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>

struct real_redis;

/* *to: a connection, which the caller frees. Where there is no redis-server it says so, and the
 * running test is skipped. */
struct real_redis *real_redis_start(redisContext **to);
/* Ends it and removes its directory. */
void real_redis_stop(struct real_redis *r);
/* Runs the commands one after another on one of its own and on `c`; each reply must be the same, but
 * that an error of ours may go on where Redis's ends. %s is an empty word. What KEYS and SCAN answer
 * may have any order. */
void real_redis_compare(redisContext *c, const char *const *commands, size_t count);
/* Whether the texts of two replies to the command are the same. What is left of a time to live may
 * differ by up to a minute: the servers were asked one after the other. */
bool real_redis_is_same(const char *command, const char *ours, const char *redis);

#endif
