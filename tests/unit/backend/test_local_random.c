/* local: random work against a model, on one thread, so that a seed always does the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/fault.h"
#include "unit/backend/local_model.h"

static void run(uint64_t seed, unsigned steps, unsigned keys, const char *fault,
                void (*change)(struct rig *r))
{
    struct rig r;
    struct model_options options = {
        .seed = seed, .steps = steps, .keys = keys, .reopen_every = 1000, .fault = fault};
    rig_init(&r);
    r.local.segment_bytes = 1 << 20;
    r.local.flush_rows = seed % 2; /* 1: a flush moves even two rows */
    if (change != NULL) change(&r);
    struct late *late = r.late;
    rig_open(&r);
    model_run(&r, &options);
    rig_close(&r);
    rig_fini(&r);
    late_free(late);
}

static void small_memtables(struct rig *r)
{
    r->options.memtable_bytes = 300 * 1024;
    r->options.memtable_age_ms = 1;
}

static void a_tiny_cache(struct rig *r)
{
    small_memtables(r);
    r->options.cache_bytes = 2000;
}

static void absent_keys(struct rig *r)
{
    small_memtables(r);
    r->options.absent_reads_min = 5;
}

static void lazy_syncs(struct rig *r)
{
    small_memtables(r);
    r->local.durability = DURABILITY_INTERVAL;
    r->local.interval_ms = 1;
}

static void no_syncs(struct rig *r)
{
    r->local.durability = DURABILITY_NEVER;
    r->local.segment_bytes = 64 * 1024;
    r->options.memtable_bytes = 600 * 1024;
}

/* Over a journal and a store that are late, with caches of next to nothing. */
static void late(struct rig *r)
{
    static uint64_t seed;
    struct late_options options = {
        .seed = ++seed, .wait_percent = 90, .idle_percent = 30, .hold_polls = 3};
    a_tiny_cache(r);
    r->late = late_new(&options);
}

static void answers_are_those_of_the_model(void **state)
{
    for (uint64_t seed = 1; seed <= 4; seed++) run(seed, 4000, 300, NULL, NULL);
}

static void answers_are_right_while_memtables_come_and_go(void **state)
{
    for (uint64_t seed = 11; seed <= 14; seed++) run(seed, 4000, 300, NULL, small_memtables);
    run(15, 4000, MODEL_KEYS_MAX, NULL, small_memtables);
}

static void answers_are_right_with_a_tiny_cache(void **state)
{
    for (uint64_t seed = 21; seed <= 23; seed++) run(seed, 4000, 200, NULL, a_tiny_cache);
}

static void answers_are_right_with_a_filter_of_absent_keys(void **state)
{
    for (uint64_t seed = 71; seed <= 76; seed++) run(seed, 4000, 200, NULL, absent_keys);
    run(77, 4000, MODEL_KEYS_MAX, NULL, absent_keys);
    run(78, 3000, MODEL_KEYS_MAX, "vfs.nowait", absent_keys);
}

static void answers_are_right_under_weaker_durabilities(void **state)
{
    for (uint64_t seed = 31; seed <= 32; seed++) run(seed, 4000, 200, NULL, lazy_syncs);
    for (uint64_t seed = 41; seed <= 42; seed++) run(seed, 4000, 200, NULL, no_syncs);
}

/* Every read that would be served from the page cache is refused: query threads read all. */
static void answers_are_right_when_nothing_is_in_the_page_cache(void **state)
{
    for (uint64_t seed = 51; seed <= 53; seed++) {
        run(seed, 3000, 200, "vfs.nowait", small_memtables);
    }
    run(54, 3000, MODEL_KEYS_MAX, "vfs.nowait", small_memtables);
}

static void answers_are_right_when_everything_is_late(void **state)
{
    for (uint64_t seed = 61; seed <= 64; seed++) run(seed, 2000, 100, NULL, late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_the_model),
        cmocka_unit_test(answers_are_right_while_memtables_come_and_go),
        cmocka_unit_test(answers_are_right_with_a_tiny_cache),
        cmocka_unit_test(answers_are_right_with_a_filter_of_absent_keys),
        cmocka_unit_test(answers_are_right_under_weaker_durabilities),
        cmocka_unit_test(answers_are_right_when_nothing_is_in_the_page_cache),
        cmocka_unit_test(answers_are_right_when_everything_is_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
