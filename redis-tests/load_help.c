#include "load_help.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"

#define WAIT_MS 240000

/* ---- connections ----------------------------------------------------------------------------- */

void load_open(struct load_client *l, const struct testserver *s)
{
    l->c = redisConnectNonBlock("127.0.0.1", testserver_port(s));
    if (l->c == NULL) abort();
    l->unanswered = 0;
    l->is_gone = false;
    if (l->c->err != 0) fail_msg("no connection: %s", l->c->errstr);
}

void load_close(struct load_client *l)
{
    if (l->c != NULL) redisFree(l->c);
    l->c = NULL;
}

void load_say(struct load_client *l, const char *format, ...)
{
    char copy[512];
    va_list list;
    if (l->is_gone) return;
    size_t len = strlen(format);
    if (len >= sizeof copy) fail_msg("the format is too long");
    for (size_t i = 0; i <= len; i++) copy[i] = (char)(format[i] == '\'' ? '"' : format[i]);
    va_start(list, format);
    if (redisvAppendCommand(l->c, copy, list) != REDIS_OK) fail_msg("%s: bad format", format);
    va_end(list);
    l->unanswered++;
}

static void take_replies(struct load_client *l)
{
    void *reply = NULL;
    while (!l->is_gone && redisGetReplyFromReader(l->c, &reply) == REDIS_OK && reply != NULL) {
        if (l->unanswered == 0) fail_msg("client %zu got a reply it had not asked for", l->number);
        l->unanswered--;
        if (l->on_reply != NULL) l->on_reply(l, reply);
        freeReplyObject(reply);
        reply = NULL;
    }
    if (!l->is_gone && l->c->err != 0) fail_msg("client %zu: %s", l->number, l->c->errstr);
}

static void client_turn(struct load_client *l, short events)
{
    int done = 0;
    if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) {
        bool has_ended = redisBufferRead(l->c) != REDIS_OK;
        if (has_ended && l->c->err != REDIS_ERR_IO && l->c->err != REDIS_ERR_EOF) {
            fail_msg("client %zu: %s", l->number, l->c->errstr);
        }
        /* What came before the end counts: the reader has it, but not with an error set. */
        l->c->err = 0;
        take_replies(l);
        if (has_ended) l->is_gone = true;
    }
    if (!l->is_gone && (events & POLLOUT) != 0 && redisBufferWrite(l->c, &done) != REDIS_OK) {
        l->c->err = 0;
        /* Replies may still be there to be read: the end shows up there. */
    }
}

bool load_turn(struct load_client *clients, size_t count, int wait_ms)
{
    struct pollfd *fds = calloc(count, sizeof *fds);
    bool is_any_left = false;
    for (size_t i = 0; i < count; i++) {
        struct load_client *l = &clients[i];
        fds[i].fd = l->is_gone || l->c == NULL ? -1 : l->c->fd;
        if (fds[i].fd < 0) continue;
        is_any_left = true;
        bool has_more = l->c->obuf != NULL && l->c->obuf[0] != '\0';
        fds[i].events = (short)(POLLIN | (has_more ? POLLOUT : 0));
    }
    if (is_any_left && poll(fds, count, wait_ms) > 0) {
        for (size_t i = 0; i < count; i++) {
            if (fds[i].fd >= 0 && fds[i].revents != 0) client_turn(&clients[i], fds[i].revents);
        }
    }
    free(fds);
    return is_any_left;
}

size_t load_unanswered(const struct load_client *clients, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) n += clients[i].unanswered;
    return n;
}

void load_drain(struct load_client *clients, size_t count, long limit_ms)
{
    long until = testserver_now_ms() + limit_ms;
    while (load_unanswered(clients, count) > 0) {
        load_turn(clients, count, 50);
        for (size_t i = 0; i < count; i++) {
            if (clients[i].is_gone) fail_msg("client %zu lost its connection", i);
        }
        if (testserver_now_ms() > until) {
            fail_msg("%zu commands are not answered after %ld ms", load_unanswered(clients, count),
                     limit_ms);
        }
    }
}

bool load_is_readable(const redisContext *c, int limit_ms)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    return poll(&p, 1, limit_ms) == 1;
}

void load_flush(redisContext *c)
{
    int done = 0;
    while (done == 0) {
        if (redisBufferWrite(c, &done) != REDIS_OK) fail_msg("cannot send: %s", c->errstr);
    }
}

void load_send(redisContext *c, const char *command)
{
    say(c, command);
    load_flush(c);
}

void load_block(redisContext *c, redisContext *asking, const char *command)
{
    long long before = load_info(asking, "blocked_clients");
    load_send(c, command);
    load_wait_info(asking, "blocked_clients", before + 1);
    /* It may have waited for a leader that could not answer. A read waits for that too. */
    freeReplyObject(ask_reply(asking, "EXISTS a"));
    load_wait_info(asking, "blocked_clients", before + 1);
}

/* ---- random numbers -------------------------------------------------------------------------- */

static uint64_t random_state;

void load_seed(void)
{
    const char *given = getenv("TUPLED_SEED");
    uint64_t seed = (uint64_t)testserver_now_ms() * 1000003u + (uint64_t)getpid();
    if (given != NULL) seed = strtoull(given, NULL, 0);
    random_state = seed != 0 ? seed : 1;
    fprintf(stderr, "# TUPLED_SEED=%llu\n", (unsigned long long)random_state);
}

uint64_t load_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * 0x2545f4914f6cdd1du;
}

uint64_t load_below(uint64_t limit)
{
    return (load_random() >> 11) % limit;
}

/* ---- the rest -------------------------------------------------------------------------------- */

void load_use_disk(void)
{
    char path[512];
    const char *bin = getenv("TUPLED_BIN");
    char real[400] = "build";
    const char *slash = bin == NULL ? NULL : strrchr(bin, '/');
    if (slash != NULL) snprintf(real, sizeof real, "%.*s", (int)(slash - bin), bin);
    snprintf(path, sizeof path, "%s/tests-disk", real);
    if (mkdir(path, 0700) != 0 && errno != EEXIST) fail_msg("cannot make %s", path);
    setenv("TMPDIR", path, 1);
}

uint64_t load_version(const redisReply *r)
{
    char *end = NULL;
    if (r->type != REDIS_REPLY_STRING || r->len != 20) {
        fail_msg("a versionstamp was wanted, not type %d '%.80s'", r->type,
                 r->str != NULL ? r->str : "");
    }
    assert_string_equal(r->str + 16, "0000");
    char digits[17] = "";
    memcpy(digits, r->str, 16);
    uint64_t version = strtoull(digits, &end, 16);
    assert_int_equal(*end, '\0');
    return version;
}

long long load_info(redisContext *c, const char *field)
{
    char start[64];
    redisReply *r = ask_reply(c, "INFO everything");
    snprintf(start, sizeof start, "\n%s:", field);
    const char *at = r->type == REDIS_REPLY_STRING ? strstr(r->str, start) : NULL;
    if (at == NULL) fail_msg("INFO has no field %s", field);
    long long n = strtoll(at + strlen(start), NULL, 10);
    freeReplyObject(r);
    return n;
}

double load_cpu_s(redisContext *c)
{
    double user = 0;
    redisReply *r = ask_reply(c, "INFO cpu");
    const char *at = r->type == REDIS_REPLY_STRING ? strstr(r->str, "used_cpu_user:") : NULL;
    assert_non_null(at);
    assert_int_equal(sscanf(at, "used_cpu_user:%lf", &user), 1);
    freeReplyObject(r);
    return user;
}

void load_wait_info(redisContext *c, const char *field, long long wanted)
{
    long until = testserver_now_ms() + WAIT_MS;
    while (load_info(c, field) != wanted) {
        if (testserver_now_ms() > until) fail_msg("%s never is %lld", field, wanted);
        testserver_pause();
    }
}

static long long figure_of(const redisReply *stats, const char *name, size_t len)
{
    for (size_t i = 0; i + 1 < stats->elements; i += 2) {
        const redisReply *field = stats->element[i];
        if (field->len == len && memcmp(field->str, name, len) == 0) {
            return stats->element[i + 1]->integer;
        }
    }
    fail_msg("KV.QUEUE STATS has no '%.*s'", (int)len, name);
    return 0;
}

long long load_queue(redisContext *c, const char *queue, const char *names)
{
    redisReply *r = ask_reply(c, "KV.QUEUE STATS %s", queue);
    long long sum = 0;
    for (size_t len = 0; *names != 0; names += len) {
        names += strspn(names, " ");
        len = strcspn(names, " ");
        sum += figure_of(r, names, len);
    }
    freeReplyObject(r);
    return sum;
}

bool load_is_long(void)
{
    const char *given = getenv("TUPLED_LONG");
    return given != NULL && strcmp(given, "1") == 0;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

void load_expect_distinct(uint64_t *versions, size_t count)
{
    qsort(versions, count, sizeof *versions, by_value);
    for (size_t i = 1; i < count; i++) {
        if (versions[i] == versions[i - 1]) {
            fail_msg("version %llu was given twice", (unsigned long long)versions[i]);
        }
    }
}
