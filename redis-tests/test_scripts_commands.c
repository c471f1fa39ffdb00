/* How many commands a script may run, and what it may write: as many operations as a transaction may
 * have, but not fewer than 100,000; the errors name the setting.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"

/* What the server allows by default, and in any case. */
#define CALLS 100000

static redisContext *c;

static int start(void **state)
{
    group_opens(&c, NULL);
    server = testserver_start(&(struct testserver_options){.is_release = true});
    return 0;
}

static int enter(void **state)
{
    group_enter(state);
    expect(c, "+OK", "CONFIG SET script-time-limit 600000 max-transaction-ops 20000");
    return 0;
}

/* Reads ARGV[1] times, then writes once. */
#define READS                                                                                      \
    "for i = 1, ARGV[1] do redis.call('exists', 'nothing') end return redis.call('incr', KEYS[1])"
/* Writes ARGV[1] keys. */
#define WRITES "for i = 1, ARGV[1] do redis.call('set', KEYS[1] .. i, i) end return 'written'"

static void the_last_one_too_many_ends_it(void **state)
{
    (void)state;
    expect(c, "-LIMIT a script may run 100000 commands (max-transaction-ops, but at least 100000)*",
           "EVAL %s 1 n %d", READS, CALLS);
    expect(c, "(nil)", "GET n");
}

static void it_may_write_more_than_others(void **state)
{
    (void)state;
    expect(c, "written", "EVAL %s 1 k %d", WRITES, CALLS / 2);
    expect(c, ":50000", "DBSIZE");
    expect(c, "50000", "GET k50000");
}

static void more_operations_let_it_run_more(void **state)
{
    (void)state;
    expect(c, "+OK", "CONFIG SET max-transaction-ops 1000000");
    expect(c, ":1", "EVAL %s 1 n %d", READS, CALLS);
}

/* Few commands, of which each takes long. */
static void what_its_commands_take_is_limited_too(void **state)
{
    (void)state;
    expect(c, ":1000000", "SETRANGE long 999999 x");
    expect(c, "-LIMIT the commands of a script may use 200 ms of processor time in total: 2 us *",
           "EVAL %s 0", "for i = 1, 90000 do redis.call('bitcount', 'long') end return 'counted'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_last_one_too_many_ends_it, enter, group_leave),
        cmocka_unit_test_setup_teardown(it_may_write_more_than_others, enter, group_leave),
        cmocka_unit_test_setup_teardown(more_operations_let_it_run_more, enter, group_leave),
        cmocka_unit_test_setup_teardown(what_its_commands_take_is_limited_too, enter, group_leave),
    };
    return cmocka_run_group_tests_name("commands of scripts", tests, start, group_stop);
}
