/* bench_watchers: many who watch one prefix, as streams of events by HTTP/1.1 or as subscribers by
 * RESP, and writes at a steady rate by RESP: how late do changes come, and are they told? Some
 * watchers are looked at closely, the others only read. Prints one line.
 *
 *   bench_watchers http|resp port resp-port watchers writes-per-second seconds
 */
#include <arpa/inet.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SAMPLED 20
#define LATE_MAX 4000000
#define KEYS 1000

struct run {
    int resp_port, rate, seconds;
    volatile bool is_over;
    double write_seconds;
    long written;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *write_all(void *arg)
{
    struct run *r = arg;
    redisContext *c = redisConnect("127.0.0.1", r->resp_port);
    double begin = now_s();
    if (c == NULL || c->err) exit(1);
    while (now_s() - begin < r->seconds) {
        long due = (long)((now_s() - begin) * r->rate);
        if (due <= r->written) {
            usleep(200);
            continue;
        }
        long batch = due - r->written;
        for (long i = 0; i < batch; i++) {
            redisAppendCommand(c, "KV.SET [\"w\",%ld] %.6f", (r->written + i) % KEYS, now_s());
        }
        for (long i = 0; i < batch; i++) {
            redisReply *reply = NULL;
            if (redisGetReply(c, (void **)&reply) != REDIS_OK) exit(1);
            freeReplyObject(reply);
        }
        r->written += batch;
    }
    r->write_seconds = now_s() - begin;
    redisFree(c);
    r->is_over = true;
    return NULL;
}

static const char ask_http[] = "GET /keyval/api/watch/prefix?prefix=w&initial=false HTTP/1.1\r\n"
                               "Host: 127.0.0.1\r\n\r\n";
static const char ask_resp[] = "SUBSCRIBE kv:prefix:w\r\n";

static int watch(const char *ask, int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0 ||
        write(fd, ask, strlen(ask)) != (ssize_t)strlen(ask)) {
        perror("watch");
        exit(1);
    }
    return fd;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double late[LATE_MAX];
static size_t late_count;

/* The value of each event is when it was written. Events cut in two by a read do not count. */
static void sample(char *text)
{
    double now = now_s();
    for (char *p = text; (p = strstr(p, "\"value\":")) != NULL;) {
        char *end;
        p += 8;
        double t = strtod(p, &end);
        if (*end == ',' && end > p && late_count < LATE_MAX) late[late_count++] = now - t;
    }
}

int main(int argc, char **argv)
{
    static char text[(256 << 10) + 1];
    if (argc != 7) return 2;
    const char *ask = strcmp(argv[1], "http") == 0 ? ask_http : ask_resp;
    int watchers = atoi(argv[4]);
    struct run r = {.resp_port = atoi(argv[3]), .rate = atoi(argv[5]), .seconds = atoi(argv[6])};
    int poll = epoll_create1(0);
    long long bytes = 0;
    for (int i = 0; i < watchers; i++) {
        int fd = watch(ask, atoi(argv[2]));
        struct epoll_event e = {.events = EPOLLIN, .data.u64 = (uint64_t)i << 32 | (uint32_t)fd};
        epoll_ctl(poll, EPOLL_CTL_ADD, fd, &e);
    }
    sleep(2);
    pthread_t writer;
    pthread_create(&writer, NULL, write_all, &r);
    for (int quiet = 0; !r.is_over || quiet < 5;) {
        struct epoll_event events[512];
        int n = epoll_wait(poll, events, 512, 200);
        quiet = n == 0 ? quiet + 1 : 0;
        for (int i = 0; i < n; i++) {
            ssize_t got = recv((int)(uint32_t)events[i].data.u64, text, sizeof text - 1,
                               MSG_DONTWAIT);
            if (got == 0) return fprintf(stderr, "a stream was closed\n"), 1;
            if (got <= 0) continue;
            bytes += got;
            text[got] = '\0';
            if (events[i].data.u64 >> 32 < SAMPLED) sample(text);
        }
    }
    pthread_join(writer, NULL);
    qsort(late, late_count, sizeof late[0], compare);
    if (late_count == 0) return 1;
    printf("%d watchers, %.0f writes/s of %d: %.0f MB/s to them; told to a watcher of %d sampled: "
           "%.0f %%, late by p50 %.1f ms, p99 %.1f ms, at most %.1f ms\n",
           watchers, (double)r.written / r.write_seconds, r.rate,
           (double)bytes / r.write_seconds / 1e6, SAMPLED,
           100.0 * (double)late_count / SAMPLED / (double)r.written, late[late_count / 2] * 1e3,
           late[late_count * 99 / 100] * 1e3, late[late_count - 1] * 1e3);
    return 0;
}
