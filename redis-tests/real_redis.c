#include "real_redis.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "server.h"

#define LIMIT_MS 15000

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
