/* kept: what was fetched for a command that waits is there when it runs again, whatever the caches
 * hold and whatever others fetch meanwhile: with caches of nothing and a store that never answers
 * without waiting, every command comes to its end and reads everything once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "unit/backend/local_help.h"

#define KEYS 8
#define ROUNDS_MAX 2000

/* What the keys a0, a1 ... have. */
static char values[KEYS][12];

struct command {
    struct waiter waiter; /* first */
    struct rig *rig;
    char name;
    bool is_parked, is_done;
    enum err result;
    struct error error;
    enum err (*run)(struct command *c);
    unsigned runs;
};

static void command_ready(struct waiter *w)
{
    ((struct command *)w)->is_parked = false;
}

static struct backend *backend_of(struct command *c)
{
    return c->rig->b;
}

/* As a server does: every command that may run, then the turn ends. */
static void run_all(struct rig *r, struct command *commands, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        commands[i].rig = r;
        commands[i].waiter.ready = command_ready;
    }
    for (unsigned round = 0;; round++) {
        size_t done = 0;
        assert_true(round < ROUNDS_MAX);
        for (size_t i = 0; i < count; i++) {
            struct command *c = &commands[i];
            if (!c->is_done && !c->is_parked) {
                c->runs++;
                c->result = c->run(c);
                c->is_parked = c->result == ERR_WAIT;
                c->is_done = c->result != ERR_WAIT;
                if (c->is_done) backend_run_over(r->b, &c->waiter);
            }
            done += c->is_done;
        }
        if (done == count) return;
        rig_step(r);
    }
}

static void open_late(struct rig *r, struct late_options options)
{
    rig_init(r);
    options.seed = 1;
    rig_open(r);
    for (int i = 0; i < KEYS; i++) {
        snprintf(values[i], sizeof values[i], "value of a");
        rig_set(r, key_of(0, "a%d", i), slice_str(values[i]));
        rig_set(r, key_of(0, "b%d", i), slice_str("value of b"));
    }
    rig_apply(r);
    rig_close(r);
    r->options.cache_bytes = 0;
    r->late = late_new(&options);
    rig_open(r);
}

static void close_late(struct rig *r)
{
    struct late *late = r->late;
    rig_close(r);
    rig_fini(r);
    late_free(late);
}

static uint64_t reads(const struct rig *r)
{
    struct late_figures f;
    late_figures(r->late, &f);
    return f.reads;
}

/* ---- commands ---- */

static void expect_entry(const struct command *c, int i, struct slice value)
{
    assert_int_equal(value.len, 10);
    assert_int_equal(value.data[9], c->name);
    if (c->name == 'a') assert_memory_equal(value.data, values[i], 10);
}

static enum err load_all(struct command *c)
{
    for (int i = 0; i < KEYS; i++) {
        struct entry entry;
        enum err r = backend_load(backend_of(c), key_of(0, "%c%d", c->name, i), &entry, &c->waiter,
                                  &c->error);
        if (r != OK) return r;
        assert_true(entry.exists);
        expect_entry(c, i, entry.value);
    }
    return OK;
}

static enum err scan_of(struct command *c, struct slice start, struct slice end, unsigned rows)
{
    struct backend *b = backend_of(c);
    struct scan_range range = {
        .start = start, .end = end, .with_values = true, .is_undivided = true};
    struct scan *s = NULL;
    unsigned found = 0;
    struct slice key = {0};
    assert_int_equal(backend_scan_open(b, &range, &s, &c->error), OK);
    enum err r = OK;
    do {
        struct entry entry;
        r = backend_scan_next(s, &key, &entry, &c->waiter, &c->error);
        if (r == OK && key.len > 0) {
            expect_entry(c, key.data[KEY_HEAD_BYTES + 1] - '0', entry.value);
            found++;
        }
    } while (r == OK && key.len > 0);
    backend_scan_close(s);
    if (r == OK) assert_int_equal(found, rows);
    return r;
}

static enum err scan_two_ranges(struct command *c)
{
    enum err r = scan_of(c, key_of(0, "%c", c->name), key_of(0, "%c3", c->name), 3);
    if (r != OK) return r;
    return scan_of(c, key_of(0, "%c3", c->name), key_of(0, "%c9", c->name), KEYS - 3);
}

static enum err scan_and_load(struct command *c)
{
    enum err r = scan_two_ranges(c);
    return r == OK ? load_all(c) : r;
}

/* ---- tests ---- */

static void commands_that_load_do_not_undo_what_others_fetched(void **state)
{
    struct rig r;
    open_late(&r, (struct late_options){.wait_percent = 100});
    struct command commands[] = {{.name = 'a', .run = load_all}, {.name = 'b', .run = load_all}};
    run_all(&r, commands, 2);
    assert_int_equal(commands[0].result, OK);
    assert_int_equal(commands[1].result, OK);
    assert_int_equal(reads(&r), 2 * KEYS);
    close_late(&r);
}

static void two_that_wait_for_the_same_share_one_read(void **state)
{
    struct rig r;
    open_late(&r, (struct late_options){.wait_percent = 100});
    struct command commands[] = {{.name = 'a', .run = load_all}, {.name = 'a', .run = load_all}};
    run_all(&r, commands, 2);
    assert_int_equal(reads(&r), KEYS);
    close_late(&r);
}

static void undivided_scans_come_to_an_end(void **state)
{
    struct rig r;
    open_late(&r, (struct late_options){.wait_percent = 100});
    struct command commands[] = {{.name = 'a', .run = scan_two_ranges},
                                 {.name = 'b', .run = scan_two_ranges}};
    run_all(&r, commands, 2);
    assert_int_equal(commands[0].result, OK);
    assert_int_equal(commands[1].result, OK);
    assert_int_equal(reads(&r), 4);
    close_late(&r);
}

static void what_a_command_has_fetched_goes_when_it_has_run(void **state)
{
    struct rig r;
    open_late(&r, (struct late_options){.wait_percent = 100});
    for (int i = 0; i < 2; i++) {
        struct command commands[] = {{.name = 'a', .run = scan_and_load},
                                     {.name = 'b', .run = scan_and_load}};
        run_all(&r, commands, 2);
        assert_int_equal(reads(&r), (uint64_t)(i + 1) * 2 * (KEYS + 2));
        rig_step(&r);
        assert_int_equal(pipeline_of(r.b)->newest.kept.bytes, 0);
    }
    close_late(&r);
}

static void a_failed_read_is_told_once_and_then_tried_again(void **state)
{
    struct rig r;
    open_late(&r, (struct late_options){.wait_percent = 100, .read_fail_percent = 50});
    unsigned failed = 0;
    unsigned good = 0;
    for (int i = 0; i < 200; i++) {
        struct command c = {.name = i % 2 ? 'a' : 'b', .run = i % 3 ? scan_two_ranges : load_all};
        run_all(&r, &c, 1);
        assert_true(c.result == OK || c.result == ERR_IO);
        failed += c.result == ERR_IO;
        good += c.result == OK;
    }
    assert_true(failed > 20 && good > 20);
    close_late(&r);
}

/* A memtable leaves the read path while a read of an older state is on its way: the answer is that
 * of the memtable. */
static void what_is_applied_meanwhile_is_what_is_found(void **state)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct rig r;
        char *value = values[seed % KEYS];
        open_late(&r, (struct late_options){.wait_percent = 100, .idle_percent = 60});
        for (int round = 0; round < 8; round++) {
            struct command commands[] = {{.name = 'a', .run = scan_and_load},
                                         {.name = 'a', .run = load_all}};
            for (unsigned i = 0; i < 2; i++) {
                commands[i].rig = &r;
                commands[i].waiter.ready = command_ready;
                commands[i].result = commands[i].run(&commands[i]);
                assert_int_equal(commands[i].result, ERR_WAIT);
                commands[i].is_parked = true;
            }
            for (uint64_t i = 0; i < seed % 5; i++) rig_step(&r);
            memcpy(value, "value 0  a", 11);
            value[6] = (char)('0' + round);
            rig_set(&r, key_of(0, "a%d", (int)(seed % KEYS)), slice_of(value, 10));
            rig_apply(&r);
            run_all(&r, commands, 2);
            struct entry entry;
            rig_load(&r, key_of(0, "a%d", (int)(seed % KEYS)), &entry);
            assert_memory_equal(entry.value.data, value, 10);
            backend_run_over(r.b, &r.waiter);
        }
        close_late(&r);
    }
}

static enum err load_one(struct rig *r, int i, struct waiter *w)
{
    struct entry entry;
    return backend_load(r->b, key_of(0, "a%d", i), &entry, w, NULL);
}

static void what_is_read_ahead_is_kept_and_a_commit_ends_what_was_used(void **state)
{
    struct rig r;
    struct command owner = {.waiter.ready = command_ready};
    open_late(&r, (struct late_options){.wait_percent = 100});
    for (int i = 0; i < KEYS; i++) {
        struct waiter nobody = {.ready = command_ready, .keep_for = &owner.waiter};
        assert_int_equal(load_one(&r, i, &nobody), ERR_WAIT);
        waiter_cancel(&nobody);
    }
    for (int i = 0; reads(&r) < KEYS; i++) {
        assert_true(i < STEPS_MAX);
        rig_step(&r);
    }
    for (int i = 0; i < 20; i++) rig_step(&r);
    struct mutation mu = {.kind = MUTATION_SET, .key = key_of(0, "c"), .value = slice_str("1")};
    struct batch batch = {.items = &mu, .count = 1};
    uint64_t version = 0;
    for (int i = 0; i < KEYS; i++) {
        assert_int_equal(load_one(&r, i, &owner.waiter), OK);
        size_t bytes = pipeline_of(r.b)->newest.kept.bytes;
        assert_int_equal(backend_commit(r.b, &batch, &version, &owner.waiter, NULL), OK);
        assert_true(pipeline_of(r.b)->newest.kept.bytes < bytes);
        rig_step(&r);
    }
    assert_int_equal(reads(&r), KEYS);
    assert_int_equal(pipeline_of(r.b)->newest.kept.bytes, 0);
    close_late(&r);
}

/* No call says that a layer's work is over: what it does not ask for any more goes by itself. */
static void what_nobody_asks_for_goes_after_a_while(void **state)
{
    struct rig r;
    struct command owner = {.waiter.ready = command_ready};
    open_late(&r, (struct late_options){.wait_percent = 100});
    clock_set_fake_ms(1700000000000);
    assert_int_equal(load_one(&r, 0, &owner.waiter), ERR_WAIT);
    for (int i = 0; owner.waiter.next != NULL; i++) {
        assert_true(i < STEPS_MAX);
        rig_step(&r);
    }
    assert_int_equal(load_one(&r, 0, &owner.waiter), OK);
    assert_true(pipeline_of(r.b)->newest.kept.bytes > 0);
    clock_set_fake_ms(1700000000000 + 120000);
    rig_step(&r);
    assert_int_equal(pipeline_of(r.b)->newest.kept.bytes, 0);
    assert_int_equal(load_one(&r, 0, &owner.waiter), ERR_WAIT);
    close_late(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_that_load_do_not_undo_what_others_fetched),
        cmocka_unit_test(two_that_wait_for_the_same_share_one_read),
        cmocka_unit_test(undivided_scans_come_to_an_end),
        cmocka_unit_test(what_a_command_has_fetched_goes_when_it_has_run),
        cmocka_unit_test(a_failed_read_is_told_once_and_then_tried_again),
        cmocka_unit_test(what_is_applied_meanwhile_is_what_is_found),
        cmocka_unit_test(what_is_read_ahead_is_kept_and_a_commit_ends_what_was_used),
        cmocka_unit_test(what_nobody_asks_for_goes_after_a_while),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
