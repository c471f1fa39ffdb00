/* The judge of campaigns: a history that can be explained is, and each kind of lie is found, by a
 * text that names the operations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "campaign/judge.h"

static char said[8192];

static struct judge_result judge(const char *const *lines, size_t count)
{
    struct history h;
    FILE *out = fmemopen(said, sizeof said, "w");
    history_init(&h);
    for (size_t i = 0; i < count; i++) {
        if (!history_take_line(&h, lines[i])) fail_msg("cannot be read: %s", lines[i]);
    }
    struct judge_result r = judge_history(&h, out);
    history_fini(&h);
    fclose(out);
    if (r.problems == 0) said[0] = '\0';
    return r;
}

#define LINES(...)                                                                                 \
    ((const char *const[]){__VA_ARGS__}),                                                          \
        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)

static void good(const char *const *lines, size_t count)
{
    struct judge_result r = judge(lines, count);
    if (r.problems != 0) fail_msg("%s", said);
}

/* One problem, with this text. */
static void bad(const char *wanted, const char *const *lines, size_t count)
{
    struct judge_result r = judge(lines, count);
    if (r.problems != 1 || strstr(said, wanted) == NULL) {
        fail_msg("%zu problems, wanted: %s, said: %s", r.problems, wanted, said);
    }
}

static void what_can_have_happened_is_good(void **state)
{
    good(LINES("# nothing", ""));
    good(LINES("write a 10 20 1 mark m1 set x 5", "write b 12 30 2 mark m2 add x 2 7",
               "write c 40 50 ! mark m3 set x 0", "write d 41 49 ? mark m4 del x",
               "write e 42 49 ? mark m5 del x", "write f 60 70 5 check x 0 set x 1 enqueue 7",
               "read r 11 13 x nil 0", "read s 11 31 x 5 1", "read t 55 58 x nil 0 m4 1 3",
               "read u 55 75 x * 5", "take g 75 80 7 1", "take h 81 82 7 3",
               "write i 90 95 6 ack 7 add done 1 1", "feed 1 m1 1", "feed 1 x 5", "feed 2 m2 1",
               "feed 2 x 7", "feed 3 m4 1", "feed 3 x nil", "feed 5 x 1", "feed 6 done 1",
               "final m1 1 1", "final m2 1 2", "final m4 1 3", "final x 1 5", "final done 1 6",
               "queue 1 1 0 0"));
}

static void what_was_acknowledged_is_counted(void **state)
{
    const char *const lines[] = {"write a 10 2000 1 mark m1",
                                 "write b 10 9000 2 mark m2",
                                 "write c 10 11 ! mark m3",
                                 "write d 10 11 ? mark m4",
                                 "read r 9001 9002 m1 1 1",
                                 "stop 9600",
                                 "take t 9001 9003 7 1",
                                 "write e 5 9500 3 enqueue 7 mark m5",
                                 "write f 9700 99000 4 ack 7 mark m6",
                                 "feed 1 m1 1",
                                 "feed 2 m2 1",
                                 "feed 3 m5 1",
                                 "feed 4 m6 1",
                                 "final m1 1 1",
                                 "final m2 1 2",
                                 "final m5 1 3",
                                 "final m6 1 4"};
    struct judge_result r = judge(lines, sizeof lines / sizeof *lines);
    assert_string_equal(said, "");
    assert_int_equal(r.acknowledged, 4);
    assert_int_equal(r.unknown, 1);
    assert_int_equal(r.refused, 1);
    assert_int_equal(r.reads, 1);
    assert_int_equal(r.takes, 1);
    assert_int_equal(r.gap_us, 7000);
}

static void a_version_has_twenty_digits_of_which_sixteen_count(void **state)
{
    good(LINES("write a 1 2 00000000000000100000 mark m", "feed 00000000000000100000 m 1",
               "final m 1 10"));
}

static void a_lost_write_is_found(void **state)
{
    bad("write a is lost: it was acknowledged as 1",
        LINES("write a 10 20 1 mark m1 set x 5", "write b 30 40 2 set y 1", "feed 2 y 1",
              "final y 1 2"));
    bad("at the end x is not there, should be 5 of 1",
        LINES("write a 10 20 1 set x 5", "feed 1 x 5"));
    bad("at the end x is 4 of 1, should be 5 of 1",
        LINES("write a 10 20 1 set x 5", "feed 1 x 5", "final x 4 1"));
    bad("write a (1) has 1 rows in the feed, should have 2",
        LINES("write a 10 20 1 mark m set x 5", "feed 1 m 1", "final m 1 1", "final x 5 1"));
}

static void what_nobody_wrote_is_found(void **state)
{
    bad("version 1 (key x) is no write of the history", LINES("feed 1 x 5", "final x 5 1"));
    bad("write a was refused, but happened as 1",
        LINES("write a 10 20 ! mark m", "feed 1 m 1", "final m 1 1"));
    bad("write a (1): x is 6, should be 5",
        LINES("write a 10 20 1 set x 5", "feed 1 x 6", "final x 6 1"));
}

static void a_version_that_is_given_twice_is_found(void **state)
{
    judge(LINES("write a 10 20 1 set x 5", "write b 10 20 1 set y 5", "feed 1 x 5", "final x 5 1"));
    assert_non_null(strstr(said, "version 1 was given twice: to a and b"));
    bad("feed: version 1 comes after 2",
        LINES("write a 10 20 1 set x 5", "write b 10 20 2 set y 5", "feed 2 y 5", "feed 1 x 5"));
    bad("write a was acknowledged as 2, but is 1",
        LINES("write a 10 20 2 mark m", "feed 1 m 1", "final m 1 1"));
}

static void a_write_that_happened_twice_is_found(void **state)
{
    judge(LINES("write a 10 20 1 mark m add x 1 1", "feed 1 m 1", "feed 1 x 1", "feed 2 m 1",
                "feed 2 x 2", "final m 1 2", "final x 2 2"));
    assert_non_null(strstr(said, "write a happened twice: versions 1 and 2"));
    /* Without a mark: a second one that no client sent. */
    judge(LINES("write a 10 20 1 add x 1 1", "feed 1 x 1", "feed 2 x 2", "final x 2 2"));
    assert_non_null(strstr(said, "version 2 (key x) is no write of the history"));
    /* One of unknown outcome explains one commit, not two. */
    judge(LINES("write a 10 20 ? add x 1 ?", "feed 1 x 1", "feed 2 x 2", "final x 2 2"));
    assert_non_null(strstr(said, "version 2 (key x) is no write of the history"));
    bad("write b (2) was told that x is 1, it was 2",
        LINES("write a 10 20 1 add x 1 1", "write b 10 20 2 add x 1 1", "feed 1 x 1", "feed 2 x 2",
              "final x 2 2"));
}

static void a_check_that_did_not_hold_is_found(void **state)
{
    bad("write c (3): its check of x held for 1, not 2",
        LINES("write a 10 20 1 set x 5", "write b 10 20 2 set x 6",
              "write c 10 30 3 check x 1 set x 7", "feed 1 x 5", "feed 2 x 6", "feed 3 x 7",
              "final x 7 3"));
}

static void a_stale_read_is_found(void **state)
{
    bad("read r saw x of 1, stale or torn: b had ended before, at 2",
        LINES("write a 10 20 1 set x 5", "write b 30 40 2 set x 6", "read r 41 42 x 5 1",
              "feed 1 x 5", "feed 2 x 6", "final x 6 2"));
    /* It began before b had ended: both are right. */
    good(LINES("write a 10 20 1 set x 5", "write b 30 40 2 set x 6", "read r 39 42 x 5 1",
               "feed 1 x 5", "feed 2 x 6", "final x 6 2"));
    /* What one read has seen, the next one must not miss, even of a write without a reply. */
    bad("read s saw x of 1, stale or torn: r had ended before, at 2",
        LINES("write a 10 20 1 set x 5", "write b 30 40 ? mark m set x 6", "read r 41 42 x 6 2",
              "read s 43 44 x 5 1", "feed 1 x 5", "feed 2 m 1", "feed 2 x 6", "final x 6 2",
              "final m 1 2"));
    bad("read r saw x of 0, stale or torn: a had ended before",
        LINES("write a 10 20 1 set x 5", "read r 21 22 x nil 0", "feed 1 x 5", "final x 5 1"));
    bad("read r saw x as 4 of 1, which never was",
        LINES("write a 10 20 1 set x 5", "read r 21 22 x 4 1", "feed 1 x 5", "final x 5 1"));
    bad("read r saw x as 5 of 2, which never was",
        LINES("write a 10 20 1 set x 5", "read r 21 22 x 5 2", "feed 1 x 5", "final x 5 1"));
}

static void a_torn_read_is_found(void **state)
{
    const char *lines[] = {"write a 10 20 1 set x 5 set y 5",
                           "write b 10 99 2 set x 4 set y 6",
                           "read r 30 40 x 4 2 y 5 1",
                           "feed 1 x 5",
                           "feed 1 y 5",
                           "feed 2 x 4",
                           "feed 2 y 6",
                           "final x 4 2",
                           "final y 6 2"};
    bad("read r saw y of 1, stale or torn", lines, 9);
    lines[2] = "read r 30 40 x 4 2 y 6 2";
    good(lines, 9);
    lines[2] = "read r 30 40 x 5 1 y 5 1";
    good(lines, 9);
}

static void a_look_may_be_old_but_never_older(void **state)
{
    const char *lines[] = {"write a 10 20 1 set x 5",
                           "write b 30 40 2 set x 6",
                           "look r 50 60 7 x 5 1",
                           "look s 70 80 7 x 6 2",
                           "look t 90 99 8 x 5 1",
                           "feed 1 x 5",
                           "feed 2 x 6",
                           "final x 6 2"};
    good(lines, 8);
    lines[4] = "look t 90 99 7 x 5 1";
    bad("read t saw x of 1, stale or torn: s had ended before, at 2", lines, 8);
    lines[4] = "look t 15000040 15000099 8 x 5 1";
    good(lines, 8);
    lines[4] = "look t 15000041 15000099 8 x 5 1";
    bad("read t saw x of 1, stale or torn: b had ended before, at 2", lines, 8);
    lines[4] = "look t 90 99 8 x 4 1";
    bad("read t saw x as 4 of 1, which never was", lines, 8);
    /* What was seen has happened for all. */
    bad("read r saw x of 0, stale or torn: s had ended before, at 1",
        LINES("write a 10 20 ? mark m set x 5", "look s 20 30 0 x 5 1", "read r 40 50 x nil 0",
              "feed 1 m 1", "feed 1 x 5", "final x 5 1", "final m 1 1"));
}

static void what_is_out_of_order_is_found(void **state)
{
    bad("write b has version 1, but began after a had ended, at 2",
        LINES("write a 10 20 2 set x 5", "write b 30 40 1 set y 6", "feed 1 y 6", "feed 2 x 5",
              "final x 5 2", "final y 6 1"));
    bad("write b has version 2, but began after r had ended, at 2",
        LINES("write b 30 40 2 set y 6", "read r 10 20 y 6 2", "feed 2 y 6", "final y 6 2"));
}

static void a_lost_message_is_found(void **state)
{
    bad("message 7 of a is lost: enqueued, never acknowledged",
        LINES("write a 10 20 1 mark m enqueue 7", "take b 30 40 7 1", "feed 1 m 1", "final m 1 1"));
    bad("message 7 was acknowledged by b, but delivered to nobody",
        LINES("write a 10 20 1 mark m enqueue 7", "write b 30 40 2 mark n ack 7", "feed 1 m 1",
              "feed 2 n 1", "final m 1 1", "final n 1 2"));
}

#define MESSAGE                                                                                    \
    "write a 10 20 1 mark m enqueue 7", "write b 50 60 2 mark n ack 7", "feed 1 m 1",              \
        "feed 2 n 1", "final m 1 1", "final n 1 2"

static void a_message_that_comes_wrongly_is_found(void **state)
{
    good(LINES(MESSAGE, "take c 30 40 7 1"));
    bad("take d: message 8 was enqueued by nobody",
        LINES(MESSAGE, "take c 30 40 7 1", "take d 30 40 8 1"));
    bad("take c: message 7 came before a enqueued it", LINES(MESSAGE, "take c 1 5 7 1"));
    bad("take d: message 7 came after b had acknowledged it",
        LINES(MESSAGE, "take c 30 40 7 1", "take d 61 70 7 2"));
    bad("message 7 was delivered twice as attempt 1: c and d",
        LINES(MESSAGE, "take c 30 40 7 1", "take d 41 42 7 1"));
    bad("the queue says 2 enqueued, should be 1",
        LINES(MESSAGE, "take c 30 40 7 1", "queue 2 1 0 0"));
    bad("the queue says 1 left, should be 0", LINES(MESSAGE, "take c 30 40 7 1", "queue 1 1 1 0"));
    bad("message 7 was acknowledged twice: by b and e",
        LINES(MESSAGE, "take c 30 40 7 1", "write e 10 70 3 mark o ack 7", "feed 3 o 1",
              "final o 1 3"));
}

static void a_line_that_is_no_history_is_refused(void **state)
{
    static const char *const lines[] = {"write a 10 20",    "write a 10 20 1 jump x",
                                        "read a 10 20 x",   "write a 10 x 1 set x 5",
                                        "wrote a",          "feed x",
                                        "queue 1 2",        "write a 20 10 1 set x 5",
                                        "take a 1 2 3 4 5", "feed 12345678901234567890123 x 1"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct history h;
        history_init(&h);
        if (history_take_line(&h, lines[i])) fail_msg("was taken: %s", lines[i]);
        history_fini(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_can_have_happened_is_good),
        cmocka_unit_test(what_was_acknowledged_is_counted),
        cmocka_unit_test(a_version_has_twenty_digits_of_which_sixteen_count),
        cmocka_unit_test(a_lost_write_is_found),
        cmocka_unit_test(what_nobody_wrote_is_found),
        cmocka_unit_test(a_version_that_is_given_twice_is_found),
        cmocka_unit_test(a_write_that_happened_twice_is_found),
        cmocka_unit_test(a_check_that_did_not_hold_is_found),
        cmocka_unit_test(a_stale_read_is_found),
        cmocka_unit_test(a_torn_read_is_found),
        cmocka_unit_test(a_look_may_be_old_but_never_older),
        cmocka_unit_test(what_is_out_of_order_is_found),
        cmocka_unit_test(a_lost_message_is_found),
        cmocka_unit_test(a_message_that_comes_wrongly_is_found),
        cmocka_unit_test(a_line_that_is_no_history_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
