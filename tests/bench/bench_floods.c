/* bench_floods: what other clients notice of one that floods the server's HTTP port.
 *
 *   bench_floods port http-port [seconds] [rounds]
 *
 * KV.GET at 1,000/s on one connection, first alone, then beside each flood; a row of Markdown for
 * each: medians over the rounds of p50 and p99 in us, alone and beside it, and the ratio of the
 * p99s. A request is measured from when it should have been sent (coordinated omission). The flood
 * is a process of its own, which sends as fast as the server takes it, reads no answer, and
 * connects again when it is cut.
 */
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "bench/help.h"

#define RATE 1000
#define ROUNDS_MAX 21
#define CHUNK_BYTES 65536
#define SLOW_CLIENTS 200

/* ---- the floods ---- */

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";

static size_t put_frame(uint8_t *to, size_t len, uint8_t type, uint8_t flags, uint32_t stream)
{
    const uint8_t head[9] = {(uint8_t)(len >> 16),
                             (uint8_t)(len >> 8),
                             (uint8_t)len,
                             type,
                             flags,
                             (uint8_t)(stream >> 24),
                             (uint8_t)(stream >> 16),
                             (uint8_t)(stream >> 8),
                             (uint8_t)stream};
    memcpy(to, head, sizeof head);
    memset(to + sizeof head, 0, len);
    return sizeof head + len;
}

/* GET /ping of localhost, by HPACK. */
static size_t put_request(uint8_t *to, uint32_t stream, uint8_t flags)
{
    static const uint8_t head[] = {0x82, 0x86, 0x04, 5,   '/', 'p', 'i', 'n', 'g', 0x01,
                                   9,    'l',  'o',  'c', 'a', 'l', 'h', 'o', 's', 't'};
    size_t n = put_frame(to, sizeof head, 1, flags, stream);
    memcpy(to + 9, head, sizeof head);
    return n;
}

/* The next frames of a connection's flood; `at` counts calls of this connection. */
static size_t put_pings(uint8_t *to, uint32_t at)
{
    (void)at;
    return put_frame(to, 8, 6, 0, 0);
}

static size_t put_settings(uint8_t *to, uint32_t at)
{
    (void)at;
    size_t n = put_frame(to, 6, 4, 0, 0);
    to[10] = 3; /* MAX_CONCURRENT_STREAMS */
    to[14] = 100;
    return n;
}

static size_t put_windows(uint8_t *to, uint32_t at)
{
    (void)at;
    size_t n = put_frame(to, 4, 8, 0, 0);
    to[12] = 1;
    return n;
}

static size_t put_resets(uint8_t *to, uint32_t at)
{
    size_t n = put_request(to, 2 * at + 1, 5);
    size_t more = put_frame(to + n, 4, 3, 0, 2 * at + 1);
    to[n + 12] = 8; /* CANCEL */
    return n + more;
}

static size_t put_continuations(uint8_t *to, uint32_t at)
{
    return at == 0 ? put_request(to, 1, 1) : put_frame(to, 0, 9, 0, 1);
}

/* Requests that are answered, by somebody who never reads. */
static size_t put_gets(uint8_t *to, uint32_t at)
{
    (void)at;
    static const char text[] = "GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n";
    memcpy(to, text, sizeof text - 1);
    return sizeof text - 1;
}

static size_t put_nonsense(uint8_t *to, uint32_t at)
{
    for (int i = 0; i < 100; i++) to[i] = (uint8_t)(at * 31 + (uint32_t)i * 7 + 128);
    return 100;
}

struct flood {
    const char *name;
    bool is_http2;
    size_t (*put)(uint8_t *to, uint32_t at); /* NULL = many that are slow */
};

static const struct flood floods[] = {
    {"HTTP/2 PING", true, put_pings},
    {"HTTP/2 SETTINGS", true, put_settings},
    {"HTTP/2 WINDOW_UPDATE", true, put_windows},
    {"HTTP/2 requests, reset at once", true, put_resets},
    {"HTTP/2 CONTINUATION", true, put_continuations},
    {"HTTP/1.1 requests, answers not read", false, put_gets},
    {"bytes that are no HTTP", false, put_nonsense},
    {"200 slow requests, a byte each 10 ms", false, NULL},
};

static int open_http(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

static void nap(long ms)
{
    struct timespec t = {.tv_nsec = ms * 1000000};
    nanosleep(&t, NULL);
}

static void flood_one(const struct flood *f, int port)
{
    static uint8_t chunk[CHUNK_BYTES];
    uint32_t at = 0;
    int fd = open_http(port);
    if (fd < 0) {
        nap(10);
        return;
    }
    bool is_open = !f->is_http2 || send(fd, preface, sizeof preface - 1, MSG_NOSIGNAL) > 0;
    while (is_open) {
        size_t len = 0;
        while (len + 200 < sizeof chunk) len += f->put(chunk + len, at++);
        is_open = send(fd, chunk, len, MSG_NOSIGNAL) == (ssize_t)len;
    }
    close(fd);
}

static void flood_slow(int port)
{
    static const char text[] = "GET /ping HTTP/1.1\r\nHost: localhost\r\nX-Long: ";
    static int fds[SLOW_CLIENTS];
    for (size_t i = 0; i < SLOW_CLIENTS; i++) fds[i] = -1;
    for (size_t at = 0;; at++) {
        for (size_t i = 0; i < SLOW_CLIENTS; i++) {
            const char *byte = at < sizeof text - 1 ? text + at : "x";
            if (fds[i] >= 0 && send(fds[i], byte, 1, MSG_NOSIGNAL) == 1) continue;
            if (fds[i] >= 0) close(fds[i]);
            fds[i] = open_http(port);
        }
        nap(10);
    }
}

static pid_t flood_start(const struct flood *f, int port)
{
    pid_t pid = fork();
    if (pid != 0) return pid;
    if (f->put == NULL) flood_slow(port);
    for (;;) flood_one(f, port);
}

/* ---- who is measured ---- */

struct figures {
    int64_t p50, p99;
};

static struct figures measure(redisContext *c, int seconds)
{
    size_t count = (size_t)seconds * RATE;
    int64_t *latency = mem_new(count * sizeof *latency);
    int64_t begin = bench_now_us();
    for (size_t i = 0; i < count; i++) {
        int64_t due = begin + (int64_t)i * 1000000 / RATE;
        while (bench_now_us() < due) {
            struct timespec t = {.tv_nsec = 50000};
            if (due - bench_now_us() > 100) nanosleep(&t, NULL);
        }
        redisAppendCommand(c, "KV.GET [\"key\"]");
        freeReplyObject(bench_take(c));
        latency[i] = bench_now_us() - due;
    }
    qsort(latency, count, sizeof *latency, bench_by_value);
    struct figures f = {.p50 = latency[count / 2], .p99 = latency[count * 99 / 100]};
    mem_free(latency);
    return f;
}

static int64_t median(int64_t *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, bench_by_value);
    return values[count / 2];
}

static void run(redisContext *c, const struct flood *f, int port, int seconds, int rounds)
{
    int64_t alone[2][ROUNDS_MAX];
    int64_t beside[2][ROUNDS_MAX];
    for (int i = 0; i < rounds; i++) {
        struct figures a = measure(c, seconds);
        pid_t pid = flood_start(f, port);
        nap(100);
        struct figures b = measure(c, seconds);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        nap(300);
        alone[0][i] = a.p50;
        alone[1][i] = a.p99;
        beside[0][i] = b.p50;
        beside[1][i] = b.p99;
    }
    int64_t p50[2] = {median(alone[0], rounds), median(beside[0], rounds)};
    int64_t p99[2] = {median(alone[1], rounds), median(beside[1], rounds)};
    printf("| %s | %lld | %lld | %lld | %lld | %.2f |\n", f->name, (long long)p50[0],
           (long long)p50[1], (long long)p99[0], (long long)p99[1],
           (double)p99[1] / (double)p99[0]);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "bench_floods port http-port [seconds] [rounds]\n");
        return 2;
    }
    int seconds = argc > 3 ? atoi(argv[3]) : 3;
    int rounds = argc > 4 ? atoi(argv[4]) : 5;
    if (rounds > ROUNDS_MAX) rounds = ROUNDS_MAX;
    redisContext *c = bench_connect(argv[1]);
    redisAppendCommand(c, "KV.SET [\"key\"] 1");
    freeReplyObject(bench_take(c));
    printf("| flood | p50 alone | p50 beside | p99 alone | p99 beside | p99 ratio |\n"
           "| --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < sizeof floods / sizeof floods[0]; i++) {
        run(c, &floods[i], atoi(argv[2]), seconds, rounds);
    }
    redisFree(c);
    return 0;
}
