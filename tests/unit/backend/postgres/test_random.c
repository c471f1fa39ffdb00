/* PostgreSQL: random work against the model of local_model.h: what a client sees is what it sees of
 * one machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/backend/local_model.h"
#include "unit/backend/postgres/pg_rig.h"

static void run(uint64_t seed, unsigned steps, unsigned keys, void (*change)(struct rig *r))
{
    if (!pg_server_can()) skip();
    struct rig r;
    struct pg_rig p = {.server = &pg_shared, .id = (int64_t)seed};
    struct model_options options = {
        .seed = seed, .steps = steps, .keys = keys, .reopen_every = 500};
    pg_rig_init(&r, &p);
    if (change != NULL) change(&r);
    rig_open(&r);
    model_run(&r, &options);
    rig_close(&r);
    rig_fini(&r);
}

static void small_memtables(struct rig *r)
{
    r->options.memtable_bytes = 300 * 1024;
    r->options.memtable_age_ms = 1;
    r->options.cache_bytes = 2000;
}

/* Every transaction in several parts, every memtable in many slices. */
static void tiny_pieces(struct rig *r)
{
    struct pg_rig *p = r->open_arg;
    small_memtables(r);
    p->batch_bytes = 64;
    p->slice_bytes = 512;
}

static void answers_are_those_of_the_model(void **state)
{
    (void)state;
    run(1, 2000, 300, NULL);
}

static void answers_are_right_while_memtables_come_and_go(void **state)
{
    (void)state;
    run(11, 2000, 300, small_memtables);
    run(12, 2000, MODEL_KEYS_MAX, small_memtables);
}

static void answers_are_right_in_tiny_pieces(void **state)
{
    (void)state;
    run(21, 1000, 200, tiny_pieces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_the_model),
        cmocka_unit_test(answers_are_right_while_memtables_come_and_go),
        cmocka_unit_test(answers_are_right_in_tiny_pieces),
    };
    return cmocka_run_group_tests(tests, pg_shared_start, pg_shared_stop);
}
