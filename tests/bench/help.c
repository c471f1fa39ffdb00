#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/help.h"

static void fail(const char *why)
{
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, why);
    exit(1);
}

int64_t bench_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

redisContext *bench_connect(const char *port)
{
    redisContext *c = redisConnect("127.0.0.1", (int)strtol(port, NULL, 10));
    if (c == NULL || c->err != 0) fail(c == NULL ? "out of memory for a connection" : c->errstr);
    return c;
}

redisReply *bench_take(redisContext *c)
{
    void *reply = NULL;
    if (redisGetReply(c, &reply) != REDIS_OK) fail(c->errstr);
    redisReply *r = reply;
    if (r->type == REDIS_REPLY_ERROR) fail(r->str);
    return r;
}

int bench_by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}
