/* local: random work with the real threads behind it. tsan: yes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/fault.h"
#include "unit/backend/local_model.h"

static void run(uint64_t seed, const char *fault, enum durability durability)
{
    struct rig r;
    struct model_options options = {.seed = seed,
                                    .steps = 100000,
                                    .keys = 300,
                                    .reopen_every = 500,
                                    .run_ms = 1200,
                                    .fault = fault};
    rig_init(&r);
    r.options.is_inline = false;
    r.local.segment_bytes = 1 << 18;
    r.local.flush_rows = 1; /* a flush moves even two rows */
    r.options.memtable_bytes = 300 * 1024;
    r.options.memtable_age_ms = 5;
    r.options.cache_bytes = 20000;
    r.local.durability = durability;
    r.local.interval_ms = 2;
    rig_open(&r);
    model_run(&r, &options);
    rig_close(&r);
    rig_fini(&r);
}

static void answers_are_those_of_the_model_with_threads(void **state)
{
    run(1, NULL, DURABILITY_ALWAYS);
}

static void so_they_are_when_query_threads_read_all(void **state)
{
    run(2, "vfs.nowait", DURABILITY_ALWAYS);
}

static void so_they_are_under_weaker_durabilities(void **state)
{
    run(3, NULL, DURABILITY_INTERVAL);
    run(4, NULL, DURABILITY_NEVER);
}

static void a_start_after_abandoned_work_finds_all_that_was_acknowledged(void **state)
{
    struct rig r;
    uint64_t versions[64];
    rig_init(&r);
    r.options.is_inline = false;
    rig_open(&r);
    for (int round = 0; round < 10; round++) {
        uint64_t durable = 0;
        for (int i = 0; i < 64; i++) {
            versions[i] = rig_set(&r, key_of(0, "%d.%d", round, i), slice_str("x"));
            if (i % 8 == 7) rig_step(&r);
        }
        pipeline_freeze(pipeline_of(r.b));
        /* The sync runs on its own thread; some of it must be through. */
        for (int i = 0; i < 100000 && r.durable < versions[0]; i++) rig_step(&r);
        durable = r.durable;
        rig_crash(&r);
        for (int i = 0; i < 64; i++) {
            if (versions[i] <= durable) rig_expect(&r, key_of(0, "%d.%d", round, i), "x");
        }
        assert_true(durable >= versions[0]);
    }
    rig_close(&r);
    rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_the_model_with_threads),
        cmocka_unit_test(so_they_are_when_query_threads_read_all),
        cmocka_unit_test(so_they_are_under_weaker_durabilities),
        cmocka_unit_test(a_start_after_abandoned_work_finds_all_that_was_acknowledged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
