/* bench_floods: what other clients notice of one that floods the server's HTTP port.
 *
 *   bench_floods port http-port other-http-port [seconds] [rounds] [flood]
 *
 * KV.GET at 1,000/s on one connection, then KV.SET at 200/s of which each waits for the disk: alone,
 * beside the flood of another server on this machine (other-http-port: what the machine does by
 * itself), and beside the flood of the server itself. A row of Markdown for each flood: medians
 * over the rounds, in us, and the ratios of the p99s. A request is measured from when it should
 * have been sent (coordinated omission). The flood is a process of its own, which sends as fast as
 * it can, reads no answer, and connects again when it is cut. `flood`: only those with this in
 * their name.
 */
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <sched.h>
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

#define READ_RATE 1000
#define WRITE_RATE 200
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

/* Requests that are answered, from a client that never reads. */
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

/* Who is measured has the first processor for itself, but for the server: otherwise the scheduler
 * now and then lets it wait for a burst of the flood. */
static void choose_processors(bool is_flood)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;
    CPU_ZERO(&set);
    if (!is_flood || count == 1) CPU_SET(0, &set);
    for (long i = 1; is_flood && i < count; i++) CPU_SET((size_t)i, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) perror("bench_floods: processors");
}

static pid_t flood_start(const struct flood *f, int port)
{
    pid_t pid = fork();
    if (pid != 0) return pid;
    choose_processors(true);
    if (f->put == NULL) flood_slow(port);
    for (;;) flood_one(f, port);
}

/* ---- who is measured ---- */

struct figures {
    int64_t p50, p99;
};

static struct figures measure(redisContext *c, const char *command, int rate, int seconds)
{
    size_t count = (size_t)(seconds * rate);
    int64_t *latency = mem_new(count * sizeof *latency);
    int64_t begin = bench_now_us();
    for (size_t i = 0; i < count; i++) {
        int64_t due = begin + (int64_t)i * 1000000 / rate;
        while (bench_now_us() < due) {
            struct timespec t = {.tv_nsec = 50000};
            if (due - bench_now_us() > 100) nanosleep(&t, NULL);
        }
        redisAppendCommand(c, command);
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

enum { READ, READ_OTHER, READ_BESIDE, WRITE, WRITE_OTHER, WRITE_BESIDE, COLUMNS };

/* Both at `columns`: reads, and three further on writes. */
static void measure_both(redisContext *c, int seconds, struct figures *columns)
{
    columns[0] = measure(c, "KV.GET [\"key\"]", READ_RATE, seconds);
    columns[WRITE] = measure(c, "KV.SET [\"key\"] 1", WRITE_RATE, seconds);
}

static void measure_beside(redisContext *c, const struct flood *f, int port, int seconds,
                           struct figures *columns)
{
    pid_t pid = flood_start(f, port);
    nap(100);
    measure_both(c, seconds, columns);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    nap(300);
}

static double ratio(int64_t a, int64_t b)
{
    return (double)a / (double)(b > 0 ? b : 1);
}

static void run(redisContext *c, const struct flood *f, const int *ports, int seconds, int rounds)
{
    struct figures figures[ROUNDS_MAX][COLUMNS];
    int64_t p99[COLUMNS];
    for (int i = 0; i < rounds; i++) {
        measure_both(c, seconds, figures[i]);
        measure_beside(c, f, ports[1], seconds, figures[i] + READ_OTHER);
        measure_beside(c, f, ports[0], seconds, figures[i] + READ_BESIDE);
    }
    printf("| %s", f->name);
    for (size_t k = 0; k < COLUMNS; k++) {
        int64_t p50s[ROUNDS_MAX];
        int64_t p99s[ROUNDS_MAX];
        for (int i = 0; i < rounds; i++) {
            p50s[i] = figures[i][k].p50;
            p99s[i] = figures[i][k].p99;
        }
        p99[k] = median(p99s, rounds);
        printf(" | %lld, %lld", (long long)median(p50s, rounds), (long long)p99[k]);
    }
    printf(" | %.2f | %.2f |\n", ratio(p99[READ_BESIDE], p99[READ_OTHER]),
           ratio(p99[WRITE_BESIDE], p99[WRITE_OTHER]));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "bench_floods port http-port other-http-port [seconds] [rounds] [flood]\n");
        return 2;
    }
    const int ports[2] = {atoi(argv[2]), atoi(argv[3])};
    int seconds = argc > 4 ? atoi(argv[4]) : 3;
    int rounds = argc > 5 ? atoi(argv[5]) : 5;
    if (rounds > ROUNDS_MAX) rounds = ROUNDS_MAX;
    choose_processors(false);
    redisContext *c = bench_connect(argv[1]);
    redisAppendCommand(c, "KV.SET [\"key\"] 1");
    freeReplyObject(bench_take(c));
    printf("| flood | GET: alone | beside it elsewhere | beside it | SET: alone | beside it "
           "elsewhere | beside it | GET, p99 ratio | SET, p99 ratio |\n"
           "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < sizeof floods / sizeof floods[0]; i++) {
        if (argc > 6 && strstr(floods[i].name, argv[6]) == NULL) continue;
        run(c, &floods[i], ports, seconds, rounds);
    }
    redisFree(c);
    return 0;
}
