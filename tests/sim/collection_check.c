#include "sim/collection_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "unit/collection/collection_audit.h"

#define TURNS_MAX 100000

static void on_ready(struct waiter *w)
{
    (void)w;
}

void collection_check_open(struct collection_check *c)
{
    c->waiter.ready = on_ready;
    arena_init(&c->arena, 65536);
}

void collection_check_close(struct collection_check *c)
{
    waiter_cancel(&c->waiter);
    arena_fini(&c->arena);
}

static struct cmodel_place place_of(const struct collection_check *c)
{
    return (struct cmodel_place){.all = c->db->collections, .database = COLLECTION_CHECK_DATABASE};
}

/* ---- transactions ---- */

struct step_op {
    struct layer_op base; /* first */
    struct collection_check *c;
};

static enum err apply(struct layer_op *op, struct view *v, bool *is_met, struct error *e)
{
    struct collection_check *c = ((struct step_op *)op)->c;
    struct cmodel_place place = place_of(c);
    struct cmodel_op drawn;
    unsigned writes = view_writes(v);
    cmodel_draw(&c->drawn, &c->next, v->now_ms, &drawn);
    enum err r = cmodel_do(&place, v, &drawn, &c->next);
    *is_met = view_writes(v) != writes;
    return r == OK ? OK : error_set(e, r, "it waits");
}

static enum err evaluate(struct collection_check *c, struct overlay *o, struct error *e)
{
    struct step_op x = {.base = {.apply = apply}, .c = c};
    struct op op = {.kind = OP_LAYER, .layer = &x.base};
    struct txn t = {.overlay = o,
                    .database = COLLECTION_CHECK_DATABASE,
                    .ops = &op,
                    .count = 1,
                    .arena = &c->arena};
    return engine_commit(c->db->engine, &t, &c->waiter, e);
}

static enum err flush(struct collection_check *c, struct overlay *o, struct error *e)
{
    struct txn t = {
        .overlay = o, .database = COLLECTION_CHECK_DATABASE, .has_flush = true, .arena = &c->arena};
    c->next = (struct cmodel){0};
    return engine_commit(c->db->engine, &t, &c->waiter, e);
}

/* What comes after a savepoint has not been. */
static enum err in_vain(struct collection_check *c, struct overlay *o, struct error *e)
{
    struct cmodel before = c->next;
    struct savepoint *mark = engine_mark(o);
    enum err r = evaluate(c, o, e);
    if (r != OK) return r;
    assert_true(engine_undo(o, mark));
    c->next = before;
    return OK;
}

static enum err transact(struct collection_check *c, uint64_t *version, struct error *e)
{
    enum err r = engine_admit(c->db->engine, &c->waiter, e);
    if (r != OK) return r;
    struct overlay *o = engine_begin(c->db->engine, &c->arena);
    c->drawn = *c->rng;
    c->next = c->now;
    cmodel_advance(&c->next, engine_time_ms(c->db->engine));
    for (uint64_t n = 1 + rng_below(&c->drawn, 4); n > 0 && r == OK; n--) {
        uint64_t what = rng_below(&c->drawn, 100);
        r = what == 0 ? flush(c, o, e) : what < 15 ? in_vain(c, o, e) : evaluate(c, o, e);
    }
    if (r == OK) return engine_end(o, version, &c->waiter, e);
    engine_discard(o);
    return r;
}

/* A hash of which no field is left is there until it is swept, as in Redis. */
static bool sweep(struct collection_check *c)
{
    bool goes_on = true;
    for (int i = 0; i < 100 && goes_on; i++) goes_on = c->turn(c->arg);
    return goes_on;
}

bool collection_check_step(struct collection_check *c, uint64_t *version)
{
    struct error e = {.text = ""};
    *version = 0;
    if (!sweep(c)) return false;
    for (int i = 0; i < TURNS_MAX; i++) {
        enum err r = transact(c, version, &e);
        if (r == OK) {
            *c->rng = c->drawn;
            c->now = c->next;
            arena_reset(&c->arena);
            return true;
        }
        waiter_cancel(&c->waiter);
        bool goes_on = c->turn(c->arg);
        if (!goes_on) return false;
        if (r != ERR_WAIT) fail_msg("collections: %s", e.text);
    }
    fail_msg("collections: it waits for ever: %s", e.text);
    return false;
}

/* ---- reading ---- */

static bool audit(struct collection_check *c)
{
    struct collection_audit a = {.backend = c->db->backend,
                                 .all = c->db->collections,
                                 .arena = &c->arena,
                                 .databases = COLLECTION_CHECK_DATABASE + 1,
                                 .turn = c->turn,
                                 .arg = c->arg,
                                 .has_garbage = true};
    bool goes_on = collection_audit_run(&a);
    c->spread += a.spread;
    return goes_on;
}

bool collection_check_read(struct collection_check *c, struct cmodel *found)
{
    struct cmodel_place place = place_of(c);
    struct error e = {.text = ""};
    if (!sweep(c)) return false;
    for (int i = 0; i < TURNS_MAX; i++) {
        struct view v = view_reading(c->db->engine, NULL, COLLECTION_CHECK_DATABASE, &c->arena,
                                     &c->waiter);
        enum err r = cmodel_read(&place, &v, found, &e);
        if (r == OK) {
            bool goes_on = audit(c);
            arena_reset(&c->arena);
            return goes_on;
        }
        if (r != ERR_WAIT) fail_msg("collections: %s", e.text);
        waiter_cancel(&c->waiter);
        if (!c->turn(c->arg)) return false;
    }
    fail_msg("collections: it waits for ever: %s", e.text);
    return false;
}
