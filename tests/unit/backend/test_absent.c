/* The filter of absent keys: it says no of keys that the store does not have, without asking it, and
 * never of one that is there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "unit/backend/local_help.h"

#define KEYS 2000

static void open_with(struct rig *r, uint64_t reads_min, uint64_t cache_bytes)
{
    rig_init(r);
    r->options.absent_reads_min = reads_min;
    r->options.cache_bytes = cache_bytes;
    r->options.memtable_bytes = 16 << 20;
    r->local.flush_rows = 1;
    rig_open(r);
}

static void fill(struct rig *r, const char *kind, int count)
{
    for (int i = 0; i < count; i++) rig_set(r, key_of(0, "%s%d", kind, i), slice_str("v"));
    rig_apply(r);
}

static enum absent_state state_of(struct rig *r)
{
    return ((struct pipeline *)r->b)->newest.absent.state;
}

/* Reads keys that are not there until it is made. */
static void ask_until(struct rig *r, enum absent_state wanted)
{
    for (int i = 0; i < STEPS_MAX && state_of(r) != wanted; i++) {
        rig_expect(r, key_of(0, "asked%d", i), NULL);
        rig_step(r);
    }
    assert_int_equal(state_of(r), wanted);
}

static uint64_t reads_of_store(struct rig *r)
{
    struct backend_stats s;
    backend_stats(r->b, &s);
    return s.store_reads;
}

static void most_absent_keys_are_known_without_the_store(void **state)
{
    (void)state;
    struct rig r;
    open_with(&r, 10, 1 << 20);
    fill(&r, "k", KEYS);
    ask_until(&r, ABSENT_ON);
    uint64_t before = reads_of_store(&r);
    for (int i = 0; i < KEYS; i++) rig_expect(&r, key_of(0, "no%d", i), NULL);
    assert_in_range(reads_of_store(&r) - before, 0, KEYS / 10);
    for (int i = 0; i < KEYS; i++) rig_expect(&r, key_of(0, "k%d", i), "v");
    rig_close(&r);
    rig_fini(&r);
}

/* What is written while it is made, and after. */
static void no_key_that_is_there_is_said_to_be_absent(void **state)
{
    (void)state;
    struct rig r;
    open_with(&r, 10, 1 << 20);
    fill(&r, "k", KEYS);
    int written = 0;
    for (int i = 0; i < STEPS_MAX && state_of(&r) != ABSENT_ON; i++) {
        rig_expect(&r, key_of(0, "asked%d", i), NULL);
        rig_set(&r, key_of(i % 3, "w%d", written++), slice_str("w"));
        rig_step(&r);
    }
    assert_int_equal(state_of(&r), ABSENT_ON);
    for (int i = 0; i < KEYS; i++) rig_set(&r, key_of(i % 3, "after%d", i), slice_str("a"));
    rig_delete(&r, key_of(0, "k0"));
    rig_apply(&r); /* and nothing of it is in a memtable */
    for (int i = 1; i < KEYS; i++) rig_expect(&r, key_of(0, "k%d", i), "v");
    for (int i = 0; i < KEYS; i++) rig_expect(&r, key_of(i % 3, "after%d", i), "a");
    for (int i = 0; i < written; i++) rig_expect(&r, key_of(i % 3, "w%d", i), "w");
    rig_expect(&r, key_of(0, "k0"), NULL);
    rig_set(&r, key_of(0, "k0"), slice_str("again"));
    rig_apply(&r);
    rig_expect(&r, key_of(0, "k0"), "again");
    rig_close(&r);
    rig_fini(&r);
}

/* Neither the memtable that is written, nor one that waits for the store. Of so many bytes that the
 * entry cache does not have them. */
static void what_is_not_in_the_store_yet_is_in_it(void **state)
{
    (void)state;
    struct rig r;
    char big[1001];
    memset(big, 'b', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    open_with(&r, 10, 1 << 20);
    fill(&r, "k", 10);
    struct pipeline *p = (struct pipeline *)r.b;
    for (int i = 0; i < KEYS; i++) rig_set(&r, key_of(0, "frozen%d", i), slice_str(big));
    pipeline_freeze(p);
    for (int i = 0; i < KEYS; i++) rig_set(&r, key_of(0, "m%d", i), slice_str(big));
    p->newest.absent.seen = 1000;
    pipeline_absent_try(p); /* before anything is applied */
    assert_int_not_equal(state_of(&r), ABSENT_OFF);
    ask_until(&r, ABSENT_ON);
    assert_true(p->stored.applied < p->log.version_newest);
    rig_apply(&r);
    for (int i = 0; i < KEYS; i++) rig_expect(&r, key_of(0, "frozen%d", i), big);
    for (int i = 0; i < KEYS; i++) rig_expect(&r, key_of(0, "m%d", i), big);
    for (int i = 0; i < 10; i++) rig_expect(&r, key_of(0, "k%d", i), "v");
    rig_close(&r);
    rig_fini(&r);
}

/* More memtable entries than are gathered at once. */
static void while_a_larger_one_is_made_the_old_one_answers(void **state)
{
    (void)state;
    struct rig r;
    open_with(&r, 10, 8 << 20);
    fill(&r, "k", 5000);
    ask_until(&r, ABSENT_ON);
    struct pipeline *p = (struct pipeline *)r.b;
    uint64_t room = p->newest.absent.room;
    int written = 0;
    while (written < 200000 && state_of(&r) == ABSENT_ON) {
        rig_set(&r, key_of(0, "more%d", written++), slice_str("m"));
        pipeline_absent_try(p);
    }
    assert_int_equal(state_of(&r), ABSENT_GATHERING);
    uint64_t answers = p->newest.absent.answers;
    for (int i = 0; i < 100; i++) rig_expect(&r, key_of(0, "no%d", i), NULL);
    assert_true(p->newest.absent.answers > answers);
    rig_set(&r, key_of(0, "meanwhile"), slice_str("w"));
    ask_until(&r, ABSENT_ON);
    assert_true(p->newest.absent.room > room);
    rig_apply(&r);
    for (int i = 0; i < written; i++) rig_expect(&r, key_of(0, "more%d", i), "m");
    rig_expect(&r, key_of(0, "meanwhile"), "w");
    rig_close(&r);
    rig_fini(&r);
}

/* Memtables that are held are given back. */
static void it_may_end_while_it_is_made(void **state)
{
    (void)state;
    struct rig r;
    open_with(&r, 10, 8 << 20);
    for (int i = 0; i < 30000; i++) rig_set(&r, key_of(0, "k%d", i), slice_str("v"));
    struct pipeline *p = (struct pipeline *)r.b;
    p->newest.absent.seen = 1000;
    pipeline_absent_try(p);
    assert_int_equal(state_of(&r), ABSENT_GATHERING);
    rig_close(&r);
    rig_fini(&r);
}

static void it_goes_on_over_flushes_and_begins_anew_after_a_start(void **state)
{
    (void)state;
    struct rig r;
    open_with(&r, 10, 1 << 20);
    fill(&r, "k", KEYS);
    ask_until(&r, ABSENT_ON);
    rig_flush(&r, 0);
    for (int i = 0; i < KEYS; i++) rig_set(&r, key_of(0, "n%d", i), slice_str("n"));
    rig_apply(&r);
    for (int i = 0; i < KEYS; i++) rig_expect(&r, key_of(0, "k%d", i), NULL);
    for (int i = 0; i < KEYS; i++) rig_expect(&r, key_of(0, "n%d", i), "n");
    rig_crash(&r);
    assert_int_equal(state_of(&r), ABSENT_OFF);
    ask_until(&r, ABSENT_ON);
    for (int i = 0; i < KEYS; i++) rig_expect(&r, key_of(0, "n%d", i), "n");
    rig_close(&r);
    rig_fini(&r);
}

static void when_there_are_far_more_keys_it_is_made_anew(void **state)
{
    (void)state;
    struct rig r;
    open_with(&r, 10, 8 << 20);
    fill(&r, "k", 100);
    ask_until(&r, ABSENT_ON);
    uint64_t room = ((struct pipeline *)r.b)->newest.absent.room;
    fill(&r, "more", 5000);
    rig_step(&r);
    ask_until(&r, ABSENT_ON);
    assert_true(((struct pipeline *)r.b)->newest.absent.room > room);
    for (int i = 0; i < 5000; i++) rig_expect(&r, key_of(0, "more%d", i), "v");
    rig_close(&r);
    rig_fini(&r);
}

/* They are read in several chunks. */
static void all_of_many_keys_are_in_it(void **state)
{
    (void)state;
    struct rig r;
    open_with(&r, 10, 1 << 20);
    fill(&r, "k", 20000);
    rig_crash(&r); /* and nothing is in memory */
    ask_until(&r, ABSENT_ON);
    for (int i = 0; i < 20000; i++) rig_expect(&r, key_of(0, "k%d", i), "v");
    rig_close(&r);
    rig_fini(&r);
}

static void without_memory_for_it_there_is_none(void **state)
{
    (void)state;
    struct rig r;
    open_with(&r, 10, 1000);
    fill(&r, "k", KEYS);
    ask_until(&r, ABSENT_NEVER);
    for (int i = 0; i < KEYS; i++) rig_expect(&r, key_of(0, "k%d", i), "v");
    rig_expect(&r, key_of(0, "no"), NULL);
    rig_close(&r);
    rig_fini(&r);
}

static void few_reads_are_not_worth_it(void **state)
{
    (void)state;
    struct rig r;
    open_with(&r, 0, 1 << 20);
    fill(&r, "k", 100);
    for (int i = 0; i < 1000; i++) rig_expect(&r, key_of(0, "asked%d", i), NULL);
    for (int i = 0; i < 100; i++) rig_step(&r);
    assert_int_equal(state_of(&r), ABSENT_OFF);
    rig_close(&r);
    rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(most_absent_keys_are_known_without_the_store),
        cmocka_unit_test(no_key_that_is_there_is_said_to_be_absent),
        cmocka_unit_test(what_is_not_in_the_store_yet_is_in_it),
        cmocka_unit_test(while_a_larger_one_is_made_the_old_one_answers),
        cmocka_unit_test(it_may_end_while_it_is_made),
        cmocka_unit_test(it_goes_on_over_flushes_and_begins_anew_after_a_start),
        cmocka_unit_test(when_there_are_far_more_keys_it_is_made_anew),
        cmocka_unit_test(all_of_many_keys_are_in_it),
        cmocka_unit_test(without_memory_for_it_there_is_none),
        cmocka_unit_test(few_reads_are_not_worth_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
