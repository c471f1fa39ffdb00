/* bench_queue: how long from a write to who waits for it, and how many jobs a second go through.
 *
 *   bench_queue latency port what count     prints p50 and p99 in us; one at a time, 1000 a second:
 *       watch     KV.SET, to the message of a SUBSCRIBE kv:watch:
 *       publish   PUBLISH, to the message of a SUBSCRIBE
 *       push      KV.ENQUEUE, to the message of a SUBSCRIBE kv:queue:
 *       dequeue   KV.ENQUEUE, to the reply of a KV.DEQUEUE that waited
 *       stream    XADD, to the reply of an XREAD BLOCK that waited
 *   bench_queue cycle port what clients seconds     prints jobs a second; every client in turn
 *                                                   adds, takes and acknowledges one, on one queue:
 *       kv        KV.ENQUEUE, KV.DEQUEUE, KV.ACK
 *       stream    XADD, XREADGROUP, XACK
 */
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "bench/help.h"

#define CLIENTS_MAX 200
#define PACE_US 1000

static void flush(redisContext *c)
{
    int done = 0;
    while (done == 0) {
        if (redisBufferWrite(c, &done) != REDIS_OK) exit(1);
    }
}

static void ask(redisContext *c, const char *command)
{
    redisAppendCommand(c, command);
    freeReplyObject(bench_take(c));
}

/* ---- latency --------------------------------------------------------------------------------- */

struct way {
    const char *name;
    const char *prepare; /* of who waits, once */
    unsigned prepared;   /* replies and messages it brings */
    const char *wait;    /* before each; NULL = nothing */
    const char *send;
};

static const struct way ways[] = {
    {"watch", "SUBSCRIBE kv:watch:[\"b\"]", 2, NULL, "KV.SET [\"b\"] 1"},
    {"publish", "SUBSCRIBE b", 1, NULL, "PUBLISH b 1"},
    {"push", "SUBSCRIBE kv:queue:b", 1, NULL, "KV.ENQUEUE b 1"},
    {"dequeue", "PING", 1, "KV.DEQUEUE b BLOCK 0", "KV.ENQUEUE b 1"},
    {"stream", "PING", 1, "XREAD BLOCK 0 STREAMS b $", "XADD b * v 1"},
};

/* The receipt of what was delivered, for ACK; NULL when there is none. Borrowed from r. */
static const char *receipt_of(const struct way *way, const redisReply *r, char *text, size_t size)
{
    if (strcmp(way->name, "dequeue") == 0) return r->element[0]->element[4]->str;
    if (strcmp(way->name, "push") != 0) return NULL;
    const char *from = strstr(r->element[2]->str, "\"receipt\":\"");
    if (from == NULL) return NULL;
    snprintf(text, size, "%s", from + 11);
    text[strcspn(text, "\"")] = '\0';
    return text;
}

static int latency(const char *port, const char *name, size_t count)
{
    const struct way *way = NULL;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (strcmp(ways[i].name, name) == 0) way = &ways[i];
    }
    if (way == NULL) return 2;
    redisContext *waiting = bench_connect(port);
    redisContext *sending = bench_connect(port);
    int64_t *took_us = mem_alloc(count * sizeof *took_us);
    redisAppendCommand(waiting, way->prepare);
    for (unsigned i = 0; i < way->prepared; i++) freeReplyObject(bench_take(waiting));
    for (size_t i = 0; i < count; i++) {
        char text[200];
        struct timespec pause = {.tv_nsec = PACE_US * 1000};
        if (way->wait != NULL) {
            redisAppendCommand(waiting, way->wait);
            flush(waiting);
        }
        nanosleep(&pause, NULL);
        int64_t from_us = bench_now_us();
        redisAppendCommand(sending, way->send);
        flush(sending);
        redisReply *r = bench_take(waiting);
        took_us[i] = bench_now_us() - from_us;
        const char *receipt = receipt_of(way, r, text, sizeof text);
        freeReplyObject(bench_take(sending));
        if (receipt != NULL) {
            redisAppendCommand(sending, "KV.ACK %s", receipt);
            freeReplyObject(bench_take(sending));
        }
        freeReplyObject(r);
    }
    qsort(took_us, count, sizeof *took_us, bench_by_value);
    printf("%lld %lld\n", (long long)took_us[count / 2], (long long)took_us[count * 99 / 100]);
    mem_free(took_us);
    redisFree(waiting);
    redisFree(sending);
    return 0;
}

/* ---- cycles ---------------------------------------------------------------------------------- */

enum step { ADD, TAKE, ACKNOWLEDGE };

struct client {
    redisContext *c;
    enum step step;
};

static bool is_stream;
static uint64_t cycles;

static void say(struct client *k, const char *id)
{
    static const char value[] =
        "{\"job\":12345,\"kind\":\"mail\",\"to\":\"user12345@example.com\"}";
    if (k->step == ADD && is_stream) redisAppendCommand(k->c, "XADD s * v %s", value);
    if (k->step == ADD && !is_stream) redisAppendCommand(k->c, "KV.ENQUEUE q %s", value);
    if (k->step == TAKE && is_stream) {
        redisAppendCommand(k->c, "XREADGROUP GROUP g c COUNT 1 STREAMS s >");
    }
    if (k->step == TAKE && !is_stream) redisAppendCommand(k->c, "KV.DEQUEUE q");
    if (k->step == ACKNOWLEDGE && is_stream) redisAppendCommand(k->c, "XACK s g %s", id);
    if (k->step == ACKNOWLEDGE && !is_stream) redisAppendCommand(k->c, "KV.ACK %s", id);
    flush(k->c);
}

/* What was replied decides what is said next. */
static void go_on(struct client *k, const redisReply *r)
{
    const char *id = NULL;
    if (r->type == REDIS_REPLY_ERROR) {
        fprintf(stderr, "bench_queue: %s\n", r->str);
        exit(1);
    }
    switch (k->step) {
    case ADD: k->step = TAKE; break;
    case TAKE:
        if (r->type != REDIS_REPLY_ARRAY || r->elements == 0) { /* another client has it */
            k->step = ADD;
            break;
        }
        k->step = ACKNOWLEDGE;
        id = is_stream ? r->element[0]->element[1]->element[0]->element[0]->str
                       : r->element[0]->element[4]->str;
        break;
    case ACKNOWLEDGE:
        k->step = ADD;
        cycles++;
        break;
    }
    say(k, id);
}

static int cycle(const char *port, const char *what, size_t count, long seconds)
{
    static struct client clients[CLIENTS_MAX];
    static struct pollfd fds[CLIENTS_MAX];
    is_stream = strcmp(what, "stream") == 0;
    if (count == 0 || count > CLIENTS_MAX) return 2;
    for (size_t i = 0; i < count; i++) {
        clients[i].c = bench_connect(port);
        if (i == 0 && is_stream) {
            ask(clients[i].c, "DEL s");
            ask(clients[i].c, "XGROUP CREATE s g $ MKSTREAM");
        }
        fds[i] = (struct pollfd){.fd = clients[i].c->fd, .events = POLLIN};
    }
    int64_t from_us = bench_now_us();
    for (size_t i = 0; i < count; i++) say(&clients[i], NULL);
    while (bench_now_us() - from_us < seconds * 1000000) {
        if (poll(fds, count, 1000) <= 0) continue;
        for (size_t i = 0; i < count; i++) {
            void *reply = NULL;
            if ((fds[i].revents & POLLIN) == 0) continue;
            if (redisBufferRead(clients[i].c) != REDIS_OK) exit(1);
            if (redisGetReplyFromReader(clients[i].c, &reply) != REDIS_OK) exit(1);
            if (reply == NULL) continue;
            go_on(&clients[i], reply);
            freeReplyObject(reply);
        }
    }
    printf("%.0f\n", (double)cycles * 1e6 / (double)(bench_now_us() - from_us));
    for (size_t i = 0; i < count; i++) redisFree(clients[i].c);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "latency") == 0) {
        return latency(argv[2], argv[3], strtoul(argv[4], NULL, 10));
    }
    if (argc == 6 && strcmp(argv[1], "cycle") == 0) {
        return cycle(argv[2], argv[3], strtoul(argv[4], NULL, 10), strtol(argv[5], NULL, 10));
    }
    fprintf(stderr, "usage: bench_queue latency port watch|publish|push|dequeue|stream count\n"
                    "       bench_queue cycle port kv|stream clients seconds\n");
    return 2;
}
