/* host: what a thread lives in, and what is given back when it is broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/host.h"

#define NOW_MS 1700000000000LL
#define LOCK_PATH "build/test_host.lock"

static void each_host_has_its_own_clock_and_faults(void **state)
{
    struct host a;
    struct host b;
    host_init(&a);
    host_init(&b);
    struct host *before = host_use(&a);
    clock_set_fake_ms(NOW_MS);
    clock_step_wall_ms(-1000);
    fault_arm("one.", 2, false);
    fault_set_sync_delay_ms(7);
    assert_int_equal(clock_wall_ms(), NOW_MS - 1000);
    assert_ptr_equal(host_use(&b), &a);
    assert_true(clock_wall_ms() > NOW_MS);
    assert_int_equal(fault_sync_delay_ms(), 0);
    for (int i = 0; i < 5; i++) assert_false(fault_hit("one.point"));
    (void)host_use(&a);
    assert_false(fault_hit("one.point"));
    assert_true(fault_hit("one.point"));
    assert_int_equal(fault_calls(), 2);
    assert_int_equal(fault_sync_delay_ms(), 7);
    (void)host_use(before);
    host_fini(&a);
    host_fini(&b);
}

static void a_thread_without_a_host_has_the_real_clock_and_no_faults(void **state)
{
    struct host *before = host_used();
    clock_set_fake_ms(NOW_MS);
    fault_arm("", 1, true);
    assert_true(fault_hit("any"));
    (void)host_use(NULL);
    assert_null(host_used());
    assert_true(clock_wall_ms() > NOW_MS + 1000);
    assert_false(fault_hit("any"));
    (void)host_use(before);
    clock_set_fake_ms(0);
    fault_arm("", 0, false);
}

static void a_host_begins_with_the_clock_and_the_faults_of_another(void **state)
{
    struct host a;
    struct host *before = host_used();
    clock_set_fake_ms(NOW_MS);
    fault_arm("one.", 2, false);
    fault_set_read_delay_ms(3);
    fault_set_reads_wait(true);
    host_init(&a);
    host_inherit(&a, before);
    clock_set_fake_ms(0);
    fault_arm("", 0, false);
    fault_set_read_delay_ms(0);
    fault_set_reads_wait(false);
    (void)host_use(&a);
    assert_int_equal(clock_wall_ms(), NOW_MS);
    assert_int_equal(fault_read_delay_ms(), 3);
    assert_true(fault_reads_wait());
    assert_false(fault_hit("one."));
    assert_true(fault_hit("one."));
    (void)host_use(before);
    host_fini(&a);
}

/* ---- broken ---- */

struct ends {
    struct host host;
    int told;     /* that it broke */
    int returned; /* from work, which did not */
    int outer;    /* times that the outer work went on */
    struct host_thing things[3];
    int order[3];
    int given;
    struct file file;
    int lock_fd;
    int fds[2];
};

static void on_broken(void *arg)
{
    struct ends *n = arg;
    n->told++;
    assert_true(host_is_broken(&n->host));
    assert_string_equal(host_why(&n->host), "number 7 is wrong");
}

static void ends_init(struct ends *n)
{
    *n = (struct ends){.told = 0};
    host_init(&n->host);
    n->host.on_broken = on_broken;
    n->host.arg = n;
}

static void break_it(void *arg)
{
    struct ends *n = arg;
    assert_ptr_equal(host_used(), &n->host);
    if (n->told < 10) die("number %d is wrong", 7);
    n->returned++;
}

static void try_inside(void *arg)
{
    struct ends *n = arg;
    assert_false(host_try(&n->host, break_it, n));
    n->outer++;
}

static void nothing(void *arg)
{
    (void)arg;
}

static void what_breaks_is_left_and_said_once(void **state)
{
    struct ends n;
    struct host *before = host_used();
    ends_init(&n);
    assert_true(host_try(&n.host, nothing, NULL));
    assert_false(host_is_broken(&n.host));
    assert_string_equal(host_why(&n.host), "");
    assert_false(host_try(&n.host, break_it, &n));
    assert_false(host_try(&n.host, break_it, &n));
    assert_ptr_equal(host_used(), before);
    assert_int_equal(n.told, 1);
    assert_int_equal(n.returned, 0);
    host_fini(&n.host);
}

static void only_the_innermost_is_left(void **state)
{
    struct ends n;
    ends_init(&n);
    assert_true(host_try(&n.host, try_inside, &n));
    assert_int_equal(n.outer, 1);
    host_fini(&n.host);
}

static struct ends *given_to;

static void give(struct host_thing *t)
{
    struct ends *n = given_to;
    n->order[n->given++] = (int)(t - n->things);
    if (t == &n->things[0]) {
        assert_int_equal(fcntl(n->fds[0], F_GETFD), FD_CLOEXEC); /* files come after all */
    }
}

static void hold_and_break(void *arg)
{
    struct ends *n = arg;
    struct error e;
    assert_int_equal(file_lock(LOCK_PATH, &n->lock_fd, &e), OK);
    assert_int_equal(file_open(&n->file, "/dev/null", FILE_READ, &e), OK);
    n->fds[0] = n->lock_fd;
    n->fds[1] = n->file.fd;
    host_note(&n->things[0], HOST_FILES, give);
    host_note(&n->things[1], HOST_THREADS, give);
    host_note(&n->things[2], HOST_THREADS, give);
    die("number %d is wrong", 7);
}

static void what_it_has_of_the_system_is_given_back_threads_first(void **state)
{
    struct ends n;
    struct error e;
    int fd = -1;
    ends_init(&n);
    given_to = &n;
    assert_false(host_try(&n.host, hold_and_break, &n));
    assert_int_equal(file_lock(LOCK_PATH, &fd, &e), ERR_LOCKED);
    host_give_back(&n.host);
    assert_int_equal(n.given, 3);
    assert_int_equal(n.order[0], 2);
    assert_int_equal(n.order[1], 1);
    assert_int_equal(n.order[2], 0);
    assert_int_equal(fcntl(n.fds[1], F_GETFD), -1);
    assert_int_equal(file_lock(LOCK_PATH, &fd, &e), OK);
    file_unlock(fd);
    assert_int_equal(unlink(LOCK_PATH), 0);
    /* That of the name is a small thing: it is lost with the rest in earnest. */
    n.file.fd = -1;
    file_close(&n.file);
    host_fini(&n.host);
}

static void hold_and_let_go(void *arg)
{
    struct ends *n = arg;
    struct error e;
    assert_int_equal(file_open(&n->file, "/dev/null", FILE_READ, &e), OK);
    host_note(&n->things[0], HOST_FILES, give);
    host_forget(&n->things[0]);
    host_forget(&n->things[0]);
    file_close(&n->file);
}

static void what_was_closed_before_is_not_closed_again(void **state)
{
    struct ends n;
    ends_init(&n);
    given_to = &n;
    assert_true(host_try(&n.host, hold_and_let_go, &n));
    int fd = open("/dev/null", O_RDONLY); /* has the same number, mostly */
    assert_true(fd >= 0);
    host_give_back(&n.host);
    assert_int_equal(n.given, 0);
    assert_true(fcntl(fd, F_GETFD) >= 0);
    close(fd);
    host_fini(&n.host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_host_has_its_own_clock_and_faults),
        cmocka_unit_test(a_thread_without_a_host_has_the_real_clock_and_no_faults),
        cmocka_unit_test(a_host_begins_with_the_clock_and_the_faults_of_another),
        cmocka_unit_test(what_breaks_is_left_and_said_once),
        cmocka_unit_test(only_the_innermost_is_left),
        cmocka_unit_test(what_it_has_of_the_system_is_given_back_threads_first),
        cmocka_unit_test(what_was_closed_before_is_not_closed_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
