/* Random operations on a few keys, one or several to a transaction, some of them taken back
 * (savepoints), with time that passes, stops, crashes and flushes: what is read, within the
 * transaction and after it, is the model, and no row is left behind (audit). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "unit/collection/collection_help.h"
#include "unit/collection/collection_model.h"

#define STEPS 250

struct bench {
    struct cbench t;
    struct cmodel_place place;
    struct rng rng, drawn; /* of the steps; of the transaction under way */
    struct cmodel now, next;
    int64_t ms;
    size_t undone, spread;
};

static unsigned below(struct rng *g, unsigned n)
{
    return (unsigned)rng_below(g, n);
}

/* ---- transactions ---- */

static enum err one(struct cbench *t, struct view *v, void *arg)
{
    struct bench *b = arg;
    struct cmodel_op op;
    (void)t;
    cmodel_draw(&b->drawn, &b->next, v->now_ms, &op);
    return cmodel_do(&b->place, v, &op, &b->next);
}

static void waiter_told(struct waiter *w)
{
    (void)w;
}

static enum err check_within(struct bench *b, struct overlay *o)
{
    struct waiter w = {.ready = waiter_told};
    struct view v = view_over(b->t.g, o, 0, &w);
    struct cmodel found;
    enum err r = cmodel_read(&b->place, &v, &found, &b->t.e);
    waiter_cancel(&w);
    if (r == ERR_WAIT) return r;
    if (r != OK) fail_msg("%s", b->t.e.text);
    if (!cmodel_same(&found, &b->next)) fail_msg("%s", cmodel_difference(&found, &b->next));
    return OK;
}

static enum err flush_within(struct bench *b, struct overlay *o)
{
    struct txn txn = {.overlay = o, .has_flush = true, .arena = &b->t.arena};
    struct waiter w = {.ready = waiter_told};
    b->next = (struct cmodel){0};
    enum err r = engine_commit(b->t.g, &txn, &w, &b->t.e);
    waiter_cancel(&w);
    return r;
}

/* What comes after a savepoint has not been. */
static enum err in_vain(struct bench *b, struct overlay *o)
{
    struct cmodel before = b->next;
    enum err r = OK;
    struct savepoint *mark = engine_mark(o);
    for (unsigned n = 1 + below(&b->drawn, 3); n > 0 && r == OK; n--) {
        r = cbench_evaluate(&b->t, o, 0, one, b);
    }
    if (r != OK) return r;
    b->next = before;
    b->undone++;
    assert_true(engine_undo(o, mark));
    return check_within(b, o);
}

static enum err several(struct cbench *t, struct overlay *o, void *arg)
{
    struct bench *b = arg;
    enum err r = OK;
    b->drawn = b->rng;
    b->next = b->now;
    for (unsigned n = 1 + below(&b->drawn, 5); n > 0 && r == OK; n--) {
        unsigned what = below(&b->drawn, 60);
        if (what < 12) {
            r = in_vain(b, o);
        } else if (what == 12) {
            r = flush_within(b, o);
        } else {
            r = cbench_evaluate(t, o, 0, one, b);
        }
        if (r == OK && what < 30) r = check_within(b, o);
    }
    return r;
}

static enum err read(struct cbench *t, struct view *v, void *arg)
{
    struct bench *b = arg;
    return cmodel_read(&b->place, v, &b->next, &t->e);
}

static void check_all(struct bench *b)
{
    if (cbench_read(&b->t, read, b) != OK) fail_msg("%s", b->t.e.text);
    if (!cmodel_same(&b->next, &b->now)) fail_msg("%s", cmodel_difference(&b->next, &b->now));
    b->spread += cbench_audit(&b->t);
}

/* ---- steps ---- */

static void step(struct bench *b)
{
    unsigned what = below(&b->rng, 100);
    if (what < 80) {
        enum err r = cbench_transact(&b->t, several, b);
        if (r != OK) fail_msg("%s", b->t.e.text);
        b->rng = b->drawn;
        b->now = b->next;
        check_all(b);
    } else if (what < 95) {
        b->ms += below(&b->rng, 700);
        cbench_at(&b->t, b->ms); /* a hash is there until it is swept: as in Redis */
        cmodel_advance(&b->now, START_MS + b->ms);
        check_all(b);
    } else if (what < 97) {
        b->spread += cbench_audit_clean(&b->t);
    } else {
        if (what == 97) cbench_restart(&b->t);
        if (what > 97) cbench_crash(&b->t);
        b->place.all = b->t.all;
    }
    arena_reset(&b->t.arena);
}

static void try_seed(uint64_t seed)
{
    static const size_t pack_bytes[] = {PACK_BYTES_DEFAULT, 0, 200};
    struct bench *b = calloc(1, sizeof *b);
    assert_non_null(b);
    printf("seed %llu\n", (unsigned long long)seed);
    rng_init(&b->rng, seed);
    cbench_open(&b->t, pack_bytes[seed % 3]);
    b->place = (struct cmodel_place){.all = b->t.all};
    for (unsigned i = 0; i < STEPS; i++) step(b);
    cbench_audit_clean(&b->t);
    assert_true(b->undone > 0 && b->spread > 0);
    cbench_close(&b->t);
    free(b);
}

static void collections_are_their_model_whatever_is_done_to_them(void **state)
{
    const char *given = getenv("TUPLED_SEED");
    uint64_t seed = getenv("TUPLED_LONG") != NULL ? (uint64_t)time(NULL) * 1000 : 1;
    unsigned runs = getenv("TUPLED_LONG") != NULL ? 300 : 12;
    (void)state;
    if (given != NULL) {
        try_seed(strtoull(given, NULL, 10));
        return;
    }
    for (; runs > 0; runs--) try_seed(seed++);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collections_are_their_model_whatever_is_done_to_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
