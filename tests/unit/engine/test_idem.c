/* Tests of the window of request ids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fault.h"
#include "codec/key.h"
#include "engine/overlay.h"
#include "unit/backend/local_help.h"
#include "unit/db/db_help.h"

#define START_MS 1700000000000
#define WINDOW_MS 10000
#define IDS_MAX 20
#define DATABASES 16

struct bench {
    struct rig rig;
    struct engine *g;
    struct arena arena;
    struct error e;
};

static void bench_engine(struct bench *t)
{
    struct engine_options options = small_engine(t->rig.b);
    options.ops_max = 50;
    options.idem_window_ms = WINDOW_MS;
    options.idem_entries_max = IDS_MAX;
    t->g = engine_new(&options);
}

static void tick(struct bench *t)
{
    for (int i = 0; i < 20; i++) {
        engine_tick(t->g);
        rig_step(&t->rig);
    }
}

static void bench_open(struct bench *t)
{
    *t = (struct bench){0};
    clock_set_fake_ms(START_MS);
    rig_init(&t->rig);
    rig_open(&t->rig);
    arena_init(&t->arena, 4096);
    bench_engine(t);
    tick(t);
}

static void bench_close(struct bench *t)
{
    engine_free(t->g);
    rig_close(&t->rig);
    rig_fini(&t->rig);
    arena_fini(&t->arena);
    clock_set_fake_ms(0);
}

static void at(int64_t ms)
{
    clock_set_fake_ms(START_MS + ms);
}

static struct slice key_in(struct bench *t, uint16_t database, const char *name)
{
    struct buf b = {0};
    engine_key_begin(&b, database);
    key_add_string(&b, slice_str(name));
    struct slice kept = arena_copy(&t->arena, buf_slice(&b));
    buf_fini(&b);
    return kept;
}

static struct idem_request request(uint16_t database, const char *id, uint8_t arguments)
{
    struct idem_request q = {.database = database, .user = slice_str("ann"), .id = slice_str(id)};
    memset(q.fingerprint, arguments, sizeof q.fingerprint);
    return q;
}

/* Over `o`: adds 1 to a counter unless it is a repeat; *reply is what it says. */
static enum err once_over(struct bench *t, struct overlay *o, struct idem_request q,
                          struct slice *reply, bool *is_repeat)
{
    static const uint8_t one[] = {1};
    enum err r = idem_find(o, &q, &t->rig.waiter, &t->e);
    *is_repeat = q.is_repeat;
    *reply = q.reply;
    if (r != OK || q.is_repeat) return r;
    struct op op = {.kind = OP_ARITH, .key = key_in(t, q.database, "n")};
    op.arith = (struct arith){.op = ARITH_SUM, .operand = slice_of(one, 1)};
    struct txn txn = {.overlay = o, .ops = &op, .count = 1, .arena = &t->arena};
    r = engine_commit(t->g, &txn, &t->rig.waiter, &t->e);
    if (r != OK) return r;
    *reply = op.result;
    idem_keep(o, &q, op.result);
    return OK;
}

/* A command with an id: the number it answers; 0 = an error, in t->e. */
static unsigned once(struct bench *t, struct idem_request q)
{
    struct slice reply = {0};
    bool is_repeat = false;
    uint64_t version = 0;
    struct overlay *o = engine_begin(t->g, &t->arena);
    enum err r = once_over(t, o, q, &reply, &is_repeat);
    unsigned n = r == OK ? reply.data[0] : 0;
    if (r != OK || is_repeat) {
        engine_discard(o);
        return n;
    }
    assert_int_equal(engine_end(o, &version, &t->rig.waiter, &t->e), OK);
    assert_true(version > 0);
    return n;
}

static size_t rows(struct bench *t, uint16_t database)
{
    uint8_t start[KEY_HEAD_BYTES] = {KEY_HEAD(database, SPACE_IDEM)};
    uint8_t stop[KEY_HEAD_BYTES] = {KEY_HEAD(database, SPACE_IDEM + 1)};
    struct scan_range range = {.start = slice_of(start, sizeof start),
                               .end = slice_of(stop, sizeof stop)};
    struct scan *scan = NULL;
    size_t count = 0;
    struct backend *b = t->rig.b;
    assert_int_equal(backend_scan_open(b, &range, &scan, &t->e), OK);
    for (;; count++) {
        struct slice k;
        struct entry entry;
        assert_int_equal(backend_scan_next(scan, &k, &entry, &t->rig.waiter, &t->e), OK);
        if (k.len == 0) break;
    }
    backend_scan_close(scan);
    return count;
}

static void flush(struct bench *t, uint16_t database)
{
    struct txn txn = {.database = database, .has_flush = true, .arena = &t->arena};
    assert_int_equal(engine_commit(t->g, &txn, &t->rig.waiter, &t->e), OK);
}

/* A crash; the rows are not read yet. */
static void crash(struct bench *t)
{
    rig_settle(&t->rig);
    engine_free(t->g);
    rig_crash(&t->rig);
    bench_engine(t);
}

/* ---- the window ------------------------------------------------------------------------------ */

static void a_repeat_gets_the_first_reply(void **state)
{
    struct bench t;
    bench_open(&t);
    assert_int_equal(once(&t, request(0, "a", 1)), 1);
    assert_int_equal(once(&t, request(0, "b", 1)), 2);
    at(WINDOW_MS - 1);
    assert_int_equal(once(&t, request(0, "a", 1)), 1);
    assert_int_equal(once(&t, request(0, "b", 1)), 2);
    assert_int_equal(engine_idem_count(t.g), 2);
    assert_int_equal(rows(&t, 0), 2);
    bench_close(&t);
}

/* The reply of a repeat is held as long as that of the first. */
static void a_repeat_depends_on_the_first(void **state)
{
    struct bench t;
    bench_open(&t);
    assert_int_equal(once(&t, request(0, "a", 1)), 1);
    struct backend *b = t.rig.b;
    uint64_t newest = backend_version_newest(b);
    struct overlay *o = engine_begin(t.g, &t.arena);
    struct idem_request q = request(0, "a", 1);
    assert_int_equal(idem_find(o, &q, &t.rig.waiter, &t.e), OK);
    assert_true(q.is_repeat);
    assert_int_equal(q.depends, newest);
    engine_discard(o);
    bench_close(&t);
}

static void other_arguments_are_refused(void **state)
{
    struct bench t;
    bench_open(&t);
    assert_int_equal(once(&t, request(0, "a", 1)), 1);
    assert_int_equal(once(&t, request(0, "a", 2)), 0);
    assert_int_equal(t.e.code, ERR_SYNTAX);
    assert_int_equal(once(&t, request(0, "a", 1)), 1);
    bench_close(&t);
}

static void databases_and_users_have_ids_of_their_own(void **state)
{
    struct bench t;
    bench_open(&t);
    assert_int_equal(once(&t, request(0, "a", 1)), 1);
    assert_int_equal(once(&t, request(3, "a", 1)), 1);
    struct idem_request q = request(0, "a", 1);
    q.user = slice_str("bob");
    assert_int_equal(once(&t, q), 2);
    q.user = slice_str("an"); /* not the user `ann` with the id `a` */
    q.id = slice_str("na");
    assert_int_equal(once(&t, q), 3);
    assert_int_equal(once(&t, request(0, "a", 1)), 1);
    bench_close(&t);
}

static void an_id_that_left_the_window_is_new(void **state)
{
    struct bench t;
    bench_open(&t);
    assert_int_equal(once(&t, request(0, "a", 1)), 1);
    at(WINDOW_MS);
    assert_int_equal(once(&t, request(0, "a", 2)), 2); /* not swept: no tick since */
    assert_int_equal(engine_idem_count(t.g), 1);
    assert_int_equal(rows(&t, 0), 1);
    at(2 * WINDOW_MS - 1);
    tick(&t); /* its time is that of the second use */
    assert_int_equal(once(&t, request(0, "a", 2)), 2);
    at(2 * WINDOW_MS);
    tick(&t);
    assert_int_equal(rows(&t, 0), 0);
    assert_int_equal(engine_idem_count(t.g), 0);
    assert_int_equal(once(&t, request(0, "a", 3)), 3);
    bench_close(&t);
}

static void the_sweeper_removes_the_rows_in_order_of_time(void **state)
{
    struct bench t;
    char id[16];
    bench_open(&t);
    for (int i = 0; i < 10; i++) {
        at(i * 100);
        snprintf(id, sizeof id, "%c", 'z' - i);
        once(&t, request((uint8_t)(i % 2), id, 1));
    }
    at(WINDOW_MS + 450);
    engine_tick(t.g);
    assert_int_equal(engine_idem_count(t.g), 5); /* three and two, a batch is three */
    tick(&t);
    assert_int_equal(engine_idem_count(t.g), 5);
    assert_int_equal(rows(&t, 0) + rows(&t, 1), 5);
    assert_int_equal(once(&t, request(1, "u", 1)), 3); /* number 5 is still known */
    at(WINDOW_MS + 2000);
    tick(&t);
    assert_int_equal(rows(&t, 0) + rows(&t, 1), 0);
    bench_close(&t);
}

static void a_shorter_window_ends_ids_at_once(void **state)
{
    struct bench t;
    bench_open(&t);
    once(&t, request(0, "a", 1));
    at(500);
    struct engine_options limits = *engine_limits(t.g);
    limits.idem_window_ms = 400;
    engine_set_limits(t.g, &limits);
    assert_int_equal(once(&t, request(0, "a", 1)), 2);
    bench_close(&t);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static void more_ids_than_the_bound_are_put_off_and_repeats_are_not(void **state)
{
    struct bench t;
    char id[16];
    bench_open(&t);
    for (int i = 0; i < IDS_MAX; i++) {
        snprintf(id, sizeof id, "%d", i);
        assert_int_equal(once(&t, request((uint8_t)(i % 4), id, 1)), i / 4 + 1);
    }
    assert_int_equal(once(&t, request(0, "more", 1)), 0);
    assert_int_equal(t.e.code, ERR_TRYAGAIN);
    assert_int_equal(once(&t, request(0, "4", 1)), 2);
    at(WINDOW_MS);
    tick(&t);
    assert_int_equal(once(&t, request(0, "more", 1)), 6);
    bench_close(&t);
}

static void the_bound_counts_the_ids_of_one_overlay(void **state)
{
    struct bench t;
    char id[16];
    struct slice reply;
    bool is_repeat = false;
    bench_open(&t);
    struct overlay *o = engine_begin(t.g, &t.arena);
    for (int i = 0; i < IDS_MAX; i++) {
        snprintf(id, sizeof id, "%d", i);
        assert_int_equal(once_over(&t, o, request(0, id, 1), &reply, &is_repeat), OK);
    }
    assert_int_equal(once_over(&t, o, request(0, "more", 1), &reply, &is_repeat), ERR_TRYAGAIN);
    engine_discard(o);
    assert_int_equal(engine_idem_count(t.g), 0);
    assert_int_equal(once(&t, request(0, "0", 1)), 1);
    bench_close(&t);
}

/* ---- overlays -------------------------------------------------------------------------------- */

static void within_one_overlay_a_repeat_is_a_repeat(void **state)
{
    struct bench t;
    struct slice reply;
    bool is_repeat = false;
    uint64_t version = 0;
    bench_open(&t);
    struct overlay *o = engine_begin(t.g, &t.arena);
    assert_int_equal(once_over(&t, o, request(0, "a", 1), &reply, &is_repeat), OK);
    assert_false(is_repeat);
    assert_int_equal(once_over(&t, o, request(0, "a", 1), &reply, &is_repeat), OK);
    assert_true(is_repeat);
    assert_int_equal(reply.data[0], 1);
    assert_int_equal(once_over(&t, o, request(0, "a", 2), &reply, &is_repeat), ERR_SYNTAX);
    assert_int_equal(engine_end(o, &version, &t.rig.waiter, &t.e), OK);
    assert_int_equal(once(&t, request(0, "a", 1)), 1);
    assert_int_equal(rows(&t, 0), 1);
    bench_close(&t);
}

static void a_flush_forgets_the_ids_of_its_database(void **state)
{
    struct bench t;
    bench_open(&t);
    once(&t, request(0, "a", 1));
    once(&t, request(0, "b", 1));
    once(&t, request(1, "a", 1));
    flush(&t, 0);
    assert_int_equal(engine_idem_count(t.g), 1);
    assert_int_equal(rows(&t, 0), 0);
    assert_int_equal(once(&t, request(0, "a", 2)), 1);
    assert_int_equal(once(&t, request(1, "a", 1)), 1);
    crash(&t);
    tick(&t);
    assert_int_equal(engine_idem_count(t.g), 2);
    assert_int_equal(once(&t, request(0, "a", 2)), 1);
    assert_int_equal(once(&t, request(0, "b", 1)), 2);
    bench_close(&t);
}

static void a_flush_inside_an_overlay_forgets_too(void **state)
{
    struct bench t;
    struct slice reply;
    bool is_repeat = false;
    uint64_t version = 0;
    bench_open(&t);
    once(&t, request(0, "known", 1));
    struct overlay *o = engine_begin(t.g, &t.arena);
    assert_int_equal(once_over(&t, o, request(0, "a", 1), &reply, &is_repeat), OK);
    struct txn txn = {.overlay = o, .has_flush = true, .arena = &t.arena};
    assert_int_equal(engine_commit(t.g, &txn, &t.rig.waiter, &t.e), OK);
    assert_int_equal(once_over(&t, o, request(0, "a", 2), &reply, &is_repeat), OK);
    assert_false(is_repeat);
    assert_int_equal(reply.data[0], 1);
    assert_int_equal(once_over(&t, o, request(0, "known", 2), &reply, &is_repeat), OK);
    assert_false(is_repeat);
    assert_int_equal(engine_end(o, &version, &t.rig.waiter, &t.e), OK);
    assert_int_equal(engine_idem_count(t.g), 2);
    assert_int_equal(once(&t, request(0, "a", 2)), 1);
    assert_int_equal(once(&t, request(0, "known", 2)), 2);
    bench_close(&t);
}

/* ---- starts ---------------------------------------------------------------------------------- */

static void ids_are_known_after_a_start(void **state)
{
    struct bench t;
    bench_open(&t);
    for (int round = 0; round < 2; round++) {
        once(&t, request(0, "a", 1));
        once(&t, request(2, "b", 1));
        if (round == 1) rig_apply(&t.rig); /* once from the journal, once from the store */
        crash(&t);
        tick(&t);
        assert_int_equal(engine_idem_count(t.g), 2);
        assert_int_equal(once(&t, request(0, "a", 1)), 1);
        assert_int_equal(once(&t, request(0, "a", 9)), 0);
        assert_int_equal(once(&t, request(2, "b", 1)), 1);
    }
    bench_close(&t);
}

static void requests_before_the_rows_are_read_wait(void **state)
{
    struct bench t;
    struct slice reply;
    bool is_repeat = false;
    bench_open(&t);
    once(&t, request(0, "a", 1));
    crash(&t);
    struct overlay *o = engine_begin(t.g, &t.arena);
    assert_int_equal(once_over(&t, o, request(0, "a", 1), &reply, &is_repeat), ERR_WAIT);
    engine_discard(o);
    assert_false(t.rig.is_ready);
    for (int i = 0; i < STEPS_MAX && !t.rig.is_ready; i++) {
        engine_tick(t.g);
        rig_step(&t.rig);
    }
    assert_true(t.rig.is_ready);
    assert_int_equal(once(&t, request(0, "a", 1)), 1);
    bench_close(&t);
}

/* Commands with an id wait until those of all databases are read: that is no matter of one tick for
 * each. */
static void ids_are_read_in_few_ticks_after_a_start(void **state)
{
    struct bench t;
    unsigned ticks = 0;
    bench_open(&t);
    once(&t, request(0, "a", 1));
    once(&t, request(DATABASES - 1, "b", 1));
    engine_free(t.g);
    rig_close(&t.rig);
    rig_open(&t.rig);
    bench_engine(&t);
    for (; engine_idem_count(t.g) < 2 && ticks < 1000; ticks++) {
        engine_tick(t.g);
        rig_step(&t.rig);
    }
    assert_in_range(ticks, 1, DATABASES / 2);
    assert_int_equal(once(&t, request(DATABASES - 1, "b", 1)), 1);
    bench_close(&t);
}

static void a_read_that_fails_is_tried_again(void **state)
{
    struct bench t;
    bench_open(&t);
    once(&t, request(0, "a", 1));
    once(&t, request(1, "b", 1));
    rig_apply(&t.rig);
    engine_free(t.g);
    rig_close(&t.rig);
    rig_open(&t.rig);
    bench_engine(&t);
    fault_arm("vfs.nowait", 1, true); /* every look at the store is a fetch */
    for (int i = 0; i < 5; i++) {
        engine_tick(t.g);
        rig_step(&t.rig);
    }
    tick(&t);
    fault_arm("", 0, false);
    tick(&t);
    assert_int_equal(engine_idem_count(t.g), 2);
    assert_int_equal(once(&t, request(0, "a", 1)), 1);
    assert_int_equal(once(&t, request(1, "b", 1)), 1);
    bench_close(&t);
}

static void what_is_read_is_swept_in_order_of_time(void **state)
{
    struct bench t;
    bench_open(&t);
    once(&t, request(0, "z", 1));
    at(1000);
    once(&t, request(0, "a", 1));
    at(2000);
    once(&t, request(0, "m", 1));
    crash(&t);
    tick(&t); /* they are read */
    at(2000 + WINDOW_MS - 1);
    tick(&t);
    assert_int_equal(rows(&t, 0), 3);
    at(2000 + WINDOW_MS);
    tick(&t);
    assert_int_equal(rows(&t, 0), 0);
    bench_close(&t);
}

/* The clock of the machine is set, or another node is the leader whose clock is ahead. */
static void a_clock_that_is_set_forward_ends_no_window(void **state)
{
    struct bench t;
    bench_open(&t);
    int64_t first = once(&t, request(0, "a", 1));
    clock_step_wall_ms(10 * WINDOW_MS);
    tick(&t);
    assert_int_equal(once(&t, request(0, "a", 1)), first);
    assert_int_equal(rows(&t, 0), 1);
    crash(&t);
    clock_step_wall_ms(10 * WINDOW_MS);
    tick(&t);
    assert_int_equal(once(&t, request(0, "a", 1)), first);
    at(WINDOW_MS);
    tick(&t);
    assert_int_equal(rows(&t, 0), 0);
    clock_step_wall_ms(-20 * WINDOW_MS);
    bench_close(&t);
}

static void a_flush_while_rows_are_read_wins(void **state)
{
    struct bench t;
    bench_open(&t);
    once(&t, request(0, "a", 1));
    once(&t, request(1, "b", 1));
    crash(&t);
    flush(&t, 0);
    tick(&t);
    assert_int_equal(engine_idem_count(t.g), 1);
    assert_int_equal(once(&t, request(0, "a", 2)), 1);
    assert_int_equal(once(&t, request(1, "b", 1)), 1);
    bench_close(&t);
}

static void many_rows_are_read_in_slices(void **state)
{
    struct bench t;
    char id[16];
    bench_open(&t);
    struct engine_options limits = *engine_limits(t.g);
    limits.idem_entries_max = 20000;
    limits.txn_bytes_max = 10000000;
    engine_set_limits(t.g, &limits);
    struct slice reply;
    bool is_repeat = false;
    uint64_t version = 0;
    for (int i = 0; i < 11000;) {
        struct overlay *o = engine_begin(t.g, &t.arena);
        for (int k = 0; k < 500; k++) {
            struct idem_request q = request(0, "", 1);
            snprintf(id, sizeof id, "%d", i + k);
            q.id = arena_copy(&t.arena, slice_str(id));
            idem_keep(o, &q, slice_str("r"));
        }
        enum err r = engine_end(o, &version, &t.rig.waiter, &t.e);
        if (r == OK) {
            i += 500;
            continue;
        }
        assert_int_equal(r, ERR_WAIT); /* the journal has no room at the moment */
        t.rig.is_ready = false;
        for (int k = 0; k < STEPS_MAX && !t.rig.is_ready; k++) rig_step(&t.rig);
        assert_true(t.rig.is_ready);
    }
    struct overlay *o = NULL;
    assert_int_equal(engine_idem_count(t.g), 11000);
    crash(&t);
    engine_tick(t.g);
    assert_true(engine_idem_count(t.g) < 11000);
    for (int i = 0; i < 50; i++) {
        engine_tick(t.g);
        rig_step(&t.rig);
    }
    assert_int_equal(engine_idem_count(t.g), 11000);
    o = engine_begin(t.g, &t.arena);
    assert_int_equal(once_over(&t, o, request(0, "10999", 1), &reply, &is_repeat), OK);
    assert_true(is_repeat);
    engine_discard(o);
    flush(&t, 0);
    assert_int_equal(engine_idem_count(t.g), 0);
    bench_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_repeat_gets_the_first_reply),
        cmocka_unit_test(a_repeat_depends_on_the_first),
        cmocka_unit_test(other_arguments_are_refused),
        cmocka_unit_test(ids_are_read_in_few_ticks_after_a_start),
        cmocka_unit_test(databases_and_users_have_ids_of_their_own),
        cmocka_unit_test(an_id_that_left_the_window_is_new),
        cmocka_unit_test(the_sweeper_removes_the_rows_in_order_of_time),
        cmocka_unit_test(a_shorter_window_ends_ids_at_once),
        cmocka_unit_test(more_ids_than_the_bound_are_put_off_and_repeats_are_not),
        cmocka_unit_test(the_bound_counts_the_ids_of_one_overlay),
        cmocka_unit_test(within_one_overlay_a_repeat_is_a_repeat),
        cmocka_unit_test(a_flush_forgets_the_ids_of_its_database),
        cmocka_unit_test(a_flush_inside_an_overlay_forgets_too),
        cmocka_unit_test(ids_are_known_after_a_start),
        cmocka_unit_test(requests_before_the_rows_are_read_wait),
        cmocka_unit_test(a_read_that_fails_is_tried_again),
        cmocka_unit_test(what_is_read_is_swept_in_order_of_time),
        cmocka_unit_test(a_clock_that_is_set_forward_ends_no_window),
        cmocka_unit_test(a_flush_while_rows_are_read_wins),
        cmocka_unit_test(many_rows_are_read_in_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
