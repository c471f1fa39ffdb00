/* help: what the benchmark programs share. Whatever goes wrong is printed and ends the program
 * with status 1.
 */
#ifndef TESTS_BENCH_HELP_H
#define TESTS_BENCH_HELP_H

#include <hiredis/hiredis.h>
#include <stdint.h>

/* Of a clock that only goes forward. */
int64_t bench_now_us(void);
/* To this port of this machine. */
redisContext *bench_connect(const char *port);
/* The next reply, which is no error; the caller frees it. */
redisReply *bench_take(redisContext *c);
/* For qsort of int64_t. */
int bench_by_value(const void *a, const void *b);

#endif
