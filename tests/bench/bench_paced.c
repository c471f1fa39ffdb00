/* bench_paced: latency of a client that sends at a steady pace, and the longest silences of one
 * that writes as fast as it can.
 *
 *   bench_paced get port keys seconds rate      KV.GET of random keys; prints p50 p99 p99.9 max, us
 *   bench_paced put port keys seconds rate      the same with KV.SET
 *   bench_paced set port keys seconds window    KV.SET of random keys, pipelined by `window`;
 *                                               prints rate, the longest gap between replies, and a
 *                                               line for every 10 s
 *   bench_paced fill port keys window           KV.SET of keys 0..keys-1 once; prints the rate
 *
 * A paced request is measured from when it should have been sent, so that a stall is not hidden by
 * the requests that could not be sent meanwhile (coordinated omission).
 */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/random.h"
#include "bench/help.h"

static void send_set(redisContext *c, uint64_t key)
{
    char name[64];
    char value[160];
    snprintf(name, sizeof name, "[\"key\",\"%012llu\"]", (unsigned long long)key);
    snprintf(value, sizeof value,
             "{\"id\":%llu,\"name\":\"user 12345\",\"email\":\"user12345@example.com\","
             "\"age\":42,\"active\":true,\"score\":17.55}",
             (unsigned long long)(key % 100000));
    redisAppendCommand(c, "KV.SET %s %s", name, value);
}

static void send_get(redisContext *c, uint64_t key)
{
    char name[64];
    snprintf(name, sizeof name, "[\"key\",\"%012llu\"]", (unsigned long long)key);
    redisAppendCommand(c, "KV.GET %s", name);
}

typedef void send_one(redisContext *c, uint64_t key);

static void run_paced(redisContext *c, send_one *send, uint64_t keys, int64_t seconds, int64_t rate)
{
    size_t count = (size_t)(seconds * rate);
    int64_t *latency = mem_new(count * sizeof *latency);
    struct rng rng;
    rng_init(&rng, 42);
    int64_t begin = bench_now_us();
    for (size_t i = 0; i < count; i++) {
        int64_t due = begin + (int64_t)i * 1000000 / rate;
        while (bench_now_us() < due) {
            struct timespec nap = {.tv_nsec = 50000};
            if (due - bench_now_us() > 100) nanosleep(&nap, NULL);
        }
        send(c, rng_below(&rng, keys));
        freeReplyObject(bench_take(c));
        latency[i] = bench_now_us() - due;
    }
    qsort(latency, count, sizeof *latency, bench_by_value);
    printf("p50 %lld p99 %lld p99.9 %lld max %lld\n", (long long)latency[count / 2],
           (long long)latency[count * 99 / 100], (long long)latency[count * 999 / 1000],
           (long long)latency[count - 1]);
    mem_free(latency);
}

static void run_set(redisContext *c, uint64_t keys, int64_t seconds, uint64_t window)
{
    struct rng rng;
    rng_init(&rng, (uint64_t)bench_now_us());
    int64_t begin = bench_now_us();
    int64_t last = begin;
    int64_t gap_max = 0;
    int64_t mark = begin;
    uint64_t done = 0;
    uint64_t marked = 0;
    for (uint64_t i = 0; i < window; i++) send_set(c, rng_below(&rng, keys));
    while (last - begin < seconds * 1000000) {
        freeReplyObject(bench_take(c));
        int64_t now = bench_now_us();
        if (now - last > gap_max) gap_max = now - last;
        last = now;
        done++;
        send_set(c, rng_below(&rng, keys));
        if (now - mark >= 10000000) {
            printf("  %4lld s  %8.0f/s\n", (long long)(now - begin) / 1000000,
                   (double)(done - marked) * 1e6 / (double)(now - mark));
            fflush(stdout);
            mark = now;
            marked = done;
        }
    }
    for (uint64_t i = 0; i < window; i++) freeReplyObject(bench_take(c));
    printf("rate %.0f gap_max_us %lld\n", (double)done * 1e6 / (double)(last - begin),
           (long long)gap_max);
}

static void run_fill(redisContext *c, uint64_t keys, uint64_t window)
{
    int64_t begin = bench_now_us();
    uint64_t received = 0;
    for (uint64_t i = 0; i < keys; i++) {
        send_set(c, i);
        if (i - received < window) continue;
        freeReplyObject(bench_take(c));
        received++;
    }
    while (received++ < keys) freeReplyObject(bench_take(c));
    printf("rate %.0f\n", (double)keys * 1e6 / (double)(bench_now_us() - begin));
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: bench_paced get|put|set|fill port keys ...\n");
        return 2;
    }
    redisContext *c = redisConnect("127.0.0.1", (int)strtol(argv[2], NULL, 10));
    if (c == NULL || c->err != 0) {
        fprintf(stderr, "bench_paced: cannot connect\n");
        return 1;
    }
    uint64_t keys = strtoull(argv[3], NULL, 10);
    int64_t third = strtoll(argv[4], NULL, 10);
    int64_t fourth = argc > 5 ? strtoll(argv[5], NULL, 10) : 0;
    int64_t rate = fourth > 0 ? fourth : 1000;
    if (strcmp(argv[1], "get") == 0) run_paced(c, send_get, keys, third, rate);
    if (strcmp(argv[1], "put") == 0) run_paced(c, send_set, keys, third, rate);
    if (strcmp(argv[1], "set") == 0) run_set(c, keys, third, (uint64_t)(fourth > 0 ? fourth : 1));
    if (strcmp(argv[1], "fill") == 0) run_fill(c, keys, (uint64_t)third);
    redisFree(c);
    return 0;
}
