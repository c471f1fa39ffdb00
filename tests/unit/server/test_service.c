/* service: what is sent to a socket that is like systemd's, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "server/service.h"

#define NOW_MS 1700000000000LL

static int receiver = -1;

/* The kernel chooses an abstract name. */
static int enter(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t len = sizeof address;
    char name[120];
    receiver = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (receiver < 0 || bind(receiver, (void *)&address, sizeof(sa_family_t)) != 0) return -1;
    if (getsockname(receiver, (void *)&address, &len) != 0) return -1;
    size_t bytes = len - offsetof(struct sockaddr_un, sun_path) - 1;
    snprintf(name, sizeof name, "@%.*s", (int)bytes, address.sun_path + 1);
    setenv("NOTIFY_SOCKET", name, 1);
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    clock_set_fake_ms(NOW_MS);
    return 0;
}

static int leave(void **state)
{
    clock_set_fake_ms(0);
    unsetenv("NOTIFY_SOCKET");
    return close(receiver);
}

/* The next message; "" when there is none. */
static const char *next(void)
{
    static char text[1000];
    ssize_t n = recv(receiver, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static void progress_is_sent_at_once_and_then_once_a_second(void **state)
{
    struct service v;
    service_init(&v);
    service_progress(&v, "%d of %d", 1, 9);
    assert_string_equal(next(), "STATUS=1 of 9\nEXTEND_TIMEOUT_USEC=120000000");
    service_progress(&v, "2");
    clock_set_fake_ms(NOW_MS + 999);
    service_progress(&v, "3");
    assert_string_equal(next(), "");
    clock_set_fake_ms(NOW_MS + 1000);
    service_progress(&v, "4");
    assert_string_equal(next(), "STATUS=4\nEXTEND_TIMEOUT_USEC=120000000");
}

static void ready_is_said_once_and_ends_progress(void **state)
{
    struct service v;
    service_init(&v);
    service_ready(&v, "serving");
    assert_string_equal(next(), "READY=1\nSTATUS=serving");
    service_ready(&v, "serving");
    clock_set_fake_ms(NOW_MS + 5000);
    service_progress(&v, "x");
    assert_string_equal(next(), "");
}

static void a_reload_is_told_of_a_server_that_is_ready_only(void **state)
{
    struct service v;
    char wanted[100];
    service_init(&v);
    service_reloading(&v);
    service_reloaded(&v);
    assert_string_equal(next(), "");
    service_ready(&v, "serving");
    (void)next();
    service_reloading(&v);
    snprintf(wanted, sizeof wanted, "RELOADING=1\nMONOTONIC_USEC=%lld", NOW_MS * 1000);
    assert_string_equal(next(), wanted);
    service_reloaded(&v);
    assert_string_equal(next(), "READY=1");
}

static void the_stop_is_told_once_from_any_state(void **state)
{
    struct service v;
    for (int is_ready = 0; is_ready < 2; is_ready++) {
        service_init(&v);
        if (is_ready) service_ready(&v, "serving");
        if (is_ready) (void)next();
        service_stopping(&v, "why");
        assert_string_equal(next(), "STOPPING=1\nSTATUS=why");
        service_stopping(&v, "again");
        service_reloading(&v);
        service_reloaded(&v);
        service_ready(&v, "no");
        assert_string_equal(next(), "");
    }
}

static void the_watchdog_is_fed_at_half_of_its_time(void **state)
{
    struct service v;
    setenv("WATCHDOG_USEC", "3000000", 1);
    service_init(&v);
    service_tick(&v);
    assert_string_equal(next(), "");
    service_ready(&v, "serving");
    (void)next();
    service_tick(&v);
    assert_string_equal(next(), "WATCHDOG=1");
    clock_set_fake_ms(NOW_MS + 1499);
    service_tick(&v);
    assert_string_equal(next(), "");
    clock_set_fake_ms(NOW_MS + 1500);
    service_tick(&v);
    assert_string_equal(next(), "WATCHDOG=1");
    service_tick(&v);
    assert_string_equal(next(), "");
}

static void a_watchdog_of_another_process_or_none_is_not_fed(void **state)
{
    struct service v;
    service_init(&v);
    service_ready(&v, "serving");
    (void)next();
    service_tick(&v);
    assert_string_equal(next(), "");
    setenv("WATCHDOG_USEC", "3000000", 1);
    setenv("WATCHDOG_PID", "1", 1);
    service_init(&v);
    service_ready(&v, "serving");
    (void)next();
    service_tick(&v);
    assert_string_equal(next(), "");
}

static void without_a_socket_nothing_happens(void **state)
{
    struct service v;
    unsetenv("NOTIFY_SOCKET");
    service_init(&v);
    service_progress(&v, "x");
    service_ready(&v, "x");
    service_stopping(&v, "x");
    assert_int_equal(v.state, SERVICE_STOPPING);
    assert_string_equal(next(), "");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(progress_is_sent_at_once_and_then_once_a_second),
        TEST(ready_is_said_once_and_ends_progress),
        TEST(a_reload_is_told_of_a_server_that_is_ready_only),
        TEST(the_stop_is_told_once_from_any_state),
        TEST(the_watchdog_is_fed_at_half_of_its_time),
        TEST(a_watchdog_of_another_process_or_none_is_not_fed),
        TEST(without_a_socket_nothing_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
