/* bench_clients: many clients at once, each with so many commands under way; the same for tupled
 * and for Redis, also where Redis is to wait for a replica.
 *
 *   bench_clients set port clients depth seconds    SET of random plain keys
 *   bench_clients wait port clients depth seconds   the same, with WAIT 1 0 after each `depth` of them
 *   bench_clients get port clients depth seconds    GET of the same keys
 *   bench_clients read port clients depth seconds   the same, after READONLY
 *
 * One line: operations (SET or GET) per second, then p50, p99, the longest time and p99.9 of a round
 * of `depth`, in us. A reply that is an error ends the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/random.h"
#include "bench/help.h"

#define KEYS 10000
#define VALUE_BYTES 100
#define COMMAND_BYTES 200
#define ROUNDS_MAX 4000000

struct bench_client {
    redisContext *c;
    char *out; /* owned */
    size_t len, sent;
    unsigned missing; /* replies of this round */
    int64_t begun_us;
};

static struct rng rng;
static int64_t *times; /* of rounds */
static size_t rounds;

static size_t add_command(char *out, int is_set)
{
    static char value[VALUE_BYTES + 1];
    if (value[0] == '\0') memset(value, 'x', VALUE_BYTES);
    unsigned key = (unsigned)rng_below(&rng, KEYS);
    if (!is_set) {
        return (size_t)sprintf(out, "*2\r\n$3\r\nGET\r\n$9\r\nkey:%05u\r\n", key);
    }
    return (size_t)sprintf(out, "*3\r\n$3\r\nSET\r\n$9\r\nkey:%05u\r\n$%d\r\n%s\r\n", key,
                           VALUE_BYTES, value);
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_clients: %s\n", what);
    exit(1);
}

static void send_more(struct bench_client *x)
{
    while (x->sent < x->len) {
        ssize_t n = write(x->c->fd, x->out + x->sent, x->len - x->sent);
        if (n < 0 && errno == EAGAIN) return; /* what is under way is small: it goes with a reply */
        if (n <= 0) fail("the connection has ended");
        x->sent += (size_t)n;
    }
}

static void begin_round(struct bench_client *x, unsigned depth, const char *kind)
{
    int is_set = strcmp(kind, "get") != 0 && strcmp(kind, "read") != 0;
    x->len = x->sent = 0;
    for (unsigned i = 0; i < depth; i++) x->len += add_command(x->out + x->len, is_set);
    x->missing = depth;
    if (strcmp(kind, "wait") == 0) {
        x->len += (size_t)sprintf(x->out + x->len, "*3\r\n$4\r\nWAIT\r\n$1\r\n1\r\n$1\r\n0\r\n");
        x->missing++;
    }
    x->begun_us = bench_now_us();
    send_more(x);
}

/* True when the round is over. */
static int take_replies(struct bench_client *x)
{
    char buffer[65536];
    void *reply = NULL;
    ssize_t n = read(x->c->fd, buffer, sizeof buffer);
    if (n < 0 && errno == EAGAIN) return 0;
    if (n <= 0) fail("the connection has ended");
    redisReaderFeed(x->c->reader, buffer, (size_t)n);
    while (redisReaderGetReply(x->c->reader, &reply) == REDIS_OK && reply != NULL) {
        const redisReply *r = reply;
        if (r->type == REDIS_REPLY_ERROR) fail(r->str);
        freeReplyObject(reply);
        x->missing--;
    }
    send_more(x);
    return x->missing == 0;
}

static void run(struct bench_client *all, int count, unsigned depth, const char *kind,
                int64_t seconds)
{
    struct epoll_event events[256];
    int poll = epoll_create1(EPOLL_CLOEXEC);
    int64_t begin = bench_now_us();
    int64_t end = begin + seconds * 1000000;
    for (int i = 0; i < count; i++) {
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = &all[i]};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, all[i].c->fd, &e) != 0) fail("epoll");
        begin_round(&all[i], depth, kind);
    }
    for (int64_t now = begin; now < end; now = bench_now_us()) {
        int n = epoll_wait(poll, events, 256, 1000);
        for (int i = 0; i < n; i++) {
            struct bench_client *x = events[i].data.ptr;
            if (!take_replies(x)) continue;
            if (rounds < ROUNDS_MAX) times[rounds++] = bench_now_us() - x->begun_us;
            begin_round(x, depth, kind);
        }
    }
    double took_s = (double)(bench_now_us() - begin) / 1e6;
    if (rounds == 0) fail("nothing was answered");
    qsort(times, rounds, sizeof *times, bench_by_value);
    printf("%.0f %lld %lld %lld %lld\n", (double)rounds * depth / took_s,
           (long long)times[rounds / 2], (long long)times[rounds * 99 / 100],
           (long long)times[rounds - 1], (long long)times[rounds * 999 / 1000]);
    close(poll);
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: bench_clients set|wait|get|read port clients depth seconds\n");
        return 2;
    }
    int count = (int)strtol(argv[3], NULL, 10);
    unsigned depth = (unsigned)strtoul(argv[4], NULL, 10);
    struct bench_client *all = mem_new((size_t)count * sizeof *all);
    times = mem_new(ROUNDS_MAX * sizeof *times);
    rng_init(&rng, 42);
    for (int i = 0; i < count; i++) {
        all[i].c = bench_connect(argv[2]);
        if (strcmp(argv[1], "read") == 0) freeReplyObject(redisCommand(all[i].c, "READONLY"));
        all[i].out = mem_alloc((depth + 1) * COMMAND_BYTES);
        fcntl(all[i].c->fd, F_SETFL, fcntl(all[i].c->fd, F_GETFL) | O_NONBLOCK);
    }
    run(all, count, depth, argv[1], strtoll(argv[5], NULL, 10));
    for (int i = 0; i < count; i++) {
        redisFree(all[i].c);
        mem_free(all[i].out);
    }
    mem_free(all);
    mem_free(times);
    return 0;
}
