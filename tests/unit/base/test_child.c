/* child: what a child says arrives whole and in order; how it ended is told; a signal ends it and
 * not the caller, nor does one that comes before or after, until the caller has removed what it made.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/child.h"

#define MANY 20000

struct said {
    size_t count, bytes;
    uint32_t last;
    bool is_in_order;
    pid_t parent;
};

static void take(void *arg, struct slice message)
{
    struct said *s = arg;
    uint32_t number = message.len >= 4 ? get_u32(message.data) : 0;
    s->is_in_order = (s->count == 0 || number == s->last + 1) && (s->count == 0 || s->is_in_order);
    s->last = number;
    s->count++;
    s->bytes += message.len;
}

static void say_many(void *arg, int out)
{
    uint8_t bytes[4];
    for (uint32_t i = 1; i <= MANY; i++) {
        put_u32(bytes, i);
        child_say(out, slice_of(bytes, sizeof bytes));
    }
}

static void say_long(void *arg, int out)
{
    uint8_t *bytes = calloc(1, CHILD_MESSAGE_MAX);
    child_say(out, slice_of(bytes, 0));
    child_say(out, slice_of(bytes, CHILD_MESSAGE_MAX));
    free(bytes);
}

static void say_and_die(void *arg, int out)
{
    say_many(arg, out);
    raise(SIGUSR1);
}

static void be_killed(void *arg, int out)
{
    raise(SIGKILL);
}

static void end_with_3(void *arg, int out)
{
    _exit(3);
}

static void signal_parent(void *arg, int out)
{
    const struct said *s = arg;
    kill(s->parent, SIGTERM);
    for (;;) pause();
}

static enum err run(void (*what)(void *arg, int out), struct said *s, struct child *c,
                    struct error *e)
{
    *s = (struct said){.parent = getpid()};
    *c = (struct child){.run = what, .take = take, .arg = s};
    child_hold(c);
    enum err r = child_run(c, e);
    if (c->signal == 0) child_release(c);
    return r;
}

static void wait_for_ever(void *arg, int out)
{
    for (;;) pause();
}

static volatile sig_atomic_t delivered;

static void on_signal(int number)
{
    delivered = number;
}

/* The signal comes with the release, not before it. */
static void released_by(const struct child *c, int number)
{
    struct sigaction was;
    const struct sigaction mine = {.sa_handler = on_signal};
    delivered = 0;
    sigaction(number, &mine, &was);
    assert_int_equal(delivered, 0);
    child_release(c);
    assert_int_equal(delivered, number);
    sigaction(number, &was, NULL);
}

static void what_is_said_arrives_in_order(void **state)
{
    struct said s;
    struct child c;
    struct error e;
    assert_int_equal(run(say_many, &s, &c, &e), OK);
    assert_int_equal(s.count, MANY);
    assert_true(s.is_in_order);
    assert_int_equal(c.signal, 0);
}

static void a_message_may_be_empty_or_long(void **state)
{
    struct said s;
    struct child c;
    struct error e;
    assert_int_equal(run(say_long, &s, &c, &e), OK);
    assert_int_equal(s.count, 2);
    assert_int_equal(s.bytes, CHILD_MESSAGE_MAX);
}

static void a_death_is_told_after_all_that_was_said(void **state)
{
    struct said s;
    struct child c;
    struct error e;
    assert_int_equal(run(say_and_die, &s, &c, &e), ERR_CORRUPT);
    assert_int_equal(s.count, MANY);
    assert_string_equal(e.text, "it was terminated by signal 10");
}

static void a_child_that_is_killed_has_found_nothing_out(void **state)
{
    struct said s;
    struct child c;
    struct error e;
    assert_int_equal(run(be_killed, &s, &c, &e), ERR_IO);
    assert_int_equal(c.signal, 0);
}

static void a_status_is_told(void **state)
{
    struct said s;
    struct child c;
    struct error e;
    assert_int_equal(run(end_with_3, &s, &c, &e), ERR_CORRUPT);
    assert_string_equal(e.text, "it exited with status 3");
}

static void a_signal_ends_the_child(void **state)
{
    struct said s;
    struct child c;
    struct error e;
    assert_int_equal(run(signal_parent, &s, &c, &e), ERR_IO);
    assert_int_equal(c.signal, SIGTERM);
    released_by(&c, SIGTERM);
}

static void a_signal_before_the_child_ends_it(void **state)
{
    struct said s = {.parent = getpid()};
    struct child c = {.run = wait_for_ever, .take = take, .arg = &s};
    struct error e;
    child_hold(&c);
    raise(SIGHUP);
    assert_int_equal(child_run(&c, &e), ERR_IO);
    assert_int_equal(c.signal, SIGHUP);
    released_by(&c, SIGHUP);
}

static void a_signal_after_the_child_waits_for_the_release(void **state)
{
    struct said s = {.parent = getpid()};
    struct child c = {.run = say_many, .take = take, .arg = &s};
    struct error e;
    child_hold(&c);
    assert_int_equal(child_run(&c, &e), OK);
    raise(SIGINT);
    assert_int_equal(c.signal, 0);
    released_by(&c, SIGINT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_arrives_in_order),
        cmocka_unit_test(a_message_may_be_empty_or_long),
        cmocka_unit_test(a_death_is_told_after_all_that_was_said),
        cmocka_unit_test(a_child_that_is_killed_has_found_nothing_out),
        cmocka_unit_test(a_status_is_told),
        cmocka_unit_test(a_signal_ends_the_child),
        cmocka_unit_test(a_signal_before_the_child_ends_it),
        cmocka_unit_test(a_signal_after_the_child_waits_for_the_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
