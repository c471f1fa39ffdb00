/* bench_embedded: libtupled's calls, for tests/bench/run.sh, beside the server with as many clients.
 *
 *   bench_embedded set <dir> <threads> <seconds>          durable sets, threads that wait for each
 *   bench_embedded set-async <dir> <in flight> <seconds>  the same, with callbacks
 *   bench_embedded get <dir> <threads> <seconds>          reads of 100,000 keys that are in memory
 *   bench_embedded get-driven <dir> <in flight> <seconds> the same, with callbacks, in the caller's loop
 *
 * Prints operations in a second.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tupled_db.h"

#define KEYS 100000
#define THREADS_MAX 256
#define FILL_IN_FLIGHT 1000

static const char value[] =
    "{\"id\":12345,\"name\":\"user 12345\",\"email\":\"user12345@example.com\",\"age\":42,"
    "\"active\":true,\"score\":17.55}";

struct bench {
    struct tupled_db *db;
    double until_s;
    bool is_get;
    atomic_ulong done;
    unsigned in_flight; /* of the thread that makes callbacks */
    unsigned left;      /* to be filled */
    unsigned seed;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void must(int outcome, const struct tupled_error *e)
{
    if (outcome > 0) return;
    fprintf(stderr, "bench_embedded: %s %s\n", e->code, e->text);
    exit(1);
}

static struct tupled_bytes key_of(char text[32], unsigned number)
{
    int n = snprintf(text, 32, "[\"key\",\"%012u\"]", number);
    return (struct tupled_bytes){text, (size_t)n};
}

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (unsigned)(((uint64_t)*seed * KEYS) >> 32);
}

static const struct tupled_bytes object = {value, sizeof value - 1};

/* ---- threads that wait ---- */

struct worker {
    struct bench *b;
    pthread_t thread;
    unsigned seed;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    struct tupled_error e = {{0}, {0}};
    char text[32];
    unsigned long done = 0;
    while (done % 64 != 0 || now_s() < w->b->until_s) {
        struct tupled_bytes key = key_of(text, next(&w->seed));
        if (w->b->is_get) {
            struct tupled_entry *entry = NULL;
            must(tupled_get(w->b->db, key, &entry, &e), &e);
            tupled_free(entry);
        } else {
            must(tupled_set(w->b->db, key, object, NULL, NULL, &e), &e);
        }
        done++;
    }
    atomic_fetch_add(&w->b->done, done);
    return NULL;
}

static void run_threads(struct bench *b, unsigned count)
{
    static struct worker workers[THREADS_MAX];
    for (unsigned i = 0; i < count; i++) {
        workers[i] = (struct worker){.b = b, .seed = i * 7919 + 1};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) exit(1);
    }
    for (unsigned i = 0; i < count; i++) pthread_join(workers[i].thread, NULL);
}

/* ---- with callbacks: each one starts the next call ---- */

static void start(struct bench *b);

static void on_stamp(void *arg, int outcome, const char *stamp, const struct tupled_error *e)
{
    struct bench *b = arg;
    (void)stamp;
    must(outcome, e);
    b->in_flight--;
    unsigned long done = atomic_fetch_add(&b->done, 1);
    if (done % 64 != 0 || now_s() < b->until_s) start(b);
}

static void on_entry(void *arg, int outcome, struct tupled_entry *entry,
                     const struct tupled_error *e)
{
    struct bench *b = arg;
    must(outcome, e);
    tupled_free(entry);
    b->in_flight--;
    unsigned long done = atomic_fetch_add(&b->done, 1);
    if (done % 64 != 0 || now_s() < b->until_s) start(b);
}

static void start(struct bench *b)
{
    char text[32];
    struct tupled_bytes key = key_of(text, next(&b->seed));
    b->in_flight++;
    int outcome = b->is_get ? tupled_get_async(b->db, key, on_entry, b)
                            : tupled_set_async(b->db, key, object, NULL, on_stamp, b);
    if (outcome < 0) exit(1);
}

static void drive(struct bench *b)
{
    struct tupled_error e;
    while (b->in_flight > 0) {
        int outcome = tupled_turn(b->db, &e);
        if (outcome < 0) must(outcome, &e);
        struct pollfd p = {.fd = tupled_fd(b->db), .events = POLLIN};
        if (outcome == TUPLED_NO && b->in_flight > 0) (void)poll(&p, 1, 1000);
    }
}

/* ---- the keys to be read ---- */

static void on_filled(void *arg, int outcome, const char *stamp, const struct tupled_error *e)
{
    struct bench *b = arg;
    char text[32];
    (void)stamp;
    must(outcome, e);
    b->in_flight--;
    if (b->left == 0) return;
    b->left--;
    b->in_flight++;
    if (tupled_set_async(b->db, key_of(text, b->left), object, NULL, on_filled, b) < 0) exit(1);
}

static void fill(const char *dir)
{
    struct tupled_options o;
    struct tupled_error e;
    struct bench b = {.left = KEYS};
    char text[32];
    tupled_options_init(&o);
    o.is_driven = 1;
    must(tupled_open(dir, &o, &b.db, &e), &e);
    for (; b.in_flight < FILL_IN_FLIGHT; b.in_flight++) {
        b.left--;
        if (tupled_set_async(b.db, key_of(text, b.left), object, NULL, on_filled, &b) < 0) exit(1);
    }
    drive(&b);
    must(tupled_close(b.db, &e), &e);
}

/* All of them are in memory. */
static void warm(struct bench *b)
{
    char text[32];
    struct tupled_error e;
    for (unsigned i = 0; i < KEYS; i++) {
        struct tupled_entry *entry = NULL;
        must(tupled_get(b->db, key_of(text, i), &entry, &e), &e);
        tupled_free(entry);
    }
}

int main(int argc, char **argv)
{
    struct tupled_options o;
    struct tupled_error e;
    if (argc != 5) return fprintf(stderr, "usage: see tests/bench/bench_embedded.c\n"), 1;
    unsigned count = (unsigned)strtoul(argv[3], NULL, 10);
    double seconds = strtod(argv[4], NULL);
    bool is_async = strcmp(argv[1], "set-async") == 0 || strcmp(argv[1], "get-driven") == 0;
    struct bench b = {.is_get = strncmp(argv[1], "get", 3) == 0, .seed = 1};
    if (count == 0 || count > THREADS_MAX) return 1;
    if (b.is_get) fill(argv[2]);
    tupled_options_init(&o);
    o.is_driven = is_async;
    must(tupled_open(argv[2], &o, &b.db, &e), &e);
    if (b.is_get) warm(&b);
    double begin_s = now_s();
    b.until_s = begin_s + seconds;
    if (is_async) {
        for (unsigned i = 0; i < count; i++) start(&b);
        drive(&b);
    } else {
        run_threads(&b, count);
    }
    printf("%.0f\n", (double)atomic_load(&b.done) / (now_s() - begin_s));
    must(tupled_close(b.db, &e), &e);
    return 0;
}
