#include "unit/backend/postgres/pg_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/postgres/pg.h"

#define TRIES 1000 /* of 20 ms */
#define USER "nobody"

/* "/usr/lib/postgresql/15/bin", the newest; "" = there is none. */
static const char *bin(void)
{
    static char found[200];
    glob_t g;
    if (found[0] != '\0') return found;
    if (glob("/usr/lib/postgresql/*/bin/initdb", 0, NULL, &g) == 0) {
        snprintf(found, sizeof found, "%s", g.gl_pathv[g.gl_pathc - 1]);
        *strrchr(found, '/') = '\0';
    }
    globfree(&g);
    return found;
}

bool pg_server_can(void)
{
    return bin()[0] != '\0';
}

/* A program of PostgreSQL, as a user other than root; its output goes to dir/log. It ends with
 * this process. */
static pid_t run(const struct pg_server *s, const char *const *words)
{
    char path[256];
    char log[80];
    const struct passwd *user = getpwnam(USER);
    snprintf(path, sizeof path, "%s/%s", bin(), words[0]);
    snprintf(log, sizeof log, "%s/log", s->dir);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0) return pid;
    bool is_root = geteuid() == 0;
    if (is_root && (user == NULL || setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0)) {
        _exit(126);
    }
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0 || chdir(s->dir) != 0) _exit(126);
    (void)prctl(PR_SET_PDEATHSIG, SIGQUIT);
    execv(path, (char *const *)words);
    _exit(127);
}

static void show_log(const struct pg_server *s)
{
    char command[100];
    snprintf(command, sizeof command, "tail -n 20 %s/log >&2", s->dir);
    if (system(command) != 0) fprintf(stderr, "no log\n");
}

void pg_server_init(struct pg_server *s)
{
    *s = (struct pg_server){.dir = "/tmp/tupled-pg-XXXXXX"};
    assert_non_null(mkdtemp(s->dir));
    const struct passwd *user = getpwnam(USER);
    if (geteuid() == 0) assert_int_equal(chown(s->dir, user->pw_uid, user->pw_gid), 0);
    snprintf(s->url, sizeof s->url, "host=%s user=tupled dbname=postgres", s->dir);
    char data[80];
    snprintf(data, sizeof data, "%s/data", s->dir);
    const char *const words[] = {"initdb", "-D",        data,         "-A", "trust", "-U",
                                 "tupled", "--no-sync", "--locale=C", "-E", "UTF8",  NULL};
    int status = -1;
    assert_int_equal(waitpid(run(s, words), &status, 0) > 0, 1);
    if (status != 0) show_log(s);
    assert_int_equal(status, 0);
    pg_server_start(s);
}

static bool is_ready(const struct pg_server *s)
{
    char port[16];
    snprintf(port, sizeof port, "%d", s->port != 0 ? s->port : 5432);
    const char *const words[] = {"pg_isready", "-q", "-h", s->dir, "-p", port, NULL};
    int status = -1;
    return waitpid(run(s, words), &status, 0) > 0 && status == 0;
}

void pg_server_start(struct pg_server *s)
{
    char data[80];
    char port[16];
    snprintf(data, sizeof data, "%s/data", s->dir);
    snprintf(port, sizeof port, "%d", s->port != 0 ? s->port : 5432);
    const char *const words[] = {"postgres",
                                 "-D",
                                 data,
                                 "-p",
                                 port,
                                 "-k",
                                 s->dir,
                                 "-c",
                                 "listen_addresses=",
                                 "-c",
                                 "max_connections=40",
                                 "-c",
                                 "shared_buffers=16MB",
                                 NULL};
    s->pid = run(s, words);
    for (int i = 0; i < TRIES; i++) {
        if (is_ready(s)) return;
        if (waitpid(s->pid, NULL, WNOHANG) != 0) break;
        poll(NULL, 0, 20);
    }
    show_log(s);
    fail_msg("PostgreSQL did not start");
}

static bool has_standby(const struct pg_server *s)
{
    return pg_server_run(s, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'",
                         NULL, 0) == 1;
}

void pg_server_start_standby(struct pg_server *s)
{
    char wal[80];
    char make[120];
    snprintf(wal, sizeof wal, "%s/wal", s->dir);
    snprintf(make, sizeof make, "mkdir -p -m 777 '%s'", wal);
    assert_int_equal(system(make), 0);
    const char *const words[] = {
        "pg_receivewal", "--synchronous", "-D", wal, "-h", s->dir, "-U", "tupled", NULL};
    s->standby = run(s, words);
    for (int i = 0; i < TRIES && !has_standby(s); i++) poll(NULL, 0, 20);
    assert_true(has_standby(s));
}

void pg_server_stop_standby(struct pg_server *s)
{
    if (s->standby == 0) return;
    kill(s->standby, SIGKILL);
    waitpid(s->standby, NULL, 0);
    s->standby = 0;
}

void pg_server_set_standbys(const struct pg_server *s, const char *names)
{
    char sql[200];
    snprintf(sql, sizeof sql, "ALTER SYSTEM SET synchronous_standby_names = '%s'", names);
    (void)pg_server_run(s, sql, NULL, 0);
    (void)pg_server_run(s, "SELECT pg_reload_conf()::int", NULL, 0);
}

void pg_server_kill(struct pg_server *s)
{
    pg_server_stop_standby(s);
    if (s->pid == 0) return;
    kill(s->pid, SIGCONT);
    kill(s->pid, SIGQUIT);
    waitpid(s->pid, NULL, 0);
    s->pid = 0;
}

void pg_server_fini(struct pg_server *s)
{
    char command[100];
    pg_server_kill(s);
    snprintf(command, sizeof command, "rm -rf '%s'", s->dir);
    assert_int_equal(system(command), 0);
}

/* The processes that serve connections are its children. */
static void signal_all(const struct pg_server *s, int signal)
{
    char command[100];
    snprintf(command, sizeof command, "pkill -%d -P %d; kill -%d %d", signal, (int)s->pid, signal,
             (int)s->pid);
    assert_int_equal(system(command), 0);
}

void pg_server_pause(const struct pg_server *s)
{
    signal_all(s, SIGSTOP);
}

void pg_server_resume(const struct pg_server *s)
{
    signal_all(s, SIGCONT);
}

int64_t pg_server_run(const struct pg_server *s, const char *sql, const int64_t *numbers,
                      size_t count)
{
    struct pg_breaker breaker;
    struct error e;
    assert_int_equal(pg_breaker_init(&breaker, &e), OK);
    struct pg *c = pg_new(&(struct pg_options){
        .url = s->url, .name = "by hand", .call_ms = 10000, .breaker = &breaker});
    pg_begin(c);
    for (size_t i = 0; i < count; i++) pg_put_i64(c, numbers[i]);
    enum err r = pg_run(c, sql, &e);
    if (r != OK) fail_msg("%s", e.text);
    int64_t n = pg_rows(c) > 0 ? pg_i64(c, 0, 0) : (int64_t)pg_changed(c);
    pg_free(c);
    pg_breaker_fini(&breaker);
    return n;
}

/* ---- that of a test program ---- */

struct pg_server pg_shared;

int pg_shared_start(void **state)
{
    (void)state;
    if (pg_server_can()) pg_server_init(&pg_shared);
    return 0;
}

int pg_shared_stop(void **state)
{
    (void)state;
    if (pg_server_can()) pg_server_fini(&pg_shared);
    return 0;
}

int64_t pg_shared_run(const char *sql, int64_t number)
{
    return pg_server_run(&pg_shared, sql, &number, 1);
}
