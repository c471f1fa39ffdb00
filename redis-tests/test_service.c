/* What systemd is told (Type=notify), by a socket that is like its own: progress of the start,
 * readiness, reloads, the stop, and signs of life for a watchdog. */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"

#define LIMIT_MS 20000
#define TEXT_BYTES 2000

static int receiver;
static char scratch[64];
static char notify[160]; /* NOTIFY_SOCKET=... */

static int enter(void **state)
{
    snprintf(scratch, sizeof scratch, "/tmp/test_service.XXXXXX");
    if (mkdtemp(scratch) == NULL) return -1;
    receiver = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int yes = 1;
    return setsockopt(receiver, SOL_SOCKET, SO_TIMESTAMP, &yes, sizeof yes);
}

static int leave(void **state)
{
    char command[128];
    group_stop(state);
    close(receiver);
    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    return system(command) == 0 ? 0 : -1;
}

static void listen_at_path(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/notify", scratch);
    assert_int_equal(bind(receiver, (void *)&address, sizeof address), 0);
    snprintf(notify, sizeof notify, "NOTIFY_SOCKET=%s", address.sun_path);
}

/* The kernel chooses the name. */
static void listen_abstract(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t len = sizeof address;
    assert_int_equal(bind(receiver, (void *)&address, sizeof(sa_family_t)), 0);
    assert_int_equal(getsockname(receiver, (void *)&address, &len), 0);
    int bytes = (int)(len - offsetof(struct sockaddr_un, sun_path) - 1);
    snprintf(notify, sizeof notify, "NOTIFY_SOCKET=@%.*s", bytes, address.sun_path + 1);
}

static void start(const char *watchdog)
{
    const char *env[] = {notify, watchdog, NULL};
    const char *args[] = {"--enable-debug-command", "yes", "--durability", "never", NULL};
    server = testserver_start(&(struct testserver_options){.env = env, .args = args});
}

/* The next message and when it was sent, in microseconds. Fails the test when none comes. */
static int64_t next(char text[TEXT_BYTES])
{
    struct pollfd p = {.fd = receiver, .events = POLLIN};
    char control[CMSG_SPACE(sizeof(struct timeval))];
    struct iovec part = {.iov_base = text, .iov_len = TEXT_BYTES - 1};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof control};
    if (poll(&p, 1, LIMIT_MS) != 1) fail_msg("nothing was sent for %d ms", LIMIT_MS);
    ssize_t n = recvmsg(receiver, &m, 0);
    assert_true(n > 0);
    text[n] = '\0';
    struct cmsghdr *stamp = CMSG_FIRSTHDR(&m);
    assert_non_null(stamp);
    struct timeval at;
    memcpy(&at, CMSG_DATA(stamp), sizeof at);
    return (int64_t)at.tv_sec * 1000000 + at.tv_usec;
}

/* Reads messages up to one that begins so; those before it may be of `before` only ("" = none). */
static void next_is(const char *wanted, const char *before)
{
    char text[TEXT_BYTES];
    for (;;) {
        (void)next(text);
        if (strncmp(text, wanted, strlen(wanted)) == 0) return;
        if (before[0] == '\0' || strncmp(text, before, strlen(before)) != 0) {
            fail_msg("sent was \"%s\", not \"%s\"", text, wanted);
        }
    }
}

static bool is_silent(void)
{
    struct pollfd p = {.fd = receiver, .events = POLLIN};
    return poll(&p, 1, 0) == 0;
}

static void poll_log(const char *text)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (!testserver_has_logged(server, text)) {
        if (testserver_now_ms() > until) fail_msg("never logged: %s", text);
        testserver_pause();
    }
}

static void look_at_a_life(void)
{
    start(NULL);
    next_is("STATUS=opening the data directory\nEXTEND_TIMEOUT_USEC=", "");
    next_is("READY=1\nSTATUS=serving", "STATUS=");
    /* It is true. */
    redisContext *c = testserver_connect(server);
    expect(c, "+OK", "SET a 1");
    assert_true(is_silent());
    assert_int_equal(kill(testserver_pid(server), SIGHUP), 0);
    next_is("RELOADING=1\nMONOTONIC_USEC=", "");
    next_is("READY=1", "");
    poll_log("SIGHUP: log file reopened");
    assert_int_equal(kill(testserver_pid(server), SIGTERM), 0);
    next_is("STOPPING=1\nSTATUS=stopping: received a signal", "");
    redisFree(c);
    testserver_ends(server, 0);
    assert_true(is_silent());
}

static void the_manager_is_told_by_a_path(void **state)
{
    listen_at_path();
    look_at_a_life();
}

static void the_manager_is_told_by_an_abstract_name(void **state)
{
    listen_abstract();
    look_at_a_life();
}

static void shutdown_is_told_too(void **state)
{
    listen_at_path();
    start(NULL);
    next_is("READY=1", "STATUS=");
    int fd = raw_connect(server);
    raw_say(fd, "SHUTDOWN\r\n");
    next_is("STOPPING=1\nSTATUS=stopping: SHUTDOWN", "");
    close(fd);
    testserver_ends(server, 0);
}

static void a_start_that_fails_says_why_and_never_that_it_is_ready(void **state)
{
    listen_at_path();
    const char *env[] = {notify, NULL};
    char dir[100];
    snprintf(dir, sizeof dir, "%s/notify/data", scratch); /* below a socket */
    testserver_refuses(&(struct testserver_options){.env = env, .dir = dir}, "notify/data");
    next_is("STATUS=opening the data directory", "");
    next_is("STOPPING=1\nSTATUS=", "");
    assert_true(is_silent());
}

/* Progress is sent once a second, so of a short recovery the first message only; all of it is looked
 * at in tests/unit/server/test_service.c and tests/unit/backend/test_local.c. */
static void a_recovery_is_ready_only_when_its_data_is_there(void **state)
{
    listen_at_path();
    start(NULL);
    next_is("READY=1", "STATUS=");
    redisContext *c = testserver_connect(server);
    for (int i = 0; i < 20000; i++) say(c, "KV.ENQUEUE q%d %d", i % 50, i);
    expect_many(c, 20000, "*");
    redisFree(c);
    testserver_kill(server);
    testserver_again(server);
    next_is("STATUS=opening the data directory", "");
    next_is("READY=1\nSTATUS=serving", "STATUS=");
    c = testserver_connect(server);
    expect(c, "*queue_loading:0*index_loading:0*", "INFO everything");
    redisFree(c);
}

/* The sign of life comes from the loop: while that hangs there is none. */
static void the_watchdog_notices_a_loop_that_hangs(void **state)
{
    char text[TEXT_BYTES];
    listen_at_path();
    start("WATCHDOG_USEC=1000000");
    next_is("READY=1", "STATUS=");
    next_is("WATCHDOG=1", "");
    int64_t longest_us = 0;
    int64_t last_us = next(text);
    assert_string_equal(text, "WATCHDOG=1");
    int fd = raw_connect(server);
    raw_say(fd, "DEBUG SLEEP 3\r\n");
    for (int i = 0; i < 6; i++) {
        int64_t at_us = next(text);
        assert_string_equal(text, "WATCHDOG=1");
        if (at_us - last_us > longest_us) longest_us = at_us - last_us;
        last_us = at_us;
    }
    raw_expect(fd, "+OK\r\n");
    if (longest_us < 2900000) fail_msg("the longest silence was %lld us", (long long)longest_us);
    close(fd);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_manager_is_told_by_a_path),
        TEST(the_manager_is_told_by_an_abstract_name),
        TEST(shutdown_is_told_too),
        TEST(a_start_that_fails_says_why_and_never_that_it_is_ready),
        TEST(a_recovery_is_ready_only_when_its_data_is_there),
        TEST(the_watchdog_notices_a_loop_that_hangs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
