#include "real_redis.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "server.h"

#define LIMIT_MS 15000
#define TIMES_APART_SECONDS 60

struct real_redis {
    pid_t pid;
    char dir[100];
};

static void file_remove(const struct real_redis *r, const char *name)
{
    char path[120];
    snprintf(path, sizeof path, "%s/%s", r->dir, name);
    unlink(path);
}

struct real_redis *real_redis_start(redisContext **to)
{
    char socket[120];
    if (system("redis-server --version >/dev/null 2>&1") != 0) {
        printf("# no redis-server: nothing to compare with\n");
        skip();
    }
    struct real_redis *r = calloc(1, sizeof *r);
    assert_non_null(r);
    snprintf(r->dir, sizeof r->dir, "/tmp/tupled-redis-XXXXXX");
    assert_non_null(mkdtemp(r->dir));
    snprintf(socket, sizeof socket, "%s/s", r->dir);
    r->pid = fork();
    if (r->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", socket, "--save", "",
               "--dir", r->dir, "--logfile", "log", (char *)NULL);
        _exit(127);
    }
    assert_true(r->pid > 0);
    long until = testserver_now_ms() + LIMIT_MS;
    for (;;) {
        *to = redisConnectUnix(socket);
        if ((*to)->err == 0) return r;
        redisFree(*to);
        if (testserver_now_ms() > until) fail_msg("redis-server does not start");
        testserver_pause();
    }
}

void real_redis_stop(struct real_redis *r)
{
    kill(r->pid, SIGKILL);
    waitpid(r->pid, NULL, 0);
    file_remove(r, "log");
    file_remove(r, "s");
    file_remove(r, "dump.rdb");
    rmdir(r->dir);
    free(r);
}

/* ---- the same to both ---- */

static int by_text(const void *a, const void *b)
{
    const redisReply *const *x = a;
    const redisReply *const *y = b;
    return strcmp((*x)->str, (*y)->str);
}

static void write_flat(FILE *f, redisReply *r, bool is_sorted)
{
    switch (r->type) {
    case REDIS_REPLY_INTEGER: fprintf(f, ":%lld", r->integer); return;
    case REDIS_REPLY_NIL: fputs("(nil)", f); return;
    case REDIS_REPLY_ARRAY:
        if (is_sorted && r->elements > 0 && r->element[0]->type == REDIS_REPLY_STRING &&
            r->element[r->elements - 1]->type == REDIS_REPLY_STRING) {
            qsort(r->element, r->elements, sizeof r->element[0], by_text);
        }
        fputc('[', f);
        for (size_t i = 0; i < r->elements; i++) {
            fputs(i > 0 ? " " : "", f);
            write_flat(f, r->element[i], is_sorted);
        }
        fputc(']', f);
        return;
    default:
        fprintf(f, "%s%.*s",
                r->type == REDIS_REPLY_STATUS  ? "+"
                : r->type == REDIS_REPLY_ERROR ? "-"
                                               : "",
                (int)r->len, r->str);
    }
}

/* Free it. */
static char *told(redisContext *by, const char *command)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    redisReply *r = redisCommand(by, command, "");
    if (r == NULL) fail_msg("%s: %s", command, by->errstr);
    write_flat(f, r, strncmp(command, "KEYS", 4) == 0 || strncmp(command, "SCAN", 4) == 0);
    freeReplyObject(r);
    fclose(f);
    return text;
}

/* TTL and its like. */
static bool tells_time_left(const char *command)
{
    static const char *const names[] = {"TTL", "PTTL", "HTTL", "HPTTL"};
    size_t len = strcspn(command, " ");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strlen(names[i]) == len && strncmp(command, names[i], len) == 0) return true;
    }
    return false;
}

/* Of a reply that is an integer, or an array of one; 0: it is none. */
static long long number_of(const char *text)
{
    long long n = 0;
    int len = 0;
    if (sscanf(text, ":%lld%n", &n, &len) != 1) (void)sscanf(text, "[:%lld]%n", &n, &len);
    return len > 0 && text[len] == '\0' ? n : 0;
}

bool real_redis_is_same(const char *command, const char *ours, const char *redis)
{
    if (strcmp(ours, redis) == 0) return true;
    long long a = number_of(ours);
    long long b = number_of(redis);
    if (!tells_time_left(command) || a <= 0 || b <= 0) return false;
    long long unit = strstr(command, "PTTL") != NULL ? 1000 : 1;
    return llabs(a - b) < TIMES_APART_SECONDS * unit;
}

void real_redis_compare(redisContext *c, const char *const *commands, size_t count)
{
    redisContext *redis = NULL;
    size_t different = 0;
    struct real_redis *real = real_redis_start(&redis);
    for (size_t i = 0; i < count; i++) {
        char *wanted = told(redis, commands[i]);
        char *got = told(c, commands[i]);
        bool is_same = real_redis_is_same(commands[i], got, wanted) ||
                       (wanted[0] == '-' && strncmp(wanted, got, strlen(wanted)) == 0);
        if (!is_same) {
            fprintf(stderr, "%zu: %s\n  redis: %s\n   ours: %s\n", i, commands[i], wanted, got);
            different++;
        }
        free(wanted);
        free(got);
    }
    redisFree(redis);
    real_redis_stop(real);
    assert_int_equal(different, 0);
}
