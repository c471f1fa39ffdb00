/* real_redis: a Redis server of its own for a test that compares with it. It listens on a Unix socket
 * alone, keeps nothing, and ends with the test program, whatever becomes of that.
 */
#ifndef REDIS_TESTS_REAL_REDIS_H
#define REDIS_TESTS_REAL_REDIS_H

#include <hiredis/hiredis.h>

struct real_redis;

/* *to: a connection, which the caller frees. Where there is no redis-server it says so, and the
 * running test is skipped. */
struct real_redis *real_redis_start(redisContext **to);
/* Ends it and removes its directory. */
void real_redis_stop(struct real_redis *r);

#endif
