/* Tests of state machines and of what is kept of their moves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/machine.h"

enum door_state { DOOR_OPEN, DOOR_SHUT, DOOR_LOCKED };

struct door {
    enum door_state state;
};

static const struct machine machine = {
    .name = "door",
    .states = {"open", "shut", "locked"},
    .allowed = {[DOOR_OPEN] = TO(DOOR_SHUT),
                [DOOR_SHUT] = TO(DOOR_OPEN) | TO(DOOR_LOCKED),
                [DOOR_LOCKED] = TO(DOOR_SHUT)},
};

static void door_move(struct door *d, enum door_state to)
{
    MACHINE_MOVE(&machine, d, state, to);
}

static void the_moves_of_a_host_are_kept_while_it_is_on(void **state)
{
    struct host h;
    struct host *before = NULL;
    struct door d = {DOOR_OPEN};
    struct trace_move moves[10];
    (void)state;
    host_init(&h);
    before = host_use(&h);
    clock_set_fake_ms(1000);
    door_move(&d, DOOR_SHUT);
    assert_int_equal(trace_read(moves, 10), 0);
    trace_switch(true);
    door_move(&d, DOOR_LOCKED);
    door_move(&d, DOOR_SHUT);
    assert_int_equal(d.state, DOOR_SHUT);
    trace_switch(false);
    door_move(&d, DOOR_OPEN);
    assert_int_equal(trace_read(moves, 10), 2);
    assert_int_equal(moves[0].number, 1);
    assert_ptr_equal(moves[0].machine, &machine);
    assert_ptr_equal(moves[0].which, &d);
    assert_int_equal(moves[0].from, DOOR_SHUT);
    assert_int_equal(moves[0].to, DOOR_LOCKED);
    assert_true(moves[0].at_us == 1000000);
    assert_int_equal(moves[1].number, 2);
    assert_int_equal(moves[1].to, DOOR_SHUT);
    assert_int_equal(trace_read(moves, 1), 1);
    assert_int_equal(moves[0].number, 2);
    trace_switch(true);
    assert_int_equal(trace_read(moves, 10), 0);
    (void)host_use(before);
    host_fini(&h);
}

static void the_newest_are_kept(void **state)
{
    struct host h;
    struct door d = {DOOR_OPEN};
    (void)state;
    host_init(&h);
    struct host *before = host_use(&h);
    trace_switch(true);
    for (int i = 0; i < TRACE_MOVES + 100; i++) door_move(&d, i % 2 == 0 ? DOOR_SHUT : DOOR_OPEN);
    struct trace_move *moves = malloc((TRACE_MOVES + 1) * sizeof *moves);
    assert_non_null(moves);
    assert_int_equal(trace_read(moves, TRACE_MOVES + 1), TRACE_MOVES);
    for (int i = 0; i < TRACE_MOVES; i++) assert_int_equal(moves[i].number, i + 101);
    free(moves);
    (void)host_use(before);
    host_fini(&h);
}

static void another_host_keeps_its_own(void **state)
{
    struct host one;
    struct host other;
    struct door d = {DOOR_OPEN};
    struct trace_move move;
    (void)state;
    host_init(&one);
    host_init(&other);
    struct host *before = host_use(&one);
    trace_switch(true);
    (void)host_use(&other);
    door_move(&d, DOOR_SHUT);
    assert_int_equal(trace_read(&move, 1), 0);
    (void)host_use(&one);
    assert_int_equal(trace_read(&move, 1), 0);
    (void)host_use(before);
    host_fini(&one);
    host_fini(&other);
}

static void broken(void *arg)
{
    *(bool *)arg = true;
}

static void forbidden(void *arg)
{
    door_move(arg, DOOR_LOCKED);
}

static void a_move_that_is_not_allowed_breaks_an_invariant(void **state)
{
    struct host h;
    struct door d = {DOOR_OPEN};
    bool is_told = false;
    (void)state;
    host_init(&h);
    h.on_broken = broken;
    h.arg = &is_told;
    assert_false(host_try(&h, forbidden, &d));
    assert_true(is_told);
    assert_int_equal(d.state, DOOR_OPEN);
    host_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_moves_of_a_host_are_kept_while_it_is_on),
        cmocka_unit_test(the_newest_are_kept),
        cmocka_unit_test(another_host_keeps_its_own),
        cmocka_unit_test(a_move_that_is_not_allowed_breaks_an_invariant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
