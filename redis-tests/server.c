#include "server.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_MS 100000
/* What a script does in 5 s on a machine of its own takes a crowded one more. */
#define SCRIPTS_MAY_BE_SLOW "--script-time-limit", "60000"
#define ARGS_MAX 64
#define TURN_MS 400
#define ASAN_FACTOR 5
#define CROWDED_FACTOR 5
#define SERVERS_MAX 32
#define PATH_BYTES 512

struct testserver {
    char scratch[PATH_BYTES]; /* directory: log, output, data */
    char dir[PATH_BYTES];     /* data */
    char log[PATH_BYTES + 8];
    char output[PATH_BYTES + 8]; /* what it prints */
    bool is_release;
    long turn_ms_max;     /* 0 = TURN_MS */
    char *config;         /* owned; NULL = none */
    char *args[ARGS_MAX]; /* owned, NULL-ended; as env */
    char *env[ARGS_MAX];
    long log_start; /* byte of the log at which the last start begins */
    pid_t pid;      /* 0 = not running */
    bool has_tls, is_tls_only, has_http;
    int port, tls_port, http_port;
};

/* Those that may run, for the end of the program. */
static struct testserver *servers[SERVERS_MAX];

long testserver_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void testserver_pause(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The whole file from byte `from`, as a string; empty when there is none. The caller frees it. */
static char *read_text(const char *path, long from)
{
    char *text = calloc(1, 1);
    size_t len = 0;
    FILE *f = fopen(path, "re");
    if (f == NULL) return text;
    if (fseek(f, from, SEEK_SET) == 0) {
        char part[4096];
        for (size_t n = 0; (n = fread(part, 1, sizeof part, f)) > 0; len += n) {
            text = realloc(text, len + n + 1);
            if (text == NULL) abort();
            memcpy(text + len, part, n);
            text[len + n] = '\0';
        }
    }
    fclose(f);
    return text;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#define LONG_TURN "a turn of the loop took "

static void show(const struct testserver *s, const char *what)
{
    char *log = read_text(s->log, s->log_start);
    char *output = read_text(s->output, 0);
    fprintf(stderr, "server %s: %s\n--- its log:\n%s--- it printed:\n%s---\n", s->dir, what, log,
            output);
    free(log);
    free(output);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void kill_all(void)
{
    for (size_t i = 0; i < SERVERS_MAX; i++) {
        struct testserver *s = servers[i];
        if (s == NULL) continue;
        if (s->pid > 0 && kill(s->pid, SIGKILL) == 0) waitpid(s->pid, NULL, 0);
        remove_tree(s->scratch);
    }
}

static void remember(struct testserver *s)
{
    static bool is_registered;
    if (!is_registered) atexit(kill_all);
    is_registered = true;
    for (size_t i = 0; i < SERVERS_MAX; i++) {
        if (servers[i] != NULL) continue;
        servers[i] = s;
        return;
    }
    fail_msg("more than %d servers at a time", SERVERS_MAX);
}

static void forget(const struct testserver *s)
{
    for (size_t i = 0; i < SERVERS_MAX; i++) {
        if (servers[i] == s) servers[i] = NULL;
    }
}

static const char *binary_of(const struct testserver *s)
{
    const char *path = getenv(s->is_release ? "TUPLED_BIN" : "TUPLED_ASAN_BIN");
    if (path != NULL) return path;
    return s->is_release ? "build/tupled" : "build/asan/tupled";
}

/* What a turn of the loop may take of the processor: 250 ms at the limits, 50 ms for small work. By
 * `make turns` (TUPLED_STRICT_TURNS), on a machine that has nothing else to do, 400 and 160 of them
 * (src/request/turn.c). On a crowded one the same work takes several times the processor time: there
 * only what is far too much is an error. A sanitizer makes everything several times slower. */
static long turn_ms_of(const struct testserver *s)
{
    long ms = s->turn_ms_max != 0 ? s->turn_ms_max
              : s->is_release     ? TURN_MS
                                  : TURN_MS * ASAN_FACTOR;
    return testserver_is_strict() ? ms : ms * CROWDED_FACTOR;
}

bool testserver_is_strict(void)
{
    return getenv("TUPLED_STRICT_TURNS") != NULL;
}

long long testserver_turn_usec(long long usec)
{
    return testserver_is_strict() ? usec : usec * CROWDED_FACTOR;
}

static void exec_server(const struct testserver *s, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(126);
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int out = open(s->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(126);
    setenv("TUPLED_TEST_ANY_PORT", s->is_tls_only ? "0" : "1", 1);
    setenv("TUPLED_TEST_ANY_TLS_PORT", s->has_tls || s->is_tls_only ? "1" : "0", 1);
    setenv("TUPLED_TEST_ANY_HTTP_PORT", s->has_http ? "1" : "0", 1);
    static char turn[64];
    snprintf(turn, sizeof turn, "TUPLED_TEST_TURN_MS=%ld", turn_ms_of(s));
    putenv(turn);
    for (size_t i = 0; s->env[i] != NULL; i++) putenv(s->env[i]);
    const char *argv[ARGS_MAX + 13] = {"tupled"};
    const char *own[] = {"--dir",     s->dir, "--port",           "0", "--http-port", "0",
                         "--logfile", s->log, SCRIPTS_MAY_BE_SLOW};
    size_t n = 1;
    if (s->config != NULL) argv[n++] = s->config;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) argv[n++] = own[i];
    for (size_t i = 0; s->args[i] != NULL; i++) argv[n++] = s->args[i];
    execv(binary_of(s), (char *const *)argv);
    fprintf(stderr, "%s cannot be started\n", binary_of(s));
    _exit(127);
}

static void launch(struct testserver *s)
{
    struct stat st;
    s->log_start = stat(s->log, &st) == 0 ? (long)st.st_size : 0;
    s->port = 0;
    fflush(NULL);
    pid_t parent = getpid();
    s->pid = fork();
    if (s->pid < 0) fail_msg("fork failed");
    if (s->pid == 0) exec_server(s, parent);
}

/* Waits for its end; true and its wait status within WAIT_MS, otherwise it is killed. */
static bool wait_for_end(struct testserver *s, int *status)
{
    long until = testserver_now_ms() + WAIT_MS;
    while (testserver_now_ms() < until) {
        if (waitpid(s->pid, status, WNOHANG) == s->pid) {
            s->pid = 0;
            return true;
        }
        testserver_pause();
    }
    kill(s->pid, SIGKILL);
    waitpid(s->pid, status, 0);
    s->pid = 0;
    return false;
}

/* Is there a whole line with this text? Then *port is the port that it names, 0 for none. */
static bool find_port(const char *log, const char *text, int *port)
{
    const char *line = strstr(log, text);
    const char *end = line == NULL ? NULL : strchr(line, '\n');
    const char *word = end == NULL ? NULL : strstr(line, " port ");
    *port = word != NULL && word < end ? atoi(word + strlen(" port ")) : 0;
    return end != NULL;
}

/* Has it logged "ready to accept connections on <address> port <n>", or, as the first such line,
 * that it listens on a Unix socket alone? Then s->port is the port, 0 for none. The lines about TLS
 * and HTTP come before. */
static bool is_ready(struct testserver *s)
{
    char *log = read_text(s->log, s->log_start);
    bool has_tls = find_port(log, "ready to accept TLS connections on ", &s->tls_port);
    (void)find_port(log, "ready to accept HTTP", &s->http_port);
    bool has_plain = find_port(log, "ready to accept connections on ", &s->port);
    free(log);
    return has_plain || (s->is_tls_only && has_tls);
}

/* False when it ended instead, *status is its wait status. */
static bool wait_until_ready(struct testserver *s, int *status)
{
    long until = testserver_now_ms() + WAIT_MS;
    while (!is_ready(s)) {
        if (waitpid(s->pid, status, WNOHANG) == s->pid) {
            s->pid = 0;
            return false;
        }
        if (testserver_now_ms() > until) {
            show(s, "is not ready");
            fail_msg("the server is not ready after %d ms", WAIT_MS);
        }
        testserver_pause();
    }
    return true;
}

/* ---- what tests call ------------------------------------------------------------------------- */

static void copy_words(char **to, const char *const *from)
{
    size_t n = 0;
    for (; from != NULL && from[n] != NULL; n++) {
        if (n + 1 == ARGS_MAX) fail_msg("more than %d arguments", ARGS_MAX);
        to[n] = strdup(from[n]);
    }
}

static struct testserver *prepare(const struct testserver_options *o)
{
    struct testserver *s = calloc(1, sizeof *s);
    if (s == NULL) abort();
    const char *tmp = getenv("TMPDIR");
    snprintf(s->scratch, sizeof s->scratch, "%s/tupled-test-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(s->scratch) == NULL) fail_msg("cannot make %s", s->scratch);
    snprintf(s->log, sizeof s->log, "%s/log", s->scratch);
    snprintf(s->output, sizeof s->output, "%s/out", s->scratch);
    int n = o != NULL && o->dir != NULL
                ? snprintf(s->dir, sizeof s->dir, "%s", o->dir)
                : snprintf(s->dir, sizeof s->dir, "%.400s/data", s->scratch);
    if (n >= (int)sizeof s->dir) fail_msg("the path of the data is too long");
    if (o != NULL) {
        s->is_release = o->is_release;
        s->has_tls = o->has_tls;
        s->is_tls_only = o->is_tls_only;
        s->has_http = o->has_http;
        s->turn_ms_max = o->turn_ms_max;
        s->config = o->config != NULL ? strdup(o->config) : NULL;
        copy_words(s->args, o->args);
        copy_words(s->env, o->env);
    }
    remember(s);
    return s;
}

struct testserver *testserver_start(const struct testserver_options *o)
{
    struct testserver *s = prepare(o);
    testserver_again(s);
    return s;
}

struct testserver *testserver_start_with(const char *arg, ...)
{
    const char *args[ARGS_MAX] = {arg};
    va_list list;
    va_start(list, arg);
    for (size_t n = 1; args[n - 1] != NULL && n < ARGS_MAX; n++)
        args[n] = va_arg(list, const char *);
    va_end(list);
    return testserver_start(&(struct testserver_options){.args = args});
}

void testserver_again(struct testserver *s)
{
    if (s->pid != 0) fail_msg("the server runs already");
    int status = 0;
    launch(s);
    if (wait_until_ready(s, &status)) return;
    show(s, "ended while starting");
    fail_msg("the server ended while starting, wait status 0x%x", status);
}

static bool has_printed(const struct testserver *s, const char *text)
{
    char *output = read_text(s->output, 0);
    bool found = strstr(output, text) != NULL;
    free(output);
    return found;
}

bool testserver_has_logged(const struct testserver *s, const char *text)
{
    char *log = read_text(s->log, s->log_start);
    bool found = strstr(log, text) != NULL;
    free(log);
    return found;
}

bool testserver_try_again(struct testserver *s, const char *text)
{
    if (s->pid != 0) fail_msg("the server runs already");
    int status = 0;
    launch(s);
    if (wait_until_ready(s, &status)) return true;
    bool is_refusal = WIFEXITED(status) && WEXITSTATUS(status) == 1;
    if (is_refusal && (has_printed(s, text) || testserver_has_logged(s, text))) return false;
    show(s, "ended while starting");
    fail_msg("the server ended while starting, wait status 0x%x, without \"%s\"", status, text);
    return false;
}

/* No client may have had to wait too long for one turn of the loop. */
static void check_turns(const struct testserver *s)
{
    char *log = read_text(s->log, s->log_start);
    char *line = strstr(log, LONG_TURN);
    char text[256] = "";
    if (line != NULL) snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\n"), line);
    free(log);
    if (line != NULL) fail_msg("%s", text);
}

void testserver_ends(struct testserver *s, int wanted)
{
    if (s->pid == 0) fail_msg("the server does not run");
    int status = 0;
    bool has_ended = wait_for_end(s, &status);
    if (!has_ended) show(s, "does not end");
    if (!has_ended) fail_msg("the server has not ended after %d ms", WAIT_MS);
    bool is_right = WIFEXITED(status) && WEXITSTATUS(status) == wanted;
    bool has_report = has_printed(s, "Sanitizer") || has_printed(s, "runtime error:");
    if (is_right && !has_report) {
        check_turns(s);
        return;
    }
    show(s, "ended badly");
    fail_msg("the server ended with wait status 0x%x, not with exit status %d%s", status, wanted,
             has_report ? "; a sanitizer complained" : "");
}

void testserver_stop(struct testserver *s)
{
    if (s->pid == 0) fail_msg("the server does not run");
    kill(s->pid, SIGTERM);
    testserver_ends(s, 0);
}

void testserver_kill(struct testserver *s)
{
    if (s->pid == 0) fail_msg("the server does not run");
    kill(s->pid, SIGKILL);
    int status = 0;
    if (waitpid(s->pid, &status, 0) != s->pid) fail_msg("waitpid failed");
    s->pid = 0;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        check_turns(s);
        return;
    }
    show(s, "had ended before it was killed");
    fail_msg("the server had ended before it was killed, wait status 0x%x", status);
}

static void drop(struct testserver *s)
{
    remove_tree(s->scratch);
    forget(s);
    free(s->config);
    for (size_t i = 0; i < ARGS_MAX; i++) {
        free(s->args[i]);
        free(s->env[i]);
    }
    free(s);
}

void testserver_free(struct testserver *s)
{
    if (s == NULL) return;
    if (s->pid != 0) testserver_stop(s);
    drop(s);
}

void testserver_refuses(const struct testserver_options *o, const char *text)
{
    struct testserver *s = prepare(o);
    launch(s);
    testserver_ends(s, 1);
    if (!has_printed(s, text) && !testserver_has_logged(s, text)) {
        show(s, "says something else");
        fail_msg("the server did not say '%s'", text);
    }
    drop(s);
}

bool testserver_is_running(const struct testserver *s)
{
    return s->pid != 0;
}

int testserver_port(const struct testserver *s)
{
    return s->port;
}

int testserver_tls_port(const struct testserver *s)
{
    return s->tls_port;
}

int testserver_http_port(const struct testserver *s)
{
    return s->http_port;
}

pid_t testserver_pid(const struct testserver *s)
{
    return s->pid;
}

const char *testserver_dir(const struct testserver *s)
{
    return s->dir;
}

redisContext *testserver_connect(const struct testserver *s)
{
    struct timeval limit = {.tv_sec = WAIT_MS / 1000};
    redisContext *c = redisConnectWithTimeout("127.0.0.1", s->port, limit);
    if (c == NULL) abort();
    if (c->err != 0) {
        char why[sizeof c->errstr];
        memcpy(why, c->errstr, sizeof why);
        redisFree(c);
        fail_msg("no connection to port %d: %s", s->port, why);
    }
    redisSetTimeout(c, limit);
    return c;
}
